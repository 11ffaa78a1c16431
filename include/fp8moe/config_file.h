/**
 * @file config_file.h
 * The config.json of a model folder that may hold nothing else: what a gate needs to know of a
 * model before anyone has downloaded its weights.
 */
#ifndef FP8MOE_CONFIG_FILE_H
#define FP8MOE_CONFIG_FILE_H

#include <fp8moe/checkpoint.h>
#include <fp8moe/gate.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A config.json that was read. */
typedef struct fp8moe_config_file fp8moe_config_file;

/**
 * Read FOLDER/config.json.
 *
 * @param out the caller closes it with fp8moe_config_file_close()
 * @return OK; NOT_FOUND (the folder holds none); IO; FORMAT (broken JSON, a key of the wrong type,
 * with the byte offset); NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_config_file_open(const char *folder, fp8moe_config_file **out,
                                                 fp8moe_error *err);

/** Close and free; NULL is allowed. Every text dies. */
FP8MOE_API void fp8moe_config_file_close(fp8moe_config_file *file);

/** What it says. */
FP8MOE_API const fp8moe_model_config *fp8moe_config_file_get(const fp8moe_config_file *file);

/**
 * Facts of the gate that config.json settles: who serves the experts (quant_method), the
 * activation, the scheme of the activations' scales, whether weights are block-quantised. Others
 * stay as they are. Values borrow texts of the file; their origin names the key.
 */
FP8MOE_API void fp8moe_gate_set_model(fp8moe_gate_facts *facts, const fp8moe_model_config *config);

#ifdef __cplusplus
}
#endif

#endif

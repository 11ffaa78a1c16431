/* config.json of a model folder. */
#ifndef FP8MOE_LIB_MODEL_CONFIG_H
#define FP8MOE_LIB_MODEL_CONFIG_H

#include "arena.h"
#include "folder.h"

#include <fp8moe/checkpoint.h>

/* Read it; texts live in `memory`. A folder without config.json gives a record that says nothing.
 *
 * @return OK; IO, FORMAT (broken JSON, a key of the wrong type: err->offset), NOMEM. err->file is
 * set. */
fp8moe_status model_config_read(const model_folder *f, arena *memory, fp8moe_model_config *out,
                                fp8moe_error *err);

/* @return OK; UNSUPPORTED where the experts compute or store what nothing here emulates */
fp8moe_status model_config_check(const fp8moe_model_config *config, fp8moe_error *err);

/* Whether modules_to_not_convert names the module of this tensor or one it is part of. */
bool model_config_is_unconverted(const fp8moe_model_config *config, const char *tensor);

#endif

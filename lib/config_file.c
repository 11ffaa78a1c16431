#include "model_config.h"

#include <fp8moe/config_file.h>
#include <stdlib.h>

struct fp8moe_config_file {
    model_folder folder;
    arena memory;
    fp8moe_model_config config;
};

static fp8moe_status read_into(const char *folder, fp8moe_config_file *file, fp8moe_error *err)
{
    TRY(folder_open(folder, &file->folder, err));
    TRY(model_config_read(&file->folder, &file->memory, &file->config, err));
    if (file->config.found) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOT_FOUND, "the folder holds no config.json");
}

fp8moe_status fp8moe_config_file_open(const char *folder, fp8moe_config_file **out,
                                      fp8moe_error *err)
{
    *out = NULL;
    fp8moe_config_file *file = calloc(1, sizeof *file);
    if (!file) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the configuration");
    const fp8moe_status status = read_into(folder, file, err);
    if (status == FP8MOE_OK)
        *out = file;
    else
        fp8moe_config_file_close(file);
    return error_in_file(err, status, folder);
}

void fp8moe_config_file_close(fp8moe_config_file *file)
{
    if (!file) return;
    arena_free(&file->memory);
    folder_close(&file->folder);
    free(file);
}

const fp8moe_model_config *fp8moe_config_file_get(const fp8moe_config_file *file)
{
    return &file->config;
}

/* ---- what it settles of the gate ---- */

static void set_text(fp8moe_gate_facts *facts, fp8moe_gate_fact fact, const char *text,
                     const char *origin)
{
    if (!text) return;
    facts->value[fact] =
        (fp8moe_gate_value){.text = text, .source = FP8MOE_SOURCE_GIVEN, .origin = origin};
}

void fp8moe_gate_set_model(fp8moe_gate_facts *facts, const fp8moe_model_config *config)
{
    const char *method = config->quant_method ? config->quant_method : "none";
    set_text(facts, FP8MOE_FACT_METHOD, method, "quant_method");
    set_text(facts, FP8MOE_FACT_ACTIVATION, config->hidden_act, "hidden_act");
    if (config->swiglu_limit != 0)
        set_text(facts, FP8MOE_FACT_ACTIVATION, "SwiGLU with a limit", "swiglu_limit");
    set_text(facts, FP8MOE_FACT_ACTIVATION_SCHEME, config->activation_scheme, "activation_scheme");
    facts->value[FP8MOE_FACT_BLOCK_QUANT] = (fp8moe_gate_value){
        .on = config->block_rows > 0, .source = FP8MOE_SOURCE_GIVEN, .origin = "weight_block_size"};
}

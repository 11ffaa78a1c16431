#include "model_commands.h"
#include "model_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool model_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* One layer; what is wrong with it is part of the report. */
static void add_layer(model_report *out, fp8moe_checkpoint *model, size_t index)
{
    fp8moe_error err;
    out->layers = cli_resize(out->layers, (out->layer_count + 1) * sizeof *out->layers);
    model_layer *layer = &out->layers[out->layer_count++];
    *layer = (model_layer){.names = fp8moe_checkpoint_layer_at(model, index)};
    layer->status = fp8moe_checkpoint_describe(model, index, &layer->form, &err);
    if (layer->status != FP8MOE_OK) layer->problem = cli_error_text(&err);
}

static fp8moe_status add_layers(model_report *out, fp8moe_checkpoint *model, const options *given,
                                fp8moe_error *err)
{
    const char *asked = options_value(given, OPTION_LAYER);
    int64_t number;
    size_t index;
    if (!asked) {
        for (size_t i = 0; i < fp8moe_checkpoint_layer_count(model); i++)
            add_layer(out, model, i);
        return FP8MOE_OK;
    }
    if (!cli_parse_integer(asked, 0, INT64_MAX, &number))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--layer '%s': expected the number of a layer",
                        asked);
    CLI_TRY(fp8moe_checkpoint_layer_find(model, number, &index, err));
    add_layer(out, model, index);
    return FP8MOE_OK;
}

/* A model that is not emulated is no fault of the folder. */
static cli_exit exit_of(fp8moe_status status)
{
    return status == FP8MOE_ERR_UNSUPPORTED ? CLI_SAME : cli_exit_of(status);
}

cli_exit inspect_model(const options *given, const report_format *format)
{
    fp8moe_error err;
    fp8moe_checkpoint *model = NULL;
    model_report found = {.folder = given->operands[0]};
    fp8moe_status st = FP8MOE_OK;
    if (options_value(given, OPTION_TENSOR))
        st = cli_fail(&err, FP8MOE_ERR_USAGE,
                      "--tensor reads a file: name the shard instead of the folder");
    if (st == FP8MOE_OK) st = fp8moe_checkpoint_open(found.folder, &model, &err);
    if (st == FP8MOE_OK) st = add_layers(&found, model, given, &err);
    cli_exit code;
    if (st == FP8MOE_OK) {
        buffer out = {0};
        found.model = model;
        format->model(&found, &out);
        code = report_send(given, &out);
        for (size_t i = 0; i < found.layer_count; i++)
            code = cli_worse(code, exit_of(found.layers[i].status));
    } else {
        code = cli_report_error(&err);
    }
    for (size_t i = 0; i < found.layer_count; i++)
        free(found.layers[i].problem);
    free(found.layers);
    fp8moe_checkpoint_close(model);
    return code;
}

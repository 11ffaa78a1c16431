/* prepare: a layer's weights from a model folder, as a serving process holds them. */
#include "catalog.h"
#include "model_weights.h"
#include "report.h"
#include "scratch.h"

#include <fp8moe/fingerprint.h>
#include <fp8moe/prepare.h>
#include <stdlib.h>
#include <string.h>

enum { W13, W13_SCALE, W2, W2_SCALE, TENSORS };

static fp8moe_status find_settings(const options *given, settings *out, fp8moe_preparation *how,
                                   fp8moe_error *err)
{
    CLI_TRY(settings_check_machine(given, err));
    CLI_TRY(settings_find(given, NULL, out, err));
    settings_fill(out, SETTING_OP, "moe", SOURCE_DEFAULT);
    const char *stage = options_value(given, OPTION_WEIGHTS_STAGE);
    *how = (fp8moe_preparation){.target = catalog_target(out->value[SETTING_TARGET].text),
                                .from = FP8MOE_WEIGHTS_CHECKPOINT,
                                .to = stage ? fp8moe_stage_of_weights_find(stage)
                                            : FP8MOE_WEIGHTS_PREPARED,
                                .threads = settings_threads(given)};
    if (!options_value(given, OPTION_WEIGHTS))
        return cli_fail(err, FP8MOE_ERR_USAGE, "prepare needs --weights FOLDER");
    if (!how->target)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "prepare needs --target: devices differ in what they make of weights");
    if (how->to == FP8MOE_WEIGHTS_CHECKPOINT)
        return cli_fail(
            err, FP8MOE_ERR_USAGE,
            "--weights-stage checkpoint: that is what the folder holds; loaded or prepared");
    return FP8MOE_OK;
}

/* Memory for a tensor, its view in `out`. */
static fp8moe_status take(scratch *memory, fp8moe_tensor *tensor, void **data, fp8moe_error *err)
{
    const size_t bytes =
        (size_t)fp8moe_tensor_count(tensor) * (size_t)(fp8moe_dtype_bits(tensor->dtype) / 8);
    CLI_TRY(scratch_take(memory, bytes, data, err));
    tensor->data = *data;
    return FP8MOE_OK;
}

static fp8moe_status write_tensors(const settings *all, const fp8moe_prepared *tensors,
                                   const char *path, written *out, fp8moe_error *err)
{
    const fp8moe_named_tensor named[TENSORS] = {
        [W13] = {"w13_weight", tensors->w13},
        [W13_SCALE] = {"w13_weight_scale_inv", tensors->w13_scale},
        [W2] = {"w2_weight", tensors->w2},
        [W2_SCALE] = {"w2_weight_scale_inv", tensors->w2_scale}};
    fp8moe_metadata metadata[SETTING_COUNT];
    const size_t count = settings_as_metadata(all, metadata);
    CLI_TRY(fp8moe_safetensors_write(path, named, TENSORS, metadata, count, err));
    for (size_t i = 0; i < TENSORS; i++) {
        char hash[FP8MOE_FINGERPRINT_SIZE];
        CLI_TRY(fp8moe_fingerprint_of(&named[i].tensor, hash, err));
        written_add(out, named[i].name, &named[i].tensor, hash);
    }
    return FP8MOE_OK;
}

static fp8moe_status prepare_layer(const fp8moe_preparation *how, const fp8moe_moe_weights *moe,
                                   scratch *memory, fp8moe_prepared *out, fp8moe_error *err)
{
    void *w13, *w13_scale, *w2, *w2_scale;
    CLI_TRY(fp8moe_prepare_form(how, moe->experts, moe->expert_count, out, err));
    CLI_TRY(take(memory, &out->w13, &w13, err));
    CLI_TRY(take(memory, &out->w13_scale, &w13_scale, err));
    CLI_TRY(take(memory, &out->w2, &w2, err));
    CLI_TRY(take(memory, &out->w2_scale, &w2_scale, err));
    return fp8moe_prepare_experts(how, moe->experts, moe->expert_count, w13, w13_scale, w2,
                                  w2_scale, err);
}

static fp8moe_status prepare_into(const options *given, written *out, fp8moe_error *err)
{
    fp8moe_preparation how;
    model_weights weights = {0};
    scratch memory = {.beside = out->output};
    fp8moe_prepared tensors;
    CLI_TRY(find_settings(given, &out->settings, &how, err));
    fp8moe_status st = model_weights_open(given, NULL, &out->settings, &weights, err);
    if (st == FP8MOE_OK) {
        how.block_rows = weights.moe.block_rows;
        how.block_cols = weights.moe.block_cols;
        settings_replace(&out->settings, SETTING_WEIGHTS_STAGE,
                         fp8moe_stage_of_weights_name(how.to), SOURCE_DEFAULT);
        st = prepare_layer(&how, &weights.moe, &memory, &tensors, err);
        cli_in_file(err, st, out->input);
    }
    if (st == FP8MOE_OK)
        st = cli_in_file(err, write_tensors(&out->settings, &tensors, out->output, out, err),
                         out->output);
    scratch_free(&memory);
    model_weights_free(&weights);
    return st;
}

static cli_exit prepare(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    written out = {.command = "prepare",
                   .input = options_value(given, OPTION_WEIGHTS),
                   .output = options_value(given, OPTION_OUTPUT),
                   .threads = settings_threads(given)};
    if (!out.output) {
        cli_fail(&err, FP8MOE_ERR_USAGE, "prepare needs -o OUT.safetensors");
        return cli_report_error(&err);
    }
    const double start = cli_seconds();
    const fp8moe_status st = prepare_into(given, &out, &err);
    out.seconds = cli_seconds() - start;
    const cli_exit code = st == FP8MOE_OK ? written_send(format, &out) : cli_report_error(&err);
    written_free(&out);
    return code;
}

const cli_command command_prepare = {
    .name = "prepare",
    .operands = "",
    .summary = "write a layer's weights from a model folder as a serving process holds them",
    .description = "With --weights-stage loaded as the loader leaves them (Gaudi2: codes halved, "
                   "scales doubled), else "
                   "prepared: requantised to one scale an output row.\nThe slice of a rank is "
                   "taken before anything is "
                   "computed. The file carries its settings in its metadata.",
    .example = "fp8moe prepare --weights Qwen3-30B-A3B-FP8 --layer 17 --target gaudi2 -o "
               "layer17.safetensors",
    .run = prepare,
};

/* inspect: what a file holds, tensor by tensor. */
#include "model_commands.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 4096

/* FP8 types whose codes have an exponent field: bits of mantissa below it. */
static const struct {
    fp8moe_dtype dtype;
    int mantissa_bits;
} coded[] = {
    {FP8MOE_DTYPE_F8_E4M3, 3},
    {FP8MOE_DTYPE_F8_E4M3FNUZ, 3},
    {FP8MOE_DTYPE_F8_E5M2, 2},
};

static void count_values(const double *values, int64_t count, inspected_tensor *out)
{
    for (int64_t i = 0; i < count; i++) {
        const double magnitude = values[i] < 0 ? -values[i] : values[i];
        if (magnitude != magnitude) {
            out->nan++;
        } else if (!(magnitude - magnitude == 0)) {
            out->inf++;
        } else {
            out->zero += magnitude == 0;
            out->tiny += magnitude < 0x1p-10;
            if (magnitude > out->amax) out->amax = magnitude;
        }
    }
}

static void count_codes(const uint8_t *codes, int64_t count, int mantissa_bits,
                        inspected_tensor *out)
{
    for (int64_t i = 0; i < count; i++) {
        out->histogram[(codes[i] & 0x7F) >> mantissa_bits]++;
        if (out->form.dtype == FP8MOE_DTYPE_F8_E4M3) out->beyond_240 += (codes[i] & 0x7F) >= 0x78;
    }
}

static void inspect_values(const fp8moe_tensor *tensor, inspected_tensor *out)
{
    double values[CHUNK];
    uint8_t codes[CHUNK];
    int mantissa_bits = 0;
    for (size_t i = 0; i < sizeof coded / sizeof *coded; i++)
        if (tensor->dtype == coded[i].dtype) mantissa_bits = coded[i].mantissa_bits;
    if (mantissa_bits) out->bins = 0x80 >> mantissa_bits;
    for (int64_t first = 0; first < out->count; first += CHUNK) {
        const int64_t some = out->count - first < CHUNK ? out->count - first : CHUNK;
        fp8moe_tensor_read_f64(tensor, first, some, values);
        count_values(values, some, out);
        if (!mantissa_bits) continue;
        fp8moe_tensor_read_raw(tensor, first, some, codes);
        count_codes(codes, some, mantissa_bits, out);
    }
}

static fp8moe_status inspect_tensor(fp8moe_dump *dump, size_t index, inspected *out,
                                    fp8moe_error *err)
{
    fp8moe_tensor tensor = fp8moe_dump_info(dump, index);
    inspected_tensor *t = &out->tensors[out->tensor_count++];
    *t = (inspected_tensor){.name = fp8moe_dump_name(dump, index),
                            .form = tensor,
                            .offset = fp8moe_dump_offset(dump, index),
                            .count = fp8moe_tensor_count(&tensor),
                            .numeric = fp8moe_dtype_is_numeric(tensor.dtype)};
    t->form.data = NULL;
    if (!t->numeric) return FP8MOE_OK;
    CLI_TRY(fp8moe_dump_tensor(dump, index, &tensor, err));
    inspect_values(&tensor, t);
    return FP8MOE_OK;
}

static fp8moe_status inspect_named(fp8moe_dump *dump, const char *name, inspected *out,
                                   fp8moe_error *err)
{
    const int64_t index = fp8moe_dump_find(dump, name);
    if (index < 0) return cli_fail(err, FP8MOE_ERR_NOT_FOUND, "there is no tensor '%s'", name);
    return inspect_tensor(dump, (size_t)index, out, err);
}

/* The tensors of --tensor, or all. */
static fp8moe_status inspect_dump(fp8moe_dump *dump, const options *given, inspected *out,
                                  fp8moe_error *err)
{
    const char *name;
    const bool some = options_value(given, OPTION_TENSOR) != NULL;
    out->tensors =
        cli_allocate((fp8moe_dump_count(dump) + given->given_count) * sizeof *out->tensors);
    for (size_t at = 0; (name = options_next(given, OPTION_TENSOR, &at));)
        CLI_TRY(inspect_named(dump, name, out, err));
    for (size_t i = 0; i < fp8moe_dump_count(dump) && !some; i++)
        CLI_TRY(inspect_tensor(dump, i, out, err));
    return FP8MOE_OK;
}

static cli_exit inspect(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    if (model_is_folder(given->operands[0])) return inspect_model(given, format);
    fp8moe_dump *dump = NULL;
    inspected found = {.file = given->operands[0]};
    fp8moe_status st =
        subject_open_file(&(source){.title = (char *)found.file}, given, &dump, &err);
    if (st == FP8MOE_OK)
        st = cli_in_file(&err, inspect_dump(dump, given, &found, &err), found.file);
    cli_exit code = CLI_SAME;
    if (st == FP8MOE_OK) {
        buffer out = {0};
        found.dump = dump;
        found.format = fp8moe_dump_format(dump);
        format->inspected(&found, &out);
        code = report_send(given, &out);
    } else {
        code = cli_report_error(&err);
    }
    free(found.tensors);
    fp8moe_dump_close(dump);
    return code;
}

const cli_command command_inspect = {
    .name = "inspect",
    .operands = "FILE|FOLDER",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "list a file's tensors with their range, or a model folder's layers",
    .description = "Of a Hugging Face model folder: layers with experts, their names, shapes and "
                   "quantisation; no "
                   "data is read.\nFor FP8 tensors the codes are counted by exponent field; codes "
                   "from 0x78 on are finite in "
                   "OCP E4M3 and not finite on gaudi2.",
    .example = "fp8moe inspect layer.safetensors --tensor w13_weight",
    .run = inspect,
};

/* The case list ($FP8MOE_SHARED/cases/cases.json): public bug reports, reviews and source readings
 * as small inputs with the right answer. Every id has a handler here or stands in `elsewhere`; an
 * id in neither, in both, or in no file fails the run. Numbers come from the file alone. */
#include "bits.h"
#include "combine.h"
#include "e4m3.h"
#include "experts.h"
#include "file.h"
#include "json.h"
#include "kernels.h"
#include "layer.h"
#include "model_config.h"
#include "quant.h"
#include "shared_folder.h"
#include "weights.h"

#include <fp8moe/checkpoint.h>
#include <fp8moe/compare.h>
#include <fp8moe/dump.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *current_id;
static int failures;

static void complain(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("FAILED %s (cases.c:%d): ", current_id, line);
    (void)vprintf(format, args);
    printf("\n");
    va_end(args);
    failures++;
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) complain(__LINE__, "%s", #condition);                                    \
    } while (0)

#define EXPECT_NUMBER(got, want)                                                                   \
    do {                                                                                           \
        const double got_ = (got), want_ = (want);                                                 \
        if (!same_number(got_, want_))                                                             \
            complain(__LINE__, "%s is %.17g, not %.17g", #got, got_, want_);                       \
    } while (0)

/* A case that cannot even be set up ends the run: the file is not what this program was written
 * for. */
static void require(bool condition, const char *what)
{
    if (condition) return;
    printf("FAILED %s: the case list has no usable %s\n", current_id, what);
    exit(1);
}

/* ---- reading a case ---- */

/* "a.b" below `value`. */
static const json_value *at(const json_value *value, const char *path)
{
    char key[64];
    while (value && *path) {
        const size_t length = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = json_get(value, key);
        path += length + (path[length] == '.');
    }
    require(value != NULL, path);
    return value;
}

static bool is_list(const json_value *value)
{
    return value->type == JSON_ARRAY;
}

static const json_value *item(const json_value *list, int64_t index)
{
    require(is_list(list) && index < list->children.count, "item");
    const json_value *value = list->children.first;
    while (index-- > 0)
        value = value->next;
    return value;
}

static int64_t count_of(const json_value *list)
{
    require(is_list(list), "list");
    return list->children.count;
}

static const char *text_of(const json_value *value)
{
    require(value->type == JSON_STRING, "text");
    return value->string;
}

/* Numbers; also "NaN", "-Infinity", "-0.0" and codes and bits as "0xNN". */
static double number_of(const json_value *value)
{
    if (value->type == JSON_I64) return (double)value->i64;
    if (value->type == JSON_F64) return value->f64;
    char *end;
    const char *const text = text_of(value);
    const double number =
        !strncmp(text, "0x", 2) ? (double)strtoull(text + 2, &end, 16) : strtod(text, &end);
    require(*text && !*end, text);
    return number;
}

static int64_t integer_of(const json_value *value)
{
    const double number = number_of(value);
    require(number == (double)(int64_t)number, "whole number");
    return (int64_t)number;
}

static bool same_number(double a, double b)
{
    return a != a ? b != b : f64_bits(a) == f64_bits(b);
}

/* All numbers of nested lists, in order, at most `room`. */
static int64_t flatten(const json_value *value, double *out, int64_t room)
{
    if (!is_list(value)) {
        require(room > 0, "room");
        *out = number_of(value);
        return 1;
    }
    int64_t count = 0;
    for (const json_value *v = value->children.first; v; v = v->next)
        count += flatten(v, out + count, room - count);
    return count;
}

static int64_t flatten_codes(const json_value *value, uint8_t *out, int64_t room)
{
    double numbers[64];
    require(room <= 64, "room");
    const int64_t count = flatten(value, numbers, room);
    for (int64_t i = 0; i < count; i++)
        out[i] = (uint8_t)numbers[i];
    return count;
}

/* "RxC, all 0xNN" or nested lists. */
static void codes_of(const json_value *value, uint8_t *codes, int64_t *rows, int64_t *cols)
{
    if (is_list(value)) {
        *rows = count_of(value);
        *cols = count_of(item(value, 0));
        (void)flatten_codes(value, codes, 64);
        return;
    }
    int r, c;
    unsigned code;
    require(sscanf(text_of(value), "%dx%d, all 0x%x", &r, &c, &code) == 3 && r * c <= 64, "codes");
    memset(codes, (int)code, (size_t)(r * c));
    *rows = r;
    *cols = c;
}

/* Bits of an f32 given as "0x3F800000". */
static float f32_at(const json_value *value)
{
    return f32_from_bits((uint32_t)integer_of(value));
}

/* ---- A: number formats ---- */

static const fp8moe_target *target(const char *name)
{
    return fp8moe_target_find(name);
}

static void encodes_ties_to_even(const json_value *in, const json_value *want)
{
    const json_value *const values = at(in, "values"), *const codes = at(want, "codes");
    for (int64_t i = 0; i < count_of(values); i++) {
        const double value = number_of(item(values, i));
        EXPECT(value == (double)f32_at(item(at(in, "f32_bits"), i)));
        const uint8_t code = e4m3fn_encode(value);
        EXPECT_NUMBER(code, number_of(item(codes, i)));
        EXPECT_NUMBER(e4m3fn_table()[code], number_of(item(at(want, "decoded"), i)));
        for (size_t t = 0; fp8moe_target_at(t); t++)
            EXPECT(e4m3_encode(fp8moe_target_at(t), value) == code);
    }
}

static void expect_decoded(const double *table, const json_value *codes, const json_value *values)
{
    for (int64_t i = 0; i < count_of(codes); i++)
        EXPECT_NUMBER(table[integer_of(item(codes, i))], number_of(item(values, i)));
}

static void decodes_subnormals(const json_value *in, const json_value *want)
{
    expect_decoded(e4m3fn_table(), at(in, "codes"), at(want, "values"));
    expect_decoded(e4m3_table(target("gaudi2")), at(in, "codes"), at(want, "values"));
}

static void decodes_the_top_of_the_range(const json_value *in, const json_value *want)
{
    int finite = 0;
    expect_decoded(e4m3fn_table(), at(in, "codes"), at(want, "values"));
    for (int c = 0; c < 256; c++)
        finite += isfinite(e4m3fn_table()[c]) != 0;
    EXPECT_NUMBER(finite, number_of(at(want, "finite_codes_of_256")));
}

static void keeps_fn_and_fnuz_apart(const json_value *in, const json_value *want)
{
    const json_value *const values = at(in, "encode_fn");
    for (int64_t i = 0; i < count_of(values); i++)
        EXPECT_NUMBER(e4m3fn_encode(number_of(item(values, i))),
                      number_of(item(at(want, "encode_fn"), i)));
    expect_decoded(e4m3fn_table(), at(in, "decode.fn"), at(want, "decode_fn"));
    expect_decoded(e4m3fnuz_table(), at(in, "decode.fnuz"), at(want, "decode_fnuz"));
}

static void rounds_f32_to_bf16(const json_value *in, const json_value *want)
{
    const json_value *const bits = at(in, "f32_bits");
    for (int64_t i = 0; i < count_of(bits); i++) {
        const json_value *const expected = item(at(want, "bf16_bits"), i);
        const float value = f32_at(item(bits, i));
        const uint16_t got = f32_to_bf16(value);
        if (!strcmp(text_of(expected), "NaN"))
            EXPECT((got & 0x7FFF) > 0x7F80 && round_bf16((double)value) != (double)value);
        else
            EXPECT(got == integer_of(expected) && round_bf16((double)value) == bf16_to_f64(got));
    }
}

/* ---- B, C: dynamic quantisation ---- */

/* A row as the device quantises it. The dtype of an input decides its scale's: bf16 steps on Gaudi
 * for bf16 numbers, else f32. */
static double quantise(const fp8moe_target *on, fp8moe_precision input, const double *row,
                       int64_t n, uint8_t *codes)
{
    kernels k;
    (void)kernels_init(&k, NULL, false);
    return quant_row(&k, on, quant_steps(on, FP8MOE_CAST_BF16, input), row, n, codes);
}

static void zero_rows_stay_zero(const json_value *in, const json_value *want)
{
    const json_value *const x = at(in, "x");
    for (size_t t = 0; fp8moe_target_at(t); t++) {
        const fp8moe_target *const on = fp8moe_target_at(t);
        if ((double)on->fp8_max != number_of(at(in, "fp8_max"))) continue;
        for (int64_t r = 0; r < count_of(x); r++) {
            double row[8];
            uint8_t codes[8];
            const int64_t n = flatten(item(x, r), row, 8);
            const double scale = quantise(on, FP8MOE_ROUND_BF16, row, n, codes);
            EXPECT(isfinite(scale) && scale > 0);
            for (int64_t i = 0; i < n; i++) {
                EXPECT((codes[i] & 0x7F) == 0);
                EXPECT(e4m3_table(on)[codes[i]] * scale ==
                       number_of(item(item(at(want, "dequant"), r), i)));
            }
        }
    }
}

static void expect_quantised(const fp8moe_target *on, fp8moe_precision input, const json_value *row,
                             const json_value *want)
{
    double x[8];
    uint8_t codes[8];
    const int64_t n = flatten(row, x, 8);
    EXPECT_NUMBER(quantise(on, input, x, n, codes), number_of(at(want, "scale")));
    for (int64_t i = 0; i < n; i++)
        EXPECT_NUMBER(codes[i], number_of(item(at(want, "codes"), i)));
}

static void scales_of_bf16_rows_are_bf16(const json_value *in, const json_value *want)
{
    const json_value *const row = item(at(in, "x_bf16"), 0);
    expect_quantised(target("gaudi3"), FP8MOE_ROUND_BF16, row, at(want, "bf16_path"));
    expect_quantised(target("gaudi3"), FP8MOE_ROUND_F32, row, at(want, "fp32_path"));
    expect_quantised(target("ocp"), FP8MOE_ROUND_BF16, row, at(want, "fp32_path"));
    EXPECT_NUMBER(round_bf16(1 / number_of(at(want, "bf16_path.scale"))),
                  number_of(at(want, "bf16_path.inv")));
    EXPECT_NUMBER(round_f32(1 / number_of(at(want, "fp32_path.scale"))),
                  number_of(at(want, "fp32_path.inv")));
}

/* The dequantised tensor: rows of values of codes times their scale. */
static void dequantise(const fp8moe_target *on, const json_value *x, double *out, double *scales,
                       uint8_t *codes)
{
    const int64_t n = count_of(item(x, 0));
    for (int64_t r = 0; r < count_of(x); r++) {
        double row[8];
        (void)flatten(item(x, r), row, 8);
        scales[r] = quantise(on, FP8MOE_ROUND_BF16, row, n, codes + r * n);
        for (int64_t i = 0; i < n; i++)
            out[r * n + i] = e4m3_table(on)[codes[r * n + i]] * scales[r];
    }
}

static void a_bad_token_spoils_itself_alone(const json_value *in, const json_value *want)
{
    const json_value *const x = at(in, "x"), *const flagged = at(want, "rows_flagged_non_finite");
    const int64_t rows = count_of(x), n = count_of(item(x, 0)), shape[2] = {rows, n};
    double values[32], scales[8];
    uint8_t codes[32];
    dequantise(target("gaudi3"), x, values, scales, codes);
    for (int64_t r = 0; r < rows; r++) {
        bool is_flagged = false, finite = true;
        for (int64_t i = 0; i < count_of(flagged); i++)
            is_flagged |= integer_of(item(flagged, i)) == r;
        for (int64_t i = 0; i < n; i++) {
            finite &= isfinite(values[r * n + i]) != 0;
            if (!is_flagged) EXPECT(values[r * n + i] == number_of(item(item(x, r), i)));
        }
        EXPECT(finite == !is_flagged);
    }
    for (int64_t i = 0; i < n; i++)
        EXPECT_NUMBER(codes[n + i], number_of(item(at(want, "row1_codes"), i)));
    EXPECT_NUMBER(scales[1], number_of(at(want, "row1_scale")));
    const fp8moe_tensor t = fp8moe_tensor_view(values, FP8MOE_DTYPE_F64, 2, shape);
    fp8moe_compare_options options;
    fp8moe_comparison c;
    fp8moe_compare_options_default(&options);
    EXPECT(fp8moe_compare(&t, &t, &options, &c, NULL) == FP8MOE_OK);
    EXPECT(c.first_nonfinite_row == integer_of(item(flagged, 0)) && c.got_nan > 0);
}

static void decodes_what_gaudi2_cannot_hold(const json_value *in, const json_value *want)
{
    const json_value *const codes = at(in, "codes");
    int beyond = 0;
    expect_decoded(e4m3_table(target("gaudi2")), codes, at(want, "values"));
    for (int64_t i = 0; i < count_of(codes); i++)
        beyond += !isfinite(e4m3_table(target("gaudi2"))[integer_of(item(codes, i))]);
    EXPECT_NUMBER(beyond, number_of(at(want, "count_out_of_range")));
}

static void the_maximum_is_the_devices(const json_value *in, const json_value *want)
{
    expect_quantised(target("gaudi2"), FP8MOE_ROUND_F32, item(at(in, "x"), 0), at(want, "gaudi2"));
    expect_quantised(target("gaudi3"), FP8MOE_ROUND_F32, item(at(in, "x"), 0), at(want, "gaudi3"));
}

/* ---- B, C, D, K: weights ---- */

/* One matrix of at most 64 codes with its scale, and a reader. */
typedef struct small_weights {
    uint8_t codes[64];
    float scales[64];
    matrix matrix;
    weight_reader reader;
    kernels kernels;
} small_weights;

static void open_weights(small_weights *w, const json_value *codes, const json_value *block,
                         const double *scales, int rank, const int64_t *shape)
{
    int64_t rows, cols;
    fp8moe_error err;
    codes_of(codes, w->codes, &rows, &cols);
    for (int i = 0; i < 64; i++)
        w->scales[i] = (float)scales[i];
    const int64_t of[2] = {rows, cols};
    const fp8moe_weight raw = {.weight = fp8moe_tensor_view(w->codes, FP8MOE_DTYPE_F8_E4M3, 2, of),
                               .scale =
                                   fp8moe_tensor_view(w->scales, FP8MOE_DTYPE_F32, rank, shape)};
    const int64_t block_rows = block ? integer_of(item(block, 0)) : 128,
                  block_cols = block ? integer_of(item(block, 1)) : 128;
    if (matrix_check(&raw, -1, -1, block_rows, block_cols, "weight", &w->matrix, &err) != FP8MOE_OK)
        complain(__LINE__, "%s", err.message);
}

static void read_as(small_weights *w, const char *on, fp8moe_weight_form form,
                    fp8moe_stage_of_weights stage)
{
    (void)kernels_init(&w->kernels, NULL, false);
    w->reader = (weight_reader){.target = target(on),
                                .table = e4m3_table(target(on)),
                                .form = form,
                                .stage = stage,
                                .kernels = &w->kernels};
}

/* A block matrix of the case. */
static void open_blocks(small_weights *w, const json_value *codes, const json_value *block,
                        const json_value *grid)
{
    double scales[64] = {0};
    const int64_t shape[2] = {count_of(grid), count_of(item(grid, 0))};
    (void)flatten(grid, scales, 64);
    open_weights(w, codes, block, scales, 2, shape);
    read_as(w, "gaudi3", FP8MOE_FORM_EXACT, FP8MOE_WEIGHTS_LOADED);
}

static void expect_rows(const small_weights *w, const json_value *want)
{
    for (int64_t r = 0; r < w->matrix.rows; r++) {
        double out[64];
        uint8_t codes[64];
        EXPECT(weights_row(&w->reader, &w->matrix, r, out, codes) == 1);
        for (int64_t c = 0; c < w->matrix.cols; c++)
            EXPECT_NUMBER(out[c], number_of(item(item(want, r), c)));
    }
}

static void scale_inv_multiplies(const json_value *in, const json_value *want)
{
    small_weights w;
    open_blocks(&w, at(in, "weight_codes"), at(in, "block"), at(in, "scale_inv"));
    expect_rows(&w, at(want, "dequant"));
}

static void gaudi2_halves_and_doubles(const json_value *in, const json_value *want)
{
    small_weights w = {.scales = {(float)number_of(at(in, "scale_inv"))}};
    uint8_t loaded[64];
    const int64_t n = flatten_codes(at(in, "weight_codes"), w.codes, 64), shape[2] = {1, n};
    const fp8moe_weight raw = {.weight =
                                   fp8moe_tensor_view(w.codes, FP8MOE_DTYPE_F8_E4M3, 2, shape),
                               .scale = fp8moe_tensor_view(w.scales, FP8MOE_DTYPE_F32, 0, NULL)};
    EXPECT(matrix_check(&raw, -1, -1, 128, 128, "weight", &w.matrix, NULL) == FP8MOE_OK);
    read_as(&w, "gaudi2", FP8MOE_FORM_CODES, FP8MOE_WEIGHTS_CHECKPOINT);
    weights_codes(&w.reader, &w.matrix, 0, loaded);
    const double scale = weights_scale(&w.reader, &w.matrix, 0, 0);
    EXPECT_NUMBER(scale, (double)(float)number_of(at(want, "scale_inv")));
    for (int64_t i = 0; i < n; i++) {
        EXPECT_NUMBER(loaded[i], number_of(item(at(want, "weight_codes"), i)));
        EXPECT(e4m3fn_table()[loaded[i]] * scale ==
               e4m3fn_table()[w.codes[i]] * (double)w.scales[0]);
    }
}

static void the_last_block_may_be_partial(const json_value *in, const json_value *want)
{
    small_weights w;
    open_blocks(&w, at(in, "weight_codes"), at(in, "block"), at(in, "scale_inv"));
    EXPECT(w.matrix.rows == integer_of(item(at(in, "shape"), 0)) &&
           w.matrix.cols == integer_of(item(at(in, "shape"), 1)));
    expect_rows(&w, at(want, "dequant"));
    const json_value *const real = at(in, "real_shape_check");
    const int64_t shape[2] = {integer_of(item(at(real, "weight"), 0)),
                              integer_of(item(at(real, "weight"), 1))};
    const int64_t grid[2] = {integer_of(item(at(real, "scale"), 0)),
                             integer_of(item(at(real, "scale"), 1))};
    const fp8moe_weight raw = {.weight = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_F8_E4M3, 2, shape),
                               .scale = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_F32, 2, grid)};
    EXPECT(matrix_check(&raw, -1, -1, integer_of(item(at(real, "block"), 0)),
                        integer_of(item(at(real, "block"), 1)), "weight", &w.matrix,
                        NULL) == FP8MOE_OK);
    EXPECT(matrix_is_blockwise(&w.matrix));
}

static void a_block_is_rows_by_columns(const json_value *in, const json_value *want)
{
    small_weights w;
    open_blocks(&w, at(in, "weight_codes"), at(in, "block"), at(in, "scale_inv"));
    expect_rows(&w, at(want, "dequant_rows"));
    open_blocks(&w, at(in, "weight_codes"), at(in, "also.block"), at(in, "also.scale_inv"));
    expect_rows(&w, at(want, "also"));
}

static void blocks_are_requantised_by_row(const json_value *in, const json_value *want)
{
    small_weights w;
    double out[64];
    uint8_t codes[64];
    open_blocks(&w, at(in, "weight_codes"), at(in, "block"), at(in, "scale_inv"));
    EXPECT((double)target("gaudi3")->fp8_max == number_of(at(in, "fp8_max")));
    read_as(&w, "gaudi3", FP8MOE_FORM_PREPARED, FP8MOE_WEIGHTS_LOADED);
    EXPECT_NUMBER(weights_row(&w.reader, &w.matrix, 0, out, codes),
                  number_of(item(at(want, "row_scale"), 0)));
    for (int64_t c = 0; c < w.matrix.cols; c++)
        EXPECT_NUMBER(codes[c], number_of(item(at(want, "row0_codes"), c)));
    read_as(&w, "gaudi3", FP8MOE_FORM_DEQUANT, FP8MOE_WEIGHTS_LOADED);
    (void)weights_row(&w.reader, &w.matrix, 0, out, codes);
    for (int64_t c = 0; c < w.matrix.cols; c++)
        EXPECT_NUMBER(out[c], number_of(item(at(want, "row0_block_path"), c)));
}

static void subnormal_scales_count(const json_value *in, const json_value *want)
{
    static const fp8moe_weight_form forms[] = {FP8MOE_FORM_EXACT, FP8MOE_FORM_DEQUANT};
    small_weights w;
    const double scale[64] = {(double)f32_at(at(in, "scale_inv_f32_bits"))};
    const int64_t shape[2] = {1, 1};
    open_weights(&w, at(in, "weight_codes"), at(in, "block"), scale, 2, shape);
    for (size_t i = 0; i < COUNT(forms); i++) {
        double out[64];
        uint8_t codes[64];
        read_as(&w, "gaudi3", forms[i], FP8MOE_WEIGHTS_LOADED);
        (void)weights_row(&w.reader, &w.matrix, 0, out, codes);
        EXPECT_NUMBER(out[0], number_of(at(want, "dequant")));
        EXPECT(f32_bits((float)out[0]) == integer_of(at(want, "f32_bits")));
    }
}

/* ---- F: layers ---- */

/* A layer of at most 16 codes a matrix, on gaudi3. */
typedef struct small_layer {
    fp8moe_config config;
    fp8moe_inputs inputs;
    uint8_t w13[16], w2[16];
    float scale13[16], scale2[16], x[16], weights[16];
    int64_t ids[16];
} small_layer;

static void open_small(small_layer *s, const char *recipe, int64_t experts, int64_t hidden,
                       int64_t inter)
{
    memset(s, 0, sizeof *s);
    fp8moe_config_default(&s->config);
    s->config.target = target("gaudi3");
    s->config.recipe = fp8moe_recipe_find(recipe);
    s->config.weights_stage = FP8MOE_WEIGHTS_LOADED;
    s->config.num_experts = experts;
    const int64_t w13[3] = {experts, 2 * inter, hidden}, w2[3] = {experts, hidden, inter};
    s->inputs.w13_weight = fp8moe_tensor_view(s->w13, FP8MOE_DTYPE_F8_E4M3, 3, w13);
    s->inputs.w2_weight = fp8moe_tensor_view(s->w2, FP8MOE_DTYPE_F8_E4M3, 3, w2);
    s->inputs.w13_scale = fp8moe_tensor_view(s->scale13, FP8MOE_DTYPE_F32, 0, NULL);
    s->inputs.w2_scale = fp8moe_tensor_view(s->scale2, FP8MOE_DTYPE_F32, 0, NULL);
    s->scale13[0] = s->scale2[0] = 1;
}

static void set_floats(const json_value *value, float *out)
{
    double numbers[16];
    const int64_t count = flatten(value, numbers, 16);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)numbers[i];
}

/* x, topk_ids and topk_weights of the case. */
static void set_tokens(small_layer *s, const json_value *in)
{
    const json_value *const ids = at(in, "topk_ids");
    const int64_t tokens = count_of(ids), top_k = count_of(item(ids, 0)),
                  slots[2] = {tokens, top_k};
    const int64_t hidden[2] = {tokens, s->inputs.w13_weight.shape[2]};
    const json_value *const x = json_get(in, "x");
    double numbers[16];
    (void)flatten(ids, numbers, 16);
    for (int64_t i = 0; i < tokens * top_k; i++)
        s->ids[i] = (int64_t)numbers[i];
    set_floats(at(in, "topk_weights"), s->weights);
    if (x) set_floats(x, s->x);
    s->inputs.hidden_states = fp8moe_tensor_view(s->x, FP8MOE_DTYPE_F32, 2, hidden);
    s->inputs.topk_ids = fp8moe_tensor_view(s->ids, FP8MOE_DTYPE_I64, 2, slots);
    s->inputs.topk_weights = fp8moe_tensor_view(s->weights, FP8MOE_DTYPE_F32, 2, slots);
}

/* Weights given as values. */
static void set_values(const json_value *value, uint8_t *codes)
{
    double numbers[16];
    const int64_t count = flatten(value, numbers, 16);
    for (int64_t i = 0; i < count; i++) {
        codes[i] = e4m3fn_encode(numbers[i]);
        EXPECT(e4m3fn_table()[codes[i]] == numbers[i]);
    }
}

static fp8moe_layer *opened(const small_layer *s)
{
    fp8moe_layer *layer = NULL;
    fp8moe_error err;
    if (fp8moe_layer_open(&s->config, &s->inputs, &layer, &err) != FP8MOE_OK)
        complain(__LINE__, "%s", err.message);
    require(layer != NULL, "layer");
    return layer;
}

static void expect_output(fp8moe_layer *layer, const json_value *want)
{
    double numbers[16], output[16];
    const int64_t count = flatten(want, numbers, 16);
    EXPECT(fp8moe_layer_run(layer, NULL, output, NULL) == FP8MOE_OK);
    for (int64_t i = 0; i < count; i++)
        EXPECT_NUMBER(output[i], numbers[i]);
    fp8moe_layer_close(layer);
}

static void gate_comes_first(const json_value *in, const json_value *want)
{
    static const char *const recipes[] = {"gather", "stock",   "stock-hp",
                                          "dense",  "dequant", "exact"};
    for (size_t i = 0; i < COUNT(recipes); i++) {
        small_layer s;
        open_small(&s, recipes[i], integer_of(at(in, "E")), integer_of(at(in, "H")),
                   integer_of(at(in, "I")));
        const int64_t rows13[2] = {1, s.inputs.w13_weight.shape[1]},
                      rows2[2] = {1, s.inputs.w2_weight.shape[1]};
        (void)flatten_codes(at(in, "w13_codes"), s.w13, 16);
        (void)flatten_codes(at(in, "w2_codes"), s.w2, 16);
        set_floats(at(in, "w13_scale"), s.scale13);
        set_floats(at(in, "w2_scale"), s.scale2);
        s.inputs.w13_scale = fp8moe_tensor_view(s.scale13, FP8MOE_DTYPE_F32, 2, rows13);
        s.inputs.w2_scale = fp8moe_tensor_view(s.scale2, FP8MOE_DTYPE_F32, 2, rows2);
        set_tokens(&s, in);
        expect_output(opened(&s), at(want, "y"));
    }
}

/* Expert outputs as the case gives them; a slot of id -1 holds those of the last expert, which a
 * wrapped index would read. */
static void minus_one_adds_nothing(const json_value *in, const json_value *want)
{
    static const char *const recipes[] = {"gather", "stock", "stock-eager", "dense", "exact"};
    const json_value *const outputs = at(in, "per_expert_output");
    for (size_t i = 0; i < COUNT(recipes); i++) {
        small_layer s;
        double of_slot[16], ones[16];
        open_small(&s, recipes[i], integer_of(at(in, "E")), 1, 1);
        set_tokens(&s, in);
        const int64_t shape[3] = {s.inputs.topk_ids.shape[0], s.inputs.topk_ids.shape[1], 1};
        for (int64_t slot = 0; slot < shape[0] * shape[1]; slot++) {
            ones[slot] = 1;
            of_slot[slot] =
                number_of(item(outputs, s.ids[slot] < 0 ? count_of(outputs) - 1 : s.ids[slot]));
        }
        const fp8moe_tensor from = fp8moe_tensor_view(of_slot, FP8MOE_DTYPE_F64, 3, shape);
        const fp8moe_tensor scales = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F64, 3, shape);
        fp8moe_layer *const layer = opened(&s);
        EXPECT(fp8moe_layer_from(layer, FP8MOE_STAGE_EXPERT_OUTPUT, &from, NULL) == FP8MOE_OK);
        /* The dense row multiplies the intermediate's scale into the router weight. */
        if (s.config.recipe->row_scale == FP8MOE_ROW_SCALE_ROUTER)
            EXPECT(fp8moe_layer_from(layer, FP8MOE_STAGE_ACT_SCALE, &scales, NULL) == FP8MOE_OK);
        expect_output(layer, at(want, "y"));
    }
}

static void experts_stay_apart(const json_value *in, const json_value *want)
{
    static const char *const recipes[] = {"gather", "stock", "stock-hp", "dense", "dequant"};
    for (size_t i = 0; i < COUNT(recipes); i++) {
        small_layer s;
        open_small(&s, recipes[i], integer_of(at(in, "E")), integer_of(at(in, "H")),
                   integer_of(at(in, "I")));
        set_values(at(in, "w13"), s.w13);
        set_values(at(in, "w2"), s.w2);
        set_tokens(&s, in);
        expect_output(opened(&s), at(want, "y"));
    }
}

static void stock_and_gather_differ_by_design(const json_value *in, const json_value *want)
{
    static const char *const recipes[] = {"gather", "stock"};
    const json_value *const outputs[] = {at(want, "gathered_fp32"),
                                         at(want, "stock_fp8_intermediate")};
    double y[2];
    for (size_t i = 0; i < COUNT(recipes); i++) {
        small_layer s;
        open_small(&s, recipes[i], integer_of(at(in, "E")), integer_of(at(in, "H")),
                   integer_of(at(in, "I")));
        set_values(at(in, "w13"), s.w13);
        set_values(at(in, "w2"), s.w2);
        set_tokens(&s, in);
        expect_output(opened(&s), outputs[i]);
        y[i] = number_of(outputs[i]);
        EXPECT_NUMBER(e4m3fn_encode(y[i]), number_of(item(at(want, "fp8_codes"), (int64_t)i)));
    }
    EXPECT_NUMBER((double)fp8moe_upstream_ulp((float)y[0], (float)y[1]),
                  number_of(at(want, "ulp")));
}

/* Case D11: the weights are all 1, so that a row's values are its scale. */
static void two_scales_are_those_of_gate_and_up(const json_value *in, const json_value *want)
{
    small_layer s;
    const int64_t inter = integer_of(at(in, "I")), hidden = integer_of(at(in, "H")), two[1] = {2},
                  token[2] = {1, hidden};
    open_small(&s, "exact", 1, hidden, inter);
    memset(s.w13, e4m3fn_encode(1), sizeof s.w13);
    memset(s.w2, e4m3fn_encode(1), sizeof s.w2);
    set_floats(at(in, "w13_scale"), s.scale13);
    set_floats(at(in, "w2_scale"), s.scale2);
    s.inputs.w13_scale = fp8moe_tensor_view(s.scale13, FP8MOE_DTYPE_F32, 1, two);
    s.inputs.hidden_states = fp8moe_tensor_view(s.x, FP8MOE_DTYPE_F32, 2, token);
    s.inputs.topk_ids = fp8moe_tensor_view(s.ids, FP8MOE_DTYPE_I64, 2, (const int64_t[]){1, 1});
    s.inputs.topk_weights =
        fp8moe_tensor_view(s.weights, FP8MOE_DTYPE_F32, 2, (const int64_t[]){1, 1});
    fp8moe_layer *const layer = opened(&s);
    const expert *const e = &layer->experts[0];
    for (int64_t r = 0; r < 2 * inter + hidden; r++) {
        const bool down = r >= 2 * inter;
        const matrix *const m = down ? &e->down : r < inter ? &e->gate : &e->up;
        const int64_t row = down ? r - 2 * inter : r % inter;
        double out[16];
        uint8_t codes[16];
        (void)weights_row(&layer->reader, m, row, out, codes);
        for (int64_t c = 0; c < m->cols; c++)
            EXPECT_NUMBER(out[c], number_of(down ? item(at(want, "w2_row_values"), row)
                                                 : item(at(want, "w13_row_values"), r)));
    }
    fp8moe_layer_close(layer);
}

/* Policy of the case: a tool without such a limit must refuse configs that set one. */
static void a_swiglu_limit_is_refused(const json_value *in, const json_value *want)
{
    fp8moe_model_config config = {.found = true, .norm_topk_prob = -1};
    fp8moe_error err;
    EXPECT(count_of(at(want, "values")) > 0);
    EXPECT(model_config_check(&config, &err) == FP8MOE_OK);
    config.swiglu_limit = number_of(at(in, "limit"));
    EXPECT(model_config_check(&config, &err) == FP8MOE_ERR_UNSUPPORTED);
    EXPECT(strstr(err.message, "swiglu_limit") != NULL);
}

/* "A or B", given to two digits: near one of them; a zero with its sign. */
static bool is_one_of(double got, const json_value *want)
{
    if (want->type != JSON_STRING) return got == number_of(want);
    for (const char *text = want->string; *text;) {
        char *end;
        const double number = strtod(text, &end);
        require(end != text, "number");
        if (number == 0 ? same_number(got, number) : fabs(got - number) <= fabs(number) / 20)
            return true;
        text = end + strspn(end, " or");
    }
    return false;
}

static void silu_of_large_gates_is_finite(const json_value *in, const json_value *want)
{
    static const char *const rows[] = {"silu=f32", "silu=f32 silu_form=two-step", "silu=f64"};
    const json_value *const gates = at(in, "gate");
    int nans = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_recipe r = *fp8moe_recipe_find("gather");
        EXPECT(fp8moe_recipe_apply(&r, rows[i], NULL) == FP8MOE_OK);
        for (int64_t g = 0; g < count_of(gates); g++) {
            const double got =
                round_f32(experts_silu(&r, number_of(item(gates, g))) * number_of(at(in, "up")));
            nans += got != got;
            if (!is_one_of(got, item(at(want, "values"), g)))
                complain(__LINE__, "silu(%g) is %.17g with %s", number_of(item(gates, g)), got,
                         rows[i]);
        }
    }
    EXPECT_NUMBER(nans, number_of(at(want, "nan_count")));
}

static double combined(const char *recipe, const json_value *in)
{
    double outputs[8], out;
    const json_value *const weights = at(in, "weights");
    contribution items[8];
    int64_t count = flatten(at(in, "expert_outputs"), outputs, 8);
    const fp8moe_recipe *const r = fp8moe_recipe_find(recipe);
    require(!strcmp(text_of(at(in, "out")), "bf16"), "output dtype");
    for (int64_t i = 0; i < count; i++)
        items[i] = (contribution){
            .expert = i, .slot = i, .weight = number_of(item(weights, i)), .output = &outputs[i]};
    count = combine_order(r, items, count);
    combine_sum(r, items, count, 1, FP8MOE_ROUND_BF16, &out);
    return out;
}

static void experts_are_summed_in_f32(const json_value *in, const json_value *want)
{
    EXPECT_NUMBER(combined("gather", in), number_of(at(want, "fp32_sum_then_bf16")));
    EXPECT_NUMBER(combined("stock", in), number_of(at(want, "fp32_sum_then_bf16")));
    EXPECT_NUMBER(combined("stock-eager", in), number_of(at(want, "bf16_running_sum")));
}

/* ---- G: comparing ---- */

static fp8moe_comparison compared(const float *a, const float *b, int64_t count)
{
    fp8moe_compare_options options;
    fp8moe_comparison c = {0};
    fp8moe_error err;
    const fp8moe_tensor ta = fp8moe_tensor_view(a, FP8MOE_DTYPE_F32, 1, &count);
    const fp8moe_tensor tb = fp8moe_tensor_view(b, FP8MOE_DTYPE_F32, 1, &count);
    fp8moe_compare_options_default(&options);
    if (fp8moe_compare(&ta, &tb, &options, &c, &err) != FP8MOE_OK)
        complain(__LINE__, "%s", err.message);
    return c;
}

static float side(const json_value *pairs, int64_t index, int64_t which)
{
    return (float)number_of(item(item(pairs, index), which));
}

static void upstream_counts_codes(const json_value *in, const json_value *want)
{
    const json_value *const pairs = at(in, "pairs"), *const lattice = json_get(want, "lattice_ulp");
    for (int64_t i = 0; i < count_of(pairs); i++) {
        const float a = side(pairs, i, 0), b = side(pairs, i, 1);
        EXPECT_NUMBER((double)fp8moe_upstream_ulp(a, b), number_of(item(at(want, "ulp"), i)));
        EXPECT_NUMBER((double)fp8moe_upstream_ulp(b, a), number_of(item(at(want, "ulp"), i)));
        EXPECT_NUMBER(compared(&a, &b, 1).upstream_ulp, number_of(item(at(want, "ulp"), i)));
        if (lattice)
            EXPECT_NUMBER(fp8moe_fp8_distance((double)a, (double)b, 1),
                          number_of(item(lattice, i)));
    }
}

/* The indices that "index 0 / index 5 / index 9" lists. */
static void a_nan_surfaces_wherever_it_is(const json_value *in, const json_value *want)
{
    int ones, runs = 0;
    require(sscanf(text_of(at(in, "stock")), "%d ones", &ones) == 1 && ones <= 64, "ones");
    for (const char *text = text_of(at(in, "custom")); (text = strstr(text, "index ")); runs++) {
        float stock[64], custom[64];
        const int64_t index = strtol(text += strlen("index "), NULL, 10);
        for (int i = 0; i < ones; i++)
            stock[i] = custom[i] = 1;
        custom[index] = NAN;
        const fp8moe_comparison c = compared(stock, custom, ones);
        const bool failed = !strcmp(text_of(item(at(want, "verdict"), runs)), "FAIL");
        EXPECT(fp8moe_comparison_same(&c) == !failed);
        EXPECT_NUMBER((double)c.first_nonfinite_differs_column,
                      number_of(item(at(want, "first_bad_index"), runs)));
    }
    EXPECT(runs == count_of(at(want, "verdict")));
}

static void beyond_448_errors_are_relative(const json_value *in, const json_value *want)
{
    const json_value *const pairs = at(in, "pairs");
    for (int64_t i = 0; i < count_of(pairs); i++) {
        const float a = side(pairs, i, 0), b = side(pairs, i, 1);
        const bool fails = !strcmp(text_of(item(at(want, "upstream_verdict"), i)), "FAIL");
        const double relative = number_of(item(at(want, "rel"), i));
        const fp8moe_comparison c = compared(&a, &b, 1);
        EXPECT((fabsf(a) > 448 || fabsf(b) > 448) == item(at(want, "out_of_range"), i)->boolean);
        EXPECT(fabs((double)fp8moe_upstream_relative(a, b) - relative) <= 1e-6 * relative);
        EXPECT(fp8moe_upstream_ulp(a, b) == 0);
        EXPECT(c.upstream_relative_exceeds == fails && !c.upstream_ulp_exceeds);
    }
    const json_value *const naive = at(want, "naive_code_distance_saturating_0_1_2");
    for (int64_t i = 0; i < count_of(naive); i++)
        EXPECT_NUMBER(fp8moe_fp8_distance((double)side(pairs, i, 0), (double)side(pairs, i, 1), 1),
                      number_of(item(naive, i)));
}

static fp8moe_tensor zeros_of(const json_value *shape)
{
    static const float zeros[64];
    int64_t dims[4];
    const int64_t rank = count_of(shape);
    for (int64_t d = 0; d < rank; d++)
        dims[d] = integer_of(item(shape, d));
    return fp8moe_tensor_view(zeros, FP8MOE_DTYPE_F32, (int)rank, dims);
}

static void other_shapes_are_refused(const json_value *in, const json_value *want)
{
    const json_value *const shapes = at(in, "shapes");
    for (int64_t i = 0; i < count_of(shapes); i++) {
        const fp8moe_tensor a = zeros_of(item(item(shapes, i), 0)),
                            b = zeros_of(item(item(shapes, i), 1));
        const char *const verdict = text_of(item(at(want, "verdict"), i));
        fp8moe_compare_options options;
        fp8moe_comparison c;
        int elements;
        fp8moe_compare_options_default(&options);
        const fp8moe_status status = fp8moe_compare(&a, &b, &options, &c, NULL);
        if (sscanf(verdict, "compared, %d elements", &elements) == 1)
            EXPECT(status == FP8MOE_OK && c.count == elements);
        else if (strstr(verdict, "or documented squeeze"))
            EXPECT(status == FP8MOE_OK && c.count == fp8moe_tensor_count(&a));
        else
            EXPECT(status == FP8MOE_ERR_SHAPE);
    }
}

static void a_step_of_f32_may_be_a_step_of_fp8(const json_value *in, const json_value *want)
{
    const json_value *const pairs = at(in, "pairs_f32_bits");
    for (int64_t i = 0; i < count_of(pairs); i++) {
        const float a = f32_at(item(item(pairs, i), 0)), b = f32_at(item(item(pairs, i), 1));
        const fp8moe_comparison c = compared(&a, &b, 1);
        EXPECT((double)a == number_of(item(item(at(in, "values"), i), 0)));
        EXPECT(b == (float)number_of(item(item(at(in, "values"), i), 1)));
        EXPECT_NUMBER(c.upstream_ulp, number_of(item(at(want, "ulp"), i)));
        EXPECT_NUMBER(c.max_abs, number_of(at(want, "abs_diff")));
        EXPECT(!c.upstream_ulp_exceeds == !strcmp(text_of(at(want, "verdict_at_bar_2")), "ok"));
    }
}

/* ---- H: safetensors ---- */

/* Open files/NAME; the caller closes *dump. */
static fp8moe_status open_file(const char *name, fp8moe_dump **dump, fp8moe_error *err)
{
    char path[512], relative[128];
    (void)snprintf(relative, sizeof relative, "cases/files/%s", name);
    *dump = NULL;
    memset(err, 0, sizeof *err);
    return fp8moe_dump_open(shared_path(path, sizeof path, relative), dump, err);
}

/* The file must be refused; what is said goes to `err`. */
static void expect_broken(const char *name, fp8moe_error *err)
{
    fp8moe_dump *dump;
    const fp8moe_status status = open_file(name, &dump, err);
    if (status != FP8MOE_ERR_FORMAT)
        complain(__LINE__, "%s: %s: %s", name, fp8moe_status_name(status), err->message);
    EXPECT(dump == NULL);
}

static void expect_says(const fp8moe_error *err, const char *words)
{
    if (!strstr(err->message, words) && !strstr(err->tensor, words))
        complain(__LINE__, "no '%s' in '%s' (%s)", words, err->message, err->tensor);
}

static void a_plain_file_is_read(const json_value *in, const json_value *want)
{
    fp8moe_dump *dump;
    fp8moe_error err;
    int64_t count = 0;
    if (open_file(text_of(at(in, "file")), &dump, &err) != FP8MOE_OK) {
        complain(__LINE__, "%s", err.message);
        return;
    }
    for (const json_value *t = at(want, "tensors")->children.first; t; t = t->next, count++) {
        fp8moe_tensor tensor;
        double numbers[16];
        const json_value *const shape = at(t, "shape"), *const values = at(t, "values");
        const int64_t index = fp8moe_dump_find(dump, t->key);
        EXPECT(index >= 0 && fp8moe_dump_tensor(dump, (size_t)index, &tensor, &err) == FP8MOE_OK);
        EXPECT(!strcmp(fp8moe_dtype_name(tensor.dtype), text_of(at(t, "dtype"))));
        EXPECT(tensor.rank == count_of(shape));
        for (int d = 0; d < tensor.rank; d++)
            EXPECT(tensor.shape[d] == integer_of(item(shape, d)));
        fp8moe_tensor_read_f64(&tensor, 0, count_of(values), numbers);
        for (int64_t i = 0; i < count_of(values); i++)
            EXPECT_NUMBER(numbers[i], number_of(item(values, i)));
    }
    EXPECT(fp8moe_dump_count(dump) == (size_t)count);
    fp8moe_dump_close(dump);
}

/* The name of the tensor that stands second in a file's header. */
static void second_name(const char *file, char *out, size_t size)
{
    char path[512], relative[128];
    file_view view;
    json *header;
    (void)snprintf(relative, sizeof relative, "cases/files/%s", file);
    require(file_open(shared_path(path, sizeof path, relative), &view, NULL) == FP8MOE_OK &&
                view.size > 8,
            file);
    require(json_parse((const char *)view.data + 8,
                       (size_t)view.data[0] + 256 * (size_t)view.data[1], 8, &header,
                       NULL) == FP8MOE_OK,
            file);
    (void)snprintf(out, size, "%s", json_root(header)->children.first->next->key);
    json_close(header);
    file_close(&view);
}

static void overlapping_tensors_are_refused(const json_value *in, const json_value *want)
{
    const json_value *const files = at(in, "files");
    EXPECT(strstr(text_of(at(want, "result")), "naming the second tensor") != NULL);
    for (int64_t i = 0; i < count_of(files); i++) {
        char second[64];
        fp8moe_error err;
        second_name(text_of(item(files, i)), second, sizeof second);
        expect_broken(text_of(item(files, i)), &err);
        EXPECT(!strcmp(err.tensor, second));
    }
}

static void a_name_appears_once(const json_value *in, const json_value *want)
{
    fp8moe_error err;
    char name[64];
    require(sscanf(text_of(at(want, "result")), "error that says the key \"%63[^\"]", name) == 1,
            "name");
    expect_broken(text_of(at(in, "file")), &err);
    expect_says(&err, name);
    expect_says(&err, "twice");
}

static void sizes_must_match(const json_value *in, const json_value *want)
{
    const json_value *const files = at(in, "files");
    EXPECT(strstr(text_of(at(want, "result")), "clean errors") != NULL);
    for (int64_t i = 0; i < count_of(files); i++) {
        fp8moe_error err;
        expect_broken(text_of(item(files, i)), &err);
        EXPECT(err.message[0] && err.tensor[0] && err.offset >= 0);
    }
}

static void a_truncated_file_is_refused(const json_value *in, const json_value *want)
{
    fp8moe_error err;
    char needs[24], has[24];
    require(sscanf(text_of(at(want, "result")), "error: needs %23[0-9] data bytes, has %23[0-9]",
                   needs, has) == 2,
            "sizes");
    expect_broken(text_of(at(in, "file")), &err);
    expect_says(&err, needs);
    expect_says(&err, has);
}

static void numbers_and_strings_must_be_legal(const json_value *in, const json_value *want)
{
    for (const json_value *f = at(in, "files")->children.first; f; f = f->next) {
        char file[64];
        fp8moe_dump *dump;
        fp8moe_error err;
        const char *const result = text_of(at(at(want, "result"), f->key));
        (void)snprintf(file, sizeof file, "%s.safetensors", f->key);
        if (strstr(result, "or decoded as FNUZ") && open_file(file, &dump, &err) == FP8MOE_OK) {
            EXPECT(fp8moe_dump_info(dump, 0).dtype == FP8MOE_DTYPE_F8_E4M3FNUZ);
            fp8moe_dump_close(dump);
            continue;
        }
        expect_broken(file, &err);
        if (strstr(result, "naming the dtype")) expect_says(&err, f->string + strlen("dtype "));
    }
}

/* ---- K: dots ---- */

/* Every instruction set there is, with and without OpenBLAS. */
static void each_kernels(void (*check)(const kernels *k, const json_value *in,
                                       const json_value *want),
                         const json_value *in, const json_value *want)
{
    static const char *const names[] = {"portable", "neon", "avx2", "avx512"};
    for (size_t i = 0; i < 2 * COUNT(names); i++) {
        kernels k;
        EXPECT(kernels_init(&k, names[i / 2], i % 2));
        check(&k, in, want);
    }
}

static void check_overwritten(const kernels *k, const json_value *in, const json_value *want)
{
    double a[8], w[8];
    const int64_t n = integer_of(at(in, "K")), m = integer_of(at(in, "M")),
                  rows = integer_of(at(in, "N"));
    require(m == 1 && rows == 1 && n <= 8, "size");
    (void)flatten(at(in, "A"), a, 8);
    (void)flatten(at(in, "B"), w, 8);
    double plain = number_of(at(in, "C_before")), exact = plain;
    k->dot(&plain, 1, a, m, w, rows, n);
    k->dot_exact(&exact, 1, a, m, w, rows, n);
    EXPECT_NUMBER(plain, number_of(item(item(at(want, "C"), 0), 0)));
    EXPECT_NUMBER(exact, number_of(item(item(at(want, "C"), 0), 0)));
}

static void old_output_is_overwritten(const json_value *in, const json_value *want)
{
    each_kernels(check_overwritten, in, want);
}

static void check_empty(const kernels *k, const json_value *in, const json_value *want)
{
    const json_value *const before = at(in, "C_before");
    const double none = 0;
    for (int64_t i = 0; i < count_of(before); i++) {
        double plain = number_of(item(before, i)), exact = plain;
        k->dot(&plain, 1, &none, integer_of(at(in, "M")), &none, integer_of(at(in, "N")),
               integer_of(at(in, "K")));
        k->dot_exact(&exact, 1, &none, integer_of(at(in, "M")), &none, integer_of(at(in, "N")),
                     integer_of(at(in, "K")));
        EXPECT_NUMBER(plain, number_of(item(at(want, "C"), i)));
        EXPECT_NUMBER(exact, number_of(item(at(want, "C"), i)));
    }
}

/* An empty sum is 0, no tokens are no output; an expert without columns is no layer. */
static void nothing_sums_to_zero(const json_value *in, const json_value *want)
{
    static const int64_t slots[2] = {0, 2}, rows[2] = {0, 3}, no_columns[2] = {1, 0};
    small_layer s;
    fp8moe_layer *layer;
    each_kernels(check_empty, in, want);
    open_small(&s, "gather", 2, 3, 1);
    s.inputs.hidden_states = fp8moe_tensor_view(s.x, FP8MOE_DTYPE_F32, 2, rows);
    s.inputs.topk_ids = fp8moe_tensor_view(s.ids, FP8MOE_DTYPE_I64, 2, slots);
    s.inputs.topk_weights = fp8moe_tensor_view(s.weights, FP8MOE_DTYPE_F32, 2, slots);
    layer = opened(&s);
    EXPECT(fp8moe_layer_run(layer, NULL, NULL, NULL) == FP8MOE_OK);
    fp8moe_layer_close(layer);
    s.inputs.hidden_states = fp8moe_tensor_view(s.x, FP8MOE_DTYPE_F32, 2, no_columns);
    EXPECT(fp8moe_layer_open(&s.config, &s.inputs, &layer, NULL) == FP8MOE_ERR_SHAPE);
}

/* ---- model folders ---- */

static char folders[] = "/tmp/fp8moe-cases-XXXXXX";

/* A new folder; valid until the next call. */
static const char *new_folder(void)
{
    static char path[64];
    static int number;
    if (!number) require(mkdtemp(folders) != NULL, "folder for temporary files");
    (void)snprintf(path, sizeof path, "%s/%d", folders, number++);
    require(mkdir(path, 0755) == 0, path);
    return path;
}

static void remove_folders(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", folders);
    require(strstr(folders, "XXXXXX") || system(command) == 0, "folder to remove");
}

/* A folder whose one shard is a file of the case list. */
static const char *folder_of(const char *file)
{
    char relative[96], from[512], to[96];
    file_view view;
    (void)snprintf(relative, sizeof relative, "cases/files/%s", file);
    const char *const folder = new_folder();
    (void)snprintf(to, sizeof to, "%s/model.safetensors", folder);
    require(file_open(shared_path(from, sizeof from, relative), &view, NULL) == FP8MOE_OK &&
                fp8moe_file_write(to, view.data, (size_t)view.size, NULL) == FP8MOE_OK,
            relative);
    file_close(&view);
    return folder;
}

static const char *folder_with(const fp8moe_named_tensor *tensors, size_t count, const char *config)
{
    char path[96];
    const char *const folder = new_folder();
    (void)snprintf(path, sizeof path, "%s/model.safetensors", folder);
    require(fp8moe_safetensors_write(path, tensors, count, NULL, 0, NULL) == FP8MOE_OK, path);
    (void)snprintf(path, sizeof path, "%s/config.json", folder);
    require(fp8moe_file_write(path, config, strlen(config), NULL) == FP8MOE_OK, path);
    return folder;
}

static fp8moe_checkpoint *open_folder(const char *path)
{
    fp8moe_checkpoint *model = NULL;
    require(fp8moe_checkpoint_open(path, &model, NULL) == FP8MOE_OK, path);
    return model;
}

/* Values of a weight: its codes times its scales, in order. */
static void values_of(const fp8moe_weight *weight, int64_t block_rows, int64_t block_cols,
                      double *out)
{
    small_weights w = {.scales = {0}};
    uint8_t codes[1536];
    EXPECT(matrix_check(weight, -1, -1, block_rows, block_cols, "weight", &w.matrix, NULL) ==
           FP8MOE_OK);
    EXPECT(kernels_init(&w.kernels, "portable", false));
    read_as(&w, "gaudi3", FP8MOE_FORM_EXACT, FP8MOE_WEIGHTS_LOADED);
    for (int64_t r = 0; r < w.matrix.rows; r++)
        EXPECT(weights_row(&w.reader, &w.matrix, r, out + r * w.matrix.cols, codes) == 1);
}

static void expect_values(const fp8moe_weight *weight, const json_value *want)
{
    double got[64], expected[64];
    const int64_t count = flatten(want, expected, 64);
    EXPECT(fp8moe_tensor_count(&weight->weight) == count);
    values_of(weight, 128, 128, got);
    for (int64_t i = 0; i < count; i++)
        EXPECT_NUMBER(got[i], expected[i]);
}

static void an_fp8_weight_needs_its_scale(const json_value *in, const json_value *want)
{
    static const char name[] = "experts.0.up_proj.weight";
    const json_value *const files = at(in, "files");
    fp8moe_weight w;
    fp8moe_error err;
    for (int64_t i = 0; i < count_of(files); i++) {
        const char *const file = text_of(item(files, i));
        fp8moe_checkpoint *const model = open_folder(folder_of(file));
        const fp8moe_status status = fp8moe_checkpoint_weight(model, name, &w, &err);
        if (strstr(file, "none")) {
            (void)text_of(at(want, "B10_none"));
            EXPECT(status == FP8MOE_ERR_NOT_FOUND && !strcmp(err.tensor, name));
            EXPECT(strstr(err.message, "_scale_inv") && strstr(err.message, ".scale"));
        } else {
            EXPECT(status == FP8MOE_OK);
            expect_values(&w, at(want, "B10_weight_scale"));
        }
        fp8moe_checkpoint_close(model);
    }
}

static void scales_have_any_dtype(const json_value *in, const json_value *want)
{
    const json_value *const files = at(in, "files");
    fp8moe_weight w;
    for (int64_t i = 0; i < count_of(files); i++) {
        fp8moe_checkpoint *const model = open_folder(folder_of(text_of(item(files, i))));
        EXPECT(fp8moe_checkpoint_weight(model, "w", &w, NULL) == FP8MOE_OK);
        expect_values(&w, at(want, "dequant"));
        fp8moe_checkpoint_close(model);
    }
}

/* Scales of the rows that one rank of a tensor-parallel group has of gate, up and (as columns)
 * down: all weights are 1. */
static void slice_scales(int64_t inter, int64_t block, int64_t tp, int64_t rank,
                         const float *scales, double *out)
{
    enum { ROOM = 1536 };
    static uint8_t ones[ROOM];
    const int64_t tall[2] = {inter, 1}, wide[2] = {1, inter}, blocks = (inter + block - 1) / block;
    const int64_t tall_grid[2] = {blocks, 1}, wide_grid[2] = {1, blocks};
    char config[128];
    fp8moe_moe_weights weights;
    require(inter <= ROOM, "room");
    memset(ones, 0x38, sizeof ones);
    const fp8moe_tensor w13 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, tall),
                        s13 = fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 2, tall_grid),
                        w2 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, wide),
                        s2 = fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 2, wide_grid);
    const fp8moe_named_tensor tensors[] = {
        {"experts.0.w1.weight", w13}, {"experts.0.w1.weight_scale_inv", s13},
        {"experts.0.w3.weight", w13}, {"experts.0.w3.weight_scale_inv", s13},
        {"experts.0.w2.weight", w2},  {"experts.0.w2.weight_scale_inv", s2}};
    const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = rank, .tp_size = tp};
    (void)snprintf(
        config, sizeof config,
        "{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [%d, %d]}}",
        (int)block, (int)block);
    fp8moe_checkpoint *const model = open_folder(folder_with(tensors, COUNT(tensors), config));
    require(fp8moe_checkpoint_moe(model, 0, &ranks, &weights, NULL) == FP8MOE_OK, "slice");
    const fp8moe_expert *const e = weights.experts;
    const int64_t rows = weights.intermediate;
    double up[ROOM], down[ROOM];
    EXPECT(rows == inter / tp);
    values_of(&e->gate, block, block, out);
    values_of(&e->up, block, block, up);
    values_of(&e->down, block, block, down);
    for (int64_t i = 0; i < rows; i++)
        EXPECT(out[i] == up[i] && out[i] == down[i]);
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
}

static void slices_keep_their_scales(const json_value *in, const json_value *want)
{
    double flat[8], got[1536];
    float scales[12];
    const int64_t count = flatten(at(in, "scale_rows"), flat, 8);
    for (int64_t i = 0; i < count; i++)
        scales[i] = (float)flat[i];
    slice_scales(integer_of(at(in, "I")), integer_of(at(in, "bn")), integer_of(at(in, "tp")),
                 integer_of(at(in, "rank")), scales, got);
    for (int64_t i = 0; i < count_of(at(want, "row_scales")); i++)
        EXPECT_NUMBER(got[i], number_of(item(at(want, "row_scales"), i)));

    int from[2], to[2], block[2];
    const json_value *const real = at(in, "real");
    require(sscanf(text_of(at(want, "real_rank1")),
                   "local rows %d..%d -> block %d, rows %d..%d -> block %d", &from[0], &to[0],
                   &block[0], &from[1], &to[1], &block[1]) == 6,
            "real_rank1");
    for (int i = 0; i < 12; i++)
        scales[i] = (float)i; /* the block's number */
    slice_scales(integer_of(at(real, "I")), integer_of(at(real, "bn")), integer_of(at(real, "tp")),
                 integer_of(at(real, "rank")), scales, got);
    for (int part = 0; part < 2; part++)
        for (int row = from[part]; row <= to[part]; row++)
            EXPECT_NUMBER(got[row], block[part]);
}

/* One layout of per-channel scales: as a fused tensor, or one tensor an expert. */
static fp8moe_checkpoint *channel_model(const char *layout, const float *scales, int64_t experts,
                                        int64_t inter, int64_t hidden)
{
    static uint8_t ones[64];
    static const float one[64] = {1, 1, 1, 1, 1, 1, 1, 1};
    static char names[32][64];
    fp8moe_named_tensor tensors[32];
    size_t count = 0;
    memset(ones, 0x38, sizeof ones);
    const bool fused = layout[0] == '[';
    const int64_t w13[3] = {experts, 2 * inter, hidden}, w2[3] = {experts, hidden, inter};
    const int64_t flat[3] = {experts, strcmp(layout, "[E,1,2I]") ? 2 * inter : 1,
                             strcmp(layout, "[E,1,2I]") ? 1 : 2 * inter};
    const int rank = strcmp(layout, "[E,2I]") ? 3 : 2;
    if (fused) {
        tensors[count++] = (fp8moe_named_tensor){
            "experts.w13_weight", fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, w13)};
        tensors[count++] = (fp8moe_named_tensor){
            "experts.w13_weight_scale", fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, rank, flat)};
        tensors[count++] = (fp8moe_named_tensor){
            "experts.w2_weight", fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, w2)};
        tensors[count++] = (fp8moe_named_tensor){"experts.w2_weight_scale",
                                                 fp8moe_tensor_view(one, FP8MOE_DTYPE_F32, 1, w2)};
    }
    for (int64_t e = 0; e < experts && !fused; e++) {
        static const char *const parts[] = {"gate_up_proj.weight", "gate_up_proj.weight_scale",
                                            "down_proj.weight", "down_proj.weight_scale"};
        const int64_t column[2] = {2 * inter, 1};
        const fp8moe_tensor views[] = {
            fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, w13 + 1),
            fp8moe_tensor_view(scales + e * 2 * inter, FP8MOE_DTYPE_F32, 2, column),
            fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, w2 + 1),
            fp8moe_tensor_view(one, FP8MOE_DTYPE_F32, 0, NULL)};
        for (size_t i = 0; i < 4; i++, count++) {
            (void)snprintf(names[count], sizeof names[count], "experts.%d.%s", (int)e, parts[i]);
            tensors[count] = (fp8moe_named_tensor){names[count], views[i]};
        }
    }
    return open_folder(folder_with(tensors, count, "{}"));
}

static void row_scales_come_in_several_shapes(const json_value *in, const json_value *want)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    const int64_t experts = integer_of(at(in, "E")), inter = integer_of(at(in, "I")),
                  hidden = integer_of(at(in, "H"));
    const json_value *const variants = at(in, "w13_scale_variants");
    float scales[16];
    for (const json_value *v = variants->children.first; v; v = v->next) {
        double flat[16], got[16];
        fp8moe_moe_weights weights;
        const int64_t count = flatten(v, flat, 16);
        for (int64_t i = 0; i < count; i++)
            scales[i] = (float)flat[i];
        fp8moe_checkpoint *const model = channel_model(v->key, scales, experts, inter, hidden);
        require(fp8moe_checkpoint_moe(model, 0, &whole, &weights, NULL) == FP8MOE_OK, v->key);
        for (int64_t e = 0; e < experts; e++) {
            const json_value *const rows = item(at(want, "w13"), e);
            values_of(&weights.experts[e].gate, 128, 128, got);
            values_of(&weights.experts[e].up, 128, 128, got + inter * hidden);
            for (int64_t i = 0; i < 2 * inter * hidden; i++)
                EXPECT_NUMBER(got[i], number_of(item(item(rows, i / hidden), i % hidden)));
        }
        fp8moe_moe_weights_free(&weights);
        fp8moe_checkpoint_close(model);
    }
    fp8moe_moe_weights refused;
    (void)text_of(at(want, "[E,1,2I]"));
    fp8moe_checkpoint *const transposed = channel_model("[E,1,2I]", scales, experts, inter, hidden);
    EXPECT(fp8moe_checkpoint_moe(transposed, 0, &whole, &refused, NULL) == FP8MOE_ERR_SHAPE);
    fp8moe_checkpoint_close(transposed);
}

static void an_index_that_lies_is_caught(const json_value *in, const json_value *want)
{
    char path[512], relative[64];
    const json_value *const names = at(in, "tensors");
    fp8moe_tensor t;
    fp8moe_error err;
    (void)snprintf(relative, sizeof relative, "cases/files/%s", text_of(at(in, "dir")));
    fp8moe_checkpoint *const model = open_folder(shared_path(path, sizeof path, relative));
    for (int64_t i = 0; i < count_of(names); i++) {
        const char *const name = text_of(item(names, i));
        const json_value *const expected = at(want, name);
        const fp8moe_status status = fp8moe_checkpoint_tensor(model, name, &t, &err);
        double value;
        if (is_list(expected)) {
            EXPECT(status == FP8MOE_OK);
            fp8moe_tensor_read_f64(&t, 0, 1, &value);
            EXPECT_NUMBER(value, number_of(item(expected, 0)));
        } else {
            char text[1200];
            (void)snprintf(text, sizeof text, "%s %s", err.file, err.message);
            EXPECT(status != FP8MOE_OK && !strcmp(err.tensor, name));
            EXPECT(strstr(text, strstr(text_of(expected), "model-00002")
                                    ? "model-00002-of-00002.safetensors"
                                    : "not in model-00001-of-00002.safetensors"));
        }
    }
    fp8moe_checkpoint_close(model);
}

/* ---- the list ---- */

typedef struct handler {
    const char *id;
    void (*run)(const json_value *input, const json_value *expected);
} handler;

static const handler handlers[] = {
    {"A02", encodes_ties_to_even},
    {"A04", decodes_subnormals},
    {"A06", decodes_the_top_of_the_range},
    {"A08", keeps_fn_and_fnuz_apart},
    {"A10", rounds_f32_to_bf16},
    {"B01", zero_rows_stay_zero},
    {"B04", scales_of_bf16_rows_are_bf16},
    {"B06", a_bad_token_spoils_itself_alone},
    {"B09", scale_inv_multiplies},
    {"B10", an_fp8_weight_needs_its_scale},
    {"C01", gaudi2_halves_and_doubles},
    {"C03", decodes_what_gaudi2_cannot_hold},
    {"C05", the_maximum_is_the_devices},
    {"D01", the_last_block_may_be_partial},
    {"D04", slices_keep_their_scales},
    {"D06", scales_have_any_dtype},
    {"D08", a_block_is_rows_by_columns},
    {"D09", blocks_are_requantised_by_row},
    {"D11", two_scales_are_those_of_gate_and_up},
    {"D12", row_scales_come_in_several_shapes},
    {"F01", gate_comes_first},
    {"F03", minus_one_adds_nothing},
    {"F05", experts_stay_apart},
    {"F07", a_swiglu_limit_is_refused},
    {"F08", silu_of_large_gates_is_finite},
    {"F13", experts_are_summed_in_f32},
    {"F15", stock_and_gather_differ_by_design},
    {"G01", upstream_counts_codes},
    {"G02", upstream_counts_codes},
    {"G05", a_nan_surfaces_wherever_it_is},
    {"G06", beyond_448_errors_are_relative},
    {"G08", other_shapes_are_refused},
    {"G10", upstream_counts_codes},
    {"G11", a_step_of_f32_may_be_a_step_of_fp8},
    {"H01", a_plain_file_is_read},
    {"H03", overlapping_tensors_are_refused},
    {"H05", a_name_appears_once},
    {"H07", sizes_must_match},
    {"H09", a_truncated_file_is_refused},
    {"H12", numbers_and_strings_must_be_legal},
    {"H13", an_index_that_lies_is_caught},
    {"K01", old_output_is_overwritten},
    {"K03", nothing_sums_to_zero},
    {"K05", subnormal_scales_count},
};

/* Cases that another test runs, with their numbers: files of other formats, whole commands. */
static const struct {
    const char *id, *test;
} elsewhere[] = {
    {"E01", "test_route"},   {"E02", "test_route"}, {"E05", "test_route"}, {"E07", "test_route"},
    {"E09", "test_route"},   {"E11", "test_layer"}, {"I01", "test_npy"},   {"I03", "test_npy"},
    {"I05", "test_npy"},     {"J01", "test_pt"},    {"J02", "test_pt"},    {"J04", "test_pt"},
    {"J08", "test_pt"},      {"J09", "test_pt"},    {"J12", "test_pt"},    {"L01", "cli/case.t"},
    {"L04", "cli/policy.t"},
};

static const handler *handler_of(const char *id)
{
    for (size_t i = 0; i < COUNT(handlers); i++)
        if (!strcmp(handlers[i].id, id)) return &handlers[i];
    return NULL;
}

static bool is_elsewhere(const char *id)
{
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        if (!strcmp(elsewhere[i].id, id)) return true;
    return false;
}

static bool is_listed(const json_value *cases, const char *id)
{
    for (const json_value *c = cases->children.first; c; c = c->next)
        if (!strcmp(text_of(at(c, "id")), id)) return true;
    return false;
}

static void check_lists(const json_value *cases)
{
    for (size_t i = 0; i < COUNT(handlers); i++) {
        current_id = handlers[i].id;
        EXPECT(is_listed(cases, current_id) && handler_of(current_id) == &handlers[i] &&
               !is_elsewhere(current_id));
    }
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        current_id = elsewhere[i].id;
        EXPECT(is_listed(cases, current_id));
    }
}

static void run_case(const json_value *c)
{
    current_id = text_of(at(c, "id"));
    const handler *const h = handler_of(current_id);
    const int before = failures;
    if (!h) {
        if (!is_elsewhere(current_id))
            complain(__LINE__, "no handler, and not in the list of other tests");
        return;
    }
    h->run(at(c, "input"), at(c, "expected"));
    printf("%s %s: %s\n", failures == before ? "ok    " : "FAILED", current_id,
           text_of(at(c, "title")));
}

int main(void)
{
    char path[512];
    file_view view;
    json *parsed;
    fp8moe_error err;
    current_id = "the list";
    if (!shared_path(path, sizeof path, "cases/cases.json")) return 77;
    require(file_open(path, &view, &err) == FP8MOE_OK, path);
    require(json_parse(view.data, (size_t)view.size, 0, &parsed, &err) == FP8MOE_OK, "JSON");
    const json_value *const cases = at(json_root(parsed), "cases");
    for (const json_value *c = cases->children.first; c; c = c->next)
        run_case(c);
    check_lists(cases);
    remove_folders();
    printf("%zu cases in other tests:", COUNT(elsewhere));
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        printf(" %s (%s)", elsewhere[i].id, elsewhere[i].test);
    printf("\n%zu handled, %d failed\n", COUNT(handlers), failures);
    json_close(parsed);
    file_close(&view);
    return failures ? 1 : 0;
}

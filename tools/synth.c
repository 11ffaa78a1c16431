#include "synth.h"

#include "random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---- */

void synth_add(synth_layer *layer, const char *name, const fp8moe_tensor *tensor)
{
    assert(layer->tensor_count < SYNTH_MAX_TENSORS);
    layer->tensors[layer->tensor_count++] = (fp8moe_named_tensor){name, *tensor};
}

/* A zeroed tensor in the layer's memory; *data is where to write it. */
static fp8moe_status new_tensor(synth_layer *layer, const char *name, fp8moe_dtype dtype, int rank,
                                const int64_t *shape, fp8moe_tensor *out, void **data,
                                fp8moe_error *err)
{
    *out = fp8moe_tensor_view(NULL, dtype, rank, shape);
    const size_t bytes = (size_t)fp8moe_tensor_count(out) * (size_t)fp8moe_dtype_bits(dtype) / 8;
    CLI_TRY(scratch_take(layer->memory, bytes, data, err));
    out->data = *data;
    synth_add(layer, name, out);
    return FP8MOE_OK;
}

/* ---- numbers ---- */

/* 2^exponent, for the normal range. */
static float power_of_two(int exponent)
{
    const uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bf16 number at or below a f32 one in magnitude. */
static uint16_t truncate_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* A number in [1, 2) with `digits` random binary digits behind the point, at most 23. */
static float from_one_to_two(random_stream from, uint64_t index, int digits)
{
    return 1 + (float)(random_bits(from, index) >> (64 - digits)) * power_of_two(-digits);
}

/* e where 4^e is nearest to `columns` from below: 2^-e is about the standard deviation that keeps a
 * dot of so many terms near 1. */
static int half_logarithm(int64_t columns)
{
    int e = 0;
    while (columns >= 4) {
        columns /= 4;
        e++;
    }
    return e;
}

/* ---- bf16 tensors ---- */

static fp8moe_status make_bf16(synth_layer *layer, const char *name, random_stream from,
                               int exponent, int rank, const int64_t *shape, fp8moe_tensor *out,
                               fp8moe_error *err)
{
    void *data;
    CLI_TRY(new_tensor(layer, name, FP8MOE_DTYPE_BF16, rank, shape, out, &data, err));
    const float unit = power_of_two(exponent - RANDOM_DEVIATE_BITS);
    const int64_t count = fp8moe_tensor_count(out);
    for (int64_t i = 0; i < count; i++)
        ((uint16_t *)data)[i] = truncate_to_bf16((float)random_deviate(from, (uint64_t)i) * unit);
    return FP8MOE_OK;
}

static fp8moe_status make_inputs(const synth_plan *plan, synth_layer *out, fp8moe_error *err)
{
    const synth_shape *s = &plan->shape;
    CLI_TRY(make_bf16(out, "hidden_states", random_open(plan->seed, 0), 0, 2,
                      (int64_t[]){s->tokens, s->hidden}, &out->inputs.hidden_states, err));
    CLI_TRY(make_bf16(out, "router_logits", random_open(plan->seed, 1), 1, 2,
                      (int64_t[]){s->tokens, s->experts}, &out->inputs.router_logits, err));
    if (!plan->correction_bias) return FP8MOE_OK;
    return make_bf16(out, "e_score_correction_bias", random_open(plan->seed, 2), -4, 1,
                     (int64_t[]){s->experts}, &out->correction_bias, err);
}

/* ---- codes ---- */

/* Deviates become codes through a table: four neighbours share a code. */
#define TABLE_SHIFT 2
#define TABLE_SIZE (RANDOM_DEVIATE_END >> TABLE_SHIFT)
#define UNIT_EXPONENT (-10) /* deviate * 2^-10: a standard deviation is about 37 of 448 */
#define SIGN 0x80

typedef struct code_table {
    uint8_t code[TABLE_SIZE];
    uint8_t largest;
} code_table;

/* Nearest of the ascending values[0 .. last], ties to the even index; *hint at or below the answer.
 */
static uint8_t nearest_code(const double *values, uint8_t last, double value, uint8_t *hint)
{
    uint8_t code = *hint;
    while (code < last) {
        const double below = value - values[code], above = values[code + 1] - value;
        if (above > below || (above == below && code % 2 == 0)) break;
        code++;
    }
    return *hint = code;
}

/* Whether the plan's weights went through a loader that halves codes. */
static bool is_halved(const synth_plan *plan)
{
    return plan->stage == FP8MOE_WEIGHTS_LOADED && plan->target && plan->target->loader_halves;
}

/* The largest code a scale's weights reach: 448, or what preparation on the target scales to. */
static uint8_t largest_code(const synth_plan *plan, const double *values)
{
    const double max = plan->stage == FP8MOE_WEIGHTS_PREPARED && plan->target
                           ? (double)plan->target->fp8_max
                           : 448;
    uint8_t code = 0;
    while (code < 0x7E && values[code + 1] <= max)
        code++;
    return code;
}

static void fill_coder(const synth_plan *plan, code_table *out)
{
    uint8_t codes[0x7F], hint = 0, half_hint = 0;
    double values[0x7F];
    for (uint8_t code = 0; code < 0x7F; code++)
        codes[code] = code;
    const fp8moe_tensor all = fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 1, (int64_t[]){0x7F});
    fp8moe_tensor_read_f64(&all, 0, 0x7F, values);
    out->largest = largest_code(plan, values);
    const double unit = (double)power_of_two(UNIT_EXPONENT + TABLE_SHIFT);
    for (int i = 0; i < TABLE_SIZE; i++) {
        out->code[i] = nearest_code(values, out->largest, i * unit, &hint);
        if (is_halved(plan))
            out->code[i] = nearest_code(values, out->largest, values[out->code[i]] / 2, &half_hint);
    }
    if (is_halved(plan)) out->largest = (uint8_t)(out->largest - 8); /* one binade lower */
}

/* A matrix of codes and the grid of its scales. */
typedef struct plane {
    uint8_t *codes; /* [rows, columns] */
    float *scales;  /* [ceil(rows / block_rows), ceil(columns / block_columns)] */
    int64_t rows, columns, block_rows, block_columns;
    random_stream code_stream, scale_stream;
    uint64_t first_code, first_scale; /* indices in the streams */
} plane;

static int64_t blocks_of(int64_t count, int64_t block)
{
    return (count + block - 1) / block;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Scale number `index` (row-major), and the one code of its block that has the largest magnitude.
 */
static void fill_block(const plane *p, int64_t index, int digits, float unit, uint8_t largest)
{
    const uint64_t at = p->first_scale + (uint64_t)index;
    const int64_t across = blocks_of(p->columns, p->block_columns);
    const int64_t row = index / across * p->block_rows, column = index % across * p->block_columns;
    const uint64_t where = random_bits(p->scale_stream, ~at);
    const int64_t high = at_most(p->block_rows, p->rows - row);
    const int64_t wide = at_most(p->block_columns, p->columns - column);
    const int64_t peak_row = row + (int64_t)((where & 0xFFFFFF) % (uint64_t)high);
    const int64_t peak_column = column + (int64_t)((where >> 32) % (uint64_t)wide);
    uint8_t *peak = &p->codes[peak_row * p->columns + peak_column];
    *peak = (uint8_t)((*peak & SIGN) | largest);
    p->scales[index] = from_one_to_two(p->scale_stream, at, digits) * unit;
}

static void fill_plane(const synth_plan *plan, const code_table *coder, const plane *p)
{
    const int64_t count = p->rows * p->columns;
    for (int64_t i = 0; i < count; i++) {
        const int32_t deviate = random_deviate(p->code_stream, p->first_code + (uint64_t)i);
        const int32_t magnitude = deviate < 0 ? -deviate : deviate;
        p->codes[i] = (uint8_t)(coder->code[magnitude >> TABLE_SHIFT] | (deviate < 0 ? SIGN : 0));
    }
    /* Preparation computes its scales in bf16 steps: 7 digits. A standard deviation of codes is
     * about 2^5, so that the weights' is about 2^-half_logarithm. */
    const int digits = plan->stage == FP8MOE_WEIGHTS_PREPARED ? 7 : 23;
    const float unit = power_of_two(-half_logarithm(p->columns) - 6 + is_halved(plan));
    const int64_t blocks =
        blocks_of(p->rows, p->block_rows) * blocks_of(p->columns, p->block_columns);
    for (int64_t i = 0; i < blocks; i++)
        fill_block(p, i, digits, unit, coder->largest);
}

/* ---- weights ---- */

/* One of the two weight tensors; w13 is two planes an expert, each with its own scale grid. */
typedef struct weight_names {
    const char *weight, *scale_inv, *scale;
    int planes;
} weight_names;

static const weight_names w13_names = {"w13_weight", "w13_weight_scale_inv", "w13_weight_scale", 2};
static const weight_names w2_names = {"w2_weight", "w2_weight_scale_inv", "w2_weight_scale", 1};

/* Rows have one scale each when they were prepared or when the recipe takes codes as they are. */
static bool has_row_scales(const synth_plan *plan)
{
    return plan->stage == FP8MOE_WEIGHTS_PREPARED || plan->recipe->weights == FP8MOE_FORM_CODES;
}

static fp8moe_status make_codes(const synth_plan *plan, const code_table *coder,
                                const weight_names *names, int64_t rows, int64_t columns,
                                fp8moe_tensor *weight, fp8moe_tensor *scale, synth_layer *out,
                                fp8moe_error *err)
{
    const int64_t experts = plan->shape.experts;
    const uint64_t stream = names->planes == 2 ? 4 : 6;
    void *codes, *scales;
    plane p = {.rows = rows,
               .columns = columns,
               .block_rows = has_row_scales(plan) ? 1 : plan->block_rows,
               .block_columns = has_row_scales(plan) ? columns : plan->block_columns,
               .code_stream = random_open(plan->seed, stream),
               .scale_stream = random_open(plan->seed, stream + 1)};
    const int64_t down = blocks_of(rows, p.block_rows),
                  across = blocks_of(columns, p.block_columns);
    CLI_TRY(new_tensor(out, names->weight, FP8MOE_DTYPE_F8_E4M3, 3,
                       (int64_t[]){experts, names->planes * rows, columns}, weight, &codes, err));
    CLI_TRY(new_tensor(out,
                       plan->recipe->weights == FP8MOE_FORM_CODES ? names->scale : names->scale_inv,
                       FP8MOE_DTYPE_F32, has_row_scales(plan) ? 2 : 3,
                       (int64_t[]){experts, names->planes * down, across}, scale, &scales, err));
    for (int64_t i = 0; i < experts * names->planes; i++) {
        p.first_code = (uint64_t)(i * rows * columns);
        p.first_scale = (uint64_t)(i * down * across);
        p.codes = (uint8_t *)codes + p.first_code;
        p.scales = (float *)scales + p.first_scale;
        fill_plane(plan, coder, &p);
    }
    return FP8MOE_OK;
}

/* Calibrated scales: the range the made-up activations have over the largest code. */
static fp8moe_status make_static_scales(const synth_plan *plan, synth_layer *out, fp8moe_error *err)
{
    const float fp8_max = plan->target ? plan->target->fp8_max : 448;
    const random_stream from = random_open(plan->seed, 3);
    void *first, *second;
    CLI_TRY(new_tensor(out, "w13_input_scale", FP8MOE_DTYPE_F32, 1, (int64_t[]){1},
                       &out->inputs.w13_input_scale, &first, err));
    CLI_TRY(new_tensor(out, "w2_input_scale", FP8MOE_DTYPE_F32, 1, (int64_t[]){plan->shape.experts},
                       &out->inputs.w2_input_scale, &second, err));
    *(float *)first = 12 / fp8_max;
    for (int64_t i = 0; i < plan->shape.experts; i++)
        ((float *)second)[i] = 8 * from_one_to_two(from, (uint64_t)i, 23) / fp8_max;
    return FP8MOE_OK;
}

static fp8moe_status make_weights(const synth_plan *plan, synth_layer *out, fp8moe_error *err)
{
    const synth_shape *s = &plan->shape;
    code_table *coder = cli_allocate(sizeof *coder);
    fill_coder(plan, coder);
    fp8moe_status st = make_codes(plan, coder, &w13_names, s->intermediate, s->hidden,
                                  &out->inputs.w13_weight, &out->inputs.w13_scale, out, err);
    if (st == FP8MOE_OK)
        st = make_codes(plan, coder, &w2_names, s->hidden, s->intermediate, &out->inputs.w2_weight,
                        &out->inputs.w2_scale, out, err);
    free(coder);
    if (st == FP8MOE_OK && plan->recipe->input == FP8MOE_INPUT_FP8_STATIC)
        st = make_static_scales(plan, out, err);
    return st;
}

static fp8moe_status make_bf16_weights(const synth_plan *plan, synth_layer *out, fp8moe_error *err)
{
    const synth_shape *s = &plan->shape;
    CLI_TRY(make_bf16(out, w13_names.weight, random_open(plan->seed, 4), -half_logarithm(s->hidden),
                      3, (int64_t[]){s->experts, 2 * s->intermediate, s->hidden},
                      &out->inputs.w13_weight, err));
    return make_bf16(
        out, w2_names.weight, random_open(plan->seed, 6), -half_logarithm(s->intermediate), 3,
        (int64_t[]){s->experts, s->hidden, s->intermediate}, &out->inputs.w2_weight, err);
}

fp8moe_status synth_make(const synth_plan *plan, synth_layer *out, fp8moe_error *err)
{
    CLI_TRY(make_inputs(plan, out, err));
    return plan->recipe->weights == FP8MOE_FORM_BF16 ? make_bf16_weights(plan, out, err)
                                                     : make_weights(plan, out, err);
}

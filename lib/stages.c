#include "stages.h"

#include "bits.h"
#include "common.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[FP8MOE_STAGE_COUNT] = {
    [FP8MOE_STAGE_X_CODES] = "x_codes",
    [FP8MOE_STAGE_X_SCALE] = "x_scale",
    [FP8MOE_STAGE_TOPK_IDS] = "topk_ids",
    [FP8MOE_STAGE_TOPK_WEIGHTS] = "topk_weights",
    [FP8MOE_STAGE_UP_GATE] = "up_gate",
    [FP8MOE_STAGE_ACTIVATION] = "activation",
    [FP8MOE_STAGE_ACT_CODES] = "act_codes",
    [FP8MOE_STAGE_ACT_SCALE] = "act_scale",
    [FP8MOE_STAGE_EXPERT_OUTPUT] = "expert_output",
    [FP8MOE_STAGE_OUTPUT] = "output",
};

const char *fp8moe_stage_name(fp8moe_stage stage)
{
    assert(stage < FP8MOE_STAGE_COUNT);
    return names[stage];
}

fp8moe_stage fp8moe_stage_find(const char *name)
{
    int stage = 0;
    while (stage < FP8MOE_STAGE_COUNT && strcmp(names[stage], name) != 0)
        stage++;
    return (fp8moe_stage)stage;
}

/* ---- shapes ---- */

static fp8moe_tensor shaped(fp8moe_dtype dtype, int rank, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = {a, b, c};
    return fp8moe_tensor_view(NULL, dtype, rank, shape);
}

static fp8moe_tensor absent(void)
{
    return (fp8moe_tensor){.dtype = FP8MOE_DTYPE_NONE};
}

static fp8moe_tensor moe_total(const fp8moe_layer *layer, fp8moe_stage stage)
{
    const fp8moe_recipe *const r = &layer->recipe;
    const fp8moe_layer_info *const i = &layer->info;
    const int64_t t = i->tokens, k = i->top_k, inter = i->intermediate;
    const bool requantised = r->intermediate != FP8MOE_INTERMEDIATE_KEPT;
    switch (stage) {
    case FP8MOE_STAGE_TOPK_IDS:
        return shaped(FP8MOE_DTYPE_I64, 2, t, k, 0);
    case FP8MOE_STAGE_TOPK_WEIGHTS:
        return shaped(FP8MOE_DTYPE_F32, 2, t, k, 0);
    case FP8MOE_STAGE_UP_GATE:
        return shaped(layer_dtype(r->up_gate), 3, t, k, 2 * inter);
    case FP8MOE_STAGE_ACTIVATION:
        return shaped(layer_dtype(r->product), 3, t, k, inter);
    case FP8MOE_STAGE_ACT_CODES:
        return requantised ? shaped(FP8MOE_DTYPE_F8_E4M3, 3, t, k, inter) : absent();
    case FP8MOE_STAGE_ACT_SCALE:
        return requantised ? shaped(FP8MOE_DTYPE_F32, 3, t, k, 1) : absent();
    case FP8MOE_STAGE_EXPERT_OUTPUT:
        return shaped(layer_dtype(r->down_out), 3, t, k, i->hidden);
    default:
        return absent();
    }
}

fp8moe_tensor stages_total(const fp8moe_layer *layer, fp8moe_stage stage)
{
    const fp8moe_layer_info *const i = &layer->info;
    const bool linear = layer->recipe.op == FP8MOE_OP_LINEAR;
    const bool quantised = layer->recipe.input != FP8MOE_INPUT_AS_IS;
    switch (stage) {
    case FP8MOE_STAGE_X_CODES:
        return quantised ? shaped(FP8MOE_DTYPE_F8_E4M3, 2, i->tokens, i->hidden, 0) : absent();
    case FP8MOE_STAGE_X_SCALE:
        return quantised ? shaped(FP8MOE_DTYPE_F32, 2, i->tokens, 1, 0) : absent();
    case FP8MOE_STAGE_OUTPUT:
        return shaped(i->output_dtype, 2, i->tokens, linear ? layer->linear.rows : i->hidden, 0);
    default:
        return linear ? absent() : moe_total(layer, stage);
    }
}

/* ---- taking from a dump ---- */

static bool takes_dtype(fp8moe_dtype stage, fp8moe_dtype given)
{
    if (stage == FP8MOE_DTYPE_F8_E4M3)
        return given == FP8MOE_DTYPE_F8_E4M3 || given == FP8MOE_DTYPE_U8;
    if (stage == FP8MOE_DTYPE_I64) return given >= FP8MOE_DTYPE_U8 && given <= FP8MOE_DTYPE_I64;
    return given == FP8MOE_DTYPE_BF16 || given == FP8MOE_DTYPE_F16 || given == FP8MOE_DTYPE_F32 ||
           given == FP8MOE_DTYPE_F64;
}

static fp8moe_status replace_routing(fp8moe_layer *layer, fp8moe_stage stage,
                                     const fp8moe_tensor *tensor, fp8moe_error *err)
{
    const int64_t count = fp8moe_tensor_count(tensor);
    if (stage == FP8MOE_STAGE_TOPK_WEIGHTS) {
        fp8moe_tensor_read_f64(tensor, 0, count, layer->topk_weights);
        return FP8MOE_OK;
    }
    return layer_set_ids(layer, tensor, err);
}

fp8moe_status fp8moe_layer_from(fp8moe_layer *layer, fp8moe_stage stage,
                                const fp8moe_tensor *tensor, fp8moe_error *err)
{
    assert(stage < FP8MOE_STAGE_COUNT);
    const fp8moe_tensor total = stages_total(layer, stage);
    const char *const name = names[stage];
    char want[96], got[96];
    if (!fp8moe_tensor_present(&total) || stage == FP8MOE_STAGE_OUTPUT)
        return fail_at(err, FP8MOE_ERR_USAGE, name, -1, "recipe %s has no stage '%s' to start from",
                       layer->recipe.name, name);
    if (!takes_dtype(total.dtype, tensor->dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "dtype %s; stage '%s' is %s",
                       fp8moe_dtype_name(tensor->dtype), name, fp8moe_dtype_name(total.dtype));
    if (fp8moe_tensor_count(tensor) != fp8moe_tensor_count(&total) ||
        (tensor->rank && total.shape[total.rank - 1] != tensor->shape[tensor->rank - 1]))
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "stage '%s' is %s, got %s", name,
                       fp8moe_tensor_shape_text(&total, want, sizeof want),
                       fp8moe_tensor_shape_text(tensor, got, sizeof got));
    if (stage == FP8MOE_STAGE_TOPK_IDS || stage == FP8MOE_STAGE_TOPK_WEIGHTS)
        return replace_routing(layer, stage, tensor, err);
    layer->from[stage] = *tensor;
    return FP8MOE_OK;
}

/* ---- passing through ---- */

static void pack(fp8moe_dtype dtype, const double *numbers, int64_t count, void *out)
{
    for (int64_t i = 0; i < count; i++) {
        /* One NaN for all: its bits differ between processors. */
        const bool nan = numbers[i] != numbers[i];
        if (dtype == FP8MOE_DTYPE_F64) {
            const uint64_t bits = nan ? UINT64_C(0x7FF8000000000000) : f64_bits(numbers[i]);
            memcpy((char *)out + 8 * i, &bits, 8);
            continue;
        }
        const uint32_t bits = nan ? 0x7FC00000u : f32_bits((float)numbers[i]);
        const uint16_t high = (uint16_t)(bits >> 16);
        if (dtype == FP8MOE_DTYPE_BF16)
            memcpy((char *)out + 2 * i, &high, 2);
        else
            memcpy((char *)out + 4 * i, &bits, 4);
    }
}

static int64_t row_width(const fp8moe_tensor *total)
{
    int64_t width = 1;
    for (int d = 1; d < total->rank; d++)
        width *= total->shape[d];
    return width;
}

/* Numbers wider than the stage's dtype are rounded to it: what is shown is what the run goes on
 * with. */
static void take(const fp8moe_tensor *from, fp8moe_dtype dtype, int64_t first, int64_t count,
                 stage_values values)
{
    if (!fp8moe_tensor_present(from)) return;
    if (values.codes) {
        fp8moe_tensor_read_raw(from, first, count, values.codes);
        return;
    }
    fp8moe_tensor_read_f64(from, first, count, values.numbers);
    for (int64_t i = 0; i < count && dtype != FP8MOE_DTYPE_F64; i++)
        values.numbers[i] = dtype == FP8MOE_DTYPE_BF16 ? round_bf16(values.numbers[i])
                                                       : round_f32(values.numbers[i]);
}

static fp8moe_status show(const fp8moe_observer *observer, fp8moe_stage stage, int64_t first,
                          int64_t tokens, const fp8moe_tensor *total, stage_values values,
                          fp8moe_error *err)
{
    const int64_t count = tokens * row_width(total);
    fp8moe_tensor rows = *total;
    void *packed = NULL;
    rows.shape[0] = tokens;
    if (values.numbers) {
        packed = malloc((size_t)max_i64(1, count * fp8moe_dtype_bits(total->dtype) / 8));
        if (!packed)
            return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld numbers", (long long)count);
        pack(total->dtype, values.numbers, count, packed);
    }
    rows.data = packed ? packed : values.codes ? (void *)values.codes : (void *)values.ids;
    const fp8moe_status status = observer->stage(observer->user, stage, first, &rows, total, err);
    free(packed);
    return status;
}

fp8moe_status stages_pass(const fp8moe_layer *layer, const fp8moe_observer *observer,
                          fp8moe_stage stage, int64_t first, int64_t tokens, stage_values values,
                          fp8moe_error *err)
{
    const fp8moe_tensor total = stages_total(layer, stage);
    if (!fp8moe_tensor_present(&total)) return FP8MOE_OK;
    const int64_t width = row_width(&total);
    take(&layer->from[stage], total.dtype, first * width, tokens * width, values);
    if (!observer) return FP8MOE_OK;
    return show(observer, stage, first, tokens, &total, values, err);
}

/* Faults of the input and of its quantisation. */
#include "fault_kinds.h"

#include "quant.h"

#include <math.h>
#include <string.h>

static bool shift_tokens(made_plan *p)
{
    const int64_t hidden = p->model->shape->hidden;
    memmove(p->hidden, p->hidden + hidden, (size_t)(MADE_TOKENS * hidden) * sizeof *p->hidden);
    return true;
}

static bool cut_inputs(made_plan *p)
{
    const int64_t hidden = p->model->shape->hidden;
    for (int64_t t = 0; t < MADE_ROWS; t++)
        memset(p->hidden + (t + 1) * hidden - 64, 0, 64 * sizeof *p->hidden);
    return true;
}

static bool clip_outliers(made_plan *p)
{
    for (int64_t i = 0; i < MADE_ROWS * p->model->shape->hidden; i++) {
        const double x = made_from_bf16(p->hidden[i]);
        if (fabs(x) > 8) p->hidden[i] = made_to_bf16(x < 0 ? -8 : 8);
    }
    return true;
}

static bool swap_channels(made_plan *p)
{
    const int64_t hidden = p->model->shape->hidden;
    for (int64_t t = 0; t < MADE_ROWS; t++)
        for (int64_t h = 0; h < 64; h++) {
            uint16_t *const a = p->hidden + t * hidden + h, *const b = a + 64, old = *a;
            *a = *b;
            *b = old;
        }
    return true;
}

/* Every token undone by the scale of the first. */
static bool squeeze_scales(made_plan *p)
{
    if (p->tokens < 2 || p->recipe.input != FP8MOE_INPUT_FP8_TOKEN) return false;
    const fp8moe_tensor scale = made_plan_stage(p, FP8MOE_STAGE_X_SCALE);
    float *const to = (float *)(uintptr_t)scale.data;
    for (int64_t t = 1; t < p->tokens; t++)
        to[t] = to[0];
    p->from[FP8MOE_STAGE_X_SCALE] = scale;
    return true;
}

/* One scale for the whole tensor instead of one a token. */
static bool one_input_scale(made_plan *p)
{
    const made_model *const m = p->model;
    const int64_t hidden = m->shape->hidden, count = p->tokens * hidden,
                  shape[2] = {p->tokens, hidden}, column[2] = {p->tokens, 1};
    if (p->tokens < 2 || p->recipe.input != FP8MOE_INPUT_FP8_TOKEN) return false;
    double *const x = made_take(&p->memory, count, sizeof *x);
    uint8_t *const codes = made_take(&p->memory, count, 1);
    float *const scale = made_take(&p->memory, p->tokens, sizeof *scale);
    for (int64_t i = 0; i < count; i++)
        x[i] = made_from_bf16(p->hidden[i]);
    const double one = quant_row(&m->kernels, m->target, FP8MOE_ROUND_BF16, x, count, codes);
    for (int64_t t = 0; t < p->tokens; t++)
        scale[t] = (float)one;
    p->from[FP8MOE_STAGE_X_CODES] = fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, shape);
    p->from[FP8MOE_STAGE_X_SCALE] = fp8moe_tensor_view(scale, FP8MOE_DTYPE_F32, 2, column);
    return true;
}

/* Divided by the other device's largest number, codes cut where this one ends. */
static bool other_maximum(made_plan *p)
{
    if (p->recipe.input != FP8MOE_INPUT_FP8_TOKEN) return false;
    p->config.target = fp8moe_target_find(p->model->target->fp8_max > 300 ? "gaudi2" : "gaudi3");
    return true;
}

static const fault_kind kinds[] = {
    {"token row shifted", "each token multiplies the next one's input", .plant = shift_tokens},
    {"inputs cut", "the last 64 channels not summed", .plant = cut_inputs},
    {"outliers clipped", "inputs cut at 8", .plant = clip_outliers},
    {"channels exchanged", "the first two blocks of 64 channels", .plant = swap_channels},
    {"token scale squeezed", "every token undone by the first one's scale",
     .plant = squeeze_scales},
    {"one input scale", "one scale for all tokens", .plant = one_input_scale},
    {"240 against 448", "quantised for the other device", .plant = other_maximum},
};
const fault_group fault_inputs = {kinds, sizeof kinds / sizeof kinds[0]};

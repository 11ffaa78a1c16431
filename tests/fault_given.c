/* A reciprocal computed another way: codes that a dump brings along. */
#include "fault_trial.h"

#include "quant.h"

/* Codes of rows [rows, n] by an inverse that is a step of its dtype off. */
static fp8moe_tensor other_codes(made_plan *p, const double *x, int64_t rows, int64_t n,
                                 const fp8moe_tensor *scale, int rank, const int64_t *shape)
{
    uint8_t *const codes = made_take(&p->memory, rows * n, 1);
    for (int64_t i = 0; i < rows; i++) {
        double s;
        fp8moe_tensor_read_f64(scale, i, 1, &s);
        const double inverse = fp8moe_round_bf16(1 / s);
        quant_codes(&p->model->kernels, p->model->target, FP8MOE_ROUND_BF16,
                    i % 2 ? inverse * (1 + 0x1p-7) : inverse * (1 - 0x1p-8), x + i * n, n,
                    codes + i * n);
    }
    return fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, rank, shape);
}

bool fault_give_x_codes(made_plan *p)
{
    const int64_t hidden = p->model->shape->hidden, shape[2] = {p->tokens, hidden};
    if (p->recipe.input == FP8MOE_INPUT_AS_IS) return false;
    const fp8moe_tensor scale = made_plan_stage(p, FP8MOE_STAGE_X_SCALE);
    double *const x = made_take(&p->memory, p->tokens * hidden, sizeof *x);
    for (int64_t i = 0; i < p->tokens * hidden; i++)
        x[i] = made_from_bf16(p->hidden[i]);
    p->from[FP8MOE_STAGE_X_CODES] = other_codes(p, x, p->tokens, hidden, &scale, 2, shape);
    return true;
}

bool fault_give_act_codes(made_plan *p)
{
    const int64_t inter = p->model->shape->inter, top_k = p->model->shape->top_k,
                  shape[3] = {p->tokens, top_k, inter};
    if (p->recipe.intermediate == FP8MOE_INTERMEDIATE_KEPT) return false;
    const fp8moe_tensor scale = made_plan_stage(p, FP8MOE_STAGE_ACT_SCALE),
                        product = made_plan_stage(p, FP8MOE_STAGE_ACTIVATION);
    double *const x = made_take(&p->memory, p->tokens * top_k * inter, sizeof *x);
    fp8moe_tensor_read_f64(&product, 0, p->tokens * top_k * inter, x);
    p->from[FP8MOE_STAGE_ACT_CODES] = other_codes(p, x, p->tokens * top_k, inter, &scale, 3, shape);
    p->from[FP8MOE_STAGE_ACT_SCALE] = scale;
    return true;
}

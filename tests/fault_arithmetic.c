/* Faults of the arithmetic: another activation, a rounding point moved. */
#include "fault_kinds.h"

#include "bits.h"
#include "interval.h"
#include "silu.h"

static double gelu(double x)
{
    /* x * sigmoid(1.702 x), the common approximation */
    return x * own_sigmoid(1.702 * x);
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double identity(double x)
{
    return x;
}

/* silu(gate) * up with one of its parts replaced; the device's steps of its own on top. */
static bool activate(made_plan *p, double (*function)(double), double clamp)
{
    const int64_t inter = p->model->shape->inter, slots = p->tokens * p->model->shape->top_k;
    const int64_t shape[3] = {p->tokens, p->model->shape->top_k, inter};
    const fp8moe_tensor up_gate = made_plan_stage(p, FP8MOE_STAGE_UP_GATE);
    const float *const h = up_gate.data;
    float *const out = made_take(&p->memory, slots * inter, sizeof *out);
    uint64_t state = p->config.shuffle_seed;
    for (int64_t i = 0; i < slots * inter; i++) {
        double up = (double)h[i / inter * 2 * inter + inter + i % inter];
        double gate =
            round_to(p->recipe.silu, function((double)h[i / inter * 2 * inter + i % inter]));
        if (p->config.shuffle_sums && made_uniform(&state) < p->config.silu_step_rate)
            gate = interval_step(p->recipe.silu, gate, made_bits(&state) & 1 ? 1 : -1);
        up = up > clamp ? clamp : up < -clamp ? -clamp : up;
        out[i] = (float)round_to(p->recipe.product, gate * up);
    }
    p->from[FP8MOE_STAGE_ACTIVATION] = fp8moe_tensor_view(out, FP8MOE_DTYPE_F32, 3, shape);
    return true;
}

static bool use_gelu(made_plan *p)
{
    return activate(p, gelu, 1e30);
}

static bool use_relu(made_plan *p)
{
    return activate(p, relu, 1e30);
}

static bool use_none(made_plan *p)
{
    return activate(p, identity, 1e30);
}

static bool clamp_up(made_plan *p)
{
    return activate(p, own_silu, 2);
}

static const fault_kind kinds[] = {
    {"GELU", "instead of SiLU", .plant = use_gelu},
    {"ReLU", "instead of SiLU", .plant = use_relu},
    {"no activation", "gate * up", .plant = use_none},
    {"up clamped", "a SwiGLU limit the model does not have", .plant = clamp_up},
    {"requant present", "the intermediate quantised per row",
     .settings = "intermediate=fp8-row intermediate_cast=bf16 down_operand=code"},
    {"requant absent", "the intermediate kept",
     .settings =
         "intermediate=kept intermediate_cast=none down_operand=scaled-bf16 down_round=none"},
    {"requant never undone", "multiplied by the scale instead of its inverse",
     .settings = "intermediate=fp8-eager intermediate_cast=bf16 down_operand=code"},
    {"up/gate in bf16", "a rounding point moved", .settings = "up_gate=bf16"},
    {"up/gate in f32", "a rounding point moved", .settings = "up_gate=f32"},
    {"silu in bf16", "a rounding point moved", .settings = "silu=bf16"},
    {"silu in f32", "a rounding point moved", .settings = "silu=f32"},
    {"product in bf16", "a rounding point moved", .settings = "product=bf16"},
    {"product in f32", "a rounding point moved", .settings = "product=f32"},
    {"expert output in bf16", "a rounding point moved", .settings = "down_out=bf16"},
    {"expert output in f32", "a rounding point moved", .settings = "down_out=f32"},
    {"slots rounded", "each weighted expert output rounded to bf16", .settings = "slot_round=bf16"},
    {"bf16 sum", "in expert order", .settings = "sum=bf16 order=expert"},
    {"dot rounded", "to bf16 before its scale", .settings = "dot_round=bf16"},
};
const fault_group fault_arithmetic = {kinds, sizeof kinds / sizeof kinds[0]};

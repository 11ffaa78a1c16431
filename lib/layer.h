/* One layer, checked and resolved: what moe.c and linear.c run. */
#ifndef FP8MOE_LIB_LAYER_H
#define FP8MOE_LIB_LAYER_H

#include "kernels.h"
#include "weights.h"

#include <fp8moe/moe.h>

/* A dot of codes is exact in double up to this many terms. */
#define LAYER_MAX_DOT 131072

/* The matrices of one expert, and its own static scale of the intermediate. */
typedef struct expert {
    matrix gate, up; /* [I, H] */
    matrix down;     /* [H, I] */
    double w2_input_scale;
} expert;

struct fp8moe_layer {
    fp8moe_config config;
    fp8moe_recipe recipe;
    const fp8moe_target *target;
    fp8moe_layer_info info;
    kernels kernels;
    weight_reader reader;

    fp8moe_tensor hidden_states;      /* [T, H] */
    fp8moe_precision input_precision; /* dtype the input is taken to have: BF16 or F32 */

    /* mixture of experts */
    expert *experts;
    int64_t expert_count;   /* 1 with replicate_expert, else E_local */
    double w13_input_scale; /* static: the largest over the experts */
    int64_t *topk_ids;      /* [T, K] global */
    double *topk_weights;   /* [T, K] f32, before the recipe's own rounding */

    /* linear */
    matrix linear; /* [N, H] */
    double input_scale;

    fp8moe_tensor from[FP8MOE_STAGE_COUNT]; /* absent: computed */
};

/* ---- layer_weights.c: steps of fp8moe_layer_open() ---- */

/* Experts or the linear's matrix, with static scales; sets intermediate size and expert count. */
fp8moe_status layer_open_experts(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err);
fp8moe_status layer_open_linear(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err);

/* Target and weight stage where they are not given, and whether the recipe takes these weights. */
fp8moe_status layer_resolve_weights(fp8moe_layer *layer, fp8moe_error *err);

bool layer_has_static_scales(const fp8moe_layer *layer);

/* ---- layer.c ---- */

/* Local index of a global id under the recipe's meaning of ids, or -1 where it is not here. */
int64_t layer_local_expert(const fp8moe_layer *layer, int64_t id);

/* The expert whose weights stand for a local index. */
const expert *layer_expert(const fp8moe_layer *layer, int64_t local);

/* Take T * K global ids from a tensor; one outside the model is a VALUE error naming token and
 * slot. */
fp8moe_status layer_set_ids(fp8moe_layer *layer, const fp8moe_tensor *ids, fp8moe_error *err);

/* A router weight as the recipe uses it. */
double layer_router_weight(const fp8moe_layer *layer, int64_t slot);

/* dtype of a precision as it is dumped: F32, BF16, F64. */
fp8moe_dtype layer_dtype(fp8moe_precision precision);

/* Rounding of the output as it leaves the layer. */
fp8moe_precision layer_output_precision(const fp8moe_layer *layer);

/* The two ways to run; both in token order, observer and output as in fp8moe_layer_run(). */
fp8moe_status moe_run(fp8moe_layer *layer, const fp8moe_observer *observer, double *output,
                      fp8moe_error *err);
fp8moe_status linear_run(fp8moe_layer *layer, const fp8moe_observer *observer, double *output,
                         fp8moe_error *err);

#endif

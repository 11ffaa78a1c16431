/**
 * @file route.h
 * Routing: from a row of router logits to K experts and their weights.
 *
 * Source: numerics.md section 4 (upstream's plain branch and its grouped top-k).
 */
#ifndef FP8MOE_ROUTE_H
#define FP8MOE_ROUTE_H

#include <fp8moe/profile.h>
#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How logits become scores. */
typedef enum fp8moe_scoring {
    FP8MOE_SCORING_SOFTMAX,      /**< over all experts, in f32, then top-k */
    FP8MOE_SCORING_SIGMOID,      /**< of each logit, in f32 */
    FP8MOE_SCORING_SOFTMAX_TOPK, /**< top-k of the logits, then softmax over the K chosen */
    FP8MOE_SCORING_TOP1_SIGMOID  /**< top-1 of the logits, then its sigmoid (Llama 4) */
} fp8moe_scoring;

/** "softmax", "sigmoid", "softmax-topk", "top1-sigmoid". */
FP8MOE_API const char *fp8moe_scoring_name(fp8moe_scoring scoring);
/** False for an unknown name. */
FP8MOE_API bool fp8moe_scoring_find(const char *name, fp8moe_scoring *out);

/** Settings of a router. Fill with fp8moe_routing_default(). */
typedef struct fp8moe_routing {
    int64_t top_k;       /**< K experts a token; required */
    fp8moe_scoring scoring; /**< default softmax */
    bool renormalize;    /**< divide the K weights by their f32 sum (default true) */
    int64_t n_group;     /**< groups of experts; 0 or 1: no grouping */
    int64_t topk_group;  /**< groups kept */
    double routed_scaling_factor; /**< multiplies the weights once; default 1 */
    fp8moe_tensor correction_bias; /**< e_score_correction_bias [E]: chooses, does not weigh; or absent */
    fp8moe_precision weight_round; /**< dtype of the final weights: BF16 (default, as upstream) or F32 */
} fp8moe_routing;

FP8MOE_API void fp8moe_routing_default(fp8moe_routing *routing);

/**
 * Check the settings against a model of `num_experts` experts: ranges, groups that divide, the bias'
 * shape. @return OK; USAGE, SHAPE, VALUE
 */
FP8MOE_API fp8moe_status fp8moe_routing_check(const fp8moe_routing *routing, int64_t num_experts,
                                              fp8moe_error *err);

/**
 * Route one token: `logits` [num_experts] -> `ids` [K], `weights` [K], ordered by the choosing score,
 * highest first, equal scores by lowest id; never a duplicate. Weights carry every rounding
 * (`weight_round`). NaN logits: the result is stated in route.c and never a duplicate or an id out of
 * range; the weights are then NaN.
 *
 * @param scratch room for 4 * num_experts doubles
 */
FP8MOE_API void fp8moe_route_token(const fp8moe_routing *routing, const double *logits,
                                   int64_t num_experts, int64_t *ids, double *weights,
                                   double *scratch);

#ifdef __cplusplus
}
#endif

#endif

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

/**
 * How logits become scores. Scores are f32 numbers until the experts are chosen.
 *
 * The first two score every expert and may be grouped and biased; the last two choose by the logits
 * themselves, take neither groups nor a bias, and weigh only the chosen: `renormalize` does not
 * apply to them.
 */
typedef enum fp8moe_scoring {
    FP8MOE_SCORING_SOFTMAX,      /**< over all experts, then top-k */
    FP8MOE_SCORING_SIGMOID,      /**< of each logit, then top-k */
    FP8MOE_SCORING_SOFTMAX_TOPK, /**< top-k of the logits, then softmax over the K chosen */
    FP8MOE_SCORING_TOP1_SIGMOID /**< top-1 of the logits, then its sigmoid (Llama 4); K must be 1 */
} fp8moe_scoring;

/** "softmax", "sigmoid", "softmax-topk", "top1-sigmoid". */
FP8MOE_API const char *fp8moe_scoring_name(fp8moe_scoring scoring);
/** False for an unknown name. */
FP8MOE_API bool fp8moe_scoring_find(const char *name, fp8moe_scoring *out);

/** Settings of a router. Fill with fp8moe_routing_default(). */
typedef struct fp8moe_routing {
    int64_t top_k;          /**< K experts a token; required */
    fp8moe_scoring scoring; /**< default softmax */
    bool renormalize; /**< divide the K weights by their f32 sum, no epsilon added (default true) */
    int64_t n_group;  /**< groups of equal size of neighbouring experts; 0 or 1: no grouping */
    int64_t topk_group; /**< groups kept: those of the best expert, with a bias of the best pair */
    double routed_scaling_factor; /**< multiplies the weights once, as f32; default 1 */
    fp8moe_tensor
        correction_bias; /**< e_score_correction_bias [E]: chooses, does not weigh; or absent */
    fp8moe_precision
        weight_round; /**< dtype of the final weights: BF16 (default, as upstream) or F32 */
} fp8moe_routing;

FP8MOE_API void fp8moe_routing_default(fp8moe_routing *routing);

/**
 * Check the settings against a model of `num_experts` experts.
 *
 * @return OK; USAGE (a rule that takes neither groups nor bias), VALUE (ranges, groups that do not
 *         divide, a bias that is not finite), SHAPE and DTYPE of the bias
 */
FP8MOE_API fp8moe_status fp8moe_routing_check(const fp8moe_routing *routing, int64_t num_experts,
                                              fp8moe_error *err);

/**
 * Route one token: `logits` [num_experts] -> `ids` [K], `weights` [K], ordered by the choosing
 * score, highest first, equal scores by lowest id. Ids are distinct and in range whatever the
 * logits are. Weights carry every rounding (`weight_round`).
 *
 * What is not finite goes as in the tensor operations upstream uses, with ties as above:
 * - NaN counts as larger than every number, so such an expert is chosen first; its weight is NaN,
 * and with `renormalize` every weight is. Under softmax one NaN makes all scores NaN.
 * - +Inf makes all softmax scores NaN; its sigmoid is 1. -Inf scores 0; nothing but -Inf makes all
 *   softmax scores NaN.
 * - K scores that sum to 0 renormalise to NaN.
 *
 * The settings have passed fp8moe_routing_check().
 *
 * @param scratch room for 3 * num_experts doubles
 */
FP8MOE_API void fp8moe_route_token(const fp8moe_routing *routing, const double *logits,
                                   int64_t num_experts, int64_t *ids, double *weights,
                                   double *scratch);

#ifdef __cplusplus
}
#endif

#endif

/**
 * @file route_check.h
 * A dumped routing held against the router logits: identical, a tie, a flip within a step, or
 * wrong; and how near each token is to a flip.
 *
 * Steps are bf16 steps, fractions allowed (an f32 step is 2^-16 of one). Between two experts they
 * count the choosing score (with its correction bias), or, without a bias, the logit where that is
 * nearer: a flip needs only one of the two to be off. Source: numerics.md sections 4.1, 4.2
 * and 4.5.
 *
 * Letters: T tokens, K experts a token, E experts of the model.
 */
#ifndef FP8MOE_ROUTE_CHECK_H
#define FP8MOE_ROUTE_CHECK_H

#include <fp8moe/route.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a dumped choice, or a dumped weight, is. */
typedef enum fp8moe_route_class {
    FP8MOE_ROUTE_UNJUDGED,  /**< nothing was dumped: no ids, or only -1 */
    FP8MOE_ROUTE_IDENTICAL, /**< the experts this library chooses, in any order; the same weights */
    FP8MOE_ROUTE_TIE,       /**< other experts of equal score: as right as these */
    FP8MOE_ROUTE_STEP,      /**< right if one score, logit or weight were off by one bf16 step */
    FP8MOE_ROUTE_WRONG,
    FP8MOE_ROUTE_CLASS_COUNT
} fp8moe_route_class;

/** "unjudged", "identical", "tie", "step", "wrong". */
FP8MOE_API const char *fp8moe_route_class_name(fp8moe_route_class which);

/** What was found of one token. */
typedef struct fp8moe_route_finding {
    fp8moe_route_class choice;
    double gap;   /**< steps by which the dumped choice misses a right one; 0 where it is right, Inf
                     for a   repeated id, too many groups, or a NaN that was passed over */
    int64_t slot; /**< the first slot whose expert this library does not choose, or -1 */
    bool repeated;        /**< an id stands twice: no router does that */
    bool too_many_groups; /**< experts of more groups than topk_group */
    double margin; /**< steps between this library's choice and the nearest other one; 0: a tie; Inf
                      where there is no other */
    fp8moe_route_class weights;         /**< judged for the dumped experts, right or not */
    double weight_gap;                  /**< the largest difference of a weight in steps */
    int64_t weight_slot;                /**< its slot, or -1 */
    double weight_expected, weight_got; /**< there */
    bool nonfinite;                     /**< NaN or Inf among the logits */
    const int64_t *own_ids;     /**< [K] this library's choice, highest score first; valid, as what
                                   follows, during the call */
    const double *own_weights;  /**< [K] its weights */
    const int64_t *flip_ids;    /**< [K] the choice that is `margin` steps away, a nearest one where
                                   there are several; NULL where there is no other */
    const double *flip_weights; /**< [K] its weights, or NULL */
} fp8moe_route_finding;

/** All tokens together. */
typedef struct fp8moe_route_summary {
    int64_t tokens, top_k, num_experts;
    int64_t choice[FP8MOE_ROUTE_CLASS_COUNT];
    int64_t weights[FP8MOE_ROUTE_CLASS_COUNT];
    int64_t could_flip;     /**< tokens with a margin of at most one step, ties included */
    int64_t tied;           /**< those of them with a margin of 0 */
    int64_t nonfinite;      /**< tokens with NaN or Inf among their logits */
    double smallest_margin; /**< above 0; Inf where there is none */
} fp8moe_route_summary;

/** Called once a token, in order, from the calling thread. */
typedef struct fp8moe_route_listener {
    void (*token)(void *user, int64_t token, const fp8moe_route_finding *finding);
    void *user;
} fp8moe_route_listener;

/**
 * Check every token.
 *
 * @param routing  top_k 0: as many as topk_ids has columns
 * @param router_logits [..., E] BF16, F16 or F32
 * @param topk_ids [..., K] integers, or NULL or absent: margins only. -1 is a slot that was masked
 * out (of another rank): the others must still belong to a right choice
 * @param topk_weights [..., K] BF16, F16 or F32, or NULL or absent. Those of slots with id -1 are
 * not looked at. Differences of at most 2^-24 of the token's largest weight are no step
 * @param listener or NULL
 * @return OK (what was found is in *out); as fp8moe_routing_check(); SHAPE, DTYPE; VALUE for an id
 * that is no expert (the message names token and slot); USAGE without top_k and ids; NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_route_check(const fp8moe_routing *routing,
                                            const fp8moe_tensor *router_logits,
                                            const fp8moe_tensor *topk_ids,
                                            const fp8moe_tensor *topk_weights,
                                            const fp8moe_route_listener *listener,
                                            fp8moe_route_summary *out, fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

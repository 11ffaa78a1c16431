/**
 * @file cost.h
 * What a path reads and multiplies, and what that predicts. Counts are exact for the model stated
 * here; a prediction is as good as the bandwidth and launch figures it is given. Nothing is
 * measured.
 *
 * Letters: T tokens, H hidden, I intermediate, K experts a token, E experts of the model, E_local
 * experts of this rank. One expert is 3*I*H one-byte codes and 4 bytes for each of its 2I + H row
 * scales; one token-expert pair is 3*I*H multiply-adds.
 *
 * Source: numerics.md section 5 and upstream's comments (its stock operation touches every local
 * expert).
 */
#ifndef FP8MOE_COST_H
#define FP8MOE_COST_H

#include <fp8moe/gate.h>
#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sizes of a layer on one rank. All at least 1; K at most E, E_local at most E. */
typedef struct fp8moe_cost_shape {
    int64_t hidden, intermediate, top_k, num_experts, local_num_experts;
} fp8moe_cost_shape;

/** Where the tokens of a call went, on this rank. */
typedef struct fp8moe_cost_load {
    int64_t tokens;
    double pairs;   /**< routed token-expert pairs */
    double experts; /**< distinct experts among them */
    bool counted;   /**< from dumped ids; else expected under uniform routing */
} fp8moe_cost_load;

/** Bytes and multiply-adds of one call. */
typedef struct fp8moe_cost {
    double experts_read;
    double weight_bytes; /**< codes and row scales of the experts read */
    double copied_bytes; /**< written and read again between operations: the gathered copy of codes
                            and scales, the dequantised f32 w2 */
    double multiplies;   /**< multiply-adds of the three projections */
    double useful;       /**< share of them that belongs to a routed pair; 1 where there are none */
} fp8moe_cost;

/** Figures of a device, the user's. */
typedef struct fp8moe_cost_machine {
    double bandwidth;    /**< bytes a second, above 0 */
    double copied_share; /**< of copied_bytes that go through memory: 1 all, 0 where the compiler
                            fuses every copy. Upstream's measured crossover, g = 0.4 * E_local, lies
                            between. */
    double
        launch[FP8MOE_PATH_COUNT]; /**< seconds a call costs on each path before its first byte */
} fp8moe_cost_machine;

/** @return OK; VALUE where a size is out of range or the layer has more than 2^53 codes */
FP8MOE_API fp8moe_status fp8moe_cost_check(const fp8moe_cost_shape *shape, fp8moe_error *err);

/** Expected under uniform routing: T*K*E_local/E pairs, E_local*(1 - (1 - K/E)^T) distinct experts.
 *  The shape is checked, `tokens` at least 0 (assert). */
FP8MOE_API fp8moe_cost_load fp8moe_cost_expect(const fp8moe_cost_shape *shape, int64_t tokens);

/**
 * Counted from `topk_ids` [..., K] of integers: ids of the window ep_rank*E_local ... + E_local
 * - 1. A repeated id of one token counts as one pair; -1 and foreign ids are no pair.
 *
 * @return OK; DTYPE, SHAPE, VALUE (an id outside the model: the message names token and slot),
 * NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_cost_count(const fp8moe_cost_shape *shape,
                                           const fp8moe_tensor *topk_ids, int64_t ep_rank,
                                           fp8moe_cost_load *out, fp8moe_error *err);

/**
 * What `path` does with that load:
 * - stock reads every local expert and multiplies the routed pairs;
 * - gather reads g = min(E_local, T*K) experts, copies them, dequantises their w2 to f32 and
 * multiplies every token through each;
 * - dense reads every local expert and multiplies every token through each.
 */
FP8MOE_API fp8moe_cost fp8moe_cost_of(const fp8moe_cost_shape *shape, fp8moe_path path,
                                      const fp8moe_cost_load *load);

/** Seconds: launch + (weight_bytes + copied_share * copied_bytes) / bandwidth. Multiplications are
 * not counted: at the token counts in question the layer waits for memory. */
FP8MOE_API double fp8moe_cost_seconds(const fp8moe_cost_machine *machine, fp8moe_path path,
                                      const fp8moe_cost *cost);

/** The largest T for which gather is predicted to take less time than stock: 0 for none,
 *  FP8MOE_TOKENS_UNLIMITED where it always does. */
FP8MOE_API int64_t fp8moe_cost_crossover(const fp8moe_cost_shape *shape,
                                         const fp8moe_cost_machine *machine);

#ifdef __cplusplus
}
#endif

#endif

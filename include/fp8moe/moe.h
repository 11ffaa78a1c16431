/**
 * @file moe.h
 * One layer, emulated: a mixture of experts or a linear, under a target and a recipe.
 *
 * Letters: T tokens (all leading dimensions of hidden_states), H hidden, I intermediate, E experts
 * of the model, E_local experts of this rank, K experts a token. Weights and inputs are borrowed
 * and must outlive the layer.
 *
 * @code
 *   fp8moe_config config;
 *   fp8moe_config_default(&config);
 *   config.target = fp8moe_target_find("gaudi2");
 *   config.recipe = fp8moe_recipe_find("gather");
 *   config.weights_stage = FP8MOE_WEIGHTS_LOADED;
 *   config.routing.top_k = 8;
 *   fp8moe_layer *layer = NULL;
 *   fp8moe_status st = fp8moe_layer_open(&config, &inputs, &layer, &err);
 *   if (st == FP8MOE_OK) st = fp8moe_layer_run(layer, NULL, output, &err);
 *   fp8moe_layer_close(layer);
 * @endcode
 */
#ifndef FP8MOE_MOE_H
#define FP8MOE_MOE_H

#include <fp8moe/profile.h>
#include <fp8moe/route.h>
#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of a run. Fill with fp8moe_config_default(), then change what you know. */
typedef struct fp8moe_config {
    const fp8moe_target *target; /**< NULL: allowed only where every target gives the same bits */
    const fp8moe_recipe *recipe; /**< required; the layer keeps a copy */
    fp8moe_stage_of_weights weights_stage; /**< UNKNOWN: inferred where that is safe */
    fp8moe_routing routing;    /**< routing.top_k 0: from topk_ids (router_logits alone need it) */
    int64_t num_experts;       /**< E; 0: from router_logits' columns, else E_local * ep_size */
    int64_t local_num_experts; /**< E_local; 0: as many as there are weights */
    int64_t ep_rank;           /**< experts ep_rank * E_local .. + E_local - 1 are here */
    bool replicate_expert;     /**< the one expert given stands for all E */
    int64_t block_rows;        /**< rows (outputs) of a scale block, default 128 */
    int64_t block_cols;        /**< columns (inputs) of a scale block, default 128 */
    int threads;               /**< workers, default 1; bits do not depend on it */
    const char
        *isa; /**< highest instruction set: NULL or "all", "portable", "avx2", "avx512" ... */
    bool shuffle_sums;     /**< a stand-in for a device, never the reference: f32 dots summed in a
                              random order,     seeded; default false */
    double silu_step_rate; /**< with shuffle_sums: share of silu values one step off, either way;
                              default 0 */
    uint64_t shuffle_seed;
    bool use_blas; /**< let OpenBLAS do exact code dots of many tokens (default true; no bit
                      changes) */
} fp8moe_config;

/** Default settings: fp8moe_routing_default(), blocks of 128 x 128, one thread, everything else
 * unknown. */
FP8MOE_API void fp8moe_config_default(fp8moe_config *config);

/** One weight matrix [rows, columns] (outputs, inputs) with its scale, possibly a slice of a larger
 *  one whose scale grid is kept whole. */
typedef struct fp8moe_weight {
    fp8moe_tensor weight; /**< F8_E4M3 or BF16 (or F16, F32 holding bf16 numbers) [rows, columns] */
    fp8moe_tensor
        scale; /**< absent; [] or [1] per tensor; [rows] or [rows, 1]; block grid; multiplies */
    int64_t row_offset; /**< of the first row and column in the matrix that `scale` covers */
    int64_t column_offset;
    int64_t full_rows; /**< of that matrix; 0: as `weight` */
    int64_t full_columns;
} fp8moe_weight;

/** One expert as a checkpoint has it. */
typedef struct fp8moe_expert {
    fp8moe_weight gate;            /**< [I, H] */
    fp8moe_weight up;              /**< [I, H] */
    fp8moe_weight down;            /**< [H, I] */
    fp8moe_tensor w13_input_scale; /**< static only; absent otherwise */
    fp8moe_tensor w2_input_scale;
} fp8moe_expert;

/** Tensors of one layer; absent ones are zeroed views. */
typedef struct fp8moe_inputs {
    fp8moe_tensor
        hidden_states; /**< [..., H] BF16, or F32 (judged as bf16 where all low halves are zero) */
    fp8moe_tensor router_logits; /**< [T, E] BF16 or F32 */
    fp8moe_tensor topk_ids;      /**< [T, K] integers, global ids; -1 contributes nothing */
    fp8moe_tensor topk_weights;  /**< [T, K] BF16 or F32 */
    fp8moe_tensor w13_weight; /**< [E_local, 2I, H], or [2I, H] for one expert; gate rows first */
    fp8moe_tensor w13_scale; /**< [], [E], [E,2], [E,2I], [E,2I,1] or a block grid (gate and up each
                                with their own) */
    fp8moe_tensor w13_input_scale; /**< static: the largest counts */
    fp8moe_tensor w2_weight;       /**< [E_local, H, I], or [H, I] */
    fp8moe_tensor w2_scale;
    fp8moe_tensor w2_input_scale; /**< static: [], [E_local] */
    fp8moe_tensor weight;         /**< linear: [N, H] */
    fp8moe_tensor weight_scale;
    fp8moe_tensor input_scale;
    const fp8moe_expert
        *experts; /**< instead of w13 and w2: E_local experts (one with replicate_expert) */
    int64_t expert_count;
} fp8moe_inputs;

/** Intermediates by name, in order of computation. Shapes with T, K as above; slot order; slots of
 *  foreign or absent experts are zero. A linear has x_codes, x_scale and output. */
typedef enum fp8moe_stage {
    FP8MOE_STAGE_X_CODES,       /**< "x_codes" [T, H] F8_E4M3 */
    FP8MOE_STAGE_X_SCALE,       /**< "x_scale" [T, 1] F32 */
    FP8MOE_STAGE_TOPK_IDS,      /**< "topk_ids" [T, K] I64, global */
    FP8MOE_STAGE_TOPK_WEIGHTS,  /**< "topk_weights" [T, K] F32 after all rounding */
    FP8MOE_STAGE_UP_GATE,       /**< "up_gate" [T, K, 2I] in the row's dtype */
    FP8MOE_STAGE_ACTIVATION,    /**< "activation" [T, K, I] silu(gate) * up */
    FP8MOE_STAGE_ACT_CODES,     /**< "act_codes" [T, K, I] F8_E4M3 */
    FP8MOE_STAGE_ACT_SCALE,     /**< "act_scale" [T, K, 1] F32 */
    FP8MOE_STAGE_EXPERT_OUTPUT, /**< "expert_output" [T, K, H] before the router weight */
    FP8MOE_STAGE_OUTPUT,        /**< "output" [T, H] */
    FP8MOE_STAGE_COUNT
} fp8moe_stage;

/** "x_codes" ... Never NULL for a stage. */
FP8MOE_API const char *fp8moe_stage_name(fp8moe_stage stage);
/** The stage of a name, or FP8MOE_STAGE_COUNT. */
FP8MOE_API fp8moe_stage fp8moe_stage_find(const char *name);

/** One call per stage and block of tokens, from the calling thread, in ascending token order within
 * a stage. `rows` is the C-order, host-order block [count, ...], valid during the call; `total` has
 *  the whole tensor's dtype and shape and no data. */
typedef struct fp8moe_observer {
    fp8moe_status (*stage)(void *user, fp8moe_stage stage, int64_t first_token,
                           const fp8moe_tensor *rows, const fp8moe_tensor *total,
                           fp8moe_error *err);
    void *user;
} fp8moe_observer;

/** A layer ready to run. Opaque. One thread at a time. */
typedef struct fp8moe_layer fp8moe_layer;

/** What a layer turned out to be, and what its run met. */
typedef struct fp8moe_layer_info {
    int64_t tokens, hidden, intermediate, top_k, num_experts, local_num_experts;
    fp8moe_stage_of_weights weights_stage; /**< given or inferred */
    bool weights_stage_inferred;
    bool routed_here;          /**< ids computed from router_logits */
    bool f32_holds_bf16;       /**< hidden_states are F32 with all low halves zero */
    fp8moe_dtype output_dtype; /**< BF16, F32 or F64 */
    int64_t foreign_slots;     /**< after a run: slots of other ranks or id -1 */
    int64_t padding_leaks; /**< after a run: outputs of finite tokens made NaN by 0 * non-finite of
                              an unrouted expert */
    int64_t first_leak_token;  /**< or -1 */
    int64_t first_leak_expert; /**< local id, or -1 */
} fp8moe_layer_info;

/**
 * Check every shape, dtype and setting and make a layer.
 *
 * @return OK; USAGE (target or weight stage missing, contradicting settings), SHAPE, DTYPE, VALUE
 * (an id outside the model: the message names token and slot), UNSUPPORTED, NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_layer_open(const fp8moe_config *config, const fp8moe_inputs *inputs,
                                           fp8moe_layer **out, fp8moe_error *err);

/** Take a stage from a dump instead of computing it (`--from`). Shape as the stage's; numbers of a
 * wider dtype are rounded to the stage's. */
FP8MOE_API fp8moe_status fp8moe_layer_from(fp8moe_layer *layer, fp8moe_stage stage,
                                           const fp8moe_tensor *tensor, fp8moe_error *err);

/**
 * Run it. `observer` may be NULL. `output` (may be NULL) receives [T, H] (linear: [T, N]) numbers
 * exactly representable in info.output_dtype, C order.
 */
FP8MOE_API fp8moe_status fp8moe_layer_run(fp8moe_layer *layer, const fp8moe_observer *observer,
                                          double *output, fp8moe_error *err);

FP8MOE_API void fp8moe_layer_info_get(const fp8moe_layer *layer, fp8moe_layer_info *info);

/** Free; NULL is allowed. */
FP8MOE_API void fp8moe_layer_close(fp8moe_layer *layer);

/** Whether `recipe` can take these inputs at all (weights' dtype and scales, static scales); the
 *  reason why not goes to `err`. */
FP8MOE_API fp8moe_status fp8moe_recipe_fits(const fp8moe_recipe *recipe,
                                            const fp8moe_config *config,
                                            const fp8moe_inputs *inputs, fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

/**
 * @file checkpoint.h
 * A Hugging Face model folder: config.json, safetensors shards and their index, read as the weights
 * of one layer.
 *
 * Letters: E experts of the model, H hidden, I intermediate (of one expert). Opening reads
 * config.json and the index (or the one model.safetensors), nothing else; a shard is opened when a
 * tensor of it is asked for, and its data is touched only by whoever reads the views handed out
 * here. What is kept beside the mapped shards is the table of names: about 120 bytes a tensor of
 * the index, 330 a tensor of an open shard.
 *
 * A shard's name must be relative and stay within the folder. Symbolic links are followed within
 * the folder and, for a folder of the hub's cache (.../snapshots/REVISION), into its .../blobs; a
 * link that leads anywhere else is refused.
 *
 * Calls on one checkpoint are not shared between threads; the views are.
 *
 * @code
 *   fp8moe_checkpoint *model = NULL;
 *   fp8moe_moe_weights weights;
 *   const fp8moe_ranks ranks = {.ep_size = 1, .tp_size = 1};
 *   size_t layer;
 *   fp8moe_status st = fp8moe_checkpoint_open("Qwen3-30B-A3B-FP8", &model, &err);
 *   if (st == FP8MOE_OK) st = fp8moe_checkpoint_layer_find(model, 17, &layer, &err);
 *   if (st == FP8MOE_OK) st = fp8moe_checkpoint_moe(model, layer, &ranks, &weights, &err);
 *   ... inputs.experts = weights.experts; inputs.expert_count = weights.expert_count;
 *       config.weights_stage = FP8MOE_WEIGHTS_CHECKPOINT; config.block_rows = weights.block_rows;
 * ... fp8moe_moe_weights_free(&weights); fp8moe_checkpoint_close(model);
 * @endcode
 */
#ifndef FP8MOE_CHECKPOINT_H
#define FP8MOE_CHECKPOINT_H

#include <fp8moe/moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What config.json says, read from text_config (language_config, llm_config) where there is one,
 * else from the outermost object. Texts live as long as the checkpoint; NULL: not given. */
typedef struct fp8moe_model_config {
    bool found;             /**< there is a config.json */
    const char *model_type; /**< "qwen3_moe" ... */
    const char *hidden_act; /**< "silu"; no other activation is emulated */
    double swiglu_limit;    /**< 0: none; a limit is not emulated */

    int64_t hidden_size;       /**< H; 0: not given, as for every number below */
    int64_t intermediate_size; /**< I: moe_intermediate_size, else intermediate_size */
    int64_t num_experts;       /**< E: num_experts, n_routed_experts or num_local_experts */
    int64_t num_layers;        /**< num_hidden_layers */
    int64_t top_k;             /**< num_experts_per_tok */
    int64_t n_group, topk_group;
    int64_t shared_experts;       /**< n_shared_experts: computed by nobody here */
    int norm_topk_prob;           /**< 1, 0; -1: not given */
    double routed_scaling_factor; /**< 0: not given */
    const char *scoring_func; /**< "softmax", "sigmoid"; where the model's code fixes it, that */

    const char *quant_method;       /**< "fp8", "compressed-tensors"; NULL: not quantised */
    const char *quant_format;       /**< "e4m3"; else what a weight is stored as, e.g. "int4" */
    const char *activation_scheme;  /**< "dynamic", "static", "none" (weights only) */
    int64_t block_rows, block_cols; /**< weight_block_size; 0: none given */
    const char *const *unconverted; /**< modules_to_not_convert, ignored_layers or ignore */
    size_t unconverted_count;
} fp8moe_model_config;

/** A layer with experts. */
typedef struct fp8moe_checkpoint_layer {
    const char *prefix;   /**< of all its names: "model.layers.3.mlp." */
    int64_t number;       /**< 3; -1 where the names hold none */
    int64_t stack_layers; /**< layers whose prefix is the same before the number */
    int64_t experts;      /**< named one by one: the highest id + 1; 0: fused, the shape tells */
    const char *naming;   /**< "gate_proj, up_proj, down_proj" ...; NULL: no known kind of name */
    const char
        *left_out; /**< shared experts, which no recipe here adds: "shared_expert, ..."; or "" */
} fp8moe_checkpoint_layer;

/** One process of a group of processes. All sizes at least 1, ranks below them. */
typedef struct fp8moe_ranks {
    int64_t ep_rank, ep_size; /**< experts ep_rank * E / ep_size ... are here; E must divide */
    int64_t tp_rank,
        tp_size; /**< of each expert, I / tp_size rows of gate and up and columns of down */
} fp8moe_ranks;

/** One layer's experts on one rank. Views point into the checkpoint's shards. */
typedef struct fp8moe_moe_weights {
    fp8moe_expert *experts;         /**< owned; a slice keeps the scale grid of the whole matrix */
    int64_t expert_count;           /**< E_local */
    int64_t num_experts;            /**< E */
    int64_t hidden;                 /**< H */
    int64_t intermediate;           /**< I of this rank */
    int64_t block_rows, block_cols; /**< of the scale grids: weight_block_size, else 128 x 128 */
    bool splits_blocks; /**< tensor parallelism cuts through scale blocks, which upstream refuses to
                           load */
    fp8moe_tensor router;          /**< gate weight [E, H], or absent */
    fp8moe_tensor correction_bias; /**< e_score_correction_bias [E], or absent */
} fp8moe_moe_weights;

/** What one layer looks like: of its expert 0, as stored. Views without data. */
typedef struct fp8moe_moe_form {
    int64_t num_experts, hidden, intermediate;
    fp8moe_tensor gate, gate_scale, down, down_scale;
    bool static_input; /**< there are input scales */
    bool unconverted;  /**< config.json lists it as not quantised */
    fp8moe_tensor router, correction_bias;
} fp8moe_moe_form;

/** An open model folder. */
typedef struct fp8moe_checkpoint fp8moe_checkpoint;

/**
 * Open a folder. It holds model.safetensors.index.json or model.safetensors; config.json may be
 * missing.
 *
 * @return OK; IO (no such folder, no such file in it), FORMAT (index or config broken, with byte
 * offset; a path that leaves the folder), NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_checkpoint_open(const char *folder, fp8moe_checkpoint **out,
                                                fp8moe_error *err);

/** Close and free; NULL is allowed. Every view dies. */
FP8MOE_API void fp8moe_checkpoint_close(fp8moe_checkpoint *checkpoint);

FP8MOE_API const fp8moe_model_config *fp8moe_checkpoint_config(const fp8moe_checkpoint *checkpoint);

/** Tensors and shards of the folder, by its index. */
FP8MOE_API size_t fp8moe_checkpoint_tensor_count(const fp8moe_checkpoint *checkpoint);
FP8MOE_API size_t fp8moe_checkpoint_shard_count(const fp8moe_checkpoint *checkpoint);

/** The path of the open shard in whose file `address` lies, or NULL: for a SIGBUS handler
 *  (async-signal-safe). */
FP8MOE_API const char *fp8moe_checkpoint_file_at(const fp8moe_checkpoint *checkpoint,
                                                 const void *address);

/**
 * A view of the tensor `name`.
 *
 * @return OK; NOT_FOUND (no such name, or its shard lacks it although the index says so), and what
 *         fp8moe_dump_open() returns of the shard
 */
FP8MOE_API fp8moe_status fp8moe_checkpoint_tensor(fp8moe_checkpoint *checkpoint, const char *name,
                                                  fp8moe_tensor *out, fp8moe_error *err);

/**
 * A weight matrix [rows, columns] with its scale, found as NAME_scale_inv, NAME_scale, or with
 * ".scale" in place of ".weight". A weight that is not FP8 has none.
 *
 * @return as fp8moe_checkpoint_tensor(); NOT_FOUND for an FP8 weight without a scale, SHAPE for a
 * scale that fits it in no way, DTYPE, VALUE (FP8 although config.json lists it as not converted)
 */
FP8MOE_API fp8moe_status fp8moe_checkpoint_weight(fp8moe_checkpoint *checkpoint, const char *name,
                                                  fp8moe_weight *out, fp8moe_error *err);

/** Layers with experts, ordered by what stands before the number, then by number. */
FP8MOE_API size_t fp8moe_checkpoint_layer_count(const fp8moe_checkpoint *checkpoint);
FP8MOE_API const fp8moe_checkpoint_layer *
fp8moe_checkpoint_layer_at(const fp8moe_checkpoint *checkpoint, size_t index);

/**
 * The index of layer `number`. Where several stacks of layers have that number (a model and its
 * draft layers), the longest stack is meant.
 *
 * @return OK; NOT_FOUND (the message lists what there is); USAGE where two stacks are equally long
 */
FP8MOE_API fp8moe_status fp8moe_checkpoint_layer_find(const fp8moe_checkpoint *checkpoint,
                                                      int64_t number, size_t *out,
                                                      fp8moe_error *err);

/** Shapes, dtypes and kind of quantisation of a layer; shards opened for it are closed again.
 *  @return as fp8moe_checkpoint_moe() */
FP8MOE_API fp8moe_status fp8moe_checkpoint_describe(fp8moe_checkpoint *checkpoint, size_t layer,
                                                    fp8moe_moe_form *out, fp8moe_error *err);

/**
 * The experts of a layer that one rank holds. Scales keep covering the whole matrix, so that a
 * slice which starts within a block is scaled rightly (row_offset, column_offset of fp8moe_weight).
 *
 * @param out filled only on OK; freed with fp8moe_moe_weights_free()
 * @return OK; as fp8moe_checkpoint_weight(); USAGE (ranks that do not divide experts or I); SHAPE
 *         (experts differ, or not as config.json says); UNSUPPORTED (names of no known kind,
 * another activation than silu, a swiglu limit, biased or transposed experts, a quantisation other
 *         than FP8 E4M3); NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_checkpoint_moe(fp8moe_checkpoint *checkpoint, size_t layer,
                                               const fp8moe_ranks *ranks, fp8moe_moe_weights *out,
                                               fp8moe_error *err);

/** Free the array of experts; a zeroed struct is allowed. */
FP8MOE_API void fp8moe_moe_weights_free(fp8moe_moe_weights *weights);

/**
 * Logits of a router whose inputs were dumped without them: [T, E] dots, rounded to f32 and, unless
 * the router's weight is F32, to bf16. The device sums in another order, so logits near each other
 * may change places: ids that were dumped are worth more.
 *
 * @param hidden_states [..., H]
 * @param router        [E, H]
 * @param logits        room for T * E numbers
 * @return OK; SHAPE, DTYPE, NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_router_logits(const fp8moe_tensor *hidden_states,
                                              const fp8moe_tensor *router, float *logits,
                                              fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

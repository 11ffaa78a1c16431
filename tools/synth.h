/* Making up a layer: tensors of realistic values for a shape, a recipe and a weight stage. */
#ifndef FP8MOE_TOOLS_SYNTH_H
#define FP8MOE_TOOLS_SYNTH_H

#include "scratch.h"

typedef struct synth_shape {
    int64_t tokens, experts, top_k, hidden, intermediate;
} synth_shape;

/* What to make. */
typedef struct synth_plan {
    synth_shape shape;
    uint64_t seed;
    const fp8moe_recipe *recipe;
    const fp8moe_target *target; /* NULL where the recipe does not need one */
    fp8moe_stage_of_weights stage;
    int64_t block_rows, block_columns;
    bool correction_bias;
    fp8moe_ranks ranks; /* sizes of 1: the whole layer */
} synth_plan;

#define SYNTH_MAX_TENSORS 12

/* The tensors made, under the names a dump has. Data lies in `memory`. */
typedef struct synth_layer {
    scratch *memory;
    fp8moe_inputs inputs;
    fp8moe_tensor correction_bias;
    fp8moe_named_tensor tensors[SYNTH_MAX_TENSORS];
    size_t tensor_count;
} synth_layer;

/*
 * Make the inputs and weights: hidden_states, router_logits, w13_weight and w2_weight with what
 * scales the recipe's weights have, static input scales where it takes them. Weights are
 * heavy-tailed and every scale has one code at the largest magnitude, as quantisation leaves it.
 * The same plan gives the same bytes on every machine.
 *
 * @return OK; IO where there is no room for the tensors
 */
fp8moe_status synth_make(const synth_plan *plan, synth_layer *out, fp8moe_error *err);

/*
 * Leave the window of experts and the slice of a rank, where the plan asks for one. The weights of
 * all ranks together are those of the whole layer.
 *
 * @return OK; USAGE where experts or scale blocks do not divide; IO
 */
fp8moe_status synth_take_rank(const synth_plan *plan, synth_layer *layer, fp8moe_error *err);

/* Add a tensor that was computed. */
void synth_add(synth_layer *layer, const char *name, const fp8moe_tensor *tensor);

#endif

/* --weights FOLDER --layer N: a layer's experts and router from a model folder, for a dump that
 * holds none. */
#ifndef FP8MOE_TOOLS_MODEL_WEIGHTS_H
#define FP8MOE_TOOLS_MODEL_WEIGHTS_H

#include "settings.h"

#include <fp8moe/checkpoint.h>

/* Start with {0}. */
typedef struct model_weights {
    fp8moe_checkpoint *model; /* NULL: no --weights */
    size_t layer;             /* index in the model */
    fp8moe_moe_weights moe;
    float *logits; /* computed, where the dump holds no routing */
    char **notes;  /* what a report should say of it */
    size_t note_count;
} model_weights;

/*
 * Where --weights is given: open it, choose the layer (--layer, else the dump's metadata "layer",
 * else the only one there is) and read its experts of the rank that `all` names into out->moe.
 * Settings that only the folder knows are filled in: stage checkpoint, block size, the router's.
 *
 * @param dump for its metadata; may be NULL
 * @return OK; USAGE (--layer and --tp-* without --weights, no layer, a linear), and what
 *         fp8moe_checkpoint_moe() returns
 */
fp8moe_status model_weights_open(const options *given, const fp8moe_dump *dump, settings *all,
                                 model_weights *out, fp8moe_error *err);

/*
 * The same for a dump that is to be run: its fields get the experts, the correction bias, and
 * logits where it holds no routing.
 *
 * @return as model_weights_open(); USAGE where the dump holds weights itself
 */
fp8moe_status model_weights_take(const options *given, const fp8moe_dump *dump, settings *all,
                                 fields *found, model_weights *out, fp8moe_error *err);

void model_weights_free(model_weights *weights);

#endif

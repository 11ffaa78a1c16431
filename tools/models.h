/* Shapes of real checkpoints: the rows of data/models.yaml, compiled in. */
#ifndef FP8MOE_TOOLS_MODELS_H
#define FP8MOE_TOOLS_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of the router are text as an option would spell them; NULL and 0 where the model has the
 * default. */
typedef struct model {
    const char *name;
    int64_t hidden, intermediate, experts, top_k;
    const char *scoring_func;
    int64_t n_group, topk_group;
    const char *routed_scaling_factor;
    bool correction_bias;
    const char *confidence; /* "confirmed", "partly", "memory" */
} model;

const model *models_at(size_t index); /* NULL beyond the last */

/* The model of a name, upper and lower case being the same, or NULL. */
const model *models_find(const char *name);

#endif

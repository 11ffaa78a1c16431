/* How far dumps of one layer lie from what a recipe gives: the cheap question before a judgement.
 */
#ifndef FP8MOE_LIB_APART_H
#define FP8MOE_LIB_APART_H

#include "layer.h"

#include <fp8moe/judge.h>

/* Dumps of one layer. */
typedef struct apart {
    const fp8moe_config *config;
    const fp8moe_inputs *inputs;
    const fp8moe_tensor *got; /* [count] rows */
    int64_t count;
    const fp8moe_judge_options *options;
    const bool *open; /* [count] those that are measured */
    /* results of the last run, [count]: */
    double *distance;  /* squared, over the rows that are judged and the elements that are finite */
    int64_t *elements; /* that are not equal */
    int64_t *worst_row; /* the farthest, or -1 */
    double *worst;      /* its squared distance */
    double *row;        /* [2 * width] */
} apart;

/* Memory for results. */
fp8moe_status apart_open(apart *a, fp8moe_error *err);
void apart_close(apart *a);

/* A layer of these inputs under a recipe, with the stages taken from the dump. */
fp8moe_status apart_layer(const apart *a, const fp8moe_recipe *recipe, fp8moe_layer **out,
                          fp8moe_error *err);

/* Forget results; then an observer (of `a`) that measures. */
void apart_begin(apart *a);
fp8moe_status apart_stage(void *a, fp8moe_stage stage, int64_t first_token,
                          const fp8moe_tensor *rows, const fp8moe_tensor *total, fp8moe_error *err);

/* Run a layer for its distances alone. */
fp8moe_status apart_run(apart *a, fp8moe_layer *layer, fp8moe_error *err);

#endif

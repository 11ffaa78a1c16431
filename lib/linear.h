/* The run of a linear, block by block of tokens. */
#ifndef FP8MOE_LIB_LINEAR_H
#define FP8MOE_LIB_LINEAR_H

#include "bound.h"
#include "layer.h"

/* A block after its run. */
typedef struct linear_block {
    int64_t first, tokens;
    const double *x;       /* [tokens, H] as multiplied */
    const double *x_scale; /* [tokens] */
    const double *rows;    /* [tokens, N] outputs */
} linear_block;

typedef struct linear_hook {
    fp8moe_status (*block)(void *user, const linear_block *block, fp8moe_error *err);
    void *user;
} linear_hook;

fp8moe_status linear_run_hooked(fp8moe_layer *layer, const fp8moe_observer *observer,
                                const linear_hook *hook, double *output, fp8moe_error *err);

/* Intervals of one token of a block: [N] each. */
typedef struct linear_bound {
    double *centre, *low, *high, *near_low, *near_high, *variance;
} linear_bound;

fp8moe_status linear_bound_open(linear_bound *out, const fp8moe_layer *layer,
                                const linear_block *block, int64_t token, const device_slack *slack,
                                fp8moe_error *err);
void linear_bound_close(linear_bound *bounds);

#endif

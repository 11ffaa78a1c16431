/* The run of a mixture of experts, block by block of tokens. */
#ifndef FP8MOE_LIB_MOE_H
#define FP8MOE_LIB_MOE_H

#include "combine.h"
#include "experts.h"

/* A block of tokens after its run: the engine holds every intermediate. */
typedef struct moe_block {
    engine engine;
    double *rows;          /* [tokens, H] outputs */
    double *router_weight; /* [tokens, K] */
    contribution *items;   /* [K] of the token looked at last */
} moe_block;

/* Called after each block; `bytes_per_token` is what the hook keeps beside a token. */
typedef struct moe_hook {
    fp8moe_status (*block)(void *user, moe_block *block, fp8moe_error *err);
    void *user;
    int64_t bytes_per_token;
} moe_hook;

fp8moe_status moe_run_hooked(fp8moe_layer *layer, const fp8moe_observer *observer,
                             const moe_hook *hook, double *output, fp8moe_error *err);

/* The contributions of a token of the block, in the order and with the weights they are summed:
 * into block->items; returns how many. */
int64_t moe_contributions(moe_block *block, int64_t token);

/* Sum a token's row again, after an expert output changed. */
void moe_combine(moe_block *block, int64_t token);

#endif

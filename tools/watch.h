/* The observer of a run: hashes every stage, holds those the dump has against it, keeps those asked
 * for. */
#ifndef FP8MOE_TOOLS_WATCH_H
#define FP8MOE_TOOLS_WATCH_H

#include "cli.h"
#include "scratch.h"

/* What was seen of one stage. */
typedef struct watch_stage {
    bool seen;
    fp8moe_tensor total; /* dtype and shape; with the data where it is kept */
    char hash[FP8MOE_FINGERPRINT_SIZE];
    fp8moe_fingerprint *open;

    fp8moe_tensor dumped;                 /* what the dump has under this name, or absent */
    int64_t compared, padding, identical; /* elements held against it */
} watch_stage;

/* Start with {0}, then fill in what to keep and what the dump has. */
typedef struct watch {
    watch_stage stage[FP8MOE_STAGE_COUNT];
    bool keep[FP8MOE_STAGE_COUNT]; /* copy the data */
    scratch *memory;               /* where kept data goes */
} watch;

/* Run a layer under this observer. Hashes are ready afterwards. The dumped stages must have the
 * stage's shape, leading dimensions of size 1 apart (SHAPE). */
fp8moe_status watch_run(watch *seen, fp8moe_layer *layer, fp8moe_error *err);

#endif

/* The intermediates by name: their shapes and dtypes, handing them to the observer, taking them
 * from a dump. No other hook into a run exists. */
#ifndef FP8MOE_LIB_STAGES_H
#define FP8MOE_LIB_STAGES_H

#include "layer.h"

/* dtype and shape of a stage; absent where this recipe has no such stage. No data. */
fp8moe_tensor stages_total(const fp8moe_layer *layer, fp8moe_stage stage);

/* Where a run keeps the values of a stage for a block of tokens: one of the three. */
typedef struct stage_values {
    uint8_t *codes;
    int64_t *ids;
    double *numbers;
} stage_values;

/* One block of one stage through a run: replaced by the dump's where the caller asked for that
 * (`take`), then shown to the observer. `numbers` must be representable in the stage's dtype. */
fp8moe_status stages_pass(const fp8moe_layer *layer, const fp8moe_observer *observer,
                          fp8moe_stage stage, int64_t first, int64_t tokens, stage_values values,
                          fp8moe_error *err);

#endif

/* The verdict on several dumps of one layer at once: intervals, near-ties and planted faults do not
 * depend on a dump and are worked out once. */
#ifndef FP8MOE_LIB_JUDGE_H
#define FP8MOE_LIB_JUDGE_H

#include "layer.h"

#include <fp8moe/judge.h>

/* fp8moe_layer_judge() for `count` outputs; out: [count]. */
fp8moe_status judge_outputs(fp8moe_layer *layer, const fp8moe_tensor *got, int64_t count,
                            const fp8moe_judge_options *options, const fp8moe_observer *observer,
                            double *output, fp8moe_judgement *out, fp8moe_error *err);

/* fp8moe_judge() for `count` outputs; `output` is that of the recipe as given where there are
 * several. */
fp8moe_status judge_with_axes(const fp8moe_config *config, const fp8moe_inputs *inputs,
                              const fp8moe_tensor *got, int64_t count,
                              const fp8moe_judge_options *options, double *output,
                              fp8moe_judgement *out, fp8moe_error *err);

/* A judgement that is the same by noise, while the recipe with other settings lies nearer to the
 * dump: a rounding point has moved. */
void judge_beaten(fp8moe_judgement *out, const char *rival);

#endif

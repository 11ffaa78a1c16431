/* Expert outputs, weighted and summed into one token's output. */
#ifndef FP8MOE_LIB_COMBINE_H
#define FP8MOE_LIB_COMBINE_H

#include <fp8moe/profile.h>
#include <stdint.h>

/* One contribution: an expert's output row and its router weight, all rounding of the weight done.
 */
typedef struct contribution {
    int64_t expert; /* local id */
    int64_t slot;
    double weight;
    const double *output; /* [H] */
} contribution;

/* Put contributions into the recipe's order, with duplicates as its pairs say (summed in f32 for
 * gathered pairs, those that sum to 0 dropped; last one wins for eager ones). Slot order on entry;
 * returns the new count. */
int64_t combine_order(const fp8moe_recipe *recipe, contribution *items, int64_t count);

/* out[i] = sum of round(output * weight), i < n, as the recipe rounds and orders; `dtype` is the
 * output's own rounding. No contribution gives +0. */
void combine_sum(const fp8moe_recipe *recipe, const contribution *items, int64_t count, int64_t n,
                 fp8moe_precision dtype, double *out);

#endif

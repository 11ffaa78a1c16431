/* Intervals through the steps of a recipe. Rounding is monotone: both ends are rounded. */
#ifndef FP8MOE_LIB_INTERVAL_H
#define FP8MOE_LIB_INTERVAL_H

#include <fp8moe/profile.h>

typedef struct interval {
    double low, high;
} interval;

/* Both ends rounded. */
interval interval_round(fp8moe_precision precision, interval x);

/* All products of the two: the four corners. */
interval interval_times(interval a, interval b);

/* `steps` representable numbers outwards on both sides. */
interval interval_widen(fp8moe_precision precision, interval x, int steps);

/* The number `steps` representable numbers above (below, where negative) a value of that precision.
 */
double interval_step(fp8moe_precision precision, double value, int steps);

/* Distance between neighbours of `precision` at a value's magnitude. */
double interval_spacing(fp8moe_precision precision, double value);

/* silu: monotone outside its minimum (numerics.md and verdict.md section 3). Not rounded. */
interval interval_silu(interval x);

#endif

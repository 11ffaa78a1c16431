/* exp, sigmoid, silu and softmax in double, of our own: libm differs between systems. */
#ifndef FP8MOE_LIB_SILU_H
#define FP8MOE_LIB_SILU_H

#include <stdint.h>

/* e^x, within about one unit in the last place of the true value; the same bits everywhere. Inf, 0
 * and NaN as usual. */
double own_exp(double x);

/* 1 / (1 + e^-x) without overflow; 0 and 1 at the infinities. */
double own_sigmoid(double x);

/* x * sigmoid(x); NaN at -Inf as upstream's gate * sigmoid(gate) gives. */
double own_silu(double x);

/* The sum in the lane order of kernels.h: partial sum i % 16, then one fixed tree. */
double own_sum(const double *x, int64_t n);

/* p[i] = e^(x[i] - max) / sum, each rounded once to f32 (upstream's softmax in f32). Sum as
 * own_sum(). A NaN or +Inf among x makes every p NaN. In place is allowed. */
void own_softmax(double *p, const double *x, int64_t n);

#endif

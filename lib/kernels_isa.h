/* What the kernel files share: the lane order's constants, and where each one puts its slots. */
#ifndef FP8MOE_LIB_KERNELS_ISA_H
#define FP8MOE_LIB_KERNELS_ISA_H

#include "kernels.h"

#include <math.h>

/* Partial sums of a dot. */
#define LANES 16

/* Overwrite the slots an instruction set improves. Only for a processor that has it. */
void kernels_init_neon(kernels *out);
void kernels_init_avx2(kernels *out);
void kernels_init_avx512(kernels *out);

/* Overwrite dot_exact by OpenBLAS, if its sums turn out exact. out->dot must be set. */
void kernels_init_blas(kernels *out);

void kernels_dot_portable(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                          const double *w, int64_t w_rows, int64_t n);

/* Processors differ in the sign of a NaN they make, and in whose payload survives. */
static inline double one_nan(double value)
{
    return isnan(value) ? (double)NAN : value;
}

#endif

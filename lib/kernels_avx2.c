#include <immintrin.h>

#define WIDTH 4
#define MULTIPLY_ADD(a, b, c) _mm256_fmadd_pd(a, b, c)
#include "kernels_dot.h"
#include "kernels_quant.h"

/* Sixteen registers: three outputs of four vectors each, or twelve of one. */

static void dot_avx2(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                     const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_PLAIN, &(dot_job){out, out_stride, a, w, n}, a_rows, 1, w_rows, 3);
}

static void dot_abs_avx2(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                         const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_ABS, &(dot_job){out, out_stride, a, w, n}, a_rows, 1, w_rows, 2);
}

static void dot_exact_avx2(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                           const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_EXACT, &(dot_job){out, out_stride, a, w, n}, a_rows, 3, w_rows, 4);
}

void kernels_init_avx2(kernels *out)
{
    out->name = "avx2";
    kernels_quant_slots(out);
    out->dot = dot_avx2;
    out->dot_abs = dot_abs_avx2;
    out->dot_exact = dot_exact_avx2;
}

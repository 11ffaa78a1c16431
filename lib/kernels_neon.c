#include <arm_neon.h>

#define WIDTH 2
#define MULTIPLY_ADD(a, b, c) vfmaq_f64(c, a, b)
#include "kernels_dot.h"
#include "kernels_quant.h"

/* Thirty-two registers: three outputs of eight vectors each, or sixteen of one. */

static void dot_neon(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                     const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_PLAIN, &(dot_job){out, out_stride, a, w, n}, a_rows, 1, w_rows, 3);
}

static void dot_abs_neon(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                         const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_ABS, &(dot_job){out, out_stride, a, w, n}, a_rows, 1, w_rows, 3);
}

static void dot_exact_neon(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                           const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_EXACT, &(dot_job){out, out_stride, a, w, n}, a_rows, 4, w_rows, 4);
}

void kernels_init_neon(kernels *out)
{
    out->name = "neon";
    kernels_quant_slots(out);
    out->dot = dot_neon;
    out->dot_abs = dot_abs_neon;
    out->dot_exact = dot_exact_neon;
}

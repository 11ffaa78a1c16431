#include "kernels_isa.h"

#include "common.h"

#include <limits.h>

#if defined(FP8MOE_HAVE_BLAS)

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

static bool all_finite(const double *x, int64_t n)
{
    double sums[LANES] = {0};
    for (int64_t k = 0; k < n - n % LANES; k += LANES)
        for (int j = 0; j < LANES; j++)
            sums[j] += x[k + j] * 0;
    for (int64_t k = n - n % LANES; k < n; k++)
        sums[0] += x[k] * 0;
    for (int j = 1; j < LANES; j++)
        sums[0] += sums[j];
    return sums[0] == 0;
}

/* A GEMM may skip a zero that meets an infinity, leave old content where n is 0, and give -0. */
static void dot_exact_blas(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                           const double *w, int64_t w_rows, int64_t n)
{
    assert(a_rows <= INT_MAX && w_rows <= INT_MAX && n <= INT_MAX && out_stride <= INT_MAX);
    if (n == 0 || !all_finite(a, a_rows * n) || !all_finite(w, w_rows * n)) {
        kernels_dot_portable(out, out_stride, a, a_rows, w, w_rows, n);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)a_rows, (int)w_rows, (int)n, 1, a,
                (int)n, w, (int)n, 0, out, (int)out_stride);
    for (int64_t i = 0; i < a_rows; i++)
        for (int64_t r = 0; r < w_rows; r++)
            out[i * out_stride + r] += 0.0;
}

/* One small product and one large: OpenBLAS has kernels of its own for small ones. */
static const struct {
    int rows, length;
} canaries[] = {{9, 131}, {80, 300}};

/* Codes near the largest and near the least magnitude, of both signs: a GEMM that forms anything
 * but plain sums of products (Strassen's differences, a split in narrower numbers) loses the small
 * ones. */
static void fill_canary(double *x, int64_t count, uint32_t seed)
{
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        const double digit = (state >> 20) % 7;
        const double value = state >> 31 ? (8 + digit) * 32 : (1 + digit) * 0x1p-9;
        x[i] = state >> 30 & 1 ? -value : value;
    }
}

/* `room` holds two matrices of operands and two of results. */
static bool is_exact(double *room, int rows, int length)
{
    const int64_t operands = (int64_t)rows * length, results = (int64_t)rows * rows;
    double *const a = room, *const w = a + operands, *const expected = w + operands;
    double *const got = expected + results;
    fill_canary(a, operands, 1);
    fill_canary(w, operands, 2);
    for (int64_t i = 0; i < results; i++)
        got[i] = NAN;
    kernels_dot_portable(expected, rows, a, rows, w, rows, length);
    dot_exact_blas(got, rows, a, rows, w, rows, length);
    return memcmp(got, expected, (size_t)results * sizeof *got) == 0;
}

void kernels_init_blas(kernels *out)
{
    bool exact = true;
    for (size_t i = 0; exact && i < sizeof canaries / sizeof canaries[0]; i++) {
        const int rows = canaries[i].rows, length = canaries[i].length;
        double *const room = malloc((size_t)(2 * rows * (length + rows)) * sizeof *room);
        exact = room && is_exact(room, rows, length);
        free(room);
    }
    if (exact) out->dot_exact = dot_exact_blas;
}

#else

void kernels_init_blas(kernels *out)
{
    (void)out;
}

#endif

/* Leaf kernels: pointers and counts in, numbers out. A table is filled with portable C first, then
 * each instruction set of this processor overwrites the slots it improves; bits never differ. */
#ifndef FP8MOE_LIB_KERNELS_H
#define FP8MOE_LIB_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kernels {
    const char *name; /* highest instruction set used: "portable", "neon", "avx2", "avx512" */

    /* out[i * out_stride + r] = sum over k of a[i * n + k] * w[r * n + k], for i < a_rows, r <
     * w_rows. Each product is rounded to double, then added to partial sum k % 16; the sixteen
     * partial sums are then added in one fixed tree: s[j] += s[j + 8], then 4, 2, 1. n = 0 gives
     * +0; any NaN comes out as the one positive quiet NaN without payload. `out` may hold anything
     * before. */
    void (*dot)(double *out, int64_t out_stride, const double *a, int64_t a_rows, const double *w,
                int64_t w_rows, int64_t n);

    /* The same with |a| and |w|. */
    void (*dot_abs)(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                    const double *w, int64_t w_rows, int64_t n);

    /* The same bits where every partial sum is exact in double, in whatever order: operands are
     * E4M3 values (or NaN or Inf), n <= 131072. Never slower than dot. */
    void (*dot_exact)(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                      const double *w, int64_t w_rows, int64_t n);

    /* out[k] = table[codes[k]] */
    void (*decode)(double *out, const uint8_t *codes, const double table[256], int64_t n);

    /* codes[k] = the nearest E4M3 code of round(x[k] * factor), the rounding being bf16's or f32's;
     * beyond `largest` that number's code, a NaN 0x7F. */
    void (*encode_bf16)(uint8_t *codes, const double *x, int64_t n, double factor, double largest);
    void (*encode_f32)(uint8_t *codes, const double *x, int64_t n, double factor, double largest);

    /* x[k] = bf16(x[k] * factor) */
    void (*scale_bf16)(double *x, int64_t n, double factor);

    /* Largest magnitude; NaN where there is one, 0 for n = 0. */
    double (*amax)(const double *x, int64_t n);

    /* The codes of half the values, ties to even, as the loader makes them (numerics.md 2.1). */
    void (*halve)(uint8_t *codes, int64_t n);
} kernels;

/* Fill the table for this processor: `isa` NULL or "all" takes the best, a name of cpu_isa_name()
 * caps it; a name this processor or build lacks falls to the next lower one (the caller sees it in
 * out->name). False for a name that is no instruction set. `use_blas` lets dot_exact call OpenBLAS
 * where that is built in, no kernel of ours is faster and a canary product turns out exact. Its
 * threads are left as they are: who calls dot_exact from workers of its own sets them to one. */
bool kernels_init(kernels *out, const char *isa, bool use_blas);

/* Neither NaN nor Inf among them: what dot_exact asks of its operands. */
static inline bool kernels_all_finite(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

#endif

/* Dots of many rows over the vectors of one instruction set. Who includes this defines first
 *   WIDTH                doubles in a vector: 2, 4 or 8
 *   MULTIPLY_ADD(a,b,c)  a * b + c of vectors, rounded once
 * A block of operand rows against a strip of weight rows keeps its sums in registers, so that a
 * number loaded serves several outputs. Row counts are constants at every call: the loops over them
 * unroll. */
#ifndef FP8MOE_LIB_KERNELS_DOT_H
#define FP8MOE_LIB_KERNELS_DOT_H

#include "kernels_isa.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define VECTORS (LANES / WIDTH)
#define MAX_ROWS 4 /* of a block, and of a strip */

typedef double vector __attribute__((vector_size(8 * WIDTH)));
typedef int64_t vector_bits __attribute__((vector_size(8 * WIDTH)));

typedef enum dot_form {
    DOT_PLAIN,
    DOT_ABS,
    DOT_EXACT /* no lane order to keep: one vector of sums leaves registers for more outputs */
} dot_form;

typedef struct dot_job {
    double *out;
    int64_t out_stride;
    const double *a, *w;
    int64_t n;
} dot_job;

INLINE int sum_vectors(dot_form form)
{
    return form == DOT_EXACT ? 1 : VECTORS;
}

INLINE vector load(const double *p)
{
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE vector add_product(dot_form form, vector sum, vector a, vector w)
{
    if (form == DOT_EXACT) return MULTIPLY_ADD(a, w, sum);
    const vector product = a * w;
    return sum + (form == DOT_ABS ? (vector)((vector_bits)product & INT64_MAX) : product);
}

/* Add LANES products to each of block x strip sums; rows are `stride` apart. */
INLINE void add_lanes(dot_form form, vector *sums, const double *a, int block, const double *w,
                      int strip, int64_t stride)
{
    for (int v = 0; v < VECTORS; v++) {
        vector x[MAX_ROWS];
        for (int i = 0; i < block; i++)
            x[i] = load(a + i * stride + v * WIDTH);
        for (int r = 0; r < strip; r++) {
            const vector y = load(w + r * stride + v * WIDTH);
            for (int i = 0; i < block; i++) {
                const int s = (i * strip + r) * sum_vectors(form) + v % sum_vectors(form);
                sums[s] = add_product(form, sums[s], x[i], y);
            }
        }
    }
}

/* The fixed tree over the lanes of one output. */
INLINE double add_up(dot_form form, vector *sums)
{
    for (int half = sum_vectors(form) / 2; half > 0; half /= 2)
        for (int v = 0; v < half; v++)
            sums[v] += sums[v + half];
    double s[WIDTH];
    memcpy(s, sums, sizeof s);
    for (int half = WIDTH / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] += s[j + half];
    return one_nan(s[0]);
}

/* The last n % LANES columns, padded with zeros: no lane is ever -0, so +0 changes none. */
INLINE void copy_tail(double *tail, const double *rows, int count, int64_t n)
{
    const int64_t length = n % LANES;
    memset(tail, 0, (size_t)(count * LANES) * sizeof *tail);
    for (int i = 0; i < count; i++)
        memcpy(tail + i * LANES, rows + i * n + n - length, (size_t)length * sizeof *tail);
}

INLINE void dot_block(dot_form form, const dot_job *j, int64_t first_a, int block, int64_t first_w,
                      int strip)
{
    const double *const a = j->a + first_a * j->n, *const w = j->w + first_w * j->n;
    vector sums[MAX_ROWS * MAX_ROWS * VECTORS];
    for (int s = 0; s < block * strip * sum_vectors(form); s++)
        sums[s] = (vector){0};
    const int64_t whole = j->n - j->n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        add_lanes(form, sums, a + k, block, w + k, strip, j->n);
    if (whole < j->n) {
        double a_tail[MAX_ROWS * LANES], w_tail[MAX_ROWS * LANES];
        copy_tail(a_tail, a, block, j->n);
        copy_tail(w_tail, w, strip, j->n);
        add_lanes(form, sums, a_tail, block, w_tail, strip, LANES);
    }
    double *const out = j->out + first_a * j->out_stride + first_w;
    for (int i = 0; i < block; i++)
        for (int r = 0; r < strip; r++)
            out[i * j->out_stride + r] = add_up(form, &sums[(i * strip + r) * sum_vectors(form)]);
}

INLINE void dot_strip(dot_form form, const dot_job *j, int64_t a_rows, int block, int64_t first_w,
                      int strip)
{
    int64_t i = 0;
    for (; i + block <= a_rows; i += block)
        dot_block(form, j, i, block, first_w, strip);
    if (block > 2 && i + 2 <= a_rows) {
        dot_block(form, j, i, 2, first_w, strip);
        i += 2;
    }
    for (; i < a_rows; i++)
        dot_block(form, j, i, 1, first_w, strip);
}

/* All of it, `block` operand rows against `strip` weight rows at a time. */
INLINE void dot_rows(dot_form form, const dot_job *j, int64_t a_rows, int block, int64_t w_rows,
                     int strip)
{
    int64_t r = 0;
    for (; r + strip <= w_rows; r += strip)
        dot_strip(form, j, a_rows, block, r, strip);
    for (; r < w_rows; r++)
        dot_strip(form, j, a_rows, block, r, 1);
}

#endif

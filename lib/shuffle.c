#include "shuffle.h"

#include "common.h"

#include <stdlib.h>

uint64_t shuffle_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

fp8moe_status shuffle_init(shuffle *out, uint64_t seed, int64_t length, fp8moe_error *err)
{
    uint64_t state = seed ^ ((uint64_t)length << 32);
    *out = (shuffle){
        .seed = seed, .length = length, .chunk = INT64_C(16) << (shuffle_next(&state) % 5)};
    out->order = calloc((size_t)length, sizeof *out->order);
    if (!out->order)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for an order of %lld terms",
                    (long long)length);
    for (int64_t i = 0; i < length; i++) {
        const int64_t j = (int64_t)(shuffle_next(&state) % (uint64_t)(i + 1));
        out->order[i] = out->order[j];
        out->order[j] = (int32_t)i;
    }
    return FP8MOE_OK;
}

void shuffle_free(shuffle *s)
{
    free(s->order);
    s->order = NULL;
}

#define LANES 8
/* Eight partial sums stay in registers only where the loop over them is gone; clang sees that
 * itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif
#define LARGEST_CHUNK (16 << 4)

/* One chunk of the terms of LANES weight rows, side by side: lanes that wait for no other. */
static void lay_out(const shuffle *s, const double *w, int64_t rows, int64_t n, int64_t first,
                    int64_t last, double *out)
{
    for (int64_t i = first; i < last; i++)
        for (int64_t r = 0; r < LANES; r++)
            *out++ = r < rows ? w[r * n + s->order[i]] : 0;
}

/* Adds the chunk's partial sums to the totals in `out`. */
static void add_chunk(const shuffle *s, const double *a, const double *laid, int64_t first,
                      int64_t last, int64_t rows, double *out)
{
    float part[LANES] = {0};
    for (int64_t i = first; i < last; i++, laid += LANES) {
        const double factor = a[s->order[i]];
        UNROLL
        for (int r = 0; r < LANES; r++)
            part[r] = (float)((double)part[r] + factor * laid[r]);
    }
    for (int64_t r = 0; r < rows; r++)
        out[r] = (float)((float)out[r] + part[r]); /* some compilers add floats as doubles */
}

void shuffle_dot(const shuffle *s, double *out, int64_t out_stride, const double *a, int64_t a_rows,
                 const double *w, int64_t w_rows, int64_t n)
{
    double laid[LARGEST_CHUNK * LANES];
    assert(n == s->length && s->chunk <= LARGEST_CHUNK);
    for (int64_t i = 0; i < a_rows; i++)
        for (int64_t r = 0; r < w_rows; r++)
            out[i * out_stride + r] = 0;
    for (int64_t row = 0; row < w_rows; row += LANES)
        for (int64_t at = 0; at < n; at += s->chunk) {
            const int64_t end = min_i64(n, at + s->chunk), rows = min_i64(LANES, w_rows - row);
            lay_out(s, w + row * n, rows, n, at, end, laid);
            for (int64_t i = 0; i < a_rows; i++)
                add_chunk(s, a + i * n, laid, at, end, rows, out + i * out_stride + row);
        }
}

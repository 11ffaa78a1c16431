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

static float dot_one(const shuffle *s, const double *a, const double *w, int64_t n)
{
    float total = 0;
    for (int64_t at = 0; at < n; at += s->chunk) {
        const int64_t end = min_i64(n, at + s->chunk);
        float part = 0;
        for (int64_t i = at; i < end; i++)
            part = (float)((double)part + a[s->order[i]] * w[s->order[i]]);
        total += part;
    }
    return total;
}

void shuffle_dot(const shuffle *s, double *out, int64_t out_stride, const double *a, int64_t a_rows,
                 const double *w, int64_t w_rows, int64_t n)
{
    assert(n == s->length);
    for (int64_t i = 0; i < a_rows; i++)
        for (int64_t r = 0; r < w_rows; r++)
            out[i * out_stride + r] = dot_one(s, a + i * n, w + r * n, n);
}

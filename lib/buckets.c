#include "common.h"

#include <fp8moe/buckets.h>

static int common_divisor(int a, int b)
{
    return b ? common_divisor(b, a % b) : a;
}

static double power(double base, int exponent)
{
    double product = 1;
    while (exponent-- > 0)
        product *= base;
    return product;
}

/* The least even number that is not below 2 * (n/2)^(i/m), at or above `from`. Comparing powers in
 * lowest terms settles the exact hits, which only reduced exponents can reach. */
static int64_t spaced_bucket(int64_t n, int i, int m, int64_t from)
{
    const int divisor = common_divisor(i, m);
    const double target = power((double)n / 2, i / divisor);
    int64_t half = from / 2;
    while (power((double)half, m / divisor) < target)
        half++;
    return 2 * half;
}

size_t fp8moe_buckets_of(int64_t max_num_seqs, int64_t *buckets)
{
    size_t count = 0;
    int m = 0;
    if (max_num_seqs < 1 || max_num_seqs > FP8MOE_MAX_SEQS) return 0;
    while (INT64_C(1) << m < max_num_seqs)
        m++;
    buckets[count++] = 1;
    int64_t bucket = 2;
    for (int i = 0; i < m; i++) {
        bucket = min_i64(spaced_bucket(max_num_seqs, i, m, bucket), max_num_seqs);
        if (bucket > buckets[count - 1]) buckets[count++] = bucket;
    }
    if (max_num_seqs > buckets[count - 1]) buckets[count++] = max_num_seqs;
    return count;
}

int64_t fp8moe_bucket_find(const int64_t *buckets, size_t count, int64_t requests)
{
    for (size_t i = 0; i < count; i++)
        if (buckets[i] >= requests) return buckets[i];
    return 0;
}

fp8moe_status fp8moe_decode_tokens(int64_t bucket, int64_t speculative_tokens, int64_t factor,
                                   int64_t *out, fp8moe_error *err)
{
    if (bucket < 0 || speculative_tokens < 0 || factor < 1)
        return fail(err, FP8MOE_ERR_VALUE,
                    "a bucket of %lld, %lld speculative tokens, a parallel factor of %lld",
                    (long long)bucket, (long long)speculative_tokens, (long long)factor);
    int64_t per_request;
    int64_t per_rank;
    if (!checked_add(speculative_tokens, 1, &per_request) ||
        !checked_mul(bucket, per_request, &per_rank) || !checked_mul(per_rank, factor, out))
        return fail(err, FP8MOE_ERR_VALUE, "the number of tokens is beyond 64 bits");
    return FP8MOE_OK;
}

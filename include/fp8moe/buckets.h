/**
 * @file buckets.h
 * Tokens of a decode step: live requests are padded to a bucket before the layer sees them.
 *
 * Source: numerics.md section 6.4; the rule was read in vllm-gaudi's exponential bucketing and
 * gives the same lists as its floats for every max_num_seqs up to FP8MOE_MAX_SEQS.
 */
#ifndef FP8MOE_BUCKETS_H
#define FP8MOE_BUCKETS_H

#include <fp8moe/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FP8MOE_MAX_BUCKETS 18
#define FP8MOE_MAX_SEQS 65536

/**
 * Decode batch buckets of the default strategy for N = `max_num_seqs` in 1..FP8MOE_MAX_SEQS,
 * ascending: 1; then 2 * (N/2)^(i/m) for i = 0..m-1 with m = ceil(log2 N), each rounded up to an
 * even number; then N. Duplicates and what exceeds N are left out.
 *
 * @param buckets room for FP8MOE_MAX_BUCKETS
 * @return their number; 0 where max_num_seqs is out of range
 */
FP8MOE_API size_t fp8moe_buckets_of(int64_t max_num_seqs, int64_t *buckets);

/** The bucket that `requests` live requests are padded to; 0 where none is large enough. */
FP8MOE_API int64_t fp8moe_bucket_find(const int64_t *buckets, size_t count, int64_t requests);

/**
 * T of a decode step: bucket * (1 + speculative tokens) * factor, where `factor` is the number of
 * data-parallel ranks, or of sequence-parallel ones, whose tokens are gathered before the layer.
 *
 * @return OK; VALUE for a negative number, a factor below 1, or a product beyond 64 bits
 */
FP8MOE_API fp8moe_status fp8moe_decode_tokens(int64_t bucket, int64_t speculative_tokens,
                                              int64_t factor, int64_t *out, fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

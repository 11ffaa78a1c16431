/**
 * @file compare.h
 * Two tensors held against each other: counts, distances, the worst places. Knows nothing of a
 * mixture of experts and nothing of files.
 */
#ifndef FP8MOE_COMPARE_H
#define FP8MOE_COMPARE_H

#include <fp8moe/profile.h>
#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Grid on which the signed-ordinal FP8 distance is counted. */
typedef enum fp8moe_grid {
    FP8MOE_GRID_ROW,     /**< the row's largest magnitude (of both sides) maps to fp8_max */
    FP8MOE_GRID_TENSOR,  /**< the tensor's */
    FP8MOE_GRID_UNSCALED /**< values as they are */
} fp8moe_grid;

/** "row", "tensor", "unscaled". */
FP8MOE_API const char *fp8moe_grid_name(fp8moe_grid grid);

/** Upstream's _fp8_ulp for one pair: E4M3FN code distance on one side of zero, |a-b| * 2^9 across
 * it, 0 where a magnitude exceeds 448; NaN where a NaN meets the other sign (numerics.md 7.1). */
FP8MOE_API float fp8moe_upstream_ulp(float a, float b);

/** Upstream's out-of-range relative error for one pair: |a-b| / max(|a|+|b|, 1e-9) where a
 * magnitude exceeds 448 and both are finite, 1 where exactly one is non-finite, else 0
 * (numerics.md 6.3). */
FP8MOE_API float fp8moe_upstream_relative(float a, float b);

/** Signed-ordinal E4M3FN distance of two finite values after division by `unit` (above 0, assert):
 * codes as sign and magnitude on one number line, so -0 and +0 coincide. Magnitudes beyond 448
 * saturate. */
FP8MOE_API int fp8moe_fp8_distance(double a, double b, double unit);

/** The same on bf16 (both are rounded to bf16 first). */
FP8MOE_API int32_t fp8moe_bf16_distance(float a, float b);

/** Settings of a comparison. */
typedef struct fp8moe_compare_options {
    fp8moe_grid grid; /**< default ROW */
    double atol,
        rtol;    /**< of within_tolerance: |got-ref| <= atol + rtol*|ref|; default 1e-3, 1e-3 */
    int threads; /**< at least 1 (assert), default 1; no bit of the result depends on it */
} fp8moe_compare_options;

FP8MOE_API void fp8moe_compare_options_default(fp8moe_compare_options *options);

/** A pair of finite numbers that differ. */
typedef struct fp8moe_worst {
    int64_t row, column;
    double expected, got;
    int fp8_distance; /**< on the chosen grid */
    int32_t bf16_distance;
    uint8_t expected_code, got_code; /**< on the chosen grid */
} fp8moe_worst;

#define FP8MOE_WORST_COUNT 10

/** Distribution of a distance over the pairs that are finite and not padding. Percentiles are
 * nearest rank: the least distance that at least this share of the pairs does not exceed. */
typedef struct fp8moe_distribution {
    double mean, p50, p99, p999, max;
} fp8moe_distribution;

/** What a bar in common use says of two tensors, whatever the verdict. */
typedef struct fp8moe_bar {
    const char *name; /**< static storage */
    bool passes;
    int64_t outside; /**< elements that do not keep it; -1 where it is one of the whole */
} fp8moe_bar;

/** In this order: upstream's (numerics.md 6.3, 7.1); assert_close with atol = rtol = 1e-3, which
 * no NaN passes; calc_diff below 1e-3, which is NaN and fails where all is zero or something not
 * finite; 85 % of the elements within 0.1 + 0.2 |ref|, a NaN outside. */
#define FP8MOE_BARS 4

/** What a comparison found. count = padding + identical + different + nonfinite_differs. A NaN or
 * an infinity enters no maximum, sum or distribution. */
typedef struct fp8moe_comparison {
    int64_t rows, columns;     /**< all leading dimensions folded */
    int64_t count;             /**< elements */
    int64_t padding;           /**< zero on both sides, of whatever sign; enters no share */
    int64_t identical;         /**< the same number, or NaN, or the same infinity; padding apart */
    int64_t different;         /**< finite on both sides */
    int64_t nonfinite_same;    /**< part of identical: NaN on both sides, equal infinities */
    int64_t nonfinite_differs; /**< NaN or Inf on one side only, or opposite infinities */
    int64_t expected_nan, expected_inf, got_nan, got_inf;
    int64_t first_nonfinite_row, first_nonfinite_column; /**< of either side, or -1 */
    int64_t first_nonfinite_differs_row, first_nonfinite_differs_column; /**< or -1 */
    double identical_share; /**< identical / (count - padding); 1 where nothing is left */
    double expected_rms, expected_max; /**< over all finite elements of that side */
    double got_rms, got_max;
    double max_abs;   /**< of |got-ref| over pairs finite on both sides, as all that follow */
    double max_rel;   /**< of |got-ref| / |ref| where ref is not 0 */
    double rel_l2;    /**< |got-ref| / |ref|, Euclidean; NaN where 0/0, as all that follow */
    double cosine;    /**< <got,ref> / (|got| |ref|) */
    double gain;      /**< <got,ref> / <ref,ref> */
    double calc_diff; /**< 1 - 2 <got,ref> / (<got,got> + <ref,ref>), DeepGEMM's measure */
    double within_tolerance; /**< share identical or within atol and rtol, padding apart */
    double below_resolution; /**< share of the finite pairs that are not padding with |ref| < 2^-10:
                                  the unscaled grid reads that as 0 */
    fp8moe_grid grid;
    fp8moe_distribution fp8; /**< signed-ordinal steps on `grid` */
    fp8moe_distribution bf16;
    double upstream_ulp;            /**< maximum as upstream computes it: one NaN makes it NaN */
    double upstream_relative;       /**< likewise */
    int64_t upstream_over;          /**< elements whose upstream ULP exceeds 2 */
    bool upstream_ulp_exceeds;      /**< upstream_ulp > 2; false for NaN, as upstream's own test */
    bool upstream_relative_exceeds; /**< upstream_relative > 0.05, the f32 as a double; likewise */
    int64_t
        beyond; /**< pairs more than 2 bf16 steps and more than 1e-6 of their row's amax apart */
    fp8moe_bar bars[FP8MOE_BARS];
    int worst_count;
    fp8moe_worst worst[FP8MOE_WORST_COUNT]; /**< by |got-ref| as a share of the row's amax, the
                                               largest first, of equal ones the earlier place */
} fp8moe_comparison;

/**
 * Compare two tensors of equal shape (leading dimensions of size 1 may differ) as the numbers they
 * hold, whatever their dtypes: -0 is 0, 64-bit integers beyond 2^53 are rounded. A row's amax is
 * the largest finite magnitude of both sides. Takes less than 1 MiB a thread whatever the shape;
 * more than 64 threads are not used.
 *
 * @return OK (the verdict is in the numbers); SHAPE (they differ, or strides do not let them be
 * read as rows), DTYPE (not numbers), NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_compare(const fp8moe_tensor *expected, const fp8moe_tensor *got,
                                        const fp8moe_compare_options *options,
                                        fp8moe_comparison *out, fp8moe_error *err);

/** The strict bar of two tensors by their numbers alone: non-finite elements agree, at least 99 %
 * of the elements that are not zero on both sides are identical, and none is `beyond`. */
FP8MOE_API bool fp8moe_comparison_same(const fp8moe_comparison *comparison);

#ifdef __cplusplus
}
#endif

#endif

/**
 * @file judge.h
 * The verdict: does a dumped output follow from these inputs under a target and a recipe, given
 * what a device may legitimately do differently? Source: verdict.md sections 2 to 7.
 *
 * Every element is held against an interval that no legitimate arithmetic leaves; rows that differ
 * are explained by near-ties that went the other way; what noise cannot hide is tested apart; and
 * the same test is run on planted faults, so that a pass is known to be one that could have failed.
 */
#ifndef FP8MOE_JUDGE_H
#define FP8MOE_JUDGE_H

#include <fp8moe/compare.h>
#include <fp8moe/moe.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fp8moe_verdict {
    FP8MOE_VERDICT_SAME,
    FP8MOE_VERDICT_DIFFERENT,
    FP8MOE_VERDICT_INCONCLUSIVE
} fp8moe_verdict;

/** What a difference looks like. */
typedef enum fp8moe_kind {
    FP8MOE_KIND_NONE,       /**< no difference */
    FP8MOE_KIND_ROUNDING,   /**< unstructured, small: a rounding point may have moved */
    FP8MOE_KIND_STRUCTURED, /**< gain, an expert, a row or a column stands out, or elements are
                               impossible */
    FP8MOE_KIND_NONFINITE   /**< NaN or Inf on one side only */
} fp8moe_kind;

/** "same", "different", "inconclusive" / "none", "rounding", "structured", "non-finite". */
FP8MOE_API const char *fp8moe_verdict_name(fp8moe_verdict verdict);
FP8MOE_API const char *fp8moe_kind_name(fp8moe_kind kind);

/** What an element can be (verdict.md section 2). */
typedef struct fp8moe_classes {
    int64_t padding;    /**< interval [0, 0] and zero on both sides */
    int64_t identical;  /**< same bits */
    int64_t expected;   /**< within the expected radius of the dots before the last rounding */
    int64_t explained;  /**< in a row made identical or expected by a few listed flips */
    int64_t possible;   /**< inside the hard interval, nothing more known */
    int64_t impossible; /**< outside it */
    int64_t nonfinite;  /**< NaN or Inf on one side only */
} fp8moe_classes;

/** Intermediates whose flip explains a row. */
typedef enum fp8moe_flip_kind {
    FP8MOE_FLIP_GATE, /**< rounding of a gate value */
    FP8MOE_FLIP_UP,   /**< rounding of an up value */
    FP8MOE_FLIP_SILU, /**< one step of silu's output dtype */
    FP8MOE_FLIP_SCALE /**< the row maximum moved, and with it the row's scale */
} fp8moe_flip_kind;

/** "gate", "up", "silu", "scale". */
FP8MOE_API const char *fp8moe_flip_kind_name(fp8moe_flip_kind kind);

/** One listed flip. */
typedef struct fp8moe_flip {
    fp8moe_flip_kind kind;
    int64_t token, slot, index; /**< index along I */
    int64_t expert;             /**< local id */
    double from,
        to; /**< the number multiplied in the down projection: a product, or code value * scale */
} fp8moe_flip;

/** One tested statistic: what was seen, what the model allows. */
typedef struct fp8moe_statistic {
    const char *name;     /**< "energy", "gain", "row energy", "column energy", "expert", "flips",
                             "product" (one product of a row beyond its interval, in standard
                             deviations) */
    double seen, limit;   /**< outside when seen > limit (both at least 0) */
    int64_t token, index; /**< where the worst is: row, and column, slot or product; -1 where it has
                             no place */
    bool outside;
} fp8moe_statistic;

#define FP8MOE_STATISTICS 7
#define FP8MOE_FLIPS_KEPT 64

/** A fault planted into the reference and handed to the same test. */
typedef struct fp8moe_detection {
    double gain_down, gain_up; /**< smallest uniform gain errors that are not "same", e.g. 0.004,
                                  of the sum before its last rounding; infinity where none is */
    bool dropped_expert;       /**< the weakest routed expert of each token left out */
    bool swapped_gate_up;      /**< estimated from the tokens of the first block */
    bool wrong_expert; /**< the weakest routed expert's output replaced by another routed one's */
    bool row_scale;    /**< one row scale of w2 off by 1 % in the heaviest expert */
    double unresolved; /**< share of elements whose output grid cannot tell 1 % from nothing */
    bool sufficient;   /**< a 2 % gain error and the dropped expert would have failed */
} fp8moe_detection;

/** Settings of a judgement. */
typedef struct fp8moe_judge_options {
    bool worst_case;    /**< dot radius n * 2^-24 * sum|a b| instead of the target's slack */
    double slack_scale; /**< multiplies every slack; 1. For testing the judge itself */
    int flips_per_row;  /**< default 4 */
    int64_t first_row, last_row; /**< token rows to judge, inclusive; -1, -1: all */
    bool try_axes; /**< try the open axes before calling a row different (default true) */
    fp8moe_tensor from[FP8MOE_STAGE_COUNT]; /**< for fp8moe_judge(): stages taken from the dump */
} fp8moe_judge_options;

FP8MOE_API void fp8moe_judge_options_default(fp8moe_judge_options *options);

/** What was found. */
typedef struct fp8moe_judgement {
    fp8moe_verdict verdict;
    fp8moe_kind kind;
    char reason[256];         /**< one sentence */
    fp8moe_recipe recipe;     /**< the row it was judged by, axis applied */
    fp8moe_evidence evidence; /**< of that row on this target */
    char axis[128];           /**< names of the open axes used, "" for none */
    fp8moe_classes classes;
    int64_t rows, rows_identical, rows_explained, rows_noise,
        rows_equal; /**< rows_equal: equal to an earlier row, counted once */
    int64_t impossible_row, impossible_column; /**< first, or -1 */
    double impossible_low, impossible_high, impossible_got;
    fp8moe_statistic statistics[FP8MOE_STATISTICS];
    int statistic_count;
    int64_t flips;     /**< found; the first FP8MOE_FLIPS_KEPT are listed */
    int64_t near_ties; /**< listed alternatives of the rows that were searched */
    int flip_count;
    fp8moe_flip flip[FP8MOE_FLIPS_KEPT];
    fp8moe_detection detection;
    double dot_slack, silu_slack_rate; /**< assumptions used */
    bool worst_case;                   /**< the number of terms stood in for dot_slack */
    int silu_slack;
    double median_width; /**< of the hard interval, in units of the row's rms */
} fp8moe_judgement;

/**
 * Judge `got` ([T, H], linear [T, N]) against the layer. Runs the layer; `observer` and `output` as
 * in fp8moe_layer_run().
 *
 * @return OK (the verdict is in `out`); SHAPE, DTYPE, NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_layer_judge(fp8moe_layer *layer, const fp8moe_tensor *got,
                                            const fp8moe_judge_options *options,
                                            const fp8moe_observer *observer, double *output,
                                            fp8moe_judgement *out, fp8moe_error *err);

/**
 * The same, and where its own verdict fails, the row's open axes one at a time and in pairs: the
 * first that makes it same is named. The layer is opened anew for each. `output` (may be NULL) is
 * that of the recipe judged by.
 */
FP8MOE_API fp8moe_status fp8moe_judge(const fp8moe_config *config, const fp8moe_inputs *inputs,
                                      const fp8moe_tensor *got, const fp8moe_judge_options *options,
                                      double *output, fp8moe_judgement *out, fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

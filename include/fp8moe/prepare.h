/**
 * @file prepare.h
 * Weights taken up the ladder that a serving process takes them: checkpoint -> loaded -> prepared
 * (numerics.md section 2), as tensors a dump would hold; and dumped ones judged: what do they say
 * of the device that prepared them?
 */
#ifndef FP8MOE_PREPARE_H
#define FP8MOE_PREPARE_H

#include <fp8moe/moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Fused weights of one rank's experts. Scales multiply. Absent ones are zeroed views. */
typedef struct fp8moe_prepared {
    fp8moe_tensor w13;       /**< [E_local, 2I, H] F8_E4M3, gate rows first */
    fp8moe_tensor w13_scale; /**< prepared: [E_local, 2I]; loaded: [E_local, 2], [E_local, 2I] or
                                blocks, gate's above up's */
    fp8moe_tensor w2;        /**< [E_local, H, I] F8_E4M3 */
    fp8moe_tensor
        w2_scale; /**< prepared: [E_local, H]; loaded: [E_local], [E_local, H] or blocks */
} fp8moe_prepared;

/** From where to where. */
typedef struct fp8moe_preparation {
    const fp8moe_target *target;    /**< required */
    fp8moe_stage_of_weights from;   /**< CHECKPOINT or LOADED */
    fp8moe_stage_of_weights to;     /**< LOADED or PREPARED */
    int64_t block_rows, block_cols; /**< of the scale grids */
    int threads;                    /**< at least 1; bits do not depend on it */
} fp8moe_preparation;

/**
 * Check the weights and say what they become: dtypes and shapes (scales F32), without data.
 *
 * @return OK; SHAPE, DTYPE (experts that differ, weights that are not FP8); USAGE (stages in the
 * wrong order; a slice that starts within a block has no scale grid of its own at stage loaded)
 */
FP8MOE_API fp8moe_status fp8moe_prepare_form(const fp8moe_preparation *how,
                                             const fp8moe_expert *experts, int64_t count,
                                             fp8moe_prepared *out, fp8moe_error *err);

/**
 * Fill the tensors that fp8moe_prepare_form() described: C order, host byte order. Takes one row of
 * doubles a thread besides.
 *
 * @return as fp8moe_prepare_form(); NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_prepare_experts(const fp8moe_preparation *how,
                                                const fp8moe_expert *experts, int64_t count,
                                                uint8_t *w13, float *w13_scale, uint8_t *w2,
                                                float *w2_scale, fp8moe_error *err);

/* ---- dumped prepared weights ---- */

#define FP8MOE_PREPARED_AXES 4
#define FP8MOE_PREPARED_VALUES 4
#define FP8MOE_PREPARED_WAYS 48
#define FP8MOE_PREPARED_WORST 10

/** A choice within one axis. */
typedef struct fp8moe_prepared_value {
    const char *name;
    const char *meaning;
    int64_t explained; /**< most rows that any way with this choice explains */
} fp8moe_prepared_value;

/** A point where public knowledge leaves open what the device does. */
typedef struct fp8moe_prepared_axis {
    const char *name;
    size_t value_count;
    fp8moe_prepared_value
        values[FP8MOE_PREPARED_VALUES]; /**< the documented one first, where one is */
    bool told; /**< the dump tells the choices apart: they do not all explain as much */
} fp8moe_prepared_axis;

/** One choice on every axis. */
typedef struct fp8moe_prepared_way {
    size_t value[FP8MOE_PREPARED_AXES]; /**< index into the axis's values */
    int64_t explained;                  /**< rows that come out as dumped, every number of them */
} fp8moe_prepared_way;

/** A question put to the dump: which way were the scales made, which way the codes? */
typedef struct fp8moe_prepared_question {
    int64_t rows; /**< held against every way; 0: the dump does not answer */
    size_t axis_count;
    fp8moe_prepared_axis axes[FP8MOE_PREPARED_AXES];
    size_t way_count;
    fp8moe_prepared_way
        ways[FP8MOE_PREPARED_WAYS]; /**< most rows first, then nearest to what is documented */
} fp8moe_prepared_question;

/** A row that the best way does not explain. */
typedef struct fp8moe_prepared_row {
    const char *tensor; /**< "w13", "w2" */
    int64_t expert, row;
    double dumped, expected; /**< scales */
} fp8moe_prepared_row;

/** What a dump says. */
typedef struct fp8moe_prepared_report {
    fp8moe_prepared_question scales; /**< axes fp8_max, epsilon, division, halving */
    int64_t scale_rows;              /**< all */
    int64_t scales_same;             /**< under the best way ... */
    int64_t scales_low, scales_high; /**< ... one bf16 step below, above */
    int64_t scales_far;              /**< ... further off */
    fp8moe_prepared_row worst[FP8MOE_PREPARED_WORST]; /**< the furthest, the first among equals */
    size_t worst_count;
    fp8moe_prepared_question codes; /**< axes inverse, product, halving; on rows evenly spread */
    int64_t codes_count;            /**< all */
    int64_t codes_same;             /**< under the best way, with the dumped scales */
    int64_t codes_near;             /**< one step of E4M3 off */
    int64_t codes_far;              /**< further off */
} fp8moe_prepared_report;

/** What is known beforehand. */
typedef struct fp8moe_prepared_options {
    const fp8moe_target *target; /**< or NULL: only orders ways that explain as much */
    int64_t block_rows, block_cols;
    int threads;
} fp8moe_prepared_options;

/**
 * Hold dumped prepared scales, and codes where there are some, against the checkpoint they were
 * made from, under every way the device may have computed them.
 *
 * @param dumped   w13_scale, w2_scale or both ([..., 1] is read too), each with its codes or
 * without
 * @param experts  at stage checkpoint, of the same rank
 * @return OK; NOT_FOUND (no scales, or codes without theirs); SHAPE; DTYPE; UNSUPPORTED (weights
 * that have one scale a row already: nothing was computed); NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_prepared_judge(const fp8moe_prepared *dumped,
                                               const fp8moe_expert *experts, int64_t count,
                                               const fp8moe_prepared_options *options,
                                               fp8moe_prepared_report *out, fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

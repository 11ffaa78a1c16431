/**
 * @file profile.h
 * Targets and recipes: what a device does to E4M3, and where a path rounds. Rows, not branches.
 *
 * Source of every row: spec/numerics.md section 0 of the project's shared notes, restated in
 * README.md ("Numerics"); `fp8moe recipes` prints the rows with their evidence.
 */
#ifndef FP8MOE_PROFILE_H
#define FP8MOE_PROFILE_H

#include <fp8moe/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a device reads and writes E4M3 and does scale arithmetic. */
typedef struct fp8moe_target {
    const char *name;       /**< "gaudi2", "gaudi3", "ocp" */
    const char *alias;      /**< "cuda", or NULL */
    float fp8_max;          /**< largest finite value and divisor of dynamic scales: 240 or 448 */
    uint8_t nan_code_first; /**< lowest positive code that is not finite: 0x78 or 0x7F */
    bool scale_in_input_dtype; /**< scale arithmetic in the dtype of the quantised tensor (Gaudi),
                                  else f32 */
    bool loader_halves;        /**< checkpoint -> loaded: codes * 0.5, scales * 2 */
    double dot_slack;          /**< what a dot may be off, in 2^-24 * sum|a b| */
    int silu_slack;            /**< steps of its output dtype that silu may be off */
    double silu_slack_rate;    /**< share of values that are */
    const char *evidence;      /**< what is known of it */
} fp8moe_target;

/** What a recipe computes. */
typedef enum fp8moe_op { FP8MOE_OP_MOE, FP8MOE_OP_LINEAR } fp8moe_op;

/** What was done to the weights before they were dumped. */
typedef enum fp8moe_stage_of_weights {
    FP8MOE_WEIGHTS_UNKNOWN,
    FP8MOE_WEIGHTS_CHECKPOINT, /**< as in the model folder */
    FP8MOE_WEIGHTS_LOADED,     /**< after the loader (Gaudi2: codes * 0.5, scales * 2) */
    FP8MOE_WEIGHTS_PREPARED    /**< requantised to one scale per output row */
} fp8moe_stage_of_weights;

/** dtype a value is rounded to at a point. */
typedef enum fp8moe_precision {
    FP8MOE_ROUND_NONE, /**< left as it is */
    FP8MOE_ROUND_F64,
    FP8MOE_ROUND_F32,
    FP8MOE_ROUND_TF32, /**< 10 bits of mantissa, f32 range */
    FP8MOE_ROUND_BF16
} fp8moe_precision;

/** Form in which a recipe multiplies weights. */
typedef enum fp8moe_weight_form {
    FP8MOE_FORM_PREPARED, /**< codes with one f32 scale per output row, requantised */
    FP8MOE_FORM_DEQUANT,  /**< bf16(code) * bf16(block scale) -> bf16 */
    FP8MOE_FORM_BF16,     /**< bf16 weights as they are */
    FP8MOE_FORM_CODES,    /**< codes with per-tensor or per-row scales, as loaded */
    FP8MOE_FORM_EXACT     /**< code * f32 scale in float64 */
} fp8moe_weight_form;

/** Form in which a recipe multiplies its input. */
typedef enum fp8moe_input_form {
    FP8MOE_INPUT_AS_IS,
    FP8MOE_INPUT_FP8_TOKEN, /**< quantised per token, dynamically */
    FP8MOE_INPUT_FP8_STATIC /**< quantised with a calibrated scale i */
} fp8moe_input_form;

/** How a value becomes a code. s: dynamic scale, i: static scale. */
typedef enum fp8moe_cast {
    FP8MOE_CAST_NONE,
    FP8MOE_CAST_BF16,         /**< E4M3(bf16(x * bf16(1/s))), s in bf16 steps; on `ocp` f32 steps */
    FP8MOE_CAST_F32,          /**< E4M3(f32(x * f32(1/s))), s in f32 steps */
    FP8MOE_CAST_BF16_INVERSE, /**< E4M3(bf16(x * bf16(1/i))) */
    FP8MOE_CAST_F32_DIVISION  /**< E4M3(f32(x / i)) */
} fp8moe_cast;

/** How the combined scale sa * sb is applied to a dot. */
typedef enum fp8moe_scale_form {
    FP8MOE_SCALE_NONE,
    FP8MOE_SCALE_F32,       /**< f32(sa * sb), once */
    FP8MOE_SCALE_BF16,      /**< bf16(sa * sb), once */
    FP8MOE_SCALE_SEQUENTIAL /**< sa, then sb, the product rounded to f32 between */
} fp8moe_scale_form;

/** The two forms of silu. */
typedef enum fp8moe_silu_form {
    FP8MOE_SILU_ONE_STEP, /**< one rounding of g * sigmoid(g) */
    FP8MOE_SILU_TWO_STEP  /**< g * round(sigmoid(g)), rounded */
} fp8moe_silu_form;

/** What becomes of silu(gate) * up. */
typedef enum fp8moe_intermediate_form {
    FP8MOE_INTERMEDIATE_KEPT,
    FP8MOE_INTERMEDIATE_FP8_ROW,    /**< dynamically requantised per row */
    FP8MOE_INTERMEDIATE_FP8_STATIC, /**< with the calibrated scale i2 */
    FP8MOE_INTERMEDIATE_FP8_EAGER   /**< per row, multiplied by the scale instead of its inverse and
                                       never undone */
} fp8moe_intermediate_form;

/** Weight operand of the down projection. */
typedef enum fp8moe_down_operand {
    FP8MOE_DOWN_CODE,          /**< codes, scaled after the dot */
    FP8MOE_DOWN_SCALED_F32,    /**< f32(code * s2) */
    FP8MOE_DOWN_SCALED_TF32,   /**< both operands tf32 */
    FP8MOE_DOWN_SCALED_BF16,   /**< bf16(code * s2); the kept intermediate is rounded to bf16 where
                                  wider */
    FP8MOE_DOWN_SCALED_BF16X3, /**< both operands split into two bf16 numbers, three products */
    FP8MOE_DOWN_WEIGHT         /**< the form's own number (bf16 or f64 weight) */
} fp8moe_down_operand;

/** Where the intermediate's dynamic scale is undone. */
typedef enum fp8moe_row_scale_place {
    FP8MOE_ROW_SCALE_DOWN,  /**< with the down projection's scale: f32(s * s2) */
    FP8MOE_ROW_SCALE_ROUTER /**< in the router weight: f32(weight * s) */
} fp8moe_row_scale_place;

/** Order in which expert outputs are summed. */
typedef enum fp8moe_sum_order {
    FP8MOE_ORDER_UNSTATED, /**< float64 in ascending expert id, rounded once to the sum's dtype */
    FP8MOE_ORDER_EXPERT,   /**< ascending expert id, each addition rounded to the sum's dtype */
    FP8MOE_ORDER_SLOT      /**< slot order, each addition rounded to the sum's dtype */
} fp8moe_sum_order;

/** Which token-expert pairs are computed. */
typedef enum fp8moe_pairs {
    FP8MOE_PAIRS_ROUTED,
    FP8MOE_PAIRS_GATHERED, /**< every token with every gathered expert, weight 0 where not routed */
    FP8MOE_PAIRS_ALL,      /**< every expert; foreign slots read local expert 0 with weight 0 */
    FP8MOE_PAIRS_EAGER     /**< routed, last duplicate wins */
} fp8moe_pairs;

/** Meaning of ids under expert parallelism. */
typedef enum fp8moe_ids_form {
    FP8MOE_IDS_OFFSET, /**< local = id - ep_rank * E_local */
    FP8MOE_IDS_DIRECT  /**< the id indexes the local list, window ignored */
} fp8moe_ids_form;

/** What a row rests on. */
typedef enum fp8moe_evidence {
    FP8MOE_EVIDENCE_DEFINITION,
    FP8MOE_EVIDENCE_MEASURED, /**< reproduces a public capture bit for bit */
    FP8MOE_EVIDENCE_FIXTURE,  /**< reproduces a public golden file of another device */
    FP8MOE_EVIDENCE_SOURCE,   /**< read in upstream's source; device operations assumed */
    FP8MOE_EVIDENCE_INFERRED,
    FP8MOE_EVIDENCE_ASSUMED
} fp8moe_evidence;

#define FP8MOE_MAX_AXES 12

/** An open axis: columns whose value public knowledge leaves open. */
typedef struct fp8moe_axis {
    const char *name; /**< in words, e.g. "tf32 down matmul" */
    const char
        *settings; /**< what it changes, for fp8moe_recipe_apply(): "down_operand=scaled-tf32" */
} fp8moe_axis;

/** One row: every point where a path rounds, to what, and in which order it sums. A linear row uses
 *  the columns up to `up_gate`, which is then the dtype of its output. */
typedef struct fp8moe_recipe {
    const char *name;
    const char *alias; /**< or NULL */
    fp8moe_op op;
    fp8moe_weight_form weights;
    fp8moe_input_form input;
    fp8moe_cast input_cast;
    fp8moe_precision dot_round; /**< of the up/gate (or linear) dot before its scale; after one
                                   rounding to f32 */
    fp8moe_scale_form scale;
    fp8moe_precision up_gate;
    fp8moe_precision silu;
    fp8moe_silu_form silu_form;
    fp8moe_precision product;
    fp8moe_intermediate_form intermediate;
    fp8moe_cast intermediate_cast;
    fp8moe_down_operand down_operand;
    fp8moe_precision down_round; /**< of the down dot before its scale */
    fp8moe_precision down_out;
    fp8moe_row_scale_place row_scale;
    fp8moe_precision
        router_weight; /**< dtype of the weights themselves; bf16 ones are used as f32(bf16) */
    fp8moe_precision slot_round; /**< of y * weight before the sum */
    fp8moe_precision sum;
    fp8moe_sum_order order;
    fp8moe_pairs pairs;
    fp8moe_ids_form ids;
    fp8moe_evidence evidence;
    const char *evidence_text;
    const char *measured_on;           /**< target of the capture, for MEASURED; else NULL */
    fp8moe_axis axes[FP8MOE_MAX_AXES]; /**< ends at the first with name NULL */
} fp8moe_recipe;

/** Rows shipped; `index` beyond the last gives NULL. Static storage. */
FP8MOE_API const fp8moe_target *fp8moe_target_at(size_t index);
FP8MOE_API const fp8moe_recipe *fp8moe_recipe_at(size_t index);

/** The row of a name or alias, or NULL. */
FP8MOE_API const fp8moe_target *fp8moe_target_find(const char *name);
FP8MOE_API const fp8moe_recipe *fp8moe_recipe_find(const char *name);

/** Columns of a recipe by name, in the table's order; `index` beyond the last gives NULL. */
FP8MOE_API const char *fp8moe_recipe_column(size_t index);

/** The value of a column as text, e.g. ("dot_round") "bf16". NULL for an unknown column. */
FP8MOE_API const char *fp8moe_recipe_get(const fp8moe_recipe *recipe, const char *column);

/** Set a column by text. @return OK; NOT_FOUND for an unknown column, VALUE for an unknown value
 *  (the message lists the legal ones). */
FP8MOE_API fp8moe_status fp8moe_recipe_set(fp8moe_recipe *recipe, const char *column,
                                           const char *value, fp8moe_error *err);

/** Set several columns: "column=value column=value ...". @return as fp8moe_recipe_set() */
FP8MOE_API fp8moe_status fp8moe_recipe_apply(fp8moe_recipe *recipe, const char *settings,
                                             fp8moe_error *err);

/** What is known of a row on a target (NULL: none in particular): a row measured on one device is
 *  inferred on another, that is one with other arithmetic. */
FP8MOE_API fp8moe_evidence fp8moe_recipe_evidence(const fp8moe_recipe *recipe,
                                                  const fp8moe_target *target);

/** "measured", "inferred" ... */
FP8MOE_API const char *fp8moe_evidence_name(fp8moe_evidence evidence);

/** "checkpoint", "loaded", "prepared"; UNKNOWN for another name, "unknown" for UNKNOWN. */
FP8MOE_API const char *fp8moe_stage_of_weights_name(fp8moe_stage_of_weights stage);
FP8MOE_API fp8moe_stage_of_weights fp8moe_stage_of_weights_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif

/**
 * @file gate.h
 * The gate: which path a layer call takes, and why. Nothing is multiplied here.
 *
 * Source: numerics.md section 6 and the published source of vllm-gaudi. A version of upstream is a
 * row of conditions over facts; every fact says whether it was given or assumed.
 *
 * Letters: T tokens of the call after padding and dispatch, K experts a token, E_local experts of
 * this rank.
 *
 * @code
 *   fp8moe_gate_facts facts;
 *   fp8moe_gate_facts_default(&facts);
 *   fp8moe_gate_decision decision;
 *   fp8moe_gate_decide(fp8moe_gate_version_find("v0.30"), &facts, 4, 8, 128, &decision, NULL);
 *   // decision.path == FP8MOE_PATH_GATHER: 4 * 8 <= 128 * 0.4
 * @endcode
 *
 * All functions are thread-safe; everything returned by pointer is static storage.
 */
#ifndef FP8MOE_GATE_H
#define FP8MOE_GATE_H

#include <fp8moe/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who multiplies the experts. */
typedef enum fp8moe_path {
    FP8MOE_PATH_STOCK,  /**< the vendor's fused operation */
    FP8MOE_PATH_GATHER, /**< the gathered combine */
    FP8MOE_PATH_DENSE,  /**< a public fork's dense combine */
    FP8MOE_PATH_COUNT
} fp8moe_path;

/** "stock", "gather", "dense". */
FP8MOE_API const char *fp8moe_path_name(fp8moe_path path);
/** The path of a name, or FP8MOE_PATH_COUNT. */
FP8MOE_API fp8moe_path fp8moe_path_find(const char *name);

/** What a gate asks about. */
typedef enum fp8moe_gate_fact {
    FP8MOE_FACT_METHOD,     /**< text: quant_method that serves the experts: "fp8",
                               "compressed-tensors",     "mxfp4", "none" (not converted) ... */
    FP8MOE_FACT_GATHER,     /**< on: the variable that asks for the gathered combine */
    FP8MOE_FACT_VERIFY,     /**< on: both paths are run and compared; effective only with GATHER */
    FP8MOE_FACT_ACTIVATION, /**< text: "silu" ... */
    FP8MOE_FACT_ACTIVATION_SCHEME, /**< text: "dynamic" or "static" */
    FP8MOE_FACT_BLOCK_QUANT,       /**< on: weight scales of blocks */
    FP8MOE_FACT_QUANT_CONFIG,      /**< on: QUANT_CONFIG is set, even to nothing (INC) */
    FP8MOE_FACT_FORCE_CHANNEL,     /**< on: VLLM_HPU_FORCE_CHANNEL_FP8 */
    FP8MOE_FACT_RATIO,             /**< number: share of E_local */
    FP8MOE_FACT_MAX_TP,            /**< count: bound of T * K */
    FP8MOE_FACT_DENSE_MAX_TOKENS,  /**< count: bound of T of the dense combine, 0: off */
    FP8MOE_FACT_GATED,             /**< on: experts have a gate projection */
    FP8MOE_FACT_DISPATCH, /**< on: data parallel with a quantised model and a dispatch function */
    FP8MOE_FACT_COUNT
} fp8moe_gate_fact;

/** "method", "gather", ... as JSON reports spell them. */
FP8MOE_API const char *fp8moe_gate_fact_name(fp8moe_gate_fact fact);

/** Which member of a value holds it. */
typedef enum fp8moe_fact_kind {
    FP8MOE_FACT_IS_ON,
    FP8MOE_FACT_IS_NUMBER,
    FP8MOE_FACT_IS_COUNT,
    FP8MOE_FACT_IS_TEXT
} fp8moe_fact_kind;

FP8MOE_API fp8moe_fact_kind fp8moe_gate_fact_kind(fp8moe_gate_fact fact);

/** Where a value comes from. */
typedef enum fp8moe_gate_source {
    FP8MOE_SOURCE_ASSUMED, /**< not given: taken as favourable to the gathered combine */
    FP8MOE_SOURCE_DEFAULT, /**< upstream's default of a variable that is not set */
    FP8MOE_SOURCE_GIVEN    /**< by the caller, a variable or a file */
} fp8moe_gate_source;

/** "assumed", "default", "given". */
FP8MOE_API const char *fp8moe_gate_source_name(fp8moe_gate_source source);

/** The value of a fact: one of on, number, count and text, as the fact's line above says. */
typedef struct fp8moe_gate_value {
    bool on;
    double number;
    int64_t count;
    const char *text; /**< borrowed */
    fp8moe_gate_source source;
    const char *origin; /**< variable, option or key it was read from, borrowed; or NULL */
} fp8moe_gate_value;

/** All facts of a layer. Fill with fp8moe_gate_facts_default(), then set what you know. */
typedef struct fp8moe_gate_facts {
    fp8moe_gate_value value[FP8MOE_FACT_COUNT];
} fp8moe_gate_facts;

/** Favourable assumptions: GATHER on, ratio 0.4, silu, dynamic, block-quantised, FORCE_CHANNEL on.
 */
FP8MOE_API void fp8moe_gate_facts_default(fp8moe_gate_facts *facts);

/* ---- versions ---- */

/** One version of upstream's decision. */
typedef struct fp8moe_gate_version fp8moe_gate_version;

/** Versions in order of age; NULL beyond the last: "initial", "initial-vllm", "v0.26",
 *  "v0.26-backport", "v0.30", "dense-fork". */
FP8MOE_API const fp8moe_gate_version *fp8moe_gate_version_at(size_t index);
/** The version of a name, or NULL. */
FP8MOE_API const fp8moe_gate_version *fp8moe_gate_version_find(const char *name);
/** The one to take where none is named: the newest merged, "v0.30". */
FP8MOE_API const fp8moe_gate_version *fp8moe_gate_version_default(void);

FP8MOE_API const char *fp8moe_gate_version_name(const fp8moe_gate_version *version);
/** What it is, one line. */
FP8MOE_API const char *fp8moe_gate_version_summary(const fp8moe_gate_version *version);
/** True where the conditions were not read in that version's source but taken from another's. */
FP8MOE_API bool fp8moe_gate_version_assumed(const fp8moe_gate_version *version);

/** Environment variables a version reads; NULL beyond the last. */
FP8MOE_API const char *fp8moe_gate_variable_at(const fp8moe_gate_version *version, size_t index);

/** The variables of `version` are not set: their facts take upstream's defaults (GATHER off). */
FP8MOE_API void fp8moe_gate_unset_variables(const fp8moe_gate_version *version,
                                            fp8moe_gate_facts *facts);

/**
 * A variable has this value, read exactly as upstream reads it: truth values are "1" or "true" in
 * any case and nothing is stripped ("yes" and " 1" are false; `initial` takes any text but "" as
 * true, also "0"); numbers are Python's float() and int().
 *
 * @return OK; NOT_FOUND where this version reads no such variable; VALUE where upstream raises at
 *         import, so that no server starts; UNSUPPORTED for a number of more than 1000 digits
 */
FP8MOE_API fp8moe_status fp8moe_gate_set_variable(const fp8moe_gate_version *version,
                                                  fp8moe_gate_facts *facts, const char *name,
                                                  const char *value, fp8moe_error *err);

/* ---- deciding ---- */

/** One condition as it was found. */
typedef struct fp8moe_gate_condition {
    fp8moe_path path;        /**< the path it guards */
    const char *name;        /**< short, for JSON: "gather", "size" ... */
    const char *text;        /**< what is asked: "T * K <= E_local * RATIO" */
    fp8moe_gate_fact fact;   /**< about what */
    fp8moe_gate_value value; /**< the fact's value and source */
    bool holds;
    bool is_size;       /**< compares `left` with `right` */
    int64_t left;       /**< T * K or T */
    double right;       /**< E_local * RATIO, MAX_TP or MAX_TOKENS */
    const char *reason; /**< why a no is a no, one sentence; NULL where it holds */
} fp8moe_gate_condition;

#define FP8MOE_GATE_MAX_CONDITIONS 24

/** Which path, and every condition on the way: all are evaluated, also after the first no. */
typedef struct fp8moe_gate_decision {
    fp8moe_path path;
    int64_t gathered; /**< g = min(E_local, T * K): experts the gathered combine reads */
    size_t count;
    fp8moe_gate_condition
        condition[FP8MOE_GATE_MAX_CONDITIONS]; /**< by path, in upstream's order */
} fp8moe_gate_decision;

/**
 * Decide one call. Products are compared as Python does: T * K exact, E_local * RATIO one IEEE
 * double, NaN never.
 *
 * @return OK; VALUE (T negative, K or E_local below 1, T * K beyond 64 bits)
 */
FP8MOE_API fp8moe_status fp8moe_gate_decide(const fp8moe_gate_version *version,
                                            const fp8moe_gate_facts *facts, int64_t tokens,
                                            int64_t top_k, int64_t local_num_experts,
                                            fp8moe_gate_decision *out, fp8moe_error *err);

/** The first condition of `path` that says no, or NULL. */
FP8MOE_API const fp8moe_gate_condition *fp8moe_gate_first_no(const fp8moe_gate_decision *decision,
                                                             fp8moe_path path);

#define FP8MOE_TOKENS_UNLIMITED INT64_MAX

/**
 * The largest T for which all conditions of `path` hold: 0 where there is none (or the version has
 * no such path), FP8MOE_TOKENS_UNLIMITED where no T is too large. K and E_local at least 1
 * (assert).
 */
FP8MOE_API int64_t fp8moe_gate_largest_tokens(const fp8moe_gate_version *version,
                                              const fp8moe_gate_facts *facts, fp8moe_path path,
                                              int64_t top_k, int64_t local_num_experts);

/** What never reaches the gathered combine, and why. */
typedef struct fp8moe_gate_exclusion {
    const char *what;
    const char *why;
} fp8moe_gate_exclusion;

/** Rows; NULL beyond the last. */
FP8MOE_API const fp8moe_gate_exclusion *fp8moe_gate_exclusion_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif

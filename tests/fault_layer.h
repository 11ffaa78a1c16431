/* Layers of published size for the suite that judges the judge: heavy-tailed weights, activations
 * with outlier channels, two ranks of experts, in the forms the recipes multiply; and what is
 * handed to the engine, which a fault may change before it runs. */
#ifndef FP8MOE_TESTS_FAULT_LAYER_H
#define FP8MOE_TESTS_FAULT_LAYER_H

#include "kernels.h"

#include <fp8moe/fp8moe.h>
#include <fp8moe/moe.h>
#include <stdbool.h>
#include <stdint.h>

#define MADE_TOKENS 16
/* One more than are judged: the row a shifted token takes. */
#define MADE_ROWS (MADE_TOKENS + 1)
#define MADE_BLOCK 128

/* A published shape (numerics.md section 8). E_local is what memory allows; as many again are on
 * another rank. */
typedef struct made_shape {
    const char *name;
    int64_t hidden, inter, top_k, local;
    double scaling_factor;
    const char *target;
    bool small; /* none of those: for the small set */
} made_shape;

extern const made_shape made_shapes[];
#define MADE_SHAPES 7

/* Memory that is freed together. */
typedef struct made_memory {
    void **blocks;
    int count, room;
} made_memory;

void *made_take(made_memory *memory, int64_t count, size_t size);
void made_free(made_memory *memory);

/* Numbers of one seed. */
uint64_t made_bits(uint64_t *state);
double made_uniform(uint64_t *state); /* [0, 1) */
double made_normal(uint64_t *state);

#define MADE_EDITS 8 /* block-scale edits that are prepared once and kept */

typedef struct made_model {
    const made_shape *shape;
    const fp8moe_target *target;
    kernels kernels;
    made_memory memory;
    fp8moe_expert *blocks;   /* [E_local] codes with block scales, as loaded */
    fp8moe_expert *prepared; /* [E_local] the same requantised to one scale a row */
    uint16_t *hidden;        /* [MADE_ROWS, H] bf16 */
    int64_t *ids;            /* [MADE_ROWS, K] global; this is rank 1 */
    float *weights;          /* [MADE_ROWS, K] renormalised, scaled, not rounded to bf16 */
    float *shares; /* [MADE_ROWS] what the weights summed to before they were renormalised */
    float w13_input_scale, w2_input_scale; /* static recipes */
    int64_t victim;                        /* a local expert that token 0 is routed to */
    int64_t victim_slot;                   /* and where */
    const fp8moe_expert *edited[MADE_EDITS];
} made_model;

made_model *made_open(const made_shape *shape);
void made_close(made_model *model);

/* Requantise an expert with block scales to row scales. */
fp8moe_expert made_prepare(const made_model *model, made_memory *memory,
                           const fp8moe_expert *blocks);

/* What the engine is given. Everything a fault changes is a copy. */
typedef struct made_plan {
    const made_model *model;
    made_memory memory;
    fp8moe_config config;
    fp8moe_recipe recipe;
    int64_t tokens;
    fp8moe_expert *experts; /* [E_local] */
    uint16_t *hidden;
    int64_t *ids;
    float *weights;
    fp8moe_tensor w13_input_scale, w2_input_scale;
    fp8moe_tensor from[FP8MOE_STAGE_COUNT];
} made_plan;

void made_plan_open(made_plan *plan, const made_model *model, const char *recipe, int64_t tokens);
void made_plan_close(made_plan *plan);

/* Sums in a random order, and a share of silu values a step off. */
void made_plan_noise(made_plan *plan, uint64_t seed, double silu_rate);

fp8moe_inputs made_plan_inputs(const made_plan *plan);

/* Run it; the output as bf16 [tokens, H]. */
void made_plan_run(const made_plan *plan, uint16_t *output);

/* A stage of a run, as F32 (codes as F8_E4M3), in the plan's memory. */
fp8moe_tensor made_plan_stage(made_plan *plan, fp8moe_stage stage);

/* Whether the recipe multiplies weights with block scales. */
bool made_takes_blocks(const fp8moe_recipe *recipe);

double made_from_bf16(uint16_t bits);
uint16_t made_to_bf16(double value);

/* Print the error and stop: the suite itself is broken. */
void made_check(fp8moe_status status, const fp8moe_error *err);

#endif

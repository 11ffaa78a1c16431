/* The experts of a block of tokens: quantise, up and gate, activation, down. One engine reads the
 * recipe row; nothing here branches on a recipe's name. */
#ifndef FP8MOE_LIB_EXPERTS_H
#define FP8MOE_LIB_EXPERTS_H

#include "layer.h"
#include "shuffle.h"

/* Tokens [first, first + tokens) and everything computed for them. Slots are token * K + k; behind the
 * tokens * K slots stand `tokens` spare ones, for pairs that no token routed (0 * NaN leaks). */
typedef struct chunk {
    int64_t first, tokens, capacity; /* capacity: tokens there is room for */
    uint8_t *x_codes;                /* [tokens, H] */
    double *x_scale;                 /* [tokens] 1 where the input is not quantised */
    double *x;                       /* [tokens, H] numbers the up/gate dot multiplies */
    int64_t *local;                  /* [slots] local expert, -1 foreign */
    double *up_gate;                 /* [slots, 2I] */
    double *activation;              /* [slots, I] */
    uint8_t *act_codes;              /* [slots, I] */
    double *act_scale;               /* [slots] */
    double *expert_output;           /* [slots, H] */
} chunk;

/* Scratch and settings of one run. */
typedef struct engine {
    const fp8moe_layer *layer;
    chunk chunk;
    double *gathered;     /* [capacity, max(H, I)] operand rows of one expert, one after another */
    double *gathered_low; /* the same: low parts of a split operand */
    int64_t *members;     /* [slots] of one expert */
    double *row_scratch;  /* per worker: decoded weight rows, their codes, dots */
    int64_t row_scratch_size;
    shuffle shuffle_hidden, shuffle_inter; /* used when config.shuffle_sums */
} engine;

/* Room for blocks of at most `tokens` tokens (fewer where memory asks). */
fp8moe_status engine_open(engine *e, const fp8moe_layer *layer, int64_t tokens, fp8moe_error *err);
void engine_close(engine *e);

/* Set the block and clear it: local experts filled in, everything else zero. */
void engine_begin(engine *e, int64_t first, int64_t tokens);

/* The steps, in order; moe.c puts the dump's stages in between. */
void experts_quantise_input(engine *e);
void experts_input_operand(engine *e);
void experts_up_gate(engine *e);
void experts_activate(engine *e);
void experts_requantise(engine *e);
void experts_down(engine *e);

/* One expert with all tokens of the block, in the spare slots: expert_output of spare slot i belongs
 * to token i. */
void experts_spare(engine *e, int64_t local);

/* Whether this expert might turn a finite token of magnitude at most `amax` into NaN or Inf: NaN codes,
 * non-finite or huge scales. False is certain, true a reason to compute. */
bool experts_may_poison(const fp8moe_layer *layer, int64_t local, double amax);

/* A dot as the recipe's scale column applies it: rounded to f32, then `dot_round`, scaled, rounded to
 * `out`. Shared with linear.c. */
double experts_scaled(fp8moe_precision dot_round, fp8moe_scale_form scale, fp8moe_precision out,
                      double dot, double a_scale, double b_scale);

#endif

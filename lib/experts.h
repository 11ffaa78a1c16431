/* The experts of a block of tokens: quantise, up and gate, activation, down. One engine reads the
 * recipe row; nothing here branches on a recipe's name. */
#ifndef FP8MOE_LIB_EXPERTS_H
#define FP8MOE_LIB_EXPERTS_H

#include "layer.h"
#include "shuffle.h"

/* Tokens [first, first + tokens) and everything computed for them. Slots are token * K + k; behind
 * the tokens * K slots stand `tokens` spare ones, for pairs that no token routed (0 * NaN leaks).
 */
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

/* Room for blocks of at most `tokens` tokens (fewer where memory asks; a caller that keeps more
 * beside each token says how many bytes). */
fp8moe_status engine_open(engine *e, const fp8moe_layer *layer, int64_t tokens, int64_t extra_bytes,
                          fp8moe_error *err);
void engine_close(engine *e);

/* Tokens there is room for at a time. */
int64_t engine_capacity(const fp8moe_layer *layer, int64_t tokens, int64_t extra_bytes);

/* Set the block and clear it: local experts filled in, everything else zero. */
void engine_begin(engine *e, int64_t first, int64_t tokens);

/* The steps, in order; moe.c puts the dump's stages in between. */
void experts_quantise_input(engine *e);
void experts_input_operand(engine *e);
void experts_up_gate(engine *e);
void experts_activate(engine *e);
void experts_requantise(engine *e);
void experts_down(engine *e);

/* One expert with all tokens of the block, in the spare slots: expert_output of spare slot i
 * belongs to token i. */
void experts_spare(engine *e, int64_t local);

/* Whether this expert might turn a finite token of magnitude at most `amax` into NaN or Inf: NaN
 * codes, non-finite or huge scales. False is certain, true a reason to compute. */
bool experts_may_poison(const fp8moe_layer *layer, int64_t local, double amax);

/* ---- pieces, for bound.c and explain.c ---- */

/* Weight rows decoded at a time: they stay in the second-level cache. */
#define EXPERT_ROWS 8

/* Rows [row, row + rows) of an expert's matrix, decoded; in one worker's scratch. */
typedef struct row_block {
    int64_t row, rows; /* of w13 as a whole: up follows gate */
    int worker;
    double *weights; /* [rows, length] as multiplied */
    double *low;     /* the low parts of a split operand */
    double scale[EXPERT_ROWS];
    double *dots, *more; /* [slots, rows] each */
} row_block;

/* One expert's rows, visited block by block from several workers. */
typedef struct expert_job {
    engine *engine;
    const expert *expert;
    int64_t count; /* of e->members: operand rows */
    void (*visit)(const struct expert_job *job, row_block *block);
    void *user;
    bool exact;  /* codes on both sides, all operands finite: any order of additions gives the same
                    bits */
    int threads; /* 0: the layer's; 1 where the visits' order matters */
    /* filled by experts_each_*: */
    int64_t length;
    const shuffle *shuffle;
} expert_job;

void experts_each_up_gate(expert_job *job);
void experts_each_down(expert_job *job);

/* Dots of `job->count` operand rows with `rows` weight rows, as the layer's settings say. */
void experts_dot(const expert_job *job, double *out, const double *a, const double *w,
                 int64_t rows);

/* Slots of this block that multiply an expert's weights, each set of twins by its first: into
 * e->members; returns how many. */
int64_t experts_members(engine *e, const expert *wanted);

/* The first slot of the token that multiplies the same weights: later ones are its twins and copy
 * its results. A slot whose inputs come from a dump may differ from its twin and stands for itself.
 */
int64_t experts_source(const engine *e, int64_t slot);

/* The token of a slot: of token * K + k, or of a spare one. */
int64_t experts_token(const engine *e, int64_t slot);

/* Operand rows of the members' tokens, one after another in e->gathered. */
void experts_gather_input(engine *e, int64_t count);

/* Whether the weights are codes as they are multiplied, their scales left for after the dot: with
 * codes on the other side, too, the dot is exact. Shared with linear.c. */
bool experts_multiply_codes(const fp8moe_recipe *recipe);

/* silu(gate) as the recipe rounds it. */
double experts_silu(const fp8moe_recipe *recipe, double gate);

/* A number as an operand of the down matmul; the low part only where it is split in two. */
double experts_operand(fp8moe_down_operand form, double value, double *low);

/* A down dot as it leaves the projection. */
double experts_down_scaled(const fp8moe_recipe *recipe, double dot, double act_scale, double scale);

/* Expert output [H] of a slot with gate and up exchanged, computed in the token's spare slot. */
const double *experts_swapped(engine *e, int64_t slot, int64_t token);

/* A row of w2 [I] as the down matmul takes it; returns the scale left to apply after the dot. `low`
 * [I] gets the low parts of a split operand, `codes` is room for I bytes. */
double experts_down_row(const engine *e, const expert *own, int64_t row, double *out, double *low,
                        uint8_t *codes);

/* The down projection of one slot again, after its operand changed. */
void experts_down_slot(engine *e, int64_t slot);

/* A dot as the recipe's scale column applies it: rounded to f32, then `dot_round`, scaled, rounded
 * to `out`. Shared with linear.c. */
double experts_scaled(fp8moe_precision dot_round, fp8moe_scale_form scale, fp8moe_precision out,
                      double dot, double a_scale, double b_scale);

#endif

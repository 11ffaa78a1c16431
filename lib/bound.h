/* Hard intervals, expected radii and noise of a block of tokens: verdict.md sections 3 to 5. */
#ifndef FP8MOE_LIB_BOUND_H
#define FP8MOE_LIB_BOUND_H

#include "interval.h"
#include "moe.h"

#include <fp8moe/judge.h>

/* What a device may do differently from correct rounding. */
typedef struct device_slack {
    double dot;       /* hard radius of a dot, in 2^-24 * sum|a b| */
    bool worst_case;  /* the number of terms instead */
    double expected;  /* radius a dot is expected to stay in, same unit */
    int silu;         /* steps of its output dtype */
    double silu_rate; /* share of values that are off, either way */
} device_slack;

/* A near-tie: what one product becomes when something before it goes the other way. */
typedef struct near_tie {
    fp8moe_flip_kind kind;
    double product;
    double probability;
} near_tie;

#define MAX_NEAR_TIES 6
#define MAX_SCALES 8

/* Scales a slot's requantised row may have: one for a kept or static intermediate. */
typedef struct row_scales {
    int count, reference;
    double scale[MAX_SCALES];
    bool merged; /* more than fit: one candidate whose codes cover them all */
} row_scales;

/* Sums over one slot's near-ties, in units of the down operand: a the number multiplied, D its
 * change. A row scale a step off counts as one near-tie that changes all operands: D^2 and D a are
 * then sums. */
typedef struct slot_noise {
    double variance;             /* sum p D^2 */
    double fourth;               /* sum p D^4 */
    double with_operand;         /* sum p D^2 a^2 */
    double largest;              /* max D^2 */
    double largest_with_operand; /* max |D a| */
    double expected_flips;       /* sum p */
    int64_t near_ties;
    double output_variance; /* sum over H of part_variance */
} slot_noise;

/* One contribution of a token to its sum. */
typedef struct bound_term {
    int64_t source; /* of its source slot's row in the part arrays */
    double weight;
    double joint_weight; /* of all twins, at the first of them; 0 at the others */
} bound_term;

/* Everything known about a block, beside the engine's own intermediates. Per slot arrays are filled
 * for source slots (experts_source) of tokens that are not skipped. */
typedef struct bound {
    moe_block *block;
    device_slack slack;
    const bool *skip;                     /* [tokens] */
    double *hard_low, *hard_high;         /* [slots, 2I] of up_gate */
    double *expected_low, *expected_high; /* [slots, 2I] */
    double *act_low, *act_high;           /* [slots, I] of the product */
    double *act_variance;                 /* [slots, I] of the down operand */
    row_scales *scales;                   /* [slots] */
    slot_noise *noise;                    /* [slots] */
    double *part_low, *part_high;         /* [slots, H] hard, of expert output (row scale undone) */
    double *part_expected_low, *part_expected_high;
    double *part_variance;
    /* [tokens, H] */
    double *centre; /* before the last rounding */
    double *low, *high;
    double *near_low, *near_high; /* what the expected radii give */
    double *variance;
    bound_term *terms; /* [K] of the token looked at last */
    double *scratch;   /* operand rows of a batch, then each worker's dots and squared rows */
} bound;

int64_t bound_bytes_per_token(const fp8moe_layer *layer);
fp8moe_status bound_open(bound *b, const fp8moe_layer *layer, int64_t tokens, device_slack slack,
                         fp8moe_error *err);
void bound_close(bound *b);

/* Fill everything for the block's tokens but the skipped ones. */
void bound_block(bound *b, moe_block *block, const bool *skip);

/* The near-ties of product (slot, i); returns how many differ from the reference product. */
int bound_near_ties(const bound *b, int64_t slot, int64_t i, near_tie out[MAX_NEAR_TIES]);

/* The number the down projection multiplies for a product, under the slot's reference scale. */
double bound_operand(const bound *b, int64_t slot, double product);
/* The same under one of the slot's candidate scales. */
double bound_operand_at(const bound *b, int64_t slot, int candidate, double product);

/* What a unit of operand times a unit of weight adds to the expert output, given the weight row's
 * scale; for a row scale undone in the router weight that scale is included. */
double bound_unit(const bound *b, int64_t slot, double weight_scale);

/* The contributions of a token by their source, into b->terms; returns how many. */
int64_t bound_terms(bound *b, int64_t token);

/* What a dot of `terms` terms may be off, hard: `magnitude` is sum|a b|. */
double bound_radius(const device_slack *slack, double magnitude, int64_t terms);

/* A dot's interval through scale and rounding; `widen`: what a multiplication by the scale may add.
 */
interval bound_scaled(const fp8moe_recipe *recipe, double dot, double radius, double x_scale,
                      double scale, bool widen);

#endif

/* Rows held against their intervals and their noise: element classes and the statistics of
 * verdict.md section 5. Knows nothing of experts but the share each has in a row. */
#ifndef FP8MOE_LIB_TALLY_H
#define FP8MOE_LIB_TALLY_H

#include <fp8moe/judge.h>

/* One source of a row: an expert's own contribution weight * output[h], and its noise. The column
 * energy is sum over h of (unit * w[h, i])^2, taken as equal for all i. */
typedef struct row_source {
    int64_t slot;
    double weight;
    const double *output; /* [width] */
    double column_energy;
    double fourth, with_operand, largest, largest_with_operand; /* as in slot_noise */
} row_source;

/* One judged row. */
typedef struct row_view {
    int64_t token, width;
    const double *reference, *centre, *low, *high, *near_low, *near_high, *variance; /* [width] */
    fp8moe_precision dtype; /* of the output: its steps are part of the noise */
    const row_source *sources;
    int source_count;
} row_view;

typedef enum element_class {
    ELEMENT_PADDING,
    ELEMENT_IDENTICAL,
    ELEMENT_EXPECTED,
    ELEMENT_POSSIBLE,
    ELEMENT_IMPOSSIBLE,
    ELEMENT_NONFINITE,
    ELEMENT_CLASSES
} element_class;

element_class tally_element(const row_view *row, int64_t column, double got);

/* Largest of a ratio seen / limit, and where. */
typedef struct tally_extreme {
    double seen, limit;
    int64_t token, index;
} tally_extreme;

typedef struct tally {
    int64_t width, rows;
    int64_t classes[ELEMENT_CLASSES];
    int64_t leaked; /* impossible ones where only zero can be */
    double energy, expected_energy, energy_variance,
        largest_flip; /* sums of squares of got - centre */
    double signal;    /* sum of centre^2 */
    double gain, gain_variance, largest_gain;
    double aligned; /* sum over rows of the energy along the row itself or one expert of it */
    tally_extreme row, expert;
    double *column_energy, *column_expected, *column_widest; /* [width] */
    double row_share_largest, row_share_sum;                 /* of energy / signal */
} tally;

fp8moe_status tally_open(tally *t, int64_t width, fp8moe_error *err);
void tally_close(tally *t);

/* Count a row's elements (into t->classes) and add its noise statistics. */
void tally_add(tally *t, const row_view *row, const double *got);

/* The statistics, in a fixed order; returns how many. `outside` where one exceeds its limit. */
int tally_statistics(const tally *t, fp8moe_statistic out[FP8MOE_STATISTICS]);

/* The most flips that near-ties give by chance but once in a million times, if they are independent
 * and their probabilities add to `expected`: a binomial count is narrower than this Poisson one. */
double tally_flips_allowed(double expected);

/* Whether a statistic is outside. */
bool tally_is_outside(const tally *t);

/* Whether this alone makes a row set different: impossible or non-finite elements, or a statistic
 * outside. */
bool tally_fails(const tally *t);

/* Whether what is there looks like moved roundings: larger than the noise, but of no direction and
 * in no particular place. */
bool tally_is_unstructured(const tally *t);

#endif

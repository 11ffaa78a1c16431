#include "tally.h"

#include "bits.h"
#include "common.h"
#include "interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations allowed before a statistic counts as outside: noise of many rows and shapes
 * is tested, none of it may be called different. */
#define SIGMAS 6.0

/* Chance that legitimate flips exceed their limit. */
#define FLIPS_CHANCE 1e-6

fp8moe_status tally_open(tally *t, int64_t width, fp8moe_error *err)
{
    *t = (tally){
        .width = width, .row = {.token = -1, .index = -1}, .expert = {.token = -1, .index = -1}};
    t->column_energy = calloc((size_t)width + 1, 3 * sizeof(double));
    if (!t->column_energy)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld columns", (long long)width);
    t->column_expected = t->column_energy + width;
    t->column_widest = t->column_expected + width;
    return FP8MOE_OK;
}

void tally_close(tally *t)
{
    free(t->column_energy);
}

static bool is_finite(double x)
{
    return x - x == 0;
}

element_class tally_element(const row_view *row, int64_t column, double got)
{
    const double reference = row->reference[column];
    if (!is_finite(reference) || !is_finite(got)) {
        const bool same = reference == got || (reference != reference && got != got);
        return same ? ELEMENT_IDENTICAL : ELEMENT_NONFINITE;
    }
    if (row->low[column] == 0 && row->high[column] == 0 && got == 0) return ELEMENT_PADDING;
    if (got == reference) return ELEMENT_IDENTICAL;
    if (got >= row->near_low[column] && got <= row->near_high[column]) return ELEMENT_EXPECTED;
    /* A bound that overflowed holds nothing back. */
    if (!(got < row->low[column]) && !(got > row->high[column])) return ELEMENT_POSSIBLE;
    return ELEMENT_IMPOSSIBLE;
}

static void keep_extreme(tally_extreme *at, double seen, double limit, int64_t token, int64_t index)
{
    if (!(limit > 0) || (at->limit > 0 && seen * at->limit <= at->seen * limit)) return;
    *at = (tally_extreme){seen, limit, token, index};
}

/* What one row adds; z = got - centre, v its variance with the last rounding's. */
typedef struct row_sums {
    double energy, expected, spread, signal, gain, gain_spread, largest, largest_gain;
} row_sums;

static double noise_at(const row_view *row, int64_t h)
{
    const double step = interval_spacing(row->dtype, row->centre[h]);
    return row->variance[h] + step * step / 12;
}

static void add_elements(tally *t, const row_view *row, const double *got, row_sums *s)
{
    for (int64_t h = 0; h < row->width; h++) {
        const element_class class = tally_element(row, h, got[h]);
        t->classes[class]++;
        t->leaked += class == ELEMENT_IMPOSSIBLE && row->low[h] == 0 && row->high[h] == 0;
        if (class == ELEMENT_PADDING || !is_finite(got[h]) || !is_finite(row->centre[h])) continue;
        const double z = got[h] - row->centre[h], v = noise_at(row, h), c = row->centre[h];
        const double up = row->high[h] - c, down = c - row->low[h], reach = up > down ? up : down;
        s->energy += z * z;
        s->expected += v;
        s->spread += (v - row->variance[h]) * (v - row->variance[h]);
        s->signal += c * c;
        s->gain += z * c;
        s->gain_spread += v * c * c;
        t->column_energy[h] += z * z;
        t->column_expected[h] += v;
        if (reach * reach > t->column_widest[h]) t->column_widest[h] = reach * reach;
    }
}

static void add_sources(const row_view *row, row_sums *s)
{
    for (int i = 0; i < row->source_count; i++) {
        const row_source *const e = &row->sources[i];
        const double unit = e->weight * e->weight * e->column_energy;
        s->spread += unit * unit * e->fourth;
        s->gain_spread += unit * unit * e->with_operand;
        if (unit * e->largest > s->largest) s->largest = unit * e->largest;
        if (unit * e->largest_with_operand > s->largest_gain)
            s->largest_gain = unit * e->largest_with_operand;
    }
}

/* The residual's projection on each expert's own contribution; returns the most energy that lies
 * along one of them. */
static double project_experts(tally *t, const row_view *row, const double *got)
{
    double most = 0;
    for (int i = 0; i < row->source_count; i++) {
        const row_source *const e = &row->sources[i];
        const double unit = e->weight * e->weight * e->column_energy;
        double along = 0, energy = 0, spread = unit * unit * e->with_operand;
        for (int64_t h = 0; h < row->width; h++) {
            const double own = e->weight * e->output[h], z = got[h] - row->centre[h];
            if (!is_finite(z) || !is_finite(own)) continue;
            along += z * own;
            energy += own * own;
            spread += own * own * noise_at(row, h);
        }
        if (!(energy > 0)) continue;
        if (along * along > most * energy) most = along * along / energy;
        /* Other experts' flips along this one are part of the elements' own variance. */
        const double limit = (SIGMAS * sqrt(spread) + 2 * unit * e->largest_with_operand) / energy;
        keep_extreme(&t->expert, fabs(along) / energy, limit, row->token, e->slot);
    }
    return most;
}

void tally_add(tally *t, const row_view *row, const double *got)
{
    row_sums s = {0};
    add_elements(t, row, got, &s);
    add_sources(row, &s);
    t->rows++;
    t->energy += s.energy;
    t->expected_energy += s.expected;
    t->energy_variance += s.spread;
    t->signal += s.signal;
    t->gain += s.gain;
    t->gain_variance += s.gain_spread;
    if (s.largest > t->largest_flip) t->largest_flip = s.largest;
    if (s.largest_gain > t->largest_gain) t->largest_gain = s.largest_gain;
    const double along = s.signal > 0 ? s.gain * s.gain / s.signal : 0,
                 along_expert = project_experts(t, row, got);
    t->aligned += along > along_expert ? along : along_expert;
    if (!(s.signal > 0)) return;
    const double limit = s.expected + SIGMAS * sqrt(s.spread) + 4 * s.largest;
    const double share = s.energy / s.signal;
    keep_extreme(&t->row, sqrt(share), sqrt(limit / s.signal), row->token, -1);
    t->row_share_sum += share;
    if (share > t->row_share_largest) t->row_share_largest = share;
}

/* ---- results ---- */

static fp8moe_statistic statistic(const char *name, tally_extreme at)
{
    return (fp8moe_statistic){.name = name,
                              .seen = at.seen,
                              .limit = at.limit,
                              .token = at.token,
                              .index = at.index,
                              .outside = at.limit > 0 && !(at.seen <= at.limit)};
}

static tally_extreme worst_column(const tally *t)
{
    tally_extreme worst = {.token = -1, .index = -1};
    for (int64_t h = 0; h < t->width; h++) {
        const double expected = t->column_expected[h];
        const double limit = 4 * expected + t->column_widest[h];
        keep_extreme(&worst, sqrt(t->column_energy[h]), sqrt(limit), -1, h);
    }
    return worst;
}

int tally_statistics(const tally *t, fp8moe_statistic out[FP8MOE_STATISTICS])
{
    if (!(t->signal > 0)) return 0;
    const double energy = t->expected_energy + SIGMAS * sqrt(t->energy_variance) + t->largest_flip;
    const double gain = SIGMAS * sqrt(t->gain_variance) + 2 * t->largest_gain;
    int count = 0;
    out[count++] = statistic(
        "energy", (tally_extreme){sqrt(t->energy / t->signal), sqrt(energy / t->signal), -1, -1});
    out[count++] =
        statistic("gain", (tally_extreme){fabs(t->gain) / t->signal, gain / t->signal, -1, -1});
    out[count++] = statistic("row energy", t->row);
    out[count++] = statistic("column energy", worst_column(t));
    if (t->expert.token >= 0) out[count++] = statistic("expert", t->expert);
    return count;
}

/* Sum of a Poisson distribution's terms from `count` upwards, in units of the term at `count`. */
static double upper_tail(double mean, double count)
{
    double term = 1, sum = 1;
    for (double k = count + 1; term > 1e-20 * sum; k++) {
        term *= mean / k;
        sum += term;
    }
    return sum;
}

double tally_flips_allowed(double expected)
{
    const double mode = (double)(int64_t)expected;
    double below = 0, term = 1;
    for (double k = mode; k > 0 && term > 1e-20; k--) {
        term *= k / expected;
        below += term;
    }
    const double all = below + upper_tail(expected, mode);
    double count = mode;
    term = 1;
    while (term * upper_tail(expected, count) > FLIPS_CHANCE * all) {
        count++;
        term *= expected / count;
    }
    return count - 1;
}

bool tally_is_outside(const tally *t)
{
    fp8moe_statistic all[FP8MOE_STATISTICS] = {{0}};
    const int count = tally_statistics(t, all);
    for (int i = 0; i < count; i++)
        if (all[i].outside) return true;
    return false;
}

bool tally_fails(const tally *t)
{
    return t->classes[ELEMENT_IMPOSSIBLE] || t->classes[ELEMENT_NONFINITE] || tally_is_outside(t);
}

/* Columns of a block of scales, and how much more than its part of the energy one may hold. */
#define BLOCK 128
#define BLOCK_EXCESS 4

/* Share of the energy that may lie along the row, or along one expert's contribution to it:
 * rounding errors of hundreds of operands have no direction. */
#define ALIGNED 0.25

/* Whether one block of columns holds the energy. */
static bool has_loud_block(const tally *t)
{
    const double average = t->energy / t->expected_energy;
    for (int64_t first = 0; first < t->width; first += BLOCK) {
        double energy = 0, expected = 0;
        for (int64_t h = first; h < t->width && h < first + BLOCK; h++) {
            energy += t->column_energy[h];
            expected += t->column_expected[h];
        }
        if (energy > BLOCK_EXCESS * average * expected) return true;
    }
    return false;
}

/* Residuals of moved roundings are small, have no direction and are spread over rows and columns
 * like the noise they resemble, only larger: limits grow with the energy seen. */
bool tally_is_unstructured(const tally *t)
{
    fp8moe_statistic all[FP8MOE_STATISTICS] = {{0}};
    const int count = tally_statistics(t, all);
    if (t->classes[ELEMENT_NONFINITE] || t->leaked || !count || all[0].seen > 0.05) return false;
    const double larger = all[0].seen > all[0].limit ? all[0].seen / all[0].limit : 1;
    for (int i = 1; i < count; i++)
        if (all[i].seen > larger * all[i].limit) return false;
    if (has_loud_block(t) || t->aligned > ALIGNED * t->energy) return false;
    return t->row_share_largest <= 16 * t->row_share_sum / (double)t->rows;
}

/* Rows held against their intervals and their noise: the classes of verdict.md section 2 from a
 * table, the statistics of section 5 from their definitions, and which of them a fault trips. */
#include "bits.h"
#include "interval.h"
#include "tally.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INF ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

/* ---- classes ---- */

typedef struct class_row {
    const char *why;
    double reference, near_low, near_high, low, high, got;
    element_class class;
} class_row;

static const class_row class_rows[] = {
    {"same bits", 1, 1, 1, 0.5, 2, 1, ELEMENT_IDENTICAL},
    {"-0 is 0", 0, 0, 0, -1, 1, -0.0, ELEMENT_IDENTICAL},
    {"0 is -0", -0.0, 0, 0, -1, 1, 0, ELEMENT_IDENTICAL},
    {"zero where nothing else can be", 0, 0, 0, 0, 0, 0, ELEMENT_PADDING},
    {"also a negative zero", 0, 0, 0, -0.0, 0, -0.0, ELEMENT_PADDING},
    {"leaked padding", 0, 0, 0, 0, 0, 0x1p-133, ELEMENT_IMPOSSIBLE},
    {"within the dots' own noise", 1, 0.75, 1.25, 0.5, 2, 1.25, ELEMENT_EXPECTED},
    {"at its lower end", 1, 0.75, 1.25, 0.5, 2, 0.75, ELEMENT_EXPECTED},
    {"beyond it", 1, 0.75, 1.25, 0.5, 2, 1.5, ELEMENT_POSSIBLE},
    {"at the hard end", 1, 0.75, 1.25, 0.5, 2, 2, ELEMENT_POSSIBLE},
    {"at the lower hard end", 1, 0.75, 1.25, 0.5, 2, 0.5, ELEMENT_POSSIBLE},
    {"beyond the hard end", 1, 0.75, 1.25, 0.5, 2, 2.125, ELEMENT_IMPOSSIBLE},
    {"below it", 1, 0.75, 1.25, 0.5, 2, 0.25, ELEMENT_IMPOSSIBLE},
    {"a zero that cannot be", 1, 0.75, 1.25, 0.5, 2, 0, ELEMENT_IMPOSSIBLE},
    {"NaN on one side", 1, 0, 2, -INF, INF, NOT_A_NUMBER, ELEMENT_NONFINITE},
    {"on the other", NOT_A_NUMBER, 0, 2, -INF, INF, 1, ELEMENT_NONFINITE},
    {"infinity on one side", 1, 0, 2, -INF, INF, INF, ELEMENT_NONFINITE},
    {"opposite infinities", INF, 0, INF, -INF, INF, -INF, ELEMENT_NONFINITE},
    {"NaN against infinity", INF, 0, INF, -INF, INF, NOT_A_NUMBER, ELEMENT_NONFINITE},
    {"equal infinities", -INF, 0, 0, -INF, INF, -INF, ELEMENT_IDENTICAL},
    {"NaN on both sides", NOT_A_NUMBER, 0, 0, 0, 0, NOT_A_NUMBER, ELEMENT_IDENTICAL},
    {"a bound that is NaN", 1, 1, 1, NOT_A_NUMBER, NOT_A_NUMBER, 9, ELEMENT_POSSIBLE},
};

static void elements_have_classes(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(class_rows); i++) {
        const class_row *const r = &class_rows[i];
        const row_view row = {.width = 1,
                              .reference = &r->reference,
                              .low = &r->low,
                              .high = &r->high,
                              .near_low = &r->near_low,
                              .near_high = &r->near_high};
        const element_class got = tally_element(&row, 0, r->got);
        if (got != r->class) fail_msg("%s: %d", r->why, (int)got);
    }
}

/* ---- made rows ---- */

#define WIDTH 512
#define INTER 192
#define ROWS 24
#define SOURCES 3

/* Rows of three experts: output = W a. Any operand may go the other way, by CHANGE with RATE. */
typedef struct made_rows {
    double weight[SOURCES][INTER][WIDTH], operand[ROWS][SOURCES][INTER];
    double output[ROWS][SOURCES][WIDTH], centre[ROWS][WIDTH], reference[ROWS][WIDTH];
    double low[ROWS][WIDTH], high[ROWS][WIDTH], variance[ROWS][WIDTH], got[ROWS][WIDTH];
    row_source sources[ROWS][SOURCES];
    row_view view[ROWS];
} made_rows;

static uint64_t state = 1;

static double some(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) * 0x1p-53;
}

/* Of variance 1. */
static double bell(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += some();
    return sum - 6;
}

#define RATE 0.1
#define CHANGE 0.03
#define REACH 0.3 /* of the hard interval; rows have an rms of about 1 */

static void make_source(made_rows *m, int t, int s)
{
    row_source *const from = &m->sources[t][s];
    const double square = CHANGE * CHANGE;
    *from = (row_source){.slot = s,
                         .weight = 0.8 - 0.2 * s,
                         .output = m->output[t][s],
                         .fourth = INTER * RATE * square * square,
                         .largest = square};
    for (int h = 0; h < WIDTH; h++)
        for (int i = 0; i < INTER; i++)
            from->column_energy += m->weight[s][i][h] * m->weight[s][i][h] / INTER;
    for (int i = 0; i < INTER; i++) {
        const double a = m->operand[t][s][i] = bell();
        from->with_operand += RATE * square * a * a;
        from->largest_with_operand = fmax(from->largest_with_operand, fabs(CHANGE * a));
        for (int h = 0; h < WIDTH; h++) {
            const double w = from->weight * m->weight[s][i][h];
            m->output[t][s][h] += a * m->weight[s][i][h];
            m->variance[t][h] += RATE * square * w * w;
        }
    }
}

static void make_row(made_rows *m, int t)
{
    for (int s = 0; s < SOURCES; s++)
        make_source(m, t, s);
    for (int h = 0; h < WIDTH; h++) {
        for (int s = 0; s < SOURCES; s++)
            m->centre[t][h] += m->sources[t][s].weight * m->output[t][s][h];
        m->reference[t][h] = round_bf16(m->centre[t][h]);
        m->low[t][h] = m->reference[t][h] - REACH;
        m->high[t][h] = m->reference[t][h] + REACH;
    }
    m->view[t] = (row_view){.token = 100 + t,
                            .width = WIDTH,
                            .reference = m->reference[t],
                            .centre = m->centre[t],
                            .low = m->low[t],
                            .high = m->high[t],
                            .near_low = m->reference[t],
                            .near_high = m->reference[t],
                            .variance = m->variance[t],
                            .dtype = FP8MOE_ROUND_BF16,
                            .sources = m->sources[t],
                            .source_count = SOURCES};
}

static made_rows *make_rows(void)
{
    made_rows *const m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (int s = 0; s < SOURCES; s++)
        for (int i = 0; i < INTER; i++)
            for (int h = 0; h < WIDTH; h++)
                m->weight[s][i][h] = bell() / sqrt(INTER);
    for (int t = 0; t < ROWS; t++)
        make_row(m, t);
    return m;
}

/* What a device might dump whose operands go the other way, `times` as far as stated. */
static void draw(made_rows *m, double times)
{
    for (int t = 0; t < ROWS; t++) {
        memcpy(m->got[t], m->centre[t], sizeof m->got[t]);
        for (int s = 0; s < SOURCES; s++)
            for (int i = 0; i < INTER; i++) {
                if (some() >= RATE) continue;
                const double by = (some() < 0.5 ? CHANGE : -CHANGE) * times;
                for (int h = 0; h < WIDTH; h++)
                    m->got[t][h] += by * m->sources[t][s].weight * m->weight[s][i][h];
            }
        for (int h = 0; h < WIDTH; h++)
            m->got[t][h] = round_bf16(m->got[t][h]);
    }
}

static void tally_all(const made_rows *m, tally *out)
{
    assert_int_equal(tally_open(out, WIDTH, NULL), FP8MOE_OK);
    for (int t = 0; t < ROWS; t++)
        tally_add(out, &m->view[t], m->got[t]);
}

/* The statistic of a name, or NULL. */
static const fp8moe_statistic *find(const fp8moe_statistic *all, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- statistics ---- */

static double dot(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void statistics_are_their_definitions(void **unused)
{
    (void)unused;
    made_rows *const m = make_rows();
    static double z[ROWS][WIDTH];
    fp8moe_statistic all[FP8MOE_STATISTICS];
    tally t;
    draw(m, 1);
    m->got[7][31] += 0.25;
    tally_all(m, &t);
    const int count = tally_statistics(&t, all);
    assert_int_equal(count, 5);
    for (int r = 0; r < ROWS; r++)
        for (int h = 0; h < WIDTH; h++)
            z[r][h] = m->got[r][h] - m->centre[r][h];
    const double signal = dot(m->centre[0], m->centre[0], ROWS * WIDTH);
    assert_true(
        close_to(find(all, count, "energy")->seen, sqrt(dot(z[0], z[0], ROWS * WIDTH) / signal)));
    assert_true(close_to(find(all, count, "gain")->seen,
                         fabs(dot(z[0], m->centre[0], ROWS * WIDTH)) / signal));
    assert_true(find(all, count, "energy")->token == -1 && find(all, count, "gain")->index == -1);
    const fp8moe_statistic *const column = find(all, count, "column energy");
    double energy = 0;
    for (int r = 0; r < ROWS; r++)
        energy += z[r][31] * z[r][31];
    assert_true(column->index == 31 && column->token == -1 && close_to(column->seen, sqrt(energy)));
    const fp8moe_statistic *const row = find(all, count, "row energy");
    const int at = (int)row->token - 100;
    assert_true(at == 7 && row->index == -1);
    assert_true(close_to(
        row->seen, sqrt(dot(z[at], z[at], WIDTH) / dot(m->centre[at], m->centre[at], WIDTH))));
    const fp8moe_statistic *const expert = find(all, count, "expert");
    const row_source *const own = &m->sources[expert->token - 100][expert->index];
    assert_true(close_to(expert->seen, fabs(dot(z[expert->token - 100], own->output, WIDTH)) /
                                           own->weight / dot(own->output, own->output, WIDTH)));
    tally_close(&t);
    free(m);
}

/* Over many draws of the model none is outside, and the limits of its sums are a few spreads away:
 * less would call noise a fault, more would hide one. */
static void noise_of_the_stated_size_passes(void **unused)
{
    (void)unused;
    const int draws = 200;
    made_rows *const m = make_rows();
    fp8moe_statistic all[FP8MOE_STATISTICS];
    double energy = 0, square = 0, gain = 0, limit = 0, gain_limit = 0;
    for (int seed = 0; seed < draws; seed++) {
        tally t;
        draw(m, 1);
        tally_all(m, &t);
        const int count = tally_statistics(&t, all);
        for (int i = 0; i < count; i++)
            if (all[i].outside)
                fail_msg("draw %d: %s %g, %g", seed, all[i].name, all[i].seen, all[i].limit);
        assert_false(tally_fails(&t));
        assert_int_equal(t.classes[ELEMENT_IMPOSSIBLE] + t.classes[ELEMENT_NONFINITE], 0);
        assert_int_equal(t.classes[ELEMENT_IDENTICAL] + t.classes[ELEMENT_POSSIBLE], ROWS * WIDTH);
        const double e = pow(find(all, count, "energy")->seen, 2);
        energy += e / draws;
        square += e * e / draws;
        gain += pow(find(all, count, "gain")->seen, 2) / draws;
        limit = pow(find(all, count, "energy")->limit, 2);
        gain_limit = find(all, count, "gain")->limit;
        tally_close(&t);
    }
    const double away = (limit - energy) / sqrt(square - energy * energy);
    if (away < 4 || away > 16) fail_msg("energy: the limit lies %g spreads away", away);
    if (gain_limit < 4.5 * sqrt(gain) || gain_limit > 12 * sqrt(gain))
        fail_msg("gain: the limit is %g spreads", gain_limit / sqrt(gain));
    free(m);
}

/* Rows whose noise is their last rounding alone: as wide as their own dots allow. */
static void a_last_rounding_is_noise_of_its_step(void **unused)
{
    (void)unused;
    made_rows *const m = make_rows();
    memset(m->variance, 0, sizeof m->variance);
    memcpy(m->low, m->centre, sizeof m->low); /* the column's limit takes nothing from them */
    memcpy(m->high, m->centre, sizeof m->high);
    for (int t = 0; t < ROWS; t++)
        for (int s = 0; s < SOURCES; s++)
            m->sources[t][s].fourth = m->sources[t][s].with_operand = m->sources[t][s].largest =
                m->sources[t][s].largest_with_operand = 0;
    for (int off = 0; off <= 1; off++) {
        fp8moe_statistic all[FP8MOE_STATISTICS];
        tally t;
        for (int r = 0; r < ROWS; r++)
            for (int h = 0; h < WIDTH; h++)
                m->got[r][h] =
                    interval_step(FP8MOE_ROUND_BF16, m->reference[r][h], off * (h % 2 ? 1 : -1));
        tally_all(m, &t);
        const int count = tally_statistics(&t, all);
        for (int i = 0; i < count; i++) {
            if (!off && all[i].outside)
                fail_msg("%s: %g, %g", all[i].name, all[i].seen, all[i].limit);
            if (off && strstr(all[i].name, "energy") && !all[i].outside)
                fail_msg("one step off: %s %g, %g", all[i].name, all[i].seen, all[i].limit);
        }
        tally_close(&t);
    }
    free(m);
}

/* ---- faults ---- */

static void louder_noise(made_rows *m)
{
    draw(m, 2);
}

static void uniform_gain(made_rows *m)
{
    for (int t = 0; t < ROWS; t++)
        for (int h = 0; h < WIDTH; h++)
            m->got[t][h] = round_bf16(m->got[t][h] + 0.02 * m->centre[t][h]);
}

/* Row 5 repeats a part of row 4. */
static void one_row(made_rows *m)
{
    for (int h = 0; h < WIDTH; h++)
        m->got[5][h] = round_bf16(m->got[5][h] + 0.08 * m->centre[4][h]);
}

static void one_column(made_rows *m)
{
    for (int t = 0; t < ROWS; t++)
        m->got[t][77] += t % 2 ? 0.26 : -0.26;
}

/* Slot 2 of row 9, the weakest, 10 % too heavy. */
static void one_expert(made_rows *m)
{
    for (int h = 0; h < WIDTH; h++)
        m->got[9][h] =
            round_bf16(m->got[9][h] + 0.1 * m->sources[9][2].weight * m->output[9][2][h]);
}

typedef struct fault_row {
    const char *trips;
    void (*plant)(made_rows *m);
    int token, index; /* where, or -1 */
    bool unstructured;
} fault_row;

static const fault_row fault_rows[] = {
    {"energy", louder_noise, -1, -1, true},  {"gain", uniform_gain, -1, -1, false},
    {"row energy", one_row, 105, -1, false}, {"column energy", one_column, -1, 77, false},
    {"expert", one_expert, 109, 2, false},
};

static void a_fault_trips_its_statistic(void **unused)
{
    (void)unused;
    made_rows *const m = make_rows();
    for (size_t i = 0; i < COUNT(fault_rows); i++) {
        const fault_row *const f = &fault_rows[i];
        fp8moe_statistic all[FP8MOE_STATISTICS];
        tally t;
        draw(m, 1);
        f->plant(m);
        tally_all(m, &t);
        const int count = tally_statistics(&t, all);
        const fp8moe_statistic *const own = find(all, count, f->trips);
        assert_int_equal(t.classes[ELEMENT_IMPOSSIBLE], 0);
        if (!own->outside || own->token != f->token || own->index != f->index)
            fail_msg("%s: %g against %g at %d, %d", f->trips, own->seen, own->limit,
                     (int)own->token, (int)own->index);
        assert_true(tally_fails(&t));
        if (tally_is_unstructured(&t) != f->unstructured) fail_msg("%s: its kind", f->trips);
        tally_close(&t);
    }
    free(m);
}

enum { COLUMNS = 2048, BLOCK = 128 };

typedef struct plain_row {
    double centre[COLUMNS], low[COLUMNS], high[COLUMNS], variance[COLUMNS], got[COLUMNS];
} plain_row;

/* A row of numbers of size 1 that noise moves by some 2^-7; `got` is the centre. */
static row_view make_plain(plain_row *r)
{
    for (int h = 0; h < COLUMNS; h++) {
        r->got[h] = r->centre[h] = some() < 0.5 ? 1 : -1;
        r->low[h] = r->centre[h] - 1;
        r->high[h] = r->centre[h] + 1;
        r->variance[h] = 0x1p-14;
    }
    return (row_view){.width = COLUMNS,
                      .reference = r->centre,
                      .centre = r->centre,
                      .low = r->low,
                      .high = r->high,
                      .near_low = r->centre,
                      .near_high = r->centre,
                      .variance = r->variance,
                      .dtype = FP8MOE_ROUND_F32};
}

static bool is_unstructured(const row_view *row, const double *got)
{
    tally t;
    assert_int_equal(tally_open(&t, COLUMNS, NULL), FP8MOE_OK);
    tally_add(&t, row, got);
    assert_true(tally_fails(&t));
    const bool unstructured = tally_is_unstructured(&t);
    tally_close(&t);
    return unstructured;
}

/* Three times the noise everywhere is of rounding kind; ten times in one block of columns alone is
 * not. */
static void a_loud_block_is_structured(void **unused)
{
    (void)unused;
    static plain_row r;
    for (int block = 0; block <= COLUMNS; block += BLOCK) { /* the last: everywhere */
        const row_view row = make_plain(&r);
        const bool all = block == COLUMNS;
        for (int h = all ? 0 : block; h < (all ? COLUMNS : block + BLOCK); h++)
            r.got[h] += (some() - 0.5) * sqrt(12 * r.variance[h]) * (all ? 3 : 10);
        assert_int_equal(is_unstructured(&row, r.got), all);
    }
}

/* A centre need not lie in the middle: what is possible in one row fails no column. */
static void an_element_at_its_far_end_fails_no_column(void **unused)
{
    (void)unused;
    static plain_row r;
    for (int up = 0; up <= 1; up++) {
        fp8moe_statistic all[FP8MOE_STATISTICS];
        tally t;
        const row_view row = make_plain(&r);
        r.low[5] = r.centre[5] - (up ? 0.1 : 0.5);
        r.high[5] = r.centre[5] + (up ? 0.5 : 0.1);
        r.got[5] = up ? r.high[5] : r.low[5];
        assert_int_equal(tally_open(&t, COLUMNS, NULL), FP8MOE_OK);
        tally_add(&t, &row, r.got);
        const int count = tally_statistics(&t, all);
        assert_false(find(all, count, "column energy")->outside);
        tally_close(&t);
    }
}

/* One flip might move the row and its expert as far: yet noise has no direction. */
static void a_direction_is_structured(void **unused)
{
    (void)unused;
    static plain_row r;
    static double output[COLUMNS];
    for (int along = 0; along < 3; along++) { /* nothing, the row, the expert */
        row_view row = make_plain(&r);
        const row_source source = {
            .weight = 0.5, .output = output, .column_energy = 1, .largest_with_operand = 1e6};
        row.sources = &source;
        row.source_count = 1;
        for (int h = 0; h < COLUMNS; h++) {
            output[h] = some() - 0.5;
            r.got[h] +=
                (some() - 0.5) * sqrt(12 * r.variance[h]) * 2 + 0.03 * (along == 1   ? r.centre[h]
                                                                        : along == 2 ? 3 * output[h]
                                                                                     : 0);
        }
        assert_int_equal(is_unstructured(&row, r.got), !along);
    }
}

static void impossible_and_nonfinite_elements_fail_alone(void **unused)
{
    (void)unused;
    made_rows *const m = make_rows();
    for (int n = 0; n < 3; n++) {
        tally t;
        memcpy(m->got, m->reference, sizeof m->got);
        if (n) m->got[3][4] = n == 1 ? m->high[3][4] + 0x1p-8 : NOT_A_NUMBER;
        tally_all(m, &t);
        assert_int_equal(tally_fails(&t), n > 0);
        assert_int_equal(t.classes[ELEMENT_IDENTICAL], ROWS * WIDTH - (n > 0));
        if (n == 2) assert_false(tally_is_unstructured(&t));
        tally_close(&t);
    }
    free(m);
}

/* One NaN enters no sum and no maximum: what is left reads as without it. */
static void nonfinite_elements_enter_no_sum(void **unused)
{
    (void)unused;
    made_rows *const m = make_rows();
    fp8moe_statistic all[FP8MOE_STATISTICS];
    tally t;
    draw(m, 1);
    m->got[0][0] = NOT_A_NUMBER;
    m->got[1][1] = -INF;
    m->centre[2][2] = m->reference[2][2] = m->low[2][2] = m->high[2][2] = INF;
    m->got[2][2] = INF;
    tally_all(m, &t);
    assert_int_equal(t.classes[ELEMENT_NONFINITE], 2);
    const int count = tally_statistics(&t, all);
    assert_int_equal(count, 5);
    for (int i = 0; i < count; i++)
        if (all[i].outside || !(all[i].seen < 1)) fail_msg("%s: %g", all[i].name, all[i].seen);
    tally_close(&t);
    free(m);
}

static void padding_has_no_statistics(void **unused)
{
    (void)unused;
    static const double zeros[WIDTH];
    const row_view row = {.width = WIDTH,
                          .reference = zeros,
                          .centre = zeros,
                          .low = zeros,
                          .high = zeros,
                          .near_low = zeros,
                          .near_high = zeros,
                          .variance = zeros,
                          .dtype = FP8MOE_ROUND_BF16};
    fp8moe_statistic all[FP8MOE_STATISTICS];
    tally t;
    assert_int_equal(tally_open(&t, WIDTH, NULL), FP8MOE_OK);
    tally_add(&t, &row, zeros);
    assert_int_equal(t.classes[ELEMENT_PADDING], WIDTH);
    assert_int_equal(tally_statistics(&t, all), 0);
    assert_false(tally_fails(&t));
    tally_close(&t);
}

typedef struct flips_row {
    double expected, allowed;
} flips_row;

/* Smallest n with P(more than n) at most 1e-6 under a Poisson distribution, from its definition. */
static const flips_row flips_rows[] = {
    {0, 0}, {1e-9, 0}, {1e-3, 1}, {0.1, 4},   {0.5, 7},
    {1, 9}, {3.7, 16}, {10, 28},  {100, 151}, {1000, 1154},
};

static void flips_have_a_limit(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(flips_rows); i++)
        if (tally_flips_allowed(flips_rows[i].expected) != flips_rows[i].allowed)
            fail_msg("%g: %g, not %g", flips_rows[i].expected,
                     tally_flips_allowed(flips_rows[i].expected), flips_rows[i].allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_classes),
        cmocka_unit_test(statistics_are_their_definitions),
        cmocka_unit_test(noise_of_the_stated_size_passes),
        cmocka_unit_test(a_last_rounding_is_noise_of_its_step),
        cmocka_unit_test(a_fault_trips_its_statistic),
        cmocka_unit_test(a_loud_block_is_structured),
        cmocka_unit_test(an_element_at_its_far_end_fails_no_column),
        cmocka_unit_test(a_direction_is_structured),
        cmocka_unit_test(impossible_and_nonfinite_elements_fail_alone),
        cmocka_unit_test(nonfinite_elements_enter_no_sum),
        cmocka_unit_test(padding_has_no_statistics),
        cmocka_unit_test(flips_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

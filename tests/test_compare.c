/* Comparison against the rules of upstream's verifier, pair by pair, and against a slow model of
 * everything else that is counted. */
#include "bits.h"
#include "slow_model.h"

#include <fp8moe/compare.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

/* ---- upstream's two measures, pair by pair ---- */

/* Cases G01, G02, G06, G10, G11 and the corners of both measures, each way round. */
static void pairs_measure_what_upstream_measures(void **state)
{
    (void)state;
    static const struct {
        float a, b, ulp, relative;
        const char *reason;
    } rows[] = {
        {1.5f, 1.5f, 0, 0, "equal"},
        {1.0f, 1.125f, 1, 0, "neighbours"},
        {448.0f, 416.0f, 1, 0, "neighbours at the end"},
        {0.001953125f, 0.00390625f, 1, 0, "subnormal neighbours"},
        {0.9375f, 1.0f, 1, 0, "across a binade"},
        {0.015625f, 0.013671875f, 1, 0, "across the least normal"},
        {-1.0f, -1.25f, 2, 0, "two steps, both negative"},
        {0.001953125f, 448.0f, 125, 0, "no wrap in 8 bits"},
        {0.53125f, 0.5312500596046448f, 1, 0, "one f32 step across a rounding boundary"},
        {0.0f, -0.0f, 0, 0, "zeros of two signs"},
        {0.0004f, -0.0004f, 0.40959998965263367f, 0, "tiny, across zero: f32 values, not codes"},
        {-1e-3f, 1e-3f, 1.024f, 0, "across zero"},
        {-1.0f, 1.0f, 1024, 0, "far across zero"},
        {0x1p-10f, 0x1p-11f, 0, 0, "both read as 0: the tie is even"},
        {0x1.8p-10f, 0x1p-11f, 1, 0, "one of them is not"},
        {448.0f, 448.0f, 0, 0, "exactly 448 is in range"},
        {460.0f, 449.0f, 0, 0.0121012101210121f, "out of range: relative"},
        {1000.0f, 500.0f, 0, 0.3333333333333333f, "out of range"},
        {448.0f, 460.0f, 0, 0.013215859030837005f, "one of them out of range"},
        {-1000.0f, 1000.0f, 0, 1, "out of range, opposite signs"},
        {448.00003f, 1.0f, 0, 0.99554566f, "the least f32 beyond 448"},
        {NAN, NAN, 0, 0, "NaN of one sign: silent"},
        {-NAN, -NAN, 0, 0, "NaN of one sign: silent"},
        {NAN, -NAN, NAN, 0, "NaN of two signs: NaN"},
        {NAN, -1.0f, NAN, 1, "NaN and a number of the other sign: NaN"},
        {-NAN, 1.0f, NAN, 1, "NaN and a number of the other sign: NaN"},
        {NAN, -0.0f, NAN, 1, "-0 has the other sign, too"},
        {NAN, 1.0f, 127 - 0x38, 1, "NaN and a number of its sign: their codes"},
        {-NAN, -1.0f, 127 - 0x38, 1, "NaN and a number of its sign: their codes"},
        {NAN, 0.0f, 127, 1, "NaN and zero"},
        {INFINITY, INFINITY, 0, 0, "equal infinities: silent"},
        {INFINITY, -INFINITY, 0, 0, "opposite infinities: silent"},
        {INFINITY, NAN, 0, 0, "both not finite: silent"},
        {-INFINITY, NAN, 0, 0, "both not finite: silent"},
        {NAN, 449.0f, 0, 1, "NaN and a number out of range"},
        {NAN, -1000.0f, 0, 1, "NaN and a number out of range"},
        {INFINITY, 1.0f, 0, 1, "infinity and a number"},
        {-INFINITY, 1000.0f, 0, 1, "infinity and a number out of range"},
        {3e38f, -3e38f, 0, NAN, "the sum overflows f32: Inf / Inf"},
        {3e38f, 2e38f, 0, 0, "the sum alone overflows f32"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const float ulp[2] = {fp8moe_upstream_ulp(rows[i].a, rows[i].b),
                              fp8moe_upstream_ulp(rows[i].b, rows[i].a)};
        const float relative[2] = {fp8moe_upstream_relative(rows[i].a, rows[i].b),
                                   fp8moe_upstream_relative(rows[i].b, rows[i].a)};
        for (int way = 0; way < 2; way++) {
            if (!same_number((double)ulp[way], (double)rows[i].ulp) ||
                !same_number((double)relative[way], (double)rows[i].relative))
                fail_msg("%s: %g and %g, expected %g and %g", rows[i].reason, (double)ulp[way],
                         (double)relative[way], (double)rows[i].ulp, (double)rows[i].relative);
        }
    }
}

/* ---- distances on one number line ---- */

static void fp8_distance_counts_codes_of_scaled_values(void **state)
{
    (void)state;
    static const struct {
        double a, b, unit;
        int want;
        const char *reason;
    } rows[] = {
        {1, 1.125, 1, 1, "neighbours"},
        {0.0004, -0.0004, 1, 0, "G02: both read as zero"},
        {0x1p-9, -0x1p-9, 1, 2, "across zero: one step to it, one from it"},
        {-1e-3, 1e-3, 1, 2, "across zero: both read as the least subnormal"},
        {448, -448, 1, 252, "end to end"},
        {1000, 500, 1, 0, "both saturate"},
        {2, 2.25, 2, 1, "neighbours after division"},
        {1e-6, 1.125e-6, 1e-6, 1, "small units"},
        {0.53125 + 0x1p-40, 0.53125, 1, 1, "rounded once: by way of f32 both would be the tie"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const int got[2] = {fp8moe_fp8_distance(rows[i].a, rows[i].b, rows[i].unit),
                            fp8moe_fp8_distance(rows[i].b, rows[i].a, rows[i].unit)};
        if (got[0] != rows[i].want || got[1] != rows[i].want)
            fail_msg("%s: %d and %d, expected %d", rows[i].reason, got[0], got[1], rows[i].want);
    }
}

static void bf16_distance_counts_bf16_numbers(void **state)
{
    (void)state;
    static const struct {
        float a, b;
        int32_t want;
        const char *reason;
    } rows[] = {
        {1, 1, 0, "equal"},
        {1, 1.0078125f, 1, "neighbours"},
        {1, 1.00390625f, 0, "a tie rounds to the same"},
        {0.99609375f, 1, 1, "across a binade"},
        {0.0f, -0.0f, 0, "zeros"},
        {0x1p-133f, -0x1p-133f, 2, "least subnormals across zero"},
        {1, 2, 128, "a binade"},
        {3.4e38f, -3.4e38f, 2 * 0x7F80, "beyond the ends"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(fp8moe_bf16_distance(rows[i].a, rows[i].b), rows[i].want);
        assert_int_equal(fp8moe_bf16_distance(rows[i].b, rows[i].a), rows[i].want);
    }
}

/* ---- the slow model ---- */

/* A pair of matrices and what is made of them, one element after the other. */
typedef struct pair {
    int64_t rows, columns;
    float *expected, *got;
} pair;

static int slow_fp8_ordinal(double value)
{
    const uint32_t code = slow_encode(&slow_e4m3fn, fabs(value));
    const int magnitude = (int)(code < 0x7F ? code : 0x7E);
    return value < 0 ? -magnitude : magnitude;
}

static int slow_bf16_ordinal(double value)
{
    const int magnitude = (int)slow_encode(&slow_bf16, fabs(value));
    return value < 0 ? -magnitude : magnitude;
}

static double slow_amax(const pair *p, int64_t first, int64_t count)
{
    float amax = 0;
    for (int64_t i = first; i < first + count; i++) {
        if (isfinite(p->expected[i])) amax = fmaxf(amax, fabsf(p->expected[i]));
        if (isfinite(p->got[i])) amax = fmaxf(amax, fabsf(p->got[i]));
    }
    return (double)amax;
}

static double slow_unit(const pair *p, fp8moe_grid grid, int64_t row)
{
    if (grid == FP8MOE_GRID_UNSCALED) return 1;
    const bool one_row = grid == FP8MOE_GRID_ROW;
    const double amax = one_row ? slow_amax(p, row * p->columns, p->columns)
                                : slow_amax(p, 0, p->rows * p->columns);
    return amax > 0 ? amax / 448 : 1;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The value that at least the share of all values does not exceed. */
static double slow_percentile(const int *sorted, int64_t n, int64_t thousandths)
{
    int64_t rank = 1;
    while (rank * 1000 < n * thousandths)
        rank++;
    return n ? sorted[rank - 1] : 0;
}

static void check_distribution(const fp8moe_distribution *got, int *distances, int64_t n)
{
    qsort(distances, (size_t)n, sizeof *distances, ascending);
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += distances[i];
    const double mean = n ? (double)(sum / (long double)n) : 0;
    assert_true(fabs(got->mean - mean) <= 1e-15 * mean);
    assert_true(got->p50 == slow_percentile(distances, n, 500));
    assert_true(got->p99 == slow_percentile(distances, n, 990));
    assert_true(got->p999 == slow_percentile(distances, n, 999));
    assert_true(got->max == slow_percentile(distances, n, 1000));
}

static void check_distributions(const pair *p, const fp8moe_comparison *c)
{
    const size_t count = (size_t)(p->rows * p->columns);
    int *fp8 = malloc((count + 1) * sizeof *fp8), *bf16 = malloc((count + 1) * sizeof *bf16);
    int64_t n = 0;
    for (int64_t row = 0; row < p->rows; row++) {
        const double unit = slow_unit(p, c->grid, row);
        for (int64_t i = row * p->columns; i < (row + 1) * p->columns; i++) {
            const double e = (double)p->expected[i], g = (double)p->got[i];
            if (!isfinite(e) || !isfinite(g) || (e == 0 && g == 0)) continue;
            fp8[n] = abs(slow_fp8_ordinal(e / unit) - slow_fp8_ordinal(g / unit));
            bf16[n++] = abs(slow_bf16_ordinal(e) - slow_bf16_ordinal(g));
        }
    }
    check_distribution(&c->fp8, fp8, n);
    check_distribution(&c->bf16, bf16, n);
    free(fp8);
    free(bf16);
}

static void check_classes(const pair *p, const fp8moe_comparison *c)
{
    fp8moe_comparison want = {.rows = p->rows, .columns = p->columns};
    int64_t within = 0, tiny = 0, finite = 0;
    want.first_nonfinite_row = want.first_nonfinite_differs_row = -1;
    want.first_nonfinite_column = want.first_nonfinite_differs_column = -1;
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        const double e = (double)p->expected[i], g = (double)p->got[i];
        const bool same = e == g || (isnan(e) && isnan(g)),
                   both_finite = isfinite(e) && isfinite(g);
        want.count++;
        want.expected_nan += isnan(e) != 0;
        want.expected_inf += isinf(e) != 0;
        want.got_nan += isnan(g) != 0;
        want.got_inf += isinf(g) != 0;
        if (!both_finite && want.first_nonfinite_row < 0) {
            want.first_nonfinite_row = i / p->columns;
            want.first_nonfinite_column = i % p->columns;
        }
        if (!both_finite && !same && want.first_nonfinite_differs_row < 0) {
            want.first_nonfinite_differs_row = i / p->columns;
            want.first_nonfinite_differs_column = i % p->columns;
        }
        if (e == 0 && g == 0) {
            want.padding++;
            continue;
        }
        want.identical += same;
        want.different += !same && both_finite;
        want.nonfinite_same += same && !both_finite;
        want.nonfinite_differs += !same && !both_finite;
        within += same || (both_finite && fabs(g - e) <= 1e-3 + 1e-3 * fabs(e));
        tiny += both_finite && fabs(e) < 0x1p-10;
        finite += both_finite;
        const bool far = both_finite && abs(slow_bf16_ordinal(e) - slow_bf16_ordinal(g)) > 2;
        want.beyond +=
            far && fabs(g - e) > 1e-6 * slow_amax(p, i / p->columns * p->columns, p->columns);
    }
    const int64_t judged = want.count - want.padding;
    assert_int_equal(c->rows, want.rows);
    assert_int_equal(c->columns, want.columns);
    assert_int_equal(c->count, want.count);
    assert_int_equal(c->padding, want.padding);
    assert_int_equal(c->identical, want.identical);
    assert_int_equal(c->different, want.different);
    assert_int_equal(c->nonfinite_same, want.nonfinite_same);
    assert_int_equal(c->nonfinite_differs, want.nonfinite_differs);
    assert_int_equal(c->expected_nan, want.expected_nan);
    assert_int_equal(c->expected_inf, want.expected_inf);
    assert_int_equal(c->got_nan, want.got_nan);
    assert_int_equal(c->got_inf, want.got_inf);
    assert_int_equal(c->first_nonfinite_row, want.first_nonfinite_row);
    assert_int_equal(c->first_nonfinite_column, want.first_nonfinite_column);
    assert_int_equal(c->first_nonfinite_differs_row, want.first_nonfinite_differs_row);
    assert_int_equal(c->first_nonfinite_differs_column, want.first_nonfinite_differs_column);
    assert_int_equal(c->beyond, want.beyond);
    assert_true(c->identical_share == (judged ? (double)want.identical / (double)judged : 1));
    assert_true(c->within_tolerance == (judged ? (double)within / (double)judged : 1));
    assert_true(c->below_resolution == (finite ? (double)tiny / (double)finite : 0));
}

static void check_near(double got, double want, double scale, const char *what)
{
    if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= 1e-12 * scale || got == want))
        fail_msg("%s is %.17g, expected %.17g", what, got, want);
}

static void check_metrics(const pair *p, const fp8moe_comparison *c)
{
    double ee = 0, gg = 0, eg = 0, dd = 0, max_abs = 0, max_rel = 0;
    double square[2] = {0}, max[2] = {0}, finite[2] = {0};
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        const double side[2] = {(double)p->expected[i], (double)p->got[i]};
        for (int s = 0; s < 2; s++) {
            if (!isfinite(side[s])) continue;
            square[s] += side[s] * side[s];
            max[s] = fmax(max[s], fabs(side[s]));
            finite[s]++;
        }
        if (!isfinite(side[0]) || !isfinite(side[1])) continue;
        const double off = side[1] - side[0];
        ee += side[0] * side[0];
        gg += side[1] * side[1];
        eg += side[0] * side[1];
        dd += off * off;
        max_abs = fmax(max_abs, fabs(off));
        if (side[0] != 0) max_rel = fmax(max_rel, fabs(off) / fabs(side[0]));
    }
    assert_true(c->max_abs == max_abs);
    assert_true(c->max_rel == max_rel);
    assert_true(c->expected_max == max[0] && c->got_max == max[1]);
    check_near(c->expected_rms, finite[0] > 0 ? sqrt(square[0] / finite[0]) : 0, max[0], "rms");
    check_near(c->got_rms, finite[1] > 0 ? sqrt(square[1] / finite[1]) : 0, max[1], "rms of got");
    check_near(c->rel_l2, sqrt(dd / ee), sqrt(dd / ee), "rel_l2");
    check_near(c->cosine, eg / sqrt(ee * gg), 1, "cosine");
    check_near(c->gain, eg / ee, fmax(1, fabs(eg / ee)), "gain");
    check_near(c->calc_diff, 1 - 2 * eg / (ee + gg), 1, "calc_diff");
}

static void check_upstream(const pair *p, const fp8moe_comparison *c)
{
    double ulp = 0, relative = 0;
    for (int64_t i = 0; i < p->rows * p->columns; i++) {
        const double u = (double)fp8moe_upstream_ulp(p->expected[i], p->got[i]);
        const double r = (double)fp8moe_upstream_relative(p->expected[i], p->got[i]);
        ulp = isnan(ulp) || isnan(u) ? NAN : fmax(ulp, u);
        relative = isnan(relative) || isnan(r) ? NAN : fmax(relative, r);
    }
    assert_true(same_number(c->upstream_ulp, ulp));
    assert_true(same_number(c->upstream_relative, relative));
    assert_true(c->upstream_ulp_exceeds == (ulp > 2));
    assert_true(c->upstream_relative_exceeds == (relative > 0.05));
}

typedef struct slow_worst {
    double share;
    int64_t place;
} slow_worst;

/* Descending share of the row's largest magnitude; of equal ones the earlier place first. */
static int worst_first(const void *a, const void *b)
{
    const slow_worst *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return x->place < y->place ? -1 : 1;
}

static void check_worst(const pair *p, const fp8moe_comparison *c)
{
    const int64_t count = p->rows * p->columns;
    slow_worst *all = malloc((size_t)(count + 1) * sizeof *all);
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        const double e = (double)p->expected[i], g = (double)p->got[i];
        if (e == g || !isfinite(e) || !isfinite(g)) continue;
        const double amax = slow_amax(p, i / p->columns * p->columns, p->columns);
        all[n++] = (slow_worst){fabs(g - e) / amax, i};
    }
    qsort(all, (size_t)n, sizeof *all, worst_first);
    assert_int_equal(c->worst_count, n < FP8MOE_WORST_COUNT ? n : FP8MOE_WORST_COUNT);
    for (int k = 0; k < c->worst_count; k++) {
        const fp8moe_worst *w = &c->worst[k];
        const int64_t i = all[k].place;
        const double e = (double)p->expected[i], g = (double)p->got[i];
        const double unit = slow_unit(p, c->grid, w->row);
        assert_int_equal(w->row * p->columns + w->column, i);
        assert_true(w->expected == e && w->got == g);
        assert_int_equal(w->bf16_distance, abs(slow_bf16_ordinal(e) - slow_bf16_ordinal(g)));
        assert_int_equal(w->fp8_distance,
                         abs(slow_fp8_ordinal(e / unit) - slow_fp8_ordinal(g / unit)));
        assert_int_equal(w->expected_code & 0x7F, abs(slow_fp8_ordinal(e / unit)));
        assert_int_equal(w->got_code & 0x7F, abs(slow_fp8_ordinal(g / unit)));
        assert_int_equal(w->expected_code >> 7, signbit(e) != 0);
        assert_int_equal(w->got_code >> 7, signbit(g) != 0);
    }
    free(all);
}

static fp8moe_comparison compare_pair(const pair *p, fp8moe_grid grid, int threads)
{
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    options.grid = grid;
    options.threads = threads;
    const fp8moe_tensor expected =
        fp8moe_tensor_view(p->expected, FP8MOE_DTYPE_F32, 2, SHAPE(p->rows, p->columns));
    const fp8moe_tensor got =
        fp8moe_tensor_view(p->got, FP8MOE_DTYPE_F32, 2, SHAPE(p->rows, p->columns));
    fp8moe_comparison c;
    assert_int_equal(fp8moe_compare(&expected, &got, &options, &c, NULL), FP8MOE_OK);
    assert_int_equal(c.grid, grid);
    return c;
}

static void check_against_the_model(const pair *p)
{
    for (fp8moe_grid grid = FP8MOE_GRID_ROW; grid <= FP8MOE_GRID_UNSCALED; grid++) {
        const fp8moe_comparison c = compare_pair(p, grid, 1);
        check_classes(p, &c);
        check_metrics(p, &c);
        check_upstream(p, &c);
        check_distributions(p, &c);
        check_worst(p, &c);
    }
}

/* ---- matrices to compare ---- */

static uint32_t random_bits(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static pair make_pair(int64_t rows, int64_t columns)
{
    const size_t count = (size_t)(rows * columns);
    return (pair){rows, columns, calloc(count + 1, sizeof(float)),
                  calloc(count + 1, sizeof(float))};
}

static void free_pair(pair *p)
{
    free(p->expected);
    free(p->got);
}

static float random_value(uint32_t *random, double scale)
{
    return (float)(((double)random_bits(random) * 0x1p-23 - 1) * scale);
}

/* Rows of many magnitudes; every `faults`-th element differs, some of them in kind. */
static pair make_random_pair(int64_t rows, int64_t columns, uint32_t seed, uint32_t faults)
{
    static const float kinds[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1000.0f, -3e38f};
    pair p = make_pair(rows, columns);
    for (int64_t row = 0; row < rows; row++) {
        const double scale = ldexp(1, (int)(random_bits(&seed) % 24) - 14);
        for (int64_t i = row * columns; i < (row + 1) * columns; i++) {
            p.expected[i] = p.got[i] = random_value(&seed, scale);
            const uint32_t dice = random_bits(&seed) % (4 * faults);
            if (dice == 0) p.got[i] = random_value(&seed, scale);
            if (dice == 1) p.got[i] *= 1 + 0x1p-7f;
            if (dice == 2) p.expected[i] = kinds[random_bits(&seed) % COUNT(kinds)];
            if (dice == 3) p.got[i] = kinds[random_bits(&seed) % COUNT(kinds)];
            if (dice == 4) p.got[i] = p.expected[i] = kinds[random_bits(&seed) % COUNT(kinds)];
            if (dice == 5) p.got[i] = -p.expected[i];
        }
    }
    return p;
}

static void random_matrices_match_the_model(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, columns;
        uint32_t faults;
    } rows[] = {
        {1, 1, 1},  {1, 2, 1},    {2, 1, 1},   {3, 7, 2},   {5, 8, 3},
        {7, 9, 50}, {20, 65, 20}, {1, 300, 4}, {300, 1, 4}, {13, 128, 2},
        {0, 5, 1},  {5, 0, 1},    {0, 0, 1},   {30, 31, 1}, {9, 77, 1000},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (uint32_t seed = 1; seed <= 8; seed++) {
            pair p = make_random_pair(rows[i].rows, rows[i].columns, seed, rows[i].faults);
            check_against_the_model(&p);
            free_pair(&p);
        }
}

/* Longer than any buffer, with differences, NaN and the largest magnitude far apart. */
static void long_rows_match_the_model(void **state)
{
    (void)state;
    pair p = make_pair(2, 20011);
    uint32_t random = 3;
    for (int64_t i = 0; i < p.rows * p.columns; i++)
        p.expected[i] = p.got[i] = random_value(&random, 0.25);
    p.got[20010] = 7;
    p.got[3] *= 2;
    p.expected[20011 + 9000] = NAN;
    p.got[20011 + 17000] = -INFINITY;
    p.expected[20011 + 20010] = 3;
    const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    assert_int_equal(c.first_nonfinite_row, 1);
    assert_int_equal(c.first_nonfinite_column, 9000);
    assert_int_equal(c.worst[0].column, 20010);
    for (int64_t i = 0; i < 2; i++) { /* the model takes the amax of a row for every element */
        pair half = {1, p.columns, p.expected + i * p.columns, p.got + i * p.columns};
        fp8moe_comparison h = compare_pair(&half, FP8MOE_GRID_ROW, 1);
        check_metrics(&half, &h);
        check_upstream(&half, &h);
        check_distributions(&half, &h);
    }
    free_pair(&p);
}

static void check_same_bits(const fp8moe_comparison *a, const fp8moe_comparison *b)
{
    const double sums_a[] = {a->rel_l2,    a->cosine,       a->gain,
                             a->calc_diff, a->expected_rms, a->got_rms};
    const double sums_b[] = {b->rel_l2,    b->cosine,       b->gain,
                             b->calc_diff, b->expected_rms, b->got_rms};
    assert_memory_equal(sums_a, sums_b, sizeof sums_a);
    assert_memory_equal(&a->fp8, &b->fp8, sizeof a->fp8);
    assert_memory_equal(&a->bf16, &b->bf16, sizeof a->bf16);
    for (int i = 0; i < FP8MOE_WORST_COUNT; i++) {
        assert_int_equal(a->worst[i].row, b->worst[i].row);
        assert_int_equal(a->worst[i].column, b->worst[i].column);
    }
}

static void the_same_bits_from_any_number_of_threads(void **state)
{
    (void)state;
    pair p = make_random_pair(500, 301, 5, 20);
    for (fp8moe_grid grid = FP8MOE_GRID_ROW; grid <= FP8MOE_GRID_UNSCALED; grid++) {
        const fp8moe_comparison one = compare_pair(&p, grid, 1);
        for (int threads = 2; threads <= 7; threads++) {
            const fp8moe_comparison many = compare_pair(&p, grid, threads);
            check_classes(&p, &many);
            check_upstream(&p, &many);
            check_same_bits(&one, &many);
        }
    }
    free_pair(&p);
}

/* ---- cases ---- */

/* Case G05. */
static void a_nan_surfaces_wherever_it_is(void **state)
{
    (void)state;
    for (int index = 0; index < 10; index++)
        for (int sign = 0; sign < 2; sign++) {
            pair p = make_pair(1, 10);
            for (int i = 0; i < 10; i++)
                p.expected[i] = p.got[i] = 1;
            p.got[index] = sign ? -NAN : NAN;
            const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
            assert_false(fp8moe_comparison_same(&c));
            assert_int_equal(c.nonfinite_differs, 1);
            assert_int_equal(c.first_nonfinite_differs_row, 0);
            assert_int_equal(c.first_nonfinite_differs_column, index);
            assert_int_equal(c.identical, 9);
            /* Upstream sees the relative error, but a NaN of the other sign hides every ULP. */
            assert_true(c.upstream_relative_exceeds);
            assert_true(sign ? isnan(c.upstream_ulp) : c.upstream_ulp == 127 - 0x38);
            assert_true(c.upstream_ulp_exceeds == !sign);
            check_against_the_model(&p);
            free_pair(&p);
        }
}

static void a_nan_of_the_other_sign_hides_what_upstream_would_have_seen(void **state)
{
    (void)state;
    pair p = make_pair(1, 3);
    p.expected[0] = 1, p.got[0] = 2;
    p.expected[1] = NAN, p.got[1] = -NAN;
    p.expected[2] = 1, p.got[2] = 4;
    const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    assert_true(isnan(c.upstream_ulp));
    assert_false(c.upstream_ulp_exceeds || c.upstream_relative_exceeds);
    assert_int_equal(c.different, 2);
    assert_int_equal(c.nonfinite_same, 1);
    assert_false(fp8moe_comparison_same(&c));
    free_pair(&p);
}

/* Upstream's bars are strict. The f32 nearest to 0.05 lies above it, and upstream compares it as a
 * Python float. */
static void exactly_at_a_bar_is_quiet(void **state)
{
    (void)state;
    static const struct {
        float expected, got;
        bool ulp, relative;
    } rows[] = {
        {1, 1.25f, false, false},
        {1, 1.375f, true, false},
        {0.001953125f, -0.001953125f, false, false},
        {950, 1049, false, false},
        {950, 1050, false, true},
        {500, 1000, false, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        pair p = make_pair(1, 1);
        p.expected[0] = rows[i].expected, p.got[0] = rows[i].got;
        const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
        assert_true(c.upstream_ulp_exceeds == rows[i].ulp);
        assert_true(c.upstream_relative_exceeds == rows[i].relative);
        free_pair(&p);
    }
}

/* Case G08. */
static void shapes_must_be_equal_but_for_leading_ones(void **state)
{
    (void)state;
    static const struct {
        int rank_a, rank_b;
        int64_t a[4], b[4];
        bool compared;
    } rows[] = {
        {2, 2, {2, 3}, {3, 2}, false},
        {1, 2, {4}, {4, 1}, false},
        {3, 2, {1, 2, 3}, {2, 3}, true},
        {1, 1, {6}, {6}, true},
        {2, 1, {1, 6}, {6}, true},
        {1, 2, {6}, {6, 1}, false},
        {2, 1, {2, 3}, {6}, false},
        {3, 3, {2, 1, 3}, {1, 2, 3}, false},
        {0, 1, {0}, {1}, true},
        {1, 3, {1}, {1, 1, 1}, true},
        {2, 2, {2, 3}, {2, 2}, false},
        {2, 2, {0, 3}, {0, 2}, false},
        {4, 2, {1, 1, 2, 3}, {2, 3}, true},
        {1, 1, {5}, {6}, false},
    };
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const fp8moe_tensor a =
            fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, rows[i].rank_a, rows[i].a);
        const fp8moe_tensor b =
            fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, rows[i].rank_b, rows[i].b);
        fp8moe_comparison c;
        fp8moe_error err;
        const fp8moe_status status = fp8moe_compare(&a, &b, &options, &c, &err);
        assert_int_equal(status, rows[i].compared ? FP8MOE_OK : FP8MOE_ERR_SHAPE);
        if (rows[i].compared) {
            assert_int_equal(c.count, fp8moe_tensor_count(&a));
            assert_int_equal(c.identical, c.count);
        }
    }
}

static void a_refused_shape_is_named(void **state)
{
    (void)state;
    static const float data[12];
    const fp8moe_tensor a = fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, 2, SHAPE(4, 3));
    const fp8moe_tensor b = fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, 2, SHAPE(3, 4));
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    fp8moe_comparison c;
    fp8moe_error err;
    assert_int_equal(fp8moe_compare(&a, &b, &options, &c, &err), FP8MOE_ERR_SHAPE);
    assert_non_null(strstr(err.message, "[4, 3]"));
    assert_non_null(strstr(err.message, "[3, 4]"));

    fp8moe_tensor permuted = fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, 3, SHAPE(2, 3, 2));
    permuted.stride[0] = 2, permuted.stride[1] = 4;
    assert_int_equal(fp8moe_compare(&permuted, &permuted, &options, &c, &err), FP8MOE_ERR_SHAPE);
}

static void dtypes_must_be_numbers(void **state)
{
    (void)state;
    static const unsigned char data[8];
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    const fp8moe_tensor number = fp8moe_tensor_view(data, FP8MOE_DTYPE_U8, 1, SHAPE(4));
    const fp8moe_tensor opaque = fp8moe_tensor_view(data, FP8MOE_DTYPE_V8, 1, SHAPE(4));
    const fp8moe_tensor absent = {0};
    fp8moe_comparison c;
    fp8moe_error err;
    assert_int_equal(fp8moe_compare(&number, &opaque, &options, &c, &err), FP8MOE_ERR_DTYPE);
    assert_non_null(strstr(err.message, "V8"));
    assert_int_equal(fp8moe_compare(&opaque, &number, &options, &c, &err), FP8MOE_ERR_DTYPE);
    assert_int_equal(fp8moe_compare(&absent, &number, &options, &c, &err), FP8MOE_ERR_DTYPE);
}

/* Values count, not how they are stored. */
static void dtypes_may_differ(void **state)
{
    (void)state;
    static const uint16_t bf16[] = {0x3F80, 0x8000, 0x7FC0, 0xFF80, 0x4049};
    static const double f64[] = {1, 0, NAN, -INFINITY, 3.140625 + 0x1p-40};
    const fp8moe_tensor a = fp8moe_tensor_view(bf16, FP8MOE_DTYPE_BF16, 1, SHAPE(5));
    const fp8moe_tensor b = fp8moe_tensor_view(f64, FP8MOE_DTYPE_F64, 1, SHAPE(5));
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    fp8moe_comparison c;
    assert_int_equal(fp8moe_compare(&a, &b, &options, &c, NULL), FP8MOE_OK);
    assert_int_equal(c.padding, 1);
    assert_int_equal(c.identical, 3);
    assert_int_equal(c.nonfinite_same, 2);
    assert_int_equal(c.different, 1);
    assert_true(c.max_abs == 0x1p-40);
    assert_true(c.bf16.max == 0);
}

/* Strided and byte-swapped views are read as what they show. */
static void views_are_compared_as_seen(void **state)
{
    (void)state;
    static const float rows[6] = {1, 2, 3, 4, 5, 6};
    static const float columns[6] = {1, 4, 2, 5, 3, 7};
    const fp8moe_tensor a = fp8moe_tensor_view(rows, FP8MOE_DTYPE_F32, 2, SHAPE(2, 3));
    fp8moe_tensor b = fp8moe_tensor_view(columns, FP8MOE_DTYPE_F32, 2, SHAPE(2, 3));
    b.stride[0] = 1, b.stride[1] = 2;
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    fp8moe_comparison c;
    assert_int_equal(fp8moe_compare(&a, &b, &options, &c, NULL), FP8MOE_OK);
    assert_int_equal(c.identical, 5);
    assert_int_equal(c.worst_count, 1);
    assert_int_equal(c.worst[0].row, 1);
    assert_int_equal(c.worst[0].column, 2);
    assert_true(c.worst[0].expected == 6 && c.worst[0].got == 7);
}

static void padding_enters_no_share(void **state)
{
    (void)state;
    pair p = make_pair(4, 25); /* three rows of zeros, some negative, and one row of numbers */
    for (int i = 0; i < 25; i++) {
        p.got[i] = -0.0f;
        p.expected[75 + i] = p.got[75 + i] = 1;
    }
    p.got[75] = 1.5f;
    const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    assert_int_equal(c.padding, 75);
    assert_true(c.identical_share == 24.0 / 25);
    assert_true(c.within_tolerance == 24.0 / 25);
    assert_true(c.below_resolution == 0);
    assert_true(c.bf16.p50 == 0 && c.bf16.max == 64);
    check_against_the_model(&p);
    free_pair(&p);
}

static void nothing_is_the_same_as_nothing(void **state)
{
    (void)state;
    pair p = make_pair(3, 4);
    const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    assert_int_equal(c.padding, 12);
    assert_true(c.identical_share == 1 && c.within_tolerance == 1);
    assert_true(isnan(c.rel_l2) && isnan(c.cosine) && isnan(c.gain) && isnan(c.calc_diff));
    assert_true(c.max_abs == 0 && c.max_rel == 0 && c.fp8.max == 0);
    assert_true(fp8moe_comparison_same(&c));
    free_pair(&p);
}

static void identical_tensors_are_exactly_so(void **state)
{
    (void)state;
    pair p = make_pair(3, 1000);
    uint32_t random = 1;
    for (int i = 0; i < 3000; i++)
        p.expected[i] = p.got[i] = random_value(&random, 1e-30);
    const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    assert_true(c.rel_l2 == 0 && c.gain == 1 && c.cosine == 1 && c.calc_diff == 0);
    assert_true(c.max_abs == 0 && c.max_rel == 0 && c.within_tolerance == 1);
    assert_int_equal(c.worst_count, 0);
    free_pair(&p);
}

/* What the unscaled grid cannot see the row's grid can: a gain of 1.3 at rms 0.0016. */
static void the_row_grid_follows_the_rows_scale(void **state)
{
    (void)state;
    pair p = make_pair(2, 64);
    uint32_t random = 9;
    for (int i = 0; i < 128; i++) {
        p.expected[i] = random_value(&random, i < 64 ? 0.0016 : 1.0);
        p.got[i] = p.expected[i] * 1.3f;
    }
    const fp8moe_comparison row = compare_pair(&p, FP8MOE_GRID_ROW, 1);
    const fp8moe_comparison tensor = compare_pair(&p, FP8MOE_GRID_TENSOR, 1);
    const fp8moe_comparison unscaled = compare_pair(&p, FP8MOE_GRID_UNSCALED, 1);
    assert_true(row.fp8.p50 >= 3);
    assert_true(unscaled.fp8.p50 <= 1);
    assert_true(tensor.fp8.max <= row.fp8.max && tensor.fp8.p50 > unscaled.fp8.p50);
    free_pair(&p);
}

/* ---- the provisional rule ---- */

static void the_rule_has_three_conditions(void **state)
{
    (void)state;
    static const struct {
        int small, large, tiny;
        bool nan, same;
        const char *reason;
    } rows[] = {
        {0, 0, 0, false, true, "identical"},
        {2, 0, 0, false, true, "99 % identical, the rest one bf16 step off"},
        {3, 0, 0, false, false, "98.5 % identical"},
        {0, 1, 0, false, false, "one element three bf16 steps off"},
        {0, 0, 2, false, true, "many bf16 steps, but less than 1e-6 of the row's amax"},
        {0, 0, 0, true, false, "NaN on one side"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        pair p = make_pair(1, 200);
        for (int k = 0; k < 200; k++)
            p.expected[k] = p.got[k] = 1;
        for (int k = 0; k < rows[i].small; k++)
            p.got[k] = 1 + 0x1p-7f;
        for (int k = 0; k < rows[i].large; k++)
            p.got[10 + k] = 1 + 3 * 0x1p-7f;
        for (int k = 0; k < rows[i].tiny; k++)
            p.expected[20 + k] = 1e-8f, p.got[20 + k] = 5e-7f;
        if (rows[i].nan) p.got[30] = NAN;
        const fp8moe_comparison c = compare_pair(&p, FP8MOE_GRID_ROW, 1);
        if (fp8moe_comparison_same(&c) != rows[i].same) fail_msg("%s", rows[i].reason);
        free_pair(&p);
    }
}

static void tolerance_is_that_of_the_options(void **state)
{
    (void)state;
    static const float expected[4] = {1, 10, -100, 0}, got[4] = {1.05f, 10.5f, -103, 0.04f};
    const fp8moe_tensor a = fp8moe_tensor_view(expected, FP8MOE_DTYPE_F32, 1, SHAPE(4));
    const fp8moe_tensor b = fp8moe_tensor_view(got, FP8MOE_DTYPE_F32, 1, SHAPE(4));
    static const struct {
        double atol, rtol, share;
    } rows[] = {{0, 0, 0}, {0.06, 0, 0.5}, {0, 0.04, 0.25}, {0.06, 0.045, 1}, {0.04, 0.03, 0.75}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_compare_options options;
        fp8moe_compare_options_default(&options);
        assert_true(options.grid == FP8MOE_GRID_ROW && options.atol == 1e-3 &&
                    options.rtol == 1e-3);
        options.atol = rows[i].atol, options.rtol = rows[i].rtol;
        fp8moe_comparison c;
        assert_int_equal(fp8moe_compare(&a, &b, &options, &c, NULL), FP8MOE_OK);
        if (c.within_tolerance != rows[i].share)
            fail_msg("atol %g, rtol %g: %g", rows[i].atol, rows[i].rtol, c.within_tolerance);
    }
}

/* ---- bars of other tools ---- */

typedef struct bar_row {
    const char *what;
    double expected[4], got[4];
    bool close, calc, hit;
    int64_t not_close, missed;
} bar_row;

static const bar_row bar_rows[] = {
    {"equal", {1, 2, 3, 4}, {1, 2, 3, 4}, true, true, true, 0, 0},
    {"0.006 of 4, where 0.005 is close", {1, 2, 3, 4}, {1, 2, 3, 4.006}, false, true, true, 1, 0},
    {"just close", {1, -1, 1, 1}, {1.0019, -1.0019, 1, 1}, true, true, true, 0, 0},
    {"one of four off by a half", {1, 1, 1, 1}, {1, 1, 1, 1.5}, false, false, false, 1, 1},
    {"all 5 % too large", {1, 1, 1, 1}, {1.05, 1.05, 1.05, 1.05}, false, false, true, 4, 0},
    {"from nothing", {0, 0, 0, 0}, {0.0009, 0, 0, 0}, true, false, true, 0, 0},
    {"nothing at all: 0/0", {0, 0, 0, 0}, {0, 0, 0, 0}, true, false, true, 0, 0},
    {"NaN on both sides", {NAN, 1, 1, 1}, {NAN, 1, 1, 1}, false, false, false, 1, 1},
    {"equal infinities", {INFINITY, 1, 1, 1}, {INFINITY, 1, 1, 1}, true, false, true, 0, 0},
    {"infinity on one side", {1, 1, 1, 1}, {INFINITY, 1, 1, 1}, false, false, false, 1, 1},
    {"opposite ones", {INFINITY, 1, 1, 1}, {-INFINITY, 1, 1, 1}, false, false, false, 1, 1},
};

static fp8moe_comparison compare_numbers(const double *expected, const double *got, int64_t count)
{
    const int64_t shape[2] = {1, count};
    const fp8moe_tensor a = fp8moe_tensor_view(expected, FP8MOE_DTYPE_F64, 2, shape),
                        b = fp8moe_tensor_view(got, FP8MOE_DTYPE_F64, 2, shape);
    fp8moe_compare_options options;
    fp8moe_comparison c;
    fp8moe_compare_options_default(&options);
    assert_int_equal(fp8moe_compare(&a, &b, &options, &c, NULL), FP8MOE_OK);
    return c;
}

static void bars_of_others_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bar_rows); i++) {
        const bar_row *const r = &bar_rows[i];
        const fp8moe_comparison c = compare_numbers(r->expected, r->got, 4);
        const fp8moe_bar *const b = c.bars;
        if (b[1].passes != r->close || b[2].passes != r->calc || b[3].passes != r->hit ||
            b[1].outside != r->not_close || b[2].outside != -1 || b[3].outside != r->missed)
            fail_msg("%s: %d %d %d, %d and %d outside", r->what, b[1].passes, b[2].passes,
                     b[3].passes, (int)b[1].outside, (int)b[3].outside);
        assert_true(b[0].passes == (!c.upstream_ulp_exceeds && !c.upstream_relative_exceeds));
        assert_true(b[0].outside == c.upstream_over);
    }
}

/* 17 of 20 are 85 %. */
static void a_hit_ratio_of_85_percent_is_enough(void **state)
{
    (void)state;
    double expected[20], got[20];
    for (int i = 0; i < 20; i++)
        expected[i] = got[i] = 1;
    for (int off = 0; off < 5; off++) {
        assert_true(compare_numbers(expected, got, 20).bars[3].passes == (off <= 3));
        got[off * 5 % 20 + off / 4] = -1;
    }
}

static void grids_have_names(void **state)
{
    (void)state;
    assert_string_equal(fp8moe_grid_name(FP8MOE_GRID_ROW), "row");
    assert_string_equal(fp8moe_grid_name(FP8MOE_GRID_TENSOR), "tensor");
    assert_string_equal(fp8moe_grid_name(FP8MOE_GRID_UNSCALED), "unscaled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_measure_what_upstream_measures),
        cmocka_unit_test(fp8_distance_counts_codes_of_scaled_values),
        cmocka_unit_test(bf16_distance_counts_bf16_numbers),
        cmocka_unit_test(random_matrices_match_the_model),
        cmocka_unit_test(long_rows_match_the_model),
        cmocka_unit_test(the_same_bits_from_any_number_of_threads),
        cmocka_unit_test(a_nan_surfaces_wherever_it_is),
        cmocka_unit_test(a_nan_of_the_other_sign_hides_what_upstream_would_have_seen),
        cmocka_unit_test(exactly_at_a_bar_is_quiet),
        cmocka_unit_test(shapes_must_be_equal_but_for_leading_ones),
        cmocka_unit_test(a_refused_shape_is_named),
        cmocka_unit_test(dtypes_must_be_numbers),
        cmocka_unit_test(dtypes_may_differ),
        cmocka_unit_test(views_are_compared_as_seen),
        cmocka_unit_test(padding_enters_no_share),
        cmocka_unit_test(nothing_is_the_same_as_nothing),
        cmocka_unit_test(identical_tensors_are_exactly_so),
        cmocka_unit_test(the_row_grid_follows_the_rows_scale),
        cmocka_unit_test(the_rule_has_three_conditions),
        cmocka_unit_test(tolerance_is_that_of_the_options),
        cmocka_unit_test(bars_of_others_are_told),
        cmocka_unit_test(a_hit_ratio_of_85_percent_is_enough),
        cmocka_unit_test(grids_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

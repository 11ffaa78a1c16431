/* Intervals against the slow model of formats: every point of an interval, taken through a step by
 * itself, lies in what the interval becomes, and the ends are reached. */
#include "interval.h"
#include "slow_forward.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define INF ((double)INFINITY)

typedef struct format_row {
    fp8moe_precision precision;
    const slow_format *format;
} format_row;

static const format_row formats[] = {{FP8MOE_ROUND_BF16, &slow_bf16},
                                     {FP8MOE_ROUND_TF32, &slow_tf32},
                                     {FP8MOE_ROUND_F32, &slow_f32}};

static uint64_t state = 1;

/* In [0, 1). */
static double some(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) * 0x1p-53;
}

/* Of any sign, from 2^-low to 2^high. */
static double some_number(int low, int high)
{
    const double magnitude = ldexp(1 + some(), -low + (int)(some() * (low + high)));
    return some() < 0.5 ? -magnitude : magnitude;
}

static interval some_interval(int low, int high)
{
    const double a = some_number(low, high), b = some_number(low, high);
    return a < b ? (interval){a, b} : (interval){b, a};
}

static double between(interval x)
{
    const double u = some();
    return u < 0.1 ? x.low : u < 0.2 ? x.high : x.low + (x.high - x.low) * some();
}

static bool holds(interval x, double value)
{
    return value >= x.low && value <= x.high;
}

/* ---- rounding and steps ---- */

static void both_ends_are_rounded(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < COUNT(formats); f++)
        for (int n = 0; n < 20000; n++) {
            const interval x = some_interval(160, 120);
            const interval rounded = interval_round(formats[f].precision, x);
            assert_true(rounded.low == slow_to(formats[f].precision, x.low));
            assert_true(rounded.high == slow_to(formats[f].precision, x.high));
            assert_true(holds(rounded, slow_to(formats[f].precision, between(x))));
        }
}

/* Signed number of a code on one line: minus, zero, plus. */
static double on_line(const slow_format *format, int64_t code)
{
    const int64_t magnitude = code < 0 ? -code : code;
    if (magnitude >= format->finite_codes) return code < 0 ? -INF : INF;
    const double value = slow_decode(format, (uint32_t)magnitude);
    return code < 0 ? -value : value;
}

static void steps_count_codes(void **unused)
{
    (void)unused;
    static const int64_t near[] = {0, 1, 2, 127, 128, 129, 255};
    for (size_t f = 0; f < COUNT(formats); f++) {
        const slow_format *const format = formats[f].format;
        for (size_t at = 0; at < 2 * COUNT(near) + 400; at++) {
            const int64_t last = format->finite_codes - 1;
            const int64_t code = at < COUNT(near)       ? near[at]
                                 : at < 2 * COUNT(near) ? last - near[at - COUNT(near)]
                                                        : (int64_t)(some() * (double)last);
            for (int sign = -1; sign <= 1; sign += 2)
                for (int steps = -3; steps <= 3; steps++) {
                    const double got =
                        interval_step(formats[f].precision, on_line(format, sign * code), steps);
                    if (got != on_line(format, sign * code + steps))
                        fail_msg("%d steps from code %lld: %g", steps, (long long)(sign * code),
                                 got);
                }
        }
    }
}

static void steps_in_float64_are_neighbours(void **unused)
{
    (void)unused;
    static const double at[] = {0, 1, -1, 0x1p-1074, -0x1p-1074, 1.5, DBL_MAX, 0x1p-1022};
    for (size_t i = 0; i < COUNT(at); i++)
        for (int p = FP8MOE_ROUND_NONE; p <= FP8MOE_ROUND_F64; p++) {
            const fp8moe_precision precision = (fp8moe_precision)p;
            const double up = nextafter(at[i], INF), down = nextafter(at[i], -INF);
            assert_true(interval_step(precision, at[i], 1) == up);
            assert_true(interval_step(precision, at[i], -1) == down);
            assert_true(interval_step(precision, at[i], 2) == nextafter(up, INF));
        }
}

static void a_nan_stays_one(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < COUNT(formats); f++)
        assert_true(isnan(interval_step(formats[f].precision, (double)NAN, 1)));
    assert_true(isnan(interval_step(FP8MOE_ROUND_F64, (double)NAN, -1)));
    const interval x = interval_silu((interval){(double)NAN, 1});
    assert_true(isnan(x.low) && isnan(x.high));
    const interval y = interval_silu((interval){-3, (double)NAN});
    assert_true(isnan(y.low) && isnan(y.high));
}

static void infinity_is_the_last_step(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < COUNT(formats); f++) {
        assert_true(interval_step(formats[f].precision, INF, 1) == INF);
        assert_true(interval_step(formats[f].precision, -INF, -2) == -INF);
    }
    assert_true(interval_step(FP8MOE_ROUND_F64, INF, 1) == INF);
    assert_true(interval_step(FP8MOE_ROUND_F64, -DBL_MAX, -2) == -INF);
}

static void widening_moves_each_end_outwards(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < COUNT(formats); f++)
        for (int steps = 0; steps <= 2; steps++)
            for (int n = 0; n < 2000; n++) {
                const fp8moe_precision p = formats[f].precision;
                const interval x = interval_round(p, some_interval(30, 30));
                const interval wide = interval_widen(p, x, steps);
                assert_true(wide.low == interval_step(p, x.low, -steps));
                assert_true(wide.high == interval_step(p, x.high, steps));
            }
}

static void spacing_is_the_distance_to_the_next(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < COUNT(formats); f++)
        for (int n = 0; n < 2000; n++) {
            const slow_format *const format = formats[f].format;
            const double value = some_number(100, 100);
            const uint32_t code = slow_encode(format, fabs(value));
            const double want = slow_decode(format, code + 1) - slow_decode(format, code);
            assert_true(interval_spacing(formats[f].precision, value) == want);
        }
    assert_true(interval_spacing(FP8MOE_ROUND_BF16, 0) == slow_decode(&slow_bf16, 1));
    assert_true(interval_spacing(FP8MOE_ROUND_BF16, -1) == 0x1p-7);
}

/* ---- products and silu ---- */

static void products_are_held_and_corners_reached(void **unused)
{
    (void)unused;
    for (int n = 0; n < 50000; n++) {
        const interval a = some_interval(4, 4), b = some_interval(4, 4);
        const interval product = interval_times(a, b);
        assert_true(holds(product, between(a) * between(b)));
        const double ends[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
        int low = 0, high = 0;
        for (int i = 0; i < 4; i++) {
            low += ends[i] == product.low;
            high += ends[i] == product.high;
        }
        assert_true(low && high);
    }
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

static void silu_is_held_around_its_minimum(void **unused)
{
    (void)unused;
    for (int n = 0; n < 100000; n++) {
        const interval x = some_interval(6, 4), y = interval_silu(x);
        const double v = silu(between(x));
        assert_true(v >= y.low - 1e-12 * (1 + fabs(v)) && v <= y.high + 1e-12 * (1 + fabs(v)));
        /* Tight: the ends are values of silu at an end of x or at its minimum. */
        const double a = silu(x.low), b = silu(x.high), least = -0.2784645427610738;
        assert_true(close_to(y.high, fmax(a, b)));
        const bool over = x.low < -1.2784645427610738 && x.high > -1.2784645427610738;
        assert_true(close_to(y.low, over ? least : fmin(a, b)));
    }
    /* Ends of equal height on both sides of the minimum would otherwise hold nothing between. */
    const interval narrow = interval_silu((interval){-1.279, -1.278});
    assert_true(narrow.low == -0.2784645427610738 && narrow.high > narrow.low);
    const interval wide = interval_silu((interval){-1e300, INF});
    assert_true(wide.low == -0.2784645427610738 && wide.high == INF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_are_rounded),
        cmocka_unit_test(steps_count_codes),
        cmocka_unit_test(steps_in_float64_are_neighbours),
        cmocka_unit_test(a_nan_stays_one),
        cmocka_unit_test(infinity_is_the_last_step),
        cmocka_unit_test(widening_moves_each_end_outwards),
        cmocka_unit_test(spacing_is_the_distance_to_the_next),
        cmocka_unit_test(products_are_held_and_corners_reached),
        cmocka_unit_test(silu_is_held_around_its_minimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

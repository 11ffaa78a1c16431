/* Quantisation of rows: figures of numerics.md 1.1, edges, and random rows against the slow model.
 */
#include "quant.h"
#include "slow_forward.h"

#include <fp8moe/isa.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const fp8moe_precision bf16 = FP8MOE_ROUND_BF16, f32 = FP8MOE_ROUND_F32;

/* Of the instruction set under test. */
static kernels k;

static const fp8moe_target *target(const char *name)
{
    return fp8moe_target_find(name);
}

static uint64_t random_state;

/* Of every binade from 2^low to 2^high. */
static double random_number(int low, int high)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t bits = random_state >> 16;
    const double mantissa = 1 + (double)(bits & 0xFFFFFF) * 0x1p-24;
    const int exponent = low + (int)(bits >> 24) % (high - low + 1);
    return ldexp(bits >> 40 & 1 ? -mantissa : mantissa, exponent);
}

/* ---- the model itself ---- */

/* The model's quick rounding is the search through all codes. */
static void the_models_two_roundings_agree(void **state)
{
    (void)state;
    static const slow_format *const formats[] = {&slow_bf16, &slow_tf32, &slow_f16};
    for (size_t f = 0; f < COUNT(formats); f++) {
        const uint32_t step = formats[f]->finite_codes / 4000 + 1;
        for (uint32_t code = 0; code < formats[f]->finite_codes; code += code < 300 ? 1 : step) {
            double probes[SLOW_PROBES];
            slow_probes(formats[f], code, probes);
            for (int i = 0; i < SLOW_PROBES; i++) {
                if (formats[f] == &slow_e4m3fn && probes[i] > 448)
                    continue; /* no Inf to round to */
                assert_true(slow_nearest(formats[f], probes[i]) ==
                            slow_round(formats[f], probes[i]));
                assert_true(slow_nearest(formats[f], -probes[i]) ==
                            -slow_round(formats[f], probes[i]));
            }
        }
    }
}

/* ---- steps ---- */

static void scale_arithmetic_is_the_targets_or_the_cells(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        fp8moe_cast cast;
        fp8moe_precision input, want;
    } rows[] = {
        {"gaudi2", FP8MOE_CAST_BF16, FP8MOE_ROUND_BF16, FP8MOE_ROUND_BF16},
        {"gaudi3", FP8MOE_CAST_BF16, FP8MOE_ROUND_BF16, FP8MOE_ROUND_BF16},
        {"ocp", FP8MOE_CAST_BF16, FP8MOE_ROUND_BF16, FP8MOE_ROUND_F32},
        {"gaudi2", FP8MOE_CAST_BF16, FP8MOE_ROUND_F32, FP8MOE_ROUND_F32},
        {"ocp", FP8MOE_CAST_BF16, FP8MOE_ROUND_F32, FP8MOE_ROUND_F32},
        {"gaudi2", FP8MOE_CAST_F32, FP8MOE_ROUND_BF16, FP8MOE_ROUND_F32},
        {"gaudi3", FP8MOE_CAST_F32, FP8MOE_ROUND_BF16, FP8MOE_ROUND_F32},
        {"ocp", FP8MOE_CAST_F32, FP8MOE_ROUND_BF16, FP8MOE_ROUND_F32},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(quant_steps(target(rows[i].target), rows[i].cast, rows[i].input),
                         rows[i].want);
}

/* ---- scales ---- */

/* numerics.md 1.1, "Consequences". */
static void epsilon_moves_small_rows_only(void **state)
{
    (void)state;
    const fp8moe_target *const gaudi3 = target("gaudi3"), *const gaudi2 = target("gaudi2");
    /* zero rows: 2.2396e-11 in bf16 steps, 2.232e-11 in f32 steps */
    assert_true(fabs(quant_scale(gaudi3, bf16, 0) - 2.2396e-11) < 1e-15);
    assert_true(fabs(quant_scale(gaudi3, f32, 0) - 2.232e-11) < 1e-14);
    assert_true(quant_scale(gaudi2, bf16, 0) == slow_bf16_of(slow_bf16_of(1e-8) / 240));
    /* the largest bf16 amax that the sum moves is 3.7998e-6 */
    const double largest = slow_bf16_of(3.7998e-6), next = largest + ldexp(1, ilogb(largest) - 7);
    assert_true(slow_bf16_of(largest + 1e-8) == next && slow_bf16_of(next + 1e-8) == next);
    int moved = 0;
    for (double amax = 0x1p-20; amax <= largest; amax = slow_bf16_of(amax * (1 + 0x1p-7))) {
        assert_true(quant_scale(gaudi3, bf16, amax) ==
                    slow_bf16_of(slow_bf16_of(amax + 1e-8) / 448));
        moved += quant_scale(gaudi3, bf16, amax) != slow_bf16_of(amax / 448);
    }
    assert_true(moved > 100);
    for (double amax = next; amax < 1; amax = slow_bf16_of(amax * (1 + 0x1p-7)))
        assert_true(quant_scale(gaudi3, bf16, amax) == slow_bf16_of(amax / 448));
    /* in f32 up to about a quarter */
    assert_true(quant_scale(gaudi3, f32, 0.24) != slow_f32_of(slow_f32_of(0.24) / 448));
    assert_true(quant_scale(gaudi3, f32, 0.5) == slow_f32_of(0.5 / 448));
}

static void the_scale_has_two_roundings(void **state)
{
    (void)state;
    /* bf16: 1 + 2^-7 is the least above 1; 1e-8 is lost; / 240 rounds to 8 bits. */
    assert_true(quant_scale(target("gaudi2"), bf16, 1 + 0x1p-7) ==
                slow_bf16_of((1 + 0x1p-7) / 240));
    assert_true(quant_scale(target("gaudi3"), bf16, 3) == 0.006683349609375); /* case B04 */
    assert_true(quant_scale(target("gaudi3"), f32, 3) == 0.0066964286379516125);
    /* the sum alone: amax + 1e-8 in bf16 is not amax + 1e-8 */
    const double amax = 0x1p-27; /* 7.45e-9 */
    assert_true(quant_scale(target("gaudi3"), bf16, amax) ==
                slow_bf16_of(slow_bf16_of(amax + 1e-8) / 448));
    assert_true(slow_bf16_of(amax + 1e-8) / 448 != (amax + 1e-8) / 448);
}

static void amax_is_the_largest_magnitude(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    assert_true(k.amax(NULL, 0) == 0);
    assert_true(k.amax((const double[]){1, -3, 2}, 3) == 3);
    assert_true(!signbit(k.amax((const double[]){-0.0}, 1)));
    assert_true(k.amax((const double[]){1, -inf}, 2) == inf);
    assert_true(isnan(k.amax((const double[]){nan, 1}, 2)));
    assert_true(isnan(k.amax((const double[]){1, nan}, 2)));
    assert_true(isnan(k.amax((const double[]){inf, nan, inf}, 3)));
}

/* ---- rows ---- */

static void expect_row(const char *name, fp8moe_precision steps, const double *x, int n,
                       double scale, const uint8_t *codes)
{
    uint8_t got[16];
    memset(got, 0x55, sizeof got);
    const double got_scale = quant_row(&k, target(name), steps, x, n, got);
    assert_true(isnan(scale) ? isnan(got_scale) : got_scale == scale);
    assert_memory_equal(got, codes, (size_t)n);
    assert_int_equal(got[n], 0x55);
}

static void rows_worked_by_hand(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    /* Of an Inf: 1/Inf = 0 and Inf * 0 = NaN, the rest 0. */
    expect_row("gaudi3", bf16, (const double[]){-inf, 1, -1, -0.0}, 4, inf,
               (const uint8_t[]){0x7F, 0, 0x80, 0x80});
    expect_row("gaudi2", f32, (const double[]){1, inf}, 2, inf, (const uint8_t[]){0, 0x7F});
    expect_row("gaudi3", bf16, (const double[]){1, nan, inf}, 3, nan,
               (const uint8_t[]){0x7F, 0x7F, 0x7F});
    expect_row("ocp", f32, (const double[]){-nan, 0}, 2, nan, (const uint8_t[]){0x7F, 0x7F});
    expect_row("gaudi3", bf16, (const double[]){448, -224, 1}, 3, 1,
               (const uint8_t[]){0x7E, 0xF6, 0x38});
    expect_row("gaudi2", bf16, (const double[]){240, -120, 1}, 3, 1,
               (const uint8_t[]){0x77, 0xEF, 0x38});
    /* amax 3: scale 3/448 and its inverse are bf16 numbers, 2.25 * 150 = 337.5 (case B04) */
    expect_row("gaudi3", bf16, (const double[]){3, 2.25, 1.5, 0.9375}, 4, 0.006683349609375,
               (const uint8_t[]){0x7E, 0x7B, 0x76, 0x71});
    expect_row("gaudi3", f32, (const double[]){3, 2.25, 1.5, 0.9375}, 4, 0.0066964286379516125,
               (const uint8_t[]){0x7E, 0x7A, 0x76, 0x71});
    expect_row("gaudi3", bf16, NULL, 0, quant_scale(target("gaudi3"), bf16, 0), NULL);
}

/* amax * inverse lands in {446, 448, 450} or {239, 240, 241}, and the code is that of the maximum.
 */
static void the_largest_of_a_row_becomes_the_largest_code(void **state)
{
    (void)state;
    for (double amax = 0x1p-18 * (1 + 0x1p-7); amax < 0x1p100; amax *= 1 + 0x1p-7) {
        const double x[1] = {slow_bf16_of(amax)};
        uint8_t code;
        (void)quant_row(&k, target("gaudi3"), bf16, x, 1, &code);
        assert_int_equal(code, 0x7E);
        (void)quant_row(&k, target("gaudi2"), bf16, x, 1, &code);
        assert_int_equal(code, 0x77);
    }
}

static void random_rows_are_those_of_the_model(void **state)
{
    (void)state;
    double x[33];
    uint8_t got[33], want[33];
    random_state = 1;
    for (int n = 0; n < 3000; n++) {
        const fp8moe_target *const t = fp8moe_target_at((size_t)n % 3);
        const fp8moe_precision steps = n % 2 ? bf16 : f32;
        const int high = n % 5 ? 3 : -20;
        for (int i = 0; i < 33; i++)
            x[i] = slow_to(steps, random_number(high - 12, high));
        const double scale = quant_row(&k, t, steps, x, 33, got);
        assert_true(scale == slow_quantise(t, steps, x, 33, want));
        assert_memory_equal(got, want, 33);
    }
}

/* ---- static ---- */

static void static_casts_follow_their_cell(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double x[] = {1, -inf, (double)NAN, 1e30, -0.0};
    uint8_t got[5];
    /* Infinities and what is too large saturate. */
    quant_static(&k, target("gaudi2"), FP8MOE_CAST_F32_DIVISION, 0.5, x, 5, got);
    assert_memory_equal(got, ((const uint8_t[]){0x40, 0xF7, 0x7F, 0x77, 0x80}), 5);
    quant_static(&k, target("ocp"), FP8MOE_CAST_BF16_INVERSE, 0.5, x, 5, got);
    assert_memory_equal(got, ((const uint8_t[]){0x40, 0xFE, 0x7F, 0x7E, 0x80}), 5);
}

static void random_static_casts_are_those_of_the_model(void **state)
{
    (void)state;
    double x[33];
    uint8_t got[33], want[33];
    int64_t differ = 0;
    random_state = 2;
    for (int n = 0; n < 1000; n++) {
        const fp8moe_target *const t = fp8moe_target_at((size_t)n % 3);
        const double scale = slow_f32_of(fabs(random_number(-12, -5)));
        for (int i = 0; i < 33; i++)
            x[i] = slow_bf16_of(random_number(-9, 3));
        for (int cast = FP8MOE_CAST_BF16_INVERSE; cast <= FP8MOE_CAST_F32_DIVISION; cast++) {
            quant_static(&k, t, (fp8moe_cast)cast, scale, x, 33, got);
            slow_static(t, (fp8moe_cast)cast, scale, x, 33, want);
            assert_memory_equal(got, want, 33);
        }
        slow_static(t, FP8MOE_CAST_BF16_INVERSE, scale, x, 33, got);
        differ += memcmp(got, want, 33) != 0;
    }
    assert_true(differ > 100); /* the two casts are two */
}

static void codes_by_a_factor_are_rounded_before_the_code(void **state)
{
    (void)state;
    /* 1.0625 + 2^-10 is above the tie of 1 and 1.125; bf16 rounds it to the tie, which goes to
     * even. */
    const double x[1] = {1.0625 + 0x1p-10};
    uint8_t code;
    quant_codes(&k, target("ocp"), bf16, 1, x, 1, &code);
    assert_int_equal(code, 0x38);
    quant_codes(&k, target("ocp"), f32, 1, x, 1, &code);
    assert_int_equal(code, 0x39);
}

static void runs_are_scaled_and_halved_as_single_numbers_are(void **state)
{
    (void)state;
    double x[33], scaled[33];
    uint8_t codes[256];
    random_state = 3;
    for (int n = 0; n < 300; n++) {
        const double factor = slow_bf16_of(random_number(-12, 3));
        for (int i = 0; i < 33; i++)
            scaled[i] = x[i] = i == n % 40 ? (double)NAN : random_number(-140 + n % 20, 125);
        k.scale_bf16(scaled, 33, factor);
        for (int i = 0; i < 33; i++)
            assert_true(isnan(x[i]) ? isnan(scaled[i]) : scaled[i] == slow_bf16_of(x[i] * factor));
    }
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    k.halve(codes, 255);
    for (int i = 0; i < 0x7F; i++) {
        const uint32_t half = slow_encode(&slow_e4m3fn, slow_decode(&slow_e4m3fn, (uint32_t)i) / 2);
        assert_int_equal(codes[i], half);
        assert_int_equal(codes[0x80 + i], 0x80 | half);
    }
    assert_int_equal(codes[0x7F], 0x7F);
    assert_int_equal(codes[0xFF], 0xFF); /* beyond the run */
}

static int run_every_test(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_two_roundings_agree),
        cmocka_unit_test(scale_arithmetic_is_the_targets_or_the_cells),
        cmocka_unit_test(epsilon_moves_small_rows_only),
        cmocka_unit_test(the_scale_has_two_roundings),
        cmocka_unit_test(amax_is_the_largest_magnitude),
        cmocka_unit_test(rows_worked_by_hand),
        cmocka_unit_test(the_largest_of_a_row_becomes_the_largest_code),
        cmocka_unit_test(random_rows_are_those_of_the_model),
        cmocka_unit_test(static_casts_follow_their_cell),
        cmocka_unit_test(random_static_casts_are_those_of_the_model),
        cmocka_unit_test(codes_by_a_factor_are_rounded_before_the_code),
        cmocka_unit_test(runs_are_scaled_and_halved_as_single_numbers_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; fp8moe_isa_at(i); i++)
        if (fp8moe_isa_present(fp8moe_isa_at(i)) && kernels_init(&k, fp8moe_isa_at(i), false))
            failed += run_every_test();
    return failed;
}

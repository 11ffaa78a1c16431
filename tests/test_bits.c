/* bits.h against the slow model, around every value and every tie of every format. */
#include "bits.h"
#include "slow_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void check_f64(double got, double want, const char *what, double input)
{
    if (f64_bits(got) != f64_bits(want))
        fail_msg("%s(%a) = %a, expected %a", what, input, got, want);
}

/* Bits of a value as bf16 or f16 from the model: sign, then code. */
static uint16_t slow_code16(const slow_format *format, double value)
{
    return (uint16_t)((signbit(value) ? 0x8000u : 0) | slow_encode(format, fabs(value)));
}

typedef struct rounding {
    const char *name;
    double (*round)(double);
    const slow_format *format;
    uint32_t stride; /* codes are visited with this stride (a prime where all would take minutes) */
} rounding;

static const rounding roundings[] = {
    {"round_bf16", round_bf16, &slow_bf16, 1},
    {"round_f16", round_f16, &slow_f16, 1},
    {"round_tf32", round_tf32, &slow_tf32, 1},
    {"round_f32", round_f32, &slow_f32, 15731},
};

static void check_rounding_at(const rounding *r, uint32_t code)
{
    double probes[SLOW_PROBES];
    slow_probes(r->format, code, probes);
    for (size_t i = 0; i < SLOW_PROBES; i++) {
        const double want = slow_round(r->format, probes[i]);
        check_f64(r->round(probes[i]), want, r->name, probes[i]);
        check_f64(r->round(-probes[i]), -want, r->name, -probes[i]);
    }
}

static void roundings_match_the_model_around_every_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(roundings); i++)
        for (uint32_t code = 0; code < roundings[i].format->finite_codes;
             code += roundings[i].stride)
            check_rounding_at(&roundings[i], code);
}

static void roundings_match_the_model_at_their_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(roundings); i++) {
        const slow_format *format = roundings[i].format;
        const uint32_t first_normal = UINT32_C(1) << format->mantissa;
        for (uint32_t near = 0; near < 4; near++) {
            check_rounding_at(&roundings[i], near);
            check_rounding_at(&roundings[i], first_normal - 2 + near);
            check_rounding_at(&roundings[i], format->finite_codes - 1 - near);
        }
    }
}

static void roundings_keep_what_is_not_finite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(roundings); i++) {
        double (*const round)(double) = roundings[i].round;
        assert_true(round(INFINITY) == INFINITY);
        assert_true(round(-INFINITY) == -INFINITY);
        assert_true(round(1.7976931348623157e308) == INFINITY);
        assert_true(round(-1.7976931348623157e308) == -INFINITY);
        assert_true(isnan(round(NAN)));
        assert_true(isnan(round(f64_from_bits(UINT64_C(0x7FF0000000000001)))));
        assert_true(isnan(round(f64_from_bits(UINT64_C(0xFFFFFFFFFFFFFFFF)))));
        check_f64(round(-0.0), -0.0, roundings[i].name, -0.0);
        check_f64(round(0x1p-1074), 0.0, roundings[i].name, 0x1p-1074);
        check_f64(round(-0x1p-1074), -0.0, roundings[i].name, -0x1p-1074);
    }
}

static const struct {
    double value, bf16;
    const char *reason;
} once[] = {
    {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7, "just above a tie: by way of f32 it would be 1"},
    {1 + 0x1p-8 + 0x1p-52, 1 + 0x1p-7, "one double above the tie"},
    {1 + 0x1p-8, 1, "tie, even is below"},
    {1 + 0x3p-8, 1 + 0x1p-6, "tie, even is above"},
    {1 + 0x3p-8 - 0x1p-52, 1 + 0x1p-7, "one double below that tie"},
    {0x1p-134, 0, "half of the least subnormal: tie, even is 0"},
    {0x1p-134 + 0x1p-180, 0x1p-133, "just above it; f32 would make it the tie"},
    {0x3p-134, 0x1p-132, "between the first two subnormals: tie, even is 2"},
    {0x1p-126 - 0x1p-160, 0x1p-126, "rounds up into the normal numbers"},
    {0x1.FFp127, INFINITY, "half a step beyond the largest: tie, even is Inf"},
    {0x1.FEFFFFFFFFFFFp127, 0x1.FEp127, "one double below it"},
};

static void bf16_is_rounded_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(once); i++) {
        check_f64(round_bf16(once[i].value), once[i].bf16, once[i].reason, once[i].value);
        check_f64(round_bf16(-once[i].value), -once[i].bf16, once[i].reason, -once[i].value);
        check_f64(bf16_to_f64(f64_to_bf16(once[i].value)), once[i].bf16, once[i].reason,
                  once[i].value);
    }
}

/* Case A10. */
static void f32_to_bf16_keeps_the_class(void **state)
{
    (void)state;
    static const struct {
        uint32_t f32;
        uint16_t bf16;
        const char *reason;
    } rows[] = {
        {0x3E89CCD5, 0x3E8A, "carries"},
        {0x3F808000, 0x3F80, "tie, even is below"},
        {0x3F818000, 0x3F82, "tie, even is above"},
        {0x3F808001, 0x3F81, "above the tie"},
        {0x7F7FFFFF, 0x7F80, "the largest f32 is beyond bf16: Inf"},
        {0x7F7F7FFF, 0x7F7F, "just below the last tie"},
        {0xFF800000, 0xFF80, "-Inf"},
        {0x7F800000, 0x7F80, "Inf"},
        {0x80000001, 0x8000, "the least subnormal keeps its sign"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (f32_to_bf16(f32_from_bits(rows[i].f32)) != rows[i].bf16) fail_msg("%s", rows[i].reason);

    static const uint32_t nans[] = {0x7F800001, 0x7FFF8C22, 0xFFFFFFFF, 0x7FC00000, 0xFF80FFFF};
    for (size_t i = 0; i < COUNT(nans); i++) {
        const uint16_t bits = f32_to_bf16(f32_from_bits(nans[i]));
        assert_true((bits & 0x7FFF) > 0x7F80);
        assert_int_equal(bits >> 15, nans[i] >> 31);
    }
}

static void f32_to_bf16_matches_the_model_at_every_upper_half(void **state)
{
    (void)state;
    static const uint32_t lower_halves[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (uint32_t upper = 0; upper <= 0xFFFF; upper++)
        for (size_t i = 0; i < COUNT(lower_halves); i++) {
            const float value = f32_from_bits(upper << 16 | lower_halves[i]);
            if (isnan(value)) continue;
            const uint16_t want = slow_code16(&slow_bf16, (double)value);
            assert_int_equal(f32_to_bf16(value), want);
            assert_int_equal(f64_to_bf16((double)value), want);
        }
}

/* Every code of a 16-bit format: its value by the model, and back. */
static void check_all_codes(const slow_format *format, double (*decode)(uint16_t),
                            uint16_t (*encode)(double), const char *name)
{
    for (uint32_t code = 0; code <= 0xFFFF; code++) {
        const double sign = code & 0x8000 ? -1 : 1;
        const uint32_t magnitude = code & 0x7FFF;
        const double value = decode((uint16_t)code);
        if (magnitude > format->finite_codes) {
            assert_true(isnan(value));
            assert_int_equal(encode(value) >> 15, code >> 15);
            assert_true((encode(value) & 0x7FFF) > format->finite_codes);
            continue;
        }
        const double finite = slow_decode(format, magnitude);
        const double want = sign * (magnitude < format->finite_codes ? finite : (double)INFINITY);
        check_f64(value, want, name, code);
        assert_int_equal(encode(value), code);
    }
}

static void every_16_bit_code_is_read_and_written(void **state)
{
    (void)state;
    check_all_codes(&slow_bf16, bf16_to_f64, f64_to_bf16, "bf16_to_f64");
    check_all_codes(&slow_f16, f16_to_f64, f64_to_f16, "f16_to_f64");
}

static void f16_is_written_as_the_model_does(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < slow_f16.finite_codes; code++) {
        double probes[SLOW_PROBES];
        slow_probes(&slow_f16, code, probes);
        for (size_t i = 0; i < SLOW_PROBES; i++) {
            assert_int_equal(f64_to_f16(probes[i]), slow_code16(&slow_f16, probes[i]));
            assert_int_equal(f64_to_f16(-probes[i]), slow_code16(&slow_f16, -probes[i]));
        }
    }
}

static void every_e5m2_code_is_read(void **state)
{
    (void)state;
    for (int code = 0; code < 256; code++) {
        const uint32_t magnitude = code & 0x7F;
        const double sign = code & 0x80 ? -1 : 1;
        const double value = e5m2_to_f64((uint8_t)code);
        if (magnitude > slow_e5m2.finite_codes)
            assert_true(isnan(value));
        else if (magnitude == slow_e5m2.finite_codes)
            assert_true(value == sign * (double)INFINITY);
        else
            check_f64(value, sign * slow_decode(&slow_e5m2, magnitude), "e5m2_to_f64", code);
    }
}

static void every_e8m0_code_is_a_power_of_two(void **state)
{
    (void)state;
    for (int code = 0; code < 255; code++)
        check_f64(e8m0_to_f64((uint8_t)code), ldexp(1, code - 127), "e8m0_to_f64", code);
    assert_true(isnan(e8m0_to_f64(0xFF)));
}

static void round_to_takes_the_rounding_named(void **state)
{
    (void)state;
    const double value = 1 + 0x1p-7 + 0x1p-10 + 0x1p-23 + 0x1p-40;
    check_f64(round_to(FP8MOE_ROUND_NONE, value), value, "none", value);
    check_f64(round_to(FP8MOE_ROUND_F64, value), value, "f64", value);
    check_f64(round_to(FP8MOE_ROUND_F32, value), 1 + 0x1p-7 + 0x1p-10 + 0x1p-23, "f32", value);
    check_f64(round_to(FP8MOE_ROUND_TF32, value), 1 + 0x1p-7 + 0x1p-10, "tf32", value);
    check_f64(round_to(FP8MOE_ROUND_BF16, value), 1 + 0x1p-7, "bf16", value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundings_match_the_model_around_every_code),
        cmocka_unit_test(roundings_match_the_model_at_their_edges),
        cmocka_unit_test(roundings_keep_what_is_not_finite),
        cmocka_unit_test(bf16_is_rounded_once),
        cmocka_unit_test(f32_to_bf16_keeps_the_class),
        cmocka_unit_test(f32_to_bf16_matches_the_model_at_every_upper_half),
        cmocka_unit_test(every_16_bit_code_is_read_and_written),
        cmocka_unit_test(f16_is_written_as_the_model_does),
        cmocka_unit_test(every_e5m2_code_is_read),
        cmocka_unit_test(every_e8m0_code_is_a_power_of_two),
        cmocka_unit_test(round_to_takes_the_rounding_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

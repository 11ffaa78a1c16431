/* The exponential family against values from the definition. */
#include "bits.h"
#include "silu.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* x, e^x, 1/(1 + e^-x) and x/(1 + e^-x), each the nearest double to a decimal of 80 digits:
 *
 *   from decimal import Decimal, getcontext
 *   getcontext().prec, getcontext().Emin = 80, -10**6
 *   for x in inputs:
 *       e = Decimal(x).exp(); s = 1 / (1 + (-Decimal(x)).exp())
 *       print([float(v).hex() for v in (x, e, s, Decimal(x) * s)])
 *
 * Inputs: small, around half of ln 2 and its multiples (where the argument is reduced), around the
 * ends of bf16, f32 and double, and where results are subnormal. */
static const struct {
    double x, exp, sigmoid, silu;
} table[] = {
    {0, 0x1p0, 0x1p-1, 0},
    {0x0.0000000000001p-1022, 0x1p0, 0x1p-1, 0x0.0000000000001p-1022},
    {0x1p-60, 0x1p0, 0x1p-1, 0x1p-61},
    {-0x1p-60, 0x1p0, 0x1p-1, -0x1p-61},
    {0x1p-30, 0x1.00000004p0, 0x1.00000002p-1, 0x1.00000002p-31},
    {0x1p-10, 0x1.00400800aab55p0, 0x1.001fffffd5555p-1, 0x1.001fffffd5555p-11},
    {-0x1p-10, 0x1.ff800ffeaacp-1, 0x1.ffc0000055555p-2, -0x1.ffc0000055555p-12},
    {0x1.921fb6p-3, 0x1.378a2e200251bp0, 0x1.190d63f56dc8dp-1, 0x1.b979d766062e2p-4},
    {0x1p-2, 0x1.48b5e3c3e8186p0, 0x1.1fd5992bc4b83p-1, 0x1.1fd5992bc4b83p-3},
    {-0x1.3333333333333p-2, 0x1.7b4c869c37c05p-1, 0x1.b3c5574372aebp-2, -0x1.0576678ede68dp-3},
    {0x1.5c28f5c28f5c3p-2, 0x1.67aaa532108bdp0, 0x1.2b1b052d480b8p-1, 0x1.96c896668af0fp-3},
    {0x1.6666666666666p-2, 0x1.6b4802c805decp0, 0x1.2c5923a96ad1cp-1, 0x1.a47ccb86c8bf4p-3},
    {-0x1.62e42fefa39efp-2, 0x1.6a09e667f3bcdp-1, 0x1.a827999fcef32p-2, -0x1.26006a900fe2fp-3},
    {0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp0, 0x1.2bec333018867p-1, 0x1.9fc7f54f375afp-3},
    {0x1p-1, 0x1.a61298e1e069cp0, 0x1.3eb2fd4d34391p-1, 0x1.3eb2fd4d34391p-2},
    {-0x1p-1, 0x1.368b2fc6f960ap-1, 0x1.829a0565978dfp-2, -0x1.829a0565978dfp-3},
    {0x1p0, 0x1.5bf0a8b145769p1, 0x1.764d4f5d5a2bdp-1, 0x1.764d4f5d5a2bdp-1},
    {-0x1p0, 0x1.78b56362cef38p-2, 0x1.136561454ba86p-2, -0x1.136561454ba86p-2},
    {0x1.0a2b23f3bab73p0, 0x1.6a09e667f3bccp1, 0x1.7a437c56e26f9p-1, 0x1.8949dda785d29p-1},
    {-0x1.0a2b23f3bab73p0, 0x1.6a09e667f3bcdp-2, 0x1.0b7907523b20fp-2, -0x1.1618d47fdf37bp-2},
    {0x1p1, 0x1.d8e64b8d4ddaep2, 0x1.c2f7d5a8a79cap-1, 0x1.c2f7d5a8a79cap0},
    {-0x1p1, 0x1.152aaa3bf81ccp-3, 0x1.e84152bac31afp-4, -0x1.e84152bac31afp-3},
    {0x1.5bf0a8b145769p1, 0x1.e4efb75e4527ap3, 0x1.e04e3a60de19bp-1, 0x1.4666c77bfb4b4p1},
    {-0x1.921f9f01b866ep1, 0x1.62026546050afp-5, 0x1.53584b1f7ebb4p-5, -0x1.0a85483756219p-3},
    {0x1.4p2, 0x1.28d389970338fp7, 0x1.fc92c130538e1p-1, 0x1.3ddbb8be3438dp2},
    {-0x1.4p2, 0x1.b993fe00d5376p-8, 0x1.b69f67d638f8ep-8, -0x1.1223a0e5e39b9p-5},
    {0x1p3, 0x1.749ea7d470c6ep11, 0x1.ffd40b84505a1p-1, 0x1.ffd40b84505a1p2},
    {-0x1p3, 0x1.5fc21041027adp-12, 0x1.5fa3dd7d2f7a6p-12, -0x1.5fa3dd7d2f7a6p-9},
    {0x1.5p3, 0x1.1bb7015e84d3bp15, 0x1.fffc640e36e1ap-1, 0x1.4ffda1a954041p3},
    {-0x1.5p3, 0x1.cdfc263f6a0bap-16, 0x1.cdf8e48f306f6p-16, -0x1.2f2b55fdf7c92p-12},
    {0x1p4, 0x1.0f2ebd0a8002p23, 0x1.fffffc39548fcp-1, 0x1.fffffc39548fcp3},
    {-0x1.14p4, 0x1.14f49dbc5078cp-25, 0x1.14f49d26804a2p-25, -0x1.2a97b96d824ffp-21},
    {0x1.4p4, 0x1.ceb088b68e804p28, 0x1.ffffffee4b79bp-1, 0x1.3ffffff4ef2c1p4},
    {-0x1.4p4, 0x1.1b48655f37267p-29, 0x1.1b4865556b5d5p-29, -0x1.621a7eaac634ap-25},
    {0x1p5, 0x1.1f43fcc4b662cp46, 0x1.fffffffffff8ep-1, 0x1.fffffffffff8ep4},
    {-0x1p5, 0x1.c8464f7616468p-47, 0x1.c8464f7616402p-47, -0x1.c8464f7616402p-42},
    {0x1.259999999999ap5, 0x1.ed8026b267154p52, 0x1.fffffffffffffp-1, 0x1.2599999999999p5},
    {-0x1.259999999999ap5, 0x1.0998b04bdd19p-53, 0x1.0998b04bdd18fp-53, -0x1.309b1d63ce5f1p-48},
    {0x1.2cp5, 0x1.1293919c201e5p54, 0x1p0, 0x1.2cp5},
    {-0x1.2cp5, 0x1.dd5c566301ec8p-55, 0x1.dd5c566301ec7p-55, -0x1.17b41a9e03209p-49},
    {0x1.9p5, 0x1.19103e4080b45p72, 0x1p0, 0x1.9p5},
    {-0x1.9p5, 0x1.d257d547e083fp-73, 0x1.d257d547e083fp-73, -0x1.6c549ea027671p-67},
    {0x1.62e42d8c2a455p6, 0x1.fffece43ae771p127, 0x1p0, 0x1.62e42d8c2a455p6},
    {-0x1.5d589df1172efp6, 0x1.00004fb384cap-126, 0x1.00004fb384cap-126, -0x1.5d590ab46a182p-120},
    {0x1.64p6, 0x1.51c2cc3433801p128, 0x1p0, 0x1.64p6},
    {-0x1.64p6, 0x1.840fbc08fdc8ap-129, 0x1.840fbc08fdc8ap-129, -0x1.0dd2f0be40758p-122},
    {0x1.9p6, 0x1.3494a9b171bf5p144, 0x1p0, 0x1.9p6},
    {-0x1.9p6, 0x1.a8c1f14e2af5dp-145, 0x1.a8c1f14e2af5dp-145, -0x1.4bd78485119p-138},
    {0x1.9fe368f08462p6, 0x1.000030ec2d9b7p150, 0x1p0, 0x1.9fe368f08462p6},
    {-0x1.9fe368f08462p6, 0x1.ffff9e27b77cp-151, 0x1.ffff9e27b77cp-151, -0x1.9fe319764028fp-144},
    {0x1p7, 0x1.95e54c5dd4217p184, 0x1p0, 0x1p7},
    {-0x1p7, 0x1.42eb9f39afb0bp-185, 0x1.42eb9f39afb0bp-185, -0x1.42eb9f39afb0bp-178},
    {0x1.001p8, 0x1.56886e85b9e05p369, 0x1p0, 0x1.001p8},
    {-0x1.001p8, 0x1.7ea7b96874abap-370, 0x1.7ea7b96874abap-370, -0x1.7ebfa3e40b32fp-362},
    {0x1.f4p8, 0x1.45ba2a9f7e439p721, 0x1p0, 0x1.f4p8},
    {-0x1.f4p8, 0x1.9265e78d4438dp-722, 0x1.9265e78d4438dp-722, -0x1.88f7841ff49f8p-713},
    {0x1.5ep9, 0x1.d945df4f8ec8ep1009, 0x1p0, 0x1.5ep9},
    {-0x1.5ep9, 0x1.14f2b0fb9307fp-1010, 0x1.14f2b0fb9307fp-1010, -0x1.7aa3cdf7f304ep-1001},
    {0x1.62e42fefa39efp9, 0x1.fffffffffff2ap1023, 0x1p0, 0x1.62e42fefa39efp9},
    {-0x1.6232bdd7abcd2p9, 0x1.000000000007cp-1022, 0x1.000000000007cp-1022,
     -0x1.6232bdd7abd7dp-1013},
    {-0x1.628p9, 0x0.8bfe55de02338p-1022, 0x0.8bfe55de02338p-1022, -0x1.83b763cfdc18bp-1014},
    {-0x1.684p9, 0x0.00005cf08fffp-1022, 0x0.00005cf08fffp-1022, -0x0.0105930d45323p-1022},
    {-0x1.72p9, 0x0.0000000000055p-1022, 0x0.0000000000055p-1022, -0x0.000000000f512p-1022},
    {-0x1.74385446d71c3p9, 0x0.0000000000001p-1022, 0x0.0000000000001p-1022,
     -0x0.00000000002e8p-1022},
    {-0x1.748p9, 0x0.0000000000001p-1022, 0x0.0000000000001p-1022, -0x0.00000000001aap-1022},
};

/* One unit in the last place of a finite number. */
static double unit_of(double value)
{
    int exponent;
    (void)frexp(value, &exponent);
    return ldexp(1, exponent - 53 > -1074 ? exponent - 53 : -1074);
}

static void check_near(double got, double want, double tolerance, const char *what, double x)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%s(%a) = %a, expected %a", what, x, got, want);
}

static void values_are_those_of_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const double x = table[i].x;
        check_near(own_exp(x), table[i].exp, unit_of(table[i].exp), "exp", x);
        check_near(own_sigmoid(x), table[i].sigmoid, 2 * unit_of(table[i].sigmoid), "sigmoid", x);
        /* x times a subnormal sigmoid has that number's error times x. */
        const double tolerance = 3 * unit_of(table[i].silu) + fabs(x) * 0x1p-1074;
        check_near(own_silu(x), table[i].silu, tolerance, "silu", x);
    }
}

/* Against long double where it is longer than double: off by less than one unit everywhere. */
static void exp_is_within_one_unit_on_a_sweep(void **state)
{
    (void)state;
    const volatile long double one = 1; /* an emulator of the processor may have doubles only */
    if (one + 0x1p-60L == one) skip();
    for (int i = -7400000; i < 7090000; i += 7) {
        const double x = i * 1.000000123e-4;
        const long double want = expl((long double)x);
        const long double error =
            ((long double)own_exp(x) - want) / (long double)unit_of((double)want);
        if (!(error > -1 && error < 1)) fail_msg("exp(%a) is %Lf units off", x, error);
    }
}

static void exp_never_descends(void **state)
{
    (void)state;
    /* Around every place where the argument is reduced by one ln 2 more. */
    for (int k = -1074; k < 1024; k++) {
        double x = (k + 0.5) * 0.6931471805599453;
        for (int step = 0; step < 8; step++) {
            const double next = nextafter(x, INFINITY);
            if (!(own_exp(x) <= own_exp(next))) fail_msg("exp(%a) > exp(%a)", x, next);
            x = next;
        }
    }
}

static void ends_are_as_usual(void **state)
{
    (void)state;
    assert_true(own_exp(INFINITY) == INFINITY);
    assert_true(own_exp(709.7827128933841) == INFINITY);
    assert_true(own_exp(1e300) == INFINITY);
    assert_true(f64_bits(own_exp(-INFINITY)) == 0);
    assert_true(f64_bits(own_exp(-745.2)) == 0);
    assert_true(f64_bits(own_exp(-1e300)) == 0);
    assert_true(own_exp(0.0) == 1 && own_exp(-0.0) == 1);
    assert_true(isnan(own_exp(NAN)));

    assert_true(own_sigmoid(INFINITY) == 1 && own_sigmoid(-INFINITY) == 0);
    assert_true(own_sigmoid(0.0) == 0.5 && own_sigmoid(-0.0) == 0.5);
    assert_true(isnan(own_sigmoid(NAN)));

    assert_true(own_silu(INFINITY) == INFINITY);
    assert_true(isnan(own_silu(-INFINITY)));
    assert_true(isnan(own_silu(NAN)));
    assert_true(f64_bits(own_silu(0.0)) == 0 && f64_bits(own_silu(-0.0)) == F64_SIGN);
}

/* Case F08. */
static void silu_of_large_finite_inputs_is_finite(void **state)
{
    (void)state;
    static const struct {
        double gate, want, tolerance;
    } rows[] = {
        {-1000, 0, 0},   {-128, 0, 1e-50}, {-100, 0, 3.8e-42}, {-89, 0, 1.99e-37},
        {0, 0, 0},       {32, 32, 1e-12},  {89, 89, 0},        {100, 100, 0},
        {1000, 1000, 0}, {-1.7e308, 0, 0}, {1e308, 1e308, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_near(own_silu(rows[i].gate), rows[i].want, rows[i].tolerance, "silu", rows[i].gate);
    assert_true(round_f32(own_silu(32)) == 32);
    assert_true(f64_bits(own_silu(-1000)) == F64_SIGN);
}

/* e^x[i] / sum of e^x from decimals of 60 digits as above, then the nearest f32. */
static const struct {
    int64_t count;
    double x[20], p[20];
} softmaxes[] = {
    {4, {0, 0, 0, 0}, {0x1p-2, 0x1p-2, 0x1p-2, 0x1p-2}},
    {3, {1, 2, 3}, {0x1.70c3e6p-4, 0x1.f53434p-3, 0x1.549a76p-1}},
    {5,
     {-1.5, 0.25, 4, -30, 2.75},
     {0x1.979f84p-9, 0x1.2536bp-6, 0x1.859e16p-1, 0x1.77eb9ep-50, 0x1.be8258p-3}},
    {4, {100, 99, -100, 0}, {0x1.764d5p-1, 0x1.136562p-2, 0, 0x1.3p-145}},
    {20,
     {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
      1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0},
     {0x1.0db2ep-6,  0x1.2a102ep-6, 0x1.496928p-6, 0x1.6c0e22p-6, 0x1.9257dep-6,
      0x1.bca874p-6, 0x1.eb6c52p-6, 0x1.0f8da4p-5, 0x1.2c1cep-5,  0x1.4bad0ap-5,
      0x1.6e8f0p-5,  0x1.951c22p-5, 0x1.bfb736p-5, 0x1.eecd66p-5, 0x1.116baap-4,
      0x1.2e2d2cp-4, 0x1.4df4e6p-4, 0x1.711444p-4, 0x1.97e544p-4, 0x1.c2cb58p-4}},
    {1, {7.5}, {0x1p0}},
};

static void softmax_is_that_of_the_definition_rounded_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(softmaxes); i++) {
        double apart[20], in_place[20];
        memcpy(in_place, softmaxes[i].x, sizeof in_place);
        own_softmax(apart, softmaxes[i].x, softmaxes[i].count);
        own_softmax(in_place, in_place, softmaxes[i].count);
        for (int64_t j = 0; j < softmaxes[i].count; j++) {
            check_near(apart[j], softmaxes[i].p[j], 0, "softmax", softmaxes[i].x[j]);
            assert_true(f64_bits(apart[j]) == f64_bits(in_place[j]));
        }
    }
}

/* Sixteen partial sums, index modulo 16, then pairs 8, 4, 2 and 1 apart. The logits (found by
 * search) are such that another order of the sum changes an f32 of the result. */
static void softmax_adds_in_the_fixed_lane_order(void **state)
{
    (void)state;
    enum { COUNT_OF_LOGITS = 61 };
    double x[COUNT_OF_LOGITS], p[COUNT_OF_LOGITS], largest = 0, in_sequence = 0, s[16] = {0};
    uint32_t random = 7079110;
    for (int i = 0; i < COUNT_OF_LOGITS; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (double)(random >> 8) * 0x1p-22;
        largest = fmax(largest, x[i]);
    }
    for (int i = 0; i < COUNT_OF_LOGITS; i++) {
        s[i % 16] += own_exp(x[i] - largest);
        in_sequence += own_exp(x[i] - largest);
    }
    const double sum = (((s[0] + s[8]) + (s[4] + s[12])) + ((s[2] + s[10]) + (s[6] + s[14]))) +
                       (((s[1] + s[9]) + (s[5] + s[13])) + ((s[3] + s[11]) + (s[7] + s[15])));
    own_softmax(p, x, COUNT_OF_LOGITS);
    for (int i = 0; i < COUNT_OF_LOGITS; i++)
        assert_true(p[i] == (double)(float)(own_exp(x[i] - largest) / sum));
    assert_true(p[52] != (double)(float)(own_exp(x[52] - largest) / in_sequence));
}

static void softmax_of_what_is_not_finite(void **state)
{
    (void)state;
    double p[3];
    own_softmax(p, (const double[]){1, NAN, 2}, 3);
    assert_true(isnan(p[0]) && isnan(p[1]) && isnan(p[2]));
    own_softmax(p, (const double[]){1, INFINITY, 2}, 3);
    assert_true(isnan(p[0]) && isnan(p[1]) && isnan(p[2]));
    own_softmax(p, (const double[]){NAN, NAN, NAN}, 3);
    assert_true(isnan(p[0]) && isnan(p[1]) && isnan(p[2]));
    own_softmax(p, (const double[]){-INFINITY, -INFINITY, -INFINITY}, 3);
    assert_true(isnan(p[0]) && isnan(p[1]) && isnan(p[2]));
    own_softmax(p, (const double[]){0, -INFINITY, 0}, 3);
    assert_true(p[0] == 0.5 && p[1] == 0 && p[2] == 0.5);
    own_softmax(p, (const double[]){-1000, 1000, -1000}, 3);
    assert_true(p[0] == 0 && p[1] == 1 && p[2] == 0);
    p[0] = 7;
    own_softmax(p, p, 0);
    assert_true(p[0] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_definition),
        cmocka_unit_test(exp_is_within_one_unit_on_a_sweep),
        cmocka_unit_test(exp_never_descends),
        cmocka_unit_test(ends_are_as_usual),
        cmocka_unit_test(silu_of_large_finite_inputs_is_finite),
        cmocka_unit_test(softmax_is_that_of_the_definition_rounded_once),
        cmocka_unit_test(softmax_adds_in_the_fixed_lane_order),
        cmocka_unit_test(softmax_of_what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

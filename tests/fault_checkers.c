#include "fault_checkers.h"

#include "fault_layer.h"

#include <fp8moe/compare.h>
#include <math.h>

/* Upstream's own rule: at most 2 FP8 steps, at most 5 % out of range (numerics.md 6.3, 7.1). */
static bool upstream_bar(const uint16_t *expected, const uint16_t *got, int64_t count)
{
    float ulp = 0, relative = 0;
    for (int64_t i = 0; i < count; i++) {
        const float a = (float)made_from_bf16(expected[i]), b = (float)made_from_bf16(got[i]);
        const float steps = fp8moe_upstream_ulp(a, b), off = fp8moe_upstream_relative(a, b);
        if (!(steps <= ulp)) ulp = steps; /* a NaN stays: no later number is at most NaN */
        if (off > relative) relative = off;
    }
    return !(ulp > 2) && !(relative > 0.05f);
}

static bool is_near(double expected, double got, double atol, double rtol)
{
    return fabs(got - expected) <= atol + rtol * fabs(expected);
}

static bool assert_close(const uint16_t *expected, const uint16_t *got, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!is_near(made_from_bf16(expected[i]), made_from_bf16(got[i]), 1e-3, 1e-3)) return false;
    return true;
}

/* 1 - 2 <a, b> / (<a, a> + <b, b>) below 1e-3 */
static bool calc_diff(const uint16_t *expected, const uint16_t *got, int64_t count)
{
    double both = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        const double a = made_from_bf16(expected[i]), b = made_from_bf16(got[i]);
        both += a * b;
        squares += a * a + b * b;
    }
    return 1 - 2 * both / squares < 1e-3;
}

static bool hit_ratio(const uint16_t *expected, const uint16_t *got, int64_t count)
{
    int64_t hits = 0;
    for (int64_t i = 0; i < count; i++)
        hits += is_near(made_from_bf16(expected[i]), made_from_bf16(got[i]), 0.1, 0.2);
    return (double)hits >= 0.85 * (double)count;
}

const fault_checker fault_checkers[FAULT_CHECKERS] = {
    {"upstream, 2 FP8 steps", upstream_bar},
    {"assert_close 1e-3, 1e-3", assert_close},
    {"calc_diff < 1e-3", calc_diff},
    {"85 % within 0.1 + 0.2 x", hit_ratio},
};

double fault_distance(const uint16_t *expected, const uint16_t *got, int64_t count)
{
    double off = 0, whole = 0;
    for (int64_t i = 0; i < count; i++) {
        const double a = made_from_bf16(expected[i]), d = made_from_bf16(got[i]) - a;
        off += d * d;
        whole += a * a;
    }
    const double distance = sqrt(off / whole);
    return distance == distance ? distance : (double)INFINITY;
}

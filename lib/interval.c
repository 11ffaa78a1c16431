#include "interval.h"

#include "bits.h"
#include "common.h"
#include "silu.h"

/* Where silu is smallest, and how small. */
#define SILU_MINIMUM_AT (-1.2784645427610738)
#define SILU_MINIMUM (-0.2784645427610738)

interval interval_round(fp8moe_precision precision, interval x)
{
    return (interval){round_to(precision, x.low), round_to(precision, x.high)};
}

interval interval_times(interval a, interval b)
{
    const double corner[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    interval out = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++) {
        if (corner[i] < out.low) out.low = corner[i];
        if (corner[i] > out.high) out.high = corner[i];
    }
    return out;
}

/* Bits below the last one a precision keeps, of the wider format it is stored in. */
static int dropped_bits(fp8moe_precision precision)
{
    return precision == FP8MOE_ROUND_BF16 ? 16 : precision == FP8MOE_ROUND_TF32 ? 13 : 0;
}

static double step_f32(double value, int64_t units)
{
    const uint32_t bits = f32_bits((float)value);
    int64_t ordinal = (bits & 0x80000000u) ? -(int64_t)(bits & 0x7FFFFFFFu) : (int64_t)bits;
    ordinal += units;
    if (ordinal > 0x7F800000) ordinal = 0x7F800000;
    if (ordinal < -0x7F800000) ordinal = -0x7F800000;
    const uint32_t magnitude = (uint32_t)(ordinal < 0 ? -ordinal : ordinal);
    return (double)f32_from_bits(magnitude | (ordinal < 0 ? 0x80000000u : 0));
}

static double step_f64(double value, int64_t units)
{
    const uint64_t bits = f64_bits(value), sign = UINT64_C(1) << 63;
    const int64_t infinity = INT64_C(0x7FF0000000000000);
    int64_t ordinal = (bits & sign) ? -(int64_t)(bits & ~sign) : (int64_t)bits;
    ordinal += units;
    if (ordinal > infinity) ordinal = infinity;
    if (ordinal < -infinity) ordinal = -infinity;
    const uint64_t magnitude = (uint64_t)(ordinal < 0 ? -ordinal : ordinal);
    return f64_from_bits(magnitude | (ordinal < 0 ? sign : 0));
}

double interval_step(fp8moe_precision precision, double value, int steps)
{
    if (value != value) return value;
    if (precision == FP8MOE_ROUND_F64 || precision == FP8MOE_ROUND_NONE)
        return step_f64(value, steps);
    return step_f32(value, steps * (INT64_C(1) << dropped_bits(precision)));
}

interval interval_widen(fp8moe_precision precision, interval x, int steps)
{
    if (!steps) return x;
    return (interval){interval_step(precision, x.low, -steps),
                      interval_step(precision, x.high, steps)};
}

double interval_spacing(fp8moe_precision precision, double value)
{
    const double at = round_to(precision, value < 0 ? -value : value);
    return interval_step(precision, at, 1) - at;
}

interval interval_silu(interval x)
{
    const double a = own_silu(x.low), b = own_silu(x.high);
    interval out = {a < b ? a : b, a < b ? b : a};
    if (x.low < SILU_MINIMUM_AT && x.high > SILU_MINIMUM_AT) out.low = SILU_MINIMUM;
    if (a != a || b != b) out.low = out.high = a + b;
    return out;
}

/* One inline function per rounding, and the casts between bits and numbers. Every rounding is to
 * nearest, ties to even, taken once from the exact double it is given: a NaN stays NaN, a zero
 * keeps its sign, and what lies half a step or more beyond the largest finite value becomes Inf, as
 * IEEE 754 has it. */
#ifndef FP8MOE_LIB_BITS_H
#define FP8MOE_LIB_BITS_H

#include <float.h>
#include <fp8moe/profile.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Doubles kept wider than doubles (x87) would be rounded twice, out of sight. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "fp8moe needs double arithmetic in double: compile with -msse2 -mfpmath=sse on 32-bit x86"
#endif

static inline uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define F64_SIGN UINT64_C(0x8000000000000000)
#define F64_INF UINT64_C(0x7FF0000000000000)
#define F64_BIAS 1023
#define F64_MANTISSA 52

/* The power of two whose unit in the last place is one step of a format with `mantissa` stored bits
 * and least normal exponent `min_exponent`, at the finite number of these magnitude bits. Adding it
 * rounds to that step, in the one addition: for normal and subnormal numbers alike. */
static inline double step_anchor(int64_t magnitude, int mantissa, int min_exponent)
{
    const int64_t exponent = magnitude >> F64_MANTISSA, least = min_exponent + F64_BIAS;
    const int64_t floor = exponent < least ? least : exponent;
    return f64_from_bits((uint64_t)(floor + F64_MANTISSA - mantissa) << F64_MANTISSA);
}

/* Round to a binary format. `overflow` is the least magnitude that becomes Inf: the largest finite
 * value plus half a step. Without a branch, for vectors: what the sum makes of a huge number is not
 * taken. */
static inline double round_to_format(double value, int mantissa, int min_exponent, double overflow)
{
    const uint64_t sign = f64_bits(value) & F64_SIGN;
    const int64_t magnitude = (int64_t)(f64_bits(value) ^ sign);
    const double anchor = step_anchor(magnitude, mantissa, min_exponent);
    const int64_t rounded = (int64_t)f64_bits(f64_from_bits((uint64_t)magnitude) + anchor - anchor);
    const int64_t bounded = magnitude >= (int64_t)f64_bits(overflow) ? (int64_t)F64_INF : rounded;
    return f64_from_bits(sign | (uint64_t)(magnitude > (int64_t)F64_INF ? magnitude : bounded));
}

static inline double round_f32(double value)
{
    return (double)(float)value;
}

static inline double round_bf16(double value)
{
    return round_to_format(value, 7, -126, 0x1.FFp127);
}

/* 10 stored bits of mantissa as f16, exponents as f32. */
static inline double round_tf32(double value)
{
    return round_to_format(value, 10, -126, 0x1.FFEp127);
}

static inline double round_f16(double value)
{
    return round_to_format(value, 10, -14, 65520.0);
}

/* The rounding a recipe names. */
static inline double round_to(fp8moe_precision precision, double value)
{
    switch (precision) {
    case FP8MOE_ROUND_F32:
        return round_f32(value);
    case FP8MOE_ROUND_TF32:
        return round_tf32(value);
    case FP8MOE_ROUND_BF16:
        return round_bf16(value);
    case FP8MOE_ROUND_NONE:
    case FP8MOE_ROUND_F64:
        break;
    }
    return value;
}

/* bf16 is the upper half of an f32. A NaN is made quiet, lest its remaining half be that of Inf. */
static inline uint16_t f32_to_bf16(float value)
{
    const uint32_t bits = f32_bits(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float bf16_to_f32(uint16_t bits)
{
    return f32_from_bits((uint32_t)bits << 16);
}

static inline uint16_t f64_to_bf16(double value)
{
    return f32_to_bf16((float)round_bf16(value));
}

static inline double bf16_to_f64(uint16_t bits)
{
    return (double)bf16_to_f32(bits);
}

static inline uint16_t f64_to_f16(double value)
{
    const uint16_t sign = (uint16_t)(f64_bits(value) >> 48 & 0x8000);
    const uint64_t magnitude = f64_bits(round_f16(value)) & ~F64_SIGN;
    if (magnitude > F64_INF) return sign | 0x7E00;
    if (magnitude == F64_INF) return sign | 0x7C00;
    if (magnitude < f64_bits(0x1p-14))
        return (uint16_t)(sign | (uint16_t)(f64_from_bits(magnitude) * 0x1p24));
    return (uint16_t)(sign | ((magnitude >> 42) - ((F64_BIAS - 15) << 10)));
}

static inline double f16_to_f64(uint16_t bits)
{
    const uint64_t sign = (uint64_t)(bits & 0x8000) << 48;
    const uint64_t magnitude = bits & 0x7FFF;
    if (magnitude >= 0x7C00) return f64_from_bits(sign | F64_INF | (magnitude & 0x3FF) << 42);
    if (magnitude < 0x400) return f64_from_bits(sign | f64_bits((double)magnitude * 0x1p-24));
    return f64_from_bits(sign | (magnitude + ((F64_BIAS - 15) << 10)) << 42);
}

/* E5M2 is the upper half of an f16. */
static inline double e5m2_to_f64(uint8_t code)
{
    return f16_to_f64((uint16_t)(code << 8));
}

/* An exponent alone: 2^(code - 127), 0xFF is NaN. */
static inline double e8m0_to_f64(uint8_t code)
{
    if (code == 0xFF) return (double)NAN;
    return f64_from_bits((uint64_t)(code + F64_BIAS - 127) << F64_MANTISSA);
}

/* The E4M3 code nearest a number, with its sign; what lies beyond `largest` takes its code, a NaN
 * 0x7F. The anchored sum holds the magnitude as a count of steps in its low bits: 0 .. 8 below the
 * least normal number, 8 .. 16 in every binade, where 16 is the first code of the next. */
static inline uint8_t e4m3_nearest(double value, double largest)
{
    const uint64_t sign = f64_bits(value) & F64_SIGN;
    const int64_t given = (int64_t)(f64_bits(value) ^ sign), most = (int64_t)f64_bits(largest);
    const int64_t magnitude = given > most ? most : given;
    const double anchor = step_anchor(magnitude, 3, -6);
    const int64_t anchored = (int64_t)f64_bits(f64_from_bits((uint64_t)magnitude) + anchor);
    const int64_t binade =
        ((int64_t)f64_bits(anchor) >> F64_MANTISSA) - (F64_BIAS - 6 + F64_MANTISSA - 3);
    const int64_t code = anchored - (int64_t)f64_bits(anchor) + 8 * binade;
    return (uint8_t)(sign >> 56 | (uint64_t)(given > (int64_t)F64_INF ? 0x7F : code));
}

/* The code of half the value: an exponent less, or half a subnormal's steps, ties to even. NaN
 * stays. */
static inline uint8_t e4m3_half(uint8_t code)
{
    const uint8_t magnitude = code & 0x7F, sign = code & 0x80;
    const uint8_t down = (uint8_t)(magnitude - 8);
    const uint8_t steps = (uint8_t)((magnitude + (magnitude >> 1 & 1)) >> 1);
    const uint8_t half = magnitude >= 16 ? down : steps;
    return sign | (magnitude == 0x7F ? magnitude : half);
}

#endif

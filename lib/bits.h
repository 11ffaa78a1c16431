/* One inline function per rounding, and the casts between bits and numbers. Every rounding is to
 * nearest, ties to even, taken once from the exact double it is given. */
#ifndef FP8MOE_LIB_BITS_H
#define FP8MOE_LIB_BITS_H

#include <fp8moe/profile.h>
#include <stdint.h>
#include <string.h>

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

#endif

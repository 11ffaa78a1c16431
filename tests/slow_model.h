/* A second model of small floating-point formats, slow and unrelated to the library: codes are
 * decoded by exact powers of two, and encoding searches the codes for the two neighbours of a value
 * and compares it with the middle between them. Every number here is exact in double. */
#ifndef FP8MOE_TESTS_SLOW_MODEL_H
#define FP8MOE_TESTS_SLOW_MODEL_H

#include <math.h>
#include <stdint.h>

typedef struct slow_format {
    int mantissa; /* stored bits */
    int bias;     /* of the exponent field */
    uint32_t
        finite_codes; /* codes 0 .. finite_codes - 1 are the finite magnitudes in ascending order */
} slow_format;

static const slow_format slow_e4m3fn = {3, 7, 0x7F};
static const slow_format slow_e4m3_ieee = {3, 7, 0x78};
static const slow_format slow_e4m3fnuz = {3, 8, 0x80};
static const slow_format slow_e5m2 = {2, 15, 0x7C};
static const slow_format slow_f16 = {10, 15, 0x7C00};
static const slow_format slow_bf16 = {7, 127, 0x7F80};
static const slow_format slow_tf32 = {10, 127, 0xFF << 10};
static const slow_format slow_f32 = {23, 127, 0x7F800000};

/* The magnitude of a code. `code` may be finite_codes: where the next finite value would stand. */
static inline double slow_decode(const slow_format *format, uint32_t code)
{
    const uint32_t one = UINT32_C(1) << format->mantissa;
    const uint32_t field = code >> format->mantissa;
    const uint32_t fraction = code & (one - 1);
    if (field == 0) return ldexp(fraction, 1 - format->bias - format->mantissa);
    return ldexp(one + fraction, (int)field - format->bias - format->mantissa);
}

/* The middle between a code and the next. */
static inline double slow_middle(const slow_format *format, uint32_t code)
{
    return (slow_decode(format, code) + slow_decode(format, code + 1)) / 2;
}

/* The code nearest to a magnitude (not NaN), ties to the even code; finite_codes for all that is
 * nearer to the place after the last finite value, or beyond it. */
static inline uint32_t slow_encode(const slow_format *format, double magnitude)
{
    uint32_t below = 0, above = format->finite_codes;
    if (magnitude >= slow_decode(format, above)) return above;
    while (above - below > 1) {
        const uint32_t middle = below + (above - below) / 2;
        if (slow_decode(format, middle) <= magnitude)
            below = middle;
        else
            above = middle;
    }
    const double tie = slow_middle(format, below);
    if (magnitude == tie) return below % 2 ? above : below;
    return magnitude < tie ? below : above;
}

/* The value a magnitude rounds to as IEEE 754 has it: Inf beyond the last tie. */
static inline double slow_round(const slow_format *format, double magnitude)
{
    const uint32_t code = slow_encode(format, magnitude);
    return code == format->finite_codes ? (double)INFINITY : slow_decode(format, code);
}

/* Values that show every kind of rounding fault between `code` and the next: the value itself, the
 * tie, and the neighbours of both, as doubles and as floats. Writes SLOW_PROBES of them. */
#define SLOW_PROBES 10
static inline void slow_probes(const slow_format *format, uint32_t code, double probes[SLOW_PROBES])
{
    const double places[2] = {slow_decode(format, code), slow_middle(format, code)};
    for (int i = 0; i < 2; i++) {
        double *const at = probes + 5 * i;
        at[0] = places[i];
        at[1] = nextafter(places[i], INFINITY);
        at[2] = places[i] > 0 ? nextafter(places[i], 0) : 0;
        at[3] = (double)nextafterf((float)places[i], INFINITY);
        at[4] = places[i] > 0 ? (double)nextafterf((float)places[i], 0) : 0;
    }
}

#endif

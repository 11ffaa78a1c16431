/* Weights of a made model folder taken up the ladder by the definition (numerics.md 1.1, 2.1
 * to 2.3), slowly and apart from the library. */
#ifndef FP8MOE_TESTS_SLOW_PREPARE_H
#define FP8MOE_TESTS_SLOW_PREPARE_H

#include "made_checkpoint.h"
#include "slow_model.h"

/* What a device does; the first of every choice is what is documented. */
typedef struct slow_device {
    double fp8_max;
    bool halves;
    enum { EPSILON_BF16, EPSILON_F32, EPSILON_NONE } epsilon;
    enum { DIVISION_NEAREST, DIVISION_DOWN, DIVISION_BF16, DIVISION_KEPT } division;
    enum { INVERSE_NEAREST, INVERSE_DOWN, INVERSE_F32, INVERSE_NONE } inverse;
    bool product_f32;
} slow_device;

static inline double slow_signed(const slow_format *format, double value)
{
    return copysign(slow_round(format, fabs(value)), value);
}

static inline double slow_bf16_of(double value)
{
    return slow_signed(&slow_bf16, value);
}

static inline double slow_f32_of(double value)
{
    return slow_signed(&slow_f32, value);
}

/* bf16 towards zero: the code below the value is the last that does not exceed it. */
static inline double slow_bf16_down(double value)
{
    const uint32_t code = slow_encode(&slow_bf16, value);
    return slow_decode(&slow_bf16, slow_decode(&slow_bf16, code) > value ? code - 1 : code);
}

/* A code after the loader: half its value, to the nearest code, ties to even. */
static inline uint8_t slow_loaded_code(const slow_device *d, uint8_t code)
{
    if (!d->halves) return code;
    return (uint8_t)(slow_encode(&slow_e4m3fn, slow_decode(&slow_e4m3fn, code & 0x7F) / 2) |
                     (code & 0x80));
}

static inline double slow_loaded_scale(const slow_device *d, double scale)
{
    return d->halves ? 2 * scale : scale;
}

/* bf16(code) * bf16(scale) -> bf16 */
static inline double slow_dequantised(const made_model *m, const slow_device *d, int64_t expert,
                                      made_matrix which, int64_t row, int64_t column)
{
    const uint8_t code = slow_loaded_code(d, made_code(m, expert, which, row, column));
    const double value = slow_decode(&slow_e4m3fn, code & 0x7F);
    const double scale =
        slow_bf16_of(slow_loaded_scale(d, made_scale_of(m, expert, which, row, column)));
    return slow_bf16_of((code & 0x80 ? -value : value) * scale);
}

/* Row scale of columns [first, first + count). */
static inline double slow_prepared_scale(const made_model *m, const slow_device *d, int64_t expert,
                                         made_matrix which, int64_t row, int64_t first,
                                         int64_t count)
{
    double amax = 0;
    for (int64_t c = first; c < first + count; c++)
        amax = fmax(amax, fabs(slow_dequantised(m, d, expert, which, row, c)));
    const double sum = amax + (double)1e-8f;
    const double raised = d->epsilon == EPSILON_BF16  ? slow_bf16_of(sum)
                          : d->epsilon == EPSILON_F32 ? slow_f32_of(sum)
                                                      : amax;
    switch (d->division) {
    case DIVISION_NEAREST:
        return slow_bf16_of(raised / d->fp8_max);
    case DIVISION_DOWN:
        return slow_bf16_down(raised / d->fp8_max);
    case DIVISION_BF16:
        return slow_bf16_of(raised * slow_bf16_of(1 / d->fp8_max));
    case DIVISION_KEPT:
        break;
    }
    return slow_f32_of(raised / d->fp8_max);
}

/* The code of one element under its row's scale; magnitudes beyond the last finite code saturate.
 */
static inline uint8_t slow_prepared_code(const made_model *m, const slow_device *d, double scale,
                                         int64_t expert, made_matrix which, int64_t row,
                                         int64_t column)
{
    const slow_format *const format = d->fp8_max == 240 ? &slow_e4m3_ieee : &slow_e4m3fn;
    const double x = slow_dequantised(m, d, expert, which, row, column);
    const double inverse = d->inverse == INVERSE_NEAREST ? slow_bf16_of(1 / scale)
                           : d->inverse == INVERSE_DOWN  ? slow_bf16_down(1 / scale)
                                                         : slow_f32_of(1 / scale);
    const double exact = d->inverse == INVERSE_NONE ? x / scale : x * inverse;
    const double scaled = d->product_f32 ? slow_f32_of(exact) : slow_bf16_of(exact);
    const uint32_t code = slow_encode(format, fabs(scaled));
    return (uint8_t)((code < format->finite_codes ? code : format->finite_codes - 1) |
                     (signbit(scaled) ? 0x80 : 0));
}

#endif

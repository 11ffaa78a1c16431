/* Quantisation and scaling of runs of numbers: the rounding functions of bits.h in loops that a
 * compiler makes vectors of, for whatever instruction set the file that includes this is compiled.
 */
#ifndef FP8MOE_LIB_KERNELS_QUANT_H
#define FP8MOE_LIB_KERNELS_QUANT_H

#include "bits.h"
#include "kernels.h"

/* Magnitudes compare as integers, with NaN above Inf. */
static double run_amax(const double *x, int64_t n)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t magnitude = (int64_t)(f64_bits(x[i]) & ~F64_SIGN);
        largest = magnitude > largest ? magnitude : largest;
    }
    return f64_from_bits((uint64_t)largest);
}

static void run_scale_bf16(double *x, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = round_bf16(x[i] * factor);
}

/* A NaN's sign differs between processors (0 * Inf), its code may not. */
static inline uint8_t unsigned_nan(double value, uint8_t code)
{
    return value != value ? 0x7F : code;
}

static void run_encode_bf16(uint8_t *codes, const double *x, int64_t n, double factor,
                            double largest)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = round_bf16(x[i] * factor);
        codes[i] = unsigned_nan(value, e4m3_nearest(value, largest));
    }
}

static void run_encode_f32(uint8_t *codes, const double *x, int64_t n, double factor,
                           double largest)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = round_f32(x[i] * factor);
        codes[i] = unsigned_nan(value, e4m3_nearest(value, largest));
    }
}

static void run_halve(uint8_t *codes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] = e4m3_half(codes[i]);
}

/* The slots that this file fills. */
static inline void kernels_quant_slots(kernels *out)
{
    out->amax = run_amax;
    out->scale_bf16 = run_scale_bf16;
    out->encode_bf16 = run_encode_bf16;
    out->encode_f32 = run_encode_f32;
    out->halve = run_halve;
}

#endif

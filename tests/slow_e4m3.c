/* Every one of the 2^32 floats, as E4M3 of a target or as bf16. The slow model gives the first
 * float of every code: the tie to its left neighbour, or the next float where that tie is the
 * neighbour's. All floats from there to the first of the next code must become that code.
 *
 * Usage: slow_e4m3 gaudi2|gaudi3|ocp|bf16 */
#include "bits.h"
#include "e4m3.h"
#include "slow_model.h"

#include <stdbool.h>
#include <stdio.h>

#define F32_INF UINT32_C(0x7F800000)
#define F32_SIGN UINT32_C(0x80000000)

/* What `target` makes of a float, its sign in bit 31; NULL stands for bf16, where both ways of the
 * library must agree. */
static uint32_t encode(const fp8moe_target *target, uint32_t bits)
{
    const float value = f32_from_bits(bits);
    if (target) {
        const uint32_t code = e4m3_encode(target, (double)value);
        return (code & 0x80) << 24 | (code & 0x7F);
    }
    const uint32_t code = f32_to_bf16(value);
    if (code != f64_to_bf16((double)value)) return ~UINT32_C(0);
    return (code & 0x8000) << 16 | (code & 0x7FFF);
}

static const slow_format *format_of(const fp8moe_target *target)
{
    if (!target) return &slow_bf16;
    return target->nan_code_first == 0x78 ? &slow_e4m3_ieee : &slow_e4m3fn;
}

/* Whether every float of magnitude bits first .. end - 1, of both signs, becomes `code`. */
static bool check_range(const fp8moe_target *target, uint32_t first, uint32_t end, uint32_t code)
{
    for (uint32_t bits = first; bits < end; bits++) {
        const uint32_t plus = encode(target, bits), minus = encode(target, bits | F32_SIGN);
        if (plus == code && minus == (code | F32_SIGN)) continue;
        printf("0x%08X became 0x%X and, negative, 0x%X: expected 0x%X\n", bits, plus, minus, code);
        return false;
    }
    return true;
}

/* The magnitude bits of the first float that becomes `code`. A tie has few enough bits to be a
 * float. */
static uint32_t first_float(const slow_format *format, uint32_t code)
{
    if (code == 0) return 0;
    const uint32_t tie = f32_bits((float)slow_middle(format, code - 1));
    return code % 2 ? tie + 1 : tie;
}

/* E4M3 saturates: its last code takes all up to Inf. bf16 has a code of its own for Inf. */
static bool check_numbers(const fp8moe_target *target)
{
    const slow_format *format = format_of(target);
    const uint32_t last = target ? format->finite_codes - 1 : format->finite_codes;
    for (uint32_t code = 0; code < last; code++)
        if (!check_range(target, first_float(format, code), first_float(format, code + 1), code))
            return false;
    return check_range(target, first_float(format, last), F32_INF + 1, last);
}

static bool check_nans(const fp8moe_target *target)
{
    for (uint32_t bits = F32_INF + 1; bits < F32_SIGN; bits++) {
        const uint32_t plus = encode(target, bits), minus = encode(target, bits | F32_SIGN);
        const bool is_nan = target ? plus == 0x7F : plus > slow_bf16.finite_codes && plus < 0x8000;
        if (is_nan && minus == (plus | F32_SIGN)) continue;
        printf("NaN 0x%08X became 0x%X and, negative, 0x%X\n", bits, plus, minus);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *name = argc == 2 ? argv[1] : "";
    const fp8moe_target *target = fp8moe_target_find(name);
    if (!target && strcmp(name, "bf16") != 0) {
        fprintf(stderr, "usage: slow_e4m3 gaudi2|gaudi3|ocp|bf16\n");
        return 2;
    }
    return check_numbers(target) && check_nans(target) ? 0 : 1;
}

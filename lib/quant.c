#include "quant.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"

fp8moe_precision quant_steps(const fp8moe_target *target, fp8moe_cast cast, fp8moe_precision input)
{
    if (cast == FP8MOE_CAST_F32 || !target->scale_in_input_dtype) return FP8MOE_ROUND_F32;
    return input;
}

double quant_scale(const fp8moe_target *target, fp8moe_precision steps, double amax)
{
    /* Upstream adds a Python number to a tensor: it takes part as the f32 nearest to 1e-8. */
    const double raised = round_to(steps, amax + (double)1e-8f);
    return round_to(steps, raised / (double)target->fp8_max);
}

/* A NaN's sign differs between processors (0 * Inf), its code may not. */
static uint8_t encode(const fp8moe_target *target, double value)
{
    return value != value ? 0x7F : e4m3_encode(target, value);
}

void quant_codes(const kernels *k, const fp8moe_target *target, fp8moe_precision steps,
                 double factor, const double *x, int64_t n, uint8_t *codes)
{
    const double largest = (double)target->fp8_max;
    if (steps == FP8MOE_ROUND_BF16)
        k->encode_bf16(codes, x, n, factor, largest);
    else if (steps == FP8MOE_ROUND_F32)
        k->encode_f32(codes, x, n, factor, largest);
    else
        for (int64_t i = 0; i < n; i++)
            codes[i] = encode(target, round_to(steps, x[i] * factor));
}

double quant_row(const kernels *k, const fp8moe_target *target, fp8moe_precision steps,
                 const double *x, int64_t n, uint8_t *codes)
{
    const double scale = quant_scale(target, steps, k->amax(x, n));
    quant_codes(k, target, steps, round_to(steps, 1.0 / scale), x, n, codes);
    return scale;
}

void quant_static(const kernels *k, const fp8moe_target *target, fp8moe_cast cast, double scale,
                  const double *x, int64_t n, uint8_t *codes)
{
    if (cast == FP8MOE_CAST_BF16_INVERSE) {
        quant_codes(k, target, FP8MOE_ROUND_BF16, round_bf16(1.0 / scale), x, n, codes);
        return;
    }
    assert(cast == FP8MOE_CAST_F32_DIVISION);
    for (int64_t i = 0; i < n; i++)
        codes[i] = encode(target, round_f32(x[i] / scale));
}

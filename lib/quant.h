/* Quantisation of rows to E4M3: dynamic (one scale a row, numerics.md 1.1) and static (1.2, 3.6).
 */
#ifndef FP8MOE_LIB_QUANT_H
#define FP8MOE_LIB_QUANT_H

#include "kernels.h"

#include <fp8moe/profile.h>
#include <stdint.h>

/* dtype in which the scale arithmetic of a dynamic cast is done: the input's own on a target with
 * scale_in_input_dtype (BF16 for bf16 input), else F32; a cast cell of F32 asks for F32 everywhere.
 */
fp8moe_precision quant_steps(const fp8moe_target *target, fp8moe_cast cast, fp8moe_precision input);

/* The scale of a row whose largest magnitude is `amax`: round(round(amax + 1e-8) / fp8_max). */
double quant_scale(const fp8moe_target *target, fp8moe_precision steps, double amax);

/* codes[i] = E4M3(round(x[i] * factor)); saturates. BF16 and F32 steps are the fast ones. */
void quant_codes(const kernels *k, const fp8moe_target *target, fp8moe_precision steps,
                 double factor, const double *x, int64_t n, uint8_t *codes);

/* One row: scale from its amax, codes by the rounded inverse of the rounded scale. Returns the
 * scale (a number exactly representable in `steps`). */
double quant_row(const kernels *k, const fp8moe_target *target, fp8moe_precision steps,
                 const double *x, int64_t n, uint8_t *codes);

/* One row by a calibrated scale, as the cast says (BF16_INVERSE or F32_DIVISION). */
void quant_static(const kernels *k, const fp8moe_target *target, fp8moe_cast cast, double scale,
                  const double *x, int64_t n, uint8_t *codes);

#endif

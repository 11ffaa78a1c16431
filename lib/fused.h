/* Tensors that hold several matrices taken apart: experts in the first dimension, gate and up in
 * one. The one place that says which part of a scale belongs to which matrix. */
#ifndef FP8MOE_LIB_FUSED_H
#define FP8MOE_LIB_FUSED_H

#include "common.h"

#include <fp8moe/moe.h>

/* The scale of one expert: without the expert dimension where it has one. `weight` is the whole
 * fused tensor [E, rows, columns], or [rows, columns] of the only expert. `name` is for messages.
 */
fp8moe_status fused_scale(const fp8moe_tensor *scale, const fp8moe_tensor *weight, int64_t index,
                          const char *name, fp8moe_tensor *out, fp8moe_error *err);

/* Gate and up of one expert from its w13 [2I, H] and the scale of it: one number for both, one
 * each, one a row, or blocks. Gate and up each have their own grid of blocks; only a grid of
 * ceil(2I / block) rows that is no such pair runs through both. */
fp8moe_status fused_split(const fp8moe_tensor *w13, const fp8moe_tensor *scale, int64_t block_rows,
                          const char *name, fp8moe_weight *gate, fp8moe_weight *up,
                          fp8moe_error *err);

#endif

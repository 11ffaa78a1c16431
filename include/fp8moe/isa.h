/**
 * @file isa.h
 * Instruction sets the library has kernels for. None of them changes a bit of any result: naming
 * one is for measuring, and for ruling a processor out.
 */
#ifndef FP8MOE_ISA_H
#define FP8MOE_ISA_H

#include <fp8moe/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Names a configuration may give, lowest first: "portable", "neon", "avx2", "avx512", "amx" (a
 * name only: no kernel uses it yet); `index` beyond the last gives NULL. "all" means the best
 * present. */
FP8MOE_API const char *fp8moe_isa_at(size_t index);

/** Whether this processor runs it and this build has kernels for it. A name that is not present
 * means the next lower one that is. False for an unknown name. */
FP8MOE_API bool fp8moe_isa_present(const char *name);

/** The best one present. */
FP8MOE_API const char *fp8moe_isa_best(void);

#ifdef __cplusplus
}
#endif

#endif

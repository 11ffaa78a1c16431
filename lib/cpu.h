/* Instruction sets of this processor, as far as the kernels use them. */
#ifndef FP8MOE_LIB_CPU_H
#define FP8MOE_LIB_CPU_H

#include <stdbool.h>

/* In ascending order per architecture: a cap excludes everything after it. */
typedef enum cpu_isa {
    CPU_PORTABLE,
    CPU_NEON,   /* part of every aarch64 */
    CPU_AVX2,   /* with FMA */
    CPU_AVX512, /* F, BW, VL, DQ and VBMI: what the kernels of that name are compiled for */
    CPU_AMX,    /* a name only: no kernel uses it yet, so it means the best below it */
    CPU_ISA_COUNT
} cpu_isa;

/* "portable", "neon", "avx2", "avx512", "amx". */
const char *cpu_isa_name(cpu_isa isa);

/* Whether this processor and its operating system run it (AMX: never). */
bool cpu_has(cpu_isa isa);

#endif

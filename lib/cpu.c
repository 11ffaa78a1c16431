#include "cpu.h"

static const char *const names[CPU_ISA_COUNT] = {"portable", "neon", "avx2", "avx512", "amx"};

const char *cpu_isa_name(cpu_isa isa)
{
    return names[isa];
}

#if defined(__x86_64__) || defined(__i386__)

/* The compiler's builtin also asks the operating system whether it saves the wide registers. */
bool cpu_has(cpu_isa isa)
{
    __builtin_cpu_init();
    switch (isa) {
    case CPU_PORTABLE:
        return true;
    case CPU_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case CPU_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vbmi");
    default:
        return false;
    }
}

#elif defined(__aarch64__)

bool cpu_has(cpu_isa isa)
{
    return isa == CPU_PORTABLE || isa == CPU_NEON;
}

#else

bool cpu_has(cpu_isa isa)
{
    return isa == CPU_PORTABLE;
}

#endif

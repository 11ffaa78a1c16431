#include "isa.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#define HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define HAS(feature) false
#endif

#if defined(__aarch64__)
#define IS_ARM true
#else
#define IS_ARM false
#endif

static const struct {
    const char *name;
    const char *library;
} rows[] = {
    {"portable", "portable"}, {"neon", "neon"},  {"avx2", "avx2"},
    {"avx512", "avx512"},     {"amx", "avx512"}, {"all", "all"},
};

#define COUNT (sizeof rows / sizeof *rows)

const char *isa_at(size_t index)
{
    return index < COUNT ? rows[index].name : NULL;
}

bool isa_is_present(const char *name)
{
    if (!strcmp(name, "neon")) return IS_ARM;
    if (!strcmp(name, "avx2")) return HAS("avx2") && HAS("fma");
    if (!strcmp(name, "avx512")) return HAS("avx512f") && HAS("avx512bw") && HAS("avx512vbmi");
    return strcmp(name, "amx") != 0;
}

const char *isa_for_library(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(name, rows[i].name)) return rows[i].library;
    return NULL;
}

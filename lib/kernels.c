#include "kernels.h"

#include "cpu.h"
#include "kernels_isa.h"
#include "kernels_quant.h"

#include <assert.h>
#include <fp8moe/isa.h>
#include <string.h>

static double sum_lanes(double s[LANES])
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] += s[j + half];
    return one_nan(s[0]);
}

static double dot_row(const double *a, const double *w, int64_t n)
{
    double s[LANES] = {0};
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        for (int j = 0; j < LANES; j++)
            s[j] += a[k + j] * w[k + j];
    for (int64_t k = whole; k < n; k++)
        s[k - whole] += a[k] * w[k];
    return sum_lanes(s);
}

static double dot_abs_row(const double *a, const double *w, int64_t n)
{
    double s[LANES] = {0};
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES)
        for (int j = 0; j < LANES; j++)
            s[j] += fabs(a[k + j] * w[k + j]);
    for (int64_t k = whole; k < n; k++)
        s[k - whole] += fabs(a[k] * w[k]);
    return sum_lanes(s);
}

void kernels_dot_portable(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                          const double *w, int64_t w_rows, int64_t n)
{
    for (int64_t r = 0; r < w_rows; r++)
        for (int64_t i = 0; i < a_rows; i++)
            out[i * out_stride + r] = dot_row(a + i * n, w + r * n, n);
}

static void dot_abs_portable(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                             const double *w, int64_t w_rows, int64_t n)
{
    for (int64_t r = 0; r < w_rows; r++)
        for (int64_t i = 0; i < a_rows; i++)
            out[i * out_stride + r] = dot_abs_row(a + i * n, w + r * n, n);
}

static void decode_portable(double *out, const uint8_t *codes, const double table[256], int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = table[codes[k]];
}

static const kernels portable = {
    .name = "portable",
    .dot = kernels_dot_portable,
    .dot_abs = dot_abs_portable,
    .dot_exact = kernels_dot_portable,
    .decode = decode_portable,
};

/* NULL where this build has no file for an instruction set. */
static void (*const initialisers[CPU_ISA_COUNT])(kernels *) = {
    [CPU_PORTABLE] = NULL,
#if defined(FP8MOE_HAVE_NEON)
    [CPU_NEON] = kernels_init_neon,
#endif
#if defined(FP8MOE_HAVE_AVX2)
    [CPU_AVX2] = kernels_init_avx2,
#endif
#if defined(FP8MOE_HAVE_AVX512)
    [CPU_AVX512] = kernels_init_avx512,
#endif
};

/* The last instruction set a name allows; CPU_ISA_COUNT for an unknown name. */
static cpu_isa highest_allowed(const char *isa)
{
    if (!isa || !strcmp(isa, "all")) return CPU_ISA_COUNT - 1;
    cpu_isa found = CPU_PORTABLE;
    while (found < CPU_ISA_COUNT && strcmp(isa, cpu_isa_name(found)) != 0)
        found++;
    return found;
}

bool kernels_init(kernels *out, const char *isa, bool use_blas)
{
    assert(out);
    const cpu_isa allowed = highest_allowed(isa);
    if (allowed == CPU_ISA_COUNT) return false;
    *out = portable;
    kernels_quant_slots(out);
    for (cpu_isa i = CPU_PORTABLE; i <= allowed; i++)
        if (initialisers[i] && cpu_has(i)) initialisers[i](out);
    if (use_blas && out->dot_exact == portable.dot_exact) kernels_init_blas(out);
    return true;
}

const char *fp8moe_isa_at(size_t index)
{
    return index < CPU_ISA_COUNT ? cpu_isa_name((cpu_isa)index) : NULL;
}

bool fp8moe_isa_present(const char *name)
{
    kernels k;
    return strcmp(name, "all") != 0 && kernels_init(&k, name, false) && !strcmp(k.name, name);
}

const char *fp8moe_isa_best(void)
{
    kernels k;
    (void)kernels_init(&k, NULL, false);
    return k.name;
}

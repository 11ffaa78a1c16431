#include "kernels.h"

#include "cpu.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define LANES 16

static double sum_lanes(double s[LANES])
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) s[j] += s[j + half];
    }
    return isnan(s[0]) ? (double)NAN : s[0];
}

static double dot_row(const double *a, const double *w, int64_t n)
{
    double s[LANES] = {0};
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES) {
        for (int j = 0; j < LANES; j++) s[j] += a[k + j] * w[k + j];
    }
    for (int64_t k = whole; k < n; k++) s[k - whole] += a[k] * w[k];
    return sum_lanes(s);
}

static double dot_abs_row(const double *a, const double *w, int64_t n)
{
    double s[LANES] = {0};
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES) {
        for (int j = 0; j < LANES; j++) s[j] += fabs(a[k + j]) * fabs(w[k + j]);
    }
    for (int64_t k = whole; k < n; k++) s[k - whole] += fabs(a[k]) * fabs(w[k]);
    return sum_lanes(s);
}

static void dot_portable(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                         const double *w, int64_t w_rows, int64_t n)
{
    for (int64_t r = 0; r < w_rows; r++) {
        for (int64_t i = 0; i < a_rows; i++) {
            out[i * out_stride + r] = dot_row(a + i * n, w + r * n, n);
        }
    }
}

static void dot_abs_portable(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                             const double *w, int64_t w_rows, int64_t n)
{
    for (int64_t r = 0; r < w_rows; r++) {
        for (int64_t i = 0; i < a_rows; i++) {
            out[i * out_stride + r] = dot_abs_row(a + i * n, w + r * n, n);
        }
    }
}

static void decode_portable(double *out, const uint8_t *codes, const double table[256], int64_t n)
{
    for (int64_t k = 0; k < n; k++) out[k] = table[codes[k]];
}

static const kernels portable = {
    .name = "portable",
    .dot = dot_portable,
    .dot_abs = dot_abs_portable,
    .dot_exact = dot_portable,
    .decode = decode_portable,
};

bool kernels_init(kernels *out, const char *isa, bool use_blas)
{
    assert(out);
    (void)use_blas;
    *out = portable;
    if (!isa || !strcmp(isa, "all")) return true;
    for (int i = 0; i < CPU_ISA_COUNT; i++) {
        if (!strcmp(isa, cpu_isa_name((cpu_isa)i))) return true;
    }
    return false;
}

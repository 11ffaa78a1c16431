#include <immintrin.h>

#define WIDTH 8
#define MULTIPLY_ADD(a, b, c) _mm512_fmadd_pd(a, b, c)
#include "kernels_dot.h"
#include "kernels_quant.h"

/* Thirty-two registers: twelve outputs of two vectors each, or sixteen of one. */

static void dot_avx512(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                       const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_PLAIN, &(dot_job){out, out_stride, a, w, n}, a_rows, 3, w_rows, 4);
}

static void dot_abs_avx512(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                           const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_ABS, &(dot_job){out, out_stride, a, w, n}, a_rows, 3, w_rows, 4);
}

static void dot_exact_avx512(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                             const double *w, int64_t w_rows, int64_t n)
{
    dot_rows(DOT_EXACT, &(dot_job){out, out_stride, a, w, n}, a_rows, 4, w_rows, 4);
}

/* Byte `place` of every table entry, as a lookup of 256 bytes in four registers. */
typedef struct byte_lookup {
    __m512i part[4];
} byte_lookup;

static byte_lookup take_byte(const double table[256], int place)
{
    uint8_t bytes[256];
    for (int i = 0; i < 256; i += 8) {
        const __m512i entries = _mm512_loadu_si512(table + i);
        const __m512i shifted = _mm512_srl_epi64(entries, _mm_cvtsi32_si128(8 * place));
        _mm_storel_epi64((__m128i *)(bytes + i), _mm512_cvtepi64_epi8(shifted));
    }
    byte_lookup lookup;
    memcpy(&lookup, bytes, sizeof bytes);
    return lookup;
}

static __m512i look_up(const byte_lookup *t, __m512i codes)
{
    const __m512i low = _mm512_permutex2var_epi8(t->part[0], codes, t->part[1]);
    const __m512i high = _mm512_permutex2var_epi8(t->part[2], codes, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
}

/* E4M3 values fill the upper two bytes of a double; others (a scale applied) may need more. */
static bool fits_two_bytes(const double table[256])
{
    __m512i bits = _mm512_setzero_si512();
    for (int i = 0; i < 256; i += 8)
        bits = _mm512_or_si512(bits, _mm512_loadu_si512(table + i));
    return _mm512_test_epi64_mask(bits, _mm512_set1_epi64(0xFFFFFFFFFFFF)) == 0;
}

/* Entry j of vector v takes byte 8 v + j of `sixth` below that of `seventh`. */
static __m512i spread_index(int v)
{
    const __m512i step = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i entry = _mm512_add_epi64(step, _mm512_set1_epi64(8 * v));
    const __m512i both =
        _mm512_or_si512(_mm512_slli_epi64(entry, 48), _mm512_slli_epi64(entry, 56));
    return _mm512_or_si512(both, _mm512_set1_epi64((int64_t)64 << 56));
}

#define CODES_AT_ONCE 64
#define WORTH_LOOKUPS 256 /* codes from which splitting the table pays */

static void decode_avx512(double *out, const uint8_t *codes, const double table[256], int64_t n)
{
    int64_t k = 0;
    if (n >= WORTH_LOOKUPS && fits_two_bytes(table)) {
        const byte_lookup sixth = take_byte(table, 6), seventh = take_byte(table, 7);
        __m512i index[8];
        for (int v = 0; v < 8; v++)
            index[v] = spread_index(v);
        for (; k + CODES_AT_ONCE <= n; k += CODES_AT_ONCE) {
            const __m512i c = _mm512_loadu_si512(codes + k);
            const __m512i lower = look_up(&sixth, c), upper = look_up(&seventh, c);
            for (int v = 0; v < 8; v++)
                _mm512_storeu_si512(
                    out + k + 8 * v,
                    _mm512_maskz_permutex2var_epi8(0xC0C0C0C0C0C0C0C0, lower, index[v], upper));
        }
    }
    for (; k < n; k++)
        out[k] = table[codes[k]];
}

void kernels_init_avx512(kernels *out)
{
    out->name = "avx512";
    kernels_quant_slots(out);
    out->dot = dot_avx512;
    out->dot_abs = dot_abs_avx512;
    out->dot_exact = dot_exact_avx512;
    out->decode = decode_avx512;
}

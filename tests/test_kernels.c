/* Every instruction set of this processor against the definition, bit for bit; `--bench` measures
 * them against a streaming read. */
#include "cpu.h"
#include "e4m3.h"
#include "kernels.h"
#include "parallel.h"

#include <fp8moe/isa.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MAX_LENGTH 8192
#define MAX_ROWS 11
#define POISON 0x88

__extension__ typedef __int128 int128;

/* ---- what is tested ---- */

/* One way to compute: an instruction set, and OpenBLAS where it is built in and used. */
typedef struct variant {
    kernels kernels;
    const char *name;
} variant;

static variant variants[CPU_ISA_COUNT + 1];
static size_t variant_count;

static kernels kernels_named(const char *isa, bool use_blas)
{
    kernels k;
    if (!kernels_init(&k, isa, use_blas)) abort();
    return k;
}

static void find_variants(void)
{
    const kernels portable = kernels_named("portable", false);
    for (cpu_isa isa = CPU_PORTABLE; isa < CPU_ISA_COUNT; isa++) {
        variant *const v = &variants[variant_count];
        *v = (variant){kernels_named(cpu_isa_name(isa), false), cpu_isa_name(isa)};
        if (!strcmp(v->kernels.name, v->name))
            variant_count++;
        else
            printf("%s: not on this processor or not in this build, SKIPPED\n", v->name);
    }
    variant *const v = &variants[variant_count];
    *v = (variant){kernels_named("portable", true), "portable with OpenBLAS"};
    if (v->kernels.dot_exact != portable.dot_exact)
        variant_count++;
    else
        printf("%s: not in this build, SKIPPED\n", v->name);
}

/* ---- inputs ---- */

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545F4914F6CDD1D;
}

static double random_double(void)
{
    return ldexp((double)(int64_t)random_bits(), -63 + (int)(random_bits() % 80) - 40);
}

/* Mostly ordinary numbers, so that one odd operand does not hide what the others do. */
static double random_operand(unsigned odd_in_1024)
{
    static const double odd[] = {0.0,       -0.0,       NAN,      INFINITY, -INFINITY,
                                 0x1p-1074, -0x1p-1060, 0x1p1000, -0x1p1000};
    if (random_bits() % 1024 < odd_in_1024) return odd[random_bits() % COUNT(odd)];
    return random_double();
}

/* ---- the definition, spelled out ---- */

static double defined_dot(const double *a, const double *w, int64_t n, bool magnitudes)
{
    double s[16] = {0};
    for (int64_t k = 0; k < n; k++) {
        const double product = a[k] * w[k];
        s[k % 16] = s[k % 16] + (magnitudes ? fabs(product) : product);
    }
    for (int j = 0; j < 8; j++)
        s[j] += s[j + 8];
    for (int j = 0; j < 4; j++)
        s[j] += s[j + 4];
    const double total = (s[0] + s[2]) + (s[1] + s[3]);
    return isnan(total) ? (double)NAN : total;
}

typedef void (*dot_function)(double *out, int64_t out_stride, const double *a, int64_t a_rows,
                             const double *w, int64_t w_rows, int64_t n);

/* Operands and results of one call, with room after each row of results that must stay poisoned. */
typedef struct call {
    double *a, *w, *want, *got;
} call;

#define OUT_STRIDE (MAX_ROWS + 2)
#define OUT_SIZE (MAX_ROWS * OUT_STRIDE)

static call call_open(void)
{
    const call c = {
        .a = malloc(MAX_ROWS * MAX_LENGTH * sizeof(double)),
        .w = malloc(MAX_ROWS * MAX_LENGTH * sizeof(double)),
        .want = malloc(OUT_SIZE * sizeof(double)),
        .got = malloc(OUT_SIZE * sizeof(double)),
    };
    assert_true(c.a && c.w && c.want && c.got);
    return c;
}

static void call_close(call *c)
{
    free(c->a);
    free(c->w);
    free(c->want);
    free(c->got);
}

static void fill_operands(call *c, int64_t n, unsigned odd_in_1024)
{
    for (int64_t i = 0; i < MAX_ROWS * n; i++) {
        c->a[i] = random_operand(odd_in_1024);
        c->w[i] = random_operand(odd_in_1024);
    }
}

static void check_dot(const call *c, dot_function dot, int64_t a_rows, int64_t w_rows, int64_t n,
                      bool magnitudes)
{
    memset(c->want, POISON, OUT_SIZE * sizeof(double));
    memset(c->got, POISON, OUT_SIZE * sizeof(double));
    for (int64_t i = 0; i < a_rows; i++)
        for (int64_t r = 0; r < w_rows; r++)
            c->want[i * OUT_STRIDE + r] = defined_dot(c->a + i * n, c->w + r * n, n, magnitudes);
    dot(c->got, OUT_STRIDE, c->a, a_rows, c->w, w_rows, n);
    assert_memory_equal(c->want, c->got, OUT_SIZE * sizeof(double));
}

static void check_lengths(const variant *v, call *c, int64_t n, unsigned odd_in_1024)
{
    fill_operands(c, n, odd_in_1024);
    const int64_t a_rows = 1 + n % MAX_ROWS, w_rows = 1 + (n + n / MAX_ROWS) % MAX_ROWS;
    check_dot(c, v->kernels.dot, a_rows, w_rows, n, false);
    check_dot(c, v->kernels.dot_abs, a_rows, w_rows, n, true);
}

static void test_dot_is_the_definition(void **state)
{
    (void)state;
    static const unsigned odd_in_1024[] = {0, 2, 200};
    call c = call_open();
    for (size_t i = 0; i < variant_count; i++) {
        for (size_t o = 0; o < COUNT(odd_in_1024); o++) {
            for (int64_t n = 0; n <= 129; n++)
                check_lengths(&variants[i], &c, n, odd_in_1024[o]);
            check_lengths(&variants[i], &c, MAX_LENGTH, odd_in_1024[o]);
        }
    }
    call_close(&c);
}

static void test_dot_takes_any_number_of_rows(void **state)
{
    (void)state;
    call c = call_open();
    for (size_t i = 0; i < variant_count; i++) {
        for (int64_t a_rows = 0; a_rows <= MAX_ROWS; a_rows++) {
            for (int64_t w_rows = 0; w_rows <= MAX_ROWS; w_rows++) {
                fill_operands(&c, 37, 0);
                check_dot(&c, variants[i].kernels.dot, a_rows, w_rows, 37, false);
                check_dot(&c, variants[i].kernels.dot_abs, a_rows, w_rows, 37, true);
            }
        }
    }
    call_close(&c);
}

/* 1 + 2^-53 twice rounded differs from once: a fused product would show. */
static void test_dot_rounds_products(void **state)
{
    (void)state;
    const double a[2] = {1, 1 + 0x1p-30}, w[2] = {-(1 + 0x1p-29), 1 + 0x1p-30};
    for (size_t i = 0; i < variant_count; i++) {
        double columns[2][17] = {{0}}, got;
        columns[0][0] = a[0], columns[1][0] = w[0];
        columns[0][16] = a[1], columns[1][16] = w[1];
        variants[i].kernels.dot(&got, 1, columns[0], 1, columns[1], 1, 17);
        assert_true(got == 0); /* fused: 2^-60 */
    }
}

/* ---- exact dots of codes ---- */

/* A finite E4M3FN code in units of 2^-9, from the definition. */
static int64_t code_units(uint8_t code)
{
    const int field = code >> 3 & 15, fraction = code & 7;
    const int64_t units = field == 0 ? fraction : (int64_t)(8 + fraction) << (field - 1);
    return code & 0x80 ? -units : units;
}

static double exact_dot(const uint8_t *a, const uint8_t *w, int64_t n)
{
    int128 sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (int128)code_units(a[k]) * code_units(w[k]);
    assert_true(sum < (int128)1 << 53 && sum > -((int128)1 << 53));
    return (double)(int64_t)sum * 0x1p-18;
}

static uint8_t any_finite(int64_t k)
{
    (void)k;
    const uint8_t code = (uint8_t)random_bits();
    return (code & 0x7F) == 0x7F ? code & 0x80 : code;
}

static uint8_t largest(int64_t k)
{
    (void)k;
    return 0x7E;
}

/* Pairs that cancel but for a subnormal at the end of every 64. */
static uint8_t cancelling(int64_t k)
{
    if (k % 64 == 62) return 0x01;
    if (k % 64 == 63) return 0x00;
    return k % 2 ? 0xFE : 0x7E;
}

static uint8_t subnormal(int64_t k)
{
    (void)k;
    return (uint8_t)(random_bits() & 0x87);
}

static const struct {
    const char *name;
    uint8_t (*a)(int64_t k);
    uint8_t (*w)(int64_t k);
} code_sets[] = {
    {"random", any_finite, any_finite},           {"all maximal", largest, largest},
    {"cancelling", cancelling, largest},          {"subnormal", subnormal, subnormal},
    {"subnormal by maximal", subnormal, largest},
};

static const int64_t code_lengths[] = {0, 1, 2, 15, 16, 17, 100, 128, 2047, 2048, 4096, MAX_LENGTH};
#define MAX_TOKENS 67
#define OUTPUTS 13

typedef struct code_job {
    const kernels *kernels;
    double *a, *w, *got; /* [tokens, n], [OUTPUTS, n], [tokens, OUTPUTS] */
    int64_t tokens, n;
} code_job;

static void dot_outputs(void *context, int64_t first, int64_t last, int worker)
{
    const code_job *const j = context;
    (void)worker;
    j->kernels->dot_exact(j->got + first, OUTPUTS, j->a, j->tokens, j->w + first * j->n,
                          last - first, j->n);
}

static void fill_codes(uint8_t *codes, double *values, int64_t rows, int64_t n,
                       uint8_t (*code)(int64_t k))
{
    for (int64_t i = 0; i < rows * n; i++) {
        codes[i] = code(i % n);
        values[i] = (double)code_units(codes[i]) * 0x1p-9;
    }
}

static void check_codes(code_job *j, const double *want)
{
    static const int threads[] = {1, 2, 7};
    const size_t size = (size_t)(j->tokens * OUTPUTS) * sizeof(double);
    for (size_t i = 0; i < variant_count; i++) {
        j->kernels = &variants[i].kernels;
        for (size_t t = 0; t < COUNT(threads); t++) {
            memset(j->got, 0xFF, size); /* NaN: case K01 */
            parallel_for(threads[t], OUTPUTS, dot_outputs, j);
            assert_memory_equal(want, j->got, size);
        }
    }
}

static void test_code_dots_are_exact(void **state)
{
    (void)state;
    static const int64_t tokens[] = {1, 3, 16, MAX_TOKENS};
    uint8_t *const a_codes = malloc(MAX_TOKENS * MAX_LENGTH), *const w_codes =
                                                                  malloc(OUTPUTS * MAX_LENGTH);
    double *const want = malloc(MAX_TOKENS * OUTPUTS * sizeof(double));
    code_job j = {.a = malloc(MAX_TOKENS * MAX_LENGTH * sizeof(double)),
                  .w = malloc(OUTPUTS * MAX_LENGTH * sizeof(double)),
                  .got = malloc(MAX_TOKENS * OUTPUTS * sizeof(double))};
    assert_true(a_codes && w_codes && want && j.a && j.w && j.got);
    for (size_t s = 0; s < COUNT(code_sets); s++) {
        for (size_t l = 0; l < COUNT(code_lengths); l++) {
            j.n = code_lengths[l];
            j.tokens = tokens[l % COUNT(tokens)];
            fill_codes(a_codes, j.a, j.tokens, j.n, code_sets[s].a);
            fill_codes(w_codes, j.w, OUTPUTS, j.n, code_sets[s].w);
            for (int64_t i = 0; i < j.tokens * OUTPUTS; i++)
                want[i] = exact_dot(a_codes + i / OUTPUTS * j.n, w_codes + i % OUTPUTS * j.n, j.n);
            check_codes(&j, want);
        }
    }
    free(a_codes);
    free(w_codes);
    free(want);
    free(j.a);
    free(j.w);
    free(j.got);
}

/* Exact dots of operands that are not finite: what every order of summing gives. */
static void test_exact_dot_of_nonfinite_codes(void **state)
{
    (void)state;
    static const struct {
        double a, w, rest, want;
        const char *why;
    } rows[] = {
        {NAN, 1, 1, NAN, "NaN stays"},
        {NAN, 0, 1, NAN, "and is not skipped for a zero"},
        {INFINITY, 1, 1, INFINITY, "Inf outweighs everything finite"},
        {INFINITY, -1, 1, -INFINITY, "with its sign"},
        {INFINITY, 0, 1, NAN, "0 * Inf"},
        {0, -INFINITY, 1, NAN, "on the weight's side too"},
        {INFINITY, 1, -INFINITY, NAN, "Inf - Inf"},
    };
    for (size_t i = 0; i < variant_count; i++) {
        for (size_t c = 0; c < COUNT(rows); c++) {
            double a[40], w[80], got[2];
            for (int k = 0; k < 40; k++)
                a[k] = w[k] = w[40 + k] = 1;
            a[3] = rows[c].a, w[3] = rows[c].w;
            w[35] = rows[c].rest;
            variants[i].kernels.dot_exact(got, 2, a, 1, w, 2, 40);
            const double want = rows[c].want;
            assert_memory_equal(&got[0], &want, sizeof want);
        }
    }
}

static void test_case_k01_output_holds_nan_before(void **state)
{
    (void)state;
    const double a[2] = {0, 1}, w[2] = {2, 3};
    for (size_t i = 0; i < variant_count; i++) {
        const kernels *const k = &variants[i].kernels;
        const dot_function dots[] = {k->dot, k->dot_abs, k->dot_exact};
        for (size_t d = 0; d < COUNT(dots); d++) {
            double got = NAN;
            dots[d](&got, 1, a, 1, w, 1, 2);
            assert_true(got == 3);
        }
    }
}

static void test_case_k03_no_columns(void **state)
{
    (void)state;
    const double nothing[1] = {7}, want[2] = {0, 0};
    for (size_t i = 0; i < variant_count; i++) {
        const kernels *const k = &variants[i].kernels;
        const dot_function dots[] = {k->dot, k->dot_abs, k->dot_exact};
        for (size_t d = 0; d < COUNT(dots); d++) {
            double got[2] = {3, NAN};
            dots[d](got, 2, nothing, 1, nothing, 2, 0);
            assert_memory_equal(got, want, sizeof want);
        }
    }
}

/* A negative zero product must not become a negative zero sum: +0 is where every sum starts. */
static void test_sums_of_zeros_are_positive(void **state)
{
    (void)state;
    const double want = 0;
    for (size_t i = 0; i < variant_count; i++) {
        const kernels *const k = &variants[i].kernels;
        const dot_function dots[] = {k->dot, k->dot_abs, k->dot_exact};
        for (size_t d = 0; d < COUNT(dots); d++) {
            for (int64_t n = 1; n <= 33; n++) {
                double a[33], w[33], got;
                for (int64_t j = 0; j < n; j++)
                    a[j] = -0.0, w[j] = 1;
                dots[d](&got, 1, a, 1, w, 1, n);
                assert_memory_equal(&got, &want, sizeof want);
            }
        }
    }
}

/* ---- decode ---- */

static void check_decode(const kernels *k, const double table[256])
{
    enum { ROOM = 700 };
    uint8_t codes[ROOM + 3];
    double got[ROOM], want[ROOM];
    for (int64_t n = 0; n <= 640; n = n < 140 ? n + 1 : n + 63) {
        for (int shift = 0; shift < 3; shift++) {
            for (size_t i = 0; i < sizeof codes; i++)
                codes[i] = (uint8_t)random_bits();
            memset(got, POISON, sizeof got);
            memset(want, POISON, sizeof want);
            for (int64_t i = 0; i < n; i++)
                want[i] = table[codes[shift + i]];
            k->decode(got, codes + shift, table, n);
            assert_memory_equal(got, want, sizeof want);
        }
    }
}

static void test_decode_reads_any_table(void **state)
{
    (void)state;
    double scaled[256], arbitrary[256], ordered[256];
    for (int i = 0; i < 256; i++) {
        scaled[i] = (double)((float)e4m3fn_table()[i] * 0.0123456789f);
        const uint64_t bits = random_bits();
        memcpy(&arbitrary[i], &bits, sizeof bits);
        const uint64_t upper = (uint64_t)i << 48 | (uint64_t)(255 - i) << 56;
        memcpy(&ordered[i], &upper, sizeof upper);
    }
    const double *const tables[] = {e4m3fn_table(), e4m3fnuz_table(), scaled, arbitrary, ordered};
    for (size_t i = 0; i < variant_count; i++)
        for (size_t t = 0; t < COUNT(tables); t++)
            check_decode(&variants[i].kernels, tables[t]);
}

/* ---- choice ---- */

static void test_names_cap_the_instruction_set(void **state)
{
    (void)state;
    const kernels best = kernels_named(NULL, true);
    kernels k;
    assert_true(kernels_init(&k, "all", true));
    assert_string_equal(k.name, best.name);
    assert_true(kernels_init(&k, "amx", true)); /* the highest name */
    assert_string_equal(k.name, best.name);
    assert_true(kernels_init(&k, "portable", true));
    assert_string_equal(k.name, "portable");
    for (cpu_isa isa = CPU_PORTABLE; isa < CPU_ISA_COUNT; isa++) {
        assert_true(kernels_init(&k, cpu_isa_name(isa), true));
        if (!cpu_has(isa)) assert_string_not_equal(k.name, cpu_isa_name(isa));
    }
    assert_false(kernels_init(&k, "avx3", true));
    assert_false(kernels_init(&k, "", true));
}

static void test_public_names(void **state)
{
    (void)state;
    for (cpu_isa isa = CPU_PORTABLE; isa < CPU_ISA_COUNT; isa++)
        assert_string_equal(fp8moe_isa_at(isa), cpu_isa_name(isa));
    assert_null(fp8moe_isa_at(CPU_ISA_COUNT));
    assert_true(fp8moe_isa_present("portable"));
    assert_true(fp8moe_isa_present(fp8moe_isa_best()));
    assert_string_equal(fp8moe_isa_best(), kernels_named(NULL, false).name);
    assert_false(fp8moe_isa_present("amx"));
    assert_false(fp8moe_isa_present("all"));
    assert_false(fp8moe_isa_present("avx3"));
}

/* ---- a BLAS that is not to be trusted ---- */

#if defined(FP8MOE_HAVE_BLAS)

#include <cblas.h>

typedef enum blas_fault {
    BLAS_AS_IT_IS,
    BLAS_ROUNDS_SUMS,        /* as one that splits operands or re-associates does */
    BLAS_MULTIPLIES_OLD,     /* beta = 0 times what stood there: K01 */
    BLAS_RETURNS_NO_COLUMNS, /* leaves the output where n is 0: K03 */
    BLAS_NEGATES_ZEROS
} blas_fault;

static blas_fault blas_has; /* the linker sends cblas_dgemm() here */

typedef enum CBLAS_ORDER order;
typedef enum CBLAS_TRANSPOSE transpose;

void __real_cblas_dgemm(order o, transpose ta, transpose tb, blasint m, blasint n, blasint k,
                        double alpha, const double *a, blasint lda, const double *b, blasint ldb,
                        double beta, double *c, blasint ldc);
void __wrap_cblas_dgemm(order o, transpose ta, transpose tb, blasint m, blasint n, blasint k,
                        double alpha, const double *a, blasint lda, const double *b, blasint ldb,
                        double beta, double *c, blasint ldc);

static double spoilt(double value, double before)
{
    switch (blas_has) {
    case BLAS_ROUNDS_SUMS:
        return (double)(float)value;
    case BLAS_MULTIPLIES_OLD:
        return value + 0 * before;
    case BLAS_NEGATES_ZEROS:
        return value == 0 ? -0.0 : value;
    case BLAS_RETURNS_NO_COLUMNS:
    case BLAS_AS_IT_IS:
        break;
    }
    return value;
}

void __wrap_cblas_dgemm(order o, transpose ta, transpose tb, blasint m, blasint n, blasint k,
                        double alpha, const double *a, blasint lda, const double *b, blasint ldb,
                        double beta, double *c, blasint ldc)
{
    const size_t size = (size_t)(m * ldc) * sizeof *c;
    double *const before = malloc(size + 1);
    if (!before) abort();
    if (k == 0 && blas_has == BLAS_RETURNS_NO_COLUMNS) goto done;
    for (blasint i = 0; i < m; i++)
        memcpy(before + i * ldc, c + i * ldc, (size_t)n * sizeof *c);
    __real_cblas_dgemm(o, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    for (blasint i = 0; i < m; i++)
        for (blasint j = 0; j < n; j++)
            c[i * ldc + j] = spoilt(c[i * ldc + j], before[i * ldc + j]);
done:
    free(before);
}

static void test_blas_is_used_where_it_is_built_in(void **state)
{
    (void)state;
    assert_true(kernels_named("portable", true).dot_exact !=
                kernels_named("portable", false).dot_exact);
}

static void test_canary_refuses_an_inexact_blas(void **state)
{
    static const blas_fault faults[] = {BLAS_ROUNDS_SUMS, BLAS_MULTIPLIES_OLD};
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        blas_has = faults[i];
        const kernels k = kernels_named("portable", true);
        blas_has = BLAS_AS_IT_IS;
        assert_true(k.dot_exact == kernels_named("portable", false).dot_exact);
    }
}

static void test_odd_zeros_of_a_blas_do_not_show(void **state)
{
    (void)state;
    const kernels k = kernels_named("portable", true);
    const double a[2] = {1, 1}, w[2] = {1, -1}, want = 0;
    double got = 7;
    blas_has = BLAS_NEGATES_ZEROS;
    k.dot_exact(&got, 1, a, 1, w, 1, 2);
    assert_memory_equal(&got, &want, sizeof want);
    got = 7;
    blas_has = BLAS_RETURNS_NO_COLUMNS;
    k.dot_exact(&got, 1, a, 1, w, 1, 0);
    blas_has = BLAS_AS_IT_IS;
    assert_memory_equal(&got, &want, sizeof want);
}

#endif

/* ---- --bench ---- */

#define BENCH_BYTES ((size_t)256 << 20)
#define BENCH_LENGTH 2048
#define BENCH_ROWS 8
#define BENCH_ROUNDS 5

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t read_stream(const uint8_t *bytes)
{
    uint64_t sums[16] = {0};
    for (size_t i = 0; i < BENCH_BYTES; i += sizeof sums) {
        uint64_t words[16];
        memcpy(words, bytes + i, sizeof words);
        for (int j = 0; j < 16; j++)
            sums[j] += words[j];
    }
    for (int j = 1; j < 16; j++)
        sums[0] += sums[j];
    return sums[0];
}

/* What a layer does with its weights: decode a few rows, multiply them with every token. */
static double multiply_stream(const kernels *k, const uint8_t *codes, size_t bytes, int64_t tokens)
{
    static double a[16 * BENCH_LENGTH], rows[BENCH_ROWS * BENCH_LENGTH], out[16 * BENCH_ROWS];
    double sum = 0;
    for (int64_t i = 0; i < tokens * BENCH_LENGTH; i++)
        a[i] = (double)(i % 13 - 6);
    for (size_t i = 0; i < bytes; i += BENCH_ROWS * BENCH_LENGTH) {
        k->decode(rows, codes + i, e4m3fn_table(), BENCH_ROWS * BENCH_LENGTH);
        k->dot_exact(out, BENCH_ROWS, a, tokens, rows, BENCH_ROWS, BENCH_LENGTH);
        sum += out[0];
    }
    return sum;
}

static double best_multiply(const kernels *k, const uint8_t *codes, size_t bytes, int64_t tokens,
                            volatile double *sink)
{
    double best = INFINITY;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        const double begin = seconds();
        *sink = multiply_stream(k, codes, bytes, tokens);
        best = fmin(best, seconds() - begin);
    }
    return best;
}

static int bench(void)
{
    uint8_t *const codes = malloc(BENCH_BYTES);
    if (!codes) return 1;
    for (size_t i = 0; i < BENCH_BYTES; i++)
        codes[i] = (uint8_t)(i * 2654435761u >> 13 & 0xBF);
    volatile uint64_t read_sink;
    volatile double sink = 0;
    double read = INFINITY;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        const double begin = seconds();
        read_sink = read_stream(codes);
        read = fmin(read, seconds() - begin);
    }
    (void)read_sink;
    printf("streaming read: %.1f GB/s\n", 1e-9 * (double)BENCH_BYTES / read);
    printf("%-24s %14s %14s\n", "kernel", "share of read", "T=16 / T=1");
    for (size_t i = 0; i < variant_count; i++) {
        const size_t part = 8; /* of the stream: still far beyond the caches */
        const kernels *const k = &variants[i].kernels;
        const double one = best_multiply(k, codes, BENCH_BYTES / part, 1, &sink) * (double)part;
        const double sixteen =
            best_multiply(k, codes, BENCH_BYTES / part, 16, &sink) * (double)part;
        printf("%-24s %14.3f %14.2f\n", variants[i].name, read / one, sixteen / one);
    }
    free(codes);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot_is_the_definition),
        cmocka_unit_test(test_dot_takes_any_number_of_rows),
        cmocka_unit_test(test_dot_rounds_products),
        cmocka_unit_test(test_code_dots_are_exact),
        cmocka_unit_test(test_exact_dot_of_nonfinite_codes),
        cmocka_unit_test(test_case_k01_output_holds_nan_before),
        cmocka_unit_test(test_case_k03_no_columns),
        cmocka_unit_test(test_sums_of_zeros_are_positive),
        cmocka_unit_test(test_decode_reads_any_table),
        cmocka_unit_test(test_names_cap_the_instruction_set),
        cmocka_unit_test(test_public_names),
#if defined(FP8MOE_HAVE_BLAS)
        cmocka_unit_test(test_blas_is_used_where_it_is_built_in),
        cmocka_unit_test(test_canary_refuses_an_inexact_blas),
        cmocka_unit_test(test_odd_zeros_of_a_blas_do_not_show),
#endif
    };
    find_variants();
    if (argc > 1 && !strcmp(argv[1], "--bench")) return bench();
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}

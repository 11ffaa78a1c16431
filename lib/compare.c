#include "bits.h"
#include "common.h"
#include "e4m3.h"

#include <fp8moe/compare.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FP8_MAX 448.0
/* Upstream's bars (numerics.md 6.3); both are exceeded strictly. */
#define UPSTREAM_ULP_BAR 2.0
#define UPSTREAM_RELATIVE_BAR 0.05
/* Largest distances: both ends of the E4M3FN and of the bf16 number line. */
#define FP8_DISTANCES (2 * 0x7E + 1)
#define BF16_DISTANCES (2 * 0x7F80 + 1)

/* ---- one pair ---- */

const char *fp8moe_grid_name(fp8moe_grid grid)
{
    static const char *const names[] = {"row", "tensor", "unscaled"};
    return names[grid];
}

static bool is_out_of_range(float a, float b)
{
    return fabsf(a) > (float)FP8_MAX || fabsf(b) > (float)FP8_MAX;
}

float fp8moe_upstream_ulp(float a, float b)
{
    if (is_out_of_range(a, b)) return 0;
    const int x = e4m3fn_encode((double)a), y = e4m3fn_encode((double)b);
    if ((x >= 128) == (y >= 128)) return (float)abs(x - y);
    return fabsf(a - b) * 512.0f;
}

float fp8moe_upstream_relative(float a, float b)
{
    const bool finite_a = isfinite(a), finite_b = isfinite(b);
    if (finite_a != finite_b) return 1;
    if (!finite_a || !is_out_of_range(a, b)) return 0;
    const float sum = fabsf(a) + fabsf(b);
    return fabsf(a - b) / (sum > 1e-9f ? sum : 1e-9f);
}

int fp8moe_fp8_distance(double a, double b, double unit)
{
    return abs(e4m3_ordinal(e4m3fn_encode(a / unit)) - e4m3_ordinal(e4m3fn_encode(b / unit)));
}

static int32_t bf16_ordinal(double value)
{
    const uint32_t bits = f32_bits((float)round_bf16(value)) >> 16;
    return (bits & 0x8000u) ? -(int32_t)(bits & 0x7FFFu) : (int32_t)bits;
}

static int32_t bf16_distance(double a, double b)
{
    return abs(bf16_ordinal(a) - bf16_ordinal(b));
}

int32_t fp8moe_bf16_distance(float a, float b)
{
    return bf16_distance((double)a, (double)b);
}

/* ---- all of them ---- */

void fp8moe_compare_options_default(fp8moe_compare_options *options)
{
    *options = (fp8moe_compare_options){.grid = FP8MOE_GRID_ROW, .atol = 1e-3, .rtol = 1e-3};
}

/* What a pass over the rows adds up beside the result. */
typedef struct sums {
    const fp8moe_compare_options *options;
    fp8moe_comparison *out;
    double unit;                        /* of the grid, for the row at hand */
    double amax;                        /* of the row at hand, both sides */
    double ee, gg, eg, dd;              /* squares and products over pairs finite on both sides */
    double expected_square, got_square; /* over each side's own finite elements */
    int64_t expected_finite, got_finite, measured, within, tiny;
    double worst_key[FP8MOE_WORST_COUNT];
    int64_t fp8[FP8_DISTANCES];
    int64_t bf16[BF16_DISTANCES];
} sums;

static void note_place(int64_t *row, int64_t *column, int64_t at_row, int64_t at_column)
{
    if (*row >= 0) return;
    *row = at_row;
    *column = at_column;
}

static void add_side(double value, int64_t *nan, int64_t *inf, int64_t *finite, double *square,
                     double *max)
{
    if (isnan(value))
        ++*nan;
    else if (isinf(value))
        ++*inf;
    else {
        ++*finite;
        *square += value * value;
        *max = fmax(*max, fabs(value));
    }
}

static void add_upstream(fp8moe_comparison *out, float expected, float got)
{
    const float ulp = fp8moe_upstream_ulp(expected, got),
                relative = fp8moe_upstream_relative(expected, got);
    if (isnan(ulp) || (double)ulp > out->upstream_ulp)
        out->upstream_ulp = (double)ulp; /* a NaN stays: nothing is above it */
    if ((double)relative > out->upstream_relative) out->upstream_relative = (double)relative;
}

/* Insert into the list of the worst by distance as a share of the row's amax; of equals the first
 * stays. */
static void keep_worst(sums *s, fp8moe_worst pair)
{
    fp8moe_comparison *const out = s->out;
    const double key = fabs(pair.got - pair.expected) / s->amax;
    int at = out->worst_count;
    while (at > 0 && s->worst_key[at - 1] < key)
        at--;
    if (at == FP8MOE_WORST_COUNT) return;
    if (out->worst_count < FP8MOE_WORST_COUNT) out->worst_count++;
    for (int i = out->worst_count - 1; i > at; i--) {
        out->worst[i] = out->worst[i - 1];
        s->worst_key[i] = s->worst_key[i - 1];
    }
    out->worst[at] = pair;
    s->worst_key[at] = key;
}

static void add_finite(sums *s, int64_t row, int64_t column, double expected, double got)
{
    fp8moe_comparison *const out = s->out;
    const double off = fabs(got - expected);
    const uint8_t expected_code = e4m3fn_encode(expected / s->unit),
                  got_code = e4m3fn_encode(got / s->unit);
    const int fp8 = abs(e4m3_ordinal(expected_code) - e4m3_ordinal(got_code));
    const int32_t bf16 = bf16_distance(expected, got);
    s->measured++;
    s->fp8[fp8]++;
    s->bf16[bf16]++;
    s->ee += expected * expected;
    s->gg += got * got;
    s->eg += expected * got;
    s->dd += off * off;
    s->within += off <= s->options->atol + s->options->rtol * fabs(expected);
    s->tiny += fabs(expected) < 0x1p-10;
    out->max_abs = fmax(out->max_abs, off);
    if (expected != 0) out->max_rel = fmax(out->max_rel, off / fabs(expected));
    if (expected == got) {
        out->identical++;
        return;
    }
    out->different++;
    out->beyond += bf16 > 2 && off > 1e-6 * s->amax;
    keep_worst(s, (fp8moe_worst){row, column, expected, got, fp8, bf16, expected_code, got_code});
}

static void add_pair(sums *s, int64_t row, int64_t column, double expected, double got)
{
    fp8moe_comparison *const out = s->out;
    add_side(expected, &out->expected_nan, &out->expected_inf, &s->expected_finite,
             &s->expected_square, &out->expected_max);
    add_side(got, &out->got_nan, &out->got_inf, &s->got_finite, &s->got_square, &out->got_max);
    add_upstream(out, (float)expected, (float)got);
    if (expected == 0 && got == 0) {
        out->padding++;
        return;
    }
    if (isfinite(expected) && isfinite(got)) {
        add_finite(s, row, column, expected, got);
        return;
    }
    note_place(&out->first_nonfinite_row, &out->first_nonfinite_column, row, column);
    if (expected == got || (isnan(expected) && isnan(got))) {
        out->identical++;
        out->nonfinite_same++;
        return;
    }
    out->nonfinite_differs++;
    note_place(&out->first_nonfinite_differs_row, &out->first_nonfinite_differs_column, row,
               column);
}

static double finite_amax(const double *a, const double *b, int64_t n)
{
    double amax = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(a[i])) amax = fmax(amax, fabs(a[i]));
        if (isfinite(b[i])) amax = fmax(amax, fabs(b[i]));
    }
    return amax;
}

/* Each row of both sides in turn: `row` [2 * columns] is scratch. */
static void read_rows(const fp8moe_tensor *expected, const fp8moe_tensor *got, int64_t row,
                      double *scratch)
{
    const int64_t columns = expected->shape[1];
    fp8moe_tensor_read_f64(expected, row * columns, columns, scratch);
    fp8moe_tensor_read_f64(got, row * columns, columns, scratch + columns);
}

static double tensor_amax(const fp8moe_tensor *expected, const fp8moe_tensor *got, double *scratch)
{
    double amax = 0;
    for (int64_t row = 0; row < expected->shape[0]; row++) {
        read_rows(expected, got, row, scratch);
        amax = fmax(amax, finite_amax(scratch, scratch + expected->shape[1], expected->shape[1]));
    }
    return amax;
}

static void add_rows(sums *s, const fp8moe_tensor *expected, const fp8moe_tensor *got,
                     double *scratch)
{
    const int64_t columns = expected->shape[1];
    const bool whole = s->options->grid == FP8MOE_GRID_TENSOR;
    const double amax = whole ? tensor_amax(expected, got, scratch) : 0;
    for (int64_t row = 0; row < expected->shape[0]; row++) {
        read_rows(expected, got, row, scratch);
        s->amax = finite_amax(scratch, scratch + columns, columns);
        s->unit = s->options->grid == FP8MOE_GRID_UNSCALED ? 1 : (whole ? amax : s->amax) / FP8_MAX;
        if (!(s->unit > 0)) s->unit = 1;
        for (int64_t c = 0; c < columns; c++)
            add_pair(s, row, c, scratch[c], scratch[columns + c]);
    }
}

/* ---- results ---- */

static int64_t rank_value(const int64_t *counts, int64_t size, int64_t rank)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < size; i++)
        if ((seen += counts[i]) >= rank) return i;
    return 0;
}

/* Nearest-rank percentiles of `total` integer distances. */
static fp8moe_distribution distribution_of(const int64_t *counts, int64_t size, int64_t total)
{
    fp8moe_distribution d = {0};
    if (!total) return d;
    for (int64_t i = 0; i < size; i++)
        d.mean += (double)i * (double)counts[i] / (double)total;
    d.p50 = (double)rank_value(counts, size, ceil_div(total, 2));
    d.p99 = (double)rank_value(counts, size, total - total / 100);
    d.p999 = (double)rank_value(counts, size, total - total / 1000);
    d.max = (double)rank_value(counts, size, total);
    return d;
}

static void conclude(sums *s)
{
    fp8moe_comparison *const out = s->out;
    const int64_t judged = out->count - out->padding;
    out->identical_share = judged ? (double)out->identical / (double)judged : 1;
    out->expected_rms =
        s->expected_finite ? sqrt(s->expected_square / (double)s->expected_finite) : 0;
    out->got_rms = s->got_finite ? sqrt(s->got_square / (double)s->got_finite) : 0;
    out->rel_l2 = sqrt(s->dd) / sqrt(s->ee);
    out->cosine = s->eg / (sqrt(s->ee) * sqrt(s->gg));
    out->gain = s->eg / s->ee;
    out->calc_diff = 1 - 2 * s->eg / (s->ee + s->gg);
    out->within_tolerance = s->measured ? (double)s->within / (double)s->measured : 1;
    out->below_resolution = s->measured ? (double)s->tiny / (double)s->measured : 0;
    out->fp8 = distribution_of(s->fp8, FP8_DISTANCES, s->measured);
    out->bf16 = distribution_of(s->bf16, BF16_DISTANCES, s->measured);
    out->upstream_ulp_exceeds = out->upstream_ulp > UPSTREAM_ULP_BAR;
    out->upstream_relative_exceeds = out->upstream_relative > UPSTREAM_RELATIVE_BAR;
}

/* ---- shapes ---- */

static int leading_ones(const fp8moe_tensor *t)
{
    int ones = 0;
    while (ones < t->rank && t->shape[ones] == 1)
        ones++;
    return ones;
}

static bool same_shape(const fp8moe_tensor *a, const fp8moe_tensor *b)
{
    const int skip_a = leading_ones(a), skip_b = leading_ones(b);
    if (a->rank - skip_a != b->rank - skip_b) return false;
    for (int d = 0; d < a->rank - skip_a; d++)
        if (a->shape[skip_a + d] != b->shape[skip_b + d]) return false;
    return true;
}

static fp8moe_status check_pair(const fp8moe_tensor *expected, const fp8moe_tensor *got,
                                fp8moe_error *err)
{
    char a[96], b[96];
    for (int i = 0; i < 2; i++) {
        const fp8moe_tensor *const t = i ? got : expected;
        if (!fp8moe_dtype_is_numeric(t->dtype))
            return fail(err, FP8MOE_ERR_DTYPE, "dtype %s cannot be compared as numbers",
                        fp8moe_dtype_name(t->dtype));
    }
    if (same_shape(expected, got)) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_SHAPE, "shapes %s and %s differ",
                fp8moe_tensor_shape_text(expected, a, sizeof a),
                fp8moe_tensor_shape_text(got, b, sizeof b));
}

fp8moe_status fp8moe_compare(const fp8moe_tensor *expected, const fp8moe_tensor *got,
                             const fp8moe_compare_options *options, fp8moe_comparison *out,
                             fp8moe_error *err)
{
    fp8moe_tensor expected_rows, got_rows;
    TRY(check_pair(expected, got, err));
    TRY(fp8moe_tensor_as_rows(expected, &expected_rows, err));
    TRY(fp8moe_tensor_as_rows(got, &got_rows, err));
    const int64_t columns = expected_rows.shape[1];
    *out = (fp8moe_comparison){.rows = expected_rows.shape[0],
                               .columns = columns,
                               .grid = options->grid,
                               .count = fp8moe_tensor_count(expected),
                               .first_nonfinite_row = -1,
                               .first_nonfinite_column = -1,
                               .first_nonfinite_differs_row = -1,
                               .first_nonfinite_differs_column = -1};
    sums *const s = calloc(1, sizeof *s);
    double *const scratch = calloc((size_t)columns + 1, 2 * sizeof *scratch);
    fp8moe_status status = FP8MOE_OK;
    if (s && scratch) {
        s->options = options;
        s->out = out;
        add_rows(s, &expected_rows, &got_rows, scratch);
        conclude(s);
    } else {
        status = fail(err, FP8MOE_ERR_NOMEM, "out of memory for comparing rows of %lld",
                      (long long)columns);
    }
    free(s);
    free(scratch);
    return status;
}

bool fp8moe_comparison_same(const fp8moe_comparison *comparison)
{
    return comparison->nonfinite_differs == 0 && comparison->identical_share >= 0.99 &&
           comparison->beyond == 0;
}

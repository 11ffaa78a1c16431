#include <fp8moe/compare.h>

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "parallel.h"

#include <stdlib.h>
#include <string.h>

#define FP8_MAX 448.0

/* Upstream's bars; both are exceeded strictly. */
#define UPSTREAM_ULP_BAR 2.0
#define UPSTREAM_RELATIVE_BAR 0.05

/* Bars of other tools: verdict.md section 8. */
#define CLOSE_ATOL 1e-3
#define CLOSE_RTOL 1e-3
#define CALC_DIFF_BAR 1e-3
#define HIT_ATOL 0.1
#define HIT_RTOL 0.2
#define HIT_SHARE 0.85

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
    if (x >> 7 == y >> 7) return (float)abs(x - y);
    const float difference = a - b;
    return fabsf(difference) * 512;
}

float fp8moe_upstream_relative(float a, float b)
{
    if (isfinite(a) != isfinite(b)) return 1;
    if (!isfinite(a) || !is_out_of_range(a, b)) return 0;
    /* Out of range: the sum is far above upstream's floor of 1e-9. It may overflow, as there. */
    const float difference = a - b, sum = fabsf(a) + fabsf(b);
    return fabsf(difference) / sum;
}

static int code_distance(uint8_t a, uint8_t b)
{
    return abs(e4m3_ordinal(a) - e4m3_ordinal(b));
}

int fp8moe_fp8_distance(double a, double b, double unit)
{
    assert(unit > 0);
    return code_distance(e4m3fn_encode(a / unit), e4m3fn_encode(b / unit));
}

static int32_t bf16_ordinal(double value)
{
    const int32_t bits = f64_to_bf16(value);
    return bits & 0x8000 ? -(bits & 0x7FFF) : bits;
}

static int32_t bf16_distance(double a, double b)
{
    return abs(bf16_ordinal(a) - bf16_ordinal(b));
}

int32_t fp8moe_bf16_distance(float a, float b)
{
    return bf16_distance((double)a, (double)b);
}

/* ---- what a pass over the rows collects ---- */

/* A number line has two ends: the largest distances are twice the last ordinal. */
#define FP8_DISTANCES (2 * 0x7E + 1)
#define BF16_DISTANCES (2 * 0x7F80 + 1)

/* Columns held at a time, so that memory does not depend on the shape. */
#define CHUNK 8192

/* Elements of a block of rows: enough to make its bookkeeping cheap. */
#define BLOCK 65536

/* Sums over one block. Blocks do not depend on the number of threads and are added in their order,
 * hence so do the bits of every sum. */
typedef struct block_sums {
    double ee, gg, eg, dd;            /* squares and products of pairs finite on both sides */
    double expected_alone, got_alone; /* squares of the finite half of other pairs */
} block_sums;

/* What one worker collects: counts, maxima and places, which any order of merging leaves the same.
 */
typedef struct part {
    fp8moe_comparison found;
    double worst_share[FP8MOE_WORST_COUNT];
    double amax;
    int64_t within, tiny, nan_same;
    int64_t not_close, missed; /* finite pairs outside the tolerances of two bars */
    int64_t fp8[FP8_DISTANCES], bf16[BF16_DISTANCES];
    double expected[CHUNK], got[CHUNK];
} part;

typedef struct job {
    fp8moe_tensor expected, got; /* [rows, columns] */
    const fp8moe_compare_options *options;
    int64_t rows, columns, rows_per_block;
    double amax; /* of both tensors, where the grid needs it */
    block_sums *blocks;
    part *parts; /* one a worker */
} job;

/* Where a pass is. */
typedef struct place {
    const fp8moe_compare_options *options;
    part *part;
    block_sums *sums;
    int64_t row, column; /* of the first element of the chunk at hand */
    double amax;         /* of the row, both sides */
    double unit;         /* of the grid */
} place;

/* ---- pairs that differ or are not finite ---- */

/* Upstream's maximum is torch's: a NaN stays. */
static void raise_maximum(double *maximum, double value)
{
    if (value != value || value > *maximum) *maximum = value;
}

static void raise_upstream(fp8moe_comparison *found, double expected, double got)
{
    const float a = (float)expected, b = (float)got;
    const double ulp = (double)fp8moe_upstream_ulp(a, b);
    raise_maximum(&found->upstream_ulp, ulp);
    found->upstream_over += ulp > UPSTREAM_ULP_BAR;
    raise_maximum(&found->upstream_relative, (double)fp8moe_upstream_relative(a, b));
}

static bool is_before(const fp8moe_worst *a, const fp8moe_worst *b)
{
    return a->row != b->row ? a->row < b->row : a->column < b->column;
}

/* Insert into the sorted list: larger shares first, of equal ones the earlier place. */
static void keep_worst(part *p, const fp8moe_worst *worst, double share)
{
    fp8moe_comparison *const found = &p->found;
    int at = found->worst_count;
    while (at > 0 && (share > p->worst_share[at - 1] ||
                      (share == p->worst_share[at - 1] && is_before(worst, &found->worst[at - 1]))))
        at--;
    if (at == FP8MOE_WORST_COUNT) return;
    if (found->worst_count < FP8MOE_WORST_COUNT) found->worst_count++;
    for (int i = found->worst_count - 1; i > at; i--) {
        found->worst[i] = found->worst[i - 1];
        p->worst_share[i] = p->worst_share[i - 1];
    }
    found->worst[at] = *worst;
    p->worst_share[at] = share;
}

/* A pair of finite numbers that differ. */
static void add_different(const place *at, int64_t column, double expected, double got)
{
    part *const p = at->part;
    fp8moe_comparison *const found = &p->found;
    const double off = fabs(got - expected);
    fp8moe_worst pair = {.row = at->row, .column = column, .expected = expected, .got = got};
    pair.expected_code = e4m3fn_encode(expected / at->unit);
    pair.got_code = e4m3fn_encode(got / at->unit);
    pair.fp8_distance = code_distance(pair.expected_code, pair.got_code);
    pair.bf16_distance = bf16_distance(expected, got);
    found->different++;
    p->fp8[pair.fp8_distance]++;
    p->bf16[pair.bf16_distance]++;
    p->within += off <= at->options->atol + at->options->rtol * fabs(expected);
    p->not_close += off > CLOSE_ATOL + CLOSE_RTOL * fabs(expected);
    p->missed += off > HIT_ATOL + HIT_RTOL * fabs(expected);
    found->beyond += pair.bf16_distance > 2 && off > 1e-6 * at->amax;
    raise_maximum(&found->max_abs, off);
    if (expected != 0) raise_maximum(&found->max_rel, off / fabs(expected));
    raise_upstream(found, expected, got);
    at->sums->dd += off * off;
    keep_worst(p, &pair, off / at->amax);
}

static void add_side(double value, int64_t *nan, int64_t *inf, double *square)
{
    if (isnan(value))
        ++*nan;
    else if (isinf(value))
        ++*inf;
    else
        *square += value * value;
}

/* Keep the earlier of two places; row -1 is none. */
static void keep_first(int64_t *first_row, int64_t *first_column, int64_t row, int64_t column)
{
    if (row < 0 || (*first_row >= 0 && *first_row < row)) return;
    if (*first_row == row && *first_column <= column) return;
    *first_row = row;
    *first_column = column;
}

/* A pair with a NaN or an infinity. */
static void add_nonfinite(const place *at, int64_t column, double expected, double got)
{
    fp8moe_comparison *const found = &at->part->found;
    add_side(expected, &found->expected_nan, &found->expected_inf, &at->sums->expected_alone);
    add_side(got, &found->got_nan, &found->got_inf, &at->sums->got_alone);
    raise_upstream(found, expected, got);
    keep_first(&found->first_nonfinite_row, &found->first_nonfinite_column, at->row, column);
    if (expected == got || (isnan(expected) && isnan(got))) {
        found->identical++;
        found->nonfinite_same++;
        at->part->nan_same += isnan(expected);
        return;
    }
    found->nonfinite_differs++;
    keep_first(&found->first_nonfinite_differs_row, &found->first_nonfinite_differs_column, at->row,
               column);
}

/* ---- runs of finite pairs ---- */

/* Lanes of a loop that compilers make vectors of; the order of its sums is fixed all the same. */
#define LANES 8

typedef struct lanes {
    double ee[LANES], gg[LANES], eg[LANES];
    double same[LANES], zero[LANES], tiny[LANES]; /* counts */
} lanes;

static inline void add_to_lane(lanes *l, int lane, double e, double g)
{
    l->ee[lane] += e * e;
    l->gg[lane] += g * g;
    l->eg[lane] += e * g;
    l->same[lane] += e == g ? 1.0 : 0.0;
    l->zero[lane] += fabs(e) + fabs(g) == 0 ? 1.0 : 0.0;
    l->tiny[lane] += fabs(e) < 0x1p-10 ? 1.0 : 0.0;
}

static double sum_lanes(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Elements first .. end - 1 of the chunk, all finite: sums and counts of all, then the rest. */
static void add_finite(const place *at, int64_t first, int64_t end)
{
    part *const p = at->part;
    const double *const e = p->expected, *const g = p->got;
    lanes l = {{0}, {0}, {0}, {0}, {0}, {0}};
    int64_t i = first;
    for (; i + LANES <= end; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            add_to_lane(&l, lane, e[i + lane], g[i + lane]);
    for (; i < end; i++)
        add_to_lane(&l, (int)(end - i), e[i], g[i]);
    at->sums->ee += sum_lanes(l.ee);
    at->sums->gg += sum_lanes(l.gg);
    at->sums->eg += sum_lanes(l.eg);
    const int64_t same = (int64_t)sum_lanes(l.same), zero = (int64_t)sum_lanes(l.zero);
    p->found.padding += zero;
    p->found.identical += same - zero;
    p->tiny += (int64_t)sum_lanes(l.tiny) - zero;
    if (same == end - first) return;
    for (i = first; i < end; i++)
        if (e[i] != g[i]) add_different(at, at->column + i, e[i], g[i]);
}

/* The chunk at hand: runs of finite pairs, and what stands between them. */
static void add_chunk(const place *at, int64_t count, bool all_finite)
{
    const part *const p = at->part;
    for (int64_t first = 0; first < count;) {
        int64_t end = all_finite ? count : first;
        while (end < count && isfinite(p->expected[end]) && isfinite(p->got[end]))
            end++;
        add_finite(at, first, end);
        if (end < count) add_nonfinite(at, at->column + end, p->expected[end], p->got[end]);
        first = end + 1;
    }
}

/* ---- rows ---- */

static inline void scan_lane(double x, double *largest, double *poison)
{
    const double magnitude = fabs(x) <= DBL_MAX ? fabs(x) : 0;
    *largest = magnitude > *largest ? magnitude : *largest;
    *poison += x - x;
}

/* Raise *amax to the largest finite magnitude; false where there is a NaN or an infinity. */
static bool scan_magnitudes(const double *x, int64_t n, double *amax)
{
    double largest[LANES] = {0}, poison[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            scan_lane(x[i + lane], &largest[lane], &poison[lane]);
    for (; i < n; i++)
        scan_lane(x[i], &largest[0], &poison[0]);
    for (int lane = 0; lane < LANES; lane++)
        raise_maximum(amax, largest[lane]);
    return sum_lanes(poison) == 0;
}

/* Read columns from `first` on into the part's buffers; returns how many. */
static int64_t read_chunk(const job *j, part *p, int64_t row, int64_t first)
{
    const int64_t count = min_i64(j->columns - first, CHUNK);
    fp8moe_tensor_read_f64(&j->expected, row * j->columns + first, count, p->expected);
    fp8moe_tensor_read_f64(&j->got, row * j->columns + first, count, p->got);
    return count;
}

/* The largest finite magnitudes of a row; false where it holds NaN or Inf. A row of one chunk is
 * left in the buffers. */
static bool scan_row(const job *j, part *p, int64_t row, double *expected_max, double *got_max)
{
    bool all_finite = true;
    *expected_max = *got_max = 0;
    for (int64_t first = 0; first < j->columns; first += CHUNK) {
        const int64_t count = read_chunk(j, p, row, first);
        const bool finite = scan_magnitudes(p->expected, count, expected_max);
        all_finite = scan_magnitudes(p->got, count, got_max) && finite && all_finite;
    }
    return all_finite;
}

static double unit_of_grid(const job *j, double row_amax)
{
    if (j->options->grid == FP8MOE_GRID_UNSCALED) return 1;
    const double unit = (j->options->grid == FP8MOE_GRID_TENSOR ? j->amax : row_amax) / FP8_MAX;
    return unit > 0 ? unit : 1;
}

static void compare_row(const job *j, part *p, block_sums *sums, int64_t row)
{
    double expected_max, got_max;
    const bool all_finite = scan_row(j, p, row, &expected_max, &got_max);
    raise_maximum(&p->found.expected_max, expected_max);
    raise_maximum(&p->found.got_max, got_max);
    place at = {.options = j->options, .part = p, .sums = sums, .row = row};
    at.amax = expected_max > got_max ? expected_max : got_max;
    at.unit = unit_of_grid(j, at.amax);
    for (at.column = 0; at.column < j->columns; at.column += CHUNK) {
        const int64_t count = j->columns <= CHUNK ? j->columns : read_chunk(j, p, row, at.column);
        add_chunk(&at, count, all_finite);
    }
}

static void compare_blocks(void *context, int64_t first, int64_t last, int worker)
{
    const job *const j = context;
    for (int64_t block = first; block < last; block++) {
        const int64_t row = block * j->rows_per_block;
        const int64_t end = min_i64(row + j->rows_per_block, j->rows);
        for (int64_t r = row; r < end; r++)
            compare_row(j, &j->parts[worker], &j->blocks[block], r);
    }
}

static void scan_blocks(void *context, int64_t first, int64_t last, int worker)
{
    const job *const j = context;
    part *const p = &j->parts[worker];
    const int64_t end = min_i64(last * j->rows_per_block, j->rows);
    for (int64_t row = first * j->rows_per_block; row < end; row++) {
        double expected_max, got_max;
        scan_row(j, p, row, &expected_max, &got_max);
        raise_maximum(&p->amax, expected_max);
        raise_maximum(&p->amax, got_max);
    }
}

/* ---- one result of all parts ---- */

static void merge_found(fp8moe_comparison *into, const fp8moe_comparison *from)
{
    into->padding += from->padding;
    into->identical += from->identical;
    into->different += from->different;
    into->nonfinite_same += from->nonfinite_same;
    into->nonfinite_differs += from->nonfinite_differs;
    into->expected_nan += from->expected_nan;
    into->expected_inf += from->expected_inf;
    into->got_nan += from->got_nan;
    into->got_inf += from->got_inf;
    into->beyond += from->beyond;
    into->upstream_over += from->upstream_over;
    raise_maximum(&into->expected_max, from->expected_max);
    raise_maximum(&into->got_max, from->got_max);
    raise_maximum(&into->max_abs, from->max_abs);
    raise_maximum(&into->max_rel, from->max_rel);
    raise_maximum(&into->upstream_ulp, from->upstream_ulp);
    raise_maximum(&into->upstream_relative, from->upstream_relative);
    keep_first(&into->first_nonfinite_row, &into->first_nonfinite_column, from->first_nonfinite_row,
               from->first_nonfinite_column);
    keep_first(&into->first_nonfinite_differs_row, &into->first_nonfinite_differs_column,
               from->first_nonfinite_differs_row, from->first_nonfinite_differs_column);
}

static void merge_part(part *into, const part *from)
{
    merge_found(&into->found, &from->found);
    into->within += from->within;
    into->not_close += from->not_close;
    into->missed += from->missed;
    into->nan_same += from->nan_same;
    into->tiny += from->tiny;
    for (int i = 0; i < FP8_DISTANCES; i++)
        into->fp8[i] += from->fp8[i];
    for (int i = 0; i < BF16_DISTANCES; i++)
        into->bf16[i] += from->bf16[i];
    for (int i = 0; i < from->found.worst_count; i++)
        keep_worst(into, &from->found.worst[i], from->worst_share[i]);
}

/* The least distance that `rank` of the counted ones do not exceed. */
static double distance_of_rank(const int64_t *counts, int64_t rank)
{
    int64_t distance = 0;
    for (int64_t seen = counts[0]; seen < rank; seen += counts[distance])
        distance++;
    return (double)distance;
}

static fp8moe_distribution distribution_of(const int64_t *counts, int64_t distances)
{
    int64_t total = 0, sum = 0;
    for (int64_t i = 0; i < distances; i++) {
        total += counts[i];
        sum += i * counts[i];
    }
    fp8moe_distribution d = {0};
    if (total == 0) return d;
    d.mean = (double)sum / (double)total;
    d.p50 = distance_of_rank(counts, total - total / 2);
    d.p99 = distance_of_rank(counts, total - total / 100);
    d.p999 = distance_of_rank(counts, total - total / 1000);
    d.max = distance_of_rank(counts, total);
    return d;
}

static block_sums add_blocks(const block_sums *blocks, int64_t count)
{
    block_sums all = {0};
    for (int64_t i = 0; i < count; i++) {
        all.ee += blocks[i].ee;
        all.gg += blocks[i].gg;
        all.eg += blocks[i].eg;
        all.dd += blocks[i].dd;
        all.expected_alone += blocks[i].expected_alone;
        all.got_alone += blocks[i].got_alone;
    }
    return all;
}

static double share_of(int64_t count, int64_t all, double of_none)
{
    return all > 0 ? (double)count / (double)all : of_none;
}

static double rms_of(double square, int64_t count)
{
    return count > 0 ? sqrt(square / (double)count) : 0;
}

/* Both tolerances as torch.isclose has them: equal infinities are close, a NaN is to nothing. */
static void conclude_bars(const part *p, fp8moe_comparison *c)
{
    const int64_t apart = c->nonfinite_differs + p->nan_same, missed = p->missed + apart;
    const bool finite = !c->nonfinite_differs && !c->nonfinite_same;
    const fp8moe_bar bars[FP8MOE_BARS] = {
        {"upstream, 2 FP8 steps", !c->upstream_ulp_exceeds && !c->upstream_relative_exceeds,
         c->upstream_over},
        {"assert_close 1e-3, 1e-3", !(p->not_close + apart), p->not_close + apart},
        {"calc_diff < 1e-3", finite && c->calc_diff < CALC_DIFF_BAR, -1},
        {"85 % within 0.1 + 0.2 x", (double)(c->count - missed) >= HIT_SHARE * (double)c->count,
         missed},
    };
    memcpy(c->bars, bars, sizeof bars);
}

static void conclude(part *p, const block_sums *s, fp8moe_comparison *out)
{
    fp8moe_comparison *const c = &p->found;
    const int64_t judged = c->count - c->padding;
    const int64_t same_finite = c->identical - c->nonfinite_same;
    p->fp8[0] += same_finite;
    p->bf16[0] += same_finite;
    c->fp8 = distribution_of(p->fp8, FP8_DISTANCES);
    c->bf16 = distribution_of(p->bf16, BF16_DISTANCES);
    c->identical_share = share_of(c->identical, judged, 1);
    c->within_tolerance = share_of(c->identical + p->within, judged, 1);
    c->below_resolution = share_of(p->tiny, same_finite + c->different, 0);
    c->expected_rms =
        rms_of(s->ee + s->expected_alone, c->count - c->expected_nan - c->expected_inf);
    c->got_rms = rms_of(s->gg + s->got_alone, c->count - c->got_nan - c->got_inf);
    c->rel_l2 = sqrt(s->dd / s->ee);
    c->gain = s->eg / s->ee;
    c->cosine = c->gain / sqrt(s->gg / s->ee);
    c->calc_diff = 1 - 2 * s->eg / (s->ee + s->gg);
    c->upstream_ulp_exceeds = c->upstream_ulp > UPSTREAM_ULP_BAR;
    c->upstream_relative_exceeds = c->upstream_relative > UPSTREAM_RELATIVE_BAR;
    conclude_bars(p, c);
    *out = *c;
}

static void run_job(job *j, int workers, int64_t blocks)
{
    part *const all = &j->parts[0];
    for (int w = 0; w < workers; w++) {
        fp8moe_comparison *const found = &j->parts[w].found;
        found->first_nonfinite_row = found->first_nonfinite_column = -1;
        found->first_nonfinite_differs_row = found->first_nonfinite_differs_column = -1;
    }
    if (j->options->grid == FP8MOE_GRID_TENSOR) {
        parallel_for(workers, blocks, scan_blocks, j);
        for (int w = 0; w < workers; w++)
            raise_maximum(&j->amax, j->parts[w].amax);
    }
    parallel_for(workers, blocks, compare_blocks, j);
    for (int w = 1; w < workers; w++)
        merge_part(all, &j->parts[w]);
    all->found.grid = j->options->grid;
    all->found.rows = j->rows;
    all->found.columns = j->columns;
    all->found.count = j->rows * j->columns;
}

/* ---- shapes ---- */

static int leading_ones(const fp8moe_tensor *tensor)
{
    int ones = 0;
    while (ones < tensor->rank && tensor->shape[ones] == 1)
        ones++;
    return ones;
}

static bool is_same_shape(const fp8moe_tensor *a, const fp8moe_tensor *b)
{
    const int skip_a = leading_ones(a), skip_b = leading_ones(b);
    if (a->rank - skip_a != b->rank - skip_b) return false;
    for (int d = 0; d < a->rank - skip_a; d++)
        if (a->shape[skip_a + d] != b->shape[skip_b + d]) return false;
    return true;
}

static fp8moe_status check_dtype(const fp8moe_tensor *tensor, fp8moe_error *err)
{
    if (fp8moe_dtype_is_numeric(tensor->dtype)) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_DTYPE, "dtype %s cannot be compared as numbers",
                fp8moe_dtype_name(tensor->dtype));
}

static fp8moe_status check_shapes(const fp8moe_tensor *a, const fp8moe_tensor *b, fp8moe_error *err)
{
    char text_a[96], text_b[96];
    if (is_same_shape(a, b)) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_SHAPE, "shapes %s and %s differ",
                fp8moe_tensor_shape_text(a, text_a, sizeof text_a),
                fp8moe_tensor_shape_text(b, text_b, sizeof text_b));
}

/* ---- the comparison ---- */

/* Keeps the memory of all workers below 64 MiB. */
#define MAX_WORKERS 64

void fp8moe_compare_options_default(fp8moe_compare_options *options)
{
    *options =
        (fp8moe_compare_options){.grid = FP8MOE_GRID_ROW, .atol = 1e-3, .rtol = 1e-3, .threads = 1};
}

fp8moe_status fp8moe_compare(const fp8moe_tensor *expected, const fp8moe_tensor *got,
                             const fp8moe_compare_options *options, fp8moe_comparison *out,
                             fp8moe_error *err)
{
    assert(options->threads >= 1);
    job j = {.options = options};
    TRY(check_dtype(expected, err));
    TRY(check_dtype(got, err));
    TRY(check_shapes(expected, got, err));
    TRY(fp8moe_tensor_as_rows(expected, &j.expected, err));
    TRY(fp8moe_tensor_as_rows(got, &j.got, err));
    j.rows = j.expected.shape[0];
    j.columns = j.expected.shape[1];
    j.rows_per_block = max_i64(1, BLOCK / max_i64(1, j.columns));
    const int64_t blocks = ceil_div(j.rows, j.rows_per_block);
    const int workers = (int)max_i64(1, min_i64(blocks, min_i64(options->threads, MAX_WORKERS)));
    j.blocks = calloc((size_t)max_i64(1, blocks), sizeof *j.blocks);
    j.parts = calloc((size_t)workers, sizeof *j.parts);
    fp8moe_status status = FP8MOE_OK;
    if (j.blocks && j.parts) {
        run_job(&j, workers, blocks);
        const block_sums sums = add_blocks(j.blocks, blocks);
        conclude(&j.parts[0], &sums, out);
    } else {
        status = fail(err, FP8MOE_ERR_NOMEM, "out of memory for the counts of a comparison");
    }
    free(j.blocks);
    free(j.parts);
    return status;
}

bool fp8moe_comparison_same(const fp8moe_comparison *comparison)
{
    return comparison->nonfinite_differs == 0 && comparison->identical_share >= 0.99 &&
           comparison->beyond == 0;
}

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "parallel.h"
#include "quant.h"
#include "weights.h"

#include <fp8moe/prepare.h>
#include <stdlib.h>
#include <string.h>

/* ---- ways to make a row's scale ----
 *
 * A product with f32(1/max), rounded to bf16, is no way of its own: 8-bit numbers over 15 or 7 come
 * nowhere near enough to a tie of bf16 for it to differ from the quotient. */

enum { SCALE_MAX, SCALE_EPSILON, SCALE_DIVISION, SCALE_HALVING, SCALE_AXES };
enum { DIVIDE_NEAREST, DIVIDE_DOWN, DIVIDE_BY_BF16, DIVIDE_F32 };
enum { HALVED, NOT_HALVED };

#define VALUE(text, what)                                                                          \
    {                                                                                              \
        .name = (text), .meaning = (what)                                                          \
    }

static const fp8moe_prepared_axis scale_axes[SCALE_AXES] = {
    {.name = "fp8_max",
     .value_count = 2,
     .values = {VALUE("240", "the divisor is 240"), VALUE("448", "the divisor is 448")}},
    {.name = "epsilon",
     .value_count = 3,
     .values = {VALUE("bf16", "amax + 1e-8 is rounded to bf16"),
                VALUE("f32", "amax + 1e-8 is kept in f32"),
                VALUE("none", "nothing is added to amax")}},
    {.name = "division",
     .value_count = 4,
     .values = {VALUE("nearest", "the bf16 number nearest to the quotient"),
                VALUE("down", "the quotient cut off to bf16"),
                VALUE("reciprocal-bf16", "a product with 1/max rounded to bf16"),
                VALUE("f32", "the quotient in f32")}},
    {.name = "halving",
     .value_count = 2,
     .values = {VALUE("yes", "codes were halved and scales doubled while loading"),
                VALUE("no", "codes and scales are the checkpoint's")}},
};

static const double fp8_max[] = {240, 448};

/* bf16 towards zero, of a number that is not negative. */
static double cut_bf16(double value)
{
    const double nearest = round_bf16(value);
    return nearest > value ? bf16_to_f64((uint16_t)(f64_to_bf16(nearest) - 1)) : nearest;
}

static double divide(size_t how, double value, double divisor)
{
    switch (how) {
    case DIVIDE_NEAREST:
        return round_bf16(value / divisor);
    case DIVIDE_DOWN:
        return cut_bf16(value / divisor);
    case DIVIDE_BY_BF16:
        return round_bf16(value * round_bf16(1 / divisor));
    default:
        return round_f32(value / divisor);
    }
}

/* The scale of a row under a way; amax as it was loaded halved and not. */
static double scale_under(const fp8moe_prepared_way *way, const float amax[2])
{
    static const fp8moe_precision steps[] = {FP8MOE_ROUND_BF16, FP8MOE_ROUND_F32};
    const double largest = (double)amax[way->value[SCALE_HALVING]];
    const size_t epsilon = way->value[SCALE_EPSILON];
    const double raised = epsilon < 2 ? round_to(steps[epsilon], largest + (double)1e-8f) : largest;
    return divide(way->value[SCALE_DIVISION], raised, fp8_max[way->value[SCALE_MAX]]);
}

/* ---- ways to make a row's codes from its scale ----
 *
 * Dividing by the scale is no way of its own either: quotients of two 8-bit numbers keep away from
 * the ties of bf16 and E4M3 by more than an f32 inverse is off. */

enum { CODE_INVERSE, CODE_PRODUCT, CODE_HALVING, CODE_AXES };
enum { INVERSE_NEAREST, INVERSE_DOWN, INVERSE_F32 };

static const fp8moe_prepared_axis code_axes[CODE_AXES] = {
    {.name = "inverse",
     .value_count = 3,
     .values = {VALUE("nearest", "the bf16 number nearest to 1/scale"),
                VALUE("down", "1/scale cut off to bf16"),
                VALUE("f32", "1/scale in f32, or a division")}},
    {.name = "product",
     .value_count = 2,
     .values = {VALUE("bf16", "scaled values are rounded to bf16 before E4M3"),
                VALUE("f32", "scaled values are rounded to E4M3 from f32")}},
    {.name = "halving",
     .value_count = 2,
     .values = {VALUE("yes", "codes were halved and scales doubled while loading"),
                VALUE("no", "codes and scales are the checkpoint's")}},
};

static double invert(size_t how, double scale)
{
    switch (how) {
    case INVERSE_NEAREST:
        return round_bf16(1 / scale);
    case INVERSE_DOWN:
        return cut_bf16(1 / scale);
    default:
        return round_f32(1 / scale);
    }
}

/* What a way makes of a row of bf16 values. */
static void codes_under(const kernels *k, const fp8moe_prepared_way *way,
                        const fp8moe_target *target, double scale, const double *x, int64_t n,
                        uint8_t *codes)
{
    const fp8moe_precision product =
        way->value[CODE_PRODUCT] ? FP8MOE_ROUND_F32 : FP8MOE_ROUND_BF16;
    quant_codes(k, target, product, invert(way->value[CODE_INVERSE], scale), x, n, codes);
}

/* ---- questions ---- */

/* Every combination of choices. */
static void ask(fp8moe_prepared_question *q, const fp8moe_prepared_axis *axes, size_t count)
{
    q->axis_count = count;
    q->way_count = 1;
    for (size_t i = 0; i < count; i++) {
        q->axes[i] = axes[i];
        q->way_count *= axes[i].value_count;
    }
    assert(q->way_count <= FP8MOE_PREPARED_WAYS);
    for (size_t way = 0; way < q->way_count; way++)
        for (size_t i = count, rest = way; i-- > 0; rest /= axes[i].value_count)
            q->ways[way].value[i] = rest % axes[i].value_count;
}

/* Choices that differ from what is documented: the first of an axis, and halving where 240 counts.
 */
static int departures(const fp8moe_prepared_question *q, const fp8moe_prepared_way *way, size_t max)
{
    int count = 0;
    for (size_t i = 0; i < q->axis_count; i++) {
        const bool is_max = strcmp(q->axes[i].name, "fp8_max") == 0,
                   is_halving = strcmp(q->axes[i].name, "halving") == 0;
        count += way->value[i] != (is_max || is_halving ? max : 0);
    }
    return count;
}

/* Order the ways and see what each choice is worth. `max`: index of what counts, 240 or 448. */
static void answer(fp8moe_prepared_question *q, size_t max)
{
    for (size_t i = 1; i < q->way_count; i++) { /* stable */
        const fp8moe_prepared_way way = q->ways[i];
        size_t at = i;
        for (; at > 0; at--) {
            const fp8moe_prepared_way *const before = &q->ways[at - 1];
            if (before->explained > way.explained ||
                (before->explained == way.explained &&
                 departures(q, before, max) <= departures(q, &way, max)))
                break;
            q->ways[at] = *before;
        }
        q->ways[at] = way;
    }
    for (size_t i = 0; i < q->axis_count; i++) {
        fp8moe_prepared_axis *const axis = &q->axes[i];
        for (size_t way = 0; way < q->way_count; way++) {
            int64_t *const explained = &axis->values[q->ways[way].value[i]].explained;
            *explained = max_i64(*explained, q->ways[way].explained);
        }
        for (size_t v = 1; v < axis->value_count; v++)
            axis->told |= axis->values[v].explained != axis->values[0].explained;
    }
}

/* ---- the dump and its checkpoint ---- */

/* One fused tensor: the matrices of all its experts, one below the other. */
typedef struct tensor_of_rows {
    const char *name;
    fp8moe_tensor scale; /* [rows], or absent */
    fp8moe_tensor codes; /* [rows, columns], or absent */
    int64_t rows_each;   /* of one expert */
    int64_t first;       /* row number in the judging */
} tensor_of_rows;

typedef struct judging {
    const fp8moe_expert *experts;
    int64_t count;
    const fp8moe_prepared_options *options;
    tensor_of_rows tensors[2];
    int64_t rows, columns; /* all rows; most columns of one */
    float (*amax)[2];      /* [rows] halved, not halved */
    const fp8moe_target
        *target; /* ocp: a row's scale keeps its codes below 240 where that counts */
    const fp8moe_prepared_way *code_way;
    fp8moe_target loaders[2]; /* halving, not halving */
    weight_reader readers[2];
    double *scratch; /* a row for each worker */
    uint8_t *code_scratch;
    struct code_counts *counts;
} judging;

static fp8moe_status check_part(const fp8moe_weight *w, int64_t rows, int64_t cols,
                                const fp8moe_prepared_options *o, const char *name, matrix *out,
                                fp8moe_error *err)
{
    TRY(matrix_check(w, rows, cols, o->block_rows, o->block_cols, name, out, err));
    if (matrix_is_blockwise(out) && out->weight.dtype == FP8MOE_DTYPE_F8_E4M3) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_UNSUPPORTED,
                "preparing computes row scales only from FP8 weights with block scales, which "
                "these are not");
}

/* [E, rows] or [E, rows, 1] as [E * rows]. */
static fp8moe_status flatten_scale(const fp8moe_tensor *scale, int64_t experts, int64_t rows,
                                   const char *name, fp8moe_tensor *out, fp8moe_error *err)
{
    const int64_t shape[1] = {experts * rows};
    char text[96];
    const bool fits = (scale->rank == 2 || (scale->rank == 3 && scale->shape[2] == 1)) &&
                      scale->shape[0] == experts && scale->shape[1] == rows;
    if (!fits)
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1,
                       "%s: prepared scales are [%lld, %lld], one a row",
                       fp8moe_tensor_shape_text(scale, text, sizeof text), (long long)experts,
                       (long long)rows);
    if (scale->dtype != FP8MOE_DTYPE_F32 && scale->dtype != FP8MOE_DTYPE_BF16)
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "dtype %s; prepared scales are F32",
                       fp8moe_dtype_name(scale->dtype));
    if (!fp8moe_tensor_is_contiguous(scale))
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1,
                       "prepared scales must lie one after another");
    *out = fp8moe_tensor_view(scale->data, scale->dtype, 1, shape);
    out->swapped = scale->swapped;
    return FP8MOE_OK;
}

static fp8moe_status flatten_codes(const fp8moe_tensor *codes, int64_t experts, int64_t rows,
                                   int64_t columns, const char *name, fp8moe_tensor *out,
                                   fp8moe_error *err)
{
    char text[96];
    if (codes->dtype != FP8MOE_DTYPE_F8_E4M3)
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "dtype %s; prepared codes are F8_E4M3",
                       fp8moe_dtype_name(codes->dtype));
    if (codes->rank != 3 || codes->shape[0] != experts || codes->shape[1] != rows ||
        codes->shape[2] != columns)
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "%s: expected [%lld, %lld, %lld]",
                       fp8moe_tensor_shape_text(codes, text, sizeof text), (long long)experts,
                       (long long)rows, (long long)columns);
    return error_in_tensor(err, fp8moe_tensor_as_rows(codes, out, err), name);
}

/* One of the two tensors of the dump; absent scales leave it out. */
static fp8moe_status take_tensor(judging *j, const fp8moe_tensor *scale, const fp8moe_tensor *codes,
                                 const char *name, int64_t rows, int64_t columns,
                                 tensor_of_rows *out, fp8moe_error *err)
{
    *out = (tensor_of_rows){.name = name, .rows_each = rows, .first = j->rows};
    if (!fp8moe_tensor_present(scale)) {
        if (!fp8moe_tensor_present(codes)) return FP8MOE_OK;
        return fail(err, FP8MOE_ERR_NOT_FOUND, "the dump holds %s codes without their scales",
                    name);
    }
    TRY(flatten_scale(scale, j->count, rows, name, &out->scale, err));
    if (fp8moe_tensor_present(codes))
        TRY(flatten_codes(codes, j->count, rows, columns, name, &out->codes, err));
    j->rows += j->count * rows;
    j->columns = max_i64(j->columns, columns);
    return FP8MOE_OK;
}

static fp8moe_status take_dump(judging *j, const fp8moe_prepared *dumped, fp8moe_error *err)
{
    matrix gate, m;
    if (j->count < 1) return fail(err, FP8MOE_ERR_SHAPE, "no experts to compare with");
    TRY(check_part(&j->experts[0].gate, -1, -1, j->options, "gate", &gate, err));
    for (int64_t i = 0; i < j->count; i++) {
        TRY(check_part(&j->experts[i].gate, gate.rows, gate.cols, j->options, "gate", &m, err));
        TRY(check_part(&j->experts[i].up, gate.rows, gate.cols, j->options, "up", &m, err));
        TRY(check_part(&j->experts[i].down, gate.cols, gate.rows, j->options, "down", &m, err));
    }
    TRY(take_tensor(j, &dumped->w13_scale, &dumped->w13, "w13", 2 * gate.rows, gate.cols,
                    &j->tensors[0], err));
    TRY(take_tensor(j, &dumped->w2_scale, &dumped->w2, "w2", gate.cols, gate.rows, &j->tensors[1],
                    err));
    if (j->rows) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOT_FOUND,
                "the dump holds no prepared scales (w13_weight_scale_inv, w2_weight_scale_inv)");
}

/* A row of the judging: its place in the dump and in the checkpoint. */
typedef struct row_place {
    const tensor_of_rows *tensor;
    int64_t index; /* row of the flattened tensor */
    int64_t expert, row;
    matrix m;
    int64_t matrix_row;
} row_place;

static row_place find_row(const judging *j, int64_t number)
{
    const bool second =
        fp8moe_tensor_present(&j->tensors[1].scale) && number >= j->tensors[1].first;
    const tensor_of_rows *const t = &j->tensors[second];
    row_place place = {.tensor = t, .index = number - t->first};
    place.expert = place.index / t->rows_each;
    place.row = place.index % t->rows_each;
    const fp8moe_expert *const e = &j->experts[place.expert];
    const int64_t inter = t->rows_each / 2;
    const fp8moe_weight *const w = second ? &e->down : place.row < inter ? &e->gate : &e->up;
    place.matrix_row = second || place.row < inter ? place.row : place.row - inter;
    const fp8moe_status status = check_part(w, -1, -1, j->options, "", &place.m, NULL);
    assert(status == FP8MOE_OK); /* take_dump() saw them all */
    (void)status;
    return place;
}

static double dumped_scale(const row_place *place)
{
    double scale;
    fp8moe_tensor_read_f64(&place->tensor->scale, place->index, 1, &scale);
    return scale;
}

/* ---- scales ---- */

/* Largest magnitude of a dequantised row. Rounding never turns an order around, so the largest code
 * of a block gives its largest value. */
static double row_amax(const judging *j, const row_place *place, size_t halving,
                       const uint8_t *codes)
{
    const matrix *const m = &place->m;
    const weight_reader *const reader = &j->readers[halving];
    double amax = 0;
    for (int64_t col = 0; col < m->cols;) {
        const int64_t end =
            min_i64(m->cols, col + m->block_cols - (col + m->column_offset) % m->block_cols);
        const double scale = round_bf16(weights_scale(reader, m, place->matrix_row, col));
        uint8_t largest = 0;
        for (; col < end; col++) {
            const uint8_t code = codes[col] & 0x7F;
            largest = code > largest ? code : largest;
        }
        const double value =
            round_bf16(reader->table[halving == HALVED ? e4m3_halve(largest) : largest] * scale);
        if (value != value) return value;
        amax = value > amax ? value : amax;
    }
    return amax;
}

static void fill_amax(void *context, int64_t first, int64_t last, int worker)
{
    const judging *const j = context;
    uint8_t *const codes = j->code_scratch + 2 * worker * j->columns;
    for (int64_t i = first; i < last; i++) {
        const row_place place = find_row(j, i);
        weights_codes(&j->readers[NOT_HALVED], &place.m, place.matrix_row, codes);
        for (size_t halving = 0; halving < 2; halving++)
            j->amax[i][halving] = (float)row_amax(j, &place, halving, codes);
    }
}

static bool same_number(double a, double b)
{
    return a == b || (a != a && b != b);
}

/* bf16 steps from b to a, both not negative; a NaN lies beyond Inf. */
static int64_t steps_between(double a, double b)
{
    if (same_number(a, b)) return 0;
    const int64_t steps = (int64_t)f64_to_bf16(a) - (int64_t)f64_to_bf16(b);
    return steps ? steps : a > b ? 1 : -1;
}

static int64_t magnitude(int64_t steps)
{
    return steps < 0 ? -steps : steps;
}

/* Keep the furthest rows, in order. */
static void note_worst(fp8moe_prepared_report *out, const row_place *place, double dumped,
                       double expected)
{
    const int64_t steps = magnitude(steps_between(dumped, expected));
    size_t at = out->worst_count;
    while (at > 0 &&
           magnitude(steps_between(out->worst[at - 1].dumped, out->worst[at - 1].expected)) < steps)
        at--;
    if (at == FP8MOE_PREPARED_WORST) return;
    if (out->worst_count < FP8MOE_PREPARED_WORST) out->worst_count++;
    for (size_t i = out->worst_count - 1; i > at; i--)
        out->worst[i] = out->worst[i - 1];
    out->worst[at] =
        (fp8moe_prepared_row){place->tensor->name, place->expert, place->row, dumped, expected};
}

static size_t known_max(const judging *j)
{
    return j->options->target && j->options->target->fp8_max == 240 ? 0 : 1;
}

static void judge_scales(judging *j, fp8moe_prepared_report *out)
{
    fp8moe_prepared_question *const q = &out->scales;
    ask(q, scale_axes, SCALE_AXES);
    q->rows = out->scale_rows = j->rows;
    for (int64_t i = 0; i < j->rows; i++) {
        const row_place place = find_row(j, i);
        const double dumped = dumped_scale(&place);
        for (size_t way = 0; way < q->way_count; way++)
            q->ways[way].explained += same_number(scale_under(&q->ways[way], j->amax[i]), dumped);
    }
    answer(q, known_max(j));
    for (int64_t i = 0; i < j->rows; i++) {
        const row_place place = find_row(j, i);
        const double dumped = dumped_scale(&place), expected = scale_under(&q->ways[0], j->amax[i]);
        const int64_t steps = steps_between(dumped, expected);
        out->scales_same += steps == 0;
        out->scales_low += steps == -1;
        out->scales_high += steps == 1;
        out->scales_far += magnitude(steps) > 1;
        if (steps) note_worst(out, &place, dumped, expected);
    }
}

/* ---- codes ---- */

#define SAMPLED_ROWS 2048 /* on which every way is tried */

/* Of one worker. */
typedef struct code_counts {
    int64_t count, same, near;
    int64_t explained[FP8MOE_PREPARED_WAYS];
} code_counts;

/* One row under a way into `mine`; the dump's into `theirs`. */
static void make_codes(const judging *j, const row_place *place, const fp8moe_prepared_way *way,
                       double *values, uint8_t *mine)
{
    (void)weights_row(&j->readers[way->value[CODE_HALVING]], &place->m, place->matrix_row, values,
                      mine);
    codes_under(j->readers[0].kernels, way, j->target, dumped_scale(place), values, place->m.cols,
                mine);
}

static void read_codes(const row_place *place, uint8_t *theirs)
{
    fp8moe_tensor_read_raw(&place->tensor->codes, place->index * place->m.cols, place->m.cols,
                           theirs);
}

/* -0 and NaNs of either sign are what they are: codes are compared as numbers. */
static bool same_code(uint8_t a, uint8_t b)
{
    const bool a_nan = (a & 0x7F) == 0x7F, b_nan = (b & 0x7F) == 0x7F;
    return a_nan || b_nan ? a_nan && b_nan : e4m3_ordinal(a) == e4m3_ordinal(b);
}

static bool near_code(uint8_t a, uint8_t b)
{
    const int distance = e4m3_ordinal(a) - e4m3_ordinal(b);
    return (a & 0x7F) != 0x7F && (b & 0x7F) != 0x7F && (distance == 1 || distance == -1);
}

static bool same_codes(const uint8_t *a, const uint8_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!same_code(a[i], b[i])) return false;
    return true;
}

/* Rows that have codes: all of a tensor, or none. */
static bool has_codes(const judging *j, int64_t number)
{
    return fp8moe_tensor_present(&find_row(j, number).tensor->codes);
}

/* Sampled rows under every way. */
static void try_ways(void *context, int64_t first, int64_t last, int worker)
{
    const judging *const j = context;
    uint8_t *const mine = j->code_scratch + 2 * worker * j->columns, *const theirs =
                                                                         mine + j->columns;
    const int64_t sampled = min_i64(j->rows, SAMPLED_ROWS);
    fp8moe_prepared_question q = {0};
    ask(&q, code_axes, CODE_AXES);
    for (int64_t i = first; i < last; i++) {
        const row_place place = find_row(j, i * j->rows / sampled);
        if (!fp8moe_tensor_present(&place.tensor->codes)) continue;
        read_codes(&place, theirs);
        j->counts[worker].count++;
        for (size_t way = 0; way < q.way_count; way++) {
            make_codes(j, &place, &q.ways[way], j->scratch + worker * j->columns, mine);
            j->counts[worker].explained[way] += same_codes(mine, theirs, place.m.cols);
        }
    }
}

/* All rows under the best way. */
static void count_codes(void *context, int64_t first, int64_t last, int worker)
{
    const judging *const j = context;
    uint8_t *const mine = j->code_scratch + 2 * worker * j->columns, *const theirs =
                                                                         mine + j->columns;
    code_counts *const c = &j->counts[worker];
    for (int64_t row = first; row < last; row++) {
        if (!has_codes(j, row)) continue;
        const row_place place = find_row(j, row);
        read_codes(&place, theirs);
        make_codes(j, &place, j->code_way, j->scratch + worker * j->columns, mine);
        c->count += place.m.cols;
        for (int64_t i = 0; i < place.m.cols; i++) {
            c->same += same_code(mine[i], theirs[i]);
            c->near += near_code(mine[i], theirs[i]);
        }
    }
}

static void judge_codes(judging *j, fp8moe_prepared_report *out)
{
    fp8moe_prepared_question *const q = &out->codes;
    const int threads = j->options->threads;
    const size_t max = out->scales.ways[0].value[SCALE_MAX];
    j->target = fp8moe_target_find("ocp");
    ask(q, code_axes, CODE_AXES);
    parallel_for(threads, min_i64(j->rows, SAMPLED_ROWS), try_ways, j);
    for (int worker = 0; worker < threads; worker++) {
        q->rows += j->counts[worker].count;
        for (size_t way = 0; way < q->way_count; way++)
            q->ways[way].explained += j->counts[worker].explained[way];
    }
    answer(q, max);
    j->code_way = &q->ways[0];
    memset(j->counts, 0, (size_t)threads * sizeof *j->counts);
    parallel_for(threads, j->rows, count_codes, j);
    for (int worker = 0; worker < threads; worker++) {
        out->codes_count += j->counts[worker].count;
        out->codes_same += j->counts[worker].same;
        out->codes_near += j->counts[worker].near;
    }
    out->codes_far = out->codes_count - out->codes_same - out->codes_near;
}

/* ---- all ---- */

/* Readers of the dequantised rows, as loaded halved and not. Codes are read as E4M3FN: what 240
 * cuts off was halved below it. */
static void make_readers(judging *j, const kernels *k)
{
    for (size_t halving = 0; halving < 2; halving++) {
        j->loaders[halving] = *fp8moe_target_find("ocp");
        j->loaders[halving].loader_halves = halving == HALVED;
        j->readers[halving] = (weight_reader){.target = &j->loaders[halving],
                                              .table = e4m3fn_table(),
                                              .form = FP8MOE_FORM_DEQUANT,
                                              .stage = FP8MOE_WEIGHTS_CHECKPOINT,
                                              .kernels = k};
    }
}

static fp8moe_status allocate(judging *j, fp8moe_error *err)
{
    const size_t threads = (size_t)j->options->threads, columns = (size_t)j->columns;
    j->amax = calloc((size_t)j->rows, sizeof *j->amax);
    j->scratch = calloc(threads * columns, sizeof *j->scratch);
    j->code_scratch = calloc(threads * columns, 2);
    j->counts = calloc(threads, sizeof *j->counts);
    if (j->amax && j->scratch && j->code_scratch && j->counts) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the rows of a layer");
}

static void release(judging *j)
{
    free(j->amax);
    free(j->scratch);
    free(j->code_scratch);
    free(j->counts);
}

fp8moe_status fp8moe_prepared_judge(const fp8moe_prepared *dumped, const fp8moe_expert *experts,
                                    int64_t count, const fp8moe_prepared_options *options,
                                    fp8moe_prepared_report *out, fp8moe_error *err)
{
    assert(dumped && experts && options && options->threads >= 1 && out);
    kernels k;
    judging j = {.experts = experts, .count = count, .options = options};
    *out = (fp8moe_prepared_report){0};
    (void)kernels_init(&k, NULL, false);
    make_readers(&j, &k);
    TRY(take_dump(&j, dumped, err));
    const fp8moe_status status = allocate(&j, err);
    if (status == FP8MOE_OK) {
        parallel_for(options->threads, j.rows, fill_amax, &j);
        judge_scales(&j, out);
        judge_codes(&j, out);
    }
    release(&j);
    return status;
}

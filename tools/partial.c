#include "partial.h"

#include "few_tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS 4     /* looked at; for slices, which need a run each, the first of them */
#define MOST_PARTS 8 /* a layer is cut into at most */
#define NEARER 0.25  /* share of the whole's distance that a part must come to */
/* What an output has to do with the whole where it may be a part of it: the smallest rel-L2, since
 * a missing eighth is about 0.35 of the energy's root, and the smallest cosine for a slice. */
#define FARTHER 0.1
#define RESEMBLES 0.15

typedef enum part_kind { PART_RANK, PART_WITHOUT, PART_SLICE } part_kind;

/* One of `parts` equal parts: experts, or columns of every expert's w2. */
typedef struct part {
    part_kind kind;
    int64_t parts, index;
} part;

typedef struct search {
    few_tokens few;
    const fp8moe_recipe *recipe;
    int64_t tokens[TOKENS];
    int64_t all, count; /* tokens of the dump, tokens looked at */
    int64_t top_k, hidden, experts, columns;
    int64_t first_expert; /* of this rank */
    double *got;          /* [count, hidden] as dumped */
    double *whole;        /* [count, hidden] computed */
    double *sum;          /* [hidden] of a part */
    int64_t *ids;         /* [count, top_k] */
    double *weights;      /* [count, top_k] */
    double *slots;        /* [count, top_k, hidden] what each gives to the output */
    int64_t *row_ids;     /* [count, top_k, top_k] of the run that tells */
    float *row_weights;
    double least; /* rel-L2 that a part has to beat */
    part best;
    bool found;
} search;

/* ---- distances ---- */

static double squared_distance(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static double product(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double relative(double squared, const double *got, int64_t n)
{
    const double energy = product(got, got, n);
    return energy > 0 ? sqrt(squared / energy) : (double)INFINITY;
}

static void offer(search *s, const part *p, double distance)
{
    if (!(distance < s->least)) return;
    s->least = distance;
    s->best = *p;
    s->found = true;
}

static fp8moe_status run(const few_tokens *few, const search *s, watch *seen, fp8moe_error *err)
{
    fp8moe_layer_info info;
    seen->keep[FP8MOE_STAGE_OUTPUT] = true;
    return subject_run(&few->subject, s->recipe, seen, &info, err);
}

/* ---- parts of the experts: sums of what each slot gives ---- */

/* Each token as often as it has slots, with the weight of one of them: whatever the recipe does
 * with a slot, its row holds that alone. */
static void single_slots(search *s, few_tokens *each)
{
    const int64_t shape[] = {s->count * s->top_k, s->top_k};
    fp8moe_inputs *in = &each->subject.fields.inputs;
    for (int64_t row = 0; row < shape[0]; row++)
        for (int64_t k = 0; k < s->top_k; k++) {
            const int64_t from = row / s->top_k * s->top_k + k, to = row * s->top_k + k;
            s->row_ids[to] = s->ids[from];
            s->row_weights[to] = row % s->top_k == k ? (float)s->weights[from] : 0;
        }
    in->topk_ids = fp8moe_tensor_view(s->row_ids, FP8MOE_DTYPE_I64, 2, shape);
    in->topk_weights = fp8moe_tensor_view(s->row_weights, FP8MOE_DTYPE_F32, 2, shape);
    in->router_logits = (fp8moe_tensor){.data = NULL};
}

static fp8moe_status read_slots(search *s, const subject_dump *subject, fp8moe_error *err)
{
    const int64_t rows = s->count * s->top_k;
    few_tokens each = {.count = 0};
    scratch memory = {0};
    watch seen = {.memory = &memory};
    int64_t *tokens = cli_allocate((size_t)rows * sizeof *tokens);
    fp8moe_status st = FP8MOE_OK;
    for (int64_t row = 0; row < rows; row++)
        tokens[row] = s->tokens[row / s->top_k];
    if (few_tokens_take(subject, s->all, tokens, rows, &each)) {
        single_slots(s, &each);
        st = run(&each, s, &seen, err);
        if (st == FP8MOE_OK)
            fp8moe_tensor_read_f64(&seen.stage[FP8MOE_STAGE_OUTPUT].total, 0, rows * s->hidden,
                                   s->slots);
    }
    few_tokens_free(&each);
    scratch_free(&memory);
    free(tokens);
    return st;
}

static bool has_expert(const search *s, const part *p, int64_t id)
{
    const int64_t local = id - s->first_expert, each = s->experts / p->parts;
    if (local < 0 || local >= s->experts) return false;
    return (local / each == p->index) == (p->kind == PART_RANK);
}

static void try_experts(search *s, const part *p)
{
    double squared = 0;
    for (int64_t token = 0; token < s->count; token++) {
        memset(s->sum, 0, (size_t)s->hidden * sizeof *s->sum);
        for (int64_t slot = token * s->top_k; slot < (token + 1) * s->top_k; slot++)
            for (int64_t i = 0; i < s->hidden && has_expert(s, p, s->ids[slot]); i++)
                s->sum[i] += s->slots[slot * s->hidden + i];
        squared += squared_distance(s->sum, s->got + token * s->hidden, s->hidden);
    }
    offer(s, p, relative(squared, s->got, s->count * s->hidden));
}

static void try_all_experts(search *s)
{
    for (int64_t parts = 2; parts <= MOST_PARTS && s->experts % parts == 0; parts *= 2)
        for (int64_t i = 0; i < parts; i++) {
            try_experts(s, &(part){PART_RANK, parts, i});
            try_experts(s, &(part){PART_WITHOUT, parts, i});
        }
}

/* ---- slices: a run each ---- */

/* w2 with zeros outside the slice; a zero byte is a zero in every dtype. */
static void mask(const fp8moe_tensor *w2, const part *p, char *copy)
{
    const int64_t rows = w2->shape[0] * w2->shape[1];
    const size_t bytes = (size_t)w2->shape[2] * (size_t)fp8moe_dtype_bits(w2->dtype) / 8;
    const size_t kept = bytes / (size_t)p->parts, first = kept * (size_t)p->index;
    fp8moe_tensor_read_raw(w2, 0, rows * w2->shape[2], copy);
    for (int64_t row = 0; row < rows; row++, copy += bytes) {
        memset(copy, 0, first);
        memset(copy + first + kept, 0, bytes - first - kept);
    }
}

static fp8moe_status try_slice(search *s, const fp8moe_tensor *w2, const part *p, char *copy,
                               fp8moe_error *err)
{
    scratch memory = {0};
    watch seen = {.memory = &memory};
    mask(w2, p, copy);
    s->few.subject.fields.inputs.w2_weight =
        fp8moe_tensor_view(copy, w2->dtype, w2->rank, w2->shape);
    const fp8moe_status st = run(&s->few, s, &seen, err);
    if (st == FP8MOE_OK) {
        fp8moe_tensor_read_f64(&seen.stage[FP8MOE_STAGE_OUTPUT].total, 0, s->hidden, s->sum);
        offer(s, p, relative(squared_distance(s->sum, s->got, s->hidden), s->got, s->hidden));
    }
    scratch_free(&memory);
    return st;
}

static fp8moe_status try_slices(search *s, const fp8moe_tensor *w2, fp8moe_error *err)
{
    char *copy =
        cli_allocate((size_t)fp8moe_tensor_count(w2) * (size_t)fp8moe_dtype_bits(w2->dtype) / 8);
    fp8moe_status st = FP8MOE_OK;
    for (int64_t parts = 2; parts <= MOST_PARTS && s->columns % parts == 0; parts *= 2)
        for (int64_t i = 0; i < parts && st == FP8MOE_OK; i++)
            st = try_slice(s, w2, &(part){PART_SLICE, parts, i}, copy, err);
    free(copy);
    return st;
}

/* ---- the search ---- */

/* A few tokens, spread over those whose output is not all zero; their rows to s->got. */
static void choose_tokens(search *s, const fp8moe_tensor *dumped)
{
    const int64_t stride = (s->all + TOKENS - 1) / TOKENS;
    for (int64_t token = 0; token < s->all && s->count < TOKENS; token += stride) {
        double *row = s->got + s->count * s->hidden;
        fp8moe_tensor_read_f64(dumped, token * s->hidden, s->hidden, row);
        const double energy = product(row, row, s->hidden);
        if (energy > 0 && isfinite(energy)) s->tokens[s->count++] = token;
    }
}

static char *describe(const search *s)
{
    const part *p = &s->best;
    const int64_t extent = p->kind == PART_SLICE ? s->columns : s->experts;
    const long long each = (long long)(extent / p->parts);
    const long long first = each * (long long)p->index, last = first + each - 1;
    if (p->kind == PART_SLICE)
        return cli_text("looks like a tensor-parallel slice: columns %lld to %lld of I %lld alone "
                        "give it (slice %lld of %lld)",
                        first, last, (long long)s->columns, (long long)p->index,
                        (long long)p->parts);
    return cli_text(p->kind == PART_RANK
                        ? "looks like one rank's part: local experts %lld to %lld alone give it"
                        : "looks like a missing rank: all but local experts %lld to %lld give it",
                    first, last);
}

static void take_routing(search *s, const fp8moe_tensor *ids, const fp8moe_tensor *weights)
{
    const int64_t slots = s->count * s->top_k;
    s->ids = cli_allocate((size_t)slots * sizeof *s->ids);
    s->weights = cli_allocate((size_t)slots * sizeof *s->weights);
    s->row_ids = cli_allocate((size_t)(slots * s->top_k) * sizeof *s->row_ids);
    s->row_weights = cli_allocate((size_t)(slots * s->top_k) * sizeof *s->row_weights);
    s->slots = cli_allocate((size_t)(slots * s->hidden) * sizeof *s->slots);
    fp8moe_tensor_read_i64(ids, 0, slots, s->ids);
    fp8moe_tensor_read_f64(weights, 0, slots, s->weights);
}

/* The whole as it should be; its routing. */
static fp8moe_status look_at_whole(search *s, fp8moe_error *err)
{
    const int64_t size = s->count * s->hidden;
    scratch memory = {0};
    watch seen = {.memory = &memory};
    seen.keep[FP8MOE_STAGE_TOPK_IDS] = seen.keep[FP8MOE_STAGE_TOPK_WEIGHTS] = true;
    const fp8moe_status st = run(&s->few, s, &seen, err);
    if (st == FP8MOE_OK) {
        const fp8moe_tensor *ids = &seen.stage[FP8MOE_STAGE_TOPK_IDS].total;
        fp8moe_tensor_read_f64(&seen.stage[FP8MOE_STAGE_OUTPUT].total, 0, size, s->whole);
        const double far = relative(squared_distance(s->whole, s->got, size), s->got, size);
        s->least = far > FARTHER ? NEARER * far : 0;
        s->top_k = ids->shape[1];
        take_routing(s, ids, &seen.stage[FP8MOE_STAGE_TOPK_WEIGHTS].total);
    }
    scratch_free(&memory);
    return st;
}

static bool resembles(const search *s)
{
    const double both = product(s->whole, s->got, s->hidden);
    const double sizes =
        sqrt(product(s->whole, s->whole, s->hidden) * product(s->got, s->got, s->hidden));
    return both > RESEMBLES * sizes;
}

static fp8moe_status look_at_slices(search *s, const subject_dump *subject, fp8moe_error *err)
{
    few_tokens_free(&s->few);
    if (!few_tokens_take(subject, s->all, s->tokens, 1, &s->few)) return FP8MOE_OK;
    return try_slices(s, &subject->fields.inputs.w2_weight, err);
}

static fp8moe_status look(search *s, const subject_dump *subject, fp8moe_error *err)
{
    if (!few_tokens_take(subject, s->all, s->tokens, s->count, &s->few)) return FP8MOE_OK;
    CLI_TRY(look_at_whole(s, err));
    if (!(s->least > 0)) return FP8MOE_OK;
    CLI_TRY(read_slots(s, subject, err));
    try_all_experts(s);
    return s->found || !resembles(s) ? FP8MOE_OK : look_at_slices(s, subject, err);
}

static void free_search(search *s)
{
    few_tokens_free(&s->few);
    free(s->got);
    free(s->whole);
    free(s->sum);
    free(s->slots);
    free(s->ids);
    free(s->weights);
    free(s->row_ids);
    free(s->row_weights);
}

fp8moe_status partial_find(const subject_dump *subject, const fp8moe_recipe *recipe,
                           const fp8moe_tensor *dumped, char **finding, fp8moe_error *err)
{
    const fp8moe_tensor *w2 = &subject->fields.inputs.w2_weight;
    *finding = NULL;
    if (recipe->op != FP8MOE_OP_MOE || w2->rank != 3 || !fp8moe_tensor_count(w2)) return FP8MOE_OK;
    search s = {.recipe = recipe,
                .experts = w2->shape[0],
                .hidden = w2->shape[1],
                .columns = w2->shape[2],
                .all = fp8moe_tensor_count(dumped) / w2->shape[1],
                .first_expert = subject->settings.value[SETTING_EP_RANK].integer * w2->shape[0]};
    s.got = cli_allocate((size_t)(TOKENS * s.hidden) * sizeof *s.got);
    s.whole = cli_allocate((size_t)(TOKENS * s.hidden) * sizeof *s.whole);
    s.sum = cli_allocate((size_t)s.hidden * sizeof *s.sum);
    choose_tokens(&s, dumped);
    const fp8moe_status st = s.count ? look(&s, subject, err) : FP8MOE_OK;
    if (st == FP8MOE_OK && s.found) *finding = describe(&s);
    free_search(&s);
    return st;
}

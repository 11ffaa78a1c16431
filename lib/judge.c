#include "judge.h"

#include "common.h"
#include "detect.h"
#include "explain.h"
#include "linear.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dots of real captures round as the exact value does, the closest 0.6 of this unit from a
 * boundary. */
#define EXPECTED_SLACK 1.0

/* A residual along one product of a row, in standard deviations beyond its interval, before it is a
 * finding: of 1e8 products none reaches it by chance, and a few dozen elements are needed to. */
#define SIGMAS_PRODUCT 7.0

/* One dumped output. */
typedef struct subject {
    fp8moe_tensor got; /* [T, width] */
    fp8moe_judgement *out;
    tally tally;
    uint64_t *seen; /* [T] hash of each judged row so far; 0: not judged */
    bool *skip;     /* [tokens of a block] */
    double expected_flips;
    lone_product lone; /* the one farthest outside */
} subject;

/* Outputs of one layer share everything that does not depend on them. */
typedef struct judge {
    fp8moe_layer *layer;
    const fp8moe_judge_options *options;
    subject *subjects;
    int64_t count, width;
    bound bound;
    detector detector;
    double *row;         /* [width] */
    row_source *sources; /* [K] */
    bool *skip;          /* [tokens of a block] by every subject */
    uint64_t *inputs; /* [T] hash of each distinct input so far; 0: equal to an earlier one, or not
                         judged */
    double *widths;   /* [distinct] relative hard widths */
    int64_t distinct;
} judge;

/* ---- rows ---- */

#define HASH_START UINT64_C(0xCBF29CE484222325)

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *const at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t hash_row(uint64_t hash, const fp8moe_tensor *t, int64_t row, double *scratch)
{
    const int64_t width = t->shape[1];
    fp8moe_tensor_read_f64(t, row * width, width, scratch);
    return hash_bytes(hash, scratch, (size_t)width * sizeof *scratch);
}

/* Input and routing of a token in one number. */
static uint64_t hash_input(const judge *j, int64_t token)
{
    const fp8moe_layer *const layer = j->layer;
    const size_t top_k = (size_t)layer->info.top_k;
    uint64_t hash = hash_row(HASH_START, &layer->hidden_states, token, j->row);
    if (layer->recipe.op == FP8MOE_OP_MOE) {
        hash = hash_bytes(hash, layer->topk_ids + (size_t)token * top_k,
                          top_k * sizeof *layer->topk_ids);
        hash = hash_bytes(hash, layer->topk_weights + (size_t)token * top_k,
                          top_k * sizeof *layer->topk_weights);
    }
    return hash ? hash : 1;
}

static bool is_outside_range(const judge *j, int64_t token)
{
    const fp8moe_judge_options *const o = j->options;
    return o->first_row >= 0 && (token < o->first_row || token > o->last_row);
}

/* Whether the token's number stands among earlier ones; else it joins them. */
static bool is_repeated(uint64_t *seen, int64_t token, uint64_t own)
{
    for (int64_t t = 0; t < token; t++)
        if (seen[t] == own) return true;
    seen[token] = own;
    return false;
}

/* Rows that a subject does not judge: outside the asked range, or equal in input, routing and
 * output to an earlier one. Rows whose stages come from a dump may differ in those and all count.
 */
static void find_skipped(judge *j, int64_t first, int64_t tokens)
{
    bool taken = false;
    for (int stage = 0; stage < FP8MOE_STAGE_OUTPUT; stage++)
        taken |= fp8moe_tensor_present(&j->layer->from[stage]);
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t token = first + t;
        j->skip[t] = true;
        for (int64_t n = 0; n < j->count; n++)
            j->subjects[n].skip[t] = true;
        if (is_outside_range(j, token)) continue;
        const uint64_t input = taken ? (uint64_t)token + 1 : hash_input(j, token);
        for (int64_t n = 0; n < j->count; n++) {
            subject *const s = &j->subjects[n];
            s->out->rows++;
            s->skip[t] = is_repeated(s->seen, token,
                                     taken ? input : hash_row(input, &s->got, token, j->row));
            s->out->rows_equal += s->skip[t];
            j->skip[t] &= s->skip[t];
        }
        if (!j->skip[t]) (void)is_repeated(j->inputs, token, input);
    }
}

static row_view view_of(const judge *j, int64_t token)
{
    const bound *const b = &j->bound;
    const int64_t at = token * j->width;
    return (row_view){.token = b->block->engine.chunk.first + token,
                      .width = j->width,
                      .reference = b->block->rows + at,
                      .centre = b->centre + at,
                      .low = b->low + at,
                      .high = b->high + at,
                      .near_low = b->near_low + at,
                      .near_high = b->near_high + at,
                      .variance = b->variance + at,
                      .dtype = layer_output_precision(j->layer),
                      .sources = j->sources};
}

/* The token's contributions by source. */
static int find_sources(judge *j, int64_t token)
{
    bound *const b = &j->bound;
    const int64_t hidden = j->layer->info.hidden;
    const int64_t count = bound_terms(b, token);
    int sources = 0;
    for (int64_t n = 0; n < count; n++) {
        const bound_term *const term = &b->terms[n];
        if (term->joint_weight == 0) continue;
        const int64_t slot = term->source / hidden;
        const slot_noise *const noise = &b->noise[slot];
        const double energy = noise->variance > 0 ? noise->output_variance / noise->variance : 0;
        const double *const output = b->block->engine.chunk.expert_output + term->source;
        j->sources[sources++] = (row_source){.slot = slot,
                                             .weight = term->joint_weight,
                                             .output = output,
                                             .column_energy = energy,
                                             .fourth = noise->fourth,
                                             .with_operand = noise->with_operand,
                                             .largest = noise->largest,
                                             .largest_with_operand = noise->largest_with_operand};
    }
    return sources;
}

/* ---- one row ---- */

static void note_first_impossible(judge *j, fp8moe_judgement *out, const row_view *row)
{
    for (int64_t h = 0; h < row->width && out->impossible_row < 0; h++) {
        if (tally_element(row, h, j->row[h]) != ELEMENT_IMPOSSIBLE) continue;
        out->impossible_row = row->token;
        out->impossible_column = h;
        out->impossible_low = row->low[h];
        out->impossible_high = row->high[h];
        out->impossible_got = j->row[h];
    }
}

static double relative_width(const row_view *row)
{
    double energy = 0, width = 0;
    for (int64_t h = 0; h < row->width; h++) {
        energy += row->centre[h] * row->centre[h];
        width += row->high[h] - row->low[h];
    }
    return energy > 0 ? width / (double)row->width / sqrt(energy / (double)row->width) : 0;
}

static void take_flips(fp8moe_judgement *out, const explanation *found)
{
    for (int i = 0; i < found->count; i++) {
        if (out->flip_count < FP8MOE_FLIPS_KEPT) out->flip[out->flip_count++] = found->flip[i];
        out->flips++;
    }
}

static void count_elements(const row_view *row, const double *got, int64_t counts[ELEMENT_CLASSES])
{
    memset(counts, 0, ELEMENT_CLASSES * sizeof *counts);
    for (int64_t h = 0; h < row->width; h++)
        counts[tally_element(row, h, got[h])]++;
}

/* Everything about a dumped row but the search that explains it. */
static void judge_elements(judge *j, subject *s, const row_view *row,
                           int64_t counts[ELEMENT_CLASSES], bool explained)
{
    fp8moe_judgement *const out = s->out;
    const int64_t open = counts[ELEMENT_POSSIBLE] + counts[ELEMENT_IMPOSSIBLE];
    out->classes.explained += explained ? open : 0;
    out->rows_explained += explained;
    out->rows_identical += !open && !counts[ELEMENT_EXPECTED] && !counts[ELEMENT_NONFINITE];
    out->rows_noise += open && !explained;
    if (explained) {
        /* The row's elements are accounted for: its residual belongs to the flips. */
        for (int c = 0; c <= ELEMENT_EXPECTED; c++)
            s->tally.classes[c] += counts[c];
    } else {
        tally_add(&s->tally, row, j->row);
        note_first_impossible(j, out, row);
    }
}

/* What does not depend on any dump, of a distinct input. */
static void judge_input(judge *j, bound *b, int64_t token, const row_view *row)
{
    if (!j->inputs[row->token]) return;
    j->widths[j->distinct++] = relative_width(row);
    detect_row(&j->detector, b, token, row);
}

static fp8moe_status judge_row(judge *j, subject *s, int64_t token, const row_view *row,
                               fp8moe_error *err)
{
    int64_t counts[ELEMENT_CLASSES];
    explanation found = {0};
    fp8moe_tensor_read_f64(&s->got, row->token * row->width, row->width, j->row);
    count_elements(row, j->row, counts);
    for (int i = 0; i < row->source_count; i++)
        s->expected_flips += j->bound.noise[row->sources[i].slot].expected_flips;
    if (counts[ELEMENT_POSSIBLE] && !counts[ELEMENT_IMPOSSIBLE] && !counts[ELEMENT_NONFINITE] &&
        row->source_count) {
        for (int i = 0; i < row->source_count; i++)
            s->out->near_ties += j->bound.noise[row->sources[i].slot].near_ties;
        TRY(explain_row(&j->bound, token, row, j->row, j->options->flips_per_row, &found, err));
    }
    take_flips(s->out, &found);
    if (found.lone.sigmas > s->lone.sigmas) s->lone = found.lone;
    judge_elements(j, s, row, counts, found.explained);
    return FP8MOE_OK;
}

static fp8moe_status judge_block(void *user, moe_block *block, fp8moe_error *err)
{
    judge *const j = user;
    const chunk *const c = &block->engine.chunk;
    find_skipped(j, c->first, c->tokens);
    bound_block(&j->bound, block, j->skip);
    for (int64_t t = 0; t < c->tokens; t++) {
        if (j->skip[t]) continue;
        row_view row = view_of(j, t);
        row.source_count = find_sources(j, t);
        judge_input(j, &j->bound, t, &row);
        for (int64_t n = 0; n < j->count; n++)
            if (!j->subjects[n].skip[t]) TRY(judge_row(j, &j->subjects[n], t, &row, err));
    }
    return FP8MOE_OK;
}

/* A linear has no near-ties but its own dots. */
static fp8moe_status judge_linear_row(judge *j, const linear_block *block, int64_t t,
                                      fp8moe_error *err)
{
    linear_bound bounds;
    int64_t counts[ELEMENT_CLASSES];
    TRY(linear_bound_open(&bounds, j->layer, block, t, &j->bound.slack, err));
    const row_view row = {.token = block->first + t,
                          .width = j->width,
                          .reference = block->rows + t * j->width,
                          .centre = bounds.centre,
                          .low = bounds.low,
                          .high = bounds.high,
                          .near_low = bounds.near_low,
                          .near_high = bounds.near_high,
                          .variance = bounds.variance,
                          .dtype = layer_output_precision(j->layer)};
    judge_input(j, NULL, t, &row);
    for (int64_t n = 0; n < j->count; n++) {
        if (j->subjects[n].skip[t]) continue;
        fp8moe_tensor_read_f64(&j->subjects[n].got, row.token * j->width, j->width, j->row);
        count_elements(&row, j->row, counts);
        judge_elements(j, &j->subjects[n], &row, counts, false);
    }
    linear_bound_close(&bounds);
    return FP8MOE_OK;
}

static fp8moe_status judge_linear_block(void *user, const linear_block *block, fp8moe_error *err)
{
    judge *const j = user;
    find_skipped(j, block->first, block->tokens);
    for (int64_t t = 0; t < block->tokens; t++)
        if (!j->skip[t]) TRY(judge_linear_row(j, block, t, err));
    return FP8MOE_OK;
}

/* ---- verdict ---- */

static void conclude_classes(subject *s)
{
    fp8moe_classes *const c = &s->out->classes;
    c->padding = s->tally.classes[ELEMENT_PADDING];
    c->identical = s->tally.classes[ELEMENT_IDENTICAL];
    c->expected = s->tally.classes[ELEMENT_EXPECTED];
    c->possible = s->tally.classes[ELEMENT_POSSIBLE];
    c->impossible = s->tally.classes[ELEMENT_IMPOSSIBLE];
    c->nonfinite = s->tally.classes[ELEMENT_NONFINITE];
}

/* Flips found against the number the near-ties' probabilities give. */
static void add_flip_statistic(subject *s)
{
    fp8moe_judgement *const out = s->out;
    if (!out->flips) return;
    const double limit = tally_flips_allowed(s->expected_flips);
    out->statistics[out->statistic_count++] =
        (fp8moe_statistic){.name = "flips",
                           .seen = (double)out->flips,
                           .limit = limit,
                           .token = -1,
                           .index = -1,
                           .outside = (double)out->flips > limit};
}

static bool has_lone_product(const subject *s)
{
    return s->lone.sigmas > SIGMAS_PRODUCT;
}

static void add_lone_product(subject *s)
{
    fp8moe_judgement *const out = s->out;
    if (!(s->lone.sigmas > 0)) return;
    out->statistics[out->statistic_count++] = (fp8moe_statistic){.name = "product",
                                                                 .seen = s->lone.sigmas,
                                                                 .limit = SIGMAS_PRODUCT,
                                                                 .token = s->lone.token,
                                                                 .index = s->lone.index,
                                                                 .outside = has_lone_product(s)};
}

static const fp8moe_statistic *first_outside(const fp8moe_judgement *out)
{
    for (int i = 0; i < out->statistic_count; i++)
        if (out->statistics[i].outside) return &out->statistics[i];
    return NULL;
}

static fp8moe_kind kind_of(const subject *s)
{
    if (s->out->classes.nonfinite) return FP8MOE_KIND_NONFINITE;
    return tally_is_unstructured(&s->tally) && !has_lone_product(s) ? FP8MOE_KIND_ROUNDING
                                                                    : FP8MOE_KIND_STRUCTURED;
}

/* A row that reproduces a capture or a golden file, or is a definition, leaves nothing open. */
static bool is_settled(const fp8moe_judgement *out)
{
    return out->evidence == FP8MOE_EVIDENCE_MEASURED || out->evidence == FP8MOE_EVIDENCE_FIXTURE ||
           out->evidence == FP8MOE_EVIDENCE_DEFINITION;
}

/* "1 row differs", "2 rows differ": endings of a noun and of its verb. */
static const char *of_many(int64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *of_one(int64_t count)
{
    return count == 1 ? "s" : "";
}

#define REASON(...) (void)snprintf(out->reason, sizeof out->reason, __VA_ARGS__)

static void explain_difference(const subject *s, const fp8moe_statistic *statistic)
{
    fp8moe_judgement *const out = s->out;
    const fp8moe_classes *const c = &out->classes;
    const lone_product *const p = &s->lone;
    if (c->nonfinite)
        REASON("%lld element%s %s NaN or Inf on one side only", (long long)c->nonfinite,
               of_many(c->nonfinite), c->nonfinite == 1 ? "is" : "are");
    else if (c->impossible)
        REASON(
            "%lld element%s lie%s outside what any rounding of recipe %s gives, the first at token "
            "%lld column %lld",
            (long long)c->impossible, of_many(c->impossible), of_one(c->impossible),
            out->recipe.name, (long long)out->impossible_row, (long long)out->impossible_column);
    else if (has_lone_product(s))
        REASON("every element is possible, but row %lld needs product[%lld] of slot %lld (local "
               "expert %lld) to be %.4g, and the recipe gives %.4g to %.4g",
               (long long)p->token, (long long)p->index, (long long)p->slot, (long long)p->expert,
               p->needed, p->low, p->high);
    else if (statistic)
        REASON("every element is possible, but %s is %.3g where noise gives at most %.3g",
               statistic->name, statistic->seen, statistic->limit);
}

static void conclude_failure(subject *s)
{
    fp8moe_judgement *const out = s->out;
    out->kind = kind_of(s);
    out->verdict = FP8MOE_VERDICT_DIFFERENT;
    explain_difference(s, first_outside(out));
    if (out->kind != FP8MOE_KIND_ROUNDING || is_settled(out)) return;
    out->verdict = FP8MOE_VERDICT_INCONCLUSIVE;
    REASON("the difference is of rounding kind (unstructured, rel-L2 %.2g) and recipe %s is not "
           "measured on this device",
           out->statistics[0].seen, out->recipe.name);
}

void judge_beaten(fp8moe_judgement *out, const char *rival)
{
    out->kind = FP8MOE_KIND_ROUNDING;
    out->verdict = is_settled(out) ? FP8MOE_VERDICT_DIFFERENT : FP8MOE_VERDICT_INCONCLUSIVE;
    REASON(
        "%lld row%s differ%s by no more than noise might, but %s lies nearer: a rounding point may "
        "have moved",
        (long long)out->rows_noise, of_many(out->rows_noise), of_one(out->rows_noise), rival);
}

static void conclude_pass(fp8moe_judgement *out)
{
    const fp8moe_detection *const d = &out->detection;
    out->verdict = d->sufficient ? FP8MOE_VERDICT_SAME : FP8MOE_VERDICT_INCONCLUSIVE;
    if (!d->sufficient)
        REASON("nothing is wrong, but this check could not have seen %s",
               d->gain_up > 0.02 || d->gain_down > 0.02 ? "a 2 % gain error" : "a dropped expert");
    else if (out->rows_noise)
        REASON("%lld row%s differ%s as the device's own noise would: no impossible element, "
               "statistics within their spread",
               (long long)out->rows_noise, of_many(out->rows_noise), of_one(out->rows_noise));
    else if (out->rows_explained)
        REASON("every row is identical, expected or explained by %lld flip%s",
               (long long)out->flips, of_many(out->flips));
    else
        REASON("every row is identical%s",
               out->classes.expected ? " or within the expected radius of its dots" : "");
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void conclude(subject *s)
{
    fp8moe_judgement *const out = s->out;
    conclude_classes(s);
    out->statistic_count = tally_statistics(&s->tally, out->statistics);
    add_flip_statistic(s);
    add_lone_product(s);
    const fp8moe_classes *const c = &out->classes;
    if (tally_fails(&s->tally) || first_outside(out))
        conclude_failure(s);
    else if (c->identical + c->expected + c->explained + c->possible)
        conclude_pass(out);
    else {
        out->verdict = FP8MOE_VERDICT_INCONCLUSIVE;
        REASON("nothing to judge: no element is anything but padding");
    }
}

static void conclude_all(judge *j)
{
    fp8moe_detection detection;
    detect_conclude(&j->detector, j->layer->recipe.op == FP8MOE_OP_LINEAR, &detection);
    qsort(j->widths, (size_t)j->distinct, sizeof *j->widths, compare_doubles);
    for (int64_t n = 0; n < j->count; n++) {
        fp8moe_judgement *const out = j->subjects[n].out;
        out->detection = detection;
        out->median_width = j->distinct ? j->widths[j->distinct / 2] : 0;
        conclude(&j->subjects[n]);
    }
}

/* ---- running ---- */

static fp8moe_status open_subject(subject *s, const judge *j, const fp8moe_tensor *got,
                                  int64_t capacity, fp8moe_error *err)
{
    const int64_t tokens = j->layer->info.tokens;
    char shape[96];
    TRY(fp8moe_tensor_as_rows(got, &s->got, err));
    if (s->got.shape[0] != tokens || s->got.shape[1] != j->width)
        return fail(err, FP8MOE_ERR_SHAPE, "output %s: expected [%lld, %lld]",
                    fp8moe_tensor_shape_text(got, shape, sizeof shape), (long long)tokens,
                    (long long)j->width);
    if (!fp8moe_dtype_is_numeric(got->dtype))
        return fail(err, FP8MOE_ERR_DTYPE, "an output of dtype %s cannot be judged",
                    fp8moe_dtype_name(got->dtype));
    TRY(tally_open(&s->tally, j->width, err));
    s->skip = calloc((size_t)capacity + 1, sizeof *s->skip);
    s->seen = calloc((size_t)tokens + 1, sizeof *s->seen);
    if (s->skip && s->seen) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for judging %lld rows", (long long)tokens);
}

static void fill_judgement(const judge *j, fp8moe_judgement *out)
{
    const fp8moe_target *const t = j->layer->target;
    *out = (fp8moe_judgement){.recipe = j->layer->recipe,
                              .evidence = fp8moe_recipe_evidence(&j->layer->recipe, t),
                              .impossible_row = -1,
                              .impossible_column = -1,
                              .dot_slack = t->dot_slack * j->options->slack_scale,
                              .worst_case = j->options->worst_case,
                              .silu_slack = t->silu_slack,
                              .silu_slack_rate = t->silu_slack_rate};
}

static fp8moe_status open_judge(judge *j, const fp8moe_tensor *got, fp8moe_judgement *out,
                                fp8moe_error *err)
{
    const fp8moe_layer *const layer = j->layer;
    const bool linear = layer->recipe.op == FP8MOE_OP_LINEAR;
    const int64_t tokens = layer->info.tokens;
    const fp8moe_target *const t = layer->target;
    const double scale = j->options->slack_scale;
    const int64_t capacity =
        linear ? tokens : engine_capacity(layer, tokens, bound_bytes_per_token(layer));
    const device_slack slack = {.dot = t->dot_slack * scale,
                                .worst_case = j->options->worst_case,
                                .expected = EXPECTED_SLACK * scale,
                                .silu = scale < 1 ? 0 : t->silu_slack,
                                .silu_rate = t->silu_slack_rate};
    j->width = linear ? layer->linear.rows : layer->info.hidden;
    TRY(bound_open(&j->bound, layer, linear ? 0 : capacity, slack, err));
    TRY(detect_open(&j->detector, j->width, err));
    j->subjects = calloc((size_t)j->count, sizeof *j->subjects);
    j->row = calloc((size_t)max_i64(j->width, layer->info.hidden) + 1, sizeof *j->row);
    j->sources = calloc((size_t)layer->info.top_k + 1, sizeof *j->sources);
    j->skip = calloc((size_t)capacity + 1, sizeof *j->skip);
    j->inputs = calloc((size_t)tokens + 1, sizeof *j->inputs);
    j->widths = calloc((size_t)tokens + 1, sizeof *j->widths);
    if (!j->subjects || !j->row || !j->sources || !j->skip || !j->inputs || !j->widths)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for judging %lld rows",
                    (long long)tokens);
    for (int64_t n = 0; n < j->count; n++) {
        j->subjects[n].out = &out[n];
        fill_judgement(j, &out[n]);
        TRY(open_subject(&j->subjects[n], j, &got[n], capacity, err));
    }
    return FP8MOE_OK;
}

static void close_judge(judge *j)
{
    bound_close(&j->bound);
    detect_close(&j->detector);
    for (int64_t n = 0; j->subjects && n < j->count; n++) {
        tally_close(&j->subjects[n].tally);
        free(j->subjects[n].skip);
        free(j->subjects[n].seen);
    }
    void *const all[] = {j->subjects, j->row, j->sources, j->skip, j->inputs, j->widths};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static fp8moe_status run_judged(judge *j, const fp8moe_observer *observer, double *output,
                                fp8moe_error *err)
{
    if (j->layer->recipe.op == FP8MOE_OP_LINEAR) {
        const linear_hook hook = {judge_linear_block, j};
        return linear_run_hooked(j->layer, observer, &hook, output, err);
    }
    const moe_hook hook = {judge_block, j, bound_bytes_per_token(j->layer)};
    return moe_run_hooked(j->layer, observer, &hook, output, err);
}

void fp8moe_judge_options_default(fp8moe_judge_options *options)
{
    *options = (fp8moe_judge_options){
        .slack_scale = 1, .flips_per_row = 4, .first_row = -1, .last_row = -1, .try_axes = true};
}

fp8moe_status judge_outputs(fp8moe_layer *layer, const fp8moe_tensor *got, int64_t count,
                            const fp8moe_judge_options *options, const fp8moe_observer *observer,
                            double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    judge j = {.layer = layer, .options = options, .count = count};
    fp8moe_status status = open_judge(&j, got, out, err);
    if (status == FP8MOE_OK) status = run_judged(&j, observer, output, err);
    if (status == FP8MOE_OK) conclude_all(&j);
    close_judge(&j);
    return status;
}

fp8moe_status fp8moe_layer_judge(fp8moe_layer *layer, const fp8moe_tensor *got,
                                 const fp8moe_judge_options *options,
                                 const fp8moe_observer *observer, double *output,
                                 fp8moe_judgement *out, fp8moe_error *err)
{
    return judge_outputs(layer, got, 1, options, observer, output, out, err);
}

const char *fp8moe_verdict_name(fp8moe_verdict verdict)
{
    static const char *const names[] = {"same", "different", "inconclusive"};
    return names[verdict];
}

const char *fp8moe_kind_name(fp8moe_kind kind)
{
    static const char *const names[] = {"none", "rounding", "structured", "non-finite"};
    return names[kind];
}

const char *fp8moe_flip_kind_name(fp8moe_flip_kind kind)
{
    static const char *const names[] = {"gate", "up", "silu", "scale"};
    return names[kind];
}

#include "bits.h"
#include "common.h"
#include "explain.h"
#include "linear.h"
#include "tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dots of real captures round as the exact value does, the closest 0.6 of this unit from a boundary. */
#define EXPECTED_SLACK 1.0

/* Flips beyond the expected number before their count is a finding: a Poisson tail below 1e-6. */
#define SIGMAS_FLIPS 6.0

/* ---- planted faults: what this test would have seen ---- */

static const double gains[] = {0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.25};
#define GAINS ((int)(sizeof gains / sizeof gains[0]))

enum { PLANT_GAIN_UP, PLANT_GAIN_DOWN = GAINS, PLANT_DROP = 2 * GAINS, PLANT_WRONG_EXPERT, PLANT_ROW_SCALE, PLANT_SWAP, PLANTS };

typedef struct judge {
    fp8moe_layer *layer;
    const fp8moe_judge_options *options;
    fp8moe_tensor got; /* [T, width] */
    fp8moe_judgement *out;
    bound bound;
    tally tally, plant[PLANTS];
    double *row, *planted; /* [width] */
    row_source *sources;   /* [K] */
    bool *skip;            /* [tokens of a block] */
    uint64_t *seen;        /* hash of each judged row so far, by token; 0: not judged */
    double *widths;        /* relative hard widths of judged rows */
    int64_t judged;        /* rows that count */
    double expected_flips;
    bool swap_done;
} judge;

/* ---- rows ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *const at = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t hash_row(uint64_t hash, const fp8moe_tensor *t, int64_t row, double *scratch)
{
    const int64_t width = t->shape[1];
    fp8moe_tensor_read_f64(t, row * width, width, scratch);
    return hash_bytes(hash, scratch, (size_t)width * sizeof *scratch);
}

/* Input, routing and output of a token in one number. */
static uint64_t row_identity(const judge *j, int64_t token, double *scratch)
{
    const fp8moe_layer *const layer = j->layer;
    const size_t top_k = (size_t)layer->info.top_k;
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    hash = hash_row(hash, &layer->hidden_states, token, scratch);
    hash = hash_row(hash, &j->got, token, scratch);
    if (layer->recipe.op == FP8MOE_OP_MOE) {
        hash = hash_bytes(hash, layer->topk_ids + (size_t)token * top_k, top_k * sizeof *layer->topk_ids);
        hash = hash_bytes(hash, layer->topk_weights + (size_t)token * top_k, top_k * sizeof *layer->topk_weights);
    }
    return hash ? hash : 1;
}

/* Equal rows count once; rows outside the asked range do not count. */
static bool is_skipped(judge *j, int64_t token, double *scratch)
{
    const fp8moe_judge_options *const o = j->options;
    if (o->first_row >= 0 && (token < o->first_row || token > o->last_row)) return true;
    j->out->rows++;
    for (int stage = 0; stage < FP8MOE_STAGE_OUTPUT; stage++)
        if (fp8moe_tensor_present(&j->layer->from[stage])) return false;
    const uint64_t own = row_identity(j, token, scratch);
    for (int64_t t = 0; t < token; t++)
        if (j->seen[t] == own) {
            j->out->rows_equal++;
            return true;
        }
    j->seen[token] = own;
    return false;
}

static row_view view_of(const judge *j, int64_t token)
{
    const bound *const b = &j->bound;
    const int64_t width = j->got.shape[1], at = token * width;
    return (row_view){.token = b->block->engine.chunk.first + token, .width = width,
                      .reference = b->block->rows + at, .centre = b->centre + at, .low = b->low + at,
                      .high = b->high + at, .near_low = b->near_low + at, .near_high = b->near_high + at,
                      .variance = b->variance + at, .dtype = layer_output_precision(j->layer), .sources = j->sources};
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
        j->sources[sources++] = (row_source){.slot = slot, .weight = term->joint_weight, .output = output,
                                             .column_energy = energy, .fourth = noise->fourth,
                                             .with_operand = noise->with_operand, .largest = noise->largest,
                                             .largest_with_operand = noise->largest_with_operand};
        j->expected_flips += noise->expected_flips;
    }
    return sources;
}

/* ---- plants ---- */

static double emit(const row_view *row, double value)
{
    return round_to(row->dtype, value);
}

static void plant_gains(judge *j, const row_view *row)
{
    for (int g = 0; g < GAINS; g++)
        for (int up = 0; up < 2; up++) {
            const double factor = up ? 1 + gains[g] : 1 - gains[g];
            for (int64_t h = 0; h < row->width; h++) j->planted[h] = emit(row, row->centre[h] * factor);
            tally_add(&j->plant[(up ? PLANT_GAIN_UP : PLANT_GAIN_DOWN) + g], row, j->planted);
        }
}

static const row_source *weakest_source(const row_view *row)
{
    const row_source *weakest = NULL;
    for (int i = 0; i < row->source_count; i++)
        if (!weakest || fabs(row->sources[i].weight) < fabs(weakest->weight)) weakest = &row->sources[i];
    return weakest;
}

/* The weakest expert left out; or another routed one's output in its place. Twins: one of them. */
static void plant_experts(judge *j, const row_view *row)
{
    const int64_t top_k = j->layer->info.top_k;
    const row_source *const weakest = weakest_source(row);
    if (!weakest) return;
    const int64_t first = weakest->slot - weakest->slot % top_k;
    double weight = weakest->weight;
    for (int64_t k = first; k < first + top_k; k++)
        if (j->bound.block->engine.chunk.local[k] >= 0 && experts_source(&j->bound.block->engine, k) == weakest->slot &&
            fabs(j->bound.block->router_weight[k]) < fabs(weight))
            weight = j->bound.block->router_weight[k];
    const row_source *const other = &row->sources[weakest == row->sources ? row->source_count - 1 : 0];
    for (int64_t h = 0; h < row->width; h++) j->planted[h] = emit(row, row->centre[h] - weight * weakest->output[h]);
    tally_add(&j->plant[PLANT_DROP], row, j->planted);
    for (int64_t h = 0; h < row->width; h++)
        j->planted[h] = emit(row, row->centre[h] + weight * (other->output[h] - weakest->output[h]));
    tally_add(&j->plant[PLANT_WRONG_EXPERT], row, j->planted);
}

static void plant_row_scale(judge *j, const row_view *row)
{
    const row_source *heaviest = row->sources;
    for (int i = 1; i < row->source_count; i++)
        if (fabs(row->sources[i].weight) > fabs(heaviest->weight)) heaviest = &row->sources[i];
    if (!row->source_count) return;
    int64_t at = 0;
    for (int64_t h = 0; h < row->width; h++)
        if (fabs(heaviest->output[h]) > fabs(heaviest->output[at])) at = h;
    memcpy(j->planted, row->reference, (size_t)row->width * sizeof *j->planted);
    j->planted[at] = emit(row, row->centre[at] + 0.01 * heaviest->weight * heaviest->output[at]);
    tally_add(&j->plant[PLANT_ROW_SCALE], row, j->planted);
}

/* Gate and up exchanged, recomputed for the first judged token only: a third of a forward. */
static void plant_swap(judge *j, int64_t token, const row_view *row)
{
    engine *const e = &j->bound.block->engine;
    const int64_t hidden = j->layer->info.hidden;
    if (j->swap_done || !row->source_count) return;
    j->swap_done = true;
    memset(j->planted, 0, (size_t)hidden * sizeof *j->planted);
    for (int i = 0; i < row->source_count; i++) {
        const row_source *const source = &row->sources[i];
        const double *const y = experts_swapped(e, source->slot, token);
        const double scale = j->layer->recipe.row_scale == FP8MOE_ROW_SCALE_ROUTER ? e->chunk.act_scale[source->slot] : 1;
        for (int64_t h = 0; h < hidden; h++) j->planted[h] += source->weight * scale * y[h];
    }
    for (int64_t h = 0; h < hidden; h++) j->planted[h] = emit(row, j->planted[h]);
    tally_add(&j->plant[PLANT_SWAP], row, j->planted);
}

/* ---- one row ---- */

static void note_first_impossible(judge *j, const row_view *row)
{
    fp8moe_judgement *const out = j->out;
    for (int64_t h = 0; h < row->width && out->impossible_row < 0; h++) {
        if (tally_element(row, h, j->row[h]) != ELEMENT_IMPOSSIBLE) continue;
        out->impossible_row = row->token;
        out->impossible_column = h;
        out->impossible_low = row->low[h];
        out->impossible_high = row->high[h];
        out->impossible_got = j->row[h];
    }
}

/* Elements whose output grid cannot tell 1 % from nothing. */
static int64_t count_unresolved(const row_view *row)
{
    int64_t count = 0;
    for (int64_t h = 0; h < row->width; h++)
        count += row->reference[h] != 0 && emit(row, row->centre[h] * 1.01) == row->reference[h];
    return count;
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

static void take_flips(judge *j, const explanation *found)
{
    fp8moe_judgement *const out = j->out;
    for (int i = 0; i < found->count; i++) {
        if (out->flip_count < FP8MOE_FLIPS_KEPT) out->flip[out->flip_count++] = found->flip[i];
        out->flips++;
    }
}

static void count_elements(const row_view *row, const double *got, int64_t counts[ELEMENT_CLASSES])
{
    memset(counts, 0, ELEMENT_CLASSES * sizeof *counts);
    for (int64_t h = 0; h < row->width; h++) counts[tally_element(row, h, got[h])]++;
}

/* Everything about a row but the search that explains it. */
static void judge_elements(judge *j, const row_view *row, int64_t counts[ELEMENT_CLASSES], bool explained)
{
    fp8moe_judgement *const out = j->out;
    const int64_t open = counts[ELEMENT_POSSIBLE] + counts[ELEMENT_IMPOSSIBLE];
    out->classes.explained += explained ? open : 0;
    out->rows_explained += explained;
    out->rows_identical += !open && !counts[ELEMENT_EXPECTED] && !counts[ELEMENT_NONFINITE];
    out->rows_noise += open && !explained;
    if (explained) {
        /* The row's elements are accounted for: its residual belongs to the flips. */
        for (int c = 0; c <= ELEMENT_EXPECTED; c++) j->tally.classes[c] += counts[c];
    } else {
        tally_add(&j->tally, row, j->row);
        note_first_impossible(j, row);
    }
    out->detection.unresolved += (double)count_unresolved(row);
    j->widths[j->judged++] = relative_width(row);
    plant_gains(j, row);
}

static fp8moe_status judge_row(judge *j, int64_t token, fp8moe_error *err)
{
    row_view row = view_of(j, token);
    int64_t counts[ELEMENT_CLASSES];
    explanation found = {0};
    row.source_count = find_sources(j, token);
    fp8moe_tensor_read_f64(&j->got, row.token * row.width, row.width, j->row);
    count_elements(&row, j->row, counts);
    const int64_t open = counts[ELEMENT_POSSIBLE] + counts[ELEMENT_IMPOSSIBLE];
    if (open && !counts[ELEMENT_NONFINITE] && row.source_count) {
        for (int i = 0; i < row.source_count; i++) j->out->near_ties += j->bound.noise[row.sources[i].slot].near_ties;
        TRY(explain_row(&j->bound, token, &row, j->row, j->options->flips_per_row, &found, err));
    }
    take_flips(j, &found);
    judge_elements(j, &row, counts, found.explained);
    plant_experts(j, &row);
    plant_row_scale(j, &row);
    plant_swap(j, token, &row);
    return FP8MOE_OK;
}

static fp8moe_status judge_block(void *user, moe_block *block, fp8moe_error *err)
{
    judge *const j = user;
    const chunk *const c = &block->engine.chunk;
    for (int64_t t = 0; t < c->tokens; t++) j->skip[t] = is_skipped(j, c->first + t, j->planted);
    bound_block(&j->bound, block, j->skip);
    for (int64_t t = 0; t < c->tokens; t++)
        if (!j->skip[t]) TRY(judge_row(j, t, err));
    return FP8MOE_OK;
}

/* A linear has no near-ties but its own dots. */
static fp8moe_status judge_linear_block(void *user, const linear_block *block, fp8moe_error *err)
{
    judge *const j = user;
    linear_bound bounds;
    int64_t counts[ELEMENT_CLASSES];
    fp8moe_status status = FP8MOE_OK;
    for (int64_t t = 0; t < block->tokens && status == FP8MOE_OK; t++) {
        if (is_skipped(j, block->first + t, j->planted)) continue;
        status = linear_bound_open(&bounds, j->layer, block, t, &j->bound.slack, err);
        if (status != FP8MOE_OK) break;
        const int64_t width = j->got.shape[1];
        const row_view row = {.token = block->first + t, .width = width, .reference = block->rows + t * width,
                              .centre = bounds.centre, .low = bounds.low, .high = bounds.high,
                              .near_low = bounds.near_low, .near_high = bounds.near_high,
                              .variance = bounds.variance, .dtype = layer_output_precision(j->layer)};
        fp8moe_tensor_read_f64(&j->got, row.token * width, width, j->row);
        count_elements(&row, j->row, counts);
        judge_elements(j, &row, counts, false);
        linear_bound_close(&bounds);
    }
    return status;
}

/* ---- verdict ---- */

static double smallest_gain(const judge *j, int first)
{
    for (int g = 0; g < GAINS; g++)
        if (tally_fails(&j->plant[first + g])) return gains[g];
    return INFINITY;
}

static void conclude_detection(judge *j)
{
    fp8moe_detection *const d = &j->out->detection;
    const fp8moe_classes *const c = &j->out->classes;
    const int64_t counted = c->identical + c->expected + c->explained + c->possible + c->impossible;
    d->gain_up = smallest_gain(j, PLANT_GAIN_UP);
    d->gain_down = smallest_gain(j, PLANT_GAIN_DOWN);
    d->dropped_expert = tally_fails(&j->plant[PLANT_DROP]);
    d->wrong_expert = tally_fails(&j->plant[PLANT_WRONG_EXPERT]);
    d->row_scale = tally_fails(&j->plant[PLANT_ROW_SCALE]);
    d->swapped_gate_up = tally_fails(&j->plant[PLANT_SWAP]);
    d->unresolved = counted ? d->unresolved / (double)counted : 1;
    d->sufficient = d->gain_up <= 0.02 && d->gain_down <= 0.02 &&
                    (d->dropped_expert || j->layer->recipe.op == FP8MOE_OP_LINEAR);
}

static void conclude_classes(judge *j)
{
    fp8moe_classes *const c = &j->out->classes;
    c->padding = j->tally.classes[ELEMENT_PADDING];
    c->identical = j->tally.classes[ELEMENT_IDENTICAL];
    c->expected = j->tally.classes[ELEMENT_EXPECTED];
    c->possible = j->tally.classes[ELEMENT_POSSIBLE];
    c->impossible = j->tally.classes[ELEMENT_IMPOSSIBLE];
    c->nonfinite = j->tally.classes[ELEMENT_NONFINITE];
}

/* Flips found against the number the near-ties' probabilities give. */
static void add_flip_statistic(judge *j)
{
    fp8moe_judgement *const out = j->out;
    const double limit = j->expected_flips + SIGMAS_FLIPS * sqrt(j->expected_flips) + SIGMAS_FLIPS;
    if (!out->flips) return;
    out->statistics[out->statistic_count++] =
        (fp8moe_statistic){.name = "flips", .seen = (double)out->flips, .limit = limit, .token = -1, .index = -1,
                           .outside = (double)out->flips > limit};
}

static const fp8moe_statistic *first_outside(const fp8moe_judgement *out)
{
    for (int i = 0; i < out->statistic_count; i++)
        if (out->statistics[i].outside) return &out->statistics[i];
    return NULL;
}

static fp8moe_kind kind_of(const judge *j)
{
    if (j->out->classes.nonfinite) return FP8MOE_KIND_NONFINITE;
    return tally_is_unstructured(&j->tally) ? FP8MOE_KIND_ROUNDING : FP8MOE_KIND_STRUCTURED;
}

/* A row that reproduces a capture or a golden file, or is a definition, leaves nothing open. */
static bool is_settled(const fp8moe_recipe *recipe)
{
    return recipe->evidence == FP8MOE_EVIDENCE_MEASURED || recipe->evidence == FP8MOE_EVIDENCE_FIXTURE ||
           recipe->evidence == FP8MOE_EVIDENCE_DEFINITION;
}

#define REASON(...) (void)snprintf(out->reason, sizeof out->reason, __VA_ARGS__)

static void explain_difference(const judge *j, const fp8moe_statistic *statistic)
{
    fp8moe_judgement *const out = j->out;
    const fp8moe_classes *const c = &out->classes;
    if (c->nonfinite)
        REASON("%lld elements are NaN or Inf on one side only", (long long)c->nonfinite);
    else if (c->impossible)
        REASON("%lld elements lie outside what any rounding of recipe %s gives, the first at token %lld column %lld",
               (long long)c->impossible, out->recipe.name, (long long)out->impossible_row, (long long)out->impossible_column);
    else if (statistic)
        REASON("every element is possible, but %s is %.3g where noise gives at most %.3g", statistic->name,
               statistic->seen, statistic->limit);
}

static void conclude_failure(judge *j)
{
    fp8moe_judgement *const out = j->out;
    out->kind = kind_of(j);
    out->verdict = FP8MOE_VERDICT_DIFFERENT;
    explain_difference(j, first_outside(out));
    if (out->kind != FP8MOE_KIND_ROUNDING || is_settled(&out->recipe)) return;
    out->verdict = FP8MOE_VERDICT_INCONCLUSIVE;
    REASON("the difference is of rounding kind (unstructured, rel-L2 %.2g) and recipe %s is not measured on this device",
           out->statistics[0].seen, out->recipe.name);
}

static void conclude_pass(judge *j)
{
    fp8moe_judgement *const out = j->out;
    const fp8moe_detection *const d = &out->detection;
    out->verdict = d->sufficient ? FP8MOE_VERDICT_SAME : FP8MOE_VERDICT_INCONCLUSIVE;
    if (!d->sufficient)
        REASON("nothing is wrong, but this check could not have seen %s",
               d->gain_up > 0.02 || d->gain_down > 0.02 ? "a 2 % gain error" : "a dropped expert");
    else if (out->rows_noise)
        REASON("%lld rows differ as the device's own noise would: no impossible element, statistics within their spread",
               (long long)out->rows_noise);
    else if (out->rows_explained)
        REASON("every row is identical, expected or explained by %lld flips", (long long)out->flips);
    else
        REASON("every row is identical%s", out->classes.expected ? " or within the expected radius of its dots" : "");
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void conclude(judge *j)
{
    fp8moe_judgement *const out = j->out;
    conclude_classes(j);
    out->statistic_count = tally_statistics(&j->tally, out->statistics);
    add_flip_statistic(j);
    conclude_detection(j);
    qsort(j->widths, (size_t)j->judged, sizeof *j->widths, compare_doubles);
    out->median_width = j->judged ? j->widths[j->judged / 2] : 0;
    const fp8moe_classes *const c = &out->classes;
    if (tally_fails(&j->tally) || first_outside(out)) conclude_failure(j);
    else if (c->identical + c->expected + c->explained + c->possible) conclude_pass(j);
    else {
        out->verdict = FP8MOE_VERDICT_INCONCLUSIVE;
        REASON("nothing to judge: no element is anything but padding");
    }
}

/* ---- running ---- */

static fp8moe_status open_judge(judge *j, const fp8moe_tensor *got, fp8moe_error *err)
{
    const fp8moe_layer *const layer = j->layer;
    const bool linear = layer->recipe.op == FP8MOE_OP_LINEAR;
    const int64_t tokens = layer->info.tokens, width = linear ? layer->linear.rows : layer->info.hidden;
    const fp8moe_target *const t = layer->target;
    const double scale = j->options->slack_scale;
    const int64_t capacity = linear ? 0 : engine_capacity(layer, tokens, bound_bytes_per_token(layer));
    char shape[96];
    TRY(fp8moe_tensor_as_rows(got, &j->got, err));
    if (j->got.shape[0] != tokens || j->got.shape[1] != width)
        return fail(err, FP8MOE_ERR_SHAPE, "output %s: expected [%lld, %lld]",
                    fp8moe_tensor_shape_text(got, shape, sizeof shape), (long long)tokens, (long long)width);
    if (!fp8moe_dtype_is_numeric(got->dtype))
        return fail(err, FP8MOE_ERR_DTYPE, "an output of dtype %s cannot be judged", fp8moe_dtype_name(got->dtype));
    const device_slack slack = {.dot = t->dot_slack * scale, .worst_case = j->options->worst_case,
                                .expected = EXPECTED_SLACK * scale,
                                .silu = scale < 1 ? 0 : t->silu_slack, .silu_rate = t->silu_slack_rate};
    TRY(bound_open(&j->bound, layer, capacity, slack, err));
    TRY(tally_open(&j->tally, width, err));
    for (int p = 0; p < PLANTS; p++) TRY(tally_open(&j->plant[p], width, err));
    const int64_t wide = max_i64(width, layer->info.hidden);
    j->row = calloc((size_t)wide + 1, 2 * sizeof *j->row);
    j->sources = calloc((size_t)layer->info.top_k + 1, sizeof *j->sources);
    j->skip = calloc((size_t)capacity + 1, sizeof *j->skip);
    j->seen = calloc((size_t)tokens + 1, sizeof *j->seen);
    j->widths = calloc((size_t)tokens + 1, sizeof *j->widths);
    if (!j->row || !j->sources || !j->skip || !j->seen || !j->widths)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for judging %lld rows", (long long)tokens);
    j->planted = j->row + wide;
    return FP8MOE_OK;
}

static void close_judge(judge *j)
{
    bound_close(&j->bound);
    tally_close(&j->tally);
    for (int p = 0; p < PLANTS; p++) tally_close(&j->plant[p]);
    free(j->row);
    free(j->sources);
    free(j->skip);
    free(j->seen);
    free(j->widths);
}

static fp8moe_status run_judged(judge *j, const fp8moe_observer *observer, double *output, fp8moe_error *err)
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
    *options = (fp8moe_judge_options){.slack_scale = 1, .flips_per_row = 4, .first_row = -1, .last_row = -1, .try_axes = true};
}

fp8moe_status fp8moe_layer_judge(fp8moe_layer *layer, const fp8moe_tensor *got, const fp8moe_judge_options *options,
                                 const fp8moe_observer *observer, double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    judge *const j = calloc(1, sizeof *j);
    if (!j) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a judgement");
    *j = (judge){.layer = layer, .options = options, .out = out};
    *out = (fp8moe_judgement){.recipe = layer->recipe, .impossible_row = -1, .impossible_column = -1,
                              .dot_slack = layer->target->dot_slack * options->slack_scale,
                              .silu_slack = layer->target->silu_slack, .silu_slack_rate = layer->target->silu_slack_rate};
    fp8moe_status status = open_judge(j, got, err);
    if (status == FP8MOE_OK) status = run_judged(j, observer, output, err);
    if (status == FP8MOE_OK) conclude(j);
    close_judge(j);
    free(j);
    return status;
}

/* ---- open axes ---- */

typedef struct attempt {
    const fp8moe_config *config;
    const fp8moe_inputs *inputs;
    const fp8moe_tensor *got;
    const fp8moe_judge_options *options;
    double *output;
} attempt;

static fp8moe_status judge_as(const attempt *a, const fp8moe_recipe *recipe, fp8moe_judgement *out, fp8moe_error *err)
{
    fp8moe_config config = *a->config;
    fp8moe_layer *layer;
    config.recipe = recipe;
    TRY(fp8moe_layer_open(&config, a->inputs, &layer, err));
    fp8moe_status status = FP8MOE_OK;
    for (int stage = 0; stage < FP8MOE_STAGE_OUTPUT && status == FP8MOE_OK; stage++)
        if (fp8moe_tensor_present(&a->options->from[stage]))
            status = fp8moe_layer_from(layer, (fp8moe_stage)stage, &a->options->from[stage], err);
    if (status == FP8MOE_OK) status = fp8moe_layer_judge(layer, a->got, a->options, NULL, a->output, out, err);
    fp8moe_layer_close(layer);
    return status;
}

/* One axis (second == first) or two. */
static fp8moe_status try_axes(const attempt *a, int first, int second, fp8moe_judgement *out, fp8moe_error *err)
{
    const fp8moe_axis *const axes = a->config->recipe->axes;
    fp8moe_recipe recipe = *a->config->recipe;
    TRY(fp8moe_recipe_apply(&recipe, axes[first].settings, err));
    if (second != first) TRY(fp8moe_recipe_apply(&recipe, axes[second].settings, err));
    TRY(judge_as(a, &recipe, out, err));
    (void)snprintf(out->axis, sizeof out->axis, "%s%s%s", axes[first].name, second != first ? ", " : "",
                   second != first ? axes[second].name : "");
    return FP8MOE_OK;
}

/* The first axis, then the first pair, under which the output is the same; else *out stays. */
static fp8moe_status search_axes(const attempt *a, fp8moe_judgement *out, fp8moe_error *err)
{
    int count = 0;
    while (count < FP8MOE_MAX_AXES && a->config->recipe->axes[count].name) count++;
    fp8moe_judgement *const other = malloc(sizeof *other);
    if (!other) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a judgement");
    fp8moe_status status = FP8MOE_OK;
    bool found = false;
    for (int gap = 0; gap < count && !found; gap++)
        for (int i = 0; i + gap < count && !found && status == FP8MOE_OK; i++) {
            status = try_axes(a, i, i + gap, other, err);
            found = status == FP8MOE_OK && other->verdict == FP8MOE_VERDICT_SAME;
        }
    if (found) *out = *other;
    else if (status == FP8MOE_OK && a->output) status = judge_as(a, a->config->recipe, other, err); /* its output again */
    free(other);
    return status;
}

fp8moe_status fp8moe_judge(const fp8moe_config *config, const fp8moe_inputs *inputs, const fp8moe_tensor *got,
                           const fp8moe_judge_options *options, double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    const attempt a = {config, inputs, got, options, output};
    TRY(judge_as(&a, config->recipe, out, err));
    const bool failed = out->kind == FP8MOE_KIND_ROUNDING || out->kind == FP8MOE_KIND_STRUCTURED;
    return failed && options->try_axes ? search_axes(&a, out, err) : FP8MOE_OK;
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

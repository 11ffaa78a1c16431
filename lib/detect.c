#include "detect.h"

#include "bits.h"
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a pass must be able to see: a gain error of this size, and a dropped expert. */
#define REQUIRED_GAIN 0.02

static const double gains[DETECT_GAINS] = {0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.25};

fp8moe_status detect_open(detector *d, int64_t width, fp8moe_error *err)
{
    *d = (detector){0};
    for (int p = 0; p < PLANTS; p++)
        TRY(tally_open(&d->plant[p], width, err));
    d->planted = calloc((size_t)width + 1, sizeof *d->planted);
    return d->planted
               ? FP8MOE_OK
               : fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld columns", (long long)width);
}

void detect_close(detector *d)
{
    for (int p = 0; p < PLANTS; p++)
        tally_close(&d->plant[p]);
    free(d->planted);
}

static double emit(const row_view *row, double value)
{
    return round_to(row->dtype, value);
}

static void plant_gains(detector *d, const row_view *row)
{
    for (int g = 0; g < DETECT_GAINS; g++)
        for (int up = 0; up < 2; up++) {
            const double factor = up ? 1 + gains[g] : 1 - gains[g];
            for (int64_t h = 0; h < row->width; h++)
                d->planted[h] = emit(row, row->centre[h] * factor);
            tally_add(&d->plant[(up ? PLANT_GAIN_UP : PLANT_GAIN_DOWN) + g], row, d->planted);
        }
}

/* Elements whose output grid cannot tell 1 % from nothing. */
static void count_unresolved(detector *d, const row_view *row)
{
    for (int64_t h = 0; h < row->width; h++) {
        if (row->low[h] == 0 && row->high[h] == 0) continue;
        d->elements++;
        d->unresolved +=
            row->reference[h] != 0 && emit(row, row->centre[h] * 1.01) == row->reference[h];
    }
}

static const row_source *weakest_source(const row_view *row)
{
    const row_source *weakest = row->sources;
    for (int i = 1; i < row->source_count; i++)
        if (fabs(row->sources[i].weight) < fabs(weakest->weight)) weakest = &row->sources[i];
    return weakest;
}

/* The smallest router weight among a source and its twins. */
static double single_weight(const bound *b, const row_source *source)
{
    const moe_block *const block = b->block;
    const int64_t top_k = block->engine.layer->info.top_k,
                  first = source->slot - source->slot % top_k;
    double weight = source->weight;
    for (int64_t k = first; k < first + top_k; k++)
        if (block->engine.chunk.local[k] >= 0 &&
            experts_source(&block->engine, k) == source->slot &&
            fabs(block->router_weight[k]) < fabs(weight))
            weight = block->router_weight[k];
    return weight;
}

/* The weakest expert left out; or another routed one's output in its place. Twins: one of them. */
static void plant_experts(detector *d, const bound *b, const row_view *row)
{
    const row_source *const weakest = weakest_source(row);
    const row_source *const other =
        &row->sources[weakest == row->sources ? row->source_count - 1 : 0];
    const double weight = single_weight(b, weakest);
    for (int64_t h = 0; h < row->width; h++)
        d->planted[h] = emit(row, row->centre[h] - weight * weakest->output[h]);
    tally_add(&d->plant[PLANT_DROP], row, d->planted);
    for (int64_t h = 0; h < row->width; h++)
        d->planted[h] =
            emit(row, row->centre[h] + weight * (other->output[h] - weakest->output[h]));
    tally_add(&d->plant[PLANT_WRONG_EXPERT], row, d->planted);
}

static void plant_row_scale(detector *d, const row_view *row)
{
    const row_source *heaviest = row->sources;
    int64_t at = 0;
    for (int i = 1; i < row->source_count; i++)
        if (fabs(row->sources[i].weight) > fabs(heaviest->weight)) heaviest = &row->sources[i];
    for (int64_t h = 0; h < row->width; h++)
        if (fabs(heaviest->output[h]) > fabs(heaviest->output[at])) at = h;
    memcpy(d->planted, row->reference, (size_t)row->width * sizeof *d->planted);
    d->planted[at] = emit(row, row->centre[at] + 0.01 * heaviest->weight * heaviest->output[at]);
    tally_add(&d->plant[PLANT_ROW_SCALE], row, d->planted);
}

/* Gate and up exchanged, recomputed for the first row only: a third of a forward. */
static void plant_swap(detector *d, bound *b, int64_t token, const row_view *row)
{
    engine *const e = &b->block->engine;
    const bool by_router = e->layer->recipe.row_scale == FP8MOE_ROW_SCALE_ROUTER;
    if (d->swap_done) return;
    d->swap_done = true;
    memset(d->planted, 0, (size_t)row->width * sizeof *d->planted);
    for (int i = 0; i < row->source_count; i++) {
        const row_source *const source = &row->sources[i];
        const double *const y = experts_swapped(e, source->slot, token);
        const double scale = by_router ? e->chunk.act_scale[source->slot] : 1;
        for (int64_t h = 0; h < row->width; h++)
            d->planted[h] += source->weight * scale * y[h];
    }
    for (int64_t h = 0; h < row->width; h++)
        d->planted[h] = emit(row, d->planted[h]);
    tally_add(&d->plant[PLANT_SWAP], row, d->planted);
}

void detect_row(detector *d, bound *b, int64_t token, const row_view *row)
{
    plant_gains(d, row);
    count_unresolved(d, row);
    if (!b || !row->source_count) return;
    plant_experts(d, b, row);
    plant_row_scale(d, row);
    plant_swap(d, b, token, row);
}

/* A gain counts as visible where a statistic tells, or this many elements are impossible, or half
 * of a small output: of one or two, another rounding on the way would leave none. */
#define SURELY 8

static bool is_seen(const tally *t)
{
    int64_t judged = 0;
    for (int c = ELEMENT_IDENTICAL; c < ELEMENT_CLASSES; c++)
        judged += t->classes[c];
    const int64_t impossible = t->classes[ELEMENT_IMPOSSIBLE];
    return tally_is_outside(t) || impossible >= SURELY || (impossible && 2 * impossible >= judged);
}

static double smallest_gain(const detector *d, int first)
{
    for (int g = 0; g < DETECT_GAINS; g++)
        if (is_seen(&d->plant[first + g])) return gains[g];
    return INFINITY;
}

void detect_conclude(const detector *d, bool linear, fp8moe_detection *out)
{
    out->gain_up = smallest_gain(d, PLANT_GAIN_UP);
    out->gain_down = smallest_gain(d, PLANT_GAIN_DOWN);
    out->dropped_expert = tally_fails(&d->plant[PLANT_DROP]);
    out->wrong_expert = tally_fails(&d->plant[PLANT_WRONG_EXPERT]);
    out->row_scale = tally_fails(&d->plant[PLANT_ROW_SCALE]);
    out->swapped_gate_up = tally_fails(&d->plant[PLANT_SWAP]);
    out->unresolved = d->elements > 0 ? d->unresolved / d->elements : 1;
    out->sufficient = out->gain_up <= REQUIRED_GAIN && out->gain_down <= REQUIRED_GAIN &&
                      (out->dropped_expert || linear);
}

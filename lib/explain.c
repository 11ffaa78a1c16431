#include "explain.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "parallel.h"
#include "quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Row scales next to the reference: one below, one above. */
#define NEIGHBOURS 2

/* One source slot of the token, and how each of its operands moves the row. */
typedef struct source {
    int64_t slot;
    double weight;                 /* of all its twins */
    int reference;                 /* of its row_scales, before the search */
    double *projection;            /* [I] sum over h of residual * effect */
    double *energy;                /* [I] sum over h of effect^2 */
    double *spread;                /* [I] sum over h of (residual * effect)^2 */
    double *rescaled[NEIGHBOURS];  /* [I] change of the operand under the next scale */
    double scale_gain[NEIGHBOURS]; /* how much smaller the residual's energy becomes by it */
    double *weights, *low;         /* [I] scratch for one weight row */
    uint8_t *codes;                /* [I] */
} source;

/* Elements still open from which candidates are picked directly, where there are few. */
#define PINS 8
/* Candidates picked that way that are tried whole. */
#define TRIALS 16
/* Elements from which the effect of a flip is estimated, half of them open ones, where the row has
 * more. */
#define SAMPLES 512

/* Median of the magnitude of a normal deviate. */
#define MEDIAN_OF_NORMAL 0.6745

/* An element that stands for `share` of its kind. */
typedef struct sample {
    int64_t h;
    double share;
} sample;

typedef struct search {
    bound *bound;
    int64_t token;
    const row_view *row;
    const double *got;
    double *centre;    /* [H] the sum now, before its last rounding */
    double *residual;  /* [H] got - row now, 0 where identical */
    int64_t open;      /* elements with a residual */
    int64_t pin[PINS]; /* the first of them */
    sample sample[SAMPLES];
    int samples;
    double *arrays;
    source *sources;
    int count;
    /* what the search changes, to be put back */
    uint8_t *codes;
    double *activation, *scale, *output, *rows;
} search;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const fp8moe_layer *layer_of(const search *s)
{
    return s->bound->block->engine.layer;
}

/* ---- state of the token's slots ---- */

static void copy_bytes(void *saved, void *live, size_t size, bool restore)
{
    memcpy(restore ? live : saved, restore ? saved : live, size);
}

/* Save what the search changes, or put it back. */
static void keep_state(search *s, bool restore)
{
    chunk *const c = &s->bound->block->engine.chunk;
    const size_t k = (size_t)layer_of(s)->info.top_k,
                 inter = (size_t)layer_of(s)->info.intermediate;
    const size_t hidden = (size_t)layer_of(s)->info.hidden, token = (size_t)s->token;
    copy_bytes(s->codes, c->act_codes + token * k * inter, k * inter, restore);
    copy_bytes(s->activation, c->activation + token * k * inter, k * inter * sizeof(double),
               restore);
    copy_bytes(s->scale, c->act_scale + token * k, k * sizeof(double), restore);
    copy_bytes(s->output, c->expert_output + token * k * hidden, k * hidden * sizeof(double),
               restore);
    copy_bytes(s->rows, s->bound->block->rows + token * hidden, hidden * sizeof(double), restore);
    for (int i = 0; restore && i < s->count; i++)
        s->bound->scales[s->sources[i].slot].reference = s->sources[i].reference;
}

static fp8moe_status open_search(search *s, fp8moe_error *err)
{
    const fp8moe_layer *const layer = layer_of(s);
    const size_t k = (size_t)layer->info.top_k, inter = (size_t)layer->info.intermediate;
    const size_t hidden = (size_t)layer->info.hidden;
    const size_t row = 5 + NEIGHBOURS; /* arrays of [I] a source has, codes left out */
    const size_t doubles = 3 * hidden + k * (inter + 1 + hidden + row * inter + inter / 8 + 1);
    s->arrays = calloc(doubles, sizeof *s->arrays);
    s->sources = calloc(k, sizeof *s->sources);
    s->codes = calloc(k, inter);
    if (!s->arrays || !s->sources || !s->codes)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the search of a row");
    double *at = s->arrays;
    s->residual = at, at += hidden;
    s->centre = at, at += hidden;
    s->rows = at, at += hidden;
    s->activation = at, at += k * inter;
    s->scale = at, at += k;
    s->output = at, at += k * hidden;
    for (size_t i = 0; i < k; i++) {
        source *const from = &s->sources[i];
        double **const rows[] = {&from->projection, &from->energy, &from->spread,
                                 &from->weights,    &from->low,    &from->rescaled[0],
                                 &from->rescaled[1]};
        for (size_t n = 0; n < row; n++, at += inter)
            *rows[n] = at;
        from->codes = (uint8_t *)at, at += inter / 8 + 1;
    }
    keep_state(s, false);
    return FP8MOE_OK;
}

static void close_search(search *s)
{
    free(s->arrays);
    free(s->sources);
    free(s->codes);
}

static void find_sources(search *s)
{
    for (int i = 0; i < s->row->source_count; i++, s->count++) {
        s->sources[i].slot = s->row->sources[i].slot;
        s->sources[i].weight = s->row->sources[i].weight;
        s->sources[i].reference = s->bound->scales[s->sources[i].slot].reference;
    }
}

/* ---- residual ---- */

/* Identical now, or untouched by the flips and expected. */
static bool is_identical(const search *s, int64_t h, double now)
{
    if (s->got[h] == now) return true;
    return now == s->row->reference[h] && tally_element(s->row, h, s->got[h]) <= ELEMENT_EXPECTED;
}

/* What is left may lie within the expected radius of its own dots: as wide as before the flips. */
static bool is_expected(const search *s, int64_t h)
{
    const double off = fabs(s->residual[h]);
    return off <= s->row->near_high[h] - s->row->near_low[h];
}

static bool all_expected(const search *s)
{
    for (int64_t h = 0; h < s->row->width; h++)
        if (!is_expected(s, h)) return false;
    return true;
}

/* Sum of squares of what is not identical; 0: explained. */
static double find_residual(search *s)
{
    moe_block *const block = s->bound->block;
    const double *const now = block->rows + s->token * s->row->width;
    const int64_t count = moe_contributions(block, s->token);
    double total = 0;
    combine_sum(&layer_of(s)->recipe, block->items, count, s->row->width, FP8MOE_ROUND_NONE,
                s->centre);
    s->open = 0;
    for (int64_t h = 0; h < s->row->width; h++) {
        s->residual[h] = is_identical(s, h, now[h]) ? 0 : s->got[h] - now[h];
        total += s->residual[h] * s->residual[h];
        if (s->residual[h] != 0 && s->open++ < PINS) s->pin[s->open - 1] = h;
    }
    return total;
}

/* Elements of one kind (open or not) that stand for all of it, evenly spread. */
static void take_samples(search *s, bool open, int64_t count, int room)
{
    const int64_t wanted = min_i64(count, room);
    int64_t met = 0, taken = 0;
    for (int64_t h = 0; h < s->row->width && taken < wanted; h++) {
        if ((s->residual[h] != 0) != open) continue;
        if (met++ * wanted < taken * count) continue;
        s->sample[s->samples++] = (sample){h, (double)count / (double)wanted};
        taken++;
    }
}

static void find_samples(search *s)
{
    const int64_t closed = s->row->width - s->open;
    const int64_t half = SAMPLES / 2;
    s->samples = 0;
    take_samples(s, true, s->open, (int)max_i64(half, SAMPLES - closed));
    take_samples(s, false, closed, SAMPLES - s->samples);
}

static void rescale_changes(const search *s, source *from);

/* Effects of one source's operands on the sampled elements: projected on the residual, and squared.
 */
static void project_source(search *s, source *from)
{
    const engine *const e = &s->bound->block->engine;
    const expert *const own = layer_expert(e->layer, e->chunk.local[from->slot]);
    const int64_t inter = layer_of(s)->info.intermediate;
    memset(from->projection, 0, (size_t)inter * sizeof(double));
    memset(from->energy, 0, (size_t)inter * sizeof(double));
    memset(from->spread, 0, (size_t)inter * sizeof(double));
    rescale_changes(s, from);
    for (int n = 0; n < s->samples; n++) {
        const int64_t h = s->sample[n].h;
        const double scale = experts_down_row(e, own, h, from->weights, from->low, from->codes);
        const double unit = bound_unit(s->bound, from->slot, scale) * from->weight,
                     share = s->sample[n].share;
        const double along = share * s->residual[h] * unit, square = share * unit * unit;
        double *const w = from->weights, *const projection = from->projection,
                      *const energy = from->energy, *const spread = from->spread;
        double moved[NEIGHBOURS] = {0};
        for (int64_t i = 0; i < inter; i++) {
            projection[i] += along * w[i];
            energy[i] += square * w[i] * w[i];
            spread[i] += along * along * w[i] * w[i];
            moved[0] += w[i] * from->rescaled[0][i];
            moved[1] += w[i] * from->rescaled[1][i];
        }
        for (int c = 0; c < NEIGHBOURS; c++)
            from->scale_gain[c] += moved[c] * (2 * along - square * moved[c]);
    }
}

static void project_sources(void *context, int64_t first, int64_t last, int worker)
{
    search *const s = context;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        project_source(s, &s->sources[i]);
}

static void project(search *s)
{
    find_samples(s);
    parallel_for(layer_of(s)->config.threads, s->count, project_sources, s);
}

/* ---- moves ---- */

typedef struct move {
    const source *source;
    fp8moe_flip_kind kind;
    int64_t index;
    double value;  /* new product, or new scale */
    double gained; /* how much smaller the residual's energy becomes */
    double probability;
} move;

static void consider_products(const search *s, const source *from, move *best)
{
    const bound *const b = s->bound;
    const engine *const e = &b->block->engine;
    const int64_t inter = layer_of(s)->info.intermediate;
    near_tie ties[MAX_NEAR_TIES];
    for (int64_t i = 0; i < inter; i++) {
        const double now =
            bound_operand(b, from->slot, e->chunk.activation[from->slot * inter + i]);
        const int count = bound_near_ties(b, from->slot, i, ties);
        for (int t = 0; t < count; t++) {
            const double change = bound_operand(b, from->slot, ties[t].product) - now;
            const double gained = change * (2 * from->projection[i] - change * from->energy[i]);
            if (gained > best->gained)
                *best = (move){from, ties[t].kind, i, ties[t].product, gained, ties[t].probability};
        }
    }
}

/* Recompute a source's output after a change, its twins with it, and the token's row. */
static void recompute(search *s, int64_t slot)
{
    engine *const e = &s->bound->block->engine;
    const int64_t hidden = layer_of(s)->info.hidden, top_k = layer_of(s)->info.top_k;
    experts_down_slot(e, slot);
    for (int64_t k = s->token * top_k; k < (s->token + 1) * top_k; k++)
        if (k != slot && e->chunk.local[k] >= 0 && experts_source(e, k) == slot) {
            memcpy(e->chunk.expert_output + k * hidden, e->chunk.expert_output + slot * hidden,
                   (size_t)hidden * sizeof(double));
            e->chunk.act_scale[k] = e->chunk.act_scale[slot];
        }
    moe_combine(s->bound->block, s->token);
}

static void rescale(search *s, int64_t slot, double scale)
{
    const fp8moe_layer *const layer = layer_of(s);
    chunk *const c = &s->bound->block->engine.chunk;
    const int64_t inter = layer->info.intermediate;
    const fp8moe_precision steps =
        quant_steps(layer->target, layer->recipe.intermediate_cast, layer->recipe.product);
    const bool eager = layer->recipe.intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER;
    c->act_scale[slot] = scale;
    quant_codes(&layer->kernels, layer->target, steps, eager ? scale : round_to(steps, 1.0 / scale),
                c->activation + slot * inter, inter, c->act_codes + slot * inter);
}

/* The candidate `c` steps of NEIGHBOURS away from a source's scale, or -1. */
static int neighbour(const search *s, const source *from, int c)
{
    const row_scales *const r = &s->bound->scales[from->slot];
    const int at = r->reference + (c ? 1 : -1);
    return r->merged || at < 0 || at >= r->count ? -1 : at;
}

/* What the next scales do to the operands, in units of the one now: the row maximum moved a step.
 */
static void rescale_changes(const search *s, source *from)
{
    const bound *const b = s->bound;
    const chunk *const c = &b->block->engine.chunk;
    const row_scales *const r = &b->scales[from->slot];
    const int64_t inter = layer_of(s)->info.intermediate;
    for (int n = 0; n < NEIGHBOURS; n++) {
        const int candidate = neighbour(s, from, n);
        from->scale_gain[n] = 0;
        memset(from->rescaled[n], 0, (size_t)inter * sizeof(double));
        if (candidate < 0) continue;
        const double unit = r->scale[candidate] / r->scale[r->reference];
        for (int64_t i = 0; i < inter; i++) {
            const double product = c->activation[from->slot * inter + i];
            from->rescaled[n][i] = bound_operand_at(b, from->slot, candidate, product) * unit -
                                   bound_operand(b, from->slot, product);
        }
    }
}

static void consider_scales(const search *s, const source *from, move *best)
{
    for (int n = 0; n < NEIGHBOURS; n++) {
        const int candidate = neighbour(s, from, n);
        if (candidate >= 0 && from->scale_gain[n] > best->gained)
            *best = (move){from,
                           FP8MOE_FLIP_SCALE,
                           -1,
                           s->bound->scales[from->slot].scale[candidate],
                           from->scale_gain[n],
                           0};
    }
}

static void apply(search *s, const move *m, fp8moe_flip *out)
{
    const fp8moe_layer *const layer = layer_of(s);
    bound *const b = s->bound;
    chunk *const c = &b->block->engine.chunk;
    const int64_t slot = m->source->slot;
    *out = (fp8moe_flip){.kind = m->kind,
                         .token = c->first + s->token,
                         .slot = slot % layer->info.top_k,
                         .index = m->index,
                         .expert = c->local[slot]};
    if (m->kind == FP8MOE_FLIP_SCALE) {
        row_scales *const r = &b->scales[slot];
        out->from = c->act_scale[slot];
        out->to = m->value;
        while (r->scale[r->reference] != m->value)
            r->reference = (r->reference + 1) % r->count;
        rescale(s, slot, m->value);
    } else {
        const int64_t at = slot * layer->info.intermediate + m->index;
        const bool kept = layer->recipe.intermediate == FP8MOE_INTERMEDIATE_KEPT;
        const double unit = kept ? 1 : c->act_scale[slot];
        out->from = bound_operand(b, slot, c->activation[at]) * unit;
        c->activation[at] = m->value;
        if (!kept) c->act_codes[at] = e4m3_encode(layer->target, bound_operand(b, slot, m->value));
        out->to = bound_operand(b, slot, m->value) * unit;
    }
    recompute(s, slot);
}

/* ---- few open elements: their residual is a rounding, not a size ---- */

/* What the change of one operand must add to element h before its roundings give the dumped value:
 * between the ends of the dumped value's rounding cell, seen from where the sum is now; the
 * expert's own output, and where the recipe says so each weighted slot, are rounded too, which may
 * add up to one of their steps. */
static interval wanted_shift(const search *s, const source *from, int64_t h)
{
    const fp8moe_layer *const layer = layer_of(s);
    const double y =
        s->bound->block->engine.chunk.expert_output[from->slot * layer->info.hidden + h];
    const double wide = interval_spacing(s->row->dtype, s->got[h]) / 2 +
                        fabs(from->weight) * interval_spacing(layer->recipe.down_out, y) +
                        2 * interval_spacing(layer->recipe.slot_round, from->weight * y);
    return (interval){s->got[h] - wide - s->centre[h], s->got[h] + wide - s->centre[h]};
}

/* Effect per unit of operand of each product of a source on the pinned elements: [open, I]. */
static void pin_effects(search *s, const source *from, double *effects)
{
    engine *const e = &s->bound->block->engine;
    const int64_t inter = layer_of(s)->info.intermediate;
    for (int64_t p = 0; p < s->open; p++) {
        double *const row = effects + p * inter;
        const double scale = experts_down_row(e, layer_expert(e->layer, e->chunk.local[from->slot]),
                                              s->pin[p], row, from->low, from->codes);
        const double unit = bound_unit(s->bound, from->slot, scale) * from->weight;
        for (int64_t i = 0; i < inter; i++)
            row[i] *= unit;
    }
}

static bool shifts_all(const search *s, const source *from, const double *effects, int64_t i,
                       double change)
{
    const int64_t inter = layer_of(s)->info.intermediate;
    for (int64_t p = 0; p < s->open; p++) {
        const interval want = wanted_shift(s, from, s->pin[p]);
        const double shift = effects[p * inter + i] * change;
        if (shift < want.low || shift > want.high || shift * s->residual[s->pin[p]] <= 0)
            return false;
    }
    return true;
}

static void keep_trial(move *trials, int *count, move m)
{
    int at = *count < TRIALS ? (*count)++ : TRIALS;
    for (; at > 0 && trials[at - 1].probability < m.probability; at--)
        if (at < TRIALS) trials[at] = trials[at - 1];
    if (at < TRIALS) trials[at] = m;
}

static void collect_trials(search *s, const source *from, double *effects, move *trials, int *count)
{
    const bound *const b = s->bound;
    const engine *const e = &b->block->engine;
    const int64_t inter = layer_of(s)->info.intermediate;
    near_tie ties[MAX_NEAR_TIES];
    pin_effects(s, from, effects);
    for (int64_t i = 0; i < inter; i++) {
        const double now =
            bound_operand(b, from->slot, e->chunk.activation[from->slot * inter + i]);
        const int n = bound_near_ties(b, from->slot, i, ties);
        for (int t = 0; t < n; t++) {
            const double change = bound_operand(b, from->slot, ties[t].product) - now;
            if (change != 0 && shifts_all(s, from, effects, i, change))
                keep_trial(trials, count,
                           (move){from, ties[t].kind, i, ties[t].product, 0, ties[t].probability});
        }
    }
}

static void recompute_with(search *s, const move *m)
{
    fp8moe_flip unused;
    apply(s, m, &unused);
}

/* Try the likeliest candidates whole; the one that leaves nothing open, or least, becomes the move.
 */
static fp8moe_status consider_pins(search *s, double left, move *best, fp8moe_error *err)
{
    const int64_t inter = layer_of(s)->info.intermediate;
    move trials[TRIALS];
    int count = 0;
    double *const effects = calloc((size_t)(s->open * inter) + 1, sizeof *effects);
    if (!effects) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the search of a row");
    for (int i = 0; i < s->count; i++)
        collect_trials(s, &s->sources[i], effects, trials, &count);
    for (int t = 0; t < count; t++) {
        const int64_t at = trials[t].source->slot * inter + trials[t].index;
        move back = trials[t];
        back.value = s->bound->block->engine.chunk.activation[at];
        recompute_with(s, &trials[t]);
        const double gained = left - find_residual(s);
        if (gained > best->gained) *best = trials[t], best->gained = gained;
        recompute_with(s, &back);
        find_residual(s);
    }
    free(effects);
    return FP8MOE_OK;
}

/* Flips that explain a row leave nothing: with `left` of them to find, the best gains about 1/left
 * of the residual's energy. Half of that is asked, for effects that overlap and sums that are
 * estimated. Where few elements are open an effect is smaller than the output's step, which alone
 * is seen of it: the share that crosses one is about effect / step, and so is the share of its
 * energy that can be gained. */
static bool is_promising(const search *s, const move *best, double energy, int left)
{
    const double share = 2 * (double)s->open / (double)s->row->width;
    return best->source && best->gained * 2 * left >= energy * (share < 1 ? share : 1);
}

static fp8moe_status find_move(search *s, double energy, int left, move *best, fp8moe_error *err)
{
    if (s->open <= PINS) TRY(consider_pins(s, energy, best, err));
    if (best->source) return FP8MOE_OK;
    project(s);
    for (int i = 0; i < s->count; i++) {
        consider_products(s, &s->sources[i], best);
        consider_scales(s, &s->sources[i], best);
    }
    if (!is_promising(s, best, energy, left)) best->source = NULL;
    return FP8MOE_OK;
}

/* ---- one product beyond its interval ---- */

/* Numbers the down projection may multiply for a product, in units of the scale now. */
static interval possible_operands(const search *s, int64_t slot, int64_t i)
{
    const bound *const b = s->bound;
    const row_scales *const r = &b->scales[slot];
    const int64_t at = slot * layer_of(s)->info.intermediate + i;
    interval hull = {INFINITY, -INFINITY};
    for (int c = 0; c < r->count; c++) {
        const double unit = r->count > 1 ? r->scale[c] / r->scale[r->reference] : 1;
        const double low = bound_operand_at(b, slot, c, b->act_low[at]) * unit,
                     high = bound_operand_at(b, slot, c, b->act_high[at]) * unit;
        if (low < hull.low) hull.low = low;
        if (high > hull.high) hull.high = high;
    }
    return hull;
}

/* How many standard deviations a residual that has nothing to do with a source's products has along
 * them: 1 where the columns of w2 are independent, more where they share a direction. */
static double usual_deviation(const source *from, int64_t inter, double *scratch)
{
    int64_t count = 0;
    for (int64_t i = 0; i < inter; i++)
        if (from->spread[i] > 0)
            scratch[count++] = fabs(from->projection[i]) / sqrt(from->spread[i]);
    if (!count) return 1;
    qsort(scratch, (size_t)count, sizeof *scratch, compare_doubles);
    const double deviation = scratch[count / 2] / MEDIAN_OF_NORMAL;
    return deviation > 1 ? deviation : 1;
}

/* The product that gains most if it may take any value. */
static const source *find_loudest(const search *s, int64_t *index)
{
    const source *loudest = NULL;
    double most = 0;
    for (int n = 0; n < s->count; n++) {
        const source *const from = &s->sources[n];
        for (int64_t i = 0; i < layer_of(s)->info.intermediate; i++) {
            const double gained = from->energy[i] > 0
                                      ? from->projection[i] * from->projection[i] / from->energy[i]
                                      : 0;
            if (!(gained > most)) continue;
            most = gained;
            loudest = from;
            *index = i;
        }
    }
    return loudest;
}

static void find_lone_product(search *s, lone_product *out)
{
    const bound *const b = s->bound;
    const chunk *const c = &b->block->engine.chunk;
    const int64_t inter = layer_of(s)->info.intermediate;
    int64_t i = 0;
    project(s);
    const source *const from = find_loudest(s, &i);
    if (!from) return;
    const interval possible = possible_operands(s, from->slot, i);
    const double needed = bound_operand(b, from->slot, c->activation[from->slot * inter + i]) +
                          from->projection[i] / from->energy[i];
    const double beyond = needed > possible.high ? needed - possible.high : possible.low - needed;
    const double unit =
        layer_of(s)->recipe.intermediate == FP8MOE_INTERMEDIATE_KEPT ? 1 : c->act_scale[from->slot];
    const double deviation =
        sqrt(from->spread[i]) / from->energy[i] * usual_deviation(from, inter, from->weights);
    *out = (lone_product){.sigmas = beyond > 0 ? beyond / deviation : 0,
                          .token = c->first + s->token,
                          .slot = from->slot % layer_of(s)->info.top_k,
                          .index = i,
                          .expert = c->local[from->slot],
                          .needed = needed * unit,
                          .low = possible.low * unit,
                          .high = possible.high * unit};
}

static fp8moe_status run_search(search *s, int limit, explanation *out, fp8moe_error *err)
{
    double energy = find_residual(s);
    while (energy > 0 && out->count < limit) {
        move best = {0};
        TRY(find_move(s, energy, limit - out->count, &best, err));
        if (!best.source) break;
        apply(s, &best, &out->flip[out->count++]);
        const double now = find_residual(s);
        if (!(now < energy)) break;
        energy = now;
    }
    out->explained = energy == 0 || all_expected(s);
    if (out->explained) return FP8MOE_OK;
    out->count = 0;
    find_lone_product(s, &out->lone);
    return FP8MOE_OK;
}

fp8moe_status explain_row(bound *b, int64_t token, const row_view *row, const double *got,
                          int limit, explanation *out, fp8moe_error *err)
{
    search s = {.bound = b, .token = token, .row = row, .got = got};
    *out = (explanation){0};
    fp8moe_status status = open_search(&s, err);
    if (status == FP8MOE_OK) {
        find_sources(&s);
        status = run_search(&s, limit < EXPLAIN_MAX_FLIPS ? limit : EXPLAIN_MAX_FLIPS, out, err);
        keep_state(&s, true);
    }
    close_search(&s);
    return status;
}

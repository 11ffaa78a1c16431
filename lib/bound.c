#include "bound.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON 0x1p-24
/* Source slots whose down intervals are computed together. */
#define BATCH 8
#define BATCH_ROWS (BATCH * (MAX_SCALES + 1))

/* ---- memory ---- */

int64_t bound_bytes_per_token(const fp8moe_layer *layer)
{
    const int64_t hidden = layer->info.hidden, inter = layer->info.intermediate;
    const int64_t slot = 8 * (4 * 2 * inter + 3 * inter + 5 * hidden) +
                         (int64_t)sizeof(row_scales) + (int64_t)sizeof(slot_noise);
    return layer->info.top_k * slot + 8 * 6 * hidden;
}

static int64_t worker_doubles(const fp8moe_layer *layer)
{
    return EXPERT_ROWS * (layer->info.intermediate + 3 * BATCH_ROWS);
}

static int64_t batch_doubles(const fp8moe_layer *layer)
{
    return layer->info.intermediate * (2 * BATCH_ROWS + BATCH);
}

fp8moe_status bound_open(bound *b, const fp8moe_layer *layer, int64_t tokens, device_slack slack,
                         fp8moe_error *err)
{
    const size_t slots = (size_t)(tokens * layer->info.top_k) + 1;
    const size_t hidden = (size_t)layer->info.hidden, inter = (size_t)layer->info.intermediate;
    *b = (bound){.slack = slack};
    struct {
        double **at;
        size_t count;
    } const arrays[] = {
        {&b->hard_low, slots * 2 * inter},
        {&b->hard_high, slots * 2 * inter},
        {&b->expected_low, slots * 2 * inter},
        {&b->expected_high, slots * 2 * inter},
        {&b->act_low, slots * inter},
        {&b->act_high, slots * inter},
        {&b->act_variance, slots * inter},
        {&b->part_low, slots * hidden},
        {&b->part_high, slots * hidden},
        {&b->part_expected_low, slots * hidden},
        {&b->part_expected_high, slots * hidden},
        {&b->part_variance, slots * hidden},
        {&b->centre, (size_t)tokens * hidden},
        {&b->low, (size_t)tokens * hidden},
        {&b->high, (size_t)tokens * hidden},
        {&b->near_low, (size_t)tokens * hidden},
        {&b->near_high, (size_t)tokens * hidden},
        {&b->variance, (size_t)tokens * hidden},
        {&b->scratch,
         (size_t)(batch_doubles(layer) + layer->config.threads * worker_doubles(layer))},
    };
    bool missing = false;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        missing |= !(*arrays[i].at = calloc(arrays[i].count + 1, sizeof(double)));
    b->scales = calloc(slots, sizeof *b->scales);
    b->terms = calloc((size_t)layer->info.top_k + 1, sizeof *b->terms);
    b->noise = calloc(slots, sizeof *b->noise);
    if (!missing && b->scales && b->noise && b->terms) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the intervals of %lld tokens",
                (long long)tokens);
}

void bound_close(bound *b)
{
    void *const all[] = {b->hard_low,
                         b->hard_high,
                         b->expected_low,
                         b->expected_high,
                         b->act_low,
                         b->act_high,
                         b->act_variance,
                         b->part_low,
                         b->part_high,
                         b->part_expected_low,
                         b->part_expected_high,
                         b->part_variance,
                         b->centre,
                         b->low,
                         b->high,
                         b->near_low,
                         b->near_high,
                         b->variance,
                         b->scratch,
                         b->scales,
                         b->noise,
                         b->terms};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static const fp8moe_recipe *recipe_of(const bound *b)
{
    return &b->block->engine.layer->recipe;
}

static bool is_taken(const bound *b, fp8moe_stage stage)
{
    return fp8moe_tensor_present(&b->block->engine.layer->from[stage]);
}

/* Members of an expert without the slots of skipped tokens. */
static int64_t members_of(const bound *b, const expert *wanted)
{
    engine *const e = &b->block->engine;
    const int64_t all = experts_members(e, wanted);
    int64_t kept = 0;
    for (int64_t n = 0; n < all; n++)
        if (!b->skip[experts_token(e, e->members[n])]) e->members[kept++] = e->members[n];
    return kept;
}

/* ---- up and gate ---- */

double bound_radius(const device_slack *s, double magnitude, int64_t terms)
{
    return (s->worst_case ? (double)terms : s->dot) * EPSILON * magnitude;
}

interval bound_scaled(const fp8moe_recipe *r, double dot, double radius, double x_scale,
                      double scale, bool widen)
{
    interval v = {
        experts_scaled(r->dot_round, r->scale, FP8MOE_ROUND_F64, dot - radius, x_scale, scale),
        experts_scaled(r->dot_round, r->scale, FP8MOE_ROUND_F64, dot + radius, x_scale, scale)};
    if (v.low > v.high) v = (interval){v.high, v.low};
    if (widen && r->scale != FP8MOE_SCALE_NONE) {
        v.low -= 2 * EPSILON * (v.low < 0 ? -v.low : v.low);
        v.high += 2 * EPSILON * (v.high < 0 ? -v.high : v.high);
    }
    return interval_round(r->up_gate, v);
}

static void up_gate_block(const expert_job *j, row_block *w)
{
    bound *const b = j->user;
    const engine *const e = j->engine;
    const kernels *const k = &e->layer->kernels;
    const int64_t width = 2 * e->layer->info.intermediate;
    k->dot(w->dots, w->rows, e->gathered, j->count, w->weights, w->rows, j->length);
    k->dot_abs(w->more, w->rows, e->gathered, j->count, w->weights, w->rows, j->length);
    for (int64_t n = 0; n < j->count; n++) {
        const int64_t slot = e->members[n];
        const double x_scale = e->chunk.x_scale[experts_token(e, slot)];
        for (int64_t i = 0; i < w->rows; i++) {
            const double dot = w->dots[n * w->rows + i], magnitude = w->more[n * w->rows + i];
            const interval hard =
                bound_scaled(recipe_of(b), dot, bound_radius(&b->slack, magnitude, j->length),
                             x_scale, w->scale[i], true);
            const interval near =
                bound_scaled(recipe_of(b), dot, b->slack.expected * EPSILON * magnitude, x_scale,
                             w->scale[i], false);
            const int64_t at = slot * width + w->row + i;
            b->hard_low[at] = hard.low;
            b->hard_high[at] = hard.high;
            b->expected_low[at] = near.low;
            b->expected_high[at] = near.high;
        }
    }
}

static void bound_up_gate(bound *b, const expert *wanted, int64_t count)
{
    engine *const e = &b->block->engine;
    experts_gather_input(e, count);
    expert_job j = {
        .engine = e, .expert = wanted, .count = count, .visit = up_gate_block, .user = b};
    experts_each_up_gate(&j);
}

/* Values a dump supplied have no radius. */
static void fix_up_gate(bound *b, int64_t slot)
{
    const int64_t width = 2 * b->block->engine.layer->info.intermediate;
    double *const all[] = {b->hard_low, b->hard_high, b->expected_low, b->expected_high};
    for (int i = 0; i < 4; i++)
        memcpy(all[i] + slot * width, b->block->engine.chunk.up_gate + slot * width,
               (size_t)width * sizeof(double));
}

/* ---- activation ---- */

static interval silu_interval(const bound *b, interval gate)
{
    const fp8moe_recipe *const r = recipe_of(b);
    const int steps = b->slack.silu + (r->silu_form == FP8MOE_SILU_TWO_STEP);
    return interval_widen(r->silu, interval_round(r->silu, interval_silu(gate)), steps);
}

static double product_of(const bound *b, double silu, double up)
{
    return round_to(recipe_of(b)->product, silu * up);
}

int bound_near_ties(const bound *b, int64_t slot, int64_t i, near_tie out[MAX_NEAR_TIES])
{
    const engine *const e = &b->block->engine;
    const fp8moe_recipe *const r = recipe_of(b);
    const int64_t inter = e->layer->info.intermediate, g = slot * 2 * inter + i, u = g + inter;
    const double gate = e->chunk.up_gate[g], up = e->chunk.up_gate[u];
    const double reference = e->chunk.activation[slot * inter + i];
    if (is_taken(b, FP8MOE_STAGE_ACTIVATION)) return 0;
    const double silu = experts_silu(r, gate);
    const near_tie all[MAX_NEAR_TIES] = {
        {FP8MOE_FLIP_GATE, product_of(b, experts_silu(r, b->expected_low[g]), up), 0.5},
        {FP8MOE_FLIP_GATE, product_of(b, experts_silu(r, b->expected_high[g]), up), 0.5},
        {FP8MOE_FLIP_UP, product_of(b, silu, b->expected_low[u]), 0.5},
        {FP8MOE_FLIP_UP, product_of(b, silu, b->expected_high[u]), 0.5},
        {FP8MOE_FLIP_SILU, product_of(b, interval_step(r->silu, silu, -b->slack.silu), up),
         b->slack.silu_rate / 2},
        {FP8MOE_FLIP_SILU, product_of(b, interval_step(r->silu, silu, b->slack.silu), up),
         b->slack.silu_rate / 2},
    };
    int count = 0;
    for (int n = 0; n < MAX_NEAR_TIES; n++)
        if (all[n].product != reference && all[n].product == all[n].product) out[count++] = all[n];
    return count;
}

static double quantised(const bound *b, const row_scales *s, int candidate, double product)
{
    const fp8moe_layer *const layer = b->block->engine.layer;
    const fp8moe_recipe *const r = &layer->recipe;
    const double scale = s->scale[candidate];
    uint8_t code;
    if (r->intermediate == FP8MOE_INTERMEDIATE_FP8_STATIC) {
        quant_static(&layer->kernels, layer->target, r->intermediate_cast, scale, &product, 1,
                     &code);
    } else {
        const fp8moe_precision steps = quant_steps(layer->target, r->intermediate_cast, r->product);
        const bool eager = r->intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER;
        quant_codes(&layer->kernels, layer->target, steps,
                    eager ? scale : round_to(steps, 1.0 / scale), &product, 1, &code);
    }
    return layer->reader.table[code];
}

double bound_operand_at(const bound *b, int64_t slot, int candidate, double product)
{
    const fp8moe_recipe *const r = recipe_of(b);
    double low = 0;
    if (r->intermediate != FP8MOE_INTERMEDIATE_KEPT)
        return quantised(b, &b->scales[slot], candidate, product);
    const double high = experts_operand(r->down_operand, product, &low);
    return high + low;
}

double bound_operand(const bound *b, int64_t slot, double product)
{
    return bound_operand_at(b, slot, b->scales[slot].reference, product);
}

static double magnitude_of(double x)
{
    return x < 0 ? -x : x;
}

/* Every scale reachable from the interval of the row's maximum: one for each number of the
 * product's dtype in it. */
static void find_scales(bound *b, int64_t slot)
{
    const fp8moe_layer *const layer = b->block->engine.layer;
    const fp8moe_recipe *const r = &layer->recipe;
    const int64_t inter = layer->info.intermediate;
    row_scales *const s = &b->scales[slot];
    *s = (row_scales){.count = 1};
    s->scale[0] = b->block->engine.chunk.act_scale[slot];
    const bool dynamic = r->intermediate == FP8MOE_INTERMEDIATE_FP8_ROW ||
                         r->intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER;
    if (!dynamic || is_taken(b, FP8MOE_STAGE_ACT_SCALE)) return;
    const fp8moe_precision steps = quant_steps(layer->target, r->intermediate_cast, r->product);
    double smallest = 0, largest = 0;
    for (int64_t i = 0; i < inter; i++) {
        const double low = b->act_low[slot * inter + i], high = b->act_high[slot * inter + i];
        const double a = magnitude_of(low), c = magnitude_of(high);
        const double least = low <= 0 && high >= 0 ? 0 : a < c ? a : c;
        if (least > smallest) smallest = least;
        if ((a > c ? a : c) > largest) largest = a > c ? a : c;
    }
    s->count = 0;
    /* A scale is an f32 at the finest: steps of doubles between would be walked for hours. */
    const bool fine = r->product == FP8MOE_ROUND_NONE || r->product == FP8MOE_ROUND_F64;
    const fp8moe_precision walked = fine ? FP8MOE_ROUND_F32 : r->product;
    for (double amax = smallest; amax <= largest && s->count <= MAX_SCALES;
         amax = interval_step(walked, amax, 1)) {
        const double scale = quant_scale(layer->target, steps, amax);
        if (s->count && s->scale[s->count - 1] == scale) continue;
        if (s->count == MAX_SCALES) {
            s->count++;
            break;
        }
        s->scale[s->count++] = scale;
    }
    const double reference = b->block->engine.chunk.act_scale[slot];
    if (s->count > MAX_SCALES || s->count < 1) {
        *s = (row_scales){.count = 1, .merged = true, .scale = {reference}};
        s->scale[1] = quant_scale(layer->target, steps, smallest);
        s->scale[2] = quant_scale(layer->target, steps, largest);
        return;
    }
    for (int n = 0; n < s->count; n++)
        if (s->scale[n] == reference) s->reference = n;
}

/* Interval of the down operand (i) under one candidate scale. */
static interval operand_interval(const bound *b, int64_t slot, int candidate, int64_t i)
{
    const engine *const e = &b->block->engine;
    const int64_t at = slot * e->layer->info.intermediate + i;
    const row_scales *const s = &b->scales[slot];
    if (is_taken(b, FP8MOE_STAGE_ACT_CODES)) {
        const double value = e->layer->reader.table[e->chunk.act_codes[at]];
        return (interval){value, value};
    }
    if (!s->merged)
        return (interval){bound_operand_at(b, slot, candidate, b->act_low[at]),
                          bound_operand_at(b, slot, candidate, b->act_high[at])};
    interval hull = {0, 0};
    for (int n = 1; n <= 2; n++) {
        const double unit = s->scale[n] / s->scale[0];
        const double low = quantised(b, s, n, b->act_low[at]) * unit,
                     high = quantised(b, s, n, b->act_high[at]) * unit;
        if (n == 1 || low < hull.low) hull.low = low;
        if (n == 1 || high > hull.high) hull.high = high;
    }
    /* Between the two a code may be one step further out than at either. */
    hull.low -= magnitude_of(hull.low) / 8;
    hull.high += magnitude_of(hull.high) / 8;
    return hull;
}

static double reference_operand(const bound *b, int64_t slot, int64_t i)
{
    const engine *const e = &b->block->engine;
    const int64_t at = slot * e->layer->info.intermediate + i;
    if (e->layer->recipe.intermediate != FP8MOE_INTERMEDIATE_KEPT)
        return e->layer->reader.table[e->chunk.act_codes[at]];
    return bound_operand_at(b, slot, 0, e->chunk.activation[at]);
}

static void add_noise(bound *b, int64_t slot, int64_t i)
{
    near_tie ties[MAX_NEAR_TIES];
    slot_noise *const n = &b->noise[slot];
    const double operand = reference_operand(b, slot, i);
    double variance = 0;
    const int count = is_taken(b, FP8MOE_STAGE_ACT_CODES) ? 0 : bound_near_ties(b, slot, i, ties);
    for (int t = 0; t < count; t++) {
        const double change = bound_operand(b, slot, ties[t].product) - operand,
                     square = change * change;
        if (!(square > 0)) continue;
        variance += ties[t].probability * square;
        n->fourth += ties[t].probability * square * square;
        n->expected_flips += ties[t].probability;
        n->near_ties++;
        if (square > n->largest) n->largest = square;
        if (magnitude_of(change * operand) > n->largest_with_operand)
            n->largest_with_operand = magnitude_of(change * operand);
    }
    b->act_variance[slot * b->block->engine.layer->info.intermediate + i] = variance;
    n->variance += variance;
    n->with_operand += variance * operand * operand;
}

/* The row maximum a step off moves the row's scale, and every operand with it: one flip of many
 * operands at once. The maximum itself moves in proportion. */
static void add_scale_noise(bound *b, int64_t slot, int candidate)
{
    const engine *const e = &b->block->engine;
    const int64_t inter = e->layer->info.intermediate;
    const row_scales *const s = &b->scales[slot];
    const double *const product = e->chunk.activation + slot * inter;
    const double unit = s->scale[candidate] / s->scale[s->reference], rate = b->slack.silu_rate / 2;
    slot_noise *const n = &b->noise[slot];
    double amax = 0, energy = 0, along = 0;
    for (int64_t i = 0; i < inter; i++)
        if (magnitude_of(product[i]) > amax) amax = magnitude_of(product[i]);
    for (int64_t i = 0; i < inter; i++) {
        const double a = reference_operand(b, slot, i);
        const double moved = magnitude_of(product[i]) == amax ? product[i] * unit : product[i];
        const double change = bound_operand_at(b, slot, candidate, moved) * unit - a;
        energy += change * change;
        along += change * a;
    }
    n->expected_flips += rate;
    n->variance += rate * energy;
    n->fourth += rate * energy * energy;
    n->with_operand += rate * along * along;
    if (energy > n->largest) n->largest = energy;
    if (magnitude_of(along) > n->largest_with_operand)
        n->largest_with_operand = magnitude_of(along);
}

static void bound_activation(bound *b, int64_t slot)
{
    const engine *const e = &b->block->engine;
    const int64_t inter = e->layer->info.intermediate;
    if (is_taken(b, FP8MOE_STAGE_UP_GATE)) fix_up_gate(b, slot);
    for (int64_t i = 0; i < inter; i++) {
        const int64_t g = slot * 2 * inter + i, u = g + inter;
        const interval gate = {b->hard_low[g], b->hard_high[g]},
                       up = {b->hard_low[u], b->hard_high[u]};
        interval p =
            interval_round(recipe_of(b)->product, interval_times(silu_interval(b, gate), up));
        if (is_taken(b, FP8MOE_STAGE_ACTIVATION))
            p.low = p.high = e->chunk.activation[slot * inter + i];
        b->act_low[slot * inter + i] = p.low;
        b->act_high[slot * inter + i] = p.high;
    }
    find_scales(b, slot);
    b->noise[slot] = (slot_noise){0};
    for (int64_t i = 0; i < inter; i++)
        add_noise(b, slot, i);
    const row_scales *const s = &b->scales[slot];
    for (int c = s->reference - 1; c <= s->reference + 1; c += 2)
        if (c >= 0 && c < s->count) add_scale_noise(b, slot, c);
}

/* ---- down ---- */

/* Operand rows of a batch: for each member its candidates, then all reference rows. */
typedef struct batch {
    bound *b;
    int64_t count; /* members */
    int64_t
        first[BATCH + 1]; /* row of a member's first candidate; [count]: of the first reference */
    double *centre;       /* [first[count] + count, I] */
    double *radius;       /* the same: spread of the operand plus what the dot itself may be off */
    double *variance;     /* [count, I] */
} batch;

/* An f32 activation differs from a near-tie's by noise, not by steps: its variance adds to the
 * expected radius. */
static bool is_continuous(const fp8moe_recipe *r)
{
    return r->intermediate == FP8MOE_INTERMEDIATE_KEPT && r->product != FP8MOE_ROUND_BF16;
}

/* What one dot may be off, as a share of |a b|; a split operand adds what its two parts cannot
 * hold. */
static double dot_share(const bound *b, bool hard)
{
    const int64_t terms = b->block->engine.layer->info.intermediate;
    const double split = recipe_of(b)->down_operand == FP8MOE_DOWN_SCALED_BF16X3 ? 0x1p-16 : 0;
    return (hard ? bound_radius(&b->slack, 1, terms) : b->slack.expected * EPSILON) + split;
}

static void fill_batch(batch *t, const int64_t *members)
{
    const bound *const b = t->b;
    const int64_t inter = b->block->engine.layer->info.intermediate;
    const double hard = dot_share(b, true), near = dot_share(b, false);
    int64_t row = 0;
    for (int64_t n = 0; n < t->count; n++) {
        t->first[n] = row;
        for (int candidate = 0; candidate < b->scales[members[n]].count; candidate++, row++)
            for (int64_t i = 0; i < inter; i++) {
                const interval v = operand_interval(b, members[n], candidate, i);
                const double middle = (v.low + v.high) / 2, spread = (v.high - v.low) / 2;
                t->centre[row * inter + i] = middle;
                t->radius[row * inter + i] = spread + hard * (magnitude_of(middle) + spread);
            }
    }
    t->first[t->count] = row;
    for (int64_t n = 0; n < t->count; n++, row++)
        for (int64_t i = 0; i < inter; i++) {
            t->centre[row * inter + i] = reference_operand(b, members[n], i);
            t->radius[row * inter + i] = near * magnitude_of(t->centre[row * inter + i]);
            t->variance[n * inter + i] = b->act_variance[members[n] * inter + i];
        }
}

double bound_unit(const bound *b, int64_t slot, double weight_scale)
{
    const fp8moe_recipe *const r = recipe_of(b);
    if (r->down_operand != FP8MOE_DOWN_CODE) return 1;
    const bool eager = r->intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER;
    return (eager ? 1 : b->scales[slot].scale[b->scales[slot].reference]) * weight_scale;
}

/* Expert output for a dot, with the row scale undone wherever the recipe undoes it later. */
static double part_of(const fp8moe_recipe *r, double dot, double act_scale, double weight_scale)
{
    const double y = experts_down_scaled(r, dot, act_scale, weight_scale);
    return r->row_scale == FP8MOE_ROW_SCALE_ROUTER ? y * act_scale : y;
}

static interval part_interval(const fp8moe_recipe *r, double dot, double radius, double act_scale,
                              double weight_scale)
{
    const double a = part_of(r, dot - radius, act_scale, weight_scale),
                 c = part_of(r, dot + radius, act_scale, weight_scale);
    return a < c ? (interval){a, c} : (interval){c, a};
}

/* A number that moves by a variance and is rounded on the way moves by whole steps: most often by
 * none, now and then by one. The variance of that, given the step. */
static double stepped(double variance, double step)
{
    const double share = 0.8 * sqrt(variance) / step; /* E|x| / step */
    return step > 0 ? variance + step * step * (share < 1.0 / 6 ? share : 1.0 / 6) : variance;
}

/* What the expert output's own roundings make of its variance. */
static double output_variance(const fp8moe_recipe *r, double variance, double dot, double unit,
                              double act_scale, double weight_scale)
{
    const double output = experts_down_scaled(r, dot, act_scale, weight_scale);
    const double undone = r->row_scale == FP8MOE_ROW_SCALE_ROUTER ? act_scale : 1;
    variance = stepped(variance, interval_spacing(r->down_round, dot) * magnitude_of(unit));
    return stepped(variance, interval_spacing(r->down_out, output) * undone);
}

static void bound_part(const batch *t, int64_t n, int64_t slot, int64_t h, double weight_scale,
                       const double *dots, const double *radii, double variance, int64_t stride)
{
    bound *const b = t->b;
    const fp8moe_recipe *const r = recipe_of(b);
    const row_scales *const s = &b->scales[slot];
    const int64_t at = slot * b->block->engine.layer->info.hidden + h,
                  reference = t->first[t->count] + n;
    interval hull = {0, 0};
    for (int c = 0; c < s->count; c++) {
        const int64_t row = t->first[n] + c;
        const interval v =
            part_interval(r, dots[row * stride], radii[row * stride], s->scale[c], weight_scale);
        if (c == 0 || v.low < hull.low) hull.low = v.low;
        if (c == 0 || v.high > hull.high) hull.high = v.high;
    }
    /* One multiplication by the scale may be rounded before the output's own rounding. */
    b->part_low[at] = hull.low - 2 * EPSILON * magnitude_of(hull.low);
    b->part_high[at] = hull.high + 2 * EPSILON * magnitude_of(hull.high);
    const double unit = bound_unit(b, slot, weight_scale), act_scale = s->scale[s->reference];
    double near = radii[reference * stride];
    variance *= unit * unit;
    if (is_continuous(r)) near += 4 * sqrt(variance);
    const interval v = part_interval(r, dots[reference * stride], near, act_scale, weight_scale);
    b->part_expected_low[at] = v.low;
    b->part_expected_high[at] = v.high;
    for (int c = s->reference - 1; c <= s->reference + 1; c += 2) {
        if (c < 0 || c >= s->count) continue;
        const double moved =
            part_of(r, dots[(t->first[n] + c) * stride], s->scale[c], weight_scale) -
            part_of(r, dots[(t->first[n] + s->reference) * stride], act_scale, weight_scale);
        variance += b->slack.silu_rate / 2 * moved * moved;
    }
    b->part_variance[at] =
        output_variance(r, variance, dots[reference * stride], unit, act_scale, weight_scale);
}

static void down_block(const expert_job *j, row_block *w)
{
    const batch *const t = j->user;
    bound *const b = t->b;
    const fp8moe_layer *const layer = j->engine->layer;
    const kernels *const k = &layer->kernels;
    const int64_t rows = t->first[t->count] + t->count, inter = j->length;
    double *const squares = b->scratch + batch_doubles(layer) + w->worker * worker_doubles(layer);
    double *const dots = squares + EXPERT_ROWS * inter, *const radii =
                                                            dots + EXPERT_ROWS * BATCH_ROWS;
    double *const variances = radii + EXPERT_ROWS * BATCH_ROWS;
    for (int64_t i = 0; i < w->rows * inter; i++) {
        w->weights[i] += layer->recipe.down_operand == FP8MOE_DOWN_SCALED_BF16X3 ? w->low[i] : 0;
        squares[i] = w->weights[i] * w->weights[i];
    }
    k->dot(dots, w->rows, t->centre, rows, w->weights, w->rows, inter);
    k->dot_abs(radii, w->rows, t->radius, rows, w->weights, w->rows, inter);
    k->dot(variances, w->rows, t->variance, t->count, squares, w->rows, inter);
    for (int64_t n = 0; n < t->count; n++)
        for (int64_t i = 0; i < w->rows; i++)
            bound_part(t, n, j->engine->members[n], w->row + i, w->scale[i], dots + i, radii + i,
                       variances[n * w->rows + i], w->rows);
}

static void bound_down(bound *b, const expert *wanted, const int64_t *members, int64_t count)
{
    engine *const e = &b->block->engine;
    const int64_t inter = e->layer->info.intermediate, hidden = e->layer->info.hidden;
    batch t = {.b = b, .count = count, .centre = b->scratch};
    t.radius = t.centre + BATCH_ROWS * inter;
    t.variance = t.radius + BATCH_ROWS * inter;
    fill_batch(&t, members);
    memmove(e->members, members, (size_t)count * sizeof *members);
    expert_job j = {.engine = e, .expert = wanted, .count = count, .visit = down_block, .user = &t};
    experts_each_down(&j);
    for (int64_t n = 0; n < count; n++) {
        slot_noise *const noise = &b->noise[e->members[n]];
        for (int64_t h = 0; h < hidden; h++)
            noise->output_variance += b->part_variance[e->members[n] * hidden + h];
    }
}

/* ---- sum ---- */

/* Running interval sum in the recipe's order; a sum whose order is unstated is taken as exact, with
 * one step of f32 for each addition. */
static interval sum_interval(const bound *b, int64_t count, int64_t h, const double *low,
                             const double *high, bool hard)
{
    const fp8moe_recipe *const r = recipe_of(b);
    const fp8moe_precision step =
        r->sum == FP8MOE_ROUND_BF16 ? FP8MOE_ROUND_BF16 : FP8MOE_ROUND_F64;
    interval sum = {0, 0};
    double magnitude = 0;
    for (int64_t n = 0; n < count; n++) {
        const bound_term *const term = &b->terms[n];
        const interval y = {low[term->source + h], high[term->source + h]};
        const interval part = interval_round(
            r->slot_round, interval_times(y, (interval){term->weight, term->weight}));
        const double a = magnitude_of(part.low), c = magnitude_of(part.high);
        sum = interval_round(step, (interval){sum.low + part.low, sum.high + part.high});
        magnitude += a > c ? a : c;
    }
    const double wide = (hard ? (double)(count + 2) : 1) * EPSILON * magnitude;
    return interval_round(r->sum, (interval){sum.low - wide, sum.high + wide});
}

static double sum_variance(const bound *b, int64_t count, int64_t h)
{
    double total = 0;
    for (int64_t n = 0; n < count; n++)
        total += b->terms[n].joint_weight * b->terms[n].joint_weight *
                 b->part_variance[b->terms[n].source + h];
    return total;
}

int64_t bound_terms(bound *b, int64_t token)
{
    const engine *const e = &b->block->engine;
    const int64_t count = moe_contributions(b->block, token), hidden = e->layer->info.hidden;
    const bool by_router = recipe_of(b)->row_scale == FP8MOE_ROW_SCALE_ROUTER;
    for (int64_t n = 0; n < count; n++) {
        const contribution *const item = &b->block->items[n];
        bound_term *const term = &b->terms[n];
        *term =
            (bound_term){.source = experts_source(e, item->slot) * hidden,
                         .weight = by_router ? b->block->router_weight[item->slot] : item->weight};
        int64_t first = 0;
        while (b->terms[first].source != term->source)
            first++;
        b->terms[first].joint_weight += term->weight;
    }
    return count;
}

static void bound_token(bound *b, int64_t token)
{
    const fp8moe_layer *const layer = b->block->engine.layer;
    const fp8moe_precision dtype = layer_output_precision(layer);
    const int64_t hidden = layer->info.hidden, count = bound_terms(b, token);
    combine_sum(&layer->recipe, b->block->items, count, hidden, FP8MOE_ROUND_NONE,
                b->centre + token * hidden);
    for (int64_t h = 0; h < hidden; h++) {
        const int64_t at = token * hidden + h;
        const interval hard =
            interval_round(dtype, sum_interval(b, count, h, b->part_low, b->part_high, true));
        const interval near = interval_round(
            dtype, sum_interval(b, count, h, b->part_expected_low, b->part_expected_high, false));
        b->low[at] = hard.low;
        b->high[at] = hard.high;
        b->near_low[at] = near.low;
        b->near_high[at] = near.high;
        b->variance[at] = sum_variance(b, count, h);
    }
}

void bound_block(bound *b, moe_block *block, const bool *skip)
{
    engine *const e = &block->engine;
    int64_t batch_members[BATCH];
    b->block = block;
    b->skip = skip;
    for (int64_t i = 0; i < e->layer->expert_count; i++) {
        const expert *const own = &e->layer->experts[i];
        int64_t count = members_of(b, own);
        if (!count) continue;
        bound_up_gate(b, own, count);
        for (int64_t n = 0; n < count; n++)
            bound_activation(b, e->members[n]);
        for (int64_t first = 0; first < count; first += BATCH) {
            /* the batch's own members overwrite the list */
            count = members_of(b, own);
            const int64_t size = min_i64(BATCH, count - first);
            memcpy(batch_members, e->members + first, (size_t)size * sizeof *batch_members);
            bound_down(b, own, batch_members, size);
        }
    }
    for (int64_t t = 0; t < e->chunk.tokens; t++)
        if (!skip[t]) bound_token(b, t);
}

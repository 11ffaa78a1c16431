#include "moe.h"

#include "bits.h"
#include "common.h"
#include "quant.h"
#include "stages.h"

#include <stdlib.h>
#include <string.h>

/* One run of a layer: a block of tokens at a time, and what padding experts may leak. */
typedef struct run {
    moe_block block;
    fp8moe_layer *layer;
    const fp8moe_observer *observer;
    const moe_hook *hook; /* or NULL */
    double *output;       /* the caller's [T, H], or NULL */
    int64_t *poison;      /* local experts that zero weights do not silence */
    int64_t poison_count;
} run;

/* ---- 0 * NaN: experts a token was not routed to ---- */

/* Largest magnitude among the finite rows of the input; unknown where the input is the dump's
 * codes. */
static double finite_amax(const fp8moe_layer *layer, double *row)
{
    double amax = 0;
    if (fp8moe_tensor_present(&layer->from[FP8MOE_STAGE_X_CODES]) ||
        fp8moe_tensor_present(&layer->from[FP8MOE_STAGE_X_SCALE]))
        return (double)INFINITY;
    for (int64_t t = 0; t < layer->info.tokens; t++) {
        fp8moe_tensor_read_f64(&layer->hidden_states, t * layer->info.hidden, layer->info.hidden,
                               row);
        const double one = layer->kernels.amax(row, layer->info.hidden);
        if (one > amax && one - one == 0) amax = one;
    }
    return amax;
}

/* What a token multiplies a local expert by: upstream scatters the weights with f32 additions. */
static double gathered_weight(const fp8moe_layer *layer, int64_t token, int64_t local)
{
    const int64_t first = token * layer->info.top_k;
    double sum = 0;
    for (int64_t slot = first; slot < first + layer->info.top_k; slot++)
        if (layer_local_expert(layer, layer->topk_ids[slot]) == local)
            sum = round_f32(sum + layer_router_weight(layer, slot));
    return sum;
}

/* The gathered experts: all that a token of this batch weighs with a number other than 0, then, up
 * to min(E_local, T * K), the lowest local ids among the rest. Upstream leaves the choice of the
 * rest to its top-k's order of ties; lowest first is ours (numerics.md 5.1, step 6). */
static void mark_gathered(const fp8moe_layer *layer, bool *gathered)
{
    const fp8moe_layer_info *const info = &layer->info;
    const int64_t slots = info->tokens * info->top_k;
    int64_t left = min_i64(info->local_num_experts, slots);
    for (int64_t slot = 0; slot < slots; slot++) {
        const int64_t local = layer_local_expert(layer, layer->topk_ids[slot]);
        if (local < 0 || gathered[local] || gathered_weight(layer, slot / info->top_k, local) == 0)
            continue;
        gathered[local] = true;
        left--;
    }
    for (int64_t e = 0; e < info->local_num_experts && left > 0; e++) {
        if (gathered[e]) continue;
        gathered[e] = true;
        left--;
    }
}

/* `dense` computes all experts but adds the rows of routed slots only: a foreign slot reads expert
 * 0. */
static void mark_first(const fp8moe_layer *layer, bool *gathered)
{
    for (int64_t slot = 0; slot < layer->info.tokens * layer->info.top_k; slot++)
        if (layer_local_expert(layer, layer->topk_ids[slot]) < 0) gathered[0] = true;
}

static fp8moe_status find_poison(run *r, fp8moe_error *err)
{
    const fp8moe_layer *const layer = r->layer;
    const fp8moe_pairs pairs = layer->recipe.pairs;
    if (pairs != FP8MOE_PAIRS_GATHERED && pairs != FP8MOE_PAIRS_ALL) return FP8MOE_OK;
    bool *const gathered = calloc((size_t)layer->info.local_num_experts, sizeof *gathered);
    r->poison = calloc((size_t)layer->info.local_num_experts, sizeof *r->poison);
    if (!gathered || !r->poison) {
        free(gathered);
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the gathered experts");
    }
    if (pairs == FP8MOE_PAIRS_GATHERED)
        mark_gathered(layer, gathered);
    else
        mark_first(layer, gathered);
    const double amax = finite_amax(layer, r->block.rows);
    for (int64_t e = 0; e < layer->info.local_num_experts; e++)
        if (gathered[e] && experts_may_poison(layer, e, amax)) r->poison[r->poison_count++] = e;
    free(gathered);
    return FP8MOE_OK;
}

static bool is_finite(double x)
{
    return x - x == 0;
}

static bool has_foreign_slot(const run *r, int64_t token)
{
    const int64_t top_k = r->layer->info.top_k;
    const int64_t *const here = r->block.engine.chunk.local + token * top_k;
    for (int64_t k = 0; k < top_k; k++)
        if (here[k] < 0) return true;
    return false;
}

/* Whether the token's own sum already holds this expert, or (dense) has no slot that reads it. */
static bool leak_is_moot(const run *r, int64_t token, int64_t local)
{
    if (r->layer->recipe.pairs == FP8MOE_PAIRS_ALL) return !has_foreign_slot(r, token);
    return gathered_weight(r->layer, r->block.engine.chunk.first + token, local) != 0;
}

static void count_leak(fp8moe_layer *layer, int64_t token, int64_t local)
{
    layer->info.padding_leaks++;
    if (layer->info.first_leak_token >= 0 && layer->info.first_leak_token <= token) return;
    layer->info.first_leak_token = token;
    layer->info.first_leak_expert = local;
}

static void leak_expert(run *r, int64_t local)
{
    engine *const e = &r->block.engine;
    const int64_t hidden = r->layer->info.hidden, spare = e->chunk.tokens * r->layer->info.top_k;
    experts_spare(e, local);
    for (int64_t t = 0; t < e->chunk.tokens; t++) {
        if (leak_is_moot(r, t, local)) continue;
        const double *const y = e->chunk.expert_output + (spare + t) * hidden;
        for (int64_t h = 0; h < hidden; h++) {
            double *const out = &r->block.rows[t * hidden + h];
            if (is_finite(y[h]) || *out != *out) continue;
            *out = y[h] * 0.0;
            count_leak(r->layer, e->chunk.first + t, local);
        }
    }
}

/* A token that is itself NaN or Inf makes every expert's output NaN, also the foreign ones'
 * stand-ins. */
static void leak_token(run *r, int64_t token)
{
    const fp8moe_layer *const layer = r->layer;
    const chunk *const c = &r->block.engine.chunk;
    const int64_t hidden = layer->info.hidden;
    double *const out = r->block.rows + token * hidden;
    const double *const x = c->x + token * hidden;
    bool finite = is_finite(c->x_scale[token]);
    for (int64_t h = 0; h < hidden; h++)
        finite &= is_finite(x[h]);
    if (finite || (layer->recipe.pairs == FP8MOE_PAIRS_ALL && !has_foreign_slot(r, token))) return;
    for (int64_t h = 0; h < hidden; h++)
        if (is_finite(out[h])) out[h] = f64_from_bits(UINT64_C(0x7FF8000000000000));
}

static void leak(run *r)
{
    const fp8moe_pairs pairs = r->layer->recipe.pairs;
    if (pairs != FP8MOE_PAIRS_GATHERED && pairs != FP8MOE_PAIRS_ALL) return;
    for (int64_t t = 0; t < r->block.engine.chunk.tokens; t++)
        leak_token(r, t);
    for (int64_t i = 0; i < r->poison_count; i++)
        leak_expert(r, r->poison[i]);
}

/* ---- sum ---- */

static double slot_weight(const moe_block *b, int64_t slot)
{
    const double weight = b->router_weight[slot];
    if (b->engine.layer->recipe.row_scale == FP8MOE_ROW_SCALE_DOWN) return weight;
    return round_f32(weight * b->engine.chunk.act_scale[slot]);
}

int64_t moe_contributions(moe_block *b, int64_t token)
{
    const fp8moe_layer *const layer = b->engine.layer;
    const chunk *const c = &b->engine.chunk;
    const int64_t top_k = layer->info.top_k;
    int64_t count = 0;
    for (int64_t slot = token * top_k; slot < (token + 1) * top_k; slot++) {
        if (c->local[slot] < 0) continue;
        b->items[count++] = (contribution){.expert = c->local[slot],
                                           .slot = slot,
                                           .weight = slot_weight(b, slot),
                                           .output = c->expert_output + slot * layer->info.hidden};
    }
    return combine_order(&layer->recipe, b->items, count);
}

void moe_combine(moe_block *b, int64_t token)
{
    const fp8moe_layer *const layer = b->engine.layer;
    const int64_t hidden = layer->info.hidden, count = moe_contributions(b, token);
    combine_sum(&layer->recipe, b->items, count, hidden, layer_output_precision(layer),
                b->rows + token * hidden);
}

static void count_foreign(run *r)
{
    const chunk *const c = &r->block.engine.chunk;
    for (int64_t slot = 0; slot < c->tokens * r->layer->info.top_k; slot++)
        if (c->local[slot] < 0) r->layer->info.foreign_slots++;
}

/* ---- the run ---- */

static fp8moe_status run_block(run *r, int64_t first, int64_t tokens, fp8moe_error *err)
{
    engine *const e = &r->block.engine;
    chunk *const c = &e->chunk;
    fp8moe_layer *const layer = r->layer;
    const int64_t top_k = layer->info.top_k, hidden = layer->info.hidden;
#define PASS(stage, ...)                                                                           \
    TRY(stages_pass(layer, r->observer, FP8MOE_STAGE_##stage, first, tokens,                       \
                    (stage_values){__VA_ARGS__}, err))
    engine_begin(e, first, tokens);
    experts_quantise_input(e);
    PASS(X_CODES, .codes = c->x_codes);
    PASS(X_SCALE, .numbers = c->x_scale);
    experts_input_operand(e);
    for (int64_t slot = 0; slot < tokens * top_k; slot++)
        r->block.router_weight[slot] = layer_router_weight(layer, first * top_k + slot);
    PASS(TOPK_IDS, .ids = layer->topk_ids + first * top_k);
    PASS(TOPK_WEIGHTS, .numbers = r->block.router_weight);
    experts_up_gate(e);
    PASS(UP_GATE, .numbers = c->up_gate);
    experts_activate(e);
    PASS(ACTIVATION, .numbers = c->activation);
    experts_requantise(e);
    PASS(ACT_CODES, .codes = c->act_codes);
    PASS(ACT_SCALE, .numbers = c->act_scale);
    experts_down(e);
    PASS(EXPERT_OUTPUT, .numbers = c->expert_output);
    for (int64_t t = 0; t < tokens; t++)
        moe_combine(&r->block, t);
    count_foreign(r);
    leak(r);
    PASS(OUTPUT, .numbers = r->block.rows);
#undef PASS
    if (r->output)
        memcpy(r->output + first * hidden, r->block.rows,
               (size_t)(tokens * hidden) * sizeof(double));
    return r->hook ? r->hook->block(r->hook->user, &r->block, err) : FP8MOE_OK;
}

static fp8moe_status run_blocks(run *r, fp8moe_error *err)
{
    fp8moe_layer *const layer = r->layer;
    const int64_t tokens = layer->info.tokens, top_k = layer->info.top_k;
    TRY(engine_open(&r->block.engine, layer, tokens, r->hook ? r->hook->bytes_per_token : 0, err));
    const int64_t step = r->block.engine.chunk.capacity;
    r->block.rows = calloc((size_t)(step * layer->info.hidden), sizeof *r->block.rows);
    r->block.router_weight = calloc((size_t)(step * top_k) + 1, sizeof *r->block.router_weight);
    r->block.items = calloc((size_t)top_k + 1, sizeof *r->block.items);
    if (!r->block.rows || !r->block.router_weight || !r->block.items)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a block of outputs");
    TRY(find_poison(r, err));
    /* No tokens: one empty block, so that the observer sees every (empty) stage. */
    for (int64_t first = 0; first == 0 || first < tokens; first += step)
        TRY(run_block(r, first, min_i64(step, tokens - first), err));
    return FP8MOE_OK;
}

fp8moe_status moe_run_hooked(fp8moe_layer *layer, const fp8moe_observer *observer,
                             const moe_hook *hook, double *output, fp8moe_error *err)
{
    run r = {.layer = layer, .observer = observer, .hook = hook, .output = output};
    layer->info.foreign_slots = layer->info.padding_leaks = 0;
    layer->info.first_leak_token = layer->info.first_leak_expert = -1;
    const fp8moe_status status = run_blocks(&r, err);
    engine_close(&r.block.engine);
    free(r.block.rows);
    free(r.block.router_weight);
    free(r.block.items);
    free(r.poison);
    return status;
}

fp8moe_status moe_run(fp8moe_layer *layer, const fp8moe_observer *observer, double *output,
                      fp8moe_error *err)
{
    return moe_run_hooked(layer, observer, NULL, output, err);
}

#include "experts.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "interval.h"
#include "parallel.h"
#include "quant.h"
#include "silu.h"

#include <stdlib.h>
#include <string.h>

#define ROWS EXPERT_ROWS
/* Tokens of one expert from which an exact GEMM pays for its set-up. */
#define MIN_EXACT_ROWS 8
#define CHUNK_BYTES ((int64_t)40 << 20)

/* ---- memory ---- */

static int64_t bytes_per_token(const fp8moe_layer *layer)
{
    const int64_t hidden = layer->info.hidden, inter = layer->info.intermediate;
    const int64_t slot = 8 * (3 * inter + hidden) + inter + 24;
    return (layer->info.top_k + 1) * slot + 9 * hidden + 16 * max_i64(hidden, inter) + 16;
}

static int64_t slot_count(const engine *e)
{
    return e->chunk.capacity * (e->layer->info.top_k + 1);
}

static void *room(size_t *missing, int64_t count, size_t size)
{
    void *const memory = calloc((size_t)max_i64(count, 1), size);
    if (!memory) *missing += (size_t)count * size;
    return memory;
}

int64_t engine_capacity(const fp8moe_layer *layer, int64_t tokens, int64_t extra_bytes)
{
    return max_i64(1, min_i64(tokens, CHUNK_BYTES / (bytes_per_token(layer) + extra_bytes)));
}

fp8moe_status engine_open(engine *e, const fp8moe_layer *layer, int64_t tokens, int64_t extra_bytes,
                          fp8moe_error *err)
{
    const int64_t hidden = layer->info.hidden, inter = layer->info.intermediate;
    const int64_t wide = max_i64(hidden, inter);
    *e = (engine){.layer = layer};
    chunk *const c = &e->chunk;
    c->capacity = engine_capacity(layer, tokens, extra_bytes);
    const int64_t slots = slot_count(e);
    /* Two sets of rows (a split operand has a low part) and the dots of every token with them. */
    e->row_scratch_size = 2 * ROWS * wide + wide / 8 + 1 + 2 * ROWS * slots;
    size_t missing = 0;
    c->x_codes = room(&missing, c->capacity * hidden, 1);
    c->x_scale = room(&missing, c->capacity, sizeof(double));
    c->x = room(&missing, c->capacity * hidden, sizeof(double));
    c->local = room(&missing, slots, sizeof(int64_t));
    c->up_gate = room(&missing, slots * 2 * inter, sizeof(double));
    c->activation = room(&missing, slots * inter, sizeof(double));
    c->act_codes = room(&missing, slots * inter, 1);
    c->act_scale = room(&missing, slots, sizeof(double));
    c->expert_output = room(&missing, slots * hidden, sizeof(double));
    e->gathered = room(&missing, slots * wide, sizeof(double));
    e->gathered_low =
        room(&missing, layer->recipe.down_operand == FP8MOE_DOWN_SCALED_BF16X3 ? slots * wide : 1,
             sizeof(double));
    e->members = room(&missing, slots, sizeof(int64_t));
    e->row_scratch = room(&missing, layer->config.threads * e->row_scratch_size, sizeof(double));
    if (missing)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %zu bytes of intermediates", missing);
    if (!layer->config.shuffle_sums) return FP8MOE_OK;
    TRY(shuffle_init(&e->shuffle_hidden, layer->config.shuffle_seed, hidden, err));
    return shuffle_init(&e->shuffle_inter, layer->config.shuffle_seed + 1, inter, err);
}

void engine_close(engine *e)
{
    chunk *const c = &e->chunk;
    void *const all[] = {
        c->x_codes,      c->x_scale,   c->x,          c->local,         c->up_gate,
        c->activation,   c->act_codes, c->act_scale,  c->expert_output, e->gathered,
        e->gathered_low, e->members,   e->row_scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    shuffle_free(&e->shuffle_hidden);
    shuffle_free(&e->shuffle_inter);
}

void engine_begin(engine *e, int64_t first, int64_t tokens)
{
    const fp8moe_layer *const layer = e->layer;
    const int64_t hidden = layer->info.hidden, inter = layer->info.intermediate,
                  top_k = layer->info.top_k;
    const size_t slots = (size_t)(tokens * (top_k + 1));
    chunk *const c = &e->chunk;
    c->first = first;
    c->tokens = tokens;
    memset(c->up_gate, 0, slots * (size_t)(2 * inter) * sizeof(double));
    memset(c->activation, 0, slots * (size_t)inter * sizeof(double));
    memset(c->act_codes, 0, slots * (size_t)inter);
    memset(c->act_scale, 0, slots * sizeof(double));
    memset(c->expert_output, 0, slots * (size_t)hidden * sizeof(double));
    for (int64_t i = 0; i < tokens * top_k; i++)
        c->local[i] = layer_local_expert(layer, layer->topk_ids[first * top_k + i]);
}

/* ---- input ---- */

static void quantise_tokens(void *context, int64_t first, int64_t last, int worker)
{
    engine *const e = context;
    const fp8moe_layer *const layer = e->layer;
    const fp8moe_recipe *const r = &layer->recipe;
    const int64_t hidden = layer->info.hidden;
    const fp8moe_precision steps =
        quant_steps(layer->target, r->input_cast, layer->input_precision);
    (void)worker;
    for (int64_t t = first; t < last; t++) {
        double *const x = e->chunk.x + t * hidden;
        uint8_t *const codes = e->chunk.x_codes + t * hidden;
        fp8moe_tensor_read_f64(&layer->hidden_states, (e->chunk.first + t) * hidden, hidden, x);
        e->chunk.x_scale[t] = 1;
        if (r->input == FP8MOE_INPUT_FP8_TOKEN) {
            e->chunk.x_scale[t] =
                quant_row(&layer->kernels, layer->target, steps, x, hidden, codes);
        } else if (r->input == FP8MOE_INPUT_FP8_STATIC) {
            e->chunk.x_scale[t] = layer->w13_input_scale;
            quant_static(&layer->kernels, layer->target, r->input_cast, layer->w13_input_scale, x,
                         hidden, codes);
        }
    }
}

void experts_quantise_input(engine *e)
{
    parallel_for(e->layer->config.threads, e->chunk.tokens, quantise_tokens, e);
}

void experts_input_operand(engine *e)
{
    if (e->layer->recipe.input == FP8MOE_INPUT_AS_IS) return;
    e->layer->kernels.decode(e->chunk.x, e->chunk.x_codes, e->layer->reader.table,
                             e->chunk.tokens * e->layer->info.hidden);
}

/* ---- slots of one expert ---- */

int64_t experts_source(const engine *e, int64_t slot)
{
    const fp8moe_layer *const layer = e->layer;
    const chunk *const c = &e->chunk;
    for (int stage = FP8MOE_STAGE_UP_GATE; stage <= FP8MOE_STAGE_ACT_SCALE; stage++)
        if (fp8moe_tensor_present(&layer->from[stage])) return slot;
    for (int64_t i = slot - slot % layer->info.top_k; i < slot; i++)
        if (c->local[i] >= 0 &&
            layer_expert(layer, c->local[i]) == layer_expert(layer, c->local[slot]))
            return i;
    return slot;
}

int64_t experts_members(engine *e, const expert *wanted)
{
    const int64_t slots = e->chunk.tokens * e->layer->info.top_k;
    int64_t count = 0;
    for (int64_t slot = 0; slot < slots; slot++)
        if (e->chunk.local[slot] >= 0 && layer_expert(e->layer, e->chunk.local[slot]) == wanted &&
            experts_source(e, slot) == slot)
            e->members[count++] = slot;
    return count;
}

static void copy_to_twins(engine *e, void *rows, size_t row_bytes)
{
    const int64_t slots = e->chunk.tokens * e->layer->info.top_k;
    for (int64_t slot = 0; slot < slots; slot++) {
        if (e->chunk.local[slot] < 0) continue;
        const int64_t source = experts_source(e, slot);
        if (source != slot)
            memcpy((char *)rows + (size_t)slot * row_bytes,
                   (const char *)rows + (size_t)source * row_bytes, row_bytes);
    }
}

int64_t experts_token(const engine *e, int64_t slot)
{
    const int64_t routed = e->chunk.tokens * e->layer->info.top_k;
    return slot < routed ? slot / e->layer->info.top_k : slot - routed;
}

/* ---- dots ---- */

double experts_scaled(fp8moe_precision dot_round, fp8moe_scale_form scale, fp8moe_precision out,
                      double dot, double a_scale, double b_scale)
{
    /* + 0.0: a GEMM may give -0 where a plain sum gives +0 */
    double d = dot + 0.0;
    if (dot_round != FP8MOE_ROUND_F64) d = round_to(dot_round, round_f32(d));
    switch (scale) {
    case FP8MOE_SCALE_NONE:
        break;
    case FP8MOE_SCALE_F32:
        d *= round_f32(a_scale * b_scale);
        break;
    case FP8MOE_SCALE_BF16:
        d *= round_bf16(a_scale * b_scale);
        break;
    case FP8MOE_SCALE_SEQUENTIAL:
        d = round_f32(d * a_scale) * b_scale;
        break;
    }
    return round_to(out, d);
}

void experts_dot(const expert_job *j, double *out, const double *a, const double *w, int64_t rows)
{
    const kernels *const k = &j->engine->layer->kernels;
    if (j->engine->layer->config.shuffle_sums)
        shuffle_dot(j->shuffle, out, rows, a, j->count, w, rows, j->length);
    else if (j->exact && j->count >= MIN_EXACT_ROWS && kernels_all_finite(w, rows * j->length))
        k->dot_exact(out, rows, a, j->count, w, rows, j->length);
    else
        k->dot(out, rows, a, j->count, w, rows, j->length);
}

/* A worker's scratch: rows, their low parts, one row's codes, dots, a second set of dots. */
static row_block block_of(const expert_job *j, int worker, uint8_t **codes)
{
    const engine *const e = j->engine;
    const int64_t wide = max_i64(e->layer->info.hidden, e->layer->info.intermediate);
    double *const base = e->row_scratch + worker * e->row_scratch_size;
    row_block b = {.worker = worker, .weights = base, .low = base + ROWS * wide};
    *codes = (uint8_t *)(b.low + ROWS * wide);
    b.dots = b.low + ROWS * wide + wide / 8 + 1;
    b.more = b.dots + ROWS * slot_count(e);
    return b;
}

/* Blocks of ROWS rows: those of gate first, then those of up. */
static void each_up_gate(void *context, int64_t first, int64_t last, int worker)
{
    const expert_job *const j = context;
    const int64_t inter = j->engine->layer->info.intermediate, blocks = ceil_div(inter, ROWS);
    uint8_t *codes;
    row_block b = block_of(j, worker, &codes);
    for (int64_t n = first; n < last; n++) {
        const bool is_up = n >= blocks;
        const matrix *const m = is_up ? &j->expert->up : &j->expert->gate;
        const int64_t row = (is_up ? n - blocks : n) * ROWS;
        b.rows = min_i64(ROWS, inter - row);
        b.row = (is_up ? inter : 0) + row;
        for (int64_t i = 0; i < b.rows; i++)
            b.scale[i] = weights_row(&j->engine->layer->reader, m, row + i,
                                     b.weights + i * j->length, codes);
        j->visit(j, &b);
    }
}

void experts_each_up_gate(expert_job *j)
{
    const fp8moe_layer *const layer = j->engine->layer;
    j->length = layer->info.hidden;
    j->shuffle = &j->engine->shuffle_hidden;
    parallel_for(j->threads ? j->threads : layer->config.threads,
                 2 * ceil_div(layer->info.intermediate, ROWS), each_up_gate, j);
}

static void up_gate_block(const expert_job *j, row_block *b)
{
    const engine *const e = j->engine;
    const fp8moe_recipe *const r = &e->layer->recipe;
    const int64_t width = 2 * e->layer->info.intermediate;
    experts_dot(j, b->dots, e->gathered, b->weights, b->rows);
    for (int64_t n = 0; n < j->count; n++) {
        const int64_t slot = e->members[n];
        const double x_scale = e->chunk.x_scale[experts_token(e, slot)];
        for (int64_t i = 0; i < b->rows; i++)
            e->chunk.up_gate[slot * width + b->row + i] = experts_scaled(
                r->dot_round, r->scale, r->up_gate, b->dots[n * b->rows + i], x_scale, b->scale[i]);
    }
}

bool experts_multiply_codes(const fp8moe_recipe *r)
{
    return r->weights == FP8MOE_FORM_PREPARED || r->weights == FP8MOE_FORM_CODES;
}

void experts_gather_input(engine *e, int64_t count)
{
    const int64_t hidden = e->layer->info.hidden;
    for (int64_t n = 0; n < count; n++)
        memcpy(e->gathered + n * hidden, e->chunk.x + experts_token(e, e->members[n]) * hidden,
               (size_t)hidden * sizeof(double));
}

static void up_gate_of(engine *e, const expert *wanted, int64_t count)
{
    const fp8moe_recipe *const r = &e->layer->recipe;
    experts_gather_input(e, count);
    expert_job j = {.engine = e, .expert = wanted, .count = count, .visit = up_gate_block};
    j.exact = experts_multiply_codes(r) && r->input != FP8MOE_INPUT_AS_IS &&
              kernels_all_finite(e->gathered, count * e->layer->info.hidden);
    experts_each_up_gate(&j);
}

void experts_up_gate(engine *e)
{
    for (int64_t i = 0; i < e->layer->expert_count; i++) {
        const int64_t count = experts_members(e, &e->layer->experts[i]);
        if (count) up_gate_of(e, &e->layer->experts[i], count);
    }
    copy_to_twins(e, e->chunk.up_gate, (size_t)(2 * e->layer->info.intermediate) * sizeof(double));
}

/* ---- activation ---- */

double experts_silu(const fp8moe_recipe *r, double gate)
{
    if (r->silu_form == FP8MOE_SILU_TWO_STEP)
        return round_to(r->silu, gate * round_to(r->silu, own_sigmoid(gate)));
    return round_to(r->silu, own_silu(gate));
}

/* A device's silu, where one is imitated: some values a step off, the same ones for equal inputs.
 */
static double imitate_silu(const engine *e, int64_t slot, int64_t i, double silu)
{
    const fp8moe_config *const c = &e->layer->config;
    if (!c->shuffle_sums || c->silu_step_rate <= 0) return silu;
    uint64_t state = c->shuffle_seed;
    const int64_t local = e->layer->config.replicate_expert ? 0 : e->chunk.local[slot];
    const int64_t place[] = {e->chunk.first + experts_token(e, slot), local, i};
    for (int n = 0; n < 3; n++)
        state = shuffle_next(&state) ^ (uint64_t)place[n];
    const double draw = (double)(shuffle_next(&state) >> 11) * 0x1p-53;
    if (draw >= c->silu_step_rate) return silu;
    return interval_step(e->layer->recipe.silu, silu, draw < c->silu_step_rate / 2 ? 1 : -1);
}

static void activate_slot(engine *e, int64_t slot)
{
    const fp8moe_recipe *const r = &e->layer->recipe;
    const int64_t inter = e->layer->info.intermediate;
    const double *const gate = e->chunk.up_gate + slot * 2 * inter, *const up = gate + inter;
    double *const out = e->chunk.activation + slot * inter;
    for (int64_t i = 0; i < inter; i++)
        out[i] = round_to(r->product, imitate_silu(e, slot, i, experts_silu(r, gate[i])) * up[i]);
}

static void activate_slots(void *context, int64_t first, int64_t last, int worker)
{
    engine *const e = context;
    (void)worker;
    for (int64_t slot = first; slot < last; slot++)
        if (e->chunk.local[slot] >= 0 && experts_source(e, slot) == slot) activate_slot(e, slot);
}

void experts_activate(engine *e)
{
    parallel_for(e->layer->config.threads, e->chunk.tokens * e->layer->info.top_k, activate_slots,
                 e);
    copy_to_twins(e, e->chunk.activation, (size_t)e->layer->info.intermediate * sizeof(double));
}

static void requantise_slot(engine *e, const expert *own, int64_t slot)
{
    const fp8moe_layer *const layer = e->layer;
    const fp8moe_recipe *const r = &layer->recipe;
    const int64_t inter = layer->info.intermediate;
    const double *const p = e->chunk.activation + slot * inter;
    uint8_t *const codes = e->chunk.act_codes + slot * inter;
    const fp8moe_precision steps = quant_steps(layer->target, r->intermediate_cast, r->product);
    double *const scale = &e->chunk.act_scale[slot];
    switch (r->intermediate) {
    case FP8MOE_INTERMEDIATE_KEPT:
        *scale = 1;
        break;
    case FP8MOE_INTERMEDIATE_FP8_ROW:
        *scale = quant_row(&layer->kernels, layer->target, steps, p, inter, codes);
        break;
    case FP8MOE_INTERMEDIATE_FP8_STATIC:
        *scale = own->w2_input_scale;
        quant_static(&layer->kernels, layer->target, r->intermediate_cast, *scale, p, inter, codes);
        break;
    case FP8MOE_INTERMEDIATE_FP8_EAGER:
        *scale = quant_scale(layer->target, steps, layer->kernels.amax(p, inter));
        quant_codes(&layer->kernels, layer->target, steps, *scale, p, inter, codes);
        break;
    }
}

static void requantise_slots(void *context, int64_t first, int64_t last, int worker)
{
    engine *const e = context;
    (void)worker;
    for (int64_t slot = first; slot < last; slot++)
        if (e->chunk.local[slot] >= 0)
            requantise_slot(e, layer_expert(e->layer, e->chunk.local[slot]), slot);
}

void experts_requantise(engine *e)
{
    parallel_for(e->layer->config.threads, e->chunk.tokens * e->layer->info.top_k, requantise_slots,
                 e);
}

/* ---- down ---- */

double experts_operand(fp8moe_down_operand form, double value, double *low)
{
    switch (form) {
    case FP8MOE_DOWN_SCALED_F32:
        return round_f32(value);
    case FP8MOE_DOWN_SCALED_TF32:
        return round_tf32(value);
    case FP8MOE_DOWN_SCALED_BF16:
        return round_bf16(value);
    case FP8MOE_DOWN_SCALED_BF16X3:
        *low = round_bf16(value - round_bf16(value));
        return round_bf16(value);
    case FP8MOE_DOWN_CODE:
    case FP8MOE_DOWN_WEIGHT:
        break;
    }
    return value;
}

static bool scales_weights_first(fp8moe_down_operand form)
{
    return form != FP8MOE_DOWN_CODE && form != FP8MOE_DOWN_WEIGHT;
}

static void gather_activation(engine *e, int64_t count)
{
    const fp8moe_recipe *const r = &e->layer->recipe;
    const int64_t inter = e->layer->info.intermediate;
    for (int64_t n = 0; n < count; n++) {
        const int64_t slot = e->members[n];
        double *const out = e->gathered + n * inter;
        if (r->intermediate != FP8MOE_INTERMEDIATE_KEPT) {
            e->layer->kernels.decode(out, e->chunk.act_codes + slot * inter, e->layer->reader.table,
                                     inter);
            continue;
        }
        double unused, *const low = e->gathered_low + n * inter;
        const bool split = r->down_operand == FP8MOE_DOWN_SCALED_BF16X3;
        for (int64_t i = 0; i < inter; i++)
            out[i] = experts_operand(r->down_operand, e->chunk.activation[slot * inter + i],
                                     split ? low + i : &unused);
    }
}

double experts_down_row(const engine *e, const expert *own, int64_t row, double *out, double *low,
                        uint8_t *codes)
{
    const fp8moe_down_operand form = e->layer->recipe.down_operand;
    const double scale = weights_row(&e->layer->reader, &own->down, row, out, codes);
    if (!scales_weights_first(form)) return scale;
    if (form == FP8MOE_DOWN_SCALED_BF16) { /* bf16(code * s2), rounded once */
        e->layer->kernels.scale_bf16(out, own->down.cols, scale);
        return 1;
    }
    for (int64_t i = 0; i < own->down.cols; i++)
        out[i] = round_f32(out[i] * scale);
    /* tf32 and split operands are read from an f32 tensor */
    for (int64_t i = 0; form != FP8MOE_DOWN_SCALED_F32 && i < own->down.cols; i++)
        out[i] = experts_operand(form, out[i], &low[i]);
    return 1;
}

static void each_down(void *context, int64_t first, int64_t last, int worker)
{
    const expert_job *const j = context;
    const int64_t hidden = j->engine->layer->info.hidden;
    uint8_t *codes;
    row_block b = block_of(j, worker, &codes);
    for (int64_t n = first; n < last; n++) {
        b.row = n * ROWS;
        b.rows = min_i64(ROWS, hidden - b.row);
        for (int64_t i = 0; i < b.rows; i++)
            b.scale[i] = experts_down_row(j->engine, j->expert, b.row + i,
                                          b.weights + i * j->length, b.low + i * j->length, codes);
        j->visit(j, &b);
    }
}

void experts_each_down(expert_job *j)
{
    const fp8moe_layer *const layer = j->engine->layer;
    j->length = layer->info.intermediate;
    j->shuffle = &j->engine->shuffle_inter;
    parallel_for(j->threads ? j->threads : layer->config.threads,
                 ceil_div(layer->info.hidden, ROWS), each_down, j);
}

/* A split dot: high * high + high * low + low * high. */
static void add_split_dots(const expert_job *j, row_block *b)
{
    const engine *const e = j->engine;
    const double *const pairs[2][2] = {{e->gathered, b->low}, {e->gathered_low, b->weights}};
    for (int p = 0; p < 2; p++) {
        experts_dot(j, b->more, pairs[p][0], pairs[p][1], b->rows);
        for (int64_t i = 0; i < j->count * b->rows; i++)
            b->dots[i] += b->more[i];
    }
}

double experts_down_scaled(const fp8moe_recipe *r, double dot, double act_scale, double scale)
{
    if (r->down_operand != FP8MOE_DOWN_CODE)
        return experts_scaled(r->down_round, FP8MOE_SCALE_NONE, r->down_out, dot, 1, 1);
    const bool undone_here =
        r->row_scale == FP8MOE_ROW_SCALE_DOWN && r->intermediate != FP8MOE_INTERMEDIATE_FP8_EAGER;
    const fp8moe_scale_form form =
        r->row_scale == FP8MOE_ROW_SCALE_DOWN ? r->scale : FP8MOE_SCALE_F32;
    return experts_scaled(r->down_round, form, r->down_out, dot, undone_here ? act_scale : 1,
                          scale);
}

static void down_block(const expert_job *j, row_block *b)
{
    const engine *const e = j->engine;
    const fp8moe_recipe *const r = &e->layer->recipe;
    const int64_t hidden = e->layer->info.hidden;
    experts_dot(j, b->dots, e->gathered, b->weights, b->rows);
    if (r->down_operand == FP8MOE_DOWN_SCALED_BF16X3) add_split_dots(j, b);
    for (int64_t n = 0; n < j->count; n++)
        for (int64_t i = 0; i < b->rows; i++)
            e->chunk.expert_output[e->members[n] * hidden + b->row + i] = experts_down_scaled(
                r, b->dots[n * b->rows + i], e->chunk.act_scale[e->members[n]], b->scale[i]);
}

static void down_of(engine *e, const expert *wanted, int64_t count)
{
    const fp8moe_recipe *const r = &e->layer->recipe;
    gather_activation(e, count);
    expert_job j = {.engine = e, .expert = wanted, .count = count, .visit = down_block};
    j.exact = experts_multiply_codes(r) && r->down_operand == FP8MOE_DOWN_CODE &&
              r->intermediate != FP8MOE_INTERMEDIATE_KEPT &&
              kernels_all_finite(e->gathered, count * e->layer->info.intermediate);
    experts_each_down(&j);
}

void experts_down_slot(engine *e, int64_t slot)
{
    e->members[0] = slot;
    down_of(e, layer_expert(e->layer, e->chunk.local[slot]), 1);
}

void experts_down(engine *e)
{
    for (int64_t i = 0; i < e->layer->expert_count; i++) {
        const int64_t count = experts_members(e, &e->layer->experts[i]);
        if (count) down_of(e, &e->layer->experts[i], count);
    }
    copy_to_twins(e, e->chunk.expert_output, (size_t)e->layer->info.hidden * sizeof(double));
}

/* ---- pairs nobody routed ---- */

void experts_spare(engine *e, int64_t local)
{
    const expert *const own = layer_expert(e->layer, local);
    const int64_t tokens = e->chunk.tokens, routed = tokens * e->layer->info.top_k;
    for (int64_t t = 0; t < tokens; t++)
        e->members[t] = routed + t;
    up_gate_of(e, own, tokens);
    for (int64_t t = 0; t < tokens; t++) {
        activate_slot(e, routed + t);
        requantise_slot(e, own, routed + t);
    }
    down_of(e, own, tokens);
}

const double *experts_swapped(engine *e, int64_t slot, int64_t token)
{
    const int64_t inter = e->layer->info.intermediate, hidden = e->layer->info.hidden;
    const int64_t spare = e->chunk.tokens * e->layer->info.top_k + token;
    const expert *const own = layer_expert(e->layer, e->chunk.local[slot]);
    const double *const from = e->chunk.up_gate + slot * 2 * inter;
    double *const to = e->chunk.up_gate + spare * 2 * inter;
    memcpy(to, from + inter, (size_t)inter * sizeof *to);
    memcpy(to + inter, from, (size_t)inter * sizeof *to);
    activate_slot(e, spare);
    requantise_slot(e, own, spare);
    e->members[0] = spare;
    down_of(e, own, 1);
    return e->chunk.expert_output + spare * hidden;
}

static double largest_scale(const matrix *m)
{
    double largest = m->kind == SCALE_ABSENT ? 1 : 0;
    for (int64_t i = 0; m->kind != SCALE_ABSENT && i < fp8moe_tensor_count(&m->scale); i++) {
        double scale;
        fp8moe_tensor_read_f64(&m->scale, i, 1, &scale);
        if (scale != scale) return scale;
        scale = scale < 0 ? -scale : scale;
        if (scale > largest) largest = scale;
    }
    return largest;
}

static bool has_nonfinite_weight(const fp8moe_layer *layer, const matrix *m)
{
    double values[1024];
    uint8_t codes[1024];
    const bool fp8 = m->weight.dtype == FP8MOE_DTYPE_F8_E4M3;
    for (int64_t at = 0, n; at < m->rows * m->cols; at += n) {
        n = min_i64(1024, m->rows * m->cols - at);
        if (!fp8) {
            fp8moe_tensor_read_f64(&m->weight, at, n, values);
            if (!kernels_all_finite(values, n)) return true;
            continue;
        }
        fp8moe_tensor_read_raw(&m->weight, at, n, codes);
        for (int64_t i = 0; i < n; i++)
            if ((codes[i] & 0x7F) >= layer->target->nan_code_first) return true;
    }
    return false;
}

/* No step of the expert can leave the range of f32 (and bf16, which shares it) for tokens of
 * magnitude at most `amax`. The factor 2 covers what quantising and requantising may add. */
static bool stays_in_range(const fp8moe_layer *layer, const expert *own, double amax)
{
    const double limit = 0x1p127, code = 448;
    const double gate = largest_scale(&own->gate), up = largest_scale(&own->up),
                 down = largest_scale(&own->down);
    const double dot = 2 * amax * code * (double)layer->info.hidden;
    const double product = dot * gate * dot * up;
    const double output = 2 * product * code * down * (double)layer->info.intermediate;
    const double codes_only =
        code * code * (double)max_i64(layer->info.hidden, layer->info.intermediate);
    /* Written so that a NaN scale fails. */
    return dot * gate < limit && dot * up < limit && product < limit && output < limit &&
           codes_only * (gate + up + down) < limit;
}

bool experts_may_poison(const fp8moe_layer *layer, int64_t local, double amax)
{
    const expert *const own = layer_expert(layer, local);
    const matrix *const all[] = {&own->gate, &own->up, &own->down};
    if (!stays_in_range(layer, own, amax)) return true;
    for (int i = 0; i < 3; i++)
        if (has_nonfinite_weight(layer, all[i])) return true;
    return false;
}

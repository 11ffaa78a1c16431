#include "fault_layer.h"

#include "bits.h"
#include "e4m3.h"
#include "parallel.h"
#include "weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const made_shape made_shapes[MADE_SHAPES] = {
    {"small", 1024, 384, 8, 12, 2.5, "gaudi2", true},
    {"Qwen3.5-35B-A3B", 2048, 512, 8, 16, 1, "gaudi2", false},
    {"Qwen3-Next-80B-A3B", 2048, 512, 10, 16, 1, "gaudi3", false},
    {"Qwen3-30B-A3B", 2048, 768, 8, 16, 1, "gaudi2", false},
    {"MiniMax-M2", 3072, 1536, 8, 16, 1, "gaudi3", false},
    {"Qwen3-235B-A22B", 4096, 1536, 8, 16, 1, "gaudi2", false},
    {"DeepSeek-V3", 7168, 2048, 8, 12, 2.5, "gaudi3", false},
};

void made_check(fp8moe_status status, const fp8moe_error *err)
{
    if (status == FP8MOE_OK) return;
    fprintf(stderr, "the suite is broken: %s\n", err->message);
    exit(2);
}

/* ---- memory ---- */

void *made_take(made_memory *memory, int64_t count, size_t size)
{
    if (memory->count == memory->room) {
        memory->room = 2 * memory->room + 16;
        memory->blocks = realloc(memory->blocks, (size_t)memory->room * sizeof *memory->blocks);
    }
    void *const block = memory->blocks ? malloc((size_t)count * size + 1) : NULL;
    if (!block) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory->blocks[memory->count++] = block;
}

void made_free(made_memory *memory)
{
    for (int i = 0; i < memory->count; i++)
        free(memory->blocks[i]);
    free(memory->blocks);
    *memory = (made_memory){0};
}

static void *copy_of(made_memory *memory, const void *from, int64_t count, size_t size)
{
    return memcpy(made_take(memory, count, size), from, (size_t)count * size);
}

/* ---- numbers ---- */

uint64_t made_bits(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    z = (z ^ z >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return z ^ z >> 33;
}

double made_uniform(uint64_t *state)
{
    return (double)(made_bits(state) >> 11) * 0x1p-53;
}

/* Twelve uniform numbers: tails end at 6, which is far enough. */
double made_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += made_uniform(state);
    return sum;
}

/* Student's t with 5 degrees of freedom: weights have outliers. */
static double student(uint64_t *state)
{
    double square = 0;
    for (int i = 0; i < 5; i++) {
        const double z = made_normal(state);
        square += z * z;
    }
    return made_normal(state) / sqrt(square / 5);
}

double made_from_bf16(uint16_t bits)
{
    return (double)f32_from_bits((uint32_t)bits << 16);
}

uint16_t made_to_bf16(double value)
{
    return (uint16_t)(f32_bits((float)round_bf16(value)) >> 16);
}

/* ---- weights ---- */

#define TABLE 65536
/* Code value of a weight of one standard deviation, such that a block's largest is near the end of
 * the range. */
#define CODE_DEVIATION 18.0

static const uint8_t *code_table(made_model *model)
{
    uint8_t *const table = made_take(&model->memory, TABLE, 1);
    uint64_t state = 5;
    for (int i = 0; i < TABLE; i++) {
        const uint8_t code = e4m3_encode(model->target, CODE_DEVIATION * student(&state));
        table[i] = (code & 0x7F) > 0x77 ? (uint8_t)((code & 0x80) | 0x77) : code;
    }
    return table;
}

/* Codes by table, block scales around the one that gives weights a standard deviation of
 * 1/sqrt(columns). */
static fp8moe_weight make_matrix(made_model *m, const uint8_t *table, int64_t rows, int64_t cols,
                                 uint64_t seed)
{
    const int64_t count = rows * cols, grid[2] = {rows / MADE_BLOCK, cols / MADE_BLOCK},
                  shape[2] = {rows, cols};
    uint8_t *const codes = made_take(&m->memory, count, 1);
    float *const scale = made_take(&m->memory, grid[0] * grid[1], sizeof *scale);
    for (int64_t i = 0; i + 4 <= count; i += 4) {
        const uint64_t bits = made_bits(&seed);
        for (int n = 0; n < 4; n++)
            codes[i + n] = table[bits >> 16 * n & 0xFFFF];
    }
    for (int64_t i = 0; i < grid[0] * grid[1]; i++)
        scale[i] = (float)((0.5 + made_uniform(&seed)) / sqrt((double)cols) / CODE_DEVIATION);
    return (fp8moe_weight){.weight = fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, shape),
                           .scale = fp8moe_tensor_view(scale, FP8MOE_DTYPE_F32, 2, grid)};
}

typedef struct preparing {
    weight_reader reader;
    matrix from;
    uint8_t *codes;
    float *scale;
} preparing;

static void prepare_rows(void *context, int64_t first, int64_t last, int worker)
{
    const preparing *const p = context;
    double *const numbers = malloc((size_t)p->from.cols * sizeof *numbers);
    (void)worker;
    for (int64_t row = first; numbers && row < last; row++)
        p->scale[row] =
            (float)weights_row(&p->reader, &p->from, row, numbers, p->codes + row * p->from.cols);
    free(numbers);
}

static fp8moe_weight prepare_matrix(const made_model *m, made_memory *memory,
                                    const fp8moe_weight *blocks)
{
    preparing p = {.reader = {.target = m->target,
                              .table = e4m3_table(m->target),
                              .form = FP8MOE_FORM_PREPARED,
                              .stage = FP8MOE_WEIGHTS_LOADED,
                              .kernels = &m->kernels}};
    made_check(matrix_check(blocks, -1, -1, MADE_BLOCK, MADE_BLOCK, "weight", &p.from, NULL), NULL);
    p.codes = made_take(memory, p.from.rows * p.from.cols, 1);
    p.scale = made_take(memory, p.from.rows, sizeof *p.scale);
    parallel_for(1, p.from.rows, prepare_rows, &p);
    return (fp8moe_weight){
        .weight = fp8moe_tensor_view(p.codes, FP8MOE_DTYPE_F8_E4M3, 2, blocks->weight.shape),
        .scale = fp8moe_tensor_view(p.scale, FP8MOE_DTYPE_F32, 1, &p.from.rows)};
}

fp8moe_expert made_prepare(const made_model *m, made_memory *memory, const fp8moe_expert *blocks)
{
    return (fp8moe_expert){.gate = prepare_matrix(m, memory, &blocks->gate),
                           .up = prepare_matrix(m, memory, &blocks->up),
                           .down = prepare_matrix(m, memory, &blocks->down)};
}

static void make_experts(made_model *m)
{
    const made_shape *const s = m->shape;
    const uint8_t *const table = code_table(m);
    m->blocks = made_take(&m->memory, s->local, sizeof *m->blocks);
    m->prepared = made_take(&m->memory, s->local, sizeof *m->prepared);
    for (int64_t e = 0; e < s->local; e++) {
        const uint64_t seed = (uint64_t)(3 * e + 1) << 40;
        m->blocks[e] =
            (fp8moe_expert){.gate = make_matrix(m, table, s->inter, s->hidden, seed),
                            .up = make_matrix(m, table, s->inter, s->hidden, 2 * seed + 1),
                            .down = make_matrix(m, table, s->hidden, s->inter, 3 * seed + 2)};
        m->prepared[e] = made_prepare(m, &m->memory, &m->blocks[e]);
    }
}

/* ---- input and routing ---- */

/* One channel in 256 carries outliers, as real activations do. */
static void make_hidden(made_model *m)
{
    const int64_t hidden = m->shape->hidden;
    uint64_t state = 77;
    double *const channel = made_take(&m->memory, hidden, sizeof *channel);
    m->hidden = made_take(&m->memory, MADE_ROWS * hidden, sizeof *m->hidden);
    for (int64_t h = 0; h < hidden; h++)
        channel[h] = made_bits(&state) % 256 ? 1 : 8 + 8 * made_uniform(&state);
    for (int64_t i = 0; i < MADE_ROWS * hidden; i++)
        m->hidden[i] = made_to_bf16(0.8 * channel[i % hidden] * made_normal(&state));
}

/* Three quarters of a token's experts are here (rank 1). */
static void make_ids(made_model *m, int64_t token, uint64_t *state)
{
    const int64_t top_k = m->shape->top_k, local = m->shape->local, foreign = top_k / 4;
    int64_t *const ids = m->ids + token * top_k;
    for (int64_t k = 0; k < top_k; k++) {
        bool taken = true;
        while (taken) {
            ids[k] = (int64_t)(made_bits(state) % (uint64_t)local) +
                     (k % 4 == 3 && k / 4 < foreign ? 0 : local);
            taken = false;
            for (int64_t n = 0; n < k; n++)
                taken |= ids[n] == ids[k];
        }
    }
}

static void make_routing(made_model *m)
{
    const int64_t top_k = m->shape->top_k;
    uint64_t state = 99;
    m->ids = made_take(&m->memory, MADE_ROWS * top_k, sizeof *m->ids);
    m->weights = made_take(&m->memory, MADE_ROWS * top_k, sizeof *m->weights);
    m->shares = made_take(&m->memory, MADE_ROWS, sizeof *m->shares);
    for (int64_t t = 0; t < MADE_ROWS; t++) {
        double sum = 0, share = 1;
        double raw[16];
        make_ids(m, t, &state);
        for (int64_t k = 0; k < top_k; k++) {
            share *= 0.65 + 0.35 * made_uniform(&state);
            sum += raw[k] = share;
        }
        for (int64_t k = 0; k < top_k; k++)
            m->weights[t * top_k + k] = (float)(raw[k] / sum * m->shape->scaling_factor);
        m->shares[t] = (float)(0.7 + 0.25 * made_uniform(&state));
    }
    m->victim_slot = 1;
    m->victim = m->ids[1] - m->shape->local;
}

/* ---- static scales: as a calibration would leave them ---- */

static double largest(const fp8moe_tensor *t)
{
    double amax = 0, value;
    for (int64_t i = 0; i < fp8moe_tensor_count(t); i++) {
        fp8moe_tensor_read_f64(t, i, 1, &value);
        if (fabs(value) > amax) amax = fabs(value);
    }
    return amax;
}

static void calibrate(made_model *m)
{
    const int64_t shape[2] = {MADE_TOKENS, m->shape->hidden};
    const fp8moe_tensor x = fp8moe_tensor_view(m->hidden, FP8MOE_DTYPE_BF16, 2, shape);
    made_plan plan;
    m->w13_input_scale = (float)(0.9 * largest(&x) / (double)m->target->fp8_max);
    m->w2_input_scale = 1;
    made_plan_open(&plan, m, "static-moe", MADE_TOKENS);
    const fp8moe_tensor activation = made_plan_stage(&plan, FP8MOE_STAGE_ACTIVATION);
    m->w2_input_scale = (float)(0.7 * largest(&activation) / (double)m->target->fp8_max);
    made_plan_close(&plan);
}

made_model *made_open(const made_shape *shape)
{
    made_model *const m = calloc(1, sizeof *m);
    if (!m) exit(2);
    m->shape = shape;
    m->target = fp8moe_target_find(shape->target);
    (void)kernels_init(&m->kernels, NULL, false);
    make_experts(m);
    make_hidden(m);
    make_routing(m);
    calibrate(m);
    return m;
}

void made_close(made_model *m)
{
    made_free(&m->memory);
    free(m);
}

/* ---- what the engine is given ---- */

bool made_takes_blocks(const fp8moe_recipe *recipe)
{
    return recipe->weights == FP8MOE_FORM_DEQUANT;
}

void made_plan_open(made_plan *p, const made_model *m, const char *recipe, int64_t tokens)
{
    const made_shape *const s = m->shape;
    const int64_t one = 1;
    *p = (made_plan){.model = m, .recipe = *fp8moe_recipe_find(recipe), .tokens = tokens};
    fp8moe_config_default(&p->config);
    p->config.target = m->target;
    p->config.weights_stage =
        p->recipe.weights == FP8MOE_FORM_PREPARED ? FP8MOE_WEIGHTS_PREPARED : FP8MOE_WEIGHTS_LOADED;
    p->config.num_experts = 2 * s->local;
    p->config.local_num_experts = s->local;
    p->config.ep_rank = 1;
    p->config.threads = 1;
    p->experts = copy_of(&p->memory, made_takes_blocks(&p->recipe) ? m->blocks : m->prepared,
                         s->local, sizeof *p->experts);
    p->hidden = copy_of(&p->memory, m->hidden, MADE_ROWS * s->hidden, sizeof *p->hidden);
    p->ids = copy_of(&p->memory, m->ids, MADE_ROWS * s->top_k, sizeof *p->ids);
    p->weights = copy_of(&p->memory, m->weights, MADE_ROWS * s->top_k, sizeof *p->weights);
    if (p->recipe.input != FP8MOE_INPUT_FP8_STATIC) return;
    p->w13_input_scale = fp8moe_tensor_view(&m->w13_input_scale, FP8MOE_DTYPE_F32, 1, &one);
    p->w2_input_scale = fp8moe_tensor_view(&m->w2_input_scale, FP8MOE_DTYPE_F32, 1, &one);
    for (int64_t e = 0; e < s->local; e++) {
        p->experts[e].w13_input_scale = p->w13_input_scale;
        p->experts[e].w2_input_scale = p->w2_input_scale;
    }
}

void made_plan_close(made_plan *p)
{
    made_free(&p->memory);
}

void made_plan_noise(made_plan *p, uint64_t seed, double silu_rate)
{
    p->config.shuffle_sums = true;
    p->config.shuffle_seed = seed;
    p->config.silu_step_rate = silu_rate;
}

fp8moe_inputs made_plan_inputs(const made_plan *p)
{
    const made_shape *const s = p->model->shape;
    const int64_t x[2] = {p->tokens, s->hidden}, slots[2] = {p->tokens, s->top_k};
    return (fp8moe_inputs){.hidden_states = fp8moe_tensor_view(p->hidden, FP8MOE_DTYPE_BF16, 2, x),
                           .topk_ids = fp8moe_tensor_view(p->ids, FP8MOE_DTYPE_I64, 2, slots),
                           .topk_weights =
                               fp8moe_tensor_view(p->weights, FP8MOE_DTYPE_F32, 2, slots),
                           .experts = p->experts,
                           .expert_count = s->local};
}

static void run_with(const made_plan *p, const fp8moe_observer *observer, double *output)
{
    const fp8moe_inputs inputs = made_plan_inputs(p);
    fp8moe_config config = p->config;
    fp8moe_layer *layer;
    fp8moe_error err;
    config.recipe = &p->recipe;
    made_check(fp8moe_layer_open(&config, &inputs, &layer, &err), &err);
    for (int stage = 0; stage < FP8MOE_STAGE_COUNT; stage++)
        if (fp8moe_tensor_present(&p->from[stage]))
            made_check(fp8moe_layer_from(layer, (fp8moe_stage)stage, &p->from[stage], &err), &err);
    made_check(fp8moe_layer_run(layer, observer, output, &err), &err);
    fp8moe_layer_close(layer);
}

void made_plan_run(const made_plan *p, uint16_t *output)
{
    const int64_t count = p->tokens * p->model->shape->hidden;
    double *const numbers = malloc((size_t)count * sizeof *numbers);
    if (!numbers) exit(2);
    run_with(p, NULL, numbers);
    for (int64_t i = 0; i < count; i++)
        output[i] = made_to_bf16(numbers[i]);
    free(numbers);
}

typedef struct recording {
    made_plan *plan;
    fp8moe_stage stage;
    fp8moe_tensor tensor;
    int64_t row_size;
} recording;

static void start_recording(recording *r, const fp8moe_tensor *total)
{
    const int64_t count = fp8moe_tensor_count(total);
    const bool codes = total->dtype == FP8MOE_DTYPE_F8_E4M3;
    r->tensor = fp8moe_tensor_view(made_take(&r->plan->memory, count, codes ? 1 : sizeof(float)),
                                   codes ? FP8MOE_DTYPE_F8_E4M3 : FP8MOE_DTYPE_F32, total->rank,
                                   total->shape);
    r->row_size = count / total->shape[0];
}

static fp8moe_status record_stage(void *user, fp8moe_stage stage, int64_t first_token,
                                  const fp8moe_tensor *rows, const fp8moe_tensor *total,
                                  fp8moe_error *err)
{
    recording *const r = user;
    (void)err;
    if (stage != r->stage) return FP8MOE_OK;
    if (!fp8moe_tensor_present(&r->tensor)) start_recording(r, total);
    const int64_t count = fp8moe_tensor_count(rows), at = first_token * r->row_size;
    if (total->dtype == FP8MOE_DTYPE_F8_E4M3) {
        fp8moe_tensor_read_raw(rows, 0, count, (uint8_t *)(uintptr_t)r->tensor.data + at);
        return FP8MOE_OK;
    }
    float *const to = (float *)(uintptr_t)r->tensor.data + at;
    for (int64_t i = 0; i < count; i++) {
        double value;
        fp8moe_tensor_read_f64(rows, i, 1, &value);
        to[i] = (float)value;
    }
    return FP8MOE_OK;
}

fp8moe_tensor made_plan_stage(made_plan *p, fp8moe_stage stage)
{
    recording r = {.plan = p, .stage = stage};
    const fp8moe_observer observer = {record_stage, &r};
    run_with(p, &observer, NULL);
    return r.tensor;
}

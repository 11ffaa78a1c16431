/* Layers made up from a seed, twice over: as the tensors the library opens, and as the slow model's
 * plain arrays, in which every weight has its own scale written beside it. No layout is parsed
 * here: the tensors are written from the same loop that writes the arrays. */
#ifndef FP8MOE_TESTS_MADE_LAYER_H
#define FP8MOE_TESTS_MADE_LAYER_H

#include "slow_forward.h"

/* Where the scales of w13 and w2 stand. */
typedef enum made_layout {
    MADE_NO_SCALE,      /* bf16 weights */
    MADE_PER_LAYER,     /* [], [] */
    MADE_PER_EXPERT,    /* [E], [E] */
    MADE_PER_HALF,      /* [E, 2], [E] */
    MADE_PER_ROW,       /* [E, 2I], [E, H] */
    MADE_PER_ROW_1,     /* [E, 2I, 1], [E, H, 1] */
    MADE_BLOCKS,        /* gate and up each with a grid of their own, one below the other */
    MADE_BLOCKS_THROUGH /* one grid over all 2I rows; as MADE_BLOCKS where both have as many rows */
} made_layout;

/* What is out of the ordinary. */
enum {
    MADE_F32_INPUT = 1 << 0,     /* hidden_states F32, not bf16 numbers */
    MADE_BAD_TOKENS = 1 << 1,    /* token 0 holds a NaN, token 1 an Inf */
    MADE_ZERO_TOKEN = 1 << 2,    /* the last token is zero */
    MADE_FOREIGN = 1 << 3,       /* ids of other ranks and -1 */
    MADE_DUPLICATES = 1 << 4,    /* ids may repeat within a token */
    MADE_ZERO_WEIGHTS = 1 << 5,  /* some router weights are 0 */
    MADE_NAN_CODE = 1 << 6,      /* one NaN code in w2 of the last local expert */
    MADE_NAN_SCALE = 1 << 7,     /* one NaN scale in w13 of the first local expert */
    MADE_INF_SCALE = 1 << 8,     /* one infinite scale in w2 of the last local expert */
    MADE_HUGE = 1 << 9,          /* expert 0's down scales overflow f32 */
    MADE_CANCELLING = 1 << 10,   /* duplicates whose weights add to 0 */
    MADE_BF16_WEIGHTS = 1 << 11, /* topk_weights BF16, else F32 */
    MADE_ANY_CODE = 1 << 12,     /* codes up to 0x7E, else up to 0x77 */
    MADE_REPLICATED = 1 << 13    /* one expert for all */
};

typedef struct made_options {
    uint64_t seed;
    int tokens, hidden, inter, top_k, experts, local, rank;
    int block_rows, block_cols; /* 0: 128 */
    made_layout layout;
    unsigned flags;
} made_options;

typedef struct made_layer {
    fp8moe_config config;
    fp8moe_inputs inputs;
    slow_layer slow;
    void *owned[96];
    int owned_count;
    uint64_t state;
    made_options options;
} made_layer;

/* ---- random numbers ---- */

static inline uint64_t made_bits(made_layer *m)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t z = m->state;
    z ^= z >> 31;
    z *= UINT64_C(0x9E3779B97F4A7C15);
    return z ^ z >> 29;
}

static inline int made_below(made_layer *m, int n)
{
    return (int)(made_bits(m) % (uint64_t)n);
}

/* In (-1, 1), near 0 more often than not. */
static inline double made_number(made_layer *m)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += (double)(made_bits(m) >> 11) * 0x1p-53;
    return sum / 1.5 - 1;
}

static inline float made_scale(made_layer *m, double about)
{
    return (float)(about * (1.25 + 0.75 * made_number(m)));
}

static inline void *made_room(made_layer *m, int64_t count, size_t size)
{
    void *const memory = calloc((size_t)count + 1, size);
    if (!memory || m->owned_count == (int)(sizeof m->owned / sizeof m->owned[0])) abort();
    return m->owned[m->owned_count++] = memory;
}

static inline uint16_t made_bf16_bits(double bf16_number)
{
    const float value = (float)bf16_number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* A tensor of F32 or BF16 holding `numbers`, which the dtype must be able to hold. */
static inline fp8moe_tensor made_tensor(made_layer *m, fp8moe_dtype dtype, const double *numbers,
                                        int rank, const int64_t *shape)
{
    const fp8moe_tensor counted = fp8moe_tensor_view(NULL, dtype, rank, shape);
    const int64_t count = fp8moe_tensor_count(&counted);
    float *const f32 = made_room(m, count, sizeof *f32);
    for (int64_t i = 0; i < count; i++) {
        if (dtype == FP8MOE_DTYPE_BF16)
            ((uint16_t *)(void *)f32)[i] = made_bf16_bits(numbers[i]);
        else
            f32[i] = (float)numbers[i];
    }
    return fp8moe_tensor_view(f32, dtype, rank, shape);
}

/* ---- input and routing ---- */

static inline void made_input(made_layer *m)
{
    const made_options *const o = &m->options;
    const bool f32 = o->flags & MADE_F32_INPUT;
    const int64_t count = (int64_t)o->tokens * o->hidden, shape[2] = {o->tokens, o->hidden};
    bool all_bf16 = true;
    double *const x = made_room(m, count, sizeof *x);
    for (int64_t i = 0; i < count; i++) {
        const double size = i / o->hidden == 2 ? 0x1p-20 : 2; /* token 2 is tiny: 1e-8 counts */
        x[i] = slow_f32_of(size * made_number(m));
        if (!f32) x[i] = slow_bf16_of(x[i]);
        if (o->flags & MADE_ZERO_TOKEN && i / o->hidden == o->tokens - 1) x[i] = i % 2 ? -0.0 : 0.0;
    }
    if (o->flags & MADE_BAD_TOKENS && o->tokens > 1) {
        x[o->hidden / 2] = (double)NAN;
        x[o->hidden] = -(double)INFINITY;
    }
    m->slow.x = x;
    for (int64_t i = 0; i < count; i++)
        all_bf16 &= isnan(x[i]) || x[i] == slow_bf16_of(x[i]);
    m->slow.input_is_bf16 = all_bf16; /* F32 whose low halves are all zero is judged as bf16 */
    m->inputs.hidden_states =
        made_tensor(m, f32 ? FP8MOE_DTYPE_F32 : FP8MOE_DTYPE_BF16, x, 2, shape);
}

static inline int64_t made_id(made_layer *m, const int64_t *before, int count)
{
    const made_options *const o = &m->options;
    if (o->flags & MADE_FOREIGN && made_below(m, 4) == 0) return -1;
    for (;;) {
        const bool any = o->flags & MADE_FOREIGN;
        const int64_t id =
            any ? made_below(m, o->experts) : o->rank * o->local + made_below(m, o->local);
        bool taken = false;
        for (int k = 0; k < count; k++)
            taken |= before[k] == id;
        if (!taken || o->flags & MADE_DUPLICATES) return id;
    }
}

static inline void made_routing(made_layer *m)
{
    const made_options *const o = &m->options;
    const int64_t slots = (int64_t)o->tokens * o->top_k, shape[2] = {o->tokens, o->top_k};
    int64_t *const ids = made_room(m, slots, sizeof *ids);
    double *const weights = made_room(m, slots, sizeof *weights);
    const bool bf16 = o->flags & MADE_BF16_WEIGHTS;
    for (int64_t slot = 0; slot < slots; slot++) {
        const int k = (int)(slot % o->top_k);
        ids[slot] = made_id(m, ids + slot - k, k);
        weights[slot] = slow_f32_of((1.1 + made_number(m)) / o->top_k);
        if (bf16) weights[slot] = slow_bf16_of(weights[slot]);
        if (o->flags & MADE_ZERO_WEIGHTS && made_below(m, 3) == 0) weights[slot] = 0;
        if (o->flags & MADE_CANCELLING && k % 2) {
            ids[slot] = ids[slot - 1];
            weights[slot] = -weights[slot - 1];
        }
    }
    m->slow.ids = ids;
    m->slow.weights = weights;
    m->inputs.topk_ids = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, shape);
    m->inputs.topk_weights =
        made_tensor(m, bf16 ? FP8MOE_DTYPE_BF16 : FP8MOE_DTYPE_F32, weights, 2, shape);
}

/* ---- weights ---- */

/* The scale of element (row, col) as an index into the scale tensor of one expert, which has
 * `count` numbers in `rows` x `cols` (0: no such dimension). `halves` 2: w13. */
typedef struct made_grid {
    int rank;
    int64_t shape[3]; /* with the expert dimension */
    int per_expert;
} made_grid;

static inline int made_ceil(int a, int b)
{
    return (a + b - 1) / b;
}

static inline made_grid made_grid_of(const made_options *o, int halves, int rows, int cols,
                                     int experts)
{
    const int in = rows / halves, br = o->block_rows, bc = o->block_cols;
    const int block_rows =
        o->layout == MADE_BLOCKS ? halves * made_ceil(in, br) : made_ceil(rows, br);
    const int block_cols = made_ceil(cols, bc);
    switch (o->layout) {
    case MADE_NO_SCALE:
    case MADE_PER_LAYER:
        return (made_grid){0, {0}, 0};
    case MADE_PER_EXPERT:
        return (made_grid){1, {experts}, 1};
    case MADE_PER_HALF:
        return (made_grid){halves, {experts, 2}, halves};
    case MADE_PER_ROW:
        return (made_grid){2, {experts, rows}, rows};
    case MADE_PER_ROW_1:
        return (made_grid){3, {experts, rows, 1}, rows};
    case MADE_BLOCKS:
    case MADE_BLOCKS_THROUGH:
        break;
    }
    return (made_grid){3, {experts, block_rows, block_cols}, block_rows * block_cols};
}

static inline int made_index(const made_options *o, int halves, int rows, int cols, int r, int c)
{
    const int in = rows / halves, half = r / in, br = o->block_rows, bc = o->block_cols;
    const int block_row =
        o->layout == MADE_BLOCKS ? half * made_ceil(in, br) + r % in / br : r / br;
    switch (o->layout) {
    case MADE_PER_HALF:
        return half;
    case MADE_PER_ROW:
    case MADE_PER_ROW_1:
        return r;
    case MADE_BLOCKS:
    case MADE_BLOCKS_THROUGH:
        return block_row * made_ceil(cols, bc) + c / bc;
    default:
        return 0;
    }
}

/* Some scale of the first (w13) or the last (w2) local expert is not finite, or all are huge. */
static inline void made_spoil(const made_options *o, int halves, double *scales, int experts,
                              int each)
{
    const int n = each ? each : 1, last = each ? (experts - 1) * n : 0;
    if (o->flags & MADE_NAN_SCALE && halves == 2) scales[n / 2] = (double)NAN;
    if (o->flags & MADE_INF_SCALE && halves == 1) scales[last + n / 2] = (double)INFINITY;
    for (int i = 0; o->flags & MADE_HUGE && halves == 1 && i < n; i++)
        scales[i] = 0x1p126;
}

/* E4M3 codes and their scales, [experts, rows, cols]. */
static inline void made_codes(made_layer *m, int halves, int rows, int cols, slow_matrix *slow,
                              fp8moe_tensor *weight, fp8moe_tensor *scale)
{
    const made_options *const o = &m->options;
    const int experts = o->flags & MADE_REPLICATED ? 1 : o->local;
    const int64_t count = (int64_t)experts * rows * cols, shape[3] = {experts, rows, cols};
    const made_grid grid = made_grid_of(o, halves, rows, cols, experts);
    const int scale_count = grid.per_expert ? grid.per_expert * experts : 1;
    uint8_t *const codes = made_room(m, count, 1);
    double *const scales = made_room(m, scale_count, sizeof *scales);
    for (int i = 0; i < scale_count; i++)
        scales[i] = (double)made_scale(m, 0.02 / sqrt(cols));
    made_spoil(o, halves, scales, experts, grid.per_expert);
    for (int64_t i = 0; i < count; i++)
        codes[i] = (uint8_t)(made_below(m, o->flags & MADE_ANY_CODE ? 0x7F : 0x78) |
                             (made_below(m, 2) ? 0x80 : 0));
    if (o->flags & MADE_NAN_CODE && halves == 1) codes[count - 1] = 0x7F;
    *weight = fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 3, shape);
    *scale = made_tensor(m, FP8MOE_DTYPE_F32, scales, grid.rank, grid.shape);
    uint8_t *const all_codes = made_room(m, (int64_t)o->local * rows * cols, 1);
    double *const all_scales = made_room(m, (int64_t)o->local * rows * cols, sizeof *all_scales);
    for (int64_t i = 0; i < (int64_t)o->local * rows * cols; i++) {
        const int64_t e = experts == 1 ? 0 : i / rows / cols;
        const int r = (int)(i / cols % rows), c = (int)(i % cols);
        all_codes[i] = codes[(e * rows + r) * cols + c];
        all_scales[i] = scales[e * grid.per_expert + made_index(o, halves, rows, cols, r, c)];
    }
    slow->codes = all_codes;
    slow->scale = all_scales;
    slow->blocks = o->layout >= MADE_BLOCKS;
}

static inline void made_numbers(made_layer *m, int rows, int cols, slow_matrix *slow,
                                fp8moe_tensor *weight)
{
    const made_options *const o = &m->options;
    const int experts = o->flags & MADE_REPLICATED ? 1 : o->local;
    const int64_t each = (int64_t)rows * cols, count = experts * each;
    const int64_t shape[3] = {experts, rows, cols};
    double *const numbers = made_room(m, o->local * each, sizeof *numbers);
    for (int64_t i = 0; i < o->local * each; i++)
        numbers[i] = i < count ? slow_bf16_of(3 * made_number(m) / sqrt(cols)) : numbers[i % each];
    *weight = made_tensor(m, FP8MOE_DTYPE_BF16, numbers, 3, shape);
    slow->numbers = numbers;
}

static inline void made_weights(made_layer *m, int halves, int rows, int cols, slow_matrix *slow,
                                fp8moe_tensor *weight, fp8moe_tensor *scale)
{
    *slow = (slow_matrix){.experts = m->options.local, .rows = rows, .cols = cols};
    if (m->options.layout == MADE_NO_SCALE)
        made_numbers(m, rows, cols, slow, weight);
    else
        made_codes(m, halves, rows, cols, slow, weight, scale);
}

static inline void made_static_scales(made_layer *m)
{
    const made_options *const o = &m->options;
    const int64_t shape[1] = {o->local};
    double *const i1 = made_room(m, o->local, sizeof *i1), *const i2 =
                                                               made_room(m, o->local, sizeof *i2);
    for (int e = 0; e < o->local; e++) {
        i1[e] = (double)made_scale(m, 0.006);
        i2[e] = (double)made_scale(m, 0.004);
        m->slow.input_scale = fmax(m->slow.input_scale, i1[e]);
    }
    if (o->flags & MADE_REPLICATED) {
        m->slow.input_scale = i1[0];
        for (int e = 1; e < o->local; e++)
            i2[e] = i2[0];
    }
    const int64_t one[1] = {1};
    const int64_t *const count = o->flags & MADE_REPLICATED ? one : shape;
    m->slow.inter_scale = i2;
    m->inputs.w13_input_scale = made_tensor(m, FP8MOE_DTYPE_F32, i1, 1, count);
    m->inputs.w2_input_scale = made_tensor(m, FP8MOE_DTYPE_F32, i2, 1, count);
}

/* ---- whole layers ---- */

static inline void made_begin(made_layer *m, const made_options *o, const fp8moe_recipe *recipe,
                              const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    memset(m, 0, sizeof *m);
    m->options = *o;
    m->state = o->seed;
    if (!o->block_rows) m->options.block_rows = m->options.block_cols = 128;
    if (o->layout == MADE_BLOCKS_THROUGH && made_ceil(2 * o->inter, m->options.block_rows) ==
                                                2 * made_ceil(o->inter, m->options.block_rows))
        m->options.layout = MADE_BLOCKS;
    /* [1, 1] beside a single row is read as a block. */
    if (o->layout == MADE_PER_ROW_1 && (o->inter == 1 || o->hidden == 1))
        m->options.layout = MADE_PER_ROW;
    fp8moe_config_default(&m->config);
    m->config.recipe = recipe;
    m->config.target = target;
    m->config.weights_stage = stage;
    m->config.block_rows = m->options.block_rows;
    m->config.block_cols = m->options.block_cols;
    m->slow.recipe = recipe;
    m->slow.target = target;
    m->slow.stage = stage;
    m->slow.tokens = o->tokens;
    m->slow.hidden = o->hidden;
    m->slow.inter = o->inter;
    m->slow.top_k = o->top_k;
    m->slow.local = o->local;
    m->slow.rank = o->rank;
}

/* A mixture of experts. Static input scales come along where the recipe takes them. */
static inline void made_moe(made_layer *m, const made_options *o, const fp8moe_recipe *recipe,
                            const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    made_begin(m, o, recipe, target, stage);
    m->config.num_experts = o->experts;
    m->config.ep_rank = o->rank;
    m->config.replicate_expert = o->flags & MADE_REPLICATED;
    if (m->config.replicate_expert) m->config.local_num_experts = o->local;
    made_input(m);
    made_routing(m);
    made_weights(m, 2, 2 * o->inter, o->hidden, &m->slow.w13, &m->inputs.w13_weight,
                 &m->inputs.w13_scale);
    made_weights(m, 1, o->hidden, o->inter, &m->slow.w2, &m->inputs.w2_weight, &m->inputs.w2_scale);
    if (recipe->input == FP8MOE_INPUT_FP8_STATIC) made_static_scales(m);
}

/* A linear of `inter` outputs: `local` must be 1. Its tensors have no expert dimension. */
static inline void made_linear(made_layer *m, const made_options *o, const fp8moe_recipe *recipe,
                               const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    made_begin(m, o, recipe, target, stage);
    made_input(m);
    made_weights(m, 1, o->inter, o->hidden, &m->slow.w13, &m->inputs.weight,
                 &m->inputs.weight_scale);
    m->inputs.weight = fp8moe_tensor_at(&m->inputs.weight, 0);
    if (m->inputs.weight_scale.rank)
        m->inputs.weight_scale = fp8moe_tensor_at(&m->inputs.weight_scale, 0);
    if (recipe->input != FP8MOE_INPUT_FP8_STATIC) return;
    made_static_scales(m);
    m->inputs.input_scale = m->inputs.w13_input_scale;
}

static inline void made_close(made_layer *m)
{
    slow_close(&m->slow);
    for (int i = 0; i < m->owned_count; i++)
        free(m->owned[i]);
}

#endif

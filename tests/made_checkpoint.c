#include "made_checkpoint.h"

#include "slow_model.h"

#include <fp8moe/dump.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const made_model made_qwen3_30b = {.prefix = "model.layers.0.mlp.",
                                   .naming = MADE_GATE_UP_DOWN,
                                   .scale = MADE_SCALE_BLOCK,
                                   .scale_suffix = "_scale_inv",
                                   .scale_dtype = FP8MOE_DTYPE_F32,
                                   .experts = 128,
                                   .hidden = 2048,
                                   .inter = 768,
                                   .block_rows = 128,
                                   .block_cols = 128,
                                   .shards = 2,
                                   .seed = 30};

/* ---- numbers from places ---- */

/* The finaliser of splitmix64: consecutive inputs give unrelated outputs. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

enum { KIND_CODE, KIND_SCALE = 3, KIND_INPUT = 6, KIND_ROUTER = 8, KIND_BIAS };

static uint64_t stream_of(const made_model *m, int kind, int64_t expert)
{
    return mix(mix(m->seed * 16 + (uint64_t)kind) + (uint64_t)expert);
}

static uint64_t at_place(const made_model *m, int kind, int64_t expert, int64_t index)
{
    return mix(stream_of(m, kind, expert) + (uint64_t)index);
}

static int64_t rows_of(const made_model *m, made_matrix which)
{
    return which == MADE_DOWN ? m->hidden : m->inter;
}

static int64_t columns_of(const made_model *m, made_matrix which)
{
    return which == MADE_DOWN ? m->inter : m->hidden;
}

/* Codes as of normally distributed values whose largest is about the last finite code: the sum of
 * four bytes. */
static uint8_t normal_code(uint64_t random)
{
    static uint8_t codes[511];
    static bool ready;
    int sum = -510;
    for (int i = 0; i < 511 && !ready; i++)
        codes[i] = (uint8_t)slow_encode(&slow_e4m3fn, i * i * (448.0 / (510 * 510)));
    ready = true;
    for (int i = 0; i < 4; i++)
        sum += (int)(random >> 8 * i & 0xFF);
    return sum < 0 ? codes[-sum] | 0x80 : codes[sum];
}

uint8_t made_code(const made_model *m, int64_t expert, made_matrix which, int64_t row,
                  int64_t column)
{
    return normal_code(
        at_place(m, KIND_CODE + (int)which, expert, row * columns_of(m, which) + column));
}

/* The number of the scale among those of its matrix. */
static int64_t scale_index(const made_model *m, made_matrix which, int64_t row, int64_t column)
{
    const int64_t per_row = (columns_of(m, which) + m->block_cols - 1) / m->block_cols;
    switch (m->scale) {
    case MADE_SCALE_BLOCK:
    case MADE_SCALE_BLOCK_THROUGH:
        return row / m->block_rows * per_row + column / m->block_cols;
    case MADE_SCALE_ROW:
    case MADE_SCALE_ROW_COLUMN:
        return row;
    case MADE_SCALE_TENSOR:
    case MADE_SCALE_NONE:
        break;
    }
    return 0;
}

/* Powers of two times a fraction that every scale dtype but E8M0 holds exactly. */
static double nth_scale(const made_model *m, int64_t expert, made_matrix which, int64_t index)
{
    const uint64_t random = at_place(m, KIND_SCALE + (int)which, expert, index);
    const double fraction =
        m->scale_dtype == FP8MOE_DTYPE_F8_E8M0 ? 1 : 1 + (double)(random >> 8 & 0x7F) / 128;
    return ldexp(fraction, m->scale_exponent - 12 + (int)(random & 3));
}

double made_scale_of(const made_model *m, int64_t expert, made_matrix which, int64_t row,
                     int64_t column)
{
    if (m->scale == MADE_SCALE_NONE) return 1;
    if (m->scale == MADE_SCALE_BLOCK_THROUGH && which == MADE_UP) {
        which = MADE_GATE; /* up's rows follow gate's in one grid */
        row += m->inter;
    }
    return nth_scale(m, expert, which, scale_index(m, which, row, column));
}

double made_input_scale(const made_model *m, int64_t expert, bool down)
{
    return ldexp(1 + (double)(at_place(m, KIND_INPUT + down, expert, 0) & 0x7F) / 128, -7);
}

double made_router(const made_model *m, int64_t expert, int64_t column)
{
    return ((double)(at_place(m, KIND_ROUTER, expert, column) & 0xFF) - 127.5) / 128;
}

double made_bias(const made_model *m, int64_t expert)
{
    return (double)(at_place(m, KIND_BIAS, expert, 0) & 0xFF) / 256;
}

/* ---- tensors of one shard ---- */

#define MAX_NAME 200

/* Tensors of the shard being made. */
typedef struct shard_maker {
    const made_model *m;
    int wanted; /* the shard being made; the others' tensors are only named */
    FILE *index;
    fp8moe_named_tensor *tensors;
    size_t count, capacity;
} shard_maker;

static void *must(void *memory)
{
    if (memory) return memory;
    fprintf(stderr, "made_checkpoint: out of memory\n");
    exit(1);
}

/* Room for a tensor's data, or NULL where it stands in another shard. */
static void *add(shard_maker *s, int shard, const char *name, fp8moe_dtype dtype, int rank,
                 const int64_t *shape)
{
    if (s->wanted < 0 && s->index)
        fprintf(s->index, "%s\n    \"%s\": \"model-%05d-of-%05d.safetensors\"",
                s->count++ ? "," : "", name, shard + 1, s->m->shards);
    if (shard != s->wanted) return NULL;
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->tensors = must(realloc(s->tensors, s->capacity * sizeof *s->tensors));
    }
    fp8moe_tensor view = fp8moe_tensor_view(NULL, dtype, rank, shape);
    const size_t bytes =
        (size_t)fp8moe_tensor_count(&view) * (size_t)(fp8moe_dtype_bits(dtype) / 8);
    void *const data = must(malloc(bytes ? bytes : 1));
    view.data = data;
    s->tensors[s->count++] = (fp8moe_named_tensor){must(strdup(name)), view};
    return data;
}

/* A number into element `index`; every number made here is exact in the dtypes used for it. */
static void store(void *data, fp8moe_dtype dtype, int64_t index, double value)
{
    const uint16_t sign = value < 0 ? 0x8000 : 0;
    uint8_t *const at = (uint8_t *)data + index * (fp8moe_dtype_bits(dtype) / 8);
    uint16_t half = 0;
    float f = (float)value;
    int exponent;
    switch (dtype) {
    case FP8MOE_DTYPE_F32:
        memcpy(at, &f, sizeof f);
        return;
    case FP8MOE_DTYPE_F8_E8M0:
        (void)frexp(value, &exponent);
        *at = (uint8_t)(exponent - 1 + 127);
        return;
    case FP8MOE_DTYPE_BF16:
        half = (uint16_t)(slow_encode(&slow_bf16, fabs(value)) | sign);
        break;
    case FP8MOE_DTYPE_F16:
        half = (uint16_t)(slow_encode(&slow_f16, fabs(value)) | sign);
        break;
    default:
        abort();
    }
    memcpy(at, &half, sizeof half);
}

static double code_value(uint8_t code)
{
    const double magnitude = slow_decode(&slow_e4m3fn, code & 0x7F);
    return code & 0x80 ? -magnitude : magnitude;
}

static fp8moe_dtype weight_dtype(const made_model *m)
{
    return m->scale == MADE_SCALE_NONE ? FP8MOE_DTYPE_BF16 : FP8MOE_DTYPE_F8_E4M3;
}

/* One matrix behind the first `offset` elements. */
static void fill_weight(const made_model *m, int64_t expert, made_matrix which, void *data,
                        int64_t offset)
{
    const int64_t count = m->hidden * m->inter;
    const uint64_t stream = stream_of(m, KIND_CODE + (int)which, expert);
    uint8_t *const codes = (uint8_t *)data + offset;
    const bool bf16 = m->scale == MADE_SCALE_NONE;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t code = normal_code(mix(stream + (uint64_t)i));
        if (bf16)
            store(data, FP8MOE_DTYPE_BF16, offset + i, code_value(code));
        else
            codes[i] = code;
    }
}

/* Scales that stand together: of one matrix, or of the whole tensor where a grid runs through it.
 */
static int64_t count_scales(const made_model *m, made_matrix which, int parts)
{
    const int64_t rows = rows_of(m, which) * (m->scale == MADE_SCALE_BLOCK_THROUGH ? parts : 1);
    return scale_index(m, which, rows - 1, columns_of(m, which) - 1) + 1;
}

static void fill_scale(const made_model *m, int64_t expert, made_matrix which, int64_t count,
                       void *data, int64_t offset)
{
    for (int64_t i = 0; i < count; i++)
        store(data, m->scale_dtype, offset + i, nth_scale(m, expert, which, i));
}

/* Shape of the scales of `parts` matrices of one kind, one below the other. */
static int scale_shape(const made_model *m, made_matrix which, int parts, int64_t shape[2])
{
    const int64_t rows = rows_of(m, which), columns = columns_of(m, which);
    switch (m->scale) {
    case MADE_SCALE_BLOCK_THROUGH:
        shape[0] = (parts * rows + m->block_rows - 1) / m->block_rows;
        shape[1] = (columns + m->block_cols - 1) / m->block_cols;
        return 2;
    case MADE_SCALE_BLOCK:
        shape[0] = parts * ((rows + m->block_rows - 1) / m->block_rows);
        shape[1] = (columns + m->block_cols - 1) / m->block_cols;
        return 2;
    case MADE_SCALE_ROW_COLUMN:
        shape[1] = 1;
        shape[0] = parts * rows;
        return 2;
    case MADE_SCALE_ROW:
        shape[0] = parts * rows;
        return 1;
    case MADE_SCALE_TENSOR:
        shape[0] = parts;
        return parts > 1;
    case MADE_SCALE_NONE:
        break;
    }
    return 0;
}

/* ---- layouts ---- */

/* A weight: matrices first .. first + parts - 1 of `experts` experts from `expert` on; with an
 * expert dimension where `fused`. */
static void add_codes(shard_maker *s, int shard, const char *name, bool fused, int64_t expert,
                      made_matrix first, int parts)
{
    const made_model *const m = s->m;
    const int64_t experts = fused ? m->experts : 1, size = m->hidden * m->inter;
    int64_t shape[3] = {experts};
    shape[fused] = parts * rows_of(m, first);
    shape[fused + 1] = columns_of(m, first);
    void *const data = add(s, shard, name, weight_dtype(m), 2 + fused, shape);
    for (int64_t i = 0; data && i < experts * parts; i++)
        fill_weight(m, expert + i / parts, (made_matrix)((int)first + (int)(i % parts)), data,
                    i * size);
}

/* Its scale, in the next shard. */
static void add_scales(shard_maker *s, int shard, const char *name, bool fused, int64_t expert,
                       made_matrix first, int parts)
{
    const made_model *const m = s->m;
    const int64_t experts = fused ? m->experts : 1, count = count_scales(m, first, parts);
    const int pieces = m->scale == MADE_SCALE_BLOCK_THROUGH ? 1 : parts;
    int64_t shape[3] = {experts};
    char scale_name[MAX_NAME];
    (void)snprintf(scale_name, sizeof scale_name, "%s%s", name, m->scale_suffix);
    const int rank = scale_shape(m, first, parts, shape + fused) + fused;
    void *const data = add(s, (shard + 1) % m->shards, scale_name, m->scale_dtype, rank, shape);
    for (int64_t i = 0; data && i < experts * pieces; i++)
        fill_scale(m, expert + i / pieces, (made_matrix)((int)first + (int)(i % pieces)), count,
                   data, i * count);
}

static void add_weight(shard_maker *s, int shard, const char *name, bool fused, int64_t expert,
                       made_matrix first, int parts)
{
    add_codes(s, shard, name, fused, expert, first, parts);
    if (s->m->scale != MADE_SCALE_NONE) add_scales(s, shard, name, fused, expert, first, parts);
}

/* Input scales of `experts` experts; a single one is no vector. */
static void add_input_scale(shard_maker *s, int shard, const char *stem, int64_t expert,
                            int64_t experts, bool down)
{
    char name[MAX_NAME];
    if (!s->m->static_input) return;
    (void)snprintf(name, sizeof name, "%sinput_scale", stem);
    float *const data = add(s, shard, name, FP8MOE_DTYPE_F32, experts > 1, &experts);
    for (int64_t e = 0; data && e < experts; e++)
        data[e] = (float)made_input_scale(s->m, expert + e, down);
}

/* One expert under names of its own. */
static void add_expert(shard_maker *s, int64_t expert)
{
    static const char *const stems[][3] = {
        [MADE_GATE_UP_DOWN] = {"gate_proj.", "up_proj.", "down_proj."},
        [MADE_W1_W3_W2] = {"w1.", "w3.", "w2."},
        [MADE_JOINED] = {"gate_up_proj.", NULL, "down_proj."},
    };
    const int shard = (int)(expert * s->m->shards / s->m->experts);
    const bool joined = s->m->naming == MADE_JOINED;
    for (int part = 0; part < 3; part++) {
        const char *const stem = stems[s->m->naming][part];
        char start[MAX_NAME - 32], name[MAX_NAME];
        if (!stem) continue;
        (void)snprintf(start, sizeof start, "%sexperts.%" PRId64 ".%s", s->m->prefix, expert, stem);
        (void)snprintf(name, sizeof name, "%sweight", start);
        add_weight(s, shard, name, false, expert, (made_matrix)part, joined && part == 0 ? 2 : 1);
        add_input_scale(s, shard, start, expert, 1, part == MADE_DOWN);
    }
}

static void add_fused(shard_maker *s)
{
    static const struct {
        const char *weight, *stem;
    } names[][2] = {
        [MADE_FUSED] = {{"gate_up_proj", "gate_up_proj_"}, {"down_proj", "down_proj_"}},
        [MADE_FUSED_W13] = {{"w13_weight", "w13_"}, {"w2_weight", "w2_"}},
    };
    for (int part = 0; part < 2; part++) {
        const int shard = part % s->m->shards;
        char name[MAX_NAME];
        (void)snprintf(name, sizeof name, "%sexperts.%s", s->m->prefix,
                       names[s->m->naming][part].weight);
        add_weight(s, shard, name, true, 0, part ? MADE_DOWN : MADE_GATE, part ? 1 : 2);
        (void)snprintf(name, sizeof name, "%sexperts.%s", s->m->prefix,
                       names[s->m->naming][part].stem);
        add_input_scale(s, shard, name, 0, s->m->experts, part == 1);
    }
}

static void add_router(shard_maker *s)
{
    const made_model *const m = s->m;
    const int64_t shape[2] = {m->experts, m->hidden}, one[2] = {1, m->hidden};
    char name[MAX_NAME];
    (void)snprintf(name, sizeof name, "%s%s.weight", m->prefix,
                   strstr(m->prefix, "feed_forward") ? "router" : "gate");
    void *const router = add(s, 0, name, FP8MOE_DTYPE_BF16, 2, shape);
    for (int64_t i = 0; router && i < m->experts * m->hidden; i++)
        store(router, FP8MOE_DTYPE_BF16, i, made_router(m, i / m->hidden, i % m->hidden));
    (void)snprintf(name, sizeof name, "%s%se_score_correction_bias", m->prefix,
                   m->naming == MADE_W1_W3_W2 ? "" : "gate.");
    void *const bias = m->bias ? add(s, 0, name, FP8MOE_DTYPE_F32, 1, shape) : NULL;
    for (int64_t i = 0; bias && i < m->experts; i++)
        store(bias, FP8MOE_DTYPE_F32, i, made_bias(m, i));
    static const char *const shared[] = {"shared_expert.down_proj.weight",
                                         "shared_expert.gate_proj.weight",
                                         "shared_expert_gate.weight"};
    for (size_t i = 0; m->shared && i < sizeof shared / sizeof *shared; i++) {
        (void)snprintf(name, sizeof name, "%s%s", m->prefix, shared[i]);
        void *const data = add(s, 0, name, FP8MOE_DTYPE_BF16, 2, one);
        if (data) memset(data, 0, (size_t)m->hidden * 2);
    }
}

static void add_all(shard_maker *s)
{
    const bool fused = s->m->naming == MADE_FUSED || s->m->naming == MADE_FUSED_W13;
    for (int64_t e = 0; e < s->m->experts && !fused; e++)
        add_expert(s, e);
    if (fused) add_fused(s);
    add_router(s);
}

/* ---- files ---- */

static FILE *create(const char *folder, const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return must(fopen(path, "w"));
}

static void write_shard(const made_model *m, int shard, const char *folder)
{
    static const fp8moe_metadata format = {"format", "pt"};
    char path[1024];
    fp8moe_error err;
    shard_maker s = {.m = m, .wanted = shard};
    add_all(&s);
    if (m->shards == 1)
        (void)snprintf(path, sizeof path, "%s/model.safetensors", folder);
    else
        (void)snprintf(path, sizeof path, "%s/model-%05d-of-%05d.safetensors", folder, shard + 1,
                       m->shards);
    if (fp8moe_safetensors_write(path, s.tensors, s.count, &format, 1, &err) != FP8MOE_OK) {
        fprintf(stderr, "made_checkpoint: %s: %s\n", path, err.message);
        exit(1);
    }
    for (size_t i = 0; i < s.count; i++) {
        free((void *)(uintptr_t)s.tensors[i].name);
        free((void *)(uintptr_t)s.tensors[i].tensor.data);
    }
    free(s.tensors);
}

static void write_index(const made_model *m, const char *folder)
{
    FILE *const file = create(folder, "model.safetensors.index.json");
    shard_maker s = {.m = m, .wanted = -1, .index = file};
    fprintf(file, "{\n  \"metadata\": {},\n  \"weight_map\": {");
    add_all(&s);
    fprintf(file, "\n  }\n}\n");
    if (fclose(file) != 0) exit(1);
}

static void write_config(const made_model *m, const char *folder)
{
    FILE *const file = create(folder, "config.json");
    fprintf(
        file,
        "{\n  \"model_type\": \"made\",\n  \"hidden_act\": \"silu\",\n  \"hidden_size\": %" PRId64
        ",\n  \"moe_intermediate_size\": %" PRId64 ",\n  \"num_experts\": %" PRId64
        ",\n  \"num_experts_per_tok\": %" PRId64 ",\n  \"norm_topk_prob\": true",
        m->hidden, m->inter, m->experts, m->experts < 8 ? m->experts : 8);
    if (m->scale != MADE_SCALE_NONE)
        fprintf(file,
                ",\n  \"quantization_config\": {\n    \"quant_method\": \"fp8\",\n    \"fmt\": "
                "\"e4m3\",\n    "
                "\"activation_scheme\": \"%s\"",
                m->static_input ? "static" : "dynamic");
    if (m->scale != MADE_SCALE_NONE && m->block_rows != 128)
        fprintf(file, ",\n    \"weight_block_size\": [%" PRId64 ", %" PRId64 "]", m->block_rows,
                m->block_cols);
    fprintf(file, "%s\n}\n", m->scale != MADE_SCALE_NONE ? "\n  }" : "");
    if (fclose(file) != 0) exit(1);
}

void made_model_write(const made_model *m, const char *folder)
{
    write_config(m, folder);
    if (m->shards > 1) write_index(m, folder);
    for (int shard = 0; shard < m->shards; shard++)
        write_shard(m, shard, folder);
}

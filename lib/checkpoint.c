#include "expert_names.h"
#include "fused.h"
#include "limits.h"
#include "model_config.h"
#include "shards.h"
#include "weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM (LIMIT_NAME_BYTES + 64)

struct fp8moe_checkpoint {
    model_folder folder;
    arena memory;
    fp8moe_model_config config;
    shards tensors;
    expert_layer *layers;
    size_t layer_count;
};

/* ---- opening ---- */

static fp8moe_status open_into(const char *path, fp8moe_checkpoint *c, fp8moe_error *err)
{
    TRY(folder_open(path, &c->folder, err));
    TRY(model_config_read(&c->folder, &c->memory, &c->config, err));
    TRY(shards_open(&c->folder, &c->tensors, err));
    return expert_layers_find(&c->tensors, &c->memory, &c->layers, &c->layer_count, err);
}

fp8moe_status fp8moe_checkpoint_open(const char *path, fp8moe_checkpoint **out, fp8moe_error *err)
{
    assert(path && out);
    *out = NULL;
    fp8moe_checkpoint *const c = calloc(1, sizeof *c);
    if (!c) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a model folder");
    const fp8moe_status status = open_into(path, c, err);
    if (status != FP8MOE_OK)
        fp8moe_checkpoint_close(c);
    else
        *out = c;
    return error_in_file(err, status, path);
}

void fp8moe_checkpoint_close(fp8moe_checkpoint *c)
{
    if (!c) return;
    shards_close(&c->tensors);
    free(c->layers);
    arena_free(&c->memory);
    folder_close(&c->folder);
    free(c);
}

const fp8moe_model_config *fp8moe_checkpoint_config(const fp8moe_checkpoint *c)
{
    return &c->config;
}

size_t fp8moe_checkpoint_tensor_count(const fp8moe_checkpoint *c)
{
    return c->tensors.count;
}

size_t fp8moe_checkpoint_shard_count(const fp8moe_checkpoint *c)
{
    return c->tensors.file_count;
}

const char *fp8moe_checkpoint_file_at(const fp8moe_checkpoint *c, const void *address)
{
    for (size_t i = 0; i < c->tensors.file_count; i++) {
        const fp8moe_dump *const dump = c->tensors.files[i].dump;
        if (dump && fp8moe_dump_owns(dump, address)) return fp8moe_dump_path(dump);
    }
    return NULL;
}

/* The file an error is about: that of its tensor, else the folder. */
static fp8moe_status in_file(const fp8moe_checkpoint *c, fp8moe_status status, fp8moe_error *err)
{
    const shard_entry *const entry =
        err && status != FP8MOE_OK ? shards_find(&c->tensors, err->tensor) : NULL;
    if (entry && !err->file[0])
        return folder_error(&c->folder, c->tensors.files[entry->shard].name, status, err);
    return error_in_file(err, status, c->folder.path);
}

/* ---- one weight ---- */

/* The name of what belongs to a weight: `add` in place of its last part `cut`. False where it does
 * not end so. */
static bool companion(const char *weight, const char *cut, const char *add, char text[NAME_ROOM])
{
    const size_t length = strlen(weight), cut_length = strlen(cut);
    if (length < cut_length || strcmp(weight + length - cut_length, cut) != 0) return false;
    (void)snprintf(text, NAME_ROOM, "%.*s%s", (int)(length - cut_length), weight, add);
    return true;
}

typedef struct companion_name {
    const char *cut, *add;
} companion_name;

/* Upstream takes the first that is there. */
static const companion_name scale_names[] = {
    {"", "_scale_inv"}, {"", "_scale"}, {".weight", ".scale"}};
static const companion_name input_scale_names[] = {{"weight", "input_scale"}, {"", "_input_scale"}};
static const companion_name bias_names[] = {{"weight", "bias"}, {"", "_bias"}};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The first of the companions that the folder holds, or NULL. */
static const shard_entry *find_companion(const fp8moe_checkpoint *c, const char *weight,
                                         const companion_name *names, size_t count)
{
    char name[NAME_ROOM];
    const shard_entry *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        if (companion(weight, names[i].cut, names[i].add, name))
            found = shards_find(&c->tensors, name);
    return found;
}

static fp8moe_status add_scale(fp8moe_checkpoint *c, const char *name, fp8moe_weight *out,
                               fp8moe_error *err)
{
    const shard_entry *const scale = find_companion(c, name, scale_names, COUNT(scale_names));
    if (out->weight.dtype != FP8MOE_DTYPE_F8_E4M3) return FP8MOE_OK;
    if (model_config_is_unconverted(&c->config, name))
        return fail(err, FP8MOE_ERR_VALUE,
                    "is F8_E4M3, but config.json lists its module as not converted: a loader would "
                    "take its codes for "
                    "values");
    if (!scale)
        return fail(err, FP8MOE_ERR_NOT_FOUND,
                    "an FP8 weight without a scale: tried its name with _scale_inv, with _scale, "
                    "and with .scale in "
                    "place of .weight");
    return shards_tensor(&c->tensors, scale->name, &out->scale, err);
}

/* The tensor and its scale, unchecked. */
static fp8moe_status read_weight(fp8moe_checkpoint *c, const char *name, fp8moe_weight *out,
                                 fp8moe_error *err)
{
    memset(out, 0, sizeof *out);
    TRY(shards_tensor(&c->tensors, name, &out->weight, err));
    return error_in_tensor(err, add_scale(c, name, out, err), name);
}

static int64_t block_rows(const fp8moe_checkpoint *c)
{
    return c->config.block_rows ? c->config.block_rows : 128;
}

static int64_t block_cols(const fp8moe_checkpoint *c)
{
    return c->config.block_cols ? c->config.block_cols : 128;
}

static fp8moe_status check(const fp8moe_checkpoint *c, const fp8moe_weight *w, int64_t rows,
                           int64_t cols, const char *name, matrix *out, fp8moe_error *err)
{
    return matrix_check(w, rows, cols, block_rows(c), block_cols(c), name, out, err);
}

fp8moe_status fp8moe_checkpoint_tensor(fp8moe_checkpoint *c, const char *name, fp8moe_tensor *out,
                                       fp8moe_error *err)
{
    const fp8moe_status status = shards_tensor(&c->tensors, name, out, err);
    shards_hold(&c->tensors);
    return status;
}

fp8moe_status fp8moe_checkpoint_weight(fp8moe_checkpoint *c, const char *name, fp8moe_weight *out,
                                       fp8moe_error *err)
{
    matrix checked;
    fp8moe_status status = read_weight(c, name, out, err);
    if (status == FP8MOE_OK) status = check(c, out, -1, -1, name, &checked, err);
    shards_hold(&c->tensors);
    return in_file(c, status, err);
}

/* ---- layers ---- */

size_t fp8moe_checkpoint_layer_count(const fp8moe_checkpoint *c)
{
    return c->layer_count;
}

const fp8moe_checkpoint_layer *fp8moe_checkpoint_layer_at(const fp8moe_checkpoint *c, size_t index)
{
    assert(index < c->layer_count);
    return &c->layers[index].seen;
}

static fp8moe_status no_layer(const fp8moe_checkpoint *c, int64_t number, fp8moe_error *err)
{
    int64_t lowest = INT64_MAX, highest = -1;
    for (size_t i = 0; i < c->layer_count; i++) {
        lowest = min_i64(lowest, c->layers[i].seen.number);
        highest = max_i64(highest, c->layers[i].seen.number);
    }
    if (!c->layer_count)
        return fail(err, FP8MOE_ERR_NOT_FOUND,
                    "no tensor's name holds \"experts\": this model has no mixture of experts");
    if (lowest == highest)
        return fail(err, FP8MOE_ERR_NOT_FOUND,
                    "layer %" PRId64 " has no experts; the only layer with experts is %" PRId64,
                    number, lowest);
    return fail(err, FP8MOE_ERR_NOT_FOUND,
                "layer %" PRId64 " has no experts; there are %zu layers with experts, from %" PRId64
                " to %" PRId64,
                number, c->layer_count, lowest, highest);
}

fp8moe_status fp8moe_checkpoint_layer_find(const fp8moe_checkpoint *c, int64_t number, size_t *out,
                                           fp8moe_error *err)
{
    const fp8moe_checkpoint_layer *best = NULL, *rival = NULL;
    for (size_t i = 0; i < c->layer_count; i++) {
        const fp8moe_checkpoint_layer *const layer = &c->layers[i].seen;
        if (layer->number != number) continue;
        if (best && best->stack_layers == layer->stack_layers) rival = layer;
        if (best && best->stack_layers >= layer->stack_layers) continue;
        best = layer;
        rival = NULL;
        *out = i;
    }
    fp8moe_status status = FP8MOE_OK;
    if (!best)
        status = no_layer(c, number, err);
    else if (rival)
        status = fail(err, FP8MOE_ERR_USAGE, "layer %" PRId64 " may be \"%.180s\" or \"%.180s\"",
                      number, best->prefix, rival->prefix);
    return error_in_file(err, status, c->folder.path);
}

/* ---- the experts of a layer ---- */

/* A layer being read: what all its experts share. */
typedef struct reading {
    fp8moe_checkpoint *c;
    const expert_layer *layer;
    const expert_names *names;
    fp8moe_weight fused_gate_up, fused_down; /* [E, ...], where the row is fused */
    fp8moe_tensor fused_input[2];            /* input scales of the two */
    int64_t num_experts;
    int64_t hidden, intermediate; /* -1 before the first expert is read; I of the whole expert */
} reading;

static fp8moe_status check_bias(const reading *r, const char *weight, fp8moe_error *err)
{
    const shard_entry *const bias = find_companion(r->c, weight, bias_names, COUNT(bias_names));
    if (!bias) return FP8MOE_OK;
    return fail_at(err, FP8MOE_ERR_UNSUPPORTED, bias->name, -1,
                   "experts with a bias are not emulated");
}

static fp8moe_status read_part(reading *r, int64_t id, const char *part, fp8moe_weight *out,
                               fp8moe_tensor *input_scale, fp8moe_error *err)
{
    char name[NAME_ROOM];
    (void)expert_name(r->layer, id, part, name, sizeof name);
    TRY(read_weight(r->c, name, out, err));
    TRY(check_bias(r, name, err));
    const shard_entry *const scale =
        find_companion(r->c, name, input_scale_names, COUNT(input_scale_names));
    return scale ? shards_tensor(&r->c->tensors, scale->name, input_scale, err) : FP8MOE_OK;
}

/* gate_up [E, 2I, H] and down [E, H, I]. */
static fp8moe_status check_fused(const reading *r, fp8moe_error *err)
{
    const fp8moe_tensor *const a = &r->fused_gate_up.weight, *const b = &r->fused_down.weight;
    char a_text[96], b_text[96];
    const bool fits = a->rank == 3 && b->rank == 3 && a->shape[0] == b->shape[0] && a->shape[0] > 0;
    if (fits && a->shape[1] == 2 * b->shape[2] && a->shape[2] == b->shape[1]) return FP8MOE_OK;
    if (fits && a->shape[2] == 2 * b->shape[1] && a->shape[1] == b->shape[2])
        return fail(err, FP8MOE_ERR_UNSUPPORTED,
                    "experts stored transposed, as [E, H, 2I] and [E, I, H], are not read");
    return fail(err, FP8MOE_ERR_SHAPE, "experts %s and %s: expected [E, 2I, H] and [E, H, I]",
                fp8moe_tensor_shape_text(a, a_text, sizeof a_text),
                fp8moe_tensor_shape_text(b, b_text, sizeof b_text));
}

static fp8moe_status begin(reading *r, fp8moe_error *err)
{
    const fp8moe_model_config *const config = &r->c->config;
    TRY(model_config_check(config, err));
    r->names = r->layer->names;
    r->num_experts = r->layer->seen.experts;
    r->hidden = r->intermediate = -1;
    if (!r->names)
        return fail(err, FP8MOE_ERR_UNSUPPORTED,
                    "the experts of %.200s have names of no known kind: known are "
                    "gate_proj/up_proj/down_proj, w1/w3/w2, "
                    "gate_up_proj/down_proj and w13_weight/w2_weight",
                    r->layer->seen.prefix);
    if (r->names->fused) {
        TRY(read_part(r, 0, r->names->gate_up, &r->fused_gate_up, &r->fused_input[0], err));
        TRY(read_part(r, 0, r->names->down, &r->fused_down, &r->fused_input[1], err));
        TRY(check_fused(r, err));
        r->num_experts = r->fused_down.weight.shape[0];
    }
    if (config->num_experts && config->num_experts != r->num_experts)
        return fail(err, FP8MOE_ERR_SHAPE,
                    "config.json says %" PRId64 " experts, the tensors of %.200s are of %" PRId64,
                    config->num_experts, r->layer->seen.prefix, r->num_experts);
    return FP8MOE_OK;
}

/* One number for an expert of a fused input scale, or the one of all. */
static fp8moe_tensor fused_input(const reading *r, int which, int64_t id)
{
    const fp8moe_tensor *const t = &r->fused_input[which];
    return t->rank > 0 && t->shape[0] == r->num_experts ? fp8moe_tensor_at(t, id) : *t;
}

static fp8moe_status read_fused(const reading *r, int64_t id, fp8moe_expert *out, fp8moe_error *err)
{
    char name[NAME_ROOM];
    fp8moe_tensor scale;
    const fp8moe_tensor w13 = fp8moe_tensor_at(&r->fused_gate_up.weight, id);
    (void)expert_name(r->layer, id, r->names->gate_up, name, sizeof name);
    TRY(fused_scale(&r->fused_gate_up.scale, &r->fused_gate_up.weight, id, name, &scale, err));
    TRY(fused_split(&w13, &scale, block_rows(r->c), name, &out->gate, &out->up, err));
    (void)expert_name(r->layer, id, r->names->down, name, sizeof name);
    out->down.weight = fp8moe_tensor_at(&r->fused_down.weight, id);
    out->w13_input_scale = fused_input(r, 0, id);
    out->w2_input_scale = fused_input(r, 1, id);
    return fused_scale(&r->fused_down.scale, &r->fused_down.weight, id, name, &out->down.scale,
                       err);
}

/* Upstream keeps one input scale for gate and up: whichever it loads last. */
static fp8moe_status check_inputs(const fp8moe_tensor *gate, const fp8moe_tensor *up,
                                  fp8moe_error *err)
{
    double a, b;
    if (!fp8moe_tensor_present(gate) && !fp8moe_tensor_present(up)) return FP8MOE_OK;
    if (fp8moe_tensor_count(gate) != 1 || fp8moe_tensor_count(up) != 1 ||
        !fp8moe_dtype_is_numeric(gate->dtype) || !fp8moe_dtype_is_numeric(up->dtype))
        return fail(err, FP8MOE_ERR_SHAPE,
                    "the input scales of gate and up must be one number each");
    fp8moe_tensor_read_f64(gate, 0, 1, &a);
    fp8moe_tensor_read_f64(up, 0, 1, &b);
    if (a == b) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_VALUE,
                "gate and up have different input scales, %.9g and %.9g: they share one input", a,
                b);
}

static fp8moe_status read_separate(reading *r, int64_t id, fp8moe_expert *out, fp8moe_error *err)
{
    char name[NAME_ROOM];
    fp8moe_tensor up_input = {0};
    TRY(read_part(r, id, r->names->gate, &out->gate, &out->w13_input_scale, err));
    TRY(read_part(r, id, r->names->up, &out->up, &up_input, err));
    (void)expert_name(r->layer, id, r->names->gate, name, sizeof name);
    TRY(error_in_tensor(err, check_inputs(&out->w13_input_scale, &up_input, err), name));
    return read_part(r, id, r->names->down, &out->down, &out->w2_input_scale, err);
}

static fp8moe_status read_joined(reading *r, int64_t id, fp8moe_expert *out, fp8moe_error *err)
{
    char name[NAME_ROOM];
    fp8moe_weight w13;
    (void)expert_name(r->layer, id, r->names->gate_up, name, sizeof name);
    TRY(read_part(r, id, r->names->gate_up, &w13, &out->w13_input_scale, err));
    if (w13.weight.rank != 2) return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "expected [2I, H]");
    TRY(fused_split(&w13.weight, &w13.scale, block_rows(r->c), name, &out->gate, &out->up, err));
    return read_part(r, id, r->names->down, &out->down, &out->w2_input_scale, err);
}

/* The sizes of the first expert are those of all, and of config.json. */
static fp8moe_status check_sizes(reading *r, const fp8moe_expert *e, int64_t id, fp8moe_error *err)
{
    const fp8moe_model_config *const config = &r->c->config;
    const expert_names *const n = r->names;
    char name[NAME_ROOM];
    matrix gate, other;
    (void)expert_name(r->layer, id, n->gate ? n->gate : n->gate_up, name, sizeof name);
    TRY(check(r->c, &e->gate, r->intermediate, r->hidden, name, &gate, err));
    r->intermediate = gate.rows;
    r->hidden = gate.cols;
    if ((config->hidden_size && config->hidden_size != gate.cols) ||
        (config->intermediate_size && config->intermediate_size != gate.rows))
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1,
                       "I = %" PRId64 ", H = %" PRId64 ", but config.json says %" PRId64
                       " and %" PRId64,
                       gate.rows, gate.cols, config->intermediate_size, config->hidden_size);
    (void)expert_name(r->layer, id, n->up ? n->up : n->gate_up, name, sizeof name);
    TRY(check(r->c, &e->up, gate.rows, gate.cols, name, &other, err));
    (void)expert_name(r->layer, id, n->down, name, sizeof name);
    return check(r->c, &e->down, gate.cols, gate.rows, name, &other, err);
}

static fp8moe_status read_expert(reading *r, int64_t id, fp8moe_expert *out, fp8moe_error *err)
{
    memset(out, 0, sizeof *out);
    if (r->names->fused)
        TRY(read_fused(r, id, out, err));
    else if (r->names->gate_up)
        TRY(read_joined(r, id, out, err));
    else
        TRY(read_separate(r, id, out, err));
    return check_sizes(r, out, id, err);
}

/* ---- the router ---- */

static fp8moe_status read_router(const reading *r, fp8moe_tensor *router, fp8moe_tensor *bias,
                                 fp8moe_error *err)
{
    static const struct {
        const char *name;
        bool is_bias;
    } names[] = {{"gate.weight", false},
                 {"router.weight", false},
                 {"gate.e_score_correction_bias", true},
                 {"e_score_correction_bias", true}};
    char name[NAME_ROOM], shape[96];
    for (size_t i = 0; i < COUNT(names); i++) {
        fp8moe_tensor *const out = names[i].is_bias ? bias : router;
        (void)snprintf(name, sizeof name, "%s%s", r->layer->seen.prefix, names[i].name);
        if (fp8moe_tensor_present(out) || !shards_find(&r->c->tensors, name)) continue;
        TRY(shards_tensor(&r->c->tensors, name, out, err));
        const bool fits =
            names[i].is_bias ? out->rank == 1 : out->rank == 2 && out->shape[1] == r->hidden;
        if (!fits || out->shape[0] != r->num_experts)
            return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "shape %s for %" PRId64 " experts",
                           fp8moe_tensor_shape_text(out, shape, sizeof shape), r->num_experts);
    }
    return FP8MOE_OK;
}

/* ---- ranks ---- */

static fp8moe_status check_ranks(const fp8moe_ranks *ranks, int64_t experts, fp8moe_error *err)
{
    if (ranks->ep_rank < 0 || ranks->ep_rank >= ranks->ep_size || ranks->tp_rank < 0 ||
        ranks->tp_rank >= ranks->tp_size)
        return fail(err, FP8MOE_ERR_USAGE,
                    "rank %" PRId64 " of %" PRId64 " (experts), rank %" PRId64 " of %" PRId64
                    " (tensors): sizes start at 1, "
                    "ranks at 0",
                    ranks->ep_rank, ranks->ep_size, ranks->tp_rank, ranks->tp_size);
    if (experts % ranks->ep_size)
        return fail(err, FP8MOE_ERR_USAGE,
                    "%" PRId64 " experts do not divide among %" PRId64 " ranks", experts,
                    ranks->ep_size);
    return FP8MOE_OK;
}

static void slice_rows(fp8moe_weight *w, int64_t first, int64_t count)
{
    if (!w->full_rows) w->full_rows = w->weight.shape[0];
    w->row_offset += first;
    w->weight = fp8moe_tensor_slice(&w->weight, 0, first, count);
}

static void slice_columns(fp8moe_weight *w, int64_t first, int64_t count)
{
    if (!w->full_columns) w->full_columns = w->weight.shape[1];
    w->column_offset += first;
    w->weight = fp8moe_tensor_slice(&w->weight, 1, first, count);
}

static bool is_cut_within_block(const fp8moe_checkpoint *c, const fp8moe_weight *w, int64_t count,
                                bool columns)
{
    matrix m;
    if (check(c, w, -1, -1, "", &m, NULL) != FP8MOE_OK || m.kind != SCALE_BLOCK) return false;
    return count % (columns ? block_cols(c) : block_rows(c)) != 0;
}

/* The rank's share of one expert: of gate and up rows, of down the columns they make. */
static void slice_expert(const fp8moe_checkpoint *c, const fp8moe_ranks *ranks, fp8moe_expert *e,
                         fp8moe_moe_weights *out)
{
    const int64_t count = out->intermediate, first = ranks->tp_rank * count;
    if (ranks->tp_size == 1) return;
    out->splits_blocks |= is_cut_within_block(c, &e->gate, count, false) ||
                          is_cut_within_block(c, &e->down, count, true);
    slice_rows(&e->gate, first, count);
    slice_rows(&e->up, first, count);
    slice_columns(&e->down, first, count);
}

/* ---- a layer ---- */

static fp8moe_status read_experts(reading *r, const fp8moe_ranks *ranks, fp8moe_moe_weights *out,
                                  fp8moe_error *err)
{
    const int64_t count = r->num_experts / ranks->ep_size;
    out->experts = calloc((size_t)count + 1, sizeof *out->experts);
    if (!out->experts)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %" PRId64 " experts", count);
    for (; out->expert_count < count; out->expert_count++) {
        fp8moe_expert *const e = &out->experts[out->expert_count];
        TRY(read_expert(r, ranks->ep_rank * count + out->expert_count, e, err));
        if (r->intermediate % ranks->tp_size)
            return fail(err, FP8MOE_ERR_USAGE,
                        "I = %" PRId64 " does not divide among %" PRId64 " ranks", r->intermediate,
                        ranks->tp_size);
        out->intermediate = r->intermediate / ranks->tp_size;
        slice_expert(r->c, ranks, e, out);
    }
    return FP8MOE_OK;
}

static fp8moe_status read_layer(reading *r, const fp8moe_ranks *ranks, fp8moe_moe_weights *out,
                                fp8moe_error *err)
{
    TRY(begin(r, err));
    TRY(check_ranks(ranks, r->num_experts, err));
    TRY(read_experts(r, ranks, out, err));
    out->num_experts = r->num_experts;
    out->hidden = r->hidden;
    out->block_rows = block_rows(r->c);
    out->block_cols = block_cols(r->c);
    return read_router(r, &out->router, &out->correction_bias, err);
}

fp8moe_status fp8moe_checkpoint_moe(fp8moe_checkpoint *c, size_t layer, const fp8moe_ranks *ranks,
                                    fp8moe_moe_weights *out, fp8moe_error *err)
{
    assert(layer < c->layer_count && ranks && out);
    reading r = {.c = c, .layer = &c->layers[layer]};
    fp8moe_moe_weights read = {0};
    const fp8moe_status status = read_layer(&r, ranks, &read, err);
    shards_hold(&c->tensors);
    if (status == FP8MOE_OK)
        *out = read;
    else
        fp8moe_moe_weights_free(&read);
    return in_file(c, status, err);
}

void fp8moe_moe_weights_free(fp8moe_moe_weights *weights)
{
    free(weights->experts);
    *weights = (fp8moe_moe_weights){0};
}

/* ---- describing ---- */

static fp8moe_tensor without_data(fp8moe_tensor tensor)
{
    tensor.data = NULL;
    return tensor;
}

static fp8moe_status describe(reading *r, fp8moe_moe_form *out, fp8moe_error *err)
{
    fp8moe_expert e;
    TRY(begin(r, err));
    TRY(read_expert(r, 0, &e, err));
    *out = (fp8moe_moe_form){.num_experts = r->num_experts,
                             .hidden = r->hidden,
                             .intermediate = r->intermediate,
                             .gate = without_data(e.gate.weight),
                             .gate_scale = without_data(e.gate.scale),
                             .down = without_data(e.down.weight),
                             .down_scale = without_data(e.down.scale),
                             .static_input = fp8moe_tensor_present(&e.w13_input_scale)};
    TRY(read_router(r, &out->router, &out->correction_bias, err));
    out->router = without_data(out->router);
    out->correction_bias = without_data(out->correction_bias);
    return FP8MOE_OK;
}

fp8moe_status fp8moe_checkpoint_describe(fp8moe_checkpoint *c, size_t layer, fp8moe_moe_form *out,
                                         fp8moe_error *err)
{
    assert(layer < c->layer_count && out);
    char experts[NAME_ROOM];
    reading r = {.c = c, .layer = &c->layers[layer]};
    const fp8moe_status status = describe(&r, out, err);
    shards_drop(&c->tensors);
    (void)snprintf(experts, sizeof experts, "%sexperts", r.layer->seen.prefix);
    if (status == FP8MOE_OK) out->unconverted = model_config_is_unconverted(&c->config, experts);
    return in_file(c, status, err);
}

#include "layer.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "fused.h"

#include <stdlib.h>
#include <string.h>

/* A dot of codes is exact in double up to this many terms (exactness.md section 1). */
#define MAX_DOT 131072

/* ---- splitting fused tensors into experts ---- */

static fp8moe_status split_expert(const fp8moe_config *config, const fp8moe_inputs *in,
                                  int64_t index, fp8moe_expert *out, fp8moe_error *err)
{
    fp8moe_tensor w13 = in->w13_weight, w2 = in->w2_weight, scale;
    if (w13.rank == 3) w13 = fp8moe_tensor_at(&w13, index);
    if (w2.rank == 3) w2 = fp8moe_tensor_at(&w2, index);
    memset(out, 0, sizeof *out);
    TRY(fused_scale(&in->w13_scale, &in->w13_weight, index, "w13_weight", &scale, err));
    TRY(fused_split(&w13, &scale, config->block_rows, "w13_weight", &out->gate, &out->up, err));
    out->down.weight = w2;
    return fused_scale(&in->w2_scale, &in->w2_weight, index, "w2_weight", &out->down.scale, err);
}

static fp8moe_status check_expert(const fp8moe_layer *layer, const fp8moe_expert *raw, expert *out,
                                  fp8moe_error *err)
{
    const fp8moe_config *const c = &layer->config;
    const int64_t hidden = layer->info.hidden, inter = layer->info.intermediate;
    TRY(matrix_check(&raw->gate, inter, hidden, c->block_rows, c->block_cols, "w13_weight",
                     &out->gate, err));
    TRY(matrix_check(&raw->up, inter, hidden, c->block_rows, c->block_cols, "w13_weight", &out->up,
                     err));
    return matrix_check(&raw->down, hidden, inter, c->block_rows, c->block_cols, "w2_weight",
                        &out->down, err);
}

static fp8moe_status check_fused(const fp8moe_inputs *in, fp8moe_error *err)
{
    const fp8moe_tensor *const w13 = &in->w13_weight, *const w2 = &in->w2_weight;
    char a[96], b[96];
    if (!fp8moe_tensor_present(w13)) return fail(err, FP8MOE_ERR_NOT_FOUND, "no w13_weight");
    if (!fp8moe_tensor_present(w2)) return fail(err, FP8MOE_ERR_NOT_FOUND, "no w2_weight");
    const bool ranks = w13->rank == w2->rank && (w13->rank == 2 || w13->rank == 3);
    const bool counts = ranks && (w13->rank == 2 || w13->shape[0] == w2->shape[0]);
    if (counts) return FP8MOE_OK;
    return fail(
        err, FP8MOE_ERR_SHAPE, "w13_weight %s and w2_weight %s: expected [E, 2I, H] and [E, H, I]",
        fp8moe_tensor_shape_text(w13, a, sizeof a), fp8moe_tensor_shape_text(w2, b, sizeof b));
}

static fp8moe_status open_experts(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    const bool fused = !in->experts;
    if (fused) TRY(check_fused(in, err));
    const int64_t count = !fused                     ? in->expert_count
                          : in->w13_weight.rank == 3 ? in->w13_weight.shape[0]
                                                     : 1;
    if (count < 1) return fail(err, FP8MOE_ERR_SHAPE, "no experts: E_local must be at least 1");
    const fp8moe_tensor *const first = fused ? &in->w2_weight : &in->experts[0].down.weight;
    if (first->rank < 2)
        return fail_at(err, FP8MOE_ERR_SHAPE, "w2_weight", -1, "expected [H, I], got [] or [n]");
    layer->info.intermediate = first->shape[first->rank - 1];
    layer->expert_count = count;
    layer->experts = calloc((size_t)count, sizeof *layer->experts);
    if (!layer->experts)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld experts", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        fp8moe_expert split;
        if (fused) TRY(split_expert(&layer->config, in, i, &split, err));
        TRY(check_expert(layer, fused ? &split : &in->experts[i], &layer->experts[i], err));
    }
    return FP8MOE_OK;
}

/* ---- what target and weight stage mean for these weights ---- */

static bool is_fp8(const matrix *m)
{
    return m->weight.dtype == FP8MOE_DTYPE_F8_E4M3;
}

/* Calls visit for every matrix until one says true. */
static bool any_matrix(const fp8moe_layer *layer, bool (*visit)(const matrix *))
{
    if (layer->recipe.op == FP8MOE_OP_LINEAR) return visit(&layer->linear);
    for (int64_t i = 0; i < layer->expert_count; i++) {
        const expert *const e = &layer->experts[i];
        if (visit(&e->gate) || visit(&e->up) || visit(&e->down)) return true;
    }
    return false;
}

/* A code whose value only OCP-like targets can hold. 0x7F is NaN everywhere, halved or not. */
static bool has_code_above_240(const matrix *m)
{
    uint8_t codes[4096];
    const int64_t count = is_fp8(m) ? m->rows * m->cols : 0;
    for (int64_t at = 0; at < count; at += (int64_t)sizeof codes) {
        const int64_t n = min_i64((int64_t)sizeof codes, count - at);
        fp8moe_tensor_read_raw(&m->weight, at, n, codes);
        for (int64_t i = 0; i < n; i++)
            if ((codes[i] & 0x7F) >= 0x78 && (codes[i] & 0x7F) != 0x7F) return true;
    }
    return false;
}

static bool is_fp8_without_scale(const matrix *m)
{
    return is_fp8(m) && m->kind == SCALE_ABSENT;
}

static bool is_not_fp8(const matrix *m)
{
    return !is_fp8(m);
}

/* Every target computes the same bits: nothing is quantised, and FP8 weights, if any, have left the
 * loader and lie below the codes that targets read differently. */
static bool is_target_free(const fp8moe_layer *layer)
{
    const fp8moe_recipe *const r = &layer->recipe;
    if (r->input != FP8MOE_INPUT_AS_IS || r->intermediate != FP8MOE_INTERMEDIATE_KEPT) return false;
    if (r->weights == FP8MOE_FORM_PREPARED) return false;
    if (!any_matrix(layer, is_fp8)) return true;
    const fp8moe_stage_of_weights stage = layer->config.weights_stage;
    const bool after_loader = stage == FP8MOE_WEIGHTS_LOADED || stage == FP8MOE_WEIGHTS_PREPARED;
    return after_loader && !any_matrix(layer, has_code_above_240);
}

static fp8moe_status resolve_target(fp8moe_layer *layer, fp8moe_error *err)
{
    layer->target = layer->config.target;
    if (layer->target) return FP8MOE_OK;
    if (!is_target_free(layer))
        return fail(err, FP8MOE_ERR_USAGE,
                    "recipe %s needs a target: which device computed this? gaudi2, gaudi3 or ocp",
                    layer->recipe.name);
    layer->target = fp8moe_target_find("ocp");
    return FP8MOE_OK;
}

/* Infer the weight stage only where nothing else is possible. */
static fp8moe_status resolve_stage(fp8moe_layer *layer, fp8moe_error *err)
{
    fp8moe_layer_info *const info = &layer->info;
    info->weights_stage = layer->config.weights_stage;
    const bool blocks = any_matrix(layer, matrix_is_blockwise);
    if (info->weights_stage == FP8MOE_WEIGHTS_PREPARED && blocks)
        return fail(err, FP8MOE_ERR_USAGE,
                    "weights stage prepared, but the scales are blocks: prepared weights have one "
                    "scale a row");
    if (info->weights_stage != FP8MOE_WEIGHTS_UNKNOWN) return FP8MOE_OK;
    info->weights_stage_inferred = true;
    if (!any_matrix(layer, is_fp8) || !layer->target->loader_halves) {
        info->weights_stage = FP8MOE_WEIGHTS_LOADED;
        return FP8MOE_OK;
    }
    if (any_matrix(layer, has_code_above_240)) {
        info->weights_stage = FP8MOE_WEIGHTS_CHECKPOINT;
        return FP8MOE_OK;
    }
    return fail(err, FP8MOE_ERR_USAGE,
                "target %s halves weights while loading: are these as in the checkpoint, loaded%s? "
                "give the "
                "weights stage",
                layer->target->name, blocks ? "" : ", or prepared");
}

/* The loader doubles every tensor that is not FP8, static scales among them (numerics.md 2.1). */
static void load_static_scales(fp8moe_layer *layer)
{
    if (layer->info.weights_stage != FP8MOE_WEIGHTS_CHECKPOINT || !layer->target->loader_halves)
        return;
    layer->input_scale = round_f32(2 * layer->input_scale);
    layer->w13_input_scale = round_f32(2 * layer->w13_input_scale);
    for (int64_t i = 0; i < layer->expert_count; i++)
        layer->experts[i].w2_input_scale = round_f32(2 * layer->experts[i].w2_input_scale);
}

static bool has_static_scales(const fp8moe_layer *layer)
{
    return layer->recipe.op == FP8MOE_OP_LINEAR ? layer->input_scale > 0
                                                : layer->w13_input_scale > 0;
}

/* A row against the weights it is asked to multiply. */
static fp8moe_status check_form(const fp8moe_layer *layer, fp8moe_error *err)
{
    const fp8moe_recipe *const r = &layer->recipe;
    const bool all_fp8 = !any_matrix(layer, is_not_fp8);
    if (any_matrix(layer, is_fp8_without_scale))
        return fail(err, FP8MOE_ERR_NOT_FOUND,
                    "an FP8 weight has no scale (tried _scale_inv, _scale): its codes alone are "
                    "not values");
    if (r->weights == FP8MOE_FORM_BF16 && any_matrix(layer, is_fp8))
        return fail(err, FP8MOE_ERR_DTYPE, "recipe %s multiplies bf16 weights, these are FP8",
                    r->name);
    if (r->weights != FP8MOE_FORM_BF16 && r->weights != FP8MOE_FORM_EXACT && !all_fp8)
        return fail(err, FP8MOE_ERR_DTYPE, "recipe %s multiplies FP8 weights, these are not",
                    r->name);
    if (r->weights == FP8MOE_FORM_CODES && any_matrix(layer, matrix_is_blockwise))
        return fail(err, FP8MOE_ERR_SHAPE,
                    "recipe %s takes one scale a tensor or a row, these are blocks", r->name);
    if (r->weights == FP8MOE_FORM_DEQUANT && layer->info.weights_stage == FP8MOE_WEIGHTS_PREPARED)
        return fail(err, FP8MOE_ERR_USAGE,
                    "recipe %s dequantises loaded weights, these are prepared", r->name);
    if (r->input == FP8MOE_INPUT_FP8_STATIC && !has_static_scales(layer))
        return fail(err, FP8MOE_ERR_NOT_FOUND,
                    "recipe %s needs static input scales, there are none", r->name);
    for (int64_t i = 0; i < layer->expert_count; i++)
        if (r->intermediate == FP8MOE_INTERMEDIATE_FP8_STATIC &&
            !(layer->experts[i].w2_input_scale > 0))
            return fail(err, FP8MOE_ERR_NOT_FOUND,
                        "recipe %s needs w2_input_scale, expert %lld has none", r->name,
                        (long long)i);
    return FP8MOE_OK;
}

/* ---- input ---- */

static bool low_halves_are_zero(const fp8moe_tensor *t)
{
    uint32_t words[1024];
    const int64_t count = fp8moe_tensor_count(t);
    for (int64_t at = 0; at < count; at += 1024) {
        const int64_t n = min_i64(1024, count - at);
        fp8moe_tensor_read_raw(t, at, n, words);
        for (int64_t i = 0; i < n; i++)
            if (words[i] & 0xFFFF) return false;
    }
    return true;
}

static fp8moe_status open_input(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    const fp8moe_tensor *const x = &in->hidden_states;
    fp8moe_layer_info *const info = &layer->info;
    if (!fp8moe_tensor_present(x)) return fail(err, FP8MOE_ERR_NOT_FOUND, "no hidden_states");
    if (x->dtype != FP8MOE_DTYPE_BF16 && x->dtype != FP8MOE_DTYPE_F32)
        return fail_at(err, FP8MOE_ERR_DTYPE, "hidden_states", -1, "dtype %s; expected BF16 or F32",
                       fp8moe_dtype_name(x->dtype));
    const fp8moe_status st = fp8moe_tensor_as_rows(x, &layer->hidden_states, err);
    if (st != FP8MOE_OK) return error_in_tensor(err, st, "hidden_states");
    info->tokens = layer->hidden_states.shape[0];
    info->hidden = layer->hidden_states.shape[1];
    if (info->hidden < 1 || info->hidden > MAX_DOT)
        return fail_at(err, FP8MOE_ERR_SHAPE, "hidden_states", -1,
                       "hidden size %lld; supported are 1 to %d", (long long)info->hidden, MAX_DOT);
    info->f32_holds_bf16 = x->dtype == FP8MOE_DTYPE_F32 && low_halves_are_zero(x);
    const bool bf16 = x->dtype == FP8MOE_DTYPE_BF16 || info->f32_holds_bf16;
    layer->input_precision = bf16 ? FP8MOE_ROUND_BF16 : FP8MOE_ROUND_F32;
    info->output_dtype = layer->recipe.weights == FP8MOE_FORM_EXACT ? FP8MOE_DTYPE_F64
                         : bf16                                     ? FP8MOE_DTYPE_BF16
                                                                    : FP8MOE_DTYPE_F32;
    return FP8MOE_OK;
}

/* The largest of `count` static scales from `first` on; each must be a positive number. */
static fp8moe_status largest_scale(const fp8moe_tensor *t, int64_t first, int64_t count,
                                   const char *name, double *out, fp8moe_error *err)
{
    for (int64_t i = first; i < first + count; i++) {
        double value;
        fp8moe_tensor_read_f64(t, i, 1, &value);
        if (!(value > 0) || value > 3.4e38)
            return fail_at(err, FP8MOE_ERR_VALUE, name, -1,
                           "element %lld is %g; a scale is positive and finite", (long long)i,
                           value);
        if (value > *out) *out = value;
    }
    return FP8MOE_OK;
}

static fp8moe_status count_scales(const fp8moe_tensor *t, const char *name, int64_t *count,
                                  fp8moe_error *err)
{
    *count = 0;
    if (!fp8moe_tensor_present(t)) return FP8MOE_OK;
    if (t->dtype != FP8MOE_DTYPE_F32 && t->dtype != FP8MOE_DTYPE_BF16 &&
        t->dtype != FP8MOE_DTYPE_F16)
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1,
                       "dtype %s; a static scale is F32, BF16 or F16", fp8moe_dtype_name(t->dtype));
    *count = fp8moe_tensor_count(t);
    return FP8MOE_OK;
}

/* As upstream: the largest w13 input scale serves all experts, each keeps its own w2 input scale.
 */
static fp8moe_status add_static_scales(fp8moe_layer *layer, const fp8moe_tensor *w13,
                                       const fp8moe_tensor *w2, int64_t first, int64_t experts,
                                       fp8moe_error *err)
{
    int64_t n13, n2;
    TRY(count_scales(w13, "w13_input_scale", &n13, err));
    TRY(count_scales(w2, "w2_input_scale", &n2, err));
    TRY(largest_scale(w13, 0, n13, "w13_input_scale", &layer->w13_input_scale, err));
    if (n2 > 1 && n2 != experts)
        return fail_at(err, FP8MOE_ERR_SHAPE, "w2_input_scale", -1, "%lld numbers for %lld experts",
                       (long long)n2, (long long)experts);
    for (int64_t i = 0; i < experts && n2 > 0; i++)
        TRY(largest_scale(w2, n2 > 1 ? i : 0, 1, "w2_input_scale",
                          &layer->experts[first + i].w2_input_scale, err));
    return FP8MOE_OK;
}

static fp8moe_status open_static_scales(fp8moe_layer *layer, const fp8moe_inputs *in,
                                        fp8moe_error *err)
{
    TRY(add_static_scales(layer, &in->w13_input_scale, &in->w2_input_scale, 0, layer->expert_count,
                          err));
    for (int64_t i = 0; in->experts && i < layer->expert_count; i++)
        TRY(add_static_scales(layer, &in->experts[i].w13_input_scale,
                              &in->experts[i].w2_input_scale, i, 1, err));
    return FP8MOE_OK;
}

/* ---- routing ---- */

static fp8moe_status resolve_experts(fp8moe_layer *layer, const fp8moe_inputs *in,
                                     fp8moe_error *err)
{
    const fp8moe_config *const c = &layer->config;
    fp8moe_layer_info *const info = &layer->info;
    const fp8moe_tensor *const router = &in->router_logits;
    const bool logits = fp8moe_tensor_present(router);
    const int64_t columns = !logits ? 0 : router->rank ? router->shape[router->rank - 1] : 1;
    info->num_experts = c->num_experts ? c->num_experts : columns;
    info->local_num_experts = c->local_num_experts   ? c->local_num_experts
                              : !c->replicate_expert ? layer->expert_count
                              : info->num_experts    ? info->num_experts
                                                     : 1;
    if (c->num_experts < 0 || c->local_num_experts < 0)
        return fail(err, FP8MOE_ERR_USAGE,
                    "num_experts %lld and local_num_experts %lld: neither can be negative",
                    (long long)c->num_experts, (long long)c->local_num_experts);
    if (!info->num_experts && c->ep_rank > 0)
        return fail(err, FP8MOE_ERR_USAGE,
                    "ep_rank %lld without num_experts: how many experts has the model?",
                    (long long)c->ep_rank);
    if (!info->num_experts) info->num_experts = info->local_num_experts;
    if (c->replicate_expert && layer->expert_count != 1)
        return fail(err, FP8MOE_ERR_USAGE,
                    "replicate_expert needs exactly one expert, the weights hold %lld",
                    (long long)layer->expert_count);
    if (!c->replicate_expert && info->local_num_experts != layer->expert_count)
        return fail(err, FP8MOE_ERR_SHAPE, "local_num_experts is %lld, the weights hold %lld",
                    (long long)info->local_num_experts, (long long)layer->expert_count);
    if (info->local_num_experts > info->num_experts)
        return fail(err, FP8MOE_ERR_USAGE, "%lld experts here, but the model has %lld",
                    (long long)info->local_num_experts, (long long)info->num_experts);
    if (logits && columns != info->num_experts)
        return fail_at(err, FP8MOE_ERR_SHAPE, "router_logits", -1, "%lld columns for %lld experts",
                       (long long)columns, (long long)info->num_experts);
    if (c->ep_rank < 0 || c->ep_rank > (info->num_experts - 1) / info->local_num_experts)
        return fail(err, FP8MOE_ERR_USAGE,
                    "ep_rank %lld with %lld of %lld experts here: its window is empty",
                    (long long)c->ep_rank, (long long)info->local_num_experts,
                    (long long)info->num_experts);
    return FP8MOE_OK;
}

static fp8moe_status rows_of(const fp8moe_tensor *t, int64_t tokens, const char *name,
                             fp8moe_tensor *out, fp8moe_error *err)
{
    char shape[96];
    TRY(error_in_tensor(err, fp8moe_tensor_as_rows(t, out, err), name));
    if (out->shape[0] != tokens)
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "%s has %lld rows, hidden_states %lld",
                       fp8moe_tensor_shape_text(t, shape, sizeof shape), (long long)out->shape[0],
                       (long long)tokens);
    return FP8MOE_OK;
}

static bool is_integer(fp8moe_dtype dtype)
{
    return dtype >= FP8MOE_DTYPE_U8 && dtype <= FP8MOE_DTYPE_I64;
}

static bool is_routing_dtype(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_BF16 || dtype == FP8MOE_DTYPE_F16 || dtype == FP8MOE_DTYPE_F32;
}

fp8moe_status layer_set_ids(fp8moe_layer *layer, const fp8moe_tensor *ids, fp8moe_error *err)
{
    const int64_t top_k = layer->info.top_k, count = layer->info.tokens * top_k;
    fp8moe_tensor_read_i64(ids, 0, count, layer->topk_ids);
    for (int64_t i = 0; i < count; i++)
        if (layer->topk_ids[i] < -1 || layer->topk_ids[i] >= layer->info.num_experts)
            return fail_at(err, FP8MOE_ERR_VALUE, "topk_ids", -1,
                           "token %lld, slot %lld: id %lld, but the model has experts 0 to %lld",
                           (long long)(i / top_k), (long long)(i % top_k),
                           (long long)layer->topk_ids[i], (long long)layer->info.num_experts - 1);
    return FP8MOE_OK;
}

static fp8moe_status alloc_slots(fp8moe_layer *layer, fp8moe_error *err)
{
    const size_t slots = (size_t)(layer->info.tokens * layer->info.top_k);
    layer->topk_ids = calloc(slots ? slots : 1, sizeof *layer->topk_ids);
    layer->topk_weights = calloc(slots ? slots : 1, sizeof *layer->topk_weights);
    if (layer->topk_ids && layer->topk_weights) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the routing of %zu slots", slots);
}

static fp8moe_status routing_from_dump(fp8moe_layer *layer, const fp8moe_inputs *in,
                                       fp8moe_error *err)
{
    const int64_t asked = layer->config.routing.top_k;
    fp8moe_tensor ids, weights;
    if (!is_integer(in->topk_ids.dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, "topk_ids", -1, "dtype %s; ids are integers",
                       fp8moe_dtype_name(in->topk_ids.dtype));
    if (!is_routing_dtype(in->topk_weights.dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, "topk_weights", -1,
                       "dtype %s; expected BF16, F16 or F32",
                       fp8moe_dtype_name(in->topk_weights.dtype));
    TRY(rows_of(&in->topk_ids, layer->info.tokens, "topk_ids", &ids, err));
    TRY(rows_of(&in->topk_weights, layer->info.tokens, "topk_weights", &weights, err));
    layer->info.top_k = ids.shape[1];
    if (weights.shape[1] != ids.shape[1] || (asked && asked != ids.shape[1]))
        return fail_at(err, FP8MOE_ERR_SHAPE, "topk_weights", -1,
                       "%lld ids a token, %lld weights, top_k %lld", (long long)ids.shape[1],
                       (long long)weights.shape[1], (long long)(asked ? asked : ids.shape[1]));
    TRY(alloc_slots(layer, err));
    fp8moe_tensor_read_f64(&weights, 0, layer->info.tokens * layer->info.top_k,
                           layer->topk_weights);
    return layer_set_ids(layer, &ids, err);
}

/* Routed in f32; the recipe rounds the weights further (layer_router_weight). */
static fp8moe_status routing_from_logits(fp8moe_layer *layer, const fp8moe_inputs *in,
                                         fp8moe_error *err)
{
    fp8moe_layer_info *const info = &layer->info;
    fp8moe_routing routing = layer->config.routing;
    fp8moe_tensor logits;
    if (!routing.top_k)
        return fail(err, FP8MOE_ERR_USAGE, "router_logits without topk_ids need top_k");
    routing.weight_round = FP8MOE_ROUND_F32;
    TRY(fp8moe_routing_check(&routing, info->num_experts, err));
    TRY(rows_of(&in->router_logits, info->tokens, "router_logits", &logits, err));
    if (!is_routing_dtype(logits.dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, "router_logits", -1,
                       "dtype %s; expected BF16, F16 or F32", fp8moe_dtype_name(logits.dtype));
    info->top_k = routing.top_k;
    info->routed_here = true;
    TRY(alloc_slots(layer, err));
    double *const row = calloc((size_t)info->num_experts, 5 * sizeof *row);
    if (!row) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a row of logits");
    for (int64_t t = 0; t < info->tokens; t++) {
        fp8moe_tensor_read_f64(&logits, t * info->num_experts, info->num_experts, row);
        fp8moe_route_token(&routing, row, info->num_experts, layer->topk_ids + t * info->top_k,
                           layer->topk_weights + t * info->top_k, row + info->num_experts);
    }
    free(row);
    return FP8MOE_OK;
}

static fp8moe_status open_routing(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    const bool ids = fp8moe_tensor_present(&in->topk_ids),
               weights = fp8moe_tensor_present(&in->topk_weights);
    TRY(resolve_experts(layer, in, err));
    if (ids && weights) return routing_from_dump(layer, in, err);
    if (fp8moe_tensor_present(&in->router_logits) && !ids)
        return routing_from_logits(layer, in, err);
    return fail(err, FP8MOE_ERR_NOT_FOUND,
                "no routing: give topk_ids with topk_weights, or router_logits%s",
                ids ? " (there are topk_ids without topk_weights)" : "");
}

int64_t layer_local_expert(const fp8moe_layer *layer, int64_t id)
{
    const int64_t here = layer->info.local_num_experts;
    const int64_t first = layer->recipe.ids == FP8MOE_IDS_OFFSET ? layer->config.ep_rank * here : 0;
    return id >= first && id < first + here ? id - first : -1;
}

const expert *layer_expert(const fp8moe_layer *layer, int64_t local)
{
    return &layer->experts[layer->config.replicate_expert ? 0 : local];
}

double layer_router_weight(const fp8moe_layer *layer, int64_t slot)
{
    return round_to(layer->recipe.router_weight, layer->topk_weights[slot]);
}

fp8moe_dtype layer_dtype(fp8moe_precision precision)
{
    return precision == FP8MOE_ROUND_BF16  ? FP8MOE_DTYPE_BF16
           : precision == FP8MOE_ROUND_F64 ? FP8MOE_DTYPE_F64
                                           : FP8MOE_DTYPE_F32;
}

fp8moe_precision layer_output_precision(const fp8moe_layer *layer)
{
    return layer->info.output_dtype == FP8MOE_DTYPE_BF16  ? FP8MOE_ROUND_BF16
           : layer->info.output_dtype == FP8MOE_DTYPE_F32 ? FP8MOE_ROUND_F32
                                                          : FP8MOE_ROUND_F64;
}

/* ---- opening ---- */

static fp8moe_status open_linear(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    const fp8moe_config *const c = &layer->config;
    const fp8moe_weight w = {.weight = in->weight, .scale = in->weight_scale};
    int64_t scales;
    if (!fp8moe_tensor_present(&in->weight)) return fail(err, FP8MOE_ERR_NOT_FOUND, "no weight");
    TRY(matrix_check(&w, -1, layer->info.hidden, c->block_rows, c->block_cols, "weight",
                     &layer->linear, err));
    TRY(count_scales(&in->input_scale, "input_scale", &scales, err));
    return largest_scale(&in->input_scale, 0, scales, "input_scale", &layer->input_scale, err);
}

static fp8moe_status open_moe(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    TRY(open_experts(layer, in, err));
    if (layer->info.intermediate < 1 || layer->info.intermediate > MAX_DOT)
        return fail(err, FP8MOE_ERR_SHAPE, "intermediate size %lld; supported are 1 to %d",
                    (long long)layer->info.intermediate, MAX_DOT);
    TRY(open_static_scales(layer, in, err));
    return open_routing(layer, in, err);
}

static fp8moe_status open_all(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    const fp8moe_config *const c = &layer->config;
    if (!kernels_init(&layer->kernels, c->isa, c->use_blas))
        return fail(err, FP8MOE_ERR_USAGE, "no instruction set '%s'", c->isa);
    if (c->block_rows < 1 || c->block_cols < 1 || c->threads < 1)
        return fail(err, FP8MOE_ERR_USAGE, "block sizes and threads must be at least 1");
    TRY(open_input(layer, in, err));
    if (layer->recipe.op == FP8MOE_OP_LINEAR)
        TRY(open_linear(layer, in, err));
    else
        TRY(open_moe(layer, in, err));
    TRY(resolve_target(layer, err));
    TRY(resolve_stage(layer, err));
    load_static_scales(layer);
    TRY(check_form(layer, err));
    layer->reader = (weight_reader){.target = layer->target,
                                    .table = e4m3_table(layer->target),
                                    .form = layer->recipe.weights,
                                    .stage = layer->info.weights_stage,
                                    .decode = layer->kernels.decode};
    return FP8MOE_OK;
}

void fp8moe_config_default(fp8moe_config *config)
{
    *config = (fp8moe_config){.block_rows = 128, .block_cols = 128, .threads = 1, .use_blas = true};
    fp8moe_routing_default(&config->routing);
}

fp8moe_status fp8moe_layer_open(const fp8moe_config *config, const fp8moe_inputs *inputs,
                                fp8moe_layer **out, fp8moe_error *err)
{
    assert(config && config->recipe && inputs && out);
    *out = NULL;
    fp8moe_layer *const layer = calloc(1, sizeof *layer);
    if (!layer) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a layer");
    layer->config = *config;
    layer->recipe = *config->recipe;
    layer->info.first_leak_token = layer->info.first_leak_expert = -1;
    const fp8moe_status status = open_all(layer, inputs, err);
    if (status != FP8MOE_OK)
        fp8moe_layer_close(layer);
    else
        *out = layer;
    return status;
}

void fp8moe_layer_close(fp8moe_layer *layer)
{
    if (!layer) return;
    free(layer->experts);
    free(layer->topk_ids);
    free(layer->topk_weights);
    free(layer);
}

void fp8moe_layer_info_get(const fp8moe_layer *layer, fp8moe_layer_info *info)
{
    *info = layer->info;
}

fp8moe_status fp8moe_layer_run(fp8moe_layer *layer, const fp8moe_observer *observer, double *output,
                               fp8moe_error *err)
{
    return layer->recipe.op == FP8MOE_OP_LINEAR ? linear_run(layer, observer, output, err)
                                                : moe_run(layer, observer, output, err);
}

fp8moe_status fp8moe_recipe_fits(const fp8moe_recipe *recipe, const fp8moe_config *config,
                                 const fp8moe_inputs *inputs, fp8moe_error *err)
{
    fp8moe_config asked = *config;
    asked.recipe = recipe;
    fp8moe_layer *layer;
    TRY(fp8moe_layer_open(&asked, inputs, &layer, err));
    const bool is_static = has_static_scales(layer);
    fp8moe_layer_close(layer);
    if (recipe->input == FP8MOE_INPUT_FP8_TOKEN && is_static)
        return fail(err, FP8MOE_ERR_USAGE,
                    "recipe %s quantises per token, but static input scales were given",
                    recipe->name);
    return FP8MOE_OK;
}

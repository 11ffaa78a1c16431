/* The weights of a layer: split into matrices, checked, and read as target and weight stage say. */
#include "layer.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "fused.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- static scales ---- */

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

bool layer_has_static_scales(const fp8moe_layer *layer)
{
    return layer->recipe.op == FP8MOE_OP_LINEAR ? layer->input_scale > 0
                                                : layer->w13_input_scale > 0;
}

/* A scale that is given is applied in one of two ways, one that is found in the others. */
static bool is_cast_for(fp8moe_cast cast, bool is_static)
{
    const bool applies_given = cast == FP8MOE_CAST_BF16_INVERSE || cast == FP8MOE_CAST_F32_DIVISION;
    return applies_given == is_static && (is_static || cast != FP8MOE_CAST_NONE);
}

static fp8moe_status check_casts(const fp8moe_recipe *r, fp8moe_error *err)
{
    if (r->input != FP8MOE_INPUT_AS_IS &&
        !is_cast_for(r->input_cast, r->input == FP8MOE_INPUT_FP8_STATIC))
        return fail(err, FP8MOE_ERR_USAGE, "recipe %s: its input_cast does not go with its input",
                    r->name);
    if (r->intermediate != FP8MOE_INTERMEDIATE_KEPT &&
        !is_cast_for(r->intermediate_cast, r->intermediate == FP8MOE_INTERMEDIATE_FP8_STATIC))
        return fail(err, FP8MOE_ERR_USAGE,
                    "recipe %s: its intermediate_cast does not go with its intermediate", r->name);
    return FP8MOE_OK;
}

/* A row against the weights it is asked to multiply. */
static fp8moe_status check_form(const fp8moe_layer *layer, fp8moe_error *err)
{
    const fp8moe_recipe *const r = &layer->recipe;
    const bool all_fp8 = !any_matrix(layer, is_not_fp8);
    TRY(check_casts(r, err));
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
    if (r->input == FP8MOE_INPUT_FP8_STATIC && !layer_has_static_scales(layer))
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

/* ---- opening ---- */

fp8moe_status layer_open_linear(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
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

fp8moe_status layer_open_experts(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    TRY(open_experts(layer, in, err));
    if (layer->info.intermediate < 1 || layer->info.intermediate > LAYER_MAX_DOT)
        return fail(err, FP8MOE_ERR_SHAPE, "intermediate size %lld; supported are 1 to %d",
                    (long long)layer->info.intermediate, LAYER_MAX_DOT);
    return open_static_scales(layer, in, err);
}

fp8moe_status layer_resolve_weights(fp8moe_layer *layer, fp8moe_error *err)
{
    TRY(resolve_target(layer, err));
    TRY(resolve_stage(layer, err));
    load_static_scales(layer);
    TRY(check_form(layer, err));
    layer->reader = (weight_reader){.target = layer->target,
                                    .table = e4m3_table(layer->target),
                                    .form = layer->recipe.weights,
                                    .stage = layer->info.weights_stage,
                                    .kernels = &layer->kernels};
    return FP8MOE_OK;
}

#include "layer.h"

#include "bits.h"
#include "common.h"

#include <stdlib.h>
#include <string.h>

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
    if (info->hidden < 1 || info->hidden > LAYER_MAX_DOT)
        return fail_at(err, FP8MOE_ERR_SHAPE, "hidden_states", -1,
                       "hidden size %lld; supported are 1 to %d", (long long)info->hidden,
                       LAYER_MAX_DOT);
    info->f32_holds_bf16 = x->dtype == FP8MOE_DTYPE_F32 && low_halves_are_zero(x);
    const bool bf16 = x->dtype == FP8MOE_DTYPE_BF16 || info->f32_holds_bf16;
    layer->input_precision = bf16 ? FP8MOE_ROUND_BF16 : FP8MOE_ROUND_F32;
    info->output_dtype = layer->recipe.weights == FP8MOE_FORM_EXACT ? FP8MOE_DTYPE_F64
                         : bf16                                     ? FP8MOE_DTYPE_BF16
                                                                    : FP8MOE_DTYPE_F32;
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
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "%s has %lld rows, hidden_states %lld%s",
                       fp8moe_tensor_shape_text(t, shape, sizeof shape), (long long)out->shape[0],
                       (long long)tokens,
                       out->shape[0] > tokens
                           ? ": were they not dispatched (all-gathered) as the routing was?"
                           : "");
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

static fp8moe_status open_moe(fp8moe_layer *layer, const fp8moe_inputs *in, fp8moe_error *err)
{
    TRY(layer_open_experts(layer, in, err));
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
        TRY(layer_open_linear(layer, in, err));
    else
        TRY(open_moe(layer, in, err));
    return layer_resolve_weights(layer, err);
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
    const bool is_static = layer_has_static_scales(layer);
    fp8moe_layer_close(layer);
    if (recipe->input == FP8MOE_INPUT_FP8_TOKEN && is_static)
        return fail(err, FP8MOE_ERR_USAGE,
                    "recipe %s quantises per token, but static input scales were given",
                    recipe->name);
    return FP8MOE_OK;
}

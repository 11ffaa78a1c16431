#include "model_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_note(model_weights *out, char *text)
{
    out->notes = cli_resize(out->notes, (out->note_count + 1) * sizeof *out->notes);
    out->notes[out->note_count++] = text;
}

/* ---- which layer, which rank ---- */

/* The last number of a text such as "17" or "model.layers.17.mlp"; false where it holds none. */
static bool last_number(const char *text, int64_t *out)
{
    const char *end = text + strlen(text);
    while (end > text && (end[-1] < '0' || end[-1] > '9'))
        end--;
    const char *start = end;
    while (start > text && start[-1] >= '0' && start[-1] <= '9')
        start--;
    char *digits = cli_text("%.*s", (int)(end - start), start);
    const bool good = cli_parse_integer(digits, 0, INT64_MAX, out);
    free(digits);
    return good;
}

static fp8moe_status choose_layer(const options *given, const fp8moe_dump *dump, model_weights *out,
                                  fp8moe_error *err)
{
    const char *asked = options_value(given, OPTION_LAYER);
    const char *noted = dump ? fp8moe_dump_metadata_get(dump, "layer") : NULL;
    int64_t number;
    if (asked && !cli_parse_integer(asked, 0, INT64_MAX, &number))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--layer '%s': expected the number of a layer",
                        asked);
    if (asked || (noted && last_number(noted, &number)))
        return fp8moe_checkpoint_layer_find(out->model, number, &out->layer, err);
    const size_t count = fp8moe_checkpoint_layer_count(out->model);
    if (count == 1) return FP8MOE_OK;
    if (!count) return fp8moe_checkpoint_layer_find(out->model, 0, &out->layer, err);
    return cli_fail(
        err, FP8MOE_ERR_USAGE,
        "--weights needs --layer: this model has %zu layers with experts, the first is %lld", count,
        (long long)fp8moe_checkpoint_layer_at(out->model, 0)->number);
}

/* Ranks as given; where the group's size is not, E_local tells it. */
static fp8moe_ranks find_ranks(const settings *all, int64_t num_experts)
{
    const setting *value = all->value;
    const int64_t here = value[SETTING_LOCAL_NUM_EXPERTS].integer;
    fp8moe_ranks ranks = {.ep_rank = value[SETTING_EP_RANK].integer,
                          .ep_size = value[SETTING_EP_SIZE].integer,
                          .tp_rank = value[SETTING_TP_RANK].integer,
                          .tp_size = value[SETTING_TP_SIZE].integer};
    if (!ranks.ep_size) ranks.ep_size = here && num_experts % here == 0 ? num_experts / here : 1;
    if (!ranks.tp_size) ranks.tp_size = 1;
    return ranks;
}

/* ---- what the folder says ---- */

static void fill_integer(settings *all, setting_id id, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    if (number) settings_fill(all, id, text, SOURCE_MODEL);
}

/* Upstream's grouped branch does what config.json says; its plain branch always renormalises. */
static void fill_renormalize(settings *all, const fp8moe_model_config *config, model_weights *out)
{
    const bool grouped = config->n_group > 0;
    if (grouped && config->norm_topk_prob >= 0)
        settings_fill(all, SETTING_RENORMALIZE, config->norm_topk_prob ? "true" : "false",
                      SOURCE_MODEL);
    else if (config->norm_topk_prob == 0 &&
             all->value[SETTING_RENORMALIZE].source == SOURCE_DEFAULT)
        add_note(
            out,
            cli_copy(
                "config.json says norm_topk_prob false, but upstream's ungrouped routing divides "
                "by the "
                "sum all the same, and so does this run: --no-renormalize for one that does not"));
}

static void fill_settings(settings *all, const fp8moe_model_config *config, model_weights *out)
{
    char text[48];
    settings_replace(all, SETTING_WEIGHTS_STAGE, "checkpoint", SOURCE_MODEL);
    snprintf(text, sizeof text, "%lldx%lld", (long long)out->moe.block_rows,
             (long long)out->moe.block_cols);
    settings_replace(all, SETTING_WEIGHT_BLOCK_SIZE, text, SOURCE_MODEL);
    fill_integer(all, SETTING_NUM_EXPERTS, out->moe.num_experts);
    fill_integer(all, SETTING_LOCAL_NUM_EXPERTS, out->moe.expert_count);
    fill_integer(all, SETTING_TOP_K, config->top_k);
    fill_integer(all, SETTING_N_GROUP, config->n_group);
    fill_integer(all, SETTING_TOPK_GROUP, config->topk_group);
    if (config->scoring_func)
        settings_fill(all, SETTING_SCORING_FUNC, config->scoring_func, SOURCE_MODEL);
    snprintf(text, sizeof text, "%.17g", config->routed_scaling_factor);
    if (config->routed_scaling_factor != 0)
        settings_fill(all, SETTING_ROUTED_SCALING_FACTOR, text, SOURCE_MODEL);
    fill_renormalize(all, config, out);
}

static void note_weights(const char *folder, const fp8moe_ranks *ranks, model_weights *out)
{
    const fp8moe_checkpoint_layer *layer = fp8moe_checkpoint_layer_at(out->model, out->layer);
    const int64_t first = ranks->ep_rank * out->moe.expert_count;
    buffer text = {0};
    buffer_format(&text, "weights of %s in %s: experts %lld to %lld of %lld",
                  *layer->prefix ? layer->prefix : "the only layer", folder, (long long)first,
                  (long long)(first + out->moe.expert_count - 1), (long long)out->moe.num_experts);
    if (ranks->tp_size > 1)
        buffer_format(&text, ", slice %lld of %lld", (long long)ranks->tp_rank,
                      (long long)ranks->tp_size);
    if (*layer->left_out) buffer_format(&text, "; %s left out", layer->left_out);
    add_note(out, text.data);
    if (out->moe.splits_blocks)
        add_note(out, cli_text("slices of %lld cut through scale blocks of %lld x %lld, which "
                               "upstream refuses to load",
                               (long long)out->moe.intermediate, (long long)out->moe.block_rows,
                               (long long)out->moe.block_cols));
}

/* ---- opening ---- */

static fp8moe_status check_options(const options *given, const settings *all, const char *folder,
                                   fp8moe_error *err)
{
    static const option_id needing[] = {OPTION_LAYER, OPTION_TP_RANK, OPTION_TP_SIZE};
    for (size_t i = 0; i < sizeof needing / sizeof *needing && !folder; i++)
        if (options_value(given, needing[i]))
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "%s chooses from a model folder: it needs --weights",
                            options_spelling(needing[i]));
    if (folder && settings_op(all) == FP8MOE_OP_LINEAR)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--weights reads the experts of a layer, not the weight of a linear");
    return FP8MOE_OK;
}

static fp8moe_status open_layer(const options *given, const fp8moe_dump *dump, const char *folder,
                                settings *all, model_weights *out, fp8moe_error *err)
{
    fp8moe_moe_form form;
    CLI_TRY(fp8moe_checkpoint_open(folder, &out->model, err));
    CLI_TRY(choose_layer(given, dump, out, err));
    CLI_TRY(fp8moe_checkpoint_describe(out->model, out->layer, &form, err));
    const fp8moe_ranks ranks = find_ranks(all, form.num_experts);
    CLI_TRY(fp8moe_checkpoint_moe(out->model, out->layer, &ranks, &out->moe, err));
    note_weights(folder, &ranks, out);
    fill_settings(all, fp8moe_checkpoint_config(out->model), out);
    return FP8MOE_OK;
}

fp8moe_status model_weights_open(const options *given, const fp8moe_dump *dump, settings *all,
                                 model_weights *out, fp8moe_error *err)
{
    const char *folder = options_value(given, OPTION_WEIGHTS);
    CLI_TRY(check_options(given, all, folder, err));
    return folder ? cli_in_file(err, open_layer(given, dump, folder, all, out, err), folder)
                  : FP8MOE_OK;
}

/* ---- for a dump ---- */

static fp8moe_status compute_logits(model_weights *out, fields *found, fp8moe_error *err)
{
    fp8moe_inputs *in = &found->inputs;
    fp8moe_tensor rows;
    const bool routed =
        fp8moe_tensor_present(&in->topk_ids) || fp8moe_tensor_present(&in->router_logits);
    if (routed || !fp8moe_tensor_present(&out->moe.router) ||
        !fp8moe_tensor_present(&in->hidden_states))
        return FP8MOE_OK;
    CLI_TRY(fp8moe_tensor_as_rows(&in->hidden_states, &rows, err));
    const int64_t shape[2] = {rows.shape[0], out->moe.num_experts};
    out->logits = cli_allocate((size_t)(shape[0] * shape[1]) * sizeof *out->logits);
    CLI_TRY(fp8moe_router_logits(&in->hidden_states, &out->moe.router, out->logits, err));
    in->router_logits = fp8moe_tensor_view(out->logits, FP8MOE_DTYPE_F32, 2, shape);
    add_note(
        out,
        cli_copy("the dump holds no routing: router_logits were computed from hidden_states and "
                 "the folder's "
                 "router; a device may choose otherwise where two logits are near each other"));
    return FP8MOE_OK;
}

/* A way of scoring that the emulator lacks matters only where it has to route. */
static fp8moe_status check_scoring(const fp8moe_checkpoint *model, const settings *all,
                                   const fields *found, fp8moe_error *err)
{
    const char *name = fp8moe_checkpoint_config(model)->scoring_func;
    fp8moe_scoring known;
    if (!name || fp8moe_scoring_find(name, &known) ||
        fp8moe_tensor_present(&found->inputs.topk_ids) ||
        all->value[SETTING_SCORING_FUNC].source != SOURCE_DEFAULT)
        return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_UNSUPPORTED,
                    "config.json says scoring_func \"%.60s\", which is not emulated: dump topk_ids "
                    "and topk_weights",
                    name);
}

fp8moe_status model_weights_take(const options *given, const fp8moe_dump *dump, settings *all,
                                 fields *found, model_weights *out, fp8moe_error *err)
{
    CLI_TRY(model_weights_open(given, dump, all, out, err));
    if (!out->model || options_value(given, OPTION_PREP)) return FP8MOE_OK;
    if (fp8moe_tensor_present(&found->inputs.w13_weight) ||
        fp8moe_tensor_present(&found->inputs.w2_weight) ||
        fp8moe_tensor_present(&found->inputs.weight))
        return cli_fail(
            err, FP8MOE_ERR_USAGE,
            "the dump holds weights itself: leave --weights out, or hold the two against "
            "each other with --prep");
    CLI_TRY(check_scoring(out->model, all, found, err));
    found->inputs.experts = out->moe.experts;
    found->inputs.expert_count = out->moe.expert_count;
    if (!fp8moe_tensor_present(&found->correction_bias))
        found->correction_bias = out->moe.correction_bias;
    return compute_logits(out, found, err);
}

void model_weights_free(model_weights *weights)
{
    for (size_t i = 0; i < weights->note_count; i++)
        free(weights->notes[i]);
    free(weights->notes);
    free(weights->logits);
    fp8moe_moe_weights_free(&weights->moe);
    fp8moe_checkpoint_close(weights->model);
    *weights = (model_weights){0};
}

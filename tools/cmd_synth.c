/* synth: a made-up layer with its output under a recipe, for trying things out and for tests. */
#include "catalog.h"
#include "models.h"
#include "report.h"
#include "synth.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what to make ---- */

/* "T=5,E=16,K=4,H=384,I=256" into the shape; letters may be left out. */
static fp8moe_status parse_shape(const char *text, synth_shape *out, fp8moe_error *err)
{
    const struct {
        char letter;
        int64_t *value;
    } letters[] = {{'T', &out->tokens},
                   {'E', &out->experts},
                   {'K', &out->top_k},
                   {'H', &out->hidden},
                   {'I', &out->intermediate}};
    for (const char *at = text; *at;) {
        int64_t *value = NULL;
        for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
            if (at[0] == letters[i].letter && at[1] == '=') value = letters[i].value;
        const size_t length = strcspn(at, ",");
        char *number = cli_text("%.*s", value ? (int)length - 2 : 0, at + 2 * (value != NULL));
        const bool legal = value && cli_parse_integer(number, 1, INT32_MAX, value);
        free(number);
        if (!legal)
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "--shape '%s': expected T=..,E=..,K=..,H=..,I=.., each at least 1",
                            text);
        at += length + (at[length] == ',');
    }
    return FP8MOE_OK;
}

static const char *model_name_at(const void *context, size_t index)
{
    (void)context;
    const model *m = models_at(index);
    return m ? m->name : NULL;
}

static fp8moe_status find_model(const char *name, const model **out, fp8moe_error *err)
{
    *out = models_find(name);
    if (*out) return FP8MOE_OK;
    const char *nearest = cli_nearest(name, model_name_at, NULL);
    buffer known = {0};
    for (size_t i = 0; models_at(i); i++)
        buffer_format(&known, "%s%s", i ? ", " : "", models_at(i)->name);
    const fp8moe_status st =
        nearest ? cli_fail(err, FP8MOE_ERR_USAGE, "there is no model '%s'; did you mean %s?", name,
                           nearest)
                : cli_fail(err, FP8MOE_ERR_USAGE, "there is no model '%s'; known are %s", name,
                           known.data);
    buffer_free(&known);
    return st;
}

/* What the model says about its router, where no option does. */
static void take_router(const model *m, settings *all)
{
    char number[24];
    if (m->scoring_func) settings_fill(all, SETTING_SCORING_FUNC, m->scoring_func, SOURCE_INFERRED);
    if (m->routed_scaling_factor)
        settings_fill(all, SETTING_ROUTED_SCALING_FACTOR, m->routed_scaling_factor,
                      SOURCE_INFERRED);
    snprintf(number, sizeof number, "%lld", (long long)m->n_group);
    if (m->n_group) settings_fill(all, SETTING_N_GROUP, number, SOURCE_INFERRED);
    snprintf(number, sizeof number, "%lld", (long long)m->topk_group);
    if (m->topk_group) settings_fill(all, SETTING_TOPK_GROUP, number, SOURCE_INFERRED);
}

static fp8moe_status find_shape(const options *given, synth_plan *plan, settings *all,
                                fp8moe_error *err)
{
    const char *text = options_value(given, OPTION_SHAPE);
    synth_shape *s = &plan->shape;
    *s = (synth_shape){.tokens = 0};
    if (given->operand_count) {
        const model *m;
        CLI_TRY(find_model(given->operands[0], &m, err));
        *s = (synth_shape){1, m->experts, m->top_k, m->hidden, m->intermediate};
        plan->correction_bias = m->correction_bias;
        take_router(m, all);
    }
    if (text) CLI_TRY(parse_shape(text, s, err));
    if (!s->tokens || !s->experts || !s->top_k || !s->hidden || !s->intermediate)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "synth needs --shape T=..,E=..,K=..,H=..,I=.. or the name of a model");
    if (s->top_k > s->experts)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "K %lld of E %lld: a token cannot have more experts than there are",
                        (long long)s->top_k, (long long)s->experts);
    return FP8MOE_OK;
}

static fp8moe_status parse_seed(const options *given, option_id id, uint64_t *out,
                                fp8moe_error *err)
{
    const char *text = options_value(given, id);
    if (!text || cli_parse_unsigned(text, out)) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE, "%s '%s': expected a whole number", options_spelling(id),
                    text);
}

static int64_t size_or_one(const settings *all, setting_id id)
{
    return all->value[id].source == SOURCE_UNKNOWN ? 1 : all->value[id].integer;
}

/* The rank whose part is made, and what that makes of the layer's sizes. */
static void find_ranks(synth_plan *plan, settings *all)
{
    const setting *value = all->value;
    char number[24];
    plan->ranks = (fp8moe_ranks){.ep_rank = value[SETTING_EP_RANK].integer,
                                 .ep_size = size_or_one(all, SETTING_EP_SIZE),
                                 .tp_rank = value[SETTING_TP_RANK].integer,
                                 .tp_size = size_or_one(all, SETTING_TP_SIZE)};
    if (plan->ranks.ep_size == 1) return;
    snprintf(number, sizeof number, "%lld", (long long)plan->shape.experts);
    settings_fill(all, SETTING_NUM_EXPERTS, number, SOURCE_INFERRED);
    snprintf(number, sizeof number, "%lld", (long long)(plan->shape.experts / plan->ranks.ep_size));
    settings_fill(all, SETTING_LOCAL_NUM_EXPERTS, number, SOURCE_INFERRED);
}

static fp8moe_status find_plan(const options *given, synth_plan *plan, settings *all,
                               fp8moe_error *err)
{
    *plan = (synth_plan){.seed = 1};
    CLI_TRY(settings_check_machine(given, err));
    CLI_TRY(settings_find(given, NULL, all, err));
    settings_fill(all, SETTING_OP, "moe", SOURCE_DEFAULT);
    settings_fill(all, SETTING_WEIGHTS_STAGE, "checkpoint", SOURCE_DEFAULT);
    CLI_TRY(find_shape(given, plan, all, err));
    CLI_TRY(parse_seed(given, OPTION_SEED, &plan->seed, err));
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)plan->shape.top_k);
    settings_fill(all, SETTING_TOP_K, number, SOURCE_INFERRED);
    plan->recipe = catalog_recipe(all->value[SETTING_RECIPE].text);
    if (!plan->recipe)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "synth needs --recipe NAME ('fp8moe recipes' lists them)");
    if (plan->recipe->op != FP8MOE_OP_MOE)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "recipe %s is for a linear; synth makes a mixture of experts",
                        plan->recipe->name);
    fp8moe_config config;
    settings_config(all, given, NULL, &config);
    plan->target = config.target;
    plan->stage = config.weights_stage;
    plan->block_rows = config.block_rows;
    plan->block_columns = config.block_cols;
    find_ranks(plan, all);
    return FP8MOE_OK;
}

/* ---- its output ---- */

static fp8moe_status open_layer(const options *given, const synth_plan *plan, const settings *all,
                                const synth_layer *layer, fp8moe_layer **out, fp8moe_error *err)
{
    fp8moe_config config;
    settings_config(all, given, NULL, &config);
    config.recipe = plan->recipe;
    config.routing.correction_bias = layer->correction_bias;
    config.shuffle_sums = options_value(given, OPTION_NOISE) != NULL;
    CLI_TRY(parse_seed(given, OPTION_NOISE, &config.shuffle_seed, err));
    const fp8moe_status st = fp8moe_layer_open(&config, &layer->inputs, out, err);
    if (st == FP8MOE_ERR_USAGE) settings_hint(all, &layer->inputs, err);
    return st;
}

/* Add the routing and the output that the recipe gives for these tensors. */
static fp8moe_status compute(const options *given, const synth_plan *plan, settings *all,
                             synth_layer *layer, fp8moe_error *err)
{
    static const fp8moe_stage wanted[] = {FP8MOE_STAGE_TOPK_IDS, FP8MOE_STAGE_TOPK_WEIGHTS,
                                          FP8MOE_STAGE_OUTPUT};
    fp8moe_layer *engine = NULL;
    fp8moe_layer_info info;
    watch seen = {.memory = layer->memory};
    for (size_t i = 0; i < 3; i++)
        seen.keep[wanted[i]] = true;
    fp8moe_status st = open_layer(given, plan, all, layer, &engine, err);
    if (st == FP8MOE_OK) st = watch_run(&seen, engine, err);
    if (st == FP8MOE_OK) {
        fp8moe_layer_info_get(engine, &info);
        settings_from_layer(all, &info);
    }
    fp8moe_layer_close(engine);
    for (size_t i = 0; i < 3 && st == FP8MOE_OK; i++)
        synth_add(layer, fp8moe_stage_name(wanted[i]), &seen.stage[wanted[i]].total);
    return st;
}

/* ---- writing ---- */

static fp8moe_status write_layer(const synth_plan *plan, const synth_layer *layer, written *out,
                                 fp8moe_error *err)
{
    fp8moe_metadata metadata[SETTING_COUNT + 2];
    char seed[24], generator[48];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)plan->seed);
    snprintf(generator, sizeof generator, "fp8moe %s synth", fp8moe_version());
    size_t count = settings_as_metadata(&out->settings, metadata);
    metadata[count++] = (fp8moe_metadata){"generator", generator};
    metadata[count++] = (fp8moe_metadata){"seed", seed};
    CLI_TRY(cli_in_file(err,
                        fp8moe_safetensors_write(out->output, layer->tensors, layer->tensor_count,
                                                 metadata, count, err),
                        out->output));
    for (size_t i = 0; i < layer->tensor_count; i++) {
        char hash[FP8MOE_FINGERPRINT_SIZE];
        CLI_TRY(fp8moe_fingerprint_of(&layer->tensors[i].tensor, hash, err));
        written_add(out, layer->tensors[i].name, &layer->tensors[i].tensor, hash);
    }
    return FP8MOE_OK;
}

static fp8moe_status synth_layer_into(const options *given, written *out, fp8moe_error *err)
{
    synth_plan plan;
    scratch memory = {.beside = out->output};
    synth_layer layer = {.memory = &memory};
    CLI_TRY(find_plan(given, &plan, &out->settings, err));
    out->recipe = plan.recipe;
    fp8moe_status st = synth_make(&plan, &layer, err);
    if (st == FP8MOE_OK) st = synth_take_rank(&plan, &layer, err);
    if (st == FP8MOE_OK) st = compute(given, &plan, &out->settings, &layer, err);
    if (st == FP8MOE_OK) st = write_layer(&plan, &layer, out, err);
    scratch_free(&memory);
    return st;
}

static cli_exit synth(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    written out = {.command = "synth",
                   .output = options_value(given, OPTION_OUTPUT),
                   .threads = settings_threads(given)};
    const double start = cli_seconds();
    const fp8moe_status st =
        out.output ? synth_layer_into(given, &out, &err)
                   : cli_fail(&err, FP8MOE_ERR_USAGE, "synth needs -o OUT.safetensors");
    out.seconds = cli_seconds() - start;
    const cli_exit code = st == FP8MOE_OK ? written_send(format, &out) : cli_report_error(&err);
    written_free(&out);
    return code;
}

const cli_command command_synth = {
    .name = "synth",
    .operands = "[MODEL]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "make up a layer and its output under a recipe",
    .description = "MODEL is a real checkpoint's shape, such as Qwen3-30B-A3B, with one token "
                   "unless --shape T=.. says "
                   "otherwise; --shape alone gives all five letters. Weights are random and "
                   "heavy-tailed, with the scales of "
                   "the stage asked for (checkpoint unless said). The same seed gives the same "
                   "bytes everywhere. The file's "
                   "metadata holds the settings, so that 'fp8moe verify' needs no options.\n"
                   "--ep-size and --ep-rank, --tp-size and --tp-rank make one rank's part of the "
                   "layer that the same seed gives without them, with its partial output.",
    .example = "fp8moe synth --shape T=5,E=16,K=4,H=384,I=256 --recipe gather --target gaudi2 -o "
               "sample.safetensors",
    .run = synth,
};

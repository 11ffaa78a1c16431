#include "settings.h"

#include "catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- legal values ---- */

static const char *op_at(size_t index)
{
    static const char *const names[] = {"moe", "linear"};
    return index < 2 ? names[index] : NULL;
}

static const char *target_at(size_t index)
{
    const fp8moe_target *target = fp8moe_target_at(index);
    return target ? target->name : NULL;
}

static bool is_target(const char *text)
{
    return catalog_target(text) != NULL;
}

static const char *recipe_at(size_t index)
{
    const fp8moe_recipe *recipe = fp8moe_recipe_at(index);
    if (recipe) return recipe->name;
    return index == 0 || fp8moe_recipe_at(index - 1) ? "auto" : NULL;
}

static bool is_recipe(const char *text)
{
    return catalog_recipe(text) != NULL || !strcmp(text, "auto");
}

static const char *stage_at(size_t index)
{
    const fp8moe_stage_of_weights stage =
        FP8MOE_WEIGHTS_CHECKPOINT + (fp8moe_stage_of_weights)index;
    return stage <= FP8MOE_WEIGHTS_PREPARED ? fp8moe_stage_of_weights_name(stage) : NULL;
}

static const char *scoring_at(size_t index)
{
    return index <= FP8MOE_SCORING_TOP1_SIGMOID ? fp8moe_scoring_name((fp8moe_scoring)index) : NULL;
}

/* ---- the table ---- */

static const struct setting_row {
    const char *name;
    option_id option;
    setting_kind kind;
    const char *preset;                   /* default as text, or NULL */
    int64_t min;                          /* of an integer */
    const char *(*word_at)(size_t index); /* the words listed as legal */
    bool (*is_word)(const char *text);    /* where more are legal (aliases) */
    bool linear;                          /* whether a linear has it too */
} rows[SETTING_COUNT] = {
    [SETTING_OP] = {"op", OPTION_OP, SETTING_WORD, NULL, 0, op_at, NULL, true},
    [SETTING_TARGET] = {"target", OPTION_TARGET, SETTING_WORD, NULL, 0, target_at, is_target, true},
    [SETTING_RECIPE] = {"recipe", OPTION_RECIPE, SETTING_WORD, NULL, 0, recipe_at, is_recipe, true},
    [SETTING_WEIGHTS_STAGE] = {"weights_stage", OPTION_WEIGHTS_STAGE, SETTING_WORD, NULL, 0,
                               stage_at, NULL, true},
    [SETTING_TOP_K] = {"top_k", OPTION_TOP_K, SETTING_INTEGER, NULL, 1, NULL, NULL, false},
    [SETTING_NUM_EXPERTS] = {"num_experts", OPTION_NUM_EXPERTS, SETTING_INTEGER, NULL, 1, NULL,
                             NULL, false},
    [SETTING_LOCAL_NUM_EXPERTS] = {"local_num_experts", OPTION_LOCAL_NUM_EXPERTS, SETTING_INTEGER,
                                   NULL, 1, NULL, NULL, false},
    [SETTING_EP_RANK] = {"ep_rank", OPTION_EP_RANK, SETTING_INTEGER, "0", 0, NULL, NULL, false},
    [SETTING_EP_SIZE] = {"ep_size", OPTION_EP_SIZE, SETTING_INTEGER, NULL, 1, NULL, NULL, false},
    [SETTING_TP_RANK] = {"tp_rank", OPTION_TP_RANK, SETTING_INTEGER, NULL, 0, NULL, NULL, false},
    [SETTING_TP_SIZE] = {"tp_size", OPTION_TP_SIZE, SETTING_INTEGER, NULL, 1, NULL, NULL, false},
    [SETTING_RENORMALIZE] = {"renormalize", OPTION_RENORMALIZE, SETTING_SWITCH, "true", 0, NULL,
                             NULL, false},
    [SETTING_SCORING_FUNC] = {"scoring_func", OPTION_SCORING_FUNC, SETTING_WORD, "softmax", 0,
                              scoring_at, NULL, false},
    [SETTING_N_GROUP] = {"n_group", OPTION_N_GROUP, SETTING_INTEGER, "1", 1, NULL, NULL, false},
    [SETTING_TOPK_GROUP] = {"topk_group", OPTION_TOPK_GROUP, SETTING_INTEGER, "1", 1, NULL, NULL,
                            false},
    [SETTING_ROUTED_SCALING_FACTOR] = {"routed_scaling_factor", OPTION_ROUTED_SCALING_FACTOR,
                                       SETTING_NUMBER, "1", 0, NULL, NULL, false},
    [SETTING_REPLICATE_EXPERT] = {"replicate_expert", OPTION_REPLICATE_EXPERT, SETTING_SWITCH,
                                  "false", 0, NULL, NULL, false},
    [SETTING_WEIGHT_BLOCK_SIZE] = {"weight_block_size", OPTION_WEIGHT_BLOCK_SIZE, SETTING_WORD,
                                   "128x128", 0, NULL, NULL, true},
};

const char *setting_source_name(setting_source source)
{
    static const char *const names[] = {NULL,    "option",   "case",   "metadata",
                                        "model", "inferred", "default"};
    return names[source];
}

const char *setting_name(setting_id id)
{
    return rows[id].name;
}

setting_kind setting_kind_of(setting_id id)
{
    return rows[id].kind;
}

bool settings_has(const settings *all, setting_id id)
{
    return settings_op(all) == FP8MOE_OP_MOE || rows[id].linear;
}

/* ---- parsing one value ---- */

/* "128x64": rows, then columns. */
static bool parse_block(const char *text, int64_t *block_rows, int64_t *block_columns)
{
    const char *x = strchr(text, 'x');
    if (!x || x - text > 18) return false;
    char first[20];
    snprintf(first, sizeof first, "%.*s", (int)(x - text), text);
    return cli_parse_integer(first, 1, INT32_MAX, block_rows) &&
           cli_parse_integer(x + 1, 1, INT32_MAX, block_columns);
}

static bool is_listed(const struct setting_row *row, const char *text)
{
    if (row->is_word) return row->is_word(text);
    for (size_t i = 0; row->word_at(i); i++)
        if (!strcmp(row->word_at(i), text)) return true;
    return false;
}

static bool parse_word(setting_id id, const char *text)
{
    int64_t block_rows, block_columns;
    return rows[id].word_at ? is_listed(&rows[id], text)
                            : parse_block(text, &block_rows, &block_columns);
}

/* Fill *out from text; false where it is no legal value. */
static bool parse(setting_id id, const char *text, setting *out)
{
    snprintf(out->text, sizeof out->text, "%s", text);
    switch (rows[id].kind) {
    case SETTING_WORD:
        return parse_word(id, text);
    case SETTING_INTEGER:
        return cli_parse_integer(text, rows[id].min, INT32_MAX, &out->integer);
    case SETTING_NUMBER:
        return cli_parse_number(text, &out->number);
    case SETTING_SWITCH:
        out->integer = !strcmp(text, "true");
        return out->integer || !strcmp(text, "false");
    }
    return false;
}

static char *legal_values(setting_id id)
{
    if (rows[id].kind == SETTING_INTEGER)
        return cli_text("a whole number from %lld to %d", (long long)rows[id].min, INT32_MAX);
    if (rows[id].kind == SETTING_NUMBER) return cli_copy("a finite number");
    if (rows[id].kind == SETTING_SWITCH) return cli_copy("true or false");
    if (!rows[id].word_at) return cli_copy("ROWSxCOLUMNS");
    buffer out = {0};
    for (size_t i = 0; rows[id].word_at(i); i++)
        buffer_format(&out, "%s%s", i ? ", " : "one of ", rows[id].word_at(i));
    return out.data;
}

static fp8moe_status fail_illegal(setting_id id, const char *text, setting_source source,
                                  const fp8moe_dump *dump, fp8moe_error *err)
{
    char *legal = legal_values(id);
    fp8moe_status st;
    if (source == SOURCE_OPTION) {
        st = cli_fail(err, FP8MOE_ERR_USAGE, "%s '%s': expected %s",
                      options_spelling(rows[id].option), text, legal);
    } else {
        st = cli_fail(err, FP8MOE_ERR_VALUE, "metadata %s is '%s': expected %s", rows[id].name,
                      text, legal);
        cli_in_file(err, st, fp8moe_dump_path(dump));
    }
    free(legal);
    return st;
}

fp8moe_status settings_find(const options *given, const fp8moe_dump *dump, settings *out,
                            fp8moe_error *err)
{
    *out = (settings){.value = {{SOURCE_UNKNOWN, "", 0, 0}}};
    for (setting_id id = 0; id < SETTING_COUNT; id++) {
        const char *text = options_value(given, rows[id].option);
        setting_source source = SOURCE_OPTION;
        if (!text && dump) {
            text = fp8moe_dump_metadata_get(dump, setting_name(id));
            source = SOURCE_METADATA;
        }
        if (!text) {
            text = rows[id].preset;
            source = SOURCE_DEFAULT;
        }
        if (!text) continue;
        if (!parse(id, text, &out->value[id])) return fail_illegal(id, text, source, dump, err);
        out->value[id].source = source;
        if (source == SOURCE_OPTION && options_is_from_case(given, rows[id].option))
            out->value[id].source = SOURCE_CASE;
    }
    return FP8MOE_OK;
}

/* ---- what the tensors show ---- */

static bool is_known(const settings *all, setting_id id)
{
    return all->value[id].source != SOURCE_UNKNOWN;
}

void settings_fill(settings *all, setting_id id, const char *text, setting_source source)
{
    setting *value = &all->value[id];
    if (value->source != SOURCE_UNKNOWN && value->source != SOURCE_DEFAULT) return;
    if (parse(id, text, value)) value->source = source;
}

void settings_replace(settings *all, setting_id id, const char *text, setting_source source)
{
    setting *value = &all->value[id];
    if (value->source == SOURCE_OPTION || value->source == SOURCE_CASE) return;
    if (parse(id, text, value)) value->source = source;
}

static void infer_integer(settings *all, setting_id id, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    settings_fill(all, id, text, SOURCE_INFERRED);
}

static fp8moe_status infer_op(settings *all, const fields *found, fp8moe_error *err)
{
    const bool moe = fp8moe_tensor_present(&found->inputs.w13_weight) ||
                     fp8moe_tensor_present(&found->inputs.w2_weight);
    const bool linear = fp8moe_tensor_present(&found->inputs.weight);
    if (is_known(all, SETTING_OP)) return FP8MOE_OK;
    if (moe && linear)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "w13 or w2 and 'weight' stand side by side: say --op moe or --op linear");
    settings_fill(all, SETTING_OP, linear ? "linear" : "moe", SOURCE_INFERRED);
    return FP8MOE_OK;
}

/* num_experts = local_num_experts * ep_size, whichever of them is not given. */
static fp8moe_status complete_group(settings *all, const fields *found, fp8moe_error *err)
{
    if (!is_known(all, SETTING_EP_SIZE)) return FP8MOE_OK;
    const int64_t ranks = all->value[SETTING_EP_SIZE].integer;
    if (all->value[SETTING_EP_RANK].integer >= ranks)
        return cli_fail(err, FP8MOE_ERR_USAGE, "ep_rank %s of %s ranks: ranks count from 0",
                        all->value[SETTING_EP_RANK].text, all->value[SETTING_EP_SIZE].text);
    const fp8moe_tensor *w13 = &found->inputs.w13_weight;
    if (w13->rank == 3 && !all->value[SETTING_REPLICATE_EXPERT].integer)
        infer_integer(all, SETTING_LOCAL_NUM_EXPERTS, w13->shape[0]);
    if (is_known(all, SETTING_LOCAL_NUM_EXPERTS))
        infer_integer(all, SETTING_NUM_EXPERTS,
                      all->value[SETTING_LOCAL_NUM_EXPERTS].integer * ranks);
    else if (is_known(all, SETTING_NUM_EXPERTS))
        infer_integer(all, SETTING_LOCAL_NUM_EXPERTS,
                      all->value[SETTING_NUM_EXPERTS].integer / ranks);
    if (all->value[SETTING_NUM_EXPERTS].integer ==
        all->value[SETTING_LOCAL_NUM_EXPERTS].integer * ranks)
        return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE,
                    "num_experts %s is not local_num_experts %s times ep_size %s",
                    all->value[SETTING_NUM_EXPERTS].text,
                    all->value[SETTING_LOCAL_NUM_EXPERTS].text, all->value[SETTING_EP_SIZE].text);
}

fp8moe_status settings_complete(settings *all, const fields *found, fp8moe_error *err)
{
    CLI_TRY(infer_op(all, found, err));
    return complete_group(all, found, err);
}

void settings_from_layer(settings *all, const fp8moe_layer_info *info)
{
    settings_fill(all, SETTING_WEIGHTS_STAGE, fp8moe_stage_of_weights_name(info->weights_stage),
                  SOURCE_INFERRED);
    if (settings_op(all) == FP8MOE_OP_LINEAR) return;
    infer_integer(all, SETTING_TOP_K, info->top_k);
    infer_integer(all, SETTING_NUM_EXPERTS, info->num_experts);
    infer_integer(all, SETTING_LOCAL_NUM_EXPERTS, info->local_num_experts);
}

/* ---- the configuration ---- */

fp8moe_op settings_op(const settings *all)
{
    return strcmp(all->value[SETTING_OP].text, "linear") ? FP8MOE_OP_MOE : FP8MOE_OP_LINEAR;
}

fp8moe_status settings_check_machine(const options *given, fp8moe_error *err)
{
    const char *threads = options_value(given, OPTION_THREADS);
    int64_t count;
    if (threads && !cli_parse_integer(threads, 1, 1024, &count))
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--threads '%s': expected a whole number from 1 to 1024", threads);
    const char *isa = options_value(given, OPTION_ISA);
    if (!isa || !strcmp(isa, "all")) return FP8MOE_OK;
    buffer known = {0};
    for (size_t i = 0; fp8moe_isa_at(i); i++) {
        if (!strcmp(isa, fp8moe_isa_at(i))) {
            buffer_free(&known);
            return FP8MOE_OK;
        }
        buffer_format(&known, "%s, ", fp8moe_isa_at(i));
    }
    cli_fail(err, FP8MOE_ERR_USAGE, "--isa '%s': expected one of %sall", isa, known.data);
    buffer_free(&known);
    return FP8MOE_ERR_USAGE;
}

int settings_threads(const options *given)
{
    const char *threads = options_value(given, OPTION_THREADS);
    int64_t count = cli_processors();
    if (threads) cli_parse_integer(threads, 1, 1024, &count);
    return (int)count;
}

void settings_config(const settings *all, const options *given, const fields *found,
                     fp8moe_config *out)
{
    const setting *value = all->value;
    fp8moe_config_default(out);
    out->target = catalog_target(value[SETTING_TARGET].text);
    out->weights_stage = fp8moe_stage_of_weights_find(value[SETTING_WEIGHTS_STAGE].text);
    out->routing.top_k = value[SETTING_TOP_K].integer;
    out->routing.renormalize = value[SETTING_RENORMALIZE].integer != 0;
    fp8moe_scoring_find(value[SETTING_SCORING_FUNC].text, &out->routing.scoring);
    out->routing.n_group = value[SETTING_N_GROUP].integer;
    out->routing.topk_group = value[SETTING_TOPK_GROUP].integer;
    out->routing.routed_scaling_factor = value[SETTING_ROUTED_SCALING_FACTOR].number;
    if (found) out->routing.correction_bias = found->correction_bias;
    out->num_experts = value[SETTING_NUM_EXPERTS].integer;
    out->local_num_experts = value[SETTING_LOCAL_NUM_EXPERTS].integer;
    out->ep_rank = value[SETTING_EP_RANK].integer;
    out->replicate_expert = value[SETTING_REPLICATE_EXPERT].integer != 0;
    parse_block(value[SETTING_WEIGHT_BLOCK_SIZE].text, &out->block_rows, &out->block_cols);
    out->threads = settings_threads(given);
    out->isa = options_value(given, OPTION_ISA);
}

void settings_hint(const settings *all, const fp8moe_inputs *inputs, fp8moe_error *err)
{
    static const setting_id asked[] = {SETTING_TARGET, SETTING_WEIGHTS_STAGE, SETTING_TOP_K};
    const bool has_ids = fp8moe_tensor_present(&inputs->topk_ids);
    buffer out = {0};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (is_known(all, asked[i]) || !settings_has(all, asked[i])) continue;
        if (asked[i] == SETTING_TOP_K && has_ids) continue;
        char *legal = legal_values(asked[i]);
        buffer_format(&out, "%s%s (%s)", out.size ? ", " : "; not given so far: ",
                      options_spelling(rows[asked[i]].option), legal);
        free(legal);
    }
    const size_t used = strlen(err->message);
    if (out.size) snprintf(err->message + used, sizeof err->message - used, "%s", out.data);
    buffer_free(&out);
}

size_t settings_as_metadata(const settings *all, fp8moe_metadata out[SETTING_COUNT])
{
    size_t count = 0;
    for (setting_id id = 0; id < SETTING_COUNT; id++)
        if (settings_has(all, id) && is_known(all, id))
            out[count++] = (fp8moe_metadata){rows[id].name, all->value[id].text};
    return count;
}

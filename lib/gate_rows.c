#include "gate_rows.h"

#include "common.h"
#include "python.h"

#include <string.h>

/* ---- facts ---- */

typedef struct fact_row {
    const char *name;
    fp8moe_fact_kind kind;
    fp8moe_gate_value assumed; /* favourable to the gathered combine */
    bool off_by_default;       /* upstream's default of the variable; else as assumed */
} fact_row;

static const fact_row fact_rows[FP8MOE_FACT_COUNT] = {
    [FP8MOE_FACT_METHOD] = {"method", FP8MOE_FACT_IS_TEXT, {.text = "fp8"}, false},
    [FP8MOE_FACT_GATHER] = {"gather", FP8MOE_FACT_IS_ON, {.on = true}, true},
    [FP8MOE_FACT_VERIFY] = {"verify", FP8MOE_FACT_IS_ON, {.on = false}, true},
    [FP8MOE_FACT_ACTIVATION] = {"activation", FP8MOE_FACT_IS_TEXT, {.text = "silu"}, false},
    [FP8MOE_FACT_ACTIVATION_SCHEME] = {"activation_scheme",
                                       FP8MOE_FACT_IS_TEXT,
                                       {.text = "dynamic"},
                                       false},
    [FP8MOE_FACT_BLOCK_QUANT] = {"block_quant", FP8MOE_FACT_IS_ON, {.on = true}, false},
    [FP8MOE_FACT_QUANT_CONFIG] = {"quant_config", FP8MOE_FACT_IS_ON, {.on = false}, true},
    [FP8MOE_FACT_FORCE_CHANNEL] = {"force_channel", FP8MOE_FACT_IS_ON, {.on = true}, false},
    [FP8MOE_FACT_RATIO] = {"ratio", FP8MOE_FACT_IS_NUMBER, {.number = 0.4}, false},
    [FP8MOE_FACT_MAX_TP] = {"max_tp", FP8MOE_FACT_IS_COUNT, {.count = 64}, false},
    [FP8MOE_FACT_DENSE_MAX_TOKENS] = {"dense_max_tokens",
                                      FP8MOE_FACT_IS_COUNT,
                                      {.count = 0},
                                      false},
    [FP8MOE_FACT_GATED] = {"gated", FP8MOE_FACT_IS_ON, {.on = true}, false},
    [FP8MOE_FACT_DISPATCH] = {"dispatch", FP8MOE_FACT_IS_ON, {.on = false}, false},
};

static const char *const source_names[] = {"assumed", "default", "given"};
static const char *const path_names[FP8MOE_PATH_COUNT] = {"stock", "gather", "dense"};

const char *fp8moe_gate_fact_name(fp8moe_gate_fact fact)
{
    assert((size_t)fact < FP8MOE_FACT_COUNT);
    return fact_rows[fact].name;
}

fp8moe_fact_kind fp8moe_gate_fact_kind(fp8moe_gate_fact fact)
{
    assert((size_t)fact < FP8MOE_FACT_COUNT);
    return fact_rows[fact].kind;
}

const char *fp8moe_gate_source_name(fp8moe_gate_source source)
{
    assert((size_t)source < sizeof source_names / sizeof source_names[0]);
    return source_names[source];
}

const char *fp8moe_path_name(fp8moe_path path)
{
    assert((size_t)path < FP8MOE_PATH_COUNT);
    return path_names[path];
}

fp8moe_path fp8moe_path_find(const char *name)
{
    size_t path = 0;
    while (path < FP8MOE_PATH_COUNT && strcmp(name, path_names[path]) != 0)
        path++;
    return (fp8moe_path)path;
}

void fp8moe_gate_facts_default(fp8moe_gate_facts *facts)
{
    for (size_t fact = 0; fact < FP8MOE_FACT_COUNT; fact++) {
        facts->value[fact] = fact_rows[fact].assumed;
        facts->value[fact].source = FP8MOE_SOURCE_ASSUMED;
    }
}

/* ---- conditions ---- */

static const condition_row served_by_fp8 = {
    .name = "method",
    .text = "the experts are served by the FP8 method",
    .fact = FP8MOE_FACT_METHOD,
    .test = IS_TEXT,
    .wanted = "fp8",
    .reason = "another method class serves the experts, and it has no such path",
};

static const condition_row gather_is_on = {
    .name = "gather",
    .text = "GATHER is on",
    .fact = FP8MOE_FACT_GATHER,
    .test = IS_ON,
    .reason = "the variable does not ask for the gathered combine",
};

static const condition_row activation_is_silu = {
    .name = "activation",
    .text = "the activation is silu",
    .fact = FP8MOE_FACT_ACTIVATION,
    .test = IS_TEXT,
    .wanted = "silu",
    .reason = "only silu(gate) * up is written there",
};

static const condition_row not_static = {
    .name = "activation_scheme",
    .text = "activations are not quantised statically",
    .fact = FP8MOE_FACT_ACTIVATION_SCHEME,
    .test = IS_NOT_TEXT,
    .wanted = "static",
    .reason = "calibrated activation scales are left to the stock operation",
};

static const condition_row block_quantised = {
    .name = "block_quant",
    .text = "weights are block-quantised",
    .fact = FP8MOE_FACT_BLOCK_QUANT,
    .test = IS_ON,
    .reason = "one scale a tensor or a row never becomes the row scales it reads",
};

static const condition_row no_quant_config = {
    .name = "quant_config",
    .text = "QUANT_CONFIG is not set",
    .fact = FP8MOE_FACT_QUANT_CONFIG,
    .test = IS_OFF,
    .reason = "QUANT_CONFIG (INC) turns FORCE_CHANNEL off, even when it is empty",
};

static const condition_row force_channel = {
    .name = "force_channel",
    .text = "FORCE_CHANNEL is on",
    .fact = FP8MOE_FACT_FORCE_CHANNEL,
    .test = IS_ON,
    .reason = "block scales stay, and it reads one scale a row",
};

static const condition_row pairs_within_max_tp = {
    .name = "size",
    .text = "T * K <= MAX_TP",
    .fact = FP8MOE_FACT_MAX_TP,
    .test = PAIRS_WITHIN_COUNT,
    .reason = "too many token-expert pairs",
};

static const condition_row pairs_within_ratio = {
    .name = "size",
    .text = "T * K <= E_local * RATIO",
    .fact = FP8MOE_FACT_RATIO,
    .test = PAIRS_WITHIN_SHARE,
    .reason = "too many token-expert pairs for the experts of this rank",
};

static const condition_row dense_is_on = {
    .name = "dense",
    .text = "DENSE_MAX_TOKENS is above 0",
    .fact = FP8MOE_FACT_DENSE_MAX_TOKENS,
    .test = IS_POSITIVE,
    .reason = "the variable does not ask for the dense combine",
};

static const condition_row experts_are_gated = {
    .name = "gated",
    .text = "experts have a gate projection",
    .fact = FP8MOE_FACT_GATED,
    .test = IS_ON,
    .reason = "w13 holds no gate rows",
};

static const condition_row no_late_dispatch = {
    .name = "dispatch",
    .text = "hidden states are dispatched before the layer",
    .fact = FP8MOE_FACT_DISPATCH,
    .test = IS_OFF,
    .reason = "a dispatch function leaves hidden states local while ids are gathered",
};

static const condition_row tokens_within_dense = {
    .name = "size",
    .text = "T <= DENSE_MAX_TOKENS",
    .fact = FP8MOE_FACT_DENSE_MAX_TOKENS,
    .test = TOKENS_WITHIN_COUNT,
    .reason = "too many tokens",
};

/* Lists in the order in which upstream asks. */
static const condition_row *const initial_gather[] = {
    &served_by_fp8, &gather_is_on, &activation_is_silu, &pairs_within_max_tp, NULL,
};

static const condition_row *const merged_gather[] = {
    &served_by_fp8,   &gather_is_on,  &activation_is_silu, &not_static, &block_quantised,
    &no_quant_config, &force_channel, &pairs_within_ratio, NULL,
};

static const condition_row *const fork_dense[] = {
    &served_by_fp8,
    &dense_is_on,
    &activation_is_silu,
    &not_static,
    &block_quantised,
    &no_quant_config,
    &force_channel,
    &experts_are_gated,
    &no_late_dispatch,
    &tokens_within_dense,
    NULL,
};

/* ---- variables ---- */

static fp8moe_status read_any_text(const char *text, fp8moe_gate_value *value, fp8moe_error *err)
{
    (void)err;
    value->on = text[0] != '\0';
    return FP8MOE_OK;
}

static fp8moe_status read_truth(const char *text, fp8moe_gate_value *value, fp8moe_error *err)
{
    (void)err;
    value->on = python_is_true(text);
    return FP8MOE_OK;
}

static fp8moe_status read_presence(const char *text, fp8moe_gate_value *value, fp8moe_error *err)
{
    (void)text;
    (void)err;
    value->on = true;
    return FP8MOE_OK;
}

static fp8moe_status read_float(const char *text, fp8moe_gate_value *value, fp8moe_error *err)
{
    return python_float(text, &value->number, err);
}

static fp8moe_status read_int(const char *text, fp8moe_gate_value *value, fp8moe_error *err)
{
    return python_int(text, &value->count, err);
}

static const variable_row initial_variables[] = {
    {"HPU_MOE_GATHER", FP8MOE_FACT_GATHER, read_any_text},
    {"HPU_MOE_GATHER_MAX_TP", FP8MOE_FACT_MAX_TP, read_int},
    {"HPU_MOE_GATHER_VERIFY", FP8MOE_FACT_VERIFY, read_any_text},
    {.name = NULL},
};

static const variable_row initial_vllm_variables[] = {
    {"VLLM_HPU_MOE_GATHER", FP8MOE_FACT_GATHER, read_truth},
    {"VLLM_HPU_MOE_GATHER_MAX_TP", FP8MOE_FACT_MAX_TP, read_int},
    {"VLLM_HPU_MOE_GATHER_VERIFY", FP8MOE_FACT_VERIFY, read_truth},
    {.name = NULL},
};

#define MERGED_VARIABLES                                                                           \
    {"VLLM_HPU_MOE_GATHER", FP8MOE_FACT_GATHER, read_truth},                                       \
        {"VLLM_HPU_MOE_GATHER_RATIO", FP8MOE_FACT_RATIO, read_float},                              \
        {"VLLM_HPU_MOE_GATHER_VERIFY", FP8MOE_FACT_VERIFY, read_truth},                            \
        {"VLLM_HPU_FORCE_CHANNEL_FP8", FP8MOE_FACT_FORCE_CHANNEL, read_truth},                     \
    {                                                                                              \
        "QUANT_CONFIG", FP8MOE_FACT_QUANT_CONFIG, read_presence                                    \
    }

static const variable_row merged_variables[] = {
    MERGED_VARIABLES,
    {.name = NULL},
};

static const variable_row fork_variables[] = {
    MERGED_VARIABLES,
    {"VLLM_HPU_MOE_DENSE_MAX_TOKENS", FP8MOE_FACT_DENSE_MAX_TOKENS, read_int},
    {.name = NULL},
};

static const variable_row no_variables[] = {{.name = NULL}};

/* ---- versions ---- */

static const fp8moe_gate_version versions[] = {
    {.name = "initial",
     .summary =
         "the first revisions of the pull request: HPU_ names, any text is true, T * K <= MAX_TP",
     .variables = initial_variables,
     .rules = {{FP8MOE_PATH_GATHER, initial_gather}}},
    {.name = "initial-vllm",
     .summary = "its later revision: VLLM_HPU_ names, 1 or true, T * K <= MAX_TP",
     .variables = initial_vllm_variables,
     .rules = {{FP8MOE_PATH_GATHER, initial_gather}}},
    {.name = "v0.26",
     .summary = "v0.26.0 as released: no gathered combine",
     .variables = no_variables},
    {.name = "v0.26-backport",
     .summary = "the combine patched into v0.26.0; its conditions are taken to be those of v0.30",
     .assumed = true,
     .variables = merged_variables,
     .rules = {{FP8MOE_PATH_GATHER, merged_gather}}},
    {.name = "v0.30",
     .summary = "as merged for v0.30.0: T * K <= E_local * RATIO",
     .variables = merged_variables,
     .rules = {{FP8MOE_PATH_GATHER, merged_gather}}},
    {.name = "dense-fork",
     .summary = "a public fork: v0.30, then a dense combine up to DENSE_MAX_TOKENS tokens",
     .variables = fork_variables,
     .rules = {{FP8MOE_PATH_GATHER, merged_gather}, {FP8MOE_PATH_DENSE, fork_dense}}},
};

#define VERSION_COUNT (sizeof versions / sizeof versions[0])

const fp8moe_gate_version *fp8moe_gate_version_at(size_t index)
{
    return index < VERSION_COUNT ? &versions[index] : NULL;
}

const fp8moe_gate_version *fp8moe_gate_version_find(const char *name)
{
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (strcmp(name, versions[i].name) == 0) return &versions[i];
    return NULL;
}

const fp8moe_gate_version *fp8moe_gate_version_default(void)
{
    return fp8moe_gate_version_find("v0.30");
}

const char *fp8moe_gate_version_name(const fp8moe_gate_version *version)
{
    return version->name;
}

const char *fp8moe_gate_version_summary(const fp8moe_gate_version *version)
{
    return version->summary;
}

bool fp8moe_gate_version_assumed(const fp8moe_gate_version *version)
{
    return version->assumed;
}

const char *fp8moe_gate_variable_at(const fp8moe_gate_version *version, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (!version->variables[i].name) return NULL;
    return version->variables[index].name;
}

void fp8moe_gate_unset_variables(const fp8moe_gate_version *version, fp8moe_gate_facts *facts)
{
    for (const variable_row *row = version->variables; row->name; row++) {
        facts->value[row->fact] = fact_rows[row->fact].assumed;
        if (fact_rows[row->fact].off_by_default) facts->value[row->fact].on = false;
        facts->value[row->fact].source = FP8MOE_SOURCE_DEFAULT;
        facts->value[row->fact].origin = row->name;
    }
}

fp8moe_status fp8moe_gate_set_variable(const fp8moe_gate_version *version, fp8moe_gate_facts *facts,
                                       const char *name, const char *value, fp8moe_error *err)
{
    const variable_row *row = version->variables;
    while (row->name && strcmp(name, row->name) != 0)
        row++;
    if (!row->name)
        return fail(err, FP8MOE_ERR_NOT_FOUND, "%s reads no variable %s", version->name, name);
    fp8moe_gate_value read = {.source = FP8MOE_SOURCE_GIVEN, .origin = row->name};
    fp8moe_error cause;
    const fp8moe_status status = row->read(value, &read, &cause);
    if (status == FP8MOE_ERR_VALUE)
        return fail(err, status, "%s: upstream raises ValueError at import, %s", name,
                    cause.message);
    if (status != FP8MOE_OK) return fail(err, status, "%s: %s", name, cause.message);
    facts->value[row->fact] = read;
    return FP8MOE_OK;
}

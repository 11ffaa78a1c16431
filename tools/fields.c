#include "fields.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field is a place in the table below, an output or a stage: one number for all three. */
typedef enum field_id {
    FIELD_HIDDEN_STATES,
    FIELD_ROUTER_LOGITS,
    FIELD_TOPK_IDS,
    FIELD_TOPK_WEIGHTS,
    FIELD_CORRECTION_BIAS,
    FIELD_W13_WEIGHT,
    FIELD_W13_SCALE,
    FIELD_W13_INPUT_SCALE,
    FIELD_W2_WEIGHT,
    FIELD_W2_SCALE,
    FIELD_W2_INPUT_SCALE,
    FIELD_WEIGHT,
    FIELD_WEIGHT_SCALE,
    FIELD_INPUT_SCALE,
    FIELD_INPUT_COUNT,
    FIELD_FIRST_OUTPUT = FIELD_INPUT_COUNT,
    FIELD_FIRST_STAGE = FIELD_FIRST_OUTPUT + FIELD_MAX_OUTPUTS,
    FIELD_COUNT = FIELD_FIRST_STAGE + FP8MOE_STAGE_COUNT
} field_id;

#define INPUT(member) offsetof(fields, inputs.member)

static const struct {
    const char *name; /* as messages call it */
    size_t offset;    /* of its view in fields */
} inputs[FIELD_INPUT_COUNT] = {
    [FIELD_HIDDEN_STATES] = {"hidden_states", INPUT(hidden_states)},
    [FIELD_ROUTER_LOGITS] = {"router_logits", INPUT(router_logits)},
    [FIELD_TOPK_IDS] = {"topk_ids", INPUT(topk_ids)},
    [FIELD_TOPK_WEIGHTS] = {"topk_weights", INPUT(topk_weights)},
    [FIELD_CORRECTION_BIAS] = {"e_score_correction_bias", offsetof(fields, correction_bias)},
    [FIELD_W13_WEIGHT] = {"w13_weight", INPUT(w13_weight)},
    [FIELD_W13_SCALE] = {"w13_weight_scale", INPUT(w13_scale)},
    [FIELD_W13_INPUT_SCALE] = {"w13_input_scale", INPUT(w13_input_scale)},
    [FIELD_W2_WEIGHT] = {"w2_weight", INPUT(w2_weight)},
    [FIELD_W2_SCALE] = {"w2_weight_scale", INPUT(w2_scale)},
    [FIELD_W2_INPUT_SCALE] = {"w2_input_scale", INPUT(w2_input_scale)},
    [FIELD_WEIGHT] = {"weight", INPUT(weight)},
    [FIELD_WEIGHT_SCALE] = {"weight_scale", INPUT(weight_scale)},
    [FIELD_INPUT_SCALE] = {"input_scale", INPUT(input_scale)},
};

static const struct {
    const char *name;
    const char *recipe;
} outputs[FIELD_MAX_OUTPUTS] = {
    {"output", NULL},     {"out", NULL},        {"out0", NULL},
    {"ref_output", NULL}, {"custom", "gather"}, {"stock", "stock"},
};

static const struct {
    const char *name;
    field_id field;
} other_names[] = {
    {"x", FIELD_HIDDEN_STATES},
    {"input", FIELD_HIDDEN_STATES},
    {"expert_routing_table", FIELD_TOPK_IDS},
    {"router_weights", FIELD_TOPK_WEIGHTS},
    {"d_scale_hidden_states", FIELD_W13_INPUT_SCALE},
    {"d_scale_intermediate_hidden_states", FIELD_W2_INPUT_SCALE},
    {"d_scale_w12", FIELD_W13_SCALE},
    {"d_scale_w3", FIELD_W2_SCALE},
};

/* A weight's name is a stem with or without "_weight"; its scales add a suffix. */
static const struct {
    const char *name;
    field_id fields[3]; /* of the weight, its scale, its input scale */
} stems[] = {
    {"w13", {FIELD_W13_WEIGHT, FIELD_W13_SCALE, FIELD_W13_INPUT_SCALE}},
    {"w12", {FIELD_W13_WEIGHT, FIELD_W13_SCALE, FIELD_W13_INPUT_SCALE}},
    {"w2", {FIELD_W2_WEIGHT, FIELD_W2_SCALE, FIELD_W2_INPUT_SCALE}},
    {"w3", {FIELD_W2_WEIGHT, FIELD_W2_SCALE, FIELD_W2_INPUT_SCALE}},
    {"weight", {FIELD_WEIGHT, FIELD_WEIGHT_SCALE, FIELD_INPUT_SCALE}},
};

static const struct {
    const char *text;
    int kind; /* index into stems[].fields */
} suffixes[] = {{"", 0}, {"_scale", 1}, {"_scale_inv", 1}, {"_input_scale", 2}};

/* ---- names ---- */

static const char *field_name(int field)
{
    if (field >= FIELD_FIRST_STAGE)
        return fp8moe_stage_name((fp8moe_stage)(field - FIELD_FIRST_STAGE));
    return field >= FIELD_FIRST_OUTPUT ? outputs[field - FIELD_FIRST_OUTPUT].name
                                       : inputs[field].name;
}

/* What is left of `text` behind `start`, or NULL where it does not start so. */
static const char *behind(const char *text, const char *start)
{
    const size_t length = strlen(start);
    return strncmp(text, start, length) ? NULL : text + length;
}

static int find_weight(const char *name)
{
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        const char *rest = behind(name, stems[i].name);
        if (!rest) continue;
        const char *longer = behind(rest, "_weight");
        if (longer) rest = longer;
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
            if (!strcmp(rest, suffixes[k].text)) return (int)stems[i].fields[suffixes[k].kind];
    }
    return FIELD_COUNT;
}

/* The field a name stands for, or FIELD_COUNT. Inputs and outputs come before stages of their name.
 */
static int find_field(const char *name)
{
    for (int field = 0; field < FIELD_COUNT; field++)
        if (!strcmp(field_name(field), name)) return field;
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (!strcmp(other_names[i].name, name)) return (int)other_names[i].field;
    return find_weight(name);
}

bool fields_knows(const char *name)
{
    return find_field(name) != FIELD_COUNT;
}

/* ---- matching a dump's tensors ---- */

typedef struct matches {
    int64_t tensor[FIELD_COUNT]; /* index in the dump, or -1 */
    bool by_option[FIELD_COUNT];
} matches;

/* --name FIELD=NAME: the dump's tensor NAME, whatever else it might be, is FIELD and nothing else.
 */
static fp8moe_status match_option(fp8moe_dump *dump, const char *text, matches *found,
                                  fp8moe_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return cli_fail(err, FP8MOE_ERR_USAGE, "--name %s: expected FIELD=NAME_IN_FILE", text);
    char *name = cli_text("%.*s", (int)(equals - text), text);
    const int field = find_field(name);
    free(name);
    if (field == FIELD_COUNT)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--name %s: no field is called so (see 'fp8moe help names')", text);
    const int64_t index = fp8moe_dump_find(dump, equals + 1);
    if (index < 0)
        return cli_in_file(err,
                           cli_fail(err, FP8MOE_ERR_NOT_FOUND, "--name %s: there is no tensor '%s'",
                                    text, equals + 1),
                           fp8moe_dump_path(dump));
    if (found->by_option[field])
        return cli_fail(err, FP8MOE_ERR_USAGE, "--name gives %s twice", field_name(field));
    found->tensor[field] = index;
    found->by_option[field] = true;
    return FP8MOE_OK;
}

static bool is_taken(const matches *found, int64_t index)
{
    for (int field = 0; field < FIELD_COUNT; field++)
        if (found->by_option[field] && found->tensor[field] == index) return true;
    return false;
}

/* Give every tensor that --name does not its field by its own name; others are listed as unused. */
static fp8moe_status match_names(fp8moe_dump *dump, matches *found, buffer *unused,
                                 fp8moe_error *err)
{
    for (size_t i = 0; i < fp8moe_dump_count(dump); i++) {
        const char *name = fp8moe_dump_name(dump, i);
        if (is_taken(found, (int64_t)i)) continue;
        const int field = find_field(name);
        if (field == FIELD_COUNT || found->by_option[field]) {
            buffer_format(unused, "%s%s", unused->size ? ", " : "", name);
        } else if (found->tensor[field] >= 0) {
            const char *other = fp8moe_dump_name(dump, (size_t)found->tensor[field]);
            cli_fail(err, FP8MOE_ERR_USAGE,
                     "'%s' and '%s' both mean %s: choose one with --name %s=NAME", other, name,
                     field_name(field), field_name(field));
            return cli_in_file(err, FP8MOE_ERR_USAGE, fp8moe_dump_path(dump));
        } else {
            found->tensor[field] = (int64_t)i;
        }
    }
    return FP8MOE_OK;
}

/* w3 is [H, I] as the op's down projection and [I, H] as a checkpoint's up projection. */
static fp8moe_status check_w3(fp8moe_dump *dump, const matches *found, fp8moe_error *err)
{
    const int64_t w3 = found->tensor[FIELD_W2_WEIGHT], x = found->tensor[FIELD_HIDDEN_STATES];
    if (w3 < 0 || x < 0 || found->by_option[FIELD_W2_WEIGHT]) return FP8MOE_OK;
    if (!behind(fp8moe_dump_name(dump, (size_t)w3), "w3")) return FP8MOE_OK;
    const fp8moe_tensor weight = fp8moe_dump_info(dump, (size_t)w3);
    const fp8moe_tensor states = fp8moe_dump_info(dump, (size_t)x);
    if (weight.rank < 2 || states.rank < 1) return FP8MOE_OK; /* the layer says what is wrong */
    const int64_t hidden = states.shape[states.rank - 1];
    const int64_t rows = weight.shape[weight.rank - 2], columns = weight.shape[weight.rank - 1];
    if (rows == hidden && columns != hidden) return FP8MOE_OK;
    char shape[128];
    fp8moe_tensor_shape_text(&weight, shape, sizeof shape);
    if (rows == columns)
        cli_fail(err, FP8MOE_ERR_USAGE,
                 "w3 %s is square: the op's down projection or a checkpoint's up projection? If it "
                 "is the "
                 "former, say --name w2_weight=%s",
                 shape, fp8moe_dump_name(dump, (size_t)w3));
    else
        cli_fail(err, FP8MOE_ERR_USAGE,
                 "w3 %s is no down projection [%lld, I]; is it a checkpoint's up projection? A "
                 "dump needs "
                 "gate and up in one w13",
                 shape, (long long)hidden);
    return cli_in_file(err, FP8MOE_ERR_USAGE, fp8moe_dump_path(dump));
}

/* ---- taking the views ---- */

/* Writers without FP8 and bf16 store their bits as integers, which are none of these numbers. */
static fp8moe_status check_meaning(const fp8moe_dump *dump, int field, size_t index,
                                   const fp8moe_tensor *tensor, fp8moe_error *err)
{
    const fp8moe_dtype type = tensor->dtype;
    const bool byte = type == FP8MOE_DTYPE_U8 || type == FP8MOE_DTYPE_I8;
    const bool pair = type == FP8MOE_DTYPE_U16 || type == FP8MOE_DTYPE_I16;
    if ((!byte && !pair) || field == FIELD_TOPK_IDS || field >= FIELD_FIRST_STAGE) return FP8MOE_OK;
    const char *name = fp8moe_dump_name(dump, index);
    cli_fail(err, FP8MOE_ERR_DTYPE,
             "dtype %s; if these are the bits of another type, say which (--as %s=%s)",
             fp8moe_dtype_name(type), name, byte ? "e4m3fn" : "bf16");
    snprintf(err->tensor, sizeof err->tensor, "%s", name);
    return FP8MOE_ERR_DTYPE;
}

static fp8moe_status take(fp8moe_dump *dump, int field, size_t index, fields *out,
                          fp8moe_error *err)
{
    fp8moe_tensor tensor;
    CLI_TRY(fp8moe_dump_tensor(dump, index, &tensor, err));
    CLI_TRY(check_meaning(dump, field, index, &tensor, err));
    if (field >= FIELD_FIRST_STAGE) {
        out->stages[field - FIELD_FIRST_STAGE] = tensor;
    } else if (field >= FIELD_FIRST_OUTPUT) {
        out->outputs[out->output_count++] =
            (field_output){index, outputs[field - FIELD_FIRST_OUTPUT].recipe, tensor};
    } else {
        memcpy((char *)out + inputs[field].offset, &tensor, sizeof tensor);
    }
    return FP8MOE_OK;
}

fp8moe_status fields_find(fp8moe_dump *dump, const options *given, fields *out, fp8moe_error *err)
{
    *out = (fields){.output_count = 0};
    matches found = {.by_option = {false}};
    for (int field = 0; field < FIELD_COUNT; field++)
        found.tensor[field] = -1;
    const char *text;
    for (size_t at = 0; (text = options_next(given, OPTION_NAME, &at));)
        CLI_TRY(match_option(dump, text, &found, err));
    buffer unused = {0};
    const fp8moe_status st = match_names(dump, &found, &unused, err);
    out->unused = unused.data;
    CLI_TRY(st);
    CLI_TRY(check_w3(dump, &found, err));
    for (int field = 0; field < FIELD_COUNT; field++)
        if (found.tensor[field] >= 0)
            CLI_TRY(cli_in_file(err, take(dump, field, (size_t)found.tensor[field], out, err),
                                fp8moe_dump_path(dump)));
    return FP8MOE_OK;
}

void fields_free(fields *found)
{
    free(found->unused);
    found->unused = NULL;
}

/* ---- help ---- */

static void add_name(buffer *names, const char *name)
{
    buffer_format(names, "%s%s", names->size ? ", " : "", name);
}

/* One line: the field, then every name that stands for it. */
static void help_field(int field, buffer *out)
{
    buffer names = {0};
    add_name(&names, field_name(field));
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if ((int)other_names[i].field == field) add_name(&names, other_names[i].name);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            if ((int)stems[i].fields[suffixes[k].kind] != field) continue;
            char *name = cli_text("%s%s", stems[i].name, suffixes[k].text);
            if (strcmp(name, field_name(field))) add_name(&names, name);
            free(name);
        }
    }
    buffer_format(out, "  %-26s", field_name(field));
    buffer_wrap(out, 28, 28, CLI_WIDTH, names.data);
    buffer_free(&names);
}

void fields_help(buffer *out)
{
    buffer_add(
        out, "Names of tensors understood (--name FIELD=NAME gives any other name a meaning):\n\n");
    for (int field = 0; field < FIELD_INPUT_COUNT; field++)
        help_field(field, out);
    buffer names = {0};
    for (size_t i = 0; i < FIELD_MAX_OUTPUTS; i++)
        add_name(&names, outputs[i].name);
    buffer_add(out, "\nBehind a stem such as w13, _weight may stand: w13_weight_scale_inv.\n"
                    "w3 is the op's down projection [H, I]; a square one is refused, see --name.\n"
                    "\nOutputs, each judged (custom under recipe gather, stock under stock):\n  ");
    buffer_wrap(out, 2, 2, CLI_WIDTH, names.data);
    buffer_free(&names);
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT; stage++)
        if (find_field(fp8moe_stage_name(stage)) >= FIELD_FIRST_STAGE)
            add_name(&names, fp8moe_stage_name(stage));
    buffer_add(out, "\nIntermediates, compared by name and taken with --from:\n  ");
    buffer_wrap(out, 2, 2, CLI_WIDTH, names.data);
    buffer_free(&names);
}

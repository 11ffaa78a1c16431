#include "common.h"

#include <fp8moe/profile.h>
#include <stdio.h>
#include <string.h>

/* ---- rows: every number from numerics.md section 0 ---- */

static const fp8moe_target targets[] = {
    {.name = "gaudi2",
     .fp8_max = 240,
     .nan_code_first = 0x78,
     .scale_in_input_dtype = true,
     .loader_halves = true,
     .dot_slack = 16,
     .silu_slack = 1,
     .silu_slack_rate = 0.125,
     .evidence = "captures of static paths; slack measured about 1 (dots) and 1 to 2 % (silu)"},
    {.name = "gaudi3",
     .fp8_max = 448,
     .nan_code_first = 0x7F,
     .scale_in_input_dtype = true,
     .loader_halves = false,
     .dot_slack = 16,
     .silu_slack = 1,
     .silu_slack_rate = 0.125,
     .evidence = "extrapolated from gaudi2: no capture exists"},
    {.name = "ocp",
     .alias = "cuda",
     .fp8_max = 448,
     .nan_code_first = 0x7F,
     .scale_in_input_dtype = false,
     .loader_halves = false,
     .dot_slack = 16,
     .silu_slack = 1,
     .silu_slack_rate = 0.125,
     .evidence = "OCP E4M3FN; scale arithmetic always f32"},
};

#define AXIS_INPUT_CAST                                                                            \
    {                                                                                              \
        "f32 input cast", "input_cast=f32"                                                         \
    }

static const fp8moe_recipe recipes[] = {
    {.name = "gather",
     .alias = "custom",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_NONE,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_F32,
     .silu = FP8MOE_ROUND_F32,
     .product = FP8MOE_ROUND_F32,
     .intermediate = FP8MOE_INTERMEDIATE_KEPT,
     .intermediate_cast = FP8MOE_CAST_NONE,
     .down_operand = FP8MOE_DOWN_SCALED_F32,
     .down_round = FP8MOE_ROUND_NONE,
     .down_out = FP8MOE_ROUND_F32,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_EXPERT,
     .pairs = FP8MOE_PAIRS_GATHERED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_SOURCE,
     .evidence_text = "its source (v0.30.0); device operations assumed",
     .axes = {{"tf32 down matmul", "down_operand=scaled-tf32"},
              {"three-bf16 down matmul", "down_operand=scaled-bf16x3"},
              {"bf16 down matmul", "down_operand=scaled-bf16"},
              AXIS_INPUT_CAST,
              {"bf16 combined scale", "scale=bf16"},
              {"scales one after the other", "scale=sequential"},
              {"two-step silu", "silu_form=two-step"}}},
    {.name = "stock",
     .alias = "moe_op",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_FP8_ROW,
     .intermediate_cast = FP8MOE_CAST_BF16,
     .down_operand = FP8MOE_DOWN_CODE,
     .down_round = FP8MOE_ROUND_BF16,
     .down_out = FP8MOE_ROUND_BF16,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_UNSTATED,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_INFERRED,
     .evidence_text =
         "inferred from the static capture, the vendor's eager source and the op's signature",
     .axes = {{"intermediate kept in bf16",
               "intermediate=kept intermediate_cast=none down_operand=scaled-bf16 down_round=none"},
              {"dots not rounded before the scale", "dot_round=none down_round=none"},
              {"bf16 combined scale", "scale=bf16"},
              {"scales one after the other", "scale=sequential"},
              {"bf16 sum in expert order", "sum=bf16 order=expert"},
              AXIS_INPUT_CAST,
              {"ids index the local list", "ids=direct"}}},
    {.name = "stock-hp",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_KEPT,
     .intermediate_cast = FP8MOE_CAST_NONE,
     .down_operand = FP8MOE_DOWN_SCALED_BF16,
     .down_round = FP8MOE_ROUND_NONE,
     .down_out = FP8MOE_ROUND_BF16,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_UNSTATED,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_ASSUMED,
     .evidence_text = "a comment in upstream's source only",
     .axes = {{"dots not rounded before the scale", "dot_round=none"},
              {"bf16 combined scale", "scale=bf16"},
              {"bf16 sum in expert order", "sum=bf16 order=expert"},
              AXIS_INPUT_CAST}},
    {.name = "stock-eager",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_FP8_EAGER,
     .intermediate_cast = FP8MOE_CAST_BF16,
     .down_operand = FP8MOE_DOWN_CODE,
     .down_round = FP8MOE_ROUND_BF16,
     .down_out = FP8MOE_ROUND_BF16,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_BF16,
     .sum = FP8MOE_ROUND_BF16,
     .order = FP8MOE_ORDER_EXPERT,
     .pairs = FP8MOE_PAIRS_EAGER,
     .ids = FP8MOE_IDS_DIRECT,
     .evidence = FP8MOE_EVIDENCE_SOURCE,
     .evidence_text = "the vendor's eager decomposition, quirks included"},
    {.name = "dense",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_BF16,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_FP8_ROW,
     .intermediate_cast = FP8MOE_CAST_BF16,
     .down_operand = FP8MOE_DOWN_CODE,
     .down_round = FP8MOE_ROUND_BF16,
     .down_out = FP8MOE_ROUND_F32,
     .row_scale = FP8MOE_ROW_SCALE_ROUTER,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_SLOT,
     .pairs = FP8MOE_PAIRS_ALL,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_SOURCE,
     .evidence_text = "the source of a fork; device operations assumed",
     .axes = {{"dots not rounded before the scale", "dot_round=none down_round=none"},
              {"f32 combined scale", "scale=f32"},
              AXIS_INPUT_CAST}},
    {.name = "dequant",
     .alias = "block",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_DEQUANT,
     .input = FP8MOE_INPUT_AS_IS,
     .input_cast = FP8MOE_CAST_NONE,
     .dot_round = FP8MOE_ROUND_NONE,
     .scale = FP8MOE_SCALE_NONE,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_KEPT,
     .intermediate_cast = FP8MOE_CAST_NONE,
     .down_operand = FP8MOE_DOWN_WEIGHT,
     .down_round = FP8MOE_ROUND_NONE,
     .down_out = FP8MOE_ROUND_BF16,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_UNSTATED,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_FIXTURE,
     .evidence_text = "upstream's golden file: 511 of 512 distinct outputs",
     .axes = {{"bf16 sum in expert order", "sum=bf16 order=expert"}}},
    {.name = "bf16",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_BF16,
     .input = FP8MOE_INPUT_AS_IS,
     .input_cast = FP8MOE_CAST_NONE,
     .dot_round = FP8MOE_ROUND_NONE,
     .scale = FP8MOE_SCALE_NONE,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_KEPT,
     .intermediate_cast = FP8MOE_CAST_NONE,
     .down_operand = FP8MOE_DOWN_WEIGHT,
     .down_round = FP8MOE_ROUND_NONE,
     .down_out = FP8MOE_ROUND_F32,
     .router_weight = FP8MOE_ROUND_F32,
     .slot_round = FP8MOE_ROUND_BF16,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_SLOT,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_FIXTURE,
     .evidence_text = "upstream's golden file: 99.6 %, the rest one flip a row"},
    {.name = "static-moe",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_CODES,
     .input = FP8MOE_INPUT_FP8_STATIC,
     .input_cast = FP8MOE_CAST_F32_DIVISION,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_BF16,
     .silu = FP8MOE_ROUND_BF16,
     .product = FP8MOE_ROUND_BF16,
     .intermediate = FP8MOE_INTERMEDIATE_FP8_STATIC,
     .intermediate_cast = FP8MOE_CAST_BF16_INVERSE,
     .down_operand = FP8MOE_DOWN_CODE,
     .down_round = FP8MOE_ROUND_BF16,
     .down_out = FP8MOE_ROUND_BF16,
     .router_weight = FP8MOE_ROUND_BF16,
     .slot_round = FP8MOE_ROUND_NONE,
     .sum = FP8MOE_ROUND_F32,
     .order = FP8MOE_ORDER_UNSTATED,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_MEASURED,
     .measured_on = "gaudi2",
     .evidence_text = "a Gaudi2 capture of the static op",
     .axes = {{"scales one after the other", "scale=sequential"}}},
    {.name = "exact",
     .op = FP8MOE_OP_MOE,
     .weights = FP8MOE_FORM_EXACT,
     .input = FP8MOE_INPUT_AS_IS,
     .input_cast = FP8MOE_CAST_NONE,
     .dot_round = FP8MOE_ROUND_F64,
     .scale = FP8MOE_SCALE_NONE,
     .up_gate = FP8MOE_ROUND_F64,
     .silu = FP8MOE_ROUND_F64,
     .product = FP8MOE_ROUND_F64,
     .intermediate = FP8MOE_INTERMEDIATE_KEPT,
     .intermediate_cast = FP8MOE_CAST_NONE,
     .down_operand = FP8MOE_DOWN_WEIGHT,
     .down_round = FP8MOE_ROUND_F64,
     .down_out = FP8MOE_ROUND_F64,
     .router_weight = FP8MOE_ROUND_F64,
     .slot_round = FP8MOE_ROUND_F64,
     .sum = FP8MOE_ROUND_F64,
     .order = FP8MOE_ORDER_EXPERT,
     .pairs = FP8MOE_PAIRS_ROUTED,
     .ids = FP8MOE_IDS_OFFSET,
     .evidence = FP8MOE_EVIDENCE_DEFINITION,
     .evidence_text = "the layer's definition in float64"},
    {.name = "static-linear",
     .op = FP8MOE_OP_LINEAR,
     .weights = FP8MOE_FORM_CODES,
     .input = FP8MOE_INPUT_FP8_STATIC,
     .input_cast = FP8MOE_CAST_BF16_INVERSE,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_BF16,
     .up_gate = FP8MOE_ROUND_BF16,
     .evidence = FP8MOE_EVIDENCE_MEASURED,
     .measured_on = "gaudi2",
     .evidence_text = "two Gaudi captures, all 40 outputs of each"},
    {.name = "dynamic-linear",
     .op = FP8MOE_OP_LINEAR,
     .weights = FP8MOE_FORM_PREPARED,
     .input = FP8MOE_INPUT_FP8_TOKEN,
     .input_cast = FP8MOE_CAST_BF16,
     .dot_round = FP8MOE_ROUND_BF16,
     .scale = FP8MOE_SCALE_BF16,
     .up_gate = FP8MOE_ROUND_BF16,
     .evidence = FP8MOE_EVIDENCE_ASSUMED,
     .evidence_text = "by analogy with static-linear",
     .axes = {{"f32 combined scale", "scale=f32"},
              AXIS_INPUT_CAST,
              {"dots not rounded before the scale", "dot_round=none"}}},
    {.name = "dequant-linear",
     .op = FP8MOE_OP_LINEAR,
     .weights = FP8MOE_FORM_DEQUANT,
     .input = FP8MOE_INPUT_AS_IS,
     .input_cast = FP8MOE_CAST_NONE,
     .dot_round = FP8MOE_ROUND_NONE,
     .scale = FP8MOE_SCALE_NONE,
     .up_gate = FP8MOE_ROUND_BF16,
     .evidence = FP8MOE_EVIDENCE_FIXTURE,
     .evidence_text = "upstream's golden file: 100 %"},
    {.name = "w8a16-linear",
     .op = FP8MOE_OP_LINEAR,
     .weights = FP8MOE_FORM_CODES,
     .input = FP8MOE_INPUT_AS_IS,
     .input_cast = FP8MOE_CAST_NONE,
     .dot_round = FP8MOE_ROUND_NONE,
     .scale = FP8MOE_SCALE_F32,
     .up_gate = FP8MOE_ROUND_BF16,
     .evidence = FP8MOE_EVIDENCE_FIXTURE,
     .evidence_text = "upstream's golden files: 100 %"},
};

/* ---- columns by name ---- */

#define MAX_VALUES 8

typedef struct column {
    const char *name;
    size_t offset;
    const char *values[MAX_VALUES]; /* by enum value; ends at NULL */
} column;

#define PRECISION                                                                                  \
    {                                                                                              \
        "none", "f64", "f32", "tf32", "bf16"                                                       \
    }
#define CAST                                                                                       \
    {                                                                                              \
        "none", "bf16", "f32", "bf16-inverse", "f32-division"                                      \
    }
#define COLUMN(field, ...)                                                                         \
    {                                                                                              \
#field, offsetof(fp8moe_recipe, field), __VA_ARGS__                                        \
    }

static const column columns[] = {
    COLUMN(op, {"moe", "linear"}),
    COLUMN(weights, {"prepared", "dequant", "bf16", "codes", "exact"}),
    COLUMN(input, {"as-is", "fp8-token", "fp8-static"}),
    COLUMN(input_cast, CAST),
    COLUMN(dot_round, PRECISION),
    COLUMN(scale, {"none", "f32", "bf16", "sequential"}),
    COLUMN(up_gate, PRECISION),
    COLUMN(silu, PRECISION),
    COLUMN(silu_form, {"one-step", "two-step"}),
    COLUMN(product, PRECISION),
    COLUMN(intermediate, {"kept", "fp8-row", "fp8-static", "fp8-eager"}),
    COLUMN(intermediate_cast, CAST),
    COLUMN(down_operand,
           {"code", "scaled-f32", "scaled-tf32", "scaled-bf16", "scaled-bf16x3", "weight"}),
    COLUMN(down_round, PRECISION),
    COLUMN(down_out, PRECISION),
    COLUMN(row_scale, {"down", "router"}),
    COLUMN(router_weight, PRECISION),
    COLUMN(slot_round, PRECISION),
    COLUMN(sum, PRECISION),
    COLUMN(order, {"unstated", "expert", "slot"}),
    COLUMN(pairs, {"routed", "gathered", "all", "eager"}),
    COLUMN(ids, {"offset", "direct"}),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every column is an enum; they share the size of int, which the table relies on. */
_Static_assert(sizeof(fp8moe_precision) == sizeof(int) && sizeof(fp8moe_op) == sizeof(int) &&
                   sizeof(fp8moe_ids_form) == sizeof(int),
               "enum columns are read as int");

static const column *find_column(const char *name)
{
    for (size_t i = 0; i < COUNT(columns); i++)
        if (!strcmp(columns[i].name, name)) return &columns[i];
    return NULL;
}

const fp8moe_target *fp8moe_target_at(size_t index)
{
    return index < COUNT(targets) ? &targets[index] : NULL;
}

const fp8moe_recipe *fp8moe_recipe_at(size_t index)
{
    return index < COUNT(recipes) ? &recipes[index] : NULL;
}

static bool is_named(const char *name, const char *alias, const char *wanted)
{
    return !strcmp(name, wanted) || (alias && !strcmp(alias, wanted));
}

const fp8moe_target *fp8moe_target_find(const char *name)
{
    for (size_t i = 0; i < COUNT(targets); i++)
        if (is_named(targets[i].name, targets[i].alias, name)) return &targets[i];
    return NULL;
}

const fp8moe_recipe *fp8moe_recipe_find(const char *name)
{
    for (size_t i = 0; i < COUNT(recipes); i++)
        if (is_named(recipes[i].name, recipes[i].alias, name)) return &recipes[i];
    return NULL;
}

const char *fp8moe_recipe_column(size_t index)
{
    return index < COUNT(columns) ? columns[index].name : NULL;
}

const char *fp8moe_recipe_get(const fp8moe_recipe *recipe, const char *name)
{
    const column *const col = find_column(name);
    if (!col) return NULL;
    int value;
    memcpy(&value, (const char *)recipe + col->offset, sizeof value);
    return value >= 0 && value < MAX_VALUES ? col->values[value] : NULL;
}

static void list_values(const column *col, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < MAX_VALUES && col->values[i] && used < size; i++) {
        const int n = snprintf(text + used, size - used, "%s%s", i ? ", " : "", col->values[i]);
        if (n > 0) used += (size_t)n;
    }
}

fp8moe_status fp8moe_recipe_set(fp8moe_recipe *recipe, const char *name, const char *value,
                                fp8moe_error *err)
{
    const column *const col = find_column(name);
    if (!col) return fail(err, FP8MOE_ERR_NOT_FOUND, "a recipe has no column '%s'", name);
    for (int i = 0; i < MAX_VALUES && col->values[i]; i++)
        if (!strcmp(col->values[i], value)) {
            memcpy((char *)recipe + col->offset, &i, sizeof i);
            return FP8MOE_OK;
        }
    char legal[160];
    list_values(col, legal, sizeof legal);
    return fail(err, FP8MOE_ERR_VALUE, "column '%s' of a recipe cannot be '%s'; it is one of %s",
                name, value, legal);
}

fp8moe_status fp8moe_recipe_apply(fp8moe_recipe *recipe, const char *settings, fp8moe_error *err)
{
    const char *at = settings;
    while (*at) {
        char name[32], value[32];
        int length = 0;
        if (sscanf(at, " %31[a-z0-9_]=%31[a-z0-9-] %n", name, value, &length) != 2)
            return fail(err, FP8MOE_ERR_VALUE, "expected column=value in '%s'", at);
        TRY(fp8moe_recipe_set(recipe, name, value, err));
        at += length;
    }
    return FP8MOE_OK;
}

static bool has_arithmetic_of(const fp8moe_target *a, const fp8moe_target *b)
{
    return a->fp8_max == b->fp8_max && a->nan_code_first == b->nan_code_first &&
           a->scale_in_input_dtype == b->scale_in_input_dtype &&
           a->loader_halves == b->loader_halves;
}

fp8moe_evidence fp8moe_recipe_evidence(const fp8moe_recipe *recipe, const fp8moe_target *target)
{
    const bool elsewhere = recipe->evidence == FP8MOE_EVIDENCE_MEASURED && target &&
                           recipe->measured_on &&
                           !has_arithmetic_of(target, fp8moe_target_find(recipe->measured_on));
    return elsewhere ? FP8MOE_EVIDENCE_INFERRED : recipe->evidence;
}

const char *fp8moe_evidence_name(fp8moe_evidence evidence)
{
    static const char *const names[] = {"definition", "measured", "fixture",
                                        "source",     "inferred", "assumed"};
    return (size_t)evidence < COUNT(names) ? names[evidence] : "unknown";
}

static const char *const stages_of_weights[] = {"unknown", "checkpoint", "loaded", "prepared"};

const char *fp8moe_stage_of_weights_name(fp8moe_stage_of_weights stage)
{
    return (size_t)stage < COUNT(stages_of_weights) ? stages_of_weights[stage] : "unknown";
}

fp8moe_stage_of_weights fp8moe_stage_of_weights_find(const char *name)
{
    for (size_t i = 1; i < COUNT(stages_of_weights); i++)
        if (!strcmp(stages_of_weights[i], name)) return (fp8moe_stage_of_weights)i;
    return FP8MOE_WEIGHTS_UNKNOWN;
}

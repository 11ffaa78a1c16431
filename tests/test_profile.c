/* The rows of targets and recipes against the table of numerics.md section 0, typed again from it,
 * and the columns by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fp8moe/profile.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- targets ---- */

static void targets_are_those_of_the_table(void **state)
{
    (void)state;
    static const fp8moe_target rows[] = {
        {.name = "gaudi2",
         .fp8_max = 240,
         .nan_code_first = 0x78,
         .scale_in_input_dtype = true,
         .loader_halves = true},
        {.name = "gaudi3", .fp8_max = 448, .nan_code_first = 0x7F, .scale_in_input_dtype = true},
        {.name = "ocp", .alias = "cuda", .fp8_max = 448, .nan_code_first = 0x7F},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const fp8moe_target *const t = fp8moe_target_at(i);
        assert_string_equal(t->name, rows[i].name);
        assert_true(t->fp8_max == rows[i].fp8_max);
        assert_int_equal(t->nan_code_first, rows[i].nan_code_first);
        assert_int_equal(t->scale_in_input_dtype, rows[i].scale_in_input_dtype);
        assert_int_equal(t->loader_halves, rows[i].loader_halves);
        assert_true(t->dot_slack == 16 && t->silu_slack == 1 && t->silu_slack_rate == 0.125);
        assert_true(strlen(t->evidence) > 0);
        assert_ptr_equal(fp8moe_target_find(rows[i].name), t);
        if (rows[i].alias) assert_ptr_equal(fp8moe_target_find(rows[i].alias), t);
    }
    assert_null(fp8moe_target_at(COUNT(rows)));
    assert_null(fp8moe_target_find("gaudi"));
    assert_null(fp8moe_target_find(""));
}

/* ---- recipes ---- */

/* The columns of the table, left to right; a linear row ends at up_gate. */
static const char *const table_columns[] = {
    "weights",      "input",      "input_cast", "dot_round",     "scale",
    "up_gate",      "silu",       "product",    "intermediate",  "intermediate_cast",
    "down_operand", "down_round", "down_out",   "router_weight", "slot_round",
    "sum",          "order",      "pairs"};

enum { LINEAR_COLUMNS = 6 };

/* What the table says in words: the dense row scale, the eager window. */
typedef struct table_row {
    const char *name, *alias, *evidence;
    const char *cells[COUNT(table_columns)];
    const char *row_scale, *ids;
} table_row;

static const table_row moe_rows[] = {
    {"gather",
     "custom",
     "source",
     {"prepared", "fp8-token", "bf16", "none", "f32", "f32", "f32", "f32", "kept", "none",
      "scaled-f32", "none", "f32", "bf16", "none", "f32", "expert", "gathered"},
     "down",
     "offset"},
    {"stock",
     "moe_op",
     "inferred",
     {"prepared", "fp8-token", "bf16", "bf16", "f32", "bf16", "bf16", "bf16", "fp8-row", "bf16",
      "code", "bf16", "bf16", "bf16", "none", "f32", "unstated", "routed"},
     "down",
     "offset"},
    {"stock-hp",
     NULL,
     "assumed",
     {"prepared", "fp8-token", "bf16", "bf16", "f32", "bf16", "bf16", "bf16", "kept", "none",
      "scaled-bf16", "none", "bf16", "bf16", "none", "f32", "unstated", "routed"},
     "down",
     "offset"},
    {"stock-eager",
     NULL,
     "source",
     {"prepared", "fp8-token", "bf16", "bf16", "f32", "bf16", "bf16", "bf16", "fp8-eager", "bf16",
      "code", "bf16", "bf16", "bf16", "bf16", "bf16", "expert", "eager"},
     "down",
     "direct"},
    {"dense",
     NULL,
     "source",
     {"prepared", "fp8-token", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "fp8-row", "bf16",
      "code", "bf16", "f32", "bf16", "none", "f32", "slot", "all"},
     "router",
     "offset"},
    {"dequant",
     "block",
     "fixture",
     {"dequant", "as-is", "none", "none", "none", "bf16", "bf16", "bf16", "kept", "none", "weight",
      "none", "bf16", "bf16", "none", "f32", "unstated", "routed"},
     "down",
     "offset"},
    {"bf16",
     NULL,
     "fixture",
     {"bf16", "as-is", "none", "none", "none", "bf16", "bf16", "bf16", "kept", "none", "weight",
      "none", "f32", "f32", "bf16", "f32", "slot", "routed"},
     "down",
     "offset"},
    {"static-moe",
     NULL,
     "measured",
     {"codes", "fp8-static", "f32-division", "bf16", "f32", "bf16", "bf16", "bf16", "fp8-static",
      "bf16-inverse", "code", "bf16", "bf16", "bf16", "none", "f32", "unstated", "routed"},
     "down",
     "offset"},
    {"exact",
     NULL,
     "definition",
     {"exact", "as-is", "none", "f64", "none", "f64", "f64", "f64", "kept", "none", "weight", "f64",
      "f64", "f64", "f64", "f64", "expert", "routed"},
     "down",
     "offset"},
};

static const table_row linear_rows[] = {
    {"static-linear",
     NULL,
     "measured",
     {"codes", "fp8-static", "bf16-inverse", "bf16", "bf16", "bf16"},
     NULL,
     NULL},
    {"dynamic-linear",
     NULL,
     "assumed",
     {"prepared", "fp8-token", "bf16", "bf16", "bf16", "bf16"},
     NULL,
     NULL},
    {"dequant-linear",
     NULL,
     "fixture",
     {"dequant", "as-is", "none", "none", "none", "bf16"},
     NULL,
     NULL},
    {"w8a16-linear",
     NULL,
     "fixture",
     {"codes", "as-is", "none", "none", "f32", "bf16"},
     NULL,
     NULL},
};

static void expect_cell(const fp8moe_recipe *recipe, const char *column, const char *want)
{
    const char *const got = fp8moe_recipe_get(recipe, column);
    if (!got || strcmp(got, want) != 0)
        fail_msg("%s: %s is %s, not %s", recipe->name, column, got, want);
}

static void expect_row(const table_row *row, const char *op, size_t columns)
{
    const fp8moe_recipe *const r = fp8moe_recipe_find(row->name);
    assert_non_null(r);
    if (row->alias) assert_ptr_equal(fp8moe_recipe_find(row->alias), r);
    assert_string_equal(fp8moe_evidence_name(r->evidence), row->evidence);
    assert_true(strlen(r->evidence_text) > 0);
    expect_cell(r, "op", op);
    for (size_t c = 0; c < columns; c++)
        expect_cell(r, table_columns[c], row->cells[c]);
    if (columns == LINEAR_COLUMNS) return;
    expect_cell(r, "silu_form", "one-step");
    expect_cell(r, "row_scale", row->row_scale);
    expect_cell(r, "ids", row->ids);
}

static void recipes_are_those_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(moe_rows); i++)
        expect_row(&moe_rows[i], "moe", COUNT(table_columns));
    for (size_t i = 0; i < COUNT(linear_rows); i++)
        expect_row(&linear_rows[i], "linear", LINEAR_COLUMNS);
    assert_non_null(fp8moe_recipe_at(COUNT(moe_rows) + COUNT(linear_rows) - 1));
    assert_null(fp8moe_recipe_at(COUNT(moe_rows) + COUNT(linear_rows)));
    assert_null(fp8moe_recipe_find("Gather"));
    assert_null(fp8moe_recipe_find(""));
}

/* ---- open axes ---- */

/* Section 0, "Open axes", one row a choice: the columns it turns and to what. */
typedef struct axis_row {
    const char *recipe;
    const char *turned; /* as fp8moe_recipe_apply() takes it */
} axis_row;

static const axis_row axis_rows[] = {
    {"stock", "intermediate=kept intermediate_cast=none down_operand=scaled-bf16 down_round=none"},
    {"stock", "dot_round=none down_round=none"},
    {"stock", "scale=bf16"},
    {"stock", "scale=sequential"},
    {"stock", "sum=bf16 order=expert"},
    {"stock", "input_cast=f32"},
    {"stock", "ids=direct"},
    {"gather", "down_operand=scaled-tf32"},
    {"gather", "down_operand=scaled-bf16x3"},
    {"gather", "down_operand=scaled-bf16"},
    {"gather", "input_cast=f32"},
    {"gather", "scale=bf16"},
    {"gather", "silu_form=two-step"},
    {"static-moe", "scale=sequential"},
};

static bool same_columns(const fp8moe_recipe *a, const fp8moe_recipe *b)
{
    for (size_t c = 0; fp8moe_recipe_column(c); c++) {
        const char *const column = fp8moe_recipe_column(c);
        if (strcmp(fp8moe_recipe_get(a, column), fp8moe_recipe_get(b, column)) != 0) return false;
    }
    return true;
}

static fp8moe_recipe turned(const fp8moe_recipe *recipe, const char *settings)
{
    fp8moe_recipe out = *recipe;
    fp8moe_error err;
    if (fp8moe_recipe_apply(&out, settings, &err) != FP8MOE_OK)
        fail_msg("%s: %s", settings, err.message);
    return out;
}

static void every_open_axis_of_the_notes_is_listed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(axis_rows); i++) {
        const fp8moe_recipe *const r = fp8moe_recipe_find(axis_rows[i].recipe);
        const fp8moe_recipe want = turned(r, axis_rows[i].turned);
        bool found = false;
        for (int a = 0; a < FP8MOE_MAX_AXES && r->axes[a].name; a++) {
            const fp8moe_recipe got = turned(r, r->axes[a].settings);
            found |= same_columns(&got, &want);
        }
        if (!found) fail_msg("%s has no axis %s", r->name, axis_rows[i].turned);
    }
}

/* An axis that changes nothing, or the same as another, is a mistake. */
static void every_axis_is_another_row(void **state)
{
    (void)state;
    for (size_t i = 0; fp8moe_recipe_at(i); i++) {
        const fp8moe_recipe *const r = fp8moe_recipe_at(i);
        for (int a = 0; a < FP8MOE_MAX_AXES && r->axes[a].name; a++) {
            const fp8moe_recipe one = turned(r, r->axes[a].settings);
            assert_false(same_columns(&one, r));
            for (int b = 0; b < a; b++) {
                const fp8moe_recipe other = turned(r, r->axes[b].settings);
                assert_false(same_columns(&one, &other));
                assert_string_not_equal(r->axes[a].name, r->axes[b].name);
            }
        }
    }
}

/* ---- columns by name ---- */

typedef struct column_row {
    const char *name;
    const char *values[7];
} column_row;

#define PRECISIONS                                                                                 \
    {                                                                                              \
        "none", "f64", "f32", "tf32", "bf16"                                                       \
    }
#define CASTS                                                                                      \
    {                                                                                              \
        "none", "bf16", "f32", "bf16-inverse", "f32-division"                                      \
    }

static const column_row columns[] = {
    {"op", {"moe", "linear"}},
    {"weights", {"prepared", "dequant", "bf16", "codes", "exact"}},
    {"input", {"as-is", "fp8-token", "fp8-static"}},
    {"input_cast", CASTS},
    {"dot_round", PRECISIONS},
    {"scale", {"none", "f32", "bf16", "sequential"}},
    {"up_gate", PRECISIONS},
    {"silu", PRECISIONS},
    {"silu_form", {"one-step", "two-step"}},
    {"product", PRECISIONS},
    {"intermediate", {"kept", "fp8-row", "fp8-static", "fp8-eager"}},
    {"intermediate_cast", CASTS},
    {"down_operand",
     {"code", "scaled-f32", "scaled-tf32", "scaled-bf16", "scaled-bf16x3", "weight"}},
    {"down_round", PRECISIONS},
    {"down_out", PRECISIONS},
    {"row_scale", {"down", "router"}},
    {"router_weight", PRECISIONS},
    {"slot_round", PRECISIONS},
    {"sum", PRECISIONS},
    {"order", {"unstated", "expert", "slot"}},
    {"pairs", {"routed", "gathered", "all", "eager"}},
    {"ids", {"offset", "direct"}},
};

static void a_column_takes_its_values_and_no_other(void **state)
{
    (void)state;
    fp8moe_error err;
    for (size_t c = 0; c < COUNT(columns); c++) {
        const char *const name = columns[c].name;
        fp8moe_recipe r = *fp8moe_recipe_find("exact");
        assert_string_equal(fp8moe_recipe_column(c), name);
        for (int v = 0; columns[c].values[v]; v++) {
            assert_int_equal(fp8moe_recipe_set(&r, name, columns[c].values[v], NULL), FP8MOE_OK);
            assert_string_equal(fp8moe_recipe_get(&r, name), columns[c].values[v]);
        }
        const fp8moe_recipe before = r;
        assert_int_equal(fp8moe_recipe_set(&r, name, "fp16", &err), FP8MOE_ERR_VALUE);
        assert_memory_equal(&r, &before, sizeof r);
        assert_non_null(strstr(err.message, name));
        for (int v = 0; columns[c].values[v]; v++)
            assert_non_null(strstr(err.message, columns[c].values[v]));
    }
    assert_null(fp8moe_recipe_column(COUNT(columns)));
}

/* The names and the enums, value by value. */
static void names_stand_for_the_enums(void **state)
{
    (void)state;
    const fp8moe_recipe r =
        turned(fp8moe_recipe_find("gather"),
               "op=linear weights=exact input=fp8-static input_cast=f32-division dot_round=bf16 "
               "scale=sequential up_gate=tf32 "
               "silu=f64 silu_form=two-step product=f32 intermediate=fp8-eager "
               "intermediate_cast=bf16-inverse "
               "down_operand=scaled-bf16x3 down_round=none down_out=f64 row_scale=router "
               "router_weight=f32 slot_round=bf16 "
               "sum=tf32 order=slot pairs=eager ids=direct");
    assert_int_equal(r.op, FP8MOE_OP_LINEAR);
    assert_int_equal(r.weights, FP8MOE_FORM_EXACT);
    assert_int_equal(r.input, FP8MOE_INPUT_FP8_STATIC);
    assert_int_equal(r.input_cast, FP8MOE_CAST_F32_DIVISION);
    assert_int_equal(r.dot_round, FP8MOE_ROUND_BF16);
    assert_int_equal(r.scale, FP8MOE_SCALE_SEQUENTIAL);
    assert_int_equal(r.up_gate, FP8MOE_ROUND_TF32);
    assert_int_equal(r.silu, FP8MOE_ROUND_F64);
    assert_int_equal(r.silu_form, FP8MOE_SILU_TWO_STEP);
    assert_int_equal(r.product, FP8MOE_ROUND_F32);
    assert_int_equal(r.intermediate, FP8MOE_INTERMEDIATE_FP8_EAGER);
    assert_int_equal(r.intermediate_cast, FP8MOE_CAST_BF16_INVERSE);
    assert_int_equal(r.down_operand, FP8MOE_DOWN_SCALED_BF16X3);
    assert_int_equal(r.down_round, FP8MOE_ROUND_NONE);
    assert_int_equal(r.down_out, FP8MOE_ROUND_F64);
    assert_int_equal(r.row_scale, FP8MOE_ROW_SCALE_ROUTER);
    assert_int_equal(r.router_weight, FP8MOE_ROUND_F32);
    assert_int_equal(r.slot_round, FP8MOE_ROUND_BF16);
    assert_int_equal(r.sum, FP8MOE_ROUND_TF32);
    assert_int_equal(r.order, FP8MOE_ORDER_SLOT);
    assert_int_equal(r.pairs, FP8MOE_PAIRS_EAGER);
    assert_int_equal(r.ids, FP8MOE_IDS_DIRECT);
}

static void settings_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        fp8moe_status status;
        const char *words;
    } rows[] = {
        {"", FP8MOE_OK, ""},
        {"  scale=bf16   sum=f64  ", FP8MOE_OK, ""},
        {"scale", FP8MOE_ERR_VALUE, "'scale'"},
        {"scale=", FP8MOE_ERR_VALUE, "'scale='"},
        {"=bf16", FP8MOE_ERR_VALUE, "'=bf16'"},
        {"scale =bf16", FP8MOE_ERR_VALUE, "column=value"},
        {"scale=bf16,sum=f64", FP8MOE_ERR_VALUE, "',sum=f64'"},
        {"scale=BF16", FP8MOE_ERR_VALUE, "'scale=BF16'"},
        {"scales=bf16", FP8MOE_ERR_NOT_FOUND, "'scales'"},
        {"sum=f64 scale=f64", FP8MOE_ERR_VALUE, "none, f32, bf16, sequential"},
        {"a_name_of_more_than_thirty_one_bytes=bf16", FP8MOE_ERR_VALUE, "column=value"},
        {"scale=a-value-of-more-than-thirty-one-bytes", FP8MOE_ERR_VALUE, "a-value"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_recipe r = *fp8moe_recipe_find("stock");
        fp8moe_error err = {0};
        assert_int_equal(fp8moe_recipe_apply(&r, rows[i].settings, &err), rows[i].status);
        if (!strstr(err.message, rows[i].words)) fail_msg("%s: %s", rows[i].settings, err.message);
    }
    assert_null(fp8moe_recipe_get(fp8moe_recipe_find("stock"), "scales"));
}

static void a_value_that_is_no_enum_has_no_name(void **state)
{
    (void)state;
    fp8moe_recipe r = *fp8moe_recipe_find("stock");
    const int beyond[] = {-1, 2, 7, 8, 1000};
    for (size_t i = 0; i < COUNT(beyond); i++) {
        memcpy(&r.ids, &beyond[i], sizeof r.ids);
        assert_null(fp8moe_recipe_get(&r, "ids"));
    }
}

/* ---- other names ---- */

static void evidence_and_weight_stages_have_names(void **state)
{
    (void)state;
    static const char *const evidence[] = {"definition", "measured", "fixture", "source",
                                           "inferred",   "assumed",  "unknown"};
    static const char *const stages[] = {"unknown", "checkpoint", "loaded", "prepared", "unknown"};
    for (int i = 0; i < 7; i++)
        assert_string_equal(fp8moe_evidence_name((fp8moe_evidence)i), evidence[i]);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(fp8moe_stage_of_weights_name((fp8moe_stage_of_weights)i), stages[i]);
        assert_int_equal(fp8moe_stage_of_weights_find(stages[i]), i % 4);
    }
    assert_int_equal(fp8moe_stage_of_weights_find("Loaded"), FP8MOE_WEIGHTS_UNKNOWN);
}

/* The captures are of Gaudi2; elsewhere the row is carried over, also under a name of one's own. */
static void what_is_measured_is_so_on_its_device(void **state)
{
    (void)state;
    fp8moe_target mine = *fp8moe_target_find("gaudi2");
    mine.name = "mine";
    mine.silu_slack = 2;
    const fp8moe_recipe *recipe;
    for (size_t i = 0; (recipe = fp8moe_recipe_at(i)); i++) {
        const bool measured = recipe->evidence == FP8MOE_EVIDENCE_MEASURED;
        assert_true(measured == !!recipe->measured_on);
        const fp8moe_evidence elsewhere = measured ? FP8MOE_EVIDENCE_INFERRED : recipe->evidence;
        assert_int_equal(fp8moe_recipe_evidence(recipe, NULL), recipe->evidence);
        assert_int_equal(fp8moe_recipe_evidence(recipe, &mine), recipe->evidence);
        assert_int_equal(fp8moe_recipe_evidence(recipe, fp8moe_target_find("gaudi3")), elsewhere);
        assert_int_equal(fp8moe_recipe_evidence(recipe, fp8moe_target_find("ocp")), elsewhere);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_those_of_the_table),
        cmocka_unit_test(recipes_are_those_of_the_table),
        cmocka_unit_test(every_open_axis_of_the_notes_is_listed),
        cmocka_unit_test(every_axis_is_another_row),
        cmocka_unit_test(a_column_takes_its_values_and_no_other),
        cmocka_unit_test(names_stand_for_the_enums),
        cmocka_unit_test(settings_that_are_none_are_refused),
        cmocka_unit_test(a_value_that_is_no_enum_has_no_name),
        cmocka_unit_test(evidence_and_weight_stages_have_names),
        cmocka_unit_test(what_is_measured_is_so_on_its_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Open axes: a dump made under one is the same by that name, a dump with a rounding point moved
 * elsewhere is never the same, and a device's own noise is taken for neither. */
#include "judge.h"
#include "judged.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- axes ---- */

typedef struct axis_row {
    const char *recipe, *settings, *name;
} axis_row;

static const axis_row axis_rows[] = {
    {"gather", "", ""},
    {"gather", "down_operand=scaled-tf32", "tf32 down matmul"},
    {"gather", "down_operand=scaled-bf16", "bf16 down matmul"},
    {"gather", "scale=bf16", "bf16 combined scale"},
    {"gather", "input_cast=f32", "f32 input cast"},
    {"gather", "down_operand=scaled-tf32 scale=bf16", "tf32 down matmul, bf16 combined scale"},
    {"stock", "", ""},
    {"stock", "intermediate=kept intermediate_cast=none down_operand=scaled-bf16 down_round=none",
     "intermediate kept in bf16"},
    {"stock", "dot_round=none down_round=none", "dots not rounded before the scale"},
    {"stock", "scale=bf16", "bf16 combined scale"},
    {"stock", "sum=bf16 order=expert", "bf16 sum in expert order"},
    {"stock", "input_cast=f32", "f32 input cast"},
    {"dequant", "", ""},
    {"dequant", "sum=bf16 order=expert", "bf16 sum in expert order"},
};

/* On a device that sums in its own order, without and with silu values off. */
static void a_dump_under_an_axis_is_the_same_by_its_name(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(axis_rows); i++) {
        const axis_row *const row = &axis_rows[i];
        judged *const j = judged_open(row->recipe, &judged_shape);
        judged_dump_as(j, row->settings, 3, i % 2 ? 0.01 : 0);
        const fp8moe_judgement *const r = judged_run(j);
        if (r->verdict != FP8MOE_VERDICT_SAME || strcmp(r->axis, row->name))
            fail_msg("%s with %s: %s, '%s': %s", row->recipe, row->settings,
                     fp8moe_verdict_name(r->verdict), r->axis, r->reason);
        fp8moe_recipe applied = *j->made.config.recipe;
        assert_int_equal(fp8moe_recipe_apply(&applied, row->settings, NULL), FP8MOE_OK);
        for (size_t c = 0; fp8moe_recipe_column(c); c++) /* and the row it was judged by shows it */
            assert_string_equal(fp8moe_recipe_get(&r->recipe, fp8moe_recipe_column(c)),
                                fp8moe_recipe_get(&applied, fp8moe_recipe_column(c)));
        judged_close(j);
    }
}

static void axes_can_be_left_alone(void **unused)
{
    (void)unused;
    judged *const j = judged_open("gather", &judged_shape);
    judged_dump_as(j, "down_operand=scaled-tf32", 3, 0);
    j->options.try_axes = false;
    assert_int_not_equal(judged_run(j)->verdict, FP8MOE_VERDICT_SAME);
    assert_string_equal(j->result.axis, "");
    judged_close(j);
}

/* ---- moved rounding points ---- */

typedef struct moved_row {
    const char *recipe, *settings;
    double silu_rate; /* of the device: noise of its own, below what the moved rounding does */
} moved_row;

/* No axis of its row, each by itself. */
static const moved_row moved_rows[] = {
    {"gather", "up_gate=bf16", 0.008},    {"gather", "silu=bf16", 0.008},
    {"gather", "product=bf16", 0.008},    {"gather", "product=tf32", 0.008},
    {"gather", "dot_round=bf16", 0.008},  {"gather", "down_out=bf16", 0.008},
    {"gather", "slot_round=bf16", 0.008}, {"gather", "sum=bf16", 0.008},
    {"stock", "dot_round=none", 0.02},    {"stock", "down_round=none", 0},
    {"stock", "up_gate=f32", 0.02},       {"stock", "silu=f32", 0.008},
    {"stock", "product=f32", 0.008},      {"stock", "down_out=f32", 0},
    {"stock", "slot_round=bf16", 0},      {"stock", "intermediate_cast=f32", 0},
    {"static-moe", "up_gate=f32", 0.008}, {"static-moe", "silu=f32", 0.008},
    {"static-moe", "down_out=f32", 0},    {"static-moe", "slot_round=bf16", 0},
    {"dequant", "up_gate=f32", 0.02},     {"dequant", "silu=f32", 0.008},
    {"dequant", "product=f32", 0.008},    {"dequant", "down_out=f32", 0},
    {"dequant", "slot_round=bf16", 0},
};

static void a_moved_rounding_point_is_never_the_same(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(moved_rows); i++) {
        const moved_row *const row = &moved_rows[i];
        judged *const j = judged_open(row->recipe, &judged_shape);
        judged_dump_as(j, row->settings, 3, row->silu_rate);
        const fp8moe_judgement *const r = judged_run(j);
        const bool settled = r->recipe.evidence == FP8MOE_EVIDENCE_MEASURED ||
                             r->recipe.evidence == FP8MOE_EVIDENCE_FIXTURE;
        if (r->verdict == FP8MOE_VERDICT_SAME || (r->verdict == FP8MOE_VERDICT_INCONCLUSIVE &&
                                                  (r->kind != FP8MOE_KIND_ROUNDING || settled)))
            fail_msg("%s with %s: %s, %s: %s", row->recipe, row->settings,
                     fp8moe_verdict_name(r->verdict), fp8moe_kind_name(r->kind), r->reason);
        judged_close(j);
    }
}

/* ---- noise ---- */

/* Neither a fault, nor an axis, nor a rounding point moved. */
static void noise_is_the_same_as_the_row_itself(void **unused)
{
    (void)unused;
    static const char *const recipes[] = {"stock", "stock-hp", "static-moe", "dequant"};
    for (size_t i = 0; i < COUNT(recipes); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            made_options shape = judged_shape;
            shape.seed = 20 + seed;
            judged *const j = judged_open(recipes[i], &shape);
            judged_dump_as(j, "", seed, 0.02);
            const fp8moe_judgement *const r = judged_run(j);
            if (r->verdict != FP8MOE_VERDICT_SAME || r->axis[0])
                fail_msg("%s, seed %d: %s, '%s': %s", recipes[i], (int)seed,
                         fp8moe_verdict_name(r->verdict), r->axis, r->reason);
            judged_close(j);
        }
}

/* ---- several dumps, rows, output ---- */

static void several_dumps_are_judged_as_one_by_one(void **unused)
{
    (void)unused;
    static const char *const settings[] = {"", "down_operand=scaled-bf16", "up_gate=bf16",
                                           "scale=bf16"};
    enum { DUMPS = COUNT(settings), ROW = 4 * 384 };
    judged *const j = judged_open("gather", &judged_shape);
    static double dumps[DUMPS][ROW];
    static fp8moe_judgement together[DUMPS];
    fp8moe_tensor got[DUMPS];
    for (int n = 0; n < DUMPS; n++) {
        judged_dump_as(j, settings[n], 3, 0);
        memcpy(dumps[n], j->dump, sizeof dumps[n]);
        got[n] = j->got;
        got[n].data = dumps[n];
    }
    assert_int_equal(judge_with_axes(&j->made.config, &j->made.inputs, got, DUMPS, &j->options,
                                     NULL, together, NULL),
                     FP8MOE_OK);
    for (int n = 0; n < DUMPS; n++) {
        memcpy(j->dump, dumps[n], sizeof dumps[n]);
        const fp8moe_judgement *const alone = judged_run(j);
        assert_int_equal(together[n].verdict, alone->verdict);
        assert_string_equal(together[n].axis, alone->axis);
        assert_string_equal(together[n].reason, alone->reason);
        assert_memory_equal(&together[n].classes, &alone->classes, sizeof alone->classes);
    }
    judged_close(j);
}

static void the_output_is_that_of_the_row_judged_by(void **unused)
{
    (void)unused;
    static const char *const settings[] = {"down_operand=scaled-bf16", "up_gate=bf16"};
    judged *const j = judged_open("gather", &judged_shape);
    static double output[JUDGED_MAX], want[JUDGED_MAX];
    const size_t size = 4 * 384 * sizeof *want;
    for (int different = 0; different <= 1; different++) {
        judged_dump_as(j, different ? "" : settings[0], 0, 0);
        memcpy(want, j->dump, size);
        judged_dump_as(j, settings[different], 0, 0);
        assert_int_equal(fp8moe_judge(&j->made.config, &j->made.inputs, &j->got, &j->options,
                                      output, &j->result, NULL),
                         FP8MOE_OK);
        assert_int_equal(j->result.verdict == FP8MOE_VERDICT_SAME, !different);
        assert_memory_equal(output, want, size);
    }
    judged_close(j);
}

/* Row 2 is another row's; the other three were made under an axis. */
static void rows_left_out_decide_nothing(void **unused)
{
    (void)unused;
    judged *const j = judged_open("gather", &judged_shape);
    judged_dump_as(j, "down_operand=scaled-bf16", 3, 0);
    memcpy(j->dump + 2 * 384, j->dump, 384 * sizeof *j->dump);
    assert_int_equal(judged_run(j)->verdict, FP8MOE_VERDICT_DIFFERENT);
    j->options.first_row = 0;
    j->options.last_row = 1;
    assert_int_equal(judged_run(j)->verdict, FP8MOE_VERDICT_SAME);
    assert_string_equal(j->result.axis, "bf16 down matmul");
    assert_int_equal(j->result.rows, 2);
    judged_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_under_an_axis_is_the_same_by_its_name),
        cmocka_unit_test(axes_can_be_left_alone),
        cmocka_unit_test(a_moved_rounding_point_is_never_the_same),
        cmocka_unit_test(noise_is_the_same_as_the_row_itself),
        cmocka_unit_test(several_dumps_are_judged_as_one_by_one),
        cmocka_unit_test(the_output_is_that_of_the_row_judged_by),
        cmocka_unit_test(rows_left_out_decide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

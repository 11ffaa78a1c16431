/* Linears against the slow model, bit for bit: every row and open axis, target, weight stage and
 * scale layout; and what a linear refuses. */
#include "recorded_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const fp8moe_stage_of_weights stages[] = {FP8MOE_WEIGHTS_CHECKPOINT, FP8MOE_WEIGHTS_LOADED,
                                                 FP8MOE_WEIGHTS_PREPARED};

/* `inter` is the number of outputs. */
static const made_options shapes[] = {
    {.tokens = 0, .hidden = 16, .inter = 16, .local = 1},
    {.tokens = 1, .hidden = 37, .inter = 21, .local = 1},
    {.tokens = 3, .hidden = 1, .inter = 1, .local = 1},
    {.tokens = 13, .hidden = 35, .inter = 9, .local = 1},
};

static const made_layout layouts[] = {MADE_NO_SCALE, MADE_PER_LAYER, MADE_PER_EXPERT,
                                      MADE_PER_ROW,  MADE_PER_ROW_1, MADE_BLOCKS};

static bool takes(const fp8moe_recipe *recipe, made_layout layout, fp8moe_stage_of_weights stage)
{
    const bool blocks = layout == MADE_BLOCKS, codes = layout != MADE_NO_SCALE;
    if (blocks && stage == FP8MOE_WEIGHTS_PREPARED) return false;
    if (recipe->weights == FP8MOE_FORM_CODES) return codes && !blocks;
    if (recipe->weights == FP8MOE_FORM_DEQUANT) return codes && stage != FP8MOE_WEIGHTS_PREPARED;
    return recipe->weights == FP8MOE_FORM_EXACT || codes;
}

static const char *describe(const made_layer *m)
{
    static char text[200];
    (void)snprintf(text, sizeof text, "%s on %s, %s, layout %d, T=%d H=%d N=%d flags %#x",
                   m->config.recipe->name, m->slow.target->name,
                   fp8moe_stage_of_weights_name(m->slow.stage), (int)m->options.layout,
                   m->slow.tokens, m->slow.hidden, m->slow.inter, m->options.flags);
    return text;
}

static void check(made_layer *m)
{
    for (int way = 0; way < 2; way++) {
        m->config.threads = way ? 3 : 1;
        m->config.isa = way ? "portable" : NULL;
        m->config.use_blas = !way;
        fp8moe_layer *const layer = record_open(m);
        record r;
        record_layer(&r, layer, (int64_t)m->slow.tokens * m->slow.inter);
        record_expect_input(&r, &m->slow, describe(m));
        record_expect_output(&r, &m->slow, m->slow.inter, describe(m));
        for (int s = FP8MOE_STAGE_TOPK_IDS; s < FP8MOE_STAGE_OUTPUT; s++)
            assert_null(r.numbers[s]);
        record_close(&r);
        fp8moe_layer_close(layer);
    }
}

static void check_made(const made_options *o, const fp8moe_recipe *recipe,
                       const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    made_layer m;
    made_linear(&m, o, recipe, target, stage);
    slow_run_linear(&m.slow);
    check(&m);
    made_close(&m);
}

static void check_weights(const made_options *o, const fp8moe_recipe *recipe,
                          const fp8moe_target *target)
{
    for (size_t s = 0; s < COUNT(stages); s++)
        for (size_t i = 0; i < COUNT(layouts); i++) {
            if (!takes(recipe, layouts[i], stages[s])) continue;
            made_options with = *o;
            with.layout = layouts[i];
            with.seed = 100 * s + i;
            if (target->fp8_max != 240 || stages[s] == FP8MOE_WEIGHTS_CHECKPOINT)
                with.flags |= MADE_ANY_CODE;
            check_made(&with, recipe, target, stages[s]);
        }
}

static void check_recipe(const fp8moe_recipe *recipe)
{
    static const unsigned flags[] = {0, MADE_BAD_TOKENS | MADE_NAN_CODE,
                                     MADE_F32_INPUT | MADE_ZERO_TOKEN, MADE_INF_SCALE};
    for (size_t n = 0; n < COUNT(shapes); n++)
        for (size_t f = 0; f < COUNT(flags); f++)
            for (size_t t = 0; fp8moe_target_at(t); t++) {
                made_options o = shapes[n];
                o.block_rows = n % 2 ? 8 : 5;
                o.block_cols = n % 2 ? 16 : 7;
                o.flags = flags[f];
                check_weights(&o, recipe, fp8moe_target_at(t));
            }
}

static void every_row_and_open_axis_is_what_its_columns_say(void **state)
{
    (void)state;
    for (size_t i = 0; fp8moe_recipe_at(i); i++) {
        const fp8moe_recipe *const recipe = fp8moe_recipe_at(i);
        if (recipe->op != FP8MOE_OP_LINEAR) continue;
        check_recipe(recipe);
        for (int a = 0; a < FP8MOE_MAX_AXES && recipe->axes[a].name; a++) {
            fp8moe_recipe changed = *recipe;
            assert_int_equal(fp8moe_recipe_apply(&changed, recipe->axes[a].settings, NULL),
                             FP8MOE_OK);
            check_recipe(&changed);
        }
    }
}

/* More tokens than are multiplied at a time, and a number of threads above that of rows. */
static void many_tokens_are_run_in_blocks(void **state)
{
    (void)state;
    const made_options o = {
        .seed = 1, .tokens = 600, .hidden = 40, .inter = 10, .local = 1, .layout = MADE_PER_ROW};
    made_layer m;
    made_linear(&m, &o, fp8moe_recipe_find("dynamic-linear"), fp8moe_target_find("gaudi2"),
                FP8MOE_WEIGHTS_LOADED);
    slow_run_linear(&m.slow);
    for (int threads = 1; threads < 10; threads += 8) {
        m.config.threads = threads;
        fp8moe_layer *const layer = record_open(&m);
        record r;
        record_layer(&r, layer, 6000);
        assert_true(r.blocks >= 3);
        record_expect_input(&r, &m.slow, "many tokens");
        record_expect_output(&r, &m.slow, 10, "many tokens");
        record_close(&r);
        fp8moe_layer_close(layer);
    }
    made_close(&m);
}

/* Rows of our own making may quantise the input and multiply what is no code: such dots are inexact
 * and keep the lane order, however many tokens there are. */
static void weights_that_are_no_codes_keep_the_lane_order(void **state)
{
    (void)state;
    static const char *const rows[] = {"weights=exact scale=none dot_round=f64 up_gate=f64",
                                       "weights=dequant scale=none dot_round=f64 up_gate=f64"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_recipe recipe = *fp8moe_recipe_find("dynamic-linear");
        assert_int_equal(fp8moe_recipe_apply(&recipe, rows[i], NULL), FP8MOE_OK);
        const made_options o = {.seed = 2,
                                .tokens = 40,
                                .hidden = 300,
                                .inter = 24,
                                .local = 1,
                                .layout = MADE_PER_ROW};
        made_layer m;
        made_linear(&m, &o, &recipe, fp8moe_target_find("gaudi3"), FP8MOE_WEIGHTS_LOADED);
        m.slow.input_is_bf16 = true;
        slow_run_linear(&m.slow);
        double *const output = slow_room(40 * 24);
        m.config.isa = "portable"; /* where OpenBLAS does the exact dots */
        fp8moe_layer *const layer = record_open(&m);
        assert_int_equal(fp8moe_layer_run(layer, NULL, output, NULL), FP8MOE_OK);
        for (int n = 0; n < 40 * 24; n++)
            assert_true(record_same(output[n], m.slow.output[n]));
        free(output);
        fp8moe_layer_close(layer);
        made_close(&m);
    }
}

static void codes_and_scale_may_come_from_the_dump(void **state)
{
    (void)state;
    const made_options o = {
        .seed = 3, .tokens = 2, .hidden = 8, .inter = 5, .local = 1, .layout = MADE_PER_ROW};
    made_layer m;
    made_linear(&m, &o, fp8moe_recipe_find("static-linear"), fp8moe_target_find("gaudi2"),
                FP8MOE_WEIGHTS_LOADED);
    uint8_t codes[16];
    const double scales[2] = {0.5, 3};
    for (int i = 0; i < 16; i++)
        codes[i] = (uint8_t)(i * 7);
    m.slow.from[FP8MOE_STAGE_X_CODES] = codes;
    m.slow.from[FP8MOE_STAGE_X_SCALE] = scales;
    slow_run_linear(&m.slow);
    const fp8moe_tensor of_codes =
        fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, (const int64_t[]){2, 8});
    const fp8moe_tensor of_scales =
        fp8moe_tensor_view(scales, FP8MOE_DTYPE_F64, 2, (const int64_t[]){2, 1});
    fp8moe_layer *const layer = record_open(&m);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_X_CODES, &of_codes, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_X_SCALE, &of_scales, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_UP_GATE, &of_scales, NULL),
                     FP8MOE_ERR_USAGE);
    record r;
    record_layer(&r, layer, 10);
    record_expect_input(&r, &m.slow, "codes of the dump");
    record_expect_output(&r, &m.slow, 5, "codes of the dump");
    record_close(&r);
    fp8moe_layer_close(layer);
    made_close(&m);
}

/* ---- refusals ---- */

static const char *const row_of[] = {"static-linear", "w8a16-linear"};

static void expect_refusal(int row, void (*spoil)(made_layer *m), fp8moe_status status,
                           const char *tensor, const char *words)
{
    const made_options o = {.seed = 4,
                            .tokens = 2,
                            .hidden = 8,
                            .inter = 5,
                            .local = 1,
                            .layout = MADE_PER_ROW,
                            .block_rows = 4,
                            .block_cols = 4};
    made_layer m;
    fp8moe_layer *layer;
    fp8moe_error err;
    made_linear(&m, &o, fp8moe_recipe_find(row_of[row]), fp8moe_target_find("gaudi3"),
                FP8MOE_WEIGHTS_LOADED);
    spoil(&m);
    assert_int_equal(fp8moe_layer_open(&m.config, &m.inputs, &layer, &err), status);
    assert_string_equal(err.tensor, tensor);
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
    made_close(&m);
}

static void no_weight(made_layer *m)
{
    m->inputs.weight = (fp8moe_tensor){0};
}

static void other_hidden(made_layer *m)
{
    m->inputs.hidden_states = fp8moe_tensor_slice(&m->inputs.hidden_states, 1, 0, 7);
}

static void weight_of_experts(made_layer *m)
{
    const int64_t shape[3] = {1, 5, 8};
    m->inputs.weight = fp8moe_tensor_view(m->inputs.weight.data, FP8MOE_DTYPE_F8_E4M3, 3, shape);
}

static void no_scale(made_layer *m)
{
    m->inputs.weight_scale = (fp8moe_tensor){0};
}

static void scale_of_fewer_rows(made_layer *m)
{
    m->inputs.weight_scale = fp8moe_tensor_slice(&m->inputs.weight_scale, 0, 0, 4);
}

static void block_scale(made_layer *m)
{
    static const float grid[4] = {1, 1, 1, 1};
    m->inputs.weight_scale = fp8moe_tensor_view(grid, FP8MOE_DTYPE_F32, 2, (const int64_t[]){2, 2});
}

static void no_input_scale(made_layer *m)
{
    m->inputs.input_scale = (fp8moe_tensor){0};
}

static void input_scale_of_zero(made_layer *m)
{
    *(float *)(uintptr_t)m->inputs.input_scale.data = 0;
}

static void bf16_weight(made_layer *m)
{
    m->inputs.weight =
        fp8moe_tensor_view(m->slow.w13.scale, FP8MOE_DTYPE_BF16, 2, (const int64_t[]){5, 8});
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    expect_refusal(0, no_weight, FP8MOE_ERR_NOT_FOUND, "", "no weight");
    expect_refusal(0, other_hidden, FP8MOE_ERR_SHAPE, "weight", "[5, 8]");
    expect_refusal(0, weight_of_experts, FP8MOE_ERR_SHAPE, "weight", "[1, 5, 8]");
    expect_refusal(0, no_scale, FP8MOE_ERR_NOT_FOUND, "", "no scale");
    expect_refusal(0, scale_of_fewer_rows, FP8MOE_ERR_SHAPE, "weight", "[4]");
    expect_refusal(0, block_scale, FP8MOE_ERR_SHAPE, "", "these are blocks");
    expect_refusal(1, block_scale, FP8MOE_ERR_SHAPE, "", "these are blocks");
    expect_refusal(0, no_input_scale, FP8MOE_ERR_NOT_FOUND, "", "static input scales");
    expect_refusal(0, input_scale_of_zero, FP8MOE_ERR_VALUE, "input_scale", "is 0");
    expect_refusal(1, bf16_weight, FP8MOE_ERR_DTYPE, "", "these are not");
}

static void an_imitated_device_is_near_and_seeded(void **state)
{
    (void)state;
    const made_options o = {
        .seed = 5, .tokens = 6, .hidden = 500, .inter = 30, .local = 1, .layout = MADE_PER_ROW};
    made_layer m;
    made_linear(&m, &o, fp8moe_recipe_find("w8a16-linear"), fp8moe_target_find("ocp"),
                FP8MOE_WEIGHTS_LOADED);
    fp8moe_recipe row = *m.config.recipe;
    assert_int_equal(fp8moe_recipe_set(&row, "up_gate", "f32", NULL), FP8MOE_OK);
    m.config.recipe = m.slow.recipe = &row;
    slow_run_linear(&m.slow);
    double outputs[3][180];
    for (int i = 0; i < 3; i++) {
        m.config.shuffle_sums = true;
        m.config.shuffle_seed = (uint64_t)(i / 2);
        m.config.threads = 1 + i;
        fp8moe_layer *const layer = record_open(&m);
        assert_int_equal(fp8moe_layer_run(layer, NULL, outputs[i], NULL), FP8MOE_OK);
        fp8moe_layer_close(layer);
    }
    int others = 0;
    for (int i = 0; i < 180; i++) {
        assert_true(record_same(outputs[0][i], outputs[1][i]));
        assert_true(fabs(outputs[0][i] - m.slow.output[i]) <= 1e-4 * fabs(m.slow.output[i]) + 1e-5);
        others += !record_same(outputs[0][i], outputs[2][i]);
    }
    assert_true(others > 90);
    made_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_and_open_axis_is_what_its_columns_say),
        cmocka_unit_test(many_tokens_are_run_in_blocks),
        cmocka_unit_test(weights_that_are_no_codes_keep_the_lane_order),
        cmocka_unit_test(codes_and_scale_may_come_from_the_dump),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(an_imitated_device_is_near_and_seeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

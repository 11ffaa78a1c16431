/* The whole forward pass against the slow model, stage by stage and bit for bit: every recipe row
 * and every open axis, every target, weight stage and scale layout, and what is out of the
 * ordinary. */
#include "recorded_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const fp8moe_stage_of_weights stages[] = {FP8MOE_WEIGHTS_CHECKPOINT, FP8MOE_WEIGHTS_LOADED,
                                                 FP8MOE_WEIGHTS_PREPARED};

/* T 0, 1, 3 and more; K 1 and above; E_local 1 and 5; H and I that neither 8 nor 16 nor a block
 * divides; ranks 0 and 1. */
static const made_options shapes[] = {
    {.tokens = 0, .hidden = 16, .inter = 16, .top_k = 2, .experts = 5, .local = 5},
    {.tokens = 1, .hidden = 37, .inter = 21, .top_k = 1, .experts = 1, .local = 1},
    {.tokens = 3, .hidden = 20, .inter = 33, .top_k = 2, .experts = 10, .local = 5, .rank = 1},
    {.tokens = 12, .hidden = 17, .inter = 9, .top_k = 3, .experts = 5, .local = 5},
    {.tokens = 2, .hidden = 1, .inter = 1, .top_k = 1, .experts = 10, .local = 5, .rank = 0},
    {.tokens = 4, .hidden = 35, .inter = 12, .top_k = 5, .experts = 11, .local = 5, .rank = 1},
};

static bool is_block_layout(made_layout layout)
{
    return layout >= MADE_BLOCKS;
}

/* Which weights a recipe takes (numerics.md section 0, column "weights"). */
static bool takes(const fp8moe_recipe *recipe, made_layout layout, fp8moe_stage_of_weights stage)
{
    const bool prepared = stage == FP8MOE_WEIGHTS_PREPARED;
    if (prepared && is_block_layout(layout)) return false;
    switch (recipe->weights) {
    case FP8MOE_FORM_BF16:
        return layout == MADE_NO_SCALE;
    case FP8MOE_FORM_CODES:
        return layout != MADE_NO_SCALE && !is_block_layout(layout);
    case FP8MOE_FORM_DEQUANT:
        return layout != MADE_NO_SCALE && !prepared;
    case FP8MOE_FORM_PREPARED:
        return layout != MADE_NO_SCALE;
    case FP8MOE_FORM_EXACT:
        break;
    }
    return true;
}

/* Codes above 240 are what a checkpoint has; on a device that ends there they are NaN, which is a
 * case of its own. */
static unsigned codes_flag(const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    return target->fp8_max == 240 && stage != FP8MOE_WEIGHTS_CHECKPOINT ? 0 : MADE_ANY_CODE;
}

static const char *describe(const made_layer *m)
{
    static char text[200];
    const made_options *const o = &m->options;
    (void)snprintf(
        text, sizeof text,
        "%s on %s, %s, layout %d, seed %llu, T=%d H=%d I=%d K=%d E=%d/%d flags %#x, %d threads",
        m->config.recipe->name, m->slow.target->name, fp8moe_stage_of_weights_name(m->slow.stage),
        (int)o->layout, (unsigned long long)o->seed, o->tokens, o->hidden, o->inter, o->top_k,
        o->local, o->experts, o->flags, m->config.threads);
    return text;
}

/* The library with one thread and with three, against the model. */
static void check(made_layer *m)
{
    static const int threads[] = {1, 3};
    for (size_t i = 0; i < COUNT(threads); i++) {
        m->config.threads = threads[i];
        fp8moe_layer *const layer = record_open(m);
        record r;
        record_layer(&r, layer, (int64_t)m->slow.tokens * m->slow.hidden);
        record_expect_moe(&r, &m->slow, describe(m));
        record_close(&r);
        fp8moe_layer_close(layer);
    }
}

static void check_made(const made_options *o, const fp8moe_recipe *recipe,
                       const fp8moe_target *target, fp8moe_stage_of_weights stage)
{
    made_layer m;
    made_moe(&m, o, recipe, target, stage);
    slow_run_moe(&m.slow);
    check(&m);
    made_close(&m);
}

/* Counts the cases of a test. Of the larger sets every `stride`-th is run: a prime, so that every
 * target, stage, layout and shape comes up with every kind of data. */
static uint64_t seed, stride;

/* The stages and layouts that a recipe takes, in one shape. */
static void check_weights(made_options o, const fp8moe_recipe *recipe, const fp8moe_target *target)
{
    for (size_t s = 0; s < COUNT(stages); s++)
        for (int layout = MADE_NO_SCALE; layout <= MADE_BLOCKS_THROUGH; layout++) {
            if (!takes(recipe, (made_layout)layout, stages[s]) || ++seed % stride) continue;
            made_options with = o;
            with.layout = (made_layout)layout;
            with.seed = seed;
            with.flags |= codes_flag(target, stages[s]);
            check_made(&with, recipe, target, stages[s]);
        }
}

static void check_targets(const made_options *o, const fp8moe_recipe *recipe)
{
    for (size_t t = 0; fp8moe_target_at(t); t++)
        check_weights(*o, recipe, fp8moe_target_at(t));
}

static void check_shapes(const fp8moe_recipe *recipe, unsigned flags)
{
    for (size_t n = 0; n < COUNT(shapes); n++) {
        made_options o = shapes[n];
        o.flags = flags;
        o.block_rows = n % 2 ? 8 : 5;
        o.block_cols = n % 2 ? 16 : 7;
        check_targets(&o, recipe);
    }
}

static void each_moe_recipe(uint64_t every, void (*check_recipe)(const fp8moe_recipe *recipe))
{
    seed = 0;
    stride = every;
    for (size_t i = 0; fp8moe_recipe_at(i); i++)
        if (fp8moe_recipe_at(i)->op == FP8MOE_OP_MOE) check_recipe(fp8moe_recipe_at(i));
}

/* ---- every row ---- */

static void check_plain(const fp8moe_recipe *recipe)
{
    check_shapes(recipe, 0);
    check_shapes(recipe, MADE_FOREIGN | MADE_DUPLICATES | MADE_BF16_WEIGHTS | MADE_ZERO_TOKEN);
}

static void every_row_is_what_its_columns_say(void **state)
{
    (void)state;
    each_moe_recipe(2, check_plain);
}

/* An axis is the row with some columns changed. */
static void check_axes(const fp8moe_recipe *recipe)
{
    for (int a = 0; a < FP8MOE_MAX_AXES && recipe->axes[a].name; a++) {
        fp8moe_recipe changed = *recipe;
        assert_int_equal(fp8moe_recipe_apply(&changed, recipe->axes[a].settings, NULL), FP8MOE_OK);
        check_shapes(&changed, MADE_FOREIGN | MADE_DUPLICATES);
    }
}

static void every_open_axis_is_what_its_columns_say(void **state)
{
    (void)state;
    each_moe_recipe(3, check_axes);
}

/* ---- out of the ordinary ---- */

static void check_f32_input(const fp8moe_recipe *recipe)
{
    check_shapes(recipe, MADE_F32_INPUT | MADE_FOREIGN | MADE_ZERO_TOKEN);
}

static void f32_hidden_states_are_quantised_in_f32(void **state)
{
    (void)state;
    each_moe_recipe(3, check_f32_input);
}

static void check_nonfinite(const fp8moe_recipe *recipe)
{
    static const unsigned flags[] = {
        MADE_BAD_TOKENS,
        MADE_BAD_TOKENS | MADE_FOREIGN,
        MADE_NAN_CODE,
        MADE_NAN_SCALE | MADE_FOREIGN,
        MADE_INF_SCALE | MADE_ZERO_WEIGHTS,
        MADE_HUGE | MADE_FOREIGN,
        MADE_BAD_TOKENS | MADE_F32_INPUT,
        MADE_NAN_CODE | MADE_NAN_SCALE | MADE_ZERO_WEIGHTS | MADE_FOREIGN,
        MADE_NAN_CODE | MADE_CANCELLING | MADE_ZERO_WEIGHTS,
        MADE_NAN_SCALE | MADE_CANCELLING | MADE_DUPLICATES | MADE_FOREIGN};
    for (size_t i = 0; i < COUNT(flags); i++)
        check_shapes(recipe, flags[i]);
}

static void what_is_not_finite_goes_where_the_arithmetic_takes_it(void **state)
{
    (void)state;
    each_moe_recipe(11, check_nonfinite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_what_its_columns_say),
        cmocka_unit_test(every_open_axis_is_what_its_columns_say),
        cmocka_unit_test(f32_hidden_states_are_quantised_in_f32),
        cmocka_unit_test(what_is_not_finite_goes_where_the_arithmetic_takes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

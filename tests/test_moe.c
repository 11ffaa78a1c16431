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

/* Counts the cases of a test. Of the larger sets every `stride`-th is run: a prime, so that every
 * target, stage, layout and shape comes up with every kind of data. */
static uint64_t seed, stride;

/* Ways to compute that may not change a bit. Threads are dear under an emulator: a case in 16
 * starts some, again with every kind of everything. */
static const struct {
    int threads;
    const char *isa;
    bool use_blas;
    uint64_t every;
} ways[] = {{1, NULL, true, 1}, {1, "portable", false, 1}, {3, NULL, false, 16}};

static void check(made_layer *m)
{
    for (size_t i = 0; i < COUNT(ways); i++) {
        if (seed % ways[i].every) continue;
        m->config.threads = ways[i].threads;
        m->config.isa = ways[i].isa;
        m->config.use_blas = ways[i].use_blas;
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
    check_shapes(recipe, MADE_REPLICATED | MADE_FOREIGN);
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

/* ---- roundings that random numbers seldom show ---- */

/* A scale that bf16(9/8 * scale) and bf16(f32(9/8 * scale)) round to different numbers. */
static float scale_rounded_twice(void)
{
    for (uint32_t bits = 0x3C000001;; bits++) {
        float scale;
        memcpy(&scale, &bits, sizeof scale);
        const double product = 1.125 * (double)scale;
        if (slow_bf16_of(product) != slow_bf16_of(slow_f32_of(product))) return scale;
    }
}

static void check_w2_scale(fp8moe_recipe *recipe)
{
    const float scale = scale_rounded_twice();
    made_options o = shapes[3];
    o.layout = MADE_PER_LAYER;
    made_layer m;
    made_moe(&m, &o, recipe, fp8moe_target_find("ocp"), FP8MOE_WEIGHTS_LOADED);
    const int64_t count = (int64_t)o.local * o.hidden * o.inter;
    for (int64_t i = 0; i < count; i++)
        ((double *)(uintptr_t)m.slow.w2.scale)[i] = (double)scale;
    memset((void *)(uintptr_t)m.inputs.w2_weight.data, 0x39, (size_t)count);
    memset((void *)(uintptr_t)m.slow.w2.codes, 0x39, (size_t)count);
    m.inputs.w2_scale = fp8moe_tensor_view(&scale, FP8MOE_DTYPE_F32, 0, NULL);
    slow_run_moe(&m.slow);
    check(&m);
    made_close(&m);
}

static void scaled_weights_are_rounded_once_to_bf16_and_twice_to_what_f32_matmuls_read(void **state)
{
    (void)state;
    static const char *const forms[] = {"down_operand=scaled-bf16", "down_operand=scaled-bf16x3",
                                        "down_operand=scaled-tf32", "down_operand=scaled-f32"};
    for (size_t i = 0; i < COUNT(forms); i++) {
        fp8moe_recipe recipe = *fp8moe_recipe_find("gather");
        assert_int_equal(fp8moe_recipe_apply(&recipe, forms[i], NULL), FP8MOE_OK);
        check_w2_scale(&recipe);
    }
}

/* A doubled f32 scale beyond the range of f32 is Inf, whatever it is multiplied by. */
static void a_doubled_scale_is_an_f32(void **state)
{
    (void)state;
    static const char *const recipes[] = {"gather", "stock", "static-moe"};
    const float scale = 0x1.8p127F;
    for (size_t i = 0; i < COUNT(recipes); i++) {
        made_options o = shapes[3];
        o.layout = MADE_PER_LAYER;
        made_layer m;
        made_moe(&m, &o, fp8moe_recipe_find(recipes[i]), fp8moe_target_find("gaudi2"),
                 FP8MOE_WEIGHTS_CHECKPOINT);
        const int64_t count = (int64_t)o.local * 2 * o.inter * o.hidden;
        for (int64_t n = 0; n < count; n++)
            ((double *)(uintptr_t)m.slow.w13.scale)[n] = (double)scale;
        m.inputs.w13_scale = fp8moe_tensor_view(&scale, FP8MOE_DTYPE_F32, 0, NULL);
        slow_run_moe(&m.slow);
        check(&m);
        made_close(&m);
    }
}

/* ---- stages taken from a dump ---- */

/* Something near what was computed, of a wider dtype than the stage's: numbers are rounded to it.
 */
static fp8moe_tensor changed_numbers(made_layer *m, fp8moe_stage stage, const double *computed,
                                     fp8moe_dtype dtype, int rank, const int64_t *shape)
{
    const fp8moe_tensor counted = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_F64, rank, shape);
    const int64_t count = fp8moe_tensor_count(&counted);
    double *const wide = made_room(m, count, sizeof *wide), *const taken =
                                                                made_room(m, count, sizeof *taken);
    const fp8moe_precision precision = dtype == FP8MOE_DTYPE_BF16  ? FP8MOE_ROUND_BF16
                                       : dtype == FP8MOE_DTYPE_F32 ? FP8MOE_ROUND_F32
                                                                   : FP8MOE_ROUND_F64;
    for (int64_t i = 0; i < count; i++) {
        wide[i] = computed[i] * (1.1 + 0.1 * made_number(m));
        taken[i] = slow_to(precision, wide[i]);
    }
    m->slow.from[stage] = taken;
    return fp8moe_tensor_view(wide, FP8MOE_DTYPE_F64, rank, shape);
}

static fp8moe_tensor changed_codes(made_layer *m, fp8moe_stage stage, const uint8_t *computed,
                                   int rank, const int64_t *shape)
{
    const fp8moe_tensor counted = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_U8, rank, shape);
    const int64_t count = fp8moe_tensor_count(&counted);
    uint8_t *const codes = made_room(m, count, 1);
    for (int64_t i = 0; i < count; i++)
        codes[i] = computed[i] ? computed[i] ^ 1 : 0;
    m->slow.from[stage] = codes;
    return fp8moe_tensor_view(codes, FP8MOE_DTYPE_U8, rank, shape);
}

/* A tensor for `stage` made from the model's last run; also the model's own. */
static fp8moe_tensor changed_stage(made_layer *m, fp8moe_stage stage)
{
    slow_layer *const s = &m->slow;
    const fp8moe_recipe *const r = s->recipe;
    const int64_t t = s->tokens, k = s->top_k, i = s->inter, h = s->hidden;
    const fp8moe_dtype f32 = FP8MOE_DTYPE_F32;
    switch (stage) {
    case FP8MOE_STAGE_X_CODES:
        return changed_codes(m, stage, s->x_codes, 2, (const int64_t[]){t, h});
    case FP8MOE_STAGE_X_SCALE:
        return changed_numbers(m, stage, s->x_scale, f32, 2, (const int64_t[]){t, 1});
    case FP8MOE_STAGE_UP_GATE:
        return changed_numbers(m, stage, s->up_gate, record_dtype(r->up_gate), 3,
                               (const int64_t[]){t, k, 2 * i});
    case FP8MOE_STAGE_ACTIVATION:
        return changed_numbers(m, stage, s->activation, record_dtype(r->product), 3,
                               (const int64_t[]){t, k, i});
    case FP8MOE_STAGE_ACT_CODES:
        return changed_codes(m, stage, s->act_codes, 3, (const int64_t[]){t, k, i});
    case FP8MOE_STAGE_ACT_SCALE:
        return changed_numbers(m, stage, s->act_scale, f32, 3, (const int64_t[]){t, k, 1});
    default:
        break;
    }
    assert_int_equal(stage, FP8MOE_STAGE_EXPERT_OUTPUT);
    return changed_numbers(m, stage, s->expert_output, record_dtype(r->down_out), 3,
                           (const int64_t[]){t, k, h});
}

static bool has_stage(const fp8moe_recipe *r, fp8moe_stage stage)
{
    if (stage == FP8MOE_STAGE_X_CODES || stage == FP8MOE_STAGE_X_SCALE)
        return r->input != FP8MOE_INPUT_AS_IS;
    if (stage == FP8MOE_STAGE_ACT_CODES || stage == FP8MOE_STAGE_ACT_SCALE)
        return r->intermediate != FP8MOE_INTERMEDIATE_KEPT;
    return stage != FP8MOE_STAGE_OUTPUT;
}

static void check_from(const fp8moe_recipe *recipe, fp8moe_stage stage, const made_options *o)
{
    made_layer m;
    made_moe(&m, o, recipe, fp8moe_target_find("gaudi2"), FP8MOE_WEIGHTS_LOADED);
    slow_run_moe(&m.slow);
    const fp8moe_tensor tensor = changed_stage(&m, stage);
    slow_close(&m.slow);
    slow_run_moe(&m.slow);
    fp8moe_layer *const layer = record_open(&m);
    fp8moe_error err;
    if (fp8moe_layer_from(layer, stage, &tensor, &err) != FP8MOE_OK) fail_msg("%s", err.message);
    record r;
    record_layer(&r, layer, (int64_t)o->tokens * o->hidden);
    record_expect_moe(&r, &m.slow, describe(&m));
    record_close(&r);
    fp8moe_layer_close(layer);
    made_close(&m);
}

static void check_every_from(const fp8moe_recipe *recipe)
{
    static const fp8moe_stage all[] = {FP8MOE_STAGE_X_CODES,      FP8MOE_STAGE_X_SCALE,
                                       FP8MOE_STAGE_UP_GATE,      FP8MOE_STAGE_ACTIVATION,
                                       FP8MOE_STAGE_ACT_CODES,    FP8MOE_STAGE_ACT_SCALE,
                                       FP8MOE_STAGE_EXPERT_OUTPUT};
    for (size_t i = 0; i < COUNT(all); i++) {
        if (!has_stage(recipe, all[i])) continue;
        made_options o = shapes[2 + i % 2];
        o.layout = recipe->weights == FP8MOE_FORM_BF16 ? MADE_NO_SCALE : MADE_PER_ROW;
        o.seed = ++seed;
        o.flags = MADE_FOREIGN;
        /* Twins of which the dump says different things stay apart, where each is added. */
        if (recipe->pairs == FP8MOE_PAIRS_ROUTED || recipe->pairs == FP8MOE_PAIRS_ALL)
            o.flags |= MADE_DUPLICATES;
        check_from(recipe, all[i], &o);
    }
}

static void a_stage_of_the_dump_stands_for_the_computed_one(void **state)
{
    (void)state;
    each_moe_recipe(1, check_every_from);
}

static void routing_of_the_dump_stands_for_the_computed_one(void **state)
{
    (void)state;
    made_options o = shapes[3];
    o.layout = MADE_PER_ROW;
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("gather"), fp8moe_target_find("gaudi2"),
             FP8MOE_WEIGHTS_LOADED);
    int32_t ids[36];
    int64_t wide[36];
    double weights[36];
    for (int i = 0; i < 36; i++) {
        wide[i] = ids[i] = i % 6 - 1;
        weights[i] = slow_f32_of(1.0 / (3 + i));
    }
    m.slow.ids = wide;
    m.slow.weights = weights;
    slow_run_moe(&m.slow);
    const int64_t shape[2] = {12, 3};
    const fp8moe_tensor of_ids = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I32, 2, shape);
    const fp8moe_tensor of_weights = fp8moe_tensor_view(weights, FP8MOE_DTYPE_F64, 2, shape);
    fp8moe_layer *const layer = record_open(&m);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_TOPK_IDS, &of_ids, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_TOPK_WEIGHTS, &of_weights, NULL),
                     FP8MOE_OK);
    record r;
    record_layer(&r, layer, 12 * 17);
    record_expect_moe(&r, &m.slow, "ids and weights of the dump");
    record_close(&r);
    fp8moe_layer_close(layer);
    made_close(&m);
}

/* An input scale of the dump may carry an expert out of range that no token was routed to. */
static void a_dumps_scale_may_overflow_padding_experts(void **state)
{
    (void)state;
    made_options o = {.seed = 3,
                      .tokens = 2,
                      .hidden = 17,
                      .inter = 9,
                      .top_k = 2,
                      .experts = 4,
                      .local = 4,
                      .layout = MADE_PER_EXPERT,
                      .flags = MADE_DUPLICATES};
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("gather"), fp8moe_target_find("gaudi3"),
             FP8MOE_WEIGHTS_LOADED);
    for (int i = 0; i < 4; i++)
        ((int64_t *)(uintptr_t)m.slow.ids)[i] = 3;
    double scale[2] = {1, 0x1p120};
    m.slow.from[FP8MOE_STAGE_X_SCALE] = scale;
    slow_run_moe(&m.slow);
    assert_true(m.slow.padding_leaks > 0 || isnan(m.slow.output[17]));
    const int64_t shape[2] = {2, 1};
    const fp8moe_tensor tensor = fp8moe_tensor_view(scale, FP8MOE_DTYPE_F64, 2, shape);
    fp8moe_layer *const layer = record_open(&m);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_X_SCALE, &tensor, NULL), FP8MOE_OK);
    record r;
    record_layer(&r, layer, 34);
    record_expect_moe(&r, &m.slow, "x_scale of the dump");
    record_close(&r);
    fp8moe_layer_close(layer);
    made_close(&m);
}

static void what_no_stage_is_cannot_stand_for_one(void **state)
{
    (void)state;
    static const uint8_t bytes[4096];
    static const struct {
        const char *why, *recipe;
        fp8moe_stage stage;
        fp8moe_dtype dtype;
        int rank;
        int64_t shape[3];
        fp8moe_status status;
        const char *words;
    } rows[] = {
        {"the output itself",
         "stock",
         FP8MOE_STAGE_OUTPUT,
         FP8MOE_DTYPE_F32,
         2,
         {2, 17},
         FP8MOE_ERR_USAGE,
         "no stage 'output'"},
        {"codes where none are",
         "dequant",
         FP8MOE_STAGE_X_CODES,
         FP8MOE_DTYPE_U8,
         2,
         {2, 17},
         FP8MOE_ERR_USAGE,
         "no stage 'x_codes'"},
        {"a kept intermediate's codes",
         "gather",
         FP8MOE_STAGE_ACT_CODES,
         FP8MOE_DTYPE_U8,
         3,
         {2, 2, 9},
         FP8MOE_ERR_USAGE,
         "no stage 'act_codes'"},
        {"codes as numbers",
         "stock",
         FP8MOE_STAGE_X_CODES,
         FP8MOE_DTYPE_F32,
         2,
         {2, 17},
         FP8MOE_ERR_DTYPE,
         "F32"},
        {"codes of another format",
         "stock",
         FP8MOE_STAGE_X_CODES,
         FP8MOE_DTYPE_F8_E4M3FNUZ,
         2,
         {2, 17},
         FP8MOE_ERR_DTYPE,
         "FNUZ"},
        {"numbers as codes",
         "stock",
         FP8MOE_STAGE_UP_GATE,
         FP8MOE_DTYPE_F8_E4M3,
         3,
         {2, 2, 18},
         FP8MOE_ERR_DTYPE,
         "BF16"},
        {"numbers as integers",
         "stock",
         FP8MOE_STAGE_X_SCALE,
         FP8MOE_DTYPE_I32,
         2,
         {2, 1},
         FP8MOE_ERR_DTYPE,
         "I32"},
        {"ids as numbers",
         "stock",
         FP8MOE_STAGE_TOPK_IDS,
         FP8MOE_DTYPE_F32,
         2,
         {2, 2},
         FP8MOE_ERR_DTYPE,
         "I64"},
        {"a token too many",
         "stock",
         FP8MOE_STAGE_X_CODES,
         FP8MOE_DTYPE_U8,
         2,
         {3, 17},
         FP8MOE_ERR_SHAPE,
         "[3, 17]"},
        {"sides swapped",
         "stock",
         FP8MOE_STAGE_X_CODES,
         FP8MOE_DTYPE_U8,
         2,
         {17, 2},
         FP8MOE_ERR_SHAPE,
         "[17, 2]"},
        {"one expert too few",
         "stock",
         FP8MOE_STAGE_ACTIVATION,
         FP8MOE_DTYPE_F32,
         3,
         {2, 1, 9},
         FP8MOE_ERR_SHAPE,
         "[2, 2, 9]"},
        {"gate alone",
         "stock",
         FP8MOE_STAGE_UP_GATE,
         FP8MOE_DTYPE_F32,
         3,
         {2, 2, 9},
         FP8MOE_ERR_SHAPE,
         "[2, 2, 18]"},
        {"flat",
         "stock",
         FP8MOE_STAGE_ACTIVATION,
         FP8MOE_DTYPE_F32,
         1,
         {36},
         FP8MOE_ERR_SHAPE,
         "[36]"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const made_options o = {.seed = 1,
                                .tokens = 2,
                                .hidden = 17,
                                .inter = 9,
                                .top_k = 2,
                                .experts = 3,
                                .local = 3,
                                .layout = MADE_PER_ROW};
        made_layer m;
        fp8moe_error err;
        made_moe(&m, &o, fp8moe_recipe_find(rows[i].recipe), fp8moe_target_find("gaudi3"),
                 FP8MOE_WEIGHTS_LOADED);
        fp8moe_layer *const layer = record_open(&m);
        const fp8moe_tensor t =
            fp8moe_tensor_view(bytes, rows[i].dtype, rows[i].rank, rows[i].shape);
        assert_int_equal(fp8moe_layer_from(layer, rows[i].stage, &t, &err), rows[i].status);
        assert_string_equal(err.tensor, fp8moe_stage_name(rows[i].stage));
        if (!strstr(err.message, rows[i].words)) fail_msg("%s: %s", rows[i].why, err.message);
        fp8moe_layer_close(layer);
        made_close(&m);
    }
}

static void an_id_of_the_dump_outside_the_model_is_refused(void **state)
{
    (void)state;
    const made_options o = {.seed = 1,
                            .tokens = 2,
                            .hidden = 17,
                            .inter = 9,
                            .top_k = 2,
                            .experts = 3,
                            .local = 3,
                            .layout = MADE_PER_ROW};
    made_layer m;
    fp8moe_error err;
    made_moe(&m, &o, fp8moe_recipe_find("stock"), fp8moe_target_find("gaudi3"),
             FP8MOE_WEIGHTS_LOADED);
    fp8moe_layer *const layer = record_open(&m);
    const int64_t ids[4] = {0, -1, 2, 3}, shape[2] = {2, 2};
    const fp8moe_tensor t = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, shape);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_TOPK_IDS, &t, &err), FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "token 1, slot 1: id 3"));
    fp8moe_layer_close(layer);
    made_close(&m);
}

static void stages_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"x_codes",       "x_scale",    "topk_ids",  "topk_weights",
                                        "up_gate",       "activation", "act_codes", "act_scale",
                                        "expert_output", "output"};
    assert_int_equal(COUNT(names), FP8MOE_STAGE_COUNT);
    for (int i = 0; i < FP8MOE_STAGE_COUNT; i++) {
        assert_string_equal(fp8moe_stage_name((fp8moe_stage)i), names[i]);
        assert_int_equal(fp8moe_stage_find(names[i]), i);
    }
    assert_int_equal(fp8moe_stage_find("outputs"), FP8MOE_STAGE_COUNT);
    assert_int_equal(fp8moe_stage_find(""), FP8MOE_STAGE_COUNT);
}

/* ---- routing done here ---- */

static void logits_are_routed_in_f32_and_rounded_by_the_recipe(void **state)
{
    (void)state;
    static const char *const recipes[] = {"gather", "bf16", "exact"};
    for (size_t n = 0; n < COUNT(recipes); n++) {
        made_options o = shapes[5];
        o.layout = n == 0 ? MADE_PER_ROW : MADE_NO_SCALE;
        made_layer m;
        made_moe(&m, &o, fp8moe_recipe_find(recipes[n]), fp8moe_target_find("gaudi3"),
                 FP8MOE_WEIGHTS_LOADED);
        double logits[4 * 11], weights[4 * 5], scratch[33];
        int64_t ids[4 * 5];
        fp8moe_routing routing = m.config.routing;
        routing.top_k = m.config.routing.top_k = 5;
        routing.weight_round = FP8MOE_ROUND_F32;
        for (int i = 0; i < 44; i++)
            logits[i] = slow_bf16_of(3 * made_number(&m));
        for (int t = 0; t < 4; t++)
            fp8moe_route_token(&routing, logits + 11 * t, 11, ids + 5 * t, weights + 5 * t,
                               scratch);
        m.slow.ids = ids;
        m.slow.weights = weights;
        m.inputs.topk_ids = m.inputs.topk_weights = (fp8moe_tensor){0};
        m.inputs.router_logits =
            made_tensor(&m, FP8MOE_DTYPE_BF16, logits, 2, (const int64_t[]){4, 11});
        slow_run_moe(&m.slow);
        check(&m);
        made_close(&m);
    }
}

/* The dump's routing counts where it has both. */
static void ids_of_the_dump_win_over_logits(void **state)
{
    (void)state;
    made_options o = shapes[3];
    o.layout = MADE_PER_ROW;
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("gather"), fp8moe_target_find("gaudi3"),
             FP8MOE_WEIGHTS_LOADED);
    const double logits[60] = {0};
    m.inputs.router_logits = made_tensor(&m, FP8MOE_DTYPE_F32, logits, 2, (const int64_t[]){12, 5});
    slow_run_moe(&m.slow);
    check(&m);
    made_close(&m);
}

/* ---- blocks of tokens ---- */

/* K = 64 makes a token heavy; all but a few slots are foreign, so that the model keeps up. */
static made_layer made_many_tokens(const char *recipe)
{
    const made_options o = {.seed = 5,
                            .tokens = 700,
                            .hidden = 65,
                            .inter = 66,
                            .top_k = 64,
                            .experts = 200,
                            .local = 3,
                            .rank = 1,
                            .layout = MADE_PER_ROW,
                            .flags = MADE_FOREIGN | MADE_NAN_CODE | MADE_DUPLICATES};
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find(recipe), fp8moe_target_find("gaudi2"),
             FP8MOE_WEIGHTS_LOADED);
    int64_t *const ids = (int64_t *)(uintptr_t)m.slow.ids;
    for (int64_t slot = 0; slot < 700 * 64; slot++)
        if (slot % 64 >= 2 || made_below(&m, 50) == 0)
            ids[slot] = slot % 3 ? -1 : 7;
        else
            ids[slot] = 3 + made_below(&m, 2);
    return m;
}

static void many_tokens_are_run_in_blocks(void **state)
{
    (void)state;
    static const char *const recipes[] = {"gather", "stock", "dense"};
    for (size_t i = 0; i < COUNT(recipes); i++) {
        made_layer m = made_many_tokens(recipes[i]);
        slow_run_moe(&m.slow);
        for (int threads = 1; threads <= 3; threads += 2) {
            m.config.threads = threads;
            fp8moe_layer *const layer = record_open(&m);
            record r;
            record_layer(&r, layer, 700 * 65);
            assert_true(r.blocks >= 3);
            record_expect_moe(&r, &m.slow, describe(&m));
            record_close(&r);
            fp8moe_layer_close(layer);
        }
        made_close(&m);
    }
}

/* ---- runs ---- */

typedef struct stopper {
    fp8moe_stage at;
    int64_t calls;
} stopper;

static fp8moe_status stop(void *user, fp8moe_stage stage, int64_t first_token,
                          const fp8moe_tensor *rows, const fp8moe_tensor *total, fp8moe_error *err)
{
    stopper *const s = user;
    (void)first_token;
    (void)rows;
    (void)total;
    s->calls++;
    if (stage != s->at) return FP8MOE_OK;
    err->status = FP8MOE_ERR_IO;
    return FP8MOE_ERR_IO;
}

static void an_observer_may_stop_a_run(void **state)
{
    (void)state;
    made_options o = shapes[3];
    o.layout = MADE_PER_ROW;
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("stock"), fp8moe_target_find("gaudi3"),
             FP8MOE_WEIGHTS_LOADED);
    fp8moe_layer *const layer = record_open(&m);
    for (int at = 0; at < FP8MOE_STAGE_COUNT; at++) {
        stopper s = {(fp8moe_stage)at, 0};
        fp8moe_error err;
        assert_int_equal(fp8moe_layer_run(layer, &(fp8moe_observer){stop, &s}, NULL, &err),
                         FP8MOE_ERR_IO);
        assert_int_equal(s.calls, at + 1);
    }
    fp8moe_layer_close(layer);
    made_close(&m);
}

static void a_second_run_is_the_first_again(void **state)
{
    (void)state;
    made_options o = shapes[5];
    o.layout = MADE_PER_ROW;
    o.flags = MADE_FOREIGN | MADE_NAN_SCALE;
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("gather"), fp8moe_target_find("gaudi2"),
             FP8MOE_WEIGHTS_LOADED);
    slow_run_moe(&m.slow);
    fp8moe_layer *const layer = record_open(&m);
    for (int i = 0; i < 2; i++) {
        record r;
        record_layer(&r, layer, 4 * 35);
        record_expect_moe(&r, &m.slow, i ? "second run" : "first run");
        record_close(&r);
        assert_int_equal(fp8moe_layer_run(layer, NULL, NULL, NULL), FP8MOE_OK);
    }
    fp8moe_layer_close(layer);
    made_close(&m);
}

/* ---- an imitated device ---- */

static double *noisy_output(made_layer *m, uint64_t noise, int threads, double rate)
{
    m->config.shuffle_sums = true;
    m->config.shuffle_seed = noise;
    m->config.silu_step_rate = rate;
    m->config.threads = threads;
    double *const output = slow_room((int64_t)m->slow.tokens * m->slow.hidden);
    fp8moe_layer *const layer = record_open(m);
    assert_int_equal(fp8moe_layer_run(layer, NULL, output, NULL), FP8MOE_OK);
    fp8moe_layer_close(layer);
    return output;
}

static int64_t count_differences(const double *a, const double *b, int64_t count)
{
    int64_t differ = 0;
    for (int64_t i = 0; i < count; i++)
        differ += !record_same(a[i], b[i]);
    return differ;
}

/* Random sums stay near the reference, are the same for the same seed on any number of threads, and
 * another for another seed. */
static void an_imitated_device_is_near_repeatable_and_seeded(void **state)
{
    (void)state;
    const made_options o = {.seed = 9,
                            .tokens = 8,
                            .hidden = 300,
                            .inter = 200,
                            .top_k = 2,
                            .experts = 3,
                            .local = 3,
                            .layout = MADE_NO_SCALE,
                            .flags = MADE_F32_INPUT};
    made_layer m;
    made_moe(&m, &o, fp8moe_recipe_find("dequant"), fp8moe_target_find("ocp"),
             FP8MOE_WEIGHTS_LOADED);
    fp8moe_recipe row = *fp8moe_recipe_find("bf16");
    assert_int_equal(
        fp8moe_recipe_apply(&row, "up_gate=f32 silu=f32 product=f32 slot_round=f32", NULL),
        FP8MOE_OK);
    m.config.recipe = m.slow.recipe = &row;
    slow_run_moe(&m.slow);
    double *const once = noisy_output(&m, 1, 1, 0), *const again = noisy_output(&m, 1, 3, 0);
    double *const other = noisy_output(&m, 2, 1, 0), *const stepped = noisy_output(&m, 1, 1, 0.5);
    const int64_t count = 8 * 300;
    assert_int_equal(count_differences(once, again, count), 0);
    assert_true(count_differences(once, other, count) > count / 2);
    assert_true(count_differences(once, m.slow.output, count) > count / 2);
    assert_true(count_differences(once, stepped, count) > count / 2);
    for (int64_t i = 0; i < count; i++) {
        assert_true(fabs(once[i] - m.slow.output[i]) < 1e-4);
        assert_true(fabs(stepped[i] - m.slow.output[i]) < 1e-4);
    }
    free(once);
    free(again);
    free(other);
    free(stepped);
    made_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_what_its_columns_say),
        cmocka_unit_test(every_open_axis_is_what_its_columns_say),
        cmocka_unit_test(f32_hidden_states_are_quantised_in_f32),
        cmocka_unit_test(what_is_not_finite_goes_where_the_arithmetic_takes_it),
        cmocka_unit_test(
            scaled_weights_are_rounded_once_to_bf16_and_twice_to_what_f32_matmuls_read),
        cmocka_unit_test(a_doubled_scale_is_an_f32),
        cmocka_unit_test(a_stage_of_the_dump_stands_for_the_computed_one),
        cmocka_unit_test(routing_of_the_dump_stands_for_the_computed_one),
        cmocka_unit_test(a_dumps_scale_may_overflow_padding_experts),
        cmocka_unit_test(what_no_stage_is_cannot_stand_for_one),
        cmocka_unit_test(an_id_of_the_dump_outside_the_model_is_refused),
        cmocka_unit_test(stages_have_names),
        cmocka_unit_test(logits_are_routed_in_f32_and_rounded_by_the_recipe),
        cmocka_unit_test(ids_of_the_dump_win_over_logits),
        cmocka_unit_test(many_tokens_are_run_in_blocks),
        cmocka_unit_test(an_observer_may_stop_a_run),
        cmocka_unit_test(a_second_run_is_the_first_again),
        cmocka_unit_test(an_imitated_device_is_near_repeatable_and_seeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Opening a layer: every refusal with its status and its place, what is inferred and when it is
 * asked for, and every spelling of the same weights. */
#include "recorded_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

/* T=3, H=20, I=12, K=2, the first 4 of 8 experts; one scale a row. */
static const made_options plain = {.seed = 7,
                                   .tokens = 3,
                                   .hidden = 20,
                                   .inter = 12,
                                   .top_k = 2,
                                   .experts = 8,
                                   .local = 4,
                                   .layout = MADE_PER_ROW,
                                   .block_rows = 8,
                                   .block_cols = 16,
                                   .flags = MADE_FOREIGN};

static made_layer made(const char *recipe, const char *target, fp8moe_stage_of_weights stage,
                       made_options options)
{
    made_layer m;
    made_moe(&m, &options, fp8moe_recipe_find(recipe), fp8moe_target_find(target), stage);
    return m;
}

static made_layer made_plain(void)
{
    return made("stock", "gaudi3", FP8MOE_WEIGHTS_LOADED, plain);
}

/* The sentence must name what is wrong. */
static void expect_refusal(const made_layer *m, fp8moe_status status, const char *tensor,
                           const char *words, const char *why)
{
    fp8moe_layer *layer = (fp8moe_layer *)(uintptr_t)1;
    fp8moe_error err;
    const fp8moe_status got = fp8moe_layer_open(&m->config, &m->inputs, &layer, &err);
    if (got == FP8MOE_OK) fail_msg("%s: opened", why);
    assert_null(layer);
    if (got != status || err.status != status || strcmp(err.tensor, tensor) != 0 ||
        !strstr(err.message, words))
        fail_msg("%s: %s, tensor '%s': %s", why, fp8moe_status_name(got), err.tensor, err.message);
    assert_int_equal(fp8moe_layer_open(&m->config, &m->inputs, &layer, NULL), status);
}

/* ---- one thing wrong at a time ---- */

typedef struct refusal {
    const char *why;
    void (*spoil)(made_layer *m);
    fp8moe_status status;
    const char *tensor, *words;
} refusal;

static const int64_t many_ids[64];
static const float many_floats[4096];
static const uint8_t many_codes[200000];

static fp8moe_tensor floats(int rank, const int64_t *shape)
{
    return fp8moe_tensor_view(many_floats, FP8MOE_DTYPE_F32, rank, shape);
}

static fp8moe_tensor codes(int rank, const int64_t *shape)
{
    return fp8moe_tensor_view(many_codes, FP8MOE_DTYPE_F8_E4M3, rank, shape);
}

#define SPOIL(name, ...)                                                                           \
    static void name(made_layer *m)                                                                \
    {                                                                                              \
        fp8moe_config *const c = &m->config;                                                       \
        fp8moe_inputs *const in = &m->inputs;                                                      \
        (void)c;                                                                                   \
        (void)in;                                                                                  \
        __VA_ARGS__;                                                                               \
    }

/* settings */
SPOIL(unknown_isa, c->isa = "avx1024")
SPOIL(no_threads, c->threads = 0)
SPOIL(no_block_rows, c->block_rows = 0)
SPOIL(no_block_cols, c->block_cols = -1)

/* hidden_states */
SPOIL(no_input, in->hidden_states = (fp8moe_tensor){0})
SPOIL(input_of_codes, in->hidden_states = codes(2, SHAPE(3, 20)))
SPOIL(input_of_f64, in->hidden_states.dtype = FP8MOE_DTYPE_F64)
SPOIL(input_without_columns, in->hidden_states = floats(2, SHAPE(3, 0)))
SPOIL(input_too_wide, in->hidden_states = codes(2, SHAPE(1, 131073));
      in->hidden_states.dtype = FP8MOE_DTYPE_BF16)
SPOIL(input_with_gaps, in->hidden_states = floats(3, SHAPE(3, 1, 20));
      in->hidden_states = floats(3, SHAPE(3, 2, 20)); in->hidden_states.stride[0] = 50)

/* weights */
SPOIL(no_w13, in->w13_weight = (fp8moe_tensor){0})
SPOIL(no_w2, in->w2_weight = (fp8moe_tensor){0})
SPOIL(w13_of_one_expert, in->w13_weight = fp8moe_tensor_at(&in->w13_weight, 0))
SPOIL(w2_of_fewer_experts, in->w2_weight = fp8moe_tensor_slice(&in->w2_weight, 0, 0, 3))
SPOIL(weights_without_dimensions, in->w13_weight = in->w2_weight = codes(0, NULL))
SPOIL(weights_of_four_dimensions, in->w13_weight = in->w2_weight = codes(4, SHAPE(4, 1, 1, 1)))
SPOIL(no_experts, in->w13_weight = codes(3, SHAPE(0, 24, 20));
      in->w2_weight = codes(3, SHAPE(0, 20, 12)))
SPOIL(odd_w13, in->w13_weight = codes(3, SHAPE(4, 23, 20)))
SPOIL(w13_of_other_inter, in->w13_weight = codes(3, SHAPE(4, 26, 20)))
SPOIL(w13_of_other_hidden, in->w13_weight = codes(3, SHAPE(4, 24, 21)))
SPOIL(w2_of_other_hidden, in->w2_weight = codes(3, SHAPE(4, 21, 12)))
SPOIL(no_inter, in->w13_weight = codes(3, SHAPE(4, 0, 20));
      in->w2_weight = codes(3, SHAPE(4, 20, 0)); in->w13_scale = in->w2_scale = floats(0, NULL))
SPOIL(too_much_inter, in->hidden_states = floats(2, SHAPE(3, 1));
      in->w13_weight = codes(2, SHAPE(262146, 1)); in->w2_weight = codes(2, SHAPE(1, 131073));
      in->w13_scale = in->w2_scale = floats(0, NULL))
SPOIL(w13_of_u8, in->w13_weight.dtype = FP8MOE_DTYPE_U8)
SPOIL(w2_of_fnuz, in->w2_weight.dtype = FP8MOE_DTYPE_F8_E4M3FNUZ)

/* scales */
SPOIL(scale_of_i32, in->w13_scale.dtype = FP8MOE_DTYPE_I32)
SPOIL(scale_of_f64, in->w2_scale.dtype = FP8MOE_DTYPE_F64)
SPOIL(scale_of_fewer_experts, in->w13_scale = fp8moe_tensor_slice(&in->w13_scale, 0, 0, 3))
SPOIL(scale_of_half_the_rows, in->w13_scale = floats(2, SHAPE(4, 12)))
SPOIL(scale_transposed, in->w13_scale = floats(3, SHAPE(4, 1, 24)))
SPOIL(w2_scale_transposed, in->w2_scale = floats(3, SHAPE(4, 1, 20)))
SPOIL(grid_transposed, in->w13_scale = floats(3, SHAPE(4, 2, 4)))
SPOIL(grid_too_tall, in->w13_scale = floats(3, SHAPE(4, 5, 2)))
SPOIL(grid_too_wide, in->w13_scale = floats(3, SHAPE(4, 4, 3)))
SPOIL(w2_grid_rounded_down, in->w2_scale = floats(3, SHAPE(4, 2, 1)))
SPOIL(grid_of_square_blocks, in->w2_scale = floats(3, SHAPE(4, 3, 2)))
SPOIL(no_w13_scale, in->w13_scale = (fp8moe_tensor){0})
SPOIL(no_w2_scale, in->w2_scale = (fp8moe_tensor){0})

/* experts and ranks */
SPOIL(rank_of_unknown_model, c->num_experts = 0; c->ep_rank = 1)
SPOIL(negative_rank, c->ep_rank = -1)
SPOIL(rank_past_the_model, c->ep_rank = 2)
SPOIL(replicate_four, c->replicate_expert = true)
SPOIL(other_local_count, c->local_num_experts = 5)
SPOIL(more_here_than_anywhere, c->num_experts = 3)
SPOIL(negative_experts, c->num_experts = -8)
SPOIL(negative_local, c->replicate_expert = true; c->num_experts = 1; c->local_num_experts = -4;
      in->w13_weight = fp8moe_tensor_at(&in->w13_weight, 0);
      in->w2_weight = fp8moe_tensor_at(&in->w2_weight, 0);
      in->w13_scale = in->w2_scale = floats(0, NULL))

/* routing */
static void drop_ids(made_layer *m)
{
    m->inputs.topk_ids = m->inputs.topk_weights = (fp8moe_tensor){0};
}

static void with_logits(made_layer *m, int64_t rows, int64_t columns)
{
    m->inputs.router_logits = floats(2, SHAPE(rows, columns));
    m->config.routing.top_k = 2;
}

SPOIL(no_routing, drop_ids(m))
SPOIL(ids_without_weights, in->topk_weights = (fp8moe_tensor){0}; with_logits(m, 3, 8))
SPOIL(weights_without_ids, in->topk_ids = (fp8moe_tensor){0})
SPOIL(ids_of_floats, in->topk_ids = floats(2, SHAPE(3, 2)))
SPOIL(weights_of_integers, in->topk_weights.dtype = FP8MOE_DTYPE_I32)
SPOIL(weights_of_bools, in->topk_weights.dtype = FP8MOE_DTYPE_BOOL)
SPOIL(weights_of_codes, in->topk_weights.dtype = FP8MOE_DTYPE_F8_E4M3)
SPOIL(weights_of_f64, in->topk_weights.dtype = FP8MOE_DTYPE_F64)
SPOIL(ids_of_fewer_tokens, in->topk_ids = fp8moe_tensor_slice(&in->topk_ids, 0, 0, 2))
SPOIL(weights_of_more_tokens, in->topk_weights = floats(2, SHAPE(4, 2)))
SPOIL(more_weights_than_ids, in->topk_weights = floats(2, SHAPE(3, 3)))
SPOIL(other_top_k, c->routing.top_k = 3)
SPOIL(flat_ids, in->topk_ids = fp8moe_tensor_view(many_ids, FP8MOE_DTYPE_I64, 1, SHAPE(6)))
SPOIL(id_past_the_model, ((int64_t *)(uintptr_t)in->topk_ids.data)[3] = 8)
SPOIL(id_below_minus_one, ((int64_t *)(uintptr_t)in->topk_ids.data)[4] = -2)
SPOIL(logits_of_other_width, with_logits(m, 3, 7))
SPOIL(logits_of_fewer_tokens, drop_ids(m); with_logits(m, 2, 8))
SPOIL(logits_without_top_k, drop_ids(m); with_logits(m, 3, 8); c->routing.top_k = 0)
SPOIL(logits_of_integers, drop_ids(m); with_logits(m, 3, 8);
      in->router_logits.dtype = FP8MOE_DTYPE_I32)
SPOIL(top_k_past_the_model, drop_ids(m); with_logits(m, 3, 8); c->routing.top_k = 9)
SPOIL(one_logit_for_all, drop_ids(m); with_logits(m, 3, 8);
      in->hidden_states = fp8moe_tensor_slice(&in->hidden_states, 0, 0, 1);
      in->router_logits = floats(0, NULL))

/* targets, stages, forms */
SPOIL(no_target, c->target = NULL)
SPOIL(bf16_recipe, c->recipe = fp8moe_recipe_find("bf16"))
SPOIL(static_recipe, c->recipe = fp8moe_recipe_find("static-moe"))
SPOIL(dequantising_prepared, c->recipe = fp8moe_recipe_find("dequant");
      c->weights_stage = FP8MOE_WEIGHTS_PREPARED)
SPOIL(linear_recipe, c->recipe = fp8moe_recipe_find("dequant-linear"))

static const refusal refusals[] = {
    {"an instruction set nobody has", unknown_isa, FP8MOE_ERR_USAGE, "", "avx1024"},
    {"no worker", no_threads, FP8MOE_ERR_USAGE, "", "threads"},
    {"blocks of no rows", no_block_rows, FP8MOE_ERR_USAGE, "", "block"},
    {"blocks of fewer than no columns", no_block_cols, FP8MOE_ERR_USAGE, "", "block"},

    {"no hidden_states", no_input, FP8MOE_ERR_NOT_FOUND, "", "hidden_states"},
    {"hidden_states of codes", input_of_codes, FP8MOE_ERR_DTYPE, "hidden_states", "F8_E4M3"},
    {"hidden_states of F64", input_of_f64, FP8MOE_ERR_DTYPE, "hidden_states", "F64"},
    {"H = 0", input_without_columns, FP8MOE_ERR_SHAPE, "hidden_states", "hidden size 0"},
    {"H beyond exact dots", input_too_wide, FP8MOE_ERR_SHAPE, "hidden_states", "131073"},
    {"rows that lie apart", input_with_gaps, FP8MOE_ERR_SHAPE, "hidden_states", "strides"},

    {"no w13", no_w13, FP8MOE_ERR_NOT_FOUND, "", "w13_weight"},
    {"no w2", no_w2, FP8MOE_ERR_NOT_FOUND, "", "w2_weight"},
    {"w13 of one expert, w2 of four", w13_of_one_expert, FP8MOE_ERR_SHAPE, "", "[24, 20]"},
    {"w13 of four experts, w2 of three", w2_of_fewer_experts, FP8MOE_ERR_SHAPE, "", "[3, 20, 12]"},
    {"weights that are scalars", weights_without_dimensions, FP8MOE_ERR_SHAPE, "", "[E, 2I, H]"},
    {"weights of four dimensions", weights_of_four_dimensions, FP8MOE_ERR_SHAPE, "",
     "[4, 1, 1, 1]"},
    {"E_local = 0", no_experts, FP8MOE_ERR_SHAPE, "", "no experts"},
    {"an odd number of rows", odd_w13, FP8MOE_ERR_SHAPE, "w13_weight", "23 rows"},
    {"w13 of another I than w2", w13_of_other_inter, FP8MOE_ERR_SHAPE, "w13_weight", "[12, 20]"},
    {"w13 of another H than the input", w13_of_other_hidden, FP8MOE_ERR_SHAPE, "w13_weight",
     "[12, 21]"},
    {"w2 of another H than the input", w2_of_other_hidden, FP8MOE_ERR_SHAPE, "w2_weight",
     "[21, 12]"},
    {"I = 0", no_inter, FP8MOE_ERR_SHAPE, "", "intermediate size 0"},
    {"I beyond exact dots", too_much_inter, FP8MOE_ERR_SHAPE, "", "131073"},
    {"w13 of U8", w13_of_u8, FP8MOE_ERR_DTYPE, "w13_weight", "U8"},
    {"w2 of FNUZ codes", w2_of_fnuz, FP8MOE_ERR_DTYPE, "w2_weight", "FNUZ"},

    {"a scale of integers", scale_of_i32, FP8MOE_ERR_DTYPE, "w13_weight", "I32"},
    {"a scale of F64", scale_of_f64, FP8MOE_ERR_DTYPE, "w2_weight", "F64"},
    {"scales of three of four experts", scale_of_fewer_experts, FP8MOE_ERR_SHAPE, "w13_weight",
     "[3, 24]"},
    {"one scale for two rows", scale_of_half_the_rows, FP8MOE_ERR_SHAPE, "w13_weight", "[12]"},
    {"[E, 1, 2I]", scale_transposed, FP8MOE_ERR_SHAPE, "w13_weight", "[1, 24]"},
    {"[E, 1, H]", w2_scale_transposed, FP8MOE_ERR_SHAPE, "w2_weight", "[1, 20]"},
    {"a grid with its sides swapped", grid_transposed, FP8MOE_ERR_SHAPE, "w13_weight", "[2, 4]"},
    {"a grid with a row too many", grid_too_tall, FP8MOE_ERR_SHAPE, "w13_weight", "[5, 2]"},
    {"a grid with a column too many", grid_too_wide, FP8MOE_ERR_SHAPE, "w13_weight", "[2, 3]"},
    {"a grid without its partial block", w2_grid_rounded_down, FP8MOE_ERR_SHAPE, "w2_weight",
     "[2, 1]"},
    {"a grid of 8 x 8 where blocks are 8 x 16", grid_of_square_blocks, FP8MOE_ERR_SHAPE,
     "w2_weight", "[3, 2]"},
    {"FP8 w13 without a scale", no_w13_scale, FP8MOE_ERR_NOT_FOUND, "", "no scale"},
    {"FP8 w2 without a scale", no_w2_scale, FP8MOE_ERR_NOT_FOUND, "", "no scale"},

    {"rank 1 of a model of unknown size", rank_of_unknown_model, FP8MOE_ERR_USAGE, "",
     "how many experts"},
    {"rank -1", negative_rank, FP8MOE_ERR_USAGE, "", "ep_rank -1"},
    {"rank 2 of 2", rank_past_the_model, FP8MOE_ERR_USAGE, "", "ep_rank 2"},
    {"four experts to stand for all", replicate_four, FP8MOE_ERR_USAGE, "", "exactly one"},
    {"local_num_experts against the weights", other_local_count, FP8MOE_ERR_SHAPE, "",
     "local_num_experts is 5"},
    {"four experts here, three in the model", more_here_than_anywhere, FP8MOE_ERR_USAGE, "", "3"},
    {"a negative number of experts", negative_experts, FP8MOE_ERR_USAGE, "", "num_experts -8"},
    {"a negative number of local experts", negative_local, FP8MOE_ERR_USAGE, "",
     "local_num_experts -4"},

    {"nothing to route by", no_routing, FP8MOE_ERR_NOT_FOUND, "", "no routing"},
    {"ids without weights", ids_without_weights, FP8MOE_ERR_NOT_FOUND, "",
     "topk_ids without topk_weights"},
    {"weights without ids", weights_without_ids, FP8MOE_ERR_NOT_FOUND, "", "no routing"},
    {"ids of F32", ids_of_floats, FP8MOE_ERR_DTYPE, "topk_ids", "F32"},
    {"weights of I32", weights_of_integers, FP8MOE_ERR_DTYPE, "topk_weights", "I32"},
    {"weights of BOOL", weights_of_bools, FP8MOE_ERR_DTYPE, "topk_weights", "BOOL"},
    {"weights of codes", weights_of_codes, FP8MOE_ERR_DTYPE, "topk_weights", "F8_E4M3"},
    {"weights wider than the stage that shows them", weights_of_f64, FP8MOE_ERR_DTYPE,
     "topk_weights", "F64"},
    {"ids of two of three tokens", ids_of_fewer_tokens, FP8MOE_ERR_SHAPE, "topk_ids",
     "[2, 2] has 2 rows"},
    {"weights of a token too many", weights_of_more_tokens, FP8MOE_ERR_SHAPE, "topk_weights",
     "[4, 2] has 4 rows"},
    {"more weights than ids", more_weights_than_ids, FP8MOE_ERR_SHAPE, "topk_weights",
     "2 ids a token, 3 weights"},
    {"top_k against the ids", other_top_k, FP8MOE_ERR_SHAPE, "topk_weights", "top_k 3"},
    {"ids as a flat list", flat_ids, FP8MOE_ERR_SHAPE, "topk_ids", "[6] has 1 rows"},
    {"an id past the model", id_past_the_model, FP8MOE_ERR_VALUE, "topk_ids",
     "token 1, slot 1: id 8"},
    {"id -2", id_below_minus_one, FP8MOE_ERR_VALUE, "topk_ids", "token 2, slot 0: id -2"},
    {"a logit too few", logits_of_other_width, FP8MOE_ERR_SHAPE, "router_logits",
     "7 columns for 8 experts"},
    {"logits of a token too few", logits_of_fewer_tokens, FP8MOE_ERR_SHAPE, "router_logits",
     "2 rows"},
    {"logits and no top_k", logits_without_top_k, FP8MOE_ERR_USAGE, "", "top_k"},
    {"logits of integers", logits_of_integers, FP8MOE_ERR_DTYPE, "router_logits", "I32"},
    {"more experts a token than the model has", top_k_past_the_model, FP8MOE_ERR_VALUE, "", "9"},
    {"a single logit", one_logit_for_all, FP8MOE_ERR_SHAPE, "router_logits",
     "1 columns for 8 experts"},

    {"a quantising recipe without a target", no_target, FP8MOE_ERR_USAGE, "",
     "stock needs a target"},
    {"codes for the bf16 row", bf16_recipe, FP8MOE_ERR_DTYPE, "", "these are FP8"},
    {"static without static scales", static_recipe, FP8MOE_ERR_NOT_FOUND, "",
     "static input scales"},
    {"prepared weights to dequantise", dequantising_prepared, FP8MOE_ERR_USAGE, "",
     "these are prepared"},
    {"a linear without a weight", linear_recipe, FP8MOE_ERR_NOT_FOUND, "", "no weight"},
};

static void each_fault_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const refusal *const r = &refusals[i];
        made_layer m = made_plain();
        r->spoil(&m);
        expect_refusal(&m, r->status, r->tensor, r->words, r->why);
        made_close(&m);
    }
}

static void expect_opens(const made_layer *m)
{
    fp8moe_layer_close(record_open(m));
}

/* What the faults above were made from is none. */
static void the_layer_without_a_fault_opens(void **state)
{
    (void)state;
    made_layer m = made_plain();
    expect_opens(&m);
    made_close(&m);
}

static void block_scales_are_no_prepared_weights(void **state)
{
    (void)state;
    made_options o = plain;
    o.layout = MADE_BLOCKS;
    made_layer m = made("gather", "gaudi3", FP8MOE_WEIGHTS_PREPARED, o);
    expect_refusal(&m, FP8MOE_ERR_USAGE, "", "one scale a row", "prepared blocks");
    made_close(&m);
    m = made("static-moe", "gaudi3", FP8MOE_WEIGHTS_LOADED, o);
    expect_refusal(&m, FP8MOE_ERR_SHAPE, "", "these are blocks", "blocks for the static op");
    made_close(&m);
}

static void bf16_weights_are_not_taken_for_codes(void **state)
{
    (void)state;
    static const char *const recipes[] = {"gather", "stock", "dense", "dequant", "static-moe"};
    made_options o = plain;
    o.layout = MADE_NO_SCALE;
    for (size_t i = 0; i < COUNT(recipes); i++) {
        made_layer m = made(recipes[i], "gaudi3", FP8MOE_WEIGHTS_LOADED, o);
        expect_refusal(&m, FP8MOE_ERR_DTYPE, "", "these are not", recipes[i]);
        made_close(&m);
    }
}

/* ---- static scales ---- */

static void expect_static(double w13, double w2, fp8moe_dtype dtype, int64_t w2_count,
                          fp8moe_status status, const char *tensor, const char *words)
{
    made_layer m = made("static-moe", "gaudi3", FP8MOE_WEIGHTS_LOADED, plain);
    const double i1[4] = {1, w13, 1, 1}, i2[4] = {1, 1, w2, 1};
    m.inputs.w13_input_scale = made_tensor(&m, FP8MOE_DTYPE_F32, i1, 1, SHAPE(4));
    m.inputs.w2_input_scale = made_tensor(&m, FP8MOE_DTYPE_F32, i2, 1, SHAPE(w2_count));
    m.inputs.w13_input_scale.dtype = dtype;
    expect_refusal(&m, status, tensor, words, words);
    made_close(&m);
}

static void a_static_scale_is_positive_and_finite(void **state)
{
    (void)state;
    const fp8moe_dtype f32 = FP8MOE_DTYPE_F32;
    expect_static(0, 1, f32, 4, FP8MOE_ERR_VALUE, "w13_input_scale", "element 1 is 0");
    expect_static(-1, 1, f32, 4, FP8MOE_ERR_VALUE, "w13_input_scale", "element 1 is -1");
    expect_static((double)NAN, 1, f32, 4, FP8MOE_ERR_VALUE, "w13_input_scale", "nan");
    expect_static((double)INFINITY, 1, f32, 4, FP8MOE_ERR_VALUE, "w13_input_scale", "inf");
    expect_static(1, 0, f32, 4, FP8MOE_ERR_VALUE, "w2_input_scale", "element 2 is 0");
    expect_static(1, 1, f32, 3, FP8MOE_ERR_SHAPE, "w2_input_scale", "3 numbers for 4 experts");
    expect_static(1, 1, FP8MOE_DTYPE_I32, 4, FP8MOE_ERR_DTYPE, "w13_input_scale", "I32");
    expect_static(1, 1, FP8MOE_DTYPE_V8, 4, FP8MOE_ERR_DTYPE, "w13_input_scale", "V8");
}

static void every_expert_needs_its_static_scale(void **state)
{
    (void)state;
    made_layer m = made("static-moe", "gaudi3", FP8MOE_WEIGHTS_LOADED, plain);
    m.inputs.w2_input_scale = (fp8moe_tensor){0};
    expect_refusal(&m, FP8MOE_ERR_NOT_FOUND, "", "expert 0 has none", "no w2_input_scale");
    made_close(&m);
}

/* ---- target and weight stage ---- */

static fp8moe_layer_info info_of(const made_layer *m)
{
    fp8moe_layer_info info;
    fp8moe_layer *const layer = record_open(m);
    fp8moe_layer_info_get(layer, &info);
    fp8moe_layer_close(layer);
    return info;
}

static void set_code(made_layer *m, uint8_t code)
{
    ((uint8_t *)(uintptr_t)m->inputs.w2_weight.data)[17] = code;
}

/* No target is needed where all of them give the same bits, and only there. */
static void a_target_is_asked_for_where_it_matters(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        fp8moe_stage_of_weights stage;
        uint8_t code; /* among codes of at most 240 */
        made_layout layout;
        bool free;
    } rows[] = {
        {"dequant", FP8MOE_WEIGHTS_LOADED, 0x77, MADE_BLOCKS, true},
        {"dequant", FP8MOE_WEIGHTS_LOADED, 0x7F, MADE_BLOCKS, true}, /* NaN everywhere */
        {"dequant", FP8MOE_WEIGHTS_LOADED, 0x78, MADE_BLOCKS, false},
        {"dequant", FP8MOE_WEIGHTS_LOADED, 0xFE, MADE_BLOCKS, false},
        {"dequant", FP8MOE_WEIGHTS_CHECKPOINT, 0x10, MADE_BLOCKS, false},
        {"dequant", FP8MOE_WEIGHTS_UNKNOWN, 0x10, MADE_BLOCKS, false},
        {"exact", FP8MOE_WEIGHTS_PREPARED, 0x77, MADE_PER_ROW, true},
        {"exact", FP8MOE_WEIGHTS_PREPARED, 0x79, MADE_PER_ROW, false},
        {"bf16", FP8MOE_WEIGHTS_UNKNOWN, 0, MADE_NO_SCALE, true},
        {"exact", FP8MOE_WEIGHTS_UNKNOWN, 0, MADE_NO_SCALE, true},
        {"gather", FP8MOE_WEIGHTS_LOADED, 0x10, MADE_PER_ROW, false},
        {"stock-hp", FP8MOE_WEIGHTS_PREPARED, 0x10, MADE_PER_ROW, false},
        {"static-moe", FP8MOE_WEIGHTS_LOADED, 0x10, MADE_PER_ROW, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        made_options o = plain;
        o.layout = rows[i].layout;
        made_layer m = made(rows[i].recipe, "ocp", rows[i].stage, o);
        m.config.target = NULL;
        if (rows[i].layout != MADE_NO_SCALE) set_code(&m, rows[i].code);
        if (rows[i].free)
            expect_opens(&m);
        else
            expect_refusal(&m, FP8MOE_ERR_USAGE, "", "target", rows[i].recipe);
        made_close(&m);
    }
}

/* Without a target the bits are those of every target. */
static void a_run_without_a_target_is_a_run_on_any(void **state)
{
    (void)state;
    made_options o = plain;
    o.layout = MADE_BLOCKS;
    for (size_t t = 0; fp8moe_target_at(t); t++) {
        made_layer m = made("dequant", fp8moe_target_at(t)->name, FP8MOE_WEIGHTS_LOADED, o);
        m.config.target = NULL;
        slow_run_moe(&m.slow);
        fp8moe_layer *const layer = record_open(&m);
        record r;
        record_layer(&r, layer, 60);
        record_expect_moe(&r, &m.slow, fp8moe_target_at(t)->name);
        record_close(&r);
        fp8moe_layer_close(layer);
        made_close(&m);
    }
}

static void a_weight_stage_is_inferred_where_nothing_else_is_possible(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        uint8_t code;
        made_layout layout;
        fp8moe_stage_of_weights want; /* UNKNOWN: asked for */
        const char *words;
    } rows[] = {
        {"gaudi2", 0x78, MADE_PER_ROW, FP8MOE_WEIGHTS_CHECKPOINT, NULL}, /* no Gaudi2 holds it */
        {"gaudi2", 0xFE, MADE_BLOCKS, FP8MOE_WEIGHTS_CHECKPOINT, NULL},
        {"gaudi2", 0x77, MADE_PER_ROW, FP8MOE_WEIGHTS_UNKNOWN, "loaded, or prepared"},
        {"gaudi2", 0x77, MADE_BLOCKS, FP8MOE_WEIGHTS_UNKNOWN, "loaded? give"},
        {"gaudi2", 0x7F, MADE_PER_ROW, FP8MOE_WEIGHTS_UNKNOWN,
         "loaded"}, /* NaN stays NaN when halved */
        {"gaudi2", 0xFF, MADE_BLOCKS, FP8MOE_WEIGHTS_UNKNOWN, "loaded"},
        {"gaudi2", 0, MADE_NO_SCALE, FP8MOE_WEIGHTS_LOADED, NULL},
        {"gaudi3", 0x7E, MADE_BLOCKS, FP8MOE_WEIGHTS_LOADED, NULL}, /* its loader changes nothing */
        {"ocp", 0x10, MADE_PER_ROW, FP8MOE_WEIGHTS_LOADED, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        made_options o = plain;
        o.layout = rows[i].layout;
        made_layer m = made("exact", rows[i].target, FP8MOE_WEIGHTS_UNKNOWN, o);
        if (o.layout != MADE_NO_SCALE) set_code(&m, rows[i].code);
        if (rows[i].words) {
            expect_refusal(&m, FP8MOE_ERR_USAGE, "", rows[i].words, rows[i].target);
        } else {
            assert_int_equal(info_of(&m).weights_stage, rows[i].want);
            assert_true(info_of(&m).weights_stage_inferred);
        }
        made_close(&m);
    }
}

static void a_given_weight_stage_is_not_called_inferred(void **state)
{
    (void)state;
    for (int stage = FP8MOE_WEIGHTS_CHECKPOINT; stage <= FP8MOE_WEIGHTS_PREPARED; stage++) {
        made_layer m = made("stock", "gaudi2", (fp8moe_stage_of_weights)stage, plain);
        const fp8moe_layer_info info = info_of(&m);
        assert_int_equal(info.weights_stage, stage);
        assert_false(info.weights_stage_inferred);
        made_close(&m);
    }
}

/* ---- sizes ---- */

static void sizes_come_from_the_tensors(void **state)
{
    (void)state;
    made_layer m = made_plain();
    fp8moe_layer_info info = info_of(&m);
    assert_int_equal(info.tokens, 3);
    assert_int_equal(info.hidden, 20);
    assert_int_equal(info.intermediate, 12);
    assert_int_equal(info.top_k, 2);
    assert_int_equal(info.num_experts, 8);
    assert_int_equal(info.local_num_experts, 4);
    assert_int_equal(info.output_dtype, FP8MOE_DTYPE_BF16);
    assert_int_equal(info.first_leak_token, -1);
    assert_int_equal(info.first_leak_expert, -1);
    assert_false(info.routed_here);
    assert_false(info.f32_holds_bf16);
    made_close(&m);

    /* as many experts as logits have columns, else as there are weights */
    m = made_plain();
    drop_ids(&m);
    with_logits(&m, 3, 8);
    m.config.num_experts = 0;
    info = info_of(&m);
    assert_int_equal(info.num_experts, 8);
    assert_int_equal(info.top_k, 2);
    assert_true(info.routed_here);
    made_close(&m);

    made_options o = plain;
    o.flags = 0;
    m = made("stock", "gaudi3", FP8MOE_WEIGHTS_LOADED, o);
    m.config.num_experts = 0;
    info = info_of(&m);
    assert_int_equal(info.num_experts, 4);
    made_close(&m);
}

static void the_one_expert_stands_for_as_many_as_asked(void **state)
{
    (void)state;
    made_options o = plain;
    o.flags = MADE_REPLICATED;
    made_layer m = made("stock", "gaudi3", FP8MOE_WEIGHTS_LOADED, o);
    assert_int_equal(info_of(&m).local_num_experts, 4);
    m.config.local_num_experts = 0;
    assert_int_equal(info_of(&m).local_num_experts, 8);
    m.config.num_experts = 0;
    drop_ids(&m);
    m.inputs.topk_ids = fp8moe_tensor_view(many_ids, FP8MOE_DTYPE_I64, 2, SHAPE(3, 1));
    m.inputs.topk_weights = floats(2, SHAPE(3, 1));
    assert_int_equal(info_of(&m).local_num_experts, 1);
    assert_int_equal(info_of(&m).num_experts, 1);
    made_close(&m);
}

/* f32 numbers whose low halves are zero are bf16 numbers; -0 and NaN among them. */
static void f32_input_of_bf16_numbers_is_seen(void **state)
{
    (void)state;
    made_layer m = made_plain();
    double x[60];
    memcpy(x, m.slow.x, sizeof x);
    x[5] = -0.0;
    x[59] = (double)NAN;
    m.inputs.hidden_states = made_tensor(&m, FP8MOE_DTYPE_F32, x, 2, SHAPE(3, 20));
    assert_true(info_of(&m).f32_holds_bf16);
    assert_int_equal(info_of(&m).output_dtype, FP8MOE_DTYPE_BF16);
    x[58] = 1 + 0x1p-20;
    m.inputs.hidden_states = made_tensor(&m, FP8MOE_DTYPE_F32, x, 2, SHAPE(3, 20));
    assert_false(info_of(&m).f32_holds_bf16);
    assert_int_equal(info_of(&m).output_dtype, FP8MOE_DTYPE_F32);
    m.config.recipe = fp8moe_recipe_find("exact");
    assert_int_equal(info_of(&m).output_dtype, FP8MOE_DTYPE_F64);
    made_close(&m);
}

/* Everything but the last dimension of hidden_states is tokens. */
static void leading_dimensions_are_tokens(void **state)
{
    (void)state;
    made_options o = plain;
    o.tokens = 6;
    made_layer m = made("stock", "gaudi3", FP8MOE_WEIGHTS_LOADED, o);
    m.inputs.hidden_states =
        fp8moe_tensor_view(m.inputs.hidden_states.data, FP8MOE_DTYPE_BF16, 3, SHAPE(2, 3, 20));
    m.inputs.topk_ids =
        fp8moe_tensor_view(m.inputs.topk_ids.data, FP8MOE_DTYPE_I64, 3, SHAPE(2, 3, 2));
    assert_int_equal(info_of(&m).tokens, 6);
    made_close(&m);
}

/* ---- one layer, spelled in several ways ---- */

/* Whether the layer as it is now gives the numbers the model gave. */
static void expect_same_layer(made_layer *m, const char *what)
{
    fp8moe_layer *const layer = record_open(m);
    record r;
    record_layer(&r, layer, (int64_t)m->slow.tokens * m->slow.hidden);
    record_expect_moe(&r, &m->slow, what);
    record_close(&r);
    fp8moe_layer_close(layer);
}

static fp8moe_tensor reshaped(const fp8moe_tensor *t, int rank, const int64_t *shape)
{
    const fp8moe_tensor out = fp8moe_tensor_view(t->data, t->dtype, rank, shape);
    assert_int_equal(fp8moe_tensor_count(&out), fp8moe_tensor_count(t));
    return out;
}

static made_layer made_one_expert(made_layout layout)
{
    made_options o = plain;
    o.experts = o.local = 1;
    o.top_k = 1;
    o.layout = layout;
    made_layer m = made("gather", "gaudi2", FP8MOE_WEIGHTS_LOADED, o);
    slow_run_moe(&m.slow);
    return m;
}

/* 2-D weights are one expert; its scales may have the expert dimension or not, and so may those of
 * 3-D weights of one expert. I = 12, H = 20 in blocks of 8 x 16: grids of 2*2 x 2 and 3 x 1. */
static void one_expert_needs_no_expert_dimension(void **state)
{
    (void)state;
    static const struct {
        made_layout layout;
        int rank13, rank2;
        int64_t w13[3], w2[3];
    } rows[] = {
        {MADE_PER_LAYER, 0, 0, {0}, {0}},
        {MADE_PER_LAYER, 1, 1, {1}, {1}},
        {MADE_PER_HALF, 1, 0, {2}, {0}},
        {MADE_PER_HALF, 1, 1, {2}, {1}},
        {MADE_PER_ROW, 1, 1, {24}, {20}},
        {MADE_PER_ROW, 2, 2, {24, 1}, {20, 1}},
        {MADE_PER_ROW, 3, 3, {1, 24, 1}, {1, 20, 1}},
        {MADE_BLOCKS, 2, 2, {4, 2}, {3, 1}},
        {MADE_BLOCKS, 3, 3, {1, 4, 2}, {1, 3, 1}},
        {MADE_BLOCKS_THROUGH, 2, 2, {3, 2}, {3, 1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        made_layer m = made_one_expert(rows[i].layout);
        fp8moe_inputs *const in = &m.inputs;
        in->w13_scale = reshaped(&in->w13_scale, rows[i].rank13, rows[i].w13);
        in->w2_scale = reshaped(&in->w2_scale, rows[i].rank2, rows[i].w2);
        expect_same_layer(&m, "3-D weights");
        in->w13_weight = fp8moe_tensor_at(&in->w13_weight, 0);
        in->w2_weight = fp8moe_tensor_at(&in->w2_weight, 0);
        expect_same_layer(&m, "2-D weights");
        made_close(&m);
    }
}

/* Powers of two, which every dtype of a scale holds. */
static void scales_of_every_dtype_give_the_same_numbers(void **state)
{
    (void)state;
    static const struct {
        fp8moe_dtype dtype;
        int bytes;
        uint32_t bits; /* of 2^-7 */
    } rows[] = {
        {FP8MOE_DTYPE_F32, 4, 0x3C000000},
        {FP8MOE_DTYPE_BF16, 2, 0x3C00},
        {FP8MOE_DTYPE_F16, 2, 0x2000},
        {FP8MOE_DTYPE_F8_E8M0, 1, 120},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t bytes[4];
        for (int b = 0; b < rows[i].bytes; b++)
            bytes[b] = (uint8_t)(rows[i].bits >> 8 * b);
        made_layer m = made("stock", "gaudi2", FP8MOE_WEIGHTS_CHECKPOINT, plain);
        for (int64_t n = 0; n < 4 * 24 * 20; n++)
            ((double *)(uintptr_t)m.slow.w13.scale)[n] = 0x1p-7;
        for (int64_t n = 0; n < 4 * 20 * 12; n++)
            ((double *)(uintptr_t)m.slow.w2.scale)[n] = 0x1p-7;
        slow_run_moe(&m.slow);
        m.inputs.w13_scale = m.inputs.w2_scale = fp8moe_tensor_view(bytes, rows[i].dtype, 0, NULL);
        m.inputs.w13_scale.swapped = m.inputs.w2_scale.swapped =
            *(const char *)&(const int){1} == 0;
        expect_same_layer(&m, fp8moe_dtype_name(rows[i].dtype));
        made_close(&m);
    }
}

/* A mapped file is aligned to nothing. */
static fp8moe_tensor shifted(made_layer *m, const fp8moe_tensor *t)
{
    const int64_t bytes = fp8moe_tensor_count(t) * fp8moe_dtype_bits(t->dtype) / 8;
    char *const room = made_room(m, bytes + 1, 1);
    if (!fp8moe_tensor_present(t)) return *t;
    memcpy(room + 1, t->data, (size_t)bytes);
    return fp8moe_tensor_view(room + 1, t->dtype, t->rank, t->shape);
}

static void tensors_need_no_alignment(void **state)
{
    (void)state;
    made_layer m = made("static-moe", "gaudi2", FP8MOE_WEIGHTS_LOADED, plain);
    fp8moe_inputs *const in = &m.inputs;
    fp8moe_tensor *const all[] = {&in->hidden_states,   &in->topk_ids,  &in->topk_weights,
                                  &in->w13_weight,      &in->w2_weight, &in->w13_scale,
                                  &in->w13_input_scale, &in->w2_scale,  &in->w2_input_scale};
    for (size_t i = 0; i < COUNT(all); i++)
        *all[i] = shifted(&m, all[i]);
    slow_run_moe(&m.slow);
    expect_same_layer(&m, "shifted by one byte");
    made_close(&m);
}

/* ---- experts one by one, as a checkpoint has them ---- */

/* Every expert a slice [3, 3 + 12) of I_full = 17 rows (w13) and columns (w2) of one set of grids.
 */
enum { FULL = 17, OFFSET = 3 };

static fp8moe_weight slice_of(made_layer *m, int64_t rows, int64_t cols, int64_t row_offset,
                              int64_t col_offset, uint8_t *codes_out, double *scales_out)
{
    const int64_t full_rows = row_offset ? FULL : rows, full_cols = col_offset ? FULL : cols;
    const int64_t grid_cols = made_ceil((int)full_cols, 16),
                  grid_rows = made_ceil((int)full_rows, 8);
    double *const grid = made_room(m, grid_rows * grid_cols, sizeof *grid);
    uint8_t *const matrix = made_room(m, full_rows * full_cols, 1);
    for (int64_t i = 0; i < grid_rows * grid_cols; i++)
        grid[i] = (double)made_scale(m, 0.01);
    for (int64_t i = 0; i < full_rows * full_cols; i++)
        matrix[i] = (uint8_t)made_below(m, 0x78);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            const int64_t at_row = r + row_offset, at_col = c + col_offset;
            codes_out[r * cols + c] = matrix[at_row * full_cols + at_col];
            scales_out[r * cols + c] = grid[at_row / 8 * grid_cols + at_col / 16];
        }
    const fp8moe_tensor full =
        fp8moe_tensor_view(matrix, FP8MOE_DTYPE_F8_E4M3, 2, SHAPE(full_rows, full_cols));
    const fp8moe_tensor of_rows = fp8moe_tensor_slice(&full, 0, row_offset, rows);
    return (fp8moe_weight){
        .weight = fp8moe_tensor_slice(&of_rows, 1, col_offset, cols),
        .scale = made_tensor(m, FP8MOE_DTYPE_F32, grid, 2, SHAPE(grid_rows, grid_cols)),
        .row_offset = row_offset,
        .column_offset = col_offset,
        .full_rows = row_offset ? FULL : 0,
        .full_columns = col_offset ? FULL : 0};
}

static void slice_experts(made_layer *m, fp8moe_expert *experts)
{
    const int64_t h = m->slow.hidden, i = m->slow.inter;
    uint8_t *const c13 = (uint8_t *)(uintptr_t)m->slow.w13.codes, *const c2 = (uint8_t *)(uintptr_t)
                                                                                  m->slow.w2.codes;
    double *const s13 = (double *)(uintptr_t)m->slow.w13.scale, *const s2 = (double *)(uintptr_t)
                                                                                m->slow.w2.scale;
    for (int64_t e = 0; e < m->slow.local; e++) {
        const int64_t gate = e * 2 * i * h, up = gate + i * h, down = e * h * i;
        memset(&experts[e], 0, sizeof experts[e]);
        experts[e].gate = slice_of(m, i, h, OFFSET, 0, c13 + gate, s13 + gate);
        experts[e].up = slice_of(m, i, h, OFFSET, 0, c13 + up, s13 + up);
        experts[e].down = slice_of(m, h, i, 0, OFFSET, c2 + down, s2 + down);
    }
    m->slow.w13.blocks = m->slow.w2.blocks = true;
    m->inputs.w13_weight = m->inputs.w2_weight = m->inputs.w13_scale = m->inputs.w2_scale =
        (fp8moe_tensor){0};
    m->inputs.experts = experts;
    m->inputs.expert_count = m->slow.local;
}

static void a_slice_reads_the_scales_of_its_place(void **state)
{
    (void)state;
    static const char *const recipes[] = {"gather", "dequant", "exact", "dense"};
    for (size_t i = 0; i < COUNT(recipes); i++) {
        made_options o = plain;
        o.local = 2;
        o.rank = 1;
        made_layer m = made(recipes[i], "gaudi2", FP8MOE_WEIGHTS_CHECKPOINT, o);
        fp8moe_expert experts[2];
        slice_experts(&m, experts);
        slow_run_moe(&m.slow);
        expect_same_layer(&m, recipes[i]);
        made_close(&m);
    }
}

static void expect_expert_refusal(void (*spoil)(made_layer *m, fp8moe_expert *e),
                                  fp8moe_status status, const char *tensor, const char *words)
{
    made_options o = plain;
    o.local = 2;
    made_layer m = made("gather", "gaudi2", FP8MOE_WEIGHTS_CHECKPOINT, o);
    fp8moe_expert experts[2];
    slice_experts(&m, experts);
    spoil(&m, experts);
    expect_refusal(&m, status, tensor, words, words);
    made_close(&m);
}

static void without_down(made_layer *m, fp8moe_expert *e)
{
    (void)m;
    e[0].down.weight = (fp8moe_tensor){0};
}

static void without_up(made_layer *m, fp8moe_expert *e)
{
    (void)m;
    e[1].up.weight = (fp8moe_tensor){0};
}

static void with_scalar_down(made_layer *m, fp8moe_expert *e)
{
    (void)m;
    e[0].down.weight = codes(0, NULL);
}

static void without_experts(made_layer *m, fp8moe_expert *e)
{
    (void)e;
    m->inputs.expert_count = 0;
}

static void with_grid_of_the_slice(made_layer *m, fp8moe_expert *e)
{
    (void)m;
    e[1].gate.scale = floats(2, SHAPE(2, 2));
}

static void experts_one_by_one_are_checked_as_well(void **state)
{
    (void)state;
    expect_expert_refusal(without_down, FP8MOE_ERR_SHAPE, "w2_weight", "[]");
    expect_expert_refusal(with_scalar_down, FP8MOE_ERR_SHAPE, "w2_weight", "[]");
    expect_expert_refusal(without_up, FP8MOE_ERR_DTYPE, "w13_weight", "dtype");
    expect_expert_refusal(without_experts, FP8MOE_ERR_SHAPE, "", "no experts");
    expect_expert_refusal(with_grid_of_the_slice, FP8MOE_ERR_SHAPE, "w13_weight", "[2, 2]");
}

/* ---- which recipes fit ---- */

static void a_recipe_per_token_does_not_fit_static_scales(void **state)
{
    (void)state;
    fp8moe_error err;
    made_layer m = made("static-moe", "gaudi2", FP8MOE_WEIGHTS_LOADED, plain);
    assert_int_equal(
        fp8moe_recipe_fits(fp8moe_recipe_find("static-moe"), &m.config, &m.inputs, &err),
        FP8MOE_OK);
    assert_int_equal(fp8moe_recipe_fits(fp8moe_recipe_find("stock"), &m.config, &m.inputs, &err),
                     FP8MOE_ERR_USAGE);
    assert_non_null(strstr(err.message, "static input scales"));
    assert_int_equal(fp8moe_recipe_fits(fp8moe_recipe_find("dequant"), &m.config, &m.inputs, &err),
                     FP8MOE_OK);
    assert_int_equal(fp8moe_recipe_fits(fp8moe_recipe_find("bf16"), &m.config, &m.inputs, &err),
                     FP8MOE_ERR_DTYPE);
    made_close(&m);
}

static void closing_nothing_is_allowed(void **state)
{
    (void)state;
    fp8moe_layer_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_without_a_fault_opens),
        cmocka_unit_test(each_fault_is_refused_with_its_place),
        cmocka_unit_test(block_scales_are_no_prepared_weights),
        cmocka_unit_test(bf16_weights_are_not_taken_for_codes),
        cmocka_unit_test(a_static_scale_is_positive_and_finite),
        cmocka_unit_test(every_expert_needs_its_static_scale),
        cmocka_unit_test(a_target_is_asked_for_where_it_matters),
        cmocka_unit_test(a_run_without_a_target_is_a_run_on_any),
        cmocka_unit_test(a_weight_stage_is_inferred_where_nothing_else_is_possible),
        cmocka_unit_test(a_given_weight_stage_is_not_called_inferred),
        cmocka_unit_test(sizes_come_from_the_tensors),
        cmocka_unit_test(the_one_expert_stands_for_as_many_as_asked),
        cmocka_unit_test(f32_input_of_bf16_numbers_is_seen),
        cmocka_unit_test(leading_dimensions_are_tokens),
        cmocka_unit_test(one_expert_needs_no_expert_dimension),
        cmocka_unit_test(scales_of_every_dtype_give_the_same_numbers),
        cmocka_unit_test(tensors_need_no_alignment),
        cmocka_unit_test(a_slice_reads_the_scales_of_its_place),
        cmocka_unit_test(experts_one_by_one_are_checked_as_well),
        cmocka_unit_test(a_recipe_per_token_does_not_fit_static_scales),
        cmocka_unit_test(closing_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

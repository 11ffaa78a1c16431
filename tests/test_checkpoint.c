/* Layers of model folders: cases B10, D04, D06 and D12 of the case list; every kind of names,
 * scales and ranks against what the folder was made of; and what fits together in no way. */
#include "bits.h"
#include "e4m3.h"
#include "kernels.h"
#include "made_checkpoint.h"
#include "model_folders.h"
#include "slow_model.h"
#include "weights.h"

/* ---- values ---- */

/* code * scale of every element, in double. */
static void read_values(const fp8moe_weight *w, int64_t block_rows, int64_t block_cols, double *out)
{
    matrix m;
    kernels k;
    fp8moe_error err;
    uint8_t codes[4096];
    assert_true(kernels_init(&k, "portable", false));
    if (matrix_check(w, -1, -1, block_rows, block_cols, "w", &m, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    const fp8moe_target *const ocp = fp8moe_target_find("ocp");
    const weight_reader reader = {.target = ocp,
                                  .table = e4m3_table(ocp),
                                  .form = FP8MOE_FORM_EXACT,
                                  .stage = FP8MOE_WEIGHTS_CHECKPOINT,
                                  .kernels = &k};
    for (int64_t row = 0; row < m.rows; row++)
        (void)weights_row(&reader, &m, row, out + row * m.cols, codes);
}

static void expect_values(const fp8moe_weight *w, int64_t block, const double *want, int64_t count)
{
    double got[64];
    read_values(w, block, block, got);
    for (int64_t i = 0; i < count; i++)
        if (got[i] != want[i]) fail_msg("element %d: %.17g, wanted %.17g", (int)i, got[i], want[i]);
}

static double slow_value(uint8_t code)
{
    const double magnitude = slow_decode(&slow_e4m3fn, code & 0x7F);
    return code & 0x80 ? -magnitude : magnitude;
}

/* ---- one weight by its name ---- */

/* A scale goes by three names; the first of them counts. */
static void test_names_of_scales(void **state)
{
    static const uint8_t codes[4] = {0x38, 0x40, 0x30, 0xB8}; /* 1, 2, 0.5, -1 */
    static const float quarter = 0.25f, eighth = 0.125f;
    static const double by_quarter[] = {0.25, 0.5, 0.125, -0.25},
                        by_eighth[] = {0.125, 0.25, 0.0625, -0.125};
    static const int64_t square[2] = {2, 2};
    const fp8moe_tensor w = fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, square);
    const fp8moe_tensor q = fp8moe_tensor_view(&quarter, FP8MOE_DTYPE_F32, 0, NULL),
                        e = fp8moe_tensor_view(&eighth, FP8MOE_DTYPE_F32, 0, NULL);
    const fp8moe_named_tensor tensors[] = {{"a.weight", w},
                                           {"a.weight_scale", q},
                                           {"b.weight", w},
                                           {"b.scale", q},
                                           {"c", w},
                                           {"c_scale_inv", q},
                                           {"d.weight", w},
                                           {"d.weight_scale_inv", q},
                                           {"d.weight_scale", e},
                                           {"e.weight", w},
                                           {"e.weight_scale", q},
                                           {"e.scale", e},
                                           {"f.weight", w},
                                           {"f.weight_scales", q},
                                           {"g", w},
                                           {"g.scale", q},
                                           {"h.weight", w},
                                           {"h.scale", e}};
    static const struct {
        const char *name;
        const double *want;
    } rows[] = {{"a.weight", by_quarter}, {"b.weight", by_quarter},
                {"c", by_quarter},        {"d.weight", by_quarter},
                {"e.weight", by_quarter}, {"h.weight", by_eighth},
                {"f.weight", NULL},       {"g", NULL}};
    (void)state;
    const char *const folder = new_folder();
    write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
    fp8moe_checkpoint *const model = open_ok(folder);
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_weight got;
        fp8moe_error err;
        const fp8moe_status status = fp8moe_checkpoint_weight(model, rows[i].name, &got, &err);
        if (rows[i].want)
            expect_values(&got, 128, rows[i].want, 4);
        else
            expect_error(
                &err, status, FP8MOE_ERR_NOT_FOUND, "/model.safetensors", rows[i].name,
                "tried its name with _scale_inv, with _scale, and with .scale in place of .weight");
    }
    fp8moe_checkpoint_close(model);
}

/* ---- every kind of names and scales ---- */

static const made_model models[] = {
    {.prefix = "model.layers.0.mlp.",
     .naming = MADE_GATE_UP_DOWN,
     .scale = MADE_SCALE_BLOCK,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 4,
     .hidden = 20,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 8,
     .shards = 2,
     .shared = true,
     .seed = 1},
    {.prefix = "model.layers.61.block_sparse_moe.",
     .naming = MADE_W1_W3_W2,
     .scale = MADE_SCALE_BLOCK,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_BF16,
     .experts = 4,
     .hidden = 20,
     .inter = 12,
     .block_rows = 8,
     .block_cols = 8,
     .shards = 3,
     .bias = true,
     .seed = 2},
    {.prefix = "model.language_model.layers.12.mlp.",
     .naming = MADE_JOINED,
     .scale = MADE_SCALE_BLOCK,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F16,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 4,
     .shards = 1,
     .seed = 3},
    {.prefix = "language_model.model.layers.7.feed_forward.",
     .naming = MADE_FUSED,
     .scale = MADE_SCALE_BLOCK,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F8_E8M0,
     .experts = 4,
     .hidden = 20,
     .inter = 12,
     .block_rows = 8,
     .block_cols = 4,
     .shards = 2,
     .bias = true,
     .seed = 4},
    {.prefix = "layers.1.ffn.",
     .naming = MADE_FUSED_W13,
     .scale = MADE_SCALE_ROW,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 4,
     .hidden = 20,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .seed = 5},
    {.prefix = "model.layers.3.mlp.",
     .naming = MADE_GATE_UP_DOWN,
     .scale = MADE_SCALE_ROW_COLUMN,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_BF16,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 2,
     .bias = true,
     .seed = 6},
    {.prefix = "",
     .naming = MADE_FUSED,
     .scale = MADE_SCALE_ROW_COLUMN,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .seed = 7},
    {.prefix = "model.layers.0.block_sparse_moe.",
     .naming = MADE_W1_W3_W2,
     .scale = MADE_SCALE_TENSOR,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 4,
     .hidden = 20,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 2,
     .static_input = true,
     .seed = 8},
    {.prefix = "model.layers.0.mlp.",
     .naming = MADE_JOINED,
     .scale = MADE_SCALE_TENSOR,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 4,
     .shards = 1,
     .static_input = true,
     .seed = 9},
    {.prefix = "model.layers.0.mlp.",
     .naming = MADE_GATE_UP_DOWN,
     .scale = MADE_SCALE_NONE,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_NONE,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 2,
     .seed = 10},
    {.prefix = "model.layers.0.mlp.",
     .naming = MADE_FUSED,
     .scale = MADE_SCALE_NONE,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_NONE,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .seed = 11},
    {.prefix = "model.layers.2.mlp.",
     .naming = MADE_JOINED,
     .scale = MADE_SCALE_BLOCK_THROUGH,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 8,
     .block_cols = 4,
     .shards = 1,
     .seed = 12},
    {.prefix = "model.layers.4.mlp.",
     .naming = MADE_FUSED_W13,
     .scale = MADE_SCALE_TENSOR,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 4,
     .hidden = 10,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 4,
     .shards = 2,
     .static_input = true,
     .seed = 13},
    {.prefix = "model.layers.5.mlp.",
     .naming = MADE_FUSED,
     .scale = MADE_SCALE_BLOCK_THROUGH,
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 5,
     .block_cols = 4,
     .shards = 1,
     .static_input = true,
     .seed = 14},
};

/* Rows and columns of a matrix that a rank holds. */
typedef struct span {
    int64_t row, rows, column, columns;
} span;

static span span_of(const made_model *m, made_matrix which, const fp8moe_ranks *ranks)
{
    const int64_t inter = m->inter / ranks->tp_size, first = ranks->tp_rank * inter;
    return which == MADE_DOWN ? (span){0, m->hidden, first, inter}
                              : (span){first, inter, 0, m->hidden};
}

/* One matrix against what the folder was made of. */
static void expect_matrix(const made_model *m, const fp8moe_weight *w, int64_t expert,
                          made_matrix which, const fp8moe_ranks *ranks)
{
    double *const got = malloc((size_t)(m->hidden * m->inter) * sizeof *got);
    const span s = span_of(m, which, ranks);
    assert_int_equal(w->weight.shape[0], s.rows);
    assert_int_equal(w->weight.shape[1], s.columns);
    read_values(w, m->block_rows, m->block_cols, got);
    for (int64_t i = 0; i < s.rows * s.columns; i++) {
        const int64_t row = s.row + i / s.columns, column = s.column + i % s.columns;
        const double want = slow_value(made_code(m, expert, which, row, column)) *
                            made_scale_of(m, expert, which, row, column);
        if (got[i] != want)
            fail_msg("%s: expert %d, matrix %d, row %d, column %d: %g, wanted %g", m->prefix,
                     (int)expert, (int)which, (int)row, (int)column, got[i], want);
    }
    free(got);
}

static void expect_number(const fp8moe_tensor *t, bool present, double want)
{
    double got;
    assert_int_equal(fp8moe_tensor_present(t), present);
    if (!present) return;
    fp8moe_tensor_read_f64(t, 0, 1, &got);
    assert_true(got == want);
}

static void expect_router(const made_model *m, const fp8moe_moe_weights *weights)
{
    double got;
    assert_int_equal(weights->router.shape[0], m->experts);
    for (int64_t i = 0; i < m->experts * m->hidden; i++) {
        fp8moe_tensor_read_f64(&weights->router, i, 1, &got);
        assert_true(got == made_router(m, i / m->hidden, i % m->hidden));
    }
    assert_int_equal(fp8moe_tensor_present(&weights->correction_bias), m->bias);
    for (int64_t e = 0; e < m->experts && m->bias; e++) {
        fp8moe_tensor_read_f64(&weights->correction_bias, e, 1, &got);
        assert_true(got == made_bias(m, e));
    }
}

static bool is_cut_within_block(const made_model *m, int64_t inter)
{
    const bool blocks = m->scale == MADE_SCALE_BLOCK || m->scale == MADE_SCALE_BLOCK_THROUGH;
    return blocks && inter < m->inter && (inter % m->block_rows != 0 || inter % m->block_cols != 0);
}

static void expect_rank(const made_model *m, fp8moe_checkpoint *model, const fp8moe_ranks *ranks)
{
    fp8moe_moe_weights weights;
    fp8moe_error err;
    if (fp8moe_checkpoint_moe(model, 0, ranks, &weights, &err) != FP8MOE_OK)
        fail_msg("%s: %s: %s", m->prefix, err.tensor, err.message);
    assert_int_equal(weights.expert_count, m->experts / ranks->ep_size);
    assert_int_equal(weights.num_experts, m->experts);
    assert_int_equal(weights.hidden, m->hidden);
    assert_int_equal(weights.intermediate, m->inter / ranks->tp_size);
    assert_int_equal(weights.splits_blocks, is_cut_within_block(m, weights.intermediate));
    for (int64_t i = 0; i < weights.expert_count; i++) {
        const int64_t e = ranks->ep_rank * weights.expert_count + i;
        expect_matrix(m, &weights.experts[i].gate, e, MADE_GATE, ranks);
        expect_matrix(m, &weights.experts[i].up, e, MADE_UP, ranks);
        expect_matrix(m, &weights.experts[i].down, e, MADE_DOWN, ranks);
        expect_number(&weights.experts[i].w13_input_scale, m->static_input,
                      made_input_scale(m, e, false));
        expect_number(&weights.experts[i].w2_input_scale, m->static_input,
                      made_input_scale(m, e, true));
    }
    expect_router(m, &weights);
    fp8moe_moe_weights_free(&weights);
}

/* Every model whole, and every rank of two, three and four: I is 12, blocks are 4 or 8 rows, so
 * that some slices start within a block. */
static void test_all_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        const char *const folder = new_folder();
        made_model_write(&models[i], folder);
        fp8moe_checkpoint *const model = open_ok(folder);
        assert_int_equal(fp8moe_checkpoint_layer_count(model), 1);
        for (int64_t ep = 1; ep <= 2; ep++)
            for (int64_t tp = 1; tp <= 4; tp++)
                for (int64_t rank = 0; rank < ep * tp; rank++) {
                    const fp8moe_ranks ranks = {
                        .ep_rank = rank / tp, .ep_size = ep, .tp_rank = rank % tp, .tp_size = tp};
                    expect_rank(&models[i], model, &ranks);
                }
        fp8moe_checkpoint_close(model);
    }
}

/* A made model with another config, or without some tensors. */
static fp8moe_checkpoint *made_with(const made_model *m, const char *config)
{
    const char *const folder = new_folder();
    made_model_write(m, folder);
    if (config) write_text(folder, "config.json", config);
    return open_ok(folder);
}

static void test_descriptions(void **state)
{
    fp8moe_moe_form plain;
    static const struct {
        const char *naming, *left_out;
        int64_t number, experts;
    } want[COUNT(models)] = {
        {"gate_proj, up_proj, down_proj", "shared_expert, shared_expert_gate", 0, 4},
        {"w1, w3, w2", "", 61, 4},
        {"gate_up_proj, down_proj", "", 12, 2},
        {"fused gate_up_proj, down_proj", "", 7, 0},
        {"fused w13, w2", "", 1, 0},
        {"gate_proj, up_proj, down_proj", "", 3, 2},
        {"fused gate_up_proj, down_proj", "", -1, 0},
        {"w1, w3, w2", "", 0, 4},
        {"gate_up_proj, down_proj", "", 0, 2},
        {"gate_proj, up_proj, down_proj", "", 0, 2},
        {"fused gate_up_proj, down_proj", "", 0, 0},
        {"gate_up_proj, down_proj", "", 2, 2},
        {"fused w13, w2", "", 4, 0},
        {"fused gate_up_proj, down_proj", "", 5, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        const made_model *const m = &models[i];
        fp8moe_moe_form form;
        size_t found = 99;
        const char *const folder = new_folder();
        made_model_write(m, folder);
        fp8moe_checkpoint *const model = open_ok(folder);
        const fp8moe_checkpoint_layer *const layer = fp8moe_checkpoint_layer_at(model, 0);
        assert_string_equal(layer->prefix, m->prefix);
        assert_string_equal(layer->naming, want[i].naming);
        assert_string_equal(layer->left_out, want[i].left_out);
        assert_int_equal(layer->number, want[i].number);
        assert_int_equal(layer->experts, want[i].experts);
        assert_int_equal(layer->stack_layers, 1);
        assert_int_equal(fp8moe_checkpoint_layer_find(model, want[i].number, &found, NULL),
                         FP8MOE_OK);
        assert_int_equal(found, 0);
        assert_int_equal(fp8moe_checkpoint_describe(model, 0, &form, NULL), FP8MOE_OK);
        assert_int_equal(form.num_experts, m->experts);
        assert_int_equal(form.hidden, m->hidden);
        assert_int_equal(form.intermediate, m->inter);
        assert_int_equal(form.gate.dtype,
                         m->scale == MADE_SCALE_NONE ? FP8MOE_DTYPE_BF16 : FP8MOE_DTYPE_F8_E4M3);
        assert_int_equal(form.gate_scale.dtype,
                         m->scale == MADE_SCALE_NONE ? FP8MOE_DTYPE_NONE : m->scale_dtype);
        assert_int_equal(form.static_input, m->static_input);
        assert_int_equal(fp8moe_tensor_present(&form.correction_bias), m->bias);
        assert_false(form.unconverted);
        assert_null(form.gate.data);
        fp8moe_checkpoint_close(model);
    }
    fp8moe_checkpoint *const listed =
        made_with(&models[9], "{\"quantization_config\": {\"quant_method\": \"fp8\", "
                              "\"ignored_layers\": [\"model.layers.0\"]}}");
    assert_int_equal(fp8moe_checkpoint_describe(listed, 0, &plain, NULL), FP8MOE_OK);
    assert_true(plain.unconverted);
    fp8moe_checkpoint_close(listed);
}

/* ---- row scales of a slice ---- */

/* bf16(code) * bf16(scale) -> bf16, numerics.md 2.2. */
static double slow_dequant(const made_model *m, int64_t expert, made_matrix which, int64_t row,
                           int64_t column)
{
    const double value = slow_value(made_code(m, expert, which, row, column)) *
                         slow_round(&slow_bf16, made_scale_of(m, expert, which, row, column));
    return value < 0 ? -slow_round(&slow_bf16, -value) : slow_round(&slow_bf16, value);
}

/* The scale of one row of a slice: amax + 1e-8 in bf16, over 448 in bf16, numerics.md 1.1. */
static double slow_row_scale(const made_model *m, int64_t expert, made_matrix which, const span *s,
                             int64_t row)
{
    double amax = 0;
    for (int64_t c = 0; c < s->columns; c++)
        amax = fmax(amax, fabs(slow_dequant(m, expert, which, s->row + row, s->column + c)));
    return slow_round(&slow_bf16, slow_round(&slow_bf16, amax + (double)1e-8f) / 448);
}

/* Slice, then dequantise, then requantise: the row scales are those of the rank's slice. */
static void test_row_scales_are_of_the_slice(void **state)
{
    const made_model *const m = &models[1]; /* blocks of 8: slices of 6 and 4 */
    const fp8moe_target *const gaudi3 = fp8moe_target_find("gaudi3");
    int differ = 0;
    kernels k;
    (void)state;
    assert_true(kernels_init(&k, "portable", false));
    const weight_reader reader = {.target = gaudi3,
                                  .table = e4m3_table(gaudi3),
                                  .form = FP8MOE_FORM_PREPARED,
                                  .stage = FP8MOE_WEIGHTS_CHECKPOINT,
                                  .kernels = &k};
    const char *const folder = new_folder();
    made_model_write(m, folder);
    fp8moe_checkpoint *const model = open_ok(folder);
    for (int64_t rank = 0; rank < 3; rank++) {
        const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = rank, .tp_size = 3},
                           whole = {.ep_size = 1, .tp_size = 1};
        fp8moe_moe_weights weights;
        assert_int_equal(fp8moe_checkpoint_moe(model, 0, &ranks, &weights, NULL), FP8MOE_OK);
        const span part = span_of(m, MADE_DOWN, &ranks), all = span_of(m, MADE_DOWN, &whole);
        for (int64_t e = 0; e < m->experts; e++) {
            matrix checked;
            double row_values[64];
            uint8_t codes[64];
            assert_int_equal(
                matrix_check(&weights.experts[e].down, -1, -1, 8, 8, "down", &checked, NULL),
                FP8MOE_OK);
            for (int64_t row = 0; row < m->hidden; row++) {
                const double want = slow_row_scale(m, e, MADE_DOWN, &part, row);
                assert_true(weights_row(&reader, &checked, row, row_values, codes) == want);
                differ += want != slow_row_scale(m, e, MADE_DOWN, &all, row);
            }
        }
        fp8moe_moe_weights_free(&weights);
    }
    fp8moe_checkpoint_close(model);
    assert_true(differ > 20); /* otherwise the test could not tell */
}

/* ---- what may not be ---- */

static void expect_moe_error(fp8moe_checkpoint *model, const fp8moe_ranks *ranks,
                             fp8moe_status want, const char *tensor, const char *sentence)
{
    fp8moe_moe_weights weights;
    fp8moe_error err;
    const fp8moe_status status = fp8moe_checkpoint_moe(model, 0, ranks, &weights, &err);
    if (status == FP8MOE_OK) fail_msg("read, wanted: %s", sentence);
    expect_error(&err, status, want, base, tensor, sentence);
    fp8moe_checkpoint_close(model);
}

static void test_ranks_that_do_not_divide(void **state)
{
    static const struct {
        fp8moe_ranks ranks;
        const char *sentence;
    } rows[] = {
        {{0, 3, 0, 1}, "4 experts do not divide among 3 ranks"},
        {{0, 1, 0, 5}, "I = 12 does not divide among 5 ranks"},
        {{2, 2, 0, 1}, "rank 2 of 2 (experts)"},
        {{0, 1, 3, 3}, "rank 3 of 3 (tensors)"},
        {{-1, 2, 0, 1}, "rank -1 of 2"},
        {{0, 0, 0, 1}, "rank 0 of 0"},
        {{0, 1, -1, 2}, "rank -1 of 2 (tensors)"},
        {{0, 1, 0, 0}, "rank 0 of 0 (tensors)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_moe_error(made_with(&models[0], NULL), &rows[i].ranks, FP8MOE_ERR_USAGE, "",
                         rows[i].sentence);
}

static void test_configs_that_do_not_fit(void **state)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    static const char gate[] = "model.layers.0.mlp.experts.0.gate_proj.weight";
#define FP8 "\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [4, 8]"
    static const struct {
        const char *config;
        fp8moe_status status;
        const char *tensor, *sentence;
    } rows[] = {
        {"{\"num_experts\": 5}", FP8MOE_ERR_SHAPE, "",
         "config.json says 5 experts, the tensors of model.layers.0.mlp. are of 4"},
        {"{\"hidden_size\": 24, " FP8 "}}", FP8MOE_ERR_SHAPE, gate,
         "I = 12, H = 20, but config.json says 0 and 24"},
        {"{\"moe_intermediate_size\": 6, " FP8 "}}", FP8MOE_ERR_SHAPE, gate,
         "I = 12, H = 20, but config.json says 6 and 0"},
        {"{\"hidden_act\": \"gelu\"}", FP8MOE_ERR_UNSUPPORTED, "", "hidden_act is \"gelu\""},
        {"{\"swiglu_limit\": 10}", FP8MOE_ERR_UNSUPPORTED, "", "swiglu_limit 10"},
        {"{\"quantization_config\": {\"quant_method\": \"mxfp4\"}}", FP8MOE_ERR_UNSUPPORTED, "",
         "quant_method is \"mxfp4\""},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e5m2\"}}",
         FP8MOE_ERR_UNSUPPORTED, "", "the weights' format is \"e5m2\""},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\"}}", FP8MOE_ERR_SHAPE, gate,
         "scale [3, 3] fits no layout"},
        {"{" FP8 ", \"modules_to_not_convert\": [\"model.layers.0.mlp.experts\"]}}",
         FP8MOE_ERR_VALUE, gate, "config.json lists its module as not converted"},
    };
#undef FP8
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_moe_error(made_with(&models[0], rows[i].config), &whole, rows[i].status,
                         rows[i].tensor, rows[i].sentence);
}

static void test_a_weight_by_name(void **state)
{
    static const uint8_t codes[4] = {0x38, 0x38, 0x38, 0x38};
    static const float scales[3] = {1, 1, 1};
    static const int64_t square[2] = {2, 2}, three[1] = {3};
    const fp8moe_named_tensor tensors[] = {
        {"w", fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, square)},
        {"w_scale_inv", fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 1, three)},
        {"e5", fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E5M2, 2, square)}};
    fp8moe_weight w;
    fp8moe_error err;
    (void)state;
    const char *const folder = new_folder();
    write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
    fp8moe_checkpoint *const model = open_ok(folder);
    expect_error(&err, fp8moe_checkpoint_weight(model, "w", &w, &err), FP8MOE_ERR_SHAPE,
                 "/model.safetensors", "w", "scale [3] fits no layout");
    expect_error(&err, fp8moe_checkpoint_weight(model, "e5", &w, &err), FP8MOE_ERR_DTYPE,
                 "/model.safetensors", "e5", "dtype F8_E5M2");
    expect_error(&err, fp8moe_checkpoint_weight(model, "v", &w, &err), FP8MOE_ERR_NOT_FOUND, folder,
                 "v", "no such tensor");
    fp8moe_checkpoint_close(model);
}

/* The model folder of one small joined or fused layer whose tensors are given. */
static void expect_tensors_refused(const fp8moe_named_tensor *tensors, size_t count,
                                   fp8moe_status status, const char *tensor, const char *sentence)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    const char *const folder = new_folder();
    write_tensors(folder, "model.safetensors", tensors, count);
    expect_moe_error(open_ok(folder), &whole, status, tensor, sentence);
}

static fp8moe_tensor bf16(int rank, int64_t a, int64_t b, int64_t c)
{
    static const uint16_t zeros[4096];
    const int64_t shape[3] = {a, b, c};
    return fp8moe_tensor_view(zeros, FP8MOE_DTYPE_BF16, rank, shape);
}

static fp8moe_tensor e4m3(int64_t a, int64_t b, int64_t c)
{
    static const uint8_t zeros[4096];
    const int64_t shape[3] = {a, b, c};
    return fp8moe_tensor_view(zeros, FP8MOE_DTYPE_F8_E4M3, 3, shape);
}

static fp8moe_tensor f32(const float *data)
{
    return fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, 0, NULL);
}

static void test_experts_that_do_not_fit(void **state)
{
    static const float one = 1, two = 2, numbers[3] = {1, 1, 1};
    static const int64_t shape_2[1] = {2}, shape_3[1] = {3};
    const fp8moe_tensor two_inputs = fp8moe_tensor_view(numbers, FP8MOE_DTYPE_F32, 1, shape_2),
                        three = fp8moe_tensor_view(numbers, FP8MOE_DTYPE_F32, 1, shape_3);
    const fp8moe_tensor gate = bf16(2, 4, 6, 0), down = bf16(2, 6, 4, 0);
    const fp8moe_named_tensor missing[] = {{"experts.0.w1.weight", gate},
                                           {"experts.0.w3.weight", gate},
                                           {"experts.0.w2.weight", down},
                                           {"experts.1.w1.weight", gate},
                                           {"experts.1.w3.weight", gate}},
                              first_missing[] = {{"experts.1.w1.weight", gate}},
                              unknown[] = {{"experts.0.weight_packed", gate}},
                              differ[] = {{"experts.0.w1.weight", gate},
                                          {"experts.0.w3.weight", bf16(2, 5, 6, 0)},
                                          {"experts.0.w2.weight", down}},
                              swapped[] = {{"experts.0.w1.weight", gate},
                                           {"experts.0.w3.weight", gate},
                                           {"experts.0.w2.weight", gate}},
                              biased[] = {{"experts.0.w1.weight", gate},
                                          {"experts.0.w1.bias", gate}},
                              inputs[] = {{"experts.0.w1.weight", gate},
                                          {"experts.0.w1.input_scale", f32(&one)},
                                          {"experts.0.w3.weight", gate},
                                          {"experts.0.w3.input_scale", f32(&two)}},
                              half_inputs[] = {{"experts.0.w1.weight", gate},
                                               {"experts.0.w1.input_scale", f32(&one)},
                                               {"experts.0.w3.weight", gate}},
                              wide_inputs[] = {{"experts.0.w1.weight", gate},
                                               {"experts.0.w1.input_scale", two_inputs},
                                               {"experts.0.w3.weight", gate},
                                               {"experts.0.w3.input_scale", f32(&one)}},
                              fused_scale[] = {{"experts.w13_weight", e4m3(2, 4, 6)},
                                               {"experts.w13_weight_scale", three},
                                               {"experts.w2_weight", e4m3(2, 6, 2)},
                                               {"experts.w2_weight_scale", f32(&one)}},
                              transposed[] = {{"experts.gate_up_proj", bf16(3, 2, 6, 8)},
                                              {"experts.down_proj", bf16(3, 2, 4, 6)}},
                              ragged[] = {{"experts.gate_up_proj", bf16(3, 2, 8, 6)},
                                          {"experts.down_proj", bf16(3, 3, 6, 4)}},
                              odd[] = {{"experts.0.gate_up_proj.weight", bf16(2, 7, 6, 0)},
                                       {"experts.0.down_proj.weight", down}},
                              flat[] = {{"experts.0.gate_up_proj.weight", bf16(1, 7, 0, 0)},
                                        {"experts.0.down_proj.weight", down}},
                              router[] = {{"experts.0.w1.weight", gate},
                                          {"experts.0.w3.weight", gate},
                                          {"experts.0.w2.weight", down},
                                          {"gate.weight", bf16(2, 2, 6, 0)}},
                              narrow_router[] = {{"experts.0.w1.weight", gate},
                                                 {"experts.0.w3.weight", gate},
                                                 {"experts.0.w2.weight", down},
                                                 {"gate.weight", bf16(2, 1, 5, 0)}},
                              correction[] = {{"experts.0.w1.weight", gate},
                                              {"experts.0.w3.weight", gate},
                                              {"experts.0.w2.weight", down},
                                              {"e_score_correction_bias", bf16(1, 3, 0, 0)}};
    const struct {
        const fp8moe_named_tensor *tensors;
        size_t count;
        fp8moe_status status;
        const char *tensor, *sentence;
    } rows[] = {
        {missing, COUNT(missing), FP8MOE_ERR_NOT_FOUND, "experts.1.w2.weight", "no such tensor"},
        {first_missing, 1, FP8MOE_ERR_NOT_FOUND, "experts.0.w1.weight", "no such tensor"},
        {unknown, 1, FP8MOE_ERR_UNSUPPORTED, "", "names of no known kind"},
        {differ, COUNT(differ), FP8MOE_ERR_SHAPE, "experts.0.w3.weight", "expected [4, 6]"},
        {swapped, COUNT(swapped), FP8MOE_ERR_SHAPE, "experts.0.w2.weight", "expected [6, 4]"},
        {biased, COUNT(biased), FP8MOE_ERR_UNSUPPORTED, "experts.0.w1.bias", "bias"},
        {inputs, COUNT(inputs), FP8MOE_ERR_VALUE, "experts.0.w1.weight",
         "different input scales, 1 and 2"},
        {half_inputs, COUNT(half_inputs), FP8MOE_ERR_SHAPE, "experts.0.w1.weight",
         "one number each"},
        {wide_inputs, COUNT(wide_inputs), FP8MOE_ERR_SHAPE, "experts.0.w1.weight",
         "one number each"},
        {fused_scale, COUNT(fused_scale), FP8MOE_ERR_SHAPE, "experts.w13_weight",
         "scale [3]: expected 2 experts"},
        {transposed, COUNT(transposed), FP8MOE_ERR_UNSUPPORTED, "", "stored transposed"},
        {ragged, COUNT(ragged), FP8MOE_ERR_SHAPE, "", "experts [2, 8, 6] and [3, 6, 4]"},
        {odd, COUNT(odd), FP8MOE_ERR_SHAPE, "experts.0.gate_up_proj.weight", "even number"},
        {flat, COUNT(flat), FP8MOE_ERR_SHAPE, "experts.0.gate_up_proj.weight", "expected [2I, H]"},
        {router, COUNT(router), FP8MOE_ERR_SHAPE, "gate.weight", "shape [2, 6] for 1 experts"},
        {narrow_router, COUNT(narrow_router), FP8MOE_ERR_SHAPE, "gate.weight",
         "shape [1, 5] for 1 experts"},
        {correction, COUNT(correction), FP8MOE_ERR_SHAPE, "e_score_correction_bias",
         "shape [3] for 1 experts"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_tensors_refused(rows[i].tensors, rows[i].count, rows[i].status, rows[i].tensor,
                               rows[i].sentence);
}

/* ---- layers of many names ---- */

/* Two short stacks before a longer one, digits that are no number, ids beyond any model. */
static void test_names_out_of_the_ordinary(void)
{
    static const char text[] =
        "{\"weight_map\": {"
        "\"a.layers.5.experts.0.w1.weight\": \"a\", \"b.layers.5.experts.0.w1.weight\": \"a\","
        "\"c.layers.5.experts.0.w1.weight\": \"a\", \"c.layers.6.experts.99999999.w1.weight\": "
        "\"a\","
        "\"d.layers.7.3d.experts.1.w1.weight\": \"a\"}}";
    size_t found;
    const char *const folder = new_folder();
    write_text(folder, "model.safetensors.index.json", text);
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_layer_find(model, 5, &found, NULL), FP8MOE_OK);
    assert_string_equal(fp8moe_checkpoint_layer_at(model, found)->prefix, "c.layers.5.");
    assert_int_equal(fp8moe_checkpoint_layer_find(model, 6, &found, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_checkpoint_layer_at(model, found)->experts, 0);
    assert_int_equal(fp8moe_checkpoint_layer_find(model, 7, &found, NULL), FP8MOE_OK);
    fp8moe_checkpoint_close(model);
}

/* One expert with an expert dimension, whose scales have none. */
static void test_a_single_fused_expert(void **state)
{
    static const float scales[4] = {1, 2, 4, 8}, one = 1;
    static const uint8_t ones[8] = {0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38};
    static const int64_t w13[3] = {1, 4, 2}, w2[3] = {1, 2, 2}, rows[1] = {4};
    static const double gate[] = {1, 1, 2, 2}, up[] = {4, 4, 8, 8};
    const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    const fp8moe_named_tensor tensors[] = {
        {"experts.w13_weight", fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, w13)},
        {"experts.w13_weight_scale", fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 1, rows)},
        {"experts.w2_weight", fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, w2)},
        {"experts.w2_weight_scale", f32(&one)}};
    fp8moe_moe_weights weights;
    (void)state;
    const char *const folder = new_folder();
    write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_moe(model, 0, &whole, &weights, NULL), FP8MOE_OK);
    expect_values(&weights.experts[0].gate, 128, gate, 4);
    expect_values(&weights.experts[0].up, 128, up, 4);
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
}

/* The views of a layer outlive a description of it; an address leads back to its file. */
static void test_views_stay(void **state)
{
    const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    fp8moe_moe_weights weights;
    fp8moe_moe_form form;
    (void)state;
    const char *const folder_made = new_folder();
    made_model_write(&models[0], folder_made);
    fp8moe_checkpoint *const model = open_ok(folder_made);
    assert_int_equal(fp8moe_checkpoint_moe(model, 0, &whole, &weights, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_checkpoint_describe(model, 0, &form, NULL), FP8MOE_OK);
    expect_matrix(&models[0], &weights.experts[0].gate, 0, MADE_GATE, &whole);
    const char *const file = fp8moe_checkpoint_file_at(model, weights.experts[3].gate.weight.data);
    assert_non_null(file);
    assert_non_null(strstr(file, "/model-00002-of-00002.safetensors"));
    assert_null(fp8moe_checkpoint_file_at(model, &weights));
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
}

static void test_layers_are_found_by_number(void **state)
{
    static const char text[] = "{\"weight_map\": {"
                               "\"model.layers.10.mlp.experts.0.gate_proj.weight\": \"a\", "
                               "\"model.layers.9.mlp.experts.3.gate_proj.weight\": \"a\","
                               "\"model.layers.9.mlp.experts.11.gate_proj.weight\": \"a\", "
                               "\"model.layers.9.mlp.shared_experts.gate_proj.weight\": \"a\","
                               "\"mtp.layers.9.mlp.experts.0.gate_proj.weight\": \"a\", "
                               "\"vision.layers.3.experts_of_no_kind.weight\": \"a\","
                               "\"a.layers.5.mlp.experts.0.w1.weight\": \"a\", "
                               "\"b.layers.5.mlp.experts.0.w1.weight\": \"a\"}}";
    static const struct {
        const char *prefix;
        int64_t number, stack, experts;
    } want[] = {{"a.layers.5.mlp.", 5, 1, 1},
                {"b.layers.5.mlp.", 5, 1, 1},
                {"model.layers.9.mlp.", 9, 2, 12},
                {"model.layers.10.mlp.", 10, 2, 1},
                {"mtp.layers.9.mlp.", 9, 1, 1}};
    size_t found;
    fp8moe_error err;
    (void)state;
    const char *const folder = new_folder();
    write_text(folder, "model.safetensors.index.json", text);
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_layer_count(model), COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        const fp8moe_checkpoint_layer *const layer = fp8moe_checkpoint_layer_at(model, i);
        assert_string_equal(layer->prefix, want[i].prefix);
        assert_int_equal(layer->number, want[i].number);
        assert_int_equal(layer->stack_layers, want[i].stack);
        assert_int_equal(layer->experts, want[i].experts);
    }
    assert_string_equal(fp8moe_checkpoint_layer_at(model, 2)->left_out, "shared_experts");
    assert_int_equal(fp8moe_checkpoint_layer_find(model, 9, &found, NULL), FP8MOE_OK);
    assert_int_equal(found, 2); /* not the draft layer of that number */
    expect_error(&err, fp8moe_checkpoint_layer_find(model, 5, &found, &err), FP8MOE_ERR_USAGE,
                 folder, "", "may be \"a.layers.5.mlp.\" or \"b.layers.5.mlp.\"");
    expect_error(&err, fp8moe_checkpoint_layer_find(model, 7, &found, &err), FP8MOE_ERR_NOT_FOUND,
                 folder, "",
                 "layer 7 has no experts; there are 5 layers with experts, from 5 to 10");
    fp8moe_checkpoint_close(model);
    test_names_out_of_the_ordinary();
    const char *const dense = new_folder();
    write_one(dense, "model.safetensors");
    fp8moe_checkpoint *const none = open_ok(dense);
    expect_error(&err, fp8moe_checkpoint_layer_find(none, 0, &found, &err), FP8MOE_ERR_NOT_FOUND,
                 dense, "", "no mixture of experts");
    fp8moe_checkpoint_close(none);
}

/* ---- the router ---- */

/* Logits against plain sums, which are exact here: short numbers of few columns. A bf16 router
 * rounds them to bf16, an f32 one does not. */
static void test_router_logits(void **state)
{
    enum { TOKENS = 3, EXPERTS = 5, HIDDEN = 37 };
    static float x[TOKENS * HIDDEN], w[EXPERTS * HIDDEN];
    uint16_t half[EXPERTS * HIDDEN];
    const int64_t xs[3] = {1, TOKENS, HIDDEN}, ws[2] = {EXPERTS, HIDDEN};
    int rounded = 0;
    (void)state;
    for (int i = 0; i < TOKENS * HIDDEN; i++)
        x[i] = (float)made_router(&models[0], 1, i);
    for (int i = 0; i < EXPERTS * HIDDEN; i++) {
        w[i] = (float)made_router(&models[0], 2, i);
        half[i] = (uint16_t)(slow_encode(&slow_bf16, fabs((double)w[i])) | (w[i] < 0 ? 0x8000 : 0));
    }
    const fp8moe_tensor hidden = fp8moe_tensor_view(x, FP8MOE_DTYPE_F32, 3, xs),
                        full = fp8moe_tensor_view(w, FP8MOE_DTYPE_F32, 2, ws),
                        bf16_router = fp8moe_tensor_view(half, FP8MOE_DTYPE_BF16, 2, ws);
    float got[TOKENS * EXPERTS], got_bf16[TOKENS * EXPERTS];
    assert_int_equal(fp8moe_router_logits(&hidden, &full, got, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_router_logits(&hidden, &bf16_router, got_bf16, NULL), FP8MOE_OK);
    for (int t = 0; t < TOKENS; t++)
        for (int e = 0; e < EXPERTS; e++) {
            double sum = 0;
            for (int h = 0; h < HIDDEN; h++)
                sum += (double)x[t * HIDDEN + h] * (double)w[e * HIDDEN + h];
            assert_true((double)got[t * EXPERTS + e] == sum);
            const double magnitude = slow_round(&slow_bf16, fabs(sum));
            assert_true((double)got_bf16[t * EXPERTS + e] == (sum < 0 ? -magnitude : magnitude));
            rounded += magnitude != fabs(sum);
        }
    assert_true(rounded > 5);
    fp8moe_error err;
    const fp8moe_tensor narrow = fp8moe_tensor_slice(&full, 1, 0, HIDDEN - 1),
                        row = fp8moe_tensor_at(&full, 0);
    /* the sum is f32 first: just above a tie of bf16 becomes the tie */
    static const float two[2] = {1 + 0x1p-8f, 0x1p-30f};
    static const uint16_t ones[2] = {0x3F80, 0x3F80};
    static const int64_t pair[2] = {1, 2};
    const fp8moe_tensor near_tie = fp8moe_tensor_view(two, FP8MOE_DTYPE_F32, 2, pair);
    const fp8moe_tensor sum_router = fp8moe_tensor_view(ones, FP8MOE_DTYPE_BF16, 2, pair);
    assert_int_equal(fp8moe_router_logits(&near_tie, &sum_router, got, NULL), FP8MOE_OK);
    assert_true(got[0] == 1);
    fp8moe_tensor deep = full;
    deep.rank = 3;
    deep.shape[2] = 1;
    expect_error(&err, fp8moe_router_logits(&hidden, &deep, got, &err), FP8MOE_ERR_SHAPE, "", "",
                 "a router of [5, 37, 1]");
    fp8moe_tensor codes = full;
    codes.dtype = FP8MOE_DTYPE_F8_E4M3;
    expect_error(&err, fp8moe_router_logits(&hidden, &narrow, got, &err), FP8MOE_ERR_SHAPE, "", "",
                 "a router of [5, 36]");
    expect_error(&err, fp8moe_router_logits(&hidden, &row, got, &err), FP8MOE_ERR_SHAPE, "", "",
                 "a router of [37]");
    expect_error(&err, fp8moe_router_logits(&hidden, &codes, got, &err), FP8MOE_ERR_DTYPE, "", "",
                 "not from F32 and F8_E4M3");
    expect_error(&err, fp8moe_router_logits(&codes, &full, got, &err), FP8MOE_ERR_DTYPE, "", "",
                 "not from F8_E4M3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_scales),
        cmocka_unit_test(test_all_models),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_row_scales_are_of_the_slice),
        cmocka_unit_test(test_ranks_that_do_not_divide),
        cmocka_unit_test(test_configs_that_do_not_fit),
        cmocka_unit_test(test_experts_that_do_not_fit),
        cmocka_unit_test(test_a_weight_by_name),
        cmocka_unit_test(test_a_single_fused_expert),
        cmocka_unit_test(test_router_logits),
        cmocka_unit_test(test_views_stay),
        cmocka_unit_test(test_layers_are_found_by_number),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

/* Weights taken from checkpoint to loaded and prepared, against the definition: every kind of
 * scale, every target, ranks whose slices start within a block. */
#include "model_folders.h"
#include "slow_prepare.h"

#include <fp8moe/prepare.h>

#define BLOCK(dtype)                                                                               \
    .scale_suffix = "_scale_inv", .scale_dtype = FP8MOE_DTYPE_##dtype, .scale = MADE_SCALE_BLOCK

static const made_model models[] = {
    {.prefix = "model.layers.0.mlp.",
     BLOCK(F32),
     .experts = 4,
     .hidden = 40,
     .inter = 24,
     .block_rows = 8,
     .block_cols = 16,
     .shards = 2,
     .seed = 21},
    {.prefix = "model.layers.0.mlp.",
     BLOCK(BF16),
     .naming = MADE_FUSED_W13,
     .experts = 3,
     .hidden = 20,
     .inter = 12,
     .block_rows = 8,
     .block_cols = 8,
     .shards = 1,
     .seed = 22},
    {.prefix = "model.layers.0.mlp.",
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .naming = MADE_JOINED,
     .scale = MADE_SCALE_BLOCK_THROUGH,
     .experts = 2,
     .hidden = 16,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 8,
     .shards = 1,
     .seed = 23},
    {.prefix = "model.layers.0.mlp.",
     .scale = MADE_SCALE_ROW,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 12,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .seed = 24},
    {.prefix = "model.layers.0.mlp.",
     .scale = MADE_SCALE_TENSOR,
     .scale_suffix = "_scale",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .experts = 2,
     .hidden = 12,
     .inter = 12,
     .block_rows = 4,
     .block_cols = 4,
     .shards = 1,
     .seed = 25},
    {.prefix = "model.layers.0.mlp.",
     .scale_suffix = "_scale_inv",
     .scale_dtype = FP8MOE_DTYPE_F32,
     .naming = MADE_JOINED,
     .scale = MADE_SCALE_BLOCK_THROUGH,
     .experts = 2,
     .hidden = 16,
     .inter = 12,
     .block_rows = 8,
     .block_cols = 4,
     .shards = 1,
     .seed = 26},
};

static const struct {
    const char *name;
    slow_device device;
} targets[] = {{"gaudi2", {.fp8_max = 240, .halves = true}}, {"gaudi3", {.fp8_max = 448}}};

/* The four tensors, filled. */
typedef struct filled {
    fp8moe_prepared form;
    uint8_t *w13, *w2;
    float *w13_scale, *w2_scale;
} filled;

static filled fill(const fp8moe_preparation *how, const fp8moe_moe_weights *weights)
{
    filled f;
    fp8moe_error err;
    if (fp8moe_prepare_form(how, weights->experts, weights->expert_count, &f.form, &err) !=
        FP8MOE_OK)
        fail_msg("%s", err.message);
    f.w13 = malloc((size_t)fp8moe_tensor_count(&f.form.w13));
    f.w2 = malloc((size_t)fp8moe_tensor_count(&f.form.w2));
    f.w13_scale = malloc((size_t)fp8moe_tensor_count(&f.form.w13_scale) * sizeof(float));
    f.w2_scale = malloc((size_t)fp8moe_tensor_count(&f.form.w2_scale) * sizeof(float));
    assert_int_equal(fp8moe_prepare_experts(how, weights->experts, weights->expert_count, f.w13,
                                            f.w13_scale, f.w2, f.w2_scale, NULL),
                     FP8MOE_OK);
    return f;
}

static void drop(filled *f)
{
    free(f->w13);
    free(f->w2);
    free(f->w13_scale);
    free(f->w2_scale);
}

/* Rows and columns of the whole matrix that a rank holds. */
typedef struct span {
    int64_t row, rows, column, columns;
} span;

static span span_of(const made_model *m, made_matrix which, const fp8moe_ranks *ranks)
{
    const int64_t inter = m->inter / ranks->tp_size, first = ranks->tp_rank * inter;
    return which == MADE_DOWN ? (span){0, m->hidden, first, inter}
                              : (span){first, inter, 0, m->hidden};
}

static void expect_prepared_matrix(const made_model *m, const slow_device *d, int64_t expert,
                                   made_matrix which, const span *s, const uint8_t *codes,
                                   const float *scales)
{
    const bool blocks = m->scale == MADE_SCALE_BLOCK || m->scale == MADE_SCALE_BLOCK_THROUGH;
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t row = s->row + r;
        const double want =
            blocks ? slow_prepared_scale(m, d, expert, which, row, s->column, s->columns)
                   : slow_loaded_scale(d, made_scale_of(m, expert, which, row, s->column));
        if ((double)scales[r] != want)
            fail_msg("row %d: scale %g, wanted %g", (int)row, (double)scales[r], want);
        for (int64_t c = 0; c < s->columns; c++) {
            const int64_t column = s->column + c;
            const uint8_t code =
                blocks ? slow_prepared_code(m, d, want, expert, which, row, column)
                       : slow_loaded_code(d, made_code(m, expert, which, row, column));
            if (codes[r * s->columns + c] != code)
                fail_msg("matrix %d, row %d, column %d: code %02x, wanted %02x", (int)which,
                         (int)row, (int)column, codes[r * s->columns + c], code);
        }
    }
}

static void expect_prepared(const made_model *m, const slow_device *d, const fp8moe_ranks *ranks,
                            const filled *f)
{
    const int64_t inter = m->inter / ranks->tp_size, count = m->experts / ranks->ep_size;
    assert_int_equal(f->form.w13.shape[0], count);
    assert_int_equal(f->form.w13.shape[1], 2 * inter);
    assert_int_equal(f->form.w13.shape[2], m->hidden);
    assert_int_equal(f->form.w2.shape[1], m->hidden);
    assert_int_equal(f->form.w2.shape[2], inter);
    assert_int_equal(f->form.w13_scale.rank, 2);
    assert_int_equal(f->form.w13_scale.shape[1], 2 * inter);
    assert_int_equal(f->form.w2_scale.rank, 2);
    assert_int_equal(f->form.w2_scale.shape[1], m->hidden);
    for (int64_t i = 0; i < count; i++)
        for (int which = MADE_GATE; which <= MADE_DOWN; which++) {
            const span s = span_of(m, (made_matrix)which, ranks);
            const bool down = which == MADE_DOWN;
            const int64_t half = which == MADE_UP ? inter : 0;
            expect_prepared_matrix(
                m, d, ranks->ep_rank * count + i, (made_matrix)which, &s,
                down ? f->w2 + i * m->hidden * inter : f->w13 + (i * 2 * inter + half) * m->hidden,
                down ? f->w2_scale + i * m->hidden : f->w13_scale + i * 2 * inter + half);
        }
}

static fp8moe_moe_weights weights_of(fp8moe_checkpoint *model, const fp8moe_ranks *ranks)
{
    fp8moe_moe_weights weights;
    fp8moe_error err;
    if (fp8moe_checkpoint_moe(model, 0, ranks, &weights, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    return weights;
}

static fp8moe_checkpoint *make(const made_model *m)
{
    const char *const folder = new_folder();
    made_model_write(m, folder);
    return open_ok(folder);
}

/* Slices of 12, 8 and 6 of I: those of 12 and 6 start within blocks of 8. */
static void test_prepared(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        fp8moe_checkpoint *const model = make(&models[i]);
        for (size_t t = 0; t < COUNT(targets); t++)
            for (int64_t tp = 1; tp <= 4; tp++) {
                const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = tp - 1, .tp_size = tp};
                fp8moe_moe_weights weights = weights_of(model, &ranks);
                const fp8moe_preparation how = {.target = fp8moe_target_find(targets[t].name),
                                                .from = FP8MOE_WEIGHTS_CHECKPOINT,
                                                .to = FP8MOE_WEIGHTS_PREPARED,
                                                .block_rows = weights.block_rows,
                                                .block_cols = weights.block_cols,
                                                .threads = (int)tp};
                filled f = fill(&how, &weights);
                expect_prepared(&models[i], &targets[t].device, &ranks, &f);
                drop(&f);
                fp8moe_moe_weights_free(&weights);
            }
        fp8moe_checkpoint_close(model);
    }
}

/* The scale of an element of one matrix of a loaded tensor: `part` is 1 for up, below gate. */
static double loaded_scale(const made_model *m, const float *scales, int64_t part, const span *s,
                           int64_t row, int64_t column)
{
    const int64_t grid_rows = (s->rows + m->block_rows - 1) / m->block_rows,
                  grid_cols = (s->columns + m->block_cols - 1) / m->block_cols;
    if (m->scale == MADE_SCALE_TENSOR) return (double)scales[part];
    if (m->scale == MADE_SCALE_ROW) return (double)scales[part * s->rows + row];
    const int64_t grid_row = part * grid_rows + row / m->block_rows;
    return (double)scales[grid_row * grid_cols + column / m->block_cols];
}

static void expect_loaded(const made_model *m, const slow_device *d, const fp8moe_ranks *ranks,
                          const filled *f)
{
    const int64_t count = m->experts;
    const int64_t w13_scales = fp8moe_tensor_count(&f->form.w13_scale) / count,
                  w2_scales = fp8moe_tensor_count(&f->form.w2_scale) / count;
    for (int64_t e = 0; e < count; e++)
        for (int which = MADE_GATE; which <= MADE_DOWN; which++) {
            const span s = span_of(m, (made_matrix)which, ranks);
            const bool down = which == MADE_DOWN;
            const uint8_t *const codes = down ? f->w2 + e * s.rows * s.columns
                                              : f->w13 + (2 * e + which) * s.rows * s.columns;
            const float *const scales =
                down ? f->w2_scale + e * w2_scales : f->w13_scale + e * w13_scales;
            for (int64_t i = 0; i < s.rows * s.columns; i++) {
                const int64_t r = i / s.columns, c = i % s.columns;
                assert_int_equal(codes[i], slow_loaded_code(d, made_code(m, e, (made_matrix)which,
                                                                         s.row + r, s.column + c)));
                assert_true(loaded_scale(m, scales, which == MADE_UP, &s, r, c) ==
                            slow_loaded_scale(d, made_scale_of(m, e, (made_matrix)which, s.row + r,
                                                               s.column + c)));
            }
        }
}

/* Whether the loaded tensors of a rank can have scale grids of their own. */
static bool has_own_grid(const made_model *m, const fp8moe_ranks *ranks)
{
    const int64_t first = ranks->tp_rank * m->inter / ranks->tp_size;
    const int64_t up = m->scale == MADE_SCALE_BLOCK_THROUGH ? m->inter + first : first;
    if (m->scale != MADE_SCALE_BLOCK && m->scale != MADE_SCALE_BLOCK_THROUGH) return true;
    return first % m->block_rows == 0 && up % m->block_rows == 0 && first % m->block_cols == 0;
}

static void expect_loaded_rank(const made_model *m, fp8moe_checkpoint *model, size_t target,
                               const fp8moe_ranks *ranks)
{
    fp8moe_moe_weights weights = weights_of(model, ranks);
    const fp8moe_preparation how = {.target = fp8moe_target_find(targets[target].name),
                                    .from = FP8MOE_WEIGHTS_CHECKPOINT,
                                    .to = FP8MOE_WEIGHTS_LOADED,
                                    .block_rows = weights.block_rows,
                                    .block_cols = weights.block_cols,
                                    .threads = 2};
    fp8moe_prepared form;
    fp8moe_error err;
    if (has_own_grid(m, ranks)) {
        filled f = fill(&how, &weights);
        expect_loaded(m, &targets[target].device, ranks, &f);
        drop(&f);
    } else {
        expect_error(&err,
                     fp8moe_prepare_form(&how, weights.experts, weights.expert_count, &form, &err),
                     FP8MOE_ERR_USAGE, "", "", "starts within a scale block");
    }
    fp8moe_moe_weights_free(&weights);
}

static void test_loaded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(models); i++) {
        fp8moe_checkpoint *const model = make(&models[i]);
        for (size_t t = 0; t < COUNT(targets); t++)
            for (int64_t tp = 1; tp <= 4; tp++)
                for (int64_t rank = 0; rank < tp; rank++) {
                    const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = rank, .tp_size = tp};
                    expect_loaded_rank(&models[i], model, t, &ranks);
                }
        fp8moe_checkpoint_close(model);
    }
}

/* From loaded to prepared nothing is halved again. Gaudi2 reads codes from 0x78 on as Inf and NaN,
 * so only rows without them are asked. */
static void test_loaded_is_not_halved_twice(void **state)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    static const slow_device no_loader = {.fp8_max = 240};
    const made_model *const m = &models[0];
    int asked = 0;
    (void)state;
    fp8moe_checkpoint *const model = make(m);
    fp8moe_moe_weights weights = weights_of(model, &whole);
    const fp8moe_preparation how = {.target = fp8moe_target_find("gaudi2"),
                                    .from = FP8MOE_WEIGHTS_LOADED,
                                    .to = FP8MOE_WEIGHTS_PREPARED,
                                    .block_rows = m->block_rows,
                                    .block_cols = m->block_cols,
                                    .threads = 1};
    filled f = fill(&how, &weights);
    for (int64_t row = 0; row < m->inter; row++) {
        bool finite = true;
        for (int64_t c = 0; c < m->hidden; c++)
            finite &= (made_code(m, 0, MADE_GATE, row, c) & 0x7F) < 0x78;
        if (!finite) continue;
        asked++;
        const double scale = slow_prepared_scale(m, &no_loader, 0, MADE_GATE, row, 0, m->hidden);
        assert_true((double)f.w13_scale[row] == scale);
        for (int64_t c = 0; c < m->hidden; c++)
            assert_int_equal(f.w13[row * m->hidden + c],
                             slow_prepared_code(m, &no_loader, scale, 0, MADE_GATE, row, c));
    }
    assert_true(asked > 5);
    drop(&f);
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
}

static void test_refused(void **state)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    static const made_model bf16 = {.prefix = "model.layers.0.mlp.",
                                    .scale = MADE_SCALE_NONE,
                                    .scale_suffix = "_scale",
                                    .experts = 2,
                                    .hidden = 8,
                                    .inter = 8,
                                    .block_rows = 128,
                                    .block_cols = 128,
                                    .shards = 1};
    const fp8moe_preparation how = {.target = fp8moe_target_find("gaudi3"),
                                    .from = FP8MOE_WEIGHTS_CHECKPOINT,
                                    .to = FP8MOE_WEIGHTS_PREPARED,
                                    .block_rows = 8,
                                    .block_cols = 16,
                                    .threads = 1};
    fp8moe_prepared form;
    fp8moe_error err;
    (void)state;
    fp8moe_checkpoint *const model = make(&models[0]), *const plain = make(&bf16);
    fp8moe_moe_weights weights = weights_of(model, &whole), unquantised = weights_of(plain, &whole);
    fp8moe_preparation backwards = how;
    backwards.from = FP8MOE_WEIGHTS_PREPARED;
    expect_error(&err, fp8moe_prepare_form(&backwards, weights.experts, 4, &form, &err),
                 FP8MOE_ERR_USAGE, "", "",
                 "weights at stage prepared cannot be taken to stage prepared");
    backwards.from = backwards.to = FP8MOE_WEIGHTS_LOADED;
    expect_error(&err, fp8moe_prepare_form(&backwards, weights.experts, 4, &form, &err),
                 FP8MOE_ERR_USAGE, "", "",
                 "weights at stage loaded cannot be taken to stage loaded");
    backwards.from = FP8MOE_WEIGHTS_UNKNOWN;
    expect_error(&err, fp8moe_prepare_form(&backwards, weights.experts, 4, &form, &err),
                 FP8MOE_ERR_USAGE, "", "", "unknown");
    expect_error(&err, fp8moe_prepare_form(&how, weights.experts, 0, &form, &err), FP8MOE_ERR_SHAPE,
                 "", "", "no experts");
    expect_error(&err, fp8moe_prepare_form(&how, unquantised.experts, 2, &form, &err),
                 FP8MOE_ERR_DTYPE, "", "", "these are BF16 without");
    static const float one = 1;
    const fp8moe_tensor number = fp8moe_tensor_view(&one, FP8MOE_DTYPE_F32, 0, NULL);
    const fp8moe_tensor grid = weights.experts[0].up.scale;
    unquantised.experts[0].gate.scale = unquantised.experts[0].up.scale = number;
    unquantised.experts[0].down.scale = number;
    expect_error(&err, fp8moe_prepare_form(&how, unquantised.experts, 1, &form, &err),
                 FP8MOE_ERR_DTYPE, "", "", "these are BF16");
    weights.experts[0].up.scale = number; /* other than its gate */
    expect_error(&err, fp8moe_prepare_form(&how, weights.experts, 1, &form, &err), FP8MOE_ERR_SHAPE,
                 "", "", "expert 0 has other scales");
    weights.experts[0].up.scale = (fp8moe_tensor){0};
    expect_error(&err, fp8moe_prepare_form(&how, weights.experts, 1, &form, &err), FP8MOE_ERR_DTYPE,
                 "", "", "these are F8_E4M3 without");
    weights.experts[0].up.scale = grid;
    weights.experts[2].down.scale = number;
    expect_error(&err, fp8moe_prepare_form(&how, weights.experts, 4, &form, &err), FP8MOE_ERR_SHAPE,
                 "", "", "expert 2 has other scales than expert 0");
    weights.experts[1].down.weight = fp8moe_tensor_slice(&weights.experts[1].down.weight, 1, 0, 3);
    expect_error(&err, fp8moe_prepare_form(&how, weights.experts, 4, &form, &err), FP8MOE_ERR_SHAPE,
                 "", "down", "expected [40, 24]");
    fp8moe_moe_weights_free(&weights);
    fp8moe_moe_weights_free(&unquantised);
    fp8moe_checkpoint_close(model);
    fp8moe_checkpoint_close(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_loaded),
        cmocka_unit_test(test_loaded_is_not_halved_twice),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

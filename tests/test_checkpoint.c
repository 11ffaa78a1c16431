/* Model folders: cases B10, D04, D06, D12 and H13 of the case list; every kind of names, scales and
 * ranks against what the folder was made of; and what a stranger's folder may not do. */
#include "bits.h"
#include "e4m3.h"
#include "kernels.h"
#include "made_checkpoint.h"
#include "shared_folder.h"
#include "slow_model.h"
#include "weights.h"

#include <fcntl.h>
#include <fp8moe/dump.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static char base[] = "/tmp/fp8moe-test-XXXXXX";

/* ---- folders ---- */

static int make_base(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    char command[64];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* A new folder below the base; valid until the next call. */
static const char *new_folder(void)
{
    static char folder[64];
    static int number;
    (void)snprintf(folder, sizeof folder, "%s/%d", base, number++);
    assert_int_equal(mkdir(folder, 0755), 0);
    return folder;
}

static const char *in(const char *folder, const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    assert_int_equal(fp8moe_file_write(in(folder, name), text, strlen(text), NULL), FP8MOE_OK);
}

static void write_tensors(const char *folder, const char *name, const fp8moe_named_tensor *tensors,
                          size_t count)
{
    assert_int_equal(fp8moe_safetensors_write(in(folder, name), tensors, count, NULL, 0, NULL),
                     FP8MOE_OK);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    FILE *const source = fopen(from, "rb");
    if (!source) fail_msg("cannot open %s", from);
    const size_t size = fread(bytes, 1, sizeof bytes, source);
    (void)fclose(source);
    assert_int_equal(fp8moe_file_write(to, bytes, size, NULL), FP8MOE_OK);
}

static fp8moe_checkpoint *open_ok(const char *folder)
{
    fp8moe_checkpoint *model = NULL;
    fp8moe_error err;
    if (fp8moe_checkpoint_open(folder, &model, &err) != FP8MOE_OK)
        fail_msg("%s: %s", err.file, err.message);
    return model;
}

static void expect_error(const fp8moe_error *err, fp8moe_status status, fp8moe_status want,
                         const char *file, const char *tensor, const char *sentence)
{
    if (status != want || !strstr(err->message, sentence) || !strstr(err->file, file) ||
        strcmp(err->tensor, tensor) != 0)
        fail_msg("got %s, file '%s', tensor '%s': %s\n  wanted %s, file '%s', tensor '%s': %s",
                 fp8moe_status_name(status), err->file, err->tensor, err->message,
                 fp8moe_status_name(want), file, tensor, sentence);
}

static void expect_open_error(const char *folder, fp8moe_status want, const char *file,
                              const char *sentence)
{
    fp8moe_checkpoint *model = NULL;
    fp8moe_error err;
    const fp8moe_status status = fp8moe_checkpoint_open(folder, &model, &err);
    if (status == FP8MOE_OK) fail_msg("opened, wanted: %s", sentence);
    expect_error(&err, status, want, file, "", sentence);
    assert_null(model);
}

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
                                  .decode = k.decode};
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

/* ---- the case list ---- */

/* A folder whose model.safetensors is a file of the case list; NULL: skip. */
static const char *case_folder(const char *file)
{
    char relative[64], from[512];
    (void)snprintf(relative, sizeof relative, "cases/files/%s.safetensors", file);
    if (!shared_path(from, sizeof from, relative)) return NULL;
    const char *const folder = new_folder();
    copy_file(from, in(folder, "model.safetensors"));
    return folder;
}

static void test_case_b10(void **state)
{
    static const double want[] = {0.25, 0.5, 0.125, -0.25};
    static const char *const files[] = {"B10_weight_scale", "B10_scale"},
                             name[] = "experts.0.up_proj.weight";
    fp8moe_weight w;
    fp8moe_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        const char *const folder = case_folder(files[i]);
        if (!folder) skip();
        fp8moe_checkpoint *const model = open_ok(folder);
        assert_int_equal(fp8moe_checkpoint_weight(model, name, &w, NULL), FP8MOE_OK);
        expect_values(&w, 128, want, 4);
        fp8moe_checkpoint_close(model);
    }
    fp8moe_checkpoint *const model = open_ok(case_folder("B10_none"));
    const fp8moe_status status = fp8moe_checkpoint_weight(model, name, &w, &err);
    expect_error(&err, status, FP8MOE_ERR_NOT_FOUND, "/model.safetensors", name, "_scale_inv");
    expect_error(&err, status, FP8MOE_ERR_NOT_FOUND, base, name, ".scale");
    fp8moe_checkpoint_close(model);
}

static void test_case_d06(void **state)
{
    static const double want[] = {0.0078125, 0.015625, 0.00390625, -0.0078125};
    static const char *const files[] = {"D06_bf16", "D06_f16", "D06_f32", "D06_e8m0"};
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        fp8moe_weight w;
        const char *const folder = case_folder(files[i]);
        if (!folder) skip();
        fp8moe_checkpoint *const model = open_ok(folder);
        assert_int_equal(fp8moe_checkpoint_weight(model, "w", &w, NULL), FP8MOE_OK);
        expect_values(&w, 128, want, 4);
        fp8moe_checkpoint_close(model);
    }
}

static void test_case_h13(void **state)
{
    char folder[512];
    fp8moe_tensor t;
    fp8moe_error err;
    double value;
    (void)state;
    if (!shared_path(folder, sizeof folder, "cases/files/H13")) skip();
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_false(fp8moe_checkpoint_config(model)->found);
    assert_int_equal(fp8moe_checkpoint_tensor_count(model), 3);
    assert_int_equal(fp8moe_checkpoint_shard_count(model), 2);
    assert_int_equal(fp8moe_checkpoint_tensor(model, "a", &t, NULL), FP8MOE_OK);
    fp8moe_tensor_read_f64(&t, 0, 1, &value);
    assert_true(value == 1);
    expect_error(&err, fp8moe_checkpoint_tensor(model, "b", &t, &err), FP8MOE_ERR_IO,
                 "/H13/model-00002-of-00002.safetensors", "b", "no such file");
    expect_error(&err, fp8moe_checkpoint_tensor(model, "c", &t, &err), FP8MOE_ERR_NOT_FOUND,
                 "/H13/model-00001-of-00002.safetensors", "c",
                 "not in model-00001-of-00002.safetensors, although the index says so");
    expect_error(&err, fp8moe_checkpoint_tensor(model, "d", &t, &err), FP8MOE_ERR_NOT_FOUND, "/H13",
                 "d", "no such tensor");
    fp8moe_checkpoint_close(model);
}

/* I 6, blocks of 4 rows, rank 1 of 2: rows 3, 4, 5 have the scales of blocks 0, 1, 1. */
static void test_case_d04(void **state)
{
    static const double rows[] = {1, 1, 16, 16, 16, 16}, columns[] = {1, 16, 16, 1, 16, 16};
    static const uint8_t ones[12] = {0x38, 0x38, 0x38, 0x38, 0x38, 0x38,
                                     0x38, 0x38, 0x38, 0x38, 0x38, 0x38};
    static const float scales[2] = {1, 16};
    static const int64_t tall[2] = {6, 2}, wide[2] = {2, 6}, tall_grid[2] = {2, 1},
                         wide_grid[2] = {1, 2};
    const fp8moe_tensor w13 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, tall),
                        s13 = fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 2, tall_grid),
                        w2 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, wide),
                        s2 = fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 2, wide_grid);
    const fp8moe_named_tensor tensors[] = {
        {"experts.0.w1.weight", w13}, {"experts.0.w1.weight_scale_inv", s13},
        {"experts.0.w3.weight", w13}, {"experts.0.w3.weight_scale_inv", s13},
        {"experts.0.w2.weight", w2},  {"experts.0.w2.weight_scale_inv", s2}};
    const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = 1, .tp_size = 2};
    fp8moe_moe_weights weights;
    size_t layer;
    (void)state;
    const char *const folder = new_folder();
    write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
    write_text(
        folder, "config.json",
        "{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [4, 4]}}");
    fp8moe_checkpoint *const model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_layer_find(model, -1, &layer, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_checkpoint_moe(model, layer, &ranks, &weights, NULL), FP8MOE_OK);
    assert_true(weights.splits_blocks);
    assert_int_equal(weights.intermediate, 3);
    assert_int_equal(weights.block_rows, 4);
    expect_values(&weights.experts[0].gate, 4, rows, 6);
    expect_values(&weights.experts[0].up, 4, rows, 6);
    expect_values(&weights.experts[0].down, 4, columns, 6);
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
}

/* E 2, I 1, H 2: the same eight numbers under every shape of per-channel scales; a transposed one
 * is refused. */
static void test_case_d12(void **state)
{
    static const uint8_t ones[8] = {0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38};
    static const float scales[4] = {1, 2, 4, 8}, down_scales[2] = {1, 1};
    static const int64_t fused[3] = {2, 2, 2}, fused_down[3] = {2, 2, 1}, single[2] = {2, 2},
                         single_down[2] = {2, 1};
    static const int64_t single_scale[2] = {2, 1}, one[1] = {1}, none[1] = {2};
    static const struct {
        int rank;
        int64_t shape[3];
        bool refused;
    } variants[] = {
        {2, {2, 2}, false}, {3, {2, 2, 1}, false}, {3, {2, 1, 2}, true}, {0, {0}, false}};
    const fp8moe_ranks ranks = {.ep_size = 1, .tp_size = 1};
    (void)state;
    for (size_t v = 0; v < COUNT(variants); v++) {
        const bool joined = variants[v].rank == 0; /* E tensors of [2I, 1] */
        const char *const folder = new_folder();
        fp8moe_moe_weights weights;
        fp8moe_error err;
        if (joined) {
            const fp8moe_tensor w13 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, single),
                                w2 = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 2, single_down),
                                s2 = fp8moe_tensor_view(down_scales, FP8MOE_DTYPE_F32, 1, one);
            const fp8moe_named_tensor tensors[] = {
                {"experts.0.gate_up_proj.weight", w13},
                {"experts.0.gate_up_proj.weight_scale",
                 fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, 2, single_scale)},
                {"experts.1.gate_up_proj.weight", w13},
                {"experts.1.gate_up_proj.weight_scale",
                 fp8moe_tensor_view(scales + 2, FP8MOE_DTYPE_F32, 2, single_scale)},
                {"experts.0.down_proj.weight", w2},
                {"experts.0.down_proj.weight_scale", s2},
                {"experts.1.down_proj.weight", w2},
                {"experts.1.down_proj.weight_scale", s2}};
            write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
        } else {
            const fp8moe_named_tensor tensors[] = {
                {"experts.w13_weight", fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, fused)},
                {"experts.w13_weight_scale",
                 fp8moe_tensor_view(scales, FP8MOE_DTYPE_F32, variants[v].rank, variants[v].shape)},
                {"experts.w2_weight",
                 fp8moe_tensor_view(ones, FP8MOE_DTYPE_F8_E4M3, 3, fused_down)},
                {"experts.w2_weight_scale",
                 fp8moe_tensor_view(down_scales, FP8MOE_DTYPE_F32, 1, none)}};
            write_tensors(folder, "model.safetensors", tensors, COUNT(tensors));
        }
        fp8moe_checkpoint *const model = open_ok(folder);
        const fp8moe_status status = fp8moe_checkpoint_moe(model, 0, &ranks, &weights, &err);
        if (variants[v].refused) {
            expect_error(&err, status, FP8MOE_ERR_SHAPE, folder, "experts.w13_weight",
                         "scale [1, 2] fits no layout");
        } else {
            if (status != FP8MOE_OK) fail_msg("variant %d: %s", (int)v, err.message);
            for (int e = 0; e < 2; e++) {
                const double gate[] = {scales[2 * e], scales[2 * e]},
                             up[] = {scales[2 * e + 1], scales[2 * e + 1]};
                expect_values(&weights.experts[e].gate, 128, gate, 2);
                expect_values(&weights.experts[e].up, 128, up, 2);
            }
            fp8moe_moe_weights_free(&weights);
        }
        fp8moe_checkpoint_close(model);
    }
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
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .static_input = true,
     .seed = 9},
    {.prefix = "model.layers.0.mlp.",
     .naming = MADE_GATE_UP_DOWN,
     .scale = MADE_SCALE_NONE,
     .scale_suffix = "_scale_inv",
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
     .experts = 2,
     .hidden = 10,
     .inter = 12,
     .block_rows = 128,
     .block_cols = 128,
     .shards = 1,
     .seed = 11},
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

static void test_descriptions(void **state)
{
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
        assert_null(form.gate.data);
        fp8moe_checkpoint_close(model);
    }
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
                                  .decode = k.decode};
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

static void test_paths_that_leave_are_refused(void **state)
{
    static const char *const names[] = {"../x.safetensors", "/etc/hostname",
                                        "a/../../x.safetensors", "..", ""};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char index[256];
        fp8moe_tensor t;
        fp8moe_error err;
        const char *const folder = new_folder();
        (void)snprintf(index, sizeof index, "{\"weight_map\": {\"w\": \"%s\"}}", names[i]);
        write_text(folder, "model.safetensors.index.json", index);
        fp8moe_checkpoint *const model = open_ok(folder);
        expect_error(&err, fp8moe_checkpoint_tensor(model, "w", &t, &err), FP8MOE_ERR_FORMAT,
                     folder, "w", "leaves the model folder");
        fp8moe_checkpoint_close(model);
    }
}

/* A folder with one tensor "w" in model.safetensors, which is `target` behind a link. */
static void link_model(const char *folder, const char *target)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(symlink(target, path), 0);
}

static void write_one(const char *path_folder, const char *name)
{
    static const float value = 1;
    static const int64_t shape[1] = {1};
    const fp8moe_named_tensor tensor = {"w",
                                        fp8moe_tensor_view(&value, FP8MOE_DTYPE_F32, 1, shape)};
    write_tensors(path_folder, name, &tensor, 1);
}

static void test_symbolic_links(void **state)
{
    char outside[64], repository[128], snapshot[160], blobs[160], link_of_folder[96];
    (void)state;
    (void)snprintf(outside, sizeof outside, "%s", new_folder());
    write_one(outside, "real.safetensors");

    const char *folder = new_folder(); /* within the folder */
    write_one(folder, "other.safetensors");
    link_model(folder, "other.safetensors");
    fp8moe_checkpoint_close(open_ok(folder));

    folder = new_folder(); /* out of it */
    link_model(folder, in(outside, "real.safetensors"));
    expect_open_error(folder, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "a symbolic link leads out of the model folder");

    folder = new_folder(); /* to nothing */
    link_model(folder, "absent.safetensors");
    expect_open_error(folder, FP8MOE_ERR_IO, "/model.safetensors",
                      "a symbolic link to a file that is not there");

    folder = new_folder(); /* to itself */
    link_model(folder, "model.safetensors");
    expect_open_error(folder, FP8MOE_ERR_IO, "/model.safetensors", "cannot be opened");

    (void)snprintf(repository, sizeof repository, "%s/models--org--name", new_folder());
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", repository);
    (void)snprintf(snapshot, sizeof snapshot, "%s/snapshots", repository);
    assert_int_equal(mkdir(repository, 0755) | mkdir(blobs, 0755) | mkdir(snapshot, 0755), 0);
    (void)snprintf(snapshot, sizeof snapshot, "%s/snapshots/0123abc", repository);
    assert_int_equal(mkdir(snapshot, 0755), 0);
    write_one(blobs, "c0ffee");
    link_model(snapshot, "../../blobs/c0ffee");
    fp8moe_checkpoint_close(open_ok(snapshot));
    (void)snprintf(link_of_folder, sizeof link_of_folder, "%s/link", outside);
    assert_int_equal(symlink(snapshot, link_of_folder), 0);
    fp8moe_checkpoint_close(open_ok(link_of_folder));

    assert_int_equal(unlink(in(snapshot, "model.safetensors")),
                     0); /* a snapshot's link elsewhere */
    link_model(snapshot, in(outside, "real.safetensors"));
    expect_open_error(snapshot, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "leads out of the model folder");

    assert_int_equal(unlink(in(snapshot, "model.safetensors")),
                     0); /* a folder that only starts like blobs */
    (void)snprintf(blobs, sizeof blobs, "%s/blobs-of-others", repository);
    assert_int_equal(mkdir(blobs, 0755), 0);
    write_one(blobs, "c0ffee");
    link_model(snapshot, "../../blobs-of-others/c0ffee");
    expect_open_error(snapshot, FP8MOE_ERR_FORMAT, "/model.safetensors",
                      "leads out of the model folder");
}

static void test_folders_that_are_none(void **state)
{
    char path[1024];
    (void)state;
    expect_open_error(in(base, "absent"), FP8MOE_ERR_IO, "absent", "there is no such folder");
    const char *const folder = new_folder();
    expect_open_error(folder, FP8MOE_ERR_IO, folder,
                      "neither model.safetensors.index.json nor model.safetensors");
    write_one(folder, "model.safetensors");
    (void)snprintf(path, sizeof path, "%s", in(folder, "model.safetensors"));
    expect_open_error(path, FP8MOE_ERR_IO, path, "is no folder");
}

static void test_broken_indexes(void **state)
{
    static const struct {
        const char *text, *sentence;
        int64_t offset;
    } rows[] = {
        {"[]", "must have an object \"weight_map\"", 0},
        {"{\"weight_map\": 3}", "must have an object \"weight_map\"", 15},
        {"{\"weight_map\": {\"a\": 1}}",
         "must name a file for every tensor, this one is a whole number", 21},
        {"{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}", "\"a\" appears twice", 26},
        {"{\"weight_map\": {\"a\\u001b[2J\": \"x\"}}", "control character", 16},
        {"{\"weight_map\": {\"a\": \"x\\n\"}}", "a file's name holds a control character", 21},
        {"{\"weight_map\": {", "JSON ends where", 16},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_checkpoint *model = NULL;
        fp8moe_error err;
        const char *const folder = new_folder();
        write_text(folder, "model.safetensors.index.json", rows[i].text);
        expect_error(&err, fp8moe_checkpoint_open(folder, &model, &err), FP8MOE_ERR_FORMAT,
                     "/model.safetensors.index.json", "", rows[i].sentence);
        assert_int_equal(err.offset, rows[i].offset);
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

static fp8moe_tensor f32(const float *data)
{
    return fp8moe_tensor_view(data, FP8MOE_DTYPE_F32, 0, NULL);
}

static void test_experts_that_do_not_fit(void **state)
{
    static const float one = 1, two = 2;
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
        {transposed, COUNT(transposed), FP8MOE_ERR_UNSUPPORTED, "", "stored transposed"},
        {ragged, COUNT(ragged), FP8MOE_ERR_SHAPE, "", "experts [2, 8, 6] and [3, 6, 4]"},
        {odd, COUNT(odd), FP8MOE_ERR_SHAPE, "experts.0.gate_up_proj.weight", "even number"},
        {flat, COUNT(flat), FP8MOE_ERR_SHAPE, "experts.0.gate_up_proj.weight", "expected [2I, H]"},
        {router, COUNT(router), FP8MOE_ERR_SHAPE, "gate.weight", "shape [2, 6] for 1 experts"},
        {correction, COUNT(correction), FP8MOE_ERR_SHAPE, "e_score_correction_bias",
         "shape [3] for 1 experts"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_tensors_refused(rows[i].tensors, rows[i].count, rows[i].status, rows[i].tensor,
                               rows[i].sentence);
}

/* ---- layers of many names ---- */

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
    const char *const dense = new_folder();
    write_one(dense, "model.safetensors");
    fp8moe_checkpoint *const none = open_ok(dense);
    expect_error(&err, fp8moe_checkpoint_layer_find(none, 0, &found, &err), FP8MOE_ERR_NOT_FOUND,
                 dense, "", "no mixture of experts");
    fp8moe_checkpoint_close(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_case_b10),
        cmocka_unit_test(test_case_d04),
        cmocka_unit_test(test_case_d06),
        cmocka_unit_test(test_case_d12),
        cmocka_unit_test(test_case_h13),
        cmocka_unit_test(test_all_models),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_row_scales_are_of_the_slice),
        cmocka_unit_test(test_paths_that_leave_are_refused),
        cmocka_unit_test(test_symbolic_links),
        cmocka_unit_test(test_folders_that_are_none),
        cmocka_unit_test(test_broken_indexes),
        cmocka_unit_test(test_ranks_that_do_not_divide),
        cmocka_unit_test(test_configs_that_do_not_fit),
        cmocka_unit_test(test_experts_that_do_not_fit),
        cmocka_unit_test(test_layers_are_found_by_number),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

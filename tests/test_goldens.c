/* The verdict on public golden files ($FP8MOE_SHARED/fixtures): what they publish is the same, each
 * difference named; the same layer with a fault in it is different. Skipped visibly without them.
 */
#include "shared_folder.h"

#include <fp8moe/dump.h>
#include <fp8moe/judge.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- a golden file ---- */

typedef struct golden {
    fp8moe_dump *dump;
    fp8moe_config config;
    fp8moe_inputs inputs;
    fp8moe_tensor output;
    void *owned[16];
    int owned_count;
    int64_t tokens, hidden, inter;
    double *up_gate; /* [T, K, 2I] while a run is recorded */
} golden;

static void *golden_room(golden *g, size_t size)
{
    assert_true(g->owned_count < (int)COUNT(g->owned));
    void *const memory = calloc(size, 1);
    assert_non_null(memory);
    return g->owned[g->owned_count++] = memory;
}

/* Absent where the file has no such tensor. */
static fp8moe_tensor take(golden *g, const char *name)
{
    fp8moe_tensor out = {0};
    const int64_t at = fp8moe_dump_find(g->dump, name);
    if (at >= 0) assert_int_equal(fp8moe_dump_tensor(g->dump, (size_t)at, &out, NULL), FP8MOE_OK);
    return out;
}

static fp8moe_tensor take_either(golden *g, const char *name, const char *other)
{
    const fp8moe_tensor first = take(g, name);
    return fp8moe_tensor_present(&first) ? first : take(g, other);
}

static golden *golden_open(const char *file, const char *recipe, int64_t top_k, int64_t experts)
{
    golden *const g = calloc(1, sizeof *g);
    fp8moe_error err;
    char path[1024];
    assert_non_null(g);
    if (fp8moe_dump_open(shared_path(path, sizeof path, file), &g->dump, &err) != FP8MOE_OK)
        fail_msg("%s: %s", path, err.message);
    fp8moe_config_default(&g->config);
    g->config.target = fp8moe_target_find("gaudi2");
    g->config.recipe = fp8moe_recipe_find(recipe);
    g->config.weights_stage = FP8MOE_WEIGHTS_LOADED;
    g->config.routing.top_k = top_k;
    g->config.num_experts = g->config.local_num_experts = experts;
    g->config.replicate_expert = experts > 1;
    g->inputs.hidden_states = take(g, "hidden_states");
    g->inputs.router_logits = take(g, "router_logits");
    g->inputs.w13_weight = take(g, "w13_weight");
    g->inputs.w13_scale = take_either(g, "w13_weight_scale_inv", "w13_weight_scale");
    g->inputs.w13_input_scale = take(g, "w13_input_scale");
    g->inputs.w2_weight = take(g, "w2_weight");
    g->inputs.w2_scale = take_either(g, "w2_weight_scale_inv", "w2_weight_scale");
    g->inputs.w2_input_scale = take(g, "w2_input_scale");
    g->output = take(g, "ref_output");
    g->tokens = g->inputs.hidden_states.shape[0];
    g->hidden = g->inputs.hidden_states.shape[1];
    g->inter = g->inputs.w2_weight.shape[g->inputs.w2_weight.rank - 1];
    return g;
}

static void golden_close(golden *g)
{
    fp8moe_dump_close(g->dump);
    for (int i = 0; i < g->owned_count; i++)
        free(g->owned[i]);
    free(g->up_gate);
    free(g);
}

static void golden_judge(const golden *g, const fp8moe_tensor *got, int64_t row,
                         fp8moe_judgement *out)
{
    fp8moe_judge_options options;
    fp8moe_error err;
    fp8moe_judge_options_default(&options);
    options.first_row = options.last_row = row;
    if (fp8moe_judge(&g->config, &g->inputs, got, &options, NULL, out, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
}

static golden *open_fp8(void)
{
    return golden_open("fixtures/fp8/moe.safetensors", "dequant", 8, 128);
}

static golden *open_capture(void)
{
    return golden_open("fixtures/gaudi/moe_w8a8fp8_static_per_tensor.safetensors", "static-moe", 1,
                       1);
}

/* ---- what is published ---- */

static void the_fp8_golden_is_the_same(void **unused)
{
    (void)unused;
    golden *const g = open_fp8();
    fp8moe_judgement r;
    golden_judge(g, &g->output, -1, &r);
    assert_int_equal(r.verdict, FP8MOE_VERDICT_SAME);
    assert_string_equal(r.axis, "");
    /* All rows are equal and count once; one of 512 columns differs by its dots' noise. */
    assert_true(r.rows == 512 && r.rows_equal == 511 && r.flips == 0);
    assert_true(r.classes.identical == 511 && r.classes.expected == 1);
    assert_true(r.detection.sufficient && r.detection.swapped_gate_up);
    golden_close(g);
}

typedef struct row_row {
    int64_t row, flips, index;
    double from, to; /* of the product: one bf16 step towards zero */
    int64_t off;     /* elements that are not identical */
} row_row;

static const row_row row_rows[] = {
    {3, 1, 59, 5.078315734863281e-05, 5.054473876953125e-05, 2},
    {11, 1, 117, -0.000606536865234375, -0.0006027221679687500, 40},
    {5, 0, 0, 0, 0, 1},
    {8, 0, 0, 0, 0, 1},
    {12, 0, 0, 0, 0, 1},
    {17, 0, 0, 0, 0, 1},
    {0, 0, 0, 0, 0, 0},
    {21, 0, 0, 0, 0, 0},
};

static void the_unquantized_golden_is_explained_row_by_row(void **unused)
{
    (void)unused;
    golden *const g = golden_open("fixtures/fused_moe/unquantized.safetensors", "bf16", 8, 128);
    g->config.target = NULL;
    for (size_t i = 0; i < COUNT(row_rows); i++) {
        const row_row *const row = &row_rows[i];
        fp8moe_judgement r;
        golden_judge(g, &g->output, row->row, &r);
        const fp8moe_flip *const flip = &r.flip[0];
        if (r.verdict != FP8MOE_VERDICT_SAME || r.flips != row->flips || r.rows_noise != 0 ||
            r.classes.possible + r.classes.impossible != 0 ||
            r.classes.expected + r.classes.explained != row->off)
            fail_msg("row %d: %s, %d flips, %d expected", (int)row->row, r.reason, (int)r.flips,
                     (int)r.classes.expected);
        if (!row->flips) continue;
        assert_true(flip->token == row->row && flip->index == row->index);
        if (fabs(flip->from - row->from) > 1e-9 || fabs(flip->to - row->to) > 1e-9)
            fail_msg("row %d: %.12g -> %.12g", (int)row->row, flip->from, flip->to);
    }
    golden_close(g);
}

static void the_capture_is_explained_by_two_steps_of_silu(void **unused)
{
    (void)unused;
    golden *const g = open_capture();
    fp8moe_judgement r;
    golden_judge(g, &g->output, -1, &r);
    assert_int_equal(r.verdict, FP8MOE_VERDICT_SAME);
    assert_true(r.classes.identical == 349 && r.classes.explained == 163);
    assert_true(r.flips == 2 && r.flip[0].index == 37 && r.flip[1].index == 118);
    assert_true(r.flip[0].kind == FP8MOE_FLIP_SILU && r.flip[1].kind == FP8MOE_FLIP_SILU);
    golden_close(g);
}

static void the_gaudi_linear_is_the_same(void **unused)
{
    (void)unused;
    golden *const g = calloc(1, sizeof *g);
    char path[1024];
    fp8moe_judgement r;
    assert_non_null(g);
    shared_path(path, sizeof path, "fixtures/gaudi/linear_w8a8fp8_static_per_channel.safetensors");
    assert_int_equal(fp8moe_dump_open(path, &g->dump, NULL), FP8MOE_OK);
    fp8moe_config_default(&g->config);
    g->config.target = fp8moe_target_find("gaudi2");
    g->config.recipe = fp8moe_recipe_find("static-linear");
    g->config.weights_stage = FP8MOE_WEIGHTS_LOADED;
    g->inputs.hidden_states = take(g, "input");
    g->inputs.weight = take(g, "weight");
    g->inputs.weight_scale = take(g, "weight_scale");
    g->inputs.input_scale = take(g, "input_scale");
    g->output = take(g, "ref_output");
    golden_judge(g, &g->output, -1, &r);
    assert_int_equal(r.verdict, FP8MOE_VERDICT_SAME);
    /* Five rows of eight; the bucket's padding is one zero row that counts once, as padding. */
    assert_true(r.classes.identical == 40 && r.classes.padding == 8 && r.rows_equal == 58);
    golden_close(g);
}

/* ---- faults ---- */

/* A tensor of the file in memory of our own, to be spoilt. */
static void *own(golden *g, fp8moe_tensor *t)
{
    const size_t size = (size_t)fp8moe_tensor_count(t) * (size_t)fp8moe_dtype_bits(t->dtype) / 8;
    void *const copy = golden_room(g, size);
    fp8moe_tensor_read_raw(t, 0, fp8moe_tensor_count(t), copy);
    *t = fp8moe_tensor_view(copy, t->dtype, t->rank, t->shape);
    return copy;
}

static void not_renormalised(golden *g)
{
    g->config.routing.renormalize = false;
}

static void swap(void *a, void *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char kept = ((char *)a)[i];
        ((char *)a)[i] = ((char *)b)[i];
        ((char *)b)[i] = kept;
    }
}

static void gate_and_up_swapped(golden *g)
{
    char *const codes = own(g, &g->inputs.w13_weight);
    const size_t half = (size_t)(g->inter * g->hidden);
    swap(codes, codes + half, half);
    if (fp8moe_tensor_count(&g->inputs.w13_scale) < 4) return;
    float *const scale = own(g, &g->inputs.w13_scale);
    swap(scale, scale + 8, 8 * sizeof *scale);
}

static void two_w13_blocks_swapped(golden *g)
{
    float *const scale = own(g, &g->inputs.w13_scale);
    swap(&scale[1], &scale[6], sizeof *scale);
}

static void w2_blocks_transposed(golden *g)
{
    float *const scale = own(g, &g->inputs.w2_scale);
    swap(&scale[1], &scale[2], sizeof *scale);
    swap(&scale[5], &scale[6], sizeof *scale);
}

static void one_sign_flipped(golden *g)
{
    uint8_t *const codes = own(g, &g->inputs.w13_weight);
    codes[3 * g->hidden + 7] ^= 0x80;
}

static void scale_by(golden *g, fp8moe_tensor *t, float factor, int64_t skip)
{
    float *const scale = own(g, t);
    for (int64_t i = 0; i < fp8moe_tensor_count(t); i++)
        if (!skip || i % skip) scale[i] *= factor;
}

static void most_w13_blocks_2_percent_off(golden *g)
{
    scale_by(g, &g->inputs.w13_scale, 1.02f, 4);
}

static void w13_scale_2_percent_off(golden *g)
{
    scale_by(g, &g->inputs.w13_scale, 1.02f, 0);
}

static void w2_scale_2_percent_off(golden *g)
{
    scale_by(g, &g->inputs.w2_scale, 0.98f, 0);
}

static void input_scale_5_percent_off(golden *g)
{
    scale_by(g, &g->inputs.w13_input_scale, 1.05f, 0);
}

static void intermediate_scale_30_percent_off(golden *g)
{
    scale_by(g, &g->inputs.w2_input_scale, 1.3f, 0);
}

static void one_w2_row_shifted(golden *g)
{
    uint8_t *const codes = own(g, &g->inputs.w2_weight);
    memmove(codes + 100 * g->inter, codes + 101 * g->inter, (size_t)g->inter);
}

typedef void edit(double *output, int64_t rows, int64_t width);

static void column_zeroed(double *out, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        out[r * width + 77] = 0;
}

static void times(double *out, int64_t count, double factor)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = fp8moe_round_bf16(out[i] * factor);
}

static void all_zero(double *out, int64_t rows, int64_t width)
{
    times(out, rows * width, 0);
}

static void doubled(double *out, int64_t rows, int64_t width)
{
    times(out, rows * width, 2);
}

static void two_percent(double *out, int64_t rows, int64_t width)
{
    times(out, rows * width, 1.02);
}

static void block_zeroed(double *out, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        memset(out + r * width + 128, 0, 128 * sizeof *out);
}

static void columns_shifted(double *out, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        memmove(out + r * width, out + r * width + 1, (size_t)(width - 1) * sizeof *out);
}

typedef struct fault_row {
    const char *what;
    void (*plant)(golden *g); /* into the layer, */
    edit *edit;               /* or into its output */
    bool without_weakest, gelu;
} fault_row;

/* Section 1 of verdict.md. */
static const fault_row fp8_faults[] = {
    {"not renormalised", not_renormalised, NULL, false, false},
    {"gate and up swapped", gate_and_up_swapped, NULL, false, false},
    {"two w13 block scales swapped", two_w13_blocks_swapped, NULL, false, false},
    {"w2 block scales transposed", w2_blocks_transposed, NULL, false, false},
    {"top-7 instead of top-8", NULL, NULL, true, false},
    {"GELU instead of SiLU", NULL, NULL, false, true},
    {"one column zeroed", NULL, column_zeroed, false, false},
    {"one weight's sign flipped", one_sign_flipped, NULL, false, false},
    {"2 % on 3/4 of the w13 blocks", most_w13_blocks_2_percent_off, NULL, false, false},
    {"all zeros", NULL, all_zero, false, false},
    {"doubled", NULL, doubled, false, false},
};

static const fault_row capture_faults[] = {
    {"gate and up swapped", gate_and_up_swapped, NULL, false, false},
    {"w13 scale 2 % off", w13_scale_2_percent_off, NULL, false, false},
    {"w2 scale 2 % off", w2_scale_2_percent_off, NULL, false, false},
    {"input scale 5 % off", input_scale_5_percent_off, NULL, false, false},
    {"intermediate scale 30 % off", intermediate_scale_30_percent_off, NULL, false, false},
    {"one row of w2 is the next", one_w2_row_shifted, NULL, false, false},
    {"GELU instead of SiLU", NULL, NULL, false, true},
    {"one column zeroed", NULL, column_zeroed, false, false},
    {"a block of columns zeroed", NULL, block_zeroed, false, false},
    {"columns shifted by one", NULL, columns_shifted, false, false},
    {"2 % too large", NULL, two_percent, false, false},
    {"all zeros", NULL, all_zero, false, false},
};

/* Keeps up_gate; and, for a fault, the weights of the slots. */
static fp8moe_status keep(void *user, fp8moe_stage stage, int64_t first, const fp8moe_tensor *rows,
                          const fp8moe_tensor *total, fp8moe_error *err)
{
    golden *const g = user;
    (void)err;
    if (stage != FP8MOE_STAGE_UP_GATE) return FP8MOE_OK;
    const int64_t count = fp8moe_tensor_count(total), part = fp8moe_tensor_count(rows);
    if (!g->up_gate) g->up_gate = calloc((size_t)count, sizeof *g->up_gate);
    assert_non_null(g->up_gate);
    fp8moe_tensor_read_f64(rows, 0, part, g->up_gate + first * (count / total->shape[0]));
    return FP8MOE_OK;
}

static fp8moe_layer *open_layer(const golden *g)
{
    fp8moe_layer *layer;
    fp8moe_error err;
    if (fp8moe_layer_open(&g->config, &g->inputs, &layer, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    return layer;
}

/* activation = gelu(gate) * up, handed to the layer in place of its own. */
static void plant_gelu(golden *g, fp8moe_layer *layer)
{
    const fp8moe_observer observer = {keep, g};
    const int64_t slots = g->tokens * g->config.routing.top_k;
    fp8moe_layer *const plain = open_layer(g);
    assert_int_equal(fp8moe_layer_run(plain, &observer, NULL, NULL), FP8MOE_OK);
    fp8moe_layer_close(plain);
    double *const product = golden_room(g, (size_t)(slots * g->inter) * sizeof *product);
    for (int64_t i = 0; i < slots * g->inter; i++) {
        const double *const at = g->up_gate + i / g->inter * 2 * g->inter + i % g->inter;
        const double gelu = fp8moe_round_bf16(0.5 * at[0] * (1 + erf(at[0] / sqrt(2))));
        product[i] = fp8moe_round_bf16(gelu * at[g->inter]);
    }
    const int64_t shape[3] = {g->tokens, g->config.routing.top_k, g->inter};
    const fp8moe_tensor tensor = fp8moe_tensor_view(product, FP8MOE_DTYPE_F64, 3, shape);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_ACTIVATION, &tensor, NULL), FP8MOE_OK);
}

/* The router's own weights by softmax, the last slot's set to 0: each row's logits are equal. */
static void plant_top_7(golden *g, fp8moe_layer *layer)
{
    const int64_t experts = g->config.num_experts, top_k = 8, shape[2] = {g->tokens, top_k};
    double *const logits = golden_room(g, (size_t)experts * sizeof *logits);
    float *const weights = golden_room(g, (size_t)(g->tokens * top_k) * sizeof *weights);
    double chosen[8], total = 0;
    fp8moe_tensor_read_f64(&g->inputs.router_logits, 0, experts, logits);
    for (int k = 0; k < top_k; k++) {
        int64_t best = 0;
        for (int64_t e = 1; e < experts; e++)
            if (logits[e] > logits[best]) best = e;
        total += chosen[k] = exp(logits[best]);
        logits[best] = -1000;
    }
    for (int64_t i = 0; i < g->tokens * top_k; i++)
        weights[i] = i % top_k == top_k - 1
                         ? 0
                         : (float)fp8moe_round_bf16((float)(chosen[i % top_k] / total));
    const fp8moe_tensor tensor = fp8moe_tensor_view(weights, FP8MOE_DTYPE_F32, 2, shape);
    assert_int_equal(fp8moe_layer_from(layer, FP8MOE_STAGE_TOPK_WEIGHTS, &tensor, NULL), FP8MOE_OK);
}

static void faults_are_different(golden *(*open_golden)(void), const fault_row *faults,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        golden *const clean = open_golden(), *const g = open_golden();
        const int64_t shape[2] = {g->tokens, g->hidden};
        double *const output = golden_room(g, (size_t)(shape[0] * shape[1]) * sizeof *output);
        fp8moe_judgement r;
        if (faults[i].plant) faults[i].plant(g);
        fp8moe_layer *const layer = open_layer(g);
        if (faults[i].gelu) plant_gelu(g, layer);
        if (faults[i].without_weakest) plant_top_7(g, layer);
        assert_int_equal(fp8moe_layer_run(layer, NULL, output, NULL), FP8MOE_OK);
        fp8moe_layer_close(layer);
        if (faults[i].edit) faults[i].edit(output, shape[0], shape[1]);
        const fp8moe_tensor got = fp8moe_tensor_view(output, FP8MOE_DTYPE_F64, 2, shape);
        golden_judge(clean, &got, -1, &r);
        if (r.verdict != FP8MOE_VERDICT_DIFFERENT)
            fail_msg("%s: %s: %s", faults[i].what, fp8moe_verdict_name(r.verdict), r.reason);
        golden_close(g);
        golden_close(clean);
    }
}

static void faults_in_the_fp8_golden_are_different(void **unused)
{
    (void)unused;
    faults_are_different(open_fp8, fp8_faults, COUNT(fp8_faults));
}

static void faults_in_the_capture_are_different(void **unused)
{
    (void)unused;
    faults_are_different(open_capture, capture_faults, COUNT(capture_faults));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fp8_golden_is_the_same),
        cmocka_unit_test(the_unquantized_golden_is_explained_row_by_row),
        cmocka_unit_test(the_capture_is_explained_by_two_steps_of_silu),
        cmocka_unit_test(the_gaudi_linear_is_the_same),
        cmocka_unit_test(faults_in_the_fp8_golden_are_different),
        cmocka_unit_test(faults_in_the_capture_are_different),
    };
    char path[1024];
    if (!shared_path(path, sizeof path, "fixtures")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

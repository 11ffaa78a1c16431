/* Weight matrices: which scale a shape means, and rows in every form, worked by hand. Random layers
 * in every layout, form and stage are in test_moe.c and test_linear.c. */
#include "slow_forward.h"
#include "weights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A reader with a table of the model's making. */
static weight_reader reader_of(const char *target, fp8moe_weight_form form,
                               fp8moe_stage_of_weights stage)
{
    static double tables[3][256];
    static kernels plain;
    assert_true(kernels_init(&plain, "portable", false));
    const fp8moe_target *const t = fp8moe_target_find(target);
    double *const table = tables[t - fp8moe_target_at(0)];
    for (int c = 0; c < 256; c++)
        table[c] = slow_value(slow_codes_of(t), (uint8_t)c);
    return (weight_reader){
        .target = t, .table = table, .form = form, .stage = stage, .kernels = &plain};
}

static const uint8_t many_codes[4096];
static const float many_scales[4096];

static fp8moe_tensor view(const void *data, fp8moe_dtype dtype, int rank, const int64_t *shape)
{
    return fp8moe_tensor_view(data, dtype, rank, shape);
}

/* ---- shapes ---- */

typedef struct shape_row {
    int64_t rows, cols, block_rows, block_cols;
    int rank; /* of the scale; -1: absent */
    int64_t shape[3];
    int64_t full_rows, full_cols;
    fp8moe_status status;
    scale_kind kind;
} shape_row;

static const shape_row shape_rows[] = {
    {6, 10, 4, 4, -1, {0}, 0, 0, FP8MOE_OK, SCALE_ABSENT},
    {6, 10, 4, 4, 0, {0}, 0, 0, FP8MOE_OK, SCALE_TENSOR},
    {6, 10, 4, 4, 1, {1}, 0, 0, FP8MOE_OK, SCALE_TENSOR},
    {6, 10, 4, 4, 1, {6}, 0, 0, FP8MOE_OK, SCALE_ROW},
    {6, 10, 4, 4, 2, {6, 1}, 0, 0, FP8MOE_OK, SCALE_ROW},
    {6, 10, 4, 4, 2, {2, 3}, 0, 0, FP8MOE_OK, SCALE_BLOCK},
    {576, 64, 128, 128, 2, {5, 1}, 0, 0, FP8MOE_OK, SCALE_BLOCK},
    /* one row */
    {1, 10, 4, 4, 1, {1}, 0, 0, FP8MOE_OK, SCALE_TENSOR},
    {1, 10, 4, 4, 2, {1, 3}, 0, 0, FP8MOE_OK, SCALE_BLOCK},
    {1, 4, 4, 4, 2, {1, 1}, 0, 0, FP8MOE_OK, SCALE_BLOCK},
    {1, 10, 4, 4, 2, {1, 1}, 0, 0, FP8MOE_OK, SCALE_ROW},
    /* as many blocks as rows: the same scales either way */
    {6, 4, 1, 4, 2, {6, 1}, 0, 0, FP8MOE_OK, SCALE_ROW},
    {6, 10, 1, 4, 2, {6, 3}, 0, 0, FP8MOE_OK, SCALE_BLOCK},
    /* a slice of a larger matrix has that one's scales */
    {6, 10, 4, 4, 2, {5, 3}, 17, 0, FP8MOE_OK, SCALE_BLOCK},
    {6, 10, 4, 4, 2, {2, 8}, 0, 30, FP8MOE_OK, SCALE_BLOCK},
    {6, 10, 4, 4, 1, {17}, 17, 0, FP8MOE_OK, SCALE_ROW},
    {6, 10, 4, 4, 1, {6}, 17, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {2, 3}, 17, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    /* none of these */
    {6, 10, 4, 4, 1, {10}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 1, {2}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {1, 6}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {3, 2}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {1, 3}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {2, 2}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 2, {6, 10}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
    {6, 10, 4, 4, 3, {1, 2, 3}, 0, 0, FP8MOE_ERR_SHAPE, SCALE_ABSENT},
};

static void a_shape_means_one_kind_of_scale(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shape_rows); i++) {
        const shape_row *const r = &shape_rows[i];
        const int64_t shape[2] = {r->rows, r->cols};
        fp8moe_weight w = {.weight = view(many_scales, FP8MOE_DTYPE_F8_E4M3, 2, shape),
                           .full_rows = r->full_rows,
                           .full_columns = r->full_cols};
        if (r->rank >= 0) w.scale = view(many_scales, FP8MOE_DTYPE_F32, r->rank, r->shape);
        matrix m;
        fp8moe_error err = {0};
        const fp8moe_status status =
            matrix_check(&w, -1, -1, r->block_rows, r->block_cols, "w", &m, &err);
        if (status != r->status)
            fail_msg("row %zu: %s %s", i, fp8moe_status_name(status), err.message);
        if (status != FP8MOE_OK) {
            assert_string_equal(err.tensor, "w");
            continue;
        }
        if (m.kind != r->kind) fail_msg("row %zu: kind %d", i, (int)m.kind);
        assert_int_equal(matrix_is_blockwise(&m), r->kind == SCALE_BLOCK);
    }
}

static void a_matrix_has_the_asked_shape_and_a_dtype_of_weights(void **state)
{
    (void)state;
    static const struct {
        fp8moe_dtype dtype, scale;
        int rank;
        int64_t shape[3], rows, cols;
        fp8moe_status status;
    } rows[] = {
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F32, 2, {2, 3}, 2, 3, FP8MOE_OK},
        {FP8MOE_DTYPE_BF16, FP8MOE_DTYPE_BF16, 2, {2, 3}, -1, -1, FP8MOE_OK},
        {FP8MOE_DTYPE_F16, FP8MOE_DTYPE_F16, 2, {2, 3}, 2, -1, FP8MOE_OK},
        {FP8MOE_DTYPE_F32, FP8MOE_DTYPE_F8_E8M0, 2, {2, 3}, -1, 3, FP8MOE_OK},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F32, 2, {2, 3}, 3, 3, FP8MOE_ERR_SHAPE},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F32, 2, {2, 3}, 2, 2, FP8MOE_ERR_SHAPE},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F32, 1, {6}, -1, -1, FP8MOE_ERR_SHAPE},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F32, 3, {1, 2, 3}, -1, -1, FP8MOE_ERR_SHAPE},
        {FP8MOE_DTYPE_F8_E5M2, FP8MOE_DTYPE_F32, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
        {FP8MOE_DTYPE_F64, FP8MOE_DTYPE_F32, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
        {FP8MOE_DTYPE_I8, FP8MOE_DTYPE_F32, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
        {FP8MOE_DTYPE_NONE, FP8MOE_DTYPE_F32, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_F64, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
        {FP8MOE_DTYPE_F8_E4M3, FP8MOE_DTYPE_U8, 2, {2, 3}, -1, -1, FP8MOE_ERR_DTYPE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const fp8moe_weight w = {.weight =
                                     view(many_codes, rows[i].dtype, rows[i].rank, rows[i].shape),
                                 .scale = view(many_codes, rows[i].scale, 0, NULL)};
        matrix m;
        fp8moe_error err;
        const fp8moe_status status =
            matrix_check(&w, rows[i].rows, rows[i].cols, 128, 128, "w", &m, &err);
        if (status != rows[i].status) fail_msg("row %zu: %s", i, fp8moe_status_name(status));
        if (status != FP8MOE_OK) assert_string_equal(err.tensor, "w");
    }
}

/* ---- codes and scales as loaded ---- */

static matrix matrix_of(const uint8_t *codes, int64_t rows, int64_t cols, const float *scales,
                        int rank, const int64_t *shape, int64_t block_rows, int64_t block_cols)
{
    const int64_t of[2] = {rows, cols};
    const fp8moe_weight w = {.weight = view(codes, FP8MOE_DTYPE_F8_E4M3, 2, of),
                             .scale = view(scales, FP8MOE_DTYPE_F32, rank, shape)};
    matrix m;
    fp8moe_error err;
    if (matrix_check(&w, -1, -1, block_rows, block_cols, "w", &m, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    return m;
}

/* numerics.md 2.1: exact from 2^-5 up, ties to even below, NaN stays. */
static void only_gaudi2_halves_and_only_a_checkpoint(void **state)
{
    (void)state;
    uint8_t codes[256], got[256];
    const float scale = 0.01F;
    for (int c = 0; c < 256; c++)
        codes[c] = (uint8_t)c;
    const matrix m = matrix_of(codes, 1, 256, &scale, 0, NULL, 128, 128);
    for (int t = 0; t < 3; t++)
        for (int stage = FP8MOE_WEIGHTS_CHECKPOINT; stage <= FP8MOE_WEIGHTS_PREPARED; stage++) {
            const weight_reader r = reader_of(fp8moe_target_at((size_t)t)->name, FP8MOE_FORM_CODES,
                                              (fp8moe_stage_of_weights)stage);
            const bool halves = t == 0 && stage == FP8MOE_WEIGHTS_CHECKPOINT;
            weights_codes(&r, &m, 0, got);
            for (int c = 0; c < 256; c++) {
                const double half = slow_value(&slow_e4m3fn, (uint8_t)c) / 2;
                const uint8_t want =
                    halves && !isnan(half) ? slow_code(&slow_e4m3fn, half) : (uint8_t)c;
                assert_int_equal(got[c], want);
            }
            assert_true(weights_scale(&r, &m, 0, 7) == (halves ? 2 : 1) * (double)scale);
        }
    weight_reader r = reader_of("gaudi2", FP8MOE_FORM_CODES, FP8MOE_WEIGHTS_CHECKPOINT);
    weights_codes(&r, &m, 0, got);
    static const uint8_t pairs[][2] = {{1, 0}, {3, 2},       {5, 2},      {7, 4},
                                       {9, 4}, {0x7E, 0x76}, {0x81, 0x80}};
    for (size_t i = 0; i < COUNT(pairs); i++)
        assert_int_equal(got[pairs[i][0]], pairs[i][1]);
}

static void a_weight_without_a_scale_has_scale_one(void **state)
{
    (void)state;
    const int64_t shape[2] = {2, 3};
    const fp8moe_weight w = {.weight = view(many_codes, FP8MOE_DTYPE_F8_E4M3, 2, shape)};
    matrix m;
    assert_int_equal(matrix_check(&w, -1, -1, 128, 128, "w", &m, NULL), FP8MOE_OK);
    const weight_reader r = reader_of("gaudi2", FP8MOE_FORM_CODES, FP8MOE_WEIGHTS_CHECKPOINT);
    assert_true(weights_scale(&r, &m, 1, 2) == 1);
}

static void scales_are_found_by_place(void **state)
{
    (void)state;
    const float rows[5] = {1, 2, 3, 4, 5}, grid[6] = {1, 2, 3, 4, 5, 6};
    const weight_reader r = reader_of("gaudi3", FP8MOE_FORM_EXACT, FP8MOE_WEIGHTS_LOADED);
    const int64_t five[2] = {5, 1}, blocks[2] = {2, 3};
    const matrix by_row = matrix_of(many_codes, 5, 7, rows, 2, five, 4, 4);
    for (int i = 0; i < 5; i++)
        assert_true(weights_scale(&r, &by_row, i, 6) == i + 1);
    matrix by_block = matrix_of(many_codes, 5, 7, grid, 2, blocks, 4, 3);
    for (int64_t i = 0; i < 5; i++)
        for (int64_t c = 0; c < 7; c++)
            assert_true(weights_scale(&r, &by_block, i, c) == (double)(i / 4 * 3 + c / 3 + 1));
    by_block.row_offset = 3; /* row 1 of the slice is row 4 of the whole */
    by_block.column_offset = 2;
    assert_true(weights_scale(&r, &by_block, 0, 0) == 1);
    assert_true(weights_scale(&r, &by_block, 1, 1) == 5);
    assert_true(weights_scale(&r, &by_block, 0, 4) == 3);
}

/* ---- rows as multiplied ---- */

typedef struct form_row {
    const char *why, *target;
    fp8moe_weight_form form;
    fp8moe_stage_of_weights stage;
    uint8_t codes[4];
    float scales[2]; /* blocks of 2 columns; one number where the second is 0 */
    double values[4], after;
    uint8_t left[4]; /* codes afterwards */
} form_row;

/* The f32 next to 0.3, in a spelling that is exact where constants have more digits than their
 * type. */
#define F32_0_3 0x1.333334p-2

static const form_row form_rows[] = {
    {"codes keep their scale for later",
     "gaudi3",
     FP8MOE_FORM_CODES,
     FP8MOE_WEIGHTS_LOADED,
     {0x38, 0x40, 0xB8, 0x7E},
     {(float)F32_0_3, 0},
     {1, 2, -1, 448},
     F32_0_3,
     {0x38, 0x40, 0xB8, 0x7E}},
    {"prepared ones too",
     "gaudi3",
     FP8MOE_FORM_PREPARED,
     FP8MOE_WEIGHTS_PREPARED,
     {0x38, 0x40, 0xB8, 0x7E},
     {(float)F32_0_3, 0},
     {1, 2, -1, 448},
     F32_0_3,
     {0x38, 0x40, 0xB8, 0x7E}},
    {"halved codes, doubled scale",
     "gaudi2",
     FP8MOE_FORM_CODES,
     FP8MOE_WEIGHTS_CHECKPOINT,
     {0x38, 0x40, 0xB8, 0x7E},
     {(float)F32_0_3, 0},
     {0.5, 1, -0.5, 224},
     2 * F32_0_3,
     {0x30, 0x38, 0xB0, 0x76}},
    /* 0.3f is 0x3E99999A: bf16 0.30078125; times 9/8 = 0.33837890625, a bf16 tie rounds to
       0.337890625 */
    {"dequantised in bf16 twice",
     "gaudi3",
     FP8MOE_FORM_DEQUANT,
     FP8MOE_WEIGHTS_LOADED,
     {0x38, 0x39, 0xB9, 0x00},
     {(float)F32_0_3, 1},
     {0.30078125, 0.337890625, -1.125, 0},
     1,
     {0x38, 0x39, 0xB9, 0x00}},
    {"exact is not rounded",
     "gaudi3",
     FP8MOE_FORM_EXACT,
     FP8MOE_WEIGHTS_LOADED,
     {0x38, 0x39, 0xB9, 0x00},
     {(float)F32_0_3, 1},
     {F32_0_3, 1.125 * F32_0_3, -1.125, 0},
     1,
     {0x38, 0x39, 0xB9, 0x00}},
    /* case D09: 2^-12 beside 448 vanishes */
    {"blocks are requantised to one scale",
     "gaudi3",
     FP8MOE_FORM_PREPARED,
     FP8MOE_WEIGHTS_LOADED,
     {0x7E, 0x7E, 0x38, 0x38},
     {1, 0x1p-12F},
     {448, 448, 0, 0},
     1,
     {0x7E, 0x7E, 0, 0}},
    {"to the target's maximum",
     "gaudi2",
     FP8MOE_FORM_PREPARED,
     FP8MOE_WEIGHTS_LOADED,
     {0x77, 0x6F, 0x38, 0xB8},
     {2, 1},
     {240, 120, 0.5, -0.5},
     2,
     {0x77, 0x6F, 0x30, 0xB0}},
    /* 448 * 1 -> halved 224, scale 2 -> 448 / 240: bf16 1.8671875, inverse 0.53515625, 448 * that =
       239.75 -> 240 */
    {"after the loader",
     "gaudi2",
     FP8MOE_FORM_PREPARED,
     FP8MOE_WEIGHTS_CHECKPOINT,
     {0x7E, 0x76, 0x00, 0x80},
     {1, 1},
     {240, 120, 0, -0.0},
     1.8671875,
     {0x77, 0x6F, 0x00, 0x80}},
    {"a code only others hold is Inf or NaN",
     "gaudi2",
     FP8MOE_FORM_CODES,
     FP8MOE_WEIGHTS_LOADED,
     {0x78, 0xF8, 0x79, 0x77},
     {1, 0},
     {(double)INFINITY, -(double)INFINITY, (double)NAN, 240},
     1,
     {0x78, 0xF8, 0x79, 0x77}},
};

static void rows_come_in_the_form_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(form_rows); i++) {
        const form_row *const f = &form_rows[i];
        const bool blocks = f->scales[1] != 0;
        const int64_t grid[2] = {1, 2};
        const uint8_t two[2][4] = {{0}, {f->codes[0], f->codes[1], f->codes[2], f->codes[3]}};
        const matrix m = matrix_of(two[0], 2, 4, f->scales, blocks ? 2 : 0, grid, 2, 2);
        const weight_reader r = reader_of(f->target, f->form, f->stage);
        double out[5] = {9, 9, 9, 9, 9};
        uint8_t codes[5] = {9, 9, 9, 9, 9};
        const double after = weights_row(&r, &m, 1, out, codes);
        if (after != f->after) fail_msg("%s: scale %.17g", f->why, after);
        for (int c = 0; c < 4; c++) {
            const bool same = isnan(f->values[c]) ? isnan(out[c])
                                                  : out[c] == f->values[c] &&
                                                        !signbit(out[c]) == !signbit(f->values[c]);
            if (!same || codes[c] != f->left[c])
                fail_msg("%s: column %d is %.17g, 0x%02X", f->why, c, out[c], codes[c]);
        }
        assert_true(out[4] == 9 && codes[4] == 9);
    }
}

static void weights_that_are_no_codes_are_taken_as_they_are(void **state)
{
    (void)state;
    static const fp8moe_weight_form forms[] = {FP8MOE_FORM_BF16, FP8MOE_FORM_EXACT};
    const uint16_t bits[2][3] = {{0}, {0x3F80, 0xC000, 0x7FC0}};
    const int64_t shape[2] = {2, 3};
    const fp8moe_weight w = {.weight = view(bits, FP8MOE_DTYPE_BF16, 2, shape)};
    matrix m;
    assert_int_equal(matrix_check(&w, 2, 3, 128, 128, "w", &m, NULL), FP8MOE_OK);
    for (size_t i = 0; i < COUNT(forms); i++) {
        const weight_reader r = reader_of("gaudi2", forms[i], FP8MOE_WEIGHTS_CHECKPOINT);
        double out[3];
        uint8_t codes[3];
        assert_true(weights_row(&r, &m, 1, out, codes) == 1);
        assert_true(out[0] == 1 && out[1] == -2 && isnan(out[2]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_means_one_kind_of_scale),
        cmocka_unit_test(a_matrix_has_the_asked_shape_and_a_dtype_of_weights),
        cmocka_unit_test(only_gaudi2_halves_and_only_a_checkpoint),
        cmocka_unit_test(a_weight_without_a_scale_has_scale_one),
        cmocka_unit_test(scales_are_found_by_place),
        cmocka_unit_test(rows_come_in_the_form_asked_for),
        cmocka_unit_test(weights_that_are_no_codes_are_taken_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

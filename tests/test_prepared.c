/* What a dump of prepared weights says: devices imitated by the slow model, one choice of
 * arithmetic each, must be recognised, and what went wrong must be found. */
#include "model_folders.h"
#include "slow_prepare.h"

#include <fp8moe/prepare.h>

#define BLOCK                                                                                      \
    .scale_suffix = "_scale_inv", .scale_dtype = FP8MOE_DTYPE_F32, .scale = MADE_SCALE_BLOCK

/* Row maxima of about 0.2, and of about 1e-7, where 1e-8 counts. */
static const made_model plain = {.prefix = "model.layers.0.mlp.",
                                 BLOCK,
                                 .experts = 3,
                                 .hidden = 32,
                                 .inter = 24,
                                 .block_rows = 8,
                                 .block_cols = 8,
                                 .shards = 1,
                                 .seed = 31};
static const made_model tiny = {.prefix = "model.layers.0.mlp.",
                                BLOCK,
                                .experts = 3,
                                .hidden = 32,
                                .inter = 24,
                                .block_rows = 8,
                                .block_cols = 8,
                                .shards = 1,
                                .scale_exponent = -21,
                                .seed = 32};

/* ---- a dump as a device would leave it ---- */

typedef struct imitated {
    uint8_t *codes[2]; /* w13, w2 */
    float *scales[2];
    fp8moe_prepared views;
} imitated;

static void imitate_matrix(const made_model *m, const slow_device *d, int64_t expert,
                           made_matrix which, uint8_t *codes, float *scales)
{
    const int64_t rows = which == MADE_DOWN ? m->hidden : m->inter,
                  columns = which == MADE_DOWN ? m->inter : m->hidden;
    for (int64_t row = 0; row < rows; row++) {
        const double scale = slow_prepared_scale(m, d, expert, which, row, 0, columns);
        scales[row] = (float)scale;
        for (int64_t c = 0; c < columns; c++)
            codes[row * columns + c] = slow_prepared_code(m, d, scale, expert, which, row, c);
    }
}

static imitated imitate(const made_model *m, const slow_device *d)
{
    const int64_t size = m->hidden * m->inter, e = m->experts;
    imitated out = {{malloc((size_t)(2 * e * size)), malloc((size_t)(e * size))},
                    {malloc((size_t)(2 * e * m->inter) * sizeof(float)),
                     malloc((size_t)(e * m->hidden) * sizeof(float))},
                    {{0}, {0}, {0}, {0}}};
    for (int64_t i = 0; i < e; i++) {
        imitate_matrix(m, d, i, MADE_GATE, out.codes[0] + 2 * i * size,
                       out.scales[0] + 2 * i * m->inter);
        imitate_matrix(m, d, i, MADE_UP, out.codes[0] + (2 * i + 1) * size,
                       out.scales[0] + (2 * i + 1) * m->inter);
        imitate_matrix(m, d, i, MADE_DOWN, out.codes[1] + i * size, out.scales[1] + i * m->hidden);
    }
    const int64_t w13[3] = {e, 2 * m->inter, m->hidden}, w13_scale[2] = {e, 2 * m->inter},
                  w2[3] = {e, m->hidden, m->inter}, w2_scale[3] = {e, m->hidden, 1};
    out.views.w13 = fp8moe_tensor_view(out.codes[0], FP8MOE_DTYPE_F8_E4M3, 3, w13);
    out.views.w13_scale = fp8moe_tensor_view(out.scales[0], FP8MOE_DTYPE_F32, 2, w13_scale);
    out.views.w2 = fp8moe_tensor_view(out.codes[1], FP8MOE_DTYPE_F8_E4M3, 3, w2);
    out.views.w2_scale = fp8moe_tensor_view(out.scales[1], FP8MOE_DTYPE_F32, 3, w2_scale);
    return out;
}

static void drop(imitated *dump)
{
    for (int i = 0; i < 2; i++) {
        free(dump->codes[i]);
        free(dump->scales[i]);
    }
}

/* The weights of a model, and what they are judged with. */
typedef struct judged {
    fp8moe_checkpoint *model;
    fp8moe_moe_weights weights;
    fp8moe_prepared_options options;
    fp8moe_prepared_report report;
} judged;

static judged open_model(const made_model *m)
{
    static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    judged j = {0};
    const char *const folder = new_folder();
    made_model_write(m, folder);
    j.model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_moe(j.model, 0, &whole, &j.weights, NULL), FP8MOE_OK);
    j.options = (fp8moe_prepared_options){
        .block_rows = m->block_rows, .block_cols = m->block_cols, .threads = 2};
    return j;
}

static void close_model(judged *j)
{
    fp8moe_moe_weights_free(&j->weights);
    fp8moe_checkpoint_close(j->model);
}

static fp8moe_status judge(judged *j, const fp8moe_prepared *dump, fp8moe_error *err)
{
    return fp8moe_prepared_judge(dump, j->weights.experts, j->weights.expert_count, &j->options,
                                 &j->report, err);
}

/* ---- which way ---- */

static const char *best(const fp8moe_prepared_question *q, const char *axis)
{
    for (size_t i = 0; i < q->axis_count; i++)
        if (strcmp(q->axes[i].name, axis) == 0) return q->axes[i].values[q->ways[0].value[i]].name;
    return "";
}

static const fp8moe_prepared_axis *axis_of(const fp8moe_prepared_question *q, const char *name)
{
    for (size_t i = 0; i < q->axis_count; i++)
        if (strcmp(q->axes[i].name, name) == 0) return &q->axes[i];
    fail_msg("no axis %s", name);
    return NULL;
}

/* Every choice of a device is found out where its dump can tell, and explains every row. */
static void test_every_choice_is_recognised(void **state)
{
    static const struct {
        const made_model *model;
        slow_device device;
        const char *fp8_max, *epsilon, *division, *scale_halving, *inverse, *product, *halving;
    } rows[] = {
        /* NULL: this dump does not tell */
        {&plain,
         {.fp8_max = 240, .halves = true},
         "240",
         NULL,
         "nearest",
         NULL,
         "nearest",
         "bf16",
         "yes"},
        {&plain, {.fp8_max = 240}, "240", NULL, "nearest", NULL, "nearest", "bf16", "no"},
        {&plain, {.fp8_max = 448}, "448", NULL, "nearest", NULL, "nearest", "bf16", "no"},
        {&plain,
         {.fp8_max = 448, .halves = true},
         "448",
         NULL,
         "nearest",
         NULL,
         "nearest",
         "bf16",
         "yes"},
        {&plain,
         {.fp8_max = 448, .division = DIVISION_DOWN},
         "448",
         NULL,
         "down",
         NULL,
         NULL,
         "bf16",
         "no"},
        {&plain,
         {.fp8_max = 240, .halves = true, .division = DIVISION_BF16},
         "240",
         NULL,
         "reciprocal-bf16",
         NULL,
         NULL,
         "bf16",
         "yes"},
        {&plain,
         {.fp8_max = 448, .division = DIVISION_KEPT},
         "448",
         NULL,
         "f32",
         NULL,
         "nearest",
         "bf16",
         "no"},
        {&plain,
         {.fp8_max = 448, .inverse = INVERSE_DOWN},
         "448",
         NULL,
         "nearest",
         NULL,
         "down",
         "bf16",
         "no"},
        {&plain,
         {.fp8_max = 448, .inverse = INVERSE_F32, .product_f32 = true},
         "448",
         NULL,
         "nearest",
         NULL,
         NULL,
         "f32",
         "no"},
        {&plain,
         {.fp8_max = 448, .product_f32 = true},
         "448",
         NULL,
         "nearest",
         NULL,
         "nearest",
         "f32",
         "no"},
        {&plain,
         {.fp8_max = 240, .halves = true, .inverse = INVERSE_NONE},
         "240",
         NULL,
         "nearest",
         NULL,
         NULL,
         "bf16",
         "yes"},
        {&tiny, {.fp8_max = 448}, "448", "bf16", "nearest", NULL, NULL, NULL, NULL},
        {&tiny,
         {.fp8_max = 448, .epsilon = EPSILON_F32},
         "448",
         "f32",
         "nearest",
         NULL,
         NULL,
         NULL,
         NULL},
        {&tiny,
         {.fp8_max = 448, .epsilon = EPSILON_NONE},
         "448",
         "none",
         "nearest",
         NULL,
         NULL,
         NULL,
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        judged j = open_model(rows[i].model);
        imitated dump = imitate(rows[i].model, &rows[i].device);
        fp8moe_error err;
        if (judge(&j, &dump.views, &err) != FP8MOE_OK) fail_msg("%s", err.message);
        const fp8moe_prepared_report *const r = &j.report;
        const struct {
            const fp8moe_prepared_question *q;
            const char *axis, *want;
        } wanted[] = {{&r->scales, "fp8_max", rows[i].fp8_max},
                      {&r->scales, "epsilon", rows[i].epsilon},
                      {&r->scales, "division", rows[i].division},
                      {&r->scales, "halving", rows[i].scale_halving},
                      {&r->codes, "inverse", rows[i].inverse},
                      {&r->codes, "product", rows[i].product},
                      {&r->codes, "halving", rows[i].halving}};
        assert_int_equal(r->scale_rows, 3 * (2 * 24 + 32));
        assert_int_equal(r->scales.ways[0].explained, r->scale_rows);
        assert_int_equal(r->scales_same, r->scale_rows);
        assert_int_equal(r->codes.ways[0].explained, r->codes.rows);
        assert_int_equal(r->codes_same, r->codes_count);
        assert_int_equal(r->codes_count, 3 * 3 * 24 * 32);
        for (size_t k = 0; k < COUNT(wanted); k++) {
            if (!wanted[k].want) continue;
            const fp8moe_prepared_axis *const axis = axis_of(wanted[k].q, wanted[k].axis);
            if (!axis->told || strcmp(best(wanted[k].q, wanted[k].axis), wanted[k].want) != 0)
                fail_msg("device %d, %s: %s, wanted %s", (int)i, wanted[k].axis,
                         best(wanted[k].q, wanted[k].axis), wanted[k].want);
            for (size_t v = 0; v < axis->value_count; v++)
                if (strcmp(axis->values[v].name, wanted[k].want) != 0 &&
                    axis->values[v].explained == wanted[k].q->rows &&
                    strcmp(wanted[k].axis, "inverse") != 0)
                    fail_msg("device %d, %s: %s explains as much", (int)i, wanted[k].axis,
                             axis->values[v].name);
        }
        drop(&dump);
        close_model(&j);
    }
}

/* Where maxima are far above 1e-8, no dump of bf16 scales tells what was added to them. */
static void test_what_cannot_be_told(void **state)
{
    static const slow_device device = {.fp8_max = 448};
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&plain, &device);
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    assert_false(axis_of(&j.report.scales, "epsilon")->told);
    assert_true(axis_of(&j.report.scales, "fp8_max")->told);
    assert_int_equal(axis_of(&j.report.scales, "fp8_max")->values[0].explained, 0);
    assert_string_equal(best(&j.report.scales, "epsilon"),
                        "bf16"); /* what is documented comes first */
    assert_string_equal(best(&j.report.scales, "halving"), "no");
    j.options.target = fp8moe_target_find("gaudi2"); /* orders only what explains as much */
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    assert_string_equal(best(&j.report.scales, "fp8_max"), "448");
    assert_string_equal(best(&j.report.scales, "halving"), "yes");
    drop(&dump);
    close_model(&j);
}

/* ---- what went wrong ---- */

/* A bf16 number some steps on. */
static float step(float value, int steps)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += (uint32_t)steps << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void test_scales_that_differ(void **state)
{
    static const slow_device device = {.fp8_max = 448};
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&plain, &device);
    float *const w13 = dump.scales[0], *const w2 = dump.scales[1];
    w13[50] = step(w13[50], 1); /* expert 1, row 2 */
    w13[7] = step(w13[7], -1);
    w13[8] = step(w13[8], -1);
    w2[40] = step(w2[40], 5); /* expert 1, row 8 */
    w2[41] = (float)NAN;
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    const fp8moe_prepared_report *const r = &j.report;
    assert_int_equal(r->scales_same, r->scale_rows - 5);
    assert_int_equal(r->scales_high, 1);
    assert_int_equal(r->scales_low, 2);
    assert_int_equal(r->scales_far, 2);
    assert_int_equal(r->scales.ways[0].explained, r->scale_rows - 5);
    assert_int_equal(r->worst_count, 5);
    assert_string_equal(r->worst[0].tensor, "w2"); /* the NaN */
    assert_int_equal(r->worst[0].row, 9);
    assert_true(r->worst[0].dumped != r->worst[0].dumped);
    assert_string_equal(r->worst[1].tensor, "w2");
    assert_int_equal(r->worst[1].expert, 1);
    assert_int_equal(r->worst[1].row, 8);
    assert_string_equal(r->worst[2].tensor, "w13");
    assert_int_equal(r->worst[2].row, 7);
    assert_int_equal(r->worst[4].expert, 1);
    assert_int_equal(r->worst[4].row, 2);
    assert_true(r->worst[4].dumped == (double)w13[50]);
    assert_true(r->worst[4].expected ==
                slow_prepared_scale(&plain, &device, 1, MADE_GATE, 2, 0, 32));
    drop(&dump);
    close_model(&j);
}

static void test_codes_that_differ(void **state)
{
    static const slow_device device = {.fp8_max = 448};
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&plain, &device);
    size_t one = 0, zero = 0;
    while ((dump.codes[0][one] & 0x7F) < 0x20)
        one++;
    while (dump.codes[1][zero] & 0x7F)
        zero++;
    dump.codes[0][one] ^= 1;     /* one step */
    dump.codes[1][zero] ^= 0x80; /* another zero: the same number */
    dump.codes[1][100] = 0x7F;   /* NaN */
    dump.codes[0][500] ^= 0x80;  /* another sign */
    dump.codes[0][501] ^= 0x10;  /* two binades */
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    const fp8moe_prepared_report *const r = &j.report;
    assert_int_equal(r->codes_near, 1);
    assert_int_equal(r->codes_far, 3);
    assert_int_equal(r->codes_same, r->codes_count - 4);
    assert_true(r->codes.ways[0].explained < r->codes.rows);
    assert_int_equal(r->scales_same, r->scale_rows);
    drop(&dump);
    close_model(&j);
}

/* Another layer's scales follow from no way. */
static void test_another_layer(void **state)
{
    static const slow_device device = {.fp8_max = 240, .halves = true};
    made_model other = plain;
    other.seed = 77;
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&other, &device);
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    assert_true(j.report.scales_far > j.report.scale_rows / 2);
    assert_int_equal(j.report.worst_count, FP8MOE_PREPARED_WORST);
    drop(&dump);
    close_model(&j);
}

/* Scales alone, of one tensor alone, in bf16: what is there is judged. */
static void test_parts_of_a_dump(void **state)
{
    static const slow_device device = {.fp8_max = 448};
    static const fp8moe_tensor absent;
    uint16_t halves[3 * 48];
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&plain, &device);
    fp8moe_prepared views = dump.views;
    views.w13 = views.w2 = absent;
    assert_int_equal(judge(&j, &views, NULL), FP8MOE_OK);
    assert_int_equal(j.report.scales_same, 240);
    assert_int_equal(j.report.codes.rows, 0);
    assert_int_equal(j.report.codes_count, 0);
    views.w13_scale = absent;
    views.w2 = dump.views.w2;
    assert_int_equal(judge(&j, &views, NULL), FP8MOE_OK);
    assert_int_equal(j.report.scale_rows, 96);
    assert_int_equal(j.report.scales_same, 96);
    assert_int_equal(j.report.codes_count, 3 * 32 * 24);
    assert_int_equal(j.report.codes_same, 3 * 32 * 24);
    views = dump.views;
    views.w2 = views.w2_scale = absent;
    for (int i = 0; i < 3 * 48; i++)
        halves[i] = (uint16_t)slow_encode(&slow_bf16, (double)dump.scales[0][i]);
    views.w13_scale = fp8moe_tensor_view(halves, FP8MOE_DTYPE_BF16, 2, dump.views.w13_scale.shape);
    assert_int_equal(judge(&j, &views, NULL), FP8MOE_OK);
    assert_int_equal(j.report.scales_same, 144);
    assert_int_equal(j.report.codes_same, 3 * 48 * 32);
    drop(&dump);
    close_model(&j);
}

/* One thread and three say the same. */
static void test_threads(void **state)
{
    static const slow_device device = {.fp8_max = 240, .halves = true, .division = DIVISION_DOWN};
    (void)state;
    judged j = open_model(&plain);
    imitated dump = imitate(&plain, &device);
    dump.codes[0][77] ^= 3;
    j.options.threads = 1;
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    const fp8moe_prepared_report one = j.report;
    j.options.threads = 3;
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    assert_int_equal(one.codes_same, j.report.codes_same);
    assert_int_equal(one.codes_near, j.report.codes_near);
    assert_memory_equal(&one.codes.ways, &j.report.codes.ways, sizeof one.codes.ways);
    assert_memory_equal(&one.scales.ways, &j.report.scales.ways, sizeof one.scales.ways);
    drop(&dump);
    close_model(&j);
}

static void test_refused(void **state)
{
    static const made_model rows = {.prefix = "model.layers.0.mlp.",
                                    .scale = MADE_SCALE_ROW,
                                    .scale_suffix = "_scale",
                                    .scale_dtype = FP8MOE_DTYPE_F32,
                                    .experts = 3,
                                    .hidden = 32,
                                    .inter = 24,
                                    .block_rows = 128,
                                    .block_cols = 128,
                                    .shards = 1};
    static const slow_device device = {.fp8_max = 448};
    static const fp8moe_tensor absent;
    fp8moe_error err;
    (void)state;
    judged j = open_model(&plain), r = open_model(&rows);
    imitated dump = imitate(&plain, &device);
    expect_error(&err, judge(&r, &dump.views, &err), FP8MOE_ERR_USAGE, "", "",
                 "preparing computes row scales only from FP8 weights with block scales");
    fp8moe_prepared views = dump.views;
    views.w13_scale = absent;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_NOT_FOUND, "", "",
                 "w13 codes without their scales");
    views.w13 = views.w2 = views.w2_scale = absent;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_NOT_FOUND, "", "", "no prepared scales");
    views = dump.views;
    views.w2_scale.shape[1] = 31;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w2",
                 "[3, 31, 1]: prepared scales are [3, 32]");
    views = dump.views;
    views.w2_scale.shape[2] = 2;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w2", "prepared scales are");
    views = dump.views;
    views.w13_scale.dtype = FP8MOE_DTYPE_I32;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_DTYPE, "", "w13", "dtype I32");
    views = dump.views;
    views.w13_scale.stride[1] = 2;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w13", "one after another");
    views = dump.views;
    views.w13.dtype = FP8MOE_DTYPE_U8;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_DTYPE, "", "w13",
                 "dtype U8; prepared codes are F8_E4M3");
    views = dump.views;
    views.w13.shape[0] = 2;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w13",
                 "expected [3, 48, 32]");
    expect_error(
        &err, fp8moe_prepared_judge(&dump.views, j.weights.experts, 0, &j.options, &j.report, &err),
        FP8MOE_ERR_SHAPE, "", "", "no experts");
    drop(&dump);
    close_model(&j);
    close_model(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_choice_is_recognised),
        cmocka_unit_test(test_what_cannot_be_told),
        cmocka_unit_test(test_scales_that_differ),
        cmocka_unit_test(test_codes_that_differ),
        cmocka_unit_test(test_another_layer),
        cmocka_unit_test(test_parts_of_a_dump),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}

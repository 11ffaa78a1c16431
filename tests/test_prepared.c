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

static void imitate_matrix(const made_model *m, const slow_device *d, const fp8moe_ranks *ranks,
                           int64_t expert, made_matrix which, uint8_t *codes, float *scales)
{
    const bool down = which == MADE_DOWN;
    const int64_t inter = m->inter / ranks->tp_size, first = ranks->tp_rank * inter;
    const int64_t rows = down ? m->hidden : inter, columns = down ? inter : m->hidden;
    const int64_t first_row = down ? 0 : first, first_column = down ? first : 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t row = first_row + r;
        const double scale = slow_prepared_scale(m, d, expert, which, row, first_column, columns);
        scales[r] = (float)scale;
        for (int64_t c = 0; c < columns; c++)
            codes[r * columns + c] =
                slow_prepared_code(m, d, scale, expert, which, row, first_column + c);
    }
}

static const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};

static imitated imitate_rank(const made_model *m, const slow_device *d, const fp8moe_ranks *ranks)
{
    const int64_t inter = m->inter / ranks->tp_size, size = m->hidden * inter, e = m->experts;
    const int64_t w13[3] = {e, 2 * inter, m->hidden}, w2[3] = {e, m->hidden, inter};
    const int64_t w13_scale[2] = {e, 2 * inter}, w2_scale[3] = {e, m->hidden, 1};
    imitated out = {.codes = {malloc((size_t)(2 * e * size)), malloc((size_t)(e * size))},
                    .scales = {malloc((size_t)(2 * e * inter) * sizeof(float)),
                               malloc((size_t)(e * m->hidden) * sizeof(float))}};
    for (int64_t i = 0; i < e; i++) {
        imitate_matrix(m, d, ranks, i, MADE_GATE, out.codes[0] + 2 * i * size,
                       out.scales[0] + 2 * i * inter);
        imitate_matrix(m, d, ranks, i, MADE_UP, out.codes[0] + (2 * i + 1) * size,
                       out.scales[0] + (2 * i + 1) * inter);
        imitate_matrix(m, d, ranks, i, MADE_DOWN, out.codes[1] + i * size,
                       out.scales[1] + i * m->hidden);
    }
    out.views.w13 = fp8moe_tensor_view(out.codes[0], FP8MOE_DTYPE_F8_E4M3, 3, w13);
    out.views.w13_scale = fp8moe_tensor_view(out.scales[0], FP8MOE_DTYPE_F32, 2, w13_scale);
    out.views.w2 = fp8moe_tensor_view(out.codes[1], FP8MOE_DTYPE_F8_E4M3, 3, w2);
    out.views.w2_scale = fp8moe_tensor_view(out.scales[1], FP8MOE_DTYPE_F32, 3, w2_scale);
    return out;
}

static imitated imitate(const made_model *m, const slow_device *d)
{
    return imitate_rank(m, d, &whole);
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

static judged open_rank(const made_model *m, const fp8moe_ranks *ranks)
{
    judged j = {
        .options = {.block_rows = m->block_rows, .block_cols = m->block_cols, .threads = 2}};
    const char *const folder = new_folder();
    made_model_write(m, folder);
    j.model = open_ok(folder);
    assert_int_equal(fp8moe_checkpoint_moe(j.model, 0, ranks, &j.weights, NULL), FP8MOE_OK);
    return j;
}

static judged open_model(const made_model *m)
{
    return open_rank(m, &whole);
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

/* Whether `name` is one of the names in "a|b". */
static bool is_among(const char *name, const char *names)
{
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)) != NULL; at++)
        if ((at == names || at[-1] == '|') && (at[length] == '|' || !at[length])) return true;
    return false;
}

/* The named choices, and no others, explain every row; the best way takes one of them. */
static void expect_choice(const fp8moe_prepared_question *q, const char *name, const char *names)
{
    const fp8moe_prepared_axis *const axis = axis_of(q, name);
    if (!axis->told || !is_among(best(q, name), names))
        fail_msg("%s: %s, wanted %s", name, best(q, name), names);
    for (size_t v = 0; v < axis->value_count; v++)
        if ((axis->values[v].explained == q->rows) != is_among(axis->values[v].name, names))
            fail_msg("%s: %s explains %d of %d rows, wanted %s", name, axis->values[v].name,
                     (int)axis->values[v].explained, (int)q->rows, names);
}

/* Every choice of a device is found out where its dump can tell, and explains every row. An f32
 * inverse and a division differ nowhere before bf16. NULL: such a dump does not tell. */
static void test_every_choice_is_recognised(void **state)
{
    static const struct {
        const made_model *model;
        slow_device device;
        const char *fp8_max, *epsilon, *division, *inverse, *product, *halving;
    } rows[] = {
        {&plain, {240, true, 0, 0, 0, 0}, "240", NULL, "nearest", "nearest", "bf16", "yes"},
        {&plain, {240, false, 0, 0, 0, 0}, "240", NULL, "nearest", "nearest", "bf16", "no"},
        {&plain, {448, false, 0, 0, 0, 0}, "448", NULL, "nearest", "nearest", "bf16", "no"},
        {&plain, {448, true, 0, 0, 0, 0}, "448", NULL, "nearest", "nearest", "bf16", "yes"},
        {&plain,
         {448, false, 0, DIVISION_DOWN, 0, 0},
         "448",
         NULL,
         "down",
         "nearest",
         "bf16",
         "no"},
        {&plain,
         {240, true, 0, DIVISION_BF16, 0, 0},
         "240",
         NULL,
         "reciprocal-bf16",
         "nearest",
         "bf16",
         "yes"},
        {&plain, {448, false, 0, DIVISION_KEPT, 0, 0}, "448", NULL, "f32", "nearest", "bf16", "no"},
        {&plain, {448, false, 0, 0, INVERSE_DOWN, 0}, "448", NULL, "nearest", "down", "bf16", "no"},
        {&plain, {448, false, 0, 0, INVERSE_F32, 0}, "448", NULL, "nearest", "f32", "bf16", "no"},
        {&plain, {448, false, 0, 0, INVERSE_F32, 1}, "448", NULL, "nearest", "f32", "f32", "no"},
        {&plain, {448, false, 0, 0, 0, 1}, "448", NULL, "nearest", "nearest", "f32", "no"},
        {&plain, {240, true, 0, 0, INVERSE_NONE, 0}, "240", NULL, "nearest", "f32", "bf16", "yes"},
        {&tiny, {448, false, 0, 0, 0, 0}, "448", "bf16", "nearest", "nearest", "bf16", "no"},
        {&tiny,
         {448, false, EPSILON_F32, 0, 0, 0},
         "448",
         "f32",
         "nearest",
         "nearest",
         "bf16",
         "no"},
        {&tiny,
         {448, false, EPSILON_NONE, 0, 0, 0},
         "448",
         "none",
         "nearest",
         "nearest",
         "bf16",
         "no"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        judged j = open_model(rows[i].model);
        imitated dump = imitate(rows[i].model, &rows[i].device);
        assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
        const fp8moe_prepared_report *const r = &j.report;
        print_message("device %d\n", (int)i);
        assert_int_equal(r->scale_rows, 3 * (2 * 24 + 32));
        assert_int_equal(r->scales_same, r->scale_rows);
        assert_int_equal(r->codes_count, 3 * 3 * 24 * 32);
        assert_int_equal(r->codes_same, r->codes_count);
        expect_choice(&r->scales, "fp8_max", rows[i].fp8_max);
        if (rows[i].epsilon) expect_choice(&r->scales, "epsilon", rows[i].epsilon);
        expect_choice(&r->scales, "division", rows[i].division);
        expect_choice(&r->codes, "inverse", rows[i].inverse);
        expect_choice(&r->codes, "product", rows[i].product);
        expect_choice(&r->codes, "halving", rows[i].halving);
        drop(&dump);
        close_model(&j);
    }
}

/* A rank whose slices start within blocks of 8: 6 columns each. */
static void test_a_rank(void **state)
{
    static const slow_device device = {.fp8_max = 240, .halves = true};
    (void)state;
    for (int64_t rank = 0; rank < 4; rank++) {
        const fp8moe_ranks ranks = {.ep_size = 1, .tp_rank = rank, .tp_size = 4};
        judged j = open_rank(&plain, &ranks);
        imitated dump = imitate_rank(&plain, &device, &ranks);
        assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
        assert_int_equal(j.report.scale_rows, 3 * (2 * 6 + 32));
        assert_int_equal(j.report.scales_same, j.report.scale_rows);
        assert_int_equal(j.report.codes_same, 3 * 3 * 6 * 32);
        drop(&dump);
        close_model(&j);
    }
}

/* One expert of I 1 and H 2 by hand: row maxima of code 3, whose half goes to the even code 2; of
 * 1; and NaN. */
static void test_by_hand(void **state)
{
    static const uint8_t gate[2] = {0x03, 0x01}, up[2] = {0x7F, 0x08}, down[2] = {0x10, 0x18};
    static const float one[1] = {1};
    static const int64_t row[2] = {1, 2}, column[2] = {2, 1}, grid[2] = {1, 1};
    const fp8moe_tensor scale = fp8moe_tensor_view(one, FP8MOE_DTYPE_F32, 2, grid);
    const fp8moe_expert expert = {
        .gate = {.weight = fp8moe_tensor_view(gate, FP8MOE_DTYPE_F8_E4M3, 2, row), .scale = scale},
        .up = {.weight = fp8moe_tensor_view(up, FP8MOE_DTYPE_F8_E4M3, 2, row), .scale = scale},
        .down = {.weight = fp8moe_tensor_view(down, FP8MOE_DTYPE_F8_E4M3, 2, column),
                 .scale = scale}};
    const fp8moe_prepared_options options = {.block_rows = 2, .block_cols = 2, .threads = 1};
    /* 4 * 2^-9 / 240 halved, not 3 * 2^-9 / 240 */
    const float w13_scale[2] = {(float)slow_bf16_of(0x1p-7 / 240), (float)NAN};
    static const int64_t scales[2] = {1, 2}, codes[3] = {1, 2, 2};
    uint8_t w13[4] = {0x77, 0x00, 0xFF, 0x7F};
    fp8moe_prepared dump = {.w13_scale = fp8moe_tensor_view(w13_scale, FP8MOE_DTYPE_F32, 2, scales),
                            .w13 = fp8moe_tensor_view(w13, FP8MOE_DTYPE_F8_E4M3, 3, codes)};
    fp8moe_prepared_report report;
    (void)state;
    assert_int_equal(fp8moe_prepared_judge(&dump, &expert, 1, &options, &report, NULL), FP8MOE_OK);
    assert_int_equal(report.scales_same, 2);
    expect_choice(&report.scales, "halving", "yes");
    expect_choice(&report.scales, "fp8_max", "240");
    assert_int_equal(report.codes_same, 4); /* NaN is NaN whatever its sign */
    w13[2] = 0x7E;                          /* beside the NaN's code, but a number */
    assert_int_equal(fp8moe_prepared_judge(&dump, &expert, 1, &options, &report, NULL), FP8MOE_OK);
    assert_int_equal(report.codes_same, 3);
    assert_int_equal(report.codes_near, 0);
    assert_int_equal(report.codes_far, 1);
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
    w13[9] = nextafterf(w13[9], 1); /* no bf16 number, just above */
    assert_int_equal(judge(&j, &dump.views, NULL), FP8MOE_OK);
    const fp8moe_prepared_report *const r = &j.report;
    assert_int_equal(r->scales_same, r->scale_rows - 6);
    assert_int_equal(r->scales_high, 2);
    assert_int_equal(r->scales_low, 2);
    assert_int_equal(r->scales_far, 2);
    assert_int_equal(r->scales.ways[0].explained, r->scale_rows - 6);
    assert_int_equal(r->worst_count, 6);
    assert_string_equal(r->worst[0].tensor, "w2"); /* the NaN */
    assert_int_equal(r->worst[0].row, 9);
    assert_true(r->worst[0].dumped != r->worst[0].dumped);
    assert_string_equal(r->worst[1].tensor, "w2");
    assert_int_equal(r->worst[1].expert, 1);
    assert_int_equal(r->worst[1].row, 8);
    assert_string_equal(r->worst[2].tensor, "w13");
    assert_int_equal(r->worst[2].row, 7);
    assert_int_equal(r->worst[5].expert, 1);
    assert_int_equal(r->worst[5].row, 2);
    assert_true(r->worst[5].dumped == (double)w13[50]);
    assert_true(r->worst[5].expected ==
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
    uint8_t reversed[3 * 32 * 4];
    for (int i = 0; i < 3 * 32; i++) /* in the other byte order */
        for (int b = 0; b < 4; b++)
            reversed[4 * i + b] = ((const uint8_t *)&dump.scales[1][i])[3 - b];
    views.w2_scale.data = reversed;
    views.w2_scale.swapped = true;
    assert_int_equal(judge(&j, &views, NULL), FP8MOE_OK);
    assert_int_equal(j.report.scales_same, 96);
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
    expect_error(&err, judge(&r, &dump.views, &err), FP8MOE_ERR_UNSUPPORTED, "", "",
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
    views.w13_scale.shape[0] = 2;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w13",
                 "prepared scales are [3, 48]");
    views = dump.views;
    views.w13.shape[1] = 47;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w13",
                 "expected [3, 48, 32]");
    views = dump.views;
    views.w13.shape[2] = 31;
    expect_error(&err, judge(&j, &views, &err), FP8MOE_ERR_SHAPE, "", "w13",
                 "expected [3, 48, 32]");
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
    j.weights.experts[0].gate.weight.dtype = FP8MOE_DTYPE_BF16;
    expect_error(&err, judge(&j, &dump.views, &err), FP8MOE_ERR_UNSUPPORTED, "", "",
                 "only from FP8 weights with block scales");
    drop(&dump);
    close_model(&j);
    close_model(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_choice_is_recognised),
        cmocka_unit_test(test_a_rank),
        cmocka_unit_test(test_by_hand),
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

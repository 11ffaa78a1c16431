/* An observer that keeps every stage of a run, checks the contract of fp8moe_observer on the way,
 * and holds the whole against the slow model, bit for bit. */
#ifndef FP8MOE_TESTS_RECORDED_RUN_H
#define FP8MOE_TESTS_RECORDED_RUN_H

#include "made_layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct record {
    double *numbers[FP8MOE_STAGE_COUNT]; /* codes as numbers 0 .. 255; NULL: the stage never came */
    fp8moe_tensor total[FP8MOE_STAGE_COUNT];
    int64_t tokens[FP8MOE_STAGE_COUNT]; /* seen so far */
    int64_t blocks;                     /* calls of the last stage */
    fp8moe_stage last;
    double *output; /* what fp8moe_layer_run() gave */
    fp8moe_layer_info info;
} record;

static inline int64_t record_width(const fp8moe_tensor *total)
{
    int64_t width = 1;
    for (int d = 1; d < total->rank; d++)
        width *= total->shape[d];
    return width;
}

/* Every NaN a stage shows is the same one, whatever the processor made of it. */
static inline void record_check_nan(const fp8moe_tensor *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const char *const at = rows->data;
        uint16_t b16;
        uint32_t b32;
        if (rows->dtype == FP8MOE_DTYPE_BF16) {
            memcpy(&b16, at + 2 * i, 2);
            if ((b16 & 0x7FFF) > 0x7F80) assert_int_equal(b16, 0x7FC0);
        } else if (rows->dtype == FP8MOE_DTYPE_F32) {
            memcpy(&b32, at + 4 * i, 4);
            if ((b32 & 0x7FFFFFFF) > 0x7F800000) assert_int_equal(b32, 0x7FC00000);
        }
    }
}

static inline void record_read(const fp8moe_tensor *rows, int64_t count, double *out)
{
    const bool codes = rows->dtype == FP8MOE_DTYPE_F8_E4M3;
    for (int64_t i = 0; codes && i < count; i++)
        out[i] = ((const uint8_t *)rows->data)[i];
    if (!codes) fp8moe_tensor_read_f64(rows, 0, count, out);
}

static inline fp8moe_status record_stage(void *user, fp8moe_stage stage, int64_t first_token,
                                         const fp8moe_tensor *rows, const fp8moe_tensor *total,
                                         fp8moe_error *err)
{
    record *const r = user;
    const int64_t width = record_width(total);
    (void)err;
    if (!r->numbers[stage]) {
        r->numbers[stage] = slow_room(fp8moe_tensor_count(total));
        r->total[stage] = *total;
    }
    assert_null(total->data);
    assert_int_equal(first_token, r->tokens[stage]);
    assert_int_equal(rows->dtype, total->dtype);
    assert_int_equal(rows->rank, total->rank);
    for (int d = 1; d < total->rank; d++)
        assert_int_equal(rows->shape[d], total->shape[d]);
    assert_true(fp8moe_tensor_is_contiguous(rows));
    assert_true(first_token + rows->shape[0] <= total->shape[0]);
    assert_true(r->blocks == 0 || stage > r->last || stage == FP8MOE_STAGE_X_CODES ||
                r->last == FP8MOE_STAGE_OUTPUT);
    record_check_nan(rows, rows->shape[0] * width);
    record_read(rows, rows->shape[0] * width, r->numbers[stage] + first_token * width);
    r->tokens[stage] += rows->shape[0];
    r->last = stage;
    r->blocks += stage == FP8MOE_STAGE_OUTPUT;
    return FP8MOE_OK;
}

static inline void record_close(record *r)
{
    for (int s = 0; s < FP8MOE_STAGE_COUNT; s++)
        free(r->numbers[s]);
    free(r->output);
}

/* Run an open layer. */
static inline void record_layer(record *r, fp8moe_layer *layer, int64_t outputs)
{
    const fp8moe_observer observer = {record_stage, r};
    fp8moe_error err;
    memset(r, 0, sizeof *r);
    r->output = slow_room(outputs);
    if (fp8moe_layer_run(layer, &observer, r->output, &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    fp8moe_layer_info_get(layer, &r->info);
}

static inline fp8moe_layer *record_open(const made_layer *m)
{
    fp8moe_layer *layer;
    fp8moe_error err;
    if (fp8moe_layer_open(&m->config, &m->inputs, &layer, &err) != FP8MOE_OK)
        fail_msg("%s (%s)", err.message, err.tensor);
    return layer;
}

/* ---- against the model ---- */

static inline bool record_same(double a, double b)
{
    return isnan(a) ? isnan(b) : !memcmp(&a, &b, sizeof a);
}

/* `what` is printed where a number differs. */
static inline void record_expect(const record *r, fp8moe_stage stage, fp8moe_dtype dtype,
                                 const int64_t *shape, int rank, const double *want,
                                 const char *what)
{
    const char *const name = fp8moe_stage_name(stage);
    const fp8moe_tensor *const total = &r->total[stage];
    if (!r->numbers[stage]) fail_msg("%s: no stage %s", what, name);
    if (total->dtype != dtype)
        fail_msg("%s: %s is %s, not %s", what, name, fp8moe_dtype_name(total->dtype),
                 fp8moe_dtype_name(dtype));
    assert_int_equal(total->rank, rank);
    for (int d = 0; d < rank; d++)
        assert_int_equal(total->shape[d], shape[d]);
    assert_int_equal(r->tokens[stage], shape[0]);
    for (int64_t i = 0; i < fp8moe_tensor_count(total); i++)
        if (!record_same(r->numbers[stage][i], want[i]))
            fail_msg("%s: %s element %lld is %.17g, not %.17g", what, name, (long long)i,
                     r->numbers[stage][i], want[i]);
}

static inline void record_expect_codes(const record *r, fp8moe_stage stage, const int64_t *shape,
                                       int rank, const uint8_t *codes, const char *what)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= shape[d];
    double *const want = slow_room(count);
    for (int64_t i = 0; i < count; i++)
        want[i] = codes[i];
    record_expect(r, stage, FP8MOE_DTYPE_F8_E4M3, shape, rank, want, what);
    free(want);
}

/* The dtype a dump keeps numbers of a precision in: nothing rounded means f32. */
static inline fp8moe_dtype record_dtype(fp8moe_precision precision)
{
    if (precision == FP8MOE_ROUND_BF16) return FP8MOE_DTYPE_BF16;
    return precision == FP8MOE_ROUND_F64 ? FP8MOE_DTYPE_F64 : FP8MOE_DTYPE_F32;
}

static inline fp8moe_dtype record_output_dtype(const slow_layer *s)
{
    if (s->recipe->weights == FP8MOE_FORM_EXACT) return FP8MOE_DTYPE_F64;
    return s->input_is_bf16 ? FP8MOE_DTYPE_BF16 : FP8MOE_DTYPE_F32;
}

static inline void record_expect_input(const record *r, const slow_layer *s, const char *what)
{
    const int64_t x[2] = {s->tokens, s->hidden}, scale[2] = {s->tokens, 1};
    if (s->recipe->input == FP8MOE_INPUT_AS_IS) {
        assert_null(r->numbers[FP8MOE_STAGE_X_CODES]);
        assert_null(r->numbers[FP8MOE_STAGE_X_SCALE]);
        return;
    }
    record_expect_codes(r, FP8MOE_STAGE_X_CODES, x, 2, s->x_codes, what);
    record_expect(r, FP8MOE_STAGE_X_SCALE, FP8MOE_DTYPE_F32, scale, 2, s->x_scale, what);
}

static inline void record_expect_slots(const record *r, const slow_layer *s, const char *what)
{
    const fp8moe_recipe *const row = s->recipe;
    const int64_t t = s->tokens, k = s->top_k, i = s->inter;
    const int64_t slots[2] = {t, k}, up_gate[3] = {t, k, 2 * i}, inter[3] = {t, k, i},
                  one[3] = {t, k, 1}, hidden[3] = {t, k, s->hidden};
    double *const ids = slow_room(t * k);
    for (int64_t n = 0; n < t * k; n++)
        ids[n] = (double)s->ids[n];
    record_expect(r, FP8MOE_STAGE_TOPK_IDS, FP8MOE_DTYPE_I64, slots, 2, ids, what);
    free(ids);
    record_expect(r, FP8MOE_STAGE_TOPK_WEIGHTS, FP8MOE_DTYPE_F32, slots, 2, s->router, what);
    record_expect(r, FP8MOE_STAGE_UP_GATE, record_dtype(row->up_gate), up_gate, 3, s->up_gate,
                  what);
    record_expect(r, FP8MOE_STAGE_ACTIVATION, record_dtype(row->product), inter, 3, s->activation,
                  what);
    record_expect(r, FP8MOE_STAGE_EXPERT_OUTPUT, record_dtype(row->down_out), hidden, 3,
                  s->expert_output, what);
    if (row->intermediate == FP8MOE_INTERMEDIATE_KEPT) {
        assert_null(r->numbers[FP8MOE_STAGE_ACT_CODES]);
        assert_null(r->numbers[FP8MOE_STAGE_ACT_SCALE]);
        return;
    }
    record_expect_codes(r, FP8MOE_STAGE_ACT_CODES, inter, 3, s->act_codes, what);
    record_expect(r, FP8MOE_STAGE_ACT_SCALE, FP8MOE_DTYPE_F32, one, 3, s->act_scale, what);
}

static inline void record_expect_output(const record *r, const slow_layer *s, int64_t width,
                                        const char *what)
{
    const int64_t shape[2] = {s->tokens, width};
    record_expect(r, FP8MOE_STAGE_OUTPUT, record_output_dtype(s), shape, 2, s->output, what);
    assert_int_equal(r->info.output_dtype, record_output_dtype(s));
    for (int64_t n = 0; n < s->tokens * width; n++)
        if (!record_same(r->output[n], s->output[n])) fail_msg("%s: returned output differs", what);
}

/* Everything a run of a mixture of experts showed, against the model that has run. */
static inline void record_expect_moe(const record *r, const slow_layer *s, const char *what)
{
    record_expect_input(r, s, what);
    record_expect_slots(r, s, what);
    record_expect_output(r, s, s->hidden, what);
    if (r->info.foreign_slots != s->foreign_slots || r->info.padding_leaks != s->padding_leaks ||
        r->info.first_leak_token != s->first_leak_token ||
        r->info.first_leak_expert != s->first_leak_expert)
        fail_msg("%s: %lld foreign slots (not %lld), %lld leaks (not %lld) from token %lld expert "
                 "%lld (not %lld, %lld)",
                 what, (long long)r->info.foreign_slots, (long long)s->foreign_slots,
                 (long long)r->info.padding_leaks, (long long)s->padding_leaks,
                 (long long)r->info.first_leak_token, (long long)r->info.first_leak_expert,
                 (long long)s->first_leak_token, (long long)s->first_leak_expert);
}

#endif

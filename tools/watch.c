#include "watch.h"

#include <stdio.h>
#include <string.h>

static int64_t elements_a_token(const fp8moe_tensor *total)
{
    int64_t count = 1;
    for (int d = 1; d < total->rank; d++)
        count *= total->shape[d];
    return count;
}

/* Equal shapes, leading dimensions of size 1 apart. */
static bool same_shape(const fp8moe_tensor *a, const fp8moe_tensor *b)
{
    int i = 0, j = 0;
    while (i < a->rank - b->rank && a->shape[i] == 1)
        i++;
    while (j < b->rank - a->rank && b->shape[j] == 1)
        j++;
    return a->rank - i == b->rank - j &&
           !memcmp(a->shape + i, b->shape + j, (size_t)(a->rank - i) * sizeof *a->shape);
}

static fp8moe_status begin_stage(watch *seen, fp8moe_stage stage, const fp8moe_tensor *total,
                                 fp8moe_error *err)
{
    watch_stage *s = &seen->stage[stage];
    s->seen = true;
    s->total = *total;
    CLI_TRY(fp8moe_fingerprint_open(total, &s->open, err));
    if (seen->keep[stage]) {
        const size_t bytes =
            (size_t)fp8moe_tensor_count(total) * (size_t)fp8moe_dtype_bits(total->dtype) / 8;
        void *data;
        CLI_TRY(scratch_take(seen->memory, bytes, &data, err));
        s->total = fp8moe_tensor_view(data, total->dtype, total->rank, total->shape);
    }
    if (!fp8moe_tensor_present(&s->dumped) || same_shape(&s->dumped, total)) return FP8MOE_OK;
    char has[128], want[128];
    cli_fail(err, FP8MOE_ERR_SHAPE, "%s, but this stage is %s",
             fp8moe_tensor_shape_text(&s->dumped, has, sizeof has),
             fp8moe_tensor_shape_text(total, want, sizeof want));
    snprintf(err->tensor, sizeof err->tensor, "%s", fp8moe_stage_name(stage));
    return FP8MOE_ERR_SHAPE;
}

static void keep_rows(watch_stage *s, int64_t first_token, const fp8moe_tensor *rows)
{
    const size_t element = (size_t)fp8moe_dtype_bits(rows->dtype) / 8;
    const size_t offset = (size_t)(first_token * elements_a_token(&s->total)) * element;
    /* The view is const so that nobody writes through it; the memory behind it is ours. */
    uint8_t *to = (uint8_t *)(uintptr_t)s->total.data + offset;
    fp8moe_tensor_read_raw(rows, 0, fp8moe_tensor_count(rows), to);
}

/* Both sides as [rows, last dimension], so that leading dimensions of size 1 do not matter. */
static fp8moe_status compare_rows(watch_stage *s, int64_t first_token, const fp8moe_tensor *rows,
                                  fp8moe_error *err)
{
    const int64_t last = rows->shape[rows->rank - 1];
    const int64_t count = fp8moe_tensor_count(rows);
    if (count == 0) return FP8MOE_OK;
    const int64_t first = first_token * elements_a_token(&s->total) / last;
    const fp8moe_tensor computed =
        fp8moe_tensor_view(rows->data, rows->dtype, 2, (int64_t[]){count / last, last});
    fp8moe_tensor dumped;
    CLI_TRY(fp8moe_tensor_as_rows(&s->dumped, &dumped, err));
    dumped = fp8moe_tensor_slice(&dumped, 0, first, count / last);
    fp8moe_compare_options options;
    fp8moe_compare_options_default(&options);
    fp8moe_comparison found;
    CLI_TRY(fp8moe_compare(&computed, &dumped, &options, &found, err));
    s->compared += found.count;
    s->padding += found.padding;
    s->identical += found.identical;
    return FP8MOE_OK;
}

static fp8moe_status observe(void *user, fp8moe_stage stage, int64_t first_token,
                             const fp8moe_tensor *rows, const fp8moe_tensor *total,
                             fp8moe_error *err)
{
    watch *seen = user;
    watch_stage *s = &seen->stage[stage];
    if (!s->seen) CLI_TRY(begin_stage(seen, stage, total, err));
    fp8moe_fingerprint_add(s->open, rows);
    if (seen->keep[stage]) keep_rows(s, first_token, rows);
    if (fp8moe_tensor_present(&s->dumped)) CLI_TRY(compare_rows(s, first_token, rows, err));
    return FP8MOE_OK;
}

fp8moe_status watch_run(watch *seen, fp8moe_layer *layer, fp8moe_error *err)
{
    const fp8moe_observer observer = {observe, seen};
    const fp8moe_status st = fp8moe_layer_run(layer, &observer, NULL, err);
    for (int stage = 0; stage < FP8MOE_STAGE_COUNT; stage++) {
        fp8moe_fingerprint_close(seen->stage[stage].open, seen->stage[stage].hash);
        seen->stage[stage].open = NULL;
    }
    return st;
}

#include "apart.h"

#include "common.h"

#include <stdlib.h>
#include <string.h>

fp8moe_status apart_open(apart *a, fp8moe_error *err)
{
    const size_t count = (size_t)a->count;
    int64_t width = 0;
    for (int64_t n = 0; n < a->count; n++)
        width = max_i64(width, a->got[n].shape[1]);
    a->distance = calloc(count, 2 * sizeof *a->distance);
    a->worst = a->distance + count;
    a->elements = calloc(count, 2 * sizeof *a->elements);
    a->worst_row = a->elements + count;
    a->row = calloc((size_t)width + 1, 2 * sizeof *a->row);
    if (a->distance && a->elements && a->row) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)a->count);
}

void apart_close(apart *a)
{
    free(a->distance);
    free(a->elements);
    free(a->row);
}

fp8moe_status apart_layer(const apart *a, const fp8moe_recipe *recipe, fp8moe_layer **out,
                          fp8moe_error *err)
{
    fp8moe_config config = *a->config;
    config.recipe = recipe;
    TRY(fp8moe_layer_open(&config, a->inputs, out, err));
    fp8moe_status status = FP8MOE_OK;
    for (int stage = 0; stage < FP8MOE_STAGE_OUTPUT && status == FP8MOE_OK; stage++)
        if (fp8moe_tensor_present(&a->options->from[stage]))
            status = fp8moe_layer_from(*out, (fp8moe_stage)stage, &a->options->from[stage], err);
    if (status != FP8MOE_OK) fp8moe_layer_close(*out);
    return status;
}

/* ---- measuring ---- */

static bool is_in_range(const fp8moe_judge_options *o, int64_t token)
{
    return o->first_row < 0 || (token >= o->first_row && token <= o->last_row);
}

static void measure_row(apart *a, int64_t n, int64_t token, int64_t width)
{
    const double *const expected = a->row;
    double *const got = a->row + width;
    double sum = 0;
    int64_t elements = 0;
    fp8moe_tensor_read_f64(&a->got[n], token * width, width, got);
    for (int64_t i = 0; i < width; i++) {
        const double d = got[i] - expected[i];
        if (d - d != 0 || d == 0) continue;
        sum += d * d;
        elements++;
    }
    a->distance[n] += sum;
    a->elements[n] += elements;
    if (sum <= a->worst[n]) return;
    a->worst[n] = sum;
    a->worst_row[n] = token;
}

void apart_begin(apart *a)
{
    for (int64_t n = 0; n < a->count; n++) {
        a->distance[n] = a->worst[n] = 0;
        a->elements[n] = 0;
        a->worst_row[n] = -1;
    }
}

fp8moe_status apart_stage(void *user, fp8moe_stage stage, int64_t first_token,
                          const fp8moe_tensor *rows, const fp8moe_tensor *total, fp8moe_error *err)
{
    apart *const a = user;
    (void)total;
    (void)err;
    if (stage != FP8MOE_STAGE_OUTPUT) return FP8MOE_OK;
    const int64_t width = rows->shape[1];
    for (int64_t t = 0; t < rows->shape[0]; t++) {
        if (!is_in_range(a->options, first_token + t)) continue;
        fp8moe_tensor_read_f64(rows, t * width, width, a->row);
        for (int64_t n = 0; n < a->count; n++)
            if (a->open[n]) measure_row(a, n, first_token + t, width);
    }
    return FP8MOE_OK;
}

fp8moe_status apart_run(apart *a, fp8moe_layer *layer, fp8moe_error *err)
{
    const fp8moe_observer observer = {apart_stage, a};
    apart_begin(a);
    return fp8moe_layer_run(layer, &observer, NULL, err);
}

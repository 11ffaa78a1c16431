#include "linear.h"

#include "bits.h"
#include "common.h"
#include "experts.h"
#include "parallel.h"
#include "quant.h"
#include "stages.h"

#include <stdlib.h>

/* Weight rows decoded at a time, and tokens multiplied at a time (bounds the memory). */
#define ROWS 8
#define TOKENS 256

typedef struct run {
    fp8moe_layer *layer;
    int64_t first, tokens;
    uint8_t *codes;  /* [TOKENS, H] */
    double *x_scale; /* [TOKENS] */
    double *x;       /* [TOKENS, H] */
    double *rows;    /* [TOKENS, N] */
    double *scratch; /* per worker: ROWS weight rows, a row of codes, dots */
    int64_t scratch_size;
    bool exact; /* codes on both sides, all finite */
    shuffle shuffle;
} run;

static void quantise_input(run *r)
{
    const fp8moe_layer *const layer = r->layer;
    const fp8moe_recipe *const recipe = &layer->recipe;
    const int64_t hidden = layer->info.hidden;
    const fp8moe_precision steps =
        quant_steps(layer->target, recipe->input_cast, layer->input_precision);
    for (int64_t t = 0; t < r->tokens; t++) {
        double *const x = r->x + t * hidden;
        fp8moe_tensor_read_f64(&layer->hidden_states, (r->first + t) * hidden, hidden, x);
        r->x_scale[t] = 1;
        if (recipe->input == FP8MOE_INPUT_FP8_TOKEN) {
            r->x_scale[t] =
                quant_row(&layer->kernels, layer->target, steps, x, hidden, r->codes + t * hidden);
        } else if (recipe->input == FP8MOE_INPUT_FP8_STATIC) {
            r->x_scale[t] = layer->input_scale;
            quant_static(&layer->kernels, layer->target, recipe->input_cast, layer->input_scale, x,
                         hidden, r->codes + t * hidden);
        }
    }
}

static void dot_rows(const run *r, double *out, const double *w, int64_t rows)
{
    const kernels *const k = &r->layer->kernels;
    const int64_t hidden = r->layer->info.hidden;
    if (r->layer->config.shuffle_sums)
        shuffle_dot(&r->shuffle, out, rows, r->x, r->tokens, w, rows, hidden);
    else if (r->exact && kernels_all_finite(w, rows * hidden))
        k->dot_exact(out, rows, r->x, r->tokens, w, rows, hidden);
    else
        k->dot(out, rows, r->x, r->tokens, w, rows, hidden);
}

static void multiply_rows(void *context, int64_t first, int64_t last, int worker)
{
    const run *const r = context;
    const fp8moe_layer *const layer = r->layer;
    const fp8moe_recipe *const recipe = &layer->recipe;
    const matrix *const m = &layer->linear;
    const int64_t hidden = layer->info.hidden;
    double *const w = r->scratch + worker * r->scratch_size;
    uint8_t *const codes = (uint8_t *)(w + ROWS * hidden);
    double *const dots = w + ROWS * hidden + hidden / 8 + 1;
    for (int64_t b = first; b < last; b++) {
        const int64_t row = b * ROWS, rows = min_i64(ROWS, m->rows - row);
        double scale[ROWS];
        for (int64_t i = 0; i < rows; i++)
            scale[i] = weights_row(&layer->reader, m, row + i, w + i * hidden, codes);
        dot_rows(r, dots, w, rows);
        for (int64_t t = 0; t < r->tokens; t++)
            for (int64_t i = 0; i < rows; i++)
                r->rows[t * m->rows + row + i] =
                    experts_scaled(recipe->dot_round, recipe->scale, recipe->up_gate,
                                   dots[t * rows + i], r->x_scale[t], scale[i]);
    }
}

static fp8moe_status run_block(run *r, const fp8moe_observer *observer, fp8moe_error *err)
{
    fp8moe_layer *const layer = r->layer;
    const int64_t count = r->tokens * layer->info.hidden;
    quantise_input(r);
    TRY(stages_pass(layer, observer, FP8MOE_STAGE_X_CODES, r->first, r->tokens,
                    (stage_values){.codes = r->codes}, err));
    TRY(stages_pass(layer, observer, FP8MOE_STAGE_X_SCALE, r->first, r->tokens,
                    (stage_values){.numbers = r->x_scale}, err));
    if (layer->recipe.input != FP8MOE_INPUT_AS_IS) {
        layer->kernels.decode(r->x, r->codes, layer->reader.table, count);
        r->exact = experts_multiply_codes(&layer->recipe) && kernels_all_finite(r->x, count);
    }
    parallel_for(layer->config.threads, ceil_div(layer->linear.rows, ROWS), multiply_rows, r);
    return stages_pass(layer, observer, FP8MOE_STAGE_OUTPUT, r->first, r->tokens,
                       (stage_values){.numbers = r->rows}, err);
}

static fp8moe_status open_run(run *r, fp8moe_error *err)
{
    const fp8moe_layer *const layer = r->layer;
    const size_t hidden = (size_t)layer->info.hidden;
    r->scratch_size = (ROWS + 1) * layer->info.hidden + 1 + ROWS * TOKENS;
    r->codes = calloc(TOKENS * hidden, 1);
    r->x_scale = calloc(TOKENS, sizeof *r->x_scale);
    r->x = calloc(TOKENS * hidden, sizeof *r->x);
    r->rows = calloc((size_t)(TOKENS * layer->linear.rows) + 1, sizeof *r->rows);
    r->scratch = calloc((size_t)(layer->config.threads * r->scratch_size), sizeof *r->scratch);
    if (!r->codes || !r->x_scale || !r->x || !r->rows || !r->scratch)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a block of %d tokens", TOKENS);
    if (!layer->config.shuffle_sums) return FP8MOE_OK;
    return shuffle_init(&r->shuffle, layer->config.shuffle_seed, layer->info.hidden, err);
}

static fp8moe_status run_blocks(run *r, const fp8moe_observer *observer, const linear_hook *hook,
                                double *output, fp8moe_error *err)
{
    const int64_t tokens = r->layer->info.tokens, width = r->layer->linear.rows;
    TRY(open_run(r, err));
    for (r->first = 0; r->first == 0 || r->first < tokens; r->first += TOKENS) {
        r->tokens = min_i64(TOKENS, tokens - r->first);
        TRY(run_block(r, observer, err));
        const linear_block block = {r->first, r->tokens, r->x, r->x_scale, r->rows};
        if (hook) TRY(hook->block(hook->user, &block, err));
        for (int64_t i = 0; output && i < r->tokens * width; i++)
            output[r->first * width + i] = r->rows[i];
    }
    return FP8MOE_OK;
}

fp8moe_status linear_run_hooked(fp8moe_layer *layer, const fp8moe_observer *observer,
                                const linear_hook *hook, double *output, fp8moe_error *err)
{
    run r = {.layer = layer};
    const fp8moe_status status = run_blocks(&r, observer, hook, output, err);
    free(r.codes);
    free(r.x_scale);
    free(r.x);
    free(r.rows);
    free(r.scratch);
    shuffle_free(&r.shuffle);
    return status;
}

fp8moe_status linear_run(fp8moe_layer *layer, const fp8moe_observer *observer, double *output,
                         fp8moe_error *err)
{
    return linear_run_hooked(layer, observer, NULL, output, err);
}

/* ---- intervals ---- */

fp8moe_status linear_bound_open(linear_bound *out, const fp8moe_layer *layer,
                                const linear_block *block, int64_t token, const device_slack *slack,
                                fp8moe_error *err)
{
    const matrix *const m = &layer->linear;
    const fp8moe_recipe *const r = &layer->recipe;
    const int64_t hidden = layer->info.hidden, width = m->rows;
    double *const at = calloc((size_t)(6 * width + hidden + hidden / 8 + 1), sizeof *at);
    if (!at)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the intervals of %lld outputs",
                    (long long)width);
    *out = (linear_bound){
        at, at + width, at + 2 * width, at + 3 * width, at + 4 * width, at + 5 * width};
    double *const w = at + 6 * width;
    for (int64_t n = 0; n < width; n++) {
        const double *const x = block->x + token * hidden;
        const double scale = weights_row(&layer->reader, m, n, w, (uint8_t *)(w + hidden)),
                     x_scale = block->x_scale[token];
        double dot, magnitude;
        layer->kernels.dot(&dot, 1, x, 1, w, 1, hidden);
        layer->kernels.dot_abs(&magnitude, 1, x, 1, w, 1, hidden);
        const interval hard =
            bound_scaled(r, dot, bound_radius(slack, magnitude, hidden), x_scale, scale, true);
        const interval near =
            bound_scaled(r, dot, slack->expected * 0x1p-24 * magnitude, x_scale, scale, false);
        out->centre[n] =
            experts_scaled(r->dot_round, r->scale, FP8MOE_ROUND_F64, dot, x_scale, scale);
        out->low[n] = hard.low;
        out->high[n] = hard.high;
        out->near_low[n] = near.low;
        out->near_high[n] = near.high;
    }
    return FP8MOE_OK;
}

void linear_bound_close(linear_bound *bounds)
{
    free(bounds->centre);
}

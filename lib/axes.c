#include "common.h"
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An axis is worth a judgement where it brings the output nearer: to this share of the squared
 * distance. */
#define NEARER 0.95

/* Dumps of one layer and what is known of each under the recipe as given. */
typedef struct attempt {
    const fp8moe_config *config;
    const fp8moe_inputs *inputs;
    const fp8moe_tensor *got; /* [count] */
    int64_t count;
    const fp8moe_judge_options *options;
    fp8moe_judgement *out; /* [count] */
    double *base,
        *distance; /* [count] squared distance under the recipe, and under what is tried now */
    bool *open;    /* [count] not yet the same */
    bool *nearer;  /* [FP8MOE_MAX_AXES, count] that axis alone brings it nearer */
    double *row;   /* [2 * width] */
    fp8moe_tensor *tried;     /* [count] those judged under what is tried now, */
    int64_t *index;           /* [count] which they are, */
    fp8moe_judgement *judged; /* [count] and how */
} attempt;

/* ---- distance of every dump from what a recipe gives ---- */

static bool is_in_range(const fp8moe_judge_options *o, int64_t token)
{
    return o->first_row < 0 || (token >= o->first_row && token <= o->last_row);
}

static double squared_distance(const double *expected, const double *got, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = got[i] - expected[i];
        if (d - d == 0) sum += d * d;
    }
    return sum;
}

static fp8moe_status measure(void *user, fp8moe_stage stage, int64_t first_token,
                             const fp8moe_tensor *rows, const fp8moe_tensor *total,
                             fp8moe_error *err)
{
    attempt *const a = user;
    (void)total;
    (void)err;
    if (stage != FP8MOE_STAGE_OUTPUT) return FP8MOE_OK;
    const int64_t width = rows->shape[1];
    for (int64_t t = 0; t < rows->shape[0]; t++) {
        if (!is_in_range(a->options, first_token + t)) continue;
        fp8moe_tensor_read_f64(rows, t * width, width, a->row);
        for (int64_t n = 0; n < a->count; n++) {
            if (!a->open[n]) continue;
            fp8moe_tensor_read_f64(&a->got[n], (first_token + t) * width, width, a->row + width);
            a->distance[n] += squared_distance(a->row, a->row + width, width);
        }
    }
    return FP8MOE_OK;
}

static fp8moe_status open_as(const attempt *a, const fp8moe_recipe *recipe, fp8moe_layer **out,
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

/* ---- attempts ---- */

/* Judge those that came nearer. */
static fp8moe_status judge_nearer(attempt *a, fp8moe_layer *layer, const char *name, double *output,
                                  fp8moe_error *err)
{
    int64_t count = 0;
    for (int64_t n = 0; n < a->count; n++) {
        if (!a->open[n] || !(a->distance[n] <= NEARER * a->base[n])) continue;
        a->tried[count] = a->got[n];
        a->index[count++] = n;
    }
    if (!count) return FP8MOE_OK;
    TRY(judge_outputs(layer, a->tried, count, a->options, NULL, output, a->judged, err));
    for (int64_t i = 0; i < count; i++) {
        fp8moe_judgement *const out = &a->out[a->index[i]];
        if (a->judged[i].verdict != FP8MOE_VERDICT_SAME) continue;
        *out = a->judged[i];
        (void)snprintf(out->axis, sizeof out->axis, "%s", name);
        a->open[a->index[i]] = false;
    }
    return FP8MOE_OK;
}

/* Under one axis (second == first) or two. */
static fp8moe_status try_axes(attempt *a, int first, int second, double *output, fp8moe_error *err)
{
    const fp8moe_axis *const axes = a->config->recipe->axes;
    fp8moe_recipe recipe = *a->config->recipe;
    fp8moe_layer *layer;
    char name[sizeof a->out->axis];
    TRY(fp8moe_recipe_apply(&recipe, axes[first].settings, err));
    if (second != first) TRY(fp8moe_recipe_apply(&recipe, axes[second].settings, err));
    (void)snprintf(name, sizeof name, "%s%s%s", axes[first].name, second != first ? ", " : "",
                   second != first ? axes[second].name : "");
    TRY(open_as(a, &recipe, &layer, err));
    const fp8moe_observer observer = {measure, a};
    memset(a->distance, 0, (size_t)a->count * sizeof *a->distance);
    fp8moe_status status = fp8moe_layer_run(layer, &observer, NULL, err);
    for (int64_t n = 0; n < a->count && second == first; n++)
        a->nearer[first * a->count + n] = a->open[n] && a->distance[n] <= NEARER * a->base[n];
    if (status == FP8MOE_OK) status = judge_nearer(a, layer, name, output, err);
    fp8moe_layer_close(layer);
    return status;
}

/* Two axes that together explain an output each bring it nearer alone. */
static bool is_worth_trying(const attempt *a, int first, int second)
{
    for (int64_t n = 0; n < a->count; n++)
        if (a->open[n] && (first == second ||
                           (a->nearer[first * a->count + n] && a->nearer[second * a->count + n])))
            return true;
    return false;
}

/* The first axis, then the first pair, under which an output is the same; else its judgement stays.
 */
static fp8moe_status search_axes(attempt *a, double *output, fp8moe_error *err)
{
    int count = 0;
    while (count < FP8MOE_MAX_AXES && a->config->recipe->axes[count].name)
        count++;
    for (int gap = 0; gap < count; gap++)
        for (int i = 0; i + gap < count; i++) {
            if (!is_worth_trying(a, i, i + gap)) continue;
            const fp8moe_status status = try_axes(a, i, i + gap, output, err);
            /* An axis may do without a stage that was taken from the dump: it does not apply. */
            if (status != FP8MOE_OK && status != FP8MOE_ERR_USAGE) return status;
        }
    return FP8MOE_OK;
}

static fp8moe_status judge_as_given(attempt *a, double *output, fp8moe_error *err)
{
    fp8moe_layer *layer;
    const fp8moe_observer observer = {measure, a};
    TRY(open_as(a, a->config->recipe, &layer, err));
    const fp8moe_status status =
        judge_outputs(layer, a->got, a->count, a->options, &observer, output, a->out, err);
    fp8moe_layer_close(layer);
    return status;
}

/* Axes of one output may have written theirs over the recipe's own. */
static fp8moe_status restore(const attempt *a, double *output, fp8moe_error *err)
{
    fp8moe_layer *layer;
    TRY(open_as(a, a->config->recipe, &layer, err));
    const fp8moe_status status = fp8moe_layer_run(layer, NULL, output, err);
    fp8moe_layer_close(layer);
    return status;
}

static fp8moe_status judge_attempt(attempt *a, double *output, fp8moe_error *err)
{
    for (int64_t n = 0; n < a->count; n++)
        a->open[n] = true;
    TRY(judge_as_given(a, output, err));
    bool any = false;
    for (int64_t n = 0; n < a->count; n++) {
        a->base[n] = a->distance[n];
        a->open[n] =
            a->out[n].kind == FP8MOE_KIND_ROUNDING || a->out[n].kind == FP8MOE_KIND_STRUCTURED;
        any |= a->open[n];
    }
    if (!any || !a->options->try_axes) return FP8MOE_OK;
    double *const own = a->count == 1 ? output : NULL;
    TRY(search_axes(a, own, err));
    return own && a->open[0] ? restore(a, own, err) : FP8MOE_OK;
}

static fp8moe_status open_attempt(attempt *a, const fp8moe_tensor *got, fp8moe_tensor *rows,
                                  fp8moe_error *err)
{
    int64_t width = 0;
    for (int64_t n = 0; n < a->count; n++) {
        TRY(fp8moe_tensor_as_rows(&got[n], &rows[n], err));
        width = max_i64(width, rows[n].shape[1]);
    }
    a->got = rows;
    a->tried = rows + a->count;
    const size_t count = (size_t)a->count;
    a->base = calloc(count, 2 * sizeof *a->base);
    a->distance = a->base + count;
    a->open = calloc(count, sizeof *a->open);
    a->nearer = calloc(count, FP8MOE_MAX_AXES * sizeof *a->nearer);
    a->row = calloc((size_t)width + 1, 2 * sizeof *a->row);
    a->index = calloc(count, sizeof *a->index);
    a->judged = calloc(count, sizeof *a->judged);
    if (a->base && a->open && a->nearer && a->row && a->index && a->judged) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)a->count);
}

fp8moe_status judge_with_axes(const fp8moe_config *config, const fp8moe_inputs *inputs,
                              const fp8moe_tensor *got, int64_t count,
                              const fp8moe_judge_options *options, double *output,
                              fp8moe_judgement *out, fp8moe_error *err)
{
    assert(count > 0);
    attempt a = {
        .config = config, .inputs = inputs, .count = count, .options = options, .out = out};
    fp8moe_tensor *const rows = calloc((size_t)count, 2 * sizeof *rows);
    if (!rows)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)count);
    fp8moe_status status = open_attempt(&a, got, rows, err);
    if (status == FP8MOE_OK) status = judge_attempt(&a, output, err);
    void *const all[] = {rows, a.base, a.open, a.nearer, a.row, a.index, a.judged};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    return status;
}

fp8moe_status fp8moe_judge(const fp8moe_config *config, const fp8moe_inputs *inputs,
                           const fp8moe_tensor *got, const fp8moe_judge_options *options,
                           double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    return judge_with_axes(config, inputs, got, 1, options, output, out, err);
}

#include "common.h"
#include "judge.h"
#include "rivals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An axis is worth a judgement where it brings the output nearer: to this share of the squared
 * distance. */
#define NEARER 0.95

/* Dumps of one layer and what is known of each under the recipe as given. */
typedef struct attempt {
    apart apart;
    fp8moe_judgement *out;     /* [count] */
    double *base;              /* [count] squared distance under the recipe */
    bool *open;                /* [count] not yet the same */
    bool *nearer;              /* [FP8MOE_MAX_AXES, count] that axis alone brings it nearer */
    fp8moe_tensor *tried;      /* [count] those judged under what is tried now, */
    int64_t *index;            /* [count] which they are, */
    fp8moe_judgement *judged;  /* [count] and how */
    char (*rival)[RIVAL_SIZE]; /* [count] settings nearer than what a dump passed under */
    int *rival_axis;           /* [count] */
} attempt;

/* ---- attempts ---- */

/* Judge those that came nearer. */
static fp8moe_status judge_nearer(attempt *a, fp8moe_layer *layer, const char *name, double *output,
                                  fp8moe_error *err)
{
    int64_t count = 0;
    for (int64_t n = 0; n < a->apart.count; n++) {
        if (!a->open[n] || !(a->apart.distance[n] <= NEARER * a->base[n])) continue;
        a->tried[count] = a->apart.got[n];
        a->index[count++] = n;
    }
    if (!count) return FP8MOE_OK;
    TRY(judge_outputs(layer, a->tried, count, a->apart.options, NULL, output, a->judged, err));
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
    const fp8moe_axis *const axes = a->apart.config->recipe->axes;
    fp8moe_recipe recipe = *a->apart.config->recipe;
    fp8moe_layer *layer;
    char name[sizeof a->out->axis];
    TRY(fp8moe_recipe_apply(&recipe, axes[first].settings, err));
    if (second != first) TRY(fp8moe_recipe_apply(&recipe, axes[second].settings, err));
    (void)snprintf(name, sizeof name, "%s%s%s", axes[first].name, second != first ? ", " : "",
                   second != first ? axes[second].name : "");
    TRY(apart_layer(&a->apart, &recipe, &layer, err));
    fp8moe_status status = apart_run(&a->apart, layer, err);
    for (int64_t n = 0; n < a->apart.count && second == first; n++)
        a->nearer[first * a->apart.count + n] =
            a->open[n] && a->apart.distance[n] <= NEARER * a->base[n];
    if (status == FP8MOE_OK) status = judge_nearer(a, layer, name, output, err);
    fp8moe_layer_close(layer);
    return status;
}

/* Two axes that together explain an output each bring it nearer alone. */
static bool is_worth_trying(const attempt *a, int first, int second)
{
    for (int64_t n = 0; n < a->apart.count; n++)
        if (a->open[n] && (first == second || (a->nearer[first * a->apart.count + n] &&
                                               a->nearer[second * a->apart.count + n])))
            return true;
    return false;
}

/* The first axis, then the first pair, under which an output is the same; else its judgement stays.
 */
static fp8moe_status search_axes(attempt *a, double *output, fp8moe_error *err)
{
    int count = 0;
    while (count < FP8MOE_MAX_AXES && a->apart.config->recipe->axes[count].name)
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
    const fp8moe_observer observer = {apart_stage, &a->apart};
    apart_begin(&a->apart);
    TRY(apart_layer(&a->apart, a->apart.config->recipe, &layer, err));
    const fp8moe_status status = judge_outputs(layer, a->apart.got, a->apart.count,
                                               a->apart.options, &observer, output, a->out, err);
    fp8moe_layer_close(layer);
    return status;
}

/* Axes of one output may have written theirs over the recipe's own. */
static fp8moe_status restore(const attempt *a, double *output, fp8moe_error *err)
{
    fp8moe_layer *layer;
    TRY(apart_layer(&a->apart, a->apart.config->recipe, &layer, err));
    const fp8moe_status status = fp8moe_layer_run(layer, NULL, output, err);
    fp8moe_layer_close(layer);
    return status;
}

/* Those that failed, and neither for NaN nor for Inf. */
static fp8moe_status judge_failed(attempt *a, double *output, fp8moe_error *err)
{
    bool any = false;
    for (int64_t n = 0; n < a->apart.count; n++) {
        a->base[n] = a->apart.distance[n];
        a->open[n] =
            a->out[n].kind == FP8MOE_KIND_ROUNDING || a->out[n].kind == FP8MOE_KIND_STRUCTURED;
        any |= a->open[n];
    }
    if (!any) return FP8MOE_OK;
    TRY(search_axes(a, output, err));
    return output && a->open[0] ? restore(a, output, err) : FP8MOE_OK;
}

static int axis_of(const fp8moe_recipe *recipe, const char *name)
{
    for (int i = 0; i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++)
        if (!strcmp(recipe->axes[i].name, name)) return i;
    return -1;
}

/* A rival that is an open axis of the row: judged as such, beside the axis used already. */
static fp8moe_status judge_rival_axis(attempt *a, int64_t n, double *output, fp8moe_error *err)
{
    const int used = axis_of(a->apart.config->recipe, a->out[n].axis), other = a->rival_axis[n];
    if (a->out[n].axis[0] && used < 0) return FP8MOE_OK;
    for (int64_t m = 0; m < a->apart.count; m++)
        a->open[m] = m == n;
    a->base[n] = INFINITY;
    TRY(try_axes(a, used < 0 ? other : used, other, output, err));
    if (!a->open[n]) a->rival[n][0] = '\0';
    return FP8MOE_OK;
}

/* Those that passed by noise alone, against the recipe with a rounding point moved. */
static fp8moe_status judge_noisy(attempt *a, double *output, fp8moe_error *err)
{
    TRY(rivals_find(&a->apart, a->out, a->rival, a->rival_axis, err));
    for (int64_t n = 0; n < a->apart.count; n++) {
        if (a->rival_axis[n] >= 0) TRY(judge_rival_axis(a, n, output, err));
        if (a->rival[n][0]) judge_beaten(&a->out[n], a->rival[n]);
    }
    return FP8MOE_OK;
}

static fp8moe_status judge_attempt(attempt *a, double *output, fp8moe_error *err)
{
    double *const own = a->apart.count == 1 ? output : NULL;
    for (int64_t n = 0; n < a->apart.count; n++)
        a->open[n] = true;
    TRY(judge_as_given(a, output, err));
    if (!a->apart.options->try_axes) return FP8MOE_OK;
    TRY(judge_failed(a, own, err));
    return judge_noisy(a, own, err);
}

static fp8moe_status open_attempt(attempt *a, fp8moe_error *err)
{
    const size_t count = (size_t)a->apart.count;
    a->base = calloc(count, sizeof *a->base);
    a->open = calloc(count, sizeof *a->open);
    a->nearer = calloc(count, FP8MOE_MAX_AXES * sizeof *a->nearer);
    a->index = calloc(count, sizeof *a->index);
    a->judged = calloc(count, sizeof *a->judged);
    a->rival = calloc(count, sizeof *a->rival);
    a->rival_axis = calloc(count, sizeof *a->rival_axis);
    a->apart.open = a->open;
    TRY(apart_open(&a->apart, err));
    if (a->base && a->open && a->nearer && a->index && a->judged && a->rival && a->rival_axis)
        return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)count);
}

static void close_attempt(attempt *a)
{
    apart_close(&a->apart);
    void *const all[] = {a->base, a->open, a->nearer, a->index, a->judged, a->rival, a->rival_axis};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

fp8moe_status judge_with_axes(const fp8moe_config *config, const fp8moe_inputs *inputs,
                              const fp8moe_tensor *got, int64_t count,
                              const fp8moe_judge_options *options, double *output,
                              fp8moe_judgement *out, fp8moe_error *err)
{
    assert(count > 0);
    fp8moe_tensor *const rows = calloc((size_t)count, 2 * sizeof *rows);
    if (!rows)
        return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)count);
    attempt a = {.apart = {.config = config,
                           .inputs = inputs,
                           .got = rows,
                           .count = count,
                           .options = options},
                 .out = out,
                 .tried = rows + count};
    fp8moe_status status = FP8MOE_OK;
    for (int64_t n = 0; n < count && status == FP8MOE_OK; n++)
        status = fp8moe_tensor_as_rows(&got[n], &rows[n], err);
    if (status == FP8MOE_OK) status = open_attempt(&a, err);
    if (status == FP8MOE_OK) status = judge_attempt(&a, output, err);
    close_attempt(&a);
    free(rows);
    return status;
}

fp8moe_status fp8moe_judge(const fp8moe_config *config, const fp8moe_inputs *inputs,
                           const fp8moe_tensor *got, const fp8moe_judge_options *options,
                           double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    return judge_with_axes(config, inputs, got, 1, options, output, out, err);
}

#include "route_flips.h"

#include "catalog.h"
#include "few_tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- keeping ---- */

static int64_t *copy_ids(const int64_t *from, int64_t count)
{
    int64_t *to = cli_allocate((size_t)count * sizeof *to);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static float *copy_weights(const double *from, int64_t count)
{
    float *to = cli_allocate((size_t)count * sizeof *to);
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)from[i];
    return to;
}

static void free_flip(route_flip *flip)
{
    free(flip->own.ids);
    free(flip->own.weights);
    free(flip->other.ids);
    free(flip->other.weights);
}

static double weight_of(const route_choice *choice, int64_t top_k, int64_t expert)
{
    double weight = 0;
    for (int64_t k = 0; k < top_k; k++)
        if (choice->ids[k] == expert) weight += (double)choice->weights[k];
    return weight;
}

static bool chooses(const route_choice *choice, int64_t top_k, int64_t expert)
{
    for (int64_t k = 0; k < top_k; k++)
        if (choice->ids[k] == expert) return true;
    return false;
}

/* The share of the router's weight that goes elsewhere, and the first expert that comes or goes. */
static void compare_choices(route_flip *flip, int64_t top_k)
{
    double whole = 0, moved = 0;
    for (int64_t k = top_k; k-- > 0;) {
        const int64_t own = flip->own.ids[k], other = flip->other.ids[k];
        whole += fabs((double)flip->own.weights[k]);
        moved += fabs((double)flip->own.weights[k] - weight_of(&flip->other, top_k, own));
        if (!chooses(&flip->other, top_k, own)) flip->out = own;
        if (chooses(&flip->own, top_k, other)) continue;
        moved += fabs((double)flip->other.weights[k]);
        flip->in = other;
        flip->exchanged++;
    }
    flip->weight_moved = whole > 0 ? moved / (2 * whole) : (double)NAN;
}

void route_flips_keep(route_dump *dump, int64_t token, const fp8moe_route_finding *finding)
{
    const int64_t top_k = dump->summary.top_k;
    size_t place = dump->flip_count;
    if (!finding->flip_ids || finding->margin > 1) return;
    while (place > 0 && dump->flips[place - 1].margin > finding->margin)
        place--;
    if (place == ROUTE_FLIPS) return;
    if (dump->flip_count == ROUTE_FLIPS) free_flip(&dump->flips[--dump->flip_count]);
    memmove(&dump->flips[place + 1], &dump->flips[place],
            (dump->flip_count++ - place) * sizeof *dump->flips);
    dump->flips[place] = (route_flip){
        .token = token,
        .margin = finding->margin,
        .change = (double)NAN,
        .own = {copy_ids(finding->own_ids, top_k), copy_weights(finding->own_weights, top_k)},
        .other = {copy_ids(finding->flip_ids, top_k), copy_weights(finding->flip_weights, top_k)}};
    compare_choices(&dump->flips[place], top_k);
}

void route_flips_free(route_dump *dump)
{
    for (size_t i = 0; i < dump->flip_count; i++)
        free_flip(&dump->flips[i]);
}

/* ---- what they change ---- */

/* The tokens that could flip, and room for a routing of theirs. */
typedef struct flip_run {
    few_tokens few;
    const fp8moe_recipe *recipe;
    scratch memory;
    int64_t *ids;
    float *weights;
} flip_run;

static bool take_flips(const route_dump *dump, const subject_dump *subject, flip_run *run)
{
    const int64_t count = (int64_t)dump->flip_count;
    const int64_t chosen[] = {count, dump->summary.top_k};
    int64_t tokens[ROUTE_FLIPS];
    fp8moe_inputs *in = &run->few.subject.fields.inputs;
    for (int64_t i = 0; i < count; i++)
        tokens[i] = dump->flips[i].token;
    if (!few_tokens_take(subject, dump->summary.tokens, tokens, count, &run->few)) return false;
    run->ids = cli_allocate((size_t)(count * chosen[1]) * sizeof *run->ids);
    run->weights = cli_allocate((size_t)(count * chosen[1]) * sizeof *run->weights);
    in->topk_ids = fp8moe_tensor_view(run->ids, FP8MOE_DTYPE_I64, 2, chosen);
    in->topk_weights = fp8moe_tensor_view(run->weights, FP8MOE_DTYPE_F32, 2, chosen);
    in->router_logits = (fp8moe_tensor){.data = NULL};
    return true;
}

/* Run them with their own choice or the other one; `out` [tokens, H]. */
static fp8moe_status run_flips(const route_dump *dump, flip_run *run, bool other,
                               fp8moe_tensor *out, fp8moe_error *err)
{
    const int64_t top_k = dump->summary.top_k;
    for (size_t i = 0; i < dump->flip_count; i++) {
        const route_choice *choice = other ? &dump->flips[i].other : &dump->flips[i].own;
        const int64_t at = (int64_t)i * top_k;
        memcpy(run->ids + at, choice->ids, (size_t)top_k * sizeof *run->ids);
        memcpy(run->weights + at, choice->weights, (size_t)top_k * sizeof *run->weights);
    }
    watch seen = {.memory = &run->memory};
    fp8moe_layer_info info;
    seen.keep[FP8MOE_STAGE_OUTPUT] = true;
    CLI_TRY(subject_run(&run->few.subject, run->recipe, &seen, &info, err));
    *out = seen.stage[FP8MOE_STAGE_OUTPUT].total;
    return FP8MOE_OK;
}

static double row_change(const fp8moe_tensor *own, const fp8moe_tensor *other, int64_t row)
{
    const int64_t hidden = own->shape[1];
    double energy = 0, change = 0;
    for (int64_t i = row * hidden; i < (row + 1) * hidden; i++) {
        double a, b;
        fp8moe_tensor_read_f64(own, i, 1, &a);
        fp8moe_tensor_read_f64(other, i, 1, &b);
        energy += a * a;
        change += (a - b) * (a - b);
    }
    return change > 0 ? sqrt(change / energy) : change;
}

static fp8moe_status measure(route_dump *dump, flip_run *run, fp8moe_error *err)
{
    fp8moe_tensor own, other;
    CLI_TRY(run_flips(dump, run, false, &own, err));
    CLI_TRY(run_flips(dump, run, true, &other, err));
    for (size_t i = 0; i < dump->flip_count; i++)
        dump->flips[i].change = row_change(&own, &other, (int64_t)i);
    dump->flip_recipe = run->recipe->name;
    return FP8MOE_OK;
}

static double effect(const route_flip *flip)
{
    const double size = isnan(flip->change) ? flip->weight_moved : flip->change;
    return isnan(size) ? (double)INFINITY : size;
}

static int compare_flips(const void *a, const void *b)
{
    const route_flip *const x = a, *const y = b;
    if (effect(x) != effect(y)) return effect(x) > effect(y) ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

/* The recipe of the dump, else the definition: how much changes hardly depends on it. */
static const fp8moe_recipe *find_recipe(const subject_dump *subject)
{
    const setting *given = &subject->settings.value[SETTING_RECIPE];
    const fp8moe_recipe *named =
        given->source == SOURCE_UNKNOWN ? NULL : catalog_recipe(given->text);
    return named ? named : catalog_recipe("exact");
}

fp8moe_status route_flips_measure(route_dump *dump, const subject_dump *subject, fp8moe_error *err)
{
    flip_run run = {.recipe = find_recipe(subject)};
    fp8moe_error unfit;
    bool fits = false;
    fp8moe_status st = FP8MOE_OK;
    if (!dump->flip_count) return FP8MOE_OK;
    if (settings_op(&subject->settings) == run.recipe->op &&
        subject_fits(subject, run.recipe, &fits, &unfit) == FP8MOE_OK && fits &&
        take_flips(dump, subject, &run))
        st = measure(dump, &run, err);
    few_tokens_free(&run.few);
    scratch_free(&run.memory);
    free(run.ids);
    free(run.weights);
    qsort(dump->flips, dump->flip_count, sizeof *dump->flips, compare_flips);
    return st;
}

#include "rivals.h"

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Share of the squared distance that a rival must leave at most. A dump that differs from the
 * recipe by noise lies at the noise's distance from it and farther from every rival, since two
 * independent residuals add: half is out of chance's reach. */
#define RIVAL_SHARE 0.5

/* Elements that must differ before their distances mean anything: fewer are near-ties, and what
 * moves one near-tie may move another. */
#define RIVAL_ELEMENTS 16

/* One rounding point moved. */
static const char *const moves[] = {
    "dot_round=none",
    "dot_round=bf16",
    "scale=f32",
    "scale=bf16",
    "up_gate=f32",
    "up_gate=bf16",
    "silu=f32",
    "silu=bf16",
    "product=f32",
    "product=bf16",
    "down_round=none",
    "down_round=bf16",
    "down_out=f32",
    "down_out=bf16",
    "slot_round=none",
    "slot_round=bf16",
    "sum=f32",
    "sum=bf16 order=expert",
    "router_weight=f32",
    "router_weight=bf16",
    "input_cast=bf16",
    "input_cast=f32",
    "intermediate_cast=bf16",
    "intermediate_cast=f32",
};

/* One group of dumps: those judged by the same recipe. */
typedef struct contest {
    apart apart;
    const fp8moe_recipe *recipe;
    double *best; /* [count] squared distance a rival must beat */
    char (*rival)[RIVAL_SIZE];
    int *axis;
} contest;

/* One token of a layer. */
typedef struct one_row {
    fp8moe_inputs inputs;
    fp8moe_tensor got;
    fp8moe_judge_options options;
} one_row;

/* Whether settings leave the recipe as it is. */
static bool is_same_row(const fp8moe_recipe *a, const fp8moe_recipe *b)
{
    for (size_t i = 0; fp8moe_recipe_column(i); i++)
        if (strcmp(fp8moe_recipe_get(a, fp8moe_recipe_column(i)),
                   fp8moe_recipe_get(b, fp8moe_recipe_column(i))))
            return false;
    return true;
}

/* A rival that the inputs do not fit, or that does without a stage taken from the dump, is none. */
static fp8moe_status challenge(contest *c, const fp8moe_recipe *recipe, const char *settings,
                               int axis, fp8moe_error *err)
{
    fp8moe_layer *layer;
    fp8moe_status status = apart_layer(&c->apart, recipe, &layer, err);
    if (status != FP8MOE_OK) return status == FP8MOE_ERR_NOMEM ? status : FP8MOE_OK;
    status = apart_run(&c->apart, layer, err);
    fp8moe_layer_close(layer);
    for (int64_t n = 0; n < c->apart.count && status == FP8MOE_OK; n++) {
        if (!c->apart.open[n] || !(c->apart.distance[n] <= c->best[n])) continue;
        c->best[n] = c->apart.distance[n] / 2;
        c->axis[n] = axis;
        (void)snprintf(c->rival[n], RIVAL_SIZE, "recipe %s%s%s", recipe->name,
                       settings ? " with " : "", settings ? settings : "");
    }
    return status;
}

static fp8moe_status challenge_by_move(contest *c, const char *settings, int axis,
                                       fp8moe_error *err)
{
    fp8moe_recipe recipe = *c->recipe;
    TRY(fp8moe_recipe_apply(&recipe, settings, err));
    return is_same_row(&recipe, c->recipe) ? FP8MOE_OK : challenge(c, &recipe, settings, axis, err);
}

/* Every other recipe for this operation: several rounding points moved at once. */
static fp8moe_status challenge_by_recipes(contest *c, fp8moe_error *err)
{
    const fp8moe_recipe *other;
    for (size_t i = 0; (other = fp8moe_recipe_at(i)); i++)
        if (other->op == c->recipe->op && strcmp(other->name, c->recipe->name) != 0)
            TRY(challenge(c, other, NULL, -1, err));
    return FP8MOE_OK;
}

/* What a dump must be beaten by: its distance from the recipe it was judged by. */
static fp8moe_status measure_recipe(contest *c, fp8moe_error *err)
{
    fp8moe_layer *layer;
    TRY(apart_layer(&c->apart, c->recipe, &layer, err));
    const fp8moe_status status = apart_run(&c->apart, layer, err);
    fp8moe_layer_close(layer);
    for (int64_t n = 0; n < c->apart.count; n++)
        c->best[n] =
            c->apart.elements[n] < RIVAL_ELEMENTS ? -1 : RIVAL_SHARE * c->apart.distance[n];
    return status;
}

/* The worst row of a single dump says as much as all of them. */
static fp8moe_status narrow(contest *c, one_row *only, fp8moe_error *err)
{
    apart *const a = &c->apart;
    const int64_t row = a->worst_row[0];
    if (a->count != 1 || row < 0 || a->got[0].shape[0] == 1) return FP8MOE_OK;
    for (int stage = 0; stage < FP8MOE_STAGE_OUTPUT; stage++)
        if (fp8moe_tensor_present(&a->options->from[stage])) return FP8MOE_OK;
    only->inputs = *a->inputs;
    fp8moe_tensor *const by_token[] = {&only->inputs.hidden_states, &only->inputs.router_logits,
                                       &only->inputs.topk_ids, &only->inputs.topk_weights};
    for (size_t i = 0; i < sizeof by_token / sizeof *by_token; i++) {
        if (!fp8moe_tensor_present(by_token[i])) continue;
        TRY(fp8moe_tensor_as_rows(by_token[i], by_token[i], err));
        *by_token[i] = fp8moe_tensor_slice(by_token[i], 0, row, 1);
    }
    only->got = fp8moe_tensor_slice(&a->got[0], 0, row, 1);
    only->options = *a->options;
    only->options.first_row = only->options.last_row = -1;
    a->inputs = &only->inputs;
    a->got = &only->got;
    a->options = &only->options;
    return measure_recipe(c, err);
}

/* The casts above quantise anew, row by row. */
static bool applies(const char *move, const fp8moe_recipe *r)
{
    if (!strncmp(move, "input_cast", 10)) return r->input == FP8MOE_INPUT_FP8_TOKEN;
    if (strncmp(move, "intermediate_cast", 17)) return true;
    return r->intermediate == FP8MOE_INTERMEDIATE_FP8_ROW;
}

static fp8moe_status run_contest(contest *c, fp8moe_error *err)
{
    one_row only;
    TRY(measure_recipe(c, err));
    TRY(narrow(c, &only, err));
    for (int i = 0; i < FP8MOE_MAX_AXES && c->recipe->axes[i].name; i++)
        TRY(challenge_by_move(c, c->recipe->axes[i].settings, i, err));
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (applies(moves[i], c->recipe)) TRY(challenge_by_move(c, moves[i], -1, err));
    return challenge_by_recipes(c, err);
}

/* Those still to be held against rivals that were judged by the recipe of the first of them. */
static int64_t choose_group(const fp8moe_judgement *judged, bool *todo, bool *open, int64_t count)
{
    int64_t first = -1;
    for (int64_t n = 0; n < count; n++) {
        if (todo[n] && first < 0) first = n;
        open[n] = todo[n] && !strcmp(judged[n].axis, judged[first].axis);
        todo[n] &= !open[n];
    }
    return first;
}

fp8moe_status rivals_find(const apart *all, const fp8moe_judgement *judged,
                          char (*rival)[RIVAL_SIZE], int *axis, fp8moe_error *err)
{
    const size_t count = (size_t)all->count;
    bool *const todo = calloc(count, 2 * sizeof *todo), *const open = todo ? todo + count : NULL;
    contest c = {.apart = *all, .rival = rival, .axis = axis};
    c.apart.open = open;
    c.best = calloc(count, sizeof *c.best);
    fp8moe_status status = apart_open(&c.apart, err);
    if (!todo || !c.best)
        status =
            fail(err, FP8MOE_ERR_NOMEM, "out of memory for %lld judgements", (long long)all->count);
    for (size_t n = 0; n < count; n++) {
        rival[n][0] = '\0';
        axis[n] = -1;
        if (todo) todo[n] = judged[n].verdict == FP8MOE_VERDICT_SAME && judged[n].rows_noise;
    }
    for (int64_t first;
         status == FP8MOE_OK && (first = choose_group(judged, todo, open, all->count)) >= 0;) {
        c.recipe = &judged[first].recipe;
        status = run_contest(&c, err);
    }
    apart_close(&c.apart);
    free(c.best);
    free(todo);
    return status;
}

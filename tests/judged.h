/* A made-up layer and a dump of it by a stand-in for a device: f32 sums in a random order, some
 * silu values a step off, under any recipe row. */
#ifndef FP8MOE_TESTS_JUDGED_H
#define FP8MOE_TESTS_JUDGED_H

#include "made_layer.h"

#include <fp8moe/judge.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define JUDGED_MAX (64 * 1024)

typedef struct judged {
    made_layer made;
    double dump[JUDGED_MAX]; /* [tokens, hidden], or of a linear [tokens, rows] */
    fp8moe_tensor got;
    fp8moe_judge_options options;
    fp8moe_judgement result;
} judged;

static const made_options judged_shape = {
    .seed = 5, .tokens = 4, .hidden = 384, .inter = 256, .top_k = 4, .experts = 6, .local = 6};

/* Which weights and scales the recipe takes. */
static inline made_layout judged_layout(const fp8moe_recipe *r)
{
    if (r->weights == FP8MOE_FORM_BF16) return MADE_NO_SCALE;
    return r->weights == FP8MOE_FORM_CODES ? MADE_PER_EXPERT : MADE_BLOCKS;
}

static inline judged *judged_open(const char *recipe, const made_options *shape)
{
    judged *const j = calloc(1, sizeof *j);
    const fp8moe_recipe *const row = fp8moe_recipe_find(recipe);
    made_options options = *shape;
    assert_non_null(j);
    assert_non_null(row);
    options.layout = judged_layout(row);
    made_moe(&j->made, &options, row, fp8moe_target_find("gaudi2"), FP8MOE_WEIGHTS_LOADED);
    const int64_t dims[2] = {shape->tokens, shape->hidden};
    assert_true(dims[0] * dims[1] <= JUDGED_MAX);
    j->got = fp8moe_tensor_view(j->dump, FP8MOE_DTYPE_F64, 2, dims);
    fp8moe_judge_options_default(&j->options);
    return j;
}

static inline void judged_close(judged *j)
{
    made_close(&j->made);
    free(j);
}

/* Fill the dump: the layer under its recipe with `settings` applied ("": as it is), on a device of
 * this seed (0: the reference itself). */
static inline void judged_dump_as(judged *j, const char *settings, uint64_t seed, double silu_rate)
{
    fp8moe_recipe recipe = *j->made.config.recipe;
    fp8moe_config config = j->made.config;
    fp8moe_layer *layer;
    fp8moe_error err;
    assert_int_equal(fp8moe_recipe_apply(&recipe, settings, &err), FP8MOE_OK);
    config.recipe = &recipe;
    config.shuffle_sums = seed != 0;
    config.shuffle_seed = seed;
    config.silu_step_rate = silu_rate;
    if (fp8moe_layer_open(&config, &j->made.inputs, &layer, &err) != FP8MOE_OK)
        fail_msg("%s: %s", settings, err.message);
    assert_int_equal(fp8moe_layer_run(layer, NULL, j->dump, &err), FP8MOE_OK);
    fp8moe_layer_close(layer);
}

static inline const fp8moe_judgement *judged_run(judged *j)
{
    fp8moe_error err;
    if (fp8moe_judge(&j->made.config, &j->made.inputs, &j->got, &j->options, NULL, &j->result,
                     &err) != FP8MOE_OK)
        fail_msg("%s", err.message);
    return &j->result;
}

#endif

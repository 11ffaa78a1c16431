/* What a full verdict costs beside the plain forward, at one token: a dump that is the reference,
 * and one with the noise of a device.
 *
 *   bench_verdict [SHAPE...]
 */
#include "fault_layer.h"
#include "fault_results.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIMES 5

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The fastest of a few. */
static double time_forward(const made_plan *plan, uint16_t *output)
{
    double best = 1e9;
    for (int i = 0; i < TIMES; i++) {
        const double start = now();
        made_plan_run(plan, output);
        const double took = now() - start;
        if (took < best) best = took;
    }
    return best;
}

static double time_verdict(made_plan *plan, const uint16_t *output)
{
    const int64_t shape[2] = {plan->tokens, plan->model->shape->hidden};
    const fp8moe_tensor got = fp8moe_tensor_view(output, FP8MOE_DTYPE_BF16, 2, shape);
    const fp8moe_inputs inputs = made_plan_inputs(plan);
    double best = 1e9;
    plan->config.recipe = &plan->recipe;
    for (int i = 0; i < TIMES; i++) {
        fp8moe_judge_options how;
        fp8moe_judgement judgement;
        fp8moe_error err;
        fp8moe_judge_options_default(&how);
        const double start = now();
        made_check(fp8moe_judge(&plan->config, &inputs, &got, &how, NULL, &judgement, &err), &err);
        const double took = now() - start;
        if (took < best) best = took;
    }
    return best;
}

static void time_recipe(const made_model *model, const char *recipe)
{
    made_plan plan;
    made_plan_open(&plan, model, recipe, 1);
    uint16_t *const exact = made_take(&plan.memory, model->shape->hidden, sizeof *exact),
                    *const noisy = made_take(&plan.memory, model->shape->hidden, sizeof *noisy);
    const double forward = time_forward(&plan, exact), same = time_verdict(&plan, exact);
    made_plan_noise(&plan, 1, 0.02);
    made_plan_run(&plan, noisy);
    plan.config.shuffle_sums = false;
    plan.config.silu_step_rate = 0;
    const double noise = time_verdict(&plan, noisy);
    printf("%-20s %-10s forward %6.1f ms, verdict on the reference %4.1f times, on noise %4.1f\n",
           model->shape->name, recipe, 1e3 * forward, same / forward, noise / forward);
    (void)fflush(stdout);
    made_plan_close(&plan);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < MADE_SHAPES; i++) {
        bool asked = argc == 1 && !made_shapes[i].small;
        for (int a = 1; a < argc; a++)
            asked |= !strcmp(argv[a], made_shapes[i].name);
        if (!asked) continue;
        made_model *const model = made_open(&made_shapes[i]);
        for (int recipe = 0; recipe < FAULT_RECIPES; recipe++)
            time_recipe(model, fault_recipes[recipe]);
        made_close(model);
    }
    return 0;
}

#include "fault_kinds.h"

#include <string.h>

static const fault_group *const groups[] = {&fault_routing, &fault_inputs, &fault_weights,
                                            &fault_arithmetic, &fault_outputs};

const fault_kind *fault_kind_at(int n)
{
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; n -= groups[g++]->count)
        if (n < groups[g]->count) return &groups[g]->kinds[n];
    return NULL;
}

static bool is_equal(const fp8moe_recipe *a, const fp8moe_recipe *b)
{
    for (size_t i = 0; fp8moe_recipe_column(i); i++)
        if (strcmp(fp8moe_recipe_get(a, fp8moe_recipe_column(i)),
                   fp8moe_recipe_get(b, fp8moe_recipe_column(i))) != 0)
            return false;
    return true;
}

/* What the recipe is already, or leaves open. */
static bool is_legitimate(const fp8moe_recipe *recipe, const fp8moe_recipe *changed)
{
    if (is_equal(recipe, changed)) return true;
    for (int i = 0; i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++) {
        fp8moe_recipe open = *recipe;
        if (fp8moe_recipe_apply(&open, recipe->axes[i].settings, NULL) == FP8MOE_OK &&
            is_equal(&open, changed))
            return true;
    }
    return false;
}

bool fault_plant(const fault_kind *kind, made_plan *plan)
{
    if (kind->plant) return kind->plant(plan);
    if (!kind->settings) return true;
    fp8moe_recipe changed = plan->recipe;
    if (fp8moe_recipe_apply(&changed, kind->settings, NULL) != FP8MOE_OK ||
        is_legitimate(&plan->recipe, &changed))
        return false;
    plan->recipe = changed;
    return true;
}

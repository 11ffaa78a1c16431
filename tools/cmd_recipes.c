/* recipes: the rows the library ships, with their evidence and what is open about them. */
#include "report.h"

static const char *name_at(const void *context, size_t index)
{
    (void)context;
    const fp8moe_recipe *recipe = fp8moe_recipe_at(index);
    return recipe ? recipe->name : NULL;
}

static cli_exit recipes(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    const fp8moe_recipe *only = NULL;
    if (given->operand_count) {
        only = fp8moe_recipe_find(given->operands[0]);
        if (!only) {
            const char *nearest = cli_nearest(given->operands[0], name_at, NULL);
            cli_fail(&err, FP8MOE_ERR_USAGE, "'%s' is no recipe; %s%s%s", given->operands[0],
                     nearest ? "did you mean " : "'fp8moe recipes' lists them",
                     nearest ? nearest : "", nearest ? "?" : "");
            return cli_report_error(&err);
        }
    }
    buffer out = {0};
    format->recipes(only, &out);
    return report_send(given, &out);
}

const cli_command command_recipes = {
    .name = "recipes",
    .operands = "[NAME]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "list targets and recipes, their evidence and what is open about them",
    .description = "A recipe says where a path rounds, to what, and in which order it sums. Its "
                   "open axes are the "
                   "choices that public knowledge leaves open.",
    .example = "fp8moe recipes gather",
    .run = recipes,
};

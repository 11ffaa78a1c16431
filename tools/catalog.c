#include "catalog.h"

#include <stdlib.h>
#include <string.h>

/* Added rows; pointers to them stay valid, so each has memory of its own. */
static fp8moe_recipe **recipes;
static fp8moe_target **targets;
static size_t recipe_count, target_count;

/* Those rows and their texts, which rows based on them share. */
static void **owned;
static size_t owned_count;

static void *own(void *memory)
{
    owned = cli_grow(owned, owned_count, sizeof *owned);
    return owned[owned_count++] = memory;
}

const fp8moe_recipe *catalog_recipe(const char *name)
{
    for (size_t i = 0; i < recipe_count; i++)
        if (!strcmp(recipes[i]->name, name)) return recipes[i];
    return fp8moe_recipe_find(name);
}

const fp8moe_recipe *catalog_recipe_at(size_t index)
{
    size_t shipped = 0;
    while (fp8moe_recipe_at(shipped))
        shipped++;
    if (index < shipped) return fp8moe_recipe_at(index);
    return index - shipped < recipe_count ? recipes[index - shipped] : NULL;
}

const fp8moe_target *catalog_target(const char *name)
{
    for (size_t i = 0; i < target_count; i++)
        if (!strcmp(targets[i]->name, name)) return targets[i];
    return fp8moe_target_find(name);
}

/* Only the keys listed may stand in a row. */
static fp8moe_status check_keys(const yaml_node *row, const char *const *keys, fp8moe_error *err)
{
    for (size_t i = 0; i < row->count; i++) {
        size_t k = 0;
        while (keys[k] && strcmp(keys[k], row->children[i].key))
            k++;
        if (!keys[k])
            return yaml_fail_key(&row->children[i], err, "unknown key '%s'", row->children[i].key);
    }
    return FP8MOE_OK;
}

static fp8moe_status find_base(const yaml_node *row, const char *const *keys, const char **base,
                               fp8moe_error *err)
{
    CLI_TRY(yaml_expect(row, YAML_MAP, row->key, err));
    CLI_TRY(check_keys(row, keys, err));
    const yaml_node *based_on = yaml_find(row, "based_on");
    if (!based_on)
        return yaml_fail_key(row, err, "'%s' needs based_on: the row it starts from", row->key);
    CLI_TRY(yaml_expect(based_on, YAML_TEXT, "based_on", err));
    *base = based_on->text;
    return FP8MOE_OK;
}

/* ---- recipes ---- */

static fp8moe_status set_columns(const yaml_node *with, fp8moe_recipe *recipe, fp8moe_error *err)
{
    fp8moe_error why;
    if (!with) return FP8MOE_OK;
    CLI_TRY(yaml_expect(with, YAML_MAP, "with", err));
    for (size_t i = 0; i < with->count; i++) {
        const yaml_node *entry = &with->children[i];
        CLI_TRY(yaml_expect(entry, YAML_TEXT, entry->key, err));
        if (fp8moe_recipe_set(recipe, entry->key, entry->text, &why) != FP8MOE_OK)
            return yaml_fail(entry, err, "%s", why.message);
    }
    return FP8MOE_OK;
}

static fp8moe_status set_axes(const yaml_node *axes, fp8moe_recipe *recipe, fp8moe_error *err)
{
    fp8moe_error why;
    if (!axes) return FP8MOE_OK;
    CLI_TRY(yaml_expect(axes, YAML_MAP, "axes", err));
    if (axes->count > FP8MOE_MAX_AXES)
        return yaml_fail(axes, err, "more than %d axes", FP8MOE_MAX_AXES);
    memset(recipe->axes, 0, sizeof recipe->axes);
    for (size_t i = 0; i < axes->count; i++) {
        const yaml_node *entry = &axes->children[i];
        fp8moe_recipe trial = *recipe;
        CLI_TRY(yaml_expect(entry, YAML_TEXT, entry->key, err));
        if (fp8moe_recipe_apply(&trial, entry->text, &why) != FP8MOE_OK)
            return yaml_fail(entry, err, "%s", why.message);
        recipe->axes[i] = (fp8moe_axis){own(cli_copy(entry->key)), own(cli_copy(entry->text))};
    }
    return FP8MOE_OK;
}

static fp8moe_status add_recipe(const yaml_node *row, fp8moe_error *err)
{
    static const char *const keys[] = {"based_on", "with", "axes", NULL};
    const char *base;
    CLI_TRY(find_base(row, keys, &base, err));
    if (catalog_recipe(row->key))
        return yaml_fail_key(row, err, "there is a recipe '%s' already", row->key);
    if (!catalog_recipe(base))
        return yaml_fail(row, err, "based_on '%s': there is no such recipe", base);
    fp8moe_recipe *recipe = own(cli_allocate(sizeof *recipe));
    recipes = cli_resize(recipes, (recipe_count + 1) * sizeof(void *));
    *recipe = *catalog_recipe(base);
    recipe->name = own(cli_copy(row->key));
    recipe->alias = NULL;
    recipe->evidence = FP8MOE_EVIDENCE_ASSUMED;
    recipe->evidence_text = own(cli_text("a case file, based on %s", base));
    recipes[recipe_count++] = recipe;
    CLI_TRY(set_columns(yaml_find(row, "with"), recipe, err));
    return set_axes(yaml_find(row, "axes"), recipe, err);
}

fp8moe_status catalog_add_recipes(const yaml_node *map, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(map, YAML_MAP, "recipes", err));
    for (size_t i = 0; i < map->count; i++)
        CLI_TRY(add_recipe(&map->children[i], err));
    return FP8MOE_OK;
}

/* ---- targets ---- */

static fp8moe_status set_slack(const yaml_node *entry, fp8moe_target *target, fp8moe_error *err)
{
    double number;
    CLI_TRY(yaml_expect(entry, YAML_TEXT, entry->key, err));
    if (!cli_parse_number(entry->text, &number) || number < 0)
        return yaml_fail(entry, err, "%s '%s' must be a number of at least 0", entry->key,
                         entry->text);
    if (!strcmp(entry->key, "dot_slack")) {
        target->dot_slack = number;
    } else if (!strcmp(entry->key, "silu_slack_rate") && number <= 1) {
        target->silu_slack_rate = number;
    } else if (!strcmp(entry->key, "silu_slack") && number <= 100 && number == (int)number) {
        target->silu_slack = (int)number;
    } else {
        return yaml_fail(entry, err,
                         "a target may change dot_slack, silu_slack (steps, 0 to 100) and "
                         "silu_slack_rate (0 to 1), not "
                         "'%s: %s'",
                         entry->key, entry->text);
    }
    return FP8MOE_OK;
}

static fp8moe_status add_target(const yaml_node *row, fp8moe_error *err)
{
    static const char *const keys[] = {"based_on", "with", NULL};
    const char *base;
    CLI_TRY(find_base(row, keys, &base, err));
    if (catalog_target(row->key))
        return yaml_fail_key(row, err, "there is a target '%s' already", row->key);
    if (!catalog_target(base))
        return yaml_fail(row, err, "based_on '%s': there is no such target", base);
    fp8moe_target *target = own(cli_allocate(sizeof *target));
    targets = cli_resize(targets, (target_count + 1) * sizeof(void *));
    *target = *catalog_target(base);
    target->name = own(cli_copy(row->key));
    target->alias = NULL;
    target->evidence = own(cli_text("a case file, based on %s", base));
    targets[target_count++] = target;
    const yaml_node *with = yaml_find(row, "with");
    if (with) CLI_TRY(yaml_expect(with, YAML_MAP, "with", err));
    for (size_t i = 0; with && i < with->count; i++)
        CLI_TRY(set_slack(&with->children[i], target, err));
    return FP8MOE_OK;
}

fp8moe_status catalog_add_targets(const yaml_node *map, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(map, YAML_MAP, "targets", err));
    for (size_t i = 0; i < map->count; i++)
        CLI_TRY(add_target(&map->children[i], err));
    return FP8MOE_OK;
}

void catalog_clear(void)
{
    for (size_t i = 0; i < owned_count; i++)
        free(owned[i]);
    free(owned);
    free(recipes);
    free(targets);
    owned = NULL;
    recipes = NULL;
    targets = NULL;
    owned_count = recipe_count = target_count = 0;
}

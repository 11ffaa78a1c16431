/* Targets and recipes by name: the shipped rows, and those a case file adds. */
#ifndef FP8MOE_TOOLS_CATALOG_H
#define FP8MOE_TOOLS_CATALOG_H

#include "yaml_tree.h"

/* The row of a name or alias, or NULL. */
const fp8moe_recipe *catalog_recipe(const char *name);
const fp8moe_target *catalog_target(const char *name);

/* Shipped rows, then added ones; NULL behind the last. */
const fp8moe_recipe *catalog_recipe_at(size_t index);

/*
 * Add the rows of a case file: maps from a new name to {based_on: NAME, with: {column: value}}; a
 * recipe's may also name open axes of its own: `axes: {words: "column=value ..."}`. Rows live until
 * the process ends.
 *
 * @return OK; FORMAT with line and column: a name that is taken, an unknown column or value
 */
fp8moe_status catalog_add_recipes(const yaml_node *map, fp8moe_error *err);
fp8moe_status catalog_add_targets(const yaml_node *map, fp8moe_error *err);

/* Forget the rows that were added; whoever still points to one must not look. */
void catalog_clear(void);

#endif

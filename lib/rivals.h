/* Rows that pass as noise, held against the recipe with one rounding point moved and against the
 * other recipes: noise has no reason to lie nearer to those. */
#ifndef FP8MOE_LIB_RIVALS_H
#define FP8MOE_LIB_RIVALS_H

#include "apart.h"

/* Of judgements that are the same by noise, whose recipe (an axis applied) is their own: what
 * brings a dump to less than half of its squared distance, such as "recipe stock with sum=f32", ""
 * where nothing does. rival: [count][RIVAL_SIZE]. Axes of the row come first: `axis` [count] is the
 * index of the one found, or -1. */
#define RIVAL_SIZE 96
fp8moe_status rivals_find(const apart *all, const fp8moe_judgement *judged,
                          char (*rival)[RIVAL_SIZE], int *axis, fp8moe_error *err);

#endif

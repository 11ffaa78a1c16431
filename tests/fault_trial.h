/* One layer under one recipe: its legitimate outputs, its faulted ones, and what every checker says
 * of them. */
#ifndef FP8MOE_TESTS_FAULT_TRIAL_H
#define FP8MOE_TESTS_FAULT_TRIAL_H

#include "fault_layer.h"
#include "fault_results.h"

/* Try everything with the first `counts[i]` tokens for each of the `count` counts, ascending. */
void fault_trial(const made_model *model, int recipe, const int64_t *counts, int count,
                 bool verbose, fault_results *results);

/* Codes of the input, or of the requantised intermediate, made with a reciprocal a step off; false
 * where the recipe makes none. */
bool fault_give_x_codes(made_plan *plan);
bool fault_give_act_codes(made_plan *plan);

#endif

/* What came of the suite: scores of each checker, counts of each fault, and their tables. */
#ifndef FP8MOE_TESTS_FAULT_RESULTS_H
#define FP8MOE_TESTS_FAULT_RESULTS_H

#include "fault_checkers.h"

#include <fp8moe/judge.h>

#define FAULT_RECIPES 5
#define MAX_FAULTS 128

extern const char *const fault_recipes[FAULT_RECIPES];

/* What a dump is. */
typedef enum fault_role {
    ROLE_FAULT,
    ROLE_LEGITIMATE,
    ROLE_AXIS /* made as an open axis of the recipe says */
} fault_role;

#define ROLES 3

/* Verdicts on dumps of each role. */
typedef struct fault_score {
    int count[ROLES][FP8MOE_VERDICT_INCONCLUSIVE + 1];
} fault_score;

typedef struct fault_results {
    fault_score judge[FAULT_RECIPES], other[FAULT_CHECKERS];
    int kind[MAX_FAULTS][FP8MOE_VERDICT_INCONCLUSIVE + 1];
    int below_noise, repeated, absent;
    int64_t elements, impossible;             /* of legitimate outputs with the most tokens */
    int64_t tight_elements, tight_impossible; /* the same with a hundredth of the slack */
} fault_results;

/* Add what another part of the suite found. */
void fault_add_results(fault_results *sum, const fault_results *part);

int fault_scored(const fault_score *score, fault_role role);

/* Faults called the same, other dumps called different, over all recipes. */
int fault_wrong(const fault_results *results);

void fault_print_tables(const fault_results *results);

#endif

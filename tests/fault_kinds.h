/* Faults as people meet them: each a row that changes what the engine is given, or edits what came
 * out. */
#ifndef FP8MOE_TESTS_FAULT_KINDS_H
#define FP8MOE_TESTS_FAULT_KINDS_H

#include "fault_layer.h"

typedef struct fault_kind {
    const char *name;
    const char *what;
    /* One of these. `plant` says whether the fault exists under this recipe and token count. */
    const char *settings; /* recipe columns; no fault where the recipe names them as an open axis */
    bool (*plant)(made_plan *plan);
    bool (*edit)(uint16_t *output, int64_t tokens, int64_t hidden);
} fault_kind;

typedef struct fault_group {
    const fault_kind *kinds;
    int count;
} fault_group;

extern const fault_group fault_routing, fault_inputs, fault_weights, fault_arithmetic,
    fault_outputs;

/* All of them, from 0; NULL beyond the last. */
const fault_kind *fault_kind_at(int n);

/* Plant it; false where it is no fault here. */
bool fault_plant(const fault_kind *kind, made_plan *plan);

#endif

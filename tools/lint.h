/* What is odd about a dump before anything is multiplied. */
#ifndef FP8MOE_TOOLS_LINT_H
#define FP8MOE_TOOLS_LINT_H

#include "fields.h"

/* One finding: how often, and where first. */
typedef struct lint_finding {
    const char *rule;   /* "nan-code" ... */
    const char *tensor; /* as the field is called */
    int64_t count;
    char *text; /* in words */
} lint_finding;

typedef struct lint_result {
    lint_finding *findings;
    size_t count;
} lint_result;

/* Look at everything the fields hold; `target` may be NULL. `first_expert` is the id that the
 * router gives the first expert here (0 but in an expert-parallel group). The caller frees. */
void lint_fields(const fields *found, const fp8moe_target *target, int64_t first_expert,
                 lint_result *out);
void lint_free(lint_result *result);

#endif

/* Tokens that could flip under one bf16 step, and what that would change in the output. */
#ifndef FP8MOE_TOOLS_ROUTE_FLIPS_H
#define FP8MOE_TOOLS_ROUTE_FLIPS_H

#include "route_report.h"
#include "subject.h"

/* Keep a token that could flip, the nearest ones where there are many. */
void route_flips_keep(route_dump *dump, int64_t token, const fp8moe_route_finding *finding);
void route_flips_free(route_dump *dump);

/* Where the dump holds hidden_states and weights: run its tokens with both choices. Then order the
 * flips, the one that changes most first. Where it cannot run, dump->flip_recipe stays NULL. */
fp8moe_status route_flips_measure(route_dump *dump, const subject_dump *subject, fp8moe_error *err);

#endif

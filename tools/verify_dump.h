/* One dump verified: its layer run under the recipes asked for, every output judged, the report
 * filled. */
#ifndef FP8MOE_TOOLS_VERIFY_DUMP_H
#define FP8MOE_TOOLS_VERIFY_DUMP_H

#include "policy.h"
#include "report.h"
#include "sources.h"
#include "subject.h"

/* By which measures: the same for every dump of a command or a case's layer. */
typedef struct verify_how {
    fp8moe_compare_options comparing;
    fp8moe_judge_options judging;
    policies policies;
} verify_how;

fp8moe_status verify_how_read(const options *given, verify_how *out, fp8moe_error *err);
void verify_how_free(verify_how *how);

/* Verify one dump into the report; returns the exit code of a failure, or CLI_SAME. */
cli_exit verify_dump_into(report *whole, const source *from, const verify_how *how,
                          const options *given);

#endif

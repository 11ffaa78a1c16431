/* What `gate` does one after the other, each part in a file of its own: variables and ratio become
 * facts, options and model become sizes, sizes become costs. */
#ifndef FP8MOE_TOOLS_GATE_JOB_H
#define FP8MOE_TOOLS_GATE_JOB_H

#include "gate_report.h"
#include "options.h"
#include "serve.h"

/* Everything that is open while the report is made. */
typedef struct gate_job {
    const options *given;
    serve_line serve;
    bool has_serve;
    fp8moe_config_file *config;
    buffer process; /* the environment of --pid */
    gate_report report;
} gate_job;

/* The facts that variables decide: of --env, --from-environment, --pid and --serve.
 *
 * @return OK; USAGE where upstream would not start with such a value; IO for --pid */
fp8moe_status gate_set_variables(gate_job *job, fp8moe_error *err);
/* --ratio, which goes before every variable. */
fp8moe_status gate_set_ratio(gate_job *job, fp8moe_error *err);

/* E, E_local, K, H and I from options, --model and --serve. USAGE where one that is needed is
 * missing. */
fp8moe_status gate_find_sizes(gate_job *job, fp8moe_error *err);

/* What each row reads and multiplies, and how long that takes; the rows are there already. */
fp8moe_status gate_add_costs(gate_job *job, fp8moe_error *err);

#endif

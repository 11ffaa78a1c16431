/* What `gate` found, finished: the formats print it and compute nothing. */
#ifndef FP8MOE_TOOLS_GATE_REPORT_H
#define FP8MOE_TOOLS_GATE_REPORT_H

#include "cli.h"

/* One number of tokens, and what happens to it. */
typedef struct gate_row {
    int64_t tokens;
    int64_t first_requests, last_requests; /* live requests padded to it; 0: not from buckets */
    fp8moe_gate_decision decision;
    fp8moe_gate_decision other; /* --diff: of the second version */
    fp8moe_cost_load load;      /* where sizes are known: expected under uniform routing */
    fp8moe_cost cost[FP8MOE_PATH_COUNT];
    double seconds[FP8MOE_PATH_COUNT];       /* predicted, every copy going through memory */
    double fused_seconds[FP8MOE_PATH_COUNT]; /* and none of them */
} gate_row;

#define GATE_SWEEP_RATIOS 10

/* --sweep: a size of the expert-parallel group. */
typedef struct gate_sweep {
    int64_t ep_size, local_num_experts;
    int64_t largest[GATE_SWEEP_RATIOS]; /* the largest T that gathers at ratio 0.1, 0.2 ... 1.0 */
} gate_sweep;

typedef struct gate_report {
    const fp8moe_gate_version *version;
    const fp8moe_gate_version *other; /* --diff, or NULL */
    fp8moe_gate_facts facts, other_facts;
    fp8moe_cost_shape shape; /* num_experts, hidden, intermediate: 0 where unknown */
    char *model;             /* as given, or NULL */
    gate_row *rows;
    size_t row_count;
    bool by_requests; /* --serve */
    int64_t max_num_seqs, speculative_tokens, factor;
    int64_t sequence_parallel; /* ranks that split the tokens before they are gathered, or 1 */
    bool seqs_assumed;
    int64_t largest_tokens[FP8MOE_PATH_COUNT];
    gate_sweep *sweep;
    size_t sweep_count;
    bool has_cost, has_prediction;
    fp8moe_cost_machine machine;
    int64_t crossover_copied, crossover_fused; /* predicted: every copy through memory, none */
    fp8moe_path expected;                      /* --expect, or FP8MOE_PATH_COUNT */
    char **notes;
    size_t note_count;
    cli_exit verdict;
    char *reason;
} gate_report;

void gate_report_free(gate_report *whole);
void gate_report_note(gate_report *whole, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

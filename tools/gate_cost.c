/* gate: what the paths read and multiply, and what that predicts on the user's machine. */
#include "gate_job.h"

#include <stdlib.h>
#include <string.h>

/* "stock=10,gather=50": microseconds. */
static fp8moe_status parse_launch(const char *text, fp8moe_cost_machine *machine, fp8moe_error *err)
{
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ",");
        char *part = cli_text("%.*s", (int)length, at);
        char *sign = strchr(part, '=');
        double microseconds = 0;
        if (sign) *sign = '\0';
        const fp8moe_path path = fp8moe_path_find(part);
        const bool legal = sign && path != FP8MOE_PATH_COUNT &&
                           cli_parse_number(sign + 1, &microseconds) && microseconds >= 0;
        free(part);
        if (!legal)
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "--launch '%s': expected stock=US,gather=US,dense=US", text);
        machine->launch[path] = microseconds / 1e6;
        at += length + (at[length] == ',');
    }
    return FP8MOE_OK;
}

static fp8moe_status find_machine(gate_job *job, fp8moe_error *err)
{
    const char *bandwidth = options_value(job->given, OPTION_BANDWIDTH);
    const char *launch = options_value(job->given, OPTION_LAUNCH);
    fp8moe_cost_machine *machine = &job->report.machine;
    double gigabytes;
    *machine = (fp8moe_cost_machine){.copied_share = 1};
    if (!bandwidth && !launch) return FP8MOE_OK;
    if (!bandwidth || !job->report.has_cost)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "a prediction needs --bandwidth, and --model for the sizes of an expert");
    if (!cli_parse_number(bandwidth, &gigabytes) || !(gigabytes > 0))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--bandwidth '%s': expected gigabytes a second",
                        bandwidth);
    machine->bandwidth = gigabytes * 1e9;
    job->report.has_prediction = true;
    return launch ? parse_launch(launch, machine, err) : FP8MOE_OK;
}

static fp8moe_cost_machine without_copies(const fp8moe_cost_machine *machine)
{
    fp8moe_cost_machine fused = *machine;
    fused.copied_share = 0;
    return fused;
}

static void add_seconds(const gate_report *whole, gate_row *row, fp8moe_path path)
{
    const fp8moe_cost_machine fused = without_copies(&whole->machine);
    row->seconds[path] = fp8moe_cost_seconds(&whole->machine, path, &row->cost[path]);
    row->fused_seconds[path] = fp8moe_cost_seconds(&fused, path, &row->cost[path]);
}

static void predict(gate_report *whole)
{
    const fp8moe_cost_machine fused = without_copies(&whole->machine);
    whole->crossover_copied = fp8moe_cost_crossover(&whole->shape, &whole->machine);
    whole->crossover_fused = fp8moe_cost_crossover(&whole->shape, &fused);
}

fp8moe_status gate_add_costs(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    whole->has_cost = whole->shape.hidden > 0 && whole->shape.intermediate > 0;
    CLI_TRY(find_machine(job, err));
    if (!whole->has_cost) return FP8MOE_OK;
    CLI_TRY(fp8moe_cost_check(&whole->shape, err));
    for (size_t i = 0; i < whole->row_count; i++) {
        gate_row *row = &whole->rows[i];
        row->load = fp8moe_cost_expect(&whole->shape, row->tokens);
        for (int path = 0; path < FP8MOE_PATH_COUNT; path++) {
            row->cost[path] = fp8moe_cost_of(&whole->shape, (fp8moe_path)path, &row->load);
            if (whole->has_prediction) add_seconds(whole, row, (fp8moe_path)path);
        }
    }
    if (whole->has_prediction) predict(whole);
    return FP8MOE_OK;
}

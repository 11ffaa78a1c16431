/* gate: environment variables, from wherever the user says, become facts. */
#include "gate_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set a variable in every version that reads it; NOT_FOUND where none does. */
static fp8moe_status set_variable(gate_report *whole, const char *name, const char *value,
                                  fp8moe_error *err)
{
    fp8moe_status st = fp8moe_gate_set_variable(whole->version, &whole->facts, name, value, err);
    if (!whole->other || (st != FP8MOE_OK && st != FP8MOE_ERR_NOT_FOUND)) return st;
    const fp8moe_status other =
        fp8moe_gate_set_variable(whole->other, &whole->other_facts, name, value, err);
    return other == FP8MOE_ERR_NOT_FOUND ? st : other;
}

/* A variable's bad value is a bad setting, not a bad file. */
static fp8moe_status as_usage(fp8moe_error *err)
{
    err->status = FP8MOE_ERR_USAGE;
    return FP8MOE_ERR_USAGE;
}

/* The same for "NAME=VALUE"; a variable that nobody reads is passed over where that is `usual`. */
static fp8moe_status set_assignment(gate_report *whole, const char *text, bool usual,
                                    fp8moe_error *err)
{
    const size_t length = strcspn(text, "=");
    if (!text[length])
        return cli_fail(err, FP8MOE_ERR_USAGE, "--env '%s': expected VARIABLE=VALUE", text);
    char *name = cli_text("%.*s", (int)length, text);
    fp8moe_status st = set_variable(whole, name, text + length + 1, err);
    free(name);
    if (st == FP8MOE_ERR_NOT_FOUND && usual) return FP8MOE_OK;
    return st == FP8MOE_OK ? st : as_usage(err);
}

static fp8moe_status read_own_environment(const fp8moe_gate_version *version, gate_report *whole,
                                          fp8moe_error *err)
{
    const char *name;
    for (size_t i = 0; (name = fp8moe_gate_variable_at(version, i)); i++) {
        const char *value = getenv(name);
        if (!value) continue;
        if (set_variable(whole, name, value, err) != FP8MOE_OK) return as_usage(err);
    }
    return FP8MOE_OK;
}

static fp8moe_status read_process(const char *pid, buffer *out, fp8moe_error *err)
{
    int64_t number;
    if (!cli_parse_integer(pid, 1, INT32_MAX, &number))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--pid '%s': expected the number of a process", pid);
    char *path = cli_text("/proc/%lld/environ", (long long)number);
    FILE *file = fopen(path, "rb");
    char chunk[4096];
    size_t size;
    fp8moe_status st = FP8MOE_OK;
    while (file && (size = fread(chunk, 1, sizeof chunk, file)) > 0)
        buffer_add_bytes(out, chunk, size);
    if (!file || ferror(file))
        st = cli_in_file(err, cli_fail(err, FP8MOE_ERR_IO, "%s", strerror(errno)), path);
    if (file) fclose(file);
    free(path);
    return st;
}

static fp8moe_status set_process_variables(gate_job *job, const char *pid, fp8moe_error *err)
{
    CLI_TRY(read_process(pid, &job->process, err));
    for (size_t at = 0; at < job->process.size; at += strlen(job->process.data + at) + 1)
        if (strchr(job->process.data + at, '='))
            CLI_TRY(set_assignment(&job->report, job->process.data + at, true, err));
    gate_report_note(&job->report,
                     "the variables are those process %s started with; upstream reads "
                     "them once, at import",
                     pid);
    return FP8MOE_OK;
}

fp8moe_status gate_set_variables(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    const char *pid = options_value(job->given, OPTION_PID);
    const char *text = options_value(job->given, OPTION_ENV);
    const bool own = options_value(job->given, OPTION_FROM_ENVIRONMENT) != NULL;
    if (!text && !pid && !own && !job->has_serve) return FP8MOE_OK;
    fp8moe_gate_unset_variables(whole->version, &whole->facts);
    if (whole->other) fp8moe_gate_unset_variables(whole->other, &whole->other_facts);
    if (own) CLI_TRY(read_own_environment(whole->version, whole, err));
    if (own && whole->other) CLI_TRY(read_own_environment(whole->other, whole, err));
    if (pid) CLI_TRY(set_process_variables(job, pid, err));
    for (size_t i = 0; i < job->serve.variable_count; i++)
        CLI_TRY(set_assignment(whole, job->serve.variables[i], true, err));
    for (size_t at = 0; (text = options_next(job->given, OPTION_ENV, &at));)
        CLI_TRY(set_assignment(whole, text, false, err));
    return FP8MOE_OK;
}

#define RATIO_VARIABLE "VLLM_HPU_MOE_GATHER_RATIO"

/* A number as that variable takes it, so that "nan" and "inf" are numbers too. */
fp8moe_status gate_set_ratio(gate_job *job, fp8moe_error *err)
{
    const char *text = options_value(job->given, OPTION_RATIO);
    fp8moe_gate_value value = {.source = FP8MOE_SOURCE_GIVEN, .origin = "--ratio"};
    if (!text) return FP8MOE_OK;
    fp8moe_gate_facts read = job->report.facts;
    fp8moe_error cause;
    if (fp8moe_gate_set_variable(fp8moe_gate_version_default(), &read, RATIO_VARIABLE, text,
                                 &cause) != FP8MOE_OK)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--ratio '%s': expected a number", text);
    value.number = read.value[FP8MOE_FACT_RATIO].number;
    job->report.facts.value[FP8MOE_FACT_RATIO] = value;
    job->report.other_facts.value[FP8MOE_FACT_RATIO] = value;
    return FP8MOE_OK;
}

/* log: what upstream's verify mode wrote into server logs. */
#include "report_upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static fp8moe_status read_log(const char *name, server_log *out, fp8moe_error *err)
{
    const bool standard = !strcmp(name, "-");
    FILE *file = standard ? stdin : fopen(name, "rb");
    *out = (server_log){0};
    if (!file) return cli_in_file(err, cli_fail(err, FP8MOE_ERR_IO, "%s", strerror(errno)), name);
    const fp8moe_status st = server_log_read(file, standard ? "standard input" : name, out, err);
    if (!standard) fclose(file);
    return st;
}

static cli_exit read_logs(const options *given, server_logs *out)
{
    cli_exit failures = CLI_SAME;
    out->logs = cli_allocate((given->operand_count + 1) * sizeof *out->logs);
    for (size_t i = 0; i < given->operand_count; i++) {
        fp8moe_error err;
        server_log *log = &out->logs[out->count];
        if (read_log(given->operands[i], log, &err) == FP8MOE_OK) {
            out->verdict = cli_worse(out->verdict, log->verdict);
            out->count++;
        } else {
            failures = cli_worse(failures, cli_report_error(&err));
            server_log_free(log);
        }
    }
    return failures;
}

static cli_exit read_and_report(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    server_logs found = {.verdict = CLI_SAME};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    cli_exit code = read_logs(given, &found);
    if (found.count) {
        buffer out = {0};
        format->log(&found, &out);
        code = cli_worse(cli_worse(code, found.verdict), report_send(given, &out));
    }
    for (size_t i = 0; i < found.count; i++)
        server_log_free(&found.logs[i]);
    free(found.logs);
    return code;
}

const cli_command command_log = {
    .name = "log",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "read server logs for what upstream's verify mode reported",
    .description = "FILE is a vLLM server log, '-' standard input. Every rank of an "
                   "expert-parallel group writes the "
                   "same reduced maximum; such lines count as one layer call.\n"
                   "Exit code: 0 verify mode is on and silent, 1 a non-finite or out-of-range "
                   "difference, 4 in-range "
                   "warnings only, or nothing that tells whether verify mode is on.",
    .example = "fp8moe log server.log",
    .run = read_and_report,
};

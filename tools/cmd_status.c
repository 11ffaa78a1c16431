/* status: whether a vllm-gaudi holds the gathered combine, and in which form. */
#include "report_upstream.h"

/* The exit codes the patch script published, which others script against. */
enum { EXIT_HAS_IT = 0, EXIT_NOT_APPLIED = 1, EXIT_DRIFTED = 2, EXIT_USAGE = 64 };

static cli_exit exit_of(upstream_state state)
{
    static const int codes[] = {[UPSTREAM_NOT_NEEDED] = EXIT_HAS_IT,
                                [UPSTREAM_APPLIED] = EXIT_HAS_IT,
                                [UPSTREAM_NOT_APPLIED] = EXIT_NOT_APPLIED,
                                [UPSTREAM_DRIFTED] = EXIT_DRIFTED};
    return (cli_exit)codes[state];
}

static cli_exit fail_with(const fp8moe_error *err)
{
    const cli_exit code = cli_report_error(err);
    const bool usage = err->status == FP8MOE_ERR_USAGE || err->status == FP8MOE_ERR_NOT_FOUND;
    return usage ? (cli_exit)EXIT_USAGE : code;
}

static cli_exit status(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    upstream_tree tree = {0};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return fail_with(&err);
    cli_exit code;
    if (upstream_read(given->operands[0], &tree, &err) == FP8MOE_OK) {
        buffer out = {0};
        format->status(&tree, &out);
        code = exit_of(tree.state);
        const cli_exit sent = report_send(given, &out);
        if (sent != CLI_SAME) code = sent;
    } else {
        code = fail_with(&err);
    }
    upstream_free(&tree);
    return code;
}

const cli_command command_status = {
    .name = "status",
    .operands = "PATH",
    .min_operands = 1,
    .max_operands = 1,
    .usage_exit = EXIT_USAGE,
    .summary = "say whether a vllm-gaudi holds the gathered combine, and in which form",
    .description = "PATH is a checkout, the package vllm_gaudi, a site-packages folder or a "
                   "virtual environment. The "
                   "source is judged by its definitions and the conditions of its gate, not by a "
                   "hash; nothing of it "
                   "is run.\n"
                   "Exit codes, as the patch script published them: 0 applied or not needed, 1 not "
                   "applied, 2 the source "
                   "has drifted: some of it is there, or its gate is another, or the place where "
                   "it belongs is gone; 64 "
                   "for a wrong option or path.",
    .example = "fp8moe status /opt/vllm-gaudi",
    .run = status,
};

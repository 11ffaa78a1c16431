/* fp8moe: did this device compute this FP8 mixture-of-experts layer correctly? The table of
 * commands. */
#include "catalog.h"
#include "fields.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_command *const commands[] = {
    &command_verify, &command_compare, &command_run,     &command_inspect, &command_lint,
    &command_init,   &command_ranks,   &command_prepare, &command_synth,   &command_recipes,
    &command_doctor, &command_gate,    &command_route,   &command_status,  &command_log};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

/* ---- help ---- */

static const char exit_codes[] =
    "Exit codes: 0 same (or done), 1 different, 2 usage, 3 unreadable input, 4 inconclusive or "
    "nothing to judge, "
    "5 internal or unfit arithmetic. Over many inputs the worst counts: 5, 3, 2, 1, 4, 0.";

static void help_overview(buffer *out)
{
    buffer_add(out,
               "fp8moe: did this device compute this FP8 mixture-of-experts layer correctly?\n\n"
               "Usage: fp8moe COMMAND [OPTIONS] ...\n\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        buffer_format(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    buffer_add(
        out,
        "  help      this text, 'help COMMAND' for one command, 'help names' for tensor names\n"
        "  version   the version\n\n");
    buffer_wrap(out, 0, 0, CLI_WIDTH, exit_codes);
    buffer_format(out, "\nExample:\n  %s\n", command_verify.example);
}

/* Paragraphs separated by newlines, wrapped, with an empty line behind each. */
static void add_paragraphs(buffer *out, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        char *paragraph = cli_text("%.*s", (int)length, text);
        buffer_wrap(out, 0, 0, CLI_WIDTH, paragraph);
        buffer_add(out, "\n");
        free(paragraph);
        text += length + (text[length] == '\n');
    }
}

static void help_command(const cli_command *command, buffer *out)
{
    buffer_format(out, "fp8moe %s: %s\n\nUsage: fp8moe %s [OPTIONS]%s%s\n\n", command->name,
                  command->summary, command->name, *command->operands ? " " : "",
                  command->operands);
    add_paragraphs(out, command->description);
    buffer_add(out, "Options:\n");
    options_help(command, out);
    buffer_add(out, "\n");
    if (!command->usage_exit) buffer_wrap(out, 0, 0, CLI_WIDTH, exit_codes);
    buffer_add(out, "\nExample:\n  ");
    buffer_wrap(out, 2, 6, CLI_WIDTH, command->example);
}

static const char *word_at(const void *context, size_t index)
{
    static const char *const others[] = {"help", "version"};
    (void)context;
    if (index < COMMAND_COUNT) return commands[index]->name;
    return index < COMMAND_COUNT + 2 ? others[index - COMMAND_COUNT] : NULL;
}

static cli_exit fail_unknown(const char *name)
{
    const char *nearest = cli_nearest(name, word_at, NULL);
    fprintf(stderr, "fp8moe: there is no command '%s'", name);
    if (nearest) fprintf(stderr, "; did you mean '%s'?", nearest);
    fputs("\nTry 'fp8moe help'.\n", stderr);
    return CLI_USAGE;
}

static cli_exit help(const char *topic)
{
    buffer out = {0};
    const cli_command *command = topic ? find_command(topic) : NULL;
    if (topic && !command && strcmp(topic, "names")) return fail_unknown(topic);
    if (command)
        help_command(command, &out);
    else if (topic)
        fields_help(&out);
    else
        help_overview(&out);
    fputs(out.data, stdout);
    buffer_free(&out);
    return CLI_SAME;
}

/* ---- running a command ---- */

#if defined(FP8MOE_HAVE_BLAS)
void openblas_set_num_threads(int count);
#endif

/* The library has workers of its own: OpenBLAS starting more under each would only slow all down.
 */
static void quiet_blas(void)
{
#if defined(FP8MOE_HAVE_BLAS)
    openblas_set_num_threads(1);
#endif
}

static cli_exit run_command(const cli_command *command, int count, char **arguments)
{
    options given;
    fp8moe_error err;
    cli_exit code;
    if (options_parse(command, count, arguments, &given, &err) != FP8MOE_OK) {
        code = cli_report_error(&err);
        if (command->usage_exit) code = (cli_exit)command->usage_exit;
        fprintf(stderr, "Try 'fp8moe help %s'.\n", command->name);
    } else if (options_value(&given, OPTION_HELP)) {
        code = help(command->name);
    } else {
        quiet_blas();
        signals_watch();
        code = command->run(&given);
        catalog_clear();
    }
    options_free(&given);
    return code;
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    if (!*name) {
        buffer out = {0};
        help_overview(&out);
        fputs(out.data, stderr);
        buffer_free(&out);
        return CLI_USAGE;
    }
    if (!strcmp(name, "help") || !strcmp(name, "--help"))
        return (int)help(count > 2 ? arguments[2] : NULL);
    if (!strcmp(name, "version") || !strcmp(name, "--version")) {
        printf("fp8moe %s\n", fp8moe_version());
        return CLI_SAME;
    }
    const cli_command *command = find_command(name);
    return (int)(command ? run_command(command, count - 2, arguments + 2) : fail_unknown(name));
}

/* What every command of the command line shares: exit codes, the command record, errors, memory. */
#ifndef FP8MOE_TOOLS_CLI_H
#define FP8MOE_TOOLS_CLI_H

#include <fp8moe/fp8moe.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the process ends with. Over many inputs the worst counts: see cli_worse(). */
typedef enum cli_exit {
    CLI_SAME = 0, /* and success of commands that judge nothing */
    CLI_DIFFERENT = 1,
    CLI_USAGE = 2,        /* options that are wrong, missing or contradict each other */
    CLI_UNREADABLE = 3,   /* an input that cannot be read or does not fit */
    CLI_INCONCLUSIVE = 4, /* or nothing to judge */
    CLI_INTERNAL = 5      /* a bug, no memory, or arithmetic unfit for the task */
} cli_exit;

/* The worse of two: 5, 3, 2, 1, 4, 0. */
cli_exit cli_worse(cli_exit a, cli_exit b);

/* The one place where a library status becomes an exit code. */
cli_exit cli_exit_of(fp8moe_status status);

struct options;

/* A command: one const record a file, listed in fp8moe.c. */
typedef struct cli_command {
    const char *name;
    const char *operands; /* as help shows them, "" for none */
    size_t min_operands, max_operands;
    int usage_exit;          /* of wrong options, where 2 has another meaning; 0: CLI_USAGE */
    const char *summary;     /* one line, no full stop */
    const char *description; /* paragraphs separated by a newline */
    const char *example;     /* a command line */
    cli_exit (*run)(const struct options *options);
} cli_command;

extern const cli_command command_verify, command_compare, command_run, command_inspect,
    command_synth, command_recipes, command_doctor, command_lint, command_init, command_ranks,
    command_prepare, command_gate, command_route, command_status, command_log;

/* Print `fp8moe: FILE: tensor 'w': sentence (byte N)` on standard error; returns its exit code. */
cli_exit cli_report_error(const fp8moe_error *err);

/* The same text without the leading program name; the caller frees it. */
char *cli_error_text(const fp8moe_error *err);

/* Fill *err with a sentence and return `status`. */
fp8moe_status cli_fail(fp8moe_error *err, fp8moe_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Name the file of an error that does not name one yet. Returns `status`. */
fp8moe_status cli_in_file(fp8moe_error *err, fp8moe_status status, const char *file);

/* Return early with whatever failed. */
#define CLI_TRY(call)                                                                              \
    do {                                                                                           \
        const fp8moe_status cli_try_status_ = (call);                                              \
        if (cli_try_status_ != FP8MOE_OK) return cli_try_status_;                                  \
    } while (0)

/* Memory that is never NULL: out of memory ends the process with exit code 5. cli_allocate() gives
 * zeroed bytes. The caller frees with free(). */
void *cli_allocate(size_t size);
void *cli_resize(void *memory, size_t size);
/* Room for one more behind `count` elements, where every element was given room by this call. */
void *cli_grow(void *memory, size_t count, size_t element_size);
char *cli_copy(const char *text);
char *cli_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Decimal text into a number: digits only, an optional '-' where `min` is negative, no blanks,
 * inside [min, max]; independent of the locale. */
bool cli_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);
bool cli_parse_unsigned(const char *text, uint64_t *out);
/* A finite decimal number such as 2.5 or 1e-3. */
bool cli_parse_number(const char *text, double *out);

/* Words of `list` that are nearest to `word` within two edits, or NULL. */
typedef const char *(*cli_word_at)(const void *context, size_t index);
const char *cli_nearest(const char *word, cli_word_at at, const void *context);

/* Seconds of a clock that only goes forward. */
double cli_seconds(void);

/* Processors this process may use, at least 1. */
int cli_processors(void);

#define CLI_WIDTH 100 /* columns of a text report */

#endif

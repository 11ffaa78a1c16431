/* The options of all commands: one table, one parser. */
#ifndef FP8MOE_TOOLS_OPTIONS_H
#define FP8MOE_TOOLS_OPTIONS_H

#include "buffer.h"
#include "cli.h"

typedef enum option_id {
    OPTION_OP,
    OPTION_TARGET,
    OPTION_RECIPE,
    OPTION_WEIGHTS_STAGE,
    OPTION_TOP_K,
    OPTION_NUM_EXPERTS,
    OPTION_LOCAL_NUM_EXPERTS,
    OPTION_EP_RANK,
    OPTION_EP_SIZE,
    OPTION_TP_RANK,
    OPTION_TP_SIZE,
    OPTION_WEIGHTS,
    OPTION_LAYER,
    OPTION_PREP,
    OPTION_RENORMALIZE,
    OPTION_SCORING_FUNC,
    OPTION_N_GROUP,
    OPTION_TOPK_GROUP,
    OPTION_ROUTED_SCALING_FACTOR,
    OPTION_REPLICATE_EXPERT,
    OPTION_WEIGHT_BLOCK_SIZE,
    OPTION_FROM,
    OPTION_NAME,
    OPTION_AS,
    OPTION_STAGES,
    OPTION_TENSOR,
    OPTION_GRID,
    OPTION_POLICY,
    OPTION_ROWS,
    OPTION_REPEAT,
    OPTION_REDUCED,
    OPTION_INCONCLUSIVE,
    OPTION_WORST_CASE,
    OPTION_DTYPE,
    OPTION_SHAPE,
    OPTION_SEED,
    OPTION_NOISE,
    OPTION_THREADS,
    OPTION_ISA,
    OPTION_UPSTREAM,
    OPTION_TOKENS,
    OPTION_RATIO,
    OPTION_ENV,
    OPTION_FROM_ENVIRONMENT,
    OPTION_PID,
    OPTION_MODEL,
    OPTION_SERVE,
    OPTION_SWEEP,
    OPTION_DIFF,
    OPTION_EXPECT,
    OPTION_BANDWIDTH,
    OPTION_LAUNCH,
    OPTION_FORMAT,
    OPTION_OUTPUT,
    OPTION_HELP,
    OPTION_COUNT
} option_id;

/* A parsed command line. Values are those of argv. */
typedef struct options {
    const cli_command *command;
    struct option_given {
        option_id id;
        const char *value; /* "true" or "false" for switches and flags */
    } * given;
    size_t given_count;
    const char **operands;
    size_t operand_count;
    bool has_case; /* those from `case_start` on come from a case file */
    size_t case_start;
} options;

/*
 * Parse what follows the command's name. Fails with USAGE: an unknown option (the nearest one is
 * named), one of another command, a missing or superfluous value, one given twice that takes one
 * value, too few or too many operands. `--` ends the options. The caller frees with options_free()
 * either way.
 */
fp8moe_status options_parse(const cli_command *command, int count, char **arguments, options *out,
                            fp8moe_error *err);
void options_free(options *given);

/* The option that `command` takes under a spelling, or OPTION_COUNT. */
option_id options_of_command(const cli_command *command, const char *spelling);
bool options_is_list(option_id id);

/* Add an option as if it had been given last; `value` must live as long. USAGE for one that stands
 * already and takes one value. */
fp8moe_status options_add(options *out, option_id id, const char *value, fp8moe_error *err);

/* The same options without the operands, for a case file to add to; freed with free(copy.given). */
options options_copy(const options *given);

/* Whether a value comes from a case file rather than the command line. */
bool options_is_from_case(const options *given, option_id id);

/* The value given, or NULL. */
const char *options_value(const options *given, option_id id);

/* The values of a repeatable option one after the other: start with *position = 0; NULL at the end.
 */
const char *options_next(const options *given, option_id id, size_t *position);

/* Spelling as users write it: "--top-k". */
const char *options_spelling(option_id id);

/* The options a command takes, for its help. */
void options_help(const cli_command *command, buffer *out);

#endif

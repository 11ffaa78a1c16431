#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    KIND_VALUE,  /* takes a value, once */
    KIND_LIST,   /* takes a value, may be repeated */
    KIND_SWITCH, /* --word and --no-word */
    KIND_FLAG    /* --word */
} option_kind;

/* Commands that run a layer, and all that print a report. */
#define LAYER "verify run lint init ranks"
#define ROUTERS LAYER " route"
#define READERS "verify compare run inspect lint init ranks route"
#define REPORTS                                                                                    \
    "verify compare run inspect lint init ranks prepare synth recipes doctor gate route status "   \
    "log"

static const struct option_row {
    const char *spelling;
    option_kind kind;
    const char *value; /* name of the value in help */
    const char *commands;
    const char *help;
} rows[OPTION_COUNT] = {
    [OPTION_OP] = {"--op", KIND_VALUE, "moe|linear", LAYER,
                   "what the dump holds (else seen from its weights)"},
    [OPTION_TARGET] = {"--target", KIND_VALUE, "gaudi2|gaudi3|ocp", ROUTERS " synth prepare",
                       "device whose E4M3 and scale arithmetic is emulated; never assumed"},
    [OPTION_RECIPE] =
        {"--recipe", KIND_VALUE, "NAME|auto", ROUTERS " synth",
         "where the path rounds, see 'fp8moe recipes'; auto tries every one that fits"},
    [OPTION_WEIGHTS_STAGE] = {"--weights-stage", KIND_VALUE, "checkpoint|loaded|prepared",
                              ROUTERS " synth prepare",
                              "what was done to the weights before they were dumped"},
    [OPTION_TOP_K] = {"--top-k", KIND_VALUE, "K", ROUTERS " gate", "experts a token"},
    [OPTION_NUM_EXPERTS] = {"--num-experts", KIND_VALUE, "E", ROUTERS " gate",
                            "experts of the model"},
    [OPTION_LOCAL_NUM_EXPERTS] = {"--local-num-experts", KIND_VALUE, "E_LOCAL", ROUTERS " gate",
                                  "experts of this rank"},
    [OPTION_EP_RANK] = {"--ep-rank", KIND_VALUE, "RANK", ROUTERS " prepare synth",
                        "rank in the expert-parallel group"},
    [OPTION_EP_SIZE] = {"--ep-size", KIND_VALUE, "RANKS", ROUTERS " gate prepare synth",
                        "ranks of the expert-parallel group"},
    [OPTION_TP_RANK] = {"--tp-rank", KIND_VALUE, "RANK", LAYER " prepare synth",
                        "rank in the tensor-parallel group, whose slice --weights takes"},
    [OPTION_TP_SIZE] = {"--tp-size", KIND_VALUE, "RANKS", LAYER " prepare synth",
                        "ranks of the tensor-parallel group"},
    [OPTION_WEIGHTS] = {"--weights", KIND_VALUE, "FOLDER", ROUTERS " prepare",
                        "a Hugging Face model folder that holds the dump's weights"},
    [OPTION_LAYER] = {"--layer", KIND_VALUE, "N", ROUTERS " prepare inspect",
                      "layer of the model folder (else the dump's metadata \"layer\")"},
    [OPTION_PREP] = {"--prep", KIND_FLAG, NULL, "verify",
                     "hold dumped prepared weights against --weights: which arithmetic made them?"},
    [OPTION_RENORMALIZE] = {"--renormalize", KIND_SWITCH, NULL, ROUTERS " synth",
                            "whether the K router weights are divided by their sum"},
    [OPTION_SCORING_FUNC] = {"--scoring-func", KIND_VALUE, "NAME", ROUTERS " synth",
                             "softmax, sigmoid, softmax-topk or top1-sigmoid"},
    [OPTION_N_GROUP] = {"--n-group", KIND_VALUE, "N", ROUTERS " synth",
                        "groups of experts in the router"},
    [OPTION_TOPK_GROUP] = {"--topk-group", KIND_VALUE, "N", ROUTERS " synth",
                           "groups the router keeps"},
    [OPTION_ROUTED_SCALING_FACTOR] = {"--routed-scaling-factor", KIND_VALUE, "X", ROUTERS " synth",
                                      "multiplies the router weights once"},
    [OPTION_REPLICATE_EXPERT] = {"--replicate-expert", KIND_SWITCH, NULL, LAYER,
                                 "the dump's one expert stands for all experts"},
    [OPTION_WEIGHT_BLOCK_SIZE] = {"--weight-block-size", KIND_VALUE, "ROWSxCOLUMNS", LAYER " synth",
                                  "elements one block scale covers"},
    [OPTION_FROM] = {"--from", KIND_LIST, "STAGE", LAYER,
                     "take this stage from the dump instead of computing it"},
    [OPTION_NAME] = {"--name", KIND_LIST, "FIELD=NAME", ROUTERS,
                     "the tensor NAME of the file is FIELD"},
    [OPTION_AS] = {"--as", KIND_LIST, "NAME=DTYPE", READERS,
                   "read a tensor's bytes as e4m3fn, e5m2, bf16 or f16"},
    [OPTION_STAGES] = {"--stages", KIND_FLAG, NULL, "run",
                       "write every intermediate, not the output alone"},
    [OPTION_TENSOR] = {"--tensor", KIND_LIST, "NAME", "inspect",
                       "this tensor only; of bare numbers, their name"},
    [OPTION_GRID] = {"--grid", KIND_VALUE, "row|tensor|unscaled", "verify compare",
                     "grid on which FP8 steps are counted"},
    [OPTION_POLICY] = {"--policy", KIND_VALUE, "strict|upstream|ulp:N|FILE.yaml", "verify compare",
                       "what counts as the same: every rounding, upstream's bar, N FP8 steps, or a "
                       "rule a tensor"},
    [OPTION_ROWS] = {"--rows", KIND_VALUE, "A..B", "verify",
                     "judge these token rows only, from A to B inclusive"},
    [OPTION_REPEAT] = {"--repeat", KIND_LIST, "DUMP", "verify",
                       "the same input captured again: its spread is the device's own noise"},
    [OPTION_REDUCED] = {"--reduced", KIND_VALUE, "FILE", "ranks",
                        "the output behind the reduction over the ranks"},
    [OPTION_INCONCLUSIVE] = {"--inconclusive", KIND_VALUE, "fail|pass", "verify compare",
                             "exit 1 or 0 instead of 4 where nothing could be concluded"},
    [OPTION_WORST_CASE] = {"--worst-case", KIND_FLAG, NULL, "verify",
                           "intervals that hold for any order of f32 additions; they see less"},
    [OPTION_DTYPE] = {"--dtype", KIND_VALUE, "f32|bf16|f16|e4m3fn|...", "compare inspect",
                      "what is no file of tensors is bare numbers of this dtype, with --shape"},
    [OPTION_SHAPE] =
        {"--shape", KIND_VALUE, "T=..,E=..,K=..,H=..,I=.. or 4x512", "synth compare inspect",
         "tokens, experts, experts a token, hidden, intermediate; for bare numbers their shape"},
    [OPTION_SEED] = {"--seed", KIND_VALUE, "N", "synth", "start of the random numbers (default 1)"},
    [OPTION_NOISE] = {"--noise", KIND_VALUE, "N", "synth",
                      "sum f32 dots of the output in a random order, as a device may"},
    [OPTION_THREADS] = {"--threads", KIND_VALUE, "N", LAYER " synth prepare",
                        "workers (default: all processors); no bit depends on it"},
    [OPTION_ISA] = {"--isa", KIND_VALUE, "portable|avx2|avx512|amx|neon|all", LAYER " synth",
                    "highest instruction set to use; no bit depends on it"},
    [OPTION_UPSTREAM] = {"--upstream", KIND_VALUE, "VERSION", "gate",
                         "whose decision (default v0.30); an unknown name lists them"},
    [OPTION_TOKENS] = {"--tokens", KIND_VALUE, "T|FIRST..LAST", "gate",
                       "token counts after padding and dispatch (default 1..32)"},
    [OPTION_RATIO] = {"--ratio", KIND_VALUE, "X", "gate",
                      "instead of the variable VLLM_HPU_MOE_GATHER_RATIO"},
    [OPTION_ENV] = {"--env", KIND_LIST, "VARIABLE=VALUE", "gate",
                    "an environment variable, read as upstream reads it"},
    [OPTION_FROM_ENVIRONMENT] = {"--from-environment", KIND_FLAG, NULL, "gate",
                                 "take the variables from this command's environment"},
    [OPTION_PID] = {"--pid", KIND_VALUE, "N", "gate", "take the variables from a running process"},
    [OPTION_MODEL] = {"--model", KIND_VALUE, "FOLDER|NAME", "gate",
                      "read a model folder's config.json, or take a known model's sizes"},
    [OPTION_SERVE] = {"--serve", KIND_VALUE, "'vllm serve ...'", "gate",
                      "derive everything from a command line: table by live requests"},
    [OPTION_SWEEP] = {"--sweep", KIND_FLAG, NULL, "gate",
                      "add a table of the largest T by group size and ratio"},
    [OPTION_DIFF] = {"--diff", KIND_VALUE, "A B", "gate",
                     "where two versions take different paths"},
    [OPTION_EXPECT] = {"--expect", KIND_VALUE, "gather|stock|dense", "gate",
                       "exit 0 where every token count takes this path, else 1"},
    [OPTION_BANDWIDTH] = {"--bandwidth", KIND_VALUE, "GB/S", "gate",
                          "of the device's memory: predict times and the crossover"},
    [OPTION_LAUNCH] = {"--launch", KIND_VALUE, "stock=US,gather=US", "gate",
                       "microseconds a call of each path costs before its first byte"},
    [OPTION_FORMAT] = {"--format", KIND_VALUE, "text|json", REPORTS,
                       "form of the report (default text)"},
    [OPTION_OUTPUT] = {"-o", KIND_VALUE, "FILE", REPORTS,
                       "where the report goes; for run, synth and prepare: where the tensors go"},
    [OPTION_HELP] = {"--help", KIND_FLAG, NULL, REPORTS, "this help"},
};

/* ---- the table ---- */

/* Whether the blank-separated list holds the word. */
static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
    return false;
}

const char *options_spelling(option_id id)
{
    return rows[id].spelling;
}

static bool takes_value(option_kind kind)
{
    return kind == KIND_VALUE || kind == KIND_LIST;
}

/* ---- parsing ---- */

/* An argument that starts with a dash, taken apart. */
typedef struct argument {
    const char *text;
    size_t length;     /* of the spelling */
    const char *value; /* behind '=', or NULL */
} argument;

static argument take_apart(const char *text)
{
    argument a = {.text = text, .length = strcspn(text, "=")};
    if (text[a.length]) a.value = text + a.length + 1;
    return a;
}

static bool is_spelled(const char *text, size_t length, const char *spelling)
{
    return length == strlen(spelling) && !strncmp(text, spelling, length);
}

/* The option an argument names; *negated for --no-word. */
static option_id find_option(const argument *a, bool *negated)
{
    static const char no[] = "--no-";
    const size_t skip = sizeof no - sizeof "--"; /* "--no-word" behind its "no-" is "word" */
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        *negated = false;
        if (is_spelled(a->text, a->length, rows[id].spelling)) return id;
        *negated = rows[id].kind == KIND_SWITCH && !strncmp(a->text, no, sizeof no - 1);
        if (*negated && is_spelled(a->text + skip + 2, a->length - skip - 2, rows[id].spelling + 2))
            return id;
    }
    return OPTION_COUNT;
}

/* Spelling of the index-th option that a command takes. */
static const char *spelling_at(const void *command, size_t index)
{
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (list_has(rows[id].commands, ((const cli_command *)command)->name) && index-- == 0)
            return rows[id].spelling;
    return NULL;
}

static fp8moe_status fail_unknown(const cli_command *command, const argument *a, fp8moe_error *err)
{
    char *text = cli_text("%.*s", (int)a->length, a->text);
    const char *nearest = cli_nearest(text, spelling_at, command);
    const fp8moe_status st =
        nearest
            ? cli_fail(err, FP8MOE_ERR_USAGE, "unknown option %s; did you mean %s?", text, nearest)
            : cli_fail(err, FP8MOE_ERR_USAGE, "unknown option %s", text);
    free(text);
    return st;
}

fp8moe_status options_add(options *out, option_id id, const char *value, fp8moe_error *err)
{
    if (rows[id].kind != KIND_LIST && options_value(out, id))
        return cli_fail(err, FP8MOE_ERR_USAGE, "%s is given twice", rows[id].spelling);
    out->given = cli_resize(out->given, (out->given_count + 1) * sizeof *out->given);
    out->given[out->given_count++] = (struct option_given){id, value};
    return FP8MOE_OK;
}

/* Parse the option arguments[*index]; *index moves on to the value it takes from the next argument.
 */
static fp8moe_status parse_option(int count, char **arguments, int *index, options *out,
                                  fp8moe_error *err)
{
    const argument a = take_apart(arguments[*index]);
    bool negated;
    const option_id id = find_option(&a, &negated);
    if (id == OPTION_COUNT) return fail_unknown(out->command, &a, err);
    if (!list_has(rows[id].commands, out->command->name))
        return cli_fail(err, FP8MOE_ERR_USAGE, "%s is no option of %s (it belongs to: %s)",
                        rows[id].spelling, out->command->name, rows[id].commands);
    if (!takes_value(rows[id].kind)) {
        if (a.value) return cli_fail(err, FP8MOE_ERR_USAGE, "%s takes no value", rows[id].spelling);
        return options_add(out, id, negated ? "false" : "true", err);
    }
    const char *value = a.value;
    if (!value && *index + 1 < count) value = arguments[++*index];
    if (!value || !*value)
        return cli_fail(err, FP8MOE_ERR_USAGE, "%s needs a value: %s", rows[id].spelling,
                        rows[id].value);
    return options_add(out, id, value, err);
}

static fp8moe_status check_operands(const options *out, fp8moe_error *err)
{
    const cli_command *command = out->command;
    if (options_value(out, OPTION_HELP)) return FP8MOE_OK;
    if (out->operand_count < command->min_operands)
        return cli_fail(err, FP8MOE_ERR_USAGE, "%s needs %s", command->name, command->operands);
    if (out->operand_count > command->max_operands)
        return cli_fail(err, FP8MOE_ERR_USAGE, "'%s' is one argument too many for %s",
                        out->operands[command->max_operands], command->name);
    return FP8MOE_OK;
}

fp8moe_status options_parse(const cli_command *command, int count, char **arguments, options *out,
                            fp8moe_error *err)
{
    *out = (options){.command = command};
    out->operands = cli_allocate((size_t)count * sizeof *out->operands);
    bool only_operands = false;
    for (int i = 0; i < count; i++) {
        if (only_operands || arguments[i][0] != '-' || !arguments[i][1])
            out->operands[out->operand_count++] = arguments[i];
        else if (!strcmp(arguments[i], "--"))
            only_operands = true;
        else
            CLI_TRY(parse_option(count, arguments, &i, out, err));
    }
    return check_operands(out, err);
}

option_id options_of_command(const cli_command *command, const char *spelling)
{
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (!strcmp(rows[id].spelling, spelling) && list_has(rows[id].commands, command->name))
            return id;
    return OPTION_COUNT;
}

bool options_is_list(option_id id)
{
    return rows[id].kind == KIND_LIST;
}

options options_copy(const options *given)
{
    options copy = {.command = given->command, .has_case = true, .case_start = given->given_count};
    copy.given = cli_allocate((given->given_count + 1) * sizeof *copy.given);
    copy.given_count = given->given_count;
    for (size_t i = 0; i < given->given_count; i++)
        copy.given[i] = given->given[i];
    return copy;
}

bool options_is_from_case(const options *given, option_id id)
{
    for (size_t i = 0; i < given->given_count; i++)
        if (given->given[i].id == id) return given->has_case && i >= given->case_start;
    return false;
}

void options_free(options *given)
{
    free(given->given);
    free(given->operands);
    *given = (options){0};
}

/* ---- values ---- */

const char *options_next(const options *given, option_id id, size_t *position)
{
    while (*position < given->given_count) {
        const struct option_given *at = &given->given[(*position)++];
        if (at->id == id) return at->value;
    }
    return NULL;
}

const char *options_value(const options *given, option_id id)
{
    size_t position = 0;
    return options_next(given, id, &position);
}

/* ---- help ---- */

void options_help(const cli_command *command, buffer *out)
{
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        if (!list_has(rows[id].commands, command->name)) continue;
        if (rows[id].kind == KIND_SWITCH)
            buffer_format(out, "  --[no-]%s", rows[id].spelling + 2);
        else
            buffer_format(out, "  %s", rows[id].spelling);
        if (rows[id].value) buffer_format(out, " %s", rows[id].value);
        buffer_add(out, rows[id].kind == KIND_LIST ? " (may be repeated)\n      " : "\n      ");
        buffer_wrap(out, 6, 6, CLI_WIDTH, rows[id].help);
    }
}

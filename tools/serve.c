#include "serve.h"

#include "buffer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

typedef struct words {
    char **at;
    size_t count;
} words;

static void add_word(words *list, buffer *word)
{
    list->at = cli_resize(list->at, (list->count + 1) * sizeof *list->at);
    list->at[list->count++] = cli_copy(word->data ? word->data : "");
    buffer_free(word);
    *word = (buffer){0};
}

/* Text up to the closing quote; returns what follows it, or NULL without one. */
static const char *take_quoted(const char *at, buffer *word)
{
    const char quote = *at++;
    for (; *at && *at != quote; at++) {
        if (quote == '"' && *at == '\\' && at[1] && strchr("\"\\$`", at[1])) at++;
        buffer_add_bytes(word, at, 1);
    }
    return *at ? at + 1 : NULL;
}

/* One word, with its quotes and backslashes taken off; NULL for a quote without its end. */
static const char *take_word(const char *at, buffer *word)
{
    while (at && *at && !strchr(" \t\r\n", *at)) {
        if (*at == '\'' || *at == '"') {
            at = take_quoted(at, word);
        } else {
            if (*at == '\\' && at[1]) at++;
            buffer_add_bytes(word, at++, 1);
        }
    }
    return at;
}

static bool is_line_join(const char *at)
{
    return at[0] == '\\' && (at[1] == '\n' || (at[1] == '\r' && at[2] == '\n'));
}

static fp8moe_status split(const char *text, words *out, fp8moe_error *err)
{
    for (const char *at = text; *at;) {
        if (is_line_join(at) || strchr(" \t\r\n", *at)) {
            at++;
            continue;
        }
        buffer word = {0};
        at = take_word(at, &word);
        add_word(out, &word);
        if (!at) return cli_fail(err, FP8MOE_ERR_USAGE, "--serve: a quote has no end");
    }
    return FP8MOE_OK;
}

static void free_words(words *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->at[i]);
    free(list->at);
}

/* ---- flags ---- */

typedef enum flag_kind { FLAG_COUNT, FLAG_SWITCH, FLAG_TEXT, FLAG_SPECULATION } flag_kind;

#define FIELD(name) offsetof(serve_line, name)

/* vLLM takes underscores for dashes, and "=VALUE" for a word of its own. */
static const struct flag_row {
    const char *name;
    flag_kind kind;
    size_t field;
    int64_t most;
} flags[] = {
    {"--tensor-parallel-size", FLAG_COUNT, FIELD(tensor_parallel), 65536},
    {"-tp", FLAG_COUNT, FIELD(tensor_parallel), 65536},
    {"--data-parallel-size", FLAG_COUNT, FIELD(data_parallel), 65536},
    {"-dp", FLAG_COUNT, FIELD(data_parallel), 65536},
    {"--max-num-seqs", FLAG_COUNT, FIELD(max_num_seqs), FP8MOE_MAX_SEQS},
    {"--num-speculative-tokens", FLAG_COUNT, FIELD(speculative_tokens), 65536},
    {"--speculative-config", FLAG_SPECULATION, FIELD(speculative_tokens), 65536},
    {"--enable-expert-parallel", FLAG_SWITCH, FIELD(expert_parallel), 0},
    {"-ep", FLAG_SWITCH, FIELD(expert_parallel), 0},
    {"--enforce-eager", FLAG_SWITCH, FIELD(eager), 0},
    {"--model", FLAG_TEXT, FIELD(model), 0},
    {"--all2all-backend", FLAG_TEXT, FIELD(all2all_backend), 0},
    {"--quantization", FLAG_TEXT, FIELD(quantization), 0},
    {"-q", FLAG_TEXT, FIELD(quantization), 0},
};

static bool same_flag(const char *given, size_t length, const char *name)
{
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (given[i] != name[i] && !(given[i] == '_' && name[i] == '-')) return false;
    return true;
}

static const struct flag_row *find_flag(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (same_flag(word, length, flags[i].name)) return &flags[i];
    return NULL;
}

static fp8moe_status set_count(const struct flag_row *row, const char *text, int64_t *out,
                               fp8moe_error *err)
{
    if (cli_parse_integer(text, 1, row->most, out)) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE,
                    "--serve: %s '%s': expected a whole number from 1 to %lld", row->name, text,
                    (long long)row->most);
}

/* The number of speculative tokens in a JSON object, whatever else it holds. */
static fp8moe_status set_speculation(const struct flag_row *row, const char *text, int64_t *out,
                                     fp8moe_error *err)
{
    static const char key[] = "\"num_speculative_tokens\"";
    const char *at = strstr(text, key);
    if (!at)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--serve: %s gives no num_speculative_tokens",
                        row->name);
    at += strlen(key);
    at += strspn(at, " \t\r\n");
    if (*at == ':') at++;
    at += strspn(at, " \t\r\n");
    char *number = cli_text("%.*s", (int)strspn(at, "0123456789"), at);
    const fp8moe_status st = set_count(row, number, out, err);
    free(number);
    return st;
}

static void set_text(char **field, const char *value)
{
    free(*field);
    *field = cli_copy(value);
}

static fp8moe_status set_value(const struct flag_row *row, const char *value, serve_line *out,
                               fp8moe_error *err)
{
    char *field = (char *)out + row->field;
    if (row->field == FIELD(max_num_seqs)) out->seqs_given = true;
    if (row->kind == FLAG_COUNT) return set_count(row, value, (int64_t *)(void *)field, err);
    if (row->kind == FLAG_SPECULATION)
        return set_speculation(row, value, (int64_t *)(void *)field, err);
    set_text((char **)(void *)field, value);
    return FP8MOE_OK;
}

static fp8moe_status take_flag(const words *list, size_t *index, serve_line *out, fp8moe_error *err)
{
    const char *word = list->at[*index];
    const size_t length = strcspn(word, "=");
    const struct flag_row *row = find_flag(word, length);
    if (!row) return FP8MOE_OK;
    if (row->kind == FLAG_SWITCH) {
        *(bool *)((char *)out + row->field) = true;
        return FP8MOE_OK;
    }
    const char *value = word[length] ? word + length + 1 : NULL;
    if (!value && *index + 1 < list->count) value = list->at[++*index];
    if (!value) return cli_fail(err, FP8MOE_ERR_USAGE, "--serve: %s needs a value", row->name);
    return set_value(row, value, out, err);
}

/* ---- the line ---- */

/* NAME=..., as a shell takes it before a command. */
static bool is_variable(const char *word)
{
    const size_t length = strcspn(word, "=");
    if (!word[length] || !length) return false;
    for (size_t i = 0; i < length; i++) {
        const char c = word[i];
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
    }
    return true;
}

static void add_variable(serve_line *out, const char *word)
{
    out->variables = cli_resize(out->variables, (out->variable_count + 1) * sizeof *out->variables);
    out->variables[out->variable_count++] = cli_copy(word);
}

static fp8moe_status take_words(const words *list, serve_line *out, fp8moe_error *err)
{
    bool before_command = true;
    for (size_t i = 0; i < list->count; i++) {
        const char *word = list->at[i];
        if (before_command && is_variable(word)) {
            add_variable(out, word);
            continue;
        }
        if (strcmp(word, "env") != 0) before_command = false;
        if (word[0] == '-')
            CLI_TRY(take_flag(list, &i, out, err));
        else if (!strcmp(word, "serve") && i + 1 < list->count && list->at[i + 1][0] != '-')
            set_text(&out->model, list->at[++i]);
    }
    return FP8MOE_OK;
}

fp8moe_status serve_parse(const char *text, serve_line *out, fp8moe_error *err)
{
    words list = {NULL, 0};
    *out =
        (serve_line){.tensor_parallel = 1, .data_parallel = 1, .max_num_seqs = SERVE_DEFAULT_SEQS};
    fp8moe_status st = split(text, &list, err);
    if (st == FP8MOE_OK) st = take_words(&list, out, err);
    free_words(&list);
    return st;
}

int64_t serve_sequence_parallel(const serve_line *line)
{
    static const char *const able[] = {
        "allgather_reducescatter", "naive",  "deepep_high_throughput",
        "deepep_low_latency",      "mori",   "mori_high_throughput",
        "mori_low_latency",        "nixl_ep"};
    const char *backend = line->all2all_backend ? line->all2all_backend : able[0];
    if (!line->expert_parallel || line->tensor_parallel < 2 || line->data_parallel < 2) return 1;
    for (size_t i = 0; i < sizeof able / sizeof *able; i++)
        if (!strcmp(backend, able[i])) return line->tensor_parallel;
    return 1;
}

void serve_free(serve_line *line)
{
    for (size_t i = 0; i < line->variable_count; i++)
        free(line->variables[i]);
    free(line->variables);
    free(line->model);
    free(line->all2all_backend);
    free(line->quantization);
    *line = (serve_line){0};
}

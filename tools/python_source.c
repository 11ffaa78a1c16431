#include "python_source.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

typedef struct reader {
    const char *at, *end;
    int64_t line;
    int depth;       /* of open brackets */
    buffer code;     /* of the logical line so far */
    bool after_word; /* its last token was a name, a number or a string */
} reader;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool starts(const reader *r, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(r->end - r->at) >= length && !memcmp(r->at, text, length);
}

static void add_token(reader *r, const char *text, size_t length, bool word)
{
    if (word && r->after_word) buffer_add(&r->code, " ");
    buffer_add_bytes(&r->code, text, length);
    r->after_word = word;
}

/* Keywords that stand between operands are set apart on both sides, whatever these are. */
static bool is_operator_word(const char *text, size_t length)
{
    static const char *const words[] = {"and", "or", "not", "in", "is", "if", "else"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && !memcmp(words[i], text, length)) return true;
    return false;
}

static size_t quote_length(const reader *r)
{
    if (starts(r, "\"\"\"") || starts(r, "'''")) return 3;
    return r->at < r->end && (*r->at == '"' || *r->at == '\'');
}

/* From the opening quote on; an end of line closes a string of one quote. */
static void read_string(reader *r)
{
    const size_t quotes = quote_length(r);
    const char quote[] = {*r->at, quotes == 3 ? *r->at : '\0', quotes == 3 ? *r->at : '\0', '\0'};
    r->at += quotes;
    add_token(r, "\"", 1, true);
    while (r->at < r->end && !starts(r, quote) && (quotes == 3 || *r->at != '\n')) {
        const bool escapes = *r->at == '\\' && r->at + 1 < r->end;
        if (*r->at == '"') buffer_add(&r->code, "\\");
        if (escapes) buffer_add_bytes(&r->code, r->at++, 1);
        buffer_add_bytes(&r->code, r->at, 1);
        r->line += *r->at++ == '\n';
    }
    buffer_add(&r->code, "\"");
    if (starts(r, quote)) r->at += quotes;
}

static void read_word(reader *r)
{
    const char *first = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    const size_t length = (size_t)(r->at - first);
    const bool is_prefix = length <= 2 && quote_length(r) > 0 && !is_operator_word(first, length);
    if (is_operator_word(first, length)) {
        if (r->code.size && r->code.data[r->code.size - 1] != ' ') buffer_add(&r->code, " ");
        buffer_add_bytes(&r->code, first, length);
        buffer_add(&r->code, " ");
        r->after_word = false;
    } else {
        add_token(r, first, length, true);
    }
    if (is_prefix) r->after_word = false; /* r"...", b"..." */
}

static void read_sign(reader *r)
{
    if (strchr("([{", *r->at)) r->depth++;
    if (strchr(")]}", *r->at) && r->depth > 0) r->depth--;
    add_token(r, r->at++, 1, false);
}

/* Bytes of a backslash and the end of line behind it, or 0. */
static size_t joined_length(const reader *r)
{
    return starts(r, "\\\n") ? 2 : starts(r, "\\\r\n") ? 3 : 0;
}

/* Blanks, comments and joined lines; false at the end of a logical line. */
static bool skip_blanks(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '#') {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (joined_length(r)) {
            r->at += joined_length(r);
            r->line++;
        } else if (*r->at == '\n' && r->depth == 0) {
            return false;
        } else if (strchr(" \t\r\f\n", *r->at)) {
            r->line += *r->at++ == '\n';
        } else {
            return true;
        }
    }
    return false;
}

static int64_t read_indent(reader *r)
{
    int64_t column = 0;
    for (; r->at < r->end && (*r->at == ' ' || *r->at == '\t'); r->at++)
        column = *r->at == '\t' ? column / 8 * 8 + 8 : column + 1;
    return column;
}

/* One logical line; *code stays NULL for one that is empty. */
static python_line read_line(reader *r)
{
    python_line line = {.number = r->line, .indent = read_indent(r)};
    r->code = (buffer){0};
    r->after_word = false;
    while (skip_blanks(r)) {
        if (quote_length(r))
            read_string(r);
        else if (is_word(*r->at))
            read_word(r);
        else
            read_sign(r);
    }
    if (r->at < r->end) r->at++;
    r->line++;
    r->depth = 0;
    line.code = r->code.data;
    return line;
}

void python_source_read(const char *text, size_t size, python_source *out)
{
    reader r = {.at = text, .end = text + size, .line = 1};
    *out = (python_source){0};
    while (r.at < r.end) {
        const python_line line = read_line(&r);
        if (!line.code) continue;
        out->lines = cli_resize(out->lines, (out->count + 1) * sizeof *out->lines);
        out->lines[out->count++] = line;
    }
}

void python_source_free(python_source *source)
{
    for (size_t i = 0; i < source->count; i++)
        free(source->lines[i].code);
    free(source->lines);
    *source = (python_source){0};
}

/* ---- definitions ---- */

python_body python_source_whole(const python_source *source)
{
    return (python_body){0, source->count};
}

static bool defines(const char *code, const char *name)
{
    static const char *const heads[] = {"def ", "async def ", "class "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const size_t head = strlen(heads[i]);
        if (strncmp(code, heads[i], head) != 0) continue;
        const char *after = code + head + strlen(name);
        return !strncmp(code + head, name, strlen(name)) && (*after == '(' || *after == ':');
    }
    return false;
}

size_t python_source_find_def(const python_source *source, python_body within, const char *name)
{
    size_t found = source->count;
    for (size_t i = within.first; i < within.end; i++)
        if (source->lines[i].indent == source->lines[within.first].indent &&
            defines(source->lines[i].code, name))
            found = i;
    return found;
}

python_body python_source_body(const python_source *source, size_t line)
{
    size_t end = line + 1;
    while (end < source->count && source->lines[end].indent > source->lines[line].indent)
        end++;
    return (python_body){line + 1, end};
}

/* What follows "TARGET=" or "TARGET:type=", or NULL. */
static const char *assigned_value(const char *code, const char *target)
{
    const size_t length = strlen(target);
    if (strncmp(code, target, length) != 0) return NULL;
    const char *sign = code + length;
    if (*sign == ':') sign += strcspn(sign, "=");
    return *sign == '=' && sign[1] != '=' ? sign + 1 : NULL;
}

size_t python_source_find_assignment(const python_source *source, python_body within,
                                     const char *target, const char **value)
{
    size_t found = source->count;
    for (size_t i = within.first; i < within.end; i++) {
        const char *assigned = assigned_value(source->lines[i].code, target);
        if (!assigned) continue;
        found = i;
        *value = assigned;
    }
    return found;
}

/* ---- expressions ---- */

/* Length of a string that starts here, quotes included; 0 where none does. */
static size_t string_length(const char *text)
{
    if (*text != '"') return 0;
    size_t length = 1;
    while (text[length] && text[length] != '"')
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return text[length] ? length + 1 : length;
}

/* Index of the next " and " outside brackets and strings at or after `from`, or `end`. */
static size_t next_and(const char *text, size_t from, size_t end)
{
    int depth = 0;
    for (size_t i = from; i < end; i++) {
        const size_t string = string_length(text + i);
        if (string) i += string - 1;
        if (strchr("([{", text[i])) depth++;
        if (strchr(")]}", text[i])) depth--;
        if (depth == 0 && !strncmp(text + i, " and ", 5)) return i;
    }
    return end;
}

/* Whether the parenthesis that opens at `first` closes at `end` - 1. */
static bool is_enclosed(const char *text, size_t first, size_t end)
{
    int depth = 0;
    if (end - first < 2 || text[first] != '(') return false;
    for (size_t i = first; i < end; i++) {
        const size_t string = string_length(text + i);
        if (string) i += string - 1;
        if (text[i] == '(') depth++;
        if (text[i] == ')' && --depth == 0) return i == end - 1;
    }
    return false;
}

static void split_range(const char *text, size_t first, size_t end,
                        void (*part)(void *user, const char *text), void *user)
{
    while (is_enclosed(text, first, end)) {
        first++;
        end--;
    }
    const size_t next = next_and(text, first, end);
    if (next < end) {
        split_range(text, first, next, part, user);
        split_range(text, next + strlen(" and "), end, part, user);
    } else {
        char *copy = cli_text("%.*s", (int)(end - first), text + first);
        part(user, copy);
        free(copy);
    }
}

void python_source_split_and(const char *expression, void (*part)(void *user, const char *text),
                             void *user)
{
    split_range(expression, 0, strlen(expression), part, user);
}

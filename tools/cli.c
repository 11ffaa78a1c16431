#include "cli.h"

#include "buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- exit codes ---- */

cli_exit cli_worse(cli_exit a, cli_exit b)
{
    static const int rank[] = {[CLI_SAME] = 0,  [CLI_INCONCLUSIVE] = 1, [CLI_DIFFERENT] = 2,
                               [CLI_USAGE] = 3, [CLI_UNREADABLE] = 4,   [CLI_INTERNAL] = 5};
    return rank[a] >= rank[b] ? a : b;
}

cli_exit cli_exit_of(fp8moe_status status)
{
    switch (status) {
    case FP8MOE_OK:
        return CLI_SAME;
    case FP8MOE_ERR_USAGE:
        return CLI_USAGE;
    case FP8MOE_ERR_IO:
    case FP8MOE_ERR_FORMAT:
    case FP8MOE_ERR_UNSUPPORTED:
    case FP8MOE_ERR_NOT_FOUND:
    case FP8MOE_ERR_SHAPE:
    case FP8MOE_ERR_DTYPE:
    case FP8MOE_ERR_VALUE:
        return CLI_UNREADABLE;
    case FP8MOE_ERR_NOMEM:
    case FP8MOE_ERR_INTERNAL:
        break;
    }
    return CLI_INTERNAL;
}

/* ---- errors ---- */

char *cli_error_text(const fp8moe_error *err)
{
    buffer out = {0};
    if (err->file[0]) buffer_format(&out, "%s: ", err->file);
    if (err->tensor[0]) buffer_format(&out, "tensor '%s': ", err->tensor);
    buffer_add(&out, err->message);
    if (err->offset >= 0) buffer_format(&out, " (byte %" PRId64 ")", err->offset);
    return out.data;
}

cli_exit cli_report_error(const fp8moe_error *err)
{
    char *text = cli_error_text(err);
    fprintf(stderr, "fp8moe: %s\n", text);
    free(text);
    return cli_exit_of(err->status);
}

fp8moe_status cli_fail(fp8moe_error *err, fp8moe_status status, const char *format, ...)
{
    *err = (fp8moe_error){.status = status, .offset = -1};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return status;
}

fp8moe_status cli_in_file(fp8moe_error *err, fp8moe_status status, const char *file)
{
    if (status != FP8MOE_OK && !err->file[0]) snprintf(err->file, sizeof err->file, "%s", file);
    return status;
}

/* ---- memory ---- */

static void end_without_memory(void)
{
    fputs("fp8moe: out of memory\n", stderr);
    exit(CLI_INTERNAL);
}

void *cli_allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) end_without_memory();
    return memory;
}

void *cli_resize(void *memory, size_t size)
{
    void *resized = realloc(memory, size ? size : 1);
    if (!resized) end_without_memory();
    return resized;
}

void *cli_grow(void *memory, size_t count, size_t element_size)
{
    const bool full = !(count & (count - 1)); /* at 0, 1, 2, 4, 8 ... it doubles */
    return full ? cli_resize(memory, (count ? 2 * count : 1) * element_size) : memory;
}

char *cli_copy(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(cli_allocate(size), text, size);
}

char *cli_text(const char *format, ...)
{
    buffer out = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_format_list(&out, format, arguments);
    va_end(arguments);
    return out.data ? out.data : cli_copy("");
}

/* ---- numbers ---- */

bool cli_parse_unsigned(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        const uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool cli_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const bool negative = *text == '-';
    uint64_t magnitude;
    if (!cli_parse_unsigned(text + negative, &magnitude) || magnitude > INT64_MAX) return false;
    const int64_t value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if (value < min || value > max) return false;
    *out = value;
    return true;
}

/* Length of the digits at the start of `text`. */
static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

bool cli_parse_number(const char *text, double *out)
{
    const char *at = text + (*text == '-');
    const size_t whole = digits(at);
    at += whole;
    size_t fraction = 0;
    if (*at == '.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if (whole + fraction == 0) return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        const size_t exponent = digits(at);
        if (!exponent) return false;
        at += exponent;
    }
    if (*at) return false;
    const double value = strtod(text, NULL); /* the process stays in the "C" locale */
    if (!(value - value == 0)) return false;
    *out = value;
    return true;
}

/* ---- the nearest of some words ---- */

#define MAX_WORD 64

/* Insertions, deletions and replacements that turn a into b. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[MAX_WORD + 1];
    const size_t width = strlen(b);
    if (width > MAX_WORD) return MAX_WORD;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            size_t best = replaced;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (diagonal + 1 < best) best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[width];
}

const char *cli_nearest(const char *word, cli_word_at at, const void *context)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 2 + 1; /* farther than that is no misspelling */
    const char *candidate;
    for (size_t i = 0; (candidate = at(context, i)); i++) {
        const size_t distance = edit_distance(word, candidate);
        if (distance < least) {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

/* ---- the machine ---- */

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_processors(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

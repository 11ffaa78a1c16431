/* A Python file as logical lines: enough to find definitions and to read conditions. Nothing is
 * run.
 *
 * A logical line is one statement header or simple statement: brackets, backslashes and comments
 * are gone, and its tokens are spelled one way only ("a==b and c[0]<=d", strings in double quotes),
 * so that lines compare as text whatever their layout was. */
#ifndef FP8MOE_TOOLS_PYTHON_SOURCE_H
#define FP8MOE_TOOLS_PYTHON_SOURCE_H

#include "cli.h"

typedef struct python_line {
    int64_t number; /* of its first physical line, from 1 */
    int64_t indent; /* columns, a tab to the next multiple of eight */
    char *code;
} python_line;

typedef struct python_source {
    python_line *lines;
    size_t count;
} python_source;

/* Lines [first, end) of a definition's body, or of the whole file. */
typedef struct python_body {
    size_t first, end;
} python_body;

/* Read from memory; text that is no Python gives odd lines, never an error. Free either way. */
void python_source_read(const char *text, size_t size, python_source *out);
void python_source_free(python_source *source);

/* All of the file. */
python_body python_source_whole(const python_source *source);

/* The line of `def NAME` or `class NAME` directly within `within` (at its own indentation), or
 * source->count. Of several, the last: Python's own rule. */
size_t python_source_find_def(const python_source *source, python_body within, const char *name);

/* The body of the definition at `line`. */
python_body python_source_body(const python_source *source, size_t line);

/* The last line in `within`, at any depth, that assigns to `target` ("use_gather", "self.x"), or
 * source->count; *value becomes what is assigned, part of that line. */
size_t python_source_find_assignment(const python_source *source, python_body within,
                                     const char *target, const char **value);

/* The operands of `and` in an expression, parentheses around them taken off: calls `part` with
 * each, copied. An expression without `and` is one part. */
void python_source_split_and(const char *expression, void (*part)(void *user, const char *text),
                             void *user);

#endif

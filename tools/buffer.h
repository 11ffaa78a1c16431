/* Text that grows: a report is built whole, then written in one go. */
#ifndef FP8MOE_TOOLS_BUFFER_H
#define FP8MOE_TOOLS_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

/* Start with {0}. `data` is NUL-terminated once something was added. */
typedef struct buffer {
    char *data;
    size_t size;
    size_t capacity;
} buffer;

void buffer_add(buffer *out, const char *text);
void buffer_add_bytes(buffer *out, const char *bytes, size_t size);
void buffer_format(buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_format_list(buffer *out, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Add words of `text` from column `column` on, breaking lines at blanks before column `width`;
 * further lines start with `indent` blanks. A word longer than a line stands on a line of its own.
 * Ends the line. */
void buffer_wrap(buffer *out, int column, int indent, int width, const char *text);

#define BUFFER_LABEL 14 /* columns of a line's label */

/* "    label          words", wrapped under the words: a line of a report. */
void buffer_line(buffer *out, int indent, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void buffer_free(buffer *out);

#endif

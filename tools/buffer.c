#include "buffer.h"

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_add_bytes(buffer *out, const char *bytes, size_t size)
{
    if (out->size + size + 1 > out->capacity) {
        out->capacity = 2 * (out->size + size + 1);
        out->data = cli_resize(out->data, out->capacity);
    }
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
    out->data[out->size] = '\0';
}

void buffer_add(buffer *out, const char *text)
{
    buffer_add_bytes(out, text, strlen(text));
}

void buffer_format_list(buffer *out, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    char small[256];
    const int needed = vsnprintf(small, sizeof small, format, arguments);
    if (needed >= 0 && (size_t)needed < sizeof small) {
        buffer_add_bytes(out, small, (size_t)needed);
    } else if (needed >= 0) {
        char *large = cli_allocate((size_t)needed + 1);
        vsnprintf(large, (size_t)needed + 1, format, again);
        buffer_add_bytes(out, large, (size_t)needed);
        free(large);
    }
    va_end(again);
}

void buffer_format(buffer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buffer_format_list(out, format, arguments);
    va_end(arguments);
}

void buffer_wrap(buffer *out, int column, int indent, int width, const char *text)
{
    bool line_has_word = false;
    while (*text) {
        text += strspn(text, " \n");
        const size_t length = strcspn(text, " \n");
        if (!length) break;
        if (line_has_word && column + 1 + (int)length > width) {
            buffer_format(out, "\n%*s", indent, "");
            column = indent;
            line_has_word = false;
        }
        if (line_has_word) buffer_add(out, " ");
        buffer_add_bytes(out, text, length);
        column += (int)length + line_has_word;
        line_has_word = true;
        text += length;
    }
    buffer_add(out, "\n");
}

void buffer_line(buffer *out, int indent, const char *label, const char *format, ...)
{
    buffer words = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_format_list(&words, format, arguments);
    va_end(arguments);
    buffer_format(out, "%*s%-*s ", indent, "", BUFFER_LABEL, label);
    buffer_wrap(out, indent + BUFFER_LABEL + 1, indent + BUFFER_LABEL + 1, CLI_WIDTH, words.data);
    buffer_free(&words);
}

void buffer_free(buffer *out)
{
    free(out->data);
    *out = (buffer){0};
}

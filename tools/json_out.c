#include "json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at `text` (NUL-terminated), or 0 where there is none. */
static size_t utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char first, last; /* of the leading byte */
        unsigned char low, high;   /* bounds of the second byte: no overlong form, no surrogate */
        size_t length;
    } forms[] = {
        {0x00, 0x7F, 0x00, 0xFF, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last) continue;
        if (forms[i].length > 1 && (text[1] < forms[i].low || text[1] > forms[i].high)) return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((text[k] & 0xC0) != 0x80) return 0;
        return forms[i].length;
    }
    return 0;
}

static void add_quoted(buffer *out, const char *text)
{
    buffer_add(out, "\"");
    while (*text) {
        const unsigned char byte = (unsigned char)*text;
        const size_t length = utf8_length((const unsigned char *)text);
        if (length == 0)
            buffer_add(out, "\\ufffd");
        else if (byte == '"' || byte == '\\')
            buffer_format(out, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7F)
            buffer_format(out, "\\u%04x", (unsigned)byte);
        else
            buffer_add_bytes(out, text, length);
        text += length ? length : 1;
    }
    buffer_add(out, "\"");
}

static void new_line(emitter *json)
{
    buffer_format(json->out, "\n%*s", 2 * json->depth, "");
}

/* What stands before every value: comma, line, key. */
static void begin_value(emitter *json, const char *key)
{
    if (json->depth == 0) return;
    if (json->level[json->depth - 1].has_members) buffer_add(json->out, ",");
    json->level[json->depth - 1].has_members = true;
    new_line(json);
    if (!key) return;
    add_quoted(json->out, key);
    buffer_add(json->out, ": ");
}

static void begin_level(emitter *json, const char *key, const char *open, char close)
{
    assert(json->depth < EMIT_DEPTH);
    begin_value(json, key);
    buffer_add(json->out, open);
    json->level[json->depth].close = close;
    json->level[json->depth].has_members = false;
    json->level[json->depth].not_finite = 0;
    json->depth++;
}

void emit_object(emitter *json, const char *key)
{
    begin_level(json, key, "{", '}');
}

void emit_array(emitter *json, const char *key)
{
    begin_level(json, key, "[", ']');
}

void emit_end(emitter *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->level[json->depth].has_members) new_line(json);
    buffer_add_bytes(json->out, &json->level[json->depth].close, 1);
    if (json->depth > 0)
        json->level[json->depth - 1].not_finite += json->level[json->depth].not_finite;
    else
        buffer_add(json->out, "\n");
}

void emit_end_counted(emitter *json)
{
    assert(json->depth > 0);
    emit_integer(json, "not_finite", json->level[json->depth - 1].not_finite);
    emit_end(json);
}

void emit_text(emitter *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value)
        add_quoted(json->out, value);
    else
        buffer_add(json->out, "null");
}

void emit_integer(emitter *json, const char *key, int64_t value)
{
    begin_value(json, key);
    buffer_format(json->out, "%" PRId64, value);
}

void emit_unsigned(emitter *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    buffer_format(json->out, "%" PRIu64, value);
}

void emit_number(emitter *json, const char *key, double value)
{
    begin_value(json, key);
    if (!(value - value == 0)) {
        buffer_add(json->out, "null");
        if (json->depth > 0) json->level[json->depth - 1].not_finite++;
        return;
    }
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    buffer_add(json->out, digits);
}

void emit_boolean(emitter *json, const char *key, bool value)
{
    begin_value(json, key);
    buffer_add(json->out, value ? "true" : "false");
}

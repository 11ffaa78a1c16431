#include "json.h"

#include "arena.h"
#include "limits.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

struct json {
    arena memory;
    json_value *root;
};

typedef struct parser {
    const uint8_t *text;
    size_t size, at;
    int64_t base;
    int depth;
    int64_t values;
    arena *memory;
    fp8moe_error *err;
} parser;

static fp8moe_status parse_value(parser *p, json_value *out);

static fp8moe_status no_memory(parser *p)
{
    return fail(p->err, FP8MOE_ERR_NOMEM, "out of memory for the JSON text");
}

static int64_t offset_of(const parser *p, size_t at)
{
    return p->base + (int64_t)at;
}

static fp8moe_status bad(parser *p, size_t at, const char *sentence)
{
    return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, offset_of(p, at), "%s", sentence);
}

static int peek(const parser *p)
{
    return p->at < p->size ? p->text[p->at] : -1;
}

static bool accept(parser *p, char wanted)
{
    if (peek(p) != (uint8_t)wanted) return false;
    p->at++;
    return true;
}

static void skip_space(parser *p)
{
    while (p->at < p->size && memchr(" \t\n\r", p->text[p->at], 4))
        p->at++;
}

/* What stands where something else was expected. */
static fp8moe_status unexpected(parser *p, const char *wanted)
{
    const int byte = peek(p);
    if (byte < 0)
        return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, offset_of(p, p->at),
                       "JSON ends where %s was expected", wanted);
    if (byte > ' ' && byte < 0x7F)
        return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, offset_of(p, p->at),
                       "expected %s in JSON, found '%c'", wanted, byte);
    return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, offset_of(p, p->at),
                   "expected %s in JSON, found byte 0x%02X", wanted, (unsigned)byte);
}

/* ---- strings ---- */

static bool read_hex4(parser *p, uint32_t *out)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit =
            p->at < p->size && p->text[p->at] ? strchr(digits, p->text[p->at]) : NULL;
        if (!digit) return false;
        const uint32_t index = (uint32_t)(digit - digits);
        value = value * 16 + (index < 16 ? index : index - 6);
        p->at++;
    }
    *out = value;
    return true;
}

/* \uXXXX, with its low surrogate where it is a high one; p->at stands after the 'u'. */
static fp8moe_status read_unicode_escape(parser *p, uint32_t *out)
{
    const size_t start = p->at - 2;
    if (!read_hex4(p, out)) return bad(p, start, "\\u needs four hexadecimal digits");
    if (*out == 0) return bad(p, start, "a string holds the character U+0000");
    if (*out >= 0xDC00 && *out <= 0xDFFF)
        return bad(p, start, "low surrogate without a high one before it");
    if (*out < 0xD800 || *out > 0xDBFF) return FP8MOE_OK;
    uint32_t low;
    if (!accept(p, '\\') || !accept(p, 'u') || !read_hex4(p, &low) || low < 0xDC00 || low > 0xDFFF)
        return bad(p, start, "high surrogate without a low one after it");
    *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    return FP8MOE_OK;
}

static fp8moe_status read_escape(parser *p, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const int byte = peek(p);
    const char *const name = byte > 0 ? strchr(names, byte) : NULL;
    if (name) {
        *(*out)++ = values[name - names];
        p->at++;
        return FP8MOE_OK;
    }
    if (!accept(p, 'u')) return bad(p, p->at - 1, "unknown escape in a string");
    uint32_t code_point;
    TRY(read_unicode_escape(p, &code_point));
    *out += text_utf8_write(code_point, *out);
    return FP8MOE_OK;
}

static fp8moe_status copy_string(parser *p, char *out)
{
    while (!accept(p, '"')) {
        if (accept(p, '\\')) {
            TRY(read_escape(p, &out));
            continue;
        }
        if (p->at >= p->size) return unexpected(p, "the closing quote of a string");
        if (p->text[p->at] < 0x20) return bad(p, p->at, "control character in a string");
        const size_t length = text_utf8_char(p->text + p->at, p->size - p->at);
        if (!length) return bad(p, p->at, "a string is not valid UTF-8");
        memcpy(out, p->text + p->at, length);
        out += length;
        p->at += length;
    }
    *out = '\0';
    return FP8MOE_OK;
}

/* Bytes up to the closing quote: no escape is shorter than what it stands for. */
static size_t quoted_size(const parser *p)
{
    size_t at = p->at;
    while (at < p->size && p->text[at] != '"')
        at += p->text[at] == '\\' ? 2 : 1;
    return (at < p->size ? at : p->size) - p->at;
}

static fp8moe_status parse_string(parser *p, const char **out)
{
    p->at++; /* the quote, seen by the caller */
    char *const text = arena_alloc(p->memory, quoted_size(p) + 1);
    if (!text) return no_memory(p);
    *out = text;
    return copy_string(p, text);
}

/* ---- numbers ---- */

static bool skip_digits(parser *p)
{
    const size_t start = p->at;
    while (p->at < p->size && p->text[p->at] >= '0' && p->text[p->at] <= '9')
        p->at++;
    return p->at > start;
}

/* Move behind a number of RFC 8259's form; *whole tells whether it is an integer. */
static fp8moe_status scan_number(parser *p, bool *whole)
{
    (void)accept(p, '-');
    if (!accept(p, '0') && !skip_digits(p)) return unexpected(p, "a digit");
    *whole = true;
    if (accept(p, '.')) {
        *whole = false;
        if (!skip_digits(p)) return unexpected(p, "a digit after the decimal point");
    }
    if (accept(p, 'e') || accept(p, 'E')) {
        *whole = false;
        if (!accept(p, '-')) (void)accept(p, '+');
        if (!skip_digits(p)) return unexpected(p, "a digit of the exponent");
    }
    return FP8MOE_OK;
}

static fp8moe_status parse_number(parser *p, json_value *out)
{
    const size_t start = p->at;
    bool whole = false;
    TRY(scan_number(p, &whole));
    const char *const text = (const char *)p->text + start;
    const size_t size = p->at - start;
    if (whole && text_to_i64(text, size, &out->i64))
        out->type = JSON_I64;
    else if (whole && text_to_u64(text, size, &out->u64))
        out->type = JSON_U64;
    else if (text_to_f64(text, size, &out->f64))
        out->type = JSON_F64;
    else
        return bad(p, start, "number beyond the range of a double");
    return FP8MOE_OK;
}

/* ---- containers ---- */

static int compare_keys(const void *a, const void *b)
{
    const json_value *const x = *(json_value *const *)a, *const y = *(json_value *const *)b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static fp8moe_status report_duplicate(parser *p, json_value *const *sorted, size_t count)
{
    const json_value *first = NULL;
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 &&
            (!first || sorted[i]->offset < first->offset))
            first = sorted[i];
    if (!first) return FP8MOE_OK;
    return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, first->key_offset,
                   "the key \"%.200s\" appears twice in one object", first->key);
}

static fp8moe_status check_duplicates(parser *p, const json_value *object)
{
    const size_t count = (size_t)object->children.count;
    if (count < 2) return FP8MOE_OK;
    const json_value **sorted = malloc(count * sizeof *sorted);
    if (!sorted) return no_memory(p);
    size_t i = 0;
    for (const json_value *child = object->children.first; child; child = child->next)
        sorted[i++] = child;
    qsort(sorted, count, sizeof *sorted, compare_keys);
    const fp8moe_status status = report_duplicate(p, (json_value *const *)sorted, count);
    free(sorted);
    return status;
}

static fp8moe_status parse_key(parser *p, json_value *child)
{
    skip_space(p);
    if (peek(p) != '"') return unexpected(p, "a key in quotes");
    child->key_offset = offset_of(p, p->at);
    TRY(parse_string(p, &child->key));
    skip_space(p);
    return accept(p, ':') ? FP8MOE_OK : unexpected(p, "':'");
}

/* p->at stands after the opening bracket. */
static fp8moe_status parse_children(parser *p, json_value *out)
{
    const bool object = out->type == JSON_OBJECT;
    const char close = object ? '}' : ']';
    const json_value **link = &out->children.first;
    skip_space(p);
    if (accept(p, close)) return FP8MOE_OK;
    do {
        json_value *const child = arena_alloc(p->memory, sizeof *child);
        if (!child) return no_memory(p);
        if (object) TRY(parse_key(p, child));
        TRY(parse_value(p, child));
        *link = child;
        link = &child->next;
        out->children.count++;
        skip_space(p);
    } while (accept(p, ','));
    if (!accept(p, close)) return unexpected(p, object ? "',' or '}'" : "',' or ']'");
    return object ? check_duplicates(p, out) : FP8MOE_OK;
}

static fp8moe_status parse_container(parser *p, json_value *out, json_type type)
{
    out->type = type;
    if (++p->depth > LIMIT_JSON_DEPTH)
        return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, out->offset,
                       "JSON is nested deeper than %d levels", LIMIT_JSON_DEPTH);
    p->at++;
    TRY(parse_children(p, out));
    p->depth--;
    return FP8MOE_OK;
}

/* ---- values ---- */

static fp8moe_status parse_word(parser *p, json_value *out)
{
    static const struct {
        const char *word;
        json_type type;
        bool boolean;
    } words[] = {
        {"null", JSON_NULL, false}, {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}};
    for (size_t row = 0; row < sizeof words / sizeof words[0]; row++) {
        const size_t length = strlen(words[row].word);
        if (p->size - p->at < length || memcmp(p->text + p->at, words[row].word, length)) continue;
        out->type = words[row].type;
        out->boolean = words[row].boolean;
        p->at += length;
        return FP8MOE_OK;
    }
    return unexpected(p, "a value");
}

static fp8moe_status parse_value(parser *p, json_value *out)
{
    skip_space(p);
    out->offset = offset_of(p, p->at);
    if (++p->values > LIMIT_JSON_VALUES)
        return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, out->offset,
                       "JSON holds more than %d values", LIMIT_JSON_VALUES);
    const int byte = peek(p);
    if (byte == '{') return parse_container(p, out, JSON_OBJECT);
    if (byte == '[') return parse_container(p, out, JSON_ARRAY);
    if (byte == '-' || (byte >= '0' && byte <= '9')) return parse_number(p, out);
    if (byte != '"') return parse_word(p, out);
    out->type = JSON_STRING;
    return parse_string(p, &out->string);
}

static fp8moe_status parse_text(parser *p, json_value *root)
{
    if ((uint64_t)p->size > (uint64_t)LIMIT_JSON_BYTES)
        return fail_at(p->err, FP8MOE_ERR_FORMAT, NULL, p->base,
                       "JSON text of %zu bytes, at most %lld are read", p->size,
                       (long long)LIMIT_JSON_BYTES);
    if (p->size >= 3 && memcmp(p->text, "\xEF\xBB\xBF", 3) == 0)
        return bad(p, 0, "JSON starts with a byte order mark");
    TRY(parse_value(p, root));
    skip_space(p);
    return p->at == p->size ? FP8MOE_OK : unexpected(p, "nothing after the value");
}

fp8moe_status json_parse(const void *text, size_t size, int64_t base, json **out, fp8moe_error *err)
{
    assert((text || !size) && out && base >= 0);
    json *parsed = calloc(1, sizeof *parsed);
    if (!parsed) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the JSON text");
    parser p = {.text = text, .size = size, .base = base, .memory = &parsed->memory, .err = err};
    parsed->root = arena_alloc(&parsed->memory, sizeof *parsed->root);
    const fp8moe_status status = parsed->root ? parse_text(&p, parsed->root) : no_memory(&p);
    if (status != FP8MOE_OK) {
        json_close(parsed);
        return status;
    }
    *out = parsed;
    return FP8MOE_OK;
}

void json_close(json *parsed)
{
    if (!parsed) return;
    arena_free(&parsed->memory);
    free(parsed);
}

const json_value *json_root(const json *parsed)
{
    return parsed->root;
}

const json_value *json_get(const json_value *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT) return NULL;
    for (const json_value *child = object->children.first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}

const char *json_type_text(const json_value *value)
{
    static const char *const texts[] = {
        [JSON_NULL] = "null",          [JSON_BOOL] = "a truth value", [JSON_I64] = "a whole number",
        [JSON_U64] = "a whole number", [JSON_F64] = "a number",       [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array",     [JSON_OBJECT] = "an object",
    };
    return texts[value->type];
}

/* Strict JSON (RFC 8259) into a tree: UTF-8 checked, duplicate keys refused, 64-bit integers kept
 * exactly, every error with its byte offset. */
#ifndef FP8MOE_LIB_JSON_H
#define FP8MOE_LIB_JSON_H

#include "common.h"

typedef enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_I64, /* a number without '.', 'e' and 'E' that an int64_t holds */
    JSON_U64, /* one above INT64_MAX that a uint64_t holds */
    JSON_F64, /* every other number, rounded once to double */
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_type;

/* One value. Children of an array or object are a list in file order: first, next. */
typedef struct json_value {
    json_type type;
    int64_t offset;     /* of its first byte, counted from the start of the file */
    const char *key;    /* of a member of an object, else NULL; NUL-terminated UTF-8 */
    int64_t key_offset; /* of the key's opening quote */
    const struct json_value *next;
    union {
        bool boolean;
        int64_t i64;
        uint64_t u64;
        double f64;
        const char *string; /* NUL-terminated UTF-8 */
        struct {
            const struct json_value *first;
            int64_t count;
        } children;
    };
} json_value;

typedef struct json json;

/**
 * Parse one JSON text. Beyond the RFC it refuses: duplicate keys in one object, the character
 * U+0000 (strings become C strings), a byte order mark, numbers beyond double, and what exceeds the
 * limits of limits.h. The text may be freed afterwards.
 *
 * @param base offset of text[0] in the file, added to every offset
 * @param out  the caller frees it with json_close()
 * @return OK; FORMAT with err->offset; NOMEM
 */
fp8moe_status json_parse(const void *text, size_t size, int64_t base, json **out,
                         fp8moe_error *err);

void json_close(json *parsed);

/* The outermost value. Valid until json_close(), like everything below it. */
const json_value *json_root(const json *parsed);

/* The member `key` of an object, or NULL; NULL also where `object` is NULL or no object. */
const json_value *json_get(const json_value *object, const char *key);

/* "null", "a truth value", "a whole number", "a number", "a string", "an array", "an object": for
 * sentences. */
const char *json_type_text(const json_value *value);

#endif

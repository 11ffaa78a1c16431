/* A small JSON writer: values go straight into a buffer, indented by two blanks, in the order of
 * the calls. Numbers have as many digits as it takes to read the same double back. JSON has no NaN
 * and no infinity: they become null, and emit_end_counted() says how many did. Text that is not
 * UTF-8 (a file name may be anything) has each stray byte replaced by U+FFFD. */
#ifndef FP8MOE_TOOLS_JSON_OUT_H
#define FP8MOE_TOOLS_JSON_OUT_H

#include "buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define EMIT_DEPTH 16

/* Start with {.out = buffer}. */
typedef struct emitter {
    buffer *out;
    int depth;
    struct {
        char close;
        bool has_members;
        int64_t not_finite; /* numbers written as null in here and below */
    } level[EMIT_DEPTH];
} emitter;

/* `key` names the value inside an object and is NULL inside an array and at the top. */
void emit_object(emitter *json, const char *key);
void emit_array(emitter *json, const char *key);
void emit_end(emitter *json);
/* The same for an object of measured numbers: adds "not_finite", how many of them are null. */
void emit_end_counted(emitter *json);

void emit_text(emitter *json, const char *key, const char *value); /* NULL gives null */
void emit_integer(emitter *json, const char *key, int64_t value);
void emit_unsigned(emitter *json, const char *key, uint64_t value);
void emit_number(emitter *json, const char *key, double value);
void emit_boolean(emitter *json, const char *key, bool value);

#endif

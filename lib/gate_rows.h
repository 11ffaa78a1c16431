/* What upstream's gates ask, as rows: a version is a list of conditions over facts, and of
 * variables that set them. */
#ifndef FP8MOE_LIB_GATE_ROWS_H
#define FP8MOE_LIB_GATE_ROWS_H

#include <fp8moe/gate.h>

typedef enum condition_test {
    IS_ON,
    IS_OFF,
    IS_POSITIVE,
    IS_TEXT,
    IS_NOT_TEXT,
    PAIRS_WITHIN_SHARE, /* T * K <= E_local * number */
    PAIRS_WITHIN_COUNT, /* T * K <= count */
    TOKENS_WITHIN_COUNT /* T <= count */
} condition_test;

typedef struct condition_row {
    const char *name;
    const char *text;
    fp8moe_gate_fact fact;
    condition_test test;
    const char *wanted; /* of a text */
    const char *reason;
} condition_row;

typedef fp8moe_status (*variable_reader)(const char *text, fp8moe_gate_value *value,
                                         fp8moe_error *err);

typedef struct variable_row {
    const char *name;
    fp8moe_gate_fact fact;
    variable_reader read;
} variable_row;

#define GATE_MAX_RULES 2

struct fp8moe_gate_version {
    const char *name;
    const char *summary;
    bool assumed;
    const variable_row *variables;
    struct {
        fp8moe_path path;
        const condition_row *const *conditions;
    } rules[GATE_MAX_RULES]; /* the first whose conditions all hold; conditions NULL ends; else
                                stock */
};

#endif

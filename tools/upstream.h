/* What a checked-out or installed vllm-gaudi holds of the gathered combine, judged by its
 * definitions and the conditions of its gate (numerics.md 6.2 and 6.4), never by a hash. */
#ifndef FP8MOE_TOOLS_UPSTREAM_H
#define FP8MOE_TOOLS_UPSTREAM_H

#include "cli.h"

typedef enum upstream_state {
    UPSTREAM_NOT_NEEDED,  /* the form of v0.30.0: a module of its own */
    UPSTREAM_APPLIED,     /* the form of the backport: all in hpu_fp8.py */
    UPSTREAM_NOT_APPLIED, /* none of it, and the place where it belongs is as expected */
    UPSTREAM_DRIFTED      /* some of it, or another gate, or no such place */
} upstream_state;

/* "not_needed", "applied", "not_applied", "drifted". */
const char *upstream_state_name(upstream_state state);

/* A definition that is part of the combine. */
typedef struct upstream_mark {
    const char *name;
    const char *what; /* "function", "assignment" */
    bool found;
    const char *file; /* within the package, where it was found */
    int64_t line;
} upstream_mark;

/* A condition of the gate: one operand of an `and`. */
typedef struct upstream_condition {
    const char *name; /* as in fp8moe gate; NULL: one this version does not know */
    char *text;       /* as it reads, or as it should */
    bool found;
} upstream_condition;

#define UPSTREAM_MARKS 7

typedef struct upstream_tree {
    char *package; /* the folder vllm_gaudi */
    upstream_state state;
    char *reason;
    upstream_mark marks[UPSTREAM_MARKS];
    upstream_condition *conditions;
    size_t condition_count;
    bool has_dense; /* a fork's dense combine stands beside it */
} upstream_tree;

/*
 * Look at a folder: a checkout, the package folder itself, a site-packages folder or a virtual
 * environment. The caller frees *out either way.
 *
 * @return OK; NOT_FOUND where there is no vllm_gaudi/ops/hpu_fp8.py; IO
 */
fp8moe_status upstream_read(const char *path, upstream_tree *out, fp8moe_error *err);
void upstream_free(upstream_tree *tree);

#endif

/* What upstream's verify mode wrote into a server log (numerics.md 6.3 and 6.4). */
#ifndef FP8MOE_TOOLS_SERVER_LOG_H
#define FP8MOE_TOOLS_SERVER_LOG_H

#include "cli.h"

#include <stdio.h>

/* The two warnings of verify mode. */
typedef enum log_kind {
    LOG_IN_RANGE,     /* max FP8-ULP above its bar */
    LOG_OUT_OF_RANGE, /* relative error of elements beyond 448, or one side not finite */
    LOG_KIND_COUNT
} log_kind;

/* "in_range", "out_of_range". */
const char *log_kind_name(log_kind kind);

typedef struct log_warnings {
    int64_t lines;  /* as written, by every rank */
    int64_t calls;  /* layer calls: ranks of one group write the same reduced maximum, which counts
                       once */
    double largest; /* of the finite ones */
    int64_t largest_line; /* from 1 */
    int64_t first_line;
    int64_t not_finite; /* lines whose number is no finite number */
    bool ranks_differ;  /* some rank wrote a maximum fewer times than another */
} log_warnings;

/* A process that wrote one of the lines in question. */
typedef struct log_worker {
    char *prefix;       /* "Worker_PP0_TP0_EP0 pid=123" */
    int64_t generation; /* 0, or how often this name had another pid before: a restarted server */
    bool warned;
} log_worker;

typedef struct server_log {
    const char *file;
    int64_t lines;
    bool enabled; /* verify mode said at import that it is on */
    log_worker *workers;
    size_t worker_count;
    log_warnings warnings[LOG_KIND_COUNT];
    cli_exit verdict;
    char *reason;
} server_log;

typedef struct server_logs {
    server_log *logs;
    size_t count;
    cli_exit verdict; /* the worst */
} server_logs;

/* Read a log to its end and judge it. IO where it cannot be read. Free either way. */
fp8moe_status server_log_read(FILE *file, const char *name, server_log *out, fp8moe_error *err);
void server_log_free(server_log *log);

/* What a maximum of upstream's ULP can mean, one sentence. The caller frees it. */
char *server_log_explain_ulp(double ulp);

#endif

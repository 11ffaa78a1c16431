#include "server_log.h"

#include "buffer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char enabled_text[] = "MoE gather combine VERIFY mode enabled";

/* What a warning says before and after its number. */
static const struct kind_row {
    const char *name;
    const char *before;
    const char *number_after;
} kinds[LOG_KIND_COUNT] = {
    [LOG_IN_RANGE] = {"in_range", "MoE gather combine mismatch: ", "max FP8-ULP = "},
    [LOG_OUT_OF_RANGE] = {"out_of_range", "MoE gather combine: out-of-range element(s)",
                          "diverge by relative error "},
};

const char *log_kind_name(log_kind kind)
{
    return kinds[kind].name;
}

/* ---- lines ---- */

#define NO_WORKER SIZE_MAX

/* One warning as written. */
typedef struct event {
    log_kind kind;
    size_t worker; /* index, or NO_WORKER */
    int64_t generation;
    const char *stage; /* pipeline stage, "PP0_..."; "" for none */
    int64_t line;
    char *value;
} event;

typedef struct events {
    event *at;
    size_t count;
} events;

/* Take colours out, in place: ESC [ ... letter. */
static void strip_colours(char *line)
{
    char *out = line;
    for (const char *in = line; *in;) {
        if (in[0] != '\033' || in[1] != '[') {
            *out++ = *in++;
            continue;
        }
        in += 2;
        in += strspn(in, "0123456789;");
        if (*in) in++;
    }
    *out = '\0';
}

/* The last "(NAME pid=N)" that the line starts with: where it begins and how long it is, or 0. */
static size_t find_worker(const char *line, const char **name)
{
    size_t found = 0;
    for (const char *at = line + strspn(line, " "); *at == '('; at += strspn(at, " ")) {
        const size_t length = strcspn(at + 1, ")");
        const char *pid = strstr(at, " pid=");
        if (!at[1 + length]) break;
        if (pid && pid < at + 1 + length) {
            *name = at + 1;
            found = length;
        }
        at += length + 2;
    }
    return found;
}

static int64_t count_pids(const server_log *log, const char *prefix)
{
    const char *pid = strstr(prefix, " pid=");
    const size_t length = (size_t)(pid - prefix) + 5;
    int64_t count = 0;
    for (size_t i = 0; i < log->worker_count; i++)
        count += strncmp(log->workers[i].prefix, prefix, length) == 0;
    return count;
}

static size_t worker_of(server_log *log, const char *line)
{
    const char *name;
    const size_t length = find_worker(line, &name);
    if (!length) return NO_WORKER;
    for (size_t i = 0; i < log->worker_count; i++)
        if (strlen(log->workers[i].prefix) == length &&
            !memcmp(log->workers[i].prefix, name, length))
            return i;
    log->workers = cli_resize(log->workers, (log->worker_count + 1) * sizeof *log->workers);
    log_worker *worker = &log->workers[log->worker_count];
    *worker = (log_worker){.prefix = cli_text("%.*s", (int)length, name)};
    worker->generation = count_pids(log, worker->prefix);
    return log->worker_count++;
}

static void add_event(server_log *log, events *seen, log_kind kind, const char *line,
                      const char *number)
{
    event e = {.kind = kind, .worker = worker_of(log, line), .stage = "", .line = log->lines};
    e.value = cli_text("%.*s", (int)strcspn(number, " \t\r\n"), number);
    if (e.worker != NO_WORKER) {
        log_worker *worker = &log->workers[e.worker];
        const char *stage = strstr(worker->prefix, "_PP");
        worker->warned = true;
        e.generation = worker->generation;
        if (stage) e.stage = stage + 1;
    }
    seen->at = cli_resize(seen->at, (seen->count + 1) * sizeof *seen->at);
    seen->at[seen->count++] = e;
}

static void take_line(server_log *log, events *seen, char *line)
{
    strip_colours(line);
    if (strstr(line, enabled_text)) {
        log->enabled = true;
        worker_of(log, line);
    }
    for (log_kind kind = 0; kind < LOG_KIND_COUNT; kind++) {
        const char *message = strstr(line, kinds[kind].before);
        const char *number = message ? strstr(message, kinds[kind].number_after) : NULL;
        if (!number) continue;
        add_event(log, seen, kind, line, number + strlen(kinds[kind].number_after));
    }
}

/* ---- calls ---- */

/* Workers of one pipeline stage reduce their maxima together: "PP1" of "Worker_PP1_TP0_EP0 pid=7".
 */
static int compare_stages(const char *a, const char *b)
{
    const size_t a_length = strcspn(a, "_ ");
    const size_t b_length = strcspn(b, "_ ");
    const int order = strncmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_groups(const event *a, const event *b)
{
    if (a->generation != b->generation) return a->generation < b->generation ? -1 : 1;
    return compare_stages(a->stage, b->stage);
}

/* Same kind, group and number: one or more calls. */
static int compare_calls(const event *a, const event *b)
{
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    const int groups = compare_groups(a, b);
    return groups ? groups : strcmp(a->value, b->value);
}

static int compare_events(const void *a, const void *b)
{
    const event *x = a;
    const event *y = b;
    const int calls = compare_calls(x, y);
    if (calls) return calls;
    if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static bool parse_finite(const char *text, double *out)
{
    return cli_parse_number(text, out) && isfinite(*out);
}

static void take_number(log_warnings *warnings, const event *e)
{
    double number;
    warnings->lines++;
    if (!warnings->first_line || e->line < warnings->first_line) warnings->first_line = e->line;
    if (!parse_finite(e->value, &number)) {
        warnings->not_finite++;
    } else if (!warnings->largest_line || number > warnings->largest) {
        warnings->largest = number;
        warnings->largest_line = e->line;
    }
}

/* Workers of an event's group that warned of anything at all. */
static size_t workers_in_group(const server_log *log, const event *e)
{
    size_t count = 0;
    for (size_t w = 0; w < log->worker_count; w++) {
        const char *stage = strstr(log->workers[w].prefix, "_PP");
        const event other = {.generation = log->workers[w].generation,
                             .stage = stage ? stage + 1 : ""};
        count += log->workers[w].warned && compare_groups(&other, e) == 0;
    }
    return count;
}

/* Events [first, end) report the same number in the same group, ordered by worker: as many calls as
 * the busiest worker wrote lines. */
static void count_calls(server_log *log, const event *at, size_t first, size_t end)
{
    log_warnings *warnings = &log->warnings[at[first].kind];
    int64_t most = 0, least = INT64_MAX;
    size_t workers = 0;
    for (size_t start = first, next; start < end; start = next) {
        for (next = start; next < end && at[next].worker == at[start].worker; next++)
            take_number(warnings, &at[next]);
        const int64_t lines = (int64_t)(next - start);
        if (lines > most) most = lines;
        if (lines < least) least = lines;
        workers++;
    }
    warnings->calls += most;
    if (least < most || workers < workers_in_group(log, &at[first])) warnings->ranks_differ = true;
}

static void group_events(server_log *log, events *seen)
{
    if (seen->count) qsort(seen->at, seen->count, sizeof *seen->at, compare_events);
    for (size_t first = 0, end; first < seen->count; first = end) {
        for (end = first + 1; end < seen->count; end++)
            if (compare_calls(&seen->at[first], &seen->at[end]) != 0) break;
        count_calls(log, seen->at, first, end);
    }
}

/* ---- judging ---- */

static void judge(server_log *log)
{
    const log_warnings *in = &log->warnings[LOG_IN_RANGE];
    const log_warnings *out = &log->warnings[LOG_OUT_OF_RANGE];
    if (out->lines || in->not_finite) {
        log->verdict = CLI_DIFFERENT;
        log->reason = cli_text(out->largest == 1
                                   ? "one side is not finite, or zero where the other is beyond 448"
                               : out->lines ? "elements beyond 448 differ by more than 5 percent"
                                            : "a maximum is no finite number");
    } else if (in->lines) {
        log->verdict = CLI_INCONCLUSIVE;
        log->reason = cli_text("in-range warnings only: that measure grows with the size of the "
                               "outputs, not with their error; dump the layer and verify it");
    } else if (!log->enabled) {
        log->verdict = CLI_INCONCLUSIVE;
        log->reason = cli_text("cannot tell: verify mode never said that it is on, and without it "
                               "upstream logs nothing of the combine, not even that it is used");
    } else {
        log->verdict = CLI_SAME;
        log->reason = cli_text("verify mode is on and silent: within its bars, or never reached");
    }
}

fp8moe_status server_log_read(FILE *file, const char *name, server_log *out, fp8moe_error *err)
{
    events seen = {NULL, 0};
    char *line = NULL;
    size_t capacity = 0;
    *out = (server_log){.file = name};
    while (getline(&line, &capacity, file) >= 0) {
        out->lines++;
        take_line(out, &seen, line);
    }
    free(line);
    group_events(out, &seen);
    for (size_t i = 0; i < seen.count; i++)
        free(seen.at[i].value);
    free(seen.at);
    judge(out);
    if (!ferror(file)) return FP8MOE_OK;
    return cli_in_file(err, cli_fail(err, FP8MOE_ERR_IO, "%s", strerror(errno)), name);
}

void server_log_free(server_log *log)
{
    for (size_t i = 0; i < log->worker_count; i++)
        free(log->workers[i].prefix);
    free(log->workers);
    free(log->reason);
    *log = (server_log){0};
}

/* ---- meaning ---- */

#define LARGEST_CODE 126 /* 448 */

char *server_log_explain_ulp(double ulp)
{
    const double across = ulp * 0x1p-9;
    if (ulp != (double)(int)ulp || ulp > LARGEST_CODE)
        return cli_text("two values on either side of zero, %.4g apart", across);
    const uint8_t code = (uint8_t)ulp;
    double magnitude;
    const fp8moe_tensor one = fp8moe_tensor_view(&code, FP8MOE_DTYPE_F8_E4M3, 0, NULL);
    fp8moe_tensor_read_f64(&one, 0, 1, &magnitude);
    return cli_text("%d E4M3 codes apart on one side of zero, or %.4g apart across it; where one "
                    "side is all zero, the other's largest magnitude is %.4g",
                    (int)code, across, magnitude);
}

/* gate: which path layer calls take, and which condition says no. */
#include "gate_job.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* ---- the report ---- */

void gate_report_note(gate_report *whole, const char *format, ...)
{
    buffer words = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_format_list(&words, format, arguments);
    va_end(arguments);
    whole->notes = cli_resize(whole->notes, (whole->note_count + 1) * sizeof *whole->notes);
    whole->notes[whole->note_count++] = words.data;
}

void gate_report_free(gate_report *whole)
{
    for (size_t i = 0; i < whole->note_count; i++)
        free(whole->notes[i]);
    free(whole->notes);
    free(whole->rows);
    free(whole->sweep);
    free(whole->model);
    free(whole->reason);
    *whole = (gate_report){0};
}

/* ---- versions ---- */

static const char *version_at(const void *context, size_t index)
{
    (void)context;
    const fp8moe_gate_version *version = fp8moe_gate_version_at(index);
    return version ? fp8moe_gate_version_name(version) : NULL;
}

static fp8moe_status find_version(const char *name, const fp8moe_gate_version **out,
                                  fp8moe_error *err)
{
    *out = fp8moe_gate_version_find(name);
    if (*out) return FP8MOE_OK;
    buffer known = {0};
    for (size_t i = 0; version_at(NULL, i); i++)
        buffer_format(&known, "%s%s", i ? ", " : "", version_at(NULL, i));
    cli_fail(err, FP8MOE_ERR_USAGE, "there is no version '%s'; known are %s", name, known.data);
    buffer_free(&known);
    return FP8MOE_ERR_USAGE;
}

static fp8moe_status find_versions(gate_job *job, fp8moe_error *err)
{
    const char *upstream = options_value(job->given, OPTION_UPSTREAM);
    const char *diff = options_value(job->given, OPTION_DIFF);
    gate_report *whole = &job->report;
    whole->version = fp8moe_gate_version_default();
    if (!diff && job->given->operand_count)
        return cli_fail(err, FP8MOE_ERR_USAGE, "'%s' is one argument too many for gate",
                        job->given->operands[0]);
    if (!diff) return upstream ? find_version(upstream, &whole->version, err) : FP8MOE_OK;
    if (upstream || !job->given->operand_count)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--diff takes two versions, and no --upstream");
    CLI_TRY(find_version(diff, &whole->version, err));
    return find_version(job->given->operands[0], &whole->other, err);
}

/* ---- rows ---- */

static void add_row(gate_report *whole, int64_t tokens, int64_t first_requests,
                    int64_t last_requests)
{
    whole->rows = cli_resize(whole->rows, (whole->row_count + 1) * sizeof *whole->rows);
    whole->rows[whole->row_count++] = (gate_row){
        .tokens = tokens, .first_requests = first_requests, .last_requests = last_requests};
}

#define MAX_ROWS 1000000

/* "4", "1..32" or several of them with commas. */
static fp8moe_status add_token_rows(gate_report *whole, const char *text, fp8moe_error *err)
{
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ",");
        char *part = cli_text("%.*s", (int)length, at);
        char *dots = strstr(part, "..");
        if (dots) *dots = '\0';
        int64_t first, last;
        const bool legal = cli_parse_integer(part, 0, INT32_MAX, &first) &&
                           cli_parse_integer(dots ? dots + 2 : part, 0, INT32_MAX, &last) &&
                           first <= last && last - first < MAX_ROWS;
        free(part);
        if (!legal)
            return cli_fail(err, FP8MOE_ERR_USAGE, "--tokens '%s': expected T or FIRST..LAST",
                            text);
        for (int64_t tokens = first; tokens <= last; tokens++)
            add_row(whole, tokens, 0, 0);
        at += length + (at[length] == ',');
    }
    return FP8MOE_OK;
}

/* T of a bucket. Sequence-parallel ranks each take an equal part, so the last one is padded. */
static fp8moe_status padded_tokens(const gate_report *whole, int64_t bucket, int64_t *out,
                                   fp8moe_error *err)
{
    const int64_t ranks = whole->sequence_parallel;
    CLI_TRY(fp8moe_decode_tokens(bucket, whole->speculative_tokens, 1, out, err));
    return fp8moe_decode_tokens((*out + ranks - 1) / ranks, 0, ranks * whole->factor, out, err);
}

static fp8moe_status add_bucket_rows(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    int64_t buckets[FP8MOE_MAX_BUCKETS];
    int64_t requests = 1;
    whole->by_requests = true;
    whole->max_num_seqs = job->serve.max_num_seqs;
    whole->seqs_assumed = !job->serve.seqs_given;
    whole->speculative_tokens = job->serve.speculative_tokens;
    whole->factor = job->serve.data_parallel;
    whole->sequence_parallel = serve_sequence_parallel(&job->serve);
    const size_t count = fp8moe_buckets_of(whole->max_num_seqs, buckets);
    for (size_t i = 0; i < count; requests = buckets[i++] + 1) {
        int64_t tokens;
        CLI_TRY(padded_tokens(whole, buckets[i], &tokens, err));
        add_row(whole, tokens, requests, buckets[i]);
    }
    return FP8MOE_OK;
}

static fp8moe_status add_rows(gate_job *job, fp8moe_error *err)
{
    const char *tokens = options_value(job->given, OPTION_TOKENS);
    if (tokens) return add_token_rows(&job->report, tokens, err);
    if (job->has_serve) return add_bucket_rows(job, err);
    return add_token_rows(&job->report, "1..32", err);
}

static fp8moe_status decide_rows(gate_report *whole, fp8moe_error *err)
{
    const fp8moe_cost_shape *shape = &whole->shape;
    for (size_t i = 0; i < whole->row_count; i++) {
        gate_row *row = &whole->rows[i];
        CLI_TRY(fp8moe_gate_decide(whole->version, &whole->facts, row->tokens, shape->top_k,
                                   shape->local_num_experts, &row->decision, err));
        if (whole->other)
            CLI_TRY(fp8moe_gate_decide(whole->other, &whole->other_facts, row->tokens, shape->top_k,
                                       shape->local_num_experts, &row->other, err));
    }
    for (int path = 0; path < FP8MOE_PATH_COUNT; path++)
        whole->largest_tokens[path] =
            fp8moe_gate_largest_tokens(whole->version, &whole->facts, (fp8moe_path)path,
                                       shape->top_k, shape->local_num_experts);
    return FP8MOE_OK;
}

/* ---- sweep ---- */

static void sweep(gate_report *whole)
{
    const int64_t experts = whole->shape.num_experts;
    for (int64_t ep_size = 1; ep_size <= experts; ep_size *= 2) {
        if (experts % ep_size) break;
        whole->sweep = cli_resize(whole->sweep, (whole->sweep_count + 1) * sizeof *whole->sweep);
        gate_sweep *entry = &whole->sweep[whole->sweep_count++];
        *entry = (gate_sweep){.ep_size = ep_size, .local_num_experts = experts / ep_size};
        for (int step = 0; step < GATE_SWEEP_RATIOS; step++) {
            fp8moe_gate_facts facts = whole->facts;
            facts.value[FP8MOE_FACT_RATIO].number = (step + 1) / 10.0; /* the double of "0.1" ... */
            entry->largest[step] =
                fp8moe_gate_largest_tokens(whole->version, &facts, FP8MOE_PATH_GATHER,
                                           whole->shape.top_k, entry->local_num_experts);
        }
    }
}

/* ---- verdict ---- */

static size_t count_path(const gate_report *whole, fp8moe_path path)
{
    size_t count = 0;
    for (size_t i = 0; i < whole->row_count; i++)
        count += whole->rows[i].decision.path == path;
    return count;
}

static void judge_diff(gate_report *whole)
{
    size_t count = 0;
    for (size_t i = 0; i < whole->row_count; i++)
        count += whole->rows[i].decision.path != whole->rows[i].other.path;
    whole->verdict = count ? CLI_DIFFERENT : CLI_SAME;
    whole->reason =
        count ? cli_text("%s and %s take different paths for %zu of %zu token counts",
                         fp8moe_gate_version_name(whole->version),
                         fp8moe_gate_version_name(whole->other), count, whole->row_count)
              : cli_text("%s and %s take the same paths", fp8moe_gate_version_name(whole->version),
                         fp8moe_gate_version_name(whole->other));
}

/* The paths of all rows in words, neighbours of one path together: "T 1 to 6 gather, 7 to 32
 * stock". */
static char *describe_paths(const gate_report *whole)
{
    buffer words = {0};
    for (size_t first = 0, end; first < whole->row_count; first = end) {
        const gate_row *rows = whole->rows;
        for (end = first + 1; end < whole->row_count; end++)
            if (rows[end].decision.path != rows[first].decision.path) break;
        buffer_format(&words, "%s%lld", first ? ", " : "T = ", (long long)rows[first].tokens);
        if (end > first + 1) buffer_format(&words, " to %lld", (long long)rows[end - 1].tokens);
        buffer_format(&words, " %s", fp8moe_path_name(rows[first].decision.path));
    }
    return words.data ? words.data : cli_copy("no token count");
}

/* The paths, and why none is gathered where none is. */
static char *describe(const gate_report *whole)
{
    char *paths = describe_paths(whole);
    if (!whole->row_count || count_path(whole, FP8MOE_PATH_GATHER)) return paths;
    const fp8moe_gate_decision *decision = &whole->rows[0].decision;
    const fp8moe_gate_condition *no = fp8moe_gate_first_no(decision, FP8MOE_PATH_GATHER);
    char *reason =
        cli_text("%s: %s", paths,
                 decision->count == 0 ? "this version has no gathered combine" : no->reason);
    free(paths);
    return reason;
}

static fp8moe_status judge(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    const char *expect = options_value(job->given, OPTION_EXPECT);
    whole->expected = expect ? fp8moe_path_find(expect) : FP8MOE_PATH_COUNT;
    if (expect && whole->expected == FP8MOE_PATH_COUNT)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--expect '%s': expected gather, stock or dense",
                        expect);
    if (whole->other && !expect) {
        judge_diff(whole);
        return FP8MOE_OK;
    }
    const bool single = whole->row_count == 1;
    whole->reason = describe(whole);
    if (expect)
        whole->verdict =
            count_path(whole, whole->expected) == whole->row_count ? CLI_SAME : CLI_DIFFERENT;
    else
        whole->verdict =
            single && !count_path(whole, FP8MOE_PATH_GATHER) ? CLI_DIFFERENT : CLI_SAME;
    return FP8MOE_OK;
}

/* ---- notes ---- */

/* The buckets shown are those of the default strategy, whatever else the line asks for. */
static void note_buckets(gate_job *job)
{
    static const char *const names[] = {"VLLM_DECODE_BS_BUCKET", "VLLM_EXPONENTIAL_BUCKETING",
                                        "VLLM_BUCKETING"};
    for (size_t v = 0; v < job->serve.variable_count; v++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (!strncmp(job->serve.variables[v], names[n], strlen(names[n])))
                gate_report_note(&job->report,
                                 "%s is not taken into account: the buckets are those of the "
                                 "default exponential strategy (--tokens gives others)",
                                 job->serve.variables[v]);
}

static void add_notes(gate_job *job)
{
    gate_report *whole = &job->report;
    const bool gathers = whole->largest_tokens[FP8MOE_PATH_GATHER] > 0;
    if (fp8moe_gate_version_assumed(whole->version))
        gate_report_note(
            whole,
            "the conditions of %s were not read in its source but taken to be those of "
            "v0.30",
            fp8moe_gate_version_name(whole->version));
    if (gathers && whole->facts.value[FP8MOE_FACT_VERIFY].on)
        gate_report_note(whole,
                         "verify mode is on: each gathered call computes the stock operation too, "
                         "compares, and returns the combine");
    if (job->has_serve && job->serve.eager)
        gate_report_note(whole, "--enforce-eager: the stock operation runs as the vendor's eager "
                                "decomposition (recipe stock-eager)");
    if (whole->by_requests) note_buckets(job);
    if (whole->by_requests)
        gate_report_note(whole,
                         "T counts decode steps; a prefill of more tokens goes by the same rule");
}

/* ---- the command ---- */

static fp8moe_status parse_serve(gate_job *job, fp8moe_error *err)
{
    const char *text = options_value(job->given, OPTION_SERVE);
    job->has_serve = text != NULL;
    return text ? serve_parse(text, &job->serve, err) : FP8MOE_OK;
}

/* --quantization of the line goes before the model's own word. */
static void set_method(gate_job *job)
{
    const fp8moe_gate_value method = {
        .source = FP8MOE_SOURCE_GIVEN, .origin = "--quantization", .text = job->serve.quantization};
    if (!method.text) return;
    job->report.facts.value[FP8MOE_FACT_METHOD] = method;
    job->report.other_facts.value[FP8MOE_FACT_METHOD] = method;
}

static fp8moe_status work(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    fp8moe_gate_facts_default(&whole->facts);
    fp8moe_gate_facts_default(&whole->other_facts);
    CLI_TRY(find_versions(job, err));
    CLI_TRY(parse_serve(job, err));
    CLI_TRY(gate_set_variables(job, err));
    CLI_TRY(gate_set_ratio(job, err));
    CLI_TRY(gate_find_sizes(job, err));
    set_method(job);
    CLI_TRY(add_rows(job, err));
    CLI_TRY(decide_rows(whole, err));
    CLI_TRY(gate_add_costs(job, err));
    if (options_value(job->given, OPTION_SWEEP)) sweep(whole);
    add_notes(job);
    return judge(job, err);
}

static cli_exit gate(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    gate_job job = {.given = given};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    cli_exit code;
    if (work(&job, &err) == FP8MOE_OK) {
        buffer out = {0};
        format->gate(&job.report, &out);
        code = cli_worse(report_send(given, &out), job.report.verdict);
    } else {
        code = cli_report_error(&err);
    }
    gate_report_free(&job.report);
    serve_free(&job.serve);
    buffer_free(&job.process);
    fp8moe_config_file_close(job.config);
    return code;
}

const cli_command command_gate = {
    .name = "gate",
    .operands = "",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "say which path layer calls take, and which condition says no",
    .description =
        "What is not given counts as favourable to the gathered combine and is shown as "
        "assumed: GATHER on, "
        "ratio 0.4, silu, dynamic activations, block-quantised weights, FORCE_CHANNEL "
        "on. With --env, "
        "--from-environment, --pid or --serve the variables have upstream's real values "
        "and defaults (GATHER "
        "off).\n"
        "--serve derives E_local, and T from the decode buckets, and shows the table by "
        "live requests; unless "
        "the line sets the variables, add them with --env.\n"
        "Where H and I are known (--model) a second table says what each path reads and "
        "multiplies: stock and dense read every local expert, gather the g it chose, and "
        "copies them. With --bandwidth, and --launch for the time before the first byte, "
        "it ends with the predicted speed-up of gather: from every copy going through "
        "memory to none.\n"
        "Exit code of one token count: 0 gathers, 1 does not; of several: 0; with "
        "--expect: 0 where all take "
        "that path, else 1; with --diff: 0 where both versions agree, else 1.",
    .example = "fp8moe gate --tokens 1..32 --top-k 8 --local-num-experts 128",
    .run = gate,
};

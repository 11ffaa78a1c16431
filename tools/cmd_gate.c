/* gate: which path layer calls take, and which condition says no. */
#include "gate_report.h"
#include "models.h"
#include "report.h"
#include "serve.h"

#include <errno.h>
#include <stdio.h>
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

/* Everything that is open while the report is made. */
typedef struct gate_job {
    const options *given;
    serve_line serve;
    bool has_serve;
    fp8moe_config_file *config;
    buffer process; /* the environment of --pid */
    gate_report report;
} gate_job;

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

/* ---- facts ---- */

/* Set a variable in every version that reads it; NOT_FOUND where none does. */
static fp8moe_status set_variable(gate_report *whole, const char *name, const char *value,
                                  fp8moe_error *err)
{
    fp8moe_status st = fp8moe_gate_set_variable(whole->version, &whole->facts, name, value, err);
    if (!whole->other || (st != FP8MOE_OK && st != FP8MOE_ERR_NOT_FOUND)) return st;
    const fp8moe_status other =
        fp8moe_gate_set_variable(whole->other, &whole->other_facts, name, value, err);
    return other == FP8MOE_ERR_NOT_FOUND ? st : other;
}

/* A variable's bad value is a bad setting, not a bad file. */
static fp8moe_status as_usage(fp8moe_error *err)
{
    err->status = FP8MOE_ERR_USAGE;
    return FP8MOE_ERR_USAGE;
}

/* The same for "NAME=VALUE"; a variable that nobody reads is passed over where that is `usual`. */
static fp8moe_status set_assignment(gate_report *whole, const char *text, bool usual,
                                    fp8moe_error *err)
{
    const size_t length = strcspn(text, "=");
    if (!text[length])
        return cli_fail(err, FP8MOE_ERR_USAGE, "--env '%s': expected VARIABLE=VALUE", text);
    char *name = cli_text("%.*s", (int)length, text);
    fp8moe_status st = set_variable(whole, name, text + length + 1, err);
    free(name);
    if (st == FP8MOE_ERR_NOT_FOUND && usual) return FP8MOE_OK;
    return st == FP8MOE_OK ? st : as_usage(err);
}

static fp8moe_status read_own_environment(const fp8moe_gate_version *version, gate_report *whole,
                                          fp8moe_error *err)
{
    const char *name;
    for (size_t i = 0; (name = fp8moe_gate_variable_at(version, i)); i++) {
        const char *value = getenv(name);
        if (!value) continue;
        if (set_variable(whole, name, value, err) != FP8MOE_OK) return as_usage(err);
    }
    return FP8MOE_OK;
}

static fp8moe_status read_process(const char *pid, buffer *out, fp8moe_error *err)
{
    int64_t number;
    if (!cli_parse_integer(pid, 1, INT32_MAX, &number))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--pid '%s': expected the number of a process", pid);
    char *path = cli_text("/proc/%lld/environ", (long long)number);
    FILE *file = fopen(path, "rb");
    char chunk[4096];
    size_t size;
    fp8moe_status st = FP8MOE_OK;
    while (file && (size = fread(chunk, 1, sizeof chunk, file)) > 0)
        buffer_add_bytes(out, chunk, size);
    if (!file || ferror(file))
        st = cli_in_file(err, cli_fail(err, FP8MOE_ERR_IO, "%s", strerror(errno)), path);
    if (file) fclose(file);
    free(path);
    return st;
}

static fp8moe_status set_process_variables(gate_job *job, const char *pid, fp8moe_error *err)
{
    CLI_TRY(read_process(pid, &job->process, err));
    for (size_t at = 0; at < job->process.size; at += strlen(job->process.data + at) + 1)
        if (strchr(job->process.data + at, '='))
            CLI_TRY(set_assignment(&job->report, job->process.data + at, true, err));
    gate_report_note(&job->report,
                     "the variables are those process %s started with; upstream reads "
                     "them once, at import",
                     pid);
    return FP8MOE_OK;
}

static fp8moe_status set_variables(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    const char *pid = options_value(job->given, OPTION_PID);
    const char *text = options_value(job->given, OPTION_ENV);
    const bool own = options_value(job->given, OPTION_FROM_ENVIRONMENT) != NULL;
    if (!text && !pid && !own && !job->has_serve) return FP8MOE_OK;
    fp8moe_gate_unset_variables(whole->version, &whole->facts);
    if (whole->other) fp8moe_gate_unset_variables(whole->other, &whole->other_facts);
    if (own) CLI_TRY(read_own_environment(whole->version, whole, err));
    if (own && whole->other) CLI_TRY(read_own_environment(whole->other, whole, err));
    if (pid) CLI_TRY(set_process_variables(job, pid, err));
    for (size_t i = 0; i < job->serve.variable_count; i++)
        CLI_TRY(set_assignment(whole, job->serve.variables[i], true, err));
    for (size_t at = 0; (text = options_next(job->given, OPTION_ENV, &at));)
        CLI_TRY(set_assignment(whole, text, false, err));
    return FP8MOE_OK;
}

static fp8moe_status set_ratio(gate_job *job, fp8moe_error *err)
{
    const char *text = options_value(job->given, OPTION_RATIO);
    fp8moe_gate_value value = {.source = FP8MOE_SOURCE_GIVEN, .origin = "--ratio"};
    if (!text) return FP8MOE_OK;
    if (!cli_parse_number(text, &value.number))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--ratio '%s': expected a number", text);
    job->report.facts.value[FP8MOE_FACT_RATIO] = value;
    job->report.other_facts.value[FP8MOE_FACT_RATIO] = value;
    return FP8MOE_OK;
}

/* ---- sizes ---- */

static fp8moe_status take_option(gate_job *job, option_id id, int64_t *out, fp8moe_error *err)
{
    const char *text = options_value(job->given, id);
    if (!text || cli_parse_integer(text, 1, INT32_MAX, out)) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE, "%s '%s': expected a whole number of at least 1",
                    options_spelling(id), text);
}

static void note_unconverted(gate_job *job, const fp8moe_model_config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->unconverted_count; i++)
        count += strstr(config->unconverted[i], "expert") != NULL;
    if (count)
        gate_report_note(
            &job->report,
            "config.json leaves %zu modules of experts unconverted: those layers never gather",
            count);
}

static void take_config(gate_job *job, const fp8moe_model_config *config)
{
    job->report.shape = (fp8moe_cost_shape){.hidden = config->hidden_size,
                                            .intermediate = config->intermediate_size,
                                            .top_k = config->top_k,
                                            .num_experts = config->num_experts};
    fp8moe_gate_set_model(&job->report.facts, config);
    fp8moe_gate_set_model(&job->report.other_facts, config);
    note_unconverted(job, config);
}

/* A folder with a config.json, or the name of a model whose shape is known. `guessed`: the name
 * comes from a command line, where it may well be a hub's name that is no folder here. */
static fp8moe_status take_model(gate_job *job, const char *name, bool guessed, fp8moe_error *err)
{
    const model *known = models_find(name);
    job->report.model = cli_copy(name);
    if (known) {
        job->report.shape = (fp8moe_cost_shape){.hidden = known->hidden,
                                                .intermediate = known->intermediate,
                                                .top_k = known->top_k,
                                                .num_experts = known->experts};
        return FP8MOE_OK;
    }
    const fp8moe_status st = fp8moe_config_file_open(name, &job->config, err);
    if (st == FP8MOE_OK) take_config(job, fp8moe_config_file_get(job->config));
    const bool absent = st == FP8MOE_ERR_IO || st == FP8MOE_ERR_NOT_FOUND;
    if (!absent || !guessed) return st;
    gate_report_note(&job->report,
                     "%s is no folder here and no model this command knows: its config.json "
                     "was not read",
                     name);
    return FP8MOE_OK;
}

/* Experts of a rank: given, or those of the model over the ranks of the expert-parallel group. */
static fp8moe_status find_local(gate_job *job, int64_t ep_size, fp8moe_error *err)
{
    fp8moe_cost_shape *shape = &job->report.shape;
    if (job->has_serve && job->serve.expert_parallel && !ep_size)
        ep_size = job->serve.tensor_parallel * job->serve.data_parallel;
    if (!shape->local_num_experts && shape->num_experts)
        shape->local_num_experts = shape->num_experts / (ep_size ? ep_size : 1);
    if (!shape->local_num_experts)
        return cli_fail(
            err, FP8MOE_ERR_USAGE,
            "gate needs --local-num-experts, or --num-experts and --ep-size, or --model");
    if (ep_size && shape->num_experts % ep_size)
        gate_report_note(
            &job->report,
            "%lld experts do not divide by %lld ranks: some ranks hold one more than the %lld "
            "taken here",
            (long long)shape->num_experts, (long long)ep_size, (long long)shape->local_num_experts);
    if (!shape->num_experts)
        shape->num_experts = shape->local_num_experts * (ep_size ? ep_size : 1);
    return FP8MOE_OK;
}

static fp8moe_status find_sizes(gate_job *job, fp8moe_error *err)
{
    fp8moe_cost_shape *shape = &job->report.shape;
    const char *model_name = options_value(job->given, OPTION_MODEL);
    int64_t ep_size = 0;
    if (model_name) CLI_TRY(take_model(job, model_name, false, err));
    if (!model_name && job->serve.model) CLI_TRY(take_model(job, job->serve.model, true, err));
    CLI_TRY(take_option(job, OPTION_TOP_K, &shape->top_k, err));
    CLI_TRY(take_option(job, OPTION_NUM_EXPERTS, &shape->num_experts, err));
    CLI_TRY(take_option(job, OPTION_LOCAL_NUM_EXPERTS, &shape->local_num_experts, err));
    CLI_TRY(take_option(job, OPTION_EP_SIZE, &ep_size, err));
    if (!shape->top_k) return cli_fail(err, FP8MOE_ERR_USAGE, "gate needs --top-k or --model");
    return find_local(job, ep_size, err);
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
    const size_t count = fp8moe_buckets_of(whole->max_num_seqs, buckets);
    for (size_t i = 0; i < count; requests = buckets[i++] + 1) {
        int64_t tokens;
        CLI_TRY(fp8moe_decode_tokens(buckets[i], whole->speculative_tokens, whole->factor, &tokens,
                                     err));
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

/* ---- cost ---- */

/* "stock=10,gather=50": microseconds. */
static fp8moe_status parse_launch(const char *text, fp8moe_cost_machine *machine, fp8moe_error *err)
{
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ",");
        char *part = cli_text("%.*s", (int)length, at);
        char *sign = strchr(part, '=');
        double microseconds = 0;
        if (sign) *sign = '\0';
        const fp8moe_path path = fp8moe_path_find(part);
        const bool legal = sign && path != FP8MOE_PATH_COUNT &&
                           cli_parse_number(sign + 1, &microseconds) && microseconds >= 0;
        free(part);
        if (!legal)
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "--launch '%s': expected stock=US,gather=US,dense=US", text);
        machine->launch[path] = microseconds / 1e6;
        at += length + (at[length] == ',');
    }
    return FP8MOE_OK;
}

static fp8moe_status find_machine(gate_job *job, fp8moe_error *err)
{
    const char *bandwidth = options_value(job->given, OPTION_BANDWIDTH);
    const char *launch = options_value(job->given, OPTION_LAUNCH);
    fp8moe_cost_machine *machine = &job->report.machine;
    double gigabytes;
    *machine = (fp8moe_cost_machine){.copied_share = 1};
    if (!bandwidth && !launch) return FP8MOE_OK;
    if (!bandwidth || !job->report.has_cost)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "a prediction needs --bandwidth, and --model for the sizes of an expert");
    if (!cli_parse_number(bandwidth, &gigabytes) || !(gigabytes > 0))
        return cli_fail(err, FP8MOE_ERR_USAGE, "--bandwidth '%s': expected gigabytes a second",
                        bandwidth);
    machine->bandwidth = gigabytes * 1e9;
    job->report.has_prediction = true;
    return launch ? parse_launch(launch, machine, err) : FP8MOE_OK;
}

static fp8moe_cost_machine without_copies(const fp8moe_cost_machine *machine)
{
    fp8moe_cost_machine fused = *machine;
    fused.copied_share = 0;
    return fused;
}

static void add_seconds(const gate_report *whole, gate_row *row, fp8moe_path path)
{
    const fp8moe_cost_machine fused = without_copies(&whole->machine);
    row->seconds[path] = fp8moe_cost_seconds(&whole->machine, path, &row->cost[path]);
    row->fused_seconds[path] = fp8moe_cost_seconds(&fused, path, &row->cost[path]);
}

static void predict(gate_report *whole)
{
    const fp8moe_cost_machine fused = without_copies(&whole->machine);
    whole->crossover_copied = fp8moe_cost_crossover(&whole->shape, &whole->machine);
    whole->crossover_fused = fp8moe_cost_crossover(&whole->shape, &fused);
}

static fp8moe_status add_costs(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    whole->has_cost = whole->shape.hidden > 0 && whole->shape.intermediate > 0;
    CLI_TRY(find_machine(job, err));
    if (!whole->has_cost) return FP8MOE_OK;
    CLI_TRY(fp8moe_cost_check(&whole->shape, err));
    for (size_t i = 0; i < whole->row_count; i++) {
        gate_row *row = &whole->rows[i];
        row->load = fp8moe_cost_expect(&whole->shape, row->tokens);
        for (int path = 0; path < FP8MOE_PATH_COUNT; path++) {
            row->cost[path] = fp8moe_cost_of(&whole->shape, (fp8moe_path)path, &row->load);
            if (whole->has_prediction) add_seconds(whole, row, (fp8moe_path)path);
        }
    }
    if (whole->has_prediction) predict(whole);
    return FP8MOE_OK;
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

/* Why a single call does not gather. */
static char *describe_single(const gate_report *whole)
{
    const fp8moe_gate_decision *decision = &whole->rows[0].decision;
    const fp8moe_gate_condition *no = fp8moe_gate_first_no(decision, FP8MOE_PATH_GATHER);
    char *paths = describe_paths(whole);
    char *reason = no ? cli_text("%s: %s", paths, no->reason)
                   : decision->count == 0
                       ? cli_text("%s: this version has no gathered combine", paths)
                       : cli_copy(paths);
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
    whole->reason = single ? describe_single(whole) : describe_paths(whole);
    if (expect)
        whole->verdict =
            count_path(whole, whole->expected) == whole->row_count ? CLI_SAME : CLI_DIFFERENT;
    else
        whole->verdict =
            single && !count_path(whole, FP8MOE_PATH_GATHER) ? CLI_DIFFERENT : CLI_SAME;
    return FP8MOE_OK;
}

/* ---- notes ---- */

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
    if (job->has_serve && !options_value(job->given, OPTION_TOKENS))
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

static fp8moe_status work(gate_job *job, fp8moe_error *err)
{
    gate_report *whole = &job->report;
    fp8moe_gate_facts_default(&whole->facts);
    fp8moe_gate_facts_default(&whole->other_facts);
    CLI_TRY(find_versions(job, err));
    CLI_TRY(parse_serve(job, err));
    CLI_TRY(set_variables(job, err));
    CLI_TRY(set_ratio(job, err));
    CLI_TRY(find_sizes(job, err));
    CLI_TRY(add_rows(job, err));
    CLI_TRY(decide_rows(whole, err));
    CLI_TRY(add_costs(job, err));
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
    .description = "What is not given counts as favourable to the gathered combine and is shown as "
                   "assumed: GATHER on, "
                   "ratio 0.4, silu, dynamic activations, block-quantised weights, FORCE_CHANNEL "
                   "on. With --env, "
                   "--from-environment, --pid or --serve the variables have upstream's real values "
                   "and defaults (GATHER "
                   "off).\n"
                   "--serve derives E_local, and T from the decode buckets, and shows the table by "
                   "live requests; unless "
                   "the line sets the variables, add them with --env.\n"
                   "Exit code of one token count: 0 gathers, 1 does not; of several: 0; with "
                   "--expect: 0 where all take "
                   "that path, else 1; with --diff: 0 where both versions agree, else 1.",
    .example = "fp8moe gate --tokens 1..32 --top-k 8 --local-num-experts 128",
    .run = gate,
};

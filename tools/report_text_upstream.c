/* What upstream decides and writes, as text for people: verdict first, within CLI_WIDTH columns. */
#include "report_upstream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_notes(buffer *out, char *const *notes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_line(out, 2, i ? "" : "note", "%s", notes[i]);
}

/* ---- gate ---- */

static void add_value(buffer *out, fp8moe_gate_fact fact, const fp8moe_gate_value *value)
{
    buffer_format(out, "%s ", fp8moe_gate_fact_name(fact));
    switch (fp8moe_gate_fact_kind(fact)) {
    case FP8MOE_FACT_IS_ON:
        buffer_add(out, value->on ? "on" : "off");
        break;
    case FP8MOE_FACT_IS_NUMBER:
        buffer_format(out, "%.10g", value->number);
        break;
    case FP8MOE_FACT_IS_COUNT:
        buffer_format(out, "%lld", (long long)value->count);
        break;
    case FP8MOE_FACT_IS_TEXT:
        buffer_add(out, value->text);
        break;
    }
}

static void add_source(buffer *out, const fp8moe_gate_value *value)
{
    if (value->source == FP8MOE_SOURCE_ASSUMED)
        buffer_add(out, ", assumed");
    else if (value->source == FP8MOE_SOURCE_DEFAULT)
        buffer_format(out, ", %s is not set", value->origin);
    else if (value->origin)
        buffer_format(out, ", from %s", value->origin);
}

static void add_condition(buffer *out, const fp8moe_gate_condition *c)
{
    buffer words = {0};
    add_value(&words, c->fact, &c->value);
    add_source(&words, &c->value);
    if (c->is_size) buffer_format(&words, ": at most %.10g", c->right);
    if (!c->is_size && !c->holds) buffer_format(&words, ": %s", c->reason);
    buffer_format(out, "    %-4s%-46s ", c->is_size ? "T" : c->holds ? "yes" : "NO", c->text);
    buffer_wrap(out, 55, 55, CLI_WIDTH, words.data);
    buffer_free(&words);
}

static void add_conditions(buffer *out, const fp8moe_gate_decision *decision)
{
    for (size_t i = 0; i < decision->count; i++) {
        const fp8moe_gate_condition *c = &decision->condition[i];
        if (i == 0 || c->path != decision->condition[i - 1].path)
            buffer_format(out, "\n  %s asks\n", fp8moe_path_name(c->path));
        add_condition(out, c);
    }
}

static const char *tokens_text(int64_t tokens, char text[32])
{
    if (tokens == FP8MOE_TOKENS_UNLIMITED) return "any";
    snprintf(text, 32, "%lld", (long long)tokens);
    return tokens ? text : "none";
}

static void add_largest(buffer *out, const gate_report *data)
{
    char gather[32], dense[32];
    const int64_t *largest = data->largest_tokens;
    if (!fp8moe_gate_first_no(&data->rows[0].decision, FP8MOE_PATH_DENSE) &&
        !largest[FP8MOE_PATH_DENSE])
        buffer_line(out, 2, "largest T", "gather %s",
                    tokens_text(largest[FP8MOE_PATH_GATHER], gather));
    else
        buffer_line(out, 2, "largest T", "gather %s, dense %s",
                    tokens_text(largest[FP8MOE_PATH_GATHER], gather),
                    tokens_text(largest[FP8MOE_PATH_DENSE], dense));
}

static void add_steps(buffer *out, const gate_report *data)
{
    buffer_line(
        out, 2, "T",
        "bucket%s%s; max_num_seqs %lld%s, %lld speculative tokens, %lld data-parallel ranks",
        data->speculative_tokens ? " * (1 + speculative tokens)" : "",
        data->factor > 1 ? " * data-parallel ranks" : "", (long long)data->max_num_seqs,
        data->seqs_assumed ? " (assumed)" : "", (long long)data->speculative_tokens,
        (long long)data->factor);
    if (data->sequence_parallel > 1)
        buffer_line(out, 2, "",
                    "the layer is taken to be sequence-parallel, as vLLM decides it: tokens are "
                    "padded to a multiple of %lld ranks",
                    (long long)data->sequence_parallel);
}

static void add_head(buffer *out, const gate_report *data)
{
    const fp8moe_cost_shape *s = &data->shape;
    if (data->expected != FP8MOE_PATH_COUNT)
        buffer_format(out, "%s: ", data->verdict == CLI_SAME ? "as expected" : "not as expected");
    buffer_wrap(out, 0, 2, CLI_WIDTH, data->reason);
    buffer_line(out, 2, "upstream", "%s: %s", fp8moe_gate_version_name(data->version),
                fp8moe_gate_version_summary(data->version));
    if (data->other)
        buffer_line(out, 2, "against", "%s: %s", fp8moe_gate_version_name(data->other),
                    fp8moe_gate_version_summary(data->other));
    if (data->model) buffer_line(out, 2, "model", "%s", data->model);
    buffer_line(out, 2, "sizes", "K %lld, E_local %lld of E %lld", (long long)s->top_k,
                (long long)s->local_num_experts, (long long)s->num_experts);
    if (data->has_cost)
        buffer_line(out, 2, "", "H %lld, I %lld", (long long)s->hidden, (long long)s->intermediate);
    if (data->by_requests) add_steps(out, data);
}

/* Nothing follows a last column. */
static int path_width(const gate_report *data)
{
    return data->other ? 6 : 0;
}

static void add_row_head(buffer *out, const gate_report *data)
{
    buffer_add(out, "\n");
    if (data->by_requests) buffer_format(out, "  %11s", "requests");
    buffer_format(out, "  %6s %7s %5s  %-*s", "T", "T * K", "g", path_width(data), "path");
    if (data->other) buffer_format(out, "  %s", fp8moe_gate_version_name(data->other));
    buffer_add(out, "\n");
}

static void add_requests(buffer *out, const gate_row *row)
{
    char text[48];
    if (row->first_requests == row->last_requests)
        snprintf(text, sizeof text, "%lld", (long long)row->first_requests);
    else
        snprintf(text, sizeof text, "%lld to %lld", (long long)row->first_requests,
                 (long long)row->last_requests);
    buffer_format(out, "  %11s", text);
}

static void add_rows(buffer *out, const gate_report *data)
{
    add_row_head(out, data);
    for (size_t i = 0; i < data->row_count; i++) {
        const gate_row *row = &data->rows[i];
        if (data->by_requests) add_requests(out, row);
        buffer_format(out, "  %6lld %7lld %5lld  %-*s", (long long)row->tokens,
                      (long long)(row->tokens * data->shape.top_k),
                      (long long)row->decision.gathered, path_width(data),
                      fp8moe_path_name(row->decision.path));
        if (data->other) buffer_format(out, "  %s", fp8moe_path_name(row->other.path));
        buffer_add(out, "\n");
    }
}

/* ---- cost ---- */

#define MIB 1048576.0

static double speed_up(const double seconds[FP8MOE_PATH_COUNT])
{
    return seconds[FP8MOE_PATH_STOCK] / seconds[FP8MOE_PATH_GATHER];
}

static void add_row_cost(buffer *out, const gate_report *data, const gate_row *row)
{
    const fp8moe_cost *stock = &row->cost[FP8MOE_PATH_STOCK];
    const fp8moe_cost *gather = &row->cost[FP8MOE_PATH_GATHER];
    const fp8moe_cost *dense = &row->cost[FP8MOE_PATH_DENSE];
    buffer_format(out, "  %6lld %8.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f", (long long)row->tokens,
                  row->load.experts, stock->weight_bytes / MIB, gather->weight_bytes / MIB,
                  gather->copied_bytes / MIB, stock->multiplies / 1e6, gather->multiplies / 1e6,
                  dense->multiplies / 1e6);
    if (data->has_prediction)
        buffer_format(out, " %5.2f to %.2f", speed_up(row->seconds), speed_up(row->fused_seconds));
    buffer_add(out, "\n");
}

static void add_costs(buffer *out, const gate_report *data)
{
    if (!data->has_cost) return;
    buffer_add(out,
               "\n  MiB of weights a call reads and copies, and million multiply-adds; experts "
               "that\n  uniform routing would reach here\n");
    buffer_format(out, "  %6s %8s %9s %9s %9s %9s %9s %9s", "T", "experts", "all MiB", "gather",
                  "+ copied", "stock M", "gather", "dense");
    if (data->has_prediction) buffer_add(out, "  speed-up");
    buffer_add(out, "\n");
    for (size_t i = 0; i < data->row_count; i++)
        add_row_cost(out, data, &data->rows[i]);
}

static void add_sweep(buffer *out, const gate_report *data)
{
    if (!data->sweep_count) return;
    buffer_add(out, "\n  largest T that gathers, by ranks of the group and ratio\n  ranks E_local");
    for (int step = 1; step <= GATE_SWEEP_RATIOS; step++)
        buffer_format(out, " %5.1f", step / 10.0);
    buffer_add(out, "\n");
    for (size_t i = 0; i < data->sweep_count; i++) {
        const gate_sweep *entry = &data->sweep[i];
        buffer_format(out, "  %5lld %7lld", (long long)entry->ep_size,
                      (long long)entry->local_num_experts);
        for (int step = 0; step < GATE_SWEEP_RATIOS; step++) {
            char text[32];
            buffer_format(out, " %5s", tokens_text(entry->largest[step], text));
        }
        buffer_add(out, "\n");
    }
}

static const char *range_text(int64_t tokens, char text[48])
{
    if (tokens == FP8MOE_TOKENS_UNLIMITED) return "at every T";
    snprintf(text, 48, "up to T %lld", (long long)tokens);
    return tokens ? text : "at no T";
}

static void add_prediction(buffer *out, const gate_report *data)
{
    char copied[48], fused[48];
    if (!data->has_prediction) return;
    buffer_line(
        out, 2, "crossover",
        "gather is predicted to be faster %s where every copy goes through memory, %s where "
        "the compiler fuses all of them",
        range_text(data->crossover_copied, copied), range_text(data->crossover_fused, fused));
}

/* Where the model itself, not a variable or a size, says no. */
static bool is_excluded(const gate_report *data)
{
    const fp8moe_gate_condition *no =
        fp8moe_gate_first_no(&data->rows[0].decision, FP8MOE_PATH_GATHER);
    return no && !no->is_size && no->fact != FP8MOE_FACT_GATHER;
}

static void add_exclusions(buffer *out)
{
    const fp8moe_gate_exclusion *row;
    buffer_add(out, "\n  what never gathers\n");
    for (size_t i = 0; (row = fp8moe_gate_exclusion_at(i)); i++) {
        buffer_format(out, "    ");
        char *text = cli_text("%s: %s", row->what, row->why);
        buffer_wrap(out, 4, 6, CLI_WIDTH, text);
        free(text);
    }
}

void text_gate(const gate_report *data, buffer *out)
{
    add_head(out, data);
    if (data->row_count) {
        add_largest(out, data);
        add_prediction(out, data);
        add_notes(out, data->notes, data->note_count);
        add_conditions(out, &data->rows[0].decision);
        add_rows(out, data);
        add_costs(out, data);
        if (is_excluded(data)) add_exclusions(out);
    }
    add_sweep(out, data);
}

/* ---- route ---- */

static void add_classes(buffer *out, const char *label, const int64_t *classes)
{
    buffer words = {0};
    for (int i = 0; i < FP8MOE_ROUTE_CLASS_COUNT; i++)
        if (classes[i])
            buffer_format(&words, "%s%s %lld", words.size ? ", " : "",
                          fp8moe_route_class_name((fp8moe_route_class)i), (long long)classes[i]);
    buffer_line(out, 2, label, "%s", words.size ? words.data : "no tokens");
    buffer_free(&words);
}

static void add_token(buffer *out, const route_dump *dump, const route_token *t)
{
    const fp8moe_route_finding *f = &t->finding;
    buffer words = {0};
    buffer_format(&words, "token %lld: ", (long long)t->token);
    if (f->repeated)
        buffer_add(&words, "an id stands twice");
    else if (f->too_many_groups)
        buffer_add(&words, "its experts lie in more groups than are kept");
    else if (f->choice > FP8MOE_ROUTE_IDENTICAL)
        buffer_format(&words, "%s, slot %lld, %.3g steps", fp8moe_route_class_name(f->choice),
                      (long long)f->slot, f->gap);
    if (f->weights > FP8MOE_ROUTE_IDENTICAL)
        buffer_format(&words, "%sweight of slot %lld is %.7g, expected %.7g (%.3g steps)",
                      f->choice > FP8MOE_ROUTE_IDENTICAL ? "; " : "", (long long)f->weight_slot,
                      f->weight_got, f->weight_expected, f->weight_gap);
    if (f->choice > FP8MOE_ROUTE_IDENTICAL) {
        buffer_add(&words, "; its logits choose");
        for (int64_t k = 0; k < dump->summary.top_k; k++)
            buffer_format(&words, " %lld", (long long)t->own_ids[k]);
    }
    buffer_line(out, 2, t == dump->worst ? "worst" : "", "%s", words.data);
    buffer_free(&words);
}

static void add_flip(buffer *out, const route_dump *dump, size_t index)
{
    const route_flip *f = &dump->flips[index];
    buffer words = {0};
    buffer_format(&words, "token %lld: expert %lld for %lld", (long long)f->token, (long long)f->in,
                  (long long)f->out);
    if (f->exchanged > 1) buffer_format(&words, " and %lld more", (long long)(f->exchanged - 1));
    buffer_format(&words, " at %.3g steps", f->margin);
    if (!isnan(f->weight_moved))
        buffer_format(&words, " would move %.3g %% of the weight", 100 * f->weight_moved);
    else
        buffer_add(&words, "; its weights are not finite");
    if (dump->flip_recipe && !isnan(f->change))
        buffer_format(&words, ", the output by %.3g %% (rel-L2)", 100 * f->change);
    buffer_line(out, 2, index ? "" : "flips", "%s", words.data);
    buffer_free(&words);
}

static void add_flips(buffer *out, const route_dump *dump)
{
    for (size_t i = 0; i < dump->flip_count && i < ROUTE_FLIPS_SHOWN; i++)
        add_flip(out, dump, i);
}

static void add_margins(buffer *out, const fp8moe_route_summary *s)
{
    buffer words = {0};
    buffer_format(&words, "%lld tokens could flip under one bf16 step, %lld of them ties",
                  (long long)s->could_flip, (long long)s->tied);
    if (isfinite(s->smallest_margin))
        buffer_format(&words, "; the smallest other margin is %.3g steps", s->smallest_margin);
    buffer_line(out, 2, "margins", "%s", words.data);
    buffer_free(&words);
}

static void add_route_dump(buffer *out, const route_dump *dump)
{
    const fp8moe_route_summary *s = &dump->summary;
    static const char *const words[] = {
        [CLI_SAME] = "same", [CLI_DIFFERENT] = "different", [CLI_INCONCLUSIVE] = "inconclusive"};
    buffer_format(out, "%s: %s\n", words[dump->verdict], dump->file);
    buffer_line(out, 2, "", "%s", dump->reason);
    buffer_line(out, 2, "tokens", "%lld of %lld experts each, %lld experts", (long long)s->tokens,
                (long long)s->top_k, (long long)s->num_experts);
    if (dump->has_ids) add_classes(out, "ids", s->choice);
    if (dump->has_weights) add_classes(out, "weights", s->weights);
    add_margins(out, s);
    add_flips(out, dump);
    if (dump->has_ids)
        buffer_line(
            out, 2, "experts", "%.0f of %lld here get tokens; uniform routing would reach %.1f",
            dump->counted.experts, (long long)dump->local_num_experts, dump->uniform.experts);
    if (dump->fits) buffer_line(out, 2, "fits", "no token is wrong with %s", dump->fits);
    for (size_t i = 0; i < dump->worst_count; i++)
        add_token(out, dump, &dump->worst[i]);
    add_notes(out, dump->notes, dump->note_count);
}

void text_route(const route_report *data, buffer *out)
{
    for (size_t i = 0; i < data->count; i++) {
        if (i) buffer_add(out, "\n");
        add_route_dump(out, &data->dumps[i]);
    }
}

/* ---- status ---- */

static void add_marks(buffer *out, const upstream_tree *data)
{
    buffer_add(out, "\n  definitions\n");
    for (size_t i = 0; i < UPSTREAM_MARKS; i++) {
        const upstream_mark *m = &data->marks[i];
        if (m->found)
            buffer_format(out, "    yes %-22s %-11s %s:%lld\n", m->name, m->what, m->file,
                          (long long)m->line);
        else
            buffer_format(out, "    no  %-22s %s\n", m->name, m->what);
    }
}

static void add_gate_conditions(buffer *out, const upstream_tree *data)
{
    buffer_add(out, "\n  conditions of the gate\n");
    for (size_t i = 0; i < data->condition_count; i++) {
        const upstream_condition *c = &data->conditions[i];
        buffer_format(out, "    %s %-18s ",
                      !c->name   ? "new"
                      : c->found ? "yes"
                                 : "no ",
                      c->name ? c->name : "");
        buffer_wrap(out, 27, 27, CLI_WIDTH, c->text);
    }
}

static size_t count_marks(const upstream_tree *data)
{
    size_t count = 0;
    for (size_t i = 0; i < UPSTREAM_MARKS; i++)
        count += data->marks[i].found;
    return count;
}

void text_status(const upstream_tree *data, buffer *out)
{
    static const char *const words[] = {[UPSTREAM_NOT_NEEDED] = "not needed",
                                        [UPSTREAM_APPLIED] = "applied",
                                        [UPSTREAM_NOT_APPLIED] = "not applied",
                                        [UPSTREAM_DRIFTED] = "source drifted"};
    buffer_format(out, "%s: %s\n", words[data->state], data->package);
    buffer_line(out, 2, "", "%s", data->reason);
    if (data->has_dense)
        buffer_line(out, 2, "note", "a fork's dense combine (dense_silu_fp8_moe) stands beside it");
    if (!count_marks(data)) return;
    add_marks(out, data);
    add_gate_conditions(out, data);
}

/* ---- log ---- */

static void add_warnings(buffer *out, const server_log *log, log_kind kind, const char *label)
{
    const log_warnings *w = &log->warnings[kind];
    if (!w->lines) {
        buffer_line(out, 2, label, "no warning");
        return;
    }
    buffer_line(out, 2, label, "layer calls %lld (lines %lld, the first is %lld)",
                (long long)w->calls, (long long)w->lines, (long long)w->first_line);
    if (w->largest_line)
        buffer_line(out, 2, "", "the largest is %.7g, on line %lld", w->largest,
                    (long long)w->largest_line);
    if (w->not_finite)
        buffer_line(out, 2, "", "lines without a finite number: %lld", (long long)w->not_finite);
    if (w->ranks_differ)
        buffer_line(out, 2, "",
                    "ranks differ in what they wrote: the log is cut, or they are not one group");
    if (kind == LOG_IN_RANGE && w->largest_line) {
        char *meaning = server_log_explain_ulp(w->largest);
        buffer_line(out, 2, "that means", "%s", meaning);
        free(meaning);
    }
}

static void add_log(buffer *out, const server_log *log)
{
    static const char *const words[] = {
        [CLI_SAME] = "clean", [CLI_DIFFERENT] = "different", [CLI_INCONCLUSIVE] = "inconclusive"};
    buffer_format(out, "%s: %s\n", words[log->verdict], log->file);
    buffer_line(out, 2, "", "%s", log->reason);
    buffer_line(out, 2, "verify mode",
                log->enabled ? "says that it is on" : "never said that it is on");
    add_warnings(out, log, LOG_IN_RANGE, "FP8-ULP");
    add_warnings(out, log, LOG_OUT_OF_RANGE, "out of range");
    for (size_t i = 0; i < log->worker_count; i++)
        buffer_line(out, 2, i ? "" : "workers", "%s", log->workers[i].prefix);
}

void text_logs(const server_logs *data, buffer *out)
{
    for (size_t i = 0; i < data->count; i++) {
        if (i) buffer_add(out, "\n");
        add_log(out, &data->logs[i]);
    }
}

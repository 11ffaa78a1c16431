/* What upstream decides and writes, as JSON: data/gate.schema.json, route, status, log. */
#include "report_json.h"
#include "report_upstream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *verdict_word(cli_exit code)
{
    return code == CLI_SAME ? "same" : code == CLI_DIFFERENT ? "different" : "inconclusive";
}

static void emit_notes(emitter *json, char *const *notes, size_t count)
{
    emit_array(json, "notes");
    for (size_t i = 0; i < count; i++)
        emit_text(json, NULL, notes[i]);
    emit_end(json);
}

/* A size that is 0 where it is not known. */
static void emit_size(emitter *json, const char *key, int64_t size)
{
    if (size)
        emit_integer(json, key, size);
    else
        emit_text(json, key, NULL);
}

/* A largest T: null where there is none too large. */
static void emit_tokens(emitter *json, const char *key, int64_t tokens)
{
    if (tokens == FP8MOE_TOKENS_UNLIMITED)
        emit_text(json, key, NULL);
    else
        emit_integer(json, key, tokens);
}

/* ---- gate ---- */

static void emit_value(emitter *json, fp8moe_gate_fact fact, const fp8moe_gate_value *value)
{
    switch (fp8moe_gate_fact_kind(fact)) {
    case FP8MOE_FACT_IS_ON:
        emit_boolean(json, "value", value->on);
        break;
    case FP8MOE_FACT_IS_NUMBER:
        if (isfinite(value->number))
            emit_number(json, "value", value->number);
        else
            emit_text(json, "value",
                      isnan(value->number) ? "nan"
                      : value->number > 0  ? "inf"
                                           : "-inf");
        break;
    case FP8MOE_FACT_IS_COUNT:
        emit_integer(json, "value", value->count);
        break;
    case FP8MOE_FACT_IS_TEXT:
        emit_text(json, "value", value->text);
        break;
    }
    emit_text(json, "source", fp8moe_gate_source_name(value->source));
    emit_text(json, "origin", value->origin);
}

static void emit_version(emitter *json, const char *key, const fp8moe_gate_version *version)
{
    if (!version) {
        emit_text(json, key, NULL);
        return;
    }
    emit_object(json, key);
    emit_text(json, "name", fp8moe_gate_version_name(version));
    emit_text(json, "summary", fp8moe_gate_version_summary(version));
    emit_boolean(json, "assumed", fp8moe_gate_version_assumed(version));
    emit_end(json);
}

static void emit_conditions(emitter *json, const fp8moe_gate_decision *decision)
{
    emit_array(json, "conditions");
    for (size_t i = 0; i < decision->count; i++) {
        const fp8moe_gate_condition *c = &decision->condition[i];
        emit_object(json, NULL);
        emit_text(json, "path", fp8moe_path_name(c->path));
        emit_text(json, "name", c->name);
        emit_text(json, "asks", c->text);
        emit_boolean(json, "holds", c->holds);
        emit_text(json, "reason", c->reason);
        emit_text(json, "fact", fp8moe_gate_fact_name(c->fact));
        emit_value(json, c->fact, &c->value);
        if (c->is_size) {
            emit_integer(json, "left", c->left);
            emit_number(json, "right", c->right);
        }
        emit_end(json);
    }
    emit_end(json);
}

static void emit_cost(emitter *json, const gate_report *data, const gate_row *row)
{
    emit_object(json, "load");
    emit_number(json, "pairs", row->load.pairs);
    emit_number(json, "experts", row->load.experts);
    emit_end(json);
    emit_object(json, "cost");
    for (int path = 0; path < FP8MOE_PATH_COUNT; path++) {
        const fp8moe_cost *cost = &row->cost[path];
        emit_object(json, fp8moe_path_name((fp8moe_path)path));
        emit_number(json, "experts_read", cost->experts_read);
        emit_number(json, "weight_bytes", cost->weight_bytes);
        emit_number(json, "copied_bytes", cost->copied_bytes);
        emit_number(json, "multiplies", cost->multiplies);
        emit_number(json, "useful", cost->useful);
        if (data->has_prediction) {
            emit_number(json, "seconds_every_copy", row->seconds[path]);
            emit_number(json, "seconds_no_copy", row->fused_seconds[path]);
        }
        emit_end(json);
    }
    emit_end(json);
}

static void emit_first_no(emitter *json, const fp8moe_gate_decision *decision)
{
    const fp8moe_gate_condition *no = fp8moe_gate_first_no(decision, FP8MOE_PATH_GATHER);
    emit_text(json, "first_no", no ? no->name : NULL);
}

static void emit_row(emitter *json, const gate_report *data, const gate_row *row)
{
    emit_object(json, NULL);
    emit_integer(json, "tokens", row->tokens);
    if (data->by_requests) {
        emit_array(json, "requests");
        emit_integer(json, NULL, row->first_requests);
        emit_integer(json, NULL, row->last_requests);
        emit_end(json);
    }
    emit_text(json, "path", fp8moe_path_name(row->decision.path));
    if (data->other) emit_text(json, "other_path", fp8moe_path_name(row->other.path));
    emit_integer(json, "gathered", row->decision.gathered);
    emit_first_no(json, &row->decision);
    emit_conditions(json, &row->decision);
    if (data->has_cost) emit_cost(json, data, row);
    emit_end(json);
}

static void emit_sizes(emitter *json, const gate_report *data)
{
    emit_object(json, "sizes");
    emit_integer(json, "top_k", data->shape.top_k);
    emit_integer(json, "local_num_experts", data->shape.local_num_experts);
    emit_integer(json, "num_experts", data->shape.num_experts);
    emit_size(json, "hidden_size", data->shape.hidden);
    emit_size(json, "intermediate_size", data->shape.intermediate);
    emit_end(json);
}

static void emit_steps(emitter *json, const gate_report *data)
{
    if (!data->by_requests) {
        emit_text(json, "decode_steps", NULL);
        return;
    }
    emit_object(json, "decode_steps");
    emit_integer(json, "max_num_seqs", data->max_num_seqs);
    emit_boolean(json, "max_num_seqs_assumed", data->seqs_assumed);
    emit_integer(json, "speculative_tokens", data->speculative_tokens);
    emit_integer(json, "parallel_factor", data->factor);
    emit_integer(json, "sequence_parallel", data->sequence_parallel);
    emit_end(json);
}

static void emit_sweep(emitter *json, const gate_report *data)
{
    emit_array(json, "sweep");
    for (size_t i = 0; i < data->sweep_count; i++) {
        emit_object(json, NULL);
        emit_integer(json, "ep_size", data->sweep[i].ep_size);
        emit_integer(json, "local_num_experts", data->sweep[i].local_num_experts);
        emit_array(json, "largest_tokens");
        for (int step = 0; step < GATE_SWEEP_RATIOS; step++) {
            emit_object(json, NULL);
            emit_number(json, "ratio", (step + 1) / 10.0);
            emit_tokens(json, "gather", data->sweep[i].largest[step]);
            emit_end(json);
        }
        emit_end(json);
        emit_end(json);
    }
    emit_end(json);
}

static void emit_prediction(emitter *json, const gate_report *data)
{
    if (!data->has_prediction) {
        emit_text(json, "prediction", NULL);
        return;
    }
    emit_object(json, "prediction");
    emit_number(json, "bandwidth", data->machine.bandwidth);
    emit_object(json, "launch_seconds");
    for (int path = 0; path < FP8MOE_PATH_COUNT; path++)
        emit_number(json, fp8moe_path_name((fp8moe_path)path), data->machine.launch[path]);
    emit_end(json);
    emit_tokens(json, "crossover_every_copy", data->crossover_copied);
    emit_tokens(json, "crossover_no_copy", data->crossover_fused);
    emit_end(json);
}

static void emit_never(emitter *json)
{
    const fp8moe_gate_exclusion *row;
    emit_array(json, "never_gathers");
    for (size_t i = 0; (row = fp8moe_gate_exclusion_at(i)); i++) {
        emit_object(json, NULL);
        emit_text(json, "what", row->what);
        emit_text(json, "why", row->why);
        emit_end(json);
    }
    emit_end(json);
}

void json_gate(const gate_report *data, buffer *out)
{
    const bool expects = data->expected != FP8MOE_PATH_COUNT;
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.gate/1");
    emit_text(&json, "reason", data->reason);
    emit_text(&json, "expected", expects ? fp8moe_path_name(data->expected) : NULL);
    emit_integer(&json, "exit", data->verdict);
    emit_version(&json, "upstream", data->version);
    emit_version(&json, "against", data->other);
    emit_text(&json, "model", data->model);
    emit_sizes(&json, data);
    emit_steps(&json, data);
    emit_object(&json, "largest_tokens");
    emit_tokens(&json, "gather", data->largest_tokens[FP8MOE_PATH_GATHER]);
    emit_tokens(&json, "dense", data->largest_tokens[FP8MOE_PATH_DENSE]);
    emit_end(&json);
    emit_array(&json, "rows");
    for (size_t i = 0; i < data->row_count; i++)
        emit_row(&json, data, &data->rows[i]);
    emit_end(&json);
    emit_sweep(&json, data);
    emit_prediction(&json, data);
    emit_never(&json);
    emit_notes(&json, data->notes, data->note_count);
    emit_end(&json);
}

/* ---- route ---- */

static void emit_classes(emitter *json, const char *key, const int64_t *classes)
{
    emit_object(json, key);
    for (int i = 0; i < FP8MOE_ROUTE_CLASS_COUNT; i++)
        emit_integer(json, fp8moe_route_class_name((fp8moe_route_class)i), classes[i]);
    emit_end(json);
}

static void emit_ids(emitter *json, const char *key, const int64_t *ids, int64_t top_k)
{
    emit_array(json, key);
    for (int64_t k = 0; k < top_k; k++)
        emit_integer(json, NULL, ids[k]);
    emit_end(json);
}

static void emit_token(emitter *json, const route_dump *dump, const route_token *t)
{
    const fp8moe_route_finding *f = &t->finding;
    emit_object(json, NULL);
    emit_integer(json, "token", t->token);
    emit_text(json, "choice", fp8moe_route_class_name(f->choice));
    emit_integer(json, "slot", f->slot);
    emit_number(json, "gap", f->gap);
    emit_number(json, "margin", f->margin);
    emit_boolean(json, "repeated", f->repeated);
    emit_boolean(json, "too_many_groups", f->too_many_groups);
    emit_text(json, "weights", fp8moe_route_class_name(f->weights));
    emit_integer(json, "weight_slot", f->weight_slot);
    emit_number(json, "weight_gap", f->weight_gap);
    emit_number(json, "weight_expected", f->weight_expected);
    emit_number(json, "weight_got", f->weight_got);
    emit_ids(json, "own_ids", t->own_ids, dump->summary.top_k);
    emit_end_counted(json);
}

static void emit_margins(emitter *json, const fp8moe_route_summary *s)
{
    emit_object(json, "margins");
    emit_integer(json, "could_flip", s->could_flip);
    emit_integer(json, "tied", s->tied);
    emit_number(json, "smallest", s->smallest_margin);
    emit_end_counted(json);
}

static void emit_flips(emitter *json, const route_dump *dump)
{
    emit_text(json, "flips_recipe", dump->flip_recipe);
    emit_array(json, "flips");
    for (size_t i = 0; i < dump->flip_count; i++) {
        const route_flip *f = &dump->flips[i];
        emit_object(json, NULL);
        emit_integer(json, "token", f->token);
        emit_number(json, "margin", f->margin);
        emit_ids(json, "own_ids", f->own.ids, dump->summary.top_k);
        emit_ids(json, "flip_ids", f->other.ids, dump->summary.top_k);
        emit_number(json, "weight_moved", f->weight_moved);
        emit_number(json, "output_change", f->change);
        emit_end_counted(json);
    }
    emit_end(json);
}

static void emit_experts(emitter *json, const route_dump *dump)
{
    emit_object(json, "experts");
    emit_integer(json, "local_num_experts", dump->local_num_experts);
    if (dump->has_ids) emit_number(json, "counted", dump->counted.experts);
    emit_number(json, "uniform", dump->uniform.experts);
    emit_end(json);
}

static void emit_route_dump(emitter *json, const route_dump *dump)
{
    const fp8moe_route_summary *s = &dump->summary;
    emit_object(json, NULL);
    emit_text(json, "file", dump->file);
    emit_text(json, "layer", dump->layer);
    emit_text(json, "verdict", verdict_word(dump->verdict));
    emit_text(json, "reason", dump->reason);
    json_settings(json, &dump->settings);
    emit_text(json, "weights_dtype", dump->weight_round == FP8MOE_ROUND_BF16 ? "BF16" : "F32");
    emit_integer(json, "tokens", s->tokens);
    emit_integer(json, "top_k", s->top_k);
    emit_integer(json, "num_experts", s->num_experts);
    emit_integer(json, "tokens_not_finite", s->nonfinite);
    emit_classes(json, "ids", s->choice);
    emit_classes(json, "weights", s->weights);
    emit_margins(json, s);
    emit_flips(json, dump);
    emit_experts(json, dump);
    emit_text(json, "fits", dump->fits);
    emit_array(json, "worst");
    for (size_t i = 0; i < dump->worst_count; i++)
        emit_token(json, dump, &dump->worst[i]);
    emit_end(json);
    emit_notes(json, dump->notes, dump->note_count);
    emit_end(json);
}

void json_route(const route_report *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.route/1");
    emit_text(&json, "verdict", verdict_word(data->verdict));
    emit_array(&json, "dumps");
    for (size_t i = 0; i < data->count; i++)
        emit_route_dump(&json, &data->dumps[i]);
    emit_end(&json);
    emit_end(&json);
}

/* ---- status ---- */

static void emit_mark(emitter *json, const upstream_mark *mark)
{
    emit_object(json, NULL);
    emit_text(json, "name", mark->name);
    emit_text(json, "kind", mark->what);
    emit_boolean(json, "found", mark->found);
    emit_text(json, "file", mark->found ? mark->file : NULL);
    emit_size(json, "line", mark->line);
    emit_end(json);
}

void json_status(const upstream_tree *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.status/1");
    emit_text(&json, "state", upstream_state_name(data->state));
    emit_text(&json, "reason", data->reason);
    emit_text(&json, "package", data->package);
    emit_array(&json, "definitions");
    for (size_t i = 0; i < UPSTREAM_MARKS; i++)
        emit_mark(&json, &data->marks[i]);
    emit_end(&json);
    emit_array(&json, "conditions");
    for (size_t i = 0; i < data->condition_count; i++) {
        emit_object(&json, NULL);
        emit_text(&json, "name", data->conditions[i].name);
        emit_text(&json, "text", data->conditions[i].text);
        emit_boolean(&json, "found", data->conditions[i].found);
        emit_end(&json);
    }
    emit_end(&json);
    emit_boolean(&json, "dense_combine", data->has_dense);
    emit_end(&json);
}

/* ---- log ---- */

static void emit_warnings(emitter *json, log_kind kind, const log_warnings *w)
{
    emit_object(json, log_kind_name(kind));
    emit_integer(json, "calls", w->calls);
    emit_integer(json, "lines", w->lines);
    emit_size(json, "first_line", w->first_line);
    if (w->largest_line)
        emit_number(json, "largest", w->largest);
    else
        emit_text(json, "largest", NULL);
    emit_size(json, "largest_line", w->largest_line);
    emit_integer(json, "not_finite", w->not_finite);
    emit_boolean(json, "ranks_differ", w->ranks_differ);
    emit_end(json);
}

static void emit_log(emitter *json, const server_log *log)
{
    emit_object(json, NULL);
    emit_text(json, "file", log->file);
    emit_text(json, "verdict", log->verdict == CLI_SAME ? "clean" : verdict_word(log->verdict));
    emit_text(json, "reason", log->reason);
    emit_integer(json, "lines", log->lines);
    emit_boolean(json, "verify_enabled", log->enabled);
    for (log_kind kind = 0; kind < LOG_KIND_COUNT; kind++)
        emit_warnings(json, kind, &log->warnings[kind]);
    emit_array(json, "workers");
    for (size_t i = 0; i < log->worker_count; i++)
        emit_text(json, NULL, log->workers[i].prefix);
    emit_end(json);
    emit_end(json);
}

void json_logs(const server_logs *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.log/1");
    emit_text(&json, "verdict", data->verdict == CLI_SAME ? "clean" : verdict_word(data->verdict));
    emit_array(&json, "logs");
    for (size_t i = 0; i < data->count; i++)
        emit_log(&json, &data->logs[i]);
    emit_end(&json);
    emit_end(&json);
}

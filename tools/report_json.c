/* The report as JSON. Schemas: data/fp8moe.*.schema.json. Everything but `timing` is the same byte
 * for byte when the same inputs are judged again. */
#include "json_out.h"
#include "report_json.h"
#include "model_report.h"
#include "report_upstream.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- settings ---- */

static void emit_setting(emitter *json, setting_id id, const setting *value)
{
    emit_object(json, setting_name(id));
    switch (value->source == SOURCE_UNKNOWN ? SETTING_WORD : setting_kind_of(id)) {
    case SETTING_WORD:
        emit_text(json, "value", value->source == SOURCE_UNKNOWN ? NULL : value->text);
        break;
    case SETTING_INTEGER:
        emit_integer(json, "value", value->integer);
        break;
    case SETTING_NUMBER:
        emit_number(json, "value", value->number);
        break;
    case SETTING_SWITCH:
        emit_boolean(json, "value", value->integer != 0);
        break;
    }
    emit_text(json, "source", setting_source_name(value->source));
    emit_end(json);
}

void json_settings(emitter *json, const settings *all)
{
    emit_object(json, "settings");
    for (setting_id id = 0; id < SETTING_COUNT; id++)
        if (settings_has(all, id)) emit_setting(json, id, &all->value[id]);
    emit_end(json);
}

static void emit_form(emitter *json, const fp8moe_tensor *form)
{
    emit_text(json, "dtype", fp8moe_dtype_name(form->dtype));
    emit_array(json, "shape");
    for (int d = 0; d < form->rank; d++)
        emit_integer(json, NULL, form->shape[d]);
    emit_end(json);
}

static void emit_timing(emitter *json, double seconds, int threads)
{
    emit_object(json, "timing");
    emit_number(json, "seconds", seconds);
    if (threads) emit_integer(json, "threads", threads);
    emit_end(json);
}

/* ---- verify and compare ---- */

static void emit_distribution(emitter *json, const char *key, const fp8moe_distribution *d)
{
    emit_object(json, key);
    emit_number(json, "mean", d->mean);
    emit_number(json, "p50", d->p50);
    emit_number(json, "p99", d->p99);
    emit_number(json, "p999", d->p999);
    emit_number(json, "max", d->max);
    emit_end(json);
}

static void emit_classes(emitter *json, const fp8moe_comparison *c)
{
    emit_object(json, "classes");
    emit_integer(json, "identical", c->identical);
    emit_integer(json, "different", c->different);
    emit_integer(json, "nonfinite_differs", c->nonfinite_differs);
    emit_end(json);
}

/* A place, or null where there is none. */
static void emit_place(emitter *json, const char *key, int64_t row, int64_t column)
{
    if (row < 0) {
        emit_text(json, key, NULL);
        return;
    }
    emit_object(json, key);
    emit_integer(json, "row", row);
    emit_integer(json, "column", column);
    emit_end(json);
}

static void emit_nonfinite(emitter *json, const fp8moe_comparison *c)
{
    emit_object(json, "nonfinite");
    emit_integer(json, "same", c->nonfinite_same);
    emit_integer(json, "differs", c->nonfinite_differs);
    emit_integer(json, "expected_nan", c->expected_nan);
    emit_integer(json, "expected_inf", c->expected_inf);
    emit_integer(json, "got_nan", c->got_nan);
    emit_integer(json, "got_inf", c->got_inf);
    emit_place(json, "first", c->first_nonfinite_row, c->first_nonfinite_column);
    emit_place(json, "first_differs", c->first_nonfinite_differs_row,
               c->first_nonfinite_differs_column);
    emit_end(json);
}

static void emit_metrics(emitter *json, const fp8moe_comparison *c)
{
    emit_object(json, "metrics");
    emit_integer(json, "beyond", c->beyond);
    emit_number(json, "rel_l2", c->rel_l2);
    emit_number(json, "cosine", c->cosine);
    emit_number(json, "gain", c->gain);
    emit_number(json, "calc_diff", c->calc_diff);
    emit_number(json, "max_abs", c->max_abs);
    emit_number(json, "max_rel", c->max_rel);
    emit_number(json, "expected_rms", c->expected_rms);
    emit_number(json, "expected_max", c->expected_max);
    emit_number(json, "got_rms", c->got_rms);
    emit_number(json, "got_max", c->got_max);
    emit_number(json, "within_tolerance", c->within_tolerance);
    emit_number(json, "below_resolution", c->below_resolution);
    emit_text(json, "grid", fp8moe_grid_name(c->grid));
    emit_distribution(json, "fp8_steps", &c->fp8);
    emit_distribution(json, "bf16_steps", &c->bf16);
    emit_number(json, "upstream_ulp", c->upstream_ulp);
    emit_boolean(json, "upstream_ulp_exceeds", c->upstream_ulp_exceeds);
    emit_number(json, "upstream_relative", c->upstream_relative);
    emit_boolean(json, "upstream_relative_exceeds", c->upstream_relative_exceeds);
    emit_end_counted(json);
}

static void emit_bars(emitter *json, const fp8moe_comparison *c)
{
    emit_array(json, "bars");
    for (int i = 0; i < FP8MOE_BARS; i++) {
        emit_object(json, NULL);
        emit_text(json, "name", c->bars[i].name);
        emit_boolean(json, "passes", c->bars[i].passes);
        if (c->bars[i].outside < 0)
            emit_text(json, "outside", NULL);
        else
            emit_integer(json, "outside", c->bars[i].outside);
        emit_end(json);
    }
    emit_end(json);
}

static void emit_worst(emitter *json, const fp8moe_comparison *c)
{
    emit_array(json, "worst");
    for (int i = 0; i < c->worst_count; i++) {
        const fp8moe_worst *w = &c->worst[i];
        emit_object(json, NULL);
        emit_integer(json, "row", w->row);
        emit_integer(json, "column", w->column);
        emit_number(json, "expected", w->expected);
        emit_number(json, "got", w->got);
        emit_integer(json, "fp8_steps", w->fp8_distance);
        emit_integer(json, "bf16_steps", w->bf16_distance);
        emit_integer(json, "expected_code", w->expected_code);
        emit_integer(json, "got_code", w->got_code);
        emit_end(json);
    }
    emit_end(json);
}

/* What auto tried; null where nothing was tried. */
static void emit_candidates(emitter *json, const report_tensor *tensor)
{
    emit_array(json, "candidates");
    for (size_t i = 0; i < tensor->candidate_count; i++) {
        const report_candidate *candidate = &tensor->candidates[i];
        emit_object(json, NULL);
        emit_text(json, "recipe", candidate->recipe->name);
        emit_text(json, "unfit", candidate->unfit);
        if (!candidate->unfit) {
            emit_number(json, "identical_share", candidate->identical_share);
            emit_integer(json, "beyond", candidate->beyond);
        }
        emit_end(json);
    }
    emit_end(json);
}

static void emit_recipe_of(emitter *json, const report_tensor *tensor)
{
    const fp8moe_recipe *recipe = tensor->recipe;
    emit_text(json, "recipe", recipe ? recipe->name : NULL);
    emit_text(json, "recipe_source", recipe_source_name(tensor->source));
    emit_text(json, "evidence", recipe ? fp8moe_evidence_name(tensor->evidence) : NULL);
    emit_text(json, "evidence_text", recipe ? recipe->evidence_text : NULL);
    emit_array(json, "open_axes");
    for (size_t i = 0; recipe && i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++)
        emit_text(json, NULL, recipe->axes[i].name);
    emit_end(json);
}

static void emit_judged_classes(emitter *json, const fp8moe_judgement *j)
{
    const fp8moe_classes *c = &j->classes;
    emit_object(json, "elements");
    emit_integer(json, "padding", c->padding);
    emit_integer(json, "identical", c->identical);
    emit_integer(json, "expected", c->expected);
    emit_integer(json, "explained", c->explained);
    emit_integer(json, "possible", c->possible);
    emit_integer(json, "impossible", c->impossible);
    emit_integer(json, "nonfinite", c->nonfinite);
    emit_end(json);
    emit_object(json, "rows");
    emit_integer(json, "asked", j->rows);
    emit_integer(json, "equal", j->rows_equal);
    emit_integer(json, "identical", j->rows_identical);
    emit_integer(json, "explained", j->rows_explained);
    emit_integer(json, "noise", j->rows_noise);
    emit_end(json);
}

static void emit_impossible(emitter *json, const fp8moe_judgement *j)
{
    if (j->impossible_row < 0) {
        emit_text(json, "first_impossible", NULL);
        return;
    }
    emit_object(json, "first_impossible");
    emit_integer(json, "row", j->impossible_row);
    emit_integer(json, "column", j->impossible_column);
    emit_number(json, "got", j->impossible_got);
    emit_number(json, "low", j->impossible_low);
    emit_number(json, "high", j->impossible_high);
    emit_end_counted(json);
}

static void emit_flips(emitter *json, const fp8moe_judgement *j)
{
    emit_integer(json, "flip_count", j->flips);
    emit_integer(json, "near_ties", j->near_ties);
    emit_array(json, "flips");
    for (int i = 0; i < j->flip_count; i++) {
        const fp8moe_flip *f = &j->flip[i];
        emit_object(json, NULL);
        emit_text(json, "kind", fp8moe_flip_kind_name(f->kind));
        emit_integer(json, "row", f->token);
        emit_integer(json, "slot", f->slot);
        emit_integer(json, "expert", f->expert);
        emit_integer(json, "index", f->index);
        emit_number(json, "from", f->from);
        emit_number(json, "to", f->to);
        emit_end(json);
    }
    emit_end(json);
}

static void emit_statistics(emitter *json, const fp8moe_judgement *j)
{
    emit_array(json, "statistics");
    for (int i = 0; i < j->statistic_count; i++) {
        const fp8moe_statistic *s = &j->statistics[i];
        emit_object(json, NULL);
        emit_text(json, "name", s->name);
        emit_number(json, "seen", s->seen);
        emit_number(json, "limit", s->limit);
        emit_integer(json, "row", s->token);
        emit_integer(json, "index", s->index);
        emit_boolean(json, "outside", s->outside);
        emit_end_counted(json);
    }
    emit_end(json);
}

static void emit_detection(emitter *json, const fp8moe_detection *d)
{
    emit_object(json, "detection");
    emit_number(json, "gain_down", d->gain_down);
    emit_number(json, "gain_up", d->gain_up);
    emit_boolean(json, "dropped_expert", d->dropped_expert);
    emit_boolean(json, "swapped_gate_up", d->swapped_gate_up);
    emit_boolean(json, "wrong_expert", d->wrong_expert);
    emit_boolean(json, "row_scale", d->row_scale);
    emit_number(json, "unresolved", d->unresolved);
    emit_boolean(json, "sufficient", d->sufficient);
    emit_end_counted(json);
}

/* null where nothing was recomputed (compare). */
static void emit_judgement(emitter *json, const report_tensor *tensor)
{
    const fp8moe_judgement *j = &tensor->judgement;
    if (!tensor->judged) {
        emit_text(json, "judgement", NULL);
        return;
    }
    emit_object(json, "judgement");
    emit_text(json, "verdict", fp8moe_verdict_name(j->verdict));
    emit_text(json, "reason", j->reason);
    emit_text(json, "axis", j->axis[0] ? j->axis : NULL);
    emit_judged_classes(json, j);
    emit_impossible(json, j);
    emit_flips(json, j);
    emit_statistics(json, j);
    emit_detection(json, &j->detection);
    emit_object(json, "assumed");
    emit_number(json, "dot_slack", j->dot_slack);
    emit_boolean(json, "worst_case", j->worst_case);
    emit_integer(json, "silu_slack", j->silu_slack);
    emit_number(json, "silu_slack_rate", j->silu_slack_rate);
    emit_end(json);
    emit_number(json, "median_width", j->median_width);
    emit_end(json);
}

/* What was asked of the comparison; upstream's own answer stands beside every policy. */
static void emit_policy(emitter *json, const report_tensor *tensor)
{
    const fp8moe_comparison *c = &tensor->comparison;
    char *name = policy_name(&tensor->policy);
    emit_text(json, "policy", name);
    emit_object(json, "policy_sees");
    emit_number(json, "gain_down", tensor->sight.gain_down);
    emit_number(json, "gain_up", tensor->sight.gain_up);
    emit_boolean(json, "zero", tensor->sight.zero);
    emit_end_counted(json);
    emit_integer(json, "repeats", tensor->repeats);
    emit_number(json, "repeat_spread", tensor->repeat_spread);
    emit_text(json, "upstream_verdict",
              c->upstream_ulp_exceeds || c->upstream_relative_exceeds ? "different" : "same");
    free(name);
}

static void emit_tensor(emitter *json, const report_tensor *tensor)
{
    const fp8moe_comparison *c = &tensor->comparison;
    emit_object(json, NULL);
    emit_text(json, "name", tensor->name);
    emit_form(json, &tensor->form);
    emit_recipe_of(json, tensor);
    emit_text(json, "verdict", verdict_name(tensor->verdict));
    emit_text(json, "kind", tensor->judged ? fp8moe_kind_name(tensor->judgement.kind) : NULL);
    emit_text(json, "reason", tensor->reason);
    emit_policy(json, tensor);
    emit_judgement(json, tensor);
    emit_integer(json, "count", c->count);
    emit_integer(json, "padding", c->padding);
    emit_number(json, "identical_share", c->identical_share);
    emit_classes(json, c);
    emit_nonfinite(json, c);
    emit_metrics(json, c);
    emit_bars(json, c);
    emit_worst(json, c);
    emit_candidates(json, tensor);
    emit_end(json);
}

static void emit_pair_side(emitter *json, const char *key, const fp8moe_comparison *c)
{
    emit_object(json, key);
    emit_number(json, "upstream_ulp", c->upstream_ulp);
    emit_number(json, "upstream_relative", c->upstream_relative);
    emit_integer(json, "upstream_over", c->upstream_over);
    emit_number(json, "identical_share", c->identical_share);
    emit_number(json, "rel_l2", c->rel_l2);
    emit_end_counted(json);
}

static void emit_pair(emitter *json, const report_dump *dump)
{
    if (!dump->has_pair) {
        emit_text(json, "pair", NULL);
        return;
    }
    emit_object(json, "pair");
    emit_pair_side(json, "seen", &dump->pair_seen);
    emit_pair_side(json, "predicted", &dump->pair_predicted);
    emit_end(json);
}

static void emit_stages(emitter *json, const report_dump *dump)
{
    emit_object(json, "stages");
    for (size_t i = 0; i < dump->stage_count; i++) {
        char *name = report_stage_name(dump, &dump->stages[i]);
        emit_text(json, name, dump->stages[i].hash);
        free(name);
    }
    emit_end(json);
    emit_array(json, "stages_from_dump");
    for (size_t i = 0; i < dump->stage_count; i++) {
        if (!dump->stages[i].from_dump) continue;
        char *name = report_stage_name(dump, &dump->stages[i]);
        emit_text(json, NULL, name);
        free(name);
    }
    emit_end(json);
}

/* Intermediates the dump holds, beside those computed. */
static void emit_dumped_stages(emitter *json, const report_dump *dump)
{
    emit_array(json, "dumped_stages");
    for (size_t i = 0; i < dump->stage_count; i++) {
        const report_stage *stage = &dump->stages[i];
        if (!stage->dumped) continue;
        char *name = report_stage_name(dump, stage);
        emit_object(json, NULL);
        emit_text(json, "name", name);
        emit_integer(json, "count", stage->compared);
        emit_integer(json, "padding", stage->padding);
        emit_integer(json, "identical", stage->identical);
        emit_number(json, "identical_share", report_stage_share(stage));
        emit_end(json);
        free(name);
    }
    emit_end(json);
}

static void emit_dump(emitter *json, const report_dump *dump)
{
    emit_object(json, NULL);
    emit_text(json, "file", dump->file);
    emit_text(json, "reference", dump->reference);
    emit_text(json, "layer", dump->layer);
    if (dump->has_settings) {
        emit_integer(json, "rank", dump->settings.value[SETTING_EP_RANK].integer);
        json_settings(json, &dump->settings);
    }
    emit_text(json, "target_evidence", dump->target ? dump->target->evidence : NULL);
    emit_text(json, "verdict", verdict_name(dump->verdict));
    emit_text(json, "kind", NULL);
    emit_text(json, "reason", dump->reason);
    emit_text(json, "expected", dump->expected);
    emit_array(json, "tensors");
    for (size_t i = 0; i < dump->tensor_count; i++)
        emit_tensor(json, &dump->tensors[i]);
    emit_end(json);
    emit_pair(json, dump);
    emit_stages(json, dump);
    emit_dumped_stages(json, dump);
    emit_array(json, "notes");
    for (size_t i = 0; i < dump->note_count; i++)
        emit_text(json, NULL, dump->notes[i]);
    emit_end(json);
    emit_end(json);
}

static void print_report(const report *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.report/1");
    emit_text(&json, "command", data->command);
    emit_text(&json, "verdict", verdict_name(data->verdict));
    emit_text(&json, "reason", data->reason);
    emit_array(&json, "dumps");
    for (size_t i = 0; i < data->dump_count; i++)
        emit_dump(&json, &data->dumps[i]);
    emit_end(&json);
    emit_timing(&json, data->seconds, data->threads);
    emit_end(&json);
}

/* ---- run and synth ---- */

static void print_written(const written *data, buffer *out)
{
    emitter json = {.out = out};
    char schema[32];
    snprintf(schema, sizeof schema, "fp8moe.%s/1", data->command);
    emit_object(&json, NULL);
    emit_text(&json, "schema", schema);
    if (data->input) emit_text(&json, "file", data->input);
    emit_text(&json, "written", data->output);
    if (data->recipe) emit_text(&json, "recipe", data->recipe->name);
    json_settings(&json, &data->settings);
    emit_array(&json, "tensors");
    for (size_t i = 0; i < data->tensor_count; i++) {
        emit_object(&json, NULL);
        emit_text(&json, "name", data->tensors[i].name);
        emit_form(&json, &data->tensors[i].form);
        emit_text(&json, "sha256", data->tensors[i].hash);
        emit_end(&json);
    }
    emit_end(&json);
    emit_timing(&json, data->seconds, data->threads);
    emit_end(&json);
}

/* ---- inspect ---- */

static void emit_inspected(emitter *json, const inspected_tensor *tensor)
{
    emit_object(json, NULL);
    emit_text(json, "name", tensor->name);
    emit_form(json, &tensor->form);
    emit_integer(json, "offset", tensor->offset);
    emit_integer(json, "count", tensor->count);
    emit_boolean(json, "numeric", tensor->numeric);
    if (tensor->numeric) {
        emit_number(json, "amax", tensor->amax);
        emit_integer(json, "nan", tensor->nan);
        emit_integer(json, "inf", tensor->inf);
        emit_integer(json, "zero", tensor->zero);
        emit_number(json, "below_resolution", inspected_share(tensor));
    }
    if (tensor->bins) {
        emit_array(json, "exponents");
        for (int i = 0; i < tensor->bins; i++)
            emit_integer(json, NULL, tensor->histogram[i]);
        emit_end(json);
    }
    if (tensor->form.dtype == FP8MOE_DTYPE_F8_E4M3)
        emit_integer(json, "not_finite_on_gaudi2", tensor->beyond_240);
    emit_end(json);
}

static void print_inspected(const inspected *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.inspect/1");
    emit_text(&json, "file", data->file);
    emit_text(&json, "format", data->format);
    emit_object(&json, "metadata");
    for (size_t i = 0; i < fp8moe_dump_metadata_count(data->dump); i++)
        emit_text(&json, fp8moe_dump_metadata_key(data->dump, i),
                  fp8moe_dump_metadata_value(data->dump, i));
    emit_end(&json);
    emit_array(&json, "tensors");
    for (size_t i = 0; i < data->tensor_count; i++)
        emit_inspected(&json, &data->tensors[i]);
    emit_end(&json);
    emit_end(&json);
}

/* ---- recipes ---- */

static void emit_recipe(emitter *json, const fp8moe_recipe *recipe)
{
    const char *column;
    emit_object(json, NULL);
    emit_text(json, "name", recipe->name);
    emit_text(json, "alias", recipe->alias);
    emit_text(json, "op", recipe->op == FP8MOE_OP_MOE ? "moe" : "linear");
    emit_object(json, "columns");
    for (size_t i = 0; (column = fp8moe_recipe_column(i)); i++)
        emit_text(json, column, fp8moe_recipe_get(recipe, column));
    emit_end(json);
    emit_text(json, "evidence", fp8moe_evidence_name(recipe->evidence));
    emit_text(json, "evidence_text", recipe->evidence_text);
    emit_array(json, "open_axes");
    for (size_t i = 0; i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++) {
        emit_object(json, NULL);
        emit_text(json, "name", recipe->axes[i].name);
        emit_text(json, "settings", recipe->axes[i].settings);
        emit_end(json);
    }
    emit_end(json);
    emit_end(json);
}

static void emit_target(emitter *json, const fp8moe_target *target)
{
    emit_object(json, NULL);
    emit_text(json, "name", target->name);
    emit_text(json, "alias", target->alias);
    emit_number(json, "fp8_max", (double)target->fp8_max);
    emit_integer(json, "first_code_not_finite", target->nan_code_first);
    emit_boolean(json, "scale_in_input_dtype", target->scale_in_input_dtype);
    emit_boolean(json, "loader_halves", target->loader_halves);
    emit_number(json, "dot_slack", target->dot_slack);
    emit_integer(json, "silu_slack", target->silu_slack);
    emit_number(json, "silu_slack_rate", target->silu_slack_rate);
    emit_text(json, "evidence", target->evidence);
    emit_end(json);
}

static void print_recipes(const fp8moe_recipe *only, buffer *out)
{
    emitter json = {.out = out};
    const fp8moe_target *target;
    const fp8moe_recipe *recipe;
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.recipes/1");
    emit_array(&json, "targets");
    for (size_t i = 0; (target = fp8moe_target_at(i)); i++)
        if (!only) emit_target(&json, target);
    emit_end(&json);
    emit_array(&json, "recipes");
    for (size_t i = 0; (recipe = fp8moe_recipe_at(i)); i++)
        if (!only || only == recipe) emit_recipe(&json, recipe);
    emit_end(&json);
    emit_end(&json);
}

/* ---- doctor ---- */

static void print_doctor(const doctor *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.doctor/1");
    emit_boolean(&json, "fit", data->fit);
    emit_array(&json, "checks");
    for (size_t i = 0; i < data->check_count; i++) {
        emit_object(&json, NULL);
        emit_text(&json, "name", data->checks[i].name);
        emit_boolean(&json, "fit", data->checks[i].fit);
        emit_text(&json, "found", data->checks[i].found);
        emit_end(&json);
    }
    emit_end(&json);
    emit_end(&json);
}

const report_format report_json = {.name = "json",
                                   .report = print_report,
                                   .written = print_written,
                                   .inspected = print_inspected,
                                   .recipes = print_recipes,
                                   .doctor = print_doctor,
                                   .gate = json_gate,
                                   .route = json_route,
                                   .status = json_status,
                                   .log = json_logs,
                                   .model = json_model,
                                   .prep = json_prep};

/* The report as text for people: verdict first, within CLI_WIDTH columns but for file names. */
#include "model_report.h"
#include "report_upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

static const char *form_text(const fp8moe_tensor *form, char text[160])
{
    char shape[128];
    snprintf(text, 160, "%s %s", fp8moe_tensor_shape_text(form, shape, sizeof shape),
             fp8moe_dtype_name(form->dtype));
    return text;
}

/* ---- settings ---- */

/* One line a source, so that what was assumed stands apart from what was said. */
static void add_settings(buffer *out, const settings *all)
{
    for (setting_source source = SOURCE_OPTION; source <= SOURCE_DEFAULT; source++) {
        buffer words = {0};
        for (setting_id id = 0; id < SETTING_COUNT; id++)
            if (settings_has(all, id) && all->value[id].source == source)
                buffer_format(&words, "%s%s %s", words.size ? ", " : "", setting_name(id),
                              all->value[id].text);
        if (words.size) buffer_line(out, 2, setting_source_name(source), "%s", words.data);
        buffer_free(&words);
    }
}

/* ---- verify and compare ---- */

static void add_nonfinite(buffer *out, const fp8moe_comparison *c)
{
    if (c->first_nonfinite_row < 0) return;
    buffer_line(out, 4, "non-finite",
                "%lld differ, %lld equal; expected %lld NaN, %lld Inf; dumped %lld NaN, %lld Inf; "
                "first at row %lld, "
                "column %lld",
                (long long)c->nonfinite_differs, (long long)c->nonfinite_same,
                (long long)c->expected_nan, (long long)c->expected_inf, (long long)c->got_nan,
                (long long)c->got_inf, (long long)c->first_nonfinite_row,
                (long long)c->first_nonfinite_column);
}

static void add_steps(buffer *out, const char *label, const char *where,
                      const fp8moe_distribution *d)
{
    buffer_line(out, 4, label, "%smean %.3g, median %g, p99 %g, p99.9 %g, largest %g", where,
                d->mean, d->p50, d->p99, d->p999, d->max);
}

static const char *bar_text(bool exceeds)
{
    return exceeds ? "exceeds" : "keeps";
}

static void add_distances(buffer *out, const fp8moe_comparison *c)
{
    char grid[32];
    buffer_line(out, 4, "distance",
                "rel-L2 %.3g, cosine %.6f, gain %.5f, calc_diff %.3g, max abs %.3g, max rel %.3g",
                c->rel_l2, c->cosine, c->gain, c->calc_diff, c->max_abs, c->max_rel);
    snprintf(grid, sizeof grid, "%s grid: ", fp8moe_grid_name(c->grid));
    add_steps(out, "FP8 steps", grid, &c->fp8);
    add_steps(out, "bf16 steps", "", &c->bf16);
    buffer_line(
        out, 4, "upstream",
        "%g FP8-ULP %s the bar of 2, %.3g relative %s that of 0.05; %.3g %% of the elements "
        "lie below 2^-10, "
        "where that measure sees nothing",
        c->upstream_ulp, bar_text(c->upstream_ulp_exceeds), c->upstream_relative,
        bar_text(c->upstream_relative_exceeds), 100 * c->below_resolution);
}

static void add_bars(buffer *out, const fp8moe_comparison *c)
{
    buffer words = {0};
    for (int i = 0; i < FP8MOE_BARS; i++) {
        const fp8moe_bar *const bar = &c->bars[i];
        buffer_format(&words, "%s%s: %s", i ? "; " : "", bar->name, bar->passes ? "pass" : "fail");
        if (bar->outside > 0) buffer_format(&words, " (%lld outside)", (long long)bar->outside);
    }
    buffer_line(out, 4, "other bars", "%s", words.data);
    buffer_free(&words);
}

static void add_worst(buffer *out, const fp8moe_comparison *c)
{
    if (c->worst_count == 0) return;
    buffer_format(out, "    %-*s %8s %8s %14s %14s %6s %6s %6s\n", BUFFER_LABEL, "worst", "row",
                  "column", "expected", "dumped", "bf16", "FP8", "codes");
    for (int i = 0; i < c->worst_count; i++) {
        const fp8moe_worst *w = &c->worst[i];
        buffer_format(out, "    %-*s %8lld %8lld %14.7g %14.7g %6lld %6d  %02X %02X\n",
                      BUFFER_LABEL, "", (long long)w->row, (long long)w->column, w->expected,
                      w->got, (long long)w->bf16_distance, w->fp8_distance, w->expected_code,
                      w->got_code);
    }
}

static void add_open_axes(buffer *out, const fp8moe_recipe *recipe)
{
    buffer words = {0};
    for (size_t i = 0; i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++)
        buffer_format(&words, "%s%s", i ? "; " : "", recipe->axes[i].name);
    if (words.size) buffer_line(out, 4, "open", "%s", words.data);
    buffer_free(&words);
}

static void add_recipe(buffer *out, const report_tensor *tensor)
{
    if (!tensor->recipe) return;
    buffer_line(out, 4, "recipe", "%s, chosen by %s; evidence: %s, %s", tensor->recipe->name,
                recipe_source_name(tensor->source), fp8moe_evidence_name(tensor->evidence),
                tensor->recipe->evidence_text);
    add_open_axes(out, tensor->recipe);
    for (size_t i = 0; i < tensor->candidate_count; i++) {
        const report_candidate *candidate = &tensor->candidates[i];
        const char *label = i ? "" : "tried";
        if (candidate->unfit)
            buffer_line(out, 4, label, "%s: does not fit: %s", candidate->recipe->name,
                        candidate->unfit);
        else
            buffer_line(out, 4, label, "%s: %.4g %% identical, %lld far", candidate->recipe->name,
                        100 * candidate->identical_share, (long long)candidate->beyond);
    }
}

static void add_flips(buffer *out, const fp8moe_judgement *j)
{
    for (int i = 0; i < j->flip_count; i++) {
        const fp8moe_flip *f = &j->flip[i];
        const char *label = i ? "" : "flips";
        if (f->kind == FP8MOE_FLIP_SCALE)
            buffer_line(
                out, 4, label, "row %lld: scale of slot %lld (local expert %lld) %.7g -> %.7g",
                (long long)f->token, (long long)f->slot, (long long)f->expert, f->from, f->to);
        else
            buffer_line(
                out, 4, label,
                "row %lld: product[%lld] of slot %lld (local expert %lld) %.7g -> %.7g, by %s",
                (long long)f->token, (long long)f->index, (long long)f->slot, (long long)f->expert,
                f->from, f->to, fp8moe_flip_kind_name(f->kind));
    }
    if (j->flips > j->flip_count)
        buffer_line(out, 4, "", "and %lld more", (long long)(j->flips - j->flip_count));
}

static void add_statistics(buffer *out, const fp8moe_judgement *j)
{
    for (int i = 0; i < j->statistic_count; i++) {
        const fp8moe_statistic *s = &j->statistics[i];
        buffer words = {0};
        buffer_format(&words, "%s %.3g, noise gives at most %.3g", s->name, s->seen, s->limit);
        if (s->outside && s->token >= 0) buffer_format(&words, " (row %lld", (long long)s->token);
        if (s->outside && s->index >= 0)
            buffer_format(&words, "%s%s %lld", s->token >= 0 ? ", " : " (",
                          s->token >= 0 ? "slot" : "column", (long long)s->index);
        if (s->outside && (s->token >= 0 || s->index >= 0)) buffer_add(&words, ")");
        if (s->outside) buffer_add(&words, ": OUTSIDE");
        buffer_line(out, 4, i ? "" : "statistics", "%s", words.data);
        buffer_free(&words);
    }
}

static const char *seen_text(bool seen)
{
    return seen ? "seen" : "not seen";
}

static void add_gains(buffer *words, double down, double up)
{
    if (down >= 1 && up >= 1)
        buffer_add(words, "no gain error");
    else if (down >= 1)
        buffer_format(words, "gain errors from +%.3g %%", 100 * up);
    else if (up >= 1)
        buffer_format(words, "gain errors from -%.3g %%", 100 * down);
    else
        buffer_format(words, "gain errors from -%.3g %% and +%.3g %%", 100 * down, 100 * up);
}

/* The smallest faults this very check would have called different. */
static void add_detection(buffer *out, const report_tensor *tensor)
{
    const fp8moe_detection *d = &tensor->judgement.detection;
    buffer words = {0};
    add_gains(&words, d->gain_down, d->gain_up);
    if (tensor->recipe->op == FP8MOE_OP_MOE)
        buffer_format(
            &words,
            "; weakest expert dropped: %s, replaced: %s; gate and up exchanged: %s; one row "
            "scale 1 %% off: %s",
            seen_text(d->dropped_expert), seen_text(d->wrong_expert), seen_text(d->swapped_gate_up),
            seen_text(d->row_scale));
    buffer_line(out, 4, "would see", "%s", words.data);
    buffer_free(&words);
}

static void add_assumptions(buffer *out, const fp8moe_judgement *j)
{
    char slack[40] = "(number of terms)";
    if (!j->worst_case) snprintf(slack, sizeof slack, "%g", j->dot_slack);
    buffer_line(out, 4, "assumed",
                "dots within %s * 2^-24 * sum|a b|, silu within %d step in %.3g %% of its values",
                slack, j->silu_slack, 100 * j->silu_slack_rate);
}

static void add_judgement(buffer *out, const report_tensor *tensor)
{
    const fp8moe_judgement *j = &tensor->judgement;
    const fp8moe_classes *c = &j->classes;
    if (!tensor->judged) return;
    if (j->axis[0]) buffer_line(out, 4, "open axis", "%s", j->axis);
    if (j->kind != FP8MOE_KIND_NONE) buffer_line(out, 4, "kind", "%s", fp8moe_kind_name(j->kind));
    buffer_line(
        out, 4, "elements",
        "%lld identical, %lld expected, %lld explained, %lld possible, %lld impossible, %lld "
        "non-finite on one side; %lld padding",
        (long long)c->identical, (long long)c->expected, (long long)c->explained,
        (long long)c->possible, (long long)c->impossible, (long long)c->nonfinite,
        (long long)c->padding);
    buffer_line(
        out, 4, "rows",
        "%lld judged, %lld equal to an earlier one; %lld identical, %lld explained, %lld by noise",
        (long long)(j->rows - j->rows_equal), (long long)j->rows_equal,
        (long long)j->rows_identical, (long long)j->rows_explained, (long long)j->rows_noise);
    if (j->impossible_row >= 0)
        buffer_line(out, 4, "impossible",
                    "first at row %lld, column %lld: %.7g is not in [%.7g, %.7g]",
                    (long long)j->impossible_row, (long long)j->impossible_column,
                    j->impossible_got, j->impossible_low, j->impossible_high);
    add_flips(out, j);
    add_statistics(out, j);
    add_detection(out, tensor);
    if (tensor->repeats)
        buffer_line(out, 4, "repeated",
                    "%d captures of the same input, rel-L2 between them up to %.3g",
                    tensor->repeats, tensor->repeat_spread);
    add_assumptions(out, j);
}

/* What the bar that decided would have failed. */
static void add_sight(buffer *out, const report_tensor *tensor)
{
    buffer words = {0};
    if (tensor->judged && tensor->policy.rule == POLICY_STRICT) return;
    add_gains(&words, tensor->sight.gain_down, tensor->sight.gain_up);
    buffer_format(&words, "; all zeros: %s", seen_text(tensor->sight.zero));
    buffer_line(out, 4, "bar sees", "%s", words.data);
    buffer_free(&words);
}

static void add_tensor(buffer *out, const report_tensor *tensor)
{
    const fp8moe_comparison *c = &tensor->comparison;
    char form[160];
    buffer_format(out, "  %s %s: %s\n", tensor->name, form_text(&tensor->form, form),
                  verdict_name(tensor->verdict));
    add_recipe(out, tensor);
    add_judgement(out, tensor);
    buffer_line(
        out, 4, "identical",
        "%lld of %lld elements (%.4f %%); %lld differ, %lld far; %lld are zero on both sides",
        (long long)c->identical, (long long)(c->count - c->padding), 100 * c->identical_share,
        (long long)c->different, (long long)c->beyond, (long long)c->padding);
    add_nonfinite(out, c);
    add_sight(out, tensor);
    add_distances(out, c);
    add_bars(out, c);
    add_worst(out, c);
}

static void add_stages(buffer *out, const report_dump *dump)
{
    for (size_t i = 0; i < dump->stage_count; i++) {
        const report_stage *stage = &dump->stages[i];
        char *name = report_stage_name(dump, stage);
        buffer words = {0};
        if (stage->from_dump) buffer_add(&words, ", taken from the dump");
        if (stage->dumped)
            buffer_format(&words, ", dumped too: %.4g %% of %lld elements identical",
                          100 * report_stage_share(stage),
                          (long long)(stage->compared - stage->padding));
        buffer_line(out, 2, i ? "" : "stages", "%-14s sha256 %.16s...%s", name, stage->hash,
                    words.data ? words.data : "");
        buffer_free(&words);
        free(name);
    }
}

static void add_pair_side(buffer *out, const char *label, const fp8moe_comparison *c)
{
    const int64_t counted = c->count - c->padding;
    buffer_line(out, 2, label, "%g FP8-ULP at most, %.3g %% of the elements above 2, rel-L2 %.3g",
                c->upstream_ulp, counted ? 100.0 * (double)c->upstream_over / (double)counted : 0.0,
                c->rel_l2);
}

/* Upstream's message counts this distance; most of it is what the two recipes differ by. */
static void add_pair(buffer *out, const report_dump *dump)
{
    if (!dump->has_pair) return;
    buffer_line(out, 2, "pair", "custom against stock, by upstream's measure:");
    add_pair_side(out, "  seen", &dump->pair_seen);
    add_pair_side(out, "  predicted", &dump->pair_predicted);
}

static void add_dump(buffer *out, const report_dump *dump)
{
    if (dump->reference)
        buffer_format(out, "\n%s against %s: %s\n", dump->file, dump->reference,
                      verdict_name(dump->verdict));
    else
        buffer_format(out, "\n%s: %s\n", dump->file, verdict_name(dump->verdict));
    if (dump->verdict == VERDICT_ERROR) return;
    if (dump->expected)
        buffer_line(out, 2, "expected", "%s: %s", dump->expected,
                    strcmp(dump->expected, verdict_name(dump->verdict))
                        ? "NOT as the case file says"
                        : "as the case file says");
    if (dump->has_settings) add_settings(out, &dump->settings);
    if (dump->target)
        buffer_line(out, 2, "target", "%s: %s", dump->target->name, dump->target->evidence);
    for (size_t i = 0; i < dump->tensor_count; i++)
        add_tensor(out, &dump->tensors[i]);
    add_pair(out, dump);
    add_stages(out, dump);
    for (size_t i = 0; i < dump->note_count; i++)
        buffer_line(out, 2, i ? "" : "note", "%s", dump->notes[i]);
}

static void print_report(const report *data, buffer *out)
{
    buffer first = {0};
    buffer_format(&first, "%s: %s", verdict_name(data->verdict), data->reason);
    buffer_wrap(out, 0, 0, CLI_WIDTH, first.data);
    buffer_free(&first);
    for (size_t i = 0; i < data->dump_count; i++)
        add_dump(out, &data->dumps[i]);
}

/* ---- run and synth ---- */

static void print_written(const written *data, buffer *out)
{
    buffer_format(out, "%s: written%s%s\n", data->output, data->recipe ? " under recipe " : "",
                  data->recipe ? data->recipe->name : "");
    add_settings(out, &data->settings);
    for (size_t i = 0; i < data->tensor_count; i++) {
        char form[160];
        buffer_format(out, "  %-24s %-28s sha256 %.16s...\n", data->tensors[i].name,
                      form_text(&data->tensors[i].form, form), data->tensors[i].hash);
    }
}

/* ---- inspect ---- */

static void add_histogram(buffer *out, const inspected_tensor *tensor)
{
    buffer words = {0};
    for (int i = 0; i < tensor->bins; i++)
        if (tensor->histogram[i])
            buffer_format(&words, "%s%d: %lld", words.size ? ", " : "", i,
                          (long long)tensor->histogram[i]);
    if (words.size) buffer_line(out, 2, "exponents", "%s", words.data);
    if (tensor->beyond_240)
        buffer_line(out, 2, "gaudi2", "%lld codes are not finite there (0x78 and above)",
                    (long long)tensor->beyond_240);
    buffer_free(&words);
}

static void add_inspected(buffer *out, const inspected_tensor *tensor)
{
    char form[160];
    buffer_format(out, "%s %s\n", tensor->name, form_text(&tensor->form, form));
    if (!tensor->numeric) {
        buffer_line(out, 2, "values", "not read: listed only");
        return;
    }
    buffer_line(out, 2, "values", "amax %.7g, %lld NaN, %lld Inf, %lld zero, %.4g %% below 2^-10",
                tensor->amax, (long long)tensor->nan, (long long)tensor->inf,
                (long long)tensor->zero, 100 * inspected_share(tensor));
    add_histogram(out, tensor);
}

static void print_inspected(const inspected *data, buffer *out)
{
    buffer_format(out, "%s: %s, %zu tensors\n", data->file, data->format,
                  fp8moe_dump_count(data->dump));
    for (size_t i = 0; i < fp8moe_dump_metadata_count(data->dump); i++)
        buffer_format(out, "  %s = %s\n", fp8moe_dump_metadata_key(data->dump, i),
                      fp8moe_dump_metadata_value(data->dump, i));
    for (size_t i = 0; i < data->tensor_count; i++)
        add_inspected(out, &data->tensors[i]);
}

/* ---- recipes ---- */

static void add_target(buffer *out, const fp8moe_target *target)
{
    buffer_format(out, "target %s%s%s\n", target->name, target->alias ? ", alias " : "",
                  target->alias ? target->alias : "");
    buffer_line(out, 2, "E4M3", "largest %g, codes from 0x%02X on not finite",
                (double)target->fp8_max, target->nan_code_first);
    buffer_line(out, 2, "scales", "%s",
                target->scale_in_input_dtype
                    ? "computed in the dtype of the tensor that is quantised"
                    : "computed in f32");
    buffer_line(out, 2, "loader", "%s",
                target->loader_halves ? "halves codes, doubles scales"
                                      : "leaves weights as they are");
    buffer_line(out, 2, "slack", "dots %g * 2^-24 * sum|a b|, silu %d step in %g of its values",
                target->dot_slack, target->silu_slack, target->silu_slack_rate);
    buffer_line(out, 2, "evidence", "%s", target->evidence);
    buffer_add(out, "\n");
}

static void add_recipe_row(buffer *out, const fp8moe_recipe *recipe)
{
    const char *column;
    buffer words = {0};
    buffer_format(out, "recipe %s%s%s (%s)\n", recipe->name, recipe->alias ? ", alias " : "",
                  recipe->alias ? recipe->alias : "",
                  recipe->op == FP8MOE_OP_MOE ? "moe" : "linear");
    for (size_t i = 0; (column = fp8moe_recipe_column(i)); i++) {
        const char *value = fp8moe_recipe_get(recipe, column);
        if (value) buffer_format(&words, "%s%s=%s", words.size ? " " : "", column, value);
    }
    buffer_line(out, 2, "columns", "%s", words.data);
    buffer_free(&words);
    buffer_line(out, 2, "evidence", "%s, %s", fp8moe_evidence_name(recipe->evidence),
                recipe->evidence_text);
    for (size_t i = 0; i < FP8MOE_MAX_AXES && recipe->axes[i].name; i++)
        buffer_line(out, 2, i ? "" : "open", "%s: %s", recipe->axes[i].name,
                    recipe->axes[i].settings);
    buffer_add(out, "\n");
}

static void print_recipes(const fp8moe_recipe *only, buffer *out)
{
    const fp8moe_target *target;
    const fp8moe_recipe *recipe;
    for (size_t i = 0; (target = fp8moe_target_at(i)); i++)
        if (!only) add_target(out, target);
    for (size_t i = 0; (recipe = fp8moe_recipe_at(i)); i++)
        if (!only || only == recipe) add_recipe_row(out, recipe);
}

/* ---- doctor ---- */

static void print_doctor(const doctor *data, buffer *out)
{
    buffer_add(out, data->fit ? "fit: this machine computes what the emulator needs\n"
                              : "unfit: results from this process cannot be trusted\n");
    for (size_t i = 0; i < data->check_count; i++) {
        buffer_format(out, "  %-5s %-18s ", data->checks[i].fit ? "ok" : "UNFIT",
                      data->checks[i].name);
        buffer_wrap(out, 27, 27, CLI_WIDTH, data->checks[i].found);
    }
}

const report_format report_text = {.name = "text",
                                   .report = print_report,
                                   .written = print_written,
                                   .inspected = print_inspected,
                                   .recipes = print_recipes,
                                   .doctor = print_doctor,
                                   .gate = text_gate,
                                   .route = text_route,
                                   .status = text_status,
                                   .log = text_logs,
                                   .model = text_model,
                                   .prep = text_prep};

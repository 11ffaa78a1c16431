#include "verify_dump.h"

#include "catalog.h"
#include "decide.h"
#include "partial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one run under one recipe ---- */

/* An output of the dump and the recipe, or recipes, it is to be held against. */
typedef struct judged_output {
    const field_output *output;
    const fp8moe_recipe *recipe; /* NULL: auto */
    recipe_source source;
    report_tensor found; /* with the comparison of the best recipe so far */
    bool has_found;
    double *computed; /* what the recipe it was judged by gives */
} judged_output;

/* A recipe that was run, and what the layer turned out to be. */
typedef struct verify_run {
    const fp8moe_recipe *recipe;
    fp8moe_layer_info info;
} verify_run;

typedef struct verify_job {
    subject_dump subject;
    const verify_how *how;
    judged_output outputs[FIELD_MAX_OUTPUTS];
    size_t output_count;
    verify_run *runs;
    size_t run_count;
    fp8moe_error unfit; /* why the first recipe that auto could not try does not fit */
    bool unfit_differs; /* others have other reasons */
    report_dump *report;
} verify_job;

static bool wants(const judged_output *output, const fp8moe_recipe *recipe)
{
    return !output->recipe || output->recipe == recipe;
}

/* The computed output under the dumped one's shape, where that only folds the token dimension
 * otherwise: hidden_states [1, 64, H] give [64, N] here and [1, 64, N] there. */
static fp8moe_tensor like_dumped(const fp8moe_tensor *computed, const fp8moe_tensor *dumped)
{
    const bool folds = dumped->rank > 0 &&
                       dumped->shape[dumped->rank - 1] == computed->shape[computed->rank - 1] &&
                       fp8moe_tensor_count(dumped) == fp8moe_tensor_count(computed);
    if (!folds) return *computed;
    return fp8moe_tensor_view(computed->data, computed->dtype, dumped->rank, dumped->shape);
}

/* Auto takes the row with more identical elements, then with fewer far ones; a tie keeps the
 * earlier row. */
static bool is_better(const fp8moe_comparison *a, const fp8moe_comparison *b)
{
    if (a->identical_share != b->identical_share) return a->identical_share > b->identical_share;
    return a->beyond < b->beyond;
}

static fp8moe_status hold_against(verify_job *job, judged_output *output,
                                  const fp8moe_recipe *recipe, const fp8moe_tensor *computed,
                                  fp8moe_error *err)
{
    fp8moe_comparison comparison;
    const fp8moe_tensor *dumped = &output->output->tensor;
    const fp8moe_tensor expected = like_dumped(computed, dumped);
    const fp8moe_status st =
        fp8moe_compare(&expected, dumped, &job->how->comparing, &comparison, err);
    if (st != FP8MOE_OK) {
        const char *name = fp8moe_dump_name(job->subject.dump, output->output->index);
        snprintf(err->tensor, sizeof err->tensor, "%s", name);
        return cli_in_file(err, st, fp8moe_dump_path(job->subject.dump));
    }
    if (!output->recipe) {
        report_candidate *candidate = report_add_candidate(&output->found, recipe);
        candidate->identical_share = comparison.identical_share;
        candidate->beyond = comparison.beyond;
    }
    if (!output->has_found || is_better(&comparison, &output->found.comparison)) {
        output->found.comparison = comparison;
        output->found.recipe = recipe;
        output->has_found = true;
    }
    return FP8MOE_OK;
}

static void add_stages(verify_job *job, const fp8moe_recipe *recipe, const watch *seen)
{
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT; stage++) {
        const watch_stage *s = &seen->stage[stage];
        if (!s->seen) continue;
        report_stage *added = report_add_stage(job->report, recipe, stage);
        snprintf(added->hash, sizeof added->hash, "%s", s->hash);
        const char *name;
        for (size_t at = 0; (name = options_next(job->subject.given, OPTION_FROM, &at));)
            added->from_dump |= !strcmp(name, fp8moe_stage_name(stage));
        added->dumped = fp8moe_tensor_present(&s->dumped) && !added->from_dump;
        added->compared = s->compared;
        added->padding = s->padding;
        added->identical = s->identical;
    }
}

/* Run one recipe and hold it against every output that wants it. */
static fp8moe_status run_recipe(verify_job *job, const fp8moe_recipe *recipe, fp8moe_error *err)
{
    scratch memory = {0};
    fp8moe_layer_info info;
    watch seen = {.memory = &memory};
    seen.keep[FP8MOE_STAGE_OUTPUT] = true;
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT; stage++)
        seen.stage[stage].dumped = job->subject.fields.stages[stage];
    fp8moe_status st = subject_run(&job->subject, recipe, &seen, &info, err);
    for (size_t i = 0; i < job->output_count && st == FP8MOE_OK; i++)
        if (wants(&job->outputs[i], recipe))
            st = hold_against(job, &job->outputs[i], recipe, &seen.stage[FP8MOE_STAGE_OUTPUT].total,
                              err);
    if (st == FP8MOE_OK) {
        add_stages(job, recipe, &seen);
        job->runs = cli_resize(job->runs, (job->run_count + 1) * sizeof *job->runs);
        job->runs[job->run_count++] = (verify_run){recipe, info};
    }
    scratch_free(&memory);
    return st;
}

/* ---- which recipes ---- */

/* The recipe of an output: given, in the metadata, its name's, or NULL for auto. */
static void choose_recipe(const settings *all, judged_output *output)
{
    const setting *given = &all->value[SETTING_RECIPE];
    output->source = given->source == SOURCE_METADATA ? RECIPE_METADATA : RECIPE_OPTION;
    output->recipe = catalog_recipe(given->text);
    if (given->source == SOURCE_UNKNOWN && output->output->recipe) {
        output->recipe = catalog_recipe(output->output->recipe);
        output->source = RECIPE_NAME;
    }
    if (!output->recipe) output->source = RECIPE_AUTO;
}

/* A dump without outputs still runs under a recipe that is given, for its intermediates. */
static bool is_wanted(const verify_job *job, const fp8moe_recipe *recipe, bool by_auto)
{
    if (!by_auto && job->output_count == 0)
        return catalog_recipe(job->subject.settings.value[SETTING_RECIPE].text) == recipe;
    for (size_t i = 0; i < job->output_count; i++)
        if (by_auto ? !job->outputs[i].recipe : job->outputs[i].recipe == recipe) return true;
    return false;
}

static void add_unfit(verify_job *job, const fp8moe_recipe *recipe, const fp8moe_error *reason)
{
    for (size_t i = 0; i < job->output_count; i++)
        if (!job->outputs[i].recipe)
            report_add_candidate(&job->outputs[i].found, recipe)->unfit = cli_copy(reason->message);
    if (job->unfit.status == FP8MOE_OK) job->unfit = *reason;
    job->unfit_differs |= strcmp(job->unfit.message, reason->message) != 0;
}

/* Run every recipe that some output asks for: by name, or because auto tries all that fit. */
static fp8moe_status run_recipes(verify_job *job, fp8moe_error *err)
{
    const fp8moe_recipe *recipe;
    const fp8moe_op op = settings_op(&job->subject.settings);
    for (size_t i = 0; (recipe = catalog_recipe_at(i)); i++) {
        bool run = is_wanted(job, recipe, false);
        if (!run && is_wanted(job, recipe, true) && recipe->op == op) {
            CLI_TRY(subject_fits(&job->subject, recipe, &run, err));
            if (!run) add_unfit(job, recipe, err);
        }
        if (run) CLI_TRY(run_recipe(job, recipe, err));
    }
    return FP8MOE_OK;
}

/* ---- finished data ---- */

static int compare_candidates(const void *a, const void *b)
{
    const report_candidate *const x = a, *const y = b;
    if (!x->unfit != !y->unfit) return x->unfit ? 1 : -1;
    if (x->identical_share != y->identical_share)
        return x->identical_share > y->identical_share ? -1 : 1;
    if (x->beyond != y->beyond) return x->beyond < y->beyond ? -1 : 1;
    return x->recipe < y->recipe ? -1 : x->recipe > y->recipe;
}

/* Whether the report names a recipe; those that auto only tried leave no stages and notes behind.
 */
static bool is_named(const report_dump *dump, const fp8moe_recipe *recipe)
{
    bool named = dump->tensor_count == 0;
    for (size_t i = 0; i < dump->tensor_count; i++)
        named |= dump->tensors[i].recipe == recipe;
    return named;
}

static void keep_named_stages(report_dump *dump)
{
    size_t kept = 0;
    for (size_t i = 0; i < dump->stage_count; i++)
        if (is_named(dump, dump->stages[i].recipe)) dump->stages[kept++] = dump->stages[i];
    dump->stage_count = kept;
}

static void add_run_notes(verify_job *job, const fp8moe_recipe *recipe,
                          const fp8moe_layer_info *info)
{
    if (info->padding_leaks)
        report_add_note(
            job->report,
            "recipe %s: %lld outputs are NaN because an expert that the token was not routed to is "
            "multiplied by 0 and holds NaN or Inf; first token %lld, local expert %lld",
            recipe->name, (long long)info->padding_leaks, (long long)info->first_leak_token,
            (long long)info->first_leak_expert);
    if (info->foreign_slots)
        report_add_note(job->report,
                        "recipe %s: %lld routed slots belong to other ranks or hold id -1",
                        recipe->name, (long long)info->foreign_slots);
}

/* ---- the same input captured again ---- */

static bool equal_tensors(const fp8moe_tensor *a, const fp8moe_tensor *b, fp8moe_error *err)
{
    fp8moe_comparison c;
    fp8moe_compare_options comparing;
    if (!fp8moe_tensor_present(a) || !fp8moe_tensor_present(b))
        return fp8moe_tensor_present(a) == fp8moe_tensor_present(b);
    fp8moe_compare_options_default(&comparing);
    return fp8moe_compare(a, b, &comparing, &c, err) == FP8MOE_OK &&
           c.different + c.nonfinite_differs == 0;
}

/* A capture counts only where it had the same input and routing. */
static fp8moe_status check_repeat(const fields *first, const fields *again, fp8moe_error *err)
{
    const fp8moe_inputs *a = &first->inputs, *b = &again->inputs;
    if (equal_tensors(&a->hidden_states, &b->hidden_states, err) &&
        equal_tensors(&a->router_logits, &b->router_logits, err) &&
        equal_tensors(&a->topk_ids, &b->topk_ids, err) &&
        equal_tensors(&a->topk_weights, &b->topk_weights, err))
        return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE,
                    "--repeat: hidden_states or routing are not those of the first capture");
}

static fp8moe_status compare_repeat(verify_job *job, const char *path, report_tensor *tensor,
                                    const fp8moe_tensor *dumped, fp8moe_error *err)
{
    subject_dump again = {0};
    fp8moe_comparison c;
    fp8moe_status st =
        subject_open(&(source){.title = (char *)path}, job->subject.given, &again, err);
    if (st == FP8MOE_OK) st = check_repeat(&job->subject.fields, &again.fields, err);
    const int64_t index = st == FP8MOE_OK ? fp8moe_dump_find(again.dump, tensor->name) : -1;
    if (st == FP8MOE_OK && index < 0)
        st = cli_fail(err, FP8MOE_ERR_NOT_FOUND, "--repeat: there is no output '%s'", tensor->name);
    fp8moe_tensor other;
    if (st == FP8MOE_OK) st = fp8moe_dump_tensor(again.dump, (size_t)index, &other, err);
    if (st == FP8MOE_OK) st = fp8moe_compare(dumped, &other, &job->how->comparing, &c, err);
    if (st == FP8MOE_OK && (!tensor->repeats++ || c.rel_l2 > tensor->repeat_spread))
        tensor->repeat_spread = c.rel_l2;
    subject_close(&again);
    return cli_in_file(err, st, path);
}

static fp8moe_status compare_repeats(verify_job *job, report_tensor *tensor,
                                     const fp8moe_tensor *dumped, fp8moe_error *err)
{
    const char *path;
    for (size_t at = 0; (path = options_next(job->subject.given, OPTION_REPEAT, &at));)
        CLI_TRY(compare_repeat(job, path, tensor, dumped, err));
    return FP8MOE_OK;
}

/* The judge's verdict; where an open axis explains the output, the numbers are held against it too.
 */
static fp8moe_status judge_output(verify_job *job, judged_output *output, report_tensor *tensor,
                                  fp8moe_error *err)
{
    const fp8moe_tensor *dumped = &output->output->tensor;
    double *values = cli_allocate((size_t)fp8moe_tensor_count(dumped) * sizeof *values);
    const fp8moe_tensor computed =
        fp8moe_tensor_view(values, FP8MOE_DTYPE_F64, dumped->rank, dumped->shape);
    fp8moe_status st = subject_judge(&job->subject, tensor->recipe, dumped, &job->how->judging,
                                     values, &tensor->judgement, err);
    tensor->judged = st == FP8MOE_OK;
    if (st == FP8MOE_OK && tensor->judgement.axis[0])
        st = fp8moe_compare(&computed, dumped, &job->how->comparing, &tensor->comparison, err);
    if (st == FP8MOE_OK && tensor->policy.rule != POLICY_STRICT)
        st = policy_look(&tensor->policy, &computed, &job->how->comparing, &tensor->sight, err);
    output->computed = values;
    return st;
}

/* The distance people start from: custom against stock, beside what the two recipes predict. */
static fp8moe_status compare_outputs(verify_job *job, fp8moe_error *err)
{
    const judged_output *custom = NULL, *stock = NULL;
    for (size_t i = 0; i < job->output_count; i++) {
        const char *name = fp8moe_dump_name(job->subject.dump, job->outputs[i].output->index);
        if (!strcmp(name, "custom")) custom = &job->outputs[i];
        if (!strcmp(name, "stock")) stock = &job->outputs[i];
    }
    if (!custom || !stock) return FP8MOE_OK;
    const fp8moe_tensor *a = &stock->output->tensor, *b = &custom->output->tensor;
    const fp8moe_tensor from =
        fp8moe_tensor_view(stock->computed, FP8MOE_DTYPE_F64, a->rank, a->shape);
    const fp8moe_tensor to =
        fp8moe_tensor_view(custom->computed, FP8MOE_DTYPE_F64, b->rank, b->shape);
    CLI_TRY(fp8moe_compare(a, b, &job->how->comparing, &job->report->pair_seen, err));
    CLI_TRY(fp8moe_compare(&from, &to, &job->how->comparing, &job->report->pair_predicted, err));
    job->report->has_pair = true;
    return FP8MOE_OK;
}

/* A structured difference may be that the output is a part of the layer's. */
static fp8moe_status add_part(verify_job *job, const report_tensor *tensor,
                              const fp8moe_tensor *dumped, fp8moe_error *err)
{
    char *part = NULL;
    if (!tensor->judged || tensor->judgement.verdict != FP8MOE_VERDICT_DIFFERENT ||
        tensor->judgement.kind != FP8MOE_KIND_STRUCTURED)
        return FP8MOE_OK;
    const fp8moe_status st = partial_find(&job->subject, tensor->recipe, dumped, &part, err);
    if (part) report_add_note(job->report, "%s %s", tensor->name, part);
    free(part);
    return st;
}

static fp8moe_status finish_output(verify_job *job, judged_output *output, fp8moe_error *err)
{
    const fp8moe_tensor *dumped = &output->output->tensor;
    report_tensor *tensor = report_add_tensor(
        job->report, fp8moe_dump_name(job->subject.dump, output->output->index), dumped);
    tensor->recipe = output->found.recipe;
    tensor->evidence = fp8moe_recipe_evidence(
        tensor->recipe, catalog_target(job->subject.settings.value[SETTING_TARGET].text));
    tensor->source = output->source;
    tensor->policy = policies_of(&job->how->policies, tensor->name);
    tensor->comparison = output->found.comparison;
    tensor->candidates = output->found.candidates;
    tensor->candidate_count = output->found.candidate_count;
    output->found.candidates = NULL;
    if (tensor->candidate_count)
        qsort(tensor->candidates, tensor->candidate_count, sizeof *tensor->candidates,
              compare_candidates);
    CLI_TRY(judge_output(job, output, tensor, err));
    CLI_TRY(compare_repeats(job, tensor, dumped, err));
    CLI_TRY(add_part(job, tensor, dumped, err));
    decide_tensor(tensor);
    if (decide_holds_bf16(dumped))
        report_add_note(job->report,
                        "%s is F32 with all low halves zero: bf16 numbers, judged as such",
                        tensor->name);
    return FP8MOE_OK;
}

static void add_notes(verify_job *job)
{
    const char *isa = options_value(job->subject.given, OPTION_ISA);
    if (isa && strcmp(isa, "all") && !fp8moe_isa_present(isa))
        report_add_note(job->report,
                        "no %s on this processor: the next lower instruction set was used", isa);
    const fp8moe_tensor *states = &job->subject.fields.inputs.hidden_states;
    if (decide_holds_bf16(states))
        report_add_note(job->report,
                        "hidden_states are F32 with all low halves zero: taken as bf16");
    if (job->subject.fields.unused)
        report_add_note(job->report, "not used: %s", job->subject.fields.unused);
    for (size_t i = 0; i < job->subject.weights.note_count; i++)
        report_add_note(job->report, "%s", job->subject.weights.notes[i]);
    if (job->subject.settings.value[SETTING_WEIGHTS_STAGE].source == SOURCE_INFERRED)
        report_add_note(job->report, "weights_stage %s was inferred from the weights",
                        job->subject.settings.value[SETTING_WEIGHTS_STAGE].text);
}

static fp8moe_status finish(verify_job *job, fp8moe_error *err)
{
    report_dump *dump = job->report;
    for (size_t i = 0; i < job->output_count; i++)
        CLI_TRY(finish_output(job, &job->outputs[i], err));
    CLI_TRY(cli_in_file(err, compare_outputs(job, err), fp8moe_dump_path(job->subject.dump)));
    keep_named_stages(dump);
    for (size_t i = 0; i < job->run_count; i++) {
        if (!is_named(dump, job->runs[i].recipe)) continue;
        settings_from_layer(&job->subject.settings, &job->runs[i].info);
        add_run_notes(job, job->runs[i].recipe, &job->runs[i].info);
    }
    add_notes(job);
    report_judge_dump(dump);
    if (!dump->reason)
        dump->reason = cli_copy(
            "nothing to judge: there is no output, out, out0, ref_output, custom or stock");
    const char *layer = fp8moe_dump_metadata_get(job->subject.dump, "layer");
    if (layer) dump->layer = cli_copy(layer);
    dump->has_settings = true;
    dump->settings = job->subject.settings;
    dump->target = catalog_target(dump->settings.value[SETTING_TARGET].text);
    return FP8MOE_OK;
}

/* ---- the command ---- */

/* Auto found nothing to try: the one reason all have, or each recipe's own. */
static fp8moe_status no_recipe_fits(const verify_job *job, const judged_output *output,
                                    fp8moe_error *err)
{
    buffer why = {0};
    for (size_t i = 0; i < output->found.candidate_count; i++) {
        const char *unfit = output->found.candidates[i].unfit;
        if (!why.data || !strstr(why.data, unfit))
            buffer_format(&why, "%s%s", i ? "; " : "", unfit);
    }
    if (job->unfit_differs)
        cli_fail(err, FP8MOE_ERR_UNSUPPORTED, "no recipe fits: %s", why.data);
    else
        *err = job->unfit;
    buffer_free(&why);
    return cli_in_file(err, err->status, fp8moe_dump_path(job->subject.dump));
}

/* An old verify dump of upstream: both outputs and nothing they were computed from. */
static bool is_pair_alone(const fields *found)
{
    return found->output_count == 2 && found->outputs[0].recipe && found->outputs[1].recipe &&
           !fp8moe_tensor_present(&found->inputs.hidden_states);
}

/* The stock output is the reference. */
static fp8moe_status judge_pair_alone(verify_job *job, fp8moe_error *err)
{
    const field_output *pair =
        job->subject.fields.outputs; /* in the order of the table: custom, stock */
    report_tensor *tensor = report_add_tensor(job->report, "custom", &pair[0].tensor);
    const char *path = fp8moe_dump_path(job->subject.dump);
    tensor->policy = policies_of(&job->how->policies, tensor->name);
    CLI_TRY(cli_in_file(err,
                        fp8moe_compare(&pair[1].tensor, &pair[0].tensor, &job->how->comparing,
                                       &tensor->comparison, err),
                        path));
    CLI_TRY(
        policy_look(&tensor->policy, &pair[1].tensor, &job->how->comparing, &tensor->sight, err));
    decide_tensor(tensor);
    report_add_note(job->report, "no inputs: custom is held against stock, neither is recomputed");
    report_judge_dump(job->report);
    return FP8MOE_OK;
}

static fp8moe_status verify_dump(const source *from, const options *given, verify_job *job,
                                 fp8moe_error *err)
{
    CLI_TRY(subject_open(from, given, &job->subject, err));
    const fields *found = &job->subject.fields;
    if (is_pair_alone(found)) return judge_pair_alone(job, err);
    job->output_count = found->output_count;
    for (size_t i = 0; i < found->output_count; i++) {
        job->outputs[i].output = &found->outputs[i];
        choose_recipe(&job->subject.settings, &job->outputs[i]);
    }
    CLI_TRY(run_recipes(job, err));
    for (size_t i = 0; i < job->output_count; i++)
        if (!job->outputs[i].has_found) return no_recipe_fits(job, &job->outputs[i], err);
    return finish(job, err);
}

static void free_job(verify_job *job)
{
    for (size_t i = 0; i < job->output_count; i++) {
        for (size_t k = 0;
             job->outputs[i].found.candidates && k < job->outputs[i].found.candidate_count; k++)
            free(job->outputs[i].found.candidates[k].unfit);
        free(job->outputs[i].found.candidates);
        free(job->outputs[i].computed);
    }
    free(job->runs);
    subject_close(&job->subject);
}

cli_exit verify_dump_into(report *whole, const source *from, const verify_how *how,
                          const options *given)
{
    fp8moe_error err;
    verify_job job = {.how = how, .report = report_add_dump(whole, from->title)};
    cli_exit failure = CLI_SAME;
    if (verify_dump(from, given, &job, &err) != FP8MOE_OK) {
        failure = cli_report_error(&err);
        err.file[0] = '\0'; /* the report names it */
        job.report->verdict = VERDICT_ERROR;
        job.report->reason = cli_error_text(&err);
    }
    free_job(&job);
    return failure;
}

fp8moe_status verify_how_read(const options *given, verify_how *out, fp8moe_error *err)
{
    *out = (verify_how){0};
    CLI_TRY(decide_options(given, &out->comparing, err));
    CLI_TRY(decide_judge_options(given, &out->judging, err));
    CLI_TRY(decide_check(given, err));
    return policies_find(given, &out->policies, err);
}

void verify_how_free(verify_how *how)
{
    policies_free(&how->policies);
}

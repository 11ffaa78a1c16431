/* Is a rank's output what its recipe gives, and if not: is it what another rank's window would? */
#include "catalog.h"
#include "few_tokens.h"
#include "partial.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *rank_ids_name(rank_ids ids)
{
    static const char *const names[] = {NULL, "offset", "direct", "shifted", "eager"};
    return names[ids];
}

/* Windows that are emulated at most, and what share of its own distance one must come to. */
#define MOST_WINDOWS 256
#define FEW 8 /* tokens that are emulated for that */
#define NEARER 0.25

/* ---- judging ---- */

static const fp8moe_recipe *find_recipe(const rank_row *row)
{
    const fields *found = &row->subject.fields;
    const setting *given = &row->subject.settings.value[SETTING_RECIPE];
    if (given->source != SOURCE_UNKNOWN) return catalog_recipe(given->text);
    for (size_t i = 0; i < found->output_count; i++)
        if (found->outputs[i].tensor.data == row->output.data && found->outputs[i].recipe)
            return catalog_recipe(found->outputs[i].recipe);
    return NULL;
}

/* Judge where that is possible; else say why it is not. */
static fp8moe_status judge(rank_row *row, fp8moe_error *err)
{
    fp8moe_judge_options judging;
    fp8moe_error reason;
    bool fits = false;
    const fp8moe_recipe *recipe = find_recipe(row);
    if (!recipe) {
        row->unjudged = cli_copy("no recipe is given");
        return FP8MOE_OK;
    }
    if (subject_fits(&row->subject, recipe, &fits, &reason) != FP8MOE_OK || !fits) {
        row->unjudged = cli_copy(reason.message);
        return FP8MOE_OK;
    }
    fp8moe_judge_options_default(&judging);
    row->recipe = recipe;
    return subject_judge(&row->subject, recipe, &row->output, &judging, NULL, &row->judgement, err);
}

/* The stock operation without a graph is another arithmetic, which takes ids another way. */
static fp8moe_status try_eager(rank_row *row, fp8moe_error *err)
{
    fp8moe_judge_options judging;
    fp8moe_judgement found;
    fp8moe_error unfit;
    bool fits = false;
    const fp8moe_recipe *eager = catalog_recipe("stock-eager");
    if (!row->recipe || strcmp(row->recipe->name, "stock") != 0 ||
        row->judgement.verdict != FP8MOE_VERDICT_DIFFERENT ||
        subject_fits(&row->subject, eager, &fits, &unfit) != FP8MOE_OK || !fits)
        return FP8MOE_OK;
    fp8moe_judge_options_default(&judging);
    CLI_TRY(subject_judge(&row->subject, eager, &row->output, &judging, NULL, &found, err));
    if (found.verdict != FP8MOE_VERDICT_SAME) return FP8MOE_OK;
    row->recipe = eager;
    row->judgement = found;
    row->meaning = RANK_IDS_EAGER;
    return FP8MOE_OK;
}

/* ---- whose window ---- */

/* A few tokens whose output is not all zero: enough to tell windows apart. */
typedef struct emulation {
    few_tokens few;
    int64_t tokens[FEW];
    int64_t count, hidden;
} emulation;

static void choose_tokens(const rank_row *row, emulation *e)
{
    e->hidden = fp8moe_tensor_count(&row->output) / row->tokens;
    for (int64_t token = 0; token < row->tokens && e->count < FEW; token++)
        if (row->returned[token]) e->tokens[e->count++] = token;
}

/* Rel-L2 of their output from what the rank would compute as rank `as`. */
static fp8moe_status distance_as(const rank_row *row, const emulation *e, int64_t as, double *out,
                                 fp8moe_error *err)
{
    subject_dump subject = e->few.subject;
    scratch memory = {0};
    watch seen = {.memory = &memory};
    fp8moe_layer_info info;
    double distance = 0, energy = 0;
    subject.settings.value[SETTING_EP_RANK].integer = as;
    seen.keep[FP8MOE_STAGE_OUTPUT] = true;
    const fp8moe_status st = subject_run(&subject, row->recipe, &seen, &info, err);
    for (int64_t i = 0; st == FP8MOE_OK && i < e->count * e->hidden; i++) {
        double want, got;
        fp8moe_tensor_read_f64(&seen.stage[FP8MOE_STAGE_OUTPUT].total, i, 1, &want);
        fp8moe_tensor_read_f64(&row->output, e->tokens[i / e->hidden] * e->hidden + i % e->hidden,
                               1, &got);
        distance += (want - got) * (want - got);
        energy += got * got;
    }
    *out = energy > 0 && isfinite(distance) ? sqrt(distance / energy) : (double)INFINITY;
    scratch_free(&memory);
    return st;
}

/* The window under which the emulated output comes much nearer than under its own. */
static fp8moe_status try_windows(rank_row *row, const emulation *e, int64_t windows,
                                 fp8moe_error *err)
{
    double own = 0, nearest;
    CLI_TRY(distance_as(row, e, row->rank, &own, err));
    nearest = NEARER * own;
    for (int64_t as = 0; as < windows; as++) {
        double distance;
        if (as == row->rank) continue;
        CLI_TRY(distance_as(row, e, as, &distance, err));
        if (!(distance < nearest)) continue;
        nearest = distance;
        row->acts_as = as;
    }
    return FP8MOE_OK;
}

static fp8moe_status find_by_emulation(rank_row *row, int64_t windows, fp8moe_error *err)
{
    emulation e = {.count = 0};
    choose_tokens(row, &e);
    fp8moe_status st = FP8MOE_OK;
    if (few_tokens_take(&row->subject, row->tokens, e.tokens, e.count, &e.few))
        st = try_windows(row, &e, windows, err);
    few_tokens_free(&e.few);
    return st;
}

/* The only window that the zero rows of the output agree with. */
static void find_by_pattern(rank_row *row, int64_t windows)
{
    int64_t found = -1, lost, stray;
    for (int64_t as = 0; as < windows; as++) {
        ranks_contradictions(row, as * row->count, row->count, &lost, &stray);
        if (lost || stray) continue;
        if (found >= 0) return;
        found = as;
    }
    row->acts_as = found;
}

static bool uses_direct_ids(const rank_row *row)
{
    return row->recipe && row->judgement.verdict == FP8MOE_VERDICT_SAME &&
           row->judgement.recipe.ids == FP8MOE_IDS_DIRECT;
}

static fp8moe_status find_window(rank_row *row, int64_t windows, fp8moe_error *err)
{
    if (row->lost || row->stray) find_by_pattern(row, windows);
    if (row->acts_as >= 0 || !row->recipe || windows > MOST_WINDOWS) return FP8MOE_OK;
    if (row->judgement.verdict != FP8MOE_VERDICT_DIFFERENT) return FP8MOE_OK;
    return find_by_emulation(row, windows, err);
}

static fp8moe_status find_meaning(rank_row *row, int64_t windows, fp8moe_error *err)
{
    if (windows < 2 || row->energy == 0) return FP8MOE_OK;
    if (uses_direct_ids(row) && row->rank > 0)
        row->acts_as = 0;
    else
        CLI_TRY(find_window(row, windows, err));
    if (row->acts_as >= 0)
        row->meaning = row->acts_as ? RANK_IDS_SHIFTED : RANK_IDS_DIRECT;
    else if (row->rank > 0 && row->recipe && row->judgement.verdict == FP8MOE_VERDICT_SAME)
        row->meaning = RANK_IDS_OFFSET;
    return FP8MOE_OK;
}

fp8moe_status ranks_judge(rank_row *row, int64_t num_experts, fp8moe_error *err)
{
    const int64_t windows = num_experts / row->count;
    CLI_TRY(judge(row, err));
    CLI_TRY(try_eager(row, err));
    if (row->meaning == RANK_IDS_EAGER) return FP8MOE_OK;
    CLI_TRY(find_meaning(row, windows, err));
    if (!row->recipe || row->acts_as >= 0 || row->energy == 0 ||
        row->judgement.verdict != FP8MOE_VERDICT_DIFFERENT)
        return FP8MOE_OK;
    return partial_find(&row->subject, row->recipe, &row->output, &row->part, err);
}

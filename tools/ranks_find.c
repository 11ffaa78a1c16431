/* What stands out among the ranks of a layer. */
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

/* A rank that was given this share of the weight cannot return next to nothing. */
#define MASS_THAT_SHOWS 0.01
#define ENERGY_OF_NOTHING 1e-8

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* ---- one rank ---- */

/* "was given 27 % of the weight and returned 0" */
static char *describe_lost(const ranks_job *job, const rank_row *row)
{
    const double mass = share(row->mass, job->mass), energy = share(row->energy, job->energy);
    if (mass > MASS_THAT_SHOWS && energy < ENERGY_OF_NOTHING)
        return cli_text("was given %.3g %% of the weight and returned %s: lost, or its ids are "
                        "taken as local ones and none is one of its list",
                        100 * mass, row->energy > 0 ? "next to nothing" : "0");
    return NULL;
}

static char *describe_window(const rank_row *row)
{
    const long long first = (long long)(row->acts_as * row->count);
    if (row->meaning == RANK_IDS_EAGER)
        return cli_copy(
            "computed as the vendor's eager decomposition does (recipe stock-eager): it "
            "takes ids as indices of its own list, and never undoes the scale of the "
            "intermediate");
    if (row->acts_as < 0) return NULL;
    if (row->meaning == RANK_IDS_DIRECT)
        return cli_text("takes ids as indices of its own list (direct): it computed the slots of "
                        "experts 0 to %lld, which are rank 0's",
                        (long long)row->count - 1);
    return cli_text("is shifted by %+lld: it computed the slots of experts %lld to %lld, which are "
                    "rank %lld's",
                    (long long)(row->acts_as - row->rank), first, first + (long long)row->count - 1,
                    (long long)row->acts_as);
}

static char *describe_rows(const ranks_job *job, const rank_row *row)
{
    if (row->mass == 0 && row->energy > 0)
        return cli_text("was given no weight and returned %.3g %% of the energy: its ids are "
                        "shifted, or taken as local ones",
                        100 * share(row->energy, job->energy));
    if (row->stray)
        return cli_text("returned something for %lld of %lld tokens that have no weight here: its "
                        "ids are shifted, or taken as local ones",
                        (long long)row->stray, (long long)row->tokens);
    if (row->lost)
        return cli_text("returned 0 for %lld of %lld tokens that have weight here",
                        (long long)row->lost, (long long)row->tokens);
    return NULL;
}

static char *describe_judgement(const rank_row *row)
{
    if (!row->recipe && row->nonfinite)
        return cli_text("returned %lld values that are not finite", (long long)row->nonfinite);
    if (!row->recipe || row->judgement.verdict != FP8MOE_VERDICT_DIFFERENT) return NULL;
    return cli_text("differs from recipe %s: %s", row->recipe->name, row->judgement.reason);
}

/* ---- against the others ---- */

static int64_t count_other_ids(const rank_row *a, const rank_row *b)
{
    int64_t count = 0;
    for (int64_t i = 0; i < a->tokens * a->top_k; i++)
        count += a->ids[i] != b->ids[i];
    return count;
}

static char *describe_routing(const rank_row *first, const rank_row *row)
{
    if (row->tokens != first->tokens || row->top_k != first->top_k)
        return cli_text(
            "has ids of %lld tokens, %lld each, rank %lld of %lld tokens, %lld each: not "
            "one call of a layer",
            (long long)row->tokens, (long long)row->top_k, (long long)first->rank,
            (long long)first->tokens, (long long)first->top_k);
    const int64_t other = count_other_ids(first, row);
    if (!other) return NULL;
    return cli_text("was routed otherwise than rank %lld, in %lld of %lld ids: not one call of a "
                    "layer",
                    (long long)first->rank, (long long)other,
                    (long long)(row->tokens * row->top_k));
}

static bool same_output(const rank_row *a, const rank_row *b)
{
    const int64_t size = fp8moe_tensor_count(&a->output);
    if (size != fp8moe_tensor_count(&b->output)) return false;
    for (int64_t i = 0; i < size; i++) {
        double x, y;
        fp8moe_tensor_read_f64(&a->output, i, 1, &x);
        fp8moe_tensor_read_f64(&b->output, i, 1, &y);
        if (x != y && (x == x || y == y)) return false;
    }
    return true;
}

/* A rank and slice that stand twice with one output are one; with two they are slices. */
static char *describe_twin(ranks_job *job, size_t index)
{
    const rank_row *row = &job->rows[index];
    for (size_t other = 0; other < index; other++) {
        const rank_row *twin = &job->rows[other];
        if (twin->rank != row->rank || twin->slice != row->slice) continue;
        if (same_output(twin, row))
            return cli_text("stands twice: two dumps of one output say ep_rank %lld",
                            (long long)row->rank);
        job->looks_sliced = true;
    }
    return NULL;
}

static char *describe(ranks_job *job, size_t index)
{
    const rank_row *row = &job->rows[index];
    char *found = describe_routing(&job->rows[0], row);
    if (!found) found = describe_twin(job, index);
    if (!found) found = describe_lost(job, row);
    if (!found) found = describe_window(row);
    if (!found && row->part) found = cli_copy(row->part);
    if (!found) found = describe_rows(job, row);
    return found ? found : describe_judgement(row);
}

/* ---- experts of no rank ---- */

static bool is_held(const ranks_job *job, int64_t expert)
{
    for (size_t r = 0; r < job->count; r++)
        if (expert >= job->rows[r].first && expert < job->rows[r].first + job->rows[r].count)
            return true;
    return false;
}

static void find_gaps(ranks_job *job)
{
    for (int64_t first = 0, end; first < job->num_experts; first = end) {
        const bool held = is_held(job, first);
        for (end = first + 1; end < job->num_experts && is_held(job, end) == held;)
            end++;
        if (held) continue;
        job->gaps = cli_resize(job->gaps, (job->gap_count + 1) * sizeof *job->gaps);
        job->gaps[job->gap_count++] =
            (ranks_gap){first, end - 1, ranks_mass(&job->rows[0], first, end - first)};
    }
}

static void count_missing_slices(ranks_job *job)
{
    const setting *size = &job->rows[0].subject.settings.value[SETTING_TP_SIZE];
    if (size->source == SOURCE_UNKNOWN) return;
    job->missing_slices = size->integer;
    for (size_t r = 0; r < job->count; r++)
        job->missing_slices -= job->rows[r].rank == job->rows[0].rank;
}

void ranks_find(ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++)
        job->rows[r].finding = describe(job, r);
    find_gaps(job);
    count_missing_slices(job);
}

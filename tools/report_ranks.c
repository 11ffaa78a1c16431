/* What `ranks` found, as text and as JSON (data/ranks.schema.json). */
#include "json_out.h"
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *verdict_word(cli_exit code)
{
    return code == CLI_SAME ? "same" : code == CLI_DIFFERENT ? "different" : "inconclusive";
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* Ranks of a job whose dumps name slices of tensor parallelism. */
static bool has_slices(const ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++)
        if (job->rows[r].slice) return true;
    return false;
}

/* ---- text ---- */

static void add_judgement(const rank_row *row, buffer *out)
{
    const fp8moe_judgement *j = &row->judgement;
    if (row->recipe)
        buffer_line(out, 2, "", "judged: %s, recipe %s (evidence: %s)%s%s", //
                    fp8moe_verdict_name(j->verdict), row->recipe->name,
                    fp8moe_evidence_name(j->evidence), j->axis[0] ? " with " : "", j->axis);
    else if (row->unjudged)
        buffer_line(out, 2, "", "not judged: %s", row->unjudged);
}

static void add_rank(const ranks_job *job, const rank_row *row, buffer *out)
{
    char label[48];
    if (has_slices(job))
        snprintf(label, sizeof label, "rank %lld/%lld", (long long)row->rank,
                 (long long)row->slice);
    else
        snprintf(label, sizeof label, "rank %lld", (long long)row->rank);
    buffer_line(out, 2, label, "experts %lld to %lld: %.4g %% of the weight, %.4g %% of the energy",
                (long long)row->first, (long long)(row->first + row->count - 1),
                job->mass > 0 ? 100 * share(row->mass, job->mass) : 0.0,
                job->energy > 0 ? 100 * share(row->energy, job->energy) : 0.0);
    add_judgement(row, out);
    if (row->finding) buffer_line(out, 2, "", "%s", row->finding);
}

static void add_gaps(const ranks_job *job, buffer *out)
{
    for (size_t i = 0; i < job->gap_count; i++)
        buffer_line(out, 2, i ? "" : "missing",
                    "experts %lld to %lld, with %.4g %% of the weight, are of no dump: a rank is "
                    "missing",
                    (long long)job->gaps[i].first, (long long)job->gaps[i].last,
                    job->mass > 0 ? 100 * share(job->gaps[i].mass, job->mass) : 0.0);
}

static void add_sum(const ranks_job *job, buffer *out)
{
    if (!job->has_reduced) return;
    buffer_line(
        out, 2, "sum",
        "rel-L2 %.3g from the reduced output; bf16 additions, whose order is unknown, allow %.3g",
        job->distance, job->allowed);
    if (job->reduced_reason) buffer_line(out, 2, "", "the reduced output: %s", job->reduced_reason);
}

static void add_pairs(const ranks_job *job, buffer *out)
{
    if (!job->has_pair) return;
    const bool warns = job->ulp > 2 || job->relative > 0.05;
    buffer_line(out, 2, "verify mode",
                "max FP8-ULP %g, relative error %g over the ranks: upstream %s", job->ulp,
                job->relative, warns ? "warns, on every rank alike" : "is silent");
    if (isnan(job->ulp) || isnan(job->relative))
        buffer_line(out, 2, "",
                    "what the device's reduction makes of a NaN is unpublished; here it stays");
    for (size_t r = 0; r < job->count; r++)
        if (job->rows[r].has_pair)
            buffer_line(out, 2, "", "rank %lld: FP8-ULP %g, relative error %g",
                        (long long)job->rows[r].rank, job->rows[r].ulp, job->rows[r].relative);
}

void ranks_print_text(const ranks_job *job, buffer *out)
{
    char *head = cli_text("%s: %zu rank%s: %s", verdict_word(job->verdict), job->count,
                          job->count == 1 ? "" : "s", job->reason);
    buffer_wrap(out, 0, 2, CLI_WIDTH, head);
    free(head);
    for (size_t r = 0; r < job->count; r++)
        add_rank(job, &job->rows[r], out);
    if (job->looks_sliced)
        buffer_line(out, 2, "slices",
                    "dumps of the same experts have other outputs: this looks like tensor-parallel "
                    "slices (--tp-rank names them)");
    add_gaps(job, out);
    add_sum(job, out);
    add_pairs(job, out);
}

/* ---- JSON ---- */

static void emit_judgement(emitter *json, const rank_row *row)
{
    if (!row->recipe) {
        emit_text(json, "judged", NULL);
        return;
    }
    emit_object(json, "judged");
    emit_text(json, "recipe", row->recipe->name);
    emit_text(json, "evidence", fp8moe_evidence_name(row->judgement.evidence));
    emit_text(json, "verdict", fp8moe_verdict_name(row->judgement.verdict));
    emit_text(json, "reason", row->judgement.reason);
    emit_text(json, "axis", row->judgement.axis[0] ? row->judgement.axis : NULL);
    emit_end(json);
}

static void emit_maxima(emitter *json, bool present, double ulp, double relative)
{
    if (!present) {
        emit_text(json, "verify_mode", NULL);
        return;
    }
    emit_object(json, "verify_mode");
    emit_number(json, "ulp", ulp);
    emit_number(json, "relative", relative);
    emit_boolean(json, "warns", ulp > 2 || relative > 0.05);
    emit_end_counted(json);
}

static void emit_rank(emitter *json, const ranks_job *job, const rank_row *row)
{
    emit_object(json, NULL);
    emit_text(json, "file", row->file);
    emit_integer(json, "rank", row->rank);
    emit_integer(json, "slice", row->slice);
    emit_integer(json, "first_expert", row->first);
    emit_integer(json, "experts", row->count);
    emit_number(json, "weight_share", share(row->mass, job->mass));
    emit_number(json, "energy_share", share(row->energy, job->energy));
    emit_integer(json, "tokens_lost", row->lost);
    emit_integer(json, "tokens_stray", row->stray);
    emit_text(json, "ids", rank_ids_name(row->meaning));
    if (row->acts_as >= 0)
        emit_integer(json, "acts_as", row->acts_as);
    else
        emit_text(json, "acts_as", NULL);
    emit_judgement(json, row);
    emit_text(json, "unjudged", row->unjudged);
    emit_maxima(json, row->has_pair, row->ulp, row->relative);
    emit_text(json, "finding", row->finding);
    emit_end_counted(json);
}

static void emit_gaps(emitter *json, const ranks_job *job)
{
    emit_array(json, "missing");
    for (size_t i = 0; i < job->gap_count; i++) {
        emit_object(json, NULL);
        emit_integer(json, "first_expert", job->gaps[i].first);
        emit_integer(json, "last_expert", job->gaps[i].last);
        emit_number(json, "weight_share", share(job->gaps[i].mass, job->mass));
        emit_end_counted(json);
    }
    emit_end(json);
}

static void emit_reduced(emitter *json, const ranks_job *job)
{
    if (!job->has_reduced) {
        emit_text(json, "reduced", NULL);
        return;
    }
    emit_object(json, "reduced");
    emit_number(json, "rel_l2", job->distance);
    emit_number(json, "allowed", job->allowed);
    emit_text(json, "reason", job->reduced_reason);
    emit_end_counted(json);
}

void ranks_print_json(const ranks_job *job, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.ranks/1");
    emit_text(&json, "verdict", verdict_word(job->verdict));
    emit_text(&json, "reason", job->reason);
    emit_array(&json, "ranks");
    for (size_t r = 0; r < job->count; r++)
        emit_rank(&json, job, &job->rows[r]);
    emit_end(&json);
    emit_boolean(&json, "looks_sliced", job->looks_sliced);
    emit_gaps(&json, job);
    emit_integer(&json, "missing_slices", job->missing_slices > 0 ? job->missing_slices : 0);
    emit_reduced(&json, job);
    emit_maxima(&json, job->has_pair, job->ulp, job->relative);
    emit_end(&json);
}

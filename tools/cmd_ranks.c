/* ranks: the expert-parallel ranks of one layer, together. Whether each returned what its share of
 * the router's weight promises, needs no emulation; whether their sum is the reduced output,
 * neither. Where a dump holds weights, each rank is judged too. */
#include "ranks.h"

#include <stdlib.h>

/* Experts of the model: as some dump says, else those of all ranks that are said to be, else the
 * last of a window or an id. */
static int64_t count_experts(const ranks_job *job)
{
    int64_t most = 0;
    for (size_t r = 0; r < job->count; r++) {
        const rank_row *row = &job->rows[r];
        const setting *value = row->subject.settings.value;
        if (value[SETTING_NUM_EXPERTS].source != SOURCE_UNKNOWN)
            return value[SETTING_NUM_EXPERTS].integer;
        if (value[SETTING_EP_SIZE].source != SOURCE_UNKNOWN)
            return value[SETTING_EP_SIZE].integer * row->count;
        if (row->first + row->count > most) most = row->first + row->count;
        for (int64_t i = 0; i < row->tokens * row->top_k; i++)
            if (row->ids[i] >= most) most = row->ids[i] + 1;
    }
    return most;
}

static size_t count_findings(const ranks_job *job, const rank_row **first)
{
    size_t count = 0;
    for (size_t r = job->count; r-- > 0;)
        if (job->rows[r].finding) {
            *first = &job->rows[r];
            count++;
        }
    return count;
}

static bool has_inconclusive(const ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++)
        if (job->rows[r].recipe && job->rows[r].judgement.verdict == FP8MOE_VERDICT_INCONCLUSIVE)
            return true;
    return false;
}

static cli_exit conclude(ranks_job *job, cli_exit code, char *reason)
{
    job->reason = reason;
    return code;
}

static cli_exit judge_sum(ranks_job *job)
{
    if (!job->has_reduced || job->distance <= job->allowed) {
        if (!(job->mass > 0 && job->energy > 0))
            return conclude(job, CLI_INCONCLUSIVE, cli_copy("there is nothing to judge"));
        if (has_inconclusive(job))
            return conclude(job, CLI_INCONCLUSIVE,
                            cli_copy("nothing stands out, but a rank's output cannot be told from "
                                     "others"));
        return conclude(job, CLI_SAME,
                        cli_text("%s", job->has_reduced
                                           ? "every rank returned what its weight promises, and "
                                             "their sum is the reduced output"
                                           : "every rank returned what its weight promises"));
    }
    return conclude(job, CLI_DIFFERENT,
                    cli_text("the reduced output is not the sum of the ranks'%s%s",
                             job->reduced_reason ? ": " : "",
                             job->reduced_reason ? job->reduced_reason : ""));
}

static cli_exit judge(ranks_job *job)
{
    const rank_row *first = NULL;
    const size_t findings = count_findings(job, &first);
    if (findings == 1)
        return conclude(job, CLI_DIFFERENT,
                        cli_text("rank %lld %s", (long long)first->rank, first->finding));
    if (findings)
        return conclude(job, CLI_DIFFERENT,
                        cli_text("%zu of %zu ranks stand out; rank %lld %s", findings, job->count,
                                 (long long)first->rank, first->finding));
    if (job->gap_count)
        return conclude(job, CLI_INCONCLUSIVE,
                        cli_copy("this looks like a missing rank: some experts are of no dump"));
    if (job->missing_slices > 0)
        return conclude(
            job, CLI_INCONCLUSIVE,
            cli_text("these are tensor-parallel slices: %lld of %lld are missing",
                     (long long)job->missing_slices,
                     (long long)job->rows[0].subject.settings.value[SETTING_TP_SIZE].integer));
    return judge_sum(job);
}

static fp8moe_status open_ranks(ranks_job *job, const sources *found, const options *given,
                                fp8moe_error *err)
{
    const char *reduced = options_value(given, OPTION_REDUCED);
    job->rows = cli_allocate((found->count + 1) * sizeof *job->rows);
    for (size_t i = 0; i < found->count; i++) {
        job->count = i + 1;
        CLI_TRY(ranks_open(&found->all[i], given, &job->rows[i], err));
    }
    job->num_experts = count_experts(job);
    CLI_TRY(ranks_add_up(job, err));
    for (size_t i = 0; i < job->count; i++)
        CLI_TRY(ranks_judge(&job->rows[i], job->num_experts, err));
    ranks_find(job);
    return reduced ? ranks_hold_reduced(job, reduced, err) : FP8MOE_OK;
}

static void close_ranks(ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++)
        ranks_close(&job->rows[r]);
    free(job->rows);
    free(job->gaps);
    free(job->sum);
    free(job->reduced_reason);
    free(job->reason);
}

static cli_exit ranks(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    sources found = {0};
    ranks_job job = {0};
    buffer out = {0};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    fp8moe_status st = subject_check_options(given, &err);
    if (st == FP8MOE_OK) st = sources_find(given->operands, given->operand_count, &found, &err);
    if (st == FP8MOE_OK) st = open_ranks(&job, &found, given, &err);
    cli_exit code = st == FP8MOE_OK ? CLI_SAME : cli_report_error(&err);
    if (st == FP8MOE_OK) {
        job.verdict = judge(&job);
        (format == &report_json ? ranks_print_json : ranks_print_text)(&job, &out);
        code = cli_worse(job.verdict, report_send(given, &out));
    }
    close_ranks(&job);
    sources_free(&found);
    return code;
}

const cli_command command_ranks = {
    .name = "ranks",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "hold the ranks of one layer against each other",
    .description =
        "Each dump is one rank's: its ids and weights are global, its output partial (custom, "
        "where "
        "it holds stock too). A rank's share of the router's weight must show in its output's "
        "energy, token by token: one that was given weight and returned nothing is lost, one whose "
        "output answers to another rank's experts is shifted or takes ids as indices of its own "
        "list (direct). Where a dump holds its weights and a recipe is known, the rank is judged "
        "as "
        "verify does. Dumps of the same experts with other outputs are tensor-parallel slices.\n"
        "With --reduced the sum of the partial outputs is held against the output behind the "
        "reduction, whose order of bf16 additions is unknown. Where dumps hold stock and custom, "
        "the maxima of upstream's verify mode are reduced over the ranks as upstream does.\n"
        "Exit code: 0 nothing stands out, 1 a rank or the sum does, 4 a rank is missing or nothing "
        "can be told.",
    .example = "fp8moe ranks rank0.safetensors rank1.safetensors --reduced reduced.safetensors",
    .run = ranks,
};

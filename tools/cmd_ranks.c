/* ranks: the expert-parallel ranks of one layer, together. Whether each returned what its share of
 * the router's weight promises, needs no emulation; whether their sum is the reduced output,
 * neither. */
#include "json_out.h"
#include "report.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank that was given this share of the weight cannot return next to nothing. */
#define MASS_THAT_SHOWS 0.01
#define ENERGY_OF_NOTHING 1e-8
/* Rel-L2 below which a sum of partials counts as the reduced output: bf16 additions in any order.
 */
#define BF16_HALF_STEP 0x1p-8

typedef struct rank_row {
    subject_dump subject;
    int64_t rank, first, count; /* its window of experts */
    double mass;                /* routed weight in the window */
    double energy;              /* sum of squares of its output */
    fp8moe_tensor output;
    char *finding; /* or NULL */
} rank_row;

typedef struct ranks_job {
    rank_row *rows;
    size_t count;
    double mass, energy; /* of all */
    double *sum;         /* of all outputs, in float64 */
    int64_t size;        /* elements of an output */
    bool has_reduced;
    double distance; /* rel-L2 of the sum from the reduced output */
    double allowed;  /* what bf16 additions in any order may make of it */
    int64_t missing; /* rank whose absence explains the reduced output, or -1 */
} ranks_job;

static int64_t integer_of(const settings *all, setting_id id)
{
    return all->value[id].source == SOURCE_UNKNOWN ? 0 : all->value[id].integer;
}

/* ---- one rank ---- */

static fp8moe_status measure_mass(rank_row *row, fp8moe_error *err)
{
    const fp8moe_inputs *in = &row->subject.fields.inputs;
    const int64_t slots = fp8moe_tensor_count(&in->topk_ids);
    if (!fp8moe_tensor_present(&in->topk_ids) || !fp8moe_tensor_present(&in->topk_weights) ||
        fp8moe_tensor_count(&in->topk_weights) != slots)
        return cli_fail(err, FP8MOE_ERR_NOT_FOUND,
                        "ranks needs topk_ids and topk_weights of equal shape");
    for (int64_t i = 0; i < slots; i++) {
        int64_t id;
        double weight;
        fp8moe_tensor_read_i64(&in->topk_ids, i, 1, &id);
        fp8moe_tensor_read_f64(&in->topk_weights, i, 1, &weight);
        if (id >= row->first && id < row->first + row->count) row->mass += fabs(weight);
    }
    return FP8MOE_OK;
}

static fp8moe_status check_dispatch(const rank_row *row, fp8moe_error *err)
{
    const fp8moe_inputs *in = &row->subject.fields.inputs;
    const fp8moe_tensor *x = &in->hidden_states, *ids = &in->topk_ids;
    if (!fp8moe_tensor_present(x) || x->rank < 1 || ids->rank < 1) return FP8MOE_OK;
    const int64_t tokens = fp8moe_tensor_count(x) / x->shape[x->rank - 1];
    const int64_t routed = fp8moe_tensor_count(ids) / ids->shape[ids->rank - 1];
    if (tokens == routed) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_SHAPE,
                    "hidden_states has %lld token rows, topk_ids %lld: x was not dispatched "
                    "(all-gathered) as the ids were",
                    (long long)tokens, (long long)routed);
}

static fp8moe_status open_rank(const source *from, const options *given, rank_row *row,
                               fp8moe_error *err)
{
    CLI_TRY(subject_open(from, given, &row->subject, err));
    const settings *all = &row->subject.settings;
    const fields *found = &row->subject.fields;
    row->rank = integer_of(all, SETTING_EP_RANK);
    row->count = integer_of(all, SETTING_LOCAL_NUM_EXPERTS);
    if (!row->count && found->inputs.w13_weight.rank == 3)
        row->count = found->inputs.w13_weight.shape[0];
    row->first = row->rank * row->count;
    if (!row->count)
        return cli_in_file(err,
                           cli_fail(err, FP8MOE_ERR_USAGE,
                                    "how many experts has this rank? give --local-num-experts"),
                           from->title);
    if (found->output_count != 1)
        return cli_in_file(err,
                           cli_fail(err, FP8MOE_ERR_NOT_FOUND,
                                    "ranks needs one output a dump, here are %zu",
                                    found->output_count),
                           from->title);
    row->output = found->outputs[0].tensor;
    CLI_TRY(cli_in_file(err, check_dispatch(row, err), from->title));
    return cli_in_file(err, measure_mass(row, err), from->title);
}

/* ---- all ranks ---- */

static fp8moe_status add_outputs(ranks_job *job, fp8moe_error *err)
{
    job->size = fp8moe_tensor_count(&job->rows[0].output);
    job->sum = cli_allocate((size_t)(job->size + 1) * sizeof *job->sum);
    for (size_t r = 0; r < job->count; r++) {
        rank_row *row = &job->rows[r];
        if (fp8moe_tensor_count(&row->output) != job->size)
            return cli_fail(err, FP8MOE_ERR_SHAPE,
                            "outputs of different size: these are not ranks of one layer");
        for (int64_t i = 0; i < job->size; i++) {
            double value;
            fp8moe_tensor_read_f64(&row->output, i, 1, &value);
            job->sum[i] += value;
            row->energy += value * value;
        }
        job->mass += row->mass;
        job->energy += row->energy;
    }
    return FP8MOE_OK;
}

/* "rank 2 was given 27 % of the weight and returned 0" */
static void find_lost(ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++) {
        rank_row *row = &job->rows[r];
        const double mass = job->mass > 0 ? row->mass / job->mass : 0;
        const double energy = job->energy > 0 ? row->energy / job->energy : 0;
        if (mass > MASS_THAT_SHOWS && energy < ENERGY_OF_NOTHING)
            row->finding = cli_text("was given %.3g %% of the weight and returned %s: lost, or its "
                                    "ids are taken as local ones",
                                    100 * mass, row->energy > 0 ? "next to nothing" : "0");
        else if (mass == 0 && row->energy > 0)
            row->finding = cli_text("was given no weight and returned %.3g %% of the energy: its "
                                    "ids are shifted, or taken as local ones",
                                    100 * energy);
        for (size_t other = 0; other < r && !row->finding; other++)
            if (job->rows[other].rank == row->rank)
                row->finding =
                    cli_text("stands twice: two dumps say ep_rank %lld", (long long)row->rank);
    }
}

/* Squared distance of the reduced output from the sum, without rank `left_out` (-1: with all). */
static double distance_from(const ranks_job *job, const fp8moe_tensor *reduced, int64_t left_out)
{
    double distance = 0;
    for (int64_t i = 0; i < job->size; i++) {
        double value, partial = 0;
        fp8moe_tensor_read_f64(reduced, i, 1, &value);
        if (left_out >= 0) fp8moe_tensor_read_f64(&job->rows[left_out].output, i, 1, &partial);
        const double off = value - (job->sum[i] - partial);
        distance += off * off;
    }
    return distance;
}

static double energy_of_sum(const ranks_job *job)
{
    double energy = 0;
    for (int64_t i = 0; i < job->size; i++)
        energy += job->sum[i] * job->sum[i];
    return energy;
}

static fp8moe_status hold_reduced(ranks_job *job, const options *given, fp8moe_error *err)
{
    const char *path = options_value(given, OPTION_REDUCED);
    fp8moe_dump *dump = NULL;
    fp8moe_tensor reduced;
    job->missing = -1;
    if (!path) return FP8MOE_OK;
    fp8moe_status st = source_open(&(source){.title = (char *)path}, &dump, err);
    if (st == FP8MOE_OK && fp8moe_dump_count(dump) != 1)
        st = cli_fail(err, FP8MOE_ERR_USAGE, "--reduced takes a file of one tensor, this holds %zu",
                      fp8moe_dump_count(dump));
    if (st == FP8MOE_OK) st = fp8moe_dump_tensor(dump, 0, &reduced, err);
    if (st == FP8MOE_OK &&
        (fp8moe_tensor_count(&reduced) != job->size || !fp8moe_dtype_is_numeric(reduced.dtype)))
        st = cli_fail(err, FP8MOE_ERR_SHAPE, "the reduced output has another size than the ranks'");
    if (st == FP8MOE_OK) {
        const double energy = energy_of_sum(job), whole = distance_from(job, &reduced, -1);
        job->has_reduced = true;
        job->distance = energy > 0 ? sqrt(whole / energy) : sqrt(whole);
        /* each addition rounds once to bf16; the partials may be larger than their sum */
        job->allowed = BF16_HALF_STEP * (double)job->count *
                       sqrt(energy > 0 ? fmax(1, job->energy / energy) : 1);
        for (size_t r = 0; r < job->count && job->distance > job->allowed; r++)
            if (distance_from(job, &reduced, (int64_t)r) < whole / 16) job->missing = (int64_t)r;
    }
    fp8moe_dump_close(dump);
    return cli_in_file(err, st, path);
}

/* ---- reports ---- */

static cli_exit verdict_of(const ranks_job *job)
{
    bool found = job->has_reduced && job->distance > job->allowed;
    for (size_t r = 0; r < job->count; r++)
        found |= job->rows[r].finding != NULL;
    if (found) return CLI_DIFFERENT;
    return job->mass > 0 && job->energy > 0 ? CLI_SAME : CLI_INCONCLUSIVE;
}

static const char *verdict_text(cli_exit code)
{
    return code == CLI_SAME ? "same" : code == CLI_DIFFERENT ? "different" : "inconclusive";
}

static void print_text(const ranks_job *job, cli_exit code, buffer *out)
{
    buffer_format(out, "%s: %zu ranks\n", verdict_text(code), job->count);
    for (size_t r = 0; r < job->count; r++) {
        const rank_row *row = &job->rows[r];
        char label[24];
        snprintf(label, sizeof label, "rank %lld", (long long)row->rank);
        buffer_line(out, 2, label,
                    "experts %lld to %lld: %.4g %% of the weight, %.4g %% of the energy",
                    (long long)row->first, (long long)(row->first + row->count - 1),
                    job->mass > 0 ? 100 * row->mass / job->mass : 0.0,
                    job->energy > 0 ? 100 * row->energy / job->energy : 0.0);
        if (row->finding) buffer_line(out, 2, "", "%s", row->finding);
    }
    if (!job->has_reduced) return;
    buffer_line(
        out, 2, "sum",
        "rel-L2 %.3g from the reduced output; bf16 additions, whose order is unknown, allow %.3g",
        job->distance, job->allowed);
    if (job->missing >= 0)
        buffer_line(out, 2, "", "the reduced output is the sum without rank %lld",
                    (long long)job->rows[job->missing].rank);
}

static void print_json(const ranks_job *job, cli_exit code, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.ranks/1");
    emit_text(&json, "verdict", verdict_text(code));
    emit_array(&json, "ranks");
    for (size_t r = 0; r < job->count; r++) {
        const rank_row *row = &job->rows[r];
        emit_object(&json, NULL);
        emit_integer(&json, "rank", row->rank);
        emit_integer(&json, "first_expert", row->first);
        emit_integer(&json, "experts", row->count);
        emit_number(&json, "weight_share", job->mass > 0 ? row->mass / job->mass : NAN);
        emit_number(&json, "energy_share", job->energy > 0 ? row->energy / job->energy : NAN);
        emit_text(&json, "finding", row->finding);
        emit_end_counted(&json);
    }
    emit_end(&json);
    if (job->has_reduced) {
        emit_object(&json, "reduced");
        emit_number(&json, "rel_l2", job->distance);
        emit_number(&json, "allowed", job->allowed);
        if (job->missing >= 0)
            emit_integer(&json, "missing_rank", job->rows[job->missing].rank);
        else
            emit_text(&json, "missing_rank", NULL);
        emit_end_counted(&json);
    } else {
        emit_text(&json, "reduced", NULL);
    }
    emit_end(&json);
}

static fp8moe_status open_ranks(ranks_job *job, const sources *found, const options *given,
                                fp8moe_error *err)
{
    job->rows = cli_allocate((found->count + 1) * sizeof *job->rows);
    for (size_t i = 0; i < found->count; i++) {
        job->count = i + 1;
        CLI_TRY(open_rank(&found->all[i], given, &job->rows[i], err));
    }
    CLI_TRY(add_outputs(job, err));
    find_lost(job);
    return hold_reduced(job, given, err);
}

static void close_ranks(ranks_job *job)
{
    for (size_t r = 0; r < job->count; r++) {
        subject_close(&job->rows[r].subject);
        free(job->rows[r].finding);
    }
    free(job->rows);
    free(job->sum);
}

static cli_exit ranks(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    sources found = {0};
    ranks_job job = {0};
    buffer out = {0};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    fp8moe_status st = sources_find(given->operands, given->operand_count, &found, &err);
    if (st == FP8MOE_OK) st = open_ranks(&job, &found, given, &err);
    cli_exit code = st == FP8MOE_OK ? verdict_of(&job) : cli_report_error(&err);
    if (st == FP8MOE_OK) {
        if (format == &report_json)
            print_json(&job, code, &out);
        else
            print_text(&job, code, &out);
        code = cli_worse(code, report_send(given, &out));
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
    .summary = "hold the expert-parallel ranks of one layer against each other",
    .description = "Each dump is one rank's: its ids and weights are global, its output partial. A "
                   "rank's share of the router's "
                   "weight must show in its output's energy: one that was given weight and "
                   "returned nothing is lost, one that "
                   "returned something for nothing has its ids shifted. With --reduced the sum of "
                   "the partial outputs is held "
                   "against the output behind the reduction. Nothing is emulated here; verify "
                   "judges each rank.",
    .example = "fp8moe ranks rank0.safetensors rank1.safetensors --reduced reduced.safetensors",
    .run = ranks,
};

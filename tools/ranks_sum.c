/* The outputs of all ranks added up, and the reduced output held against their sum. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>

#define BF16_HALF_STEP 0x1p-8 /* relative; of one rounding */
/* How much of the squared distance an explanation may leave. */
#define EXPLAINED (1.0 / 16)

/* ---- adding up ---- */

/* As a maximum over tensors goes: NaN stays, since nothing is larger. */
static void raise_maximum(double *most, double value)
{
    if (isnan(value) || value > *most) *most = value;
}

fp8moe_status ranks_add_up(ranks_job *job, fp8moe_error *err)
{
    job->size = fp8moe_tensor_count(&job->rows[0].output);
    job->sum = cli_allocate((size_t)(job->size + 1) * sizeof *job->sum);
    job->mass = ranks_mass(&job->rows[0], 0, job->num_experts);
    for (size_t r = 0; r < job->count; r++) {
        const rank_row *row = &job->rows[r];
        if (fp8moe_tensor_count(&row->output) != job->size)
            return cli_in_file(err,
                               cli_fail(err, FP8MOE_ERR_SHAPE,
                                        "its output has another size than that of %s: these are "
                                        "not ranks of one layer",
                                        job->rows[0].file),
                               row->file);
        for (int64_t i = 0; i < job->size; i++) {
            double value;
            fp8moe_tensor_read_f64(&row->output, i, 1, &value);
            job->sum[i] += value;
        }
        job->energy += row->energy;
        if (!row->has_pair) continue;
        job->has_pair = true;
        raise_maximum(&job->ulp, row->ulp);
        raise_maximum(&job->relative, row->relative);
    }
    return FP8MOE_OK;
}

/* ---- the reduced output ---- */

static double value_at(const fp8moe_tensor *tensor, int64_t i)
{
    double value;
    fp8moe_tensor_read_f64(tensor, i, 1, &value);
    return value;
}

/* Squared distance of the reduced output from factor * (sum - part); `part` may be NULL. */
static double distance_from(const ranks_job *job, const fp8moe_tensor *reduced, double factor,
                            const fp8moe_tensor *part)
{
    double distance = 0;
    for (int64_t i = 0; i < job->size; i++) {
        const double want = factor * (job->sum[i] - (part ? value_at(part, i) : 0));
        const double off = value_at(reduced, i) - want;
        distance += off * off;
    }
    return distance;
}

/* Squared distance of the reduced output from one rank's own. */
static double distance_from_part(const ranks_job *job, const fp8moe_tensor *reduced,
                                 const fp8moe_tensor *part)
{
    double distance = 0;
    for (int64_t i = 0; i < job->size; i++) {
        const double off = value_at(reduced, i) - value_at(part, i);
        distance += off * off;
    }
    return distance;
}

/* Gains that a wrong reduction has: N ranks reduced twice, or averaged. */
static char *explain_gain(const ranks_job *job, const fp8moe_tensor *reduced, double whole)
{
    const double ranks = (double)job->count;
    if (job->count < 2) return NULL;
    if (distance_from(job, reduced, ranks, NULL) < EXPLAINED * whole)
        return cli_text("it is the sum times %zu: reduced twice", job->count);
    if (distance_from(job, reduced, 1 / ranks, NULL) < EXPLAINED * whole)
        return cli_text("it is the sum divided by %zu: averaged", job->count);
    return NULL;
}

static char *explain_reduced(const ranks_job *job, const fp8moe_tensor *reduced, double whole)
{
    for (size_t r = 0; r < job->count; r++) {
        const rank_row *row = &job->rows[r];
        if (job->count > 2 && row->energy > 0 &&
            distance_from_part(job, reduced, &row->output) < EXPLAINED * row->energy)
            return cli_text("it is the output of rank %lld alone: nothing was reduced",
                            (long long)row->rank);
        if (distance_from(job, reduced, 1, &row->output) < EXPLAINED * whole)
            return cli_text("it is the sum without rank %lld", (long long)row->rank);
    }
    return explain_gain(job, reduced, whole);
}

static void hold(ranks_job *job, const fp8moe_tensor *reduced)
{
    const double whole = distance_from(job, reduced, 1, NULL);
    double energy = 0;
    for (int64_t i = 0; i < job->size; i++)
        energy += job->sum[i] * job->sum[i];
    job->has_reduced = true;
    job->distance = energy > 0 ? sqrt(whole / energy) : sqrt(whole);
    /* each addition rounds once to bf16; the partials may be larger than their sum */
    job->allowed =
        BF16_HALF_STEP * (double)job->count * sqrt(energy > 0 ? fmax(1, job->energy / energy) : 1);
    if (!(job->distance <= job->allowed))
        job->reduced_reason = explain_reduced(job, reduced, whole);
}

fp8moe_status ranks_hold_reduced(ranks_job *job, const char *path, fp8moe_error *err)
{
    fp8moe_dump *dump = NULL;
    fp8moe_tensor reduced;
    fp8moe_status st = source_open(&(source){.title = (char *)path}, &dump, err);
    if (st == FP8MOE_OK && fp8moe_dump_count(dump) != 1)
        st = cli_fail(err, FP8MOE_ERR_USAGE, "--reduced takes a file of one tensor, this holds %zu",
                      fp8moe_dump_count(dump));
    if (st == FP8MOE_OK) st = fp8moe_dump_tensor(dump, 0, &reduced, err);
    if (st == FP8MOE_OK &&
        (fp8moe_tensor_count(&reduced) != job->size || !fp8moe_dtype_is_numeric(reduced.dtype)))
        st = cli_fail(err, FP8MOE_ERR_SHAPE, "the reduced output has another size than the ranks'");
    if (st == FP8MOE_OK) hold(job, &reduced);
    fp8moe_dump_close(dump);
    return cli_in_file(err, st, path);
}

/* One rank's dump: its window, its routing, its output. */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_of(const settings *all, setting_id id)
{
    return all->value[id].source == SOURCE_UNKNOWN ? 0 : all->value[id].integer;
}

/* ---- routing ---- */

static bool is_integer(fp8moe_dtype dtype)
{
    return dtype >= FP8MOE_DTYPE_U8 && dtype <= FP8MOE_DTYPE_I64;
}

static fp8moe_status read_routing(rank_row *row, fp8moe_error *err)
{
    const fp8moe_inputs *in = &row->subject.fields.inputs;
    const fp8moe_tensor *ids = &in->topk_ids, *weights = &in->topk_weights;
    const int64_t slots = fp8moe_tensor_count(ids);
    if (!fp8moe_tensor_present(ids) || !fp8moe_tensor_present(weights) || ids->rank < 1 ||
        fp8moe_tensor_count(weights) != slots)
        return cli_fail(err, FP8MOE_ERR_NOT_FOUND,
                        "ranks needs topk_ids and topk_weights of equal shape");
    if (!is_integer(ids->dtype) || !fp8moe_dtype_is_numeric(weights->dtype) ||
        is_integer(weights->dtype))
        return cli_fail(err, FP8MOE_ERR_DTYPE,
                        "topk_ids are %s and topk_weights %s: integers and "
                        "floats are expected",
                        fp8moe_dtype_name(ids->dtype), fp8moe_dtype_name(weights->dtype));
    row->top_k = ids->shape[ids->rank - 1];
    row->tokens = row->top_k ? slots / row->top_k : 0;
    row->ids = cli_allocate((size_t)(slots + 1) * sizeof *row->ids);
    row->weights = cli_allocate((size_t)(slots + 1) * sizeof *row->weights);
    fp8moe_tensor_read_i64(ids, 0, slots, row->ids);
    fp8moe_tensor_read_f64(weights, 0, slots, row->weights);
    return FP8MOE_OK;
}

/* ---- output ---- */

/* The partial output: the only one, or of several the one that upstream's verify mode returns. */
static fp8moe_status choose_output(rank_row *row, fp8moe_error *err)
{
    const fields *found = &row->subject.fields;
    const field_output *chosen = found->output_count == 1 ? &found->outputs[0] : NULL;
    const field_output *stock = NULL;
    for (size_t i = 0; i < found->output_count; i++) {
        const char *recipe = found->outputs[i].recipe;
        if (recipe && !strcmp(recipe, "gather")) chosen = &found->outputs[i];
        if (recipe && !strcmp(recipe, "stock")) stock = &found->outputs[i];
    }
    if (!chosen)
        return cli_fail(err, FP8MOE_ERR_NOT_FOUND,
                        "ranks needs one output a dump, or custom among them; here are %zu",
                        found->output_count);
    row->output = chosen->tensor;
    if (!stock || stock == chosen) return FP8MOE_OK;
    fp8moe_compare_options comparing;
    fp8moe_comparison pair;
    fp8moe_compare_options_default(&comparing);
    CLI_TRY(fp8moe_compare(&stock->tensor, &chosen->tensor, &comparing, &pair, err));
    row->has_pair = true;
    row->ulp = pair.upstream_ulp;
    row->relative = pair.upstream_relative;
    return FP8MOE_OK;
}

static fp8moe_status read_output(rank_row *row, fp8moe_error *err)
{
    const int64_t size = fp8moe_tensor_count(&row->output);
    if (!fp8moe_dtype_is_numeric(row->output.dtype) || row->tokens < 1 || size % row->tokens)
        return cli_fail(err, FP8MOE_ERR_SHAPE, "the output has no row for each of %lld tokens",
                        (long long)row->tokens);
    const int64_t hidden = size / row->tokens;
    double *values = cli_allocate((size_t)(hidden + 1) * sizeof *values);
    row->returned = cli_allocate((size_t)row->tokens * sizeof *row->returned);
    for (int64_t token = 0; token < row->tokens; token++) {
        fp8moe_tensor_read_f64(&row->output, token * hidden, hidden, values);
        for (int64_t i = 0; i < hidden; i++) {
            row->returned[token] |= values[i] != 0;
            if (isfinite(values[i]))
                row->energy += values[i] * values[i];
            else
                row->nonfinite++;
        }
    }
    free(values);
    return FP8MOE_OK;
}

static fp8moe_status check_dispatch(const rank_row *row, fp8moe_error *err)
{
    const fp8moe_tensor *x = &row->subject.fields.inputs.hidden_states;
    if (!fp8moe_tensor_present(x) || x->rank < 1 || !x->shape[x->rank - 1]) return FP8MOE_OK;
    const int64_t tokens = fp8moe_tensor_count(x) / x->shape[x->rank - 1];
    if (tokens == row->tokens) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_SHAPE,
                    "hidden_states has %lld token rows, topk_ids %lld: x was not dispatched "
                    "(all-gathered) as the ids were",
                    (long long)tokens, (long long)row->tokens);
}

/* ---- what they have to do with each other ---- */

double ranks_mass(const rank_row *row, int64_t first, int64_t count)
{
    double mass = 0;
    for (int64_t i = 0; i < row->tokens * row->top_k; i++)
        if (row->ids[i] >= first && row->ids[i] < first + count && isfinite(row->weights[i]))
            mass += fabs(row->weights[i]);
    return mass;
}

void ranks_contradictions(const rank_row *row, int64_t first, int64_t count, int64_t *lost,
                          int64_t *stray)
{
    *lost = *stray = 0;
    for (int64_t token = 0; token < row->tokens; token++) {
        bool given = false;
        for (int64_t i = token * row->top_k; i < (token + 1) * row->top_k; i++)
            given |= row->ids[i] >= first && row->ids[i] < first + count && row->weights[i] != 0;
        *lost += given && !row->returned[token];
        *stray += !given && row->returned[token];
    }
}

static fp8moe_status find_window(rank_row *row, fp8moe_error *err)
{
    const settings *all = &row->subject.settings;
    const fp8moe_tensor *w13 = &row->subject.fields.inputs.w13_weight;
    row->rank = integer_of(all, SETTING_EP_RANK);
    row->slice = integer_of(all, SETTING_TP_RANK);
    row->count = integer_of(all, SETTING_LOCAL_NUM_EXPERTS);
    if (!row->count && w13->rank == 3) row->count = w13->shape[0];
    if (!row->count)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "how many experts has this rank? give --local-num-experts");
    row->first = row->rank * row->count;
    return FP8MOE_OK;
}

static fp8moe_status read_rank(rank_row *row, fp8moe_error *err)
{
    CLI_TRY(find_window(row, err));
    CLI_TRY(choose_output(row, err));
    CLI_TRY(read_routing(row, err));
    CLI_TRY(check_dispatch(row, err));
    CLI_TRY(read_output(row, err));
    row->mass = ranks_mass(row, row->first, row->count);
    ranks_contradictions(row, row->first, row->count, &row->lost, &row->stray);
    return FP8MOE_OK;
}

fp8moe_status ranks_open(const source *from, const options *given, rank_row *row, fp8moe_error *err)
{
    row->file = from->title;
    row->acts_as = -1;
    CLI_TRY(subject_open(from, given, &row->subject, err));
    return cli_in_file(err, read_rank(row, err), from->title);
}

void ranks_close(rank_row *row)
{
    subject_close(&row->subject);
    free(row->ids);
    free(row->weights);
    free(row->returned);
    free(row->unjudged);
    free(row->part);
    free(row->finding);
}

/* A rank's part of a made-up layer: its window of the experts, its slice of each. */
#include "synth.h"

#include <string.h>

/* What is taken of a tensor [experts, planes * rows, columns]; of one without columns, all rows. */
typedef struct part {
    int64_t first_expert, experts;
    int planes;
    int64_t slices_of_rows, slices_of_columns, slice;
} part;

/* The rows and columns of one plane of one expert. */
static fp8moe_tensor take_plane(const fp8moe_tensor *tensor, const part *p, int64_t expert,
                                int plane)
{
    const fp8moe_tensor whole = fp8moe_tensor_at(tensor, p->first_expert + expert);
    const int64_t all = whole.shape[0] / p->planes, rows = all / p->slices_of_rows;
    const int64_t first = plane * all + (p->slices_of_rows > 1 ? p->slice * rows : 0);
    const fp8moe_tensor taken = fp8moe_tensor_slice(&whole, 0, first, rows);
    if (p->slices_of_columns == 1) return taken;
    const int64_t columns = whole.shape[1] / p->slices_of_columns;
    return fp8moe_tensor_slice(&taken, 1, p->slice * columns, columns);
}

static void replace(synth_layer *layer, const fp8moe_tensor *old, const fp8moe_tensor *with)
{
    for (size_t i = 0; i < layer->tensor_count; i++)
        if (layer->tensors[i].tensor.data == old->data) layer->tensors[i].tensor = *with;
}

static fp8moe_status cut(synth_layer *layer, fp8moe_tensor *tensor, const part *p,
                         fp8moe_error *err)
{
    int64_t shape[3] = {p->experts};
    void *data;
    if (!fp8moe_tensor_present(tensor)) return FP8MOE_OK;
    shape[1] = tensor->shape[1] / p->slices_of_rows;
    if (tensor->rank == 3) shape[2] = tensor->shape[2] / p->slices_of_columns;
    fp8moe_tensor out = fp8moe_tensor_view(NULL, tensor->dtype, tensor->rank, shape);
    const size_t bits = (size_t)fp8moe_dtype_bits(tensor->dtype);
    CLI_TRY(scratch_take(layer->memory, (size_t)fp8moe_tensor_count(&out) * bits / 8, &data, err));
    out.data = data;
    for (int64_t expert = 0; expert < p->experts; expert++)
        for (int plane = 0; plane < p->planes; plane++) {
            const fp8moe_tensor taken = take_plane(tensor, p, expert, plane);
            const int64_t count = fp8moe_tensor_count(&taken);
            fp8moe_tensor_read_raw(&taken, 0, count, data);
            data = (char *)data + (size_t)count * bits / 8;
        }
    replace(layer, tensor, &out);
    *tensor = out;
    return FP8MOE_OK;
}

/* One static scale an expert. */
static void cut_experts(synth_layer *layer, fp8moe_tensor *tensor, const part *p)
{
    if (!fp8moe_tensor_present(tensor)) return;
    const fp8moe_tensor out = fp8moe_tensor_slice(tensor, 0, p->first_expert, p->experts);
    replace(layer, tensor, &out);
    *tensor = out;
}

static fp8moe_status check_ranks(const synth_plan *plan, const synth_layer *layer,
                                 fp8moe_error *err)
{
    const fp8moe_ranks *ranks = &plan->ranks;
    const int64_t experts = plan->shape.experts, inter = plan->shape.intermediate;
    const bool blocks = layer->inputs.w2_scale.rank == 3;
    if (experts % ranks->ep_size)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--ep-size %lld does not divide %lld experts",
                        (long long)ranks->ep_size, (long long)experts);
    if (ranks->ep_rank >= ranks->ep_size || ranks->tp_rank >= ranks->tp_size)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "ranks count from 0 and end below their number: "
                        "--ep-rank needs --ep-size, --tp-rank --tp-size");
    const int64_t slice = inter / ranks->tp_size;
    if (inter % ranks->tp_size ||
        (blocks && ranks->tp_size > 1 && (slice % plan->block_rows || slice % plan->block_columns)))
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--tp-size %lld does not slice I %lld into whole scale blocks",
                        (long long)ranks->tp_size, (long long)inter);
    return FP8MOE_OK;
}

fp8moe_status synth_take_rank(const synth_plan *plan, synth_layer *layer, fp8moe_error *err)
{
    const fp8moe_ranks *ranks = &plan->ranks;
    fp8moe_inputs *in = &layer->inputs;
    CLI_TRY(check_ranks(plan, layer, err));
    if (ranks->ep_size == 1 && ranks->tp_size == 1) return FP8MOE_OK;
    const int64_t experts = plan->shape.experts / ranks->ep_size;
    const part window = {ranks->ep_rank * experts, experts, 1, 1, 1, ranks->tp_rank};
    part w13 = window, w2 = window, w2_scale = window;
    w13.planes = 2;
    w13.slices_of_rows = ranks->tp_size;
    w2.slices_of_columns = ranks->tp_size;
    if (in->w2_scale.rank == 3) w2_scale.slices_of_columns = ranks->tp_size;
    CLI_TRY(cut(layer, &in->w13_weight, &w13, err));
    CLI_TRY(cut(layer, &in->w13_scale, &w13, err));
    CLI_TRY(cut(layer, &in->w2_weight, &w2, err));
    CLI_TRY(cut(layer, &in->w2_scale, &w2_scale, err));
    cut_experts(layer, &in->w2_input_scale, &window);
    return FP8MOE_OK;
}

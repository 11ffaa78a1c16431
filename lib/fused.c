#include "fused.h"

static bool is_one_number(const fp8moe_tensor *t)
{
    return t->rank == 0 || (t->rank == 1 && t->shape[0] == 1);
}

fp8moe_status fused_scale(const fp8moe_tensor *scale, const fp8moe_tensor *weight, int64_t index,
                          const char *name, fp8moe_tensor *out, fp8moe_error *err)
{
    const bool fused = weight->rank == 3;
    const int64_t experts = fused ? weight->shape[0] : 1;
    char shape[96];
    *out = *scale;
    if (!fp8moe_tensor_present(scale) || is_one_number(scale)) return FP8MOE_OK;
    if (fused ? scale->shape[0] == experts : scale->rank == 3 && scale->shape[0] == 1) {
        *out = fp8moe_tensor_at(scale, index);
        return FP8MOE_OK;
    }
    if (experts == 1) return FP8MOE_OK;
    return fail_at(err, FP8MOE_ERR_SHAPE, name, -1,
                   "scale %s: expected %lld experts in its first dimension",
                   fp8moe_tensor_shape_text(scale, shape, sizeof shape), (long long)experts);
}

/* The half of a scale that belongs to one half of the rows; where it cannot be halved, the rows'
 * place in the whole. */
static void scale_half(fp8moe_weight *w, const fp8moe_tensor *scale, int half, int64_t rows,
                       int64_t block_rows)
{
    const int64_t inter = rows / 2;
    w->scale = *scale;
    if (!fp8moe_tensor_present(scale) || is_one_number(scale)) return;
    if (scale->shape[0] == 2 && scale->rank == 1 && rows != 2) {
        w->scale = fp8moe_tensor_at(scale, half);
    } else if (scale->shape[0] == 2 * ceil_div(inter, block_rows)) {
        w->scale = fp8moe_tensor_slice(scale, 0, half * (scale->shape[0] / 2), scale->shape[0] / 2);
    } else {
        w->row_offset = half * inter;
        w->full_rows = rows;
    }
}

fp8moe_status fused_split(const fp8moe_tensor *w13, const fp8moe_tensor *scale, int64_t block_rows,
                          const char *name, fp8moe_weight *gate, fp8moe_weight *up,
                          fp8moe_error *err)
{
    const int64_t rows = w13->shape[0];
    fp8moe_weight *const halves[2] = {gate, up};
    if (rows % 2)
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1,
                       "%lld rows: gate and up need an even number", (long long)rows);
    for (int half = 0; half < 2; half++) {
        *halves[half] =
            (fp8moe_weight){.weight = fp8moe_tensor_slice(w13, 0, half * (rows / 2), rows / 2)};
        scale_half(halves[half], scale, half, rows, block_rows);
    }
    return FP8MOE_OK;
}

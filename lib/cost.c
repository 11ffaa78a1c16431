#include "common.h"

#include <fp8moe/cost.h>
#include <stdlib.h>

/* ---- sizes ---- */

static double codes_of_expert(const fp8moe_cost_shape *shape)
{
    return 3.0 * (double)shape->intermediate * (double)shape->hidden;
}

static double bytes_of_expert(const fp8moe_cost_shape *shape)
{
    return codes_of_expert(shape) +
           4.0 * (2.0 * (double)shape->intermediate + (double)shape->hidden);
}

fp8moe_status fp8moe_cost_check(const fp8moe_cost_shape *shape, fp8moe_error *err)
{
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = {
        {"hidden size", shape->hidden, INT64_C(1) << 53},
        {"intermediate size", shape->intermediate, INT64_C(1) << 53},
        {"num_experts", shape->num_experts, INT64_C(1) << 53},
        {"local_num_experts", shape->local_num_experts, shape->num_experts},
        {"top_k", shape->top_k, shape->num_experts},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].most)
            return fail(err, FP8MOE_ERR_VALUE, "%s %lld is outside 1..%lld", sizes[i].name,
                        (long long)sizes[i].value, (long long)sizes[i].most);
    if (codes_of_expert(shape) * (double)shape->num_experts > 0x1p53)
        return fail(err, FP8MOE_ERR_VALUE, "a layer of more than 2^53 codes");
    return FP8MOE_OK;
}

/* ---- load ---- */

static double power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return result;
}

fp8moe_cost_load fp8moe_cost_expect(const fp8moe_cost_shape *shape, int64_t tokens)
{
    assert(tokens >= 0);
    const double share = (double)shape->top_k / (double)shape->num_experts;
    const double local = (double)shape->local_num_experts;
    return (fp8moe_cost_load){.tokens = tokens,
                              .pairs = (double)tokens * share * local,
                              .experts = local * (1 - power(1 - share, tokens))};
}

static fp8moe_status check_ids(const fp8moe_cost_shape *shape, const fp8moe_tensor *ids,
                               fp8moe_error *err)
{
    char text[128];
    const bool is_integer = ids->dtype >= FP8MOE_DTYPE_U8 && ids->dtype <= FP8MOE_DTYPE_I64;
    if (!is_integer)
        return fail_at(err, FP8MOE_ERR_DTYPE, "topk_ids", -1, "ids are integers, these are %s",
                       fp8moe_dtype_name(ids->dtype));
    if (ids->rank < 1 || ids->shape[ids->rank - 1] != shape->top_k)
        return fail_at(err, FP8MOE_ERR_SHAPE, "topk_ids", -1, "expected [tokens, %lld], got %s",
                       (long long)shape->top_k, fp8moe_tensor_shape_text(ids, text, sizeof text));
    return FP8MOE_OK;
}

/* One token's ids: its pairs on this rank; `hit` [E_local] marks their experts. */
static fp8moe_status count_token(const fp8moe_cost_shape *shape, const int64_t *ids, int64_t token,
                                 int64_t first, unsigned char *hit, double *pairs,
                                 fp8moe_error *err)
{
    for (int64_t k = 0; k < shape->top_k; k++) {
        if (ids[k] < -1 || ids[k] >= shape->num_experts)
            return fail_at(err, FP8MOE_ERR_VALUE, "topk_ids", -1,
                           "token %lld, slot %lld: id %lld is outside the model's %lld experts",
                           (long long)token, (long long)k, (long long)ids[k],
                           (long long)shape->num_experts);
        const int64_t local = ids[k] - first;
        if (local < 0 || local >= shape->local_num_experts) continue;
        bool repeated = false;
        for (int64_t before = 0; before < k; before++)
            repeated = repeated || ids[before] == ids[k];
        if (!repeated) *pairs += 1;
        hit[local] = 1;
    }
    return FP8MOE_OK;
}

static fp8moe_status count_tokens(const fp8moe_cost_shape *shape, const fp8moe_tensor *topk_ids,
                                  int64_t first, int64_t *ids, unsigned char *hit,
                                  fp8moe_cost_load *out, fp8moe_error *err)
{
    for (int64_t token = 0; token < out->tokens; token++) {
        fp8moe_tensor_read_i64(topk_ids, token * shape->top_k, shape->top_k, ids);
        TRY(count_token(shape, ids, token, first, hit, &out->pairs, err));
    }
    for (int64_t e = 0; e < shape->local_num_experts; e++)
        out->experts += hit[e];
    return FP8MOE_OK;
}

fp8moe_status fp8moe_cost_count(const fp8moe_cost_shape *shape, const fp8moe_tensor *topk_ids,
                                int64_t ep_rank, fp8moe_cost_load *out, fp8moe_error *err)
{
    int64_t first;
    TRY(check_ids(shape, topk_ids, err));
    if (ep_rank < 0 || !checked_mul(ep_rank, shape->local_num_experts, &first) ||
        first > shape->num_experts - shape->local_num_experts)
        return fail(err, FP8MOE_ERR_VALUE, "rank %lld of %lld local experts is outside the model",
                    (long long)ep_rank, (long long)shape->local_num_experts);
    *out =
        (fp8moe_cost_load){.tokens = fp8moe_tensor_count(topk_ids) / shape->top_k, .counted = true};
    int64_t *ids = calloc((size_t)shape->top_k, sizeof *ids);
    unsigned char *hit = calloc((size_t)shape->local_num_experts, 1);
    const fp8moe_status status =
        ids && hit ? count_tokens(shape, topk_ids, first, ids, hit, out, err)
                   : fail(err, FP8MOE_ERR_NOMEM, "no memory for the ids of a token");
    free(hit);
    free(ids);
    return status;
}

/* ---- cost ---- */

static double min_f64(double a, double b)
{
    return a < b ? a : b;
}

fp8moe_cost fp8moe_cost_of(const fp8moe_cost_shape *shape, fp8moe_path path,
                           const fp8moe_cost_load *load)
{
    const double local = (double)shape->local_num_experts;
    const double tokens = (double)load->tokens;
    const bool gathers = path == FP8MOE_PATH_GATHER;
    const double read = gathers ? min_f64(local, tokens * (double)shape->top_k) : local;
    const double pairs = path == FP8MOE_PATH_STOCK ? load->pairs : read * tokens;
    const double w2_as_f32 = 4.0 * (double)shape->hidden * (double)shape->intermediate;
    const double copied = gathers ? read * 2 * (bytes_of_expert(shape) + w2_as_f32) : 0;
    return (fp8moe_cost){.experts_read = read,
                         .weight_bytes = read * bytes_of_expert(shape),
                         .copied_bytes = copied,
                         .multiplies = pairs * codes_of_expert(shape),
                         .useful = pairs > 0 ? load->pairs / pairs : 1};
}

double fp8moe_cost_seconds(const fp8moe_cost_machine *machine, fp8moe_path path,
                           const fp8moe_cost *cost)
{
    const double moved = cost->weight_bytes + machine->copied_share * cost->copied_bytes;
    return machine->launch[path] + moved / machine->bandwidth;
}

static bool gather_is_faster(const fp8moe_cost_shape *shape, const fp8moe_cost_machine *machine,
                             int64_t tokens)
{
    const fp8moe_cost_load load = fp8moe_cost_expect(shape, tokens);
    const fp8moe_cost stock = fp8moe_cost_of(shape, FP8MOE_PATH_STOCK, &load);
    const fp8moe_cost gather = fp8moe_cost_of(shape, FP8MOE_PATH_GATHER, &load);
    return fp8moe_cost_seconds(machine, FP8MOE_PATH_GATHER, &gather) <
           fp8moe_cost_seconds(machine, FP8MOE_PATH_STOCK, &stock);
}

/* From g = E_local on nothing changes any more, and below it more tokens only cost more. */
int64_t fp8moe_cost_crossover(const fp8moe_cost_shape *shape, const fp8moe_cost_machine *machine)
{
    int64_t slower = ceil_div(shape->local_num_experts, shape->top_k);
    int64_t faster = 0;
    if (gather_is_faster(shape, machine, slower)) return FP8MOE_TOKENS_UNLIMITED;
    while (slower - faster > 1) {
        const int64_t middle = faster + (slower - faster) / 2;
        if (gather_is_faster(shape, machine, middle))
            faster = middle;
        else
            slower = middle;
    }
    return faster;
}

#include "bits.h"
#include "common.h"
#include "kernels.h"

#include <fp8moe/checkpoint.h>
#include <stdlib.h>

static bool is_operand(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_BF16 || dtype == FP8MOE_DTYPE_F32 || dtype == FP8MOE_DTYPE_F16;
}

static fp8moe_status check(const fp8moe_tensor *hidden_states, const fp8moe_tensor *router,
                           fp8moe_tensor *rows, fp8moe_error *err)
{
    char a[96], b[96];
    if (!is_operand(hidden_states->dtype) || !is_operand(router->dtype))
        return fail(err, FP8MOE_ERR_DTYPE,
                    "logits are computed from BF16, F16 or F32, not from %s and %s",
                    fp8moe_dtype_name(hidden_states->dtype), fp8moe_dtype_name(router->dtype));
    TRY(error_in_tensor(err, fp8moe_tensor_as_rows(hidden_states, rows, err), "hidden_states"));
    if (router->rank == 2 && rows->shape[1] == router->shape[1]) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_SHAPE,
                "hidden_states %s and a router of %s: expected [..., H] and [E, H]",
                fp8moe_tensor_shape_text(hidden_states, a, sizeof a),
                fp8moe_tensor_shape_text(router, b, sizeof b));
}

fp8moe_status fp8moe_router_logits(const fp8moe_tensor *hidden_states, const fp8moe_tensor *router,
                                   float *logits, fp8moe_error *err)
{
    fp8moe_tensor rows;
    kernels k;
    TRY(check(hidden_states, router, &rows, err));
    (void)kernels_init(&k, NULL, false);
    const int64_t tokens = rows.shape[0], hidden = rows.shape[1], experts = router->shape[0];
    const fp8moe_precision out =
        router->dtype == FP8MOE_DTYPE_F32 ? FP8MOE_ROUND_F32 : FP8MOE_ROUND_BF16;
    double *const a = calloc((size_t)(2 * hidden) + 1, sizeof *a), *const b = a ? a + hidden : NULL;
    if (!a) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a row of the router");
    for (int64_t e = 0; e < experts; e++) {
        fp8moe_tensor_read_f64(router, e * hidden, hidden, b);
        for (int64_t t = 0; t < tokens; t++) {
            double dot;
            fp8moe_tensor_read_f64(&rows, t * hidden, hidden, a);
            k.dot(&dot, 1, a, 1, b, 1, hidden);
            logits[t * experts + e] = (float)round_to(out, round_f32(dot));
        }
    }
    free(a);
    return FP8MOE_OK;
}

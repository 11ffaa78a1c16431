#include "policy.h"

#include <stdlib.h>
#include <string.h>

#define PLANTED_GAIN 0.02

fp8moe_status policy_find(const options *given, policy *out, fp8moe_error *err)
{
    const char *text = options_value(given, OPTION_POLICY);
    *out = (policy){.rule = POLICY_STRICT};
    if (!text || !strcmp(text, "strict")) return FP8MOE_OK;
    out->rule = POLICY_UPSTREAM;
    if (!strcmp(text, "upstream")) return FP8MOE_OK;
    out->rule = POLICY_ULP;
    if (!strncmp(text, "ulp:", 4) && cli_parse_number(text + 4, &out->steps) && out->steps >= 0)
        return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE,
                    "--policy '%s': expected strict, upstream or ulp:N with N at least 0", text);
}

char *policy_name(const policy *p)
{
    if (p->rule == POLICY_ULP) return cli_text("ulp:%g", p->steps);
    return cli_copy(p->rule == POLICY_UPSTREAM ? "upstream" : "strict");
}

bool policy_passes(const policy *p, const fp8moe_comparison *comparison)
{
    switch (p->rule) {
    case POLICY_UPSTREAM:
        return !comparison->upstream_ulp_exceeds && !comparison->upstream_relative_exceeds;
    case POLICY_ULP:
        return !comparison->nonfinite_differs && comparison->fp8.max <= p->steps;
    case POLICY_STRICT:
        break;
    }
    return fp8moe_comparison_same(comparison);
}

/* The tensor with every value times `factor`; F64, rounded to bf16 where it held bf16 numbers. */
static fp8moe_status passes_scaled(const policy *p, const fp8moe_tensor *expected, double factor,
                                   const fp8moe_compare_options *comparing, double *values,
                                   bool *out, fp8moe_error *err)
{
    const int64_t count = fp8moe_tensor_count(expected);
    fp8moe_comparison comparison;
    fp8moe_tensor_read_f64(expected, 0, count, values);
    for (int64_t i = 0; i < count; i++)
        values[i] = expected->dtype == FP8MOE_DTYPE_BF16 ? fp8moe_round_bf16(values[i] * factor)
                                                         : values[i] * factor;
    const fp8moe_tensor scaled =
        fp8moe_tensor_view(values, FP8MOE_DTYPE_F64, expected->rank, expected->shape);
    CLI_TRY(fp8moe_compare(expected, &scaled, comparing, &comparison, err));
    *out = policy_passes(p, &comparison);
    return FP8MOE_OK;
}

fp8moe_status policy_is_blind(const policy *p, const fp8moe_tensor *expected,
                              const fp8moe_compare_options *comparing, bool *out, fp8moe_error *err)
{
    double *values = cli_allocate((size_t)fp8moe_tensor_count(expected) * sizeof *values);
    bool up = false, down = false;
    fp8moe_status st = passes_scaled(p, expected, 1 + PLANTED_GAIN, comparing, values, &up, err);
    if (st == FP8MOE_OK)
        st = passes_scaled(p, expected, 1 - PLANTED_GAIN, comparing, values, &down, err);
    free(values);
    *out = up || down;
    return st;
}

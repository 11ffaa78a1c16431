#include "decide.h"

#include <stdlib.h>
#include <string.h>

fp8moe_status decide_options(const options *given, fp8moe_compare_options *out, fp8moe_error *err)
{
    fp8moe_compare_options_default(out);
    const char *name = options_value(given, OPTION_GRID);
    if (!name) return FP8MOE_OK;
    for (fp8moe_grid grid = FP8MOE_GRID_ROW; grid <= FP8MOE_GRID_UNSCALED; grid++) {
        out->grid = grid;
        if (!strcmp(name, fp8moe_grid_name(grid))) return FP8MOE_OK;
    }
    return cli_fail(err, FP8MOE_ERR_USAGE, "--grid '%s': expected row, tensor or unscaled", name);
}

/* What the tensor is the same as, or differs from. */
static char *counterpart(const report_tensor *tensor)
{
    if (!tensor->recipe) return cli_copy("the reference");
    return cli_text("recipe %s (evidence: %s)", tensor->recipe->name,
                    fp8moe_evidence_name(tensor->evidence));
}

/* The first rule of the verdict that a comparison breaks. */
static void add_difference(const fp8moe_comparison *c, buffer *out)
{
    if (c->nonfinite_differs)
        buffer_format(out,
                      ": %lld of %lld elements are NaN or Inf on one side only, the first at row "
                      "%lld, column %lld",
                      (long long)c->nonfinite_differs, (long long)(c->count - c->padding),
                      (long long)c->first_nonfinite_differs_row,
                      (long long)c->first_nonfinite_differs_column);
    else
        buffer_format(out, ": %.4g %% of %lld elements are identical", 100 * c->identical_share,
                      (long long)(c->count - c->padding));
    if (c->beyond)
        buffer_format(
            out, ", %lld lie more than 2 bf16 steps and 1e-6 of their row's largest magnitude away",
            (long long)c->beyond);
}

/* Whether an unstructured difference is no larger than the device's measured noise: half of the
 * squared distance of two captures is each one's own. */
static bool is_within_spread(const report_tensor *tensor)
{
    return tensor->repeats && tensor->judgement.verdict == FP8MOE_VERDICT_DIFFERENT &&
           tensor->judgement.kind == FP8MOE_KIND_ROUNDING &&
           tensor->comparison.rel_l2 <= tensor->repeat_spread;
}

/* The judge's own words. */
static void decide_by_judge(report_tensor *tensor, const char *other, buffer *out)
{
    static const verdict verdicts[] = {[FP8MOE_VERDICT_SAME] = VERDICT_SAME,
                                       [FP8MOE_VERDICT_DIFFERENT] = VERDICT_DIFFERENT,
                                       [FP8MOE_VERDICT_INCONCLUSIVE] = VERDICT_INCONCLUSIVE};
    static const char *const relations[] = {[VERDICT_SAME] = "is the same as",
                                            [VERDICT_DIFFERENT] = "differs from",
                                            [VERDICT_INCONCLUSIVE] = "cannot be told from"};
    const fp8moe_judgement *j = &tensor->judgement;
    tensor->verdict = verdicts[j->verdict];
    if (is_within_spread(tensor)) {
        tensor->verdict = VERDICT_INCONCLUSIVE;
        buffer_format(
            out,
            "%s differs from %s by no more (rel-L2 %.3g) than the device from itself (%.3g in %d "
            "repeated captures)",
            tensor->name, other, tensor->comparison.rel_l2, tensor->repeat_spread, tensor->repeats);
        return;
    }
    buffer_format(out, "%s %s %s", tensor->name, relations[tensor->verdict], other);
    if (j->axis[0]) buffer_format(out, " with %s (an open axis)", j->axis);
    buffer_format(out, ": %s", j->reason);
}

/* By how much somebody's bar is missed. */
static void add_miss(const report_tensor *tensor, buffer *out)
{
    const fp8moe_comparison *c = &tensor->comparison;
    if (tensor->policy.rule == POLICY_UPSTREAM)
        buffer_format(out,
                      ": %g FP8-ULP against a bar of 2, %.3g relative against 0.05 out of range",
                      c->upstream_ulp, c->upstream_relative);
    else if (tensor->policy.rule == POLICY_ULP && !c->nonfinite_differs)
        buffer_format(out, ": %g FP8 steps on the %s grid against a bar of %g", c->fp8.max,
                      fp8moe_grid_name(c->grid), tensor->policy.steps);
    else
        add_difference(c, out);
}

static void decide_by_policy(report_tensor *tensor, const char *other, buffer *out)
{
    const bool passes = policy_passes(&tensor->policy, &tensor->comparison);
    const bool blind = policy_is_blind(&tensor->policy, &tensor->sight);
    char *name = policy_name(&tensor->policy);
    tensor->verdict = !passes ? VERDICT_DIFFERENT : blind ? VERDICT_INCONCLUSIVE : VERDICT_SAME;
    if (passes && blind) {
        buffer_format(
            out, "%s passes policy %s, but so would all zeros, or values half or twice as large",
            tensor->name, name);
    } else {
        buffer_format(out, "%s %s %s", tensor->name, passes ? "is the same as" : "differs from",
                      other);
        if (!passes) add_miss(tensor, out);
        if (tensor->policy.rule != POLICY_STRICT) buffer_format(out, " (policy %s)", name);
    }
    free(name);
}

void decide_tensor(report_tensor *tensor)
{
    const fp8moe_comparison *c = &tensor->comparison;
    char *other = counterpart(tensor);
    buffer out = {0};
    if (c->count == c->padding) {
        tensor->verdict = VERDICT_INCONCLUSIVE;
        buffer_format(&out, "nothing to judge in %s: %s", tensor->name,
                      c->count ? "it is zero on both sides" : "it has no elements");
    } else if (tensor->judged && tensor->policy.rule == POLICY_STRICT) {
        decide_by_judge(tensor, other, &out);
    } else {
        decide_by_policy(tensor, other, &out);
    }
    free(other);
    free(tensor->reason);
    tensor->reason = out.data;
}

static fp8moe_status parse_rows(const char *text, fp8moe_judge_options *out, fp8moe_error *err)
{
    const char *dots = strstr(text, "..");
    char *first = cli_text("%.*s", dots ? (int)(dots - text) : 0, text);
    const bool good = dots && cli_parse_integer(first, 0, INT64_MAX, &out->first_row) &&
                      cli_parse_integer(dots + 2, 0, INT64_MAX, &out->last_row) &&
                      out->first_row <= out->last_row;
    free(first);
    if (good) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE, "--rows '%s': expected A..B with A at most B", text);
}

fp8moe_status decide_judge_options(const options *given, fp8moe_judge_options *out,
                                   fp8moe_error *err)
{
    const char *rows = options_value(given, OPTION_ROWS);
    fp8moe_judge_options_default(out);
    out->worst_case = options_value(given, OPTION_WORST_CASE) != NULL;
    return rows ? parse_rows(rows, out, err) : FP8MOE_OK;
}

fp8moe_status decide_check(const options *given, fp8moe_error *err)
{
    const char *text = options_value(given, OPTION_INCONCLUSIVE);
    if (!text || !strcmp(text, "fail") || !strcmp(text, "pass")) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE, "--inconclusive '%s': expected fail or pass", text);
}

bool decide_holds_bf16(const fp8moe_tensor *tensor)
{
    if (tensor->dtype != FP8MOE_DTYPE_F32) return false;
    enum { CHUNK = 4096 };
    uint32_t bits[CHUNK];
    const int64_t count = fp8moe_tensor_count(tensor);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t some = count - first < CHUNK ? count - first : CHUNK;
        fp8moe_tensor_read_raw(tensor, first, some, bits);
        for (int64_t i = 0; i < some; i++)
            if (bits[i] & 0xFFFF) return false;
    }
    return true;
}

static cli_exit exit_of_verdict(const options *given, verdict v)
{
    const char *inconclusive = options_value(given, OPTION_INCONCLUSIVE);
    if (v == VERDICT_INCONCLUSIVE && inconclusive)
        return strcmp(inconclusive, "pass") ? CLI_DIFFERENT : CLI_SAME;
    static const cli_exit codes[] = {[VERDICT_SAME] = CLI_SAME,
                                     [VERDICT_INCONCLUSIVE] = CLI_INCONCLUSIVE,
                                     [VERDICT_DIFFERENT] = CLI_DIFFERENT,
                                     [VERDICT_ERROR] = CLI_SAME}; /* counted by its own status */
    return codes[v];
}

/* A case file's expectation decides where there is one; without, the verdict. */
static cli_exit exit_of_dump(const options *given, const report_dump *dump)
{
    if (!dump->expected || dump->verdict == VERDICT_ERROR)
        return exit_of_verdict(given, dump->verdict);
    return strcmp(dump->expected, verdict_name(dump->verdict)) ? CLI_DIFFERENT : CLI_SAME;
}

cli_exit decide_finish(const options *given, const report_format *format, report *whole,
                       cli_exit failures)
{
    cli_exit worst = failures;
    bool judged = false;
    for (size_t i = 0; i < whole->dump_count; i++) {
        worst = cli_worse(worst, exit_of_dump(given, &whole->dumps[i]));
        judged |= whole->dumps[i].verdict != VERDICT_ERROR;
    }
    if (judged) {
        buffer out = {0};
        report_judge(whole);
        format->report(whole, &out);
        worst = cli_worse(worst, report_send(given, &out));
    }
    report_free(whole);
    return worst;
}

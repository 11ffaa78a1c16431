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
                    fp8moe_evidence_name(tensor->recipe->evidence));
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

void decide_tensor(report_tensor *tensor)
{
    const fp8moe_comparison *c = &tensor->comparison;
    char *other = counterpart(tensor);
    buffer out = {0};
    if (c->count == c->padding) {
        tensor->verdict = VERDICT_INCONCLUSIVE;
        buffer_format(&out, "nothing to judge in %s: %s", tensor->name,
                      c->count ? "it is zero on both sides" : "it has no elements");
    } else if (fp8moe_comparison_same(c)) {
        tensor->verdict = VERDICT_SAME;
        buffer_format(&out, "%s is the same as %s", tensor->name, other);
    } else {
        tensor->verdict = VERDICT_DIFFERENT;
        buffer_format(&out, "%s differs from %s", tensor->name, other);
        add_difference(c, &out);
    }
    free(other);
    free(tensor->reason);
    tensor->reason = out.data;
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

static cli_exit exit_of_verdict(verdict v)
{
    static const cli_exit codes[] = {[VERDICT_SAME] = CLI_SAME,
                                     [VERDICT_INCONCLUSIVE] = CLI_INCONCLUSIVE,
                                     [VERDICT_DIFFERENT] = CLI_DIFFERENT,
                                     [VERDICT_ERROR] = CLI_SAME}; /* counted by its own status */
    return codes[v];
}

cli_exit decide_finish(const options *given, const report_format *format, report *whole,
                       cli_exit failures)
{
    cli_exit worst = failures;
    bool judged = false;
    for (size_t i = 0; i < whole->dump_count; i++) {
        worst = cli_worse(worst, exit_of_verdict(whole->dumps[i].verdict));
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

#include "catalog.h"
#include "model_commands.h"
#include "model_report.h"
#include "subject.h"

#include <stdlib.h>

/* With an expert dimension: a dump of one expert may do without. */
static fp8moe_tensor with_experts(const fp8moe_tensor *tensor, int rank)
{
    fp8moe_tensor out = *tensor;
    if (!fp8moe_tensor_present(tensor) || tensor->rank >= rank) return out;
    out.rank = tensor->rank + 1;
    out.shape[0] = 1;
    out.stride[0] = fp8moe_tensor_count(tensor);
    for (int i = 0; i < tensor->rank; i++) {
        out.shape[i + 1] = tensor->shape[i];
        out.stride[i + 1] = tensor->stride[i];
    }
    return out;
}

static fp8moe_status judge(const options *given, const subject_dump *subject, prep_report *prep,
                           fp8moe_error *err)
{
    const fp8moe_inputs *in = &subject->fields.inputs;
    const fp8moe_moe_weights *moe = &subject->weights.moe;
    const fp8moe_prepared dumped = {.w13 = with_experts(&in->w13_weight, 3),
                                    .w13_scale = with_experts(&in->w13_scale, 2),
                                    .w2 = with_experts(&in->w2_weight, 3),
                                    .w2_scale = with_experts(&in->w2_scale, 2)};
    const fp8moe_prepared_options asked = {
        .target = catalog_target(subject->settings.value[SETTING_TARGET].text),
        .block_rows = moe->block_rows,
        .block_cols = moe->block_cols,
        .threads = settings_threads(given)};
    CLI_TRY(
        fp8moe_prepared_judge(&dumped, moe->experts, moe->expert_count, &asked, &prep->found, err));
    prep->target = asked.target;
    prep_decide(prep);
    prep->settings = subject->settings;
    prep->notes = subject->weights.notes;
    prep->note_count = subject->weights.note_count;
    prep->threads = asked.threads;
    return FP8MOE_OK;
}

static fp8moe_status open_dump(const options *given, sources *found, subject_dump *subject,
                               fp8moe_error *err)
{
    if (!options_value(given, OPTION_WEIGHTS))
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--prep needs --weights: the folder the weights were prepared from");
    CLI_TRY(subject_check_options(given, err));
    CLI_TRY(sources_find(given->operands, given->operand_count, found, err));
    if (found->count != 1)
        return cli_fail(err, FP8MOE_ERR_USAGE, "--prep takes one layer, these files hold %zu",
                        found->count);
    return subject_open(&found->all[0], given, subject, err);
}

cli_exit verify_prep(const options *given, const report_format *format)
{
    fp8moe_error err;
    sources found = {0};
    subject_dump subject = {0};
    prep_report prep = {.folder = options_value(given, OPTION_WEIGHTS)};
    const double start = cli_seconds();
    fp8moe_status st = open_dump(given, &found, &subject, &err);
    if (st == FP8MOE_OK) {
        prep.file = found.all[0].title;
        st = cli_in_file(&err, judge(given, &subject, &prep, &err), prep.file);
    }
    cli_exit code;
    if (st == FP8MOE_OK) {
        buffer out = {0};
        prep.seconds = cli_seconds() - start;
        format->prep(&prep, &out);
        code = report_send(given, &out);
        code = cli_worse(code, prep.verdict == VERDICT_SAME ? CLI_SAME : CLI_DIFFERENT);
    } else {
        code = cli_report_error(&err);
    }
    free(prep.reason);
    subject_close(&subject);
    sources_free(&found);
    return code;
}

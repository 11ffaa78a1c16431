/* run: compute a layer from its dump and write the result. */
#include "catalog.h"
#include "report.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

/* The recipe that is set, or an error that says how to set it. */
static fp8moe_status find_recipe(const subject_dump *subject, const fp8moe_recipe **out,
                                 fp8moe_error *err)
{
    *out = catalog_recipe(subject->settings.value[SETTING_RECIPE].text);
    if (*out) return FP8MOE_OK;
    cli_fail(err, FP8MOE_ERR_USAGE, "no recipe: say --recipe NAME ('fp8moe recipes' lists them)");
    return cli_in_file(err, FP8MOE_ERR_USAGE, fp8moe_dump_path(subject->dump));
}

static fp8moe_status write_stages(const watch *seen, const settings *all, const char *path,
                                  fp8moe_error *err)
{
    fp8moe_named_tensor tensors[FP8MOE_STAGE_COUNT];
    fp8moe_metadata metadata[SETTING_COUNT];
    size_t count = 0;
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT; stage++)
        if (seen->keep[stage] && seen->stage[stage].seen)
            tensors[count++] =
                (fp8moe_named_tensor){fp8moe_stage_name(stage), seen->stage[stage].total};
    const size_t settings_count = settings_as_metadata(all, metadata);
    return cli_in_file(
        err, fp8moe_safetensors_write(path, tensors, count, metadata, settings_count, err), path);
}

static fp8moe_status run_dump(const options *given, subject_dump *subject, written *out,
                              fp8moe_error *err)
{
    scratch memory = {.beside = out->output};
    watch seen = {.memory = &memory};
    fp8moe_layer_info info;
    const bool all_stages = options_value(given, OPTION_STAGES) != NULL;
    CLI_TRY(find_recipe(subject, &out->recipe, err));
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT; stage++)
        seen.keep[stage] = all_stages || stage == FP8MOE_STAGE_OUTPUT;
    fp8moe_status st = subject_run(subject, out->recipe, &seen, &info, err);
    if (st == FP8MOE_OK) settings_from_layer(&subject->settings, &info);
    if (st == FP8MOE_OK) st = write_stages(&seen, &subject->settings, out->output, err);
    for (fp8moe_stage stage = 0; stage < FP8MOE_STAGE_COUNT && st == FP8MOE_OK; stage++)
        if (seen.keep[stage] && seen.stage[stage].seen)
            written_add(out, fp8moe_stage_name(stage), &seen.stage[stage].total,
                        seen.stage[stage].hash);
    out->settings = subject->settings;
    scratch_free(&memory);
    return st;
}

static cli_exit run(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    written out = {.command = "run",
                   .input = given->operands[0],
                   .output = options_value(given, OPTION_OUTPUT),
                   .threads = settings_threads(given)};
    if (!out.output) {
        cli_fail(&err, FP8MOE_ERR_USAGE, "run needs -o OUT.safetensors");
        return cli_report_error(&err);
    }
    if (subject_check_options(given, &err) != FP8MOE_OK) return cli_report_error(&err);
    const double start = cli_seconds();
    subject_dump subject = {0};
    sources from;
    fp8moe_status st = sources_find(given->operands, given->operand_count, &from, &err);
    if (st == FP8MOE_OK && from.count != 1)
        st = cli_fail(&err, FP8MOE_ERR_USAGE, "run takes one layer, these files hold %zu",
                      from.count);
    if (st == FP8MOE_OK) st = subject_open(&from.all[0], given, &subject, &err);
    if (st == FP8MOE_OK) st = run_dump(given, &subject, &out, &err);
    out.seconds = cli_seconds() - start;
    cli_exit code = st == FP8MOE_OK ? CLI_SAME : cli_report_error(&err);
    if (st == FP8MOE_OK) code = written_send(format, &out);
    written_free(&out);
    subject_close(&subject);
    sources_free(&from);
    return code;
}

const cli_command command_run = {
    .name = "run",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "compute a layer from its dump and write the output, or every stage",
    .description = "The file written carries the settings in its metadata.",
    .example = "fp8moe run layer.safetensors --recipe gather --target gaudi2 --weights-stage "
               "loaded --top-k 8 "
               "--stages -o stages.safetensors",
    .run = run,
};

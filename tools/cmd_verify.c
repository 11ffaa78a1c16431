/* verify: recompute layers from their dumps and hold every output they have against the result. */
#include "case.h"
#include "decide.h"
#include "model_commands.h"
#include "verify_dump.h"

#include <stdlib.h>

/* Every layer behind some paths, under the same options. */
static cli_exit verify_paths(report *whole, const char *const *paths, size_t count,
                             const options *given, const char *expected)
{
    fp8moe_error err;
    sources found = {0};
    verify_how how;
    fp8moe_status st = verify_how_read(given, &how, &err);
    if (st == FP8MOE_OK) st = subject_check_options(given, &err);
    if (st == FP8MOE_OK) st = sources_find(paths, count, &found, &err);
    cli_exit failures = st == FP8MOE_OK ? CLI_SAME : cli_report_error(&err);
    for (size_t i = 0; i < found.count; i++) {
        failures = cli_worse(failures, verify_dump_into(whole, &found.all[i], &how, given));
        if (expected) whole->dumps[whole->dump_count - 1].expected = cli_copy(expected);
    }
    for (size_t i = 0; i < found.skipped_count && whole->dump_count; i++)
        report_add_note(&whole->dumps[whole->dump_count - 1], "not a tensor file: %s",
                        found.skipped[i]);
    verify_how_free(&how);
    sources_free(&found);
    return failures;
}

static cli_exit verify_case(report *whole, const char *path, const options *given)
{
    fp8moe_error err;
    case_file read;
    const fp8moe_status st = case_read(path, given, &read, &err);
    cli_exit failures = st == FP8MOE_OK ? CLI_SAME : cli_report_error(&err);
    for (size_t i = 0; i < read.count && st == FP8MOE_OK; i++) {
        const case_layer *layer = &read.layers[i];
        const size_t before = whole->dump_count;
        failures =
            cli_worse(failures, verify_paths(whole, (const char *const *)layer->files,
                                             layer->file_count, &layer->given, layer->expect));
        for (size_t k = before; k < whole->dump_count && layer->name; k++) {
            free(whole->dumps[k].layer);
            whole->dumps[k].layer = cli_copy(layer->name);
        }
    }
    case_free(&read);
    return failures;
}

/* Case files one by one; everything else together, since files may belong to one layer. */
static cli_exit verify_operands(report *whole, const options *given)
{
    const char **plain = cli_allocate((given->operand_count + 1) * sizeof *plain);
    size_t count = 0;
    cli_exit failures = CLI_SAME;
    for (size_t i = 0; i < given->operand_count; i++)
        if (!case_is_one(given->operands[i])) plain[count++] = given->operands[i];
    if (count) failures = verify_paths(whole, plain, count, given, NULL);
    for (size_t i = 0; i < given->operand_count; i++)
        if (case_is_one(given->operands[i]))
            failures = cli_worse(failures, verify_case(whole, given->operands[i], given));
    free(plain);
    return failures;
}

static cli_exit verify(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    verify_how unused;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    if (options_value(given, OPTION_PREP)) return verify_prep(given, format);
    const fp8moe_status st = verify_how_read(given, &unused, &err);
    verify_how_free(&unused);
    if (st != FP8MOE_OK) return cli_report_error(&err);
    if (subject_check_options(given, &err) != FP8MOE_OK) return cli_report_error(&err);
    const double start = cli_seconds();
    report whole = {.command = "verify"};
    const cli_exit failures = verify_operands(&whole, given);
    whole.seconds = cli_seconds() - start;
    whole.threads = settings_threads(given);
    return decide_finish(given, format, &whole, failures);
}

const cli_command command_verify = {
    .name = "verify",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "recompute a layer from its dump and compare every output it holds",
    .description =
        "A dump is what holds the tensors of one layer: a file (safetensors, .pt, .npz), a folder "
        "or "
        "list of files with one tensor each, or a case file (.yaml) that names them. It has "
        "hidden_states, router_logits or topk_ids with topk_weights, the weights with their scales "
        "(or --weights DIR --layer N), and at least one output. 'fp8moe help names' lists the "
        "names "
        "understood.\n"
        "The recipe is --recipe, else the file's metadata, else what the output's name says "
        "(custom: gather, stock: stock), else auto: every recipe that fits is tried, the best "
        "named, "
        "the others listed.\n"
        "A setting that no option gives is taken from the file's metadata, where its key is the "
        "option's name with _ for -; the report says where each came from.\n"
        "Same means that every element is what the recipe gives, or what the recipe's own noise is "
        "known to give, and that this very check would have seen a fault; different, that no "
        "rounding of the recipe gives some element, or that a statistic stands out; inconclusive, "
        "anything between, with the reason.",
    .example = "fp8moe verify layer.safetensors --target gaudi2 --weights-stage loaded --top-k 8",
    .run = verify,
};

/* init: a commented case file from what dumps hold, to be completed and kept. */
#include "report.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

/* Text in double quotes, as YAML and JSON both read it. */
static void add_quoted(buffer *out, const char *text)
{
    buffer_add(out, "\"");
    for (; *text; text++)
        if ((unsigned char)*text < 0x20)
            buffer_format(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            buffer_format(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    buffer_add(out, "\"");
}

/* A case file's paths start at its own folder: as given where that is this folder, whole elsewhere.
 */
static void add_path(buffer *out, const char *path, const char *beside)
{
    char *whole = beside && strchr(beside, '/') ? realpath(path, NULL) : NULL;
    add_quoted(out, whole ? whole : path);
    free(whole);
}

static void add_files(buffer *out, const source *from, const char *beside)
{
    buffer_add(out, "    files:");
    if (!from->member_count) buffer_add(out, " ");
    if (!from->member_count) add_path(out, from->title, beside);
    for (size_t i = 0; i < from->member_count; i++) {
        buffer_add(out, "\n      - ");
        add_path(out, from->members[i].path, beside);
    }
    buffer_add(out, "\n");
}

/* --name and --as, which the dump is not understood without: "names: {field: tensor}". */
static void add_pairs(buffer *out, const options *given, option_id id, const char *key)
{
    const char *text;
    for (size_t at = 0, count = 0; (text = options_next(given, id, &at)); count++) {
        const size_t equals = strcspn(text, "=");
        char *left = cli_text("%.*s", (int)equals, text);
        if (!count) buffer_format(out, "    %s:\n", key);
        buffer_add(out, "      ");
        add_quoted(out, left);
        buffer_add(out, ": ");
        add_quoted(out, text + equals + (text[equals] == '='));
        buffer_add(out, "\n");
        free(left);
    }
}

/* A setting that is known stands as it is; one that a verdict needs and nobody gave stands as a
 * comment. */
static void add_setting(buffer *out, const settings *all, setting_id id, const char *help)
{
    const setting *value = &all->value[id];
    if (value->source == SOURCE_UNKNOWN)
        buffer_format(out, "    # %s:  # %s\n", setting_name(id), help);
    else if (value->source != SOURCE_DEFAULT && value->source != SOURCE_MODEL)
        buffer_format(out, "    %s: %s  # %s\n", setting_name(id), value->text,
                      setting_source_name(value->source));
}

static void add_outputs(buffer *out, const subject_dump *subject)
{
    buffer_add(out, "    # outputs to judge:");
    for (size_t i = 0; i < subject->fields.output_count; i++)
        buffer_format(out, " %s",
                      fp8moe_dump_name(subject->dump, subject->fields.outputs[i].index));
    buffer_add(out, subject->fields.output_count ? "\n" : " none\n");
    if (subject->fields.unused) buffer_format(out, "    # not used: %s\n", subject->fields.unused);
}

/* A dump without weights needs a model folder. */
static void add_weights(buffer *out, const subject_dump *subject)
{
    const char *folder = options_value(subject->given, OPTION_WEIGHTS);
    const fp8moe_inputs *in = &subject->fields.inputs;
    if (folder) {
        buffer_add(out, "    weights: ");
        add_path(out, folder, options_value(subject->given, OPTION_OUTPUT));
        buffer_add(out, "\n");
        const int64_t number =
            fp8moe_checkpoint_layer_at(subject->weights.model, subject->weights.layer)->number;
        if (number >= 0) buffer_format(out, "    layer: %lld\n", (long long)number);
    } else if (!fp8moe_tensor_present(&in->w13_weight) && !fp8moe_tensor_present(&in->weight)) {
        buffer_add(out, "    # weights: /models/NAME  # the dump has none: a Hugging Face folder\n"
                        "    # layer: 0\n");
    }
}

static void add_layer(buffer *out, const source *from, const subject_dump *subject, size_t index)
{
    const settings *all = &subject->settings;
    buffer_format(out, "  - title: layer %zu\n", index);
    add_files(out, from, options_value(subject->given, OPTION_OUTPUT));
    add_pairs(out, subject->given, OPTION_NAME, "names");
    add_pairs(out, subject->given, OPTION_AS, "as");
    add_outputs(out, subject);
    add_setting(out, all, SETTING_TARGET, "gaudi2, gaudi3 or ocp: which device computed this");
    add_setting(out, all, SETTING_RECIPE,
                "see 'fp8moe recipes'; left out, the output's name or every row that fits decides");
    add_setting(out, all, SETTING_WEIGHTS_STAGE, "checkpoint, loaded or prepared");
    for (setting_id id = 0; id < SETTING_COUNT; id++)
        if (id != SETTING_TARGET && id != SETTING_RECIPE && id != SETTING_WEIGHTS_STAGE &&
            settings_has(all, id) && all->value[id].source != SOURCE_UNKNOWN)
            add_setting(out, all, id, "");
    add_weights(out, subject);
    buffer_add(out, "    expect: same\n");
}

static cli_exit init(const options *given)
{
    fp8moe_error err;
    sources found = {0};
    buffer out = {0};
    size_t layers = 0;
    fp8moe_status st = sources_find(given->operands, given->operand_count, &found, &err);
    buffer_add(&out, "# A case file of fp8moe: run it with `fp8moe verify FILE`. Keys before "
                     "`layers` hold for all of them.\n"
                     "# Anything the command line takes may stand here, with _ for -.\nlayers:\n");
    for (size_t i = 0; i < found.count && st == FP8MOE_OK; i++) {
        subject_dump subject = {0};
        st = subject_open(&found.all[i], given, &subject, &err);
        if (st == FP8MOE_OK) add_layer(&out, &found.all[i], &subject, layers++);
        subject_close(&subject);
    }
    sources_free(&found);
    if (st == FP8MOE_OK) return report_send(given, &out);
    buffer_free(&out);
    return cli_report_error(&err);
}

const cli_command command_init = {
    .name = "init",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "write a commented case file from what dumps hold",
    .description = "What is known is filled in with where it was found; what a verdict still needs "
                   "stands as a comment.",
    .example = "fp8moe init dump/ -o case.yaml",
    .run = init,
};

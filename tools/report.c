#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

const char *verdict_name(verdict v)
{
    static const char *const names[] = {"same", "inconclusive", "different", "error"};
    return names[v];
}

const char *recipe_source_name(recipe_source source)
{
    static const char *const names[] = {NULL, "option", "metadata", "name", "auto"};
    return names[source];
}

char *report_stage_name(const report_dump *dump, const report_stage *stage)
{
    const char *name = fp8moe_stage_name(stage->stage);
    for (size_t i = 0; i < dump->stage_count; i++)
        if (dump->stages[i].recipe != stage->recipe)
            return cli_text("%s.%s", stage->recipe->name, name);
    return cli_copy(name);
}

/* ---- shares ---- */

double report_stage_share(const report_stage *stage)
{
    const int64_t judged = stage->compared - stage->padding;
    return judged ? (double)stage->identical / (double)judged : 1;
}

double inspected_share(const inspected_tensor *tensor)
{
    return tensor->count ? (double)tensor->tiny / (double)tensor->count : 0;
}

/* ---- growing ---- */

/* Room for one more element of `size` bytes, zeroed. */
static void *grow(void *array, size_t *count, size_t size, void **added)
{
    char *bytes = cli_resize(array, (*count + 1) * size);
    *added = memset(bytes + *count * size, 0, size);
    ++*count;
    return bytes;
}

report_dump *report_add_dump(report *owner, const char *file)
{
    void *added;
    owner->dumps = grow(owner->dumps, &owner->dump_count, sizeof *owner->dumps, &added);
    report_dump *dump = added;
    dump->file = cli_copy(file);
    return dump;
}

report_tensor *report_add_tensor(report_dump *owner, const char *name, const fp8moe_tensor *tensor)
{
    void *added;
    owner->tensors = grow(owner->tensors, &owner->tensor_count, sizeof *owner->tensors, &added);
    report_tensor *t = added;
    t->name = cli_copy(name);
    t->form = *tensor;
    t->form.data = NULL;
    return t;
}

report_candidate *report_add_candidate(report_tensor *owner, const fp8moe_recipe *recipe)
{
    void *added;
    owner->candidates =
        grow(owner->candidates, &owner->candidate_count, sizeof *owner->candidates, &added);
    report_candidate *candidate = added;
    candidate->recipe = recipe;
    return candidate;
}

report_stage *report_add_stage(report_dump *owner, const fp8moe_recipe *recipe, fp8moe_stage stage)
{
    void *added;
    owner->stages = grow(owner->stages, &owner->stage_count, sizeof *owner->stages, &added);
    report_stage *s = added;
    s->recipe = recipe;
    s->stage = stage;
    return s;
}

void report_add_note(report_dump *owner, const char *format, ...)
{
    buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_format_list(&text, format, arguments);
    va_end(arguments);
    void *added;
    owner->notes = grow(owner->notes, &owner->note_count, sizeof *owner->notes, &added);
    *(char **)added = text.data;
}

void written_add(written *owner, const char *name, const fp8moe_tensor *tensor, const char *hash)
{
    void *added;
    owner->tensors = grow(owner->tensors, &owner->tensor_count, sizeof *owner->tensors, &added);
    written_tensor *t = added;
    t->name = cli_copy(name);
    t->form = *tensor;
    t->form.data = NULL;
    snprintf(t->hash, sizeof t->hash, "%s", hash);
}

/* ---- freeing ---- */

static void free_tensor(report_tensor *tensor)
{
    for (size_t i = 0; i < tensor->candidate_count; i++)
        free(tensor->candidates[i].unfit);
    free(tensor->candidates);
    free(tensor->name);
    free(tensor->reason);
}

static void free_dump(report_dump *dump)
{
    for (size_t i = 0; i < dump->tensor_count; i++)
        free_tensor(&dump->tensors[i]);
    for (size_t i = 0; i < dump->note_count; i++)
        free(dump->notes[i]);
    free(dump->tensors);
    free(dump->stages);
    free(dump->notes);
    free(dump->file);
    free(dump->reference);
    free(dump->layer);
    free(dump->reason);
    free(dump->expected);
}

void report_free(report *owner)
{
    for (size_t i = 0; i < owner->dump_count; i++)
        free_dump(&owner->dumps[i]);
    free(owner->dumps);
    free(owner->reason);
    *owner = (report){0};
}

void written_free(written *owner)
{
    for (size_t i = 0; i < owner->tensor_count; i++)
        free(owner->tensors[i].name);
    free(owner->tensors);
    owner->tensors = NULL;
}

/* ---- the worst of several ---- */

void report_judge_dump(report_dump *dump)
{
    if (dump->tensor_count == 0) {
        dump->verdict = VERDICT_INCONCLUSIVE;
        return;
    }
    const report_tensor *worst = &dump->tensors[0];
    for (size_t i = 1; i < dump->tensor_count; i++)
        if (dump->tensors[i].verdict > worst->verdict) worst = &dump->tensors[i];
    dump->verdict = worst->verdict;
    dump->reason = cli_copy(worst->reason);
}

void report_judge(report *whole)
{
    const report_dump *worst = &whole->dumps[0];
    for (size_t i = 1; i < whole->dump_count; i++)
        if (whole->dumps[i].verdict > worst->verdict) worst = &whole->dumps[i];
    whole->verdict = worst->verdict;
    whole->reason = whole->dump_count == 1 ? cli_copy(worst->reason)
                                           : cli_text("%s: %s", worst->file, worst->reason);
}

/* ---- formats ---- */

static const report_format *const formats[] = {&report_text, &report_json};

fp8moe_status report_format_find(const options *given, const report_format **out, fp8moe_error *err)
{
    const char *name = options_value(given, OPTION_FORMAT);
    *out = formats[0];
    if (!name) return FP8MOE_OK;
    buffer known = {0};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        *out = formats[i];
        if (!strcmp(name, formats[i]->name)) break;
        *out = NULL;
        buffer_format(&known, "%s%s", i ? ", " : "", formats[i]->name);
    }
    const fp8moe_status st = *out ? FP8MOE_OK
                                  : cli_fail(err, FP8MOE_ERR_USAGE,
                                             "--format '%s': expected one of %s", name, known.data);
    buffer_free(&known);
    return st;
}

static cli_exit print(buffer *out)
{
    fp8moe_error err;
    if (fwrite(out->data, 1, out->size, stdout) == out->size && !fflush(stdout)) return CLI_SAME;
    cli_fail(&err, FP8MOE_ERR_IO, "cannot write to standard output");
    return cli_report_error(&err);
}

cli_exit report_send(const options *given, buffer *out)
{
    const char *path = options_value(given, OPTION_OUTPUT);
    cli_exit code = CLI_SAME;
    if (path) {
        fp8moe_error err;
        const fp8moe_status st = fp8moe_file_write(path, out->data, out->size, &err);
        if (cli_in_file(&err, st, path) != FP8MOE_OK) code = cli_report_error(&err);
    } else {
        code = print(out);
    }
    buffer_free(out);
    return code;
}

cli_exit written_send(const report_format *format, const written *data)
{
    buffer out = {0};
    format->written(data, &out);
    const cli_exit code = print(&out);
    buffer_free(&out);
    return code;
}

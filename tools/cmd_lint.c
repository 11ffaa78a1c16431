/* lint: what is odd about a dump, before anything is multiplied. */
#include "lint.h"
#include "json_out.h"
#include "report.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

static void print_text(buffer *out, const char *title, const lint_result *result)
{
    buffer_format(out, "%s: %zu finding%s\n", title, result->count, result->count == 1 ? "" : "s");
    for (size_t i = 0; i < result->count; i++)
        buffer_line(out, 2, result->findings[i].rule, "%s: %s", result->findings[i].tensor,
                    result->findings[i].text);
}

static void emit_result(emitter *json, const char *title, const lint_result *result)
{
    emit_object(json, NULL);
    emit_text(json, "file", title);
    emit_array(json, "findings");
    for (size_t i = 0; i < result->count; i++) {
        const lint_finding *f = &result->findings[i];
        emit_object(json, NULL);
        emit_text(json, "rule", f->rule);
        emit_text(json, "tensor", f->tensor);
        emit_integer(json, "count", f->count);
        emit_text(json, "text", f->text);
        emit_end(json);
    }
    emit_end(json);
    emit_end(json);
}

/* One layer into the report; counts its findings. */
static fp8moe_status lint_source(const source *from, const options *given, bool as_json,
                                 emitter *json, buffer *out, size_t *findings, fp8moe_error *err)
{
    subject_dump subject = {0};
    lint_result result = {0};
    const fp8moe_status st = subject_open(from, given, &subject, err);
    if (st == FP8MOE_OK) {
        const setting *all = subject.settings.value;
        lint_fields(&subject.fields, fp8moe_target_find(all[SETTING_TARGET].text),
                    all[SETTING_EP_RANK].integer * all[SETTING_LOCAL_NUM_EXPERTS].integer, &result);
        *findings += result.count;
        if (as_json)
            emit_result(json, from->title, &result);
        else
            print_text(out, from->title, &result);
    }
    lint_free(&result);
    subject_close(&subject);
    return st;
}

static cli_exit lint(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    sources found = {0};
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    const bool as_json = format == &report_json;
    buffer out = {0};
    emitter json = {.out = &out};
    size_t findings = 0, read = 0;
    const fp8moe_status st = sources_find(given->operands, given->operand_count, &found, &err);
    cli_exit code = st == FP8MOE_OK ? CLI_SAME : cli_report_error(&err);
    if (as_json) {
        emit_object(&json, NULL);
        emit_text(&json, "schema", "fp8moe.lint/1");
        emit_array(&json, "layers");
    }
    for (size_t i = 0; i < found.count; i++) {
        if (lint_source(&found.all[i], given, as_json, &json, &out, &findings, &err) == FP8MOE_OK)
            read++;
        else
            code = cli_worse(code, cli_report_error(&err));
    }
    if (as_json) {
        emit_end(&json);
        emit_end(&json);
    }
    sources_free(&found);
    if (read)
        code = cli_worse(code, report_send(given, &out));
    else
        buffer_free(&out);
    return cli_worse(code, findings ? CLI_DIFFERENT : CLI_SAME);
}

const cli_command command_lint = {
    .name = "lint",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "say what is odd about a dump before anything is multiplied",
    .description = "NaN codes, codes a Gaudi2 cannot hold, scales that are zero, denormal, "
                   "negative or not finite, dead and "
                   "equal experts, blocks whose scale wastes bits, equal and padding token rows, "
                   "experts whose NaN the "
                   "gathered path would leak, shapes that do not fit.\nExits 0 where nothing is "
                   "found, 1 else.",
    .example = "fp8moe lint layer.safetensors --target gaudi2",
    .run = lint,
};

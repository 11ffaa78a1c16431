/* compare: two files' tensors held against each other, without emulating anything. */
#include "decide.h"
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* FILE or FILE:NAME, taken apart. */
typedef struct place {
    char *path;
    char *tensor; /* NULL: none named */
} place;

/* A file of that very name wins; else the last colon separates the tensor's name. */
static place place_parse(const char *text)
{
    struct stat status;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1] || stat(text, &status) == 0)
        return (place){cli_copy(text), NULL};
    return (place){cli_text("%.*s", (int)(colon - text), text), cli_copy(colon + 1)};
}

static void place_free(place *p)
{
    free(p->path);
    free(p->tensor);
}

typedef struct pair {
    place a, b; /* the reference, and what is held against it */
    fp8moe_dump *dump_a, *dump_b;
    fp8moe_compare_options options;
    policies policies;
} pair;

/* One file alone is upstream's pair: its custom output is held against its stock one. */
static void find_places(const options *given, place *a, place *b)
{
    const bool alone = given->operand_count == 1;
    *a = alone ? (place){cli_copy(given->operands[0]), cli_copy("stock")}
               : place_parse(given->operands[0]);
    *b = alone ? (place){cli_copy(given->operands[0]), cli_copy("custom")}
               : place_parse(given->operands[1]);
}

static fp8moe_status find_tensor(fp8moe_dump *dump, const char *name, fp8moe_tensor *out,
                                 fp8moe_error *err)
{
    const int64_t index = fp8moe_dump_find(dump, name);
    fp8moe_status st = index < 0
                           ? cli_fail(err, FP8MOE_ERR_NOT_FOUND, "there is no tensor '%s'", name)
                           : fp8moe_dump_tensor(dump, (size_t)index, out, err);
    return cli_in_file(err, st, fp8moe_dump_path(dump));
}

static fp8moe_status compare_pair(const pair *p, const char *name_a, const char *name_b,
                                  report_dump *out, fp8moe_error *err)
{
    fp8moe_tensor a, b;
    fp8moe_comparison comparison;
    CLI_TRY(find_tensor(p->dump_a, name_a, &a, err));
    CLI_TRY(find_tensor(p->dump_b, name_b, &b, err));
    const fp8moe_status st = fp8moe_compare(&a, &b, &p->options, &comparison, err);
    if (st != FP8MOE_OK) {
        snprintf(err->tensor, sizeof err->tensor, "%s", name_b);
        return cli_in_file(err, st, p->b.path);
    }
    report_tensor *tensor = report_add_tensor(out, name_b, &b);
    tensor->comparison = comparison;
    tensor->policy = policies_of(&p->policies, name_b);
    CLI_TRY(policy_look(&tensor->policy, &a, &p->options, &tensor->sight, err));
    decide_tensor(tensor);
    return FP8MOE_OK;
}

/* Without names: every tensor both files have; two files of one tensor each need not agree on its
 * name. */
static fp8moe_status compare_shared(const pair *p, report_dump *out, fp8moe_error *err)
{
    const size_t count_a = fp8moe_dump_count(p->dump_a), count_b = fp8moe_dump_count(p->dump_b);
    if (count_a == 1 && count_b == 1)
        return compare_pair(p, fp8moe_dump_name(p->dump_a, 0), fp8moe_dump_name(p->dump_b, 0), out,
                            err);
    for (size_t i = 0; i < count_a; i++) {
        const char *name = fp8moe_dump_name(p->dump_a, i);
        if (fp8moe_dump_find(p->dump_b, name) >= 0) CLI_TRY(compare_pair(p, name, name, out, err));
    }
    return FP8MOE_OK;
}

/* The tensor meant in one file: that named there, the only one, or that named for the other side.
 */
static const char *name_in(const fp8moe_dump *dump, const place *here, const place *there)
{
    if (here->tensor || !there->tensor) return here->tensor;
    return fp8moe_dump_count(dump) == 1 ? fp8moe_dump_name(dump, 0) : there->tensor;
}

static fp8moe_status compare_files(pair *p, const options *given, report_dump *out,
                                   fp8moe_error *err)
{
    CLI_TRY(decide_options(given, &p->options, err));
    CLI_TRY(decide_check(given, err));
    CLI_TRY(policies_find(given, &p->policies, err));
    CLI_TRY(subject_open_file(&(source){.title = p->a.path}, given, &p->dump_a, err));
    CLI_TRY(subject_open_file(&(source){.title = p->b.path}, given, &p->dump_b, err));
    const char *name_a = name_in(p->dump_a, &p->a, &p->b);
    const char *name_b = name_in(p->dump_b, &p->b, &p->a);
    if (name_a)
        CLI_TRY(compare_pair(p, name_a, name_b, out, err));
    else
        CLI_TRY(compare_shared(p, out, err));
    report_judge_dump(out);
    if (!out->reason) out->reason = cli_copy("nothing to judge: the files share no tensor name");
    return FP8MOE_OK;
}

static cli_exit compare(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    const double start = cli_seconds();
    pair p = {.a = {NULL, NULL}};
    find_places(given, &p.a, &p.b);
    report whole = {.command = "compare"};
    report_dump *dump = report_add_dump(&whole, p.b.path);
    dump->reference = cli_copy(p.a.path);
    cli_exit failure = CLI_SAME;
    if (compare_files(&p, given, dump, &err) != FP8MOE_OK) {
        failure = cli_report_error(&err);
        dump->verdict = VERDICT_ERROR;
    }
    whole.seconds = cli_seconds() - start;
    const cli_exit code = decide_finish(given, format, &whole, failure);
    policies_free(&p.policies);
    fp8moe_dump_close(p.dump_a);
    fp8moe_dump_close(p.dump_b);
    place_free(&p.a);
    place_free(&p.b);
    return code;
}

const cli_command command_compare = {
    .name = "compare",
    .operands = "A[:NAME] [B[:NAME]]",
    .min_operands = 1,
    .max_operands = 2,
    .summary = "compare tensors of two files, A being the reference, or a file's custom and stock",
    .description =
        "Without names every tensor that both files hold is compared; one name stands "
        "for both sides; of a file "
        "that holds one tensor it is taken whatever its name. Shapes must be equal, leading "
        "dimensions of size 1 "
        "apart. A file whose own name holds a colon is found first. One file alone is one of "
        "upstream's pairs (moecomb_T*_n*_r*.pt): its custom is held against its stock.\n"
        "Under the strict policy two tensors are the same when non-finite elements agree, at "
        "least 99 % of the elements that are not zero on both sides are identical and none is "
        "both more than 2 bf16 steps and more than 1e-6 of its row's largest magnitude away. "
        "A pass under a looser bar that an output 50 % off, or all zeros, would have got too is "
        "inconclusive.",
    .example = "fp8moe compare layer.safetensors:stock layer.safetensors:custom",
    .run = compare,
};

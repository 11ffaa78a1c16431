#include "upstream.h"

#include "buffer.h"
#include "python_source.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METHOD_FILE "ops/hpu_fp8.py"
#define COMBINE_FILE "ops/hpu_moe_combine.py"
#define METHOD_CLASS "HPUFp8MoEMethod"
#define METHOD_FUNCTION "apply_monolithic"
#define MAX_FILE_BYTES (64 << 20)

static const char *const state_names[] = {"not_needed", "applied", "not_applied", "drifted"};

const char *upstream_state_name(upstream_state state)
{
    return state_names[state];
}

/* ---- files ---- */

static fp8moe_status read_all(FILE *file, buffer *out, fp8moe_error *err)
{
    char chunk[1 << 16];
    size_t size;
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0) {
        buffer_add_bytes(out, chunk, size);
        if (out->size > MAX_FILE_BYTES)
            return cli_fail(err, FP8MOE_ERR_UNSUPPORTED, "no source file is that large");
    }
    if (ferror(file)) return cli_fail(err, FP8MOE_ERR_IO, "%s", strerror(errno));
    return FP8MOE_OK;
}

/* NOT_FOUND where there is no such file. */
static fp8moe_status read_source(const char *package, const char *name, python_source *out,
                                 fp8moe_error *err)
{
    char *path = cli_text("%s/%s", package, name);
    buffer text = {0};
    FILE *file = fopen(path, "rb");
    fp8moe_status st;
    if (file)
        st = read_all(file, &text, err);
    else
        st = cli_fail(err,
                      errno == ENOENT || errno == ENOTDIR ? FP8MOE_ERR_NOT_FOUND : FP8MOE_ERR_IO,
                      "%s", strerror(errno));
    if (file) fclose(file);
    if (st == FP8MOE_OK) python_source_read(text.data ? text.data : "", text.size, out);
    cli_in_file(err, st, path);
    buffer_free(&text);
    free(path);
    return st;
}

/* Where a package may lie below the folder a user names. */
static const char *const places[] = {"/vllm_gaudi", "", "/lib/python3*/site-packages/vllm_gaudi"};

static char *find_package(const char *path)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *pattern = cli_text("%s%s/" METHOD_FILE, path, places[i]);
        glob_t found;
        char *package = NULL;
        if (glob(pattern, 0, NULL, &found) == 0) {
            const size_t length = strlen(found.gl_pathv[0]) - strlen("/" METHOD_FILE);
            package = cli_text("%.*s", (int)length, found.gl_pathv[0]);
            globfree(&found);
        }
        free(pattern);
        if (package) return package;
    }
    return NULL;
}

/* ---- definitions ---- */

typedef enum mark_kind { MARK_FUNCTION, MARK_ASSIGNMENT } mark_kind;

typedef enum mark_place {
    PLACE_MODULE, /* hpu_fp8.py */
    PLACE_CLASS,  /* anywhere in its method class */
    PLACE_METHOD, /* its apply_monolithic */
    PLACE_COMBINE /* hpu_moe_combine.py, else hpu_fp8.py */
} mark_place;

enum { MARK_GATHER_OK = 4, MARK_USE_GATHER = 5, MARK_COMBINE = 6 };

static const struct mark_row {
    const char *name;
    mark_kind kind;
    mark_place place;
} mark_rows[UPSTREAM_MARKS] = {
    {"_HPU_MOE_GATHER", MARK_ASSIGNMENT, PLACE_MODULE},
    {"_HPU_MOE_GATHER_RATIO", MARK_ASSIGNMENT, PLACE_MODULE},
    {"_fp8_ulp", MARK_FUNCTION, PLACE_MODULE},
    {"_verify_moe_combine", MARK_FUNCTION, PLACE_MODULE},
    [MARK_GATHER_OK] = {"self._moe_gather_ok", MARK_ASSIGNMENT, PLACE_CLASS},
    [MARK_USE_GATHER] = {"use_gather", MARK_ASSIGNMENT, PLACE_METHOD},
    [MARK_COMBINE] = {"gather_silu_fp8_moe", MARK_FUNCTION, PLACE_COMBINE},
};

/* The two files, and where in the first the method stands. */
typedef struct tree_source {
    python_source method, combine;
    python_body of_class, of_function;  /* empty where there is none */
    const char *gather_ok, *use_gather; /* the expressions assigned, or NULL */
} tree_source;

static python_body body_of(const python_source *source, python_body within, const char *name)
{
    const size_t line = python_source_find_def(source, within, name);
    return line < source->count ? python_source_body(source, line) : (python_body){0, 0};
}

/* The line of a mark in one file, or count; *value becomes the expression of an assignment. */
static size_t find_mark(const python_source *source, python_body within, const struct mark_row *row,
                        const char **value)
{
    return row->kind == MARK_FUNCTION
               ? python_source_find_def(source, within, row->name)
               : python_source_find_assignment(source, within, row->name, value);
}

static upstream_mark look_for(const tree_source *s, const struct mark_row *row, const char **value)
{
    upstream_mark mark = {.name = row->name,
                          .what = row->kind == MARK_FUNCTION ? "function" : "assignment"};
    const python_source *source = &s->combine;
    size_t line = source->count;
    mark.file = COMBINE_FILE;
    if (row->place == PLACE_COMBINE)
        line = find_mark(source, python_source_whole(source), row, value);
    if (line == source->count) {
        source = &s->method;
        mark.file = METHOD_FILE;
        line = find_mark(source,
                         row->place == PLACE_CLASS    ? s->of_class
                         : row->place == PLACE_METHOD ? s->of_function
                                                      : python_source_whole(source),
                         row, value);
    }
    mark.found = line < source->count;
    if (mark.found) mark.line = source->lines[line].number;
    return mark;
}

static void find_marks(tree_source *s, upstream_tree *out)
{
    const python_body whole = python_source_whole(&s->method);
    s->of_class = body_of(&s->method, whole, METHOD_CLASS);
    s->of_function = body_of(&s->method, s->of_class, METHOD_FUNCTION);
    for (size_t i = 0; i < UPSTREAM_MARKS; i++) {
        const char *value = NULL;
        out->marks[i] = look_for(s, &mark_rows[i], &value);
        if (i == MARK_GATHER_OK) s->gather_ok = value;
        if (i == MARK_USE_GATHER) s->use_gather = value;
    }
    const char *head = "dense_silu_fp8_moe";
    out->has_dense = python_source_find_def(&s->combine, python_source_whole(&s->combine), head) <
                         s->combine.count ||
                     python_source_find_def(&s->method, whole, head) < s->method.count;
}

/* ---- conditions ---- */

static const struct condition_row {
    const char *name;
    const char *text;
    int mark; /* whose expression asks it */
} condition_rows[] = {
    {"gather", "_HPU_MOE_GATHER", MARK_USE_GATHER},
    {"activation", "activation==\"silu\"", MARK_USE_GATHER},
    {"activation_scheme", "self.quant_config.activation_scheme!=\"static\"", MARK_USE_GATHER},
    {"gather_ok", "self._moe_gather_ok", MARK_USE_GATHER},
    {"size", "x.shape[0]*topk_ids.shape[-1]<=layer.local_num_experts*_HPU_MOE_GATHER_RATIO",
     MARK_USE_GATHER},
    {"block_quant", "self.block_quant", MARK_GATHER_OK},
    {"force_channel", "envs.VLLM_HPU_FORCE_CHANNEL_FP8", MARK_GATHER_OK},
};

#define CONDITION_COUNT (sizeof condition_rows / sizeof *condition_rows)

typedef struct condition_search {
    upstream_tree *tree;
    int mark;
} condition_search;

static upstream_condition *add_condition(upstream_tree *tree, const char *name, const char *text,
                                         bool found)
{
    tree->conditions =
        cli_resize(tree->conditions, (tree->condition_count + 1) * sizeof *tree->conditions);
    tree->conditions[tree->condition_count] = (upstream_condition){name, cli_copy(text), found};
    return &tree->conditions[tree->condition_count++];
}

static void take_condition(void *user, const char *text)
{
    const condition_search *search = user;
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        if (condition_rows[i].mark != search->mark || strcmp(condition_rows[i].text, text) != 0)
            continue;
        search->tree->conditions[i].found = true;
        return;
    }
    add_condition(search->tree, NULL, text, true);
}

static void find_conditions(const tree_source *s, upstream_tree *out)
{
    for (size_t i = 0; i < CONDITION_COUNT; i++)
        add_condition(out, condition_rows[i].name, condition_rows[i].text, false);
    if (s->use_gather)
        python_source_split_and(s->use_gather, take_condition,
                                &(condition_search){out, MARK_USE_GATHER});
    if (s->gather_ok)
        python_source_split_and(s->gather_ok, take_condition,
                                &(condition_search){out, MARK_GATHER_OK});
}

/* ---- judging ---- */

static size_t count_marks(const upstream_tree *tree)
{
    size_t count = 0;
    for (size_t i = 0; i < UPSTREAM_MARKS; i++)
        count += tree->marks[i].found;
    return count;
}

/* What differs from the gate this version knows, in words; NULL where nothing does. */
static char *describe_gate(const upstream_tree *tree)
{
    buffer words = {0};
    for (size_t i = 0; i < tree->condition_count; i++) {
        const upstream_condition *c = &tree->conditions[i];
        if (c->name && c->found) continue;
        buffer_format(&words, "%s%s %s", words.size ? ", " : "",
                      c->name ? "it no longer asks" : "it asks", c->text);
    }
    return words.data;
}

static char *describe_missing(const upstream_tree *tree)
{
    buffer words = {0};
    for (size_t i = 0; i < UPSTREAM_MARKS; i++)
        if (!tree->marks[i].found)
            buffer_format(&words, "%s%s", words.size ? ", " : "", tree->marks[i].name);
    return words.data;
}

static void judge_complete(upstream_tree *out)
{
    const bool is_module = !strcmp(out->marks[MARK_COMBINE].file, COMBINE_FILE);
    char *differs = describe_gate(out);
    out->state = differs ? UPSTREAM_DRIFTED : is_module ? UPSTREAM_NOT_NEEDED : UPSTREAM_APPLIED;
    out->reason = differs ? cli_text("the combine is there, but its gate is another: %s", differs)
                  : is_module
                      ? cli_text("the combine is part of this version, in the form of v0.30.0 (%s)",
                                 COMBINE_FILE)
                      : cli_text("the combine is there, in the form of the backport (all in %s)",
                                 METHOD_FILE);
    free(differs);
}

static void judge(const tree_source *s, upstream_tree *out)
{
    const size_t count = count_marks(out);
    out->state = UPSTREAM_DRIFTED;
    if (count == UPSTREAM_MARKS) {
        judge_complete(out);
    } else if (count > 0) {
        char *missing = describe_missing(out);
        out->reason = cli_text("parts of the combine are there, but not %s", missing);
        free(missing);
    } else if (s->of_function.end == s->of_function.first) {
        out->reason = cli_text("%s has no %s.%s: the combine has no place to go", METHOD_FILE,
                               METHOD_CLASS, METHOD_FUNCTION);
    } else {
        out->state = UPSTREAM_NOT_APPLIED;
        out->reason = cli_text("nothing of the combine is there; %s.%s, where it belongs, is",
                               METHOD_CLASS, METHOD_FUNCTION);
    }
}

fp8moe_status upstream_read(const char *path, upstream_tree *out, fp8moe_error *err)
{
    tree_source s = {.use_gather = NULL};
    *out = (upstream_tree){.package = find_package(path)};
    if (!out->package)
        return cli_fail(err, FP8MOE_ERR_NOT_FOUND, "'%s' holds no vllm_gaudi/%s", path,
                        METHOD_FILE);
    fp8moe_status st = read_source(out->package, METHOD_FILE, &s.method, err);
    if (st == FP8MOE_OK) {
        st = read_source(out->package, COMBINE_FILE, &s.combine, err);
        if (st == FP8MOE_ERR_NOT_FOUND) st = FP8MOE_OK;
    }
    if (st == FP8MOE_OK) {
        find_marks(&s, out);
        find_conditions(&s, out);
        judge(&s, out);
    }
    python_source_free(&s.method);
    python_source_free(&s.combine);
    return st;
}

void upstream_free(upstream_tree *tree)
{
    for (size_t i = 0; i < tree->condition_count; i++)
        free(tree->conditions[i].text);
    free(tree->conditions);
    free(tree->package);
    free(tree->reason);
    *tree = (upstream_tree){0};
}

#include "yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_LIBYAML
#include <yaml.h>
#endif

#define MAX_BYTES (1 << 20)
#define MAX_DEPTH 16
#define MAX_NODES 100000

const yaml_node *yaml_find(const yaml_node *map, const char *key)
{
    for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
        if (!strcmp(map->children[i].key, key)) return &map->children[i];
    return NULL;
}

fp8moe_status yaml_fail(const yaml_node *at, fp8moe_error *err, const char *format, ...)
{
    char sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return cli_fail(err, FP8MOE_ERR_FORMAT, "line %lld, column %lld: %s", (long long)at->line,
                    (long long)at->column, sentence);
}

fp8moe_status yaml_expect(const yaml_node *node, yaml_kind kind, const char *what,
                          fp8moe_error *err)
{
    static const char *const names[] = {"text", "a list", "a map"};
    if (node->kind == kind) return FP8MOE_OK;
    return yaml_fail(node, err, "%s must be %s, not %s", what, names[kind], names[node->kind]);
}

void yaml_free(yaml_node *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        yaml_free(&tree->children[i]);
    free(tree->children);
    free(tree->text);
    free(tree->key);
    *tree = (yaml_node){0};
}

#if HAVE_LIBYAML

typedef struct reading {
    yaml_parser_t parser;
    int64_t nodes;
} reading;

static void place(yaml_node *node, yaml_mark_t mark)
{
    node->line = (int64_t)mark.line + 1;
    node->column = (int64_t)mark.column + 1;
}

static fp8moe_status next_event(reading *r, yaml_event_t *event, fp8moe_error *err)
{
    if (yaml_parser_parse(&r->parser, event)) return FP8MOE_OK;
    yaml_node at;
    place(&at, r->parser.problem_mark);
    return yaml_fail(&at, err, "%s", r->parser.problem ? r->parser.problem : "this is no YAML");
}

static fp8moe_status read_node(reading *r, const yaml_event_t *event, int depth, yaml_node *out,
                               fp8moe_error *err);

static yaml_node *add_child(yaml_node *parent)
{
    parent->children = cli_resize(parent->children, (parent->count + 1) * sizeof *parent->children);
    parent->children[parent->count] = (yaml_node){0};
    return &parent->children[parent->count++];
}

static fp8moe_status take_key(const yaml_event_t *event, yaml_node *map, yaml_node *child,
                              fp8moe_error *err)
{
    yaml_node at;
    place(&at, event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) return yaml_fail(&at, err, "a key must be text");
    const char *key = (const char *)event->data.scalar.value;
    for (size_t i = 0; i + 1 < map->count; i++)
        if (!strcmp(map->children[i].key, key))
            return yaml_fail(&at, err, "key '%s' stands twice, first in line %lld", key,
                             (long long)map->children[i].line);
    child->key = cli_copy(key);
    return FP8MOE_OK;
}

/* Children up to the event that ends the list or map. */
static fp8moe_status read_children(reading *r, yaml_event_type_t end, int depth, yaml_node *out,
                                   fp8moe_error *err)
{
    for (;;) {
        yaml_event_t event;
        CLI_TRY(next_event(r, &event, err));
        if (event.type == end) {
            yaml_event_delete(&event);
            return FP8MOE_OK;
        }
        yaml_node *child = add_child(out);
        fp8moe_status st = FP8MOE_OK;
        if (out->kind == YAML_MAP) {
            st = take_key(&event, out, child, err);
            if (!child->key) child->key = cli_copy("");
            yaml_event_delete(&event);
            if (st == FP8MOE_OK) st = next_event(r, &event, err);
            if (st != FP8MOE_OK) return st;
        }
        st = read_node(r, &event, depth + 1, child, err);
        yaml_event_delete(&event);
        CLI_TRY(st);
    }
}

static const char *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return (const char *)event->data.alias.anchor;
    case YAML_SCALAR_EVENT:
        return (const char *)event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static fp8moe_status read_node(reading *r, const yaml_event_t *event, int depth, yaml_node *out,
                               fp8moe_error *err)
{
    place(out, event->start_mark);
    if (anchor_of(event))
        return yaml_fail(out, err, "anchors and aliases ('%s') are not used here",
                         anchor_of(event));
    if (depth > MAX_DEPTH) return yaml_fail(out, err, "more than %d levels", MAX_DEPTH);
    if (++r->nodes > MAX_NODES) return yaml_fail(out, err, "more than %d nodes", MAX_NODES);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        out->text = cli_copy((const char *)event->data.scalar.value);
        if (strlen(out->text) != event->data.scalar.length)
            return yaml_fail(out, err, "text with a NUL byte");
        return FP8MOE_OK;
    case YAML_SEQUENCE_START_EVENT:
        out->kind = YAML_LIST;
        return read_children(r, YAML_SEQUENCE_END_EVENT, depth, out, err);
    case YAML_MAPPING_START_EVENT:
        out->kind = YAML_MAP;
        return read_children(r, YAML_MAPPING_END_EVENT, depth, out, err);
    default:
        return yaml_fail(out, err, "this is no value");
    }
}

/* Events of one type, one after the other; anything else is an error. */
static fp8moe_status expect_event(reading *r, yaml_event_type_t wanted, const char *otherwise,
                                  fp8moe_error *err)
{
    yaml_event_t event;
    yaml_node at;
    CLI_TRY(next_event(r, &event, err));
    const bool good = event.type == wanted;
    place(&at, event.start_mark);
    yaml_event_delete(&event);
    return good ? FP8MOE_OK : yaml_fail(&at, err, "%s", otherwise);
}

static fp8moe_status read_document(reading *r, yaml_node *out, fp8moe_error *err)
{
    yaml_event_t event;
    CLI_TRY(expect_event(r, YAML_STREAM_START_EVENT, "this is no YAML", err));
    CLI_TRY(expect_event(r, YAML_DOCUMENT_START_EVENT, "the file is empty", err));
    CLI_TRY(next_event(r, &event, err));
    const fp8moe_status st = read_node(r, &event, 0, out, err);
    yaml_event_delete(&event);
    CLI_TRY(st);
    CLI_TRY(expect_event(r, YAML_DOCUMENT_END_EVENT, "the document does not end here", err));
    return expect_event(r, YAML_STREAM_END_EVENT, "a second document: one file holds one", err);
}

static fp8moe_status read_bytes(const char *path, unsigned char *bytes, size_t *size,
                                fp8moe_error *err)
{
    FILE *file = fopen(path, "rb");
    if (!file) return cli_fail(err, FP8MOE_ERR_IO, "cannot open: %s", strerror(errno));
    *size = fread(bytes, 1, MAX_BYTES + 1, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) return cli_fail(err, FP8MOE_ERR_IO, "cannot read: %s", strerror(errno));
    if (*size > MAX_BYTES)
        return cli_fail(err, FP8MOE_ERR_FORMAT, "more than %d bytes of YAML", MAX_BYTES);
    return FP8MOE_OK;
}

fp8moe_status yaml_read(const char *path, yaml_node *out, fp8moe_error *err)
{
    reading r = {.nodes = 0};
    unsigned char *bytes = cli_allocate(MAX_BYTES + 1);
    size_t size = 0;
    *out = (yaml_node){0};
    fp8moe_status st = read_bytes(path, bytes, &size, err);
    if (st == FP8MOE_OK && !yaml_parser_initialize(&r.parser))
        st = cli_fail(err, FP8MOE_ERR_NOMEM, "out of memory for a YAML parser");
    if (st == FP8MOE_OK) {
        yaml_parser_set_input_string(&r.parser, bytes, size);
        st = read_document(&r, out, err);
        yaml_parser_delete(&r.parser);
    }
    free(bytes);
    return cli_in_file(err, st, path);
}

#else

fp8moe_status yaml_read(const char *path, yaml_node *out, fp8moe_error *err)
{
    *out = (yaml_node){0};
    return cli_in_file(err,
                       cli_fail(err, FP8MOE_ERR_UNSUPPORTED,
                                "this fp8moe was built without libyaml: it reads no YAML"),
                       path);
}

#endif

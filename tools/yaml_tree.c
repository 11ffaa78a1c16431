#include "yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if HAVE_LIBYAML
#include <yaml.h>
#endif

#define MAX_BYTES (1 << 20)
#define MAX_DEPTH 16
#define MAX_KEYS 1000 /* in one map: each is compared with those before it */
#define MAX_NODES 100000

const yaml_node *yaml_find(const yaml_node *map, const char *key)
{
    for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
        if (!strcmp(map->children[i].key, key)) return &map->children[i];
    return NULL;
}

static fp8moe_status fail_at(int64_t line, int64_t column, fp8moe_error *err, const char *format,
                             va_list args)
{
    char sentence[400];
    vsnprintf(sentence, sizeof sentence, format, args);
    return cli_fail(err, FP8MOE_ERR_FORMAT, "line %lld, column %lld: %s", (long long)line,
                    (long long)column, sentence);
}

fp8moe_status yaml_fail(const yaml_node *at, fp8moe_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const fp8moe_status st = fail_at(at->line, at->column, err, format, args);
    va_end(args);
    return st;
}

fp8moe_status yaml_fail_key(const yaml_node *at, fp8moe_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const fp8moe_status st = fail_at(at->key_line, at->key_column, err, format, args);
    va_end(args);
    return st;
}

fp8moe_status yaml_expect(const yaml_node *node, yaml_kind kind, const char *what,
                          fp8moe_error *err)
{
    static const char *const names[] = {"text", "a list", "a map"};
    if (node->kind == kind) return FP8MOE_OK;
    return yaml_fail(node, err, "%s must be %s, not %s", what, names[kind], names[node->kind]);
}

void yaml_tree_free(yaml_node *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        yaml_tree_free(&tree->children[i]);
    free(tree->children);
    free(tree->text);
    free(tree->key);
    *tree = (yaml_node){0};
}

#if HAVE_LIBYAML

typedef struct reading {
    yaml_parser_t parser;
    unsigned char *bytes;
    size_t size;
    int64_t nodes;
} reading;

static void place(yaml_node *node, yaml_mark_t mark)
{
    node->line = (int64_t)mark.line + 1;
    node->column = (int64_t)mark.column + 1;
    if (node->key) return; /* which stands before, at a place of its own */
    node->key_line = node->line;
    node->key_column = node->column;
}

/* Where the parser stopped: at a byte that is no character, before any mark knows its place. */
static yaml_mark_t problem_mark(const reading *r)
{
    yaml_mark_t mark = {0};
    if (r->parser.error != YAML_READER_ERROR) return r->parser.problem_mark;
    for (size_t i = 0; i < r->parser.problem_offset && i < r->size; i++) {
        mark.column = r->bytes[i] == '\n' ? 0 : mark.column + 1;
        mark.line += r->bytes[i] == '\n';
    }
    return mark;
}

static fp8moe_status next_event(reading *r, yaml_event_t *event, fp8moe_error *err)
{
    if (yaml_parser_parse(&r->parser, event)) return FP8MOE_OK;
    yaml_node at = {.key = NULL};
    place(&at, problem_mark(r));
    return yaml_fail(&at, err, "%s", r->parser.problem ? r->parser.problem : "this is no YAML");
}

/* What a node carries beside its value and case files do without: an anchor, an alias, a tag. */
static fp8moe_status refuse_beside(const yaml_event_t *event, const yaml_node *at,
                                   fp8moe_error *err)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        anchor = event->data.alias.anchor;
        break;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor) return yaml_fail(at, err, "anchors and aliases ('%s') are not used here", anchor);
    if (tag) return yaml_fail(at, err, "tags ('%s') are not used here", tag);
    return FP8MOE_OK;
}

static fp8moe_status read_node(reading *r, const yaml_event_t *event, int depth, yaml_node *out,
                               fp8moe_error *err);

static yaml_node *add_child(yaml_node *parent)
{
    parent->children = cli_grow(parent->children, parent->count, sizeof *parent->children);
    parent->children[parent->count] = (yaml_node){0};
    return &parent->children[parent->count++];
}

static fp8moe_status take_key(const yaml_event_t *event, yaml_node *map, yaml_node *child,
                              fp8moe_error *err)
{
    place(child, event->start_mark);
    child->key =
        cli_copy(event->type == YAML_SCALAR_EVENT ? (const char *)event->data.scalar.value : "");
    CLI_TRY(refuse_beside(event, child, err));
    if (event->type != YAML_SCALAR_EVENT) return yaml_fail(child, err, "a key must be text");
    if (strlen(child->key) != event->data.scalar.length)
        return yaml_fail(child, err, "a key with a NUL byte");
    if (map->count > MAX_KEYS) return yaml_fail(child, err, "more than %d keys", MAX_KEYS);
    for (size_t i = 0; i + 1 < map->count; i++)
        if (!strcmp(map->children[i].key, child->key))
            return yaml_fail(child, err, "key '%s' stands twice, first in line %lld", child->key,
                             (long long)map->children[i].key_line);
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
            yaml_event_delete(&event);
            if (st == FP8MOE_OK) st = next_event(r, &event, err);
            if (st != FP8MOE_OK) return st;
        }
        st = read_node(r, &event, depth + 1, child, err);
        yaml_event_delete(&event);
        CLI_TRY(st);
    }
}

static fp8moe_status read_node(reading *r, const yaml_event_t *event, int depth, yaml_node *out,
                               fp8moe_error *err)
{
    place(out, event->start_mark);
    CLI_TRY(refuse_beside(event, out, err));
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
    yaml_node at = {.key = NULL};
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

static fp8moe_status read_bytes(reading *r, const char *path, fp8moe_error *err)
{
    struct stat info = {0};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* a FIFO's other end may never come */
        return cli_fail(err, FP8MOE_ERR_IO, "is not a regular file");
    FILE *file = fopen(path, "rb");
    if (!file) return cli_fail(err, FP8MOE_ERR_IO, "cannot open: %s", strerror(errno));
    const size_t room = info.st_size < MAX_BYTES ? (size_t)info.st_size : MAX_BYTES;
    r->bytes = cli_allocate(room + 1);
    r->size = fread(r->bytes, 1, room + 1, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) return cli_fail(err, FP8MOE_ERR_IO, "cannot read: %s", strerror(errno));
    if (r->size > room)
        return cli_fail(err, FP8MOE_ERR_FORMAT, "more than %zu bytes of YAML", room);
    return FP8MOE_OK;
}

fp8moe_status yaml_read(const char *path, yaml_node *out, fp8moe_error *err)
{
    reading r = {.nodes = 0};
    *out = (yaml_node){0};
    fp8moe_status st = read_bytes(&r, path, err);
    if (st == FP8MOE_OK && !yaml_parser_initialize(&r.parser))
        st = cli_fail(err, FP8MOE_ERR_NOMEM, "out of memory for a YAML parser");
    if (st == FP8MOE_OK) {
        yaml_parser_set_input_string(&r.parser, r.bytes, r.size);
        st = read_document(&r, out, err);
        yaml_parser_delete(&r.parser);
    }
    free(r.bytes);
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

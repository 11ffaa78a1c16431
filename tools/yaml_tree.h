/* A YAML file as a small tree of nodes with places: maps, lists and text, nothing else. */
#ifndef FP8MOE_TOOLS_YAML_TREE_H
#define FP8MOE_TOOLS_YAML_TREE_H

#include "cli.h"

typedef enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP } yaml_kind;

typedef struct yaml_node {
    yaml_kind kind;
    int64_t line, column;         /* from 1 */
    int64_t key_line, key_column; /* of its key; its own where it has none */
    char *text;                   /* of TEXT */
    char *key;                    /* of an entry of a map, else NULL */
    struct yaml_node *children;
    size_t count;
} yaml_node;

/*
 * Read one document. Refused, with line and column: what YAML's own rules forbid, a key twice in
 * one map, keys that are no text, aliases and anchors (a few bytes can stand for gigabytes), tags,
 * more than one document, more than 16 levels, 1000 keys in a map, 100,000 nodes or a mebibyte.
 *
 * @return OK; IO, FORMAT; UNSUPPORTED where libyaml is not built in
 */
fp8moe_status yaml_read(const char *path, yaml_node *out, fp8moe_error *err);
/* Not yaml_free(): libyaml has one of its own, which a program may replace without knowing. */
void yaml_tree_free(yaml_node *tree);

/* The entry of a map, or NULL. */
const yaml_node *yaml_find(const yaml_node *map, const char *key);

/* Fail with the node's place: "line 3, column 5: sentence"; or with that of its key. */
fp8moe_status yaml_fail(const yaml_node *at, fp8moe_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
fp8moe_status yaml_fail_key(const yaml_node *at, fp8moe_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fail unless the node is of a kind; `what` is how messages call it. */
fp8moe_status yaml_expect(const yaml_node *node, yaml_kind kind, const char *what,
                          fp8moe_error *err);

#endif

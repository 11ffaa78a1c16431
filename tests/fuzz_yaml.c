/* Any bytes are a case file or refused at a line and column; what was read keeps its promises. */
#include "fuzz.h"

#include "../tools/case.h"
#include "../tools/catalog.h"

#include <string.h>

static void check_place(const fp8moe_error *err, fp8moe_status status)
{
    long long line = 0, column = 0;
    fuzz_require(err->message[0] && err->file[0], "a sentence and a file");
    if (status == FP8MOE_ERR_IO || !strncmp(err->message, "more than ", 10)) return;
    fuzz_require(sscanf(err->message, "line %lld, column %lld: ", &line, &column) == 2 &&
                     line > 0 && column > 0,
                 "a line and a column");
}

static void check_node(const yaml_node *node, const yaml_node *parent)
{
    fuzz_require(node->line > 0 && node->column > 0 && node->key_line > 0 &&
                     node->key_line <= node->line,
                 "a place of the value and of its key");
    fuzz_require((node->key != NULL) == (parent && parent->kind == YAML_MAP), "keys in maps only");
    fuzz_require((node->text != NULL) == (node->kind == YAML_TEXT), "text of texts only");
    for (size_t i = 0; i < node->count; i++) {
        const yaml_node *const child = &node->children[i];
        check_node(child, node);
        if (child->key && i < 8) fuzz_require(yaml_find(node, child->key) == child, "keys differ");
    }
}

static void check_layer(const case_layer *layer)
{
    fuzz_require(layer->file_count > 0, "a layer has files");
    for (size_t i = 0; i < layer->file_count; i++)
        fuzz_require(layer->files[i] != NULL, "a name of each file");
    for (size_t i = 0; i < layer->given.given_count; i++)
        fuzz_require(layer->given.given[i].value != NULL, "a value of each option");
    fuzz_require(!layer->expect || !strcmp(layer->expect, "same") ||
                     !strcmp(layer->expect, "different") || !strcmp(layer->expect, "inconclusive"),
                 "a verdict to expect");
}

static void read_tree(const char *path)
{
    yaml_node root;
    fp8moe_error err = {.offset = -1};
    const fp8moe_status status = yaml_read(path, &root, &err);
    if (status == FP8MOE_OK)
        check_node(&root, NULL);
    else
        check_place(&err, status);
    yaml_tree_free(&root);
}

static void read_case(const char *path)
{
    static const cli_command verify = {.name = "verify"}; /* whose options a case file may name */
    const options given = {.command = &verify};
    case_file read;
    fp8moe_error err = {.offset = -1};
    const fp8moe_status status = case_read(path, &given, &read, &err);
    if (status != FP8MOE_OK) check_place(&err, status);
    fuzz_require(status != FP8MOE_OK || read.count > 0, "a case file has layers");
    for (size_t i = 0; status == FP8MOE_OK && i < read.count; i++)
        check_layer(&read.layers[i]);
    case_free(&read);
    catalog_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const path = fuzz_file(data, size);
    read_tree(path);
    read_case(path);
    return 0;
}

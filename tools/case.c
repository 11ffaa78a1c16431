#include "case.h"

#include "catalog.h"
#include "settings.h"
#include "yaml_tree.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATTERN "*?[" /* what makes a file name a pattern */
#define MAX_STARS 3

bool case_is_one(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

/* What holds for all layers is given to each: a small file must not stand for gigabytes. */
#define MAX_VALUES 100000

static fp8moe_status count_value(case_file *out, const yaml_node *value, fp8moe_error *err)
{
    if (out->values++ < MAX_VALUES) return FP8MOE_OK;
    return yaml_fail(value, err, "more than %d values over all layers", MAX_VALUES);
}

static const char *keep(case_file *out, char *text)
{
    out->texts = cli_grow(out->texts, out->text_count, sizeof *out->texts);
    return out->texts[out->text_count++] = text;
}

/* ---- options ---- */

static fp8moe_status add_option(case_file *out, case_layer *layer, option_id id,
                                const yaml_node *value, fp8moe_error *err)
{
    fp8moe_error why;
    CLI_TRY(yaml_expect(value, YAML_TEXT, value->key ? value->key : "an entry", err));
    CLI_TRY(count_value(out, value, err));
    const char *text = keep(out, cli_copy(value->text));
    if (options_add(&layer->given, id, text, &why) == FP8MOE_OK) return FP8MOE_OK;
    return yaml_fail(value, err, "%s", why.message);
}

/* `names: {field: tensor}` and `as: {tensor: dtype}` are --name and --as, once an entry. */
static fp8moe_status add_pairs(case_file *out, case_layer *layer, option_id id,
                               const yaml_node *map, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(map, YAML_MAP, map->key, err));
    for (size_t i = 0; i < map->count; i++) {
        const yaml_node *entry = &map->children[i];
        fp8moe_error why;
        CLI_TRY(yaml_expect(entry, YAML_TEXT, entry->key, err));
        CLI_TRY(count_value(out, entry, err));
        const char *text = keep(out, cli_text("%s=%s", entry->key, entry->text));
        if (options_add(&layer->given, id, text, &why) != FP8MOE_OK)
            return yaml_fail(entry, err, "%s", why.message);
    }
    return FP8MOE_OK;
}

static fp8moe_status add_list(case_file *out, case_layer *layer, option_id id,
                              const yaml_node *list, fp8moe_error *err)
{
    if (list->kind == YAML_TEXT) return add_option(out, layer, id, list, err);
    CLI_TRY(yaml_expect(list, YAML_LIST, list->key, err));
    for (size_t i = 0; i < list->count; i++)
        CLI_TRY(add_option(out, layer, id, &list->children[i], err));
    return FP8MOE_OK;
}

/* A key that is an option of verify. What the command line, or the layer before the common part,
 * says already stands. */
static fp8moe_status add_setting(case_file *out, case_layer *layer, const yaml_node *entry,
                                 fp8moe_error *err)
{
    char *spelling = cli_text("--%s", entry->key);
    for (char *at = spelling; *at; at++)
        if (*at == '_') *at = '-';
    const option_id id = options_of_command(layer->given.command, spelling);
    free(spelling);
    if (strchr(entry->key, '-') || id == OPTION_COUNT || id == OPTION_HELP || id == OPTION_FORMAT ||
        id == OPTION_OUTPUT || id == OPTION_PREP)
        return yaml_fail_key(entry, err, "unknown key '%s'", entry->key);
    if (options_is_list(id)) return add_list(out, layer, id, entry, err);
    if (options_value(&layer->given, id)) return yaml_expect(entry, YAML_TEXT, entry->key, err);
    CLI_TRY(add_option(out, layer, id, entry, err));
    settings unused;
    fp8moe_error why;
    if (settings_find(&layer->given, NULL, &unused, &why) == FP8MOE_OK) return FP8MOE_OK;
    return yaml_fail(entry, err, "%s", why.message);
}

/* ---- files ---- */

static fp8moe_status add_path(case_file *out, case_layer *layer, const yaml_node *place, char *path,
                              fp8moe_error *err)
{
    layer->files = cli_grow(layer->files, layer->file_count, sizeof *layer->files);
    layer->files[layer->file_count++] = path;
    return count_value(out, place, err);
}

/* A pattern stands in the last part only, and has few stars: it is matched in one folder and soon.
 */
static fp8moe_status check_pattern(const yaml_node *place, fp8moe_error *err)
{
    const char *last = strrchr(place->text, '/');
    const size_t before = last ? (size_t)(last - place->text) : 0;
    int stars = 0;
    if (strcspn(place->text, PATTERN) < before)
        return yaml_fail(place, err, "'%s': a pattern may stand behind the last / only",
                         place->text);
    for (const char *at = place->text; (at = strchr(at, '*')); at++)
        stars++;
    if (stars > MAX_STARS)
        return yaml_fail(place, err, "'%s': a pattern has at most %d *", place->text, MAX_STARS);
    return FP8MOE_OK;
}

/* The files whose names fit a pattern, in their order. */
static fp8moe_status add_matches(case_file *out, case_layer *layer, const char *folder,
                                 const yaml_node *place, fp8moe_error *err)
{
    glob_t found = {0};
    CLI_TRY(check_pattern(place, err));
    buffer pattern = {0};
    for (const char *at = place->text[0] == '/' ? "" : folder; *at; at++)
        buffer_format(&pattern, "\\%c", *at); /* the folder is meant as it is */
    buffer_add(&pattern, place->text);
    const bool matched = glob(pattern.data, 0, NULL, &found) == 0;
    fp8moe_status st =
        matched ? FP8MOE_OK : yaml_fail(place, err, "no file fits the pattern '%s'", place->text);
    for (size_t i = 0; st == FP8MOE_OK && i < found.gl_pathc; i++)
        st = add_path(out, layer, place, cli_copy(found.gl_pathv[i]), err);
    globfree(&found);
    buffer_free(&pattern);
    return st;
}

/* A file, or those that fit a pattern where no file has just that name. */
static fp8moe_status add_file(case_file *out, case_layer *layer, const char *folder,
                              const yaml_node *file, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(file, YAML_TEXT, "a file", err));
    char *path = file->text[0] == '/' ? cli_copy(file->text) : cli_text("%s%s", folder, file->text);
    if (!strpbrk(file->text, PATTERN) || access(path, F_OK) == 0)
        return add_path(out, layer, file, path, err);
    free(path);
    return add_matches(out, layer, folder, file, err);
}

static fp8moe_status add_files(case_file *out, case_layer *layer, const char *folder,
                               const yaml_node *files, fp8moe_error *err)
{
    if (files->kind == YAML_TEXT) return add_file(out, layer, folder, files, err);
    CLI_TRY(yaml_expect(files, YAML_LIST, "files", err));
    for (size_t i = 0; i < files->count; i++)
        CLI_TRY(add_file(out, layer, folder, &files->children[i], err));
    return FP8MOE_OK;
}

/* A model folder, from the case file's own where it is relative. */
static fp8moe_status add_weights(case_file *out, case_layer *layer, const char *folder,
                                 const yaml_node *entry, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(entry, YAML_TEXT, "weights", err));
    if (options_value(&layer->given, OPTION_WEIGHTS)) return FP8MOE_OK;
    const char *path = keep(out, entry->text[0] == '/' ? cli_copy(entry->text)
                                                       : cli_text("%s%s", folder, entry->text));
    return options_add(&layer->given, OPTION_WEIGHTS, path, err);
}

static fp8moe_status set_expect(case_layer *layer, const yaml_node *entry, fp8moe_error *err)
{
    static const char *const verdicts[] = {"same", "different", "inconclusive"};
    CLI_TRY(yaml_expect(entry, YAML_TEXT, "expect", err));
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(entry->text, verdicts[i])) {
            if (!layer->expect) layer->expect = cli_copy(entry->text);
            return FP8MOE_OK;
        }
    return yaml_fail(entry, err, "expect '%s': same, different or inconclusive", entry->text);
}

/* ---- layers ---- */

/* The keys of a layer, or (`common`) those that hold for all. */
static fp8moe_status read_keys(case_file *out, case_layer *layer, const char *folder,
                               const yaml_node *map, bool common, fp8moe_error *err)
{
    for (size_t i = 0; i < map->count; i++) {
        const yaml_node *entry = &map->children[i];
        if (common && (!strcmp(entry->key, "layers") || !strcmp(entry->key, "recipes") ||
                       !strcmp(entry->key, "targets")))
            continue;
        if (!strcmp(entry->key, "files")) {
            if (!layer->file_count) CLI_TRY(add_files(out, layer, folder, entry, err));
        } else if (!strcmp(entry->key, "title") && !common) {
            CLI_TRY(yaml_expect(entry, YAML_TEXT, "title", err));
            layer->name = cli_copy(entry->text);
        } else if (!strcmp(entry->key, "expect")) {
            CLI_TRY(set_expect(layer, entry, err));
        } else if (!strcmp(entry->key, "weights")) {
            CLI_TRY(add_weights(out, layer, folder, entry, err));
        } else if (!strcmp(entry->key, "names")) {
            CLI_TRY(add_pairs(out, layer, OPTION_NAME, entry, err));
        } else if (!strcmp(entry->key, "as")) {
            CLI_TRY(add_pairs(out, layer, OPTION_AS, entry, err));
        } else {
            CLI_TRY(add_setting(out, layer, entry, err));
        }
    }
    return FP8MOE_OK;
}

static fp8moe_status read_layer(case_file *out, const options *given, const char *folder,
                                const yaml_node *root, const yaml_node *own, fp8moe_error *err)
{
    out->layers = cli_grow(out->layers, out->count, sizeof *out->layers);
    case_layer *layer = &out->layers[out->count++];
    *layer = (case_layer){.given = options_copy(given)};
    if (own) CLI_TRY(yaml_expect(own, YAML_MAP, "a layer", err));
    if (own) CLI_TRY(read_keys(out, layer, folder, own, false, err));
    CLI_TRY(read_keys(out, layer, folder, root, true, err));
    if (layer->file_count) return FP8MOE_OK;
    return yaml_fail(own ? own : root, err, "a layer needs files");
}

static fp8moe_status read_layers(case_file *out, const options *given, const char *folder,
                                 const yaml_node *root, fp8moe_error *err)
{
    const yaml_node *recipes = yaml_find(root, "recipes"), *targets = yaml_find(root, "targets");
    const yaml_node *layers = yaml_find(root, "layers");
    CLI_TRY(yaml_expect(root, YAML_MAP, "a case file", err));
    if (recipes) CLI_TRY(catalog_add_recipes(recipes, err));
    if (targets) CLI_TRY(catalog_add_targets(targets, err));
    if (!layers) return read_layer(out, given, folder, root, NULL, err);
    CLI_TRY(yaml_expect(layers, YAML_LIST, "layers", err));
    for (size_t i = 0; i < layers->count; i++)
        CLI_TRY(read_layer(out, given, folder, root, &layers->children[i], err));
    return layers->count ? FP8MOE_OK : yaml_fail(layers, err, "a case file needs a layer");
}

fp8moe_status case_read(const char *path, const options *given, case_file *out, fp8moe_error *err)
{
    yaml_node root;
    *out = (case_file){0};
    fp8moe_status st = yaml_read(path, &root, err);
    if (st == FP8MOE_OK) {
        const char *slash = strrchr(path, '/');
        char *folder = cli_text("%.*s", slash ? (int)(slash + 1 - path) : 0, path);
        st = cli_in_file(err, read_layers(out, given, folder, &root, err), path);
        free(folder);
    }
    yaml_tree_free(&root);
    return st;
}

void case_free(case_file *read)
{
    for (size_t i = 0; i < read->count; i++) {
        case_layer *layer = &read->layers[i];
        for (size_t k = 0; k < layer->file_count; k++)
            free(layer->files[k]);
        free(layer->files);
        free(layer->name);
        free(layer->expect);
        free(layer->given.given);
    }
    for (size_t i = 0; i < read->text_count; i++)
        free(read->texts[i]);
    free(read->texts);
    free(read->layers);
    *read = (case_file){0};
}

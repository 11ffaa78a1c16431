#include "sources.h"

#include "fields.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names of files ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The path without the extension of its last part. */
static char *stem_of(const char *path)
{
    const char *dot = strrchr(base_of(path), '.');
    return cli_text("%.*s", dot && dot > base_of(path) ? (int)(dot - path) : (int)strlen(path),
                    path);
}

/* Where in a stem the longest known field name starts that ends it, behind a separator or at its
 * start; NULL where there is none. */
static char *field_at(char *stem)
{
    char *const base = stem + (base_of(stem) - stem);
    for (char *at = base; *at; at++)
        if ((at == base || strchr("_.-", at[-1])) && fields_knows(at)) return at;
    return NULL;
}

/* Cut "input_" and the separator from the end of what stands before a field name. */
static void trim_prefix(char *stem, char *field)
{
    static const char before[] = "input";
    size_t length = (size_t)(field - stem);
    const size_t base = (size_t)(base_of(stem) - stem);
    if (length > base) length--;
    const size_t extra = sizeof before - 1;
    if (length >= base + extra && !strncmp(stem + length - extra, before, extra) &&
        (length == base + extra || strchr("_.-", stem[length - extra - 1])))
        length -= extra + (length > base + extra);
    stem[length] = '\0';
}

/* ---- growing ---- */

static source *add_source(sources *out, char *title)
{
    out->all = cli_resize(out->all, (out->count + 1) * sizeof *out->all);
    out->all[out->count] = (source){.title = title};
    return &out->all[out->count++];
}

static void add_member(sources *out, const char *prefix, const char *path, const char *name)
{
    char *title = cli_text("%s*", prefix);
    source *group = NULL;
    for (size_t i = 0; i < out->count && !group; i++)
        if (out->all[i].member_count && !strcmp(out->all[i].title, title)) group = &out->all[i];
    if (group)
        free(title);
    else
        group = add_source(out, title);
    group->members = cli_resize(group->members, (group->member_count + 1) * sizeof *group->members);
    group->members[group->member_count++] = (fp8moe_group_member){cli_copy(path), cli_copy(name)};
}

/* ---- files and folders ---- */

static void skip_file(sources *out, const char *path)
{
    out->skipped = cli_resize(out->skipped, (out->skipped_count + 1) * sizeof *out->skipped);
    out->skipped[out->skipped_count++] = cli_copy(path);
}

/* By its own name, which is enough for a file that holds several tensors, or that cannot be opened:
 * that error belongs to the layer, and other layers do not suffer from it. */
static void add_file(sources *out, const char *path, fp8moe_dump *dump)
{
    char *stem = stem_of(path),
         *field = dump && fp8moe_dump_count(dump) == 1 ? field_at(stem) : NULL;
    if (field) {
        char *name = cli_copy(field);
        trim_prefix(stem, field);
        add_member(out, stem, path, name);
        free(name);
    } else {
        add_source(out, cli_copy(path));
    }
    free(stem);
}

static void look_at(sources *out, const char *path, bool in_folder)
{
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    const fp8moe_status st = fp8moe_dump_open(path, &dump, &err);
    /* A folder may hold anything: notes, logs. What begins like a tensor file and is damaged
     * counts. */
    if (st == FP8MOE_ERR_FORMAT && in_folder && err.offset == 0)
        skip_file(out, path);
    else
        add_file(out, path, dump);
    fp8moe_dump_close(dump);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static fp8moe_status add_entries(sources *out, const char *folder, struct dirent **entries,
                                 int count, fp8moe_error *err)
{
    const size_t before = out->count;
    for (int i = 0; i < count; i++)
        if (!strcmp(entries[i]->d_name, "config.json"))
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "%s is a model folder: give it to --weights, and the dump as argument",
                            folder);
    for (int i = 0; i < count; i++) {
        char *path = cli_text("%s/%s", folder, entries[i]->d_name);
        if (!is_folder(path)) look_at(out, path, true);
        free(path);
    }
    if (out->count > before) return FP8MOE_OK;
    return cli_in_file(err, cli_fail(err, FP8MOE_ERR_NOT_FOUND, "this folder holds no tensor file"),
                       folder);
}

static fp8moe_status add_folder(sources *out, const char *folder, fp8moe_error *err)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return cli_in_file(
            err, cli_fail(err, FP8MOE_ERR_IO, "cannot read this folder: %s", strerror(errno)),
            folder);
    const fp8moe_status st = add_entries(out, folder, entries, count, err);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return st;
}

/* ---- the whole ---- */

fp8moe_status sources_find(const char *const *paths, size_t count, sources *out, fp8moe_error *err)
{
    *out = (sources){0};
    for (size_t i = 0; i < count; i++) {
        if (is_folder(paths[i]))
            CLI_TRY(add_folder(out, paths[i], err));
        else
            look_at(out, paths[i], false);
    }
    return FP8MOE_OK;
}

void sources_free(sources *found)
{
    for (size_t i = 0; i < found->count; i++) {
        source *one = &found->all[i];
        for (size_t k = 0; k < one->member_count; k++) {
            free((char *)one->members[k].path);
            free((char *)one->members[k].name);
        }
        free(one->members);
        free(one->title);
    }
    for (size_t i = 0; i < found->skipped_count; i++)
        free(found->skipped[i]);
    free(found->skipped);
    free(found->all);
    *found = (sources){0};
}

fp8moe_status source_open(const source *from, fp8moe_dump **out, fp8moe_error *err)
{
    const fp8moe_status st =
        from->member_count
            ? fp8moe_dump_open_group(from->title, from->members, from->member_count, out, err)
            : fp8moe_dump_open(from->title, out, err);
    return cli_in_file(err, st, from->title);
}

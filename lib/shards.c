#include "shards.h"

#include "file.h"
#include "json.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char index_name[] = "model.safetensors.index.json";
static const char single_name[] = "model.safetensors";

static fp8moe_status no_memory(fp8moe_error *err)
{
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the table of tensors");
}

/* ---- the index ---- */

/* One pair of the index. */
typedef struct placed {
    const char *name, *shard;
} placed;

/* Names reach terminals and reports. JSON has checked that they are UTF-8. */
static bool has_control_character(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F) return true;
    return false;
}

static fp8moe_status check_pair(const json_value *pair, fp8moe_error *err)
{
    if (pair->type != JSON_STRING)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, pair->offset,
                       "weight_map must name a file for every tensor, this one is %s",
                       json_type_text(pair));
    if (has_control_character(pair->key) || strlen(pair->key) > LIMIT_NAME_BYTES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, pair->key_offset,
                       "a tensor's name holds a control character or is longer than %d bytes",
                       LIMIT_NAME_BYTES);
    if (has_control_character(pair->string))
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, pair->offset,
                       "a file's name holds a control character");
    return FP8MOE_OK;
}

static fp8moe_status collect(const json_value *map, placed *out, fp8moe_error *err)
{
    for (const json_value *pair = map->children.first; pair; pair = pair->next) {
        TRY(check_pair(pair, err));
        *out++ = (placed){pair->key, pair->string};
    }
    return FP8MOE_OK;
}

static int compare_shards(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    const int order = strcmp(x->shard, y->shard);
    return order ? order : strcmp(x->name, y->name);
}

static int compare_entries(const void *a, const void *b)
{
    const shard_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Copy pairs sorted by shard into the two tables. */
static bool fill_tables(shards *all, const placed *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(pairs[i - 1].shard, pairs[i].shard) != 0) {
            const char *const name =
                arena_text(&all->memory, pairs[i].shard, strlen(pairs[i].shard));
            if (!name) return false;
            all->files[all->file_count++] = (shard){.name = name};
        }
        const char *const name = arena_text(&all->memory, pairs[i].name, strlen(pairs[i].name));
        if (!name) return false;
        all->entries[all->count++] = (shard_entry){name, all->file_count - 1};
    }
    return true;
}

static size_t count_shards(const placed *pairs, size_t count)
{
    size_t files = count > 0;
    for (size_t i = 1; i < count; i++)
        files += strcmp(pairs[i - 1].shard, pairs[i].shard) != 0;
    return files;
}

static fp8moe_status make_tables(shards *all, placed *pairs, size_t count, fp8moe_error *err)
{
    if (count) qsort(pairs, count, sizeof *pairs, compare_shards);
    all->files = calloc(count_shards(pairs, count) + 1, sizeof *all->files);
    all->entries = calloc(count + 1, sizeof *all->entries);
    if (!all->files || !all->entries || !fill_tables(all, pairs, count)) return no_memory(err);
    if (count) qsort(all->entries, count, sizeof *all->entries, compare_entries);
    return FP8MOE_OK;
}

static fp8moe_status read_map(shards *all, const json_value *root, fp8moe_error *err)
{
    const json_value *const map = json_get(root, "weight_map");
    if (!map || map->type != JSON_OBJECT)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, map ? map->offset : root->offset,
                       "the index must have an object \"weight_map\"");
    if (map->children.count > LIMIT_TENSORS)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, map->offset,
                       "more than %d tensors in the index", LIMIT_TENSORS);
    const size_t count = (size_t)map->children.count;
    placed *const pairs = calloc(count + 1, sizeof *pairs);
    if (!pairs) return no_memory(err);
    fp8moe_status status = collect(map, pairs, err);
    if (status == FP8MOE_OK) status = make_tables(all, pairs, count, err);
    free(pairs);
    return status;
}

static fp8moe_status read_index(shards *all, const char *path, fp8moe_error *err)
{
    file_view file = {0};
    json *parsed = NULL;
    TRY(file_open(path, &file, err));
    fp8moe_status status = json_parse(file.data, (size_t)file.size, 0, &parsed, err);
    file_close(&file);
    if (status == FP8MOE_OK) status = read_map(all, json_root(parsed), err);
    json_close(parsed);
    return status;
}

/* ---- shards ---- */

static fp8moe_status in_shard(const shards *all, size_t which, fp8moe_status status,
                              fp8moe_error *err)
{
    return folder_error(all->folder, all->files[which].name, status, err);
}

static fp8moe_status open_shard(shards *all, size_t which, fp8moe_error *err)
{
    char *path = NULL;
    if (all->files[which].dump) return FP8MOE_OK;
    TRY(folder_find(all->folder, all->files[which].name, &path, err));
    const fp8moe_status status = fp8moe_dump_open(path, &all->files[which].dump, err);
    free(path);
    return in_shard(all, which, status, err);
}

/* A folder of one file: its own table of names is the index. */
static fp8moe_status read_single(shards *all, fp8moe_error *err)
{
    all->files = calloc(1, sizeof *all->files);
    if (!all->files) return no_memory(err);
    all->files[0].name = single_name;
    all->file_count = 1;
    TRY(open_shard(all, 0, err));
    shards_hold(all); /* the names are the dump's own */
    const fp8moe_dump *const dump = all->files[0].dump;
    all->entries = calloc(fp8moe_dump_count(dump) + 1, sizeof *all->entries);
    if (!all->entries) return no_memory(err);
    for (; all->count < fp8moe_dump_count(dump); all->count++)
        all->entries[all->count].name = fp8moe_dump_name(dump, all->count);
    if (all->count) qsort(all->entries, all->count, sizeof *all->entries, compare_entries);
    return FP8MOE_OK;
}

static fp8moe_status read_indexed(shards *all, fp8moe_error *err)
{
    char *path = NULL;
    TRY(folder_find(all->folder, index_name, &path, err));
    const fp8moe_status status = read_index(all, path, err);
    free(path);
    return folder_error(all->folder, index_name, status, err);
}

fp8moe_status shards_open(const model_folder *f, shards *out, fp8moe_error *err)
{
    fp8moe_status status = FP8MOE_OK;
    out->folder = f;
    if (folder_has(f, index_name))
        status = read_indexed(out, err);
    else if (folder_has(f, single_name))
        status = read_single(out, err);
    else
        status = fail(err, FP8MOE_ERR_IO, "holds neither %s nor %s: is this a model folder?",
                      index_name, single_name);
    if (status != FP8MOE_OK) shards_close(out);
    return error_in_file(err, status, f->path);
}

void shards_close(shards *all)
{
    for (size_t i = 0; i < all->file_count; i++)
        fp8moe_dump_close(all->files[i].dump);
    free(all->files);
    free(all->entries);
    arena_free(&all->memory);
    *all = (shards){0};
}

void shards_hold(shards *all)
{
    for (size_t i = 0; i < all->file_count; i++)
        if (all->files[i].dump) all->files[i].held = true;
}

void shards_drop(shards *all)
{
    for (size_t i = 0; i < all->file_count; i++) {
        if (all->files[i].held) continue;
        fp8moe_dump_close(all->files[i].dump);
        all->files[i].dump = NULL;
    }
}

/* ---- tensors ---- */

size_t shards_from(const shards *all, const char *name)
{
    size_t first = 0, end = all->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (strcmp(all->entries[middle].name, name) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

const shard_entry *shards_find(const shards *all, const char *name)
{
    const size_t at = shards_from(all, name);
    return at < all->count && strcmp(all->entries[at].name, name) == 0 ? &all->entries[at] : NULL;
}

static fp8moe_status take_tensor(shards *all, const shard_entry *entry, fp8moe_tensor *out,
                                 fp8moe_error *err)
{
    TRY(open_shard(all, entry->shard, err));
    fp8moe_dump *const dump = all->files[entry->shard].dump;
    const int64_t index = fp8moe_dump_find(dump, entry->name);
    if (index >= 0)
        return in_shard(all, entry->shard, fp8moe_dump_tensor(dump, (size_t)index, out, err), err);
    fail(err, FP8MOE_ERR_NOT_FOUND, "not in %.200s, although the index says so",
         all->files[entry->shard].name);
    return in_shard(all, entry->shard, FP8MOE_ERR_NOT_FOUND, err);
}

fp8moe_status shards_tensor(shards *all, const char *name, fp8moe_tensor *out, fp8moe_error *err)
{
    const shard_entry *const entry = shards_find(all, name);
    if (!entry) {
        fail_at(err, FP8MOE_ERR_NOT_FOUND, name, -1, "there is no such tensor in the model folder");
        return error_in_file(err, FP8MOE_ERR_NOT_FOUND, all->folder->path);
    }
    return error_in_tensor(err, take_tensor(all, entry, out, err), name);
}

/* One tensor a file, seen as one dump: every file gives its only tensor under a name of the
 * caller's. */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

typedef struct group {
    size_t count;
    fp8moe_dump *members[];
} group;

static fp8moe_status add_member(fp8moe_dump *dump, fp8moe_dump *member, const char *name,
                                size_t index, fp8moe_error *err)
{
    if (fp8moe_dump_count(member) != 1)
        return fail(err, FP8MOE_ERR_USAGE, "%zu tensors: a file of a group holds one",
                    fp8moe_dump_count(member));
    dump_entry entry = member->entries[0];
    entry.name = arena_text(&dump->memory, name, strlen(name));
    if (!entry.name) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a name");
    entry.packed = index;
    entry.packed_at = 0;
    return dump_add(dump, &entry, err);
}

static fp8moe_status fetch_from_member(fp8moe_dump *dump, const dump_entry *entry,
                                       const uint8_t **out, fp8moe_error *err)
{
    const group *const g = dump->state;
    fp8moe_tensor tensor;
    TRY(fp8moe_dump_tensor(g->members[entry->packed], 0, &tensor, err));
    *out = tensor.data;
    return FP8MOE_OK;
}

static void close_members(fp8moe_dump *dump)
{
    group *const g = dump->state;
    for (size_t i = 0; g && i < g->count; i++)
        fp8moe_dump_close(g->members[i]);
    free(g);
}

static bool member_owns(const fp8moe_dump *dump, const void *address)
{
    const group *const g = dump->state;
    for (size_t i = 0; i < g->count; i++)
        if (fp8moe_dump_owns(g->members[i], address)) return true;
    return false;
}

static const dump_format dump_group = {
    .name = "group", .fetch = fetch_from_member, .close = close_members, .owns = member_owns};

static fp8moe_status open_members(fp8moe_dump *dump, const fp8moe_group_member *members,
                                  size_t count, fp8moe_error *err)
{
    group *const g = calloc(1, sizeof *g + count * sizeof *g->members);
    if (!g) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a group of %zu files", count);
    dump->state = g;
    for (size_t i = 0; i < count; i++) {
        TRY(fp8moe_dump_open(members[i].path, &g->members[i], err));
        g->count = i + 1;
        TRY(error_in_file(err, add_member(dump, g->members[i], members[i].name, i, err),
                          members[i].path));
    }
    return dump_index_names(dump, err);
}

fp8moe_status fp8moe_dump_open_group(const char *title, const fp8moe_group_member *members,
                                     size_t count, fp8moe_dump **out, fp8moe_error *err)
{
    assert(title && members && out);
    fp8moe_dump *dump = calloc(1, sizeof *dump);
    if (!dump) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a dump");
    dump->format = &dump_group;
    dump->path = arena_text(&dump->memory, title, strlen(title));
    const fp8moe_status status = dump->path
                                     ? open_members(dump, members, count, err)
                                     : fail(err, FP8MOE_ERR_NOMEM, "out of memory for a name");
    if (status != FP8MOE_OK) {
        fp8moe_dump_close(dump);
        return error_in_file(err, status, title);
    }
    *out = dump;
    return FP8MOE_OK;
}

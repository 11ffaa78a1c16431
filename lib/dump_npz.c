/* numpy's .npz: a zip archive of .npy files, each named after its array. */
#include "dump.h"
#include "dump_npy.h"
#include "zip.h"

#include <stdlib.h>
#include <string.h>

static probe_result probe(const file_view *file)
{
    return zip_probe(file->data, file->size) ? PROBE_SURE : PROBE_NO;
}

/* The array's name in the dump's memory: the entry's without ".npy"; NULL out of memory. */
static char *array_name(fp8moe_dump *dump, const zip_entry *entry)
{
    return arena_text(&dump->memory, entry->name, strlen(entry->name) - strlen(".npy"));
}

static fp8moe_status add_array(fp8moe_dump *dump, zip *archive, size_t index, uint8_t *header,
                               fp8moe_error *err)
{
    const zip_entry *const packed = zip_at(archive, index);
    const int64_t base = packed->deflated ? -1 : packed->offset;
    dump_entry entry = {.name = array_name(dump, packed), .packed = index, .offset = -1};
    size_t got = 0;
    if (!entry.name) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the array's name");
    TRY(zip_peek(archive, index, header, NPY_HEADER_BYTES, &got, err));
    TRY(npy_read_header(header, (int64_t)got, packed->unpacked, base, &entry, err));
    if (base >= 0) entry.offset = base + entry.packed_at;
    return dump_add(dump, &entry, err);
}

static bool is_array(const zip_entry *entry)
{
    const size_t length = strlen(entry->name);
    return length > 4 && strcmp(entry->name + length - 4, ".npy") == 0;
}

/* Entries of other names are no arrays to numpy either. */
static fp8moe_status add_arrays(fp8moe_dump *dump, zip *archive, fp8moe_error *err)
{
    uint8_t *const header = malloc(NPY_HEADER_BYTES);
    fp8moe_status status =
        header ? FP8MOE_OK : fail(err, FP8MOE_ERR_NOMEM, "out of memory for an npy header");
    for (size_t i = 0; i < zip_count(archive) && status == FP8MOE_OK; i++)
        if (is_array(zip_at(archive, i))) status = add_array(dump, archive, i, header, err);
    free(header);
    if (status == FP8MOE_OK && !dump->count && zip_count(archive))
        return fail(
            err, FP8MOE_ERR_FORMAT,
            "is a zip archive without .npy entries and without data.pkl: neither npz nor .pt");
    return status;
}

static fp8moe_status open_file(fp8moe_dump *dump, fp8moe_error *err)
{
    zip *archive = NULL;
    TRY(zip_open(dump->file.data, dump->file.size, &archive, err));
    dump->state = archive;
    return add_arrays(dump, archive, err);
}

static fp8moe_status fetch(fp8moe_dump *dump, const dump_entry *entry, const uint8_t **out,
                           fp8moe_error *err)
{
    return zip_content(dump->state, entry->packed, true, out, err);
}

static void close_file(fp8moe_dump *dump)
{
    zip_close(dump->state);
}

const dump_format dump_npz = {
    .name = "npz", .probe = probe, .open = open_file, .fetch = fetch, .close = close_file};

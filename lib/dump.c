#include "dump.h"

#include "bytes.h"
#include "limits.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Of equally sure ones the first reads the file: a .pt file is a zip archive like npz, and more. */
static const dump_format *const formats[] = {&dump_safetensors, &dump_npy, &dump_pt, &dump_npz};

static fp8moe_status no_memory(fp8moe_error *err)
{
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the table of tensors");
}

/* ---- what formats use ---- */

static fp8moe_status check_name(const char *name, const char *what, int64_t offset,
                                fp8moe_error *err)
{
    const size_t size = strlen(name);
    if (size > LIMIT_NAME_BYTES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, offset, "%s of %zu bytes, at most %d are read",
                       what, size, LIMIT_NAME_BYTES);
    if (text_utf8_check(name, size) != size)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, offset, "%s is not valid UTF-8", what);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return fail_at(err, FP8MOE_ERR_FORMAT, NULL, offset,
                           "%s holds the control character 0x%02X", what, (unsigned)name[i]);
    return FP8MOE_OK;
}

/* Room for one more item in an array of the malloc family. */
static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) return items;
    const size_t wanted = *capacity ? *capacity * 2 : 16;
    void *const larger = realloc(items, wanted * size);
    if (larger) *capacity = wanted;
    return larger;
}

fp8moe_status dump_add(fp8moe_dump *dump, const dump_entry *entry, fp8moe_error *err)
{
    TRY(check_name(entry->name, "a tensor's name", entry->offset, err));
    if (dump->count >= LIMIT_TENSORS)
        return fail(err, FP8MOE_ERR_FORMAT, "more than %d tensors in one file", LIMIT_TENSORS);
    dump_entry *entries = grow(dump->entries, dump->count, &dump->capacity, sizeof *entries);
    if (!entries) return no_memory(err);
    dump->entries = entries;
    entries[dump->count] = *entry;
    entries[dump->count++].stored = entry->tensor.dtype;
    return FP8MOE_OK;
}

fp8moe_status dump_add_metadata(fp8moe_dump *dump, const char *key, const char *value,
                                fp8moe_error *err)
{
    TRY(check_name(key, "a metadata key", -1, err));
    if (dump->metadata_count >= LIMIT_METADATA_PAIRS)
        return fail(err, FP8MOE_ERR_FORMAT, "more than %d metadata pairs in one file",
                    LIMIT_METADATA_PAIRS);
    fp8moe_metadata *pairs =
        grow(dump->metadata, dump->metadata_count, &dump->metadata_capacity, sizeof *pairs);
    if (!pairs) return no_memory(err);
    dump->metadata = pairs;
    fp8moe_metadata *const pair = &pairs[dump->metadata_count];
    pair->key = arena_text(&dump->memory, key, strlen(key));
    pair->value = arena_text(&dump->memory, value, strlen(value));
    if (!pair->key || !pair->value) return no_memory(err);
    dump->metadata_count++;
    return FP8MOE_OK;
}

char *dump_stem(fp8moe_dump *dump)
{
    const char *const slash = strrchr(dump->path, '/');
    const char *const base = slash ? slash + 1 : dump->path;
    const char *const dot = strrchr(base, '.');
    const size_t size = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    char *const stem = arena_text(&dump->memory, base, size);
    if (!stem) return NULL;
    const bool usable = size && check_name(stem, "", -1, NULL) == FP8MOE_OK;
    return usable ? stem : arena_text(&dump->memory, "tensor", 6);
}

/* False when the elements or the strides overflow; a dimension of 0 must not hide that. */
static bool size_fits(fp8moe_dtype dtype, int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int dim = 0; dim < rank; dim++) {
        assert(shape[dim] >= 0);
        if (!checked_mul(count, max_i64(shape[dim], 1), &count)) return false;
    }
    int64_t bits;
    return checked_mul(count, fp8moe_dtype_bits(dtype), &bits);
}

fp8moe_status dump_shape(const char *name, fp8moe_dtype dtype, size_t rank, const int64_t *shape,
                         int64_t offset, fp8moe_tensor *out, int64_t *bytes, fp8moe_error *err)
{
    if (rank > FP8MOE_MAX_RANK)
        return fail_at(err, FP8MOE_ERR_UNSUPPORTED, name, offset,
                       "a tensor of %zu dimensions, at most %d are read", rank, FP8MOE_MAX_RANK);
    if (!size_fits(dtype, (int)rank, shape))
        return fail_at(err, FP8MOE_ERR_FORMAT, name, offset,
                       "the shape's size in bits does not fit 64 bits");
    *out = fp8moe_tensor_view(NULL, dtype, (int)rank, shape);
    if (!bytes_of(dtype, fp8moe_tensor_count(out), bytes))
        return fail_at(err, FP8MOE_ERR_FORMAT, name, offset,
                       "%lld elements of %s end in the middle of a byte",
                       (long long)fp8moe_tensor_count(out), fp8moe_dtype_name(dtype));
    out->swapped = host_is_big_endian(); /* files are little-endian unless their format says so */
    return FP8MOE_OK;
}

/* ---- opening ---- */

typedef struct name_at {
    const char *name;
    size_t index;
} name_at;

static int compare_names(const void *a, const void *b)
{
    const name_at *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

fp8moe_status dump_index_names(fp8moe_dump *dump, fp8moe_error *err)
{
    if (!dump->count) return FP8MOE_OK;
    dump->by_name = arena_alloc(&dump->memory, dump->count * sizeof *dump->by_name);
    name_at *const names = malloc(dump->count * sizeof *names);
    fp8moe_status status = dump->by_name && names ? FP8MOE_OK : no_memory(err);
    if (status == FP8MOE_OK) {
        for (size_t i = 0; i < dump->count; i++)
            names[i] = (name_at){dump->entries[i].name, i};
        qsort(names, dump->count, sizeof *names, compare_names);
        for (size_t i = 0; i < dump->count; i++)
            dump->by_name[i] = names[i].index;
    }
    free(names);
    for (size_t i = 1; status == FP8MOE_OK && i < dump->count; i++) {
        const dump_entry *const second = &dump->entries[dump->by_name[i]];
        if (strcmp(dump->entries[dump->by_name[i - 1]].name, second->name) == 0)
            status = fail_at(err, FP8MOE_ERR_FORMAT, second->name, second->offset,
                             "two tensors have this name");
    }
    return status;
}

static fp8moe_status find_format(fp8moe_dump *dump, fp8moe_error *err)
{
    probe_result surest = PROBE_NO;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const probe_result sure = formats[i]->probe(&dump->file);
        if (sure <= surest) continue;
        surest = sure;
        dump->format = formats[i];
    }
    if (surest > PROBE_NO) return FP8MOE_OK;
    static const char lfs[] = "version https://git-lfs";
    if (dump->file.size > (int64_t)sizeof lfs && !memcmp(dump->file.data, lfs, sizeof lfs - 1))
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                       "is a Git LFS pointer: the file itself was not fetched (git lfs pull)");
    return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                   "is no file of tensors: neither safetensors, npy, npz nor a zip-based .pt");
}

static fp8moe_status open_into(fp8moe_dump *dump, const char *path, fp8moe_error *err)
{
    if (!(dump->path = arena_text(&dump->memory, path, strlen(path)))) return no_memory(err);
    TRY(file_open(path, &dump->file, err));
    TRY(find_format(dump, err));
    TRY(dump->format->open(dump, err));
    return dump_index_names(dump, err);
}

fp8moe_status fp8moe_dump_open(const char *path, fp8moe_dump **out, fp8moe_error *err)
{
    assert(path && out);
    fp8moe_dump *dump = calloc(1, sizeof *dump);
    if (!dump) return no_memory(err);
    const fp8moe_status status = open_into(dump, path, err);
    if (status != FP8MOE_OK) {
        fp8moe_dump_close(dump);
        return error_in_file(err, status, path);
    }
    *out = dump;
    return FP8MOE_OK;
}

void fp8moe_dump_close(fp8moe_dump *dump)
{
    if (!dump) return;
    if (dump->format && dump->format->close) dump->format->close(dump);
    free(dump->entries);
    free(dump->metadata);
    file_close(&dump->file);
    arena_free(&dump->memory);
    free(dump);
}

/* ---- asking ---- */

const char *fp8moe_dump_path(const fp8moe_dump *dump)
{
    return dump->path;
}

const char *fp8moe_dump_format(const fp8moe_dump *dump)
{
    return dump->format->name;
}

bool fp8moe_dump_owns(const fp8moe_dump *dump, const void *address)
{
    if (dump->format->owns) return dump->format->owns(dump, address);
    const uintptr_t start = (uintptr_t)dump->file.data, at = (uintptr_t)address;
    return at >= start && at - start < (uintptr_t)dump->file.size;
}

size_t fp8moe_dump_count(const fp8moe_dump *dump)
{
    return dump->count;
}

const char *fp8moe_dump_name(const fp8moe_dump *dump, size_t index)
{
    assert(index < dump->count);
    return dump->entries[index].name;
}

int64_t fp8moe_dump_find(const fp8moe_dump *dump, const char *name)
{
    size_t first = 0, end = dump->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = strcmp(name, dump->entries[dump->by_name[middle]].name);
        if (order == 0) return (int64_t)dump->by_name[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return -1;
}

fp8moe_tensor fp8moe_dump_info(const fp8moe_dump *dump, size_t index)
{
    assert(index < dump->count);
    return dump->entries[index].tensor;
}

int64_t fp8moe_dump_offset(const fp8moe_dump *dump, size_t index)
{
    assert(index < dump->count);
    return dump->entries[index].offset;
}

static bool is_opaque(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_V8 || dtype == FP8MOE_DTYPE_V16;
}

static fp8moe_status fetch_tensor(fp8moe_dump *dump, const dump_entry *entry, fp8moe_tensor *out,
                                  fp8moe_error *err)
{
    if (is_opaque(entry->tensor.dtype))
        return fail(err, FP8MOE_ERR_DTYPE,
                    "the file names no type for these elements of %d byte(s), which is ambiguous: "
                    "say which (--as NAME=%s)",
                    fp8moe_dtype_bits(entry->tensor.dtype) / 8,
                    entry->tensor.dtype == FP8MOE_DTYPE_V8 ? "e4m3fn" : "bf16");
    *out = entry->tensor;
    if (out->data) return FP8MOE_OK;
    const uint8_t *packed = NULL;
    TRY(dump->format->fetch(dump, entry, &packed, err));
    out->data = packed + entry->packed_at;
    return FP8MOE_OK;
}

fp8moe_status fp8moe_dump_tensor(fp8moe_dump *dump, size_t index, fp8moe_tensor *out,
                                 fp8moe_error *err)
{
    assert(index < dump->count && out);
    const dump_entry *const entry = &dump->entries[index];
    const fp8moe_status status = fetch_tensor(dump, entry, out, err);
    return error_in_file(err, error_in_tensor(err, status, entry->name), dump->path);
}

static bool can_be_read_as(fp8moe_dtype stored, fp8moe_dtype wanted)
{
    static const fp8moe_dtype free_to_choose[] = {FP8MOE_DTYPE_U8,  FP8MOE_DTYPE_I8,
                                                  FP8MOE_DTYPE_V8,  FP8MOE_DTYPE_U16,
                                                  FP8MOE_DTYPE_I16, FP8MOE_DTYPE_V16};
    if (stored == wanted) return true;
    if (fp8moe_dtype_bits(stored) != fp8moe_dtype_bits(wanted)) return false;
    for (size_t i = 0; i < sizeof free_to_choose / sizeof free_to_choose[0]; i++)
        if (free_to_choose[i] == stored) return true;
    return false;
}

fp8moe_status fp8moe_dump_set_dtype(fp8moe_dump *dump, size_t index, fp8moe_dtype dtype,
                                    fp8moe_error *err)
{
    assert(index < dump->count);
    dump_entry *const entry = &dump->entries[index];
    if (!can_be_read_as(entry->stored, dtype)) {
        const fp8moe_status status = fail_at(
            err, FP8MOE_ERR_DTYPE, entry->name, entry->offset,
            "%s cannot be read as %s: only 8- and 16-bit integers and untyped bytes can, as "
            "a type of the same width",
            fp8moe_dtype_name(entry->stored), fp8moe_dtype_name(dtype));
        return error_in_file(err, status, dump->path);
    }
    entry->tensor.dtype = dtype;
    return FP8MOE_OK;
}

size_t fp8moe_dump_metadata_count(const fp8moe_dump *dump)
{
    return dump->metadata_count;
}

const char *fp8moe_dump_metadata_key(const fp8moe_dump *dump, size_t index)
{
    assert(index < dump->metadata_count);
    return dump->metadata[index].key;
}

const char *fp8moe_dump_metadata_value(const fp8moe_dump *dump, size_t index)
{
    assert(index < dump->metadata_count);
    return dump->metadata[index].value;
}

const char *fp8moe_dump_metadata_get(const fp8moe_dump *dump, const char *key)
{
    for (size_t i = 0; i < dump->metadata_count; i++)
        if (strcmp(dump->metadata[i].key, key) == 0) return dump->metadata[i].value;
    return NULL;
}

/* ---- writing anything else ---- */

fp8moe_status fp8moe_file_write(const char *path, const void *data, size_t size, fp8moe_error *err)
{
    file_writer *writer = NULL;
    TRY(file_writer_open(path, &writer, err));
    const fp8moe_status status = file_writer_add(writer, data, size, err);
    const fp8moe_status closed =
        file_writer_close(writer, status == FP8MOE_OK, status == FP8MOE_OK ? err : NULL);
    return status != FP8MOE_OK ? status : closed;
}

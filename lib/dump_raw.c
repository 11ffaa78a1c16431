/* Bytes without a format: the caller says what they are. */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

static const dump_format dump_raw = {.name = "raw"};

static fp8moe_status add_bytes(fp8moe_dump *dump, const char *name, fp8moe_dtype dtype, int rank,
                               const int64_t *shape, fp8moe_error *err)
{
    dump_entry entry = {.stored = dtype};
    int64_t bytes;
    char text[96];
    if (!fp8moe_dtype_is_numeric(dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "dtype %s is not computed with",
                       fp8moe_dtype_name(dtype));
    TRY(dump_shape(name, dtype, (size_t)rank, shape, -1, &entry.tensor, &bytes, err));
    if (bytes != dump->file.size)
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "%lld bytes, but %s of %s takes %lld",
                       (long long)dump->file.size,
                       fp8moe_tensor_shape_text(&entry.tensor, text, sizeof text),
                       fp8moe_dtype_name(dtype), (long long)bytes);
    entry.tensor.data = dump->file.data;
    entry.name = arena_text(&dump->memory, name, strlen(name));
    if (!entry.name) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a name");
    TRY(dump_add(dump, &entry, err));
    return dump_index_names(dump, err);
}

static fp8moe_status open_raw(fp8moe_dump *dump, const char *path, const char *name,
                              fp8moe_dtype dtype, int rank, const int64_t *shape, fp8moe_error *err)
{
    dump->path = arena_text(&dump->memory, path, strlen(path));
    if (!dump->path) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a name");
    TRY(file_open(path, &dump->file, err));
    return add_bytes(dump, name, dtype, rank, shape, err);
}

fp8moe_status fp8moe_dump_open_raw(const char *path, const char *name, fp8moe_dtype dtype, int rank,
                                   const int64_t *shape, fp8moe_dump **out, fp8moe_error *err)
{
    assert(path && name && shape && out && rank >= 0);
    fp8moe_dump *const dump = calloc(1, sizeof *dump);
    if (!dump) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a dump");
    dump->format = &dump_raw;
    const fp8moe_status status = open_raw(dump, path, name, dtype, rank, shape, err);
    if (status != FP8MOE_OK) {
        fp8moe_dump_close(dump);
        return error_in_file(err, status, path);
    }
    *out = dump;
    return FP8MOE_OK;
}

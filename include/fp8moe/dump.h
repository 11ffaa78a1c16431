/**
 * @file dump.h
 * Files of tensors: opened by content, read as views, written atomically.
 *
 * An open dump owns the mapping; every view taken from it is valid until fp8moe_dump_close().
 * A dump may be read from several threads once it is open; opening, closing and set_dtype are not
 * shared.
 *
 * Files of at least 1 MiB are mapped, smaller ones copied. Whoever shortens a mapped file makes the
 * kernel raise SIGBUS at the next access behind its new end: the one failure no call here can
 * return. A program that wants a sentence instead of a crash installs a handler, which may call
 * fp8moe_dump_owns() to name the file, writes the sentence and ends with _exit().
 */
#ifndef FP8MOE_DUMP_H
#define FP8MOE_DUMP_H

#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open file of tensors. */
typedef struct fp8moe_dump fp8moe_dump;

/**
 * Open a file; its format is recognised by content, never by its name. Everything that can be
 * wrong with the file's structure is found here: an open dump has checked names (UTF-8 without
 * control characters, no two equal), dtypes, shapes and byte ranges.
 *
 * @param out receives the dump; the caller closes it with fp8moe_dump_close()
 * @return OK; IO (cannot open, not a regular file), FORMAT (damaged: message, tensor and byte
 * offset say where), UNSUPPORTED (legal but not read here), NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_dump_open(const char *path, fp8moe_dump **out, fp8moe_error *err);

/**
 * Open a file of bare little-endian numbers (format "raw") as one tensor `name` of a dtype and
 * shape, which must take exactly the file's bytes. @return as fp8moe_dump_open(); SHAPE, DTYPE
 */
FP8MOE_API fp8moe_status fp8moe_dump_open_raw(const char *path, const char *name,
                                              fp8moe_dtype dtype, int rank, const int64_t *shape,
                                              fp8moe_dump **out, fp8moe_error *err);

/** One file of a group, and the name its only tensor gets. */
typedef struct fp8moe_group_member {
    const char *path;
    const char *name;
} fp8moe_group_member;

/**
 * Open files of one tensor each as one dump (format "group"), as torch hooks write a layer. `title`
 * stands for the path. @return as fp8moe_dump_open(); USAGE for a file of several tensors
 */
FP8MOE_API fp8moe_status fp8moe_dump_open_group(const char *title,
                                                const fp8moe_group_member *members, size_t count,
                                                fp8moe_dump **out, fp8moe_error *err);

/** Close and free; NULL is allowed. Every view of this dump dies. */
FP8MOE_API void fp8moe_dump_close(fp8moe_dump *dump);

/** The path it was opened with. */
FP8MOE_API const char *fp8moe_dump_path(const fp8moe_dump *dump);

/** The format's name: "safetensors", "npy", "npz", "pt". */
FP8MOE_API const char *fp8moe_dump_format(const fp8moe_dump *dump);

/** Whether `address` lies in the dump's file: for a SIGBUS handler (async-signal-safe). */
FP8MOE_API bool fp8moe_dump_owns(const fp8moe_dump *dump, const void *address);

/** Number of tensors. */
FP8MOE_API size_t fp8moe_dump_count(const fp8moe_dump *dump);

/** Name of tensor `index` (below the count), in file order. Owned by the dump. */
FP8MOE_API const char *fp8moe_dump_name(const fp8moe_dump *dump, size_t index);

/** Index of the tensor `name`, or -1. */
FP8MOE_API int64_t fp8moe_dump_find(const fp8moe_dump *dump, const char *name);

/** dtype and shape of tensor `index` without touching its data: `data` may be NULL. */
FP8MOE_API fp8moe_tensor fp8moe_dump_info(const fp8moe_dump *dump, size_t index);

/** Byte offset of the tensor's data in the file, or -1 where that has no meaning. */
FP8MOE_API int64_t fp8moe_dump_offset(const fp8moe_dump *dump, size_t index);

/**
 * A view of tensor `index`, valid until the dump is closed. Compressed entries are decompressed on
 * the first call and kept. Of V8 and V16 elements nobody knows the type: fp8moe_dump_set_dtype()
 * first.
 *
 * @return OK; DTYPE (V8 or V16); FORMAT (damaged compressed data), UNSUPPORTED (compressed, and
 * this library was built without zlib), NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_dump_tensor(fp8moe_dump *dump, size_t index, fp8moe_tensor *out,
                                            fp8moe_error *err);

/**
 * The same bytes under another dtype of the same width, for files that cannot name FP8 or bf16:
 * U8, I8 or V8 as F8_E4M3 ..., U16, I16 or V16 as BF16 or F16.
 *
 * @return OK; DTYPE when the widths differ or the stored dtype is not opaque enough
 */
FP8MOE_API fp8moe_status fp8moe_dump_set_dtype(fp8moe_dump *dump, size_t index, fp8moe_dtype dtype,
                                               fp8moe_error *err);

/** Text pairs the file carries beside its tensors (safetensors __metadata__; scalars of a .pt). */
FP8MOE_API size_t fp8moe_dump_metadata_count(const fp8moe_dump *dump);
FP8MOE_API const char *fp8moe_dump_metadata_key(const fp8moe_dump *dump, size_t index);
FP8MOE_API const char *fp8moe_dump_metadata_value(const fp8moe_dump *dump, size_t index);

/** The value of metadata key `key`, or NULL. */
FP8MOE_API const char *fp8moe_dump_metadata_get(const fp8moe_dump *dump, const char *key);

/** One tensor to write. */
typedef struct fp8moe_named_tensor {
    const char *name;
    fp8moe_tensor tensor;
} fp8moe_named_tensor;

/** One text pair to write. */
typedef struct fp8moe_metadata {
    const char *key;
    const char *value;
} fp8moe_metadata;

/**
 * Write a safetensors file: to a temporary name in the same folder, synced, then renamed, so that
 * a failure leaves what was there before. Names must be unique and not "__metadata__".
 *
 * @return OK; IO (disk full, no permission), VALUE (bad name), NOMEM
 */
FP8MOE_API fp8moe_status fp8moe_safetensors_write(const char *path,
                                                  const fp8moe_named_tensor *tensors, size_t count,
                                                  const fp8moe_metadata *metadata,
                                                  size_t metadata_count, fp8moe_error *err);

/** Write bytes to a file in the same atomic way (reports, JSON). */
FP8MOE_API fp8moe_status fp8moe_file_write(const char *path, const void *data, size_t size,
                                           fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* What a file format has to provide, and what it may use, to be read behind fp8moe_dump.
 *
 * A format is one record in the list of dump.c. Its open() checks the whole structure of the file
 * and adds the tensors; where the data is mapped as it is, that is all. */
#ifndef FP8MOE_LIB_DUMP_H
#define FP8MOE_LIB_DUMP_H

#include "arena.h"
#include "common.h"
#include "file.h"

#include <fp8moe/dump.h>

/* One tensor of an open dump. */
typedef struct dump_entry {
    const char *name;
    fp8moe_tensor tensor; /* data NULL while it must still be fetched */
    fp8moe_dtype stored;  /* dtype in the file: tensor.dtype may be set to another */
    int64_t offset;       /* byte offset of the data in the file, or -1 */
    size_t packed;        /* for the format's fetch(): which packed bytes hold the data ... */
    int64_t packed_at;    /* ... and where in them the first element stands */
} dump_entry;

/* A format without a mark of its own can only guess: the length at the start of a safetensors file
 * may begin with the bytes of a pickle. */
typedef enum probe_result { PROBE_NO, PROBE_MAYBE, PROBE_SURE } probe_result;

typedef struct dump_format {
    const char *name;

    /* Whether the content is of this format. The surest format reads the file. */
    probe_result (*probe)(const file_view *file);

    /* Read the structure and add every tensor and text pair. What it leaves in dump->state,
     * close() frees, also after a failure. */
    fp8moe_status (*open)(fp8moe_dump *dump, fp8moe_error *err);

    /* The bytes in which `entry` starts at packed_at, valid until close(). May be called from
     * several threads. NULL where all data is mapped. */
    fp8moe_status (*fetch)(fp8moe_dump *dump, const dump_entry *entry, const uint8_t **out,
                           fp8moe_error *err);

    void (*close)(fp8moe_dump *dump); /* or NULL */

    /* Whether an address lies in a mapping of the format's own; NULL: only in dump->file. */
    bool (*owns)(const fp8moe_dump *dump, const void *address);
} dump_format;

struct fp8moe_dump {
    char *path;
    const dump_format *format;
    file_view file;
    arena memory; /* of everything below and of the format's own */
    void *state;

    dump_entry *entries;
    size_t count, capacity;
    size_t *by_name; /* indices of entries, sorted by name */

    fp8moe_metadata *metadata;
    size_t metadata_count, metadata_capacity;
};

/* Add a tensor; `entry` is copied, its name must live in dump->memory or as long. Refused: names
 * that are too long, hold control characters or are no UTF-8 (they reach terminals and reports),
 * and too many tensors. Duplicates are found when open() is through. */
fp8moe_status dump_add(fp8moe_dump *dump, const dump_entry *entry, fp8moe_error *err);

/* After the last dump_add(): make names findable; two equal ones are a FORMAT error. */
fp8moe_status dump_index_names(fp8moe_dump *dump, fp8moe_error *err);

/* Add a text pair, copied. */
fp8moe_status dump_add_metadata(fp8moe_dump *dump, const char *key, const char *value,
                                fp8moe_error *err);

/* The C-order view a file describes; its data is not looked at. Dimensions are at least 0. FORMAT
 * where the size does not fit 64 bits or ends within a byte, UNSUPPORTED beyond FP8MOE_MAX_RANK.
 * *bytes is what the elements take; `offset`, of the shape in the file, is for the sentence. */
fp8moe_status dump_shape(const char *name, fp8moe_dtype dtype, size_t rank, const int64_t *shape,
                         int64_t offset, fp8moe_tensor *out, int64_t *bytes, fp8moe_error *err);

/* A name, in the dump's memory, for what a file holds without naming it: the file's name without
 * folders and without its last extension ("layer_3_output" for "/data/layer_3_output.npy"), or
 * "tensor" where that is none that dump_add() takes. NULL: out of memory. */
char *dump_stem(fp8moe_dump *dump);

extern const dump_format dump_safetensors;
extern const dump_format dump_npy;
extern const dump_format dump_npz;
extern const dump_format dump_pt;

#endif

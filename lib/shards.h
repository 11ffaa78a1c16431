/* All tensors of a model folder by name: one table from the index, or from the one file; shards are
 * opened when a tensor of theirs is asked for. */
#ifndef FP8MOE_LIB_SHARDS_H
#define FP8MOE_LIB_SHARDS_H

#include "arena.h"
#include "folder.h"

#include <fp8moe/dump.h>

typedef struct shard {
    const char *name;
    fp8moe_dump *dump; /* NULL: not open */
    bool held;         /* views of it are with a caller */
} shard;

typedef struct shard_entry {
    const char *name; /* of the tensor */
    size_t shard;
} shard_entry;

/* Start with {0}. */
typedef struct shards {
    const model_folder *folder;
    arena memory;
    shard *files;
    size_t file_count;
    shard_entry *entries; /* sorted by name */
    size_t count;
} shards;

/* Read the table. The folder is borrowed. @return OK; IO, FORMAT, NOMEM */
fp8moe_status shards_open(const model_folder *f, shards *out, fp8moe_error *err);
void shards_close(shards *all);

/* The entry of the tensor `name`, or NULL. */
const shard_entry *shards_find(const shards *all, const char *name);

/* Index of the first entry whose name is not before `name`. */
size_t shards_from(const shards *all, const char *name);

/* A view of the tensor `name`; err->tensor and err->file are set. @return as
 * fp8moe_checkpoint_tensor() */
fp8moe_status shards_tensor(shards *all, const char *name, fp8moe_tensor *out, fp8moe_error *err);

/* Views of all shards open now may be kept by a caller: they stay open until shards_close(). */
void shards_hold(shards *all);

/* Close the open shards that nobody holds: what was opened only to look at shapes. */
void shards_drop(shards *all);

#endif

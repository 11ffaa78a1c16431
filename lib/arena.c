#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *older;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

enum { CHUNK_BYTES = 16 * 1024 };

static size_t align_up(size_t size)
{
    const size_t unit = alignof(max_align_t);
    return (size + unit - 1) / unit * unit;
}

static struct arena_chunk *add_chunk(arena *owner, size_t size)
{
    const size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (bytes > SIZE_MAX - sizeof(struct arena_chunk)) return NULL;
    struct arena_chunk *chunk = calloc(1, sizeof *chunk + bytes);
    if (!chunk) return NULL;
    chunk->size = bytes;
    chunk->older = owner->newest;
    owner->newest = chunk;
    return chunk;
}

void *arena_alloc(arena *owner, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    const size_t bytes = align_up(size);
    struct arena_chunk *chunk = owner->newest;
    if (!chunk || bytes > chunk->size - chunk->used) chunk = add_chunk(owner, bytes);
    if (!chunk) return NULL;
    void *piece = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return piece;
}

char *arena_text(arena *owner, const char *text, size_t size)
{
    if (size == SIZE_MAX) return NULL;
    char *copy = arena_alloc(owner, size + 1);
    if (copy && size) memcpy(copy, text, size);
    return copy;
}

void arena_free(arena *owner)
{
    for (struct arena_chunk *chunk = owner->newest; chunk;) {
        struct arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    owner->newest = NULL;
}

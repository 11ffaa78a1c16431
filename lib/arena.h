/* Memory of a parsed file: many small pieces that all die together. Not shared between threads. */
#ifndef FP8MOE_LIB_ARENA_H
#define FP8MOE_LIB_ARENA_H

#include <stddef.h>

/* Start with {0}. */
typedef struct arena {
    struct arena_chunk *newest;
} arena;

/* `size` zeroed bytes aligned for any object, or NULL when memory is out. Valid until arena_free().
 * A size of 0 gives a pointer that may not be followed. */
void *arena_alloc(arena *owner, size_t size);

/* A NUL-terminated copy of `size` bytes, or NULL. */
char *arena_text(arena *owner, const char *text, size_t size);

/* Free everything and start anew. */
void arena_free(arena *owner);

#endif

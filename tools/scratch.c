#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED_FROM ((size_t)16 << 20) /* bytes from which a piece lies in a file */

typedef struct scratch_piece {
    struct scratch_piece *older;
    void *memory;
    size_t mapped; /* bytes of the mapping, 0 for plain memory */
} scratch_piece;

/* An unlinked file in the folder of `path`, or -1. */
static int open_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = cli_text("%.*s.fp8moe-XXXXXX", slash ? (int)(slash + 1 - path) : 0, path);
    const int file = mkstemp(name);
    if (file >= 0) unlink(name);
    free(name);
    return file;
}

static fp8moe_status map_beside(const char *path, size_t size, void **out, fp8moe_error *err)
{
    const int file = open_beside(path);
    void *memory = MAP_FAILED;
    /* Reserved, not only sized: a full disk must fail here, not kill the process at a later write.
     */
    const int full = file < 0 ? errno : posix_fallocate(file, 0, (off_t)size);
    if (file >= 0 && !full) memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) {
        cli_fail(err, FP8MOE_ERR_IO, "no room for %zu temporary bytes beside it: %s", size,
                 strerror(full ? full : errno));
        return cli_in_file(err, FP8MOE_ERR_IO, path);
    }
    *out = memory;
    return FP8MOE_OK;
}

fp8moe_status scratch_take(scratch *owner, size_t size, void **out, fp8moe_error *err)
{
    scratch_piece *piece = cli_allocate(sizeof *piece);
    piece->older = owner->newest;
    owner->newest = piece;
    if (owner->beside && size >= MAPPED_FROM) {
        CLI_TRY(map_beside(owner->beside, size, &piece->memory, err));
        piece->mapped = size;
    } else {
        piece->memory = cli_allocate(size);
    }
    *out = piece->memory;
    return FP8MOE_OK;
}

void scratch_free(scratch *owner)
{
    while (owner->newest) {
        scratch_piece *piece = owner->newest;
        owner->newest = piece->older;
        if (piece->mapped)
            munmap(piece->memory, piece->mapped);
        else
            free(piece->memory);
        free(piece);
    }
}

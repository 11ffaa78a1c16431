/* Files that stand beside the repository: $FP8MOE_SHARED, else ../shared of the source root (the
 * working directory of every test). Set but absent is a failure; unset and absent is a visible
 * skip. */
#ifndef FP8MOE_TESTS_SHARED_FOLDER_H
#define FP8MOE_TESTS_SHARED_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "<shared folder>/<relative>" in `out`, or NULL where the test is to be skipped. */
static inline const char *shared_path(char *out, size_t size, const char *relative)
{
    const char *const set = getenv("FP8MOE_SHARED");
    const char *const folder = set ? set : "../shared";
    if (access(folder, R_OK) != 0) {
        if (!set) {
            fprintf(stderr, "SKIPPED: neither FP8MOE_SHARED nor ../shared is there\n");
            return NULL;
        }
        fprintf(stderr, "FP8MOE_SHARED names %s, which cannot be read\n", set);
        abort();
    }
    (void)snprintf(out, size, "%s/%s", folder, relative);
    return out;
}

#endif

/* Memory for tensors on their way into a file. What is larger than a few MiB lies in an unlinked
 * file of a given folder, so that the system can write it out: a layer larger than memory still
 * works. The only file of the command line that knows the system's memory mapping. */
#ifndef FP8MOE_TOOLS_SCRATCH_H
#define FP8MOE_TOOLS_SCRATCH_H

#include "cli.h"

/* Start with {.beside = path}: large pieces lie in the folder of that path; NULL keeps all in
 * memory. */
typedef struct scratch {
    const char *beside;
    struct scratch_piece *newest;
} scratch;

/* `size` zeroed bytes, valid until scratch_free(). IO where the folder has no room. */
fp8moe_status scratch_take(scratch *owner, size_t size, void **out, fp8moe_error *err);
void scratch_free(scratch *owner);

#endif

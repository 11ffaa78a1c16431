/* Any bytes are a file of tensors or refused with a sentence; open ones can be read to their last
 * element. An input that starts with '{' is taken as a header. */
#include "fuzz.h"

#include <string.h>

static void open_as_header(const uint8_t *data, size_t size)
{
    /* how much data there is follows from the length, which padding lets the fuzzer choose */
    const size_t total = 8 + size + size % 17;
    uint8_t *const file = calloc(1, total);
    fuzz_require(file != NULL, "memory");
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)size >> 8 * i);
    memcpy(file + 8, data, size);
    fuzz_open_dump(file, total);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == '{')
        open_as_header(data, size);
    else
        fuzz_open_dump(data, size);
    return 0;
}

/* Any bytes are an array file or refused; an input without numpy's mark is taken as a header's
 * text. */
#include "fuzz.h"

#include <string.h>

static void open_as_header(const uint8_t *data, size_t size)
{
    const size_t elements = size % 17, total = 10 + size + elements;
    uint8_t *const file = calloc(1, total);
    fuzz_require(file != NULL, "memory");
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)size;
    file[9] = (uint8_t)(size >> 8);
    if (size) memcpy(file + 10, data, size);
    fuzz_open_dump(file, total);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 0x93)
        fuzz_open_dump(data, size);
    else
        open_as_header(data, size);
    return 0;
}

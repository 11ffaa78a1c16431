/* Any bytes are an archive or refused; every entry of an archive lies within it and is read whole
 * or refused. */
#include "fuzz.h"

#include "zip.h"

#include <string.h>

enum { LARGEST_UNPACKED = 1 << 22 };

static void touch(const uint8_t *data, int64_t size)
{
    static volatile uint8_t sum;
    for (int64_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + data[i]);
}

static void use_entry(zip *archive, size_t index, int64_t file_size)
{
    const zip_entry *const entry = zip_at(archive, index);
    uint8_t start[64];
    size_t got = 0;
    const uint8_t *content = NULL;
    fuzz_require(entry->offset >= 0 && entry->packed >= 0 && entry->unpacked >= 0 &&
                     entry->offset + entry->packed <= file_size,
                 "an entry within the file");
    fuzz_require(zip_find(archive, entry->name) == (int64_t)index, "names find");
    if (zip_peek(archive, index, start, sizeof start, &got, NULL) == FP8MOE_OK)
        touch(start, (int64_t)got);
    if (entry->unpacked > LARGEST_UNPACKED) return;
    if (zip_content(archive, index, true, &content, NULL) != FP8MOE_OK) return;
    touch(content, entry->unpacked);
    fuzz_require(got <= (size_t)entry->unpacked && memcmp(content, start, got) == 0,
                 "the same start");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    zip *archive = NULL;
    fp8moe_error err;
    if (!size) return 0;
    if (zip_open(data, (int64_t)size, &archive, &err) != FP8MOE_OK)
        fuzz_require(err.message[0] != '\0', "a sentence");
    for (size_t i = 0; archive && i < zip_count(archive); i++)
        use_entry(archive, i, (int64_t)size);
    zip_close(archive);
    fuzz_open_dump(data, size);
    return 0;
}

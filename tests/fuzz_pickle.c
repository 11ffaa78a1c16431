/* Any bytes are a pickle of tensors or refused: the input becomes data.pkl of a .pt file with two
 * storages, "0" of 64 bytes and "1" of none. An input that is a zip archive is opened as it is. */
#include "fuzz.h"

#include <string.h>

typedef struct archive {
    uint8_t *bytes;
    size_t size;
    uint8_t directory[512];
    size_t directory_size;
    int entries;
} archive;

static void put(uint8_t **at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (uint8_t)(i < 4 ? value >> 8 * i : 0);
}

/* What local header and directory have in common: version to sizes of name and extra field. */
static void put_common(uint8_t **at, const char *name, size_t size)
{
    put(at, 20, 2);
    put(at, 0, 12); /* flags, method, time, date, CRC (of stored entries nobody looks) */
    put(at, (uint32_t)size, 4);
    put(at, (uint32_t)size, 4);
    put(at, (uint32_t)strlen(name), 2);
    put(at, 0, 2);
}

static void add(archive *a, const char *name, const void *data, size_t size)
{
    uint8_t *local = a->bytes + a->size, *central = a->directory + a->directory_size;
    put(&central, 0x02014B50, 4);
    put(&central, 20, 2);
    put_common(&central, name, size);
    put(&central, 0, 10);
    put(&central, (uint32_t)a->size, 4);
    memcpy(central, name, strlen(name));
    put(&local, 0x04034B50, 4);
    put_common(&local, name, size);
    memcpy(local, name, strlen(name));
    if (size) memcpy(local + strlen(name), data, size);
    a->size = (size_t)(local - a->bytes) + strlen(name) + size;
    a->directory_size = (size_t)(central - a->directory) + strlen(name);
    a->entries++;
}

static void finish(archive *a)
{
    uint8_t *at = a->bytes + a->size;
    memcpy(at, a->directory, a->directory_size);
    at += a->directory_size;
    put(&at, 0x06054B50, 4);
    put(&at, 0, 4);
    put(&at, (uint32_t)a->entries, 2);
    put(&at, (uint32_t)a->entries, 2);
    put(&at, (uint32_t)a->directory_size, 4);
    put(&at, (uint32_t)a->size, 4);
    put(&at, 0, 2);
    a->size = (size_t)(at - a->bytes);
}

static void open_as_pickle(const uint8_t *data, size_t size)
{
    static const uint8_t storage[64] = {0x38, 0x40, 0x30, 0xB8};
    archive a = {.bytes = calloc(1, size + 1024)};
    fuzz_require(a.bytes != NULL, "memory");
    add(&a, "x/data.pkl", data, size);
    add(&a, "x/data/0", storage, sizeof storage);
    add(&a, "x/data/1", storage, 0);
    finish(&a);
    fuzz_open_dump(a.bytes, a.size);
    free(a.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 'P')
        fuzz_open_dump(data, size);
    else
        open_as_pickle(data, size);
    return 0;
}

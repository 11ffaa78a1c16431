/* SHA-256 (FIPS 180-4). */
#ifndef FP8MOE_LIB_SHA256_H
#define FP8MOE_LIB_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
    uint32_t state[8];
    uint64_t bytes;    /* fed so far */
    uint8_t block[64]; /* the last bytes % 64 of them */
} sha256;

void sha256_start(sha256 *hash);
void sha256_add(sha256 *hash, const void *data, size_t size);

/* The digest as 64 lower-case hexadecimal digits and a NUL. `hash` is used up. */
void sha256_finish(sha256 *hash, char hex[65]);

#endif

/* A tensor's elements as a stream of bytes, the same on every host. */
#ifndef FP8MOE_LIB_BYTES_H
#define FP8MOE_LIB_BYTES_H

#include "common.h"

#include <fp8moe/tensor.h>

/* Numbers stored lowest byte first, at any address. */
static inline uint16_t load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load_le32(const uint8_t *p)
{
    return load_le16(p) | (uint32_t)load_le16(p + 2) << 16;
}

static inline uint64_t load_le64(const uint8_t *p)
{
    return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

static inline bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

/* Takes the next `size` bytes; anything but OK ends the stream. */
typedef fp8moe_status (*bytes_sink)(void *context, const void *data, size_t size,
                                    fp8moe_error *err);

/* Hand the elements to `sink` in C order, little-endian, in pieces of at most a few MiB. Elements
 * below 8 bits are handed on packed as they are, so they must be contiguous.
 *
 * @return OK; DTYPE for a strided tensor of such elements; what the sink returned */
fp8moe_status bytes_stream(const fp8moe_tensor *tensor, bytes_sink sink, void *context,
                           fp8moe_error *err);

/* Bytes that `count` elements of a dtype take; false on overflow, or where they end within a byte.
 */
bool bytes_of(fp8moe_dtype dtype, int64_t count, int64_t *out);

#endif

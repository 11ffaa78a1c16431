#include "bytes.h"

enum { PIECE_BYTES = 16 * 1024, LARGE_PIECE_BYTES = 4 * 1024 * 1024 };

bool bytes_of(fp8moe_dtype dtype, int64_t count, int64_t *out)
{
    int64_t bits;
    if (!checked_mul(count, fp8moe_dtype_bits(dtype), &bits) || bits % 8) return false;
    *out = bits / 8;
    return true;
}

static void reverse_units(uint8_t *bytes, size_t size, size_t width)
{
    for (uint8_t *unit = bytes; unit < bytes + size; unit += width)
        for (size_t i = 0; i < width / 2; i++) {
            const uint8_t low = unit[i];
            unit[i] = unit[width - 1 - i];
            unit[width - 1 - i] = low;
        }
}

static fp8moe_status stream_as_is(const fp8moe_tensor *tensor, int64_t size, bytes_sink sink,
                                  void *context, fp8moe_error *err)
{
    const uint8_t *const data = tensor->data;
    for (int64_t at = 0; at < size; at += LARGE_PIECE_BYTES)
        TRY(sink(context, data + at, (size_t)min_i64(LARGE_PIECE_BYTES, size - at), err));
    return FP8MOE_OK;
}

fp8moe_status bytes_stream(const fp8moe_tensor *tensor, bytes_sink sink, void *context,
                           fp8moe_error *err)
{
    const int64_t count = fp8moe_tensor_count(tensor);
    const int bits = fp8moe_dtype_bits(tensor->dtype);
    const bool little = tensor->swapped == host_is_big_endian();
    int64_t size = 0;
    const bool whole = bytes_of(tensor->dtype, count, &size);
    if (whole && fp8moe_tensor_is_contiguous(tensor) && (little || bits <= 8))
        return stream_as_is(tensor, size, sink, context, err);
    if (bits < 8)
        return fail(err, FP8MOE_ERR_DTYPE, "elements of %s can be copied only as a whole",
                    fp8moe_dtype_name(tensor->dtype));
    const int64_t width = bits / 8, step = PIECE_BYTES / width;
    /* a complex number is two numbers, each in the byte order of its own */
    const size_t unit = tensor->dtype == FP8MOE_DTYPE_C64 ? 4 : (size_t)width;
    for (int64_t first = 0; first < count; first += step) {
        uint8_t piece[PIECE_BYTES];
        const int64_t n = min_i64(step, count - first);
        fp8moe_tensor_read_raw(tensor, first, n, piece);
        if (host_is_big_endian()) reverse_units(piece, (size_t)(n * width), unit);
        TRY(sink(context, piece, (size_t)(n * width), err));
    }
    return FP8MOE_OK;
}

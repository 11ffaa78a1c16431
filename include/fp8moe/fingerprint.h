/**
 * @file fingerprint.h
 * SHA-256 of a tensor: over dtype name, shape and little-endian bytes in C order, fed row block by
 * row block, so that two sites can prove they looked at the same bits.
 *
 * What is hashed: the dtype's name, a space, the shape as "[2, 3]", a newline, then the data.
 */
#ifndef FP8MOE_FINGERPRINT_H
#define FP8MOE_FINGERPRINT_H

#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FP8MOE_FINGERPRINT_SIZE 65 /**< 64 hexadecimal digits and a NUL */

typedef struct fp8moe_fingerprint fp8moe_fingerprint;

/** Start one for a tensor of this dtype and shape (data is not read).
 *  @return OK; DTYPE for elements below 8 bits; NOMEM */
FP8MOE_API fp8moe_status fp8moe_fingerprint_open(const fp8moe_tensor *total,
                                                 fp8moe_fingerprint **out, fp8moe_error *err);

/** Add the next elements, in C order. */
FP8MOE_API void fp8moe_fingerprint_add(fp8moe_fingerprint *fingerprint, const fp8moe_tensor *rows);

/** Write the digits to `hex` (may be NULL) and free. NULL is allowed. */
FP8MOE_API void fp8moe_fingerprint_close(fp8moe_fingerprint *fingerprint,
                                         char hex[FP8MOE_FINGERPRINT_SIZE]);

/** All at once. */
FP8MOE_API fp8moe_status fp8moe_fingerprint_of(const fp8moe_tensor *tensor,
                                               char hex[FP8MOE_FINGERPRINT_SIZE],
                                               fp8moe_error *err);

#ifdef __cplusplus
}
#endif

#endif

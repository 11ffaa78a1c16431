#include "bytes.h"
#include "sha256.h"

#include <fp8moe/fingerprint.h>
#include <stdlib.h>
#include <string.h>

struct fp8moe_fingerprint {
    sha256 hash;
};

fp8moe_status fp8moe_fingerprint_open(const fp8moe_tensor *total, fp8moe_fingerprint **out,
                                      fp8moe_error *err)
{
    assert(total && out);
    if (fp8moe_dtype_bits(total->dtype) < 8)
        return fail(err, FP8MOE_ERR_DTYPE, "no fingerprint of %s: its elements are no whole bytes",
                    fp8moe_dtype_name(total->dtype));
    fp8moe_fingerprint *fingerprint = malloc(sizeof *fingerprint);
    if (!fingerprint) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a fingerprint");
    const char *const name = fp8moe_dtype_name(total->dtype);
    char shape[FP8MOE_MAX_RANK * 22 + 3];
    fp8moe_tensor_shape_text(total, shape, sizeof shape);
    sha256_start(&fingerprint->hash);
    sha256_add(&fingerprint->hash, name, strlen(name));
    sha256_add(&fingerprint->hash, " ", 1);
    sha256_add(&fingerprint->hash, shape, strlen(shape));
    sha256_add(&fingerprint->hash, "\n", 1);
    *out = fingerprint;
    return FP8MOE_OK;
}

static fp8moe_status add_piece(void *context, const void *data, size_t size, fp8moe_error *err)
{
    (void)err;
    sha256_add(context, data, size);
    return FP8MOE_OK;
}

void fp8moe_fingerprint_add(fp8moe_fingerprint *fingerprint, const fp8moe_tensor *rows)
{
    const fp8moe_status status = bytes_stream(rows, add_piece, &fingerprint->hash, NULL);
    assert(status == FP8MOE_OK); /* whole-byte elements into a sink that takes everything */
    (void)status;
}

void fp8moe_fingerprint_close(fp8moe_fingerprint *fingerprint, char hex[FP8MOE_FINGERPRINT_SIZE])
{
    if (fingerprint && hex) sha256_finish(&fingerprint->hash, hex);
    free(fingerprint);
}

fp8moe_status fp8moe_fingerprint_of(const fp8moe_tensor *tensor, char hex[FP8MOE_FINGERPRINT_SIZE],
                                    fp8moe_error *err)
{
    fp8moe_fingerprint *fingerprint = NULL;
    TRY(fp8moe_fingerprint_open(tensor, &fingerprint, err));
    fp8moe_fingerprint_add(fingerprint, tensor);
    fp8moe_fingerprint_close(fingerprint, hex);
    return FP8MOE_OK;
}

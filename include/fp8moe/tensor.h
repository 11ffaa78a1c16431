/**
 * @file tensor.h
 * A tensor view: data, dtype, shape, stride. Everything is passed as that.
 *
 * A view borrows its data and owns nothing: copy it freely. Data may be unaligned (a file is
 * mapped as it is) and in the other byte order; the read functions below hide both.
 */
#ifndef FP8MOE_TENSOR_H
#define FP8MOE_TENSOR_H

#include <fp8moe/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types: those of the safetensors format, by its names. */
typedef enum fp8moe_dtype {
    FP8MOE_DTYPE_NONE = 0, /**< no tensor */
    FP8MOE_DTYPE_BOOL,
    FP8MOE_DTYPE_U8,
    FP8MOE_DTYPE_I8,
    FP8MOE_DTYPE_U16,
    FP8MOE_DTYPE_I16,
    FP8MOE_DTYPE_U32,
    FP8MOE_DTYPE_I32,
    FP8MOE_DTYPE_U64,
    FP8MOE_DTYPE_I64,
    FP8MOE_DTYPE_F8_E4M3,     /**< OCP E4M3FN codes; a target says how its device reads them */
    FP8MOE_DTYPE_F8_E4M3FNUZ, /**< bias 8, NaN is 0x80 */
    FP8MOE_DTYPE_F8_E5M2,
    FP8MOE_DTYPE_F8_E5M2FNUZ, /**< listed, not computed with */
    FP8MOE_DTYPE_F8_E8M0,     /**< a power of two; 0xFF is NaN */
    FP8MOE_DTYPE_BF16,
    FP8MOE_DTYPE_F16,
    FP8MOE_DTYPE_F32,
    FP8MOE_DTYPE_F64,
    FP8MOE_DTYPE_F4,      /**< listed, not computed with */
    FP8MOE_DTYPE_F6_E2M3, /**< listed, not computed with */
    FP8MOE_DTYPE_F6_E3M2, /**< listed, not computed with */
    FP8MOE_DTYPE_C64,     /**< listed, not computed with */
    FP8MOE_DTYPE_V8,      /**< one opaque byte (numpy |V1): `--as` says what it is */
    FP8MOE_DTYPE_V16,     /**< two opaque bytes (numpy |V2) */
    FP8MOE_DTYPE_COUNT
} fp8moe_dtype;

#define FP8MOE_MAX_RANK 8

/** A view. `data` NULL with dtype NONE means "absent"; an empty tensor has dtype and shape. */
typedef struct fp8moe_tensor {
    const void *data;
    fp8moe_dtype dtype;
    bool swapped; /**< elements stand in the byte order this host does not have */
    int rank;     /**< 0 (a scalar) to FP8MOE_MAX_RANK */
    int64_t shape[FP8MOE_MAX_RANK];
    int64_t stride[FP8MOE_MAX_RANK]; /**< in elements, never negative */
} fp8moe_tensor;

/** Name of a dtype as safetensors spells it, e.g. "F8_E4M3". Never NULL. */
FP8MOE_API const char *fp8moe_dtype_name(fp8moe_dtype dtype);

/** The dtype of a safetensors name, or of the spellings users give to --as and --dtype (e4m3fn,
 *  float8_e4m3fn, e5m2, bf16, bfloat16, f16, float16, f32, float32, ...); NONE for an unknown one.
 */
FP8MOE_API fp8moe_dtype fp8moe_dtype_from_name(const char *name);

/** Bits an element takes: 4, 6, 8, 16, 32, 64; 0 for NONE. */
FP8MOE_API int fp8moe_dtype_bits(fp8moe_dtype dtype);

/** Whether values can be read as numbers (the listed-only and opaque types cannot). */
FP8MOE_API bool fp8moe_dtype_is_numeric(fp8moe_dtype dtype);

/** True where the view stands for a tensor (also an empty one). */
FP8MOE_API bool fp8moe_tensor_present(const fp8moe_tensor *tensor);

/** Number of elements; the shape is taken as checked (no overflow). A scalar has 1. */
FP8MOE_API int64_t fp8moe_tensor_count(const fp8moe_tensor *tensor);

/** A C-order view in host byte order over `data`. `rank` at most FP8MOE_MAX_RANK. */
FP8MOE_API fp8moe_tensor fp8moe_tensor_view(const void *data, fp8moe_dtype dtype, int rank,
                                            const int64_t *shape);

/** The sub-view with index `index` along the first dimension (one rank less). */
FP8MOE_API fp8moe_tensor fp8moe_tensor_at(const fp8moe_tensor *tensor, int64_t index);

/** The sub-view [first, first + count) along dimension `dim`. */
FP8MOE_API fp8moe_tensor fp8moe_tensor_slice(const fp8moe_tensor *tensor, int dim, int64_t first,
                                             int64_t count);

/** The same elements as [rows, last dimension]: all leading dimensions folded into rows. A scalar
 *  is [1, 1]. Fails with SHAPE where strides do not allow it without a copy. */
FP8MOE_API fp8moe_status fp8moe_tensor_as_rows(const fp8moe_tensor *tensor, fp8moe_tensor *out,
                                               fp8moe_error *err);

/** True when elements lie one after another in C order. */
FP8MOE_API bool fp8moe_tensor_is_contiguous(const fp8moe_tensor *tensor);

/**
 * Read elements first .. first+count-1 (C order of the view) as doubles. Exact for every numeric
 * dtype but 64-bit integers beyond 2^53, which round to nearest. E4M3 is read as OCP E4M3FN.
 * The dtype must be numeric (assert).
 */
FP8MOE_API void fp8moe_tensor_read_f64(const fp8moe_tensor *tensor, int64_t first, int64_t count,
                                       double *out);

/** Read elements as 64-bit integers; the dtype must be BOOL or an integer (assert). U64 values
 *  beyond INT64_MAX come out as INT64_MAX. */
FP8MOE_API void fp8moe_tensor_read_i64(const fp8moe_tensor *tensor, int64_t first, int64_t count,
                                       int64_t *out);

/** Copy the raw elements in C order and host byte order to `out` (count * bits / 8 bytes); for
 *  dtypes of at least 8 bits. */
FP8MOE_API void fp8moe_tensor_read_raw(const fp8moe_tensor *tensor, int64_t first, int64_t count,
                                       void *out);

/** Round to bf16: to nearest, ties to even, once; NaN stays NaN, overflow gives Inf. */
FP8MOE_API double fp8moe_round_bf16(double value);

/** Write the shape as text, e.g. "[1, 512, 256]", at most `size` bytes with the final NUL.
 *  Returns `text`. */
FP8MOE_API char *fp8moe_tensor_shape_text(const fp8moe_tensor *tensor, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif

#include <fp8moe/tensor.h>

#include "bits.h"
#include "common.h"
#include "e4m3.h"

#include <stdio.h>

/* ---- how elements are read: `count` of them one after another, in host byte order, unaligned ----
 */

typedef void read_f64_function(double *out, const unsigned char *in, int64_t count);
typedef void read_i64_function(int64_t *out, const unsigned char *in, int64_t count);

/* One loop a dtype: `element` is the stored integer or number, `expression` its value. */
#define READER(name, out_type, element_type, expression)                                           \
    static void name(out_type *out, const unsigned char *in, int64_t count)                        \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                      \
            element_type element;                                                                  \
            memcpy(&element, in + i * (int64_t)sizeof element, sizeof element);                    \
            out[i] = expression;                                                                   \
        }                                                                                          \
    }

READER(bool_run_f64, double, uint8_t, element != 0)
READER(u8_run_f64, double, uint8_t, element)
READER(i8_run_f64, double, int8_t, element)
READER(u16_run_f64, double, uint16_t, element)
READER(i16_run_f64, double, int16_t, element)
READER(u32_run_f64, double, uint32_t, element)
READER(i32_run_f64, double, int32_t, element)
READER(u64_run_f64, double, uint64_t, (double)element)
READER(i64_run_f64, double, int64_t, (double)element)
READER(e5m2_run_f64, double, uint8_t, e5m2_to_f64(element))
READER(e8m0_run_f64, double, uint8_t, e8m0_to_f64(element))
READER(bf16_run_f64, double, uint16_t, bf16_to_f64(element))
READER(f16_run_f64, double, uint16_t, f16_to_f64(element))
READER(f32_run_f64, double, float, (double)element)
READER(f64_run_f64, double, double, element)

READER(bool_run_i64, int64_t, uint8_t, element != 0)
READER(u8_run_i64, int64_t, uint8_t, element)
READER(i8_run_i64, int64_t, int8_t, element)
READER(u16_run_i64, int64_t, uint16_t, element)
READER(i16_run_i64, int64_t, int16_t, element)
READER(u32_run_i64, int64_t, uint32_t, element)
READER(i32_run_i64, int64_t, int32_t, element)
READER(u64_run_i64, int64_t, uint64_t, element > INT64_MAX ? INT64_MAX : (int64_t)element)
READER(i64_run_i64, int64_t, int64_t, element)

static void table_run_f64(double *out, const unsigned char *in, int64_t count, const double *table)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = table[in[i]];
}

static void e4m3_run_f64(double *out, const unsigned char *in, int64_t count)
{
    table_run_f64(out, in, count, e4m3fn_table());
}

static void e4m3fnuz_run_f64(double *out, const unsigned char *in, int64_t count)
{
    table_run_f64(out, in, count, e4m3fnuz_table());
}

/* ---- the dtypes ---- */

#define MAX_NAMES 5

typedef struct dtype_row {
    const char *names[MAX_NAMES]; /* safetensors' own first, then torch's, numpy's and users' */
    int bits;
    int swap_bytes; /* unit in which byte order is reversed: half an element for complex numbers */
    read_f64_function *read_f64; /* NULL: cannot be read as numbers */
    read_i64_function *read_i64; /* NULL: not integers */
} dtype_row;

static const dtype_row dtypes[FP8MOE_DTYPE_COUNT] = {
    [FP8MOE_DTYPE_NONE] = {{"none"}, 0, 0, NULL, NULL},
    [FP8MOE_DTYPE_BOOL] = {{"BOOL"}, 8, 1, bool_run_f64, bool_run_i64},
    [FP8MOE_DTYPE_U8] = {{"U8", "uint8"}, 8, 1, u8_run_f64, u8_run_i64},
    [FP8MOE_DTYPE_I8] = {{"I8", "int8"}, 8, 1, i8_run_f64, i8_run_i64},
    [FP8MOE_DTYPE_U16] = {{"U16", "uint16"}, 16, 2, u16_run_f64, u16_run_i64},
    [FP8MOE_DTYPE_I16] = {{"I16", "int16", "short"}, 16, 2, i16_run_f64, i16_run_i64},
    [FP8MOE_DTYPE_U32] = {{"U32", "uint32"}, 32, 4, u32_run_f64, u32_run_i64},
    [FP8MOE_DTYPE_I32] = {{"I32", "int32", "int"}, 32, 4, i32_run_f64, i32_run_i64},
    [FP8MOE_DTYPE_U64] = {{"U64", "uint64"}, 64, 8, u64_run_f64, u64_run_i64},
    [FP8MOE_DTYPE_I64] = {{"I64", "int64", "long"}, 64, 8, i64_run_f64, i64_run_i64},
    [FP8MOE_DTYPE_F8_E4M3] =
        {{"F8_E4M3", "e4m3fn", "float8_e4m3fn", "e4m3", "fp8_e4m3"}, 8, 1, e4m3_run_f64, NULL},
    [FP8MOE_DTYPE_F8_E4M3FNUZ] =
        {{"F8_E4M3FNUZ", "e4m3fnuz", "float8_e4m3fnuz"}, 8, 1, e4m3fnuz_run_f64, NULL},
    [FP8MOE_DTYPE_F8_E5M2] =
        {{"F8_E5M2", "e5m2", "float8_e5m2", "fp8_e5m2"}, 8, 1, e5m2_run_f64, NULL},
    [FP8MOE_DTYPE_F8_E5M2FNUZ] = {{"F8_E5M2FNUZ", "e5m2fnuz", "float8_e5m2fnuz"}, 8, 1, NULL, NULL},
    [FP8MOE_DTYPE_F8_E8M0] =
        {{"F8_E8M0", "e8m0", "e8m0fnu", "float8_e8m0fnu", "ue8m0"}, 8, 1, e8m0_run_f64, NULL},
    [FP8MOE_DTYPE_BF16] = {{"BF16", "bfloat16"}, 16, 2, bf16_run_f64, NULL},
    [FP8MOE_DTYPE_F16] = {{"F16", "float16", "half", "fp16"}, 16, 2, f16_run_f64, NULL},
    [FP8MOE_DTYPE_F32] = {{"F32", "float32", "float", "fp32"}, 32, 4, f32_run_f64, NULL},
    [FP8MOE_DTYPE_F64] = {{"F64", "float64", "double", "fp64"}, 64, 8, f64_run_f64, NULL},
    [FP8MOE_DTYPE_F4] = {{"F4", "e2m1", "float4_e2m1fn_x2"}, 4, 0, NULL, NULL},
    [FP8MOE_DTYPE_F6_E2M3] = {{"F6_E2M3", "e2m3"}, 6, 0, NULL, NULL},
    [FP8MOE_DTYPE_F6_E3M2] = {{"F6_E3M2", "e3m2"}, 6, 0, NULL, NULL},
    [FP8MOE_DTYPE_C64] = {{"C64", "complex64"}, 64, 4, NULL, NULL},
    [FP8MOE_DTYPE_V8] = {{"V8"}, 8, 1, NULL, NULL},
    [FP8MOE_DTYPE_V16] = {{"V16"}, 16, 2, NULL, NULL},
};

static const dtype_row *row_of(fp8moe_dtype dtype)
{
    const size_t index = (size_t)dtype;
    return &dtypes[index < FP8MOE_DTYPE_COUNT ? index : FP8MOE_DTYPE_NONE];
}

const char *fp8moe_dtype_name(fp8moe_dtype dtype)
{
    return row_of(dtype)->names[0];
}

/* ASCII letters only, in no locale. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        const char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        const char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y) return false;
    }
    return *a == *b;
}

fp8moe_dtype fp8moe_dtype_from_name(const char *name)
{
    for (int dtype = FP8MOE_DTYPE_NONE + 1; dtype < FP8MOE_DTYPE_COUNT; dtype++)
        for (int i = 0; i < MAX_NAMES && dtypes[dtype].names[i]; i++)
            if (same_name(dtypes[dtype].names[i], name)) return (fp8moe_dtype)dtype;
    return FP8MOE_DTYPE_NONE;
}

int fp8moe_dtype_bits(fp8moe_dtype dtype)
{
    return row_of(dtype)->bits;
}

bool fp8moe_dtype_is_numeric(fp8moe_dtype dtype)
{
    return row_of(dtype)->read_f64 != NULL;
}

/* ---- shapes ---- */

bool fp8moe_tensor_present(const fp8moe_tensor *tensor)
{
    return tensor->dtype != FP8MOE_DTYPE_NONE;
}

int64_t fp8moe_tensor_count(const fp8moe_tensor *tensor)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++)
        count *= tensor->shape[d];
    return count;
}

fp8moe_tensor fp8moe_tensor_view(const void *data, fp8moe_dtype dtype, int rank,
                                 const int64_t *shape)
{
    assert(rank >= 0 && rank <= FP8MOE_MAX_RANK);
    fp8moe_tensor view = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        view.shape[d] = shape[d];
        view.stride[d] = stride;
        stride *= shape[d];
    }
    return view;
}

/* Sub-byte elements have no address of their own: an offset must fall on a byte. */
static const void *element_address(const fp8moe_tensor *tensor, int64_t offset)
{
    const int64_t bits = offset * fp8moe_dtype_bits(tensor->dtype);
    assert(bits % 8 == 0);
    return tensor->data ? (const unsigned char *)tensor->data + bits / 8 : NULL;
}

fp8moe_tensor fp8moe_tensor_at(const fp8moe_tensor *tensor, int64_t index)
{
    assert(tensor->rank > 0 && index >= 0 && index < tensor->shape[0]);
    fp8moe_tensor view = *tensor;
    view.data = element_address(tensor, index * tensor->stride[0]);
    view.rank = tensor->rank - 1;
    memmove(view.shape, view.shape + 1, sizeof view.shape - sizeof view.shape[0]);
    memmove(view.stride, view.stride + 1, sizeof view.stride - sizeof view.stride[0]);
    return view;
}

fp8moe_tensor fp8moe_tensor_slice(const fp8moe_tensor *tensor, int dim, int64_t first,
                                  int64_t count)
{
    assert(dim >= 0 && dim < tensor->rank);
    assert(first >= 0 && count >= 0 && first <= tensor->shape[dim] - count);
    fp8moe_tensor view = *tensor;
    view.data = element_address(tensor, first * tensor->stride[dim]);
    view.shape[dim] = count;
    return view;
}

/* The same elements in the same order with as few dimensions as strides allow: none of size 1, and
 * none that merely continues the one before it. */
static fp8moe_tensor collapse(const fp8moe_tensor *tensor)
{
    fp8moe_tensor view = *tensor;
    view.rank = 0;
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->shape[d] == 1) continue;
        const int last = view.rank - 1;
        if (last >= 0 && view.stride[last] == tensor->shape[d] * tensor->stride[d]) {
            view.shape[last] *= tensor->shape[d];
            view.stride[last] = tensor->stride[d];
        } else {
            view.shape[view.rank] = tensor->shape[d];
            view.stride[view.rank++] = tensor->stride[d];
        }
    }
    return view;
}

bool fp8moe_tensor_is_contiguous(const fp8moe_tensor *tensor)
{
    if (fp8moe_tensor_count(tensor) == 0) return true;
    const fp8moe_tensor view = collapse(tensor);
    return view.rank == 0 || (view.rank == 1 && view.stride[0] == 1);
}

fp8moe_status fp8moe_tensor_as_rows(const fp8moe_tensor *tensor, fp8moe_tensor *out,
                                    fp8moe_error *err)
{
    const int last = tensor->rank > 0 ? tensor->rank - 1 : 0;
    fp8moe_tensor leading = *tensor;
    leading.rank = last;
    const int64_t shape[2] = {fp8moe_tensor_count(&leading),
                              tensor->rank ? tensor->shape[last] : 1};
    fp8moe_tensor view = fp8moe_tensor_view(tensor->data, tensor->dtype, 2, shape);
    view.swapped = tensor->swapped;
    if (tensor->rank > 0) view.stride[1] = tensor->stride[last];
    leading = collapse(&leading);
    if (leading.rank == 1) view.stride[0] = leading.stride[0];
    if (leading.rank > 1 && fp8moe_tensor_count(tensor) > 0) {
        char text[128];
        return fail(err, FP8MOE_ERR_SHAPE,
                    "the strides of shape %s do not let its leading dimensions be read as rows",
                    fp8moe_tensor_shape_text(tensor, text, sizeof text));
    }
    *out = view;
    return FP8MOE_OK;
}

char *fp8moe_tensor_shape_text(const fp8moe_tensor *tensor, char *text, size_t size)
{
    assert(size > 0);
    size_t used = (size_t)snprintf(text, size, "[");
    for (int d = 0; d < tensor->rank && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? ", " : "",
                                 (long long)tensor->shape[d]);
    if (used < size) (void)snprintf(text + used, size - used, "]");
    return text;
}

/* ---- reading ---- */

/* Elements of a view that follow each other at one distance. */
typedef struct run {
    const unsigned char *in;
    int64_t count;
    int64_t step; /* bytes from one element to the next */
} run;

/* The longest run of a collapsed view from C-order position `first`, at most `count` elements. */
static run find_run(const fp8moe_tensor *view, int64_t first, int64_t count)
{
    const int64_t bytes = fp8moe_dtype_bits(view->dtype) / 8;
    run found = {view->data, count, bytes};
    for (int d = view->rank - 1; d >= 0; d--) {
        const int64_t index = first % view->shape[d];
        first /= view->shape[d];
        found.in += index * view->stride[d] * bytes;
        if (d < view->rank - 1) continue;
        found.count = min_i64(count, view->shape[d] - index);
        found.step = view->stride[d] * bytes;
    }
    return found;
}

static bool is_packed(const run *r, const fp8moe_tensor *view)
{
    return r->step == (int64_t)fp8moe_dtype_bits(view->dtype) / 8 && !view->swapped;
}

static void reverse_bytes(unsigned char *bytes, int64_t units, int unit)
{
    for (int64_t i = 0; i < units; i++, bytes += unit)
        for (int j = 0; j < unit / 2; j++) {
            const unsigned char byte = bytes[j];
            bytes[j] = bytes[unit - 1 - j];
            bytes[unit - 1 - j] = byte;
        }
}

/* Copy a run's elements one after another, in host byte order. */
static void pack_run(unsigned char *out, const run *r, const fp8moe_tensor *view)
{
    const dtype_row *row = row_of(view->dtype);
    const size_t bytes = (size_t)row->bits / 8;
    if (r->step == (int64_t)bytes) {
        memcpy(out, r->in, (size_t)r->count * bytes);
    } else {
        for (int64_t i = 0; i < r->count; i++)
            memcpy(out + (size_t)i * bytes, r->in + i * r->step, bytes);
    }
    if (view->swapped)
        reverse_bytes(out, r->count * ((int64_t)bytes / row->swap_bytes), row->swap_bytes);
}

static void assert_range(const fp8moe_tensor *tensor, int64_t first, int64_t count)
{
    assert(first >= 0 && count >= 0 && first <= fp8moe_tensor_count(tensor) - count);
    (void)tensor, (void)first, (void)count;
}

/* Enough to make the detour cheap, little enough for any stack. */
#define PACKED_ELEMENTS 256

/* The next run, packed: where it stands when it is so already, else by way of `buffer`. */
static run packed_run(const fp8moe_tensor *view, int64_t first, int64_t count,
                      uint64_t buffer[PACKED_ELEMENTS])
{
    run r = find_run(view, first, count);
    if (is_packed(&r, view)) return r;
    r.count = min_i64(r.count, PACKED_ELEMENTS);
    pack_run((unsigned char *)buffer, &r, view);
    r.in = (const unsigned char *)buffer;
    return r;
}

void fp8moe_tensor_read_f64(const fp8moe_tensor *tensor, int64_t first, int64_t count, double *out)
{
    assert_range(tensor, first, count);
    read_f64_function *const read = row_of(tensor->dtype)->read_f64;
    assert(read);
    const fp8moe_tensor view = collapse(tensor);
    uint64_t buffer[PACKED_ELEMENTS];
    for (int64_t done = 0; done < count;) {
        const run r = packed_run(&view, first + done, count - done, buffer);
        read(out + done, r.in, r.count);
        done += r.count;
    }
}

void fp8moe_tensor_read_i64(const fp8moe_tensor *tensor, int64_t first, int64_t count, int64_t *out)
{
    assert_range(tensor, first, count);
    read_i64_function *const read = row_of(tensor->dtype)->read_i64;
    assert(read);
    const fp8moe_tensor view = collapse(tensor);
    uint64_t buffer[PACKED_ELEMENTS];
    for (int64_t done = 0; done < count;) {
        const run r = packed_run(&view, first + done, count - done, buffer);
        read(out + done, r.in, r.count);
        done += r.count;
    }
}

void fp8moe_tensor_read_raw(const fp8moe_tensor *tensor, int64_t first, int64_t count, void *out)
{
    assert_range(tensor, first, count);
    const int64_t bytes = fp8moe_dtype_bits(tensor->dtype) / 8;
    assert(bytes > 0);
    const fp8moe_tensor view = collapse(tensor);
    for (int64_t done = 0; done < count;) {
        const run r = find_run(&view, first + done, count - done);
        pack_run((unsigned char *)out + done * bytes, &r, &view);
        done += r.count;
    }
}

double fp8moe_round_bf16(double value)
{
    return round_bf16(value);
}

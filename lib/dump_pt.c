/* torch's .pt since 1.6: a zip archive of one folder with data.pkl, a pickle that describes the
 * tensors, and data/<key>, the bytes of one storage each. Rules: torch/serialization.py,
 * torch/_utils.py and torch/_tensor.py of torch 1.13 to 2.15. Nothing of the pickle is ever run. */
#include "bytes.h"
#include "dump.h"
#include "dump_npy.h"
#include "limits.h"
#include "pickle.h"
#include "text.h"
#include "zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a name in the pickle stands for; its tag is this times KINDS plus a dtype. */
typedef enum kind {
    KIND_DICT,
    KIND_SIZE,
    KIND_STORAGE,
    KIND_DTYPE,
    KIND_TENSOR_TYPE, /* Tensor or Parameter, as the argument that says which */
    KIND_REBUILD_TENSOR,
    KIND_REBUILD_TENSOR_V3,
    KIND_REBUILD_WRAPPED, /* a Parameter around a tensor */
    KIND_REBUILD_FROM_TYPE,
    KIND_REBUILD_FROM_CPU,
    KIND_REBUILD_FROM_NUMPY,
    KIND_ARRAY_RECONSTRUCT,
    KIND_ARRAY_FROM_BUFFER,
    KIND_ARRAY_TYPE,
    KIND_ARRAY_DTYPE,
    KIND_BYTES
} kind;

#define TAG(kind, dtype) ((int)(kind)*FP8MOE_DTYPE_COUNT + (int)(dtype))
#define STORAGE(name, dtype)                                                                       \
    {                                                                                              \
        "torch", name "Storage", TAG(KIND_STORAGE, dtype), false                                   \
    }
#define DTYPE(name, dtype)                                                                         \
    {                                                                                              \
        "torch", name, TAG(KIND_DTYPE, dtype), false                                               \
    }
#define NAME(module, name, kind)                                                                   \
    {                                                                                              \
        module, name, TAG(kind, FP8MOE_DTYPE_NONE), false                                          \
    }

/* The whole list of what a pickle may mention. */
static const pickle_name names[] = {
    {"collections", "OrderedDict", TAG(KIND_DICT, FP8MOE_DTYPE_NONE), PICKLE_MAKES_DICT},
    NAME("torch", "Size", KIND_SIZE),
    NAME("torch", "Tensor", KIND_TENSOR_TYPE),
    NAME("torch._tensor", "Tensor", KIND_TENSOR_TYPE),
    NAME("torch.nn.parameter", "Parameter", KIND_TENSOR_TYPE),
    NAME("torch._utils", "_rebuild_tensor", KIND_REBUILD_TENSOR),
    NAME("torch._utils", "_rebuild_tensor_v2", KIND_REBUILD_TENSOR),
    NAME("torch._utils", "_rebuild_tensor_v3", KIND_REBUILD_TENSOR_V3),
    NAME("torch._utils", "_rebuild_parameter", KIND_REBUILD_WRAPPED),
    NAME("torch._utils", "_rebuild_parameter_with_state", KIND_REBUILD_WRAPPED),
    NAME("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", KIND_REBUILD_FROM_CPU),
    NAME("torch._utils", "_rebuild_device_tensor_from_numpy", KIND_REBUILD_FROM_NUMPY),
    NAME("torch._tensor", "_rebuild_from_type_v2", KIND_REBUILD_FROM_TYPE),
    NAME("numpy.core.multiarray", "_reconstruct", KIND_ARRAY_RECONSTRUCT),
    NAME("numpy._core.multiarray", "_reconstruct", KIND_ARRAY_RECONSTRUCT),
    NAME("numpy.core.numeric", "_frombuffer", KIND_ARRAY_FROM_BUFFER),
    NAME("numpy._core.numeric", "_frombuffer", KIND_ARRAY_FROM_BUFFER),
    NAME("numpy", "ndarray", KIND_ARRAY_TYPE),
    NAME("numpy", "dtype", KIND_ARRAY_DTYPE),
    {"_codecs", "encode", TAG(KIND_BYTES, FP8MOE_DTYPE_NONE), PICKLE_MAKES_BYTES},
    STORAGE("Double", FP8MOE_DTYPE_F64),
    STORAGE("Float", FP8MOE_DTYPE_F32),
    STORAGE("Half", FP8MOE_DTYPE_F16),
    STORAGE("BFloat16", FP8MOE_DTYPE_BF16),
    STORAGE("Long", FP8MOE_DTYPE_I64),
    STORAGE("Int", FP8MOE_DTYPE_I32),
    STORAGE("Short", FP8MOE_DTYPE_I16),
    STORAGE("Char", FP8MOE_DTYPE_I8),
    STORAGE("Byte", FP8MOE_DTYPE_U8),
    STORAGE("Bool", FP8MOE_DTYPE_BOOL),
    STORAGE("ComplexFloat", FP8MOE_DTYPE_C64),
    STORAGE("Float8_e4m3fn", FP8MOE_DTYPE_F8_E4M3),
    STORAGE("Float8_e5m2", FP8MOE_DTYPE_F8_E5M2),
    STORAGE("Untyped", FP8MOE_DTYPE_U8),
    {"torch.storage", "UntypedStorage", TAG(KIND_STORAGE, FP8MOE_DTYPE_U8), PICKLE_MAKES_CALL},
    DTYPE("float64", FP8MOE_DTYPE_F64),
    DTYPE("float32", FP8MOE_DTYPE_F32),
    DTYPE("float16", FP8MOE_DTYPE_F16),
    DTYPE("bfloat16", FP8MOE_DTYPE_BF16),
    DTYPE("int64", FP8MOE_DTYPE_I64),
    DTYPE("int32", FP8MOE_DTYPE_I32),
    DTYPE("int16", FP8MOE_DTYPE_I16),
    DTYPE("int8", FP8MOE_DTYPE_I8),
    DTYPE("uint64", FP8MOE_DTYPE_U64),
    DTYPE("uint32", FP8MOE_DTYPE_U32),
    DTYPE("uint16", FP8MOE_DTYPE_U16),
    DTYPE("uint8", FP8MOE_DTYPE_U8),
    DTYPE("bool", FP8MOE_DTYPE_BOOL),
    DTYPE("complex64", FP8MOE_DTYPE_C64),
    DTYPE("float8_e4m3fn", FP8MOE_DTYPE_F8_E4M3),
    DTYPE("float8_e4m3fnuz", FP8MOE_DTYPE_F8_E4M3FNUZ),
    DTYPE("float8_e5m2", FP8MOE_DTYPE_F8_E5M2),
    DTYPE("float8_e5m2fnuz", FP8MOE_DTYPE_F8_E5M2FNUZ),
    DTYPE("float8_e8m0fnu", FP8MOE_DTYPE_F8_E8M0),
};

static bool is_kind(const pickle_value *value, pickle_type type, kind wanted)
{
    return value->type == type && value->name->tag / FP8MOE_DTYPE_COUNT == (int)wanted;
}

static fp8moe_dtype dtype_of(const pickle_value *name)
{
    return (fp8moe_dtype)(name->name->tag % FP8MOE_DTYPE_COUNT);
}

/* What lives as long as the dump: tensors point into both. */
typedef struct contents {
    zip *archive;
    pickle *tree;
} contents;

/* A file being read. */
typedef struct reader {
    fp8moe_dump *dump;
    zip *archive;
    contents *kept;
    const char *root; /* folder within the archive, with its '/' */
    int64_t base;     /* offset of the pickle in the file, or -1 where it is compressed */
    bool big_endian;
    size_t steps;      /* values visited so far */
    size_t name_bytes; /* that names have taken so far */
    fp8moe_error *err;
} reader;

/* ---- failing ---- */

static int64_t place(const reader *r, const pickle_value *value)
{
    return r->base < 0 ? -1 : r->base + value->offset;
}

static fp8moe_status bad(const reader *r, const pickle_value *value, const char *sentence)
{
    return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, value), "%s", sentence);
}

static fp8moe_status unsupported(const reader *r, const pickle_value *value, const char *sentence)
{
    return fail_at(r->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(r, value), "%s", sentence);
}

static fp8moe_status no_memory(const reader *r)
{
    return fail(r->err, FP8MOE_ERR_NOMEM, "out of memory for the tensors of the pickle");
}

/* ---- arguments ---- */

static fp8moe_status need_arguments(const reader *r, const pickle_value *call, size_t least)
{
    if (call->arguments->count >= least) return FP8MOE_OK;
    return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, call),
                   "%s has %zu arguments, needs %zu", call->name->name, call->arguments->count,
                   least);
}

static bool is_string(const pickle_value *value, const char *text)
{
    return value->type == PICKLE_STRING && value->size == strlen(text) &&
           memcmp(value->text, text, value->size) == 0;
}

/* A whole number of at least 0. */
static fp8moe_status read_count(const reader *r, const pickle_value *value, const char *what,
                                int64_t *out)
{
    if (value->type != PICKLE_INT || value->integer < 0)
        return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, value),
                       "the %s must be a whole number of at least 0", what);
    *out = value->integer;
    return FP8MOE_OK;
}

/* A tuple of them, which may stand in a torch.Size. */
static fp8moe_status read_counts(const reader *r, const pickle_value *value, const char *what,
                                 int64_t out[FP8MOE_MAX_RANK], size_t *count)
{
    if (is_kind(value, PICKLE_CALL, KIND_SIZE) && value->arguments->count == 1)
        value = value->arguments->items[0];
    if (value->type != PICKLE_TUPLE && value->type != PICKLE_LIST)
        return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, value), "the %s must be a tuple",
                       what);
    if (value->count > FP8MOE_MAX_RANK)
        return fail_at(r->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(r, value),
                       "a tensor of %zu dimensions, at most %d are read", value->count,
                       FP8MOE_MAX_RANK);
    for (size_t i = 0; i < value->count; i++)
        TRY(read_count(r, value->items[i], what, &out[i]));
    *count = value->count;
    return FP8MOE_OK;
}

/* ---- storages ---- */

typedef struct storage {
    fp8moe_dtype dtype;
    size_t index; /* entry of the archive */
    const zip_entry *entry;
} storage;

/* Its entry in the archive: <root>data/<key>. */
static fp8moe_status find_storage(const reader *r, const pickle_value *key, storage *out)
{
    char path[LIMIT_NAME_BYTES];
    if (key->type != PICKLE_STRING || key->size > LIMIT_NAME_BYTES)
        return bad(r, key, "the key of a storage must be a string");
    (void)snprintf(path, sizeof path, "%sdata/%.*s", r->root, (int)key->size, key->text);
    const int64_t index = zip_find(r->archive, path);
    if (index < 0)
        return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, key),
                       "the archive has no entry %.200s for a storage", path);
    out->index = (size_t)index;
    out->entry = zip_at(r->archive, out->index);
    return FP8MOE_OK;
}

/* ('storage', torch.FloatStorage, key, device, number of elements) */
static fp8moe_status read_storage(const reader *r, const pickle_value *value, storage *out)
{
    if (value->type != PICKLE_PERSISTENT || value->items[0]->type != PICKLE_TUPLE)
        return bad(r, value, "a tensor's storage is no storage");
    const pickle_value *const id = value->items[0];
    if (id->count != 5 || !is_string(id->items[0], "storage") ||
        !is_kind(id->items[1], PICKLE_NAME, KIND_STORAGE))
        return bad(r, id, "a storage must be ('storage', type, key, device, size)");
    int64_t elements = 0, bytes = 0;
    out->dtype = dtype_of(id->items[1]);
    TRY(find_storage(r, id->items[2], out));
    TRY(read_count(r, id->items[4], "size of a storage", &elements));
    if (!bytes_of(out->dtype, elements, &bytes) || bytes != out->entry->unpacked)
        return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, place(r, id),
                       "a storage of %" PRId64 " elements of %s does not fit its entry of %" PRId64
                       " bytes",
                       elements, fp8moe_dtype_name(out->dtype), out->entry->unpacked);
    return FP8MOE_OK;
}

/* ---- tensors on a storage ---- */

/* Elements from the storage's start up to the view's last one; -1 where that overflows. */
static int64_t reach_of(const fp8moe_tensor *view, int64_t first)
{
    int64_t last = first;
    for (int dim = 0; dim < view->rank; dim++) {
        int64_t step;
        if (!checked_mul(view->shape[dim] - 1, view->stride[dim], &step) ||
            !checked_add(last, step, &last))
            return -1;
    }
    return last < INT64_MAX ? last + 1 : -1;
}

/* Put a view of `shape` and `stride` that starts at element `first` onto a storage. */
static fp8moe_status place_view(const reader *r, const pickle_value *call, const storage *from,
                                int64_t first, dump_entry *out)
{
    const int64_t count = fp8moe_tensor_count(&out->tensor);
    int64_t bytes = 0, start = 0;
    if (count == 0) first = 0; /* of nothing, anywhere */
    const int64_t reach = count ? reach_of(&out->tensor, first) : 0;
    if (reach < 0 || !bytes_of(out->tensor.dtype, reach, &bytes) || bytes > from->entry->unpacked)
        return bad(r, call, "a tensor reaches beyond the end of its storage");
    if (count > reach && count > LIMIT_EXPANDED_ELEMENTS)
        return unsupported(r, call, "a tensor that repeats its storage without end");
    (void)bytes_of(out->tensor.dtype, first, &start);
    out->packed = from->index;
    out->packed_at = start;
    out->offset = -1;
    if (!from->entry->deflated) {
        out->offset = from->entry->offset + start;
        out->tensor.data = r->dump->file.data + out->offset;
    }
    return FP8MOE_OK;
}

/* The first four arguments of every _rebuild_tensor: storage, offset, size, stride. */
static fp8moe_status read_view(const reader *r, const pickle_value *call, const storage *from,
                               fp8moe_dtype dtype, dump_entry *out)
{
    pickle_value *const *const items = call->arguments->items;
    int64_t first = 0, shape[FP8MOE_MAX_RANK], stride[FP8MOE_MAX_RANK], bytes = 0;
    size_t rank = 0, stride_count = 0;
    TRY(read_count(r, items[1], "offset of a tensor", &first));
    TRY(read_counts(r, items[2], "shape of a tensor", shape, &rank));
    TRY(read_counts(r, items[3], "strides of a tensor", stride, &stride_count));
    if (rank != stride_count) return bad(r, call, "a tensor has not as many strides as dimensions");
    TRY(dump_shape(NULL, dtype, rank, shape, place(r, call), &out->tensor, &bytes, r->err));
    for (size_t dim = 0; dim < rank; dim++)
        out->tensor.stride[dim] = stride[dim];
    out->tensor.swapped = r->big_endian != host_is_big_endian();
    return place_view(r, call, from, first, out);
}

/* {'neg': True} or {'conj': True}: the bytes are not the numbers. */
static fp8moe_status check_metadata(const reader *r, const pickle_value *call, size_t index)
{
    if (call->arguments->count <= index) return FP8MOE_OK;
    const pickle_value *const metadata = call->arguments->items[index];
    if (metadata->type == PICKLE_NONE || (metadata->type == PICKLE_DICT && !metadata->count))
        return FP8MOE_OK;
    return unsupported(r, metadata,
                       "a tensor with a negative or conjugate bit: save a clone of it");
}

static fp8moe_status read_tensor(reader *r, const pickle_value *call, int depth, dump_entry *out);

static fp8moe_status rebuild_tensor(reader *r, const pickle_value *call, int depth, dump_entry *out)
{
    storage from = {0};
    (void)depth;
    TRY(need_arguments(r, call, 4));
    TRY(read_storage(r, call->arguments->items[0], &from));
    TRY(check_metadata(r, call, 6));
    return read_view(r, call, &from, from.dtype, out);
}

/* The seventh argument is the dtype: of types that have no storage of their own. */
static fp8moe_status rebuild_tensor_v3(reader *r, const pickle_value *call, int depth,
                                       dump_entry *out)
{
    storage from = {0};
    (void)depth;
    TRY(need_arguments(r, call, 7));
    TRY(read_storage(r, call->arguments->items[0], &from));
    TRY(check_metadata(r, call, 7));
    const pickle_value *const dtype = call->arguments->items[6];
    if (!is_kind(dtype, PICKLE_NAME, KIND_DTYPE))
        return bad(r, dtype, "a tensor's dtype is no dtype");
    return read_view(r, call, &from, dtype_of(dtype), out);
}

static fp8moe_status rebuild_wrapped(reader *r, const pickle_value *call, int depth,
                                     dump_entry *out)
{
    TRY(need_arguments(r, call, 1));
    return read_tensor(r, call->arguments->items[0], depth + 1, out);
}

/* (function, type, its arguments, state): function(*arguments) as another type */
static fp8moe_status rebuild_from_type(reader *r, const pickle_value *call, int depth,
                                       dump_entry *out)
{
    TRY(need_arguments(r, call, 3));
    pickle_value *const *const items = call->arguments->items;
    if (items[0]->type != PICKLE_NAME || items[2]->type != PICKLE_TUPLE ||
        !is_kind(items[1], PICKLE_NAME, KIND_TENSOR_TYPE))
        return bad(r, call, "_rebuild_from_type_v2 needs a function, a tensor type and arguments");
    const pickle_value inner = {
        .type = PICKLE_CALL, .offset = call->offset, .name = items[0]->name, .arguments = items[2]};
    return read_tensor(r, &inner, depth + 1, out);
}

/* (tensor, dtype, device, requires_grad): as devices without storages are saved */
static fp8moe_status rebuild_from_cpu(reader *r, const pickle_value *call, int depth,
                                      dump_entry *out)
{
    TRY(need_arguments(r, call, 2));
    const pickle_value *const dtype = call->arguments->items[1];
    if (!is_kind(dtype, PICKLE_NAME, KIND_DTYPE))
        return bad(r, dtype, "a tensor's dtype is no dtype");
    TRY(read_tensor(r, call->arguments->items[0], depth + 1, out));
    if (dtype_of(dtype) == out->tensor.dtype) return FP8MOE_OK;
    return unsupported(r, call,
                       "a tensor that is to be converted to another dtype when it is loaded");
}

/* ---- numpy arrays within the pickle ---- */

/* numpy.dtype('f4', False, True) with the state (3, '<', ...) */
static fp8moe_status read_array_dtype(const reader *r, const pickle_value *value,
                                      fp8moe_dtype *dtype, bool *big_endian)
{
    char descr[16] = "";
    if (!is_kind(value, PICKLE_CALL, KIND_ARRAY_DTYPE) || value->arguments->count < 1 ||
        value->arguments->items[0]->type != PICKLE_STRING || value->arguments->items[0]->size > 8)
        return bad(r, value, "the dtype of a numpy array is no dtype");
    const pickle_value *const text = value->arguments->items[0], *const state = value->state;
    const bool ordered = state && state->type == PICKLE_TUPLE && state->count >= 2 &&
                         state->items[1]->type == PICKLE_STRING && state->items[1]->size == 1;
    (void)snprintf(descr, sizeof descr, "%c%.*s", ordered ? state->items[1]->text[0] : '|',
                   (int)text->size, text->text);
    if (npy_dtype(descr, dtype, big_endian)) return FP8MOE_OK;
    return fail_at(r->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(r, value),
                   "a numpy array of a dtype that is not read");
}

/* An array's parts, however they were written. */
static fp8moe_status make_array(const reader *r, const pickle_value *shape_value,
                                const pickle_value *dtype_value, bool fortran_order,
                                const pickle_value *data_value, dump_entry *out)
{
    int64_t shape[FP8MOE_MAX_RANK], bytes = 0;
    size_t rank = 0;
    fp8moe_dtype dtype = FP8MOE_DTYPE_NONE;
    bool big_endian = false;
    TRY(read_counts(r, shape_value, "shape of a numpy array", shape, &rank));
    TRY(read_array_dtype(r, dtype_value, &dtype, &big_endian));
    TRY(dump_shape(NULL, dtype, rank, shape, place(r, shape_value), &out->tensor, &bytes, r->err));
    if (data_value->type != PICKLE_BYTES || (uint64_t)bytes != data_value->size)
        return bad(r, data_value, "the data of a numpy array are not the bytes its shape asks for");
    if (fortran_order) npy_use_fortran_order(&out->tensor);
    out->tensor.swapped = big_endian != host_is_big_endian();
    out->tensor.data = data_value->text;
    out->offset = -1;
    return FP8MOE_OK;
}

/* _reconstruct(ndarray, (0,), b'b') with the state (1, shape, dtype, fortran order, data) */
static fp8moe_status array_reconstruct(reader *r, const pickle_value *call, int depth,
                                       dump_entry *out)
{
    const pickle_value *const state = call->state;
    (void)depth;
    if (!state || state->type != PICKLE_TUPLE || state->count != 5 ||
        state->items[3]->type != PICKLE_BOOL || call->arguments->count < 1 ||
        !is_kind(call->arguments->items[0], PICKLE_NAME, KIND_ARRAY_TYPE))
        return bad(r, call, "a numpy array without its shape, dtype, order and data");
    return make_array(r, state->items[1], state->items[2], state->items[3]->boolean,
                      state->items[4], out);
}

/* _frombuffer(data, dtype, shape, order), of protocol 5 */
static fp8moe_status array_from_buffer(reader *r, const pickle_value *call, int depth,
                                       dump_entry *out)
{
    (void)depth;
    TRY(need_arguments(r, call, 4));
    pickle_value *const *const items = call->arguments->items;
    const bool fortran_order = is_string(items[3], "F");
    if (!fortran_order && !is_string(items[3], "C"))
        return bad(r, items[3], "the order of a numpy array must be 'C' or 'F'");
    return make_array(r, items[2], items[1], fortran_order, items[0], out);
}

/* numpy has no bf16, so torch writes such a tensor as f32, of which the upper halves are it. */
static fp8moe_status take_upper_halves(reader *r, const pickle_value *call, dump_entry *out)
{
    fp8moe_tensor *const t = &out->tensor;
    const int64_t count = fp8moe_tensor_count(t); /* whole: an array is one block of memory */
    const bool little = t->swapped == host_is_big_endian();
    const uint8_t *const bytes = t->data;
    r->steps += (size_t)(count / 1024); /* one array may be visited a million times */
    for (int64_t i = 0; i < count; i++)
        if (bytes[4 * i + (little ? 0 : 2)] || bytes[4 * i + (little ? 1 : 3)])
            return unsupported(r, call,
                               "a bf16 tensor saved as f32 numbers that are no bf16 numbers");
    t->data = bytes + (little ? 2 : 0);
    t->dtype = FP8MOE_DTYPE_BF16;
    for (int dim = 0; dim < t->rank; dim++)
        t->stride[dim] *= 2;
    return FP8MOE_OK;
}

/* (array, dtype, device, requires_grad): how torch 1.13 saves tensors of an HPU */
static fp8moe_status rebuild_from_numpy(reader *r, const pickle_value *call, int depth,
                                        dump_entry *out)
{
    TRY(need_arguments(r, call, 2));
    const pickle_value *const dtype = call->arguments->items[1];
    if (!is_kind(dtype, PICKLE_NAME, KIND_DTYPE))
        return bad(r, dtype, "a tensor's dtype is no dtype");
    const pickle_value *const array = call->arguments->items[0];
    if (!is_kind(array, PICKLE_CALL, KIND_ARRAY_RECONSTRUCT) &&
        !is_kind(array, PICKLE_CALL, KIND_ARRAY_FROM_BUFFER))
        return bad(r, array, "a tensor made from what is no numpy array");
    TRY(read_tensor(r, array, depth + 1, out));
    if (dtype_of(dtype) == out->tensor.dtype) return FP8MOE_OK;
    if (dtype_of(dtype) == FP8MOE_DTYPE_BF16 && out->tensor.dtype == FP8MOE_DTYPE_F32)
        return take_upper_halves(r, call, out);
    return unsupported(r, call,
                       "a tensor that is to be converted to another dtype when it is loaded");
}

/* ---- any tensor ---- */

typedef fp8moe_status (*rebuilder)(reader *r, const pickle_value *call, int depth, dump_entry *out);

/* How a call becomes a tensor; NULL for what is none. */
static rebuilder rebuilder_of(const pickle_value *value)
{
    static const struct {
        kind of;
        rebuilder rebuild;
    } rows[] = {
        {KIND_REBUILD_TENSOR, rebuild_tensor},       {KIND_REBUILD_TENSOR_V3, rebuild_tensor_v3},
        {KIND_REBUILD_WRAPPED, rebuild_wrapped},     {KIND_REBUILD_FROM_TYPE, rebuild_from_type},
        {KIND_REBUILD_FROM_CPU, rebuild_from_cpu},   {KIND_REBUILD_FROM_NUMPY, rebuild_from_numpy},
        {KIND_ARRAY_RECONSTRUCT, array_reconstruct}, {KIND_ARRAY_FROM_BUFFER, array_from_buffer},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        if (is_kind(value, PICKLE_CALL, rows[row].of)) return rows[row].rebuild;
    return NULL;
}

static fp8moe_status read_tensor(reader *r, const pickle_value *call, int depth, dump_entry *out)
{
    const rebuilder rebuild = rebuilder_of(call);
    if (!rebuild) return bad(r, call, "a tensor made from what is no tensor");
    if (depth > LIMIT_PICKLE_DEPTH) return bad(r, call, "a tensor within a tensor without end");
    return rebuild(r, call, depth, out);
}

/* ---- the tree of names ---- */

/* Where a value stands: the keys from the top of the tree down to it. */
typedef struct path {
    const struct path *parent;
    const char *text;
    size_t size;
} path;

/* "layer.0.x", in the dump's memory. */
static fp8moe_status path_name(reader *r, const path *at, const char **out)
{
    size_t size = 0;
    for (const path *p = at; p; p = p->parent)
        size += p->size + (p != at);
    if (size > LIMIT_NAME_BYTES)
        return fail(r->err, FP8MOE_ERR_FORMAT, "a tensor's name of %zu bytes, at most %d are read",
                    size, LIMIT_NAME_BYTES);
    if ((r->name_bytes += size) > LIMIT_NAMES_BYTES)
        return fail(r->err, FP8MOE_ERR_FORMAT, "the tensors' names take more than %d bytes",
                    LIMIT_NAMES_BYTES);
    char *const name = arena_alloc(&r->dump->memory, size + 1);
    if (!name) return no_memory(r);
    for (const path *p = at; p; p = p->parent) {
        size -= p->size;
        memcpy(name + size, p->text, p->size);
        if (memchr(name + size, '\0', p->size))
            return fail(r->err, FP8MOE_ERR_FORMAT, "a tensor's name holds a NUL");
        if (p->parent) name[--size] = '.';
    }
    *out = name;
    return FP8MOE_OK;
}

static fp8moe_status add_tensor(reader *r, const pickle_value *call, const path *at)
{
    dump_entry entry = {.name = at ? NULL : dump_stem(r->dump)};
    if (at) TRY(path_name(r, at, &entry.name));
    if (!entry.name) return no_memory(r);
    TRY(error_in_tensor(r->err, read_tensor(r, call, 0, &entry), entry.name));
    return dump_add(r->dump, &entry, r->err);
}

/* The shortest decimal form that is read back as the same double, with a point in every locale. */
static void number_text(double number, char *out, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0;
        (void)snprintf(out, size, "%.*g", digits, number);
        for (char *c = out; *c; c++)
            if (*c == ',') *c = '.';
        if (text_to_f64(out, strlen(out), &back) && back == number) return;
    }
}

/* Numbers and strings of the top level: the token count and rank that dumps carry along. */
static fp8moe_status add_scalar(reader *r, const pickle_value *value, const path *at)
{
    char number[64];
    const char *key = NULL, *text = number;
    if (value->type == PICKLE_INT)
        (void)snprintf(number, sizeof number, "%" PRId64, value->integer);
    else if (value->type == PICKLE_BOOL)
        text = value->boolean ? "true" : "false";
    else if (value->type == PICKLE_FLOAT && value->number - value->number == 0)
        number_text(value->number, number, sizeof number);
    else if (value->type == PICKLE_STRING)
        text = arena_text(&r->dump->memory, value->text, value->size);
    else
        return FP8MOE_OK;
    TRY(path_name(r, at, &key));
    return text ? dump_add_metadata(r->dump, key, text, r->err) : no_memory(r);
}

static fp8moe_status visit(reader *r, const pickle_value *value, const path *at, int depth);

static fp8moe_status visit_dict(reader *r, const pickle_value *dict, const path *at, int depth)
{
    for (size_t i = 0; i < dict->count; i += 2) {
        const pickle_value *const key = dict->items[i], *const value = dict->items[i + 1];
        char number[24];
        path below = {at, number, 0};
        if (key->type == PICKLE_STRING) {
            below.text = key->text;
            below.size = key->size;
        } else if (key->type == PICKLE_INT) {
            below.size = (size_t)snprintf(number, sizeof number, "%" PRId64, key->integer);
        } else {
            return unsupported(r, key, "a dictionary key that is neither a string nor an integer");
        }
        if (depth == 0) TRY(add_scalar(r, value, &below));
        TRY(visit(r, value, &below, depth + 1));
    }
    return FP8MOE_OK;
}

static fp8moe_status visit_list(reader *r, const pickle_value *list, const path *at, int depth)
{
    for (size_t i = 0; i < list->count; i++) {
        char number[24];
        const path below = {at, number, (size_t)snprintf(number, sizeof number, "%zu", i)};
        TRY(visit(r, list->items[i], &below, depth + 1));
    }
    return FP8MOE_OK;
}

static fp8moe_status visit(reader *r, const pickle_value *value, const path *at, int depth)
{
    if (depth > LIMIT_PICKLE_DEPTH)
        return bad(r, value, "the pickle is nested too deep, or contains itself");
    /* a list that holds a list twice that holds a list twice ... */
    if (++r->steps > LIMIT_PICKLE_VISITS)
        return bad(r, value, "the pickle unfolds to too many values");
    if (rebuilder_of(value)) return add_tensor(r, value, at);
    if (value->type == PICKLE_DICT) return visit_dict(r, value, at, depth);
    if (value->type == PICKLE_LIST || value->type == PICKLE_TUPLE)
        return visit_list(r, value, at, depth);
    return FP8MOE_OK;
}

/* ---- the archive ---- */

static const char pickle_entry[] = "data.pkl";

static bool is_pickle_entry(const char *name)
{
    const char *const slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, pickle_entry) == 0;
}

static bool holds_pickle(const file_view *file)
{
    zip *archive = NULL;
    bool found = false;
    if (zip_open(file->data, file->size, &archive, NULL) != FP8MOE_OK) return false;
    for (size_t i = 0; i < zip_count(archive) && !found; i++)
        found = is_pickle_entry(zip_at(archive, i)->name);
    zip_close(archive);
    return found;
}

/* What torch before 1.6 starts its files with: protocol 2 and a magic number. */
static bool is_legacy(const file_view *file)
{
    static const uint8_t start[] = {0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C,
                                    0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50};
    return file->size > (int64_t)sizeof start && memcmp(file->data, start, sizeof start) == 0;
}

/* Whoever pickles without torch starts with the protocol alone. */
static bool is_bare_pickle(const file_view *file)
{
    return file->size > 2 && file->data[0] == 0x80 && file->data[1] >= 2 && file->data[1] <= 5;
}

static probe_result probe(const file_view *file)
{
    if (is_legacy(file)) return PROBE_SURE;
    if (zip_probe(file->data, file->size)) return holds_pickle(file) ? PROBE_SURE : PROBE_NO;
    return is_bare_pickle(file) ? PROBE_MAYBE : PROBE_NO;
}

static fp8moe_status find_pickle(reader *r, size_t *index)
{
    size_t found = 0;
    for (size_t i = 0; i < zip_count(r->archive); i++)
        if (is_pickle_entry(zip_at(r->archive, i)->name)) {
            *index = i;
            found++;
        }
    if (found != 1)
        return fail(r->err, FP8MOE_ERR_FORMAT, "the archive holds %zu data.pkl, a .pt file has one",
                    found);
    const char *const name = zip_at(r->archive, *index)->name;
    r->root = arena_text(&r->dump->memory, name, strlen(name) - strlen(pickle_entry));
    return r->root ? FP8MOE_OK : no_memory(r);
}

/* The record <root>byteorder, which torch writes since 2.1; before, all writers were little-endian.
 */
static fp8moe_status read_byte_order(reader *r)
{
    char name[LIMIT_NAME_BYTES];
    uint8_t text[8];
    size_t size = 0;
    (void)snprintf(name, sizeof name, "%sbyteorder", r->root);
    const int64_t index = zip_find(r->archive, name);
    if (index < 0) return FP8MOE_OK;
    TRY(zip_peek(r->archive, (size_t)index, text, sizeof text, &size, r->err));
    r->big_endian = size == 3 && memcmp(text, "big", 3) == 0;
    if (r->big_endian || (size == 6 && memcmp(text, "little", 6) == 0)) return FP8MOE_OK;
    return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, zip_at(r->archive, (size_t)index)->offset,
                   "the byteorder record says neither little nor big");
}

static fp8moe_status read_pickle(reader *r, size_t index)
{
    const zip_entry *const entry = zip_at(r->archive, index);
    const uint8_t *data = NULL;
    if (entry->unpacked > LIMIT_PICKLE_BYTES)
        return fail_at(r->err, FP8MOE_ERR_FORMAT, NULL, entry->offset,
                       "a pickle of %" PRId64 " bytes, at most %" PRId64 " are read",
                       entry->unpacked, LIMIT_PICKLE_BYTES);
    TRY(zip_content(r->archive, index, false, &data, r->err));
    r->base = entry->deflated ? -1 : entry->offset;
    TRY(pickle_read(data, (size_t)entry->unpacked, r->base, names, sizeof names / sizeof names[0],
                    &r->kept->tree, r->err));
    return visit(r, pickle_root(r->kept->tree), NULL, 0);
}

static fp8moe_status open_file(fp8moe_dump *dump, fp8moe_error *err)
{
    reader r = {.dump = dump, .err = err};
    size_t index = 0;
    if (!zip_probe(dump->file.data, dump->file.size))
        return fail_at(err, FP8MOE_ERR_UNSUPPORTED, NULL, 0,
                       "%s: load it and torch.save() it again",
                       is_legacy(&dump->file)
                           ? "a .pt file in the format of torch before 1.6, one pickle without zip"
                           : "a bare Python pickle, not a zip-based .pt");
    dump->state = r.kept = arena_alloc(&dump->memory, sizeof *r.kept);
    if (!r.kept) return no_memory(&r);
    TRY(zip_open(dump->file.data, dump->file.size, &r.kept->archive, err));
    r.archive = r.kept->archive;
    TRY(find_pickle(&r, &index));
    TRY(read_byte_order(&r));
    return read_pickle(&r, index);
}

/* torch can be told to write wrong CRCs of stored entries (set_crc32_options), so they say nothing.
 */
static fp8moe_status fetch(fp8moe_dump *dump, const dump_entry *entry, const uint8_t **out,
                           fp8moe_error *err)
{
    const contents *const kept = dump->state;
    return zip_content(kept->archive, entry->packed, false, out, err);
}

static void close_file(fp8moe_dump *dump)
{
    contents *const kept = dump->state;
    if (!kept) return;
    pickle_close(kept->tree);
    zip_close(kept->archive);
}

const dump_format dump_pt = {
    .name = "pt", .probe = probe, .open = open_file, .fetch = fetch, .close = close_file};

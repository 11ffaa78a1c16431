/* safetensors: 8 bytes of header length (little-endian), a JSON header that may be padded with
 * spaces, then the tensors' bytes, one after another without hole or overlap. Rules as in the
 * format's description and the reference reader of the Python package safetensors 0.4 to 0.7. */
#include "bytes.h"
#include "dump.h"
#include "json.h"
#include "limits.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8 };

static const char metadata_key[] = "__metadata__";

/* A tensor's range in the data section. */
typedef struct data_range {
    int64_t begin, end;
    const char *name;
    int64_t offset; /* of data_offsets in the header */
} data_range;

/* ---- reading the header ---- */

/* The format has no mark of its own: sure is a header that starts as one and a length that can be
 * one, and one of them alone is enough to say what is wrong with the other. */
static probe_result probe(const file_view *file)
{
    if (file->size <= LENGTH_BYTES) return PROBE_NO;
    const uint64_t length = load_le64(file->data);
    const bool brace = file->data[LENGTH_BYTES] == '{';
    if (brace && length <= (uint64_t)LIMIT_JSON_BYTES) return PROBE_SURE;
    return brace || length <= (uint64_t)file->size ? PROBE_MAYBE : PROBE_NO;
}

static fp8moe_status check_length(const file_view *file, int64_t *length, fp8moe_error *err)
{
    if (file->size < LENGTH_BYTES + 2)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                       "a safetensors file has at least 10 bytes, this one %" PRId64, file->size);
    const uint64_t stored = load_le64(file->data);
    if (stored > (uint64_t)LIMIT_JSON_BYTES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                       "header length %" PRIu64 ", at most %" PRId64 " are read", stored,
                       LIMIT_JSON_BYTES);
    *length = (int64_t)stored;
    if (*length < 2)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                       "header length %" PRId64 " leaves no room for {}", *length);
    if (*length > file->size - LENGTH_BYTES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, 0,
                       "truncated header: needs %" PRId64 " bytes, has %" PRId64, *length,
                       file->size - LENGTH_BYTES);
    if (file->data[LENGTH_BYTES] != '{')
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, LENGTH_BYTES,
                       "the header starts with byte 0x%02X instead of '{'",
                       (unsigned)file->data[LENGTH_BYTES]);
    return FP8MOE_OK;
}

/* The header's JSON without its padding, which may be of spaces only. */
static fp8moe_status strip_padding(const uint8_t *header, int64_t *length, fp8moe_error *err)
{
    int64_t end = *length;
    while (end > 0 && header[end - 1] == ' ')
        end--;
    const uint8_t last = header[end - 1]; /* header[0] is '{', so there is one */
    if (last != '}')
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, LENGTH_BYTES + end - 1,
                       "the header ends with byte 0x%02X: only spaces may follow its '}'",
                       (unsigned)last);
    *length = end;
    return FP8MOE_OK;
}

static fp8moe_status wrong_type(const json_value *value, const char *name, const char *what,
                                const char *wanted, fp8moe_error *err)
{
    if (!value)
        return fail_at(err, FP8MOE_ERR_FORMAT, name, -1, "the tensor's entry has no %s", what);
    return fail_at(err, FP8MOE_ERR_FORMAT, name, value->offset, "%s must be %s, is %s", what,
                   wanted, json_type_text(value));
}

static fp8moe_status read_metadata(fp8moe_dump *dump, const json_value *metadata, fp8moe_error *err)
{
    if (metadata->type != JSON_OBJECT)
        return wrong_type(metadata, NULL, metadata_key, "an object", err);
    for (const json_value *pair = metadata->children.first; pair; pair = pair->next) {
        if (pair->type != JSON_STRING)
            return fail_at(err, FP8MOE_ERR_FORMAT, NULL, pair->offset,
                           "%s value of \"%.100s\" must be a string, is %s", metadata_key,
                           pair->key, json_type_text(pair));
        TRY(dump_add_metadata(dump, pair->key, pair->string, err));
    }
    return FP8MOE_OK;
}

static fp8moe_dtype dtype_of(const char *name)
{
    const fp8moe_dtype dtype = fp8moe_dtype_from_name(name);
    const bool own_spelling = strcmp(fp8moe_dtype_name(dtype), name) == 0;
    const bool numpy_only = dtype == FP8MOE_DTYPE_V8 || dtype == FP8MOE_DTYPE_V16;
    return own_spelling && !numpy_only ? dtype : FP8MOE_DTYPE_NONE;
}

static fp8moe_status read_dtype(const json_value *value, const char *name, fp8moe_dtype *out,
                                fp8moe_error *err)
{
    if (!value || value->type != JSON_STRING)
        return wrong_type(value, name, "dtype", "a string", err);
    *out = dtype_of(value->string);
    if (*out == FP8MOE_DTYPE_NONE)
        return fail_at(err, FP8MOE_ERR_FORMAT, name, value->offset, "unknown dtype \"%.40s\"",
                       value->string);
    return FP8MOE_OK;
}

/* At most `room` whole numbers of at least 0 into `out`; *count tells how many there are. */
static fp8moe_status read_numbers(const json_value *array, const char *name, const char *what,
                                  size_t room, int64_t *out, size_t *count, fp8moe_error *err)
{
    if (!array || array->type != JSON_ARRAY)
        return wrong_type(array, name, what, "an array of whole numbers", err);
    *count = 0;
    for (const json_value *item = array->children.first; item; item = item->next) {
        if (item->type == JSON_U64)
            return fail_at(err, FP8MOE_ERR_FORMAT, name, item->offset,
                           "%s holds %" PRIu64 ", beyond 2^63-1", what, item->u64);
        if (item->type == JSON_F64)
            return fail_at(err, FP8MOE_ERR_FORMAT, name, item->offset,
                           "%s holds a number that is no whole number below 2^63", what);
        if (item->type != JSON_I64) return wrong_type(item, name, what, "whole numbers", err);
        if (item->i64 < 0)
            return fail_at(err, FP8MOE_ERR_FORMAT, name, item->offset, "%s holds %" PRId64, what,
                           item->i64);
        if (*count < room) out[*count] = item->i64;
        ++*count;
    }
    return FP8MOE_OK;
}

static fp8moe_status read_range(const json_value *value, const char *name, data_range *out,
                                fp8moe_error *err)
{
    int64_t pair[2] = {0, 0};
    size_t count = 0;
    TRY(read_numbers(value, name, "data_offsets", 2, pair, &count, err));
    if (count != 2)
        return fail_at(err, FP8MOE_ERR_FORMAT, name, value->offset,
                       "data_offsets must be two numbers, are %zu", count);
    if (pair[1] < pair[0])
        return fail_at(err, FP8MOE_ERR_FORMAT, name, value->offset,
                       "data_offsets end at %" PRId64 " before they begin at %" PRId64, pair[1],
                       pair[0]);
    *out = (data_range){pair[0], pair[1], name, value->offset};
    return FP8MOE_OK;
}

/* Keys beside the three known ones are left alone, as the reference reader does. */
static fp8moe_status read_entry(const json_value *item, fp8moe_tensor *tensor, data_range *range,
                                fp8moe_error *err)
{
    if (item->type != JSON_OBJECT)
        return wrong_type(item, item->key, "a tensor's entry", "an object", err);
    fp8moe_dtype dtype = FP8MOE_DTYPE_NONE;
    int64_t shape[FP8MOE_MAX_RANK], bytes = 0;
    size_t rank = 0;
    const json_value *const dimensions = json_get(item, "shape");
    TRY(read_dtype(json_get(item, "dtype"), item->key, &dtype, err));
    TRY(read_numbers(dimensions, item->key, "shape", FP8MOE_MAX_RANK, shape, &rank, err));
    TRY(dump_shape(item->key, dtype, rank, shape, dimensions->offset, tensor, &bytes, err));
    TRY(read_range(json_get(item, "data_offsets"), item->key, range, err));
    if (bytes == range->end - range->begin) return FP8MOE_OK;
    char text[256];
    return fail_at(err, FP8MOE_ERR_FORMAT, item->key, range->offset,
                   "data_offsets span %" PRId64 " bytes, %s of shape %s takes %" PRId64,
                   range->end - range->begin, fp8moe_dtype_name(dtype),
                   fp8moe_tensor_shape_text(tensor, text, sizeof text), bytes);
}

/* ---- the data section ---- */

static int compare_ranges(const void *a, const void *b)
{
    const data_range *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Every byte of the data belongs to exactly one tensor. */
static fp8moe_status check_ranges(data_range *ranges, size_t count, int64_t available,
                                  int64_t data_start, fp8moe_error *err)
{
    int64_t end = 0;
    if (count) qsort(ranges, count, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < count; end = ranges[i++].end) {
        if (ranges[i].begin < end)
            return fail_at(err, FP8MOE_ERR_FORMAT, ranges[i].name, ranges[i].offset,
                           "its bytes from %" PRId64
                           " on overlap those of \"%.200s\", which end at "
                           "%" PRId64,
                           ranges[i].begin, ranges[i - 1].name, end);
        if (ranges[i].begin > end)
            return fail_at(err, FP8MOE_ERR_FORMAT, ranges[i].name, ranges[i].offset,
                           "data bytes %" PRId64 " to %" PRId64 " before it belong to no tensor",
                           end, ranges[i].begin - 1);
    }
    if (end > available)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, data_start + available,
                       "truncated: needs %" PRId64 " data bytes, has %" PRId64, end, available);
    if (end < available)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, data_start + end,
                       "%" PRId64 " bytes after the last tensor belong to none", available - end);
    return FP8MOE_OK;
}

static fp8moe_status add_tensors(fp8moe_dump *dump, const json_value *header, int64_t data_start,
                                 data_range *ranges, fp8moe_error *err)
{
    size_t count = 0;
    for (const json_value *item = header->children.first; item; item = item->next) {
        if (strcmp(item->key, metadata_key) == 0) {
            TRY(read_metadata(dump, item, err));
            continue;
        }
        dump_entry entry = {.name = arena_text(&dump->memory, item->key, strlen(item->key))};
        if (!entry.name) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a tensor's name");
        data_range *const range = &ranges[count++];
        TRY(read_entry(item, &entry.tensor, range, err));
        range->name = entry.name;
        if (!checked_add(data_start, range->begin, &entry.offset)) entry.offset = INT64_MAX;
        TRY(dump_add(dump, &entry, err));
    }
    TRY(check_ranges(ranges, count, dump->file.size - data_start, data_start, err));
    for (size_t i = 0; i < dump->count; i++)
        dump->entries[i].tensor.data = dump->file.data + dump->entries[i].offset;
    return FP8MOE_OK;
}

static fp8moe_status open_file(fp8moe_dump *dump, fp8moe_error *err)
{
    int64_t length = 0;
    TRY(check_length(&dump->file, &length, err));
    const int64_t data_start = LENGTH_BYTES + length;
    TRY(strip_padding(dump->file.data + LENGTH_BYTES, &length, err));
    json *parsed = NULL;
    TRY(json_parse(dump->file.data + LENGTH_BYTES, (size_t)length, LENGTH_BYTES, &parsed, err));
    const json_value *const header = json_root(parsed);
    data_range *ranges = calloc((size_t)header->children.count + 1, sizeof *ranges);
    const fp8moe_status status =
        ranges ? add_tensors(dump, header, data_start, ranges, err)
               : fail(err, FP8MOE_ERR_NOMEM, "out of memory for the table of tensors");
    free(ranges);
    json_close(parsed);
    return status;
}

const dump_format dump_safetensors = {.name = "safetensors", .probe = probe, .open = open_file};

/* ---- writing ---- */

/* Text under construction. */
typedef struct builder {
    char *text;
    size_t size, capacity;
    bool failed;
} builder;

static void put(builder *b, const char *text, size_t size)
{
    if (b->failed) return;
    if (size > b->capacity - b->size) {
        const size_t capacity = 2 * (b->size + size);
        char *const larger = realloc(b->text, capacity);
        if (!larger) {
            b->failed = true;
            return;
        }
        b->text = larger;
        b->capacity = capacity;
    }
    memcpy(b->text + b->size, text, size);
    b->size += size;
}

static void put_text(builder *b, const char *text)
{
    put(b, text, strlen(text));
}

static void put_number(builder *b, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    put_text(b, text);
}

static void put_string(builder *b, const char *text)
{
    put_text(b, "\"");
    for (; *text; text++) {
        char escaped[8];
        if (*text == '"' || *text == '\\')
            (void)snprintf(escaped, sizeof escaped, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            (void)snprintf(escaped, sizeof escaped, "%c", *text);
        put_text(b, escaped);
    }
    put_text(b, "\"");
}

static void put_entry(builder *b, const fp8moe_named_tensor *item, int64_t begin, int64_t end)
{
    put_string(b, item->name);
    put_text(b, ":{\"dtype\":\"");
    put_text(b, fp8moe_dtype_name(item->tensor.dtype));
    put_text(b, "\",\"shape\":[");
    for (int dim = 0; dim < item->tensor.rank; dim++) {
        if (dim) put_text(b, ",");
        put_number(b, item->tensor.shape[dim]);
    }
    put_text(b, "],\"data_offsets\":[");
    put_number(b, begin);
    put_text(b, ",");
    put_number(b, end);
    put_text(b, "]}");
}

static void put_metadata(builder *b, const fp8moe_metadata *metadata, size_t count)
{
    put_string(b, metadata_key);
    put_text(b, ":{");
    for (size_t i = 0; i < count; i++) {
        if (i) put_text(b, ",");
        put_string(b, metadata[i].key);
        put_text(b, ":");
        put_string(b, metadata[i].value);
    }
    put_text(b, "}");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names (or keys) must be UTF-8 and all different. `names` is sorted. */
static fp8moe_status check_texts(const char **names, size_t count, fp8moe_error *err)
{
    if (count) qsort(names, count, sizeof *names, compare_texts);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(names[i]);
        if (text_utf8_check(names[i], size) != size)
            return fail_at(err, FP8MOE_ERR_VALUE, names[i], -1, "the name is not valid UTF-8");
        if (i && strcmp(names[i - 1], names[i]) == 0)
            return fail_at(err, FP8MOE_ERR_VALUE, names[i], -1, "the name is used twice");
    }
    return FP8MOE_OK;
}

static fp8moe_status check_writable(const fp8moe_named_tensor *tensors, size_t count,
                                    const fp8moe_metadata *metadata, size_t metadata_count,
                                    fp8moe_error *err)
{
    const char **texts = calloc(count + metadata_count + 1, sizeof *texts);
    if (!texts) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the names to write");
    fp8moe_status status = FP8MOE_OK;
    for (size_t i = 0; i < count && status == FP8MOE_OK; i++) {
        const fp8moe_dtype dtype = tensors[i].tensor.dtype;
        texts[i] = tensors[i].name;
        if (strcmp(texts[i], metadata_key) == 0)
            status = fail_at(err, FP8MOE_ERR_VALUE, texts[i], -1,
                             "the format keeps this name to itself");
        else if (dtype_of(fp8moe_dtype_name(dtype)) == FP8MOE_DTYPE_NONE)
            status = fail_at(err, FP8MOE_ERR_DTYPE, texts[i], -1, "safetensors has no dtype %s",
                             fp8moe_dtype_name(dtype));
    }
    for (size_t i = 0; i < metadata_count && status == FP8MOE_OK; i++) {
        texts[count + i] = metadata[i].key;
        const size_t size = strlen(metadata[i].value);
        if (text_utf8_check(metadata[i].value, size) != size)
            status = fail(err, FP8MOE_ERR_VALUE,
                          "the metadata value of \"%.100s\" is not valid UTF-8", metadata[i].key);
    }
    if (status == FP8MOE_OK) status = check_texts(texts, count, err);
    if (status == FP8MOE_OK) status = check_texts(texts + count, metadata_count, err);
    free(texts);
    return status;
}

static fp8moe_status build_header(builder *b, const fp8moe_named_tensor *tensors, size_t count,
                                  const fp8moe_metadata *metadata, size_t metadata_count,
                                  fp8moe_error *err)
{
    static const char length_and_brace[] = "01234567{";
    int64_t begin = 0;
    put_text(b, length_and_brace);
    if (metadata_count) put_metadata(b, metadata, metadata_count);
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = 0, end = 0;
        if (!bytes_of(tensors[i].tensor.dtype, fp8moe_tensor_count(&tensors[i].tensor), &bytes) ||
            !checked_add(begin, bytes, &end))
            return fail_at(err, FP8MOE_ERR_VALUE, tensors[i].name, -1,
                           "its size is no number of bytes");
        if (i || metadata_count) put_text(b, ",");
        put_entry(b, &tensors[i], begin, end);
        begin = end;
    }
    put_text(b, "}");
    while (!b->failed && b->size % 8)
        put_text(b, " ");
    if (b->failed) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the header");
    for (int i = 0; i < LENGTH_BYTES; i++)
        b->text[i] = (char)((uint64_t)(b->size - LENGTH_BYTES) >> 8 * i & 0xFF);
    return FP8MOE_OK;
}

static fp8moe_status write_piece(void *context, const void *data, size_t size, fp8moe_error *err)
{
    return file_writer_add(context, data, size, err);
}

static fp8moe_status write_all(file_writer *writer, const builder *header,
                               const fp8moe_named_tensor *tensors, size_t count, fp8moe_error *err)
{
    TRY(file_writer_add(writer, header->text, header->size, err));
    for (size_t i = 0; i < count; i++)
        TRY(error_in_tensor(err, bytes_stream(&tensors[i].tensor, write_piece, writer, err),
                            tensors[i].name));
    return FP8MOE_OK;
}

fp8moe_status fp8moe_safetensors_write(const char *path, const fp8moe_named_tensor *tensors,
                                       size_t count, const fp8moe_metadata *metadata,
                                       size_t metadata_count, fp8moe_error *err)
{
    assert(path && (tensors || !count) && (metadata || !metadata_count));
    builder header = {0};
    file_writer *writer = NULL;
    fp8moe_status status = check_writable(tensors, count, metadata, metadata_count, err);
    if (status == FP8MOE_OK)
        status = build_header(&header, tensors, count, metadata, metadata_count, err);
    if (status == FP8MOE_OK) status = file_writer_open(path, &writer, err);
    if (status == FP8MOE_OK) status = write_all(writer, &header, tensors, count, err);
    const bool keep = status == FP8MOE_OK;
    const fp8moe_status closed = file_writer_close(writer, keep, keep ? err : NULL);
    free(header.text);
    return error_in_file(err, keep ? closed : status, path);
}

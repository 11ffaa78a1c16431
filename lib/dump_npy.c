/* numpy's .npy: a mark, a version, the length of a header, the header (a Python dictionary written
 * out), then the elements. Rules: numpy.lib.format, versions 1.0, 2.0 and 3.0. */
#include "dump_npy.h"

#include "bytes.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

static const char mark[] = "\x93NUMPY";

enum { MARK_BYTES = 6 };

/* The header's text and a place in it. */
typedef struct cursor {
    const char *text;
    int64_t size, at;
    int64_t base; /* offset of text[0] in the file, or -1 */
    const char *name;
    fp8moe_error *err;
} cursor;

/* What the dictionary says. */
typedef struct description {
    fp8moe_dtype dtype;
    bool big_endian;
    bool fortran_order;
    size_t rank;
    int64_t shape[FP8MOE_MAX_RANK];
    int64_t shape_at; /* offset, for sentences */
} description;

static int64_t offset_of(const cursor *c)
{
    return c->base < 0 ? -1 : c->base + c->at;
}

static fp8moe_status bad(const cursor *c, const char *sentence)
{
    return fail_at(c->err, FP8MOE_ERR_FORMAT, c->name, offset_of(c), "%s", sentence);
}

static void skip_space(cursor *c)
{
    while (c->at < c->size && memchr(" \t\n", c->text[c->at], 3))
        c->at++;
}

/* Skip space, then `wanted` if it is there. */
static bool accept(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at >= c->size || c->text[c->at] != wanted) return false;
    c->at++;
    return true;
}

static bool accept_word(cursor *c, const char *word)
{
    const int64_t length = (int64_t)strlen(word);
    skip_space(c);
    if (c->size - c->at < length || memcmp(c->text + c->at, word, (size_t)length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A string in quotes without escapes, as all that numpy writes here. */
static fp8moe_status read_string(cursor *c, char *out, size_t room)
{
    const char quote = accept(c, '\'') ? '\'' : '"';
    if (quote == '"' && !accept(c, '"')) return bad(c, "expected a string in the npy header");
    size_t size = 0;
    for (; c->at < c->size && c->text[c->at] != quote; c->at++) {
        const char byte = c->text[c->at];
        if (byte < ' ' || byte > '~' || byte == '\\' || size + 1 >= room)
            return bad(c, "unexpected character in a string of the npy header");
        out[size++] = byte;
    }
    out[size] = '\0';
    return accept(c, quote) ? FP8MOE_OK : bad(c, "a string of the npy header does not end");
}

/* ---- descr ---- */

static const struct {
    char kind;
    int bytes;
    fp8moe_dtype dtype;
} dtypes[] = {
    {'b', 1, FP8MOE_DTYPE_BOOL}, {'i', 1, FP8MOE_DTYPE_I8},  {'i', 2, FP8MOE_DTYPE_I16},
    {'i', 4, FP8MOE_DTYPE_I32},  {'i', 8, FP8MOE_DTYPE_I64}, {'u', 1, FP8MOE_DTYPE_U8},
    {'u', 2, FP8MOE_DTYPE_U16},  {'u', 4, FP8MOE_DTYPE_U32}, {'u', 8, FP8MOE_DTYPE_U64},
    {'f', 2, FP8MOE_DTYPE_F16},  {'f', 4, FP8MOE_DTYPE_F32}, {'f', 8, FP8MOE_DTYPE_F64},
    {'c', 8, FP8MOE_DTYPE_C64},  {'V', 1, FP8MOE_DTYPE_V8},  {'V', 2, FP8MOE_DTYPE_V16},
};

/* What is legal but not read, with the reason that helps. */
static const struct {
    const char *descr; /* kind, and size where that matters */
    const char *reason;
} refusals[] = {
    {"O", "an object array holds pickled Python objects, which are not read"},
    {"f1",
     "it may be any FP8 type: save the codes as uint8 (array.view(numpy.uint8)) and say which "
     "they are (--as NAME=e4m3fn)"},
    {"S", "an array of byte strings"},
    {"a", "an array of byte strings"},
    {"U", "an array of text"},
    {"M", "an array of dates"},
    {"m", "an array of time spans"},
};

bool npy_dtype(const char *descr, fp8moe_dtype *dtype, bool *big_endian)
{
    const size_t length = strlen(descr);
    int64_t bytes = 0;
    if (length < 3 || !memchr("<>|", descr[0], 3) || !text_to_i64(descr + 2, length - 2, &bytes))
        return false;
    /* '|' says that byte order has no meaning, which is a lie for numbers of several bytes */
    if (descr[0] == '|' && bytes > 1 && descr[1] != 'V') return false;
    for (size_t row = 0; row < sizeof dtypes / sizeof dtypes[0]; row++) {
        if (dtypes[row].kind != descr[1] || dtypes[row].bytes != bytes) continue;
        *dtype = dtypes[row].dtype;
        *big_endian = descr[0] == '>';
        return true;
    }
    return false;
}

static fp8moe_status refuse_descr(const cursor *c, const char *descr)
{
    const char *const kind = descr[0] ? descr + 1 : descr;
    for (size_t row = 0; row < sizeof refusals / sizeof refusals[0]; row++)
        if (strncmp(kind, refusals[row].descr, strlen(refusals[row].descr)) == 0 &&
            (refusals[row].descr[1] == '\0' || kind[2] == '\0'))
            return fail_at(c->err, FP8MOE_ERR_UNSUPPORTED, c->name, offset_of(c), "dtype '%s': %s",
                           descr, refusals[row].reason);
    return fail_at(c->err, FP8MOE_ERR_UNSUPPORTED, c->name, offset_of(c), "dtype '%s' is not read",
                   descr);
}

static fp8moe_status read_descr(cursor *c, description *out)
{
    char descr[64];
    skip_space(c);
    if (c->at < c->size && memchr("[(", c->text[c->at], 2))
        return fail_at(c->err, FP8MOE_ERR_UNSUPPORTED, c->name, offset_of(c),
                       "a structured array: only arrays of one number type are read");
    TRY(read_string(c, descr, sizeof descr));
    return npy_dtype(descr, &out->dtype, &out->big_endian) ? FP8MOE_OK : refuse_descr(c, descr);
}

/* ---- fortran_order and shape ---- */

static fp8moe_status read_order(cursor *c, description *out)
{
    out->fortran_order = accept_word(c, "True");
    if (out->fortran_order || accept_word(c, "False")) return FP8MOE_OK;
    return bad(c, "fortran_order must be True or False");
}

static fp8moe_status read_dimension(cursor *c, int64_t *out)
{
    skip_space(c);
    const int64_t start = c->at;
    while (c->at < c->size && c->text[c->at] >= '0' && c->text[c->at] <= '9')
        c->at++;
    if (c->at == start) return bad(c, "the shape must be a tuple of whole numbers");
    if (!text_to_i64(c->text + start, (size_t)(c->at - start), out))
        return bad(c, "a dimension of the shape is beyond 2^63-1");
    (void)accept_word(c, "L"); /* of a Python 2 integer */
    return FP8MOE_OK;
}

static fp8moe_status read_shape(cursor *c, description *out)
{
    bool comma = true;
    skip_space(c);
    out->shape_at = offset_of(c);
    if (!accept(c, '(')) return bad(c, "the shape must be a tuple of whole numbers");
    while (!accept(c, ')')) {
        int64_t dimension = 0;
        if (!comma) return bad(c, "expected ',' or ')' in the shape");
        TRY(read_dimension(c, &dimension));
        if (out->rank < FP8MOE_MAX_RANK) out->shape[out->rank] = dimension;
        out->rank++;
        comma = accept(c, ',');
    }
    if (out->rank == 1 && !comma)
        return bad(c, "the shape is no tuple: (6) is a number, (6,) is one");
    return FP8MOE_OK;
}

/* ---- the dictionary ---- */

static const struct {
    const char *key;
    fp8moe_status (*read)(cursor *c, description *out);
} fields[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static fp8moe_status read_pair(cursor *c, bool seen[FIELD_COUNT], description *out)
{
    char key[64];
    TRY(read_string(c, key, sizeof key));
    for (size_t field = 0; field < FIELD_COUNT; field++) {
        if (strcmp(key, fields[field].key) != 0) continue;
        if (seen[field]) return bad(c, "a key appears twice in the npy header");
        seen[field] = true;
        if (!accept(c, ':')) return bad(c, "expected ':' in the npy header");
        return fields[field].read(c, out);
    }
    return fail_at(c->err, FP8MOE_ERR_FORMAT, c->name, offset_of(c),
                   "unknown key '%s' in the npy header", key);
}

static fp8moe_status read_dictionary(cursor *c, description *out)
{
    bool seen[FIELD_COUNT] = {false}, comma = true;
    if (!accept(c, '{')) return bad(c, "the npy header is no dictionary");
    while (!accept(c, '}')) {
        if (!comma) return bad(c, "expected ',' or '}' in the npy header");
        TRY(read_pair(c, seen, out));
        comma = accept(c, ',');
    }
    for (size_t field = 0; field < FIELD_COUNT; field++)
        if (!seen[field])
            return fail_at(c->err, FP8MOE_ERR_FORMAT, c->name, c->base, "the npy header has no %s",
                           fields[field].key);
    skip_space(c);
    return c->at == c->size ? FP8MOE_OK
                            : bad(c, "something follows the dictionary of the npy header");
}

/* ---- the file ---- */

bool npy_probe(const uint8_t *data, int64_t size)
{
    return size >= MARK_BYTES && memcmp(data, mark, MARK_BYTES) == 0;
}

/* Where the header's text stands. */
static fp8moe_status find_text(const uint8_t *data, int64_t size, cursor *c)
{
    if (!npy_probe(data, size)) return bad(c, "is no npy file: it lacks numpy's mark");
    if (size < NPY_PREFIX_BYTES) return bad(c, "the npy header is truncated");
    const int major = data[6], minor = data[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail_at(c->err, FP8MOE_ERR_UNSUPPORTED, c->name, c->base < 0 ? -1 : c->base + 6,
                       "version %d.%d of the npy format, only 1.0, 2.0 and 3.0 are read", major,
                       minor);
    const int64_t start = major == 1 ? 10 : 12;
    const int64_t length = major == 1 ? load_le16(data + 8) : load_le32(data + 8);
    c->at = 8;
    if (length > LIMIT_NPY_HEADER_BYTES)
        return fail_at(c->err, FP8MOE_ERR_FORMAT, c->name, offset_of(c),
                       "npy header of %" PRId64 " bytes, at most %d are read", length,
                       LIMIT_NPY_HEADER_BYTES);
    if (length > size - start) return bad(c, "the npy header is truncated");
    c->text = (const char *)data + start;
    c->size = length;
    c->base = c->base < 0 ? -1 : c->base + start;
    c->at = 0;
    return FP8MOE_OK;
}

void npy_use_fortran_order(fp8moe_tensor *tensor)
{
    int64_t stride = 1;
    for (int dim = 0; dim < tensor->rank; dim++) {
        tensor->stride[dim] = stride;
        stride *= max_i64(tensor->shape[dim], 1);
    }
}

fp8moe_status npy_read_header(const uint8_t *data, int64_t size, int64_t total, int64_t base,
                              dump_entry *entry, fp8moe_error *err)
{
    cursor c = {.base = base, .name = entry->name, .err = err};
    description d = {.dtype = FP8MOE_DTYPE_NONE};
    int64_t bytes = 0;
    TRY(find_text(data, size, &c));
    TRY(read_dictionary(&c, &d));
    TRY(dump_shape(entry->name, d.dtype, d.rank, d.shape, d.shape_at, &entry->tensor, &bytes, err));
    entry->tensor.swapped = d.big_endian != host_is_big_endian();
    if (d.fortran_order) npy_use_fortran_order(&entry->tensor);
    entry->packed_at = (const uint8_t *)c.text - data + c.size;
    const int64_t available = total - entry->packed_at;
    if (bytes > available)
        return fail_at(err, FP8MOE_ERR_FORMAT, entry->name, base < 0 ? -1 : base + total,
                       "truncated: needs %" PRId64 " data bytes, has %" PRId64, bytes, available);
    if (bytes < available)
        return fail_at(err, FP8MOE_ERR_FORMAT, entry->name,
                       base < 0 ? -1 : base + entry->packed_at + bytes,
                       "%" PRId64 " bytes follow the array", available - bytes);
    return FP8MOE_OK;
}

static probe_result probe(const file_view *file)
{
    return npy_probe(file->data, file->size) ? PROBE_SURE : PROBE_NO;
}

static fp8moe_status open_file(fp8moe_dump *dump, fp8moe_error *err)
{
    const file_view *const file = &dump->file;
    dump_entry entry = {.name = dump_stem(dump)};
    if (!entry.name) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the array's name");
    TRY(npy_read_header(file->data, file->size, file->size, 0, &entry, err));
    entry.offset = entry.packed_at;
    entry.tensor.data = file->data + entry.packed_at;
    return dump_add(dump, &entry, err);
}

const dump_format dump_npy = {.name = "npy", .probe = probe, .open = open_file};

/* safetensors: what is read, cases H01 to H12 of the case list, and that what is written is read
 * again and is laid out as the format says. Broken files: test_hostile.c. */
#include "bytes.h"
#include "dump_checks.h"
#include "file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/fp8moe-test-XXXXXX";
static char path[sizeof folder + 32];

/* A file of `header` (its length put before it) and data. */
static void make_file(const char *header, const void *data, size_t size)
{
    const size_t length = strlen(header);
    uint8_t prefix[8] = {(uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16),
                         (uint8_t)(length >> 24)};
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(prefix, 1, 8, file) + fwrite(header, 1, length, file), 8 + length);
    if (size) assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static fp8moe_dump *open_file(void)
{
    return open_ok(path, "safetensors");
}

/* ---- the case list ---- */

static void test_case_h01(void **state)
{
    static const double codes[] = {1, 2, 0.5, -1}, scale[] = {0.5};
    fp8moe_dump *const dump = open_case("H01.safetensors", "safetensors");
    (void)state;
    if (!dump) skip();
    assert_int_equal(fp8moe_dump_count(dump), 2);
    const fp8moe_tensor w = tensor_named(dump, "w"), s = tensor_named(dump, "w_scale_inv");
    assert_int_equal(w.dtype, FP8MOE_DTYPE_F8_E4M3);
    assert_int_equal(w.rank, 2);
    expect_values(&w, codes, 4);
    expect_values(&s, scale, 1);
    assert_int_equal(fp8moe_dump_metadata_count(dump), 1);
    assert_string_equal(fp8moe_dump_metadata_get(dump, "format"), "pt");
    assert_string_equal(fp8moe_dump_metadata_key(dump, 0), "format");
    assert_string_equal(fp8moe_dump_metadata_value(dump, 0), "pt");
    assert_null(fp8moe_dump_metadata_get(dump, "other"));
    assert_int_equal(fp8moe_dump_find(dump, "__metadata__"), -1);
    fp8moe_dump_close(dump);
}

static void test_case_h12e(void **state)
{
    static const double fnuz[] = {0.5, 1, 0.25, -0.5}; /* codes 38 40 30 B8 with bias 8 */
    fp8moe_dump *const dump = open_case("H12e.safetensors", "safetensors");
    (void)state;
    if (!dump) skip();
    const fp8moe_tensor w = tensor_named(dump, "w");
    assert_int_equal(w.dtype, FP8MOE_DTYPE_F8_E4M3FNUZ);
    expect_values(&w, fnuz, 4);
    fp8moe_dump_close(dump);
}

static void test_cases_refused(void **state)
{
    static const struct {
        const char *file, *tensor, *sentence;
        int64_t offset;
    } rows[] = {
        {"H03a", "v", "its bytes from 0 on overlap those of \"k\", which end at 4", 116},
        {"H03b", "v", "its bytes from 2 on overlap those of \"k\", which end at 4", 116},
        {"H05", "", "the key \"w\" appears twice in one object", 66},
        {"H07a", "t", "data_offsets span 4 bytes, F32 of shape [1000, 1000] takes 4000000", 63},
        {"H07b", "t", "the shape's size in bits does not fit 64 bits", 36},
        {"H07c", "t", "data_offsets end at 0 before they begin at 4", 55},
        {"H09", "", "truncated: needs 32 data bytes, has 24", 144},
        {"H12a", "w", "data_offsets holds -4", 60},
        {"H12b", "w", "data_offsets holds a number that is no whole number below 2^63", 62},
        {"H12c", "w", "shape holds a number that is no whole number below 2^63", 41},
        {"H12d", "", "__metadata__ value of \"n\" must be a string, is a whole number", 29},
        {"H12f", "w", "unknown dtype \"F9_X\"", 22},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char relative[64], name[512];
        fp8moe_dump *dump = NULL;
        fp8moe_error err;
        (void)snprintf(relative, sizeof relative, "cases/files/%s.safetensors", rows[i].file);
        if (!shared_path(name, sizeof name, relative)) skip();
        assert_int_equal(fp8moe_dump_open(name, &dump, &err), FP8MOE_ERR_FORMAT);
        assert_null(dump);
        assert_string_equal(err.message, rows[i].sentence);
        assert_string_equal(err.tensor, rows[i].tensor);
        assert_string_equal(err.file, name);
        assert_int_equal(err.offset, rows[i].offset);
    }
}

/* ---- layouts that are legal ---- */

static void test_no_tensors(void **state)
{
    (void)state;
    make_file("{}", NULL, 0);
    fp8moe_dump *const dump = open_file();
    assert_int_equal(fp8moe_dump_count(dump), 0);
    assert_int_equal(fp8moe_dump_find(dump, "x"), -1);
    assert_int_equal(fp8moe_dump_metadata_count(dump), 0);
    fp8moe_dump_close(dump);
}

/* Order of the header, not of the data; empty tensors and scalars; keys the format does not know.
 */
static void test_legal_layouts(void **state)
{
    static const double seven[] = {7}, pair[] = {1, 2};
    static const uint8_t data[5] = {1, 2, 7, 0, 0};
    (void)state;
    make_file("{\"s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[2,3],\"note\":[1.5,{}]},"
              "\"e\":{\"dtype\":\"F64\",\"shape\":[0,4],\"data_offsets\":[2,2]},"
              "\"p\":{\"shape\":[1,2,1],\"data_offsets\":[0,2],\"dtype\":\"I8\"},"
              "\"\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[3,5]}}   ",
              data, sizeof data);
    fp8moe_dump *const dump = open_file();
    assert_int_equal(fp8moe_dump_count(dump), 4);
    assert_string_equal(fp8moe_dump_name(dump, 0), "s");
    assert_string_equal(fp8moe_dump_name(dump, 2), "p");
    assert_int_equal(fp8moe_dump_find(dump, ""), 3);
    const fp8moe_tensor s = tensor_named(dump, "s"), e = tensor_named(dump, "e");
    const fp8moe_tensor p = tensor_named(dump, "p");
    assert_int_equal(s.rank, 0);
    expect_values(&s, seven, 1);
    assert_true(fp8moe_tensor_present(&e));
    assert_int_equal(fp8moe_tensor_count(&e), 0);
    expect_values(&p, pair, 2);
    assert_int_equal(fp8moe_dump_offset(dump, 2) + 2, fp8moe_dump_offset(dump, 0));
    assert_true(fp8moe_dump_owns(dump, s.data));
    assert_false(fp8moe_dump_owns(dump, data));
    const int64_t file_size = fp8moe_dump_offset(dump, 3) + 2;
    const uint8_t *const start = (const uint8_t *)s.data - fp8moe_dump_offset(dump, 0);
    assert_true(fp8moe_dump_owns(dump, start));
    assert_true(fp8moe_dump_owns(dump, start + file_size - 1));
    assert_false(fp8moe_dump_owns(dump, start + file_size));
    fp8moe_dump_close(dump);
}

/* Every dtype of the format is listed, those below 8 bits with their packed size. */
static void test_every_dtype(void **state)
{
    static const struct {
        const char *name;
        fp8moe_dtype dtype;
        int bits;
    } rows[] = {
        {"BOOL", FP8MOE_DTYPE_BOOL, 8},
        {"F4", FP8MOE_DTYPE_F4, 4},
        {"F6_E2M3", FP8MOE_DTYPE_F6_E2M3, 6},
        {"F6_E3M2", FP8MOE_DTYPE_F6_E3M2, 6},
        {"U8", FP8MOE_DTYPE_U8, 8},
        {"I8", FP8MOE_DTYPE_I8, 8},
        {"F8_E5M2", FP8MOE_DTYPE_F8_E5M2, 8},
        {"F8_E4M3", FP8MOE_DTYPE_F8_E4M3, 8},
        {"F8_E8M0", FP8MOE_DTYPE_F8_E8M0, 8},
        {"F8_E4M3FNUZ", FP8MOE_DTYPE_F8_E4M3FNUZ, 8},
        {"F8_E5M2FNUZ", FP8MOE_DTYPE_F8_E5M2FNUZ, 8},
        {"I16", FP8MOE_DTYPE_I16, 16},
        {"U16", FP8MOE_DTYPE_U16, 16},
        {"F16", FP8MOE_DTYPE_F16, 16},
        {"BF16", FP8MOE_DTYPE_BF16, 16},
        {"I32", FP8MOE_DTYPE_I32, 32},
        {"U32", FP8MOE_DTYPE_U32, 32},
        {"F32", FP8MOE_DTYPE_F32, 32},
        {"C64", FP8MOE_DTYPE_C64, 64},
        {"F64", FP8MOE_DTYPE_F64, 64},
        {"I64", FP8MOE_DTYPE_I64, 64},
        {"U64", FP8MOE_DTYPE_U64, 64},
    };
    static const uint8_t data[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char header[128];
        (void)snprintf(header, sizeof header,
                       "{\"x\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%d]}}",
                       rows[i].name, rows[i].bits);
        make_file(header, data, (size_t)rows[i].bits);
        fp8moe_dump *const dump = open_file();
        assert_int_equal(fp8moe_dump_info(dump, 0).dtype, rows[i].dtype);
        assert_string_equal(fp8moe_dtype_name(rows[i].dtype), rows[i].name);
        fp8moe_dump_close(dump);
    }
}

/* Header lengths whose bytes are the start of a pickle of every protocol, of npy, of a zip. */
static void test_lengths_like_other_formats(void **state)
{
    static const char entry[] = "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    static const uint32_t lengths[] = {0x280,  0x380,  0x480,  0x580,
                                       0x8280, 0x4E93, 0x4B50, 0x04034B50};
    static const double seven[] = {7};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char *const header = calloc(1, (size_t)lengths[i] + 1);
        memset(header, ' ', lengths[i]);
        memcpy(header, entry, sizeof entry - 1);
        make_file(header, "\7", 1);
        free(header);
        fp8moe_dump *const dump = open_file();
        const fp8moe_tensor w = tensor_named(dump, "w");
        expect_values(&w, seven, 1);
        fp8moe_dump_close(dump);
    }
}

static void test_unaligned_numbers(void **state)
{
    static const double want[] = {1, -2};
    static const uint8_t data[9] = {0x55, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0};
    (void)state;
    for (int pad = 0; pad < 4; pad++) {
        char header[160];
        (void)snprintf(
            header, sizeof header,
            "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":"
            "\"F32\",\"shape\":[2],\"data_offsets\":[1,9]}}%.*s",
            pad, "   ");
        make_file(header, data, sizeof data);
        fp8moe_dump *const dump = open_file();
        const fp8moe_tensor b = tensor_named(dump, "b");
        expect_values(&b, want, 2);
        fp8moe_dump_close(dump);
    }
}

/* A sparse file of 9 GiB: offsets and element numbers beyond 2^31 and 2^32. */
static void test_beyond_32_bits(void **state)
{
    const int64_t count = INT64_C(9) << 30;
    static const double codes[] = {0, 1, 448}, last[] = {-2.5};
    char header[160];
    (void)state;
    (void)snprintf(header, sizeof header,
                   "{\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[3,%lld],\"data_offsets\":[0,%lld]},"
                   "\"z\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%lld,%lld]}}",
                   (long long)count / 3, (long long)count, (long long)count, (long long)count + 4);
    make_file(header, NULL, 0);
    const int64_t start = 8 + (int64_t)strlen(header);
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    if (ftruncate(fd, start + count + 4) != 0) skip(); /* no sparse files here */
    assert_int_equal(pwrite(fd, "\x38\x7E", 2, start + count - 2), 2);
    assert_int_equal(pwrite(fd, "\x00\x00\x20\xC0", 4, start + count), 4);
    (void)close(fd);
    fp8moe_dump *const dump = open_file();
    const fp8moe_tensor w = tensor_named(dump, "w"), z = tensor_named(dump, "z");
    double got[3];
    fp8moe_tensor_read_f64(&w, count - 3, 3, got);
    assert_memory_equal(got, codes, sizeof got);
    const fp8moe_tensor row = fp8moe_tensor_at(&w, 2);
    fp8moe_tensor_read_f64(&row, count / 3 - 3, 3, got);
    assert_memory_equal(got, codes, sizeof got);
    expect_values(&z, last, 1);
    assert_int_equal(fp8moe_dump_offset(dump, 1), start + count);
    fp8moe_dump_close(dump);
    assert_int_equal(unlink(path), 0);
}

/* A header of `count` items "k<number>": suffix, between `open` and `close`. */
static void expect_too_many(const char *open, const char *suffix, const char *close, int count,
                            const char *sentence)
{
    const size_t room = (size_t)count * (strlen(suffix) + 16) + 64;
    char *const header = malloc(room), *at = header + sprintf(header, "%s", open);
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s\"k%d\":%s", i ? "," : "", i, suffix);
    at += sprintf(at, "%s", close);
    const size_t length = (size_t)(at - header);
    uint8_t prefix[8] = {0};
    for (int i = 0; i < 8; i++)
        prefix[i] = (uint8_t)((uint64_t)length >> 8 * i);
    FILE *const file = fopen(path, "wb");
    assert_int_equal(fwrite(prefix, 1, 8, file) + fwrite(header, 1, length, file), 8 + length);
    assert_int_equal(fclose(file), 0);
    free(header);
    assert_int_equal(fp8moe_dump_open(path, &dump, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, sentence);
}

static void test_too_many(void **state)
{
    (void)state;
    expect_too_many("{", "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", "}", 300001,
                    "more than 300000 tensors in one file");
    expect_too_many("{\"__metadata__\":{", "\"\"", "}}", 100001,
                    "more than 100000 metadata pairs in one file");
}

static void test_other_dtype_of_same_width(void **state)
{
    static const double codes[] = {56, 126}, numbers[] = {1, 448};
    fp8moe_error err;
    (void)state;
    make_file("{\"w\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
              "\"f\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[2,4]}}",
              "\x38\x7E\0\0", 4);
    fp8moe_dump *const dump = open_file();
    fp8moe_tensor w = tensor_named(dump, "w");
    expect_values(&w, codes, 2);
    assert_int_equal(fp8moe_dump_set_dtype(dump, 0, FP8MOE_DTYPE_F8_E4M3, &err), FP8MOE_OK);
    w = tensor_named(dump, "w");
    assert_int_equal(w.dtype, FP8MOE_DTYPE_F8_E4M3);
    expect_values(&w, numbers, 2);
    assert_int_equal(fp8moe_dump_set_dtype(dump, 0, FP8MOE_DTYPE_BF16, &err), FP8MOE_ERR_DTYPE);
    assert_int_equal(fp8moe_dump_set_dtype(dump, 1, FP8MOE_DTYPE_BF16, &err), FP8MOE_ERR_DTYPE);
    assert_string_equal(err.message, "F16 cannot be read as BF16: only 8- and 16-bit integers and "
                                     "untyped bytes can, as a type of the same width");
    assert_string_equal(err.tensor, "f");
    assert_string_equal(err.file, path);
    assert_int_equal(fp8moe_dump_set_dtype(dump, 1, FP8MOE_DTYPE_F16, &err), FP8MOE_OK);
    fp8moe_dump_close(dump);
}

/* ---- writing ---- */

/* Long enough for a header length of two bytes. */
#define LONG_TEXT                                                                                  \
    "\xC3\xA9 "                                                                                    \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"  \
    " 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"

static void test_written_bytes(void **state)
{
    static const uint8_t codes[6] = {1, 2, 3, 4, 5, 6};
    static const uint8_t f16_little[4] = {0x00, 0x3C, 0x00, 0xC0}; /* 1, -2 */
    static const int64_t shape[2] = {2, 3}, two[1] = {2};
    static const char header[] =
        "{\"__metadata__\":{\"a\\\"\\\\\":\"x\\u000ay\",\"z\":\"" LONG_TEXT "\"},"
        "\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[3,2],\"data_offsets\":[0,6]},"
        "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[6,10]}}";
    const fp8moe_metadata metadata[] = {{"a\"\\", "x\ny"}, {"z", LONG_TEXT}};
    fp8moe_named_tensor items[2] = {
        {"w", fp8moe_tensor_view(codes, FP8MOE_DTYPE_F8_E4M3, 2, shape)},
        {"b", fp8moe_tensor_view(f16_little, FP8MOE_DTYPE_F16, 1, two)}};
    fp8moe_tensor *const w = &items[0].tensor;
    (void)state;
    w->shape[0] = 3; /* transposed: written in C order */
    w->shape[1] = 2;
    w->stride[0] = 1;
    w->stride[1] = 3;
    items[1].tensor.swapped = host_is_big_endian();
    assert_int_equal(fp8moe_safetensors_write(path, items, 2, metadata, 2, NULL), FP8MOE_OK);

    file_view view = {0};
    assert_int_equal(file_open(path, &view, NULL), FP8MOE_OK);
    const uint64_t length = load_le64(view.data);
    assert_int_equal(length % 8, 0);
    assert_true(length >= strlen(header) && length < strlen(header) + 8);
    assert_memory_equal(view.data + 8, header, strlen(header));
    for (size_t i = strlen(header); i < length; i++)
        assert_int_equal(view.data[8 + i], ' ');
    assert_int_equal(view.size, 8 + length + 10);
    assert_memory_equal(view.data + 8 + length, "\1\4\2\5\3\6\x00\x3C\x00\xC0", 10);
    file_close(&view);
}

static void test_written_is_read(void **state)
{
    static const uint8_t byte[1] = {9};
    static const int64_t none[2] = {0, 5};
    static const double nine[] = {9};
    const fp8moe_metadata metadata[] = {{"\xC3\xA9", "v\x01\xF0\x9D\x84\x9E"}};
    const fp8moe_named_tensor items[] = {
        {"empty", fp8moe_tensor_view(byte, FP8MOE_DTYPE_BF16, 2, none)},
        {"scalar", fp8moe_tensor_view(byte, FP8MOE_DTYPE_U8, 0, NULL)},
    };
    (void)state;
    assert_int_equal(fp8moe_safetensors_write(path, items, 2, metadata, 1, NULL), FP8MOE_OK);
    fp8moe_dump *dump = open_file();
    assert_string_equal(fp8moe_dump_metadata_get(dump, "\xC3\xA9"), "v\x01\xF0\x9D\x84\x9E");
    assert_int_equal(fp8moe_dump_count(dump), 2);
    const fp8moe_tensor scalar = tensor_named(dump, "scalar");
    expect_values(&scalar, nine, 1);
    assert_int_equal(fp8moe_dump_info(dump, 0).shape[1], 5);
    fp8moe_dump_close(dump);
    assert_int_equal(fp8moe_safetensors_write(path, NULL, 0, NULL, 0, NULL), FP8MOE_OK);
    dump = open_file();
    assert_int_equal(fp8moe_dump_count(dump), 0);
    fp8moe_dump_close(dump);
}

/* Reading a file while it is replaced by its own content in another order. */
static void test_overwrite_what_is_open(void **state)
{
    static const double first[] = {1}, second[] = {2};
    (void)state;
    make_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
              "\1\2", 2);
    fp8moe_dump *const dump = open_file();
    const fp8moe_named_tensor items[] = {{"b", tensor_named(dump, "b")},
                                         {"a", tensor_named(dump, "a")}};
    assert_int_equal(fp8moe_safetensors_write(path, items, 2, NULL, 0, NULL), FP8MOE_OK);
    fp8moe_dump *const again = open_file();
    const fp8moe_tensor a = tensor_named(again, "a"), b = tensor_named(again, "b");
    assert_string_equal(fp8moe_dump_name(again, 0), "b");
    expect_values(&a, first, 1);
    expect_values(&b, second, 1);
    fp8moe_dump_close(again);
    fp8moe_dump_close(dump);
}

static void test_write_refusals(void **state)
{
    static const uint8_t byte[4] = {0};
    static const int64_t one[1] = {1}, three[1] = {3}, grid[2] = {2, 2};
    const fp8moe_tensor good = fp8moe_tensor_view(byte, FP8MOE_DTYPE_U8, 1, one);
    fp8moe_tensor across = fp8moe_tensor_view(byte, FP8MOE_DTYPE_F4, 2, grid);
    across.stride[0] = 1;
    across.stride[1] = 2;
    const struct {
        fp8moe_named_tensor items[2];
        fp8moe_metadata metadata;
        fp8moe_status status;
        const char *tensor, *sentence;
    } rows[] = {
        {{{"a", good}, {"a", good}}, {"k", "v"}, FP8MOE_ERR_VALUE, "a", "the name is used twice"},
        {{{"__metadata__", good}, {"a", good}},
         {"k", "v"},
         FP8MOE_ERR_VALUE,
         "__metadata__",
         "the format keeps this name to itself"},
        {{{"\xFF", good}, {"a", good}},
         {"k", "v"},
         FP8MOE_ERR_VALUE,
         "\xFF",
         "the name is not valid UTF-8"},
        {{{"a", good}, {"b", good}},
         {"\xFF", "v"},
         FP8MOE_ERR_VALUE,
         "\xFF",
         "the name is not valid UTF-8"},
        {{{"a", good}, {"b", good}},
         {"k", "\xFF"},
         FP8MOE_ERR_VALUE,
         "",
         "the metadata value of \"k\" is not valid UTF-8"},
        {{{"a", good}, {"b", fp8moe_tensor_view(byte, FP8MOE_DTYPE_V8, 1, one)}},
         {"k", "v"},
         FP8MOE_ERR_DTYPE,
         "b",
         "safetensors has no dtype V8"},
        {{{"a", good}, {"b", fp8moe_tensor_view(byte, FP8MOE_DTYPE_F4, 1, three)}},
         {"k", "v"},
         FP8MOE_ERR_VALUE,
         "b",
         "its size is no number of bytes"},
        {{{"a", good}, {"b", across}},
         {"k", "v"},
         FP8MOE_ERR_DTYPE,
         "b",
         "elements of F4 can be copied only as a whole"},
    };
    (void)state;
    assert_int_equal(fp8moe_file_write(path, "old", 3, NULL), FP8MOE_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fp8moe_error err;
        assert_int_equal(
            fp8moe_safetensors_write(path, rows[i].items, 2, &rows[i].metadata, 1, &err),
            rows[i].status);
        assert_string_equal(err.message, rows[i].sentence);
        assert_string_equal(err.tensor, rows[i].tensor);
        assert_string_equal(err.file, path);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_size, 3); /* untouched */
    }
}

/* A disk that is full after the header, played by a limit on file sizes: reported with the tensor,
 * whether its elements are copied as a block or piece by piece. */
static void test_full_disk(void **state)
{
    static const float numbers[4096] = {1, 2};
    static const int64_t shape[2] = {64, 64};
    const struct rlimit small = {4096, RLIM_INFINITY};
    struct rlimit before;
    fp8moe_named_tensor item = {"w", fp8moe_tensor_view(numbers, FP8MOE_DTYPE_F32, 2, shape)};
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int strided = 0; strided < 2; strided++) {
        fp8moe_error err;
        item.tensor.stride[0] = strided ? 1 : 64;
        item.tensor.stride[1] = strided ? 64 : 1;
        (void)unlink(path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const fp8moe_status status = fp8moe_safetensors_write(path, &item, 1, NULL, 0, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, FP8MOE_ERR_IO);
        assert_string_equal(err.tensor, "w");
        assert_string_equal(err.file, path);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    (void)signal(SIGXFSZ, handler);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(path, sizeof path, "%s/x.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_case_h01),
        cmocka_unit_test(test_case_h12e),
        cmocka_unit_test(test_cases_refused),
        cmocka_unit_test(test_no_tensors),
        cmocka_unit_test(test_legal_layouts),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_lengths_like_other_formats),
        cmocka_unit_test(test_unaligned_numbers),
        cmocka_unit_test(test_beyond_32_bits),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_other_dtype_of_same_width),
        cmocka_unit_test(test_written_bytes),
        cmocka_unit_test(test_written_is_read),
        cmocka_unit_test(test_overwrite_what_is_open),
        cmocka_unit_test(test_write_refusals),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

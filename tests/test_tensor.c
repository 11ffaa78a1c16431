/* Views: shapes, strides, byte order and every dtype's values. */
#include "bits.h"
#include "slow_model.h"

#include <fp8moe/tensor.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static fp8moe_tensor view2(const void *data, fp8moe_dtype dtype, int64_t rows, int64_t columns)
{
    return fp8moe_tensor_view(data, dtype, 2, SHAPE(rows, columns));
}

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : f64_bits(a) == f64_bits(b);
}

/* ---- names ---- */

static void dtypes_have_the_names_and_sizes_of_safetensors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        fp8moe_dtype dtype;
        int bits;
        bool numeric;
    } rows[] = {
        {"BOOL", FP8MOE_DTYPE_BOOL, 8, true},
        {"U8", FP8MOE_DTYPE_U8, 8, true},
        {"I8", FP8MOE_DTYPE_I8, 8, true},
        {"U16", FP8MOE_DTYPE_U16, 16, true},
        {"I16", FP8MOE_DTYPE_I16, 16, true},
        {"U32", FP8MOE_DTYPE_U32, 32, true},
        {"I32", FP8MOE_DTYPE_I32, 32, true},
        {"U64", FP8MOE_DTYPE_U64, 64, true},
        {"I64", FP8MOE_DTYPE_I64, 64, true},
        {"F8_E4M3", FP8MOE_DTYPE_F8_E4M3, 8, true},
        {"F8_E4M3FNUZ", FP8MOE_DTYPE_F8_E4M3FNUZ, 8, true},
        {"F8_E5M2", FP8MOE_DTYPE_F8_E5M2, 8, true},
        {"F8_E5M2FNUZ", FP8MOE_DTYPE_F8_E5M2FNUZ, 8, false},
        {"F8_E8M0", FP8MOE_DTYPE_F8_E8M0, 8, true},
        {"BF16", FP8MOE_DTYPE_BF16, 16, true},
        {"F16", FP8MOE_DTYPE_F16, 16, true},
        {"F32", FP8MOE_DTYPE_F32, 32, true},
        {"F64", FP8MOE_DTYPE_F64, 64, true},
        {"F4", FP8MOE_DTYPE_F4, 4, false},
        {"F6_E2M3", FP8MOE_DTYPE_F6_E2M3, 6, false},
        {"F6_E3M2", FP8MOE_DTYPE_F6_E3M2, 6, false},
        {"C64", FP8MOE_DTYPE_C64, 64, false},
        {"V8", FP8MOE_DTYPE_V8, 8, false},
        {"V16", FP8MOE_DTYPE_V16, 16, false},
    };
    assert_int_equal(COUNT(rows), FP8MOE_DTYPE_COUNT - 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(fp8moe_dtype_name(rows[i].dtype), rows[i].name);
        assert_int_equal(fp8moe_dtype_from_name(rows[i].name), rows[i].dtype);
        assert_int_equal(fp8moe_dtype_bits(rows[i].dtype), rows[i].bits);
        assert_true(fp8moe_dtype_is_numeric(rows[i].dtype) == rows[i].numeric);
    }
    assert_int_equal(fp8moe_dtype_bits(FP8MOE_DTYPE_NONE), 0);
    assert_false(fp8moe_dtype_is_numeric(FP8MOE_DTYPE_NONE));
    assert_non_null(fp8moe_dtype_name((fp8moe_dtype)99));
    assert_non_null(fp8moe_dtype_name((fp8moe_dtype)-1));
}

static void users_spellings_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        fp8moe_dtype dtype;
    } rows[] = {
        {"e4m3fn", FP8MOE_DTYPE_F8_E4M3},
        {"float8_e4m3fn", FP8MOE_DTYPE_F8_E4M3},
        {"e4m3fnuz", FP8MOE_DTYPE_F8_E4M3FNUZ},
        {"e5m2", FP8MOE_DTYPE_F8_E5M2},
        {"float8_e5m2", FP8MOE_DTYPE_F8_E5M2},
        {"float8_e8m0fnu", FP8MOE_DTYPE_F8_E8M0},
        {"bf16", FP8MOE_DTYPE_BF16},
        {"bfloat16", FP8MOE_DTYPE_BF16},
        {"BFloat16", FP8MOE_DTYPE_BF16},
        {"f16", FP8MOE_DTYPE_F16},
        {"half", FP8MOE_DTYPE_F16},
        {"f32", FP8MOE_DTYPE_F32},
        {"float32", FP8MOE_DTYPE_F32},
        {"float64", FP8MOE_DTYPE_F64},
        {"uint8", FP8MOE_DTYPE_U8},
        {"int64", FP8MOE_DTYPE_I64},
        {"bool", FP8MOE_DTYPE_BOOL},
        {"", FP8MOE_DTYPE_NONE},
        {"none", FP8MOE_DTYPE_NONE},
        {"bf1", FP8MOE_DTYPE_NONE},
        {"bf160", FP8MOE_DTYPE_NONE},
        {"fp8", FP8MOE_DTYPE_NONE},
        {" f32", FP8MOE_DTYPE_NONE},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(fp8moe_dtype_from_name(rows[i].name), rows[i].dtype);
}

/* ---- values ---- */

/* Each row: stored bytes in little-endian order and the number they are. */
static const struct {
    fp8moe_dtype dtype;
    unsigned char bytes[8];
    double value;
} elements[] = {
    {FP8MOE_DTYPE_BOOL, {0}, 0},
    {FP8MOE_DTYPE_BOOL, {1}, 1},
    {FP8MOE_DTYPE_BOOL, {0xFF}, 1},
    {FP8MOE_DTYPE_U8, {200}, 200},
    {FP8MOE_DTYPE_I8, {200}, -56},
    {FP8MOE_DTYPE_U16, {0x34, 0xF2}, 0xF234},
    {FP8MOE_DTYPE_I16, {0x34, 0xF2}, 0xF234 - 0x10000},
    {FP8MOE_DTYPE_U32, {0x78, 0x56, 0x34, 0xF2}, 0xF2345678},
    {FP8MOE_DTYPE_I32, {0x78, 0x56, 0x34, 0xF2}, 0xF2345678 - 4294967296.0},
    {FP8MOE_DTYPE_U64, {1, 0, 0, 0, 0, 0, 0, 0x80}, 0x1p63},
    {FP8MOE_DTYPE_U64, {1, 0, 0, 0, 0, 0, 0x10, 0}, 0x1.0000000000001p52},
    {FP8MOE_DTYPE_I64, {0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, -2},
    {FP8MOE_DTYPE_F8_E4M3, {0x7E}, 448},
    {FP8MOE_DTYPE_F8_E4M3, {0x81}, -0x1p-9},
    {FP8MOE_DTYPE_F8_E4M3, {0x80}, -0.0},
    {FP8MOE_DTYPE_F8_E4M3, {0xFF}, NAN},
    {FP8MOE_DTYPE_F8_E4M3FNUZ, {0x80}, NAN},
    {FP8MOE_DTYPE_F8_E4M3FNUZ, {0x7F}, 240},
    {FP8MOE_DTYPE_F8_E4M3FNUZ, {0x01}, 0x1p-10},
    {FP8MOE_DTYPE_F8_E5M2, {0x7B}, 57344},
    {FP8MOE_DTYPE_F8_E5M2, {0x01}, 0x1p-16},
    {FP8MOE_DTYPE_F8_E5M2, {0xFC}, -INFINITY},
    {FP8MOE_DTYPE_F8_E8M0, {0}, 0x1p-127},
    {FP8MOE_DTYPE_F8_E8M0, {0xFE}, 0x1p127},
    {FP8MOE_DTYPE_F8_E8M0, {0xFF}, NAN},
    {FP8MOE_DTYPE_BF16, {0x81, 0x3F}, 1 + 0x1p-7},
    {FP8MOE_DTYPE_BF16, {0x01, 0x80}, -0x1p-133},
    {FP8MOE_DTYPE_F16, {0x01, 0x3C}, 1 + 0x1p-10},
    {FP8MOE_DTYPE_F16, {0x01, 0x00}, 0x1p-24},
    {FP8MOE_DTYPE_F32, {0x01, 0x00, 0x80, 0x3F}, 1 + 0x1p-23},
    {FP8MOE_DTYPE_F32, {0x01, 0x00, 0x00, 0x80}, -0x1p-149},
    {FP8MOE_DTYPE_F64, {0x01, 0, 0, 0, 0, 0, 0xF0, 0x3F}, 1 + 0x1p-52},
};

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* Lay an element's bytes out at `to`, in the host's order or in the other. */
static void store(unsigned char *to, const unsigned char *little_endian, int size, bool swapped)
{
    for (int i = 0; i < size; i++)
        to[i] = little_endian[host_is_big_endian() != swapped ? size - 1 - i : i];
}

/* Three copies of every element, at an odd address, in both byte orders: packed and two apart. */
static void every_dtype_is_read_in_either_byte_order_at_any_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(elements); i++)
        for (int variant = 0; variant < 4; variant++) {
            const int size = fp8moe_dtype_bits(elements[i].dtype) / 8;
            const bool swapped = variant & 1;
            const int step = variant & 2 ? 2 : 1;
            unsigned char bytes[1 + 6 * 8];
            memset(bytes, 0x88, sizeof bytes);
            for (int copy = 0; copy < 3; copy++)
                store(bytes + 1 + copy * step * size, elements[i].bytes, size, swapped);

            fp8moe_tensor tensor = fp8moe_tensor_view(bytes + 1, elements[i].dtype, 1, SHAPE(3));
            tensor.stride[0] = step;
            tensor.swapped = swapped;
            double read[4] = {7, 7, 7, 7};
            fp8moe_tensor_read_f64(&tensor, 0, 3, read);
            for (int copy = 0; copy < 3; copy++)
                if (!same_number(read[copy], elements[i].value))
                    fail_msg("%s: read %a, expected %a", fp8moe_dtype_name(elements[i].dtype),
                             read[copy], elements[i].value);
            assert_true(read[3] == 7);

            unsigned char want[8], raw[3 * 8];
            store(want, elements[i].bytes, size, false);
            fp8moe_tensor_read_raw(&tensor, 0, 3, raw);
            for (int copy = 0; copy < 3; copy++)
                assert_memory_equal(raw + copy * size, want, (size_t)size);
        }
}

static void every_code_of_the_small_floats_is_read(void **state)
{
    (void)state;
    static const struct {
        fp8moe_dtype dtype;
        const slow_format *format;
    } rows[] = {
        {FP8MOE_DTYPE_F8_E4M3, &slow_e4m3fn},
        {FP8MOE_DTYPE_F8_E4M3FNUZ, &slow_e4m3fnuz},
        {FP8MOE_DTYPE_F8_E5M2, &slow_e5m2},
    };
    uint8_t codes[256];
    for (int code = 0; code < 256; code++)
        codes[code] = (uint8_t)code;
    for (size_t i = 0; i < COUNT(rows); i++) {
        double read[256];
        const fp8moe_tensor tensor = fp8moe_tensor_view(codes, rows[i].dtype, 1, SHAPE(256));
        fp8moe_tensor_read_f64(&tensor, 0, 256, read);
        for (uint32_t code = 1; code < rows[i].format->finite_codes; code++) {
            assert_true(read[code] == slow_decode(rows[i].format, code));
            assert_true(read[0x80 | code] == -slow_decode(rows[i].format, code));
        }
    }
}

static void integers_are_read_as_integers(void **state)
{
    (void)state;
    static const int64_t i64[] = {INT64_MIN, -1, 0, INT64_MAX, (INT64_C(1) << 53) + 1};
    static const uint64_t u64[] = {0, 1, INT64_MAX, UINT64_MAX};
    static const uint8_t flags[] = {0, 1, 2, 0xFF};
    int64_t read[5];

    fp8moe_tensor tensor = fp8moe_tensor_view(i64, FP8MOE_DTYPE_I64, 1, SHAPE(5));
    fp8moe_tensor_read_i64(&tensor, 0, 5, read);
    assert_memory_equal(read, i64, sizeof i64);

    tensor = fp8moe_tensor_view(u64, FP8MOE_DTYPE_U64, 1, SHAPE(4));
    fp8moe_tensor_read_i64(&tensor, 1, 3, read);
    assert_true(read[0] == 1 && read[1] == INT64_MAX && read[2] == INT64_MAX);

    tensor = fp8moe_tensor_view(flags, FP8MOE_DTYPE_BOOL, 1, SHAPE(4));
    fp8moe_tensor_read_i64(&tensor, 0, 4, read);
    assert_true(read[0] == 0 && read[1] == 1 && read[2] == 1 && read[3] == 1);

    for (size_t i = 0; i < COUNT(elements); i++) {
        if (elements[i].dtype > FP8MOE_DTYPE_I64) continue;
        unsigned char bytes[8];
        store(bytes, elements[i].bytes, fp8moe_dtype_bits(elements[i].dtype) / 8, false);
        const fp8moe_tensor scalar = fp8moe_tensor_view(bytes, elements[i].dtype, 0, NULL);
        fp8moe_tensor_read_i64(&scalar, 0, 1, read);
        if (elements[i].value < 0x1p63) assert_true((double)read[0] == elements[i].value);
    }
}

static void integers_beyond_2_to_53_round_to_nearest_even(void **state)
{
    (void)state;
    static const int64_t values[] = {(INT64_C(1) << 53) + 1, (INT64_C(1) << 53) + 3, INT64_MAX};
    const fp8moe_tensor tensor = fp8moe_tensor_view(values, FP8MOE_DTYPE_I64, 1, SHAPE(3));
    double read[3];
    fp8moe_tensor_read_f64(&tensor, 0, 3, read);
    assert_true(read[0] == 0x1p53 && read[1] == 0x1p53 + 4 && read[2] == 0x1p63);
}

/* Halves of a complex number are swapped apart. */
static void raw_complex_numbers_swap_their_halves_apart(void **state)
{
    (void)state;
    static const unsigned char stored[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const unsigned char want[] = {4, 3, 2, 1, 8, 7, 6, 5};
    fp8moe_tensor tensor = fp8moe_tensor_view(stored, FP8MOE_DTYPE_C64, 1, SHAPE(1));
    tensor.swapped = true;
    unsigned char raw[8];
    fp8moe_tensor_read_raw(&tensor, 0, 1, raw);
    assert_memory_equal(raw, want, sizeof want);
}

/* ---- strides ---- */

/* A view whose element at every index is known: 0, 1, 2 ... in memory order, seen through `stride`.
 */
typedef struct strided {
    const char *what;
    int rank;
    int64_t shape[4], stride[4];
    int64_t memory;
} strided;

static const strided views[] = {
    {"a scalar", 0, {0}, {0}, 1},
    {"a vector", 1, {700}, {1}, 700},
    {"every third", 1, {700}, {3}, 2100},
    {"rows", 2, {3, 5}, {5, 1}, 15},
    {"rows of a wider matrix", 2, {3, 5}, {9, 1}, 32},
    {"a transposed matrix", 2, {300, 4}, {1, 300}, 1200},
    {"columns of a transposed matrix", 2, {4, 300}, {1, 7}, 2104},
    {"one column", 2, {300, 1}, {7, 1}, 2100},
    {"one row repeated", 2, {3, 5}, {0, 1}, 5},
    {"one element repeated", 2, {3, 5}, {0, 0}, 1},
    {"three dimensions permuted", 3, {3, 4, 5}, {1, 15, 3}, 60},
    {"inner two in order", 3, {3, 4, 5}, {40, 5, 1}, 100},
    {"outer two in order", 3, {3, 4, 5}, {40, 10, 2}, 120},
    {"sizes of one with odd strides", 4, {1, 3, 1, 5}, {77, 5, 13, 1}, 15},
    {"four dimensions, each apart", 4, {2, 3, 2, 3}, {100, 30, 9, 2}, 200},
    {"nothing", 2, {0, 5}, {5, 1}, 1},
    {"rows of nothing", 2, {5, 0}, {1, 1}, 1},
    {"rows of nothing, each apart", 3, {2, 3, 0}, {100, 7, 1}, 1},
};

static fp8moe_tensor make_view(const strided *v, const uint16_t *memory)
{
    fp8moe_tensor tensor = fp8moe_tensor_view(memory, FP8MOE_DTYPE_U16, v->rank, v->shape);
    for (int d = 0; d < v->rank; d++)
        tensor.stride[d] = v->stride[d];
    return tensor;
}

/* Where C-order position `i` lies: from the definition of strides. */
static int64_t offset_of(const strided *v, int64_t i)
{
    int64_t offset = 0;
    for (int d = v->rank - 1; d >= 0; d--) {
        offset += i % v->shape[d] * v->stride[d];
        i /= v->shape[d];
    }
    return offset;
}

static void fill(uint16_t *memory, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memory[i] = (uint16_t)i;
}

/* Read every range that starts or ends somewhere interesting, and compare each element. */
static void check_ranges(const strided *v, const fp8moe_tensor *tensor)
{
    const int64_t count = fp8moe_tensor_count(tensor);
    for (int64_t first = 0; first <= count; first += 1 + count / 41)
        for (int64_t n = 0; n <= count - first; n += 1 + count / 29) {
            double read[2200];
            uint16_t raw[2200];
            int64_t whole[2200];
            read[n] = 70000;
            whole[n] = 70000;
            raw[n] = 0x8888;
            fp8moe_tensor_read_f64(tensor, first, n, read);
            fp8moe_tensor_read_i64(tensor, first, n, whole);
            fp8moe_tensor_read_raw(tensor, first, n, raw);
            for (int64_t i = 0; i < n; i++) {
                const int64_t want = offset_of(v, first + i);
                if (read[i] != (double)want || whole[i] != want || raw[i] != want)
                    fail_msg("%s: element %d from %d is %g, expected %d", v->what, (int)i,
                             (int)first, read[i], (int)want);
            }
            assert_true(read[n] == 70000 && whole[n] == 70000 && raw[n] == 0x8888);
        }
}

static void any_range_of_any_view_is_read(void **state)
{
    (void)state;
    static uint16_t memory[2200], other_order[2200];
    fill(memory, COUNT(memory));
    for (size_t i = 0; i < COUNT(memory); i++)
        other_order[i] = (uint16_t)(memory[i] << 8 | memory[i] >> 8);
    for (size_t i = 0; i < COUNT(views); i++) {
        fp8moe_tensor tensor = make_view(&views[i], memory);
        check_ranges(&views[i], &tensor);
        tensor.data = other_order;
        tensor.swapped = true;
        check_ranges(&views[i], &tensor);
    }
}

static void long_runs_of_wide_elements_are_read(void **state)
{
    (void)state;
    static int64_t memory[3000];
    for (int i = 0; i < 3000; i++)
        memory[i] = i;
    fp8moe_tensor tensor = fp8moe_tensor_view(memory, FP8MOE_DTYPE_I64, 1, SHAPE(1000));
    tensor.stride[0] = 3;
    double numbers[1000];
    int64_t integers[1000];
    fp8moe_tensor_read_f64(&tensor, 0, 1000, numbers);
    fp8moe_tensor_read_i64(&tensor, 0, 1000, integers);
    for (int i = 0; i < 1000; i++)
        assert_true(numbers[i] == 3 * i && integers[i] == 3 * i);
}

/* A view's memory is allocated to its last byte, so that a sanitizer sees any read beyond. */
static void no_byte_outside_a_view_is_touched(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(views); i++) {
        const strided *v = &views[i];
        uint16_t *memory = malloc((size_t)v->memory * sizeof *memory);
        assert_non_null(memory);
        fill(memory, (size_t)v->memory);
        const fp8moe_tensor tensor = make_view(v, memory);
        check_ranges(v, &tensor);
        free(memory);
    }
}

static void contiguous_is_what_lies_in_c_order(void **state)
{
    (void)state;
    static const char *const contiguous[] = {"a scalar",
                                             "a vector",
                                             "rows",
                                             "sizes of one with odd strides",
                                             "nothing",
                                             "rows of nothing",
                                             "rows of nothing, each apart"};
    static uint16_t memory[1];
    for (size_t i = 0; i < COUNT(views); i++) {
        bool want = false;
        for (size_t j = 0; j < COUNT(contiguous); j++)
            want = want || strcmp(views[i].what, contiguous[j]) == 0;
        const fp8moe_tensor tensor = make_view(&views[i], memory);
        if (fp8moe_tensor_is_contiguous(&tensor) != want) fail_msg("%s", views[i].what);
    }
}

/* ---- sub-views ---- */

static void at_takes_one_index_of_the_first_dimension(void **state)
{
    (void)state;
    static uint16_t memory[200];
    fill(memory, COUNT(memory));
    fp8moe_tensor tensor = fp8moe_tensor_view(memory, FP8MOE_DTYPE_U16, 3, SHAPE(3, 4, 5));
    const fp8moe_tensor matrix = fp8moe_tensor_at(&tensor, 2);
    assert_int_equal(matrix.rank, 2);
    assert_int_equal(matrix.shape[0], 4);
    assert_int_equal(matrix.shape[1], 5);
    const fp8moe_tensor row = fp8moe_tensor_at(&matrix, 3);
    const fp8moe_tensor scalar = fp8moe_tensor_at(&row, 1);
    assert_int_equal(scalar.rank, 0);
    double value;
    fp8moe_tensor_read_f64(&scalar, 0, 1, &value);
    assert_true(value == 2 * 20 + 3 * 5 + 1);

    tensor.data = NULL; /* shapes alone */
    assert_null(fp8moe_tensor_at(&tensor, 2).data);
}

static void slice_takes_a_range_of_any_dimension(void **state)
{
    (void)state;
    static uint16_t memory[60];
    fill(memory, COUNT(memory));
    const fp8moe_tensor tensor = fp8moe_tensor_view(memory, FP8MOE_DTYPE_U16, 3, SHAPE(3, 4, 5));
    const fp8moe_tensor middle = fp8moe_tensor_slice(&tensor, 1, 1, 2);
    const fp8moe_tensor inner = fp8moe_tensor_slice(&middle, 2, 3, 2);
    assert_int_equal(fp8moe_tensor_count(&inner), 3 * 2 * 2);
    double read[12];
    fp8moe_tensor_read_f64(&inner, 0, 12, read);
    static const double want[] = {8, 9, 13, 14, 28, 29, 33, 34, 48, 49, 53, 54};
    assert_memory_equal(read, want, sizeof want);

    const fp8moe_tensor none = fp8moe_tensor_slice(&tensor, 0, 3, 0);
    assert_int_equal(fp8moe_tensor_count(&none), 0);
    assert_true(fp8moe_tensor_present(&none));
}

static void slices_of_small_elements_start_on_a_byte(void **state)
{
    (void)state;
    static const unsigned char bytes[12];
    const fp8moe_tensor f4 = view2(bytes, FP8MOE_DTYPE_F4, 4, 6);
    const fp8moe_tensor f6 = view2(bytes, FP8MOE_DTYPE_F6_E2M3, 4, 4);
    assert_ptr_equal(fp8moe_tensor_at(&f4, 2).data, bytes + 6);
    assert_ptr_equal(fp8moe_tensor_at(&f6, 2).data, bytes + 6);
}

static void rows_fold_all_leading_dimensions(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t rows, columns; /* -1: refused */
    } wants[] = {
        {"a scalar", 1, 1},
        {"a vector", 1, 700},
        {"every third", 1, 700},
        {"rows", 3, 5},
        {"rows of a wider matrix", 3, 5},
        {"a transposed matrix", 300, 4},
        {"one column", 300, 1},
        {"one row repeated", 3, 5},
        {"three dimensions permuted", -1, -1},
        {"inner two in order", -1, -1},
        {"outer two in order", 12, 5},
        {"sizes of one with odd strides", 3, 5},
        {"four dimensions, each apart", -1, -1},
        {"nothing", 0, 5},
        {"rows of nothing", 5, 0},
        {"rows of nothing, each apart", 6, 0},
    };
    static uint16_t memory[2200];
    fill(memory, COUNT(memory));
    for (size_t i = 0; i < COUNT(wants); i++)
        for (size_t j = 0; j < COUNT(views); j++) {
            if (strcmp(wants[i].what, views[j].what) != 0) continue;
            const fp8moe_tensor tensor = make_view(&views[j], memory);
            fp8moe_tensor rows;
            fp8moe_error err;
            const fp8moe_status status = fp8moe_tensor_as_rows(&tensor, &rows, &err);
            if (wants[i].rows < 0) {
                assert_int_equal(status, FP8MOE_ERR_SHAPE);
                assert_non_null(strstr(err.message, "strides"));
                continue;
            }
            assert_int_equal(status, FP8MOE_OK);
            assert_int_equal(rows.rank, 2);
            assert_int_equal(rows.shape[0], wants[i].rows);
            assert_int_equal(rows.shape[1], wants[i].columns);
            const strided same_elements = views[j];
            check_ranges(&same_elements, &rows);
        }
}

static void rows_keep_dtype_and_byte_order(void **state)
{
    (void)state;
    static const uint16_t memory[6];
    fp8moe_tensor tensor = fp8moe_tensor_view(memory, FP8MOE_DTYPE_BF16, 3, SHAPE(1, 2, 3));
    tensor.swapped = true;
    fp8moe_tensor rows;
    assert_int_equal(fp8moe_tensor_as_rows(&tensor, &rows, NULL), FP8MOE_OK);
    assert_true(rows.swapped);
    assert_int_equal(rows.dtype, FP8MOE_DTYPE_BF16);
    assert_ptr_equal(rows.data, memory);
}

/* ---- the rest ---- */

static void counts_and_presence(void **state)
{
    (void)state;
    const fp8moe_tensor absent = {0};
    assert_false(fp8moe_tensor_present(&absent));
    const fp8moe_tensor scalar = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_F32, 0, NULL);
    assert_true(fp8moe_tensor_present(&scalar));
    assert_int_equal(fp8moe_tensor_count(&scalar), 1);
    const fp8moe_tensor large =
        fp8moe_tensor_view(NULL, FP8MOE_DTYPE_U8, 2, SHAPE(INT64_C(1) << 20, INT64_C(1) << 20));
    assert_true(fp8moe_tensor_count(&large) == INT64_C(1) << 40);
    assert_true(large.stride[0] == INT64_C(1) << 20);
}

static void shapes_are_written_as_lists(void **state)
{
    (void)state;
    char text[32];
    fp8moe_tensor tensor = fp8moe_tensor_view(NULL, FP8MOE_DTYPE_F32, 3, SHAPE(1, 512, 256));
    assert_string_equal(fp8moe_tensor_shape_text(&tensor, text, sizeof text), "[1, 512, 256]");
    tensor.rank = 1;
    assert_string_equal(fp8moe_tensor_shape_text(&tensor, text, sizeof text), "[1]");
    tensor.rank = 0;
    assert_string_equal(fp8moe_tensor_shape_text(&tensor, text, sizeof text), "[]");
    tensor.rank = 3;
    for (size_t size = 1; size <= sizeof "[1, 512, 256]"; size++) {
        memset(text, 'x', sizeof text);
        fp8moe_tensor_shape_text(&tensor, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, "[1, 512, 256]", size - 1);
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_the_names_and_sizes_of_safetensors),
        cmocka_unit_test(users_spellings_are_known),
        cmocka_unit_test(every_dtype_is_read_in_either_byte_order_at_any_address),
        cmocka_unit_test(every_code_of_the_small_floats_is_read),
        cmocka_unit_test(integers_are_read_as_integers),
        cmocka_unit_test(integers_beyond_2_to_53_round_to_nearest_even),
        cmocka_unit_test(raw_complex_numbers_swap_their_halves_apart),
        cmocka_unit_test(any_range_of_any_view_is_read),
        cmocka_unit_test(long_runs_of_wide_elements_are_read),
        cmocka_unit_test(no_byte_outside_a_view_is_touched),
        cmocka_unit_test(contiguous_is_what_lies_in_c_order),
        cmocka_unit_test(at_takes_one_index_of_the_first_dimension),
        cmocka_unit_test(slice_takes_a_range_of_any_dimension),
        cmocka_unit_test(slices_of_small_elements_start_on_a_byte),
        cmocka_unit_test(rows_fold_all_leading_dimensions),
        cmocka_unit_test(rows_keep_dtype_and_byte_order),
        cmocka_unit_test(counts_and_presence),
        cmocka_unit_test(shapes_are_written_as_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

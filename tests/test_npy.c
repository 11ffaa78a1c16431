/* npy: cases I01, I03 and I05 of the case list, names, and untyped elements. Rare headers and
 * broken ones: test_legal.c, test_hostile.c. */
#include "dump_checks.h"

#include <fp8moe/dump.h>
#include <unistd.h>

static const double zero_to_five[] = {0, 1, 2, 3, 4, 5};

static void test_case_i01(void **state)
{
    static const char *const names[] = {"I01_c", "I01_f"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char file[32];
        (void)snprintf(file, sizeof file, "%s.npy", names[i]);
        fp8moe_dump *const dump = open_case(file, "npy");
        if (!dump) skip();
        assert_int_equal(fp8moe_dump_count(dump), 1);
        expect_tensor(dump, names[i], FP8MOE_DTYPE_F32, "[2, 3]", zero_to_five, 6);
        assert_int_equal(fp8moe_dump_offset(dump, 0), 128);
        fp8moe_dump_close(dump);
    }
}

static void expect_as(const char *name, fp8moe_dtype stored, fp8moe_dtype wanted,
                      const double *values, int64_t count)
{
    char file[32], shape[16];
    fp8moe_tensor tensor;
    fp8moe_error err;
    (void)snprintf(file, sizeof file, "%s.npy", name);
    (void)snprintf(shape, sizeof shape, "[%d]", (int)count);
    fp8moe_dump *const dump = open_case(file, "npy");
    assert_non_null(dump);
    assert_int_equal(fp8moe_dump_info(dump, 0).dtype, stored);
    if (!fp8moe_dtype_is_numeric(stored)) {
        assert_int_equal(fp8moe_dump_tensor(dump, 0, &tensor, &err), FP8MOE_ERR_DTYPE);
        assert_non_null(strstr(err.message, "ambiguous"));
        assert_string_equal(err.tensor, name);
    }
    assert_int_equal(fp8moe_dump_set_dtype(dump, 0, FP8MOE_DTYPE_F32, &err), FP8MOE_ERR_DTYPE);
    assert_int_equal(fp8moe_dump_set_dtype(dump, 0, wanted, &err), FP8MOE_OK);
    expect_tensor(dump, name, wanted, shape, values, count);
    fp8moe_dump_close(dump);
}

static void test_case_i03(void **state)
{
    static const double codes[] = {1, 2, 0.5, -1}, bf16[] = {1, -2, 0.25};
    static const double integers[] = {56, 126, 184, 254}, viewed[] = {1, 448, -1, -448};
    (void)state;
    if (!refused_case("I03_f1.npy", FP8MOE_ERR_UNSUPPORTED,
                      "dtype '<f1': it may be any FP8 type: save the codes as uint8 "
                      "(array.view(numpy.uint8)) and say which they are (--as NAME=e4m3fn)"))
        skip();
    expect_as("I03_V1", FP8MOE_DTYPE_V8, FP8MOE_DTYPE_F8_E4M3, codes, 4);
    expect_as("I03_ltV1", FP8MOE_DTYPE_V8, FP8MOE_DTYPE_F8_E4M3, codes, 4);
    expect_as("I03_V2", FP8MOE_DTYPE_V16, FP8MOE_DTYPE_BF16, bf16, 3);
    expect_as("I03_u1", FP8MOE_DTYPE_U8, FP8MOE_DTYPE_U8, integers, 4);
    expect_as("I03_u1", FP8MOE_DTYPE_U8, FP8MOE_DTYPE_F8_E4M3, viewed, 4);
}

static void test_case_i05(void **state)
{
    static const struct {
        const char *name;
        fp8moe_dtype dtype;
        const char *shape;
        double values[6];
        int64_t count;
    } rows[] = {
        {"I05_0d", FP8MOE_DTYPE_F32, "[]", {5}, 1},
        {"I05_1d", FP8MOE_DTYPE_F16, "[3]", {0, 1, 2}, 3},
        {"I05_tight", FP8MOE_DTYPE_F32, "[2, 3]", {0, 1, 2, 3, 4, 5}, 6},
        {"I05_py2L", FP8MOE_DTYPE_F32, "[2, 3]", {0, 1, 2, 3, 4, 5}, 6},
        {"I05_empty", FP8MOE_DTYPE_F32, "[0, 3]", {0}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char file[32];
        (void)snprintf(file, sizeof file, "%s.npy", rows[i].name);
        fp8moe_dump *const dump = open_case(file, "npy");
        if (!dump) skip();
        expect_tensor(dump, rows[i].name, rows[i].dtype, rows[i].shape, rows[i].values,
                      rows[i].count);
        fp8moe_dump_close(dump);
    }
    assert_true(refused_case("I05_notuple.npy", FP8MOE_ERR_FORMAT,
                             "the shape is no tuple: (6) is a number, (6,) is one"));
    assert_true(refused_case("I05_npint.npy", FP8MOE_ERR_FORMAT,
                             "the shape must be a tuple of whole numbers"));
}

/* The array has no name of its own: it gets its file's. */
static void test_names(void **state)
{
    static const char array[] =
        "\x93NUMPY\x01\x00\x3D\x00"
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }   \n\x07";
    static const struct {
        const char *file, *name;
    } rows[] = {
        {"0000_model_layers_0_mlp_experts_hidden_states.npy",
         "0000_model_layers_0_mlp_experts_hidden_states"},
        {"a.b.npy", "a.b"},
        {"no_extension", "no_extension"},
        {".npy", ".npy"},
        {"control\x1b[2J.npy", "tensor"},
        {"not-utf-8\xFF.npy", "tensor"},
    };
    static const double seven[] = {7};
    char folder[] = "/tmp/fp8moe-test-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, rows[i].file);
        assert_int_equal(fp8moe_file_write(path, array, sizeof array - 1, NULL), FP8MOE_OK);
        fp8moe_dump *const dump = open_ok(path, "npy");
        expect_tensor(dump, rows[i].name, FP8MOE_DTYPE_U8, "[1]", seven, 1);
        fp8moe_dump_close(dump);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_case_i01),
        cmocka_unit_test(test_case_i03),
        cmocka_unit_test(test_case_i05),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

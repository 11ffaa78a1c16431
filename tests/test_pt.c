/* .pt: the J cases of the case list and real torch.save files. Every way to write a tensor, and
 * every broken one: test_legal.c, test_hostile.c. */
#include "dump_checks.h"

#include <unistd.h>

static void test_case_j01(void **state)
{
    static const double values[] = {0, 1, 2, 3, 4, 5};
    fp8moe_dump *const dump = open_case("J01.pt", "pt");
    (void)state;
    if (!dump) skip();
    assert_int_equal(fp8moe_dump_count(dump), 1);
    expect_tensor(dump, "x", FP8MOE_DTYPE_F32, "[2, 3]", values, 6);
    fp8moe_dump_close(dump);
}

static void test_case_j02(void **state)
{
    static const double transposed[] = {0, 3, 1, 4, 2, 5};
    double permuted[24];
    fp8moe_dump *dump = open_case("J02_t.pt", "pt");
    (void)state;
    if (!dump) skip();
    expect_tensor(dump, "J02_t", FP8MOE_DTYPE_F32, "[3, 2]", transposed, 6);
    fp8moe_dump_close(dump);
    for (int i = 0; i < 24; i++) /* element (i, j, k) is i + 12 j + 4 k */
        permuted[i] = i / 6 + 12 * (i / 3 % 2) + 4 * (i % 3);
    dump = open_case("J02_p.pt", "pt");
    expect_tensor(dump, "J02_p", FP8MOE_DTYPE_F32, "[4, 2, 3]", permuted, 24);
    fp8moe_dump_close(dump);
}

static void test_case_j04(void **state)
{
    static const double bf[] = {1, -2.5, 0.001953125}, scalar[] = {2.5}, ids[] = {3, -1},
                        h[] = {0.5}, b[] = {1, 0};
    fp8moe_dump *const dump = open_case("J04.pt", "pt");
    (void)state;
    if (!dump) skip();
    assert_int_equal(fp8moe_dump_count(dump), 7);
    assert_string_equal(fp8moe_dump_name(dump, 0), "bf");
    expect_tensor(dump, "bf", FP8MOE_DTYPE_BF16, "[3]", bf, 3);
    expect_tensor(dump, "scalar", FP8MOE_DTYPE_F32, "[]", scalar, 1);
    expect_tensor(dump, "empty", FP8MOE_DTYPE_F32, "[0, 4]", NULL, 0);
    expect_tensor(dump, "ids", FP8MOE_DTYPE_I64, "[1, 2]", ids, 2);
    expect_tensor(dump, "i32", FP8MOE_DTYPE_I32, "[1, 2]", ids, 2);
    expect_tensor(dump, "h", FP8MOE_DTYPE_F16, "[1]", h, 1);
    expect_tensor(dump, "b", FP8MOE_DTYPE_BOOL, "[2]", b, 2);
    fp8moe_dump_close(dump);
}

static void test_case_j08(void **state)
{
    static const double w[] = {3, 4}, one[] = {1}, two[] = {2};
    fp8moe_dump *const dump = open_case("J08.pt", "pt");
    (void)state;
    if (!dump) skip();
    assert_int_equal(fp8moe_dump_count(dump), 3);
    expect_tensor(dump, "layer.w", FP8MOE_DTYPE_F32, "[1, 2]", w, 2);
    expect_tensor(dump, "list.0", FP8MOE_DTYPE_F32, "[1]", one, 1);
    expect_tensor(dump, "list.1", FP8MOE_DTYPE_F32, "[1]", two, 1);
    fp8moe_dump_close(dump);
}

static void test_case_j09(void **state)
{
    (void)state;
    if (!refused_case("J09_evil.pt", FP8MOE_ERR_UNSUPPORTED,
                      "the pickle names os.system, which is none of what a file of tensors needs: "
                      "nothing was run"))
        skip();
    assert_true(
        refused_case("J09_evil2.pt", FP8MOE_ERR_UNSUPPORTED,
                     "the pickle names builtins.eval, which is none of what a file of tensors "
                     "needs: nothing was run"));
    assert_int_not_equal(access("pwned", F_OK), 0);
}

static void test_case_j12(void **state)
{
    static const double two[] = {1, 2};
    double ones[64];
    fp8moe_dump *dump = open_case("J14_rootname.pt", "pt");
    (void)state;
    if (!dump) skip();
    expect_tensor(dump, "x", FP8MOE_DTYPE_F32, "[2]", two, 2);
    fp8moe_dump_close(dump);
#ifdef FP8MOE_HAVE_ZLIB
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    dump = open_case("J12_deflate.pt", "pt");
    assert_int_equal(fp8moe_dump_offset(dump, 0), -1);
    assert_null(fp8moe_dump_info(dump, 0).data); /* nothing is unpacked before it is asked for */
    expect_tensor(dump, "x", FP8MOE_DTYPE_F32, "[64]", ones, 64);
    fp8moe_dump_close(dump);
#else
    (void)ones;
    assert_true(
        refused_case("J12_deflate.pt", FP8MOE_ERR_UNSUPPORTED,
                     "the zip entry is compressed, and this program was built without zlib"));
#endif
}

/* One tensor a file, as people dump: the same bytes as the safetensors file of the same layer. */
static void test_real_files(void **state)
{
    static const char *const rows[][2] = {{"fused_moe_input_hidden_states", "hidden_states"},
                                          {"fused_moe_input_router_logits", "router_logits"},
                                          {"fused_moe_output", "ref_output"},
                                          {"fused_moe_w13_weight", "w13_weight"},
                                          {"fused_moe_w2_weight", "w2_weight"}};
    char path[512];
    (void)state;
    if (!shared_path(path, sizeof path, "fixtures/fused_moe/unquantized.safetensors")) skip();
    fp8moe_dump *const layer = open_ok(path, "safetensors");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char relative[128], want_shape[128], got_shape[128];
        (void)snprintf(relative, sizeof relative, "fixtures/pt/%s.pt", rows[i][0]);
        (void)shared_path(path, sizeof path, relative);
        fp8moe_dump *const dump = open_ok(path, "pt");
        const fp8moe_tensor got = tensor_named(dump, rows[i][0]),
                            want = tensor_named(layer, rows[i][1]);
        assert_string_equal(fp8moe_tensor_shape_text(&got, got_shape, sizeof got_shape),
                            fp8moe_tensor_shape_text(&want, want_shape, sizeof want_shape));
        assert_int_equal(got.dtype, want.dtype);
        assert_memory_equal(got.data, want.data, (size_t)fp8moe_tensor_count(&want) * 2);
        fp8moe_dump_close(dump);
    }
    fp8moe_dump_close(layer);
}

static void test_real_fp8_file(void **state)
{
    static const double start[] = {72,  -26, -128,
                                   -14, 44,  -128}; /* codes read by hand from the file */
    char path[512];
    double got[6];
    (void)state;
    if (!shared_path(path, sizeof path, "fixtures/pt/linear_w8a8fp8_weight.pt")) skip();
    fp8moe_dump *const dump = open_ok(path, "pt");
    const fp8moe_tensor weight = tensor_named(dump, "linear_w8a8fp8_weight");
    assert_int_equal(weight.dtype, FP8MOE_DTYPE_F8_E4M3);
    expect_shape(&weight, "[256, 256]");
    fp8moe_tensor_read_f64(&weight, 0, 6, got);
    assert_memory_equal(got, start, sizeof start);
    fp8moe_dump_close(dump);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_case_j01),   cmocka_unit_test(test_case_j02),
        cmocka_unit_test(test_case_j04),   cmocka_unit_test(test_case_j08),
        cmocka_unit_test(test_case_j09),   cmocka_unit_test(test_case_j12),
        cmocka_unit_test(test_real_files), cmocka_unit_test(test_real_fp8_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SHA-256 against the examples of FIPS 180-4 and NIST's CAVP files, and the fingerprint of a
 * tensor, whose expected values were made with Python's hashlib from the definition in
 * fingerprint.h. */
#include "sha256.h"

#include "bytes.h"

#include <fp8moe/fingerprint.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void check(const void *data, size_t size, size_t step, const char *want)
{
    sha256 hash;
    char hex[65];
    sha256_start(&hash);
    for (size_t at = 0; at < size; at += step)
        sha256_add(&hash, (const char *)data + at, size - at < step ? size - at : step);
    sha256_finish(&hash, hex);
    assert_string_equal(hex, want);
}

static void test_vectors(void **state)
{
    static const char long_text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    (void)state;
    check("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check(long_text, 56, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check("\xbd", 1, 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
    check("\xc9\x8c\x8e\x55", 4, 4,
          "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
}

static void test_million(void **state)
{
    static const size_t steps[] = {1, 3, 63, 64, 65, 127, 1000000};
    static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    char *const text = malloc(1000000);
    (void)state;
    memset(text, 'a', 1000000);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        check(text, 1000000, steps[i], want);
    free(text);
}

/* Lengths around the padding's edge (NIST's zero-byte examples). */
static void test_padding(void **state)
{
    static const uint8_t zeros[64];
    (void)state;
    check(zeros, 55, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    check(zeros, 56, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    check(zeros, 57, 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
    check(zeros, 64, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

/* hashlib.sha256(b"F32 [2, 3]\n" + struct.pack("<6f", 0, 1, 2, 3, 4, 5)) */
static const char f32_digest[] = "fef42e60a9c62e925d66dd147c0721819de73c5bf886b54f473ac70c5d2295e2";

static void test_fingerprint(void **state)
{
    static const float values[6] = {0, 1, 2, 3, 4, 5}, columns[6] = {0, 3, 1, 4, 2, 5};
    static const int64_t shape[2] = {2, 3};
    char hex[FP8MOE_FINGERPRINT_SIZE];
    (void)state;
    fp8moe_tensor t = fp8moe_tensor_view(values, FP8MOE_DTYPE_F32, 2, shape);
    assert_int_equal(fp8moe_fingerprint_of(&t, hex, NULL), FP8MOE_OK);
    assert_string_equal(hex, f32_digest);

    t.data = columns; /* the same elements in Fortran order */
    t.stride[0] = 1;
    t.stride[1] = 2;
    assert_int_equal(fp8moe_fingerprint_of(&t, hex, NULL), FP8MOE_OK);
    assert_string_equal(hex, f32_digest);

    uint8_t reversed[sizeof values]; /* and in the byte order this host does not have */
    for (size_t i = 0; i < sizeof values; i++)
        reversed[i] = ((const uint8_t *)values)[i ^ 3];
    t = fp8moe_tensor_view(reversed, FP8MOE_DTYPE_F32, 2, shape);
    t.swapped = true;
    assert_int_equal(fp8moe_fingerprint_of(&t, hex, NULL), FP8MOE_OK);
    assert_string_equal(hex, f32_digest);
}

/* hashlib.sha256(b"F8_E4M3 []\n" + b"8") */
static void test_fingerprint_of_a_code(void **state)
{
    static const uint8_t code = 0x38;
    char hex[FP8MOE_FINGERPRINT_SIZE];
    const fp8moe_tensor t = fp8moe_tensor_view(&code, FP8MOE_DTYPE_F8_E4M3, 0, NULL);
    (void)state;
    assert_int_equal(fp8moe_fingerprint_of(&t, hex, NULL), FP8MOE_OK);
    assert_string_equal(hex, "3a394a7724d23dd886eaa92e1a7cbe3bf6c8b51c7c72477d03f9e82f4fff39ea");
}

static void test_fingerprint_by_rows(void **state)
{
    static const float values[6] = {0, 1, 2, 3, 4, 5};
    static const int64_t shape[2] = {2, 3};
    const fp8moe_tensor t = fp8moe_tensor_view(values, FP8MOE_DTYPE_F32, 2, shape);
    fp8moe_fingerprint *fingerprint = NULL;
    char hex[FP8MOE_FINGERPRINT_SIZE];
    (void)state;
    assert_int_equal(fp8moe_fingerprint_open(&t, &fingerprint, NULL), FP8MOE_OK);
    for (int64_t row = 0; row < 2; row++) {
        const fp8moe_tensor r = fp8moe_tensor_at(&t, row);
        fp8moe_fingerprint_add(fingerprint, &r);
    }
    fp8moe_fingerprint_close(fingerprint, hex);
    assert_string_equal(hex, f32_digest);
    fp8moe_fingerprint_close(NULL, hex);
}

/* Two numbers of 32 bits make one complex one: a swap must not exchange them. Longer than one
 * piece. */
static void test_stream_of_complex_numbers(void **state)
{
    enum { COUNT = 5000 };
    static uint32_t stored[2 * COUNT];
    static const int64_t shape[1] = {COUNT};
    char got[FP8MOE_FINGERPRINT_SIZE], want[FP8MOE_FINGERPRINT_SIZE];
    (void)state;
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        stored[i] = i * 2654435761u;
    fp8moe_tensor t = fp8moe_tensor_view(stored, FP8MOE_DTYPE_C64, 1, shape);
    assert_int_equal(fp8moe_fingerprint_of(&t, want, NULL), FP8MOE_OK);
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        stored[i] = stored[i] << 24 | (stored[i] & 0xFF00) << 8 | (stored[i] >> 8 & 0xFF00) |
                    stored[i] >> 24;
    t.swapped = true;
    assert_int_equal(fp8moe_fingerprint_of(&t, got, NULL), FP8MOE_OK);
    assert_string_equal(got, want);
}

static void test_fingerprint_of_half_bytes(void **state)
{
    static const uint8_t packed[2] = {0x12, 0x34};
    static const int64_t shape[1] = {4};
    char hex[FP8MOE_FINGERPRINT_SIZE];
    fp8moe_error err;
    const fp8moe_tensor t = fp8moe_tensor_view(packed, FP8MOE_DTYPE_F4, 1, shape);
    (void)state;
    assert_int_equal(fp8moe_fingerprint_of(&t, hex, &err), FP8MOE_ERR_DTYPE);
    assert_string_equal(err.message, "no fingerprint of F4: its elements are no whole bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_fingerprint_of_a_code),
        cmocka_unit_test(test_fingerprint_by_rows),
        cmocka_unit_test(test_stream_of_complex_numbers),
        cmocka_unit_test(test_fingerprint_of_half_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

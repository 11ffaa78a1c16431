/* ZIP: what entries say and hold, and contents asked for from several threads. Rare and broken
 * archives: test_legal.c, test_hostile.c. */
#include "zip.h"

#include "dump_checks.h"
#include "file.h"
#include "parallel.h"

static zip *open_archive(const char *path, file_view *file)
{
    zip *archive = NULL;
    fp8moe_error err;
    assert_int_equal(file_open(path, file, &err), FP8MOE_OK);
    assert_true(zip_probe(file->data, file->size));
    if (zip_open(file->data, file->size, &archive, &err) != FP8MOE_OK) fail_msg("%s", err.message);
    return archive;
}

static void test_entries(void **state)
{
    file_view file = {0};
    zip *const archive = open_archive("data/legal/other-entries.npz", &file);
    (void)state;
    assert_int_equal(zip_count(archive), 4);
    assert_string_equal(zip_at(archive, 0)->name, "folder/");
    assert_int_equal(zip_at(archive, 0)->unpacked, 0);
    assert_int_equal(zip_find(archive, "readme.txt"), 2);
    assert_int_equal(zip_find(archive, "readme"), -1);
    assert_int_equal(zip_find(archive, "\xC3\xBC.npy"), 3);
    const zip_entry *const text = zip_at(archive, 2);
    assert_false(text->deflated);
    assert_int_equal(text->packed, 4);
    assert_memory_equal(file.data + text->offset, "text", 4);
    const uint8_t *content = NULL;
    assert_int_equal(zip_content(archive, 2, true, &content, NULL), FP8MOE_OK);
    assert_ptr_equal(content, file.data + text->offset); /* no copy */
    zip_close(archive);
    zip_close(NULL);
    file_close(&file);
}

/* CRC-32 of the check string that every list of CRCs gives: 0xCBF43926. */
static void test_crc(void **state)
{
    static const char stored[] =
        "PK\3\4\x14\0\0\0\0\0\0\0\0\0\x26\x39\xF4\xCB\x09\0\0\0\x09\0\0\0\1\0\0\0"
        "n123456789"
        "PK\1\2\x14\0\x14\0\0\0\0\0\0\0\0\0\x26\x39\xF4\xCB\x09\0\0\0\x09\0\0\0\1\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0n"
        "PK\5\6\0\0\0\0\1\0\1\0\x2F\0\0\0\x28\0\0\0\0";
    zip *archive = NULL;
    const uint8_t *content = NULL;
    fp8moe_error err;
    uint8_t damaged[sizeof stored];
    (void)state;
    assert_int_equal(zip_open((const uint8_t *)stored, sizeof stored, &archive, &err), FP8MOE_OK);
    assert_int_equal(zip_content(archive, 0, true, &content, &err), FP8MOE_OK);
    zip_close(archive);
    for (size_t at = 31; at < 40; at++) { /* any byte of the content */
        memcpy(damaged, stored, sizeof stored);
        damaged[at] ^= 1;
        assert_int_equal(zip_open(damaged, sizeof damaged, &archive, &err), FP8MOE_OK);
        assert_int_equal(zip_content(archive, 0, true, &content, &err), FP8MOE_ERR_FORMAT);
        assert_int_equal(zip_content(archive, 0, false, &content, &err), FP8MOE_OK);
        zip_close(archive);
    }
}

static void test_peek(void **state)
{
    uint8_t start[300];
    size_t got = 0;
    file_view file = {0};
    zip *archive = open_archive("data/legal/comment.npz", &file);
    (void)state;
    assert_int_equal(zip_peek(archive, 0, start, 6, &got, NULL), FP8MOE_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(start, "\x93NUMPY", 6);
    assert_int_equal(zip_peek(archive, 0, start, sizeof start, &got, NULL), FP8MOE_OK);
    assert_int_equal(got, 136); /* all there is */
    zip_close(archive);
    file_close(&file);
}

#ifdef FP8MOE_HAVE_ZLIB

/* Packed bytes have no place of their own in the file, and are not unpacked before they are asked
 * for. */
static void test_deflated_array(void **state)
{
    static const double values[] = {1, 2};
    fp8moe_dump *const dump = open_ok("data/legal/deflated.npz", "npz");
    (void)state;
    assert_int_equal(fp8moe_dump_offset(dump, 0), -1);
    assert_null(fp8moe_dump_info(dump, 0).data);
    expect_tensor(dump, "a", FP8MOE_DTYPE_F32, "[2]", values, 2);
    fp8moe_dump_close(dump);
}

enum { ASKERS = 8 };

typedef struct question {
    zip *archive;
    const uint8_t *answers[ASKERS];
} question;

static void ask(void *context, int64_t first, int64_t last, int worker)
{
    question *const q = context;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        if (zip_content(q->archive, 0, true, &q->answers[i], NULL) != FP8MOE_OK)
            q->answers[i] = NULL;
}

/* Whoever comes first unpacks; everybody gets the same bytes, and nothing leaks. */
static void test_content_from_threads(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        file_view file = {0};
        question q = {.archive = open_archive("data/legal/deflated.npz", &file)};
        parallel_for(ASKERS, ASKERS, ask, &q);
        assert_non_null(q.answers[0]);
        assert_memory_equal(q.answers[0], "\x93NUMPY", 6);
        for (int i = 1; i < ASKERS; i++)
            assert_ptr_equal(q.answers[i], q.answers[0]);
        zip_close(q.archive);
        file_close(&file);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_peek),
#ifdef FP8MOE_HAVE_ZLIB
        cmocka_unit_test(test_deflated_array), cmocka_unit_test(test_content_from_threads),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The restricted unpickler: values of every kind, sharing, calls as nodes, and limits. Pickles here
 * are written opcode by opcode (pickletools' letters). Broken ones: test_hostile.c. */
#include "pickle.h"

#include "limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TAG_MAKE = 7, TAG_DICT, TAG_BYTES };

static const pickle_name names[] = {
    {"some.module", "make", TAG_MAKE, PICKLE_MAKES_CALL},
    {"collections", "OrderedDict", TAG_DICT, PICKLE_MAKES_DICT},
    {"_codecs", "encode", TAG_BYTES, PICKLE_MAKES_BYTES},
};

static fp8moe_status read_bytes(const void *data, size_t size, pickle **out, fp8moe_error *err)
{
    return pickle_read(data, size, 1000, names, sizeof names / sizeof names[0], out, err);
}

/* The tree of a literal; an exact copy stays alive with it, so that one byte too far is seen. */
static pickle *read_ok(const char *text, size_t size, uint8_t **copy)
{
    pickle *read = NULL;
    fp8moe_error err;
    *copy = malloc(size);
    memcpy(*copy, text, size);
    if (read_bytes(*copy, size, &read, &err) != FP8MOE_OK)
        fail_msg("%s at %d", err.message, (int)err.offset);
    return read;
}

#define READ_PROTOCOL(text) read_ok(text, sizeof(text) - 1, &copy)
#define READ(text) read_ok("\x80\x02" text ".", sizeof("\x80\x02" text ".") - 1, &copy)

static bool is_text(const pickle_value *value, pickle_type type, const char *want)
{
    return value->type == type && value->size == strlen(want) &&
           memcmp(value->text, want, value->size) == 0;
}

static void test_numbers(void **state)
{
    static const int64_t want[] = {0,   255,  65535, 2147483647, -2147483648, 0,
                                   127, -128, 255,   INT64_MAX,  INT64_MIN,   -1};
    uint8_t *copy;
    pickle *const read =
        READ_PROTOCOL("\x80\x02(K\0K\xFFM\xFF\xFFJ\xFF\xFF\xFF\x7FJ\0\0\0\x80"
                      "\x8A\0\x8A\1\x7F\x8A\1\x80\x8A\2\xFF\0"
                      "\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x8A\x08\0\0\0\0\0\0\0\x80"
                      "\x8B\2\0\0\0\xFF\xFFt.");
    const pickle_value *const root = pickle_root(read);
    (void)state;
    assert_int_equal(root->type, PICKLE_TUPLE);
    assert_int_equal(root->count, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < root->count; i++) {
        assert_int_equal(root->items[i]->type, PICKLE_INT);
        assert_true(root->items[i]->integer == want[i]);
    }
    pickle_close(read);
    free(copy);
}

static void test_plain_values(void **state)
{
    uint8_t *copy;
    pickle *const read =
        READ_PROTOCOL("\x80\x05(N\x88\x89G\x3F\xF8\0\0\0\0\0\0X\2\0\0\0\xC3\xA9\x8C\1a"
                      "\x8D\1\0\0\0\0\0\0\0b\x43\2\0\xFF\x42\1\0\0\0c\x8E\1\0\0\0\0\0\0\0d"
                      "\x96\1\0\0\0\0\0\0\0e)]}t.");
    pickle_value *const *const items = pickle_root(read)->items;
    (void)state;
    assert_int_equal(pickle_root(read)->count, 14);
    assert_int_equal(items[0]->type, PICKLE_NONE);
    assert_true(items[1]->type == PICKLE_BOOL && items[1]->boolean);
    assert_true(items[2]->type == PICKLE_BOOL && !items[2]->boolean);
    assert_true(items[3]->type == PICKLE_FLOAT && items[3]->number == 1.5);
    assert_true(is_text(items[4], PICKLE_STRING, "\xC3\xA9"));
    assert_true(is_text(items[5], PICKLE_STRING, "a"));
    assert_true(is_text(items[6], PICKLE_STRING, "b"));
    assert_true(items[7]->type == PICKLE_BYTES && items[7]->size == 2 &&
                memcmp(items[7]->text, "\0\xFF", 2) == 0);
    assert_true(is_text(items[8], PICKLE_BYTES, "c"));
    assert_true(is_text(items[9], PICKLE_BYTES, "d"));
    assert_true(is_text(items[10], PICKLE_BYTES, "e"));
    assert_true(items[11]->type == PICKLE_TUPLE && items[11]->count == 0);
    assert_true(items[12]->type == PICKLE_LIST && items[12]->count == 0);
    assert_true(items[13]->type == PICKLE_DICT && items[13]->count == 0);
    pickle_close(read);
    free(copy);
}

static void test_containers(void **state)
{
    uint8_t *copy;
    pickle *read = READ("](K\1K\2eK\3a"); /* [1, 2], then 3 appended */
    (void)state;
    assert_int_equal(pickle_root(read)->count, 3);
    assert_int_equal(pickle_root(read)->items[2]->integer, 3);
    pickle_close(read);
    free(copy);

    read = READ("}(K\1K\2K\3K\4uK\5K\6s");
    assert_int_equal(pickle_root(read)->count, 6); /* three pairs */
    for (int i = 0; i < 6; i++)
        assert_int_equal(pickle_root(read)->items[i]->integer, i + 1);
    pickle_close(read);
    free(copy);

    read = READ("K\1K\2K\3\x87\x85K\4\x86"); /* (((1, 2, 3),), 4) */
    const pickle_value *const pair = pickle_root(read);
    assert_int_equal(pair->count, 2);
    assert_int_equal(pair->items[0]->count, 1);
    assert_int_equal(pair->items[0]->items[0]->count, 3);
    assert_int_equal(pair->items[0]->items[0]->items[2]->integer, 3);
    assert_int_equal(pair->items[1]->integer, 4);
    pickle_close(read);
    free(copy);
}

static void test_sharing(void **state)
{
    uint8_t *copy;
    pickle *const read = READ("](]q\5h\5j\5\0\0\0e");
    const pickle_value *const root = pickle_root(read);
    (void)state;
    assert_int_equal(root->count, 3);
    assert_ptr_equal(root->items[0], root->items[1]);
    assert_ptr_equal(root->items[0], root->items[2]);
    pickle_close(read);
    free(copy);
}

static void test_calls_are_nodes(void **state)
{
    uint8_t *copy;
    pickle *const read = READ("csome.module\nmake\n(K\1K\2tR}b");
    const pickle_value *const call = pickle_root(read);
    (void)state;
    assert_int_equal(call->type, PICKLE_CALL);
    assert_int_equal(call->name->tag, TAG_MAKE);
    assert_int_equal(call->arguments->count, 2);
    assert_int_equal(call->arguments->items[1]->integer, 2);
    assert_int_equal(call->state->type, PICKLE_DICT);
    assert_int_equal(call->offset, 2 + 18 + 6); /* of the REDUCE */
    pickle_close(read);
    free(copy);
}

static void test_made_values(void **state)
{
    uint8_t *copy;
    pickle *read = READ("ccollections\nOrderedDict\n](K\1K\2\x86](K\3K\4ee\x85R");
    (void)state;
    assert_int_equal(pickle_root(read)->type, PICKLE_DICT);
    assert_int_equal(pickle_root(read)->count, 4);
    assert_int_equal(pickle_root(read)->items[3]->integer, 4);
    pickle_close(read);
    free(copy);

    read = READ("c_codecs\nencode\n(X\6\0\0\0a\xC2\x80\xC3\xBF\nX\6\0\0\0latin1tR");
    assert_true(is_text(pickle_root(read), PICKLE_BYTES, "a\x80\xFF\n"));
    pickle_close(read);
    free(copy);

    read = READ("(K\1K\2tQ");
    assert_int_equal(pickle_root(read)->type, PICKLE_PERSISTENT);
    assert_int_equal(pickle_root(read)->items[0]->count, 2);
    pickle_close(read);
    free(copy);
}

/* The offset of an error is that of the opcode, counted from `base`; without a base there is none.
 */
static void test_place_of_an_error(void **state)
{
    static const uint8_t data[] = "\x80\x02Ncos\nsystem\n.";
    pickle *read = NULL;
    fp8moe_error err;
    (void)state;
    assert_int_equal(read_bytes(data, sizeof data - 1, &read, &err), FP8MOE_ERR_UNSUPPORTED);
    assert_int_equal(err.offset, 1003);
    assert_int_equal(pickle_read(data, sizeof data - 1, -1, names, 1, &read, &err),
                     FP8MOE_ERR_UNSUPPORTED);
    assert_int_equal(err.offset, -1);
    assert_null(read);
}

/* "](" `unit` many times "e." */
static void expect_too_many(const char *unit, size_t times)
{
    const size_t length = strlen(unit), size = 4 + times * length + 2;
    uint8_t *const data = malloc(size);
    pickle *read = NULL;
    fp8moe_error err;
    memcpy(data, "\x80\x02](", 4);
    for (size_t i = 0; i < times; i++)
        memcpy(data + 4 + i * length, unit, length);
    memcpy(data + size - 2, "e.", 2);
    assert_int_equal(read_bytes(data, size, &read, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, "the pickle holds more than 8000000 values");
    free(data);
}

static void test_limits(void **state)
{
    (void)state;
    expect_too_many("N", LIMIT_PICKLE_VALUES);  /* objects */
    expect_too_many("N0", LIMIT_PICKLE_VALUES); /* made and dropped */
    expect_too_many("N"
                    "22222222",
                    LIMIT_PICKLE_VALUES / 8);                     /* stack entries */
    expect_too_many("Nq\1h\1h\1h\1h\1", LIMIT_PICKLE_VALUES / 5); /* items of containers */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),           cmocka_unit_test(test_plain_values),
        cmocka_unit_test(test_containers),        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_calls_are_nodes),   cmocka_unit_test(test_made_values),
        cmocka_unit_test(test_place_of_an_error), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

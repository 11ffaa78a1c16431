/* JSON: what is read, and for everything refused the byte at which it is. */
#include "json.h"

#include "limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static json *parse(const char *text)
{
    json *parsed = NULL;
    fp8moe_error err;
    /* an exact copy without a NUL: one byte too far is seen by ASan and valgrind */
    const size_t size = strlen(text);
    char *const copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    if (json_parse(copy, size, 0, &parsed, &err) != FP8MOE_OK)
        fail_msg("%s: %s at %lld", text, err.message, (long long)err.offset);
    free(copy);
    return parsed;
}

static void test_values(void **state)
{
    json *const parsed = parse(" {\"n\":null, \"t\":true,\"f\":false,\"s\":\"x\",\"a\":[1, [], {}],"
                               "\"o\":{\"k\":-7}} \r\n\t");
    const json_value *const root = json_root(parsed);
    (void)state;
    assert_int_equal(root->type, JSON_OBJECT);
    assert_int_equal(root->offset, 1);
    assert_int_equal(root->children.count, 6);
    assert_int_equal(json_get(root, "n")->type, JSON_NULL);
    assert_true(json_get(root, "t")->boolean);
    assert_false(json_get(root, "f")->boolean);
    assert_string_equal(json_get(root, "s")->string, "x");
    const json_value *const array = json_get(root, "a");
    assert_int_equal(array->children.count, 3);
    assert_int_equal(array->children.first->i64, 1);
    assert_int_equal(array->children.first->next->type, JSON_ARRAY);
    assert_int_equal(array->children.first->next->next->type, JSON_OBJECT);
    assert_null(array->children.first->next->next->next);
    assert_null(array->children.first->key);
    const json_value *const member = json_get(json_get(root, "o"), "k");
    assert_int_equal(member->i64, -7);
    assert_string_equal(member->key, "k");
    assert_int_equal(member->key_offset, 60);
    assert_int_equal(member->offset, 64);
    assert_null(json_get(root, "missing"));
    assert_null(json_get(array, "k"));
    assert_null(json_get(NULL, "k"));
    json_close(parsed);
    json_close(NULL);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        json_type type;
        int64_t i64;
        uint64_t u64;
        double f64;
    } rows[] = {
        {"0", JSON_I64, 0, 0, 0},
        {"-0", JSON_I64, 0, 0, 0},
        {"9007199254740993", JSON_I64, 9007199254740993, 0, 0}, /* no double holds it */
        {"9223372036854775807", JSON_I64, INT64_MAX, 0, 0},
        {"-9223372036854775808", JSON_I64, INT64_MIN, 0, 0},
        {"9223372036854775808", JSON_U64, 0, UINT64_C(9223372036854775808), 0},
        {"18446744073709551615", JSON_U64, 0, UINT64_MAX, 0},
        {"18446744073709551616", JSON_F64, 0, 0, 0x1p64},
        {"-9223372036854775809", JSON_F64, 0, 0, -0x1p63},
        {"1.0", JSON_F64, 0, 0, 1},
        {"1e2", JSON_F64, 0, 0, 100},
        {"0.1", JSON_F64, 0, 0, 0.1},
        {"-2.5E-1", JSON_F64, 0, 0, -0.25},
        {"1e-999", JSON_F64, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json *const parsed = parse(rows[i].text);
        const json_value *const value = json_root(parsed);
        assert_int_equal(value->type, rows[i].type);
        if (value->type == JSON_I64) assert_true(value->i64 == rows[i].i64);
        if (value->type == JSON_U64) assert_true(value->u64 == rows[i].u64);
        if (value->type == JSON_F64) assert_true(value->f64 == rows[i].f64);
        json_close(parsed);
    }
}

static void test_strings(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xC3\xA9\xE2\x82\xAC"},
        {"\"\\ud834\\udd1e\"", "\xF0\x9D\x84\x9E"},
        {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF"},
        {"\"\xC3\xA9\xF0\x9D\x84\x9E\x7F\"", "\xC3\xA9\xF0\x9D\x84\x9E\x7F"},
        {"\"a\\\\\"", "a\\"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json *const parsed = parse(rows[i].text);
        assert_int_equal(json_root(parsed)->type, JSON_STRING);
        assert_string_equal(json_root(parsed)->string, rows[i].want);
        json_close(parsed);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text;
        int64_t offset;
        const char *sentence;
    } rows[] = {
        {"", 0, "JSON ends where a value was expected"},
        {"  ", 2, "JSON ends where a value was expected"},
        {"nul", 0, "expected a value in JSON, found 'n'"},
        {"NaN", 0, "expected a value in JSON, found 'N'"},
        {"Infinity", 0, "expected a value in JSON, found 'I'"},
        {"'a'", 0, "expected a value in JSON, found '''"},
        {"\x01", 0, "expected a value in JSON, found byte 0x01"},
        {"\xEF\xBB\xBF{}", 0, "JSON starts with a byte order mark"},
        {"{} {}", 3, "expected nothing after the value in JSON, found '{'"},
        {"[1,]", 3, "expected a value in JSON, found ']'"},
        {"[1 2]", 3, "expected ',' or ']' in JSON, found '2'"},
        {"[1", 2, "JSON ends where ',' or ']' was expected"},
        {"{", 1, "JSON ends where a key in quotes was expected"},
        {"{\"a\"}", 4, "expected ':' in JSON, found '}'"},
        {"{\"a\":1,}", 7, "expected a key in quotes in JSON, found '}'"},
        {"{a:1}", 1, "expected a key in quotes in JSON, found 'a'"},
        {"{\"a\":1 \"b\":2}", 7, "expected ',' or '}' in JSON, found '\"'"},
        {"{\"a\":1,\"b\":2,\"a\":3}", 13, "the key \"a\" appears twice in one object"},
        {"{\"a\":1,\"\\u0061\":3}", 7, "the key \"a\" appears twice in one object"},
        {"{\"b\":0,\"b\":0,\"a\":0,\"a\":0}", 7, "the key \"b\" appears twice in one object"},
        {"[{\"x\":{\"k\":1,\"k\":2}}]", 13, "the key \"k\" appears twice in one object"},
        {"01", 1, "expected nothing after the value in JSON, found '1'"},
        {"-", 1, "JSON ends where a digit was expected"},
        {"+1", 0, "expected a value in JSON, found '+'"},
        {".5", 0, "expected a value in JSON, found '.'"},
        {"1.", 2, "JSON ends where a digit after the decimal point was expected"},
        {"1,5", 1, "expected nothing after the value in JSON, found ','"},
        {"1e", 2, "JSON ends where a digit of the exponent was expected"},
        {"1e+-2", 3, "expected a digit of the exponent in JSON, found '-'"},
        {"1e-+2", 3, "expected a digit of the exponent in JSON, found '+'"},
        {"0x10", 1, "expected nothing after the value in JSON, found 'x'"},
        {"[1e400]", 1, "number beyond the range of a double"},
        {"\"abc", 4, "JSON ends where the closing quote of a string was expected"},
        {"\"abc\\", 4, "unknown escape in a string"},
        {"\"abc\\\"", 6, "JSON ends where the closing quote of a string was expected"},
        {"\"a\\x\"", 2, "unknown escape in a string"},
        {"\"a\nb\"", 2, "control character in a string"},
        {"\"\\u12\"", 1, "\\u needs four hexadecimal digits"},
        {"\"\\u12g4\"", 1, "\\u needs four hexadecimal digits"},
        {"\"a\\u0000\"", 2, "a string holds the character U+0000"},
        {"\"\\udc00\"", 1, "low surrogate without a high one before it"},
        {"\"\\ud800\"", 1, "high surrogate without a low one after it"},
        {"\"\\ud800\\n\"", 1, "high surrogate without a low one after it"},
        {"\"\\ud800\\u0041\"", 1, "high surrogate without a low one after it"},
        {"\"\\ud800\\ud800\"", 1, "high surrogate without a low one after it"},
        {"\"ab\xFF\"", 3, "a string is not valid UTF-8"},
        {"\"\xC3\"", 1, "a string is not valid UTF-8"},
        {"\"\xED\xA0\x80\"", 1, "a string is not valid UTF-8"},
        {"[1]\xC2\xA0", 3, "expected nothing after the value in JSON, found byte 0xC2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json *parsed = NULL;
        fp8moe_error err;
        const size_t size = strlen(rows[i].text);
        char *const copy = malloc(size ? size : 1);
        memcpy(copy, rows[i].text, size);
        assert_int_equal(json_parse(copy, size, 1000, &parsed, &err), FP8MOE_ERR_FORMAT);
        assert_string_equal(err.message, rows[i].sentence);
        if (err.offset != 1000 + rows[i].offset)
            fail_msg("%s: offset %lld", rows[i].text, (long long)err.offset - 1000);
        assert_null(parsed);
        free(copy);
    }
}

static void test_nul_byte_is_no_end(void **state)
{
    static const char text[] = "[1]\0[2]";
    json *parsed = NULL;
    fp8moe_error err;
    (void)state;
    assert_int_equal(json_parse(text, sizeof text - 1, 0, &parsed, &err), FP8MOE_ERR_FORMAT);
    assert_int_equal(err.offset, 3);
}

static fp8moe_status parse_repeated(const char *unit, size_t times, fp8moe_error *err)
{
    const size_t length = strlen(unit);
    char *const text = malloc(times * length);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * length, unit, length);
    json *parsed = NULL;
    const fp8moe_status status = json_parse(text, times * length, 0, &parsed, err);
    json_close(parsed);
    free(text);
    return status;
}

static void test_limits(void **state)
{
    fp8moe_error err;
    (void)state;
    assert_int_equal(parse_repeated("[", LIMIT_JSON_DEPTH, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, "JSON ends where a value was expected"); /* deep enough */
    assert_int_equal(parse_repeated("[", 10000000, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, "JSON is nested deeper than 64 levels");
    assert_int_equal(err.offset, LIMIT_JSON_DEPTH);
    assert_int_equal(parse_repeated("x", (size_t)LIMIT_JSON_BYTES + 1, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, "JSON text of 100000001 bytes, at most 100000000 are read");
}

static void test_too_many_values(void **state)
{
    const size_t count = LIMIT_JSON_VALUES + 1;
    char *const text = malloc(2 * count);
    json *parsed = NULL;
    fp8moe_error err;
    (void)state;
    for (size_t i = 0; i < count; i++)
        memcpy(text + 2 * i, i ? ",1" : "[1", 2);
    assert_int_equal(json_parse(text, 2 * count, 0, &parsed, &err), FP8MOE_ERR_FORMAT);
    assert_string_equal(err.message, "JSON holds more than 8000000 values");
    free(text);
}

/* Refusing duplicates must not take quadratic time: half a million keys in about a second. */
static void test_many_keys(void **state)
{
    enum { COUNT = 500000 };
    char *const text = malloc((size_t)COUNT * 16), *end = text;
    json *parsed = NULL;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        end += sprintf(end, "%c\"k%d\":0", i ? ',' : '{', i);
    *end++ = '}';
    assert_int_equal(json_parse(text, (size_t)(end - text), 0, &parsed, NULL), FP8MOE_OK);
    assert_int_equal(json_root(parsed)->children.count, COUNT);
    json_close(parsed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nul_byte_is_no_end),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

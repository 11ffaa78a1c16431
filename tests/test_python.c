/* python.h against Python itself: a thousand odd strings, their values as hex floats. */
#include "ask_python.h"
#include "python.h"

#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct row {
    const char *text;
    double value; /* NAN in a row that must fail */
} row;

#define JUNK ((double)NAN)

static void floats_by_hand(void **state)
{
    (void)state;
    static const row rows[] = {
        {"0.4", 0.4},
        {" 0.4\n", 0.4},
        {"1_0.5", 10.5},
        {".5", 0.5},
        {"5.", 5},
        {"+1e-1", 0.1},
        {"-0.5", -0.5},
        {"1E2", 100},
        {"00.5", 0.5},
        {"1e400", INFINITY},
        {"-inf", -INFINITY},
        {"INFINITY", INFINITY},
        {"\xC2\xA0"
         "0.5",
         0.5},
        {"\xEF\xBC\x95", 5},
        {"", JUNK},
        {" ", JUNK},
        {".", JUNK},
        {"1__0", JUNK},
        {"_1", JUNK},
        {"1_", JUNK},
        {"1_.5", JUNK},
        {"1._5", JUNK},
        {"e5", JUNK},
        {"1e", JUNK},
        {"1e+", JUNK},
        {"0x10", JUNK},
        {"0,4", JUNK},
        {"0.4f", JUNK},
        {"+ 1", JUNK},
        {"--1", JUNK},
        {"infinit", JUNK},
        {"\xFF", JUNK},
        {"1 2", JUNK},
        {"\x1C"
         "1",
         JUNK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double got = 0;
        fp8moe_error err;
        const fp8moe_status status = python_float(rows[i].text, &got, &err);
        const bool junk = isnan(rows[i].value);
        if (junk != (status == FP8MOE_ERR_VALUE)) fail_msg("'%s': status %d", rows[i].text, status);
        if (!junk && got != rows[i].value) fail_msg("'%s': got %a", rows[i].text, got);
    }
}

static void nan_is_a_float(void **state)
{
    (void)state;
    double got = 0;
    assert_int_equal(python_float(" NaN ", &got, NULL), FP8MOE_OK);
    assert_true(isnan(got));
}

static void integers_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
        bool junk;
    } rows[] = {
        {"64", 64, false},
        {" 64\t", 64, false},
        {"1_000", 1000, false},
        {"+7", 7, false},
        {"-7", -7, false},
        {"007", 7, false},
        {"0_0_7", 7, false},
        {"-0", 0, false},
        {"9223372036854775807", INT64_MAX, false},
        {"9223372036854775808", INT64_MAX, false},
        {"-9223372036854775809", INT64_MIN, false},
        {"99999999999999999999999", INT64_MAX, false},
        {"", 0, true},
        {"6.4", 0, true},
        {"0x40", 0, true},
        {"1e3", 0, true},
        {"6 4", 0, true},
        {"_64", 0, true},
        {"64_", 0, true},
        {"1__0", 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t got = 0;
        const fp8moe_status status = python_int(rows[i].text, &got, NULL);
        if (rows[i].junk != (status == FP8MOE_ERR_VALUE)) fail_msg("'%s'", rows[i].text);
        if (!rows[i].junk && got != rows[i].value)
            fail_msg("'%s': got %lld", rows[i].text, (long long)got);
    }
}

static void long_numbers(void **state)
{
    (void)state;
    char text[4400];
    int64_t whole = 0;
    double number = 0;
    fp8moe_error err;
    memset(text, '0', sizeof text);
    memcpy(text + 4299, "7", 2);
    assert_int_equal(python_int(text, &whole, &err), FP8MOE_OK);
    assert_int_equal(whole, 7);
    memcpy(text + 4299, "07", 3);
    assert_int_equal(python_int(text, &whole, &err), FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "4300 digits"));
    assert_int_equal(python_float(text, &number, &err), FP8MOE_ERR_UNSUPPORTED);
    memset(text, '1', 1000);
    text[1000] = '\0';
    assert_int_equal(python_float(text, &number, &err), FP8MOE_OK);
    assert_true(isinf(number));
}

static void truth_is_one_or_true(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "true", "True", "TRUE", "tRuE"};
    static const char *const no[] = {"",       "0",  "yes", "on",    " 1", "1 ",          "true ",
                                     "True\n", "01", "tru", "truee", "t",  "\xEF\xBC\x91"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        assert_true(python_is_true(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        assert_false(python_is_true(no[i]));
}

/* ---- Python itself ---- */

#define STRINGS 20000
#define MOST_PIECES 9

static void random_text(uint32_t *seed, char *text)
{
    static const char *const pieces[] = {"0",
                                         "1",
                                         "9",
                                         "_",
                                         ".",
                                         "e",
                                         "E",
                                         "+",
                                         "-",
                                         " ",
                                         "\t",
                                         "inf",
                                         "NaN",
                                         "5",
                                         "7",
                                         "x",
                                         "\xC2\xA0",
                                         "\xD9\xA3",
                                         "\xE3\x80\x80",
                                         "00",
                                         "e3",
                                         ".5",
                                         "2",
                                         "4",
                                         "\x1f",
                                         "INFINITY",
                                         "i",
                                         "e-"};
    const size_t count = sizeof pieces / sizeof pieces[0];
    text[0] = '\0';
    for (uint32_t left = 1 + (*seed >> 7) % MOST_PIECES; left > 0; left--) {
        *seed = *seed * 1664525u + 1013904223u;
        strcat(text, pieces[(*seed >> 8) % count]);
    }
}

/* One line a string: what float() and what int() say, "-" for ValueError. */
static const char program[] = "import sys\n"
                              "def hear(read, text):\n"
                              "    try: return read(text)\n"
                              "    except ValueError: return None\n"
                              "for line in open(sys.argv[1]):\n"
                              "    text = bytes.fromhex(line.strip()).decode()\n"
                              "    f, i = hear(float, text), hear(int, text)\n"
                              "    print('-' if f is None else f.hex(), '-' if i is None else "
                              "min(max(i, -2**63), 2**63 - 1))\n";

static void write_questions(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    uint32_t seed = 1;
    for (int i = 0; i < STRINGS; i++) {
        char text[MOST_PIECES * 8 + 1];
        random_text(&seed, text);
        for (const char *c = text; *c; c++)
            fprintf(file, "%02x", (unsigned char)*c);
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
}

static void assert_same(const char *text, const char *python_f, const char *python_i)
{
    double number = 0;
    int64_t whole = 0;
    const bool is_float = python_float(text, &number, NULL) == FP8MOE_OK;
    const bool is_int = python_int(text, &whole, NULL) == FP8MOE_OK;
    if (is_float != (strcmp(python_f, "-") != 0))
        fail_msg("float('%s'): Python %s", text, python_f);
    if (is_int != (strcmp(python_i, "-") != 0)) fail_msg("int('%s'): Python %s", text, python_i);
    const double want = is_float ? strtod(python_f, NULL) : 0;
    if (is_float && number != want && !(isnan(number) && isnan(want)))
        fail_msg("float('%s'): %a, Python %s", text, number, python_f);
    if (is_int && whole != strtoll(python_i, NULL, 10))
        fail_msg("int('%s'): %lld, Python %s", text, (long long)whole, python_i);
}

static void strings_as_python_reads_them(void **state)
{
    (void)state;
    char path[] = "fp8moe-python-XXXXXX";
    const int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    write_questions(path);
    FILE *answers = ask_python(program, path);
    if (!answers) {
        remove(path);
        skip();
    }
    uint32_t seed = 1;
    int numbers = 0;
    for (int i = 0; i < STRINGS; i++) {
        char text[MOST_PIECES * 8 + 1], python_f[64], python_i[64];
        random_text(&seed, text);
        assert_int_equal(fscanf(answers, "%63s %63s", python_f, python_i), 2);
        assert_same(text, python_f, python_i);
        numbers += strcmp(python_f, "-") != 0;
    }
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(remove(path), 0);
    assert_in_range(numbers, STRINGS / 20, STRINGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_by_hand),       cmocka_unit_test(nan_is_a_float),
        cmocka_unit_test(integers_by_hand),     cmocka_unit_test(long_numbers),
        cmocka_unit_test(truth_is_one_or_true), cmocka_unit_test(strings_as_python_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

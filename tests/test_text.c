/* UTF-8 and decimal numbers. Expected doubles come from the C library's strtod in the "C" locale,
 * which this module must not use. */
#include "text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void check_number(const char *text)
{
    double got = -1;
    const double want = strtod(text, NULL);
    const bool finite = want - want == 0;
    const bool ok = text_to_f64(text, strlen(text), &got);
    if (ok != finite || (finite && memcmp(&got, &want, sizeof got) != 0))
        fail_msg("%s: want %.17g, got %.17g (%d)", text, want, got, ok);
}

static void test_numbers_at_the_edges(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1",
        "-1",
        "0.1",
        "1e0",
        "1E+2",
        "1e-2",
        "123456789012345678",
        "9007199254740993",         /* 2^53 + 1: a tie, to even */
        "9007199254740993.00001",   /* just above it */
        "9007199254740995",         /* tie upwards */
        "1.7976931348623157e308",   /* largest */
        "1.7976931348623158e308",   /* still rounds to the largest */
        "1.797693134862315807e308", /* just below the tie with infinity */
        "1.7976931348623159e308",   /* infinity */
        "1e309",
        "1e99999999999999999999",
        "-1e400",
        "1e-99999999999999999999",
        "2.2250738585072014e-308", /* least normal */
        "2.2250738585072011e-308", /* just below it: a well-known hang of other parsers */
        "2."
        "225073858507201136057409796709131975934819546351645648023426109724822222021076945516529523"
        "908135087914149158913039621106870086438694594645527657207407820621743379988141063267329253"
        "552286881372149012981122451451889849057222307285255133155755015914397476397983411801999323"
        "962548289017107081850690630666655994938275772572015763062690663332647565300009245888316433"
        "037779791869612049497390377829704905051080609940730262937128958950003583799967207254304360"
        "284078895771796150945516748243471030702609144621572289880258182545180325707018860872113128"
        "079512233426288368622321503775666622503982534335974568884423900265498198385487948292206894"
        "721689831099698365846814022854243330660339850886445804001034933970427567186443383770486037"
        "86162277173854562306587467901408672332763671875e-308",
        "5e-324",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324", /* tie of least and zero: 0 */
        "2.4703282292062328e-324",
        "2.4703282292062329e-324",
        "7.4109846876186982e-324",
        "1e-323",
        "1e-324",
        "1e-400",
        "0e999999",
        "8.5e-320",
        "1.00000005960464477539062500",
        "1e22",
        "1e23",
        "8.589934592e9",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_number(texts[i]);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

static void test_numbers_at_random(void **state)
{
    uint64_t seed = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        char text[80];
        const uint64_t digits = next_random(&seed) >> (next_random(&seed) % 60);
        const int exponent = (int)(next_random(&seed) % 700) - 360;
        (void)snprintf(text, sizeof text, "%s%llu.%lue%d", i % 2 ? "-" : "",
                       (unsigned long long)digits, (unsigned long)(next_random(&seed) % 100000),
                       exponent);
        check_number(text);
    }
}

/* Half way between two neighbouring doubles, written out in full, and one digit more. */
static void test_numbers_half_way(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = next_random(&seed) % (UINT64_C(0x433) << 52); /* below 2^52: halves exist */
        double low;
        memcpy(&low, &bits, sizeof low);
        bits++;
        double high;
        memcpy(&high, &bits, sizeof high);
        const long double middle = ((long double)low + (long double)high) / 2;
        char text[1300];
        int size = snprintf(text, sizeof text, "%.1200Lf", middle);
        while (text[size - 1] == '0')
            size--;
        text[size] = '\0';
        if (size > 900) continue; /* more digits than are read */
        check_number(text);
        strcat(text, "1");
        check_number(text);
    }
}

static void test_too_many_digits(void **state)
{
    char text[1200];
    double value;
    (void)state;
    memset(text, '1', sizeof text);
    assert_true(text_to_f64(text, 300, &value));
    assert_false(text_to_f64(text, 1100, &value));
}

static void test_numbers_ignore_the_locale(void **state)
{
    double value;
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) skip();
    assert_true(text_to_f64("0.5", 3, &value));
    assert_true(value == 0.5);
    (void)setlocale(LC_ALL, "C");
}

static void test_integers(void **state)
{
    int64_t i;
    uint64_t u;
    (void)state;
    assert_true(text_to_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_true(text_to_i64("9223372036854775807", 19, &i) && i == INT64_MAX);
    assert_false(text_to_i64("9223372036854775808", 19, &i));
    assert_false(text_to_i64("-9223372036854775809", 20, &i));
    assert_true(text_to_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_false(text_to_u64("18446744073709551616", 20, &u));
    assert_false(text_to_u64("18446744073709551620", 20, &u)); /* 4 after wrapping around */
    assert_false(text_to_u64("", 0, &u));
    assert_false(text_to_i64("-", 1, &i));
    assert_false(text_to_i64("1x", 2, &i));
    assert_false(text_to_u64("-1", 2, &u));
}

/* Against the definition: a code point is written in its shortest form; everything else is refused.
 */
static void test_utf8(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char text[4];
        const size_t size = text_utf8_write(c, text);
        const size_t want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
        assert_int_equal(size, want);
        assert_int_equal(text_utf8_char((const uint8_t *)text, size), surrogate ? 0 : want);
        if (size > 1) assert_int_equal(text_utf8_char((const uint8_t *)text, size - 1), 0);
    }
    static const char *const bad[] = {
        "\x80",         "\xC0\x80",         "\xC1\xBF",         "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFF",         "\xC2\x41",         "\xE1\x80\x41",     "\xF1\x80\x80\x41"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_utf8_char((const uint8_t *)bad[i], strlen(bad[i])), 0);
    assert_int_equal(text_utf8_check("ab\xC3\xA9\xFFz", 6), 4);
    assert_int_equal(text_utf8_check("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_at_the_edges),
        cmocka_unit_test(test_numbers_at_random),
        cmocka_unit_test(test_numbers_half_way),
        cmocka_unit_test(test_too_many_digits),
        cmocka_unit_test(test_numbers_ignore_the_locale),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "python.h"

#include "common.h"
#include "limits.h"
#include "text.h"

#include <math.h>
#include <string.h>

/* Python refuses to convert longer ones (sys.int_info.default_max_str_digits). */
#define INT_DIGITS_MAX 4300

/* ---- characters as Python sees them ---- */

/* Blanks beyond ASCII (Unicode: White_Space, as str.isspace has it), first and last of each run. */
static const uint32_t blanks[][2] = {
    {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

/* The zeros of Unicode's decimal digits (category Nd); nine more digits follow each. */
static const uint32_t zeros[] = {
    0x660,   0x6F0,   0x7C0,   0x966,   0x9E6,   0xA66,   0xAE6,   0xB66,   0xBE6,   0xC66,
    0xCE6,   0xD66,   0xDE6,   0xE50,   0xED0,   0xF20,   0x1040,  0x1090,  0x17E0,  0x1810,
    0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50,  0x1BB0,  0x1C40,  0x1C50,  0xA620,  0xA8D0,
    0xA900,  0xA9D0,  0xA9F0,  0xAA50,  0xABF0,  0xFF10,  0x104A0, 0x10D30, 0x11066, 0x110F0,
    0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950,
    0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
};

static char ascii_of(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
        if (code_point >= blanks[i][0] && code_point <= blanks[i][1]) return ' ';
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        if (code_point >= zeros[i] && code_point < zeros[i] + 10)
            return (char)('0' + (code_point - zeros[i]));
    return '?';
}

static uint32_t decode_utf8(const uint8_t *text, size_t length)
{
    uint32_t code_point = length == 2 ? text[0] & 0x1F : length == 3 ? text[0] & 0x0F : text[0] & 7;
    for (size_t i = 1; i < length; i++)
        code_point = code_point << 6 | (text[i] & 0x3F);
    return code_point;
}

/* A text read one character ahead. */
typedef struct scanner {
    const char *next;
    char now; /* '\0' at the end, '?' for what is neither ASCII nor a blank nor a digit */
} scanner;

static void advance(scanner *s)
{
    const uint8_t *next = (const uint8_t *)s->next;
    if (next[0] < 0x80) {
        s->now = s->next[0];
        if (s->now) s->next++;
        return;
    }
    const size_t length = text_utf8_char(next, strlen(s->next));
    s->now = length ? ascii_of(decode_utf8(next, length)) : '?';
    s->next += length ? length : 1;
}

static scanner scanner_at(const char *text)
{
    scanner s = {.next = text};
    advance(&s);
    return s;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(scanner *s)
{
    while (s->now == ' ' || (s->now >= '\t' && s->now <= '\r'))
        advance(s);
}

static bool take(scanner *s, char c)
{
    if (s->now != c) return false;
    advance(s);
    return true;
}

static bool take_sign(scanner *s)
{
    if (take(s, '-')) return true;
    take(s, '+');
    return false;
}

/* Digits as they came, underscores dropped. */
typedef struct digits {
    char text[LIMIT_NUMBER_DIGITS + 8];
    size_t size;
    size_t count; /* of all digits, also of those that found no room */
} digits;

/* A leading zero gives way to the digit after it. */
static void put(digits *d, char c)
{
    if (d->size == 1 && d->text[0] == '0' && is_digit(c)) d->size = 0;
    if (d->size < sizeof d->text) d->text[d->size++] = c;
}

/* A run of digits, single underscores only between two of them; false where there is none. */
static bool take_digits(scanner *s, digits *d)
{
    if (!is_digit(s->now)) return false;
    while (is_digit(s->now)) {
        put(d, s->now);
        d->count++;
        advance(s);
        if (s->now != '_') continue;
        advance(s);
        if (!is_digit(s->now)) return false;
    }
    return true;
}

/* ---- float ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool take_word(scanner *s, const char *word)
{
    scanner ahead = *s;
    for (; *word; word++) {
        if (lower(ahead.now) != *word) return false;
        advance(&ahead);
    }
    *s = ahead;
    return true;
}

static bool take_named(scanner *s, double *out)
{
    if (take_word(s, "infinity") || take_word(s, "inf"))
        *out = (double)INFINITY;
    else if (take_word(s, "nan"))
        *out = (double)NAN;
    else
        return false;
    return true;
}

/* Into the plain form text_to_f64 reads: a digit on each side of the point, an exponent always. */
static bool take_decimal(scanner *s, digits *d)
{
    const bool whole = is_digit(s->now);
    if (!whole) put(d, '0');
    if (whole && !take_digits(s, d)) return false;
    if (take(s, '.')) {
        put(d, '.');
        const bool part = is_digit(s->now);
        if (!part && !whole) return false;
        if (!part) put(d, '0');
        if (part && !take_digits(s, d)) return false;
    } else if (!whole) {
        return false;
    }
    if (lower(s->now) != 'e') return true;
    advance(s);
    put(d, 'e');
    if (take_sign(s)) put(d, '-');
    return take_digits(s, d);
}

fp8moe_status python_float(const char *text, double *out, fp8moe_error *err)
{
    scanner s = scanner_at(text);
    digits d = {.size = 0};
    skip_blanks(&s);
    const bool negative = take_sign(&s);
    const bool named = take_named(&s, out);
    const bool read = named || take_decimal(&s, &d);
    skip_blanks(&s);
    if (!read || s.now != '\0')
        return fail(err, FP8MOE_ERR_VALUE, "could not convert string to float: '%.200s'", text);
    if (d.count > LIMIT_NUMBER_DIGITS)
        return fail(err, FP8MOE_ERR_UNSUPPORTED, "a number of %llu digits; at most %d are read",
                    (unsigned long long)d.count, LIMIT_NUMBER_DIGITS);
    if (!named && !text_to_f64(d.text, d.size, out)) *out = (double)INFINITY;
    if (negative) *out = -*out;
    return FP8MOE_OK;
}

/* ---- int and bool ---- */

static int64_t integer_of(const digits *d, bool negative)
{
    const int64_t last = negative ? INT64_MIN : INT64_MAX;
    uint64_t value = 0;
    for (size_t i = 0; i < d->size; i++) {
        const uint64_t digit = (uint64_t)(d->text[i] - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10) return last;
        value = value * 10 + digit;
    }
    return negative ? -(int64_t)value : (int64_t)value;
}

fp8moe_status python_int(const char *text, int64_t *out, fp8moe_error *err)
{
    scanner s = scanner_at(text);
    digits d = {.size = 0};
    skip_blanks(&s);
    const bool negative = take_sign(&s);
    const bool read = take_digits(&s, &d);
    skip_blanks(&s);
    if (!read || s.now != '\0')
        return fail(err, FP8MOE_ERR_VALUE, "invalid literal for int() with base 10: '%.200s'",
                    text);
    if (d.count > INT_DIGITS_MAX)
        return fail(err, FP8MOE_ERR_VALUE,
                    "Exceeds the limit (%d digits) for integer string conversion: value has %llu "
                    "digits",
                    INT_DIGITS_MAX, (unsigned long long)d.count);
    *out = integer_of(&d, negative);
    return FP8MOE_OK;
}

bool python_is_true(const char *text)
{
    static const char word[] = "true";
    if (strcmp(text, "1") == 0) return true;
    if (strlen(text) != sizeof word - 1) return false;
    for (size_t i = 0; i < sizeof word - 1; i++)
        if (lower(text[i]) != word[i]) return false;
    return true;
}

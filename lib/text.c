#include "text.h"

#include "limits.h"

#include <assert.h>
#include <string.h>

/* Length by leading byte, and the range of the second byte (Unicode standard, table 3-7). */
static const struct {
    uint8_t first, last, length, second_min, second_max;
} utf8_rows[] = {
    {0x00, 0x7F, 1, 0, 0},       {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

size_t text_utf8_char(const uint8_t *text, size_t size)
{
    assert(size > 0);
    for (size_t row = 0; row < sizeof utf8_rows / sizeof utf8_rows[0]; row++) {
        if (text[0] < utf8_rows[row].first || text[0] > utf8_rows[row].last) continue;
        const size_t length = utf8_rows[row].length;
        if (length > size) return 0;
        if (length > 1 &&
            (text[1] < utf8_rows[row].second_min || text[1] > utf8_rows[row].second_max))
            return 0;
        for (size_t i = 2; i < length; i++)
            if ((text[i] & 0xC0) != 0x80) return 0;
        return length;
    }
    return 0;
}

size_t text_utf8_check(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const size_t length = text_utf8_char((const uint8_t *)text + at, size - at);
        if (!length) break;
        at += length;
    }
    return at;
}

size_t text_utf8_write(uint32_t code_point, char out[4])
{
    static const uint32_t first_of_length[] = {0, 0x80, 0x800, 0x10000};
    static const uint8_t lead[] = {0x00, 0xC0, 0xE0, 0xF0};
    size_t length = 4;
    while (code_point < first_of_length[length - 1])
        length--;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = (char)(lead[length - 1] | code_point);
    return length;
}

bool text_to_u64(const char *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    if (!size) return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool text_to_i64(const char *text, size_t size, int64_t *out)
{
    const bool negative = size && text[0] == '-';
    uint64_t magnitude;
    if (!text_to_u64(text + negative, size - negative, &magnitude)) return false;
    if (magnitude > (uint64_t)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* A natural number in base 2^32, lowest limb first. LIMIT_NUMBER_DIGITS digits and a power of ten
 * as large as a subnormal needs (about 10^1330), shifted by at most 64 bits, stay below 2^4700. */
enum { LIMBS = 160 };

typedef struct natural {
    uint32_t limb[LIMBS];
    int count; /* no leading zero limb */
} natural;

static void natural_mul_add(natural *n, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < n->count; i++) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) {
        assert(n->count < LIMBS);
        n->limb[n->count++] = (uint32_t)carry;
    }
}

static void natural_mul_pow10(natural *n, int exponent)
{
    for (; exponent >= 9; exponent -= 9)
        natural_mul_add(n, 1000000000, 0);
    for (; exponent > 0; exponent--)
        natural_mul_add(n, 10, 0);
}

static int natural_bits(const natural *n)
{
    assert(n->count > 0);
    int bits = 32 * (n->count - 1);
    for (uint32_t top = n->limb[n->count - 1]; top; top >>= 1)
        bits++;
    return bits;
}

static void natural_shift_left(natural *n, int bits)
{
    for (; bits >= 31; bits -= 31)
        natural_mul_add(n, UINT32_C(1) << 31, 0);
    natural_mul_add(n, UINT32_C(1) << bits, 0);
}

static bool natural_at_least(const natural *a, const natural *b)
{
    if (a->count != b->count) return a->count > b->count;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] > b->limb[i];
    return true;
}

/* a -= b, where a >= b */
static void natural_subtract(natural *a, const natural *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        const uint64_t take = (i < b->count ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->count && !a->limb[a->count - 1])
        a->count--;
}

/* The double nearest to above / below, both positive, by long division bit by bit: 53 bits of
 * quotient (fewer for a subnormal), then the remainder decides the rounding. False above DBL_MAX.
 */
static bool natural_ratio(natural *above, natural *below, double *out)
{
    int exponent = natural_bits(above) - natural_bits(below);
    natural_shift_left(exponent < 0 ? above : below, exponent < 0 ? -exponent : exponent);
    if (!natural_at_least(above, below)) {
        natural_mul_add(above, 2, 0);
        exponent--;
    }
    if (exponent > 1023) return false;
    const int digits = exponent < -1022 ? 53 + (exponent + 1022) : 53;
    uint64_t quotient = 0;
    for (int i = 0; i < digits; i++) { /* invariant: above < 2 * below */
        const bool one = natural_at_least(above, below);
        if (one) natural_subtract(above, below);
        quotient = 2 * quotient + one;
        natural_mul_add(above, 2, 0);
    }
    /* above is now twice the remainder: the half way point is below */
    const bool half_or_more = digits >= 0 && natural_at_least(above, below);
    if (half_or_more) natural_subtract(above, below);
    quotient += half_or_more && (above->count || (quotient & 1));
    /* a carry out of the fraction moves into the exponent field by itself */
    const uint64_t biased = exponent < -1022 ? 0 : (uint64_t)(exponent + 1022);
    const uint64_t bits = (biased << 52) + quotient;
    if (bits >= UINT64_C(0x7FF) << 52) return false;
    memcpy(out, &bits, sizeof *out);
    return true;
}

/* The parts of a decimal number: digits * 10^exponent10. */
typedef struct decimal {
    natural digits;
    int digit_count;
    int exponent10; /* clamped to +-100000 */
    bool negative;
} decimal;

static int read_exponent(const char *text, const char *end)
{
    const bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+')) text++;
    int exponent = 0;
    for (; text < end && exponent < 100000; text++)
        exponent = 10 * exponent + (*text - '0');
    return negative ? -exponent : exponent;
}

static bool read_decimal(const char *text, size_t size, decimal *d)
{
    const char *const end = text + size;
    memset(d, 0, sizeof *d);
    d->negative = size && *text == '-';
    int fraction = 0;
    bool after_point = false;
    for (text += d->negative; text < end && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            after_point = true;
            continue;
        }
        if (++d->digit_count > LIMIT_NUMBER_DIGITS) return false;
        natural_mul_add(&d->digits, 10, (uint32_t)(*text - '0'));
        fraction += after_point;
    }
    d->exponent10 = (text < end ? read_exponent(text + 1, end) : 0) - fraction;
    return true;
}

bool text_to_f64(const char *text, size_t size, double *out)
{
    decimal d;
    if (!read_decimal(text, size, &d)) return false;
    double magnitude = 0;
    const int top = d.exponent10 + d.digit_count; /* the value is below 10^top */
    if (d.digits.count && top >= -330) {
        if (d.exponent10 > 310) return false;
        natural below = {.limb = {1}, .count = 1};
        natural_mul_pow10(d.exponent10 < 0 ? &below : &d.digits,
                          d.exponent10 < 0 ? -d.exponent10 : d.exponent10);
        if (!natural_ratio(&d.digits, &below, &magnitude)) return false;
    }
    *out = d.negative ? -magnitude : magnitude;
    return true;
}

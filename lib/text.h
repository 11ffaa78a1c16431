/* Bytes as characters and decimal numbers, the same under every locale. */
#ifndef FP8MOE_LIB_TEXT_H
#define FP8MOE_LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character that starts at text[0] (1 to 4), or 0 where there is none: a stray
 * or missing continuation byte, an overlong form, a surrogate, a value above U+10FFFF. size > 0. */
size_t text_utf8_char(const uint8_t *text, size_t size);

/* Index of the first byte that is not part of valid UTF-8; `size` where all of it is. */
size_t text_utf8_check(const char *text, size_t size);

/* Write the UTF-8 form of a code point that is no surrogate; returns its bytes (1 to 4). */
size_t text_utf8_write(uint32_t code_point, char out[4]);

/* The double nearest to a decimal number, ties to even, rounded once however many digits there are.
 * `text` is digits, optionally with a leading '-', a '.' and digits, and e or E with an exponent;
 * that it has this form is the caller's to check. False where it is beyond the largest finite
 * double or has more than LIMIT_NUMBER_DIGITS digits. */
bool text_to_f64(const char *text, size_t size, double *out);

/* An integer of the form -?[0-9]+ into *out; false where 64 bits do not hold it (or the form is
 * another). Negative numbers only fit text_to_i64. */
bool text_to_i64(const char *text, size_t size, int64_t *out);
bool text_to_u64(const char *text, size_t size, uint64_t *out);

#endif

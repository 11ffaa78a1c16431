/* What every file of lib/ uses: failing with a sentence, checked sizes. */
#ifndef FP8MOE_LIB_COMMON_H
#define FP8MOE_LIB_COMMON_H

#include <assert.h>
#include <fp8moe/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

/* Return early with whatever failed below. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const fp8moe_status try_status_ = (call);                                                  \
        if (try_status_ != FP8MOE_OK) return try_status_;                                          \
    } while (0)

/* Fill *err (which may be NULL) with a sentence and return `status`. The sentence names neither
 * file nor tensor: those have fields of their own, set by fail_at and by whoever knows them. */
fp8moe_status fail(fp8moe_error *err, fp8moe_status status, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The same with a tensor (may be NULL) and a byte offset (or -1). */
fp8moe_status fail_at(fp8moe_error *err, fp8moe_status status, const char *tensor, int64_t offset,
                      const char *format, ...) PRINTF_LIKE(5, 6);

/* Add what the caller knows to an error on its way up: empty fields only. Returns `status`. */
fp8moe_status error_in_file(fp8moe_error *err, fp8moe_status status, const char *file);
fp8moe_status error_in_tensor(fp8moe_error *err, fp8moe_status status, const char *tensor);

/* a * b into *out; false on overflow. Both operands at least 0. */
bool checked_mul(int64_t a, int64_t b, int64_t *out);
/* a + b into *out; false on overflow. */
bool checked_add(int64_t a, int64_t b, int64_t *out);

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

/* The part of cmocka's interface that the tests use, where the library itself is not there: builds
 * for another architecture, run under an emulator. Its results are printed as cmocka prints them.
 */
#ifndef FP8MOE_TESTS_SMALL_CMOCKA_H
#define FP8MOE_TESTS_SMALL_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*function)(void **state);
};

#define cmocka_unit_test(function)                                                                 \
    {                                                                                              \
#function, function                                                                        \
    }

enum { SMALL_CMOCKA_PASSED, SMALL_CMOCKA_FAILED, SMALL_CMOCKA_SKIPPED };

static jmp_buf small_cmocka_end;
static int small_cmocka_result;

static inline _Noreturn void small_cmocka_leave(int result)
{
    small_cmocka_result = result;
    longjmp(small_cmocka_end, 1);
}

static inline _Noreturn void small_cmocka_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%d: ", file, line);
    (void)vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    small_cmocka_leave(SMALL_CMOCKA_FAILED);
}

#define fail_msg(...) small_cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail() fail_msg("fail()")
#define skip() small_cmocka_leave(SMALL_CMOCKA_SKIPPED)
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) fprintf(stderr, __VA_ARGS__)

#define assert_true(condition) ((condition) ? (void)0 : fail_msg("not true: %s", #condition))
#define assert_false(condition) ((condition) ? fail_msg("not false: %s", #condition) : (void)0)
#define assert_null(pointer) assert_true((pointer) == NULL)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_int_equal(a, b)                                                                     \
    small_cmocka_equal((uintmax_t)(a), (uintmax_t)(b), __FILE__, __LINE__, #a " == " #b)
#define assert_int_not_equal(a, b) assert_true((uintmax_t)(a) != (uintmax_t)(b))
#define assert_in_range(value, least, most)                                                        \
    small_cmocka_range((uintmax_t)(value), (uintmax_t)(least), (uintmax_t)(most), __FILE__,        \
                       __LINE__)
#define assert_string_equal(a, b) small_cmocka_same_text((a), (b), __FILE__, __LINE__)
#define assert_string_not_equal(a, b) assert_true(strcmp((a), (b)) != 0)
#define assert_memory_equal(a, b, size) assert_true(memcmp((a), (b), (size)) == 0)
#define assert_memory_not_equal(a, b, size) assert_true(memcmp((a), (b), (size)) != 0)

static inline void small_cmocka_equal(uintmax_t a, uintmax_t b, const char *file, int line,
                                      const char *what)
{
    if (a != b) small_cmocka_fail(file, line, "%s: %#jx, %#jx", what, a, b);
}

static inline void small_cmocka_range(uintmax_t value, uintmax_t least, uintmax_t most,
                                      const char *file, int line)
{
    if (value < least || value > most)
        small_cmocka_fail(file, line, "%jd is not within %jd and %jd", value, least, most);
}

static inline void small_cmocka_same_text(const char *a, const char *b, const char *file, int line)
{
    if (strcmp(a, b) != 0) small_cmocka_fail(file, line, "\"%s\" is not \"%s\"", a, b);
}

typedef int (*small_cmocka_fixture)(void **state);

static inline int small_cmocka_run(const struct CMUnitTest *tests, size_t count,
                                   small_cmocka_fixture setup, small_cmocka_fixture teardown)
{
    static const char *const words[] = {"      OK", " FAILED ", " SKIPPED"};
    static int total[3];
    static size_t i; /* static: they live across longjmp */
    static void *state;
    if (setup && setup(&state) != 0) return 1;
    for (i = 0; i < count; i++) {
        small_cmocka_result = SMALL_CMOCKA_PASSED;
        if (setjmp(small_cmocka_end) == 0) tests[i].function(&state);
        total[small_cmocka_result]++;
        printf("[ %s ] %s\n", words[small_cmocka_result], tests[i].name);
    }
    printf("[  PASSED  ] %d test(s).\n", total[SMALL_CMOCKA_PASSED]);
    if (total[SMALL_CMOCKA_SKIPPED])
        printf("[  SKIPPED ] %d test(s), listed below:\n", total[SMALL_CMOCKA_SKIPPED]);
    if (total[SMALL_CMOCKA_FAILED])
        printf("[  FAILED  ] %d test(s), listed below:\n", total[SMALL_CMOCKA_FAILED]);
    return total[SMALL_CMOCKA_FAILED] + (teardown && teardown(&state) != 0);
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    small_cmocka_run(tests, sizeof(tests) / sizeof(tests)[0], setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    cmocka_run_group_tests(tests, setup, teardown)

#endif

/* Dots in a random order: the order is one, the additions are f32, the generator is splitmix64. */
#include "shuffle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The first outputs that the generator's authors publish for these seeds. */
static void the_generator_is_splitmix64(void **state)
{
    (void)state;
    uint64_t zero = 0, other = 1234567;
    assert_true(shuffle_next(&zero) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(shuffle_next(&zero) == UINT64_C(0x6E789E6AA1B965F4));
    assert_true(shuffle_next(&zero) == UINT64_C(0x06C45D188009454F));
    assert_true(shuffle_next(&other) == UINT64_C(6457827717110365317));
    assert_true(shuffle_next(&other) == UINT64_C(3203168211198807973));
}

static shuffle made(uint64_t seed, int64_t length)
{
    shuffle s;
    fp8moe_error err;
    assert_int_equal(shuffle_init(&s, seed, length, &err), FP8MOE_OK);
    return s;
}

static void an_order_holds_every_term_once(void **state)
{
    (void)state;
    for (int64_t length = 1; length < 400; length += 7) {
        char seen[400] = {0};
        shuffle s = made(3, length);
        assert_int_equal(s.length, length);
        assert_true(s.chunk >= 16 && s.chunk <= 256);
        for (int64_t i = 0; i < length; i++) {
            assert_in_range(s.order[i], 0, length - 1);
            assert_false(seen[s.order[i]]++);
        }
        shuffle_free(&s);
        assert_null(s.order);
    }
}

static void seeds_and_lengths_have_orders_of_their_own(void **state)
{
    (void)state;
    shuffle a = made(1, 100), b = made(2, 100), again = made(1, 100), longer = made(1, 101);
    int moved = 0;
    for (int i = 0; i < 100; i++)
        moved += a.order[i] != i;
    assert_true(moved > 80);
    assert_memory_equal(a.order, again.order, 100 * sizeof *a.order);
    assert_memory_not_equal(a.order, b.order, 100 * sizeof *a.order);
    assert_memory_not_equal(a.order, longer.order, 100 * sizeof *a.order);
    int chunks[17] = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        shuffle s = made(seed, 10);
        chunks[s.chunk / 16]++;
        shuffle_free(&s);
    }
    for (int size = 1; size <= 16; size *= 2)
        assert_true(chunks[size] > 5); /* 16, 32 .. 256 */
    shuffle_free(&a);
    shuffle_free(&b);
    shuffle_free(&again);
    shuffle_free(&longer);
}

/* f32 partial sums over `chunk` terms each, then their f32 sum. */
static float expected_dot(const shuffle *s, const double *a, const double *w)
{
    float total = 0, part = 0;
    for (int64_t i = 0; i < s->length; i++) {
        const int32_t at = s->order[i];
        part = (float)((double)part + a[at] * w[at]);
        if ((i + 1) % s->chunk && i + 1 < s->length) continue;
        total += part;
        part = 0;
    }
    return total;
}

static void sums_are_f32_in_that_order(void **state)
{
    (void)state;
    enum { A = 2, W = 3, N = 500, STRIDE = 5 };
    double a[A * N], w[W * N], out[A * STRIDE];
    uint64_t random = 1;
    for (int i = 0; i < A * N; i++)
        a[i] = (double)(float)((double)(shuffle_next(&random) >> 11) * 0x1p-52 - 1);
    for (int i = 0; i < W * N; i++)
        w[i] = (double)(float)((double)(shuffle_next(&random) >> 11) * 0x1p-52 - 1);
    for (uint64_t seed = 0; seed < 20; seed++) {
        shuffle s = made(seed, N);
        for (int i = 0; i < A * STRIDE; i++)
            out[i] = 99;
        shuffle_dot(&s, out, STRIDE, a, A, w, W, N);
        for (int i = 0; i < A; i++)
            for (int r = 0; r < STRIDE; r++)
                assert_true(out[i * STRIDE + r] ==
                            (r < W ? (double)expected_dot(&s, a + i * N, w + r * N) : 99));
        shuffle_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_splitmix64),
        cmocka_unit_test(an_order_holds_every_term_once),
        cmocka_unit_test(seeds_and_lengths_have_orders_of_their_own),
        cmocka_unit_test(sums_are_f32_in_that_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

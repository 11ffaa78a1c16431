/* The parallel loop: every item once, by one worker, whatever can be started. */
#include "parallel.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#define MAX_ITEMS 1000
#define MAX_THREADS 300

/* Threads the system still grants: the linker sends pthread_create() here. */
static int threads_left;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (threads_left == 0) return EAGAIN;
    threads_left--;
    return __real_pthread_create(thread, attributes, start, argument);
}

/* No lock: each place has one writer, and a race would be a finding of the sanitizers. */
typedef struct record {
    int visits[MAX_ITEMS];
    int worker[MAX_ITEMS];
    int calls[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
} record;

static void note(void *context, int64_t first, int64_t last, int worker)
{
    record *const r = context;
    r->calls[worker]++;
    r->thread[worker] = pthread_self();
    for (int64_t i = first; i < last; i++) {
        r->visits[i]++;
        r->worker[i] = worker;
    }
}

static void check_split(int threads, int64_t count)
{
    static record r;
    r = (record){.calls = {0}};
    parallel_for(threads, count, note, &r);
    for (int64_t i = 0; i < MAX_ITEMS; i++)
        assert_int_equal(r.visits[i], i < count);
    for (int64_t i = 1; i < count; i++)
        assert_in_range(r.worker[i] - r.worker[i - 1], 0, 1);
    for (int w = 0; w < MAX_THREADS; w++)
        assert_int_equal(r.calls[w], w < threads && w < count);
    if (count) assert_true(pthread_equal(r.thread[0], pthread_self()));
}

static const int thread_counts[] = {1, 2, 3, 7, 64};
static const int64_t item_counts[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, MAX_ITEMS};

static void test_every_item_once(void **state)
{
    (void)state;
    threads_left = 1 << 20;
    for (size_t t = 0; t < sizeof thread_counts / sizeof thread_counts[0]; t++)
        for (size_t c = 0; c < sizeof item_counts / sizeof item_counts[0]; c++)
            check_split(thread_counts[t], item_counts[c]);
}

static void test_parts_differ_by_one_item(void **state)
{
    (void)state;
    static record r;
    r = (record){.calls = {0}};
    threads_left = 1 << 20;
    parallel_for(7, 100, note, &r);
    int sizes[7] = {0};
    for (int i = 0; i < 100; i++)
        sizes[r.worker[i]]++;
    for (int w = 0; w < 7; w++)
        assert_in_range(sizes[w], 14, 15);
}

static void test_workers_run_beside_the_caller(void **state)
{
    (void)state;
    static record r;
    r = (record){.calls = {0}};
    threads_left = 1;
    parallel_for(2, 2, note, &r);
    assert_int_equal(threads_left, 0);
    assert_false(pthread_equal(r.thread[1], pthread_self()));
}

static void test_one_thread_starts_none(void **state)
{
    (void)state;
    threads_left = 5;
    check_split(1, 10);
    check_split(7, 1);
    assert_int_equal(threads_left, 5);
}

static void test_caller_does_what_cannot_be_started(void **state)
{
    (void)state;
    for (int granted = 0; granted < 7; granted++) {
        threads_left = granted;
        check_split(7, 100);
    }
}

static void test_many_threads_are_capped(void **state)
{
    (void)state;
    static record r;
    r = (record){.calls = {0}};
    threads_left = 1 << 20;
    parallel_for(MAX_THREADS, MAX_ITEMS, note, &r);
    for (int i = 0; i < MAX_ITEMS; i++)
        assert_int_equal(r.visits[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),
        cmocka_unit_test(test_parts_differ_by_one_item),
        cmocka_unit_test(test_workers_run_beside_the_caller),
        cmocka_unit_test(test_one_thread_starts_none),
        cmocka_unit_test(test_caller_does_what_cannot_be_started),
        cmocka_unit_test(test_many_threads_are_capped),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}

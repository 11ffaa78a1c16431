/* Decode buckets: the lists of numerics.md 6.4, and the rule against upstream's floats. */
#include "ask_python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <fp8moe/buckets.h>
#include <fp8moe/gate.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void known_lists(void **state)
{
    (void)state;
    static const struct {
        int64_t max_num_seqs;
        int64_t buckets[11]; /* 0 ends */
    } rows[] = {
        {1, {1}},
        {2, {1, 2}},
        {3, {1, 2, 3}},
        {8, {1, 2, 4, 6, 8}},
        {16, {1, 2, 4, 6, 10, 16}},
        {64, {1, 2, 4, 8, 12, 22, 36, 64}},
        {256, {1, 2, 4, 8, 14, 24, 42, 78, 140, 256}},
        {2178, {1, 2, 4, 8, 12, 22, 38, 66}}, /* 2 * 1089^(6/12) is 66, no float step above it */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t got[FP8MOE_MAX_BUCKETS];
        const size_t count = fp8moe_buckets_of(rows[i].max_num_seqs, got);
        for (size_t b = 0; b < COUNT(rows[i].buckets) && rows[i].buckets[b]; b++)
            assert_int_equal(got[b], rows[i].buckets[b]);
        assert_int_equal(got[count - 1], rows[i].max_num_seqs);
    }
}

static void every_list_ascends_to_its_end(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= FP8MOE_MAX_SEQS; n += n < 5000 ? 1 : 997) {
        int64_t got[FP8MOE_MAX_BUCKETS];
        const size_t count = fp8moe_buckets_of(n, got);
        assert_in_range(count, 1, FP8MOE_MAX_BUCKETS);
        for (size_t i = 1; i < count; i++)
            assert_true(got[i] > got[i - 1]);
        assert_true(got[0] == 1 && got[count - 1] == n);
    }
    int64_t got[FP8MOE_MAX_BUCKETS];
    assert_int_equal(fp8moe_buckets_of(FP8MOE_MAX_SEQS, got), FP8MOE_MAX_BUCKETS);
    assert_int_equal(fp8moe_buckets_of(0, got), 0);
    assert_int_equal(fp8moe_buckets_of(-4, got), 0);
    assert_int_equal(fp8moe_buckets_of(FP8MOE_MAX_SEQS + 1, got), 0);
}

/* The rule as numerics.md words it, in floats. */
static const char rule[] =
    "import math\n"
    "for n in range(2, 4097):\n"
    "    m = math.ceil(math.log2(n))\n"
    "    values = [math.ceil(2 * (n / 2) ** (1 / m * i) / 2) * 2 for i in range(m)]\n"
    "    buckets = sorted({1, n} | {min(v, n) for v in values})\n"
    "    print(len(buckets), *buckets)\n";

static void buckets_as_python_spaces_them(void **state)
{
    (void)state;
    FILE *answers = ask_python(rule, "");
    if (!answers) skip();
    for (int64_t n = 2; n <= 4096; n++) {
        int64_t got[FP8MOE_MAX_BUCKETS];
        int count, want;
        assert_int_equal(fscanf(answers, "%d", &count), 1);
        assert_int_equal(fp8moe_buckets_of(n, got), count);
        for (int i = 0; i < count; i++) {
            assert_int_equal(fscanf(answers, "%d", &want), 1);
            if (got[i] != want) fail_msg("max_num_seqs %d: bucket %d", (int)n, i);
        }
    }
    assert_int_equal(pclose(answers), 0);
}

static void requests_are_padded_up(void **state)
{
    (void)state;
    int64_t buckets[FP8MOE_MAX_BUCKETS];
    const size_t count = fp8moe_buckets_of(256, buckets);
    assert_int_equal(fp8moe_bucket_find(buckets, count, 1), 1);
    assert_int_equal(fp8moe_bucket_find(buckets, count, 8), 8);
    assert_int_equal(fp8moe_bucket_find(buckets, count, 9), 14);
    assert_int_equal(fp8moe_bucket_find(buckets, count, 256), 256);
    assert_int_equal(fp8moe_bucket_find(buckets, count, 257), 0);
}

/* E_local 256, K 8: 12 tokens would gather, but there is no bucket between 8 and 14. */
static void nine_live_requests_go_to_stock(void **state)
{
    (void)state;
    int64_t buckets[FP8MOE_MAX_BUCKETS];
    const size_t count = fp8moe_buckets_of(256, buckets);
    fp8moe_gate_facts facts;
    fp8moe_gate_facts_default(&facts);
    for (int64_t requests = 1; requests <= 256; requests++) {
        int64_t tokens;
        fp8moe_gate_decision decision;
        const int64_t bucket = fp8moe_bucket_find(buckets, count, requests);
        assert_int_equal(fp8moe_decode_tokens(bucket, 0, 1, &tokens, NULL), FP8MOE_OK);
        assert_int_equal(fp8moe_gate_decide(fp8moe_gate_version_default(), &facts, tokens, 8, 256,
                                            &decision, NULL),
                         FP8MOE_OK);
        assert_int_equal(decision.path, requests <= 8 ? FP8MOE_PATH_GATHER : FP8MOE_PATH_STOCK);
    }
}

static void tokens_of_a_step(void **state)
{
    (void)state;
    int64_t tokens;
    fp8moe_error err;
    assert_int_equal(fp8moe_decode_tokens(6, 0, 1, &tokens, &err), FP8MOE_OK);
    assert_int_equal(tokens, 6);
    assert_int_equal(fp8moe_decode_tokens(6, 3, 2, &tokens, &err), FP8MOE_OK);
    assert_int_equal(tokens, 6 * 4 * 2);
    assert_int_equal(fp8moe_decode_tokens(-1, 0, 1, &tokens, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_decode_tokens(1, -1, 1, &tokens, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_decode_tokens(1, 0, 0, &tokens, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_decode_tokens(INT64_MAX, 1, 1, &tokens, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_decode_tokens(1, INT64_MAX, 1, &tokens, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_decode_tokens(1 << 30, 0, INT64_MAX, &tokens, &err), FP8MOE_ERR_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_lists),
        cmocka_unit_test(every_list_ascends_to_its_end),
        cmocka_unit_test(buckets_as_python_spaces_them),
        cmocka_unit_test(requests_are_padded_up),
        cmocka_unit_test(nine_live_requests_go_to_stock),
        cmocka_unit_test(tokens_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

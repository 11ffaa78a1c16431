/* Bytes, multiply-adds and crossovers, worked by hand from the definitions in cost.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <fp8moe/cost.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Qwen3.5-35B-A3B on one rank: an expert is 3*512*2048 codes and 4*(1024 + 2048) bytes of scales.
 */
static const fp8moe_cost_shape qwen = {
    .hidden = 2048, .intermediate = 512, .top_k = 8, .num_experts = 256, .local_num_experts = 256};
#define QWEN_CODES 3145728.0
#define QWEN_BYTES 3158016.0

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("got %.17g, want %.17g", got, want);
}

static void stock_reads_all_and_multiplies_the_routed(void **state)
{
    (void)state;
    const fp8moe_cost_load load = fp8moe_cost_expect(&qwen, 4);
    const fp8moe_cost cost = fp8moe_cost_of(&qwen, FP8MOE_PATH_STOCK, &load);
    assert_near(cost.experts_read, 256);
    assert_near(cost.weight_bytes, 256 * QWEN_BYTES);
    assert_true(cost.copied_bytes == 0);
    assert_near(cost.multiplies, 32 * QWEN_CODES);
    assert_near(cost.useful, 1);
}

static void gather_reads_few_and_multiplies_every_token(void **state)
{
    (void)state;
    const fp8moe_cost_load load = fp8moe_cost_expect(&qwen, 4);
    const fp8moe_cost cost = fp8moe_cost_of(&qwen, FP8MOE_PATH_GATHER, &load);
    assert_near(cost.experts_read, 32);
    assert_near(cost.weight_bytes, 32 * QWEN_BYTES);
    assert_near(cost.copied_bytes, 32 * 2 * (QWEN_BYTES + 4.0 * 512 * 2048));
    assert_near(cost.multiplies, 32 * 4 * QWEN_CODES);
    assert_near(cost.useful, 0.25);
    const fp8moe_cost_load many = fp8moe_cost_expect(&qwen, 100);
    assert_near(fp8moe_cost_of(&qwen, FP8MOE_PATH_GATHER, &many).experts_read, 256);
}

static void dense_reads_all_and_multiplies_all(void **state)
{
    (void)state;
    const fp8moe_cost_load load = fp8moe_cost_expect(&qwen, 4);
    const fp8moe_cost cost = fp8moe_cost_of(&qwen, FP8MOE_PATH_DENSE, &load);
    assert_near(cost.weight_bytes, 256 * QWEN_BYTES);
    assert_true(cost.copied_bytes == 0);
    assert_near(cost.multiplies, 256 * 4 * QWEN_CODES);
    assert_near(cost.useful, 32.0 / (256 * 4));
}

/* One token hits exactly its K experts; later ones overlap. A rank sees its share. */
static void expected_experts(void **state)
{
    (void)state;
    static const struct {
        int64_t experts, local, top_k, tokens;
        double unique, pairs;
    } rows[] = {
        {256, 256, 8, 0, 0, 0},
        {256, 256, 8, 1, 8, 8},
        {128, 128, 8, 4, 128 * (1 - 0.9375 * 0.9375 * 0.9375 * 0.9375), 32},
        {128, 32, 8, 2, 32 * (1 - 0.9375 * 0.9375), 4},
        {8, 8, 8, 3, 8, 24},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const fp8moe_cost_shape shape = {1, 1, rows[i].top_k, rows[i].experts, rows[i].local};
        const fp8moe_cost_load load = fp8moe_cost_expect(&shape, rows[i].tokens);
        assert_near(load.experts, rows[i].unique);
        assert_near(load.pairs, rows[i].pairs);
        assert_false(load.counted);
    }
    const fp8moe_cost_load endless = fp8moe_cost_expect(&qwen, INT64_MAX);
    assert_near(endless.experts, 256);
}

static void experts_counted_from_ids(void **state)
{
    (void)state;
    const int32_t ids[] = {4, 5, 7, 4, -1, 6, 6, 6, 1, 0, 3, 2};
    const fp8moe_cost_shape shape = {1, 1, 3, 8, 4};
    const fp8moe_tensor tensor = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I32, 2, (int64_t[]){4, 3});
    fp8moe_cost_load load;
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 1, &load, NULL), FP8MOE_OK);
    assert_true(load.counted && load.tokens == 4);
    assert_near(load.experts, 4); /* 4, 5, 6, 7 */
    assert_near(load.pairs, 6);   /* 3 + 2 + 1 (6 twice is one) */
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 0, &load, NULL), FP8MOE_OK);
    assert_near(load.experts, 4); /* 0, 1, 2, 3 */
    assert_near(load.pairs, 4);
}

static void bad_ids(void **state)
{
    (void)state;
    const int64_t ids[] = {0, 1, 2, 8};
    const fp8moe_cost_shape shape = {1, 1, 2, 8, 8};
    fp8moe_tensor tensor = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, (int64_t[]){2, 2});
    fp8moe_cost_load load;
    fp8moe_error err;
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 0, &load, &err), FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "token 1, slot 1: id 8"));
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 1, &load, &err), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, -1, &load, &err), FP8MOE_ERR_VALUE);
    const fp8moe_cost_shape uneven = {1, 1, 2, 9, 4};
    assert_int_equal(fp8moe_cost_count(&uneven, &tensor, 1, &load, &err), FP8MOE_OK);
    assert_int_equal(fp8moe_cost_count(&uneven, &tensor, 2, &load, &err), FP8MOE_ERR_VALUE);
    tensor.dtype = FP8MOE_DTYPE_F64;
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 0, &load, &err), FP8MOE_ERR_DTYPE);
    tensor = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 1, (int64_t[]){4});
    assert_int_equal(fp8moe_cost_count(&shape, &tensor, 0, &load, &err), FP8MOE_ERR_SHAPE);
}

/* E_local 100, K 1, an expert of 3 codes and 12 bytes of scales: 15 bytes; gather moves 15 + 2*(15
 * + 4) = 53 of them for each of its experts, stock 1500. At one byte a second and no launch cost
 * gather wins while 53 T < 1500: up to T = 28. Twenty seconds of launch cost leave 27. */
static void crossover_by_hand(void **state)
{
    (void)state;
    const fp8moe_cost_shape shape = {1, 1, 1, 100, 100};
    fp8moe_cost_machine machine = {.bandwidth = 1, .copied_share = 1};
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), 28);
    machine.launch[FP8MOE_PATH_GATHER] = 20;
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), 27);
    machine.launch[FP8MOE_PATH_GATHER] = 1447;
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), 0);
    machine.launch[FP8MOE_PATH_GATHER] = 1446.5;
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), 1);
    machine.launch[FP8MOE_PATH_GATHER] = 0;
    machine.copied_share = 0;
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), 99);
    machine.launch[FP8MOE_PATH_STOCK] = 1;
    assert_int_equal(fp8moe_cost_crossover(&shape, &machine), FP8MOE_TOKENS_UNLIMITED);
}

static void seconds_by_hand(void **state)
{
    (void)state;
    fp8moe_cost_machine machine = {.bandwidth = 2e12, .copied_share = 1};
    machine.launch[FP8MOE_PATH_DENSE] = 5e-6;
    const fp8moe_cost cost = {.weight_bytes = 6e6, .copied_bytes = 2e6};
    assert_near(fp8moe_cost_seconds(&machine, FP8MOE_PATH_STOCK, &cost), 4e-6);
    assert_near(fp8moe_cost_seconds(&machine, FP8MOE_PATH_DENSE, &cost), 9e-6);
    machine.copied_share = 0.5;
    assert_near(fp8moe_cost_seconds(&machine, FP8MOE_PATH_STOCK, &cost), 3.5e-6);
}

static void bad_shapes(void **state)
{
    (void)state;
    static const fp8moe_cost_shape bad[] = {
        {0, 1, 1, 8, 8}, {1, 0, 1, 8, 8},
        {1, 1, 0, 8, 8}, {1, 1, 9, 8, 8},
        {1, 1, 1, 8, 9}, {1, 1, 1, 8, 0},
        {1, 1, 1, 0, 0}, {INT64_C(1) << 27, INT64_C(1) << 26, 1, 8, 8},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(fp8moe_cost_check(&bad[i], NULL), FP8MOE_ERR_VALUE);
    assert_int_equal(fp8moe_cost_check(&qwen, NULL), FP8MOE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stock_reads_all_and_multiplies_the_routed),
        cmocka_unit_test(gather_reads_few_and_multiplies_every_token),
        cmocka_unit_test(dense_reads_all_and_multiplies_all),
        cmocka_unit_test(expected_experts),
        cmocka_unit_test(experts_counted_from_ids),
        cmocka_unit_test(bad_ids),
        cmocka_unit_test(crossover_by_hand),
        cmocka_unit_test(seconds_by_hand),
        cmocka_unit_test(bad_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

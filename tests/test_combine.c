/* The weighted sum: order, duplicates, and where it rounds. */
#include "combine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static fp8moe_recipe row_of(const char *settings)
{
    fp8moe_recipe r = *fp8moe_recipe_find("stock");
    assert_int_equal(fp8moe_recipe_apply(&r, settings, NULL), FP8MOE_OK);
    return r;
}

/* ---- order and duplicates ---- */

typedef struct order_row {
    const char *why, *settings;
    int given;
    int64_t experts[5];
    double weights[5];
    int kept;
    int64_t slots[5]; /* of what is kept, in order */
    double sums[5];
} order_row;

static const order_row order_rows[] = {
    {"slot order stays", "order=slot", 3, {2, 0, 1}, {1, 2, 3}, 3, {0, 1, 2}, {1, 2, 3}},
    {"ascending ids", "order=expert", 3, {2, 0, 1}, {1, 2, 3}, 3, {1, 2, 0}, {2, 3, 1}},
    {"unstated sums ascend, too",
     "order=unstated",
     3,
     {2, 0, 1},
     {1, 2, 3},
     3,
     {1, 2, 0},
     {2, 3, 1}},
    {"equal ids keep their slots",
     "order=expert",
     5,
     {3, 1, 3, 1, 3},
     {1, 2, 3, 4, 5},
     5,
     {1, 3, 0, 2, 4},
     {2, 4, 1, 3, 5}},
    {"the last duplicate wins",
     "order=expert pairs=eager",
     5,
     {3, 1, 3, 1, 3},
     {1, 2, 3, 4, 5},
     2,
     {3, 4},
     {4, 5}},
    {"gathered duplicates add",
     "order=expert pairs=gathered",
     5,
     {3, 1, 3, 1, 3},
     {1, 2, 3, 4, 5},
     2,
     {1, 0},
     {6, 9}},
    {"as f32", "order=expert pairs=gathered", 2, {0, 0}, {1, 0x1p-24}, 1, {0}, {1}},
    {"one after the other",
     "order=expert pairs=gathered",
     3,
     {0, 0, 0},
     {1, 0x1p-24, 0x1p-24},
     1,
     {0},
     {1}},
    {"gathered with weight 0 is not gathered",
     "order=expert pairs=gathered",
     3,
     {2, 0, 1},
     {0, 2, -0.0},
     1,
     {1},
     {2}},
    {"nor is what cancels",
     "order=expert pairs=gathered",
     4,
     {2, 1, 2, 1},
     {3, 1, -3, 1},
     1,
     {1},
     {2}},
    {"an eager weight of 0 stays", "order=expert pairs=eager", 2, {2, 2}, {1, 0}, 1, {1}, {0}},
    {"all pairs are as routed",
     "order=slot pairs=all",
     3,
     {2, 2, 1},
     {0, 1, 2},
     3,
     {0, 1, 2},
     {0, 1, 2}},
    {"nothing", "order=expert pairs=gathered", 0, {0}, {0}, 0, {0}, {0}},
};

static void contributions_are_ordered_and_merged_as_the_row_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(order_rows); i++) {
        const order_row *const row = &order_rows[i];
        const fp8moe_recipe r = row_of(row->settings);
        contribution items[5] = {{0}};
        for (int k = 0; k < row->given; k++)
            items[k] =
                (contribution){.expert = row->experts[k], .slot = k, .weight = row->weights[k]};
        const int64_t kept = combine_order(&r, items, row->given);
        if (kept != row->kept) fail_msg("%s: %lld kept", row->why, (long long)kept);
        for (int k = 0; k < kept; k++)
            if (items[k].slot != row->slots[k] || items[k].weight != row->sums[k])
                fail_msg("%s: item %d is slot %lld with %g", row->why, k, (long long)items[k].slot,
                         items[k].weight);
    }
}

static void a_weight_of_nan_is_gathered(void **state)
{
    (void)state;
    const fp8moe_recipe r = row_of("order=expert pairs=gathered");
    contribution items[2] = {{.expert = 1, .weight = (double)NAN}, {.expert = 0, .weight = 0}};
    assert_int_equal(combine_order(&r, items, 2), 1);
    assert_true(isnan(items[0].weight));
}

/* ---- sums ---- */

typedef struct sum_row {
    const char *why, *settings;
    int count;
    double outputs[4], weights[4];
    fp8moe_precision dtype;
    double want;
} sum_row;

#define B16 FP8MOE_ROUND_BF16
#define F32 FP8MOE_ROUND_F32
#define F64 FP8MOE_ROUND_F64

static const sum_row sum_rows[] = {
    {"f32, rounded once", "order=expert sum=f32", 3, {256, 1, 1}, {1, 1, 1}, B16, 258},
    {"a running bf16 sum loses both", "order=expert sum=bf16", 3, {256, 1, 1}, {1, 1, 1}, B16, 256},
    {"and so in slot order", "order=slot sum=bf16", 3, {1, 1, 256}, {1, 1, 1}, B16, 258},
    {"an unstated bf16 sum is rounded once",
     "order=unstated sum=bf16",
     3,
     {256, 1, 1},
     {1, 1, 1},
     B16,
     258},
    {"a running f32 sum", "order=expert sum=f32", 3, {1, 0x1p-24, 0x1p-24}, {1, 1, 1}, F64, 1},
    {"an unstated f32 sum",
     "order=unstated sum=f32",
     3,
     {1, 0x1p-24, 0x1p-24},
     {1, 1, 1},
     F64,
     1 + 0x1p-23},
    {"a float64 sum",
     "order=expert sum=f64",
     3,
     {1, 0x1p-24, 0x1p-30},
     {1, 1, 1},
     F64,
     1 + 0x1p-24 + 0x1p-30},
    /* the sum's dtype, then the output's: 1 + 2^-8 + 2^-25 is above a bf16 tie, its f32 is the tie
     */
    {"the sum's rounding comes first",
     "order=unstated sum=f32",
     2,
     {1 + 0x1p-8, 0x1p-25},
     {1, 1},
     B16,
     1},
    {"not so of a float64 sum",
     "order=unstated sum=f64",
     2,
     {1 + 0x1p-8, 0x1p-25},
     {1, 1},
     B16,
     1 + 0x1p-7},
    {"the slot's product is rounded where the row says so",
     "slot_round=bf16 order=slot",
     2,
     {1 + 0x1p-7, 1},
     {1 + 0x1p-7, 1},
     F32,
     2 + 0x1p-6},
    {"else it is not",
     "slot_round=none order=slot",
     2,
     {1 + 0x1p-7, 1},
     {1 + 0x1p-7, 1},
     F32,
     2 + 0x1p-6 + 0x1p-14},
    {"no contribution", "order=expert", 0, {0}, {0}, B16, 0},
    {"negative zeros add to +0", "order=slot", 2, {-0.0, -0.0}, {1, 1}, B16, 0},
    {"overflow of the sum",
     "order=slot sum=f32",
     2,
     {0x1p127, 0x1p127},
     {1, 1},
     F64,
     (double)INFINITY},
};

static void sums_round_where_the_row_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sum_rows); i++) {
        const sum_row *const row = &sum_rows[i];
        const fp8moe_recipe r = row_of(row->settings);
        contribution items[4] = {{0}};
        double out[2] = {7, 7}, outputs[4];
        for (int k = 0; k < row->count; k++) {
            outputs[k] = row->outputs[k];
            items[k] = (contribution){
                .expert = k, .slot = k, .weight = row->weights[k], .output = &outputs[k]};
        }
        combine_sum(&r, items, row->count, 1, row->dtype, out);
        if (out[0] != row->want || signbit(out[0])) fail_msg("%s: %.17g", row->why, out[0]);
        assert_true(out[1] == 7);
    }
}

static void every_column_has_its_own_sum(void **state)
{
    (void)state;
    const fp8moe_recipe r = row_of("order=slot");
    const double a[3] = {1, 2, (double)NAN}, b[3] = {10, -2, 1};
    const contribution items[2] = {{.weight = 1, .output = a}, {.weight = 0.5, .output = b}};
    double out[3];
    combine_sum(&r, items, 2, 3, F32, out);
    assert_true(out[0] == 6 && out[1] == 1 && isnan(out[2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contributions_are_ordered_and_merged_as_the_row_says),
        cmocka_unit_test(a_weight_of_nan_is_gathered),
        cmocka_unit_test(sums_round_where_the_row_says),
        cmocka_unit_test(every_column_has_its_own_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

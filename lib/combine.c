#include "combine.h"

#include "bits.h"

/* Stable: equal experts keep their slot order. K is small. */
static void sort_by_expert(contribution *items, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const contribution item = items[i];
        int64_t j = i;
        for (; j > 0 && items[j - 1].expert > item.expert; j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

static int64_t merge_duplicates(fp8moe_pairs pairs, contribution *items, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!kept || items[kept - 1].expert != items[i].expert) {
            items[kept++] = items[i];
        } else if (pairs == FP8MOE_PAIRS_GATHERED) {
            items[kept - 1].weight = round_f32(items[kept - 1].weight + items[i].weight);
        } else {
            items[kept - 1] = items[i];
        }
    }
    return kept;
}

/* A gathered expert that weighs 0 adds nothing to a finite sum; what its NaN does is moe.c's to
 * say, who knows whether it was gathered at all. */
static int64_t drop_zeros(contribution *items, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (items[i].weight != 0) items[kept++] = items[i];
    return kept;
}

int64_t combine_order(const fp8moe_recipe *recipe, contribution *items, int64_t count)
{
    if (recipe->order != FP8MOE_ORDER_SLOT) sort_by_expert(items, count);
    if (recipe->pairs != FP8MOE_PAIRS_GATHERED && recipe->pairs != FP8MOE_PAIRS_EAGER) return count;
    const int64_t kept = merge_duplicates(recipe->pairs, items, count);
    return recipe->pairs == FP8MOE_PAIRS_GATHERED ? drop_zeros(items, kept) : kept;
}

void combine_sum(const fp8moe_recipe *recipe, const contribution *items, int64_t count, int64_t n,
                 fp8moe_precision dtype, double *out)
{
    const fp8moe_precision step =
        recipe->order == FP8MOE_ORDER_UNSTATED ? FP8MOE_ROUND_F64 : recipe->sum;
    for (int64_t h = 0; h < n; h++) {
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            const double part = round_to(recipe->slot_round, items[i].output[h] * items[i].weight);
            sum = round_to(step, sum + part);
        }
        out[h] = round_to(dtype, round_to(recipe->sum, sum));
    }
}

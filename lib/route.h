/* Steps of the router, for who checks a choice rather than makes one. */
#ifndef FP8MOE_LIB_ROUTE_H
#define FP8MOE_LIB_ROUTE_H

#include <fp8moe/route.h>

/* a before b among scores: NaN counts as larger than every number, as torch.topk has it; two NaNs
 * are equal. */
bool route_exceeds(double a, double b);

/* `scores` [num_experts] weigh; `choice` [num_experts] choose: the scores with the correction bias.
 */
void route_score(const fp8moe_routing *routing, const double *logits, int64_t num_experts,
                 double *scores, double *choice);

/* What a group's experts make of it: the largest, or the f32 sum of the two largest. */
double route_group_score(const double *choice, int64_t size, bool two_best);

/* The indices of the `count` largest of n, highest first, equal ones by lowest index. */
void route_choose(int64_t *best, int64_t count, const double *choice, int64_t n);

/* Scores of the K chosen -> their weights with every rounding. In place. */
void route_weigh(const fp8moe_routing *routing, double *weights);

static inline bool route_is_grouped(const fp8moe_routing *routing)
{
    return routing->n_group > 1;
}

static inline bool route_has_bias(const fp8moe_routing *routing)
{
    return fp8moe_tensor_present(&routing->correction_bias);
}

#endif

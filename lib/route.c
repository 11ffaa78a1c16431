#include "route.h"

#include "bits.h"
#include "common.h"
#include "silu.h"

#include <string.h>

/* ---- scoring rules as rows ---- */

static void score_as_logit(double *scores, const double *logits, int64_t num_experts)
{
    memcpy(scores, logits, (size_t)num_experts * sizeof *scores);
}

static void score_sigmoid(double *scores, const double *logits, int64_t num_experts)
{
    for (int64_t e = 0; e < num_experts; e++)
        scores[e] = round_f32(own_sigmoid(logits[e]));
}

typedef struct scoring_rule {
    const char *name;
    void (*score)(double *scores, const double *logits, int64_t num_experts); /* of all experts */
    void (*weigh)(double *weights, const double *scores,
                  int64_t top_k); /* of the chosen; NULL: as scored */
} scoring_rule;

static const scoring_rule scoring_rules[] = {
    [FP8MOE_SCORING_SOFTMAX] = {"softmax", own_softmax, NULL},
    [FP8MOE_SCORING_SIGMOID] = {"sigmoid", score_sigmoid, NULL},
    [FP8MOE_SCORING_SOFTMAX_TOPK] = {"softmax-topk", score_as_logit, own_softmax},
    [FP8MOE_SCORING_TOP1_SIGMOID] = {"top1-sigmoid", score_as_logit, score_sigmoid},
};

#define SCORING_COUNT (sizeof scoring_rules / sizeof scoring_rules[0])

const char *fp8moe_scoring_name(fp8moe_scoring scoring)
{
    assert((size_t)scoring < SCORING_COUNT);
    return scoring_rules[scoring].name;
}

bool fp8moe_scoring_find(const char *name, fp8moe_scoring *out)
{
    for (size_t i = 0; i < SCORING_COUNT; i++) {
        if (strcmp(name, scoring_rules[i].name) != 0) continue;
        *out = (fp8moe_scoring)i;
        return true;
    }
    return false;
}

/* ---- settings ---- */

void fp8moe_routing_default(fp8moe_routing *routing)
{
    *routing = (fp8moe_routing){
        .scoring = FP8MOE_SCORING_SOFTMAX,
        .renormalize = true,
        .routed_scaling_factor = 1.0,
        .weight_round = FP8MOE_ROUND_BF16,
    };
}

static fp8moe_status check_groups(const fp8moe_routing *routing, int64_t num_experts,
                                  fp8moe_error *err)
{
    const int64_t groups = routing->n_group;
    if (!route_is_grouped(routing)) return FP8MOE_OK;
    if (num_experts % groups != 0)
        return fail(err, FP8MOE_ERR_VALUE, "n_group %lld does not divide %lld experts",
                    (long long)groups, (long long)num_experts);
    if (routing->topk_group < 1 || routing->topk_group > groups)
        return fail(err, FP8MOE_ERR_VALUE, "topk_group %lld is outside 1..%lld (n_group)",
                    (long long)routing->topk_group, (long long)groups);
    const int64_t size = num_experts / groups;
    if (route_has_bias(routing) && size < 2)
        return fail(err, FP8MOE_ERR_VALUE,
                    "a group scores as its two best experts, but n_group %lld leaves one a group",
                    (long long)groups);
    if (routing->top_k > routing->topk_group * size)
        return fail(err, FP8MOE_ERR_VALUE,
                    "top_k %lld exceeds the %lld experts of the %lld groups kept",
                    (long long)routing->top_k, (long long)(routing->topk_group * size),
                    (long long)routing->topk_group);
    return FP8MOE_OK;
}

static double bias_at(const fp8moe_routing *routing, int64_t expert)
{
    double bias;
    fp8moe_tensor_read_f64(&routing->correction_bias, expert, 1, &bias);
    return round_f32(bias);
}

static fp8moe_status check_bias(const fp8moe_routing *routing, int64_t num_experts,
                                fp8moe_error *err)
{
    static const char name[] = "e_score_correction_bias";
    const fp8moe_tensor *bias = &routing->correction_bias;
    if (!route_has_bias(routing)) return FP8MOE_OK;
    if (!fp8moe_dtype_is_numeric(bias->dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "%s holds no numbers",
                       fp8moe_dtype_name(bias->dtype));
    if (fp8moe_tensor_count(bias) != num_experts) {
        char shape[128];
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "expected [%lld], one an expert, got %s",
                       (long long)num_experts, fp8moe_tensor_shape_text(bias, shape, sizeof shape));
    }
    for (int64_t e = 0; e < num_experts; e++)
        if (!isfinite(bias_at(routing, e)))
            return fail_at(err, FP8MOE_ERR_VALUE, name, -1, "expert %lld has a bias of %g",
                           (long long)e, bias_at(routing, e));
    return FP8MOE_OK;
}

/* Bias and groups belong to the rules that score every expert before they choose. */
static fp8moe_status check_scoring(const fp8moe_routing *routing, fp8moe_error *err)
{
    if ((size_t)routing->scoring >= SCORING_COUNT)
        return fail(err, FP8MOE_ERR_USAGE, "scoring %d is no rule of this library",
                    (int)routing->scoring);
    const scoring_rule *rule = &scoring_rules[routing->scoring];
    if (rule->weigh && (route_is_grouped(routing) || route_has_bias(routing)))
        return fail(err, FP8MOE_ERR_USAGE,
                    "%s chooses by the logits: it takes neither groups nor a correction bias",
                    rule->name);
    if (routing->scoring == FP8MOE_SCORING_TOP1_SIGMOID && routing->top_k != 1)
        return fail(err, FP8MOE_ERR_USAGE, "%s routes to one expert, but top_k is %lld", rule->name,
                    (long long)routing->top_k);
    return FP8MOE_OK;
}

fp8moe_status fp8moe_routing_check(const fp8moe_routing *routing, int64_t num_experts,
                                   fp8moe_error *err)
{
    if (routing->top_k < 1 || routing->top_k > num_experts)
        return fail(err, FP8MOE_ERR_VALUE, "top_k %lld is outside 1..%lld (num_experts)",
                    (long long)routing->top_k, (long long)num_experts);
    if (!isfinite(round_f32(routing->routed_scaling_factor)))
        return fail(err, FP8MOE_ERR_VALUE, "routed_scaling_factor %g is not a finite f32 number",
                    routing->routed_scaling_factor);
    TRY(check_scoring(routing, err));
    TRY(check_groups(routing, num_experts, err));
    return check_bias(routing, num_experts, err);
}

/* ---- choosing ---- */

bool route_exceeds(double a, double b)
{
    return a > b || (a != a && b == b);
}

void route_choose(int64_t *best, int64_t count, const double *choice, int64_t n)
{
    int64_t filled = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = filled;
        while (place > 0 && route_exceeds(choice[i], choice[best[place - 1]]))
            place--;
        if (place == count) continue;
        if (filled < count) filled++;
        memmove(best + place + 1, best + place, (size_t)(filled - place - 1) * sizeof *best);
        best[place] = i;
    }
}

double route_group_score(const double *choice, int64_t size, bool two_best)
{
    double first = choice[0];
    double second = -(double)INFINITY;
    for (int64_t i = 1; i < size; i++) {
        if (route_exceeds(choice[i], first)) {
            second = first;
            first = choice[i];
        } else if (route_exceeds(choice[i], second)) {
            second = choice[i];
        }
    }
    return two_best ? round_f32(first + second) : first;
}

/* Whether fewer than `kept` groups stand before `group`. */
static bool group_is_kept(const double *group_scores, int64_t groups, int64_t group, int64_t kept)
{
    int64_t before = 0;
    for (int64_t other = 0; other < groups; other++) {
        const bool higher = route_exceeds(group_scores[other], group_scores[group]);
        const bool lower = route_exceeds(group_scores[group], group_scores[other]);
        if (higher || (!lower && other < group)) before++;
    }
    return before < kept;
}

/* Scores of the experts of groups not kept become -Inf; no score of another expert is. */
static void mask_groups(const fp8moe_routing *routing, double *choice, int64_t num_experts,
                        double *group_scores)
{
    const int64_t groups = routing->n_group;
    const int64_t size = num_experts / groups;
    for (int64_t g = 0; g < groups; g++)
        group_scores[g] = route_group_score(choice + g * size, size, route_has_bias(routing));
    for (int64_t g = 0; g < groups; g++) {
        if (group_is_kept(group_scores, groups, g, routing->topk_group)) continue;
        for (int64_t e = g * size; e < (g + 1) * size; e++)
            choice[e] = -(double)INFINITY;
    }
}

/* ---- weighing ---- */

void route_weigh(const fp8moe_routing *routing, double *weights)
{
    const scoring_rule *rule = &scoring_rules[routing->scoring];
    const int64_t top_k = routing->top_k;
    const double factor = round_f32(routing->routed_scaling_factor);
    double divisor = 1.0;
    if (rule->weigh)
        rule->weigh(weights, weights, top_k);
    else if (routing->renormalize)
        divisor = round_f32(own_sum(weights, top_k));
    for (int64_t k = 0; k < top_k; k++) {
        const double share = round_f32(weights[k] / divisor);
        const double scaled = round_f32(share * factor);
        weights[k] = round_to(routing->weight_round, scaled);
    }
}

void route_score(const fp8moe_routing *routing, const double *logits, int64_t num_experts,
                 double *scores, double *choice)
{
    scoring_rules[routing->scoring].score(scores, logits, num_experts);
    memcpy(choice, scores, (size_t)num_experts * sizeof *choice);
    if (!route_has_bias(routing)) return;
    for (int64_t e = 0; e < num_experts; e++)
        choice[e] = round_f32(scores[e] + bias_at(routing, e));
}

void fp8moe_route_token(const fp8moe_routing *routing, const double *logits, int64_t num_experts,
                        int64_t *ids, double *weights, double *scratch)
{
    double *scores = scratch;
    double *choice = scratch + num_experts;
    double *group_scores = scratch + 2 * num_experts;
    route_score(routing, logits, num_experts, scores, choice);
    if (route_is_grouped(routing)) mask_groups(routing, choice, num_experts, group_scores);
    route_choose(ids, routing->top_k, choice, num_experts);
    for (int64_t k = 0; k < routing->top_k; k++)
        weights[k] = scores[ids[k]];
    route_weigh(routing, weights);
}

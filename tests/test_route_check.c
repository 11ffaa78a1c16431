/* Dumped routings against a model that tries every set of experts and every set of groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fp8moe/route_check.h>

#define MAX_EXPERTS 12
#define MAX_K 4

static fp8moe_routing sigmoid_routing(int64_t top_k)
{
    fp8moe_routing routing;
    fp8moe_routing_default(&routing);
    routing.top_k = top_k;
    routing.scoring = FP8MOE_SCORING_SIGMOID;
    routing.weight_round = FP8MOE_ROUND_F32;
    return routing;
}

static fp8moe_routing softmax_routing(int64_t top_k)
{
    fp8moe_routing routing = sigmoid_routing(top_k);
    routing.scoring = FP8MOE_SCORING_SOFTMAX;
    return routing;
}

/* One token. */
typedef struct seen {
    fp8moe_route_finding finding;
    int calls;
    int64_t top_k;
    bool has_flip;
    int64_t flip_ids[MAX_EXPERTS]; /* copies: the finding's own end with the call */
    float flip_weights[MAX_EXPERTS];
} seen;

static seen last_seen; /* by check() */

static void listen(void *user, int64_t token, const fp8moe_route_finding *finding)
{
    seen *s = user;
    assert_int_equal(token, s->calls);
    s->finding = *finding;
    s->calls++;
    s->has_flip = finding->flip_ids != NULL;
    for (int64_t k = 0; k < s->top_k && s->has_flip; k++) {
        s->flip_ids[k] = finding->flip_ids[k];
        s->flip_weights[k] = (float)finding->flip_weights[k];
    }
}

/* Check one token of f32 logits; ids and weights may be NULL. */
static fp8moe_route_finding check(const fp8moe_routing *routing, const float *logits,
                                  int64_t experts, const int64_t *ids, const float *weights)
{
    seen s = {.calls = 0, .top_k = routing->top_k};
    const fp8moe_route_listener listener = {listen, &s};
    const fp8moe_tensor l =
        fp8moe_tensor_view(logits, FP8MOE_DTYPE_F32, 2, (int64_t[]){1, experts});
    const int64_t shape[] = {1, routing->top_k};
    const fp8moe_tensor i = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, shape);
    const fp8moe_tensor w = fp8moe_tensor_view(weights, FP8MOE_DTYPE_F32, 2, shape);
    fp8moe_route_summary summary;
    fp8moe_error err;
    if (fp8moe_route_check(routing, &l, ids ? &i : NULL, weights ? &w : NULL, &listener, &summary,
                           &err))
        fail_msg("%s", err.message);
    assert_int_equal(s.calls, 1);
    assert_int_equal(summary.choice[s.finding.choice], 1);
    assert_int_equal(summary.weights[s.finding.weights], 1);
    assert_int_equal(summary.could_flip, s.finding.margin <= 1);
    last_seen = s;
    return s.finding;
}

/* ---- by hand ---- */

/* E07: all equal. */
static void equal_scores_are_a_tie(void **state)
{
    (void)state;
    const float logits[] = {1, 1, 1, 1};
    const float halves[] = {0.5f, 0.5f};
    const fp8moe_routing routing = softmax_routing(2);
    const fp8moe_route_finding f = check(&routing, logits, 4, (const int64_t[]){3, 1}, halves);
    assert_int_equal(f.choice, FP8MOE_ROUTE_TIE);
    assert_int_equal(f.weights, FP8MOE_ROUTE_IDENTICAL);
    assert_true(f.margin == 0 && f.gap == 0);
    assert_int_equal(f.slot, 0);
    assert_int_equal(check(&routing, logits, 4, (const int64_t[]){1, 0}, halves).choice,
                     FP8MOE_ROUTE_IDENTICAL);
}

/* bf16 numbers: 2 and the one below it, 1.9921875; 1.984375 is two steps away. */
static void flips_are_counted_in_bf16_steps(void **state)
{
    (void)state;
    const float logits[] = {3, 2, 1.9921875f, 1.984375f};
    const fp8moe_routing routing = softmax_routing(2);
    fp8moe_route_finding f = check(&routing, logits, 4, (const int64_t[]){0, 1}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_IDENTICAL);
    assert_true(f.margin == 1);
    assert_int_equal(f.slot, -1);
    f = check(&routing, logits, 4, (const int64_t[]){0, 2}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_STEP);
    assert_true(f.gap == 1);
    assert_int_equal(f.slot, 1);
    f = check(&routing, logits, 4, (const int64_t[]){0, 3}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_WRONG);
    assert_int_equal(f.weights, FP8MOE_ROUTE_UNJUDGED);
}

/* Sigmoids of 8 and 9 are within a bf16 step although the logits are not. */
static void a_step_of_the_score_is_enough(void **state)
{
    (void)state;
    const float logits[] = {8, 9};
    const fp8moe_routing routing = sigmoid_routing(1);
    const fp8moe_route_finding f = check(&routing, logits, 2, (const int64_t[]){0}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_STEP);
    const double s8 = 1 / (1 + exp(-8.0)), s9 = 1 / (1 + exp(-9.0));
    assert_true(fabs(f.gap - (s9 - s8) * 256) < 1e-4); /* bf16 steps below 1 are 2^-8 */
    const float far[] = {0, 9};
    assert_int_equal(check(&routing, far, 2, (const int64_t[]){0}, NULL).choice,
                     FP8MOE_ROUTE_WRONG);
}

/* With a bias the logits choose nothing: only the biased score counts. */
static void a_bias_moves_the_choice(void **state)
{
    (void)state;
    const float logits[] = {2, 1.9921875f, 0};
    const float bias[] = {0, -1, 0};
    fp8moe_routing routing = sigmoid_routing(1);
    routing.correction_bias = fp8moe_tensor_view(bias, FP8MOE_DTYPE_F32, 1, (int64_t[]){3});
    const fp8moe_route_finding f = check(&routing, logits, 3, (const int64_t[]){1}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_WRONG);
    assert_true(f.gap > 100);
}

static void what_no_router_does(void **state)
{
    (void)state;
    const float logits[] = {3, 2, 1, 0, 3, 2};
    fp8moe_routing routing = sigmoid_routing(2);
    fp8moe_route_finding f =
        check(&routing, logits, 6, (const int64_t[]){0, 0}, (const float[]){1, 1});
    assert_int_equal(f.choice, FP8MOE_ROUTE_WRONG);
    assert_true(f.repeated && isinf(f.gap));
    assert_int_equal(f.weights, FP8MOE_ROUTE_UNJUDGED);
    routing.n_group = 3;
    routing.topk_group = 1;
    f = check(&routing, logits, 6, (const int64_t[]){0, 4}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_WRONG);
    assert_true(f.too_many_groups && isinf(f.gap));
    assert_int_equal(check(&routing, logits, 6, (const int64_t[]){4, 5}, NULL).choice,
                     FP8MOE_ROUTE_TIE);
}

/* -1: a slot of another rank. What is left must still fit, and so must its weight. */
static void masked_slots(void **state)
{
    (void)state;
    const float logits[] = {0, 1, 2, 3};
    const fp8moe_routing routing = softmax_routing(2);
    const float w3 = (float)(1 / (1 + exp(-1.0)));
    fp8moe_route_finding f =
        check(&routing, logits, 4, (const int64_t[]){-1, 3}, (const float[]){0, w3});
    assert_int_equal(f.choice, FP8MOE_ROUTE_IDENTICAL);
    assert_int_equal(f.weights, FP8MOE_ROUTE_IDENTICAL);
    f = check(&routing, logits, 4, (const int64_t[]){-1, 3}, (const float[]){0, 1});
    assert_int_equal(f.weights, FP8MOE_ROUTE_WRONG);
    f = check(&routing, logits, 4, (const int64_t[]){-1, 1}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_WRONG);
    const fp8moe_routing three = softmax_routing(3);
    f = check(&three, logits, 4, (const int64_t[]){-1, 3, -1}, NULL);
    assert_int_equal(f.choice, FP8MOE_ROUTE_IDENTICAL);
    f = check(&routing, logits, 4, (const int64_t[]){-1, -1}, (const float[]){0, 0});
    assert_int_equal(f.choice, FP8MOE_ROUTE_UNJUDGED);
    assert_int_equal(f.weights, FP8MOE_ROUTE_UNJUDGED);
    assert_true(isfinite(f.margin));
}

/* The masked slot was an expert of the second best group: its weight is part of the sum. */
static void masked_slots_of_another_group(void **state)
{
    (void)state;
    const float logits[] = {5, 4, 3, 2, 1, 0};
    fp8moe_routing routing = softmax_routing(3);
    routing.n_group = 3;
    routing.topk_group = 2;
    const double sum = exp(2) + exp(1) + 1;
    const float weights[] = {(float)(exp(2) / sum), (float)(exp(1) / sum), 0};
    const fp8moe_route_finding f = check(&routing, logits, 6, (const int64_t[]){0, 1, -1}, weights);
    assert_int_equal(f.choice, FP8MOE_ROUTE_IDENTICAL);
    assert_true(f.weight_gap < 1e-3);
}

static void weights_by_hand(void **state)
{
    (void)state;
    const float logits[] = {2, 1, 0, -1};
    const int64_t ids[] = {0, 1};
    fp8moe_routing routing = softmax_routing(2);
    routing.weight_round = FP8MOE_ROUND_BF16;
    fp8moe_route_finding f =
        check(&routing, logits, 4, ids, (const float[]){0.73046875f, 0.26953125f});
    assert_int_equal(f.weights, FP8MOE_ROUTE_IDENTICAL);
    assert_int_equal(f.weight_slot, -1);
    f = check(&routing, logits, 4, ids, (const float[]){0.73046875f, 0.26953125f + 0x1p-9f});
    assert_int_equal(f.weights, FP8MOE_ROUTE_STEP);
    assert_int_equal(f.weight_slot, 1);
    assert_true(f.weight_gap == 1 && f.weight_expected == 0.26953125);
    f = check(&routing, logits, 4, ids,
              (const float[]){0.64453125f, 0.236328125f}); /* not renormalised */
    assert_int_equal(f.weights, FP8MOE_ROUTE_WRONG);
    f = check(&routing, logits, 4, ids, (const float[]){NAN, 0.26953125f});
    assert_int_equal(f.weights, FP8MOE_ROUTE_WRONG);
    assert_true(isinf(f.weight_gap));
}

/* Softmax weights of 1 and e^-25: a device that flushes the small one to zero loses nothing. */
static void invisible_weights(void **state)
{
    (void)state;
    const float logits[] = {25, 0};
    const fp8moe_routing routing = softmax_routing(2);
    const int64_t ids[] = {0, 1};
    assert_int_equal(check(&routing, logits, 2, ids, (const float[]){1, 0}).weights,
                     FP8MOE_ROUTE_STEP);
    assert_int_equal(check(&routing, logits, 2, ids, (const float[]){1, 0x1p-20f}).weights,
                     FP8MOE_ROUTE_WRONG);
}

static void nonfinite_logits(void **state)
{
    (void)state;
    const float logits[] = {1, NAN, 0};
    const float nans[] = {NAN};
    fp8moe_routing routing = softmax_routing(1);
    fp8moe_route_finding f = check(&routing, logits, 3, (const int64_t[]){2}, nans);
    assert_true(f.nonfinite); /* every score is NaN: any choice is a tie, its weight NaN */
    assert_int_equal(f.choice, FP8MOE_ROUTE_TIE);
    assert_int_equal(f.weights, FP8MOE_ROUTE_IDENTICAL);
    f = check(&routing, logits, 3, (const int64_t[]){2}, (const float[]){0.5f});
    assert_int_equal(f.weights, FP8MOE_ROUTE_WRONG);
    routing.scoring = FP8MOE_SCORING_SIGMOID; /* the NaN comes first */
    assert_int_equal(check(&routing, logits, 3, (const int64_t[]){1}, NULL).choice,
                     FP8MOE_ROUTE_IDENTICAL);
    assert_int_equal(check(&routing, logits, 3, (const int64_t[]){0}, NULL).choice,
                     FP8MOE_ROUTE_WRONG);
}

static void margins_by_hand(void **state)
{
    (void)state;
    const float logits[] = {4, 3, 2, 1};
    fp8moe_routing routing = softmax_routing(4);
    assert_true(isinf(check(&routing, logits, 4, NULL, NULL).margin)); /* K = E: nothing to flip */
    routing.top_k = 1;
    assert_true(check(&routing, logits, 4, NULL, NULL).margin ==
                64); /* 3 to 4: one binade is 128 steps */
    const float below_zero[] = {-3, -2, -4};
    assert_true(check(&routing, below_zero, 3, NULL, NULL).margin == 64);
    const float swapped[] = {1, 4, 3, 2};
    assert_true(check(&routing, swapped, 4, NULL, NULL).margin == 64);
    routing.top_k = 2;
    routing.n_group = 2;
    routing.topk_group = 1; /* {4, 3} before {2, 1}: best against best, 2 to 4 is a binade */
    assert_true(check(&routing, logits, 4, NULL, NULL).margin == 128);
}

/* ---- every set of experts ---- */

typedef struct model {
    const float *logits;
    double choice[MAX_EXPERTS];
    double group_score[MAX_EXPERTS];
    bool biased;
    int experts, groups, kept, size, top_k;
} model;

static double line_place(double value)
{
    float f = (float)value;
    int32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits < 0 ? -(double)(bits & 0x7FFFFFFF) : (double)bits;
}

static double model_steps(double low, double high)
{
    return high > low ? (line_place(high) - line_place(low)) / 65536 : 0;
}

static double model_expert_steps(const model *m, int low, int high)
{
    const double steps = model_steps(m->choice[low], m->choice[high]);
    const double by_logit = model_steps((double)m->logits[low], (double)m->logits[high]);
    return m->biased || steps < by_logit ? steps : by_logit;
}

static double model_group_steps(const model *m, int low, int high)
{
    int best[2] = {low * m->size, high * m->size};
    if (m->biased) return model_steps(m->group_score[low], m->group_score[high]);
    for (int i = 0; i < m->size; i++) {
        if (m->choice[low * m->size + i] > m->choice[best[0]]) best[0] = low * m->size + i;
        if (m->choice[high * m->size + i] > m->choice[best[1]]) best[1] = high * m->size + i;
    }
    return model_expert_steps(m, best[0], best[1]);
}

static int bits_in(unsigned set)
{
    int count = 0;
    for (; set; set &= set - 1)
        count++;
    return count;
}

/* Steps by which experts `set` miss a right choice when exactly the groups `kept` are kept. */
static double model_gap_within(const model *m, unsigned set, unsigned kept)
{
    double gap = 0;
    for (int in = 0; in < m->groups; in++)
        for (int out = 0; out < m->groups; out++)
            if (kept >> in & 1 && !(kept >> out & 1))
                gap = fmax(gap, model_group_steps(m, in, out));
    for (int in = 0; in < m->experts; in++)
        for (int out = 0; out < m->experts; out++)
            if (set >> in & 1 && !(set >> out & 1) && kept >> (out / m->size) & 1)
                gap = fmax(gap, model_expert_steps(m, in, out));
    return gap;
}

static double model_gap(const model *m, unsigned set)
{
    double least = INFINITY;
    unsigned needed = 0;
    for (int e = 0; e < m->experts; e++)
        if (set >> e & 1) needed |= 1u << (e / m->size);
    for (unsigned kept = 0; kept < 1u << m->groups; kept++)
        if (bits_in(kept) == m->kept && (kept & needed) == needed)
            least = fmin(least, model_gap_within(m, set, kept));
    return least;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Also: the margin is the gap of the nearest set that is not the chosen one. */
static void check_every_set(const model *m, const fp8moe_routing *routing, int *classes)
{
    double nearest = INFINITY;
    double margin = INFINITY;
    for (unsigned set = 0; set < 1u << m->experts; set++) {
        if (bits_in(set) != m->top_k) continue;
        int64_t ids[MAX_K];
        int count = 0;
        for (int e = 0; e < m->experts; e++)
            if (set >> e & 1) ids[count++] = e;
        const double want = model_gap(m, set);
        const fp8moe_route_finding f = check(routing, m->logits, m->experts, ids, NULL);
        classes[f.choice]++;
        margin = f.margin;
        if (f.choice != FP8MOE_ROUTE_IDENTICAL) nearest = fmin(nearest, want);
        if (f.gap != want && !(isinf(f.gap) && isinf(want)))
            fail_msg("set %x: gap %g, the model says %g", set, f.gap, want);
    }
    if (nearest != margin && !(isinf(nearest) && isinf(margin)))
        fail_msg("margin %g, the model says %g", margin, nearest);
}

/* The choice that the margin belongs to, handed in as dumped, misses by just the margin, and its
 * weights are right for it. */
static void check_flip(const fp8moe_routing *routing, const float *logits, int64_t experts)
{
    const double margin = check(routing, logits, experts, NULL, NULL).margin;
    const seen flip = last_seen;
    assert_int_equal(flip.has_flip, isfinite(margin));
    if (!flip.has_flip) return;
    const fp8moe_route_finding f =
        check(routing, logits, experts, flip.flip_ids, flip.flip_weights);
    assert_int_not_equal(f.choice, FP8MOE_ROUTE_IDENTICAL);
    assert_true(f.gap == margin);
    assert_int_equal(f.weights, FP8MOE_ROUTE_IDENTICAL);
}

static void every_set_of_experts(void **state)
{
    (void)state;
    uint32_t seed = 3;
    int classes[FP8MOE_ROUTE_CLASS_COUNT] = {0};
    for (int round = 0; round < 400; round++) {
        float logits[MAX_EXPERTS], bias[MAX_EXPERTS];
        model m = {.logits = logits, .size = 2 + (int)(next_random(&seed) % 2)};
        m.groups = 1 + (int)(next_random(&seed) % 4);
        m.kept = 1 + (int)(next_random(&seed) % (uint32_t)m.groups);
        m.experts = m.groups * m.size;
        m.top_k = 1 + (int)(next_random(&seed) % 3);
        if (m.top_k > m.kept * m.size) m.top_k = m.kept * m.size;
        m.biased = next_random(&seed) % 2;
        for (int e = 0; e < m.experts; e++) {
            logits[e] = 1 + (float)(next_random(&seed) % 6) / 128;
            bias[e] = (float)(next_random(&seed) % 3) / 256;
        }
        fp8moe_routing routing = sigmoid_routing(m.top_k);
        routing.n_group = m.groups;
        routing.topk_group = m.kept;
        if (m.biased)
            routing.correction_bias =
                fp8moe_tensor_view(bias, FP8MOE_DTYPE_F32, 1, (int64_t[]){m.experts});
        for (int e = 0; e < m.experts; e++) {
            const float score = (float)(1 / (1 + expl(-(long double)logits[e])));
            m.choice[e] = (double)(m.biased ? score + bias[e] : score);
        }
        for (int g = 0; g < m.groups; g++) {
            double first = -INFINITY, second = -INFINITY;
            for (int i = 0; i < m.size; i++) {
                const double c = m.choice[g * m.size + i];
                second = fmax(second, fmin(c, first));
                first = fmax(first, c);
            }
            m.group_score[g] = m.biased ? (double)(float)(first + second) : first;
        }
        check_every_set(&m, &routing, classes);
        check_flip(&routing, logits, m.experts);
    }
    assert_int_equal(classes[FP8MOE_ROUTE_UNJUDGED], 0);
    assert_true(classes[FP8MOE_ROUTE_IDENTICAL] == 400);
    assert_true(classes[FP8MOE_ROUTE_TIE] > 100);
    assert_true(classes[FP8MOE_ROUTE_STEP] > 100);
    assert_true(classes[FP8MOE_ROUTE_WRONG] > 1000);
}

/* ---- whole dumps ---- */

static void many_tokens_are_summed(void **state)
{
    (void)state;
    const float logits[] = {2, 1.9921875f, 0, 1, 1, 1, 5, 0, NAN, 9, 1, 0};
    const int64_t ids[] = {1, 2, 1, 0};
    const fp8moe_tensor l = fp8moe_tensor_view(logits, FP8MOE_DTYPE_F32, 3, (int64_t[]){2, 2, 3});
    const fp8moe_tensor i = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 3, (int64_t[]){2, 2, 1});
    fp8moe_routing routing = sigmoid_routing(0); /* K from the ids */
    seen s = {.calls = 0};
    const fp8moe_route_listener listener = {listen, &s};
    fp8moe_route_summary sum;
    assert_int_equal(fp8moe_route_check(&routing, &l, &i, NULL, &listener, &sum, NULL), FP8MOE_OK);
    assert_int_equal(s.calls, 4);
    assert_true(sum.tokens == 4 && sum.top_k == 1 && sum.num_experts == 3);
    assert_int_equal(sum.choice[FP8MOE_ROUTE_STEP], 1);
    assert_int_equal(sum.choice[FP8MOE_ROUTE_TIE], 1);
    assert_int_equal(sum.choice[FP8MOE_ROUTE_WRONG], 1);
    assert_int_equal(sum.choice[FP8MOE_ROUTE_IDENTICAL], 1);
    assert_int_equal(sum.weights[FP8MOE_ROUTE_UNJUDGED], 4);
    assert_true(sum.could_flip == 2 && sum.tied == 1 && sum.nonfinite == 1);
    assert_true(sum.smallest_margin > 0 && sum.smallest_margin <= 1);
    routing.top_k = 1;
    assert_int_equal(fp8moe_route_check(&routing, &l, NULL, NULL, NULL, &sum, NULL), FP8MOE_OK);
    assert_int_equal(sum.choice[FP8MOE_ROUTE_UNJUDGED], 4);
}

static void refuse(fp8moe_status status, const char *sentence, int64_t top_k,
                   const fp8moe_tensor *logits, const fp8moe_tensor *ids,
                   const fp8moe_tensor *weights)
{
    const fp8moe_routing routing = sigmoid_routing(top_k);
    fp8moe_route_summary sum;
    fp8moe_error err;
    assert_int_equal(fp8moe_route_check(&routing, logits, ids, weights, NULL, &sum, &err), status);
    if (!strstr(err.message, sentence)) fail_msg("got: %s", err.message);
}

static void bad_dumps(void **state)
{
    (void)state;
    const float zeros[8] = {0};
    const int64_t ids[] = {5, 1, -2, 0};
    const fp8moe_tensor l = fp8moe_tensor_view(zeros, FP8MOE_DTYPE_F32, 2, (int64_t[]){2, 4});
    const fp8moe_tensor i = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, (int64_t[]){2, 2});
    const fp8moe_tensor below = fp8moe_tensor_view(ids + 1, FP8MOE_DTYPE_I64, 2, (int64_t[]){2, 1});
    const fp8moe_tensor w = fp8moe_tensor_view(zeros, FP8MOE_DTYPE_F32, 2, (int64_t[]){2, 2});
    const fp8moe_tensor long_ids = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, (int64_t[]){4, 1});
    const fp8moe_tensor none = {.data = NULL};
    /* E11 */
    refuse(FP8MOE_ERR_VALUE, "token 0, slot 0: id 5 is outside the model's 4 experts", 0, &l, &i,
           NULL);
    refuse(FP8MOE_ERR_VALUE, "token 1, slot 0: id -2", 0, &l, &below, NULL);
    refuse(FP8MOE_ERR_USAGE, "need top_k", 0, &l, NULL, NULL);
    refuse(FP8MOE_ERR_USAGE, "router_logits", 0, &none, &i, NULL);
    refuse(FP8MOE_ERR_USAGE, "router_logits", 0, NULL, &i, NULL);
    refuse(FP8MOE_ERR_VALUE, "top_k 5", 5, &l, NULL, NULL);
    refuse(FP8MOE_ERR_SHAPE, "expected [2, 1], got [2, 2]", 1, &l, &i, NULL);
    refuse(FP8MOE_ERR_SHAPE, "expected [2, 1], got [4, 1]", 0, &l, &long_ids, NULL);
    refuse(FP8MOE_ERR_SHAPE, "expected [2, 1], got [2, 2]", 0, &l, &below, &w);
    refuse(FP8MOE_ERR_DTYPE, "F32", 0, &l, &w, NULL);
    refuse(FP8MOE_ERR_DTYPE, "I64", 0, &i, &i, NULL);
    refuse(FP8MOE_ERR_DTYPE, "I64", 0, &l, &below, &i);
}

static void class_names(void **state)
{
    (void)state;
    static const char *const names[] = {"unjudged", "identical", "tie", "step", "wrong"};
    for (int i = 0; i < FP8MOE_ROUTE_CLASS_COUNT; i++)
        assert_string_equal(fp8moe_route_class_name((fp8moe_route_class)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_scores_are_a_tie),
        cmocka_unit_test(flips_are_counted_in_bf16_steps),
        cmocka_unit_test(a_step_of_the_score_is_enough),
        cmocka_unit_test(a_bias_moves_the_choice),
        cmocka_unit_test(what_no_router_does),
        cmocka_unit_test(masked_slots),
        cmocka_unit_test(masked_slots_of_another_group),
        cmocka_unit_test(weights_by_hand),
        cmocka_unit_test(invisible_weights),
        cmocka_unit_test(nonfinite_logits),
        cmocka_unit_test(margins_by_hand),
        cmocka_unit_test(every_set_of_experts),
        cmocka_unit_test(many_tokens_are_summed),
        cmocka_unit_test(bad_dumps),
        cmocka_unit_test(class_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Routing against hand-worked cases and against a model that sorts and follows numerics.md section
 * 4 word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fp8moe/route.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXPERTS 64

static fp8moe_routing routing_of(int64_t top_k)
{
    fp8moe_routing routing;
    fp8moe_routing_default(&routing);
    routing.top_k = top_k;
    routing.weight_round = FP8MOE_ROUND_F32;
    return routing;
}

static fp8moe_tensor bias_of(const float *bias, int64_t num_experts)
{
    return fp8moe_tensor_view(bias, FP8MOE_DTYPE_F32, 1, &num_experts);
}

static void route(const fp8moe_routing *routing, const double *logits, int64_t num_experts,
                  int64_t *ids, double *weights)
{
    double scratch[3 * MAX_EXPERTS];
    fp8moe_error err;
    assert_int_equal(fp8moe_routing_check(routing, num_experts, &err), FP8MOE_OK);
    fp8moe_route_token(routing, logits, num_experts, ids, weights, scratch);
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("got %.17g, want %.17g", got, want);
}

/* ---- worked by hand ---- */

typedef struct row {
    const char *why;
    fp8moe_scoring scoring;
    bool renormalize;
    double factor;
    int top_k;
    double logits[4];
    int64_t ids[2];
    double weights[2];
} row;

static const row rows[] = {
    {"E01: renormalised softmax is e^2 / (e^2 + e^1)",
     FP8MOE_SCORING_SOFTMAX,
     true,
     1,
     2,
     {2, 1, 0, -1},
     {0, 1},
     {0.7310585786300049, 0.2689414213699951}},
    {"E01: shares of all four experts",
     FP8MOE_SCORING_SOFTMAX,
     false,
     1,
     2,
     {2, 1, 0, -1},
     {0, 1},
     {0.6439142598879724, 0.23688281808991013}},
    {"E05: the factor does not wait for renormalisation",
     FP8MOE_SCORING_SOFTMAX,
     false,
     2.5,
     2,
     {2, 1, 0, -1},
     {0, 1},
     {0.6439142598879724 * 2.5, 0.23688281808991013 * 2.5}},
    {"E05: and comes once after it",
     FP8MOE_SCORING_SOFTMAX,
     true,
     2.5,
     2,
     {2, 1, 0, -1},
     {0, 1},
     {0.7310585786300049 * 2.5, 0.2689414213699951 * 2.5}},
    {"E07: equal scores, lowest id first",
     FP8MOE_SCORING_SOFTMAX,
     true,
     1,
     2,
     {1, 1, 1, 1},
     {0, 1},
     {0.5, 0.5}},
    {"a tie at the border of the choice",
     FP8MOE_SCORING_SOFTMAX,
     true,
     1,
     2,
     {0, 3, 3, 3},
     {1, 2},
     {0.5, 0.5}},
    {"highest first, not lowest id",
     FP8MOE_SCORING_SOFTMAX,
     true,
     1,
     2,
     {-1, 0, 1, 2},
     {3, 2},
     {0.7310585786300049, 0.2689414213699951}},
    {"sigmoid(0) is a half",
     FP8MOE_SCORING_SIGMOID,
     false,
     1,
     2,
     {0, -3, 1, -3},
     {2, 0},
     {0.7310585786300049, 0.5}},
    {"sigmoid scores renormalised",
     FP8MOE_SCORING_SIGMOID,
     true,
     1,
     2,
     {0, -3, 0, -3},
     {0, 2},
     {0.5, 0.5}},
    {"softmax over the chosen only",
     FP8MOE_SCORING_SOFTMAX_TOPK,
     false,
     1,
     2,
     {0, 1, 0, 2},
     {3, 1},
     {0.7310585786300049, 0.2689414213699951}},
    {"top-1, then its sigmoid, never renormalised to 1",
     FP8MOE_SCORING_TOP1_SIGMOID,
     true,
     1,
     1,
     {0, 1, 0, -2},
     {1},
     {0.7310585786300049}},
    {"one expert has all the weight",
     FP8MOE_SCORING_SIGMOID,
     true,
     1,
     1,
     {5, -9, -9, -9},
     {0},
     {1}},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const row *c = &rows[r];
        fp8moe_routing routing = routing_of(c->top_k);
        routing.scoring = c->scoring;
        routing.renormalize = c->renormalize;
        routing.routed_scaling_factor = c->factor;
        int64_t ids[2];
        double weights[2];
        route(&routing, c->logits, 4, ids, weights);
        for (int k = 0; k < c->top_k; k++) {
            if (ids[k] != c->ids[k])
                fail_msg("%s: slot %d chose %lld", c->why, k, (long long)ids[k]);
            assert_near(weights[k], c->weights[k], 1e-6);
        }
    }
}

/* E02: .880797 .731059 .119203 .268941; with the bias 1.119203 wins, then .880797. */
static void test_bias_chooses_but_does_not_weigh(void **state)
{
    (void)state;
    const float bias[] = {0, 0, 1, 0};
    const double logits[] = {2, 1, -2, -1};
    fp8moe_routing routing = routing_of(2);
    routing.scoring = FP8MOE_SCORING_SIGMOID;
    routing.routed_scaling_factor = 2.5;
    routing.correction_bias = bias_of(bias, 4);
    int64_t ids[2];
    double weights[2];
    route(&routing, logits, 4, ids, weights);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 0);
    assert_near(weights[0], 0.29800730505529394, 1e-6);
    assert_near(weights[1], 2.2019926949447064, 1e-6);
}

/* E09: .731059 -> .73046875 (step 2^-8), .268941 -> .26953125 (step 2^-9) */
static void test_weights_are_bf16_by_default(void **state)
{
    (void)state;
    const double logits[] = {2, 1, 0, -1};
    fp8moe_routing routing;
    fp8moe_routing_default(&routing);
    routing.top_k = 2;
    int64_t ids[2];
    double weights[2];
    route(&routing, logits, 4, ids, weights);
    assert_true(weights[0] == 0.73046875);
    assert_true(weights[1] == 0.26953125);
}

/* f32(1/3) times this factor is 1 + 2^-8 + 3e-8: f32 makes it 1 + 2^-8, a tie of bf16, and that 1.
 * One rounding to bf16 would give 1 + 2^-7. */
static void test_weights_are_f32_before_they_are_bf16(void **state)
{
    (void)state;
    const double logits[] = {0, 0, 0};
    fp8moe_routing routing = routing_of(3);
    routing.routed_scaling_factor = 0x1.818p1;
    routing.weight_round = FP8MOE_ROUND_BF16;
    int64_t ids[3];
    double weights[3];
    route(&routing, logits, 3, ids, weights);
    assert_true(weights[0] == 1.0);
}

/* The best expert is alone in group 0. Without a bias its group is kept for it; with one (of zeros)
 * the two best of group 1 together outdo it. */
static void test_group_scores(void **state)
{
    (void)state;
    const double logits[] = {2, -5, 1, 1, -5, -5};
    const float zeros[6] = {0};
    fp8moe_routing routing = routing_of(2);
    routing.scoring = FP8MOE_SCORING_SIGMOID;
    routing.n_group = 3;
    routing.topk_group = 1;
    int64_t ids[2];
    double weights[2];
    route(&routing, logits, 6, ids, weights);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
    routing.correction_bias = bias_of(zeros, 6);
    route(&routing, logits, 6, ids, weights);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 3);
}

/* A bias may lift every score of a group not kept below zero or above: masked is masked. */
static void test_masked_groups_never_win(void **state)
{
    (void)state;
    const double logits[] = {1, 1, 0, 0};
    const float bias[] = {-3, -3, -9, -9};
    fp8moe_routing routing = routing_of(2);
    routing.scoring = FP8MOE_SCORING_SIGMOID;
    routing.n_group = 2;
    routing.topk_group = 1;
    routing.correction_bias = bias_of(bias, 4);
    int64_t ids[2];
    double weights[2];
    route(&routing, logits, 4, ids, weights);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
}

/* Equal groups: the lower one is kept. */
static void test_group_ties(void **state)
{
    (void)state;
    const double logits[] = {0, 0, 1, 1, 1, 1};
    fp8moe_routing routing = routing_of(2);
    routing.n_group = 3;
    routing.topk_group = 1;
    int64_t ids[2];
    double weights[2];
    route(&routing, logits, 6, ids, weights);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 3);
}

/* ---- what is not finite ---- */

static void assert_distinct(const int64_t *ids, int64_t top_k, int64_t num_experts)
{
    for (int64_t k = 0; k < top_k; k++) {
        assert_in_range(ids[k], 0, num_experts - 1);
        for (int64_t j = 0; j < k; j++)
            assert_int_not_equal(ids[j], ids[k]);
    }
}

static void test_nan_and_inf(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double nan = (double)NAN;
    int64_t ids[2];
    double weights[2];
    fp8moe_routing softmax = routing_of(2);
    fp8moe_routing sigmoid = routing_of(2);
    sigmoid.scoring = FP8MOE_SCORING_SIGMOID;

    route(&softmax, (const double[]){1, nan, 2, 0}, 4, ids, weights);
    assert_true(ids[0] == 0 && ids[1] == 1 && isnan(weights[0]) && isnan(weights[1]));
    route(&softmax, (const double[]){1, 0, inf, 0}, 4, ids, weights);
    assert_true(ids[0] == 0 && ids[1] == 1 && isnan(weights[0]) && isnan(weights[1]));
    route(&softmax, (const double[]){-inf, 0, -inf, 0}, 4, ids, weights);
    assert_true(ids[0] == 1 && ids[1] == 3 && weights[0] == 0.5 && weights[1] == 0.5);
    route(&softmax, (const double[]){-inf, -inf, -inf, -inf}, 4, ids, weights);
    assert_true(ids[0] == 0 && ids[1] == 1 && isnan(weights[0]) && isnan(weights[1]));

    route(&sigmoid, (const double[]){1, 3, nan, 0}, 4, ids, weights);
    assert_true(ids[0] == 2 && ids[1] == 1 && isnan(weights[0]) && isnan(weights[1]));
    sigmoid.renormalize = false;
    route(&sigmoid, (const double[]){1, inf, nan, 0}, 4, ids, weights);
    assert_true(ids[0] == 2 && ids[1] == 1 && isnan(weights[0]) && weights[1] == 1.0);
    sigmoid.renormalize = true;
    route(&sigmoid, (const double[]){-inf, -inf, -inf, -inf}, 4, ids, weights);
    assert_true(ids[0] == 0 && ids[1] == 1 && isnan(weights[0]) && isnan(weights[1]));
}

/* Every assignment of these values to six experts in three groups, under every rule. */
static void test_never_a_duplicate(void **state)
{
    (void)state;
    static const double values[] = {0.0,        -0.0, 1.0, -(double)INFINITY, (double)INFINITY,
                                    (double)NAN};
    const float bias[6] = {0, 0.5f, -0.5f, 0, 2, -2};
    for (int word = 0; word < 6 * 6 * 6 * 6 * 6 * 6; word++) {
        double logits[6];
        for (int e = 0, rest = word; e < 6; e++, rest /= 6)
            logits[e] = values[rest % 6];
        for (int variant = 0; variant < 16; variant++) {
            fp8moe_routing routing = routing_of(3);
            routing.scoring = (fp8moe_scoring)(variant % 4);
            if (routing.scoring == FP8MOE_SCORING_TOP1_SIGMOID) routing.top_k = 1;
            if (variant % 4 < 2 && variant & 4) routing.correction_bias = bias_of(bias, 6);
            if (variant % 4 < 2 && variant & 8) {
                routing.n_group = 3;
                routing.topk_group = 2;
            }
            int64_t ids[3];
            double weights[3];
            route(&routing, logits, 6, ids, weights);
            assert_distinct(ids, routing.top_k, 6);
        }
    }
}

/* ---- a second model: sort, take the first, nothing else ---- */

typedef struct candidate {
    int64_t id;
    float score;
} candidate;

static int by_score(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static void model_scores(const fp8moe_routing *routing, const double *logits, int n, float *scores)
{
    long double sum = 0;
    for (int e = 0; e < n; e++)
        sum += expl((long double)logits[e]);
    for (int e = 0; e < n; e++)
        scores[e] = routing->scoring == FP8MOE_SCORING_SIGMOID
                        ? (float)(1 / (1 + expl(-(long double)logits[e])))
                        : (float)(expl((long double)logits[e]) / sum);
}

/* ids and weights as the model has them; false when two choosing scores stand so near each other
 * that the last bit of exp decides between them. */
static bool model_route(const fp8moe_routing *routing, const double *logits, const float *bias,
                        int n, int64_t *ids, float *weights)
{
    float scores[MAX_EXPERTS];
    float choosing[MAX_EXPERTS];
    candidate experts[MAX_EXPERTS];
    candidate groups[MAX_EXPERTS];
    const int group_count = routing->n_group > 1 ? (int)routing->n_group : 1;
    const int kept = routing->n_group > 1 ? (int)routing->topk_group : 1;
    const int size = n / group_count;
    model_scores(routing, logits, n, scores);
    for (int e = 0; e < n; e++)
        choosing[e] = bias ? scores[e] + bias[e] : scores[e];
    for (int g = 0; g < group_count; g++) {
        candidate members[MAX_EXPERTS];
        for (int i = 0; i < size; i++)
            members[i] = (candidate){g * size + i, choosing[g * size + i]};
        qsort(members, (size_t)size, sizeof *members, by_score);
        groups[g] = (candidate){g, bias && size > 1 ? members[0].score + members[1].score
                                                    : members[0].score};
    }
    qsort(groups, (size_t)group_count, sizeof *groups, by_score);
    int count = 0;
    for (int g = 0; g < kept; g++)
        for (int i = 0; i < size; i++, count++) {
            const int64_t id = groups[g].id * size + i;
            experts[count] = (candidate){id, choosing[id]};
        }
    qsort(experts, (size_t)count, sizeof *experts, by_score);
    for (int e = 1; e < count; e++)
        if (experts[e].score != experts[e - 1].score &&
            experts[e - 1].score - experts[e].score < 1e-6f * fabsf(experts[e].score))
            return false;
    for (int g = 1; g < group_count; g++)
        if (groups[g - 1].score - groups[g].score < 1e-6f && groups[g - 1].score != groups[g].score)
            return false;
    double sum = 0;
    for (int k = 0; k < routing->top_k; k++) {
        ids[k] = experts[k].id;
        sum += (double)scores[ids[k]];
    }
    for (int k = 0; k < routing->top_k; k++) {
        const float share = scores[ids[k]] / (routing->renormalize ? (float)sum : 1.0f);
        weights[k] = share * (float)routing->routed_scaling_factor;
    }
    return true;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void test_against_the_sorting_model(void **state)
{
    (void)state;
    uint32_t seed = 5;
    int judged = 0;
    for (int round = 0; round < 20000; round++) {
        static const int group_counts[] = {0, 1, 2, 4, 8};
        double logits[MAX_EXPERTS];
        float bias[MAX_EXPERTS];
        const int n = 8 * (int)(1 + next_random(&seed) % 8);
        const bool biased = next_random(&seed) % 2 == 0 && n >= 16;
        fp8moe_routing routing = routing_of(0);
        routing.scoring = next_random(&seed) % 2 ? FP8MOE_SCORING_SIGMOID : FP8MOE_SCORING_SOFTMAX;
        routing.renormalize = next_random(&seed) % 2 == 0;
        routing.routed_scaling_factor = next_random(&seed) % 2 ? 1.0 : 2.827;
        routing.n_group = group_counts[next_random(&seed) % 5];
        const int groups = routing.n_group > 1 ? (int)routing.n_group : 1;
        routing.topk_group = 1 + (int)(next_random(&seed) % (uint32_t)groups);
        const int64_t reachable = routing.n_group > 1 ? routing.topk_group * (n / groups) : n;
        routing.top_k =
            1 + (int64_t)(next_random(&seed) % (uint32_t)(reachable < 10 ? reachable : 10));
        for (int e = 0; e < n; e++) {
            /* eighths: bf16 numbers with many ties */
            logits[e] = ((int)(next_random(&seed) % 81) - 40) / 8.0;
            bias[e] = (float)((int)(next_random(&seed) % 33) - 16) / 32.0f;
        }
        if (biased) routing.correction_bias = bias_of(bias, n);
        int64_t want_ids[10], got_ids[10];
        float want[10];
        double got[10];
        if (!model_route(&routing, logits, biased ? bias : NULL, n, want_ids, want)) continue;
        route(&routing, logits, n, got_ids, got);
        judged++;
        for (int k = 0; k < routing.top_k; k++) {
            if (got_ids[k] != want_ids[k]) fail_msg("round %d slot %d", round, k);
            if (got[k] != (double)want[k])
                fail_msg("round %d slot %d: got %a, want %a", round, k, got[k], (double)want[k]);
        }
    }
    assert_in_range(judged, 15000, 20000);
}

/* ---- settings ---- */

typedef struct bad_row {
    const char *sentence; /* a part of the message */
    fp8moe_status status;
    int64_t top_k, n_group, topk_group;
    fp8moe_scoring scoring;
    double factor;
} bad_row;

static void test_bad_settings(void **state)
{
    (void)state;
    static const bad_row bad[] = {
        {"top_k 0 is outside 1..8", FP8MOE_ERR_VALUE, 0, 0, 0, FP8MOE_SCORING_SOFTMAX, 1},
        {"top_k 9 is outside 1..8", FP8MOE_ERR_VALUE, 9, 0, 0, FP8MOE_SCORING_SOFTMAX, 1},
        {"n_group 3 does not divide 8", FP8MOE_ERR_VALUE, 2, 3, 1, FP8MOE_SCORING_SOFTMAX, 1},
        {"topk_group 0 is outside 1..4", FP8MOE_ERR_VALUE, 2, 4, 0, FP8MOE_SCORING_SOFTMAX, 1},
        {"topk_group 5 is outside 1..4", FP8MOE_ERR_VALUE, 2, 4, 5, FP8MOE_SCORING_SOFTMAX, 1},
        {"top_k 3 exceeds the 2 experts", FP8MOE_ERR_VALUE, 3, 4, 1, FP8MOE_SCORING_SIGMOID, 1},
        {"neither groups nor", FP8MOE_ERR_USAGE, 2, 4, 2, FP8MOE_SCORING_SOFTMAX_TOPK, 1},
        {"routes to one expert", FP8MOE_ERR_USAGE, 2, 0, 0, FP8MOE_SCORING_TOP1_SIGMOID, 1},
        {"not a finite f32", FP8MOE_ERR_VALUE, 2, 0, 0, FP8MOE_SCORING_SOFTMAX, 1e39},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fp8moe_routing routing = routing_of(bad[i].top_k);
        routing.n_group = bad[i].n_group;
        routing.topk_group = bad[i].topk_group;
        routing.scoring = bad[i].scoring;
        routing.routed_scaling_factor = bad[i].factor;
        fp8moe_error err;
        assert_int_equal(fp8moe_routing_check(&routing, 8, &err), bad[i].status);
        if (!strstr(err.message, bad[i].sentence)) fail_msg("got: %s", err.message);
    }
}

static void test_bad_bias(void **state)
{
    (void)state;
    float bias[4] = {0, 0, 0, 0};
    fp8moe_error err;
    fp8moe_routing routing = routing_of(2);
    routing.correction_bias = bias_of(bias, 3);
    assert_int_equal(fp8moe_routing_check(&routing, 4, &err), FP8MOE_ERR_SHAPE);
    assert_string_equal(err.tensor, "e_score_correction_bias");
    routing.correction_bias = bias_of(bias, 4);
    bias[2] = NAN;
    assert_int_equal(fp8moe_routing_check(&routing, 4, &err), FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "expert 2"));
    bias[2] = 0;
    routing.n_group = 4;
    routing.topk_group = 2;
    assert_int_equal(fp8moe_routing_check(&routing, 4, &err), FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "two best"));
    routing.n_group = 1;
    routing.scoring = FP8MOE_SCORING_SOFTMAX_TOPK;
    assert_int_equal(fp8moe_routing_check(&routing, 4, &err), FP8MOE_ERR_USAGE);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"softmax", "sigmoid", "softmax-topk", "top1-sigmoid"};
    for (int i = 0; i < 4; i++) {
        fp8moe_scoring found;
        assert_string_equal(fp8moe_scoring_name((fp8moe_scoring)i), names[i]);
        assert_true(fp8moe_scoring_find(names[i], &found));
        assert_int_equal(found, i);
    }
    fp8moe_scoring untouched = FP8MOE_SCORING_SIGMOID;
    assert_false(fp8moe_scoring_find("Softmax", &untouched));
    assert_int_equal(untouched, FP8MOE_SCORING_SIGMOID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bias_chooses_but_does_not_weigh),
        cmocka_unit_test(test_weights_are_bf16_by_default),
        cmocka_unit_test(test_weights_are_f32_before_they_are_bf16),
        cmocka_unit_test(test_group_scores),
        cmocka_unit_test(test_masked_groups_never_win),
        cmocka_unit_test(test_group_ties),
        cmocka_unit_test(test_nan_and_inf),
        cmocka_unit_test(test_never_a_duplicate),
        cmocka_unit_test(test_against_the_sorting_model),
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_bad_bias),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "arena.h"
#include "bits.h"
#include "common.h"
#include "route.h"

#include <fp8moe/route_check.h>
#include <string.h>

static const char *const class_names[FP8MOE_ROUTE_CLASS_COUNT] = {"unjudged", "identical", "tie",
                                                                  "step", "wrong"};

const char *fp8moe_route_class_name(fp8moe_route_class which)
{
    assert((size_t)which < FP8MOE_ROUTE_CLASS_COUNT);
    return class_names[which];
}

/* One token at a time; everything is overwritten by the next. */
typedef struct token_check {
    fp8moe_routing routing;
    int64_t experts, groups, group_size, groups_kept;
    double *logits, *scores, *choice;   /* [experts] */
    double *masked;                     /* [experts] choice, -Inf outside the groups kept */
    double *group_scores;               /* [groups] */
    int64_t *group_best;                /* [groups] the expert of the largest choice */
    bool *kept;                         /* [groups] */
    bool *own_kept;                     /* [groups] of this library's choice */
    bool *inside;                       /* [experts] part of the set in question */
    int64_t *own;                       /* [top_k] this library's choice */
    int64_t *other;                     /* [top_k] */
    int64_t *flipped;                   /* [top_k] the other choice that a margin belongs to */
    int64_t *flip;                      /* [top_k] that of the least margin */
    double *own_weights, *flip_weights; /* [top_k] */
    int64_t *dumped;                    /* [top_k] */
    int64_t *ids;                       /* [top_k] dumped, masked slots filled in */
    double *weights, *expected;         /* [top_k] dumped; what it should be */
} token_check;

/* ---- steps ---- */

/* Place of an f32 on the line of all f32 numbers. */
static double ordinal(double value)
{
    const uint32_t bits = f32_bits((float)value);
    const double magnitude = (double)(bits & 0x7FFFFFFF);
    return bits >> 31 ? -magnitude : magnitude;
}

static double bf16_steps(double high, double low)
{
    if (high != high || low != low) return (double)INFINITY;
    return (ordinal(high) - ordinal(low)) / 65536.0;
}

/* Steps by which expert `low` misses expert `high`; 0 where it does not. */
static double expert_steps(const token_check *c, int64_t low, int64_t high)
{
    if (!route_exceeds(c->choice[high], c->choice[low])) return 0;
    const double steps = bf16_steps(c->choice[high], c->choice[low]);
    if (route_has_bias(&c->routing)) return steps;
    const double logit_steps = bf16_steps(c->logits[high], c->logits[low]);
    return logit_steps < steps ? logit_steps : steps;
}

static double group_steps(const token_check *c, int64_t low, int64_t high)
{
    if (!route_has_bias(&c->routing))
        return expert_steps(c, c->group_best[low], c->group_best[high]);
    if (!route_exceeds(c->group_scores[high], c->group_scores[low])) return 0;
    return bf16_steps(c->group_scores[high], c->group_scores[low]);
}

/* ---- choosing within groups ---- */

static void score_groups(token_check *c)
{
    for (int64_t g = 0; g < c->groups; g++) {
        const double *of_group = c->choice + g * c->group_size;
        c->group_scores[g] =
            route_group_score(of_group, c->group_size, route_has_bias(&c->routing));
        route_choose(&c->group_best[g], 1, of_group, c->group_size);
        c->group_best[g] += g * c->group_size;
    }
}

/* The best group for which kept[] is false, lowest first; -1 where there is none. */
static int64_t best_group_left_out(const token_check *c)
{
    int64_t best = -1;
    for (int64_t g = 0; g < c->groups; g++)
        if (!c->kept[g] && (best < 0 || route_exceeds(c->group_scores[g], c->group_scores[best])))
            best = g;
    return best;
}

static int64_t count_kept(const token_check *c)
{
    int64_t count = 0;
    for (int64_t g = 0; g < c->groups; g++)
        count += c->kept[g];
    return count;
}

/* Keep the best groups beside those kept already, until there are enough. */
static void fill_groups(token_check *c)
{
    for (int64_t count = count_kept(c); count < c->groups_kept; count++)
        c->kept[best_group_left_out(c)] = true;
}

static void choose_within_kept(token_check *c, int64_t *ids)
{
    for (int64_t e = 0; e < c->experts; e++)
        c->masked[e] = c->kept[e / c->group_size] ? c->choice[e] : -(double)INFINITY;
    route_choose(ids, c->routing.top_k, c->masked, c->experts);
}

static void mark(token_check *c, const int64_t *ids)
{
    memset(c->inside, 0, (size_t)c->experts * sizeof *c->inside);
    for (int64_t k = 0; k < c->routing.top_k; k++)
        if (ids[k] >= 0) c->inside[ids[k]] = true;
}

/* The best expert of the kept groups that is not marked, or -1. */
static int64_t best_expert_left_out(const token_check *c)
{
    int64_t best = -1;
    for (int64_t e = 0; e < c->experts; e++)
        if (!c->inside[e] && c->kept[e / c->group_size] &&
            (best < 0 || route_exceeds(c->choice[e], c->choice[best])))
            best = e;
    return best;
}

/* ---- margins ---- */

static void copy_ids(const token_check *c, int64_t *to, const int64_t *from)
{
    memcpy(to, from, (size_t)c->routing.top_k * sizeof *to);
}

/* Steps to the nearest choice that swaps two experts of the kept groups: c->flipped. */
static double margin_of_experts(token_check *c)
{
    double margin = (double)INFINITY;
    int64_t slot = 0;
    mark(c, c->own);
    const int64_t next = best_expert_left_out(c);
    for (int64_t k = 0; k < c->routing.top_k && next >= 0; k++) {
        const double steps = expert_steps(c, next, c->own[k]);
        if (!(steps < margin)) continue;
        margin = steps;
        slot = k;
    }
    copy_ids(c, c->flipped, c->own);
    if (margin < (double)INFINITY) c->flipped[slot] = next;
    return margin;
}

static bool is_own_choice(const token_check *c, const int64_t *ids)
{
    for (int64_t k = 0; k < c->routing.top_k; k++)
        if (!c->inside[ids[k]]) return false;
    return true;
}

/* Steps to another choice, c->flipped, once group `in` is kept instead of `out`: 0 where that alone
 * changes it. */
static double margin_after_swap(token_check *c, int64_t out, int64_t in)
{
    c->kept[out] = false;
    c->kept[in] = true;
    choose_within_kept(c, c->other);
    const bool same = is_own_choice(c, c->other);
    if (!same) copy_ids(c, c->flipped, c->other);
    const double margin = same ? margin_of_experts(c) : 0;
    c->kept[in] = false;
    c->kept[out] = true;
    return margin;
}

static double margin_of_groups(token_check *c, double margin)
{
    for (int64_t out = 0; out < c->groups; out++)
        for (int64_t in = 0; in < c->groups && c->own_kept[out]; in++) {
            if (c->own_kept[in]) continue;
            const double steps = group_steps(c, in, out);
            if (steps >= margin) continue;
            const double then = margin_after_swap(c, out, in);
            const double both = then > steps ? then : steps;
            if (!(both < margin)) continue;
            margin = both;
            copy_ids(c, c->flip, c->flipped);
        }
    return margin;
}

static double route_own(token_check *c)
{
    route_score(&c->routing, c->logits, c->experts, c->scores, c->choice);
    score_groups(c);
    memset(c->kept, 0, (size_t)c->groups * sizeof *c->kept);
    fill_groups(c);
    memcpy(c->own_kept, c->kept, (size_t)c->groups * sizeof *c->kept);
    choose_within_kept(c, c->own);
    const double margin = margin_of_experts(c);
    copy_ids(c, c->flip, c->flipped);
    return margin_of_groups(c, margin);
}

static void weigh(const token_check *c, const int64_t *ids, double *weights)
{
    for (int64_t k = 0; k < c->routing.top_k; k++)
        weights[k] = c->scores[ids[k]];
    route_weigh(&c->routing, weights);
}

/* ---- a dumped choice ---- */

/* Slot of the first id that is not marked, or -1. */
static int64_t first_outside(const token_check *c)
{
    for (int64_t k = 0; k < c->routing.top_k; k++)
        if (c->dumped[k] >= 0 && !c->inside[c->dumped[k]]) return k;
    return -1;
}

static bool has_repeated_id(const token_check *c)
{
    for (int64_t k = 0; k < c->routing.top_k; k++)
        for (int64_t before = 0; before < k; before++)
            if (c->dumped[k] >= 0 && c->dumped[k] == c->dumped[before]) return true;
    return false;
}

/* Keep the groups of the dumped experts, and no others. */
static void keep_groups_of_ids(token_check *c)
{
    memset(c->kept, 0, (size_t)c->groups * sizeof *c->kept);
    for (int64_t k = 0; k < c->routing.top_k; k++)
        if (c->dumped[k] >= 0) c->kept[c->dumped[k] / c->group_size] = true;
}

/* The best group left out, of those whose best expert does not exceed that of group `limit`; -1
 * where there is none. */
static int64_t best_group_within(const token_check *c, int64_t limit)
{
    const double most = c->choice[c->group_best[limit]];
    int64_t best = -1;
    for (int64_t g = 0; g < c->groups; g++) {
        if (c->kept[g] || route_exceeds(c->choice[c->group_best[g]], most)) continue;
        if (best < 0 || route_exceeds(c->group_scores[g], c->group_scores[best])) best = g;
    }
    return best;
}

/* Keep those beside the groups of the dumped experts until there are enough; false where there are
 * too few. */
static bool keep_groups_within(token_check *c, int64_t limit)
{
    keep_groups_of_ids(c);
    for (int64_t count = count_kept(c); count < c->groups_kept; count++) {
        const int64_t next = best_group_within(c, limit);
        if (next < 0) return false;
        c->kept[next] = true;
    }
    return true;
}

/* Steps by which the groups kept miss the best group left out. */
static double gap_of_groups(const token_check *c)
{
    double gap = 0;
    const int64_t next = best_group_left_out(c);
    for (int64_t g = 0; g < c->groups && next >= 0; g++) {
        if (!c->kept[g]) continue;
        const double steps = group_steps(c, g, next);
        if (steps > gap) gap = steps;
    }
    return gap;
}

/* Give masked slots the best experts left, as whoever masked them did. */
static void fill_masked_slots(token_check *c)
{
    memcpy(c->ids, c->dumped, (size_t)c->routing.top_k * sizeof *c->ids);
    mark(c, c->ids);
    for (int64_t k = 0; k < c->routing.top_k; k++) {
        if (c->ids[k] >= 0) continue;
        c->ids[k] = best_expert_left_out(c);
        c->inside[c->ids[k]] = true;
    }
}

/* Steps by which the ids, all filled in, miss the best expert left out. */
static double gap_of_experts(const token_check *c)
{
    double gap = 0;
    const int64_t next = best_expert_left_out(c);
    for (int64_t k = 0; k < c->routing.top_k && next >= 0; k++) {
        const double steps = expert_steps(c, c->ids[k], next);
        if (steps > gap) gap = steps;
    }
    return gap;
}

/* Both, for the groups kept now; the masked slots are filled accordingly. */
static double gap_with_kept_groups(token_check *c)
{
    fill_masked_slots(c);
    const double of_groups = gap_of_groups(c);
    const double of_experts = gap_of_experts(c);
    return of_groups > of_experts ? of_groups : of_experts;
}

/* The least over all groups that may have been kept beside those of the dumped experts. A group
 * with a high score may hold an expert that then should have been chosen: each limit on the best
 * expert is tried, and within a limit the groups of the highest scores are best. */
static double least_gap(token_check *c)
{
    double least = (double)INFINITY;
    int64_t best_limit = -1;
    for (int64_t limit = 0; limit < c->groups; limit++) {
        if (!keep_groups_within(c, limit)) continue;
        const double gap = gap_with_kept_groups(c);
        if (best_limit >= 0 && gap >= least) continue;
        least = gap;
        best_limit = limit;
    }
    keep_groups_within(c, best_limit);
    return gap_with_kept_groups(c);
}

static fp8moe_route_class class_of_gap(double gap)
{
    return gap == 0 ? FP8MOE_ROUTE_TIE : gap <= 1 ? FP8MOE_ROUTE_STEP : FP8MOE_ROUTE_WRONG;
}

/* c->ids become the dumped ids with masked slots filled. */
static void judge_choice(token_check *c, fp8moe_route_finding *out)
{
    mark(c, c->own);
    out->slot = first_outside(c);
    out->repeated = has_repeated_id(c);
    keep_groups_of_ids(c);
    out->too_many_groups = count_kept(c) > c->groups_kept;
    const bool possible = !out->repeated && !out->too_many_groups;
    out->gap = possible ? least_gap(c) : (double)INFINITY;
    const bool same = possible && out->slot < 0;
    out->choice = same ? FP8MOE_ROUTE_IDENTICAL : class_of_gap(out->gap);
}

/* ---- dumped weights ---- */

static double weight_steps(double expected, double got, double largest)
{
    const double difference = expected > got ? expected - got : got - expected;
    if (expected == got || (expected != expected && got != got)) return 0;
    if (difference <= largest * 0x1p-24) return 0x1p-16;
    const double steps = bf16_steps(expected, got);
    return steps < 0 ? -steps : steps;
}

static void judge_weights(token_check *c, fp8moe_route_finding *out)
{
    double largest = 0;
    weigh(c, c->ids, c->expected);
    for (int64_t k = 0; k < c->routing.top_k; k++)
        if (c->expected[k] > largest) largest = c->expected[k];
    for (int64_t k = 0; k < c->routing.top_k; k++) {
        const double steps = weight_steps(c->expected[k], c->weights[k], largest);
        if (c->dumped[k] < 0 || !(steps > out->weight_gap)) continue;
        out->weight_gap = steps;
        out->weight_slot = k;
        out->weight_expected = c->expected[k];
        out->weight_got = c->weights[k];
    }
    out->weights = out->weight_gap == 0 ? FP8MOE_ROUTE_IDENTICAL : class_of_gap(out->weight_gap);
}

/* ---- one token ---- */

static bool has_nonfinite(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return true;
    return false;
}

static bool has_an_id(const int64_t *ids, int64_t top_k)
{
    for (int64_t k = 0; k < top_k; k++)
        if (ids[k] >= 0) return true;
    return false;
}

/* The token's logits, and ids and weights where it has them, stand in *c. */
static fp8moe_route_finding check_token(token_check *c, bool has_ids, bool has_weights)
{
    fp8moe_route_finding found = {.slot = -1, .weight_slot = -1};
    found.nonfinite = has_nonfinite(c->logits, c->experts);
    found.margin = route_own(c);
    found.own_ids = c->own;
    found.own_weights = c->own_weights;
    weigh(c, c->own, c->own_weights);
    if (found.margin < (double)INFINITY) {
        found.flip_ids = c->flip;
        found.flip_weights = c->flip_weights;
        weigh(c, c->flip, c->flip_weights);
    }
    if (!has_ids || !has_an_id(c->dumped, c->routing.top_k)) return found;
    judge_choice(c, &found);
    if (has_weights && !found.repeated && !found.too_many_groups) judge_weights(c, &found);
    return found;
}

static void add_to_summary(const fp8moe_route_finding *found, fp8moe_route_summary *out)
{
    out->choice[found->choice]++;
    out->weights[found->weights]++;
    out->could_flip += found->margin <= 1;
    out->tied += found->margin == 0;
    out->nonfinite += found->nonfinite;
    if (found->margin > 0 && found->margin < out->smallest_margin)
        out->smallest_margin = found->margin;
}

/* ---- all tokens ---- */

/* The dumped tensors as rows; absent ones have data NULL. */
typedef struct dumped_rows {
    fp8moe_tensor logits, ids, weights;
} dumped_rows;

static bool is_float(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_BF16 || dtype == FP8MOE_DTYPE_F16 || dtype == FP8MOE_DTYPE_F32;
}

static bool is_integer(fp8moe_dtype dtype)
{
    return dtype >= FP8MOE_DTYPE_U8 && dtype <= FP8MOE_DTYPE_I64;
}

static fp8moe_status rows_of(const fp8moe_tensor *tensor, const char *name,
                             bool (*takes)(fp8moe_dtype dtype), fp8moe_tensor *out,
                             fp8moe_error *err)
{
    if (!tensor || !fp8moe_tensor_present(tensor)) return FP8MOE_OK;
    if (!takes(tensor->dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1, "%s is no dtype of it",
                       fp8moe_dtype_name(tensor->dtype));
    return error_in_tensor(err, fp8moe_tensor_as_rows(tensor, out, err), name);
}

static fp8moe_status check_shape(const fp8moe_tensor *rows, const char *name, int64_t tokens,
                                 int64_t columns, fp8moe_error *err)
{
    char text[128];
    if (!fp8moe_tensor_present(rows) || (rows->shape[0] == tokens && rows->shape[1] == columns))
        return FP8MOE_OK;
    return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "expected [%lld, %lld], got %s",
                   (long long)tokens, (long long)columns,
                   fp8moe_tensor_shape_text(rows, text, sizeof text));
}

static fp8moe_status find_rows(fp8moe_routing *routing, const fp8moe_tensor *router_logits,
                               const fp8moe_tensor *topk_ids, const fp8moe_tensor *topk_weights,
                               dumped_rows *out, fp8moe_error *err)
{
    *out = (dumped_rows){.logits = {.data = NULL}};
    TRY(rows_of(router_logits, "router_logits", is_float, &out->logits, err));
    TRY(rows_of(topk_ids, "topk_ids", is_integer, &out->ids, err));
    TRY(rows_of(topk_weights, "topk_weights", is_float, &out->weights, err));
    if (!fp8moe_tensor_present(&out->logits))
        return fail(err, FP8MOE_ERR_USAGE, "a routing is checked against router_logits");
    if (routing->top_k == 0 && fp8moe_tensor_present(&out->ids)) routing->top_k = out->ids.shape[1];
    if (routing->top_k == 0)
        return fail(err, FP8MOE_ERR_USAGE, "router_logits without topk_ids need top_k");
    const int64_t tokens = out->logits.shape[0];
    TRY(check_shape(&out->ids, "topk_ids", tokens, routing->top_k, err));
    return check_shape(&out->weights, "topk_weights", tokens, routing->top_k, err);
}

static fp8moe_status check_ids(const int64_t *ids, int64_t top_k, int64_t experts, int64_t token,
                               fp8moe_error *err)
{
    for (int64_t k = 0; k < top_k; k++)
        if (ids[k] < -1 || ids[k] >= experts)
            return fail_at(err, FP8MOE_ERR_VALUE, "topk_ids", -1,
                           "token %lld, slot %lld: id %lld is outside the model's %lld experts",
                           (long long)token, (long long)k, (long long)ids[k], (long long)experts);
    return FP8MOE_OK;
}

static fp8moe_status check_tokens(token_check *c, const dumped_rows *rows,
                                  const fp8moe_route_listener *listener, fp8moe_route_summary *out,
                                  fp8moe_error *err)
{
    const int64_t top_k = c->routing.top_k;
    const bool has_ids = fp8moe_tensor_present(&rows->ids);
    const bool has_weights = fp8moe_tensor_present(&rows->weights);
    for (int64_t token = 0; token < out->tokens; token++) {
        fp8moe_tensor_read_f64(&rows->logits, token * c->experts, c->experts, c->logits);
        if (has_ids) fp8moe_tensor_read_i64(&rows->ids, token * top_k, top_k, c->dumped);
        if (has_ids) TRY(check_ids(c->dumped, top_k, c->experts, token, err));
        if (has_weights) fp8moe_tensor_read_f64(&rows->weights, token * top_k, top_k, c->weights);
        const fp8moe_route_finding found = check_token(c, has_ids, has_weights);
        add_to_summary(&found, out);
        if (listener) listener->token(listener->user, token, &found);
    }
    return FP8MOE_OK;
}

static bool allocate(token_check *c, arena *memory)
{
    const size_t experts = (size_t)c->experts;
    const size_t groups = (size_t)c->groups;
    const size_t top_k = (size_t)c->routing.top_k;
    return (c->logits = arena_alloc(memory, experts * sizeof *c->logits)) &&
           (c->scores = arena_alloc(memory, experts * sizeof *c->scores)) &&
           (c->choice = arena_alloc(memory, experts * sizeof *c->choice)) &&
           (c->masked = arena_alloc(memory, experts * sizeof *c->masked)) &&
           (c->inside = arena_alloc(memory, experts * sizeof *c->inside)) &&
           (c->group_scores = arena_alloc(memory, groups * sizeof *c->group_scores)) &&
           (c->group_best = arena_alloc(memory, groups * sizeof *c->group_best)) &&
           (c->kept = arena_alloc(memory, groups * sizeof *c->kept)) &&
           (c->own_kept = arena_alloc(memory, groups * sizeof *c->own_kept)) &&
           (c->own = arena_alloc(memory, top_k * sizeof *c->own)) &&
           (c->other = arena_alloc(memory, top_k * sizeof *c->other)) &&
           (c->flipped = arena_alloc(memory, top_k * sizeof *c->flipped)) &&
           (c->flip = arena_alloc(memory, top_k * sizeof *c->flip)) &&
           (c->own_weights = arena_alloc(memory, top_k * sizeof *c->own_weights)) &&
           (c->flip_weights = arena_alloc(memory, top_k * sizeof *c->flip_weights)) &&
           (c->ids = arena_alloc(memory, top_k * sizeof *c->ids)) &&
           (c->dumped = arena_alloc(memory, top_k * sizeof *c->dumped)) &&
           (c->weights = arena_alloc(memory, top_k * sizeof *c->weights)) &&
           (c->expected = arena_alloc(memory, top_k * sizeof *c->expected));
}

fp8moe_status fp8moe_route_check(const fp8moe_routing *routing, const fp8moe_tensor *router_logits,
                                 const fp8moe_tensor *topk_ids, const fp8moe_tensor *topk_weights,
                                 const fp8moe_route_listener *listener, fp8moe_route_summary *out,
                                 fp8moe_error *err)
{
    token_check c = {.routing = *routing};
    dumped_rows rows;
    TRY(find_rows(&c.routing, router_logits, topk_ids, topk_weights, &rows, err));
    c.experts = rows.logits.shape[1];
    TRY(fp8moe_routing_check(&c.routing, c.experts, err));
    c.groups = route_is_grouped(routing) ? routing->n_group : 1;
    c.groups_kept = route_is_grouped(routing) ? routing->topk_group : 1;
    c.group_size = c.experts / c.groups;
    *out = (fp8moe_route_summary){.tokens = rows.logits.shape[0],
                                  .top_k = c.routing.top_k,
                                  .num_experts = c.experts,
                                  .smallest_margin = (double)INFINITY};
    arena memory = {0};
    const fp8moe_status status =
        allocate(&c, &memory) ? check_tokens(&c, &rows, listener, out, err)
                              : fail(err, FP8MOE_ERR_NOMEM, "no memory for the experts of a token");
    arena_free(&memory);
    return status;
}

/* Faults of routing: which experts, with which weight, on which rank. */
#include "fault_kinds.h"

#include <string.h>

static int64_t slots_of(const made_plan *p)
{
    return MADE_ROWS * p->model->shape->top_k;
}

static bool is_here(const made_plan *p, int64_t slot)
{
    return p->ids[slot] >= p->model->shape->local;
}

/* Slot of the lightest expert of this rank. */
static int64_t weakest_slot(const made_plan *p, int64_t token)
{
    const int64_t top_k = p->model->shape->top_k;
    int64_t weakest = -1;
    for (int64_t slot = token * top_k; slot < (token + 1) * top_k; slot++)
        if (is_here(p, slot) && (weakest < 0 || p->weights[slot] < p->weights[weakest]))
            weakest = slot;
    return weakest;
}

static void scale_weights(made_plan *p, int64_t token, double factor)
{
    const int64_t top_k = p->model->shape->top_k;
    for (int64_t slot = token * top_k; slot < (token + 1) * top_k; slot++)
        p->weights[slot] = (float)((double)p->weights[slot] * factor);
}

static bool drop_weakest(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        p->ids[weakest_slot(p, t)] = -1;
    return true;
}

static bool drop_victim(made_plan *p)
{
    for (int64_t slot = 0; slot < slots_of(p); slot++)
        if (p->ids[slot] == p->model->victim + p->model->shape->local) p->ids[slot] = -1;
    return true;
}

static bool drop_and_renormalise(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++) {
        const int64_t slot = weakest_slot(p, t);
        const double left = 1 - (double)p->weights[slot] / p->model->shape->scaling_factor;
        p->ids[slot] = -1;
        scale_weights(p, t, 1 / left);
    }
    return true;
}

static bool duplicate(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        p->ids[weakest_slot(p, t)] = p->ids[t * p->model->shape->top_k];
    return true;
}

static bool is_routed(const made_plan *p, int64_t token, int64_t id)
{
    const int64_t top_k = p->model->shape->top_k;
    for (int64_t slot = token * top_k; slot < (token + 1) * top_k; slot++)
        if (p->ids[slot] == id) return true;
    return false;
}

/* An expert the token was not routed to. */
static int64_t next_best(const made_plan *p, int64_t token)
{
    int64_t id = p->model->shape->local;
    while (is_routed(p, token, id))
        id++;
    return id;
}

static bool take_next_best(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        p->ids[weakest_slot(p, t)] = next_best(p, t);
    return true;
}

static bool take_next_best_once(made_plan *p)
{
    p->ids[p->model->victim_slot] = next_best(p, 0);
    return true;
}

static bool swap_ids(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++) {
        int64_t *const ids = p->ids + t * p->model->shape->top_k, first = ids[0];
        ids[0] = ids[1];
        ids[1] = first;
    }
    return true;
}

static bool keep_sum(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        scale_weights(p, t, (double)p->model->shares[t]);
    return true;
}

/* Renormalised again over the experts of this rank alone. */
static bool renormalise_rank(made_plan *p)
{
    const int64_t top_k = p->model->shape->top_k;
    for (int64_t t = 0; t < MADE_ROWS; t++) {
        double here = 0;
        for (int64_t slot = t * top_k; slot < (t + 1) * top_k; slot++)
            here += is_here(p, slot) ? (double)p->weights[slot] : 0;
        scale_weights(p, t, p->model->shape->scaling_factor / here);
    }
    return true;
}

static bool scale_twice(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        scale_weights(p, t, 2.5);
    return true;
}

static bool lose_scale(made_plan *p)
{
    for (int64_t t = 0; t < MADE_ROWS; t++)
        scale_weights(p, t, 1 / p->model->shape->scaling_factor);
    return p->model->shape->scaling_factor != 1;
}

static bool uniform_weights(made_plan *p)
{
    for (int64_t slot = 0; slot < slots_of(p); slot++)
        p->weights[slot] =
            (float)(p->model->shape->scaling_factor / (double)p->model->shape->top_k);
    return true;
}

static bool shift_weights(made_plan *p)
{
    const int64_t top_k = p->model->shape->top_k;
    for (int64_t t = 0; t < MADE_ROWS; t++) {
        float *const w = p->weights + t * top_k, last = w[top_k - 1];
        memmove(w + 1, w, (size_t)(top_k - 1) * sizeof *w);
        w[0] = last;
    }
    return true;
}

static bool one_weight_off(made_plan *p, double factor)
{
    p->weights[0] = (float)(made_from_bf16(made_to_bf16((double)p->weights[0])) * factor);
    p->recipe.router_weight = FP8MOE_ROUND_F32;
    for (int64_t slot = 1; slot < slots_of(p); slot++)
        p->weights[slot] = (float)made_from_bf16(made_to_bf16((double)p->weights[slot]));
    return true;
}

static bool one_weight_half_percent(made_plan *p)
{
    return one_weight_off(p, 1.004);
}

static bool one_weight_five_percent(made_plan *p)
{
    return one_weight_off(p, 1.05);
}

static bool shift_ids(made_plan *p)
{
    const int64_t local = p->model->shape->local;
    for (int64_t slot = 0; slot < slots_of(p); slot++)
        if (is_here(p, slot)) p->ids[slot] = local + (p->ids[slot] - local + 1) % local;
    return true;
}

static bool lose_half_the_rank(made_plan *p)
{
    const int64_t local = p->model->shape->local;
    for (int64_t slot = 0; slot < slots_of(p); slot++)
        if (p->ids[slot] >= local + local / 2) p->ids[slot] = -1;
    return true;
}

/* Slots of the other rank computed here, with expert 0 and their own weight. */
static bool ignore_window(made_plan *p)
{
    for (int64_t slot = 0; slot < slots_of(p); slot++)
        if (!is_here(p, slot)) p->ids[slot] = p->model->shape->local;
    return true;
}

static const fault_kind kinds[] = {
    {"expert dropped", "the lightest expert of each token left out", .plant = drop_weakest},
    {"expert lost", "one expert left out for every token", .plant = drop_victim},
    {"top-(k-1)", "the lightest left out, the rest renormalised", .plant = drop_and_renormalise},
    {"expert duplicated", "the heaviest computed again in place of the lightest",
     .plant = duplicate},
    {"next-best expert", "an unrouted expert in place of the lightest", .plant = take_next_best},
    {"next-best once", "an unrouted expert in one slot of one token", .plant = take_next_best_once},
    {"ids exchanged", "the two heaviest experts take each other's weight", .plant = swap_ids},
    {"not renormalised", "weights keep the sum softmax gave them", .plant = keep_sum},
    {"renormalised twice", "again, over the experts of this rank", .plant = renormalise_rank},
    {"scaling factor twice", "weights times 2.5 once more", .plant = scale_twice},
    {"scaling factor missing", "where the model has one", .plant = lose_scale},
    {"uniform weights", "1/K for every expert", .plant = uniform_weights},
    {"weights shifted", "each slot takes its neighbour's weight", .plant = shift_weights},
    {"one weight 0.4 %", "the heaviest router weight of token 0", .plant = one_weight_half_percent},
    {"one weight 5 %", "the same, by 5 %", .plant = one_weight_five_percent},
    {"router weights f32", "not rounded to bf16", .settings = "router_weight=f32"},
    {"EP shift", "local ids one further", .plant = shift_ids},
    {"ids direct", "global ids index the local list", .settings = "ids=direct"},
    {"half a rank lost", "the upper half of the local experts missing",
     .plant = lose_half_the_rank},
    {"window ignored", "slots of the other rank computed by expert 0", .plant = ignore_window},
};
const fault_group fault_routing = {kinds, sizeof kinds / sizeof kinds[0]};

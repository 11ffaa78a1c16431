/* Faults of the experts' weights and scales. */
#include "fault_kinds.h"

#include "e4m3.h"

#include <math.h>
#include <string.h>

/* ---- weights of one expert ---- */

static fp8moe_expert *victim_of(made_plan *p)
{
    return &p->experts[p->model->victim];
}

static void *own_data(made_plan *p, fp8moe_tensor *t)
{
    const int64_t bytes = fp8moe_tensor_count(t) * fp8moe_dtype_bits(t->dtype) / 8;
    void *const copy = made_take(&p->memory, bytes, 1);
    memcpy(copy, t->data, (size_t)bytes);
    t->data = copy;
    return copy;
}

static void scale_matrix(made_plan *p, fp8moe_weight *w, float factor)
{
    float *const scale = own_data(p, &w->scale);
    for (int64_t i = 0; i < fp8moe_tensor_count(&w->scale); i++)
        scale[i] *= factor;
}

static void scale_everything(made_plan *p, float factor)
{
    for (int64_t e = 0; e < p->model->shape->local; e++) {
        scale_matrix(p, &p->experts[e].gate, factor);
        scale_matrix(p, &p->experts[e].up, factor);
        scale_matrix(p, &p->experts[e].down, factor);
    }
}

static bool halve_scales(made_plan *p)
{
    scale_everything(p, 0.5f);
    return true;
}

static bool double_scales(made_plan *p)
{
    scale_everything(p, 2);
    return true;
}

static bool halve_down(made_plan *p)
{
    for (int64_t e = 0; e < p->model->shape->local; e++)
        scale_matrix(p, &p->experts[e].down, 0.5f);
    return true;
}

static bool halve_one_up(made_plan *p)
{
    scale_matrix(p, &victim_of(p)->up, 0.5f);
    return true;
}

static void swap_halves(fp8moe_expert *e)
{
    const fp8moe_weight gate = e->gate;
    e->gate = e->up;
    e->up = gate;
}

static bool swap_gate_up(made_plan *p)
{
    for (int64_t e = 0; e < p->model->shape->local; e++)
        swap_halves(&p->experts[e]);
    return true;
}

static bool swap_gate_up_once(made_plan *p)
{
    swap_halves(victim_of(p));
    return true;
}

static bool swap_experts(made_plan *p)
{
    fp8moe_expert *const one = victim_of(p), *const other = &p->experts[(p->model->victim + 1) %
                                                                        p->model->shape->local];
    const fp8moe_weight down = one->down;
    one->down = other->down;
    other->down = down;
    return true;
}

/* Rows of gate and up taken in turns from the fused tensor, as for a checkpoint that interleaves
 * them. */
static bool interleave(made_plan *p)
{
    fp8moe_expert *const e = victim_of(p);
    const fp8moe_expert old = *e;
    const int64_t inter = p->model->shape->inter, hidden = p->model->shape->hidden;
    uint8_t *const to[2] = {own_data(p, &e->gate.weight), own_data(p, &e->up.weight)};
    const uint8_t *const from[2] = {old.gate.weight.data, old.up.weight.data};
    for (int64_t row = 0; row < 2 * inter; row++)
        memcpy(to[row % 2] + row / 2 * hidden, from[row / inter] + row % inter * hidden,
               (size_t)hidden);
    return true;
}

static bool shift_columns(made_plan *p)
{
    const fp8moe_tensor old = victim_of(p)->down.weight;
    const int64_t inter = p->model->shape->inter;
    uint8_t *const to = own_data(p, &victim_of(p)->down.weight);
    for (int64_t h = 0; h < p->model->shape->hidden; h++)
        memcpy(to + h * inter + 1, (const uint8_t *)old.data + h * inter, (size_t)(inter - 1));
    return true;
}

/* The weight of w2 whose part in the output of token 0 is largest. */
static uint8_t *loudest_code(made_plan *p)
{
    const int64_t inter = p->model->shape->inter;
    const double *const table = e4m3_table(p->model->target);
    made_plan exact;
    made_plan_open(&exact, p->model, p->recipe.name, 1);
    const fp8moe_tensor activation = made_plan_stage(&exact, FP8MOE_STAGE_ACTIVATION);
    const float *const a = (const float *)activation.data + p->model->victim_slot * inter;
    uint8_t *const codes = own_data(p, &victim_of(p)->down.weight);
    int64_t at = 0;
    double most = 0;
    for (int64_t n = 0; n < p->model->shape->hidden * inter; n++) {
        const double part = fabs(table[codes[n]] * (double)a[n % inter]);
        if (part > most) most = part, at = n;
    }
    made_plan_close(&exact);
    return &codes[at];
}

static bool flip_sign(made_plan *p)
{
    *loudest_code(p) ^= 0x80;
    return true;
}

static bool lose_weight(made_plan *p)
{
    *loudest_code(p) = 0;
    return true;
}

/* The heaviest code of w13's gate with its highest exponent bit lost. */
static bool flip_bit(made_plan *p)
{
    uint8_t *const codes = own_data(p, &victim_of(p)->gate.weight);
    const int64_t count = p->model->shape->inter * p->model->shape->hidden;
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++)
        if ((codes[i] & 0x7F) < 0x38 && (codes[i] & 0x7F) > (codes[at] & 0x7F)) at = i;
    codes[at] ^= 0x40;
    return true;
}

/* ---- scales of rows ---- */

static bool scale_rows(made_plan *p, fp8moe_weight *w, int64_t first, int64_t rows, float factor)
{
    if (made_takes_blocks(&p->recipe)) return false;
    float *const scale = own_data(p, &w->scale);
    for (int64_t i = first; i < first + rows; i++)
        scale[i] *= factor;
    return true;
}

static bool row_one_percent(made_plan *p)
{
    return scale_rows(p, &victim_of(p)->down, 17, 1, 1.01f);
}

static bool row_two_percent(made_plan *p)
{
    return scale_rows(p, &victim_of(p)->down, 17, 1, 1.02f);
}

static bool row_half(made_plan *p)
{
    return scale_rows(p, &victim_of(p)->down, 17, 1, 0.5f);
}

static bool gate_row_half(made_plan *p)
{
    return scale_rows(p, &victim_of(p)->gate, 5, 1, 0.5f);
}

static bool band(made_plan *p)
{
    return scale_rows(p, &victim_of(p)->down, 128, 128, 1.008f);
}

static bool band_everywhere(made_plan *p)
{
    for (int64_t e = 0; e < p->model->shape->local; e++)
        if (!scale_rows(p, &p->experts[e].down, 128, 128, 1.008f)) return false;
    return true;
}

static bool two_percent_w13(made_plan *p)
{
    for (int64_t e = 0; e < p->model->shape->local; e++) {
        const int64_t rows = p->model->shape->inter * 3 / 4;
        if (!scale_rows(p, &p->experts[e].gate, 0, rows, 1.02f)) return false;
        (void)scale_rows(p, &p->experts[e].up, 0, rows, 1.02f);
    }
    return true;
}

static bool neighbour_rows(made_plan *p)
{
    fp8moe_weight *const w = &victim_of(p)->down;
    if (made_takes_blocks(&p->recipe)) return false;
    float *const scale = own_data(p, &w->scale);
    memmove(scale + 1, scale, (size_t)(fp8moe_tensor_count(&w->scale) - 1) * sizeof *scale);
    return true;
}

/* ---- scales of blocks, before the weights are prepared ---- */

typedef void (*edit_blocks)(float *scale, int64_t rows, int64_t cols);

/* Edit the victim's block scales (down: w2, else w13); prepared once and kept under `place`. */
static bool edit_scales(made_plan *p, int place, bool down, edit_blocks edit)
{
    made_model *const m = (made_model *)(uintptr_t)p->model; /* its cache alone changes */
    const fp8moe_expert *const old = victim_of(p);
    fp8moe_expert own = m->blocks[m->victim];
    fp8moe_weight *const all[2] = {down ? &own.down : &own.gate, down ? &own.down : &own.up};
    for (int i = 0; i < (down ? 1 : 2); i++) {
        fp8moe_tensor *const s = &all[i]->scale;
        float *const copy = made_take(&m->memory, fp8moe_tensor_count(s), sizeof *copy);
        memcpy(copy, s->data, (size_t)fp8moe_tensor_count(s) * sizeof *copy);
        s->data = copy;
        edit(copy, s->shape[0], s->shape[1]);
    }
    if (!made_takes_blocks(&p->recipe)) {
        if (!m->edited[place]) {
            fp8moe_expert *const kept = made_take(&m->memory, 1, sizeof *kept);
            *kept = made_prepare(m, &m->memory, &own);
            m->edited[place] = kept;
        }
        own = *m->edited[place];
    }
    own.w13_input_scale = old->w13_input_scale;
    own.w2_input_scale = old->w2_input_scale;
    *victim_of(p) = own;
    return true;
}

/* Within the largest square both ways hold. */
static void transpose_blocks(float *scale, int64_t rows, int64_t cols)
{
    const int64_t side = rows < cols ? rows : cols;
    for (int64_t r = 0; r < side; r++)
        for (int64_t c = 0; c < r; c++) {
            const float old = scale[r * cols + c];
            scale[r * cols + c] = scale[c * cols + r];
            scale[c * cols + r] = old;
        }
}

static void shift_blocks(float *scale, int64_t rows, int64_t cols)
{
    memmove(scale + 1, scale, (size_t)(rows * cols - 1) * sizeof *scale);
}

static void swap_two_blocks(float *scale, int64_t rows, int64_t cols)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < rows * cols; i++) {
        if (scale[i] < scale[low]) low = i;
        if (scale[i] > scale[high]) high = i;
    }
    const float old = scale[low];
    scale[low] = scale[high];
    scale[high] = old;
}

/* The scale of a block that was never written: its neighbour's. */
static void lose_block(float *scale, int64_t rows, int64_t cols)
{
    int64_t at = 1;
    for (int64_t i = 1; i < rows * cols; i++)
        if (fabsf(scale[i] - scale[i - 1]) > fabsf(scale[at] - scale[at - 1])) at = i;
    scale[at] = scale[at - 1];
}

static void two_percent_blocks(float *scale, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows * cols; i++)
        if (i % 4) scale[i] *= 1.02f;
}

static bool transpose_w13(made_plan *p)
{
    return edit_scales(p, 0, false, transpose_blocks);
}

static bool transpose_w2(made_plan *p)
{
    return edit_scales(p, 1, true, transpose_blocks);
}

static bool shift_w13(made_plan *p)
{
    return edit_scales(p, 2, false, shift_blocks);
}

static bool shift_w2(made_plan *p)
{
    return edit_scales(p, 3, true, shift_blocks);
}

static bool swap_w13(made_plan *p)
{
    return edit_scales(p, 4, false, swap_two_blocks);
}

static bool lose_w2(made_plan *p)
{
    return edit_scales(p, 5, true, lose_block);
}

static bool two_percent_one(made_plan *p)
{
    return edit_scales(p, 6, false, two_percent_blocks);
}

static const fault_kind kinds[] = {
    {"scales not doubled", "halved weights, scales as in the checkpoint", .plant = halve_scales},
    {"weights not halved", "doubled scales, weights as in the checkpoint", .plant = double_scales},
    {"FNUZ bias", "w2 read with bias 8", .plant = halve_down},
    {"FNUZ bias of one up", "up of one expert", .plant = halve_one_up},
    {"gate and up exchanged", "in every expert", .plant = swap_gate_up},
    {"gate and up exchanged once", "in one expert", .plant = swap_gate_up_once},
    {"w2 exchanged", "two experts take each other's w2", .plant = swap_experts},
    {"rows interleaved", "gate and up of one expert in turns", .plant = interleave},
    {"w2 column shifted", "weights of one expert one column further", .plant = shift_columns},
    {"one sign flipped", "the loudest weight of one w2", .plant = flip_sign},
    {"one weight lost", "the same weight is 0", .plant = lose_weight},
    {"one bit flipped", "an exponent bit of one gate weight", .plant = flip_bit},
    {"row scale 1 %", "one row of one w2", .plant = row_one_percent},
    {"row scale 2 %", "one row of one w2", .plant = row_two_percent},
    {"row scale halved", "one row of one w2", .plant = row_half},
    {"gate row halved", "one row of one gate", .plant = gate_row_half},
    {"scale band 0.8 %", "128 row scales of one w2", .plant = band},
    {"scale band everywhere", "128 row scales of every w2, 0.8 %", .plant = band_everywhere},
    {"w13 scales 2 %", "three quarters of the rows of every w13", .plant = two_percent_w13},
    {"neighbour's row scale", "each row of one w2 takes the one before", .plant = neighbour_rows},
    {"w13 blocks transposed", "block scales of one expert", .plant = transpose_w13},
    {"w2 blocks transposed", "block scales of one expert", .plant = transpose_w2},
    {"w13 blocks off by one", "block scales of one expert", .plant = shift_w13},
    {"w2 blocks off by one", "block scales of one expert", .plant = shift_w2},
    {"two blocks exchanged", "smallest and largest block scale of one w13", .plant = swap_w13},
    {"block scale missing", "one block of one w2 takes its neighbour's", .plant = lose_w2},
    {"block scales 2 %", "three quarters of the blocks of one w13", .plant = two_percent_one},
};
const fault_group fault_weights = {kinds, sizeof kinds / sizeof kinds[0]};

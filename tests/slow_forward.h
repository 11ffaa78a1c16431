/* A second model of a whole layer, slow and unrelated to the library: plain loops over the table of
 * numerics.md section 0. It reads the columns of a recipe and none of the library's code but
 * own_silu, and that for float64 only: the one number here that no rounding makes independent of
 * how it was computed.
 *
 * Dots of codes are summed in integers. Dots that are not exact follow the lane order of
 * exactness.md section 1. Everything is computed for every token and every expert, the way
 * upstream's sources write it: scatter the router weights, multiply, add. */
#ifndef FP8MOE_TESTS_SLOW_FORWARD_H
#define FP8MOE_TESTS_SLOW_FORWARD_H

#include "silu.h"
#include "slow_model.h"

#include <fp8moe/moe.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* To the nearest multiple of the step that a format has at this magnitude. slow_round() searches
 * all codes for the same number; test_quant.c holds the two against each other. */
static inline double slow_nearest(const slow_format *format, double value)
{
    if (isnan(value) || isinf(value) || value == 0) return value;
    const int exponent = ilogb(value) < 1 - format->bias ? 1 - format->bias : ilogb(value);
    const int step = exponent - format->mantissa;
    const double rounded = ldexp(rint(ldexp(value, -step)), step);
    const double beyond =
        ldexp(2, (int)(format->finite_codes >> format->mantissa) - 1 - format->bias);
    return fabs(rounded) < beyond ? rounded : copysign((double)INFINITY, value);
}

static inline double slow_to(fp8moe_precision precision, double value)
{
    if (precision == FP8MOE_ROUND_BF16) return slow_nearest(&slow_bf16, value);
    if (precision == FP8MOE_ROUND_TF32) return slow_nearest(&slow_tf32, value);
    if (precision == FP8MOE_ROUND_F32) return (double)(float)value;
    return value;
}

static inline double slow_f32_of(double value)
{
    return slow_to(FP8MOE_ROUND_F32, value);
}

static inline double slow_bf16_of(double value)
{
    return slow_to(FP8MOE_ROUND_BF16, value);
}

/* Gaudi2 keeps the top exponent for Inf and NaN, the others only the last code. */
static inline const slow_format *slow_codes_of(const fp8moe_target *target)
{
    return target->fp8_max == 240 ? &slow_e4m3_ieee : &slow_e4m3fn;
}

static inline double slow_value(const slow_format *format, uint8_t code)
{
    const uint32_t magnitude = code & 0x7F;
    const double sign = code & 0x80 ? -1.0 : 1.0;
    if (magnitude < format->finite_codes) return sign * slow_decode(format, magnitude);
    const bool infinite = format == &slow_e4m3_ieee && magnitude == 0x78;
    return infinite ? sign * (double)INFINITY : (double)NAN;
}

/* Saturates; a NaN is 0x7F. */
static inline uint8_t slow_code(const slow_format *format, double value)
{
    if (isnan(value)) return 0x7F;
    const uint32_t code = slow_encode(format, fabs(value));
    const uint32_t kept = code == format->finite_codes ? code - 1 : code;
    return (uint8_t)(kept | (signbit(value) ? 0x80 : 0));
}

/* ---- quantisation (numerics.md 1.1, 1.2, 3.6) ---- */

static inline fp8moe_precision slow_steps(const fp8moe_target *target, fp8moe_cast cast,
                                          bool input_is_bf16)
{
    const bool bf16 = target->scale_in_input_dtype && cast == FP8MOE_CAST_BF16 && input_is_bf16;
    return bf16 ? FP8MOE_ROUND_BF16 : FP8MOE_ROUND_F32;
}

/* (amax + 1e-8) / max. The summand is a number of the tensor's arithmetic: an f32. */
static inline double slow_scale(const fp8moe_target *target, fp8moe_precision steps,
                                const double *x, int n)
{
    double amax = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(x[i])) return (double)NAN;
        amax = fmax(amax, fabs(x[i]));
    }
    return slow_to(steps, slow_to(steps, amax + (double)1e-8f) / (double)target->fp8_max);
}

/* Every value times `factor`, rounded, as a code. */
static inline void slow_cast(const fp8moe_target *target, fp8moe_precision steps, double factor,
                             const double *x, int n, uint8_t *codes)
{
    for (int i = 0; i < n; i++)
        codes[i] = slow_code(slow_codes_of(target), slow_to(steps, x[i] * factor));
}

static inline double slow_quantise(const fp8moe_target *target, fp8moe_precision steps,
                                   const double *x, int n, uint8_t *codes)
{
    const double scale = slow_scale(target, steps, x, n);
    slow_cast(target, steps, slow_to(steps, 1 / scale), x, n, codes);
    return scale;
}

static inline void slow_static(const fp8moe_target *target, fp8moe_cast cast, double scale,
                               const double *x, int n, uint8_t *codes)
{
    if (cast == FP8MOE_CAST_BF16_INVERSE)
        slow_cast(target, FP8MOE_ROUND_BF16, slow_bf16_of(1 / scale), x, n, codes);
    else
        for (int i = 0; i < n; i++)
            codes[i] = slow_code(slow_codes_of(target), slow_f32_of(x[i] / scale));
}

/* ---- dots ---- */

static inline double slow_tree(const double lanes[16], int lane, int step)
{
    if (step == 16) return lanes[lane];
    return slow_tree(lanes, lane, 2 * step) + slow_tree(lanes, lane + step, 2 * step);
}

static inline double slow_lane_dot(const double *a, const double *w, int n)
{
    double lanes[16] = {0};
    for (int k = 0; k < n; k++)
        lanes[k % 16] += a[k] * w[k];
    return slow_tree(lanes, 0, 1);
}

/* The same for values of codes: in units of 2^-18, in integers, where all are finite. */
static inline double slow_code_dot(const double *a, const double *w, int n)
{
    int64_t sum = 0;
    for (int k = 0; k < n; k++) {
        if (!isfinite(a[k]) || !isfinite(w[k])) return slow_lane_dot(a, w, n);
        sum += (int64_t)(a[k] * 512) * (int64_t)(w[k] * 512);
    }
    return (double)sum / 262144;
}

static inline double slow_scaled(fp8moe_precision dot_round, fp8moe_scale_form form,
                                 fp8moe_precision out, double dot, double sa, double sb)
{
    double d = dot_round == FP8MOE_ROUND_F64 ? dot : slow_to(dot_round, slow_f32_of(dot));
    if (form == FP8MOE_SCALE_F32) d *= slow_f32_of(sa * sb);
    if (form == FP8MOE_SCALE_BF16) d *= slow_bf16_of(sa * sb);
    if (form == FP8MOE_SCALE_SEQUENTIAL) d = slow_f32_of(d * sa) * sb;
    return slow_to(out, d);
}

/* ---- weights (numerics.md section 2) ---- */

/* [experts, rows, cols] in C order. */
typedef struct slow_matrix {
    int experts, rows, cols;
    const uint8_t *codes;  /* or NULL: */
    const double *numbers; /* weights that are no codes */
    const double *scale;   /* of every element, as the file has it */
    bool blocks;           /* more than one scale a row: PREPARED must requantise */
} slow_matrix;

/* The same as it is multiplied. */
typedef struct slow_operand {
    double *values; /* [experts, rows, cols] */
    double *scale;  /* [experts, rows] applied after the dot */
} slow_operand;

/* What a layer is made of, and what came out. Slot order is [T, K]. */
typedef struct slow_layer {
    const fp8moe_target *target;
    const fp8moe_recipe *recipe;
    fp8moe_stage_of_weights stage;
    int tokens, hidden, inter, top_k, local, rank; /* linear: inter is the number of outputs */
    bool input_is_bf16;
    const double *x;       /* [T, H] */
    const int64_t *ids;    /* [T, K] */
    const double *weights; /* [T, K] */
    slow_matrix w13, w2;   /* linear: w13 alone, as one expert */
    double input_scale;
    const double *inter_scale;            /* [local] */
    const void *from[FP8MOE_STAGE_COUNT]; /* codes: uint8_t, numbers: double; NULL: computed */

    slow_operand up_operand, down_operand;
    uint8_t *x_codes, *act_codes;
    double *x_scale, *router, *up_gate, *activation, *act_scale, *expert_output, *output;
    int64_t foreign_slots, padding_leaks, first_leak_token, first_leak_expert;
} slow_layer;

static inline double *slow_room(int64_t count)
{
    double *const memory = calloc((size_t)count + 1, sizeof *memory);
    if (!memory) abort();
    return memory;
}

/* One row as loaded: values and scales. */
static inline void slow_load_row(const slow_layer *l, const slow_matrix *m, int64_t row,
                                 double *values, double *scales)
{
    const bool halve = l->stage == FP8MOE_WEIGHTS_CHECKPOINT && l->target->loader_halves;
    for (int c = 0; c < m->cols; c++) {
        const int64_t at = row * m->cols + c;
        uint8_t code = m->codes[at];
        const double half = slow_value(&slow_e4m3fn, code) / 2;
        if (halve && !isnan(half)) code = slow_code(&slow_e4m3fn, half);
        values[c] = slow_value(slow_codes_of(l->target), code);
        scales[c] = halve ? slow_f32_of(m->scale[at] * 2) : m->scale[at];
    }
}

/* Values as multiplied; returns the scale that is left for after the dot. */
static inline double slow_prepare_row(const slow_layer *l, const slow_matrix *m, int64_t row,
                                      double *values)
{
    double *const scales = slow_room(m->cols);
    uint8_t *const codes = calloc((size_t)m->cols + 1, 1);
    const fp8moe_weight_form form = l->recipe->weights;
    const bool requantise = form == FP8MOE_FORM_PREPARED && m->blocks;
    slow_load_row(l, m, row, values, scales);
    double after = scales[0];
    for (int c = 0; c < m->cols; c++) {
        if (form == FP8MOE_FORM_EXACT) values[c] *= scales[c];
        if (form == FP8MOE_FORM_DEQUANT || requantise)
            values[c] = slow_bf16_of(values[c] * slow_bf16_of(scales[c]));
    }
    if (requantise) {
        const fp8moe_precision steps = slow_steps(l->target, FP8MOE_CAST_BF16, true);
        after = slow_quantise(l->target, steps, values, m->cols, codes);
        for (int c = 0; c < m->cols; c++)
            values[c] = slow_value(slow_codes_of(l->target), codes[c]);
    } else if (form == FP8MOE_FORM_EXACT || form == FP8MOE_FORM_DEQUANT) {
        after = 1;
    }
    free(scales);
    free(codes);
    return after;
}

static inline slow_operand slow_prepare(const slow_layer *l, const slow_matrix *m)
{
    const int64_t rows = (int64_t)m->experts * m->rows;
    slow_operand out = {slow_room(rows * m->cols), slow_room(rows)};
    for (int64_t r = 0; r < rows; r++) {
        double *const values = out.values + r * m->cols;
        if (m->codes) {
            out.scale[r] = slow_prepare_row(l, m, r, values);
            continue;
        }
        out.scale[r] = 1;
        memcpy(values, m->numbers + r * m->cols, (size_t)m->cols * sizeof *values);
    }
    return out;
}

static inline bool slow_multiplies_codes(const fp8moe_recipe *r)
{
    return r->weights == FP8MOE_FORM_PREPARED || r->weights == FP8MOE_FORM_CODES;
}

/* ---- one token through one expert ---- */

typedef struct slow_pair {
    double *up_gate, *activation, *output; /* [2I], [I], [H] */
    uint8_t *act_codes;                    /* [I] */
    double act_scale;
} slow_pair;

static inline slow_pair slow_pair_open(const slow_layer *l)
{
    uint8_t *const codes = calloc((size_t)l->inter + 1, 1);
    if (!codes) abort();
    return (slow_pair){.up_gate = slow_room(2 * l->inter),
                       .activation = slow_room(l->inter),
                       .output = slow_room(l->hidden),
                       .act_codes = codes};
}

static inline void slow_pair_close(slow_pair *p)
{
    free(p->up_gate);
    free(p->activation);
    free(p->output);
    free(p->act_codes);
}

/* The numbers a token's dots multiply: its codes' values, or itself. */
static inline void slow_input(const slow_layer *l, int token, double *x)
{
    for (int h = 0; h < l->hidden; h++) {
        const int64_t at = (int64_t)token * l->hidden + h;
        x[h] = l->recipe->input == FP8MOE_INPUT_AS_IS
                   ? l->x[at]
                   : slow_value(slow_codes_of(l->target), l->x_codes[at]);
    }
}

static inline void slow_up_gate(const slow_layer *l, int token, int e, double *out)
{
    const fp8moe_recipe *const r = l->recipe;
    const bool codes = slow_multiplies_codes(r) && r->input != FP8MOE_INPUT_AS_IS;
    double *const x = slow_room(l->hidden);
    slow_input(l, token, x);
    for (int i = 0; i < l->w13.rows; i++) {
        const int64_t row = (int64_t)e * l->w13.rows + i;
        const double *const w = l->up_operand.values + row * l->hidden;
        const double dot = codes ? slow_code_dot(x, w, l->hidden) : slow_lane_dot(x, w, l->hidden);
        out[i] = slow_scaled(r->dot_round, r->scale, r->up_gate, dot, l->x_scale[token],
                             l->up_operand.scale[row]);
    }
    free(x);
}

/* Long double settles every f32 and bf16 rounding where it is wider than double. */
static inline double slow_sigmoid(fp8moe_precision precision, double g)
{
    if (precision == FP8MOE_ROUND_F64 || LDBL_MANT_DIG <= DBL_MANT_DIG) return own_sigmoid(g);
    return (double)(1 / (1 + expl(-(long double)g)));
}

static inline double slow_silu(const fp8moe_recipe *r, double g)
{
    if (r->silu_form == FP8MOE_SILU_TWO_STEP)
        return slow_to(r->silu, g * slow_to(r->silu, slow_sigmoid(r->silu, g)));
    if (r->silu == FP8MOE_ROUND_F64 || LDBL_MANT_DIG <= DBL_MANT_DIG)
        return slow_to(r->silu, own_silu(g));
    return slow_to(r->silu, (double)((long double)g / (1 + expl(-(long double)g))));
}

static inline void slow_activate(const slow_layer *l, slow_pair *p)
{
    const double *const gate = p->up_gate, *const up = p->up_gate + l->inter;
    for (int i = 0; i < l->inter; i++)
        p->activation[i] = slow_to(l->recipe->product, slow_silu(l->recipe, gate[i]) * up[i]);
}

/* The loader doubles static scales too. */
static inline double slow_loaded_scale(const slow_layer *l, double scale)
{
    return l->stage == FP8MOE_WEIGHTS_CHECKPOINT && l->target->loader_halves ? 2 * scale : scale;
}

static inline void slow_requantise(const slow_layer *l, int e, slow_pair *p)
{
    const fp8moe_recipe *const r = l->recipe;
    const bool bf16 = r->product == FP8MOE_ROUND_BF16;
    const fp8moe_precision steps = slow_steps(l->target, r->intermediate_cast, bf16);
    p->act_scale = 1;
    if (r->intermediate == FP8MOE_INTERMEDIATE_FP8_ROW)
        p->act_scale = slow_quantise(l->target, steps, p->activation, l->inter, p->act_codes);
    if (r->intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER) {
        p->act_scale = slow_scale(l->target, steps, p->activation, l->inter);
        slow_cast(l->target, steps, p->act_scale, p->activation, l->inter, p->act_codes);
    }
    if (r->intermediate == FP8MOE_INTERMEDIATE_FP8_STATIC) {
        p->act_scale = slow_loaded_scale(l, l->inter_scale[e]);
        slow_static(l->target, r->intermediate_cast, p->act_scale, p->activation, l->inter,
                    p->act_codes);
    }
}

/* The down dot of operands that no scale follows: w2 times its scale, in the form the row names. */
static inline double slow_scaled_operand_dot(const slow_layer *l, const double *a, const double *w,
                                             double scale)
{
    const int n = l->inter;
    double *const all = slow_room((int64_t)4 * n);
    double *const ah = all, *const al = all + n, *const wh = all + 2 * n, *const wl = all + 3 * n;
    const fp8moe_down_operand form = l->recipe->down_operand;
    const fp8moe_precision high = form == FP8MOE_DOWN_SCALED_F32    ? FP8MOE_ROUND_F32
                                  : form == FP8MOE_DOWN_SCALED_TF32 ? FP8MOE_ROUND_TF32
                                                                    : FP8MOE_ROUND_BF16;
    /* stock-hp says bf16(code * s2), one rounding; a matmul of f32 tensors rounds what it is given.
     */
    const bool once = form == FP8MOE_DOWN_SCALED_BF16;
    for (int i = 0; i < n; i++) {
        const double weight = once ? w[i] * scale : slow_f32_of(w[i] * scale);
        ah[i] = slow_to(high, a[i]);
        wh[i] = slow_to(high, weight);
        al[i] = slow_bf16_of(a[i] - ah[i]);
        wl[i] = slow_bf16_of(weight - wh[i]);
    }
    double dot = slow_lane_dot(ah, wh, n);
    if (form == FP8MOE_DOWN_SCALED_BF16X3)
        dot = dot + slow_lane_dot(ah, wl, n) + slow_lane_dot(al, wh, n);
    free(all);
    return dot;
}

static inline void slow_down(const slow_layer *l, int e, slow_pair *p)
{
    const fp8moe_recipe *const r = l->recipe;
    double *const a = slow_room(l->inter);
    for (int i = 0; i < l->inter; i++)
        a[i] = r->intermediate == FP8MOE_INTERMEDIATE_KEPT
                   ? p->activation[i]
                   : slow_value(slow_codes_of(l->target), p->act_codes[i]);
    /* The dense path leaves the row scale for the sum and applies s2 alone, in f32; the eager one
     * never undoes it. */
    const bool later = r->row_scale == FP8MOE_ROW_SCALE_ROUTER;
    const bool never = r->intermediate == FP8MOE_INTERMEDIATE_FP8_EAGER;
    const double sa = later || never ? 1 : p->act_scale;
    for (int h = 0; h < l->hidden; h++) {
        const int64_t row = (int64_t)e * l->hidden + h;
        const double *const w = l->down_operand.values + row * l->inter;
        const double s2 = l->down_operand.scale[row];
        if (r->down_operand == FP8MOE_DOWN_CODE)
            p->output[h] = slow_scaled(r->down_round, later ? FP8MOE_SCALE_F32 : r->scale,
                                       r->down_out, slow_code_dot(a, w, l->inter), sa, s2);
        else
            p->output[h] = slow_scaled(r->down_round, FP8MOE_SCALE_NONE, r->down_out,
                                       r->down_operand == FP8MOE_DOWN_WEIGHT
                                           ? slow_lane_dot(a, w, l->inter)
                                           : slow_scaled_operand_dot(l, a, w, s2),
                                       1, 1);
    }
    free(a);
}

/* `slot` -1: a pair that no slot routed, for which the dump's stages do not stand. */
static inline void slow_forward_pair(const slow_layer *l, int token, int e, int64_t slot,
                                     slow_pair *p)
{
    const int64_t inter = l->inter, hidden = l->hidden;
#define TAKE(stage, to, width, type)                                                               \
    if (slot >= 0 && l->from[FP8MOE_STAGE_##stage])                                                \
    memcpy(to, (const type *)l->from[FP8MOE_STAGE_##stage] + slot * (width),                       \
           (size_t)(width) * sizeof(type))
    slow_up_gate(l, token, e, p->up_gate);
    TAKE(UP_GATE, p->up_gate, 2 * inter, double);
    slow_activate(l, p);
    TAKE(ACTIVATION, p->activation, inter, double);
    slow_requantise(l, e, p);
    TAKE(ACT_CODES, p->act_codes, inter, uint8_t);
    TAKE(ACT_SCALE, &p->act_scale, 1, double);
    slow_down(l, e, p);
    TAKE(EXPERT_OUTPUT, p->output, hidden, double);
#undef TAKE
}

/* ---- all tokens ---- */

static inline void slow_quantise_input(slow_layer *l)
{
    const fp8moe_recipe *const r = l->recipe;
    const fp8moe_precision steps = slow_steps(l->target, r->input_cast, l->input_is_bf16);
    for (int t = 0; t < l->tokens; t++) {
        const double *const x = l->x + (int64_t)t * l->hidden;
        uint8_t *const codes = l->x_codes + (int64_t)t * l->hidden;
        l->x_scale[t] = 1;
        if (r->input == FP8MOE_INPUT_FP8_TOKEN)
            l->x_scale[t] = slow_quantise(l->target, steps, x, l->hidden, codes);
        if (r->input == FP8MOE_INPUT_FP8_STATIC) {
            l->x_scale[t] = slow_loaded_scale(l, l->input_scale);
            slow_static(l->target, r->input_cast, l->x_scale[t], x, l->hidden, codes);
        }
    }
    const int64_t count = (int64_t)l->tokens * l->hidden;
    if (l->from[FP8MOE_STAGE_X_CODES])
        memcpy(l->x_codes, l->from[FP8MOE_STAGE_X_CODES], (size_t)count);
    if (l->from[FP8MOE_STAGE_X_SCALE])
        memcpy(l->x_scale, l->from[FP8MOE_STAGE_X_SCALE], (size_t)l->tokens * sizeof *l->x_scale);
}

/* The local expert of a slot, or -1. */
static inline int64_t slow_local(const slow_layer *l, int64_t slot)
{
    const int64_t first = l->recipe->ids == FP8MOE_IDS_DIRECT ? 0 : (int64_t)l->rank * l->local;
    const int64_t local = l->ids[slot] - first;
    return l->ids[slot] >= 0 && local >= 0 && local < l->local ? local : -1;
}

static inline void slow_slots(slow_layer *l)
{
    slow_pair p = slow_pair_open(l);
    for (int64_t slot = 0; slot < (int64_t)l->tokens * l->top_k; slot++) {
        const int64_t e = slow_local(l, slot);
        l->router[slot] = slow_to(l->recipe->router_weight, l->weights[slot]);
        if (e < 0) {
            l->foreign_slots++;
            continue;
        }
        slow_forward_pair(l, (int)(slot / l->top_k), (int)e, slot, &p);
        memcpy(l->up_gate + slot * 2 * l->inter, p.up_gate,
               (size_t)(2 * l->inter) * sizeof(double));
        memcpy(l->activation + slot * l->inter, p.activation, (size_t)l->inter * sizeof(double));
        memcpy(l->act_codes + slot * l->inter, p.act_codes, (size_t)l->inter);
        memcpy(l->expert_output + slot * l->hidden, p.output, (size_t)l->hidden * sizeof(double));
        l->act_scale[slot] = p.act_scale;
    }
    slow_pair_close(&p);
}

/* ---- sums ---- */

/* Terms of one token in the order they are added. */
typedef struct slow_terms {
    int count;
    double weight[64];
    const double *output[64]; /* [H] */
} slow_terms;

static inline double slow_sum(const slow_layer *l, const slow_terms *terms, int h)
{
    const fp8moe_recipe *const r = l->recipe;
    const fp8moe_precision each = r->order == FP8MOE_ORDER_UNSTATED ? FP8MOE_ROUND_F64 : r->sum;
    double sum = 0;
    for (int i = 0; i < terms->count; i++)
        sum = slow_to(each, sum + slow_to(r->slot_round, terms->output[i][h] * terms->weight[i]));
    sum = slow_to(r->sum, sum);
    if (r->weights == FP8MOE_FORM_EXACT) return sum;
    return slow_to(l->input_is_bf16 ? FP8MOE_ROUND_BF16 : FP8MOE_ROUND_F32, sum);
}

static inline void slow_add(slow_terms *terms, double weight, const double *output)
{
    if (terms->count == 64) abort();
    terms->weight[terms->count] = weight;
    terms->output[terms->count++] = output;
}

/* Routed pairs: slot order, or ascending local id with slots of one expert in slot order. An eager
 * scatter keeps the last of them. */
static inline slow_terms slow_routed_terms(const slow_layer *l, int token)
{
    const fp8moe_recipe *const r = l->recipe;
    const int64_t first = (int64_t)token * l->top_k, end = first + l->top_k;
    slow_terms terms = {0};
    for (int64_t e = 0; e < l->local; e++) {
        const int before = terms.count;
        for (int64_t slot = first; slot < end; slot++) {
            const bool mine = r->order == FP8MOE_ORDER_SLOT ? e == 0 && slow_local(l, slot) >= 0
                                                            : slow_local(l, slot) == e;
            if (!mine) continue;
            if (r->pairs == FP8MOE_PAIRS_EAGER) terms.count = before;
            slow_add(&terms, l->router[slot], l->expert_output + slot * l->hidden);
        }
    }
    return terms;
}

static inline void slow_sum_routed(slow_layer *l)
{
    for (int t = 0; t < l->tokens; t++) {
        const slow_terms terms = slow_routed_terms(l, t);
        for (int h = 0; h < l->hidden; h++)
            l->output[(int64_t)t * l->hidden + h] = slow_sum(l, &terms, h);
    }
}

static inline bool slow_token_is_finite(const slow_layer *l, int token)
{
    double *const x = slow_room(l->hidden);
    slow_input(l, token, x);
    bool finite = isfinite(l->x_scale[token]);
    for (int h = 0; h < l->hidden; h++)
        finite = finite && isfinite(x[h]);
    free(x);
    return finite;
}

/* Compare a token's sum with the sum of what was routed: where only the former is NaN, padding
 * leaked. */
static inline void slow_finish_token(slow_layer *l, int token, const slow_terms *all,
                                     const slow_terms *routed, const slow_terms *padding,
                                     const int64_t *padding_expert)
{
    const bool finite = slow_token_is_finite(l, token);
    for (int h = 0; h < l->hidden; h++) {
        const double out = slow_sum(l, all, h);
        l->output[(int64_t)token * l->hidden + h] = out;
        if (!finite || !isnan(out) || isnan(slow_sum(l, routed, h))) continue;
        l->padding_leaks++;
        for (int i = 0; i < padding->count && l->first_leak_token < 0; i++) {
            if (isfinite(padding->output[i][h])) continue;
            l->first_leak_token = token;
            l->first_leak_expert = padding_expert[i];
        }
    }
}

/* numerics.md 5.1 steps 3 to 6: [T, E] router weights by a scatter that adds, and which experts are
 * gathered: all hit ones, then the lowest ids. */
static inline void slow_gather(const slow_layer *l, double *weight, bool *gathered)
{
    const int64_t slots = (int64_t)l->tokens * l->top_k;
    int64_t room = slots < l->local ? slots : l->local;
    for (int64_t slot = 0; slot < slots; slot++) {
        const int64_t e = slow_local(l, slot);
        double *const at = &weight[slot / l->top_k * l->local + (e < 0 ? 0 : e)];
        *at = slow_f32_of(*at + (e < 0 ? 0 : l->router[slot]));
    }
    for (int e = 0; e < l->local; e++)
        for (int t = 0; t < l->tokens; t++)
            gathered[e] |= weight[(int64_t)t * l->local + e] != 0;
    for (int e = 0; e < l->local; e++)
        room -= gathered[e];
    for (int e = 0; e < l->local && room > 0; e++) {
        if (gathered[e]) continue;
        gathered[e] = true;
        room--;
    }
}

static inline void slow_sum_gathered(slow_layer *l)
{
    double *const weight = slow_room((int64_t)l->tokens * l->local);
    bool *const gathered = calloc((size_t)l->local, sizeof *gathered);
    double *const spare = slow_room((int64_t)l->local * l->hidden);
    slow_pair p = slow_pair_open(l);
    slow_gather(l, weight, gathered);
    for (int t = 0; t < l->tokens; t++) {
        slow_terms all = {0}, routed = {0}, padding = {0};
        int64_t padding_expert[64];
        for (int e = 0; e < l->local; e++) {
            if (!gathered[e]) continue;
            const double w = weight[(int64_t)t * l->local + e];
            double *const y = spare + (int64_t)e * l->hidden;
            int64_t slot = -1;
            for (int64_t k = l->top_k - 1; k >= 0; k--)
                if (slow_local(l, (int64_t)t * l->top_k + k) == e) slot = (int64_t)t * l->top_k + k;
            slow_forward_pair(l, t, e, slot, &p);
            memcpy(y, p.output, (size_t)l->hidden * sizeof *y);
            slow_add(&all, w, y);
            if (w == 0) padding_expert[padding.count] = e;
            slow_add(w == 0 ? &padding : &routed, w, y);
        }
        slow_finish_token(l, t, &all, &routed, &padding, padding_expert);
    }
    slow_pair_close(&p);
    free(weight);
    free(gathered);
    free(spare);
}

/* numerics.md 5.3 step 7: all K slots of a token; a foreign one reads local expert 0 times 0. */
static inline void slow_sum_all(slow_layer *l)
{
    slow_pair zero = slow_pair_open(l);
    for (int t = 0; t < l->tokens; t++) {
        slow_terms all = {0}, routed = {0}, padding = {0};
        const int64_t padding_expert[64] = {0};
        slow_forward_pair(l, t, 0, -1, &zero);
        for (int64_t slot = (int64_t)t * l->top_k; slot < ((int64_t)t + 1) * l->top_k; slot++) {
            if (slow_local(l, slot) < 0) {
                slow_add(&all, slow_f32_of(0 * zero.act_scale), zero.output);
                slow_add(&padding, 0, zero.output);
                continue;
            }
            const double w = slow_f32_of(l->router[slot] * l->act_scale[slot]);
            slow_add(&all, w, l->expert_output + slot * l->hidden);
            slow_add(&routed, w, l->expert_output + slot * l->hidden);
        }
        slow_finish_token(l, t, &all, &routed, &padding, padding_expert);
    }
    slow_pair_close(&zero);
}

/* ---- runs ---- */

static inline void slow_run_moe(slow_layer *l)
{
    const int64_t t = l->tokens, h = l->hidden, i = l->inter, slots = t * l->top_k;
    l->x_codes = calloc((size_t)(t * h) + 1, 1);
    l->act_codes = calloc((size_t)(slots * i) + 1, 1);
    l->x_scale = slow_room(t);
    l->router = slow_room(slots);
    l->up_gate = slow_room(slots * 2 * i);
    l->activation = slow_room(slots * i);
    l->act_scale = slow_room(slots);
    l->expert_output = slow_room(slots * h);
    l->output = slow_room(t * h);
    l->first_leak_token = l->first_leak_expert = -1;
    l->foreign_slots = l->padding_leaks = 0;
    l->up_operand = slow_prepare(l, &l->w13);
    l->down_operand = slow_prepare(l, &l->w2);
    slow_quantise_input(l);
    slow_slots(l);
    if (l->recipe->pairs == FP8MOE_PAIRS_GATHERED)
        slow_sum_gathered(l);
    else if (l->recipe->pairs == FP8MOE_PAIRS_ALL)
        slow_sum_all(l);
    else
        slow_sum_routed(l);
}

static inline void slow_run_linear(slow_layer *l)
{
    l->x_codes = calloc((size_t)((int64_t)l->tokens * l->hidden) + 1, 1);
    l->x_scale = slow_room(l->tokens);
    l->output = slow_room((int64_t)l->tokens * l->w13.rows);
    l->up_operand = slow_prepare(l, &l->w13);
    slow_quantise_input(l);
    for (int t = 0; t < l->tokens; t++)
        slow_up_gate(l, t, 0, l->output + (int64_t)t * l->w13.rows);
}

static inline void slow_close(slow_layer *l)
{
    void *const all[] = {l->x_codes,
                         l->act_codes,
                         l->x_scale,
                         l->router,
                         l->up_gate,
                         l->activation,
                         l->act_scale,
                         l->expert_output,
                         l->output,
                         l->up_operand.values,
                         l->up_operand.scale,
                         l->down_operand.values,
                         l->down_operand.scale};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

#endif

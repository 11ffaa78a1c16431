#include "lint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096
/* A block whose largest value stays this far below the largest code wastes its bits. */
#define FAR_BELOW (448.0 / 16)
#define SMALLEST_NORMAL 0x1p-126

static void add_finding(lint_result *out, const char *rule, const char *tensor, int64_t count,
                        char *text)
{
    out->findings = cli_resize(out->findings, (out->count + 1) * sizeof *out->findings);
    out->findings[out->count++] = (lint_finding){rule, tensor, count, text};
}

/* A count and the first place, as "[1, 7]". */
typedef struct tally {
    int64_t count, first;
} tally;

static void count_at(tally *t, int64_t index)
{
    if (!t->count++) t->first = index;
}

static char *place(const fp8moe_tensor *tensor, int64_t index)
{
    buffer out = {0};
    int64_t rest = index;
    int64_t at[FP8MOE_MAX_RANK] = {0};
    for (int d = tensor->rank - 1; d >= 0; d--) {
        at[d] = rest % tensor->shape[d];
        rest /= tensor->shape[d];
    }
    buffer_add(&out, "[");
    for (int d = 0; d < tensor->rank; d++)
        buffer_format(&out, "%s%lld", d ? ", " : "", (long long)at[d]);
    buffer_add(&out, "]");
    return out.data;
}

static void report_tally(lint_result *out, const char *rule, const char *name,
                         const fp8moe_tensor *tensor, const tally *t, const char *words)
{
    if (!t->count) return;
    char *where = place(tensor, t->first);
    add_finding(out, rule, name, t->count,
                cli_text("%lld %s, the first at %s", (long long)t->count, words, where));
    free(where);
}

/* ---- weights ---- */

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* What one expert's codes are: their hash, whether any is a number other than 0, NaN. */
typedef struct expert_codes {
    uint64_t hash;
    bool live, broken;
} expert_codes;

static int64_t experts_of(const fp8moe_tensor *weight)
{
    return weight->rank == 3 ? weight->shape[0] : 1;
}

static void read_codes(const fp8moe_tensor *weight, expert_codes *experts, tally *nan,
                       tally *beyond)
{
    uint8_t codes[CHUNK];
    const int64_t each = fp8moe_tensor_count(weight) / experts_of(weight);
    for (int64_t e = 0; e < experts_of(weight); e++) {
        experts[e].hash = UINT64_C(0xCBF29CE484222325);
        for (int64_t at = 0; at < each; at += CHUNK) {
            const int64_t n = each - at < CHUNK ? each - at : CHUNK;
            fp8moe_tensor_read_raw(weight, e * each + at, n, codes);
            experts[e].hash = hash_bytes(experts[e].hash, codes, n);
            for (int64_t i = 0; i < n; i++) {
                const uint8_t magnitude = codes[i] & 0x7F;
                experts[e].live |= magnitude != 0;
                experts[e].broken |= magnitude == 0x7F;
                if (magnitude == 0x7F)
                    count_at(nan, e * each + at + i);
                else if (magnitude >= 0x78)
                    count_at(beyond, e * each + at + i);
            }
        }
    }
}

static bool is_routed(const fields *found, int64_t expert)
{
    const fp8moe_tensor *ids = &found->inputs.topk_ids;
    for (int64_t i = 0; i < fp8moe_tensor_count(ids); i++) {
        int64_t id;
        fp8moe_tensor_read_i64(ids, i, 1, &id);
        if (id == expert) return true;
    }
    return false;
}

static void report_experts(lint_result *out, const fields *found, int64_t first, const char *name,
                           const expert_codes *experts, int64_t count)
{
    const bool routed = fp8moe_tensor_present(&found->inputs.topk_ids);
    for (int64_t e = 0; e < count; e++) {
        if (!experts[e].live)
            add_finding(out, "dead-expert", name, 1,
                        cli_text("expert %lld: every code is 0", (long long)e));
        if (experts[e].broken && routed && !is_routed(found, first + e))
            add_finding(out, "poison", name, 1,
                        cli_text("expert %lld holds NaN and no token is routed to it: where the "
                                 "gathered path reads it as "
                                 "padding, 0 * NaN reaches every token",
                                 (long long)e));
        for (int64_t other = 0; other < e; other++)
            if (experts[e].live && experts[other].hash == experts[e].hash) {
                add_finding(out, "equal-experts", name, 1,
                            cli_text("expert %lld has the codes of expert %lld", (long long)e,
                                     (long long)other));
                break;
            }
    }
}

static void lint_weight(lint_result *out, const fields *found, int64_t first, const char *name,
                        const fp8moe_tensor *weight, const fp8moe_target *target)
{
    if (weight->dtype != FP8MOE_DTYPE_F8_E4M3 || fp8moe_tensor_count(weight) == 0) return;
    tally nan = {0}, beyond = {0};
    expert_codes *experts = cli_allocate((size_t)experts_of(weight) * sizeof *experts);
    read_codes(weight, experts, &nan, &beyond);
    report_tally(out, "nan-code", name, weight, &nan, "codes are NaN (0x7F, 0xFF)");
    if (!target || target->nan_code_first < 0x7F)
        report_tally(out, "beyond-240", name, weight, &beyond,
                     "codes from 0x78 on: 256 to 448 here, Inf or NaN on a Gaudi2 unless its "
                     "loader halved them");
    report_experts(out, found, first, name, experts, experts_of(weight));
    free(experts);
}

/* Blocks of 128 x 128 that use the lower part of the number range alone. */
static void lint_blocks(lint_result *out, const char *name, const fp8moe_tensor *weight,
                        const fp8moe_tensor *scale)
{
    enum { BLOCK = 128 };
    if (weight->dtype != FP8MOE_DTYPE_F8_E4M3 || weight->rank < 2 || scale->rank != weight->rank)
        return;
    const int64_t rows = weight->shape[weight->rank - 2], columns = weight->shape[weight->rank - 1];
    if (scale->shape[scale->rank - 1] != (columns + BLOCK - 1) / BLOCK || columns <= BLOCK) return;
    tally small = {0};
    const int64_t across = (columns + BLOCK - 1) / BLOCK, down = (rows + BLOCK - 1) / BLOCK;
    double *largest = cli_allocate((size_t)across * sizeof *largest),
           *row = cli_allocate((size_t)columns * sizeof *row);
    for (int64_t e = 0; e < experts_of(weight); e++)
        for (int64_t r = 0; r < rows; r++) {
            if (r % BLOCK == 0) memset(largest, 0, (size_t)across * sizeof *largest);
            fp8moe_tensor_read_f64(weight, (e * rows + r) * columns, columns, row);
            for (int64_t c = 0; c < columns; c++)
                if (fabs(row[c]) > largest[c / BLOCK]) largest[c / BLOCK] = fabs(row[c]);
            if (r % BLOCK != BLOCK - 1 && r != rows - 1) continue;
            for (int64_t b = 0; b < across; b++)
                if (largest[b] < FAR_BELOW) count_at(&small, (e * down + r / BLOCK) * across + b);
        }
    if (small.count)
        add_finding(out, "weak-block", name, small.count,
                    cli_text("%lld blocks of 128 x 128 hold no code above %g: their scale wastes "
                             "bits, or belongs to another "
                             "block; the first is block row %lld, column %lld",
                             (long long)small.count, FAR_BELOW, (long long)(small.first / across),
                             (long long)(small.first % across)));
    free(largest);
    free(row);
}

/* ---- scales ---- */

static void lint_scale(lint_result *out, const char *name, const fp8moe_tensor *scale)
{
    tally zero = {0}, tiny = {0}, wild = {0}, negative = {0};
    if (!fp8moe_tensor_present(scale) || !fp8moe_dtype_is_numeric(scale->dtype)) return;
    for (int64_t i = 0; i < fp8moe_tensor_count(scale); i++) {
        double value;
        fp8moe_tensor_read_f64(scale, i, 1, &value);
        if (!isfinite(value))
            count_at(&wild, i);
        else if (value < 0)
            count_at(&negative, i);
        else if (value == 0)
            count_at(&zero, i);
        else if (value < SMALLEST_NORMAL)
            count_at(&tiny, i);
    }
    report_tally(out, "scale-not-finite", name, scale, &wild, "scales are NaN or Inf");
    report_tally(out, "scale-negative", name, scale, &negative, "scales are negative");
    report_tally(out, "scale-zero", name, scale, &zero, "scales are 0");
    report_tally(out, "scale-denormal", name, scale, &tiny,
                 "scales are denormal: a device that flushes them reads 0");
}

/* ---- tokens ---- */

static void lint_tokens(lint_result *out, const fp8moe_tensor *states)
{
    tally equal = {0}, padding = {0}, wild = {0};
    if (!fp8moe_tensor_present(states) || states->rank < 1 || fp8moe_tensor_count(states) == 0)
        return;
    const int64_t hidden = states->shape[states->rank - 1],
                  tokens = fp8moe_tensor_count(states) / hidden;
    double *row = cli_allocate((size_t)hidden * sizeof *row);
    uint64_t *hashes = cli_allocate((size_t)tokens * sizeof *hashes);
    for (int64_t t = 0; t < tokens; t++) {
        bool zero = true, finite = true, twin = false;
        fp8moe_tensor_read_f64(states, t * hidden, hidden, row);
        hashes[t] = hash_bytes(UINT64_C(0xCBF29CE484222325), (const uint8_t *)row,
                               hidden * (int64_t)sizeof *row);
        for (int64_t h = 0; h < hidden; h++) {
            zero &= row[h] == 0;
            finite &= isfinite(row[h]) != 0;
        }
        for (int64_t other = 0; other < t && !zero; other++)
            twin |= hashes[other] == hashes[t];
        if (zero) count_at(&padding, t * hidden);
        if (twin) count_at(&equal, t * hidden);
        if (!finite) count_at(&wild, t * hidden);
    }
    report_tally(out, "padding-row", "hidden_states", states, &padding,
                 "token rows are zero (bucket padding)");
    report_tally(out, "equal-row", "hidden_states", states, &equal,
                 "token rows equal an earlier one: they test nothing more");
    report_tally(out, "not-finite", "hidden_states", states, &wild, "token rows hold NaN or Inf");
    free(row);
    free(hashes);
}

/* ---- the whole ---- */

/* Shapes and scale grids: what a layer would refuse. */
static void lint_fit(lint_result *out, const fields *found, const fp8moe_target *target)
{
    fp8moe_config config;
    fp8moe_error err;
    fp8moe_config_default(&config);
    config.target = target ? target : fp8moe_target_find("ocp");
    config.weights_stage = FP8MOE_WEIGHTS_LOADED;
    config.recipe = fp8moe_recipe_find(
        fp8moe_tensor_present(&found->inputs.weight) ? "dequant-linear" : "exact");
    config.routing.top_k = fp8moe_tensor_present(&found->inputs.topk_ids) ? 0 : 1;
    const fp8moe_status st = fp8moe_recipe_fits(config.recipe, &config, &found->inputs, &err);
    if (st != FP8MOE_ERR_SHAPE && st != FP8MOE_ERR_DTYPE && st != FP8MOE_ERR_VALUE) return;
    add_finding(out, "does-not-fit", err.tensor[0] ? "tensor" : "layer", 1,
                cli_text("%s%s%s", err.tensor, err.tensor[0] ? ": " : "", err.message));
}

void lint_fields(const fields *found, const fp8moe_target *target, int64_t first_expert,
                 lint_result *out)
{
    const fp8moe_inputs *in = &found->inputs;
    const struct {
        const char *name, *scale_name;
        const fp8moe_tensor *weight, *scale;
    } weights[] = {{"w13_weight", "w13_weight_scale", &in->w13_weight, &in->w13_scale},
                   {"w2_weight", "w2_weight_scale", &in->w2_weight, &in->w2_scale},
                   {"weight", "weight_scale", &in->weight, &in->weight_scale}};
    *out = (lint_result){0};
    lint_fit(out, found, target);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        if (!fp8moe_tensor_present(weights[i].weight)) continue;
        lint_weight(out, found, first_expert, weights[i].name, weights[i].weight, target);
        lint_blocks(out, weights[i].name, weights[i].weight, weights[i].scale);
        lint_scale(out, weights[i].scale_name, weights[i].scale);
    }
    lint_scale(out, "w13_input_scale", &in->w13_input_scale);
    lint_scale(out, "w2_input_scale", &in->w2_input_scale);
    lint_scale(out, "input_scale", &in->input_scale);
    lint_tokens(out, &in->hidden_states);
}

void lint_free(lint_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->findings[i].text);
    free(result->findings);
    *result = (lint_result){0};
}

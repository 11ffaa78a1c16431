/* Faults of what came out, whatever went in. */
#include "fault_kinds.h"

#include "e4m3.h"
#include "quant.h"

#include <stdlib.h>
#include <string.h>

static bool all_zeros(uint16_t *out, int64_t tokens, int64_t hidden)
{
    memset(out, 0, (size_t)(tokens * hidden) * sizeof *out);
    return true;
}

static bool multiply(uint16_t *out, int64_t count, double factor)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = made_to_bf16(made_from_bf16(out[i]) * factor);
    return true;
}

static bool doubled(uint16_t *out, int64_t tokens, int64_t hidden)
{
    return multiply(out, tokens * hidden, 2);
}

static bool gain_two_percent(uint16_t *out, int64_t tokens, int64_t hidden)
{
    return multiply(out, tokens * hidden, 1.02);
}

static bool gain_minus_two_percent(uint16_t *out, int64_t tokens, int64_t hidden)
{
    return multiply(out, tokens * hidden, 0.98);
}

static bool negate(uint16_t *out, int64_t tokens, int64_t hidden)
{
    return multiply(out, tokens * hidden, -1);
}

static bool column_zero(uint16_t *out, int64_t tokens, int64_t hidden)
{
    int64_t at = 0;
    for (int64_t h = 0; h < hidden; h++)
        if ((out[h] & 0x7FFF) > (out[at] & 0x7FFF)) at = h;
    for (int64_t t = 0; t < tokens; t++)
        out[t * hidden + at] = 0;
    return true;
}

static bool block_zero(uint16_t *out, int64_t tokens, int64_t hidden)
{
    for (int64_t t = 0; t < tokens; t++)
        memset(out + t * hidden + 256, 0, 128 * sizeof *out);
    return true;
}

static bool row_zero(uint16_t *out, int64_t tokens, int64_t hidden)
{
    memset(out + (tokens - 1) * hidden, 0, (size_t)hidden * sizeof *out);
    return tokens > 1;
}

static bool rows_rotated(uint16_t *out, int64_t tokens, int64_t hidden)
{
    uint16_t *const first = malloc((size_t)hidden * sizeof *first);
    if (!first) exit(2);
    memcpy(first, out, (size_t)hidden * sizeof *first);
    memmove(out, out + hidden, (size_t)((tokens - 1) * hidden) * sizeof *out);
    memcpy(out + (tokens - 1) * hidden, first, (size_t)hidden * sizeof *first);
    free(first);
    return tokens > 1;
}

/* The last eighth of each row is another token's: a tile that was not written this time. */
static bool stale_tile(uint16_t *out, int64_t tokens, int64_t hidden)
{
    const size_t bytes = (size_t)(hidden / 8) * sizeof *out;
    for (int64_t t = 0; t + 1 < tokens; t++)
        memcpy(out + (t + 1) * hidden - hidden / 8, out + (t + 2) * hidden - hidden / 8, bytes);
    return tokens > 1;
}

static bool halves_exchanged(uint16_t *out, int64_t tokens, int64_t hidden)
{
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t h = 0; h < hidden / 2; h++) {
            uint16_t *const a = out + t * hidden + h, *const b = a + hidden / 2, old = *a;
            *a = *b;
            *b = old;
        }
    return true;
}

/* Held in E4M3 with one scale a row on the way. */
static bool through_fp8(uint16_t *out, int64_t tokens, int64_t hidden)
{
    const fp8moe_target *const ocp = fp8moe_target_find("ocp");
    double *const x = malloc((size_t)hidden * (sizeof *x + 1));
    if (!x) exit(2);
    uint8_t *const codes = (uint8_t *)(x + hidden);
    kernels k;
    (void)kernels_init(&k, NULL, false);
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t h = 0; h < hidden; h++)
            x[h] = made_from_bf16(out[t * hidden + h]);
        const double scale = quant_row(&k, ocp, FP8MOE_ROUND_F32, x, hidden, codes);
        for (int64_t h = 0; h < hidden; h++)
            out[t * hidden + h] = made_to_bf16(e4m3_table(ocp)[codes[h]] * scale);
    }
    free(x);
    return true;
}

static bool nan_somewhere(uint16_t *out, int64_t tokens, int64_t hidden)
{
    out[(tokens - 1) * hidden + hidden / 3] = 0x7FC0;
    return true;
}

static bool inf_somewhere(uint16_t *out, int64_t tokens, int64_t hidden)
{
    out[(tokens - 1) * hidden + hidden / 3] = 0x7F80;
    return true;
}

/* 0 * NaN of a padding expert reaches the last token. */
static bool padding_leaked(uint16_t *out, int64_t tokens, int64_t hidden)
{
    for (int64_t h = 0; h < hidden; h++)
        out[(tokens - 1) * hidden + h] = 0x7FC0;
    return true;
}

static const fault_kind kinds[] = {
    {"all zeros", "", .edit = all_zeros},
    {"doubled", "added twice", .edit = doubled},
    {"gain +2 %", "", .edit = gain_two_percent},
    {"gain -2 %", "", .edit = gain_minus_two_percent},
    {"negated", "", .edit = negate},
    {"column zeroed", "one column", .edit = column_zero},
    {"block zeroed", "128 columns", .edit = block_zero},
    {"row zeroed", "the last token", .edit = row_zero},
    {"stale output", "each row is the next token's", .edit = rows_rotated},
    {"stale tile", "an eighth of each row is the next token's", .edit = stale_tile},
    {"halves exchanged", "columns of each row", .edit = halves_exchanged},
    {"through FP8", "output held in E4M3 on the way", .edit = through_fp8},
    {"NaN in one place", "", .edit = nan_somewhere},
    {"Inf in one place", "", .edit = inf_somewhere},
    {"padding leaked", "the last token is NaN", .edit = padding_leaked},
};
const fault_group fault_outputs = {kinds, sizeof kinds / sizeof kinds[0]};

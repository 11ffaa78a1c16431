/* The bits of every stage: a small synthetic layer through every recipe, target and form of
 * weights, printed as lines "recipe target weights stage sha256". The layer comes from integers
 * alone, so any compiler, processor, instruction set and thread count must print the same;
 * data/stage_hashes.txt holds what they print, so that a change of a bit is seen in review.
 *
 * usage: stage_hash                print the lines
 *        stage_hash --check FILE   compare them with a file: for every instruction set one thread
 *                                  with OpenBLAS, then two without
 *
 * Public interface and libc only: it also runs where nothing else is installed. */
#include <fp8moe/fp8moe.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing a multiple of 16 or of a block: partial blocks, odd ends of dots. Blocks are not square,
 * and the window leaves experts out. */
enum {
    TOKENS = 16,
    HIDDEN = 136,
    INTER = 100,
    EXPERTS = 5,
    LOCAL = 3,
    TOP_K = 3,
    OUTPUTS = 37,
    BLOCK_ROWS = 48,
    BLOCK_COLS = 64,
    W13_GRID_ROWS = 2 * ((INTER + BLOCK_ROWS - 1) / BLOCK_ROWS),
    W13_GRID_COLS = (HIDDEN + BLOCK_COLS - 1) / BLOCK_COLS,
    W2_GRID_ROWS = (HIDDEN + BLOCK_ROWS - 1) / BLOCK_ROWS,
    W2_GRID_COLS = (INTER + BLOCK_COLS - 1) / BLOCK_COLS
};

/* ---- the layer ---- */

static struct {
    uint16_t hidden_states[TOKENS][HIDDEN];
    uint16_t router_logits[TOKENS][EXPERTS];
    uint8_t w13_codes[LOCAL][2 * INTER][HIDDEN];
    uint8_t w2_codes[LOCAL][HIDDEN][INTER];
    uint16_t w13_bf16[LOCAL][2 * INTER][HIDDEN];
    uint16_t w2_bf16[LOCAL][HIDDEN][INTER];
    uint32_t w13_block_scale[LOCAL][W13_GRID_ROWS][W13_GRID_COLS]; /* f32 bits, as all below */
    uint32_t w2_block_scale[LOCAL][W2_GRID_ROWS][W2_GRID_COLS];
    uint32_t w13_row_scale[LOCAL][2 * INTER];
    uint32_t w2_row_scale[LOCAL][HIDDEN];
    uint32_t w13_input_scale[LOCAL], w2_input_scale[LOCAL];
    uint8_t linear_codes[OUTPUTS][HIDDEN];
    uint16_t linear_bf16[OUTPUTS][HIDDEN];
    uint32_t linear_block_scale[1][W13_GRID_COLS], linear_row_scale[OUTPUTS], linear_input_scale[1];
} layer;

static uint32_t random_state;

static uint32_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* Floating-point bits: any sign and fraction, exponents `least` to `least` + 3. */
static void fill_bf16(uint16_t *out, size_t count, uint32_t least)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)((random_bits() & 0x807F) | (least + random_bits() % 4) << 7);
}

static void fill_scale(uint32_t *out, size_t count, uint32_t least)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (random_bits() & 0x7FFFFF) | (least + random_bits() % 4) << 23;
}

/* Every finite code, half of them subnormal or small. */
static void fill_codes(uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = random_bits(), exponent = bits >> 9 & (bits & 0x100 ? 0x78 : 0x18);
        out[i] = (uint8_t)((bits & 0x87) | exponent);
        if ((out[i] & 0x7F) == 0x7F) out[i] ^= 0x01;
    }
}

static void make_layer(void)
{
    random_state = 20260101;
    fill_bf16(&layer.hidden_states[0][0], TOKENS * HIDDEN, 124);
    fill_bf16(&layer.router_logits[0][0], TOKENS * EXPERTS, 125);
    fill_codes(&layer.w13_codes[0][0][0], sizeof layer.w13_codes);
    fill_codes(&layer.w2_codes[0][0][0], sizeof layer.w2_codes);
    fill_bf16(&layer.w13_bf16[0][0][0], sizeof layer.w13_bf16 / 2, 120);
    fill_bf16(&layer.w2_bf16[0][0][0], sizeof layer.w2_bf16 / 2, 120);
    fill_scale(&layer.w13_block_scale[0][0][0], sizeof layer.w13_block_scale / 4, 116);
    fill_scale(&layer.w2_block_scale[0][0][0], sizeof layer.w2_block_scale / 4, 116);
    fill_scale(&layer.w13_row_scale[0][0], sizeof layer.w13_row_scale / 4, 116);
    fill_scale(&layer.w2_row_scale[0][0], sizeof layer.w2_row_scale / 4, 116);
    fill_scale(layer.w13_input_scale, LOCAL, 120);
    fill_scale(layer.w2_input_scale, LOCAL, 122);
    fill_codes(&layer.linear_codes[0][0], sizeof layer.linear_codes);
    fill_bf16(&layer.linear_bf16[0][0], sizeof layer.linear_bf16 / 2, 120);
    fill_scale(&layer.linear_block_scale[0][0], W13_GRID_COLS, 116);
    fill_scale(layer.linear_row_scale, OUTPUTS, 116);
    fill_scale(layer.linear_input_scale, 1, 120);

    memset(layer.hidden_states[7], 0, sizeof layer.hidden_states[7]); /* padding */
    layer.hidden_states[11][3] = 0x7FC0;                              /* NaN */
    layer.hidden_states[12][HIDDEN - 1] = 0xFF80;                     /* -Inf */
    layer.hidden_states[13][0] = 0x0001;                              /* a subnormal */
}

/* ---- forms of weights ---- */

typedef enum weights { BLOCKS, ROWS, PLAIN, WEIGHTS_COUNT } weights;

static const char *const weights_name[WEIGHTS_COUNT] = {"block", "row", "bf16"};

#define VIEW(data, dtype, ...)                                                                     \
    fp8moe_tensor_view((data), (dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                       (int64_t[]){__VA_ARGS__})

static void set_experts(fp8moe_inputs *in, weights form)
{
    if (form == PLAIN) {
        in->w13_weight = VIEW(layer.w13_bf16, FP8MOE_DTYPE_BF16, LOCAL, 2 * INTER, HIDDEN);
        in->w2_weight = VIEW(layer.w2_bf16, FP8MOE_DTYPE_BF16, LOCAL, HIDDEN, INTER);
        return;
    }
    in->w13_weight = VIEW(layer.w13_codes, FP8MOE_DTYPE_F8_E4M3, LOCAL, 2 * INTER, HIDDEN);
    in->w2_weight = VIEW(layer.w2_codes, FP8MOE_DTYPE_F8_E4M3, LOCAL, HIDDEN, INTER);
    if (form == BLOCKS) {
        in->w13_scale =
            VIEW(layer.w13_block_scale, FP8MOE_DTYPE_F32, LOCAL, W13_GRID_ROWS, W13_GRID_COLS);
        in->w2_scale =
            VIEW(layer.w2_block_scale, FP8MOE_DTYPE_F32, LOCAL, W2_GRID_ROWS, W2_GRID_COLS);
    } else {
        in->w13_scale = VIEW(layer.w13_row_scale, FP8MOE_DTYPE_F32, LOCAL, 2 * INTER, 1);
        in->w2_scale = VIEW(layer.w2_row_scale, FP8MOE_DTYPE_F32, LOCAL, HIDDEN, 1);
    }
}

static void set_linear(fp8moe_inputs *in, weights form)
{
    if (form == PLAIN) {
        in->weight = VIEW(layer.linear_bf16, FP8MOE_DTYPE_BF16, OUTPUTS, HIDDEN);
        return;
    }
    in->weight = VIEW(layer.linear_codes, FP8MOE_DTYPE_F8_E4M3, OUTPUTS, HIDDEN);
    in->weight_scale = form == BLOCKS
                           ? VIEW(layer.linear_block_scale, FP8MOE_DTYPE_F32, 1, W13_GRID_COLS)
                           : VIEW(layer.linear_row_scale, FP8MOE_DTYPE_F32, OUTPUTS);
}

static fp8moe_inputs make_inputs(const fp8moe_recipe *recipe, weights form)
{
    fp8moe_inputs in = {0};
    in.hidden_states = VIEW(layer.hidden_states, FP8MOE_DTYPE_BF16, TOKENS, HIDDEN);
    if (recipe->op == FP8MOE_OP_LINEAR) {
        set_linear(&in, form);
    } else {
        set_experts(&in, form);
        in.router_logits = VIEW(layer.router_logits, FP8MOE_DTYPE_BF16, TOKENS, EXPERTS);
    }
    if (recipe->input == FP8MOE_INPUT_FP8_STATIC) {
        in.w13_input_scale = VIEW(layer.w13_input_scale, FP8MOE_DTYPE_F32, LOCAL);
        in.w2_input_scale = VIEW(layer.w2_input_scale, FP8MOE_DTYPE_F32, LOCAL);
        in.input_scale = VIEW(layer.linear_input_scale, FP8MOE_DTYPE_F32, 1);
    }
    return in;
}

/* ---- one run ---- */

typedef struct text {
    char *data;
    size_t size, room;
} text;

static void add_line(text *t, const char *format, ...)
{
    enum { LONGEST_LINE = 1024 };
    if (t->room - t->size < LONGEST_LINE) {
        t->room = 2 * t->room + LONGEST_LINE;
        t->data = realloc(t->data, t->room);
        if (!t->data) abort();
    }
    va_list arguments;
    va_start(arguments, format);
    t->size += (size_t)vsnprintf(t->data + t->size, LONGEST_LINE, format, arguments);
    va_end(arguments);
}

typedef struct stage_hashes {
    bool output_only;
    fp8moe_fingerprint *of[FP8MOE_STAGE_COUNT];
} stage_hashes;

static fp8moe_status hash_stage(void *user, fp8moe_stage stage, int64_t first_token,
                                const fp8moe_tensor *rows, const fp8moe_tensor *total,
                                fp8moe_error *err)
{
    stage_hashes *const hashes = user;
    (void)first_token;
    if (hashes->output_only && stage != FP8MOE_STAGE_OUTPUT) return FP8MOE_OK;
    if (!hashes->of[stage]) {
        const fp8moe_status status = fp8moe_fingerprint_open(total, &hashes->of[stage], err);
        if (status != FP8MOE_OK) return status;
    }
    fp8moe_fingerprint_add(hashes->of[stage], rows);
    return FP8MOE_OK;
}

/* How the bits are computed; none of it may change them. */
typedef struct way {
    const char *isa;
    int threads;
    bool use_blas;
} way;

/* Run one and add its lines; a recipe that does not take these inputs adds none. */
static void run(text *out, const way *how, const fp8moe_recipe *recipe, const char *label,
                const fp8moe_target *target, weights form)
{
    const fp8moe_inputs in = make_inputs(recipe, form);
    fp8moe_config config;
    fp8moe_config_default(&config);
    config.target = target;
    config.recipe = recipe;
    config.weights_stage = FP8MOE_WEIGHTS_CHECKPOINT;
    config.block_rows = BLOCK_ROWS;
    config.block_cols = BLOCK_COLS;
    config.isa = how->isa;
    config.threads = how->threads;
    config.use_blas = how->use_blas;
    if (recipe->op == FP8MOE_OP_MOE) {
        config.routing.top_k = TOP_K;
        config.num_experts = EXPERTS;
        config.local_num_experts = LOCAL;
    }
    if (fp8moe_recipe_fits(recipe, &config, &in, NULL) != FP8MOE_OK) return;

    fp8moe_error err;
    fp8moe_layer *opened = NULL;
    stage_hashes hashes = {.output_only = label != recipe->name};
    const fp8moe_observer observer = {hash_stage, &hashes};
    fp8moe_status status = fp8moe_layer_open(&config, &in, &opened, &err);
    if (status == FP8MOE_OK) status = fp8moe_layer_run(opened, &observer, NULL, &err);
    if (status != FP8MOE_OK) {
        fprintf(stderr, "%s: %s\n", label, err.message);
        exit(1);
    }
    for (int stage = 0; stage < FP8MOE_STAGE_COUNT; stage++) {
        char hex[FP8MOE_FINGERPRINT_SIZE];
        if (!hashes.of[stage]) continue;
        fp8moe_fingerprint_close(hashes.of[stage], hex);
        add_line(out, "%s %s %s %s %s\n", label, target->name, weights_name[form],
                 fp8moe_stage_name((fp8moe_stage)stage), hex);
    }
    fp8moe_layer_close(opened);
}

/* A row, then each of its open axes as "row[settings]": of those the output alone. */
static void run_row(text *out, const way *how, const fp8moe_recipe *row,
                    const fp8moe_target *target, weights form)
{
    run(out, how, row, row->name, target, form);
    for (int i = 0; i < FP8MOE_MAX_AXES && row->axes[i].name; i++) {
        fp8moe_recipe changed = *row;
        char label[256];
        if (fp8moe_recipe_apply(&changed, row->axes[i].settings, NULL) != FP8MOE_OK) exit(1);
        (void)snprintf(label, sizeof label, "%s[%s]", row->name, row->axes[i].settings);
        for (char *space; (space = strchr(label, ' '));)
            *space = ',';
        run(out, how, &changed, label, target, form);
    }
}

static text run_all(const way *how)
{
    text out = {NULL, 0, 0};
    const fp8moe_recipe *row;
    const fp8moe_target *target;
    for (size_t r = 0; (row = fp8moe_recipe_at(r)); r++)
        for (size_t t = 0; (target = fp8moe_target_at(t)); t++)
            for (int form = 0; form < WEIGHTS_COUNT; form++)
                run_row(&out, how, row, target, (weights)form);
    return out;
}

/* ---- --check ---- */

/* The first line in which two texts differ, to standard error. */
static void report_difference(const char *want, const char *got, const way *how)
{
    size_t line = 0;
    while (want[line] && want[line] == got[line])
        line++;
    while (line > 0 && want[line - 1] != '\n')
        line--;
    fprintf(stderr, "isa %s, %d threads, %s OpenBLAS:\n  expected %.*s\n  got      %.*s\n",
            how->isa, how->threads, how->use_blas ? "with" : "without",
            (int)strcspn(want + line, "\n"), want + line, (int)strcspn(got + line, "\n"),
            got + line);
}

static char *read_file(const char *path)
{
    enum { ROOM = 1 << 20 };
    FILE *const file = fopen(path, "rb");
    char *const data = malloc(ROOM);
    if (!file || !data) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    data[fread(data, 1, ROOM - 1, file)] = '\0';
    (void)fclose(file);
    return data;
}

static bool has_bits(const way *how, const char *want)
{
    const text got = run_all(how);
    const bool same = strcmp(want, got.data) == 0;
    if (!same) report_difference(want, got.data, how);
    free(got.data);
    return same;
}

static int check(const char *path)
{
    char *const want = read_file(path);
    int ways = 0, right = 0;
    for (size_t i = 0; fp8moe_isa_at(i); i++) {
        for (int threads = 1; threads <= 2 && fp8moe_isa_present(fp8moe_isa_at(i)); threads++) {
            const way how = {fp8moe_isa_at(i), threads, threads == 1};
            right += has_bits(&how, want);
            ways++;
        }
    }
    printf("%d of %d ways to compute give the bits of %s\n", right, ways, path);
    free(want);
    return right != ways;
}

int main(int argc, char **argv)
{
    make_layer();
    if (argc == 3 && !strcmp(argv[1], "--check")) return check(argv[2]);
    const way best = {"all", 1, true};
    const text out = run_all(&best);
    (void)fputs(out.data, stdout);
    free(out.data);
    return 0;
}

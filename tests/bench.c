/* Costs as ratios within one run: the verdict over the plain forward, the forward against streaming
 * the same bytes and against decoding to f32 for OpenBLAS. A layer of Qwen3-30B-A3B's shape, other
 * experts every round; medians, and the best. `meson test --benchmark` */
#include <fp8moe/judge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef FP8MOE_HAVE_BLAS
#include <cblas.h>
#endif

enum {
    EXPERTS = 128,
    TOP_K = 8,
    HIDDEN = 2048,
    INTER = 768,
    MAX_TOKENS = 16,
    ROUNDS = 21,
    NOISY_ROUNDS = 5
};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static uint64_t state = 1;

static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

static void *room(size_t size)
{
    void *const memory = calloc(size, 1);
    if (!memory) exit(77);
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a layer ---- */

static fp8moe_tensor filled(fp8moe_dtype dtype, int rank, const int64_t *shape)
{
    const fp8moe_tensor form = fp8moe_tensor_view(NULL, dtype, rank, shape);
    const int64_t count = fp8moe_tensor_count(&form);
    void *const data = room((size_t)count * (size_t)fp8moe_dtype_bits(dtype) / 8);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = draw();
        if (dtype == FP8MOE_DTYPE_F32)
            ((float *)data)[i] = 1e-3f * (1 + (float)(bits & 255) / 256);
        else if (dtype == FP8MOE_DTYPE_BF16)
            ((uint16_t *)data)[i] = (uint16_t)(0x3F00 | (bits & 0x80FF));
        else
            ((uint8_t *)data)[i] = (uint8_t)(0x28 + (bits & 0x1F) + (bits & 0x80));
    }
    return fp8moe_tensor_view(data, dtype, rank, shape);
}

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static fp8moe_inputs make_inputs(int64_t tokens)
{
    static fp8moe_tensor w13, w2;
    if (!w13.data) {
        w13 = filled(FP8MOE_DTYPE_F8_E4M3, 3, SHAPE(EXPERTS, 2 * INTER, HIDDEN));
        w2 = filled(FP8MOE_DTYPE_F8_E4M3, 3, SHAPE(EXPERTS, HIDDEN, INTER));
    }
    fp8moe_inputs in = {.w13_weight = w13, .w2_weight = w2};
    in.hidden_states = filled(FP8MOE_DTYPE_BF16, 2, SHAPE(tokens, HIDDEN));
    in.topk_weights = filled(FP8MOE_DTYPE_F32, 2, SHAPE(tokens, TOP_K));
    in.topk_ids = fp8moe_tensor_view(room((size_t)tokens * TOP_K * sizeof(int64_t)),
                                     FP8MOE_DTYPE_I64, 2, SHAPE(tokens, TOP_K));
    for (int64_t i = 0; i < tokens * TOP_K; i++)
        ((float *)(uintptr_t)in.topk_weights.data)[i] *= 100;
    return in;
}

static void add_scales(fp8moe_inputs *in, const fp8moe_config *config)
{
    const bool whole = config->recipe->weights == FP8MOE_FORM_CODES;
    if (config->weights_stage == FP8MOE_WEIGHTS_PREPARED) {
        in->w13_scale = filled(FP8MOE_DTYPE_F32, 2, SHAPE(EXPERTS, 2 * INTER));
        in->w2_scale = filled(FP8MOE_DTYPE_F32, 2, SHAPE(EXPERTS, HIDDEN));
        return;
    }
    in->w13_scale =
        whole ? filled(FP8MOE_DTYPE_F32, 1, SHAPE(EXPERTS))
              : filled(FP8MOE_DTYPE_F32, 3, SHAPE(EXPERTS, 2 * INTER / 128, HIDDEN / 128));
    in->w2_scale = whole ? filled(FP8MOE_DTYPE_F32, 1, SHAPE(EXPERTS))
                         : filled(FP8MOE_DTYPE_F32, 3, SHAPE(EXPERTS, HIDDEN / 128, INTER / 128));
    if (!whole) return;
    in->w13_input_scale = filled(FP8MOE_DTYPE_F32, 1, SHAPE(EXPERTS));
    in->w2_input_scale = filled(FP8MOE_DTYPE_F32, 1, SHAPE(EXPERTS));
}

/* Eight distinct experts a token. */
static void route_anew(fp8moe_inputs *in)
{
    int64_t *const ids = (int64_t *)(uintptr_t)in->topk_ids.data;
    for (int64_t t = 0; t < in->topk_ids.shape[0]; t++)
        for (int64_t k = 0, first = (int64_t)(draw() % EXPERTS); k < TOP_K; k++)
            ids[t * TOP_K + k] = (first + 37 * k) % EXPERTS;
}

/* ---- what is timed ---- */

static double forward(const fp8moe_config *config, const fp8moe_inputs *in, double *output)
{
    const double start = now();
    fp8moe_layer *layer;
    fp8moe_error err;
    if (fp8moe_layer_open(config, in, &layer, &err) != FP8MOE_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    if (fp8moe_layer_run(layer, NULL, output, &err) != FP8MOE_OK) exit(1);
    fp8moe_layer_close(layer);
    return now() - start;
}

static double verdict(const fp8moe_config *config, const fp8moe_inputs *in, double *output)
{
    const fp8moe_tensor got =
        fp8moe_tensor_view(output, FP8MOE_DTYPE_F64, 2, in->hidden_states.shape);
    const double start = now();
    fp8moe_judge_options options;
    fp8moe_judgement result;
    fp8moe_judge_options_default(&options);
    if (fp8moe_judge(config, in, &got, &options, NULL, &result, NULL) != FP8MOE_OK) exit(1);
    return now() - start;
}

static volatile uint64_t sink;

/* The routed experts' bytes, once. */
static double stream(const fp8moe_inputs *in)
{
    const double start = now();
    const int64_t *const ids = in->topk_ids.data;
    const size_t big = (size_t)2 * INTER * HIDDEN / 8, small = (size_t)INTER * HIDDEN / 8;
    uint64_t sum[4] = {0};
    for (int k = 0; k < TOP_K; k++) {
        const uint64_t *const a = (const uint64_t *)in->w13_weight.data + (size_t)ids[k] * big;
        const uint64_t *const b = (const uint64_t *)in->w2_weight.data + (size_t)ids[k] * small;
        for (size_t i = 0; i < big; i += 4)
            for (size_t n = 0; n < 4; n++)
                sum[n] += a[i + n];
        for (size_t i = 0; i < small; i += 4)
            for (size_t n = 0; n < 4; n++)
                sum[n] += b[i + n];
    }
    sink = sum[0] + sum[1] + sum[2] + sum[3];
    return now() - start;
}

/* What a script would do: decode every routed matrix to f32 and multiply with SGEMV. 0: no BLAS. */
static double decoded(const fp8moe_inputs *in)
{
    double took = 0;
#ifdef FP8MOE_HAVE_BLAS
    static float weights[2 * INTER * HIDDEN], x[HIDDEN], y[HIDDEN], table[256];
    const int64_t *const ids = in->topk_ids.data;
    openblas_set_num_threads(1);
    for (int c = 0; c < 256; c++)
        table[c] = (float)(c - 128) / 64;
    for (int h = 0; h < HIDDEN; h++)
        x[h] = 1.0f / (float)(h + 1);
    const double start = now();
    for (int k = 0; k < TOP_K; k++)
        for (int down = 0; down <= 1; down++) {
            const int rows = down ? HIDDEN : 2 * INTER, columns = down ? INTER : HIDDEN;
            const size_t size = (size_t)rows * (size_t)columns;
            const uint8_t *const codes =
                (const uint8_t *)(down ? in->w2_weight.data : in->w13_weight.data) +
                (size_t)ids[k] * size;
            for (size_t i = 0; i < size; i++)
                weights[i] = table[codes[i]];
            cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1, weights, columns, x, 1, 0, y,
                        1);
        }
    took = now() - start;
#else
    (void)in;
#endif
    return took;
}

/* ---- ratios ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratio(const char *what, double *ratio, int rounds)
{
    qsort(ratio, (size_t)rounds, sizeof *ratio, ascending);
    printf("  %-44s median %8.3f, best %8.3f\n", what, ratio[rounds / 2], ratio[0]);
}

/* The layer on a device that sums in its own order and is one step off in 1 % of its silu values:
 * rows are searched for flips, open axes and moved roundings tried. */
static void noisy(fp8moe_config config, const fp8moe_inputs *in, double *output)
{
    config.shuffle_sums = true;
    config.silu_step_rate = 0.01;
    config.shuffle_seed = draw();
    (void)forward(&config, in, output);
}

static void bench(const char *recipe, fp8moe_stage_of_weights stage, int64_t tokens, int threads,
                  const char *isa, int rounds)
{
    static double output[MAX_TOKENS * HIDDEN], judged[ROUNDS], plain[ROUNDS], against[ROUNDS],
        noise[ROUNDS], blas[ROUNDS];
    fp8moe_config config;
    fp8moe_inputs in = make_inputs(tokens);
    fp8moe_config_default(&config);
    config.recipe = fp8moe_recipe_find(recipe);
    config.target = fp8moe_target_find("gaudi2");
    config.weights_stage = stage;
    config.threads = threads;
    config.isa = isa;
    add_scales(&in, &config);
    for (int i = 0; i < rounds; i++) {
        route_anew(&in);
        const double read = stream(&in);
        plain[i] = forward(&config, &in, output);
        judged[i] = verdict(&config, &in, output) / plain[i];
        against[i] = plain[i] / read;
        if (i < NOISY_ROUNDS) noisy(config, &in, output);
        if (i < NOISY_ROUNDS) noise[i] = verdict(&config, &in, output) / plain[i];
        blas[i] = plain[i] / decoded(&in);
    }
    printf("%s, %s weights, T = %d, %d threads, %s\n", recipe, fp8moe_stage_of_weights_name(stage),
           (int)tokens, threads, isa);
    print_ratio("full verdict / plain forward", judged, rounds);
    print_ratio("verdict of a noisy dump / plain forward", noise,
                rounds < NOISY_ROUNDS ? rounds : NOISY_ROUNDS);
    if (tokens == 1) print_ratio("forward / streaming read of its bytes", against, rounds);
    if (tokens == 1 && blas[0] < 1e6)
        print_ratio("forward / decode to f32 and SGEMV", blas, rounds);
    for (int i = 0; i < rounds; i++)
        plain[i] *= 1000;
    print_ratio("forward, ms", plain, rounds);
    (void)fflush(stdout);
}

int main(void)
{
    static const char *const recipes[] = {"gather", "stock", "stock-hp", "static-moe", "dequant"};
    for (size_t i = 0; i < COUNT(recipes); i++) {
        bench(recipes[i], FP8MOE_WEIGHTS_LOADED, 1, 1, "all", ROUNDS);
        bench(recipes[i], FP8MOE_WEIGHTS_LOADED, 1, 2, "all", ROUNDS);
        bench(recipes[i], FP8MOE_WEIGHTS_LOADED, MAX_TOKENS, 2, "all", 3);
    }
    for (int threads = 1; threads <= 2; threads++)
        bench("gather", FP8MOE_WEIGHTS_PREPARED, 1, threads, "all", ROUNDS);
    bench("gather", FP8MOE_WEIGHTS_PREPARED, 1, 1, "avx2", 7);
    bench("gather", FP8MOE_WEIGHTS_PREPARED, 1, 1, "portable", 7);
    return 0;
}

/* A layer with the published shapes of Qwen3-30B-A3B in two shards, made beside this program and
 * removed again: outputs of 1 and 16 tokens against plain sums, only the routed experts touched,
 * and less than 64 MiB taken beyond the mapping. */
#include "made_checkpoint.h"
#include "slow_model.h"

#include <fp8moe/moe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define TOKENS 16
#define TOP_K 8
#define MIB (INT64_C(1) << 20)

static const made_model *const m = &made_qwen3_30b;
static char folder[4096];
static float x[TOKENS * 2048]; /* bf16 numbers, so that the layer takes them as bf16 */
static int64_t ids[TOKENS * TOP_K];
static float router_weights[TOKENS * TOP_K];

static int make_model(void **state)
{
    (void)state;
    if (mkdir(folder, 0755) != 0) return -1;
    made_model_write(m, folder);
    for (int64_t i = 0; i < TOKENS * m->hidden; i++)
        x[i] = (float)made_router(m, i / m->hidden, i % m->hidden);
    for (int i = 0; i < TOKENS * TOP_K; i++) {
        ids[i] = (i / TOP_K * 5 + i % TOP_K * 3) % 24 * 5; /* 24 of 128 experts */
        router_weights[i] = (float)(1 + i % 7) / 16;
    }
    return 0;
}

static int remove_model(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors.index.json",
                                        "model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors"};
    char path[sizeof folder + 64];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

/* ---- what the system says ---- */

/* Bytes of the shards' mappings that this process has touched; -1 where the system does not tell.
 */
static int64_t touched(void)
{
    char line[8192];
    int64_t bytes = 0;
    bool inside = false;
    FILE *const maps = fopen("/proc/self/smaps", "r");
    if (!maps) return -1;
    while (fgets(line, sizeof line, maps)) {
        long long kilobytes;
        unsigned long long from;
        if (sscanf(line, "%llx-", &from) == 1 && strchr(line, '-'))
            inside = strstr(line, "-of-00002.safetensors") != NULL;
        if (inside && sscanf(line, "Rss: %lld kB", &kilobytes) == 1) bytes += kilobytes * 1024;
    }
    (void)fclose(maps);
    return bytes;
}

/* Allow `more` bytes of private memory beyond what there is; false where the system cannot. */
static bool limit_memory(int64_t more, struct rlimit *before)
{
    long pages = 0;
    FILE *const statm = fopen("/proc/self/statm", "r");
    if (!statm) return false;
    const int read = fscanf(statm, "%*d %*d %*d %*d %*d %ld", &pages);
    (void)fclose(statm);
    if (read != 1 || getrlimit(RLIMIT_DATA, before) != 0) return false;
    const struct rlimit limit = {(rlim_t)(pages * sysconf(_SC_PAGESIZE) + more), before->rlim_max};
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

/* ---- the slow layer ---- */

static double slow_value(int64_t expert, made_matrix which, int64_t row, int64_t column)
{
    const uint8_t code = made_code(m, expert, which, row, column);
    const double value =
        slow_decode(&slow_e4m3fn, code & 0x7F) * made_scale_of(m, expert, which, row, column);
    return code & 0x80 ? -value : value;
}

static double slow_dot(int64_t expert, made_matrix which, int64_t row, int64_t columns,
                       const double *in)
{
    double sum = 0;
    for (int64_t c = 0; c < columns; c++)
        sum += slow_value(expert, which, row, c) * in[c];
    return sum;
}

/* silu(gate x) * (up x), then the down projection of the first `outputs` columns. */
static void slow_expert(int64_t expert, const double *in, int64_t outputs, double weight,
                        double *out)
{
    double *const inner = malloc((size_t)m->inter * sizeof *inner);
    for (int64_t i = 0; i < m->inter; i++) {
        const double gate = slow_dot(expert, MADE_GATE, i, m->hidden, in);
        inner[i] = gate / (1 + exp(-gate)) * slow_dot(expert, MADE_UP, i, m->hidden, in);
    }
    for (int64_t o = 0; o < outputs; o++)
        out[o] += weight * slow_dot(expert, MADE_DOWN, o, m->inter, inner);
    free(inner);
}

/* One token against the slow layer, in its first few outputs. */
static void check_token(const double *output, int64_t token)
{
    enum { OUTPUTS = 200 };
    double want[OUTPUTS] = {0}, in[2048], largest = 0;
    for (int64_t i = 0; i < m->hidden; i++)
        in[i] = (double)x[token * m->hidden + i];
    for (int64_t slot = token * TOP_K; slot < (token + 1) * TOP_K; slot++)
        slow_expert(ids[slot], in, OUTPUTS, (double)router_weights[slot], want);
    for (int o = 0; o < OUTPUTS; o++)
        largest = fmax(largest, fabs(want[o]));
    assert_true(largest > 0.01);
    for (int o = 0; o < OUTPUTS; o++)
        if (fabs(output[token * m->hidden + o] - want[o]) > 1e-12 * largest)
            fail_msg("token %d, output %d: %.17g, wanted %.17g", (int)token, o,
                     output[token * m->hidden + o], want[o]);
}

/* ---- the layer from the folder ---- */

/* Run `tokens` tokens under `recipe`; returns the bytes of the shards that were touched. */
static int64_t run(int64_t tokens, const char *recipe, double *output)
{
    const fp8moe_ranks whole = {.ep_size = 1, .tp_size = 1};
    const int64_t rows[2] = {tokens, m->hidden}, slots[2] = {tokens, TOP_K};
    fp8moe_checkpoint *model = NULL;
    fp8moe_moe_weights weights;
    fp8moe_layer *layer = NULL;
    fp8moe_config config;
    fp8moe_error err;
    size_t index;
    if (fp8moe_checkpoint_open(folder, &model, &err) != FP8MOE_OK)
        fail_msg("%s: %s", err.file, err.message);
    assert_int_equal(fp8moe_checkpoint_layer_find(model, 0, &index, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_checkpoint_moe(model, index, &whole, &weights, NULL), FP8MOE_OK);
    fp8moe_config_default(&config);
    config.target = fp8moe_target_find("gaudi3");
    config.recipe = fp8moe_recipe_find(recipe);
    config.weights_stage = FP8MOE_WEIGHTS_CHECKPOINT;
    config.num_experts = weights.num_experts;
    config.use_blas = false;
    const fp8moe_inputs inputs = {
        .hidden_states = fp8moe_tensor_view(x, FP8MOE_DTYPE_F32, 2, rows),
        .topk_ids = fp8moe_tensor_view(ids, FP8MOE_DTYPE_I64, 2, slots),
        .topk_weights = fp8moe_tensor_view(router_weights, FP8MOE_DTYPE_F32, 2, slots),
        .experts = weights.experts,
        .expert_count = weights.expert_count};
    if (fp8moe_layer_open(&config, &inputs, &layer, &err) != FP8MOE_OK) fail_msg("%s", err.message);
    if (fp8moe_layer_run(layer, NULL, output, &err) != FP8MOE_OK) fail_msg("%s", err.message);
    const int64_t bytes = touched();
    fp8moe_layer_close(layer);
    fp8moe_moe_weights_free(&weights);
    fp8moe_checkpoint_close(model);
    return bytes;
}

static int64_t distinct_experts(int64_t tokens)
{
    bool seen[128] = {false};
    int64_t count = 0;
    for (int64_t i = 0; i < tokens * TOP_K; i++) {
        count += !seen[ids[i]];
        seen[ids[i]] = true;
    }
    return count;
}

static void test_layer(void **state)
{
    static const int64_t counts[] = {1, TOKENS};
    static double output[TOKENS * 2048];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rlimit before;
        const bool limited = limit_memory(64 * MIB, &before);
        const int64_t bytes = run(counts[i], "exact", output),
                      experts = distinct_experts(counts[i]);
        if (limited) assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
        print_message("%d tokens: %d experts of 128, %.1f MiB of 604 touched, memory %s\n",
                      (int)counts[i], (int)experts, (double)bytes / (double)MIB,
                      limited ? "within 64 MiB" : "not limited here");
        check_token(output, 0);
        check_token(output, counts[i] - 1);
        /* three matrices of 1.5 MiB; a page fault may bring its neighbours along */
        const int64_t needed = experts * 3 * (m->hidden * m->inter + 256 * 1024) + 8 * MIB;
        if (bytes > needed)
            fail_msg("%lld bytes touched, at most %lld are needed", (long long)bytes,
                     (long long)needed);
    }
}

/* Looking at a layer leaves none of its shards open. */
static void test_description(void **state)
{
    fp8moe_checkpoint *model = NULL;
    fp8moe_moe_form form;
    (void)state;
    assert_int_equal(fp8moe_checkpoint_open(folder, &model, NULL), FP8MOE_OK);
    assert_int_equal(fp8moe_checkpoint_describe(model, 0, &form, NULL), FP8MOE_OK);
    assert_int_equal(form.intermediate, 768);
    if (touched() >= 0) assert_int_equal(touched(), 0);
    fp8moe_checkpoint_close(model);
}

/* Recipes that requantise read the same folder within the same memory. */
static void test_gather_and_stock(void **state)
{
    static double output[TOKENS * 2048];
    static const char *const recipes[] = {"gather", "stock"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rlimit before;
        const bool limited = limit_memory(64 * MIB, &before);
        (void)run(TOKENS, recipes[i], output);
        if (limited) assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
        for (int64_t o = 0; o < TOKENS * m->hidden; o++)
            assert_true(fabs(output[o]) < 1e6);
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_description),
                                       cmocka_unit_test(test_layer),
                                       cmocka_unit_test(test_gather_and_stock)};
    (void)count;
    (void)snprintf(folder, sizeof folder, "%s.model.%ld", arguments[0], (long)getpid());
    return cmocka_run_group_tests(tests, make_model, remove_model);
}

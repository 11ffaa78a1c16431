/* make_checkpoint FOLDER [KIND]: writes a model folder of one layer, the same bits every time. */
#include "made_checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name, *what;
    made_model model;
} kinds[] = {
    {"small",
     "gate_proj, up_proj, down_proj in blocks, two shards, a shared expert",
     {.prefix = "model.layers.3.mlp.",
      .scale_suffix = "_scale_inv",
      .scale_dtype = FP8MOE_DTYPE_F32,
      .experts = 8,
      .hidden = 256,
      .inter = 128,
      .block_rows = 64,
      .block_cols = 64,
      .shards = 2,
      .shared = true,
      .seed = 1}},
    {"mapped",
     "as small, but shards of more than a mebibyte, which are mapped",
     {.prefix = "model.layers.3.mlp.",
      .scale_suffix = "_scale_inv",
      .scale_dtype = FP8MOE_DTYPE_F32,
      .experts = 8,
      .hidden = 256,
      .inter = 512,
      .block_rows = 64,
      .block_cols = 64,
      .shards = 2,
      .seed = 1}},
    {"minimax",
     "w1, w3, w2 in blocks, a correction bias",
     {.prefix = "model.layers.5.block_sparse_moe.",
      .naming = MADE_W1_W3_W2,
      .scale_suffix = "_scale_inv",
      .scale_dtype = FP8MOE_DTYPE_BF16,
      .experts = 8,
      .hidden = 256,
      .inter = 128,
      .block_rows = 64,
      .block_cols = 64,
      .shards = 3,
      .bias = true,
      .seed = 2}},
    {"fused",
     "one tensor for all experts",
     {.prefix = "model.language_model.layers.0.mlp.",
      .naming = MADE_FUSED,
      .scale_suffix = "_scale_inv",
      .scale_dtype = FP8MOE_DTYPE_F32,
      .experts = 8,
      .hidden = 256,
      .inter = 128,
      .block_rows = 64,
      .block_cols = 64,
      .shards = 1,
      .seed = 3}},
    {"channel",
     "one scale a row",
     {.prefix = "model.layers.1.mlp.",
      .scale = MADE_SCALE_ROW_COLUMN,
      .scale_suffix = "_scale",
      .scale_dtype = FP8MOE_DTYPE_BF16,
      .experts = 8,
      .hidden = 256,
      .inter = 128,
      .block_rows = 128,
      .block_cols = 128,
      .shards = 1,
      .seed = 4}},
    {"static",
     "one scale a matrix, static input scales",
     {.prefix = "model.layers.0.block_sparse_moe.",
      .naming = MADE_W1_W3_W2,
      .scale = MADE_SCALE_TENSOR,
      .scale_suffix = "_scale",
      .scale_dtype = FP8MOE_DTYPE_F32,
      .experts = 8,
      .hidden = 256,
      .inter = 128,
      .block_rows = 128,
      .block_cols = 128,
      .shards = 1,
      .static_input = true,
      .seed = 5}},
};

static int usage(void)
{
    fprintf(stderr, "usage: make_checkpoint FOLDER [KIND], KIND being\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(stderr, "  %-9s %s\n", kinds[i].name, kinds[i].what);
    fprintf(stderr, "  qwen3-30b the published shapes of Qwen3-30B-A3B, 600 MB\n");
    return 2;
}

static const made_model *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i].model;
    return strcmp(name, "qwen3-30b") == 0 ? &made_qwen3_30b : NULL;
}

int main(int count, char **arguments)
{
    const made_model *const model =
        count == 2 || count == 3 ? find_kind(count == 3 ? arguments[2] : "small") : NULL;
    if (!model) return usage();
    if (mkdir(arguments[1], 0777) != 0 && errno != EEXIST) {
        perror(arguments[1]);
        return 3;
    }
    made_model_write(model, arguments[1]);
    return 0;
}

/* make_checkpoint FOLDER [qwen3-30b]: writes a model folder of one layer, the same bits every time:
 * a small one, or one with the published shapes of Qwen3-30B-A3B (600 MB). */
#include "made_checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const made_model small = {.prefix = "model.layers.3.mlp.",
                                 .scale_suffix = "_scale_inv",
                                 .scale_dtype = FP8MOE_DTYPE_F32,
                                 .experts = 8,
                                 .hidden = 256,
                                 .inter = 128,
                                 .block_rows = 64,
                                 .block_cols = 64,
                                 .shards = 2,
                                 .shared = true,
                                 .seed = 1};

int main(int count, char **arguments)
{
    const bool large = count == 3 && strcmp(arguments[2], "qwen3-30b") == 0;
    if (count != 2 && !large) {
        fprintf(stderr, "usage: make_checkpoint FOLDER [qwen3-30b]\n");
        return 2;
    }
    if (mkdir(arguments[1], 0777) != 0 && errno != EEXIST) {
        perror(arguments[1]);
        return 3;
    }
    made_model_write(large ? &made_qwen3_30b : &small, arguments[1]);
    return 0;
}

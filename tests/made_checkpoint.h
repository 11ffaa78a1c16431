/* Model folders made for tests: every code and scale follows from the seed and its place alone, so
 * that a test knows what element (expert, matrix, row, column) is without reading it. */
#ifndef FP8MOE_TESTS_MADE_CHECKPOINT_H
#define FP8MOE_TESTS_MADE_CHECKPOINT_H

#include <fp8moe/checkpoint.h>

typedef enum made_naming {
    MADE_GATE_UP_DOWN,
    MADE_W1_W3_W2,
    MADE_JOINED,
    MADE_FUSED,
    MADE_FUSED_W13
} made_naming;

typedef enum made_scale {
    MADE_SCALE_BLOCK,         /* gate and up each with their own grid */
    MADE_SCALE_BLOCK_THROUGH, /* one grid through gate and up, where one tensor holds both */
    MADE_SCALE_ROW,           /* [rows] */
    MADE_SCALE_ROW_COLUMN,    /* [rows, 1] */
    MADE_SCALE_TENSOR,        /* [], of joined gate and up [2] */
    MADE_SCALE_NONE           /* bf16 weights */
} made_scale;

typedef enum made_matrix { MADE_GATE, MADE_UP, MADE_DOWN } made_matrix;

/* A folder of one layer. */
typedef struct made_model {
    const char *prefix; /* "model.layers.0.mlp." */
    made_naming naming;
    made_scale scale;
    const char *scale_suffix; /* "_scale_inv", "_scale" */
    fp8moe_dtype scale_dtype; /* F32, BF16, F16, F8_E8M0 */
    int64_t experts, hidden, inter;
    int64_t block_rows, block_cols;
    int shards; /* scales stand in another shard than their weights where there are several; 1: one
                   file, no index */
    bool static_input;
    bool bias;          /* e_score_correction_bias, under the name its family uses */
    bool shared;        /* a shared expert and its gate */
    int scale_exponent; /* added to that of every scale, which lies at -12 to -9 */
    uint64_t seed;
} made_model;

/* Write config.json, the shards and the index into `folder`, which exists. Ends the process where
 * it cannot. Shards are made one after the other: memory is that of one. */
void made_model_write(const made_model *m, const char *folder);

/* What the folder holds. The code of a bf16 weight stands for its value. */
uint8_t made_code(const made_model *m, int64_t expert, made_matrix which, int64_t row,
                  int64_t column);
double made_scale_of(const made_model *m, int64_t expert, made_matrix which, int64_t row,
                     int64_t column);
double made_input_scale(const made_model *m, int64_t expert, bool down);
double made_router(const made_model *m, int64_t expert, int64_t column);
double made_bias(const made_model *m, int64_t expert);

/* The published shapes of Qwen3-30B-A3B: E 128, H 2048, I 768, blocks of 128 x 128; in two shards.
 */
extern const made_model made_qwen3_30b;

#endif

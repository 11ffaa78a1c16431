/* What a `vllm serve` command line says about the gate: parallel sizes, sequences, speculation. */
#ifndef FP8MOE_TOOLS_SERVE_H
#define FP8MOE_TOOLS_SERVE_H

#include "cli.h"

#define SERVE_DEFAULT_SEQS 256 /* vLLM's max_num_seqs where nobody gives one: assumed */

typedef struct serve_line {
    char *model; /* behind serve or --model, or NULL */
    int64_t tensor_parallel, data_parallel;
    char *all2all_backend; /* or NULL: vLLM's default */
    char *quantization;    /* or NULL: as the model's config.json says */
    int64_t max_num_seqs;
    bool seqs_given;
    int64_t speculative_tokens;
    bool expert_parallel;
    bool eager;
    char **variables; /* "VAR=VALUE" before the command */
    size_t variable_count;
} serve_line;

/*
 * Parse what a shell would: words, quotes, backslashes; nothing is expanded. Flags that do not
 * matter here are passed over. The caller frees *out either way.
 *
 * @return OK; USAGE for a quote without its end, a flag without its number, or a number out of
 * range
 */
fp8moe_status serve_parse(const char *text, serve_line *out, fp8moe_error *err);
/*
 * Ranks over which a layer's tokens are split, padded and gathered again: the tensor-parallel ones
 * where vLLM makes its MoE layers sequence-parallel (expert, tensor and data parallel, and a
 * backend that can); else 1.
 */
int64_t serve_sequence_parallel(const serve_line *line);
void serve_free(serve_line *line);

#endif

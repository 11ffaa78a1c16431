#include "few_tokens.h"

#include <stdlib.h>

/* The shape of `count` tokens of a tensor whose leading dimensions make up `all` tokens; its rank,
 * or 0 where they do not. */
static int shape_of_few(const fp8moe_tensor *tensor, int64_t all, int64_t count,
                        int64_t shape[FP8MOE_MAX_RANK])
{
    int64_t tokens = 1;
    int leading = 0, rank = 0;
    while (leading < tensor->rank && (leading == 0 || tokens < all))
        tokens *= tensor->shape[leading++];
    if (!leading || tokens != all) return 0;
    shape[rank++] = count;
    while (leading < tensor->rank)
        shape[rank++] = tensor->shape[leading++];
    return rank;
}

/* Those rows of a tensor instead of all; an absent one stays so. */
static bool take_rows(fp8moe_tensor *tensor, int64_t all, const int64_t *tokens, int64_t count,
                      void **memory)
{
    int64_t shape[FP8MOE_MAX_RANK];
    if (!fp8moe_tensor_present(tensor)) return true;
    const int rank = shape_of_few(tensor, all, count, shape);
    if (!rank) return false;
    const int64_t columns = all ? fp8moe_tensor_count(tensor) / all : 0;
    const size_t bytes = (size_t)columns * (size_t)fp8moe_dtype_bits(tensor->dtype) / 8;
    *memory = cli_allocate((size_t)count * bytes + 1);
    for (int64_t i = 0; i < count; i++)
        fp8moe_tensor_read_raw(tensor, tokens[i] * columns, columns,
                               (char *)*memory + (size_t)i * bytes);
    *tensor = fp8moe_tensor_view(*memory, tensor->dtype, rank, shape);
    return true;
}

bool few_tokens_take(const subject_dump *from, int64_t all, const int64_t *tokens, int64_t count,
                     few_tokens *out)
{
    *out = (few_tokens){.subject = *from, .count = count};
    fields *found = &out->subject.fields;
    fp8moe_inputs *in = &found->inputs;
    fp8moe_tensor *const inputs[] = {&in->hidden_states, &in->router_logits, &in->topk_ids,
                                     &in->topk_weights};
    if (!fp8moe_tensor_present(&in->hidden_states)) return false;
    void **memory = out->memory;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (!take_rows(inputs[i], all, tokens, count, memory++)) return false;
    for (size_t i = 0; i < FP8MOE_STAGE_COUNT; i++)
        if (!take_rows(&found->stages[i], all, tokens, count, memory++)) return false;
    return true;
}

void few_tokens_free(few_tokens *few)
{
    for (size_t i = 0; i < FEW_TENSORS; i++)
        free(few->memory[i]);
}

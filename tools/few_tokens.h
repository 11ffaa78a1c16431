/* A dump with just a few of its tokens: enough for a question that one of them answers. */
#ifndef FP8MOE_TOOLS_FEW_TOKENS_H
#define FP8MOE_TOOLS_FEW_TOKENS_H

#include "subject.h"

#define FEW_TENSORS (4 + FP8MOE_STAGE_COUNT)

typedef struct few_tokens {
    subject_dump subject; /* not to be closed: it is the whole dump's, with other inputs */
    int64_t count;
    void *memory[FEW_TENSORS];
} few_tokens;

/* Take these tokens of hidden_states, router_logits, topk_ids, topk_weights and of every
 * intermediate. False where one of them has no row for each of `all` tokens. */
bool few_tokens_take(const subject_dump *from, int64_t all, const int64_t *tokens, int64_t count,
                     few_tokens *out);
void few_tokens_free(few_tokens *few);

#endif

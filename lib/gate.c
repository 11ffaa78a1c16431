#include "common.h"
#include "gate_rows.h"

#include <string.h>

typedef struct call_size {
    int64_t tokens, top_k, local_num_experts;
} call_size;

/* As Python compares an int with a float: exactly. */
static bool at_most(int64_t left, double right)
{
    if (!(right >= 0)) return false;
    return right >= 0x1p63 || left <= (int64_t)right;
}

static bool value_holds(const condition_row *row, const fp8moe_gate_value *value)
{
    switch (row->test) {
    case IS_ON:
        return value->on;
    case IS_OFF:
        return !value->on;
    case IS_POSITIVE:
        return value->count > 0;
    case IS_TEXT:
        return strcmp(value->text, row->wanted) == 0;
    default:
        return strcmp(value->text, row->wanted) != 0;
    }
}

static void set_sides(fp8moe_gate_condition *found, condition_test test, const call_size *size)
{
    found->left = test == TOKENS_WITHIN_COUNT ? size->tokens : size->tokens * size->top_k;
    found->right = test == PAIRS_WITHIN_SHARE
                       ? (double)size->local_num_experts * found->value.number
                       : (double)found->value.count;
}

static fp8moe_gate_condition judge(const condition_row *row, fp8moe_path path,
                                   const fp8moe_gate_facts *facts, const call_size *size)
{
    fp8moe_gate_condition found = {.path = path,
                                   .name = row->name,
                                   .text = row->text,
                                   .fact = row->fact,
                                   .value = facts->value[row->fact],
                                   .is_size = row->test >= PAIRS_WITHIN_SHARE};
    if (found.is_size) {
        set_sides(&found, row->test, size);
        found.holds = at_most(found.left, found.right);
    } else {
        found.holds = value_holds(row, &found.value);
    }
    if (!found.holds) found.reason = row->reason;
    return found;
}

/* Append what a rule finds; whether all of it holds. */
static bool apply_rule(const condition_row *const *rows, fp8moe_path path,
                       const fp8moe_gate_facts *facts, const call_size *size,
                       fp8moe_gate_decision *out)
{
    bool all = true;
    for (; *rows; rows++) {
        assert(out->count < FP8MOE_GATE_MAX_CONDITIONS);
        const fp8moe_gate_condition found = judge(*rows, path, facts, size);
        out->condition[out->count++] = found;
        all = all && found.holds;
    }
    return all;
}

static fp8moe_status check_size(const call_size *size, fp8moe_error *err)
{
    int64_t pairs;
    if (size->tokens < 0)
        return fail(err, FP8MOE_ERR_VALUE, "%lld tokens", (long long)size->tokens);
    if (size->top_k < 1)
        return fail(err, FP8MOE_ERR_VALUE, "top_k %lld is below 1", (long long)size->top_k);
    if (size->local_num_experts < 1)
        return fail(err, FP8MOE_ERR_VALUE, "local_num_experts %lld is below 1",
                    (long long)size->local_num_experts);
    if (!checked_mul(size->tokens, size->top_k, &pairs))
        return fail(err, FP8MOE_ERR_VALUE, "%lld tokens of %lld experts are beyond 64 bits",
                    (long long)size->tokens, (long long)size->top_k);
    return FP8MOE_OK;
}

fp8moe_status fp8moe_gate_decide(const fp8moe_gate_version *version, const fp8moe_gate_facts *facts,
                                 int64_t tokens, int64_t top_k, int64_t local_num_experts,
                                 fp8moe_gate_decision *out, fp8moe_error *err)
{
    const call_size size = {tokens, top_k, local_num_experts};
    TRY(check_size(&size, err));
    *out = (fp8moe_gate_decision){.path = FP8MOE_PATH_STOCK,
                                  .gathered = min_i64(local_num_experts, tokens * top_k)};
    for (size_t i = 0; i < GATE_MAX_RULES && version->rules[i].conditions; i++) {
        const fp8moe_path path = version->rules[i].path;
        const bool taken = apply_rule(version->rules[i].conditions, path, facts, &size, out);
        if (taken && out->path == FP8MOE_PATH_STOCK) out->path = path;
    }
    return FP8MOE_OK;
}

const fp8moe_gate_condition *fp8moe_gate_first_no(const fp8moe_gate_decision *decision,
                                                  fp8moe_path path)
{
    for (size_t i = 0; i < decision->count; i++)
        if (decision->condition[i].path == path && !decision->condition[i].holds)
            return &decision->condition[i];
    return NULL;
}

static bool rule_holds(const condition_row *const *rows, const fp8moe_gate_facts *facts,
                       call_size size, int64_t tokens)
{
    size.tokens = tokens;
    while (*rows && judge(*rows, FP8MOE_PATH_STOCK, facts, &size).holds)
        rows++;
    return !*rows;
}

/* By bisection: what fails for T fails for every larger T. */
static int64_t largest_tokens(const condition_row *const *rows, const fp8moe_gate_facts *facts,
                              const call_size *size)
{
    int64_t holds = 0;
    int64_t fails = INT64_MAX / size->top_k;
    if (rule_holds(rows, facts, *size, fails)) return FP8MOE_TOKENS_UNLIMITED;
    while (fails - holds > 1) {
        const int64_t middle = holds + (fails - holds) / 2;
        if (rule_holds(rows, facts, *size, middle))
            holds = middle;
        else
            fails = middle;
    }
    return holds;
}

int64_t fp8moe_gate_largest_tokens(const fp8moe_gate_version *version,
                                   const fp8moe_gate_facts *facts, fp8moe_path path, int64_t top_k,
                                   int64_t local_num_experts)
{
    assert(top_k > 0 && local_num_experts > 0);
    const call_size size = {.top_k = top_k, .local_num_experts = local_num_experts};
    if (path == FP8MOE_PATH_STOCK) return FP8MOE_TOKENS_UNLIMITED;
    for (size_t i = 0; i < GATE_MAX_RULES && version->rules[i].conditions; i++)
        if (version->rules[i].path == path)
            return largest_tokens(version->rules[i].conditions, facts, &size);
    return 0;
}

static const fp8moe_gate_exclusion exclusions[] = {
    {"compressed-tensors FP8 (GLM-4.5, GLM-4.6, Llama 4)",
     "a method class of its own serves it, without a gathered combine"},
    {"per-tensor FP8 (Mixtral)", "its scales never become one a row: not block-quantised"},
    {"static activations", "activation_scheme is static"},
    {"INC models (QUANT_CONFIG)",
     "QUANT_CONFIG turns FORCE_CHANNEL off, and INC patches the layer"},
    {"MXFP4 (gpt-oss)", "a method class of its own serves it"},
    {"other activations (gelu, relu2, SwiGLU-OAI)", "only silu is written there"},
    {"non-gated experts (Nemotron-H)", "their activation is relu2, not silu"},
    {"experts named in modules_to_not_convert",
     "they stay unquantised: the FP8 method never sees them"},
};

const fp8moe_gate_exclusion *fp8moe_gate_exclusion_at(size_t index)
{
    return index < sizeof exclusions / sizeof exclusions[0] ? &exclusions[index] : NULL;
}

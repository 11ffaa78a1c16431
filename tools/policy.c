#include "policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* False for what is no policy. */
static bool parse_policy(const char *text, policy *out)
{
    *out = (policy){.rule = POLICY_STRICT};
    if (!strcmp(text, "strict")) return true;
    out->rule = POLICY_UPSTREAM;
    if (!strcmp(text, "upstream")) return true;
    out->rule = POLICY_ULP;
    return !strncmp(text, "ulp:", 4) && cli_parse_number(text + 4, &out->steps) && out->steps >= 0;
}

/* ---- files ---- */

static fp8moe_status check_rule(const yaml_node *rule, fp8moe_error *err)
{
    policy unused;
    const yaml_node *match = yaml_find(rule, "match"), *text = yaml_find(rule, "policy");
    CLI_TRY(yaml_expect(rule, YAML_MAP, "a rule", err));
    for (size_t i = 0; i < rule->count; i++)
        if (&rule->children[i] != match && &rule->children[i] != text)
            return yaml_fail(&rule->children[i], err, "unknown key '%s'", rule->children[i].key);
    if (!match || !text) return yaml_fail(rule, err, "a rule needs match and policy");
    CLI_TRY(yaml_expect(match, YAML_TEXT, "match", err));
    CLI_TRY(yaml_expect(text, YAML_TEXT, "policy", err));
    if (parse_policy(text->text, &unused)) return FP8MOE_OK;
    return yaml_fail(text, err, "policy '%s': strict, upstream or ulp:N with N at least 0",
                     text->text);
}

static fp8moe_status check_rules(const yaml_node *root, fp8moe_error *err)
{
    CLI_TRY(yaml_expect(root, YAML_LIST, "a policy file", err));
    for (size_t i = 0; i < root->count; i++)
        CLI_TRY(check_rule(&root->children[i], err));
    return FP8MOE_OK;
}

fp8moe_status policies_find(const options *given, policies *out, fp8moe_error *err)
{
    const char *text = options_value(given, OPTION_POLICY);
    *out = (policies){.one = {.rule = POLICY_STRICT}};
    if (!text || parse_policy(text, &out->one)) return FP8MOE_OK;
    const char *dot = strrchr(text, '.');
    if (!dot || (strcmp(dot, ".yaml") && strcmp(dot, ".yml")))
        return cli_fail(
            err, FP8MOE_ERR_USAGE,
            "--policy '%s': expected strict, upstream, ulp:N with N at least 0, or a .yaml file",
            text);
    out->from_file = true;
    CLI_TRY(yaml_read(text, &out->rules, err));
    return cli_in_file(err, check_rules(&out->rules, err), text);
}

void policies_free(policies *read)
{
    yaml_tree_free(&read->rules);
}

/* A name, or the start of one before a final "*". */
static bool matches(const char *pattern, const char *name)
{
    const size_t length = strlen(pattern);
    if (length && pattern[length - 1] == '*') return !strncmp(pattern, name, length - 1);
    return !strcmp(pattern, name);
}

policy policies_of(const policies *all, const char *tensor)
{
    policy found = all->one;
    if (!all->from_file) return found;
    for (size_t i = 0; i < all->rules.count; i++)
        if (matches(yaml_find(&all->rules.children[i], "match")->text, tensor) &&
            parse_policy(yaml_find(&all->rules.children[i], "policy")->text, &found))
            return found;
    return (policy){.rule = POLICY_STRICT};
}

/* ---- judging ---- */

char *policy_name(const policy *p)
{
    if (p->rule == POLICY_ULP) return cli_text("ulp:%g", p->steps);
    return cli_copy(p->rule == POLICY_UPSTREAM ? "upstream" : "strict");
}

bool policy_passes(const policy *p, const fp8moe_comparison *comparison)
{
    switch (p->rule) {
    case POLICY_UPSTREAM:
        return !comparison->upstream_ulp_exceeds && !comparison->upstream_relative_exceeds;
    case POLICY_ULP:
        return !comparison->nonfinite_differs && comparison->fp8.max <= p->steps;
    case POLICY_STRICT:
        break;
    }
    return fp8moe_comparison_same(comparison);
}

static const double gains[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5};

bool policy_is_blind(const policy *p, const policy_sight *sight)
{
    const double needed = p->rule == POLICY_STRICT ? 0.02 : 0.5;
    return !sight->zero || sight->gain_down > needed || sight->gain_up > needed;
}

/* Whether the tensor with every value times `factor`, rounded to bf16 where it holds bf16 numbers,
 * passes. */
static fp8moe_status passes_scaled(const policy *p, const fp8moe_tensor *expected, double factor,
                                   const fp8moe_compare_options *comparing, double *values,
                                   bool *out, fp8moe_error *err)
{
    const int64_t count = fp8moe_tensor_count(expected);
    fp8moe_comparison comparison;
    fp8moe_tensor_read_f64(expected, 0, count, values);
    for (int64_t i = 0; i < count; i++)
        values[i] = expected->dtype == FP8MOE_DTYPE_BF16 ? fp8moe_round_bf16(values[i] * factor)
                                                         : values[i] * factor;
    const fp8moe_tensor scaled =
        fp8moe_tensor_view(values, FP8MOE_DTYPE_F64, expected->rank, expected->shape);
    CLI_TRY(fp8moe_compare(expected, &scaled, comparing, &comparison, err));
    *out = policy_passes(p, &comparison);
    return FP8MOE_OK;
}

/* The smallest gain of one direction that fails. */
static fp8moe_status find_gain(const policy *p, const fp8moe_tensor *expected, double sign,
                               const fp8moe_compare_options *comparing, double *values, double *out,
                               fp8moe_error *err)
{
    *out = INFINITY;
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        bool passes;
        CLI_TRY(passes_scaled(p, expected, 1 + sign * gains[i], comparing, values, &passes, err));
        if (passes) continue;
        *out = gains[i];
        return FP8MOE_OK;
    }
    return FP8MOE_OK;
}

fp8moe_status policy_look(const policy *p, const fp8moe_tensor *expected,
                          const fp8moe_compare_options *comparing, policy_sight *out,
                          fp8moe_error *err)
{
    double *values = cli_allocate((size_t)fp8moe_tensor_count(expected) * sizeof *values);
    bool passes = true;
    fp8moe_status st = find_gain(p, expected, -1, comparing, values, &out->gain_down, err);
    if (st == FP8MOE_OK) st = find_gain(p, expected, 1, comparing, values, &out->gain_up, err);
    if (st == FP8MOE_OK) st = passes_scaled(p, expected, 0, comparing, values, &passes, err);
    out->zero = !passes;
    free(values);
    return st;
}

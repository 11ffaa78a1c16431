/* The library against the vectors of data/vectors, which a model of its own made. */
#include "json.h"
#include "quant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fp8moe/compare.h>
#include <fp8moe/gate.h>
#include <fp8moe/route.h>

#define MOST 256 /* experts, elements of a row, pairs of a tensor */

/* ---- reading ---- */

static char *read_text(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s: cannot be opened", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *size, file), *size);
    fclose(file);
    return text;
}

typedef void (*vector_check)(const json_value *vector);

/* Check every vector of a file; the file holds at least `least`. */
static void check_file(const char *path, int64_t least, vector_check check)
{
    size_t size;
    char *text = read_text(path, &size);
    json *parsed;
    fp8moe_error err;
    if (json_parse(text, size, 0, &parsed, &err) != FP8MOE_OK)
        fail_msg("%s: %s", path, err.message);
    const json_value *vectors = json_get(json_root(parsed), "vectors");
    assert_non_null(vectors);
    assert_true(vectors->children.count >= least);
    for (const json_value *v = vectors->children.first; v; v = v->next)
        check(v);
    json_close(parsed);
    free(text);
}

static const json_value *member(const json_value *vector, const char *key)
{
    const json_value *found = json_get(vector, key);
    if (!found) fail_msg("no %s at byte %lld", key, (long long)vector->offset);
    return found;
}

static double number(const json_value *value)
{
    if (value->type == JSON_I64) return (double)value->i64;
    if (value->type == JSON_F64) return value->f64;
    assert_int_equal(value->type, JSON_STRING);
    return strtod(value->string, NULL); /* nan, inf, -inf */
}

static const char *text(const json_value *vector, const char *key)
{
    const json_value *value = member(vector, key);
    return value->type == JSON_NULL ? NULL : value->string;
}

static int64_t numbers(const json_value *array, double *out)
{
    int64_t count = 0;
    if (array->type == JSON_NULL) return 0;
    for (const json_value *v = array->children.first; v; v = v->next) {
        assert_true(count < MOST);
        out[count++] = number(v);
    }
    return count;
}

static void expect_number(const json_value *vector, const char *what, double got, double want)
{
    const bool same = want != want ? got != got : got == want && signbit(got) == signbit(want);
    if (!same)
        fail_msg("vector at byte %lld: %s is %.17g, not %.17g", (long long)vector->offset, what,
                 got, want);
}

static void expect_text(const json_value *vector, const char *what, const char *got,
                        const char *want)
{
    if ((got && want) ? strcmp(got, want) != 0 : got != want)
        fail_msg("vector at byte %lld: %s is %s, not %s", (long long)vector->offset, what,
                 got ? got : "none", want ? want : "none");
}

/* ---- gate ---- */

static fp8moe_gate_fact find_fact(const char *name)
{
    int fact = 0;
    while (strcmp(name, fp8moe_gate_fact_name((fp8moe_gate_fact)fact)) != 0)
        fact++;
    return (fp8moe_gate_fact)fact;
}

static void set_facts(const json_value *vector, const fp8moe_gate_version *version,
                      fp8moe_gate_facts *facts)
{
    fp8moe_gate_facts_default(facts);
    fp8moe_gate_unset_variables(version, facts);
    const json_value *v = member(vector, "environment")->children.first;
    for (; v; v = v->next) {
        const fp8moe_status st = fp8moe_gate_set_variable(version, facts, v->key, v->string, NULL);
        assert_true(st == FP8MOE_OK || st == FP8MOE_ERR_NOT_FOUND);
    }
    for (v = member(vector, "model")->children.first; v; v = v->next) {
        fp8moe_gate_value *value = &facts->value[find_fact(v->key)];
        if (v->type == JSON_BOOL)
            value->on = v->boolean;
        else
            value->text = v->string;
    }
}

static void check_gate(const json_value *vector)
{
    const fp8moe_gate_version *version = fp8moe_gate_version_find(text(vector, "upstream"));
    fp8moe_gate_facts facts;
    fp8moe_gate_decision d;
    set_facts(vector, version, &facts);
    assert_int_equal(fp8moe_gate_decide(version, &facts, member(vector, "tokens")->i64,
                                        member(vector, "top_k")->i64,
                                        member(vector, "local_num_experts")->i64, &d, NULL),
                     FP8MOE_OK);
    const fp8moe_gate_condition *no = fp8moe_gate_first_no(&d, FP8MOE_PATH_GATHER);
    expect_text(vector, "path", fp8moe_path_name(d.path), text(vector, "path"));
    expect_text(vector, "first_no", no ? no->name : NULL, text(vector, "first_no"));
    expect_number(vector, "gathered", (double)d.gathered, number(member(vector, "gathered")));
}

/* ---- routing ---- */

static void read_routing(const json_value *vector, const fp8moe_tensor *bias, fp8moe_routing *out)
{
    fp8moe_routing_default(out);
    out->top_k = member(vector, "top_k")->i64;
    assert_true(fp8moe_scoring_find(text(vector, "scoring_func"), &out->scoring));
    out->renormalize = member(vector, "renormalize")->boolean;
    out->n_group = member(vector, "n_group")->i64;
    out->topk_group = member(vector, "topk_group")->i64;
    out->routed_scaling_factor = number(member(vector, "routed_scaling_factor"));
    if (bias->shape[0]) out->correction_bias = *bias;
}

static void check_routing(const json_value *vector)
{
    double logits[MOST], bias[MOST], ids[MOST], weights[MOST], got[MOST], scratch[3 * MOST];
    int64_t got_ids[MOST];
    const int64_t experts = numbers(member(vector, "logits"), logits);
    const int64_t biased = numbers(member(vector, "bias"), bias);
    const fp8moe_tensor bias_view = fp8moe_tensor_view(bias, FP8MOE_DTYPE_F64, 1, &biased);
    fp8moe_routing routing;
    read_routing(vector, &bias_view, &routing);
    assert_int_equal(fp8moe_routing_check(&routing, experts, NULL), FP8MOE_OK);
    fp8moe_route_token(&routing, logits, experts, got_ids, got, scratch);
    assert_int_equal(numbers(member(vector, "ids"), ids), routing.top_k);
    assert_int_equal(numbers(member(vector, "weights"), weights), routing.top_k);
    for (int64_t k = 0; k < routing.top_k; k++) {
        expect_number(vector, "id", (double)got_ids[k], ids[k]);
        expect_number(vector, "weight", got[k], weights[k]);
    }
}

/* ---- dynamic quantisation ---- */

static void check_quant(const json_value *vector)
{
    double x[MOST];
    uint8_t codes[MOST];
    char hex[2 * MOST + 1] = "";
    const int64_t count = numbers(member(vector, "x"), x);
    kernels k;
    (void)kernels_init(&k, NULL, false);
    const fp8moe_target *target = fp8moe_target_find(text(vector, "target"));
    const bool wide = !strcmp(text(vector, "dtype"), "f32");
    const fp8moe_precision steps =
        quant_steps(target, FP8MOE_CAST_BF16, wide ? FP8MOE_ROUND_F32 : FP8MOE_ROUND_BF16);
    expect_number(vector, "scale", quant_row(&k, target, steps, x, count, codes),
                  number(member(vector, "scale")));
    for (int64_t i = 0; i < count; i++)
        snprintf(hex + 2 * i, 3, "%02x", codes[i]);
    expect_text(vector, "codes", hex, text(vector, "codes"));
}

/* ---- upstream's ULP ---- */

static float from_hex(const char *hex)
{
    const uint32_t bits = (uint32_t)strtoul(hex, NULL, 16);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check_tensor(const json_value *vector)
{
    float a[MOST], b[MOST];
    int64_t count = 0;
    const json_value *pair = member(vector, "pairs")->children.first;
    for (; pair; pair = pair->next, count++) {
        assert_true(count < MOST);
        a[count] = from_hex(pair->children.first->string);
        b[count] = from_hex(pair->children.first->next->string);
    }
    const fp8moe_tensor left = fp8moe_tensor_view(a, FP8MOE_DTYPE_F32, 1, &count);
    const fp8moe_tensor right = fp8moe_tensor_view(b, FP8MOE_DTYPE_F32, 1, &count);
    fp8moe_compare_options options;
    fp8moe_comparison found;
    fp8moe_compare_options_default(&options);
    assert_int_equal(fp8moe_compare(&left, &right, &options, &found, NULL), FP8MOE_OK);
    expect_number(vector, "ulp", found.upstream_ulp, number(member(vector, "ulp")));
    expect_number(vector, "relative", found.upstream_relative, number(member(vector, "relative")));
    assert_int_equal(found.upstream_ulp_exceeds, member(vector, "warns_ulp")->boolean);
    assert_int_equal(found.upstream_relative_exceeds, member(vector, "warns_relative")->boolean);
}

static void check_ulp(const json_value *vector)
{
    if (json_get(vector, "pairs")) {
        check_tensor(vector);
        return;
    }
    const float a = from_hex(text(vector, "a")), b = from_hex(text(vector, "b"));
    expect_number(vector, "ulp", (double)fp8moe_upstream_ulp(a, b), number(member(vector, "ulp")));
    expect_number(vector, "relative", (double)fp8moe_upstream_relative(a, b),
                  number(member(vector, "relative")));
}

/* ---- the files ---- */

static void gate_vectors(void **state)
{
    (void)state;
    check_file("data/vectors/gate.json", 1000, check_gate);
}

static void routing_vectors(void **state)
{
    (void)state;
    check_file("data/vectors/routing.json", 160, check_routing);
}

static void dynamic_quant_vectors(void **state)
{
    (void)state;
    check_file("data/vectors/dynamic_quant.json", 190, check_quant);
}

static void upstream_ulp_vectors(void **state)
{
    (void)state;
    check_file("data/vectors/upstream_ulp.json", 500, check_ulp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gate_vectors),
        cmocka_unit_test(routing_vectors),
        cmocka_unit_test(dynamic_quant_vectors),
        cmocka_unit_test(upstream_ulp_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The gate against Python's arithmetic, its limits, and environments as users write them. */
#include "ask_python.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fp8moe/gate.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const fp8moe_gate_version *version(const char *name)
{
    const fp8moe_gate_version *found = fp8moe_gate_version_find(name);
    assert_non_null(found);
    return found;
}

static fp8moe_gate_facts assumed(void)
{
    fp8moe_gate_facts facts;
    fp8moe_gate_facts_default(&facts);
    return facts;
}

static fp8moe_gate_decision decide(const char *name, const fp8moe_gate_facts *facts, int64_t tokens,
                                   int64_t top_k, int64_t local)
{
    fp8moe_gate_decision decision;
    fp8moe_error err;
    if (fp8moe_gate_decide(version(name), facts, tokens, top_k, local, &decision, &err))
        fail_msg("%s", err.message);
    return decision;
}

/* ---- limits at the default ratio ---- */

static void limits_at_the_default_ratio(void **state)
{
    (void)state;
    static const struct {
        int64_t local, top_k, largest;
    } rows[] = {
        {256, 8, 12},  {128, 8, 6}, {64, 8, 3},  {32, 8, 1},   {16, 8, 0},
        {512, 10, 20}, {8, 2, 1},   {64, 10, 2}, {128, 10, 5},
    };
    const fp8moe_gate_facts facts = assumed();
    for (size_t i = 0; i < COUNT(rows); i++) {
        const int64_t largest = fp8moe_gate_largest_tokens(
            version("v0.30"), &facts, FP8MOE_PATH_GATHER, rows[i].top_k, rows[i].local);
        assert_int_equal(largest, rows[i].largest);
        for (int64_t tokens = 1; tokens <= rows[i].largest + 1; tokens++) {
            const fp8moe_gate_decision d =
                decide("v0.30", &facts, tokens, rows[i].top_k, rows[i].local);
            assert_int_equal(d.path,
                             tokens <= rows[i].largest ? FP8MOE_PATH_GATHER : FP8MOE_PATH_STOCK);
        }
    }
}

static void gathered_is_at_most_every_expert(void **state)
{
    (void)state;
    const fp8moe_gate_facts facts = assumed();
    assert_int_equal(decide("v0.30", &facts, 4, 8, 128).gathered, 32);
    assert_int_equal(decide("v0.30", &facts, 100, 8, 128).gathered, 128);
    assert_int_equal(decide("v0.30", &facts, 0, 8, 128).gathered, 0);
}

/* ---- Python's arithmetic ---- */

/* For a ratio and E_local, one a line: the largest T * K up to 1024 that Python lets through. Every
 * product is asked for, so that a hole would show. */
static const char largest_products[] =
    "for step in range(1, 21):\n"
    "    ratio = float('%.2f' % (step * 0.05))\n"
    "    for local in range(1, 1025):\n"
    "        through = [p <= local * ratio for p in range(1, 1025)]\n"
    "        largest = sum(through)\n"
    "        assert all(through[:largest])\n"
    "        print(repr(ratio), local, largest)\n";

/* One line of its answers. */
typedef struct python_answer {
    char ratio[32];
    int local, largest;
} python_answer;

static void check_call(const fp8moe_gate_facts *facts, const python_answer *python, int64_t tokens,
                       int64_t top_k)
{
    const bool gathers = tokens * top_k <= python->largest;
    if ((decide("v0.30", facts, tokens, top_k, python->local).path == FP8MOE_PATH_GATHER) !=
        gathers)
        fail_msg("T %d K %d E_local %d ratio %s: Python says %d", (int)tokens, (int)top_k,
                 python->local, python->ratio, gathers);
}

static void check_every_call(const fp8moe_gate_facts *facts, const python_answer *python)
{
    for (int64_t tokens = 1; tokens <= 64; tokens++)
        for (int64_t top_k = 1; top_k <= 16; top_k++)
            check_call(facts, python, tokens, top_k);
}

/* The last T that gathers, and the first that does not. */
static void check_both_sides(const fp8moe_gate_facts *facts, const python_answer *python)
{
    for (int64_t top_k = 1; top_k <= 16; top_k++) {
        const int64_t last = python->largest / top_k;
        if (last > 0) check_call(facts, python, last < 64 ? last : 64, top_k);
        if (last < 64) check_call(facts, python, last + 1, top_k);
    }
}

typedef void (*call_checker)(const fp8moe_gate_facts *facts, const python_answer *python);

static void hold_against_python(call_checker check, call_checker check_at_default)
{
    FILE *answers = ask_python(largest_products, "");
    if (!answers) skip();
    for (int asked = 0; asked < 20 * 1024; asked++) {
        python_answer python;
        assert_int_equal(
            fscanf(answers, "%31s %d %d", python.ratio, &python.local, &python.largest), 3);
        fp8moe_gate_facts facts = assumed();
        assert_int_equal(fp8moe_gate_set_variable(version("v0.30"), &facts,
                                                  "VLLM_HPU_MOE_GATHER_RATIO", python.ratio, NULL),
                         FP8MOE_OK);
        (strcmp(python.ratio, "0.4") ? check : check_at_default)(&facts, &python);
    }
    assert_int_equal(pclose(answers), 0);
}

/* Every call at the default ratio; at the others both sides of the limit, for every K and E_local.
 */
static void products_as_python_compares_them(void **state)
{
    (void)state;
    hold_against_python(check_both_sides, check_every_call);
}

/* 21 million calls: in the slow suite. */
static void every_product_as_python_compares_it(void **state)
{
    (void)state;
    hold_against_python(check_every_call, check_every_call);
}

/* int <= float is exact in Python, whatever the sizes. */
static void huge_and_odd_ratios(void **state)
{
    (void)state;
    static const struct {
        const char *ratio;
        int64_t tokens, local, largest;
        fp8moe_path path;
    } rows[] = {
        {"nan", 1, 256, 0, FP8MOE_PATH_STOCK},
        {"0", 1, 256, 0, FP8MOE_PATH_STOCK},
        {"-1", 1, 256, 0, FP8MOE_PATH_STOCK},
        {"-0.001", 0, 256, 0, FP8MOE_PATH_STOCK},
        {"0", 0, 256, 0, FP8MOE_PATH_GATHER},
        {"inf", INT64_MAX / 8, 256, FP8MOE_TOKENS_UNLIMITED, FP8MOE_PATH_GATHER},
        {"1e300", INT64_MAX / 8, 256, FP8MOE_TOKENS_UNLIMITED, FP8MOE_PATH_GATHER},
        {"4503599627370496.5", (INT64_C(1) << 53) / 8, 2, (INT64_C(1) << 53) / 8,
         FP8MOE_PATH_GATHER},
        {"4503599627370496.5", (INT64_C(1) << 53) / 8 + 1, 2, (INT64_C(1) << 53) / 8,
         FP8MOE_PATH_STOCK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_gate_facts facts = assumed();
        assert_int_equal(fp8moe_gate_set_variable(version("v0.30"), &facts,
                                                  "VLLM_HPU_MOE_GATHER_RATIO", rows[i].ratio, NULL),
                         FP8MOE_OK);
        assert_int_equal(decide("v0.30", &facts, rows[i].tokens, 8, rows[i].local).path,
                         rows[i].path);
        assert_int_equal(fp8moe_gate_largest_tokens(version("v0.30"), &facts, FP8MOE_PATH_GATHER, 8,
                                                    rows[i].local),
                         rows[i].largest);
    }
}

/* ---- conditions ---- */

typedef struct change {
    const char *no; /* condition that then says no */
    fp8moe_gate_fact fact;
    fp8moe_gate_value value;
} change;

static void each_condition_says_no_alone(void **state)
{
    (void)state;
    static const change changes[] = {
        {"method", FP8MOE_FACT_METHOD, {.text = "compressed-tensors"}},
        {"gather", FP8MOE_FACT_GATHER, {.on = false}},
        {"activation", FP8MOE_FACT_ACTIVATION, {.text = "gelu"}},
        {"activation_scheme", FP8MOE_FACT_ACTIVATION_SCHEME, {.text = "static"}},
        {"block_quant", FP8MOE_FACT_BLOCK_QUANT, {.on = false}},
        {"quant_config", FP8MOE_FACT_QUANT_CONFIG, {.on = true}},
        {"force_channel", FP8MOE_FACT_FORCE_CHANNEL, {.on = false}},
        {"size", FP8MOE_FACT_RATIO, {.number = 0.01}},
    };
    fp8moe_gate_facts facts = assumed();
    assert_int_equal(decide("v0.30", &facts, 1, 8, 256).count, COUNT(changes));
    for (size_t i = 0; i < COUNT(changes); i++) {
        facts = assumed();
        facts.value[changes[i].fact] = changes[i].value;
        facts.value[changes[i].fact].source = FP8MOE_SOURCE_GIVEN;
        const fp8moe_gate_decision d = decide("v0.30", &facts, 1, 8, 256);
        assert_int_equal(d.path, FP8MOE_PATH_STOCK);
        assert_int_equal(d.count, COUNT(changes));
        assert_int_equal(
            fp8moe_gate_largest_tokens(version("v0.30"), &facts, FP8MOE_PATH_GATHER, 8, 256), 0);
        for (size_t c = 0; c < d.count; c++) {
            assert_int_equal(d.condition[c].holds, c != i);
            assert_int_equal(d.condition[c].reason == NULL, c != i);
            assert_int_equal(d.condition[c].value.source,
                             c == i ? FP8MOE_SOURCE_GIVEN : FP8MOE_SOURCE_ASSUMED);
        }
        const fp8moe_gate_condition *no = fp8moe_gate_first_no(&d, FP8MOE_PATH_GATHER);
        assert_non_null(no);
        assert_string_equal(no->name, changes[i].no);
    }
}

static void the_first_no_is_the_first(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    facts.value[FP8MOE_FACT_FORCE_CHANNEL].on = false;
    facts.value[FP8MOE_FACT_ACTIVATION].text = "gelu";
    const fp8moe_gate_decision d = decide("v0.30", &facts, 100, 8, 16);
    assert_string_equal(fp8moe_gate_first_no(&d, FP8MOE_PATH_GATHER)->name, "activation");
    assert_null(fp8moe_gate_first_no(&d, FP8MOE_PATH_DENSE));
}

static void the_size_is_shown(void **state)
{
    (void)state;
    const fp8moe_gate_facts facts = assumed();
    const fp8moe_gate_decision d = decide("v0.30", &facts, 13, 8, 256);
    const fp8moe_gate_condition *no = fp8moe_gate_first_no(&d, FP8MOE_PATH_GATHER);
    assert_true(no->is_size && no->left == 104 && no->right == 256 * 0.4);
}

/* ---- versions ---- */

/* The first revisions ask nothing of E_local, scales or the activations' scheme. */
static void initial_compares_with_a_count(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    facts.value[FP8MOE_FACT_BLOCK_QUANT].on = false;
    facts.value[FP8MOE_FACT_ACTIVATION_SCHEME].text = "static";
    facts.value[FP8MOE_FACT_FORCE_CHANNEL].on = false;
    assert_int_equal(decide("initial", &facts, 8, 8, 1).path, FP8MOE_PATH_GATHER);
    assert_int_equal(decide("initial-vllm", &facts, 8, 8, 1).path, FP8MOE_PATH_GATHER);
    assert_int_equal(decide("initial", &facts, 9, 8, 256).path, FP8MOE_PATH_STOCK);
    assert_int_equal(
        fp8moe_gate_largest_tokens(version("initial"), &facts, FP8MOE_PATH_GATHER, 8, 1), 8);
    facts.value[FP8MOE_FACT_MAX_TP].count = -1;
    assert_int_equal(decide("initial", &facts, 0, 8, 256).path, FP8MOE_PATH_STOCK);
}

static void a_release_without_the_combine(void **state)
{
    (void)state;
    const fp8moe_gate_facts facts = assumed();
    const fp8moe_gate_decision d = decide("v0.26", &facts, 1, 8, 256);
    assert_int_equal(d.path, FP8MOE_PATH_STOCK);
    assert_int_equal(d.count, 0);
    assert_int_equal(
        fp8moe_gate_largest_tokens(version("v0.26"), &facts, FP8MOE_PATH_GATHER, 8, 256), 0);
    assert_int_equal(
        fp8moe_gate_largest_tokens(version("v0.26"), &facts, FP8MOE_PATH_STOCK, 8, 256),
        FP8MOE_TOKENS_UNLIMITED);
    assert_null(fp8moe_gate_variable_at(version("v0.26"), 0));
    assert_false(fp8moe_gate_version_assumed(version("v0.26")));
    assert_true(fp8moe_gate_version_assumed(version("v0.26-backport")));
    assert_int_equal(decide("v0.26-backport", &facts, 12, 8, 256).path, FP8MOE_PATH_GATHER);
    assert_int_equal(decide("v0.26-backport", &facts, 13, 8, 256).path, FP8MOE_PATH_STOCK);
}

static void the_fork_asks_for_dense_after_gather(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    assert_int_equal(decide("dense-fork", &facts, 20, 8, 256).path, FP8MOE_PATH_STOCK);
    facts.value[FP8MOE_FACT_GATHER].on = false;
    assert_int_equal(decide("dense-fork", &facts, 0, 8, 256).path, FP8MOE_PATH_STOCK);
    facts.value[FP8MOE_FACT_GATHER].on = true;
    facts.value[FP8MOE_FACT_DENSE_MAX_TOKENS].count = 32;
    assert_int_equal(decide("dense-fork", &facts, 12, 8, 256).path, FP8MOE_PATH_GATHER);
    assert_int_equal(decide("dense-fork", &facts, 13, 8, 256).path, FP8MOE_PATH_DENSE);
    assert_int_equal(decide("dense-fork", &facts, 32, 8, 256).path, FP8MOE_PATH_DENSE);
    assert_int_equal(decide("dense-fork", &facts, 33, 8, 256).path, FP8MOE_PATH_STOCK);
    assert_int_equal(
        fp8moe_gate_largest_tokens(version("dense-fork"), &facts, FP8MOE_PATH_DENSE, 8, 256), 32);
    static const change changes[] = {
        {"gated", FP8MOE_FACT_GATED, {.on = false}},
        {"dispatch", FP8MOE_FACT_DISPATCH, {.on = true}},
    };
    for (size_t i = 0; i < COUNT(changes); i++) {
        fp8moe_gate_facts changed = facts;
        changed.value[changes[i].fact] = changes[i].value;
        const fp8moe_gate_decision d = decide("dense-fork", &changed, 20, 8, 256);
        assert_int_equal(d.path, FP8MOE_PATH_STOCK);
        assert_string_equal(fp8moe_gate_first_no(&d, FP8MOE_PATH_DENSE)->name, changes[i].no);
        assert_int_equal(decide("dense-fork", &changed, 1, 8, 256).path, FP8MOE_PATH_GATHER);
    }
}

static void versions_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"initial",        "initial-vllm", "v0.26",
                                        "v0.26-backport", "v0.30",        "dense-fork"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(fp8moe_gate_version_name(fp8moe_gate_version_at(i)), names[i]);
        assert_ptr_equal(fp8moe_gate_version_find(names[i]), fp8moe_gate_version_at(i));
        assert_true(strlen(fp8moe_gate_version_summary(fp8moe_gate_version_at(i))) > 0);
    }
    assert_null(fp8moe_gate_version_at(COUNT(names)));
    assert_null(fp8moe_gate_version_find("v0.3"));
    assert_string_equal(fp8moe_gate_version_name(fp8moe_gate_version_default()), "v0.30");
}

/* ---- environment ---- */

typedef struct setting {
    const char *version, *name, *value;
    fp8moe_path path; /* of 4 tokens, K 8, E_local 128, nothing else set */
} setting;

static void variables_as_upstream_reads_them(void **state)
{
    (void)state;
    static const setting settings[] = {
        {"v0.30", "VLLM_HPU_MOE_GATHER", "1", FP8MOE_PATH_GATHER},
        {"v0.30", "VLLM_HPU_MOE_GATHER", "TRUE", FP8MOE_PATH_GATHER},
        {"v0.30", "VLLM_HPU_MOE_GATHER", "yes", FP8MOE_PATH_STOCK},
        {"v0.30", "VLLM_HPU_MOE_GATHER", "on", FP8MOE_PATH_STOCK},
        {"v0.30", "VLLM_HPU_MOE_GATHER", " 1", FP8MOE_PATH_STOCK},
        {"v0.30", "VLLM_HPU_MOE_GATHER", "0", FP8MOE_PATH_STOCK},
        {"v0.30", "VLLM_HPU_MOE_GATHER", "", FP8MOE_PATH_STOCK},
        {"initial", "HPU_MOE_GATHER", "0", FP8MOE_PATH_GATHER},
        {"initial", "HPU_MOE_GATHER", "false", FP8MOE_PATH_GATHER},
        {"initial", "HPU_MOE_GATHER", "", FP8MOE_PATH_STOCK},
        {"initial-vllm", "VLLM_HPU_MOE_GATHER", "0", FP8MOE_PATH_STOCK},
        {"initial-vllm", "VLLM_HPU_MOE_GATHER", "true", FP8MOE_PATH_GATHER},
    };
    for (size_t i = 0; i < COUNT(settings); i++) {
        const setting *s = &settings[i];
        fp8moe_gate_facts facts = assumed();
        fp8moe_gate_unset_variables(version(s->version), &facts);
        assert_int_equal(decide(s->version, &facts, 4, 8, 128).path, FP8MOE_PATH_STOCK);
        assert_int_equal(
            fp8moe_gate_set_variable(version(s->version), &facts, s->name, s->value, NULL),
            FP8MOE_OK);
        if (decide(s->version, &facts, 4, 8, 128).path != s->path)
            fail_msg("%s: %s='%s'", s->version, s->name, s->value);
    }
}

static void quant_config_turns_force_channel_off_even_when_empty(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    assert_int_equal(fp8moe_gate_set_variable(version("v0.30"), &facts, "QUANT_CONFIG", "", NULL),
                     FP8MOE_OK);
    assert_int_equal(
        fp8moe_gate_set_variable(version("v0.30"), &facts, "VLLM_HPU_FORCE_CHANNEL_FP8", "1", NULL),
        FP8MOE_OK);
    const fp8moe_gate_decision d = decide("v0.30", &facts, 1, 8, 256);
    assert_string_equal(fp8moe_gate_first_no(&d, FP8MOE_PATH_GATHER)->name, "quant_config");
}

static void unset_variables_have_upstreams_defaults(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    facts.value[FP8MOE_FACT_RATIO].number = 7;
    fp8moe_gate_unset_variables(version("v0.30"), &facts);
    assert_false(facts.value[FP8MOE_FACT_GATHER].on);
    assert_false(facts.value[FP8MOE_FACT_VERIFY].on);
    assert_true(facts.value[FP8MOE_FACT_FORCE_CHANNEL].on);
    assert_false(facts.value[FP8MOE_FACT_QUANT_CONFIG].on);
    assert_true(facts.value[FP8MOE_FACT_RATIO].number == 0.4);
    assert_int_equal(facts.value[FP8MOE_FACT_RATIO].source, FP8MOE_SOURCE_DEFAULT);
    assert_string_equal(facts.value[FP8MOE_FACT_RATIO].origin, "VLLM_HPU_MOE_GATHER_RATIO");
    assert_int_equal(facts.value[FP8MOE_FACT_ACTIVATION].source, FP8MOE_SOURCE_ASSUMED);
    assert_string_equal(facts.value[FP8MOE_FACT_ACTIVATION].text, "silu");
    fp8moe_gate_unset_variables(version("initial"), &facts);
    assert_int_equal(facts.value[FP8MOE_FACT_MAX_TP].count, 64);
}

static void bad_variables(void **state)
{
    (void)state;
    fp8moe_gate_facts facts = assumed();
    fp8moe_error err;
    assert_int_equal(fp8moe_gate_set_variable(version("v0.30"), &facts, "VLLM_HPU_MOE_GATHER_RATIO",
                                              "40%", &err),
                     FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "VLLM_HPU_MOE_GATHER_RATIO"));
    assert_non_null(strstr(err.message, "could not convert string to float: '40%'"));
    assert_int_equal(
        fp8moe_gate_set_variable(version("initial"), &facts, "HPU_MOE_GATHER_MAX_TP", "6.4", &err),
        FP8MOE_ERR_VALUE);
    assert_non_null(strstr(err.message, "invalid literal for int()"));
    assert_int_equal(
        fp8moe_gate_set_variable(version("v0.30"), &facts, "HPU_MOE_GATHER", "1", &err),
        FP8MOE_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "v0.30 reads no variable HPU_MOE_GATHER"));
    assert_true(facts.value[FP8MOE_FACT_RATIO].number == 0.4);
}

static void every_variable_can_be_set(void **state)
{
    (void)state;
    for (size_t v = 0; fp8moe_gate_version_at(v); v++) {
        const fp8moe_gate_version *row = fp8moe_gate_version_at(v);
        size_t i = 0;
        for (; fp8moe_gate_variable_at(row, i); i++) {
            fp8moe_gate_facts facts = assumed();
            assert_int_equal(
                fp8moe_gate_set_variable(row, &facts, fp8moe_gate_variable_at(row, i), "1", NULL),
                FP8MOE_OK);
        }
        assert_null(fp8moe_gate_variable_at(row, i + 1));
    }
}

static void bad_sizes(void **state)
{
    (void)state;
    static const int64_t bad[][3] = {{-1, 8, 128}, {1, 0, 128}, {1, 8, 0}, {INT64_MAX, 2, 8}};
    const fp8moe_gate_facts facts = assumed();
    fp8moe_gate_decision decision;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(fp8moe_gate_decide(version("v0.30"), &facts, bad[i][0], bad[i][1],
                                            bad[i][2], &decision, NULL),
                         FP8MOE_ERR_VALUE);
}

/* ---- names ---- */

static void names(void **state)
{
    (void)state;
    for (int path = 0; path < FP8MOE_PATH_COUNT; path++)
        assert_int_equal(fp8moe_path_find(fp8moe_path_name((fp8moe_path)path)), path);
    assert_int_equal(fp8moe_path_find("Gather"), FP8MOE_PATH_COUNT);
    for (int fact = 0; fact < FP8MOE_FACT_COUNT; fact++)
        assert_non_null(fp8moe_gate_fact_name((fp8moe_gate_fact)fact));
    assert_int_equal(fp8moe_gate_fact_kind(FP8MOE_FACT_GATHER), FP8MOE_FACT_IS_ON);
    assert_int_equal(fp8moe_gate_fact_kind(FP8MOE_FACT_RATIO), FP8MOE_FACT_IS_NUMBER);
    assert_int_equal(fp8moe_gate_fact_kind(FP8MOE_FACT_MAX_TP), FP8MOE_FACT_IS_COUNT);
    assert_int_equal(fp8moe_gate_fact_kind(FP8MOE_FACT_METHOD), FP8MOE_FACT_IS_TEXT);
    assert_string_equal(fp8moe_gate_source_name(FP8MOE_SOURCE_ASSUMED), "assumed");
    assert_string_equal(fp8moe_gate_source_name(FP8MOE_SOURCE_GIVEN), "given");
    size_t rows = 0;
    while (fp8moe_gate_exclusion_at(rows))
        rows++;
    assert_int_equal(rows, 8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest every_call[] = {cmocka_unit_test(every_product_as_python_compares_it)};
    if (argc == 2 && !strcmp(argv[1], "--every-call"))
        return cmocka_run_group_tests(every_call, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_at_the_default_ratio),
        cmocka_unit_test(gathered_is_at_most_every_expert),
        cmocka_unit_test(products_as_python_compares_them),
        cmocka_unit_test(huge_and_odd_ratios),
        cmocka_unit_test(each_condition_says_no_alone),
        cmocka_unit_test(the_first_no_is_the_first),
        cmocka_unit_test(the_size_is_shown),
        cmocka_unit_test(initial_compares_with_a_count),
        cmocka_unit_test(a_release_without_the_combine),
        cmocka_unit_test(the_fork_asks_for_dense_after_gather),
        cmocka_unit_test(versions_by_name),
        cmocka_unit_test(variables_as_upstream_reads_them),
        cmocka_unit_test(quant_config_turns_force_channel_off_even_when_empty),
        cmocka_unit_test(unset_variables_have_upstreams_defaults),
        cmocka_unit_test(bad_variables),
        cmocka_unit_test(every_variable_can_be_set),
        cmocka_unit_test(bad_sizes),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* config.json alone in a folder, and what the gate makes of real models' configurations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <fp8moe/config_file.h>

static char folder[] = "fp8moe-config-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/config.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static fp8moe_status open_text(const char *text, fp8moe_config_file **out, fp8moe_error *err)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    const fp8moe_status status = fp8moe_config_file_open(folder, out, err);
    assert_int_equal(remove(path), 0);
    return status;
}

#define BLOCK_FP8                                                                                  \
    "\"hidden_act\":\"silu\",\"quantization_config\":{\"quant_method\":\"fp8\","                   \
    "\"activation_scheme\":\"dynamic\",\"weight_block_size\":[128,128]}"

typedef struct row {
    const char *config;
    const char *no; /* the first condition that says no, or NULL */
} row;

static void models_that_gather_and_that_never_do(void **state)
{
    (void)state;
    static const row rows[] = {
        {"{\"model_type\":\"qwen3_moe\"," BLOCK_FP8 "}", NULL},
        {"{\"text_config\":{\"model_type\":\"qwen3_5_moe\"," BLOCK_FP8 "}}", NULL},
        {"{\"hidden_act\":\"silu\"}", "method"},
        {"{\"quantization_config\":{\"quant_method\":\"mxfp4\"}}", "method"},
        {"{\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"config_groups\":{"
         "\"group_0\":{\"weights\":{\"num_bits\":8,\"type\":\"float\"}}}}}",
         "method"},
        {"{\"hidden_act\":\"gelu\",\"quantization_config\":{\"quant_method\":\"fp8\","
         "\"weight_block_size\":[128,128]}}",
         "activation"},
        {"{\"swiglu_limit\":10," BLOCK_FP8 "}", "activation"},
        {"{\"quantization_config\":{\"quant_method\":\"fp8\",\"activation_scheme\":\"static\"}}",
         "activation_scheme"},
        {"{\"quantization_config\":{\"quant_method\":\"fp8\",\"activation_scheme\":\"dynamic\"}}",
         "block_quant"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fp8moe_config_file *file;
        fp8moe_gate_facts facts;
        fp8moe_gate_decision decision;
        fp8moe_error err;
        if (open_text(rows[i].config, &file, &err)) fail_msg("%s", err.message);
        fp8moe_gate_facts_default(&facts);
        fp8moe_gate_set_model(&facts, fp8moe_config_file_get(file));
        assert_int_equal(
            fp8moe_gate_decide(fp8moe_gate_version_default(), &facts, 1, 8, 256, &decision, NULL),
            FP8MOE_OK);
        const fp8moe_gate_condition *no = fp8moe_gate_first_no(&decision, FP8MOE_PATH_GATHER);
        if (!rows[i].no != !no || (no && strcmp(no->name, rows[i].no) != 0))
            fail_msg("%s: %s", rows[i].config, no ? no->name : "gathers");
        if (no) assert_int_equal(no->value.source, FP8MOE_SOURCE_GIVEN);
        fp8moe_config_file_close(file);
    }
}

/* What config.json does not say stays assumed. */
static void silence_settles_nothing(void **state)
{
    (void)state;
    fp8moe_config_file *file;
    fp8moe_gate_facts facts;
    assert_int_equal(open_text("{\"quantization_config\":{\"quant_method\":\"fp8\"}}", &file, NULL),
                     FP8MOE_OK);
    fp8moe_gate_facts_default(&facts);
    fp8moe_gate_set_model(&facts, fp8moe_config_file_get(file));
    assert_int_equal(facts.value[FP8MOE_FACT_ACTIVATION].source, FP8MOE_SOURCE_ASSUMED);
    assert_int_equal(facts.value[FP8MOE_FACT_ACTIVATION_SCHEME].source, FP8MOE_SOURCE_ASSUMED);
    assert_string_equal(facts.value[FP8MOE_FACT_METHOD].origin, "quant_method");
    fp8moe_config_file_close(file);
}

static void folders_without_one(void **state)
{
    (void)state;
    fp8moe_config_file *file;
    fp8moe_error err;
    assert_int_equal(fp8moe_config_file_open(folder, &file, &err), FP8MOE_ERR_NOT_FOUND);
    assert_null(file);
    assert_string_equal(err.file, folder);
    assert_int_equal(fp8moe_config_file_open("no/such/folder", &file, &err), FP8MOE_ERR_IO);
    assert_int_equal(open_text("{\"hidden_act\":1}", &file, &err), FP8MOE_ERR_FORMAT);
    assert_null(file);
    assert_true(err.offset >= 0);
    fp8moe_config_file_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_gather_and_that_never_do),
        cmocka_unit_test(silence_settles_nothing),
        cmocka_unit_test(folders_without_one),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* config.json: every key, every shape it comes in, and what is refused with the byte it stands at.
 */
#include "folder.h"
#include "model_config.h"
#include "model_folders.h"

static model_folder model;
static arena memory;

static int open_base(void **state)
{
    (void)state;
    return mkdtemp(base) && folder_open(base, &model, NULL) == FP8MOE_OK ? 0 : -1;
}

static int close_base(void **state)
{
    char command[64];
    (void)state;
    folder_close(&model);
    arena_free(&memory);
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* Read a text as config.json. */
static fp8moe_status read_config(const char *text, fp8moe_model_config *out, fp8moe_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/config.json", base);
    assert_int_equal(fp8moe_file_write(path, text, strlen(text), NULL), FP8MOE_OK);
    return model_config_read(&model, &memory, out, err);
}

static fp8moe_model_config config_of(const char *text)
{
    fp8moe_model_config config;
    fp8moe_error err;
    if (read_config(text, &config, &err) != FP8MOE_OK) fail_msg("%s: %s", text, err.message);
    assert_true(config.found);
    return config;
}

static void test_absent(void **state)
{
    fp8moe_model_config config;
    (void)state;
    assert_int_equal(model_config_read(&model, &memory, &config, NULL), FP8MOE_OK);
    assert_false(config.found);
    assert_int_equal(config.norm_topk_prob, -1);
    assert_null(config.quant_method);
    assert_int_equal(model_config_check(&config, NULL), FP8MOE_OK);
}

static void expect_text(const char *got, const char *want)
{
    if (!want)
        assert_null(got);
    else
        assert_string_equal(got, want);
}

/* Keys as they stand in the folders of published models. */
static void test_published_shapes(void **state)
{
    static const struct {
        const char *text;
        fp8moe_model_config want;
    } rows[] = {
        {"{\"model_type\": \"qwen3_moe\", \"hidden_act\": \"silu\", \"hidden_size\": 2048, "
         "\"intermediate_size\": 6144, "
         "\"moe_intermediate_size\": 768, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
         "\"num_hidden_layers\": 48, "
         "\"norm_topk_prob\": true, \"quantization_config\": {\"activation_scheme\": \"dynamic\", "
         "\"fmt\": \"e4m3\", "
         "\"modules_to_not_convert\": [\"lm_head\", \"model.layers.0.mlp.gate\"], "
         "\"quant_method\": \"fp8\", "
         "\"weight_block_size\": [128, 128]}}",
         {.model_type = "qwen3_moe",
          .hidden_act = "silu",
          .hidden_size = 2048,
          .intermediate_size = 768,
          .num_experts = 128,
          .num_layers = 48,
          .top_k = 8,
          .norm_topk_prob = 1,
          .quant_method = "fp8",
          .quant_format = "e4m3",
          .activation_scheme = "dynamic",
          .block_rows = 128,
          .block_cols = 128,
          .unconverted_count = 2}},
        {"{\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168, \"intermediate_size\": 18432, "
         "\"moe_intermediate_size\": 2048, "
         "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 8, "
         "\"n_group\": 8, \"topk_group\": 4, "
         "\"norm_topk_prob\": true, \"routed_scaling_factor\": 2.5, \"scoring_func\": \"sigmoid\", "
         "\"swiglu_limit\": null}",
         {.model_type = "deepseek_v3",
          .hidden_size = 7168,
          .intermediate_size = 2048,
          .num_experts = 256,
          .shared_experts = 1,
          .top_k = 8,
          .n_group = 8,
          .topk_group = 4,
          .norm_topk_prob = 1,
          .routed_scaling_factor = 2.5,
          .scoring_func = "sigmoid"}},
        {"{\"model_type\": \"minimax_m2\", \"hidden_size\": 3072, \"intermediate_size\": 1536, "
         "\"num_local_experts\": 256, "
         "\"num_experts_per_tok\": 8, \"scoring_func\": \"sigmoid\", \"quantization_config\": "
         "{\"quant_method\": \"fp8\", "
         "\"weight_block_size\": [64, 32], \"activation_scheme\": \"static\", \"ignored_layers\": "
         "[]}}",
         {.model_type = "minimax_m2",
          .hidden_size = 3072,
          .intermediate_size = 1536,
          .num_experts = 256,
          .top_k = 8,
          .norm_topk_prob = -1,
          .scoring_func = "sigmoid",
          .quant_method = "fp8",
          .activation_scheme = "static",
          .block_rows = 64,
          .block_cols = 32}},
        {"{\"model_type\": \"qwen3_5_moe\", \"hidden_size\": 1, \"quantization_config\": "
         "{\"quant_method\": \"fp8\"}, "
         "\"text_config\": {\"model_type\": \"qwen3_5_moe_text\", \"hidden_size\": 2048, "
         "\"num_experts\": 256, "
         "\"norm_topk_prob\": false, \"num_experts_per_tok\": null}, \"num_experts_per_tok\": 8}",
         {.model_type = "qwen3_5_moe_text",
          .hidden_size = 2048,
          .num_experts = 256,
          .top_k = 8,
          .norm_topk_prob = 0,
          .quant_method = "fp8"}},
        {"{\"model_type\": \"glm4_moe\", \"routed_scaling_factor\": 1, \"moe_intermediate_size\": "
         "[1, 2], \"quantization_config\": "
         "{\"quant_method\": \"compressed-tensors\", \"ignore\": [\"lm_head\"], \"config_groups\": "
         "{\"group_0\": {\"weights\": "
         "{\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\"}, "
         "\"input_activations\": {\"dynamic\": true}}}}}",
         {.model_type = "glm4_moe",
          .routed_scaling_factor = 1,
          .norm_topk_prob = -1,
          .scoring_func = "sigmoid",
          .quant_method = "compressed-tensors",
          .quant_format = "e4m3",
          .activation_scheme = "dynamic",
          .unconverted_count = 1}},
        {"{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": {\"weights\": "
         "{\"num_bits\": 8, \"type\": \"float\", \"block_structure\": [128, 64]}, "
         "\"input_activations\": {\"dynamic\": false}}}}}",
         {.norm_topk_prob = -1,
          .quant_method = "compressed-tensors",
          .quant_format = "e4m3",
          .activation_scheme = "static",
          .block_rows = 128,
          .block_cols = 64}},
        {"{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": {\"weights\": "
         "{\"num_bits\": 4, \"type\": \"int\"}, \"input_activations\": null}}}}",
         {.norm_topk_prob = -1,
          .quant_method = "compressed-tensors",
          .quant_format = "other than 8-bit float",
          .activation_scheme = "none"}},
        {"{\"swiglu_limit\": 7.5, \"hidden_activation\": \"silu\"}",
         {.norm_topk_prob = -1, .swiglu_limit = 7.5, .hidden_act = "silu"}},
        {"{\"hidden_activation\": \"gelu\", \"hidden_act\": \"silu\", \"model_type\": "
         "\"glm4_moe\", \"scoring_func\": \"softmax\"}",
         {.norm_topk_prob = -1,
          .model_type = "glm4_moe",
          .scoring_func = "softmax",
          .hidden_act = "silu"}},
        {"{\"language_config\": {\"num_experts\": 64}}", {.norm_topk_prob = -1, .num_experts = 64}},
        {"{\"llm_config\": {\"num_experts\": 32}, \"text_config\": 1}",
         {.norm_topk_prob = -1, .num_experts = 32}},
        {"{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": {\"weights\": "
         "{\"num_bits\": 8, \"type\": \"int\"}}}}}",
         {.norm_topk_prob = -1,
          .quant_method = "compressed-tensors",
          .quant_format = "other than 8-bit float",
          .activation_scheme = "none"}},
        {"{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": "
         "{\"group_0\": {\"weights\": "
         "{\"num_bits\": 4, \"type\": \"float\"}}}}}",
         {.norm_topk_prob = -1,
          .quant_method = "compressed-tensors",
          .quant_format = "other than 8-bit float",
          .activation_scheme = "none"}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const fp8moe_model_config got = config_of(rows[i].text), *const want = &rows[i].want;
        expect_text(got.model_type, want->model_type);
        expect_text(got.hidden_act, want->hidden_act);
        expect_text(got.scoring_func, want->scoring_func);
        expect_text(got.quant_method, want->quant_method);
        expect_text(got.quant_format, want->quant_format);
        expect_text(got.activation_scheme, want->activation_scheme);
        assert_true(got.swiglu_limit == want->swiglu_limit);
        assert_true(got.routed_scaling_factor == want->routed_scaling_factor);
        assert_int_equal(got.hidden_size, want->hidden_size);
        assert_int_equal(got.intermediate_size, want->intermediate_size);
        assert_int_equal(got.num_experts, want->num_experts);
        assert_int_equal(got.num_layers, want->num_layers);
        assert_int_equal(got.top_k, want->top_k);
        assert_int_equal(got.n_group, want->n_group);
        assert_int_equal(got.topk_group, want->topk_group);
        assert_int_equal(got.shared_experts, want->shared_experts);
        assert_int_equal(got.norm_topk_prob, want->norm_topk_prob);
        assert_int_equal(got.block_rows, want->block_rows);
        assert_int_equal(got.block_cols, want->block_cols);
        assert_int_equal(got.unconverted_count, want->unconverted_count);
    }
}

static void test_unconverted(void **state)
{
    (void)state;
    const fp8moe_model_config config =
        config_of("{\"quantization_config\": {\"quant_method\": \"fp8\", "
                  "\"modules_to_not_convert\": [\"lm_head\", \"a.b\", \"\"]}}");
    assert_true(model_config_is_unconverted(&config, "lm_head.weight"));
    assert_true(model_config_is_unconverted(&config, "a.b.weight"));
    assert_true(model_config_is_unconverted(&config, "a.b"));
    assert_false(model_config_is_unconverted(&config, "a.bc.weight"));
    assert_false(model_config_is_unconverted(&config, "x.a.b.weight"));
    assert_false(model_config_is_unconverted(&config, "a"));
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
        int64_t offset;
    } rows[] = {
        {"3", "a value must be an object, is a whole number", 0},
        {"{\"hidden_size\": \"big\"}",
         "hidden_size must be a whole number of at least 0, is a string", 16},
        {"{\"hidden_size\": -1}", "hidden_size must be a whole number of at least 0", 16},
        {"{\"hidden_size\": 2.5}", "hidden_size must be a whole number of at least 0, is a number",
         16},
        {"{\"norm_topk_prob\": 1}", "norm_topk_prob must be a truth value, is a whole number", 19},
        {"{\"routed_scaling_factor\": \"x\"}",
         "routed_scaling_factor must be a number, is a string", 26},
        {"{\"scoring_func\": 1}", "scoring_func must be a string", 17},
        {"{\"model_type\": \"a\\u0007\"}", "a string holds a control character", 15},
        {"{\"quantization_config\": []}", "quantization_config must be an object, is an array", 24},
        {"{\"quantization_config\": {}}", "quantization_config has no quant_method", 24},
        {"{\"quantization_config\": {\"quant_method\": 1}}", "quant_method must be a string", 41},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"ignore\": 1}}",
         "ignore must be an array of names", 58},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"ignore\": [1]}}",
         "must be a string", 59},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [128]}}",
         "weight_block_size must be two whole numbers of at least 1", 69},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [0, 128]}}",
         "two whole numbers", 69},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [128, 0]}}",
         "two whole numbers", 69},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [1, 2, 3]}}",
         "two whole numbers", 69},
        {"{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": 128}}",
         "two whole numbers", 69},
        {"{\"a\": 1, \"a\": 2}", "the key \"a\" appears twice", 9},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        fp8moe_model_config config;
        fp8moe_error err;
        assert_int_equal(read_config(rows[i].text, &config, &err), FP8MOE_ERR_FORMAT);
        if (!strstr(err.message, rows[i].sentence) || err.offset != rows[i].offset)
            fail_msg("%s\n  got %s (byte %d)", rows[i].text, err.message, (int)err.offset);
        assert_non_null(strstr(err.file, "/config.json"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_published_shapes),
        cmocka_unit_test(test_unconverted),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, open_base, close_base);
}

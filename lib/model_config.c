#include "model_config.h"

#include "file.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* Where a value is looked for: the language model's own object first, then the outermost one. */
typedef struct scope {
    const json_value *inner, *outer;
    arena *memory;
    fp8moe_error *err;
} scope;

static const char file_name[] = "config.json";

static bool is_given(const json_value *value)
{
    return value && value->type != JSON_NULL;
}

static const json_value *find(const scope *s, const char *key)
{
    const json_value *const inner = json_get(s->inner, key);
    return is_given(inner) ? inner : json_get(s->outer, key);
}

static fp8moe_status wrong_type(const json_value *value, const char *wanted, fp8moe_error *err)
{
    return fail_at(err, FP8MOE_ERR_FORMAT, NULL, value->offset, "%.100s must be %s, is %s",
                   value->key ? value->key : "a value", wanted, json_type_text(value));
}

static fp8moe_status copy_text(const scope *s, const json_value *value, const char **out)
{
    if (value->type != JSON_STRING) return wrong_type(value, "a string", s->err);
    for (const char *c = value->string; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return fail_at(s->err, FP8MOE_ERR_FORMAT, NULL, value->offset,
                           "a string holds a control character");
    *out = arena_text(s->memory, value->string, strlen(value->string));
    return *out ? FP8MOE_OK : fail(s->err, FP8MOE_ERR_NOMEM, "out of memory for the configuration");
}

/* ---- one key, one field ---- */

typedef enum field_kind { FIELD_COUNT, FIELD_NUMBER, FIELD_TEXT, FIELD_SWITCH } field_kind;

#define FIELD(name) offsetof(fp8moe_model_config, name)

/* Of keys for the same field the first that is given counts. */
static const struct {
    const char *key;
    field_kind kind;
    size_t field;
} keys[] = {
    {"model_type", FIELD_TEXT, FIELD(model_type)},
    {"hidden_act", FIELD_TEXT, FIELD(hidden_act)},
    {"hidden_activation", FIELD_TEXT, FIELD(hidden_act)},
    {"swiglu_limit", FIELD_NUMBER, FIELD(swiglu_limit)},
    {"hidden_size", FIELD_COUNT, FIELD(hidden_size)},
    {"moe_intermediate_size", FIELD_COUNT, FIELD(intermediate_size)},
    {"intermediate_size", FIELD_COUNT, FIELD(intermediate_size)},
    {"num_experts", FIELD_COUNT, FIELD(num_experts)},
    {"n_routed_experts", FIELD_COUNT, FIELD(num_experts)},
    {"num_local_experts", FIELD_COUNT, FIELD(num_experts)},
    {"num_hidden_layers", FIELD_COUNT, FIELD(num_layers)},
    {"num_experts_per_tok", FIELD_COUNT, FIELD(top_k)},
    {"n_group", FIELD_COUNT, FIELD(n_group)},
    {"topk_group", FIELD_COUNT, FIELD(topk_group)},
    {"n_shared_experts", FIELD_COUNT, FIELD(shared_experts)},
    {"norm_topk_prob", FIELD_SWITCH, FIELD(norm_topk_prob)},
    {"routed_scaling_factor", FIELD_NUMBER, FIELD(routed_scaling_factor)},
    {"scoring_func", FIELD_TEXT, FIELD(scoring_func)},
};

/* One number a layer, as some models have it, is none of the model. */
static fp8moe_status set_count(const scope *s, const json_value *value, int64_t *out)
{
    if (value->type == JSON_ARRAY) return FP8MOE_OK;
    if (value->type != JSON_I64 || value->i64 < 0)
        return wrong_type(value, "a whole number of at least 0", s->err);
    if (!*out) *out = value->i64;
    return FP8MOE_OK;
}

static fp8moe_status set_number(const scope *s, const json_value *value, double *out)
{
    if (value->type != JSON_I64 && value->type != JSON_F64)
        return wrong_type(value, "a number", s->err);
    *out = value->type == JSON_I64 ? (double)value->i64 : value->f64;
    return FP8MOE_OK;
}

static fp8moe_status set_switch(const scope *s, const json_value *value, int *out)
{
    if (value->type != JSON_BOOL) return wrong_type(value, "a truth value", s->err);
    *out = value->boolean;
    return FP8MOE_OK;
}

static fp8moe_status set_text(const scope *s, const json_value *value, const char **out)
{
    return *out ? FP8MOE_OK : copy_text(s, value, out);
}

static fp8moe_status read_keys(const scope *s, fp8moe_model_config *out)
{
    for (size_t row = 0; row < sizeof keys / sizeof *keys; row++) {
        const json_value *const value = find(s, keys[row].key);
        void *const field = (char *)out + keys[row].field;
        if (!is_given(value)) continue;
        switch (keys[row].kind) {
        case FIELD_COUNT:
            TRY(set_count(s, value, field));
            break;
        case FIELD_NUMBER:
            TRY(set_number(s, value, field));
            break;
        case FIELD_TEXT:
            TRY(set_text(s, value, field));
            break;
        case FIELD_SWITCH:
            TRY(set_switch(s, value, field));
            break;
        }
    }
    return FP8MOE_OK;
}

/* Models whose code fixes the scores instead of reading them from config.json. */
static void add_fixed_scoring(fp8moe_model_config *config)
{
    static const struct {
        const char *model_type, *scoring;
    } fixed[] = {{"glm4_moe", "sigmoid"}};
    for (size_t row = 0; row < sizeof fixed / sizeof *fixed; row++)
        if (!config->scoring_func && config->model_type &&
            strcmp(config->model_type, fixed[row].model_type) == 0)
            config->scoring_func = fixed[row].scoring;
}

/* ---- quantization_config ---- */

static fp8moe_status read_block(const scope *s, const json_value *value, fp8moe_model_config *out)
{
    if (!is_given(value)) return FP8MOE_OK;
    const json_value *const rows = value->type == JSON_ARRAY ? value->children.first : NULL;
    const json_value *const columns = rows ? rows->next : NULL;
    if (!columns || columns->next || rows->type != JSON_I64 || columns->type != JSON_I64 ||
        rows->i64 < 1 || columns->i64 < 1)
        return fail_at(s->err, FP8MOE_ERR_FORMAT, NULL, value->offset,
                       "%s must be two whole numbers of at least 1", value->key);
    out->block_rows = rows->i64;
    out->block_cols = columns->i64;
    return FP8MOE_OK;
}

static fp8moe_status read_unconverted(const scope *s, const json_value *list,
                                      fp8moe_model_config *out)
{
    if (list->type != JSON_ARRAY) return wrong_type(list, "an array of names", s->err);
    const char **const names =
        arena_alloc(s->memory, (size_t)(list->children.count + 1) * sizeof *names);
    if (!names) return fail(s->err, FP8MOE_ERR_NOMEM, "out of memory for the configuration");
    out->unconverted = names;
    for (const json_value *item = list->children.first; item; item = item->next)
        TRY(copy_text(s, item, &names[out->unconverted_count++]));
    return FP8MOE_OK;
}

/* compressed-tensors: groups of layers with a scheme each. The first is the experts': they are the
 * bulk of what is quantised. */
static fp8moe_status read_group(const scope *s, const json_value *group, fp8moe_model_config *out)
{
    const json_value *const weights = json_get(group, "weights"), *const bits =
                                                                      json_get(weights, "num_bits");
    const json_value *const type = json_get(weights, "type");
    const json_value *const input = json_get(group, "input_activations"), *const dynamic = json_get(
                                                                              input, "dynamic");
    const bool fp8 = bits && bits->type == JSON_I64 && bits->i64 == 8 && type &&
                     type->type == JSON_STRING && strcmp(type->string, "float") == 0;
    out->quant_format = fp8 ? "e4m3" : "other than 8-bit float";
    out->activation_scheme = !is_given(input)                                            ? "none"
                             : dynamic && dynamic->type == JSON_BOOL && dynamic->boolean ? "dynamic"
                                                                                         : "static";
    return read_block(s, json_get(weights, "block_structure"), out);
}

static fp8moe_status read_quantisation(const scope *s, fp8moe_model_config *out)
{
    static const char *const lists[] = {"modules_to_not_convert", "ignored_layers", "ignore"};
    const json_value *const q = find(s, "quantization_config");
    const json_value *const method = json_get(q, "quant_method"), *const format =
                                                                      json_get(q, "fmt");
    const json_value *const scheme = json_get(q, "activation_scheme"), *const groups = json_get(
                                                                           q, "config_groups");
    if (!is_given(q)) return FP8MOE_OK;
    if (q->type != JSON_OBJECT) return wrong_type(q, "an object", s->err);
    if (!is_given(method))
        return fail_at(s->err, FP8MOE_ERR_FORMAT, NULL, q->offset,
                       "quantization_config has no quant_method");
    TRY(copy_text(s, method, &out->quant_method));
    if (is_given(format)) TRY(copy_text(s, format, &out->quant_format));
    if (is_given(scheme)) TRY(copy_text(s, scheme, &out->activation_scheme));
    if (groups && groups->type == JSON_OBJECT && groups->children.first)
        TRY(read_group(s, groups->children.first, out));
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !out->unconverted; i++)
        if (is_given(json_get(q, lists[i]))) TRY(read_unconverted(s, json_get(q, lists[i]), out));
    return read_block(s, json_get(q, "weight_block_size"), out);
}

/* ---- the file ---- */

static fp8moe_status read_root(const json_value *root, arena *memory, fp8moe_model_config *out,
                               fp8moe_error *err)
{
    static const char *const nested[] = {"text_config", "language_config", "llm_config"};
    scope s = {.outer = root, .memory = memory, .err = err};
    if (root->type != JSON_OBJECT) return wrong_type(root, "an object", err);
    for (size_t i = 0; i < sizeof nested / sizeof *nested && !s.inner; i++) {
        const json_value *const inner = json_get(root, nested[i]);
        if (inner && inner->type == JSON_OBJECT) s.inner = inner;
    }
    TRY(read_keys(&s, out));
    add_fixed_scoring(out);
    return read_quantisation(&s, out);
}

static fp8moe_status read_file(const char *path, arena *memory, fp8moe_model_config *out,
                               fp8moe_error *err)
{
    file_view file = {0};
    json *parsed = NULL;
    TRY(file_open(path, &file, err));
    fp8moe_status status = json_parse(file.data, (size_t)file.size, 0, &parsed, err);
    file_close(&file);
    if (status == FP8MOE_OK) status = read_root(json_root(parsed), memory, out, err);
    json_close(parsed);
    return status;
}

fp8moe_status model_config_read(const model_folder *f, arena *memory, fp8moe_model_config *out,
                                fp8moe_error *err)
{
    char *path = NULL;
    *out = (fp8moe_model_config){.norm_topk_prob = -1};
    if (!folder_has(f, file_name)) return FP8MOE_OK;
    TRY(folder_find(f, file_name, &path, err));
    out->found = true;
    const fp8moe_status status = read_file(path, memory, out, err);
    free(path);
    return folder_error(f, file_name, status, err);
}

/* ---- what can be emulated ---- */

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

fp8moe_status model_config_check(const fp8moe_model_config *config, fp8moe_error *err)
{
    static const char *const activations[] = {"silu", "swish", NULL};
    static const char *const methods[] = {"fp8", "compressed-tensors", NULL};
    static const char *const formats[] = {"e4m3", "e4m3fn", "float8_e4m3fn", NULL};
    const struct {
        const char *what, *value, *const *emulated;
    } rows[] = {{"hidden_act", config->hidden_act, activations},
                {"quant_method", config->quant_method, methods},
                {"the weights' format", config->quant_format, formats}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        if (rows[row].value && !is_one_of(rows[row].value, rows[row].emulated))
            return fail(err, FP8MOE_ERR_UNSUPPORTED,
                        "config.json: %s is \"%.100s\"; emulated are silu experts in bf16 or FP8 "
                        "E4M3 (fp8, "
                        "compressed-tensors)",
                        rows[row].what, rows[row].value);
    if (config->swiglu_limit != 0)
        return fail(err, FP8MOE_ERR_UNSUPPORTED,
                    "config.json: swiglu_limit %g: a clamped SwiGLU is not emulated",
                    config->swiglu_limit);
    return FP8MOE_OK;
}

bool model_config_is_unconverted(const fp8moe_model_config *config, const char *tensor)
{
    for (size_t i = 0; i < config->unconverted_count; i++) {
        const size_t length = strlen(config->unconverted[i]);
        if (strncmp(tensor, config->unconverted[i], length) == 0 &&
            (tensor[length] == '.' || !tensor[length]))
            return true;
    }
    return false;
}

/* Text of what is said of a model folder. */
#include "model_report.h"

#include <string.h>

/* ---- inspect FOLDER ---- */

static void add_number(buffer *words, const char *name, int64_t number)
{
    if (number) buffer_format(words, "%s%s %lld", words->size ? ", " : "", name, (long long)number);
}

static void add_word(buffer *words, const char *name, const char *text)
{
    if (text)
        buffer_format(words, "%s%s%s%s", words->size ? ", " : "", name, *name ? " " : "", text);
}

static void add_config(buffer *out, const fp8moe_model_config *c)
{
    buffer words = {0};
    add_number(&words, "hidden_size", c->hidden_size);
    add_number(&words, "intermediate_size", c->intermediate_size);
    add_number(&words, "layers", c->num_layers);
    add_number(&words, "experts", c->num_experts);
    add_number(&words, "top_k", c->top_k);
    add_number(&words, "n_group", c->n_group);
    add_number(&words, "topk_group", c->topk_group);
    add_number(&words, "shared_experts", c->shared_experts);
    add_word(&words, "scoring_func", c->scoring_func);
    add_word(&words, "norm_topk_prob",
             c->norm_topk_prob < 0 ? NULL
             : c->norm_topk_prob   ? "true"
                                   : "false");
    if (c->routed_scaling_factor != 0)
        buffer_format(&words, "%srouted_scaling_factor %g", words.size ? ", " : "",
                      c->routed_scaling_factor);
    add_word(&words, "hidden_act", c->hidden_act);
    buffer_line(out, 0, "config", "%s",
                !c->found    ? "there is no config.json"
                : words.size ? words.data
                             : "says nothing of experts");
    buffer_free(&words);
}

static void add_quantisation(buffer *out, const fp8moe_model_config *c)
{
    buffer words = {0};
    add_word(&words, "", c->quant_method);
    add_word(&words, "format", c->quant_format);
    if (c->block_rows)
        buffer_format(&words, ", blocks of %lld x %lld", (long long)c->block_rows,
                      (long long)c->block_cols);
    add_word(&words, "activations", c->activation_scheme);
    add_number(&words, "modules not converted", (int64_t)c->unconverted_count);
    buffer_line(out, 0, "quantised", "%s", words.size ? words.data : "no");
    buffer_free(&words);
}

static void add_tensor(buffer *out, const char *label, const fp8moe_tensor *weight,
                       const fp8moe_tensor *scale)
{
    char a[96], b[96];
    if (!fp8moe_tensor_present(weight)) return;
    if (scale && fp8moe_tensor_present(scale))
        buffer_line(out, 2, label, "%s %s, scale %s %s",
                    fp8moe_tensor_shape_text(weight, a, sizeof a), fp8moe_dtype_name(weight->dtype),
                    fp8moe_tensor_shape_text(scale, b, sizeof b), fp8moe_dtype_name(scale->dtype));
    else
        buffer_line(out, 2, label, "%s %s", fp8moe_tensor_shape_text(weight, a, sizeof a),
                    fp8moe_dtype_name(weight->dtype));
}

static void add_ranks(buffer *out, const fp8moe_model_config *config, const fp8moe_moe_form *form)
{
    int64_t ranks[64];
    buffer words = {0};
    const size_t count = model_tensor_ranks(config, form, ranks);
    for (size_t i = 0; i < count; i++)
        buffer_format(&words, "%s%lld", i ? ", " : "", (long long)ranks[i]);
    buffer_line(out, 2, "tp_size", "%s keep scale blocks whole", words.data);
    buffer_free(&words);
}

static void add_form(buffer *out, const fp8moe_model_config *config, const fp8moe_moe_form *form)
{
    char text[64];
    buffer_line(out, 2, "scales", "%s%s%s", model_scale_text(config, form, text),
                form->static_input ? "; static input scales" : "",
                form->unconverted ? "; listed as not converted" : "");
    add_tensor(out, "gate", &form->gate, &form->gate_scale);
    add_tensor(out, "down", &form->down, &form->down_scale);
    add_tensor(out, "router", &form->router, NULL);
    add_tensor(out, "bias", &form->correction_bias, NULL);
    if (model_is_blockwise(form)) add_ranks(out, config, form);
}

/* A run of layers that look alike. */
static void add_layers(buffer *out, const fp8moe_model_config *config, const model_layer *first,
                       const model_layer *last)
{
    const fp8moe_checkpoint_layer *names = first->names;
    if (names->number < 0)
        buffer_add(out, "the only layer");
    else if (first == last)
        buffer_format(out, "layer %lld", (long long)names->number);
    else
        buffer_format(out, "layers %lld to %lld", (long long)names->number,
                      (long long)last->names->number);
    if (*names->prefix) buffer_format(out, ", %s", names->prefix);
    if (first->status == FP8MOE_OK)
        buffer_format(out, ": %lld experts, I = %lld, H = %lld", (long long)first->form.num_experts,
                      (long long)first->form.intermediate, (long long)first->form.hidden);
    buffer_add(out, "\n");
    buffer_line(out, 2, "names", "%s", names->naming ? names->naming : "of no known kind");
    if (first->status == FP8MOE_OK)
        add_form(out, config, &first->form);
    else
        buffer_line(out, 2, "not read", "%s", first->problem);
    if (*names->left_out) buffer_line(out, 2, "left out", "%s", names->left_out);
}

void text_model(const model_report *data, buffer *out)
{
    const fp8moe_model_config *config = fp8moe_checkpoint_config(data->model);
    buffer_format(out, "%s: %s, %zu tensors in %zu shard%s\n", data->folder,
                  config->model_type ? config->model_type : "a model folder",
                  fp8moe_checkpoint_tensor_count(data->model),
                  fp8moe_checkpoint_shard_count(data->model),
                  fp8moe_checkpoint_shard_count(data->model) == 1 ? "" : "s");
    add_config(out, config);
    add_quantisation(out, config);
    for (size_t first = 0, end; first < data->layer_count; first = end) {
        for (end = first + 1;
             end < data->layer_count && model_alike(&data->layers[first], &data->layers[end]);)
            end++;
        add_layers(out, config, &data->layers[first], &data->layers[end - 1]);
    }
    if (!data->layer_count) buffer_add(out, "no layer with experts\n");
}

/* ---- verify --prep ---- */

static void add_axis(buffer *out, const fp8moe_prepared_question *q,
                     const fp8moe_prepared_axis *axis)
{
    buffer words = {0};
    for (size_t i = 0; i < axis->value_count; i++)
        buffer_format(&words, "%s%s %lld", i ? ", " : "", axis->values[i].name,
                      (long long)axis->values[i].explained);
    buffer_line(out, 2, axis->name, "%s of %lld rows%s", words.data, (long long)q->rows,
                axis->told ? "" : ": this dump cannot tell");
    buffer_free(&words);
}

/* What the best way does, as far as the dump tells it. */
static void add_meaning(buffer *out, const fp8moe_prepared_question *q)
{
    buffer words = {0};
    for (size_t i = 0; i < q->axis_count; i++)
        if (q->axes[i].told)
            buffer_format(&words, "%s%s", words.size ? "; " : "",
                          q->axes[i].values[q->ways[0].value[i]].meaning);
    if (words.size) buffer_line(out, 2, "so", "%s", words.data);
    buffer_free(&words);
}

static void add_scales(buffer *out, const fp8moe_prepared_report *f)
{
    buffer_format(out, "scales: %lld rows\n", (long long)f->scale_rows);
    buffer_line(out, 2, "best way",
                "%lld the same, %lld one bf16 step below, %lld one above, %lld further off",
                (long long)f->scales_same, (long long)f->scales_low, (long long)f->scales_high,
                (long long)f->scales_far);
    for (size_t i = 0; i < f->scales.axis_count; i++)
        add_axis(out, &f->scales, &f->scales.axes[i]);
    add_meaning(out, &f->scales);
    for (size_t i = 0; i < f->worst_count; i++)
        buffer_line(out, 2, i ? "" : "worst", "%s expert %lld row %lld: %.9g, expected %.9g",
                    f->worst[i].tensor, (long long)f->worst[i].expert, (long long)f->worst[i].row,
                    f->worst[i].dumped, f->worst[i].expected);
}

static void add_codes(buffer *out, const fp8moe_prepared_report *f)
{
    if (!f->codes_count) {
        buffer_add(out, "codes: the dump holds none\n");
        return;
    }
    buffer_format(out, "codes: %lld, every way tried on %lld rows\n", (long long)f->codes_count,
                  (long long)f->codes.rows);
    buffer_line(out, 2, "best way", "%lld the same, %lld one step off, %lld further off",
                (long long)f->codes_same, (long long)f->codes_near, (long long)f->codes_far);
    for (size_t i = 0; i < f->codes.axis_count; i++)
        add_axis(out, &f->codes, &f->codes.axes[i]);
    add_meaning(out, &f->codes);
}

void text_prep(const prep_report *data, buffer *out)
{
    const char *word = verdict_name(data->verdict);
    buffer_format(out, "%s: ", word);
    buffer_wrap(out, (int)strlen(word) + 2, 0, CLI_WIDTH, data->reason);
    buffer_format(out, "%s against %s\n", data->file, data->folder);
    for (size_t i = 0; i < data->note_count; i++)
        buffer_line(out, 0, "note", "%s", data->notes[i]);
    add_scales(out, &data->found);
    add_codes(out, &data->found);
}

/* JSON of what is said of a model folder. */
#include "model_report.h"
#include "report_json.h"

/* ---- inspect FOLDER ---- */

static void emit_count(emitter *json, const char *key, int64_t number)
{
    if (number) emit_integer(json, key, number);
}

static void emit_word(emitter *json, const char *key, const char *text)
{
    if (text) emit_text(json, key, text);
}

static void emit_config(emitter *json, const fp8moe_model_config *c)
{
    emit_object(json, "config");
    emit_boolean(json, "found", c->found);
    emit_word(json, "model_type", c->model_type);
    emit_word(json, "hidden_act", c->hidden_act);
    emit_count(json, "hidden_size", c->hidden_size);
    emit_count(json, "intermediate_size", c->intermediate_size);
    emit_count(json, "num_layers", c->num_layers);
    emit_count(json, "num_experts", c->num_experts);
    emit_count(json, "top_k", c->top_k);
    emit_count(json, "n_group", c->n_group);
    emit_count(json, "topk_group", c->topk_group);
    emit_count(json, "shared_experts", c->shared_experts);
    emit_word(json, "scoring_func", c->scoring_func);
    if (c->norm_topk_prob >= 0) emit_boolean(json, "norm_topk_prob", c->norm_topk_prob);
    if (c->routed_scaling_factor != 0)
        emit_number(json, "routed_scaling_factor", c->routed_scaling_factor);
    if (c->swiglu_limit != 0) emit_number(json, "swiglu_limit", c->swiglu_limit);
    emit_word(json, "quant_method", c->quant_method);
    emit_word(json, "quant_format", c->quant_format);
    emit_word(json, "activation_scheme", c->activation_scheme);
    emit_count(json, "block_rows", c->block_rows);
    emit_count(json, "block_cols", c->block_cols);
    emit_array(json, "unconverted");
    for (size_t i = 0; i < c->unconverted_count; i++)
        emit_text(json, NULL, c->unconverted[i]);
    emit_end(json);
    emit_end(json);
}

static void emit_tensor(emitter *json, const char *key, const fp8moe_tensor *tensor)
{
    if (!fp8moe_tensor_present(tensor)) return;
    emit_object(json, key);
    emit_text(json, "dtype", fp8moe_dtype_name(tensor->dtype));
    emit_array(json, "shape");
    for (int i = 0; i < tensor->rank; i++)
        emit_integer(json, NULL, tensor->shape[i]);
    emit_end(json);
    emit_end(json);
}

static void emit_form(emitter *json, const fp8moe_model_config *config, const fp8moe_moe_form *form)
{
    char text[64];
    int64_t ranks[64];
    const size_t count = model_tensor_ranks(config, form, ranks);
    emit_integer(json, "num_experts", form->num_experts);
    emit_integer(json, "hidden", form->hidden);
    emit_integer(json, "intermediate", form->intermediate);
    emit_text(json, "scales", model_scale_text(config, form, text));
    emit_boolean(json, "static_input", form->static_input);
    emit_boolean(json, "unconverted", form->unconverted);
    emit_tensor(json, "gate", &form->gate);
    emit_tensor(json, "gate_scale", &form->gate_scale);
    emit_tensor(json, "down", &form->down);
    emit_tensor(json, "down_scale", &form->down_scale);
    emit_tensor(json, "router", &form->router);
    emit_tensor(json, "correction_bias", &form->correction_bias);
    emit_array(json, "tp_sizes");
    for (size_t i = 0; i < count; i++)
        emit_integer(json, NULL, ranks[i]);
    emit_end(json);
}

static void emit_layer(emitter *json, const fp8moe_model_config *config, const model_layer *layer)
{
    emit_object(json, NULL);
    emit_text(json, "prefix", layer->names->prefix);
    emit_integer(json, "number", layer->names->number);
    emit_text(json, "naming", layer->names->naming);
    emit_text(json, "left_out", layer->names->left_out);
    if (layer->status == FP8MOE_OK)
        emit_form(json, config, &layer->form);
    else
        emit_text(json, "problem", layer->problem);
    emit_end(json);
}

void json_model(const model_report *data, buffer *out)
{
    emitter json = {.out = out};
    const fp8moe_model_config *config = fp8moe_checkpoint_config(data->model);
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.model/1");
    emit_text(&json, "folder", data->folder);
    emit_integer(&json, "tensors", (int64_t)fp8moe_checkpoint_tensor_count(data->model));
    emit_integer(&json, "shards", (int64_t)fp8moe_checkpoint_shard_count(data->model));
    emit_config(&json, config);
    emit_array(&json, "layers");
    for (size_t i = 0; i < data->layer_count; i++)
        emit_layer(&json, config, &data->layers[i]);
    emit_end(&json);
    emit_end(&json);
}

/* ---- verify --prep ---- */

static void emit_axis(emitter *json, const fp8moe_prepared_axis *axis)
{
    emit_object(json, NULL);
    emit_text(json, "name", axis->name);
    emit_boolean(json, "told", axis->told);
    emit_array(json, "values");
    for (size_t i = 0; i < axis->value_count; i++) {
        emit_object(json, NULL);
        emit_text(json, "name", axis->values[i].name);
        emit_text(json, "meaning", axis->values[i].meaning);
        emit_integer(json, "explained", axis->values[i].explained);
        emit_end(json);
    }
    emit_end(json);
    emit_end(json);
}

/* Ways from the best on; values by the name of their axis. */
static void emit_question(emitter *json, const fp8moe_prepared_question *q)
{
    emit_integer(json, "rows_asked", q->rows);
    emit_array(json, "axes");
    for (size_t i = 0; i < q->axis_count; i++)
        emit_axis(json, &q->axes[i]);
    emit_end(json);
    emit_array(json, "ways");
    for (size_t way = 0; way < q->way_count; way++) {
        emit_object(json, NULL);
        for (size_t i = 0; i < q->axis_count; i++)
            emit_text(json, q->axes[i].name, q->axes[i].values[q->ways[way].value[i]].name);
        emit_integer(json, "explained", q->ways[way].explained);
        emit_end(json);
    }
    emit_end(json);
}

static void emit_scales(emitter *json, const fp8moe_prepared_report *f)
{
    emit_object(json, "scales");
    emit_integer(json, "rows", f->scale_rows);
    emit_integer(json, "same", f->scales_same);
    emit_integer(json, "one_step_below", f->scales_low);
    emit_integer(json, "one_step_above", f->scales_high);
    emit_integer(json, "further", f->scales_far);
    emit_array(json, "worst");
    for (size_t i = 0; i < f->worst_count; i++) {
        emit_object(json, NULL);
        emit_text(json, "tensor", f->worst[i].tensor);
        emit_integer(json, "expert", f->worst[i].expert);
        emit_integer(json, "row", f->worst[i].row);
        emit_number(json, "dumped", f->worst[i].dumped);
        emit_number(json, "expected", f->worst[i].expected);
        emit_end(json);
    }
    emit_end(json);
    emit_question(json, &f->scales);
    emit_end(json);
}

static void emit_codes(emitter *json, const fp8moe_prepared_report *f)
{
    emit_object(json, "codes");
    emit_integer(json, "count", f->codes_count);
    emit_integer(json, "same", f->codes_same);
    emit_integer(json, "one_step_off", f->codes_near);
    emit_integer(json, "further", f->codes_far);
    emit_question(json, &f->codes);
    emit_end(json);
}

void json_prep(const prep_report *data, buffer *out)
{
    emitter json = {.out = out};
    emit_object(&json, NULL);
    emit_text(&json, "schema", "fp8moe.prepared/1");
    emit_text(&json, "verdict", verdict_name(data->verdict));
    emit_text(&json, "reason", data->reason);
    emit_text(&json, "file", data->file);
    emit_text(&json, "weights", data->folder);
    emit_array(&json, "notes");
    for (size_t i = 0; i < data->note_count; i++)
        emit_text(&json, NULL, data->notes[i]);
    emit_end(&json);
    json_settings(&json, &data->settings);
    emit_scales(&json, &data->found);
    emit_codes(&json, &data->found);
    emit_object(&json, "timing");
    emit_number(&json, "seconds", data->seconds);
    emit_integer(&json, "threads", data->threads);
    emit_end(&json);
    emit_end(&json);
}

#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fp8moe_status subject_check_options(const options *given, fp8moe_error *err)
{
    settings unused;
    const char *name;
    CLI_TRY(settings_check_machine(given, err));
    for (size_t at = 0; (name = options_next(given, OPTION_FROM, &at));)
        if (fp8moe_stage_find(name) == FP8MOE_STAGE_COUNT)
            return cli_fail(err, FP8MOE_ERR_USAGE,
                            "--from %s: no stage is called so (see 'fp8moe help names')", name);
    return settings_find(given, NULL, &unused, err);
}

/* ---- opening ---- */

/* --as NAME=DTYPE */
static fp8moe_status apply_as(fp8moe_dump *dump, const char *text, fp8moe_error *err)
{
    const char *equals = strrchr(text, '=');
    const fp8moe_dtype dtype = equals ? fp8moe_dtype_from_name(equals + 1) : FP8MOE_DTYPE_NONE;
    if (dtype == FP8MOE_DTYPE_NONE)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--as %s: expected NAME=DTYPE, DTYPE being e4m3fn, e5m2, bf16 or f16",
                        text);
    char *name = cli_text("%.*s", (int)(equals - text), text);
    const int64_t index = fp8moe_dump_find(dump, name);
    free(name);
    if (index < 0) {
        cli_fail(err, FP8MOE_ERR_NOT_FOUND, "--as %s: there is no such tensor", text);
        return cli_in_file(err, FP8MOE_ERR_NOT_FOUND, fp8moe_dump_path(dump));
    }
    return cli_in_file(err, fp8moe_dump_set_dtype(dump, (size_t)index, dtype, err),
                       fp8moe_dump_path(dump));
}

/* "4x512": up to FP8MOE_MAX_RANK sizes. False where it is none. */
static bool parse_shape(const char *text, int *rank, int64_t shape[FP8MOE_MAX_RANK])
{
    *rank = 0;
    while (*rank < FP8MOE_MAX_RANK) {
        char *one = cli_text("%.*s", (int)strcspn(text, "x"), text);
        const bool good = cli_parse_integer(one, 0, INT64_MAX, &shape[(*rank)++]);
        free(one);
        if (!good) return false;
        text += strcspn(text, "x");
        if (!*text++) return true;
    }
    return false;
}

/* What --dtype and --shape say of bare numbers. */
typedef struct bare_form {
    fp8moe_dtype dtype;
    int rank;
    int64_t shape[FP8MOE_MAX_RANK];
} bare_form;

static fp8moe_status find_form(const options *given, bare_form *out, fp8moe_error *err)
{
    const char *dtype = options_value(given, OPTION_DTYPE),
               *shape = options_value(given, OPTION_SHAPE);
    out->dtype = fp8moe_dtype_from_name(dtype);
    if (out->dtype == FP8MOE_DTYPE_NONE)
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--dtype '%s': expected f32, bf16, f16, e4m3fn, i64, ...", dtype);
    if (!shape || !parse_shape(shape, &out->rank, out->shape))
        return cli_fail(err, FP8MOE_ERR_USAGE,
                        "--dtype needs --shape as 4x512: bare numbers have none");
    return FP8MOE_OK;
}

/* A file of tensors; what is none is bare numbers where --dtype says which, called as --tensor
 * says. */
static fp8moe_status open_any(const source *from, const options *given, fp8moe_dump **out,
                              fp8moe_error *err)
{
    bare_form form;
    if (!options_value(given, OPTION_DTYPE)) return source_open(from, out, err);
    CLI_TRY(find_form(given, &form, err));
    const fp8moe_status st = source_open(from, out, err);
    if (st != FP8MOE_ERR_FORMAT && st != FP8MOE_ERR_UNSUPPORTED) return st;
    const char *name = options_value(given, OPTION_TENSOR);
    return fp8moe_dump_open_raw(from->title, name ? name : "tensor", form.dtype, form.rank,
                                form.shape, out, err);
}

fp8moe_status subject_open_file(const source *from, const options *given, fp8moe_dump **out,
                                fp8moe_error *err)
{
    const char *text;
    CLI_TRY(open_any(from, given, out, err));
    for (size_t at = 0; (text = options_next(given, OPTION_AS, &at));) {
        const fp8moe_status st = apply_as(*out, text, err);
        if (st == FP8MOE_OK) continue;
        fp8moe_dump_close(*out);
        *out = NULL;
        return st;
    }
    return FP8MOE_OK;
}

/* Every stage of --from must be there. */
static fp8moe_status check_from(const subject_dump *subject, fp8moe_error *err)
{
    const char *name;
    for (size_t at = 0; (name = options_next(subject->given, OPTION_FROM, &at));)
        if (!fp8moe_tensor_present(&subject->fields.stages[fp8moe_stage_find(name)]))
            return cli_fail(err, FP8MOE_ERR_NOT_FOUND, "--from %s: the dump holds no such stage",
                            name);
    return FP8MOE_OK;
}

fp8moe_status subject_open(const source *from, const options *given, subject_dump *out,
                           fp8moe_error *err)
{
    *out = (subject_dump){.given = given};
    CLI_TRY(subject_open_file(from, given, &out->dump, err));
    CLI_TRY(fields_find(out->dump, given, &out->fields, err));
    CLI_TRY(settings_find(given, out->dump, &out->settings, err));
    CLI_TRY(cli_in_file(err, check_from(out, err), from->title));
    CLI_TRY(cli_in_file(
        err, model_weights_take(given, out->dump, &out->settings, &out->fields, &out->weights, err),
        from->title));
    return cli_in_file(err, settings_complete(&out->settings, &out->fields, err), from->title);
}

void subject_close(subject_dump *subject)
{
    model_weights_free(&subject->weights);
    fields_free(&subject->fields);
    fp8moe_dump_close(subject->dump);
    subject->dump = NULL;
}

/* ---- running ---- */

static fp8moe_config config_of(const subject_dump *subject, const fp8moe_recipe *recipe)
{
    fp8moe_config config;
    settings_config(&subject->settings, subject->given, &subject->fields, &config);
    config.recipe = recipe;
    return config;
}

/* Most dumps of real models hold no weights. */
static fp8moe_status check_weights(const subject_dump *subject, const fp8moe_config *config,
                                   fp8moe_error *err)
{
    const fp8moe_inputs *in = &subject->fields.inputs;
    if (config->recipe->op != FP8MOE_OP_MOE || in->experts ||
        fp8moe_tensor_present(&in->w13_weight) || fp8moe_tensor_present(&in->w2_weight))
        return FP8MOE_OK;
    return cli_fail(
        err, FP8MOE_ERR_NOT_FOUND,
        "no w13_weight and w2_weight: --weights FOLDER --layer N takes them from a model folder");
}

static fp8moe_status open_layer(const subject_dump *subject, const fp8moe_config *config,
                                fp8moe_layer **out, fp8moe_error *err)
{
    const char *name;
    if (config->recipe->op != settings_op(&subject->settings))
        return cli_fail(err, FP8MOE_ERR_USAGE, "recipe %s is for --op %s, this dump is taken as %s",
                        config->recipe->name,
                        config->recipe->op == FP8MOE_OP_MOE ? "moe" : "linear",
                        subject->settings.value[SETTING_OP].text);
    CLI_TRY(check_weights(subject, config, err));
    CLI_TRY(fp8moe_layer_open(config, &subject->fields.inputs, out, err));
    for (size_t at = 0; (name = options_next(subject->given, OPTION_FROM, &at));) {
        const fp8moe_stage stage = fp8moe_stage_find(name);
        CLI_TRY(fp8moe_layer_from(*out, stage, &subject->fields.stages[stage], err));
    }
    return FP8MOE_OK;
}

fp8moe_status subject_run(const subject_dump *subject, const fp8moe_recipe *recipe, watch *seen,
                          fp8moe_layer_info *info, fp8moe_error *err)
{
    const fp8moe_config config = config_of(subject, recipe);
    fp8moe_layer *layer = NULL;
    fp8moe_status st = open_layer(subject, &config, &layer, err);
    if (st == FP8MOE_ERR_USAGE) settings_hint(&subject->settings, &subject->fields.inputs, err);
    if (st == FP8MOE_OK) st = watch_run(seen, layer, err);
    if (st == FP8MOE_OK) fp8moe_layer_info_get(layer, info);
    fp8moe_layer_close(layer);
    return cli_in_file(err, st, fp8moe_dump_path(subject->dump));
}

fp8moe_status subject_judge(const subject_dump *subject, const fp8moe_recipe *recipe,
                            const fp8moe_tensor *dumped, const fp8moe_judge_options *judging,
                            double *output, fp8moe_judgement *out, fp8moe_error *err)
{
    const fp8moe_config config = config_of(subject, recipe);
    fp8moe_judge_options asked = *judging;
    const char *name;
    for (size_t at = 0; (name = options_next(subject->given, OPTION_FROM, &at));)
        asked.from[fp8moe_stage_find(name)] = subject->fields.stages[fp8moe_stage_find(name)];
    return cli_in_file(
        err, fp8moe_judge(&config, &subject->fields.inputs, dumped, &asked, output, out, err),
        fp8moe_dump_path(subject->dump));
}

/* ---- fitting ---- */

static fp8moe_status try_to_fit(const subject_dump *subject, const fp8moe_config *config,
                                fp8moe_error *err)
{
    fp8moe_layer *layer = NULL;
    CLI_TRY(fp8moe_recipe_fits(config->recipe, config, &subject->fields.inputs, err));
    const fp8moe_status st = open_layer(subject, config, &layer, err);
    fp8moe_layer_close(layer);
    return st;
}

fp8moe_status subject_fits(const subject_dump *subject, const fp8moe_recipe *recipe, bool *fits,
                           fp8moe_error *err)
{
    fp8moe_error answered_err;
    fp8moe_config config = config_of(subject, recipe);
    const fp8moe_status st = try_to_fit(subject, &config, err);
    *fits = st == FP8MOE_OK;
    if (st != FP8MOE_ERR_USAGE) return FP8MOE_OK;
    /* Is it the recipe that does not fit, or an answer that is missing? With any answer one sees.
     */
    if (!config.target) config.target = fp8moe_target_at(0);
    if (config.weights_stage == FP8MOE_WEIGHTS_UNKNOWN)
        config.weights_stage = FP8MOE_WEIGHTS_LOADED;
    if (!config.routing.top_k && !fp8moe_tensor_present(&subject->fields.inputs.topk_ids))
        config.routing.top_k = 1;
    if (try_to_fit(subject, &config, &answered_err) == FP8MOE_OK) {
        settings_hint(&subject->settings, &subject->fields.inputs, err);
        return cli_in_file(err, st, fp8moe_dump_path(subject->dump));
    }
    *err = answered_err;
    return FP8MOE_OK;
}

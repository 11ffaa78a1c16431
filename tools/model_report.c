#include "model_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- inspect FOLDER ---- */

bool model_is_blockwise(const fp8moe_moe_form *form)
{
    return form->gate_scale.rank == 2 && form->gate_scale.shape[1] > 1;
}

const char *model_scale_text(const fp8moe_model_config *config, const fp8moe_moe_form *form,
                             char text[64])
{
    const fp8moe_tensor *scale = &form->gate_scale;
    if (!fp8moe_tensor_present(scale)) return "none";
    if (fp8moe_tensor_count(scale) == 1 && !config->block_rows) return "one a matrix";
    if (!model_is_blockwise(form) && scale->shape[0] == form->intermediate) return "one a row";
    snprintf(text, 64, "blocks of %lld x %lld",
             (long long)(config->block_rows ? config->block_rows : 128),
             (long long)(config->block_cols ? config->block_cols : 128));
    return text;
}

static bool same_form(const fp8moe_tensor *a, const fp8moe_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, sizeof a->shape);
}

/* The prefix of a layer: what stands before its number, and behind it. */
static size_t number_start(const fp8moe_checkpoint_layer *layer)
{
    char *digits = cli_text("%lld.", (long long)layer->number);
    const char *at = layer->number < 0 ? NULL : strstr(layer->prefix, digits);
    for (const char *next = at; next && (next = strstr(next + 1, digits));)
        at = next;
    free(digits);
    return at ? (size_t)(at - layer->prefix) : 0;
}

static bool same_stack(const fp8moe_checkpoint_layer *a, const fp8moe_checkpoint_layer *b)
{
    const size_t start = number_start(a);
    if (a->number < 0 || b->number < 0 || start != number_start(b) ||
        strncmp(a->prefix, b->prefix, start))
        return false;
    return !strcmp(strchr(a->prefix + start, '.'), strchr(b->prefix + start, '.'));
}

bool model_alike(const model_layer *a, const model_layer *b)
{
    const fp8moe_moe_form *x = &a->form, *y = &b->form;
    if (!same_stack(a->names, b->names) || a->names->naming != b->names->naming ||
        strcmp(a->names->left_out, b->names->left_out) || a->status != b->status)
        return false;
    if (a->status != FP8MOE_OK) return !strcmp(a->problem, b->problem);
    return x->num_experts == y->num_experts && same_form(&x->gate, &y->gate) &&
           same_form(&x->gate_scale, &y->gate_scale) && same_form(&x->down, &y->down) &&
           same_form(&x->down_scale, &y->down_scale) && same_form(&x->router, &y->router) &&
           same_form(&x->correction_bias, &y->correction_bias) &&
           x->static_input == y->static_input && x->unconverted == y->unconverted;
}

size_t model_tensor_ranks(const fp8moe_model_config *config, const fp8moe_moe_form *form,
                          int64_t out[64])
{
    size_t count = 0;
    const int64_t rows = config->block_rows ? config->block_rows : 128,
                  columns = config->block_cols ? config->block_cols : 128;
    for (int64_t ranks = 1; ranks <= 64; ranks++) {
        const int64_t slice = form->intermediate / ranks;
        if (form->intermediate % ranks == 0 && (ranks == 1 || !model_is_blockwise(form) ||
                                                (slice % rows == 0 && slice % columns == 0)))
            out[count++] = ranks;
    }
    return count;
}

/* ---- verify --prep ---- */

static const char *value_of(const fp8moe_prepared_question *q, size_t axis)
{
    return q->axes[axis].values[q->ways[0].value[axis]].name;
}

/* The choices of the best way that the dump tells: "fp8_max 240, division nearest". */
static char *told_choices(const fp8moe_prepared_question *q)
{
    buffer out = {0};
    for (size_t i = 0; i < q->axis_count; i++)
        if (q->axes[i].told)
            buffer_format(&out, "%s%s %s", out.size ? ", " : "", q->axes[i].name, value_of(q, i));
    if (!out.size) buffer_add(&out, "any");
    return out.data;
}

/* Where the dump tells a choice that the target makes otherwise: what it does and what the target
 * is known for, else NULL. */
static char *other_than_target(const prep_report *prep)
{
    const fp8moe_prepared_question *const questions[] = {&prep->found.scales, &prep->found.codes};
    char max[24];
    if (!prep->target) return NULL;
    snprintf(max, sizeof max, "%g", (double)prep->target->fp8_max);
    const struct {
        const char *axis, *wanted;
    } known[] = {{"fp8_max", max}, {"halving", prep->target->loader_halves ? "yes" : "no"}};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < questions[k]->axis_count && questions[k]->rows; i++)
            for (size_t row = 0; row < sizeof known / sizeof *known; row++)
                if (questions[k]->axes[i].told &&
                    !strcmp(questions[k]->axes[i].name, known[row].axis) &&
                    strcmp(value_of(questions[k], i), known[row].wanted))
                    return cli_text("every row follows from the checkpoint, but with %s %s, where "
                                    "target %s has %s",
                                    known[row].axis, value_of(questions[k], i), prep->target->name,
                                    known[row].wanted);
    return NULL;
}

static char *same_text(const fp8moe_prepared_report *f)
{
    char *choices = told_choices(&f->scales);
    const int64_t beside = f->scales_low + f->scales_high;
    char *text = beside || f->codes_near
                     ? cli_text("every row follows from the checkpoint (%s) within one step: %lld "
                                "scales and %lld codes "
                                "are one off",
                                choices, (long long)beside, (long long)f->codes_near)
                     : cli_text("every row follows from the checkpoint, bit for bit (%s)", choices);
    free(choices);
    return text;
}

void prep_decide(prep_report *prep)
{
    const fp8moe_prepared_report *f = &prep->found;
    prep->verdict = VERDICT_DIFFERENT;
    if (f->scales_far)
        prep->reason = cli_text(
            "%lld of %lld row scales are more than one bf16 step from what any arithmetic gives: "
            "other weights, another rank or layer, or a fault",
            (long long)f->scales_far, (long long)f->scale_rows);
    else if (f->codes_far)
        prep->reason =
            cli_text("%lld of %lld codes are more than one step from what any arithmetic gives",
                     (long long)f->codes_far, (long long)f->codes_count);
    else if (!(prep->reason = other_than_target(prep))) {
        prep->verdict = VERDICT_SAME;
        prep->reason = same_text(f);
    }
}

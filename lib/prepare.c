#include "common.h"
#include "e4m3.h"
#include "parallel.h"
#include "weights.h"

#include <fp8moe/prepare.h>
#include <stdlib.h>

/* Gate, up and down, checked. */
typedef struct checked {
    matrix part[3];
} checked;

enum { GATE, UP, DOWN };

/* ---- what comes out ---- */

static fp8moe_status check_stages(const fp8moe_preparation *how, fp8moe_error *err)
{
    const bool known = how->from == FP8MOE_WEIGHTS_CHECKPOINT || how->from == FP8MOE_WEIGHTS_LOADED;
    if (known && how->to > how->from) return FP8MOE_OK;
    return fail(err, FP8MOE_ERR_USAGE, "weights at stage %s cannot be taken to stage %s",
                fp8moe_stage_of_weights_name(how->from), fp8moe_stage_of_weights_name(how->to));
}

static fp8moe_status check_expert(const fp8moe_preparation *how, const fp8moe_expert *e,
                                  int64_t inter, int64_t hidden, checked *out, fp8moe_error *err)
{
    const int64_t rows = how->block_rows, cols = how->block_cols;
    TRY(matrix_check(&e->gate, inter, hidden, rows, cols, "gate", &out->part[GATE], err));
    TRY(matrix_check(&e->up, inter, hidden, rows, cols, "up", &out->part[UP], err));
    TRY(matrix_check(&e->down, hidden, inter, rows, cols, "down", &out->part[DOWN], err));
    for (int i = 0; i < 3; i++) {
        const matrix *const m = &out->part[i];
        if (m->weight.dtype != FP8MOE_DTYPE_F8_E4M3 || m->kind == SCALE_ABSENT)
            return fail(
                err, FP8MOE_ERR_DTYPE, "only FP8 weights with scales are prepared, these are %s%s",
                fp8moe_dtype_name(m->weight.dtype), m->kind == SCALE_ABSENT ? " without" : "");
    }
    return FP8MOE_OK;
}

/* Shape of the scales of one matrix behind the expert dimension; returns its rank. */
static fp8moe_status scale_shape(const fp8moe_preparation *how, const matrix *m, int *rank,
                                 int64_t shape[2], fp8moe_error *err)
{
    const scale_kind kind = how->to == FP8MOE_WEIGHTS_PREPARED ? SCALE_ROW : m->kind;
    *rank = kind == SCALE_BLOCK ? 2 : kind == SCALE_ROW;
    shape[0] = kind == SCALE_ROW ? m->rows : ceil_div(m->rows, m->block_rows);
    shape[1] = ceil_div(m->cols, m->block_cols);
    if (kind == SCALE_BLOCK && (m->row_offset % m->block_rows || m->column_offset % m->block_cols))
        return fail(err, FP8MOE_ERR_USAGE,
                    "this rank's slice starts within a scale block: loaded, it has no scale grid "
                    "of its own");
    return FP8MOE_OK;
}

static fp8moe_tensor form(fp8moe_dtype dtype, int64_t experts, int rank, int64_t rows,
                          int64_t columns)
{
    const int64_t shape[3] = {experts, rows, columns};
    return fp8moe_tensor_view(NULL, dtype, 1 + rank, shape);
}

fp8moe_status fp8moe_prepare_form(const fp8moe_preparation *how, const fp8moe_expert *experts,
                                  int64_t count, fp8moe_prepared *out, fp8moe_error *err)
{
    assert(how && how->target && out);
    checked first, other;
    int rank, up_rank;
    int64_t shape[2], up_shape[2];
    TRY(check_stages(how, err));
    if (count < 1) return fail(err, FP8MOE_ERR_SHAPE, "no experts to prepare");
    TRY(check_expert(how, &experts[0], -1, -1, &first, err));
    const int64_t inter = first.part[GATE].rows, hidden = first.part[GATE].cols;
    for (int64_t i = 0; i < count; i++) {
        TRY(check_expert(how, &experts[i], inter, hidden, &other, err));
        for (int part = 0; part < 3; part++)
            if (other.part[part].kind != first.part[part].kind ||
                other.part[UP].kind != first.part[GATE].kind)
                return fail(err, FP8MOE_ERR_SHAPE, "expert %lld has other scales than expert 0",
                            (long long)i);
    }
    TRY(scale_shape(how, &first.part[GATE], &rank, shape, err));
    TRY(scale_shape(how, &first.part[UP], &up_rank, up_shape, err));
    out->w13 = form(FP8MOE_DTYPE_F8_E4M3, count, 2, 2 * inter, hidden);
    out->w13_scale =
        form(FP8MOE_DTYPE_F32, count, rank ? rank : 1, rank ? 2 * shape[0] : 2, shape[1]);
    TRY(scale_shape(how, &first.part[DOWN], &rank, shape, err));
    out->w2 = form(FP8MOE_DTYPE_F8_E4M3, count, 2, hidden, inter);
    out->w2_scale = form(FP8MOE_DTYPE_F32, count, rank, shape[0], shape[1]);
    return FP8MOE_OK;
}

/* ---- filling ---- */

typedef struct filling {
    const fp8moe_preparation *how;
    const fp8moe_expert *experts;
    weight_reader reader;
    double *rows; /* one for each worker */
    int64_t row_size;
    uint8_t *codes[3]; /* of gate, up and down of expert 0 */
    float *scales[3];
    int64_t code_stride[3], scale_stride[3]; /* from expert to expert */
} filling;

static void fill_scales(const filling *f, const matrix *m, float *out)
{
    const bool blocks = m->kind == SCALE_BLOCK;
    const int64_t row_step = blocks ? m->block_rows : m->kind == SCALE_ROW ? 1 : m->rows;
    const int64_t col_step = blocks ? m->block_cols : m->cols;
    for (int64_t row = 0; row < m->rows; row += row_step)
        for (int64_t col = 0; col < m->cols; col += col_step)
            *out++ = (float)weights_scale(&f->reader, m, row, col);
}

static void fill_matrix(const filling *f, const matrix *m, uint8_t *codes, float *scales,
                        double *row_values)
{
    const bool prepared = f->how->to == FP8MOE_WEIGHTS_PREPARED;
    for (int64_t row = 0; row < m->rows; row++) {
        uint8_t *const at = codes + row * m->cols;
        if (prepared)
            scales[row] = (float)weights_row(&f->reader, m, row, row_values, at);
        else
            weights_codes(&f->reader, m, row, at);
    }
    if (!prepared) fill_scales(f, m, scales);
}

static void fill_experts(void *context, int64_t first, int64_t last, int worker)
{
    const filling *const f = context;
    for (int64_t i = first; i < last; i++) {
        checked e;
        const fp8moe_status status = check_expert(f->how, &f->experts[i], -1, -1, &e, NULL);
        assert(status == FP8MOE_OK); /* fp8moe_prepare_form() saw them all */
        (void)status;
        for (int part = 0; part < 3; part++)
            fill_matrix(f, &e.part[part], f->codes[part] + i * f->code_stride[part],
                        f->scales[part] + i * f->scale_stride[part],
                        f->rows + worker * f->row_size);
    }
}

fp8moe_status fp8moe_prepare_experts(const fp8moe_preparation *how, const fp8moe_expert *experts,
                                     int64_t count, uint8_t *w13, float *w13_scale, uint8_t *w2,
                                     float *w2_scale, fp8moe_error *err)
{
    kernels k;
    fp8moe_prepared sizes;
    TRY(fp8moe_prepare_form(how, experts, count, &sizes, err));
    (void)kernels_init(&k, NULL, false);
    const int64_t w13_codes = sizes.w13.stride[0], w13_scales = sizes.w13_scale.stride[0];
    filling f = {.how = how,
                 .experts = experts,
                 .reader = {.target = how->target,
                            .table = e4m3_table(how->target),
                            .form = FP8MOE_FORM_PREPARED,
                            .stage = how->from,
                            .kernels = &k},
                 .row_size = max_i64(sizes.w13.shape[2], sizes.w2.shape[2]),
                 .codes = {w13, w13 + w13_codes / 2, w2},
                 .scales = {w13_scale, w13_scale + w13_scales / 2, w2_scale},
                 .code_stride = {w13_codes, w13_codes, sizes.w2.stride[0]},
                 .scale_stride = {w13_scales, w13_scales, sizes.w2_scale.stride[0]}};
    f.rows = calloc((size_t)how->threads * (size_t)f.row_size, sizeof *f.rows);
    if (!f.rows) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a row of weights a thread");
    parallel_for(how->threads, count, fill_experts, &f);
    free(f.rows);
    return FP8MOE_OK;
}

#include "weights.h"

#include "bits.h"
#include "common.h"
#include "e4m3.h"
#include "quant.h"

/* ---- checking ---- */

static bool is_weight_dtype(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_F8_E4M3 || dtype == FP8MOE_DTYPE_BF16 ||
           dtype == FP8MOE_DTYPE_F16 || dtype == FP8MOE_DTYPE_F32;
}

static bool is_scale_dtype(fp8moe_dtype dtype)
{
    return dtype == FP8MOE_DTYPE_F32 || dtype == FP8MOE_DTYPE_BF16 || dtype == FP8MOE_DTYPE_F16 ||
           dtype == FP8MOE_DTYPE_F8_E8M0;
}

static fp8moe_status check_weight(const fp8moe_tensor *t, int64_t rows, int64_t cols,
                                  const char *name, fp8moe_error *err)
{
    char shape[96];
    if (!is_weight_dtype(t->dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1,
                       "dtype %s; a weight is F8_E4M3, BF16, F16 or F32",
                       fp8moe_dtype_name(t->dtype));
    if (t->rank != 2 || (rows >= 0 && t->shape[0] != rows) || (cols >= 0 && t->shape[1] != cols))
        return fail_at(err, FP8MOE_ERR_SHAPE, name, -1, "expected [%lld, %lld] (-1: any), got %s",
                       (long long)rows, (long long)cols,
                       fp8moe_tensor_shape_text(t, shape, sizeof shape));
    return FP8MOE_OK;
}

/* Which kind of scale a shape means for a matrix of full_rows x full_cols. One number is per
 * tensor, one a row wins over a block grid that happens to have as many rows. */
static fp8moe_status find_kind(matrix *m, int64_t full_rows, int64_t full_cols, const char *name,
                               fp8moe_error *err)
{
    const fp8moe_tensor *const s = &m->scale;
    const int64_t grid_rows = ceil_div(full_rows, m->block_rows);
    const int64_t grid_cols = ceil_div(full_cols, m->block_cols);
    const bool column = s->rank == 1 || (s->rank == 2 && s->shape[1] == 1);
    const bool grid = s->rank == 2 && s->shape[0] == grid_rows && s->shape[1] == grid_cols;
    if (s->rank == 0 || (s->rank == 1 && s->shape[0] == 1)) {
        m->kind = SCALE_TENSOR;
    } else if (column && s->shape[0] == full_rows && !(grid && full_rows == 1)) {
        m->kind = SCALE_ROW;
    } else if (grid) {
        m->kind = SCALE_BLOCK;
    } else {
        char shape[96];
        return fail_at(
            err, FP8MOE_ERR_SHAPE, name, -1,
            "scale %s fits no layout of a [%lld, %lld] weight: one number, [%lld], [%lld, 1], or "
            "[%lld, %lld] blocks of %lld x %lld",
            fp8moe_tensor_shape_text(s, shape, sizeof shape), (long long)full_rows,
            (long long)full_cols, (long long)full_rows, (long long)full_rows, (long long)grid_rows,
            (long long)grid_cols, (long long)m->block_rows, (long long)m->block_cols);
    }
    return FP8MOE_OK;
}

fp8moe_status matrix_check(const fp8moe_weight *weight, int64_t rows, int64_t cols,
                           int64_t block_rows, int64_t block_cols, const char *name, matrix *out,
                           fp8moe_error *err)
{
    TRY(check_weight(&weight->weight, rows, cols, name, err));
    *out = (matrix){.weight = weight->weight,
                    .scale = weight->scale,
                    .rows = weight->weight.shape[0],
                    .cols = weight->weight.shape[1],
                    .row_offset = weight->row_offset,
                    .column_offset = weight->column_offset,
                    .block_rows = block_rows,
                    .block_cols = block_cols};
    if (!fp8moe_tensor_present(&weight->scale)) return FP8MOE_OK;
    if (!is_scale_dtype(weight->scale.dtype))
        return fail_at(err, FP8MOE_ERR_DTYPE, name, -1,
                       "scale dtype %s; a scale is F32, BF16, F16 or F8_E8M0",
                       fp8moe_dtype_name(weight->scale.dtype));
    return find_kind(out, weight->full_rows ? weight->full_rows : out->rows,
                     weight->full_columns ? weight->full_columns : out->cols, name, err);
}

bool matrix_is_blockwise(const matrix *m)
{
    return m->kind == SCALE_BLOCK;
}

/* ---- reading ---- */

static bool is_halved(const weight_reader *reader)
{
    return reader->stage == FP8MOE_WEIGHTS_CHECKPOINT && reader->target->loader_halves;
}

void weights_codes(const weight_reader *reader, const matrix *m, int64_t row, uint8_t *codes)
{
    fp8moe_tensor_read_raw(&m->weight, row * m->cols, m->cols, codes);
    if (!is_halved(reader)) return;
    reader->kernels->halve(codes, m->cols);
}

static int64_t scale_index(const matrix *m, int64_t row, int64_t col)
{
    switch (m->kind) {
    case SCALE_ROW:
        return row + m->row_offset;
    case SCALE_BLOCK:
        return (row + m->row_offset) / m->block_rows * m->scale.shape[1] +
               (col + m->column_offset) / m->block_cols;
    case SCALE_ABSENT:
    case SCALE_TENSOR:
        break;
    }
    return 0;
}

double weights_scale(const weight_reader *reader, const matrix *m, int64_t row, int64_t col)
{
    if (m->kind == SCALE_ABSENT) return 1;
    double scale;
    fp8moe_tensor_read_f64(&m->scale, scale_index(m, row, col), 1, &scale);
    return is_halved(reader) ? round_f32(scale * 2) : scale;
}

/* First column after `col` at which the block scale may change. */
static int64_t block_end(const matrix *m, int64_t col)
{
    if (m->kind != SCALE_BLOCK) return m->cols;
    const int64_t in_block = (col + m->column_offset) % m->block_cols;
    return min_i64(m->cols, col + m->block_cols - in_block);
}

/* out[i] *= scale of its block: in bf16 steps (dequant) or in float64 (exact). */
static void apply_scales(const weight_reader *reader, const matrix *m, int64_t row, double *out)
{
    const bool bf16 = reader->form != FP8MOE_FORM_EXACT;
    for (int64_t col = 0; col < m->cols;) {
        const int64_t end = block_end(m, col);
        const double scale = weights_scale(reader, m, row, col);
        if (bf16) reader->kernels->scale_bf16(out + col, end - col, round_bf16(scale));
        for (int64_t i = col; !bf16 && i < end; i++)
            out[i] *= scale;
        col = end;
    }
}

/* Block codes to one scale a row: dequantise in bf16, quantise the bf16 row dynamically. */
static double requantise(const weight_reader *reader, const matrix *m, int64_t row, double *out,
                         uint8_t *codes)
{
    apply_scales(reader, m, row, out);
    const fp8moe_precision steps = quant_steps(reader->target, FP8MOE_CAST_BF16, FP8MOE_ROUND_BF16);
    const double scale = quant_row(reader->kernels, reader->target, steps, out, m->cols, codes);
    reader->kernels->decode(out, codes, reader->table, m->cols);
    return scale;
}

double weights_row(const weight_reader *reader, const matrix *m, int64_t row, double *out,
                   uint8_t *codes)
{
    if (m->weight.dtype != FP8MOE_DTYPE_F8_E4M3) {
        fp8moe_tensor_read_f64(&m->weight, row * m->cols, m->cols, out);
        return 1;
    }
    weights_codes(reader, m, row, codes);
    reader->kernels->decode(out, codes, reader->table, m->cols);
    switch (reader->form) {
    case FP8MOE_FORM_DEQUANT:
    case FP8MOE_FORM_EXACT:
        apply_scales(reader, m, row, out);
        return 1;
    case FP8MOE_FORM_PREPARED:
        if (matrix_is_blockwise(m)) return requantise(reader, m, row, out, codes);
        break;
    case FP8MOE_FORM_CODES:
    case FP8MOE_FORM_BF16:
        break;
    }
    return weights_scale(reader, m, row, 0);
}

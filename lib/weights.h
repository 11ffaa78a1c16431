/* Weight matrices as their files hold them, read row by row in the form a recipe multiplies: the
 * ladder checkpoint -> loaded -> prepared of numerics.md section 2. */
#ifndef FP8MOE_LIB_WEIGHTS_H
#define FP8MOE_LIB_WEIGHTS_H

#include "kernels.h"

#include <fp8moe/moe.h>

typedef enum scale_kind { SCALE_ABSENT, SCALE_TENSOR, SCALE_ROW, SCALE_BLOCK } scale_kind;

/* One checked matrix [rows, cols] and where its scales are. */
typedef struct matrix {
    fp8moe_tensor weight; /* [rows, cols] */
    fp8moe_tensor scale;  /* rank 0, 1 or 2: see kind */
    scale_kind kind;
    int64_t rows, cols;
    int64_t row_offset, column_offset; /* of element (0, 0) in the matrix `scale` covers */
    int64_t block_rows, block_cols;
} matrix;

/* How to read rows: everything that is the same for all matrices of a layer. */
typedef struct weight_reader {
    const fp8moe_target
        *target;         /* a target all of whose answers agree, where the caller gave none */
    const double *table; /* its 256 values */
    fp8moe_weight_form form;
    fp8moe_stage_of_weights stage;
    const kernels *kernels;
} weight_reader;

/* Check one matrix and its scale: dtype, rank, and which kind of scale it is. `rows`, `cols` -1:
 * any. `name` is the field for messages. */
fp8moe_status matrix_check(const fp8moe_weight *weight, int64_t rows, int64_t cols,
                           int64_t block_rows, int64_t block_cols, const char *name, matrix *out,
                           fp8moe_error *err);

/* Whether the codes are requantised to one scale a row on the way to PREPARED. */
bool matrix_is_blockwise(const matrix *m);

/* The raw codes of a row, halved where the stage and the target ask for it. F8_E4M3 weights only.
 */
void weights_codes(const weight_reader *reader, const matrix *m, int64_t row, uint8_t *codes);

/* The scale of element (row, col) as loaded (doubled where the codes were halved). 1 where absent.
 */
double weights_scale(const weight_reader *reader, const matrix *m, int64_t row, int64_t col);

/* Row `row` as it is multiplied: cols numbers into `out`; returns the f32 scale that is applied
 * after the dot (1 where the form has none). `codes` is room for cols bytes and holds the row's
 * codes afterwards where the form has codes. */
double weights_row(const weight_reader *reader, const matrix *m, int64_t row, double *out,
                   uint8_t *codes);

#endif

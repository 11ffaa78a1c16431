/* Planted faults handed to the same test: what a pass could have seen. verdict.md section 7. */
#ifndef FP8MOE_LIB_DETECT_H
#define FP8MOE_LIB_DETECT_H

#include "bound.h"
#include "tally.h"

#define DETECT_GAINS 8

enum {
    PLANT_GAIN_UP,
    PLANT_GAIN_DOWN = DETECT_GAINS,
    PLANT_DROP = 2 * DETECT_GAINS,
    PLANT_WRONG_EXPERT,
    PLANT_ROW_SCALE,
    PLANT_SWAP,
    PLANTS
};

typedef struct detector {
    tally plant[PLANTS];
    double *planted; /* [width] */
    double unresolved, elements;
    bool swap_done;
} detector;

fp8moe_status detect_open(detector *d, int64_t width, fp8moe_error *err);
void detect_close(detector *d);

/* Plant everything into one row. `b` and `token`: the row's block, NULL for a linear. */
void detect_row(detector *d, bound *b, int64_t token, const row_view *row);

void detect_conclude(const detector *d, bool linear, fp8moe_detection *out);

#endif

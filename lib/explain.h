/* The search that explains a row by near-ties that went the other way: verdict.md section 4. */
#ifndef FP8MOE_LIB_EXPLAIN_H
#define FP8MOE_LIB_EXPLAIN_H

#include "bound.h"
#include "tally.h"

#define EXPLAIN_MAX_FLIPS 8

typedef struct explanation {
    bool explained;
    int count; /* flips; 0 where they do not suffice */
    fp8moe_flip flip[EXPLAIN_MAX_FLIPS];
} explanation;

/* Search greedily for at most `limit` flips that make every element of the row identical or
 * expected. The block is as before afterwards. */
fp8moe_status explain_row(bound *b, int64_t token, const row_view *row, const double *got,
                          int limit, explanation *out, fp8moe_error *err);

#endif

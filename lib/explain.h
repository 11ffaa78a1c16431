/* The search that explains a row by near-ties that went the other way: verdict.md section 4. */
#ifndef FP8MOE_LIB_EXPLAIN_H
#define FP8MOE_LIB_EXPLAIN_H

#include "bound.h"
#include "tally.h"

#define EXPLAIN_MAX_FLIPS 8

/* The one product whose change, of any size, would account for most of a row's residual: how far
 * that change lies outside the product's hard interval. One wrong weight of w13 looks like this,
 * and noise does not. */
typedef struct lone_product {
    double sigmas; /* of that distance; 0: inside, or no row was left unexplained */
    int64_t token, slot, index;
    int64_t expert;           /* local id */
    double needed, low, high; /* the number multiplied in the down projection */
} lone_product;

typedef struct explanation {
    bool explained;
    int count; /* flips; 0 where they do not suffice */
    fp8moe_flip flip[EXPLAIN_MAX_FLIPS];
    lone_product lone;
} explanation;

/* Search greedily for at most `limit` flips that make every element of the row identical or
 * expected; where they do not suffice, the product that would. The block is as before afterwards.
 */
fp8moe_status explain_row(bound *b, int64_t token, const row_view *row, const double *got,
                          int limit, explanation *out, fp8moe_error *err);

#endif

/* Dots as a device might sum them: f32 additions in a random order. A stand-in for a device, for
 * synthetic dumps and for testing the verdict; never the reference. */
#ifndef FP8MOE_LIB_SHUFFLE_H
#define FP8MOE_LIB_SHUFFLE_H

#include <fp8moe/status.h>
#include <stdint.h>

typedef struct shuffle {
    uint64_t seed;
    int64_t length;
    int64_t chunk;  /* terms added to one partial sum before it joins the total */
    int32_t *order; /* [length] */
} shuffle;

/* An order for dots of `length` terms. Free with shuffle_free(). */
fp8moe_status shuffle_init(shuffle *out, uint64_t seed, int64_t length, fp8moe_error *err);
void shuffle_free(shuffle *s);

/* As kernels.dot, each product rounded to f32 after joining its f32 partial sum. n is the length.
 */
void shuffle_dot(const shuffle *s, double *out, int64_t out_stride, const double *a, int64_t a_rows,
                 const double *w, int64_t w_rows, int64_t n);

/* One step of the generator behind it (splitmix64). */
uint64_t shuffle_next(uint64_t *state);

#endif

#include "e4m3.h"

#include "bits.h"

#include <assert.h>

/* The eight codes of one exponent field, in steps of its power of two. */
#define BINADE(step)                                                                               \
    8 * (step), 9 * (step), 10 * (step), 11 * (step), 12 * (step), 13 * (step), 14 * (step),       \
        15 * (step)

/* The codes of one sign below the top field: `zero`, then multiples of the least subnormal. */
#define BELOW_TOP(zero, least)                                                                     \
    zero, 1 * (least), 2 * (least), 3 * (least), 4 * (least), 5 * (least), 6 * (least),            \
        7 * (least), BINADE(least), BINADE(0x1p1 * (least)), BINADE(0x1p2 * (least)),              \
        BINADE(0x1p3 * (least)), BINADE(0x1p4 * (least)), BINADE(0x1p5 * (least)),                 \
        BINADE(0x1p6 * (least)), BINADE(0x1p7 * (least)), BINADE(0x1p8 * (least)),                 \
        BINADE(0x1p9 * (least)), BINADE(0x1p10 * (least)), BINADE(0x1p11 * (least)),               \
        BINADE(0x1p12 * (least)), BINADE(0x1p13 * (least))

/* OCP E4M3FN: the top field is finite but for its last code. */
#define TOP_FN(step)                                                                               \
    8 * (step), 9 * (step), 10 * (step), 11 * (step), 12 * (step), 13 * (step), 14 * (step), NAN

/* IEEE-like (Gaudi2): the top field is Inf, then NaN. */
#define TOP_IEEE(infinity) infinity, NAN, NAN, NAN, NAN, NAN, NAN, NAN

static const double fn_values[256] = {BELOW_TOP(0.0, 0x1p-9), TOP_FN(0x1p5),
                                      BELOW_TOP(-0.0, -0x1p-9), TOP_FN(-0x1p5)};

static const double ieee_values[256] = {BELOW_TOP(0.0, 0x1p-9), TOP_IEEE(INFINITY),
                                        BELOW_TOP(-0.0, -0x1p-9), TOP_IEEE(-INFINITY)};

static const double fnuz_values[256] = {BELOW_TOP(0.0, 0x1p-10), BINADE(0x1p4),
                                        BELOW_TOP(NAN, -0x1p-10), BINADE(-0x1p4)};

const double *e4m3_table(const fp8moe_target *target)
{
    assert(target->nan_code_first == 0x78 || target->nan_code_first == 0x7F);
    return target->nan_code_first == 0x78 ? ieee_values : fn_values;
}

const double *e4m3fn_table(void)
{
    return fn_values;
}

const double *e4m3fnuz_table(void)
{
    return fnuz_values;
}

uint8_t e4m3_encode(const fp8moe_target *target, double value)
{
    return e4m3_nearest(value, (double)target->fp8_max);
}

uint8_t e4m3fn_encode(double value)
{
    return e4m3_nearest(value, 448.0);
}

uint8_t e4m3_halve(uint8_t code)
{
    return e4m3_half(code);
}

int e4m3_ordinal(uint8_t code)
{
    const int magnitude = code & 0x7F;
    return code & 0x80 ? -magnitude : magnitude;
}

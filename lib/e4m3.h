/* E4M3 codes: floats, codes and ordered integers per target. */
#ifndef FP8MOE_LIB_E4M3_H
#define FP8MOE_LIB_E4M3_H

#include <fp8moe/profile.h>
#include <stdint.h>

/* The 256 values of a target's codes (Gaudi2: 0x78 is Inf, above it NaN). Static storage. The
 * target's nan_code_first is 0x78 or 0x7F (assert): the two top binades known to hardware. */
const double *e4m3_table(const fp8moe_target *target);
/* The same for OCP E4M3FN and for FNUZ (bias 8, 0x80 is NaN). */
const double *e4m3fn_table(void);
const double *e4m3fnuz_table(void);

/* Nearest code, ties to even, rounded once from the double; magnitudes (and infinities) beyond the
 * target's largest finite value saturate to it; NaN gives 0x7F with its sign. */
uint8_t e4m3_encode(const fp8moe_target *target, double value);

/* As e4m3_encode for OCP E4M3FN: torch's cast to float8_e4m3fn since 2.12. */
uint8_t e4m3fn_encode(double value);

/* Gaudi2 loader: the E4M3FN code of half the value (RNE). 0x7F and 0xFF stay NaN. */
uint8_t e4m3_halve(uint8_t code);

/* Position on the number line: 0 for both zeros, 1 for 0x01, -1 for 0x81. */
int e4m3_ordinal(uint8_t code);

#endif

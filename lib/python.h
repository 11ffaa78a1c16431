/* What Python makes of a string: upstream reads its environment with these. */
#ifndef FP8MOE_LIB_PYTHON_H
#define FP8MOE_LIB_PYTHON_H

#include <fp8moe/status.h>
#include <stdbool.h>

/* float(text): blanks around it (Unicode's too), a sign, underscores between digits, inf, infinity
 * and nan in any case, decimal digits of any script; rounded once, beyond the range of a double
 * Inf.
 * @return OK; VALUE where Python raises ValueError, with its sentence; UNSUPPORTED beyond
 *         LIMIT_NUMBER_DIGITS digits */
fp8moe_status python_float(const char *text, double *out, fp8moe_error *err);

/* int(text) in base 10, to the nearest int64_t where Python's has more bits.
 * @return OK; VALUE where Python raises ValueError, with its sentence */
fp8moe_status python_int(const char *text, int64_t *out, fp8moe_error *err);

/* text.lower() in ("1", "true"): nothing is stripped. */
bool python_is_true(const char *text);

#endif

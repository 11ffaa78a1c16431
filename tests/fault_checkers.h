/* What others would have said of the same dump: gates in common use, in code of their own. */
#ifndef FP8MOE_TESTS_FAULT_CHECKERS_H
#define FP8MOE_TESTS_FAULT_CHECKERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fault_checker {
    const char *name;
    /* Whether it accepts `got` for `expected`; bf16 bits. */
    bool (*passes)(const uint16_t *expected, const uint16_t *got, int64_t count);
} fault_checker;

#define FAULT_CHECKERS 4
extern const fault_checker fault_checkers[FAULT_CHECKERS];

/* ||got - expected|| / ||expected||; infinite where one of them is not finite. */
double fault_distance(const uint16_t *expected, const uint16_t *got, int64_t count);

#endif

/* Numbers that look random and are the same everywhere: a value depends on its seed, its stream and
 * its index alone, so any part of a tensor can be made on its own, in any order. Integer arithmetic
 * only. */
#ifndef FP8MOE_TOOLS_RANDOM_H
#define FP8MOE_TOOLS_RANDOM_H

#include <stdint.h>

/* A stream of its own for each tensor. */
typedef struct random_stream {
    uint64_t start;
} random_stream;

random_stream random_open(uint64_t seed, uint64_t stream);

/* 64 even bits. */
uint64_t random_bits(random_stream from, uint64_t index);

/* A deviate of about normal shape with heavy tails: an integer with standard deviation about
 * 2^15, one in 64 three times as wide; its magnitude stays below RANDOM_DEVIATE_END. */
int32_t random_deviate(random_stream from, uint64_t index);

#define RANDOM_DEVIATE_END (1 << 19)
#define RANDOM_DEVIATE_BITS 15 /* 2^15: about one standard deviation */

#endif

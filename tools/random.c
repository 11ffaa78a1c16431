#include "random.h"

/* Spread the bits of a counter: two rounds of xor-shift and multiplication by an odd number. */
static uint64_t spread(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

random_stream random_open(uint64_t seed, uint64_t stream)
{
    return (random_stream){spread(seed ^ spread(stream + 1))};
}

uint64_t random_bits(random_stream from, uint64_t index)
{
    return spread(from.start + (index + 1) * 0x9E3779B97F4A7C15u);
}

int32_t random_deviate(random_stream from, uint64_t index)
{
    /* The sum of four 16-bit numbers is close to normal, between -131070 and 131070 about its
     * middle, with standard deviation 37837. */
    const uint64_t bits = random_bits(from, index);
    const int32_t sum = (int32_t)(bits & 0xFFFF) + (int32_t)(bits >> 16 & 0xFFFF) +
                        (int32_t)(bits >> 32 & 0xFFFF) + (int32_t)(bits >> 48) - 2 * 0xFFFF;
    const uint64_t tail = bits * 0x9E3779B97F4A7C15u >> 58;
    return tail ? sum : 3 * sum;
}

#include "silu.h"

#include "bits.h"

/* ln 2 in two parts. The first has 33 significant bits, so that k times it is exact for every
 * exponent k of a double; the second is the rest: ln 2 = 0.693147180559945309417232121458... */
#define LN2_HIGH 0x1.62E42FEFp-1
#define LN2_LOW 0x1.473DE6AF278EDp-34
#define LOG2_E 0x1.71547652B82FEp+0

/* The Taylor series of (e^r - 1 - r) / r^2. On |r| <= ln(2) / 2 the first term left out, r^14 /
 * 14!, is below 2^-57. */
static double exp_tail(double r)
{
    static const double inverse_factorial[] = {
        1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
        1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
        1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        1.0 / 2.0,
    };
    double sum = 0.0;
    for (size_t i = 0; i < sizeof inverse_factorial / sizeof inverse_factorial[0]; i++)
        sum = sum * r + inverse_factorial[i];
    return sum;
}

static double power_of_two(int exponent)
{
    return f64_from_bits((uint64_t)(exponent + F64_BIAS) << F64_MANTISSA);
}

double own_exp(double x)
{
    if (x != x) return x;
    if (x > 710.0) return (double)INFINITY;
    if (x < -746.0) return 0.0;
    /* e^x = 2^k e^r with |r| at most half of ln 2. */
    const int k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    const double mantissa = 1.0 + (r + r * r * exp_tail(r));
    /* In two steps: 2^k alone may be beyond the range of a double. */
    return mantissa * power_of_two(k / 2) * power_of_two(k - k / 2);
}

double own_sigmoid(double x)
{
    const double e = own_exp(x < 0 ? x : -x);
    return x < 0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

double own_silu(double x)
{
    return x * own_sigmoid(x);
}

double own_sum(const double *x, int64_t n)
{
    double lanes[16] = {0};
    for (int64_t i = 0; i < n; i++)
        lanes[i % 16] += x[i];
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lanes[j] += lanes[j + half];
    return lanes[0];
}

void own_softmax(double *p, const double *x, int64_t n)
{
    double largest = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > largest) largest = x[i];
    for (int64_t i = 0; i < n; i++)
        p[i] = own_exp(x[i] - largest);
    const double sum = own_sum(p, n);
    for (int64_t i = 0; i < n; i++)
        p[i] = round_f32(p[i] / sum);
}

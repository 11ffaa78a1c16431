/* Loaded into a process before it starts, this makes its arithmetic unfit: every sum is rounded
 * upwards. Libraries built with fast-math do worse to their hosts. */
#include <fenv.h>

__attribute__((constructor)) static void round_upwards(void)
{
    fesetround(FE_UPWARD);
}

#include <fp8moe/fp8moe.h>

const char *fp8moe_version(void)
{
    return "0.1.0";
}

/* A public header compiled alone: HEADER is its name, the standard is on the command line. */
#include HEADER

typedef fp8moe_status header_test_compiles;

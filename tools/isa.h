/* Instruction sets as --isa names them. No bit depends on them. */
#ifndef FP8MOE_TOOLS_ISA_H
#define FP8MOE_TOOLS_ISA_H

#include <stdbool.h>
#include <stddef.h>

/* Names in ascending order, "all" last; NULL beyond. */
const char *isa_at(size_t index);

/* Whether this processor runs it ("portable" and "all": always). */
bool isa_is_present(const char *name);

/* The name the library knows that caps it the same way: it has no kernels of its own for some. */
const char *isa_for_library(const char *name);

#endif

/* Outputs that are a part of what they should be: one tensor-parallel slice's, one rank's, or all
 * but one rank's. */
#ifndef FP8MOE_TOOLS_PARTIAL_H
#define FP8MOE_TOOLS_PARTIAL_H

#include "subject.h"

/*
 * Emulate a few tokens of a dump and see which part of the layer comes much nearer to the dumped
 * output than the whole does: sums over some of the experts, and, where the output resembles the
 * whole at all, w2 with some of its columns.
 *
 * @param finding "looks like a tensor-parallel slice: ...", owned by the caller; NULL where no part
 *        does, or where the dump holds no w2_weight [E, H, I]
 */
fp8moe_status partial_find(const subject_dump *subject, const fp8moe_recipe *recipe,
                           const fp8moe_tensor *dumped, char **finding, fp8moe_error *err);

#endif

/* Fixed-split parallel loop: the only file that knows threads. */
#ifndef FP8MOE_LIB_PARALLEL_H
#define FP8MOE_LIB_PARALLEL_H

#include <stdint.h>

/* Work on items [first, last); `worker` is 0 .. threads-1 and selects scratch. */
typedef void (*parallel_body)(void *context, int64_t first, int64_t last, int worker);

/* Split 0 .. count-1 into at most `threads` contiguous parts and run them; returns when all are
 * done. With one thread (or where none can be started) the body runs in the caller, so a result
 * must not depend on the split: each output element is written by one worker, sums are never split.
 */
void parallel_for(int threads, int64_t count, parallel_body body, void *context);

#endif

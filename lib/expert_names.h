/* How checkpoints name the experts of a layer, as rows, and the layers that a table of names holds.
 */
#ifndef FP8MOE_LIB_EXPERT_NAMES_H
#define FP8MOE_LIB_EXPERT_NAMES_H

#include "shards.h"

#include <fp8moe/checkpoint.h>

/* One way to name the weights of experts: what stands after "experts.ID.", or, where one tensor
 * holds all experts, after "experts.". */
typedef struct expert_names {
    const char *text; /* for reports */
    bool fused;       /* [E, rows, columns] */
    const char *gate, *up;
    const char *gate_up; /* instead of the two: gate rows first */
    const char *down;
} expert_names;

typedef struct expert_layer {
    fp8moe_checkpoint_layer seen;
    const expert_names *names; /* NULL: of no known kind */
    size_t stack_length;       /* bytes of the prefix before the number */
    int64_t some_id;           /* of an expert there is a name of; -1: fused */
} expert_layer;

/* Layers with experts among the names, ordered as fp8moe_checkpoint_layer_at() promises. *out is of
 * the malloc family and the caller's; its texts live in `memory`. */
fp8moe_status expert_layers_find(const shards *all, arena *memory, expert_layer **out,
                                 size_t *count, fp8moe_error *err);

/* "<prefix>experts.<id>.<part>", or without the id where the row is fused, into `text`. */
const char *expert_name(const expert_layer *layer, int64_t id, const char *part, char *text,
                        size_t size);

#endif

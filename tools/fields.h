/* Which tensor of a dump is what: the names people use, in one place. */
#ifndef FP8MOE_TOOLS_FIELDS_H
#define FP8MOE_TOOLS_FIELDS_H

#include "options.h"

/* An output the dump holds. */
typedef struct field_output {
    size_t index;       /* of the tensor in the dump */
    const char *recipe; /* that its name stands for ("custom": gather), or NULL */
    fp8moe_tensor tensor;
} field_output;

#define FIELD_MAX_OUTPUTS 6 /* output, out, out0, ref_output, custom, stock */

/* What a dump holds. Views live as long as the dump. */
typedef struct fields {
    fp8moe_inputs inputs;
    fp8moe_tensor correction_bias; /* e_score_correction_bias */
    field_output outputs[FIELD_MAX_OUTPUTS];
    size_t output_count;
    fp8moe_tensor
        stages[FP8MOE_STAGE_COUNT]; /* intermediates; ids and weights are inputs instead */
    char *unused;                   /* tensors of no known name, "a, b", or NULL */
} fields;

/*
 * Find the fields of a dump by the names that fields_help() lists. w3 is the down projection of the
 * device's op, while in a checkpoint it is the up projection: its shape must tell, so a square one
 * is refused. --name FIELD=NAME overrides; otherwise two names for one field are an error.
 *
 * @return OK; USAGE (ambiguous names, --name that names no field), NOT_FOUND (--name, no such
 * tensor)
 */
fp8moe_status fields_find(fp8moe_dump *dump, const options *given, fields *out, fp8moe_error *err);
void fields_free(fields *found);

/* Whether a name stands for a field, an output or an intermediate. */
bool fields_knows(const char *name);

/* The names understood, for `fp8moe help names`. */
void fields_help(buffer *out);

#endif

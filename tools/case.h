/* Case files: layers to verify, written down once. YAML; the keys are the options' words with "_".
 */
#ifndef FP8MOE_TOOLS_CASE_H
#define FP8MOE_TOOLS_CASE_H

#include "options.h"

/* One layer of a case file. */
typedef struct case_layer {
    char *name;   /* or NULL */
    char **files; /* relative ones start at the case file's folder */
    size_t file_count;
    options given; /* the command line's options, then the layer's, then those for all layers */
    char *expect;  /* "same", "different", "inconclusive", or NULL */
} case_layer;

typedef struct case_file {
    case_layer *layers;
    size_t count;
    char **texts; /* what the options point to */
    size_t text_count;
    size_t values; /* given in all layers, those for all layers counted in each */
} case_file;

/* Whether an argument is a case file: its name ends in .yaml or .yml. */
bool case_is_one(const char *path);

/*
 * Read one. `given` is the command line: what it says wins.
 *
 * @return OK; IO, FORMAT (line and column: an unknown or doubled key, a value of the wrong kind, no
 * files, common values times layers beyond 100,000), UNSUPPORTED
 */
fp8moe_status case_read(const char *path, const options *given, case_file *out, fp8moe_error *err);
void case_free(case_file *read);

#endif

/* From the arguments of a command to layers: a container file is a layer of its own, files of one
 * tensor each are grouped by their names, a folder stands for the files in it. */
#ifndef FP8MOE_TOOLS_SOURCES_H
#define FP8MOE_TOOLS_SOURCES_H

#include "cli.h"

/* One layer: one file, or the files of a group. */
typedef struct source {
    char *title; /* the path; for a group what its files' paths start with, and "*" */
    fp8moe_group_member *members; /* of a group; both texts are owned */
    size_t member_count;          /* 0: `title` is a file */
} source;

typedef struct sources {
    source *all;
    size_t count;
    char **skipped; /* files of a folder that are no tensor files */
    size_t skipped_count;
} sources;

/*
 * Find the layers behind paths, in their order (a folder's files by name). A file of one tensor
 * whose stem ends in a known name (layer0_hidden_states.pt, linear_w8a8fp8_input.npy; an `input_`
 * before the name belongs to it) joins the group of what stands before.
 *
 * A file that cannot be opened is a layer too, whose error source_open() gives.
 *
 * @return OK; IO (a folder that cannot be read), USAGE (a model folder: that is what --weights
 * takes), NOT_FOUND (a folder without tensor files)
 */
fp8moe_status sources_find(const char *const *paths, size_t count, sources *out, fp8moe_error *err);
void sources_free(sources *found);

/* Open a layer's dump. Errors name the file. */
fp8moe_status source_open(const source *from, fp8moe_dump **out, fp8moe_error *err);

#endif

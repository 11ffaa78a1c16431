/* What `route` found, finished: the formats print it and compute nothing. */
#ifndef FP8MOE_TOOLS_ROUTE_REPORT_H
#define FP8MOE_TOOLS_ROUTE_REPORT_H

#include "settings.h"

#define ROUTE_WORST 10

/* A token that stands out. Arrays have top_k entries and are owned. */
typedef struct route_token {
    int64_t token;
    fp8moe_route_finding finding; /* but for own_ids */
    int64_t *own_ids;
} route_token;

/* Experts and weights of a token. Arrays have top_k entries and are owned. */
typedef struct route_choice {
    int64_t *ids;
    float *weights;
} route_choice;

#define ROUTE_FLIPS 64 /* kept */
#define ROUTE_FLIPS_SHOWN 5

/* A token that would be routed otherwise if one number were off by at most a bf16 step. */
typedef struct route_flip {
    int64_t token;
    double margin;
    route_choice own, other;
    int64_t out, in;     /* the first expert that goes, and that comes */
    int64_t exchanged;   /* how many come */
    double weight_moved; /* share of the router's weight that goes elsewhere */
    double change;       /* rel-L2 of the token's output; NaN where it was not measured */
} route_flip;

typedef struct route_dump {
    char *file;
    char *layer; /* metadata "layer", or NULL */
    settings settings;
    fp8moe_precision weight_round; /* as the dumped weights are */
    bool has_ids, has_weights;
    fp8moe_route_summary summary;
    route_token worst[ROUTE_WORST]; /* not identical, worst first */
    size_t worst_count;
    route_flip flips[ROUTE_FLIPS]; /* of the smallest margins, the one that changes most first */
    size_t flip_count;
    const char *flip_recipe;           /* under which the change was measured, or NULL */
    fp8moe_cost_load counted, uniform; /* distinct experts on this rank: as dumped, as expected */
    int64_t local_num_experts;
    char *fits; /* other settings under which no token is wrong, "--no-renormalize ...", or NULL */
    cli_exit verdict;
    char *reason;
    char **notes;
    size_t note_count;
} route_dump;

typedef struct route_report {
    route_dump *dumps;
    size_t count;
    cli_exit verdict;
} route_report;

#endif

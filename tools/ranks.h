/* The ranks of one layer, side by side: what `ranks` reads, finds and reports. */
#ifndef FP8MOE_TOOLS_RANKS_H
#define FP8MOE_TOOLS_RANKS_H

#include "report.h"
#include "subject.h"

/* What a rank takes an id for. */
typedef enum rank_ids {
    RANK_IDS_UNKNOWN,
    RANK_IDS_OFFSET,  /* its own window of the model's experts */
    RANK_IDS_DIRECT,  /* an index of its local list */
    RANK_IDS_SHIFTED, /* another rank's window */
    RANK_IDS_EAGER    /* as direct, in the vendor's eager decomposition */
} rank_ids;

/* "offset", "direct", "shifted", "eager", or NULL. */
const char *rank_ids_name(rank_ids ids);

typedef struct rank_row {
    subject_dump subject;
    const char *file;
    int64_t rank, slice;  /* in the expert-parallel and in the tensor-parallel group */
    int64_t first, count; /* its window of experts */
    fp8moe_tensor output; /* its part of the layer's */

    int64_t tokens, top_k;
    int64_t *ids;      /* [tokens, top_k] global */
    double *weights;   /* [tokens, top_k] */
    bool *returned;    /* [tokens] a row of the output that is not all zero */
    double mass;       /* routed weight in the window, in magnitude */
    double energy;     /* sum of squares of its output, as far as it is finite */
    int64_t nonfinite; /* values that are not */
    int64_t lost;      /* tokens with weight here, but a row of zeros */
    int64_t stray;     /* tokens without, but a row that is not */

    const fp8moe_recipe *recipe; /* it was judged by, or NULL */
    fp8moe_judgement judgement;
    char *unjudged; /* why it was not */

    bool has_pair; /* it holds both stock and custom: their maxima as upstream measures them */
    double ulp, relative;

    rank_ids meaning;
    int64_t acts_as; /* the rank whose window its output answers to, or -1 */
    char *part;      /* what part of a layer its output looks like, or NULL */
    char *finding;   /* or NULL */
} rank_row;

/* Experts that no dump holds. */
typedef struct ranks_gap {
    int64_t first, last;
    double mass; /* routed there */
} ranks_gap;

typedef struct ranks_job {
    rank_row *rows;
    size_t count;
    int64_t num_experts; /* of the model */
    double mass, energy; /* routed at all; of all outputs */
    bool looks_sliced;   /* one window many times: tensor-parallel slices, though nobody said so */
    ranks_gap *gaps;
    size_t gap_count;
    int64_t missing_slices; /* of the first rank, where a dump says how many there are */

    double *sum;  /* of all outputs, in float64 */
    int64_t size; /* elements of an output */
    bool has_reduced;
    double distance;      /* rel-L2 of the sum from the reduced output */
    double allowed;       /* what bf16 additions in any order may make of it */
    char *reduced_reason; /* what the reduced output is instead, or NULL */

    bool has_pair;
    double ulp, relative; /* maxima over the ranks, where one NaN makes a maximum NaN */

    cli_exit verdict;
    char *reason;
} ranks_job;

/*
 * Open one rank's dump: its window, routing and output, and what weight and output have to do with
 * each other.
 *
 * @return OK; as subject_open(); USAGE, NOT_FOUND, SHAPE where it is no rank's dump
 */
fp8moe_status ranks_open(const source *from, const options *given, rank_row *row,
                         fp8moe_error *err);
void ranks_close(rank_row *row);

/* Tokens whose output contradicts a window of experts: zero in spite of weight, or the reverse. */
void ranks_contradictions(const rank_row *row, int64_t first, int64_t count, int64_t *lost,
                          int64_t *stray);
/* Routed weight in a window, in magnitude. */
double ranks_mass(const rank_row *row, int64_t first, int64_t count);

/* Judge a rank by its recipe, where it has one and its weights, and find whose window its output
 * answers to. */
fp8moe_status ranks_judge(rank_row *row, int64_t num_experts, fp8moe_error *err);

/* What stands out once all ranks are there: findings, gaps, slices. */
void ranks_find(ranks_job *job);

/* The sum of all outputs; the reduced one held against it; upstream's maxima. */
fp8moe_status ranks_add_up(ranks_job *job, fp8moe_error *err);
fp8moe_status ranks_hold_reduced(ranks_job *job, const char *path, fp8moe_error *err);

void ranks_print_text(const ranks_job *job, buffer *out);
void ranks_print_json(const ranks_job *job, buffer *out);

#endif

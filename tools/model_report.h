/* What is said of a model folder, finished: inspect FOLDER and verify --prep. */
#ifndef FP8MOE_TOOLS_MODEL_REPORT_H
#define FP8MOE_TOOLS_MODEL_REPORT_H

#include "report.h"

#include <fp8moe/checkpoint.h>
#include <fp8moe/prepare.h>

/* ---- inspect FOLDER: fp8moe.model/1 ---- */

typedef struct model_layer {
    const fp8moe_checkpoint_layer *names;
    fp8moe_status status;
    fp8moe_moe_form form; /* where it is OK */
    char *problem;        /* where it is not */
} model_layer;

typedef struct model_report {
    const char *folder;
    const fp8moe_checkpoint *model; /* open: the names are its own */
    model_layer *layers;
    size_t layer_count;
} model_report;

/* Whether its scales stand for blocks: [rows, columns] of more than one column. */
bool model_is_blockwise(const fp8moe_moe_form *form);

/* "blocks of 128 x 128", "one a row", "one a matrix", "none": of gate and down alike. */
const char *model_scale_text(const fp8moe_model_config *config, const fp8moe_moe_form *form,
                             char text[64]);

/* Whether two layers look alike but for their number. */
bool model_alike(const model_layer *a, const model_layer *b);

/* Group sizes at which every rank's slice keeps whole scale blocks, up to 64; returns how many. */
size_t model_tensor_ranks(const fp8moe_model_config *config, const fp8moe_moe_form *form,
                          int64_t out[64]);

/* ---- verify --prep: fp8moe.prepared/1 ---- */

typedef struct prep_report {
    const char *file; /* the dump */
    const char *folder;
    char **notes; /* of the model folder */
    size_t note_count;
    settings settings;
    const fp8moe_target *target; /* that is said to have prepared them, or NULL */
    verdict verdict;
    char *reason;
    fp8moe_prepared_report found;
    double seconds;
    int threads;
} prep_report;

/* Verdict and reason: same where every scale lies within one bf16 step, and every code within one
 * of E4M3, of what one way of computing gives. */
void prep_decide(prep_report *prep);

/* ---- formats ---- */

void text_model(const model_report *data, buffer *out);
void text_prep(const prep_report *data, buffer *out);
void json_model(const model_report *data, buffer *out);
void json_prep(const prep_report *data, buffer *out);

#endif

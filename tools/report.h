/* What a command found, finished, and the formats that print it. A format computes nothing. */
#ifndef FP8MOE_TOOLS_REPORT_H
#define FP8MOE_TOOLS_REPORT_H

#include "policy.h"
#include "settings.h"

#include <fp8moe/judge.h>

/* ---- verify and compare: fp8moe.report/1 ---- */

typedef enum verdict {
    VERDICT_SAME,
    VERDICT_INCONCLUSIVE,
    VERDICT_DIFFERENT,
    VERDICT_ERROR
} verdict;

/* "same", "inconclusive", "different"; "error" for a dump that could not be judged. */
const char *verdict_name(verdict v);

/* Who chose a tensor's recipe. */
typedef enum recipe_source {
    RECIPE_NONE,
    RECIPE_OPTION,
    RECIPE_METADATA,
    RECIPE_NAME,
    RECIPE_AUTO
} recipe_source;
const char *
recipe_source_name(recipe_source source); /* "option", "metadata", "name", "auto"; NULL for NONE */

/* A recipe that auto tried, or could not try. */
typedef struct report_candidate {
    const fp8moe_recipe *recipe;
    double identical_share;
    int64_t beyond;
    char *unfit; /* why it was not tried, or NULL */
} report_candidate;

/* Two tensors held against each other. */
typedef struct report_tensor {
    char *name;
    fp8moe_tensor form;          /* dtype and shape of what was dumped, without data */
    const fp8moe_recipe *recipe; /* NULL in compare */
    fp8moe_evidence evidence;    /* of that row on the dump's target */
    recipe_source source;
    verdict verdict;
    char *reason;
    fp8moe_comparison comparison;
    bool judged; /* verify: */
    fp8moe_judgement judgement;
    int repeats;          /* captures of the same input held against this one */
    double repeat_spread; /* the largest rel-L2 between them: the device's own noise */
    policy policy;
    policy_sight sight;           /* of the policy, where it decided: what it would have failed */
    report_candidate *candidates; /* of auto, best first, then the unfit */
    size_t candidate_count;
} report_tensor;

/* An intermediate of a run. */
typedef struct report_stage {
    const fp8moe_recipe *recipe;
    fp8moe_stage stage;
    char hash[FP8MOE_FINGERPRINT_SIZE];
    bool from_dump; /* --from */
    bool dumped;    /* the dump holds it too: */
    int64_t compared, padding, identical;
} report_stage;

typedef struct report_dump {
    char *file;
    char *reference; /* compare: what it is held against; NULL in verify */
    char *layer;     /* metadata "layer", or NULL */
    bool has_settings;
    settings settings;
    const fp8moe_target *target; /* or NULL */
    verdict verdict;
    char *reason;
    char *expected; /* verdict a case file expects, or NULL */
    report_tensor *tensors;
    size_t tensor_count;
    bool has_pair; /* custom against stock: as dumped, and as their recipes predict */
    fp8moe_comparison pair_seen, pair_predicted;
    report_stage *stages;
    size_t stage_count;
    char **notes;
    size_t note_count;
} report_dump;

typedef struct report {
    const char *command;
    verdict verdict;
    char *reason;
    report_dump *dumps;
    size_t dump_count;
    double seconds;
    int threads; /* 0: no layer was run */
} report;

/* Growing them; the returned place is valid until the next call on the same owner. */
report_dump *report_add_dump(report *owner, const char *file);
report_tensor *report_add_tensor(report_dump *owner, const char *name, const fp8moe_tensor *tensor);
report_candidate *report_add_candidate(report_tensor *owner, const fp8moe_recipe *recipe);
report_stage *report_add_stage(report_dump *owner, const fp8moe_recipe *recipe, fp8moe_stage stage);
void report_add_note(report_dump *owner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_free(report *owner);

/* Verdict and reason of a dump from its tensors, of a report from its dumps: the worst. */
void report_judge_dump(report_dump *dump);
void report_judge(report *whole);

/* How a stage is called: by its name alone where the dump's outputs needed one recipe,
 * "RECIPE.STAGE" else. */
char *report_stage_name(const report_dump *dump, const report_stage *stage);

/* Share of a dumped stage's elements, padding apart, that are identical to those computed. */
double report_stage_share(const report_stage *stage);

/* ---- run, synth and prepare: fp8moe.run/1, fp8moe.synth/1, fp8moe.prepare/1 ---- */

typedef struct written_tensor {
    char *name;
    fp8moe_tensor form; /* dtype and shape, without data */
    char hash[FP8MOE_FINGERPRINT_SIZE];
} written_tensor;

typedef struct written {
    const char *command;
    const char *input; /* the dump or model folder, or NULL */
    const char *output;
    const fp8moe_recipe *recipe; /* NULL: nothing was run */
    settings settings;
    written_tensor *tensors;
    size_t tensor_count;
    double seconds;
    int threads;
} written;

void written_add(written *owner, const char *name, const fp8moe_tensor *tensor, const char *hash);
void written_free(written *owner);

/* ---- inspect: fp8moe.inspect/1 ---- */

#define HISTOGRAM_BINS 32

typedef struct inspected_tensor {
    const char *name;
    fp8moe_tensor form; /* dtype and shape, without data */
    int64_t offset;     /* in the file, or -1 */
    int64_t count;
    bool numeric; /* the rest is known */
    int64_t nan, inf, zero;
    int64_t tiny; /* finite elements with a magnitude below 2^-10, which unscaled E4M3 reads as 0 */
    double amax;  /* over finite elements */
    int bins;     /* FP8 only: codes by exponent field */
    int64_t histogram[HISTOGRAM_BINS];
    int64_t beyond_240; /* E4M3: codes 0x78 and above, not finite on gaudi2 */
} inspected_tensor;

typedef struct inspected {
    const char *file;
    const char *format;
    const fp8moe_dump *dump; /* for its metadata */
    inspected_tensor *tensors;
    size_t tensor_count;
} inspected;

/* Share of a tensor's elements that are finite and below 2^-10; 0 of none. */
double inspected_share(const inspected_tensor *tensor);

/* ---- doctor: fp8moe.doctor/1 ---- */

typedef struct doctor_check {
    const char *name;
    bool fit;
    char *found; /* in words */
} doctor_check;

typedef struct doctor {
    bool fit;
    doctor_check *checks;
    size_t check_count;
} doctor;

/* ---- formats ---- */

/* Of commands with a header of their own. */
struct gate_report;
struct route_report;
struct upstream_tree;
struct server_logs;
struct model_report;
struct prep_report;

/* How one format prints each kind of data. A new format is one const record in one file. */
typedef struct report_format {
    const char *name;
    void (*report)(const report *data, buffer *out);
    void (*written)(const written *data, buffer *out);
    void (*inspected)(const inspected *data, buffer *out);
    void (*recipes)(const fp8moe_recipe *only, buffer *out); /* NULL: all rows, and the targets */
    void (*doctor)(const doctor *data, buffer *out);
    void (*gate)(const struct gate_report *data, buffer *out);
    void (*route)(const struct route_report *data, buffer *out);
    void (*status)(const struct upstream_tree *data, buffer *out);
    void (*log)(const struct server_logs *data, buffer *out);
    void (*model)(const struct model_report *data, buffer *out);
    void (*prep)(const struct prep_report *data, buffer *out);
} report_format;

extern const report_format report_text, report_json;

/* The format of --format; USAGE where there is none of that name. */
fp8moe_status report_format_find(const options *given, const report_format **out,
                                 fp8moe_error *err);

/* Send a finished report where -o says, else to standard output, and free it. Not CLI_SAME where it
 * cannot be written. */
cli_exit report_send(const options *given, buffer *out);

/* The same for run, synth and prepare, whose -o took the tensors: to standard output. */
cli_exit written_send(const report_format *format, const written *data);

#endif

/* The settings of a run and where each came from: an option, a case file, the file's metadata, the
 * model folder, what the tensors show, or a default. */
#ifndef FP8MOE_TOOLS_SETTINGS_H
#define FP8MOE_TOOLS_SETTINGS_H

#include "fields.h"

typedef enum setting_source {
    SOURCE_UNKNOWN, /* nobody said, and nothing needs it so far */
    SOURCE_OPTION,
    SOURCE_CASE,
    SOURCE_METADATA,
    SOURCE_MODEL, /* the model folder of --weights */
    SOURCE_INFERRED,
    SOURCE_DEFAULT
} setting_source;

/* "option" ... NULL for UNKNOWN. */
const char *setting_source_name(setting_source source);

/* One setting. Its name is its option's without dashes, "-" as "_": also its key in metadata. */
typedef enum setting_id {
    SETTING_OP,
    SETTING_TARGET,
    SETTING_RECIPE,
    SETTING_WEIGHTS_STAGE,
    SETTING_TOP_K,
    SETTING_NUM_EXPERTS,
    SETTING_LOCAL_NUM_EXPERTS,
    SETTING_EP_RANK,
    SETTING_EP_SIZE,
    SETTING_TP_RANK,
    SETTING_TP_SIZE,
    SETTING_RENORMALIZE,
    SETTING_SCORING_FUNC,
    SETTING_N_GROUP,
    SETTING_TOPK_GROUP,
    SETTING_ROUTED_SCALING_FACTOR,
    SETTING_REPLICATE_EXPERT,
    SETTING_WEIGHT_BLOCK_SIZE,
    SETTING_COUNT
} setting_id;

/* How a value is written in JSON. */
typedef enum setting_kind {
    SETTING_WORD,
    SETTING_INTEGER,
    SETTING_NUMBER,
    SETTING_SWITCH
} setting_kind;

typedef struct setting {
    setting_source source;
    char text[40];   /* the value as an option would spell it; "" for UNKNOWN */
    int64_t integer; /* of INTEGER and SWITCH */
    double number;   /* of NUMBER */
} setting;

typedef struct settings {
    setting value[SETTING_COUNT];
} settings;

const char *setting_name(setting_id id);
setting_kind setting_kind_of(setting_id id);

/* Whether the op that is set has such a setting: a linear has no router. */
bool settings_has(const settings *all, setting_id id);

/*
 * Take each setting from its option, else from the metadata of `dump` (may be NULL), else its
 * default.
 *
 * @return OK; USAGE for an option's value that is not legal, VALUE (naming the file) for one of the
 *         metadata
 */
fp8moe_status settings_find(const options *given, const fp8moe_dump *dump, settings *out,
                            fp8moe_error *err);

/* Fill in what is unknown or a default: text as an option would spell it. */
void settings_fill(settings *all, setting_id id, const char *text, setting_source source);

/* The same where the dump's metadata speaks of something else: only what the user said stands. */
void settings_replace(settings *all, setting_id id, const char *text, setting_source source);

/* What the tensors show: the op, and sizes of an expert-parallel group from each other. USAGE where
 * they contradict. */
fp8moe_status settings_complete(settings *all, const fields *found, fp8moe_error *err);

/* What an opened layer turned out to be. */
void settings_from_layer(settings *all, const fp8moe_layer_info *info);

/* The configuration of a layer, but for its recipe; `found` may be NULL. */
void settings_config(const settings *all, const options *given, const fields *found,
                     fp8moe_config *out);

/* Check the values of --threads and --isa. */
fp8moe_status settings_check_machine(const options *given, fp8moe_error *err);

/* Workers to use: --threads, else all processors. */
int settings_threads(const options *given);

/* The op that is set. */
fp8moe_op settings_op(const settings *all);

/* Every setting that is known, as metadata to write; returns how many. Texts live as long as `all`.
 */
size_t settings_as_metadata(const settings *all, fp8moe_metadata out[SETTING_COUNT]);

/* After fp8moe_layer_open() failed: add to a USAGE error which options would help. */
void settings_hint(const settings *all, const fp8moe_inputs *inputs, fp8moe_error *err);

#endif

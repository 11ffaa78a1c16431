/* A dump made ready to run: opened, its fields found, its settings resolved. */
#ifndef FP8MOE_TOOLS_SUBJECT_H
#define FP8MOE_TOOLS_SUBJECT_H

#include "model_weights.h"
#include "sources.h"
#include "watch.h"

#include <fp8moe/judge.h>

typedef struct subject_dump {
    fp8moe_dump *dump;
    const options *given;
    fields fields;
    settings settings;
    model_weights weights; /* of --weights */
} subject_dump;

/* The options that hold for every dump alike, checked once before any is opened. */
fp8moe_status subject_check_options(const options *given, fp8moe_error *err);

/* Open a layer's file or files and apply --as to its tensors; used by every command that reads one.
 */
fp8moe_status subject_open_file(const source *from, const options *given, fp8moe_dump **out,
                                fp8moe_error *err);

/* Open, find fields and settings. The caller closes it either way. Errors name the file. */
fp8moe_status subject_open(const source *from, const options *given, subject_dump *out,
                           fp8moe_error *err);
void subject_close(subject_dump *subject);

/*
 * Run a dump under a recipe, with the stages of --from taken from the dump.
 *
 * @return OK; as fp8moe_layer_open(), fp8moe_layer_from() and fp8moe_layer_run(); NOT_FOUND where
 * the dump lacks a stage of --from
 */
fp8moe_status subject_run(const subject_dump *subject, const fp8moe_recipe *recipe, watch *seen,
                          fp8moe_layer_info *info, fp8moe_error *err);

/*
 * Whether a recipe of the dump's op can take its tensors and the stages of --from; where not, `err`
 * holds the reason although the status is OK.
 *
 * @return OK; USAGE where that cannot be told before the user gives a setting: `err` asks for it
 */
fp8moe_status subject_fits(const subject_dump *subject, const fp8moe_recipe *recipe, bool *fits,
                           fp8moe_error *err);

/*
 * Judge an output of the dump under a recipe; its open axes are tried. `output` receives what was
 * computed under the recipe it was judged by, as many numbers as `dumped` has. Errors name the
 * file.
 */
fp8moe_status subject_judge(const subject_dump *subject, const fp8moe_recipe *recipe,
                            const fp8moe_tensor *dumped, const fp8moe_judge_options *judging,
                            double *output, fp8moe_judgement *out, fp8moe_error *err);

#endif

/* What inspect and verify do with a model folder. */
#ifndef FP8MOE_TOOLS_MODEL_COMMANDS_H
#define FP8MOE_TOOLS_MODEL_COMMANDS_H

#include "report.h"

/* Whether an operand is a folder. */
bool model_is_folder(const char *path);

/* inspect FOLDER: its layers with experts, none of their data. */
cli_exit inspect_model(const options *given, const report_format *format);

/* verify --prep: the prepared weights of a dump against the model folder they were made from. */
cli_exit verify_prep(const options *given, const report_format *format);

#endif

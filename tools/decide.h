/* From two tensors to a verdict in words: what verify and compare share. */
#ifndef FP8MOE_TOOLS_DECIDE_H
#define FP8MOE_TOOLS_DECIDE_H

#include "report.h"

/* The settings of a comparison from the options. USAGE for an unknown grid. */
fp8moe_status decide_options(const options *given, fp8moe_compare_options *out, fp8moe_error *err);

/* Verdict and reason of a tensor: the judge's where it was judged and the policy is strict, else
 * the policy's from the comparison. */
void decide_tensor(report_tensor *tensor);

/* The settings of a judgement from --rows and --worst-case. USAGE for what is no range. */
fp8moe_status decide_judge_options(const options *given, fp8moe_judge_options *out,
                                   fp8moe_error *err);

/* Check the value of --inconclusive. */
fp8moe_status decide_check(const options *given, fp8moe_error *err);

/* Whether an F32 tensor holds bf16 numbers: all its low halves are zero. */
bool decide_holds_bf16(const fp8moe_tensor *tensor);

/* Print the report, say what could not be judged, and end: the worst of all counts. `failures` is
 * the worst exit code of the dumps that could not be judged. */
cli_exit decide_finish(const options *given, const report_format *format, report *whole,
                       cli_exit failures);

#endif

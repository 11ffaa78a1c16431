/* What counts as the same: the verdict of the judge, or somebody's bar. */
#ifndef FP8MOE_TOOLS_POLICY_H
#define FP8MOE_TOOLS_POLICY_H

#include "options.h"
#include "yaml_tree.h"

typedef enum policy_rule {
    POLICY_STRICT,   /* verify: the judge; compare: non-finites agree, 99 % identical, none far */
    POLICY_UPSTREAM, /* no in-range FP8-ULP above 2, no out-of-range relative error above 0.05 */
    POLICY_ULP       /* non-finites agree, no FP8 step above N on the grid */
} policy_rule;

typedef struct policy {
    policy_rule rule;
    double steps; /* of ULP */
} policy;

/* What --policy says. */
typedef struct policies {
    policy one;      /* of every tensor, where there is no file */
    yaml_node rules; /* of a file: a list of {match: NAME*, policy: ...}, first match wins */
    bool from_file;
} policies;

/* --policy strict|upstream|ulp:N|FILE.yaml. USAGE for anything else; FORMAT for a file's mistakes.
 */
fp8moe_status policies_find(const options *given, policies *out, fp8moe_error *err);
void policies_free(policies *read);

/* The policy of a tensor's name; strict where no rule of a file matches. */
policy policies_of(const policies *all, const char *tensor);

/* "strict", "upstream", "ulp:2". The caller frees it. */
char *policy_name(const policy *p);

/* Whether the bar is kept. */
bool policy_passes(const policy *p, const fp8moe_comparison *comparison);

/* The smallest faults a bar would have failed; infinity where it passes them all. */
typedef struct policy_sight {
    double gain_down, gain_up; /* uniform gain errors, e.g. 0.3 */
    bool zero;                 /* an output of nothing but zeros */
} policy_sight;

/* Whether a pass under the bar says anything: strictly a 2 % gain error must fail, under a looser
 * bar at least one of 50 %, and zeros under both. */
bool policy_is_blind(const policy *p, const policy_sight *sight);

/* Hold planted faults of `expected`, in its own dtype, to the bar. */
fp8moe_status policy_look(const policy *p, const fp8moe_tensor *expected,
                          const fp8moe_compare_options *comparing, policy_sight *out,
                          fp8moe_error *err);

#endif

/* What the JSON of several commands shares. */
#ifndef FP8MOE_TOOLS_REPORT_JSON_H
#define FP8MOE_TOOLS_REPORT_JSON_H

#include "json_out.h"
#include "settings.h"

/* "settings": each with its value and source, as data/settings.schema.json has it. */
void json_settings(emitter *json, const settings *all);

#endif

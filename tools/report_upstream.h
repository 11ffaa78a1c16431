/* The formats of the commands that tell what upstream decides and writes: gate, route, status, log.
 */
#ifndef FP8MOE_TOOLS_REPORT_UPSTREAM_H
#define FP8MOE_TOOLS_REPORT_UPSTREAM_H

#include "gate_report.h"
#include "report.h"
#include "route_report.h"
#include "server_log.h"
#include "upstream.h"

void text_gate(const gate_report *data, buffer *out);
void text_route(const route_report *data, buffer *out);
void text_status(const upstream_tree *data, buffer *out);
void text_logs(const server_logs *data, buffer *out);

void json_gate(const gate_report *data, buffer *out);
void json_route(const route_report *data, buffer *out);
void json_status(const upstream_tree *data, buffer *out);
void json_logs(const server_logs *data, buffer *out);

#endif

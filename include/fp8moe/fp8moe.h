/**
 * @file fp8moe.h
 * Everything: did this device compute this FP8 mixture-of-experts layer correctly?
 */
#ifndef FP8MOE_FP8MOE_H
#define FP8MOE_FP8MOE_H

#include <fp8moe/buckets.h>
#include <fp8moe/checkpoint.h>
#include <fp8moe/compare.h>
#include <fp8moe/config_file.h>
#include <fp8moe/cost.h>
#include <fp8moe/dump.h>
#include <fp8moe/fingerprint.h>
#include <fp8moe/gate.h>
#include <fp8moe/isa.h>
#include <fp8moe/judge.h>
#include <fp8moe/moe.h>
#include <fp8moe/prepare.h>
#include <fp8moe/profile.h>
#include <fp8moe/route.h>
#include <fp8moe/route_check.h>
#include <fp8moe/status.h>
#include <fp8moe/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** "0.1.0". */
FP8MOE_API const char *fp8moe_version(void);

#ifdef __cplusplus
}
#endif

#endif

/**
 * @file status.h
 * What a call returns and what an error says.
 *
 * Every call that can fail returns an fp8moe_status and takes an fp8moe_error as its last
 * argument: a code to branch on, a sentence to read, a place to look. `err` may be NULL. A caller's
 * bug (a NULL where none may be) is an assert; bad data is a status.
 */
#ifndef FP8MOE_STATUS_H
#define FP8MOE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define FP8MOE_API
#elif defined(__GNUC__)
#define FP8MOE_API __attribute__((visibility("default")))
#else
#define FP8MOE_API
#endif

/** Kinds of failure. Values are stable. */
typedef enum fp8moe_status {
    FP8MOE_OK = 0,
    FP8MOE_ERR_USAGE = 1,       /**< settings that contradict each other or are missing */
    FP8MOE_ERR_IO = 2,          /**< the system would not open, read or write a file */
    FP8MOE_ERR_FORMAT = 3,      /**< the file breaks the rules of its format */
    FP8MOE_ERR_UNSUPPORTED = 4, /**< legal, but nothing this library reads or emulates */
    FP8MOE_ERR_NOT_FOUND = 5,   /**< no tensor, key or row of that name */
    FP8MOE_ERR_SHAPE = 6,       /**< a tensor's shape does not fit the others */
    FP8MOE_ERR_DTYPE = 7,       /**< a tensor's dtype is not one the field takes */
    FP8MOE_ERR_VALUE = 8,       /**< a number out of range, a NaN where none may be */
    FP8MOE_ERR_NOMEM = 9,       /**< out of memory */
    FP8MOE_ERR_INTERNAL = 10    /**< a bug of this library, or arithmetic unfit for it */
} fp8moe_status;

/** One failure. Filled only when a call does not return FP8MOE_OK. */
typedef struct fp8moe_error {
    fp8moe_status status;
    char message[512]; /**< one sentence, without file and tensor */
    char file[512];    /**< path, or "" */
    char tensor[256];  /**< tensor name, or "" */
    int64_t offset;    /**< byte offset in the file, or -1 */
} fp8moe_error;

/** Name of a status, e.g. "shape". Never NULL. Thread-safe. */
FP8MOE_API const char *fp8moe_status_name(fp8moe_status status);

#ifdef __cplusplus
}
#endif

#endif

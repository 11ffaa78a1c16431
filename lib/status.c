#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *fp8moe_status_name(fp8moe_status status)
{
    static const char *const names[] = {"ok",          "usage",     "io",      "format",
                                        "unsupported", "not found", "shape",   "dtype",
                                        "value",       "memory",    "internal"};
    const size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}

static void copy_text(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text);
}

static fp8moe_status fill(fp8moe_error *err, fp8moe_status status, const char *tensor,
                          int64_t offset, const char *format, va_list args)
{
    assert(status != FP8MOE_OK);
    if (!err) return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    err->offset = offset;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    copy_text(err->tensor, sizeof err->tensor, tensor ? tensor : "");
    return status;
}

fp8moe_status fail(fp8moe_error *err, fp8moe_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, NULL, -1, format, args);
    va_end(args);
    return status;
}

fp8moe_status fail_at(fp8moe_error *err, fp8moe_status status, const char *tensor, int64_t offset,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, tensor, offset, format, args);
    va_end(args);
    return status;
}

fp8moe_status error_in_file(fp8moe_error *err, fp8moe_status status, const char *file)
{
    if (err && status != FP8MOE_OK && !err->file[0]) copy_text(err->file, sizeof err->file, file);
    return status;
}

fp8moe_status error_in_tensor(fp8moe_error *err, fp8moe_status status, const char *tensor)
{
    if (err && status != FP8MOE_OK && !err->tensor[0])
        copy_text(err->tensor, sizeof err->tensor, tensor);
    return status;
}

bool checked_mul(int64_t a, int64_t b, int64_t *out)
{
    assert(a >= 0 && b >= 0);
    if (b != 0 && a > INT64_MAX / b) return false;
    *out = a * b;
    return true;
}

bool checked_add(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

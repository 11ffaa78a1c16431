/* What tests of every file format ask of an open dump. */
#ifndef FP8MOE_TESTS_DUMP_CHECKS_H
#define FP8MOE_TESTS_DUMP_CHECKS_H

#include "shared_folder.h"

#include <fp8moe/dump.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static inline fp8moe_dump *open_ok(const char *path, const char *format)
{
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    if (fp8moe_dump_open(path, &dump, &err) != FP8MOE_OK) fail_msg("%s: %s", path, err.message);
    assert_string_equal(fp8moe_dump_format(dump), format);
    assert_string_equal(fp8moe_dump_path(dump), path);
    return dump;
}

/* A file of the case list, or NULL where the test is to be skipped. */
static inline fp8moe_dump *open_case(const char *file, const char *format)
{
    char relative[128], path[512];
    (void)snprintf(relative, sizeof relative, "cases/files/%s", file);
    return shared_path(path, sizeof path, relative) ? open_ok(path, format) : NULL;
}

static inline fp8moe_tensor tensor_named(fp8moe_dump *dump, const char *name)
{
    fp8moe_tensor tensor = {0};
    fp8moe_error err;
    const int64_t index = fp8moe_dump_find(dump, name);
    if (index < 0) fail_msg("no tensor %s", name);
    assert_string_equal(fp8moe_dump_name(dump, (size_t)index), name);
    if (fp8moe_dump_tensor(dump, (size_t)index, &tensor, &err) != FP8MOE_OK)
        fail_msg("%s: %s", name, err.message);
    return tensor;
}

/* All values of a tensor of at most 64 elements, in C order. */
static inline void expect_values(const fp8moe_tensor *tensor, const double *want, int64_t count)
{
    double got[64];
    assert_int_equal(fp8moe_tensor_count(tensor), count);
    fp8moe_tensor_read_f64(tensor, 0, count, got);
    for (int64_t i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("element %d: want %.17g, got %.17g", (int)i, want[i], got[i]);
}

static inline void expect_shape(const fp8moe_tensor *tensor, const char *want)
{
    char got[256];
    assert_string_equal(fp8moe_tensor_shape_text(tensor, got, sizeof got), want);
}

/* One tensor of a dump: dtype, shape and values. */
static inline void expect_tensor(fp8moe_dump *dump, const char *name, fp8moe_dtype dtype,
                                 const char *shape, const double *values, int64_t count)
{
    const fp8moe_tensor tensor = tensor_named(dump, name);
    assert_int_equal(tensor.dtype, dtype);
    expect_shape(&tensor, shape);
    expect_values(&tensor, values, count);
}

/* A file of the case list that must be refused; false where the test is to be skipped. */
static inline bool refused_case(const char *file, fp8moe_status status, const char *sentence)
{
    char relative[128], path[512];
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    (void)snprintf(relative, sizeof relative, "cases/files/%s", file);
    if (!shared_path(path, sizeof path, relative)) return false;
    assert_int_equal(fp8moe_dump_open(path, &dump, &err), status);
    assert_string_equal(err.message, sentence);
    assert_string_equal(err.file, path);
    return true;
}

#endif

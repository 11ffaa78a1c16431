/* Folders, files and errors for the tests of model folders. */
#ifndef FP8MOE_TESTS_MODEL_FOLDERS_H
#define FP8MOE_TESTS_MODEL_FOLDERS_H

#include <fp8moe/checkpoint.h>
#include <fp8moe/dump.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static char base[] = "/tmp/fp8moe-test-XXXXXX";

/* ---- folders ---- */

static inline int make_base(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static inline int remove_base(void **state)
{
    char command[64];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* A new folder below the base; valid until the next call. */
static inline const char *new_folder(void)
{
    static char folder[64];
    static int number;
    (void)snprintf(folder, sizeof folder, "%s/%d", base, number++);
    assert_int_equal(mkdir(folder, 0755), 0);
    return folder;
}

static inline const char *in(const char *folder, const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    assert_int_equal(fp8moe_file_write(in(folder, name), text, strlen(text), NULL), FP8MOE_OK);
}

static inline void write_tensors(const char *folder, const char *name,
                                 const fp8moe_named_tensor *tensors, size_t count)
{
    assert_int_equal(fp8moe_safetensors_write(in(folder, name), tensors, count, NULL, 0, NULL),
                     FP8MOE_OK);
}

static inline void write_one(const char *path_folder, const char *name)
{
    static const float value = 1;
    static const int64_t shape[1] = {1};
    const fp8moe_named_tensor tensor = {"w",
                                        fp8moe_tensor_view(&value, FP8MOE_DTYPE_F32, 1, shape)};
    write_tensors(path_folder, name, &tensor, 1);
}

static inline fp8moe_checkpoint *open_ok(const char *folder)
{
    fp8moe_checkpoint *model = NULL;
    fp8moe_error err;
    if (fp8moe_checkpoint_open(folder, &model, &err) != FP8MOE_OK)
        fail_msg("%s: %s", err.file, err.message);
    return model;
}

static inline void expect_error(const fp8moe_error *err, fp8moe_status status, fp8moe_status want,
                                const char *file, const char *tensor, const char *sentence)
{
    if (status != want || !strstr(err->message, sentence) || !strstr(err->file, file) ||
        strcmp(err->tensor, tensor) != 0)
        fail_msg("got %s, file '%s', tensor '%s': %s\n  wanted %s, file '%s', tensor '%s': %s",
                 fp8moe_status_name(status), err->file, err->tensor, err->message,
                 fp8moe_status_name(want), file, tensor, sentence);
}

static inline void expect_open_error(const char *folder, fp8moe_status want, const char *file,
                                     const char *sentence)
{
    fp8moe_checkpoint *model = NULL;
    fp8moe_error err;
    const fp8moe_status status = fp8moe_checkpoint_open(folder, &model, &err);
    if (status == FP8MOE_OK) fail_msg("opened, wanted: %s", sentence);
    expect_error(&err, status, want, file, "", sentence);
    assert_null(model);
}

#endif

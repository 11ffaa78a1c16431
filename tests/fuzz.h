/* What every fuzz target has in common. A target is one LLVMFuzzerTestOneInput: built with clang's
 * -fsanitize=fuzzer it searches (tests/fuzz.sh), linked with fuzz_replay.c it replays files. */
#ifndef FP8MOE_TESTS_FUZZ_H
#define FP8MOE_TESTS_FUZZ_H

#include <fp8moe/dump.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_require(int condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

/* Every element of a tensor is readable; reading all of a large strided one would take forever. */
static inline void fuzz_read(const fp8moe_tensor *tensor)
{
    enum { PIECE = 512 };
    static double numbers[PIECE];
    static uint64_t raw[PIECE];
    const int64_t count = fp8moe_tensor_count(tensor);
    const int64_t starts[] = {0, count / 2, count - PIECE};
    for (int i = 0; i < 3; i++) {
        const int64_t first = starts[i] < 0 ? 0 : starts[i];
        const int64_t n = count - first < PIECE ? count - first : PIECE;
        if (n <= 0 || fp8moe_dtype_bits(tensor->dtype) < 8) continue;
        fp8moe_tensor_read_raw(tensor, first, n, raw);
        if (fp8moe_dtype_is_numeric(tensor->dtype))
            fp8moe_tensor_read_f64(tensor, first, n, numbers);
    }
}

/* What a header promises of an open dump holds for any file. */
static inline void fuzz_use_dump(fp8moe_dump *dump)
{
    for (size_t i = 0; i < fp8moe_dump_count(dump); i++) {
        fp8moe_tensor tensor;
        fp8moe_error err;
        fuzz_require(fp8moe_dump_find(dump, fp8moe_dump_name(dump, i)) == (int64_t)i, "names find");
        const fp8moe_tensor info = fp8moe_dump_info(dump, i);
        fuzz_require(info.dtype > FP8MOE_DTYPE_NONE && info.dtype < FP8MOE_DTYPE_COUNT, "a dtype");
        (void)fp8moe_dump_set_dtype(dump, i, FP8MOE_DTYPE_F8_E4M3, NULL);
        if (fp8moe_dump_tensor(dump, i, &tensor, &err) == FP8MOE_OK)
            fuzz_read(&tensor);
        else
            fuzz_require(err.message[0] != '\0', "a sentence");
    }
}

static char fuzz_in_memory[] = "/dev/shm/fp8moe-fuzz-XXXXXX",
            fuzz_on_disk[] = "/tmp/fp8moe-fuzz-XXXXXX";
static char *fuzz_path = fuzz_in_memory;

static inline void fuzz_remove_file(void)
{
    (void)unlink(fuzz_path);
}

/* The path of a file of these bytes: one temporary file that is reused. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) {
        fd = mkstemp(fuzz_in_memory);
        if (fd < 0) fd = mkstemp(fuzz_path = fuzz_on_disk);
        (void)atexit(fuzz_remove_file);
    }
    fuzz_require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size,
                 "a temporary file");
    return fuzz_path;
}

/* Open `size` bytes as a dump. */
static inline void fuzz_open_dump(const uint8_t *data, size_t size)
{
    const char *const path = fuzz_file(data, size);
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    const fp8moe_status status = fp8moe_dump_open(path, &dump, &err);
    fuzz_require((status == FP8MOE_OK) == (dump != NULL), "a dump or a status");
    fuzz_require(dump || err.message[0], "a sentence");
    if (dump) fuzz_use_dump(dump);
    fp8moe_dump_close(dump);
}

#endif

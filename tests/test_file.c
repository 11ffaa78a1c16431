/* Files: what is refused, and that a failed write leaves what was there. */
#include "file.h"

#include "limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <fp8moe/dump.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/fp8moe-test-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[2][400];
    static int turn;
    char *const out = path[turn ^= 1];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static void write_plain(const char *path, const void *data, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void expect_refusal(const char *path, const char *sentence)
{
    file_view view = {0};
    fp8moe_error err;
    assert_int_equal(file_open(path, &view, &err), FP8MOE_ERR_IO);
    assert_string_equal(err.message, sentence);
    assert_string_equal(err.file, path);
    assert_null(view.data);
}

static void test_refused_kinds(void **state)
{
    (void)state;
    expect_refusal(folder, "is a directory, not a regular file");
    expect_refusal(in_folder("missing"), "cannot open: no such file or folder (errno 2)");
    expect_refusal("/dev/null", "is a character device, not a regular file");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    expect_refusal(in_folder("fifo"), "is a FIFO, not a regular file"); /* and does not wait */
    write_plain(in_folder("empty"), "", 0);
    expect_refusal(in_folder("empty"), "is empty (0 bytes)");
    expect_refusal(in_folder("empty/below"),
                   "cannot open: a part of the path is not a folder (errno 20)");
}

static void test_unreadable(void **state)
{
    (void)state;
    write_plain(in_folder("secret"), "x", 1);
    assert_int_equal(chmod(in_folder("secret"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    const bool root = geteuid() == 0; /* who reads everything: become nobody for a moment */
    if (root) assert_int_equal(seteuid(65534), 0);
    expect_refusal(in_folder("secret"), "cannot open: permission denied (errno 13)");
    if (root) assert_int_equal(seteuid(0), 0);
}

static void test_too_large(void **state)
{
    char path[] = "/dev/shm/fp8moe-test-XXXXXX"; /* few file systems have files that large */
    const int fd = mkstemp(path);
    (void)state;
    if (fd < 0) skip();
    const int grown = ftruncate(fd, LIMIT_FILE_BYTES + 1);
    (void)close(fd);
    if (grown == 0)
        expect_refusal(path, "is too large: 140737488355329 bytes, at most 140737488355328");
    (void)unlink(path);
    if (grown != 0) skip();
}

static void check_view(size_t size, bool mapped)
{
    const char *const path = in_folder("data");
    uint8_t *const data = malloc(size);
    file_view view = {0};
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    write_plain(path, data, size);
    assert_int_equal(file_open(path, &view, NULL), FP8MOE_OK);
    assert_int_equal(view.size, size);
    assert_int_equal(view.mapped, mapped);
    assert_memory_equal(view.data, data, size);
    file_close(&view);
    assert_null(view.data);
    free(data);
}

static void test_views(void **state)
{
    (void)state;
    check_view(1, false);
    check_view(LIMIT_COPIED_FILE_BYTES - 1, false);
    check_view(LIMIT_COPIED_FILE_BYTES, true);
    check_view(LIMIT_COPIED_FILE_BYTES * 3 + 5, true);
}

/* ---- writing ---- */

static void expect_content(const char *path, const char *want)
{
    file_view view = {0};
    assert_int_equal(file_open(path, &view, NULL), FP8MOE_OK);
    assert_int_equal(view.size, strlen(want));
    assert_memory_equal(view.data, want, strlen(want));
    file_close(&view);
}

static int files_named_temporary(void)
{
    int count = 0;
    DIR *const listing = opendir(folder);
    for (const struct dirent *item; (item = readdir(listing));)
        count += strstr(item->d_name, ".tmp") != NULL;
    (void)closedir(listing);
    return count;
}

static void test_write_and_replace(void **state)
{
    const char *const path = in_folder("out");
    struct stat info;
    (void)state;
    assert_int_equal(fp8moe_file_write(path, "one", 3, NULL), FP8MOE_OK);
    expect_content(path, "one");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(fp8moe_file_write(path, "two!", 4, NULL), FP8MOE_OK);
    expect_content(path, "two!");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(files_named_temporary(), 0);
}

/* What an earlier run with this process number left behind is neither used nor removed. */
static void test_temporary_name_in_use(void **state)
{
    char name[64], left[400];
    (void)state;
    (void)snprintf(name, sizeof name, ".fp8moe-%ld-0.tmp", (long)getpid());
    (void)snprintf(left, sizeof left, "%s/%s", folder, name);
    write_plain(left, "left", 4);
    assert_int_equal(fp8moe_file_write(in_folder("out"), "three", 5, NULL), FP8MOE_OK);
    expect_content(in_folder("out"), "three");
    expect_content(left, "left");
    assert_int_equal(unlink(left), 0);
}

static void test_abandoned_write_keeps_the_old_file(void **state)
{
    const char *const path = in_folder("kept");
    file_writer *writer = NULL;
    (void)state;
    write_plain(path, "old", 3);
    assert_int_equal(file_writer_open(path, &writer, NULL), FP8MOE_OK);
    assert_int_equal(file_writer_add(writer, "new", 3, NULL), FP8MOE_OK);
    expect_content(path, "old"); /* nothing is seen before it is whole */
    assert_int_equal(files_named_temporary(), 1);
    assert_int_equal(file_writer_close(writer, false, NULL), FP8MOE_OK);
    expect_content(path, "old");
    assert_int_equal(files_named_temporary(), 0);
    assert_int_equal(file_writer_close(NULL, true, NULL), FP8MOE_OK);
}

/* A full disk, played by a limit on file sizes: same failing write(), other errno. */
static void test_full_disk_loses_nothing(void **state)
{
    static const char zeros[5000];
    const char *const path = in_folder("full");
    const struct rlimit small = {4096, RLIM_INFINITY};
    struct rlimit before;
    fp8moe_error err;
    (void)state;
    write_plain(path, "old", 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const fp8moe_status status = fp8moe_file_write(path, zeros, sizeof zeros, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, FP8MOE_ERR_IO);
    assert_string_equal(err.message,
                        "cannot write: the file would exceed the largest size allowed (errno 27)");
    assert_string_equal(err.file, path);
    expect_content(path, "old");
    assert_int_equal(files_named_temporary(), 0);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(fp8moe_file_write("/dev/full", "x", 1, &err), FP8MOE_ERR_IO);
        assert_string_equal(err.message, "cannot write: no space left on the device (errno 28)");
    }
}

static void test_write_refusals(void **state)
{
    fp8moe_error err;
    (void)state;
    assert_int_equal(fp8moe_file_write(folder, "x", 1, &err), FP8MOE_ERR_IO);
    assert_string_equal(err.message, "cannot write: it is a directory (errno 21)");
    assert_int_equal(fp8moe_file_write(in_folder("no/such"), "x", 1, &err), FP8MOE_ERR_IO);
    assert_string_equal(err.message,
                        "cannot create a file beside it: no such file or folder (errno 2)");
    assert_string_equal(err.file, in_folder("no/such"));
}

static void test_write_through_a_link(void **state)
{
    struct stat info;
    (void)state;
    write_plain(in_folder("target"), "old", 3);
    assert_int_equal(symlink("target", in_folder("link")), 0);
    assert_int_equal(fp8moe_file_write(in_folder("link"), "new", 3, NULL), FP8MOE_OK);
    assert_int_equal(lstat(in_folder("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    expect_content(in_folder("target"), "new");
}

static void test_write_to_a_device(void **state)
{
    struct stat info;
    (void)state;
    assert_int_equal(fp8moe_file_write("/dev/null", "x", 1, NULL), FP8MOE_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* not replaced by a file */
}

static void test_longest_name(void **state)
{
    char name[256];
    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(fp8moe_file_write(in_folder(name), "x", 1, NULL), FP8MOE_OK);
    expect_content(in_folder(name), "x");
}

/* ---- shortened while mapped ---- */

static fp8moe_dump *open_dump;

static void say_which_file(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    _exit(fp8moe_dump_owns(open_dump, info->si_addr) ? 3 : 99);
}

static void read_shortened(const char *path)
{
    struct sigaction action = {.sa_sigaction = say_which_file, .sa_flags = SA_SIGINFO};
    (void)sigaction(SIGBUS, &action, NULL);
    fp8moe_tensor tensor;
    double value;
    if (fp8moe_dump_open(path, &open_dump, NULL) != FP8MOE_OK) _exit(98);
    if (fp8moe_dump_tensor(open_dump, 0, &tensor, NULL) != FP8MOE_OK) _exit(97);
    if (truncate(path, 4096) != 0) _exit(96);
    fp8moe_tensor_read_f64(&tensor, fp8moe_tensor_count(&tensor) - 1, 1, &value);
    _exit(95); /* the read returned */
}

static void test_shortened_while_mapped(void **state)
{
    const int64_t shape[1] = {4 * 1024 * 1024};
    uint8_t *const data = calloc(1, (size_t)shape[0]);
    const fp8moe_named_tensor item = {"x", fp8moe_tensor_view(data, FP8MOE_DTYPE_U8, 1, shape)};
    const char *const path = in_folder("shortened.safetensors");
    int status = 0;
    (void)state;
    assert_int_equal(fp8moe_safetensors_write(path, &item, 1, NULL, 0, NULL), FP8MOE_OK);
    free(data);
    const pid_t child = fork();
    if (child == 0) read_shortened(path);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    /* an emulator may know the signal but not the address; meson names it so */
    if (WEXITSTATUS(status) == 99 && getenv("MESON_EXE_WRAPPER")) skip();
    assert_int_equal(WEXITSTATUS(status), 3);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    DIR *const listing = opendir(folder);
    (void)state;
    for (const struct dirent *item; (item = readdir(listing));)
        (void)unlink(in_folder(item->d_name));
    (void)closedir(listing);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_kinds),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_write_and_replace),
        cmocka_unit_test(test_temporary_name_in_use),
        cmocka_unit_test(test_abandoned_write_keeps_the_old_file),
        cmocka_unit_test(test_full_disk_loses_nothing),
        cmocka_unit_test(test_write_refusals),
        cmocka_unit_test(test_write_through_a_link),
        cmocka_unit_test(test_write_to_a_device),
        cmocka_unit_test(test_longest_name),
        cmocka_unit_test(test_shortened_while_mapped),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

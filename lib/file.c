#include "file.h"

#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* strerror() may share its text between threads; strerror_r() comes in two incompatible forms. */
static const char *system_sentence(int code)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
        {ENOENT, "no such file or folder"},
        {EACCES, "permission denied"},
        {EPERM, "not permitted"},
        {EISDIR, "it is a directory"},
        {ENOTDIR, "a part of the path is not a folder"},
        {ELOOP, "too many symbolic links"},
        {ENAMETOOLONG, "the name is too long"},
        {EMFILE, "this process has too many open files"},
        {ENFILE, "the system has too many open files"},
        {ENOMEM, "not enough memory"},
        {ENOSPC, "no space left on the device"},
        {EDQUOT, "the disk quota is used up"},
        {EFBIG, "the file would exceed the largest size allowed"},
        {EROFS, "the file system is read-only"},
        {EIO, "the device reports an input/output error"},
        {EPIPE, "the reader has gone"},
        {ENXIO, "there is no device or reader behind it"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        if (rows[row].code == code) return rows[row].text;
    return "the system refused";
}

static fp8moe_status fail_errno(fp8moe_error *err, int code, const char *action, const char *path)
{
    const fp8moe_status status =
        fail(err, FP8MOE_ERR_IO, "cannot %s: %s (errno %d)", action, system_sentence(code), code);
    return error_in_file(err, status, path);
}

/* ---- reading ---- */

static fp8moe_status check_kind(const struct stat *info, fp8moe_error *err)
{
    static const struct {
        mode_t kind;
        const char *text;
    } refused[] = {{S_IFDIR, "a directory"},
                   {S_IFIFO, "a FIFO"},
                   {S_IFSOCK, "a socket"},
                   {S_IFCHR, "a character device"},
                   {S_IFBLK, "a block device"}};
    for (size_t row = 0; row < sizeof refused / sizeof refused[0]; row++)
        if ((info->st_mode & S_IFMT) == refused[row].kind)
            return fail(err, FP8MOE_ERR_IO, "is %s, not a regular file", refused[row].text);
    if (info->st_size == 0) return fail(err, FP8MOE_ERR_IO, "is empty (0 bytes)");
    if (info->st_size > LIMIT_FILE_BYTES || (uint64_t)info->st_size > SIZE_MAX / 2)
        return fail(err, FP8MOE_ERR_IO, "is too large: %" PRId64 " bytes, at most %" PRId64,
                    (int64_t)info->st_size, min_i64(LIMIT_FILE_BYTES, (int64_t)(SIZE_MAX / 2)));
    return FP8MOE_OK;
}

static fp8moe_status copy_file(int fd, int64_t size, file_view *out, fp8moe_error *err)
{
    uint8_t *copy = malloc((size_t)size);
    if (!copy) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for %" PRId64 " bytes", size);
    int64_t have = 0;
    while (have < size) {
        const ssize_t got = read(fd, copy + have, (size_t)(size - have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            const int code = errno;
            free(copy);
            if (got < 0) return fail_errno(err, code, "read", "");
            return fail(err, FP8MOE_ERR_IO,
                        "shrank while it was read: %" PRId64 " of %" PRId64 " bytes", have, size);
        }
        have += got;
    }
    *out = (file_view){.data = copy, .size = size};
    return FP8MOE_OK;
}

static fp8moe_status view_file(int fd, file_view *out, fp8moe_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return fail_errno(err, errno, "read", "");
    TRY(check_kind(&info, err));
    if (info.st_size < LIMIT_COPIED_FILE_BYTES) return copy_file(fd, info.st_size, out, err);
    void *const data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return fail_errno(err, errno, "map", "");
    *out = (file_view){.data = data, .size = info.st_size, .mapped = true};
    return FP8MOE_OK;
}

fp8moe_status file_open(const char *path, file_view *out, fp8moe_error *err)
{
    assert(path && out);
    /* O_NONBLOCK: opening a FIFO must not wait for a writer that never comes. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail_errno(err, errno, "open", path);
    const fp8moe_status status = view_file(fd, out, err);
    (void)close(fd);
    return error_in_file(err, status, path);
}

void file_close(file_view *view)
{
    if (view->mapped)
        (void)munmap((void *)(uintptr_t)view->data, (size_t)view->size);
    else
        free((void *)(uintptr_t)view->data);
    *view = (file_view){0};
}

/* ---- writing ---- */

struct file_writer {
    int fd;
    char *path;      /* final name, links resolved */
    char *temporary; /* in the same folder, or NULL: writing straight to `path` */
};

static size_t folder_length(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static void free_writer(file_writer *writer)
{
    if (writer->fd >= 0) (void)close(writer->fd);
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

/* Create a file of a name nobody uses yet, beside the final one, so that the rename stays within
 * one file system. Its name does not grow with the final one, which may be as long as names can be.
 */
static fp8moe_status create_temporary(file_writer *writer, fp8moe_error *err)
{
    const size_t folder = folder_length(writer->path);
    const size_t size = folder + 64;
    if (!(writer->temporary = malloc(size))) return fail(err, FP8MOE_ERR_NOMEM, "out of memory");
    memcpy(writer->temporary, writer->path, folder);
    for (int attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(writer->temporary + folder, size - folder, ".fp8moe-%ld-%d.tmp",
                       (long)getpid(), attempt);
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0 || errno != EEXIST) break;
    }
    if (writer->fd >= 0) return FP8MOE_OK;
    const int code = errno;
    free(writer->temporary);
    writer->temporary = NULL;
    return fail_errno(err, code, "create a file beside it", writer->path);
}

static fp8moe_status open_target(file_writer *writer, fp8moe_error *err)
{
    struct stat info;
    if (stat(writer->path, &info) != 0) return create_temporary(writer, err);
    if (S_ISDIR(info.st_mode)) return fail_errno(err, EISDIR, "write", writer->path);
    if (access(writer->path, W_OK) != 0) return fail_errno(err, errno, "write", writer->path);
    if (!S_ISREG(info.st_mode)) {
        writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
        return writer->fd < 0 ? fail_errno(err, errno, "open", writer->path) : FP8MOE_OK;
    }
    TRY(create_temporary(writer, err));
    (void)fchmod(writer->fd, info.st_mode & 0777); /* a courtesy: the file is right without it */
    return FP8MOE_OK;
}

fp8moe_status file_writer_open(const char *path, file_writer **out, fp8moe_error *err)
{
    assert(path && out);
    file_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return fail(err, FP8MOE_ERR_NOMEM, "out of memory");
    writer->fd = -1;
    writer->path = realpath(path, NULL);
    if (!writer->path) writer->path = strdup(path); /* a new file */
    const fp8moe_status status =
        writer->path ? open_target(writer, err) : fail(err, FP8MOE_ERR_NOMEM, "out of memory");
    if (status != FP8MOE_OK) {
        free_writer(writer);
        return status;
    }
    *out = writer;
    return FP8MOE_OK;
}

fp8moe_status file_writer_add(file_writer *writer, const void *data, size_t size, fp8moe_error *err)
{
    const uint8_t *bytes = data;
    while (size) {
        const ssize_t done = write(writer->fd, bytes, size < (1u << 30) ? size : 1u << 30);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_errno(err, errno, "write", writer->path);
        bytes += done;
        size -= (size_t)done;
    }
    return FP8MOE_OK;
}

/* Without this the new name may be lost at a power cut although the data is safe. Not every file
 * system can do it, and none of them loses the old file for that. */
static void sync_folder(const char *path)
{
    char *const folder = strdup(path);
    if (!folder) return;
    folder[folder_length(path)] = '\0';
    const int fd = open(folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(folder);
}

static fp8moe_status finish(file_writer *writer, fp8moe_error *err)
{
    const bool atomic = writer->temporary != NULL;
    if (atomic && fsync(writer->fd) != 0) return fail_errno(err, errno, "write", writer->path);
    const int closed =
        close(writer->fd); /* some network file systems report a full disk only here */
    writer->fd = -1;
    if (closed != 0) return fail_errno(err, errno, "write", writer->path);
    if (!atomic) return FP8MOE_OK;
    if (rename(writer->temporary, writer->path) != 0)
        return fail_errno(err, errno, "replace the file", writer->path);
    sync_folder(writer->path);
    return FP8MOE_OK;
}

fp8moe_status file_writer_close(file_writer *writer, bool keep, fp8moe_error *err)
{
    if (!writer) return FP8MOE_OK;
    const fp8moe_status status = keep ? finish(writer, err) : FP8MOE_OK;
    if (writer->temporary && (!keep || status != FP8MOE_OK)) (void)unlink(writer->temporary);
    free_writer(writer);
    return status;
}

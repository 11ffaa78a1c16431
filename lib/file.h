/* Files: read-only bytes of a whole file, and writing that loses nothing. The only module that
 * knows the operating system's files.
 *
 * A file that another process shortens while it is mapped makes the kernel raise SIGBUS at the next
 * access behind its new end, the one failure no function here can return. So small files (below
 * LIMIT_COPIED_FILE_BYTES: headers, indexes, single tensors) are copied and never mapped; for the
 * others fp8moe_dump_owns() tells a program's SIGBUS handler which file it was. */
#ifndef FP8MOE_LIB_FILE_H
#define FP8MOE_LIB_FILE_H

#include "common.h"

/* The bytes of a file. Start with {0}. */
typedef struct file_view {
    const uint8_t *data; /* `size` bytes; never written to */
    int64_t size;
    bool mapped; /* else an own copy */
} file_view;

/* Open a regular file for reading. Refused with IO and one sentence: what does not exist or may not
 * be read, a directory, a FIFO, socket or device (without waiting for it), an empty file, one
 * beyond LIMIT_FILE_BYTES, one that shrinks while it is copied. err->file is set. */
fp8moe_status file_open(const char *path, file_view *out, fp8moe_error *err);

/* Unmap or free; {0} is allowed. */
void file_close(file_view *view);

/* A file being written: bytes go to a temporary name in the same folder until it is kept. Where
 * `path` names something that is no regular file (a terminal, a pipe, /dev/null), the bytes go
 * straight there: there is nothing to lose. A symbolic link's target is replaced, not the link. */
typedef struct file_writer file_writer;

/* @return OK; IO (no such folder, no permission, a directory); NOMEM */
fp8moe_status file_writer_open(const char *path, file_writer **out, fp8moe_error *err);

/* Append. @return OK; IO (disk full) */
fp8moe_status file_writer_add(file_writer *writer, const void *data, size_t size,
                              fp8moe_error *err);

/* With `keep`, make everything durable and give it its name, the permissions of what it replaces
 * kept; otherwise, and on failure, leave no trace. Frees the writer. NULL is allowed. */
fp8moe_status file_writer_close(file_writer *writer, bool keep, fp8moe_error *err);

#endif

/* ZIP archives as npz and torch's .pt files use them: ZIP64, entries stored or deflated, one disk,
 * no encryption. The central directory is believed only where the local headers say the same. */
#ifndef FP8MOE_LIB_ZIP_H
#define FP8MOE_LIB_ZIP_H

#include "common.h"

typedef struct zip zip;

/* One entry. */
typedef struct zip_entry {
    const char *name; /* NUL-terminated; the bytes of the file, whatever their encoding */
    int64_t offset;   /* of its data in the file */
    int64_t packed;   /* bytes in the file */
    int64_t unpacked; /* bytes of the content */
    uint32_t crc;     /* CRC-32 of the content */
    bool deflated;    /* else stored */
} zip_entry;

/* Whether the bytes start as an archive does. */
bool zip_probe(const uint8_t *data, int64_t size);

/**
 * Read the central directory and check it: every range within the file, no two entries on the same
 * bytes, every local header equal to its directory record, no name twice, sizes within limits.h.
 *
 * @param data the whole file; it must outlive the archive
 * @param out  the caller frees it with zip_close()
 * @return OK; FORMAT with the byte offset; UNSUPPORTED (encrypted, another compression, several
 *         disks); NOMEM
 */
fp8moe_status zip_open(const uint8_t *data, int64_t size, zip **out, fp8moe_error *err);

/* Free, with every content that was unpacked. NULL is allowed. */
void zip_close(zip *archive);

size_t zip_count(const zip *archive);

/* In the order of the central directory. */
const zip_entry *zip_at(const zip *archive, size_t index);

/* Index of the entry `name`, or -1. */
int64_t zip_find(const zip *archive, const char *name);

/**
 * The content of an entry: a pointer into the file for a stored one, unpacked once and kept until
 * zip_close() for a deflated one, whose CRC is checked. May be called from several threads.
 *
 * @param check_stored check the CRC of a stored entry too (once); torch can be told to write none
 * @return OK; FORMAT (damaged); UNSUPPORTED (deflated, and built without zlib); NOMEM
 */
fp8moe_status zip_content(zip *archive, size_t index, bool check_stored, const uint8_t **out,
                          fp8moe_error *err);

/* The first bytes of an entry's content, at most `size`, without keeping anything and without its
 * CRC.
 * @return as zip_content(); *got tells how many there were */
fp8moe_status zip_peek(const zip *archive, size_t index, uint8_t *out, size_t size, size_t *got,
                       fp8moe_error *err);

#endif

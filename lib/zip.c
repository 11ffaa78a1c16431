#include "zip.h"

#include "arena.h"
#include "limits.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef FP8MOE_HAVE_ZLIB
#include <zlib.h>
#endif

/* Layout: APPNOTE.TXT 6.3, sections 4.3.7 to 4.3.16 and 4.5.3. */
enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    COMMENT_BYTES = 65535,
    LOCAL_MARK = 0x04034B50,
    CENTRAL_MARK = 0x02014B50,
    END_MARK = 0x06054B50,
    END64_MARK = 0x06064B50,
    LOCATOR_MARK = 0x07064B50,
    EXTRA_ZIP64 = 0x0001,
    FLAG_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13,
    FLAG_SIZES_FOLLOW = 1 << 3,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8
};

static const uint32_t in_zip64 = UINT32_MAX; /* a field whose value is in the ZIP64 extra field */

/* An entry with what only this file needs. */
typedef struct record {
    zip_entry entry;
    int64_t local; /* offset of the local header */
    size_t name_size;
    uint16_t flags;
    const uint8_t *_Atomic content; /* unpacked or checked already */
} record;

struct zip {
    const uint8_t *data;
    int64_t size;
    arena memory;
    record *records;
    size_t count;
    size_t *by_name;
    uint32_t crc_table[4][256];
};

static uint32_t load(const uint8_t *p, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

static uint16_t load16(const uint8_t *p)
{
    return (uint16_t)load(p, 2);
}

static uint32_t load32(const uint8_t *p)
{
    return load(p, 4);
}

/* 64-bit sizes and offsets beyond 2^63 are no more than a wrong file: they become the largest
 * int64_t, which no check lets through. */
static int64_t load64(const uint8_t *p)
{
    const uint64_t value = load(p, 4) | (uint64_t)load(p + 4, 4) << 32;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static fp8moe_status no_memory(fp8moe_error *err)
{
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the zip archive");
}

/* ---- CRC-32 (polynomial of IEEE 802.3, reflected), four bytes at a time ---- */

static void make_crc_table(uint32_t table[4][256])
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
        table[0][byte] = crc;
    }
    for (int step = 1; step < 4; step++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[step][byte] = table[step - 1][byte] >> 8 ^ table[0][table[step - 1][byte] & 0xFF];
}

static uint32_t crc_of(const zip *archive, const uint8_t *data, int64_t size)
{
    const uint32_t(*const table)[256] = archive->crc_table;
    uint32_t crc = 0xFFFFFFFF;
    int64_t at = 0;
    for (; size - at >= 4; at += 4) {
        crc ^= load32(data + at);
        crc = table[3][crc & 0xFF] ^ table[2][crc >> 8 & 0xFF] ^ table[1][crc >> 16 & 0xFF] ^
              table[0][crc >> 24];
    }
    for (; at < size; at++)
        crc = crc >> 8 ^ table[0][(crc ^ data[at]) & 0xFF];
    return ~crc;
}

/* ---- the end of the archive ---- */

typedef struct directory {
    int64_t offset, size, count;
    int64_t end; /* where the directory must end: the first end record */
} directory;

bool zip_probe(const uint8_t *data, int64_t size)
{
    return size >= END_BYTES && (load32(data) == LOCAL_MARK || load32(data) == END_MARK);
}

/* The end record is the last thing in the file, behind it only its own comment. */
static int64_t find_end(const uint8_t *data, int64_t size)
{
    const int64_t first = max_i64(0, size - END_BYTES - COMMENT_BYTES);
    for (int64_t at = size - END_BYTES; at >= first; at--)
        if (load32(data + at) == END_MARK && at + END_BYTES + load16(data + at + 20) == size)
            return at;
    return -1;
}

static fp8moe_status several_disks(int64_t offset, fp8moe_error *err)
{
    return fail_at(err, FP8MOE_ERR_UNSUPPORTED, NULL, offset, "a zip archive of several disks");
}

static fp8moe_status read_end64(const uint8_t *data, int64_t locator, directory *out,
                                fp8moe_error *err)
{
    const int64_t at = load64(data + locator + 8);
    if (load32(data + locator + 4) != 0 || load32(data + locator + 16) > 1)
        return several_disks(locator, err);
    if (at > locator - END64_BYTES || load32(data + at) != END64_MARK)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, locator,
                       "no ZIP64 end record where its locator says");
    if (load32(data + at + 16) != 0 || load32(data + at + 20) != 0) return several_disks(at, err);
    out->count = load64(data + at + 32);
    out->size = load64(data + at + 40);
    out->offset = load64(data + at + 48);
    out->end = at;
    return FP8MOE_OK;
}

static fp8moe_status check_directory(const directory *found, fp8moe_error *err)
{
    if (found->offset > found->end || found->size != found->end - found->offset)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, found->end,
                       "the zip directory of %" PRId64 " bytes at %" PRId64
                       " does not end at its end record",
                       found->size, found->offset);
    if (found->count > LIMIT_ZIP_ENTRIES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, found->end,
                       "a zip archive of %" PRId64 " entries, at most %d are read", found->count,
                       LIMIT_ZIP_ENTRIES);
    if (found->count > found->size / CENTRAL_BYTES)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, found->end,
                       "%" PRId64 " entries do not fit a zip directory of %" PRId64 " bytes",
                       found->count, found->size);
    return FP8MOE_OK;
}

static fp8moe_status read_end(const uint8_t *data, int64_t size, directory *out, fp8moe_error *err)
{
    const int64_t at = size < END_BYTES ? -1 : find_end(data, size);
    if (at < 0)
        return fail_at(
            err, FP8MOE_ERR_FORMAT, NULL, size,
            "the zip archive has no end record: it is truncated or something follows it");
    const int64_t locator = at - LOCATOR_BYTES;
    if (locator >= 0 && load32(data + locator) == LOCATOR_MARK) {
        TRY(read_end64(data, locator, out, err));
    } else {
        if (load16(data + at + 4) != 0 || load16(data + at + 6) != 0) return several_disks(at, err);
        out->count = load16(data + at + 10);
        out->size = load32(data + at + 12);
        out->offset = load32(data + at + 16);
        out->end = at;
    }
    return check_directory(out, err);
}

/* ---- entries ---- */

/* The ZIP64 extra field of `extra`, or NULL; *size is that of its values. */
static const uint8_t *find_zip64(const uint8_t *extra, size_t extra_size, size_t *size)
{
    while (extra_size >= 4) {
        const size_t length = load16(extra + 2);
        if (length > extra_size - 4) break;
        if (load16(extra) == EXTRA_ZIP64) {
            *size = length;
            return extra + 4;
        }
        extra += 4 + length;
        extra_size -= 4 + length;
    }
    return NULL;
}

/* Replace the fields that a header could not hold in 32 bits, in the order of `fields`. */
static bool widen(const uint8_t *extra, size_t extra_size, int64_t *const *fields, size_t count)
{
    size_t left = 0;
    const uint8_t *wide = find_zip64(extra, extra_size, &left);
    for (size_t i = 0; i < count; i++) {
        if (*fields[i] != in_zip64) continue;
        if (!wide || left < 8) return false;
        *fields[i] = load64(wide);
        wide += 8;
        left -= 8;
    }
    return true;
}

static fp8moe_status bad_entry(const record *r, fp8moe_status status, int64_t offset,
                               const char *sentence, fp8moe_error *err)
{
    return fail_at(err, status, r->entry.name, offset, "%s", sentence);
}

static fp8moe_status check_sizes(const record *r, int64_t at, fp8moe_error *err)
{
    const zip_entry *const e = &r->entry;
    if (!e->deflated && e->packed != e->unpacked)
        return bad_entry(r, FP8MOE_ERR_FORMAT, at, "a stored zip entry of two different sizes",
                         err);
    if (e->deflated && e->unpacked / LIMIT_ZIP_RATIO > e->packed)
        return fail_at(err, FP8MOE_ERR_FORMAT, e->name, at,
                       "a zip entry of %" PRId64 " bytes cannot unpack to %" PRId64, e->packed,
                       e->unpacked);
    if (e->deflated && e->unpacked > LIMIT_ZIP_UNPACKED_BYTES)
        return fail_at(err, FP8MOE_ERR_UNSUPPORTED, e->name, at,
                       "a compressed zip entry of %" PRId64 " bytes, at most %" PRId64
                       " are unpacked",
                       e->unpacked, LIMIT_ZIP_UNPACKED_BYTES);
    return FP8MOE_OK;
}

/* What a directory record at `at` says; it is within the directory, of `room` bytes from there. */
static fp8moe_status read_central(zip *archive, int64_t at, int64_t room, record *r,
                                  int64_t *length, fp8moe_error *err)
{
    const uint8_t *const p = archive->data + at;
    if (room < CENTRAL_BYTES || load32(p) != CENTRAL_MARK)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, at, "no zip directory record here");
    const size_t extra_size = load16(p + 30);
    r->name_size = load16(p + 28);
    *length = CENTRAL_BYTES + (int64_t)r->name_size + (int64_t)extra_size + load16(p + 32);
    if (*length > room)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, at,
                       "a zip directory record runs past the directory's end");
    r->flags = load16(p + 8);
    r->entry = (zip_entry){
        .crc = load32(p + 16),
        .packed = load32(p + 20),
        .unpacked = load32(p + 24),
        .deflated = load16(p + 10) == METHOD_DEFLATED,
        .name = arena_text(&archive->memory, (const char *)p + CENTRAL_BYTES, r->name_size),
    };
    r->local = load32(p + 42);
    if (!r->entry.name) return no_memory(err);
    if (!r->name_size || strlen(r->entry.name) != r->name_size)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, at,
                       "a zip entry's name is empty or holds a NUL");
    if (r->flags & FLAG_ENCRYPTED)
        return bad_entry(r, FP8MOE_ERR_UNSUPPORTED, at, "the zip entry is encrypted", err);
    if (!r->entry.deflated && load16(p + 10) != METHOD_STORED)
        return fail_at(err, FP8MOE_ERR_UNSUPPORTED, r->entry.name, at,
                       "zip compression method %d is not read, only stored and deflated entries",
                       load16(p + 10));
    int64_t *const fields[] = {&r->entry.unpacked, &r->entry.packed, &r->local};
    if (!widen(p + CENTRAL_BYTES + r->name_size, extra_size, fields, 3))
        return bad_entry(r, FP8MOE_ERR_FORMAT, at, "the zip entry lacks its ZIP64 sizes", err);
    return check_sizes(r, at, err);
}

/* The local header says the same as the directory, sizes that follow the data apart. */
static bool same_sizes(const record *r, const uint8_t *local, size_t extra_size)
{
    int64_t packed = load32(local + 18), unpacked = load32(local + 22);
    int64_t *const fields[] = {&unpacked, &packed};
    const uint32_t crc = load32(local + 14);
    if (r->flags & FLAG_SIZES_FOLLOW && !crc && !packed && !unpacked) return true;
    if (!widen(local + LOCAL_BYTES + r->name_size, extra_size, fields, 2)) return false;
    if (r->flags & FLAG_SIZES_FOLLOW && !crc && !packed && !unpacked) return true;
    return packed == r->entry.packed && unpacked == r->entry.unpacked && crc == r->entry.crc;
}

static fp8moe_status read_local(const zip *archive, int64_t directory_offset, record *r,
                                fp8moe_error *err)
{
    if (r->local > directory_offset - LOCAL_BYTES || load32(archive->data + r->local) != LOCAL_MARK)
        return bad_entry(r, FP8MOE_ERR_FORMAT, r->local,
                         "no local zip header where the directory says", err);
    const uint8_t *const p = archive->data + r->local;
    const size_t extra_size = load16(p + 28);
    r->entry.offset = r->local + LOCAL_BYTES + (int64_t)r->name_size + (int64_t)extra_size;
    if (load16(p + 26) != r->name_size || r->entry.offset > directory_offset ||
        memcmp(p + LOCAL_BYTES, r->entry.name, r->name_size) != 0)
        return bad_entry(r, FP8MOE_ERR_FORMAT, r->local,
                         "the local zip header names another entry than the directory", err);
    if (load16(p + 6) != r->flags || (load16(p + 8) == METHOD_DEFLATED) != r->entry.deflated ||
        !same_sizes(r, p, extra_size))
        return bad_entry(r, FP8MOE_ERR_FORMAT, r->local,
                         "the local zip header and the directory differ", err);
    if (r->entry.packed > directory_offset - r->entry.offset)
        return bad_entry(r, FP8MOE_ERR_FORMAT, r->entry.offset,
                         "the zip entry's bytes run into the directory", err);
    return FP8MOE_OK;
}

static fp8moe_status read_records(zip *archive, const directory *found, fp8moe_error *err)
{
    int64_t at = found->offset;
    for (size_t i = 0; i < archive->count; i++) {
        int64_t length = 0;
        record *const r = &archive->records[i];
        TRY(read_central(archive, at, found->end - at, r, &length, err));
        TRY(read_local(archive, found->offset, r, err));
        at += length;
    }
    if (at != found->end)
        return fail_at(err, FP8MOE_ERR_FORMAT, NULL, at,
                       "the zip directory holds more than its %zu entries", archive->count);
    return FP8MOE_OK;
}

/* ---- checks over all entries ---- */

static int compare_names(const void *a, const void *b)
{
    const record *const x = *(record *const *)a, *const y = *(record *const *)b;
    const int order = strcmp(x->entry.name, y->entry.name);
    return order ? order : (x > y) - (x < y);
}

static int compare_offsets(const void *a, const void *b)
{
    const record *const x = *(record *const *)a, *const y = *(record *const *)b;
    return (x->local > y->local) - (x->local < y->local);
}

/* Entries that share bytes are how a small file unpacks to a huge one. */
static fp8moe_status check_overlap(record **sorted, size_t count, fp8moe_error *err)
{
    qsort(sorted, count, sizeof *sorted, compare_offsets);
    for (size_t i = 1; i < count; i++) {
        const zip_entry *const before = &sorted[i - 1]->entry;
        if (sorted[i]->local < before->offset + before->packed)
            return bad_entry(sorted[i], FP8MOE_ERR_FORMAT, sorted[i]->local,
                             "the zip entry lies on the bytes of another", err);
    }
    return FP8MOE_OK;
}

static fp8moe_status check_names(zip *archive, record **sorted, fp8moe_error *err)
{
    qsort(sorted, archive->count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < archive->count; i++) {
        if (i && strcmp(sorted[i - 1]->entry.name, sorted[i]->entry.name) == 0)
            return bad_entry(sorted[i], FP8MOE_ERR_FORMAT, sorted[i]->local,
                             "two zip entries have this name", err);
        archive->by_name[i] = (size_t)(sorted[i] - archive->records);
    }
    return FP8MOE_OK;
}

static fp8moe_status check_records(zip *archive, fp8moe_error *err)
{
    if (!archive->count) return FP8MOE_OK;
    record **sorted = malloc(archive->count * sizeof *sorted);
    if (!sorted) return no_memory(err);
    for (size_t i = 0; i < archive->count; i++)
        sorted[i] = &archive->records[i];
    fp8moe_status status = check_overlap(sorted, archive->count, err);
    if (status == FP8MOE_OK) status = check_names(archive, sorted, err);
    free(sorted);
    return status;
}

static fp8moe_status read_archive(zip *archive, fp8moe_error *err)
{
    directory found = {0};
    TRY(read_end(archive->data, archive->size, &found, err));
    archive->count = (size_t)found.count;
    archive->records = arena_alloc(&archive->memory, archive->count * sizeof *archive->records);
    archive->by_name = arena_alloc(&archive->memory, archive->count * sizeof *archive->by_name);
    if (!archive->records || !archive->by_name) return no_memory(err);
    TRY(read_records(archive, &found, err));
    return check_records(archive, err);
}

fp8moe_status zip_open(const uint8_t *data, int64_t size, zip **out, fp8moe_error *err)
{
    assert(data && out);
    zip *archive = calloc(1, sizeof *archive);
    if (!archive) return no_memory(err);
    archive->data = data;
    archive->size = size;
    make_crc_table(archive->crc_table);
    const fp8moe_status status = read_archive(archive, err);
    if (status != FP8MOE_OK) {
        zip_close(archive);
        return status;
    }
    *out = archive;
    return FP8MOE_OK;
}

void zip_close(zip *archive)
{
    if (!archive) return;
    for (size_t i = 0; archive->records && i < archive->count; i++)
        if (archive->records[i].entry.deflated)
            free((void *)(uintptr_t)atomic_load(&archive->records[i].content));
    arena_free(&archive->memory);
    free(archive);
}

size_t zip_count(const zip *archive)
{
    return archive->count;
}

const zip_entry *zip_at(const zip *archive, size_t index)
{
    assert(index < archive->count);
    return &archive->records[index].entry;
}

int64_t zip_find(const zip *archive, const char *name)
{
    size_t first = 0, end = archive->count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = strcmp(name, archive->records[archive->by_name[middle]].entry.name);
        if (order == 0) return (int64_t)archive->by_name[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return -1;
}

/* ---- contents ---- */

#ifdef FP8MOE_HAVE_ZLIB

enum { STREAM_PIECE = 1 << 30 }; /* zlib counts bytes in an unsigned int */

/* Unpack the first `size` bytes. *done tells how many there were; *whole whether the stream ended
 * there, having used up every packed byte. */
static fp8moe_status unpack(const zip *archive, const zip_entry *e, uint8_t *out, int64_t size,
                            int64_t *done, bool *whole, fp8moe_error *err)
{
    z_stream stream = {0};
    int64_t in_left = e->packed, out_left = size;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return no_memory(err);
    stream.next_in = (z_const Bytef *)(uintptr_t)(archive->data + e->offset);
    stream.next_out = out;
    int result = Z_OK;
    while (result == Z_OK) {
        const unsigned in_now = (unsigned)min_i64(in_left, STREAM_PIECE);
        const unsigned out_now = (unsigned)min_i64(out_left, STREAM_PIECE);
        stream.avail_in = in_now;
        stream.avail_out = out_now;
        result = inflate(&stream, Z_NO_FLUSH);
        in_left -= in_now - stream.avail_in;
        out_left -= out_now - stream.avail_out;
    }
    (void)inflateEnd(&stream);
    *done = size - out_left;
    *whole = result == Z_STREAM_END && in_left == 0;
    if (result == Z_MEM_ERROR) return no_memory(err);
    if (result == Z_STREAM_END || (result == Z_BUF_ERROR && out_left == 0)) return FP8MOE_OK;
    return fail_at(err, FP8MOE_ERR_FORMAT, e->name, e->offset + e->packed - in_left,
                   result == Z_BUF_ERROR ? "the compressed data of the zip entry is truncated"
                                         : "the compressed data of the zip entry is damaged");
}

#else

static fp8moe_status unpack(const zip *archive, const zip_entry *e, uint8_t *out, int64_t size,
                            int64_t *done, bool *whole, fp8moe_error *err)
{
    (void)archive, (void)out, (void)size, (void)done, (void)whole;
    return fail_at(err, FP8MOE_ERR_UNSUPPORTED, e->name, e->offset,
                   "the zip entry is compressed, and this program was built without zlib");
}

#endif

static fp8moe_status check_crc(const zip *archive, const zip_entry *e, const uint8_t *content,
                               fp8moe_error *err)
{
    const uint32_t crc = crc_of(archive, content, e->unpacked);
    if (crc == e->crc) return FP8MOE_OK;
    return fail_at(err, FP8MOE_ERR_FORMAT, e->name, e->offset,
                   "the zip entry is damaged: its CRC-32 is %08" PRIx32
                   ", the directory says %08" PRIx32,
                   crc, e->crc);
}

static fp8moe_status unpack_all(const zip *archive, const zip_entry *e, uint8_t *content,
                                fp8moe_error *err)
{
    int64_t done = 0;
    bool whole = false;
    TRY(unpack(archive, e, content, e->unpacked, &done, &whole, err));
    if (done != e->unpacked || !whole)
        return fail_at(err, FP8MOE_ERR_FORMAT, e->name, e->offset,
                       "the zip entry does not unpack to exactly its %" PRId64 " bytes",
                       e->unpacked);
    return check_crc(archive, e, content, err);
}

static fp8moe_status make_content(const zip *archive, const zip_entry *e, bool check_stored,
                                  const uint8_t **out, fp8moe_error *err)
{
    if (!e->deflated) {
        *out = archive->data + e->offset;
        return check_stored ? check_crc(archive, e, *out, err) : FP8MOE_OK;
    }
    uint8_t *const content = malloc((size_t)max_i64(e->unpacked, 1));
    if (!content) return no_memory(err);
    const fp8moe_status status = unpack_all(archive, e, content, err);
    if (status == FP8MOE_OK)
        *out = content;
    else
        free(content);
    return status;
}

fp8moe_status zip_content(zip *archive, size_t index, bool check_stored, const uint8_t **out,
                          fp8moe_error *err)
{
    assert(index < archive->count && out);
    record *const r = &archive->records[index];
    const uint8_t *kept = atomic_load(&r->content), *made = NULL;
    if (!kept) {
        TRY(make_content(archive, &r->entry, check_stored, &made, err));
        /* another thread may have been faster: then its copy stays, and `kept` becomes it */
        if (atomic_compare_exchange_strong(&r->content, &kept, made))
            kept = made;
        else if (r->entry.deflated)
            free((void *)(uintptr_t)made);
    }
    *out = kept;
    return FP8MOE_OK;
}

fp8moe_status zip_peek(const zip *archive, size_t index, uint8_t *out, size_t size, size_t *got,
                       fp8moe_error *err)
{
    assert(index < archive->count && out && got);
    const zip_entry *const e = &archive->records[index].entry;
    int64_t done = min_i64((int64_t)size, e->unpacked);
    bool whole = false;
    if (e->deflated)
        TRY(unpack(archive, e, out, done, &done, &whole, err));
    else if (done)
        memcpy(out, archive->data + e->offset, (size_t)done);
    *got = (size_t)done;
    return FP8MOE_OK;
}

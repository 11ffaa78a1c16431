/* The one table of limits: what a reader accepts before it says "too much". Each is far above what
 * real dumps hold and far below what would hurt the machine that reads them. */
#ifndef FP8MOE_LIB_LIMITS_H
#define FP8MOE_LIB_LIMITS_H

#include <stdint.h>

/* files */
#define LIMIT_FILE_BYTES (INT64_C(1) << 47)   /* 128 TiB: what a 48-bit address space can map */
#define LIMIT_COPIED_FILE_BYTES (1024 * 1024) /* smaller files are copied, larger ones mapped */

/* names and tensors */
#define LIMIT_NAME_BYTES 4096       /* a tensor's name or a metadata key */
#define LIMIT_NAMES_BYTES (1 << 26) /* all names of a .pt file, where few bytes can make many */
#define LIMIT_TENSORS 300000        /* of one file; the largest public shards hold about 60,000 */
#define LIMIT_METADATA_PAIRS 100000

/* JSON */
#define LIMIT_JSON_BYTES INT64_C(100000000) /* as the reference reader of safetensors headers */
#define LIMIT_JSON_DEPTH 64
#define LIMIT_JSON_VALUES 8000000
#define LIMIT_NUMBER_DIGITS 1000 /* of one decimal number: more than any double needs (767) */

/* numpy headers (Python's own reader stops at 10,000 unless told to trust the file) */
#define LIMIT_NPY_HEADER_BYTES 65536

/* zip: npz and pt */
#define LIMIT_ZIP_ENTRIES 1000000
#define LIMIT_ZIP_UNPACKED_BYTES (INT64_C(1) << 36) /* one deflated entry: 64 GiB */
#define LIMIT_ZIP_RATIO 1100 /* unpacked to packed bytes; deflate itself cannot exceed 1032 */

/* pickles */
#define LIMIT_PICKLE_BYTES (INT64_C(1) << 32) /* numpy arrays stand within them */
#define LIMIT_PICKLE_VALUES 8000000           /* objects and items of containers together */
#define LIMIT_PICKLE_VISITS 1000000 /* values seen when names are built: they may be shared */
#define LIMIT_PICKLE_DEPTH 64       /* open brackets, and nesting of dicts and lists */
#define LIMIT_EXPANDED_ELEMENTS                                                                    \
    (INT64_C(1) << 36) /* of a view that repeats its storage (stride 0) */

#endif

/* The header of a numpy array file, for .npy and for the entries of .npz. */
#ifndef FP8MOE_LIB_DUMP_NPY_H
#define FP8MOE_LIB_DUMP_NPY_H

#include "dump.h"
#include "limits.h"

/* Mark, version and length before the header's text. */
enum { NPY_PREFIX_BYTES = 12 };

/* As many bytes of a file as its header may take. */
enum { NPY_HEADER_BYTES = LIMIT_NPY_HEADER_BYTES + NPY_PREFIX_BYTES };

/* Whether the bytes start with numpy's mark. */
bool npy_probe(const uint8_t *data, int64_t size);

/**
 * Read a header: versions 1, 2 and 3 of numpy's format.
 *
 * @param data  the first `size` bytes of an array file of `total`
 * @param base  offset of data[0] in the file that the sentences speak of; -1 where there is none
 * @param entry receives the tensor (its data NULL) and packed_at, where its elements start; its
 * name is used in sentences
 * @return OK; FORMAT; UNSUPPORTED (object and structured arrays, text, dates, dtypes not read here)
 */
fp8moe_status npy_read_header(const uint8_t *data, int64_t size, int64_t total, int64_t base,
                              dump_entry *entry, fp8moe_error *err);

/* The dtype of numpy's short description ("<f4", "|u1", "<V2"); false where it is not read. */
bool npy_dtype(const char *descr, fp8moe_dtype *dtype, bool *big_endian);

/* Give the tensor's elements Fortran order: the first dimension varies fastest. */
void npy_use_fortran_order(fp8moe_tensor *tensor);

#endif

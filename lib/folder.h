/* A model folder's files: which paths may be followed. A name from an index is data of a stranger,
 * so it must stay within the folder; the hub's cache keeps the files themselves beside it:
 *
 *   models--ORG--NAME/snapshots/REVISION/model.safetensors -> ../../blobs/HASH */
#ifndef FP8MOE_LIB_FOLDER_H
#define FP8MOE_LIB_FOLDER_H

#include "common.h"

/* Start with {0}. */
typedef struct model_folder {
    char *path;  /* as given, for messages and opening */
    char *real;  /* without links */
    char *blobs; /* where links may lead besides, or NULL */
} model_folder;

/* @return OK; IO (no such folder, or it is none); NOMEM. err->file is set. */
fp8moe_status folder_open(const char *path, model_folder *out, fp8moe_error *err);
void folder_close(model_folder *f);

/* Whether there is an entry `name`, be it a link to nothing. */
bool folder_has(const model_folder *f, const char *name);

/* The path of a file of the folder, links resolved; the caller frees *out.
 *
 * @return OK; FORMAT (absolute, holds "..", or a link leads outside); IO (no such file); NOMEM.
 *         err->file is the file's path. */
fp8moe_status folder_find(const model_folder *f, const char *name, char **out, fp8moe_error *err);

/* Name in an error the file as a user knows it, instead of where links led. Returns `status`. */
fp8moe_status folder_error(const model_folder *f, const char *name, fp8moe_status status,
                           fp8moe_error *err);

#endif

#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static fp8moe_status no_memory(fp8moe_error *err)
{
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for a path");
}

/* "<base>/<name>", or NULL. */
static char *join(const char *base, size_t length, const char *name)
{
    const size_t size = length + strlen(name) + 2;
    char *const path = malloc(size);
    if (path) (void)snprintf(path, size, "%.*s/%s", (int)length, base, name);
    return path;
}

/* Where the cache that holds a snapshot keeps its files: the last "snapshots" of the path tells. */
static fp8moe_status find_blobs(model_folder *f, fp8moe_error *err)
{
    static const char part[] = "/snapshots/";
    const char *last = NULL;
    for (const char *at = f->real; (at = strstr(at, part)) != NULL; at++)
        last = at;
    if (!last) return FP8MOE_OK;
    f->blobs = join(f->real, (size_t)(last - f->real), "blobs");
    return f->blobs ? FP8MOE_OK : no_memory(err);
}

static fp8moe_status open_into(const char *path, model_folder *out, fp8moe_error *err)
{
    struct stat info;
    if (!(out->path = strdup(path))) return no_memory(err);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        out->path[end - 1] = '\0';
    if (!(out->real = realpath(path, NULL)))
        return fail(err, FP8MOE_ERR_IO,
                    errno == ENOENT ? "there is no such folder" : "cannot open the folder");
    if (stat(out->real, &info) != 0 || !S_ISDIR(info.st_mode))
        return fail(err, FP8MOE_ERR_IO,
                    "is no folder: a model folder holds config.json and safetensors files");
    return find_blobs(out, err);
}

fp8moe_status folder_open(const char *path, model_folder *out, fp8moe_error *err)
{
    const fp8moe_status status = open_into(path, out, err);
    if (status != FP8MOE_OK) folder_close(out);
    return error_in_file(err, status, path);
}

void folder_close(model_folder *f)
{
    free(f->path);
    free(f->real);
    free(f->blobs);
    *f = (model_folder){0};
}

bool folder_has(const model_folder *f, const char *name)
{
    struct stat info;
    char *const path = join(f->real, strlen(f->real), name);
    const bool there = path && lstat(path, &info) == 0;
    free(path);
    return there;
}

/* Whether a name is relative and never goes up. */
static bool stays_below(const char *name)
{
    if (!*name || *name == '/') return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2])) return false;
    }
    return true;
}

static bool is_inside(const char *path, const char *base)
{
    const size_t length = strlen(base);
    return strncmp(path, base, length) == 0 && (path[length] == '/' || strcmp(base, "/") == 0);
}

static fp8moe_status resolve(const model_folder *f, const char *path, char **out, fp8moe_error *err)
{
    struct stat info;
    char *const real = realpath(path, NULL);
    if (!real && errno == ENOENT && lstat(path, &info) == 0)
        return fail(err, FP8MOE_ERR_IO,
                    "is a symbolic link to a file that is not there: was all of it downloaded?");
    if (!real && errno == ENOENT)
        return fail(err, FP8MOE_ERR_IO, "there is no such file in the model folder");
    if (!real) return fail(err, FP8MOE_ERR_IO, "cannot be opened (errno %d)", errno);
    if (!is_inside(real, f->real) && !(f->blobs && is_inside(real, f->blobs))) {
        free(real);
        return fail(err, FP8MOE_ERR_FORMAT, "a symbolic link leads out of the model folder");
    }
    *out = real;
    return FP8MOE_OK;
}

fp8moe_status folder_find(const model_folder *f, const char *name, char **out, fp8moe_error *err)
{
    if (!stays_below(name)) {
        fail(err, FP8MOE_ERR_FORMAT, "the path \"%.200s\" leaves the model folder", name);
        return error_in_file(err, FP8MOE_ERR_FORMAT, f->path);
    }
    char *const path = join(f->path, strlen(f->path), name);
    const fp8moe_status status = path ? resolve(f, path, out, err) : no_memory(err);
    if (path) error_in_file(err, status, path);
    free(path);
    return status;
}

fp8moe_status folder_error(const model_folder *f, const char *name, fp8moe_status status,
                           fp8moe_error *err)
{
    if (err && status != FP8MOE_OK)
        (void)snprintf(err->file, sizeof err->file, "%s/%s", f->path, name);
    return status;
}

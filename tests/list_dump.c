/* List a file of tensors, one a line: name, dtype, shape and fingerprint, then "=key" and value of
 * its metadata. For tests/roundtrip.py, which compares with what the real writers wrote.
 *
 *   list_dump FILE [--as NAME=DTYPE]... [--write COPY.safetensors] */
#include <fp8moe/fp8moe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(fp8moe_status status, const fp8moe_error *err)
{
    printf("%s: %s\n", fp8moe_status_name(status), err->message);
    return 1;
}

static fp8moe_status set_dtype(fp8moe_dump *dump, const char *assignment, fp8moe_error *err)
{
    const char *const equals = strrchr(assignment, '=');
    for (size_t i = 0; equals && i < fp8moe_dump_count(dump); i++) {
        const char *const name = fp8moe_dump_name(dump, i);
        const size_t length = (size_t)(equals - assignment);
        if (strlen(name) == length && memcmp(name, assignment, length) == 0)
            return fp8moe_dump_set_dtype(dump, i, fp8moe_dtype_from_name(equals + 1), err);
    }
    fprintf(stderr, "no tensor for %s\n", assignment);
    exit(2);
}

static fp8moe_status list_tensors(fp8moe_dump *dump, fp8moe_named_tensor *out, fp8moe_error *err)
{
    for (size_t i = 0; i < fp8moe_dump_count(dump); i++) {
        char shape[256], hex[FP8MOE_FINGERPRINT_SIZE];
        fp8moe_tensor *const tensor = &out[i].tensor;
        out[i].name = fp8moe_dump_name(dump, i);
        fp8moe_status status = fp8moe_dump_tensor(dump, i, tensor, err);
        if (status == FP8MOE_OK) status = fp8moe_fingerprint_of(tensor, hex, err);
        if (status != FP8MOE_OK) return status;
        printf("%s\t%s\t%s\t%s\n", out[i].name, fp8moe_dtype_name(tensor->dtype),
               fp8moe_tensor_shape_text(tensor, shape, sizeof shape), hex);
    }
    for (size_t i = 0; i < fp8moe_dump_metadata_count(dump); i++)
        printf("=%s\t%s\n", fp8moe_dump_metadata_key(dump, i), fp8moe_dump_metadata_value(dump, i));
    return FP8MOE_OK;
}

int main(int argc, char **argv)
{
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    const char *copy = NULL;
    if (argc < 2) return 2;
    fp8moe_status status = fp8moe_dump_open(argv[1], &dump, &err);
    for (int i = 2; i + 1 < argc && status == FP8MOE_OK; i += 2) {
        if (strcmp(argv[i], "--as") == 0)
            status = set_dtype(dump, argv[i + 1], &err);
        else
            copy = argv[i + 1];
    }
    if (status != FP8MOE_OK) return complain(status, &err);
    const size_t count = fp8moe_dump_count(dump);
    fp8moe_named_tensor *const tensors = calloc(count + 1, sizeof *tensors);
    if (!tensors) return 2;
    status = list_tensors(dump, tensors, &err);
    const fp8moe_metadata pair = {"made_by", "list_dump \"\\ \xC3\xBC"};
    if (status == FP8MOE_OK && copy)
        status = fp8moe_safetensors_write(copy, tensors, count, &pair, 1, &err);
    free(tensors);
    const int result = status == FP8MOE_OK ? 0 : complain(status, &err);
    fp8moe_dump_close(dump);
    return result;
}

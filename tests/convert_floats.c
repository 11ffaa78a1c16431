/* The library's conversions as a filter, for scripts that compare them with other implementations.
 *
 * convert_floats encode gaudi2|gaudi3|ocp   f32 from stdin, one byte a value to stdout
 * convert_floats encode bf16|f16            f32 from stdin, two bytes a value to stdout
 * convert_floats decode DTYPE               nothing; the values of codes 0 .. 255 as f64 to stdout
 *
 * DTYPE is a one-byte dtype of fp8moe/tensor.h or a target. Numbers are in host byte order. */
#include "bits.h"
#include "e4m3.h"

#include <fp8moe/tensor.h>
#include <stdio.h>

static int decode(const char *name)
{
    uint8_t codes[256];
    double values[256];
    for (int code = 0; code < 256; code++)
        codes[code] = (uint8_t)code;
    const int64_t shape[] = {256};
    const fp8moe_target *target = fp8moe_target_find(name);
    const fp8moe_dtype dtype = fp8moe_dtype_from_name(name);
    if (target) {
        memcpy(values, e4m3_table(target), sizeof values);
    } else {
        if (!fp8moe_dtype_is_numeric(dtype) || fp8moe_dtype_bits(dtype) != 8) return 2;
        const fp8moe_tensor tensor = fp8moe_tensor_view(codes, dtype, 1, shape);
        fp8moe_tensor_read_f64(&tensor, 0, 256, values);
    }
    return fwrite(values, sizeof values, 1, stdout) == 1 ? 0 : 1;
}

static int encode_bytes(const fp8moe_target *target)
{
    for (float value; fread(&value, sizeof value, 1, stdin) == 1;)
        if (putchar(e4m3_encode(target, (double)value)) == EOF) return 1;
    return 0;
}

static int encode_halves(uint16_t (*encode)(double))
{
    for (float value; fread(&value, sizeof value, 1, stdin) == 1;) {
        const uint16_t half = encode((double)value);
        if (fwrite(&half, sizeof half, 1, stdout) != 1) return 1;
    }
    return 0;
}

static int encode(const char *name)
{
    const fp8moe_target *target = fp8moe_target_find(name);
    if (target) return encode_bytes(target);
    if (strcmp(name, "bf16") == 0) return encode_halves(f64_to_bf16);
    if (strcmp(name, "f16") == 0) return encode_halves(f64_to_f16);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "encode") == 0) return encode(argv[2]);
    if (argc == 3 && strcmp(argv[1], "decode") == 0) return decode(argv[2]);
    fprintf(stderr, "usage: convert_floats encode|decode NAME\n");
    return 2;
}

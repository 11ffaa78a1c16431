/* doctor: is this machine, as this process runs on it, fit for exact arithmetic? */
#include "report.h"

#include <stdlib.h>
#include <string.h>

static void add_check(doctor *out, const char *name, bool fit, char *found)
{
    out->checks = cli_resize(out->checks, (out->check_count + 1) * sizeof *out->checks);
    out->checks[out->check_count++] = (doctor_check){name, fit, found};
    out->fit &= fit;
}

/* ---- floating point ---- */

/* Which way 1 + half a step and its mirror image are rounded: the mode in which arithmetic really
 * runs, whatever a control register says. Volatile, so that the compiler does not compute it. */
static const char *rounding_mode(void)
{
    volatile double one = 1, half_step = 0x1p-53, three_quarters = 0x1.8p-53;
    const bool up = one + half_step > 1 || -one - half_step > -1;
    if (one + half_step == 1 && one + three_quarters > 1 && -one - three_quarters < -1)
        return "to nearest, ties to even";
    if (one + half_step > 1) return "towards plus infinity";
    if (-one - half_step < -1) return "towards minus infinity";
    return up ? "unknown" : "towards zero";
}

static void check_rounding(doctor *out)
{
    const char *mode = rounding_mode();
    add_check(out, "rounding", !strcmp(mode, "to nearest, ties to even"), cli_copy(mode));
}

/* Subnormal results (flush to zero) and subnormal operands (denormals are zero), in both
 * precisions. */
static void check_subnormals(doctor *out)
{
    volatile float least_normal = 0x1p-126f, half = 0.5f, subnormal = 0x1p-149f, large = 0x1p100f;
    volatile double least_normal_64 = 0x1p-1022, subnormal_64 = 0x1p-1074;
    const bool results = least_normal * half != 0 && least_normal_64 * (double)half != 0;
    const bool operands = subnormal * large != 0 && subnormal_64 * (double)large != 0;
    add_check(out, "subnormal results", results, cli_copy(results ? "kept" : "flushed to zero"));
    add_check(out, "subnormal operands", operands, cli_copy(operands ? "read" : "read as zero"));
}

/* ---- exact dots ---- */

enum { CANARY_TOKENS = 48, CANARY_TERMS = 512, CANARY_ROWS = 64 };

typedef struct canary {
    uint16_t input[CANARY_TOKENS * CANARY_TERMS]; /* bf16 */
    uint8_t codes[CANARY_ROWS * CANARY_TERMS];
    double output[CANARY_TOKENS * CANARY_ROWS];
} canary;

/*
 * Inputs 448 and 2^-9 in turn against weights +448, -448 and 2^-9: huge terms cancel and leave the
 * tiny ones, which any order or any splitting that rounds loses. Row r keeps r + 1 pairs of tiny
 * terms: r + 1 times 2 * 2^-9 * 2^-9 = (r + 1) * 2^-17, exactly.
 */
static void fill_canary(canary *c)
{
    const uint16_t large = 0x43E0, tiny = 0x3B00; /* 448 and 2^-9 as bf16 */
    for (int i = 0; i < CANARY_TOKENS * CANARY_TERMS; i++)
        c->input[i] = i % 4 < 2 ? large : tiny;
    for (int row = 0; row < CANARY_ROWS; row++) {
        for (int k = 0; k < CANARY_TERMS; k++) {
            const bool kept = k / 4 <= row;
            const uint8_t of_four[] = {0x7E, 0xFE, kept, kept};
            c->codes[row * CANARY_TERMS + k] = of_four[k % 4];
        }
    }
}

static fp8moe_status run_canary(canary *c, bool use_blas, const char *isa, fp8moe_error *err)
{
    float ones[CANARY_ROWS];
    for (int row = 0; row < CANARY_ROWS; row++)
        ones[row] = 1;
    fp8moe_config config;
    fp8moe_layer *layer = NULL;
    fp8moe_config_default(&config);
    config.target = fp8moe_target_find("ocp");
    config.weights_stage = FP8MOE_WEIGHTS_PREPARED;
    config.recipe = fp8moe_recipe_find("dynamic-linear"); /* dots of codes on both sides */
    config.use_blas = use_blas;
    config.isa = isa;
    const fp8moe_inputs inputs = {
        .hidden_states = fp8moe_tensor_view(c->input, FP8MOE_DTYPE_BF16, 2,
                                            (int64_t[]){CANARY_TOKENS, CANARY_TERMS}),
        .weight = fp8moe_tensor_view(c->codes, FP8MOE_DTYPE_F8_E4M3, 2,
                                     (int64_t[]){CANARY_ROWS, CANARY_TERMS}),
        .weight_scale = fp8moe_tensor_view(ones, FP8MOE_DTYPE_F32, 1, (int64_t[]){CANARY_ROWS})};
    CLI_TRY(fp8moe_layer_open(&config, &inputs, &layer, err));
    const fp8moe_status st = fp8moe_layer_run(layer, NULL, c->output, err);
    fp8moe_layer_close(layer);
    return st;
}

static bool is_exact(const canary *c)
{
    for (int i = 0; i < CANARY_TOKENS * CANARY_ROWS; i++)
        if (c->output[i] != (i % CANARY_ROWS + 1) * 0x1p-17) return false;
    return true;
}

static void check_dots(doctor *out)
{
    static const struct {
        const char *name;
        bool use_blas;
        const char *isa;
    } ways[] = {{"dots, portable", false, "portable"},
                {"dots, kernels", false, "all"},
                {"dots, BLAS", true, "all"}};
    canary *c = cli_allocate(sizeof *c);
    fill_canary(c);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        fp8moe_error err;
        if (run_canary(c, ways[i].use_blas, ways[i].isa, &err) != FP8MOE_OK)
            add_check(out, ways[i].name, false, cli_copy(err.message));
        else if (is_exact(c))
            add_check(out, ways[i].name, true, cli_copy("exact where large terms cancel"));
        else
            add_check(out, ways[i].name, false,
                      cli_copy("not exact: this library or CPU reorders with rounding"));
    }
    free(c);
}

/* ---- the machine ---- */

static void check_machine(doctor *out)
{
    buffer sets = {0};
    for (size_t i = 0; fp8moe_isa_at(i); i++)
        if (fp8moe_isa_present(fp8moe_isa_at(i)))
            buffer_format(&sets, "%s%s", sets.size ? ", " : "", fp8moe_isa_at(i));
    add_check(out, "instruction sets", true, sets.data);
    add_check(out, "processors", true, cli_text("%d", cli_processors()));
    add_check(out, "version", true,
              cli_text("fp8moe %s, C%ld, compiled by %s", fp8moe_version(),
                       __STDC_VERSION__ / 100 % 100, __VERSION__));
}

static cli_exit diagnose(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    if (report_format_find(given, &format, &err) != FP8MOE_OK) return cli_report_error(&err);
    doctor found = {.fit = true};
    check_rounding(&found);
    check_subnormals(&found);
    check_dots(&found);
    check_machine(&found);
    buffer out = {0};
    format->doctor(&found, &out);
    const cli_exit sent = report_send(given, &out);
    for (size_t i = 0; i < found.check_count; i++)
        free(found.checks[i].found);
    free(found.checks);
    return cli_worse(sent, found.fit ? CLI_SAME : CLI_INTERNAL);
}

const cli_command command_doctor = {
    .name = "doctor",
    .operands = "",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "check that this machine's arithmetic is fit",
    .description = "A host process, a preloaded library or a BLAS can change how numbers are "
                   "rounded. Exit code 0: "
                   "fit, 5: not.",
    .example = "fp8moe doctor",
    .run = diagnose,
};

/* route: dumped ids and weights held against the router logits; how near tokens are to a flip. */
#include "decide.h"
#include "report_upstream.h"
#include "route_flips.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

/* ---- the report ---- */

static void add_note(route_dump *dump, char *text)
{
    dump->notes = cli_resize(dump->notes, (dump->note_count + 1) * sizeof *dump->notes);
    dump->notes[dump->note_count++] = text;
}

static void free_dump(route_dump *dump)
{
    for (size_t i = 0; i < dump->note_count; i++)
        free(dump->notes[i]);
    for (size_t i = 0; i < dump->worst_count; i++)
        free(dump->worst[i].own_ids);
    route_flips_free(dump);
    free(dump->notes);
    free(dump->file);
    free(dump->layer);
    free(dump->fits);
    free(dump->reason);
}

/* ---- tokens that stand out ---- */

static fp8moe_route_class worse_class(const fp8moe_route_finding *finding)
{
    return finding->choice > finding->weights ? finding->choice : finding->weights;
}

/* Wrong before a step before a tie; then by the larger gap. */
static bool is_worse(const fp8moe_route_finding *a, const fp8moe_route_finding *b)
{
    if (worse_class(a) != worse_class(b)) return worse_class(a) > worse_class(b);
    const double a_gap = a->gap > a->weight_gap ? a->gap : a->weight_gap;
    const double b_gap = b->gap > b->weight_gap ? b->gap : b->weight_gap;
    return a_gap > b_gap;
}

static void keep_token(void *user, int64_t token, const fp8moe_route_finding *finding)
{
    route_dump *dump = user;
    size_t place = dump->worst_count;
    route_flips_keep(dump, token, finding);
    if (worse_class(finding) <= FP8MOE_ROUTE_IDENTICAL) return;
    while (place > 0 && is_worse(finding, &dump->worst[place - 1].finding))
        place--;
    if (place == ROUTE_WORST) return;
    if (dump->worst_count == ROUTE_WORST) free(dump->worst[--dump->worst_count].own_ids);
    memmove(&dump->worst[place + 1], &dump->worst[place],
            (dump->worst_count++ - place) * sizeof *dump->worst);
    const size_t bytes = (size_t)dump->summary.top_k * sizeof(int64_t);
    dump->worst[place] = (route_token){token, *finding, cli_allocate(bytes)};
    memcpy(dump->worst[place].own_ids, finding->own_ids, bytes);
}

/* ---- other settings that fit ---- */

static void renormalise(fp8moe_routing *routing)
{
    routing->renormalize = true;
}

static void keep_shares(fp8moe_routing *routing)
{
    routing->renormalize = false;
}

static void drop_factor(fp8moe_routing *routing)
{
    routing->routed_scaling_factor = 1;
}

static void drop_bias(fp8moe_routing *routing)
{
    routing->correction_bias = (fp8moe_tensor){.data = NULL};
}

static void drop_groups(fp8moe_routing *routing)
{
    routing->n_group = 0;
}

static void score_by_softmax(fp8moe_routing *routing)
{
    routing->scoring = FP8MOE_SCORING_SOFTMAX;
}

static void score_by_sigmoid(fp8moe_routing *routing)
{
    routing->scoring = FP8MOE_SCORING_SIGMOID;
}

/* Faults that are common: one setting, or two, read otherwise. */
static const struct variant_row {
    const char *text; /* as the user would say it */
    void (*change)(fp8moe_routing *routing);
} variants[] = {
    {"--renormalize", renormalise},
    {"--no-renormalize", keep_shares},
    {"--routed-scaling-factor 1", drop_factor},
    {"--scoring-func softmax", score_by_softmax},
    {"--scoring-func sigmoid", score_by_sigmoid},
    {"no correction bias", drop_bias},
    {"--n-group 1", drop_groups},
};

#define VARIANT_COUNT (sizeof variants / sizeof *variants)

static bool fits(const fp8moe_routing *routing, const fp8moe_inputs *in)
{
    fp8moe_route_summary found;
    return fp8moe_route_check(routing, &in->router_logits, &in->topk_ids, &in->topk_weights, NULL,
                              &found, NULL) == FP8MOE_OK &&
           found.choice[FP8MOE_ROUTE_WRONG] == 0 && found.weights[FP8MOE_ROUTE_WRONG] == 0;
}

/* In words, the least change of settings under which no token is wrong; NULL where there is none.
 */
static char *find_fit(const fp8moe_routing *routing, const fp8moe_inputs *in)
{
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        fp8moe_routing changed = *routing;
        variants[i].change(&changed);
        if (fits(&changed, in)) return cli_copy(variants[i].text);
    }
    for (size_t i = 0; i < VARIANT_COUNT; i++)
        for (size_t j = i + 1; j < VARIANT_COUNT; j++) {
            fp8moe_routing changed = *routing;
            variants[i].change(&changed);
            variants[j].change(&changed);
            if (fits(&changed, in))
                return cli_text("%s and %s", variants[i].text, variants[j].text);
        }
    return NULL;
}

/* ---- one dump ---- */

/* bf16 weights are bf16 also where an f32 tensor holds them. */
static fp8moe_precision weight_round(const fp8moe_tensor *weights)
{
    const bool wide = weights->dtype == FP8MOE_DTYPE_F32 && !decide_holds_bf16(weights);
    return wide ? FP8MOE_ROUND_F32 : FP8MOE_ROUND_BF16;
}

/* Distinct experts of this rank, as dumped and as uniform routing would have them. */
static fp8moe_status count_experts(const subject_dump *subject, route_dump *dump, fp8moe_error *err)
{
    const setting *value = subject->settings.value;
    const fp8moe_route_summary *sum = &dump->summary;
    fp8moe_cost_shape shape = {1, 1, sum->top_k, sum->num_experts, sum->num_experts};
    const int64_t local = value[SETTING_LOCAL_NUM_EXPERTS].integer;
    if (local > 0 && local <= sum->num_experts) shape.local_num_experts = local;
    dump->local_num_experts = shape.local_num_experts;
    dump->uniform = fp8moe_cost_expect(&shape, sum->tokens);
    if (!dump->has_ids) return FP8MOE_OK;
    return fp8moe_cost_count(&shape, &subject->fields.inputs.topk_ids,
                             value[SETTING_EP_RANK].integer, &dump->counted, err);
}

static void judge(route_dump *dump)
{
    const int64_t *choice = dump->summary.choice;
    const int64_t *weights = dump->summary.weights;
    const int64_t judged = dump->summary.tokens - choice[FP8MOE_ROUTE_UNJUDGED];
    const int64_t wrong_ids = choice[FP8MOE_ROUTE_WRONG];
    const int64_t wrong_weights = weights[FP8MOE_ROUTE_WRONG];
    dump->verdict = wrong_ids || wrong_weights ? CLI_DIFFERENT
                    : judged                   ? CLI_SAME
                                               : CLI_INCONCLUSIVE;
    if (!judged)
        dump->reason = cli_text(dump->has_ids ? "every id is -1: nothing to judge"
                                              : "the dump holds no topk_ids: margins only");
    else if (wrong_ids)
        dump->reason =
            cli_text("%lld of %lld tokens went to experts that their logits do not choose",
                     (long long)wrong_ids, (long long)judged);
    else if (wrong_weights)
        dump->reason =
            cli_text("the experts of %lld of %lld tokens are right, their weights are not",
                     (long long)wrong_weights, (long long)judged);
    else
        dump->reason = cli_text("%lld tokens are routed as their logits choose%s",
                                (long long)judged, dump->has_weights ? ", weights included" : "");
}

static void add_notes(route_dump *dump, const subject_dump *subject)
{
    if (dump->summary.nonfinite)
        add_note(dump, cli_text("%lld tokens have NaN or Inf among their logits",
                                (long long)dump->summary.nonfinite));
    if (dump->has_ids && !dump->has_weights)
        add_note(dump, cli_text("the dump holds no topk_weights: ids were judged alone"));
    if (subject->fields.unused)
        add_note(dump, cli_text("not looked at: %s", subject->fields.unused));
}

static fp8moe_status check_dump(const subject_dump *subject, route_dump *dump, fp8moe_error *err)
{
    fp8moe_config config;
    const fp8moe_inputs *in = &subject->fields.inputs;
    const fp8moe_route_listener listener = {keep_token, dump};
    settings_config(&subject->settings, subject->given, &subject->fields, &config);
    dump->has_ids = fp8moe_tensor_present(&in->topk_ids);
    dump->has_weights = fp8moe_tensor_present(&in->topk_weights);
    dump->weight_round = weight_round(&in->topk_weights);
    config.routing.weight_round = dump->weight_round;
    CLI_TRY(fp8moe_route_check(&config.routing, &in->router_logits, &in->topk_ids,
                               &in->topk_weights, &listener, &dump->summary, err));
    CLI_TRY(count_experts(subject, dump, err));
    CLI_TRY(route_flips_measure(dump, subject, err));
    judge(dump);
    if (dump->verdict == CLI_DIFFERENT) dump->fits = find_fit(&config.routing, in);
    add_notes(dump, subject);
    return FP8MOE_OK;
}

static fp8moe_status route_source(const source *from, const options *given, route_dump *dump,
                                  fp8moe_error *err)
{
    subject_dump subject;
    fp8moe_status st = subject_open(from, given, &subject, err);
    if (st == FP8MOE_OK) {
        const char *layer = fp8moe_dump_metadata_get(subject.dump, "layer");
        if (layer) dump->layer = cli_copy(layer);
        st = cli_in_file(err, check_dump(&subject, dump, err), from->title);
        dump->settings = subject.settings;
    }
    subject_close(&subject);
    return st;
}

/* ---- the command ---- */

static cli_exit route_all(const options *given, const sources *found, route_report *whole)
{
    cli_exit failures = CLI_SAME;
    whole->dumps = cli_allocate((found->count + 1) * sizeof *whole->dumps);
    for (size_t i = 0; i < found->count; i++) {
        fp8moe_error err;
        route_dump *dump = &whole->dumps[whole->count];
        *dump = (route_dump){.file = cli_copy(found->all[i].title)};
        if (route_source(&found->all[i], given, dump, &err) == FP8MOE_OK) {
            whole->verdict = cli_worse(whole->verdict, dump->verdict);
            whole->count++;
        } else {
            failures = cli_worse(failures, cli_report_error(&err));
            free_dump(dump);
        }
    }
    return failures;
}

static cli_exit route(const options *given)
{
    fp8moe_error err;
    const report_format *format;
    sources found = {0};
    route_report whole = {.verdict = CLI_SAME};
    fp8moe_status st = report_format_find(given, &format, &err);
    if (st == FP8MOE_OK) st = subject_check_options(given, &err);
    if (st == FP8MOE_OK)
        st = sources_find((const char *const *)given->operands, given->operand_count, &found, &err);
    if (st != FP8MOE_OK) return cli_report_error(&err);
    cli_exit code = route_all(given, &found, &whole);
    if (whole.count) {
        buffer out = {0};
        format->route(&whole, &out);
        code = cli_worse(cli_worse(code, whole.verdict), report_send(given, &out));
    }
    for (size_t i = 0; i < whole.count; i++)
        free_dump(&whole.dumps[i]);
    free(whole.dumps);
    sources_free(&found);
    return code;
}

const cli_command command_route = {
    .name = "route",
    .operands = "DUMP...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .summary = "hold dumped ids and weights against the router logits, and find near flips",
    .description =
        "A token is identical, a tie (other experts of equal score), a flip within a "
        "step (right if one "
        "score or logit were off by one bf16 step) or wrong. Ids of -1 are slots that "
        "were masked out. The "
        "margin says how many bf16 steps a token is from another choice; for tokens that "
        "one step could flip, how much of the router's weight would move, and, where the "
        "dump holds hidden_states and weights, how much of the output.\n"
        "Exit code: 0 every token is right, a tie or within a step, 1 some are wrong, 4 "
        "nothing to judge.",
    .example = "fp8moe route layer.safetensors --top-k 8 --scoring-func sigmoid",
    .run = route,
};

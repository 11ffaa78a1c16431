/* gate: the sizes of the layer on one rank. */
#include "gate_job.h"
#include "models.h"

#include <string.h>

static fp8moe_status take_option(gate_job *job, option_id id, int64_t *out, fp8moe_error *err)
{
    const char *text = options_value(job->given, id);
    if (!text || cli_parse_integer(text, 1, INT32_MAX, out)) return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE, "%s '%s': expected a whole number of at least 1",
                    options_spelling(id), text);
}

static void note_unconverted(gate_job *job, const fp8moe_model_config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->unconverted_count; i++)
        count += strstr(config->unconverted[i], "expert") != NULL;
    if (count)
        gate_report_note(
            &job->report,
            "config.json leaves %zu modules of experts unconverted: those layers never gather",
            count);
}

static void take_config(gate_job *job, const fp8moe_model_config *config)
{
    job->report.shape = (fp8moe_cost_shape){.hidden = config->hidden_size,
                                            .intermediate = config->intermediate_size,
                                            .top_k = config->top_k,
                                            .num_experts = config->num_experts};
    fp8moe_gate_set_model(&job->report.facts, config);
    fp8moe_gate_set_model(&job->report.other_facts, config);
    note_unconverted(job, config);
}

/* A folder with a config.json, or the name of a model whose shape is known. `guessed`: the name
 * comes from a command line, where it may well be a hub's name that is no folder here. */
static fp8moe_status take_model(gate_job *job, const char *name, bool guessed, fp8moe_error *err)
{
    const model *known = models_find(name);
    job->report.model = cli_copy(name);
    if (known) {
        job->report.shape = (fp8moe_cost_shape){.hidden = known->hidden,
                                                .intermediate = known->intermediate,
                                                .top_k = known->top_k,
                                                .num_experts = known->experts};
        return FP8MOE_OK;
    }
    const fp8moe_status st = fp8moe_config_file_open(name, &job->config, err);
    if (st == FP8MOE_OK) take_config(job, fp8moe_config_file_get(job->config));
    const bool absent = st == FP8MOE_ERR_IO || st == FP8MOE_ERR_NOT_FOUND;
    if (!absent || !guessed) return st;
    gate_report_note(&job->report,
                     "%s is no folder here and no model this command knows: its config.json "
                     "was not read",
                     name);
    return FP8MOE_OK;
}

/* Experts of a rank: given, or those of the model over the ranks of the expert-parallel group. */
/* Without expert parallelism vLLM slices every expert over all ranks. */
static void slice_experts(gate_job *job)
{
    const int64_t ranks = job->serve.tensor_parallel * job->serve.data_parallel;
    int64_t *const intermediate = &job->report.shape.intermediate;
    if (!job->has_serve || job->serve.expert_parallel || ranks < 2 || !*intermediate) return;
    *intermediate = (*intermediate + ranks - 1) / ranks;
    gate_report_note(&job->report, "I is that of a tensor-parallel slice, one of %lld",
                     (long long)ranks);
}

/* Against the experts of the model, where those are known. */
static fp8moe_status check_sizes(const fp8moe_cost_shape *shape, fp8moe_error *err)
{
    if (!shape->num_experts ||
        (shape->top_k <= shape->num_experts && shape->local_num_experts <= shape->num_experts))
        return FP8MOE_OK;
    return cli_fail(err, FP8MOE_ERR_USAGE,
                    "K %lld and E_local %lld: the model has %lld experts in all",
                    (long long)shape->top_k, (long long)shape->local_num_experts,
                    (long long)shape->num_experts);
}

static fp8moe_status find_local(gate_job *job, int64_t ep_size, fp8moe_error *err)
{
    fp8moe_cost_shape *shape = &job->report.shape;
    if (job->has_serve && job->serve.expert_parallel && !ep_size)
        ep_size = job->serve.tensor_parallel * job->serve.data_parallel;
    if (shape->num_experts && ep_size > shape->num_experts)
        return cli_fail(err, FP8MOE_ERR_USAGE, "%lld experts do not fill %lld ranks",
                        (long long)shape->num_experts, (long long)ep_size);
    if (!shape->local_num_experts && shape->num_experts)
        shape->local_num_experts = shape->num_experts / (ep_size ? ep_size : 1);
    if (!shape->local_num_experts)
        return cli_fail(
            err, FP8MOE_ERR_USAGE,
            "gate needs --local-num-experts, or --num-experts and --ep-size, or --model");
    CLI_TRY(check_sizes(shape, err));
    if (ep_size && shape->num_experts % ep_size)
        gate_report_note(
            &job->report,
            "%lld experts do not divide by %lld ranks: some ranks hold one more than the %lld "
            "taken here",
            (long long)shape->num_experts, (long long)ep_size, (long long)shape->local_num_experts);
    if (!shape->num_experts)
        shape->num_experts = shape->local_num_experts * (ep_size ? ep_size : 1);
    return FP8MOE_OK;
}

fp8moe_status gate_find_sizes(gate_job *job, fp8moe_error *err)
{
    fp8moe_cost_shape *shape = &job->report.shape;
    const char *model_name = options_value(job->given, OPTION_MODEL);
    int64_t ep_size = 0;
    if (model_name) CLI_TRY(take_model(job, model_name, false, err));
    if (!model_name && job->serve.model) CLI_TRY(take_model(job, job->serve.model, true, err));
    CLI_TRY(take_option(job, OPTION_TOP_K, &shape->top_k, err));
    CLI_TRY(take_option(job, OPTION_NUM_EXPERTS, &shape->num_experts, err));
    CLI_TRY(take_option(job, OPTION_LOCAL_NUM_EXPERTS, &shape->local_num_experts, err));
    CLI_TRY(take_option(job, OPTION_EP_SIZE, &ep_size, err));
    if (!shape->top_k)
        return cli_fail(err, FP8MOE_ERR_USAGE, "gate needs --top-k or --model%s",
                        job->report.model
                            ? ": the model of --serve is no folder here and none that "
                              "this command knows"
                            : "");
    slice_experts(job);
    return find_local(job, ep_size, err);
}

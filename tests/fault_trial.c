#include "fault_trial.h"

#include "fault_kinds.h"
#include "judge.h"

#include <fp8moe/isa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VARIANTS 64
#define MAX_SUBJECTS (VARIANTS + MAX_FAULTS + FP8MOE_MAX_AXES)
#define MAX_COUNTS 4

static const double silu_rates[4] = {0, 0.008, 0.02, 0.1};

/* ---- outputs ---- */

/* Outputs at the largest token count; with fewer tokens they are its first rows. */
typedef struct trial {
    const made_model *model;
    const char *recipe;
    int64_t row; /* H */
    const int64_t *counts;
    int count;
    bool verbose;
    fault_score *own;
    fault_results *results;
    uint16_t *reference;
    uint16_t *variant[VARIANTS];
    uint16_t *axis[FP8MOE_MAX_AXES];                 /* NULL: there is none */
    uint16_t *exact[MAX_FAULTS], *noisy[MAX_FAULTS]; /* NULL: no fault here; none that counts */
    double noise[MAX_COUNTS];                        /* the largest of the variants' distances */
    double distance[MAX_COUNTS][MAX_FAULTS];         /* 0: does not count */
    made_memory memory;
} trial;

static int64_t most_tokens(const trial *t)
{
    return t->counts[t->count - 1];
}

static uint16_t *run_plan(trial *t, made_plan *plan)
{
    uint16_t *const out = made_take(&t->memory, most_tokens(t) * t->row, sizeof *out);
    made_plan_run(plan, out);
    return out;
}

static const char *present_isa(int n)
{
    const char *present[8];
    int count = 0;
    for (size_t i = 0; fp8moe_isa_at(i) && count < 8; i++)
        if (fp8moe_isa_present(fp8moe_isa_at(i))) present[count++] = fp8moe_isa_at(i);
    return present[n % count];
}

/* The first in the library's own order, the others in one of their own. */
static uint16_t *run_variant(trial *t, int n)
{
    made_plan plan;
    made_plan_open(&plan, t->model, t->recipe, most_tokens(t));
    if (n) made_plan_noise(&plan, (uint64_t)n, silu_rates[n % 4]);
    plan.config.threads = 1 + n % 2;
    plan.config.isa = present_isa(n / 4);
    uint16_t *const out = run_plan(t, &plan);
    made_plan_close(&plan);
    return out;
}

/* A variant with 2 % of silu values off, for faults of the output alone. */
static uint16_t *ordinary_variant(const trial *t, int n)
{
    return t->variant[2 + 4 * (n % (VARIANTS / 4))];
}

static uint16_t *run_fault(trial *t, int n, bool noisy)
{
    const fault_kind *const kind = fault_kind_at(n);
    made_plan plan;
    uint16_t *out = NULL;
    if (kind->edit) return noisy ? ordinary_variant(t, n) : t->reference;
    made_plan_open(&plan, t->model, t->recipe, most_tokens(t));
    if (noisy) made_plan_noise(&plan, 1000 + (uint64_t)n, 0.02);
    if (fault_plant(kind, &plan)) out = run_plan(t, &plan);
    made_plan_close(&plan);
    return out;
}

static uint16_t *run_axis(trial *t, int n)
{
    made_plan plan;
    uint16_t *out = NULL;
    made_plan_open(&plan, t->model, t->recipe, most_tokens(t));
    made_plan_noise(&plan, 2000 + (uint64_t)n, 0.02);
    if (plan.recipe.axes[n].name) {
        made_check(fp8moe_recipe_apply(&plan.recipe, plan.recipe.axes[n].settings, NULL), NULL);
        out = run_plan(t, &plan);
    }
    made_plan_close(&plan);
    return out;
}

/* ---- which faults count ---- */

/* A copy of the first rows, with the fault's edit; NULL where it does not exist for so few. */
static uint16_t *edited(made_memory *memory, const fault_kind *kind, const uint16_t *from,
                        int64_t tokens, int64_t row)
{
    uint16_t *const copy = made_take(memory, tokens * row, sizeof *copy);
    memcpy(copy, from, (size_t)(tokens * row) * sizeof *copy);
    return kind->edit && !kind->edit(copy, tokens, row) ? NULL : copy;
}

static void find_noise(trial *t)
{
    for (int c = 0; c < t->count; c++)
        for (int n = 0; n < VARIANTS; n++) {
            const double distance =
                fault_distance(t->reference, t->variant[n], t->counts[c] * t->row);
            if (distance > t->noise[c]) t->noise[c] = distance;
        }
}

/* Faults far enough from the reference; of several with the same output the first. */
static void find_counting(trial *t, int c)
{
    const uint16_t *counted[MAX_FAULTS];
    const int64_t tokens = t->counts[c], size = tokens * t->row;
    int count = 0;
    made_memory memory = {0};
    fault_results *const r = t->results;
    for (int n = 0; fault_kind_at(n); n++) {
        const uint16_t *const exact =
            t->exact[n] ? edited(&memory, fault_kind_at(n), t->exact[n], tokens, t->row) : NULL;
        const double distance = exact ? fault_distance(t->reference, exact, size) : 0;
        bool repeated = false;
        for (int i = 0; exact && i < count; i++)
            repeated |= !memcmp(counted[i], exact, (size_t)size * sizeof *exact);
        r->absent += !exact;
        r->repeated += repeated;
        r->below_noise += exact && !repeated && !(distance > 2 * t->noise[c]);
        if (!exact || repeated || !(distance > 2 * t->noise[c])) continue;
        counted[count++] = exact;
        t->distance[c][n] = distance;
    }
    made_free(&memory);
}

static bool counts_somewhere(const trial *t, int n)
{
    for (int c = 0; c < t->count; c++)
        if (t->distance[c][n] > 0) return true;
    return false;
}

static void run_all(trial *t)
{
    made_plan plan;
    made_plan_open(&plan, t->model, t->recipe, most_tokens(t));
    t->reference = run_plan(t, &plan);
    made_plan_close(&plan);
    for (int n = 0; n < VARIANTS; n++)
        t->variant[n] = run_variant(t, n);
    for (int n = 0; n < FP8MOE_MAX_AXES; n++)
        t->axis[n] = run_axis(t, n);
    find_noise(t);
    for (int n = 0; fault_kind_at(n); n++)
        t->exact[n] = run_fault(t, n, false);
    for (int c = 0; c < t->count; c++)
        find_counting(t, c);
    for (int n = 0; fault_kind_at(n); n++)
        t->noisy[n] = counts_somewhere(t, n) ? run_fault(t, n, true) : NULL;
}

/* ---- judging ---- */

typedef struct subject {
    fault_role role;
    int index; /* of the fault, variant or axis */
    double distance;
} subject;

typedef struct subjects {
    subject of[MAX_SUBJECTS];
    fp8moe_tensor got[MAX_SUBJECTS];
    fp8moe_judgement judgement[MAX_SUBJECTS];
    int count;
    int64_t tokens;
} subjects;

static subjects *new_subjects(void)
{
    subjects *const s = calloc(1, sizeof *s);
    if (!s) exit(2);
    return s;
}

static void add_subject(const trial *t, subjects *s, const uint16_t *data, subject of)
{
    const int64_t shape[2] = {s->tokens, t->row};
    s->got[s->count] = fp8moe_tensor_view(data, FP8MOE_DTYPE_BF16, 2, shape);
    s->of[s->count++] = of;
}

static void add_subjects(const trial *t, subjects *s, int c, made_memory *memory)
{
    s->tokens = t->counts[c];
    s->count = 0;
    for (int n = 0; n < VARIANTS; n++)
        add_subject(t, s, t->variant[n],
                    (subject){ROLE_LEGITIMATE, n,
                              fault_distance(t->reference, t->variant[n], s->tokens * t->row)});
    for (int n = 0; n < FP8MOE_MAX_AXES; n++)
        if (t->axis[n])
            add_subject(t, s, t->axis[n],
                        (subject){ROLE_AXIS, n,
                                  fault_distance(t->reference, t->axis[n], s->tokens * t->row)});
    for (int n = 0; fault_kind_at(n); n++)
        if (t->distance[c][n] > 0)
            add_subject(t, s, edited(memory, fault_kind_at(n), t->noisy[n], s->tokens, t->row),
                        (subject){ROLE_FAULT, n, t->distance[c][n]});
}

static void judge_subjects(subjects *s, made_plan *plan, const fp8moe_judge_options *how)
{
    fp8moe_error err;
    const fp8moe_inputs inputs = made_plan_inputs(plan);
    plan->config.recipe = &plan->recipe;
    made_check(
        judge_with_axes(&plan->config, &inputs, s->got, s->count, how, NULL, s->judgement, &err),
        &err);
}

static void describe(const trial *t, const subjects *s, int i)
{
    const fp8moe_judgement *const j = &s->judgement[i];
    const subject *const of = &s->of[i];
    const char *const name = of->role == ROLE_FAULT  ? fault_kind_at(of->index)->name
                             : of->role == ROLE_AXIS ? j->recipe.axes[of->index].name
                                                     : "legitimate";
    printf("  %s, %s, T = %lld, %s (%d): %s (%s); %s; rel-L2 %.2g%s%s\n", t->model->shape->name,
           t->recipe, (long long)s->tokens, name, of->index, fp8moe_verdict_name(j->verdict),
           fp8moe_kind_name(j->kind), j->reason, of->distance, j->axis[0] ? "; axis " : "",
           j->axis);
    for (int n = 0; n < j->statistic_count; n++)
        printf("      %s %.3g of %.3g%s", j->statistics[n].name, j->statistics[n].seen,
               j->statistics[n].limit, n + 1 == j->statistic_count ? "\n" : "");
    (void)fflush(stdout);
}

/* What a dump of each role should be called. */
static bool is_right(fault_role role, fp8moe_verdict verdict)
{
    return verdict == (role == ROLE_FAULT ? FP8MOE_VERDICT_DIFFERENT : FP8MOE_VERDICT_SAME);
}

static void take_results(const trial *t, const subjects *s)
{
    for (int i = 0; i < s->count; i++) {
        const fp8moe_verdict verdict = s->judgement[i].verdict;
        const subject *const of = &s->of[i];
        t->own->count[of->role][verdict]++;
        if (of->role == ROLE_FAULT) t->results->kind[of->index][verdict]++;
        for (int c = 0; c < FAULT_CHECKERS; c++) {
            const bool passes =
                fault_checkers[c].passes(t->reference, s->got[i].data, s->tokens * t->row);
            t->results->other[c]
                .count[of->role][passes ? FP8MOE_VERDICT_SAME : FP8MOE_VERDICT_DIFFERENT]++;
        }
        if (!is_right(of->role, verdict) && (t->verbose || verdict != FP8MOE_VERDICT_INCONCLUSIVE))
            describe(t, s, i);
    }
}

static void count_elements(const subjects *s, int64_t *elements, int64_t *impossible)
{
    for (int i = 0; i < s->count; i++) {
        const fp8moe_classes *const c = &s->judgement[i].classes;
        if (s->of[i].role != ROLE_LEGITIMATE) continue;
        *elements += c->identical + c->expected + c->explained + c->possible + c->impossible;
        *impossible += c->impossible;
    }
}

static void judge_count(const trial *t, int c)
{
    subjects *const s = new_subjects();
    made_memory memory = {0};
    made_plan plan;
    fp8moe_judge_options how;
    fp8moe_judge_options_default(&how);
    add_subjects(t, s, c, &memory);
    made_plan_open(&plan, t->model, t->recipe, s->tokens);
    judge_subjects(s, &plan, &how);
    take_results(t, s);
    if (c == t->count - 1) count_elements(s, &t->results->elements, &t->results->impossible);
    made_plan_close(&plan);
    made_free(&memory);
    free(s);
}

/* The hard intervals are no wider than they need be: with a hundredth of the slack something that
 * is legitimate is impossible. */
static void judge_tightly(const trial *t)
{
    subjects *const s = new_subjects();
    made_plan plan;
    fp8moe_judge_options how;
    fp8moe_judge_options_default(&how);
    how.slack_scale = 0.01;
    how.try_axes = false;
    s->tokens = most_tokens(t);
    s->count = 0;
    for (int n = 2; n < VARIANTS; n += 16) /* 2 % of silu values a step off */
        add_subject(t, s, t->variant[n], (subject){ROLE_LEGITIMATE, n, 0});
    made_plan_open(&plan, t->model, t->recipe, s->tokens);
    judge_subjects(s, &plan, &how);
    count_elements(s, &t->results->tight_elements, &t->results->tight_impossible);
    made_plan_close(&plan);
    free(s);
}

static void judge_given(const trial *t, int64_t tokens, bool (*give)(made_plan *), uint64_t seed)
{
    subjects *const s = new_subjects();
    made_plan plan;
    made_memory memory = {0};
    fp8moe_judge_options how;
    fp8moe_judge_options_default(&how);
    made_plan_open(&plan, t->model, t->recipe, tokens);
    made_plan_noise(&plan, seed, silu_rates[seed % 4]);
    if (give(&plan)) {
        uint16_t *const out = made_take(&memory, tokens * t->row, sizeof *out);
        made_plan_run(&plan, out);
        s->count = 0;
        s->tokens = tokens;
        add_subject(t, s, out,
                    (subject){ROLE_LEGITIMATE, (int)seed,
                              fault_distance(t->reference, out, tokens * t->row)});
        memcpy(how.from, plan.from, sizeof how.from);
        plan.config.shuffle_sums = false;
        judge_subjects(s, &plan, &how);
        take_results(t, s);
    }
    made_plan_close(&plan);
    made_free(&memory);
    free(s);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void fault_trial(const made_model *model, int recipe, const int64_t *counts, int count,
                 bool verbose, fault_results *results)
{
    trial t = {.model = model,
               .recipe = fault_recipes[recipe],
               .row = model->shape->hidden,
               .counts = counts,
               .count = count,
               .verbose = verbose,
               .own = &results->judge[recipe],
               .results = results};
    const double start = now();
    run_all(&t);
    const double ran = now();
    for (int c = 0; c < count; c++) {
        judge_count(&t, c);
        for (uint64_t seed = 1; seed <= 2; seed++) {
            judge_given(&t, counts[c], fault_give_x_codes, seed);
            judge_given(&t, counts[c], fault_give_act_codes, seed);
        }
    }
    judge_tightly(&t);
    fprintf(stderr, "%s, %s: %.1f s to run, %.1f s to judge\n", model->shape->name, t.recipe,
            ran - start, now() - ran);
    made_free(&t.memory);
}

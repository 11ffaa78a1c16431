#include "fault_results.h"

#include "fault_kinds.h"

#include <stdio.h>

const char *const fault_recipes[FAULT_RECIPES] = {"gather", "stock", "stock-hp", "static-moe",
                                                  "dequant"};

int fault_scored(const fault_score *s, fault_role role)
{
    const int *const count = s->count[role];
    return count[FP8MOE_VERDICT_SAME] + count[FP8MOE_VERDICT_DIFFERENT] +
           count[FP8MOE_VERDICT_INCONCLUSIVE];
}

int fault_wrong(const fault_results *r)
{
    int wrong = 0;
    for (int i = 0; i < FAULT_RECIPES; i++)
        wrong += r->judge[i].count[ROLE_FAULT][FP8MOE_VERDICT_SAME] +
                 r->judge[i].count[ROLE_LEGITIMATE][FP8MOE_VERDICT_DIFFERENT] +
                 r->judge[i].count[ROLE_AXIS][FP8MOE_VERDICT_DIFFERENT];
    return wrong;
}

static void add_score(fault_score *sum, const fault_score *s)
{
    for (int role = 0; role < ROLES; role++)
        for (int v = 0; v <= FP8MOE_VERDICT_INCONCLUSIVE; v++)
            sum->count[role][v] += s->count[role][v];
}

void fault_add_results(fault_results *sum, const fault_results *part)
{
    for (int i = 0; i < FAULT_RECIPES; i++)
        add_score(&sum->judge[i], &part->judge[i]);
    for (int i = 0; i < FAULT_CHECKERS; i++)
        add_score(&sum->other[i], &part->other[i]);
    for (int n = 0; n < MAX_FAULTS; n++)
        for (int v = 0; v <= FP8MOE_VERDICT_INCONCLUSIVE; v++)
            sum->kind[n][v] += part->kind[n][v];
    sum->below_noise += part->below_noise;
    sum->repeated += part->repeated;
    sum->absent += part->absent;
    sum->elements += part->elements;
    sum->impossible += part->impossible;
    sum->tight_elements += part->tight_elements;
    sum->tight_impossible += part->tight_impossible;
}

static void print_score(const char *name, const fault_score *s)
{
    printf("| %s |", name);
    for (int role = 0; role < ROLES; role++) {
        const int *const count = s->count[role];
        printf(" %d of %d | %d |", count[FP8MOE_VERDICT_DIFFERENT],
               fault_scored(s, (fault_role)role), count[FP8MOE_VERDICT_INCONCLUSIVE]);
    }
    printf("\n");
}

static void print_checkers(const fault_results *r)
{
    fault_score sum = {0};
    printf("\n| checker | faults caught | inconclusive | false alarms of legitimate | inconclusive "
           "| false alarms of open axes | inconclusive |\n|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < FAULT_RECIPES; i++) {
        char name[64];
        if (!fault_scored(&r->judge[i], ROLE_LEGITIMATE)) continue;
        (void)snprintf(name, sizeof name, "fp8moe, %s", fault_recipes[i]);
        print_score(name, &r->judge[i]);
        add_score(&sum, &r->judge[i]);
    }
    print_score("fp8moe, all", &sum);
    for (int i = 0; i < FAULT_CHECKERS; i++)
        print_score(fault_checkers[i].name, &r->other[i]);
}

static void print_kinds(const fault_results *r)
{
    const fault_kind *kind;
    printf("\n| fault | what | different | inconclusive | same |\n|---|---|---|---|---|\n");
    for (int n = 0; (kind = fault_kind_at(n)); n++)
        printf("| %s | %s | %d | %d | %d |\n", kind->name, kind->what,
               r->kind[n][FP8MOE_VERDICT_DIFFERENT], r->kind[n][FP8MOE_VERDICT_INCONCLUSIVE],
               r->kind[n][FP8MOE_VERDICT_SAME]);
}

void fault_print_tables(const fault_results *r)
{
    print_checkers(r);
    print_kinds(r);
    printf(
        "\nNot counted: %d faults within twice the noise, %d with the output of another, %d that "
        "do not exist for their recipe or token count.\n",
        r->below_noise, r->repeated, r->absent);
    printf("%lld of %lld elements of legitimate outputs impossible; with a hundredth of the slack "
           "%lld of %lld.\n",
           (long long)r->impossible, (long long)r->elements, (long long)r->tight_impossible,
           (long long)r->tight_elements);
}

/* The suite that judges the judge: every fault kind in every shape, recipe and token count, and
 * many times more legitimate outputs; what this judge and four gates in common use make of them.
 * verdict.md section 10.
 *
 *   faults [--small] [--shape NAME] [--recipe NAME] [--verbose]
 *
 * A fault counts where its exact output differs from the exact reference by more than twice what
 * any of 64 legitimate outputs of that layer does; of faults with equal outputs one counts. The
 * dumps that are judged carry noise: sums in another order, silu a step off in 2 % of its values.
 */
#include "fault_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    bool small, verbose;
    const char *shape, *recipe;
} options;

static options read_options(int argc, char **argv)
{
    options o = {0};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--small"))
            o.small = true;
        else if (!strcmp(argv[i], "--verbose"))
            o.verbose = true;
        else if (!strcmp(argv[i], "--shape") && i + 1 < argc)
            o.shape = argv[++i];
        else if (!strcmp(argv[i], "--recipe") && i + 1 < argc)
            o.recipe = argv[++i];
        else {
            fprintf(stderr, "usage: faults [--small] [--shape NAME] [--recipe NAME] [--verbose]\n");
            exit(2);
        }
    }
    return o;
}

/* The small set: one layer of no published size, with few tokens. */
static void try_shape(const made_shape *shape, const options *o, fault_results *r)
{
    static const int64_t counts[] = {1, 4, 16};
    made_model *const model = made_open(shape);
    for (int recipe = 0; recipe < FAULT_RECIPES; recipe++)
        if (!o->recipe || !strcmp(o->recipe, fault_recipes[recipe]))
            fault_trial(model, recipe, o->small ? counts + 1 : counts, o->small ? 1 : 3, o->verbose,
                        r);
    made_close(model);
}

int main(int argc, char **argv)
{
    static fault_results r;
    const options o = read_options(argc, argv);
    for (int i = 0; i < MADE_SHAPES; i++)
        if (o.small == made_shapes[i].small && (!o.shape || !strcmp(o.shape, made_shapes[i].name)))
            try_shape(&made_shapes[i], &o, &r);
    fault_print_tables(&r);
    const int wrong = fault_wrong(&r);
    printf("%d wrong verdicts: faults called the same, legitimate outputs called different\n",
           wrong);
    return wrong || r.impossible || !r.tight_impossible;
}

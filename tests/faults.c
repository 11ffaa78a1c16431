/* The suite that judges the judge: every fault kind in every shape, recipe and token count, and
 * many times more legitimate outputs; what this judge and four gates in common use make of them.
 * verdict.md section 10.
 *
 *   faults [--small] [--shape NAME] [--recipe NAME] [--jobs N] [--verbose]
 *
 * A fault counts where its exact output differs from the exact reference by more than twice what
 * any of 64 legitimate outputs of that layer does; of faults with equal outputs one counts. The
 * dumps that are judged carry noise: sums in another order, silu a step off in 2 % of its values.
 */
#include "fault_trial.h"
#include "parallel.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    bool small, verbose;
    int jobs;
    const char *shape, *recipe;
} options;

static options read_options(int argc, char **argv)
{
    options o = {.jobs = 2};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--small"))
            o.small = true;
        else if (!strcmp(argv[i], "--verbose"))
            o.verbose = true;
        else if (!strcmp(argv[i], "--shape") && i + 1 < argc)
            o.shape = argv[++i];
        else if (!strcmp(argv[i], "--recipe") && i + 1 < argc)
            o.recipe = argv[++i];
        else if (!strcmp(argv[i], "--jobs") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.jobs = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: faults [--small] [--shape NAME] [--recipe NAME] [--jobs N] "
                            "[--verbose]\n");
            exit(2);
        }
    }
    return o;
}

/* One shape under one recipe, with a model of its own. */
typedef struct part {
    const made_shape *shape;
    int recipe;
    fault_results results;
} part;

typedef struct work {
    const options *options;
    part *parts;
    int count;
    atomic_int next;
} work;

static int64_t size_of(const made_shape *s)
{
    return s->hidden * s->inter;
}

static int larger_first(const void *a, const void *b)
{
    const int64_t x = size_of(((const part *)a)->shape), y = size_of(((const part *)b)->shape);
    return (x < y) - (x > y);
}

static void collect_parts(work *w)
{
    const options *const o = w->options;
    w->parts = calloc(MADE_SHAPES * FAULT_RECIPES, sizeof *w->parts);
    for (int i = 0; w->parts && i < MADE_SHAPES; i++)
        for (int recipe = 0; recipe < FAULT_RECIPES; recipe++)
            if (o->small == made_shapes[i].small &&
                (!o->shape || !strcmp(o->shape, made_shapes[i].name)) &&
                (!o->recipe || !strcmp(o->recipe, fault_recipes[recipe])))
                w->parts[w->count++] = (part){.shape = &made_shapes[i], .recipe = recipe};
    if (w->count) qsort(w->parts, (size_t)w->count, sizeof *w->parts, larger_first);
}

/* The small set has one number of tokens. */
static void try_parts(void *context, int64_t first, int64_t last, int worker)
{
    static const int64_t counts[] = {1, 4, 16};
    work *const w = context;
    const bool small = w->options->small;
    (void)first, (void)last, (void)worker;
    for (int at = atomic_fetch_add(&w->next, 1); at < w->count;
         at = atomic_fetch_add(&w->next, 1)) {
        part *const p = &w->parts[at];
        made_model *const model = made_open(p->shape);
        fault_trial(model, p->recipe, small ? counts + 1 : counts, small ? 1 : 3,
                    w->options->verbose, &p->results);
        made_close(model);
    }
}

int main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    work w = {.options = &o};
    fault_results r = {0};
    collect_parts(&w);
    parallel_for(o.jobs, o.jobs, try_parts, &w);
    for (int i = 0; i < w.count; i++)
        fault_add_results(&r, &w.parts[i].results);
    free(w.parts);
    fault_print_tables(&r);
    const int wrong = fault_wrong(&r);
    printf("%d wrong verdicts: faults called the same, legitimate outputs called different\n",
           wrong);
    /* A step of f32 silu may be too small to be seen: under one recipe alone nothing is impossible.
     */
    return wrong || r.impossible || (!o.recipe && !r.tight_impossible);
}

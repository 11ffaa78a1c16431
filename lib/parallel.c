#include "parallel.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define MAX_WORKERS 256

typedef struct part {
    parallel_body body;
    void *context;
    int64_t first, last;
    int worker;
} part;

static void *run_part(void *argument)
{
    const part *const p = argument;
    p->body(p->context, p->first, p->last, p->worker);
    return NULL;
}

/* Part `worker` of `workers`: the first count % workers parts are one item longer. */
static part make_part(int workers, int worker, int64_t count, parallel_body body, void *context)
{
    const int64_t share = count / workers, longer = count % workers;
    const int64_t before = worker < longer ? worker : longer;
    const int64_t first = worker * share + before;
    return (part){body, context, first, first + share + (worker < longer), worker};
}

void parallel_for(int threads, int64_t count, parallel_body body, void *context)
{
    assert(threads >= 1 && count >= 0 && body);
    if (count == 0) return;
    const int limit = threads < MAX_WORKERS ? threads : MAX_WORKERS;
    const int workers = count < limit ? (int)count : limit;
    part parts[MAX_WORKERS];
    pthread_t ids[MAX_WORKERS];
    bool started[MAX_WORKERS];

    for (int w = 1; w < workers; w++) {
        parts[w] = make_part(workers, w, count, body, context);
        started[w] = pthread_create(&ids[w], NULL, run_part, &parts[w]) == 0;
    }
    parts[0] = make_part(workers, 0, count, body, context);
    run_part(&parts[0]);
    for (int w = 1; w < workers; w++) {
        if (started[w]) {
            pthread_join(ids[w], NULL);
        } else {
            run_part(&parts[w]);
        }
    }
}

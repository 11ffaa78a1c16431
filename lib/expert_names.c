#include "expert_names.h"

#include "limits.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static const expert_names rows[] = {
    {.text = "gate_proj, up_proj, down_proj",
     .gate = "gate_proj.weight",
     .up = "up_proj.weight",
     .down = "down_proj.weight"},
    {.text = "w1, w3, w2", .gate = "w1.weight", .up = "w3.weight", .down = "w2.weight"},
    {.text = "gate_up_proj, down_proj",
     .gate_up = "gate_up_proj.weight",
     .down = "down_proj.weight"},
    {.text = "fused gate_up_proj, down_proj",
     .fused = true,
     .gate_up = "gate_up_proj",
     .down = "down_proj"},
    {.text = "fused gate_up_proj, down_proj",
     .fused = true,
     .gate_up = "gate_up_proj.weight",
     .down = "down_proj.weight"},
    {.text = "fused w13, w2", .fused = true, .gate_up = "w13_weight", .down = "w2_weight"},
};

const char *expert_name(const expert_layer *layer, int64_t id, const char *part, char *text,
                        size_t size)
{
    if (layer->names->fused)
        (void)snprintf(text, size, "%sexperts.%s", layer->seen.prefix, part);
    else
        (void)snprintf(text, size, "%sexperts.%" PRId64 ".%s", layer->seen.prefix, id, part);
    return text;
}

/* The row whose first name some expert of the layer has. */
static const expert_names *find_row(const shards *all, const expert_layer *layer)
{
    char name[LIMIT_NAME_BYTES + 64];
    expert_layer tried = *layer;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tried.names = &rows[i];
        const char *const first = rows[i].gate ? rows[i].gate : rows[i].gate_up;
        if (shards_find(all, expert_name(&tried, layer->some_id, first, name, sizeof name)))
            return &rows[i];
    }
    return NULL;
}

/* ---- one name ---- */

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Length of what stands before the component "experts"; false where there is none. */
static bool find_experts(const char *name, size_t *length)
{
    static const char part[] = "experts.";
    for (const char *at = name; (at = strstr(at, part)) != NULL; at++)
        if (at == name || at[-1] == '.') {
            *length = (size_t)(at - name);
            return true;
        }
    return false;
}

/* The id in "experts.ID.", or -1 for a fused tensor. */
static int64_t find_id(const char *experts)
{
    int64_t id = -1;
    const char *const text = experts + strlen("experts.");
    const size_t length = digits(text);
    return length && text[length] == '.' && text_to_i64(text, length, &id) && id < LIMIT_TENSORS
               ? id
               : -1;
}

/* The last number of the prefix, and where it starts. */
static void find_number(expert_layer *layer)
{
    const char *const prefix = layer->seen.prefix;
    layer->seen.number = -1;
    for (const char *at = prefix; *at;) {
        const size_t length = digits(at);
        int64_t number;
        if (length && at[length] == '.' && text_to_i64(at, length, &number)) {
            layer->seen.number = number;
            layer->stack_length = (size_t)(at - prefix);
        }
        at = strchr(at, '.') + 1; /* a prefix ends in a dot or is empty */
    }
}

/* ---- layers ---- */

static fp8moe_status no_memory(fp8moe_error *err)
{
    return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the table of layers");
}

static bool is_same_prefix(const expert_layer *layer, const char *name, size_t length)
{
    return strlen(layer->seen.prefix) == length && memcmp(layer->seen.prefix, name, length) == 0;
}

static fp8moe_status begin_layer(expert_layer *layer, arena *memory, const char *name,
                                 size_t length, fp8moe_error *err)
{
    *layer = (expert_layer){.seen.prefix = arena_text(memory, name, length),
                            .some_id = find_id(name + length)};
    if (!layer->seen.prefix) return no_memory(err);
    find_number(layer);
    return FP8MOE_OK;
}

/* Names of one prefix stand together, as the table is sorted. */
static fp8moe_status collect(const shards *all, arena *memory, expert_layer **layers, size_t *count,
                             fp8moe_error *err)
{
    size_t capacity = 0;
    for (size_t i = 0; i < all->count; i++) {
        const char *const name = all->entries[i].name;
        size_t length;
        if (!find_experts(name, &length)) continue;
        if (!*count || !is_same_prefix(&(*layers)[*count - 1], name, length)) {
            if (*count == capacity) {
                capacity = capacity ? 2 * capacity : 64;
                expert_layer *const larger = realloc(*layers, capacity * sizeof *larger);
                if (!larger) return no_memory(err);
                *layers = larger;
            }
            expert_layer *const layer = &(*layers)[*count];
            TRY(begin_layer(layer, memory, name, length, err));
            ++*count;
        }
        expert_layer *const layer = &(*layers)[*count - 1];
        layer->seen.experts = max_i64(layer->seen.experts, find_id(name + length) + 1);
    }
    return FP8MOE_OK;
}

static int compare_layers(const void *a, const void *b)
{
    const expert_layer *x = a, *y = b;
    const size_t shared = x->stack_length < y->stack_length ? x->stack_length : y->stack_length;
    const int stacks = memcmp(x->seen.prefix, y->seen.prefix, shared);
    if (stacks) return stacks;
    if (x->stack_length != y->stack_length) return x->stack_length < y->stack_length ? -1 : 1;
    if (x->seen.number != y->seen.number) return x->seen.number < y->seen.number ? -1 : 1;
    return strcmp(x->seen.prefix, y->seen.prefix);
}

static bool is_same_stack(const expert_layer *a, const expert_layer *b)
{
    return a->stack_length == b->stack_length &&
           memcmp(a->seen.prefix, b->seen.prefix, a->stack_length) == 0;
}

static void count_stacks(expert_layer *layers, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && is_same_stack(&layers[first], &layers[end]);)
            end++;
        for (size_t i = first; i < end; i++)
            layers[i].seen.stack_layers = (int64_t)(end - first);
    }
}

/* Components after the prefix that start with "shared", each once. */
static const char *find_left_out(const shards *all, arena *memory, const char *prefix)
{
    char start[LIMIT_NAME_BYTES + 64], text[256] = "";
    const char *last = NULL;
    const size_t length = strlen(prefix);
    (void)snprintf(start, sizeof start, "%sshared", prefix);
    for (size_t i = shards_from(all, start); i < all->count; i++) {
        const char *const part = all->entries[i].name + length;
        if (strncmp(all->entries[i].name, start, strlen(start)) != 0) break;
        const size_t part_length = strcspn(part, ".");
        if (last && strcspn(last, ".") == part_length && strncmp(last, part, part_length) == 0)
            continue;
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%.*s", used ? ", " : "",
                       (int)part_length, part);
        last = part;
    }
    return arena_text(memory, text, strlen(text));
}

fp8moe_status expert_layers_find(const shards *all, arena *memory, expert_layer **out,
                                 size_t *count, fp8moe_error *err)
{
    *out = NULL;
    *count = 0;
    TRY(collect(all, memory, out, count, err));
    if (*count) qsort(*out, *count, sizeof **out, compare_layers);
    count_stacks(*out, *count);
    for (size_t i = 0; i < *count; i++) {
        expert_layer *const layer = &(*out)[i];
        layer->names = find_row(all, layer);
        layer->seen.naming = layer->names ? layer->names->text : NULL;
        layer->seen.left_out = find_left_out(all, memory, layer->seen.prefix);
        if (!layer->seen.left_out) return no_memory(err);
    }
    return FP8MOE_OK;
}

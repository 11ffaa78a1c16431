#include "pickle.h"

#include "arena.h"
#include "limits.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct pickle {
    arena memory;
    pickle_value *root;
};

/* A growing array of values: the stack, the memo. */
typedef struct values {
    pickle_value **items;
    size_t count, capacity;
} values;

typedef struct machine {
    const uint8_t *data;
    size_t size, at;
    size_t opcode_at;
    int64_t base;
    const pickle_name *names;
    size_t name_count;
    arena *memory;
    values stack, memo;
    size_t marks[LIMIT_PICKLE_DEPTH];
    size_t mark_count;
    size_t value_count;
    size_t decoded; /* bytes of memory that decoded text has taken */
    bool stopped;
    fp8moe_error *err;
} machine;

/* ---- failing ---- */

static int64_t place(const machine *m)
{
    return m->base < 0 ? -1 : m->base + (int64_t)m->opcode_at;
}

static fp8moe_status bad(const machine *m, const char *sentence)
{
    return fail_at(m->err, FP8MOE_ERR_FORMAT, NULL, place(m), "%s", sentence);
}

static fp8moe_status unsupported(const machine *m, const char *sentence)
{
    return fail_at(m->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(m), "%s", sentence);
}

static fp8moe_status no_memory(const machine *m)
{
    return fail(m->err, FP8MOE_ERR_NOMEM, "out of memory for the pickle");
}

/* ---- input ---- */

static fp8moe_status take(machine *m, size_t count, const uint8_t **out)
{
    if (count > m->size - m->at) return bad(m, "the pickle ends within a value");
    *out = m->data + m->at;
    m->at += count;
    return FP8MOE_OK;
}

/* A little-endian number of `bytes` bytes. */
static fp8moe_status take_number(machine *m, int bytes, uint64_t *out)
{
    const uint8_t *p = NULL;
    TRY(take(m, (size_t)bytes, &p));
    *out = 0;
    for (int i = bytes - 1; i >= 0; i--)
        *out = *out << 8 | p[i];
    return FP8MOE_OK;
}

/* What follows a length of `bytes` bytes. */
static fp8moe_status take_counted(machine *m, int bytes, const uint8_t **out, size_t *size)
{
    uint64_t length = 0;
    TRY(take_number(m, bytes, &length));
    if (length > m->size - m->at) return bad(m, "the pickle ends within a value");
    *size = (size_t)length;
    return take(m, *size, out);
}

/* ---- values and stack ---- */

static fp8moe_status too_many(const machine *m)
{
    return fail_at(m->err, FP8MOE_ERR_FORMAT, NULL, place(m),
                   "the pickle holds more than %d values", LIMIT_PICKLE_VALUES);
}

static fp8moe_status append(machine *m, values *array, pickle_value *value)
{
    if (array->count == array->capacity) {
        if (array->count >= LIMIT_PICKLE_VALUES) return too_many(m);
        const size_t wanted = array->capacity ? 2 * array->capacity : 16;
        pickle_value **const larger = realloc(array->items, wanted * sizeof *larger);
        if (!larger) return no_memory(m);
        array->items = larger;
        array->capacity = wanted;
    }
    array->items[array->count++] = value;
    return FP8MOE_OK;
}

static fp8moe_status push(machine *m, pickle_value *value)
{
    return append(m, &m->stack, value);
}

/* A new value on top of the stack. */
static fp8moe_status push_new(machine *m, pickle_type type, pickle_value **out)
{
    if (++m->value_count > LIMIT_PICKLE_VALUES) return too_many(m);
    pickle_value *const value = arena_alloc(m->memory, sizeof *value);
    if (!value) return no_memory(m);
    value->type = type;
    value->offset = (int64_t)m->opcode_at;
    *out = value;
    return push(m, value);
}

/* The stack above the last mark belongs to whoever set it; nothing below may be taken. */
static size_t stack_floor(const machine *m)
{
    return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

static fp8moe_status pop(machine *m, pickle_value **out)
{
    if (m->stack.count <= stack_floor(m))
        return bad(m, "the pickle takes a value from an empty stack");
    *out = m->stack.items[--m->stack.count];
    return FP8MOE_OK;
}

static fp8moe_status top(machine *m, pickle_value **out)
{
    TRY(pop(m, out));
    m->stack.count++;
    return FP8MOE_OK;
}

static fp8moe_status pop_mark(machine *m, size_t *first)
{
    if (!m->mark_count) return bad(m, "the pickle closes what it never opened");
    *first = m->marks[--m->mark_count];
    return FP8MOE_OK;
}

static fp8moe_status append_item(machine *m, pickle_value *container, pickle_value *item)
{
    if (++m->value_count > LIMIT_PICKLE_VALUES) return too_many(m); /* items shared or not */
    if (container->count == container->capacity) { /* arena memory: grown by copying */
        const size_t wanted = container->capacity ? 2 * container->capacity : 8;
        pickle_value **const larger = arena_alloc(m->memory, wanted * sizeof *larger);
        if (!larger) return no_memory(m);
        if (container->count) memcpy(larger, container->items, container->count * sizeof *larger);
        container->items = larger;
        container->capacity = wanted;
    }
    container->items[container->count++] = item;
    return FP8MOE_OK;
}

/* Move everything from stack position `first` up into a container. */
static fp8moe_status move_items(machine *m, size_t first, pickle_value *container)
{
    for (size_t i = first; i < m->stack.count; i++)
        TRY(append_item(m, container, m->stack.items[i]));
    m->stack.count = first;
    return FP8MOE_OK;
}

/* ---- opcodes; `argument` is the column of the table ---- */

static fp8moe_status op_none(machine *m, int argument)
{
    pickle_value *value = NULL;
    (void)argument;
    return push_new(m, PICKLE_NONE, &value);
}

static fp8moe_status op_bool(machine *m, int argument)
{
    pickle_value *value = NULL;
    TRY(push_new(m, PICKLE_BOOL, &value));
    value->boolean = argument != 0;
    return FP8MOE_OK;
}

/* An integer of `bytes` bytes; four of them are signed. */
static fp8moe_status op_int(machine *m, int bytes)
{
    uint64_t number = 0;
    pickle_value *value = NULL;
    TRY(take_number(m, bytes, &number));
    TRY(push_new(m, PICKLE_INT, &value));
    value->integer =
        bytes == 4 ? (int64_t)number - (number >> 31 ? INT64_C(1) << 32 : 0) : (int64_t)number;
    return FP8MOE_OK;
}

/* A two's complement integer, its length before it. */
static fp8moe_status op_long(machine *m, int length_bytes)
{
    const uint8_t *p = NULL;
    size_t size = 0;
    pickle_value *value = NULL;
    TRY(take_counted(m, length_bytes, &p, &size));
    if (size > 8) return unsupported(m, "the pickle holds an integer beyond 64 bits");
    uint64_t number = size && p[size - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = size; i-- > 0;)
        number = number << 8 | p[i];
    TRY(push_new(m, PICKLE_INT, &value));
    memcpy(&value->integer, &number, sizeof number);
    return FP8MOE_OK;
}

static fp8moe_status op_float(machine *m, int argument)
{
    const uint8_t *p = NULL;
    pickle_value *value = NULL;
    uint64_t bits = 0;
    (void)argument;
    TRY(take(m, 8, &p));
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    TRY(push_new(m, PICKLE_FLOAT, &value));
    memcpy(&value->number, &bits, sizeof bits);
    return FP8MOE_OK;
}

static fp8moe_status op_bytes(machine *m, int length_bytes)
{
    const uint8_t *p = NULL;
    size_t size = 0;
    pickle_value *value = NULL;
    TRY(take_counted(m, length_bytes, &p, &size));
    TRY(push_new(m, PICKLE_BYTES, &value));
    value->text = (const char *)p;
    value->size = size;
    return FP8MOE_OK;
}

static fp8moe_status op_string(machine *m, int length_bytes)
{
    pickle_value *value = NULL;
    TRY(op_bytes(m, length_bytes));
    TRY(top(m, &value));
    value->type = PICKLE_STRING;
    if (text_utf8_check(value->text, value->size) != value->size)
        return bad(m, "a string of the pickle is not valid UTF-8");
    return FP8MOE_OK;
}

static fp8moe_status op_empty(machine *m, int type)
{
    pickle_value *value = NULL;
    return push_new(m, (pickle_type)type, &value);
}

static fp8moe_status op_mark(machine *m, int argument)
{
    (void)argument;
    if (m->mark_count == LIMIT_PICKLE_DEPTH)
        return fail_at(m->err, FP8MOE_ERR_FORMAT, NULL, place(m),
                       "the pickle is nested deeper than %d levels", LIMIT_PICKLE_DEPTH);
    m->marks[m->mark_count++] = m->stack.count;
    return FP8MOE_OK;
}

static fp8moe_status op_pop(machine *m, int argument)
{
    pickle_value *value = NULL;
    (void)argument;
    return pop(m, &value);
}

static fp8moe_status op_pop_mark(machine *m, int argument)
{
    (void)argument;
    return pop_mark(m, &m->stack.count);
}

static fp8moe_status op_dup(machine *m, int argument)
{
    pickle_value *value = NULL;
    (void)argument;
    TRY(top(m, &value));
    return push(m, value);
}

/* A tuple of everything above the stack position `first`. */
static fp8moe_status make_tuple(machine *m, size_t first)
{
    pickle_value *tuple = NULL;
    TRY(push_new(m, PICKLE_TUPLE, &tuple));
    m->stack.count--; /* while its items are moved */
    TRY(move_items(m, first, tuple));
    return push(m, tuple);
}

static fp8moe_status op_tuple(machine *m, int argument)
{
    size_t first = 0;
    (void)argument;
    TRY(pop_mark(m, &first));
    return make_tuple(m, first);
}

static fp8moe_status op_tuple_of(machine *m, int count)
{
    if (m->stack.count - stack_floor(m) < (size_t)count)
        return bad(m, "the pickle takes a value from an empty stack");
    return make_tuple(m, m->stack.count - (size_t)count);
}

/* Items above `first` go to the list or dictionary below them. */
static fp8moe_status fill(machine *m, size_t first, pickle_type type)
{
    if (first <= stack_floor(m) || m->stack.items[first - 1]->type != type)
        return bad(m, type == PICKLE_LIST ? "the pickle appends to what is no list"
                                          : "the pickle sets an item of what is no dictionary");
    if (type == PICKLE_DICT && (m->stack.count - first) % 2)
        return bad(m, "a dictionary of the pickle has a key without a value");
    return move_items(m, first, m->stack.items[first - 1]);
}

static fp8moe_status op_fill(machine *m, int type)
{
    size_t first = 0;
    TRY(pop_mark(m, &first));
    return fill(m, first, (pickle_type)type);
}

static fp8moe_status op_fill_one(machine *m, int type)
{
    const size_t count = type == PICKLE_LIST ? 1 : 2;
    if (m->stack.count - stack_floor(m) < count)
        return bad(m, "the pickle takes a value from an empty stack");
    return fill(m, m->stack.count - count, (pickle_type)type);
}

static fp8moe_status remember(machine *m, size_t index)
{
    pickle_value *value = NULL;
    TRY(top(m, &value));
    /* Writers number what they remember from 0 up; a number beyond the bytes read is an attack. */
    if (index > m->at) return bad(m, "the pickle remembers a value under an absurd number");
    while (m->memo.count <= index)
        TRY(append(m, &m->memo, NULL));
    m->memo.items[index] = value;
    return FP8MOE_OK;
}

static fp8moe_status op_put(machine *m, int bytes)
{
    uint64_t index = 0;
    TRY(take_number(m, bytes, &index));
    return remember(m, (size_t)index);
}

static fp8moe_status op_memoize(machine *m, int argument)
{
    (void)argument;
    return remember(m, m->memo.count);
}

static fp8moe_status op_get(machine *m, int bytes)
{
    uint64_t index = 0;
    TRY(take_number(m, bytes, &index));
    if (index >= m->memo.count || !m->memo.items[index])
        return bad(m, "the pickle recalls a value it never remembered");
    return push(m, m->memo.items[index]);
}

/* ---- names and calls ---- */

static bool is_text(const char *want, const char *text, size_t size)
{
    return strlen(want) == size && memcmp(want, text, size) == 0;
}

static bool is_string(const pickle_value *value, const char *want)
{
    return value->type == PICKLE_STRING && is_text(want, value->text, value->size);
}

static fp8moe_status push_name(machine *m, const char *module, size_t module_size, const char *name,
                               size_t name_size)
{
    for (size_t row = 0; row < m->name_count; row++) {
        if (!is_text(m->names[row].module, module, module_size) ||
            !is_text(m->names[row].name, name, name_size))
            continue;
        pickle_value *value = NULL;
        TRY(push_new(m, PICKLE_NAME, &value));
        value->name = &m->names[row];
        return FP8MOE_OK;
    }
    char text[160]; /* what is printed must not carry control characters */
    size_t length = 0;
    for (size_t i = 0; i < module_size + 1 + name_size && length + 1 < sizeof text; i++) {
        const char c = i < module_size    ? module[i]
                       : i == module_size ? '.'
                                          : name[i - module_size - 1];
        text[length++] = c > ' ' && c <= '~' ? c : '?';
    }
    text[length] = '\0';
    return fail_at(
        m->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(m),
        "the pickle names %s, which is none of what a file of tensors needs: nothing was run",
        text);
}

/* A line without its newline. */
static fp8moe_status take_line(machine *m, const char **out, size_t *size)
{
    const uint8_t *const start = m->data + m->at;
    const uint8_t *const end = memchr(start, '\n', m->size - m->at);
    if (!end) return bad(m, "the pickle ends within a value");
    *out = (const char *)start;
    *size = (size_t)(end - start);
    m->at += *size + 1;
    return FP8MOE_OK;
}

static fp8moe_status op_global(machine *m, int argument)
{
    const char *module = NULL, *name = NULL;
    size_t module_size = 0, name_size = 0;
    (void)argument;
    TRY(take_line(m, &module, &module_size));
    TRY(take_line(m, &name, &name_size));
    return push_name(m, module, module_size, name, name_size);
}

static fp8moe_status op_stack_global(machine *m, int argument)
{
    pickle_value *module = NULL, *name = NULL;
    (void)argument;
    TRY(pop(m, &name));
    TRY(pop(m, &module));
    if (module->type != PICKLE_STRING || name->type != PICKLE_STRING)
        return bad(m, "the pickle names something with what are no strings");
    return push_name(m, module->text, module->size, name->text, name->size);
}

/* OrderedDict() or OrderedDict([(key, value), ...]) */
static fp8moe_status make_dict(machine *m, const pickle_value *arguments)
{
    pickle_value *dict = NULL;
    TRY(push_new(m, PICKLE_DICT, &dict));
    if (!arguments->count) return FP8MOE_OK;
    const pickle_value *const pairs = arguments->items[0];
    if (arguments->count > 1 || pairs->type != PICKLE_LIST)
        return unsupported(m, "an OrderedDict made of something other than a list of pairs");
    for (size_t i = 0; i < pairs->count; i++) {
        const pickle_value *const pair = pairs->items[i];
        if ((pair->type != PICKLE_TUPLE && pair->type != PICKLE_LIST) || pair->count != 2)
            return bad(m, "an OrderedDict made of what are no pairs");
        TRY(append_item(m, dict, pair->items[0]));
        TRY(append_item(m, dict, pair->items[1]));
    }
    return FP8MOE_OK;
}

/* Text whose characters are bytes. Every such text stands in the pickle once, so that decoding
 * takes no more memory than the pickle has bytes, unless someone decodes one text again and again.
 */
static fp8moe_status make_bytes(machine *m, const pickle_value *arguments)
{
    const pickle_value *const text = arguments->count == 2 ? arguments->items[0] : arguments;
    pickle_value *made = NULL;
    if (text->type != PICKLE_STRING || !is_string(arguments->items[1], "latin1"))
        return unsupported(m, "_codecs.encode of something other than a text as latin1");
    m->decoded += text->size;
    char *const bytes = m->decoded <= m->size ? arena_alloc(m->memory, text->size + 1) : NULL;
    if (!bytes)
        return m->decoded <= m->size ? no_memory(m) : bad(m, "the pickle decodes a text twice");
    TRY(push_new(m, PICKLE_BYTES, &made));
    made->text = bytes;
    for (size_t at = 0; at < text->size; at++) { /* valid UTF-8: op_string has checked */
        uint8_t c = (uint8_t)text->text[at];
        if (c > 0xC3) return bad(m, "_codecs.encode of characters that are no bytes");
        if (c >= 0x80) c = (uint8_t)(c << 6 | (text->text[++at] & 0x3F));
        bytes[made->size++] = (char)c;
    }
    return FP8MOE_OK;
}

/* REDUCE and NEWOBJ: name and arguments become a node; nothing is called. */
static fp8moe_status op_call(machine *m, int argument)
{
    pickle_value *arguments = NULL, *callee = NULL, *call = NULL;
    (void)argument;
    TRY(pop(m, &arguments));
    TRY(pop(m, &callee));
    if (callee->type != PICKLE_NAME) return bad(m, "the pickle calls what is no name");
    if (arguments->type != PICKLE_TUPLE) return bad(m, "the pickle calls with what is no tuple");
    if (callee->name->makes == PICKLE_MAKES_DICT) return make_dict(m, arguments);
    if (callee->name->makes == PICKLE_MAKES_BYTES) return make_bytes(m, arguments);
    TRY(push_new(m, PICKLE_CALL, &call));
    call->name = callee->name;
    call->arguments = arguments;
    return FP8MOE_OK;
}

/* Attributes set on a dictionary (a state dict's _metadata) or on what was called. */
static fp8moe_status op_build(machine *m, int argument)
{
    pickle_value *state = NULL, *target = NULL;
    (void)argument;
    TRY(pop(m, &state));
    TRY(top(m, &target));
    if (target->type == PICKLE_CALL)
        target->state = state;
    else if (target->type != PICKLE_DICT)
        return bad(m, "the pickle sets the state of a plain value");
    return FP8MOE_OK;
}

static fp8moe_status op_persistent(machine *m, int argument)
{
    pickle_value *id = NULL, *value = NULL;
    (void)argument;
    TRY(pop(m, &id));
    TRY(push_new(m, PICKLE_PERSISTENT, &value));
    return append_item(m, value, id);
}

static fp8moe_status op_protocol(machine *m, int argument)
{
    uint64_t protocol = 0;
    (void)argument;
    TRY(take_number(m, 1, &protocol));
    if (m->opcode_at != 0) return bad(m, "the pickle states its protocol again");
    if (protocol < 2 || protocol > 5)
        return fail_at(m->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(m),
                       "pickle protocol %d, only 2 to 5 are read", (int)protocol);
    return FP8MOE_OK;
}

/* A hint for buffered readers: the frame must be there, its content is read as if it were not. */
static fp8moe_status op_frame(machine *m, int argument)
{
    uint64_t length = 0;
    (void)argument;
    TRY(take_number(m, 8, &length));
    return length > m->size - m->at ? bad(m, "a frame of the pickle runs past its end") : FP8MOE_OK;
}

static fp8moe_status op_stop(machine *m, int argument)
{
    (void)argument;
    m->stopped = true;
    return FP8MOE_OK;
}

static fp8moe_status op_set(machine *m, int argument)
{
    (void)argument;
    return unsupported(m, "the pickle holds a set, which is none of what a file of tensors needs");
}

static fp8moe_status op_buffer(machine *m, int argument)
{
    (void)argument;
    return unsupported(m, "the pickle's bytes are in a buffer outside of it");
}

/* Every opcode of protocols 2 to 5 that Python's writers of these protocols use (pickletools). */
static const struct {
    uint8_t opcode;
    fp8moe_status (*run)(machine *m, int argument);
    int argument;
} opcodes[] = {
    {0x80, op_protocol, 0},          /* PROTO */
    {0x95, op_frame, 0},             /* FRAME */
    {'.', op_stop, 0},               /* STOP */
    {'N', op_none, 0},               /* NONE */
    {0x88, op_bool, 1},              /* NEWTRUE */
    {0x89, op_bool, 0},              /* NEWFALSE */
    {'K', op_int, 1},                /* BININT1 */
    {'M', op_int, 2},                /* BININT2 */
    {'J', op_int, 4},                /* BININT */
    {0x8A, op_long, 1},              /* LONG1 */
    {0x8B, op_long, 4},              /* LONG4 */
    {'G', op_float, 0},              /* BINFLOAT */
    {0x8C, op_string, 1},            /* SHORT_BINUNICODE */
    {'X', op_string, 4},             /* BINUNICODE */
    {0x8D, op_string, 8},            /* BINUNICODE8 */
    {'U', op_string, 1},             /* SHORT_BINSTRING: str of Python 2 */
    {'T', op_string, 4},             /* BINSTRING */
    {'C', op_bytes, 1},              /* SHORT_BINBYTES */
    {'B', op_bytes, 4},              /* BINBYTES */
    {0x8E, op_bytes, 8},             /* BINBYTES8 */
    {0x96, op_bytes, 8},             /* BYTEARRAY8 */
    {')', op_empty, PICKLE_TUPLE},   /* EMPTY_TUPLE */
    {']', op_empty, PICKLE_LIST},    /* EMPTY_LIST */
    {'}', op_empty, PICKLE_DICT},    /* EMPTY_DICT */
    {'(', op_mark, 0},               /* MARK */
    {'0', op_pop, 0},                /* POP */
    {'1', op_pop_mark, 0},           /* POP_MARK */
    {'2', op_dup, 0},                /* DUP */
    {'t', op_tuple, 0},              /* TUPLE */
    {0x85, op_tuple_of, 1},          /* TUPLE1 */
    {0x86, op_tuple_of, 2},          /* TUPLE2 */
    {0x87, op_tuple_of, 3},          /* TUPLE3 */
    {'a', op_fill_one, PICKLE_LIST}, /* APPEND */
    {'e', op_fill, PICKLE_LIST},     /* APPENDS */
    {'s', op_fill_one, PICKLE_DICT}, /* SETITEM */
    {'u', op_fill, PICKLE_DICT},     /* SETITEMS */
    {'q', op_put, 1},                /* BINPUT */
    {'r', op_put, 4},                /* LONG_BINPUT */
    {0x94, op_memoize, 0},           /* MEMOIZE */
    {'h', op_get, 1},                /* BINGET */
    {'j', op_get, 4},                /* LONG_BINGET */
    {'c', op_global, 0},             /* GLOBAL */
    {0x93, op_stack_global, 0},      /* STACK_GLOBAL */
    {'R', op_call, 0},               /* REDUCE */
    {0x81, op_call, 0},              /* NEWOBJ */
    {'b', op_build, 0},              /* BUILD */
    {'Q', op_persistent, 0},         /* BINPERSID */
    {0x8F, op_set, 0},               /* EMPTY_SET */
    {0x90, op_set, 0},               /* ADDITEMS */
    {0x91, op_set, 0},               /* FROZENSET */
    {0x97, op_buffer, 0},            /* NEXT_BUFFER */
    {0x98, op_buffer, 0},            /* READONLY_BUFFER */
};

static fp8moe_status step(machine *m)
{
    m->opcode_at = m->at;
    if (m->at >= m->size) return bad(m, "the pickle ends without its STOP");
    const uint8_t opcode = m->data[m->at++];
    if (m->opcode_at == 0 && opcode != 0x80)
        return unsupported(m, "a pickle of protocol 0 or 1, only 2 to 5 are read");
    for (size_t row = 0; row < sizeof opcodes / sizeof opcodes[0]; row++)
        if (opcodes[row].opcode == opcode) return opcodes[row].run(m, opcodes[row].argument);
    return fail_at(m->err, FP8MOE_ERR_UNSUPPORTED, NULL, place(m),
                   "pickle opcode 0x%02X, which no writer of tensors uses", (unsigned)opcode);
}

static fp8moe_status run(machine *m, pickle_value **root)
{
    while (!m->stopped)
        TRY(step(m));
    if (m->mark_count || m->stack.count != 1)
        return bad(m, "the pickle leaves more or less than one value");
    if (m->at != m->size) return bad(m, "something follows the pickle");
    return pop(m, root);
}

fp8moe_status pickle_read(const uint8_t *data, size_t size, int64_t base, const pickle_name *names,
                          size_t name_count, pickle **out, fp8moe_error *err)
{
    assert((data || !size) && names && out);
    pickle *read = calloc(1, sizeof *read);
    if (!read) return fail(err, FP8MOE_ERR_NOMEM, "out of memory for the pickle");
    machine m = {.data = data,
                 .size = size,
                 .base = base,
                 .names = names,
                 .name_count = name_count,
                 .memory = &read->memory,
                 .err = err};
    const fp8moe_status status = run(&m, &read->root);
    free(m.stack.items);
    free(m.memo.items);
    if (status != FP8MOE_OK) {
        pickle_close(read);
        return status;
    }
    *out = read;
    return FP8MOE_OK;
}

void pickle_close(pickle *read)
{
    if (!read) return;
    arena_free(&read->memory);
    free(read);
}

const pickle_value *pickle_root(const pickle *read)
{
    return read->root;
}

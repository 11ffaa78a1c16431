/* A restricted unpickler: it builds a tree of plain values and never calls anything. What a pickle
 * wants to call becomes a node "this name with these arguments", and only for names of a list that
 * the caller gives; every other name is refused by name. Protocols 2 to 5. */
#ifndef FP8MOE_LIB_PICKLE_H
#define FP8MOE_LIB_PICKLE_H

#include "common.h"

/* What calling a name gives. */
typedef enum pickle_makes {
    PICKLE_MAKES_CALL, /* a node of name and arguments */
    PICKLE_MAKES_DICT, /* collections.OrderedDict: a dictionary */
    PICKLE_MAKES_BYTES /* _codecs.encode(text, 'latin1'): how protocol 2 writes bytes */
} pickle_makes;

/* A name that a pickle may mention. */
typedef struct pickle_name {
    const char *module, *name;
    int tag; /* the caller's */
    pickle_makes makes;
} pickle_name;

typedef enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_STRING, /* UTF-8 */
    PICKLE_BYTES,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT, /* items: key, value, key, value ... in file order */
    PICKLE_NAME,
    PICKLE_CALL,      /* a name called with a tuple */
    PICKLE_PERSISTENT /* an identifier the container resolves; items: the one value it consists of
                       */
} pickle_type;

typedef struct pickle_value {
    pickle_type type;
    int64_t offset; /* of the opcode that made it, in the pickle */
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            const char *text; /* no NUL at its end */
            size_t size;
        };
        struct {
            struct pickle_value **items;
            size_t count, capacity;
        };
        struct {
            const pickle_name *name;
            struct pickle_value *arguments; /* PICKLE_CALL: a tuple */
            struct pickle_value *state;     /* what BUILD gave it, or NULL */
        };
    };
} pickle_value;

typedef struct pickle pickle;

/**
 * Read one pickle that fills `data`. Values may be shared and lists may contain themselves, so
 * whoever walks the tree bounds depth and steps.
 *
 * @param data must outlive the result: strings point into it
 * @param base added to offsets in sentences, or -1: none are given
 * @param out  the caller frees it with pickle_close()
 * @return OK; FORMAT; UNSUPPORTED (another protocol, a name that is not on the list, a set, an
 * integer beyond 64 bits); NOMEM
 */
fp8moe_status pickle_read(const uint8_t *data, size_t size, int64_t base, const pickle_name *names,
                          size_t name_count, pickle **out, fp8moe_error *err);

void pickle_close(pickle *read);

const pickle_value *pickle_root(const pickle *read);

#endif

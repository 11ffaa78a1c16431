/* Any bytes are JSON or refused at a byte within them; what was read keeps the parser's promises.
 */
#include "fuzz.h"

#include "json.h"

#include <string.h>

static void visit(const json_value *value, size_t size, int is_member)
{
    int64_t children = 0;
    fuzz_require(value->offset >= 0 && (size_t)value->offset < size, "an offset within the text");
    fuzz_require((value->key != NULL) == is_member, "keys of members only");
    fuzz_require(json_type_text(value) != NULL, "a name of the type");
    if (value->type == JSON_STRING) (void)strlen(value->string);
    if (value->type != JSON_ARRAY && value->type != JSON_OBJECT) return;
    for (const json_value *child = value->children.first; child; child = child->next, children++) {
        visit(child, size, value->type == JSON_OBJECT);
        if (child->key && children < 8)
            fuzz_require(json_get(value, child->key) == child, "keys are different");
    }
    fuzz_require(children == value->children.count, "the number of children");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json *parsed = NULL;
    fp8moe_error err;
    const fp8moe_status status = json_parse(data, size, 0, &parsed, &err);
    if (status == FP8MOE_OK)
        visit(json_root(parsed), size, 0);
    else
        fuzz_require(err.offset >= 0 && (size_t)err.offset <= size && err.message[0], "a place");
    json_close(parsed);
    return 0;
}

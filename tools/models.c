#include "models.h"

#include <strings.h>

static const model rows[] = {
#include "models_rows.h"
};

const model *models_at(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const model *models_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

/* Every broken file of data/hostile is refused with the status, place and sentence that
 * expected.txt beside it says. */
#include <fp8moe/dump.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char folder[] = "data/hostile";

enum { COLUMNS = 5, LINE_BYTES = 4096 };

/* Split "file | status | offset | tensor | sentence" in place. */
static void split(char *line, char *columns[COLUMNS])
{
    for (int column = 0; column < COLUMNS; column++) {
        char *const bar = column < COLUMNS - 1 ? strstr(line, " |") : line + strcspn(line, "\n");
        assert_non_null(bar);
        columns[column] = line;
        line = bar + (column < COLUMNS - 1 ? 3 : 0);
        *bar = '\0';
    }
}

/* What is wrong with a tensor's packed data is found when it is asked for. */
static fp8moe_status open_and_read(const char *path, fp8moe_error *err)
{
    fp8moe_dump *dump = NULL;
    fp8moe_status status = fp8moe_dump_open(path, &dump, err);
    for (size_t i = 0; status == FP8MOE_OK && i < fp8moe_dump_count(dump); i++) {
        fp8moe_tensor tensor;
        status = fp8moe_dump_tensor(dump, i, &tensor, err);
    }
    fp8moe_dump_close(dump);
    return status;
}

static int check_row(char *const columns[COLUMNS])
{
    char path[LINE_BYTES];
    fp8moe_error err = {.offset = -1};
    (void)snprintf(path, sizeof path, "%s/%s", folder, columns[0]);
    const fp8moe_status status = open_and_read(path, &err);
    if (strcmp(fp8moe_status_name(status), columns[1]) == 0 && err.offset == atoll(columns[2]) &&
        strcmp(err.tensor, columns[3]) == 0 && strcmp(err.message, columns[4]) == 0 &&
        strcmp(err.file, path) == 0)
        return 0;
    if (strstr(err.message, "was built without zlib")) {
        print_message("%s: SKIPPED, %s\n", columns[0], err.message);
        return 0;
    }
    print_error("%s: got %s | %lld | %s | %s\n", columns[0], fp8moe_status_name(status),
                (long long)err.offset, err.tensor, err.message);
    return 1;
}

static void test_every_row(void **state)
{
    char line[LINE_BYTES];
    int rows = 0, wrong = 0;
    FILE *const table = fopen("data/hostile/expected.txt", "r");
    (void)state;
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        char *columns[COLUMNS];
        if (line[0] == '#') continue;
        split(line, columns);
        rows++;
        wrong += check_row(columns);
    }
    (void)fclose(table);
    print_message("%d broken files, %d answered otherwise\n", rows, wrong);
    assert_int_equal(wrong, 0);
    assert_true(rows > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every file of data/legal is read as expected.txt beside it says: files that are rare but right,
 * in each format. */
#include "dump_checks.h"

enum { COLUMNS = 5, LINE_BYTES = 1024, MOST_VALUES = 64 };

/* Split "a | b | c | d | e" in place. */
static void split(char *line, char *columns[COLUMNS])
{
    line[strcspn(line, "\n")] = '\0';
    for (int column = 0; column < COLUMNS; column++) {
        columns[column] = line;
        char *const bar = strstr(line, " |");
        if (column == COLUMNS - 1) break;
        assert_non_null(bar);
        *bar = '\0';
        line = bar + 2 + (bar[2] == ' ');
    }
}

/* Packed bytes are unpacked when they are asked for. */
static bool lacks_zlib(fp8moe_dump *dump, const char *name)
{
    fp8moe_tensor tensor;
    fp8moe_error err = {0};
    const int64_t index = fp8moe_dump_find(dump, name);
    if (index < 0 || fp8moe_dump_tensor(dump, (size_t)index, &tensor, &err) == FP8MOE_OK)
        return false;
    return strstr(err.message, "was built without zlib") != NULL;
}

static void check_tensor(fp8moe_dump *dump, char *const columns[COLUMNS])
{
    double values[MOST_VALUES];
    int64_t count = 0;
    for (char *at = columns[4], *end; *at && count < MOST_VALUES; at = end) {
        values[count] = strtod(at, &end);
        if (end == at) break;
        count++;
    }
    expect_tensor(dump, columns[1], fp8moe_dtype_from_name(columns[2]), columns[3], values, count);
}

static bool is_metadata(char *const columns[COLUMNS])
{
    return strcmp(columns[2], "=") == 0;
}

static void check_row(char *const columns[COLUMNS])
{
    char path[LINE_BYTES];
    fp8moe_dump *dump = NULL;
    fp8moe_error err;
    (void)snprintf(path, sizeof path, "data/legal/%s", columns[0]);
    if (fp8moe_dump_open(path, &dump, &err) != FP8MOE_OK) {
        if (!strstr(err.message, "was built without zlib")) fail_msg("%s: %s", path, err.message);
        print_message("%s: SKIPPED, %s\n", columns[0], err.message);
        return;
    }
    print_message("%s %s\n", columns[0], columns[1]);
    if (strcmp(columns[2], "none") == 0)
        assert_int_equal(fp8moe_dump_count(dump), 0);
    else if (is_metadata(columns))
        assert_string_equal(fp8moe_dump_metadata_get(dump, columns[1]), columns[3]);
    else if (lacks_zlib(dump, columns[1]))
        print_message("%s: SKIPPED, this program was built without zlib\n", columns[0]);
    else
        check_tensor(dump, columns);
    fp8moe_dump_close(dump);
}

/* How many tensors and text pairs the table gives the file that `line` is about. */
static void check_counts(const char *file, size_t tensors, size_t pairs)
{
    char path[LINE_BYTES];
    fp8moe_dump *dump = NULL;
    (void)snprintf(path, sizeof path, "data/legal/%s", file);
    if (!file[0] || fp8moe_dump_open(path, &dump, NULL) != FP8MOE_OK) return;
    assert_int_equal(fp8moe_dump_count(dump), tensors);
    assert_int_equal(fp8moe_dump_metadata_count(dump), pairs);
    fp8moe_dump_close(dump);
}

static void test_every_row(void **state)
{
    char line[LINE_BYTES], file[LINE_BYTES] = "";
    size_t rows = 0, tensors = 0, pairs = 0;
    FILE *const table = fopen("data/legal/expected.txt", "r");
    (void)state;
    assert_non_null(table);
    while (fgets(line, sizeof line, table)) {
        char *columns[COLUMNS];
        if (line[0] == '#') continue;
        split(line, columns);
        if (strcmp(file, columns[0]) != 0) {
            check_counts(file, tensors, pairs);
            tensors = pairs = 0;
            (void)snprintf(file, sizeof file, "%s", columns[0]);
        }
        check_row(columns);
        pairs += is_metadata(columns);
        tensors += !is_metadata(columns) && strcmp(columns[2], "none") != 0;
        rows++;
    }
    check_counts(file, tensors, pairs);
    (void)fclose(table);
    assert_true(rows > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

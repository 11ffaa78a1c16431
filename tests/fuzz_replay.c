/* Hand every file of the folders (and files) named on the command line to a fuzz target: the target
 * as a normal test, without clang's fuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static int replayed;

static void replay_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    (void)fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *const data = malloc(size ? size : 1); /* exact: one byte too far is seen */
    if (!data || fread(data, 1, size, file) != size) exit(1);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
}

static void replay(const char *path)
{
    DIR *const folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return;
    }
    for (const struct dirent *item; (item = readdir(folder));) {
        char name[1024];
        if (item->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, item->d_name);
        replay(name);
    }
    (void)closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%d files replayed\n", replayed);
    return replayed ? 0 : 1;
}

/* Loaded into a process before it starts, this shortens a file the moment the process has mapped
 * it: SHORTEN ends the file's name, SHORTEN_TO is its new size, SHORTEN_AT which of its mappings
 * (1: the first). What another process can do at any time happens here at a time of the test's
 * choice. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *map_function(void *, size_t, int, int, int, off_t);

/* The name of an open file that SHORTEN names, or NULL. */
static const char *find_file(int file)
{
    static char name[4096];
    char link[40];
    const char *const ending = getenv("SHORTEN");
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = file < 0 || !ending ? -1 : readlink(link, name, sizeof name - 1);
    const size_t tail = ending ? strlen(ending) : 0;
    if (length < (ssize_t)tail) return NULL;
    name[length] = '\0';
    return strcmp(name + length - tail, ending) ? NULL : name;
}

static long number(const char *variable)
{
    const char *const text = getenv(variable);
    return text ? strtol(text, NULL, 10) : 1;
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t size, int access, int flags,
                                                  int file, off_t offset)
{
    static long seen;
    map_function *map;
    *(void **)&map = dlsym(RTLD_NEXT, "mmap64"); /* offsets have 64 bits in every build */
    void *const mapped = map(at, size, access, flags, file, offset);
    const char *const name = mapped == MAP_FAILED ? NULL : find_file(file);
    if (name && ++seen == number("SHORTEN_AT") && truncate(name, number("SHORTEN_TO")) != 0)
        abort();
    return mapped;
}

/* Asking the Python on this machine: tests that hold our arithmetic against its own. */
#ifndef FP8MOE_TESTS_ASK_PYTHON_H
#define FP8MOE_TESTS_ASK_PYTHON_H

#include <stdio.h>
#include <stdlib.h>

/* Start `python3 -c program arguments`; its standard output. NULL, and a line that says so, where
 * there is no python3. The program may hold no '"'. Close with pclose(). */
static inline FILE *ask_python(const char *program, const char *arguments)
{
    if (system("python3 -c pass 2>/dev/null") != 0) {
        printf("SKIPPED: no python3 to ask\n");
        return NULL;
    }
    char command[4096];
    const int length =
        snprintf(command, sizeof command, "python3 -c \"%s\" %s", program, arguments);
    if (length < 0 || (size_t)length >= sizeof command) abort();
    return popen(command, "r");
}

#endif

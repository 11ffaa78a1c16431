#include "signals.h"

#include "cli.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* All here but signals_watch() runs in a signal's handler: no memory, no stdio, no locks. */

static char here[PATH_MAX]; /* the working folder with a slash: names below it are shown without */
static atomic_flag told = ATOMIC_FLAG_INIT;

/* One line of a file, cut where it is too long. False at its end. */
static bool next_line(int file, char *line, size_t size)
{
    size_t length = 0;
    char byte;
    while (read(file, &byte, 1) == 1 && byte != '\n')
        if (length + 1 < size) line[length++] = byte;
    line[length] = '\0';
    return length > 0;
}

/* Hexadecimal digits at *text, which moves behind them and the character that ends them. */
static uintptr_t take_address(const char **text)
{
    static const char digits[] = "0123456789abcdef";
    uintptr_t value = 0;
    for (const char *digit; **text && (digit = strchr(digits, **text)); ++*text)
        value = value * 16 + (uintptr_t)(digit - digits);
    *text += **text != '\0';
    return value;
}

/* The file mapped at an address, from lines such as "7f00-7f80 r--p 00000000 08:01 131 /path"; NULL
 * where no file is. */
static const char *mapped_at(int maps, uintptr_t address)
{
    static char line[PATH_MAX + 200];
    while (next_line(maps, line, sizeof line)) {
        const char *at = line;
        const uintptr_t first = take_address(&at), end = take_address(&at);
        if (address >= first && address < end) return strchr(at, '/');
    }
    return NULL;
}

static void say(const char *text)
{
    for (size_t left = strlen(text); left;) {
        const ssize_t done = write(STDERR_FILENO, text, left);
        if (done <= 0) return;
        text += done;
        left -= (size_t)done;
    }
}

static void tell_and_end(const char *file)
{
    const size_t below = strlen(here);
    say("fp8moe: ");
    say(strncmp(file, here, below) ? file : file + below);
    say(": was shortened while it was read, or its device fails\n");
    _exit(CLI_UNREADABLE);
}

static void on_lost_page(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    while (atomic_flag_test_and_set(&told)) /* another worker is ending the process */
        pause();
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const char *const file = maps < 0 ? "an input" : mapped_at(maps, (uintptr_t)info->si_addr);
    if (file) tell_and_end(file);
    signal(signal_number, SIG_DFL); /* no file's fault: the access is repeated, and ends us */
}

void signals_watch(void)
{
    struct sigaction action = {.sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    if (getcwd(here, sizeof here - 1)) strcat(here, "/");
    sigaction(SIGBUS, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* Signals that would end the process without a word. */
#ifndef FP8MOE_TOOLS_SIGNALS_H
#define FP8MOE_TOOLS_SIGNALS_H

/*
 * From here on an access behind the new end of a file that somebody shortened while it is mapped
 * ends the process with exit code 3 and a sentence that names the file. It may come at any access,
 * also from a worker or while a file is being opened, so which file it was is asked of the system.
 * Writing beyond the largest size allowed (ulimit -f) becomes an error as any other.
 */
void signals_watch(void);

#endif

/* What happens when somebody shortens a file that this process has mapped. */
#ifndef FP8MOE_TOOLS_SHORTENED_H
#define FP8MOE_TOOLS_SHORTENED_H

/*
 * From here on an access behind the new end of a shortened file ends the process with exit code 3
 * and a sentence that names the file, instead of SIGBUS and nothing. It may come at any access,
 * also from a worker or while a file is being opened, so which file it was is asked of the system.
 */
void shortened_watch(void);

#endif

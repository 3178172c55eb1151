/* stop.h: the moment at which a command that follows a table is told that nobody writes to it any
 * more: SIGINT or SIGTERM, by Ctrl-C mostly. */
#ifndef CLI_TRANSFER_STOP_H
#define CLI_TRANSFER_STOP_H

#include <stdbool.h>

/* From now on the first such signal is kept for stop_wanted(); the second one ends the program as
 * it does any other. */
void stop_catch(void);

/* From any thread. */
bool stop_wanted(void);

#endif

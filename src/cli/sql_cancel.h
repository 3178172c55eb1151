/* sql_cancel.h: Ctrl-C while a statement runs ends that statement, and neither the connection nor
 * the program: a thread that waits for it tells the server. */
#ifndef CLI_SQL_CANCEL_H
#define CLI_SQL_CANCEL_H

#include "cli/sql_link.h"

/* From here on Ctrl-C is for what runs on the connection. One at a time. */
void sql_cancel_begin(struct sql_link *l);

/* Was it typed since then? */
bool sql_cancel_asked(void);

/* The statement has ended: Ctrl-C is what it was before. Waits until the server knows of one that
 * was typed, so that it does not end the next statement. */
void sql_cancel_end(void);

#endif

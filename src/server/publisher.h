/* publisher.h: brings what all servers over a pool share (access keys, settings) up to date, on a
 * thread of its own: a server that hangs is waited for, and nothing else may wait with it. */
#ifndef SERVER_PUBLISHER_H
#define SERVER_PUBLISHER_H

#include "base/log.h"
#include "server/shared_text.h"

struct publisher;

/* All of them stay the caller's, until publisher_stop(). NULL: the system gives no thread. */
struct publisher *publisher_start(struct wr_db *db, struct shared_text *keys,
                                  struct shared_text *settings, struct log *log);

/* Soon reads the files of both again, publishes what was edited, and logs what came of it; once
 * more if that is under way. Any thread. */
void publisher_wake(struct publisher *p);

/* Ends it; what is under way no longer waits for other servers, and the log says so. NULL is
 * allowed. */
void publisher_stop(struct publisher *p);

#endif

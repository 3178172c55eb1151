/* logs.h: that a database's logs follow each other without a gap.
 *
 * Several logs may be alive at once: a new one begins whenever the write buffer is full, and the
 * old ones go when their buffers were written out. A damaged header makes RocksDB take the rest of
 * a log for its end (log_file.h), and go on with the next one. So the newest sequence number is
 * there and the watermark content, while writes in between are missing. */
#ifndef ENGINE_LOGS_H
#define ENGINE_LOGS_H

#include "base/ctx.h"

/* E_CORRUPT, with a text that names the log and what is missing, if the logs in folder `db` leave
 * out sequence numbers of which some are up to `acked`. Reads every log that is still needed but
 * the newest, and of that its first batch. */
int logs_check(struct ctx *c, const char *db, uint64_t acked);

#endif

/* shared_limits.h: do all servers over the same data work by the same limits? */
#ifndef SERVER_SHARED_LIMITS_H
#define SERVER_SHARED_LIMITS_H

#include "base/limit.h"
#include "base/log.h"
#include "widerow.h"

/* Warns of every limit that is another one than that of the server that started last, as far as the
 * database knows, and leaves ours there for the next. A difference is no reason not to start:
 * limits are changed by starting one server after the other. Blocks. */
void shared_limits_compare(struct wr_db *db, const struct limits *limits, struct log *log);

/* The differences from the limits that `stored` tells of, as "name ours, not theirs" with commas,
 * cut to `size`. Returns how many. Names that we do not know are passed over. */
size_t shared_limits_differ(const struct limits *limits, const char *stored, char *out,
                            size_t size);

#endif

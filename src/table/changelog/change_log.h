/* change_log.h: which rows of a table have changed, in order, for parts of the server that follow
 * it (search indexes), on their own threads.
 *
 * A record a change, and in it the key columns of the row and no more: who follows reads the row
 * again, as it is then. So a record costs some 40 bytes in the row's own batch, blind writes stay
 * blind, and it does no harm to read a record twice. Rows that expire have records, too.
 *
 *   location of the log | kind 4 | shard 0 | number    the key columns, encoded (doc/format.md)
 *   location of the log | kind 4 | shard 1 | 0         below which number records are gone, 8 bytes
 *
 * The number is given when the change is appended, as a stream's record's is (decision 34):
 * numbers ascend in the order in which changes become visible, so that a position is one number.
 * Clients see none of this: it is in no ListStream, in no size and no quota.
 *
 * Records stay until their readers have passed them (change_log_trim()), or until the log is larger
 * than it may be (change_log_bound()): who is further behind is told so, and builds from the rows
 * anew. */
#ifndef TABLE_CHANGELOG_CHANGE_LOG_H
#define TABLE_CHANGELOG_CHANGE_LOG_H

#include "table/core/db.h"
#include "table/model/table.h"

/* db->observe, for a table that has a change log. */
void change_log_observe(struct wr_db *db, struct table *t);

/* Gives the table a change log, or takes its log away: a transaction on the catalog. E_OK too if it
 * is so already. Every change is in the log once catalog_keeps_change_log() says so of a version
 * that has it. E_UNSUPPORTED: the engine gives no numbers. Blocks. */
int change_log_switch(struct ctx *c, struct wr_db *db, bytes instance, bytes table, bool on);

/* The position behind the last change that readers can see: who takes it and then reads all rows
 * misses nothing that comes later. Blocks. */
int change_log_end(struct ctx *c, const struct table *t, uint64_t *position);

/* Changes in their order. */
struct change_log_page {
    bytes *keys; /* the rows' key columns, encoded; in the arena of c */
    size_t count;
    uint64_t next; /* the position behind them */
    bool more;
    bool gone; /* of those from the position on some are not kept any more: there are none here */
};

/* Up to `max` changes from a position on. Blocks. */
int change_log_read(struct ctx *c, const struct table *t, uint64_t position, size_t max,
                    struct change_log_page *out);

/* No reader wants what is below the position any more. Removes it if a minute's changes or more
 * have come together: whole table files then, and once an hour, or when it is more than 64 MiB,
 * what is left in files with others. Blocks. */
int change_log_trim(struct ctx *c, const struct table *t, uint64_t position);

struct change_log_bounded {
    uint64_t bytes; /* that the log holds now, about */
    bool removed;   /* it held too many */
};

/* Removes the oldest half of the time that the log covers, as often as it takes, while it holds
 * more than that many bytes (change_log_watch.h). Blocks. */
int change_log_bound(struct ctx *c, const struct table *t, uint64_t bytes_max,
                     struct change_log_bounded *out);

#endif

/* stream.h: what the streams of a database (widerow.h, "one cell as a stream") share: the threads
 * that hash and store for them, and which cells they use. cell_writer.c and cell_reader.c are the
 * streams. */
#ifndef TABLE_STREAM_H
#define TABLE_STREAM_H

#include "table/db.h"
#include "table/sweep.h"

struct streams;

struct streams *streams_start(struct wr_db *db);
/* No stream may be open. NULL is allowed. */
void streams_stop(struct streams *s);

/* Runs the job on a thread of the pool, where engine calls may block. */
void streams_submit(struct streams *s, struct job *job);

/* True while the chunks under `id` are being written or read: the sweeper leaves them. */
bool streams_use(struct streams *s, uint64_t id);
void streams_use_begin(struct streams *s, uint64_t id);
void streams_use_end(struct streams *s, uint64_t id);

/* Finds the table, referenced, and encodes the key of a row with this cell. */
int stream_find_row(struct ctx *c, struct wr_db *db, bytes instance, bytes table_name,
                    const struct wr_key *key, bytes column, struct table **table, bytes *cols);

/* Copies the text of a failure out; returns its code. */
int stream_give_text(const struct ctx *c, int code, char *message, size_t size);

#endif

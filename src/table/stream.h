/* stream.h: what the streams of a database (widerow.h, "one cell as a stream") share: the threads
 * that hash and store for them, and which cells they use. cell_writer.c and cell_reader.c are the
 * streams. */
#ifndef TABLE_STREAM_H
#define TABLE_STREAM_H

#include "base/workers.h"
#include "table/db.h"

struct streams;

/* NULL: the system gives no threads. */
struct streams *streams_start(void);
/* No stream may be open. NULL is allowed. */
void streams_stop(struct streams *s);

/* Runs the job on a thread of the pool, where engine calls may block. */
void streams_submit(struct streams *s, struct job *job);

/* True while the chunks under `id` are being written or read: the sweeper leaves them. */
bool streams_use(struct streams *s, uint64_t id);
void streams_use_begin(struct streams *s, uint64_t id);
void streams_use_end(struct streams *s, uint64_t id);

/* A value of so many bytes goes past the log. */
#define CELL_BULK_BYTES_MIN ((uint64_t)16 << 20)

/* The last step of the upload is `req`, a PutRow or UpdateRow whose cell `at` it is, instead of an
 * UpdateRow of that cell alone. `req` and what it points to must stay until the upload is done. */
void cell_writer_attach(struct wr_cell_writer *w, const struct wr_request *req, size_t at);

/* Takes on a PutRow or UpdateRow with a cell that is better brought in as a stream: done() will be
 * called, as wr_submit() says. False: it has none. Does not wait. */
bool cell_stage(struct wr_db *db, const struct wr_request *req, wr_done_fn *done, void *arg);

/* Finds the table, referenced, and encodes the key of a row with this cell. */
int stream_find_row(struct ctx *c, struct wr_db *db, bytes instance, bytes table_name,
                    const struct wr_key *key, bytes column, struct table **table, bytes *cols);

/* Copies the text of a failure out; returns its code. */
int stream_give_text(const struct ctx *c, int code, char *message, size_t size);

#endif

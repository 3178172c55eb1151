/* stream.h: what the streams of a database (widerow.h, "one cell as a stream") share: the threads
 * that hash and store for them, and which cells they use. cell_writer.c and cell_reader.c are the
 * streams.
 *
 * Who reads chunks marks them as used soon after the row that refers to them was read (the reader
 * looks again if it took long). So once a cell has been out of its row for a grace, everybody who
 * reads it has marked it, and nobody new will: the sweepers of all servers ask for marks before
 * they erase. */
#ifndef TABLE_BLOB_STREAM_H
#define TABLE_BLOB_STREAM_H

#include "table/catalog/peers.h"

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

/* Which chunks other servers over the same data read at the moment. */
struct stream_readers {
    uint64_t *ids; /* in the arena of who asked */
    size_t count;
    bool silent; /* some server gave no answer, and may read any of them */
};

/* Asks them about these ids of the table. Blocks, for PEERS_WAIT_MS at most; not for the threads
 * for notifications. With no ids, or where there are no others: nobody reads them. */
void stream_readers_query(struct ctx *c, struct table *t, const uint64_t *ids, size_t count,
                          struct stream_readers *out);
bool stream_readers_have(const struct stream_readers *r, uint64_t id);
/* And what we say when they ask. */
peers_answer_fn readers_answer;

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

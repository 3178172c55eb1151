/* upload.h: the garbage record of a big cell on its way.
 *
 * Chunks that are stored before the row refers to them belong to nobody. A garbage record under
 * their id says so, from before the first chunk until the batch that publishes the cell, which
 * removes it. Where several servers share the data, each of them removes what a record names once
 * the record has stayed the same for a grace. So an upload that lives renews its record, by a
 * thread of the database's, and every batch of the upload guards the record:
 *
 *     uploading  --renew-->  uploading  --publish-->  (removed; the row refers to the chunks)
 *         |                      |
 *         +----- a sweeper takes it (guarded) ----->  erasing  -->  chunks erased  -->  (removed)
 *
 * Once a sweeper has turned the record into "erasing", no chunk is stored and no cell published any
 * more: the upload has failed and is to be sent again. Whoever dies between two of these steps
 * leaves a record that the next sweep goes on with. With a sole writer the mark of
 * streams_use_begin() keeps the sweeper away, and nothing of this is needed. */
#ifndef TABLE_BLOB_UPLOAD_H
#define TABLE_BLOB_UPLOAD_H

#include "table/core/db.h"
#include "table/model/big.h"
#include "table/model/batch_builder.h"

/* A record that stays the same for so long is of a writer that lives no more, and a reader that saw
 * the old record has finished by then. Test builds have a fault point that makes it short. */
int64_t upload_grace_ms(void);

/* Embedded in its writer. `table`, `cols` and `db` stay valid until upload_end(). */
struct upload {
    struct wr_db *db;
    struct table *table;
    bytes cols; /* of the row */
    uint64_t id;

    bool begun;           /* the record may be there; the writer's thread alone */
    pthread_mutex_t lock; /* of all below; held while a batch that guards the record is under way */
    uint8_t value[BIG_GARBAGE_BYTES]; /* of the record */
    uint8_t maybe[BIG_GARBAGE_BYTES]; /* with `doubt`: what it is if its last change has landed */
    bool doubt;
    bool publishing;    /* it is about to be published: the record stays as it is */
    bool lost;          /* somebody took it */
    int64_t renewed_ms; /* monotonic */
    unsigned round;     /* uploads' own, under their lock, as the next */
    struct upload *next, **at;
};

/* The uploads of a database, and the thread that renews their records. */
struct uploads;
/* NULL: the system gives no thread. */
struct uploads *uploads_start(struct wr_db *db);
/* None is under way. NULL is allowed. */
void uploads_stop(struct uploads *u);

void upload_init(struct upload *u, struct wr_db *db, struct table *table, bytes cols, uint64_t id);

/* The rest but upload_guard() blocks, and is for the writer's thread, one call at a time. */

/* Makes the record durable. */
int upload_begin(struct ctx *c, struct upload *u);

/* Stores chunks. E_BUSY: the upload was taken for dead, or storage is too busy for long; send it
 * again. Nothing that a row shows has changed, whatever the error. */
int upload_store(struct ctx *c, struct upload *u, struct batch_builder *builder);

/* All is stored: from now on the record stays as it is, and upload_guard() gives it away. May be
 * called again when a publish met E_CONFLICT. E_BUSY as above. */
int upload_publish_begin(struct ctx *c, struct upload *u);

/* The end, whatever became of it. `failed`: nobody will ever publish it, so the next sweep may
 * erase the chunks. */
void upload_end(struct upload *u, bool failed);

/* The guard on the record of an upload that is being published, for the batch that publishes it; in
 * the arena. False: there is no such upload, or nobody else could have taken it. Any thread. */
bool upload_guard(struct arena *a, struct wr_db *db, const struct location *p, bytes cols,
                  uint64_t id, struct guard *out);

#endif

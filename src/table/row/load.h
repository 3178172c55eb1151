/* load.h: a row from the engine: its record, and of a wide row the cells that are wanted.
 *
 * A load at VIEW_DURABLE shows the row as it was at one moment, however many scans it takes: at
 * that of a snapshot where the engine gives them; else each scan reads the row record again in the
 * same operation, and the load begins again when another state of the row is found. So that writers
 * cannot keep it from its end, it then asks them to wait (row.read_locked), at most
 * ROW_READ_LOCK_MS for each.
 *
 * A load answers at once (E_OK, error) or later: E_LATER, and then `done` is called once, when
 * calling load_run() again gives the answer; `done` may come from a worker, because the load took
 * long (base/turn.h). It uses the arena of the context it was begun with,
 * from one thread at a time. */
#ifndef TABLE_ROW_LOAD_H
#define TABLE_ROW_LOAD_H

#include "base/turn.h"
#include "engine/engine.h"
#include "table/model/table.h"
#include "table/model/big.h"
#include "table/model/row.h"

#include <stdatomic.h>

/* A change of a row that readers hold waits for so long, and is then made whether or not they have
 * come to their end. */
#define ROW_READ_LOCK_MS 2000

/* A write of a load's, on its way. */
struct load_read_lock {
    struct edit edit;
    struct guard guard;
    atomic_bool met; /* its end and its beginning have been here */
    int code;
};

struct load {
    struct ctx *c;
    const struct table *table;
    bytes cols; /* the key columns, encoded */
    enum engine_view view;
    struct snapshot *snapshot; /* the caller's; NULL: the load takes one if the row is wide */
    bool read_pending;         /* the caller minds get.depends_on */
    bool urgent;               /* it holds a row lock */
    bool with_outbox; /* at VIEW_LATEST: the row's outbox record too, in the same operation */
    void (*done)(struct load *l);

    /* Which cells of a wide row: `columns` (sorted; NULL: all) inside [start, end) (ptr NULL:
     * open). The choice may be made in `choose`, called once when the row turned out to be wide. */
    const bytes *columns;
    size_t column_count;
    bytes start, end;
    bytes after; /* go on behind the last cell of this column; ptr NULL: from the start */
    size_t
        bytes_max; /* stop after a column that passes it, and tell where in `next`; 0: read all */
    void (*choose)(struct load *l);

    /* Big cells are put together, of each column so many of the newest versions; 0: they stay
     * references. */
    size_t whole_versions;

    struct row row;
    bytes outbox; /* as stored, if it was asked for; ptr NULL: there is none */
    bytes next;   /* the last column read, if bytes_max cut the row; else ptr NULL */

    /* Progress. */
    struct pool_job job; /* goes on, when a turn was over */
    int state;
    struct snapshot *own;             /* what `snapshot` is then */
    bool again;                       /* it was revoked once, and the load begun again */
    bool guarded;                     /* each scan reads the row record, in front of the cells */
    bool begun;                       /* some cells were taken */
    int restarts;                     /* that a changed record made */
    bytes record;                     /* of a guarded load: as stored, when it was last seen */
    struct load_read_lock *read_lock; /* is under way; NULL: none */
    int read_locks;                   /* begun so far */
    bool read_locking;                /* writers were asked to wait, and are told at the end */
    size_t column_count_given;        /* column_count as the caller gave it */
    struct get get;
    struct scan scan;
    struct key_range *ranges;
    size_t range_at;
    struct page *pages; /* of the scan, one a range */
    size_t loaded_bytes;
    size_t capacity;
    size_t whole_at;       /* the cell whose value is put together */
    struct big_ref whole;  /* of that one */
    uint8_t *whole_bytes;  /* NULL: not begun */
    uint32_t whole_number; /* of the chunk that was asked for */
    struct ctx *chunk;     /* its memory */
};

int load_run(struct load *l);

/* Skips the row record: the row is known to be wide with this record. */
void load_from_record(struct load *l, const struct row *record);

/* The key of a row's head. */
bytes load_head_key(struct arena *a, const struct table *t, bytes cols);

/* Takes the row record as it was read at load_head_key(), at the view of the load and without a
 * failure, instead of reading it. */
void load_from_get(struct load *l, const struct get *record);

/* Waits for the answer: for threads that may block, never one that serves requests. l->done is its
 * own. */
int wait_load(struct load *l);

#endif

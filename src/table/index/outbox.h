/* outbox.h: the note beside a row that says what its entries must become, for engines on which the
 * row's batch cannot hold them (decision 35).
 *
 * A row has one record at most, which every change that touches an index replaces, merged, in its
 * own batch. It holds each index that is not settled: the entry that the row has now, whole, and
 * the other keys where it may have had one. When all of these keys are settled (settle.h) and
 * durable, the record lists only keys that have marks, until these go.
 *
 * A record is small: OUTBOX_KEYS_MAX keys. doc/format.md has every byte. */
#ifndef TABLE_INDEX_OUTBOX_H
#define TABLE_INDEX_OUTBOX_H

#include "table/index/entry.h"

/* The last byte of a key of kind 4 whose beginning is a row's key. On disk. */
enum beside {
    BESIDE_FENCE = 0,  /* of a partition of an index: its key columns are the lower bound's */
    BESIDE_OUTBOX = 1, /* of a row */
    BESIDE_MARK = 2,   /* at the key of an entry that has gone */
    BESIDE_CHANGE = 3, /* a row's change; more of the key follows (table/stream/stream_beside.h) */
                       /* 4: a lock's (table/model/lock_key.h) */
};

/* Of other keys in a record, of all indexes. In no setting: a record must fit everywhere. */
#define OUTBOX_KEYS_MAX 64

struct outbox_index {
    uint32_t id;    /* of the index */
    uint64_t stamp; /* of the row's last change that touched it */
    bool settled;   /* `others` have marks, and the entry is where it belongs */
    bool there;     /* the row has an entry; only if not settled: */
    bytes cols;     /* its key columns */
    bytes value;    /* its record */
    bytes *others;  /* key columns where an entry may be, or a mark; none of them is `cols` */
    size_t other_count;
};

struct outbox {
    struct outbox_index *indexes;
    size_t count;
};

/* The key of what stands beside these key columns. In the arena. */
bytes beside_key(struct arena *a, const struct location *p, bytes cols, enum beside what);

/* Is it such a key, of a row or an entry at that location? */
bool beside_is(const struct location *p, bytes key, enum beside what);

/* In the arena; views where they can be. E_CORRUPT, E_FORMAT. */
bytes outbox_encode(struct arena *a, const struct outbox *o);
int outbox_decode(struct ctx *c, bytes value, struct outbox *out);

/* The row's entry in an index goes from one to the other by a change with that stamp, which is
 * above all in *o. False, and *o is as before: it would have too many keys. In the arena. */
bool outbox_merge(struct arena *a, struct outbox *o, uint32_t id, uint64_t stamp,
                  const struct index_entry *old, const struct index_entry *now);

/* Is there room for a change of so many indexes? outbox_merge() then succeeds for each of them. */
bool outbox_has_room(const struct outbox *o, size_t index_count);

/* It has so many keys that marks should go before they are due. */
bool outbox_is_half_full(const struct outbox *o);

/* Everything in it is settled and durable. Indexes without a mark are gone from it. */
void outbox_settle(struct outbox *o);

/* The last stamp that it knows of; 0: none. */
uint64_t outbox_stamp(const struct outbox *o);

#endif

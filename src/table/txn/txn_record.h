/* txn_record.h: a transaction as records beside the rows of its value, for engines on which others
 * write too (decision 43; doc/format.md has every byte).
 *
 * The *head* says who owns the value; while it is there nobody else writes rows of the value. Each
 * row that the transaction has changed has one record more. All of them have keys of kind 4 that
 * begin with the value, so they lie in its partition, and move with it.
 *
 * Pure: no locks, no storage. */
#ifndef TABLE_TXN_TXN_RECORD_H
#define TABLE_TXN_TXN_RECORD_H

#include "engine/engine.h"
#include "table/model/layout.h"
#include "table/txn/txn_row.h"

#define TXN_ID_BYTES 36     /* of the part of an id that no other has */
#define TXN_PLACE_MAX 10240 /* of a whole id */

struct txn_head {
    bytes id; /* TXN_ID_BYTES */
    uint64_t client;
    int64_t begun_ms; /* the clock of the server where it began */
    uint64_t steps;   /* requests that have changed something: no two heads are the same */
    uint64_t stamp;   /* the time of the last of them */
    uint64_t bytes, changes;
};

bytes txn_head_key(struct arena *a, const struct location *p, bytes value);
bytes txn_head_encode(struct arena *a, const struct txn_head *head);
/* Views of `stored`. E_CORRUPT, E_FORMAT. */
int txn_head_decode(struct ctx *c, bytes stored, struct txn_head *out);

/* Of the head and all rows, the head first. */
struct key_range txn_records(struct arena *a, const struct location *p, bytes value);

bytes txn_row_key(struct arena *a, const struct location *p, bytes value, bytes cols);
bytes txn_row_encode(struct arena *a, const struct txn_row *row);
/* Everything but commit_bytes, in the arena of c or views. */
int txn_row_decode(struct ctx *c, const struct location *p, const struct kv *stored,
                   struct txn_row *out);

/* What of an id tells where the head is: ids are TXN_ID_BYTES characters, a dash, and this in
 * hexadecimals. */
struct txn_place {
    bytes id;
    bytes table; /* its name */
    bytes value; /* as the client gave it: not checked, not even whole */
};
bytes txn_place_write(struct arena *a, const struct txn_place *place);
/* False: it is no such id. In the arena. */
bool txn_place_read(struct arena *a, bytes id, struct txn_place *out);

#endif

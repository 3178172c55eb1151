/* oracle.h: what the database ought to answer: the semantics done a second time, naively, on plain
 * lists in memory.
 *
 * Written from doc/data-model.md and sharing no code with
 * src/table. Nothing here is fast, stored or concurrent: one oracle belongs to one thread.
 *
 * Two things an oracle cannot know: the stamp a server gives a cell, and the value it chooses for
 * an auto-increment column. Such cells and keys are "open" until the oracle is shown what a read
 * gives (oracle_learn(), oracle_learn_key()); until then open stamps are above all others of their
 * column. Time passes only between requests, and no cell may come within an hour of its end of
 * life: whoever makes the requests sees to that. */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include "base/arena.h"
#include "base/limit.h"
#include "widerow.h"

#define ORACLE_KEY_MAX WR_KEY_COLUMNS_MAX /* some table has as many: run_open() sees to it */

/* In an expected answer: any stamp within the call's time. */
#define ORACLE_STAMP_OPEN WR_TIMESTAMP_NONE
/* In expected capacity, as read units: nothing is expected. */
#define ORACLE_ANY (-1)

struct oracle_cell {
    struct wr_cell cell; /* name and value are the oracle's own memory; timestamp_ms always set */
    bool open;           /* timestamp_ms only gives the order */
    int32_t open_change; /* which row change wrote it: open cells of one have one stamp */
};

struct oracle_row {
    struct wr_key_column key[ORACLE_KEY_MAX]; /* names are the schema's, bytes the row's own */
    bool key_open;                            /* the auto-increment value is made up */
    bool unsure;                              /* holds open cells */
    int64_t newest_ms;                        /* the highest stamp it is known to have had */
    struct oracle_cell *cells;                /* by name, within a name newest first */
    size_t count, capacity;
};

struct oracle_table {
    bytes name;
    struct wr_key_schema key[ORACLE_KEY_MAX];
    size_t key_count;
    int auto_column; /* -1: none */
    struct wr_table_options options;
    struct oracle_row **rows; /* in key order */
    size_t row_count, row_capacity;
    const struct wr_defined_column *defined;
    size_t defined_count;
    struct oracle_index *indexes;
    size_t index_count;
    struct oracle_issued *issued; /* auto-increment values given so far; the first is none */
    bool transactions;
    bool spreads;         /* where values are parted: its layout spreads a value's rows, too */
    uint64_t alterations; /* of its options and indexes */
    bool ghosts; /* rows went when the TTL was lowered: the database may still step over them */
    struct arena arena; /* name and schema */
    struct oracle_table *next;
};

/* A secondary index. */
struct oracle_index {
    struct wr_index_meta meta; /* in the arena of its table */
    const struct oracle_table *base;
    struct oracle_table view; /* its entries as they were worked out last */
    struct oracle_index *next;
};

/* A local transaction that is open. */
struct oracle_txn {
    uint64_t number; /* of its start; requests name it so */
    struct oracle_table *base;
    struct wr_value value;    /* of the first key column */
    struct oracle_table view; /* what it sees: rows of its own; else the base's */
    uint64_t alterations;     /* of the base, when it began */
    struct oracle_txn *next;
};

struct oracle {
    struct limits limits;
    bytes instance;
    bool parts_values; /* the engine may have the rows of one partition key in several places */
    struct oracle_table *tables;
    struct oracle_txn *txns;
    uint64_t *orphans; /* numbers of transactions whose table was dropped; its own memory */
    size_t orphan_count;
    struct oracle_txn *inside; /* the one that the request being answered works in, or NULL */
    uint64_t starts;           /* transactions that were asked for */
    int64_t now_ms;            /* of the request being answered */
    int64_t next_open;         /* the next made-up stamp */
    int32_t next_change;       /* numbers row changes */
    int32_t changes;           /* row changes in the last request that wrote */
    uint64_t writes;           /* requests that wrote, or tried to */
    int64_t given_ms;          /* the latest stamp that was learned; 0: none */
    char complaint[512];       /* what is wrong in an answer that no expected answer can express */
};

struct oracle *oracle_new(const struct limits *limits, bytes instance);
void oracle_free(struct oracle *o);

struct oracle_table *oracle_find(struct oracle *o, bytes name);
/* Transactions: the text by which requests name the one of the nth start, and back; the one that a
 * request names (`ptr` NULL: it names none); the one of that name, or of that value, or NULL. */
bytes oracle_txn_name(struct arena *a, uint64_t number);
uint64_t oracle_txn_number(bytes name);
bytes oracle_txn_named(const struct wr_request *req);
struct oracle_txn *oracle_txn_find(struct oracle *o, bytes name);
struct oracle_txn *oracle_txn_of(struct oracle *o, const struct oracle_table *t,
                                 const struct wr_value *value);
/* All of the table end, or all there are (t NULL), as they do with the database. */
void oracle_txns_end(struct oracle *o, const struct oracle_table *t);

/* The index of that name, or NULL. */
struct oracle_index *oracle_index_find(struct oracle *o, bytes name);

/* An index, too, as a table with the entries that its rows make now; valid until the next call. */
struct oracle_table *oracle_find_any(struct oracle *o, bytes name);

/* The answer `req` ought to get, and its effect on the oracle. `actual` is what the database said;
 * only auto-increment values are taken from it, and
 * where a page ends that steps over rows whose TTL has passed. Results live in the arena or in the
 * oracle until its next call. Messages are not predicted. If `o->complaint` is not empty, `actual`
 * is wrong whatever `expected` says. */
void oracle_answer(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   int64_t now_ms, struct arena *a, struct wr_reply *expected);

/* Shows what a full read of an existing row with open cells gave; stamps must lie in [sent_ms,
 * answered_ms], or just above the newest stamp the column had, or the one written before.
 * False: it is not the row expected; the complaint says why. */
bool oracle_learn(struct oracle *o, struct oracle_row *row, const struct wr_row *actual,
                  int64_t sent_ms, int64_t answered_ms);

/* Shows the value that was chosen for a row with an open key. */
bool oracle_learn_key(struct oracle *o, struct oracle_table *t, struct oracle_row *row,
                      int64_t value);

/* Compares two keys of one schema in its order, INF_MIN and INF_MAX at the ends. `key` NULL: all
 * columns ascend, or only whether they are equal counts. */
int oracle_key_compare(const struct wr_key_schema *key, const struct wr_key_column *a,
                       const struct wr_key_column *b, size_t count);

/* The row, or NULL. */
struct oracle_row *oracle_row_find(struct oracle_table *t, const struct wr_key_column *key);

/* The checksum of a cell as PlainBuffer counts it, with the timestamp if there is one. */
uint8_t oracle_crc8(const struct wr_cell *cell);
bool oracle_value_is_bytes(enum wr_type type);
/* Equal values are one in an index's key: 0.0 and -0.0, and as DECIMAL 1.5 and 1.50. */
struct wr_value oracle_value_in_key(struct wr_value v);

#endif

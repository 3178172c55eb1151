/* oracle_part.h: what the oracle's own files share. */
#ifndef MODEL_ORACLE_PART_H
#define MODEL_ORACLE_PART_H

#include "oracle.h"

/* An auto-increment value that the request being answered was given. */
struct oracle_given {
    const struct wr_key_column *key; /* the request's, or its row's: the front counts */
    int64_t value;
};

/* The auto-increment values under one partition key. */
struct oracle_issued {
    struct wr_value partition; /* own memory */
    int64_t highest;
    uint64_t write;             /* the last request that was given some, as oracle.writes counts: */
    int64_t before;             /* the highest before it */
    struct oracle_given *given; /* to it */
    size_t given_count, given_capacity;
    struct oracle_issued *next;
};

/* ---- values and rows (oracle_row.c) ---- */

struct wr_value oracle_value_dup(const struct wr_value *v);
void oracle_value_drop(struct wr_value *v);
/* Below, at or above zero; both of one type. */
int oracle_value_compare(const struct wr_value *a, const struct wr_value *b);
size_t oracle_value_size(const struct wr_value *v);
size_t oracle_key_size(const struct wr_key_column *key, size_t count);
/* Units of 4096 bytes, rounded up, at least one. */
int32_t oracle_units(size_t size);

struct oracle_row *oracle_row_new(const struct oracle_table *t, const struct wr_key_column *key);
struct oracle_row *oracle_row_dup(const struct oracle_table *t, const struct oracle_row *row);
void oracle_row_free(const struct oracle_table *t, struct oracle_row *row);
/* The row in place of the one with its key, or a new one. */
void oracle_row_store(struct oracle_table *t, struct oracle_row *row);
/* Frees it too. */
void oracle_row_remove(struct oracle_table *t, const struct wr_key_column *key);
/* Replaces a cell of the same name and stamp. */
void oracle_cell_put(struct oracle_row *row, const struct wr_cell *cell, int64_t timestamp_ms,
                     bool open, int32_t change);
void oracle_cell_remove(struct oracle_row *row, size_t i);
bool oracle_expired(const struct oracle_table *t, int64_t timestamp_ms, int64_t now_ms);
/* Drops what MaxVersions and TTL hide. False: the whole row has gone with its cells. */
bool oracle_row_trim(const struct oracle_table *t, struct oracle_row *row, int64_t now_ms);

/* ---- legality (oracle_check.c): 0 or a code ---- */

int oracle_check_table_name(bytes name);
int oracle_check_column_name(bytes name);
enum oracle_key_use { ORACLE_KEY_READ, ORACLE_KEY_WRITE, ORACLE_KEY_BOUND };
int oracle_check_key_alone(const struct oracle *o, const struct wr_key *key,
                           enum oracle_key_use use);
int oracle_check_key(const struct oracle *o, const struct oracle_table *t, const struct wr_key *key,
                     enum oracle_key_use use);
int oracle_check_change_alone(const struct oracle *o, const struct wr_row_change *change,
                              bool many);
int oracle_check_change(const struct oracle *o, const struct oracle_table *t,
                        const struct wr_row_change *change);
int oracle_check_read_alone(const struct oracle *o, const struct wr_read_options *read);
/* Behind the check that the table is there, though it needs none: the sources leave the order open.
 */
int oracle_check_read_filter(const struct oracle *o, const struct wr_read_options *read);
/* Names and values and 8 for each stamp: what limits on requests count. */
size_t oracle_change_size(const struct wr_row_change *change);

/* ---- indexes (oracle_index.c) ---- */

bool oracle_is_index(struct oracle *o, bytes name);
/* May a table with indexes have these options? */
int oracle_check_index_options(const struct wr_table_options *o);
/* Can the indexes of the table hold what the change writes? */
int oracle_check_indexed(const struct oracle_table *t, const struct wr_row_change *change);
/* BulkImport's own rule: a defined column has its type. */
int oracle_check_defined(const struct oracle_table *t, const struct wr_row_change *change);
/* `scalar`: its key may have columns of every type. */
int oracle_index_add(struct oracle *o, struct oracle_table *t, const struct wr_index_meta *m,
                     bool scalar);
int oracle_index_remove(struct oracle_table *t, bytes name);

/* ---- filters (oracle_filter.c) ---- */

int oracle_check_filter(const struct oracle *o, const struct wr_filter *f, bool condition);
/* `cells` are those that are looked at, by name and newest first. */
bool oracle_filter_match(const struct wr_filter *f, const struct wr_key_column *key,
                         size_t key_count, const struct wr_cell *cells, size_t count);
/* The page filter in the tree, or NULL. */
const struct wr_page_filter *oracle_filter_page(const struct wr_filter *f);

/* ---- operations ---- */

/* Does a transaction hold the value? The key may be any. A change that is wrong in another way,
 * too, may be told either. */
bool oracle_is_locked(struct oracle *o, const struct oracle_table *t, const struct wr_key *key);
/* Outside of transactions: WR_E_CONFLICT where one holds the value. Inside: WR_E_OUT_OF_RANGE for
 * another one's. `key` fits the table. */
int oracle_check_gate(struct oracle *o, const struct oracle_table *t,
                      const struct wr_key_column *key);
/* The transaction sees its table's options and indexes as they are now. */
void oracle_txn_refresh(struct oracle *o, struct oracle_txn *x);
void oracle_txn_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   struct wr_reply *expected); /* oracle_txn.c */

void oracle_table_op(struct oracle *o, const struct wr_request *req, struct arena *a,
                     struct wr_reply *expected); /* oracle_table.c */
void oracle_read_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                    struct arena *a, struct wr_reply *expected); /* oracle_read.c */
void oracle_write_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                     struct arena *a, struct wr_reply *expected); /* oracle_write.c */

#endif

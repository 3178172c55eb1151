/* layout.h: where the rows of a table lie: its storage id, and which bucket a row's keys go to.
 *
 * A bucket is a part of the table's key space of its own. Clients know nothing of buckets: they use
 * the logical key, a point read computes the bucket, a range read merges them (merge.h). All rows
 * with one partition key lie in one bucket, but for RANDOM.
 *
 * As text:
 *     plain                 one bucket
 *     hash:N                by a hash of the partition key
 *     reverse:N             by the end of the partition key's last column: a number modulo N, of a
 *                           text or bytes the last four
 *     time:COLUMN/WIDTH:N   by a number of the partition key: value / WIDTH modulo N
 *     random:N              N copies of the range, for keys that only grow: by a hash of the whole
 *                           key, so that even rows of one partition key spread
 * and in front of these "splice:K+", or "splice:K" alone: the first K key columns together are the
 * partition key (else the first alone). bucket functions are on disk: never change one. */
#ifndef TABLE_MODEL_LAYOUT_H
#define TABLE_MODEL_LAYOUT_H

#include "table/model/key.h"

#define LAYOUT_BUCKETS_MAX 256

enum layout_form {
    LAYOUT_PLAIN = 0,
    LAYOUT_HASH = 1,
    LAYOUT_REVERSE = 2,
    LAYOUT_TIME = 3,
    LAYOUT_RANDOM = 4,
};

struct layout {
    enum layout_form form;
    uint16_t buckets;       /* 1 to LAYOUT_BUCKETS_MAX */
    uint8_t partition_cols; /* columns of the partition key, at least 1 */
    uint8_t column;         /* TIME: which of them */
    int64_t width;          /* TIME: of one bucket, in the column's own unit */
};

/* Where rows are stored. `key` has key_count columns and lives as long as the schema. */
struct location {
    uint32_t id; /* the first part of stored keys */
    struct layout layout;
    const struct wr_key_schema *key;
    size_t key_count;
};

/* Reads the text form for a table with these key columns; ptr NULL or "" is plain. E_PARAMETER says
 * what does not fit and what would. */
int layout_parse(struct ctx *c, bytes text, const struct wr_key_schema *key, size_t key_count,
                 struct layout *out);

/* The text form, in the arena. */
bytes layout_format(struct arena *a, const struct layout *l, const struct wr_key_schema *key);

/* The bucket of a row. `cols`: its key columns, encoded (key_put_columns()), at least those of the
 * partition key, for RANDOM all. */
uint8_t layout_bucket(const struct location *p, bytes cols);

/* Appends the stored key of a row, or the beginning of the keys of its cells: prefix and `cols`.
 * Every stored key of a row is made here. */
void layout_put_key(struct buf *b, const struct location *p, enum key_kind kind, bytes cols);

/* Appends the key that `key`, at another location of the same table, has at this one. */
void layout_move_key(struct buf *b, const struct location *p, bytes key);

/* True if all rows between two bounds (key_check() with KEY_BOUND) lie in *bucket. */
bool layout_one_bucket(struct ctx *c, const struct location *p, const struct wr_key *a,
                       const struct wr_key *b, uint8_t *bucket);

#endif

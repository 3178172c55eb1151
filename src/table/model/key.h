/* key.h: primary keys as ordered bytes.
 *
 * A stored key is
 *     table (4 bytes, big-endian) | bucket (1 byte) | kind (1 byte) | key columns …
 * and every column is a tag and a payload that sort as their values do: numbers big-endian with the
 * sign flipped, texts and bytes escaped so that a prefix sorts first. A descending column has tag
 * and payload inverted. doc/format.md has every byte. The encodings are on disk: golden files under
 * test/golden hold them. */
#ifndef TABLE_MODEL_KEY_H
#define TABLE_MODEL_KEY_H

#include "base/buf.h"
#include "base/ctx.h"
#include "table/model/value.h"
#include "widerow.h"

enum key_kind {
    KIND_RECORD = 1,          /* one a row: the row itself, or what tells where its cells are */
    KIND_CELL = 2,            /* one a cell of a wide row */
    KIND_CHUNK = 3,           /* a piece of a big cell */
    KIND_CHANGE = 4,          /* a change record */
    KIND_GARBAGE = 5,         /* data out of line to remove */
    KIND_LAST = KIND_GARBAGE, /* of a table's rows */
    /* Beside a change log, under its storage id. */
    KIND_SEGMENT = 6,      /* a piece of a search index's segment */
    KIND_SEARCH_STATE = 7, /* which segments a search index has */
};

#define KEY_PREFIX_BYTES 6
#define KEY_PAST_BYTES 9 /* of key_put_past() */

/* Appends table, bucket and kind. Table 0 is the catalog. */
void key_put_prefix(struct buf *b, uint32_t table, uint8_t bucket, enum key_kind kind);

/* The prefix alone, in the arena: where the keys of a kind begin in a bucket, and (kind + 1) end.
 */
bytes key_prefix(struct arena *a, uint32_t table, uint8_t bucket, enum key_kind kind);

/* Appends what makes of a key's beginning a bound behind all keys that go on from it with an id or
 * a column's name. The bound is not a key. */
void key_put_past(struct buf *b);

/* Appends the first `count` columns (count ≤ the schema's). INF_MIN and INF_MAX give bytes below
 * and above every value of the column, also of a descending one. Values must have the schema's
 * types (key_check() sees to it); anything else is E_INTERNAL. CHAR and BINARY values are padded to
 * the column's length here. */
int key_put_columns(struct ctx *c, struct buf *b, const struct wr_key_schema *schema,
                    const struct wr_key_column *columns, size_t count);

/* Appends one column. False, and what was appended is of no use: the value is none of its. */
bool key_put_column(struct buf *b, const struct wr_key_schema *schema, const struct wr_value *v);

/* Reads all `count` columns back; names come from the schema, texts live in the arena of c. *used
 * is how many bytes they took (what follows belongs to a cell key). Damaged bytes: E_CORRUPT. */
int key_read_columns(struct ctx *c, bytes encoded, const struct wr_key_schema *schema, size_t count,
                     struct wr_key_column *out, size_t *used);

/* The same, but texts that stand in `encoded` as they are point there. */
int key_view_columns(struct ctx *c, bytes encoded, const struct wr_key_schema *schema, size_t count,
                     struct wr_key_column *out, size_t *used);

/* False for a bound whose first column is INF_MIN or INF_MAX, and for no bytes at all. */
bool key_starts_with_value(bytes encoded);

/* How many bytes the first `count` columns of an encoded key take. */
size_t key_columns_length(const struct wr_key_schema *schema, bytes encoded, size_t count);

/* The bytes of one column, its tag included; and the number in them, if the column is an integer, a
 * date or a time (UBIGINT above INT64_MAX wraps round). */
bytes key_column_bytes(const struct wr_key_schema *schema, bytes encoded, size_t at);
int64_t key_column_integer(const struct wr_key_schema *schema, bytes column);

/* Appends one text so that it sorts bytewise, prefix first, and its end can be found; and reads it
 * back into the arena of c. Used for texts and bytes in keys and for column names in cell keys. */
void key_put_text(struct buf *b, bytes text);
int key_read_text(struct ctx *c, struct reader *r, bytes *out);

/* A key as a client sent it against the table's schema: count, then column by column name before
 * type. Errors E_INVALID_PK and E_PARAMETER (doc/data-model.md, "Keys"). `use` says which
 * placeholders are legal. key_value_bytes_max comes from the limits. */
enum key_use {
    KEY_READ,  /* values only; AUTO_INCREMENT gets its own text */
    KEY_WRITE, /* values; AUTO_INCREMENT for the auto-increment column */
    KEY_BOUND, /* values, INF_MIN, INF_MAX */
};
struct limits;
int key_check(struct ctx *c, const struct limits *limits, const struct wr_key_schema *schema,
              size_t count, const struct wr_key *key, enum key_use use);

/* What of key_check() needs no table: counts above the maximum, illegal placeholders, lengths,
 * UTF-8. Clients see these before "table does not exist" and for whole batches. */
int key_check_alone(struct ctx *c, const struct limits *limits, const struct wr_key *key,
                    enum key_use use);

/* Compares two bounds or keys of one schema, column by column, INF_MIN and INF_MAX at the ends,
 * descending columns the other way round. Columns missing at the end of the shorter one count as
 * INF_MIN. */
int key_compare(const struct wr_key_schema *schema, const struct wr_key *a, const struct wr_key *b);

/* Names and values as capacity counts them (doc/data-model.md, "Capacity"). */
static inline size_t key_size(const struct wr_key *key)
{
    size_t size = 0;

    for (size_t i = 0; i < key->count; i++)
        size += key->columns[i].name.len + value_size(&key->columns[i].value);
    return size;
}

/* The smallest key behind `key`: where a walk goes on after it. In the arena. */
bytes key_after(struct arena *a, bytes key);

/* A copy whose names and values live in the arena: replies outlive requests and tables. */
struct wr_key key_copy(struct arena *a, const struct wr_key *key);

#endif

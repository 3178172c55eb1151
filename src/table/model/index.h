/* index.h: a secondary index as descriptions of tables have it.
 *
 * An index is a table of its own: it has a name, an id, partitions, a layout and a description in
 * the catalog, and is read like any other. Its description names its base table (struct
 * index_base); the base table's description lists its indexes (struct index), with all that a
 * writer of entries needs, so that nothing is looked up for a write. Both descriptions change in
 * one catalog transaction.
 *
 * An entry is a row of the index's table. Its key columns are those the index was made with,
 * followed by the base table's key columns that are not among them, in the base table's order, up
 * to WR_KEY_COLUMNS_MAX. A row of the base table has one entry if it has a value in every key
 * column of the index, else none. Besides its key an entry has the covered columns that the row
 * has.
 *
 * Immutable, in the memory of the schema that lists it. */
#ifndef TABLE_MODEL_INDEX_H
#define TABLE_MODEL_INDEX_H

#include "table/model/layout.h"

/* As numbers in stored descriptions and in DescribeTable (index_sync_phase). */
enum index_phase {
    INDEX_FULL = 1, /* rows from before it are still being indexed, or some server does not keep it
                       yet: writers keep it, nobody reads it */
    INDEX_INCR = 2, /* complete: it follows every write */
    /* First, where entries follow by outbox records: until every server knows of the index, changes
     * take entries away and bring none. Else one that does not know of it would leave an entry
     * behind that one has brought who does. And where they land with their rows, but those of the
     * rows that are there come in table files: changes leave marks (index_note.h). Clients see
     * INDEX_FULL. */
    INDEX_COMING = 3,
};

/* Where the value of an entry's key column comes from. */
struct index_column {
    bool is_key; /* a key column of the base table: schema.d.key[at]; else schema.d.defined[at] */
    size_t at;
};

struct index {
    const struct wr_index_meta *meta; /* name, type, columns as they were given */
    uint32_t id;                      /* of its own table, for ever */
    enum index_phase phase;
    bool include_base_data; /* rows from before it are indexed as well */
    uint16_t descending;    /* bit i: column i of those it was given sorts the other way round */
    /* Where entries are stored. location.key has all key columns of an entry: name, type, length
     * and order; `from` has as many. A shadow copy while the index's table is rekeyed; its id is 0
     * else. */
    struct location location, shadow;
    const struct index_column *from;
    const bytes *covered; /* attribute columns of an entry, sorted, none twice */
    size_t covered_count;
    const bytes *columns; /* attribute columns of the base table that an entry is made of: those of
                             its key and the covered ones; sorted, none twice */
    size_t column_count;
};

/* In the description of an index's own table. */
struct index_base {
    bytes table; /* len 0: the table is no index */
    uint32_t id;
    enum index_phase phase;
};

/* The index of that name; NULL: none has it. */
const struct index *index_find(const struct index *indexes, size_t count, bytes name);
/* Does an index of that description use the column in its key or cover it? */
bool index_uses(const struct wr_index_meta *meta, bytes column);

/* Resolves meta, descending and the ids of the locations against `base` into all else but phase and
 * layouts: key columns of the base keep their length, and their order unless `descending` names
 * them; what was given to an auto-increment column is a plain integer. False: a column is neither
 * of the base's key nor defined, is there twice, has a type that no key has, or there are more
 * than WR_KEY_COLUMNS_MAX. */
bool index_resolve(struct arena *a, const struct wr_table_description *base, struct index *index);

/* An index and a base in descriptions (schema_codec.c), and back: views into the payload, not yet
 * resolved. `layouts` are the texts of the layouts of location and shadow copy. */
struct reader;
void index_encode(struct buf *b, const struct index *index);
void index_decode(struct reader *r, struct index *index, bytes *name, bytes layouts[2]);
void index_base_encode(struct buf *b, const struct index_base *base);
struct index_base index_base_decode(struct reader *r);

#endif

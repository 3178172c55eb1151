/* entry.h: what a row is in an index: the row of the index's own table that stands for it.
 *
 * An entry is a function of the row as it is stored, its key, and the index's description, and of
 * nothing else: whoever writes it writes the same, a client's change as well as a build that comes
 * by later. It is made of the newest cell of each column. A row has an entry if each attribute
 * column of the index's key has a value that can stand there: of the type that is defined, no
 * longer than INDEX_KEY_VALUE_BYTES_MAX, and not kept apart from its row (big.h). Covered columns
 * come with their timestamps; one that is kept apart is left out. (Writers refuse such values; they
 * are found in rows from before the index.)
 *
 * The marker of an entry is as old as the oldest of the cells that its key was made of, so that it
 * goes with them when they expire (visible_entry()); without such cells, as the newest of the row's
 * cells, or as the row's marker if it has none: the row has expired then. A row that is updated in
 * other columns gets newer and its entry does not, which is no matter without a time to live; when
 * one is set, entries that have no such cells are made anew (schema_refill_indexes()). */
#ifndef TABLE_INDEX_ENTRY_H
#define TABLE_INDEX_ENTRY_H

#include "table/model/batch_builder.h"
#include "table/model/row.h"

/* Of a text or bytes in an index's key. In no setting, for what is stored depends on it. */
#define INDEX_KEY_VALUE_BYTES_MAX 1024

struct index_entry {
    bool there;     /* false: the row has none; all else is zero */
    bytes cols;     /* its key columns, encoded */
    struct row row; /* a small one, whose cells have the memory of the base row's */
};

/* Can the cell's value stand in the index, in a column that is defined with that type? */
bool entry_takes(const struct wr_cell *cell, enum wr_type defined, bool in_key);

/* The entry of a row of `base` with these key columns (encoded). Of a wide row the cells of the
 * index's columns are loaded. In the arena, but for the cells' names and values. */
struct index_entry entry_of(struct arena *a, const struct schema *base, const struct index *index,
                            bytes cols, const struct row *row);

/* Would both be stored alike, but for the stamp? */
bool entry_equal(const struct index_entry *a, const struct index_entry *b);

/* Does a change of the row that leads from one entry to the other have to be written there? */
bool entry_moves(const struct index *index, const struct index_entry *old,
                 const struct index_entry *now);

/* The entry's record and its key, in the arena: `there`. */
struct kv entry_record(struct arena *a, const struct location *p, const struct index_entry *entry);

/* Adds the edits that lead from one entry of a row to another, in the index's table and in its
 * shadow copy. Gives whether there are any. */
bool entry_change(struct batch_builder *e, const struct index *index, const struct index_entry *old,
                  const struct index_entry *now);

/* While the index is INDEX_COMING where entries land with their rows, what lies at its entries'
 * keys is written in one go, by its build alone (maint/index_stage.h). So a change that would have
 * changed the entry of the row with these key columns (encoded) leaves a mark of the row, with the
 * key of the entry that it had before. The build may have read the row in any of the states that it
 * was in: in the last one, or in one that a change has led away from, whose entry is in a mark
 * then. When changes bring entries again, each row with marks is visited, once: the entries in them
 * go, and the one that belongs to the row as it is then is put. */
void entry_mark(struct batch_builder *e, const struct index *index, bytes cols,
                const struct index_entry *old, const struct index_entry *now);

/* A mark's key, taken apart: the key columns of the row, and of the entry that it may have had;
 * empty: none. In the arena, or views of the key. */
struct entry_mark {
    bytes cols, entry_cols;
};

struct entry_mark entry_mark_read(struct arena *a, const struct schema *base,
                                  const struct index *index, bytes mark_key);

#endif

/* modify.h: one row change: the old row and what is asked give the new row and the edits that store
 * it.
 *
 * Nothing here touches storage or locks. write.c loads the old row under its latch, calls
 * modify_run(), and applies the edits. Rules: semantics, sections 5 and 6. */
#ifndef TABLE_MODIFY_H
#define TABLE_MODIFY_H

#include "base/limit.h"
#include "engine/engine.h"
#include "table/catalog.h"
#include "table/filter.h"
#include "table/row.h"

/* Checks that need no table; in a batch their failure fails the whole request. `many` is true
 * inside batches: the size of one row is then not bounded by itself. */
int modify_check_alone(struct ctx *c, const struct limits *limits,
                       const struct wr_row_change *change, bool many);

/* What modify_check_alone() could not say without the table: its own limit on cells, and what
 * follows from it. `limits` are the server's. */
int modify_check_table(struct ctx *c, const struct limits *limits, const struct table *table,
                       const struct wr_row_change *change, bool many);

/* One change on its way. */
struct modify {
    const struct limits *limits;
    const struct table *table;
    const struct wr_row_change *change;
    int64_t now_ms;

    /* modify_begin() */
    struct wr_key key; /* the change's key, with a chosen value for an auto-increment column */
    struct filter *condition;
    bool increments; /* some cell is an increment */
    bool generated;  /* the key was generated: no such row can be there */
    bytes cols;      /* the key columns, encoded */
    uint64_t stamp;  /* of this write */
    bool whole; /* load every column of a wide row: another change of the batch builds on this */

    /* Loaded by the caller if modify_needs_old(): of a small row all cells, of a wide row those of
     * the columns that modify_columns() names. */
    struct row old;

    /* modify_run() */
    struct row row; /* what will be stored; `there` false: the row goes. Of a wide row only the
                       touched cells */
    bool changed;   /* false: nothing to store */
    int32_t read_units, write_units;
};

/* Checks the change against its table and prepares it: key, condition, deviation, allow_update.
 * `number` gives an auto-increment value and the stamp. Row-level errors. */
int modify_begin(struct ctx *c, const struct limits *limits, struct table *table,
                 const struct wr_row_change *change, int64_t now_ms, uint64_t number,
                 struct modify *m);

/* True unless the change is a blind put or delete of a row that surely lies in one piece. */
bool modify_needs_old(const struct modify *m);

/* The columns of a wide row that the change reads or writes, sorted, without duplicates; NULL means
 * all of them, 0 with a non-NULL result means none. */
const bytes *modify_columns(struct ctx *c, const struct modify *m, size_t *count);

/* Decides. E_CONDITION, E_PARAMETER: nothing changes. `new_id` is used if the row has to become a
 * wide one. */
int modify_run(struct ctx *c, struct modify *m, uint64_t new_id);

/* True if storing m->row makes or replaces detached data, so that the table's flag must be set
 * before. */
bool modify_detaches(const struct modify *m);

/* The list that edits are collected in. */
struct edits {
    struct arena *arena;
    struct edit *items;
    size_t count, capacity;
    size_t bytes;
};

void edits_add(struct edits *e, enum edit_type type, bytes key, bytes value);

/* Repeats the edits from index `from` on at the table's mirror, if it has one. */
void edits_mirror(struct edits *e, size_t from, const struct schema *s);

/* Appends what stores m->row in place of m->old, wherever the table has its rows. */
void modify_edits(const struct modify *m, struct edits *e);

/* What return_type asks for. */
int modify_result(struct ctx *c, const struct modify *m, struct wr_row_result *out);

#endif

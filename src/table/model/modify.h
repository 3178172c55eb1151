/* modify.h: one row change: the old row and what is asked give the new row and the write batch that
 * stores it.
 *
 * Nothing here touches storage or locks. change.h has what can be said of a change by itself;
 * write.c loads the old row under its row lock, calls modify_run(), and applies the edits. Rules:
 * doc/data-model.md, "Versions", "Writes". */
#ifndef TABLE_MODEL_MODIFY_H
#define TABLE_MODEL_MODIFY_H

#include "base/limit.h"
#include "table/model/batch_builder.h"
#include "table/model/filter.h"
#include "table/model/row.h"
#include "table/model/stamp.h"
#include "table/model/table.h"

/* What observers store beside a row, in one record, and read with it. The changes of a row that are
 * of one batch share it: their record is made of what was stored and the last of them. */
struct row_beside {
    bytes stored;                /* as it was read with the row; ptr NULL: none */
    const struct outbox *outbox; /* what that says (index/outbox.h); NULL: it was not read */
    const struct row *first;     /* the row as it was stored; NULL: no change was recorded yet */
    bool recorded; /* the batch changes the record: once durable, it is to be drained */
};

/* One change on its way. */
struct modify {
    const struct limits *limits;
    const struct table *table;
    const struct wr_row_change *change;
    int64_t now_ms;         /* rows expire by it */
    struct stamp_time time; /* before modify_run(): what its stamps are made of */

    /* modify_begin() */
    struct wr_key key; /* the change's key, with a chosen value for an auto-increment column */
    struct filter *condition;
    bool increments; /* some cell is an increment */
    bool generated;  /* the key was generated: no such row can be there */
    bytes cols;      /* the key columns, encoded */
    uint64_t number; /* for data out of line */
    bool looks;      /* the caller is not sure that no row of the table lies in several pieces */
    bool whole; /* load every column of a wide row: another change of the batch builds on this, or
                   an observer asks for them */
    const bytes *observed; /* load these columns, too: of observers (change_point.h); sorted */
    size_t observed_count;
    struct row_beside *beside; /* an observer asks for it; NULL: none does */
    uint64_t last_stamp;       /* that the row had, whether or not it is there; 0: not known */

    /* Loaded by the caller if modify_needs_old(): of a small row all cells, of a wide row those of
     * the columns that modify_columns() names. */
    struct row old;
    bool old_known; /* it was loaded; else it counts as absent */

    /* modify_run() */
    int64_t stamp_ms; /* of its cells without a stamp */
    struct row row;   /* what will be stored; `there` false: the row goes. Of a wide row only the
                         touched cells */
    bool changed;     /* false: nothing to store */
    bool removes;     /* nothing but columns or versions of the row */
    int32_t read_units, write_units;
};

/* Checks the change against its table and prepares it: key, condition, allow_update.
 * `number` (catalog_next_number) becomes an auto-increment value, and the id of a row that has to
 * become a wide one. Row-level errors. */
int modify_begin(struct ctx *c, const struct limits *limits, const struct table *table,
                 const struct wr_row_change *change, int64_t now_ms, uint64_t number,
                 struct modify *m);

/* Are the timestamps that the client gave near enough to now? */
int modify_check_deviation(struct ctx *c, const struct modify *m);

/* True unless the change is a blind put or delete of a row that surely lies in one piece. */
bool modify_needs_old(const struct modify *m);

/* The columns of a wide row that the change reads or writes, sorted, without duplicates; NULL means
 * all of them, 0 with a non-NULL result means none. */
const bytes *modify_columns(struct ctx *c, const struct modify *m, size_t *count);

/* Decides. E_CONDITION, E_PARAMETER: nothing changes. */
int modify_run(struct ctx *c, struct modify *m);

/* True if storing m->row makes or replaces data out of line, so that the table's flag must be set
 * before. */
bool modify_detaches(const struct modify *m);

/* Appends what stores m->row in place of m->old, wherever the table has its rows. */
void modify_batch(const struct modify *m, struct batch_builder *e);

/* Above the row's last stamp, whoever gave that, and not below those of cells that were given. */
uint64_t modify_stamp(const struct modify *m);

/* A cell as it is stored for one that a request has: of that value, stamped, with its checksum. */
struct wr_cell modify_stored_cell(const struct wr_cell *cell, const struct wr_value *value,
                                  int64_t timestamp_ms);

/* Of the row after the change, also of one that goes. */
uint64_t modify_row_stamp(const struct modify *m);

/* What return_type asks for. */
int modify_result(struct ctx *c, const struct modify *m, struct wr_row_result *out);

#endif

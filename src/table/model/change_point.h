/* change_point.h: the one place where a row's change is known with its old state, its new state and
 * the batch that stores it. What follows a table's rows (index entries, change records) hangs on
 * here, and nowhere else.
 *
 * Every change of a row comes by, however it was asked for: one row, batches, atomic ones,
 * increments, cells that came as a stream, BulkImport, and the sweeper that removes rows past their
 * time. What does not change a row does not: rekeying copies rows as they are, a reader's mark on a
 * row (load.h), chunks of large cells.
 *
 * A table's observers are those of one version of its description: they are set before anybody
 * sees it, and never change (table.h). A request holds the version that it began with. So an
 * observer that is new knows of every change only when no request holds an older version any more,
 * as for rekeying (catalog_reconciled()). A table without observers pays one comparison a change.
 */
#ifndef TABLE_MODEL_CHANGE_POINT_H
#define TABLE_MODEL_CHANGE_POINT_H

#include "table/model/modify.h"

/* What an observer must know of the row before the change. */
enum old_row {
    OLD_ROW_NEVER,   /* blind puts and deletes stay blind */
    OLD_ROW_TOUCHED, /* its columns, if the change may touch one of them */
    OLD_ROW_ALWAYS,  /* its columns, whatever the change touches */
};

enum row_change_kind { ROW_PUT, ROW_UPDATE, ROW_DELETE, ROW_EXPIRE };

/* What has happened to a row. All of it is valid during the call only. */
struct row_change {
    enum row_change_kind kind;
    const struct table *table;
    bytes cols;                        /* the key columns, encoded */
    const struct wr_row_change *asked; /* the cells as they were asked for; NULL: ROW_EXPIRE */
    int64_t now_ms;                    /* the moment by which rows expire */
    int64_t stamp_ms;                  /* of the cells without a timestamp; not if it expires */
    uint64_t stamp; /* grows with every change of a row; of a row that goes, too */
    /* As stored, so visible.h tells what could be seen. Of a wide row they hold, at least, the
     * cells of the columns that the observer named, if it needed the old row. */
    const struct row *old;     /* NULL: it is not known, for no observer needed it */
    const struct row *now;     /* `there` false: the row goes */
    struct row_beside *beside; /* NULL: no observer asks for it */
};

/* Its owner embeds it; one for each version of a table that it observes, or one for many. */
struct row_observer {
    enum old_row needs;
    const bytes *columns; /* sorted, without duplicates; NULL: all */
    size_t column_count;
    bool beside; /* it stores a record beside each row, and has to know the one that is there */
    /* May the row change so? An error, recorded in c, refuses the change like a failed condition:
     * nothing is stored. Asked under the row lock, perhaps more than once for a change; not asked
     * when a row expires. NULL: always. */
    int (*check)(struct ctx *c, const struct row_observer *o, const struct row_change *change);
    /* Adds what belongs to the change to its batch: batch_add(), in the arena of `e`, keys of the
     * partition of the row on an engine without one key space, and batch_add_shadow() for rows of
     * other tables; batch_add_guard() for what must be so. Called once a change and a batch, under
     * the row lock, in the order of the row's changes. A batch may come to nothing: what counts is
     * what it holds. Where other processes write, the change is then decided anew, and recorded
     * again.
     */
    void (*record)(const struct row_observer *o, const struct row_change *change,
                   struct batch_builder *e);
};

/* One more observer of a version of a table that nobody has seen yet. */
void change_point_observe(struct table *t, const struct row_observer *o);

/* May it touch one of these columns? `columns` are sorted; NULL: all. Only an update leaves columns
 * as they are, unless the table writes all of them again. */
bool change_touches(const struct modify *m, const bytes *columns, size_t count);

/* Before the old row is loaded: says in *m what the observers need of it. */
void change_point_prepare(struct ctx *c, struct modify *m);

/* After modify_run(). */
int change_point_check(struct ctx *c, const struct modify *m);

/* What the observers add for a change. Of several changes of a row in one batch each is recorded
 * by itself, in their order, and the last one's edits store them all. */
void change_point_record(const struct modify *m, struct batch_builder *e);

/* Appends what stores a change that is its row's only one in the batch: modify_edits(), and what
 * the observers add. */
void change_point_store(const struct modify *m, struct batch_builder *e);

#endif

/* table_slice.h: a step of a task in the background that has something long to do for some tables:
 * each of them gets a slice, in turn. */
#ifndef TABLE_MAINT_TABLE_SLICE_H
#define TABLE_MAINT_TABLE_SLICE_H

#include "base/ctx.h"
#include "base/scheduler.h"
#include "table/model/table.h"

struct wr_db;

/* What one task does; its owner embeds it, and it lives as long as the task. */
struct table_slicing {
    struct wr_db *db;
    const char *log_as; /* "rekey": what lines of the log begin with */
    int64_t idle_us;    /* until the next look at the tables, when none wants a slice */
    int64_t retry_us;   /* until the next slice, when none could do anything */
    bool (*wants)(const struct table *t);
    /* About 100 ms of work for a table, of which the caller has a reference; `c` is the slice's
     * own. E_BUSY: nothing can be done yet, which is no failure. */
    int (*run)(struct table_slicing *s, struct ctx *c, struct table *t, struct task_step *step);
    /* What the work is for, as a text of failures begins: "table 't'". In the arena. */
    bytes (*about)(struct arena *a, const struct table *t);
};

/* Returns the first failure, after the other tables had their slices; it is logged, and its text is
 * in *step. */
int table_slices(struct table_slicing *s, struct task_step *step);

#endif

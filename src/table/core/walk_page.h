/* walk_page.h: a page of a walk (row_walk.h): its rows were read without their locks; each is
 * visited as it was read, and what comes of that is applied under its lock if the row is still the
 * same, which the locks' versions tell (row_lock.h). Else it is visited once more, alone.
 *
 * Batches are of WALK_BATCH_ROWS rows, in the order of the keys that they write: an engine takes
 * neighbours faster. A page stays until its last batch is durable; the next is read when those with
 * batches under way take no more than WALK_PAGES_BYTES. */
#ifndef TABLE_CORE_WALK_PAGE_H
#define TABLE_CORE_WALK_PAGE_H

#include "table/core/db.h"
#include "table/model/batch_builder.h"
#include "table/model/table.h"

#define WALK_BATCH_ROWS                                                                            \
    128 /* changes of them wait for the batch, which is applied in less than 1 ms */
#define WALK_PAGES_BYTES (8u << 20)

struct walk_pages;

/* Who walks. */
struct walk_visitor {
    struct wr_db *db;
    struct table *table; /* a version of it whose location the rows are read at */
    partition_id to;     /* what visits write to */
    /* Adds to *e what is to be written for the row whose record is *kv, in the arena of c, where
     * key and value are too. It comes to nothing if the row has changed meanwhile, for its lock is
     * not held yet. *alone: visit_alone() is to do it, and *e is as it was. Does not wait. */
    int (*visit)(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                 struct batch_builder *e, bool *alone);
    /* Likewise under the row's lock, of a row that may be gone, or another than *kv says. May wait.
     */
    int (*visit_alone)(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                       struct batch_builder *e);
};

struct walk_page {
    struct walk_pages *all;
    struct ctx c; /* of what was read, and of what is made of it */
    size_t refs;  /* of who made it, and of its batches */
    size_t bytes;
};

struct walk_pages *walk_pages_new(struct walk_visitor *v);
void walk_pages_free(struct walk_pages *all); /* none is under way */

/* Until there is room for another, or all have ended. The first failure of a batch. */
int walk_pages_wait(struct walk_pages *all, bool for_all);

/* From now on its rows may be read, at VIEW_LATEST, in its own ctx. */
struct walk_page *walk_page_new(struct walk_pages *all);
void walk_page_unref(struct walk_page *p);

/* Visits the rows that were read: items of `read`, one after the other. What was applied is durable
 * when walk_pages_wait() says so. */
int walk_page_visit(struct walk_page *p, const struct page *read);

#endif

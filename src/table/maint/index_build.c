/* index_build.c
 *
 * From the moment that an index is published (INDEX_FULL), every change of a row keeps it
 * (index_observer.h); changes that began by an older description are refused once it is published
 * (table.h, is_overtaken), unless they hold their rows' locks already. When nobody holds a
 * description without the index any more, every row is visited under its lock, and its entry made
 * from the row as it is then, by the same function. Rows written before the visit were seen by it,
 * rows written later wrote their entries themselves: so at the end an entry is there for every row,
 * and none for what is gone. Then the index is complete (INDEX_INCR), in a transaction.
 *
 * A visit writes what a change of the row would have written, so it does no harm to visit a row
 * again: after a restart, or from the beginning when the table was rekeyed meanwhile. */
#include "table/maint/index_build.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/scheduler.h"
#include "table/catalog/catalog_index.h"
#include "table/core/row_walk.h"
#include "table/index/entry.h"
#include "table/row/load.h"

#include <stdio.h>

#define RETRY_US_MAX 2000000
#define IDLE_US 500000 /* a new index waits as long */
#define SETTLE_US 20000

/* One index that is being built. */
struct index_build {
    struct wr_db *db;
    struct table *table; /* the base table */
    const struct index *index;
    struct ctx c; /* of the whole slice */
    struct row_walk walk;
};

static int build_row(struct row_walk *w, struct ctx *c, bytes record_key)
{
    const struct index_build *b = PORT_CONTAINER(w, struct index_build, walk);
    struct batch_builder builder = {.arena = &c->arena};
    struct index_entry none = {.there = false}, entry;
    struct load load = {.c = c,
                        .table = b->table,
                        .cols = bytes_skip(record_key, KEY_PREFIX_BYTES),
                        .view = VIEW_LATEST,
                        .urgent = true,
                        .columns = b->index->columns,
                        .column_count = b->index->column_count};

    TRY(wait_load(&load));
    entry = entry_of(&c->arena, &b->table->schema, b->index, load.cols, &load.row);
    entry_change(&builder, b->index, &none, &entry);
    row_walk_apply(w, c, &builder, b->index->location.id);
    return E_OK;
}

static int build_paged(struct row_walk *w)
{
    return fault_hit(FAULT_index_page)
               ? fail(w->c, E_UNAVAILABLE, "a page is not indexed, as WR_FAULT says")
               : E_OK;
}

/* A slice. E_BUSY: look again soon. */
static int build_advance(struct index_build *b, struct task_step *step)
{
    bool ended = false;
    int code;

    if (!catalog_keeps_index(b->db->catalog, b->table, b->index->id))
        return E_BUSY;
    (void)fault_hit(FAULT_index_begin);
    b->walk = (struct row_walk){.db = b->db,
                                .table = b->table,
                                .c = &b->c,
                                .step = step,
                                .record = catalog_rekey_key(&b->c.arena, b->index->id),
                                .id = b->table->schema.location.id,
                                .visit = build_row,
                                .paged = build_paged};
    TRY(row_walk_slice(&b->walk, &ended));
    if (!ended)
        return E_OK;
    (void)fault_hit(FAULT_index_before_end);
    code = catalog_index_complete(&b->c, b->table, b->index);
    (void)fault_hit(FAULT_index_end);
    if (code == E_NOT_EXIST) { /* dropped meanwhile */
        ctx_clear(&b->c);
        return E_OK;
    }
    if (!code)
        log_info(&b->db->log, "index: '%.*s' of table '%.*s' is complete: %llu rows",
                 BYTES_FMT(b->index->meta->name), BYTES_FMT(b->table->schema.d.table),
                 (unsigned long long)b->walk.rows);
    return code;
}

static void build_failed(struct index_build *b, struct task_step *step, int code)
{
    snprintf(step->text, sizeof(step->text), "index '%.*s' of table '%.*s': %s",
             BYTES_FMT(b->index->meta->name), BYTES_FMT(b->table->schema.d.table),
             b->c.text ? b->c.text : err_info(code)->text);
    log_warn(&b->db->log, "index: %s; it is tried again", step->text);
}

static int build_one(struct wr_db *db, struct table *t, const struct index *index,
                     struct task_step *step)
{
    struct index_build b = {.db = db, .table = t, .index = index};
    int code;

    ctx_init(&b.c, &db->clock, &db->log, NULL, 0);
    code = scheduler_stopping(db->background) ? E_OK : build_advance(&b, step);
    step->more = true;
    step->next_us = code ? SETTLE_US : 0;
    if (code == E_BUSY)
        code = E_OK;
    else if (code)
        build_failed(&b, step, code);
    ctx_release(&b.c);
    return code;
}

static bool is_building(const struct table *t)
{
    for (size_t i = 0; i < t->schema.index_count; i++)
        if (t->schema.indexes[i].phase == INDEX_FULL)
            return true;
    return false;
}

/* A slice for the first unfinished index of each table. The first failure, after the others had
 * theirs. */
static int build_step(void *arg, struct task_step *step)
{
    struct wr_db *db = arg;
    struct table **tables;
    struct ctx c;
    int first = E_OK;
    size_t n;

    step->next_us = IDLE_US;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    n = catalog_all(db->catalog, &c.arena, &tables);
    /* Nobody waits for the others' references for longer than this. */
    for (size_t i = 0; i < n; i++)
        if (!is_building(tables[i])) {
            table_release(tables[i]);
            tables[i] = NULL;
        }
    for (size_t i = 0; i < n; i++) {
        const struct index *index = tables[i] ? tables[i]->schema.indexes : NULL;
        int code;

        if (!index)
            continue;
        while (index->phase != INDEX_FULL)
            index++;
        code = build_one(db, tables[i], index, step);
        if (!first)
            first = code;
        table_release(tables[i]);
    }
    ctx_release(&c);
    return first;
}

bool index_build_start(struct wr_db *db)
{
    struct task_spec spec = {.name = "index",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_REKEY,
                             .run = build_step,
                             .retry_us_max = RETRY_US_MAX, /* the other tables wait, too */
                             .arg = db};

    return scheduler_add(db->background, &spec) != NULL;
}

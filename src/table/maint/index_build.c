/* index_build.c
 *
 * From the moment that an index is published (INDEX_FULL), every change of a row keeps it
 * (index_observer.h); changes that began by an older description are refused once it is published
 * (table.h, is_overtaken), unless they hold their rows' locks already. When nobody holds a
 * description without the index any more, every row is visited (row_walk.h), and its entry made
 * from the row as it is then, by the same function. Rows written before the visit were seen by it,
 * rows written later wrote their entries themselves: so at the end an entry is there for every row,
 * and none for what is gone. Then the index is complete (INDEX_INCR), in a transaction.
 *
 * A visit writes what a change of the row would have written, so it does no harm to visit a row
 * again: after a restart, or from the beginning when the table was rekeyed meanwhile. */
#include "table/maint/index_build.h"

#include "table/maint/index_build_apart.h"

#include "base/fault.h"
#include "base/log.h"
#include "table/catalog/catalog_index.h"
#include "table/core/row_walk.h"
#include "table/index/entry.h"
#include "table/maint/table_slice.h"
#include "table/row/load.h"

#define RETRY_US_MAX 2000000
#define IDLE_US 5000000 /* a new index wakes it */
#define SETTLE_US 20000

struct index_builder {
    struct table_slicing slicing;
    struct builds_apart *apart; /* NULL: there is one key space */
    struct task *task;
};

/* One index that is being built. */
struct index_build {
    struct wr_db *db;
    struct table *table; /* the base table */
    const struct index *index;
    struct ctx *c; /* of the whole slice */
    struct row_walk walk;
};

static void add_entry(const struct index_build *b, struct batch_builder *e, bytes cols,
                      const struct row *row)
{
    struct index_entry none = {.there = false};
    struct index_entry entry = entry_of(e->arena, &b->table->schema, b->index, cols, row);

    entry_change(e, b->index, &none, &entry);
}

static int build_row(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                     struct batch_builder *e, bool *alone)
{
    struct row row = {.there = false};

    TRY(row_decode(c, kv->value, &row));
    *alone = row.wide;
    if (!row.wide)
        add_entry(PORT_CONTAINER(v, struct index_build, walk.visitor), e,
                  bytes_skip(kv->key, KEY_PREFIX_BYTES), &row);
    return E_OK;
}

static int build_row_alone(struct walk_visitor *v, struct ctx *c, bytes record_key,
                           struct batch_builder *e)
{
    const struct index_build *b = PORT_CONTAINER(v, struct index_build, walk.visitor);
    struct load load = {.c = c,
                        .table = b->table,
                        .cols = bytes_skip(record_key, KEY_PREFIX_BYTES),
                        .view = VIEW_LATEST,
                        .urgent = true,
                        .columns = b->index->columns,
                        .column_count = b->index->column_count};

    TRY(wait_load(&load));
    add_entry(b, e, load.cols, &load.row);
    return E_OK;
}

static int build_paged(struct row_walk *w)
{
    return fault_hit(FAULT_index_page)
               ? fail(w->c, E_UNAVAILABLE, "a page is not indexed, as WR_FAULT says")
               : E_OK;
}

/* The first unfinished one; NULL: there is none. */
static const struct index *unfinished_index(const struct table *t)
{
    for (size_t i = 0; i < t->schema.index_count; i++)
        if (t->schema.indexes[i].phase != INDEX_INCR)
            return &t->schema.indexes[i];
    return NULL;
}

static bool wants_index_slice(const struct table *t)
{
    return unfinished_index(t) != NULL;
}

static bytes about_build(struct arena *a, const struct table *t)
{
    return arena_printf(a, "index '%.*s' of table '%.*s'",
                        BYTES_FMT(unfinished_index(t)->meta->name), BYTES_FMT(t->schema.d.table));
}

/* All rows were visited. */
static int build_complete(struct index_build *b)
{
    int code;

    (void)fault_hit(FAULT_index_before_end);
    code = catalog_index_advance(b->c, b->table, b->index);
    (void)fault_hit(FAULT_index_end);
    if (code == E_NOT_EXIST) { /* dropped meanwhile */
        ctx_clear(b->c);
        return E_OK;
    }
    if (!code)
        log_info(&b->db->log, "index: '%.*s' of table '%.*s' is complete: %llu rows",
                 BYTES_FMT(b->index->meta->name), BYTES_FMT(b->table->schema.d.table),
                 (unsigned long long)b->walk.rows);
    return code;
}

/* All of them: who waits for one to come does not wait for the build of another. */
static int build_apart_slice(struct builds_apart *all, struct ctx *c, struct table *t,
                             struct task_step *step)
{
    int worst = E_OK;

    for (size_t i = 0; i < t->schema.index_count; i++) {
        int code = t->schema.indexes[i].phase == INDEX_INCR
                       ? E_OK
                       : index_build_apart(all, c, t, &t->schema.indexes[i], step);

        if (code && code != E_BUSY)
            return code;
        worst = worst ? worst : code;
    }
    return worst;
}

static int build_slice(struct table_slicing *s, struct ctx *c, struct table *t,
                       struct task_step *step)
{
    struct index_build b = {.db = s->db, .table = t, .index = unfinished_index(t), .c = c};
    struct index_builder *builder = PORT_CONTAINER(s, struct index_builder, slicing);
    bool ended = false;

    if (builder->apart)
        return build_apart_slice(builder->apart, c, t, step);
    if (!catalog_keeps_index(s->db->catalog, t, b.index->id))
        return E_BUSY;
    (void)fault_hit(FAULT_index_begin);
    b.walk = (struct row_walk){.visitor = {.db = s->db,
                                           .table = t,
                                           .to = b.index->location.id,
                                           .visit = build_row,
                                           .visit_alone = build_row_alone},
                               .c = c,
                               .step = step,
                               .record = catalog_rekey_key(&c->arena, b.index->id),
                               .id = t->schema.location.id,
                               .paged = build_paged};
    TRY(row_walk_slice(&b.walk, &ended));
    return ended ? build_complete(&b) : E_OK;
}

static int build_step(void *arg, struct task_step *step)
{
    struct index_builder *b = arg;

    return table_slices(&b->slicing, step);
}

struct index_builder *index_builder_start(struct wr_db *db)
{
    struct index_builder *b = mem_zalloc(sizeof(*b));
    struct task_spec spec = {.name = "index",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_REKEY,
                             .run = build_step,
                             .retry_us_max = RETRY_US_MAX, /* the other tables wait, too */
                             .arg = b};

    b->slicing = (struct table_slicing){.db = db,
                                        .log_as = "index",
                                        .idle_us = IDLE_US,
                                        .retry_us = SETTLE_US,
                                        .wants = wants_index_slice,
                                        .run = build_slice,
                                        .about = about_build};
    if (!engine_one_key_space(db->engine))
        b->apart = builds_apart_new(db);
    b->task = scheduler_add(db->background, &spec);
    if (b->task)
        return b;
    index_builder_free(b);
    return NULL;
}

void index_builder_wake(struct index_builder *b)
{
    if (b)
        task_wake(b->task);
}

void index_builder_free(struct index_builder *b)
{
    if (b)
        builds_apart_free(b->apart);
    mem_free(b);
}

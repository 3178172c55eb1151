/* index_build.c
 *
 * Where an index may be built from table files it is, beside marks that changes leave:
 * index_stage.h. Else, on mem and for an index that is too large for that:
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
 * again: after a restart, or from the beginning when the table was rekeyed meanwhile, or got a time
 * to live. Entries from before that may be older than their rows (entry.h), also those of files. */
#include "table/maint/index_build.h"

#include "table/maint/entry_load.h"
#include "table/maint/index_build_apart.h"
#include "table/maint/index_stage.h"

#include "base/fault.h"
#include "base/log.h"
#include "table/catalog/catalog_index.h"
#include "table/core/row_walk.h"
#include "table/maint/table_slice.h"

#define RETRY_US_MAX 2000000
#define IDLE_US 5000000 /* a new index wakes it */
#define SETTLE_US 20000
#define WALK_EXPIRES (1u << 31) /* in a walk's id: the table had a time to live when it began */

struct index_builder {
    struct table_slicing slicing;
    struct builds_apart *apart;  /* NULL: there is one key space, */
    struct index_stages *stages; /* and then not NULL */
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

static int build_row(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                     struct batch_builder *e, bool *alone)
{
    const struct index_build *b = PORT_CONTAINER(v, struct index_build, walk.visitor);
    struct index_entry none = {.there = false}, entry;
    struct row row = {.there = false};

    TRY(row_decode(c, kv->value, &row));
    *alone = row.wide;
    if (row.wide)
        return E_OK;
    entry = entry_of(e->arena, &b->table->schema, b->index, bytes_skip(kv->key, KEY_PREFIX_BYTES),
                     &row);
    entry_change(e, b->index, &none, &entry);
    return E_OK;
}

static int build_row_alone(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                           struct batch_builder *e)
{
    const struct index_build *b = PORT_CONTAINER(v, struct index_build, walk.visitor);
    struct index_entry none = {.there = false}, entry;

    TRY(entry_load(c, b->table, b->index, bytes_skip(kv->key, KEY_PREFIX_BYTES), &entry));
    entry_change(e, b->index, &none, &entry);
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
        log_info(&b->db->log, "index: '%.*s' of table '%.*s' is complete",
                 BYTES_FMT(b->index->meta->name), BYTES_FMT(b->table->schema.d.table));
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

static bool expires(const struct index_build *b)
{
    return b->table->schema.d.options.ttl_s != -1;
}

/* Its files were not taken over, or there are none, or they are too old. */
static int walk_slice(struct index_build *b, struct task_step *step, bool *ended)
{
    b->walk =
        (struct row_walk){.visitor = {.db = b->db,
                                      .table = b->table,
                                      .to = b->index->location.id,
                                      .visit = build_row,
                                      .visit_alone = build_row_alone},
                          .c = b->c,
                          .step = step,
                          .record = catalog_rekey_key(&b->c->arena, b->index->id),
                          .id = b->table->schema.location.id | (expires(b) ? WALK_EXPIRES : 0),
                          .paged = build_paged};
    return row_walk_slice(&b->walk, ended);
}

/* INDEX_FULL: changes bring entries. */
static int fill_slice(struct index_stages *stages, struct index_build *b, struct task_step *step)
{
    bool ended, expired;

    if (!catalog_fills_index(b->db->catalog, b->table, b->index->id))
        return E_BUSY;
    (void)fault_hit(FAULT_index_begin);
    TRY(index_stage_was_taken(b->c, b->db, b->index, &ended, &expired));
    if (!ended || (expires(b) && !expired))
        TRY(walk_slice(b, step, &ended));
    if (ended)
        TRY(index_stage_marks(stages, b->c, b->table, b->index, step, &ended));
    return ended ? build_complete(b) : E_OK;
}

/* Changes bring entries from now on. Of an index that was dropped meanwhile the files may have come
 * behind the sweep that removed what there was of it. */
static int build_taken(struct index_build *b)
{
    struct partition_spec spec = partition_spec(&b->c->arena, b->index->location.id,
                                                b->index->location.id, BYTES_NONE, BYTES_NONE);
    int code = catalog_index_advance(b->c, b->table, b->index);

    if (code != E_NOT_EXIST)
        return code;
    ctx_clear(b->c);
    return engine_erase(b->c, b->db->engine, &spec);
}

/* INDEX_COMING: changes leave marks. */
static int stage_slice(struct index_stages *stages, struct index_build *b, struct task_step *step)
{
    bool ended;
    int code = index_stage_slice(stages, b->c, b->table, b->index, step, &ended);

    if (code == E_UNSUPPORTED) {
        ctx_clear(b->c);
        ended = true; /* each row is visited, then */
    } else if (code) {
        return code;
    }
    return ended ? build_taken(b) : E_OK;
}

static int build_slice(struct table_slicing *s, struct ctx *c, struct table *t,
                       struct task_step *step)
{
    struct index_build b = {.db = s->db, .table = t, .index = unfinished_index(t), .c = c};
    struct index_builder *builder = PORT_CONTAINER(s, struct index_builder, slicing);

    if (builder->apart)
        return build_apart_slice(builder->apart, c, t, step);
    return b.index->phase == INDEX_COMING ? stage_slice(builder->stages, &b, step)
                                          : fill_slice(builder->stages, &b, step);
}

static int build_step(void *arg, struct task_step *step)
{
    struct index_builder *b = arg;
    int code;

    if (b->stages)
        index_stages_begin(b->stages);
    code = table_slices(&b->slicing, step);
    if (b->stages)
        index_stages_end(b->stages);
    return code;
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
    else
        b->stages = index_stages_new(db);
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
    if (!b)
        return;
    builds_apart_free(b->apart);
    index_stages_free(b->stages);
    mem_free(b);
}

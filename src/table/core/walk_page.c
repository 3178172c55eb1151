#include "table/core/walk_page.h"

#include "base/invariant.h"
#include "table/sync/blocking_lock.h"

#include <stdlib.h>

struct walk_pages {
    struct walk_visitor *visitor;
    pthread_mutex_t lock; /* of all below, and of the pages' counts */
    pthread_cond_t woken;
    size_t bytes;                       /* of memory, of pages with batches under way */
    size_t open;                        /* batches */
    int code;                           /* the first failure */
    uint32_t versions[ROW_LOCK_GROUPS]; /* from before the rows of the current page were read */
};

struct walk_row {
    const struct kv *kv;
    bytes cols;
    bytes written;      /* the first key that its edits write */
    size_t from, count; /* of the page's edits: what its visit has come to */
    struct row_lock lock;
    bool held;
    bool alone; /* it is to be visited by itself */
};

/* One of a page. */
struct walk_batch {
    struct walk_page *page;
    struct write_batch batch;
};

struct walk_pages *walk_pages_new(struct walk_visitor *v)
{
    struct walk_pages *all = mem_zalloc(sizeof(*all));

    all->visitor = v;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->woken, NULL);
    return all;
}

void walk_pages_free(struct walk_pages *all)
{
    invariant(!all->open && !all->bytes);
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->woken);
    mem_free(all);
}

int walk_pages_wait(struct walk_pages *all, bool for_all)
{
    int code;

    pthread_mutex_lock(&all->lock);
    while (all->open > 0 && (for_all || all->bytes > WALK_PAGES_BYTES))
        pthread_cond_wait(&all->woken, &all->lock);
    code = all->code;
    pthread_mutex_unlock(&all->lock);
    return code;
}

static struct walk_page *page_new(struct walk_pages *all)
{
    struct walk_page *p = mem_zalloc(sizeof(*p));
    struct wr_db *db = all->visitor->db;

    p->all = all;
    p->refs = 1;
    ctx_init(&p->c, &db->clock, &db->log, NULL, 0);
    return p;
}

struct walk_page *walk_page_new(struct walk_pages *all)
{
    row_locks_versions(all->visitor->db->row_locks, all->versions);
    return page_new(all);
}

/* Under the lock. */
static bool unref_locked(struct walk_page *p)
{
    invariant(p->refs);
    if (--p->refs)
        return false;
    p->all->bytes -= p->bytes;
    return true;
}

static void page_free(struct walk_page *p)
{
    ctx_release(&p->c);
    mem_free(p);
}

void walk_page_unref(struct walk_page *p)
{
    bool last;

    pthread_mutex_lock(&p->all->lock);
    last = unref_locked(p);
    pthread_mutex_unlock(&p->all->lock);
    if (last)
        page_free(p);
}

/* ---- batches ---- */

static void walk_batch_done(void *arg, int code)
{
    struct walk_page *p = ((struct walk_batch *)arg)->page;
    struct walk_pages *all = p->all;
    bool last;

    pthread_mutex_lock(&all->lock);
    if (!all->code)
        all->code = code;
    all->open--;
    last = unref_locked(p);
    pthread_cond_signal(&all->woken);
    pthread_mutex_unlock(&all->lock);
    if (last)
        page_free(p);
}

static void walk_apply(struct walk_page *p, const struct edit *edits, size_t count)
{
    struct walk_batch *b = ARENA_NEW(&p->c.arena, struct walk_batch);
    struct walk_pages *all = p->all;

    if (!count)
        return;
    b->page = p;
    b->batch =
        (struct write_batch){.partition = p->all->visitor->to, .edits = edits, .edit_count = count};
    pthread_mutex_lock(&all->lock);
    p->refs++;
    all->open++;
    all->bytes += p->c.arena.used - p->bytes;
    p->bytes = p->c.arena.used;
    pthread_mutex_unlock(&all->lock);
    engine_apply(&p->c, p->all->visitor->db->engine, &b->batch, walk_batch_done, b);
}

/* ---- rows ---- */

/* Nobody has changed it since it was read: else, and if another one holds its lock, it is visited
 * alone. Who waits for one lock while it holds another may wait for ever. */
static void lock_row(struct walk_page *p, struct walk_row *r)
{
    struct row_locks *locks = p->all->visitor->db->row_locks;

    r->lock.key = schema_lock_key(&p->c.arena, &p->all->visitor->table->schema, r->cols);
    r->held = row_lock_try(locks, &r->lock);
    r->alone = !r->held || !row_lock_has_version(locks, &r->lock, p->all->versions);
}

/* So many rows in one batch, each with its edits. */
static void apply_rows(struct walk_page *p, const struct edit *edits, struct walk_row **rows,
                       size_t count)
{
    struct batch_builder builder = {.arena = &p->c.arena};
    struct run_list woken = {0};

    for (size_t i = 0; i < count; i++) {
        const struct edit *of_row = edits + rows[i]->from;

        lock_row(p, rows[i]);
        for (size_t k = 0; k < rows[i]->count && !rows[i]->alone; k++)
            batch_add(&builder, of_row[k].type, of_row[k].key, of_row[k].value);
    }
    walk_apply(p, builder.items, builder.count);
    for (size_t i = 0; i < count; i++)
        if (rows[i]->held)
            row_lock_pass_unchanged(p->all->visitor->db->row_locks, &rows[i]->lock, &woken);
    row_lock_run(&woken);
}

static int by_written_key(const void *a, const void *b)
{
    const struct walk_row *x = *(struct walk_row *const *)a, *y = *(struct walk_row *const *)b;

    return bytes_compare(x->written, y->written);
}

static int visit_alone(struct walk_page *p, const struct walk_row *r)
{
    struct walk_visitor *v = p->all->visitor;
    struct walk_page *own;
    struct batch_builder builder;
    struct blocking_lock lock;
    int code;

    TRY(walk_pages_wait(p->all, false));
    own = page_new(p->all);
    builder = (struct batch_builder){.arena = &own->c.arena};
    blocking_lock(v->db->row_locks, &lock,
                  schema_lock_key(&own->c.arena, &v->table->schema, r->cols));
    assert(row_lock_is_held(v->db->row_locks, &lock.row_lock));
    code = v->visit_alone(v, &own->c, r->kv, &builder);
    if (!code)
        walk_apply(own, builder.items, builder.count);
    else if (own->c.text)
        fail(&p->c, code, "%s", own->c.text);
    blocking_unlock(v->db->row_locks, &lock);
    walk_page_unref(own);
    return code;
}

static int visit_row(struct walk_page *p, const struct kv *kv, struct batch_builder *e,
                     struct walk_row *r)
{
    *r = (struct walk_row){
        .kv = kv, .cols = bytes_skip(kv->key, KEY_PREFIX_BYTES), .from = e->count};
    TRY(p->all->visitor->visit(p->all->visitor, &p->c, kv, e, &r->alone));
    r->count = e->count - r->from;
    if (r->count)
        r->written = e->items[r->from].key;
    return E_OK;
}

int walk_page_visit(struct walk_page *p, const struct page *read)
{
    struct walk_row *rows = ARENA_ARRAY(&p->c.arena, struct walk_row, read->count);
    struct walk_row **writing = ARENA_ARRAY(&p->c.arena, struct walk_row *, read->count);
    struct batch_builder builder = {.arena = &p->c.arena};
    size_t count = 0;

    for (size_t i = 0; i < read->count; i++) {
        TRY(visit_row(p, &read->items[i], &builder, &rows[i]));
        if (rows[i].count)
            writing[count++] = &rows[i];
    }
    qsort(writing, count, sizeof(*writing), by_written_key);
    for (size_t i = 0; i < count; i += WALK_BATCH_ROWS)
        apply_rows(p, builder.items, &writing[i],
                   count - i < WALK_BATCH_ROWS ? count - i : WALK_BATCH_ROWS);
    for (size_t i = 0; i < read->count; i++)
        if (rows[i].alone)
            TRY(visit_alone(p, &rows[i]));
    return E_OK;
}

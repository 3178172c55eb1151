/* search_feed.c: brings an index up to its table, and its segments together. */
#include "search/segment/builder.h"
#include "table/catalog/catalog.h"
#include "table/changelog/change_log.h"
#include "table/model/value.h"
#include "table/search/search_feed.h"
#include "table/search/search_merge.h"
#include "table/search/search_rows.h"
#include "table/search/search_save.h"

#include <stdio.h>
#include <stdlib.h>

#define CHANGES_PAGE 1000
#define WALK_ROWS 5000          /* of one segment of the walk */
#define SEGMENT_BYTES (8 << 20) /* of the rows of one new segment, about */
#define MEMORY_SHARE 2          /* of --memory, for all segments where none is stored */
#define UNSTORED_SHARE 8        /* for those that are not stored yet */

static int by_key(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

/* Keys ascending, each once. */
static size_t sort_keys(bytes *keys, size_t count)
{
    size_t n = 0;

    if (!count)
        return 0;
    qsort(keys, count, sizeof(keys[0]), by_key);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !bytes_equal(keys[i], keys[n - 1]))
            keys[n++] = keys[i];
    return n;
}

/* Another view: rows as they are now, in place of what was there of the keys. */
static int publish(struct ctx *c, struct search_index *x, const bytes *keys, size_t count,
                   struct segment *added)
{
    struct view *was, *next;

    for (;;) {
        int rc;

        was = search_index_view(x);
        rc = view_change(c, was, keys, count, added, &next);
        if (rc) {
            view_release(was);
            if (rc == E_CORRUPT)
                search_index_damaged(x, x->made, c->text);
            return rc;
        }
        /* Who merges replaces under the lock; it may have been faster. */
        pthread_mutex_lock(&x->lock);
        if (x->view == was)
            break;
        pthread_mutex_unlock(&x->lock);
        view_release(next);
        view_release(was);
    }
    x->view = next;
    x->changed = true;
    pthread_mutex_unlock(&x->lock);
    view_release(was); /* ours */
    view_release(was); /* the index's */
    return E_OK;
}

static size_t row_bytes(const struct wr_row *row)
{
    size_t size = 0;

    for (size_t i = 0; i < row->cell_count; i++)
        size += row->cells[i].name.len + sizeof(row->cells[i]) +
                (row->cells[i].value.type == WR_VARCHAR || row->cells[i].value.type == WR_VARBINARY
                     ? row->cells[i].value.bytes.len
                     : 0);
    return size;
}

/* The first of the keys, as many as make a segment: *done of them. What their rows take goes with
 * the context. */
static int index_some(struct ctx *c, struct search_index *x, const struct table *t,
                      const bytes *keys, size_t count, size_t *done)
{
    const struct wr_row **rows = ARENA_ARRAY(&c->arena, const struct wr_row *, count);
    struct document *documents = ARENA_ARRAY(&c->arena, struct document, count);
    struct segment *added = NULL;
    const struct wr_bytes *columns;
    size_t column_count, n = 0, size = 0;
    int rc;

    columns = search_columns(&c->arena, t, x->schema, &column_count);
    for (*done = 0; *done < count && size < SEGMENT_BYTES;) {
        size_t page = 0;

        TRY(search_get_page(c, t, keys + *done, count - *done, columns, column_count, rows + *done,
                            &page));
        for (; page; page--, ++*done) {
            if (!rows[*done])
                continue;
            size += row_bytes(rows[*done]);
            documents[n].key = keys[*done];
            document_fill(c, x->schema, rows[*done], &documents[n++]);
        }
    }
    if (n)
        added = segment_build(x->schema, documents, n);
    rc = publish(c, x, keys, *done, added);
    segment_release(added);
    return rc;
}

static int index_keys(struct ctx *c, struct search_index *x, const struct table *t,
                      const bytes *keys, size_t count)
{
    while (count) {
        struct ctx part;
        size_t done;
        int rc;

        ctx_init_part(&part, c, NULL, 0);
        rc = index_some(&part, x, t, keys, count, &done);
        if (rc)
            rc = ctx_fail_part(c, &part);
        ctx_release(&part);
        TRY(rc);
        keys += done;
        count -= done;
    }
    return E_OK;
}

/* ---- rows that are there already ---- */

struct walk {
    struct ctx *c;
    const struct table *t;
    struct search_index *x;
    struct document *documents;
    bytes *keys;
    size_t count;
    size_t size; /* of the rows */
};

static int walk_row(void *arg, const struct wr_row *row)
{
    struct walk *w = arg;
    struct document *d = &w->documents[w->count];
    struct wr_row *copy = ARENA_NEW(&w->c->arena, struct wr_row);
    struct wr_cell *cells = ARENA_ARRAY(&w->c->arena, struct wr_cell, row->cell_count);

    copy->key = key_copy(&w->c->arena, &row->key);
    for (size_t i = 0; i < row->cell_count; i++) {
        cells[i] = row->cells[i];
        cells[i].name = arena_copy(&w->c->arena, cells[i].name);
        cells[i].value = value_copy(&w->c->arena, &cells[i].value);
    }
    copy->cells = cells;
    copy->cell_count = row->cell_count;
    TRY(search_key_of(w->c, w->t, &copy->key, &d->key));
    document_fill(w->c, w->x->schema, copy, d);
    w->size += row_bytes(copy);
    w->keys[w->count++] = d->key;
    return E_OK;
}

static int walk_page(struct walk *w, struct wr_key *start, bool *more)
{
    const struct wr_table_description *d = &w->t->schema.d;
    struct wr_key_column *end = ARENA_ARRAY(&w->c->arena, struct wr_key_column, d->key_count);
    struct wr_request req = {WR_REQUEST(GET_RANGE), .instance = w->t->schema.instance};
    struct wr_reply *reply;
    size_t columns;
    int rc = E_OK;

    for (size_t i = 0; i < d->key_count; i++)
        end[i] = (struct wr_key_column){d->key[i].name, {.type = WR_INF_MAX}};
    req.get_range = (struct wr_get_range){
        .table = d->table,
        .start = *start,
        .end = {end, d->key_count},
        .has_limit = true,
        .limit = (int32_t)(WALK_ROWS - w->count),
        .read = {.max_versions = 1, .has_max_versions = true},
        .on_row = walk_row,
        .on_row_arg = w,
    };
    req.get_range.read.columns = search_columns(&w->c->arena, w->t, w->x->schema, &columns);
    req.get_range.read.column_count = columns;
    reply = search_exec(w->t->db, &req);
    if (reply->code)
        rc = fail(w->c, reply->code, "%s", reply->message);
    *more = !rc && reply->range.next.count > 0;
    if (*more)
        *start = key_copy(&w->c->arena, &reply->range.next);
    wr_reply_free(reply);
    return rc;
}

static int walk_start(struct walk *w, struct wr_key *start)
{
    const struct wr_table_description *d = &w->t->schema.d;
    struct wr_key_column *columns;

    if (w->x->walked.ptr)
        return search_key_columns(w->c, w->t, w->x->walked, start);
    columns = ARENA_ARRAY(&w->c->arena, struct wr_key_column, d->key_count);
    for (size_t i = 0; i < d->key_count; i++)
        columns[i] = (struct wr_key_column){d->key[i].name, {.type = WR_INF_MIN}};
    *start = (struct wr_key){columns, d->key_count};
    return E_OK;
}

/* One segment of rows; at the end the index follows the changes. */
static int walk_step(struct ctx *c, struct search_index *x, const struct table *t)
{
    struct walk w = {.c = c, .t = t, .x = x};
    struct segment *added = NULL;
    struct wr_key start;
    bool more = true;
    bytes at;
    int rc;

    w.documents = ARENA_ARRAY(&c->arena, struct document, WALK_ROWS);
    w.keys = ARENA_ARRAY(&c->arena, bytes, WALK_ROWS);
    TRY(walk_start(&w, &start));
    while (more && w.count < WALK_ROWS && w.size < SEGMENT_BYTES) {
        size_t before = w.count;

        rc = walk_page(&w, &start, &more);
        if (rc) {
            w.count = before;
            return rc;
        }
    }
    if (w.count)
        added = segment_build(x->schema, w.documents, w.count);
    rc = publish(c, x, w.keys, w.count, added);
    segment_release(added);
    TRY(rc);
    if (!more) {
        pthread_mutex_lock(&x->lock);
        x->phase = SEARCH_FOLLOWING;
        x->hidden = false;
        x->changed = true;
        pthread_mutex_unlock(&x->lock);
        return E_OK;
    }
    TRY(search_key_of(c, t, &start, &at));
    mem_free((void *)(uintptr_t)x->walked.ptr);
    x->walked = bytes_of(memcpy(mem_alloc(at.len + 1), at.ptr, at.len), at.len);
    return E_OK;
}

/* ---- changes ---- */

/* What it has is let go of: rows may have gone that nothing tells of any more. */
static void begin_again(struct search_index *x)
{
    struct view *was;

    pthread_mutex_lock(&x->lock);
    was = x->view;
    x->view = view_empty();
    x->phase = SEARCH_NEW;
    x->hidden = x->changed = true;
    x->damaged = false;
    x->made++;
    pthread_mutex_unlock(&x->lock);
    view_release(was);
    mem_free((void *)(uintptr_t)x->walked.ptr);
    x->walked = BYTES_NONE;
}

static int follow_step(struct ctx *c, struct search_index *x, const struct table *t, bool *more)
{
    int64_t now_us = clock_watch_ms(t->db) * 1000;
    struct change_log_page page;

    TRY(change_log_read(c, t, x->position, CHANGES_PAGE, &page));
    if (page.gone) {
        log_warn(
            &t->db->log,
            "search: an index of table '%.*s' is made again from the rows: the changes that it "
            "has not seen are not kept any more",
            BYTES_FMT(t->schema.d.table));
        begin_again(x);
        *more = true;
        return E_OK;
    }
    if (page.count)
        TRY(index_keys(c, x, t, page.keys, sort_keys(page.keys, page.count)));
    *more = page.more;
    pthread_mutex_lock(&x->lock);
    x->changed |= x->position != page.next;
    x->position = page.next;
    if (!page.more)
        x->synced_us = now_us;
    pthread_mutex_unlock(&x->lock);
    return E_OK;
}

/* The log tells of every change once nobody works by a description without it. */
static int begin_step(struct ctx *c, struct search_index *x, const struct table *t)
{
    if (!catalog_keeps_change_log(t->db->catalog, t))
        return E_OK;
    TRY(change_log_end(c, t, &x->position));
    pthread_mutex_lock(&x->lock);
    x->phase = SEARCH_WALKING;
    x->changed = true;
    pthread_mutex_unlock(&x->lock);
    return E_OK;
}

/* What there was goes first, so that there is room for another one; and all of it, so that nothing
 * keeps what is damaged in storage. */
static int clear_step(struct ctx *c, struct search_index *x, const struct table *t)
{
    int rc;

    TRY(search_save(c, x));
    rc = search_store_clear(c, &x->store);
    if (rc == E_UNAVAILABLE)
        return rc; /* storage comes again */
    if (rc) {
        log_warn(&t->db->log, "search: what no index of table '%.*s' needs is not removed yet: %s",
                 BYTES_FMT(t->schema.d.table), c->text ? c->text : "storage error");
        ctx_clear(c);
    }
    x->clears = false;
    return E_OK;
}

/* It is damaged: another one is made of the rows. */
static int mend_step(struct search_index *x, const struct table *t)
{
    log_error(&t->db->log, "search: an index of table '%.*s' is made again from the rows: %s",
              BYTES_FMT(t->schema.d.table), x->text);
    begin_again(x);
    x->clears = search_stores(t->db);
    return E_OK;
}

/* What is stored of it; damage is no failure, for the rows are there. */
static int load_step(struct ctx *c, struct search_index *x, const struct table *t)
{
    int rc = search_load(c, x);

    if (rc == E_CORRUPT) {
        search_index_damaged(x, x->made, c->text);
        ctx_clear(c);
        return mend_step(x, t);
    }
    if (!rc)
        rc = search_sweep(c, t);
    if (rc && x->phase != SEARCH_LOADING) {
        log_warn(&t->db->log, "search: what no index of table '%.*s' needs is not removed yet: %s",
                 BYTES_FMT(t->schema.d.table), c->text ? c->text : "storage error");
        ctx_clear(c);
        return E_OK;
    }
    return rc;
}

static int feed_step(struct ctx *c, struct search_index *x, const struct table *t, bool *more)
{
    *more = x->phase != SEARCH_FOLLOWING;
    if (x->damaged && x->phase != SEARCH_LOADING)
        return mend_step(x, t);
    if (x->clears)
        return clear_step(c, x, t);
    switch (x->phase) {
    case SEARCH_LOADING:
        return load_step(c, x, t);
    case SEARCH_NEW:
        TRY(begin_step(c, x, t));
        *more = x->phase == SEARCH_WALKING;
        return E_OK;
    case SEARCH_WALKING:
        return walk_step(c, x, t);
    default:
        return follow_step(c, x, t, more);
    }
}

/* What all indexes hold that cannot go: of those that are stored, what is not stored yet. */
static bool has_room(struct wr_db *db, struct search_index *x, uint64_t held)
{
    bool full = held > db->memory.total / (search_stores(db) ? UNSTORED_SHARE : MEMORY_SHARE);

    pthread_mutex_lock(&x->lock);
    x->full = full;
    pthread_mutex_unlock(&x->lock);
    return !full;
}

static bool feed_index(struct wr_db *db, struct search_index *x, const struct table *t,
                       uint64_t held)
{
    struct ctx c;
    bool more = false;
    int rc = E_OK;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    if (has_room(db, x, held))
        rc = feed_step(&c, x, t, &more);
    if (!rc && search_save_due(x))
        rc = search_save(&c, x);
    pthread_mutex_lock(&x->lock);
    x->stuck = rc != E_OK;
    if (rc && !x->damaged)
        snprintf(x->text, sizeof(x->text), "%s", c.text ? c.text : "");
    pthread_mutex_unlock(&x->lock);
    ctx_release(&c);
    return !rc && more;
}

static uint64_t bytes_of_index(struct search_index *x)
{
    struct view *v;
    uint64_t n;

    if (search_stores(x->store.db))
        return search_unsaved_bytes(x);
    v = search_index_view(x);
    n = v->bytes;
    view_release(v);
    return n;
}

/* Nobody needs changes any more that all of the table's indexes have seen. */
static void trim(struct wr_db *db, const struct table *t, uint64_t position)
{
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    change_log_trim(&c, t, position);
    ctx_release(&c);
}

/* From where on it needs the log, also after a crash. */
static uint64_t needed(const struct search_index *x)
{
    return search_stores(x->store.db) ? x->saved_position : x->position;
}

static bool feed_table(struct wr_db *db, const struct table *t, uint64_t *held)
{
    uint64_t position = UINT64_MAX;
    bool more = false, trims = true;

    for (size_t i = 0; i < t->schema.search_count; i++) {
        struct search_index *x;
        struct ctx c;
        int rc;

        ctx_init(&c, &db->clock, &db->log, NULL, 0);
        rc = searches_find(&c, db, &t->schema.searches[i], &x);
        ctx_release(&c);
        if (rc)
            continue;
        if (x->store.location != t->schema.change_log) /* searches read it */
            x->store.location = t->schema.change_log;
        *held += bytes_of_index(x);
        more |= feed_index(db, x, t, *held);
        position = needed(x) < position ? needed(x) : position;
        trims &= x->phase == SEARCH_FOLLOWING;
        search_index_release(x);
    }
    if (trims && !more)
        trim(db, t, position);
    return more;
}

/* What indexes hold in memory, and what a merge takes beside it: some three times its result. */
static void note_memory(struct wr_db *db, uint64_t held)
{
    uint64_t merge = 3 * search_merged_max(db);

    if (search_stores(db)) {
        held += part_cache_bytes(searches_cache(db->searches));
        held += merge < held ? merge : held;
    }
    memory_search(&db->memory, db->engine, held);
}

bool search_feed_round(struct wr_db *db, bool sweep)
{
    struct table **tables;
    struct ctx c;
    size_t count;
    uint64_t held = 0;
    bool more = false;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    count = catalog_all(db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < count; i++) {
        if (tables[i]->schema.search_count && tables[i]->schema.change_log) {
            if (sweep && search_sweep(&c, tables[i]))
                log_warn(&db->log, "search: an index that is gone is not removed yet: %s",
                         c.text ? c.text : "storage error");
            more |= feed_table(db, tables[i], &held);
        }
        table_release(tables[i]);
    }
    ctx_release(&c);
    note_memory(db, held);
    return more;
}

void search_feed_begin(struct wr_db *db)
{
    struct table **tables;
    bool any = false;
    struct ctx c;
    size_t count;

    if (!db->searches)
        return;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    count = catalog_all(db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < count; i++) {
        any |= tables[i]->schema.search_count > 0;
        table_release(tables[i]);
    }
    ctx_release(&c);
    if (any)
        searches_wake(db->searches);
}

void search_feed_end(struct search_index *x)
{
    struct ctx c;

    if (!x->changed || x->phase == SEARCH_LOADING || !search_stores(x->store.db))
        return;
    ctx_init(&c, &x->store.db->clock, &x->store.db->log, NULL, 0);
    if (search_save(&c, x)) /* the next start reads what it misses from the log */
        log_warn(&x->store.db->log, "search: an index is not stored as it is now: %s",
                 c.text ? c.text : "storage error");
    ctx_release(&c);
}

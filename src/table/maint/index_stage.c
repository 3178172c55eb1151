#include "table/maint/index_stage.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/log.h"
#include "table/catalog/catalog.h"
#include "table/core/row_walk.h"
#include "table/maint/entry_load.h"
#include "table/model/index_note.h"
#include "table/sync/wait.h"

#define STAGES_MAX 2   /* each has memory to sort in */
#define SLICE_MS 1000  /* a slice; the scheduler rests a fifth of it at most */
#define FAILED_TIMES 2 /* one that failed rests so long, in times that it had taken */
#ifdef WR_FAULTS
#define MARKS_PAGE 64
#define MARKS_READ 8
#define MARKS_BYTES 1024
#else
#define MARKS_PAGE 1024
#define MARKS_READ 128 /* rows at once; a page ends behind MARKS_BYTES of them */
#define MARKS_BYTES ROW_WALK_PAGE_BYTES
#endif

/* One index's build; how far it has come. */
struct index_stage {
    uint32_t index;   /* 0: this one is free */
    bool seen;        /* in this turn */
    uint32_t rows_at; /* the location that rows are read at */
    struct bulk *bulk;
    bool gathered; /* all rows were read */
    bool expires;  /* the table had a time to live when that began */
    uint8_t *last; /* key of the last one, or of the last mark that was visited; NULL: none */
    size_t last_len;
    uint64_t rows;
    int64_t begun_ms, not_before_ms; /* the second 0: it has not failed */
};

struct index_stages {
    struct wr_db *db;
    struct index_stage at[STAGES_MAX];
};

struct index_stages *index_stages_new(struct wr_db *db)
{
    struct index_stages *all = mem_zalloc(sizeof(*all));

    all->db = db;
    return all;
}

static void last_set(struct index_stage *s, bytes key)
{
    uint8_t *last = key.len ? mem_alloc(key.len) : NULL;

    if (last)
        memcpy(last, key.ptr, key.len);
    mem_free(s->last);
    s->last = last;
    s->last_len = key.len;
}

static bytes last_of(const struct index_stage *s)
{
    return s->last ? bytes_of(s->last, s->last_len) : BYTES_NONE;
}

/* What was sorted so far goes. */
static void stage_reset(struct index_stage *s)
{
    bulk_close(s->bulk);
    s->bulk = NULL;
    s->gathered = false;
    s->rows = 0;
    last_set(s, BYTES_NONE);
}

static void stage_free(struct index_stage *s)
{
    stage_reset(s);
    *s = (struct index_stage){.index = 0};
}

void index_stages_free(struct index_stages *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < STAGES_MAX; i++)
        stage_free(&all->at[i]);
    mem_free(all);
}

void index_stages_begin(struct index_stages *all)
{
    for (size_t i = 0; i < STAGES_MAX; i++)
        all->at[i].seen = false;
}

void index_stages_end(struct index_stages *all)
{
    for (size_t i = 0; i < STAGES_MAX; i++)
        if (all->at[i].index && !all->at[i].seen)
            stage_free(&all->at[i]);
}

/* Has it failed, and is not begun anew? */
static bool is_resting(const struct index_stage *s)
{
    return !s->bulk && s->not_before_ms;
}

/* NULL: there are too many. One that rests makes room: an index that cannot be built keeps nobody
 * else's from it. */
static struct index_stage *stage_of(struct index_stages *all, const struct index *index)
{
    struct index_stage *s = NULL;

    for (size_t i = 0; i < STAGES_MAX; i++)
        if (all->at[i].index == index->id)
            s = &all->at[i];
    for (size_t i = 0; i < STAGES_MAX && !s; i++)
        if (!all->at[i].index)
            s = &all->at[i];
    for (size_t i = 0; i < STAGES_MAX && !s; i++)
        if (is_resting(&all->at[i]))
            stage_free(s = &all->at[i]);
    if (s && !s->index)
        s->index = index->id;
    if (s)
        s->seen = true;
    return s;
}

int index_stage_was_taken(struct ctx *c, struct wr_db *db, const struct index *index, bool *taken,
                          bool *expires)
{
    struct get get = {.partition = index->location.id,
                      .key = index_note_taken(&c->arena, index->location.id, false).key,
                      .view = VIEW_DURABLE};

    TRY(wait_get(c, db->engine, &get));
    *taken = get.found;
    *expires = get.found && index_note_expires(get.value);
    return E_OK;
}

/* ---- rows ---- */

struct gather {
    struct index_stage *stage;
    const struct index *index;
    struct ctx *c;
    struct row_walk walk;
};

static int gather_row(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                      struct batch_builder *e, bool *alone)
{
    const struct gather *g = PORT_CONTAINER(v, struct gather, walk.visitor);
    struct row row = {.there = false};
    struct index_entry entry;
    struct kv record;

    (void)e;
    TRY(row_decode(c, kv->value, &row));
    *alone = row.wide;
    if (row.wide)
        return E_OK;
    entry = entry_of(&c->arena, &v->table->schema, g->index, bytes_skip(kv->key, KEY_PREFIX_BYTES),
                     &row);
    if (!entry.there)
        return E_OK;
    record = entry_record(&c->arena, &g->index->location, &entry);
    return bulk_put(c, g->stage->bulk, record.key, record.value);
}

/* A row that is read in several steps is of one moment only under its lock, and may be lost again
 * before it is durable, but not without the mark. */
static int gather_row_alone(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                            struct batch_builder *e)
{
    const struct gather *g = PORT_CONTAINER(v, struct gather, walk.visitor);
    bytes cols = bytes_skip(kv->key, KEY_PREFIX_BYTES);
    struct index_entry none = {.there = false}, entry;

    TRY(entry_load(c, v->table, g->index, cols, &entry));
    entry_mark(e, g->index, cols, &none, &entry);
    return E_OK;
}

static int gathered_page(struct row_walk *w)
{
    return fault_hit(FAULT_index_page)
               ? fail(w->c, E_UNAVAILABLE, "a page is not indexed, as WR_FAULT says")
               : E_OK;
}

static int gather_slice(struct index_stage *s, struct ctx *c, struct table *t,
                        const struct index *index, struct task_step *step)
{
    struct gather g = {.stage = s,
                       .index = index,
                       .c = c,
                       .walk = {.visitor = {.db = t->db,
                                            .table = t,
                                            .to = index->location.id,
                                            .visit = gather_row,
                                            .visit_alone = gather_row_alone},
                                .c = c,
                                .step = step,
                                .slice_ms = SLICE_MS,
                                .paged = gathered_page,
                                .position = last_of(s),
                                .rows = s->rows}};
    struct kv note = index_note_taken(&c->arena, index->location.id, s->expires);

    TRY(row_walk_slice(&g.walk, &s->gathered));
    last_set(s, g.walk.position);
    s->rows = g.walk.rows;
    return s->gathered ? bulk_put(c, s->bulk, note.key, note.value) : E_OK;
}

/* ---- table files ---- */

static int merge_slice(struct index_stages *all, struct index_stage *s, struct ctx *c,
                       struct task_step *step, bool *taken)
{
    int64_t until_ms = clock_mono_ms(&all->db->clock) + SLICE_MS;
    bool ended = false;

    *taken = false;
    while (!ended) {
        if (clock_mono_ms(&all->db->clock) >= until_ms || scheduler_stopping(all->db->background))
            return E_OK;
        TRY(bulk_merge(c, s->bulk, &step->bytes, &ended));
    }
    (void)fault_hit(FAULT_index_before_taken);
    TRY(bulk_finish(c, s->bulk));
    (void)fault_hit(FAULT_index_taken);
    *taken = true;
    log_info(&all->db->log, "index: the entries of %llu rows were sorted and taken over",
             (unsigned long long)s->rows);
    return E_OK;
}

static int stage_begin(struct index_stages *all, struct index_stage *s, struct ctx *c,
                       const struct table *t, const struct index *index, bool *taken)
{
    int64_t now_ms = clock_mono_ms(&all->db->clock);
    bool expires;

    TRY(index_stage_was_taken(c, all->db, index, taken, &expires));
    if (*taken)
        return E_OK;
    if (now_ms < s->not_before_ms)
        return E_BUSY;
    if (fault_hit(FAULT_index_too_large))
        return fail(c, E_UNSUPPORTED, "it is too large, as WR_FAULT says");
    s->begun_ms = now_ms;
    s->rows_at = t->schema.location.id;
    s->expires = t->schema.d.options.ttl_s != -1;
    return engine_sort(c, all->db->engine, index->location.id, &s->bulk);
}

static int stage_run(struct index_stages *all, struct index_stage *s, struct ctx *c,
                     struct table *t, const struct index *index, struct task_step *step,
                     bool *taken)
{
    *taken = false;
    if (s->bulk && s->rows_at != t->schema.location.id)
        stage_reset(s); /* the table was rekeyed meanwhile */
    if (!s->bulk)
        TRY(stage_begin(all, s, c, t, index, taken));
    if (*taken)
        return E_OK;
    return s->gathered ? merge_slice(all, s, c, step, taken) : gather_slice(s, c, t, index, step);
}

int index_stage_slice(struct index_stages *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step, bool *ended)
{
    struct index_stage *s;
    int code;

    *ended = false;
    if (!catalog_keeps_index(all->db->catalog, t, index->id))
        return E_BUSY;
    s = stage_of(all, index);
    if (!s)
        return E_BUSY;
    code = stage_run(all, s, c, t, index, step, ended);
    if (code && s->bulk) {
        int64_t now_ms = clock_mono_ms(&all->db->clock);

        s->not_before_ms = now_ms + (now_ms - s->begun_ms) * FAILED_TIMES;
        stage_reset(s);
    }
    if (*ended) {
        stage_reset(s);
        s->not_before_ms = 0;
    }
    return code;
}

/* ---- marks ---- */

/* A row and its marks, which are beside each other. */
struct marked_row {
    const struct entry_mark *marks;
    const struct kv *records; /* of them */
    size_t count;
};

struct mark_walk {
    struct walk_visitor visitor;
    const struct index *index;
    struct page marks, rows;   /* no value: it is not there */
    struct marked_row *marked; /* of each of `rows` */
};

/* What its marks name goes, and what belongs to the row comes. */
static void settle_marks(const struct mark_walk *w, struct batch_builder *e, const struct kv *row,
                         const struct index_entry *entry)
{
    const struct marked_row *m = &w->marked[row - w->rows.items];
    const struct location *p = &w->index->location;

    if (entry->there) {
        struct kv record = entry_record(e->arena, p, entry);

        batch_add(e, EDIT_PUT, record.key, record.value);
    }
    for (size_t i = 0; i < m->count; i++) {
        bytes cols = m->marks[i].entry_cols;
        struct buf key;

        if (cols.len && !(entry->there && bytes_equal(cols, entry->cols))) {
            buf_init(&key, e->arena, KEY_PREFIX_BYTES + cols.len);
            layout_put_key(&key, p, KIND_RECORD, cols);
            batch_add(e, EDIT_DELETE, buf_bytes(&key), BYTES_NONE);
        }
        batch_add(e, EDIT_DELETE, m->records[i].key, BYTES_NONE);
    }
}

static int visit_marked(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                        struct batch_builder *e, bool *alone)
{
    const struct mark_walk *w = PORT_CONTAINER(v, struct mark_walk, visitor);
    struct index_entry entry = {.there = false};
    struct row row = {.there = false};

    if (kv->value.len) {
        TRY(row_decode(c, kv->value, &row));
        *alone = row.wide;
        if (row.wide)
            return E_OK;
        entry = entry_of(&c->arena, &v->table->schema, w->index,
                         bytes_skip(kv->key, KEY_PREFIX_BYTES), &row);
    }
    settle_marks(w, e, kv, &entry);
    return E_OK;
}

static int visit_marked_alone(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                              struct batch_builder *e)
{
    const struct mark_walk *w = PORT_CONTAINER(v, struct mark_walk, visitor);
    struct index_entry entry;

    TRY(entry_load(c, v->table, w->index, bytes_skip(kv->key, KEY_PREFIX_BYTES), &entry));
    settle_marks(w, e, kv, &entry);
    return E_OK;
}

/* Which rows the marks are of. */
static void find_rows(struct mark_walk *w, struct arena *a)
{
    const struct schema *base = &w->visitor.table->schema;
    struct entry_mark *marks = ARENA_ARRAY(a, struct entry_mark, w->marks.count);

    w->rows = (struct page){.items = ARENA_ARRAY(a, struct kv, w->marks.count)};
    w->marked = ARENA_ARRAY(a, struct marked_row, w->marks.count);
    for (size_t i = 0; i < w->marks.count; i++) {
        struct buf key;

        marks[i] = entry_mark_read(a, base, w->index, w->marks.items[i].key);
        if (i > 0 && bytes_equal(marks[i].cols, marks[i - 1].cols)) {
            w->marked[w->rows.count - 1].count++;
            continue;
        }
        buf_init(&key, a, KEY_PREFIX_BYTES + marks[i].cols.len);
        layout_put_key(&key, &base->location, KIND_RECORD, marks[i].cols);
        w->marked[w->rows.count] = (struct marked_row){&marks[i], &w->marks.items[i], 1};
        w->rows.items[w->rows.count++] = (struct kv){buf_bytes(&key), BYTES_NONE};
    }
}

static int read_some(const struct mark_walk *w, struct ctx *c, struct kv *rows, size_t count,
                     size_t *size)
{
    struct get gets[MARKS_READ];

    for (size_t i = 0; i < count; i++)
        gets[i] = (struct get){.partition = w->visitor.table->schema.location.id,
                               .key = rows[i].key,
                               .view = VIEW_LATEST};
    wait_get_many(c, w->visitor.db->engine, gets, count);
    for (size_t i = 0; i < count; i++) {
        TRY(gets[i].code);
        if (gets[i].found)
            rows[i].value = gets[i].value;
        *size += rows[i].value.len;
    }
    return E_OK;
}

/* As they are at the moment. Rows that are large are left for the next page, with their marks. */
static int read_rows(struct mark_walk *w, struct ctx *c)
{
    const struct marked_row *last;
    size_t size = 0, at = 0;

    while (at < w->rows.count && size < MARKS_BYTES) {
        size_t n = w->rows.count - at < MARKS_READ ? w->rows.count - at : MARKS_READ;

        TRY(read_some(w, c, w->rows.items + at, n, &size));
        at += n;
    }
    last = &w->marked[at - 1];
    w->rows.count = at;
    w->marks.count = (size_t)(last->records - w->marks.items) + last->count;
    return E_OK;
}

static int read_marks(struct mark_walk *w, struct ctx *c, bytes after)
{
    struct key_range range = index_note_marks(&c->arena, w->index->location.id);
    struct scan scan = {.partition = w->index->location.id,
                        .view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = MARKS_PAGE,
                        .bytes_max = ROW_WALK_PAGE_BYTES,
                        .pages = &w->marks};

    if (after.len)
        range.start = key_after(&c->arena, after);
    return wait_scan(c, w->visitor.db->engine, &scan);
}

/* *last: the mark that was visited last; it stays as it is if there is none any more. */
static int marks_page(struct mark_walk *w, struct walk_pages *pages, struct ctx *c, bytes *last,
                      bool *ended)
{
    struct walk_page *p;
    int code;

    TRY(walk_pages_wait(pages, false));
    p = walk_page_new(pages);
    code = read_marks(w, &p->c, *last);
    *ended = !code && !w->marks.count;
    if (!code && !*ended) {
        find_rows(w, &p->c.arena);
        code = read_rows(w, &p->c);
    }
    if (!code && !*ended)
        code = walk_page_visit(p, &w->rows);
    if (!code && !*ended)
        *last = arena_copy(&c->arena, w->marks.items[w->marks.count - 1].key);
    if (code && p->c.text)
        fail(c, code, "%s", p->c.text);
    walk_page_unref(p);
    if (!code && fault_hit(FAULT_index_marks))
        return fail(c, E_UNAVAILABLE, "marks are not visited, as WR_FAULT says");
    return code;
}

int index_stage_marks(struct index_stages *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step, bool *ended)
{
    struct mark_walk w = {.visitor = {.db = all->db,
                                      .table = t,
                                      .to = index->location.id,
                                      .visit = visit_marked,
                                      .visit_alone = visit_marked_alone},
                          .index = index};
    int64_t until_ms = clock_mono_ms(&all->db->clock) + SLICE_MS;
    struct index_stage *s = stage_of(all, index);
    struct walk_pages *pages;
    int code = E_OK, landed;
    bytes last;

    *ended = false;
    if (!s)
        return E_BUSY;
    last = last_of(s);
    pages = walk_pages_new(&w.visitor);
    while (!code && !*ended && clock_mono_ms(&all->db->clock) < until_ms &&
           !scheduler_stopping(all->db->background)) {
        code = marks_page(&w, pages, c, &last, ended);
        step->bytes += w.marks.bytes;
    }
    landed = walk_pages_wait(pages, true);
    walk_pages_free(pages);
    TRY(code);
    TRY(landed);
    last_set(s, last);
    return E_OK;
}

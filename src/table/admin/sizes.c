/* sizes.c
 *
 * One record a table holds what the last whole walk found. The task goes through the tables, one
 * walk after the other, each step followed by a pause that keeps to the pace; a table that somebody
 * asks for by name (`now`) is walked at once and without pauses, in the middle of another walk if
 * need be. A table to which nothing was written since its last walk is not walked again. */
#include "table/admin/sizes.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/admin/heat_place.h"
#include "table/admin/size_report.h"
#include "table/catalog/catalog.h"
#include "table/admin/answers.h"
#include "table/core/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_PASS_S 60 /* a server that has just started has better things to do */
#define RETRY_US_MAX 10000000
#define FAILURES_MAX 5 /* of one walk: then the next table's turn has come */
#define WARNINGS_MAX 5 /* of one table in one pass */

/* Of a table, by the id of the place of its rows. Under the lock. */
struct size_record {
    uint32_t id;
    bool wanted;  /* somebody waits for a walk */
    bool running; /* a walk is under way */
    bool there;   /* the table was seen in this round */
    uint64_t running_bytes;
    uint64_t passes;
    int64_t start_s, end_s;
    uint64_t writes; /* to the table, through any server, when the last walk began */
    struct size_found found;
    struct size_record *next;
};

/* A walk under way. It holds no version of the table between its steps: at the pace of the watch it
 * takes minutes for each gigabyte, and who waits until nobody goes by an older version any more,
 * the build of a new index for one, would wait as long. */
struct watch_walk {
    struct size_walk *walk; /* NULL: there is none */
    char *instance, *table; /* names */
    uint32_t location;      /* where the rows lie that are counted */
    int64_t start_s;
    uint64_t writes; /* to the table until then */
    int failures;
};

struct size_watch {
    struct wr_db *db;
    struct task *task;
    pthread_mutex_t lock; /* of these two */
    size_t wanted;        /* records that are */
    struct size_record *records;
    /* The task's own. */
    struct watch_walk urgent, regular; /* somebody waits for it; or the pass has come to it */
    bool passing;
    uint32_t passed; /* the pass has come to the table of that id */
    int64_t due_us;  /* when the next pass begins */
};

/* ---- records ---- */

static struct size_record *record_find(struct size_watch *w, uint32_t id)
{
    struct size_record *r = w->records;

    while (r && r->id != id)
        r = r->next;
    return r;
}

static struct size_record *record_get(struct size_watch *w, uint32_t id)
{
    struct size_record *r = record_find(w, id);

    if (!r) {
        r = mem_zalloc(sizeof(*r));
        r->id = id;
        r->next = w->records;
        w->records = r;
    }
    r->there = true;
    return r;
}

static void record_want(struct size_watch *w, struct size_record *r, bool wanted)
{
    w->wanted += wanted;
    invariant(w->wanted >= r->wanted);
    w->wanted -= r->wanted;
    r->wanted = wanted;
}

/* Forgets tables that are gone: those not seen since the call before. */
static void records_sweep(struct size_watch *w)
{
    struct size_record **at = &w->records;

    while (*at) {
        struct size_record *r = *at;

        if (r->there || r->running) {
            r->there = false;
            at = &r->next;
            continue;
        }
        record_want(w, r, false);
        *at = r->next;
        size_found_release(&r->found);
        mem_free(r);
    }
}

/* ---- pauses ---- */

/* The pace of its own, within the one that is shared. */
static int64_t pause_us(const struct size_watch *w, uint64_t read, int64_t took_us)
{
    int64_t rate = w->db->limits.size_watch_bytes_per_s_max;
    int64_t us = rate ? (int64_t)((double)read * 1e6 / (double)rate) - took_us : 0;

    return us > 0 ? us : 0;
}

/* ---- what a walk found ---- */

/* A partition key for a log line. */
static bytes sizes_key_text(struct ctx *c, const struct table *t, const struct size_entry *e)
{
    struct wr_heat_place location;
    const struct wr_value *v;

    heat_place_read(c, &t->schema, bytes_of(e->key, e->key_len), 1, &location);
    if (!location.key.count)
        return BYTES_LIT("?");
    v = &location.key.columns[0].value;
    if (v->type == WR_BIGINT)
        return arena_printf(&c->arena, "%" PRId64, v->integer);
    if (v->type == WR_VARCHAR)
        return arena_printf(&c->arena, "'%.*s'", v->bytes.len < 100 ? (int)v->bytes.len : 100,
                            (const char *)v->bytes.ptr);
    return arena_printf(&c->arena, "(of bucket %u, %zu bytes)", location.bucket, e->key_len - 1);
}

static void warn(struct ctx *c, struct wr_db *db, const struct table *t, const struct size_found *f)
{
    uint64_t warn_bytes = (uint64_t)db->limits.size_warn_bytes;
    const char *so = engine_one_key_space(db->engine) ? "it cannot be split"
                                                      : "an atomic batch reaches only a part of it";

    for (size_t i = 0; i < f->top_count && i < WARNINGS_MAX && f->top[i].bytes > warn_bytes; i++) {
        bytes key = sizes_key_text(c, t, &f->top[i]);

        log_warn(&db->log,
                 "sizes: table '%.*s' of '%.*s': partition key value %.*s holds %" PRIu64
                 " bytes in %" PRIu64 " rows, above size_warn_bytes=%" PRIu64
                 ": %s; see `widerow sizes`",
                 BYTES_FMT(t->schema.d.table), BYTES_FMT(t->schema.instance), BYTES_FMT(key),
                 f->top[i].bytes, f->top[i].rows, warn_bytes, so);
    }
    if (f->over > WARNINGS_MAX)
        log_warn(&db->log, "sizes: table '%.*s': %" PRIu64 " partition key values in all are above",
                 BYTES_FMT(t->schema.d.table), f->over);
}

static void watch_top(struct wr_db *db, const struct table *t, const struct size_found *f)
{
    uint64_t hashes[WR_SIZES_MAX];

    for (size_t i = 0; i < f->top_count; i++)
        hashes[i] = f->top[i].hash;
    sampler_watch(db->sampler, t->sampler, hashes, f->top_count);
}

static void notify_others(struct size_watch *w, struct table *t);

static void sizes_publish(struct size_watch *w, struct table *t, struct size_walk *walk,
                          int64_t start_s, uint64_t writes)
{
    struct size_found *f = size_walk_found(walk);
    struct size_record *r;
    struct ctx c;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    warn(&c, w->db, t, f);
    watch_top(w->db, t, f);
    ctx_release(&c);
    pthread_mutex_lock(&w->lock);
    r = record_get(w, t->schema.location.id);
    size_found_release(&r->found);
    r->found = *f;
    *f = (struct size_found){.bytes = 0};
    r->passes++;
    r->start_s = start_s;
    r->end_s = clock_wall_ms(&w->db->clock) / 1000;
    r->writes = writes;
    pthread_mutex_unlock(&w->lock);
    if (db_is_shared(w->db))
        notify_others(w, t);
}

/* ---- walks ---- */

/* True if somebody waits for this walk. */
static bool store_progress(struct size_watch *w, uint32_t location, bool running, uint64_t read)
{
    struct size_record *r;
    bool wanted;

    pthread_mutex_lock(&w->lock);
    r = record_get(w, location);
    r->running = running;
    r->running_bytes = running ? r->running_bytes + read : 0;
    wanted = r->wanted;
    if (!running)
        record_want(w, r, false);
    pthread_mutex_unlock(&w->lock);
    return wanted;
}

static char *name_copy(bytes name)
{
    char *copy = mem_alloc(name.len + 1);

    memcpy(copy, name.ptr, name.len);
    copy[name.len] = 0;
    return copy;
}

static void walk_begin(struct size_watch *w, struct watch_walk *walk, const struct table *t,
                       uint64_t writes)
{
    invariant(!walk->walk);
    *walk = (struct watch_walk){
        .walk = size_walk_new(w->db, t, (uint64_t)w->db->limits.size_warn_bytes),
        .instance = name_copy(t->schema.instance),
        .table = name_copy(t->schema.d.table),
        .location = t->schema.location.id,
        .start_s = clock_wall_ms(&w->db->clock) / 1000,
        .writes = writes};
    store_progress(w, walk->location, true, 0);
}

static void walk_end(struct size_watch *w, struct watch_walk *walk)
{
    if (!walk->walk)
        return;
    store_progress(w, walk->location, false, 0);
    size_walk_free(walk->walk);
    mem_free(walk->instance);
    mem_free(walk->table);
    *walk = (struct watch_walk){.walk = NULL};
}

/* The newest version of the table, referenced; NULL: it is gone, or its rows lie elsewhere now. */
static struct table *walk_table(struct size_watch *w, const struct watch_walk *walk)
{
    struct table *t =
        catalog_get(w->db->catalog, bytes_str(walk->instance), bytes_str(walk->table));

    if (!t || t->schema.location.id == walk->location)
        return t;
    table_release(t);
    return NULL;
}

static int walk_failed(struct size_watch *w, struct watch_walk *walk, struct ctx *c, int code,
                       struct task_step *step)
{
    snprintf(step->text, sizeof(step->text), "table '%s': %s", walk->table,
             c->text ? c->text : err_info(code)->text);
    log_warn(&w->db->log, "sizes: %s", step->text);
    if (++walk->failures >= FAILURES_MAX)
        walk_end(w, walk);
    return code;
}

static int walk_step(struct size_watch *w, struct watch_walk *walk, struct task_step *step)
{
    int64_t start_us = clock_mono_us(&w->db->clock);
    struct table *t = walk_table(w, walk);
    bool ended = false, wanted;
    struct ctx c;
    int code;

    if (!t) {
        walk_end(w, walk);
        return E_OK;
    }
    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    code = size_walk_step(&c, walk->walk, t, &step->bytes, &ended);
    wanted = store_progress(w, walk->location, true, step->bytes);
    if (code) {
        code = walk_failed(w, walk, &c, code, step);
    } else if (ended) {
        sizes_publish(w, t, walk->walk, walk->start_s, walk->writes);
        walk_end(w, walk);
    } else if (!wanted) {
        step->next_us = pause_us(w, step->bytes, clock_mono_us(&w->db->clock) - start_us);
    }
    ctx_release(&c);
    table_release(t);
    return code;
}

static bool is_wanted(struct size_watch *w, const struct table *t)
{
    bool wanted;

    pthread_mutex_lock(&w->lock);
    wanted = record_get(w, t->schema.location.id)->wanted;
    pthread_mutex_unlock(&w->lock);
    return wanted;
}

static bool any_wanted(struct size_watch *w)
{
    bool any;

    pthread_mutex_lock(&w->lock);
    any = w->wanted != 0;
    pthread_mutex_unlock(&w->lock);
    return any;
}

static void forget_others(struct size_watch *w)
{
    pthread_mutex_lock(&w->lock);
    records_sweep(w);
    pthread_mutex_unlock(&w->lock);
}

/* The walk over a table that somebody waits for; the one that is under way there, if it is. */
static void begin_wanted(struct size_watch *w)
{
    struct table **tables;
    struct ctx c;
    size_t n;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    n = catalog_all(w->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        struct table *t = tables[i];

        if (is_wanted(w, t) && !w->urgent.walk) {
            if (w->regular.walk && w->regular.location == t->schema.location.id) {
                w->urgent = w->regular;
                w->regular = (struct watch_walk){.walk = NULL};
            } else {
                walk_begin(w, &w->urgent, t, sampler_writes(w->db->sampler, t->sampler));
            }
        }
        table_release(t);
    }
    if (!w->urgent.walk) /* the table is gone */
        forget_others(w);
    ctx_release(&c);
}

/* What all know, this server first. */
struct size_reports {
    struct size_report *each;
    size_t count, silent;
};

static struct size_reports reports_of(const struct peers_query *others, bool want);

/* What another server's walk has found is as good as our own. */
static void adopt(struct size_watch *w, const struct table *t, const struct size_report *from)
{
    struct size_record *r;

    watch_top(w->db, t, &from->found);
    pthread_mutex_lock(&w->lock);
    r = record_get(w, t->schema.location.id);
    size_found_release(&r->found);
    r->found = from->found;
    for (size_t i = 0; i < r->found.top_count; i++) {
        struct size_entry *e = &r->found.top[i];
        const uint8_t *key = e->key;

        e->key = mem_alloc(e->key_len);
        memcpy(e->key, key, e->key_len);
    }
    r->start_s = from->start_s;
    r->end_s = from->end_s;
    r->writes = from->writes_then;
    pthread_mutex_unlock(&w->lock);
}

/* Nothing can have changed since the last walk, of any server, or another server walks now or has
 * done so lately. */
static bool is_fresh(struct size_watch *w, struct table *t, struct arena *a, uint64_t *writes)
{
    struct peers_query others = {.question = PEERS_SIZES, .db = w->db, .table = t, .a = a};
    int64_t now_s = clock_wall_ms(&w->db->clock) / 1000;
    const struct size_report *last;
    struct size_reports all;
    bool fresh, busy = false;

    peers_query_now(&others);
    all = reports_of(&others, false);
    last = size_report_last(all.each, all.count);
    *writes = 0;
    for (size_t i = 0; i < all.count; i++) {
        *writes += all.each[i].writes;
        busy |= i && all.each[i].running;
    }
    if (last != all.each)
        adopt(w, t, last);
    fresh = w->db->sampler && last->end_s && last->writes_then == *writes &&
            t->schema.d.options.ttl_s == -1;
    return fresh || busy ||
           (last != all.each && last->end_s + w->db->limits.size_watch_pass_s_min / 2 > now_s);
}

/* The next table of the pass that is to be walked; or the pass is over. */
static void begin_next(struct size_watch *w)
{
    struct table **tables, *next = NULL;
    uint64_t writes;
    struct ctx c;
    size_t n;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    n = catalog_all(w->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++)
        if (tables[i]->schema.id > w->passed && (!next || tables[i]->schema.id < next->schema.id))
            next = tables[i];
    for (size_t i = 0; i < n; i++) {
        (void)is_wanted(w, tables[i]); /* it is there */
        if (tables[i] != next)
            table_release(tables[i]);
    }
    w->passing = next != NULL;
    if (!next)
        forget_others(w);
    else
        w->passed = next->schema.id;
    if (next && !is_fresh(w, next, &c.arena, &writes))
        walk_begin(w, &w->regular, next, writes);
    table_release(next);
    ctx_release(&c);
}

/* ---- the task ---- */

static int watch_step(void *arg, struct task_step *step)
{
    struct size_watch *w = arg;
    int64_t now_us = clock_mono_us(&w->db->clock);
    int code = E_OK;

    if (!w->urgent.walk && any_wanted(w))
        begin_wanted(w);
    if (!w->passing && now_us >= w->due_us) {
        w->passing = w->db->limits.size_watch_bytes_per_s_max > 0;
        w->passed = 0;
        w->due_us = now_us + w->db->limits.size_watch_pass_s_min * 1000000;
    }
    if (w->urgent.walk)
        code = walk_step(w, &w->urgent, step);
    else if (w->regular.walk)
        code = walk_step(w, &w->regular, step);
    else if (w->passing)
        begin_next(w);
    step->more = w->urgent.walk || w->regular.walk || w->passing || any_wanted(w);
    if (!step->more)
        step->next_us = w->due_us > now_us ? w->due_us - now_us : 0;
    return code;
}

struct size_watch *size_watch_start(struct wr_db *db)
{
    struct size_watch *w = mem_zalloc(sizeof(*w));
    int64_t every_s = db->limits.size_watch_pass_s_min;
    int64_t first_us = (every_s < FIRST_PASS_S ? every_s : FIRST_PASS_S) * 1000000;
    struct task_spec spec = {.name = "sizes",
                             .thread = db_is_shared(db) ? TASK_LONG : TASK_SHORT,
                             .priority = PRIORITY_SIZES,
                             .run = watch_step,
                             .arg = w,
                             .first_us = first_us,
                             .retry_us_max = RETRY_US_MAX};

    w->db = db;
    w->due_us = clock_mono_us(&db->clock) + first_us;
    pthread_mutex_init(&w->lock, NULL);
    w->task = scheduler_add(db->background, &spec);
    if (w->task)
        return w;
    log_error(&db->log, "sizes: the system gives no thread: large partition key values go unseen");
    size_watch_free(w);
    return NULL;
}

void size_watch_free(struct size_watch *w)
{
    if (!w)
        return;
    walk_end(w, &w->urgent);
    walk_end(w, &w->regular);
    while (w->records) {
        struct size_record *r = w->records;

        w->records = r->next;
        size_found_release(&r->found);
        mem_free(r);
    }
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}

/* ---- over several servers ---- */

/* What this server knows. Keys are copied into the arena. */
static void report_own(struct wr_db *db, struct arena *a, const struct table *t, bool want,
                       struct size_report *out)
{
    struct size_watch *w = db->sizes;
    struct size_record *r;

    pthread_mutex_lock(&w->lock);
    r = record_get(w, t->schema.location.id);
    want &= !r->wanted;
    if (want)
        record_want(w, r, true);
    *out = (struct size_report){.passes = r->passes,
                                .running = r->running || r->wanted,
                                .running_bytes = r->running_bytes,
                                .start_s = r->start_s,
                                .end_s = r->end_s,
                                .writes_then = r->writes,
                                .found = r->found};
    for (size_t i = 0; i < out->found.top_count; i++) {
        struct size_entry *e = &out->found.top[i];

        e->key = memcpy(arena_alloc(a, e->key_len), e->key, e->key_len);
        out->traffic[i].hash = e->hash;
    }
    pthread_mutex_unlock(&w->lock);
    if (want)
        task_wake(w->task);
    sampler_watched(db->sampler, t->sampler, out->traffic, out->found.top_count);
    out->writes = sampler_writes(db->sampler, t->sampler);
}

/* All count the traffic of the same values from now on. */
static void notify_others(struct size_watch *w, struct table *t)
{
    struct peers_query others = {.question = PEERS_SIZES, .db = w->db, .table = t};
    struct size_report *own;
    struct arena a;
    struct buf b;

    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 4096);
    own = ARENA_NEW(&a, struct size_report);
    report_own(w->db, &a, t, false, own);
    size_report_put(&b, own);
    others.a = &a;
    others.more = buf_bytes(&b);
    peers_query_now(&others);
    arena_release(&a);
}

static void take_notification(struct ctx *c, struct size_watch *w, const struct table *t,
                              bytes notification)
{
    struct size_report *from = ARENA_NEW(&c->arena, struct size_report);
    struct size_record *r;
    bool newer;

    if (!size_report_read(notification, from))
        return;
    pthread_mutex_lock(&w->lock);
    r = record_get(w, t->schema.location.id);
    newer = from->end_s >= r->end_s;
    pthread_mutex_unlock(&w->lock);
    if (newer)
        adopt(w, t, from);
}

void sizes_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                  struct buf *out)
{
    struct size_report *own = ARENA_NEW(&c->arena, struct size_report);

    if (!db->sizes)
        return;
    if (reader_left(in))
        take_notification(c, db->sizes, t, bytes_of(in->at, reader_left(in)));
    report_own(db, &c->arena, t, false, own);
    size_report_put(out, own);
}

static struct size_reports reports_of(const struct peers_query *others, bool want)
{
    struct size_reports all = {.each =
                                   ARENA_ARRAY(others->a, struct size_report, others->count + 1),
                               .count = 1,
                               .silent = others->silent};

    report_own(others->db, others->a, others->table, want, &all.each[0]);
    for (size_t i = 0; i < others->count; i++)
        if (size_report_read(others->answers[i], &all.each[all.count]))
            all.count++;
        else
            all.silent++;
    return all;
}

/* ---- DescribeSizes ---- */

struct sizes_call {
    struct peers_query others;
    struct call *call;
};

static void sizes_fill(struct sizes_call *op, const struct size_reports *all,
                       struct wr_sizes_result *out)
{
    const struct size_report *last = size_report_last(all->each, all->count);
    const struct size_found *f = &last->found;
    struct ctx *c = &op->call->c;
    struct wr_size_key *keys = ARENA_ARRAY(&c->arena, struct wr_size_key, f->top_count);
    const struct schema *s = &op->others.table->schema;

    *out = (struct wr_sizes_result){.keys = keys,
                                    .key_count = f->top_count,
                                    .bytes = f->bytes,
                                    .rows = f->rows,
                                    .values = f->values,
                                    .over = f->over,
                                    .warn_bytes = (uint64_t)op->call->db->limits.size_warn_bytes,
                                    .start_s = last->start_s,
                                    .end_s = last->end_s,
                                    .servers = (uint32_t)all->count,
                                    .silent = (uint32_t)all->silent};
    for (size_t i = 0; i < all->count; i++) {
        out->passes += all->each[i].passes;
        out->running |= all->each[i].running;
        out->running_bytes += all->each[i].running_bytes;
    }
    for (size_t i = 0; i < f->top_count; i++) {
        const struct size_entry *e = &f->top[i];
        struct sampler_watch seen = size_report_traffic(all->each, all->count, e->hash);

        heat_place_read(c, s, bytes_of(e->key, e->key_len), s->location.layout.partition_cols,
                        &keys[i].place);
        keys[i].bytes = e->bytes;
        keys[i].rows = e->rows;
        keys[i].reads = seen.figures.n[WR_HEAT_READS];
        keys[i].writes = seen.figures.n[WR_HEAT_WRITES];
        keys[i].bytes_written = seen.bytes_written;
    }
}

static void sizes_run(struct peers_query *others)
{
    struct sizes_call *op = PORT_CONTAINER(others, struct sizes_call, others);
    struct call *call = op->call;
    struct size_reports all = reports_of(others, call->req->describe_sizes.now);

    sizes_fill(op, &all, &call->reply.sizes);
    table_release(others->table);
    call_finish(call);
}

int describe_sizes_start(struct call *call)
{
    const struct wr_describe_sizes *d = &call->req->describe_sizes;
    struct ctx *c = &call->c;
    struct sizes_call *op;

    if (!call->db->sizes)
        return fail(c, E_UNSUPPORTED, "The size watch does not run; see the server's log.");
    op = ARENA_NEW(&c->arena, struct sizes_call);
    op->call = call;
    op->others = (struct peers_query){
        .question = PEERS_SIZES, .db = call->db, .a = &c->arena, .run = sizes_run};
    TRY(call_open_table(call, d->table, &op->others.table));
    peers_query(&op->others);
    return E_OK;
}

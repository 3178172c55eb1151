/* sizes.c
 *
 * One record a table holds what the last whole walk found. The thread goes through the tables, one
 * walk after the other, each step followed by a pause that keeps to the pace; a table that somebody
 * asks for by name (`now`) is walked at once and without pauses, in the middle of another walk if
 * need be. A table to which nothing was written since its last walk is not walked again. */
#include "table/admin/sizes.h"

#include "base/service.h"
#include "base/thread.h"
#include "table/admin/heat_place.h"
#include "table/admin/size_report.h"
#include "table/catalog/catalog.h"
#include "table/catalog/peers.h"
#include "table/core/call.h"

#include <inttypes.h>

#define FIRST_PASS_S 60 /* a server that has just started has better things to do */
#define RETRY_S 10      /* after a step that failed */
#define FAILURES_MAX 5  /* of one walk: then the next table's turn has come */
#define WARNINGS_MAX 5  /* of one table in one pass */

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

struct size_watch {
    struct wr_db *db;
    struct service service; /* its lock guards the rest, too */
    size_t wanted;          /* records that are */
    struct size_record *records;
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

/* Sleeps, or until somebody wants a walk. False: it is time to end. */
static bool nap(struct size_watch *w, int64_t us)
{
    struct timespec until = thread_time_in(us);
    bool stop;

    pthread_mutex_lock(&w->service.lock);
    while (!w->service.stop && !w->wanted && service_wait(&w->service, &until))
        ;
    stop = w->service.stop;
    pthread_mutex_unlock(&w->service.lock);
    return !stop;
}

/* Besides the bytes, no more than half of the time is spent working. */
static int64_t pause_us(const struct size_watch *w, uint64_t read, int64_t took_us)
{
    int64_t rate = w->db->limits.size_watch_bytes_per_s_max;
    int64_t us = rate ? (int64_t)((double)read * 1e6 / (double)rate) - took_us : 0;

    return us < took_us ? took_us : us;
}

/* ---- what a walk found ---- */

/* A partition key for a log line. */
static bytes key_text(struct ctx *c, const struct table *t, const struct size_entry *e)
{
    struct wr_heat_place place;
    const struct wr_value *v;

    heat_place_read(c, &t->schema, bytes_of(e->key, e->key_len), 1, &place);
    if (!place.key.count)
        return BYTES_LIT("?");
    v = &place.key.columns[0].value;
    if (v->type == WR_BIGINT)
        return arena_printf(&c->arena, "%" PRId64, v->integer);
    if (v->type == WR_VARCHAR)
        return arena_printf(&c->arena, "'%.*s'", v->bytes.len < 100 ? (int)v->bytes.len : 100,
                            (const char *)v->bytes.ptr);
    return arena_printf(&c->arena, "(of bucket %u, %zu bytes)", place.bucket, e->key_len - 1);
}

static void warn(struct ctx *c, struct wr_db *db, const struct table *t, const struct size_found *f)
{
    uint64_t warn_bytes = (uint64_t)db->limits.size_warn_bytes;
    const char *so = engine_one_key_space(db->engine) ? "it cannot be split"
                                                      : "an atomic batch reaches only a part of it";

    for (size_t i = 0; i < f->top_count && i < WARNINGS_MAX && f->top[i].bytes > warn_bytes; i++) {
        bytes key = key_text(c, t, &f->top[i]);

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
    tally_watch(db->tally, t->tally, hashes, f->top_count);
}

static void tell_others(struct size_watch *w, struct table *t);

static void publish(struct size_watch *w, struct table *t, struct size_walk *walk, int64_t start_s,
                    uint64_t writes)
{
    struct size_found *f = size_walk_found(walk);
    struct size_record *r;
    struct ctx c;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    warn(&c, w->db, t, f);
    watch_top(w->db, t, f);
    ctx_release(&c);
    pthread_mutex_lock(&w->service.lock);
    r = record_get(w, t->schema.place.id);
    size_found_release(&r->found);
    r->found = *f;
    *f = (struct size_found){.bytes = 0};
    r->passes++;
    r->start_s = start_s;
    r->end_s = clock_wall_ms(&w->db->clock) / 1000;
    r->writes = writes;
    pthread_mutex_unlock(&w->service.lock);
    if (db_is_shared(w->db))
        tell_others(w, t);
}

/* ---- walks ---- */

static void walk_wanted(struct size_watch *w);

/* True if somebody waits for this walk. */
static bool note_progress(struct size_watch *w, const struct table *t, bool running, uint64_t read)
{
    struct size_record *r;
    bool wanted;

    pthread_mutex_lock(&w->service.lock);
    r = record_get(w, t->schema.place.id);
    r->running = running;
    r->running_bytes = running ? r->running_bytes + read : 0;
    wanted = r->wanted;
    if (!running)
        record_want(w, r, false);
    pthread_mutex_unlock(&w->service.lock);
    return wanted;
}

static bool is_running(struct size_watch *w, const struct table *t)
{
    bool running;

    pthread_mutex_lock(&w->service.lock);
    running = record_get(w, t->schema.place.id)->running;
    pthread_mutex_unlock(&w->service.lock);
    return running;
}

/* One step with its pause. False: the walk is over, or it is time to end. */
static bool step(struct size_watch *w, const struct table *t, struct size_walk *walk, int *failures,
                 bool *ended)
{
    int64_t start_us = clock_mono_us(&w->db->clock), took_us;
    uint64_t read = 0;
    struct ctx c;
    bool wanted;
    int code;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    code = size_walk_step(&c, walk, &read, ended);
    wanted = note_progress(w, t, true, read);
    if (code)
        log_warn(&w->db->log, "sizes: table '%.*s': %s", BYTES_FMT(t->schema.d.table),
                 c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    if (code)
        return ++*failures < FAILURES_MAX && service_sleep(&w->service, RETRY_S * 1000000ll);
    if (*ended)
        return false;
    took_us = clock_mono_us(&w->db->clock) - start_us;
    return nap(w, wanted ? 0 : pause_us(w, read, took_us));
}

/* `writes`: to the table until now. */
static void walk_table(struct size_watch *w, struct table *t, uint64_t writes, bool urgent)
{
    int64_t start_s = clock_wall_ms(&w->db->clock) / 1000;
    struct size_walk *walk;
    bool ended = false;
    int failures = 0;

    if (is_running(w, t)) /* further out on this stack */
        return;
    walk = size_walk_new(w->db, t, (uint64_t)w->db->limits.size_warn_bytes);
    note_progress(w, t, true, 0);
    while (step(w, t, walk, &failures, &ended))
        if (!urgent)
            walk_wanted(w);
    if (ended)
        publish(w, t, walk, start_s, writes);
    note_progress(w, t, false, 0);
    size_walk_free(walk);
}

/* The tables that somebody waits for. */
static void walk_wanted(struct size_watch *w)
{
    struct table **tables;
    struct ctx c;
    bool any;
    size_t n;

    pthread_mutex_lock(&w->service.lock);
    any = w->wanted != 0;
    pthread_mutex_unlock(&w->service.lock);
    if (!any)
        return;
    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    n = catalog_all(w->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        bool wanted;

        pthread_mutex_lock(&w->service.lock);
        wanted = record_get(w, tables[i]->schema.place.id)->wanted;
        pthread_mutex_unlock(&w->service.lock);
        if (wanted)
            walk_table(w, tables[i], tally_writes(w->db->tally, tables[i]->tally), true);
        table_release(tables[i]);
    }
    pthread_mutex_lock(&w->service.lock);
    records_sweep(w);
    pthread_mutex_unlock(&w->service.lock);
    ctx_release(&c);
}

/* What all know, this server first. */
struct size_reports {
    struct size_report *each;
    size_t count, silent;
};

static struct size_reports reports_of(const struct peers_ask *others, bool want);

/* What another server's walk has found is as good as our own. */
static void adopt(struct size_watch *w, const struct table *t, const struct size_report *from)
{
    struct size_record *r;

    watch_top(w->db, t, &from->found);
    pthread_mutex_lock(&w->service.lock);
    r = record_get(w, t->schema.place.id);
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
    pthread_mutex_unlock(&w->service.lock);
}

/* Nothing can have changed since the last walk, of any server, or another server walks now or has
 * done so lately. */
static bool is_fresh(struct size_watch *w, struct table *t, struct arena *a, uint64_t *writes)
{
    struct peers_ask others = {.question = PEERS_SIZES, .db = w->db, .table = t, .a = a};
    int64_t now_s = clock_wall_ms(&w->db->clock) / 1000;
    const struct size_report *last;
    struct size_reports all;
    bool fresh, busy = false;

    peers_ask_now(&others);
    all = reports_of(&others, false);
    last = size_report_last(all.each, all.count);
    *writes = 0;
    for (size_t i = 0; i < all.count; i++) {
        *writes += all.each[i].writes;
        busy |= i && all.each[i].running;
    }
    if (last != all.each)
        adopt(w, t, last);
    fresh = w->db->tally && last->end_s && last->writes_then == *writes &&
            t->schema.d.options.ttl_s == -1;
    return fresh || busy ||
           (last != all.each && last->end_s + w->db->limits.size_watch_pass_s_min / 2 > now_s);
}

static void walk_all(struct size_watch *w)
{
    struct table **tables;
    struct ctx c;
    size_t n;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    n = catalog_all(w->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        struct arena a;
        uint64_t writes;

        arena_init(&a, NULL, 0);
        if (!service_stopping(&w->service) && !is_fresh(w, tables[i], &a, &writes))
            walk_table(w, tables[i], writes, false);
        arena_release(&a);
        table_release(tables[i]);
    }
    pthread_mutex_lock(&w->service.lock);
    records_sweep(w);
    pthread_mutex_unlock(&w->service.lock);
    ctx_release(&c);
}

/* ---- the thread ---- */

static void *watch_main(void *arg)
{
    struct size_watch *w = arg;
    struct wr_db *db = w->db;
    int64_t every_us = db->limits.size_watch_pass_s_min * 1000000, due_us;

    due_us = clock_mono_us(&db->clock) +
             (every_us < FIRST_PASS_S * 1000000ll ? every_us : FIRST_PASS_S * 1000000ll);
    for (;;) {
        int64_t now_us = clock_mono_us(&db->clock);

        if (!nap(w, due_us > now_us ? due_us - now_us : 0))
            return NULL;
        walk_wanted(w);
        now_us = clock_mono_us(&db->clock);
        if (now_us < due_us)
            continue;
        due_us = now_us + every_us;
        if (db->limits.size_watch_bytes_per_s_max)
            walk_all(w);
    }
}

struct size_watch *size_watch_start(struct wr_db *db)
{
    struct size_watch *w = mem_zalloc(sizeof(*w));

    w->db = db;
    if (service_start(&w->service, "wr-sizes", watch_main, w))
        return w;
    log_error(&db->log, "sizes: the system gives no thread: large partition key values go unseen");
    mem_free(w);
    return NULL;
}

void size_watch_stop(struct size_watch *w)
{
    if (!w)
        return;
    service_stop(&w->service);
    while (w->records) {
        struct size_record *r = w->records;

        w->records = r->next;
        size_found_release(&r->found);
        mem_free(r);
    }
    mem_free(w);
}

/* ---- over several servers ---- */

/* What this server knows. Keys are copied into the arena. */
static void report_own(struct wr_db *db, struct arena *a, const struct table *t, bool want,
                       struct size_report *out)
{
    struct size_watch *w = db->sizes;
    struct size_record *r;

    pthread_mutex_lock(&w->service.lock);
    r = record_get(w, t->schema.place.id);
    if (want && !r->wanted) {
        record_want(w, r, true);
        pthread_cond_signal(&w->service.woken);
    }
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
    pthread_mutex_unlock(&w->service.lock);
    tally_watched(db->tally, t->tally, out->traffic, out->found.top_count);
    out->writes = tally_writes(db->tally, t->tally);
}

/* All count the traffic of the same values from now on. */
static void tell_others(struct size_watch *w, struct table *t)
{
    struct peers_ask others = {.question = PEERS_SIZES, .db = w->db, .table = t};
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
    peers_ask_now(&others);
    arena_release(&a);
}

static void take_news(struct ctx *c, struct size_watch *w, const struct table *t, bytes news)
{
    struct size_report *from = ARENA_NEW(&c->arena, struct size_report);
    struct size_record *r;
    bool newer;

    if (!size_report_read(news, from))
        return;
    pthread_mutex_lock(&w->service.lock);
    r = record_get(w, t->schema.place.id);
    newer = from->end_s >= r->end_s;
    pthread_mutex_unlock(&w->service.lock);
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
        take_news(c, db->sizes, t, bytes_of(in->at, reader_left(in)));
    report_own(db, &c->arena, t, false, own);
    size_report_put(out, own);
}

static struct size_reports reports_of(const struct peers_ask *others, bool want)
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

struct sizes_op {
    struct peers_ask others;
    struct call *call;
};

static void fill(struct sizes_op *op, const struct size_reports *all, struct wr_sizes_result *out)
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
        struct tally_watch seen = size_report_traffic(all->each, all->count, e->hash);

        heat_place_read(c, s, bytes_of(e->key, e->key_len), s->place.layout.splice, &keys[i].place);
        keys[i].bytes = e->bytes;
        keys[i].rows = e->rows;
        keys[i].reads = seen.figures.n[WR_HEAT_READS];
        keys[i].writes = seen.figures.n[WR_HEAT_WRITES];
        keys[i].bytes_written = seen.bytes_written;
    }
}

static void sizes_run(struct peers_ask *others)
{
    struct sizes_op *op = PORT_CONTAINER(others, struct sizes_op, others);
    struct call *call = op->call;
    struct size_reports all = reports_of(others, call->req->describe_sizes.now);

    fill(op, &all, &call->reply.sizes);
    table_release(others->table);
    call_finish(call);
}

int describe_sizes_start(struct call *call)
{
    const struct wr_describe_sizes *d = &call->req->describe_sizes;
    struct ctx *c = &call->c;
    struct sizes_op *op;

    if (!call->db->sizes)
        return fail(c, E_UNSUPPORTED, "The size watch does not run; see the server's log.");
    op = ARENA_NEW(&c->arena, struct sizes_op);
    op->call = call;
    op->others = (struct peers_ask){
        .question = PEERS_SIZES, .db = call->db, .a = &c->arena, .run = sizes_run};
    TRY(call_open_table(call, d->table, &op->others.table));
    peers_ask(&op->others);
    return E_OK;
}

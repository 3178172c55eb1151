#include "table/stream/stream_settle.h"

#include "base/scheduler.h"
#include "table/catalog/catalog.h"

#include <pthread.h>

#define KNOWN_MAX 64 /* streams that are remembered; of others only time tells */
#define LOOK_US 5000000
#define ASK_AGAIN_MS 200

struct known_stream {
    uint32_t location; /* 0: a free place */
    bool settled;      /* all have said so */
    bool silent;       /* one was, once */
    int64_t asked_ms;  /* monotonic */
};

struct stream_settle {
    struct wr_db *db;
    struct task *task;
    pthread_mutex_t lock;
    struct known_stream known[KNOWN_MAX];
    size_t next; /* the place that is used again */
};

/* ---- what is known; under the lock ---- */

static struct known_stream *find(struct stream_settle *s, uint32_t location)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (s->known[i].location == location)
            return &s->known[i];
    return NULL;
}

static struct known_stream *find_or_add(struct stream_settle *s, uint32_t location)
{
    struct known_stream *k = find(s, location);

    if (!k) {
        k = &s->known[s->next++ % KNOWN_MAX];
        *k = (struct known_stream){.location = location, .asked_ms = INT64_MIN / 2};
    }
    return k;
}

/* Have all said so? If not, they are asked soon. Any thread. */
static bool is_settled(struct stream_settle *s, uint32_t location)
{
    struct known_stream *k;
    bool settled, silent;

    pthread_mutex_lock(&s->lock);
    k = find(s, location);
    settled = k && k->settled;
    silent = k && k->silent;
    pthread_mutex_unlock(&s->lock);
    if (!settled && !silent)
        task_wake(s->task);
    return settled;
}

bool stream_settles_by_time(struct wr_db *db, const struct table *t)
{
    const struct wr_table_description *d = &t->schema.d;
    int64_t age_us = clock_watch_ms(db) * 1000 - d->stream_enable_us;

    return !db_is_shared(db) || d->stream_enable_us == d->creation_us ||
           age_us >= STREAM_SETTLES_MS * 1000LL;
}

bool stream_is_whole(struct wr_db *db, const struct table *t)
{
    if (!catalog_keeps_stream(db->catalog, t))
        return false;
    return stream_settles_by_time(db, t) || is_settled(db->settle, t->schema.stream.location);
}

/* ---- asking ---- */

void stream_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                   struct buf *out)
{
    uint64_t location = read_varint(in);

    (void)c;
    buf_put_u8(out, !in->bad && location && t->schema.stream.location == location &&
                        catalog_keeps_stream(db->catalog, t));
}

/* Is there anything to ask now? */
static bool may_ask(struct stream_settle *s, uint32_t location)
{
    int64_t now_ms = clock_mono_ms(&s->db->clock);
    struct known_stream *k;
    bool may;

    pthread_mutex_lock(&s->lock);
    k = find_or_add(s, location);
    may = !k->settled && !k->silent && now_ms - k->asked_ms >= ASK_AGAIN_MS;
    if (may)
        k->asked_ms = now_ms;
    pthread_mutex_unlock(&s->lock);
    return may;
}

static void note(struct stream_settle *s, uint32_t location, bool settled, bool silent)
{
    struct known_stream *k;

    pthread_mutex_lock(&s->lock);
    k = find_or_add(s, location);
    k->silent |= silent;
    k->settled = settled && !k->silent;
    pthread_mutex_unlock(&s->lock);
}

static void ask(struct stream_settle *s, struct ctx *c, struct table *t)
{
    struct peers_query query = {.question = PEERS_STREAM, .db = s->db, .table = t, .a = &c->arena};
    struct buf more;
    bool all;

    buf_init(&more, &c->arena, 16);
    buf_put_varint(&more, t->schema.stream.location);
    query.more = buf_bytes(&more);
    peers_query_now(&query);
    all = query.sent && !query.silent;
    for (size_t i = 0; i < query.count; i++)
        all &= query.answers[i].len == 1 && *bytes_u8(query.answers[i]) == 1;
    note(s, t->schema.stream.location, all, query.silent);
}

/* Those of this server's own requests first: they need no question. */
static void settle(struct stream_settle *s, struct ctx *c, struct table *t)
{
    uint32_t location = t->schema.stream.location;

    if (!location || !t->schema.stream_beside || stream_settles_by_time(s->db, t) ||
        !catalog_keeps_stream(s->db->catalog, t) || catalog_check(c, s->db->catalog)) {
        ctx_clear(c);
        return;
    }
    if (may_ask(s, location))
        ask(s, c, t);
}

static int settle_step(void *arg, struct task_step *step)
{
    struct stream_settle *s = arg;
    struct table **tables;
    struct ctx c;
    size_t n;

    ctx_init(&c, &s->db->clock, &s->db->log, NULL, 0);
    n = catalog_all(s->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        if (!scheduler_stopping(s->db->background))
            settle(s, &c, tables[i]);
        table_release(tables[i]);
    }
    ctx_release(&c);
    step->next_us = LOOK_US;
    return E_OK;
}

/* ---- the task ---- */

struct stream_settle *stream_settle_start(struct wr_db *db)
{
    struct stream_settle *s = mem_zalloc(sizeof(*s));
    struct task_spec spec = {.name = "settle",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_SWEEP,
                             .run = settle_step,
                             .arg = s,
                             .first_us = LOOK_US};

    s->db = db;
    pthread_mutex_init(&s->lock, NULL);
    s->task = scheduler_add(db->background, &spec);
    if (s->task)
        return s;
    stream_settle_free(s);
    return NULL;
}

void stream_settle_free(struct stream_settle *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

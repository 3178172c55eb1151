/* peers.c: queries are notifications about a table (catalog_notification_text) of the instance
 * without a name, which does not exist. That is what a program reads in them that does not know
 * questions; it looks, and acknowledges. varint 0 | version | question | location id | instance |
 * table | more (texts with their lengths in front). An answer begins with the same version. They
 * pass between processes only; who does not know a version is silent. The question how many there
 * are has only the asking server's wall clock behind it (u64, microseconds), and the answer the
 * other's: servers of before 2026-11 send neither. */
#include "table/catalog/peers.h"

#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/core/jobs.h"
#include "table/sync/wait.h"

#define VERSION 1
#define COUNT_EVERY_MS 10000

static bytes question_text(struct arena *a, enum peer_question question, const struct table *t,
                           bytes more, int64_t clock_us)
{
    struct buf b;

    buf_init(&b, a, 256 + more.len);
    buf_put_varint(&b, 0);
    buf_put_u8(&b, VERSION);
    buf_put_u8(&b, (uint8_t)question);
    if (t) {
        buf_put_varint(&b, t->schema.location.id);
        buf_put_counted(&b, t->schema.instance);
        buf_put_counted(&b, t->schema.d.table);
        buf_put_bytes(&b, more);
    } else {
        store_u64(buf_reserve(&b, 8), (uint64_t)clock_us);
        buf_commit(&b, 8);
    }
    return buf_bytes(&b);
}

/* ---- answering ---- */

static void answer_table(struct ctx *c, struct wr_db *db, unsigned question, struct reader *in,
                         struct buf *out)
{
    uint64_t location = read_varint(in);
    bytes instance = read_counted(in), name = read_counted(in);
    struct table *t;

    if (in->bad || question >= PEERS_QUESTIONS || catalog_find(c, db->catalog, instance, name, &t))
        return;
    if (t->schema.location.id == location) {
        buf_put_u8(out, VERSION);
        invariant(db->answers->each[question]);
        db->answers->each[question](c, db, t, in, out);
    }
    table_release(t);
}

static void answer_count(struct wr_db *db, struct reader *in, struct buf *out)
{
    buf_put_u8(out, VERSION);
    if (reader_left(in) < 8)
        return;
    store_u64(buf_reserve(out, 8), (uint64_t)clock_wall_us(&db->clock));
    buf_commit(out, 8);
}

bytes peers_answer(struct ctx *c, struct wr_db *db, bytes text)
{
    struct reader in = reader_of(text);
    struct buf out;
    unsigned question;

    buf_init(&out, &c->arena, 256);
    (void)read_varint(&in);
    if (read_u8(&in) != VERSION)
        return BYTES_NONE;
    question = read_u8(&in);
    if (in.bad)
        return BYTES_NONE;
    if (question == PEERS_COUNT)
        answer_count(db, &in, &out);
    else
        answer_table(c, db, question, &in, &out);
    return buf_bytes(&out);
}

/* ---- asking ---- */

static void keep_servers(struct wr_db *db, const struct answers *a)
{
    /* Who is silent may be back at any moment. Who is dead is forgotten by the engine soon. */
    if (a)
        atomic_store(&db->servers, (uint32_t)(1 + a->count + a->silent));
}

static void take_answers(struct peers_query *query, const struct answers *a)
{
    query->silent = a->silent;
    query->answers = ARENA_ARRAY(query->a, bytes, a->count + 1);
    for (size_t i = 0; i < a->count; i++) {
        bytes given = a->each[i];
        uint8_t *copy = *bytes_u8(given) == VERSION ? arena_try_alloc(query->a, given.len) : NULL;

        if (!copy) {
            query->silent++;
            continue;
        }
        memcpy(copy, given.ptr, given.len);
        query->answers[query->count++] = bytes_skip(bytes_of(copy, given.len), 1);
    }
}

static void on_answers(void *arg, const struct answers *a)
{
    struct peers_query *query = arg;

    keep_servers(query->db, a);
    query->sent = a != NULL;
    if (a)
        take_answers(query, a);
    query->end(query);
}

static void begin(struct peers_query *query)
{
    invariant(query->table && query->question > PEERS_COUNT && query->question < PEERS_QUESTIONS);
    query->answers = NULL;
    query->count = query->silent = 0;
    query->sent = false;
    if (db_is_shared(query->db))
        engine_query(query->db->engine,
                     question_text(query->a, query->question, query->table, query->more,
                                   clock_wall_us(&query->db->clock)),
                     PEERS_WAIT_MS, on_answers, query);
    else
        query->end(query);
}

static void run_job(struct job *job)
{
    struct peers_query *query = PORT_CONTAINER(job, struct peers_query, job);

    query->run(query);
}

static void peers_submit(struct peers_query *query)
{
    query->job.run = run_job;
    jobs_submit(query->db->jobs, &query->job);
}

void peers_query(struct peers_query *query)
{
    query->end = peers_submit;
    begin(query);
}

static void peers_wake(struct peers_query *query)
{
    waiter_wake(query->waiter, E_OK);
}

void peers_query_now(struct peers_query *query)
{
    struct waiter w;

    waiter_init(&w);
    query->waiter = &w;
    query->end = peers_wake;
    begin(query);
    (void)waiter_wait(&w);
}

/* ---- how many there are ---- */

struct count {
    struct wr_db *db;
    int64_t asked_us; /* by our wall clock */
};

static void compare_clocks(const struct count *n, const struct answers *a)
{
    int64_t *others_us = mem_alloc((a->count + 1) * sizeof(*others_us));
    size_t count = 0;

    for (size_t i = 0; i < a->count; i++)
        if (a->each[i].len >= 9 && *bytes_u8(a->each[i]) == VERSION)
            others_us[count++] = (int64_t)load_u64(bytes_u8(a->each[i]) + 1);
    clock_watch_compare(n->db, n->asked_us, clock_wall_us(&n->db->clock), others_us, count,
                        count == a->count && !a->silent);
    mem_free(others_us);
}

static void on_count(void *arg, const struct answers *a)
{
    struct count *n = arg;

    keep_servers(n->db, a);
    if (a)
        compare_clocks(n, a);
    mem_free(n);
}

/* Each question goes to all, so the more there are the rarer they are. */
void peers_sweep(struct wr_db *db)
{
    int64_t now_ms = clock_mono_ms(&db->clock);
    struct count *n;
    struct arena a;

    if (!db_is_shared(db) || now_ms < db->counted_ms + COUNT_EVERY_MS ||
        now_ms < db->counted_ms + peers_servers(db) * 1000ll)
        return;
    db->counted_ms = now_ms;
    n = mem_zalloc(sizeof(*n));
    n->db = db;
    n->asked_us = clock_wall_us(&db->clock);
    arena_init(&a, NULL, 0);
    engine_query(db->engine, question_text(&a, PEERS_COUNT, NULL, BYTES_NONE, n->asked_us),
                 PEERS_WAIT_MS, on_count, n);
    arena_release(&a);
}

uint32_t peers_servers(const struct wr_db *db)
{
    return atomic_load_explicit(&db->servers, memory_order_relaxed);
}

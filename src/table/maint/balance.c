/* balance.c
 *
 * Once a second, for each partition: the rates of the last second, the difference to its share of
 * what is reserved, how long it has been hot or idle. What is stored is asked of the engine only
 * when enough was written to matter. At most one split a table and look, as a split makes another
 * map.
 */
#include "table/maint/balance.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/catalog/peers.h"
#include "table/maint/split_policy.h"
#include "table/maint/split_key.h"
#include "table/row/access.h"

#include <inttypes.h>
#include <stdio.h>

#define LOOK_EVERY_US 250000
#define RATES_EVERY_US 1000000
#define MEASURE_EVERY_US (60 * 1000000ll) /* when anything at all was written */
#define REPARTITION_IS_LOST_US 1500000ll
#define RETRY_US 1000000ll /* after a split that failed */
#define SILENT_RETRY_US                                                                            \
    (5 * 1000000ll)     /* before a merge that another server did not answer for                   \
                         */
#define QUERY_MAX 256   /* partitions in one question to the others */
#define LOOK_MAX 8192   /* partitions of one table in one look, */
#define MEASURE_MAX 256 /* and how many of them are measured */
#define PIECES 8        /* measured again when that part of partition_bytes_max was written */

/* One table's look. */
struct look {
    struct ctx c;
    struct wr_db *db;
    struct table *table;
    int64_t now_us;
    size_t measured; /* partitions whose size was asked for */
};

/* ---- rates and balances ---- */

static uint64_t per_second(uint64_t units, int64_t us)
{
    return (units * 1000000 + (uint64_t)us / 2) / (uint64_t)us;
}

/* `reserved` thousandths of a unit a second. */
static void balance_way(struct partition_balance *b, int way, uint64_t units, uint64_t reserved,
                        int64_t us)
{
    uint64_t used = units * 1000, had = reserved * (uint64_t)us / 1000000;

    atomic_store(&b->rate[way], per_second(units, us));
    if (used > had)
        atomic_fetch_add(&b->additional[way], used - had);
    else
        atomic_fetch_add(&b->wasted[way], had - used);
}

static void balance_both(struct look *l, struct partition_balance *b, struct partition_counts *seen,
                         const struct partition_counts *now, uint64_t shares, int64_t us)
{
    const struct wr_throughput *reserved = &l->table->schema.d.reserved;

    balance_way(b, PARTITION_READ, now->read_units - seen->read_units,
                (uint64_t)reserved->read * 1000 / shares, us);
    balance_way(b, PARTITION_WRITE, now->write_units - seen->write_units,
                (uint64_t)reserved->write * 1000 / shares, us);
    *seen = *now;
}

static int64_t since(int64_t when, bool is, int64_t now_us)
{
    if (!is)
        return 0;
    return when ? when : now_us;
}

static void look_rates(struct look *l)
{
    const struct partition_map *m = &l->table->partitions;
    struct traffic *t = l->table->traffic;
    uint64_t servers = peers_servers(l->db); /* each has its share of what is reserved */
    int64_t us = t->looked_us ? l->now_us - t->looked_us : 0;
    struct partition_counts counts;
    uint64_t stored;

    if (t->looked_us && us < RATES_EVERY_US)
        return;
    t->looked_us = l->now_us;
    counts = traffic_counts(t, m, &stored);
    if (us)
        balance_both(l, &t->balance, &t->seen, &counts, servers, us);
    for (size_t i = 0; i < m->count; i++) {
        struct partition *p = partition_at(m, i)->partition;
        uint64_t rate[PARTITION_WAYS];

        counts = partition_counts(p);
        if (us)
            balance_both(l, &p->balance, &p->seen, &counts, m->count * servers, us);
        for (int way = 0; way < PARTITION_WAYS; way++)
            rate[way] = atomic_load(&p->balance.rate[way]);
        p->hot_us = since(p->hot_us, split_policy_is_hot(&l->db->limits, rate), l->now_us);
        atomic_store(&p->idle_us, since(atomic_load(&p->idle_us),
                                        split_policy_is_idle(&l->db->limits, rate), l->now_us));
    }
}

/* ---- sizes ---- */

static int balance_measure(struct look *l, size_t i)
{
    const struct partition_map *m = &l->table->partitions;
    const struct partition_at *at = partition_at(m, i);
    uint64_t written = partition_counts(at->partition).write_bytes, stored;
    struct partition_spec spec = partition_spec(&l->c.arena, l->table->schema.location.id,
                                                at->partition->id, at->start, partition_end(m, i));

    TRY(engine_size(&l->c, l->db->engine, &spec, &stored));
    l->measured++;
    partition_measured(at->partition, stored, written, l->now_us);
    return E_OK;
}

static int look_size(struct look *l, size_t i)
{
    struct partition *p = partition_at(&l->table->partitions, i)->partition;
    int64_t measured_us = atomic_load(&p->measured_us);
    uint64_t measured_at = atomic_load(&p->measured_at); /* before `written`, which only grows */
    uint64_t written = partition_counts(p).write_bytes;
    uint64_t large = (uint64_t)l->db->limits.partition_bytes_max;

    if (large < p->unsplit_bytes) /* measuring may cost as much as there is */
        large = p->unsplit_bytes;
    if (measured_us && (written == measured_at || (written - measured_at < large / PIECES &&
                                                   l->now_us - measured_us < MEASURE_EVERY_US)))
        return E_OK;
    return balance_measure(l, i);
}

/* ---- splits ---- */

static struct split_view view(const struct look *l, const struct partition *p)
{
    int64_t idle_us = atomic_load(&p->idle_us);
    struct split_view v = {.bytes = atomic_load(&p->bytes),
                           .hot_us = p->hot_us ? l->now_us - p->hot_us : 0,
                           .idle_us = idle_us ? l->now_us - idle_us : 0,
                           .unsplit_bytes = p->unsplit_bytes};

    for (int way = 0; way < PARTITION_WAYS; way++)
        v.rate[way] = atomic_load(&p->balance.rate[way]);
    return v;
}

static bool split_key_of_samples(struct look *l, struct partition *p, bytes *out)
{
    bytes *samples = ARENA_ARRAY(&l->c.arena, bytes, PARTITION_SAMPLES);
    size_t n = 0;

    pthread_mutex_lock(&p->sample_lock);
    for (; n < p->sample_count; n++)
        samples[n] = arena_copy(&l->c.arena, bytes_of(p->samples[n].ptr, p->samples[n].len));
    pthread_mutex_unlock(&p->sample_lock);
    return split_policy_key(samples, n, out);
}

/* Where a partition is an object, one row that outgrows it goes on growing: said each time that it
 * has doubled. (On one map it is only a range, and the size watch warns.) */
static void warn_unsplit(struct look *l, size_t i, uint64_t stored)
{
    const struct partition_at *at = partition_at(&l->table->partitions, i);
    uint64_t max = (uint64_t)l->db->limits.partition_bytes_max;
    const struct schema *s = &l->table->schema;

    if (engine_one_key_space(l->db->engine) || stored < 2 * max ||
        stored < 2 * at->partition->warned_bytes)
        return;
    at->partition->warned_bytes = stored;
    log_warn(&l->db->log,
             "partitions: table '%.*s' of '%.*s': partition %" PRIu64 " holds %" PRIu64
             " bytes, above partition_bytes_max=%" PRIu64
             ", and all of one row: it cannot be split; see `widerow sizes`",
             BYTES_FMT(s->d.table), BYTES_FMT(s->instance), at->partition->id, stored, max);
}

/* *split_key: the map is another one now. */
static int look_split(struct look *l, size_t i, bool *split_key)
{
    const struct partition_map *m = &l->table->partitions;
    const struct partition_at *at = partition_at(m, i);
    struct partition *p = at->partition;
    struct split_view v = view(l, p);
    bool found = false;
    bytes bound;
    int code;

    if (m->count >= (size_t)l->db->limits.table_partitions_max || l->now_us < p->retry_us)
        return E_OK;
    if (split_policy_by_size(&l->db->limits, &v)) {
        TRY(split_key_find(&l->c, l->db, l->table, i, &found, &bound));
        if (!found)
            warn_unsplit(l, i, v.bytes);
        p->unsplit_bytes = found ? 0 : v.bytes;
    } else if (split_policy_by_load(&l->db->limits, &v)) {
        found = split_key_of_samples(l, p, &bound) && bytes_compare(bound, at->start) > 0;
        p->hot_us = 0; /* another while before the next try */
    }
    if (!found)
        return E_OK;
    *split_key = true;
    code = catalog_repartition(&l->c, l->table, i, 1, &bound, 1);
    if (code) /* another process was faster, or storage fails */
        p->retry_us = l->now_us + RETRY_US;
    return code;
}

/* ---- merges ---- */

/* The question: of each partition its lower bound and its id. The answer, in the same order: 1, how
 * long it has been idle, in us, units read and written a second; or 0: it is not in our map. */
void balance_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                    struct buf *out)
{
    (void)c;
    while (!in->bad && reader_left(in)) {
        bytes start = read_counted(in);
        uint64_t id = read_varint(in);
        const struct partition_at *at = partition_starting(&t->partitions, start);
        int64_t idle_us, now_us = clock_mono_us(&db->clock);

        if (in->bad || !at || at->partition->id != id) {
            buf_put_u8(out, 0);
            continue;
        }
        idle_us = atomic_load(&at->partition->idle_us);
        buf_put_u8(out, 1);
        buf_put_varint(out, idle_us && idle_us < now_us ? (uint64_t)(now_us - idle_us) : 0);
        for (int way = 0; way < PARTITION_WAYS; way++)
            buf_put_varint(out, atomic_load(&at->partition->balance.rate[way]));
    }
}

/* What another server sees besides. False: it does not know the partition. */
static bool add_idle(struct reader *r, struct split_view *v)
{
    int64_t idle_us;

    if (read_u8(r) != 1)
        return false;
    idle_us = (int64_t)read_varint(r);
    v->idle_us = idle_us < v->idle_us ? idle_us : v->idle_us;
    for (int way = 0; way < PARTITION_WAYS; way++)
        v->rate[way] += read_varint(r);
    return !r->bad;
}

/* Adds to the views of `count` partitions from i on what goes through the other servers. False:
 * some of them did not say. */
static bool query_idle(struct look *l, size_t i, size_t count, struct split_view *v)
{
    struct peers_query others = {
        .question = PEERS_IDLE, .db = l->db, .table = l->table, .a = &l->c.arena};
    struct buf more;
    bool known = true;

    buf_init(&more, &l->c.arena, 64);
    for (size_t k = 0; k < count; k++) {
        const struct partition_at *at = partition_at(&l->table->partitions, i + k);

        buf_put_counted(&more, at->start);
        buf_put_varint(&more, at->partition->id);
    }
    others.more = buf_bytes(&more);
    peers_query_now(&others);
    for (size_t n = 0; n < others.count; n++) {
        struct reader r = reader_of(others.answers[n]);

        for (size_t k = 0; k < count; k++)
            known = add_idle(&r, &v[k]) && known;
    }
    return known && !others.silent;
}

/* A partition is idle since it is so for all servers; only then is it looked at again. */
static void put_off(struct look *l, size_t i, int64_t idle_us)
{
    atomic_store(&partition_at(&l->table->partitions, i)->partition->idle_us,
                 l->now_us - (idle_us > 0 ? idle_us : 0));
}

/* Where other servers use the table, too, this one alone does not know whether two partitions are
 * idle, nor how much the others have stored there since it measured them. *yes: they are a pair all
 * the same. One question asks for many partitions behind them, too. */
static int confirm_merge(struct look *l, size_t i, bool *yes)
{
    const struct partition_map *m = &l->table->partitions;
    const struct limits *limits = &l->db->limits;
    size_t count = m->count - i < QUERY_MAX ? m->count - i : QUERY_MAX;
    struct split_view *v = ARENA_ARRAY(&l->c.arena, struct split_view, count);
    int64_t due_us = limits->partition_idle_s * 1000000;
    bool known;

    invariant(count >= 2);
    for (size_t k = 0; k < count; k++)
        v[k] = view(l, partition_at(m, i + k)->partition);
    known = query_idle(l, i, count, v);
    for (size_t k = 0; k < count; k++) {
        if (!split_policy_is_idle(limits, v[k].rate))
            v[k].idle_us = 0;
        if (v[k].idle_us < due_us)
            put_off(l, i + k, v[k].idle_us);
    }
    *yes = known && split_policy_merge(limits, &v[0], &v[1]);
    if (!known)
        put_off(l, i, v[0].idle_us < due_us ? v[0].idle_us : due_us - SILENT_RETRY_US);
    for (size_t k = 0; k < 2 && *yes; k++) {
        TRY(balance_measure(l, i + k));
        v[k].bytes = atomic_load(&partition_at(m, i + k)->partition->bytes);
    }
    *yes = *yes && split_policy_merge(limits, &v[0], &v[1]);
    return E_OK;
}

static int look_merge(struct look *l, size_t i, bool *split_key)
{
    const struct partition_map *m = &l->table->partitions;
    struct split_view a, b;
    bool yes = true;

    if (i + 1 >= m->count)
        return E_OK;
    a = view(l, partition_at(m, i)->partition);
    b = view(l, partition_at(m, i + 1)->partition);
    if (!split_policy_merge(&l->db->limits, &a, &b))
        return E_OK;
    *split_key = true; /* or at least a question: one a look */
    if (db_is_shared(l->db))
        TRY(confirm_merge(l, i, &yes));
    return yes ? catalog_repartition(&l->c, l->table, i, 2, NULL, 0) : E_OK;
}

/* A repartition is under way. If it goes on being so, who made it is no more: then it is ended
 * here. */
static int look_lost(struct look *l)
{
    struct traffic *t = l->table->traffic;
    uint64_t id;

    invariant(l->table->schema.repartition.made_count);
    id = l->table->schema.repartition.made[0].id;
    if (!t->repartition_us || t->repartition_id != id) {
        t->repartition_us = l->now_us;
        t->repartition_id = id;
    }
    if (l->now_us - t->repartition_us < REPARTITION_IS_LOST_US)
        return E_OK;
    TRY(catalog_refresh(&l->c, l->table));
    return catalog_end_repartition(&l->c, l->table);
}

/* From where the last look has ended; of a table with many partitions only some. */
static int look_partition(struct look *l)
{
    struct traffic *t = l->table->traffic;
    size_t count = l->table->partitions.count, first = t->look_at < count ? t->look_at : 0, i;
    bool split_key = false;
    int code = E_OK;

    for (i = first;
         i < count && i < first + LOOK_MAX && l->measured < MEASURE_MAX && !split_key && !code;
         i++) {
        code = look_size(l, i);
        if (!code)
            code = look_split(l, i, &split_key);
    }
    t->look_at = i; /* an error keeps nobody from those behind it, nor before it */
    for (size_t k = first; k < i && !split_key; k++) {
        int merged = look_merge(l, k, &split_key);

        code = code ? code : merged;
    }
    return code;
}

static int look_table(struct look *l)
{
    look_rates(l);
    if (l->table->schema.repartition.made_count)
        return look_lost(l);
    l->table->traffic->repartition_us = 0;
    return look_partition(l);
}

/* `failed`: gets the last failure's text. */
static int look_all(struct wr_db *db, int64_t now_us, char failed[TASK_TEXT_BYTES])
{
    struct table **tables;
    struct ctx c;
    int first = E_OK;
    size_t n;

    if (!atomic_load(&db->limits_known))
        return E_OK;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    if (catalog_check(&c, db->catalog)) { /* the limits may be others by now */
        ctx_release(&c);
        return E_OK;
    }
    n = catalog_all(db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        struct look l = {.db = db, .table = tables[i], .now_us = now_us};
        int code;

        ctx_init(&l.c, &db->clock, &db->log, NULL, 0);
        code = look_table(&l);
        if (code == E_PARTITION &&
            !engine_one_key_space(db->engine)) { /* split by another process */
            ctx_clear(&l.c);
            code = catalog_refresh(&l.c, tables[i]);
        }
        if (code && code != E_PARTITION && code != E_NOT_EXIST && code != E_NOT_READY) {
            snprintf(failed, TASK_TEXT_BYTES, "table '%.*s': %s",
                     BYTES_FMT(l.table->schema.d.table),
                     l.c.text ? l.c.text : err_info(code)->text);
            log_warn(&db->log, "partitions: %s", failed);
            first = first ? first : code;
        }
        ctx_release(&l.c);
        table_release(tables[i]);
    }
    ctx_release(&c);
    return first;
}

void balance_run(struct wr_db *db, int64_t now_us)
{
    char failed[TASK_TEXT_BYTES];

    (void)look_all(db, now_us, failed);
}

/* ---- the task ---- */

static int balance_step(void *arg, struct task_step *step)
{
    struct wr_db *db = arg;
    int code = look_all(db, clock_mono_us(&db->clock), step->text);

    memory_give_back(&db->memory, db->engine);
    step->next_us = LOOK_EVERY_US;
    return code;
}

bool balancer_start(struct wr_db *db)
{
    /* Over a pool no other task has this thread: a repartition whose maker died is to be ended
     * soon.
     */
    struct task_spec spec = {.name = "balance",
                             .thread = TASK_SHORT,
                             .priority = PRIORITY_BALANCE,
                             .run = balance_step,
                             .arg = db,
                             .first_us = LOOK_EVERY_US,
                             .retry_us_max = RETRY_US};

    return scheduler_add(db->background, &spec);
}

#include "table/txn/txn.h"

#include "base/invariant.h"
#include "base/rng.h"
#include "table/core/db_limits.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/txn/txn_own.h"

#include <ctype.h>
#include <stdio.h>

#define WAIT_MS 1000   /* for the writes that are inside of a gate */
#define LOOK_US 200000 /* between two looks for what is over */
#define MEMORY_SHARE                                                                               \
    8                   /* all open ones may hold this part of the memory; one commit may take it  \
                         */
#define BASE_BYTES 1024 /* what one without changes counts for */

/* ---- memory ---- */

static size_t memory_max(const struct txns *all)
{
    return (size_t)(all->db->memory.total / MEMORY_SHARE);
}

static struct txn_client *client_of(struct txns *all, uint64_t client)
{
    struct txn_client *c = all->clients;

    while (c && c->client != client)
        c = c->next;
    if (!c) {
        c = mem_zalloc(sizeof(*c));
        c->client = client;
        c->next = all->clients;
        all->clients = c;
    }
    c->refs++;
    return c;
}

static void client_unref(struct txns *all, struct txn_client *c)
{
    struct txn_client **at = &all->clients;

    if (--c->refs)
        return;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    mem_free(c);
}

/* Each client may hold as much as is left to all: one alone gets a half, and the next one finds a
 * half of the rest. */
static bool has_room(const struct txns *all, const struct txn_client *c, size_t more)
{
    size_t max = memory_max(all);

    return all->bytes + more <= max && c->bytes + more <= max - all->bytes;
}

/* Counts what the transaction holds now. */
static void txn_count(struct txn *t, size_t size)
{
    struct txns *all = t->all;

    all->bytes += size - t->counted;
    t->client->bytes += size - t->counted;
    atomic_fetch_add(&all->db->memory.requests->bytes, size - t->counted);
    t->counted = size;
}

static size_t txn_size(const struct txn *t)
{
    return BASE_BYTES + sizeof(*t) + atomic_load(&t->blocks) + t->rows.bytes;
}

/* ---- ids ---- */

/* It has the form of a UUID: 36 characters, hexadecimals in groups of 8, 4, 4, 4 and 12; on a pool
 * a dash and more hexadecimals follow (txn_place_read()). */
bool txn_is_id(bytes id)
{
    const char *p = id.ptr;

    if (id.len < TXN_ID_BYTES || id.len > TXN_PLACE_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23 || i == TXN_ID_BYTES;

        if (dash ? p[i] != '-' : !isxdigit((unsigned char)p[i]))
            return false;
    }
    return true;
}

static void id_make(char out[TXN_ID_BYTES + 1])
{
    uint8_t b[16];

    rng_secret(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(out, TXN_ID_BYTES + 1,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

/* Where the pointer to the transaction of that id is, or would be. */
static struct txn **id_at(struct txns *all, bytes id)
{
    const char *p = id.ptr;
    uint32_t hash = 2166136261u;
    struct txn **at;

    for (size_t i = 0; i < id.len; i++)
        hash = (hash ^ (uint8_t)p[i]) * 16777619u;
    at = &all->by_id[hash % TXN_ID_BUCKETS];
    while (*at && memcmp((*at)->id, p, TXN_ID_BYTES) != 0)
        at = &(*at)->chain;
    return at;
}

/* ---- the end ---- */

void txn_free(struct txn *t)
{
    struct txns *all = t->all;

    txn_count(t, 0);
    client_unref(all, t->client);
    txn_rows_release(&t->rows);
    arena_release(&t->arena);
    mem_free(t);
}

/* Nobody finds it any more, and its value is free. What a request is in goes with that one. */
static void txn_close(struct txn *t)
{
    struct txns *all = t->all;
    bool busy = t->state == TXN_BUSY || t->state == TXN_COMMITTING;

    invariant(t->state != TXN_ENDED);
    t->state = TXN_ENDED;
    t->gate->owner = NULL;
    txn_gate_put(&all->gates, t->gate);
    *id_at(all, bytes_str(t->id)) = t->chain;
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    else
        all->newest = t->at;
    all->stat.open--;
    if (!busy)
        txn_free(t);
}

static bool is_over(const struct txn *t, int64_t now_ms)
{
    return now_ms - t->begun_ms >= t->all->db->limits.transaction_ms_max;
}

/* Ends it if its time is over, but for a commit under way and one that was not begun yet. */
static bool txn_expire(struct txn *t, int64_t now_ms)
{
    if (t->state == TXN_WAITING || t->state == TXN_COMMITTING || !is_over(t, now_ms))
        return false;
    t->all->stat.expired++;
    txn_close(t);
    return true;
}

/* The starter has waited for too long. */
static struct call *txn_give_up(struct txn *t, int64_t now_ms)
{
    struct call *starter = t->starter;

    if (t->state != TXN_WAITING || now_ms - t->begun_ms < WAIT_MS)
        return NULL;
    t->all->stat.refused++;
    txn_close(t);
    return starter;
}

/* One step: what is over, from the oldest on. */
static int txns_look(void *arg, struct task_step *step)
{
    struct txns *all = arg;
    int64_t now_ms = clock_mono_ms(&all->db->clock);
    struct call *late = NULL;

    pthread_mutex_lock(&all->lock);
    for (struct txn *t = all->oldest, *next; t && !late; t = next) {
        next = t->next;
        late = txn_give_up(t, now_ms);
        if (!late)
            txn_expire(t, now_ms);
    }
    step->next_us = all->oldest ? LOOK_US : TASK_NEVER;
    step->more = late != NULL;
    pthread_mutex_unlock(&all->lock);
    if (!late)
        return E_OK;
    fail(&late->c, E_CONFLICT, "Transaction timeout because cannot acquire exclusive lock.");
    call_finish(late);
    return E_OK;
}

/* ---- the beginning ---- */

struct txns *txns_new(struct wr_db *db, const struct txn_apart *apart)
{
    struct txns *all = mem_zalloc(sizeof(*all));

    all->db = db;
    all->apart = apart;
    if (apart)
        all->locks = all->sweep.locks = txn_locks_new(db);
    all->newest = &all->oldest;
    pthread_mutex_init(&all->lock, NULL);
    return all;
}

bool txns_start(struct txns *all)
{
    struct task_spec spec = {.name = "transactions",
                             .thread = TASK_SHORT,
                             .priority = PRIORITY_SWEEP,
                             .run = txns_look,
                             .arg = all,
                             .first_us = TASK_NEVER};

    if (all->apart) {
        spec.thread = TASK_LONG;
        spec.run = txn_sweep_step;
        spec.arg = &all->sweep;
        spec.first_us = LOOK_US;
    }
    all->task = scheduler_add(all->db->background, &spec);
    return all->task != NULL;
}

void txns_free(struct txns *all)
{
    if (!all)
        return;
    while (all->oldest)
        txn_close(all->oldest);
    pthread_mutex_destroy(&all->lock);
    txn_sweep_release(&all->sweep);
    txn_locks_free(all->locks);
    mem_free(all);
}

void txns_stat(struct txns *all, struct txn_stat *out)
{
    *out = (struct txn_stat){0};
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    *out = all->stat;
    out->bytes = all->bytes;
    if (all->locks) {
        out->open = atomic_load(&all->locks->open);
        out->expired = atomic_load(&all->locks->expired);
        out->refused = atomic_load(&all->locks->refused);
    }
    pthread_mutex_unlock(&all->lock);
}

static struct txn *txn_new(struct txns *all, struct call *call, const struct table *table,
                           bytes cols, struct txn_client *client)
{
    struct txn *t = mem_zalloc(sizeof(*t));

    t->all = all;
    id_make(t->id);
    t->table_id = table->schema.id;
    t->client_id = call->req->client;
    t->client = client;
    t->begun_ms = clock_mono_ms(&all->db->clock);
    arena_init(&t->arena, t->first, sizeof(t->first));
    arena_meter(&t->arena, &t->blocks);
    t->rows.arena = &t->arena;
    t->instance = arena_copy(&t->arena, call->req->instance);
    t->table = arena_copy(&t->arena, table->schema.d.table);
    t->value = arena_copy(&t->arena, cols);
    return t;
}

/* The call has its transaction. Not under the lock. */
static void start_finish(struct call *call, const char *id)
{
    call->reply.transaction.id = arena_copy(&call->c.arena, bytes_str(id));
    call_finish(call);
}

/* The value's gate, open; or NULL: a transaction owns it, and the failure stands in c. */
static struct txn_gate *gate_open(struct txns *all, struct ctx *c, bytes key)
{
    struct txn_gate *g = txn_gate_get(&all->gates, key);

    if (!g->owner)
        return g;
    if (txn_expire(g->owner, clock_mono_ms(&all->db->clock))) /* the gate may have gone with it */
        return txn_gate_get(&all->gates, key);
    all->stat.refused++;
    txn_fail_conflict(c);
    return NULL;
}

struct txn *txn_make(struct txns *all, struct call *call, const struct table *table, bytes cols)
{
    struct txn_client *client = client_of(all, call->req->client);
    struct txn *t;

    if (!has_room(all, client, BASE_BYTES + sizeof(*t))) {
        client_unref(all, client);
        fail(&call->c, E_BUSY, "Server is busy: open transactions fill the memory for them.");
        return NULL;
    }
    t = txn_new(all, call, table, cols, client);
    txn_count(t, txn_size(t));
    return t;
}

static struct txn *begin_locked(struct txns *all, struct call *call, const struct table *table,
                                bytes cols, bytes key)
{
    struct txn_gate *g = gate_open(all, &call->c, key);
    struct txn *t;

    if (!g)
        return NULL;
    t = txn_make(all, call, table, cols);
    if (!t) {
        txn_gate_put(&all->gates, g);
        return NULL;
    }
    g->owner = t;
    t->gate = g;
    t->state = g->inside ? TXN_WAITING : TXN_OPEN;
    t->starter = call;
    t->chain = *id_at(all, bytes_str(t->id));
    invariant(!t->chain); /* ids are never drawn twice */
    *id_at(all, bytes_str(t->id)) = t;
    t->at = all->newest;
    *all->newest = t;
    all->newest = &t->next;
    all->stat.open++;
    return t;
}

int txn_begin(struct call *call, const struct table *table, bytes cols)
{
    struct txns *all = call->db->txns;
    bytes key = schema_lock_key(&call->c.arena, &table->schema, cols);
    char id[TXN_ID_BYTES + 1];
    struct txn *t;
    bool waits;

    if (all->apart)
        return all->apart->begin(call, table, cols);
    pthread_mutex_lock(&all->lock);
    t = begin_locked(all, call, table, cols, key);
    waits = t && t->state == TXN_WAITING;
    if (t)
        memcpy(id, t->id, sizeof(id));
    pthread_mutex_unlock(&all->lock);
    if (!t)
        return call->c.code;
    task_wake(all->task);
    if (!waits)
        start_finish(call, id);
    return E_OK;
}

/* ---- writes outside ---- */

int txn_gate_enter(struct call *call, const struct table *t, bytes cols, struct txn_gate **out)
{
    struct txns *all = call->db->txns;
    const struct location *p = &t->schema.location;
    bytes value = {cols.ptr, key_columns_length(p->key, cols, TXN_KEY_COLUMNS)};
    bytes key = schema_lock_key(&call->c.arena, &t->schema, value);
    struct txn_gate *g;

    pthread_mutex_lock(&all->lock);
    g = gate_open(all, &call->c, key);
    if (g)
        g->inside++;
    pthread_mutex_unlock(&all->lock);
    *out = g;
    return g ? E_OK : call->c.code;
}

void txn_gate_leave(struct wr_db *db, struct txn_gate *g)
{
    struct txns *all = db->txns;
    struct call *starter = NULL;
    char id[TXN_ID_BYTES + 1];

    pthread_mutex_lock(&all->lock);
    invariant(g->inside > 0);
    g->inside--;
    if (!g->inside && g->owner && g->owner->state == TXN_WAITING) {
        starter = g->owner->starter;
        g->owner->state = TXN_OPEN;
        memcpy(id, g->owner->id, sizeof(id));
    }
    txn_gate_put(&all->gates, g);
    pthread_mutex_unlock(&all->lock);
    if (starter)
        start_finish(starter, id);
}

/* ---- a request inside ---- */

bool txn_may_try_again(int code)
{
    switch (code) {
    case E_NOT_READY:
    case E_CONFLICT:
    case E_CAPACITY:
    case E_HOT_PARTITION:
        return true;
    default:
        return err_info(code)->applied == APPLIED_NO && err_info(code)->http_status >= 500;
    }
}

/* Does the transaction end with the request? Without its table nothing can come of it. */
static bool outcome_is_final(const struct txn *t, int code)
{
    if (code == E_NOT_EXIST || code == E_SESSION)
        return true;
    return t->ends && (t->state != TXN_COMMITTING || !txn_may_try_again(code));
}

static void count_end(struct txn *t, int code)
{
    bool committed = t->state == TXN_COMMITTING && err_info(code)->applied != APPLIED_NO;

    *(committed ? &t->all->stat.committed : &t->all->stat.aborted) += 1;
}

/* The request that was in it is finished. */
static void txn_left(void *arg, struct wr_reply *reply)
{
    struct txn *t = arg;
    struct txns *all = t->all;
    wr_done_fn *done = t->done;
    void *done_arg = t->arg;

    pthread_mutex_lock(&all->lock);
    if (t->state == TXN_ENDED) {
        txn_free(t);
    } else if (outcome_is_final(t, reply->code)) {
        count_end(t, reply->code);
        t->state = TXN_OPEN;
        txn_close(t);
    } else {
        t->state = TXN_OPEN;
        t->ends = false;
        txn_count(t, txn_size(t));
        txn_expire(t, clock_mono_ms(&all->db->clock));
    }
    pthread_mutex_unlock(&all->lock);
    done(done_arg, reply);
}

/* The transaction of that id, if the call may use it. Others must not learn that it is there. */
static struct txn *txn_lookup(struct txns *all, const struct call *call, bytes id)
{
    struct txn *t = *id_at(all, id);

    if (!t || t->state == TXN_WAITING || t->client_id != call->req->client ||
        !bytes_equal(t->instance, call->req->instance))
        return NULL;
    return txn_expire(t, clock_mono_ms(&all->db->clock)) ? NULL : t;
}

int txn_check_tables(struct call *call, const struct txn *t)
{
    bytes name;

    for (size_t i = 0; wr_request_table(call->req, i, &name); i++)
        if (!bytes_equal(name, t->table))
            return fail(&call->c, E_OUT_OF_RANGE,
                        "Data out of scope of transaction. The transaction is of table '%.*s'.",
                        BYTES_FMT(t->table));
    return E_OK;
}

void txn_run_in(struct txn *t, struct call *call, wr_done_fn *left)
{
    t->state = TXN_BUSY;
    t->done = call->done;
    t->arg = call->arg;
    call->done = left;
    call->arg = t;
    call->txn = t;
}

static int enter_locked(struct txns *all, struct call *call, bytes id)
{
    struct txn *t = txn_lookup(all, call, id);

    if (!t)
        return fail_code(&call->c, E_SESSION);
    if (t->state != TXN_OPEN)
        return fail_code(&call->c, E_SESSION_BUSY);
    TRY(txn_check_tables(call, t));
    txn_run_in(t, call, txn_left);
    return E_OK;
}

int txn_enter(struct call *call, bytes id, void (*go_on)(void *arg))
{
    struct txns *all = call->db->txns;
    int code;

    invariant(txn_is_id(id));
    if (all->apart)
        return all->apart->enter(call, id, go_on);
    if (id.len != TXN_ID_BYTES)
        return fail_code(&call->c, E_SESSION);
    pthread_mutex_lock(&all->lock);
    code = enter_locked(all, call, id);
    pthread_mutex_unlock(&all->lock);
    return code;
}

bytes txn_table(const struct txn *t)
{
    return t->table;
}

struct txn_row *const *txn_rows(const struct txn *t, size_t *count)
{
    *count = t->rows.count;
    return t->rows.list;
}

const struct txn_row *txn_find(const struct txn *t, bytes cols)
{
    return txn_rows_find(&t->rows, cols);
}

int txn_check_table(struct call *call, const struct table *table)
{
    return table->schema.id == call->txn->table_id ? E_OK : fail_code(&call->c, E_SESSION);
}

int txn_check_row(struct call *call, const struct table *table, bytes cols)
{
    const struct txn *t = call->txn;

    TRY(txn_check_table(call, table));
    if (cols.len < t->value.len || memcmp(cols.ptr, t->value.ptr, t->value.len) != 0)
        return fail(&call->c, E_OUT_OF_RANGE,
                    "Data out of scope of transaction: it is of one partition key.");
    return E_OK;
}

int txn_commits(struct call *call)
{
    struct txn *t = call->txn;
    bool over;

    pthread_mutex_lock(&t->all->lock);
    over = t->state == TXN_ENDED;
    if (!over)
        t->state = TXN_COMMITTING;
    t->ends = true;
    pthread_mutex_unlock(&t->all->lock);
    return over ? fail_code(&call->c, E_SESSION) : E_OK;
}

void txn_drop(struct call *call)
{
    call->txn->ends = true;
    if (call->txn->all->apart)
        call->txn->all->apart->end(call);
    else
        call_finish(call);
}

/* ---- changes ---- */

/* Is there room for a change of `size` bytes, and its cells? */
static int check_room(struct call *call, const struct modify *m, const struct row *stored,
                      size_t size)
{
    const struct limits *limits = &call->db->limits;
    struct txn *t = call->txn;
    size_t more = sizeof(struct txn_row) + size + m->cols.len +
                  m->change->row.cell_count * sizeof(struct wr_cell);
    bool room;

    if (t->written.bytes + size > (size_t)limits->transaction_bytes_max)
        return fail(&call->c, E_TXN_SIZE,
                    "The data written in one transaction exceeds the limit, limit size: %lld.",
                    (long long)limits->transaction_bytes_max);
    if (t->written.changes >= (size_t)limits->transaction_changes_max)
        return fail(&call->c, E_TXN_SIZE,
                    "The row changes of one transaction exceed the limit: %lld.",
                    (long long)limits->transaction_changes_max);
    if (t->rows.commit_bytes + txn_rows_cost(&t->rows, m, stored) > memory_max(t->all))
        return fail(&call->c, E_TXN_SIZE,
                    "The rows changed in one transaction are too large to be committed together: "
                    "that would take more than an eighth of the server's memory (--memory).");
    pthread_mutex_lock(&t->all->lock);
    room = has_room(t->all, t->client, 2 * more);
    pthread_mutex_unlock(&t->all->lock);
    return room ? E_OK
                : fail(&call->c, E_BUSY,
                       "Server is busy: open transactions fill the memory for them.");
}

static void count_memory(struct txn *t)
{
    pthread_mutex_lock(&t->all->lock);
    txn_count(t, txn_size(t));
    pthread_mutex_unlock(&t->all->lock);
}

int txn_add(struct call *call, const struct modify *m, const struct row *stored)
{
    size_t size = meter_request_size(m->change);
    struct txn *t = call->txn;

    TRY(check_room(call, m, stored, size));
    txn_rows_add(&t->rows, &call->c.arena, m, stored);
    t->written.bytes += size;
    t->written.changes++;
    count_memory(t);
    return E_OK;
}

void txn_save(struct txn *t)
{
    txn_rows_save(&t->rows);
    t->saved = t->written;
}

void txn_undo(struct txn *t)
{
    txn_rows_undo(&t->rows);
    t->written = t->saved;
    count_memory(t);
}

void txn_keep(struct txn *t)
{
    txn_rows_keep(&t->rows);
    count_memory(t);
}

/* An update that writes all columns again stamps them, too: that is left to modify.h. */
static int overlay_full_row(struct call *call, const struct table *table,
                            const struct txn_row *changes, struct row *row)
{
    struct wr_row_change change;
    struct modify m;

    txn_row_change(changes, &change);
    TRY(modify_begin(&call->c, &call->db->limits, table, &change, call->now_ms, 1, &m));
    m.old = *row;
    m.old_known = m.whole = true;
    m.time = db_clock_read(call->db);
    TRY(modify_run(&call->c, &m));
    if (m.changed)
        *row = m.row;
    return E_OK;
}

int txn_overlay(struct call *call, const struct table *table, const struct txn_row *changes,
                struct row *row)
{
    const struct wr_table_options *o = &table->schema.d.options;
    struct row stored = *row;

    if (o->update_full_row)
        return overlay_full_row(call, table, changes, row);
    txn_row_apply(changes, &call->c.arena, o, call->now_ms, &stored, row);
    return E_OK;
}

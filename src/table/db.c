/* db.c: opening and closing a database, and a request's way through it. */
#include "table/catalog/catalog.h"
#include "table/catalog/text.h"
#include "table/core/call.h"

#include "base/rng.h"
#include "base/scheduler.h"
#include "table/admin/answers.h"
#include "table/admin/sizes.h"
#include "table/blob/stream.h"
#include "table/blob/upload.h"
#include "table/catalog/catalog_follow.h"
#include "table/catalog/route.h"
#include "table/core/db_limits.h"
#include "table/core/form.h"
#include "table/core/jobs.h"
#include "table/changelog/change_log.h"
#include "table/index/index_observer.h"
#include "table/index/outbox_queue.h"
#include "table/maint/balance.h"
#include "table/maint/index_build.h"
#include "table/maint/index_build_apart.h"
#include "table/maint/index_drainer.h"
#include "table/maint/index_local.h"
#include "table/maint/rekey.h"
#include "table/maint/scrub.h"
#include "table/maint/series_age.h"
#include "table/maint/sweep.h"
#include "table/maint/warm.h"
#include "table/model/name.h"
#include "table/model/op_info.h"
#include "table/search/search_feed.h"
#include "table/search/search_merge.h"
#include "table/series/series_call.h"
#include "table/stats/sampler.h"
#include "table/stream/stream_observer.h"
#include "table/stream/stream_carrier.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_retention.h"
#include "table/sync/reply_wait.h"
#include "table/txn/txn.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define WORKERS_MAX 16

bool wr_is_shared(const struct wr_db *db)
{
    return db_is_shared(db);
}

const char *wr_error_name(int code)
{
    return err_info(code)->code;
}

int wr_error_status(int code)
{
    return err_info(code)->http_status;
}

int wr_error_applied(int code)
{
    return err_info(code)->applied;
}

/* ---- open and close ---- */

static const char *engine_name(const struct wr_options *o)
{
    return o->engine ? o->engine : "rocks";
}

static int apply_settings(struct ctx *c, struct wr_db *db, const struct wr_options *o)
{
    uint64_t partition_bytes = engine_partition_bytes(engine_name(o));
    struct limits given;
    char message[256];

    limits_init(&given, o->strict);
    if (partition_bytes)
        given.partition_bytes_max = (int64_t)partition_bytes;
    for (size_t i = 0; i < o->setting_count; i++)
        if (limits_set(&given, o->settings[i].name, o->settings[i].value, message, sizeof(message)))
            return fail(c, E_PARAMETER, "%s.", message);
    db_limits_give(db, &given);
    atomic_store(&db->limits_known, !o->settings_follow);
    return E_OK;
}

int wr_settings_change(struct wr_db *db, const struct wr_setting *settings, size_t count,
                       char *message, size_t message_size)
{
    struct limits next;
    char why[256];

    limits_assign(&next, &db->given);
    for (size_t i = 0; i < count; i++) {
        if (limits_set(&next, settings[i].name, settings[i].value, why, sizeof(why)))
            return err_refuse(message, message_size, E_PARAMETER, "%s.", why);
        if (limits_of_opening(limits_find(settings[i].name)))
            return err_refuse(message, message_size, E_PARAMETER,
                              "%s counts from the opening of the database on. Open it again to "
                              "change it.",
                              settings[i].name);
    }
    db_limits_give(db, &next);
    atomic_store(&db->limits_known, true);
    return E_OK;
}

int64_t wr_setting_value(const struct wr_db *db, const char *name)
{
    size_t i = limits_find(name);

    return limits_name(i) ? limits_value(&db->given, i) : -1;
}

static void log_sink(void *arg, char level, const char *line)
{
    struct wr_db *db = arg;

    db->log_fn(db->log_arg, level, line);
}

/* ---- what rooms below tell those above ---- */

static void on_published(struct wr_db *db)
{
    router_wake(db->router);
}

static int on_texts_changed(struct wr_db *db)
{
    return texts_changed(db->texts);
}

static bytes on_asked(struct ctx *c, struct wr_db *db, bytes question, int64_t age_ms)
{
    /* Later nobody waits for it any more. */
    return age_ms < PEERS_WAIT_MS ? peers_answer(c, db, question) : BYTES_NONE;
}

static const struct catalog_listener listener = {
    .published = on_published, .texts_changed = on_texts_changed, .asked = on_asked};

static const struct peers_answers answers = {.each = {[PEERS_HEAT] = heat_answer,
                                                      [PEERS_TRAFFIC] = traffic_answer,
                                                      [PEERS_SIZES] = sizes_answer,
                                                      [PEERS_READERS] = readers_answer,
                                                      [PEERS_IDLE] = balance_answer,
                                                      [PEERS_INDEX] = index_answer}};

/* ---- opening ---- */

/* Without its tables a database is of no use, though the engine opens with a damaged block in it.
 */
static int catalog_read(struct ctx *c, struct wr_db *db, const struct wr_options *o)
{
    int code = catalog_open(c, db, &listener, &db->catalog);

    if (code != E_CORRUPT)
        return code;
    return fail(c, code, "The list of tables in %s cannot be read: %s. Restore a backup.",
                o->dir ? o->dir : "the data folder", ctx_take_reason(c));
}

static int open_sampler(struct ctx *c, struct wr_db *db)
{
    int64_t max = db->limits.heat_bytes_max, share = (int64_t)(db->memory.total / 8);

    if (max && max < SAMPLER_BYTES_MIN)
        return fail(c, E_PARAMETER,
                    "heat_bytes_max: %lld is too little: 0 for no heat maps, or at least %lld.",
                    (long long)max, (long long)SAMPLER_BYTES_MIN);
    share = share < SAMPLER_BYTES_MIN ? SAMPLER_BYTES_MIN : share;
    max = max < share ? max : share;
    db->sampler = sampler_new(&db->clock, (size_t)max);
    sampler_start(db->sampler);
    return E_OK;
}

/* One more than there are processors: a client, which never has all of them, can still use the
 * whole machine when it is alone. */
static int worker_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return (n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (int)n) + 1;
}

static int64_t background_rate(void *arg)
{
    return ((struct wr_db *)arg)->limits.background_bytes_per_s_max;
}

static bool workers_busy(void *arg)
{
    return pool_waiting(((struct wr_db *)arg)->pool);
}

static bool no_requests(void *arg)
{
    return atomic_load(&((struct wr_db *)arg)->requests) == 0;
}

static void db_observe(struct wr_db *db, struct table *t)
{
    index_observe(db, t);
    stream_observe(db, t);
    change_log_observe(db, t);
}

static int db_open(struct ctx *c, struct wr_db *db, const struct wr_options *o)
{
    struct engine_option *engine_options =
        ARENA_ARRAY(&c->arena, struct engine_option, o->engine_setting_count + 1);
    struct engine_conf conf = {.dir = o->dir ? o->dir : "",
                               .memory_bytes = memory_of_engine(&db->memory),
                               .no_sync = o->no_sync,
                               .accept_data_loss = o->accept_data_loss,
                               .options = engine_options,
                               .option_count = o->engine_setting_count,
                               .clock = &db->clock,
                               .log = &db->log};
    struct scheduler_conf background = {background_rate, workers_busy, no_requests, db};
    bool needs_router, needs_drainer, needs_locals;

    for (size_t i = 0; i < o->engine_setting_count; i++)
        engine_options[i] =
            (struct engine_option){o->engine_settings[i].name, o->engine_settings[i].value};

    TRY(apply_settings(c, db, o));
    TRY(engine_open(c, engine_name(o), &conf, &db->engine));
    db->observe = db_observe;
    db->keeps_indexes = engine_one_key_space(db->engine);
    if (!db->keeps_indexes)
        db->outboxes = outbox_queue_new();
    db->keeps_streams = engine_numbers(db->engine);
    db->keeps_change_logs = db->keeps_streams && engine_one_key_space(db->engine);
    if (db->keeps_streams && !engine_one_key_space(db->engine))
        db->drop_stream = stream_log_drop_all;
    db->row_locks = row_locks_new();
    TRY(open_sampler(c, db));
    TRY(catalog_read(c, db, o));
    TRY(db_clock_open(c, db, o->clock_reset));
    atomic_store(&db->servers, 1);
    clock_watch_open(db);
    db->opened_ms = clock_watch_ms(db);
    db->router = router_start(db, &needs_router);
    if (!db->router && needs_router)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to find partitions with.");
    db->pool = pool_start(
        &(struct pool_conf){.name = "wr-worker", .threads = worker_count(), .background = true});
    if (!db->pool)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for long requests.");
    db->background = scheduler_new(&background);
    db->streams = streams_start();
    if (!db->streams)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for streams.");
    db->uploads = uploads_start(db);
    if (!db->uploads)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to renew uploads with.");
    db->jobs = jobs_start(db_is_shared(db));
    if (!db->jobs)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for jobs.");
    db->sweeper = sweeper_start(db);
    if (!db->sweeper)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to sweep with.");
    if (!db_is_shared(db))
        db->txns = txns_new(db);
    if (db->txns && !txns_start(db->txns))
        return fail(c, E_UNAVAILABLE, "The system gives no thread to end transactions.");
    db->rekeyer = rekeyer_start(db);
    if (!db->rekeyer)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for the rekeyer.");
    db->index_builder = index_builder_start(db);
    if (!db->index_builder)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to build indexes.");
    TRY(catalog_start(c, db->catalog));
    if (db_is_shared(db))
        db->journal = journal_start(db->catalog);
    if (db_is_shared(db) && !db->journal)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for the journal.");
    db->index_drainer = index_drainer_start(db, &needs_drainer);
    if (!db->index_drainer && needs_drainer)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to keep indexes with.");
    db->local_indexes = local_indexes_start(db, &needs_locals);
    if (!db->local_indexes && needs_locals)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to read local indexes with.");
    if (!balancer_start(db)) /* it asks the catalog whether it is in touch */
        return fail(c, E_UNAVAILABLE, "The system gives no thread to watch partitions with.");
    db->scrubber = scrubber_start(db);
    db->warmer = warmer_start(db);
    db->sizes = size_watch_start(db);
    if (db->keeps_change_logs)
        db->searches = searches_start(
            db, &(struct searches_work){search_feed_round, search_merge_step, search_feed_end});
    if (db->keeps_change_logs && !db->searches)
        return fail(c, E_UNAVAILABLE, "The system gives no thread for searches.");
    if (db->keeps_streams)
        db->retention = stream_retention_start(db);
    if (db->keeps_streams && !db->retention)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to remove records with.");
    if (db->keeps_streams && !engine_one_key_space(db->engine)) {
        db->carrier = stream_carrier_start(db);
        if (!db->carrier)
            return fail(c, E_UNAVAILABLE, "The system gives no thread to carry records with.");
    }
    if (engine_one_key_space(db->engine) && !series_age_start(db))
        return fail(c, E_UNAVAILABLE, "The system gives no thread to age series with.");
    return E_OK;
}

static void db_damaged(struct wr_db *db, const struct key_range *range)
{
    searches_range_damaged(db->searches, range);
}

/* Nothing but version and size may be read before this. */
static int db_read_options(struct wr_options *options, const struct wr_options *given,
                           char *message, size_t message_size)
{
    const char *text;

    if (given->version != WR_API_VERSION)
        return err_refuse(message, message_size, E_PARAMETER,
                          "wr_options.version is %u, but this library reads version %u: set it to "
                          "WR_API_VERSION, and compile the program with the library's own "
                          "widerow.h.",
                          (unsigned)given->version, WR_API_VERSION);
    text = form_read(options, sizeof(*options), given, given->size, FORM_OPTIONS_FIRST);
    return text ? err_refuse(message, message_size, E_PARAMETER, "%s", text) : E_OK;
}

int wr_open(const struct wr_options *given, struct wr_db **out, char *message, size_t message_size)
{
    struct wr_options own, *options = &own;
    struct wr_db *db;
    struct ctx c;
    int code;

    *out = NULL;
    TRY(db_read_options(options, given, message, message_size));
    db = mem_zalloc(sizeof(*db));
    memory_init(&db->memory, options);
    db->texts = texts_new();
    db->answers = &answers;
    db->submit = wr_submit;
    db->damaged = db_damaged;
    clock_real_init(&db->clock);
    db_clock_init(&db->stamps, db);
    pthread_mutex_init(&db->watch.lock, NULL);
    pthread_mutex_init(&db->limits_lock, NULL);
    db->log_fn = options->log;
    db->log_arg = options->log_arg;
    db->log = (struct log){
        .level = 'D', .sink = options->log ? log_sink : NULL, .arg = db, .clock = &db->clock};
    if (!options->log)
        db->log.level = 'I';
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    code = db_open(&c, db, options);
    if (code) {
        if (message && message_size)
            snprintf(message, message_size, "%s", c.text ? c.text : err_info(code)->text);
        wr_close(db);
    } else {
        *out = db;
        search_feed_begin(db);
    }
    ctx_release(&c);
    return code;
}

static void close_clock(struct wr_db *db)
{
    struct ctx c;

    if (!db->catalog)
        return;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    db_clock_close(&c, db);
    ctx_release(&c);
}

bool wr_engine_has_setting(const char *engine, const char *setting)
{
    return engine_has_option(engine, setting);
}

void wr_close(struct wr_db *db)
{
    if (!db)
        return;
    scheduler_stop(db->background);
    searches_stop(db->searches);           /* it makes requests */
    while (atomic_load(&db->requests) > 0) /* some wait for a job */
        usleep(1000); /* at the end of a process's life a short nap does no harm */
    pool_stop(db->pool);
    local_indexes_stop(db->local_indexes);
    index_drainer_stop(db->index_drainer);
    journal_stop(db->journal);
    catalog_stop(db->catalog); /* no more jobs of its notifications */
    jobs_stop(db->jobs);
    size_watch_free(db->sizes); /* jobs asked it */
    stream_retention_free(db->retention);
    stream_carrier_free(db->carrier);
    searches_free(db->searches);
    txns_free(db->txns);
    rekeyer_free(db->rekeyer);
    index_builder_free(db->index_builder);
    sweeper_free(db->sweeper);
    scrubber_free(db->scrubber);
    warmer_free(db->warmer);
    streams_stop(db->streams);
    uploads_stop(db->uploads);
    router_stop(db->router);
    sampler_stop(db->sampler);
    close_clock(db);
    catalog_close(db->catalog);
    sampler_free(db->sampler);
    scheduler_free(db->background);
    if (db->engine)
        engine_close(db->engine);
    row_locks_free(db->row_locks);
    outbox_queue_free(db->outboxes);
    pthread_mutex_destroy(&db->watch.lock);
    pthread_mutex_destroy(&db->limits_lock);
    db_clock_destroy(&db->stamps);
    memory_release(&db->memory);
    texts_free(db->texts);
    mem_free(db);
}

static void read_search_status(struct wr_db *db, struct wr_status *out)
{
    struct searches_stat s;

    searches_stat(db->searches, clock_watch_ms(db) * 1000, &s);
    out->search_indexes = s.indexes;
    out->search_indexes_reading = s.reading;
    out->search_indexes_stopped = s.stopped;
    out->search_documents = s.documents;
    out->search_segments = s.segments;
    out->search_bytes = s.bytes;
    out->search_behind_ms = (uint64_t)s.behind_us / 1000;
    out->searches = s.searches;
}

static void read_status(struct wr_db *db, struct wr_status *out)
{
    struct engine_stat s = {0};
    struct txn_stat txns;

    engine_stat(db->engine, &s);
    *out = (struct wr_status){.writable = s.writable,
                              .syncs = s.syncs,
                              .acknowledged = s.acked,
                              .bytes_stored = s.bytes_stored,
                              .disk_reads = s.disk_reads,
                              .remote_reads = s.remote_reads,
                              .remote_writes = s.remote_writes,
                              .remote_read_bytes = s.remote_read_bytes,
                              .remote_written_bytes = s.remote_written_bytes,
                              .request_memory = atomic_load(&db->memory.requests->bytes)};
    txns_stat(db->txns, &txns);
    out->transactions = txns.open;
    out->transaction_bytes = txns.bytes;
    out->transactions_committed = txns.committed;
    out->transactions_aborted = txns.aborted;
    out->transactions_expired = txns.expired;
    out->transaction_conflicts = txns.refused;
    read_search_status(db, out);
    snprintf(out->reason, sizeof(out->reason), "%s", s.reason);
    scrubber_stat(db->scrubber, out);
    out->clock_odd = clock_watch_text(db, out->clock, sizeof(out->clock));
}

void wr_status(struct wr_db *db, struct wr_status *out, size_t size)
{
    struct wr_status own;

    read_status(db, &own);
    memset(out, 0, size);
    memcpy(out, &own, size < sizeof(own) ? size : sizeof(own));
}

#define TASKS_MAX 32

size_t wr_tasks(struct wr_db *db, struct wr_task *out, size_t max)
{
    struct task_stat all[TASKS_MAX];
    size_t n = scheduler_stat(db->background, all, TASKS_MAX);
    struct clock real;

    clock_real_init(&real);
    for (size_t i = 0; i < n && i < max; i++) {
        out[i] = (struct wr_task){
            .state = (enum wr_task_state)all[i].state,
            .percent = all[i].percent,
            .steps = all[i].steps,
            .failures = all[i].failures,
            .bytes = all[i].bytes,
            .busy_us = all[i].busy_us,
            .ago_ms = all[i].last_us ? (clock_mono_us(&real) - all[i].last_us) / 1000 : -1};
        snprintf(out[i].name, sizeof(out[i].name), "%s", all[i].name);
        snprintf(out[i].text, sizeof(out[i].text), "%s", all[i].text);
    }
    return n;
}

/* ---- requests ---- */

void wr_request_bounds(struct wr_db *db, size_t *body_bytes, size_t *memory_bytes)
{
    *body_bytes = (size_t)db_limits(db)->body_bytes_max;
    *memory_bytes = (size_t)db_limits(db)->request_memory_max;
}

bool wr_memory_full(struct wr_db *db)
{
    return memory_full(&db->memory, db->engine);
}

bool wr_memory_lacks(struct wr_db *db, uint64_t size)
{
    return memory_lacks(&db->memory, size);
}

bool wr_memory_spent(struct wr_db *db)
{
    return memory_spent(&db->memory);
}

uint64_t wr_memory_max(struct wr_db *db)
{
    return memory_of_requests(&db->memory);
}

/* Of indexes that a table is made with, the names are its description's. */
static int check_names(struct call *call, const struct op_info *info)
{
    bytes name;

    if (info->table)
        return name_check_table(&call->c, op_bytes_at(call->req, info->table));
    for (size_t i = 0; wr_request_table(call->req, i, &name); i++)
        TRY(name_check_table(&call->c, name));
    return E_OK;
}

static int start(struct call *call)
{
    static int (*const starts[WR_OP_COUNT])(struct call *) = {
#define OP(constant, member, wire, class, request, request_type, reply, reply_member, reply_type,  \
           cost, start, ...)                                                                       \
    [WR_OP_##constant] = start,
#include "op.def"
    };
    const struct op_info *info = op_info(call->req->op);

    bytes id = info->transaction ? op_bytes_at(call->req, info->transaction) : BYTES_NONE;

    if (id.ptr && !txn_is_id(id))
        return fail(&call->c, E_PARAMETER, "TransactionID is invalid.");
    TRY(call_check_deadline(call));
    TRY(check_names(call, info));
    if (PORT_UNLIKELY(id.ptr != NULL))
        TRY(txn_enter(call, id));
    return (unsigned)call->req->op < WR_OP_COUNT ? starts[call->req->op](call)
                                                 : fail_code(&call->c, E_UNSUPPORTED);
}

static void call_again(struct call *call);

/* Runs it; where that is. */
static void call_run(void *arg)
{
    struct call *call = arg;

    if (PORT_UNLIKELY(call->db->local_indexes != NULL) && !call->settled) {
        call->settled = true;
        if (local_index_waits(call->db->local_indexes, call, call_run))
            return;
    }
    if (start(call)) {
        if (PORT_UNLIKELY(call->diverted))
            series_call(call, call_again);
        else
            call_finish(call);
    }
}

static void call_again(struct call *call)
{
    call_run(call);
}

/* True: it begins on a worker instead of here. */
static bool call_begins_there(const struct call *call)
{
    const struct turn *t = &call->turn;

    if (call->cost == COST_LITTLE || pool_here())
        return false;
    return call->cost == COST_MUCH || !pool_has_credit(t->pool, t->client, t->start_us);
}

static void call_begin(struct call *call)
{
    call->go_on = call_run;
    call->go_on_arg = call;
    if (call_begins_there(call))
        pool_submit(call->db->pool, call->req->client, &call->job, false);
    else
        call_run(call);
}

/* A request of a program with another header, as this library has it. */
struct foreign {
    struct wr_request request;
    wr_done_fn *done;
    void *arg;
};

static void foreign_done(void *arg, struct wr_reply *reply)
{
    struct foreign *f = arg, copy = *f;

    mem_free(f);
    copy.done(copy.arg, reply);
}

static void submit_foreign(struct wr_db *db, const struct wr_request *request, wr_done_fn *done,
                           void *arg)
{
    struct foreign *f = mem_alloc(sizeof(*f));
    const char *text = form_read_request(&f->request, request);
    struct call *call;

    f->done = done;
    f->arg = arg;
    if (!text) {
        wr_submit(db, &f->request, foreign_done, f);
        return;
    }
    call = call_new(db, &f->request, foreign_done, f);
    fail(&call->c, E_PARAMETER, "%s", text);
    call_finish(call);
}

void wr_submit(struct wr_db *db, const struct wr_request *request, wr_done_fn *done, void *arg)
{
    if (PORT_UNLIKELY(!form_is_own(request))) {
        submit_foreign(db, request, done, arg);
        return;
    }
    if ((request->op == WR_OP_PUT_ROW || request->op == WR_OP_UPDATE_ROW) &&
        cell_stage(db, request, done, arg))
        return;
    call_begin(call_new(db, request, done, arg));
}

/* What a front has to do there. */
struct work {
    struct pool_job job;
    void (*run)(void *arg);
    void *arg;
};

static void work_run(struct pool_job *job)
{
    struct work *w = PORT_CONTAINER(job, struct work, job);
    struct work copy = *w;

    mem_free(w);
    copy.run(copy.arg);
}

void wr_work(struct wr_db *db, uint64_t client, void (*run)(void *arg), void *arg)
{
    struct work *w = mem_alloc(sizeof(*w));

    *w = (struct work){{.run = work_run}, run, arg};
    pool_submit(db->pool, client, &w->job, false);
}

bool wr_is_worker(void)
{
    return pool_here();
}

struct wr_reply *wr_exec(struct wr_db *db, const struct wr_request *request)
{
    struct reply_wait r;

    reply_wait_init(&r);
    wr_submit(db, request, reply_wait_done, &r);
    return reply_wait_end(&r);
}

struct wr_reply *db_exec_internal(struct wr_db *db, const struct wr_request *request)
{
    struct reply_wait r;
    struct call *call;

    reply_wait_init(&r);
    call = call_new(db, request, reply_wait_done, &r);
    call->internal = true;
    call_begin(call);
    return reply_wait_end(&r);
}

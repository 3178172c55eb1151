/* open.c: opening and closing a database, and what works in it beside the requests. */
#include "table/catalog/catalog.h"
#include "table/catalog/text.h"
#include "table/core/call.h"
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
#include "table/changelog/change_log_watch.h"
#include "table/index/index_observer.h"
#include "table/index/outbox_queue.h"
#include "table/maint/balance.h"
#include "table/maint/index_build.h"
#include "table/maint/index_drainer.h"
#include "table/maint/index_build_apart.h"
#include "table/maint/index_local.h"
#include "table/maint/rekey.h"
#include "table/maint/scrub.h"
#include "table/maint/series_age.h"
#include "table/maint/series_archive.h"
#include "table/maint/sweep.h"
#include "table/maint/warm.h"
#include "table/search/search_feed.h"
#include "table/search/search_merge.h"
#include "table/series/series_call.h"
#include "table/stats/sampler.h"
#include "table/stream/stream_observer.h"
#include "table/stream/stream_carrier.h"
#include "table/stream/stream_settle.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_retention.h"
#include "table/txn/txn.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define WORKERS_MAX 16

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
                                                      [PEERS_INDEX] = index_answer,
                                                      [PEERS_STREAM] = stream_answer}};

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

/* ---- what works beside the requests ---- */

static bool open_router(struct wr_db *db)
{
    bool needed;

    db->router = router_start(db, &needed);
    return db->router || !needed;
}

static bool open_pool(struct wr_db *db)
{
    struct scheduler_conf background = {background_rate, workers_busy, no_requests, db};

    db->pool = pool_start(&(struct pool_conf){
        .name = "wr-worker", .threads = worker_count(), .background = true, .clock = &db->clock});
    if (db->pool)
        db->background = scheduler_new(&background);
    return db->pool != NULL;
}

static bool open_streams(struct wr_db *db)
{
    return (db->streams = streams_start()) != NULL;
}

static bool open_uploads(struct wr_db *db)
{
    return (db->uploads = uploads_start(db)) != NULL;
}

static bool open_jobs(struct wr_db *db)
{
    return (db->jobs = jobs_start(db_is_shared(db))) != NULL;
}

static bool open_sweeper(struct wr_db *db)
{
    return (db->sweeper = sweeper_start(db)) != NULL;
}

static bool open_transactions(struct wr_db *db)
{
    db->txns = txns_new(db, db_is_shared(db) ? &txn_pool : NULL);
    return txns_start(db->txns);
}

static bool open_rekeyer(struct wr_db *db)
{
    return (db->rekeyer = rekeyer_start(db)) != NULL;
}

static bool open_index_builder(struct wr_db *db)
{
    return (db->index_builder = index_builder_start(db)) != NULL;
}

static bool open_journal(struct wr_db *db)
{
    return !db_is_shared(db) || (db->journal = journal_start(db->catalog)) != NULL;
}

static bool open_index_drainer(struct wr_db *db)
{
    bool needed;

    db->index_drainer = index_drainer_start(db, &needed);
    return db->index_drainer || !needed;
}

static bool open_local_indexes(struct wr_db *db)
{
    bool needed;

    db->local_indexes = local_indexes_start(db, &needed);
    return db->local_indexes || !needed;
}

/* Those that do without a thread of their own. */
static bool open_watches(struct wr_db *db)
{
    db->scrubber = scrubber_start(db);
    db->warmer = warmer_start(db);
    db->sizes = size_watch_start(db);
    return true;
}

static bool open_searches(struct wr_db *db)
{
    static const struct searches_work work = {search_feed_round, search_merge_step,
                                              search_feed_end};

    return !db->keeps_change_logs || (db->searches = searches_start(db, &work)) != NULL;
}

static bool open_changes(struct wr_db *db)
{
    return !db->keeps_change_logs || (db->changes = change_log_watch_start(db)) != NULL;
}

static bool open_retention(struct wr_db *db)
{
    return !db->keeps_streams || (db->retention = stream_retention_start(db)) != NULL;
}

static bool open_carrier(struct wr_db *db)
{
    if (!db->keeps_streams || engine_one_key_space(db->engine))
        return true;
    return (db->carrier = stream_carrier_start(db)) && (db->settle = stream_settle_start(db));
}

static bool open_series_age(struct wr_db *db)
{
    return !engine_one_key_space(db->engine) || series_age_start(db);
}

static bool open_archive(struct wr_db *db)
{
    if (!engine_one_key_space(db->engine))
        return true;
    return (db->archiver = series_archive_start(db)) != NULL;
}

/* open() is false where the system gives no thread; what the thread would do completes "The system
 * gives no thread ...". */
struct service {
    bool (*open)(struct wr_db *db);
    const char *purpose;
};

/* In this order: each may ask those above it. */
static const struct service before_catalog[] = {
    {open_router, "to find partitions with"},
    {open_pool, "for long requests"},
    {open_streams, "for streams"},
    {open_uploads, "to renew uploads with"},
    {open_jobs, "for jobs"},
    {open_sweeper, "to sweep with"},
    {open_transactions, "to end transactions"},
    {open_rekeyer, "for the rekeyer"},
    {open_index_builder, "to build indexes"},
};

static const struct service behind_catalog[] = {
    {open_journal, "for the journal"},
    {open_index_drainer, "to keep indexes with"},
    {open_local_indexes, "to read local indexes with"},
    {balancer_start, "to watch partitions with"}, /* it asks the catalog whether it is in touch */
    {open_watches, "to watch with"},
    {open_searches, "for searches"},
    {open_changes, "to keep change logs with"},
    {open_retention, "to remove records with"},
    {open_carrier, "to carry records with"},
    {open_series_age, "to age series with"},
    {open_archive, "for archives"},
};

static int open_services(struct ctx *c, struct wr_db *db, const struct service *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!all[i].open(db))
            return fail(c, E_UNAVAILABLE, "The system gives no thread %s.", all[i].purpose);
    return E_OK;
}

/* ---- opening ---- */

static int open_engine(struct ctx *c, struct wr_db *db, const struct wr_options *o)
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

    for (size_t i = 0; i < o->engine_setting_count; i++)
        engine_options[i] =
            (struct engine_option){o->engine_settings[i].name, o->engine_settings[i].value};
    return engine_open(c, engine_name(o), &conf, &db->engine);
}

/* What follows from what the engine can do. */
static void adapt_to_engine(struct wr_db *db)
{
    db->keeps_indexes = engine_one_key_space(db->engine);
    if (!db->keeps_indexes)
        db->outboxes = outbox_queue_new();
    db->keeps_streams = engine_numbers(db->engine);
    db->keeps_change_logs = db->keeps_streams && engine_one_key_space(db->engine);
    if (db->keeps_streams && !engine_one_key_space(db->engine))
        db->drop_stream = stream_log_drop_all;
}

static int db_open(struct ctx *c, struct wr_db *db, const struct wr_options *o)
{
    TRY(apply_settings(c, db, o));
    TRY(open_engine(c, db, o));
    db->observe = db_observe;
    adapt_to_engine(db);
    db->row_locks = row_locks_new();
    TRY(open_sampler(c, db));
    TRY(catalog_read(c, db, o));
    TRY(db_clock_open(c, db, o->clock_reset));
    atomic_store(&db->servers, 1);
    clock_watch_open(db);
    db->opened_ms = clock_watch_ms(db);
    TRY(open_services(c, db, before_catalog, PORT_COUNT(before_catalog)));
    TRY(catalog_start(c, db->catalog));
    return open_services(c, db, behind_catalog, PORT_COUNT(behind_catalog));
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
    change_log_watch_free(db->changes);
    stream_carrier_free(db->carrier);
    stream_settle_free(db->settle);
    searches_free(db->searches);
    series_archive_free(db->archiver);
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

/* main.c: what it costs to keep a stream's records for so long and no longer, and what reading old
 * ones costs beside new ones.
 *
 * A database in this process, whose clocks are taken ahead, lives through so many hours, each with
 * so many changes a second. At the end of an hour the retention's steps are made, as its task would
 * make them, and what they and the compactions behind them take of the processor (user and system,
 * all threads) is set against the hour. At the end all records are read: none is missing between
 * the oldest that is kept and the last; and the processor time for the oldest and the newest is
 * compared. The database's own tasks are stopped meanwhile, so that nothing else counts.
 *
 * What retention costs goes by the bytes of an hour and of a table file: fewer records with larger
 * values make the files of many small ones in less time.
 *
 *   retention --work DIR [--rate RECORDS] [--keep HOURS] [--hours HOURS] [--value BYTES] */
#include "base/rng.h"
#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/stream/stream_record.h"
#include "table/stream/stream_retention.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define HOUR_S 3600
#define BATCH 200 /* changes of one request */
#define ROWS 5000 /* that are changed in turn */
#define VALUE_BYTES_MAX 65536
#define READ_RECORDS 100000 /* of one measurement */
#define READ_TURNS 15
#define SETTLE_US 100000 /* as long as nothing is computed for so long, it has settled */
#define SETTLE_TURNS 600
#define SHARE_MAX 2.0 /* percent of a processor */

static struct wr_db *db;
static int passed, failed;
static uint8_t pool[1 << 20]; /* values are parts of it that nothing compresses */
static int64_t rate = 1000, keep_h = 4, hours = 8, value_bytes = 100, written;

static void check(const char *what, bool ok)
{
    printf("%s%s\n", ok ? "ok: " : "FAILED: ", what);
    passed += ok;
    failed += !ok;
}

static int64_t turned_wall_us(struct clock *c)
{
    struct clock real;

    clock_real_init(&real);
    return clock_wall_us(&real) + __atomic_load_n(&c->set_us, __ATOMIC_RELAXED);
}

static int64_t turned_mono_us(struct clock *c)
{
    struct clock real;

    clock_real_init(&real);
    return clock_mono_us(&real) + __atomic_load_n(&c->set_us, __ATOMIC_RELAXED);
}

/* The simulated moment is so long behind the beginning. */
static void turn_to(int64_t began_us, int64_t us)
{
    int64_t ahead = began_us + us - clock_wall_us(&db->clock);

    if (ahead > 0)
        __atomic_fetch_add(&db->clock.set_us, ahead, __ATOMIC_RELAXED);
}

static double processor_s(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static double user_s(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_utime.tv_sec + (double)r.ru_utime.tv_usec / 1e6;
}

/* Until what was begun in the background has ended. */
static void settle(void)
{
    int quiet = 0;

    for (int i = 0; i < SETTLE_TURNS && quiet < 3; i++) {
        double was = processor_s();

        usleep(SETTLE_US);
        quiet = processor_s() - was < SETTLE_US / 1e6 / 20 ? quiet + 1 : 0;
    }
}

/* ---- requests ---- */

static struct wr_reply *run(struct wr_request *req)
{
    struct wr_reply *reply;

    req->instance = BYTES_LIT("test");
    reply = wr_exec(db, req);
    if (reply->code) {
        fprintf(stderr, "retention: %s: %s\n", wr_error_name(reply->code), reply->message);
        exit(1);
    }
    return reply;
}

static void pool_fill(void)
{
    struct rng r;

    rng_init(&r, 1);
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (uint8_t)rng_next(&r);
}

static void create(void)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("k"), .type = WR_BIGINT}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .reserved = {.has_read = true, .has_write = true},
        .stream = {.given = true,
                   .enable = true,
                   .has_expiration = true,
                   .expiration_h = (int32_t)keep_h}};
    wr_reply_free(run(&req));
}

/* The next BATCH changes: each says which it is. */
static void write_batch(void)
{
    struct wr_row_change changes[BATCH];
    struct wr_key_column keys[BATCH];
    struct wr_cell cells[BATCH][2];
    struct wr_table_write t = {BYTES_LIT("t"), changes, BATCH};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW,
                             .batch_write_row = {.tables = &t, .table_count = 1}};

    for (int i = 0; i < BATCH; i++, written++) {
        keys[i] =
            (struct wr_key_column){BYTES_LIT("k"), {.type = WR_BIGINT, .integer = written % ROWS}};
        cells[i][0] = (struct wr_cell){.name = BYTES_LIT("n"),
                                       .timestamp_ms = WR_TIMESTAMP_NONE,
                                       .value = {.type = WR_BIGINT, .integer = written}};
        cells[i][1] = (struct wr_cell){
            .name = BYTES_LIT("v"),
            .timestamp_ms = WR_TIMESTAMP_NONE,
            .value = {.type = WR_VARBINARY,
                      .bytes = {pool + (uint64_t)written * 7919 % (sizeof(pool) - VALUE_BYTES_MAX),
                                (size_t)value_bytes}}};
        changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {{&keys[i], 1}, cells[i], 2}};
    }
    wr_reply_free(run(&req));
}

/* ---- reading ---- */

struct place {
    char iterator[256];
    int64_t next; /* the change whose record comes; -1: any */
    bool more;
};

static void place_at(struct place *p, int64_t time_us)
{
    struct wr_request list = {.op = WR_OP_LIST_STREAM, .list_stream.table = BYTES_LIT("t")};
    struct wr_reply *streams = run(&list), *stream, *iterator;
    struct wr_request describe = {
        .op = WR_OP_DESCRIBE_STREAM,
        .describe_stream = {.table = BYTES_LIT("t"), .stream = streams->streams.streams[0].id}};
    struct wr_request get = {.op = WR_OP_GET_SHARD_ITERATOR,
                             .get_shard_iterator = {.table = BYTES_LIT("t"),
                                                    .stream = streams->streams.streams[0].id,
                                                    .has_timestamp = time_us > 0,
                                                    .timestamp_us = time_us}};

    stream = run(&describe);
    get.get_shard_iterator.shard = stream->stream.shards[0].id;
    iterator = run(&get);
    *p = (struct place){.next = -1, .more = true};
    snprintf(p->iterator, sizeof(p->iterator), "%.*s",
             BYTES_FMT(iterator->shard_iterator.iterator));
    wr_reply_free(iterator);
    wr_reply_free(stream);
    wr_reply_free(streams);
}

/* Up to so many records; returns how many. One that is missing ends the program. */
static int64_t read_from(struct place *p, int64_t max)
{
    int64_t count = 0;

    while (p->more && count < max) {
        struct wr_request get = {
            .op = WR_OP_GET_STREAM_RECORD,
            .get_stream_record = {.table = BYTES_LIT("t"), .iterator = bytes_str(p->iterator)}};
        struct wr_reply *reply = run(&get);
        const struct wr_stream_records *page = &reply->stream_records;

        for (size_t i = 0; i < page->count; i++, p->next++) {
            int64_t n = page->records[i].row.cells[0].value.integer;

            if (p->next < 0)
                p->next = n;
            if (n != p->next) {
                printf("FAILED: the record of change %lld comes in the place of %lld\n",
                       (long long)n, (long long)p->next);
                exit(1);
            }
        }
        count += (int64_t)page->count;
        snprintf(p->iterator, sizeof(p->iterator), "%.*s", BYTES_FMT(page->next));
        p->more = page->more;
        wr_reply_free(reply);
    }
    return count;
}

/* User time in nanoseconds for a record, of so many from a time on. */
static double read_cost(int64_t time_us)
{
    struct place p;
    double was;
    int64_t n;

    place_at(&p, time_us);
    was = user_s();
    n = read_from(&p, READ_RECORDS);
    return n ? (user_s() - was) * 1e9 / (double)n : 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The oldest and younger ones, both from files, and the newest, which are in memory still: reading
 * these takes less whatever is kept, for no block is looked up and no key put together. */
static void compare_reads(void)
{
    enum { OLD, YOUNG, NEW, AGES };
    double cost[AGES][READ_TURNS], to_young[READ_TURNS], to_new[READ_TURNS];
    int64_t now_us = clock_wall_us(&db->clock);
    int64_t times_us[AGES] = {[YOUNG] = now_us - keep_h * HOUR_S * 1000000ll / 4,
                              [NEW] = now_us - READ_RECORDS * 1000000ll / rate};

    settle();
    for (int i = 0; i < READ_TURNS; i++) {
        for (int age = OLD; age < AGES; age++)
            cost[age][i] = read_cost(times_us[age]);
        to_young[i] = cost[OLD][i] / cost[YOUNG][i];
        to_new[i] = cost[OLD][i] / cost[NEW][i];
    }
    for (int age = OLD; age < AGES; age++)
        qsort(cost[age], READ_TURNS, sizeof(cost[age][0]), by_value);
    qsort(to_young, READ_TURNS, sizeof(to_young[0]), by_value);
    qsort(to_new, READ_TURNS, sizeof(to_new[0]), by_value);
    printf("reading: the oldest %.0f ns of user time a record, younger ones %.0f ns: %.2fx; the "
           "newest %.0f ns: %.2fx (medians of %d turns)\n",
           cost[OLD][READ_TURNS / 2], cost[YOUNG][READ_TURNS / 2], to_young[READ_TURNS / 2],
           cost[NEW][READ_TURNS / 2], to_new[READ_TURNS / 2], READ_TURNS);
}

/* ---- hours ---- */

/* Makes the retention's steps, and returns what they took. */
static double retain(void)
{
    double was;
    bool more = true;

    settle();
    was = processor_s();
    while (more)
        if (stream_retention_some(db->retention, &more))
            exit(1);
    settle();
    return processor_s() - was;
}

/* About how many bytes are stored of the stream's only shard between two times. */
static double stored_mib(int64_t from_us, int64_t to_us)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), BYTES_LIT("t"));
    uint32_t location = t->schema.stream.location;
    struct key_range range;
    struct partition_spec spec = {.id = location, .ranges = &range, .range_count = 1};
    uint64_t size;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    range = (struct key_range){stream_record_key(&c.arena, location, 0, (uint64_t)from_us),
                               stream_record_key(&c.arena, location, 0, (uint64_t)to_us)};
    if (engine_size(&c, db->engine, &spec, &size))
        exit(1);
    ctx_release(&c);
    table_release(t);
    return (double)size / (1 << 20);
}

static void check_stored(void)
{
    int64_t oldest_us = clock_wall_us(&db->clock) - keep_h * HOUR_S * 1000000ll;
    double left = stored_mib(0, oldest_us - HOUR_S * 1000000ll);
    double kept = stored_mib(oldest_us - HOUR_S * 1000000ll, INT64_MAX);

    printf("%.1f MiB are stored that expired an hour ago, %.1f MiB of later ones\n", left, kept);
    check("what has expired is at most a quarter of what is kept", left <= kept / 4 + 1);
}

static void live(void)
{
    int64_t began_us = clock_wall_us(&db->clock), removed = 0;
    double writing = 0, retaining = 0;

    for (int64_t h = 0; h < hours; h++) {
        double was = processor_s(), took;

        for (int64_t i = 0; i < rate * HOUR_S / BATCH; i++) {
            write_batch();
            turn_to(began_us, h * HOUR_S * 1000000ll + (i + 1) * BATCH * 1000000ll / rate);
        }
        was = processor_s() - was;
        writing += was;
        took = retain();
        printf("hour %lld: writing %.2f s of a processor, retention %.3f s\n", (long long)h, was,
               took);
        fflush(stdout);
        if (h > keep_h + 1) {
            retaining += took;
            removed++;
        }
    }
    printf("%lld hours of %lld records a second, kept for %lld hours: an hour's writing took %.1f "
           "s of "
           "a processor\n",
           (long long)hours, (long long)rate, (long long)keep_h, writing / (double)hours);
    if (!removed)
        return;
    printf("retention of an hour's %lld records: %.2f s of a processor, %.3f %% of the hour\n",
           (long long)(rate * HOUR_S), retaining / (double)removed,
           retaining / (double)removed / HOUR_S * 100);
    check("retention takes at most 2 % of a processor",
          retaining / (double)removed / HOUR_S * 100 <= SHARE_MAX);
    check_stored();
}

static void check_kept(void)
{
    int64_t kept = keep_h * HOUR_S * rate, n;
    struct place p;

    place_at(&p, 0);
    n = read_from(&p, INT64_MAX);
    printf("%lld records are there of %lld changes; of the time that they are kept are %lld\n",
           (long long)n, (long long)written, (long long)kept);
    check("the last record is that of the last change", p.next == written);
    check("what is kept is there, and no more", n >= kept - rate * 60 && n <= kept + rate * 60);
}

static int64_t number_of(const char *text)
{
    char *end;
    int64_t n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno || *end || n < 1) {
        fprintf(stderr, "retention: not a number: %s\n", text);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .no_sync = true,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    char message[256];

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--work"))
            o.dir = argv[i + 1];
        else if (!strcmp(argv[i], "--rate"))
            rate = number_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--keep"))
            keep_h = number_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--hours"))
            hours = number_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--value"))
            value_bytes = number_of(argv[i + 1]);
    }
    if (value_bytes > VALUE_BYTES_MAX) {
        fprintf(stderr, "retention: --value is at most %d\n", VALUE_BYTES_MAX);
        return 2;
    }
    if (!o.dir || wr_open(&o, &db, message, sizeof(message))) {
        fprintf(stderr, "retention: %s\n", o.dir ? message : "--work DIR");
        return 2;
    }
    scheduler_stop(db->background);
    db->clock = (struct clock){.wall_us = turned_wall_us, .mono_us = turned_mono_us};
    pool_fill();
    create();
    live();
    check_kept();
    compare_reads();
    printf("retention: %d passed, %d failed, 0 skipped\n", passed, failed);
    fflush(stdout);
    _exit(failed != 0); /* it is not closed: its tasks have ended before */
}

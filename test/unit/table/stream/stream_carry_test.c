/* Change records are carried from beside their rows into the logs of their shards by several
 * carriers, some of which die half-way, while rows are written: at the end each change is in a log
 * once, those of a row in their order, and they make the table. In memory, and on a Ceph pool,
 * where two databases share the table and its partitions are split meanwhile, if TEST_CEPH_CONF
 * names the configuration of a cluster with a pool `data`. No client can make such tables on a pool
 * yet: the test lets itself. */
#include "table/stream/stream_carry.h"

#include "base/fault.h"
#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/stream/stream_beside.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_observer.h"
#include "table/stream/stream_record.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../servers.h"

#define INSTANCE BYTES_LIT("test")
#define TABLE BYTES_LIT("t")
#define WRITERS 4
#define CARRIERS 3
#define COUNTED 12 /* rows that are only incremented: 0 to here, */
#define ROWS 24    /* and others that are put, updated and deleted */
#define SHARDS 2

static atomic_bool writers_ended;
static atomic_llong turn; /* the value that somebody writes next: none comes twice */

static void observe(struct wr_db *db, struct table *t)
{
    (void)db;
    if (t->schema.stream.location)
        stream_observe_by(t, stream_beside_record);
}

static void prepare(struct wr_db *db)
{
    db->observe = observe;
    db->keeps_streams = true;
}

static void begin(const char *engine, int count)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT}};
    const struct wr_partition_range ranges[SHARDS] = {
        {{.type = WR_INF_MIN}, {.type = WR_BIGINT, .integer = 8}},
        {{.type = WR_BIGINT, .integer = 8}, {.type = WR_INF_MAX}}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    servers_open(engine, count, prepare);
    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = key,
        .key_count = 1,
        .partitions = ranges,
        .partition_count = SHARDS,
        .stream = {.given = true, .enable = true, .has_expiration = true, .expiration_h = 24},
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(servers[0], &req), 0);
}

static void end(void)
{
    for (int i = 0; i < server_count; i++)
        servers[i]->keeps_streams = engine_one_key_space(servers[i]->engine);
    servers_close();
}

static struct table *open_table(struct ctx *c, struct wr_db *db)
{
    struct table *t;

    ctx_init(c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(c, db->catalog, INSTANCE, TABLE, &t), 0);
    return t;
}

static void close_table(struct ctx *c, struct table *t)
{
    table_release(t);
    ctx_release(c);
}

static struct stream_log log_of(const struct table *t, uint16_t shard)
{
    return (struct stream_log){
        .engine = t->db->engine, .location = t->schema.stream.location, .shard = shard};
}

/* ---- writers ---- */

struct worker {
    pthread_t thread;
    struct wr_db *db;
    uint64_t seed;
    size_t steps, done;
};

static int change(struct wr_db *db, enum wr_change_type type, int64_t row, struct wr_cell *cell)
{
    struct wr_key_column key = {BYTES_LIT("p"), {.type = WR_BIGINT, .integer = row}};
    struct wr_request req = {.op = type == WR_PUT      ? WR_OP_PUT_ROW
                                   : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                       : WR_OP_DELETE_ROW};

    req.put_row = (struct wr_row_change){
        .type = type, .table = TABLE, .row = {{&key, 1}, cell, cell != NULL}};
    return database_run(db, &req);
}

static int write_some(struct wr_db *db, struct rng *r)
{
    int64_t row = (int64_t)rng_below(r, ROWS);
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .op = WR_CELL_INCREMENT,
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    enum wr_change_type types[] = {WR_PUT, WR_UPDATE, WR_PUT, WR_DELETE};
    enum wr_change_type type = types[rng_below(r, 4)];

    if (row < COUNTED)
        return change(db, WR_UPDATE, row, &cell);
    cell.op = WR_CELL_PUT;
    cell.value.integer = atomic_fetch_add(&turn, 1);
    return change(db, type, row, type == WR_DELETE ? NULL : &cell);
}

static void *writer_main(void *arg)
{
    struct worker *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    for (size_t i = 0; i < w->steps; i++) {
        int code = write_some(w->db, &r);

        assert_true(code == 0 || code == E_BUSY || code == E_CONFLICT);
        w->done += !code;
    }
    return NULL;
}

/* ---- carriers ---- */

/* False: it died, or came to nothing. */
static bool carry(struct wr_db *db)
{
    struct ctx c;
    struct table *t = open_table(&c, db);
    size_t carried;
    int code = stream_carry_all(&c, t, &carried);

    if (code && code != E_BUSY)
        print_message("%d %s\n", code, c.text ? c.text : "");
    assert_true(code == 0 || code == E_BUSY);
    close_table(&c, t);
    return !code;
}

/* One page of a walk at a time, and then perhaps no more. */
static void *carrier_main(void *arg)
{
    struct worker *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    while (!atomic_load(&writers_ended)) {
        struct ctx c;
        struct table *t = open_table(&c, w->db);
        struct stream_carry walk = {.table = t, .c = &c};

#ifdef WR_FAULTS
        if (rng_below(&r, 3) == 0)
            fault_arm(rng_below(&r, 2) ? "carry_appended:error:1" : "carry_removed:error:1");
#endif
        if (rng_below(&r, 2))
            (void)stream_carry_page(&walk);
        else
            (void)carry(w->db);
        w->done += walk.carried;
        close_table(&c, t);
    }
    return NULL;
}

/* The table's first partition is cut in two. */
static void split_table(struct wr_db *db, int64_t at)
{
    struct wr_value value = {.type = WR_BIGINT, .integer = at};
    struct ctx c;
    struct table *t = open_table(&c, db);
    struct buf b;
    bytes bound;

    buf_init(&b, &c.arena, 16);
    buf_put_u8(&b, 0);
    assert_true(key_put_column(&b, &t->schema.location.key[0], &value));
    bound = buf_bytes(&b);
    assert_int_equal(catalog_repartition(&c, t, 0, 1, &bound, 1), 0);
    close_table(&c, t);
}

static void write_and_carry(size_t steps, int64_t split_at)
{
    struct worker writers[WRITERS], carriers[CARRIERS];
    size_t done = 0;

    atomic_store(&writers_ended, false);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct worker){.db = servers[i % (size_t)server_count],
                                     .seed = (uint64_t)split_at + 10 + i,
                                     .steps = steps};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    for (size_t i = 0; i < CARRIERS; i++) {
        carriers[i] = (struct worker){.db = servers[i % (size_t)server_count], .seed = i};
        assert_int_equal(pthread_create(&carriers[i].thread, NULL, carrier_main, &carriers[i]), 0);
    }
    if (server_count > 1)
        split_table(servers[0], split_at);
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        done += writers[i].done;
    }
    atomic_store(&writers_ended, true);
    for (size_t i = 0; i < CARRIERS; i++)
        pthread_join(carriers[i].thread, NULL);
#ifdef WR_FAULTS
    fault_arm(NULL);
#endif
    assert_true(done > WRITERS * steps / 3);
}

/* ---- what came of it ---- */

struct replayed {
    int64_t values[ROWS]; /* of column a; 0: none */
    bool there[ROWS];
    size_t count;
};

/* Increments come one by one; what others put comes once. */
static void replay(struct replayed *x, const struct wr_stream_record *r, char *seen)
{
    int64_t row = r->row.key.columns[0].value.integer, value;

    assert_in_range(row, 0, ROWS - 1);
    x->count++;
    x->there[row] = r->type != WR_DELETE;
    if (r->type == WR_DELETE)
        x->values[row] = 0;
    if (!r->row.cell_count)
        return;
    value = r->row.cells[0].value.integer;
    if (row < COUNTED) {
        assert_int_equal(value, x->values[row] + 1);
    } else {
        assert_false(seen[value]);
        seen[value] = 1;
    }
    x->values[row] = value;
}

static void read_log(struct ctx *c, struct table *t, uint16_t shard, struct replayed *x, char *seen)
{
    struct stream_log log = log_of(t, shard);
    struct page page = {.more = true};
    uint64_t from = 0;

    while (page.more) {
        assert_int_equal(stream_log_read(c, &log, from, 70, 1 << 20, &page), 0);
        for (size_t i = 0; i < page.count; i++) {
            uint64_t number = stream_record_number(page.items[i].key);
            struct wr_stream_record r;

            assert_true(number >= from);
            from = number + 1;
            assert_int_equal(stream_record_decode(c, page.items[i].key, page.items[i].value,
                                                  t->schema.d.key, 1, &r),
                             0);
            replay(x, &r, seen);
        }
    }
}

/* The value of the row; 0: it has none. */
static int64_t value_of(struct wr_db *db, int64_t row, bool *there)
{
    struct wr_key_column key = {BYTES_LIT("p"), {.type = WR_BIGINT, .integer = row}};
    struct wr_request req = {.op = WR_OP_GET_ROW, .instance = INSTANCE};
    struct wr_reply *reply;
    int64_t value;

    req.get_row = (struct wr_get_row){
        .table = TABLE, .key = {&key, 1}, .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    *there = reply->row.row.key.count > 0;
    value = *there && reply->row.row.cell_count ? reply->row.row.cells[0].value.integer : 0;
    wr_reply_free(reply);
    return value;
}

/* Nobody writes. */
static void check_logs(void)
{
    char *seen = mem_zalloc((size_t)atomic_load(&turn) + 1);
    struct replayed x = {.count = 0};
    struct ctx c;
    struct table *t;

    while (!carry(servers[0]))
        ;
    t = open_table(&c, servers[server_count - 1]);
    assert_int_equal(t->schema.stream.shards, SHARDS);
    for (uint16_t i = 0; i < SHARDS; i++)
        read_log(&c, t, i, &x, seen);
    for (int64_t row = 0; row < ROWS; row++) {
        bool there;

        assert_int_equal(x.values[row], value_of(servers[0], row, &there));
        assert_int_equal(x.there[row], there);
    }
    assert_true(x.count > 0);
    close_table(&c, t);
    mem_free(seen);
}

static void changes_are_carried(const char *engine, int count, size_t steps)
{
    atomic_store(&turn, 1);
    begin(engine, count);
    write_and_carry(steps, 4);
    check_logs();
    write_and_carry(steps, 2);
    check_logs();
    end();
}

static void changes_are_carried_in_memory(void **state)
{
    (void)state;
    changes_are_carried("mem", 1, 2000);
}

static void changes_are_carried_on_a_pool(void **state)
{
    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    changes_are_carried("rados", SERVERS_MAX, 200);
}

/* ---- the log alone ---- */

static void append(struct ctx *c, struct stream_log *log, size_t count, size_t size, int expected)
{
    struct stream_entry *entries = ARENA_ARRAY(&c->arena, struct stream_entry, count);
    static uint64_t id;

    for (size_t i = 0; i < count; i++)
        entries[i] =
            (struct stream_entry){{++id, 0}, bytes_of(arena_zalloc(&c->arena, size), size)};
    assert_int_equal(
        stream_log_append(c, log, entries, count, log->tail.taken, log->tail.taken_count),
        expected);
}

static size_t count_from(struct ctx *c, struct stream_log *log, uint64_t from)
{
    struct page page = {.more = true};
    size_t count = 0;

    while (page.more) {
        assert_int_equal(stream_log_read(c, log, from, 50, 1 << 22, &page), 0);
        count += page.count;
        if (page.count)
            from = stream_record_number(page.items[page.count - 1].key) + 1;
    }
    return count;
}

/* Two who opened the log at once: one appends. Then it grows over several segments, is read from
 * any number on, loses its oldest, and goes. */
static void log_grows_and_goes(const char *engine)
{
    struct stream_log log, other;
    uint64_t middle = 0;
    struct table *t;
    struct ctx c;

    begin(engine, 1);
    t = open_table(&c, servers[0]);
    log = log_of(t, 1);
    other = log;
    assert_int_equal(count_from(&c, &log, 0), 0);
    assert_int_equal(stream_log_open(&c, &log), 0);
    assert_int_equal(stream_log_open(&c, &other), 0);
    append(&c, &log, 2, 10, E_OK);
    append(&c, &other, 2, 10, E_GUARD);
    ctx_clear(&c);
    assert_int_equal(count_from(&c, &log, 0), 2);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(stream_log_open(&c, &log), 0);
        assert_int_equal(log.segment, i / 3);
        append(&c, &log, 3, 1 << 19, E_OK);
        if (i == 5)
            middle = log.tail.last;
    }
    assert_int_equal(count_from(&c, &other, 0), 38);
    assert_int_equal(count_from(&c, &other, middle), 19);
    assert_int_equal(stream_log_trim(&c, &log, middle + 1), 0);
    assert_int_equal(stream_log_trim(&c, &log, middle + 1), 0);
    other.segment = 0;
    assert_int_equal(count_from(&c, &other, 0), 18);
    assert_int_equal(stream_log_open(&c, &other), 0);
    append(&c, &other, 1, 10, E_OK);
    assert_int_equal(count_from(&c, &log, 0), 19);
    assert_int_equal(stream_log_drop(&c, &log), 0);
    assert_int_equal(stream_log_drop(&c, &log), 0);
    assert_int_equal(count_from(&c, &log, 0), 0);
    if (strcmp(engine, "rados") == 0) {
        append(&c, &other, 1, 10, E_PARTITION);
        ctx_clear(&c);
        assert_int_equal(stream_log_open(&c, &log), E_PARTITION);
    }
    close_table(&c, t);
    end();
}

static void log_in_memory(void **state)
{
    (void)state;
    log_grows_and_goes("mem");
}

static void log_on_a_pool(void **state)
{
    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    log_grows_and_goes("rados");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_in_memory),
        cmocka_unit_test(log_on_a_pool),
        cmocka_unit_test(changes_are_carried_in_memory),
        cmocka_unit_test(changes_are_carried_on_a_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

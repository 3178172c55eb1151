/* Outbox records are drained into indexes by several drainers, while rows are written: at the end
 * an index is what its table's rows are. In memory, and on a Ceph pool, where two databases share
 * the tables and partitions are split meanwhile, if TEST_CEPH_CONF names the configuration of a
 * cluster with a pool `data`. No client can make such tables on a pool yet: the test lets itself.
 */
#include "table/maint/index_drain.h"

#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/index/outbox.h"
#include "table/index/outbox_observer.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../changes.h"
#include "../servers.h"
#include "table/model/key.h"

#define INSTANCE BYTES_LIT("test")
#define WRITERS 3
#define DRAINERS 3
#define VALUES 6 /* few, so that entries come again where they went */

static const struct wr_defined_column defined[] = {{BYTES_LIT("a"), WR_BIGINT},
                                                   {BYTES_LIT("b"), WR_BIGINT}};
static const bytes by_a[] = {BYTES_LIT("a")}, by_p_b[] = {BYTES_LIT("p"), BYTES_LIT("b")},
                   covers_b[] = {BYTES_LIT("b")};
static const struct wr_index_meta metas[] = {{BYTES_LIT("ix_a"), by_a, 1, covers_b, 1, .type = 0},
                                             {BYTES_LIT("ix_p_b"), by_p_b, 2, NULL, 0, .type = 0}};

static void observe(struct wr_db *db, struct table *t)
{
    (void)db;
    if (t->schema.index_count)
        outbox_observe(t);
}

static void prepare(struct wr_db *db)
{
    db->observe = observe;
    db->keeps_indexes = true;
}

static void begin(const char *engine, int count)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    changes_keys_make();
    servers_open(engine, count, prepare);
    req.create_table = (struct wr_create_table){
        .table = CHANGES_TABLE,
        .key = changes_key_schema,
        .key_count = 2,
        .defined = defined,
        .defined_count = PORT_COUNT(defined),
        .indexes = metas,
        .index_count = PORT_COUNT(metas),
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(database_run(servers[0], &req), 0);
}

/* ---- drainers ---- */

/* All records once; gives how many are left. */
static size_t drain(struct wr_db *db, uint64_t due)
{
    struct index_drain d = {.due = due};
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    d.c = &c;
    assert_int_equal(catalog_find(&c, db->catalog, INSTANCE, CHANGES_TABLE, &d.table), 0);
    while (!d.ended) {
        int code = index_drain_page(&d);

        if (code)
            print_message("%d %s\n", code, c.text ? c.text : "");
        assert_int_equal(code, 0);
    }
    table_release(d.table);
    ctx_release(&c);
    return d.left;
}

/* What is stored of a kind in a table, through one bucket. */
static size_t stored_in(struct wr_db *db, bytes table, enum key_kind kind)
{
    struct page page = {0};
    struct key_range range;
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 100000,
                        .bytes_max = 1 << 28,
                        .pages = &page};
    struct table *t;
    struct ctx c;
    uint32_t id;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(&c, db->catalog, INSTANCE, table, &t), 0);
    id = t->schema.location.id;
    range = (struct key_range){key_prefix(&c.arena, id, 0, kind),
                               key_prefix(&c.arena, id, 0, kind + 1)};
    assert_int_equal(route_scan_now(&c, t, &scan), 0);
    table_release(t);
    ctx_release(&c);
    return page.count;
}

/* ---- what clients read ---- */

static struct wr_reply *all_rows(struct wr_db *db, bytes table, const char *const *names, size_t n)
{
    struct wr_key_column low[4], high[4];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = INSTANCE};
    struct wr_reply *reply;

    for (size_t i = 0; i < n; i++) {
        low[i] = (struct wr_key_column){bytes_str(names[i]), {.type = WR_INF_MIN}};
        high[i] = (struct wr_key_column){bytes_str(names[i]), {.type = WR_INF_MAX}};
    }
    req.get_range = (struct wr_get_range){.table = table,
                                          .start = {low, n},
                                          .end = {high, n},
                                          .read = {.has_max_versions = true, .max_versions = 1}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->range.next.count, 0);
    return reply;
}

static const struct wr_value *value_in(const struct wr_row *row, const char *name)
{
    for (size_t i = 0; i < row->key.count; i++)
        if (bytes_equal(row->key.columns[i].name, bytes_str(name)))
            return &row->key.columns[i].value;
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, bytes_str(name)))
            return &row->cells[i].value;
    return NULL;
}

/* Are all columns that the index has the row's? */
static bool stands_for(const struct wr_row *entry, const struct wr_row *row,
                       const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wr_value *x = value_in(entry, names[i]), *y = value_in(row, names[i]);

        if (!x != !y || (x && x->integer != y->integer))
            return false;
    }
    return true;
}

/* Entries that no row has, and rows with `column` that have none. */
static size_t differences(struct wr_db *db, bytes index, const char *column,
                          const char *const *names, size_t key_count, size_t n)
{
    static const char *const base[] = {"p", "pk"};
    struct wr_reply *rows = all_rows(db, CHANGES_TABLE, base, 2),
                    *entries = all_rows(db, index, names, key_count);
    size_t wrong = 0;

    for (size_t i = 0; i < rows->range.row_count; i++) {
        size_t found = 0;

        for (size_t j = 0; j < entries->range.row_count; j++)
            found += stands_for(&entries->range.rows[j], &rows->range.rows[i], names, n);
        wrong += found != (value_in(&rows->range.rows[i], column) != NULL);
    }
    for (size_t j = 0; j < entries->range.row_count; j++) {
        bool is_one = false;

        for (size_t i = 0; i < rows->range.row_count; i++)
            is_one |= stands_for(&entries->range.rows[j], &rows->range.rows[i], names, n);
        wrong += !is_one;
    }
    wr_reply_free(rows);
    wr_reply_free(entries);
    return wrong;
}

static void check_indexes(void)
{
    static const char *const a[] = {"a", "p", "pk", "b"}, *const b[] = {"p", "b", "pk"};

    for (int i = 0; i < server_count; i++) {
        assert_int_equal(differences(servers[i], metas[0].name, "a", a, 3, 4), 0);
        assert_int_equal(differences(servers[i], metas[1].name, "b", b, 3, 3), 0);
    }
}

/* ---- writers ---- */

static int random_write(struct wr_db *db, struct rng *r)
{
    int row = (int)rng_below(r, CHANGES_ROWS), what = (int)rng_below(r, 8);
    struct wr_cell cells[] = {integer_cell(0, (int64_t)rng_below(r, VALUES), WR_CELL_PUT),
                              integer_cell(1, (int64_t)rng_below(r, VALUES), WR_CELL_PUT)};
    struct wr_cell gone = integer_cell((int)rng_below(r, 2), 0, WR_CELL_DELETE_ALL);

    return what == 0   ? change_row(db, WR_DELETE, row, NULL, 0)
           : what == 1 ? change_row(db, WR_UPDATE, row, &gone, 1)
           : what < 4  ? change_row(db, WR_PUT, row, cells, 2)
                       : change_row(db, WR_UPDATE, row, &cells[what % 2], 1);
}

struct worker {
    pthread_t thread;
    struct wr_db *db;
    uint64_t seed;
    size_t steps, done; /* of a writer; a drainer has no steps */
};

static atomic_bool writers_ended;

static void *writer_main(void *arg)
{
    struct worker *w = arg;
    struct rng r;

    rng_init(&r, w->seed);
    for (size_t i = 0; i < w->steps; i++) {
        int code = random_write(w->db, &r);

        /* Where nobody else writes, nothing is decided anew. */
        assert_true(code == 0 || code == E_BUSY || (code == E_CONFLICT && server_count == 1));
        w->done += !code;
    }
    return NULL;
}

/* Marks go now at once, now later. */
static void *drainer_main(void *arg)
{
    struct worker *w = arg;

    for (uint64_t round = w->seed; !atomic_load(&writers_ended); round++)
        drain(w->db, round % 3 ? 0 : UINT64_MAX);
    return NULL;
}

/* Index ix_a is cut in two, between its values. */
static void split_index(struct wr_db *db)
{
    struct wr_value value = {.type = WR_BIGINT, .integer = VALUES / 2};
    struct table *t;
    struct ctx c;
    struct buf b;
    bytes bound;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(&c, db->catalog, INSTANCE, metas[0].name, &t), 0);
    buf_init(&b, &c.arena, 16);
    buf_put_u8(&b, 0);
    assert_true(key_put_column(&b, &t->schema.location.key[0], &value));
    bound = buf_bytes(&b);
    assert_int_equal(catalog_repartition(&c, t, 0, 1, &bound, 1), 0);
    table_release(t);
    ctx_release(&c);
}

static void write_and_drain(size_t steps, bool splits)
{
    struct worker writers[WRITERS], drainers[DRAINERS];
    size_t done = 0;

    atomic_store(&writers_ended, false);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct worker){
            .db = servers[i % (size_t)server_count], .seed = 10 + i, .steps = steps};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    for (size_t i = 0; i < DRAINERS; i++) {
        drainers[i] = (struct worker){.db = servers[i % (size_t)server_count], .seed = i};
        assert_int_equal(pthread_create(&drainers[i].thread, NULL, drainer_main, &drainers[i]), 0);
    }
    if (splits)
        split_index(servers[0]);
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        done += writers[i].done;
    }
    atomic_store(&writers_ended, true);
    for (size_t i = 0; i < DRAINERS; i++)
        pthread_join(drainers[i].thread, NULL);
    assert_true(done > WRITERS * steps / 3);
}

/* Nobody writes: records become settled, and then go with their marks. */
static void come_to_rest(void)
{
    drain(servers[0], 0);
    check_indexes();
    assert_int_equal(drain(servers[0], UINT64_MAX), 0);
    check_indexes();
    assert_int_equal(stored_in(servers[0], CHANGES_TABLE, KIND_CHANGE), 0);
    for (size_t i = 0; i < PORT_COUNT(metas); i++)
        assert_true(stored_in(servers[0], metas[i].name, KIND_CHANGE) <= 2); /* fences */
}

static void entries_follow(const char *engine, int count, size_t steps)
{
    begin(engine, count);
    write_and_drain(steps, false);
    come_to_rest();
    write_and_drain(steps, count > 1);
    come_to_rest();
    assert_true(stored_in(servers[0], metas[0].name, KIND_RECORD) > 0);
    servers_close();
}

static void entries_follow_in_memory(void **state)
{
    (void)state;
    entries_follow("mem", 1, 2000);
}

static void entries_follow_on_a_pool(void **state)
{
    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    entries_follow("rados", SERVERS_MAX, 100);
}

/* An index that is no more is struck out of the records, by whoever drains them. */
static void dropped_index_goes(void **state)
{
    struct wr_request req = {.op = WR_OP_DROP_INDEX, .drop_index = {CHANGES_TABLE, metas[0].name}};
    struct rng r;

    (void)state;
    rng_init(&r, 3);
    begin("mem", 1);
    for (int i = 0; i < 50; i++)
        (void)random_write(servers[0], &r);
    assert_true(stored_in(servers[0], CHANGES_TABLE, KIND_CHANGE) > 0);
    assert_int_equal(database_run(servers[0], &req), 0);
    assert_int_equal(drain(servers[0], UINT64_MAX), 0);
    assert_int_equal(stored_in(servers[0], CHANGES_TABLE, KIND_CHANGE), 0);
    servers_close();
}

/* ---- an index of later writes ---- */

static const bytes by_b[] = {BYTES_LIT("b")};
static const struct wr_index_meta later = {BYTES_LIT("ix_b"), by_b, 1, NULL, 0, .type = 0};

struct creation {
    pthread_t thread;
    int code;
    atomic_bool answered;
};

static void *creation_main(void *arg)
{
    struct wr_request req = {.op = WR_OP_CREATE_INDEX,
                             .create_index = {CHANGES_TABLE, later, .include_base_data = false}};
    struct creation *x = arg;

    x->code = database_run(servers[0], &req);
    atomic_store(&x->answered, true);
    return NULL;
}

/* Of `later` in a description; 0: it is not there. */
static int phase_in(const struct table *t)
{
    const struct index *x = index_find(t->schema.indexes, t->schema.index_count, later.name);

    return x ? (int)x->phase : 0;
}

/* The server's first description of the table with the index in another phase; referenced. */
static struct table *hold_next(struct wr_db *db, int phase)
{
    for (;;) {
        struct table *t = catalog_get(db->catalog, INSTANCE, CHANGES_TABLE);

        if (t && phase_in(t) != phase)
            return t;
        table_release(t);
        usleep(1000);
    }
}

/* A request of another server, which holds the description it began with, still goes by one in
 * which the index is only coming: CreateIndex has no answer, for what it writes has no entry. */
static void is_answered_when_all_bring_entries(void **state)
{
    struct creation x = {.code = 0};
    struct table *without, *coming, *filled;
    struct wr_cell b = integer_cell(1, 1, WR_CELL_PUT);

    (void)state;
    if (!getenv("TEST_CEPH_CONF"))
        skip();
    begin("rados", SERVERS_MAX);
    without = hold_next(servers[1], -1);
    assert_int_equal(pthread_create(&x.thread, NULL, creation_main, &x), 0);
    coming = hold_next(servers[1], 0);
    assert_int_equal(phase_in(coming), INDEX_COMING);
    table_release(without);
    filled = hold_next(servers[1], INDEX_COMING);
    assert_int_equal(phase_in(filled), INDEX_FULL);
    usleep(100000); /* for who would not wait */
    assert_false(atomic_load(&x.answered));
    table_release(filled);
    table_release(coming);
    pthread_join(x.thread, NULL);
    assert_int_equal(x.code, 0);
    for (int i = 0; i < SERVERS_MAX; i++)
        assert_int_equal(change_row(servers[i], WR_PUT, i, &b, 1), 0);
    drain(servers[0], 0);
    assert_int_equal(stored_in(servers[0], later.name, KIND_RECORD), SERVERS_MAX);
    servers_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_follow_in_memory),
        cmocka_unit_test(dropped_index_goes),
        cmocka_unit_test(entries_follow_on_a_pool),
        cmocka_unit_test(is_answered_when_all_bring_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

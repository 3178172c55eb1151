/* Numbers that processes over one pool give out: on a Ceph pool, if TEST_CEPH_CONF names the
 * configuration of a cluster that has a pool `data`. Several databases are open in this process,
 * and write rows whose keys are such numbers: a number that comes twice loses a row. Those of one
 * batch rise in its order, whatever is split meanwhile. With TIER=nightly as many of them come and
 * go as there are slots, half a minute long. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <unistd.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define SLOTS 1024
#define BATCH 200

static char namespace[64];

static struct wr_db *db_open_with(const char *partition_bytes_max)
{
    struct wr_setting engine[] = {
        {"ceph_conf", getenv("TEST_CEPH_CONF")}, {"pool", "data"}, {"namespace", namespace}};
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"},
                                    {"partition_idle_s", "1"},
                                    {"partition_bytes_max", partition_bytes_max}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "rados",
                           .engine_settings = engine,
                           .engine_setting_count = PORT_COUNT(engine),
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    return database_open(&o);
}

static struct wr_db *db_open(void)
{
    return db_open_with("10737418240");
}

static int create_with(struct wr_db *db, const struct wr_index_meta *indexes, size_t index_count)
{
    static const struct wr_defined_column defined = {BYTES_LIT("v"), WR_BIGINT};
    struct wr_key_schema key[] = {
        {.name = BYTES_LIT("p"), .type = WR_BIGINT},
        {.name = BYTES_LIT("n"), .type = WR_BIGINT, .auto_increment = true}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    int code;

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = key,
        .key_count = 2,
        .defined = &defined,
        .defined_count = 1,
        .indexes = indexes,
        .index_count = index_count,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    reply = wr_exec(db, &req);
    code = reply->code;
    if (code)
        print_message("%s\n", reply->message);
    wr_reply_free(reply);
    return code;
}

static int create(struct wr_db *db)
{
    return create_with(db, NULL, 0);
}

/* One batch of rows that get a number each; returns how many were acknowledged. */
static size_t put_batch(struct wr_db *db, const struct wr_row_change *changes)
{
    struct wr_table_write table = {BYTES_LIT("t"), changes, BATCH};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    size_t n = 0;

    req.batch_write_row = (struct wr_batch_write_row){.tables = &table, .table_count = 1};
    reply = wr_exec(db, &req);
    for (size_t i = 0; !reply->code && i < BATCH; i++)
        n += reply->batch.tables[0].rows[i].code == 0;
    wr_reply_free(reply);
    return n;
}

struct writer {
    pthread_t thread;
    struct wr_db *db;
    size_t batches, acked;
    int sweeps; /* between batches: numbers are reserved anew */
};

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct wr_key_column key[] = {
        {.name = BYTES_LIT("p"), .value = {.type = WR_BIGINT, .integer = 1}},
        {.name = BYTES_LIT("n"), .value = {.type = WR_AUTO_INCREMENT}}};
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_row_change changes[BATCH];

    for (size_t i = 0; i < BATCH; i++)
        changes[i] = (struct wr_row_change){
            .type = WR_PUT, .row = {.key = {key, 2}, .cells = &cell, .cell_count = 1}};
    for (size_t i = 0; i < w->batches; i++) {
        w->acked += put_batch(w->db, changes);
        if (w->sweeps && i % (w->batches / (size_t)w->sweeps) == 0) {
            struct ctx c;

            ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
            catalog_numbers_sweep(&c, w->db->catalog);
            ctx_release(&c);
            usleep(300000);
        }
    }
    return NULL;
}

static int count_row(void *arg, const struct wr_row *row)
{
    (void)row;
    ++*(size_t *)arg;
    return 0;
}

static size_t count_rows(struct wr_db *db)
{
    struct wr_key_column low[] = {{BYTES_LIT("p"), {.type = WR_INF_MIN}},
                                  {BYTES_LIT("n"), {.type = WR_INF_MIN}}};
    struct wr_key_column high[] = {{BYTES_LIT("p"), {.type = WR_INF_MAX}},
                                   {BYTES_LIT("n"), {.type = WR_INF_MAX}}};
    struct wr_key from = {low, 2};
    size_t n = 0;

    while (from.count) {
        struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = BYTES_LIT("test")};
        struct wr_reply *reply;

        req.get_range = (struct wr_get_range){.table = BYTES_LIT("t"),
                                              .start = from,
                                              .end = {high, 2},
                                              .read = {.max_versions = 1, .has_max_versions = true},
                                              .on_row = count_row,
                                              .on_row_arg = &n};
        reply = wr_exec(db, &req);
        assert_int_equal(reply->code, 0);
        from.count = reply->range.next.count;
        for (size_t i = 0; i < from.count; i++)
            low[i].value = reply->range.next.columns[i].value; /* numbers */
        wr_reply_free(reply);
    }
    return n;
}

/* Each acknowledged row is there. */
static void write_through(struct wr_db *a, struct wr_db *b, size_t batches, int sweeps)
{
    struct writer w[] = {{.db = a, .batches = batches, .sweeps = sweeps},
                         {.db = b, .batches = batches, .sweeps = sweeps}};

    for (int i = 0; i < 2; i++)
        pthread_create(&w[i].thread, NULL, writer_main, &w[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(w[i].thread, NULL);
    assert_int_equal(w[0].acked, batches * BATCH);
    assert_int_equal(w[1].acked, batches * BATCH);
    assert_int_equal(count_rows(a), 2 * batches * BATCH);
}

/* As often as there are slots, others come and go beside one that lives. */
static void slots_come_round(void **state)
{
    struct wr_db *a = db_open(), *b;

    (void)state;
    assert_int_equal(create(a), 0);
    for (int i = 0; i < SLOTS - 1; i++)
        wr_close(db_open());
    b = db_open();
    write_through(a, b, 100, 0);
    wr_close(b);
    wr_close(a);
}

/* ---- the order of a batch ---- */

#define VALUES 2 /* of the partition key, whose rows alternate in a batch */
#define ROUNDS 40

/* Numbers that are not above the one before of their partition key; *highest are the last so far.
 */
static size_t out_of_order(const struct wr_row_result *rows, int64_t highest[VALUES])
{
    size_t wrong = 0;

    for (size_t i = 0; i < BATCH; i++) {
        int64_t number = rows[i].row.key.columns[1].value.integer;

        assert_int_equal(rows[i].code, 0);
        wrong += number <= highest[i % VALUES];
        highest[i % VALUES] = number;
    }
    return wrong;
}

static uint64_t count_splits(struct wr_db *db)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_PARTITIONS, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;
    uint64_t splits;

    req.describe_partitions.table = BYTES_LIT("t");
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    splits = reply->partitions.splits;
    wr_reply_free(reply);
    return splits;
}

/* While partitions are split under a batch, which takes a while because of its index: a part of it
 * is refused, and draws anew. */
static void batches_rise_in_their_order(void **state)
{
    static const bytes by_v[] = {BYTES_LIT("v")};
    static const struct wr_index_meta index = {BYTES_LIT("ix"), by_v, 1, NULL, 0, .type = 0};
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_key_column keys[VALUES][2];
    struct wr_row_change changes[BATCH];
    struct wr_table_write table = {BYTES_LIT("t"), changes, BATCH};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW, .instance = BYTES_LIT("test")};
    struct wr_db *db = db_open_with("4096");
    int64_t highest[VALUES] = {0};
    size_t wrong = 0;

    (void)state;
    assert_int_equal(create_with(db, &index, 1), 0);
    for (size_t i = 0; i < VALUES; i++) {
        keys[i][0] = (struct wr_key_column){.name = BYTES_LIT("p"),
                                            .value = {.type = WR_BIGINT, .integer = (int64_t)i}};
        keys[i][1] =
            (struct wr_key_column){.name = BYTES_LIT("n"), .value = {.type = WR_AUTO_INCREMENT}};
    }
    for (size_t i = 0; i < BATCH; i++)
        changes[i] = (struct wr_row_change){
            .type = WR_PUT, .row = {{keys[i % VALUES], 2}, &cell, 1}, .return_type = WR_RETURN_KEY};
    req.batch_write_row = (struct wr_batch_write_row){.tables = &table, .table_count = 1};
    for (size_t i = 0; i < ROUNDS; i++) {
        struct wr_reply *reply = wr_exec(db, &req);

        assert_int_equal(reply->code, 0);
        wrong += out_of_order(reply->batch.tables[0].rows, highest);
        wr_reply_free(reply);
    }
    assert_true(count_splits(db) > 0);
    assert_int_equal(wrong, 0);
    wr_close(db);
}

#ifdef WR_FAULTS
/* All slots but that of `db` seem to be held for long. */
static void hold_others(struct wr_db *db)
{
    struct edit *builder = mem_zalloc(SLOTS * sizeof(*builder));
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = builder};
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        struct buf key, value;

        if (slot == db->slot)
            continue;
        buf_init(&key, &c.arena, 16);
        buf_put_bytes(&key, catalog_plain_key(&c.arena, CATALOG_SLOT));
        buf_put_u8(&key, (uint8_t)(slot >> 8));
        buf_put_u8(&key, (uint8_t)slot);
        buf_init(&value, &c.arena, 9);
        buf_put_u8(&value, 1);
        buf_put_u64(&value, (uint64_t)1 << 52);
        builder[batch.edit_count++] = (struct edit){EDIT_PUT, buf_bytes(&key), buf_bytes(&value)};
    }
    assert_int_equal(wait_apply(&c, db->engine, &batch), 0);
    ctx_release(&c);
    mem_free(builder);
}

/* Two hold one slot and reserve by turns, with no more reserved than they use in a second. */
static void one_slot_for_two(void **state)
{
    struct wr_db *a, *b;

    (void)state;
    assert_true(fault_arm("number_lease_short:error:1+"));
    a = db_open();
    hold_others(a);
    b = db_open();
    assert_int_equal(a->slot, b->slot);
    assert_int_equal(create(a), 0);
    write_through(a, b, 60, 15);
    wr_close(b);
    wr_close(a);
    assert_true(fault_arm(""));
}
#endif

static int setup(void **state)
{
    static int n;

    (void)state;
    snprintf(namespace, sizeof(namespace), "numbers-%d-%d", (int)getpid(), n++);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef WR_FAULTS
        cmocka_unit_test_setup(one_slot_for_two, setup),
#endif
        cmocka_unit_test_setup(batches_rise_in_their_order, setup),
        cmocka_unit_test_setup(slots_come_round, setup),
    };
    const char *tier = getenv("TIER");
    bool nightly = tier && strcmp(tier, "nightly") == 0;

    if (!getenv("TEST_CEPH_CONF")) {
        print_message("SKIPPED: numbers of processes: TEST_CEPH_CONF names no cluster\n");
        return 0;
    }
    if (!nightly)
        cmocka_set_skip_filter("slots_come_round");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Transactions on the catalog: overtaken by another process, refused, failing on the way, and many
 * at once. Another process is one that stores a description behind the catalog's back; its table
 * stands in pages, so changes are guarded on one machine, too. */
#include "table/catalog/catalog_txn.h"

#include "table/catalog/catalog_own.h"
#include "table/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#define PARTITIONS 20
#define THREADS 4
#define CHANGES 25

static void create(struct wr_db *db)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_partition_range ranges[PARTITIONS] = {0};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = BYTES_LIT("test")};
    struct wr_reply *reply;

    for (int i = 0; i < PARTITIONS; i++) {
        ranges[i].begin = (struct wr_value){.type = i ? WR_BIGINT : WR_INF_MIN, .integer = i};
        ranges[i].end = (struct wr_value){.type = i + 1 < PARTITIONS ? WR_BIGINT : WR_INF_MAX,
                                          .integer = i + 1};
    }
    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .partitions = ranges,
        .partition_count = PARTITIONS,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

static int set_up(void **state)
{
    struct wr_setting settings[] = {
        {"table_ops_per_s_max", "0"}, {"partitions_max", "65536"}, {"map_page_partitions", "4"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "mem",
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    struct wr_db *db;

    assert_int_equal(wr_open(&o, &db, NULL, 0), 0);
    create(db);
    *state = db;
    return 0;
}

static int tear_down(void **state)
{
    wr_close(*state);
    return 0;
}

struct change {
    struct catalog_txn txn;
    struct ctx c;
    int overtaken; /* in so many tries */
    int code;      /* what decide() says */
    int make_code;
    int decided, made;
    bool nothing; /* decide() finds nothing to do */
    uint64_t version;
};

static void change_init(struct change *h, struct wr_db *db)
{
    *h = (struct change){.overtaken = 0};
    ctx_init(&h->c, &db->clock, &db->log, NULL, 0);
    h->txn.db = db;
    h->txn.c = &h->c;
    h->txn.instance = BYTES_LIT("test");
    h->txn.name = BYTES_LIT("t");
}

/* Another process: ten versions further. */
static void overtake(struct change *h)
{
    struct schema s = h->txn.now->schema;
    struct edit edit = {EDIT_PUT, catalog_table_key(&h->c.arena, h->txn.instance, h->txn.name),
                        BYTES_NONE};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    struct buf b;

    s.version += 10;
    buf_init(&b, &h->c.arena, 1024);
    schema_encode(&b, &s);
    edit.value = buf_bytes(&b);
    assert_int_equal(wait_apply(&h->c, h->txn.db->engine, &batch), 0);
}

static int decide(struct catalog_txn *x)
{
    struct change *h = PORT_CONTAINER(x, struct change, txn);
    struct schema s = catalog_txn_draft(x);

    h->decided++;
    if (h->nothing)
        return E_OK;
    if (h->code)
        return fail_code(x->c, h->code);
    if (h->overtaken-- > 0)
        overtake(h);
    h->version = s.version;
    return catalog_txn_put(x, &s);
}

static int make(struct catalog_txn *x)
{
    struct change *h = PORT_CONTAINER(x, struct change, txn);

    h->made++;
    return h->make_code;
}

static uint64_t version_now(struct wr_db *db)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), BYTES_LIT("t"));
    uint64_t version = t->schema.version;

    table_release(t);
    return version;
}

/* Runs it, and its end; gives its code. */
static int change_run(struct change *h)
{
    int code;

    h->txn.decide = decide;
    code = catalog_txn_wait(&h->txn);
    assert_int_equal(h->txn.state, CATALOG_TXN_ENDED);
    catalog_txn_release(&h->txn);
    ctx_release(&h->c);
    return code;
}

static void test_overtaken(void **state)
{
    struct wr_db *db = *state;
    uint64_t before = version_now(db);
    struct change h;

    change_init(&h, db);
    h.overtaken = 3;
    h.txn.make = make;
    assert_int_equal(change_run(&h), E_OK);
    assert_int_equal(h.decided, 4);
    assert_int_equal(h.made, 4);
    assert_int_equal(h.version, before + 31);
    assert_int_equal(version_now(db), before + 31);
}

static void test_always_overtaken(void **state)
{
    struct wr_db *db = *state;
    struct change h;

    change_init(&h, db);
    h.overtaken = 1000;
    assert_int_equal(change_run(&h), E_CONFLICT);
    assert_int_equal(h.decided, CATALOG_TRIES_MAX + 1);
    change_init(&h, db);
    h.overtaken = 1000;
    h.c.deadline_ms = 1; /* long ago */
    assert_int_equal(change_run(&h), E_CONFLICT);
    assert_int_equal(h.decided, 1);
    /* The lock is free. What the others stored last is not known yet. */
    change_init(&h, db);
    assert_int_equal(change_run(&h), E_OK);
    assert_int_equal(h.decided, 2);
}

/* Ends early: nothing is stored, and the lock is free for the next one. */
static void test_left(void **state)
{
    struct wr_db *db = *state;
    uint64_t before = version_now(db);
    struct change h;

    change_init(&h, db);
    h.code = E_PARAMETER;
    assert_int_equal(change_run(&h), E_PARAMETER);
    change_init(&h, db);
    h.txn.make = make;
    h.make_code = E_UNAVAILABLE;
    assert_int_equal(change_run(&h), E_UNAVAILABLE);
    change_init(&h, db);
    h.txn.make = make;
    h.nothing = true;
    assert_int_equal(change_run(&h), E_OK);
    assert_int_equal(h.made, 0);
    change_init(&h, db);
    h.txn.id = 12345;
    assert_int_equal(change_run(&h), E_NOT_EXIST);
    assert_int_equal(h.decided, 0);
    assert_int_equal(version_now(db), before);
    change_init(&h, db);
    assert_int_equal(change_run(&h), E_OK);
    assert_int_equal(version_now(db), before + 1);
}

/* ---- many at once ---- */

static atomic_int ended;

static void count_end(struct catalog_txn *x, int code)
{
    struct change *h = PORT_CONTAINER(x, struct change, txn);

    assert_int_equal(code, E_OK);
    catalog_txn_release(x);
    ctx_release(&h->c);
    mem_free(h);
    atomic_fetch_add(&ended, 1);
}

/* Half of them are waited for. */
static void *changer(void *db)
{
    for (int i = 0; i < CHANGES; i++) {
        struct change *begun = mem_zalloc(sizeof(*begun)), waited;

        change_init(begun, db);
        begun->txn.decide = decide;
        begun->txn.make = i % 3 ? NULL : make;
        begun->txn.done = count_end;
        catalog_txn_begin(&begun->txn);
        change_init(&waited, db);
        waited.txn.make = i % 2 ? NULL : make;
        assert_int_equal(change_run(&waited), E_OK);
    }
    return NULL;
}

static void test_many(void **state)
{
    struct wr_db *db = *state;
    uint64_t before = version_now(db);
    pthread_t threads[THREADS];
    struct change last;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, changer, db), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    change_init(&last, db); /* behind all that were begun */
    assert_int_equal(change_run(&last), E_OK);
    assert_int_equal(version_now(db), before + 2 * THREADS * CHANGES + 1);
    while (atomic_load(&ended) < THREADS * CHANGES)
        usleep(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_overtaken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_always_overtaken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

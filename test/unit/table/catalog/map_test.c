/* A table's map in two levels, in a database: random splits and merges against a plain list, what a
 * reopening reads, what a drop leaves, and many partitions. */
#include "table/catalog/catalog_own.h"
#include "table/core/db.h"

#include "base/rng.h"
#include "table/maint/balance.h"
#include "table/model/key.h"
#include "table/model/batch_builder.h"
#include "table/maint/sweep.h"
#include "table/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"
#include "../stored.h"
#include "../../later.h"

#define MINUTE_MS 60000
#define MANY 20000

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
    const char *page_partitions, *idle_s;
    bool settings_follow;
};

static void bed_open(struct bed *b)
{
    /* The balancer shall leave them alone. */
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"},
                                    {"partitions_max", "65536"},
                                    {"partition_idle_s", b->idle_s},
                                    {"map_page_partitions", b->page_partitions}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .dir = b->dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings),
                           .settings_follow = b->settings_follow};

    b->db = database_open(&o);
}

static void reopen(struct bed *b, const char *page_partitions)
{
    wr_close(b->db);
    b->page_partitions = page_partitions;
    bed_open(b);
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));

    folder_make(b->dir);
    b->page_partitions = "4";
    b->idle_s = "1000000";
    bed_open(b);
    *state = b;
    return 0;
}

static int bed_tear_down(void **state)
{
    struct bed *b = *state;

    database_remove(b->db, b->dir);
    mem_free(b);
    return 0;
}

static void run(struct bed *b, struct wr_request *req)
{
    assert_int_equal(database_run(b->db, req), 0);
}

/* Cut at 10, 20 and so on. */
static void create(struct bed *b, size_t partitions)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_partition_range *ranges = mem_zalloc(sizeof(*ranges) * partitions);
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    for (size_t i = 0; i < partitions; i++) {
        ranges[i].begin =
            (struct wr_value){.type = i ? WR_BIGINT : WR_INF_MIN, .integer = (int64_t)i * 10};
        ranges[i].end = (struct wr_value){.type = i + 1 < partitions ? WR_BIGINT : WR_INF_MAX,
                                          .integer = (int64_t)(i + 1) * 10};
    }
    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .partitions = ranges,
        .partition_count = partitions,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    run(b, &req);
    mem_free(ranges);
}

static struct table *table_of(struct bed *b)
{
    return catalog_get(b->db->catalog, BYTES_LIT("test"), BYTES_LIT("t"));
}

static bytes bound_of(uint8_t out[10], int64_t value)
{
    out[0] = 0;
    out[1] = 0x45;
    store_u64_be(out + 2, (uint64_t)value ^ 1ull << 63);
    return bytes_of(out, 10);
}

static size_t stored_pages(struct bed *b)
{
    struct ctx c;
    size_t count;

    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    count = stored_range(&c, b->db, catalog_plain_key(&c.arena, CATALOG_PAGE),
                         catalog_plain_key(&c.arena, CATALOG_PAGE + 1))
                .count;
    ctx_release(&c);
    return count;
}

/* What the map should be. */
struct model {
    int64_t starts[2000]; /* the first one is of no account */
    uint64_t ids[2000];   /* 0: not known yet */
    size_t count;
};

static void check(struct bed *b, struct model *m)
{
    struct table *t = table_of(b);
    const struct partition_map *map = &t->partitions;
    uint8_t text[10];

    assert_int_equal(map->count, m->count);
    assert_int_equal(t->schema.partition_count, m->count);
    assert_int_equal(map->page_count, t->schema.page_count ? t->schema.page_count : 1);
    for (size_t i = 0; i < m->count; i++) {
        const struct partition_at *at = partition_at(map, i);

        assert_true(bytes_equal(at->start, i ? bound_of(text, m->starts[i]) : BYTES_NONE));
        if (!m->ids[i])
            m->ids[i] = at->partition->id;
        assert_int_equal(at->partition->id, m->ids[i]);
    }
    table_release(t);
}

static void repartition(struct bed *b, size_t first, size_t count, const bytes *bounds, size_t n)
{
    struct table *t = table_of(b);
    struct ctx c;

    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    assert_int_equal(catalog_repartition(&c, t, first, count, bounds, n), E_OK);
    ctx_release(&c);
    table_release(t);
}

static void cut(struct bed *b, struct model *m, int64_t at)
{
    size_t i = m->count;
    uint8_t text[10];
    bytes bound = bound_of(text, at);

    while (i > 1 && m->starts[i - 1] > at)
        i--;
    if (i > 1 && m->starts[i - 1] == at)
        return;
    memmove(&m->starts[i + 1], &m->starts[i], (m->count - i) * sizeof(m->starts[0]));
    memmove(&m->ids[i + 1], &m->ids[i], (m->count - i) * sizeof(m->ids[0]));
    m->count++;
    m->starts[i] = at;
    m->ids[i - 1] = m->ids[i] = 0;
    repartition(b, i - 1, 1, &bound, 1);
}

static void merge(struct bed *b, struct model *m, size_t i, size_t count)
{
    memmove(&m->starts[i + 1], &m->starts[i + count],
            (m->count - i - count) * sizeof(m->starts[0]));
    memmove(&m->ids[i + 1], &m->ids[i + count], (m->count - i - count) * sizeof(m->ids[0]));
    m->count -= count - 1;
    m->ids[i] = 0;
    repartition(b, i, count, NULL, 0);
}

static void random_repartition(void **state)
{
    static const char *const sizes[] = {"4", "2", "256", "3", "16"};
    struct bed *b = *state;
    struct model m = {.count = 1};
    size_t most = 0;
    struct table *t;
    struct rng rng;

    rng_init(&rng, 7);
    create(b, 1);
    for (int i = 0; i < 600; i++) {
        /* First it grows, then it shrinks, and so on. */
        if (m.count < 3 || rng_below(&rng, 10) < (i / 150 % 2 ? 2u : 8u))
            cut(b, &m, (int64_t)rng_below(&rng, 1000000));
        else
            merge(b, &m, rng_below(&rng, m.count - 2), 2 + rng_below(&rng, 2));
        check(b, &m);
        if (i % 60 == 59) {
            reopen(b, sizes[i / 60 % PORT_COUNT(sizes)]);
            check(b, &m);
        }
        t = table_of(b);
        assert_int_equal(stored_pages(b), t->schema.page_count); /* none is left behind */
        most = t->schema.page_count > most ? t->schema.page_count : most;
        table_release(t);
    }
    assert_true(most > 8);
}

static void put_row(struct bed *b, int64_t pk)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_request req = {.op = WR_OP_PUT_ROW};

    req.put_row =
        (struct wr_row_change){.type = WR_PUT, .table = BYTES_LIT("t"), .row = {{&column, 1}}};
    run(b, &req);
}

/* Rows count where they lie, descriptions tell all, other changes keep the map. */
static void many(void **state)
{
    struct bed *b = *state;
    struct wr_request req = {.op = WR_OP_DESCRIBE_TABLE, .instance = BYTES_LIT("test")};
    struct partition_counts counts;
    struct wr_reply *reply;
    struct table *t;
    uint8_t text[10];
    bytes bound;

    reopen(b, "256");
    create(b, MANY);
    put_row(b, 77777);
    t = table_of(b);
    assert_int_equal(t->partitions.count, MANY);
    assert_in_range(t->schema.page_count, MANY / 256, 2 * MANY / 256);
    assert_true(t->stored.len < 16384);
    counts = partition_counts(partition_at(&t->partitions, 7777)->partition);
    assert_int_equal(counts.writes, 1);
    table_release(t);
    bound = bound_of(text, 77775);
    repartition(b, 7777, 1, &bound, 1);
    req.describe_table.table = BYTES_LIT("t");
    reply = wr_exec(b->db, &req);
    assert_int_equal(reply->description.split_count, MANY);
    assert_int_equal(reply->description.splits[7777].integer, 77775);
    wr_reply_free(reply);
    req.op = WR_OP_UNLOAD_TABLE;
    run(b, &req);
    reopen(b, "256");
    req.op = WR_OP_LOAD_TABLE;
    run(b, &req);
    t = table_of(b);
    assert_int_equal(t->partitions.count, MANY + 1);
    assert_true(bytes_equal(partition_at(&t->partitions, 7778)->start, bound));
    table_release(t);
    req.op = WR_OP_DELETE_TABLE;
    run(b, &req);
    assert_in_range(stored_pages(b), MANY / 256, 2 * MANY / 256);
    sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(stored_pages(b), 0);
    create(b, 3);
    put_row(b, 5);
}

/* A change that is made of a map that is no longer stored is made anew. */
static void an_old_map_is_not_written(void **state)
{
    struct bed *b = *state;
    struct model m = {.count = 8};
    struct wr_request req = {.op = WR_OP_UNLOAD_TABLE};
    struct schema_repartition merged = {.first = 1, .count = 2, .made_count = 1};
    struct table *old, *next;
    struct batch_builder builder;
    struct write_batch batch = {.partition = PARTITION_SYSTEM};
    struct schema_partition one;
    struct schema s;
    struct ctx c;

    for (int64_t i = 0; i < 8; i++)
        m.starts[i] = i * 10;
    create(b, 8);
    old = table_of(b);
    /* A merge that has landed, but whose answer was lost. */
    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    one = (struct schema_partition){.id = 90, .start = partition_at(&old->partitions, 1)->start};
    merged.made = &one;
    assert_int_equal(catalog_repartition_schema(&c, b->db->catalog, old, &merged, &s), E_OK);
    builder = (struct batch_builder){.arena = &c.arena};
    assert_int_equal(catalog_store(&c, b->db->catalog, old, &s, &builder, &next), E_OK);
    table_release(next);
    batch.edits = builder.items;
    batch.edit_count = builder.count;
    assert_int_equal(wait_apply(&c, b->db->engine, &batch), E_OK);
    ctx_release(&c);
    table_release(old);
    req.load_table.table = BYTES_LIT("t");
    run(b, &req);
    memmove(&m.starts[2], &m.starts[3], 5 * sizeof(m.starts[0]));
    m.count = 7;
    check(b, &m);
    assert_int_equal(m.ids[1], 90);
    reopen(b, "4");
    check(b, &m);
}

static size_t count_of(struct bed *b)
{
    struct table *t = table_of(b);
    size_t count = t->partitions.count;

    table_release(t);
    return count;
}

/* Partitions are split and merged by what counts, not by what a process has at first. */
static void left_alone_until_settings_came(void **state)
{
    struct bed *b = *state;
    int64_t now_us = clock_mono_us(&b->db->clock);

    b->idle_s = "1";
    b->settings_follow = true;
    reopen(b, "4");
    create(b, 3);
    for (int i = 0; i < 5; i++)
        balance_run(b->db, now_us + i * 2000000);
    assert_int_equal(count_of(b), 3);
    assert_int_equal(wr_settings_change(b->db, NULL, 0, NULL, 0), 0);
    for (int i = 0; i < 300 && count_of(b) == 3; i++)
        usleep(50000);
    assert_in_range(count_of(b), 1, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
    const struct CMUnitTest tests[] = {TEST(random_repartition), TEST(many),
                                       TEST(an_old_map_is_not_written),
                                       TEST(left_alone_until_settings_came)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

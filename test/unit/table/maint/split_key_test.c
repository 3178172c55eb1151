/* Where a partition of one bucket is split when the engine's sizes, which are estimates, contradict
 * each other: never at a key of the bucket behind it. And how a whole table is cut into pieces. */
#include "table/catalog/catalog_own.h"
#include "table/maint/split_key.h"

#include "base/scheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define BUCKETS 4
#define ROWS 40

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
    const struct engine_ops *real;
    struct engine_ops ops;
};

/* Much in a whole partition, nothing in any part of it: what was there was removed in between. */
static int size_of_whole(struct ctx *c, struct engine *e, const struct partition_spec *p,
                         uint64_t *out)
{
    (void)c, (void)e;
    *out = p->range_count == 1 ? 1000000 : 0;
    return E_OK;
}

static void run(struct bed *b, struct wr_request *req)
{
    assert_int_equal(database_run(b->db, req), 0);
}

static void create(struct bed *b)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE,
                             .create_table = {.table = BYTES_LIT("t"),
                                              .key = &key,
                                              .key_count = 1,
                                              .layout = BYTES_LIT("hash:4"),
                                              .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                                          .ttl_s = -1,
                                                          .max_versions = 1}}};

    run(b, &req);
}

static void put(struct bed *b, int64_t id)
{
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = id}};
    struct wr_cell cell = {.name = BYTES_LIT("v"),
                           .value = {.type = WR_BIGINT, .integer = id},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {
        .op = WR_OP_PUT_ROW,
        .put_row = {.type = WR_PUT, .table = BYTES_LIT("t"), .row = {{&key, 1}, &cell, 1}}};

    run(b, &req);
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));
    /* The balancer shall leave the table alone. */
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"partition_idle_s", "1000000"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .dir = b->dir,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    folder_make(b->dir);
    b->db = database_open(&o);
    create(b);
    for (int64_t id = 0; id < ROWS; id++)
        put(b, id);
    b->real = b->db->engine->ops;
    b->ops = *b->real;
    b->ops.size = size_of_whole;
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

static struct table *table_of(struct bed *b)
{
    return catalog_get(b->db->catalog, BYTES_LIT("test"), BYTES_LIT("t"));
}

static void a_cut_lies_within_its_partition(void **state)
{
    struct bed *b = *state;
    struct table *t = table_of(b);
    struct ctx c;

    assert_int_equal(t->partitions.count, BUCKETS);
    b->db->engine->ops = &b->ops;
    for (size_t i = 0; i < BUCKETS; i++) {
        bytes bound, end = partition_end(&t->partitions, i);
        bool found;

        ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
        assert_int_equal(split_key_find(&c, b->db, t, i, &found, &bound), 0);
        assert_true(found); /* the last value is parted from the others */
        assert_true(bytes_compare(bound, partition_at(&t->partitions, i)->start) > 0);
        assert_true(!end.len || bytes_compare(bound, end) < 0);
        ctx_release(&c);
    }
    b->db->engine->ops = b->real;
    table_release(t);
}

static void a_bound_outside_is_refused(void **state)
{
    struct bed *b = *state;
    struct table *t = table_of(b);
    bytes outside[] = {BYTES_LIT("\3\x45"), BYTES_LIT("\1"), BYTES_LIT("\0\x45"), BYTES_LIT("\2")};
    struct table *now;
    struct ctx c;

    for (size_t i = 0; i < PORT_COUNT(outside); i++) { /* of the partition [1, 2) */
        ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
        assert_int_equal(catalog_repartition(&c, t, 1, 1, &outside[i], 1), E_INTERNAL);
        ctx_release(&c);
    }
    now = table_of(b);
    assert_ptr_equal(now, t);
    table_release(now);
    table_release(t);
}

static const struct engine_ops *counted;
static size_t asked;

static int size_counted(struct ctx *c, struct engine *e, const struct partition_spec *p,
                        uint64_t *out)
{
    asked++;
    return counted->size(c, e, p, out);
}

/* What is in write buffers is counted key by key for each size, and a table may have thousands of
 * partitions: so it matters how often. */
static void a_table_is_spread_with_few_questions(void **state)
{
    struct bed *b = *state;
    struct table *t = table_of(b);
    struct schema_partition *list;
    size_t made, wanted = 64;
    struct ctx c;

    for (int64_t id = ROWS; id < 4000; id++)
        put(b, id);
    counted = b->real;
    b->ops = *b->real;
    b->ops.size = size_counted;
    b->db->engine->ops = &b->ops;
    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    assert_int_equal(split_key_spread(&c, b->db, &t->schema.location, wanted, &list, &made), 0);
    assert_in_range(made, wanted / 2, wanted);
    for (size_t i = 1; i < made; i++)
        assert_true(bytes_compare(list[i - 1].start, list[i].start) < 0);
    assert_in_range(asked, 1, wanted * 40); /* 256 each, before */
    b->db->engine->ops = b->real;
    ctx_release(&c);
    table_release(t);
}

static void a_spread_ends_with_the_database(void **state)
{
    struct bed *b = *state;
    struct table *t = table_of(b);
    struct schema_partition *list;
    size_t made;
    struct ctx c;

    scheduler_stop(b->db->background);
    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    assert_int_equal(split_key_spread(&c, b->db, &t->schema.location, 64, &list, &made), E_BUSY);
    ctx_release(&c);
    table_release(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cut_lies_within_its_partition, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(a_bound_outside_is_refused, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(a_table_is_spread_with_few_questions, bed_set_up,
                                        bed_tear_down),
        cmocka_unit_test_setup_teardown(a_spread_ends_with_the_database, bed_set_up, bed_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is stored of a search index: a start goes on from it, damage and a log that is not there any
 * more make the index anew, and what belongs to nobody goes. */
#include "table/search/search_store.h"

#include "base/fault.h"
#include "table/catalog/catalog.h"
#include "table/changelog/change_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../stored.h"
#include "search_bed.h"

#define ROWS 2000

static bool told; /* the log said that an index is made again */

static void on_log(void *arg, char level, const char *line)
{
    (void)arg;
    (void)level;
    told |= strstr(line, "is made again") != NULL;
}

static uint32_t location(void)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), TABLE);
    uint32_t id = t->schema.change_log;

    table_release(t);
    return id;
}

static void reopen(void)
{
    wr_close(db);
    told = false;
    db = database_open(&options);
}

static size_t pieces(uint32_t id)
{
    return stored_count(db, id, KIND_SEGMENT);
}

static bool has_pieces(void *arg)
{
    return pieces(location()) > *(size_t *)arg;
}

static void fill(void)
{
    for (int i = 0; i < ROWS; i++)
        put(i, i);
}

static void test_goes_on(void **state)
{
    struct wr_search_condition k3 = keyword("k3");

    (void)state;
    fill();
    assert_int_equal(create_index(), 0);
    EXPECT(&all, ROWS);
    for (int round = 0; round < 3; round++) {
        reopen();
        EXPECT(&all, ROWS - 10 * round);
        assert_int_equal(count(&k3), stored("k3"));
        for (int i = 0; i < 10; i++)
            remove_row(round * 10 + i);
        for (int i = 0; i < 50; i++)
            put(1000 + i * 7, 3 + round);
        EXPECT(&all, ROWS - 10 * (round + 1));
    }
    reopen();
    EXPECT(&all, ROWS - 30);
    assert_int_equal(count(&k3), stored("k3"));
    assert_false(told);
}

/* A row whose text makes a segment large. */
static void put_long(int64_t pk)
{
    static char text[60 << 10];
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    struct wr_cell cell = {.name = BYTES_LIT("t"), .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {WR_REQUEST(PUT_ROW)};
    size_t len = 0;

    for (int i = 0; len < sizeof(text) - 32; i++)
        len += (size_t)snprintf(text + len, 32, "long%dx%d ", (int)pk, i);
    cell.value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(text, len)};
    req.put_row =
        (struct wr_row_change){.type = WR_PUT, .table = TABLE, .row = {{&key, 1}, &cell, 1}};
    change(&req);
}

/* The engine takes no files over, as where a range tombstone lies beside a damaged file. */
static void test_files_refused(void **state)
{
#ifndef WR_FAULTS
    skip();
#else
    struct wr_search_condition one = word("long100007x3");
    size_t before;

    (void)state;
    assert_int_equal(drop_index(), 0);
    for (int i = 0; i < 60; i++)
        put_long(100000 + i);
    before = pieces(location()) + 40; /* a MiB and more */
    assert_true(fault_arm("bulk_before_ingest:error:1+"));
    assert_int_equal(create_index(), 0);
    EXPECT(&one, 1);
    eventually(has_pieces, &before);
    wr_close(db);
    assert_true(fault_passes(FAULT_bulk_before_ingest) > 0);
    told = false;
    db = database_open(&options);
    EXPECT(&one, 1);
    assert_false(told);
    fault_arm(NULL);
    for (int i = 0; i < 60; i++)
        remove_row(100000 + i);
    EXPECT(&one, 0);
#endif
}

/* Nothing can be stored of the index, which follows the deletions that are still taken, and goes on
 * from what was stored before. */
static void test_disk_full(void **state)
{
#ifndef WR_FAULTS
    skip();
#else
    int64_t rows = stored(NULL);
    struct wr_request req = {WR_REQUEST(PUT_ROW)};
    struct wr_key_column key = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 7000000}};
    int code = WR_OK;

    (void)state;
    EXPECT(&all, rows);
    req.put_row =
        (struct wr_row_change){.type = WR_PUT, .table = TABLE, .row = {{&key, 1}, NULL, 0}};
    assert_true(fault_arm("rocks_disk_full:error:1+"));
    for (int i = 0; i < 3000 && !code; i++) {
        usleep(10000);
        code = run(&req);
    }
    assert_int_not_equal(code, WR_OK);
    remove_row(7000000); /* it may have come in before the disk was asked */
    for (int i = 0; i < 20; i++) {
        remove_row(900 + i);
        EXPECT(&all, rows - i - 1);
    }
    fault_arm(NULL);
    reopen();
    EXPECT(&all, rows - 20);
    assert_false(told);
#endif
}

/* Changes the last byte of what is stored last but k, while the database is closed: an open one
 * might have stored it anew. */
static void flip(size_t k)
{
    uint32_t id = location();
    struct engine_conf conf = {.dir = dir};
    struct edit edit = {.type = EDIT_PUT};
    struct write_batch batch = {.edits = &edit, .edit_count = 1};
    struct wr_db closed = {.engine = NULL}; /* for stored_range() */
    struct page page;
    const struct kv *item;
    uint8_t *copy;
    struct ctx c;

    wr_close(db);
    clock_real_init(&closed.clock);
    ctx_init(&c, &closed.clock, NULL, NULL, 0);
    conf.clock = &closed.clock;
    assert_int_equal(engine_open(&c, "rocks", &conf, &closed.engine), 0);
    page = stored_range(&c, &closed, key_prefix(&c.arena, id, 0, KIND_SEGMENT),
                        key_prefix(&c.arena, id, 0, KIND_SEARCH_STATE + 1));
    assert_true(page.count > k);
    item = &page.items[page.count - 1 - k];
    copy = memcpy(arena_alloc(&c.arena, item->value.len), item->value.ptr, item->value.len);
    copy[item->value.len - 1] ^= 1;
    edit.key = item->key;
    edit.value = bytes_of(copy, item->value.len);
    assert_int_equal(wait_apply(&c, closed.engine, &batch), 0);
    ctx_release(&c);
    engine_close(closed.engine);
    told = false;
    db = database_open(&options);
}

/* The state itself (the last key), and each of the last pieces. */
static void test_flipped(void **state)
{
    struct wr_search_condition k3 = keyword("k3"), one = word("this");
    int64_t rows = stored(NULL), some = stored("k3");

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        flip(k);
        EXPECT(&k3, some);
        EXPECT(&one, rows);
        assert_true(told);
        reopen();
        EXPECT(&k3, some);
        EXPECT(&one, rows);
        assert_false(told);
    }
}

static void test_log_gone(void **state)
{
    int64_t rows = stored(NULL);
    struct table *t;
    struct ctx c;

    (void)state;
    reopen();
    EXPECT(&all, rows);
    put(5000, 5);
    t = catalog_get(db->catalog, BYTES_LIT("test"), TABLE);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    for (int i = 0; i < 100 && !told; i++) {
        struct change_log_bounded done;

        put(5001 + i, 5);
        remove_row(5001 + i);
        assert_int_equal(change_log_bound(&c, t, 0, &done), 0);
    }
    ctx_release(&c);
    table_release(t);
    EXPECT(&all, rows + 1);
    remove_row(5000);
    EXPECT(&all, rows);
}

static void test_orphans(void **state)
{
    uint32_t id = location();
    size_t before;
    struct ctx c;

    (void)state;
    reopen();
    EXPECT(&all, stored(NULL));
    before = pieces(id);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    for (uint64_t n = 1; n < 4; n++) {
        struct buf key;
        struct edit edit = {.type = EDIT_PUT, .value = BYTES_LIT("x")};
        struct write_batch batch = {.edits = &edit, .edit_count = 1};
        struct page page = stored_range(&c, db, key_prefix(&c.arena, id, 0, KIND_SEGMENT),
                                        key_prefix(&c.arena, id, 0, KIND_SEGMENT + 1));

        buf_init(&key, &c.arena, 64);
        buf_put_bytes(&key, page.items[0].key);
        /* Another segment of the index, and another index. */
        key.data[n == 1 ? KEY_PREFIX_BYTES + 15 : KEY_PREFIX_BYTES + 7] ^= (uint8_t)n;
        edit.key = buf_bytes(&key);
        assert_int_equal(wait_apply(&c, db->engine, &batch), 0);
    }
    ctx_release(&c);
    assert_true(pieces(id) > before);
    reopen();
    EXPECT(&all, stored(NULL));
    for (int i = 0; i < 3000 && pieces(id) > before; i++)
        usleep(10000); /* a moment after the index is there */
    assert_true(pieces(id) <= before);
    assert_false(told);
}

static struct wr_search_schema one_field(void)
{
    return (struct wr_search_schema){.fields = fields, .field_count = 1};
}

static void test_dropped(void **state)
{
    struct wr_request req = {WR_REQUEST(CREATE_SEARCH_INDEX)};
    size_t none = 0, with_both;

    (void)state;
    req.create_search_index = (struct wr_create_search_index){
        .table = TABLE, .index = BYTES_LIT("other"), .schema = one_field()};
    assert_int_equal(run(&req), 0);
    eventually(has_pieces, &none);
    reopen(); /* both are stored */
    EXPECT(&all, stored(NULL));
    with_both = pieces(location());
    assert_int_equal(drop_index(), 0);
    for (int i = 0; i < 3000 && pieces(location()) >= with_both; i++)
        usleep(10000);
    assert_true(pieces(location()) < with_both);
    req = (struct wr_request){WR_REQUEST(DELETE_SEARCH_INDEX)};
    req.delete_search_index = (struct wr_search_index_name){TABLE, BYTES_LIT("other")};
    assert_int_equal(run(&req), 0);
}

static int set_up_rocks(void **state)
{
    (void)state;
    set_up("rocks");
    options.log = on_log;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    database_remove(db, dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on), cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_flipped), cmocka_unit_test(test_log_gone),
        cmocka_unit_test(test_orphans), cmocka_unit_test(test_files_refused),
        cmocka_unit_test(test_dropped),
    };

    return cmocka_run_group_tests(tests, set_up_rocks, tear_down);
}

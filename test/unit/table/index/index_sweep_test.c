/* Entries of rows past their TTL go with the rows, under their locks, and never by themselves: a
 * sweep of the index's own table would race with writers of the base table. */
#include "table/maint/sweep.h"

#include "base/buf.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"
#include "table/model/row.h"
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

#define TABLE BYTES_LIT("t")

static struct wr_db *db;

static void create(void)
{
    struct wr_key_schema key = {.name = BYTES_LIT("p"), .type = WR_BIGINT};
    struct wr_defined_column defined = {BYTES_LIT("a"), WR_BIGINT};
    struct wr_index_meta index = {
        .name = BYTES_LIT("by_a"), .key_columns = &defined.name, .key_column_count = 1};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = &key,
        .key_count = 1,
        .defined = &defined,
        .defined_count = 1,
        .indexes = &index,
        .index_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_ALLOW_UPDATE,
                    .ttl_s = 1,
                    .max_versions = 1,
                    .allow_update = false}};
    assert_int_equal(database_run(db, &req), 0);
}

static void put(int64_t p)
{
    struct wr_key_column key = {BYTES_LIT("p"), {.type = WR_BIGINT, .integer = p}};
    struct wr_cell a = {.name = BYTES_LIT("a"),
                        .value = {.type = WR_BIGINT, .integer = 7},
                        .op = WR_CELL_PUT,
                        .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};

    req.put_row = (struct wr_row_change){.type = WR_PUT, .table = TABLE, .row = {{&key, 1}, &a, 1}};
    assert_int_equal(database_run(db, &req), 0);
}

static uint32_t index_location(void)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), TABLE);
    uint32_t id = t->schema.indexes[0].location.id;

    table_release(t);
    return id;
}

static size_t entries(void)
{
    return stored_count(db, index_location(), KIND_RECORD);
}

/* An entry that no row has, and that expired long ago. */
static void plant_entry(struct ctx *c)
{
    struct row row = {.there = true, .stamp = 1, .marker_ms = 1};
    struct edit edit = {.type = EDIT_PUT};
    struct write_batch batch = {.edits = &edit, .edit_count = 1};
    struct buf key, value;

    buf_init(&key, &c->arena, 64);
    key_put_prefix(&key, index_location(), 0, KIND_RECORD);
    buf_put_bytes(&key, BYTES_LIT("planted"));
    buf_init(&value, &c->arena, 64);
    row_encode(&value, &row);
    edit.key = buf_bytes(&key);
    edit.value = buf_bytes(&value);
    assert_int_equal(wait_apply(c, db->engine, &batch), 0);
}

static void wait_for_entries(size_t count)
{
    for (int i = 0; i < 6000 && entries() != count; i++) {
        sweep_run(db);
        usleep(10000);
    }
    assert_int_equal(entries(), count);
}

static void go_with_their_rows_alone(void **state)
{
    char dir[FOLDER_BYTES];
    struct wr_setting settings[] = {{"ttl_seconds_min", "1"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "mem",
                           .dir = dir,
                           .settings = settings,
                           .setting_count = 1};
    struct ctx c;

    (void)state;
    folder_make(dir);
    db = database_open(&o);
    db->keeps_indexes = true;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    create();
    put(1);
    plant_entry(&c);
    assert_int_equal(entries(), 2);
    wait_for_entries(1);
    put(2); /* a round later the index's own table has had its turn, too */
    assert_int_equal(entries(), 2);
    wait_for_entries(1);
    ctx_release(&c);
    database_remove(db, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(go_with_their_rows_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A table's stream has each change once, in order: replayed from its start it rebuilds the table,
 * and who follows it while others write misses nothing. */
#include "table/stream/stream_op.h"

#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/stream/stream_name.h"
#include "table/stream/stream_record.h"
#include "table/stream/stream_retention.h"
#include "table/sync/reply_wait.h"
#include "table/sync/wait.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../database.h"

#define ROWS 24
#define COLUMNS 8 /* a, b, …; of more than three cells a row is wide */
#define BIG_BYTES (3u << 19)
#define HOURS 24
#define TABLE BYTES_LIT("t")
#define COPY BYTES_LIT("copy")

static const char names[] = "abcdefgh";
static const char *engine_name;
static struct wr_db *db;
static char dir[FOLDER_BYTES];
static struct wr_options options;
static struct wr_setting settings[] = {{"wide_row_cells", "3"},
                                       {"ttl_seconds_min", "1"},
                                       {"table_ops_per_s_max", "0"},
                                       {"stream_records_max", "100"}};
static struct wr_key_column columns[ROWS][2];

static int run(struct wr_request *req)
{
    return database_run(db, req);
}

static void create(bytes name, const struct wr_stream_spec *stream)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT},
                                               {.name = BYTES_LIT("pk"), .type = WR_BIGINT}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = name,
        .key = key,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 3}};
    if (stream)
        req.create_table.stream = *stream;
    assert_int_equal(run(&req), 0);
}

static void begin(const struct wr_stream_spec *stream)
{
    options = (struct wr_options){.version = WR_API_VERSION,
                                  .engine = engine_name,
                                  .dir = dir,
                                  .settings = settings,
                                  .setting_count = PORT_COUNT(settings)};
    folder_make(dir);
    db = database_open(&options);
    create(TABLE, stream);
    create(COPY, NULL);
    for (int i = 0; i < ROWS; i++) {
        columns[i][0] = (struct wr_key_column){BYTES_LIT("p"), {.type = WR_BIGINT, .integer = 1}};
        columns[i][1] = (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = i}};
    }
}

static void end(void)
{
    database_remove(db, dir);
}

static const struct wr_stream_spec plain = {
    .given = true, .enable = true, .has_expiration = true, .expiration_h = HOURS};

static int switch_stream(bool enable, int32_t hours)
{
    struct wr_request req = {.op = WR_OP_UPDATE_TABLE};

    req.update_table = (struct wr_update_table){
        .table = TABLE,
        .stream = {.given = true, .enable = enable, .has_expiration = true, .expiration_h = hours}};
    return run(&req);
}

/* ---- the stream's operations ---- */

/* A request under way, to be used by a function of stream_op.h. */
struct asked {
    struct wr_request req;
    struct reply_wait wait;
    struct call *call;
};

static struct call *ask(struct asked *x)
{
    *x = (struct asked){.req = {.op = WR_OP_LIST_TABLE, .instance = BYTES_LIT("test")}};
    reply_wait_init(&x->wait);
    x->call = call_new(db, &x->req, reply_wait_done, &x->wait);
    return x->call;
}

static struct wr_reply *answer(struct asked *x, int code)
{
    if (code)
        call_finish(x->call);
    return reply_wait_end(&x->wait);
}

struct follower {
    struct ctx c; /* has the texts */
    bytes stream, shard, iterator;
};

/* The stream of the table, the first shard's start; or from a time on. */
static void follower_begin(struct follower *f, int64_t from_us)
{
    struct wr_list_stream list = {.table = TABLE};
    struct wr_describe_stream describe = {.table = TABLE};
    struct wr_get_shard_iterator get = {
        .table = TABLE, .has_timestamp = from_us >= 0, .timestamp_us = from_us};
    struct wr_stream_list streams = {0};
    struct wr_stream_description described = {0};
    struct wr_shard_iterator got = {0};
    struct wr_reply *reply;
    struct asked x;

    ctx_init(&f->c, &db->clock, &db->log, NULL, 0);
    reply = answer(&x, stream_list(ask(&x), &list, &streams));
    assert_int_equal(reply->code, 0);
    assert_int_equal(streams.count, 1);
    f->stream = describe.stream = get.stream = arena_copy(&f->c.arena, streams.streams[0].id);
    wr_reply_free(reply);
    reply = answer(&x, stream_describe(ask(&x), &describe, &described));
    assert_int_equal(reply->code, 0);
    assert_int_equal(described.shard_count, 1);
    assert_int_equal(described.expiration_h, HOURS);
    f->shard = get.shard = arena_copy(&f->c.arena, described.shards[0].id);
    wr_reply_free(reply);
    reply = answer(&x, stream_get_iterator(ask(&x), &get, &got));
    assert_int_equal(reply->code, 0);
    f->iterator = arena_copy(&f->c.arena, got.iterator);
    wr_reply_free(reply);
}

static void follower_end(struct follower *f)
{
    ctx_release(&f->c);
}

/* The next page; the reply owns it. */
static struct wr_reply *follow(struct follower *f, int limit, struct wr_stream_records *out)
{
    struct wr_get_stream_record get = {
        .table = TABLE, .iterator = f->iterator, .has_limit = limit > 0, .limit = limit};
    struct asked x;
    struct wr_reply *reply;

    *out = (struct wr_stream_records){.count = 0};
    reply = answer(&x, stream_get_records(ask(&x), &get, out));
    if (!reply->code) {
        assert_int_equal(!out->count, bytes_equal(out->next, f->iterator));
        f->iterator = arena_copy(&f->c.arena, out->next);
    }
    return reply;
}

static int read_code(bytes iterator)
{
    struct follower f = {.iterator = iterator};
    struct wr_stream_records page;
    struct wr_reply *reply;
    int code;

    ctx_init(&f.c, &db->clock, &db->log, NULL, 0);
    reply = follow(&f, 0, &page);
    code = reply->code;
    wr_reply_free(reply);
    ctx_release(&f.c);
    return code;
}

static size_t count_records(struct follower *f)
{
    struct wr_stream_records page;
    size_t count = 0;
    bool more = true;

    while (more) {
        struct wr_reply *reply = follow(f, 0, &page);

        assert_int_equal(reply->code, 0);
        count += page.count;
        more = page.more;
        wr_reply_free(reply);
    }
    return count;
}

/* ---- changes ---- */

static struct wr_cell cell_of(int column, int64_t value, enum wr_cell_op op)
{
    return (struct wr_cell){.name = bytes_of(&names[column], 1),
                            .value = {.type = WR_BIGINT, .integer = value},
                            .op = op,
                            .timestamp_ms = WR_TIMESTAMP_NONE};
}

static int change_in(bytes table, enum wr_change_type type, struct wr_key key,
                     const struct wr_cell *cells, size_t count)
{
    struct wr_request req = {.op = type == WR_PUT      ? WR_OP_PUT_ROW
                                   : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                       : WR_OP_DELETE_ROW};

    req.put_row = (struct wr_row_change){
        .type = type, .table = table, .row = {key, (struct wr_cell *)cells, count}};
    return run(&req);
}

static int change(enum wr_change_type type, int row, const struct wr_cell *cells, size_t count)
{
    return change_in(TABLE, type, (struct wr_key){columns[row], 2}, cells, count);
}

static int put_large(int row, int column, size_t length)
{
    return database_stream(db, TABLE, (struct wr_key){columns[row], 2}, bytes_of(&names[column], 1),
                           length);
}

static int write_batch_of(struct wr_row_change *list, size_t count, int kind)
{
    struct wr_table_write write = {.table = TABLE, .changes = list, .change_count = count};
    struct wr_request req = {.op = WR_OP_BULK_IMPORT, .bulk_import.table = write};

    if (kind == 0)
        return run(&req);
    req = (struct wr_request){
        .op = WR_OP_BATCH_WRITE_ROW,
        .batch_write_row = {.tables = &write, .table_count = 1, .atomic = kind == 1}};
    return run(&req);
}

static struct wr_row_change random_change(struct rng *r, struct wr_cell *cells)
{
    int kind = (int)rng_below(r, 10), column = (int)rng_below(r, COLUMNS);
    size_t n = kind < 9 ? 1 + rng_below(r, COLUMNS - 1) : 0;

    for (size_t i = 0; i < n; i++) {
        int op = kind < 4 ? 9 : (int)rng_below(r, 10);

        cells[i] = cell_of((column + (int)i) % COLUMNS, (int64_t)rng_below(r, 10),
                           op < 2   ? WR_CELL_DELETE_ALL
                           : op < 4 ? WR_CELL_INCREMENT
                                    : WR_CELL_PUT);
        if (cells[i].op == WR_CELL_PUT && rng_below(r, 5) == 0) { /* of the same version at times */
            cells[i].timestamp_ms = clock_wall_ms(&db->clock) / 1000 * 1000;
            if (kind >= 4 && rng_below(r, 2))
                cells[i].op = WR_CELL_DELETE_ONE;
        }
    }
    return (struct wr_row_change){.type = kind < 4   ? WR_PUT
                                          : kind < 9 ? WR_UPDATE
                                                     : WR_DELETE,
                                  .table = TABLE,
                                  .row = {{columns[rng_below(r, ROWS)], 2}, cells, n}};
}

/* A row is in an increment's batch once. */
static bool may_repeat(const struct wr_row_change *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < list[i].row.cell_count; j++)
            if (list[i].row.cells[j].op == WR_CELL_INCREMENT)
                return false;
    return true;
}

static size_t no_row_twice(struct wr_row_change *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool twice = false;

        for (size_t j = 0; j < kept; j++)
            twice |= list[j].row.key.columns == list[i].row.key.columns;
        if (!twice)
            list[kept++] = list[i];
    }
    return kept;
}

static void random_request(struct rng *r)
{
    struct wr_cell cells[6][COLUMNS];
    struct wr_row_change list[6];
    size_t n = 1 + rng_below(r, 6);

    for (size_t i = 0; i < n; i++)
        list[i] = random_change(r, cells[i]);
    if (n == 1) {
        int row = (int)list[0].row.key.columns[1].value.integer;

        assert_int_equal(change(list[0].type, row, list[0].row.cells, list[0].row.cell_count), 0);
        return;
    }
    if (!may_repeat(list, n))
        n = no_row_twice(list, n);
    assert_int_equal(write_batch_of(list, n, (int)rng_below(r, 3)), 0);
}

static int rekey(const char *layout)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE};

    req.rekey_table = (struct wr_rekey_table){
        .table = TABLE, .action = WR_REKEY_START, .layout = bytes_of(layout, strlen(layout))};
    return run(&req);
}

/* ---- replay ---- */

static void apply_record(const struct wr_stream_record *r, uint64_t *last)
{
    assert_true((uint64_t)r->timestamp_us > *last);
    *last = (uint64_t)r->timestamp_us;
    assert_false(r->has_original);
    assert_int_equal(change_in(COPY, r->type, r->row.key, r->row.cells, r->row.cell_count), 0);
}

static size_t replay(int limit)
{
    struct follower f;
    struct wr_stream_records page;
    uint64_t last = 0;
    size_t count = 0;

    follower_begin(&f, -1);
    do {
        struct wr_reply *reply = follow(&f, limit, &page);

        assert_int_equal(reply->code, 0);
        for (size_t i = 0; i < page.count; i++)
            apply_record(&page.records[i], &last);
        count += page.count;
        wr_reply_free(reply);
    } while (page.count);
    follower_end(&f);
    return count;
}

static struct wr_reply *get_row(bytes table, int row)
{
    struct wr_request req = {.op = WR_OP_GET_ROW,
                             .instance = BYTES_LIT("test"),
                             .get_row = {.table = table,
                                         .key = {columns[row], 2},
                                         .read = {.has_max_versions = true, .max_versions = 3}}};
    struct wr_reply *reply = wr_exec(db, &req);

    assert_int_equal(reply->code, 0);
    return reply;
}

static void check_copy(void)
{
    for (int i = 0; i < ROWS; i++) {
        struct wr_reply *a = get_row(TABLE, i), *b = get_row(COPY, i);
        const struct wr_row *x = &a->row.row, *y = &b->row.row;

        assert_int_equal(x->key.count, y->key.count);
        assert_int_equal(x->cell_count, y->cell_count);
        for (size_t j = 0; j < x->cell_count; j++) {
            assert_true(bytes_equal(x->cells[j].name, y->cells[j].name));
            assert_int_equal(x->cells[j].timestamp_ms, y->cells[j].timestamp_ms);
            assert_int_equal(x->cells[j].value.integer, y->cells[j].value.integer);
            assert_int_equal(x->cells[j].crc8, y->cells[j].crc8);
        }
        wr_reply_free(a);
        wr_reply_free(b);
    }
}

/* With a rekeying under way; with large answers and small ones. */
static void test_replay(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 19);
    begin(&plain);
    for (int i = 0; i < 600; i++) {
        if (i == 200)
            assert_int_equal(rekey("hash:4"), 0);
        random_request(&r);
    }
    assert_true(replay(0) > 600);
    check_copy();
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(change_in(COPY, WR_DELETE, (struct wr_key){columns[i], 2}, NULL, 0), 0);
    replay(7);
    check_copy();
    if (strcmp(engine_name, "mem") != 0) {
        wr_close(db);
        db = database_open(&options);
        replay(0);
        check_copy();
    }
    end();
}

/* ---- what a record holds ---- */

static void test_records(void **state)
{
    static const bytes wanted[] = {BYTES_LIT("b"), BYTES_LIT("a"), BYTES_LIT("b")};
    struct wr_stream_spec spec = plain;
    struct wr_cell two[] = {cell_of(1, 5, WR_CELL_PUT), cell_of(0, 1, WR_CELL_PUT)};
    struct wr_cell up = cell_of(0, 2, WR_CELL_INCREMENT), gone = cell_of(1, 0, WR_CELL_DELETE_ALL);
    struct wr_cell wide[COLUMNS];
    struct wr_stream_records page;
    const struct wr_stream_record *r;
    struct wr_reply *reply;
    struct follower f;

    (void)state;
    spec.columns_to_get = wanted;
    spec.column_count = PORT_COUNT(wanted);
    begin(&spec);
    for (int i = 0; i < COLUMNS; i++)
        wide[i] = cell_of(i, i, WR_CELL_PUT);
    assert_int_equal(change(WR_PUT, 1, two, 2), 0);
    assert_int_equal(change(WR_UPDATE, 1, &up, 1), 0);
    assert_int_equal(change(WR_UPDATE, 1, &gone, 1), 0);
    assert_int_equal(change(WR_PUT, 1, wide, COLUMNS), 0);
    assert_int_equal(change(WR_UPDATE, 1, &up, 1), 0);
    assert_int_equal(put_large(1, 2, BIG_BYTES), 0);
    assert_int_equal(change(WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(change(WR_DELETE, 1, NULL, 0), 0); /* nothing is there */
    follower_begin(&f, 0);
    reply = follow(&f, 0, &page);
    assert_int_equal(reply->code, 0);
    assert_int_equal(page.count, 7);
    assert_false(page.more);
    r = page.records;
    assert_int_equal(r[0].type, WR_PUT);
    assert_false(r[0].has_original);
    assert_int_equal(r[0].row.key.count, 2);
    assert_true(bytes_equal(r[0].row.key.columns[1].name, BYTES_LIT("pk")));
    assert_int_equal(r[0].row.key.columns[1].value.integer, 1);
    assert_int_equal(r[0].row.cell_count, 2);
    assert_true(bytes_equal(r[0].row.cells[0].name, BYTES_LIT("b"))); /* as they came */
    assert_int_equal(r[1].type, WR_UPDATE);
    assert_int_equal(r[1].row.cells[0].op, WR_CELL_PUT);
    assert_int_equal(r[1].row.cells[0].value.integer, 3);
    assert_true(r[1].has_original);
    assert_int_equal(r[1].original_count, 2);
    assert_int_equal(r[1].original[0].value.integer, 1);
    assert_int_equal(r[1].original[1].value.integer, 5);
    assert_int_equal(r[1].original_missing_count, 0);
    assert_int_equal(r[2].row.cells[0].op, WR_CELL_DELETE_ALL);
    assert_int_equal(r[2].original[1].value.integer, 5);
    assert_int_equal(r[3].row.cell_count, COLUMNS);
    assert_int_equal(r[3].original_count, 1);
    assert_int_equal(r[4].original_count, 0); /* of a wide row: by name */
    assert_int_equal(r[4].original_missing_count, 2);
    assert_true(bytes_equal(r[4].original_missing[1], BYTES_LIT("b")));
    assert_int_equal(r[5].large_count, 1);
    assert_int_equal(r[5].large[0].size, BIG_BYTES);
    assert_int_equal(r[5].row.cells[0].value.type, WR_VARBINARY);
    assert_true(r[5].row.cells[0].value.bytes.len < 256);
    assert_int_equal(r[6].type, WR_DELETE);
    assert_int_equal(r[6].row.cell_count, 0);
    wr_reply_free(reply);
    follower_end(&f);
    end();
}

/* A refused write has no record; a batch that is refused in part has those of the rest. */
static void test_refused(void **state)
{
    struct wr_cell one = cell_of(0, 1, WR_CELL_PUT);
    struct wr_row_change list[2] = {
        {.type = WR_PUT,
         .row = {{columns[1], 2}, &one, 1},
         .condition = {.existence = WR_EXPECT_EXIST}},
        {.type = WR_PUT, .row = {{columns[2], 2}, &one, 1}},
    };
    struct follower f;

    (void)state;
    begin(&plain);
    assert_int_equal(write_batch_of(list, 2, 1), E_CONDITION);
    follower_begin(&f, -1);
    assert_int_equal(count_records(&f), 0);
    assert_int_equal(write_batch_of(list, 2, 2), E_CONDITION);
    assert_int_equal(count_records(&f), 1);
    follower_end(&f);
    end();
}

/* ---- iterators ---- */

static void test_iterators(void **state)
{
    struct wr_cell one = cell_of(0, 1, WR_CELL_PUT);
    struct follower f, later, again;
    bytes altered, old;

    (void)state;
    begin(&plain);
    assert_int_equal(change(WR_PUT, 1, &one, 1), 0);
    follower_begin(&f, -1);
    follower_begin(&later, clock_wall_us(&db->clock) + 1);
    assert_int_equal(count_records(&later), 0);
    assert_int_equal(change(WR_PUT, 2, &one, 1), 0);
    assert_int_equal(count_records(&later), 1);
    assert_int_equal(count_records(&f), 2);
    old = f.iterator;
    for (size_t i = 0; i < old.len; i++) {
        altered = arena_copy(&f.c.arena, old);
        ((char *)(uintptr_t)altered.ptr)[i] ^= 1;
        assert_int_equal(read_code(altered), E_PARAMETER);
        assert_int_equal(read_code(bytes_of(old.ptr, i)), E_PARAMETER);
    }
    assert_int_equal(read_code(old), 0);
    for (int i = 0; i < 64; i++) /* whoever makes one himself reads nothing else */
        read_code(stream_iterator(&f.c.arena, f.stream, 0, UINT64_MAX << i));
    assert_int_equal(read_code(stream_iterator(&f.c.arena, f.stream, 1, 0)), E_PARAMETER);
    assert_int_equal(read_code(stream_iterator(&f.c.arena, BYTES_LIT("u_1"), 0, 0)), E_PARAMETER);
    assert_int_equal(switch_stream(false, 0), 0);
    assert_int_equal(read_code(old), E_PARAMETER);
    assert_int_equal(switch_stream(true, HOURS), 0);
    assert_int_equal(read_code(old), E_PARAMETER);
    follower_begin(&again, -1);
    assert_false(bytes_equal(again.stream, f.stream));
    assert_int_equal(count_records(&again), 0);
    assert_int_equal(change(WR_PUT, 2, &one, 1), 0);
    assert_int_equal(count_records(&again), 1);
    follower_end(&f);
    follower_end(&later);
    follower_end(&again);
    end();
}

/* ---- what expires ---- */

/* Under that storage id. */
static size_t stored(uint32_t at)
{
    struct ctx c;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 10000,
                        .bytes_max = 1 << 24,
                        .pages = &page};

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    range = (struct key_range){stream_record_key(&c.arena, at, 0, 0),
                               stream_record_key(&c.arena, at, 0, UINT64_MAX)};
    assert_int_equal(wait_scan(&c, db->engine, &scan), 0);
    ctx_release(&c);
    return page.count;
}

static uint32_t location(void)
{
    struct table *t = catalog_get(db->catalog, BYTES_LIT("test"), TABLE);
    uint32_t id = t->schema.stream.location;

    table_release(t);
    return id;
}

/* Records of three hours ago, and then they are kept for one. */
static void test_expiry(void **state)
{
    struct wr_cell one = cell_of(0, 1, WR_CELL_PUT);
    struct stream_retention *r;
    struct follower f;
    bool more = true;
    bytes old;

    (void)state;
    begin(&plain);
    step_wall(db, -3 * 3600000);
    assert_int_equal(change(WR_PUT, 1, &one, 1), 0);
    assert_int_equal(change(WR_PUT, 2, &one, 1), 0);
    follower_begin(&f, -1);
    assert_int_equal(count_records(&f), 2);
    old = f.iterator;
    step_wall(db, 3 * 3600000);
    assert_int_equal(change(WR_PUT, 3, &one, 1), 0);
    assert_int_equal(read_code(old), 0);
    assert_int_equal(switch_stream(true, 1), 0);
    assert_int_equal(read_code(old), E_PARAMETER);
    assert_int_equal(stored(location()), 3);
    r = stream_retention_start(db);
    while (more)
        assert_int_equal(stream_retention_some(r, &more), 0);
    assert_int_equal(stored(location()), 1);
    end();
    stream_retention_free(r);
    follower_end(&f);
}

/* ---- on and off ---- */

static enum wr_stream_status status(bytes stream)
{
    struct wr_describe_stream in = {.table = TABLE, .stream = stream};
    struct wr_stream_description out = {0};
    struct asked x;
    struct wr_reply *reply = answer(&x, stream_describe(ask(&x), &in, &out));

    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
    return out.status;
}

/* While a request still goes by the table of before, the stream is not quite on; when it is off,
 * and when its table goes, its records go. */
static void test_on_and_off(void **state)
{
    struct wr_cell one = cell_of(0, 1, WR_CELL_PUT);
    struct wr_request drop = {.op = WR_OP_DELETE_TABLE, .delete_table = {.table = TABLE}};
    struct table *before;
    struct follower f;
    uint32_t first, second;

    (void)state;
    begin(NULL);
    assert_int_equal(change(WR_PUT, 1, &one, 1), 0);
    before = catalog_get(db->catalog, BYTES_LIT("test"), TABLE);
    assert_int_equal(switch_stream(true, HOURS), 0);
    follower_begin(&f, -1);
    assert_int_equal(status(f.stream), WR_STREAM_ENABLING);
    assert_true(atomic_load(&before->is_overtaken));
    table_release(before);
    assert_int_equal(status(f.stream), WR_STREAM_ACTIVE);
    assert_int_equal(change(WR_PUT, 2, &one, 1), 0);
    assert_int_equal(count_records(&f), 1);
    first = location();
    assert_int_equal(switch_stream(true, HOURS), 0); /* it is the same stream */
    assert_int_equal(location(), first);
    assert_int_equal(stored(first), 1);
    assert_int_equal(switch_stream(false, 0), 0);
    assert_int_equal(switch_stream(true, HOURS), 0);
    second = location();
    assert_int_not_equal(second, first);
    assert_int_equal(change(WR_PUT, 2, &one, 1), 0);
    assert_int_equal(stored(second), 1);
    sweep_later(db, 61000);
    assert_int_equal(stored(first), 0);
    assert_int_equal(stored(second), 1);
    assert_int_equal(run(&drop), 0);
    go_later(db, 10000); /* or the sweeper takes no new reading of the clock */
    sweep_later(db, 61000);
    assert_int_equal(stored(second), 0);
    follower_end(&f);
    end();
}

/* A backup has the records of its rows. */
static void test_backup(void **state)
{
    char copy[FOLDER_BYTES + 16], message[256] = "";
    struct rng r;

    (void)state;
    if (strcmp(engine_name, "mem") == 0)
        skip();
    rng_init(&r, 7);
    begin(&plain);
    for (int i = 0; i < 50; i++)
        random_request(&r);
    snprintf(copy, sizeof(copy), "%s.backup", dir);
    assert_int_equal(wr_backup(db, copy, message, sizeof(message)), 0);
    for (int i = 0; i < 50; i++)
        random_request(&r);
    wr_close(db);
    options.dir = copy;
    db = database_open(&options);
    assert_true(replay(0) >= 50);
    check_copy();
    wr_close(db);
    folder_remove(copy);
    folder_remove(dir);
}

/* ---- writers and a follower ---- */

enum { WRITERS = 4, TURNS = 300 };

struct race {
    atomic_int acked[WRITERS], left;
};

struct writer {
    struct race *race;
    int number;
    pthread_t thread;
};

/* Counts up, alone or in batches, in a row of his own and one of all. */
static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct wr_cell up = cell_of(0, 1, WR_CELL_INCREMENT), put = cell_of(1, 0, WR_CELL_PUT);

    for (int i = 1; i <= TURNS; i++) {
        struct wr_row_change list[2] = {
            {.type = WR_UPDATE, .row = {{columns[w->number], 2}, &up, 1}},
            {.type = WR_PUT, .row = {{columns[WRITERS], 2}, &put, 1}},
        };

        if (i % 3)
            assert_int_equal(change(WR_UPDATE, w->number, &up, 1), 0);
        else
            assert_int_equal(write_batch_of(list, 2, i % 2), 0);
        atomic_store(&w->race->acked[w->number], i);
    }
    atomic_fetch_sub(&w->race->left, 1);
    return NULL;
}

/* Reads to the end: each writer's counts follow one another, and what was acknowledged before is
 * there. */
static bool race_follow(struct race *race, struct follower *f, int64_t *seen)
{
    struct wr_stream_records page;
    int acked[WRITERS];
    bool ended = !atomic_load(&race->left), more = true;

    for (int i = 0; i < WRITERS; i++)
        acked[i] = atomic_load(&race->acked[i]);
    while (more) {
        struct wr_reply *reply = follow(f, 0, &page);

        assert_int_equal(reply->code, 0);
        for (size_t i = 0; i < page.count; i++) {
            const struct wr_row *row = &page.records[i].row;
            int64_t writer = row->key.columns[1].value.integer;

            if (writer < WRITERS)
                assert_int_equal(row->cells[0].value.integer, ++seen[writer]);
        }
        more = page.more;
        wr_reply_free(reply);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_true(seen[i] >= acked[i]);
    return ended;
}

static void test_race(void **state)
{
    struct race race = {.left = WRITERS};
    struct writer writers[WRITERS];
    int64_t seen[WRITERS] = {0};
    struct follower f;

    (void)state;
    begin(&plain);
    follower_begin(&f, -1);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.race = &race, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    while (!race_follow(&race, &f, seen))
        ;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_int_equal(seen[i], TURNS);
    }
    follower_end(&f);
    end();
}

int main(void)
{
    static const char *const engines[] = {"mem", "rocks"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),     cmocka_unit_test(test_records),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_iterators),
        cmocka_unit_test(test_expiry),     cmocka_unit_test(test_race),
        cmocka_unit_test(test_on_and_off), cmocka_unit_test(test_backup),
    };
    int failed = 0;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        engine_name = engines[i];
        failed += cmocka_run_group_tests_name(engines[i], tests, NULL, NULL);
    }
    return failed;
}

/* One cell as a stream, on every engine that needs no cluster. */
#include "table/core/db.h"

#include "base/fault.h"
#include "base/rng.h"
#include "table/maint/sweep.h"
#include "table/model/big.h"
#include "table/model/key.h"
#include "table/model/value.h"
#include "table/sync/wait.h"

#include <openssl/evp.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <unistd.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"
#include "../stored.h"
#include "../../later.h"

#define MIB ((size_t)1 << 20)
#define MINUTE_MS 60000

static const char *engine_name;

struct bed {
    char dir[FOLDER_BYTES];
    struct wr_db *db;
    char message[400];
};

static bool is_mem(void)
{
    return strcmp(engine_name, "mem") == 0;
}

static void bed_open(struct bed *b)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .dir = b->dir,
                           .engine = engine_name,
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    b->db = database_open(&o);
}

static int run(struct bed *b, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = BYTES_LIT("test");
    reply = wr_exec(b->db, req);
    code = reply->code;
    snprintf(b->message, sizeof(b->message), "%s", reply->message);
    wr_reply_free(reply);
    return code;
}

static int bed_set_up(void **state)
{
    struct bed *b = mem_zalloc(sizeof(*b));
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    folder_make(b->dir);
    bed_open(b);
    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(run(b, &req), 0);
    *state = b;
    return 0;
}

static int bed_tear_down(void **state)
{
    struct bed *b = *state;

#ifdef WR_FAULTS
    fault_arm(NULL);
#endif
    database_remove(b->db, b->dir);
    mem_free(b);
    return 0;
}

/* Bytes that nobody can guess but who knows the seed. */
static uint8_t *make(uint64_t seed, size_t len)
{
    uint8_t *p = mem_alloc(len + 8);
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < len; i += 8)
        store_u64(p + i, rng_next(&rng));
    return p;
}

static struct wr_key key_of(struct wr_key_column *column, int64_t pk)
{
    *column = (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = pk}};
    return (struct wr_key){column, 1};
}

static void wake(void *arg)
{
    sem_post(arg);
}

static void feed(struct wr_cell_writer *w, const uint8_t *data, size_t len, bool waits)
{
    size_t at = 0;
    sem_t more;

    sem_init(&more, 0, 0);
    while (at < len) {
        size_t want = len - at < 70001 ? len - at : 70001;
        ptrdiff_t n = wr_cell_write(w, data + at, want, waits ? NULL : wake, &more);

        assert_true(n >= 0);
        at += (size_t)n;
        if ((size_t)n < want)
            sem_wait(&more);
    }
    sem_destroy(&more);
}

static int begin(struct bed *b, int64_t pk, size_t len, const uint8_t *sha256,
                 struct wr_cell_writer **w)
{
    struct wr_key_column column;
    struct wr_cell_put put = {.instance = BYTES_LIT("test"),
                              .table = BYTES_LIT("t"),
                              .key = key_of(&column, pk),
                              .column = BYTES_LIT("c"),
                              .length = len,
                              .timestamp_ms = WR_TIMESTAMP_NONE,
                              .sha256 = sha256};

    return wr_cell_writer_open(b->db, &put, w, b->message, sizeof(b->message));
}

static int end(struct bed *b, struct wr_cell_writer *w)
{
    struct wr_reply *reply = wr_cell_finish_wait(w);
    int code = reply->code;

    snprintf(b->message, sizeof(b->message), "%s", reply->message);
    wr_reply_free(reply);
    wr_cell_writer_free(w);
    return code;
}

/* The cell c of row pk; bytes made from the seed. */
static int put_stream(struct bed *b, int64_t pk, uint64_t seed, size_t len)
{
    uint8_t *data = make(seed, len), sha256[32];
    struct wr_cell_writer *w;

    EVP_Digest(data, len, sha256, NULL, EVP_sha256(), NULL);
    assert_int_equal(begin(b, pk, len, sha256, &w), 0);
    feed(w, data, len, seed % 2);
    mem_free(data);
    return end(b, w);
}

static int open_reader(struct bed *b, int64_t pk, struct wr_cell_reader **r,
                       struct wr_cell_info *info)
{
    struct wr_key_column column;
    struct wr_cell_get get = {.instance = BYTES_LIT("test"),
                              .table = BYTES_LIT("t"),
                              .key = key_of(&column, pk),
                              .column = BYTES_LIT("c")};

    return wr_cell_reader_open(b->db, &get, r, info, b->message, sizeof(b->message));
}

static void expect_bytes(struct wr_cell_reader *r, const uint8_t *data, uint64_t from, size_t len,
                         bool waits)
{
    uint8_t *got = mem_alloc(len + 1);
    size_t at = 0;
    sem_t more;

    sem_init(&more, 0, 0);
    while (at < len) {
        ptrdiff_t n = wr_cell_read(r, from + at, got + at, len - at, waits ? NULL : wake, &more);

        assert_true(n >= 0);
        if (!n)
            sem_wait(&more);
        at += (size_t)n;
    }
    assert_memory_equal(got, data + from, len);
    sem_destroy(&more);
    mem_free(got);
}

/* By the stream, in whole and in part. */
static void expect_stream(struct bed *b, int64_t pk, uint64_t seed, size_t len)
{
    uint8_t *data = make(seed, len), sha256[32], one;
    struct wr_cell_reader *r;
    struct wr_cell_info info;

    if (open_reader(b, pk, &r, &info))
        print_error("%s\n", b->message);
    assert_non_null(r);
    assert_int_equal(info.length, len);
    assert_int_equal(info.type, WR_VARBINARY);
    EVP_Digest(data, len, sha256, NULL, EVP_sha256(), NULL);
    assert_memory_equal(info.sha256, sha256, sizeof(sha256));
    expect_bytes(r, data, 0, len, true);
    expect_bytes(r, data, len / 3, len / 2, false);
    assert_int_equal(wr_cell_read(r, len, &one, 1, NULL, NULL), 0);
    assert_int_equal(wr_cell_reader_error(r, NULL, 0), 0);
    wr_cell_reader_free(r);
    mem_free(data);
}

/* By GetRow: the same bytes and the checksum that goes with them; -1: no such cell. */
static void expect_row(struct bed *b, int64_t pk, uint64_t seed, ptrdiff_t len)
{
    struct wr_key_column column;
    struct wr_request req = {.op = WR_OP_GET_ROW,
                             .instance = BYTES_LIT("test"),
                             .get_row = {.table = BYTES_LIT("t"),
                                         .key = key_of(&column, pk),
                                         .read = {.has_max_versions = true, .max_versions = 1}}};
    struct wr_reply *reply = wr_exec(b->db, &req);
    const struct wr_cell *cell = NULL;
    uint8_t *data;

    assert_string_equal(reply->message, "");
    for (size_t i = 0; i < reply->row.row.cell_count; i++)
        if (bytes_equal(reply->row.row.cells[i].name, BYTES_LIT("c")))
            cell = &reply->row.row.cells[i];
    assert_int_equal(cell != NULL, len >= 0);
    if (cell) {
        data = make(seed, (size_t)len);
        assert_false(cell->apart);
        assert_true(bytes_equal(cell->value.bytes, bytes_of(data, (size_t)len)));
        assert_int_equal(cell->crc8, value_crc8(cell->name, &cell->value, cell->timestamp_ms));
        mem_free(data);
    }
    wr_reply_free(reply);
}

static int change(struct bed *b, enum wr_op op, int64_t pk, const struct wr_cell *cells,
                  size_t count, const struct wr_filter *filter)
{
    struct wr_key_column column;
    struct wr_request req = {.op = op};

    req.put_row = (struct wr_row_change){.type = op == WR_OP_PUT_ROW      ? WR_PUT
                                                 : op == WR_OP_UPDATE_ROW ? WR_UPDATE
                                                                          : WR_DELETE,
                                         .table = BYTES_LIT("t"),
                                         .row = {key_of(&column, pk), cells, count},
                                         .condition = {.column = filter}};
    return run(b, &req);
}

static int put_number(struct bed *b, enum wr_op op, int64_t pk, const char *name)
{
    struct wr_cell cell = {.name = bytes_str(name),
                           .value = {.type = WR_BIGINT, .integer = 7},
                           .timestamp_ms = WR_TIMESTAMP_NONE};

    return change(b, op, pk, &cell, 1, NULL);
}

static size_t count_keys(struct bed *b, enum key_kind kind)
{
    return stored_count(b->db, 1, kind);
}

/* Nothing but what the rows need is stored once the sweeper has been there. */
static void expect_swept(struct bed *b, int64_t after_ms, size_t chunks)
{
    for (int i = 0; i < 200 && count_keys(b, KIND_GARBAGE); i++) {
        sweep_later(b->db, after_ms);
        usleep(10000); /* a writer that was given up leaves its record a moment later */
    }
    assert_int_equal(count_keys(b, KIND_GARBAGE), 0);
    assert_int_equal(count_keys(b, KIND_CHUNK), chunks);
}

static void sizes(void **state)
{
    static const size_t lens[] = {0,           1,       1000,         MIB,     MIB + 1,
                                  3 * MIB + 5, 4 * MIB, 16 * MIB - 1, 20 * MIB};
    struct bed *b = *state;

    for (size_t i = 0; i < PORT_COUNT(lens); i++) {
        assert_int_equal(put_stream(b, (int64_t)i, i, lens[i]), 0);
        expect_stream(b, (int64_t)i, i, lens[i]);
        expect_row(b, (int64_t)i, i, (ptrdiff_t)lens[i]);
    }
    assert_int_equal(count_keys(b, KIND_GARBAGE), 0);
    if (is_mem())
        return;
    wr_close(b->db);
    bed_open(b);
    for (size_t i = 0; i < PORT_COUNT(lens); i++)
        expect_stream(b, (int64_t)i, i, lens[i]);
}

static void refused(void **state)
{
    struct bed *b = *state;
    uint8_t *data = make(1, 3 * MIB), sha256[32] = {1}, right[32];
    struct wr_cell_writer *w;
    struct wr_key_column column;
    struct wr_cell_put put = {.instance = BYTES_LIT("test"), .column = BYTES_LIT("c")};

    assert_int_equal(put_stream(b, 1, 5, 2 * MIB), 0);
    /* A wrong hash. */
    assert_int_equal(begin(b, 1, 3 * MIB, sha256, &w), 0);
    feed(w, data, 3 * MIB, true);
    assert_int_equal(end(b, w), WR_E_AUTH);
    assert_non_null(strstr(b->message, "SHA-256"));
    /* One that is told at the end. */
    assert_int_equal(begin(b, 1, 3 * MIB, NULL, &w), 0);
    feed(w, data, 3 * MIB, true);
    wr_cell_expect(w, sha256);
    assert_int_equal(end(b, w), WR_E_AUTH);
    EVP_Digest(data, 3 * MIB, right, NULL, EVP_sha256(), NULL);
    assert_int_equal(begin(b, 2, 3 * MIB, sha256, &w), 0);
    feed(w, data, 3 * MIB, true);
    wr_cell_expect(w, right);
    assert_int_equal(end(b, w), 0);
    /* Too little, too much, nothing more. */
    assert_int_equal(begin(b, 1, 3 * MIB, NULL, &w), 0);
    feed(w, data, 2 * MIB, true);
    assert_int_equal(end(b, w), WR_E_PARAMETER);
    assert_string_equal(b->message,
                        "Only 2097152 of the 3145728 bytes that were announced have come.");
    assert_int_equal(begin(b, 1, MIB, NULL, &w), 0);
    assert_int_equal(wr_cell_write(w, data, 2 * MIB, NULL, NULL), -1);
    assert_int_equal(end(b, w), WR_E_PARAMETER);
    assert_int_equal(begin(b, 1, 3 * MIB, NULL, &w), 0);
    feed(w, data, 2 * MIB, false);
    wr_cell_writer_free(w);
    assert_int_equal(begin(b, 1, 3 * MIB, NULL, &w), 0);
    wr_cell_writer_free(w);
    wr_cell_writer_free(NULL);
    expect_stream(b, 1, 5, 2 * MIB);
    expect_swept(b, 0, 4 + 6); /* of rows 1 and 2 */
    expect_stream(b, 1, 5, 2 * MIB);
    /* No such table, no column of the key, no such cell. */
    put.table = BYTES_LIT("none");
    put.key = key_of(&column, 1);
    assert_int_equal(wr_cell_writer_open(b->db, &put, &w, b->message, sizeof(b->message)),
                     WR_E_NOT_EXIST);
    put.table = BYTES_LIT("t");
    put.column = BYTES_LIT("pk");
    assert_int_equal(wr_cell_writer_open(b->db, &put, &w, NULL, 0), WR_E_PARAMETER);
    assert_null(w);
    put.column = BYTES_LIT("c");
    put.length = (uint64_t)2 << 40;
    assert_int_equal(wr_cell_writer_open(b->db, &put, &w, NULL, 0), WR_E_PARAMETER);
    mem_free(data);
}

static void no_such_cell(void **state)
{
    struct bed *b = *state;
    struct wr_cell_reader *r;
    struct wr_cell_info info;

    assert_int_equal(open_reader(b, 1, &r, &info), WR_E_NOT_EXIST);
    assert_string_equal(b->message, "The row has no column 'c', or there is no such row.");
    assert_null(r);
    assert_int_equal(put_number(b, WR_OP_PUT_ROW, 1, "c"), 0);
    assert_int_equal(open_reader(b, 1, &r, &info), WR_E_PARAMETER);
    wr_cell_reader_free(NULL);
}

/* Whatever takes the cell away leaves nothing behind. */
static void replaced(void **state)
{
    struct bed *b = *state;
    struct wr_cell delete_c = {
        .name = BYTES_LIT("c"), .op = WR_CELL_DELETE_ALL, .timestamp_ms = WR_TIMESTAMP_NONE};

    for (int way = 0; way < 6; way++) {
        size_t chunks = way == 5 ? 6 : 0;

        assert_int_equal(put_number(b, WR_OP_PUT_ROW, 1, "n"), 0);
        assert_int_equal(put_stream(b, 1, 1, 2 * MIB), 0);
        assert_int_equal(put_number(b, WR_OP_UPDATE_ROW, 1, "m"), 0);
        expect_row(b, 1, 1, 2 * MIB);
        if (way == 0)
            assert_int_equal(change(b, WR_OP_UPDATE_ROW, 1, &delete_c, 1, NULL), 0);
        else if (way == 1)
            assert_int_equal(put_number(b, WR_OP_UPDATE_ROW, 1, "c"), 0);
        else if (way == 2)
            assert_int_equal(put_number(b, WR_OP_PUT_ROW, 1, "n"), 0);
        else if (way == 3)
            assert_int_equal(change(b, WR_OP_DELETE_ROW, 1, NULL, 0, NULL), 0);
        else if (way == 4)
            assert_int_equal(put_stream(b, 1, 2, 100), 0);
        else
            assert_int_equal(put_stream(b, 1, 2, 3 * MIB), 0);
        expect_swept(b, 2 * MINUTE_MS, chunks);
        if (way >= 4)
            expect_stream(b, 1, 2, way == 4 ? 100 : 3 * MIB);
    }
}

/* Who reads the old value goes on reading it. */
static void old_reader(void **state)
{
    struct bed *b = *state;
    uint8_t *data = make(1, 4 * MIB);
    struct wr_cell_reader *r[2];
    struct wr_cell_info info;

    assert_int_equal(put_stream(b, 1, 1, 4 * MIB), 0);
    assert_int_equal(open_reader(b, 1, &r[0], &info), 0);
    expect_bytes(r[0], data, 0, MIB, true);
    assert_int_equal(put_stream(b, 1, 2, 4 * MIB), 0);
    assert_int_equal(put_stream(b, 1, 3, 4 * MIB), 0);
    assert_int_equal(open_reader(b, 1, &r[1], &info), 0);
    assert_int_equal(change(b, WR_OP_DELETE_ROW, 1, NULL, 0, NULL), 0);
    for (int i = 0; i < 3; i++)
        sweep_later(b->db, 2 * MINUTE_MS);
    assert_int_equal(count_keys(b, KIND_CHUNK), 16);
    expect_bytes(r[0], data, MIB, 3 * MIB, true);
    wr_cell_reader_free(r[0]);
    mem_free(data);
    data = make(3, 4 * MIB);
    expect_bytes(r[1], data, 0, 4 * MIB, false);
    wr_cell_reader_free(r[1]);
    mem_free(data);
    expect_swept(b, 2 * MINUTE_MS, 0);
}

/* An upload is not swept, however long it takes. */
static void slow_upload(void **state)
{
    struct bed *b = *state;
    uint8_t *data = make(9, 4 * MIB);
    struct wr_cell_writer *w;

    assert_int_equal(begin(b, 1, 4 * MIB, NULL, &w), 0);
    feed(w, data, 3 * MIB, true);
    sweep_later(b->db, 10 * MINUTE_MS);
    feed(w, data + 3 * MIB, MIB, true);
    assert_int_equal(end(b, w), 0);
    expect_stream(b, 1, 9, 4 * MIB);
    mem_free(data);
}

static void conditions(void **state)
{
    struct bed *b = *state;
    struct wr_cell cell = {.name = BYTES_LIT("n"),
                           .value = {.type = WR_BIGINT, .integer = 1},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_filter filter = {.type = WR_FILTER_COLUMN,
                               .column = {.comparator = WR_EXIST, .column = BYTES_LIT("c")}};

    assert_int_equal(put_stream(b, 1, 1, 2 * MIB), 0);
    assert_int_equal(change(b, WR_OP_UPDATE_ROW, 1, &cell, 1, &filter), 0);
    filter.column.comparator = WR_EQUAL;
    filter.column.value = (struct wr_value){.type = WR_VARBINARY, .bytes = BYTES_LIT("x")};
    assert_int_equal(change(b, WR_OP_UPDATE_ROW, 1, &cell, 1, &filter), WR_E_PARAMETER);
    assert_non_null(strstr(b->message, "holds a value of 2097152 bytes"));
    expect_row(b, 1, 1, 2 * MIB);
}

/* The table is not the one the upload began with. */
static void table_made_anew(void **state)
{
    struct bed *b = *state;
    uint8_t *data = make(1, 3 * MIB);
    struct wr_request req = {.op = WR_OP_DELETE_TABLE, .delete_table = {BYTES_LIT("t")}};
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_cell_writer *w;

    assert_int_equal(begin(b, 1, 3 * MIB, NULL, &w), 0);
    feed(w, data, 3 * MIB, true);
    assert_int_equal(run(b, &req), 0);
    req = (struct wr_request){.op = WR_OP_CREATE_TABLE};
    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t"),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    assert_int_equal(run(b, &req), 0);
    assert_int_equal(end(b, w), WR_E_PARTITION);
    mem_free(data);
}

/* One byte of a chunk has changed. */
static void damaged(void **state)
{
    struct bed *b = *state;
    struct ctx c;
    struct buf start;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 2,
                        .bytes_max = 4 * MIB,
                        .pages = &page};
    struct edit edit;
    struct write_batch batch = {.partition = 1, .edits = &edit, .edit_count = 1};
    struct wr_cell_reader *r;
    struct wr_cell_info info;
    uint8_t *data = make(1, 3 * MIB);

    assert_int_equal(put_stream(b, 1, 1, 3 * MIB), 0);
    ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
    buf_init(&start, &c.arena, 8);
    key_put_prefix(&start, 1, 0, KIND_CHUNK);
    range.start = buf_bytes(&start);
    range.end = BYTES_NONE;
    assert_int_equal(wait_scan(&c, b->db->engine, &scan), 0);
    assert_int_equal(page.count, 2);
    edit = (struct edit){EDIT_PUT, page.items[1].key, arena_copy(&c.arena, page.items[1].value)};
    ((uint8_t *)edit.value.ptr)[1000] ^= 1;
    assert_int_equal(wait_apply(&c, b->db->engine, &batch), 0);
    assert_int_equal(open_reader(b, 1, &r, &info), 0);
    expect_bytes(r, data, 0, BIG_CHUNK_BYTES / 2, true);
    assert_int_equal(wr_cell_read(r, BIG_CHUNK_BYTES, data, 10, NULL, NULL), -1);
    assert_int_equal(wr_cell_reader_error(r, b->message, sizeof(b->message)), WR_E_CORRUPT);
    assert_string_equal(b->message, "damaged chunk 1 of 6 of a big cell");
    wr_cell_reader_free(r);
    ctx_release(&c);
    mem_free(data);
}

static void too_large_for_a_row(void **state)
{
    struct bed *b = *state;
    struct wr_key_column column;
    bytes n = BYTES_LIT("n");
    struct wr_request req = {.op = WR_OP_GET_ROW,
                             .get_row = {.table = BYTES_LIT("t"),
                                         .key = key_of(&column, 1),
                                         .read = {.has_max_versions = true, .max_versions = 1}}};

    assert_int_equal(put_stream(b, 1, 1, 65 * MIB), 0);
    assert_int_equal(put_number(b, WR_OP_UPDATE_ROW, 1, "n"), 0);
    assert_int_equal(run(b, &req), WR_E_PARAMETER);
    assert_non_null(strstr(b->message, "Column 'c' holds 68157440 bytes"));
    req.get_row.read.columns = &n;
    req.get_row.read.column_count = 1;
    assert_int_equal(run(b, &req), 0);
    expect_stream(b, 1, 1, 65 * MIB);
}

#ifdef WR_FAULTS
/* The last step fails: the old cell stays, and what was stored for the new one goes. */
static void failures(void **state)
{
    static const char *const faults[] = {"cell_before_publish:error:1",
                                         "bulk_before_ingest:error:1"};
    struct bed *b = *state;

    assert_int_equal(put_stream(b, 1, 1, 2 * MIB), 0);
    for (size_t i = 0; i < PORT_COUNT(faults); i++) {
        if (i && is_mem())
            continue;
        assert_true(fault_arm(faults[i]));
        assert_int_equal(put_stream(b, 1, 2, 17 * MIB), WR_E_UNAVAILABLE);
        fault_arm(NULL);
        expect_stream(b, 1, 1, 2 * MIB);
        expect_swept(b, 0, 4);
    }
}

static void full_disk(void **state)
{
    struct bed *b = *state;
    struct wr_cell_writer *w;
    uint8_t *data;

    if (is_mem())
        skip();
    data = make(1, 3 * MIB);
    assert_int_equal(put_stream(b, 1, 1, 2 * MIB), 0);
    assert_int_equal(begin(b, 1, 40 * MIB, NULL, &w), 0);
    feed(w, data, 3 * MIB, true);
    usleep(150000); /* the disk is asked about only now and then */
    assert_true(fault_arm("rocks_disk_full:error:1+"));
    while (wr_cell_write(w, data, MIB, NULL, NULL) > 0)
        ;
    assert_int_equal(end(b, w), WR_E_NO_SPACE);
    expect_stream(b, 1, 1, 2 * MIB);
    fault_arm(NULL);
    usleep(150000);
    assert_int_equal(put_stream(b, 1, 3, 2 * MIB), 0);
    wr_close(b->db);
    bed_open(b);
    expect_swept(b, 0, 4);
    expect_stream(b, 1, 3, 2 * MIB);
    mem_free(data);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(refused, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(no_such_cell, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(replaced, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(old_reader, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(slow_upload, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(conditions, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(table_made_anew, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(damaged, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(too_large_for_a_row, bed_set_up, bed_tear_down),
#ifdef WR_FAULTS
        cmocka_unit_test_setup_teardown(failures, bed_set_up, bed_tear_down),
        cmocka_unit_test_setup_teardown(full_disk, bed_set_up, bed_tear_down),
#endif
    };
    static const char *const engines[] = {"mem", "rocks"};
    int failed = 0;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        engine_name = engines[i];
        printf("engine %s\n", engine_name);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}

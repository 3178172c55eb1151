/* BatchGetRow asks for the heads of several rows at once, whatever the engine makes of it: late,
 * from another thread, and with some that fail. Its answers are those of GetRow. */
#include "table/core/db.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../database.h"

#define ROWS 90 /* every third is wide, every fifth is not there */
#define TABLE BYTES_LIT("t")

static struct wr_db *db;
static struct engine_ops ops; /* of the engine, with another get_many() */
static const struct engine_ops *plain;

static atomic_size_t calls, asked, most, gets;
static int late, code_of_failures; /* every fourth fails with it, if it is not 0 */

static void answer(struct get_many *m)
{
    for (size_t i = m->count; i-- > 0;) {
        struct get *g = &m->gets[i];

        g->code = code_of_failures && i % 4 == 1 ? fail_code(m->c, code_of_failures)
                                                 : plain->get(m->c, m->engine, g);
    }
}

static void *answer_main(void *arg)
{
    struct get_many *m = arg;

    answer(m);
    m->done(m);
    return NULL;
}

static int get_many(struct ctx *c, struct engine *e, struct get_many *m)
{
    pthread_t thread;

    (void)c;
    (void)e;
    calls++;
    asked += m->count;
    if (m->count > most)
        most = m->count;
    if (!late) {
        answer(m);
        return E_OK;
    }
    assert_int_equal(pthread_create(&thread, NULL, answer_main, m), 0);
    pthread_detach(thread);
    return E_LATER;
}

static int get(struct ctx *c, struct engine *e, struct get *g)
{
    gets++;
    return plain->get(c, e, g);
}

static void begin(const char *bytes_text)
{
    struct wr_setting settings[] = {
        {"wide_row_cells", "3"}, {"wide_row_bytes", bytes_text}, {"table_ops_per_s_max", "0"}};
    struct wr_options o = {.version = WR_API_VERSION,
                           .engine = "mem",
                           .settings = settings,
                           .setting_count = PORT_COUNT(settings)};
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = BYTES_LIT("test")};
    static const char names[] = "abcdef";

    db = database_open(&o);
    plain = db->engine->ops;
    ops = *plain;
    ops.get_many = get_many;
    ops.get = get;
    db->engine->ops = &ops;
    req.create_table = (struct wr_create_table){
        .table = TABLE,
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    wr_reply_free(wr_exec(db, &req));
    for (int i = 0; i < ROWS; i++) {
        struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = i}};
        struct wr_cell cells[6];
        struct wr_request put = {.op = WR_OP_PUT_ROW, .instance = BYTES_LIT("test")};
        struct wr_reply *reply;

        for (int j = 0; j < 6; j++)
            cells[j] = (struct wr_cell){.name = bytes_of(&names[j], 1),
                                        .value = {.type = WR_BIGINT, .integer = i * 10 + j},
                                        .timestamp_ms = WR_TIMESTAMP_NONE};
        put.put_row = (struct wr_row_change){
            .type = WR_PUT, .table = TABLE, .row = {{&column, 1}, cells, i % 3 ? 2 : 6}};
        if (i % 5 == 0)
            continue;
        reply = wr_exec(db, &put);
        assert_int_equal(reply->code, 0);
        wr_reply_free(reply);
    }
    calls = asked = most = gets = 0;
}

static void end(void)
{
    db->engine->ops = plain;
    wr_close(db);
}

static void check_row(const struct wr_row_result *r, int i)
{
    size_t count = i % 3 ? 2 : 6;

    assert_int_equal(r->code, 0);
    if (i % 5 == 0) {
        assert_int_equal(r->row.key.count, 0);
        return;
    }
    assert_int_equal(r->row.key.columns[0].value.integer, i);
    assert_int_equal(r->row.cell_count, count);
    for (size_t j = 0; j < count; j++)
        assert_int_equal(r->row.cells[j].value.integer, i * 10 + (int)j);
}

/* Key 7 is of a wrong type if `wrong`: its row fails by itself. */
static void read_all(int count, bool wrong)
{
    static struct wr_key_column columns[ROWS];
    static struct wr_key keys[ROWS];
    struct wr_table_get t = {.table = TABLE,
                             .keys = keys,
                             .key_count = (size_t)count,
                             .read = {.has_max_versions = true, .max_versions = 1}};
    struct wr_request req = {.op = WR_OP_BATCH_GET_ROW,
                             .instance = BYTES_LIT("test"),
                             .batch_get_row = {.tables = &t, .table_count = 1}};
    struct wr_reply *reply;

    for (int i = 0; i < count; i++) {
        columns[i] = (struct wr_key_column){BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = i}};
        keys[i] = (struct wr_key){&columns[i], 1};
    }
    if (wrong)
        columns[7].value = (struct wr_value){.type = WR_VARCHAR, .bytes = BYTES_LIT("x")};
    reply = wr_exec(db, &req);
    assert_int_equal(reply->code, 0);
    assert_int_equal(reply->batch.tables[0].row_count, count);
    for (int i = 0; i < count; i++)
        if (wrong && i == 7)
            assert_int_equal(reply->batch.tables[0].rows[i].code, E_INVALID_PK);
        else
            check_row(&reply->batch.tables[0].rows[i], i);
    wr_reply_free(reply);
}

static void heads_are_asked_for_at_once(void **state)
{
    (void)state;
    begin("65536");
    for (late = 0; late < 2; late++) {
        calls = asked = most = gets = 0;
        read_all(ROWS, false);
        assert_int_equal(calls, 2);
        assert_int_equal(asked, ROWS);
        assert_int_equal(most, 64);
        /* Wide rows read theirs again, in front of their cells or by themselves; no other does. */
        assert_true(gets <= ROWS / 3);
    }
    end();
}

static void one_row_is_asked_for_by_itself(void **state)
{
    (void)state;
    begin("65536");
    read_all(1, false);
    assert_int_equal(calls, 0);
    end();
}

static void what_fails_with_others_is_read_by_itself(void **state)
{
    static const int codes[] = {E_BUSY, E_PARTITION, E_MEMORY, E_CORRUPT};

    (void)state;
    begin("65536");
    for (late = 0; late < 2; late++)
        for (size_t i = 0; i < PORT_COUNT(codes); i++) {
            code_of_failures = codes[i];
            read_all(ROWS, true);
        }
    code_of_failures = 0;
    end();
}

/* Heads may be as large as a row that is not wide. */
static void large_heads_come_in_smaller_groups(void **state)
{
    (void)state;
    late = 0;
    begin("1048576");
    read_all(ROWS, false);
    assert_true(most >= 2 && most <= 4);
    assert_true(asked >= ROWS - 3 && asked <= ROWS);
    end();
    begin("1073741824");
    read_all(ROWS, false);
    assert_int_equal(calls, 0);
    end();
}

/* A batch whose client has gone is read no further; a change is made. */
static void what_nobody_waits_for_is_not_read(void **state)
{
    struct wr_key_column columns[2] = {{BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 1}},
                                       {BYTES_LIT("pk"), {.type = WR_BIGINT, .integer = 2}}};
    struct wr_key keys[2] = {{&columns[0], 1}, {&columns[1], 1}};
    struct wr_table_get table = {.table = TABLE,
                                 .keys = keys,
                                 .key_count = 2,
                                 .read = {.has_max_versions = true, .max_versions = 1}};
    int32_t gone = 0;
    struct wr_request get = {.op = WR_OP_BATCH_GET_ROW,
                             .batch_get_row = {.tables = &table, .table_count = 1},
                             .gone = &gone};
    struct wr_request drop = {
        .op = WR_OP_DELETE_ROW,
        .delete_row = {.type = WR_DELETE, .table = TABLE, .row = {keys[0], NULL, 0}},
        .gone = &gone};

    (void)state;
    begin("65536");
    assert_int_equal(database_run(db, &get), 0);
    gone = 1;
    assert_int_equal(database_run(db, &get), E_BUSY);
    assert_int_equal(database_run(db, &drop), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_asked_for_at_once),
        cmocka_unit_test(one_row_is_asked_for_by_itself),
        cmocka_unit_test(what_fails_with_others_is_read_by_itself),
        cmocka_unit_test(large_heads_come_in_smaller_groups),
        cmocka_unit_test(what_nobody_waits_for_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* pool.h: servers over the pool of TEST_CEPH_CONF with a table of transactions, in a namespace
 * named like the test's folder. Included behind cmocka. */
#ifndef UNIT_TABLE_TXN_POOL_H
#define UNIT_TABLE_TXN_POOL_H

#include "base/clock.h"
#include "base/port.h"

#include <unistd.h>

#include "../database.h"
#include "client.h"

#define PATIENCE_MS 120000

static char dir[FOLDER_BYTES];

static inline struct wr_db *open_server_for(const char *life_ms)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"transaction_ms_max", life_ms}};
    struct wr_options o = {WR_OPTIONS, .engine = "rados", .settings = settings,
                           .setting_count = PORT_COUNT(settings)};

    return database_open_in(&o, dir);
}

static inline struct wr_db *open_server(void)
{
    return open_server_for("2000");
}

static inline int begin(struct wr_db *db, int64_t value, struct client_id *id)
{
    return client_begin(db, 1, value, id);
}

/* Outside of transactions, if id is NULL. */
static inline int put(struct wr_db *db, const struct client_id *id, int64_t value, int64_t what)
{
    return client_put_cell(db, 1, id, value, (struct wr_value){.type = WR_BIGINT, .integer = what});
}

static inline int end(struct wr_db *db, const struct client_id *id, bool aborts)
{
    return client_end(db, 1, id, aborts);
}

/* What is stored, or 0: nothing. */
static inline int64_t get(struct wr_db *db, int64_t value)
{
    struct wr_request r = {.op = WR_OP_GET_ROW, .instance = CLIENT_INSTANCE};
    struct wr_key_column column;
    struct wr_reply *reply;
    int64_t found = 0;

    r.get_row.table = CLIENT_TABLE;
    r.get_row.key = client_key(&column, value);
    r.get_row.read.max_versions = 1;
    r.get_row.read.has_max_versions = true;
    reply = wr_exec(db, &r);
    assert_int_equal(reply->code, WR_OK);
    if (reply->row.row.cell_count)
        found = reply->row.row.cells[0].value.integer;
    wr_reply_free(reply);
    return found;
}

static inline int64_t now_ms(void)
{
    struct clock clock;

    clock_real_init(&clock);
    return clock_mono_ms(&clock);
}

/* Writes the value as soon as that is let in; how long that took, in milliseconds. */
static inline int64_t put_when_free(struct wr_db *db, int64_t value, int64_t what)
{
    int64_t begun_ms = now_ms();
    int code;

    while ((code = put(db, NULL, value, what)) == WR_E_CONFLICT &&
           now_ms() - begun_ms < PATIENCE_MS)
        usleep(20000);
    assert_int_equal(code, WR_OK);
    return now_ms() - begun_ms;
}

/* What test programs of this file's servers begin and end with. */
static inline int pool_set_up(void **state)
{
    struct wr_db *db;

    (void)state;
    folder_make(dir);
    if (!getenv("TEST_CEPH_CONF"))
        return 0;
    db = open_server();
    assert_int_equal(client_create(db), WR_OK);
    assert_int_equal(put(db, NULL, 1, 5), WR_OK);
    wr_close(db);
    return 0;
}

static inline int pool_tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

#endif

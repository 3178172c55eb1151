/* database.h: a database in a folder of a test's own. Included behind cmocka. */
#ifndef UNIT_TABLE_DATABASE_H
#define UNIT_TABLE_DATABASE_H

#include "widerow.h"

#include <stdlib.h>
#include <string.h>

#include "../folder.h"

static inline struct wr_db *database_open(const struct wr_options *o)
{
    char message[256] = "";
    struct wr_db *db;

    wr_open(o, &db, message, sizeof(message));
    assert_string_equal(message, "");
    return db;
}

/* As database_open(); on a pool it is that of TEST_CEPH_CONF, and in it a namespace named like the
 * folder, from which no other test reads. */
static inline struct wr_db *database_open_in(const struct wr_options *o, const char *dir)
{
    struct wr_setting pool[] = {{"ceph_conf", getenv("TEST_CEPH_CONF")},
                                {"pool", "data"},
                                {"namespace", strrchr(dir, '/') + 1}};
    struct wr_options on = *o;

    if (strcmp(o->engine, "rados") == 0) {
        on.engine_settings = pool;
        on.engine_setting_count = sizeof(pool) / sizeof(pool[0]);
    }
    return database_open(&on);
}

/* For tests of one database in memory: what they find in *state. */
static inline int database_set_up(void **state)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}};
    struct wr_options o = {
        .version = WR_API_VERSION, .engine = "mem", .settings = settings, .setting_count = 1};

    *state = database_open(&o);
    return 0;
}

static inline int database_tear_down(void **state)
{
    wr_close(*state);
    return 0;
}

/* With its folder. */
static inline void database_remove(struct wr_db *db, const char *dir)
{
    wr_close(db);
    folder_remove(dir);
}

/* The answer's code, or that of its first row that failed. */
static inline int database_run(struct wr_db *db, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = (struct wr_bytes){"test", 4};
    reply = wr_exec(db, req);
    code = reply->code;
    if (req->op == WR_OP_BATCH_WRITE_ROW || req->op == WR_OP_BULK_IMPORT)
        for (size_t i = 0; !code && i < reply->batch.tables[0].row_count; i++)
            code = reply->batch.tables[0].rows[i].code;
    wr_reply_free(reply);
    return code;
}

/* A cell of zeros, as a stream: the code of its end. */
static inline int database_stream(struct wr_db *db, struct wr_bytes table, struct wr_key key,
                                  struct wr_bytes column, size_t length)
{
    struct wr_cell_put put = {.size = sizeof(put),
                              .instance = {"test", 4},
                              .table = table,
                              .key = key,
                              .column = column,
                              .length = length,
                              .timestamp_ms = WR_TIMESTAMP_NONE};
    char message[256] = "", *data = calloc(1, length + 1);
    struct wr_cell_writer *w;
    struct wr_reply *reply;
    int code;

    wr_cell_writer_open(db, &put, &w, message, sizeof(message));
    assert_string_equal(message, "");
    assert_int_equal(wr_cell_write(w, data, length, NULL, NULL), (ptrdiff_t)length);
    reply = wr_cell_finish_wait(w);
    code = reply->code;
    wr_reply_free(reply);
    wr_cell_writer_free(w);
    free(data);
    return code;
}

#endif

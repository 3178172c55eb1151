/* database.h: a database in a folder of a test's own. Included behind cmocka. */
#ifndef UNIT_TABLE_DATABASE_H
#define UNIT_TABLE_DATABASE_H

#include "widerow.h"

#include "../folder.h"

static inline struct wr_db *database_open(const struct wr_options *o)
{
    char message[256] = "";
    struct wr_db *db;

    wr_open(o, &db, message, sizeof(message));
    assert_string_equal(message, "");
    return db;
}

/* With its folder. */
static inline void database_remove(struct wr_db *db, const char *dir)
{
    wr_close(db);
    folder_remove(dir);
}

/* The answer's code. */
static inline int database_run(struct wr_db *db, struct wr_request *req)
{
    struct wr_reply *reply;
    int code;

    req->instance = (struct wr_bytes){"test", 4};
    reply = wr_exec(db, req);
    code = reply->code;
    wr_reply_free(reply);
    return code;
}

#endif

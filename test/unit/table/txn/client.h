/* client.h: what clients of transactions ask of a table `t` with the key column `p`. Included
 * behind cmocka and database.h. */
#ifndef UNIT_TABLE_TXN_CLIENT_H
#define UNIT_TABLE_TXN_CLIENT_H

#include "base/bytes.h"
#include "widerow.h"

#include <string.h>

#define CLIENT_INSTANCE BYTES_LIT("test")
#define CLIENT_TABLE BYTES_LIT("t")

struct client_id {
    char text[256];
};

static inline int client_create_as(struct wr_db *db, int32_t ttl_s, const char *layout)
{
    static const struct wr_key_schema key[] = {{.name = BYTES_LIT("p"), .type = WR_BIGINT}};
    struct wr_request r = {WR_REQUEST(CREATE_TABLE)};

    r.create_table = (struct wr_create_table){
        .table = CLIENT_TABLE,
        .key = key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = ttl_s, .max_versions = 1},
        .local_transactions = true};
    if (layout)
        r.create_table.layout = bytes_str(layout);
    return database_run(db, &r);
}

static inline int client_create(struct wr_db *db)
{
    return client_create_as(db, -1, NULL);
}

static inline int client_drop(struct wr_db *db)
{
    struct wr_request r = {WR_REQUEST(DELETE_TABLE)};

    r.delete_table.table = CLIENT_TABLE;
    return database_run(db, &r);
}

static inline struct wr_key client_key(struct wr_key_column *column, int64_t value)
{
    *column = (struct wr_key_column){.name = BYTES_LIT("p"),
                                     .value = {.type = WR_BIGINT, .integer = value}};
    return (struct wr_key){column, 1};
}

static inline int client_begin(struct wr_db *db, uint64_t client, int64_t value,
                               struct client_id *id)
{
    struct wr_request r = {WR_REQUEST(START_LOCAL_TRANSACTION), .instance = CLIENT_INSTANCE,
                           .client = client};
    struct wr_key_column column;
    struct wr_reply *reply;
    int code;

    r.start_local_transaction.table = CLIENT_TABLE;
    r.start_local_transaction.key = client_key(&column, value);
    reply = wr_exec(db, &r);
    code = reply->code;
    *id = (struct client_id){""};
    if (!code) {
        assert_true(reply->transaction.id.len < sizeof(id->text));
        memcpy(id->text, reply->transaction.id.ptr, reply->transaction.id.len);
    }
    wr_reply_free(reply);
    return code;
}

/* Outside of transactions, if id is NULL. */
static inline int client_put_cell(struct wr_db *db, uint64_t client, const struct client_id *id,
                                  int64_t value, struct wr_value what)
{
    struct wr_cell cell = {
        .name = BYTES_LIT("a"), .value = what, .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request r = {WR_REQUEST(PUT_ROW), .client = client};
    struct wr_key_column column;

    r.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = CLIENT_TABLE, .row = {client_key(&column, value), &cell, 1}};
    if (id)
        r.put_row.transaction = bytes_str(id->text);
    return database_run(db, &r);
}

static inline int client_end(struct wr_db *db, uint64_t client, const struct client_id *id,
                             bool aborts)
{
    struct wr_request r = {WR_REQUEST(COMMIT_TRANSACTION), .client = client};

    if (aborts)
        r.op = WR_OP_ABORT_TRANSACTION;
    r.commit_transaction.id = bytes_str(id->text);
    return database_run(db, &r);
}

#endif

/* txn_hold.c: one client that begins transactions, writes in each, and ends none of them. */
#include "hostile.h"

#include <string.h>
#include <unistd.h>

#define VALUE_BYTES 20000
#define ID_BYTES 36
#define TRIES 50

static const bytes table = {"transactions", 12};

static bool table_make(struct door *d, int fd)
{
    static const struct wr_key_schema key = {.name = {"k", 1}, .type = WR_BIGINT};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = table,
        .key = &key,
        .key_count = 1,
        .reserved = {.has_read = true, .has_write = true},
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .local_transactions = true};
    for (int i = 0; i < TRIES; i++) { /* ten table operations a second */
        int status = door_ask(fd, door_request(d, &req), NULL, 0);

        if (status == 200 || status == 409)
            return true;
        usleep(200000);
    }
    return false;
}

/* The id stands in the body as a field of the message: its number and type, its length, itself. */
static int txn_begin(struct door *d, int fd, int value, char id[ID_BYTES + 1])
{
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = value}};
    struct wr_request req = {.op = WR_OP_START_LOCAL_TRANSACTION};
    char text[4096], *body;
    int status;

    req.start_local_transaction = (struct wr_start_transaction){.table = table, .key = {&key, 1}};
    status = door_ask(fd, door_request(d, &req), text, sizeof(text));
    if (status != 200)
        return status;
    body = strstr(text, "\r\n\r\n\n$");
    if (!body || strlen(body) < 6 + ID_BYTES)
        return -1;
    memcpy(id, body + 6, ID_BYTES);
    id[ID_BYTES] = 0;
    return status;
}

static int txn_write(struct door *d, int fd, int value, const char *id)
{
    static char text[VALUE_BYTES];
    struct wr_key_column key = {BYTES_LIT("k"), {.type = WR_BIGINT, .integer = value}};
    struct wr_cell cell = {.name = BYTES_LIT("c"), .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request req = {.op = WR_OP_PUT_ROW};

    memset(text, 't', sizeof(text));
    cell.value = (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(text, sizeof(text))};
    req.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = table, .row = {{&key, 1}, &cell, 1}, .transaction = bytes_str(id)};
    return door_ask(fd, door_request(d, &req), NULL, 0);
}

bool txns_hold(struct door *d, int count, int *begun, int *refused)
{
    int fd = door_connect(d, true);
    bool well = fd >= 0 && table_make(d, fd);

    *begun = *refused = 0;
    for (int value = 0; value < count && well; value++) {
        char id[ID_BYTES + 1];
        int status = txn_begin(d, fd, value, id);

        *begun += status == 200;
        if (status == 200)
            status = txn_write(d, fd, value, id);
        *refused += status == 503;
        well = status == 200 || status == 503;
    }
    close(fd);
    return well;
}

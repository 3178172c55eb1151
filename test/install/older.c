/* A program that was compiled with an older widerow.h (older.sed makes it), whose structs end earlier
 * than the library's: what stands behind them is not the program's to give. Writes and reads a row. */
#include <widerow.h>

#include <stdio.h>
#include <stdlib.h>

#define TEXT(s) {s, sizeof(s) - 1}

/* The request as the library would read it, with bytes behind that are no zeros. */
static int ask(struct wr_db *db, const struct wr_request *request)
{
    char *copy = malloc(request->size + 4096);
    struct wr_reply *reply;
    int code;

    memset(copy, 0x5A, request->size + 4096);
    memcpy(copy, request, request->size);
    reply = wr_exec(db, (const struct wr_request *)copy);
    code = reply->code;
    if (code)
        fprintf(stderr, "operation %d: %s\n", request->op, reply->message);
    else if (request->op == WR_OP_GET_ROW)
        printf("%zu columns, %lld\n", reply->row.row.key.count,
               (long long)reply->row.row.cells[0].value.integer);
    wr_reply_free(reply);
    free(copy);
    return code;
}

int main(int argc, char **argv)
{
    struct {
        struct wr_options o;
        char behind[256];
    } open = {.o = {WR_OPTIONS, .dir = argc > 1 ? argv[1] : "older"}};
    struct wr_key_schema schema = {.name = TEXT("k"), .type = WR_BIGINT};
    struct wr_key_column key = {TEXT("k"), {.type = WR_BIGINT, .integer = 1}};
    struct wr_cell cell = {.name = TEXT("c"),
                           .value = {.type = WR_BIGINT, .integer = 20},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request create = {WR_REQUEST(CREATE_TABLE), .instance = TEXT("i")};
    struct wr_request put = {WR_REQUEST(PUT_ROW), .instance = TEXT("i")};
    struct wr_request get = {WR_REQUEST(GET_ROW), .instance = TEXT("i")};
    char message[256];
    struct wr_db *db;
    int failed;

    create.create_table = (struct wr_create_table){
        .table = TEXT("t"),
        .key = &schema,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    put.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = TEXT("t"), .row = {{&key, 1}, &cell, 1}};
    get.get_row = (struct wr_get_row){.table = TEXT("t"),
                                      .key = {&key, 1},
                                      .read = {.has_max_versions = true, .max_versions = 1}};
#ifdef NEWER /* a program that wants what the library does not know */
    get.get_row.later = argc > 2;
#endif
    memset(open.behind, 0x5A, sizeof(open.behind));
    if (wr_open(&open.o, &db, message, sizeof(message))) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    failed = ask(db, &create) || ask(db, &put) || ask(db, &get);
    wr_close(db);
    return failed;
}

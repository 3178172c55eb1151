/* Widerow in a C program: a table of cards, one write, one read.
 *
 *   cc -std=c11 $(pkg-config --cflags widerow) cards.c -o cards $(pkg-config --libs widerow)
 *   ./cards FOLDER
 */
#include <widerow.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct wr_bytes text(const char *s)
{
    return (struct wr_bytes){s, strlen(s)};
}

/* Prints what went wrong, frees the reply, gives its code. */
static int end(const char *what, struct wr_reply *reply)
{
    int code = reply->code;

    if (code)
        fprintf(stderr, "%s: %s: %s\n", what, wr_error_name(code), reply->message);
    wr_reply_free(reply);
    return code;
}

static int create(struct wr_db *db)
{
    struct wr_key_schema key = {.name = text("CardID"), .type = WR_VARCHAR};
    struct wr_request request = {
        WR_REQUEST(CREATE_TABLE),
        .instance = text("local"),
        .create_table = {.table = text("cards"),
                         .key = &key,
                         .key_count = 1,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS,
                                     .ttl_s = -1,
                                     .max_versions = 1}}};
    struct wr_reply *reply = wr_exec(db, &request);

    if (reply->code == WR_E_EXIST) { /* of an earlier run */
        wr_reply_free(reply);
        return 0;
    }
    return end("CreateTable", reply);
}

static int put(struct wr_db *db, const char *card, int64_t balance)
{
    struct wr_key_column key = {text("CardID"), {.type = WR_VARCHAR, .bytes = text(card)}};
    struct wr_cell cell = {.name = text("balance"),
                           .value = {.type = WR_BIGINT, .integer = balance},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request request = {
        WR_REQUEST(PUT_ROW),
        .instance = text("local"),
        .put_row = {.type = WR_PUT, .table = text("cards"), .row = {{&key, 1}, &cell, 1}}};

    return end("PutRow", wr_exec(db, &request));
}

static int get(struct wr_db *db, const char *card)
{
    struct wr_key_column key = {text("CardID"), {.type = WR_VARCHAR, .bytes = text(card)}};
    struct wr_request request = {
        WR_REQUEST(GET_ROW),
        .instance = text("local"),
        .get_row = {.table = text("cards"), .key = {&key, 1}, .read = {.max_versions = 1, .has_max_versions = true}}};
    struct wr_reply *reply = wr_exec(db, &request);
    const struct wr_row *row = &reply->row.row;

    for (size_t i = 0; !reply->code && i < row->cell_count; i++)
        printf("%s: %.*s = %" PRId64 "\n", card, (int)row->cells[i].name.len, (const char *)row->cells[i].name.ptr,
               row->cells[i].value.integer);
    return end("GetRow", reply);
}

int main(int argc, char **argv)
{
    struct wr_options options = {WR_OPTIONS, .dir = argc > 1 ? argv[1] : "cards"};
    struct wr_db *db;
    char message[256];
    int code;

    if (wr_open(&options, &db, message, sizeof(message))) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    code = create(db);
    if (!code)
        code = put(db, "card-1", 20);
    if (!code)
        code = get(db, "card-1");
    wr_close(db);
    return code != 0;
}

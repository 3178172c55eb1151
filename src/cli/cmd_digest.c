/* cmd_digest.c: `widerow digest`: one number for all that an instance's tables hold, to compare two
 * places by.
 *
 * SHA-256 over an export in a form of its own: tables by name, for each its schema and then its
 * rows in key order, every version of every cell. Each text goes in with its length before it and
 * each number as 8 bytes, so that no two contents give the same bytes. What a restored table cannot
 * share with its source (when it was made, say) is left out. */
#include "cli/command.h"

#include "base/buf.h"

#include <openssl/evp.h>
#include <stdio.h>

#define PAGE_ROWS 5000

struct digest {
    EVP_MD_CTX *sha;
    uint64_t tables, rows, cells;
};

static void put_number(struct digest *d, uint64_t n)
{
    uint8_t b[8];

    store_u64(b, n);
    EVP_DigestUpdate(d->sha, b, sizeof(b));
}

static void put_text(struct digest *d, bytes text)
{
    put_number(d, text.len);
    if (text.len)
        EVP_DigestUpdate(d->sha, text.ptr, text.len);
}

static void put_value(struct digest *d, const struct wr_value *v)
{
    uint64_t bits = 0;

    put_number(d, v->type);
    switch (v->type) {
    case WR_BOOLEAN:
        put_number(d, v->boolean);
        break;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        put_number(d, (uint64_t)v->integer);
        break;
    case WR_UBIGINT:
        put_number(d, v->uinteger);
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        memcpy(&bits, &v->real, sizeof(v->real));
        put_number(d, bits);
        break;
    case WR_DECIMAL:
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_BINARY:
    case WR_VARBINARY:
    case WR_JSON:
        put_text(d, v->bytes);
        break;
    case WR_NULL:
    case WR_INF_MIN:
    case WR_INF_MAX:
    case WR_AUTO_INCREMENT:
        break;
    }
}

static void put_schema(struct digest *d, const struct wr_table_description *t)
{
    put_text(d, t->table);
    put_number(d, t->key_count);
    for (size_t i = 0; i < t->key_count; i++) {
        put_text(d, t->key[i].name);
        put_number(d, t->key[i].type);
        put_number(d, t->key[i].auto_increment);
    }
    put_number(d, t->defined_count);
    for (size_t i = 0; i < t->defined_count; i++) {
        put_text(d, t->defined[i].name);
        put_number(d, t->defined[i].type);
    }
    put_number(d, (uint64_t)t->options.ttl_s);
    put_number(d, (uint64_t)t->options.max_versions);
    put_number(d, (uint64_t)t->options.deviation_s);
    put_number(d, t->options.allow_update);
    put_number(d, (uint64_t)t->reserved.read);
    put_number(d, (uint64_t)t->reserved.write);
}

static void put_row(struct digest *d, const struct wr_row *row)
{
    put_number(d, row->key.count);
    for (size_t i = 0; i < row->key.count; i++)
        put_value(d, &row->key.columns[i].value);
    put_number(d, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        put_text(d, row->cells[i].name);
        put_number(d, (uint64_t)row->cells[i].timestamp_ms);
        put_value(d, &row->cells[i].value);
    }
    d->rows++;
    d->cells += row->cell_count;
}

/* A copy of the page's `next`, which dies with the page. */
static struct wr_key copy_key(struct arena *a, const struct wr_key *key)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, key->count + 1);

    for (size_t i = 0; i < key->count; i++) {
        columns[i] = key->columns[i];
        columns[i].name = arena_copy(a, columns[i].name);
        if (columns[i].value.type == WR_VARCHAR || columns[i].value.type == WR_VARBINARY)
            columns[i].value.bytes = arena_copy(a, columns[i].value.bytes);
    }
    return (struct wr_key){columns, key->count};
}

/* One page; the key to go on from into *next, in `keep`. */
static int digest_page(struct ctx *c, struct client *cl, struct digest *d,
                       const struct wr_request *request, struct arena *keep, struct wr_key *next)
{
    struct wr_reply reply;

    TRY(client_exec(c, cl, request, &reply));
    for (size_t i = 0; i < reply.range.row_count; i++)
        put_row(d, &reply.range.rows[i]);
    *next = copy_key(keep, &reply.range.next);
    return 0;
}

static int digest_rows(struct ctx *c, struct client *cl, struct digest *d,
                       struct wr_request *request)
{
    struct arena keep, before;
    int code = 0;

    arena_init(&keep, NULL, 0);
    while (code == 0 && request->get_range.start.count) {
        struct ctx page;

        before = keep;
        arena_init(&keep, NULL, 0);
        ctx_init(&page, c->clock, NULL, NULL, 0);
        code = digest_page(&page, cl, d, request, &keep, &request->get_range.start);
        if (code)
            fail(c, code, "%.*s: %s", BYTES_FMT(request->get_range.table), page.text);
        ctx_release(&page);
        arena_release(&before);
    }
    arena_release(&keep);
    return code;
}

static struct wr_key bound(struct arena *a, const struct wr_table_description *t, enum wr_type type)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, t->key_count);

    for (size_t i = 0; i < t->key_count; i++)
        columns[i] = (struct wr_key_column){t->key[i].name, {.type = type}};
    return (struct wr_key){columns, t->key_count};
}

static int digest_table(struct ctx *c, struct client *cl, struct digest *d, bytes name)
{
    struct wr_table_description table;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = name,
                      .has_limit = true,
                      .limit = PAGE_ROWS,
                      .read = {.max_versions = INT32_MAX, .has_max_versions = true}}};

    TRY(client_describe(c, cl, name, &table));
    put_schema(d, &table);
    request.get_range.start = bound(&c->arena, &table, WR_INF_MIN);
    request.get_range.end = bound(&c->arena, &table, WR_INF_MAX);
    TRY(digest_rows(c, cl, d, &request));
    put_number(d, UINT64_MAX); /* no row has so many key columns: the table's end */
    d->tables++;
    return 0;
}

static int digest_named(struct ctx *c, struct client *cl, struct cli *cli, struct digest *d)
{
    for (int i = 0; i < cli->argc; i++)
        TRY(digest_table(c, cl, d, bytes_str(cli->argv[i])));
    return 0;
}

static int digest_all(struct ctx *c, struct client *cl, struct digest *d)
{
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    for (size_t i = 0; i < reply.table_list.count; i++)
        TRY(digest_table(c, cl, d, reply.table_list.tables[i]));
    return 0;
}

static int digest(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct digest d = {.sha = EVP_MD_CTX_new()};
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int code;

    (void)options;
    if (!d.sha || !EVP_DigestInit_ex(d.sha, EVP_sha256(), NULL)) {
        EVP_MD_CTX_free(d.sha);
        return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
    }
    code = cli->argc ? digest_named(c, cl, cli, &d) : digest_all(c, cl, &d);
    EVP_DigestFinal_ex(d.sha, sum, &n);
    EVP_MD_CTX_free(d.sha);
    if (code)
        return code;
    for (unsigned i = 0; i < n; i++)
        printf("%02x", sum[i]);
    printf("  %llu tables, %llu rows, %llu cells\n", (unsigned long long)d.tables,
           (unsigned long long)d.rows, (unsigned long long)d.cells);
    return 0;
}

const struct command command_digest = {
    .name = "digest",
    .args = "[TABLE...]",
    .summary = "one SHA-256 of all tables' schemas and rows, to compare two places",
    .text = "Of the whole instance, or only of the TABLEs. Rows that are written meanwhile may be "
            "in it or not.",
    .argc_min = 0,
    .argc_max = 1000,
    .run_connected = digest,
};

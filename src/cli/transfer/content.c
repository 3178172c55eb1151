#include "cli/transfer/content.h"

#include "base/buf.h"
#include "cli/transfer/key_ranges.h"
#include "client/walk.h"

#include <openssl/evp.h>
#include <stdio.h>

#define PAGE_ROWS 2000
#define WORDS (CONTENT_BYTES / 8)
#define FORM "widerow content 1"

/* What types of values the digest tells apart: those of the protocol. */
enum value_class { CLASS_NONE, CLASS_BOOLEAN, CLASS_INTEGER, CLASS_REAL, CLASS_TEXT, CLASS_BINARY };

struct sum {
    uint64_t words[WORDS]; /* one number, the lowest word first */
    uint64_t rows, cells;
};

struct digest_run {
    struct target *target;
    const struct wr_table_description *table;
    const struct content_options *options;
    struct key_ranges ranges;
    pthread_mutex_t mutex; /* over sum */
    struct sum sum;
};

struct digester {
    struct digest_run *run;
    struct client *client;
    EVP_MD_CTX *sha;
};

/* ---- values ---- */

static enum value_class class_of(enum wr_type type)
{
    switch (type) {
    case WR_BOOLEAN:
        return CLASS_BOOLEAN;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_UBIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return CLASS_INTEGER;
    case WR_FLOAT:
    case WR_DOUBLE:
        return CLASS_REAL;
    case WR_DECIMAL:
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        return CLASS_TEXT;
    case WR_BINARY:
    case WR_VARBINARY:
        return CLASS_BINARY;
    case WR_NULL:
    case WR_INF_MIN:
    case WR_INF_MAX:
    case WR_AUTO_INCREMENT:
        break;
    }
    return CLASS_NONE;
}

/* Numbers are 8 bytes and texts have their length before them, so that no two contents give the
 * same bytes. */
static void put_number(struct buf *b, uint64_t n)
{
    uint8_t bytes8[8];

    store_u64(bytes8, n);
    buf_put(b, bytes8, sizeof(bytes8));
}

static void put_text(struct buf *b, bytes text)
{
    put_number(b, text.len);
    buf_put_bytes(b, text);
}

static void put_value(struct buf *b, const struct wr_value *v)
{
    enum value_class class = class_of(v->type);
    uint64_t bits = 0;

    put_number(b, (uint64_t) class);
    switch (class) {
    case CLASS_BOOLEAN:
        put_number(b, v->boolean);
        break;
    case CLASS_INTEGER:
        put_number(b, v->type == WR_UBIGINT ? v->uinteger : (uint64_t)v->integer);
        break;
    case CLASS_REAL:
        memcpy(&bits, &v->real, sizeof(v->real));
        put_number(b, bits);
        break;
    case CLASS_TEXT:
    case CLASS_BINARY:
        put_text(b, v->bytes);
        break;
    case CLASS_NONE:
        break;
    }
}

/* ---- rows ---- */

static void sum_add(uint64_t *to, const uint64_t *words)
{
    unsigned carry = 0;

    for (size_t i = 0; i < WORDS; i++) {
        uint64_t with = to[i] + carry;

        carry = with < carry;
        to[i] = with + words[i];
        carry |= to[i] < with;
    }
}

/* The row's bytes go to b; returns the cells that count. */
static size_t put_row(struct buf *b, const struct content_options *o, const struct wr_row *row)
{
    size_t cells = 0;

    put_number(b, row->key.count);
    for (size_t i = 0; i < row->key.count; i++)
        put_value(b, &row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        if (o->from_ms && cell->timestamp_ms < o->from_ms)
            continue;
        put_text(b, cell->name);
        if (o->versions)
            put_number(b, (uint64_t)cell->timestamp_ms);
        put_value(b, &cell->value);
        cells++;
    }
    return cells;
}

/* False: OpenSSL has failed. */
static bool hash_bytes(EVP_MD_CTX *sha, bytes data, uint8_t *out)
{
    unsigned n = 0;

    return EVP_DigestInit_ex(sha, EVP_sha256(), NULL) &&
           EVP_DigestUpdate(sha, data.ptr, data.len) && EVP_DigestFinal_ex(sha, out, &n) &&
           n == CONTENT_BYTES;
}

static int add_row(struct ctx *c, struct digester *d, struct buf *b, const struct wr_row *row,
                   struct sum *sum)
{
    uint8_t hash[EVP_MAX_MD_SIZE];
    uint64_t words[WORDS];
    size_t cells;

    b->len = 0;
    cells = put_row(b, d->run->options, row);
    if (d->run->options->from_ms && !cells)
        return 0;
    if (!hash_bytes(d->sha, buf_bytes(b), hash))
        return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
    for (size_t i = 0; i < WORDS; i++)
        words[i] = load_u64(hash + 8 * i);
    sum_add(sum->words, words);
    sum->rows++;
    sum->cells += cells;
    return 0;
}

static int add_rows(struct ctx *c, struct digester *d, const struct wr_row *rows, size_t count)
{
    struct digest_run *run = d->run;
    struct sum sum = {.rows = 0};
    struct buf b;

    buf_init(&b, &c->arena, 4096);
    for (size_t i = 0; i < count; i++)
        TRY(add_row(c, d, &b, &rows[i], &sum));
    pthread_mutex_lock(&run->mutex);
    sum_add(run->sum.words, sum.words);
    run->sum.rows += sum.rows;
    run->sum.cells += sum.cells;
    pthread_mutex_unlock(&run->mutex);
    return 0;
}

/* ---- workers ---- */

static int digester_open(struct ctx *c, void *arg, void **worker)
{
    struct digester *d = mem_zalloc(sizeof(*d));

    *worker = d;
    d->run = arg;
    d->sha = EVP_MD_CTX_new();
    if (!d->sha)
        return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
    TRY(client_open(c, d->run->target, &d->client));
    d->client->stop = &d->run->ranges.stopped;
    if (d->run->options->retry_ms)
        d->client->retry_ms = d->run->options->retry_ms;
    return 0;
}

static void digester_close(void *worker)
{
    struct digester *d = worker;

    if (!d)
        return;
    client_close(d->client);
    EVP_MD_CTX_free(d->sha);
    mem_free(d);
}

static int digest_page(struct ctx *c, void *worker, const struct key_range *r)
{
    struct digester *d = worker;
    struct digest_run *run = d->run;
    struct rate *rate = run->options->rate;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = run->table->table,
                      .start = r->start,
                      .end = r->end,
                      .has_limit = true,
                      .limit = PAGE_ROWS,
                      .read = {.max_versions = run->options->versions ? WALK_ALL_VERSIONS : 1,
                               .has_max_versions = true}}};
    struct wr_reply reply;

    if (rate && !rate_wait(rate, 0, &run->ranges.stopped))
        return 0;
    TRY(walk_page(c, d->client, &request, &reply));
    if (reply.range.next.count)
        key_ranges_put(&run->ranges, &reply.range.next, &r->end);
    if (rate)
        rate_take(rate, rate->units ? (uint64_t)reply.range.consumed.read : reply.range.row_count);
    return add_rows(c, d, reply.range.rows, reply.range.row_count);
}

/* ---- all of it ---- */

static int finish(struct ctx *c, const struct digest_run *run, struct content *out)
{
    const struct wr_table_description *t = run->table;
    EVP_MD_CTX *sha = EVP_MD_CTX_new();
    uint8_t hash[EVP_MAX_MD_SIZE];
    struct buf b;
    bool done;

    buf_init(&b, &c->arena, 1024);
    put_text(&b, BYTES_LIT(FORM));
    put_number(&b, run->options->versions);
    put_number(&b, t->key_count);
    for (size_t i = 0; i < t->key_count; i++) {
        put_text(&b, t->key[i].name);
        put_number(&b, (uint64_t)class_of(t->key[i].type));
    }
    put_number(&b, run->sum.rows);
    put_number(&b, run->sum.cells);
    for (size_t i = 0; i < WORDS; i++)
        put_number(&b, run->sum.words[i]);
    done = sha && hash_bytes(sha, buf_bytes(&b), hash);
    EVP_MD_CTX_free(sha);
    if (!done)
        return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
    *out = (struct content){run->sum.rows, run->sum.cells, ""};
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        snprintf(out->hex + 2 * i, 3, "%02x", hash[i]);
    return 0;
}

static int digest_ranges(struct ctx *c, struct digest_run *run, bytes name)
{
    const struct key_ranges_job job = {.name = "wr-digest",
                                       .worker_count = run->options->worker_count,
                                       .arg = run,
                                       .open = digester_open,
                                       .page = digest_page,
                                       .close = digester_close};
    struct wr_table_description *table = ARENA_NEW(&c->arena, struct wr_table_description);
    struct client *cl = NULL;
    int code;

    TRY(client_open(c, run->target, &cl));
    if (run->options->retry_ms)
        cl->retry_ms = run->options->retry_ms;
    code = client_describe(c, cl, name, table);
    run->table = table;
    if (code == 0)
        key_ranges_begin(c, &run->ranges, cl, table);
    client_close(cl);
    return code ? code : key_ranges_run(c, &run->ranges, name, &job);
}

int content_digest(struct ctx *c, struct target *t, bytes table, const struct content_options *o,
                   struct content *out)
{
    struct digest_run run = {.target = t, .options = o};
    int code;

    pthread_mutex_init(&run.mutex, NULL);
    code = digest_ranges(c, &run, table);
    pthread_mutex_destroy(&run.mutex);
    return code ? code : finish(c, &run, out);
}

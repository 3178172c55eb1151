/* digest.c: SHA-256 over an export in a form of its own: for each table its schema and then its
 * rows in key order, every version of every cell. Each text goes in with its length before it and
 * each number as 8 bytes, so that no two contents give the same bytes. What a restored or copied
 * table cannot share with its source (when it was made, say) is left out. */
#include "cli/transfer/digest.h"

#include "base/buf.h"
#include "client/walk.h"

#include <openssl/evp.h>
#include <stdio.h>

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

static int put_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    (void)c;
    for (size_t i = 0; i < count; i++)
        put_row(arg, &rows[i]);
    return 0;
}

int digest_init(struct ctx *c, struct digest *d)
{
    *d = (struct digest){.sha = EVP_MD_CTX_new()};
    if (d->sha && EVP_DigestInit_ex(d->sha, EVP_sha256(), NULL))
        return 0;
    EVP_MD_CTX_free(d->sha);
    return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
}

int digest_table(struct ctx *c, struct client *cl, struct digest *d, bytes name)
{
    struct wr_table_description table;

    TRY(client_describe(c, cl, name, &table));
    put_schema(d, &table);
    TRY(walk_table(c, cl, &table, WALK_ALL_VERSIONS, put_rows, d));
    put_number(d, UINT64_MAX); /* no row has so many key columns: the table's end */
    d->tables++;
    return 0;
}

void digest_finish(struct digest *d, char *hex)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    EVP_DigestFinal_ex(d->sha, sum, &n);
    EVP_MD_CTX_free(d->sha);
    for (unsigned i = 0; i < DIGEST_BYTES; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", sum[i]);
}

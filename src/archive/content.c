#include "archive/content.h"

#include <openssl/evp.h>
#include <stdio.h>

int content_begin(struct ctx *c, struct content *d)
{
    *d = (struct content){.sha = EVP_MD_CTX_new()};
    if (d->sha && EVP_DigestInit_ex(d->sha, EVP_sha256(), NULL))
        return 0;
    EVP_MD_CTX_free(d->sha);
    d->sha = NULL;
    return fail(c, E_UNAVAILABLE, "OpenSSL has no SHA-256 here");
}

void content_bytes(struct content *d, bytes piece)
{
    if (piece.len)
        EVP_DigestUpdate(d->sha, piece.ptr, piece.len);
}

static void put_counted(struct content *d, bytes piece)
{
    uint8_t count[8];

    store_u64(count, piece.len);
    content_bytes(d, bytes_of(count, sizeof(count)));
    content_bytes(d, piece);
}

void content_row(struct content *d, bytes key, bytes cells)
{
    put_counted(d, key);
    put_counted(d, cells);
    d->rows++;
}

void content_end(struct content *d, char hex[CONTENT_TEXT])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (d->sha && hex) {
        EVP_DigestFinal_ex(d->sha, sum, &n);
        for (unsigned i = 0; i < n && i < CONTENT_TEXT / 2; i++)
            snprintf(hex + (size_t)2 * i, 3, "%02x", sum[i]);
    }
    EVP_MD_CTX_free(d->sha);
    d->sha = NULL;
}

bytes content_key(struct arena *a, const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, a, 64);
    cells_begin(&b);
    for (size_t i = 0; i < row->key.count; i++)
        cells_put(
            &b,
            &(struct wr_cell){.name = row->key.columns[i].name, .value = row->key.columns[i].value},
            false);
    return buf_bytes(&b);
}

bytes content_cells(struct arena *a, const struct wr_row *row)
{
    struct buf b;

    if (!row->cell_count)
        return BYTES_NONE;
    buf_init(&b, a, 256);
    cells_begin(&b);
    for (size_t i = 0; i < row->cell_count; i++)
        cells_put(&b, &row->cells[i], true);
    return buf_bytes(&b);
}

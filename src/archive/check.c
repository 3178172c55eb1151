#include "archive/check.h"

#include "parquet/reader.h"

#include <stdio.h>

#define PIECE_BYTES (4u << 20)
#define TURN_ROWS 2000

struct archive_check {
    struct s3 *s3;
    const char *bucket, *dir;
    const struct manifest *m;
    archive_row_fn *fn;
    void *arg;
    struct content content; /* of the rows of all files */
    size_t file;
    /* Of the file. */
    struct ctx c; /* its name, its footer */
    const char *key;
    struct s3_object head;
    struct content sha;
    uint8_t *piece;
    uint64_t at, rows;
    struct parquet_source source;
    struct parquet_reader *reader; /* NULL: its bytes are being read */
    size_t keys, cells; /* key columns; which column the cells are, SIZE_MAX: there is none */
};

struct archive_check *archive_check_new(struct s3 *s3, const char *bucket, const char *dir,
                                        const struct manifest *m, archive_row_fn *fn, void *arg)
{
    struct archive_check *k = mem_zalloc(sizeof(*k));

    *k = (struct archive_check){
        .s3 = s3, .bucket = bucket, .dir = dir, .m = m, .fn = fn, .arg = arg};
    ctx_init(&k->c, NULL, NULL, NULL, 0);
    return k;
}

static void end_file(struct archive_check *k)
{
    parquet_reader_close(k->reader);
    k->reader = NULL;
    content_end(&k->sha, NULL);
    ctx_release(&k->c);
    ctx_init(&k->c, NULL, NULL, NULL, 0);
    k->key = NULL;
    k->at = k->rows = 0;
}

void archive_check_free(struct archive_check *k)
{
    if (!k)
        return;
    end_file(k);
    ctx_release(&k->c);
    content_end(&k->content, NULL);
    mem_free(k->piece);
    mem_free(k);
}

static int wrong(struct ctx *c, const struct archive_check *k, const char *what)
{
    return fail(c, E_CORRUPT, "s3://%s/%s: %s", k->bucket, k->key ? k->key : k->dir, what);
}

static bool read_source(void *arg, uint64_t offset, void *buf, size_t n, char *why, size_t why_size)
{
    struct archive_check *k = arg;
    struct clock clock;
    struct ctx own;
    int code;

    clock_real_init(&clock);
    ctx_init(&own, &clock, NULL, NULL, 0);
    code = s3_get(&own, k->s3, k->bucket, k->key, k->head.etag, offset, buf, n);
    if (code)
        snprintf(why, why_size, "%s", own.text);
    ctx_release(&own);
    return code == 0;
}

static int begin_file(struct ctx *c, struct archive_check *k)
{
    const struct manifest_file *f = &k->m->files[k->file];

    k->key = arena_printf(&k->c.arena, "%s%.*s", k->dir, BYTES_FMT(f->name)).ptr;
    k->c.clock = c->clock;
    TRY(s3_head(c, k->s3, k->bucket, k->key, &k->head));
    if (k->head.size != f->bytes)
        return wrong(c, k, "it has another length than its manifest says");
    if (!k->piece)
        k->piece = mem_alloc(PIECE_BYTES);
    return content_begin(c, &k->sha);
}

/* From here on its rows are read. */
static int open_rows(struct ctx *c, struct archive_check *k)
{
    const struct parquet_footer *footer;
    bytes note;

    k->source = (struct parquet_source){
        .read = read_source, .arg = k, .size = k->head.size, .read_bytes = 1u << 20};
    if (parquet_reader_open(&k->c, &k->source, k->key, PARQUET_PAGE_BYTES_MAX, &k->reader))
        return wrong(c, k, k->c.text ? k->c.text : "it cannot be read");
    footer = parquet_reader_footer(k->reader);
    note = footer->key_note;
    if (!bytes_equal(note, k->m->key))
        return wrong(c, k, "it has other key columns than its manifest says");
    k->keys = 1;
    for (size_t i = 0; i < note.len; i++)
        k->keys += bytes_u8(note)[i] == ',';
    k->cells = SIZE_MAX;
    if (k->keys > footer->leaf_count || k->keys > WR_KEY_COLUMNS_MAX)
        return wrong(c, k, "it lacks key columns");
    for (size_t i = k->keys; i < footer->leaf_count; i++)
        if (bytes_equal(footer->leaves[i].name, BYTES_LIT(CELLS_COLUMN)))
            k->cells = i;
        else
            parquet_reader_omit(k->reader, i); /* the cells have all of them */
    return 0;
}

static int hash_piece(struct ctx *c, struct archive_check *k, uint64_t *read)
{
    uint64_t left = k->head.size - k->at;
    size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    char hex[CONTENT_TEXT];

    if (n) {
        TRY(s3_get(c, k->s3, k->bucket, k->key, k->head.etag, k->at, k->piece, n));
        content_bytes(&k->sha, bytes_of(k->piece, n));
        k->at += n;
        *read += n;
        return 0;
    }
    content_end(&k->sha, hex);
    if (!bytes_equal(bytes_str(hex), k->m->files[k->file].sha256))
        return wrong(c, k, "its bytes are not those that were written (SHA-256)");
    return open_rows(c, k);
}

static int take_row(struct ctx *c, struct archive_check *k, const struct wr_value *values)
{
    const struct parquet_leaf *leaves = parquet_reader_footer(k->reader)->leaves;
    struct wr_key_column key[WR_KEY_COLUMNS_MAX];
    struct wr_row row = {.key = {key, k->keys}};
    bytes cells = BYTES_NONE;
    struct wr_cell *list;

    for (size_t i = 0; i < k->keys; i++)
        key[i] = (struct wr_key_column){.name = leaves[i].name, .value = values[i]};
    if (k->cells != SIZE_MAX && values[k->cells].type == WR_VARBINARY)
        cells = values[k->cells].bytes;
    row.cell_count = cells.len ? cells_read(cells, NULL) : 0;
    if (row.cell_count == SIZE_MAX)
        return wrong(c, k, "column " CELLS_COLUMN " holds what is none of ours");
    content_row(&k->content, content_key(&c->arena, &row), cells);
    k->rows++;
    if (!k->fn)
        return 0;
    list = ARENA_ARRAY(&c->arena, struct wr_cell, row.cell_count + 1);
    if (cells.len)
        cells_read(cells, list);
    row.cells = list;
    return k->fn(c, k->arg, &row);
}

static int read_rows(struct ctx *c, struct archive_check *k, bool *end)
{
    const struct wr_value *values;
    int code = 0;

    *end = false;
    for (int i = 0; i < TURN_ROWS && code == 0 && !*end; i++) {
        struct ctx row;

        switch (parquet_reader_next(k->reader, &values)) {
        case PARQUET_ROW:
            ctx_init(&row, c->clock, NULL, NULL, 0);
            code = take_row(&row, k, values);
            if (code)
                fail(c, code, "%s", row.text ? row.text : err_info(code)->text);
            ctx_release(&row);
            break;
        case PARQUET_END:
            *end = true;
            break;
        case PARQUET_BAD:
        case PARQUET_FAILED:
            return wrong(c, k, parquet_reader_message(k->reader));
        }
    }
    return code;
}

static int end_all(struct ctx *c, struct archive_check *k)
{
    char hex[CONTENT_TEXT];
    uint64_t rows = k->content.rows;

    content_end(&k->content, hex);
    if (rows != k->m->rows || !bytes_equal(bytes_str(hex), k->m->content))
        return wrong(c, k, "its rows are not those that were written");
    return 0;
}

int archive_check_step(struct ctx *c, struct archive_check *k, bool *ended, uint64_t *read)
{
    bool end;

    *ended = false;
    if (!k->content.sha)
        TRY(content_begin(c, &k->content));
    if (k->file == k->m->file_count) {
        TRY(end_all(c, k));
        *ended = true;
        return 0;
    }
    if (!k->key)
        return begin_file(c, k);
    if (!k->reader)
        return hash_piece(c, k, read);
    TRY(read_rows(c, k, &end));
    if (!end)
        return 0;
    if (k->rows != k->m->files[k->file].rows)
        return wrong(c, k, "it has another number of rows than its manifest says");
    end_file(k);
    k->file++;
    return 0;
}

int archive_manifest(struct ctx *c, struct s3 *s3, const char *bucket, const char *dir,
                     struct manifest *out)
{
    const char *key = arena_printf(&c->arena, "%s" MANIFEST_NAME, dir).ptr;
    struct s3_object head;
    uint8_t *text;

    TRY(s3_head(c, s3, bucket, key, &head));
    if (head.size > MANIFEST_BYTES_MAX)
        return fail(c, E_PARAMETER, "s3://%s/%s is no manifest: it is too long", bucket, key);
    text = arena_alloc(&c->arena, head.size + 1);
    if (head.size)
        TRY(s3_get(c, s3, bucket, key, head.etag, 0, text, head.size));
    return manifest_parse(c, bytes_of(text, head.size), key, out);
}

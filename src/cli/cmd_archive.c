/* cmd_archive.c: `widerow archive`: what periods of series a store has, whether they are whole, and
 * one of them as a table again. */
#include "archive/check.h"
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/transfer/store.h"
#include "client/walk.h"
#include "record/type_name.h"

#include <stdio.h>

#define BATCH_ROWS 100
#define BATCH_BYTES (1u << 20)
#define DEVIATION_ANY (INT64_MAX / 1000000)

struct archive_options {
    const char *table;
    struct s3_words s3;
    struct records_options print;
};

static const struct option_row archive_rows[] = {
    {"table", "NAME", "restore: the table to be made", OPTION_TEXT,
     offsetof(struct archive_options, table), 0, 0},
    STORE_ROWS(struct archive_options),
    RECORDS_ROWS(struct archive_options),
    {0},
};

/* ---- what there is ---- */

struct archive_list {
    struct store store;
    struct buf dirs; /* texts with their NULs: the folders of manifests */
    size_t count;
};

static int note_object(struct ctx *c, void *arg, const char *key, uint64_t size)
{
    struct archive_list *l = arg;
    bytes name = bytes_str(key), last = BYTES_LIT(MANIFEST_NAME);

    (void)c;
    (void)size;
    if (name.len < last.len || memcmp(key + name.len - last.len, last.ptr, last.len) != 0 ||
        (name.len > last.len && key[name.len - last.len - 1] != '/'))
        return 0;
    buf_put(&l->dirs, key, name.len - last.len);
    buf_put_u8(&l->dirs, 0);
    l->count++;
    return 0;
}

/* All that lie at the URL or below it. Close the store in any case. */
static int find_archives(struct ctx *c, struct archive_list *l, const struct archive_options *o,
                         const char *url)
{
    const char *prefix;
    size_t n;

    *l = (struct archive_list){0};
    buf_init(&l->dirs, &c->arena, 256);
    TRY(store_open(c, &l->store, &o->s3, url, NULL));
    n = strlen(l->store.key);
    prefix = n && l->store.key[n - 1] != '/' ? arena_printf(&c->arena, "%s/", l->store.key).ptr
                                             : l->store.key;
    TRY(s3_list(c, l->store.s3, l->store.bucket, prefix, note_object, l));
    if (l->count)
        return 0;
    return fail(c, E_NOT_EXIST, "there is no archive of a series at %s", url);
}

static int verify(struct ctx *c, struct store *s, const char *dir, const struct manifest *m,
                  archive_row_fn *fn, void *arg)
{
    struct archive_check *k = archive_check_new(s->s3, s->bucket, dir, m, fn, arg);
    uint64_t read = 0;
    bool ended = false;
    int code = 0;

    while (code == 0 && !ended)
        code = archive_check_step(c, k, &ended, &read);
    archive_check_free(k);
    return code;
}

static int put_archive(struct ctx *c, struct records *out, struct store *s, const char *dir,
                       bool checked)
{
    struct record record = {.count = 0};
    struct manifest m;
    uint64_t size = 0;

    TRY(archive_manifest(c, s->s3, s->bucket, dir, &m));
    if (checked)
        TRY(verify(c, s, dir, &m, NULL, NULL));
    for (size_t i = 0; i < m.file_count; i++)
        size += m.files[i].bytes;
    record_text(&record, "instance", m.instance);
    record_text(&record, "series", m.series);
    record_text(&record, "period", m.period);
    record_integer(&record, "rows", (int64_t)m.rows);
    record_integer(&record, "bytes", (int64_t)size);
    record_text(&record, "content", m.content);
    record_text(&record, "at", arena_printf(&c->arena, "s3://%s/%s", s->bucket, dir));
    return records_put_record(c, out, &record);
}

/* What is wrong with one of them does not hide the others. */
static int print_archives(struct ctx *c, struct cli *cli, const struct archive_options *o,
                          struct archive_list *l, bool checked)
{
    const char *dir = (const char *)l->dirs.data;
    struct records *out;
    uint64_t bad = 0;
    int more;

    TRY(records_open(c, &o->print, NULL, &out));
    for (size_t i = 0; i < l->count; i++, dir += strlen(dir) + 1) {
        struct ctx own;

        ctx_init(&own, c->clock, NULL, NULL, 0);
        if (put_archive(&own, out, &l->store, dir, checked)) {
            fprintf(stderr, "s3://%s/%s: %s\n", l->store.bucket, dir, own.text);
            bad++;
        }
        ctx_release(&own);
    }
    more = records_close(c, out);
    cli->partly = bad && bad < l->count;
    return bad ? fail(c, E_CORRUPT, "%llu of %zu archives are not what they should be",
                      (unsigned long long)bad, l->count)
               : more;
}

static int archive_run(struct ctx *c, struct cli *cli, void *options)
{
    const struct archive_options *o = options;
    bool checked = strcmp(cli->argv[0], "verify") == 0;
    struct archive_list l;
    int code;

    if (strcmp(cli->argv[0], "restore") == 0)
        return fail(c, E_PARAMETER, "--table names the table that restore makes");
    if (!checked && strcmp(cli->argv[0], "list") != 0)
        return fail(c, E_PARAMETER, "'%s' is none of list, verify and restore", cli->argv[0]);
    code = find_archives(c, &l, o, cli->argv[1]);
    if (!code)
        code = print_archives(c, cli, o, &l, checked);
    store_close(&l.store);
    return code;
}

/* ---- restore ---- */

struct restoring {
    struct client *client;
    bytes table;
    struct ctx batch; /* rows that wait */
    struct wr_row_change changes[BATCH_ROWS];
    size_t count;
    uint64_t rows;
};

static int send_batch(struct ctx *c, struct restoring *r)
{
    struct wr_table_write table = {r->table, r->changes, r->count};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_reply reply;
    struct ctx answer;
    int code = 0;

    if (!r->count)
        return 0;
    ctx_init(&answer, c->clock, NULL, NULL, 0);
    if (client_exec(&answer, r->client, &request, &reply))
        code = fail(c, answer.code, "%s", answer.text);
    for (size_t i = 0; !code && i < r->count; i++)
        if (reply.batch.tables[0].rows[i].code)
            code = fail(c, reply.batch.tables[0].rows[i].code, "a row cannot be written: %s",
                        reply.batch.tables[0].rows[i].message);
    ctx_release(&answer);
    ctx_release(&r->batch);
    ctx_init(&r->batch, c->clock, NULL, NULL, 0);
    r->rows += r->count;
    r->count = 0;
    return code;
}

static int restore_row(struct ctx *c, void *arg, const struct wr_row *row)
{
    struct restoring *r = arg;
    struct arena *a = &r->batch.arena;
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, row->cell_count + 1);

    for (size_t i = 0; i < row->cell_count; i++) {
        cells[i] = row->cells[i];
        cells[i].name = arena_copy(a, cells[i].name);
        if (cells[i].value.type == WR_VARCHAR || cells[i].value.type == WR_VARBINARY)
            cells[i].value.bytes = arena_copy(a, cells[i].value.bytes);
    }
    r->changes[r->count++] = (struct wr_row_change){
        .type = WR_PUT, .row = {walk_copy_key(a, &row->key), cells, row->cell_count}};
    return r->count == BATCH_ROWS || a->used > BATCH_BYTES ? send_batch(c, r) : 0;
}

static int make_table(struct ctx *c, struct client *cl, const struct manifest *m, bytes table)
{
    struct wr_key_schema key[WR_KEY_COLUMNS_MAX];
    struct wr_request request = {
        .op = WR_OP_CREATE_TABLE,
        .create_table = {.table = table,
                         .key = key,
                         .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION,
                                     .ttl_s = -1,
                                     .max_versions = m->versions > 0 ? (int32_t)m->versions : 1,
                                     .deviation_s = DEVIATION_ANY},
                         .reserved = {.has_read = true, .has_write = true}}};
    struct wr_create_table *t = &request.create_table;
    bytes list = m->key;
    struct wr_reply reply;

    while (list.len) {
        const char *p = list.ptr, *comma = memchr(p, ',', list.len);
        bytes word = bytes_of(p, comma ? (size_t)(comma - p) : list.len);
        const char *colon = word.ptr;

        for (size_t i = 0; i < word.len; i++)
            if (p[i] == ':')
                colon = p + i; /* the last one */
        list = comma ? bytes_skip(list, word.len + 1) : BYTES_NONE;
        if (t->key_count == WR_KEY_COLUMNS_MAX || *colon != ':' ||
            !type_parse(bytes_skip(word, (size_t)(colon + 1 - p)), &key[t->key_count].type))
            return fail(c, E_PARAMETER, "'%.*s' in the manifest are no key columns",
                        BYTES_FMT(m->key));
        key[t->key_count] = (struct wr_key_schema){.name = bytes_of(p, (size_t)(colon - p)),
                                                   .type = key[t->key_count].type};
        t->key_count++;
    }
    return client_exec(c, cl, &request, &reply);
}

static int sum_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        content_row(arg, content_key(&c->arena, &rows[i]), content_cells(&c->arena, &rows[i]));
    return 0;
}

/* What is in the table now is what the archive says. */
static int compare(struct ctx *c, struct client *cl, const struct manifest *m, bytes table)
{
    struct wr_table_description t;
    struct content sum;
    char hex[CONTENT_TEXT];
    uint64_t rows;
    int code;

    TRY(client_describe(c, cl, table, &t));
    TRY(content_begin(c, &sum));
    code = walk_table(c, cl, &t, WALK_ALL_VERSIONS, sum_rows, &sum);
    rows = sum.rows;
    content_end(&sum, hex);
    if (code)
        return code;
    if (rows == m->rows && bytes_equal(bytes_str(hex), m->content))
        return 0;
    return fail(c, E_CORRUPT, "the table has other rows than the archive: %llu, not %llu",
                (unsigned long long)rows, (unsigned long long)m->rows);
}

static int restore(struct ctx *c, struct client *cl, const struct archive_options *o,
                   struct archive_list *l)
{
    const char *dir = (const char *)l->dirs.data;
    struct restoring r = {.client = cl, .table = bytes_str(o->table)};
    struct wr_request drop = {.op = WR_OP_DELETE_TABLE, .delete_table = {r.table}};
    struct wr_reply reply;
    struct manifest m;
    int code;

    if (l->count != 1)
        return fail(c, E_PARAMETER, "%zu periods lie there; restore brings back one", l->count);
    TRY(archive_manifest(c, l->store.s3, l->store.bucket, dir, &m));
    TRY(make_table(c, cl, &m, r.table));
    ctx_init(&r.batch, c->clock, NULL, NULL, 0);
    cl->repeatable = true;
    code = verify(c, &l->store, dir, &m, restore_row, &r);
    if (!code)
        code = send_batch(c, &r);
    if (!code)
        code = compare(c, cl, &m, r.table);
    ctx_release(&r.batch);
    if (code) { /* nothing half done stays */
        struct ctx own;

        ctx_init(&own, c->clock, NULL, NULL, 0);
        client_exec(&own, cl, &drop, &reply);
        ctx_release(&own);
        return code;
    }
    printf("%s: %llu rows of %.*s, period %.*s\n", o->table, (unsigned long long)r.rows,
           BYTES_FMT(m.series), BYTES_FMT(m.period));
    return 0;
}

static int archive_run_connected(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct archive_options *o = options;
    struct archive_list l;
    int code;

    if (strcmp(cli->argv[0], "restore") != 0)
        return fail(c, E_PARAMETER, "--table is for restore");
    code = find_archives(c, &l, o, cli->argv[1]);
    if (!code)
        code = restore(c, cl, o, &l);
    store_close(&l.store);
    return code;
}

static bool archive_connects(const void *options)
{
    return ((const struct archive_options *)options)->table != NULL;
}

const struct command command_archive = {
    .name = "archive",
    .group = GROUP_FILES,
    .args = "list URL | verify URL | restore URL --table NAME",
    .summary = "what servers have written of series' old periods: list, verify, bring one back",
    .text = "URL is s3://BUCKET/PREFIX, of a whole archive or of what lies below it: the periods\n"
            "are at PREFIX/INSTANCE/SERIES/PERIOD.\n"
            "\n"
            "verify reads all of it: the bytes of each file against their SHA-256, and the rows\n"
            "against their number and content. restore makes a table of one period, with all\n"
            "versions and timestamps, and compares its rows with the archive's; if it fails, the\n"
            "table goes again. The files are Parquet, which other programs read, too.",
    .example = "widerow archive list s3://backups/widerow\n"
               "widerow archive restore s3://backups/widerow/local/purchases/2025-01 --table p2025",
    .options = archive_rows,
    .options_size = sizeof(struct archive_options),
    .argc_min = 2,
    .argc_max = 2,
    .run = archive_run,
    .run_connected = archive_run_connected,
    .connects = archive_connects,
};

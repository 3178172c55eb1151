#include "archive/export.h"

#include "archive/check.h"
#include "archive/row_file.h"
#include "base/port.h"
#include "client/walk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#define FILE_NAME "rows.parquet"
#define RETRY_MS 5000        /* of a request to the store; then the period is begun anew, later */
#define READ_RETRY_MS 600000 /* of one to the database, where the table's limits may be low */
#define FILE_BUFFER_BYTES (256u << 10)

enum stage { STAGE_COLUMNS, STAGE_ROWS, STAGE_CHECK, STAGE_MANIFEST };

/* A period on its way. */
struct job {
    struct ctx c; /* its texts */
    struct wr_archive_period period;
    enum stage stage;
    struct target target;
    struct client *client;
    struct wr_table_description table;
    struct s3_conf conf;
    struct s3 *s3;
    const char *bucket, *dir; /* the latter ends with a slash */
    struct row_columns columns;
    struct row_view view;
    struct group group;
    struct wr_get_range range;
    struct walk walk;
    bool walking;
    FILE *file;
    struct ctx upload_c; /* what went wrong with it */
    struct s3_upload *upload;
    struct content sha, content;
    uint64_t bytes, noted, rows;
    struct manifest_file manifest_file;
    struct manifest manifest;
    struct archive_check *check;
    struct manifest there; /* what was there before */
    bool is_there;
};

struct exporter {
    struct exporter_conf conf;
    atomic_bool stop;
    struct job *job; /* NULL: none is on its way */
};

struct exporter *exporter_new(const struct exporter_conf *conf)
{
    struct exporter *e = mem_zalloc(sizeof(*e));

    e->conf = *conf;
    return e;
}

void exporter_stop(struct exporter *e)
{
    if (e)
        atomic_store(&e->stop, true);
}

static bool is_stopped(void *arg)
{
    return atomic_load(&((struct exporter *)arg)->stop);
}

/* ---- a period's job ---- */

static void end_walk(struct job *j)
{
    if (j->walking)
        walk_end(&j->walk);
    j->walking = false;
}

/* What it has goes into the file. */
static void end_group(struct job *j)
{
    group_pack(&j->group);
    parquet_add(j->columns.parquet, &j->group, 0);
}

/* The object is there only if it was `whole`. */
static int end_file(struct ctx *c, struct job *j, bool whole)
{
    int code = 0;

    if (j->columns.parquet && whole)
        end_group(j);
    if (j->columns.parquet)
        parquet_close(j->columns.parquet, whole);
    j->columns.parquet = NULL;
    if (j->file && fclose(j->file) != 0 && whole && !j->upload_c.code)
        code = fail(c, E_NO_SPACE, "cannot write: %s", strerror(errno));
    j->file = NULL;
    if (whole && j->upload_c.code)
        code = fail(c, j->upload_c.code, "%s", j->upload_c.text);
    if (j->upload) {
        int ended = s3_upload_end(c, j->upload, whole && code == 0);

        code = code ? code : ended;
    }
    j->upload = NULL;
    return code;
}

static void job_free(struct job *j)
{
    struct ctx own;

    if (!j)
        return;
    ctx_init(&own, j->c.clock, NULL, NULL, 0);
    end_walk(j);
    end_file(&own, j, false);
    row_view_release(&j->view);
    group_release(&j->group);
    row_columns_release(&j->columns);
    archive_check_free(j->check);
    content_end(&j->sha, NULL);
    content_end(&j->content, NULL);
    s3_close(j->s3);
    client_close(j->client);
    ctx_release(&j->upload_c);
    ctx_release(&j->c);
    ctx_release(&own);
    mem_free(j);
}

void exporter_free(struct exporter *e)
{
    if (!e)
        return;
    exporter_stop(e);
    job_free(e->job);
    mem_free(e);
}

static bool is_under(bytes archive, const char *under)
{
    bytes top = bytes_str(under);

    while (top.len && bytes_u8(top)[top.len - 1] == '/')
        top.len--;
    return bytes_starts(archive, top) &&
           (archive.len == top.len || bytes_u8(archive)[top.len] == '/');
}

static int check_allowed(struct ctx *c, const struct exporter *e, bytes archive)
{
    if (e->conf.under[0] && is_under(archive, e->conf.under))
        return 0;
    return fail(c, E_AUTH,
                "%.*s is not where this server writes archives: its setting archive says %s",
                BYTES_FMT(archive), e->conf.under[0] ? e->conf.under : "nothing");
}

/* Where it is to be, and that nothing else is there. */
static int find_place(struct ctx *c, struct job *j)
{
    const struct wr_archive_period *p = &j->period;
    const char *url = arena_printf(&j->c.arena, "%.*s", BYTES_FMT(p->archive)).ptr, *prefix;
    size_t n;

    TRY(s3_url_parse(&j->c, url, &j->bucket, &prefix));
    for (n = strlen(prefix); n && prefix[n - 1] == '/';)
        n--;
    j->dir = arena_printf(&j->c.arena, "%.*s%s%.*s/%.*s/%.*s/", (int)n, prefix, n ? "/" : "",
                          BYTES_FMT(p->instance), BYTES_FMT(p->series), BYTES_FMT(p->period))
                 .ptr;
    if (archive_manifest(&j->c, j->s3, j->bucket, j->dir, &j->there)) {
        if (j->c.code != E_NOT_EXIST || strstr(j->c.text, "has no bucket"))
            return fail(c, j->c.code, "%s", j->c.text);
        ctx_clear(&j->c);
        return 0;
    }
    j->is_there = true;
    if (j->there.creation_us == p->creation_us)
        return 0;
    return fail(c, E_EXIST,
                "s3://%s/%s holds a period of another series, which had this name before: move it, "
                "or give the series another archive",
                j->bucket, j->dir);
}

static int open_store(struct ctx *c, struct exporter *e, struct job *j)
{
    TRY(check_allowed(c, e, j->period.archive));
    if (s3_conf_load(&j->c, &e->conf.words, &j->conf) ||
        s3_open(&j->c, &j->conf, is_stopped, e, &j->s3))
        return fail(c, j->c.code, "%s", j->c.text);
    s3_set_retry(j->s3, RETRY_MS);
    return find_place(c, j);
}

static int job_open(struct ctx *c, struct exporter *e, struct job *j)
{
    struct arena *a = &j->c.arena;

    TRY(open_store(c, e, j));
    j->target = (struct target){.instance = j->period.instance, .db = e->conf.db};
    atomic_init(&j->target.reached, true); /* so what is busy is asked again */
    TRY(client_open(&j->c, &j->target, &j->client));
    j->client->retry_ms = READ_RETRY_MS;
    j->client->stop = &e->stop;
    if (client_describe(&j->c, j->client, j->period.table, &j->table))
        return fail(c, j->c.code, "%s", j->c.text);
    TRY(content_begin(c, &j->content));
    row_columns_init(&j->columns, j->table.key_count, true, true);
    row_columns_count(&j->columns);
    row_view_init(&j->view, &j->columns);
    j->range = (struct wr_get_range){
        .table = j->period.table,
        .start = walk_bound(a, &j->table, WR_INF_MIN),
        .end = walk_bound(a, &j->table, WR_INF_MAX),
        .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}};
    walk_begin(&j->walk, &j->range);
    j->walking = true;
    return 0;
}

/* The caller's period, kept. */
static int job_new(struct ctx *c, struct exporter *e, const struct wr_archive_period *p)
{
    struct job *j = mem_zalloc(sizeof(*j));
    struct arena *a = &j->c.arena;

    ctx_init(&j->c, e->conf.clock, NULL, NULL, 0);
    ctx_init(&j->upload_c, e->conf.clock, NULL, NULL, 0);
    j->period = (struct wr_archive_period){arena_copy(a, p->instance), arena_copy(a, p->series),
                                           arena_copy(a, p->period),   arena_copy(a, p->table),
                                           arena_copy(a, p->archive),  p->creation_us};
    e->job = j;
    return job_open(c, e, j);
}

static bool is_same(const struct wr_archive_period *a, const struct wr_archive_period *b)
{
    return bytes_equal(a->instance, b->instance) && bytes_equal(a->table, b->table) &&
           bytes_equal(a->archive, b->archive) && a->creation_us == b->creation_us;
}

/* ---- writing ---- */

static ssize_t write_part(void *arg, const char *data, size_t n)
{
    struct job *j = arg;

    if (!j->upload_c.code && s3_upload_put(&j->upload_c, j->upload, data, n) == 0) {
        content_bytes(&j->sha, bytes_of(data, n));
        j->bytes += n;
        return (ssize_t)n;
    }
    errno = EIO;
    return 0;
}

static void sum_row(struct ctx *c, struct job *j, const struct wr_row *row)
{
    content_row(&j->content, content_key(&c->arena, row), content_cells(&c->arena, row));
}

static int note_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct job *j = arg;
    bool grown;

    for (size_t i = 0; i < count; i++) {
        TRY(row_view_take(c, &j->view, &rows[i], &grown));
        sum_row(c, j, &rows[i]);
    }
    j->noted += count;
    return 0;
}

static int put_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct job *j = arg;

    for (size_t i = 0; i < count; i++) {
        TRY(row_file_put(c, &j->view, &j->group, &rows[i]));
        sum_row(c, j, &rows[i]);
        if (group_is_full(&j->group, EXPORT_GROUP_BYTES))
            end_group(j);
    }
    j->rows += count;
    return j->upload_c.code ? fail(c, j->upload_c.code, "%s", j->upload_c.text) : 0;
}

/* The columns of the file are those of the first walk, whatever is put meanwhile. */
static void keep_columns(struct job *j)
{
    row_view_merge(&j->view);
    row_view_release(&j->view);
    row_columns_keep_frequent(&j->columns);
    j->columns.closed = true;
    row_view_init(&j->view, &j->columns);
}

static int begin_rows(struct ctx *c, struct job *j)
{
    cookie_io_functions_t io = {.write = write_part};
    const char *key = arena_printf(&j->c.arena, "%s" FILE_NAME, j->dir).ptr;

    keep_columns(j);
    content_end(&j->content, NULL);
    TRY(content_begin(c, &j->sha));
    TRY(content_begin(c, &j->content));
    TRY(s3_upload_begin(&j->c, j->s3, j->bucket, key, &j->upload));
    j->file = fopencookie(j, "w", io);
    if (!j->file)
        return fail(c, E_MEMORY, "%s", strerror(errno));
    setvbuf(j->file, NULL, _IOFBF, FILE_BUFFER_BYTES);
    if (row_file_open(&j->c, j->file, &j->table, &j->columns))
        return fail(c, j->c.code, "%s", j->c.text);
    walk_begin(&j->walk, &j->range);
    j->walking = true;
    j->stage = STAGE_ROWS;
    return 0;
}

static void begin_check(struct job *j, const struct manifest *m)
{
    j->check = archive_check_new(j->s3, j->bucket, j->dir, m, NULL, NULL);
    j->stage = STAGE_CHECK;
}

static int end_rows(struct ctx *c, struct job *j)
{
    char *content = arena_alloc(&j->c.arena, CONTENT_TEXT),
         *sha = arena_alloc(&j->c.arena, CONTENT_TEXT);

    TRY(end_file(c, j, true));
    content_end(&j->content, content);
    content_end(&j->sha, sha);
    j->manifest_file = (struct manifest_file){
        .name = BYTES_LIT(FILE_NAME), .bytes = j->bytes, .rows = j->rows, .sha256 = bytes_str(sha)};
    j->manifest = (struct manifest){.instance = j->period.instance,
                                    .series = j->period.series,
                                    .period = j->period.period,
                                    .creation_us = j->period.creation_us,
                                    .key = row_file_key(&j->c, &j->table),
                                    .versions = j->table.options.max_versions,
                                    .rows = j->rows,
                                    .content = bytes_str(content),
                                    .files = &j->manifest_file,
                                    .file_count = 1};
    begin_check(j, &j->manifest);
    return 0;
}

/* All rows were read once: are they those that are there already? */
static int end_columns(struct ctx *c, struct job *j)
{
    char content[CONTENT_TEXT];

    if (!j->is_there)
        return begin_rows(c, j);
    content_end(&j->content, content);
    if (j->there.rows != j->noted || !bytes_equal(bytes_str(content), j->there.content))
        return fail(c, E_EXIST,
                    "s3://%s/%s holds %llu rows of this period, and here are %llu, which are "
                    "others: move what is there, or give the series another archive",
                    j->bucket, j->dir, (unsigned long long)j->there.rows,
                    (unsigned long long)j->noted);
    begin_check(j, &j->there);
    return 0;
}

/* What is there is damaged: it is written once more, as its rows are those that the period has. */
static int end_check(struct ctx *c, struct job *j, int code)
{
    if (!code || !j->is_there || (code != E_CORRUPT && code != E_NOT_EXIST))
        return code;
    ctx_clear(c);
    archive_check_free(j->check);
    j->check = NULL;
    j->is_there = false;
    return begin_rows(c, j);
}

/* Written last, and read back. */
static int put_manifest(struct ctx *c, struct job *j)
{
    const char *key = arena_printf(&c->arena, "%s" MANIFEST_NAME, j->dir).ptr;
    bytes text = manifest_text(&c->arena, &j->manifest);
    struct manifest back;

    TRY(s3_put(c, j->s3, j->bucket, key, text));
    TRY(archive_manifest(c, j->s3, j->bucket, j->dir, &back));
    if (!bytes_equal(manifest_text(&c->arena, &back), text))
        return fail(c, E_CORRUPT, "s3://%s/%s is not what was written", j->bucket, key);
    return 0;
}

/* ---- turns ---- */

static int walk_turn(struct ctx *c, struct job *j, walk_fn *fn, bool *more)
{
    int code = walk_next(c, &j->walk, j->client, fn, j, more);

    if (code || !*more)
        end_walk(j);
    return code;
}

static int job_step(struct ctx *c, struct job *j, struct wr_archive_step *step)
{
    uint64_t before = j->bytes;
    bool more = false, ended = false;
    int code = 0;

    switch (j->stage) {
    case STAGE_COLUMNS:
        TRY(walk_turn(c, j, note_rows, &more));
        return more ? 0 : end_columns(c, j);
    case STAGE_ROWS:
        code = walk_turn(c, j, put_rows, &more);
        step->percent = j->noted ? (int32_t)(90 * j->rows / (j->noted + j->rows / 10 + 1)) : 0;
        if (!code && !more)
            code = end_rows(c, j);
        step->bytes = j->bytes - before;
        return code;
    case STAGE_CHECK:
        step->percent = 95;
        TRY(end_check(c, j, archive_check_step(c, j->check, &ended, &step->bytes)));
        if (ended)
            j->stage = STAGE_MANIFEST;
        return 0;
    case STAGE_MANIFEST:
        step->percent = 99;
        if (!j->is_there)
            TRY(put_manifest(c, j));
        step->ended = true;
        return 0;
    }
    return 0;
}

int exporter_step(void *exporter, const struct wr_archive_period *period,
                  struct wr_archive_step *step)
{
    struct exporter *e = exporter;
    struct ctx c;
    int code = 0;

    ctx_init(&c, e->conf.clock, NULL, NULL, 0);
    if (e->job && !is_same(&e->job->period, period)) {
        job_free(e->job);
        e->job = NULL;
    }
    if (!e->job)
        code = job_new(&c, e, period);
    if (!code)
        code = job_step(&c, e->job, step);
    if (code || step->ended) {
        job_free(e->job);
        e->job = NULL;
    }
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

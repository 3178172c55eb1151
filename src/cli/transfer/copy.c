#include "cli/transfer/copy.h"

#include "base/thread.h"
#include "cli/transfer/walk.h"

#include <stdio.h>

#define PAGE_ROWS 1000
#define UNIT_BYTES (32ll << 20) /* of a range at the beginning */
#define BATCH_ROWS 200
#define BATCH_BYTES ((size_t)3 << 20) /* below the limit of every server */
#define COMPARE_ROWS 100              /* that one BatchGetRow may ask for */
#define PART_CELLS 1000               /* of a row that no single change can hold */

struct copy_range {
    struct copy_range *next;
    struct arena arena; /* of the keys */
    struct wr_key start, end;
};

struct copier {
    struct table_copy *copy;
    struct client *from, *to;
};

/* ---- ranges ---- */

static void range_push(struct table_copy *copy, const struct wr_key *start,
                       const struct wr_key *end)
{
    struct copy_range *r = mem_zalloc(sizeof(*r));

    arena_init(&r->arena, NULL, 0);
    r->start = walk_copy_key(&r->arena, start);
    r->end = walk_copy_key(&r->arena, end);
    pthread_mutex_lock(&copy->mutex);
    r->next = copy->ranges;
    copy->ranges = r;
    pthread_cond_signal(&copy->wake);
    pthread_mutex_unlock(&copy->mutex);
}

static void range_free(struct copy_range *r)
{
    arena_release(&r->arena);
    mem_free(r);
}

/* NULL: there will be no more. Who got one calls range_done() once it can put nothing back. */
static struct copy_range *range_take(struct table_copy *copy)
{
    struct copy_range *r = NULL;

    pthread_mutex_lock(&copy->mutex);
    while (!copy->ranges && copy->busy && !copy->stopped)
        pthread_cond_wait(&copy->wake, &copy->mutex);
    if (copy->ranges && !copy->stopped) {
        r = copy->ranges;
        copy->ranges = r->next;
        copy->busy++;
    }
    pthread_mutex_unlock(&copy->mutex);
    return r;
}

static void range_done(struct table_copy *copy)
{
    pthread_mutex_lock(&copy->mutex);
    copy->busy--;
    pthread_cond_broadcast(&copy->wake);
    pthread_mutex_unlock(&copy->mutex);
}

static void give_up(struct table_copy *copy, int code, const char *reason)
{
    pthread_mutex_lock(&copy->mutex);
    if (!copy->code) {
        copy->code = code;
        snprintf(copy->failure, sizeof(copy->failure), "%s", reason);
    }
    atomic_store(&copy->stopped, true);
    pthread_cond_broadcast(&copy->wake);
    pthread_mutex_unlock(&copy->mutex);
}

/* A split point as a bound: what it leaves out of the key is open. */
static struct wr_key whole_key(struct arena *a, const struct wr_table_description *t,
                               const struct wr_key_column *columns, size_t count)
{
    struct wr_key key = walk_bound(a, t, WR_INF_MIN);

    for (size_t i = 0; i < count && i < key.count; i++)
        ((struct wr_key_column *)key.columns)[i].value = columns[i].value;
    return key;
}

/* Where the table is split for the workers: by stored size, else where its partitions meet. */
static void find_split_keys(struct ctx *c, struct client *cl, const struct wr_table_description *t,
                            struct wr_key **split_keys, size_t *count)
{
    struct wr_request request = {
        .op = WR_OP_COMPUTE_SPLIT_POINTS,
        .compute_split_points = {
            .table = t->table, .split_size = 1, .has_unit = true, .unit_bytes = UNIT_BYTES}};
    struct wr_reply reply;
    bool plain = bytes_equal(t->layout, BYTES_LIT("plain"));
    int code = client_exec(c, cl, &request, &reply);
    size_t points = code ? 0 : reply.splits.point_count;
    size_t splits = points || !plain ? 0 : t->split_count;

    if (code)
        ctx_clear(c); /* one range will do */
    *split_keys = ARENA_ARRAY(&c->arena, struct wr_key, points + splits + 1);
    for (size_t i = 0; i < points; i++)
        (*split_keys)[i] =
            whole_key(&c->arena, t, reply.splits.points[i].columns, reply.splits.points[i].count);
    for (size_t i = 0; i < splits; i++) {
        struct wr_key_column column = {t->key[0].name, t->splits[i]};

        (*split_keys)[i] = whole_key(&c->arena, t, &column, 1);
    }
    *count = points + splits;
}

static void push_ranges(struct ctx *c, struct client *cl, struct table_copy *copy)
{
    struct wr_key end = walk_bound(&c->arena, copy->table, WR_INF_MAX), *split_keys;
    struct wr_key start = walk_bound(&c->arena, copy->table, WR_INF_MIN);
    size_t count;

    find_split_keys(c, cl, copy->table, &split_keys, &count);
    while (count--) { /* the first in key order is taken first */
        range_push(copy, &split_keys[count], &end);
        end = split_keys[count];
    }
    range_push(copy, &start, &end);
}

/* ---- writing ---- */

static size_t cell_bytes(const struct wr_cell *cell)
{
    bool text = cell->value.type == WR_VARCHAR || cell->value.type == WR_VARBINARY;

    return cell->name.len + 16 + (text ? cell->value.bytes.len : 8);
}

static size_t row_bytes(const struct wr_row *row)
{
    size_t n = 64;

    for (size_t i = 0; i < row->cell_count; i++)
        n += cell_bytes(&row->cells[i]);
    for (size_t i = 0; i < row->key.count; i++)
        if (row->key.columns[i].value.type != WR_BIGINT)
            n += row->key.columns[i].value.bytes.len;
    return n;
}

static int exec_changes(struct ctx *c, struct copier *w, const struct wr_row_change *changes,
                        size_t n, const struct wr_row_result **results)
{
    struct wr_table_write table = {w->copy->table->table, changes, n};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_reply reply;

    TRY(client_exec(c, w->to, &request, &reply));
    if (reply.batch.table_count != 1 || reply.batch.tables[0].row_count != n)
        return fail(c, WR_E_INTERNAL, "the server answered for other rows than were sent");
    *results = reply.batch.tables[0].rows;
    return 0;
}

/* Moves the changes that are to be sent again to the front; a refused one ends the copy. */
static int retry_failed(struct ctx *c, struct wr_row_change *changes, size_t *n,
                        const struct wr_row_result *results, const char **text)
{
    size_t again = 0;

    for (size_t i = 0; i < *n; i++) {
        if (!results[i].code)
            continue;
        if (!client_may_retry(results[i].code, true))
            return fail(c, results[i].code, "a row is refused: %s", results[i].message);
        *text = results[i].message;
        changes[again++] = changes[i];
    }
    *n = again;
    return 0;
}

/* Sends changes until each is acknowledged. */
static int send_changes(struct ctx *c, struct copier *w, struct wr_row_change *changes, size_t n)
{
    int64_t give_up_ms = clock_mono_ms(c->clock) + CLIENT_RETRY_MS;

    for (unsigned tries = 1; n; tries++) {
        const struct wr_row_result *results;
        const char *text = "";
        size_t left = n;
        int code = exec_changes(c, w, changes, n, &results);

        if ((code == WR_E_PARAMETER || code == WR_E_BODY_TOO_LARGE) && n > 1) {
            ctx_clear(c); /* smaller limits there than here */
            TRY(send_changes(c, w, changes, n / 2));
            return send_changes(c, w, changes + n / 2, n - n / 2);
        }
        TRY(code);
        TRY(retry_failed(c, changes, &left, results, &text));
        if (left < n)
            give_up_ms = clock_mono_ms(c->clock) + CLIENT_RETRY_MS;
        else if (clock_mono_ms(c->clock) >= give_up_ms)
            return fail(c, WR_E_UNAVAILABLE, "%s", text);
        if (left)
            client_pause(w->to, left < n ? 1 : tries);
        n = left;
    }
    return 0;
}

static struct wr_row_change change_of(const struct wr_row *row, enum wr_change_type type,
                                      size_t from, size_t count)
{
    return (struct wr_row_change){
        .type = type, .row = {row->key, row->cells + from, count}, .keeps_number = true};
}

/* A row too large for one change: put with its first cells, updated with the others. */
static int send_large(struct ctx *c, struct copier *w, const struct wr_row *row)
{
    size_t at = 0;

    do {
        size_t n = 0, size = 0;
        struct wr_row_change change;

        while (at + n < row->cell_count && n < PART_CELLS &&
               (n == 0 || size + cell_bytes(&row->cells[at + n]) <= BATCH_BYTES))
            size += cell_bytes(&row->cells[at + n++]);
        change = change_of(row, at ? WR_UPDATE : WR_PUT, at, n);
        TRY(send_changes(c, w, &change, 1));
        at += n;
    } while (at < row->cell_count);
    return 0;
}

/* ---- comparing ---- */

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case WR_BOOLEAN:
        return a->boolean == b->boolean;
    case WR_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
    case WR_BIGINT:
        return a->integer == b->integer;
    case WR_VARCHAR:
    case WR_VARBINARY:
        return bytes_equal(a->bytes, b->bytes);
    default:
        return false;
    }
}

static bool same_row(const struct wr_row *a, const struct wr_row *b)
{
    if (a->key.count != b->key.count || a->cell_count != b->cell_count)
        return false;
    for (size_t i = 0; i < a->cell_count; i++)
        if (!bytes_equal(a->cells[i].name, b->cells[i].name) ||
            a->cells[i].timestamp_ms != b->cells[i].timestamp_ms ||
            !same_value(&a->cells[i].value, &b->cells[i].value))
            return false;
    return true;
}

/* What the target has of these rows; rows that are not told of count as different. */
static int find_same(struct ctx *c, struct copier *w, const struct wr_row *rows, size_t n,
                     bool *same)
{
    struct wr_key *keys = ARENA_ARRAY(&c->arena, struct wr_key, n);
    struct wr_table_get table = {
        .table = w->copy->table->table,
        .keys = keys,
        .key_count = n,
        .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}};
    struct wr_request request = {.op = WR_OP_BATCH_GET_ROW,
                                 .batch_get_row = {.tables = &table, .table_count = 1}};
    struct wr_reply reply;

    for (size_t i = 0; i < n; i++)
        keys[i] = rows[i].key;
    TRY(client_exec(c, w->to, &request, &reply));
    for (size_t i = 0; i < n; i++) {
        const struct wr_table_result *t = reply.batch.tables;

        same[i] = reply.batch.table_count == 1 && i < t->row_count && !t->rows[i].code &&
                  !t->rows[i].next_token.len && same_row(&rows[i], &t->rows[i].row);
    }
    return 0;
}

/* ---- single rows ---- */

/* A row that its batch did not hold is read alone. */
static int whole_row(struct ctx *c, struct copier *w, const struct wr_table_get *table, size_t i,
                     const struct wr_table_result *t, struct wr_row *out)
{
    struct wr_get_row get = {.table = table->table, .key = table->keys[i], .read = table->read};

    if (!t || i >= t->row_count || t->rows[i].code || t->rows[i].next_token.len)
        return walk_row(c, w->from, &get, out);
    *out = t->rows[i].row;
    return 0;
}

/* Rows that no batch holds go at once, the others to `changes`. */
static int gather_change(struct ctx *c, struct copier *w, const struct wr_key *key,
                         const struct wr_row *row, struct wr_row_change *changes, size_t *n)
{
    if (row->cell_count > PART_CELLS || row_bytes(row) > BATCH_BYTES)
        return send_large(c, w, row);
    changes[(*n)++] = row->key.count
                          ? change_of(row, WR_PUT, 0, row->cell_count)
                          : (struct wr_row_change){.type = WR_DELETE, .row = {.key = *key}};
    return 0;
}

static int copy_some_keys(struct ctx *c, struct copier *w, const struct wr_key *keys, size_t n)
{
    struct wr_table_get table = {
        .table = w->copy->table->table,
        .keys = keys,
        .key_count = n,
        .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}};
    struct wr_request request = {.op = WR_OP_BATCH_GET_ROW,
                                 .batch_get_row = {.tables = &table, .table_count = 1}};
    struct wr_row_change *changes = ARENA_ARRAY(&c->arena, struct wr_row_change, n);
    size_t count = 0, size = 0;
    struct wr_reply reply;
    const struct wr_table_result *t = NULL;

    if (client_exec(c, w->from, &request, &reply) == 0 && reply.batch.table_count == 1)
        t = reply.batch.tables;
    ctx_clear(c); /* too large for one answer: one by one; what lasts comes again there */
    for (size_t i = 0; i < n; i++) {
        struct wr_row row;

        TRY(whole_row(c, w, &table, i, t, &row));
        if (count && size + row_bytes(&row) > BATCH_BYTES) {
            TRY(send_changes(c, w, changes, count));
            count = size = 0;
        }
        size += row_bytes(&row);
        TRY(gather_change(c, w, &keys[i], &row, changes, &count));
    }
    atomic_fetch_add(&w->copy->written, n);
    return send_changes(c, w, changes, count);
}

int copy_keys(struct ctx *c, struct table_copy *copy, struct client *from, struct client *to,
              const struct wr_key *keys, size_t n)
{
    struct copier w = {copy, from, to};

    for (size_t at = 0; at < n; at += COMPARE_ROWS) {
        size_t some = n - at < COMPARE_ROWS ? n - at : COMPARE_ROWS;
        struct ctx batch;
        int code;

        ctx_init(&batch, c->clock, NULL, NULL, 0);
        code = copy_some_keys(&batch, &w, keys + at, some);
        if (code)
            fail(c, code, "%.*s: %s", BYTES_FMT(copy->table->table), batch.text);
        ctx_release(&batch);
        TRY(code);
    }
    return 0;
}

/* ---- pages ---- */

static int write_some(struct ctx *c, struct copier *w, const struct wr_row *rows, size_t n)
{
    struct wr_row_change *changes = ARENA_ARRAY(&c->arena, struct wr_row_change, n);
    bool *same = ARENA_ARRAY(&c->arena, bool, n);
    size_t todo = 0;

    if (w->copy->compare)
        TRY(find_same(c, w, rows, n, same));
    for (size_t i = 0; i < n; i++)
        if (!same[i])
            changes[todo++] = change_of(&rows[i], WR_PUT, 0, rows[i].cell_count);
    atomic_fetch_add(&w->copy->written, todo);
    if (todo == 1 && n == 1)
        return send_large(c, w, rows);
    return send_changes(c, w, changes, todo);
}

static int write_page(struct ctx *c, struct copier *w, const struct wr_row *rows, size_t count)
{
    size_t rows_max = w->copy->compare ? COMPARE_ROWS : BATCH_ROWS;

    while (count && !atomic_load(&w->copy->stopped)) {
        size_t n = 1, size = row_bytes(rows);
        struct ctx batch;
        int code;

        while (n < count && n < rows_max && rows[n - 1].cell_count <= PART_CELLS &&
               rows[n].cell_count <= PART_CELLS && size + row_bytes(&rows[n]) <= BATCH_BYTES)
            size += row_bytes(&rows[n++]);
        ctx_init(&batch, c->clock, NULL, NULL, 0);
        code = write_some(&batch, w, rows, n);
        if (code)
            fail(c, code, "%s", batch.text);
        ctx_release(&batch);
        TRY(code);
        atomic_fetch_add(&w->copy->progress->records, n);
        atomic_fetch_add(&w->copy->progress->bytes, size);
        rows += n;
        count -= n;
    }
    return 0;
}

static int copy_page(struct ctx *c, struct copier *w, struct copy_range *r)
{
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = w->copy->table->table,
                      .start = r->start,
                      .end = r->end,
                      .has_limit = true,
                      .limit = PAGE_ROWS,
                      .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}}};
    struct wr_reply reply;

    TRY(walk_page(c, w->from, &request, &reply));
    if (reply.range.next.count)
        range_push(w->copy, &reply.range.next, &r->end);
    return write_page(c, w, reply.range.rows, reply.range.row_count);
}

static int open_clients(struct ctx *c, struct copier *w)
{
    TRY(client_open(c, w->copy->from, &w->from));
    TRY(client_open(c, w->copy->to, &w->to));
    w->from->stop = w->to->stop = &w->copy->stopped;
    w->to->repeatable = true;
    return 0;
}

static void *copier_run(void *arg)
{
    struct copier w = {.copy = arg};
    struct copy_range *r;
    struct ctx c;

    ctx_init(&c, w.copy->clock, NULL, NULL, 0);
    if (open_clients(&c, &w))
        give_up(w.copy, c.code, c.text);
    ctx_release(&c);
    while ((r = range_take(w.copy))) {
        int code;

        ctx_init(&c, w.copy->clock, NULL, NULL, 0);
        code = copy_page(&c, &w, r);
        if (code)
            give_up(w.copy, code, c.text);
        ctx_release(&c);
        range_free(r);
        range_done(w.copy);
    }
    client_close(w.from);
    client_close(w.to);
    return NULL;
}

/* ---- all of it ---- */

static void run_workers(struct table_copy *copy)
{
    pthread_t *threads = mem_alloc(sizeof(*threads) * copy->worker_count);
    size_t n = 0;

    while (n < copy->worker_count && thread_start(&threads[n], "wr-copy", copier_run, copy))
        n++;
    if (n < copy->worker_count)
        give_up(copy, WR_E_INTERNAL, "the system gives no more threads");
    while (n)
        pthread_join(threads[--n], NULL);
    mem_free(threads);
}

int copy_rows(struct ctx *c, struct client *cl, struct table_copy *copy)
{
    int code;

    pthread_mutex_init(&copy->mutex, NULL);
    pthread_cond_init(&copy->wake, NULL);
    push_ranges(c, cl, copy);
    run_workers(copy);
    while (copy->ranges) {
        struct copy_range *r = copy->ranges;

        copy->ranges = r->next;
        range_free(r);
    }
    pthread_mutex_destroy(&copy->mutex);
    pthread_cond_destroy(&copy->wake);
    code = copy->code;
    return code ? fail(c, code, "%.*s: %s", BYTES_FMT(copy->table->table), copy->failure) : 0;
}

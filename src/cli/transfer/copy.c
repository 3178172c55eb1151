#include "cli/transfer/copy.h"

#include "cli/console/print.h"
#include "client/walk.h"

#include <stdlib.h>

#define PAGE_ROWS 1000
#define BATCH_ROWS 200
#define BATCH_BYTES ((size_t)3 << 20) /* below the limit of every server */
#define KEYS_MAX 100                  /* that one BatchGetRow may ask for */
#define KEY_TEXT_MAX 300
#define PART_CELLS 1000 /* of a row that no single change can hold */

struct copier {
    struct table_copy *copy;
    struct client *from, *to;
};

/* ---- rates ---- */

/* False: the copy ends meanwhile. */
static bool await_turn(const struct copier *w, struct rate *rate)
{
    return !rate || rate_wait(rate, 0, &w->copy->ranges.stopped);
}

static void take(struct rate *rate, uint64_t rows, uint64_t units)
{
    if (rate)
        rate_take(rate, rate->units ? units : rows);
}

/* ---- writing ---- */

static int64_t retry_ms(const struct table_copy *copy)
{
    return copy->retry_ms ? copy->retry_ms : CLIENT_RETRY_MS;
}

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
    uint64_t units = 0;

    if (!await_turn(w, w->copy->to_rate))
        return fail(c, WR_E_BUSY, "the copy ends");
    TRY(client_exec(c, w->to, &request, &reply));
    if (reply.batch.table_count != 1 || reply.batch.tables[0].row_count != n)
        return fail(c, WR_E_INTERNAL, "the server answered for other rows than were sent");
    *results = reply.batch.tables[0].rows;
    for (size_t i = 0; i < n; i++)
        units += (uint64_t)(*results)[i].consumed.write;
    take(w->copy->to_rate, n, units);
    return 0;
}

/* Which of the two servers it was that said so. */
static int at_target(struct ctx *c, const struct copier *w, int code)
{
    const char *text = c->text;

    if (!code || !w->to->target->endpoint)
        return code;
    ctx_clear(c);
    return fail(c, code, "at %s: %s", w->to->target->endpoint, text);
}

static int refuse_row(struct ctx *c, const struct wr_key *key, const struct wr_row_result *result)
{
    struct wr_row row = {.key = *key};
    struct buf b;

    ctx_clear(c); /* result->message lives as long as the arena */
    buf_init(&b, &c->arena, 256);
    print_put_row(&b, &row);
    if (b.len && b.data[b.len - 1] == '\n')
        b.len--;
    return fail(c, result->code, "row %.*s is refused: %s",
                (int)(b.len < KEY_TEXT_MAX ? b.len : KEY_TEXT_MAX), (const char *)b.data,
                result->message);
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
            return refuse_row(c, &changes[i].row.key, &results[i]);
        *text = results[i].message;
        changes[again++] = changes[i];
    }
    *n = again;
    return 0;
}

/* Sends changes until each is acknowledged. */
static int send_changes(struct ctx *c, struct copier *w, struct wr_row_change *changes, size_t n)
{
    int64_t give_up_ms = clock_mono_ms(c->clock) + retry_ms(w->copy);

    for (unsigned tries = 1; n; tries++) {
        const struct wr_row_result *results = NULL;
        const char *text = "";
        size_t left = n;
        int code = exec_changes(c, w, changes, n, &results);

        if ((code == WR_E_PARAMETER || code == WR_E_BODY_TOO_LARGE) && n == 1)
            return refuse_row(c, &changes[0].row.key,
                              &(struct wr_row_result){.code = code, .message = c->text});
        if (code == WR_E_PARAMETER || code == WR_E_BODY_TOO_LARGE) {
            ctx_clear(c); /* smaller limits there than here */
            TRY(send_changes(c, w, changes, n / 2));
            return send_changes(c, w, changes + n / 2, n - n / 2);
        }
        TRY(at_target(c, w, code));
        TRY(retry_failed(c, changes, &left, results, &text));
        if (left < n)
            give_up_ms = clock_mono_ms(c->clock) + retry_ms(w->copy);
        else if (clock_mono_ms(c->clock) >= give_up_ms)
            return at_target(c, w, fail(c, WR_E_UNAVAILABLE, "%s", text));
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

/* A page of rows beside what stands there. */
struct beside {
    struct copier *copier;
    const struct wr_row *rows;
    size_t count;
    struct place {
        struct wr_key key;
        size_t row;
    } * places; /* of the rows, sorted by key */
    bool *same;
};

static int delete_rows(struct ctx *c, struct copier *w, struct wr_row_change *deletes, size_t n)
{
    for (size_t at = 0; at < n; at += BATCH_ROWS)
        TRY(send_changes(c, w, deletes + at, n - at < BATCH_ROWS ? n - at : BATCH_ROWS));
    atomic_fetch_add(&w->copy->deleted, n);
    return 0;
}

static int compare_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct beside *b = arg;
    struct wr_row_change *deletes = ARENA_ARRAY(&c->arena, struct wr_row_change, count);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct place *p =
            bsearch(&rows[i].key, b->places, b->count, sizeof(*b->places), walk_compare_keys);

        if (p)
            b->same[p->row] = same_row(&b->rows[p->row], &rows[i]);
        else
            deletes[n++] = (struct wr_row_change){.type = WR_DELETE, .row = {.key = rows[i].key}};
    }
    take(b->copier->copy->to_rate, count, count);
    return b->copier->copy->exact ? delete_rows(c, b->copier, deletes, n) : 0;
}

/* Which of the rows of a page, all that there are from `start` to `end`, stand there as they are
 * here. */
static int find_same(struct ctx *c, struct copier *w, const struct wr_key *start,
                     const struct wr_key *end, const struct wr_row *rows, size_t count, bool *same)
{
    const struct wr_get_range range = {
        .table = w->copy->table->table,
        .start = *start,
        .end = *end,
        .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}};
    struct beside b = {.copier = w, .rows = rows, .count = count, .same = same};

    b.places = ARENA_ARRAY(&c->arena, struct place, count + 1);
    for (size_t i = 0; i < count; i++)
        b.places[i] = (struct place){rows[i].key, i};
    qsort(b.places, count, sizeof(*b.places), walk_compare_keys);
    return walk_range(c, w->to, &range, compare_rows, &b);
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

    for (size_t at = 0; at < n; at += KEYS_MAX) {
        size_t some = n - at < KEYS_MAX ? n - at : KEYS_MAX;
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

/* `same` NULL: none is. */
static int write_some(struct ctx *c, struct copier *w, const struct wr_row *rows, size_t n,
                      const bool *same)
{
    struct wr_row_change *changes = ARENA_ARRAY(&c->arena, struct wr_row_change, n);
    size_t todo = 0;

    for (size_t i = 0; i < n; i++)
        if (!same || !same[i])
            changes[todo++] = change_of(&rows[i], WR_PUT, 0, rows[i].cell_count);
    atomic_fetch_add(&w->copy->written, todo);
    if (todo == 1 && n == 1)
        return send_large(c, w, rows);
    return send_changes(c, w, changes, todo);
}

static int write_page(struct ctx *c, struct copier *w, const struct wr_row *rows, size_t count,
                      const bool *same)
{
    while (count && !atomic_load(&w->copy->ranges.stopped)) {
        size_t n = 1, size = row_bytes(rows);
        struct ctx batch;
        int code;

        while (n < count && n < BATCH_ROWS && rows[n - 1].cell_count <= PART_CELLS &&
               rows[n].cell_count <= PART_CELLS && size + row_bytes(&rows[n]) <= BATCH_BYTES)
            size += row_bytes(&rows[n++]);
        ctx_init(&batch, c->clock, NULL, NULL, 0);
        code = write_some(&batch, w, rows, n, same);
        if (code)
            fail(c, code, "%s", batch.text);
        ctx_release(&batch);
        TRY(code);
        if (w->copy->progress) {
            atomic_fetch_add(&w->copy->progress->records, n);
            atomic_fetch_add(&w->copy->progress->bytes, size);
        }
        rows += n;
        same = same ? same + n : NULL;
        count -= n;
    }
    return 0;
}

static int copy_page(struct ctx *c, void *worker, const struct key_range *r)
{
    struct copier *w = worker;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = w->copy->table->table,
                      .start = r->start,
                      .end = r->end,
                      .has_limit = true,
                      .limit = PAGE_ROWS,
                      .read = {.max_versions = WALK_ALL_VERSIONS, .has_max_versions = true}}};
    const struct wr_range_result *page;
    struct wr_reply reply;
    bool *same = NULL;

    if (!await_turn(w, w->copy->from_rate))
        return 0;
    TRY(walk_page(c, w->from, &request, &reply));
    page = &reply.range;
    if (page->next.count)
        key_ranges_put(&w->copy->ranges, &page->next, &r->end);
    take(w->copy->from_rate, page->row_count, (uint64_t)page->consumed.read);
    if (w->copy->compare) {
        same = ARENA_ARRAY(&c->arena, bool, page->row_count + 1);
        TRY(find_same(c, w, &r->start, page->next.count ? &page->next : &r->end, page->rows,
                      page->row_count, same));
    }
    return write_page(c, w, page->rows, page->row_count, same);
}

/* ---- all of it ---- */

static int copier_open(struct ctx *c, void *arg, void **worker)
{
    struct copier *w = mem_zalloc(sizeof(*w));

    *worker = w;
    w->copy = arg;
    TRY(client_open(c, w->copy->from, &w->from));
    TRY(client_open(c, w->copy->to, &w->to));
    w->from->stop = w->to->stop = &w->copy->ranges.stopped;
    w->to->repeatable = true;
    w->from->retry_ms = w->to->retry_ms = retry_ms(w->copy);
    return 0;
}

static void copier_close(void *worker)
{
    struct copier *w = worker;

    if (!w)
        return;
    client_close(w->from);
    client_close(w->to);
    mem_free(w);
}

int copy_rows(struct ctx *c, struct client *cl, struct table_copy *copy)
{
    const struct key_ranges_job job = {.name = "wr-copy",
                                       .worker_count = copy->worker_count,
                                       .arg = copy,
                                       .open = copier_open,
                                       .page = copy_page,
                                       .close = copier_close};

    key_ranges_begin(c, &copy->ranges, cl, copy->table);
    return key_ranges_run(c, &copy->ranges, copy->table->table, &job);
}

#include "writer.h"

#include <string.h>

#define MOOD_US 4000000
#define SPAN_PARTS 3 /* a writer works on one of so many parts of its ids at a time */
#define RANGE_ROWS 40

/* ---- requests */

static struct wr_key row_key(struct arena *a, enum table table, int owner, int id)
{
    struct wr_key_column *c = ARENA_ARRAY(a, struct wr_key_column, 2);

    c[0] = (struct wr_key_column){bytes_str(book_keys[0]),
                                  cells_integer(book_bucket(table, owner, id))};
    c[1] = (struct wr_key_column){bytes_str(book_keys[1]), cells_integer(id)};
    return (struct wr_key){c, 2};
}

static uint64_t new_tag(struct writer *w)
{
    return (uint64_t)(w->owner + 1) << 48 | ++w->book->owners[w->owner].tags;
}

static bool go_on(const struct writer *w)
{
    return !door_gone(&w->door) && w->book->owners[w->owner].maybe_count < MAYBE_MAX;
}

/* An answer that is neither success nor what the book expects. */
static bool odd_answer(struct writer *w, const char *what, int code)
{
    if (client_may_retry(code, true)) {
        w->refused++;
        crash_sleep_us(2000);
        return !door_gone(&w->door);
    }
    crash_problem(w->book->run, "%s of owner %d: %s %s", what, w->owner, wr_error_name(code),
                  w->door.c.text ? w->door.c.text : "");
    return false;
}

static void choose_mood(struct writer *w)
{
    int64_t now_us = clock_mono_us(&w->book->run->clock);

    if (now_us < w->phase_us)
        return;
    w->phase_us = now_us + crash_between(&w->rng, MOOD_US / 2, MOOD_US);
    w->mood = (int)rng_below(&w->rng, 3);
    w->from = (int)rng_below(&w->rng, SPAN_PARTS);
}

static enum table choose_table(struct writer *w)
{
    uint64_t dice = rng_below(&w->rng, 100);

    return dice < 80 ? TABLE_SMALL : dice < 90 ? TABLE_WIDE : TABLE_BLOB;
}

static int choose_id(struct writer *w, enum table table)
{
    int span = tables[table].ids / SPAN_PARTS, id, tries = 0;

    do
        id = w->from * span + (int)rng_below(&w->rng, (uint64_t)span);
    while (w->book->owners[w->owner].in_doubt[table][id] && ++tries < 100);
    return tries < 100 ? id : -1;
}

/* ---- reads */

static bool wrong_row(struct writer *w, enum table table, int id, const struct state *seen,
                      const char *how)
{
    struct owner *o = &w->book->owners[w->owner];
    struct arena *a = &w->door.c.arena;

    crash_problem(w->book->run, "%s of %s (%d, %d) gave %s, not %s", how, tables[table].name,
                  w->owner, id, cells_show(a, seen), cells_show(a, &o->states[table][id]));
    o->states[table][id] = *seen; /* one report for one fault */
    return true;
}

static bool check_row(struct writer *w, enum table table, int id, const struct wr_row *row,
                      const char *how)
{
    struct owner *o = &w->book->owners[w->owner];
    struct state seen = {0};
    const char *why = "";

    if (row->key.count && !state_read(&w->door.c.arena, table, row, &seen, &why)) {
        crash_problem(w->book->run, "%s of %s (%d, %d): torn: %s", how, tables[table].name,
                      w->owner, id, why);
        return true;
    }
    if (!o->in_doubt[table][id] && !state_equal(&seen, &o->states[table][id]))
        return wrong_row(w, table, id, &seen, how);
    return true;
}

static bool get(struct writer *w)
{
    enum table table = choose_table(w);
    int id = choose_id(w, table), code;
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = bytes_str(tables[table].name),
                    .read = {.max_versions = 1, .has_max_versions = true}}};
    struct wr_reply reply;

    if (id < 0)
        return true;
    request.get_row.key = row_key(&w->door.c.arena, table, w->owner, id);
    code = door_exec(&w->door, &request, &reply);
    if (code)
        return odd_answer(w, "GetRow", code);
    w->reads++;
    return check_row(w, table, id, &reply.row.row, "GetRow");
}

/* What a page must have: the rows of ids from `id` on, in order, as far as it goes. */
static bool check_page(struct writer *w, int id, int end, const struct wr_range_result *page)
{
    struct owner *o = &w->book->owners[w->owner];
    size_t at = 0;
    int last = end;

    if (page->next.count == 2 && page->next.columns[1].value.type == WR_BIGINT)
        last = (int)page->next.columns[1].value.integer;
    for (; id < last; id++) {
        bool here = at < page->row_count && page->rows[at].key.columns[1].value.integer == id;

        if (here) {
            check_row(w, TABLE_SMALL, id, &page->rows[at], "GetRange");
            at++;
        } else if (!o->in_doubt[TABLE_SMALL][id] && state_present(&o->states[TABLE_SMALL][id])) {
            wrong_row(w, TABLE_SMALL, id, &(struct state){0}, "GetRange");
        }
    }
    if (at < page->row_count)
        crash_problem(w->book->run, "GetRange of owner %d gave %zu rows too many, or out of order",
                      w->owner, page->row_count - at);
    return true;
}

static bool range(struct writer *w)
{
    int id = (int)rng_below(&w->rng, (uint64_t)tables[TABLE_SMALL].ids), end = id + RANGE_ROWS,
        code;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = bytes_str(tables[TABLE_SMALL].name),
                      .read = {.max_versions = 1, .has_max_versions = true}}};
    struct wr_reply reply;

    if (end > tables[TABLE_SMALL].ids)
        end = tables[TABLE_SMALL].ids;
    request.get_range.start = row_key(&w->door.c.arena, TABLE_SMALL, w->owner, id);
    request.get_range.end = row_key(&w->door.c.arena, TABLE_SMALL, w->owner, end);
    if (rng_below(&w->rng, 2)) {
        request.get_range.has_limit = true;
        request.get_range.limit = (int32_t)crash_between(&w->rng, 1, RANGE_ROWS);
    }
    code = door_exec(&w->door, &request, &reply);
    if (code)
        return odd_answer(w, "GetRange", code);
    w->reads++;
    return check_page(w, id, end, &reply.range);
}

/* ---- changes */

struct change {
    int id;
    struct state after;
    bool applies; /* the condition holds */
};

static void build_put(struct writer *w, enum table table, struct change *p,
                      struct wr_row_change *out, struct wr_cell *cells)
{
    struct arena *a = &w->door.c.arena;
    uint64_t tag = new_tag(w);
    int64_t bucket = book_bucket(table, w->owner, p->id);
    int n = cells_of_group(a, table, 0, bucket, p->id, tag, cells);

    out->type = WR_PUT;
    p->after = (struct state){.tags = {tag, tag}};
    n += cells_of_group(a, table, 1, bucket, p->id, tag, cells + n);
    if (table == TABLE_SMALL) {
        cells[n++] = (struct wr_cell){
            .name = BYTES_LIT("n"), .value = cells_integer(0), .timestamp_ms = WR_TIMESTAMP_NONE};
        p->after.has_n = true;
    }
    out->row.cell_count = (size_t)n;
}

static void build_update(struct writer *w, enum table table, struct change *p,
                         struct wr_row_change *out, struct wr_cell *cells)
{
    int group = 1 + (int)rng_below(&w->rng, (uint64_t)tables[table].groups - 1);
    uint64_t tag = new_tag(w);

    out->type = WR_UPDATE;
    p->after.tags[group] = tag;
    out->row.cell_count = (size_t)cells_of_group(
        &w->door.c.arena, table, group, book_bucket(table, w->owner, p->id), p->id, tag, cells);
}

/* Takes a group away from a row that keeps another. */
static void build_take(struct writer *w, enum table table, struct change *p,
                       struct wr_row_change *out, struct wr_cell *cells)
{
    int group = 1 + (int)rng_below(&w->rng, (uint64_t)tables[table].groups - 1);
    int n = cells_of_group(&w->door.c.arena, table, group, book_bucket(table, w->owner, p->id),
                           p->id, 1, cells);

    out->type = WR_UPDATE;
    for (int i = 0; i < n; i++)
        cells[i].op = WR_CELL_DELETE_ALL;
    out->row.cell_count = (size_t)n;
    p->after.tags[group] = 0;
}

static void build_increment(struct writer *w, struct change *p, struct wr_row_change *out,
                            struct wr_cell *cells)
{
    int64_t by = crash_between(&w->rng, -5, 20);

    out->type = WR_UPDATE;
    cells[0] = (struct wr_cell){.name = BYTES_LIT("n"),
                                .value = cells_integer(by),
                                .timestamp_ms = WR_TIMESTAMP_NONE,
                                .op = WR_CELL_INCREMENT};
    out->row.cell_count = 1;
    p->after.n = (p->after.has_n ? p->after.n : 0) + by;
    p->after.has_n = true;
}

/* Chooses a change of row `id` by the writer's mood, and what the row is after it. */
static void build(struct writer *w, enum table table, int id, bool conditions, struct change *p,
                  struct wr_row_change *out)
{
    static const int shares[3][3] = {
        {60, 35, 4}, {25, 55, 8}, {8, 25, 55}}; /* put, update, delete */
    struct arena *a = &w->door.c.arena;
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, 2 * (size_t)tables[table].cells_max + 1);
    const struct state *now = &w->book->owners[w->owner].states[table][id];
    int dice = (int)rng_below(&w->rng, 100);
    const int *share = shares[w->mood];

    *p = (struct change){.id = id, .after = *now, .applies = true};
    *out = (struct wr_row_change){.table = bytes_str(tables[table].name),
                                  .row = {.key = row_key(a, table, w->owner, id), .cells = cells}};
    if (dice < share[0]) {
        build_put(w, table, p, out, cells);
        if (conditions && rng_below(&w->rng, 4) == 0) {
            out->condition.existence = WR_EXPECT_NOT_EXIST;
            p->applies = !state_present(now);
        }
    } else if (dice < share[0] + share[1]) {
        if (table == TABLE_SMALL && rng_below(&w->rng, 3) == 0)
            build_increment(w, p, out, cells);
        else
            build_update(w, table, p, out, cells);
        if (conditions && rng_below(&w->rng, 4) == 0) {
            out->condition.existence = WR_EXPECT_EXIST;
            p->applies = state_present(now);
        }
    } else if (dice < share[0] + share[1] + share[2] || !now->tags[0]) {
        out->type = WR_DELETE;
        p->after = (struct state){0};
    } else {
        build_take(w, table, p, out, cells);
    }
}

static void doubt(struct writer *w, const struct maybe *m)
{
    struct owner *o = &w->book->owners[w->owner];

    w->unsure++;
    for (int i = 0; i < m->count; i++)
        o->in_doubt[m->table][m->ids[i]] = true;
    o->maybes[o->maybe_count++] = *m;
}

static bool change_one(struct writer *w)
{
    enum table table = choose_table(w);
    int id = choose_id(w, table), code;
    struct state *book = id < 0 ? NULL : &w->book->owners[w->owner].states[table][id];
    struct wr_row_change change;
    struct wr_request request;
    struct wr_reply reply;
    struct change p;

    if (id < 0)
        return true;
    build(w, table, id, true, &p, &change);
    request = (struct wr_request){.op = change.type == WR_PUT      ? WR_OP_PUT_ROW
                                        : change.type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                                   : WR_OP_DELETE_ROW};
    if (change.type == WR_PUT)
        request.put_row = change;
    else if (change.type == WR_UPDATE)
        request.update_row = change;
    else
        request.delete_row = change;
    code = door_exec(&w->door, &request, &reply);
    if (door_unsure(&w->door, code)) {
        struct maybe m = {
            .table = table, .count = 1, .ids = {id}, .after = {p.applies ? p.after : *book}};

        doubt(w, &m);
        return go_on(w);
    }
    if (code && code != WR_E_CONDITION)
        return odd_answer(w, "a change", code);
    if ((code == 0) != p.applies)
        crash_problem(w->book->run, "%s (%d, %d): a condition %s although the row was %s",
                      tables[table].name, w->owner, id, code ? "failed" : "held",
                      cells_show(&w->door.c.arena, book));
    if (code == 0)
        *book = p.after;
    w->acked++;
    return true;
}

/* Settles the rows of a batch that was answered row by row. */
static bool settle_batch(struct writer *w, const struct change *changes, const struct maybe *sent,
                         const struct wr_row_result *results)
{
    struct owner *o = &w->book->owners[w->owner];

    for (int i = 0; i < sent->count; i++) {
        struct maybe m = {.table = sent->table, .count = 1, .ids = {changes[i].id}};

        m.after[0] = changes[i].after;
        if (results[i].code == 0) {
            o->states[sent->table][changes[i].id] = changes[i].after;
        } else if (wr_error_applied(results[i].code) < 0) {
            if (o->maybe_count == MAYBE_MAX)
                return false;
            doubt(w, &m);
        } else if (!odd_answer(w, "a row of a batch", results[i].code)) {
            return false;
        }
    }
    w->acked++;
    return go_on(w);
}

/* Rows with one partition key, if the batch is atomic; else neighbours. */
static bool change_batch(struct writer *w)
{
    const enum table table = TABLE_SMALL;
    int first = choose_id(w, table), bucket_ids = tables[table].bucket_ids, code;
    struct wr_row_change rows[BATCH_ROWS_MAX];
    struct change changes[BATCH_ROWS_MAX];
    struct wr_table_write batch = {.table = bytes_str(tables[table].name), .changes = rows};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &batch, .table_count = 1}};
    struct maybe m = {.table = table, .atomic = rng_below(&w->rng, 2)};
    struct wr_reply reply;

    if (first < 0)
        return true;
    if (m.atomic)
        first -= first % bucket_ids;
    for (int i = 0; i < bucket_ids && i < BATCH_ROWS_MAX && first + i < tables[table].ids; i++) {
        if (w->book->owners[w->owner].in_doubt[table][first + i] || rng_below(&w->rng, 3) == 0)
            continue;
        build(w, table, first + i, false, &changes[m.count], &rows[m.count]);
        m.ids[m.count] = first + i;
        m.after[m.count] = changes[m.count].after;
        m.count++;
    }
    if (!m.count)
        return true;
    batch.change_count = (size_t)m.count;
    request.batch_write_row.atomic = m.atomic;
    code = door_exec(&w->door, &request, &reply);
    if (door_unsure(&w->door, code)) {
        doubt(w, &m);
        return go_on(w);
    }
    if (code)
        return odd_answer(w, "a batch", code);
    if (reply.batch.table_count != 1 || reply.batch.tables[0].row_count != batch.change_count)
        return odd_answer(w, "a batch with another number of answers", WR_E_INTERNAL);
    return settle_batch(w, changes, &m, reply.batch.tables[0].rows);
}

static bool count_up(struct writer *w)
{
    struct owner *o = &w->book->owners[w->owner];
    int which = (int)rng_below(&w->rng, COUNTERS), code;
    struct wr_key_column key[2] = {{bytes_str(book_keys[0]), cells_integer(COUNTER_BUCKET)},
                                   {bytes_str(book_keys[1]), cells_integer(which)}};
    struct wr_cell cell = {.name = BYTES_LIT("n"),
                           .value = cells_integer(1),
                           .timestamp_ms = WR_TIMESTAMP_NONE,
                           .op = WR_CELL_INCREMENT};
    struct wr_request request = {.op = WR_OP_UPDATE_ROW,
                                 .update_row = {.type = WR_UPDATE,
                                                .table = bytes_str(tables[TABLE_SMALL].name),
                                                .row = {{key, 2}, &cell, 1}}};
    struct wr_reply reply;

    code = door_exec(&w->door, &request, &reply);
    if (door_unsure(&w->door, code)) {
        w->unsure++;
        o->counter_maybe[which]++;
        return go_on(w);
    }
    if (code)
        return odd_answer(w, "an increment", code);
    o->counter_acked[which]++;
    w->acked++;
    return true;
}

/* ---- rows that the server numbers */

static bool insert_numbered(struct writer *w)
{
    struct owner *o = &w->book->owners[w->owner];
    uint64_t tag = new_tag(w);
    struct wr_key_column key[2] = {{bytes_str(numbered_keys[0]), cells_integer(w->owner)},
                                   {bytes_str(numbered_keys[1]), {.type = WR_AUTO_INCREMENT}}};
    struct wr_cell cell = {.name = BYTES_LIT("tag"),
                           .value = cells_integer((int64_t)tag),
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request request = {.op = WR_OP_PUT_ROW,
                                 .put_row = {.type = WR_PUT,
                                             .table = BYTES_LIT("numbered"),
                                             .return_type = WR_RETURN_KEY,
                                             .row = {{key, 2}, &cell, 1}}};
    struct wr_reply reply;
    int code = door_exec(&w->door, &request, &reply);
    int64_t number;

    if (door_unsure(&w->door, code)) {
        w->unsure++;
        o->number_maybe[o->number_maybe_count++] = tag;
        return go_on(w) && o->number_maybe_count < MAYBE_MAX;
    }
    if (code)
        return odd_answer(w, "an insert", code);
    number = reply.row.row.key.count == 2 ? reply.row.row.key.columns[1].value.integer : -1;
    if (number <= o->number_last)
        crash_problem(w->book->run, "owner %d was given number %lld after %lld", w->owner,
                      (long long)number, (long long)o->number_last);
    o->number_last = number;
    o->numbered[o->numbered_count++] = (struct numbered){number, tag};
    w->acked++;
    return true;
}

static bool delete_numbered(struct writer *w)
{
    struct owner *o = &w->book->owners[w->owner];
    struct wr_key_column key[2] = {
        {bytes_str(numbered_keys[0]), cells_integer(w->owner)},
        {bytes_str(numbered_keys[1]), cells_integer(o->numbered[0].number)}};
    struct wr_request request = {.op = WR_OP_DELETE_ROW,
                                 .delete_row = {.type = WR_DELETE,
                                                .table = BYTES_LIT("numbered"),
                                                .row = {.key = {key, 2}}}};
    struct wr_reply reply;
    int code = door_exec(&w->door, &request, &reply);

    if (door_unsure(&w->door, code)) {
        w->unsure++;
        o->delete_maybe = o->numbered[0].number;
        return go_on(w);
    }
    if (code)
        return odd_answer(w, "a deletion", code);
    o->numbered_count--;
    memmove(&o->numbered[0], &o->numbered[1], sizeof(o->numbered[0]) * (size_t)o->numbered_count);
    w->acked++;
    return true;
}

static bool number(struct writer *w)
{
    struct owner *o = &w->book->owners[w->owner];

    if (o->delete_maybe)
        return true;
    return o->numbered_count > NUMBERED_MAX - 2 * MAYBE_MAX ? delete_numbered(w)
                                                            : insert_numbered(w);
}

/* ---- the thread */

static bool act(struct writer *w)
{
    uint64_t dice = rng_below(&w->rng, 100);

    if (dice < 30)
        return get(w);
    if (dice < 40)
        return range(w);
    if (dice < 75)
        return change_one(w);
    if (dice < 90)
        return change_batch(w);
    return dice < 95 ? count_up(w) : number(w);
}

static void *run(void *arg)
{
    struct writer *w = arg;

    door_open(&w->door, w->book->run);
    do {
        choose_mood(w);
        door_clear(&w->door);
        while (atomic_load(&w->book->rest) && !atomic_load(w->stop))
            crash_sleep_us(10000);
    } while (!atomic_load(w->stop) && act(w));
    door_close(&w->door);
    return NULL;
}

void writer_start(struct writer *w)
{
    if (pthread_create(&w->thread, NULL, run, w))
        crash_give_up(w->book->run, "no thread");
}

void writer_join(struct writer *w)
{
    pthread_join(w->thread, NULL);
}

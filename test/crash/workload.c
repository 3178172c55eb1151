/* workload.c: the writers. compare.c is the other half. */
#include "workload.h"

#include <stdio.h>
#include <sys/stat.h>

const char *const workload_row_keys[2] = {"owner", "id"};
const char *const workload_chain_keys[3] = {"epoch", "owner", "key"};

enum change_kind { PUT, PUT_NEW, UPDATE, UPDATE_IF, CUT, INCREMENT, DELETE, KIND_COUNT };

struct workload *workload_new(struct crash *run)
{
    struct workload *w = mem_zalloc(sizeof(*w));

    w->run = run;
    w->record_fd = -1;
    for (int i = 0; i < OWNERS; i++) {
        w->writers[i].w = w;
        w->writers[i].owner = i;
        rng_init(&w->writers[i].rng, rng_next(&run->rng));
    }
    return w;
}

void workload_free(struct workload *w)
{
    for (int i = 0; i < OWNERS; i++) {
        mem_free(w->writers[i].changes);
        mem_free(w->writers[i].news);
    }
    mem_free(w);
}

bool workload_create(struct workload *w)
{
    struct door d;
    int code;

    door_open(&d, w->run);
    code = door_create_table(&d, "rows", workload_row_keys, 2);
    if (!code)
        code = door_create_table(&d, "chain", workload_chain_keys, 3);
    door_close(&d);
    return code == 0;
}

/* ---- book-keeping */

/* How far the record of the server's doings has grown: whatever led to an answer that is here
 * stands before it. */
static int64_t position(const struct workload *w)
{
    struct stat st;

    return w->record_fd >= 0 && fstat(w->record_fd, &st) == 0 ? (int64_t)st.st_size : 0;
}

void workload_keep(struct writer *me, int id, const struct state *after)
{
    me->states[id] = *after;
    if (!me->w->keep_history)
        return;
    if (me->change_count == me->change_capacity) {
        me->change_capacity = me->change_capacity ? 2 * me->change_capacity : 256;
        me->changes = mem_realloc(me->changes, (size_t)me->change_capacity * sizeof(*me->changes));
    }
    me->changes[me->change_count++] = (struct change){me->op_count, id, *after, position(me->w)};
}

static void keep_news(struct writer *me, int which, int64_t seen)
{
    if (!me->w->keep_history)
        return;
    if (me->news_count == me->news_capacity) {
        me->news_capacity = me->news_capacity ? 2 * me->news_capacity : 256;
        me->news = mem_realloc(me->news, (size_t)me->news_capacity * sizeof(*me->news));
    }
    me->news[me->news_count++] = (struct counter_news){which, position(me->w), seen};
}

static void doubt(struct writer *me, const struct maybe *m)
{
    for (int i = 0; i < m->count; i++)
        me->in_doubt[m->ids[i]] = true;
    me->maybes[me->maybe_count++] = *m;
}

/* ---- building requests */

struct plan {
    enum change_kind kind;
    int id;
    struct state after;
    bool applies; /* the condition holds */
};

static struct wr_value integer_value(int64_t n)
{
    return (struct wr_value){.type = WR_BIGINT, .integer = n};
}

static struct wr_key row_key(struct arena *arena, int64_t owner, int64_t id)
{
    struct wr_key_column *columns = ARENA_ARRAY(arena, struct wr_key_column, 2);

    columns[0] = (struct wr_key_column){bytes_str(workload_row_keys[0]), integer_value(owner)};
    columns[1] = (struct wr_key_column){bytes_str(workload_row_keys[1]), integer_value(id)};
    return (struct wr_key){columns, 2};
}

static struct wr_cell counter_cell(enum wr_cell_op op, int64_t n)
{
    return (struct wr_cell){.name = BYTES_LIT("n"),
                            .value = integer_value(n),
                            .timestamp_ms = WR_TIMESTAMP_NONE,
                            .op = op};
}

/* "column at equals tag". */
static const struct wr_filter *tag_filter(struct arena *arena, uint64_t tag)
{
    struct wr_filter *f = ARENA_NEW(arena, struct wr_filter);

    f->type = WR_FILTER_COLUMN;
    f->column.comparator = WR_EQUAL;
    f->column.column = BYTES_LIT("at");
    f->column.value = integer_value((int64_t)tag);
    f->column.filter_if_missing = true;
    f->column.latest_version_only = true;
    return f;
}

static uint64_t new_tag(struct writer *me)
{
    return (uint64_t)(me->owner + 1) << 40 | ++me->tags;
}

static void build_put(struct writer *me, struct plan *p, struct wr_row_change *change,
                      struct wr_cell *cells)
{
    struct arena *arena = &me->door.c.arena;
    uint64_t tag = new_tag(me);

    change->type = WR_PUT;
    content_group(arena, 'a', tag, me->owner, p->id, cells);
    content_group(arena, 'b', tag, me->owner, p->id, cells + CONTENT_GROUP_CELLS);
    cells[2 * CONTENT_GROUP_CELLS] = counter_cell(WR_CELL_PUT, 0);
    change->row.cell_count = CONTENT_CELLS_MAX;
    p->after = (struct state){.a = tag, .b = tag, .has_n = true};
    if (p->kind == PUT_NEW) {
        change->condition.existence = WR_EXPECT_NOT_EXIST;
        p->applies = !state_present(&me->states[p->id]);
    }
}

static void build_update(struct writer *me, struct plan *p, struct wr_row_change *change,
                         struct wr_cell *cells)
{
    const struct state *now = &me->states[p->id];
    uint64_t tag = new_tag(me);

    change->type = WR_UPDATE;
    content_group(&me->door.c.arena, 'b', tag, me->owner, p->id, cells);
    change->row.cell_count = CONTENT_GROUP_CELLS;
    p->after.b = tag;
    if (p->kind == UPDATE_IF) {
        uint64_t expected = rng_below(&me->rng, 4) ? now->a : now->a + 1;

        change->condition.existence = WR_EXPECT_EXIST;
        change->condition.column = tag_filter(&me->door.c.arena, expected);
        p->applies = now->a && now->a == expected;
    }
}

/* Takes group b away from a row that keeps group a. */
static void build_cut(struct writer *me, struct plan *p, struct wr_row_change *change,
                      struct wr_cell *cells)
{
    change->type = WR_UPDATE;
    content_group(&me->door.c.arena, 'b', 0, me->owner, p->id, cells);
    for (int i = 0; i < CONTENT_GROUP_CELLS; i++)
        cells[i].op = WR_CELL_DELETE_ALL;
    change->row.cell_count = CONTENT_GROUP_CELLS;
    p->after.b = 0;
}

static void build_increment(struct writer *me, struct plan *p, struct wr_row_change *change,
                            struct wr_cell *cells)
{
    int64_t by = crash_between(&me->rng, -5, 20);

    change->type = WR_UPDATE;
    cells[0] = counter_cell(WR_CELL_INCREMENT, by);
    change->row.cell_count = 1;
    p->after.n = (p->after.has_n ? p->after.n : 0) + by;
    p->after.has_n = true;
}

/* Chooses a change of row `id` and what the row is after it. */
static void build(struct writer *me, int id, bool conditions, struct plan *p,
                  struct wr_row_change *change)
{
    struct arena *arena = &me->door.c.arena;
    struct wr_cell *cells = ARENA_ARRAY(arena, struct wr_cell, CONTENT_CELLS_MAX);

    *p = (struct plan){.id = id, .after = me->states[id], .applies = true};
    do {
        p->kind = (enum change_kind)rng_below(&me->rng, KIND_COUNT);
    } while ((!conditions && (p->kind == PUT_NEW || p->kind == UPDATE_IF)) ||
             (p->kind == CUT && !me->states[id].a));
    *change = (struct wr_row_change){.table = BYTES_LIT("rows"),
                                     .row = {.key = row_key(arena, me->owner, id), .cells = cells}};
    switch (p->kind) {
    case PUT:
    case PUT_NEW:
        build_put(me, p, change, cells);
        break;
    case UPDATE:
    case UPDATE_IF:
        build_update(me, p, change, cells);
        break;
    case CUT:
        build_cut(me, p, change, cells);
        break;
    case INCREMENT:
        build_increment(me, p, change, cells);
        break;
    default:
        change->type = WR_DELETE;
        p->after = (struct state){0};
        break;
    }
}

static int choose_key(struct writer *me)
{
    int id;

    do
        id = (int)rng_below(&me->rng, KEYS);
    while (me->in_doubt[id]);
    return id;
}

/* ---- sending. Each returns false when the writer must end. */

/* An answer that is neither success nor what the book expects. */
static bool odd_answer(struct writer *me, const char *what, int code)
{
    if (code == WR_E_BUSY || code == WR_E_UNAVAILABLE || code == WR_E_NO_SPACE) {
        me->refused++;
        crash_sleep_us(1000);
        return true;
    }
    crash_problem(me->w->run, "%s of writer %d: %s %s", what, me->owner, wr_error_name(code),
                  me->door.c.text ? me->door.c.text : "");
    return false;
}

/* After a request without an answer. */
static bool go_on(const struct writer *me)
{
    return !door_gone(&me->door) && me->maybe_count < MAYBE_MAX;
}

static void request_row(struct wr_request *request, const struct wr_row_change *change)
{
    *request = (struct wr_request){.op = change->type == WR_PUT      ? WR_OP_PUT_ROW
                                         : change->type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                                                     : WR_OP_DELETE_ROW};
    if (request->op == WR_OP_PUT_ROW)
        request->put_row = *change;
    else if (request->op == WR_OP_UPDATE_ROW)
        request->update_row = *change;
    else
        request->delete_row = *change;
}

static bool send_single(struct writer *me)
{
    struct wr_row_change change;
    struct wr_request request;
    struct wr_reply reply;
    struct plan p;
    int code;

    build(me, choose_key(me), true, &p, &change);
    request_row(&request, &change);
    code = door_exec(&me->door, &request, &reply);
    me->op_count++;
    if (code == 0 && p.applies) {
        me->acked++;
        workload_keep(me, p.id, &p.after);
        return true;
    }
    if (code == WR_E_CONDITION && !p.applies) {
        me->acked++;
        return true;
    }
    if (door_unsure(&me->door, code)) {
        struct maybe m = {.count = 1, .ids = {p.id}, .after = {p.after}};

        if (!p.applies)
            m.after[0] = me->states[p.id];
        me->unsure++;
        doubt(me, &m);
        return go_on(me);
    }
    if (code == 0 || code == WR_E_CONDITION) {
        crash_problem(me->w->run, "row (%d, %d): a condition %s although the row was %s", me->owner,
                      p.id, code ? "failed" : "held",
                      content_show(&me->door.c.arena, &me->states[p.id]));
        return false;
    }
    return odd_answer(me, "a change", code);
}

/* Settles the rows of a batch that was answered row by row. */
static bool settle_batch(struct writer *me, const struct plan *plans, int n,
                         const struct wr_row_result *results)
{
    for (int i = 0; i < n; i++) {
        if (results[i].code == 0) {
            workload_keep(me, plans[i].id, &plans[i].after);
        } else if (wr_error_applied(results[i].code) < 0) {
            struct maybe m = {.count = 1, .ids = {plans[i].id}, .after = {plans[i].after}};

            if (me->maybe_count == MAYBE_MAX)
                return false;
            doubt(me, &m);
        } else if (!odd_answer(me, "a row of a batch", results[i].code)) {
            return false;
        }
    }
    return me->maybe_count < MAYBE_MAX;
}

static bool send_batch(struct writer *me)
{
    int n = (int)crash_between(&me->rng, 2, BATCH_ROWS_MAX), first = choose_key(me), code;
    struct wr_row_change changes[BATCH_ROWS_MAX];
    struct plan plans[BATCH_ROWS_MAX];
    struct wr_table_write table = {.table = BYTES_LIT("rows"), .changes = changes};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct maybe m = {0};
    struct wr_reply reply;

    /* Rows next to each other: each is another row, and the atomic ones share a partition key. */
    for (int i = 0; i < n; i++) {
        int id = (first + i) % KEYS;

        if (me->in_doubt[id])
            continue;
        build(me, id, false, &plans[m.count], &changes[m.count]);
        m.ids[m.count] = id;
        m.after[m.count] = plans[m.count].after;
        m.count++;
    }
    table.change_count = (size_t)m.count;
    m.atomic = request.batch_write_row.atomic = rng_below(&me->rng, 2);
    code = door_exec(&me->door, &request, &reply);
    me->op_count++;
    if (code == 0) {
        me->acked++;
        if (reply.batch.table_count != 1 || reply.batch.tables[0].row_count != table.change_count)
            return odd_answer(me, "a batch with too few answers", WR_E_INTERNAL);
        return settle_batch(me, plans, m.count, reply.batch.tables[0].rows);
    }
    if (door_unsure(&me->door, code)) {
        me->unsure++;
        doubt(me, &m);
        return go_on(me);
    }
    return odd_answer(me, "a batch", code);
}

static bool send_counter(struct writer *me)
{
    int which = (int)rng_below(&me->rng, COUNTERS), code;
    struct wr_cell cell = counter_cell(WR_CELL_INCREMENT, 1);
    struct wr_request request = {
        .op = WR_OP_UPDATE_ROW,
        .update_row = {.type = WR_UPDATE,
                       .table = BYTES_LIT("rows"),
                       .row = {row_key(&me->door.c.arena, COUNTER_OWNER, which), &cell, 1}}};
    struct wr_reply reply;

    code = door_exec(&me->door, &request, &reply);
    if (code == 0) {
        me->acked++;
        me->counter_acked[which]++;
        keep_news(me, which, 0);
        return true;
    }
    if (door_unsure(&me->door, code)) {
        me->unsure++;
        me->counter_maybe[which]++;
        return go_on(me);
    }
    return odd_answer(me, "an increment", code);
}

int64_t workload_link_check(int owner, struct link at, struct link before)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)owner ^ (uint64_t)at.key ^ (uint64_t)at.epoch << 20 ^
                       (uint64_t)before.key << 1 ^ (uint64_t)before.epoch << 40);
    return (int64_t)(rng_next(&rng) >> 1);
}

static struct wr_cell integer_cell(bytes name, int64_t n)
{
    return (struct wr_cell){
        .name = name, .value = integer_value(n), .timestamp_ms = WR_TIMESTAMP_NONE};
}

static bool send_link(struct writer *me)
{
    struct link at = {me->w->epoch, (int64_t)(rng_next(&me->rng) >> 1)};
    struct wr_key_column key[3] = {
        {bytes_str(workload_chain_keys[0]), integer_value(at.epoch)},
        {bytes_str(workload_chain_keys[1]), integer_value(me->owner)},
        {bytes_str(workload_chain_keys[2]), integer_value(at.key)},
    };
    struct wr_cell cells[] = {
        integer_cell(BYTES_LIT("check"), workload_link_check(me->owner, at, me->head)),
        integer_cell(BYTES_LIT("epoch_before"), me->head.epoch),
        integer_cell(BYTES_LIT("key_before"), me->head.key),
    };
    struct wr_request request = {.op = WR_OP_PUT_ROW,
                                 .put_row = {.type = WR_PUT,
                                             .table = BYTES_LIT("chain"),
                                             .row = {{key, 3}, cells, 3},
                                             .condition = {.existence = WR_EXPECT_NOT_EXIST}}};
    struct wr_reply reply;
    int code = door_exec(&me->door, &request, &reply);

    if (code == 0) {
        me->acked++;
        me->head = at;
        me->chain_acked++;
        me->chain_total++;
        return true;
    }
    if (door_unsure(&me->door, code)) {
        me->unsure++;
        me->chain_maybe = at;
        me->chain_maybes++;
        return false;
    }
    return odd_answer(me, "a link", code);
}

/* Readers see what was acknowledged, and nothing that a crash takes back. */
static bool read_own(struct writer *me)
{
    int id = choose_key(me), code;
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = BYTES_LIT("rows"),
                    .key = row_key(&me->door.c.arena, me->owner, id),
                    .read = {.max_versions = 1, .has_max_versions = true}}};
    const char *why = "it is another state";
    struct wr_reply reply;
    struct state s;

    code = door_exec(&me->door, &request, &reply);
    if (door_unsure(&me->door, code))
        return go_on(me);
    if (code)
        return odd_answer(me, "a read", code);
    if (content_read(&me->door.c.arena, &reply.row.row, me->owner, id, &s, &why) &&
        state_equal(&s, &me->states[id]))
        return true;
    crash_problem(me->w->run, "row (%d, %d) read as %s, but it is %s: %s", me->owner, id,
                  content_show(&me->door.c.arena, &s),
                  content_show(&me->door.c.arena, &me->states[id]), why);
    return false;
}

static bool read_counter(struct writer *me)
{
    int which = (int)rng_below(&me->rng, COUNTERS), code;
    struct wr_request request = {
        .op = WR_OP_GET_ROW,
        .get_row = {.table = BYTES_LIT("rows"),
                    .key = row_key(&me->door.c.arena, COUNTER_OWNER, which),
                    .read = {.max_versions = 1, .has_max_versions = true}}};
    const struct wr_cell *n;
    struct wr_reply reply;

    code = door_exec(&me->door, &request, &reply);
    if (door_unsure(&me->door, code))
        return go_on(me);
    if (code)
        return odd_answer(me, "a read", code);
    n = door_cell(&reply.row.row, "n");
    if (n && n->value.integer < me->counter_seen[which]) {
        crash_problem(me->w->run, "counter %d went back from %lld to %lld", which,
                      (long long)me->counter_seen[which], (long long)n->value.integer);
        return false;
    }
    if (n) {
        me->counter_seen[which] = n->value.integer;
        keep_news(me, which, n->value.integer);
    }
    return true;
}

static bool step(struct writer *me)
{
    uint64_t r = rng_below(&me->rng, 100);

    door_clear(&me->door);
    if (r < 45)
        return send_single(me);
    if (r < 60)
        return send_batch(me);
    if (r < 70)
        return send_counter(me);
    if (r < 90)
        return send_link(me);
    return r < 97 ? read_own(me) : read_counter(me);
}

static void *writer_main(void *arg)
{
    struct writer *me = arg;

    while (!atomic_load(&me->w->stop) && step(me))
        ;
    return NULL;
}

void workload_start(struct workload *w)
{
    atomic_store(&w->stop, false);
    w->epoch++;
    for (int i = 0; i < OWNERS; i++) {
        struct writer *me = &w->writers[i];

        me->chain_acked = 0;
        me->chain_maybe = (struct link){0};
        door_open(&me->door, w->run);
        if (pthread_create(&me->thread, NULL, writer_main, me) != 0)
            crash_give_up(w->run, "no thread");
    }
}

void workload_stop(struct workload *w)
{
    atomic_store(&w->stop, true);
    for (int i = 0; i < OWNERS; i++) {
        pthread_join(w->writers[i].thread, NULL);
        door_close(&w->writers[i].door);
    }
}

uint64_t workload_acked(const struct workload *w)
{
    uint64_t n = 0;

    for (int i = 0; i < OWNERS; i++)
        n += w->writers[i].acked;
    return n;
}

uint64_t workload_unsure(const struct workload *w)
{
    uint64_t n = 0;

    for (int i = 0; i < OWNERS; i++)
        n += w->writers[i].unsure;
    return n;
}

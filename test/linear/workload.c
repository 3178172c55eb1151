#include "workload.h"

#include "bug.h"
#include "by_sql.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FILL_NAME "vf%05d"
#define FILL_CELLS 1000 /* of one change */
#define FILL_ROWS 200
#define FOLLOW_SHARDS 4
#define RANGE_BYTES_MAX 800000 /* a page of a group must fit */

static const char *const names[COLUMNS] = {"v", "w", "n"};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int32_t workload_value(struct workload *w)
{
    return atomic_fetch_add(&w->next_value, 1) + 1;
}

/* ---- what to do next */

static struct op *plan_add(struct plan *p, uint8_t type, int group, int row)
{
    struct op *o = &p->ops[p->count++];

    *o = (struct op){.type = type,
                     .group = (uint16_t)group,
                     .rows = (uint8_t)(1u << row),
                     .columns = ALL_COLUMNS};
    return o;
}

static uint8_t choose_columns(struct rng *r)
{
    static const uint8_t choices[] = {ALL_COLUMNS, ALL_COLUMNS, 1, 2, 4, 3, 3, 6};

    return choices[rng_below(r, sizeof(choices))];
}

static void set_value(struct worker *k, struct change *c)
{
    c->sets |= 3;
    c->column[COLUMN_V] = c->column[COLUMN_W] = workload_value(k->w);
}

/* A change of one row, to `c`. */
static void choose_change(struct worker *k, int group, int row, struct change *c)
{
    struct rng *r = &k->rng;
    uint64_t what = rng_below(r, 100);
    bool compares = rng_below(r, 100) < 45;

    if (k->w->conf.filling.columns)
        what = 25 + what % 61; /* updates alone */
    *c = (struct change){.row = (uint8_t)row, .type = CHANGE_UPDATE};
    if (what < 25) {
        c->type = CHANGE_PUT;
        set_value(k, c);
        if (rng_below(r, 3) == 0) {
            c->sets |= 1u << COLUMN_N;
            c->column[COLUMN_N] = (int32_t)rng_below(r, 1000) * 1000;
        }
        c->existence = compares ? EXIST_ANY : (uint8_t)rng_below(r, 3);
    } else if (what < 55) {
        set_value(k, c);
        c->existence = compares || rng_below(r, 4) ? EXIST_ANY : EXIST_YES;
    } else if (what < 80) {
        c->increments = true;
        c->delta = 1 + (int32_t)rng_below(r, 9);
        compares = compares && rng_below(r, 3) == 0;
    } else if (what < 86) {
        c->removes = rng_below(r, 2) ? 1u << COLUMN_N : 3;
    } else {
        c->type = CHANGE_DELETE;
        c->existence = rng_below(r, 4) ? EXIST_ANY : EXIST_YES;
    }
    if (compares) {
        int32_t v = atomic_load(&k->w->recent[group][row]);

        c->compares = v != 0;
        c->expect = v;
    }
}

static enum plan_kind choose_kind(struct worker *k)
{
    const struct filling *f = &k->w->conf.filling;
    uint64_t what = rng_below(&k->rng, 100);

    if (rng_below(&k->rng, 100) < (uint64_t)k->w->conf.txns)
        return PLAN_TXN;
    if (f->rows && what < 33)
        what = 40; /* ranges are what is filled */
    if ((long)f->columns * f->column_bytes * GROUP_ROWS > RANGE_BYTES_MAX && what < 48)
        what = 0;
    if (f->apart && what >= 88)
        what = 50;
    return what < 33   ? PLAN_GET
           : what < 40 ? PLAN_BATCH_GET
           : what < 48 ? PLAN_RANGE
           : what < 80 ? PLAN_CHANGE
           : what < 88 ? PLAN_BATCH_WRITE
                       : PLAN_ATOMIC;
}

static void plan_atomic(struct worker *k, struct plan *p, int group)
{
    int count = 2 + (int)rng_below(&k->rng, GROUP_ROWS - 1), first;
    struct op *o = plan_add(p, OP_WRITE, group, 0);

    first = (int)rng_below(&k->rng, GROUP_ROWS);
    o->rows = 0;
    o->change_count = (uint8_t)count;
    for (int i = 0; i < count; i++) {
        int row = (first + i) % GROUP_ROWS;

        choose_change(k, group, row, &o->changes[i]);
        /* One condition is enough for most, else hardly any batch would succeed. */
        if (i && rng_below(&k->rng, 4)) {
            o->changes[i].existence = EXIST_ANY;
            o->changes[i].compares = false;
        }
        o->rows |= (uint8_t)(1u << row);
    }
}

/* ---- locks ---- */

#define LOCK_NAP_US 4000  /* of theirs between two requests, at most */
#define LOCK_BREAK_ONE 30 /* one of so many attempts releases what another client has */

/* "v = mine if v is free", "free if v is mine", and now and then "free if v is that other one's",
 * as who has the lock may have been told nothing. So a condition that fails may come to hold later.
 */
static void choose_lock(struct worker *k, struct op *o)
{
    int32_t v = atomic_load(&k->w->recent[o->group][__builtin_ctz(o->rows)]), now = LOCK_FREE;
    struct change *c = &o->changes[0];

    *c = (struct change){
        .row = (uint8_t)__builtin_ctz(o->rows), .type = CHANGE_UPDATE, .sets = 3, .compares = true};
    if (k->held.value) {
        c->expect = k->held.value;
    } else if (!v) {
        c->compares = false; /* the first one makes it */
    } else if (v != LOCK_FREE && rng_below(&k->rng, LOCK_BREAK_ONE) == 0) {
        c->expect = v;
    } else {
        c->expect = LOCK_FREE;
        now = workload_value(k->w);
    }
    c->column[COLUMN_V] = c->column[COLUMN_W] = now;
}

/* Half of the clients ask for nothing else, so that servers always have some waiting. */
static bool wants_locks(const struct worker *k)
{
    return k->w->conf.locks && k->number < k->w->conf.clients / 2;
}

static void plan_lock(struct worker *k, struct plan *p)
{
    bool reads = rng_below(&k->rng, 8) == 0;
    int group = (int)rng_below(&k->rng, (uint64_t)k->w->conf.locks);
    int row = (int)rng_below(&k->rng, GROUP_ROWS);
    struct op *o;

    *p = (struct plan){.kind = reads ? PLAN_GET : PLAN_CHANGE};
    if (k->held.value && !reads) {
        group = k->held.group;
        row = k->held.row;
    }
    o = plan_add(p, reads ? OP_READ : OP_WRITE, group, row);
    if (reads)
        return;
    o->change_count = 1;
    choose_lock(k, o);
}

/* Whoever was told nothing takes it that the lock is not held: others release it. */
static void note_lock(struct worker *k, const struct op *o)
{
    const struct change *c = &o->changes[0];

    if (o->type != OP_WRITE || o->group >= k->w->conf.locks)
        return;
    k->held = (struct lock){0};
    if (o->outcome == DONE && c->compares && c->expect == LOCK_FREE)
        k->held = (struct lock){o->group, c->row, c->column[COLUMN_V]};
}

/* One of the busy half, if only half is busy. Which one that is goes through all groups in time, so
 * that ranges become hot and then idle. */
static int choose_group(struct worker *k)
{
    const struct workload_conf *conf = &k->w->conf;
    uint64_t groups = (uint64_t)conf->groups, shifts;

    if (!conf->shift_ms)
        return conf->locks + (int)rng_below(&k->rng, groups - (uint64_t)conf->locks);
    shifts = (uint64_t)((now_ns() - k->w->start_ns) / 1000000 / conf->shift_ms);
    return (int)((shifts * (groups / 2) + rng_below(&k->rng, groups / 2)) % groups);
}

/* `by` groups on, round; locks are not among them. */
static int group_after(const struct worker *k, int group, int by)
{
    int locks = k->w->conf.locks, others = k->w->conf.groups - locks;

    return locks + (group - locks + by) % others;
}

static void plan_change(struct worker *k, struct plan *p, int group, int row)
{
    struct op *o = plan_add(p, OP_WRITE, group, row);

    o->change_count = 1;
    choose_change(k, group, row, &o->changes[0]);
    o->returned = o->changes[0].increments && rng_below(&k->rng, 4);
}

void plan_step(struct worker *k, struct plan *p, int group, int row)
{
    uint64_t what = rng_below(&k->rng, 100);

    *p = (struct plan){.kind = what < 35   ? PLAN_GET
                               : what < 45 ? PLAN_RANGE
                               : what < 90 ? PLAN_CHANGE
                                           : PLAN_ATOMIC};
    p->backward = rng_below(&k->rng, 2);
    if (p->kind == PLAN_GET)
        plan_add(p, OP_READ, group, row)->columns = choose_columns(&k->rng);
    else if (p->kind == PLAN_RANGE)
        plan_add(p, OP_READ, group, 0)->rows = (1u << GROUP_ROWS) - 1;
    else if (p->kind == PLAN_CHANGE)
        plan_change(k, p, group, row);
    else
        plan_atomic(k, p, group);
}

static void plan_make(struct worker *k, struct plan *p)
{
    struct rng *r = &k->rng;
    int count, group = choose_group(k), row = (int)rng_below(r, GROUP_ROWS);
    uint8_t columns = choose_columns(r);

    *p = (struct plan){.kind = choose_kind(k)};
    if (p->kind <= PLAN_RANGE && k->last.count && rng_below(r, 3) == 0) {
        group = k->last.ops[0].group;
        row = k->last.ops[0].changes[0].row;
    }
    switch (p->kind) {
    case PLAN_GET:
        plan_add(p, OP_READ, group, row)->columns = columns;
        break;
    case PLAN_RANGE:
        p->backward = rng_below(r, 2);
        plan_add(p, OP_READ, group, 0)->rows = (1u << GROUP_ROWS) - 1;
        break;
    case PLAN_BATCH_GET:
        count = 2 + (int)rng_below(r, PLAN_OPS - 1);
        for (int i = 0; i < count; i++)
            plan_add(p, OP_READ, i ? choose_group(k) : group,
                     i ? (int)rng_below(r, GROUP_ROWS) : row)
                ->columns = columns;
        break;
    case PLAN_CHANGE:
        plan_change(k, p, group, row);
        k->last = *p;
        break;
    case PLAN_TXN:
        plan_txn(k, p, group);
        break;
    case PLAN_BATCH_WRITE:
        /* Different rows: a row that stands twice may have neither condition nor increment. */
        count = 2 + (int)rng_below(r, GROUP_ROWS - 1);
        for (int i = 0; i < count; i++) {
            int at = (row + i) % GROUP_ROWS, in = group_after(k, group, i * (int)rng_below(r, 2));
            struct op *o = plan_add(p, OP_WRITE, in, at);

            o->change_count = 1;
            choose_change(k, in, at, &o->changes[0]);
        }
        break;
    default:
        plan_atomic(k, p, group);
        break;
    }
}

/* ---- the model's terms to widerow.h */

/* Row -1 is the group's lower bound, GROUP_ROWS its upper one. */
static const struct wr_key *make_key(struct worker *k, struct arena *a, int group, int row)
{
    const struct filling *f = &k->w->conf.filling;
    struct wr_key_column *c = ARENA_ARRAY(a, struct wr_key_column, 2);
    struct wr_key *key = ARENA_NEW(a, struct wr_key);
    bool bound = row < 0 || row >= GROUP_ROWS;

    if (f->apart) {
        group = (group * GROUP_ROWS + (row < 0 ? 0 : row)) * (f->rows + 1);
        row = bound ? -1 : 0;
    }
    c[0] = (struct wr_key_column){BYTES_LIT("g"), {.type = WR_BIGINT, .integer = group}};
    c[1] = (struct wr_key_column){BYTES_LIT("r"),
                                  {.type = WR_BIGINT, .integer = (int64_t)row * (f->rows + 1)}};
    if (bound)
        c[1].value.type = row < 0 ? WR_INF_MIN : WR_INF_MAX;
    *key = (struct wr_key){c, 2};
    return key;
}

/* Where a page begins that goes on behind another. */
static struct wr_key page_key(struct arena *a, const struct plan *p)
{
    struct wr_key_column *c = ARENA_ARRAY(a, struct wr_key_column, 2);

    c[0] = (struct wr_key_column){BYTES_LIT("g"), p->from[0]};
    c[1] = (struct wr_key_column){BYTES_LIT("r"), p->from[1]};
    return (struct wr_key){c, 2};
}

/* The row of the group that a key is of; -1: of none, it is filling. */
static int row_of(const struct worker *k, const struct wr_key *key, int group)
{
    const struct filling *f = &k->w->conf.filling;
    int64_t g = key->columns[0].value.integer, at = key->columns[1].value.integer;

    if (f->apart) {
        at = g - (int64_t)group * GROUP_ROWS * (f->rows + 1);
        g = group;
    }
    return g == group && at >= 0 && at % (f->rows + 1) == 0 ? (int)(at / (f->rows + 1)) : -1;
}

/* Those of `rows` that a range has yet to come to when it stands before `key`. */
static uint8_t rows_behind(const struct worker *k, const struct wr_key *key, int group,
                           bool backward, uint8_t rows)
{
    const struct filling *f = &k->w->conf.filling;
    int64_t at = f->apart
                     ? key->columns[0].value.integer - (int64_t)group * GROUP_ROWS * (f->rows + 1)
                     : key->columns[1].value.integer;
    uint8_t behind = 0;

    for (int i = 0; i < GROUP_ROWS; i++) {
        int64_t row = (int64_t)i * (f->rows + 1);

        if (backward ? row <= at : row >= at)
            behind |= (uint8_t)(1u << i);
    }
    return behind & rows;
}

static void make_read(const struct worker *k, struct arena *a, uint8_t columns,
                      struct wr_read_options *out)
{
    const struct filling *f = &k->w->conf.filling;
    bytes *list = ARENA_ARRAY(a, bytes, (size_t)(COLUMNS + f->named));

    *out = (struct wr_read_options){.has_max_versions = true, .max_versions = 1};
    if (columns == ALL_COLUMNS && !f->named)
        return;
    for (int i = 0; i < f->named; i++)
        list[out->column_count++] =
            arena_printf(a, FILL_NAME, (int)((long)i * f->columns / f->named));
    out->columns = list;
    for (int i = 0; i < COLUMNS; i++)
        if (columns & 1u << i)
            list[out->column_count++] = bytes_str(names[i]);
}

static void make_cells(struct arena *a, const struct change *c, struct wr_row *row)
{
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, COLUMNS + 1);

    row->cells = cells;
    for (int i = 0; i < COLUMNS; i++) {
        struct wr_cell cell = {.name = bytes_str(names[i]),
                               .timestamp_ms = WR_TIMESTAMP_NONE,
                               .value = {.type = WR_BIGINT}};

        if (c->sets & 1u << i)
            cell.value.integer = c->column[i];
        else if (c->removes & 1u << i)
            cell.op = WR_CELL_DELETE_ALL;
        else if (i == COLUMN_N && c->increments) {
            cell.op = WR_CELL_INCREMENT;
            cell.value.integer = c->delta;
        } else
            continue;
        if (c->type != CHANGE_DELETE)
            cells[row->cell_count++] = cell;
    }
}

static void make_change(struct worker *k, struct arena *a, const struct op *o,
                        const struct change *c, struct wr_row_change *out)
{
    static const enum wr_change_type types[] = {WR_PUT, WR_UPDATE, WR_DELETE};

    *out = (struct wr_row_change){.type = types[c->type], .table = bytes_str(k->w->conf.table)};
    out->row.key = *make_key(k, a, o->group, c->row);
    make_cells(a, c, &out->row);
    out->condition.existence = (enum wr_existence)c->existence;
    if (c->compares) {
        struct wr_filter *f = ARENA_NEW(a, struct wr_filter);

        f->type = WR_FILTER_COLUMN;
        f->column = (struct wr_column_filter){.comparator = WR_EQUAL,
                                              .column = bytes_str(names[COLUMN_V]),
                                              .value = {.type = WR_BIGINT, .integer = c->expect},
                                              .filter_if_missing = true,
                                              .latest_version_only = true};
        out->condition.column = f;
    }
    if (o->returned) {
        bytes *list = ARENA_NEW(a, bytes);

        *list = bytes_str(names[COLUMN_N]);
        out->return_type = WR_RETURN_AFTER_MODIFY;
        out->return_columns = list;
        out->return_column_count = 1;
    }
}

static void make_batch(struct worker *k, struct arena *a, const struct plan *p,
                       struct wr_request *req)
{
    struct wr_row_change *changes = ARENA_ARRAY(a, struct wr_row_change, PLAN_OPS);
    struct wr_table_write *t = ARENA_NEW(a, struct wr_table_write);

    *t = (struct wr_table_write){.table = bytes_str(k->w->conf.table), .changes = changes};
    for (int i = 0; i < p->count; i++)
        for (int j = 0; j < p->ops[i].change_count; j++)
            make_change(k, a, &p->ops[i], &p->ops[i].changes[j], &changes[t->change_count++]);
    req->op = WR_OP_BATCH_WRITE_ROW;
    req->batch_write_row = (struct wr_batch_write_row){
        .tables = t, .table_count = 1, .atomic = p->kind == PLAN_ATOMIC};
}

static void make_batch_get(struct worker *k, struct arena *a, const struct plan *p,
                           struct wr_request *req)
{
    struct wr_table_get *t = ARENA_NEW(a, struct wr_table_get);
    struct wr_key *keys = ARENA_ARRAY(a, struct wr_key, PLAN_OPS);

    for (int i = 0; i < p->count; i++)
        keys[i] = *make_key(k, a, p->ops[i].group, __builtin_ctz(p->ops[i].rows));
    *t = (struct wr_table_get){
        .table = bytes_str(k->w->conf.table), .keys = keys, .key_count = (size_t)p->count};
    make_read(k, a, p->ops[0].columns, &t->read);
    req->op = WR_OP_BATCH_GET_ROW;
    req->batch_get_row = (struct wr_batch_get_row){t, 1};
}

static void make_request(struct worker *k, struct arena *a, const struct plan *p,
                         struct wr_request *req)
{
    static const enum wr_op ops[] = {WR_OP_PUT_ROW, WR_OP_UPDATE_ROW, WR_OP_DELETE_ROW};
    const struct op *o = &p->ops[0];
    bytes table = bytes_str(k->w->conf.table);

    switch (p->kind) {
    case PLAN_GET:
        req->op = WR_OP_GET_ROW;
        req->get_row = (struct wr_get_row){
            .table = table, .key = *make_key(k, a, o->group, __builtin_ctz(o->rows))};
        make_read(k, a, o->columns, &req->get_row.read);
        break;
    case PLAN_RANGE:
        req->op = WR_OP_GET_RANGE;
        req->get_range =
            (struct wr_get_range){.table = table,
                                  .start = *make_key(k, a, o->group, p->backward ? GROUP_ROWS : -1),
                                  .end = *make_key(k, a, o->group, p->backward ? -1 : GROUP_ROWS),
                                  .backward = p->backward};
        if (p->continues)
            req->get_range.start = page_key(a, p);
        make_read(k, a, o->columns, &req->get_range.read);
        break;
    case PLAN_CHANGE:
        req->op = ops[o->changes[0].type];
        make_change(k, a, o, &o->changes[0], &req->put_row);
        break;
    case PLAN_BATCH_GET:
        make_batch_get(k, a, p, req);
        break;
    default:
        make_batch(k, a, p, req);
        break;
    }
}

/* ---- and back */

void worker_problem(struct worker *k, const char *what, int code, const char *message)
{
    if (!k->problem[0])
        snprintf(k->problem, sizeof(k->problem), "%s (%s: %s)", what, wr_error_name(code),
                 message ? message : "");
}

static void read_row(struct worker *k, const struct wr_row *row, uint8_t columns,
                     struct row_state *out)
{
    *out = (struct row_state){.has = row->key.count ? ROW_EXISTS : 0};
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        int at = 0;

        if (bytes_starts(cell->name, BYTES_LIT("vf")))
            continue;
        while (at < COLUMNS && !bytes_equal(cell->name, bytes_str(names[at])))
            at++;
        if (at == COLUMNS || cell->value.type != WR_BIGINT || out->has & 1u << at) {
            worker_problem(k, "a cell that was never written", 0, "");
            return;
        }
        out->has |= 1u << at;
        out->column[at] = (int32_t)cell->value.integer;
    }
    /* Without a column that was asked for the model has no row in the answer; filling is none. */
    if (k->w->conf.filling.named && columns != ALL_COLUMNS && out->has == ROW_EXISTS)
        out->has = 0;
}

static uint8_t outcome_of(struct worker *k, const struct op *o, int code, const char *message)
{
    if (code == WR_OK)
        return DONE;
    if (code == WR_E_CONDITION && o->type == OP_WRITE)
        return REFUSED;
    /* Somebody at another server was faster, again and again; or a transaction has the value. */
    if (code == WR_E_CONFLICT && (k->w->server->next || k->w->conf.txns))
        return NOTHING;
    /* The server was killed since the transaction began. */
    if (code == WR_E_SESSION && k->transaction.ptr && k->w->conf.disturb)
        return NOTHING;
    if (code == WR_E_OUT_OF_RANGE && k->w->conf.cuts_values && o->change_count > 1) {
        k->spanned++;
        atomic_store(&k->w->has_spanned, true);
        return NOTHING;
    }
    if (wr_error_status(code) / 100 == 4)
        worker_problem(k, "a request was refused that is correct", code, message);
    if (o->type == OP_READ)
        return NOTHING;
    return wr_error_applied(code) == 0 ? NOTHING : MAYBE;
}

/* The page tells of the rows before its `next`; those from there on are the next page's. */
static void end_page(struct worker *k, const struct wr_key *next, struct plan *p)
{
    struct op *o = &p->ops[0];

    if (next->count != 2 || next->columns[0].value.type != WR_BIGINT ||
        next->columns[1].value.type != WR_BIGINT) {
        worker_problem(k, "a page ended at what is no row's key", 0, "");
        return;
    }
    p->goes_on = true;
    for (int i = 0; i < 2; i++)
        p->from[i] = next->columns[i].value;
    p->behind = rows_behind(k, next, o->group, p->backward, o->rows);
    for (int i = 0; i < GROUP_ROWS; i++)
        if (p->behind & 1u << i && o->seen[i].has)
            worker_problem(k, "a page held a row that is behind its end", 0, "");
    o->rows &= (uint8_t)~p->behind;
}

static void read_page(struct worker *k, const struct wr_range_result *r, struct plan *p)
{
    struct op *o = &p->ops[0];

    for (size_t i = 0; i < r->row_count; i++) {
        int at = row_of(k, &r->rows[i].key, o->group);

        if (at < 0 && k->w->conf.filling.rows)
            p->filling++;
        else if (at < 0 || at >= GROUP_ROWS || !(o->rows & 1u << at) || o->seen[at].has)
            worker_problem(k, "a page held a row that is not in its range, or one twice", 0, "");
        else
            read_row(k, &r->rows[i], o->columns, &o->seen[at]);
    }
    if (r->next.count)
        end_page(k, &r->next, p);
    else if (p->filling != (size_t)(k->w->conf.filling.rows * (GROUP_ROWS - 1)))
        worker_problem(k, "the pages of a group did not hold all of it", 0, "");
}

static void note_refusal(struct worker *k, int code)
{
    if (k->refusal_count == k->refusal_capacity) {
        k->refusal_capacity = k->refusal_capacity ? k->refusal_capacity * 2 : 64;
        k->refusals = mem_realloc(k->refusals, k->refusal_capacity * sizeof(*k->refusals));
    }
    k->refusals[k->refusal_count++] = (struct refusal){k->call_ns, k->answer_ns, code};
}

static void read_batch(struct worker *k, const struct plan *p, const struct wr_batch_result *b,
                       struct op *ops)
{
    const struct wr_table_result *t = b->tables;
    size_t want = p->kind == PLAN_ATOMIC ? ops[0].change_count : (size_t)p->count;
    int refused = 0;

    if (b->table_count != 1 || t->row_count != want) {
        worker_problem(k, "a batch was not answered row by row", 0, "");
        return;
    }
    for (size_t i = 0; i < want; i++) {
        struct op *o = &ops[p->kind == PLAN_ATOMIC ? 0 : i];
        uint8_t outcome = outcome_of(k, o, t->rows[i].code, t->rows[i].message);

        if (p->kind == PLAN_ATOMIC && i && outcome != o->outcome)
            worker_problem(k, "rows of an atomic batch ended differently", t->rows[i].code,
                           t->rows[i].message);
        o->outcome = outcome;
        if (outcome == MAYBE || outcome == NOTHING)
            refused = t->rows[i].code;
        if (outcome == DONE && o->type == OP_READ)
            read_row(k, &t->rows[i].row, o->columns, &o->seen[__builtin_ctz(o->rows)]);
    }
    if (refused)
        note_refusal(k, refused);
}

static void read_reply(struct worker *k, struct plan *p, const struct wr_reply *reply)
{
    struct op *o = &p->ops[0];

    switch (p->kind) {
    case PLAN_GET:
        read_row(k, &reply->row.row, o->columns, &o->seen[__builtin_ctz(o->rows)]);
        break;
    case PLAN_RANGE:
        read_page(k, &reply->range, p);
        break;
    case PLAN_CHANGE:
        if (!o->returned)
            break;
        if (reply->row.row.cell_count == 1)
            o->returned_n = (int32_t)reply->row.row.cells[0].value.integer;
        else
            worker_problem(k, "an increment did not tell its sum", 0, "");
        break;
    default:
        read_batch(k, p, &reply->batch, p->ops);
        break;
    }
}

/* One request to the database in this process. Its answer is there when the completion is called:
 * the time is taken then and not when this thread runs again. That is the stricter history, and
 * answers come in the order of the log, which the checker tries first. */
struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct wr_reply *reply;
    int64_t ns;
};

static void on_answer(void *arg, struct wr_reply *reply)
{
    struct waiting *x = arg;

    pthread_mutex_lock(&x->lock);
    x->ns = now_ns();
    x->reply = reply;
    pthread_cond_signal(&x->answered);
    pthread_mutex_unlock(&x->lock);
}

static void free_reply(void *reply)
{
    wr_reply_free(reply);
}

static int library_exec(struct worker *k, struct ctx *c, struct wr_request *req,
                        struct wr_reply *out)
{
    struct waiting x = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

    req->instance = k->w->server->target.instance;
    wr_submit(k->w->server->target.db, req, on_answer, &x);
    pthread_mutex_lock(&x.lock);
    while (!x.reply)
        pthread_cond_wait(&x.answered, &x.lock);
    pthread_mutex_unlock(&x.lock);
    k->answer_ns = x.ns;
    arena_on_release(&c->arena, free_reply, x.reply);
    *out = *x.reply;
    return out->code ? fail(c, out->code, "%s", out->message) : 0;
}

/* Requests of a transaction come to the servers by turns. Those of every other client do not: all
 * of them would soon wait at a server that is paused, and nobody would see that the others go on.
 */
static int server_number(struct worker *k, const struct wr_request *req)
{
    bool inside = k->transaction.ptr || req->op == WR_OP_START_LOCAL_TRANSACTION ||
                  req->op == WR_OP_COMMIT_TRANSACTION || req->op == WR_OP_ABORT_TRANSACTION;

    return k->number + (inside && k->number % 2 ? k->turn++ % 16 : 0);
}

static int http_exec(struct worker *k, struct ctx *c, const struct wr_request *req,
                     struct wr_reply *out)
{
    int code;

    if (k->w->conf.fresh) {
        client_close(k->client);
        client_open(c, &server_of(k->w->server, server_number(k, req))->target, &k->client);
        k->client->retry_ms = 0;
    }
    code = client_exec(c, k->client, req, out);
    k->answer_ns = now_ns();
    return code;
}

int workload_exec(struct worker *k, struct ctx *c, struct wr_request *req, struct wr_reply *reply)
{
    return k->w->server->target.db ? library_exec(k, c, req, reply) : http_exec(k, c, req, reply);
}

struct wr_key workload_value_key(struct worker *k, struct arena *a, int group)
{
    return (struct wr_key){make_key(k, a, group, 0)->columns, 1};
}

static void set_transaction(const struct worker *k, const struct plan *p, struct wr_request *req)
{
    if (!k->transaction.ptr)
        return;
    if (p->kind == PLAN_GET)
        req->get_row.transaction = k->transaction;
    else if (p->kind == PLAN_RANGE)
        req->get_range.transaction = k->transaction;
    else if (p->kind == PLAN_CHANGE)
        req->put_row.transaction = k->transaction;
    else
        req->batch_write_row.transaction = k->transaction;
}

void plan_issue(struct worker *k, struct plan *p)
{
    struct wr_request req = {0};
    struct wr_reply reply;
    struct ctx c;
    int code;

    if (k->sql && by_sql_issue(k->sql, k, p))
        return;
    if (p->kind == PLAN_TXN) {
        plan_issue_txn(k, p);
        return;
    }
    ctx_init(&c, &k->w->server->clock, NULL, NULL, 0);
    make_request(k, &c.arena, p, &req);
    set_transaction(k, p, &req);
    code = workload_exec(k, &c, &req, &reply);
    if (code)
        note_refusal(k, code);
    for (int i = 0; i < p->count; i++) {
        p->ops[i].outcome = outcome_of(k, &p->ops[i], code, c.text);
        if (p->ops[i].outcome != DONE)
            p->ops[i].returned = false;
        if (p->ops[i].type == OP_READ)
            memset(p->ops[i].seen, 0, sizeof(p->ops[i].seen));
    }
    if (code == 0)
        read_reply(k, p, &reply);
    ctx_release(&c);
}

/* ---- a client */

static void record(struct worker *k, const struct op *o)
{
    if (o->outcome == NOTHING || !o->rows)
        return;
    if (k->op_count == k->op_capacity) {
        k->op_capacity = k->op_capacity ? k->op_capacity * 2 : 1024;
        k->ops = mem_realloc(k->ops, k->op_capacity * sizeof(*k->ops));
    }
    k->ops[k->op_count] = *o;
    if (o->step_count) {
        size_t size = o->step_count * sizeof(*o->steps);

        k->ops[k->op_count].steps = memcpy(mem_alloc(size), o->steps, size);
    }
    k->ops[k->op_count++].client = (uint16_t)k->number;
}

/* A page that is not one point in time is as many reads. */
static void record_page(struct worker *k, const struct op *o)
{
    for (int i = 0; i < GROUP_ROWS; i++) {
        struct op row;

        if (model_project(o, (uint8_t)(1u << i), &row))
            record(k, &row);
    }
}

static void note_recent(struct workload *w, const struct op *o)
{
    if (o->type == OP_TXN) {
        for (int i = 0; i < o->step_count && o->outcome == DONE; i++)
            note_recent(w, &o->steps[i]);
        return;
    }
    if (o->type == OP_READ) {
        for (int i = 0; i < GROUP_ROWS; i++)
            if (o->rows & 1u << i && o->seen[i].has & 1)
                atomic_store(&w->recent[o->group][i], o->seen[i].column[COLUMN_V]);
        return;
    }
    for (int i = 0; i < o->change_count && o->outcome == DONE; i++)
        if (o->changes[i].sets & 1)
            atomic_store(&w->recent[o->group][o->changes[i].row], o->changes[i].column[COLUMN_V]);
}

static void run_request(struct worker *k, struct plan *p)
{
    int64_t call_ns = now_ns(), return_ns;

    k->call_ns = call_ns;
    if (k->w->conf.saboteur && !p->continues) {
        bug_issue(k->w->conf.saboteur, k, p);
        return_ns = now_ns();
    } else {
        plan_issue(k, p);
        return_ns = k->answer_ns;
    }
    for (int i = 0; i < p->count; i++) {
        struct op *o = &p->ops[i];

        o->call_ns = p->end_ns ? p->end_ns : call_ns;
        o->return_ns = o->outcome == MAYBE ? NEVER : return_ns;
        note_recent(k->w, o);
        note_lock(k, o);
        if (p->kind == PLAN_RANGE && !k->w->conf.range_is_atomic)
            record_page(k, o);
        else
            record(k, o);
    }
    k->requests++;
}

/* All pages of a range; the last one's outcome stays. */
static void run_plan(struct worker *k, struct plan *p)
{
    run_request(k, p);
    while (p->goes_on && !k->problem[0]) {
        struct op *o = &p->ops[0];

        p->continues = true;
        p->goes_on = false;
        o->rows = p->behind;
        run_request(k, p);
    }
    p->continues = p->goes_on = false;
}

#define COVER_S 90 /* a loaded machine takes its time until everything has happened */
#define COVER_LOOK_NS 1000000000ll
#define MERGE_REST_NS 400000000l /* fewer requests than would keep two partitions busy */

/* Once a second one of the workers asks. */
static void look_for_cuts(struct workload *w)
{
    int64_t now = now_ns(), last = atomic_load(&w->looked_ns);
    struct cuts cuts = {0};

    if (now - last >= COVER_LOOK_NS && atomic_compare_exchange_strong(&w->looked_ns, &last, now))
        workload_count_cuts(w, &cuts);
}

static bool waits_for_cuts(struct workload *w)
{
    return w->conf.cuts && !(atomic_load(&w->has_split) && atomic_load(&w->has_merged));
}

static bool waits_for_cover(struct workload *w)
{
    if (now_ns() - w->start_ns > (w->conf.run_ms_min + COVER_S * 1000ll) * 1000000)
        return false;
    if (waits_for_cuts(w))
        look_for_cuts(w);
    return waits_for_cuts(w) || (w->conf.cuts_values && !atomic_load(&w->has_spanned));
}

/* Partitions are merged when they have been idle for a while. Where the load has shifted without
 * that, on a machine that is slow, it ends for all clients but one, which goes on slowly. */
static bool waits_for_a_merge(const struct worker *k)
{
    struct workload *w = k->w;

    return atomic_load(&w->left) <= 0 && !atomic_load(&w->hold) &&
           now_ns() - w->start_ns >= w->conf.run_ms_min * 1000000 && waits_for_cuts(w) &&
           atomic_load(&w->partitions) > 1;
}

static void rest_for_a_merge(const struct worker *k)
{
    do
        nanosleep(&(struct timespec){0, MERGE_REST_NS}, NULL);
    while (k->number && waits_for_a_merge(k) && waits_for_cover(k->w));
}

/* What is only there to pass the time goes slowly, as all of it has to be checked. */
static bool more_to_do(struct worker *k)
{
    struct workload *w = k->w;
    struct timespec pause = {0, 20000000};

    if (wants_locks(k))
        pause.tv_nsec = (long)rng_below(&k->rng, LOCK_NAP_US) * 1000;
    else if (atomic_fetch_sub(&w->left, 1) > 0)
        return true;
    if (waits_for_a_merge(k))
        rest_for_a_merge(k);
    else
        nanosleep(&pause, NULL);
    return !atomic_load(&w->stop) &&
           (atomic_load(&w->left) > 0 || atomic_load(&w->hold) ||
            now_ns() - w->start_ns < w->conf.run_ms_min * 1000000 || waits_for_cover(w));
}

static void *worker_main(void *arg)
{
    struct worker *k = arg;

    while (!k->problem[0] && more_to_do(k)) {
        struct plan p;
        bool unanswered = false;

        if (wants_locks(k))
            plan_lock(k, &p);
        else
            plan_make(k, &p);
        run_plan(k, &p);
        for (int i = 0; i < p.count; i++)
            unanswered |= p.ops[i].outcome == MAYBE || p.ops[i].outcome == NOTHING;
        if (unanswered && !k->w->conf.saboteur) {
            struct timespec pause = {0, 5000000};

            nanosleep(&pause, NULL);
        }
    }
    k->left_ns = now_ns();
    return NULL;
}

static void *disturb_main(void *arg)
{
    struct workload *w = arg;

    w->conf.disturb(w);
    /* A server that it started dies with this thread (PR_SET_PDEATHSIG). */
    while (!atomic_load(&w->ended))
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return NULL;
}

/* ---- disturbances ---- */

#define AFTER_NS (10ll * 1000000000)

struct disturbance *workload_disturb(struct workload *w, const char *name, int silent_s_max)
{
    struct disturbance *d = &w->list[w->disturbances];

    *d = (struct disturbance){
        .begin_ns = now_ns(), .end_ns = NEVER - AFTER_NS, .silent_s_max = silent_s_max};
    snprintf(d->name, sizeof(d->name), "%s", name);
    w->disturbances++;
    return d;
}

void workload_disturbed(struct disturbance *d)
{
    d->end_ns = now_ns();
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* When the first client had nothing more to do. From then on silence tells nothing. */
static int64_t first_left(const struct workload *w)
{
    int64_t first = NEVER;

    for (int i = 0; i < w->conf.clients; i++)
        if (w->workers[i].left_ns < first)
            first = w->workers[i].left_ns;
    return first;
}

/* When clients were answered from d->begin_ns on, in order, while all of them went on; its end is
 * the last. Answers that something was not done are not among them. */
static int64_t *answers_from(const struct workload *w, const struct disturbance *d, size_t *n)
{
    int64_t *answers, end = first_left(w);
    size_t count = 0;

    for (int i = 0; i < w->conf.clients; i++)
        count += w->workers[i].op_count;
    answers = mem_alloc((count + 1) * sizeof(*answers));
    *n = 0;
    for (int i = 0; i < w->conf.clients; i++) {
        for (size_t j = 0; j < w->workers[i].op_count; j++) {
            const struct op *o = &w->workers[i].ops[j];

            if (o->outcome != MAYBE && o->return_ns >= d->begin_ns && o->return_ns < end)
                answers[(*n)++] = o->return_ns;
        }
    }
    answers[(*n)++] = end;
    qsort(answers, *n, sizeof(*answers), compare_times);
    return answers;
}

static void note_wait(const struct disturbance *d, int64_t call_ns, int64_t ns, struct pauses *out)
{
    double waited = (double)(ns - call_ns) / 1e9;

    if (ns >= d->begin_ns && call_ns <= d->end_ns + AFTER_NS && waited > out->waited_s)
        out->waited_s = waited;
}

void workload_pauses(const struct workload *w, const struct disturbance *d, struct pauses *out)
{
    int64_t *answers, from = d->begin_ns, to = d->begin_ns, last = d->begin_ns;
    size_t n;

    *out = (struct pauses){0};
    answers = answers_from(w, d, &n);
    for (size_t i = 0; i < n && last <= d->end_ns + AFTER_NS; last = answers[i++]) {
        if (answers[i] - last <= to - from)
            continue;
        from = last;
        to = answers[i];
    }
    mem_free(answers);
    for (int i = 0; i < w->conf.clients; i++) {
        const struct worker *k = &w->workers[i];

        for (size_t j = 0; j < k->op_count; j++)
            if (k->ops[j].outcome != MAYBE)
                note_wait(d, k->ops[j].call_ns, k->ops[j].return_ns, out);
        for (size_t j = 0; j < k->refusal_count; j++) {
            const struct refusal *r = &k->refusals[j];

            note_wait(d, r->call_ns, r->ns, out);
            if (r->ns <= from || r->ns >= to)
                continue;
            out->refused++;
            out->code = r->code;
        }
    }
    out->silent_s = (double)(to - from) / 1e9;
    out->after_s = (double)(from - d->begin_ns) / 1e9;
}

/* ---- the end ---- */

#define READ_TRIES 600 /* with 50 ms between them: longer than any lease */

static bool read_group(struct worker *k, int group)
{
    struct plan p = {.kind = PLAN_RANGE};

    plan_add(&p, OP_READ, group, 0)->rows = (1u << GROUP_ROWS) - 1;
    run_plan(k, &p);
    return p.ops[0].outcome == DONE;
}

bool workload_read_group(struct worker *k, int group, struct row_state rows[GROUP_ROWS])
{
    struct plan p = {.kind = PLAN_RANGE};

    plan_add(&p, OP_READ, group, 0)->rows = (1u << GROUP_ROWS) - 1;
    plan_issue(k, &p);
    memcpy(rows, p.ops[0].seen, sizeof(p.ops[0].seen));
    return p.ops[0].outcome == DONE && !p.goes_on;
}

/* Each server reads every row: whatever was acknowledged must be there. */
static void read_everything(struct workload *w)
{
    struct timespec pause = {0, 50000000};

    for (int i = 0; i < w->conf.servers; i++) {
        struct worker *k = &w->workers[i];

        for (int group = 0; group < w->conf.groups && !k->problem[0]; group++) {
            int tries = 0;

            while (!read_group(k, group) && ++tries < READ_TRIES)
                nanosleep(&pause, NULL);
            if (tries == READ_TRIES)
                worker_problem(k, "a row could not be read at the end", 0, "");
        }
    }
}

/* ---- the filling ---- */

#define FILL_RETRY_MS 120000

static bool fill_exec(struct worker *k, const struct wr_row_change *changes, size_t count)
{
    struct wr_table_write t = {bytes_str(k->w->conf.table), changes, count};
    struct wr_request req = {.op = WR_OP_BATCH_WRITE_ROW,
                             .batch_write_row = {.tables = &t, .table_count = 1}};
    int64_t retry_ms = k->client->retry_ms;
    struct wr_reply reply;
    struct ctx c;
    int code;

    ctx_init(&c, &k->w->server->clock, NULL, NULL, 0);
    k->client->repeatable = true; /* puts, and nobody else is there yet */
    k->client->retry_ms = FILL_RETRY_MS;
    code = client_exec(&c, k->client, &req, &reply);
    k->client->repeatable = false;
    k->client->retry_ms = retry_ms;
    for (size_t i = 0; i < count && !code; i++)
        code = reply.batch.tables[0].rows[i].code;
    if (code)
        fprintf(stderr, "linear: the table cannot be filled: %s\n", wr_error_name(code));
    ctx_release(&c);
    return code == 0;
}

/* The filling columns [from, from + count) of a row. */
static bool fill_cells(struct worker *k, int group, int row, int from, int count)
{
    const struct filling *f = &k->w->conf.filling;
    struct wr_row_change change = {.type = WR_UPDATE, .table = bytes_str(k->w->conf.table)};
    struct wr_cell *cells;
    struct arena a;
    char *value;
    bool ok;

    arena_init(&a, NULL, 0);
    cells = ARENA_ARRAY(&a, struct wr_cell, (size_t)count);
    value = memset(arena_alloc(&a, (size_t)f->column_bytes), 'f', (size_t)f->column_bytes);
    for (int i = 0; i < count; i++)
        cells[i] = (struct wr_cell){
            .name = arena_printf(&a, FILL_NAME, from + i),
            .timestamp_ms = WR_TIMESTAMP_NONE,
            .value = {.type = WR_VARCHAR, .bytes = bytes_of(value, (size_t)f->column_bytes)}};
    change.row = (struct wr_row){*make_key(k, &a, group, row), cells, (size_t)count};
    ok = fill_exec(k, &change, 1);
    arena_release(&a);
    return ok;
}

/* A row begins with a put, which is part of the history; the filling is not. */
static bool fill_columns(struct worker *k, int group, int row)
{
    const struct filling *f = &k->w->conf.filling;
    struct plan p = {.kind = PLAN_CHANGE};
    struct op *o = plan_add(&p, OP_WRITE, group, row);
    bool ok;

    o->change_count = 1;
    o->changes[0] = (struct change){.row = (uint8_t)row, .type = CHANGE_PUT};
    set_value(k, &o->changes[0]);
    run_plan(k, &p);
    ok = p.ops[0].outcome == DONE;
    for (int at = 0; at < f->columns && ok; at += FILL_CELLS)
        ok = fill_cells(k, group, row, at,
                        f->columns - at < FILL_CELLS ? f->columns - at : FILL_CELLS);
    return ok;
}

/* The filling rows behind a row of a group, so many from `from` on. */
static bool fill_rows(struct worker *k, int group, int row, int from, int count)
{
    struct wr_row_change changes[FILL_ROWS];
    struct wr_cell cell = {.name = BYTES_LIT("vf"),
                           .timestamp_ms = WR_TIMESTAMP_NONE,
                           .value = {.type = WR_BIGINT, .integer = 1}};
    struct arena a;
    bool ok;

    arena_init(&a, NULL, 0);
    for (int i = 0; i < count; i++) {
        struct wr_key key = *make_key(k, &a, group, row);

        ((struct wr_key_column *)key.columns)[!k->w->conf.filling.apart].value.integer +=
            from + i + 1;
        changes[i] = (struct wr_row_change){.type = WR_PUT, .row = {key, &cell, 1}};
    }
    ok = fill_exec(k, changes, (size_t)count);
    arena_release(&a);
    return ok;
}

static bool fill(struct worker *k)
{
    const struct filling *f = &k->w->conf.filling;
    bool ok = true;

    for (int group = 0; group < k->w->conf.groups && ok; group++)
        for (int row = 0; row < GROUP_ROWS && ok; row++) {
            if (f->columns)
                ok = fill_columns(k, group, row);
            for (int at = 0; at < f->rows && row < GROUP_ROWS - 1 && ok; at += FILL_ROWS)
                ok = fill_rows(k, group, row, at,
                               f->rows - at < FILL_ROWS ? f->rows - at : FILL_ROWS);
        }
    return ok;
}

/* As many ranges of groups, so that the stream has as many shards. */
static void part(const struct workload *w, struct wr_partition_range ranges[FOLLOW_SHARDS])
{
    for (int i = 0; i <= FOLLOW_SHARDS; i++) {
        struct wr_value bound = {.type = WR_BIGINT,
                                 .integer = (int64_t)w->conf.groups * i / FOLLOW_SHARDS};

        if (i % FOLLOW_SHARDS == 0)
            bound = (struct wr_value){.type = i ? WR_INF_MAX : WR_INF_MIN};
        if (i)
            ranges[i - 1].end = bound;
        if (i < FOLLOW_SHARDS)
            ranges[i].begin = bound;
    }
}

static bool create_table(struct workload *w)
{
    struct wr_partition_range ranges[FOLLOW_SHARDS];
    struct wr_key_schema key[] = {{.name = BYTES_LIT("g"), .type = WR_BIGINT},
                                  {.name = BYTES_LIT("r"), .type = WR_BIGINT}};
    struct wr_defined_column defined[COLUMNS];
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};
    struct wr_reply reply;
    struct ctx c;
    int code;

    req.create_table = (struct wr_create_table){
        .table = bytes_str(w->conf.table),
        .key = key,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .reserved = {.has_read = true, .has_write = true},
        .local_transactions = w->conf.txns > 0};
    for (int i = 0; i < COLUMNS && w->conf.by_sql; i++)
        defined[req.create_table.defined_count++] =
            (struct wr_defined_column){bytes_str(names[i]), WR_BIGINT};
    req.create_table.defined = defined;
    if (w->conf.filling.layout)
        req.create_table.layout = bytes_str(w->conf.filling.layout);
    if (w->conf.follows) {
        part(w, ranges);
        req.create_table.partitions = ranges;
        req.create_table.partition_count = FOLLOW_SHARDS;
        req.create_table.stream = (struct wr_stream_spec){
            .given = true, .enable = true, .has_expiration = true, .expiration_h = 24};
    }
    ctx_init(&c, &w->server->clock, NULL, NULL, 0);
    code = client_exec(&c, w->workers[0].client, &req, &reply);
    if (code)
        fprintf(stderr, "linear: no table: %s\n", c.text);
    ctx_release(&c);
    return code == 0;
}

bool workload_run(struct workload *w, struct server *s, const struct workload_conf *conf)
{
    struct follower *follower = NULL;
    pthread_t disturber;
    struct ctx c;
    bool ok = true;

    memset(w, 0, sizeof(*w));
    w->conf = *conf;
    w->server = s;
    atomic_store(&w->left, (long long)conf->requests);
    w->start_ns = now_ns();
    ctx_init(&c, &s->clock, NULL, NULL, 0);
    for (int i = 0; i < conf->clients && ok; i++) {
        struct worker *k = &w->workers[i];

        k->w = w;
        k->number = i;
        rng_init(&k->rng, conf->seed * 1000003 + (uint64_t)i);
        ok = client_open(&c, &server_of(s, i)->target, &k->client) == 0;
        if (ok)
            k->client->retry_ms = 0;
        if (i < conf->by_sql)
            k->sql = by_sql_open(server_of(s, i));
    }
    ctx_release(&c);
    if (!ok || !create_table(w) || !fill(&w->workers[0]))
        return false;
    if (conf->follows && !(follower = follow_start(w)))
        return false;
    for (int i = 0; i < conf->clients; i++)
        pthread_create(&w->workers[i].thread, NULL, worker_main, &w->workers[i]);
    if (conf->disturb)
        pthread_create(&disturber, NULL, disturb_main, w);
    for (int i = 0; i < conf->clients; i++)
        pthread_join(w->workers[i].thread, NULL);
    atomic_store(&w->stop, true);
    read_everything(w);
    if (follower)
        follow_end(follower);
    atomic_store(&w->ended, true);
    if (conf->disturb)
        pthread_join(disturber, NULL);
    return true;
}

void workload_count_cuts(struct workload *w, struct cuts *to)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_PARTITIONS,
                             .describe_partitions.table = bytes_str(w->conf.table)};
    struct client *client = NULL;
    struct wr_reply reply;
    struct ctx c;

    ctx_init(&c, &w->server->clock, NULL, NULL, 0);
    if (!client_open(&c, &w->server->target, &client) && !client_exec(&c, client, &req, &reply)) {
        const struct wr_partition_list *l = &reply.partitions;

        to->splits += l->splits;
        to->merges += l->merges;
        to->longest_us = l->longest_cut_us > to->longest_us ? l->longest_cut_us : to->longest_us;
        to->partitions = l->count;
        atomic_store(&w->partitions, l->count);
        if (l->splits)
            atomic_store(&w->has_split, true);
        if (l->merges)
            atomic_store(&w->has_merged, true);
    } else {
        fprintf(stderr, "linear: partitions were not counted: %s\n", c.text);
    }
    client_close(client);
    ctx_release(&c);
}

void workload_release(struct workload *w)
{
    for (int i = 0; i < CLIENTS_MAX; i++) {
        client_close(w->workers[i].client);
        by_sql_close(w->workers[i].sql);
        for (size_t j = 0; j < w->workers[i].op_count; j++)
            mem_free(w->workers[i].ops[j].steps);
        mem_free(w->workers[i].ops);
        mem_free(w->workers[i].refusals);
    }
    memset(w, 0, sizeof(*w));
}

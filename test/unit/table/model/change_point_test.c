/* Observers hang on the change point: each change of a row, however it is asked for, comes by once,
 * with the states that it leads from and to, and what an observer adds lands with it or not at all.
 */
#include "table/model/change_point.h"

#include "base/rng.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include "../../later.h"
#include "../changes.h"
#include "../stored.h"

#define BIG_BYTES (3u << 19)
#define ENTRY_PREFIX 0xfff0e0a0u /* no table's */

/* The newest cells of a row. */
struct state {
    bool there;
    struct {
        bool has;
        int64_t value; /* -1: no integer */
    } cells[CHANGES_COLUMNS];
};

/* Knows each row's state from the changes alone. */
struct follower {
    struct row_observer o;
    struct row_observer entries; /* writes an entry for each row that has a column `a` */
    const struct row_observer *list[2];
    struct wr_db *db;
    char dir[FOLDER_BYTES];
    bytes cols[CHANGES_ROWS]; /* the rows' keys, encoded */
    struct ctx c;
    struct state rows[CHANGES_ROWS];
    _Atomic size_t counts[4]; /* by enum row_change_kind */
    _Atomic size_t blind;     /* changes whose old row was not known */
    _Atomic size_t wrong;     /* old states that are not what the change before led to */
    bool guards_fail;         /* each change guards what is not so */
};

static struct follower *follower; /* of the database that is open */

static struct state state_of(const struct row *row)
{
    struct state s = {.there = row->there};

    for (size_t i = 0; i < row->cell_count; i++) {
        int at = bytes_u8(row->cells[i].name)[0] - 'a';

        if (s.cells[at].has)
            continue;
        s.cells[at].has = true;
        s.cells[at].value =
            row->cells[i].value.type == WR_BIGINT ? row->cells[i].value.integer : -1;
    }
    return s;
}

static bool state_equal(const struct state *a, const struct state *b)
{
    bool equal = a->there == b->there;

    for (int i = 0; i < CHANGES_COLUMNS; i++)
        equal &= a->cells[i].has == b->cells[i].has && a->cells[i].value == b->cells[i].value;
    return equal;
}

static int row_at(const struct follower *f, bytes cols)
{
    for (int i = 0; i < CHANGES_ROWS; i++)
        if (bytes_equal(f->cols[i], cols))
            return i;
    return -1;
}

static void on_change(const struct row_observer *o, const struct row_change *change,
                      struct batch_builder *e)
{
    struct follower *f = PORT_CONTAINER(o, struct follower, o);
    int at = row_at(f, change->cols);
    struct state old;

    (void)e;
    f->counts[change->kind]++;
    f->blind += !change->old;
    if (at < 0) {
        f->wrong++;
        return;
    }
    if (change->old) {
        old = state_of(change->old);
        f->wrong += !state_equal(&old, &f->rows[at]);
    }
    f->wrong += !change->asked != (change->kind == ROW_EXPIRE);
    f->wrong += !change->stamp || (change->old && change->stamp <= change->old->stamp);
    f->rows[at] = state_of(change->now);
}

static bytes entry_key(struct arena *a, bytes cols, int64_t value)
{
    uint8_t *key = arena_alloc(a, 12 + cols.len);

    store_u32_be(key, ENTRY_PREFIX);
    memcpy(key + 4, cols.ptr, cols.len);
    store_u64_be(key + 4 + cols.len, (uint64_t)value);
    return bytes_of(key, 12 + cols.len);
}

static void entry_edit(struct batch_builder *e, enum edit_type type,
                       const struct row_change *change, const struct row *row)
{
    const struct wr_cell *a = cells_find(row->cells, row->cell_count, BYTES_LIT("a"));

    if (a && a->value.type == WR_BIGINT)
        batch_add(e, type, entry_key(e->arena, change->cols, a->value.integer), BYTES_NONE);
}

static void on_indexed(const struct row_observer *o, const struct row_change *change,
                       struct batch_builder *e)
{
    const struct follower *f = PORT_CONTAINER(o, struct follower, entries);

    entry_edit(e, EDIT_DELETE, change, change->old);
    entry_edit(e, EDIT_PUT, change, change->now);
    if (f->guards_fail)
        batch_add_guard(
            e, (struct guard){entry_key(e->arena, BYTES_LIT("none"), 0), BYTES_NONE, false});
}

/* Values below -1000 are refused. */
static int on_check(struct ctx *c, const struct row_observer *o, const struct row_change *change)
{
    const struct wr_cell *a =
        cells_find(change->now->cells, change->now->cell_count, BYTES_LIT("a"));

    (void)o;
    return a && a->value.type == WR_BIGINT && a->value.integer < -1000 ? fail_code(c, E_PARAMETER)
                                                                       : E_OK;
}

static void observe(struct wr_db *db, struct table *t)
{
    (void)db;
    t->observers = follower->list;
    t->observer_count = (follower->list[0] != NULL) + (follower->list[1] != NULL);
}

/* ---- a database ---- */

static void create(int ttl_s)
{
    struct wr_request req = {.op = WR_OP_CREATE_TABLE};

    req.create_table = (struct wr_create_table){
        .table = CHANGES_TABLE,
        .key = changes_key_schema,
        .key_count = 2,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = ttl_s, .max_versions = 1}};
    assert_int_equal(database_run(follower->db, &req), 0);
}

static void begin(struct follower *f, const char *engine, enum old_row needs, bool entries,
                  int ttl_s)
{
    static const bytes indexed[] = {{"a", 1}};

    *f = (struct follower){.o = {.needs = needs, .record = on_change},
                           .entries = {.needs = OLD_ROW_TOUCHED,
                                       .columns = indexed,
                                       .column_count = 1,
                                       .check = on_check,
                                       .record = on_indexed}};
    f->list[0] = &f->o;
    f->list[1] = entries ? &f->entries : NULL;
    follower = f;
    f->db = changes_open(engine, f->dir);
    f->db->observe = observe;
    ctx_init(&f->c, &f->db->clock, &f->db->log, NULL, 0);
    create(ttl_s);
    for (int i = 0; i < CHANGES_ROWS; i++) {
        struct buf b;

        buf_init(&b, &f->c.arena, 32);
        assert_int_equal(key_put_columns(&f->c, &b, changes_key_schema, changes_keys[i], 2), 0);
        f->cols[i] = buf_bytes(&b);
    }
}

static void end(struct follower *f)
{
    ctx_release(&f->c);
    wr_close(f->db);
    folder_remove(f->dir);
}

static size_t changes(const struct follower *f)
{
    return f->counts[ROW_PUT] + f->counts[ROW_UPDATE] + f->counts[ROW_DELETE] +
           f->counts[ROW_EXPIRE];
}

static struct state read_state(int row)
{
    struct wr_request req = {.op = WR_OP_GET_ROW,
                             .instance = BYTES_LIT("test"),
                             .get_row = {.table = CHANGES_TABLE,
                                         .key = {changes_keys[row], 2},
                                         .read = {.has_max_versions = true, .max_versions = 1}}};
    struct wr_reply *reply = wr_exec(follower->db, &req);
    struct row shown = {.there = reply->row.row.key.count > 0,
                        .cells = (struct wr_cell *)reply->row.row.cells,
                        .cell_count = reply->row.row.cell_count};
    struct state s = state_of(&shown);

    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
    return s;
}

/* What clients see is what the changes led to, and the entries are those of these rows. */
static void check_all(struct follower *f)
{
    struct ctx c;
    uint8_t bounds[8];
    struct page page;
    size_t entries = 0;

    ctx_init(&c, &f->db->clock, &f->db->log, NULL, 0);
    store_u32_be(bounds, ENTRY_PREFIX);
    store_u32_be(bounds + 4, ENTRY_PREFIX + 1);
    page = stored_range(&c, f->db, bytes_of(bounds, 4), bytes_of(bounds + 4, 4));
    assert_int_equal(f->wrong, 0);
    for (int i = 0; i < CHANGES_ROWS; i++) {
        struct state seen = read_state(i);
        bytes key = entry_key(&c.arena, f->cols[i], seen.cells[0].value);
        size_t found = 0;

        assert_true(state_equal(&seen, &f->rows[i]));
        if (!f->list[1] || !seen.cells[0].has || seen.cells[0].value == -1)
            continue;
        entries++;
        for (size_t j = 0; j < page.count; j++)
            found += bytes_equal(page.items[j].key, key);
        assert_int_equal(found, 1);
    }
    assert_int_equal(page.count, entries);
    ctx_release(&c);
}

/* ---- one of each ---- */

static void each_way_counts_once(struct follower *f)
{
    struct wr_cell one = integer_cell(0, 5, WR_CELL_PUT),
                   up = integer_cell(0, 2, WR_CELL_INCREMENT);
    struct wr_row_change list[3] = {
        change_of(WR_PUT, 3, &one, 1),
        change_of(WR_UPDATE, 3, &one, 1),
        change_of(WR_PUT, 4, &one, 1),
    };
    struct wr_cell gone = integer_cell(1, 0, WR_CELL_DELETE_ALL),
                   small = integer_cell(0, -2000, WR_CELL_PUT);

    assert_int_equal(change_row(follower->db, WR_PUT, 1, &one, 1), 0);
    assert_int_equal(f->counts[ROW_PUT], 1);
    assert_int_equal(change_row(follower->db, WR_UPDATE, 1, &up, 1), 0);
    assert_int_equal(f->counts[ROW_UPDATE], 1);
    assert_int_equal(f->rows[1].cells[0].value, 7);
    assert_int_equal(change_row(follower->db, WR_UPDATE, 2, &gone, 1), 0); /* makes no row */
    assert_int_equal(change_row(follower->db, WR_DELETE, 2, NULL, 0), 0);
    assert_int_equal(changes(f), 2);
    assert_int_equal(change_row(follower->db, WR_PUT, 1, &small, 1), f->list[1] ? E_PARAMETER : 0);
    assert_int_equal(changes(f), f->list[1] ? 2 : 3);
    assert_int_equal(change_row(follower->db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(f->counts[ROW_DELETE], 1);
    check_all(f);
    f->counts[ROW_PUT] = f->counts[ROW_UPDATE] = 0;
    assert_int_equal(change_batch(follower->db, list, 3, false), 0);
    assert_int_equal(f->counts[ROW_PUT], 2);
    assert_int_equal(f->counts[ROW_UPDATE], 1);
    assert_int_equal(change_batch(follower->db, list, 3, true), 0);
    assert_int_equal(f->counts[ROW_PUT], 4);
    assert_int_equal(f->counts[ROW_UPDATE], 2);
    assert_int_equal(change_import(follower->db, list, 3), 0);
    assert_int_equal(f->counts[ROW_PUT], 6);
    assert_int_equal(f->counts[ROW_UPDATE], 3);
    assert_int_equal(change_stream(follower->db, 5, 0, 100), 0);
    assert_int_equal(change_stream(follower->db, 5, 1, BIG_BYTES), 0);
    assert_int_equal(change_stream(follower->db, 6, 0, BIG_BYTES), 0);
    assert_int_equal(f->counts[ROW_UPDATE], 6);
    check_all(f);
}

/* ---- many ---- */

/* A random change of one row, and whether it makes the row, given that it is there or not. */
static struct wr_row_change random_change(struct rng *r, struct wr_cell *cells, bool increments)
{
    int row = (int)rng_below(r, CHANGES_ROWS), kind = (int)rng_below(r, 10);
    size_t n = kind < 9 ? 1 + rng_below(r, CHANGES_COLUMNS - 1) : 0;
    int column = (int)rng_below(r, CHANGES_COLUMNS);

    for (size_t i = 0; i < n; i++) {
        int op = kind < 4 ? 9 : (int)rng_below(r, 10);

        cells[i] = integer_cell((column + (int)i) % CHANGES_COLUMNS, (int64_t)rng_below(r, 100),
                                op < 2                 ? WR_CELL_DELETE_ALL
                                : op < 4 && increments ? WR_CELL_INCREMENT
                                                       : WR_CELL_PUT);
    }
    return change_of(kind < 4 ? WR_PUT : kind < 9 ? WR_UPDATE : WR_DELETE, row, cells, n);
}

/* How many of the changes change something, by the states before them. */
static size_t effective(const struct follower *f, const struct wr_row_change *list, size_t count)
{
    bool there[CHANGES_ROWS];
    size_t n = 0;

    for (int i = 0; i < CHANGES_ROWS; i++)
        there[i] = f->rows[i].there;
    for (size_t i = 0; i < count; i++) {
        bool *row = &there[list[i].row.key.columns[1].value.integer], puts = list[i].type == WR_PUT;

        for (size_t j = 0; j < list[i].row.cell_count; j++)
            puts |= list[i].row.cells[j].op != WR_CELL_DELETE_ALL;
        n += puts || *row;
        *row = (*row || puts) && list[i].type != WR_DELETE;
    }
    return n;
}

static void many_count_once(struct follower *f, size_t steps)
{
    struct rng r;

    rng_init(&r, 20);
    for (size_t step = 0; step < steps; step++) {
        struct wr_cell cells[8][CHANGES_COLUMNS];
        struct wr_row_change list[8];
        size_t count = 1 + rng_below(&r, 8), before = changes(f), expected;
        int way = (int)rng_below(&r, 40);

        if (way < 24)
            count = 1;
        for (size_t i = 0; i < count; i++)
            list[i] = random_change(&r, cells[i], count == 1);
        expected = before + effective(f, list, count);
        if (way == 39) {
            change_stream(follower->db, (int)rng_below(&r, CHANGES_ROWS),
                          (int)rng_below(&r, CHANGES_COLUMNS), step % 10 ? 1000 : BIG_BYTES);
            expected = before + 1;
        } else if (way < 24 && list[0].row.cell_count) {
            /* An increment of what is no integer fails by itself. */
            if (change_row(follower->db, list[0].type,
                           (int)list[0].row.key.columns[1].value.integer, cells[0],
                           list[0].row.cell_count))
                expected = before;
        } else if (way < 30) {
            assert_int_equal(change_batch(follower->db, list, count, false), 0);
        } else if (way < 36) {
            assert_int_equal(change_batch(follower->db, list, count, true), 0);
        } else {
            assert_int_equal(change_import(follower->db, list, count), 0);
        }
        assert_int_equal(changes(f), expected);
        if (step % 100 == 99)
            check_all(f);
    }
}

struct adder {
    pthread_t thread;
    int failed;
};

static void *add_main(void *arg)
{
    struct adder *a = arg;

    for (int i = 0; i < 200; i++) {
        struct wr_cell cell = integer_cell(0, 1, WR_CELL_INCREMENT);

        a->failed += change_row(follower->db, WR_UPDATE, i % 4, &cell, 1) != 0;
    }
    return NULL;
}

/* Changes of one row come in the order in which they build on one another. */
static void threads_come_in_order(struct follower *f)
{
    struct adder adders[4] = {0};

    for (int i = 0; i < 4; i++)
        assert_int_equal(change_row(follower->db, WR_DELETE, i, NULL, 0), 0);
    f->counts[ROW_UPDATE] = 0;
    for (size_t i = 0; i < PORT_COUNT(adders); i++)
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_main, &adders[i]), 0);
    for (size_t i = 0; i < PORT_COUNT(adders); i++) {
        pthread_join(adders[i].thread, NULL);
        assert_int_equal(adders[i].failed, 0);
    }
    assert_int_equal(f->counts[ROW_UPDATE], 800);
    for (int i = 0; i < 4; i++)
        assert_int_equal(f->rows[i].cells[0].value, 200);
    check_all(f);
}

/* ---- a batch that comes to nothing ---- */

static void entry_and_row_land_together(struct follower *f)
{
    struct wr_cell cell = integer_cell(0, 77, WR_CELL_PUT);
    struct wr_row_change list[2] = {change_of(WR_PUT, 7, &cell, 1), change_of(WR_PUT, 8, &cell, 1)};
    struct state before = f->rows[7], other = f->rows[8];

    f->guards_fail = true;
    assert_int_equal(change_row(follower->db, WR_PUT, 7, &cell, 1), E_CONFLICT);
    f->rows[7] = before; /* nothing of it holds */
    assert_int_equal(change_batch(follower->db, list, 2, true), E_CONFLICT);
    f->rows[7] = before;
    f->rows[8] = other;
    check_all(f);
    f->guards_fail = false;
    assert_int_equal(change_row(follower->db, WR_PUT, 7, &cell, 1), 0);
    check_all(f);
}

/* ---- what is no change ---- */

static void rekeying_changes_nothing(struct follower *f)
{
    struct wr_request req = {.op = WR_OP_REKEY_TABLE,
                             .rekey_table = {CHANGES_TABLE, WR_REKEY_START, BYTES_LIT("splice:2")}};
    struct wr_cell cell = integer_cell(0, 5, WR_CELL_PUT);
    size_t before = changes(f);
    bool running = true;

    assert_int_equal(database_run(follower->db, &req), 0);
    req.rekey_table.action = WR_REKEY_STATUS;
    while (running) {
        struct wr_reply *reply = wr_exec(f->db, &req);

        assert_int_equal(reply->code, 0);
        running = reply->rekey.target.ptr != NULL;
        wr_reply_free(reply);
        usleep(10000);
    }
    assert_int_equal(changes(f), before);
    assert_int_equal(change_row(follower->db, WR_PUT, 9, &cell, 1), 0);
    assert_int_equal(changes(f), before + 1);
    check_all(f);
}

static void all_ways(const char *engine, enum old_row needs, bool entries, size_t steps)
{
    struct follower f;

    begin(&f, engine, needs, entries, -1);
    each_way_counts_once(&f);
    many_count_once(&f, steps);
    threads_come_in_order(&f);
    if (entries)
        entry_and_row_land_together(&f);
    rekeying_changes_nothing(&f);
    end(&f);
}

static void every_change_comes_by_on_mem(void **state)
{
    (void)state;
    all_ways("mem", OLD_ROW_ALWAYS, true, 4000);
}

static void every_change_comes_by_on_rocks(void **state)
{
    (void)state;
    all_ways("rocks", OLD_ROW_ALWAYS, true, 600);
}

/* Blind puts and deletes stay blind. */
static void who_needs_no_old_row_costs_no_read(void **state)
{
    struct follower f;
    struct wr_cell cell = integer_cell(0, 5, WR_CELL_PUT);

    (void)state;
    begin(&f, "mem", OLD_ROW_NEVER, false, -1);
    assert_int_equal(change_row(follower->db, WR_PUT, 1, &cell, 1), 0);
    assert_int_equal(change_row(follower->db, WR_PUT, 1, &cell, 1), 0);
    assert_int_equal(change_row(follower->db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(change_row(follower->db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(f.blind, 4);
    assert_int_equal(changes(&f), 4);
    assert_int_equal(change_row(follower->db, WR_UPDATE, 1, &cell, 1), 0);
    assert_int_equal(f.blind, 4);
    check_all(&f);
    end(&f);
}

/* An update of other columns of a wide row neither reads the indexed one nor comes by; all else
 * that reaches it does. */
static void only_what_touches_a_column_comes_by(void **state)
{
    struct follower f;
    struct wr_cell all[CHANGES_COLUMNS], other = integer_cell(1, 9, WR_CELL_PUT),
                                         own = integer_cell(0, 9, WR_CELL_PUT);
    static const bytes indexed[] = {{"a", 1}};

    (void)state;
    begin(&f, "mem", OLD_ROW_TOUCHED, false, -1);
    f.o.columns = indexed;
    f.o.column_count = 1;
    for (int i = 0; i < CHANGES_COLUMNS; i++)
        all[i] = integer_cell(i, i, WR_CELL_PUT);
    assert_int_equal(change_row(follower->db, WR_PUT, 1, all, CHANGES_COLUMNS), 0);
    assert_int_equal(changes(&f), 1);
    assert_int_equal(change_row(follower->db, WR_UPDATE, 1, &other, 1), 0);
    assert_int_equal(changes(&f), 1);
    /* The old row holds `a` alone of the columns that were not asked for. */
    f.rows[1] = (struct state){.there = true, .cells = {{true, 0}}};
    assert_int_equal(change_row(follower->db, WR_UPDATE, 1, &own, 1), 0);
    assert_int_equal(changes(&f), 2);
    f.rows[1] = (struct state){.there = true, .cells = {{true, 9}}};
    assert_int_equal(change_row(follower->db, WR_DELETE, 1, NULL, 0), 0);
    assert_int_equal(changes(&f), 3);
    assert_int_equal(f.wrong, 0);
    end(&f);
}

/* Rows past their time, small and wide, take their entries along. */
static void expiry_comes_by(const char *engine)
{
    struct follower f;
    struct wr_cell cells[CHANGES_COLUMNS];

    begin(&f, engine, OLD_ROW_ALWAYS, true, 3600);
    for (int i = 0; i < CHANGES_COLUMNS; i++)
        cells[i] = integer_cell(i, i + 1, WR_CELL_PUT);
    for (int i = 0; i < CHANGES_ROWS; i++)
        assert_int_equal(change_row(follower->db, WR_PUT, i, cells, i % 2 ? 1 : CHANGES_COLUMNS),
                         0);
    check_all(&f);
    sweep_run(f.db);
    assert_int_equal(f.counts[ROW_EXPIRE], 0);
    go_later(f.db, 2 * 3600 * 1000);
    sweep_run(f.db);
    assert_int_equal(f.counts[ROW_EXPIRE], CHANGES_ROWS);
    sweep_run(f.db);
    assert_int_equal(f.counts[ROW_EXPIRE], CHANGES_ROWS);
    for (int i = 0; i < CHANGES_ROWS; i++)
        assert_false(f.rows[i].there);
    check_all(&f);
    end(&f);
}

static void expiry_comes_by_on_mem(void **state)
{
    (void)state;
    expiry_comes_by("mem");
}

static void expiry_comes_by_on_rocks(void **state)
{
    (void)state;
    expiry_comes_by("rocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_comes_by_on_mem),
        cmocka_unit_test(every_change_comes_by_on_rocks),
        cmocka_unit_test(who_needs_no_old_row_costs_no_read),
        cmocka_unit_test(only_what_touches_a_column_comes_by),
        cmocka_unit_test(expiry_comes_by_on_mem),
        cmocka_unit_test(expiry_comes_by_on_rocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

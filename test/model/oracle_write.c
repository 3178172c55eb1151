/* oracle_write.c: PutRow, UpdateRow, DeleteRow, BatchWriteRow and BulkImport (doc/data-model.md,
 * "Writes", "Batches", "Counters"). */
#include "oracle_part.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* One row change on its way. */
struct step {
    struct oracle *o;
    struct oracle_table *t;
    const struct wr_row_change *change;
    const struct wr_row_result *actual; /* NULL: the whole request failed */
    struct arena *a;
    struct wr_key_column key[ORACLE_KEY_MAX]; /* with a chosen auto-increment value */
    bool key_open;                            /* the value was not told */
    struct oracle_row *old;                   /* NULL: absent */
    struct oracle_row *row;                   /* what becomes of it, owned here; NULL: no row */
    int64_t stamp;                            /* of cells without one */
    int32_t number;
    struct wr_row_result *result;
};

static bool increments(const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].op == WR_CELL_INCREMENT)
            return true;
    return false;
}

/* ---- the key ---- */

static struct oracle_issued *issued_find(struct oracle_table *t, const struct wr_value *partition)
{
    struct oracle_issued *i = t->issued->next;

    while (i && oracle_value_compare(&i->partition, partition) != 0)
        i = i->next;
    if (!i) {
        i = mem_zalloc(sizeof(*i));
        i->partition = oracle_value_dup(partition);
        i->next = t->issued->next;
        t->issued->next = i;
    }
    return i;
}

/* Those that the request being answered was given so far. */
static struct oracle_issued *issued_now(struct oracle *o, struct oracle_table *t,
                                        const struct wr_value *partition)
{
    struct oracle_issued *i = issued_find(t, partition);

    if (i->write != o->writes) {
        i->write = o->writes;
        i->before = i->highest;
        i->given_count = 0;
    }
    return i;
}

/* Those of one request rise, too. Where the engine may have the rows of one partition key in
 * several places, they need do so only where rows agree in front of the value, and not even there
 * if the layout spreads such rows. */
static bool rises(const struct oracle *o, const struct oracle_table *t,
                  const struct oracle_given *before, const struct oracle_given *g)
{
    if (before->value < g->value)
        return true;
    return o->parts_values && before->value > g->value &&
           (t->spreads ||
            oracle_key_compare(NULL, before->key, g->key, (size_t)t->auto_column) != 0);
}

/* A value that the database chose must be above all that it chose for requests before, under the
 * partition key. */
static void issue(struct oracle *o, struct oracle_table *t, const struct wr_key_column *key,
                  int64_t value)
{
    struct oracle_issued *i = issued_now(o, t, &key->value);
    struct oracle_given g = {key, value};
    int64_t above = i->before;

    for (size_t k = 0; k < i->given_count; k++)
        if (!rises(o, t, &i->given[k], &g) && i->given[k].value > above)
            above = i->given[k].value;
    if (value <= above)
        snprintf(o->complaint, sizeof(o->complaint),
                 "auto-increment value %lld does not rise above %lld", (long long)value,
                 (long long)above);
    if (i->given_count == i->given_capacity) {
        i->given_capacity = i->given_capacity ? 2 * i->given_capacity : 8;
        i->given = mem_realloc(i->given, i->given_capacity * sizeof(*i->given));
    }
    i->given[i->given_count++] = g;
    i->highest = value > i->highest ? value : i->highest;
}

static void resolve_key(struct step *s)
{
    int at = s->t->auto_column;

    for (size_t i = 0; i < s->t->key_count; i++)
        s->key[i] = s->change->row.key.columns[i];
    if (at < 0 || s->key[at].value.type != WR_AUTO_INCREMENT)
        return;
    s->key[at].value = (struct wr_value){.type = WR_BIGINT, .integer = INT64_MAX - 1000};
    s->key_open = true;
    if (s->change->return_type != WR_RETURN_NONE && s->actual && s->actual->code == WR_OK &&
        s->actual->row.key.count == s->t->key_count &&
        s->actual->row.key.columns[at].value.type == WR_BIGINT) {
        s->key[at].value = s->actual->row.key.columns[at].value;
        s->key_open = false;
        issue(s->o, s->t, s->change->row.key.columns, s->key[at].value.integer);
    }
}

/* ---- cells ---- */

static int increment(struct step *s, const struct wr_cell *c)
{
    struct wr_cell sum = *c;
    const struct wr_value *old = NULL;

    for (size_t i = 0; i < s->row->count && !old; i++)
        if (bytes_equal(s->row->cells[i].cell.name, c->name))
            old = &s->row->cells[i].cell.value;
    if (old && old->type != c->value.type)
        return WR_E_PARAMETER;
    if (old && c->value.type == WR_BIGINT &&
        __builtin_add_overflow(old->integer, c->value.integer, &sum.value.integer))
        return WR_E_PARAMETER;
    if (old && c->value.type == WR_DOUBLE) {
        sum.value.real = old->real + c->value.real;
        if (!isfinite(sum.value.real))
            return WR_E_PARAMETER;
    }
    if (!old && c->value.type == WR_DOUBLE)
        sum.value.real = 0.0 + c->value.real;
    oracle_cell_put(s->row, &sum, s->stamp, true, s->number);
    return WR_OK;
}

static int apply_cell(struct step *s, const struct wr_cell *c)
{
    switch (c->op) {
    case WR_CELL_PUT:
        if (c->timestamp_ms == WR_TIMESTAMP_NONE)
            oracle_cell_put(s->row, c, s->stamp, true, s->number);
        else
            oracle_cell_put(s->row, c, c->timestamp_ms, false, s->number);
        return WR_OK;
    case WR_CELL_DELETE_ALL:
    case WR_CELL_DELETE_ONE:
        for (size_t i = s->row->count; i-- > 0;) {
            const struct wr_cell *old = &s->row->cells[i].cell;

            if (bytes_equal(old->name, c->name) &&
                (c->op == WR_CELL_DELETE_ALL || old->timestamp_ms == c->timestamp_ms))
                oracle_cell_remove(s->row, i);
        }
        return WR_OK;
    case WR_CELL_INCREMENT:
        return increment(s, c);
    }
    return WR_E_PARAMETER;
}

static bool only_deletes(const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].op == WR_CELL_PUT || change->row.cells[i].op == WR_CELL_INCREMENT)
            return false;
    return true;
}

/* Makes s->row. An auto-increment row comes into being with the placeholder only. */
static int build(struct step *s)
{
    const struct wr_row_change *change = s->change;
    int at = s->t->auto_column, code;

    if (change->type == WR_DELETE || (change->type == WR_UPDATE && !s->old && only_deletes(change)))
        return WR_OK;
    if (at >= 0 && !s->old && change->row.key.columns[at].value.type != WR_AUTO_INCREMENT)
        return WR_E_CONDITION;
    s->row = change->type == WR_UPDATE && s->old ? oracle_row_dup(s->t, s->old)
                                                 : oracle_row_new(s->t, s->key);
    s->row->key_open = s->key_open;
    if (s->old)
        s->row->newest_ms = s->old->newest_ms;
    for (size_t i = 0; i < change->row.cell_count; i++) {
        code = apply_cell(s, &change->row.cells[i]);
        if (code)
            return code;
    }
    return WR_OK;
}

/* ---- result ---- */

static void meter(struct step *s)
{
    const struct wr_row_change *change = s->change;
    bool versioned = s->t->options.max_versions > 1 || s->t->options.ttl_s >= 0;
    size_t key = oracle_key_size(s->key, s->t->key_count), size = key;

    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *c = &change->row.cells[i];

        size += c->name.len;
        if (c->op == WR_CELL_PUT || c->op == WR_CELL_INCREMENT)
            size += oracle_value_size(&c->value) + (versioned ? 8 : 0);
    }
    s->result->consumed.write = oracle_units(size);
    /* An increment is charged as any update. */
    if (change->condition.existence != WR_IGNORE || change->condition.column)
        s->result->consumed.read = oracle_units(key);
    if (s->t->index_count) /* what upkeep costs is for the scripts to show */
        s->result->consumed = (struct wr_capacity){.read = ORACLE_ANY};
}

static void returned(struct step *s)
{
    const struct wr_row_change *change = s->change;
    struct wr_key_column *key;
    struct wr_cell *cells;
    size_t n = 0;

    if (change->return_type == WR_RETURN_NONE)
        return;
    key = ARENA_ARRAY(s->a, struct wr_key_column, s->t->key_count);
    for (size_t i = 0; i < s->t->key_count; i++)
        key[i] = s->key[i];
    s->result->row.key = (struct wr_key){key, s->t->key_count};
    if (change->return_type != WR_RETURN_AFTER_MODIFY || !s->row)
        return;
    cells = ARENA_ARRAY(s->a, struct wr_cell, s->row->count + 1);
    for (size_t i = 0; i < s->row->count; i++) {
        const struct oracle_cell *c = &s->row->cells[i];
        bool wanted = false;

        for (size_t k = 0; k < change->return_column_count; k++)
            wanted = wanted || bytes_equal(change->return_columns[k], c->cell.name);
        if (!wanted || !c->open || c->open_change != s->number)
            continue;
        cells[n] = c->cell;
        cells[n].name = arena_copy(s->a, c->cell.name);
        cells[n++].timestamp_ms = ORACLE_STAMP_OPEN;
    }
    s->result->row.cells = cells;
    s->result->row.cell_count = n;
}

/* ---- a change ---- */

static int condition(struct step *s)
{
    const struct wr_condition *c = &s->change->condition;
    const struct oracle_row *old = s->old;
    struct wr_cell *cells = NULL;

    if (c->existence == WR_EXPECT_EXIST && !old)
        return WR_E_CONDITION;
    if (c->existence == WR_EXPECT_NOT_EXIST && old)
        return WR_E_CONDITION;
    if (!c->column)
        return WR_OK;
    if (old) {
        cells = ARENA_ARRAY(s->a, struct wr_cell, old->count + 1);
        for (size_t i = 0; i < old->count; i++)
            cells[i] = old->cells[i].cell;
    }
    return oracle_filter_match(c->column, old ? old->key : NULL, old ? s->t->key_count : 0, cells,
                               old ? old->count : 0)
               ? WR_OK
               : WR_E_CONDITION;
}

/* On a pool a lock is met when a change is stored, not before it is decided; what stores nothing
 * does not meet it. */
static bool is_gated_late(const struct step *s)
{
    return s->o->parts_values && !s->o->inside;
}

static int late_gate(const struct step *s)
{
    bool nothing = s->change->type == WR_DELETE && !s->old;

    if (!is_gated_late(s) || (nothing && s->actual && !s->actual->code))
        return WR_OK;
    return oracle_check_gate(s->o, s->t, s->key);
}

static int step_run(struct step *s)
{
    int code = oracle_check_change(s->o, s->t, s->change);

    if (!code && !is_gated_late(s))
        code = oracle_check_gate(s->o, s->t, s->change->row.key.columns);
    if (code)
        return code;
    resolve_key(s);
    s->old = oracle_row_find(s->t, s->key);
    s->number = s->o->next_change++;
    s->stamp = s->o->now_ms + 1000000000 + s->o->next_open++;
    code = condition(s);
    if (!code)
        code = build(s);
    if (!code)
        code = oracle_check_indexed(s->t, s->change);
    if (!code)
        code = late_gate(s);
    if (code)
        return code;
    meter(s);
    returned(s);
    return WR_OK;
}

static void step_store(struct step *s)
{
    bool create_nothing = s->change->type == WR_UPDATE && !s->old && !s->row;

    if (create_nothing)
        return;
    if (s->row && oracle_row_trim(s->t, s->row, s->o->now_ms)) {
        oracle_row_store(s->t, s->row);
        s->row = NULL;
        return;
    }
    oracle_row_remove(s->t, s->key);
}

/* One change on its own. */
static void run_one(struct oracle *o, struct oracle_table *t, const struct wr_row_change *change,
                    const struct wr_row_result *actual, struct arena *a,
                    struct wr_row_result *result)
{
    struct step s = {.o = o, .t = t, .change = change, .actual = actual, .a = a, .result = result};

    result->code = step_run(&s);
    if (result->code && actual && actual->code == WR_E_CONFLICT &&
        oracle_is_locked(o, t, &change->row.key))
        result->code = WR_E_CONFLICT;
    if (!result->code)
        step_store(&s);
    else if (result->code == WR_E_CONDITION)
        result->consumed = (struct wr_capacity){.read = 1, .write = 1};
    if (s.row)
        oracle_row_free(t, s.row);
}

static void single(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   struct arena *a, struct wr_reply *expected)
{
    const struct wr_row_change *change = &req->put_row;
    struct oracle_table *t;

    expected->code = oracle_check_table_name(change->table);
    if (!expected->code)
        expected->code = oracle_check_change_alone(o, change, false);
    if (expected->code)
        return;
    t = oracle_find(o, change->table);
    if (!t) {
        expected->code = WR_E_NOT_EXIST;
        return;
    }
    if (o->inside && t != &o->inside->view) {
        expected->code = WR_E_OUT_OF_RANGE;
        return;
    }
    run_one(o, t, change, actual->code ? NULL : &actual->row, a, &expected->row);
    expected->code = expected->row.code;
    if (expected->code && actual->code == WR_E_CONFLICT && oracle_is_locked(o, t, &change->row.key))
        expected->code = WR_E_CONFLICT;
}

/* ---- BatchWriteRow ---- */

static bool is_placeholder(const struct wr_key *key)
{
    for (size_t i = 0; i < key->count; i++)
        if (key->columns[i].value.type == WR_AUTO_INCREMENT)
            return true;
    return false;
}

static bool same_key(const struct wr_key *a, const struct wr_key *b)
{
    if (a->count != b->count || is_placeholder(a) || is_placeholder(b))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->columns[i].value.type != b->columns[i].value.type ||
            !bytes_equal(a->columns[i].name, b->columns[i].name))
            return false;
    return oracle_key_compare(NULL, a->columns, b->columns, a->count) == 0;
}

static bool repeats_a_row(const struct wr_table_write *w)
{
    for (size_t i = 0; i < w->change_count; i++)
        for (size_t k = 0; k < i; k++)
            if (same_key(&w->changes[i].row.key, &w->changes[k].row.key))
                return true;
    return false;
}

/* A row that comes more than once may carry no condition. */
static int check_repeated(const struct wr_table_write *w)
{
    for (size_t i = 0; i < w->change_count; i++) {
        const struct wr_row_change *c = &w->changes[i];

        if (c->condition.existence == WR_IGNORE && !c->condition.column)
            continue;
        for (size_t k = 0; k < w->change_count; k++)
            if (k != i && same_key(&c->row.key, &w->changes[k].row.key))
                return WR_E_PARAMETER;
    }
    return WR_OK;
}

/* It comes more than once, and one of its changes increments: none of them is made. */
static bool counts_twice(const struct wr_table_write *w, size_t at)
{
    bool counts = increments(&w->changes[at]), twice = false;

    for (size_t k = 0; k < w->change_count; k++)
        if (k != at && same_key(&w->changes[at].row.key, &w->changes[k].row.key)) {
            twice = true;
            counts |= increments(&w->changes[k]);
        }
    return twice && counts;
}

static int check_batch(struct oracle *o, const struct wr_batch_write_row *b)
{
    size_t rows = 0, size = 0;

    if (!b->table_count)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count; i++) {
        const struct wr_table_write *w = &b->tables[i];

        if (oracle_check_table_name(w->table) || !w->change_count)
            return WR_E_PARAMETER;
        for (size_t k = 0; k < i; k++)
            if (bytes_equal(b->tables[k].table, w->table))
                return WR_E_PARAMETER;
        for (size_t k = 0; k < w->change_count; k++) {
            if (oracle_check_change_alone(o, &w->changes[k], true))
                return WR_E_PARAMETER;
            size += oracle_change_size(&w->changes[k]);
        }
        rows += w->change_count;
    }
    if (rows > (size_t)o->limits.batch_write_rows_max ||
        size > (size_t)o->limits.batch_write_bytes_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count; i++)
        if (check_repeated(&b->tables[i]))
            return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count; i++)
        if (!oracle_find(o, b->tables[i].table))
            return oracle_is_index(o, b->tables[i].table) ? WR_E_PARAMETER : WR_E_NOT_EXIST;
    for (size_t i = 0; i < b->table_count; i++)
        if (oracle_find(o, b->tables[i].table)->index_count && repeats_a_row(&b->tables[i]))
            return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count && o->inside; i++)
        if (oracle_find(o, b->tables[i].table) != &o->inside->view)
            return WR_E_OUT_OF_RANGE;
    return WR_OK;
}

/* Undoes what run_one() did to the rows that a table's batch names. */
struct undo {
    struct wr_key_column key[ORACLE_KEY_MAX];
    struct oracle_row *row; /* NULL: was absent */
    bool used;
};

/* Several rows of an atomic batch fail: any of their codes may be told. */
static bool may_tell(struct oracle *o, const struct oracle_table *t, const struct wr_table_write *w,
                     int expected, int actual)
{
    bool either = expected == WR_E_PARAMETER || expected == WR_E_CONDITION;

    for (size_t i = 0; i < w->change_count && actual == WR_E_CONFLICT; i++)
        if (oracle_is_locked(o, t, &w->changes[i].row.key))
            return true;
    if (o->inside) /* rows are tried one by one, and that row is told which failed first */
        return actual != WR_OK;
    return (either || expected == WR_E_CONFLICT) &&
           (actual == WR_E_PARAMETER || actual == WR_E_CONDITION);
}

static void atomic(struct oracle *o, struct oracle_table *t, const struct wr_table_write *w,
                   const struct wr_row_result *actual, struct arena *a, struct wr_row_result *rows)
{
    struct undo *undo = ARENA_ARRAY(a, struct undo, w->change_count);
    int code = WR_OK;

    for (size_t i = 0; i < w->change_count && !code; i++)
        code = !oracle_check_change(o, t, &w->changes[i]) && counts_twice(w, i)
                   ? WR_E_PARAMETER
                   : oracle_check_change(o, t, &w->changes[i]);
    for (size_t i = 1; i < w->change_count && !code; i++)
        if (oracle_key_compare(NULL, w->changes[i].row.key.columns, w->changes[0].row.key.columns,
                               1))
            code = WR_E_OUT_OF_RANGE;
    /* A value that has outgrown its partition: which rows lie together is nowhere said. */
    if (!code && o->parts_values && w->change_count > 1 && actual &&
        actual[0].code == WR_E_OUT_OF_RANGE)
        code = WR_E_OUT_OF_RANGE;
    for (size_t i = 0; i < w->change_count && !code; i++) {
        for (size_t k = 0; k < t->key_count; k++)
            undo[i].key[k] = w->changes[i].row.key.columns[k];
        if (!is_placeholder(&w->changes[i].row.key)) {
            struct oracle_row *old = oracle_row_find(t, undo[i].key);

            undo[i].row = old ? oracle_row_dup(t, old) : NULL;
            undo[i].used = true;
        }
        run_one(o, t, &w->changes[i], actual ? &actual[i] : NULL, a, &rows[i]);
        code = rows[i].code;
    }
    /* Which of several failures is told is open; the rows are not bound to be tried in order. */
    if (code && actual && may_tell(o, t, w, code, actual[0].code))
        code = actual[0].code;
    for (size_t i = t->row_count; code && i-- > 0;)
        if (t->rows[i]->key_open)
            oracle_row_remove(t, t->rows[i]->key);
    for (size_t i = w->change_count; i-- > 0;) {
        if (code && undo[i].used) {
            oracle_row_remove(t, undo[i].key);
            if (undo[i].row)
                oracle_row_store(t, undo[i].row);
            undo[i].row = NULL;
        }
        if (undo[i].row)
            oracle_row_free(t, undo[i].row);
        if (code) {
            /* What rows cost that fail for another's sake is nowhere said. */
            rows[i] = (struct wr_row_result){.code = code, .consumed = {.read = ORACLE_ANY}};
        }
    }
}

static void batch(struct oracle *o, const struct wr_batch_write_row *b,
                  const struct wr_reply *actual, struct arena *a, struct wr_reply *expected)
{
    struct wr_table_result *tables;

    expected->code = check_batch(o, b);
    if (expected->code)
        return;
    tables = ARENA_ARRAY(a, struct wr_table_result, b->table_count);
    for (size_t i = 0; i < b->table_count; i++) {
        const struct wr_table_write *w = &b->tables[i];
        struct oracle_table *t = oracle_find(o, w->table);
        struct wr_row_result *rows = ARENA_ARRAY(a, struct wr_row_result, w->change_count);
        const struct wr_row_result *got = NULL;

        if (!actual->code && i < actual->batch.table_count &&
            actual->batch.tables[i].row_count == w->change_count)
            got = actual->batch.tables[i].rows;
        tables[i] = (struct wr_table_result){w->table, rows, w->change_count};
        if (b->atomic) {
            atomic(o, t, w, got, a, rows);
            continue;
        }
        for (size_t k = 0; k < w->change_count; k++) {
            rows[k].code = counts_twice(w, k) ? oracle_check_change(o, t, &w->changes[k]) : WR_OK;
            if (counts_twice(w, k) && !rows[k].code)
                rows[k].code = WR_E_PARAMETER;
            if (rows[k].code && got && got[k].code == WR_E_CONFLICT &&
                oracle_is_locked(o, t, &w->changes[k].row.key))
                rows[k].code = WR_E_CONFLICT;
            if (!rows[k].code)
                run_one(o, t, &w->changes[k], got ? &got[k] : NULL, a, &rows[k]);
        }
    }
    expected->batch = (struct wr_batch_result){tables, b->table_count};
}

/* ---- BulkImport ---- */

static int check_bulk(struct oracle *o, const struct wr_table_write *w)
{
    size_t size = 0;

    if (oracle_check_table_name(w->table) || !w->change_count ||
        w->change_count > (size_t)o->limits.batch_write_rows_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < w->change_count; i++) {
        if (oracle_check_change_alone(o, &w->changes[i], true))
            return WR_E_PARAMETER;
        size += oracle_change_size(&w->changes[i]);
    }
    return size > (size_t)o->limits.batch_write_bytes_max ? WR_E_PARAMETER : WR_OK;
}

/* Costs no units; what counts is names and values. */
static struct wr_capacity bulk_cost(const struct wr_row_change *c)
{
    size_t size = oracle_key_size(c->row.key.columns, c->row.key.count);

    for (size_t i = 0; i < c->row.cell_count; i++)
        size += c->row.cells[i].name.len + oracle_value_size(&c->row.cells[i].value);
    return (struct wr_capacity){.write_size = (int64_t)size};
}

static void bulk(struct oracle *o, const struct wr_table_write *w, const struct wr_reply *actual,
                 struct arena *a, struct wr_reply *expected)
{
    struct oracle_table *t = oracle_find(o, w->table);
    struct wr_table_result *table = ARENA_NEW(a, struct wr_table_result);
    struct wr_row_result *rows = ARENA_ARRAY(a, struct wr_row_result, w->change_count);

    expected->code = check_bulk(o, w);
    if (expected->code)
        return;
    for (size_t i = 0; i < w->change_count; i++) {
        bool answered = !actual->code && actual->batch.table_count == 1 &&
                        actual->batch.tables[0].row_count == w->change_count;

        if (t && oracle_check_defined(t, &w->changes[i]))
            rows[i].code = WR_E_PARAMETER;
        else if (t)
            run_one(o, t, &w->changes[i], answered ? &actual->batch.tables[0].rows[i] : NULL, a,
                    &rows[i]);
        else
            rows[i].code = WR_E_NOT_EXIST;
        rows[i].consumed = rows[i].code ? (struct wr_capacity){0} : bulk_cost(&w->changes[i]);
    }
    *table = (struct wr_table_result){w->table, rows, w->change_count};
    expected->batch = (struct wr_batch_result){table, 1};
}

void oracle_write_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                     struct arena *a, struct wr_reply *expected)
{
    int32_t before = o->next_change;

    o->writes++;
    if (req->op == WR_OP_BATCH_WRITE_ROW)
        batch(o, &req->batch_write_row, actual, a, expected);
    else if (req->op == WR_OP_BULK_IMPORT)
        bulk(o, &req->bulk_import.table, actual, a, expected);
    else
        single(o, req, actual, a, expected);
    o->changes = o->next_change - before;
}

static void answer(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   struct arena *a, struct wr_reply *expected)
{
    switch (req->op) {
    case WR_OP_START_LOCAL_TRANSACTION:
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        oracle_txn_op(o, req, actual, expected);
        return;
    case WR_OP_GET_ROW:
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_GET_RANGE:
    case WR_OP_BULK_EXPORT:
        oracle_read_op(o, req, actual, a, expected);
        return;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_BULK_IMPORT:
        oracle_write_op(o, req, actual, a, expected);
        return;
    default:
        oracle_table_op(o, req, a, expected);
        return;
    }
}

/* Where a request is wrong in several ways, which of them is told is open; a transaction that is no
 * more, or is another row's, is one of them. */
static bool is_of_transactions(int code)
{
    return code == WR_E_SESSION || code == WR_E_OUT_OF_RANGE;
}

/* In a transaction. */
static void answer_inside(struct oracle *o, const struct wr_request *req,
                          const struct wr_reply *actual, struct arena *a, struct wr_reply *expected)
{
    o->inside = oracle_txn_find(o, oracle_txn_named(req));
    if (o->inside) {
        oracle_txn_refresh(o, o->inside);
        answer(o, req, actual, a, expected);
    } else {
        expected->code = WR_E_SESSION;
    }
    o->inside = NULL;
    if (expected->code && actual->code &&
        (is_of_transactions(expected->code) || is_of_transactions(actual->code)))
        expected->code = actual->code;
}

void oracle_answer(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                   int64_t now_ms, struct arena *a, struct wr_reply *expected)
{
    bool ends = req->op == WR_OP_COMMIT_TRANSACTION || req->op == WR_OP_ABORT_TRANSACTION;

    *expected = (struct wr_reply){.op = req->op, .message = ""};
    o->complaint[0] = 0;
    o->now_ms = now_ms;
    if (oracle_txn_named(req).ptr && !ends)
        answer_inside(o, req, actual, a, expected);
    else
        answer(o, req, actual, a, expected);
}

/* ---- learning what was open ---- */

static bool complain(struct oracle *o, const char *what)
{
    snprintf(o->complaint, sizeof(o->complaint), "%s", what);
    return false;
}

static bool complain_of_stamp(struct oracle *o, int64_t ts, int64_t sent_ms, int64_t high)
{
    snprintf(o->complaint, sizeof(o->complaint),
             "a stamp outside the call's time: %" PRId64 ", not %" PRId64 " to %" PRId64, ts,
             sent_ms, high);
    return false;
}

bool oracle_learn(struct oracle *o, struct oracle_row *row, const struct wr_row *actual,
                  int64_t sent_ms, int64_t answered_ms)
{
    int64_t high = answered_ms > row->newest_ms ? answered_ms : row->newest_ms;

    high += o->changes; /* each may have been put above the one before */
    if (actual->cell_count != row->count)
        return complain(o, "another number of cells");
    for (size_t i = 0; i < row->count; i++) {
        struct oracle_cell *c = &row->cells[i];
        int64_t ts = actual->cells[i].timestamp_ms;

        if (!c->open)
            continue;
        if (ts < sent_ms || ts > high)
            return complain_of_stamp(o, ts, sent_ms, high);
        for (size_t k = 0; k < i; k++)
            if (row->cells[k].open && row->cells[k].open_change == c->open_change &&
                actual->cells[k].timestamp_ms != ts)
                return complain(o, "cells of one change have different stamps");
    }
    for (size_t i = 0; i < row->count; i++) {
        struct oracle_cell *c = &row->cells[i];

        if (!c->open)
            continue;
        c->cell.timestamp_ms = actual->cells[i].timestamp_ms;
        c->open = false;
        if (c->cell.timestamp_ms > row->newest_ms)
            row->newest_ms = c->cell.timestamp_ms;
        if (c->cell.timestamp_ms > o->given_ms)
            o->given_ms = c->cell.timestamp_ms;
    }
    row->unsure = false;
    return true;
}

bool oracle_learn_key(struct oracle *o, struct oracle_table *t, struct oracle_row *row,
                      int64_t value)
{
    bool found = false;
    size_t i = 0;

    issue(o, t, row->key, value);
    for (i = 0; i < t->row_count && !found; i++)
        found = t->rows[i] == row;
    if (found) {
        t->row_count--;
        memmove(&t->rows[i - 1], &t->rows[i], (t->row_count - (i - 1)) * sizeof(*t->rows));
    }
    row->key[t->auto_column].value.integer = value;
    row->key_open = false;
    oracle_row_store(t, row);
    return o->complaint[0] == 0;
}

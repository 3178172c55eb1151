/* generate.c: which request comes next, and its parts.
 *
 * Left out where rows are stored cell by cell, because the database is known to behave otherwise
 * there and the reference does not decide: updates with cells that have expired before they are
 * written, and a TTL that is lowered. */
#include "generate_part.h"

#include <stdio.h>

#define CELLS_MAX 8

void generator_init(struct generator *g, uint64_t seed, struct oracle *o, int64_t start_ms,
                    int thread, bool wide)
{
    *g = (struct generator){.o = o, .start_ms = start_ms, .thread = thread, .wide = wide};
    rng_init(&g->rng, seed);
}

static bytes table_name(struct generator *g, int table)
{
    return arena_printf(g->a, "t%d", table);
}

/* A table that is there, or NULL if its number has none just now. */
static struct oracle_table *pick_table(struct generator *g, int *number)
{
    *number = (int)gen_below(g, GENERATE_TABLES);
    return oracle_find(g->o, table_name(g, *number));
}

/* ---- row changes ---- */

/* In a batch an earlier change may make the very version that a later one deletes; so only old
 * versions are deleted there (`many`). */
static struct wr_cell cell(struct generator *g, const struct oracle_table *t, bool put, bool many)
{
    struct wr_cell c = {.name = gen_column(g), .timestamp_ms = WR_TIMESTAMP_NONE};
    const struct wr_cell *known = gen_chance(g, 60) ? gen_known_cell(g, t) : NULL;
    size_t kind = put ? 0 : gen_below(g, 100);
    const struct wr_defined_column *defined;

    if (known && !put)
        c.name = arena_copy(g->a, known->name);
    defined = g->indexed ? gen_defined(c.name) : NULL;
    if (kind >= 85 || (kind >= 72 && t->index_count)) {
        c.op = WR_CELL_DELETE_ALL;
    } else if (kind >= 70) {
        c.op = WR_CELL_DELETE_ONE;
        c.timestamp_ms = known ? known->timestamp_ms : gen_known_stamp(g, t);
        if (many && c.timestamp_ms > g->start_ms - 1000)
            c.timestamp_ms = gen_stamp(g, t, true);
    } else if (kind >= 55 && !gen_stamped(t)) {
        c.op = WR_CELL_INCREMENT;
        c.value = gen_value_of(g, known && known->value.type == WR_DOUBLE ? WR_DOUBLE : WR_BIGINT);
        if (c.value.type == WR_BIGINT && gen_chance(g, 80))
            c.value.integer = (int64_t)gen_below(g, 7) - 3;
    } else {
        c.value = defined && gen_chance(g, 95) ? gen_value_of(g, defined->type) : gen_value(g);
        if (g->indexed ? gen_chance(g, 1) : gen_stamped(t) || gen_chance(g, 40))
            c.timestamp_ms = gen_stamp(g, t, !put);
        if (gen_chance(g, 50)) {
            c.crc8 = oracle_crc8(&c);
            c.crc8_known = true;
        }
    }
    return c;
}

/* True if the cell wants its column for itself: an increment must have it, and the version that is
 * deleted may be one that the database makes in this very moment. */
static bool alone(const struct generator *g, const struct wr_cell *c)
{
    return c->op == WR_CELL_INCREMENT ||
           (c->op == WR_CELL_DELETE_ONE && c->timestamp_ms > g->start_ms - 1000);
}

/* Of cells that cannot be together in one update only the first stays. */
static void part_cells(const struct generator *g, struct wr_cell *cells, size_t *count)
{
    size_t n = 0;

    for (size_t i = 0; i < *count; i++) {
        bool clash = false;

        for (size_t k = 0; k < n; k++)
            clash = clash || (bytes_equal(cells[i].name, cells[k].name) &&
                              (alone(g, &cells[i]) || alone(g, &cells[k])));
        if (!clash)
            cells[n++] = cells[i];
    }
    *count = n;
}

/* One cell gets the stamp of a version that is there. The column's other cells go: a stamp of the
 * database's making may meet one of this very moment. */
static void rewrite_version(struct generator *g, struct oracle_table *t, const struct wr_key *key,
                            struct wr_cell *cells, size_t *count)
{
    const struct oracle_row *row = oracle_row_find(t, key->columns);
    const struct wr_cell *old;
    size_t n = 0;

    if (!row || !row->count || gen_chance(g, 75))
        return;
    old = &row->cells[gen_below(g, row->count)].cell;
    for (size_t i = 0; i < *count; i++)
        if (!bytes_equal(cells[i].name, old->name))
            cells[n++] = cells[i];
    cells[n] = (struct wr_cell){.name = arena_copy(g->a, old->name),
                                .value = gen_value(g),
                                .timestamp_ms = old->timestamp_ms};
    *count = n + 1;
}

static void return_type(struct generator *g, struct wr_row_change *c)
{
    bytes *names = ARENA_ARRAY(g->a, bytes, c->row.cell_count + 1);
    size_t n = 0;

    if (gen_chance(g, 30))
        c->return_type = WR_RETURN_KEY;
    for (size_t i = 0; i < c->row.cell_count; i++)
        if (c->row.cells[i].op == WR_CELL_INCREMENT && (n == 0 || gen_chance(g, 70)))
            names[n++] = c->row.cells[i].name;
    if (n == 0 || gen_chance(g, 40))
        return;
    c->return_type = WR_RETURN_AFTER_MODIFY;
    c->return_columns = names;
    c->return_column_count = n;
}

static struct wr_row_change change(struct generator *g, const struct oracle_table *t,
                                   enum wr_change_type type, bool many)
{
    struct wr_row_change c = {.type = type, .table = arena_copy(g->a, t->name)};
    struct wr_cell *cells = ARENA_ARRAY(g->a, struct wr_cell, CELLS_MAX + 1);
    bool placeholder;
    size_t count = type == WR_DELETE ? 0 : gen_below(g, CELLS_MAX);

    c.row.key = gen_key(g, t, type != WR_DELETE, &placeholder);
    if (type == WR_UPDATE && count == 0)
        count = 1;
    for (size_t i = 0; i < count; i++)
        cells[i] = cell(g, t, type == WR_PUT || (placeholder && i == 0), many);
    part_cells(g, cells, &count);
    if (type == WR_UPDATE && !placeholder && !many && !t->index_count)
        rewrite_version(g, oracle_find(g->o, t->name), &c.row.key, cells, &count);
    c.row.cells = cells;
    c.row.cell_count = count;
    if (!placeholder && gen_chance(g, 35))
        c.condition.existence = (enum wr_existence)(1 + gen_below(g, 2));
    if (!placeholder && gen_chance(g, 20))
        c.condition.column = gen_filter(g, t, true);
    return_type(g, &c);
    if (placeholder && many) {
        c.return_type = WR_RETURN_KEY;
        c.return_columns = NULL;
        c.return_column_count = 0;
    }
    return c;
}

static enum wr_change_type change_type(struct generator *g)
{
    size_t n = gen_below(g, 100);

    return n < 40 ? WR_PUT : n < 87 ? WR_UPDATE : WR_DELETE;
}

static void write_one(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    enum wr_change_type type = change_type(g);

    out->op = type == WR_PUT      ? WR_OP_PUT_ROW
              : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                  : WR_OP_DELETE_ROW;
    out->put_row = change(g, t, type, false);
}

/* ---- batches ---- */

bool gen_same_key(const struct wr_key *a, const struct wr_key *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->columns[i].value.type == WR_AUTO_INCREMENT ||
            b->columns[i].value.type == WR_AUTO_INCREMENT)
            return false;
    return oracle_key_compare(NULL, a->columns, b->columns, a->count) == 0;
}

/* Repeated rows stay, but mostly without what makes repeating illegal. */
static void calm_repeated(struct generator *g, struct wr_row_change *c, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            struct wr_cell *cells = (struct wr_cell *)(uintptr_t)c[i].row.cells;
            struct wr_cell *others = (struct wr_cell *)(uintptr_t)c[k].row.cells;

            if (!gen_same_key(&c[i].row.key, &c[k].row.key) || gen_chance(g, 2))
                continue;
            c[i].condition = c[k].condition = (struct wr_condition){0};
            for (size_t n = 0; n < c[i].row.cell_count; n++)
                if (cells[n].op == WR_CELL_INCREMENT)
                    cells[n].op = WR_CELL_PUT;
            for (size_t n = 0; n < c[k].row.cell_count; n++)
                if (others[n].op == WR_CELL_INCREMENT)
                    others[n].op = WR_CELL_PUT;
            c[i].return_type =
                c[i].return_type == WR_RETURN_AFTER_MODIFY ? WR_RETURN_NONE : c[i].return_type;
            c[k].return_type =
                c[k].return_type == WR_RETURN_AFTER_MODIFY ? WR_RETURN_NONE : c[k].return_type;
            c[i].return_column_count = c[k].return_column_count = 0;
        }
}

static struct wr_table_write table_write(struct generator *g, const struct oracle_table *t,
                                         bool atomic)
{
    size_t count = 1 + gen_below(g, gen_chance(g, 20) ? 12 : 4);
    struct wr_row_change *c = ARENA_ARRAY(g->a, struct wr_row_change, count);

    for (size_t i = 0; i < count; i++) {
        c[i] = change(g, t, change_type(g), true);
        c[i].table = BYTES_NONE;
        if (atomic && i > 0 && !gen_chance(g, 3))
            ((struct wr_key_column *)(uintptr_t)c[i].row.key.columns)[0] = c[0].row.key.columns[0];
        if (atomic && !gen_chance(g, 20))
            c[i].condition = (struct wr_condition){0};
    }
    if (t->index_count)
        gen_without_repeated(g, c, &count);
    calm_repeated(g, c, count);
    return (struct wr_table_write){arena_copy(g->a, t->name), c, count};
}

/* Up to three tables, none twice. */
static size_t pick_tables(struct generator *g, struct oracle_table **tables)
{
    size_t want = gen_chance(g, 60) ? 1 : 2 + gen_below(g, 2), n = 0;
    int number;

    for (size_t tries = 0; tries < 6 && n < want; tries++) {
        struct oracle_table *t = pick_table(g, &number);
        bool there = !t;

        for (size_t i = 0; i < n; i++)
            there = there || tables[i] == t;
        if (!there)
            tables[n++] = t;
    }
    return n;
}

static void write_batch(struct generator *g, struct wr_request *out)
{
    struct oracle_table *tables[6];
    size_t n = pick_tables(g, tables);
    struct wr_table_write *w = ARENA_ARRAY(g->a, struct wr_table_write, n + 1);

    out->op = WR_OP_BATCH_WRITE_ROW;
    out->batch_write_row.atomic = gen_chance(g, 40);
    for (size_t i = 0; i < n; i++)
        w[i] = table_write(g, tables[i], out->batch_write_row.atomic);
    out->batch_write_row.tables = w;
    out->batch_write_row.table_count = n;
}

/* Rows without conditions; what the placeholder would make is nowhere told, so it is left out. */
static void bulk_import(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    size_t count = 1 + gen_below(g, 6), n = 0;
    struct wr_row_change *c = ARENA_ARRAY(g->a, struct wr_row_change, count);

    for (size_t i = 0; i < count; i++) {
        c[n] = change(g, t, change_type(g), true);
        c[n].table = BYTES_NONE;
        c[n].condition = (struct wr_condition){0};
        c[n].return_type = WR_RETURN_NONE;
        c[n].return_column_count = 0;
        if (t->auto_column < 0 ||
            c[n].row.key.columns[t->auto_column].value.type != WR_AUTO_INCREMENT)
            n++;
    }
    if (t->index_count)
        gen_without_repeated(g, c, &n);
    calm_repeated(g, c, n);
    out->op = WR_OP_BULK_IMPORT;
    out->bulk_import.table = (struct wr_table_write){arena_copy(g->a, t->name), c, n};
}

/* ---- reads ---- */

static void read_columns(struct generator *g, const struct oracle_table *t,
                         struct wr_read_options *r)
{
    size_t count = 1 + gen_below(g, 4);
    bytes *names = ARENA_ARRAY(g->a, bytes, count);

    for (size_t i = 0; i < count; i++)
        names[i] = gen_chance(g, 10) ? arena_copy(g->a, t->key[gen_below(g, t->key_count)].name)
                                     : gen_column(g);
    r->columns = names;
    r->column_count = count;
}

static void read_times(struct generator *g, const struct oracle_table *t, struct wr_read_options *r)
{
    int64_t a = gen_known_stamp(g, t), b = gen_known_stamp(g, t) + (int64_t)gen_below(g, 2);

    if (gen_chance(g, 40)) {
        r->has_specific = true;
        r->specific_ms = a;
        r->has_max_versions = gen_chance(g, 40);
    } else {
        r->has_start = r->has_end = true;
        r->start_ms = gen_chance(g, 20) ? 0 : a < b ? a : b;
        r->end_ms = gen_chance(g, 20) ? INT64_MAX / 1000 : (a < b ? b : a) + 1;
        r->has_max_versions = gen_chance(g, 50);
    }
}

static struct wr_read_options read_options(struct generator *g, const struct oracle_table *t)
{
    struct wr_read_options r = {0};

    if (gen_chance(g, 30))
        read_columns(g, t, &r);
    if (gen_chance(g, 25))
        read_times(g, t, &r);
    else
        r.has_max_versions = true;
    if (r.has_max_versions)
        r.max_versions = gen_chance(g, 20) ? INT32_MAX : 1 + (int32_t)gen_below(g, 4);
    if (gen_chance(g, 10))
        r.start_column = gen_column(g);
    if (gen_chance(g, 10))
        r.end_column = gen_column(g);
    if (gen_chance(g, 25))
        r.filter = gen_filter(g, t, false);
    return r;
}

static void get_row(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    bool placeholder;

    out->op = WR_OP_GET_ROW;
    out->get_row.table = arena_copy(g->a, t->name);
    out->get_row.key = gen_key(g, t, false, &placeholder);
    out->get_row.read = read_options(g, t);
}

static size_t pick_readable(struct generator *g, struct oracle_table **tables)
{
    size_t n = pick_tables(g, tables);

    for (size_t i = 0; i < n; i++)
        tables[i] = gen_readable(g, tables[i]);
    return n;
}

static void batch_get(struct generator *g, struct wr_request *out)
{
    struct oracle_table *tables[6];
    size_t n = pick_readable(g, tables);
    struct wr_table_get *w = ARENA_ARRAY(g->a, struct wr_table_get, n + 1);
    bool placeholder;

    out->op = WR_OP_BATCH_GET_ROW;
    for (size_t i = 0; i < n; i++) {
        size_t count = 1 + gen_below(g, 6);
        struct wr_key *keys = ARENA_ARRAY(g->a, struct wr_key, count);

        for (size_t k = 0; k < count; k++)
            keys[k] = gen_key(g, tables[i], false, &placeholder);
        w[i] = (struct wr_table_get){.table = arena_copy(g->a, tables[i]->name),
                                     .keys = keys,
                                     .key_count = count,
                                     .read = read_options(g, tables[i])};
    }
    out->batch_get_row = (struct wr_batch_get_row){w, n};
}

static void get_range(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    struct wr_get_range *r = &out->get_range;

    out->op = WR_OP_GET_RANGE;
    r->table = arena_copy(g->a, t->name);
    r->backward = gen_chance(g, 45);
    gen_bounds(g, t, r->backward, &r->start, &r->end);
    r->has_limit = gen_chance(g, 50);
    r->limit = 1 + (int32_t)gen_below(g, 6);
    r->read = read_options(g, t);
    for (size_t i = 0; i < r->read.column_count; i++)
        for (size_t k = 0; k < t->key_count; k++)
            if (bytes_equal(r->read.columns[i], t->key[k].name))
                r->partial_keys = r->partial_keys || gen_chance(g, 50);
}

static void bulk_export(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    struct wr_bulk_export *e = &out->bulk_export;
    struct wr_read_options r = {0};

    out->op = WR_OP_BULK_EXPORT;
    e->table = arena_copy(g->a, t->name);
    gen_bounds(g, t, false, &e->start, &e->end);
    if (gen_chance(g, 60))
        read_columns(g, t, &r);
    e->columns = r.columns;
    e->column_count = r.column_count;
    e->matrix = gen_chance(g, 40);
    if (gen_chance(g, 25))
        e->filter = gen_filter(g, t, false);
}

/* ---- tables ---- */

void generator_create(struct generator *g, struct arena *a, int table, struct wr_request *out)
{
    static const enum wr_type types[] = {WR_BIGINT, WR_VARCHAR, WR_VARBINARY};
    static const bytes names[ORACLE_KEY_MAX] = {
        {"p", 1},  {"\xe6\x95\xb0", 3}, {"s k", 3}, {"Z", 1}, {"a5", 2},
        {"A6", 2}, {"_7", 2},           {"z8", 2},  {"9", 1}, {"last", 4}};
    struct wr_create_table *t = &out->create_table;
    struct wr_key_schema *key = ARENA_ARRAY(a, struct wr_key_schema, ORACLE_KEY_MAX);

    g->a = a;
    *out = (struct wr_request){.op = WR_OP_CREATE_TABLE, .instance = g->o->instance};
    t->table = table_name(g, table);
    t->key = key;
    t->key_count = 1 + gen_below(g, gen_chance(g, 25) ? ORACLE_KEY_MAX : 4);
    for (size_t i = 0; i < t->key_count; i++)
        key[i] = (struct wr_key_schema){.name = names[i], .type = types[gen_below(g, 3)]};
    if (t->key_count > 1 && gen_chance(g, 35)) {
        size_t i = 1 + gen_below(g, t->key_count - 1);

        key[i].type = WR_BIGINT;
        key[i].auto_increment = true;
    }
    t->options.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS;
    t->options.ttl_s = gen_chance(g, 50) ? -1 : 86400 * (1 + (int32_t)gen_below(g, 4));
    t->options.max_versions = 1 + (int32_t)gen_below(g, 4);
    if (gen_chance(g, 80)) {
        t->options.given |= WR_HAS_DEVIATION;
        t->options.deviation_s = 8640000;
    }
    t->local_transactions = g->txns && gen_chance(g, 75);
    if (g->indexed)
        gen_indexable(g, t);
}

/* Options only go down, since the reference leaves open whether hidden cells come back. */
static void update_table(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    struct wr_table_options *p = &out->update_table.options;

    out->op = WR_OP_UPDATE_TABLE;
    out->update_table.table = arena_copy(g->a, t->name);
    if (gen_chance(g, 40) && t->options.max_versions > 1) {
        p->given |= WR_HAS_MAX_VERSIONS;
        p->max_versions = t->options.max_versions - 1;
    }
    if (gen_chance(g, 40) && !g->wide) {
        p->given |= WR_HAS_TTL;
        p->ttl_s = t->options.ttl_s < 0 ? 86400 * 4 : t->options.ttl_s - 86400;
        if (p->ttl_s <= 0)
            p->ttl_s = 86400;
    }
    if (gen_chance(g, 30) || !t->options.allow_update) {
        p->given |= WR_HAS_ALLOW_UPDATE;
        p->allow_update = !t->options.allow_update;
    }
    if (gen_chance(g, 20)) {
        p->given |= WR_HAS_DEVIATION;
        p->deviation_s = gen_chance(g, 50) ? 8640000 : 86400;
    }
    out->update_table.has_options = p->given != 0;
}

static void table_op(struct generator *g, struct oracle_table *t, int number,
                     struct wr_request *out)
{
    size_t kind = gen_below(g, 100);

    if (!t || kind < 5) {
        generator_create(g, g->a, number, out);
    } else if (kind < 20) {
        out->op = WR_OP_DELETE_TABLE;
        out->delete_table.table = arena_copy(g->a, t->name);
    } else if (kind < 50) {
        update_table(g, t, out);
    } else if (kind < 80) {
        out->op = WR_OP_DESCRIBE_TABLE;
        out->describe_table.table = arena_copy(g->a, t->name);
    } else {
        out->op = WR_OP_LIST_TABLE;
    }
}

#define OPEN_MAX 3

/* A request in the transaction; of its table alone, usually. */
static void next_inside(struct generator *g, struct oracle_txn *x, struct wr_request *out)
{
    const struct oracle_table *t = &x->view;
    struct wr_table_write *w;
    size_t kind = gen_below(g, 100);
    int number;

    if (gen_chance(g, 2))
        t = pick_table(g, &number);
    if (!t)
        t = &x->view;
    if (kind < 50) {
        write_one(g, t, out);
    } else if (kind < 65) {
        w = ARENA_ARRAY(g->a, struct wr_table_write, 2); /* one more is a fault */
        out->op = WR_OP_BATCH_WRITE_ROW;
        out->batch_write_row.atomic = gen_chance(g, 50);
        *w = table_write(g, t, out->batch_write_row.atomic);
        out->batch_write_row.tables = w;
        out->batch_write_row.table_count = 1;
    } else if (kind < 80) {
        get_row(g, t, out);
    } else {
        get_range(g, t, out);
    }
    gen_inside(g, x, out);
    if (gen_chance(g, 6))
        gen_fault(g, t, out);
}

/* True: the request has to do with transactions. */
static bool next_of_txns(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    struct oracle_txn *x = gen_open_txn(g);
    size_t kind = gen_below(g, 100), open = 0;

    for (const struct oracle_txn *i = g->o->txns; i; i = i->next)
        open++;
    if (t && kind < 6 && open < OPEN_MAX)
        gen_start(g, t, out);
    else if (x && kind < 12)
        gen_end(g, x, out);
    else if (x && kind < 45)
        next_inside(g, x, out);
    else
        return false;
    return true;
}

void generator_next(struct generator *g, struct arena *a, struct wr_request *out)
{
    int number;
    struct oracle_table *t;
    size_t kind = gen_below(g, 1000);

    g->a = a;
    *out = (struct wr_request){.instance = g->o->instance};
    t = pick_table(g, &number);
    if (g->txns && next_of_txns(g, t, out))
        return;
    if (g->indexed && t && kind < 30) {
        gen_index_op(g, t, out);
        return;
    }
    if (g->thread < 0 && (!t || kind < 8 || (!t->options.allow_update && gen_chance(g, 3)))) {
        table_op(g, t, number, out);
        return;
    }
    if (kind < 420)
        write_one(g, t, out);
    else if (kind < 520)
        write_batch(g, out);
    else if (kind < 545)
        bulk_import(g, t, out);
    else if (kind < 720)
        get_row(g, t = gen_readable(g, t), out);
    else if (kind < 800)
        batch_get(g, out);
    else if (kind < 970)
        get_range(g, t = gen_readable(g, t), out);
    else
        bulk_export(g, t = gen_readable(g, t), out);
    if (gen_chance(g, 6))
        gen_fault(g, t, out);
}

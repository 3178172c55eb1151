/* parse_row.c: requests on rows. */
#include "parse.h"

#include <inttypes.h>

#define CELLS_MAX 5000
#define CHANGES_MAX 5000
#define KEYS_MAX 2048

static bool at_end(const struct cursor *p)
{
    return p->at->kind == TOKEN_END || token_is(p->at, "->");
}

/* ---- cells */

/* A cell starts with its name and one of = += [ @, or with a minus sign. */
static bool at_cell(const struct cursor *p)
{
    static const char *const behind[] = {"=", "+=", "[", "@"};

    if (token_is(p->at, "-") || token_is(p->at, "--"))
        return true;
    if (token_is(p->at, "transaction")) /* the words of a request are no columns */
        return false;
    if (p->at->kind != TOKEN_WORD && p->at->kind != TOKEN_TEXT)
        return false;
    for (size_t i = 0; i < PORT_COUNT(behind); i++)
        if (token_is(p->at + 1, behind[i]))
            return true;
    return false;
}

/* a=1  a=1@1000  a+=1  -a (all versions)  -a@1000 (one)  -a! (one, without saying which)
 * --a@1000 (all, with a timestamp)  a[1025]=1 (a0 to a1024) */
static size_t parse_cell(struct cursor *p, struct wr_cell *out, size_t room)
{
    struct wr_cell cell = {.timestamp_ms = WR_TIMESTAMP_NONE};
    bool one = take(p, "-"), all = !one && take(p, "--");
    int64_t times = 1;
    bool numbered;
    size_t n = 0;

    cell.name = parse_name(p);
    numbered = take(p, "[");
    if (numbered) {
        times = parse_number(p);
        expect(p, "]");
    }
    if (one || all) {
        cell.op = WR_CELL_DELETE_ALL;
        if (take(p, "!") || (one && token_is(p->at, "@")))
            cell.op = WR_CELL_DELETE_ONE;
    } else if (take(p, "+=")) {
        cell.op = WR_CELL_INCREMENT;
        cell.value = parse_value(p);
    } else {
        expect(p, "=");
        cell.value = parse_value(p);
    }
    if (take(p, "@"))
        cell.timestamp_ms = parse_time(p);
    for (; (int64_t)n < times && n < room; n++) {
        out[n] = cell;
        if (numbered)
            out[n].name = arena_printf(&p->s->c.arena, "%.*s%zu", BYTES_FMT(cell.name), n);
    }
    return n;
}

static void parse_cells(struct cursor *p, struct wr_row *row)
{
    struct wr_cell *cells = ARENA_ARRAY(&p->s->c.arena, struct wr_cell, CELLS_MAX);
    size_t n = 0;

    while (at_cell(p))
        n += parse_cell(p, cells + n, CELLS_MAX - n);
    row->cells = cells;
    row->cell_count = n;
}

/* ---- changes */

static void parse_terms(struct cursor *p, struct wr_row_change *change)
{
    bytes *columns;

    for (;;) {
        if (take(p, "if")) {
            if (take(p, "exist"))
                change->condition.existence = WR_EXPECT_EXIST;
            else if (take(p, "absent"))
                change->condition.existence = WR_EXPECT_NOT_EXIST;
            else
                change->condition.existence = (enum wr_existence)parse_number(p);
        } else if (take(p, "where")) {
            change->condition.column = parse_filter(p);
        } else if (take(p, "return")) {
            if (take(p, "key"))
                change->return_type = WR_RETURN_KEY;
            else if (take(p, "after"))
                change->return_type = WR_RETURN_AFTER_MODIFY;
            else
                change->return_type = (enum wr_return_type)parse_number(p);
            if (parse_list(p, &columns, &change->return_column_count))
                change->return_columns = columns;
        } else {
            return;
        }
    }
}

static bool parse_change_type(struct cursor *p, enum wr_change_type *type)
{
    if (take(p, "put"))
        *type = WR_PUT;
    else if (take(p, "update"))
        *type = WR_UPDATE;
    else if (take(p, "delete"))
        *type = WR_DELETE;
    else
        return false;
    return true;
}

/* A key of which one column may be from..to; *from > *to if none is. */
static struct wr_key parse_key_range(struct cursor *p, size_t *column, int64_t *from, int64_t *to)
{
    struct wr_key_column *columns = ARENA_ARRAY(&p->s->c.arena, struct wr_key_column, 16);
    size_t n = 0;

    *column = 0;
    *from = 1;
    *to = 0;
    expect(p, "(");
    while (!take(p, ")")) {
        columns[n].name = parse_name(p);
        expect(p, "=");
        columns[n].value = parse_value(p);
        if (take(p, "..")) {
            *column = n;
            *from = columns[n].value.integer;
            *to = parse_number(p);
        }
        n++;
    }
    return (struct wr_key){columns, n};
}

static struct wr_key key_with(struct script *s, const struct wr_key *key, size_t column, int64_t v)
{
    struct wr_key_column *columns = ARENA_ARRAY(&s->c.arena, struct wr_key_column, key->count);

    memcpy(columns, key->columns, sizeof(*columns) * key->count);
    columns[column].value = (struct wr_value){.type = WR_BIGINT, .integer = v};
    return (struct wr_key){columns, key->count};
}

/* The change behind its type, as many times as its key says. */
static size_t parse_change(struct cursor *p, enum wr_change_type type, struct wr_row_change *out,
                           size_t room)
{
    struct wr_row_change change = {.type = type};
    size_t column, n = 0;
    int64_t from, to;

    change.row.key = parse_key_range(p, &column, &from, &to);
    parse_cells(p, &change.row);
    parse_terms(p, &change);
    if (from > to)
        out[n++] = change;
    for (int64_t v = from; v <= to && n < room; v++, n++) {
        out[n] = change;
        out[n].row.key = key_with(p->s, &change.row.key, column, v);
    }
    return n;
}

static bool parse_single_change(struct cursor *p, struct wr_request *out)
{
    enum wr_change_type type;
    bytes table;

    if (!parse_change_type(p, &type))
        return false;
    out->op = type == WR_PUT      ? WR_OP_PUT_ROW
              : type == WR_UPDATE ? WR_OP_UPDATE_ROW
                                  : WR_OP_DELETE_ROW;
    table = parse_name(p);
    parse_change(p, type, &out->put_row, 1);
    out->put_row.table = table;
    if (take_option(p, "transaction"))
        out->put_row.transaction = parse_value(p).bytes;
    return true;
}

/* in t put (...) update (...) in u delete (...) */
static size_t parse_groups(struct cursor *p, const struct wr_table_write **out)
{
    struct wr_table_write *tables = ARENA_ARRAY(&p->s->c.arena, struct wr_table_write, 64);
    size_t count = 0;

    while (take(p, "in")) {
        struct wr_row_change *changes =
            ARENA_ARRAY(&p->s->c.arena, struct wr_row_change, CHANGES_MAX);
        enum wr_change_type type;
        size_t n = 0;

        tables[count].table = parse_name(p);
        while (parse_change_type(p, &type))
            n += parse_change(p, type, changes + n, CHANGES_MAX - n);
        tables[count].changes = changes;
        tables[count++].change_count = n;
    }
    *out = tables;
    return count;
}

const struct wr_row_change *parse_fill(struct cursor *p, bytes *table, size_t *count)
{
    struct wr_row_change *changes = ARENA_ARRAY(&p->s->c.arena, struct wr_row_change, 20000);

    *table = parse_name(p);
    *count = parse_change(p, WR_PUT, changes, 20000);
    return changes;
}

/* ---- reads */

static void parse_time_range(struct cursor *p, struct wr_read_options *o)
{
    if (!token_is(p->at, "..")) {
        o->has_start = true;
        o->start_ms = parse_time(p);
    }
    expect(p, "..");
    if (p->at->kind == TOKEN_NUMBER || token_is(p->at, "now") || token_is(p->at, "$")) {
        o->has_end = true;
        o->end_ms = parse_time(p);
    }
}

static bool parse_read_option(struct cursor *p, struct wr_read_options *o)
{
    bytes *columns;

    if (take_option(p, "versions")) {
        o->has_max_versions = !take(p, "none");
        if (o->has_max_versions)
            o->max_versions = (int32_t)parse_number(p);
        return true;
    }
    if (take_option(p, "columns")) {
        if (!parse_list(p, &columns, &o->column_count))
            script_die(p->s, "columns=(a b c)");
        o->columns = columns;
        return true;
    }
    if (take_option(p, "time")) {
        o->has_max_versions = false;
        parse_time_range(p, o);
    } else if (take_option(p, "at")) {
        o->has_max_versions = false;
        o->has_specific = true;
        o->specific_ms = parse_time(p);
    } else if (take_option(p, "from")) {
        o->start_column = parse_name(p);
    } else if (take_option(p, "to")) {
        o->end_column = parse_name(p);
    } else if (take(p, "where")) {
        o->filter = parse_filter(p);
    } else {
        return false;
    }
    return true;
}

static void read_defaults(struct wr_read_options *o)
{
    o->has_max_versions = true;
    o->max_versions = 1;
}

static void parse_get(struct cursor *p, struct wr_request *out)
{
    struct wr_get_row *g = &out->get_row;

    out->op = WR_OP_GET_ROW;
    g->table = parse_name(p);
    g->key = parse_key(p);
    read_defaults(&g->read);
    while (!at_end(p)) {
        if (parse_read_option(p, &g->read))
            continue;
        if (take_option(p, "token"))
            g->token = parse_value(p).bytes;
        else if (take_option(p, "transaction"))
            g->transaction = parse_value(p).bytes;
        else
            script_die(p->s, "no such part of a read: '%.*s'", BYTES_FMT(p->at->text));
    }
}

/* in t (pk=1) (pk=2) versions=1 in u (pk=1..100) */
static void parse_batch_get(struct cursor *p, struct wr_request *out)
{
    struct wr_table_get *tables = ARENA_ARRAY(&p->s->c.arena, struct wr_table_get, 64);
    size_t count = 0;

    out->op = WR_OP_BATCH_GET_ROW;
    while (take(p, "in")) {
        struct wr_table_get *t = &tables[count++];
        struct wr_key *keys = ARENA_ARRAY(&p->s->c.arena, struct wr_key, KEYS_MAX);

        t->table = parse_name(p);
        while (token_is(p->at, "(")) {
            size_t column;
            int64_t from, to;
            struct wr_key key = parse_key_range(p, &column, &from, &to);

            if (from > to)
                keys[t->key_count++] = key;
            for (int64_t v = from; v <= to && t->key_count < KEYS_MAX; v++)
                keys[t->key_count++] = key_with(p->s, &key, column, v);
        }
        t->keys = keys;
        read_defaults(&t->read);
        while (parse_read_option(p, &t->read))
            ;
    }
    out->batch_get_row.tables = tables;
    out->batch_get_row.table_count = count;
}

static void parse_range_options(struct cursor *p, struct wr_get_range *g)
{
    while (!at_end(p)) {
        if (parse_read_option(p, &g->read))
            continue;
        if (take(p, "backward")) {
            g->backward = true;
        } else if (take(p, "partial")) {
            g->partial_keys = true;
        } else if (take(p, "matrix")) {
            g->matrix = true;
        } else if (take_option(p, "limit")) {
            g->has_limit = true;
            g->limit = (int32_t)parse_number(p);
        } else if (take_option(p, "transaction")) {
            g->transaction = parse_value(p).bytes;
        } else {
            script_die(p->s, "no such part of a range: '%.*s'", BYTES_FMT(p->at->text));
        }
    }
}

static void parse_range(struct cursor *p, struct wr_request *out)
{
    struct wr_get_range *g = &out->get_range;

    out->op = WR_OP_GET_RANGE;
    g->table = parse_name(p);
    g->start = parse_key(p);
    g->end = parse_key(p);
    read_defaults(&g->read);
    parse_range_options(p, g);
}

static struct wr_key open_bound(struct cursor *p, bytes table, enum wr_type type)
{
    for (size_t i = 0; i < p->s->table_count; i++) {
        const struct known_table *t = &p->s->tables[i];
        struct wr_key_column *columns;

        if (!bytes_equal(t->name, table))
            continue;
        columns = ARENA_ARRAY(&p->s->c.arena, struct wr_key_column, t->key_count);
        for (size_t k = 0; k < t->key_count; k++)
            columns[k] = (struct wr_key_column){t->key[k].name, {.type = type}};
        return (struct wr_key){columns, t->key_count};
    }
    script_die(p->s, "the case made no table '%.*s'", BYTES_FMT(table));
}

static void parse_scan(struct cursor *p, struct wr_request *out)
{
    struct wr_get_range *g = &out->get_range;

    out->op = WR_OP_GET_RANGE;
    g->table = parse_name(p);
    read_defaults(&g->read);
    parse_range_options(p, g);
    g->start = open_bound(p, g->table, g->backward ? WR_INF_MAX : WR_INF_MIN);
    g->end = open_bound(p, g->table, g->backward ? WR_INF_MIN : WR_INF_MAX);
}

static void parse_bulk_export(struct cursor *p, struct wr_request *out)
{
    struct wr_bulk_export *e = &out->bulk_export;
    bytes *columns;

    out->op = WR_OP_BULK_EXPORT;
    e->table = parse_name(p);
    e->start = parse_key(p);
    e->end = parse_key(p);
    while (!at_end(p)) {
        if (take(p, "matrix"))
            e->matrix = true;
        else if (take(p, "where"))
            e->filter = parse_filter(p);
        else if (take_option(p, "columns") && parse_list(p, &columns, &e->column_count))
            e->columns = columns;
        else
            script_die(p->s, "no such part of an export: '%.*s'", BYTES_FMT(p->at->text));
    }
}

static void parse_batch_write(struct cursor *p, struct wr_request *out)
{
    struct wr_batch_write_row *w = &out->batch_write_row;

    out->op = WR_OP_BATCH_WRITE_ROW;
    w->atomic = take(p, "atomic");
    if (take_option(p, "transaction"))
        w->transaction = parse_value(p).bytes;
    w->table_count = parse_groups(p, &w->tables);
}

bool parse_row_request(struct cursor *p, struct wr_request *out)
{
    const struct wr_table_write *tables;

    if (parse_single_change(p, out))
        return true;
    if (take(p, "get")) {
        parse_get(p, out);
    } else if (take(p, "batch_get")) {
        parse_batch_get(p, out);
    } else if (take(p, "batch_write")) {
        parse_batch_write(p, out);
    } else if (take(p, "range")) {
        parse_range(p, out);
    } else if (take(p, "scan")) {
        parse_scan(p, out);
    } else if (take(p, "bulk_export")) {
        parse_bulk_export(p, out);
    } else if (take(p, "bulk_import")) {
        out->op = WR_OP_BULK_IMPORT;
        parse_groups(p, &tables);
        out->bulk_import.table = tables[0];
    } else {
        return false;
    }
    return true;
}

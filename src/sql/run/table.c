#include "sql/run/described.h"
#include "sql/run/mapping.h"
#include "sql/run/table.h"

#include <strings.h>

#define STAMP "_l_ts"
#define REMEMBERED_BYTES_MAX (32 << 10) /* of a table; a larger one is asked for each time */

int table_database(struct run *r, const struct table_name *name, bytes *out)
{
    const struct access *access = &r->session->conf.access;

    *out = name->database.ptr ? name->database : r->session->database;
    if (!out->len)
        return run_fail(r, FAULT_NO_DATABASE);
    if (!access->enter(access->arg, *out))
        return run_fail(r, FAULT_UNKNOWN_DATABASE, RUN_TEXT(*out));
    return 0;
}

static void column_add(struct sql_table *t, bytes name, enum wr_type type)
{
    if (table_column(t, name) == SIZE_MAX)
        t->columns[t->column_count++] = (struct table_column){.name = name, .type = type};
}

/* What CREATE TABLE said of the columns. */
static void declared_apply(struct sql_table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        struct table_column *c = &t->columns[i];

        c->declared = declared_find(&t->declared, c->name);
        if (c->declared && !c->length)
            c->length = c->declared->length;
    }
}

/* What * shows: the mapping's columns in its order. */
static void shown_fill(struct run *r, struct sql_table *t, const struct mapping *m)
{
    size_t *shown = ARENA_ARRAY(r->arena, size_t, m->count);

    for (size_t i = 0; i < m->count; i++)
        shown[i] = table_column(t, m->columns[i].name);
    t->shown = shown;
    t->shown_count = m->count;
}

/* The key's columns; those that are defined, unless Tablestore's mapping says which there are; and
 * those of the mapping. */
static int columns_fill(struct run *r, struct sql_table *t)
{
    const struct wr_table_description *d = t->description;
    struct mapping m;

    RUN_TRY(mapping_read(r, d, &m));
    t->any_case = run_is_tablestore(r);
    t->key_count = t->column_count = d->key_count;
    t->columns =
        ARENA_ARRAY(r->arena, struct table_column, d->key_count + d->defined_count + m.count + 1);
    for (size_t i = 0; i < d->key_count; i++)
        t->columns[i] = (struct table_column){.name = d->key[i].name,
                                              .type = d->key[i].type,
                                              .length = d->key[i].length,
                                              .descending = d->key[i].descending};
    RUN_TRY(declared_read(r, d, &t->declared));
    if (!t->any_case || !m.count)
        for (size_t i = 0; i < d->defined_count; i++)
            column_add(t, d->defined[i].name, d->defined[i].type);
    for (size_t i = 0; i < m.count; i++)
        column_add(t, m.columns[i].name, m.columns[i].type);
    declared_apply(t);
    if (t->any_case && m.count)
        shown_fill(r, t, &m);
    return 0;
}

size_t table_shown(const struct sql_table *t, size_t i)
{
    return t->shown ? t->shown[i] : i;
}

size_t table_shown_count(const struct sql_table *t)
{
    return t->shown ? t->shown_count : t->column_count - t->hidden_count;
}

int table_find_bare(struct run *r, const struct table_name *name, struct sql_table **out)
{
    struct wr_request request = {WR_REQUEST(DESCRIBE_TABLE), .describe_table = {name->table}};
    struct sql_table *t = ARENA_NEW(r->arena, struct sql_table);
    const struct wr_reply *reply = NULL;

    *out = t;
    t->name = name->table;
    RUN_TRY(table_database(r, name, &t->database));
    request.instance = t->database;
    if (run_request(r, &request, &reply)) {
        if (reply && reply->code == WR_E_NOT_EXIST) {
            r->out->fault.number = 0;
            run_fail(r, FAULT_UNKNOWN_TABLE, RUN_TEXT(t->database), RUN_TEXT(t->name));
        }
        return -1;
    }
    t->description = &reply->description;
    return 0;
}

int table_ask(struct run *r, const struct table_name *name, struct sql_table **out)
{
    RUN_TRY(table_find_bare(r, name, out));
    return columns_fill(r, *out);
}

/* What is remembered is for who may ask for the table now. */
static int may_describe(struct run *r, bytes database, bytes name)
{
    struct wr_request request = {WR_REQUEST(DESCRIBE_TABLE), .instance = database,
                                 .describe_table = {name}};

    return run_allowed(r, &request);
}

/* Statements change the table that they have: they name more columns, and label them. */
static struct sql_table *table_of(struct run *r, const struct described *d)
{
    const struct sql_table *known = d->table;
    struct sql_table *t = ARENA_NEW(r->arena, struct sql_table);

    *t = *known;
    t->columns = ARENA_ARRAY(r->arena, struct table_column, known->column_count + 1);
    memcpy(t->columns, known->columns, known->column_count * sizeof(*t->columns));
    return t;
}

/* NULL: it is not to be had now, or too large to be remembered. */
static struct sql_table *table_remember(struct run *r, const struct table_name *name,
                                        bytes database, uint64_t state)
{
    struct described *d = described_new(state);
    struct outcome out = {.affected = 0};
    struct run own = *r;
    struct table_name of = *name;
    struct sql_table *made, *t = NULL;

    own.arena = &d->arena;
    own.out = &out;
    d->database = of.database = arena_copy(&d->arena, database);
    d->name = of.table = arena_copy(&d->arena, name->table);
    if (!table_ask(&own, &of, &made) && d->arena.used <= REMEMBERED_BYTES_MAX) {
        d->table = made;
        described_add(r, d);
        t = table_of(r, d);
    }
    described_unref(d);
    return t;
}

int table_find(struct run *r, const struct table_name *name, struct sql_table **out)
{
    const struct described *known;
    uint64_t state;
    bytes database;

    if (run_is_tablestore(r)) /* whose sessions are one statement long */
        return table_ask(r, name, out);
    RUN_TRY(table_database(r, name, &database));
    RUN_TRY(may_describe(r, database, name->table));
    known = described_find(r, database, name->table);
    if (known) {
        *out = table_of(r, known);
        return 0;
    }
    if (r->deferred)
        return run_whole(r);
    state = wr_table_state(r->session->conf.db, database, name->table);
    *out = state ? table_remember(r, name, database, state) : NULL;
    return *out ? 0 : table_ask(r, name, out);
}

/* Asked for each of a statement's sub-selects, whose text may be long. */
static bool has_stamps(struct run *r)
{
    if (!r->stamps_sought)
        r->stamps = memmem(r->sql.ptr, r->sql.len, STAMP, strlen(STAMP)) != NULL;
    r->stamps_sought = true;
    return r->stamps;
}

/* Statements that name no timestamp are spared them: SQLite tells of 63 columns alone which ones it
 * uses. */
int table_find_stamped(struct run *r, const struct table_name *name, struct sql_table **out)
{
    struct table_column *columns;
    struct sql_table *t;
    size_t n;

    RUN_TRY(table_find(r, name, out));
    t = *out;
    n = t->column_count;
    if (run_is_tablestore(r) || !has_stamps(r))
        return 0;
    columns = ARENA_ARRAY(r->arena, struct table_column, 2 * n);
    memcpy(columns, t->columns, n * sizeof(*columns));
    t->columns = columns;
    for (size_t i = t->key_count; i < n; i++) {
        bytes stamp = arena_printf(r->arena, "%.*s" STAMP, RUN_TEXT(columns[i].name));

        if (table_column(t, stamp) == SIZE_MAX)
            columns[t->column_count++] = (struct table_column){
                .name = stamp, .type = WR_BIGINT, .stamp_of = columns[i].name};
    }
    t->hidden_count = t->column_count - n;
    return 0;
}

size_t table_column(const struct sql_table *t, bytes name)
{
    for (size_t i = 0; i < t->column_count; i++)
        if (run_is_name(t->any_case, t->columns[i].name, name))
            return i;
    return SIZE_MAX;
}

void table_label(struct run *r, struct sql_table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        struct table_column *c = &t->columns[i];

        c->label = c->name;
        for (size_t k = 0; k < i; k++)
            if (run_is_name(true, t->columns[k].name, c->name))
                c->label = arena_printf(r->arena, "%.*s %zu", RUN_TEXT(c->name), i);
    }
}

/* Types whose values lie in the same member. */
enum member {
    MEMBER_NONE,
    MEMBER_BOOLEAN,
    MEMBER_INTEGER,
    MEMBER_UNSIGNED,
    MEMBER_REAL,
    MEMBER_TEXT,
    MEMBER_BYTES,
    MEMBER_DECIMAL
};

static enum member member_of(enum wr_type type)
{
    switch (type) {
    case WR_BOOLEAN:
        return MEMBER_BOOLEAN;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return MEMBER_INTEGER;
    case WR_UBIGINT:
        return MEMBER_UNSIGNED;
    case WR_FLOAT:
    case WR_DOUBLE:
        return MEMBER_REAL;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        return MEMBER_TEXT;
    case WR_BINARY:
    case WR_VARBINARY:
        return MEMBER_BYTES;
    case WR_DECIMAL:
        return MEMBER_DECIMAL;
    default:
        return MEMBER_NONE;
    }
}

struct wr_value table_value(const struct sql_table *t, size_t column, const struct wr_row *row)
{
    return column < t->key_count ? row->key.columns[column].value : table_cell(t, column, row, 0);
}

/* Where to look for a column's newest version: mostly a row has each column once, and a table's
 * columns stand in the order of their names. 0: from the beginning. */
static size_t cell_guess(const struct sql_table *t, size_t column, const struct wr_row *row,
                         bytes name)
{
    size_t at = column - t->key_count;

    return at && at < row->cell_count && bytes_equal(row->cells[at].name, name) &&
                   !bytes_equal(row->cells[at - 1].name, name)
               ? at
               : 0;
}

struct wr_value table_cell(const struct sql_table *t, size_t column, const struct wr_row *row,
                           size_t version)
{
    const struct table_column *c = &t->columns[column];
    bytes name = table_cell_name(c);
    size_t i = cell_guess(t, column, row, name);
    struct wr_value v;

    while (i < row->cell_count && !(bytes_equal(row->cells[i].name, name) && !version--))
        i++;
    if (i == row->cell_count)
        return (struct wr_value){.type = WR_NULL};
    if (c->stamp_of.ptr)
        return (struct wr_value){.type = WR_BIGINT, .integer = row->cells[i].timestamp_ms};
    v = row->cells[i].value;
    if (v.type == c->type || c->type == WR_NULL)
        return v;
    if (member_of(v.type) != member_of(c->type))
        return (struct wr_value){.type = WR_NULL};
    v.type = c->type;
    return v;
}

size_t table_versions(const struct sql_table *t, size_t column, const struct wr_row *row)
{
    bytes name = table_cell_name(&t->columns[column]);
    size_t n = 0;

    for (size_t i = 0; i < row->cell_count; i++)
        n += bytes_equal(row->cells[i].name, name);
    return n;
}

int table_column_find(struct run *r, const struct sql_table *t, bytes name, const char *where,
                      size_t *out)
{
    *out = table_column(t, name);
    if (*out != SIZE_MAX)
        return 0;
    return run_fail(r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(name), RUN_TEXT(bytes_str(where)));
}

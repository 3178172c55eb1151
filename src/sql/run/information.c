#include "sql/run/information.h"

#include "base/buf.h"
#include "sql/calendar.h"
#include "sql/run/index.h"
#include "sql/run/temp_table.h"
#include "sql/run/type.h"

#include <sqlite3.h>

#define DATABASE BYTES_LIT("information_schema")

/* The table that is being filled. */
struct fill {
    struct run *r;
    const struct sql_table *of;
    sqlite3_stmt *insert;
    bytes database; /* whose rows they are */
    bool failed;
};

struct information {
    const char *name, *columns;
    void (*once)(struct fill *f);
    void (*each)(struct fill *f, const struct sql_table *t);
};

/* ---- rows ---- */

static int place_of(const struct fill *f, const char *column)
{
    return (int)table_column(f->of, bytes_str(column)) + 1;
}

static void put(struct fill *f, const char *column, bytes text)
{
    sqlite3_bind_text(f->insert, place_of(f, column), text.ptr, (int)text.len, SQLITE_TRANSIENT);
}

static void put_text(struct fill *f, const char *column, const char *text)
{
    put(f, column, bytes_str(text));
}

static void put_number(struct fill *f, const char *column, int64_t n)
{
    sqlite3_bind_int64(f->insert, place_of(f, column), n);
}

/* Columns without a value are NULL. */
static void row_end(struct fill *f)
{
    f->failed |= sqlite3_step(f->insert) != SQLITE_DONE;
    sqlite3_reset(f->insert);
    sqlite3_clear_bindings(f->insert);
}

static void put_table(struct fill *f, const struct sql_table *t)
{
    put_text(f, "TABLE_CATALOG", "def");
    put(f, "TABLE_SCHEMA", t->database);
    put(f, "TABLE_NAME", t->name);
}

/* ---- of databases ---- */

static void schemata_fill(struct fill *f)
{
    bytes *names;
    size_t count = information_databases(f->r, &names);

    for (size_t i = 0; i <= count; i++) {
        put_text(f, "CATALOG_NAME", "def");
        put(f, "SCHEMA_NAME", i < count ? names[i] : DATABASE);
        put_text(f, "DEFAULT_CHARACTER_SET_NAME", "utf8mb4");
        put_text(f, "DEFAULT_COLLATION_NAME", "utf8mb4_bin");
        row_end(f);
    }
}

static void processes_fill(struct fill *f)
{
    const struct processes *p = &f->r->session->conf.processes;
    struct process *list = NULL;
    size_t count = p->list ? p->list(p->arg, f->r->arena, &list) : 0;

    for (size_t i = 0; i < count; i++) {
        put_number(f, "ID", (int64_t)list[i].number);
        put(f, "USER", list[i].user);
        put(f, "HOST", list[i].host);
        if (list[i].database.len)
            put(f, "DB", list[i].database);
        put_text(f, "COMMAND", list[i].sql.ptr ? "Query" : "Sleep");
        put_number(f, "TIME", list[i].seconds);
        put_text(f, "STATE", "");
        put(f, "INFO", list[i].sql);
        row_end(f);
    }
}

static void keywords_fill(struct fill *f)
{
#define RESERVED 1
#define FREE 0
    static const struct {
        const char *word;
        int reserved;
    } words[] = {
#define WORD(name, kind) {#name, kind},
#include "sql/parse/keyword.def"
#undef WORD
    };
#undef RESERVED
#undef FREE

    for (size_t i = 0; i < PORT_COUNT(words); i++) {
        put_text(f, "WORD", words[i].word);
        put_number(f, "RESERVED", words[i].reserved);
        row_end(f);
    }
}

static void collations_fill(struct fill *f)
{
    put_text(f, "COLLATION_NAME", "utf8mb4_bin");
    put_text(f, "CHARACTER_SET_NAME", "utf8mb4");
    put_number(f, "ID", 46);
    put_text(f, "IS_DEFAULT", "Yes");
    put_text(f, "IS_COMPILED", "Yes");
    put_number(f, "SORTLEN", 1);
    row_end(f);
}

static void engines_fill(struct fill *f)
{
    put_text(f, "ENGINE", "Widerow");
    put_text(f, "SUPPORT", "DEFAULT");
    put_text(f, "COMMENT", "Wide tables");
    put_text(f, "TRANSACTIONS", "NO");
    put_text(f, "XA", "NO");
    put_text(f, "SAVEPOINTS", "NO");
    row_end(f);
}

/* ---- of tables ---- */

static void tables_fill(struct fill *f, const struct sql_table *t)
{
    char created[CALENDAR_TEXT];
    size_t n = calendar_format_timestamp(t->description->creation_us / 1000000 * 1000, created);
    bytes layout = t->description->layout;

    put_table(f, t);
    put_text(f, "TABLE_TYPE", "BASE TABLE");
    put_text(f, "ENGINE", "Widerow");
    put_number(f, "VERSION", 10);
    put_text(f, "ROW_FORMAT", "Dynamic");
    put(f, "CREATE_TIME", bytes_of(created, n));
    put_text(f, "TABLE_COLLATION", "utf8mb4_bin");
    put(f, "CREATE_OPTIONS", arena_printf(f->r->arena, "layout=%.*s", BYTES_FMT(layout)));
    put_text(f, "TABLE_COMMENT", "");
    row_end(f);
}

static bool is_indexed(const struct sql_table *t, bytes column)
{
    for (size_t i = 0; i < t->description->index_count; i++)
        if (bytes_equal(t->description->indexes[i].key_columns[0], column))
            return true;
    return false;
}

static void put_size(struct fill *f, const struct table_column *c)
{
    struct type_size size = type_size(c);

    if (size.text) {
        put_number(f, "CHARACTER_MAXIMUM_LENGTH", size.text);
        put_number(f, "CHARACTER_OCTET_LENGTH", size.text);
    }
    if (size.digits) {
        put_number(f, "NUMERIC_PRECISION", size.digits);
        if (size.exact)
            put_number(f, "NUMERIC_SCALE", size.fraction);
    }
    if (c->type == WR_TIMESTAMP || c->type == WR_TIME)
        put_number(f, "DATETIME_PRECISION", 3);
}

static void columns_fill(struct fill *f, const struct sql_table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];
        bool key = i < t->key_count;

        put_table(f, t);
        put(f, "COLUMN_NAME", c->name);
        put_number(f, "ORDINAL_POSITION", (int64_t)i + 1);
        if (c->declared && c->declared->with)
            put(f, "COLUMN_DEFAULT",
                c->declared->with == DEFAULT_NOW ? BYTES_LIT("CURRENT_TIMESTAMP")
                                                 : c->declared->text);
        put_text(f, "IS_NULLABLE", key || (c->declared && c->declared->not_null) ? "NO" : "YES");
        put_text(f, "DATA_TYPE", type_mysql_name(c->type));
        put_size(f, c);
        if (type_is_text(c->type)) {
            put_text(f, "CHARACTER_SET_NAME", "utf8mb4");
            put_text(f, "COLLATION_NAME", "utf8mb4_bin");
        }
        put(f, "COLUMN_TYPE", type_mysql_text(f->r->arena, c));
        put_text(f, "COLUMN_KEY", key ? "PRI" : is_indexed(t, c->name) ? "MUL" : "");
        put_text(f, "EXTRA", "");
        put_text(f, "PRIVILEGES", "select,insert,update");
        put_text(f, "COLUMN_COMMENT", "");
        put_text(f, "GENERATION_EXPRESSION", "");
        row_end(f);
    }
}

/* `place` from 0. */
static void statistics_put(struct fill *f, const struct sql_table *t, bytes index, size_t place,
                           bytes column, bool descending)
{
    bool primary = bytes_equal(index, BYTES_LIT("PRIMARY"));

    put_table(f, t);
    put_number(f, "NON_UNIQUE", !primary);
    put(f, "INDEX_SCHEMA", t->database);
    put(f, "INDEX_NAME", index);
    put_number(f, "SEQ_IN_INDEX", (int64_t)place + 1);
    put(f, "COLUMN_NAME", column);
    put_text(f, "COLLATION", descending ? "D" : "A");
    put_text(f, "NULLABLE", table_column(t, column) < t->key_count ? "" : "YES");
    put_text(f, "INDEX_TYPE", "BTREE");
    put_text(f, "COMMENT", "");
    put_text(f, "INDEX_COMMENT", "");
    row_end(f);
}

static void statistics_fill(struct fill *f, const struct sql_table *t)
{
    const struct wr_table_description *d = t->description;

    for (size_t i = 0; i < d->key_count; i++)
        statistics_put(f, t, BYTES_LIT("PRIMARY"), i, d->key[i].name, d->key[i].descending);
    for (size_t i = 0; i < d->index_count; i++)
        for (size_t k = 0; k < d->indexes[i].key_column_count; k++)
            statistics_put(f, t, d->indexes[i].name, k, d->indexes[i].key_columns[k],
                           index_descends(d, &d->indexes[i], k));
}

static void put_constraint(struct fill *f, const struct sql_table *t)
{
    put_text(f, "CONSTRAINT_CATALOG", "def");
    put(f, "CONSTRAINT_SCHEMA", t->database);
    put_text(f, "CONSTRAINT_NAME", "PRIMARY");
}

static void key_usage_fill(struct fill *f, const struct sql_table *t)
{
    for (size_t i = 0; i < t->key_count; i++) {
        put_table(f, t);
        put_constraint(f, t);
        put(f, "COLUMN_NAME", t->columns[i].name);
        put_number(f, "ORDINAL_POSITION", (int64_t)i + 1);
        row_end(f);
    }
}

static void constraints_fill(struct fill *f, const struct sql_table *t)
{
    put_constraint(f, t);
    put(f, "TABLE_SCHEMA", t->database);
    put(f, "TABLE_NAME", t->name);
    put_text(f, "CONSTRAINT_TYPE", "PRIMARY KEY");
    put_text(f, "ENFORCED", "YES");
    row_end(f);
}

/* ---- filling ---- */

static const struct information informations[] = {
#define INFORMATION(name, once, each, columns) {#name, columns, once, each},
#include "sql/run/information.def"
#undef INFORMATION
};

size_t information_databases(struct run *r, bytes **out)
{
    const struct access *access = &r->session->conf.access;

    if (access->databases)
        return access->databases(access->arg, r->arena, out);
    *out = &r->session->database;
    return r->session->database.len > 0;
}

/* Tables of a database. One that was dropped a moment ago is passed over. */
static int tables_find(struct fill *f, const struct wr_table_list *list, struct sql_table **out,
                       size_t *count)
{
    for (size_t i = 0; i < list->count; i++) {
        struct table_name of = {.database = f->database, .table = list->tables[i]};

        if (f->r->about.ptr && !bytes_equal(f->r->about, of.table))
            continue;
        if (!table_find(f->r, &of, &out[*count]))
            ++*count;
        run_forgive(f->r, FAULT_UNKNOWN_TABLE);
        if (f->r->out->fault.number)
            return -1;
    }
    return 0;
}

/* An index is listed as a table, too, but tools would take it for one. */
static bool is_index(struct sql_table *const *tables, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i]->description->index_count; k++)
            if (bytes_equal(tables[i]->description->indexes[k].name, name))
                return true;
    return false;
}

static int fill_database(struct fill *f)
{
    const struct information *information = f->of->information;
    struct wr_request request = {WR_REQUEST(LIST_TABLE), .instance = f->database};
    const struct access *access = &f->r->session->conf.access;
    const struct wr_reply *reply;
    struct sql_table **found;
    struct wr_table_list list;
    size_t count = 0;
    struct ctx c;
    int code;

    RUN_TRY(run_request(f->r, &request, &reply));
    ctx_init(&c, f->r->session->conf.clock, NULL, NULL, 0);
    list = access->visible(access->arg, &c, f->database, &reply->table_list);
    found = ARENA_ARRAY(f->r->arena, struct sql_table *, list.count + 1);
    code = tables_find(f, &list, found, &count);
    for (size_t i = 0; i < count && !code; i++)
        if (!is_index(found, count, found[i]->name))
            information->each(f, found[i]);
    ctx_release(&c);
    return code;
}

static int rows_fill(struct fill *f)
{
    const struct information *i = f->of->information;
    size_t count;
    bytes *names;

    if (i->once)
        i->once(f);
    if (!i->each)
        return 0;
    count = information_databases(f->r, &names);
    for (size_t n = 0; n < count; n++) {
        f->database = names[n];
        RUN_TRY(fill_database(f));
    }
    return 0;
}

static sqlite3_stmt *table_make(struct run *r, sqlite3 *sqlite, const struct sql_table *t,
                                bytes name)
{
    struct buf columns;

    buf_init(&columns, r->arena, 512);
    for (size_t i = 0; i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];

        buf_put_bytes(&columns,
                      arena_printf(r->arena, "%s\"%.*s\" %s", i ? ", " : "", RUN_TEXT(c->name),
                                   c->type == WR_BIGINT ? "integer" : "text"));
    }
    return temp_table_make(r, sqlite, name, buf_bytes(&columns), t->column_count);
}

int information_fill(struct run *r, struct sqlite3 *sqlite, const struct sql_table *t, bytes name)
{
    struct fill f = {.r = r, .of = t, .insert = table_make(r, sqlite, t, name)};
    int code;

    if (!f.insert)
        return run_fail(r, FAULT_SQLITE, sqlite3_errmsg(sqlite));
    code = rows_fill(&f);
    sqlite3_finalize(f.insert);
    if (!code && f.failed)
        return run_fail(r, FAULT_SQLITE, sqlite3_errmsg(sqlite));
    return code;
}

/* ---- finding ---- */

bool information_is(const struct table_name *name)
{
    return run_is_name(true, name->database, DATABASE);
}

static void columns_read(struct run *r, const struct information *i, struct sql_table *t)
{
    bytes rest = bytes_str(i->columns);

    t->columns = ARENA_ARRAY(r->arena, struct table_column, rest.len);
    while (rest.len) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        size_t n = comma ? (size_t)(comma - (const char *)rest.ptr) : rest.len;
        bool number = bytes_u8(rest)[n - 1] == '#';

        t->columns[t->column_count++] = (struct table_column){
            .name = bytes_of(rest.ptr, n - number), .type = number ? WR_BIGINT : WR_VARCHAR};
        rest = bytes_skip(rest, comma ? n + 1 : n);
    }
}

int information_find(struct run *r, const struct table_name *name, struct sql_table **out)
{
    struct sql_table *t = ARENA_NEW(r->arena, struct sql_table);

    for (size_t i = 0; i < PORT_COUNT(informations); i++)
        if (run_is_word(name->table, informations[i].name)) {
            *t = (struct sql_table){.database = DATABASE,
                                    .name = bytes_str(informations[i].name),
                                    .any_case = true,
                                    .information = &informations[i]};
            columns_read(r, &informations[i], t);
            *out = t;
            return 0;
        }
    return run_fail(r, FAULT_UNKNOWN_TABLE, RUN_TEXT(DATABASE), RUN_TEXT(name->table));
}

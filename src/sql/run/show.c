/* show.c: SHOW and DESCRIBE: tables of texts. */
#include "sql/run/index.h"
#include "sql/run/information.h"
#include "sql/run/like.h"
#include "sql/run/quote.h"
#include "sql/run/show_where.h"
#include "sql/run/table.h"
#include "sql/run/texts.h"
#include "sql/run/type.h"
#include "sql/run/variable.h"
#include "sql/run/warning.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

int run_show_tables(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(LIST_TABLE)};
    const struct access *access = &r->session->conf.access;
    const struct wr_reply *reply;
    struct wr_table_list list;
    const char *head;
    struct ctx c;
    int code = 0;

    RUN_TRY(table_database(r, &s->table, &request.instance));
    RUN_TRY(run_request(r, &request, &reply));
    head = arena_printf(r->arena, "Tables_in_%.*s", RUN_TEXT(request.instance)).ptr;
    RUN_TRY(texts_columns(r, (const char *[]){head, NULL}));
    ctx_init(&c, r->session->conf.clock, NULL, NULL, 0);
    list = access->visible(access->arg, &c, request.instance, &reply->table_list);
    for (size_t i = 0; i < list.count && !code; i++)
        if (!s->pattern.ptr || is_like(list.tables[i], s->pattern))
            code = texts_row(r, &list.tables[i], 1);
    ctx_release(&c);
    return code;
}

static int show_variables(struct run *r, const struct statement *s)
{
    bytes pair[2];

    RUN_TRY(texts_columns(r, (const char *[]){"Variable_name", "Value", NULL}));
    for (size_t i = 0; variable_at(r->session, i, &pair[0], &pair[1]); i++)
        if (!s->pattern.ptr || is_like(pair[0], s->pattern))
            RUN_TRY(texts_row(r, pair, 2));
    return 0;
}

/* What this connection's statements cost, in capacity units. */
static int show_status(struct run *r, const struct statement *s)
{
    const struct session *of = r->session;
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"Widerow_last_read_units", of->last.read},
                {"Widerow_last_write_units", of->last.written},
                {"Widerow_read_units", of->all.read},
                {"Widerow_write_units", of->all.written}};

    RUN_TRY(texts_columns(r, (const char *[]){"Variable_name", "Value", NULL}));
    for (size_t i = 0; i < PORT_COUNT(rows); i++)
        if (!s->pattern.ptr || is_like(bytes_str(rows[i].name), s->pattern))
            RUN_TRY(texts_row(r,
                              (bytes[]){bytes_str(rows[i].name),
                                        arena_printf(r->arena, "%" PRId64, rows[i].value)},
                              2));
    return 0;
}

static int variable_send(struct run *r, bytes name, bytes value, bytes pattern)
{
    return pattern.ptr && !is_like(name, pattern) ? 0 : texts_row(r, (bytes[]){name, value}, 2);
}

/* The options that a table has, given or not. */
static int show_table_variables(struct run *r, const struct statement *s)
{
    const struct wr_table_description *d;
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    d = t->description;
    RUN_TRY(texts_columns(r, (const char *[]){"VARIABLE_NAME", "VARIABLE_VALUE", NULL}));
    RUN_TRY(variable_send(r, BYTES_LIT("LAYOUT"), d->layout.len ? d->layout : BYTES_LIT("plain"),
                          s->pattern));
    RUN_TRY(variable_send(r, BYTES_LIT("TTL"), arena_printf(r->arena, "%d", d->options.ttl_s),
                          s->pattern));
    RUN_TRY(variable_send(r, BYTES_LIT("VERSIONS"),
                          arena_printf(r->arena, "%d", d->options.max_versions), s->pattern));
    RUN_TRY(variable_send(r, BYTES_LIT("TRANSACTIONS"),
                          d->local_transactions ? BYTES_LIT("true") : BYTES_LIT("false"),
                          s->pattern));
    RUN_TRY(variable_send(r, BYTES_LIT("DYNAMIC_COLUMNS"),
                          t->declared.dynamic ? BYTES_LIT("true") : BYTES_LIT("false"),
                          s->pattern));
    for (size_t i = 0; i < t->declared.option_count; i++)
        RUN_TRY(variable_send(r, t->declared.options[i].name, t->declared.options[i].value,
                              s->pattern));
    return 0;
}

int run_describe(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(texts_columns(r, (const char *[]){"TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "TYPE",
                                              "IS_PRIMARY_KEY", "SORT_ORDER", NULL}));
    for (size_t i = 0; i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];
        bool key = i < t->key_count;
        bytes texts[] = {t->database,
                         t->name,
                         c->name,
                         type_text(r->arena, c),
                         key ? BYTES_LIT("true") : BYTES_LIT("false"),
                         !key            ? BYTES_LIT("none")
                         : c->descending ? BYTES_LIT("DESC")
                                         : BYTES_LIT("ASC")};

        RUN_TRY(texts_row(r, texts, PORT_COUNT(texts)));
    }
    return 0;
}

static void put_names(struct buf *b, const bytes *names, size_t count)
{
    buf_put_u8(b, '(');
    for (size_t i = 0; i < count; i++) {
        quote_put(b, names[i], '`');
        buf_put_bytes(b, i + 1 < count ? BYTES_LIT(", ") : BYTES_LIT(")"));
    }
}

static void put_index(struct buf *b, const struct wr_table_description *d,
                      const struct wr_index_meta *ix)
{
    buf_put_bytes(b, BYTES_LIT(",\n  KEY "));
    quote_put(b, ix->name, '`');
    buf_put_bytes(b, BYTES_LIT(" ("));
    if (ix->hashed) {
        buf_put_bytes(b, BYTES_LIT("hash32"));
        put_names(b, ix->key_columns, ix->hashed);
        buf_put_bytes(b, BYTES_LIT(", "));
    }
    for (size_t i = 0; i < ix->key_column_count; i++) {
        quote_put(b, ix->key_columns[i], '`');
        buf_put_bytes(b, index_descends(d, ix, i) ? BYTES_LIT(" DESC") : BYTES_LIT(""));
        buf_put_bytes(b, i + 1 < ix->key_column_count ? BYTES_LIT(", ") : BYTES_LIT(")"));
    }
    if (!ix->defined_column_count)
        return;
    buf_put_bytes(b, BYTES_LIT(" INCLUDE "));
    put_names(b, ix->defined_columns, ix->defined_column_count);
}

static void put_text(struct buf *b, bytes text)
{
    buf_put_u8(b, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (bytes_u8(text)[i] == '\'' || bytes_u8(text)[i] == '\\')
            buf_put_u8(b, bytes_u8(text)[i]);
        buf_put_u8(b, bytes_u8(text)[i]);
    }
    buf_put_u8(b, '\'');
}

static void put_lowered(struct buf *b, bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_put_u8(b, (uint8_t)tolower(bytes_u8(text)[i]));
}

static void put_declared(struct buf *b, struct arena *a, const struct table_column *c, bool key)
{
    const struct declared_column *said = c->declared;

    put_lowered(b, type_text(a, c)); /* as MySQL's: programs that read it know no others */
    buf_put_bytes(b, key || (said && said->not_null) ? BYTES_LIT(" NOT NULL") : BYTES_LIT(""));
    if (said && said->with == DEFAULT_NOW)
        buf_put_bytes(b, BYTES_LIT(" DEFAULT NOW()"));
    if (said && said->with == DEFAULT_TEXT) {
        buf_put_bytes(b, BYTES_LIT(" DEFAULT "));
        put_text(b, said->text);
    }
    buf_put_bytes(b, BYTES_LIT(",\n"));
}

bytes show_create_text(struct run *r, const struct sql_table *t)
{
    const struct wr_table_options *o = &t->description->options;
    bytes layout = t->description->layout;
    struct buf b;

    buf_init(&b, r->arena, 256);
    buf_put_bytes(&b, BYTES_LIT("CREATE TABLE "));
    quote_put(&b, t->name, '`');
    buf_put_bytes(&b, BYTES_LIT(" (\n"));
    for (size_t i = 0; i < t->column_count; i++) {
        buf_put_bytes(&b, BYTES_LIT("  "));
        quote_put(&b, t->columns[i].name, '`');
        buf_put_u8(&b, ' ');
        put_declared(&b, r->arena, &t->columns[i], i < t->key_count);
    }
    buf_put_bytes(&b, BYTES_LIT("  PRIMARY KEY ("));
    for (size_t i = 0; i < t->key_count; i++) {
        quote_put(&b, t->columns[i].name, '`');
        buf_put_bytes(&b, t->columns[i].descending ? BYTES_LIT(" DESC") : BYTES_LIT(""));
        buf_put_bytes(&b, i + 1 < t->key_count ? BYTES_LIT(", ") : BYTES_LIT(")"));
    }
    for (size_t i = 0; i < t->description->index_count; i++)
        put_index(&b, t->description, &t->description->indexes[i]);
    buf_put_u8(&b, '\n');
    buf_put_bytes(&b, arena_printf(r->arena, ") WITH (TTL = '%d', VERSIONS = '%d'", o->ttl_s,
                                   o->max_versions));
    if (layout.len && !bytes_equal(layout, BYTES_LIT("plain")))
        buf_put_bytes(&b, arena_printf(r->arena, ", LAYOUT = '%.*s'", RUN_TEXT(layout)));
    if (t->description->local_transactions)
        buf_put_bytes(&b, BYTES_LIT(", TRANSACTIONS = 'true'"));
    if (t->declared.dynamic)
        buf_put_bytes(&b, BYTES_LIT(", DYNAMIC_COLUMNS = 'true'"));
    for (size_t i = 0; i < t->declared.option_count; i++) {
        buf_put_bytes(&b,
                      arena_printf(r->arena, ", %.*s = ", RUN_TEXT(t->declared.options[i].name)));
        put_text(&b, t->declared.options[i].value);
    }
    buf_put_u8(&b, ')');
    return buf_bytes(&b);
}

static int show_create_table(struct run *r, const struct statement *s)
{
    struct sql_table *t;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(texts_columns(r, (const char *[]){"Table", "Create Table", NULL}));
    return texts_row(r, (bytes[]){t->name, show_create_text(r, t)}, 2);
}

static int show(struct run *r, const struct statement *s)
{
    switch (s->show) {
    case SHOW_TABLES:
        return s->full ? information_show(r, s) : run_show_tables(r, s);
    case SHOW_INDEX:
        return s->full ? information_show(r, s) : run_show_index(r, s);
    case SHOW_CREATE_TABLE:
        return show_create_table(r, s);
    case SHOW_VARIABLES:
        return show_variables(r, s);
    case SHOW_TABLE_VARIABLES:
        return show_table_variables(r, s);
    case SHOW_WARNINGS:
        return warnings_show(r, false);
    case SHOW_OTHER:
        if (run_is_word(s->name, "ERRORS"))
            return warnings_show(r, true);
        if (run_is_word(s->name, "USERS") || run_is_word(s->name, "PRIVILEGES") ||
            run_is_word(s->name, "GRANTS"))
            return run_show_users(r, s);
        return run_is_word(s->name, "STATUS") ? show_status(r, s) : information_show(r, s);
    default:
        return information_show(r, s);
    }
}

int run_show(struct run *r, const struct statement *s)
{
    struct show_where where;

    if (!s->where)
        return show(r, s);
    show_where_begin(&where, r);
    if (!show(r, s))
        return show_where_send(&where, s->where);
    show_where_drop(&where);
    return -1;
}

/* select.c: SELECT. One of a full key without functions is a GetRow; any other is written out for
 * SQLite (render.h), which walks tables by scan.h. Each session has an SQLite connection of its
 * own, with nothing in it but virtual tables, made when it is first needed. */
#include "sql/run/aggregate.h"
#include "sql/run/compute.h"
#include "sql/run/convert.h"
#include "sql/run/function.h"
#include "sql/run/heap.h"
#include "sql/run/hint.h"
#include "sql/run/information.h"
#include "sql/run/scan.h"
#include "sql/run/select.h"
#include "sql/run/temp_table.h"
#include "sql/run/transaction.h"
#include "sql/run/undeclared.h"
#include "sql/run/where.h"

#include <sqlite3.h>

#define STATEMENT_MEMORY_SHARE 4 /* of what requests may hold, for statements that compute */
#define STEPS_BETWEEN_LOOKS 10000
#define VALUE_BYTES_MAX (64 << 20) /* of a text or blob that a statement makes */

struct select_engine {
    sqlite3 *sqlite;
    struct scan_module module;
};

/* ---- the connection ---- */

void session_memory_bound(struct wr_db *db)
{
    heap_bound((int64_t)(wr_memory_max(db) / STATEMENT_MEMORY_SHARE));
}

bool session_memory_short(void)
{
    return heap_is_short();
}

int select_fail(struct run *r, sqlite3 *sqlite)
{
    if (!sqlite || sqlite3_errcode(sqlite) == SQLITE_NOMEM)
        return run_fail(r, FAULT_MEMORY);
    if (strstr(sqlite3_errmsg(sqlite), "parser stack overflow"))
        return run_fail(r, FAULT_UNSUPPORTED, "SELECTs are nested too deep in the statement");
    if (strstr(sqlite3_errmsg(sqlite), "integer overflow"))
        return run_fail(r, FAULT_SUM_RANGE);
    if (strstr(sqlite3_errmsg(sqlite), "JSON"))
        return run_fail(r, FAULT_JSON, sqlite3_errmsg(sqlite));
    return run_fail(r, FAULT_SQLITE, sqlite3_errmsg(sqlite));
}

/* SQLite asks now and then: not 0 ends the statement. */
static int on_progress(void *arg)
{
    const struct scan_module *m = arg;

    return run_interrupted(m->run);
}

static int engine_open(struct run *r, struct select_engine **out)
{
    struct select_engine *e = r->session->select;

    if (!e) {
        e = mem_zalloc(sizeof(*e));
        if (sqlite3_open_v2(":memory:", &e->sqlite,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                            NULL) ||
            scan_register(e->sqlite, &e->module) || function_register(e->sqlite, &e->module) ||
            sqlite3_exec(e->sqlite, "pragma case_sensitive_like = on; pragma temp_store = file",
                         NULL, NULL, NULL)) {
            select_fail(r, e->sqlite);
            sqlite3_close(e->sqlite);
            mem_free(e);
            return -1;
        }
        sqlite3_limit(e->sqlite, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
        sqlite3_progress_handler(e->sqlite, STEPS_BETWEEN_LOOKS, on_progress, &e->module);
        r->session->select = e;
    }
    e->module.run = r;
    *out = e;
    return 0;
}

int select_sqlite(struct run *r, sqlite3 **out)
{
    struct select_engine *e;

    RUN_TRY(engine_open(r, &e));
    *out = e->sqlite;
    return 0;
}

void select_engine_free(struct select_engine *e)
{
    if (!e)
        return;
    sqlite3_close(e->sqlite);
    mem_free(e);
}

/* Virtual tables are those of one statement, so that they are declared as the tables are now. */
static int tables_make(struct run *r, struct select_engine *e, struct rendered_table *tables)
{
    e->module.tables = tables;
    for (const struct rendered_table *t = tables; t; t = t->next) {
        char *sql;
        int code;

        if (t->table->information) {
            RUN_TRY(information_fill(r, e->sqlite, t->table, t->name));
            continue;
        }
        sql =
            sqlite3_mprintf("create virtual table temp.\"%.*w\" using widerow", RUN_TEXT(t->name));
        code = sqlite3_exec(e->sqlite, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
        if (code)
            return select_fail(r, e->sqlite);
    }
    return 0;
}

static void tables_drop(struct select_engine *e, const struct rendered_table *tables)
{
    for (const struct rendered_table *t = tables; t; t = t->next)
        temp_table_drop(e->sqlite, t->name);
    e->module.tables = NULL;
}

/* ---- rows ---- */

/* `dealt` NULL: to the sink. */
static int row_send(struct run *r, sqlite3_stmt *statement, const struct rendered *made,
                    struct undeclared_rows *dealt, struct wr_value *values)
{
    struct arena row;
    int code;

    arena_init(&row, NULL, 0);
    for (size_t i = 0; i < made->column_count; i++)
        scan_value(&row, sqlite3_column_value(statement, (int)i), made->columns[i].type,
                   &values[i]);
    code = dealt ? undeclared_rows_add(dealt, values) : r->sink->row(r->sink, values);
    arena_release(&row);
    return code;
}

static enum wr_type type_of_value(int type)
{
    switch (type) {
    case SQLITE_INTEGER:
        return WR_BIGINT;
    case SQLITE_FLOAT:
        return WR_DOUBLE;
    case SQLITE_BLOB:
        return WR_VARBINARY;
    case SQLITE_TEXT:
        return WR_VARCHAR;
    default:
        return WR_VARCHAR; /* which the values of later rows can be, whatever they are */
    }
}

/* Columns whose types are not known have those of the first row's values; `row` NULL: there is
 * none. */
static void types_guess(sqlite3_stmt *row, struct rendered *made)
{
    for (size_t i = 0; i < made->column_count; i++) {
        struct column *c = &made->columns[i];
        int type = row ? sqlite3_column_type(row, (int)i) : SQLITE_NULL;

        if (c->undeclared)
            c->type = type == SQLITE_BLOB ? WR_VARBINARY : WR_VARCHAR;
        else if (c->type == WR_NULL)
            c->type = !row && c->likely ? c->likely : type_of_value(type);
    }
}

static int rows_send(struct run *r, struct select_engine *e, sqlite3_stmt *statement,
                     struct rendered *made)
{
    struct wr_value *values = ARENA_ARRAY(r->arena, struct wr_value, made->column_count);
    struct undeclared_rows *dealt = NULL;
    int code = sqlite3_step(statement);

    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return select_fail(r, e->sqlite);
    if (!run_is_tablestore(r))
        types_guess(code == SQLITE_ROW ? statement : NULL, made);
    if (made->has_rest)
        dealt = undeclared_rows_new(r, made->columns, made->column_count);
    else
        RUN_TRY(r->sink->columns(r->sink, made->columns, made->column_count));
    for (; code == SQLITE_ROW; code = sqlite3_step(statement))
        RUN_TRY(row_send(r, statement, made, dealt, values));
    if (code != SQLITE_DONE)
        return select_fail(r, e->sqlite);
    return dealt ? undeclared_rows_send(dealt) : 0;
}

static int refused(struct run *r, const struct select_engine *e)
{
    const struct sql_table *t = e->module.refused;

    return run_fail(r, FAULT_INEFFICIENT, RUN_TEXT(bytes_skip(r->sql, r->explained)),
                    RUN_TEXT(t->columns[0].name), RUN_TEXT(e->module.advice));
}

static int run_prepared(struct run *r, struct select_engine *e, struct rendered *made)
{
    sqlite3_stmt *statement = NULL;
    int code;

    RUN_TRY(tables_make(r, e, made->tables));
    e->module.refused = NULL;
    run_permit_take(r->session); /* planning computes, too */
    if (sqlite3_prepare_v2(e->sqlite, made->sql.ptr, (int)made->sql.len + 1, &statement, NULL)) {
        run_permit_give(r->session);
        return e->module.refused ? refused(r, e) : select_fail(r, e->sqlite);
    }
    code = rows_send(r, e, statement, made);
    run_permit_give(r->session);
    sqlite3_finalize(statement);
    return code;
}

/* Before there are rows. Which undeclared columns there are, rows show. */
static int columns_tell(struct run *r, struct rendered *made)
{
    if (made->has_rest)
        return 0;
    types_guess(NULL, made);
    return r->sink->columns(r->sink, made->columns, made->column_count);
}

static int check_forced(struct run *r, const struct rendered *made, bytes index)
{
    for (const struct rendered_table *t = made->tables; t; t = t->next)
        if (path_find(t->paths, t->path_count, index))
            return 0;
    return index.ptr ? run_fail(r, FAULT_UNKNOWN_INDEX, RUN_TEXT(index)) : 0;
}

typedef int prepared_fn(struct run *r, struct select_engine *e, struct rendered *made);

static int run_sqlite(struct run *r, const struct select *s, const struct hints *hints,
                      const struct span *span, prepared_fn *run)
{
    struct select_engine *e;
    struct rendered made;
    int code;

    r->versions = span->versions > 1;
    RUN_TRY(render_select(r, s, &made));
    if (r->only_columns)
        return columns_tell(r, &made);
    RUN_TRY(check_forced(r, &made, hints->force_index));
    RUN_TRY(engine_open(r, &e));
    e->module.wishes = (struct plan_wishes){
        .conditions = made.conditions,
        .allow_filtering = hints->allow_filtering || s->allow_filtering || run_is_tablestore(r),
        .ignore_indexes = hints->ignore_indexes,
        .force_index = hints->force_index,
        .versions = !span_is_plain(span)};
    e->module.span = *span;
    code = run(r, e, &made);
    tables_drop(e, made.tables);
    return code;
}

/* ---- EXPLAIN ---- */

/* Walks the statement as far as a page of each part, and shows no row of it. */
static int walks_make(struct run *r, struct select_engine *e, sqlite3_stmt *statement)
{
    int code = SQLITE_ROW;

    run_permit_take(r->session);
    while (code == SQLITE_ROW)
        code = sqlite3_step(statement);
    run_permit_give(r->session);
    return code == SQLITE_DONE ? 0 : select_fail(r, e->sqlite);
}

static int explain_prepared(struct run *r, struct select_engine *e, struct rendered *made)
{
    struct walks walks = {.pages = 0};
    sqlite3_stmt *statement = NULL;
    struct fault refusal;
    int code;

    RUN_TRY(tables_make(r, e, made->tables));
    e->module.refused = NULL;
    if (sqlite3_prepare_v2(e->sqlite, made->sql.ptr, (int)made->sql.len + 1, &statement, NULL)) {
        if (!e->module.refused)
            return select_fail(r, e->sqlite);
        refused(r, e);
        refusal = r->out->fault;
        r->out->fault = (struct fault){.number = 0};
        return walks_refuse(r, e->module.refused, refusal.text);
    }
    e->module.walks = &walks;
    code = walks_make(r, e, statement);
    e->module.walks = NULL;
    sqlite3_finalize(statement);
    return code ? code : walks_send(r, &walks);
}

/* FORCE INDEX is that hint, said elsewhere. */
static int select_hints(struct run *r, const struct select *s, struct hints *out)
{
    RUN_TRY(hints_read(r, s->hints, out));
    for (const struct from_item *f = s->from ? s->from->first : NULL; f; f = f->next)
        if (f->force.ptr)
            out->force_index = f->force;
    return 0;
}

int run_explain(struct run *r, const struct statement *s)
{
    struct hints hints;
    struct span span;

    if (s->name.ptr && !run_is_word(s->name, "PLAN") && !run_is_word(s->name, "TYPE") &&
        !run_is_word(s->name, "WITHOUT"))
        return run_fail(r, FAULT_UNSUPPORTED,
                        "EXPLAIN [PLAN] [WITH TYPE | WITHOUT IMPLEMENTATION] [FOR] SELECT is "
                        "served: it walks as far as a page");
    if (r->only_columns)
        return walks_columns(r);
    r->explained = s->select->at;
    RUN_TRY(select_hints(r, s->select, &hints));
    RUN_TRY(span_read(r, &hints, &span));
    return run_sqlite(r, s->select, &hints, &span, explain_prepared);
}

/* ---- values ---- */

int compute_value(struct run *r, const struct expr *e, struct wr_value *out)
{
    struct select_engine *engine;
    sqlite3_stmt *statement = NULL;
    struct wr_value v;
    enum wr_type type;
    int code = -1;
    bytes sql;

    if (convert_constant(r, e, out))
        return 0;
    if (r->deferred)
        return run_whole(r);
    RUN_TRY(render_value(r, e, &sql, &type));
    RUN_TRY(engine_open(r, &engine));
    if (sqlite3_prepare_v2(engine->sqlite, sql.ptr, (int)sql.len + 1, &statement, NULL) ||
        sqlite3_step(statement) != SQLITE_ROW) {
        select_fail(r, engine->sqlite);
    } else {
        scan_value(r->arena, sqlite3_column_value(statement, 0), type, &v);
        *out = convert_copy(r->arena, &v);
        code = 0;
    }
    sqlite3_finalize(statement);
    return code;
}

/* ---- one row ---- */

/* The items, if they are nothing but columns: which ones. */
static bool items_are_columns(struct run *r, const struct sql_table *t, const struct select *s,
                              size_t **columns, size_t *count)
{
    const struct expr_item *first = s->items->first;

    if (first->expr->type == EXPR_STAR && !first->next && !first->expr->of.ptr) {
        if (t->declared.dynamic && !t->any_case)
            return false;
        *count = table_shown_count(t);
        *columns = ARENA_ARRAY(r->arena, size_t, *count);
        for (size_t i = 0; i < *count; i++)
            (*columns)[i] = table_shown(t, i);
        return true;
    }
    *columns = ARENA_ARRAY(r->arena, size_t, s->items->count);
    *count = 0;
    for (const struct expr_item *i = first; i; i = i->next) {
        size_t *column = &(*columns)[(*count)++];

        if (i->expr->type != EXPR_COLUMN || i->expr->of.ptr)
            return false;
        *column = table_column(t, i->expr->text);
        if (*column == SIZE_MAX)
            return false;
    }
    return true;
}

static bool is_plain(const struct select *s)
{
    return s->from && s->from->count == 1 && !s->from->first->select &&
           !information_is(&s->from->first->name) && !s->from->first->alias.ptr && s->where &&
           !s->group && !s->having && !s->limit && !s->offset && !s->all_of;
}

static void columns_describe(const struct sql_table *t, const struct select *s,
                             const size_t *columns, size_t count, struct column *out)
{
    const struct expr_item *item = s->items->count == count ? s->items->first : NULL;

    for (size_t i = 0; i < count; i++, item = item ? item->next : NULL) {
        const struct table_column *column = &t->columns[columns[i]];

        out[i] = (struct column){.database = t->database,
                                 .table = t->name,
                                 .name = item && item->name.ptr ? item->name : column->name,
                                 .stored_name = column->name,
                                 .type = column->type,
                                 .key = columns[i] < t->key_count,
                                 .not_null = columns[i] < t->key_count};
    }
}

struct point {
    const struct sql_table *table;
    const struct span *span;
    const size_t *columns;
    const struct column *described;
    size_t count;
};

static int point_end(struct run *r, void *of, const struct wr_reply *reply)
{
    const struct point *p = of;
    struct wr_value *values;

    if (reply->code)
        return run_fail_reply(r, reply);
    RUN_TRY(run_read(r, p->table->name, &reply->row.consumed, 1));
    RUN_TRY(r->sink->columns(r->sink, p->described, p->count));
    if (!span_sees(p->span, &reply->row.row))
        return 0;
    values = ARENA_ARRAY(r->arena, struct wr_value, p->count);
    for (size_t i = 0; i < p->count; i++)
        values[i] = table_value(p->table, p->columns[i], &reply->row.row);
    return r->sink->row(r->sink, values);
}

/* A GetRow, when the statement is no more than that; *served tells. `span` is in the arena. */
static int run_point(struct run *r, const struct select *s, const struct span *span, bool *served)
{
    struct wr_request request = {WR_REQUEST(GET_ROW)};
    struct point *p = ARENA_NEW(r->arena, struct point);
    struct wr_bytes *names;
    struct column *described;
    struct sql_table *t;
    size_t *columns, count;
    struct wr_key key;
    bool empty;

    *served = false;
    if (!is_plain(s) || span->versions > 1)
        return 0;
    RUN_TRY(table_find_stamped(r, &s->from->first->name, &t));
    if (!where_is_key(r, t, s->where, &key, &empty) ||
        !items_are_columns(r, t, s, &columns, &count))
        return 0;
    *served = true;
    described = ARENA_ARRAY(r->arena, struct column, count);
    columns_describe(t, s, columns, count, described);
    names = ARENA_ARRAY(r->arena, struct wr_bytes, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = table_cell_name(&t->columns[columns[i]]);
    names[count] = t->columns[0].name; /* so that a row without the columns is seen */
    request.instance = t->database;
    request.get_row = (struct wr_get_row){
        .table = t->name, .key = key, .read = {.columns = names, .column_count = count + 1}};
    span_apply(span, &request.get_row.read);
    if (empty || r->only_columns)
        return r->sink->columns(r->sink, described, count);
    RUN_TRY(transaction_read(r, t, false, &key, &key, &request.get_row.transaction));
    *p = (struct point){t, span, columns, described, count};
    return run_last(r, &request, point_end, p);
}

int run_select(struct run *r, const struct select *s)
{
    struct span *span = ARENA_NEW(r->arena, struct span);
    struct hints hints;
    bool served;

    RUN_TRY(select_hints(r, s, &hints));
    RUN_TRY(span_read(r, &hints, span));
    RUN_TRY(run_point(r, s, span, &served));
    if (!served && r->deferred)
        return run_whole(r);
    if (!served && !hints.force_index.ptr && span_is_plain(span) && !run_is_tablestore(r))
        RUN_TRY(run_aggregate(r, s, &served));
    return served ? 0 : run_sqlite(r, s, &hints, span, run_prepared);
}

#include "sql/run/show_where.h"

#include "base/buf.h"
#include "sql/run/convert.h"
#include "sql/run/render.h"
#include "sql/run/select.h"
#include "sql/run/temp_table.h"

#include <sqlite3.h>

#define TABLE "shown" /* SELECT's tables have their database's name before a point */

struct shown_row {
    struct shown_row *next;
    struct wr_value values[];
};

/* ---- what SHOW answers ---- */

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct show_where *w = PORT_CONTAINER(s, struct show_where, sink);

    w->columns = ARENA_ARRAY(w->r->arena, struct column, count);
    w->column_count = count;
    for (size_t i = 0; i < count; i++)
        w->columns[i].name = arena_copy(w->r->arena, columns[i].name);
    return w->to->columns(w->to, columns, count);
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct show_where *w = PORT_CONTAINER(s, struct show_where, sink);
    struct shown_row *row =
        arena_alloc(w->r->arena, sizeof(*row) + w->column_count * sizeof(row->values[0]));

    row->next = NULL;
    for (size_t i = 0; i < w->column_count; i++)
        row->values[i] = convert_copy(w->r->arena, &values[i]);
    *w->last = row;
    w->last = &row->next;
    return 0;
}

void show_where_begin(struct show_where *w, struct run *r)
{
    *w = (struct show_where){.sink = {on_columns, on_row}, .to = r->sink, .r = r};
    w->last = &w->first;
    r->sink = &w->sink;
}

void show_where_drop(struct show_where *w)
{
    w->r->sink = w->to;
}

/* ---- what of it is sent ---- */

/* A text of digits is a number there, and all others are texts without case. */
static bytes table_columns(const struct show_where *w)
{
    struct buf b;

    buf_init(&b, w->r->arena, 256);
    for (size_t i = 0; i < w->column_count; i++)
        buf_put_bytes(&b, arena_printf(w->r->arena, "%s\"%.*s\" numeric collate nocase",
                                       i ? ", " : "", RUN_TEXT(w->columns[i].name)));
    return buf_bytes(&b);
}

static bool row_put(const struct show_where *w, sqlite3_stmt *insert, const struct shown_row *row)
{
    bool done;

    for (size_t i = 0; i < w->column_count; i++) {
        bytes text = convert_text(w->r->arena, &row->values[i]);

        if (row->values[i].type != WR_NULL)
            sqlite3_bind_text(insert, (int)i + 1, text.ptr, (int)text.len, SQLITE_STATIC);
    }
    done = sqlite3_step(insert) == SQLITE_DONE;
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    return done;
}

/* A row's number is its place in the list, from 1. */
static int table_fill(const struct show_where *w, sqlite3 *sqlite)
{
    sqlite3_stmt *insert =
        temp_table_make(w->r, sqlite, BYTES_LIT(TABLE), table_columns(w), w->column_count);
    bool well = insert != NULL;

    for (const struct shown_row *row = w->first; row && well; row = row->next)
        well = row_put(w, insert, row);
    sqlite3_finalize(insert);
    return well ? 0 : select_fail(w->r, sqlite);
}

static int rows_send(const struct show_where *w, sqlite3 *sqlite, sqlite3_stmt *numbers)
{
    const struct shown_row *row = w->first;
    int code = sqlite3_step(numbers);

    for (sqlite3_int64 at = 1; code == SQLITE_ROW; code = sqlite3_step(numbers)) {
        for (; at < sqlite3_column_int64(numbers, 0); at++)
            row = row->next;
        RUN_TRY(w->to->row(w->to, row->values));
    }
    return code == SQLITE_DONE ? 0 : select_fail(w->r, sqlite);
}

static int rows_find(const struct show_where *w, sqlite3 *sqlite, bytes condition)
{
    bytes sql = arena_printf(w->r->arena, "select rowid from temp." TABLE " where %.*s order by 1",
                             RUN_TEXT(condition));
    sqlite3_stmt *numbers;
    int code;

    RUN_TRY(table_fill(w, sqlite));
    if (sqlite3_prepare_v2(sqlite, sql.ptr, (int)sql.len, &numbers, NULL))
        return select_fail(w->r, sqlite);
    code = rows_send(w, sqlite, numbers);
    sqlite3_finalize(numbers);
    return code;
}

int show_where_send(struct show_where *w, const struct expr *where)
{
    sqlite3 *sqlite;
    bytes condition;
    int code;

    show_where_drop(w);
    if (!w->first)
        return 0;
    RUN_TRY(render_condition(w->r, w->columns, w->column_count, where, &condition));
    RUN_TRY(select_sqlite(w->r, &sqlite));
    run_permit_take(w->r->session);
    code = rows_find(w, sqlite, condition);
    run_permit_give(w->r->session);
    temp_table_drop(sqlite, BYTES_LIT(TABLE));
    return code;
}

#include "sql/run/scan.h"

#include "sql/run/convert.h"
#include "sql/run/lookup.h"
#include "sql/run/order.h"
#include "sql/run/quote.h"
#include "sql/run/transaction.h"
#include "sql/run/undeclared.h"

#include <sqlite3.h>
#include <stdlib.h>

#define FIRST_PAGE_ROWS 100 /* a statement with LIMIT wants no more, mostly */
#define PAGE_ROWS 4000
#define PAGE_ROWS_MIN 64
#define PAGE_BYTES (256 << 10) /* of rows, about: a client that does not read holds a page */

#define RUN_TRY_SQLITE(x)                                                                          \
    do {                                                                                           \
        int run_try_code = (x);                                                                    \
        if (run_try_code != SQLITE_OK)                                                             \
            return run_try_code;                                                                   \
    } while (0)

/* A virtual table, and what it was declared as. */
struct scan_table {
    sqlite3_vtab base;
    struct scan_module *module;
    bytes name;
    char *name_text;
};

/* SQLite keeps plans as a number, the path's and in its lowest bit whether the cursor goes
 * backward, and a text: which columns are used, as SQLite's mask in MASK_DIGITS hexadecimal digits,
 * then plan.signs. */
#define MASK_DIGITS 16

struct scan_cursor {
    sqlite3_vtab_cursor base;
    struct scan_module *module;
    const struct rendered_table *of;
    const struct sql_table *table;
    const struct table_path *path;
    struct walk *walk;       /* of EXPLAIN; NULL: it is none */
    struct lookup *lookup;   /* NULL: the path has all that is asked for */
    struct arena arena;      /* of the bounds and the columns' names */
    struct wr_request range; /* the page that is next */
    struct wr_key tail;     /* the row behind the range, which ends in front of it; count 0: none */
    struct wr_reply *reply; /* with the rows: */
    const struct wr_row *rows;
    size_t row_count, at;
    size_t version, versions; /* of the row that is at; SQLite gets it once for each */
    uint64_t used;            /* columns, as SQLite's mask */
    bool looks_up, ended;
};

static struct scan_table *table_of(sqlite3_vtab *v)
{
    return PORT_CONTAINER(v, struct scan_table, base);
}

static const struct rendered_table *described(const struct scan_table *t)
{
    for (const struct rendered_table *i = t->module->tables; i; i = i->next)
        if (bytes_equal(i->name, t->name))
            return i;
    return NULL;
}

/* ---- life of a table ---- */

/* A declaration by which SQLite compares as the types do: texts with texts, numbers with numbers.
 */
static const char *affinity(enum wr_type type)
{
    switch (type) {
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        return "text";
    case WR_FLOAT:
    case WR_DOUBLE:
        return "real";
    case WR_BINARY:
    case WR_VARBINARY:
    case WR_UBIGINT:
    case WR_DECIMAL:
        return "blob";
    case WR_NULL:
        return ""; /* each value as it is */
    default:
        return "integer";
    }
}

/* Where a row comes once for each of its versions, their number makes the key whole: SQLite counts
 * on a key that is unique. */
static int declare(sqlite3 *sqlite, const struct sql_table *t, bool versions)
{
    struct arena a;
    struct buf b;
    int code;

    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 256);
    buf_put_bytes(&b, BYTES_LIT("create table t ("));
    for (size_t i = 0; i < t->column_count; i++) {
        quote_put(&b, t->columns[i].label, '"');
        buf_put_u8(&b, ' ');
        buf_put_bytes(&b, bytes_str(affinity(t->columns[i].type)));
        buf_put_bytes(&b, BYTES_LIT(", "));
    }
    buf_put_bytes(&b, versions ? BYTES_LIT("\"" TABLE_VERSION "\" integer, ") : BYTES_LIT(""));
    buf_put_bytes(&b, BYTES_LIT("primary key ("));
    for (size_t i = 0; i < t->key_count; i++) {
        quote_put(&b, t->columns[i].label, '"');
        buf_put_bytes(&b, i + 1 < t->key_count ? BYTES_LIT(", ") : BYTES_LIT(""));
    }
    buf_put_bytes(&b, versions ? BYTES_LIT(", \"" TABLE_VERSION "\"") : BYTES_LIT(""));
    buf_put_bytes(&b, BYTES_LIT(")) without rowid"));
    buf_put_u8(&b, 0);
    code = sqlite3_declare_vtab(sqlite, (const char *)b.data);
    arena_release(&a);
    return code;
}

static int on_connect(sqlite3 *sqlite, void *arg, int count, const char *const *args,
                      sqlite3_vtab **out, char **error)
{
    struct scan_table *t = mem_zalloc(sizeof(*t));
    const struct rendered_table *of;
    int code = SQLITE_ERROR;

    (void)count, (void)error;
    t->module = arg;
    t->name_text = mem_strdup(args[2]);
    t->name = bytes_str(t->name_text);
    of = described(t);
    if (of)
        code = declare(sqlite, of->table, t->module->span.versions > 1);
    if (code) {
        mem_free(t->name_text);
        mem_free(t);
        return code;
    }
    *out = &t->base;
    return SQLITE_OK;
}

static int on_disconnect(sqlite3_vtab *v)
{
    struct scan_table *t = table_of(v);

    mem_free(t->name_text);
    mem_free(t);
    return SQLITE_OK;
}

/* ---- plans ---- */

static int on_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
    struct scan_table *t = table_of(v);
    struct scan_module *m = t->module;
    const struct rendered_table *of = described(t);
    struct plan p;

    /* SQLite asks its progress handler when the statement runs alone, and here for each path. */
    if (!of || run_interrupted(m->run))
        return SQLITE_ERROR;
    if (!plan_choose(of->table, of->paths, of->path_count, &m->wishes, info, &p)) {
        m->refused = of->table;
        m->advice = plan_advice(m->run->arena, of->table, of->paths, of->path_count, info);
        return SQLITE_CONSTRAINT;
    }
    plan_use(&of->paths[p.path], &p, &m->wishes, info);
    info->idxNum = (int)p.path << 1 | (info->nOrderBy && p.order < 0);
    info->idxStr = sqlite3_mprintf("%016llx%s", info->colUsed, p.signs);
    info->needToFreeIdxStr = 1;
    return SQLITE_OK;
}

/* ---- values ---- */

/* As what SQLite's value is taken: what an expression makes may be of another type in each row,
 * while a column of a result has one. */
static int value_class(int is, enum wr_type type)
{
    if (is == SQLITE_NULL)
        return is;
    switch (type) {
    case WR_FLOAT:
    case WR_DOUBLE:
        return SQLITE_FLOAT;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        return SQLITE_TEXT;
    case WR_NULL:
    case WR_UBIGINT:
    case WR_DECIMAL:
    case WR_BINARY:
    case WR_VARBINARY:
        return is;
    default:
        return SQLITE_INTEGER;
    }
}

void scan_value(struct arena *a, struct sqlite3_value *in, enum wr_type type, struct wr_value *out)
{
    int is = value_class(sqlite3_value_type(in), type);
    bytes b;

    *out = (struct wr_value){.type = WR_NULL};
    if (is == SQLITE_NULL)
        return;
    if (is == SQLITE_INTEGER) {
        *out =
            (struct wr_value){.type = type ? type : WR_BIGINT, .integer = sqlite3_value_int64(in)};
        if (type == WR_BOOLEAN)
            out->boolean = sqlite3_value_int64(in) != 0;
        return;
    }
    if (is == SQLITE_FLOAT) {
        *out = (struct wr_value){.type = type ? type : WR_DOUBLE, .real = sqlite3_value_double(in)};
        return;
    }
    b = bytes_of(is == SQLITE_TEXT ? (const void *)sqlite3_value_text(in) : sqlite3_value_blob(in),
                 (size_t)sqlite3_value_bytes(in));
    if (!b.ptr)
        b = BYTES_LIT("");
    *out = (struct wr_value){.type = type                ? type
                                     : is == SQLITE_TEXT ? WR_VARCHAR
                                                         : WR_VARBINARY,
                             .bytes = b};
    if (type == WR_UBIGINT)
        out->uinteger = order_to_unsigned(b);
    if (type == WR_DECIMAL)
        out->bytes = order_to_decimal(a, b);
}

void scan_result(struct arena *a, struct sqlite3_context *c, const struct wr_value *v)
{
    bytes b = v->bytes;

    switch (v->type) {
    case WR_NULL:
        sqlite3_result_null(c);
        return;
    case WR_BOOLEAN:
        sqlite3_result_int(c, v->boolean);
        return;
    case WR_FLOAT:
    case WR_DOUBLE:
        sqlite3_result_double(c, v->real);
        return;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        sqlite3_result_text64(c, b.ptr, b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
    case WR_UBIGINT:
        b = order_of_unsigned(a, v->uinteger);
        break;
    case WR_DECIMAL:
        b = order_of_decimal(a, b);
        break;
    case WR_BINARY:
    case WR_VARBINARY:
        break;
    default:
        sqlite3_result_int64(c, v->integer);
        return;
    }
    sqlite3_result_blob64(c, b.len ? b.ptr : "", b.len, SQLITE_TRANSIENT);
}

/* What a bound is compared with, as a value of the column. False: the column has no such value. */
static bool bound_value(struct arena *a, const struct table_column *column, sqlite3_value *in,
                        struct wr_value *out)
{
    int is = sqlite3_value_type(in);
    bool ordered = is == SQLITE_BLOB && (column->type == WR_UBIGINT || column->type == WR_DECIMAL);
    bool moment = is == SQLITE_INTEGER && (column->type == WR_DATE || column->type == WR_TIME);
    struct wr_value v;

    scan_value(a, in, ordered || moment ? column->type : WR_NULL, &v);
    if (moment && v.integer != (int32_t)v.integer)
        return false;
    v = convert_copy(a, &v);
    if (v.type == WR_DOUBLE && column->type != WR_DOUBLE && column->type != WR_FLOAT &&
        v.real != (double)(int64_t)v.real)
        return false;
    return v.type != WR_NULL && convert_try(a, column, &v, out);
}

/* ---- cursors ---- */

static int on_open(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
    struct scan_cursor *s = mem_zalloc(sizeof(*s));

    s->module = table_of(v)->module;
    s->of = described(table_of(v));
    s->table = s->of->table;
    arena_init(&s->arena, NULL, 0);
    *out = &s->base;
    return SQLITE_OK;
}

static struct scan_cursor *cursor_of(sqlite3_vtab_cursor *c)
{
    return PORT_CONTAINER(c, struct scan_cursor, base);
}

static void page_free(struct scan_cursor *s)
{
    lookup_free(s->lookup);
    s->lookup = NULL;
    wr_reply_free(s->reply);
    s->reply = NULL;
    s->rows = NULL;
    s->row_count = s->at = 0;
}

static int on_close(sqlite3_vtab_cursor *c)
{
    struct scan_cursor *s = cursor_of(c);

    page_free(s);
    arena_release(&s->arena);
    mem_free(s);
    return SQLITE_OK;
}

/* The columns that are read: those that the statement names and the path has, and the key, so that
 * rows without any of them are seen. */
static void columns_set(struct scan_cursor *s)
{
    struct wr_read_options *read = &s->range.get_range.read;
    struct wr_bytes *names = ARENA_ARRAY(&s->arena, struct wr_bytes, s->table->column_count);
    static const struct span newest = {.versions = 1};

    for (size_t i = 0; i < s->table->column_count; i++)
        if (s->path->position[i] != SIZE_MAX || (s->path->included[i] && path_is_used(s->used, i)))
            names[read->column_count++] = table_cell_name(&s->table->columns[i]);
    read->columns = names;
    if (!s->looks_up && table_reads_all(s->table, s->used))
        read->column_count = 0; /* which is all */
    /* An entry is as old as its row was when it was made: the row itself tells its time. */
    span_apply(s->looks_up ? &newest : &s->module->span, read);
}

static const struct table_column *key_column(const struct scan_cursor *s, size_t i)
{
    return &s->table->columns[s->path->columns[i]];
}

static struct wr_key edge(struct scan_cursor *s, enum wr_type rest)
{
    struct wr_key_column *columns =
        ARENA_ARRAY(&s->arena, struct wr_key_column, s->path->key_count);

    for (size_t i = 0; i < s->path->key_count; i++)
        columns[i] = (struct wr_key_column){key_column(s, i)->name, {.type = rest}};
    return (struct wr_key){columns, s->path->key_count};
}

static void edge_set(struct wr_key *key, size_t column, const struct wr_value *v, enum wr_type rest)
{
    struct wr_key_column *columns = (struct wr_key_column *)(uintptr_t)key->columns;

    columns[column].value = *v;
    for (size_t i = column + 1; i < key->count; i++)
        columns[i].value = (struct wr_value){.type = rest};
}

/* A FLOAT that a bound is rounded to may be on either side of it. */
static bool is_rounded(const struct wr_value *v)
{
    return v->type == WR_FLOAT && (double)(float)v->real != v->real;
}

/* One bound of the plan. False: no row can be within it. */
static bool bound_apply(struct scan_cursor *s, char sign, size_t column, sqlite3_value *in,
                        struct key_part *p)
{
    const struct table_column *of = key_column(s, column);
    bool with = sign == PLAN_EQUAL || sign == PLAN_FROM || sign == PLAN_TO;
    bool upper = (sign == PLAN_BELOW || sign == PLAN_TO) != s->path->descending[column];
    struct wr_value v;

    if (!bound_value(&s->arena, of, in, &v))
        return sign != PLAN_EQUAL && sqlite3_value_type(in) != SQLITE_NULL;
    with = with || is_rounded(&v);
    if (sign == PLAN_EQUAL || !upper) {
        edge_set(&p->start, column, &v, with ? WR_INF_MIN : WR_INF_MAX);
        p->with_start = with;
    }
    if (sign == PLAN_EQUAL || upper) {
        edge_set(&p->end, column, &v, with ? WR_INF_MAX : WR_INF_MIN);
        p->with_end = with;
    }
    return true;
}

/* Asks, instead of the page before. The access key is asked each time whether it may still read the
 * table: of an index, too, what is read is the table's. */
static int ask(struct scan_cursor *s, const struct wr_request *request)
{
    struct wr_request read = s->range;
    struct run *r = s->module->run;

    page_free(s);
    read.get_range.table = s->table->name;
    if (run_allowed(r, &read))
        return SQLITE_ABORT;
    session_wait_begin(r->session);
    s->reply = wr_exec(r->session->conf.db, request);
    session_wait_end(r->session);
    if (!s->reply->code)
        return SQLITE_OK;
    run_fail_reply(r, s->reply);
    return SQLITE_ABORT;
}

/* The rows of the entries, in their place. */
static int look_up(struct scan_cursor *s)
{
    struct run *r = s->module->run;

    if (!s->looks_up || !s->row_count)
        return SQLITE_OK;
    session_wait_begin(r->session);
    s->lookup = lookup_rows(r, &(struct lookup_part){s->table, s->path, &s->module->span, s->used},
                            s->rows, s->row_count);
    session_wait_end(r->session);
    if (!s->lookup)
        return SQLITE_ABORT;
    s->rows = s->lookup->rows;
    s->row_count = s->lookup->count;
    return SQLITE_OK;
}

static int count(struct scan_cursor *s, const struct wr_capacity *consumed)
{
    return run_read(s->module->run, s->path->name, consumed, s->row_count) ? SQLITE_ABORT
                                                                           : SQLITE_OK;
}

/* For EXPLAIN. */
static void note(struct scan_cursor *s, int32_t units)
{
    if (!s->walk)
        return;
    s->walk->rows += s->row_count;
    s->walk->units += units + (s->lookup ? s->lookup->units : 0);
    s->module->walks->pages++;
}

static int page_read(struct scan_cursor *s)
{
    RUN_TRY_SQLITE(ask(s, &s->range));
    s->rows = s->reply->range.rows;
    s->row_count = s->reply->range.row_count;
    RUN_TRY_SQLITE(count(s, &s->reply->range.consumed));
    RUN_TRY_SQLITE(look_up(s));
    note(s, s->reply->range.consumed.read);
    return SQLITE_OK;
}

/* The row behind the range. */
static int tail_read(struct scan_cursor *s)
{
    struct wr_request request = {WR_REQUEST(GET_ROW), .instance = s->range.instance};

    request.client = s->range.client;
    request.gone = s->range.gone;
    request.deadline_ms = s->range.deadline_ms;
    request.get_row = (struct wr_get_row){.table = s->path->name,
                                          .key = s->tail,
                                          .read = s->range.get_range.read,
                                          .transaction = s->range.get_range.transaction};
    s->tail.count = 0;
    s->range.get_range.start.count = 0;
    RUN_TRY_SQLITE(ask(s, &request));
    s->rows = &s->reply->row.row;
    s->row_count = s->reply->row.row.key.count > 0;
    RUN_TRY_SQLITE(count(s, &s->reply->row.consumed));
    RUN_TRY_SQLITE(look_up(s));
    note(s, s->reply->row.consumed.read);
    return SQLITE_OK;
}

/* So many rows as PAGE_BYTES have, if they are like those of this page. */
static int32_t page_rows(const struct scan_cursor *s)
{
    size_t rows = s->reply->range.row_count, units = (size_t)s->reply->range.consumed.read;
    size_t fit = units ? PAGE_BYTES / CAPACITY_BYTES * rows / units : PAGE_ROWS;

    return fit > PAGE_ROWS ? PAGE_ROWS : fit < PAGE_ROWS_MIN ? PAGE_ROWS_MIN : (int32_t)fit;
}

/* Where the next page begins, out of the reply of this one. False: there is none. */
static bool page_next(struct scan_cursor *s)
{
    struct wr_key next = s->range.get_range.start.count ? s->reply->range.next : (struct wr_key){0};
    struct wr_key_column *start;

    if (!next.count)
        return false;
    start = ARENA_ARRAY(&s->arena, struct wr_key_column, next.count);
    for (size_t i = 0; i < next.count; i++) {
        start[i].name = key_column(s, i)->name;
        start[i].value = convert_copy(&s->arena, &next.columns[i].value);
    }
    s->range.get_range.start = (struct wr_key){start, next.count};
    s->range.get_range.limit = s->looks_up ? LOOKUP_ROWS : page_rows(s);
    return true;
}

/* EXPLAIN goes no further than a page. */
static bool explained(struct scan_cursor *s)
{
    if (!s->walk)
        return false;
    s->walk->more = s->ended = true;
    page_free(s);
    return true;
}

/* How often the row comes: as its columns that the statement names have versions, once at least. */
static size_t versions_of(const struct scan_cursor *s, const struct wr_row *row)
{
    size_t most = 1;

    if (s->module->span.versions == 1)
        return 1;
    for (size_t i = s->table->key_count; i < s->table->column_count; i++)
        if (path_is_used(s->used, i)) {
            size_t n = table_versions(s->table, i, row);

            most = n > most ? n : most;
        }
    return most;
}

/* Passes over rows that the statement does not see. */
static void rows_pass(struct scan_cursor *s)
{
    while (s->at < s->row_count && !span_sees(&s->module->span, &s->rows[s->at]))
        s->at++;
    if (s->at < s->row_count)
        s->versions = versions_of(s, &s->rows[s->at]);
}

/* To the next row that there is, over pages without any. */
static int settle(struct scan_cursor *s)
{
    s->version = 0;
    for (rows_pass(s); !s->ended && s->at == s->row_count; rows_pass(s)) {
        if (s->reply && page_next(s)) {
            if (explained(s))
                break;
            RUN_TRY_SQLITE(page_read(s));
        } else if (s->tail.count) {
            RUN_TRY_SQLITE(tail_read(s));
        } else {
            s->ended = true;
            page_free(s);
        }
    }
    return SQLITE_OK;
}

/* The far end of a range does not belong to it, so a row there is read by itself; where both ends
 * are one row there is no range. */
static int scan_begin(struct scan_cursor *s, const struct key_part *p, bool backward, bool one)
{
    s->range = (struct wr_request){WR_REQUEST(GET_RANGE), .instance = s->table->database};
    s->range.client = s->module->run->session->conf.client;
    s->range.deadline_ms = s->module->run->deadline_ms;
    s->range.gone = s->module->run->session->conf.gone;
    s->range.get_range = (struct wr_get_range){.table = s->path->name,
                                               .start = backward ? p->end : p->start,
                                               .end = backward ? p->start : p->end,
                                               .backward = backward,
                                               .has_limit = true,
                                               .limit = FIRST_PAGE_ROWS};
    columns_set(s);
    if (backward ? p->with_start : p->with_end)
        s->tail = s->range.get_range.end;
    if (transaction_read(s->module->run, s->table, !bytes_equal(s->path->name, s->table->name),
                         &p->start, &p->end, &s->range.get_range.transaction))
        return SQLITE_ABORT;
    if (one)
        return settle(s);
    RUN_TRY_SQLITE(page_read(s));
    return settle(s);
}

/* Below 0: the part's start lies before its end in the key's order, by that column. */
static int part_order(struct scan_cursor *s, const struct key_part *p, size_t column)
{
    const struct wr_value *start = &p->start.columns[column].value;
    const struct wr_value *end = &p->end.columns[column].value;
    int order;

    if (start->type >= WR_INF_MIN || end->type >= WR_INF_MIN)
        return -1;
    order = value_order(&s->arena, start, end);
    return s->path->descending[column] ? -order : order;
}

/* Bounds may contradict each other. */
static bool is_empty(struct scan_cursor *s, const struct key_part *p, size_t column)
{
    int order = part_order(s, p, column);

    return order > 0 || (order == 0 && !(p->with_start && p->with_end));
}

/* All columns but the last are equal to something; is the last as well, by two bounds? */
static bool is_one(struct scan_cursor *s, const struct key_part *p, size_t last)
{
    return part_order(s, p, last) == 0;
}

/* column = value, for people. */
static void bound_put(struct scan_cursor *s, struct buf *b, char sign, size_t column,
                      sqlite3_value *in)
{
    const struct table_column *of = key_column(s, column);
    struct wr_value v;

    if (b->len)
        buf_put_bytes(b, BYTES_LIT(" and "));
    buf_put_bytes(b, of->name);
    buf_put_bytes(b, bytes_str(sign == PLAN_EQUAL   ? " = "
                               : sign == PLAN_ABOVE ? " > "
                               : sign == PLAN_FROM  ? " >= "
                               : sign == PLAN_BELOW ? " < "
                                                    : " <= "));
    buf_put_bytes(b, bound_value(&s->arena, of, in, &v) ? convert_text(&s->arena, &v)
                                                        : BYTES_LIT("(no value of it)"));
}

static int walk_begin(struct scan_cursor *s, const char *signs, int count, sqlite3_value **values)
{
    struct walks *w = s->module->walks;
    size_t column = 0;
    struct buf b;

    s->walk = NULL;
    if (!w)
        return SQLITE_OK;
    buf_init(&b, &s->arena, 64);
    for (int i = 0; i < count; i++) {
        bound_put(s, &b, signs[i], column, values[i]);
        column += signs[i] == PLAN_EQUAL;
    }
    s->walk = walks_begin(s->module->run, w,
                          &(struct walk){.table = s->table,
                                         .path = s->path,
                                         .signs = bytes_of(signs, (size_t)count),
                                         .bounds = b.len ? buf_bytes(&b) : BYTES_LIT(""),
                                         .looks_up = s->looks_up});
    if (!s->walk)
        return SQLITE_ABORT;
    if (w->pages >= WALKS_PAGES_MAX)
        s->ended = s->walk->more = true;
    return SQLITE_OK;
}

static int on_filter(sqlite3_vtab_cursor *c, int number, const char *plan, int count,
                     sqlite3_value **values)
{
    struct scan_cursor *s = cursor_of(c);
    const char *signs = plan + MASK_DIGITS;
    size_t column = 0, last;
    struct key_part p = {0};

    page_free(s);
    s->path = &s->of->paths[number >> 1];
    s->used = strtoull(plan, NULL, 16);
    s->looks_up = plan_looks_up(s->table, s->path, &s->module->wishes, s->used);
    last = s->path->key_count - 1;
    arena_release(&s->arena);
    arena_init(&s->arena, NULL, 0);
    s->ended = false;
    s->tail.count = 0;
    p.start = edge(s, WR_INF_MIN);
    p.end = edge(s, WR_INF_MAX);
    for (int i = 0; i < count && !s->ended; i++) {
        s->ended = !bound_apply(s, signs[i], column, values[i], &p);
        column += signs[i] == PLAN_EQUAL;
    }
    RUN_TRY_SQLITE(walk_begin(s, signs, count, values));
    if (s->ended || (column <= last && is_empty(s, &p, column)))
        return (s->ended = true, SQLITE_OK);
    /* An end that names not all columns has its infinity behind it. */
    p.with_start &= p.start.columns[last].value.type < WR_INF_MIN;
    p.with_end &= p.end.columns[last].value.type < WR_INF_MIN;
    if (s->walk)
        walk_reaches(s->module->run, s->walk, &p, column);
    return scan_begin(s, &p, number & 1, column > last || is_one(s, &p, last));
}

static int on_next(sqlite3_vtab_cursor *c)
{
    struct scan_cursor *s = cursor_of(c);

    if (++s->version < s->versions)
        return SQLITE_OK;
    s->at++;
    return settle(s);
}

static int on_eof(sqlite3_vtab_cursor *c)
{
    return cursor_of(c)->ended;
}

/* The place of a column in the key of the cursor's rows; SIZE_MAX: it is a cell. */
static size_t position_of(const struct scan_cursor *s, size_t column)
{
    return s->looks_up ? s->of->paths[0].position[column] : s->path->position[column];
}

static int on_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int n)
{
    struct scan_cursor *s = cursor_of(c);
    const struct wr_row *row = &s->rows[s->at];
    size_t position;
    struct wr_value v;

    if ((size_t)n == s->table->column_count) {
        sqlite3_result_int64(out, (sqlite3_int64)s->version);
        return SQLITE_OK;
    }
    if (s->table->columns[n].is_rest) {
        bytes rest = undeclared_rest(&s->arena, s->table, row);

        sqlite3_result_blob64(out, rest.ptr, rest.len, SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    position = position_of(s, (size_t)n);
    v = position != SIZE_MAX ? row->key.columns[position].value
                             : table_cell(s->table, (size_t)n, row, s->version);
    scan_result(&s->arena, out, &v);
    return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
    (void)c;
    *out = 0; /* a table without row numbers is never asked */
    return SQLITE_ERROR;
}

int scan_register(struct sqlite3 *sqlite, struct scan_module *m)
{
    static const sqlite3_module module = {.xCreate = on_connect,
                                          .xConnect = on_connect,
                                          .xBestIndex = on_best_index,
                                          .xDisconnect = on_disconnect,
                                          .xDestroy = on_disconnect,
                                          .xOpen = on_open,
                                          .xClose = on_close,
                                          .xFilter = on_filter,
                                          .xNext = on_next,
                                          .xEof = on_eof,
                                          .xColumn = on_column,
                                          .xRowid = on_rowid};

    return sqlite3_create_module(sqlite, "widerow", &module, m);
}

/* door_beside.c: SQL beside another door to the same database: what SQL can say of requests is said
 * in SQL, all else by the other one.
 *
 * Writes that a statement can say are that statement alone: UPSERT for UpdateRow, UPDATE for one
 * that expects the row, DELETE for DeleteRow, all of them for PutRow. Reads come from the
 * other door, whose answers carry types and timestamps, and the SELECT that says the same has to
 * give the same rows: where it does not, the answer has that as its fault. */
#include "door_beside.h"

#include "table/model/value.h"

#include <inttypes.h>
#include <mariadb/mysql.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS_MAX 20    /* of a write */
#define BYTES_MAX 1000  /* of a value in it */
#define PUT_CELLS_MAX 5 /* of a PutRow */
#define ROW_COLUMNS_MAX 64

struct sql {
    struct door base;
    struct door *other;
    MYSQL *mysql;
    struct door_said said;
};

/* A request, and what is known of its table. */
struct asked {
    struct sql *sql;
    struct ctx *c;
    const struct wr_request *req;
    const struct wr_table_description *table;
    struct buf text; /* the statement */
};

/* ---- text ---- */

static void put(struct asked *a, const char *text)
{
    buf_put_bytes(&a->text, bytes_str(text));
}

static bool put_name(struct asked *a, bytes name)
{
    if (!name.len || memchr(name.ptr, '`', name.len) || memchr(name.ptr, 0, name.len) ||
        memmem(name.ptr, name.len, "_l_ts", 5))
        return false;
    put(a, "`");
    buf_put_bytes(&a->text, name);
    put(a, "`");
    return true;
}

static void put_hex(struct asked *a, bytes b)
{
    put(a, "x'");
    for (size_t i = 0; i < b.len; i++)
        buf_put_bytes(&a->text, arena_printf(&a->c->arena, "%02x", bytes_u8(b)[i]));
    put(a, "'");
}

static void put_text(struct asked *a, bytes b)
{
    char *room = arena_alloc(&a->c->arena, 2 * b.len + 1);
    unsigned long n = mysql_real_escape_string(a->sql->mysql, room, b.ptr, (unsigned long)b.len);

    put(a, "'");
    buf_put(&a->text, room, n);
    put(a, "'");
}

/* A literal that is stored as this value. */
static bool put_value(struct asked *a, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
        if (v->integer == INT64_MIN)
            return false;
        buf_put_bytes(&a->text, arena_printf(&a->c->arena, "%" PRId64, v->integer));
        return true;
    case WR_DOUBLE:
        if (v->real - v->real != 0)
            return false;
        buf_put_bytes(&a->text, arena_printf(&a->c->arena, "%.17e", v->real));
        return true;
    case WR_BOOLEAN:
        put(a, v->boolean ? "true" : "false");
        return true;
    case WR_VARCHAR:
        /* What is no text is in no row: SQL's DELETE of it is done, DeleteRow is refused. */
        if (v->bytes.len > BYTES_MAX || !bytes_is_utf8(v->bytes))
            return false;
        put_text(a, v->bytes);
        return true;
    case WR_VARBINARY:
        if (v->bytes.len > BYTES_MAX)
            return false;
        put_hex(a, v->bytes);
        return true;
    default:
        return false;
    }
}

/* k1 = 1 and k2 = 'x', of a key that fits the table. */
static bool put_key(struct asked *a, const struct wr_key *key)
{
    if (key->count != a->table->key_count)
        return false;
    for (size_t i = 0; i < key->count; i++) {
        if (a->table->key[i].auto_increment ||
            !bytes_equal(key->columns[i].name, a->table->key[i].name) ||
            key->columns[i].value.type != a->table->key[i].type)
            return false;
        put(a, i ? " and " : " where ");
        if (!put_name(a, key->columns[i].name))
            return false;
        put(a, " = ");
        if (!put_value(a, &key->columns[i].value))
            return false;
    }
    return true;
}

/* ---- statements ---- */

static bool say(struct asked *a)
{
    bytes sql = buf_bytes(&a->text);
    bool good = !mysql_real_query(a->sql->mysql, sql.ptr, (unsigned long)sql.len);

    if (!good && getenv("SPEC_SQL"))
        fprintf(stderr, "refused: %.*s: %s\n", BYTES_FMT(sql), mysql_error(a->sql->mysql));
    a->sql->said.refused += !good;
    return good;
}

static void other_ask(struct asked *a, const struct wr_request *req, struct answer *out)
{
    door_exec(a->sql->other, a->c, req, out);
}

/* What the last statement cost. */
static struct wr_capacity units_of_last(struct sql *s)
{
    static const char sql[] = "show status like 'Widerow_last_%'";
    struct wr_capacity units = {.read = 0};
    MYSQL_RES *r;

    if (mysql_real_query(s->mysql, sql, sizeof(sql) - 1) || !(r = mysql_store_result(s->mysql)))
        return units;
    for (MYSQL_ROW row; (row = mysql_fetch_row(r)) != NULL;)
        if (strstr(row[0], "read"))
            units.read = (int32_t)strtol(row[1], NULL, 10);
        else
            units.write = (int32_t)strtol(row[1], NULL, 10);
    mysql_free_result(r);
    return units;
}

/* ---- writes ---- */

static const struct wr_defined_column *defined(const struct asked *a, bytes name)
{
    for (size_t i = 0; i < a->table->defined_count; i++)
        if (bytes_equal(a->table->defined[i].name, name))
            return &a->table->defined[i];
    return NULL;
}

/* May SQL say these cells, in one statement; *stamp: all of them have that timestamp. */
static bool cells_can_be_said(const struct asked *a, const struct wr_row *row, int64_t *stamp)
{
    size_t puts = 0;

    *stamp = row->cell_count ? row->cells[0].timestamp_ms : WR_TIMESTAMP_NONE;
    if (!row->cell_count || row->cell_count > CELLS_MAX)
        return false;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        const struct wr_defined_column *d = defined(a, cell->name);

        if ((cell->op != WR_CELL_PUT && cell->op != WR_CELL_DELETE_ALL) ||
            cell->timestamp_ms != *stamp || cell->name.len > 100 ||
            (cell->op == WR_CELL_DELETE_ALL && *stamp != WR_TIMESTAMP_NONE) ||
            (d && cell->op == WR_CELL_PUT && d->type != cell->value.type))
            return false;
        for (size_t k = 0; k < a->table->key_count; k++)
            if (bytes_equal(a->table->key[k].name, cell->name))
                return false;
        for (size_t k = 0; k < i; k++)
            if (bytes_equal(row->cells[k].name, cell->name))
                return false;
        puts += cell->op == WR_CELL_PUT;
    }
    return puts > 0; /* NULLs alone cost a look at the row */
}

static bool put_cell_value(struct asked *a, const struct wr_cell *cell)
{
    if (cell->op == WR_CELL_PUT)
        return put_value(a, &cell->value);
    put(a, "null");
    return true;
}

static bool put_hint(struct asked *a, int64_t stamp)
{
    if (stamp == WR_TIMESTAMP_NONE)
        return true;
    if (a->table->index_count)
        return false;
    buf_put_bytes(&a->text, arena_printf(&a->c->arena, "/*+ _l_ts_(%" PRId64 ") */ ", stamp));
    return true;
}

static bool put_upsert(struct asked *a, const struct wr_row_change *change, int64_t stamp)
{
    const struct wr_row *row = &change->row;
    struct buf before = a->text;
    bool good;

    buf_init(&a->text, &a->c->arena, 64);
    good = put_key(a, &row->key); /* does it fit? */
    a->text = before;
    put(a, "upsert ");
    good = good && put_hint(a, stamp);
    put(a, "into ");
    good = good && put_name(a, change->table);
    put(a, " (");
    for (size_t i = 0; good && i < row->key.count + row->cell_count; i++) {
        put(a, i ? ", " : "");
        good = put_name(a, i < row->key.count ? row->key.columns[i].name
                                              : row->cells[i - row->key.count].name);
    }
    put(a, ") values (");
    for (size_t i = 0; good && i < row->key.count + row->cell_count; i++) {
        put(a, i ? ", " : "");
        good = i < row->key.count ? put_value(a, &row->key.columns[i].value)
                                  : put_cell_value(a, &row->cells[i - row->key.count]);
    }
    put(a, ")");
    return good;
}

static bool put_update(struct asked *a, const struct wr_row_change *change)
{
    put(a, "update ");
    if (!put_name(a, change->table))
        return false;
    for (size_t i = 0; i < change->row.cell_count; i++) {
        put(a, i ? ", " : " set ");
        if (!put_name(a, change->row.cells[i].name))
            return false;
        put(a, " = ");
        if (!put_cell_value(a, &change->row.cells[i]))
            return false;
    }
    return put_key(a, &change->row.key);
}

static bool put_delete(struct asked *a, const struct wr_row_change *change)
{
    put(a, "delete from ");
    return put_name(a, change->table) && put_key(a, &change->row.key);
}

static bool is_plain_write(const struct asked *a, const struct wr_row_change *change)
{
    bool updates = a->req->op == WR_OP_UPDATE_ROW;

    return (change->condition.existence == WR_IGNORE ||
            (updates && change->condition.existence == WR_EXPECT_EXIST)) &&
           !change->condition.column && change->return_type == WR_RETURN_NONE &&
           !change->transaction.ptr && !a->table->stream.enable &&
           (!(a->table->options.given & WR_HAS_ALLOW_UPDATE) || a->table->options.allow_update);
}

/* A PutRow is UPSERT, DELETE and UPSERT: may the last one not be refused, whatever the limits are?
 */
static bool halves_are_safe(const struct wr_row *row, int64_t stamp)
{
    size_t size = 0;

    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].value.type == WR_VARCHAR || row->cells[i].value.type == WR_VARBINARY)
            size += row->cells[i].value.bytes.len;
    return stamp == WR_TIMESTAMP_NONE && row->cell_count <= PUT_CELLS_MAX && size <= BYTES_MAX;
}

/* False: it is not said in SQL, and nothing was changed. */
static bool write_say(struct asked *a, const struct wr_row_change *change)
{
    int64_t stamp;

    if (!is_plain_write(a, change))
        return false;
    if (a->req->op == WR_OP_DELETE_ROW)
        return put_delete(a, change) && say(a);
    if (!cells_can_be_said(a, &change->row, &stamp))
        return false;
    if (change->condition.existence == WR_EXPECT_EXIST) /* of no row it changes nothing */
        return stamp == WR_TIMESTAMP_NONE && put_update(a, change) && say(a) &&
               mysql_affected_rows(a->sql->mysql) == 1;
    if (a->req->op == WR_OP_UPDATE_ROW)
        return put_upsert(a, change, stamp) && say(a);
    if (a->table->index_count || !halves_are_safe(&change->row, stamp) ||
        !put_upsert(a, change, stamp))
        return false;
    if (!say(a)) /* first, for what is refused must not have taken the row away */
        return false;
    buf_init(&a->text, &a->c->arena, 256);
    if (!put_delete(a, change) || !say(a))
        return false;
    buf_init(&a->text, &a->c->arena, 256);
    return put_upsert(a, change, stamp) && say(a);
}

static void written_answer(struct asked *a, struct answer *out)
{
    *out = (struct answer){.code_name = "", .status = 200};
    out->reply.op = a->req->op;
    out->reply.row.consumed = units_of_last(a->sql);
    a->sql->said.written++;
}

/* ---- reads ---- */

static bool is_plain_read(const struct wr_read_options *o)
{
    return !o->column_count && !o->has_start && !o->has_end && !o->has_specific && !o->filter &&
           !o->start_column.ptr && !o->end_column.ptr;
}

/* Is the text what SQL makes of the value? */
static bool is_said(const struct wr_value *v, const char *text, size_t len)
{
    switch (v->type) {
    case WR_BIGINT:
        return text && strtoll(text, NULL, 10) == v->integer;
    case WR_DOUBLE:
        return text && (strtod(text, NULL) == v->real || v->real - v->real != 0);
    case WR_BOOLEAN:
        return text &&
               (len == 1 ? text[0] == '0' + v->boolean
                         : bytes_equal(bytes_of(text, len),
                                       v->boolean ? BYTES_LIT("true") : BYTES_LIT("false")));
    case WR_VARCHAR:
    case WR_VARBINARY:
        return text && bytes_equal(bytes_of(text, len), v->bytes);
    default:
        return true;
    }
}

/* NULL: the row has no such column. The newest version stands first. */
static const struct wr_value *value_of(const struct wr_row *row, bytes name)
{
    for (size_t i = 0; i < row->key.count; i++)
        if (bytes_equal(row->key.columns[i].name, name))
            return &row->key.columns[i].value;
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return &row->cells[i].value;
    return NULL;
}

/* A defined column's cell of another type is NULL in SQL. */
static bool reads_as_null(const struct asked *a, bytes name, const struct wr_value *v)
{
    const struct wr_defined_column *d = defined(a, name);

    return !v || (d && d->type != v->type);
}

static bool is_row(const struct asked *a, const struct wr_row *row, MYSQL_RES *r, MYSQL_ROW said)
{
    const MYSQL_FIELD *fields = mysql_fetch_fields(r);
    const unsigned long *lengths = mysql_fetch_lengths(r);
    unsigned n = mysql_num_fields(r), values = 0;
    size_t named = row->key.count;

    for (unsigned i = 0; i < n; i++) {
        bytes name = bytes_str(fields[i].name);
        const struct wr_value *v = value_of(row, name);

        if (reads_as_null(a, name, v) ? said[i] != NULL : !is_said(v, said[i], lengths[i]))
            return false;
        values += v != NULL;
    }
    for (size_t i = 0; i < row->cell_count; i++)
        named += value_of(row, row->cells[i].name) == &row->cells[i].value;
    return named == values;
}

/* libmariadb cuts names at a NUL. */
static bool names_come(MYSQL_RES *r)
{
    const MYSQL_FIELD *fields = mysql_fetch_fields(r);

    for (unsigned i = 0; i < mysql_num_fields(r); i++)
        if (strlen(fields[i].name) != fields[i].name_length)
            return false;
    return true;
}

/* Are the SELECT's first rows these; `all`: and no more come? */
static bool rows_same(struct asked *a, const struct wr_row *rows, size_t count, bool all,
                      MYSQL_RES *r)
{
    size_t n = 0;

    for (MYSQL_ROW said; (said = mysql_fetch_row(r)) != NULL; n++)
        if (n == count ? all : n < count && !is_row(a, &rows[n], r, said))
            return false;
    return n >= count;
}

static bool put_select(struct asked *a, bytes table)
{
    put(a, "select * from ");
    return put_name(a, table);
}

/* Bounds of the first key column alone, if the others are open or there are none; then the order.
 * False: it takes more to say them. */
static bool put_range(struct asked *a, const struct wr_get_range *g)
{
    const struct wr_key *low = g->backward ? &g->end : &g->start;
    const struct wr_key *high = g->backward ? &g->start : &g->end;
    size_t same = 0;

    if (low->count != a->table->key_count || high->count != low->count)
        return false;
    for (; same < low->count && low->columns[same].value.type == a->table->key[same].type &&
           high->columns[same].value.type == a->table->key[same].type &&
           !value_compare(&low->columns[same].value, &high->columns[same].value);
         same++) {
        put(a, same ? " and " : " where ");
        if (!put_name(a, a->table->key[same].name))
            return false;
        put(a, " = ");
        if (!put_value(a, &low->columns[same].value))
            return false;
    }
    if (same == low->count) /* nothing, or one row */
        return false;
    for (int side = 0; side < 2; side++) {
        const struct wr_value *v = &(side ? high : low)->columns[same].value;
        bool included = side ? g->backward : !g->backward;

        if (v->type == (side ? WR_INF_MAX : WR_INF_MIN))
            continue;
        if (v->type != a->table->key[same].type || same + 1 < low->count)
            return false; /* with columns behind it, it is a comparison of tuples */
        put(a, same || (side && low->columns[same].value.type != WR_INF_MIN) ? " and " : " where ");
        if (!put_name(a, a->table->key[same].name))
            return false;
        put(a, (side != 0) != a->table->key[same].descending ? " <" : " >");
        put(a, included ? "= " : " ");
        if (!put_value(a, v))
            return false;
    }
    for (size_t i = 0; i < a->table->key_count; i++) {
        put(a, i ? ", " : " order by ");
        if (!put_name(a, a->table->key[i].name))
            return false;
        put(a, g->backward != a->table->key[i].descending ? " desc" : "");
    }
    return true;
}

static bool put_read(struct asked *a)
{
    const struct wr_request *q = a->req;

    if (q->op == WR_OP_GET_ROW)
        return is_plain_read(&q->get_row.read) && !q->get_row.token.ptr &&
               !q->get_row.transaction.ptr && put_select(a, q->get_row.table) &&
               put_key(a, &q->get_row.key);
    return is_plain_read(&q->get_range.read) && !q->get_range.token.ptr &&
           !q->get_range.transaction.ptr && put_select(a, q->get_range.table) &&
           put_range(a, &q->get_range);
}

/* 0: SQL says the same; 1: it does not; -1: it cannot say it. */
static int read_compare(struct asked *a, const struct answer *got)
{
    const struct wr_reply *reply = &got->reply;
    MYSQL_RES *r;
    bool same;

    buf_init(&a->text, &a->c->arena, 256);
    if (!put_read(a) || !say(a) || !(r = mysql_store_result(a->sql->mysql)))
        return -1;
    if (!names_come(r)) {
        mysql_free_result(r);
        return -1;
    }
    if (a->req->op == WR_OP_GET_ROW)
        same = rows_same(a, &reply->row.row, reply->row.row.key.count ? 1 : 0, true, r);
    else
        same = rows_same(a, reply->range.rows, reply->range.row_count, !reply->range.next.count, r);
    mysql_free_result(r);
    return !same;
}

static void read_answer(struct asked *a, struct answer *out)
{
    int code = read_compare(a, out);

    if (code > 0) { /* what expires may have done so in between */
        answer_release(out);
        other_ask(a, a->req, out);
        code = out->reply.code || out->fault ? -1 : read_compare(a, out);
    }
    a->sql->said.read += code >= 0;
    a->sql->said.others += code < 0;
    if (code > 0)
        out->fault =
            arena_printf(&a->c->arena, "SQL gives other rows: %.*s", BYTES_FMT(buf_bytes(&a->text)))
                .ptr;
}

/* ---- the door ---- */

static bytes table_of(const struct wr_request *req)
{
    switch (req->op) {
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        return req->put_row.table;
    case WR_OP_GET_ROW:
        return req->get_row.table;
    case WR_OP_GET_RANGE:
        return req->get_range.table;
    default:
        return BYTES_NONE;
    }
}

static void sql_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                     struct answer *out)
{
    struct asked a = {.sql = PORT_CONTAINER(d, struct sql, base), .c = c, .req = req};
    struct wr_request describe = {.op = WR_OP_DESCRIBE_TABLE, .instance = req->instance};
    bool reads = req->op == WR_OP_GET_ROW || req->op == WR_OP_GET_RANGE, said = false;
    struct answer table = {.reply = {.code = -1}};

    describe.describe_table.table = table_of(req);
    if (describe.describe_table.table.ptr)
        other_ask(&a, &describe, &table);
    if (!table.reply.code && !table.fault) {
        a.table = &table.reply.description;
        buf_init(&a.text, &c->arena, 256);
        said = !reads && write_say(&a, &req->put_row);
    }
    if (said)
        written_answer(&a, out);
    else
        other_ask(&a, req, out);
    if (reads && a.table && !out->reply.code && !out->fault)
        read_answer(&a, out);
    else
        a.sql->said.others += !said;
    answer_release(&table);
}

static void sql_close(struct door *d)
{
    struct sql *s = PORT_CONTAINER(d, struct sql, base);

    if (s->mysql)
        mysql_close(s->mysql);
    door_close(s->other);
    mem_free(s);
}

static const struct door_ops ops = {sql_exec, sql_close};

struct door *door_beside_open(struct door *other, const struct door_login *login, char *message,
                              size_t size)
{
    struct sql *s = mem_zalloc(sizeof(*s));

    s->base.ops = &ops;
    s->other = other;
    s->mysql = mysql_init(NULL);
    mysql_options(s->mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(s->mysql, "127.0.0.1", login->user, login->password, login->instance,
                           login->port, NULL, 0))
        return &s->base;
    snprintf(message, size, "the SQL port: %s", mysql_error(s->mysql));
    sql_close(&s->base);
    return NULL;
}

struct door_said door_beside_said(const struct door *d)
{
    return PORT_CONTAINER(d, struct sql, base)->said;
}

#include "server/sql_query.h"

#include "base/pool.h"
#include "server/grant.h"
#include "sql/calendar.h"
#include "sql/run/session.h"
#include "wire/ots_sql.h"

#include <inttypes.h>
#include <unistd.h>

#define THREADS_MAX 16 /* statements at a time, of which those that compute are fewer */

struct sql_queries {
    struct pool *pool;
    struct permits permits;
    struct wr_db *db;
    struct clock *clock;
    atomic_bool quit;
};

struct answer_row {
    struct answer_row *next;
    struct wr_value values[];
};

/* One request, in its arena. */
struct query {
    struct pool_job job;
    struct op_exchange *op;
    struct ots_sql_query asked;
    struct sink sink;
    struct flat_column *columns; /* NULL: the statement has no rows */
    bool *mixed;                 /* of each column: values differ from its type */
    size_t column_count;
    struct answer_row *first, **last;
    size_t row_count;
    bool full; /* the rows take more memory than a request may */
};

static struct arena *arena_of(struct query *q)
{
    return &q->op->r->ctx.arena;
}

/* ---- what the access key may do ---- */

static int check(void *arg, struct ctx *c, const struct wr_request *request)
{
    const struct op_exchange *op = arg;

    return grants_check(c, &op->cred->grants, request);
}

static bool enter(void *arg, bytes instance)
{
    const struct op_exchange *op = arg;

    return bytes_equal(instance, bytes_str(op->cred->instance));
}

static struct wr_table_list visible(void *arg, struct ctx *c, bytes instance,
                                    const struct wr_table_list *all)
{
    const struct op_exchange *op = arg;

    (void)instance;
    return grants_visible(c, &op->cred->grants, all);
}

/* ---- rows, gathered ---- */

/* Which of the answer's types a column or value has. */
static enum wr_type answer_type(const struct query *q, enum wr_type type)
{
    switch (type) {
    case WR_NULL:
        return WR_NULL; /* the values will tell */
    case WR_BOOLEAN:
        return WR_BOOLEAN;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
        return WR_BIGINT;
    case WR_FLOAT:
    case WR_DOUBLE:
        return WR_DOUBLE;
    case WR_BINARY:
    case WR_VARBINARY:
        return WR_VARBINARY;
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return q->asked.moments ? type : WR_VARCHAR;
    default:
        return WR_VARCHAR;
    }
}

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct query *q = PORT_CONTAINER(s, struct query, sink);

    q->columns = ARENA_ARRAY(arena_of(q), struct flat_column, count + 1);
    q->mixed = ARENA_ARRAY(arena_of(q), bool, count + 1);
    q->column_count = count;
    for (size_t i = 0; i < count; i++) {
        q->columns[i].name = arena_copy(arena_of(q), columns[i].name);
        q->columns[i].type = answer_type(q, columns[i].type);
    }
    return 0;
}

/* What timediff() makes may be below zero, or longer than a day; a stored time is neither. */
static bytes time_text(struct arena *a, int64_t ms)
{
    int64_t s = (ms < 0 ? -ms : ms) / 1000, fraction = (ms < 0 ? -ms : ms) % 1000;

    return arena_printf(
        a, fraction ? "%s%02" PRId64 ":%02d:%02d.%03d" : "%s%02" PRId64 ":%02d:%02d",
        ms < 0 ? "-" : "", s / 3600, (int)(s / 60 % 60), (int)(s % 60), (int)fraction);
}

static bytes value_text(struct arena *a, const struct wr_value *v)
{
    char text[CALENDAR_TEXT];
    size_t n;

    switch (v->type) {
    case WR_UBIGINT:
        return arena_printf(a, "%" PRIu64, v->uinteger);
    case WR_TIME:
        return time_text(a, v->integer);
    default:
        n = calendar_format(v, text);
        return n ? arena_copy(a, bytes_of(text, n)) : v->bytes;
    }
}

static bool is_in_calendar(const struct wr_value *v)
{
    int64_t unit = v->type == WR_DATE ? DAY_MS : 1;

    return v->type == WR_TIME ||
           (v->integer >= CALENDAR_MS_MIN / unit && v->integer <= CALENDAR_MS_MAX / unit);
}

/* As the answer has it: microseconds, seconds and nanoseconds. */
static void moment_convert(struct wr_value *v)
{
    v->integer *= v->type == WR_TIMESTAMP ? 1000 : v->type == WR_DATE ? DAY_MS / 1000 : 1000000;
}

/* False: there is no room for it. */
static bool value_take(struct query *q, enum wr_type type, const struct wr_value *in,
                       struct wr_value *out)
{
    bool moment = in->type == WR_DATE || in->type == WR_TIME || in->type == WR_TIMESTAMP;
    bytes b;
    void *copy;

    *out = (struct wr_value){.type = WR_NULL};
    if (in->type == WR_NULL || (moment && !is_in_calendar(in)))
        return true;
    *out = *in;
    out->type = type;
    if (moment && type == in->type)
        moment_convert(out);
    if (type != WR_VARCHAR && type != WR_VARBINARY)
        return true;
    b = value_text(arena_of(q), in);
    copy = arena_try_alloc(arena_of(q), b.len + 1);
    if (!copy)
        return false;
    memcpy(copy, b.len ? b.ptr : "", b.len);
    out->bytes = bytes_of(copy, b.len);
    return true;
}

/* What an expression makes may be of another type in each row: the column takes them all. */
static void column_widen(struct query *q, size_t i, enum wr_type type)
{
    enum wr_type *own = &q->columns[i].type;
    bool number = type == WR_BIGINT || type == WR_DOUBLE || type == WR_BOOLEAN;

    if (type == WR_NULL || type == *own)
        return;
    q->mixed[i] = *own != WR_NULL;
    if (*own == WR_NULL)
        *own = type;
    else
        *own = number && (*own == WR_BIGINT || *own == WR_DOUBLE || *own == WR_BOOLEAN)
                   ? WR_DOUBLE
                   : WR_VARCHAR;
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct query *q = PORT_CONTAINER(s, struct query, sink);
    struct answer_row *row =
        arena_try_alloc(arena_of(q), sizeof(*row) + q->column_count * sizeof(row->values[0]));

    q->full = !row;
    for (size_t i = 0; i < q->column_count && !q->full; i++) {
        enum wr_type type = answer_type(q, values[i].type);

        column_widen(q, i, type);
        q->full = !value_take(q, type, &values[i], &row->values[i]);
    }
    if (q->full)
        return -1;
    row->next = NULL;
    *q->last = row;
    q->last = &row->next;
    q->row_count++;
    return 0;
}

/* ---- answers ---- */

static double real_of(const struct wr_value *v)
{
    return v->type == WR_DOUBLE ? v->real : v->type == WR_BOOLEAN ? v->boolean : (double)v->integer;
}

/* A value of a mixed column as one of its type. */
static void value_align(struct query *q, enum wr_type type, struct wr_value *v)
{
    if (v->type == WR_NULL || v->type == type)
        return;
    if (type == WR_DOUBLE)
        v->real = real_of(v);
    else if (v->type == WR_DOUBLE)
        v->bytes = arena_printf(arena_of(q), "%.15g", v->real);
    else if (v->type != WR_VARBINARY)
        v->bytes =
            arena_printf(arena_of(q), "%" PRId64, v->type == WR_BOOLEAN ? v->boolean : v->integer);
    v->type = type;
}

static void columns_align(struct query *q)
{
    for (size_t i = 0; i < q->column_count; i++) {
        if (q->columns[i].type == WR_NULL)
            q->columns[i].type = WR_VARCHAR;
        if (q->mixed[i])
            for (struct answer_row *row = q->first; row; row = row->next)
                value_align(q, q->columns[i].type, &row->values[i]);
    }
}

static int query_encode(struct query *q, const struct outcome *out, bytes *body)
{
    struct arena *a = arena_of(q);
    const struct wr_value **rows = arena_try_alloc(a, (q->row_count + 1) * sizeof(const void *));
    struct flat_rows list = {q->columns, q->column_count, rows, q->row_count};
    struct ots_sql_answer answer = {
        .type = (int)out->kind, .payload = q->asked.payload, .rows = q->columns ? &list : NULL};
    struct ots_sql_consumed *consumed;
    size_t n = 0;

    if (!rows)
        return fail_code(&q->op->r->ctx, E_MEMORY);
    columns_align(q);
    for (const struct answer_row *row = q->first; row; row = row->next)
        rows[n++] = row->values;
    for (const struct consumed *c = out->consumed; c; c = c->next)
        answer.consumed_count++;
    consumed = ARENA_ARRAY(a, struct ots_sql_consumed, answer.consumed_count);
    n = 0;
    for (const struct consumed *c = out->consumed; c; c = c->next)
        consumed[n++] =
            (struct ots_sql_consumed){c->table, c->read > INT32_MAX ? INT32_MAX : (int32_t)c->read};
    answer.consumed = consumed;
    return ots_sql_encode(&q->op->r->ctx, &answer, body);
}

static int query_fail(struct query *q, const struct fault *fault)
{
    struct ctx *c = &q->op->r->ctx;
    int code = fault->code ? fault->code : E_PARAMETER;

    code = fail(c, code, "%.*s", BYTES_FMT(fault->text));
    return code == E_PERMISSION ? op_unless_stale(q->op, code) : code;
}

static int query_finish(struct query *q, const struct outcome *out, bytes *body)
{
    struct http_request *r = q->op->r;

    if (q->full)
        return fail_code(&r->ctx, E_MEMORY);
    if (out->fault.number)
        return query_fail(q, &out->fault);
    TRY(query_encode(q, out, body));
    if (http_reserve(r, r->ctx.arena.used))
        return E_OK;
    return fail(&r->ctx, E_BUSY,
                "Server is busy: answers that this access key has not read yet fill the memory for "
                "them (--memory).");
}

/* ---- running ---- */

static struct session *session_of(struct query *q)
{
    struct op_exchange *op = q->op;
    struct sql_queries *front = op->front->sql;
    struct session_conf conf = {.db = front->db,
                                .access = {check, enter, visible, op},
                                .clock = front->clock,
                                .dialect = SESSION_TABLESTORE,
                                .user = bytes_str(op->cred->id),
                                .permits = &front->permits,
                                .quit = &front->quit,
                                .client = op_client(op),
                                .gone = &op->r->gone,
                                .deadline_ms = op->deadline_ms};
    struct session *s = session_new(&conf);

    session_use(s, bytes_str(op->cred->instance));
    return s;
}

/* The request must not be touched behind the answer. */
static void query_run(struct pool_job *self)
{
    struct query *q = PORT_CONTAINER(self, struct query, job);
    struct session *s = session_of(q);
    struct arena statement;
    struct outcome out;
    bytes body;
    int code;

    arena_init(&statement, NULL, 0);
    session_run(s, &statement, q->asked.sql, NULL, NULL, 0, &q->sink, &out);
    code = query_finish(q, &out, &body);
    arena_release(&statement);
    session_free(s);
    if (code)
        op_refuse(q->op);
    else
        op_answer(q->op, E_OK, body);
}

int sql_query_begin(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    struct query *q = ARENA_NEW(&c->arena, struct query);
    bytes body;

    q->op = op;
    q->job.run = query_run;
    q->sink = (struct sink){on_columns, on_row};
    q->last = &q->first;
    TRY(op_inflate(op, &body));
    TRY(ots_sql_decode(c, body, &q->asked));
    pool_submit(op->front->sql->pool, op_client(op), &q->job, false);
    return E_OK;
}

struct sql_queries *sql_queries_open(struct wr_db *db, struct clock *clock)
{
    struct sql_queries *q = mem_zalloc(sizeof(*q));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    q->db = db;
    q->clock = clock;
    permits_init(&q->permits, (processors > 0 ? (int)processors : 1) + 1);
    q->pool = pool_start(
        &(struct pool_conf){.name = "wr-sql-query", .threads = THREADS_MAX, .wait = true});
    session_memory_bound(db);
    if (q->pool)
        return q;
    permits_destroy(&q->permits);
    mem_free(q);
    return NULL;
}

void sql_queries_quit(struct sql_queries *q)
{
    if (q)
        atomic_store(&q->quit, true);
}

void sql_queries_close(struct sql_queries *q)
{
    if (!q)
        return;
    pool_stop(q->pool);
    permits_destroy(&q->permits);
    mem_free(q);
}

/* What clients of the SQL port say: packets before and after the handshake, values of prepared
 * statements, and statements themselves, run in both dialects. */
#include "fuzz.h"

#include "sql/mysql/handshake.h"
#include "sql/mysql/parameters.h"
#include "sql/mysql/row.h"
#include "sql/run/session.h"

#include <stdlib.h>

#define INPUTS_MAX 200 /* between two fresh databases, which bounds their memory */
#define INPUT_MS 2000
#define PARAMETERS_MAX 64
#define VALUES 8 /* for question marks */

static struct wr_db *db;
static struct clock real;
static int inputs;

/* ---- packets ---- */

static bool is_within(bytes outer, bytes b)
{
    return !b.len ||
           (bytes_u8(b) >= bytes_u8(outer) && bytes_u8(b) + b.len <= bytes_u8(outer) + outer.len);
}

static void handshake_check(bytes in, const struct handshake *h)
{
    CHECK(is_within(in, h->user) && is_within(in, h->answer) && is_within(in, h->database));
}

/* A client's first packet, and the same bytes as COM_CHANGE_USER. */
void fuzz_handshake(bytes in)
{
    static const uint8_t nonce[AUTH_NONCE_BYTES];
    enum handshake_kind kind;
    struct handshake h;

    kind = handshake_parse(in, &h);
    if (kind == HANDSHAKE_WHOLE) {
        handshake_check(in, &h);
        CHECK(!auth_check(h.method, nonce, BYTES_LIT("secret"), h.answer));
    }
    if (change_user_parse(in, CAN_PROTOCOL_41 | CAN_PLUGIN_AUTH | CAN_SECURE, &h))
        handshake_check(in, &h);
}

static void value_check(struct buf *b, const struct wr_value *v)
{
    switch (v->type) {
    case WR_NULL:
    case WR_BIGINT:
    case WR_UBIGINT:
    case WR_DOUBLE:
    case WR_VARCHAR:
    case WR_VARBINARY:
    case WR_TIMESTAMP:
    case WR_DATE:
    case WR_TIME:
        break;
    default:
        fuzz_broken(__FILE__, __LINE__, "a type that no parameter has");
    }
    row_put_text(b, v, 1);
    row_put_binary(b, v, 1);
}

/* 1: COM_STMT_EXECUTE behind its head, 2: how many question marks, 3: a second one, which may leave
 * the types out, 4: what came beforehand for the first. */
void fuzz_parameters(bytes in)
{
    struct parameter_type types[PARAMETERS_MAX] = {{0}};
    struct wr_value values[PARAMETERS_MAX];
    bytes longs[PARAMETERS_MAX] = {{NULL, 0}};
    size_t count = fuzz_number(in, 2) % PARAMETERS_MAX;
    bool known = false;
    struct arena a;
    struct buf b;

    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 256);
    if (fuzz_part(in, 4).len)
        longs[0] = fuzz_part(in, 4);
    for (unsigned part = 1; part <= 3; part += 2) {
        struct reader r = reader_of(fuzz_part(in, part));

        if (parameters_parse(&r, types, &known, longs, count, values))
            for (size_t i = 0; i < count; i++)
                value_check(&b, &values[i]);
    }
    arena_release(&a);
}

/* ---- statements ---- */

struct seen {
    struct sink sink;
    struct column *columns;
    size_t count;
    struct arena arena;
    struct buf buf;
};

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct seen *seen = PORT_CONTAINER(s, struct seen, sink);

    CHECK(!seen->columns);
    seen->columns = ARENA_ARRAY(&seen->arena, struct column, count + 1);
    memcpy(seen->columns, columns, count * sizeof(*columns));
    seen->count = count;
    return 0;
}

/* Values are of their column's type. */
static int on_row(struct sink *s, const struct wr_value *values)
{
    struct seen *seen = PORT_CONTAINER(s, struct seen, sink);

    CHECK(seen->columns);
    for (size_t i = 0; i < seen->count; i++)
        CHECK(values[i].type == WR_NULL || seen->columns[i].type == WR_NULL ||
              values[i].type == seen->columns[i].type);
    seen->buf.len = 0;
    row_put_text(&seen->buf, values, seen->count);
    row_put_binary(&seen->buf, values, seen->count);
    return 0;
}

static uint16_t statement_run(struct session *s, bytes sql, const struct wr_value *values,
                              size_t count)
{
    struct seen seen = {.sink = {on_columns, on_row}};
    struct outcome out;
    uint16_t number;
    struct arena a;

    arena_init(&a, NULL, 0);
    arena_init(&seen.arena, NULL, 0);
    buf_init(&seen.buf, &seen.arena, 256);
    session_run(s, &a, sql, NULL, values, count, &seen.sink, &out);
    number = out.fault.number;
    CHECK(!number || (out.fault.text.len && out.fault.state));
    CHECK(number != 1105 || !memmem(out.fault.text.ptr, out.fault.text.len, "malformed", 9));
    arena_release(&seen.arena);
    arena_release(&a);
    return number;
}

static int may(void *arg, struct ctx *c, const struct wr_request *request)
{
    (void)arg, (void)c, (void)request;
    return 0;
}

static bool may_enter(void *arg, bytes instance)
{
    (void)arg;
    return bytes_equal(instance, BYTES_LIT("inst"));
}

static struct wr_table_list all_visible(void *arg, struct ctx *c, bytes instance,
                                        const struct wr_table_list *all)
{
    (void)arg, (void)c, (void)instance;
    return *all;
}

static int user_change(void *arg, struct ctx *c, const struct user_change *change)
{
    (void)arg, (void)c;
    CHECK(change->instance.ptr || change->action == USER_ALTER || change->action == USER_DROP);
    return 0;
}

static size_t user_grants(void *arg, struct arena *a, struct user_grant **out)
{
    (void)arg;
    *out = ARENA_ARRAY(a, struct user_grant, 2);
    (*out)[0] =
        (struct user_grant){.user = BYTES_LIT("app1"), .instance = BYTES_LIT("inst"), .may = 3};
    (*out)[1] = (struct user_grant){.user = BYTES_LIT("app1"),
                                    .instance = BYTES_LIT("inst"),
                                    .table = BYTES_LIT("t"),
                                    .prefix = true,
                                    .may = USER_MAY_ALL};
    return 2;
}

static size_t databases(void *arg, struct arena *a, bytes **out)
{
    (void)arg;
    *out = ARENA_ARRAY(a, bytes, 1);
    (*out)[0] = BYTES_LIT("inst");
    return 1;
}

static void sql_db_close(void)
{
    wr_close(db);
    db = NULL;
}

static struct session *session_make(enum session_dialect dialect)
{
    struct session_conf conf = {
        .db = db,
        .access = {may, may_enter, all_visible, NULL, databases, user_change, user_grants},
        .clock = &real,
        .dialect = dialect,
        .user = BYTES_LIT("id"),
        .number = 7,
        .deadline_ms = clock_mono_ms(&real) + INPUT_MS};
    struct session *s = session_new(&conf);

    CHECK(session_use(s, BYTES_LIT("inst")));
    return s;
}

static void tables_make(void)
{
    struct session *s = session_make(SESSION_LINDORM);

    static const char *const statements[] = {
        "create table t (k varchar, n bigint, d double, s varchar, primary key (k, n desc), index "
        "ts (s) include (d))",
        "create table a (k int, b boolean, u bigint unsigned, x decimal(10,2), f float, c char(4), "
        "bn binary(3), vb varbinary, da date, tm time, ts timestamp, j json, primary key (k))",
        "create table w (k varchar, n bigint, v bigint, j json, primary key (k, n), index wv (v)) "
        "with (transactions = 'true')",
        "insert into w (k, n, v, j) values ('a', 1, 1, '{\"a\": [1, 2], \"n\": 3}')",
        "insert into t (k, n, d, s) values ('a', 1, 1.5, 'x'), ('a', 2, null, 'y'), ('b', 1, 3, "
        "'z')",
        "insert into a (k, b, u, x, f, c, bn, vb, da, tm, ts, j) values (1, true, "
        "18446744073709551615, -12.5, 0.1, 'ab', x'01', x'00ff', '2024-02-29', '03:04:05.5', "
        "'2024-02-29 03:04:05.678', '{}')"};

    for (size_t i = 0; i < PORT_COUNT(statements); i++)
        CHECK(!statement_run(s, bytes_str(statements[i]), NULL, 0));
    session_free(s);
}

static void sql_db_open(void)
{
    static const struct wr_setting settings[] = {
        {"table_ops_per_s_max", "0"}, {"key_columns_max", "5"}, {"request_memory_max", "16777216"}};
    struct wr_options options = {.version = WR_API_VERSION,
                                 .engine = "mem",
                                 .settings = settings,
                                 .setting_count = PORT_COUNT(settings)};
    char message[256];
    static bool hooked;

    clock_real_init(&real);
    if (wr_open(&options, &db, message, sizeof(message)))
        fuzz_broken(__FILE__, __LINE__, message);
    session_memory_bound(db);
    tables_make();
    if (!hooked)
        atexit(sql_db_close);
    hooked = true;
}

/* A session that says parts 1, 3, 4 and 5, one after the other; 2: a text for their question marks.
 */
static void sql_say(bytes in, enum session_dialect dialect, const struct wr_value *values)
{
    static const unsigned parts[] = {1, 3, 4, 5};
    struct session *s = session_make(dialect);

    for (size_t i = 0; i < PORT_COUNT(parts); i++) {
        bytes sql = fuzz_part(in, parts[i]);
        struct prepared_shape shape;
        struct fault fault;
        struct arena a;
        size_t count = VALUES + 1;

        if (i && !sql.len)
            continue;
        arena_init(&a, NULL, 0);
        if (session_prepare(s, &a, &a, sql, &shape, &fault))
            count = shape.parameters;
        else
            CHECK(fault.number == 1064 && fault.text.len);
        CHECK(count > VALUES || !shape.column_count || shape.columns[0].name.ptr);
        arena_release(&a);
        if (count <= VALUES)
            statement_run(s, sql, values, count);
    }
    CHECK(session_autocommits(s) || dialect == SESSION_LINDORM);
    session_reset(s);
    CHECK(session_autocommits(s) && !session_in_transaction(s));
    session_free(s);
}

/* They end, in time. */
void fuzz_sql(bytes in)
{
    struct wr_value values[VALUES];

    if (db && ++inputs >= INPUTS_MAX)
        sql_db_close();
    if (!db) {
        inputs = 0;
        sql_db_open();
    }
    for (size_t i = 0; i < VALUES; i++)
        values[i] = i % 2 ? (struct wr_value){.type = WR_BIGINT, .integer = i < 4 ? 1 : INT64_MIN}
                          : (struct wr_value){.type = WR_VARCHAR, .bytes = fuzz_part(in, 2)};
    for (int d = SESSION_LINDORM; d <= SESSION_TABLESTORE; d++)
        sql_say(in, (enum session_dialect)d, values);
}

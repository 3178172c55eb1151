/* bed.h: a session over the engine in memory, and what it answers as a text. */
#ifndef TEST_SQL_RUN_BED_H
#define TEST_SQL_RUN_BED_H

#include "sql/run/session.h"

#include "sql/mysql/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct bed {
    struct wr_db *db;
    struct clock clock;
    struct session *session;
    int32_t gone; /* not 0: KILL QUERY was said */
};

/* ---- answers as texts: "a,b|1,x|2,y"; faults as "!1064 text" ---- */

struct shown {
    struct sink sink;
    struct arena arena;
    struct buf out;
    size_t columns;
};

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct shown *w = PORT_CONTAINER(s, struct shown, sink);

    w->columns = count;
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_put_u8(&w->out, ',');
        buf_put_bytes(&w->out, columns[i].name);
    }
    return 0;
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct shown *w = PORT_CONTAINER(s, struct shown, sink);

    buf_put_u8(&w->out, '|');
    for (size_t i = 0; i < w->columns; i++) {
        struct buf one;
        struct reader r;

        if (i)
            buf_put_u8(&w->out, ',');
        if (values[i].type == WR_NULL) {
            buf_put_bytes(&w->out, BYTES_LIT("NULL"));
            continue;
        }
        buf_init(&one, &w->arena, 0);
        row_put_text(&one, &values[i], 1);
        r = reader_of(buf_bytes(&one));
        buf_put_bytes(&w->out, packet_read_counted(&r));
    }
    return 0;
}

/* As a loop does it, and as a connection's thread where a loop does not. */
static enum session_begun bed_run(struct bed *b, struct arena *a, const char *sql,
                                  const struct statement *tree, const struct wr_value *values,
                                  size_t n, struct sink *sink, struct outcome *out)
{
    struct deferred *d;
    enum session_begun begun =
        session_begin(b->session, a, bytes_str(sql), tree, values, n, sink, out, &d);

    if (begun == SESSION_REQUEST && !session_end(d, wr_exec(b->db, deferred_request(d))))
        begun = SESSION_WHOLE;
    if (begun == SESSION_WHOLE)
        session_run(b->session, a, bytes_str(sql), tree, values, n, sink, out);
    return begun;
}

/* In the arena. `tree` as of session_run(). */
static const char *answer_tree(struct bed *b, struct arena *in, const char *sql,
                               const struct statement *tree, const struct wr_value *values,
                               size_t n)
{
    struct shown w = {.sink = {on_columns, on_row}};
    struct outcome out;
    const char *text;
    struct arena a;

    arena_init(&a, NULL, 0);
    arena_init(&w.arena, NULL, 0);
    buf_init(&w.out, &w.arena, 0);
    bed_run(b, &a, sql, tree, values, n, &w.sink, &out);
    if (out.fault.number)
        buf_put_bytes(&w.out,
                      arena_printf(&w.arena, "!%u %.*s", out.fault.number, (int)out.fault.text.len,
                                   (const char *)out.fault.text.ptr));
    else if (!w.columns)
        buf_put_bytes(&w.out, arena_printf(&w.arena, "%u", (unsigned)out.affected));
    buf_put_u8(&w.out, 0);
    text = arena_copy(in, buf_bytes(&w.out)).ptr;
    arena_release(&w.arena);
    arena_release(&a);
    return text;
}

static const char *answer(struct bed *b, struct arena *in, const char *sql,
                          const struct wr_value *values, size_t n)
{
    return answer_tree(b, in, sql, NULL, values, n);
}

static void expect_with(struct bed *b, const char *sql, const struct wr_value *values, size_t n,
                        const char *expected)
{
    struct arena a;
    const char *was;

    arena_init(&a, NULL, 0);
    was = answer(b, &a, sql, values, n);
    if (strcmp(was, expected) != 0)
        print_error("%s\n", sql);
    assert_string_equal(was, expected);
    arena_release(&a);
}

static void expect(struct bed *b, const char *sql, const char *answer)
{
    expect_with(b, sql, NULL, 0, answer);
}

/* ---- the session ---- */

static int may(void *arg, struct ctx *c, const struct wr_request *request)
{
    (void)arg;
    if (request->op == WR_OP_GET_RANGE &&
        bytes_equal(request->get_range.table, BYTES_LIT("closed")))
        return (c->text = "the access key may not read the table closed any more", E_PERMISSION);
    if (request->op == WR_OP_DELETE_TABLE &&
        bytes_equal(request->delete_table.table, BYTES_LIT("kept")))
        return (c->text = "the access key may not write the table kept", E_PERMISSION);
    return 0;
}

static bool may_enter(void *arg, bytes instance)
{
    (void)arg;
    return bytes_equal(instance, BYTES_LIT("inst")) || bytes_equal(instance, BYTES_LIT("other"));
}

static struct wr_table_list all_visible(void *arg, struct ctx *c, bytes instance,
                                        const struct wr_table_list *all)
{
    (void)arg, (void)c, (void)instance;
    return *all;
}

/* `walkers`: as of session_conf. */
static struct session *bed_session_with(struct bed *b, struct pool *walkers)
{
    struct session_conf conf = {.db = b->db,
                                .clock = &b->clock,
                                .walkers = walkers,
                                .access = {may, may_enter, all_visible, NULL},
                                .user = BYTES_LIT("id1"),
                                .number = 7,
                                .gone = &b->gone};
    struct session *s = session_new(&conf);

    assert_true(session_use(s, BYTES_LIT("inst")));
    return s;
}

static struct session *bed_session(struct bed *b)
{
    return bed_session_with(b, NULL);
}

static int set_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"key_columns_max", "5"}};
    struct wr_options o = {WR_OPTIONS, .engine = "mem", .settings = settings, .setting_count = 2};
    char message[200];

    clock_real_init(&b->clock);
    if (wr_open(&o, &b->db, message, sizeof(message)))
        print_error("%s\n", message);
    assert_non_null(b->db);
    b->session = bed_session(b);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bed *b = *state;

    session_free(b->session);
    wr_close(b->db);
    free(b);
    return 0;
}

#endif

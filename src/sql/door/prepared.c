/* prepared.c: prepared statements of a connection. */
#include "base/arena_full.h"
#include "sql/door/visit.h"

#define STATEMENTS_MAX 1000
#define PARAMETERS_MAX 65535
#define KEPT_SQL_BYTES_MAX 8192 /* what is understood of a longer statement is not kept */

struct prepared **prepared_find(struct visit *v, uint32_t number)
{
    struct prepared **at = &v->prepared;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void prepared_free(struct prepared *p)
{
    arena_release(&p->long_arena);
    arena_release(&p->arena);
    mem_free(p);
}

void prepared_remove(struct visit *v, struct prepared **at)
{
    struct prepared *p = *at;

    *at = p->next;
    v->prepared_count--;
    prepared_free(p);
}

void prepared_forget(struct prepared *p)
{
    arena_restart(&p->long_arena, NULL, 0);
    for (size_t i = 0; i < p->count; i++)
        p->longs[i] = (struct buf){.arena = &p->long_arena};
    p->longs_lost = false;
}

static struct prepared *prepared_new(struct visit *v, bytes sql)
{
    struct prepared *p = mem_zalloc(sizeof(*p));

    bounded_arena_init(v, &p->arena);
    bounded_arena_init(v, &p->long_arena);
    p->sql = arena_copy(&p->arena, sql);
    return p;
}

static void prepared_add(struct visit *v, struct prepared *p, const struct prepared_shape *shape)
{
    p->number = ++v->last_statement;
    p->count = shape->parameters;
    p->types = ARENA_ARRAY(&p->arena, struct parameter_type, p->count + 1);
    p->longs = ARENA_ARRAY(&p->arena, struct buf, p->count + 1);
    prepared_forget(p);
    p->next = v->prepared;
    v->prepared = p;
    v->prepared_count++;
}

/* Question marks and columns of a prepared statement, each list with its end. */
static void send_shape(struct visit *v, const struct prepared *p, const struct prepared_shape *s)
{
    const struct column mark = {.name = BYTES_LIT("?"), .type = WR_VARCHAR};
    bool with_end = !(v->capabilities & CAN_DEPRECATE_EOF);

    packet_begin(&v->out);
    buf_put_u8(&v->buf, 0);
    buf_put_u32(&v->buf, p->number);
    packet_put_u16(&v->buf, (uint16_t)s->column_count);
    packet_put_u16(&v->buf, (uint16_t)s->parameters);
    buf_put_u8(&v->buf, 0);
    packet_put_u16(&v->buf, 0); /* warnings */
    packet_end(&v->out);
    for (size_t i = 0; i < s->parameters; i++)
        send_column(v, &mark);
    if (s->parameters && with_end)
        send_end(v);
    for (size_t i = 0; i < s->column_count; i++)
        send_column(v, &s->columns[i]);
    if (s->column_count && with_end)
        send_end(v);
}

static void refuse_prepare(struct visit *v)
{
    send_error(v, 1461, "42000",
               BYTES_LIT("Too many prepared statements or question marks: close some"));
}

void serve_prepare(struct visit *v, bytes sql)
{
    struct prepared_shape shape;
    struct fault fault;
    struct prepared *p;

    if (v->prepared_count == STATEMENTS_MAX || arena_is_full(&v->arena, sql.len)) {
        refuse_prepare(v);
        return;
    }
    p = prepared_new(v, sql);
    if (!session_prepare(v->session, &v->arena,
                         sql.len <= KEPT_SQL_BYTES_MAX ? &p->arena : &v->arena, p->sql, &shape,
                         &fault)) {
        send_error(v, fault.number, fault.state, fault.text);
    } else if (shape.parameters > PARAMETERS_MAX) {
        refuse_prepare(v);
    } else {
        p->tree = sql.len <= KEPT_SQL_BYTES_MAX ? shape.tree : NULL;
        prepared_add(v, p, &shape);
        send_shape(v, p, &shape);
        return;
    }
    prepared_free(p);
}

bool execute_read(struct visit *v, bytes payload, struct prepared **out, struct wr_value **values)
{
    struct reader r = reader_of(payload);
    struct prepared *p = *out = *prepared_find(v, read_u32(&r));
    bytes *longs;

    read_bytes(&r, 1 + 4); /* no cursors; once */
    if (!p) {
        send_error(v, 1243, "HY000", BYTES_LIT("Unknown prepared statement"));
        return false;
    }
    *values = ARENA_ARRAY(&v->arena, struct wr_value, p->count + 1);
    longs = ARENA_ARRAY(&v->arena, bytes, p->count + 1);
    for (size_t i = 0; i < p->count; i++)
        longs[i] = p->longs[i].data ? buf_bytes(&p->longs[i]) : BYTES_NONE;
    if (p->longs_lost) {
        send_error(v, 1153, "08S01",
                   BYTES_LIT("A value of the statement is longer than 64 MiB, or than what memory "
                             "there is left for what clients send"));
        return false;
    }
    if (parameters_parse(&r, p->types, &p->known, longs, p->count, *values))
        return true;
    send_error(v, 1210, "HY000", BYTES_LIT("Incorrect arguments to EXECUTE"));
    return false;
}

void serve_execute(struct visit *v, bytes payload)
{
    struct wr_value *values;
    struct prepared *p;

    if (execute_read(v, payload, &p, &values)) {
        answer_begin(v, true, p);
        serve_statement(v, p->sql, p->tree, values, p->count);
    }
    if (p)
        prepared_forget(p);
}

void take_long(struct visit *v, bytes payload)
{
    struct reader r = reader_of(payload);
    struct prepared *p = *prepared_find(v, read_u32(&r));
    uint16_t i = packet_read_u16(&r);
    size_t n = reader_left(&r);

    if (!p || r.bad || i >= p->count)
        return;
    if (p->longs[i].len + n > PACKET_MAX || arena_is_full(&p->long_arena, p->longs[i].len + n))
        p->longs_lost = true;
    else
        buf_put_bytes(&p->longs[i], read_bytes(&r, n));
}

/* answer.c: a statement runs, and its rows become packets. */
#include "sql/door/visit.h"
#include "sql/mysql/row.h"

#define SEND_BYTES 65536 /* rows that are gathered before they are sent */

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct answer *d = PORT_CONTAINER(s, struct answer, sink);
    struct visit *v = d->visit;

    d->columns = count;
    packet_begin(&v->out);
    packet_put_length(&v->buf, count);
    packet_end(&v->out);
    for (size_t i = 0; i < count; i++)
        send_column(v, &columns[i]);
    if (!(v->capabilities & CAN_DEPRECATE_EOF))
        send_end(v);
    return 0;
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct answer *d = PORT_CONTAINER(s, struct answer, sink);
    struct visit *v = d->visit;

    packet_begin(&v->out);
    if (d->binary)
        row_put_binary(&v->buf, values, d->columns);
    else
        row_put_text(&v->buf, values, d->columns);
    packet_end(&v->out);
    /* A loop has one row, and does not wait for who takes it. */
    return v->buf.len >= SEND_BYTES && !v->deferred && !send_now(v) ? -1 : 0;
}

void answer_begin(struct visit *v, bool binary, struct prepared *p)
{
    v->answer =
        (struct answer){.sink = {on_columns, on_row}, .visit = v, .binary = binary, .prepared = p};
}

void answer_end(struct visit *v)
{
    const struct outcome *out = &v->answer.outcome;

    process_show(v->connection, BYTES_NONE, BYTES_NONE);
    v->warnings = out->warnings;
    if (out->fault.number)
        send_error(v, out->fault.number, out->fault.state, out->fault.text);
    else if (v->answer.columns)
        send_end(v);
    else
        send_done(v, out->affected);
    v->warnings = 0;
}

void serve_statement(struct visit *v, bytes sql, const struct statement *tree,
                     const struct wr_value *values, size_t n)
{
    process_show(v->connection, session_database(v->session), sql);
    session_run(v->session, &v->arena, sql, tree, values, n, &v->answer.sink, &v->answer.outcome);
    answer_end(v);
    v->singles = v->answer.outcome.single ? v->singles + 1 : 0;
}

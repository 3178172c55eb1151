#include "sql/door/single.h"

#include "sql/door/visit.h"

#define KEPT_BYTES_MAX 4096 /* of the room for answers */

/* As much of a statement as came in one piece, or the connection is its thread's. */
static enum single packet_read(struct connection *c, bytes *payload, size_t *size)
{
    struct channel *channel = &c->channel;

    while (!channel_peek(channel, payload, size)) {
        if (!c->readable)
            return channel_is_ahead(channel) ? SINGLE_BACK : SINGLE_IDLE;
        if (!channel_fill(channel, &c->readable))
            return SINGLE_BACK;
    }
    return SINGLE_AGAIN;
}

/* Sends the answer, and is done with the command. */
static enum single answered(struct connection *c)
{
    struct visit *v = c->visit;

    answer_end(v);
    if (v->answer.prepared)
        prepared_forget(v->answer.prepared);
    v->deferred = NULL;
    channel_skip(&c->channel, v->packet_bytes);
    v->sent = channel_offer(&c->channel, buf_bytes(&v->buf));
    arena_restart(&v->arena, NULL, 0); /* who is idle holds no reply */
    if (v->sent < v->buf.len || atomic_load(&c->door->quit))
        return SINGLE_BACK;
    if (v->buf.capacity > KEPT_BYTES_MAX)
        send_begin(v, 0), v->sent = 0;
    return channel_is_ahead(&c->channel) || c->readable ? SINGLE_AGAIN : SINGLE_IDLE;
}

/* The command is still there. */
static enum single left(struct connection *c)
{
    struct visit *v = c->visit;

    process_continue(c);
    v->deferred = NULL;
    send_begin(v, 0);
    v->sent = 0;
    return SINGLE_BACK;
}

static enum session_begun begin(struct visit *v, bytes payload)
{
    bytes words = bytes_skip(payload, 1), sql = words;
    const struct statement *tree = NULL;
    struct wr_value *values = NULL;
    struct prepared *p = NULL;

    if (bytes_u8(payload)[0] == COMMAND_EXECUTE) {
        if (!execute_read(v, words, &p, &values))
            return SESSION_WHOLE;
        sql = p->sql;
        tree = p->tree;
    }
    answer_begin(v, p, p);
    process_show(v->connection, session_database(v->session), sql);
    return session_begin(v->session, &v->arena, sql, tree, values, p ? p->count : 0,
                         &v->answer.sink, &v->answer.outcome, &v->deferred);
}

enum single single_begin(struct connection *c, const struct wr_request **request)
{
    struct visit *v = c->visit;
    bytes payload;
    enum single next = packet_read(c, &payload, &v->packet_bytes);

    if (next != SINGLE_AGAIN)
        return next;
    if (!payload.len ||
        (bytes_u8(payload)[0] != COMMAND_EXECUTE && bytes_u8(payload)[0] != COMMAND_QUERY))
        return SINGLE_BACK;
    arena_restart(&v->arena, NULL, 0);
    send_begin(v, 1);
    switch (begin(v, payload)) {
    case SESSION_REQUEST:
        *request = deferred_request(v->deferred);
        return SINGLE_REQUEST;
    case SESSION_ENDED:
        return answered(c);
    default:
        return left(c);
    }
}

enum single single_end(struct connection *c, struct wr_reply *reply)
{
    return session_end(c->visit->deferred, reply) ? answered(c) : left(c);
}

/* connection.c: a MySQL connection: who is there, then a command after the other. */
#include "sql/door/loop.h"
#include "sql/door/visit.h"

#include <stdio.h>

#define REST_LOOK_MS 1000
#define SINGLES_MIN 4 /* statements of one request in a row, and the next ones come to a loop */

/* ---- who is there ---- */

static void guest_leave(struct visit *v)
{
    const struct door_keys *keys = &v->connection->door->conf.keys;

    while (v->prepared)
        prepared_remove(v, &v->prepared);
    session_free(v->session);
    v->session = NULL;
    if (v->key)
        keys->release(keys->arg, v->key);
    v->key = NULL;
    process_leave(v->connection);
    mem_free((void *)(uintptr_t)v->guest.id.ptr);
    v->guest.id = BYTES_NONE;
}

static uint64_t client_of(bytes id)
{
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < id.len; i++)
        h = (h ^ bytes_u8(id)[i]) * 1099511628211u;
    return h;
}

/* False: the user has as many connections as he may have. */
static bool guest_enter(struct visit *v, const struct handshake *h)
{
    struct door *d = v->connection->door;
    struct session_conf conf = {.db = d->conf.db,
                                .access = d->conf.keys.access,
                                .clock = d->conf.clock,
                                .number = v->connection->number,
                                .permits = &d->permits,
                                .walkers = d->walkers,
                                .quit = &d->quit,
                                .gone = &v->connection->gone,
                                .processes = process_functions(v->connection),
                                .client = client_of(h->user)};
    char *id = mem_zalloc(h->user.len + 1);

    memcpy(id, h->user.ptr, h->user.len);
    v->guest = (struct door_guest){.keys = &d->conf.keys, .id = bytes_of(id, h->user.len)};
    conf.user = v->guest.id;
    conf.access.arg = &v->guest;
    v->session = session_new(&conf);
    v->capabilities = h->capabilities;
    return process_enter(v->connection, v->guest.id);
}

/* Asks again by the method that both know. False: the client has gone. */
static bool method_switch(struct visit *v, struct handshake *h, uint8_t *number)
{
    h->method = h->method == AUTH_UNKNOWN ? AUTH_NATIVE : h->method;
    send_begin(v, *number);
    packet_begin(&v->out);
    auth_switch_put(&v->buf, h->method, v->nonce);
    packet_end(&v->out);
    *number = v->out.number;
    return send_now(v) &&
           channel_packet(&v->connection->channel, &v->arena, 4096, number, &h->answer);
}

/* Checks who it is, and lets him in. The answer is gathered, not sent. */
static bool guest_check(struct visit *v, struct handshake *h, uint8_t number)
{
    const struct door_keys *keys = &v->connection->door->conf.keys;
    bytes secret = BYTES_NONE;
    bool known, place = true;

    /* The greeting has named a method; who wants another one answers when he is asked by it. */
    if (h->method != AUTH_CACHING_SHA2 && !method_switch(v, h, &number))
        return false;
    v->key = keys->find(keys->arg, h->user, &secret);
    known = auth_check(h->method, v->nonce, v->key ? secret : BYTES_LIT("x"), h->answer) && v->key;
    if (known)
        place = guest_enter(v, h);
    else if (v->key)
        keys->release(keys->arg, v->key), v->key = NULL;
    if (known && h->database.len && !session_use(v->session, h->database))
        known = false;
    if (!known || !place)
        guest_leave(v);
    send_begin(v, number);
    if (!place) {
        send_error(v, 1226, "42000",
                   arena_printf(&v->arena,
                                "User '%.*s' has exceeded the 'max_user_connections' resource "
                                "(current value: %d): close some, or raise "
                                "--sql-user-connections",
                                (int)h->user.len, (const char *)h->user.ptr,
                                v->connection->door->conf.user_connections_max));
        return false;
    }
    if (!known) {
        send_error(v, 1045, "28000",
                   arena_printf(&v->arena,
                                "Access denied for '%.*s': the user is an access key's id, the "
                                "password its secret, the database one of its instances",
                                (int)h->user.len, (const char *)h->user.ptr));
        return false;
    }
    if (h->method == AUTH_CACHING_SHA2) {
        packet_begin(&v->out);
        packet_put_u16(&v->buf, 0x0301); /* it is known, no more is asked */
        packet_end(&v->out);
    }
    send_done(v, 0);
    return true;
}

/* The client's first words, in TLS if he wants it. */
static bool handshake_read(struct visit *v, struct handshake *h, uint8_t *number)
{
    struct channel *channel = &v->connection->channel;
    enum handshake_kind kind;
    bytes payload;

    if (!channel_packet(channel, &v->arena, 65536, number, &payload))
        return false;
    kind = handshake_parse(payload, h);
    if (kind == HANDSHAKE_TLS) {
        if (!v->connection->door->tls || !channel_secure(channel, v->connection->door->tls) ||
            !channel_packet(channel, &v->arena, 65536, number, &payload))
            return false;
        kind = handshake_parse(payload, h);
    }
    return kind == HANDSHAKE_WHOLE;
}

static bool greet(struct visit *v)
{
    struct greeting g = {.connection = v->connection->number, .tls = v->connection->door->tls};
    struct handshake h;
    uint8_t number;

    g.version = arena_printf(&v->arena, SESSION_VERSION_PREFIX "%s", wr_version());
    if (!auth_nonce(v->nonce))
        return false;
    memcpy(g.nonce, v->nonce, sizeof(g.nonce));
    send_begin(v, 0);
    packet_begin(&v->out);
    greeting_put(&v->buf, &g);
    packet_end(&v->out);
    number = v->out.number;
    if (!send_now(v) || !handshake_read(v, &h, &number))
        return false;
    if (guest_check(v, &h, number))
        return send_now(v);
    send_now(v);
    return false;
}

static bool serve_change_user(struct visit *v, bytes payload)
{
    struct handshake h;

    if (!change_user_parse(payload, v->capabilities, &h))
        return false;
    guest_leave(v);
    return guest_check(v, &h, 1);
}

/* ---- commands ---- */

static void serve_init_db(struct visit *v, bytes name)
{
    if (session_use(v->session, name))
        send_done(v, 0);
    else
        send_error(v, 1049, "42000",
                   arena_printf(&v->arena, "Unknown database '%.*s'", (int)name.len,
                                (const char *)name.ptr));
}

static void reset_statement(struct visit *v, bytes payload)
{
    struct reader r = reader_of(payload);
    struct prepared *p = *prepared_find(v, read_u32(&r));

    if (p)
        prepared_forget(p);
    send_done(v, 0);
}

static void close_statement(struct visit *v, bytes payload)
{
    struct reader r = reader_of(payload);
    struct prepared **at = prepared_find(v, read_u32(&r));

    if (*at)
        prepared_remove(v, at);
}

static void serve_kill(struct visit *v, bytes payload)
{
    struct reader r = reader_of(payload);
    uint32_t number = read_u32(&r);

    if (!r.bad && process_kill(v->connection, number, true))
        send_done(v, 0);
    else
        send_error(v, 1094, "HY000", BYTES_LIT("Unknown thread id"));
}

/* False: the connection is to end. */
static bool serve(struct visit *v, uint8_t command, bytes payload)
{
    switch (command) {
    case COMMAND_QUIT:
        return false;
    case COMMAND_INIT_DB:
        serve_init_db(v, payload);
        break;
    case COMMAND_QUERY:
        answer_begin(v, false, NULL);
        serve_statement(v, payload, NULL, NULL, 0);
        break;
    case COMMAND_PREPARE:
        serve_prepare(v, payload);
        break;
    case COMMAND_EXECUTE:
        serve_execute(v, payload);
        break;
    case COMMAND_LONG_DATA:
        take_long(v, payload);
        break;
    case COMMAND_CLOSE_STATEMENT:
        close_statement(v, payload);
        break;
    case COMMAND_RESET_STATEMENT:
        reset_statement(v, payload);
        break;
    case COMMAND_CHANGE_USER:
        return serve_change_user(v, payload);
    case COMMAND_KILL:
        serve_kill(v, payload);
        break;
    case COMMAND_STATISTICS:
        packet_begin(&v->out);
        buf_put_bytes(&v->buf, BYTES_LIT("Uptime: see the metrics"));
        packet_end(&v->out);
        break;
    case COMMAND_RESET_CONNECTION:
        while (v->prepared)
            prepared_remove(v, &v->prepared);
        session_reset(v->session);
        /* fall through */
    case COMMAND_PING:
    case COMMAND_SET_OPTION:
        send_done(v, 0);
        break;
    default:
        send_error(v, 1047, "08S01", BYTES_LIT("Unknown command"));
    }
    return true;
}

/* There was no room for a packet; what it began with is known. */
static bool refuse_packet(struct visit *v, bytes head, uint8_t number)
{
    if (bytes_u8(head)[0] == COMMAND_LONG_DATA) { /* which has no answer */
        struct reader r = reader_of(bytes_skip(head, 1));
        struct prepared *p = *prepared_find(v, read_u32(&r));

        if (p)
            p->longs_lost = true;
        return true;
    }
    send_begin(v, number);
    send_error(v, 1041, "HY000",
               BYTES_LIT("Out of memory for what clients have sent: try again later, or send less "
                         "in one statement"));
    return send_now(v);
}

static bool serve_next(struct visit *v)
{
    struct channel *channel = &v->connection->channel;
    uint8_t number = 0;
    bytes payload;
    bool more;

    if (!channel_packet(channel, &v->arena, PACKET_MAX, &number, &payload))
        return channel->overfull &&
               refuse_packet(v, bytes_of(channel->head, sizeof(channel->head)), number);
    if (!payload.len)
        return false;
    send_begin(v, number);
    more = serve(v, bytes_u8(payload)[0], bytes_skip(payload, 1));
    return send_now(v) && more;
}

/* Waits for the client's next word, as long as it holds something that others may need more. Where
 * that is short, only who has said it already keeps it. */
static void wait_next(struct visit *v)
{
    int64_t silent_ms = 0;
    int look_ms = REST_LOOK_MS;

    if (session_can_rest(v->session) && session_memory_short())
        look_ms = 0;
    while (session_can_rest(v->session) && !channel_wait(&v->connection->channel, look_ms)) {
        silent_ms += look_ms;
        look_ms = REST_LOOK_MS;
        if (visit_should_rest(v, silent_ms))
            visit_rest(v);
    }
}

/* A loop serves it for a while, if it may well be of use. What the client did not take of an answer
 * is sent here. False: he is gone. */
static bool visit_loop(struct visit *v)
{
    if (v->singles < SINGLES_MIN || v->connection->channel.ssl ||
        channel_is_ahead(&v->connection->channel))
        return true;
    v->singles = 0;
    loop_serve(v->connection);
    if (v->sent < v->buf.len) {
        bool taken =
            channel_write(&v->connection->channel, bytes_skip(buf_bytes(&v->buf), v->sent));

        v->sent = v->buf.len;
        return taken;
    }
    return true;
}

void connection_serve(struct connection *c)
{
    struct visit v = {.connection = c};
    bool more;

    c->visit = &v;
    channel_patience(&c->channel, HANDSHAKE_S, HANDSHAKE_S);
    bounded_arena_init(&v, &v.arena);
    arena_init(&v.room, NULL, 0);
    more = greet(&v);
    if (more)
        atomic_store(&c->known, true);
    c->channel.hurry = session_memory_short;
    c->channel.reads_ahead = true;
    channel_patience(&c->channel, IDLE_S, WRITE_S);
    while (more && !atomic_load(&c->door->quit)) {
        arena_restart(&v.arena, NULL, 0);
        wait_next(&v);
        more = serve_next(&v);
        if (c->continued) /* there was no room to begin it anew */
            process_show(c, BYTES_NONE, BYTES_NONE);
        more = more && visit_loop(&v);
    }
    arena_release(&v.room);
    arena_release(&v.arena);
    guest_leave(&v);
}

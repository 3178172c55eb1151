/* connection.c: a MySQL connection: who is there, then a command after the other. */
#include "base/arena_full.h"
#include "sql/door/door_own.h"
#include "sql/mysql/handshake.h"
#include "sql/mysql/parameters.h"
#include "sql/mysql/reply.h"
#include "sql/mysql/row.h"

#include <stdio.h>

#define SEND_BYTES 65536  /* rows that are gathered before they are sent */
#define SMALL_BYTES 32768 /* that each connection may hold, whatever the others do */
#define STATEMENTS_MAX 1000
#define PARAMETERS_MAX 65535
#define KEPT_SQL_BYTES_MAX 8192 /* what is understood of a longer statement is not kept */

enum command {
    COMMAND_QUIT = 1,
    COMMAND_INIT_DB = 2,
    COMMAND_QUERY = 3,
    COMMAND_STATISTICS = 9,
    COMMAND_KILL = 12,
    COMMAND_PING = 14,
    COMMAND_CHANGE_USER = 17,
    COMMAND_PREPARE = 22,
    COMMAND_EXECUTE = 23,
    COMMAND_LONG_DATA = 24,
    COMMAND_CLOSE_STATEMENT = 25,
    COMMAND_RESET_STATEMENT = 26,
    COMMAND_SET_OPTION = 27,
    COMMAND_RESET_CONNECTION = 31,
};

/* A prepared statement. What it holds is in its arena. */
struct prepared {
    struct prepared *next;
    uint32_t number;
    struct arena arena;
    bytes sql;
    const struct statement *tree; /* as it was understood; NULL: it is read when it runs */
    size_t count;                 /* of question marks */
    struct parameter_type *types;
    struct buf *longs; /* of each, what came beforehand, in ... */
    struct arena long_arena;
    bool longs_lost; /* there was no room for all of it */
    bool known;
};

struct visit {
    struct connection *connection;
    struct session *session;
    struct door_guest guest;
    const void *key;
    uint8_t nonce[AUTH_NONCE_BYTES];
    uint32_t capabilities;
    struct prepared *prepared;
    uint32_t last_statement;
    size_t prepared_count;
    /* Of the command that is served: */
    struct arena arena; /* of the command */
    struct arena room;  /* of what is being sent */
    struct packet_out out;
    struct buf buf;
    bool lost; /* the client takes no more */
};

/* ---- memory ---- */

/* What all connections hold together of what clients have sent is bounded. */
static bool is_full(void *arg, size_t used, size_t size)
{
    const struct door *d = arg;

    return used + size > SMALL_BYTES &&
           atomic_load_explicit(&d->held, memory_order_relaxed) + size > d->held_max;
}

static void bounded_arena_init(struct visit *v, struct arena *a)
{
    struct door *d = v->connection->door;

    arena_init(a, NULL, 0);
    a->full = is_full;
    a->full_arg = d;
    arena_meter(a, &d->held);
}

/* ---- sending ---- */

static void send_begin(struct visit *v, uint8_t number)
{
    arena_release(&v->room);
    arena_init(&v->room, NULL, 0);
    buf_init(&v->buf, &v->room, 1024);
    v->out = (struct packet_out){.buf = &v->buf, .number = number};
}

static bool send_now(struct visit *v)
{
    if (v->session)
        session_wait_begin(v->session);
    if (!v->lost && !channel_write(&v->connection->channel, buf_bytes(&v->buf)))
        v->lost = true;
    if (v->session)
        session_wait_end(v->session);
    arena_release(&v->room);
    arena_init(&v->room, NULL, 0);
    buf_init(&v->buf, &v->room, 1024);
    return !v->lost;
}

static void send_error(struct visit *v, uint16_t number, const char *state, bytes text)
{
    packet_begin(&v->out);
    reply_error_put(&v->buf, number, state, text);
    packet_end(&v->out);
}

static uint16_t status_of(const struct visit *v)
{
    return !v->session ? REPLY_AUTOCOMMIT
                       : (session_autocommits(v->session) ? REPLY_AUTOCOMMIT : 0) |
                             (session_in_transaction(v->session) ? REPLY_IN_TRANSACTION : 0);
}

static void send_done(struct visit *v, uint64_t affected)
{
    packet_begin(&v->out);
    reply_done_put(&v->buf, &(struct reply_done){.affected = affected, .status = status_of(v)});
    packet_end(&v->out);
}

/* ---- results ---- */

struct door_sink {
    struct sink sink;
    struct visit *visit;
    size_t columns; /* 0: none were said */
    bool binary;
};

static void send_end(struct visit *v)
{
    packet_begin(&v->out);
    reply_end_put(&v->buf, v->capabilities, status_of(v));
    packet_end(&v->out);
}

static void send_column(struct visit *v, const struct column *column)
{
    packet_begin(&v->out);
    column_put(&v->buf, column);
    packet_end(&v->out);
}

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct door_sink *d = PORT_CONTAINER(s, struct door_sink, sink);
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
    struct door_sink *d = PORT_CONTAINER(s, struct door_sink, sink);
    struct visit *v = d->visit;

    packet_begin(&v->out);
    if (d->binary)
        row_put_binary(&v->buf, values, d->columns);
    else
        row_put_text(&v->buf, values, d->columns);
    packet_end(&v->out);
    return v->buf.len >= SEND_BYTES && !send_now(v) ? -1 : 0;
}

static void serve_statement(struct visit *v, bytes sql, const struct statement *tree,
                            const struct wr_value *values, size_t n, bool binary)
{
    struct door_sink sink = {.sink = {on_columns, on_row}, .visit = v, .binary = binary};
    struct outcome out;

    process_show(v->connection, session_database(v->session), sql);
    session_run(v->session, &v->arena, sql, tree, values, n, &sink.sink, &out);
    process_show(v->connection, BYTES_NONE, BYTES_NONE);
    if (out.fault.number)
        send_error(v, out.fault.number, out.fault.state, out.fault.text);
    else if (sink.columns)
        send_end(v);
    else
        send_done(v, out.affected);
}

/* ---- prepared statements ---- */

static struct prepared **prepared_find(struct visit *v, uint32_t number)
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

static void prepared_remove(struct visit *v, struct prepared **at)
{
    struct prepared *p = *at;

    *at = p->next;
    v->prepared_count--;
    prepared_free(p);
}

static void prepared_forget(struct prepared *p)
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

static void serve_prepare(struct visit *v, bytes sql)
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

static void serve_execute(struct visit *v, bytes payload)
{
    struct reader r = reader_of(payload);
    struct prepared *p = *prepared_find(v, read_u32(&r));
    struct wr_value *values;
    bytes *longs;

    read_bytes(&r, 1 + 4); /* no cursors; once */
    if (!p) {
        send_error(v, 1243, "HY000", BYTES_LIT("Unknown prepared statement"));
        return;
    }
    values = ARENA_ARRAY(&v->arena, struct wr_value, p->count + 1);
    longs = ARENA_ARRAY(&v->arena, bytes, p->count + 1);
    for (size_t i = 0; i < p->count; i++)
        longs[i] = p->longs[i].data ? buf_bytes(&p->longs[i]) : BYTES_NONE;
    if (p->longs_lost)
        send_error(v, 1153, "08S01",
                   BYTES_LIT("A value of the statement is longer than 64 MiB, or than what memory "
                             "there is left for what clients send"));
    else if (parameters_parse(&r, p->types, &p->known, longs, p->count, values))
        serve_statement(v, p->sql, p->tree, values, p->count, true);
    else
        send_error(v, 1210, "HY000", BYTES_LIT("Incorrect arguments to EXECUTE"));
    prepared_forget(p);
}

/* A piece of a parameter's value. It has no answer. */
static void take_long(struct visit *v, bytes payload)
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
    process_user(v->connection, BYTES_NONE);
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

static void guest_enter(struct visit *v, const struct handshake *h)
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
    process_user(v->connection, v->guest.id);
    v->capabilities = h->capabilities;
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
    bool known;

    /* The greeting has named a method; who wants another one answers when he is asked by it. */
    if (h->method != AUTH_CACHING_SHA2 && !method_switch(v, h, &number))
        return false;
    v->key = keys->find(keys->arg, h->user, &secret);
    known = auth_check(h->method, v->nonce, v->key ? secret : BYTES_LIT("x"), h->answer) && v->key;
    if (known)
        guest_enter(v, h);
    else if (v->key)
        keys->release(keys->arg, v->key), v->key = NULL;
    if (known && h->database.len && !session_use(v->session, h->database)) {
        guest_leave(v);
        known = false;
    }
    send_begin(v, number);
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
        serve_statement(v, payload, NULL, NULL, 0, false);
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

void connection_serve(struct connection *c)
{
    struct visit v = {.connection = c};
    bool more;

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
        more = serve_next(&v);
    }
    arena_release(&v.room);
    arena_release(&v.arena);
    guest_leave(&v);
}

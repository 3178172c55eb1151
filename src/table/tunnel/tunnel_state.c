/* Balance of channels among clients, and checkpoints. */
#include "table/tunnel/tunnel_state.h"

/* So far above the channel's a client's version may be: each raises it by one. One that may be
 * anything would be the last that the channel ever has, and no later client could let go of it. */
#define VERSION_STEP_MAX (1 << 20)

static struct tunnel_client *client_of(const struct tunnel_state *t, uint64_t number)
{
    for (size_t i = 0; i < t->client_count; i++)
        if (t->clients[i].number == number)
            return &t->clients[i];
    return NULL;
}

static struct tunnel_channel *channel_of(const struct tunnel_state *t, bytes id)
{
    for (size_t i = 0; i < t->channel_count; i++)
        if (bytes_equal(t->channels[i].id, id))
            return &t->channels[i];
    return NULL;
}

static void set_status(struct tunnel_channel *c, enum tunnel_channel_status status, uint64_t owner)
{
    c->status = status;
    c->owner = owner;
    c->version++;
}

static void finish(struct tunnel_channel *c)
{
    c->done = true;
    c->token = TUNNEL_FINISHED;
}

/* ---- Clients come and go */

void tunnel_shutdown(struct tunnel_state *t, uint64_t client)
{
    struct tunnel_client *gone = client_of(t, client);

    if (!gone)
        return;
    for (size_t i = 0; i < t->channel_count; i++)
        if (t->channels[i].owner == client)
            set_status(&t->channels[i], TUNNEL_CLOSE, TUNNEL_NOBODY);
    *gone = t->clients[--t->client_count];
}

/* By division, since a timeout in milliseconds may not fit. */
static bool is_silent(const struct tunnel_client *client, int64_t now_ms)
{
    return (now_ms - client->heard_ms - 1) / 1000 >= client->timeout_s;
}

/* From the end, because the last client takes the place of the one that goes. */
static void drop_silent(struct tunnel_state *t, int64_t now_ms)
{
    for (size_t i = t->client_count; i-- > 0;)
        if (is_silent(&t->clients[i], now_ms))
            tunnel_shutdown(t, t->clients[i].number);
}

/* A connect whose answer was lost leaves a client that sends nothing. */
static bool drop_idle(struct tunnel_state *t)
{
    struct tunnel_client *oldest = NULL;

    for (size_t i = 0; i < t->client_count; i++)
        if (!t->clients[i].active && (!oldest || t->clients[i].number < oldest->number))
            oldest = &t->clients[i];
    if (!oldest)
        return false;
    tunnel_shutdown(t, oldest->number);
    return true;
}

uint64_t tunnel_connect(struct tunnel_state *t, bytes tag, int64_t timeout_s, int64_t now_ms)
{
    drop_silent(t, now_ms);
    if (t->client_count >= TUNNEL_CLIENTS_MAX && !drop_idle(t))
        return TUNNEL_NOBODY;
    t->clients[t->client_count++] = (struct tunnel_client){
        .tag = tag,
        .number = ++t->last_client,
        .timeout_s = timeout_s > 0 ? timeout_s : TUNNEL_TIMEOUT_S,
        .heard_ms = now_ms,
    };
    return t->last_client;
}

/* ---- Reports */

static void take_report(struct tunnel_state *t, uint64_t client, const struct tunnel_report *r)
{
    struct tunnel_channel *c = channel_of(t, r->id);

    if (!c || c->owner != client || r->version <= c->version ||
        r->version - c->version > VERSION_STEP_MAX)
        return;
    c->version = r->version;
    if (r->status != TUNNEL_TERMINATED && r->status != TUNNEL_CLOSE)
        return;
    c->status = r->status;
    c->owner = TUNNEL_NOBODY;
    if (r->status == TUNNEL_TERMINATED)
        finish(c);
}

/* ---- Balance */

bool tunnel_base_done(const struct tunnel_state *t)
{
    for (size_t i = 0; i < t->channel_count; i++)
        if (!t->channels[i].stream && !t->channels[i].done)
            return false;
    return true;
}

static bool parents_done(const struct tunnel_state *t, const struct tunnel_channel *c)
{
    for (size_t i = 0; i < 2; i++)
        if (c->parents[i] != TUNNEL_NO_PARENT && !t->channels[c->parents[i]].done)
            return false;
    return true;
}

static bool can_open(const struct tunnel_state *t, const struct tunnel_channel *c, bool base_done)
{
    return c->owner == TUNNEL_NOBODY && !c->done &&
           (!c->stream || (base_done && parents_done(t, c)));
}

static size_t open_count(const struct tunnel_state *t, uint64_t client)
{
    size_t n = 0;

    for (size_t i = 0; i < t->channel_count; i++)
        n += t->channels[i].owner == client && t->channels[i].status == TUNNEL_OPEN;
    return n;
}

struct spread {
    uint64_t least, most; /* clients; TUNNEL_NOBODY if none is active */
    size_t least_open, most_open;
};

static struct spread spread_of(const struct tunnel_state *t)
{
    struct spread s = {.least_open = SIZE_MAX};

    for (size_t i = 0; i < t->client_count; i++) {
        uint64_t client = t->clients[i].number;
        size_t n = open_count(t, client);

        if (!t->clients[i].active)
            continue;
        if (n < s.least_open)
            s.least_open = n, s.least = client;
        if (s.most == TUNNEL_NOBODY || n > s.most_open)
            s.most_open = n, s.most = client;
    }
    return s;
}

static void give_free(struct tunnel_state *t)
{
    bool base_done = tunnel_base_done(t);

    for (size_t i = 0; i < t->channel_count; i++)
        if (can_open(t, &t->channels[i], base_done))
            set_status(&t->channels[i], TUNNEL_OPEN, spread_of(t).least);
}

static size_t closing_count(const struct tunnel_state *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->channel_count; i++)
        n += t->channels[i].status == TUNNEL_CLOSING;
    return n;
}

static void ask_back(struct tunnel_state *t, uint64_t client)
{
    for (size_t i = 0; i < t->channel_count; i++)
        if (t->channels[i].owner == client && t->channels[i].status == TUNNEL_OPEN) {
            set_status(&t->channels[i], TUNNEL_CLOSING, client);
            return;
        }
}

/* Channels on their way back count as given to whoever has the fewest, so that no more are asked
 * for than even the spread. Each turn brings the two sides nearer by two. */
static void even_out(struct tunnel_state *t)
{
    struct spread s = spread_of(t);

    while (s.most_open >= s.least_open + closing_count(t) + 2) {
        ask_back(t, s.most);
        s = spread_of(t);
    }
}

enum tunnel_outcome tunnel_heartbeat(struct tunnel_state *t, uint64_t client,
                                     const struct tunnel_report *reports, size_t count,
                                     int64_t now_ms)
{
    struct tunnel_client *self;

    drop_silent(t, now_ms);
    self = client_of(t, client);
    if (!self)
        return TUNNEL_GONE;
    self->heard_ms = now_ms;
    self->active = true;
    for (size_t i = 0; i < count; i++)
        take_report(t, client, &reports[i]);
    give_free(t);
    even_out(t);
    return TUNNEL_OK;
}

/* ---- Reading */

enum tunnel_outcome tunnel_channel_for(struct tunnel_state *t, uint64_t client, bytes id,
                                       struct tunnel_channel **out)
{
    struct tunnel_channel *c = channel_of(t, id);

    if (!c)
        return TUNNEL_NO_CHANNEL;
    if (c->owner != TUNNEL_NOBODY && c->owner != client)
        return TUNNEL_GONE;
    *out = c;
    return TUNNEL_OK;
}

enum tunnel_outcome tunnel_checkpoint(struct tunnel_channel *c, bytes token, int64_t number)
{
    if (number == c->number && number > 0 && bytes_equal(token, c->token))
        return TUNNEL_OK;
    if (c->number == INT64_MAX || number != c->number + 1)
        return TUNNEL_NOT_NEXT;
    c->number = number;
    if (bytes_equal(token, TUNNEL_FINISHED))
        finish(c);
    if (!c->done)
        c->token = token;
    return TUNNEL_OK;
}

#include "sql/door/door_own.h"

#include "net/address.h"

#include <stdio.h>
#include <sys/socket.h>

void process_show(struct connection *c, bytes database, bytes sql)
{
    pthread_mutex_lock(&c->lock);
    c->sql_size = sql.len < SHOWN_SQL_BYTES ? sql.len : SHOWN_SQL_BYTES;
    if (sql.len) {
        memcpy(c->sql, sql.ptr, c->sql_size);
        snprintf(c->database, sizeof(c->database), "%.*s", BYTES_FMT(database));
        if (!c->continued)
            __atomic_store_n(&c->gone, 0, __ATOMIC_RELAXED);
    }
    c->continued = false;
    c->since_ms = clock_mono_ms(c->door->conf.clock);
    pthread_mutex_unlock(&c->lock);
}

void process_continue(struct connection *c)
{
    pthread_mutex_lock(&c->lock);
    c->continued = c->sql_size > 0;
    pthread_mutex_unlock(&c->lock);
}

static void user_set(struct connection *c, bytes user)
{
    pthread_mutex_lock(&c->lock);
    c->user = user;
    pthread_mutex_unlock(&c->lock);
    process_show(c, BYTES_NONE, BYTES_NONE);
}

/* Under the door's lock. */
static int count_of(struct door *d, bytes user)
{
    int count = 0;

    for (struct connection *c = d->connections; c; c = c->next) {
        pthread_mutex_lock(&c->lock);
        count += c->user.ptr && bytes_equal(c->user, user);
        pthread_mutex_unlock(&c->lock);
    }
    return count;
}

bool process_enter(struct connection *c, bytes user)
{
    struct door *d = c->door;
    bool place;

    pthread_mutex_lock(&d->lock);
    place = count_of(d, user) < d->conf.user_connections_max;
    if (place)
        user_set(c, user);
    pthread_mutex_unlock(&d->lock);
    return place;
}

void process_leave(struct connection *c)
{
    user_set(c, BYTES_NONE);
}

/* Under both locks: the same user's? `by` is the caller's own, whose user does not change now. */
static bool is_own(const struct connection *by, const struct connection *c)
{
    return c->user.ptr && bytes_equal(c->user, by->user);
}

static bool process_tell(struct connection *by, struct connection *c, struct arena *a,
                         struct process *out)
{
    char host[80];
    bool own;

    pthread_mutex_lock(&c->lock);
    own = is_own(by, c);
    if (own) {
        address_format((struct sockaddr *)&c->peer, host, sizeof(host));
        *out = (struct process){
            .number = c->number,
            .user = arena_copy(a, c->user),
            .host = arena_printf(a, "%s", host),
            .database = arena_printf(a, "%s", c->database),
            .sql = c->sql_size ? arena_copy(a, bytes_of(c->sql, c->sql_size)) : BYTES_NONE,
            .seconds = (clock_mono_ms(c->door->conf.clock) - c->since_ms) / 1000};
    }
    pthread_mutex_unlock(&c->lock);
    return own;
}

static size_t process_list(void *arg, struct arena *a, struct process **out)
{
    struct connection *by = arg;
    struct door *d = by->door;
    size_t count = 0;

    pthread_mutex_lock(&d->lock);
    *out = ARENA_ARRAY(a, struct process, (size_t)d->count + 1);
    for (struct connection *c = d->connections; c; c = c->next)
        count += process_tell(by, c, a, &(*out)[count]);
    pthread_mutex_unlock(&d->lock);
    return count;
}

/* A connection's file is closed under the door's lock, so it is its own here. */
bool process_kill(struct connection *by, uint64_t number, bool connection)
{
    struct door *d = by->door;
    bool found = false;

    pthread_mutex_lock(&d->lock);
    for (struct connection *c = d->connections; c && !found; c = c->next) {
        pthread_mutex_lock(&c->lock);
        found = c->number == number && is_own(by, c);
        if (found && c->sql_size)
            __atomic_store_n(&c->gone, 1, __ATOMIC_RELAXED);
        if (found && connection)
            shutdown(c->channel.fd, c == by ? SHUT_RD : SHUT_RDWR);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return found;
}

static bool on_kill(void *arg, uint64_t number, bool connection)
{
    return process_kill(arg, number, connection);
}

struct processes process_functions(struct connection *c)
{
    return (struct processes){process_list, on_kill, c};
}

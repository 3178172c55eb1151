#include "sql/door/door_own.h"

#include "base/pool.h"
#include "base/thread.h"
#include "net/address.h"
#include "net/tls.h"
#include "sql/door/loop.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_PAUSE_MS 100 /* when descriptors are short */

/* ---- connections ---- */

static void connection_leave(struct connection *c)
{
    struct door *d = c->door;

    pthread_mutex_lock(&d->lock);
    for (struct connection **at = &d->connections; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    /* Under the lock, so that door_close() shuts down no other file of that number. */
    channel_close(&c->channel);
    d->count--;
    pthread_cond_signal(&d->left);
    pthread_mutex_unlock(&d->lock);
    pthread_cond_destroy(&c->back);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static void *connection_main(void *arg)
{
    struct connection *c = arg;

    connection_serve(c);
    connection_leave(c);
    return NULL;
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, 8) == 0;
}

/* Under the lock: may one more come from there? When all places are taken, a stranger's is freed.
 */
static bool place_find(struct door *d, const struct sockaddr_storage *peer)
{
    struct connection *stranger = NULL;
    int same = 0;

    for (struct connection *c = d->connections; c; c = c->next)
        if (!atomic_load(&c->known)) {
            same += same_address(&c->peer, peer);
            stranger = c; /* the oldest is the last */
        }
    if (d->conf.strangers_per_address_max && same >= d->conf.strangers_per_address_max)
        return false;
    if (d->count < d->conf.connections_max)
        return true;
    if (stranger)
        shutdown(stranger->channel.fd, SHUT_RDWR);
    return false;
}

static void refuse(int fd, int limit)
{
    char text[160];
    uint8_t packet[160 + 16];
    int n = snprintf(text, sizeof(text), "Too many connections (current limit: %d)", limit);

    packet[0] = (uint8_t)(n + 9);
    memcpy(packet + 1, "\0\0\0\xff\x10\x04#08004", 12);
    memcpy(packet + 13, text, (size_t)n);
    (void)!send(fd, packet, (size_t)n + 13, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void take(struct door *d, int fd, const struct sockaddr_storage *peer)
{
    struct connection *c = mem_zalloc(sizeof(*c));
    pthread_t thread;
    bool place;

    c->door = d;
    c->channel.fd = fd;
    c->peer = *peer;
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->back);
    pthread_mutex_lock(&d->lock);
    place = place_find(d, peer);
    if (place) {
        c->number = ++d->last_number;
        c->next = d->connections;
        d->connections = c;
        d->count++;
    }
    pthread_mutex_unlock(&d->lock);
    if (!place) {
        pthread_cond_destroy(&c->back);
        pthread_mutex_destroy(&c->lock);
        mem_free(c);
        refuse(fd, d->conf.connections_max);
    } else if (!thread_start(&thread, "wr-sql", connection_main, c)) {
        connection_leave(c);
    } else {
        pthread_detach(thread);
    }
}

/* ---- the listener ---- */

static void door_accept(struct door *d)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof(peer);
    int fd = accept4(d->listen_fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC), yes = 1;

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            poll(NULL, 0, ACCEPT_PAUSE_MS);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    take(d, fd, &peer);
}

static void *listener_main(void *arg)
{
    struct door *d = arg;
    struct pollfd fds[2] = {{.fd = d->listen_fd, .events = POLLIN},
                            {.fd = d->bell[0], .events = POLLIN}};

    while (!atomic_load(&d->quit))
        if (poll(fds, 2, -1) > 0 && fds[0].revents)
            door_accept(d);
    return NULL;
}

/* ---- life ---- */

/* On one processor two threads are no faster than one. */
static int walkers_open(struct door *d, long processors, char *message, size_t size)
{
    struct pool_conf conf = {
        .name = "wr-sql-walk", .threads = (int)processors + WALKERS_SPARE, .background = true};

    d->walkers = processors > 1 ? pool_start(&conf) : NULL;
    if (d->walkers || processors <= 1)
        return E_OK;
    snprintf(message, size, "%s: the system gives no thread", d->conf.setting);
    return E_INTERNAL;
}

static int tls_open(struct door *d, char *message, size_t size)
{
    const struct door_conf *conf = &d->conf;
    struct tls_pair pair = {0};
    int code;

    if (!conf->tls_cert || !conf->tls_cert[0])
        return E_OK;
    code = tls_pair_load(conf->tls_cert, conf->tls_key, &pair, message, size);
    if (!code)
        code = tls_context_new(&pair, &d->tls, message, size);
    tls_pair_release(&pair);
    return code;
}

static int listener_open(struct door *d, char *message, size_t size)
{
    struct sockaddr_storage own;
    socklen_t own_size = sizeof(own);

    d->listen_fd = address_listen(d->conf.address, d->conf.setting, message, size);
    if (d->listen_fd < 0)
        return E_PARAMETER;
    if (getsockname(d->listen_fd, (struct sockaddr *)&own, &own_size) == 0)
        address_format((struct sockaddr *)&own, d->address, sizeof(d->address));
    if (pipe(d->bell) || !thread_start(&d->thread, "wr-sql-accept", listener_main, d)) {
        snprintf(message, size, "%s: the system gives no thread or file", d->conf.setting);
        return E_INTERNAL;
    }
    return E_OK;
}

int door_open(const struct door_conf *conf, struct door **out, char *message, size_t size)
{
    struct door *d = mem_zalloc(sizeof(*d));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int code;

    *out = NULL;
    d->conf = *conf;
    if (!d->conf.user_connections_max)
        d->conf.user_connections_max = conf->connections_max - conf->connections_max / 10;
    d->listen_fd = d->bell[0] = d->bell[1] = -1;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->left, NULL);
    session_memory_bound(conf->db);
    d->held_max = (size_t)(wr_memory_max(conf->db) / HELD_SHARE);
    permits_init(&d->permits, (processors > 0 ? (int)processors : 1) + 1);
    code = tls_open(d, message, size);
    if (!code)
        code = walkers_open(d, processors, message, size);
    if (!code && !loops_open(d)) {
        snprintf(message, size, "%s: the system gives no thread or file", d->conf.setting);
        code = E_INTERNAL;
    }
    if (!code)
        code = listener_open(d, message, size);
    if (code) {
        if (d->listen_fd >= 0)
            close(d->listen_fd);
        loops_close(d);
        pool_stop(d->walkers);
        tls_context_free(d->tls);
        mem_free(d);
        return code;
    }
    *out = d;
    return E_OK;
}

void door_close(struct door *d)
{
    if (!d)
        return;
    atomic_store(&d->quit, true);
    (void)!write(d->bell[1], "", 1);
    pthread_join(d->thread, NULL);
    pthread_mutex_lock(&d->lock);
    for (struct connection *c = d->connections; c; c = c->next)
        shutdown(c->channel.fd, SHUT_RD); /* the answer under way still goes out */
    while (d->count)
        pthread_cond_wait(&d->left, &d->lock);
    pthread_mutex_unlock(&d->lock);
    loops_close(d);
    pool_stop(d->walkers);
    close(d->listen_fd);
    close(d->bell[0]);
    close(d->bell[1]);
    tls_context_free(d->tls);
    permits_destroy(&d->permits);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->left);
    mem_free(d);
}

const char *door_address(const struct door *d)
{
    return d->address;
}

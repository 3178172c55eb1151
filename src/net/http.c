/* Opening, closing and counting; the transport itself is in loop.c, conn.c and exchange.c.
 *
 * Certificates. New files make a new TLS context, which connections get that are opened from then
 * on; those that are open show by their version that theirs is an older one, and end after their
 * next answer. */
#include "net/address.h"
#include "net/http_own.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A server that closes waits for so long without a request: clients that had their last answer
 * before it said Connection: close may have sent another request. */
#define QUIET_MS 30

static void conf_defaults(struct http_conf *conf)
{
    if (conf->tls_cert && !conf->tls_cert[0])
        conf->tls_cert = NULL;
    if (!conf->setting)
        conf->setting = "address";
    if (!conf->threads)
        conf->threads = 2;
    if (!conf->connections_max)
        conf->connections_max = 10000;
    if (!conf->idle_timeout_s)
        conf->idle_timeout_s = 75;
    if (!conf->request_timeout_ms)
        conf->request_timeout_ms = 30000;
    if (!conf->answer_timeout_ms)
        conf->answer_timeout_ms = 120000;
    if (!conf->body_bytes_max)
        conf->body_bytes_max = 5 << 20;
    if (!conf->request_memory_max)
        conf->request_memory_max = (size_t)256 << 20;
    if (!conf->memory_max)
        conf->memory_max = (size_t)256 << 20;
    if (!conf->stream_pace)
        conf->stream_pace = 16384;
    if (!conf->head_timeout_ms)
        conf->head_timeout_ms = 5000;
}

static void http_pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void http_free(struct http *h)
{
    tls_context_free(h->tls_context);
    tls_pair_release(&h->tls);
    if (h->listen_fd >= 0)
        close(h->listen_fd);
    pthread_mutex_destroy(&h->arrivals_lock);
    pthread_mutex_destroy(&h->relief_lock);
    queue_end(h);
    mem_free(h);
}

static struct http *http_new(const struct http_conf *conf)
{
    struct http *h = mem_zalloc(sizeof(*h));

    h->conf = *conf;
    conf_defaults(&h->conf);
    h->memory = conf->memory ? conf->memory : &h->own_memory;
    h->listen_fd = -1;
    pthread_mutex_init(&h->arrivals_lock, NULL);
    pthread_mutex_init(&h->relief_lock, NULL);
    queue_init(h);
    return h;
}

/* The second half of opening: with listening socket and certificate at hand. */
static int http_run(struct http *h, char *message, size_t message_size)
{
    struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof(sa);

    getsockname(h->listen_fd, (struct sockaddr *)&sa, &size);
    address_format((struct sockaddr *)&sa, h->address, sizeof(h->address));
    if (loops_start(h))
        return E_OK;
    snprintf(message, message_size,
             "cannot start the HTTP loops on %s: %s. Check the limits on threads and open files "
             "(ulimit -u, ulimit -n).",
             h->address, strerror(errno));
    loops_stop(h);
    return E_UNAVAILABLE;
}

/* Reads the files into *out and makes a context of them. */
static int tls_read(struct http *h, struct tls_pair *out, SSL_CTX **context, char *message,
                    size_t message_size)
{
    int code;

    TRY(tls_pair_load(h->conf.tls_cert, h->conf.tls_key, out, message, message_size));
    code = tls_context_new(out, context, message, message_size);
    if (code)
        tls_pair_release(out);
    return code;
}

int http_open(const struct http_conf *conf, struct http **out, char *message, size_t message_size)
{
    struct http *h = http_new(conf);
    int code = E_OK;

    *out = NULL;
    if (h->conf.tls_cert)
        code = tls_read(h, &h->tls, &h->tls_context, message, message_size);
    if (!code) {
        h->listen_fd = address_listen(h->conf.address, h->conf.setting, message, message_size);
        code = h->listen_fd < 0 ? E_UNAVAILABLE : http_run(h, message, message_size);
    }
    if (code) {
        http_free(h);
        return code;
    }
    *out = h;
    return E_OK;
}

int http_reload(struct http *h, char *message, size_t message_size)
{
    struct tls_pair pair;
    SSL_CTX *context, *old;

    if (!h->conf.tls_cert)
        return E_OK;
    TRY(tls_read(h, &pair, &context, message, message_size));
    if (tls_pair_equal(&pair, &h->tls)) {
        tls_context_free(context);
        tls_pair_release(&pair);
        return E_OK;
    }
    pthread_mutex_lock(&h->arrivals_lock);
    old = h->tls_context;
    h->tls_context = context;
    atomic_fetch_add(&h->tls_version, 1);
    pthread_mutex_unlock(&h->arrivals_lock);
    tls_context_free(old);
    tls_pair_release(&h->tls);
    h->tls = pair;
    return E_OK;
}

void http_close(struct http *h, int grace_ms)
{
    int64_t end;

    if (!h)
        return;
    atomic_store(&h->stopping, true);
    for (struct loop *l = h->loops; l; l = l->next)
        bell_ring(&l->bell); /* each stops accepting */
    end = http_now_ms(h) + grace_ms;
    for (int quiet_ms = 0; quiet_ms < QUIET_MS && http_now_ms(h) < end; quiet_ms += 2) {
        http_pause_ms(2);
        if (atomic_load(&h->active))
            quiet_ms = 0;
    }
    atomic_store(&h->closed, true);
    queue_close(h);
    while (atomic_load(&h->pending)) /* somebody still has a parked request in his hands */
        http_pause_ms(2);
    for (struct loop *l = h->loops; l; l = l->next)
        while (atomic_load(&l->wakers))
            http_pause_ms(1);
    loops_stop(h);
    http_free(h);
}

const char *http_address(const struct http *h)
{
    return h->address;
}

void http_stat(struct http *h, struct http_stat *out)
{
    out->connections = atomic_load(&h->connections);
    out->memory = atomic_load(h->memory);
    out->accepted = atomic_load(&h->accepted);
    out->late = atomic_load(&h->late);
    out->active = atomic_load(&h->active);
    out->evicted = atomic_load(&h->evicted);
    out->slowest = atomic_load(&h->slowest);
    out->held = atomic_load(&h->held);
    out->waiting = atomic_load(&h->waiting);
}

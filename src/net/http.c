/* Opening, closing and counting; the transport itself is in loop.c, conn.c and exchange.c.
 *
 * Certificates. An instance of the library reads its certificate once. So new files mean new loops:
 * they are started on the same listening socket, and the old ones are retired: they accept no more,
 * close each connection with its next answer, and end with their last connection. They are freed
 * when the next retire, or with the server. */
#include "net/address.h"
#include "net/door.h"

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
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void http_free(struct http *h)
{
    tls_pair_release(&h->tls);
    if (h->listen_fd >= 0)
        close(h->listen_fd);
    pthread_mutex_destroy(&h->loops_lock);
    mem_free(h);
}

static struct http *http_new(const struct http_conf *conf)
{
    struct http *h = mem_zalloc(sizeof(*h));

    h->conf = *conf;
    conf_defaults(&h->conf);
    h->memory = conf->memory ? conf->memory : &h->own_memory;
    h->listen_fd = -1;
    pthread_mutex_init(&h->loops_lock, NULL);
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

static int tls_load(struct http *h, struct tls_pair *out, char *message, size_t message_size)
{
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES)
        return tls_pair_load(h->conf.tls_cert, h->conf.tls_key, out, message, message_size);
    snprintf(message, message_size,
             "this build of libmicrohttpd has no TLS. Install one with GnuTLS, or put a proxy in "
             "front.");
    return E_UNSUPPORTED;
}

int http_open(const struct http_conf *conf, struct http **out, char *message, size_t message_size)
{
    struct http *h = http_new(conf);
    int code = E_OK;

    *out = NULL;
    if (h->conf.tls_cert)
        code = tls_load(h, &h->tls, message, message_size);
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
    struct loop *before;
    struct tls_pair pair, old = h->tls;

    loops_free_ended(h);
    before = h->loops;
    if (!h->conf.tls_cert)
        return E_OK;
    TRY(tls_load(h, &pair, message, message_size));
    if (tls_pair_equal(&pair, &old)) {
        tls_pair_release(&pair);
        return E_OK;
    }
    h->tls = pair;
    if (!loops_start(h)) {
        snprintf(message, message_size, "cannot start loops for the new certificate in %s.",
                 h->conf.tls_cert);
        loops_retire(h, h->loops, before);
        h->tls = old;
        tls_pair_release(&pair);
        return E_UNAVAILABLE;
    }
    loops_retire(h, before, NULL);
    tls_pair_release(&old);
    return E_OK;
}

void http_close(struct http *h, int grace_ms)
{
    int64_t end;

    if (!h)
        return;
    atomic_store(&h->stopping, true);
    for (struct loop *l = h->loops; l; l = l->next)
        loop_ring(l); /* each stops accepting */
    close(h->listen_fd);
    h->listen_fd = -1;
    end = http_now_ms(h) + grace_ms;
    for (int quiet_ms = 0; quiet_ms < QUIET_MS && http_now_ms(h) < end; quiet_ms += 2) {
        pause_ms(2);
        if (atomic_load(&h->active))
            quiet_ms = 0;
    }
    atomic_store(&h->closed, true);
    while (atomic_load(&h->pending)) /* the library must not be stopped while one is suspended */
        pause_ms(2);
    for (struct loop *l = h->loops; l; l = l->next)
        while (atomic_load(&l->ringers))
            pause_ms(1);
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
}

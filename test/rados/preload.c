/* preload.c: a library for LD_PRELOAD that stands between a server and its Ceph cluster.
 *
 *   RADOS_LINK=PORT      every TCP connection to 127.0.0.1 goes through the proxy on that port
 *                        (link.py), which can cut or slow it. The port that was meant travels in
 *                        the source address, 127.77.HIGH.LOW, so the proxy needs no list of the
 *                        cluster's daemons.
 *   RADOS_CLOCK_MS=N     the wall clock is that much ahead, or behind.
 *   RADOS_TABLES_LATE=N  each read of what is stored of tables begins N ms later, as on a machine
 *                        that has much to do.
 *   RADOS_TELL_KILL=N    the process dies, as by kill -9, before it tells the other servers for the
 *                        Nth time that something has changed: it is stored, and nobody knows. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int connect_fn(int fd, const struct sockaddr *to, socklen_t len);
typedef int notify_fn(void *io, const char *object, void *completion, const char *text, int len,
                      uint64_t timeout_ms, char **reply, size_t *reply_len);

typedef int read_fn(void *op, void *io, void *completion, const char *object, int flags);

static int number(const char *name)
{
    const char *value = getenv(name);

    return value ? atoi(value) : 0;
}

static int through(connect_fn *real, int fd, const struct sockaddr_in *to, int proxy)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, other = *to;

    from.sin_addr.s_addr = htonl(0x7F4D0000u | ntohs(to->sin_port));
    other.sin_port = htons((uint16_t)proxy);
    /* EINVAL: bound before, and it is asked again whether the connection is there. */
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) && errno != EINVAL)
        return -1;
    return real(fd, (struct sockaddr *)&other, sizeof(other));
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    connect_fn *real = (connect_fn *)dlsym(RTLD_NEXT, "connect");
    const struct sockaddr_in *in = (const struct sockaddr_in *)to;
    int proxy = number("RADOS_LINK");

    if (proxy && to->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) == INADDR_LOOPBACK)
        return through(real, fd, in, proxy);
    return real(fd, to, len);
}

notify_fn rados_aio_notify;

/* Questions begin with a zero byte and go on; what has changed is told otherwise (peers.c). */
EXPORT int rados_aio_notify(void *io, const char *object, void *completion, const char *text,
                            int len, uint64_t timeout_ms, char **reply, size_t *reply_len)
{
    static atomic_int told;
    notify_fn *real = (notify_fn *)dlsym(RTLD_NEXT, "rados_aio_notify");

    if ((len == 1 || text[0]) && atomic_fetch_add(&told, 1) + 1 == number("RADOS_TELL_KILL"))
        kill(getpid(), SIGKILL);
    return real(io, object, completion, text, len, timeout_ms, reply, reply_len);
}

read_fn rados_aio_read_op_operate;

EXPORT int rados_aio_read_op_operate(void *op, void *io, void *completion, const char *object,
                                     int flags)
{
    read_fn *real = (read_fn *)dlsym(RTLD_NEXT, "rados_aio_read_op_operate");
    int ms = number("RADOS_TABLES_LATE");

    if (ms && strcmp(object, "p0000000000000000") == 0)
        usleep((useconds_t)ms * 1000);
    return real(op, io, completion, object, flags);
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
    static atomic_int known, ms;
    int result = (int)syscall(SYS_clock_gettime, id, t);
    int64_t ns;

    if (result || id != CLOCK_REALTIME)
        return result;
    if (!atomic_load(&known)) {
        atomic_store(&ms, number("RADOS_CLOCK_MS"));
        atomic_store(&known, 1);
    }
    ns = ((int64_t)t->tv_sec * 1000 + atomic_load(&ms)) * 1000000 + t->tv_nsec;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}

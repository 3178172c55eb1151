#include "sql/door/channel.h"

#include "base/arena_full.h"
#include "sql/mysql/packet.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static ssize_t some_read(struct channel *c, void *to, size_t size)
{
    ssize_t n;

    if (c->ssl)
        return SSL_read(c->ssl, to, size < INT32_MAX ? (int)size : INT32_MAX);
    do
        n = recv(c->fd, to, size, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t some_write(struct channel *c, bytes b)
{
    ssize_t n;

    if (c->ssl)
        return SSL_write(c->ssl, b.ptr, b.len < INT32_MAX ? (int)b.len : INT32_MAX);
    do
        n = send(c->fd, b.ptr, b.len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Of what came ahead, up to `size`. */
static size_t ahead_take(struct channel *c, void *to, size_t size)
{
    size_t n = (size_t)(c->ahead_to - c->ahead_from);

    if (n > size)
        n = size;
    memcpy(to, c->ahead + c->ahead_from, n);
    c->ahead_from = (uint16_t)(c->ahead_from + n);
    return n;
}

/* A call of the system for a short piece brings what follows it, too. */
static ssize_t next_read(struct channel *c, void *to, size_t size)
{
    ssize_t n;

    if (!c->reads_ahead || size >= sizeof(c->ahead))
        return some_read(c, to, size);
    n = some_read(c, c->ahead, sizeof(c->ahead));
    if (n <= 0)
        return n;
    c->ahead_from = 0;
    c->ahead_to = (uint16_t)n;
    return (ssize_t)ahead_take(c, to, size);
}

bool channel_read(struct channel *c, void *to, size_t size)
{
    uint8_t *p = to;
    size_t taken = ahead_take(c, p, size);

    for (p += taken, size -= taken; size;) {
        ssize_t n = next_read(c, p, size);

        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* Was that all there is to it that a second is over? */
static bool is_late(const struct channel *c, ssize_t n)
{
    if (c->ssl)
        return SSL_get_error(c->ssl, (int)n) == SSL_ERROR_WANT_WRITE;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool channel_write(struct channel *c, bytes b)
{
    int seconds = 0;

    while (b.len) {
        ssize_t n = some_write(c, b);

        if (n > 0) {
            b = bytes_skip(b, (size_t)n);
            seconds = 0;
        } else if (!is_late(c, n) || ++seconds >= c->write_s || (c->hurry && c->hurry())) {
            return false;
        }
    }
    return true;
}

bool channel_wait(const struct channel *c, int ms)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};

    return channel_is_ahead(c) || (c->ssl && SSL_has_pending(c->ssl)) || poll(&fd, 1, ms) != 0;
}

void channel_patience(struct channel *c, int read_s, int write_s)
{
    struct timeval read = {.tv_sec = read_s}, write = {.tv_sec = 1};

    c->write_s = write_s;
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &read, sizeof(read));
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &write, sizeof(write));
}

bool channel_secure(struct channel *c, SSL_CTX *context)
{
    c->ssl = SSL_new(context);
    return c->ssl && SSL_set_fd(c->ssl, c->fd) && SSL_accept(c->ssl) == 1;
}

/* A piece that there is no room for. */
static bool piece_forget(struct channel *c, size_t *left, bool first)
{
    uint8_t lost[4096] = {0};
    size_t n = *left < sizeof(lost) ? *left : sizeof(lost);

    if (!channel_read(c, lost, n))
        return false;
    if (first)
        memcpy(c->head, lost, sizeof(c->head));
    *left -= n;
    return true;
}

/* Room grows with what has come, not with what the client says will come. */
static bool payload_read(struct channel *c, struct buf *b, size_t size)
{
    while (size) {
        size_t n = size < 65536 ? size : 65536;
        bool first = !c->overfull && !b->len;

        c->overfull |= arena_is_full(b->arena, b->capacity - b->len < n ? 2 * b->capacity + n : 0);
        if (c->overfull) {
            if (!piece_forget(c, &size, first))
                return false;
            continue;
        }
        if (!channel_read(c, buf_reserve(b, n), n))
            return false;
        buf_commit(b, n);
        size -= n;
    }
    return true;
}

bool channel_packet(struct channel *c, struct arena *a, size_t max, uint8_t *number, bytes *out)
{
    uint8_t header[PACKET_HEADER_BYTES], said;
    size_t size, all = 0;
    struct buf b;

    c->overfull = false;
    buf_init(&b, a, 256);
    do {
        if (!channel_read(c, header, sizeof(header)))
            return false;
        size = packet_header(header, &said);
        all += size;
        if (said != (*number)++ || all > max || !payload_read(c, &b, size))
            return false;
    } while (size == PACKET_BYTES_MAX);
    if (c->overfull && b.len)
        memcpy(c->head, b.data, sizeof(c->head));
    if (c->overfull)
        return false;
    *out = b.len ? buf_bytes(&b) : BYTES_LIT("");
    return true;
}

bool channel_peek(const struct channel *c, bytes *payload, size_t *size)
{
    size_t there = (size_t)(c->ahead_to - c->ahead_from), n;
    uint8_t number;

    if (there < PACKET_HEADER_BYTES)
        return false;
    n = packet_header(c->ahead + c->ahead_from, &number);
    if (number || n > there - PACKET_HEADER_BYTES)
        return false;
    *payload = bytes_of(c->ahead + c->ahead_from + PACKET_HEADER_BYTES, n);
    *size = PACKET_HEADER_BYTES + n;
    return true;
}

void channel_skip(struct channel *c, size_t size)
{
    c->ahead_from = (uint16_t)(c->ahead_from + size);
}

bool channel_fill(struct channel *c, bool *more)
{
    size_t there = (size_t)(c->ahead_to - c->ahead_from), room = sizeof(c->ahead) - there;
    ssize_t n;

    *more = false;
    memmove(c->ahead, c->ahead + c->ahead_from, there);
    c->ahead_from = 0;
    c->ahead_to = (uint16_t)there;
    if (!room)
        return false;
    do
        n = recv(c->fd, c->ahead + there, room, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    c->ahead_to = (uint16_t)(there + (size_t)n);
    *more = (size_t)n == room;
    return true;
}

size_t channel_offer(struct channel *c, bytes b)
{
    ssize_t n;

    do
        n = send(c->fd, b.ptr, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? 0 : (size_t)n;
}

void channel_close(struct channel *c)
{
    if (c->ssl) {
        SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
    }
    close(c->fd);
}

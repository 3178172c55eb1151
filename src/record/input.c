#include "record/input.h"

#include "base/port.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define RAW_BYTES 65536
#define MAGIC_BYTES 4

enum compression { PLAIN, GZIP, ZSTD };

struct input {
    int fd; /* -1: there is `fn` */
    input_read_fn *fn;
    void *arg;
    char why[160];
    enum compression compression;
    bool eof;    /* of the file */
    bool inside; /* a compressed piece has begun and not ended */
    bool idle;
    int patience_ms;
    const char *fault;
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t at, end; /* raw[at..end) was read and not taken */
    uint8_t raw[RAW_BYTES];
};

/* read(), within the patience. */
static ssize_t read_file(struct input *in, void *buf, size_t n)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    ssize_t got;
    int found;

    if (in->fn && in->fault) {
        errno = EIO; /* as before */
        return -1;
    }
    if (in->fn) {
        got = in->fn(in->arg, buf, n, in->why, sizeof(in->why));
        if (got < 0) {
            in->fault = in->why;
            errno = EIO;
        }
        return got;
    }
    found = in->patience_ms < 0 ? 1 : poll(&p, 1, in->patience_ms);

    in->idle = found == 0;
    if (found > 0)
        return read(in->fd, buf, n);
    if (found == 0)
        errno = EAGAIN;
    return -1;
}

/* More of the file behind raw[end). False: failed, errno tells. */
static bool fill(struct input *in)
{
    ssize_t n;

    if (in->at == in->end)
        in->at = in->end = 0;
    n = read_file(in, in->raw + in->end, RAW_BYTES - in->end);
    if (n < 0)
        return false;
    in->eof = n == 0;
    in->end += (size_t)n;
    return true;
}

static enum compression tell(const uint8_t *p, size_t n)
{
    static const uint8_t zstd[] = {0x28, 0xB5, 0x2F, 0xFD};

    if (n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return GZIP;
    return n >= sizeof(zstd) && memcmp(p, zstd, sizeof(zstd)) == 0 ? ZSTD : PLAIN;
}

static bool decoder_start(struct input *in)
{
    if (in->compression == GZIP)
        return inflateInit2(&in->gzip, 15 + 16) == Z_OK;
    if (in->compression == ZSTD)
        in->zstd = ZSTD_createDStream();
    return in->compression != ZSTD || in->zstd;
}

static struct input *input_begin(struct input *in)
{
    in->patience_ms = -1;
    while (in->end < MAGIC_BYTES && !in->eof && !in->fault)
        if (!fill(in) && errno != EINTR && !in->fault) {
            input_close(in);
            return NULL;
        }
    in->compression = tell(in->raw, in->end);
    if (decoder_start(in))
        return in;
    input_close(in);
    errno = ENOMEM;
    return NULL;
}

struct input *input_of(int fd)
{
    struct input *in = mem_alloc(sizeof(*in));

    memset(in, 0, offsetof(struct input, raw));
    in->fd = fd;
    return input_begin(in);
}

struct input *input_from(input_read_fn *fn, void *arg)
{
    struct input *in = mem_alloc(sizeof(*in));

    memset(in, 0, offsetof(struct input, raw));
    in->fd = -1;
    in->fn = fn;
    in->arg = arg;
    return input_begin(in);
}

void input_close(struct input *in)
{
    int error = errno;

    if (!in)
        return;
    if (in->compression == GZIP)
        inflateEnd(&in->gzip);
    ZSTD_freeDStream(in->zstd);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    mem_free(in);
    errno = error;
}

static ssize_t failed(struct input *in, const char *fault)
{
    in->fault = fault;
    errno = EBADMSG;
    return -1;
}

/* Each takes of raw and gives how much was made, which may be nothing. */
static ssize_t inflate_some(struct input *in, void *buf, size_t n)
{
    z_stream *z = &in->gzip;
    int result;

    z->next_in = in->raw + in->at;
    z->avail_in = (uInt)(in->end - in->at);
    z->next_out = buf;
    z->avail_out = (uInt)(n < UINT32_MAX ? n : UINT32_MAX);
    n = z->avail_out;
    in->inside = true;
    result = inflate(z, Z_NO_FLUSH);
    in->at = in->end - z->avail_in;
    if (result == Z_STREAM_END) {
        in->inside = false;
        inflateReset(z);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return failed(in, "the gzip data is damaged");
    }
    return (ssize_t)(n - z->avail_out);
}

static ssize_t unzstd_some(struct input *in, void *buf, size_t n)
{
    ZSTD_inBuffer from = {in->raw, in->end, in->at};
    ZSTD_outBuffer to = {buf, n, 0};
    size_t result = ZSTD_decompressStream(in->zstd, &to, &from);

    in->at = from.pos;
    if (ZSTD_isError(result))
        return failed(in, "the zstd data is damaged");
    in->inside = result != 0;
    return (ssize_t)to.pos;
}

static ssize_t decode(struct input *in, void *buf, size_t n)
{
    for (;;) {
        ssize_t made = 0;

        if (in->at < in->end || in->inside)
            made = in->compression == GZIP ? inflate_some(in, buf, n) : unzstd_some(in, buf, n);
        if (made)
            return made;
        if (in->at < in->end)
            continue;
        if (in->eof)
            return in->inside ? failed(in, "the compressed data ends in the middle") : 0;
        if (!fill(in))
            return -1;
    }
}

ssize_t input_read(struct input *in, void *buf, size_t n)
{
    if (in->compression != PLAIN)
        return n ? decode(in, buf, n) : 0;
    if (in->at == in->end)
        return in->eof ? 0 : read_file(in, buf, n);
    if (n > in->end - in->at)
        n = in->end - in->at;
    memcpy(buf, in->raw + in->at, n);
    in->at += n;
    return (ssize_t)n;
}

const char *input_fault(const struct input *in)
{
    return in->fault;
}

bool input_is_compressed(const struct input *in)
{
    return in->compression != PLAIN;
}

void input_set_patience(struct input *in, int ms)
{
    in->patience_ms = ms;
    in->idle = false;
}

bool input_is_idle(const struct input *in)
{
    return in->idle;
}

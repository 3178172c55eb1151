#include "hostile.h"

#include "base/buf.h"
#include "base/ctx.h"
#include "wire/ots_client.h"
#include "wire/sign.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEY_ID "test-id"
#define KEY_SECRET "test-secret"

int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- requests */

/* With up to 3 headers more, which are signed too. */
static bytes head_format(struct door *d, const char *path, const struct sign_header *more,
                         size_t more_count, uint64_t length)
{
    struct clock clock;
    struct sign_key key;
    struct buf b;
    char date[SIGN_DATE_TEXT + 1], signature[SIGN_SHA1_TEXT + 1];

    clock_real_init(&clock);
    sign_date_format(clock_wall_us(&clock), date);
    sign_key_init(&key, BYTES_LIT(KEY_SECRET));
    struct sign_header headers[8] = {{BYTES_LIT("x-ots-apiversion"), BYTES_LIT("2015-12-31")},
                                     {BYTES_LIT("x-ots-accesskeyid"), BYTES_LIT(KEY_ID)},
                                     {BYTES_LIT("x-ots-instancename"), BYTES_LIT("test")},
                                     {BYTES_LIT("x-ots-date"), bytes_str(date)}};
    memcpy(&headers[4], more, more_count * sizeof(*more));
    sign_request(&key, bytes_str(path), headers, 4 + more_count, signature);
    buf_init(&b, &d->arena, 1024);
    buf_put_bytes(&b, arena_printf(&d->arena,
                                   "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                                   "%llu\r\nx-ots-signature: %s\r\n",
                                   path, (unsigned long long)length, signature));
    for (size_t i = 0; i < 4 + more_count; i++)
        buf_put_bytes(&b, arena_printf(&d->arena, "%.*s: %.*s\r\n", BYTES_FMT(headers[i].name),
                                       BYTES_FMT(headers[i].value)));
    buf_put(&b, "\r\n", 2);
    return buf_bytes(&b);
}

bytes door_request(struct door *d, const struct wr_request *req)
{
    struct ctx c;
    char digest[SIGN_MD5_TEXT + 1];
    bytes body, head;
    uint8_t *out;

    ctx_init(&c, NULL, NULL, NULL, 0);
    body = ots_encode_request(&c, req);
    sign_md5(body, digest);
    head = head_format(d, ots_client_path(req->op),
                       &(struct sign_header){BYTES_LIT("x-ots-contentmd5"), bytes_str(digest)}, 1,
                       body.len);
    out = arena_alloc(&d->arena, head.len + body.len);
    memcpy(out, head.ptr, head.len);
    if (body.len)
        memcpy(out + head.len, body.ptr, body.len);
    ctx_release(&c);
    return bytes_of(out, head.len + body.len);
}

bytes door_head(struct door *d, uint64_t content_length)
{
    static const struct sign_header digest = {{"x-ots-contentmd5", 16},
                                              {"1B2M2Y8AsgTpgAmy7PhCfg==", 24}};

    return head_format(d, "/PutRow", &digest, 1, content_length);
}

bytes door_cell_head(struct door *d, const char *key, uint64_t content_length)
{
    const struct sign_header cell[] = {
        {BYTES_LIT("x-ots-cell-table"), BYTES_LIT("hostile")},
        {BYTES_LIT("x-ots-cell-key"), bytes_str(key)},
        {BYTES_LIT("x-ots-cell-column"), BYTES_LIT("c")},
        {BYTES_LIT("x-ots-cell-sha256"),
         BYTES_LIT("0000000000000000000000000000000000000000000000000000000000000000")}};

    return head_format(d, "/PutCell", cell, 4, content_length);
}

/* ---- sockets */

int door_connect(const struct door *d, bool blocking)
{
    int fd = socket(AF_INET, SOCK_STREAM | (blocking ? 0 : SOCK_NONBLOCK), 0), one = 1;
    struct timeval patience = {.tv_sec = 20};

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (blocking)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&d->address, sizeof(d->address)) &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_all(int fd, bytes b)
{
    while (b.len) {
        ssize_t n = send(fd, b.ptr, b.len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        b = bytes_skip(b, (size_t)n);
    }
    return true;
}

/* How many bytes an answer has whose head ends at `body`; 0 if it says none. */
static size_t answer_size(const char *text, const char *body)
{
    const char *length = strcasestr(text, "\r\nContent-Length:");

    return (size_t)(body - text) + (length && length < body ? strtoul(length + 17, NULL, 10) : 0);
}

int door_ask(int fd, bytes request, char *text, size_t text_size)
{
    char buffer[16384];
    size_t got = 0, want = 0, kept;
    int status = -1;

    if (!send_all(fd, request))
        return -1;
    while (!want || got < want) {
        size_t at = want ? 0 : got; /* the head is kept whole, the body is not */
        ssize_t n = recv(fd, buffer + at, sizeof(buffer) - 1 - at, 0);
        const char *body;

        if (n <= 0)
            return -1;
        got += (size_t)n;
        if (want)
            continue;
        buffer[got] = 0;
        body = strstr(buffer, "\r\n\r\n");
        if (!body && got == sizeof(buffer) - 1)
            return -1;
        if (!body)
            continue;
        status = atoi(buffer + 9);
        want = answer_size(buffer, body + 4);
        kept = got < text_size ? got : text_size - 1;
        if (text)
            memcpy(text, buffer, kept);
        if (text)
            text[kept] = 0;
    }
    return status;
}

/* ---- the process */

long door_memory_kib(const struct door *d)
{
    char name[64], line[256];
    long kib = -1;
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%d/status", d->pid);
    f = fopen(name, "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

/* User and system time of a process from its stat file. */
static double process_ms(int pid)
{
    char name[64], line[1024];
    unsigned long user = 0, kernel = 0;
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    f = fopen(name, "r");
    if (f && fgets(line, sizeof(line), f) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &kernel);
    if (f)
        fclose(f);
    return (double)(user + kernel) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

struct door_time door_time(const struct door *d)
{
    double v[8] = {0}, tick = 1000 / (double)sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "r");
    struct door_time t = {0};

    /* user, nice, system, idle, iowait, irq, softirq, steal */
    if (f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2], &v[3], &v[4],
                    &v[5], &v[6], &v[7]) == 8)
        for (int i = 0; i < 8; i++)
            t.all += v[i] * tick;
    if (f)
        fclose(f);
    t.server = process_ms(d->pid);
    t.clients = process_ms(getpid());
    t.others = t.all - (v[3] + v[4]) * tick - t.server - t.clients;
    return t;
}

/* The engine's write buffers hold what good clients have written, as much as the log does that is
 * written now: that is no memory which an attack has left behind. */
long door_log_kib(const struct door *d)
{
    char name[64], path[512];
    struct dirent *entry;
    long kib = 0;
    DIR *dir;

    snprintf(name, sizeof(name), "/proc/%d/fd", d->pid);
    dir = opendir(name);
    while (dir && (entry = readdir(dir))) {
        struct stat st;
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);

        if (n > 4 && memcmp(path + n - 4, ".log", 4) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            kib += st.st_size / 1024;
    }
    if (dir)
        closedir(dir);
    return kib;
}

int door_files(const struct door *d)
{
    char name[64];
    int n = 0;
    DIR *dir;

    snprintf(name, sizeof(name), "/proc/%d/fd", d->pid);
    dir = opendir(name);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n - 2;
}

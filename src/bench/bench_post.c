#include "bench/bench_post.h"

#include "base/ctx.h"

#include <stdio.h>
#include <strings.h>

#define LENGTH_DIGITS 10
#define LENGTH_NAME "Content-Length: "

/* ---- requests */

/* Where `what` ends in a form. It is there: the form was just made. */
static size_t behind(const char *form, const char *what)
{
    return (size_t)(strstr(form, what) - form) + strlen(what);
}

bool bench_post_init(struct bench_post *p, const struct bench_post_conf *conf)
{
    int n;

    memset(p, 0, sizeof(*p));
    sign_key_init(&p->key, conf->key_secret);
    n = snprintf(p->head, sizeof(p->head),
                 "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %0*d\r\n"
                 "x-ots-contentmd5: %*s\r\nx-ots-date: %*s\r\nx-ots-signature: %*s\r\n"
                 "x-ots-apiversion: 2015-12-31\r\nx-ots-accesskeyid: %.*s\r\n"
                 "x-ots-instancename: %.*s\r\n\r\n",
                 conf->path, conf->host, LENGTH_DIGITS, 0, SIGN_MD5_TEXT, "", SIGN_DATE_TEXT, "",
                 SIGN_SHA1_TEXT, "", BYTES_FMT(conf->key_id), BYTES_FMT(conf->instance));
    if (n < 0 || (size_t)n >= sizeof(p->head))
        return false;
    p->head_len = (size_t)n;
    p->head_length = behind(p->head, LENGTH_NAME);
    p->head_md5 = behind(p->head, "x-ots-contentmd5: ");
    p->head_date = behind(p->head, "x-ots-date: ");
    p->head_signature = behind(p->head, "x-ots-signature: ");

    /* Shorter than the head, so it fits. */
    p->text_len =
        (size_t)snprintf(p->text, sizeof(p->text),
                         "%s\nPOST\n\nx-ots-accesskeyid:%.*s\nx-ots-apiversion:2015-12-31\n"
                         "x-ots-contentmd5:%*s\nx-ots-date:%*s\nx-ots-instancename:%.*s\n",
                         conf->path, BYTES_FMT(conf->key_id), SIGN_MD5_TEXT, "", SIGN_DATE_TEXT, "",
                         BYTES_FMT(conf->instance));
    p->text_md5 = behind(p->text, "\nx-ots-contentmd5:");
    p->text_date = behind(p->text, "\nx-ots-date:");
    return true;
}

void bench_post_write(struct bench_post *p, const char *date, bytes body, char *out)
{
    char md5[SIGN_MD5_TEXT + 1], signature[SIGN_SHA1_TEXT + 1];
    size_t rest = body.len;

    sign_md5(body, md5);
    memcpy(p->text + p->text_md5, md5, SIGN_MD5_TEXT);
    memcpy(p->text + p->text_date, date, SIGN_DATE_TEXT);
    sign_text(&p->key, bytes_of(p->text, p->text_len), signature);
    memcpy(out, p->head, p->head_len);
    for (size_t i = LENGTH_DIGITS; i-- > 0; rest /= 10)
        out[p->head_length + i] = (char)('0' + rest % 10);
    memcpy(out + p->head_md5, md5, SIGN_MD5_TEXT);
    memcpy(out + p->head_date, date, SIGN_DATE_TEXT);
    memcpy(out + p->head_signature, signature, SIGN_SHA1_TEXT);
}

/* ---- answers */

/* The number at data[at]; *at moves behind it. */
static size_t read_number(const char *data, size_t len, size_t *at)
{
    size_t n = 0;

    for (; *at < len && data[*at] >= '0' && data[*at] <= '9' && n < SIZE_MAX / 16; ++*at)
        n = n * 10 + (size_t)(data[*at] - '0');
    return n;
}

/* Tries the places of the answer before: the length stands at the same one, and behind it come as
 * many bytes of head. */
static bool read_same(struct bench_answer *a, const char *data, size_t len, size_t old_end)
{
    const size_t name = sizeof(LENGTH_NAME) - 1;
    size_t at = a->at, body, head;

    if (at < name || at >= len || memcmp(data + at - name, LENGTH_NAME, name) != 0)
        return false;
    body = read_number(data, len, &at);
    head = at + (a->head - old_end);
    if (head > len || memcmp(data + head - 4, "\r\n\r\n", 4) != 0)
        return false;
    a->body = body;
    a->head = head;
    return true;
}

static size_t digits_of(size_t n)
{
    size_t digits = 1;

    for (; n >= 10; n /= 10)
        digits++;
    return digits;
}

bytes bench_answer_header(const char *head, size_t len, const char *name)
{
    size_t n = strlen(name), size;
    const char *line = memchr(head, '\n', len), *end = head + len, *stop;

    for (; line; line = memchr(line, '\n', (size_t)(end - line))) {
        line++;
        if ((size_t)(end - line) <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
            continue;
        for (line += n + 1; line < end && *line == ' ';)
            line++;
        stop = memchr(line, '\r', (size_t)(end - line));
        size = (size_t)((stop ? stop : end) - line);
        return bytes_of(line, size);
    }
    return BYTES_NONE;
}

enum bench_answer_found bench_answer_read(struct bench_answer *a, const char *data, size_t len)
{
    static const char first[] = "HTTP/1.1 ";
    const size_t status_end = sizeof(first) - 1 + 3;
    const char *end;
    bytes length;
    size_t at;

    if (len < status_end)
        return ANSWER_PART;
    if (memcmp(data, first, sizeof(first) - 1) != 0)
        return ANSWER_STRANGE;
    at = sizeof(first) - 1;
    a->status = (int)read_number(data, status_end, &at);
    if (a->at && read_same(a, data, len, a->at + digits_of(a->body)))
        return ANSWER_WHOLE;
    end = memmem(data, len, "\r\n\r\n", 4);
    if (!end)
        return ANSWER_PART;
    a->head = (size_t)(end - data) + 4;
    length = bench_answer_header(data, a->head, "Content-Length");
    if (length.len == 0)
        return ANSWER_STRANGE;
    a->at = at = (size_t)((const char *)length.ptr - data);
    a->body = read_number(data, len, &at);
    return at == a->at + length.len ? ANSWER_WHOLE : ANSWER_STRANGE;
}

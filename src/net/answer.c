#include "net/http_own.h"

#include <stdio.h>
#include <time.h>

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {206, "Partial Content"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {411, "Length Required"},
                   {413, "Content Too Large"},
                   {414, "URI Too Long"},
                   {416, "Range Not Satisfiable"},
                   {417, "Expectation Failed"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};

    for (size_t i = 0; i < PORT_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

/* "Date: Sun, 22 Nov 2026 16:05:00 GMT", made anew each second. */
static bytes date_line(struct loop *l)
{
    int64_t now = clock_wall_us(l->http->conf.clock) / 1000000;
    time_t seconds = (time_t)now;
    struct tm tm;

    if (now != l->date_s && gmtime_r(&seconds, &tm)) {
        strftime(l->date, sizeof(l->date), "%a, %d %b %Y %H:%M:%S", &tm);
        l->date_s = now;
    }
    return bytes_str(l->date);
}

struct line {
    uint8_t *at, *end;
};

static void answer_put(struct line *out, bytes b)
{
    size_t room = (size_t)(out->end - out->at);

    if (b.len > room) {
        out->end = out->at; /* what is too long stays so */
        return;
    }
    bytes_copy(out->at, b.ptr, b.len);
    out->at += b.len;
}

static void answer_put_number(struct line *out, uint64_t n)
{
    char digits[20];
    size_t i = sizeof(digits);

    do
        digits[--i] = (char)('0' + n % 10);
    while (n /= 10);
    answer_put(out, bytes_of(digits + i, sizeof(digits) - i));
}

bytes answer_head(struct loop *l, int status, const struct http_header *headers, size_t n,
                  uint64_t length, bool close)
{
    struct line out = {l->out, l->out + LOOP_BYTES};

    answer_put(&out, BYTES_LIT("HTTP/1.1 "));
    answer_put_number(&out, (uint64_t)status);
    answer_put(&out, BYTES_LIT(" "));
    answer_put(&out, status == 200 ? BYTES_LIT("OK") : bytes_str(reason(status)));
    if (close)
        answer_put(&out, BYTES_LIT("\r\nConnection: close"));
    answer_put(&out, BYTES_LIT("\r\nContent-Length: "));
    answer_put_number(&out, length);
    for (size_t i = 0; i < n; i++) {
        answer_put(&out, BYTES_LIT("\r\n"));
        answer_put(&out, headers[i].name);
        answer_put(&out, BYTES_LIT(": "));
        answer_put(&out, headers[i].value);
    }
    answer_put(&out, BYTES_LIT("\r\nDate: "));
    answer_put(&out, date_line(l));
    answer_put(&out, BYTES_LIT(" GMT\r\n\r\n"));
    return out.at == out.end ? BYTES_NONE : bytes_of(l->out, (size_t)(out.at - l->out));
}

#include "net/head.h"

#define METHOD_BYTES_MAX 32
#define CHUNK_LINE_MAX 256
#define CHUNK_DIGITS_MAX 16
#define TRAILER_BYTES_MAX 4096

/* What a byte may be part of. */
enum { TOKEN = 1, VISIBLE = 2, TEXT = 4 };

/* Of a token: letters, digits and !#$%&'*+-.^_`|~. Of a path: all that is visible in ASCII. Of a
 * value: that, blank, tab, and what is not ASCII. */
#define T (TOKEN | VISIBLE | TEXT)
#define V (VISIBLE | TEXT)
static const uint8_t kinds[256] = {
    ['\t'] = TEXT,      [' '] = TEXT,      ['!'] = T,         ['"'] = V,
    ['#' ... '\''] = T, ['(' ... ')'] = V, ['*' ... '+'] = T, [','] = V,
    ['-' ... '.'] = T,  ['/'] = V,         ['0' ... '9'] = T, [':' ... '@'] = V,
    ['A' ... 'Z'] = T,  ['[' ... ']'] = V, ['^' ... 'z'] = T, ['{'] = V,
    ['|'] = T,          ['}'] = V,         ['~'] = T,         [0x80 ... 0xff] = TEXT,
};
#undef T
#undef V

static size_t span(const uint8_t *p, size_t n, uint8_t kind)
{
    size_t i = 0;

    while (i < n && kinds[p[i]] & kind)
        i++;
    return i;
}

static bool blank(uint8_t ch)
{
    return ch == ' ' || ch == '\t';
}

static bool head_refuse(struct head_fault *fault, int status, const char *text)
{
    *fault = (struct head_fault){status, text};
    return false;
}

static bool equal_any_case(bytes b, const char *lower)
{
    const uint8_t *p = b.ptr;

    for (size_t i = 0; i < b.len; i++) {
        uint8_t ch = p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i];

        if (ch != (uint8_t)lower[i]) /* its NUL ends it */
            return false;
    }
    return !lower[b.len];
}

static bytes head_trim(bytes b)
{
    while (b.len && blank(bytes_u8(b)[0]))
        b = bytes_skip(b, 1);
    while (b.len && blank(bytes_u8(b)[b.len - 1]))
        b.len--;
    return b;
}

/* ---- the end of a head ---- */

/* The request line, without its end: METHOD SP TARGET SP HTTP/1.x. */
static bool check_request_line(const uint8_t *p, size_t n, struct head_fault *fault)
{
    size_t method = span(p, n, TOKEN), target;

    if (!method || method > METHOD_BYTES_MAX || method == n || p[method] != ' ')
        return head_refuse(fault, 400,
                           "The request line does not begin with a method and one blank.");
    target = span(p + method + 1, n - method - 1, VISIBLE);
    p += method + 1 + target;
    n -= method + 1 + target;
    if (!target || !n || *p != ' ')
        return head_refuse(fault, 400,
                           "The request line is not METHOD PATH HTTP/1.1 with one blank "
                           "between.");
    if (n != 9 || memcmp(p, " HTTP/", 6) != 0 || p[7] != '.' || p[6] < '0' || p[6] > '9' ||
        p[8] < '0' || p[8] > '9')
        return head_refuse(fault, 400, "The request line does not end with HTTP/1.1.");
    if (p[6] != '1')
        return head_refuse(fault, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    return true;
}

static bool check_field_line(const uint8_t *p, size_t n, struct head_fault *fault)
{
    size_t name = span(p, n, TOKEN);

    if (blank(*p))
        return head_refuse(fault, 400, "A header line is folded: it begins with white space.");
    if (!name || name == n || p[name] != ':')
        return head_refuse(fault, 400,
                           name < n && blank(p[name])
                               ? "There is white space between a header's name and its "
                                 "colon."
                               : "A header line is not NAME: VALUE.");
    if (span(p + name + 1, n - name - 1, TEXT) != n - name - 1)
        return head_refuse(fault, 400, "A header's value holds a control character.");
    return true;
}

/* The `len` new bytes of a line whose end has not come: whether it can still become one. */
static bool check_open_line(const uint8_t *p, size_t len, struct head_fault *fault)
{
    size_t good = span(p, len, TEXT);

    if (good == len || (good == len - 1 && p[good] == '\r'))
        return true;
    return head_refuse(fault, 400, "The head holds a control character.");
}

/* A line of `len` bytes, which may be the empty one at the end. */
static bool check_line(struct head_scan *s, const uint8_t *p, size_t len, struct head_fault *fault)
{
    if (!len && s->lines)
        return true;
    if (!(s->lines ? check_field_line(p, len, fault) : check_request_line(p, len, fault)))
        return false;
    if (s->lines++ > HEAD_FIELDS_MAX)
        return head_refuse(fault, 431, "There are more than 100 headers.");
    return true;
}

static enum head_state too_long(const struct head_scan *s, struct head_fault *fault)
{
    if (s->lines)
        head_refuse(fault, 431, "The headers are longer than 16 KiB.");
    else
        head_refuse(fault, 414, "The path is longer than 16 KiB.");
    return HEAD_BAD;
}

enum head_state head_scan(struct head_scan *s, const uint8_t *p, size_t n, struct head_fault *fault)
{
    const uint8_t *lf;

    while (s->at < n && (lf = memchr(p + s->at, '\n', n - s->at))) {
        size_t end = (size_t)(lf - p), from = s->line;

        if (end == from || p[end - 1] != '\r') {
            head_refuse(fault, 400, "A line ends with LF alone instead of CR and LF.");
            return HEAD_BAD;
        }
        s->at = s->line = end + 1;
        if (s->at > HEAD_BYTES_MAX)
            return too_long(s, fault);
        if (!check_line(s, p + from, end - 1 - from, fault))
            return HEAD_BAD;
        if (end - 1 == from)
            return HEAD_WHOLE;
    }
    if (n > s->at && !check_open_line(p + s->at, n - s->at, fault))
        return HEAD_BAD;
    s->at = n;
    return n < HEAD_BYTES_MAX ? HEAD_MORE : too_long(s, fault);
}

/* ---- its parts ---- */

/* Of http://host/path the host does not matter. */
static bool parse_target(bytes target, struct head *out, struct head_fault *fault)
{
    const uint8_t *at = target.ptr, *end = at + target.len, *mark;

    if (memchr(at, '#', target.len))
        return head_refuse(fault, 400, "The path has a fragment (#).");
    if (bytes_starts(target, BYTES_LIT("http://")) || bytes_starts(target, BYTES_LIT("https://"))) {
        at += target.len > 8 && at[4] == 's' ? 8 : 7;
        mark = memchr(at, '/', (size_t)(end - at));
        if (!mark)
            return head_refuse(fault, 400, "The request's URL has no path.");
        at = mark;
    } else if (*at != '/' && !bytes_equal(target, BYTES_LIT("*")) &&
               !bytes_equal(out->method, BYTES_LIT("CONNECT"))) {
        return head_refuse(fault, 400, "The path does not begin with a slash.");
    }
    mark = memchr(at, '?', (size_t)(end - at));
    out->query = mark != NULL;
    out->path = bytes_of(at, (size_t)((mark ? mark : end) - at));
    return true;
}

struct framing {
    bool http_1_0, has_host, has_length, has_coding, keep_alive;
};

static bool parse_length(bytes value, struct head *out, struct head_fault *fault)
{
    const uint8_t *p = value.ptr;
    uint64_t n = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return head_refuse(fault, 400, "Content-Length is not a number.");
        if (n > (UINT64_MAX - 10) / 10)
            return head_refuse(fault, 413, "Content-Length is larger than any body may be.");
        n = n * 10 + (p[i] - '0');
    }
    if (!value.len)
        return head_refuse(fault, 400, "Content-Length is not a number.");
    out->length = n;
    return true;
}

/* The next of a list that is parted by commas, taken off it. */
static bytes next_item(bytes *list)
{
    const uint8_t *comma = memchr(list->ptr, ',', list->len);
    size_t n = comma ? (size_t)(comma - bytes_u8(*list)) : list->len;
    bytes item = bytes_of(list->ptr, n);

    *list = bytes_skip(*list, comma ? n + 1 : n);
    return head_trim(item);
}

static bool parse_coding(bytes value, struct head *out, struct head_fault *fault)
{
    bool others = false, comma_ends = value.len && bytes_u8(value)[value.len - 1] == ',';

    out->chunked = false;
    do {
        bytes item = next_item(&value);

        others |= out->chunked || !item.len;
        out->chunked = equal_any_case(item, "chunked");
        others |= !out->chunked;
    } while (value.len);
    if (comma_ends || !out->chunked)
        return head_refuse(fault, 400,
                           "The last transfer coding is not chunked, so the body has no "
                           "end.");
    return !others ||
           head_refuse(fault, 501, "Transfer codings other than chunked are not known here.");
}

static bool parse_connection(bytes value, struct head *out, struct framing *f)
{
    while (value.len) {
        bytes item = next_item(&value);

        out->close |= equal_any_case(item, "close");
        f->keep_alive |= equal_any_case(item, "keep-alive");
    }
    return true;
}

/* A header that says how the request is framed. */
static bool parse_framing(const struct http_header *h, struct head *out, struct framing *f,
                          struct head_fault *fault)
{
    if (bytes_equal(h->name, BYTES_LIT("content-length"))) {
        if (f->has_length)
            return head_refuse(fault, 400, "There are two headers Content-Length.");
        f->has_length = true;
        return parse_length(h->value, out, fault);
    }
    if (bytes_equal(h->name, BYTES_LIT("transfer-encoding"))) {
        if (f->has_coding)
            return head_refuse(fault, 400, "There are two headers Transfer-Encoding.");
        f->has_coding = true;
        return parse_coding(h->value, out, fault);
    }
    if (bytes_equal(h->name, BYTES_LIT("host"))) {
        if (f->has_host)
            return head_refuse(fault, 400, "There are two headers Host.");
        f->has_host = true;
    } else if (bytes_equal(h->name, BYTES_LIT("connection"))) {
        return parse_connection(h->value, out, f);
    } else if (bytes_equal(h->name, BYTES_LIT("expect"))) {
        if (!equal_any_case(h->value, "100-continue"))
            return head_refuse(fault, 417, "Of Expect only 100-continue is known.");
        out->expect = !f->http_1_0;
    }
    return true;
}

/* Takes one line of the head; its form has been checked. */
static struct http_header parse_field(uint8_t *p, size_t len)
{
    uint8_t *colon = p;
    bytes value;

    for (; *colon != ':'; colon++)
        if (*colon >= 'A' && *colon <= 'Z')
            *colon |= 0x20;
    value = head_trim(bytes_of(colon + 1, len - (size_t)(colon + 1 - p)));
    p[(size_t)(bytes_u8(value) - p) + value.len] = 0;
    return (struct http_header){bytes_of(p, (size_t)(colon - p)), value};
}

static bool check_framing(struct head *out, const struct framing *f, struct head_fault *fault)
{
    if (!f->has_host && !f->http_1_0)
        return head_refuse(fault, 400, "There is no header Host.");
    if (f->has_coding && f->has_length)
        return head_refuse(fault, 400, "There are both Content-Length and Transfer-Encoding.");
    if (f->has_coding && f->http_1_0)
        return head_refuse(fault, 400, "HTTP/1.0 knows no Transfer-Encoding.");
    if (f->has_coding)
        out->length = HTTP_LENGTH_UNKNOWN;
    out->close |= f->http_1_0 && !f->keep_alive;
    return true;
}

/* The request line is METHOD SP TARGET SP HTTP/1.x. */
static bool parse_request_line(uint8_t *p, size_t len, struct head *out, struct framing *f,
                               struct head_fault *fault)
{
    uint8_t *blank_at = memchr(p, ' ', len), *target = blank_at + 1, *end = p + len - 9;

    out->method = bytes_of(p, (size_t)(blank_at - p));
    f->http_1_0 = p[len - 1] == '0';
    if (!parse_target(bytes_of(target, (size_t)(end - target)), out, fault))
        return false;
    ((uint8_t *)(uintptr_t)out->path.ptr)[out->path.len] = 0;
    return true;
}

bool head_parse(struct arena *a, uint8_t *p, size_t n, struct head *out, struct head_fault *fault)
{
    struct framing f = {0};
    uint8_t *end = p + n - 2, *lf = memchr(p, '\n', n);
    size_t lines = 0;

    *out = (struct head){.close = false};
    if (!parse_request_line(p, (size_t)(lf - 1 - p), out, &f, fault))
        return false;
    for (const uint8_t *at = lf + 1; at < end; lines++)
        at = (const uint8_t *)memchr(at, '\n', (size_t)(p + n - at)) + 1;
    out->headers = arena_alloc(a, (lines ? lines : 1) * sizeof(*out->headers));
    for (uint8_t *at = lf + 1; at < end; at = lf + 1) {
        struct http_header *h = &out->headers[out->header_count++];

        lf = memchr(at, '\n', (size_t)(p + n - at));
        *h = parse_field(at, (size_t)(lf - 1 - at));
        if (!parse_framing(h, out, &f, fault))
            return false;
    }
    return check_framing(out, &f, fault);
}

/* ---- chunks ---- */

enum chunk_state {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF, /* the CR behind the size was there */
    CHUNK_DATA,    /* and behind it CR LF */
    CHUNK_LF,
    CHUNK_TRAILER, /* at the beginning of a line */
    CHUNK_TRAILER_LINE,
    CHUNK_TRAILER_LF,
    CHUNK_END_LF,
    CHUNK_ENDED,
};

static int hex_value(uint8_t ch)
{
    return ch >= '0' && ch <= '9'   ? ch - '0'
           : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
           : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                    : -1;
}

/* Of the line with a chunk's size. */
static bool size_byte(struct chunks *c, uint8_t ch, struct head_fault *fault)
{
    int digit = c->state == CHUNK_SIZE ? hex_value(ch) : -1;

    if (++c->line > CHUNK_LINE_MAX)
        return head_refuse(fault, 400, "The line with a chunk's size is too long.");
    if (digit >= 0) {
        if (c->digits++ == CHUNK_DIGITS_MAX - 1)
            return head_refuse(fault, 400, "A chunk's size is larger than any body may be.");
        c->left = c->left << 4 | (uint64_t)digit;
    } else if (!c->digits) {
        return head_refuse(fault, 400, "A chunk's size is not a hexadecimal number.");
    } else if (ch == '\r') {
        c->state = CHUNK_SIZE_LF;
    } else if (c->state == CHUNK_SIZE && ch == ';') {
        c->state = CHUNK_EXTENSION;
    } else if (c->state == CHUNK_SIZE || !(kinds[ch] & TEXT)) {
        return head_refuse(fault, 400,
                           "Behind a chunk's size comes neither CR LF nor an extension.");
    }
    return true;
}

static bool line_feed(struct chunks *c, uint8_t ch, struct head_fault *fault)
{
    if (ch != '\n')
        return head_refuse(fault, 400, "Behind a CR in the body's framing comes no LF.");
    c->state = c->state == CHUNK_SIZE_LF      ? (c->left ? CHUNK_DATA : CHUNK_TRAILER)
               : c->state == CHUNK_LF         ? CHUNK_SIZE
               : c->state == CHUNK_TRAILER_LF ? CHUNK_TRAILER
                                              : CHUNK_ENDED;
    c->digits = 0;
    c->line = 0;
    return true;
}

/* Trailers are passed over. */
static bool trailer_byte(struct chunks *c, uint8_t ch, struct head_fault *fault)
{
    if (++c->trailer > TRAILER_BYTES_MAX)
        return head_refuse(fault, 431, "The trailer of the body is longer than 4 KiB.");
    if (ch == '\r')
        c->state = c->state == CHUNK_TRAILER ? CHUNK_END_LF : CHUNK_TRAILER_LF;
    else if (!(kinds[ch] & (c->state == CHUNK_TRAILER ? TOKEN : TEXT)))
        return head_refuse(fault, 400, "The trailer of the body is not made of headers.");
    else
        c->state = CHUNK_TRAILER_LINE;
    return true;
}

static bool frame_byte(struct chunks *c, uint8_t ch, struct head_fault *fault)
{
    switch (c->state) {
    case CHUNK_SIZE:
    case CHUNK_EXTENSION:
        return size_byte(c, ch, fault);
    case CHUNK_DATA:
        if (ch != '\r')
            return head_refuse(fault, 400, "A chunk is longer than its size says.");
        c->state = CHUNK_LF;
        return true;
    case CHUNK_TRAILER:
    case CHUNK_TRAILER_LINE:
        return trailer_byte(c, ch, fault);
    default:
        return line_feed(c, ch, fault);
    }
}

size_t chunks_skip(struct chunks *c, const uint8_t *p, size_t n, struct head_fault *fault)
{
    size_t i = 0;

    while (i < n && c->state != CHUNK_ENDED && !(c->state == CHUNK_DATA && c->left)) {
        if (!frame_byte(c, p[i], fault))
            break;
        i++;
    }
    return i;
}

bool chunks_ended(const struct chunks *c)
{
    return c->state == CHUNK_ENDED;
}

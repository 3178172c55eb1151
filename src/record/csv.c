/* csv.c: finds the end of a record first, then splits it into fields in place.
 *
 * Two passes keep each simple: the first only follows the quotes to a line end outside them,
 * and goes on where it was when more bytes had to be read; the second sees a whole record. Doubled
 * quotes are closed up in place, which only ever moves bytes to the left. */
#include "record/csv.h"

#include "base/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READ_BYTES (256 << 10)

void csv_init(struct csv *c, csv_read_fn *read, void *arg)
{
    *c = (struct csv){.read = read, .arg = arg, .line = 1, .delimiter = ','};
    c->fields = mem_alloc(sizeof(*c->fields) * CSV_FIELDS_MAX);
}

bytes csv_raw_keep(struct csv_raw *r, const char *p, size_t n)
{
    if (!r->wanted)
        return BYTES_NONE;
    if (r->capacity <= n) {
        r->capacity = n * 2 + 256;
        r->data = mem_realloc(r->data, r->capacity);
    }
    memcpy(r->data, p, n);
    return bytes_of(r->data, n);
}

void csv_raw_release(struct csv_raw *r)
{
    mem_free(r->data);
    *r = (struct csv_raw){0};
}

void csv_release(struct csv *c)
{
    csv_raw_release(&c->raw);
    mem_free(c->data);
    mem_free(c->fields);
    memset(c, 0, sizeof(*c));
}

/* Reads more behind data[end). False on failure. */
static bool csv_fill(struct csv *c)
{
    ssize_t n;

    if (c->at) {
        memmove(c->data, c->data + c->at, c->end - c->at);
        c->end -= c->at;
        c->at = 0;
    }
    if (c->capacity - c->end < READ_BYTES) {
        c->capacity = c->end * 2 + READ_BYTES;
        c->data = mem_realloc(c->data, c->capacity);
    }
    do
        n = c->read(c->arg, c->data + c->end, c->capacity - c->end);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        snprintf(c->message, sizeof(c->message), "reading failed: %s", strerror(errno));
        return false;
    }
    c->eof = n == 0;
    c->end += (size_t)n;
    return true;
}

/* Where the search for the end of a record stands. */
enum scan { SCAN_START, SCAN_PLAIN, SCAN_QUOTED, SCAN_QUOTE_SEEN };

/* A quote opens only at the start of a field: one elsewhere is an error that csv_split() reports,
 * and must not make this record swallow the lines that follow. */
static enum scan scan_step(enum scan state, char ch, char delimiter)
{
    switch (state) {
    case SCAN_QUOTED:
        return ch == '"' ? SCAN_QUOTE_SEEN : SCAN_QUOTED;
    case SCAN_QUOTE_SEEN:
        return ch == '"' ? SCAN_QUOTED : ch == delimiter ? SCAN_START : SCAN_PLAIN;
    case SCAN_START:
        if (ch == '"')
            return SCAN_QUOTED;
        break;
    case SCAN_PLAIN:
        break;
    }
    return ch == delimiter ? SCAN_START : SCAN_PLAIN;
}

static enum csv_result csv_too_long(struct csv *c, bool quoted)
{
    snprintf(c->message, sizeof(c->message),
             "the record that begins in line %llu has more than %d bytes%s",
             (unsigned long long)c->line, CSV_RECORD_BYTES_MAX,
             quoted ? " (is a closing quote missing?)" : "");
    return CSV_FAILED;
}

/* The file ends before the record does. */
static enum csv_result csv_end_early(struct csv *c, size_t size, bool quoted)
{
    if (!quoted)
        return size ? CSV_RECORD : CSV_END;
    snprintf(c->message, sizeof(c->message), "a quote is opened and never closed");
    return CSV_BAD;
}

/* The length of the record at data[at) with its line end: `*size`. Counts its line ends. */
static enum csv_result csv_find_end(struct csv *c, size_t *size, uint64_t *lines)
{
    enum scan state = SCAN_START;

    *size = 0;
    *lines = 0;
    for (;;) {
        const char *p = c->data + c->at;
        size_t n = c->end - c->at;

        while (*size < n) {
            char ch = p[(*size)++];

            *lines += ch == '\n';
            if (ch == '\n' && state != SCAN_QUOTED)
                return *size > CSV_RECORD_BYTES_MAX ? csv_too_long(c, false) : CSV_RECORD;
            state = scan_step(state, ch, c->delimiter);
        }
        if (*size > CSV_RECORD_BYTES_MAX)
            return csv_too_long(c, state == SCAN_QUOTED);
        if (c->eof)
            return csv_end_early(c, *size, state == SCAN_QUOTED);
        if (!csv_fill(c))
            return CSV_FAILED;
    }
}

/* A record that was read whole and has no quotes, as nearly all are. */
static bool csv_find_plain(const struct csv *c, size_t *size)
{
    const char *p = c->data + c->at, *end;

    end = c->end > c->at ? memchr(p, '\n', c->end - c->at) : NULL;
    if (!end || memchr(p, '"', (size_t)(end - p)))
        return false;
    *size = (size_t)(end - p) + 1;
    return *size <= CSV_RECORD_BYTES_MAX;
}

/* Reads a quoted field that begins at *p, behind its opening quote. */
static bool csv_split_quoted(struct csv *c, char **at, char *end, struct csv_field *field)
{
    char *from = *at, *to = *at, *start = *at;

    for (;;) {
        char *quote = memchr(from, '"', (size_t)(end - from));
        size_t n;

        if (!quote) { /* only at the end of the file; csv_find_end() has said so already */
            snprintf(c->message, sizeof(c->message), "a quote is opened and never closed");
            return false;
        }
        n = (size_t)(quote - from);
        memmove(to, from, n);
        to += n;
        from = quote + 1;
        if (from == end || *from != '"')
            break;
        *to++ = '"';
        from++;
    }
    *field = (struct csv_field){bytes_of(start, (size_t)(to - start)), true};
    *at = from;
    if (from != end && *from != c->delimiter) {
        snprintf(c->message, sizeof(c->message),
                 "text behind a closing quote (a quote inside a field is written twice)");
        return false;
    }
    return true;
}

static bool csv_split_plain(struct csv *c, char **at, char *end, struct csv_field *field)
{
    char *start = *at, *next = memchr(start, c->delimiter, (size_t)(end - start));

    *at = next ? next : end;
    *field = (struct csv_field){bytes_of(start, (size_t)(*at - start)), false};
    if (memchr(start, '"', field->text.len)) {
        snprintf(c->message, sizeof(c->message),
                 "a quote inside a field that does not begin with one");
        return false;
    }
    return true;
}

static bool csv_too_many(struct csv *c)
{
    snprintf(c->message, sizeof(c->message), "more than %d fields", CSV_FIELDS_MAX);
    return false;
}

/* Cuts the record [p, end), which has no line end any more and no quotes. */
static bool csv_cut(struct csv *c, const char *p, const char *end, size_t *count)
{
    for (*count = 0;; p++) {
        const char *next = p < end ? memchr(p, c->delimiter, (size_t)(end - p)) : NULL;

        if (*count == CSV_FIELDS_MAX)
            return csv_too_many(c);
        next = next ? next : end;
        c->fields[(*count)++] = (struct csv_field){bytes_of(p, (size_t)(next - p)), false};
        p = next;
        if (p == end)
            return true;
    }
}

/* Cuts the record [p, end), which has no line end any more. */
static bool csv_split(struct csv *c, char *p, char *end, size_t *count)
{
    for (*count = 0;; p++) {
        struct csv_field *field = &c->fields[*count];
        bool good;

        if (*count == CSV_FIELDS_MAX)
            return csv_too_many(c);
        if (p != end && *p == '"') {
            p++;
            good = csv_split_quoted(c, &p, end, field);
        } else {
            good = csv_split_plain(c, &p, end, field);
        }
        if (!good)
            return false;
        ++*count;
        if (p == end)
            return true;
    }
}

static void csv_skip_mark(struct csv *c)
{
    while (c->end - c->at < 3 && !c->eof)
        if (!csv_fill(c))
            return;
    if (c->end - c->at >= 3 && memcmp(c->data + c->at, "\xEF\xBB\xBF", 3) == 0) {
        c->at += 3;
        c->offset += 3;
    }
}

enum csv_result csv_next(struct csv *c, struct csv_record *out)
{
    for (;;) {
        size_t size = 0, len;
        uint64_t lines = 1;
        enum csv_result result = CSV_RECORD;
        bool plain;
        char *p;

        *out = (struct csv_record){0};
        if (c->offset == 0)
            csv_skip_mark(c);
        plain = csv_find_plain(c, &size);
        if (!plain)
            result = csv_find_end(c, &size, &lines);
        *out = (struct csv_record){
            .fields = c->fields, .line = c->line, .offset = c->offset, .size = size};
        if (result == CSV_FAILED || result == CSV_END)
            return result;
        p = c->data + c->at;
        out->raw = csv_raw_keep(&c->raw, p, size);
        c->at += size;
        c->offset += size;
        c->line += lines;
        if (result == CSV_BAD)
            return result;
        len = size;
        if (len && p[len - 1] == '\n')
            len--;
        if (len && p[len - 1] == '\r')
            len--;
        if (len == 0)
            continue;
        if (out->raw.ptr)
            out->raw.len = len;
        return (plain ? csv_cut(c, p, p + len, &out->count) : csv_split(c, p, p + len, &out->count))
                   ? CSV_RECORD
                   : CSV_BAD;
    }
}

/* record.c: finds line ends with memchr() in a large buffer and splits fields in place, without
 * copying. A record without a quote, which is nearly every one, takes the short way. */
#include "record/record.h"

#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (1u << 20)
#define QUOTED_BYTES_MAX                                                                           \
    (1u << 20) /* a quoted field with line ends that goes on longer is none                        \
                */

/* Reads more behind data[end). False on failure. */
static bool fill(struct record_reader *r)
{
    ssize_t n;

    if (r->at) {
        memmove(r->data, r->data + r->at, r->end - r->at);
        r->end -= r->at;
        r->at = 0;
    }
    if (r->capacity - r->end < READ_BYTES) {
        r->capacity = r->end * 2 + READ_BYTES;
        r->data = mem_realloc(r->data, r->capacity);
    }
    do {
        if (r->stop && *r->stop) {
            errno = ECANCELED;
            n = -1;
        } else {
            n = input_read(r->input, r->data + r->end, r->capacity - r->end);
        }
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        const char *fault = input_fault(r->input);

        snprintf(r->message, sizeof(r->message), "reading failed: %s",
                 fault ? fault : strerror(errno));
        return false;
    }
    r->eof = n == 0;
    r->end += (size_t)n;
    return true;
}

/* Follows the quotes of data[from..to), which may begin inside a field. A quote opens only at the
 * start of a field: one elsewhere is an error of its line and must not swallow the next ones. */
static bool follow_quotes(const char *record, const char *from, const char *to, char delimiter,
                          bool inside)
{
    for (const char *q = from; (q = memchr(q, '"', (size_t)(to - q))); q++) {
        if (!inside)
            inside = q == record || q[-1] == delimiter;
        else if (q + 1 != to && q[1] == '"')
            q++;
        else
            inside = false;
    }
    return inside;
}

/* What was found of the next line. */
struct line {
    size_t size; /* with its end; 0: there is none */
    uint64_t lines;
    bool quotes, failed;
};

/* A record goes on to the first line end outside quotes. If no quote closes within reason, only the
 * line where it was opened is lost. */
static struct line find_line(struct record_reader *r)
{
    size_t from = 0 /* looked at */, first = 0 /* the first line */;
    bool inside = false, text = r->format == RECORD_JSONL;
    struct line found = {.lines = 1};

    for (;;) {
        char *start = r->data + r->at, *stop = r->data + r->end, *p = start + from, *end;

        while (p != stop && (end = memchr(p, '\n', (size_t)(stop - p)))) {
            if (!text && memchr(p, '"', (size_t)(end - p))) {
                found.quotes = true;
                inside = follow_quotes(start, p, end, r->delimiter, inside);
            }
            found.size = (size_t)(end + 1 - start);
            if (!inside)
                return found;
            first = first ? first : found.size;
            found.lines++;
            p = end + 1;
        }
        from = (size_t)(p - start);
        if (r->eof || (first && from > QUOTED_BYTES_MAX)) {
            found.quotes = found.quotes || memchr(start, '"', (size_t)(stop - start));
            inside = first && follow_quotes(start, p, stop, r->delimiter, inside);
            found.size = inside ? first : (size_t)(stop - start);
            found.lines = inside ? 1 : found.lines;
            return found;
        }
        found.failed = (size_t)(stop - start) > CSV_RECORD_BYTES_MAX;
        if (found.failed)
            snprintf(r->message, sizeof(r->message), "a line of more than %d MiB",
                     CSV_RECORD_BYTES_MAX >> 20);
        if (found.failed || !fill(r)) {
            found.failed = true;
            return found;
        }
    }
}

static bool too_many(struct record_reader *r, size_t count)
{
    snprintf(r->message, sizeof(r->message), "%zu fields, the header has %zu", count,
             r->column_count);
    return false;
}

static bool split_plain(struct record_reader *r, char *p, char *end, size_t *count)
{
    size_t n = 0;

    for (;;) {
        char *next = memchr(p, r->delimiter, (size_t)(end - p)), *stop = next ? next : end;

        if (n < RECORD_COLUMNS_MAX)
            r->fields[n] = (struct csv_field){{stop == p ? NULL : p, (size_t)(stop - p)}, false};
        n++;
        if (!next)
            break;
        p = next + 1;
    }
    *count = n;
    return true;
}

/* A field in quotes from behind the first one: closes doubled quotes up and moves *at behind it. */
static bool split_quoted(struct record_reader *r, char **at, char *end, struct csv_field *out)
{
    char *p = *at, *to = p, *start = p;

    for (;; p++) {
        if (p == end) {
            snprintf(r->message, sizeof(r->message), "a quote is opened and never closed");
            return false;
        }
        if (*p == '"') {
            if (p + 1 == end || p[1] != '"')
                break;
            p++;
        }
        *to++ = *p;
    }
    *out = (struct csv_field){{start, (size_t)(to - start)}, true};
    *at = p + 1;
    if (*at == end || **at == r->delimiter)
        return true;
    snprintf(r->message, sizeof(r->message), "text behind a closing quote");
    return false;
}

static bool split_with_quotes(struct record_reader *r, char *p, char *end, size_t *count)
{
    size_t n = 0;

    for (;; p++) {
        struct csv_field spare, *field = n < RECORD_COLUMNS_MAX ? &r->fields[n] : &spare;

        n++;
        if (p != end && *p == '"') {
            p++;
            if (!split_quoted(r, &p, end, field))
                return false;
        } else {
            char *next = memchr(p, r->delimiter, (size_t)(end - p)), *stop = next ? next : end;

            if (memchr(p, '"', (size_t)(stop - p))) {
                snprintf(r->message, sizeof(r->message),
                         "a quote inside a field that does not begin with one");
                return false;
            }
            *field = (struct csv_field){{stop == p ? NULL : p, (size_t)(stop - p)}, false};
            p = stop;
        }
        if (p == end)
            break;
    }
    *count = n;
    return true;
}

/* The next line that is not empty, without its end. */
static enum record_result next_line(struct record_reader *r, char **line, size_t *len, bool *quotes)
{
    do {
        struct line found = find_line(r);

        r->line = r->next_line;
        if (found.failed)
            return RECORD_FAILED;
        if (found.size == 0)
            return RECORD_END;
        *line = r->data + r->at;
        *quotes = found.quotes;
        r->at += found.size;
        r->offset += found.size;
        r->next_line += found.lines;
        *len = found.size;
        if ((*line)[*len - 1] == '\n')
            --*len;
        if (*len && (*line)[*len - 1] == '\r')
            --*len;
    } while (*len == 0);
    return RECORD_OK;
}

enum record_result record_next(struct record_reader *r)
{
    char *line;
    size_t len, count;
    bool quotes;
    enum record_result result = next_line(r, &line, &len, &quotes);

    if (result != RECORD_OK)
        return result;
    r->record_text = csv_raw_keep(&r->raw, line, len);
    if (r->format == RECORD_JSONL)
        return record_parse_json(r, line, line + len) ? RECORD_OK : RECORD_BAD;
    if (!(quotes ? split_with_quotes(r, line, line + len, &count)
                 : split_plain(r, line, line + len, &count)))
        return RECORD_BAD;
    return count == r->column_count || too_many(r, count) ? RECORD_OK : RECORD_BAD;
}

size_t record_column(const struct record_reader *r, bytes name)
{
    for (size_t i = 0; i < r->column_count; i++)
        if (bytes_equal(r->names[i], name))
            return i;
    return SIZE_MAX;
}

bool record_add_column(struct record_reader *r, bytes name)
{
    if (record_column(r, name) != SIZE_MAX)
        return true;
    if (r->column_count == RECORD_COLUMNS_MAX)
        return false;
    r->names[r->column_count++] = arena_copy(r->arena, name);
    return true;
}

/* Without the type that `widerow export` writes behind it. */
static bytes bare_name(bytes name)
{
    static const char *const types[] = {":integer", ":string", ":double", ":boolean", ":binary"};

    for (size_t i = 0; i < PORT_COUNT(types); i++) {
        size_t len = strlen(types[i]);

        if (name.len > len && memcmp(bytes_u8(name) + name.len - len, types[i], len) == 0)
            return bytes_of(name.ptr, name.len - len);
    }
    return name;
}

static int read_header(struct ctx *c, struct record_reader *r, const char *name)
{
    char *line;
    size_t len, count;
    bool quotes;
    bytes column;
    enum record_result result = next_line(r, &line, &len, &quotes);

    if (result == RECORD_END)
        return fail(c, E_PARAMETER, "%s is empty; it needs a header line", name);
    if (result == RECORD_FAILED || !(quotes ? split_with_quotes(r, line, line + len, &count)
                                            : split_plain(r, line, line + len, &count)))
        return fail(c, E_PARAMETER, "%s, line 1: %s", name, r->message);
    if (count > RECORD_COLUMNS_MAX)
        return fail(c, E_PARAMETER, "%s has %zu columns; %d are the most", name, count,
                    RECORD_COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (r->fields[i].text.len == 0)
            return fail(c, E_PARAMETER, "%s, line 1: column %zu has no name", name, i + 1);
        column = bare_name(r->fields[i].text);
        if (record_column(r, column) != SIZE_MAX)
            return fail(c, E_PARAMETER, "%s, line 1: there are two columns %.*s", name,
                        BYTES_FMT(column));
        r->names[r->column_count++] = arena_copy(&c->arena, column);
    }
    return 0;
}

/* A text in UTF-16 has another byte order mark, or a zero in its first character. */
static bool is_utf16(const char *p, size_t n)
{
    return n >= 2 &&
           (memcmp(p, "\xFF\xFE", 2) == 0 || memcmp(p, "\xFE\xFF", 2) == 0 || !p[0] || !p[1]);
}

static int tell_format(struct ctx *c, struct record_reader *r, const char *name, const char *format)
{
    size_t at;

    while (r->end - r->at < 4 && !r->eof)
        if (!fill(r))
            return fail(c, E_PARAMETER, "%s: %s", name, r->message);
    if (r->end - r->at >= 4 && memcmp(r->data + r->at, "PAR1", 4) == 0)
        return fail(c, E_PARAMETER,
                    "%s is Parquet, which is read from its end: save it in a file, which `widerow "
                    "import` reads",
                    name);
    if (is_utf16(r->data + r->at, r->end - r->at))
        return fail(c, E_PARAMETER,
                    "%s is UTF-16; make it UTF-8: iconv -f UTF-16 -t UTF-8 FILE | widerow … -",
                    name);
    if (r->end - r->at >= 3 && memcmp(r->data + r->at, "\xEF\xBB\xBF", 3) == 0)
        r->at += 3;
    at = r->at;
    while (at < r->end && (r->data[at] == ' ' || r->data[at] == '\n' || r->data[at] == '\r'))
        at++;
    r->format = at < r->end && r->data[at] == '{' ? RECORD_JSONL : RECORD_CSV;
    r->dynamodb = r->format == RECORD_JSONL && record_is_dynamodb(r->data + at, r->data + r->end);
    if (!format)
        return 0;
    r->dynamodb = strcmp(format, "dynamodb") == 0;
    if (strcmp(format, "csv") != 0 && strcmp(format, "jsonl") != 0 && !r->dynamodb)
        return fail(c, E_PARAMETER, "the input is csv, jsonl or dynamodb, not '%s'", format);
    r->format = strcmp(format, "csv") == 0 ? RECORD_CSV : RECORD_JSONL;
    return 0;
}

static int take_delimiter(struct ctx *c, struct record_reader *r, const char *said)
{
    if (strcmp(said, "tab") == 0 || strcmp(said, "\\t") == 0)
        said = "\t";
    if (said[0] == '\0' || said[1] != '\0' || strchr("\"\r\n", said[0]))
        return fail(c, E_PARAMETER,
                    "--delimiter is one character, or tab; '%s' is none, nor may it be a quote",
                    said);
    r->delimiter = said[0];
    return 0;
}

/* The one that the first line has most of, outside of quotes; the first of equals. */
static char likely_delimiter(const char *p, const char *end)
{
    static const char candidates[] = {',', ';', '\t', '|'};
    size_t counts[sizeof(candidates)] = {0}, best = 0;
    bool inside = false;

    for (; p != end && (inside || *p != '\n'); p++) {
        const char *which = memchr(candidates, *p, sizeof(candidates));

        inside ^= *p == '"';
        if (which && !inside)
            counts[which - candidates]++;
    }
    for (size_t i = 1; i < sizeof(candidates); i++)
        if (counts[i] > counts[best])
            best = i;
    return candidates[best];
}

/* Looks at the first line, whose end was read by then unless it is a very long one. */
static int tell_delimiter(struct ctx *c, struct record_reader *r, const char *name)
{
    while (!r->eof && r->end < READ_BYTES && !memchr(r->data + r->at, '\n', r->end - r->at))
        if (!fill(r))
            return fail(c, E_PARAMETER, "%s: %s", name, r->message);
    r->delimiter = likely_delimiter(r->data + r->at, r->data + r->end);
    return 0;
}

int record_begin_input(struct ctx *c, struct record_reader *r, struct input *in,
                       uint64_t total_bytes, const char *name, const struct record_form *form)
{
    const volatile sig_atomic_t *stop = r->stop;

    memset(r, 0, sizeof(*r));
    r->input = in;
    r->stop = stop;
    r->next_line = 1;
    r->arena = &c->arena;
    r->delimiter = ',';
    if (!in)
        return fail(c, E_PARAMETER, "cannot read %s: %s", name, strerror(errno));
    if (!input_is_compressed(in))
        r->total_bytes = total_bytes;
    TRY(tell_format(c, r, name, form->format));
    if (form->delimiter)
        return take_delimiter(c, r, form->delimiter);
    return r->format == RECORD_CSV ? tell_delimiter(c, r, name) : 0;
}

int record_begin(struct ctx *c, struct record_reader *r, int fd, const char *name,
                 const struct record_form *form)
{
    struct input *in = input_of(fd);
    struct stat st;
    bool plain = in && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

    return record_begin_input(c, r, in, plain ? (uint64_t)st.st_size : 0, name, form);
}

int record_open_fd(struct ctx *c, struct record_reader *r, int fd, const char *name,
                   const struct record_form *form)
{
    r->stop = NULL;
    TRY(record_begin(c, r, fd, name, form));
    if (r->format == RECORD_CSV)
        return read_header(c, r, name);
    return r->at < r->end ? 0 : fail(c, E_PARAMETER, "%s is empty", name);
}

int record_open(struct ctx *c, struct record_reader *r, const char *path,
                const struct record_form *form)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    memset(r, 0, sizeof(*r));
    if (fd < 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    return record_open_fd(c, r, fd, standard ? "standard input" : path, form);
}

void record_release(struct record_reader *r)
{
    mem_free(r->data);
    csv_raw_release(&r->raw);
    mem_free(r->made);
    r->made = NULL;
    input_close(r->input);
    r->data = NULL;
    r->input = NULL;
}

#include "cli/transfer/import_sample.h"

#include "base/port.h"
#include "widerow.h"

#include <errno.h>
#include <unistd.h>

#define PLACES 63
#define PIECE_BYTES (32u << 10)
#define FIELDS_MAX (1u << 20) /* of all records: wide ones are fewer */
#define PIECE_RECORDS (IMPORT_SAMPLE_MAX / PLACES)

static const struct wr_value *copy_values(struct ctx *c, const struct csv_record *r)
{
    struct wr_value *values = ARENA_ARRAY(&c->arena, struct wr_value, r->count);

    for (size_t i = 0; i < r->count; i++) {
        values[i] = r->values[i];
        if (values[i].type == WR_VARCHAR || values[i].type == WR_VARBINARY)
            values[i].bytes = arena_copy(&c->arena, values[i].bytes);
    }
    return values;
}

struct csv_record import_record_copy(struct ctx *c, const struct csv_record *r)
{
    struct csv_field *fields;
    struct csv_record copy = *r;

    if (r->values) {
        copy.values = copy_values(c, r);
        copy.raw = r->raw.ptr ? arena_copy(&c->arena, r->raw) : BYTES_NONE;
        return copy;
    }
    fields = ARENA_ARRAY(&c->arena, struct csv_field, r->count);
    for (size_t i = 0; i < r->count; i++) {
        fields[i] = r->fields[i];
        if (fields[i].text.ptr) /* none is other than an empty one */
            fields[i].text = arena_copy(&c->arena, fields[i].text);
    }
    copy.fields = fields;
    if (r->raw.ptr)
        copy.raw = arena_copy(&c->arena, r->raw);
    return copy;
}

/* A piece of the file as something to read. */
struct piece {
    char *data;
    size_t size, at;
};

static ssize_t piece_read(void *arg, void *buf, size_t n)
{
    struct piece *p = arg;

    n = n < p->size - p->at ? n : p->size - p->at;
    if (n)
        memcpy(buf, p->data + p->at, n);
    p->at += n;
    return (ssize_t)n;
}

/* The records of a piece but for the first, which may have begun before it, and the last, which may
 * go on behind it. 0: one of them is none. */
static size_t read_csv(struct ctx *c, const struct import_sample_of *of, struct piece *piece,
                       struct csv_record *out)
{
    struct csv_record record;
    enum csv_result result;
    struct csv csv;
    size_t n = 0;

    csv_init(&csv, piece_read, piece);
    csv.delimiter = of->delimiter;
    (void)csv_next(&csv, &record);
    while (n < PIECE_RECORDS) {
        result = csv_next(&csv, &record);
        if (result == CSV_END || result == CSV_FAILED || csv.offset >= piece->size)
            break;
        if (result == CSV_BAD || record.count != of->field_count) {
            n = 0;
            break;
        }
        out[n++] = import_record_copy(c, &record);
    }
    csv_release(&csv);
    return n;
}

/* piece->data[-1] is there, and is overwritten. */
static size_t read_csv_piece(struct ctx *c, const struct import_sample_of *of, struct piece piece,
                             struct csv_record *out)
{
    struct piece inside = {piece.data - 1, piece.size + 1, 0};
    size_t n = read_csv(c, of, &piece, out);

    if (n)
        return n;
    inside.data[0] = '"';
    return read_csv(c, of, &inside, out);
}

static size_t read_json_piece(struct ctx *c, struct record_reader *r, struct piece piece,
                              struct csv_record *out)
{
    char *end = piece.data + piece.size, *p = memchr(piece.data, '\n', piece.size), *next;
    size_t n = 0;

    for (; p && n < PIECE_RECORDS && (next = memchr(p + 1, '\n', (size_t)(end - p - 1)));
         p = next) {
        struct csv_record record = {.fields = r->fields, .size = (size_t)(next - p)};

        if (next - p < 3 || !record_parse_json(r, p + 1, next))
            continue;
        record.count = r->column_count;
        out[n++] = import_record_copy(c, &record);
    }
    return n;
}

static size_t read_at(int fd, uint64_t offset, char *data, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = pread(fd, data + have, size - have, (off_t)(offset + have));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

size_t import_sample_read(struct ctx *c, const struct import_sample_of *of, struct csv_record *out)
{
    uint64_t whole = of->to - of->from, span = whole > PIECE_BYTES ? whole - PIECE_BYTES : 0;
    size_t count = 0, places = whole / PIECE_BYTES < PLACES ? whole / PIECE_BYTES + 1 : PLACES;
    char *data = mem_alloc(PIECE_BYTES + 1);

    for (size_t i = 0; i < places && (!of->json || count * of->json->column_count < FIELDS_MAX);
         i++) {
        struct piece piece = {.data = data + 1};

        piece.size =
            read_at(of->fd, of->from + (i ? span * i / (places - 1) : 0), piece.data, PIECE_BYTES);
        count += of->json ? read_json_piece(c, of->json, piece, out + count)
                          : read_csv_piece(c, of, piece, out + count);
    }
    mem_free(data);
    return count;
}

/* PlainBuffer.
 *
 * The checksum of a cell runs over name, bare value, timestamp and then the type byte, although the
 * type stands before the timestamp. So the value before the type byte is fed is just what struct
 * wr_cell calls crc8: it is kept for puts, stored with the cell and written out again with it, and
 * a cell is never summed again on its way out. */
#include "wire/plain.h"

#include "base/crc8.h"

#include <math.h>

#define HEADER 0x75

enum tag {
    TAG_ROW_PK = 0x01,
    TAG_ROW_DATA = 0x02,
    TAG_CELL = 0x03,
    TAG_CELL_NAME = 0x04,
    TAG_CELL_VALUE = 0x05,
    TAG_CELL_TYPE = 0x06,
    TAG_CELL_TIMESTAMP = 0x07,
    TAG_DELETE_ROW_MARKER = 0x08,
    TAG_ROW_CHECKSUM = 0x09,
    TAG_CELL_CHECKSUM = 0x0A,
    TAG_EXTENSION = 0x0B,
    TAG_SEQUENCE = 0x0C,
    TAG_SEQUENCE_EPOCH = 0x0D,
    TAG_SEQUENCE_TIME = 0x0E,
    TAG_SEQUENCE_ROW = 0x0F,
};

#define SEQUENCE_BYTES (5 + 9 + 5)           /* three fields */
#define EXTENSION_BYTES (5 + SEQUENCE_BYTES) /* behind the extension's length */
#define EXTENSION_BYTES_ALL (5 + EXTENSION_BYTES)

/* Inlined, so that what is the same in all calls is known there. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static const char text_short[] = "Input encoded PK broken, length is shorter than expect.";
static const char text_form[] = "data format is invalid.";

/* ---- types */

/* The type byte of each wr_type up to WR_JSON. */
static const uint8_t scalar_types[] = {
    [WR_NULL] = VT_NULL,        [WR_BOOLEAN] = VT_BOOLEAN,   [WR_TINYINT] = VT_INTEGER,
    [WR_SMALLINT] = VT_INTEGER, [WR_INTEGER] = VT_INTEGER,   [WR_BIGINT] = VT_INTEGER,
    [WR_UBIGINT] = VT_INTEGER,  [WR_FLOAT] = VT_DOUBLE,      [WR_DOUBLE] = VT_DOUBLE,
    [WR_DECIMAL] = VT_STRING,   [WR_VARCHAR] = VT_STRING,    [WR_CHAR] = VT_STRING,
    [WR_BINARY] = VT_BLOB,      [WR_VARBINARY] = VT_BLOB,    [WR_DATE] = VT_INTEGER,
    [WR_TIME] = VT_INTEGER,     [WR_TIMESTAMP] = VT_INTEGER, [WR_JSON] = VT_STRING,
};

static inline enum plain_type type_of(enum wr_type type)
{
    if (PORT_LIKELY((size_t)type < PORT_COUNT(scalar_types)))
        return (enum plain_type)scalar_types[type];
    switch (type) {
    case WR_INF_MIN:
        return VT_INF_MIN;
    case WR_INF_MAX:
        return VT_INF_MAX;
    case WR_AUTO_INCREMENT:
        return VT_AUTO_INCREMENT;
    default:
        return VT_NULL;
    }
}

enum plain_type plain_type_of(enum wr_type type)
{
    return type_of(type);
}

/* True for the types whose cell checksum the database keeps as PlainBuffer counts it. */
static bool type_is_native(enum wr_type type)
{
    return type == WR_VARCHAR || type == WR_BIGINT || type == WR_VARBINARY || type == WR_DOUBLE ||
           type == WR_BOOLEAN;
}

/* ---- bare values */

static const char *parse_fixed(bytes in, struct wr_value *out)
{
    const uint8_t *p = bytes_u8(in);
    uint64_t bits;

    if (in.len != 9)
        return in.len < 9 ? text_short : text_form;
    bits = load_u64(p + 1);
    if (p[0] == VT_INTEGER) {
        out->type = WR_BIGINT;
        out->integer = (int64_t)bits;
        return NULL;
    }
    out->type = WR_DOUBLE;
    memcpy(&out->real, &bits, 8);
    return isfinite(out->real) ? NULL : "NaN and Infinity are not allowed as a DOUBLE value.";
}

static const char *parse_counted(bytes in, struct wr_value *out)
{
    const uint8_t *p = bytes_u8(in);
    size_t n;

    if (in.len < 5)
        return text_short;
    n = load_u32(p + 1);
    if (n != in.len - 5)
        return n > in.len - 5 ? text_short : text_form;
    out->type = p[0] == VT_STRING ? WR_VARCHAR : WR_VARBINARY;
    out->bytes = bytes_of(p + 5, n);
    return NULL;
}

static const char *parse_boolean(bytes in, struct wr_value *out)
{
    const uint8_t *p = bytes_u8(in);

    if (in.len < 2)
        return text_short;
    if (in.len != 2 || p[1] > 1)
        return text_form;
    out->type = WR_BOOLEAN;
    out->boolean = p[1];
    return NULL;
}

static const char *parse_placeholder(bytes in, enum wr_type type, struct wr_value *out)
{
    if (in.len != 1)
        return text_form;
    out->type = type;
    return NULL;
}

/* Reads a bare value that fills `in`. Returns NULL, or what is wrong. */
static const char *parse_value(bytes in, struct wr_value *out)
{
    if (in.len == 0)
        return text_short;
    switch (*bytes_u8(in)) {
    case VT_STRING:
    case VT_BLOB:
        return parse_counted(in, out);
    case VT_INTEGER:
    case VT_DOUBLE:
        return parse_fixed(in, out);
    case VT_BOOLEAN:
        return parse_boolean(in, out);
    case VT_INF_MIN:
        return parse_placeholder(in, WR_INF_MIN, out);
    case VT_INF_MAX:
        return parse_placeholder(in, WR_INF_MAX, out);
    case VT_AUTO_INCREMENT:
        return parse_placeholder(in, WR_AUTO_INCREMENT, out);
    default:
        return text_form;
    }
}

int plain_decode_value(struct ctx *c, bytes in, struct wr_value *out)
{
    const char *text;

    *out = (struct wr_value){0};
    text = parse_value(in, out);
    return text ? fail(c, E_PARAMETER, "%s", text) : 0;
}

static inline bool is_counted(enum plain_type type)
{
    return type == VT_STRING || type == VT_BLOB;
}

/* Bytes of a bare value that is not counted, its type byte included. */
static const uint8_t fixed_sizes[] = {
    [VT_INTEGER] = 9, [VT_DOUBLE] = 9,  [VT_BOOLEAN] = 2,        [VT_NULL] = 1,
    [VT_INF_MIN] = 1, [VT_INF_MAX] = 1, [VT_AUTO_INCREMENT] = 1,
};

static inline size_t bare_size(const struct wr_value *v)
{
    enum plain_type type = type_of(v->type);

    return PORT_LIKELY(is_counted(type)) ? 5 + v->bytes.len : fixed_sizes[type];
}

size_t plain_value_size(const struct wr_value *v)
{
    return bare_size(v);
}

static inline uint8_t *put_bytes(uint8_t *p, bytes b)
{
    bytes_copy(p, b.ptr, b.len);
    return p + b.len;
}

static inline uint8_t *put_bare(uint8_t *p, const struct wr_value *v)
{
    enum plain_type type = type_of(v->type);

    *p++ = (uint8_t)type;
    if (PORT_LIKELY(is_counted(type))) {
        store_u32(p, (uint32_t)v->bytes.len);
        return put_bytes(p + 4, v->bytes);
    }
    if (type == VT_INTEGER || type == VT_DOUBLE) {
        uint64_t bits = (uint64_t)v->integer;

        if (type == VT_DOUBLE)
            memcpy(&bits, &v->real, 8);
        store_u64(p, bits);
    } else if (type == VT_BOOLEAN) {
        *p = v->boolean;
    }
    return p + fixed_sizes[type] - 1;
}

uint8_t *plain_put_value(uint8_t *p, const struct wr_value *v)
{
    return put_bare(p, v);
}

/* ---- reading rows */

static int fail_short(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", text_short);
}

static int plain_fail_form(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", text_form);
}

/* Which operation a type byte asks for; false if it is none. */
static bool op_of(uint8_t type, enum wr_cell_op *op)
{
    *op = (enum wr_cell_op)type;
    return type == WR_CELL_DELETE_ALL || type == WR_CELL_DELETE_ONE || type == WR_CELL_INCREMENT;
}

/* What a cell must have beside its name, once it was read. */
static int check_cell(struct ctx *c, const struct wr_cell *cell, bool has_value, bool has_stamp)
{
    bool deletes = cell->op == WR_CELL_DELETE_ALL || cell->op == WR_CELL_DELETE_ONE;

    if (!has_value && !deletes)
        return plain_fail_form(c);
    /* The structs use this one value for "no timestamp", so it must not slip through. */
    if (has_stamp && cell->timestamp_ms == WR_TIMESTAMP_NONE)
        return fail(c, E_PARAMETER, "Timestamp must be in range [0, INT64_MAX/1000).");
    return 0;
}

/* Reads a cell whose tag was read. *sum is its checksum as it stands in the row. */
static int plain_read_cell(struct ctx *c, struct reader *r, struct wr_cell *cell, uint8_t *sum)
{
    bool has_value, has_type, has_stamp;
    uint8_t tag, type = 0, crc;

    *cell = (struct wr_cell){.timestamp_ms = WR_TIMESTAMP_NONE};
    if (read_u8(r) != TAG_CELL_NAME)
        return r->bad ? fail_short(c) : plain_fail_form(c);
    cell->name = read_bytes(r, read_u32(r));
    crc = crc8(0, cell->name.ptr, cell->name.len);
    tag = read_u8(r);
    has_value = tag == TAG_CELL_VALUE;
    if (has_value) {
        bytes value = read_bytes(r, read_u32(r));
        const char *text = parse_value(value, &cell->value);

        if (text)
            return fail(c, E_PARAMETER, "%s", text);
        crc = crc8(crc, value.ptr, value.len);
        tag = read_u8(r);
    }
    has_type = tag == TAG_CELL_TYPE;
    if (has_type) {
        type = read_u8(r);
        tag = read_u8(r);
    }
    has_stamp = tag == TAG_CELL_TIMESTAMP;
    if (has_stamp) {
        cell->timestamp_ms = (int64_t)read_u64(r);
        crc = crc8_u64(crc, (uint64_t)cell->timestamp_ms);
        tag = read_u8(r);
    }
    cell->crc8 = crc;
    cell->crc8_known = !has_type;
    if (has_type)
        crc = crc8_byte(crc, type);
    *sum = read_u8(r);
    if (r->bad)
        return fail_short(c);
    if (tag != TAG_CELL_CHECKSUM || (has_type && !op_of(type, &cell->op)))
        return plain_fail_form(c);
    if (*sum != crc)
        return fail(c, E_PARAMETER,
                    "Cell data broken, checksum is mismatch, actual: %u, expect: %u.", *sum, crc);
    return check_cell(c, cell, has_value, has_stamp);
}

/* Makes room for one more item; arrays double, so at most half of the memory is given up. */
static int plain_grow(struct ctx *c, void **items, size_t *capacity, size_t count,
                      size_t item_bytes, size_t first)
{
    size_t want = *capacity ? *capacity * 2 : first;
    void *p;

    if (PORT_LIKELY(count < *capacity))
        return 0;
    p = arena_try_alloc(&c->arena, want * item_bytes);
    if (!p)
        return fail_code(c, E_MEMORY);
    if (count)
        memcpy(p, *items, count * item_bytes);
    *items = p;
    *capacity = want;
    return 0;
}

/* Reads key columns; *tag is the tag of the first and then what follows the last. */
static int read_key_cells(struct ctx *c, struct reader *r, uint8_t *tag, struct wr_key *key,
                          uint8_t *crc)
{
    void *columns = NULL;
    size_t capacity = 0, n = 0;

    for (; *tag == TAG_CELL; n++) {
        struct wr_cell cell;
        uint8_t sum;

        TRY(plain_grow(c, &columns, &capacity, n, sizeof(struct wr_key_column), 4));
        TRY(plain_read_cell(c, r, &cell, &sum));
        if (cell.op != WR_CELL_PUT || cell.timestamp_ms != WR_TIMESTAMP_NONE)
            return plain_fail_form(c);
        ((struct wr_key_column *)columns)[n] = (struct wr_key_column){cell.name, cell.value};
        *crc = crc8_byte(*crc, sum);
        *tag = read_u8(r);
    }
    key->columns = columns;
    key->count = n;
    return 0;
}

static int read_data_cells(struct ctx *c, struct reader *r, uint8_t *tag, struct wr_row *row,
                           uint8_t *crc)
{
    size_t guess = reader_left(r) / 64 + 2;
    void *cells = NULL;
    size_t capacity = 0, n = 0;

    if (guess > 64)
        guess = 64;
    for (; *tag == TAG_CELL; n++) {
        uint8_t sum;

        TRY(plain_grow(c, &cells, &capacity, n, sizeof(struct wr_cell), guess));
        TRY(plain_read_cell(c, r, (struct wr_cell *)cells + n, &sum));
        *crc = crc8_byte(*crc, sum);
        *tag = read_u8(r);
    }
    row->cells = cells;
    row->cell_count = n;
    return 0;
}

/* Reads an extension whose tag was read. It has one form. */
static int read_extension(struct ctx *c, struct reader *r, struct plain_sequence *at)
{
    bool whole = read_u32(r) == EXTENSION_BYTES && read_u8(r) == TAG_SEQUENCE &&
                 read_u32(r) == SEQUENCE_BYTES && read_u8(r) == TAG_SEQUENCE_EPOCH;

    at->epoch = (int32_t)read_u32(r);
    whole = whole && read_u8(r) == TAG_SEQUENCE_TIME;
    at->timestamp_us = (int64_t)read_u64(r);
    whole = whole && read_u8(r) == TAG_SEQUENCE_ROW;
    at->row_index = (int32_t)read_u32(r);
    if (r->bad)
        return fail_short(c);
    return whole ? 0 : plain_fail_form(c);
}

/* Reads a row, its checksum included, and the extension that a record has: `at` is NULL where there
 * must be none. */
static int plain_read_row(struct ctx *c, struct reader *r, struct wr_row *row, bool *has_key,
                          bool *deleted, struct plain_sequence *at)
{
    uint8_t tag = read_u8(r), crc = 0, sum;

    *row = (struct wr_row){0};
    *has_key = tag == TAG_ROW_PK;
    if (*has_key) {
        tag = read_u8(r);
        TRY(read_key_cells(c, r, &tag, &row->key, &crc));
    }
    if (tag == TAG_ROW_DATA) {
        tag = read_u8(r);
        TRY(read_data_cells(c, r, &tag, row, &crc));
    }
    *deleted = tag == TAG_DELETE_ROW_MARKER;
    if (*deleted)
        tag = read_u8(r);
    if (at && tag == TAG_EXTENSION) {
        TRY(read_extension(c, r, at));
        tag = read_u8(r);
    }
    if (r->bad)
        return fail(c, E_PARAMETER, "Invalid row: missing checksum.");
    if (tag != TAG_ROW_CHECKSUM)
        return plain_fail_form(c);
    sum = read_u8(r);
    if (r->bad)
        return fail_short(c);
    crc = crc8_byte(crc, *deleted);
    if (sum != crc)
        return fail(c, E_PARAMETER, "Invalid row: checksum is mismatch, actual: %u, expect: %u.",
                    sum, crc);
    return 0;
}

static int plain_read_header(struct ctx *c, struct reader *r)
{
    uint32_t header = read_u32(r);

    if (r->bad)
        return fail_short(c);
    if (header != HEADER)
        return fail(c, E_PARAMETER, "Cell data broken, mismatch header, actual: %u, expect: %u.",
                    header, HEADER);
    return 0;
}

/* Some clients size their buffers too large and send the rest as zeros; nothing else may follow. */
static int check_padding(struct ctx *c, const struct reader *r)
{
    for (const uint8_t *p = r->at; p < r->end; p++)
        if (*p)
            return plain_fail_form(c);
    return 0;
}

static int decode_one(struct ctx *c, bytes in, struct wr_row *row, bool *deleted,
                      struct plain_sequence *at)
{
    struct reader r = reader_of(in);
    bool has_key;

    TRY(plain_read_header(c, &r));
    TRY(plain_read_row(c, &r, row, &has_key, deleted, at));
    if (!has_key)
        return plain_fail_form(c);
    return check_padding(c, &r);
}

int plain_decode_key(struct ctx *c, bytes in, struct wr_key *out)
{
    struct wr_row row;
    bool deleted;

    TRY(decode_one(c, in, &row, &deleted, NULL));
    if (deleted || row.cell_count)
        return plain_fail_form(c);
    *out = row.key;
    return 0;
}

int plain_decode_change(struct ctx *c, bytes in, enum wr_change_type type, struct wr_row *out)
{
    bool deleted;

    TRY(decode_one(c, in, out, &deleted, NULL));
    if (type == WR_DELETE && !deleted)
        return fail(c, E_PARAMETER, "Invalid delete row request: missing delete marker.");
    if (type != WR_DELETE && deleted)
        return fail(c, E_PARAMETER, "Invalid row: unexpected delete marker.");
    return 0;
}

int plain_decode_record(struct ctx *c, bytes in, struct wr_row *out, struct plain_sequence *at)
{
    bool deleted;

    *at = (struct plain_sequence){0};
    return decode_one(c, in, out, &deleted, at);
}

int plain_decode_rows(struct ctx *c, bytes in, const struct wr_row **rows, size_t *count)
{
    struct reader r = reader_of(in);
    void *items = NULL;
    size_t capacity = 0, n = 0;

    if (in.len)
        TRY(plain_read_header(c, &r));
    for (; r.at < r.end; n++) {
        bool has_key, deleted;

        TRY(plain_grow(c, &items, &capacity, n, sizeof(struct wr_row), 4));
        TRY(plain_read_row(c, &r, (struct wr_row *)items + n, &has_key, &deleted, NULL));
    }
    *rows = items;
    *count = n;
    return 0;
}

/* ---- writing rows */

/* A cell without type and timestamp: tags, lengths and the checksum take 13 bytes. */
static inline size_t cell_size(bytes name, const struct wr_value *value)
{
    return 13 + name.len + bare_size(value);
}

static inline uint8_t *put_name(uint8_t *p, bytes name)
{
    *p++ = TAG_CELL;
    *p++ = TAG_CELL_NAME;
    store_u32(p, (uint32_t)name.len);
    return put_bytes(p + 4, name);
}

/* *value is where the bare value stands then. Texts have lines of their own, which read nothing of
 * the value between their stores: these may be stores to it for all that the compiler knows. */
static inline uint8_t *put_cell_value(uint8_t *p, const struct wr_value *v, uint8_t **value)
{
    enum plain_type type = type_of(v->type);
    bytes text = v->bytes;

    *value = p + 5;
    *p = TAG_CELL_VALUE;
    if (PORT_LIKELY(is_counted(type))) {
        store_u32(p + 1, 5 + (uint32_t)text.len);
        p[5] = (uint8_t)type;
        store_u32(p + 6, (uint32_t)text.len);
        return put_bytes(p + 10, text);
    }
    store_u32(p + 1, fixed_sizes[type]);
    return put_bare(p + 5, v);
}

static inline uint8_t *put_stamp(uint8_t *p, int64_t timestamp_ms)
{
    *p = TAG_CELL_TIMESTAMP;
    store_u64(p + 1, (uint64_t)timestamp_ms);
    return p + 9;
}

static uint8_t *put_sum(uint8_t *p, enum tag tag, uint8_t sum)
{
    p[0] = (uint8_t)tag;
    p[1] = sum;
    return p + 2;
}

static size_t key_size(const struct wr_key *key, uint32_t mask)
{
    size_t n = 0;

    for (size_t i = 0; i < key->count; i++)
        if (i >= 32 || mask >> i & 1)
            n += cell_size(key->columns[i].name, &key->columns[i].value);
    return n ? n + 1 : 0;
}

/* A cell takes at most so many bytes beside its name and its text, and enough are left behind it
 * for what ends a row. */
#define CELL_ROOM 48

/* True: a cell fits in front of `end`; NULL stands for room that was made for all. */
static inline bool has_room(const uint8_t *p, const uint8_t *end, bytes name,
                            const struct wr_value *v)
{
    size_t text = is_counted(type_of(v->type)) ? v->bytes.len : 0;

    return !end || name.len + text + CELL_ROOM <= (size_t)(end - p);
}

/* NULL: it might not fit in front of `end`. */
ALWAYS_INLINE uint8_t *put_key(uint8_t *p, const uint8_t *end, const struct wr_key *key,
                               uint32_t mask, uint8_t *row_crc)
{
    uint8_t *start = p++;

    for (size_t i = 0; i < key->count; i++) {
        const struct wr_key_column *column = &key->columns[i];
        bytes name = column->name;
        uint8_t *value, sum;

        if (i < 32 && !(mask >> i & 1))
            continue;
        if (PORT_UNLIKELY(!has_room(p, end, name, &column->value)))
            return NULL;
        p = put_name(p, name);
        p = put_cell_value(p, &column->value, &value);
        sum = crc8(crc8_short(0, name.ptr, name.len), value, (size_t)(p - value));
        p = put_sum(p, TAG_CELL_CHECKSUM, sum);
        *row_crc = crc8_byte(*row_crc, sum);
    }
    if (p == start + 1)
        return start;
    *start = TAG_ROW_PK;
    return p;
}

static uint8_t *plain_put_key(uint8_t *p, const struct wr_key *key, uint8_t *row_crc)
{
    return put_key(p, NULL, key, PLAIN_KEY_ALL, row_crc);
}

uint8_t *plain_put_header(uint8_t *p)
{
    store_u32(p, HEADER);
    return p + PLAIN_HEADER_BYTES;
}

size_t plain_row_size(const struct wr_row *row, uint32_t key_mask)
{
    size_t n = key_size(&row->key, key_mask) + 2;

    if (row->cell_count)
        n++;
    for (size_t i = 0; i < row->cell_count; i++)
        n += cell_size(row->cells[i].name, &row->cells[i].value) + 9;
    return n;
}

/* NULL: it might not fit in front of `end`. */
ALWAYS_INLINE uint8_t *put_row(uint8_t *p, const uint8_t *end, const struct wr_row *row,
                               uint32_t key_mask)
{
    uint8_t row_crc = 0;

    if (PORT_UNLIKELY(end && end - p < CELL_ROOM))
        return NULL;
    p = put_key(p, end, &row->key, key_mask, &row_crc);
    if (PORT_UNLIKELY(end && !p))
        return NULL;
    if (row->cell_count)
        *p++ = TAG_ROW_DATA;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        int64_t timestamp_ms = cell->timestamp_ms;
        uint8_t *value, sum = cell->crc8;
        bytes name = cell->name;

        if (PORT_UNLIKELY(!has_room(p, end, name, &cell->value)))
            return NULL;
        p = put_name(p, name);
        p = put_cell_value(p, &cell->value, &value);
        if (PORT_UNLIKELY(!type_is_native(cell->value.type))) {
            sum = crc8(crc8(0, name.ptr, name.len), value, (size_t)(p - value));
            sum = crc8_u64(sum, (uint64_t)timestamp_ms);
        }
        p = put_stamp(p, timestamp_ms);
        p = put_sum(p, TAG_CELL_CHECKSUM, sum);
        row_crc = crc8_byte(row_crc, sum);
    }
    return put_sum(p, TAG_ROW_CHECKSUM, crc8_byte(row_crc, 0));
}

uint8_t *plain_put_row(uint8_t *p, const struct wr_row *row, uint32_t key_mask)
{
    return put_row(p, NULL, row, key_mask);
}

uint8_t *plain_try_row(uint8_t *p, const uint8_t *end, const struct wr_row *row, uint32_t key_mask)
{
    return put_row(p, end, row, key_mask);
}

/* ---- writing changes */

static bool cell_has_value(const struct wr_cell *cell)
{
    return cell->op == WR_CELL_PUT || cell->op == WR_CELL_INCREMENT;
}

static size_t change_cell_size(const struct wr_cell *cell)
{
    return 8 + cell->name.len + (cell_has_value(cell) ? 5 + plain_value_size(&cell->value) : 0) +
           (cell->op == WR_CELL_PUT ? 0 : 2) + (cell->timestamp_ms == WR_TIMESTAMP_NONE ? 0 : 9);
}

static uint8_t *put_change_cell(uint8_t *p, const struct wr_cell *cell, uint8_t *sum)
{
    uint8_t crc = crc8(0, cell->name.ptr, cell->name.len);

    p = put_name(p, cell->name);
    if (cell_has_value(cell)) {
        uint8_t *value;

        p = put_cell_value(p, &cell->value, &value);
        crc = crc8(crc, value, (size_t)(p - value));
    }
    if (cell->op != WR_CELL_PUT) {
        *p++ = TAG_CELL_TYPE;
        *p++ = (uint8_t)cell->op;
    }
    if (cell->timestamp_ms != WR_TIMESTAMP_NONE) {
        p = put_stamp(p, cell->timestamp_ms);
        crc = crc8_u64(crc, (uint64_t)cell->timestamp_ms);
    }
    if (cell->op != WR_CELL_PUT)
        crc = crc8_byte(crc, (uint8_t)cell->op);
    *sum = crc;
    return put_sum(p, TAG_CELL_CHECKSUM, crc);
}

size_t plain_change_size(const struct wr_row *row, enum wr_change_type type)
{
    size_t n = key_size(&row->key, PLAIN_KEY_ALL) + 2;

    if (type == WR_DELETE)
        return n + 1;
    if (row->cell_count)
        n++;
    for (size_t i = 0; i < row->cell_count; i++)
        n += change_cell_size(&row->cells[i]);
    return n;
}

static uint8_t *put_change_cells(uint8_t *p, const struct wr_row *row, uint8_t *row_crc)
{
    uint8_t sum;

    if (row->cell_count)
        *p++ = TAG_ROW_DATA;
    for (size_t i = 0; i < row->cell_count; i++) {
        p = put_change_cell(p, &row->cells[i], &sum);
        *row_crc = crc8_byte(*row_crc, sum);
    }
    return p;
}

uint8_t *plain_put_change(uint8_t *p, const struct wr_row *row, enum wr_change_type type)
{
    uint8_t row_crc = 0;

    p = plain_put_key(p, &row->key, &row_crc);
    if (type == WR_DELETE) {
        *p++ = TAG_DELETE_ROW_MARKER;
        return put_sum(p, TAG_ROW_CHECKSUM, crc8_byte(row_crc, 1));
    }
    p = put_change_cells(p, row, &row_crc);
    return put_sum(p, TAG_ROW_CHECKSUM, crc8_byte(row_crc, 0));
}

/* ---- writing records */

size_t plain_old_cells_size(const struct wr_row *row)
{
    return 1 + plain_change_size(row, WR_PUT);
}

uint8_t *plain_put_old_cells(uint8_t *p, const struct wr_row *row)
{
    *p++ = TAG_ROW_PK;
    return plain_put_change(p, row, WR_PUT);
}

size_t plain_record_size(const struct wr_row *row)
{
    return plain_change_size(row, WR_PUT) + EXTENSION_BYTES_ALL;
}

static uint8_t *put_u32(uint8_t *p, enum tag tag, uint32_t v)
{
    *p = (uint8_t)tag;
    store_u32(p + 1, v);
    return p + 5;
}

uint8_t *plain_put_record(uint8_t *p, const struct wr_row *row, const struct plain_sequence *at)
{
    uint8_t row_crc = 0;

    p = plain_put_key(p, &row->key, &row_crc);
    p = put_change_cells(p, row, &row_crc);
    p = put_u32(p, TAG_EXTENSION, EXTENSION_BYTES);
    p = put_u32(p, TAG_SEQUENCE, SEQUENCE_BYTES);
    p = put_u32(p, TAG_SEQUENCE_EPOCH, (uint32_t)at->epoch);
    *p = TAG_SEQUENCE_TIME;
    store_u64(p + 1, (uint64_t)at->timestamp_us);
    p = put_u32(p + 9, TAG_SEQUENCE_ROW, (uint32_t)at->row_index);
    return put_sum(p, TAG_ROW_CHECKSUM, crc8_byte(row_crc, 0));
}

/* ---- whole buffers */

bytes plain_encode_key(struct arena *a, const struct wr_key *key)
{
    struct wr_row row = {.key = *key};
    size_t n = PLAIN_HEADER_BYTES + plain_row_size(&row, PLAIN_KEY_ALL);
    uint8_t *p = arena_alloc(a, n);

    plain_put_row(plain_put_header(p), &row, PLAIN_KEY_ALL);
    return bytes_of(p, n);
}

bytes plain_encode_value(struct arena *a, const struct wr_value *v)
{
    size_t n = plain_value_size(v);
    uint8_t *p = arena_alloc(a, n);

    plain_put_value(p, v);
    return bytes_of(p, n);
}

/* SimpleRowMatrix: a header with offsets, the field names, two options, the rows and a checksum
 * over all of it. Offsets count from the start of the block. */
#include "wire/matrix.h"

#include "base/bytes_short.h"
#include "base/crc8.h"
#include "wire/plain.h"

#define MAGIC 0x304D5253u
#define HEAD_BYTES 20
#define OPTION_BYTES 7

enum tag {
    TAG_CHECKSUM = 0x01,
    TAG_ROW = 0x02,
    TAG_ROW_COUNT = 0x03,
    TAG_ENTIRE_KEY = 0x0A,
};

static const struct wr_value missing = {.type = WR_NULL};

/* ---- writing */

static const struct wr_value *key_value(const struct wr_key *key, bytes name, size_t likely)
{
    if (likely < key->count && bytes_equal_short(key->columns[likely].name, name))
        return &key->columns[likely].value;
    for (size_t i = 0; i < key->count; i++)
        if (bytes_equal(key->columns[i].name, name))
            return &key->columns[i].value;
    return &missing;
}

/* The number of the first cell of a column, which is its newest version, since cells are sorted by
 * name and then newest first; the number of cells: there is none. */
static size_t find_cell(const struct wr_row *row, bytes name)
{
    size_t low = 0, high = row->cell_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (bytes_compare(row->cells[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->cell_count && bytes_equal(row->cells[low].name, name) ? low : row->cell_count;
}

/* The newest version of a column. *next is where it stands if the row has one of each column, and
 * moves behind it: in front of there are cells of other columns only. */
static const struct wr_value *cell_value(const struct wr_row *row, bytes name, size_t *next)
{
    size_t at = *next;

    if (at == row->cell_count || !bytes_equal_short(row->cells[at].name, name))
        at = find_cell(row, name);
    if (at == row->cell_count)
        return &missing;
    *next = at + 1;
    return &row->cells[at].value;
}

static size_t names_size(const bytes *names, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += 2 + names[i].len;
    return n;
}

static void matrix_put_names(struct buf *b, const bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_put_u8(b, (uint8_t)names[i].len);
        buf_put_u8(b, (uint8_t)(names[i].len >> 8));
        buf_put_bytes(b, names[i]);
    }
}

size_t matrix_head_size(const struct matrix_fields *fields)
{
    return HEAD_BYTES + names_size(fields->keys, fields->key_count) +
           names_size(fields->columns, fields->column_count) + OPTION_BYTES;
}

void matrix_begin(struct buf *b, const struct matrix_fields *fields)
{
    size_t n = matrix_head_size(fields);
    uint8_t *head = buf_reserve(b, n);

    store_u32(head, MAGIC);
    store_u32(head + 4, (uint32_t)n);
    store_u32(head + 8, (uint32_t)(n - OPTION_BYTES));
    store_u32(head + 12, (uint32_t)fields->key_count);
    store_u32(head + 16, (uint32_t)fields->column_count);
    buf_commit(b, HEAD_BYTES);
    matrix_put_names(b, fields->keys, fields->key_count);
    matrix_put_names(b, fields->columns, fields->column_count);
    buf_put_u8(b, TAG_ENTIRE_KEY);
    buf_put_u8(b, fields->entire);
    buf_put_u8(b, TAG_ROW_COUNT);
    buf_put_u32(b, 0);
}

size_t matrix_row_room(const struct matrix_fields *fields, const struct wr_row *row)
{
    size_t n = 1 + fields->key_count + fields->column_count; /* as if all were missing */

    for (size_t i = 0; i < row->key.count; i++)
        n += plain_value_size(&row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++)
        n += plain_value_size(&row->cells[i].value);
    return n;
}

void matrix_put_row(struct buf *b, const struct matrix_fields *fields, const struct wr_row *row)
{
    uint8_t *start = b->data + b->len, *p = start;
    size_t next = 0;

    *p++ = TAG_ROW;
    for (size_t i = 0; i < fields->key_count; i++)
        p = plain_put_value(p, key_value(&row->key, fields->keys[i], i));
    for (size_t i = 0; i < fields->column_count; i++)
        p = plain_put_value(p, cell_value(row, fields->columns[i], &next));
    buf_commit(b, (size_t)(p - start));
}

void matrix_end(struct buf *b, size_t start, size_t row_count)
{
    uint8_t *block = b->data + start;

    store_u32(block + load_u32(block + 4) - 4, (uint32_t)row_count);
    buf_put_u8(b, TAG_CHECKSUM);
    block = b->data + start;
    buf_put_u8(b, crc8(0, block, b->len - start));
}

bytes matrix_encode(struct ctx *c, const struct matrix_fields *fields, const struct wr_row *rows,
                    size_t row_count)
{
    struct buf b;

    buf_init(&b, &c->arena, 256 + row_count * (fields->key_count + fields->column_count) * 16);
    matrix_begin(&b, fields);
    for (size_t i = 0; i < row_count; i++) {
        buf_reserve(&b, matrix_row_room(fields, &rows[i]));
        matrix_put_row(&b, fields, &rows[i]);
    }
    matrix_end(&b, 0, row_count);
    return buf_bytes(&b);
}

/* ---- reading */

static int matrix_fail_form(struct ctx *c)
{
    return fail(c, E_PARAMETER, "data format is invalid.");
}

/* Memory for n things, n from outside. */
static int array(struct ctx *c, size_t n, size_t item_bytes, void **out)
{
    *out = arena_try_alloc(&c->arena, n * item_bytes + 1);
    return *out ? 0 : fail_code(c, E_MEMORY);
}

/* How many bytes the bare value at `r` has; 0 if it is cut short. */
static size_t matrix_value_bytes(const struct reader *r)
{
    size_t left = reader_left(r), n = 1;

    if (left == 0)
        return 0;
    switch (*r->at) {
    case VT_INTEGER:
    case VT_DOUBLE:
        n = 9;
        break;
    case VT_BOOLEAN:
        n = 2;
        break;
    case VT_STRING:
    case VT_BLOB:
        n = left < 5 ? 5 : 5 + (size_t)load_u32(r->at + 1);
        break;
    default:
        break;
    }
    return n <= left ? n : 0;
}

/* *there says whether the row has the field. */
static int matrix_read_value(struct ctx *c, struct reader *r, struct wr_value *out, bool *there)
{
    size_t n = matrix_value_bytes(r);

    if (n == 0)
        return matrix_fail_form(c);
    *there = *r->at != VT_NULL;
    if (*there)
        TRY(plain_decode_value(c, bytes_of(r->at, n), out));
    r->at += n;
    return 0;
}

static int read_matrix_row(struct ctx *c, struct reader *r, const bytes *names, size_t key_count,
                           size_t column_count, struct wr_row *row)
{
    struct wr_key_column *key;
    struct wr_cell *cells;
    size_t n = 0;
    bool there;
    void *p;

    if (read_u8(r) != TAG_ROW)
        return matrix_fail_form(c);
    TRY(array(c, key_count, sizeof(*key), &p));
    key = p;
    TRY(array(c, column_count, sizeof(*cells), &p));
    cells = p;
    for (size_t i = 0; i < key_count; i++) {
        key[i] = (struct wr_key_column){.name = names[i]};
        TRY(matrix_read_value(c, r, &key[i].value, &there));
        if (!there)
            return matrix_fail_form(c);
    }
    for (size_t i = 0; i < column_count; i++) {
        cells[n] =
            (struct wr_cell){.name = names[key_count + i], .timestamp_ms = WR_TIMESTAMP_NONE};
        TRY(matrix_read_value(c, r, &cells[n].value, &there));
        n += there;
    }
    *row = (struct wr_row){{key, key_count}, cells, n};
    return 0;
}

/* What the head says, checked against the size of the block. */
struct frame {
    size_t data, option, key_count, column_count;
};

static int read_frame(struct ctx *c, bytes in, struct frame *out)
{
    const uint8_t *p = bytes_u8(in);

    if (in.len < HEAD_BYTES + OPTION_BYTES + 2 || load_u32(p) != MAGIC)
        return matrix_fail_form(c);
    if (p[in.len - 2] != TAG_CHECKSUM || p[in.len - 1] != crc8(0, p, in.len - 1))
        return fail(c, E_PARAMETER, "Row matrix broken, checksum is mismatch.");
    *out = (struct frame){load_u32(p + 4), load_u32(p + 8), load_u32(p + 12), load_u32(p + 16)};
    /* Each name takes at least two bytes, which bounds the counts before anything is allocated. */
    if (out->option < HEAD_BYTES || out->data < out->option + OPTION_BYTES ||
        out->data > in.len - 2 ||
        out->key_count + out->column_count > (out->option - HEAD_BYTES) / 2)
        return matrix_fail_form(c);
    return 0;
}

static int matrix_read_names(struct ctx *c, struct reader *r, size_t count, bytes **out)
{
    void *p;

    TRY(array(c, count, sizeof(bytes), &p));
    *out = p;
    for (size_t i = 0; i < count; i++) {
        size_t low = read_u8(r);

        (*out)[i] = read_bytes(r, low | (size_t)read_u8(r) << 8);
    }
    return r->bad ? matrix_fail_form(c) : 0;
}

int matrix_decode(struct ctx *c, bytes in, const struct wr_row **rows, size_t *count)
{
    struct frame f = {0};
    struct reader r;
    bytes *names;
    const uint8_t *option;
    size_t n;
    void *items;

    TRY(read_frame(c, in, &f));
    r = reader_of(bytes_of(bytes_u8(in) + HEAD_BYTES, f.option - HEAD_BYTES));
    TRY(matrix_read_names(c, &r, f.key_count + f.column_count, &names));
    option = bytes_u8(in) + f.option;
    if (option[0] != TAG_ENTIRE_KEY || option[2] != TAG_ROW_COUNT)
        return matrix_fail_form(c);
    n = load_u32(option + 3);
    r = reader_of(bytes_of(bytes_u8(in) + f.data, in.len - 2 - f.data));
    if (n > reader_left(&r))
        return matrix_fail_form(c);
    TRY(array(c, n, sizeof(struct wr_row), &items));
    for (size_t i = 0; i < n; i++)
        TRY(read_matrix_row(c, &r, names, f.key_count, f.column_count, (struct wr_row *)items + i));
    if (r.at != r.end)
        return matrix_fail_form(c);
    *rows = items;
    *count = n;
    return 0;
}

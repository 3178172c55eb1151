/* oracle_row.c: the oracle's values, keys and rows. */
#include "oracle_part.h"

#include <stdio.h>
#include <stdlib.h>

bool oracle_value_is_bytes(enum wr_type type)
{
    return type == WR_VARCHAR || type == WR_VARBINARY || type == WR_DECIMAL;
}

/* What the generator makes differs in the first digits. */
static double decimal_real(bytes text)
{
    char copy[64];

    snprintf(copy, sizeof(copy), "%.*s", (int)text.len, (const char *)text.ptr);
    return strtod(copy, NULL);
}

/* With a closing NUL that is not counted: regexec() is watched for one. */
static bytes bytes_dup(bytes b)
{
    uint8_t *p = mem_alloc(b.len + 1);

    p[b.len] = 0;
    if (b.len)
        memcpy(p, b.ptr, b.len);
    return bytes_of(p, b.len);
}

static void bytes_drop(bytes *b)
{
    mem_free((void *)(uintptr_t)b->ptr);
    *b = BYTES_NONE;
}

struct wr_value oracle_value_dup(const struct wr_value *v)
{
    struct wr_value out = *v;

    if (oracle_value_is_bytes(v->type))
        out.bytes = bytes_dup(v->bytes);
    return out;
}

void oracle_value_drop(struct wr_value *v)
{
    if (oracle_value_is_bytes(v->type))
        bytes_drop(&v->bytes);
}

int oracle_value_compare(const struct wr_value *a, const struct wr_value *b)
{
    double x, y;

    switch (a->type) {
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    case WR_UBIGINT:
        return a->uinteger < b->uinteger ? -1 : a->uinteger > b->uinteger;
    case WR_DECIMAL:
        x = decimal_real(a->bytes), y = decimal_real(b->bytes);
        return x < y ? -1 : x > y;
    case WR_FLOAT:
    case WR_DOUBLE:
        return a->real < b->real ? -1 : a->real > b->real;
    case WR_BOOLEAN:
        return (int)a->boolean - (int)b->boolean;
    default:
        return bytes_compare(a->bytes, b->bytes);
    }
}

size_t oracle_value_size(const struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
    case WR_UBIGINT:
    case WR_DOUBLE:
    case WR_TIMESTAMP:
        return 8;
    case WR_INTEGER:
    case WR_FLOAT:
    case WR_DATE:
    case WR_TIME:
        return 4;
    case WR_SMALLINT:
        return 2;
    case WR_TINYINT:
    case WR_BOOLEAN:
        return 1;
    case WR_VARCHAR:
    case WR_VARBINARY:
    case WR_DECIMAL:
        return v->bytes.len;
    default:
        return 0;
    }
}

size_t oracle_key_size(const struct wr_key_column *key, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += key[i].name.len + oracle_value_size(&key[i].value);
    return size;
}

int32_t oracle_units(size_t size)
{
    return size <= 4096 ? 1 : (int32_t)((size + 4095) / 4096);
}

/* INF_MIN below, INF_MAX above every value. */
static int rank(const struct wr_value *v)
{
    return v->type == WR_INF_MIN ? 0 : v->type == WR_INF_MAX ? 2 : 1;
}

int oracle_key_compare(const struct wr_key_schema *key, const struct wr_key_column *a,
                       const struct wr_key_column *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int ra = rank(&a[i].value), rb = rank(&b[i].value);
        int d = ra != rb ? ra - rb : ra != 1 ? 0 : oracle_value_compare(&a[i].value, &b[i].value);

        if (d)
            return key && ra == 1 && rb == 1 && key[i].descending ? -d : d;
    }
    return 0;
}

/* ---- rows ---- */

struct oracle_row *oracle_row_new(const struct oracle_table *t, const struct wr_key_column *key)
{
    struct oracle_row *row = mem_zalloc(sizeof(*row));

    for (size_t i = 0; i < t->key_count; i++) {
        row->key[i].name = t->key[i].name;
        row->key[i].value = oracle_value_dup(&key[i].value);
    }
    return row;
}

struct oracle_row *oracle_row_dup(const struct oracle_table *t, const struct oracle_row *old)
{
    struct oracle_row *row = oracle_row_new(t, old->key);

    row->key_open = old->key_open;
    row->unsure = old->unsure;
    row->newest_ms = old->newest_ms;
    for (size_t i = 0; i < old->count; i++)
        oracle_cell_put(row, &old->cells[i].cell, old->cells[i].cell.timestamp_ms,
                        old->cells[i].open, old->cells[i].open_change);
    return row;
}

void oracle_row_free(const struct oracle_table *t, struct oracle_row *row)
{
    while (row->count)
        oracle_cell_remove(row, row->count - 1);
    for (size_t i = 0; i < t->key_count; i++)
        oracle_value_drop(&row->key[i].value);
    mem_free(row->cells);
    mem_free(row);
}

/* Where the key is or would be. */
static size_t row_place(const struct oracle_table *t, const struct wr_key_column *key, bool *found)
{
    size_t i = 0;

    *found = false;
    while (i < t->row_count) {
        int d = oracle_key_compare(t->key, t->rows[i]->key, key, t->key_count);

        if (d >= 0) {
            *found = d == 0;
            break;
        }
        i++;
    }
    return i;
}

struct oracle_row *oracle_row_find(struct oracle_table *t, const struct wr_key_column *key)
{
    bool found;
    size_t i = row_place(t, key, &found);

    return found ? t->rows[i] : NULL;
}

void oracle_row_store(struct oracle_table *t, struct oracle_row *row)
{
    bool found;
    size_t i = row_place(t, row->key, &found);

    if (found) {
        if (t->rows[i] != row)
            oracle_row_free(t, t->rows[i]);
        t->rows[i] = row;
        return;
    }
    if (t->row_count == t->row_capacity) {
        t->row_capacity = t->row_capacity ? t->row_capacity * 2 : 16;
        t->rows = mem_realloc(t->rows, t->row_capacity * sizeof(*t->rows));
    }
    memmove(&t->rows[i + 1], &t->rows[i], (t->row_count - i) * sizeof(*t->rows));
    t->rows[i] = row;
    t->row_count++;
}

void oracle_row_remove(struct oracle_table *t, const struct wr_key_column *key)
{
    bool found;
    size_t i = row_place(t, key, &found);

    if (!found)
        return;
    oracle_row_free(t, t->rows[i]);
    t->row_count--;
    memmove(&t->rows[i], &t->rows[i + 1], (t->row_count - i) * sizeof(*t->rows));
}

/* ---- cells ---- */

void oracle_cell_put(struct oracle_row *row, const struct wr_cell *cell, int64_t timestamp_ms,
                     bool open, int32_t change)
{
    size_t i = 0;
    struct oracle_cell *c;

    for (; i < row->count; i++) {
        int d = bytes_compare(row->cells[i].cell.name, cell->name);

        if (d > 0 || (d == 0 && row->cells[i].cell.timestamp_ms <= timestamp_ms))
            break;
    }
    if (i < row->count && bytes_equal(row->cells[i].cell.name, cell->name) &&
        row->cells[i].cell.timestamp_ms == timestamp_ms)
        oracle_cell_remove(row, i);
    if (row->count == row->capacity) {
        row->capacity = row->capacity ? row->capacity * 2 : 4;
        row->cells = mem_realloc(row->cells, row->capacity * sizeof(*row->cells));
    }
    memmove(&row->cells[i + 1], &row->cells[i], (row->count - i) * sizeof(*row->cells));
    c = &row->cells[i];
    *c = (struct oracle_cell){.open = open, .open_change = change};
    c->cell.name = bytes_dup(cell->name);
    c->cell.value = oracle_value_dup(&cell->value);
    c->cell.timestamp_ms = timestamp_ms;
    row->count++;
    if (!open && timestamp_ms > row->newest_ms)
        row->newest_ms = timestamp_ms;
    row->unsure = row->unsure || open;
}

void oracle_cell_remove(struct oracle_row *row, size_t i)
{
    bytes_drop(&row->cells[i].cell.name);
    oracle_value_drop(&row->cells[i].cell.value);
    row->count--;
    memmove(&row->cells[i], &row->cells[i + 1], (row->count - i) * sizeof(*row->cells));
}

bool oracle_expired(const struct oracle_table *t, int64_t timestamp_ms, int64_t now_ms)
{
    return t->options.ttl_s >= 0 && timestamp_ms / 1000 + t->options.ttl_s <= now_ms / 1000;
}

bool oracle_row_trim(const struct oracle_table *t, struct oracle_row *row, int64_t now_ms)
{
    size_t had = row->count;
    int32_t versions = 0;

    for (size_t i = 0; i < row->count;) {
        bool same = i > 0 && bytes_equal(row->cells[i - 1].cell.name, row->cells[i].cell.name);

        versions = same ? versions + 1 : 1;
        if (versions > t->options.max_versions)
            oracle_cell_remove(row, i);
        else
            i++;
    }
    for (size_t i = row->count; i-- > 0;)
        if (oracle_expired(t, row->cells[i].cell.timestamp_ms, now_ms))
            oracle_cell_remove(row, i);
    row->unsure = false;
    for (size_t i = 0; i < row->count; i++)
        row->unsure = row->unsure || row->cells[i].open;
    return had == 0 || row->count > 0;
}

/* ---- checksum: bit by bit ---- */

static uint8_t crc_byte(uint8_t crc, uint8_t byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++)
        crc = (uint8_t)(crc & 0x80 ? crc << 1 ^ 0x07 : crc << 1);
    return crc;
}

static uint8_t crc_number(uint8_t crc, uint64_t v, int width)
{
    for (int i = 0; i < width; i++)
        crc = crc_byte(crc, (uint8_t)(v >> 8 * i));
    return crc;
}

static uint8_t crc_bytes(uint8_t crc, bytes b)
{
    for (size_t i = 0; i < b.len; i++)
        crc = crc_byte(crc, bytes_u8(b)[i]);
    return crc;
}

uint8_t oracle_crc8(const struct wr_cell *cell)
{
    const struct wr_value *v = &cell->value;
    uint8_t crc = crc_bytes(0, cell->name);
    uint64_t bits;
    uint32_t low;
    float narrow;

    switch (v->type) {
    case WR_BIGINT:
        crc = crc_number(crc_byte(crc, 0), (uint64_t)v->integer, 8);
        break;
    case WR_DOUBLE:
        memcpy(&bits, &v->real, 8);
        crc = crc_number(crc_byte(crc, 1), bits, 8);
        break;
    case WR_FLOAT:
        narrow = (float)v->real;
        memcpy(&low, &narrow, 4);
        crc = crc_number(crc_byte(crc, WR_FLOAT), low, 4);
        break;
    case WR_BOOLEAN:
        crc = crc_byte(crc_byte(crc, 2), v->boolean);
        break;
    case WR_VARCHAR:
    case WR_VARBINARY:
    case WR_DECIMAL:
        crc = crc_byte(crc, v->type == WR_VARCHAR ? 3 : v->type == WR_DECIMAL ? WR_DECIMAL : 7);
        crc = crc_bytes(crc_number(crc, v->bytes.len, 4), v->bytes);
        break;
    case WR_UBIGINT:
        crc = crc_number(crc_byte(crc, WR_UBIGINT), v->uinteger, 8);
        break;
    default:
        crc = crc_number(crc_byte(crc, (uint8_t)v->type), (uint64_t)v->integer,
                         (int)oracle_value_size(v));
        break;
    }
    if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
        crc = crc_number(crc, (uint64_t)cell->timestamp_ms, 8);
    return crc;
}

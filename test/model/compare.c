/* compare.c: an expected answer against the one that came. */
#include "compare.h"

#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>

struct verdict {
    char *why;
    size_t size;
};

static bool differ(const struct verdict *v, const char *fmt, ...) PORT_PRINTF(2, 3);
static bool differ(const struct verdict *v, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(v->why, v->size, fmt, args);
    va_end(args);
    return false;
}

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return a->integer == b->integer;
    case WR_UBIGINT:
        return a->uinteger == b->uinteger;
    case WR_FLOAT:
    case WR_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
    case WR_BOOLEAN:
        return a->boolean == b->boolean;
    default:
        return bytes_equal(a->bytes, b->bytes);
    }
}

static bool same_key(const struct wr_key *a, const struct wr_key *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!bytes_equal(a->columns[i].name, b->columns[i].name) ||
            !same_value(&a->columns[i].value, &b->columns[i].value))
            return false;
    return true;
}

static bool same_row(const struct verdict *v, const struct wr_row *e, const struct wr_row *a)
{
    if (!same_key(&e->key, &a->key))
        return differ(v, "key: %zu columns expected, %zu came, or other values", e->key.count,
                      a->key.count);
    if (e->cell_count != a->cell_count)
        return differ(v, "%zu cells expected, %zu came", e->cell_count, a->cell_count);
    for (size_t i = 0; i < e->cell_count; i++) {
        const struct wr_cell *x = &e->cells[i], *y = &a->cells[i];

        if (!bytes_equal(x->name, y->name))
            return differ(v, "cell %zu: another column", i);
        if (!same_value(&x->value, &y->value))
            return differ(v, "cell %zu: another value", i);
        if (y->timestamp_ms < 0 ||
            (x->timestamp_ms != ORACLE_STAMP_OPEN && x->timestamp_ms != y->timestamp_ms))
            return differ(v, "cell %zu: another stamp", i);
        if (y->crc8 != oracle_crc8(y))
            return differ(v, "cell %zu: checksum %02x does not fit", i, y->crc8);
    }
    return true;
}

static bool same_result(const struct verdict *v, const struct wr_row_result *e,
                        const struct wr_row_result *a)
{
    if (e->code != a->code)
        return differ(v, "code %d expected, %d came (%s)", e->code, a->code,
                      a->message ? a->message : "");
    if (a->code && (!a->message || !a->message[0]))
        return differ(v, "an error without a text");
    if (e->code && (e->code != WR_E_CONDITION || e->consumed.read == ORACLE_ANY))
        return true;
    if (e->consumed.read == ORACLE_ANY)
        return same_row(v, &e->row, &a->row);
    if (e->consumed.read != a->consumed.read || e->consumed.write != a->consumed.write)
        return differ(v, "capacity (%d, %d) expected, (%d, %d) came", e->consumed.read,
                      e->consumed.write, a->consumed.read, a->consumed.write);
    if (e->consumed.read_size != a->consumed.read_size ||
        e->consumed.write_size != a->consumed.write_size)
        return differ(v, "%lld bytes written expected, %lld came",
                      (long long)e->consumed.write_size, (long long)a->consumed.write_size);
    if (a->next_token.ptr)
        return differ(v, "a token without need");
    return e->code || same_row(v, &e->row, &a->row);
}

static bool same_batch(const struct verdict *v, const struct wr_batch_result *e,
                       const struct wr_batch_result *a)
{
    if (e->table_count != a->table_count)
        return differ(v, "%zu tables expected, %zu came", e->table_count, a->table_count);
    for (size_t i = 0; i < e->table_count; i++) {
        if (!bytes_equal(e->tables[i].table, a->tables[i].table))
            return differ(v, "table %zu: another name", i);
        if (e->tables[i].row_count != a->tables[i].row_count)
            return differ(v, "table %zu: another number of rows", i);
        for (size_t k = 0; k < e->tables[i].row_count; k++) {
            char inner[200];
            struct verdict w = {inner, sizeof(inner)};

            if (!same_result(&w, &e->tables[i].rows[k], &a->tables[i].rows[k]))
                return differ(v, "table %zu row %zu: %s", i, k, inner);
        }
    }
    return true;
}

static bool same_range(const struct verdict *v, const struct wr_range_result *e,
                       const struct wr_range_result *a)
{
    if (e->row_count != a->row_count)
        return differ(v, "%zu rows expected, %zu came", e->row_count, a->row_count);
    for (size_t i = 0; i < e->row_count; i++) {
        char inner[200];
        struct verdict w = {inner, sizeof(inner)};

        if (!same_row(&w, &e->rows[i], &a->rows[i]))
            return differ(v, "row %zu: %s", i, inner);
    }
    if (e->consumed.read != a->consumed.read || a->consumed.write)
        return differ(v, "capacity %d expected, %d came", e->consumed.read, a->consumed.read);
    if (e->consumed.read_size != a->consumed.read_size)
        return differ(v, "%lld bytes read expected, %lld came", (long long)e->consumed.read_size,
                      (long long)a->consumed.read_size);
    if (!same_key(&e->next, &a->next))
        return differ(v, "another next key");
    return true;
}

static bool same_table(const struct verdict *v, const struct wr_table_description *e,
                       const struct wr_table_description *a)
{
    const struct wr_table_options *x = &e->options, *y = &a->options;

    if (!bytes_equal(e->table, a->table) || e->key_count != a->key_count)
        return differ(v, "another name or number of key columns");
    for (size_t i = 0; i < e->key_count; i++)
        if (!bytes_equal(e->key[i].name, a->key[i].name) || e->key[i].type != a->key[i].type ||
            e->key[i].auto_increment != a->key[i].auto_increment)
            return differ(v, "key column %zu is another", i);
    if (x->ttl_s != y->ttl_s || x->max_versions != y->max_versions ||
        x->deviation_s != y->deviation_s || x->allow_update != y->allow_update)
        return differ(v, "other options");
    return e->status == a->status || differ(v, "another status");
}

static bool same_list(const struct verdict *v, const struct wr_table_list *e,
                      const struct wr_table_list *a)
{
    if (e->count != a->count)
        return differ(v, "%zu tables expected, %zu came", e->count, a->count);
    for (size_t i = 0; i < e->count; i++)
        if (!bytes_equal(e->tables[i], a->tables[i]))
            return differ(v, "table %zu is another", i);
    return true;
}

bool compare_rows(const struct wr_row *expected, const struct wr_row *actual, char *why,
                  size_t size)
{
    struct verdict v = {why, size};

    return same_row(&v, expected, actual);
}

bool compare_replies(const struct wr_reply *e, const struct wr_reply *a, char *why, size_t size)
{
    struct verdict v = {why, size};

    if (e->code != a->code)
        return differ(&v, "code %d expected, %d came (%s)", e->code, a->code, a->message);
    if (a->code)
        return a->message[0] ? true : differ(&v, "an error without a text");
    switch (e->op) {
    case WR_OP_GET_ROW:
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        return same_result(&v, &e->row, &a->row);
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_BULK_IMPORT:
        return same_batch(&v, &e->batch, &a->batch);
    case WR_OP_GET_RANGE:
    case WR_OP_BULK_EXPORT:
        return same_range(&v, &e->range, &a->range);
    case WR_OP_DESCRIBE_TABLE:
    case WR_OP_UPDATE_TABLE:
        return same_table(&v, &e->description, &a->description);
    case WR_OP_LIST_TABLE:
        return same_list(&v, &e->table_list, &a->table_list);
    default:
        return true;
    }
}

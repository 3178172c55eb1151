/* oracle_check.c: what makes a request illegal, and with which code. */
#include "oracle_part.h"

#include <math.h>

#define STAMP_END (INT64_MAX / 1000)

int oracle_check_table_name(bytes name)
{
    const uint8_t *p = name.ptr;

    if (name.len < 1 || name.len > 255)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < name.len; i++) {
        bool letter = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') || p[i] == '_';
        bool digit = p[i] >= '0' && p[i] <= '9';

        if (!letter && !(digit && i > 0))
            return WR_E_PARAMETER;
    }
    return WR_OK;
}

int oracle_check_column_name(bytes name)
{
    if (name.len < 1 || name.len > 255 || bytes_u8(name)[0] == '#' || !bytes_is_utf8(name))
        return WR_E_PARAMETER;
    return WR_OK;
}

/* ---- keys ---- */

int oracle_check_key_alone(const struct oracle *o, const struct wr_key *key,
                           enum oracle_key_use use)
{
    if (key->count < 1 || key->count > ORACLE_KEY_MAX)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < key->count; i++) {
        const struct wr_value *v = &key->columns[i].value;

        switch (v->type) {
        case WR_INF_MIN:
        case WR_INF_MAX:
            if (use != ORACLE_KEY_BOUND)
                return WR_E_PARAMETER;
            break;
        case WR_AUTO_INCREMENT:
            if (use != ORACLE_KEY_WRITE)
                return WR_E_PARAMETER;
            break;
        case WR_VARCHAR:
            if (!bytes_is_utf8(v->bytes))
                return WR_E_PARAMETER;
            if (v->bytes.len > (size_t)o->limits.key_value_bytes_max)
                return WR_E_PARAMETER;
            break;
        case WR_VARBINARY:
            if (v->bytes.len > (size_t)o->limits.key_value_bytes_max)
                return WR_E_PARAMETER;
            break;
        default: /* whether the type fits is for the table to say */
            break;
        }
    }
    return WR_OK;
}

int oracle_check_key(const struct oracle *o, const struct oracle_table *t, const struct wr_key *key,
                     enum oracle_key_use use)
{
    size_t most = (size_t)o->limits.key_columns_max;

    if (key->count > most && t->key_count <= most)
        return WR_E_PARAMETER;
    if (key->count != t->key_count)
        return WR_E_INVALID_PK;
    for (size_t i = 0; i < key->count; i++) {
        enum wr_type type = key->columns[i].value.type;

        if (!bytes_equal(key->columns[i].name, t->key[i].name))
            return WR_E_INVALID_PK;
        if (type == WR_AUTO_INCREMENT && use == ORACLE_KEY_WRITE && (int)i == t->auto_column)
            continue;
        if ((type == WR_INF_MIN || type == WR_INF_MAX) && use == ORACLE_KEY_BOUND)
            continue;
        if (type != t->key[i].type)
            return WR_E_INVALID_PK;
    }
    return WR_OK;
}

/* ---- row changes ---- */

static int check_value(const struct oracle *o, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
    case WR_BOOLEAN:
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_UBIGINT:
    case WR_DECIMAL:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return WR_OK;
    case WR_FLOAT:
    case WR_DOUBLE:
        return isfinite(v->real) ? WR_OK : WR_E_PARAMETER;
    case WR_VARCHAR:
        if (!bytes_is_utf8(v->bytes))
            return WR_E_PARAMETER;
        return v->bytes.len > (size_t)o->limits.cell_bytes_max ? WR_E_PARAMETER : WR_OK;
    case WR_VARBINARY:
        return v->bytes.len > (size_t)o->limits.cell_bytes_max ? WR_E_PARAMETER : WR_OK;
    default:
        return WR_E_PARAMETER;
    }
}

static int check_cell(const struct oracle *o, const struct wr_row_change *change,
                      const struct wr_cell *cell)
{
    bool stamped = cell->timestamp_ms != WR_TIMESTAMP_NONE;
    bool has_value = cell->op == WR_CELL_PUT || cell->op == WR_CELL_INCREMENT;

    if (oracle_check_column_name(cell->name))
        return WR_E_PARAMETER;
    for (size_t i = 0; i < change->row.key.count; i++)
        if (bytes_equal(cell->name, change->row.key.columns[i].name))
            return WR_E_PARAMETER;
    if (change->type == WR_PUT && cell->op != WR_CELL_PUT)
        return WR_E_PARAMETER;
    if (has_value && check_value(o, &cell->value))
        return WR_E_PARAMETER;
    if (stamped && (cell->timestamp_ms < 0 || cell->timestamp_ms >= STAMP_END))
        return WR_E_PARAMETER;
    if ((cell->op == WR_CELL_DELETE_ONE && !stamped) || (cell->op == WR_CELL_DELETE_ALL && stamped))
        return WR_E_PARAMETER;
    if (cell->op == WR_CELL_INCREMENT) {
        if (stamped || (cell->value.type != WR_BIGINT && cell->value.type != WR_DOUBLE))
            return WR_E_PARAMETER;
        for (size_t i = 0; i < change->row.cell_count; i++)
            if (&change->row.cells[i] != cell && bytes_equal(change->row.cells[i].name, cell->name))
                return WR_E_PARAMETER;
    }
    return WR_OK;
}

/* doc/data-model.md, "Return content". */
static int check_return(const struct wr_row_change *change)
{
    if (change->return_type != WR_RETURN_AFTER_MODIFY)
        return change->return_column_count ? WR_E_PARAMETER : WR_OK;
    for (size_t i = 0; i < change->return_column_count; i++) {
        bool target = false;

        for (size_t k = 0; k < change->row.cell_count; k++)
            target = target || (change->row.cells[k].op == WR_CELL_INCREMENT &&
                                bytes_equal(change->row.cells[k].name, change->return_columns[i]));
        if (!target)
            return WR_E_PARAMETER;
    }
    return WR_OK;
}

size_t oracle_change_size(const struct wr_row_change *change)
{
    size_t size = oracle_key_size(change->row.key.columns, change->row.key.count);

    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *c = &change->row.cells[i];

        size += c->name.len + (c->timestamp_ms != WR_TIMESTAMP_NONE ? 8 : 0);
        if (c->op == WR_CELL_PUT || c->op == WR_CELL_INCREMENT)
            size += oracle_value_size(&c->value);
    }
    return size;
}

int oracle_check_change_alone(const struct oracle *o, const struct wr_row_change *change, bool many)
{
    int code = oracle_check_key_alone(
        o, &change->row.key, change->type == WR_DELETE ? ORACLE_KEY_READ : ORACLE_KEY_WRITE);

    if (code)
        return code;
    if (change->type == WR_DELETE && change->row.cell_count)
        return WR_E_PARAMETER;
    if (change->type == WR_UPDATE && !change->row.cell_count)
        return WR_E_PARAMETER;
    if (change->row.cell_count > (size_t)o->limits.row_change_cells_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (check_cell(o, change, &change->row.cells[i]))
            return WR_E_PARAMETER;
    if (!many && oracle_change_size(change) > (size_t)o->limits.row_change_bytes_max)
        return WR_E_PARAMETER;
    if (change->condition.column && oracle_check_filter(o, change->condition.column, true))
        return WR_E_PARAMETER;
    return check_return(change);
}

static bool has_stamps(const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].timestamp_ms != WR_TIMESTAMP_NONE)
            return true;
    return false;
}

/* What needs the table, after existence: the key first, then all else. */
int oracle_check_change(const struct oracle *o, const struct oracle_table *t,
                        const struct wr_row_change *change)
{
    int code = t->index_count && has_stamps(change)
                   ? WR_E_PARAMETER
                   : oracle_check_key(o, t, &change->row.key, ORACLE_KEY_WRITE);
    bool placeholder = t->auto_column >= 0 && !code &&
                       change->row.key.columns[t->auto_column].value.type == WR_AUTO_INCREMENT;

    if (code)
        return code;
    if (placeholder && (change->condition.existence != WR_IGNORE || change->condition.column ||
                        change->type == WR_DELETE))
        return WR_E_PARAMETER;
    if (change->type == WR_UPDATE && !t->options.allow_update)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *c = &change->row.cells[i];
        int64_t second = c->timestamp_ms / 1000, now = o->now_ms / 1000;

        if (c->op == WR_CELL_PUT && c->timestamp_ms != WR_TIMESTAMP_NONE &&
            (second < now - t->options.deviation_s || second >= now + t->options.deviation_s))
            return WR_E_PARAMETER;
    }
    return WR_OK;
}

/* ---- reads ---- */

int oracle_check_read_alone(const struct oracle *o, const struct wr_read_options *read)
{
    bool range = read->has_start || read->has_end;

    if (read->column_count > (size_t)o->limits.columns_to_get_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < read->column_count; i++)
        if (oracle_check_column_name(read->columns[i]))
            return WR_E_PARAMETER;
    if (!range && !read->has_specific && !read->has_max_versions)
        return WR_E_PARAMETER;
    if (read->has_start != read->has_end || (range && read->has_specific))
        return WR_E_PARAMETER;
    if (read->has_start &&
        (read->start_ms < 0 || read->end_ms < 0 || read->start_ms >= read->end_ms))
        return WR_E_PARAMETER;
    if (read->has_specific && read->specific_ms < 0)
        return WR_E_PARAMETER;
    if (read->has_max_versions && read->max_versions <= 0)
        return WR_E_PARAMETER;
    return WR_OK;
}

int oracle_check_read_filter(const struct oracle *o, const struct wr_read_options *read)
{
    return read->filter ? oracle_check_filter(o, read->filter, false) : WR_OK;
}

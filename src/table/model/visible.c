#include "table/model/visible.h"

#include "base/bytes_short.h"
#include "base/limit.h"
#include "table/model/filter.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/name.h"

#include <stdlib.h>

bool visible_expired(const struct wr_table_options *o, int64_t timestamp_ms, int64_t now_ms)
{
    return o->ttl_s != -1 && timestamp_ms / 1000 + o->ttl_s <= now_ms / 1000;
}

/* Of neighbours. Names of one table are mostly of one length and differ at their ends. */
static inline bool same_name(const struct wr_cell *a, const struct wr_cell *b)
{
    size_t n = a->name.len;

    if (n != b->name.len || (n && bytes_u8(a->name)[n - 1] != bytes_u8(b->name)[n - 1]))
        return false;
    return bytes_equal_short(a->name, b->name);
}

size_t visible_cells(const struct wr_table_options *o, int64_t now_ms, const struct wr_cell *cells,
                     size_t count, struct wr_cell *out)
{
    size_t n = 0, versions = 0;

    for (size_t i = 0; i < count; i++) {
        versions = i && same_name(&cells[i], &cells[i - 1]) ? versions + 1 : 1;
        if (versions <= (size_t)o->max_versions &&
            !visible_expired(o, cells[i].timestamp_ms, now_ms))
            out[n++] = cells[i];
    }
    return n;
}

bool visible_row(const struct wr_table_options *o, int64_t now_ms, const struct row *row)
{
    if (!row->there)
        return false;
    if (o->ttl_s == -1)
        return true;
    for (size_t i = 0; i < row->cell_count; i++)
        if (!visible_expired(o, row->cells[i].timestamp_ms, now_ms))
            return true;
    /* Of a wide row not all cells need be loaded, so its marker decides, which every write of it
     * renews. */
    return (row->wide || row->cell_count == 0) && !visible_expired(o, row->marker_ms, now_ms);
}

bool visible_entry(const struct wr_table_options *o, int64_t now_ms, const struct row *entry)
{
    return entry->there && !visible_expired(o, entry->marker_ms, now_ms);
}

int selection_check_alone(struct ctx *c, const struct limits *limits,
                          const struct wr_read_options *read, const char *missing)
{
    if (read->column_count > (size_t)limits->columns_to_get_max)
        return fail(c, E_PARAMETER,
                    "The number of columns from the request exceeds the limit, limit count: %d, "
                    "column count: %zu.",
                    (int)limits->columns_to_get_max, read->column_count);
    for (size_t i = 0; i < read->column_count; i++)
        TRY(name_check_column(c, read->columns[i]));
    if (!read->has_max_versions && !read->has_start && !read->has_end && !read->has_specific)
        return fail(c, E_PARAMETER, "%s", missing);
    if (read->has_max_versions && read->max_versions <= 0)
        return fail(c, E_PARAMETER, "The maximum versions cannot be less than or equal to 0");
    if (read->has_specific && (read->has_start || read->has_end))
        return fail(c, E_PARAMETER,
                    "Specific tiemstamp and time range cannot be given at the same time.");
    if (read->has_start != read->has_end)
        return fail(c, E_PARAMETER, "Start and end time must be given at the same time.");
    if (read->has_start &&
        (read->start_ms < 0 || read->end_ms < 0 || read->start_ms >= read->end_ms))
        return fail(c, E_PARAMETER,
                    "The start time must be less than the end time, and neither may be negative.");
    if (read->has_specific && read->specific_ms < 0)
        return fail(c, E_PARAMETER, "Timestamp must be in range [0, INT64_MAX/1000).");
    return E_OK;
}

static int visible_compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

static bool is_key_column(const struct wr_key_schema *key, size_t key_count, bytes name)
{
    for (size_t i = 0; i < key_count; i++)
        if (bytes_equal(key[i].name, name))
            return true;
    return false;
}

int selection_init(struct ctx *c, const struct limits *limits, const struct wr_read_options *read,
                   const struct wr_table_options *table, const struct wr_key_schema *key,
                   size_t key_count, int64_t now_ms, struct selection *out)
{
    size_t n = 0;

    *out = (struct selection){.read = read, .table = table, .now_ms = now_ms};
    TRY(filter_compile(c, limits, read->filter, FILTER_READ, &out->filter));
    out->plain = !read->column_count && !out->filter && !read->start_column.ptr &&
                 !read->end_column.ptr && !read->has_start && !read->has_specific &&
                 table->ttl_s == -1;
    if (!read->column_count)
        return E_OK;
    out->picks = !out->filter && !read->start_column.ptr && !read->end_column.ptr &&
                 !read->has_start && !read->has_specific && table->ttl_s == -1;
    out->columns = ARENA_ARRAY(&c->arena, bytes, read->column_count);
    for (size_t i = 0; i < read->column_count; i++) {
        if (is_key_column(key, key_count, read->columns[i]))
            out->key_named = true;
        else
            out->columns[n++] = read->columns[i];
    }
    if (n)
        qsort(out->columns, n, sizeof(bytes), visible_compare_names);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !bytes_equal(out->columns[i], out->columns[i - 1]))
            out->columns[out->column_count++] = out->columns[i];
    return E_OK;
}

bool selection_wants(const struct selection *s, bytes name)
{
    const struct wr_read_options *r = s->read;

    if (s->columns && !(s->column_count && bsearch(&name, s->columns, s->column_count,
                                                   sizeof(bytes), visible_compare_names)))
        return false;
    if (r->start_column.ptr && bytes_compare(name, r->start_column) < 0)
        return false;
    return !r->end_column.ptr || bytes_compare(name, r->end_column) < 0;
}

size_t selection_versions(const struct selection *s)
{
    const struct wr_read_options *r = s->read;
    bool any = s->filter || r->has_start || r->has_specific || !r->has_max_versions;

    return (size_t)(any || r->max_versions > s->table->max_versions ? s->table->max_versions
                                                                    : r->max_versions);
}

static bool in_time_range(const struct wr_read_options *r, int64_t ts)
{
    if (r->has_specific)
        return ts == r->specific_ms;
    return !r->has_start || (ts >= r->start_ms && ts < r->end_ms);
}

/* Versions inside the time range, and of those the newest max_versions of each column. */
static size_t limit_versions(const struct wr_table_options *o, const struct wr_read_options *r,
                             struct wr_cell *cells, size_t count)
{
    size_t n = 0, versions = 0;

    if (!r->has_start && !r->has_specific &&
        (!r->has_max_versions || r->max_versions >= o->max_versions))
        return count; /* the table's own MaxVersions has cut them */
    for (size_t i = 0; i < count; i++) {
        if (!in_time_range(r, cells[i].timestamp_ms))
            continue;
        versions = n && same_name(&cells[i], &cells[n - 1]) ? versions + 1 : 1;
        if (!r->has_max_versions || versions <= (size_t)r->max_versions)
            cells[n++] = cells[i];
    }
    return n;
}

/* A plain read of a row that has but one version of each column. */
static bool takes_all(const struct selection *s, const struct row *row)
{
    if (!s->plain && !(s->picks && row->picked))
        return false;
    for (size_t i = 1; i < row->cell_count; i++)
        if (same_name(&row->cells[i], &row->cells[i - 1]))
            return false;
    return true;
}

void selection_apply(struct ctx *c, const struct selection *s, const struct wr_key *key,
                     const struct row *row, struct wr_row *out, size_t *size)
{
    struct wr_cell *cells;
    size_t n = 0;

    *out = (struct wr_row){.key = {.count = 0}};
    *size = 0;
    if (!(s->entries ? visible_entry : visible_row)(s->table, s->now_ms, row))
        return;
    if (takes_all(s, row)) {
        if (row->cell_count || s->plain || s->key_named)
            *out = (struct wr_row){*key, row->cells, row->cell_count};
        *size = meter_row_size(s->table, key, row->cells, row->cell_count);
        return;
    }
    cells = arena_alloc(&c->arena, sizeof(*cells) * (row->cell_count ? row->cell_count : 1));
    if (!s->columns && !s->read->start_column.ptr && !s->read->end_column.ptr) {
        n = visible_cells(s->table, s->now_ms, row->cells, row->cell_count, cells);
    } else {
        for (size_t i = 0; i < row->cell_count; i++)
            if (selection_wants(s, row->cells[i].name))
                cells[n++] = row->cells[i];
        n = visible_cells(s->table, s->now_ms, cells, n, cells);
    }
    if (s->filter && !filter_match(c, s->filter, key, cells, n)) {
        *size = meter_row_size(s->table, key, cells, limit_versions(s->table, s->read, cells, n));
        return;
    }
    n = limit_versions(s->table, s->read, cells, n);
    *size = meter_row_size(s->table, key, cells, n);
    if (s->columns && n == 0 && !s->key_named)
        return;
    if (s->filter)
        n = filter_page(s->filter, cells, n);
    out->key = *key;
    out->cells = cells;
    out->cell_count = n;
}

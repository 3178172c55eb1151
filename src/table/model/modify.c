#include "table/model/modify.h"

#include "base/invariant.h"
#include "table/model/big.h"
#include "table/model/change.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/name.h"
#include "table/model/value.h"
#include "table/model/visible.h"

#include <math.h>
#include <stdlib.h>

/* ---- beginning ---- */

/* Deviation is counted in whole seconds, as the clients' documents do. */
int modify_check_deviation(struct ctx *c, const struct modify *m)
{
    const struct wr_row *row = &m->change->row;
    int64_t now_s = 0, d = m->table->schema.d.options.deviation_s;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        int64_t s = cell->timestamp_ms / 1000;

        if (cell->timestamp_ms == WR_TIMESTAMP_NONE || cell->op != WR_CELL_PUT)
            continue;
        if (!now_s)
            now_s = clock_wall_ms(c->clock) / 1000;
        if (s < now_s - d || s >= now_s + d)
            return fail(c, E_PARAMETER, "Invalid timestamp. Cell:%.*s.", BYTES_FMT(cell->name));
    }
    return E_OK;
}

static const char *existence_name(enum wr_existence e)
{
    return e == WR_EXPECT_EXIST ? "EXPECT_EXIST" : "EXPECT_NOT_EXIST";
}

/* A big cell belongs to the table that its chunks were written to. */
static int check_out_of_line(struct ctx *c, const struct table *table,
                             const struct wr_row_change *change)
{
    struct big_ref ref;

    for (size_t i = 0; i < change->row.cell_count; i++) {
        if (!change->row.cells[i].apart)
            continue;
        TRY(big_read(c, &change->row.cells[i], &ref));
        /* While the table is rekeyed a cell's chunks go to both places, and either may have been
         * the first when they began to come. */
        if (ref.location != table->schema.location.id && ref.location != table->schema.shadow.id)
            return fail(c, E_PARTITION,
                        "The table was made anew or moved during the upload. Send the cell again.");
    }
    return E_OK;
}

/* Replaces the placeholder of an auto-increment column by `number`. */
static int generate_key(struct ctx *c, struct modify *m, uint64_t number)
{
    const struct wr_condition *cond = &m->change->condition;
    struct wr_key_column *columns;

    for (size_t i = 0; i < m->key.count; i++)
        m->generated |= m->key.columns[i].value.type == WR_AUTO_INCREMENT;
    if (!m->generated)
        return E_OK;
    if (cond->existence != WR_IGNORE)
        return fail(c, E_PARAMETER, "Invalid expect:%s when modify row with pk auto increment",
                    existence_name(cond->existence));
    if (cond->column)
        return fail(c, E_PARAMETER, "Can't set condition when modify row with pk auto increment");
    columns = arena_alloc(&c->arena, sizeof(*columns) * m->key.count);
    memcpy(columns, m->key.columns, sizeof(*columns) * m->key.count);
    for (size_t i = 0; i < m->key.count; i++)
        if (columns[i].value.type == WR_AUTO_INCREMENT)
            columns[i].value = (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)number};
    m->key.columns = columns;
    return E_OK;
}

int modify_begin(struct ctx *c, const struct limits *limits, const struct table *table,
                 const struct wr_row_change *change, int64_t now_ms, uint64_t number,
                 struct modify *m)
{
    const struct wr_table_description *d = &table->schema.d;
    struct buf cols;

    *m = (struct modify){.limits = limits,
                         .table = table,
                         .change = change,
                         .now_ms = now_ms,
                         .key = change->row.key,
                         .number = number};
    TRY(key_check(c, limits, d->key, d->key_count, &m->key,
                  change->type == WR_DELETE ? KEY_READ : KEY_WRITE));
    if (change->type == WR_UPDATE && !d->options.allow_update)
        return fail(c, E_PARAMETER,
                    "UpdateRow is not allowed on a table whose option allow_update is false.");
    TRY(check_out_of_line(c, table, change));
    TRY(generate_key(c, m, number));
    TRY(filter_compile(c, limits, change->condition.column, FILTER_CONDITION, &m->condition));
    for (size_t i = 0; i < change->row.cell_count; i++)
        m->increments |= change->row.cells[i].op == WR_CELL_INCREMENT;
    buf_init(&cols, &c->arena, 64);
    TRY(key_put_columns(c, &cols, d->key, m->key.columns, m->key.count));
    m->cols = buf_bytes(&cols);
    return E_OK;
}

static bool has_auto_increment(const struct table *t)
{
    for (size_t i = 0; i < t->schema.d.key_count; i++)
        if (t->schema.d.key[i].auto_increment)
            return true;
    return false;
}

bool modify_needs_old(const struct modify *m)
{
    const struct wr_row_change *change = m->change;

    if (m->generated)
        return m->beside;
    return m->looks || change->type == WR_UPDATE || change->condition.existence != WR_IGNORE ||
           m->condition || atomic_load(&m->table->has_out_of_line) ||
           (change->type == WR_PUT && has_auto_increment(m->table));
}

static size_t filter_columns(const struct wr_filter *f, bytes *out)
{
    size_t n = 0;

    if (!f)
        return 0;
    if (f->type == WR_FILTER_COLUMN) {
        if (out)
            out[0] = f->column.column;
        return 1;
    }
    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count; i++)
            n += filter_columns(&f->composite.subs[i], out ? out + n : NULL);
    return n;
}

const bytes *modify_columns(struct ctx *c, const struct modify *m, size_t *count)
{
    const struct wr_row_change *change = m->change;
    size_t cells = change->type == WR_UPDATE ? change->row.cell_count : 0;
    size_t n = cells + filter_columns(change->condition.column, NULL);
    size_t observed = n;
    bytes *names = ARENA_ARRAY(&c->arena, bytes, n + m->observed_count);

    *count = 0;
    if (m->whole || (change->type == WR_UPDATE && m->table->schema.d.options.update_full_row))
        return NULL;
    for (size_t i = 0; i < cells; i++)
        names[i] = change->row.cells[i].name;
    filter_columns(change->condition.column, names + cells);
    for (size_t i = 0; i < m->observed_count; i++)
        names[observed + i] = m->observed[i];
    n += m->observed_count;
    *count = names_sort_unique(names, n);
    return names;
}

/* ---- deciding ---- */

/* A condition may ask whether a big cell is there, but its value is not at hand. */
static int check_comparable(struct ctx *c, const struct wr_filter *f, const struct wr_cell *cells,
                            size_t count)
{
    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count; i++)
            TRY(check_comparable(c, &f->composite.subs[i], cells, count));
    if (f->type != WR_FILTER_COLUMN || f->column.comparator == WR_EXIST ||
        f->column.comparator == WR_NOT_EXIST)
        return E_OK;
    for (size_t i = 0; i < count; i++)
        if (cells[i].apart && bytes_equal(cells[i].name, f->column.column))
            return fail(c, E_PARAMETER,
                        "Column '%.*s' holds a value of %zu bytes, which is kept apart from its "
                        "row: a condition can ask whether it exists, not compare it.",
                        BYTES_FMT(cells[i].name), big_cell_size(&cells[i]));
    return E_OK;
}

static int check_condition(struct ctx *c, struct modify *m, bool exists)
{
    const struct wr_condition *cond = &m->change->condition;
    const struct row *old = &m->old;
    struct wr_cell *seen;
    size_t n = 0;

    if (cond->existence != WR_IGNORE || m->condition)
        m->read_units = meter_units(key_size(&m->key));
    if ((cond->existence == WR_EXPECT_EXIST && !exists) ||
        (cond->existence == WR_EXPECT_NOT_EXIST && exists))
        goto failed;
    if (!m->condition)
        return E_OK;
    seen = arena_alloc(&c->arena, sizeof(*seen) * (old->cell_count + 1));
    if (exists)
        n = visible_cells(&m->table->schema.d.options, m->now_ms, old->cells, old->cell_count,
                          seen);
    TRY(check_comparable(c, cond->column, seen, n));
    if (filter_match(c, m->condition, exists ? &m->key : NULL, seen, n))
        return E_OK;
    if (c->code) /* a regular expression that took too long */
        return c->code;
failed:
    m->read_units = m->write_units = 1;
    return fail_code(c, E_CONDITION);
}

/* The cells that an update works on: those of the old row that can be seen, sorted, and behind them
 * what the request puts, as it comes. */
struct working {
    struct wr_cell *cells;
    const struct wr_cell **from; /* of each, the request's cell that put it, or NULL */
    size_t old_count, count;
    bytes *names; /* of the request's cells, sorted; made when they are asked for */
};

static void working_init(struct ctx *c, struct working *w, size_t room)
{
    *w = (struct working){.cells = arena_alloc(&c->arena, sizeof(*w->cells) * room),
                          .from = ARENA_ARRAY(&c->arena, const struct wr_cell *, room)};
}

static void working_add(struct working *w, const struct wr_cell *from, struct wr_cell cell)
{
    invariant(w->count >= w->old_count); /* what was there stands first */
    w->from[w->count] = from;
    w->cells[w->count++] = cell;
}

/* The newest version of a column that could be seen before the request. */
static const struct wr_cell *newest(const struct working *w, bytes name)
{
    return cells_find(w->cells, w->old_count, name);
}

static const bytes *asked_names(struct ctx *c, const struct modify *m, struct working *w)
{
    const struct wr_row *asked = &m->change->row;

    if (w->names)
        return w->names;
    w->names = arena_alloc(&c->arena, sizeof(bytes) * asked->cell_count);
    for (size_t i = 0; i < asked->cell_count; i++)
        w->names[i] = asked->cells[i].name;
    names_sort(w->names, asked->cell_count);
    return w->names;
}

/* ---- deletions of columns and versions
 *
 * They take what was in the row and what the request put before them. */

/* WR_TIMESTAMP_NONE: all versions go. */
static int64_t deleted_ms(const struct wr_cell *cell)
{
    return cell->op == WR_CELL_DELETE_ONE ? cell->timestamp_ms : WR_TIMESTAMP_NONE;
}

static int compare_deletion(const struct wr_cell *cell, bytes name, int64_t timestamp_ms)
{
    int64_t ms = deleted_ms(cell);
    int d = bytes_compare(cell->name, name);

    return d ? d : (ms > timestamp_ms) - (ms < timestamp_ms);
}

/* By column and version, as they came. */
static int compare_deletions(const void *a, const void *b)
{
    const struct wr_cell *x = *(const struct wr_cell *const *)a;
    const struct wr_cell *y = *(const struct wr_cell *const *)b;
    int d = compare_deletion(x, y->name, deleted_ms(y));

    return d ? d : (x > y) - (x < y);
}

static const struct wr_cell **deletions(struct ctx *c, const struct wr_row *asked, size_t *count)
{
    const struct wr_cell **out = arena_alloc(&c->arena, sizeof(void *) * (asked->cell_count + 1));

    *count = 0;
    for (size_t i = 0; i < asked->cell_count; i++)
        if (asked->cells[i].op == WR_CELL_DELETE_ONE || asked->cells[i].op == WR_CELL_DELETE_ALL)
            out[(*count)++] = &asked->cells[i];
    if (*count > 1)
        qsort(out, *count, sizeof(void *), compare_deletions);
    return out;
}

/* The request deletes this of a column after it has put `from` there; NULL: it was there. */
static bool is_deleted(const struct wr_cell *const *list, size_t count, bytes name,
                       int64_t timestamp_ms, const struct wr_cell *from)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (compare_deletion(list[at], name, timestamp_ms) <= 0)
            low = at + 1;
        else
            high = at;
    }
    return low && compare_deletion(list[low - 1], name, timestamp_ms) == 0 &&
           (!from || list[low - 1] > from);
}

static void remove_deleted(struct ctx *c, const struct wr_row *asked, struct working *w)
{
    size_t n = 0, count;
    const struct wr_cell *const *list = deletions(c, asked, &count);

    for (size_t i = 0; count && i < w->count; i++) {
        const struct wr_cell *cell = &w->cells[i];

        if (!is_deleted(list, count, cell->name, WR_TIMESTAMP_NONE, w->from[i]) &&
            !is_deleted(list, count, cell->name, cell->timestamp_ms, w->from[i]))
            w->cells[n++] = *cell;
    }
    if (count)
        w->count = n;
}

/* ---- cells that are put */

/* A stored cell: stamped and with its checksum. */
static struct wr_cell stored_cell(const struct wr_cell *cell, const struct wr_value *value,
                                  int64_t timestamp_ms)
{
    struct wr_cell out = {.name = cell->name,
                          .value = *value,
                          .timestamp_ms = timestamp_ms,
                          .crc8_known = true,
                          .apart = cell->apart};

    if (!cell->crc8_known || cell->op != WR_CELL_PUT)
        out.crc8 = value_crc8(cell->name, value, timestamp_ms);
    else if (cell->timestamp_ms == WR_TIMESTAMP_NONE)
        out.crc8 = value_crc8_stamp(cell->crc8, timestamp_ms);
    else
        out.crc8 = cell->crc8;
    return out;
}

struct wr_cell modify_stored_cell(const struct wr_cell *cell, const struct wr_value *value,
                                  int64_t timestamp_ms)
{
    return stored_cell(cell, value, timestamp_ms);
}

static int increment(struct ctx *c, const struct modify *m, struct working *w,
                     const struct wr_cell *cell, int64_t stamp)
{
    const struct wr_cell *old = newest(w, cell->name);
    struct wr_value v = cell->value;

    if (old && old->value.type != v.type)
        return fail(c, E_PARAMETER, "Column '%.*s' is %s and cannot be incremented by %s.",
                    BYTES_FMT(cell->name), value_type_name(old->value.type),
                    value_type_name(v.type));
    if (old && v.type == WR_BIGINT &&
        __builtin_add_overflow(old->value.integer, v.integer, &v.integer))
        return fail(c, E_PARAMETER, "Incrementing column '%.*s' overflows.", BYTES_FMT(cell->name));
    if (v.type == WR_DOUBLE) {
        v.real += old ? old->value.real : 0.0; /* 0.0, not -0.0, where there was nothing */
        if (!isfinite(v.real))
            return fail(c, E_PARAMETER, "Incrementing column '%.*s' overflows.",
                        BYTES_FMT(cell->name));
    }
    if (old && old->timestamp_ms >= stamp)
        stamp = old->timestamp_ms +
                (m->table->schema.d.options.max_versions > 1 && old->timestamp_ms < STAMP_MS_MAX);
    working_add(w, cell, stored_cell(cell, &v, stamp));
    return E_OK;
}

/* The latest stamp that a server can have given to a cell of this row: its own stamp tells when it
 * was written last. A second more is allowed to clients whose clocks are not quite right. A cell
 * beyond it has a client's stamp, and stays the newest (doc/data-model.md, "Versions"). */
static int64_t given_ms(const struct modify *m)
{
    int64_t now_ms = m->time.us / 1000 + 999;
    int64_t row_ms = (int64_t)(m->old.stamp / m->time.unit / 1000);

    return row_ms > now_ms ? row_ms : now_ms;
}

/* The stamp for this request's cells without one: now, or as late as the cells that were stamped by
 * a server whose clock is ahead, for this update must not vanish below them; or so much later that
 * updates which follow one another within a millisecond keep distinct versions (doc/data-model.md,
 * "Versions"), as long as that does not take the stamps away from time. */
static int64_t cell_stamp(const struct modify *m, const struct working *w)
{
    bool distinct = m->table->schema.d.options.max_versions > 1;
    int64_t stamp = m->time.us / 1000, given = given_ms(m);

    for (size_t i = 0; i < m->change->row.cell_count; i++) {
        const struct wr_cell *cell = &m->change->row.cells[i], *old;

        if ((cell->op != WR_CELL_PUT && cell->op != WR_CELL_INCREMENT) ||
            cell->timestamp_ms != WR_TIMESTAMP_NONE)
            continue;
        old = newest(w, cell->name);
        if (old && old->timestamp_ms >= stamp && old->timestamp_ms <= given)
            stamp = old->timestamp_ms + (distinct && old->timestamp_ms < m->time.versions_to_ms);
    }
    return stamp;
}

/* Drops what MaxVersions and TTL hide: it is at hand, so it need not be stored again. A row that is
 * written with cells of which none is left has expired as it was written, and is not there. */
static size_t modify_trim(const struct modify *m, struct wr_cell *cells, size_t count)
{
    return visible_cells(&m->table->schema.d.options, m->now_ms, cells, count, cells);
}

/* The request changes the column more than once. */
static bool is_repeated(struct ctx *c, const struct modify *m, struct working *w, bytes name)
{
    const bytes *names = asked_names(c, m, w), *end = names + m->change->row.cell_count;
    const bytes *at = names_find(names, m->change->row.cell_count, name);

    return at && at + 1 < end && bytes_equal(at[1], name);
}

/* What is answered with success is in the row: nothing hides a put with a stamp of ours but a later
 * stamp of a client's, or the request itself. Anything else is a fault of this program, and must
 * not be acknowledged. */
static int check_kept(struct ctx *c, const struct modify *m, struct working *w)
{
    for (size_t i = 0; i < m->change->row.cell_count; i++) {
        const struct wr_cell *cell = &m->change->row.cells[i], *top;

        if (cell->op != WR_CELL_PUT || cell->timestamp_ms != WR_TIMESTAMP_NONE)
            continue;
        top = cells_find(w->cells, w->count, cell->name);
        if (top && (top->timestamp_ms == m->stamp_ms || top->timestamp_ms > given_ms(m)))
            continue;
        if (!is_repeated(c, m, w, cell->name))
            return fail(c, E_INTERNAL,
                        "The put of column '%.*s' at %lld would be lost below an older one.",
                        BYTES_FMT(cell->name), (long long)m->stamp_ms);
    }
    return E_OK;
}

/* update_full_row: the newest version of every column the request does not touch is written again.
 */
static void rewrite_untouched(struct ctx *c, const struct modify *m, struct working *w)
{
    const bytes *names = asked_names(c, m, w);

    for (size_t i = 0; i < w->old_count; i++) {
        struct wr_cell cell = w->cells[i];

        if (cell.apart) /* is not written again for the sake of its stamp */
            continue;
        if ((i && bytes_equal(cell.name, w->cells[i - 1].name)) ||
            names_find(names, m->change->row.cell_count, cell.name))
            continue;
        cell.crc8_known = false;
        working_add(w, NULL, stored_cell(&cell, &cell.value, m->stamp_ms));
    }
}

static int64_t stamp_of(const struct modify *m, const struct wr_cell *cell)
{
    return cell->timestamp_ms == WR_TIMESTAMP_NONE ? m->stamp_ms : cell->timestamp_ms;
}

static int run_update(struct ctx *c, struct modify *m, bool exists)
{
    const struct wr_row *asked = &m->change->row;
    const struct row *old = &m->old;
    size_t old_count = exists ? old->cell_count : 0;
    bool full = m->table->schema.d.options.update_full_row;
    struct working w;
    bool puts = false;
    size_t n;

    working_init(c, &w, old_count * (full ? 2 : 1) + asked->cell_count + 1);
    /* What is hidden is gone: deleting a newer version must not bring it back. */
    w.old_count =
        visible_cells(&m->table->schema.d.options, m->now_ms, old->cells, old_count, w.cells);
    w.count = w.old_count;
    m->stamp_ms = cell_stamp(m, &w);
    for (size_t i = 0; i < asked->cell_count; i++) {
        const struct wr_cell *cell = &asked->cells[i];

        puts |= cell->op == WR_CELL_PUT || cell->op == WR_CELL_INCREMENT;
        if (cell->op == WR_CELL_INCREMENT)
            TRY(increment(c, m, &w, cell, m->stamp_ms));
        else if (cell->op == WR_CELL_PUT)
            working_add(&w, cell, stored_cell(cell, &cell->value, stamp_of(m, cell)));
    }
    m->write_units = meter_units(
        meter_change_size(&m->table->schema.d.options, &m->key, asked->cells, asked->cell_count));
    if (!exists && !puts)
        return E_OK; /* deletes alone make no row */
    if (full && exists) {
        m->read_units = meter_units(
            meter_row_size(&m->table->schema.d.options, &m->key, old->cells, old_count));
        rewrite_untouched(c, m, &w);
    }
    remove_deleted(c, asked, &w);
    n = cells_sort(w.cells, w.count);
    w.count = modify_trim(m, w.cells, n);
    TRY(check_kept(c, m, &w));
    m->row = (struct row){.there = w.count || !n || !puts || (exists && old->wide),
                          .wide = exists && old->wide,
                          .id = exists && old->wide ? old->id : 0,
                          .cells = w.cells,
                          .cell_count = w.count};
    m->changed = true;
    m->removes = !puts && !full;
    return E_OK;
}

static void run_put(struct ctx *c, struct modify *m)
{
    const struct wr_row *asked = &m->change->row;
    struct wr_cell *cells = arena_alloc(&c->arena, sizeof(*cells) * (asked->cell_count + 1));
    size_t n;

    for (size_t i = 0; i < asked->cell_count; i++) {
        const struct wr_cell *cell = &asked->cells[i];

        cells[i] = stored_cell(cell, &cell->value, stamp_of(m, cell));
    }
    n = cells_sort(cells, asked->cell_count);
    m->row = (struct row){.cells = cells, .cell_count = modify_trim(m, cells, n)};
    m->row.there = m->row.cell_count || !n;
    m->write_units = meter_units(
        meter_change_size(&m->table->schema.d.options, &m->key, asked->cells, asked->cell_count));
    m->changed = true;
}

static void run_delete(struct modify *m)
{
    m->write_units = meter_units(key_size(&m->key));
    /* A blind delete does not know whether there is anything: it just deletes. */
    m->changed = m->old.there || !modify_needs_old(m);
}

/* A row without cells lives from its last write. A wide row's marker stands for cells that are not
 * loaded: it is not below the newest of them, so that no row is swept that has a cell to show. */
static int64_t row_marker(const struct modify *m)
{
    int64_t marker = m->old.wide && m->old.id == m->row.id ? m->old.marker_ms : 0;

    if (!m->row.wide || (m->row.cell_count == 0 && marker == 0)) /* wide by its key alone */
        return m->stamp_ms;
    for (size_t i = 0; i < m->row.cell_count; i++)
        if (m->row.cells[i].timestamp_ms > marker)
            marker = m->row.cells[i].timestamp_ms;
    return marker;
}

/* False if the change leaves an absent row absent. */
static bool creates_row(const struct wr_row_change *change)
{
    bool puts = change->type == WR_PUT;

    for (size_t i = 0; change->type == WR_UPDATE && i < change->row.cell_count; i++)
        puts |=
            change->row.cells[i].op == WR_CELL_PUT || change->row.cells[i].op == WR_CELL_INCREMENT;
    return puts;
}

static bool has_out_of_line(const struct row *row)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].apart)
            return true;
    return false;
}

uint64_t modify_stamp(const struct modify *m)
{
    int64_t cells_us = m->stamp_ms * 1000;
    uint64_t unit = m->time.unit;
    uint64_t stamp = (uint64_t)(m->time.us > cells_us ? m->time.us : cells_us) * unit;

    uint64_t last = m->old.there && m->old.stamp > m->last_stamp ? m->old.stamp : m->last_stamp;

    if (last >= stamp)
        stamp = (last / unit + 1) * unit;
    return stamp + m->time.slot;
}

uint64_t modify_row_stamp(const struct modify *m)
{
    return m->row.there ? m->row.stamp : modify_stamp(m);
}

int modify_run(struct ctx *c, struct modify *m)
{
    bool exists = visible_row(&m->table->schema.d.options, m->now_ms, &m->old);
    size_t size;

    invariant(m->old_known || !m->old.there);
    m->read_units = m->write_units = 0;
    m->changed = m->removes = false;
    m->stamp_ms = m->time.us / 1000;
    m->row = (struct row){0};
    TRY(check_condition(c, m, exists));
    /* A client that names numbers itself (keeps_number) may have been there first. */
    if (m->generated && m->old.there)
        return fail_code(c, E_CONDITION);
    /* Only the placeholder makes a row with an auto-increment key. A number of one's own names a
     * row that must be there already, as if the condition were EXPECT_EXIST. */
    if (!m->generated && !exists && creates_row(m->change) && !m->change->keeps_number &&
        has_auto_increment(m->table)) {
        m->read_units = m->write_units = 1;
        return fail_code(c, E_CONDITION);
    }
    if (m->change->type == WR_UPDATE)
        TRY(run_update(c, m, exists));
    else if (m->change->type == WR_PUT)
        run_put(c, m);
    else
        run_delete(m);
    if (!m->changed || !m->row.there)
        return E_OK;
    m->row.stamp = modify_stamp(m);
    size = meter_row_size(&m->table->schema.d.options, &m->key, m->row.cells, m->row.cell_count);
    if (!m->row.wide &&
        (has_out_of_line(&m->row) || m->row.cell_count > (size_t)m->limits->wide_row_cells ||
         size > (size_t)m->limits->wide_row_bytes)) {
        m->row.wide = true;
        m->row.id = m->number;
    }
    m->row.marker_ms = row_marker(m);
    invariant(m->row.stamp && (!m->row.wide || m->row.id));
    return E_OK;
}

bool modify_detaches(const struct modify *m)
{
    return m->changed && m->row.there && m->row.wide && !(m->old.wide && m->old.id == m->row.id);
}

/* ---- the answer ---- */

static struct wr_cell cell_copy(struct arena *a, const struct wr_cell *cell)
{
    struct wr_cell copy = *cell;

    copy.name = arena_copy(a, cell->name);
    copy.value = value_copy(a, &cell->value);
    return copy;
}

int modify_result(struct ctx *c, const struct modify *m, struct wr_row_result *out)
{
    const struct wr_row_change *change = m->change;
    size_t n = 0, count = change->return_column_count;
    struct wr_cell *cells;
    bytes *names;

    if (change->return_type == WR_RETURN_NONE)
        return E_OK;
    out->row.key = key_copy(&c->arena, &m->key);
    if (change->return_type == WR_RETURN_KEY)
        return E_OK;
    cells = ARENA_ARRAY(&c->arena, struct wr_cell, count);
    names = ARENA_ARRAY(&c->arena, bytes, count);
    for (size_t i = 0; i < count; i++)
        names[i] = change->return_columns[i];
    names_sort(names, count);
    for (size_t i = 0; i < count; i++) {
        const struct wr_cell *cell = cells_find(m->row.cells, m->row.cell_count, names[i]);

        if (cell && (i == 0 || !bytes_equal(names[i], names[i - 1])))
            cells[n++] = cell_copy(&c->arena, cell);
    }
    out->row.cells = cells;
    out->row.cell_count = n;
    return E_OK;
}

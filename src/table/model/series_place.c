#include "table/model/series_place.h"

/* ---- where a row lies ---- */

size_t series_time_at(const struct schema *s)
{
    size_t i = 0;

    while (i < s->d.key_count && !bytes_equal(s->d.key[i].name, s->series.spec.column))
        i++;
    return i;
}

bool series_by_attribute(const struct schema *s)
{
    return series_time_at(s) == s->d.key_count;
}

static int time_refused(struct ctx *c, const struct schema *s, const struct wr_value *time)
{
    const struct wr_series_spec *spec = &s->series.spec;

    if (spec->unit != WR_SERIES_TEXT && time->type == WR_BIGINT)
        return fail(
            c, E_PARAMETER,
            "The time %lld in column '%.*s' of series '%.*s' is not in the years 1 to 9999.",
            (long long)time->integer, BYTES_FMT(spec->column), BYTES_FMT(s->d.table));
    return fail(c, E_PARAMETER, "Column '%.*s' of series '%.*s' needs %s.", BYTES_FMT(spec->column),
                BYTES_FMT(s->d.table),
                spec->unit == WR_SERIES_TEXT
                    ? "a date as text, in UTC: 2025-03-14, or 2025-03-14T08:30:00Z"
                    : "an INTEGER time");
}

static bool day_of(const struct schema *s, const struct wr_value *time, int64_t *day)
{
    enum wr_series_unit unit = s->series.spec.unit;

    if (unit == WR_SERIES_TEXT)
        return time->type == WR_VARCHAR && period_day_of_text(time->bytes, day);
    return time->type == WR_BIGINT && period_day_of_number(unit, time->integer, day);
}

int series_period_of(struct ctx *c, const struct schema *s, const struct wr_value *time,
                     int64_t *number)
{
    int64_t day;

    if (!day_of(s, time, &day))
        return time_refused(c, s, time);
    *number = period_of_day(s->series.spec.by, day);
    return E_OK;
}

/* By the row's own attribute, which names one version. */
static int place_of_cells(struct ctx *c, const struct schema *s, const struct wr_row *row,
                          int64_t *number)
{
    bytes column = s->series.spec.column;
    const struct wr_cell *found = NULL;

    for (size_t i = 0; i < row->cell_count; i++) {
        if (!bytes_equal(row->cells[i].name, column))
            continue;
        if (found || row->cells[i].op != WR_CELL_PUT)
            return fail(c, E_PARAMETER, "A row of series '%.*s' has its time in '%.*s', once.",
                        BYTES_FMT(s->d.table), BYTES_FMT(column));
        found = &row->cells[i];
    }
    if (!found)
        return fail(c, E_PARAMETER,
                    "A row of series '%.*s' needs the column '%.*s', by whose time its period is "
                    "chosen.",
                    BYTES_FMT(s->d.table), BYTES_FMT(column));
    return series_period_of(c, s, &found->value, number);
}

static int place_of_change(struct ctx *c, const struct schema *s,
                           const struct wr_row_change *change, int64_t *number)
{
    if (change->type != WR_PUT)
        return fail(c, E_UNSUPPORTED,
                    "Series '%.*s' has its time in an attribute: its rows are put, and go with "
                    "their period.",
                    BYTES_FMT(s->d.table));
    if (change->condition.existence != WR_IGNORE || change->condition.column)
        return fail(c, E_UNSUPPORTED,
                    "Series '%.*s' has its time in an attribute: its rows are put without a "
                    "condition.",
                    BYTES_FMT(s->d.table));
    return place_of_cells(c, s, &change->row, number);
}

int series_place(struct ctx *c, const struct schema *s, const struct wr_key *key,
                 const struct wr_row_change *change, enum series_place *place, int64_t *number)
{
    size_t at = series_time_at(s);
    const struct wr_key_column *time;

    *number = PERIOD_NONE;
    *place = at < s->d.key_count || change ? SERIES_PERIOD : SERIES_UNKNOWN;
    if (key->count != s->d.key_count) {
        *place = SERIES_NO_ROW;
        return E_OK;
    }
    if (at == s->d.key_count)
        return change ? place_of_change(c, s, change, number) : E_OK;
    time = &key->columns[at];
    if (!bytes_equal(time->name, s->d.key[at].name) || time->value.type != s->d.key[at].type) {
        *place = SERIES_NO_ROW;
        return E_OK;
    }
    return series_period_of(c, s, &time->value, number);
}

/* A text that is no date, or an infinity, says nothing. */
static int64_t bound_of(const struct schema *s, const struct wr_value *time, int64_t unknown)
{
    int64_t day;

    return day_of(s, time, &day) ? period_of_day(s->series.spec.by, day) : unknown;
}

static bool equal_column(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type ||
        (a->type != WR_BIGINT && a->type != WR_VARCHAR && a->type != WR_VARBINARY))
        return false;
    return a->type == WR_BIGINT ? a->integer == b->integer : bytes_equal(a->bytes, b->bytes);
}

void series_bounds(const struct schema *s, const struct wr_key *low, const struct wr_key *high,
                   int64_t *first, int64_t *last)
{
    size_t at = series_time_at(s);

    *first = INT64_MIN;
    *last = INT64_MAX;
    if (low->count <= at || high->count <= at)
        return;
    for (size_t i = 0; i < at; i++)
        if (!equal_column(&low->columns[i].value, &high->columns[i].value))
            return;
    if (s->d.key[at].descending) {
        const struct wr_key *later = low;

        low = high;
        high = later;
    }
    *first = bound_of(s, &low->columns[at].value, INT64_MIN);
    *last = bound_of(s, &high->columns[at].value, INT64_MAX);
}

int series_check_write(struct ctx *c, const struct schema *s, int64_t number)
{
    return number >= s->series.frozen && number >= s->series.gone
               ? E_OK
               : series_refuse_write(c, s, number);
}

int series_refuse_write(struct ctx *c, const struct schema *s, int64_t number)
{
    char name[PERIOD_TEXT_BYTES];

    period_name(s->series.spec.by, number, name);
    return fail(c, E_PARAMETER, "Period %s of series '%.*s' %s: it takes no writes.", name,
                BYTES_FMT(s->d.table), number < s->series.gone ? "was dropped" : "is read-only");
}

/* ---- tables of periods ---- */

bytes series_table_name(struct arena *a, const struct schema *s, int64_t number)
{
    char name[PERIOD_TEXT_BYTES];

    period_name(s->series.spec.by, number, name);
    return arena_printf(a, "%.*s@%s", BYTES_FMT(s->d.table), name);
}

struct schema *series_new_table(struct ctx *c, const struct schema *s, uint32_t id, int64_t number)
{
    const struct wr_table_description *d = &s->d;
    struct wr_partition_range *ranges =
        ARENA_ARRAY(&c->arena, struct wr_partition_range, d->split_count + 1);
    struct wr_create_table t = {.table = series_table_name(&c->arena, s, number),
                                .key = d->key,
                                .key_count = d->key_count,
                                .defined = d->defined,
                                .defined_count = d->defined_count,
                                .options = d->options,
                                .reserved = d->reserved,
                                .sse = d->sse,
                                .layout = layout_format(&c->arena, &s->location.layout, d->key)};
    struct schema *table;

    for (size_t i = 0; i < d->split_count; i++)
        ranges[i].end = d->splits[i];
    t.partitions = ranges;
    t.partition_count = d->split_count ? d->split_count + 1 : 0;
    table = schema_from_create(c, id, s->instance, &t);
    table->period = (struct schema_period){.series = s->id, .number = number};
    return table;
}

void series_follow(struct schema *table, const struct schema *s)
{
    table->d.options = s->d.options;
    table->d.defined = s->d.defined;
    table->d.defined_count = s->d.defined_count;
    table->d.reserved = table->period.frozen ? s->series.spec.warm_reserved : s->d.reserved;
}

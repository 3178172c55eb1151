/* heat_report.c
 *
 * All bounds that occur in the time asked for divide the key space into pieces, the smallest ranges
 * that can be told apart. Rows are runs of pieces, chosen so that each takes about the same share
 * of the traffic. */
#include "table/stats/heat_own.h"

#include <stdlib.h>

struct report {
    const struct heat *h;
    const struct heat_query *query;
    struct heat_grid *grid;
    struct arena *a;
    uint32_t *ids;   /* start of each piece */
    uint32_t *piece; /* by number of a bound: the piece that starts there */
    size_t count;    /* pieces */
    size_t *row;     /* of each piece */
    double *weight;  /* of each piece */
};

typedef void cell_fn(struct report *r, const struct step *s, const struct heat_cell *cell);

static void each_cell(struct report *r, cell_fn *fn)
{
    const struct heat *h = r->h;
    struct step now = {.minute = r->query->minute, .minutes = 1};
    int64_t first = r->query->minute - r->query->minutes + 1;

    for (size_t i = 0; i < h->step_count; i++) {
        struct reader reader = heat_step_reader(&h->steps[i]);
        struct heat_cell cell = {0};

        if (h->steps[i].minute + h->steps[i].minutes <= first ||
            h->steps[i].minute > r->query->minute)
            continue;
        for (uint32_t k = 0; k < h->steps[i].cells; k++) {
            heat_read_cell(&reader, &cell);
            fn(r, &h->steps[i], &cell);
        }
    }
    for (size_t i = 0; i < h->early_count; i++)
        fn(r, &now, &h->early[i]);
    for (size_t i = 0; i < h->count; i++) {
        struct heat_cell cell = {h->buckets[i].start, heat_end_of(h, i), {0}};

        memcpy(cell.n, h->buckets[i].n, sizeof(cell.n));
        if (heat_counted(cell.n))
            fn(r, &now, &cell);
    }
}

static void mark_bound(struct report *r, uint32_t id)
{
    if (id == BOUND_MAX || r->piece[id])
        return;
    r->piece[id] = 1;
    r->ids[r->count++] = id;
}

static void mark_cell(struct report *r, const struct step *s, const struct heat_cell *cell)
{
    (void)s;
    mark_bound(r, cell->begin);
    mark_bound(r, cell->end);
}

static int heat_report_compare_ids(const void *x, const void *y, void *bounds)
{
    return bounds_compare(bounds, *(const uint32_t *)x, *(const uint32_t *)y);
}

static void find_pieces(struct report *r)
{
    const struct heat *h = r->h;
    size_t n = 0;

    r->piece = ARENA_ARRAY(r->a, uint32_t, h->bounds.count);
    r->ids = ARENA_ARRAY(r->a, uint32_t, h->bounds.count);
    mark_bound(r, BOUND_MIN);
    for (size_t i = 0; i < h->count; i++)
        if (heat_is_fixed(h, i))
            mark_bound(r, h->buckets[i].start);
    each_cell(r, mark_cell);
    qsort_r(r->ids, r->count, sizeof(*r->ids), heat_report_compare_ids, (void *)&h->bounds);
    /* Two numbers may stand for one key, and for one piece. */
    for (size_t i = 0; i < r->count; i++) {
        if (n && bounds_compare(&h->bounds, r->ids[n - 1], r->ids[i]) == 0)
            n--;
        r->piece[r->ids[i]] = (uint32_t)n;
        r->ids[n++] = r->ids[i];
    }
    r->count = n;
}

static size_t piece_at(const struct report *r, uint32_t id)
{
    return id == BOUND_MAX ? r->count : r->piece[id];
}

/* Shares are added where a cell begins and taken away where it ends; sums over them are weights. */
static void weigh_cell(struct report *r, const struct step *s, const struct heat_cell *cell)
{
    size_t from = piece_at(r, cell->begin), to = piece_at(r, cell->end);
    double heat = (double)heat_cell_traffic(cell), share;

    (void)s;
    if (to <= from)
        return;
    share = heat / (double)(to - from);
    r->weight[from] += share;
    r->weight[to] -= share;
}

/* Rows for pieces [from, to): about `rows` of equal weight. One piece alone may weigh more than a
 * row, so weights are cut off until what is left of them fills the rows. Returns the next row. */
static size_t limit_rows(struct report *r, size_t from, size_t to, size_t rows, size_t row)
{
    double total = 0, sum = 0, cap;
    size_t last = 0;
    bool any = false;

    if (to - from <= rows) {
        for (size_t i = from; i < to; i++)
            r->row[i] = row++;
        return row;
    }
    for (size_t i = from; i < to; i++)
        total += r->weight[i];
    cap = total;
    for (int round = 0; round < 8; round++) {
        cap = total / (double)rows;
        total = 0;
        for (size_t i = from; i < to; i++)
            total += r->weight[i] < cap ? r->weight[i] : cap;
    }
    for (size_t i = from; i < to; i++) {
        double w = r->weight[i] < cap ? r->weight[i] : cap;
        size_t at = (size_t)((sum + w / 2) / total * (double)rows);

        if (any && at != last)
            row++;
        any = true;
        last = at;
        r->row[i] = row;
        sum += w;
    }
    return row + 1;
}

static void find_rows(struct report *r)
{
    size_t ranges = 0, from = 0, rows = 0, wanted = r->query->rows;
    double total = 0, sum = 0;

    r->weight = ARENA_ARRAY(r->a, double, r->count + 1);
    r->row = ARENA_ARRAY(r->a, size_t, r->count + 1);
    each_cell(r, weigh_cell);
    for (size_t i = 0; i < r->count; i++) {
        sum += r->weight[i];
        r->weight[i] = sum > 0 ? sum : 0;
        total += r->weight[i];
        ranges += bounds_key(&r->h->bounds, r->ids[i]).len <= 1;
    }
    /* Ranges where nothing happened are to be seen, too. */
    for (size_t i = 0; i < r->count; i++)
        r->weight[i] += total / (double)r->count / 8 + 1e-9;
    if (ranges > wanted)
        ranges = 1;
    for (size_t i = 1; i <= r->count; i++)
        if (i == r->count || (ranges > 1 && bounds_key(&r->h->bounds, r->ids[i]).len <= 1)) {
            rows = limit_rows(r, from, i, wanted / ranges, rows);
            from = i;
        }
    r->grid->rows = rows;
    r->row[r->count] = rows;
}

/* Puts a cell's figures of one column into the rows it covers, by pieces. */
static void fill_rows(struct report *r, const struct heat_cell *cell, size_t column, uint64_t share,
                      uint64_t shares_before, uint64_t shares)
{
    size_t from = piece_at(r, cell->begin), to = piece_at(r, cell->end), columns = r->grid->columns;

    for (int m = 0; m < WR_HEAT_METRICS; m++) {
        uint64_t n = cell->n[m], done = 0, sum;

        if (!r->grid->values[m] || !n)
            continue;
        sum = (uint64_t)((__uint128_t)n * (shares_before + share) / shares) -
              (uint64_t)((__uint128_t)n * shares_before / shares);
        if (to <= from) /* a range of a key that was seen to be empty */
            to = from + 1;
        for (size_t i = from, next; i < to; i = next) {
            uint64_t upto;

            for (next = i + 1; next < to && r->row[next] == r->row[i];)
                next++;
            upto = (uint64_t)((__uint128_t)sum * (next - from) / (to - from));
            r->grid->values[m][r->row[i] * columns + column] += upto - done;
            done = upto;
        }
    }
}

static void heat_report_fill_cell(struct report *r, const struct step *s,
                                  const struct heat_cell *cell)
{
    int64_t first = r->grid->minute;

    for (int64_t minute = s->minute, next; minute < s->minute + s->minutes; minute = next) {
        int64_t column = (minute - first) / (int64_t)r->query->step;

        next = minute + 1;
        if (minute < first || minute > r->query->minute)
            continue;
        while (next < s->minute + s->minutes && next <= r->query->minute &&
               (next - first) / (int64_t)r->query->step == column)
            next++;
        fill_rows(r, cell, (size_t)column, (uint64_t)(next - minute),
                  (uint64_t)(minute - s->minute), s->minutes);
    }
}

void heat_report(const struct heat *h, struct arena *a, const struct heat_query *query,
                 struct heat_grid *out)
{
    struct report r = {.h = h, .query = query, .grid = out, .a = a};
    size_t row = SIZE_MAX;

    out->minute = query->minute - query->minutes + 1;
    out->columns = ((size_t)query->minutes + query->step - 1) / query->step;
    find_pieces(&r);
    find_rows(&r);
    out->starts = ARENA_ARRAY(a, bytes, out->rows);
    for (size_t i = 0; i < r.count; i++)
        if (r.row[i] != row) {
            row = r.row[i];
            out->starts[row] = arena_copy(a, bounds_key(&h->bounds, r.ids[i]));
        }
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        out->values[m] =
            query->metrics & 1u << m ? ARENA_ARRAY(a, uint64_t, out->rows * out->columns) : NULL;
    each_cell(&r, heat_report_fill_cell);
}

/* ---- maps of several processes ----
 *
 * A map is given as the keys of its pieces, ascending (their number; of each how many bytes are the
 * last one's, how many follow, these bytes), then steps: HEAT_FLAG_STEP, minute, minutes, and the
 * step's cells as in history, their bounds numbered as the keys stand. Time and ranges of what is
 * taken may overlap what is there: a report adds up whatever covers a place. */

static void export_keys(const struct report *r, struct buf *b)
{
    bytes last = BYTES_NONE;

    buf_put_varint(b, r->count);
    for (size_t i = 0; i < r->count; i++) {
        bytes key = bounds_key(&r->h->bounds, r->ids[i]);
        size_t same = heat_common(last, key);

        buf_put_varint(b, same);
        buf_put_varint(b, key.len - same);
        buf_put_bytes(b, bytes_skip(key, same));
        last = key;
    }
}

struct giving {
    struct report r; /* first: each_cell() hands its address on */
    struct buf *b;
    int64_t minute;   /* of the last step */
    uint32_t minutes; /* 0: none has begun */
    struct heat_cell last;
};

static void export_cell(struct report *r, const struct step *s, const struct heat_cell *cell)
{
    struct giving *g = PORT_CONTAINER(r, struct giving, r);
    struct heat_cell exported = *cell;
    bool begins = s->minute != g->minute || s->minutes != g->minutes;

    if (begins) {
        buf_put_u8(g->b, HEAT_FLAG_STEP);
        buf_put_varint(g->b, (uint64_t)s->minute);
        buf_put_varint(g->b, s->minutes);
        g->minute = s->minute;
        g->minutes = s->minutes;
    }
    exported.begin = r->piece[cell->begin];
    exported.end = cell->end == BOUND_MAX ? BOUND_MAX : r->piece[cell->end];
    heat_put_cell(g->b, &exported, !begins && exported.begin == g->last.end);
    g->last = exported;
}

static void export_all(const struct heat *h, struct buf *b, const struct heat_query *query)
{
    struct giving g = {.b = b};
    struct arena a;

    arena_init(&a, NULL, 0);
    g.r = (struct report){.h = h, .query = query, .a = &a};
    find_pieces(&g.r);
    export_keys(&g.r, b);
    each_cell(&g.r, export_cell);
    arena_release(&a);
}

void heat_export(const struct heat *h, struct buf *b, int64_t minute, int minutes, size_t bytes_max)
{
    struct heat_query query = {.minute = minute, .minutes = minutes};
    size_t start = b->len;
    struct heat *coarse;

    export_all(h, b, &query);
    if (b->len - start <= bytes_max)
        return;
    coarse = heat_new(h->ranges, 0, 0);
    (void)heat_take(coarse, bytes_of(b->data + start, b->len - start));
    while (b->len - start > bytes_max && coarse->step_count) {
        for (size_t n = coarse->step_count / 2 + 1; n && heat_fold(coarse); n--)
            continue;
        b->len = start;
        export_all(coarse, b, &query);
    }
    heat_free(coarse);
}

struct taking {
    struct heat *h;
    struct reader r;
    uint32_t *ids; /* of the keys; a reference each */
    size_t count;
    struct heat_cell *cells; /* of the step that is read */
    size_t cell_count, cell_room;
    struct step step;
};

static bool take_keys(struct taking *t)
{
    uint8_t key[HEAT_KEY_BYTES];
    uint64_t count = read_varint(&t->r);

    if (t->r.bad || count > reader_left(&t->r) / 2) /* two bytes each at least */
        return false;
    t->ids = mem_alloc((count + 1) * sizeof(*t->ids));
    for (uint64_t i = 0, last = 0; i < count; i++) {
        uint64_t same = read_varint(&t->r), more = read_varint(&t->r);
        bytes rest;

        if (same > last || more > HEAT_KEY_BYTES - same)
            return false;
        rest = read_bytes(&t->r, (size_t)more);
        if (t->r.bad)
            return false;
        if (rest.len)
            memcpy(key + same, rest.ptr, rest.len);
        last = same + more;
        t->ids[t->count++] =
            last ? bounds_add(&t->h->bounds, bytes_of(key, (size_t)last)) : BOUND_MIN;
    }
    return true;
}

static void take_step_end(struct taking *t)
{
    if (!t->cell_count)
        return;
    heat_step_make(t->h, &t->step, t->cells, t->cell_count);
    *heat_steps_add(t->h) = t->step;
    t->cell_count = 0;
}

static bool take_step(struct taking *t)
{
    uint64_t minute, minutes;

    take_step_end(t);
    (void)read_u8(&t->r);
    minute = read_varint(&t->r);
    minutes = read_varint(&t->r);
    t->step = (struct step){.minute = (int64_t)minute, .minutes = (uint32_t)minutes};
    return !t->r.bad && minute < 1ull << 40 && minutes >= 1 && minutes <= HEAT_MINUTES;
}

/* `last`: as given, and then this one. */
static bool heat_report_take_one(struct taking *t, struct heat_cell *last)
{
    struct heat_cell *cell;

    heat_read_cell(&t->r, last);
    if (t->r.bad || !t->step.minutes || last->begin >= t->count ||
        (last->end != BOUND_MAX && last->end >= t->count))
        return false;
    if (t->cell_count == t->cell_room) {
        t->cell_room = t->cell_room ? t->cell_room * 2 : 64;
        t->cells = mem_realloc(t->cells, t->cell_room * sizeof(*t->cells));
    }
    cell = &t->cells[t->cell_count++];
    *cell = *last;
    cell->begin = bounds_ref(&t->h->bounds, t->ids[last->begin]);
    cell->end = last->end == BOUND_MAX ? BOUND_MAX : bounds_ref(&t->h->bounds, t->ids[last->end]);
    return true;
}

static bool take_steps(struct taking *t)
{
    struct heat_cell last = {0};

    while (reader_left(&t->r))
        if (*t->r.at & HEAT_FLAG_STEP ? !take_step(t) : !heat_report_take_one(t, &last))
            return false;
    take_step_end(t);
    return true;
}

bool heat_take(struct heat *h, bytes exported)
{
    struct taking t = {.h = h, .r = reader_of(exported)};
    size_t before = h->step_count;
    bool good = take_keys(&t) && take_steps(&t);

    if (!good) {
        for (size_t i = 0; i < t.cell_count; i++) {
            bounds_unref(&h->bounds, t.cells[i].begin);
            bounds_unref(&h->bounds, t.cells[i].end);
        }
        for (size_t i = before; i < h->step_count; i++)
            heat_step_forget(h, &h->steps[i]);
        h->step_count = before;
    }
    for (size_t i = 0; i < t.count; i++)
        bounds_unref(&h->bounds, t.ids[i]);
    mem_free(t.ids);
    mem_free(t.cells);
    return good;
}

/* heat_step.c: history.
 *
 * A step is a list of cells: a key range and what was counted there. Ranges of two steps
 * need not be the same, and within a step they may overlap: a bucket that is split before its step
 * ends leaves what it has counted as a cell of its own. So what was counted is never attributed to
 * a range narrower than the one in which it was seen. The keys of all ranges are shared (bound.h);
 * cells are stored as
 *     flags       1 << metric: its figure follows; HEAT_FLAG_NEXT: begins where the cell before
 * ended; HEAT_FLAG_CU: the CU are reads plus writes begin, end  numbers of bounds, as varints
 * (begin unless FLAG_NEXT; end plus 1, 0: BOUND_MAX) figures     varints which takes some ten bytes
 * a cell: a day of 1,000 busy buckets is about 14 MB. */
#include "table/stats/heat_own.h"

#include <stdlib.h>

#define STEP_MINUTES_MAX 60
#define CELL_BYTES_MAX 66 /* encoded */

/* ---- steps ---- */

void heat_put_cell(struct buf *b, const struct heat_cell *cell, bool follows)
{
    bool derived = cell->n[WR_HEAT_CU] == cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES];
    uint8_t flags = (uint8_t)((follows ? HEAT_FLAG_NEXT : 0) | (derived ? HEAT_FLAG_CU : 0));

    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (cell->n[m] && !(m == WR_HEAT_CU && derived))
            flags |= (uint8_t)(1u << m);
    buf_put_u8(b, flags);
    if (!follows)
        buf_put_varint(b, cell->begin);
    buf_put_varint(b, (uint32_t)(cell->end + 1));
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        if (flags & 1u << m)
            buf_put_varint(b, cell->n[m]);
}

void heat_read_cell(struct reader *r, struct heat_cell *cell)
{
    uint8_t flags = read_u8(r);

    cell->begin = flags & HEAT_FLAG_NEXT ? cell->end : (uint32_t)read_varint(r);
    cell->end = (uint32_t)read_varint(r) - 1;
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        cell->n[m] = flags & 1u << m ? read_varint(r) : 0;
    if (flags & HEAT_FLAG_CU)
        cell->n[WR_HEAT_CU] = cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES];
}

struct reader heat_step_reader(const struct step *s)
{
    return reader_of(bytes_of(s->data, s->len));
}

void heat_step_make(struct heat *h, struct step *s, const struct heat_cell *cells, size_t n)
{
    struct arena a;
    struct buf b;

    arena_init(&a, NULL, 0);
    buf_init(&b, &a, n * 12 + CELL_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        heat_put_cell(&b, &cells[i], i && cells[i].begin == cells[i - 1].end);
    s->cells = (uint32_t)n;
    s->len = (uint32_t)b.len;
    s->data = mem_alloc(b.len);
    memcpy(s->data, b.data, b.len);
    h->step_bytes += s->len;
    arena_release(&a);
}

void heat_step_forget(struct heat *h, struct step *s)
{
    struct reader r = heat_step_reader(s);
    struct heat_cell cell = {0};

    for (uint32_t i = 0; i < s->cells; i++) {
        heat_read_cell(&r, &cell);
        bounds_unref(&h->bounds, cell.begin);
        bounds_unref(&h->bounds, cell.end);
    }
    h->step_bytes -= s->len;
    mem_free(s->data);
}

static void steps_remove(struct heat *h, size_t first, size_t n)
{
    memmove(&h->steps[first], &h->steps[first + n],
            (h->step_count - first - n) * sizeof(*h->steps));
    h->step_count -= n;
}

struct step *heat_steps_add(struct heat *h)
{
    if (h->step_count == h->step_room) {
        h->step_room = h->step_room ? h->step_room * 2 : 16;
        h->steps = mem_realloc(h->steps, h->step_room * sizeof(*h->steps));
    }
    return &h->steps[h->step_count++];
}

/* All that was counted since the last step. References are taken for the caller. */
static size_t take_cells(struct heat *h, struct heat_cell *cells)
{
    size_t n = 0;

    for (size_t i = 0; i < h->count; i++)
        n += heat_take_cell(h, i, &cells[n]);
    for (unsigned i = 0; i < h->ranges; i++)
        h->tops[i].len = 0;
    if (h->early_count)
        memcpy(&cells[n], h->early, h->early_count * sizeof(*cells));
    n += h->early_count;
    h->early_count = 0;
    return n;
}

static void add_step(struct heat *h, int64_t minute)
{
    struct heat_cell *cells = mem_alloc((h->count + h->early_count) * sizeof(*cells));
    size_t n = take_cells(h, cells);

    /* A clock that was set back: time goes on where it was. */
    if (n && h->step_count) {
        const struct step *last = &h->steps[h->step_count - 1];

        if (minute < last->minute + last->minutes)
            minute = last->minute + last->minutes;
    }
    if (n) {
        struct step *s = heat_steps_add(h);

        *s = (struct step){.minute = minute, .minutes = 1};
        heat_step_make(h, s, cells, n);
    }
    mem_free(cells);
}

void heat_step(struct heat *h, int64_t minute)
{
    size_t old = 0;

    add_step(h, minute);
    while (old < h->step_count &&
           h->steps[old].minute + h->steps[old].minutes <= minute + 1 - HEAT_MINUTES)
        heat_step_forget(h, &h->steps[old++]);
    steps_remove(h, 0, old);
    heat_join_cold(h);
    for (size_t i = 0; i < h->count; i++)
        h->buckets[i].score /= 2;
    heat_fit(h);
}

/* ---- folding ---- */

static int heat_step_compare_cells(const void *x, const void *y, void *bounds)
{
    const struct heat_cell *a = x, *b = y;
    int order = bounds_compare(bounds, a->begin, b->begin);

    return order ? order : bounds_compare(bounds, a->end, b->end);
}

uint64_t heat_cell_traffic(const struct heat_cell *cell)
{
    return cell->n[WR_HEAT_READS] + cell->n[WR_HEAT_WRITES] + cell->n[WR_HEAT_REFUSED];
}

/* `to` covers both; the references of `from` are given back. */
static void cell_join(struct heat *h, struct heat_cell *to, const struct heat_cell *from)
{
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        to->n[m] += from->n[m];
    bounds_unref(&h->bounds, from->begin);
    if (bounds_compare(&h->bounds, to->end, from->end) < 0) {
        bounds_unref(&h->bounds, to->end);
        to->end = from->end;
    } else {
        bounds_unref(&h->bounds, from->end);
    }
}

/* Joins sorted cells of one range, and then those that are cold together, until no more than `want`
 * are left. */
static size_t cells_join(struct heat *h, struct heat_cell *cells, size_t n, size_t want)
{
    uint64_t total = 1;
    size_t kept = 0;

    for (size_t i = 1; i < n; i++)
        if (heat_step_compare_cells(&cells[kept], &cells[i], &h->bounds) == 0)
            cell_join(h, &cells[kept], &cells[i]);
        else
            cells[++kept] = cells[i];
    n = n ? kept + 1 : 0;
    for (size_t i = 0; i < n; i++)
        total += heat_cell_traffic(&cells[i]);
    for (uint64_t limit = total / want / 4 + 1; n > want; limit *= 2) {
        kept = 0;
        for (size_t i = 1; i < n; i++)
            if (n - (i - kept - 1) > want &&
                heat_cell_traffic(&cells[kept]) + heat_cell_traffic(&cells[i]) <= limit)
                cell_join(h, &cells[kept], &cells[i]);
            else
                cells[++kept] = cells[i];
        n = kept + 1;
    }
    return n;
}

/* Steps i and i + 1 become one. */
static void fold_pair(struct heat *h, size_t i)
{
    struct step *a = &h->steps[i], *b = a + 1, made = *a;
    struct heat_cell *cells = mem_alloc((a->cells + b->cells) * sizeof(*cells));
    size_t n = 0, want = (a->cells + b->cells + 1) / 2;

    made.minutes = (uint32_t)(b->minute + b->minutes - a->minute);
    for (struct step *s = a; s <= b; s++) {
        struct reader r = heat_step_reader(s);
        struct heat_cell cell = {0};

        for (uint32_t k = 0; k < s->cells; k++) {
            heat_read_cell(&r, &cell);
            bounds_ref(&h->bounds, cell.begin);
            bounds_ref(&h->bounds, cell.end);
            cells[n++] = cell;
        }
    }
    heat_step_forget(h, a);
    heat_step_forget(h, b);
    qsort_r(cells, n, sizeof(*cells), heat_step_compare_cells, &h->bounds);
    n = cells_join(h, cells, n, want < 16 ? 16 : want);
    heat_step_make(h, &made, cells, n);
    mem_free(cells);
    *a = made;
    steps_remove(h, i + 1, 1);
}

static uint32_t renumber(const uint32_t *map, uint32_t id)
{
    return id == BOUND_MAX ? id : map[id];
}

static void renumber_step(struct heat *h, struct step *s, const uint32_t *map)
{
    struct heat_cell *cells = mem_alloc(s->cells * sizeof(*cells)), last = {0};
    struct reader r = heat_step_reader(s);

    for (uint32_t i = 0; i < s->cells; i++) {
        heat_read_cell(&r, &last);
        cells[i] = last;
        cells[i].begin = renumber(map, last.begin);
        cells[i].end = renumber(map, last.end);
    }
    h->step_bytes -= s->len;
    mem_free(s->data);
    heat_step_make(h, s, cells, s->cells);
    mem_free(cells);
}

/* After much was forgotten: the numbers of bounds close up. */
static void compact(struct heat *h)
{
    uint32_t *map;

    if (!bounds_sparse(&h->bounds))
        return;
    map = bounds_compact(&h->bounds);
    for (size_t i = 0; i < h->count; i++) {
        h->buckets[i].start = renumber(map, h->buckets[i].start);
        for (size_t k = 0; k < HEAT_SAMPLES; k++)
            h->buckets[i].samples[k] = renumber(map, h->buckets[i].samples[k]);
    }
    for (size_t i = 0; i < h->early_count; i++) {
        h->early[i].begin = renumber(map, h->early[i].begin);
        h->early[i].end = renumber(map, h->early[i].end);
    }
    for (size_t i = 0; i < h->step_count; i++)
        renumber_step(h, &h->steps[i], map);
    mem_free(map);
}

bool heat_fold(struct heat *h)
{
    uint32_t best_minutes = STEP_MINUTES_MAX + 1;
    size_t best = 0;

    for (size_t i = 0; i + 1 < h->step_count; i++) {
        int64_t minutes = h->steps[i + 1].minute + h->steps[i + 1].minutes - h->steps[i].minute;

        if (minutes < best_minutes) {
            best_minutes = (uint32_t)minutes;
            best = i;
        }
    }
    if (best_minutes <= STEP_MINUTES_MAX) {
        fold_pair(h, best);
    } else {
        if (!h->step_count)
            return false;
        heat_step_forget(h, &h->steps[0]);
        steps_remove(h, 0, 1);
    }
    compact(h);
    return true;
}

/* rados_read.c: scan.
 *
 * A scan is a listing for each range, all in one operation and so at one point in time. Which
 * operation that is, perhaps one shared with other reads of the object, rados_gather.c decides. A
 * listing asks for about what the caller can take, by the mean size of
 * what was listed before, and a page that comes out short says that there is more.
 *
 * An omap lists forward only. A backward page is the end of a forward listing that begins at a
 * hint (rados_hints.h): a key known from an earlier survey with about as many keys behind it as are
 * wanted. If the listing does not reach the end of the range, or finds nothing though there may be
 * more below the hint, a survey (a listing of keys alone) makes new hints and the walk begins
 * again. A survey comes once a partition and whenever it has changed much. */
#include "engine/rados.h"

#include "base/invariant.h"
#include "engine/rados_hints.h"
#include "engine/rados_omap.h"

#define LISTING_MIN 16

/* What an item costs in memory, with what surrounds it. */
#define ITEM_BYTES_GUESS 512

/* Keys that a listing from a hint may hold besides those wanted: hints_before() goes two steps
 * further, and some came since. */
#define HINT_SLACK (4 * HINT_STEP)

/* Operations of one backward walk before it gives up. */
#define ROUNDS_MAX 200

enum walk_state {
    WALK_LISTING,
    WALK_SURVEY, /* keys alone, for hints */
    WALK_ENDED,
};

/* One range on its way. Bounds are in stored form. */
struct walk {
    enum walk_state state;
    bytes floor;   /* all of the range is behind it */
    bytes stop;    /* keys at or above it are outside; empty: none */
    bytes prefix;  /* of all keys of the range */
    bytes ceiling; /* where the listing or the survey began: the floor, or a hint */
    bytes after;   /* the next operation begins behind it */
    size_t asked;
    rados_omap_iter_t iter;
    unsigned char more;
    int result;
    int rounds;

    struct kv *items;
    size_t count, first, room;
    size_t bytes;
    bool more_below; /* backward: something was cut off */

    bytes *samples; /* of the survey */
    size_t sample_count, sample_room, surveyed;
};

struct scan_read {
    struct rados_read read;
    struct rados *r;
    struct ctx *c;
    struct scan *s;
    struct walk *walks;
};

static void scan_run(void *arg);

static size_t listing_size(const struct rados *r, const struct scan *s)
{
    uint64_t mean = atomic_load_explicit(&r->item_bytes, memory_order_relaxed);
    size_t n = s->bytes_max / (mean ? mean : ITEM_BYTES_GUESS) + 1;

    if (n < LISTING_MIN)
        n = LISTING_MIN;
    if (n > s->items_max + 1)
        n = s->items_max + 1;
    return n < RADOS_LISTING_MAX ? n : RADOS_LISTING_MAX;
}

static bool fits(const struct scan *s, const struct walk *w)
{
    return w->count < s->items_max && (!w->count || w->bytes <= s->bytes_max);
}

/* ---- forward ---- */

static int append(struct scan_read *read, struct walk *w, bytes key, bytes value)
{
    struct ctx *c = read->c;
    struct kv *kv;

    if (w->count == w->room) {
        size_t room = w->room ? 2 * w->room : 16;
        struct kv *items = arena_try_alloc(&c->arena, sizeof(*items) * room);

        if (!items)
            return fail_code(c, E_MEMORY);
        if (w->count)
            memcpy(items, w->items, sizeof(*items) * w->count);
        w->items = items;
        w->room = room;
    }
    kv = &w->items[w->count];
    if (!omap_key_decode(&c->arena, key, &kv->key) || !omap_value_decode(value, &value))
        return rados_damaged(c, read->s->partition);
    TRY(ctx_copy(c, value, &kv->value));
    w->bytes += kv->key.len + kv->value.len;
    w->count++;
    return E_OK;
}

/* Reads what one operation gave; *reached if that was the end of the range. */
static int take_listing(struct scan_read *read, struct walk *w, bool *reached)
{
    const struct scan *s = read->s;
    char *key, *value;
    size_t key_len, value_len, seen = 0, total = 0;

    *reached = !w->more;
    while (!rados_omap_get_next2(w->iter, &key, &value, &key_len, &value_len) && key) {
        bytes stored = bytes_of(key, key_len);

        if (w->stop.len && bytes_compare(stored, w->stop) >= 0) {
            *reached = true;
            break;
        }
        if (!s->backward && !fits(s, w)) {
            *reached = false;
            break;
        }
        seen++;
        total += key_len + value_len;
        TRY(append(read, w, stored, bytes_of(value, value_len)));
    }
    rados_note_mean(&read->r->item_bytes, total, seen);
    atomic_fetch_add(&read->r->read_bytes, total);
    return E_OK;
}

/* ---- backward ---- */

/* Where the next listing begins, and how much it may take to reach the end from there. */
static void aim(struct scan_read *read, struct walk *w)
{
    w->ceiling = rados_hints_before(read->r->hints, &read->c->arena, read->s->partition, w->floor,
                                    w->stop, w->asked);
    w->after = w->ceiling;
    w->state = WALK_LISTING;
    w->count = w->first = w->bytes = 0;
}

static void survey(struct walk *w, bytes from)
{
    w->ceiling = w->after = from;
    w->state = WALK_SURVEY;
    w->sample_count = w->surveyed = 0;
}

static bytes key_copy_z(struct arena *a, bytes key)
{
    uint8_t *z = arena_alloc(a, key.len + 1);

    memcpy(z, key.ptr, key.len);
    z[key.len] = 0;
    return bytes_of(z, key.len);
}

static void take_sample(struct arena *a, struct walk *w, bytes key)
{
    if (w->sample_count == w->sample_room) {
        size_t room = w->sample_room ? 2 * w->sample_room : 64;
        bytes *samples = ARENA_ARRAY(a, bytes, room);

        if (w->sample_count)
            memcpy(samples, w->samples, sizeof(*samples) * w->sample_count);
        w->samples = samples;
        w->sample_room = room;
    }
    w->samples[w->sample_count++] = key_copy_z(a, key);
}

static int take_survey(struct scan_read *read, struct walk *w)
{
    struct arena *a = &read->c->arena;
    char *key, *value;
    size_t key_len, value_len;
    bytes last = BYTES_NONE;
    bool reached = !w->more;

    while (!rados_omap_get_next2(w->iter, &key, &value, &key_len, &value_len) && key) {
        atomic_fetch_add(&read->r->read_bytes, key_len);
        last = bytes_of(key, key_len);
        if (w->stop.len && bytes_compare(last, w->stop) >= 0) {
            reached = true;
            break;
        }
        if (++w->surveyed % HINT_STEP == 0)
            take_sample(a, w, last);
    }
    if (!reached) {
        if (last.ptr)
            w->after = key_copy_z(a, last);
        return E_OK;
    }
    rados_hints_replace(read->r->hints, read->s->partition, w->ceiling, w->stop, w->samples,
                        w->sample_count);
    if (!w->surveyed && bytes_equal(w->ceiling, w->floor))
        w->state = WALK_ENDED;
    else
        aim(read, w);
    return E_OK;
}

/* Keeps the end of the listing that the caller can take. */
static void cut_first(const struct scan *s, struct walk *w)
{
    while (w->count - w->first > 1) {
        struct kv *kv = &w->items[w->first];
        size_t rest = w->bytes - kv->key.len - kv->value.len;

        /* The item that passes bytes_max is still given. */
        if (w->count - w->first <= s->items_max && rest <= s->bytes_max)
            break;
        w->bytes = rest;
        w->first++;
        w->more_below = true;
    }
}

static int take_backward(struct scan_read *read, struct walk *w)
{
    bool reached, at_floor = bytes_equal(w->ceiling, w->floor);

    if (++w->rounds > ROUNDS_MAX)
        return fail(read->c, E_BUSY, "The end of a range moves faster than it can be read.");
    if (w->state == WALK_SURVEY)
        return take_survey(read, w);
    TRY(take_listing(read, w, &reached));
    if (!reached) {
        survey(w, w->ceiling);
    } else if (w->count || at_floor) {
        w->more_below = w->count && !at_floor;
        cut_first(read->s, w);
        w->state = WALK_ENDED;
    } else {
        survey(w, w->floor);
    }
    return E_OK;
}

static int take_forward(struct scan_read *read, struct walk *w)
{
    bool reached;

    TRY(take_listing(read, w, &reached));
    /* Nothing though there is more cannot be, and would be asked for again. */
    if (reached || w->count)
        w->state = WALK_ENDED;
    read->s->pages[w - read->walks].more = !reached;
    return E_OK;
}

static void page_make(struct scan_read *read, size_t i)
{
    struct walk *w = &read->walks[i];
    struct page *page = &read->s->pages[i];

    invariant(w->state == WALK_ENDED && w->first <= w->count);
    page->items = w->items ? w->items + w->first : NULL;
    page->count = w->count - w->first;
    page->bytes = w->bytes;
    if (!read->s->backward)
        return;
    page->more = w->more_below;
    for (size_t a = 0, b = page->count; a + 1 < b; a++, b--) {
        struct kv kv = page->items[a];

        page->items[a] = page->items[b - 1];
        page->items[b - 1] = kv;
    }
}

static int take_pages(struct scan_read *read)
{
    for (size_t i = 0; i < read->s->range_count; i++)
        if (read->walks[i].iter)
            TRY(read->s->backward ? take_backward(read, &read->walks[i])
                                  : take_forward(read, &read->walks[i]));
    return E_OK;
}

static bool all_ended(const struct scan_read *read)
{
    for (size_t i = 0; i < read->s->range_count; i++)
        if (read->walks[i].state != WALK_ENDED)
            return false;
    return true;
}

static void iters_free(struct scan_read *read)
{
    for (size_t i = 0; i < read->s->range_count; i++) {
        if (read->walks[i].iter)
            rados_omap_get_end(read->walks[i].iter);
        read->walks[i].iter = NULL;
    }
}

static void scan_finish(struct scan_read *read, int code)
{
    struct rados *r = read->r;
    struct scan *s = read->s;

    for (size_t i = 0; i < s->range_count && !code; i++)
        page_make(read, i);
    s->code = code;
    mem_free(read);
    s->done(s);
    rados_release(r);
}

/* The first of its steps that failed though the operation did not. */
static int step_result(const struct scan_read *read)
{
    for (size_t i = 0; i < read->s->range_count; i++)
        if (read->walks[i].iter && read->walks[i].result < 0)
            return read->walks[i].result;
    return 0;
}

static void on_scan(struct rados_read *base, int result, bytes stored)
{
    struct scan_read *read = PORT_CONTAINER(base, struct scan_read, read);
    int code;

    (void)stored;
    code = rados_read_code(read->r, result ? result : step_result(read));
    if (!code)
        code = take_pages(read);
    iters_free(read);
    if (!code && !all_ended(read))
        scan_run(read);
    else
        scan_finish(read, code);
}

static void add_listings(struct rados_read *base, rados_read_op_t op)
{
    struct scan_read *read = PORT_CONTAINER(base, struct scan_read, read);
    const struct scan *s = read->s;

    for (size_t i = 0; i < s->range_count; i++) {
        struct walk *w = &read->walks[i];

        invariant(!w->iter);
        if (w->state == WALK_LISTING)
            rados_read_op_omap_get_vals2(op, w->after.ptr, w->prefix.ptr,
                                         s->backward ? w->asked + HINT_SLACK : w->asked, &w->iter,
                                         &w->more, &w->result);
        else if (w->state == WALK_SURVEY)
            rados_read_op_omap_get_keys2(op, w->after.ptr, RADOS_LISTING_MAX, &w->iter, &w->more,
                                         &w->result);
    }
}

/* A backward walk may list far more than it was asked for. */
static int scan_send(struct scan_read *read)
{
    struct rados_read *base = &read->read;
    uint64_t mean = atomic_load_explicit(&read->r->item_bytes, memory_order_relaxed);

    base->id = read->s->partition;
    base->alone = read->s->backward;
    base->size = 0;
    for (size_t i = 0; i < read->s->range_count; i++)
        base->size += read->walks[i].asked * (size_t)(mean ? mean : ITEM_BYTES_GUESS);
    base->add = add_listings;
    base->done = on_scan;
    return rados_read_ask(read->r, base);
}

/* Sends the next operation, or parks behind batches that the scan must see. */
static void scan_run(void *arg)
{
    struct scan_read *read = arg;
    int result;

    if (read->s->view == VIEW_LATEST &&
        rados_pending_scan(read->r, read->s, scan_run, read) == PENDING_WAITS)
        return;
    result = scan_send(read);
    if (result) {
        iters_free(read);
        scan_finish(read, rados_read_code(read->r, result));
    }
}

static void walk_begin(struct scan_read *read, size_t i)
{
    const struct key_range *range = &read->s->ranges[i];
    struct walk *w = &read->walks[i];
    struct arena *a = &read->c->arena;

    w->floor = range->start.len ? omap_before(a, range->start) : BYTES_LIT(OMAP_FIRST);
    w->stop = range->end.len ? omap_key(a, range->end) : BYTES_NONE;
    w->prefix = omap_prefix(a, range->start, range->end);
    w->asked = listing_size(read->r, read->s);
    w->ceiling = w->after = w->floor;
    if (range->end.len && bytes_compare(range->start, range->end) >= 0)
        w->state = WALK_ENDED;
    else if (read->s->backward)
        aim(read, w);
}

int rados_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct scan_read *read;

    if (!s->range_count)
        return E_OK;
    read = mem_zalloc(sizeof(*read));
    *read = (struct scan_read){
        .r = r, .c = c, .s = s, .walks = ARENA_ARRAY(&c->arena, struct walk, s->range_count)};
    for (size_t i = 0; i < s->range_count; i++)
        walk_begin(read, i);
    if (all_ended(read)) {
        mem_free(read);
        return E_OK;
    }
    rados_hold(r);
    scan_run(read);
    return E_LATER;
}

/* route.c
 *
 * A table's traffic (partition.h) keeps its newest map, whichever description a request holds; a
 * call looks there under a lock that is held for the search alone. The router is one thread. It has
 * the descriptions of tables whose requests are parked read again, ever less often. It takes no row
 * lock and waits for nobody. */
#include "table/catalog/route.h"

#include "base/invariant.h"
#include "base/service.h"
#include "base/thread.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"
#include "table/model/layout.h"
#include "table/sync/wait.h"

#define POLL_MS_MIN 2
#define POLL_MS_MAX 50

struct router {
    struct wr_db *db;
    struct service service;
    struct route_wait *list; /* under its lock */
};

/* ---- the map ---- */

/* Where a key stands among a map's bounds. */
struct position {
    uint8_t bucket;
    bytes cols;
    bool open; /* behind all of the bucket */
};

static struct position position_of(bytes key)
{
    invariant(key.len >= KEY_PREFIX_BYTES);
    return (struct position){bytes_u8(key)[4], bytes_skip(key, KEY_PREFIX_BYTES), false};
}

/* Is the bound below the position (or at it, if `equal`)? */
static bool bound_below(bytes bound, const struct position *s, bool equal)
{
    int r;

    if (!bound.len)
        return true;
    if (*bytes_u8(bound) != s->bucket)
        return *bytes_u8(bound) < s->bucket;
    if (s->open)
        return true;
    r = bytes_compare(bytes_skip(bound, 1), s->cols);
    return r < 0 || (equal && r == 0);
}

/* The partition that a position is in: its page first. */
static size_t route_index(const struct partition_map *m, const struct position *s, bool equal)
{
    size_t low = 0, high = m->page_count;
    const struct map_slot *slot;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (bound_below(m->slots[middle].page->at[0].start, s, equal))
            low = middle;
        else
            high = middle;
    }
    slot = &m->slots[low];
    for (low = 0, high = slot->page->count; high - low > 1;) {
        size_t middle = low + (high - low) / 2;

        if (bound_below(slot->page->at[middle].start, s, equal))
            low = middle;
        else
            high = middle;
    }
    assert(bound_below(slot->page->at[low].start, s, equal));
    return slot->first + low;
}

/* Where all positions lie, by one map; false: in several partitions. */
static bool route_positions(const struct table *t, const struct position *positions, size_t count,
                            partition_id *out)
{
    struct traffic *traffic = t->traffic;
    bool same = true;

    *out = t->schema.location.id;
    if (!traffic->route)
        return true;
    pthread_rwlock_rdlock(&traffic->route_lock);
    for (size_t i = 0; i < count && same; i++) {
        const struct partition_map *m = traffic->route;
        partition_id id = partition_at(m, route_index(m, &positions[i], true))->partition->id;

        same = i == 0 || id == *out;
        *out = id;
    }
    pthread_rwlock_unlock(&traffic->route_lock);
    return same;
}

static partition_id route_position(const struct table *t, struct position position)
{
    partition_id id;

    route_positions(t, &position, 1, &id);
    return id;
}

partition_id route_find(const struct table *t, bytes key)
{
    return route_position(t, position_of(key));
}

partition_id route_bound(struct arena *a, const struct table *t, bytes key, bytes *start)
{
    struct position position = position_of(key);
    partition_id id = t->schema.location.id;
    struct traffic *traffic = t->traffic;
    const struct partition_at *at;

    *start = BYTES_NONE;
    if (!traffic->route)
        return id;
    pthread_rwlock_rdlock(&traffic->route_lock);
    at = partition_at(traffic->route, route_index(traffic->route, &position, true));
    id = at->partition->id;
    *start = arena_copy(a, at->start);
    pthread_rwlock_unlock(&traffic->route_lock);
    return id;
}

static struct position position_of_row(const struct location *p, bytes cols)
{
    return (struct position){p->layout.form == LAYOUT_PLAIN ? 0 : layout_bucket(p, cols), cols,
                             false};
}

partition_id route_find_row(const struct table *t, bytes cols)
{
    const struct location *p = &t->schema.location;

    if (!t->traffic->route)
        return p->id;
    return route_position(t, position_of_row(p, cols));
}

bool route_find_rows(const struct table *t, const bytes *cols, size_t count, partition_id *out)
{
    struct position *positions;
    bool same;

    *out = t->schema.location.id;
    if (!t->traffic->route)
        return true;
    positions = mem_alloc(count * sizeof(*positions));
    for (size_t i = 0; i < count; i++)
        positions[i] = position_of_row(&t->schema.location, cols[i]);
    same = route_positions(t, positions, count, out);
    mem_free(positions);
    return same;
}

/* ---- parking ---- */

void route_wait(struct route_wait *w)
{
    struct router *r = w->table->db->router;

    invariant(r && w->run);
    w->since_ms = clock_mono_ms(&r->db->clock);
    pthread_mutex_lock(&r->service.lock);
    w->next = r->list;
    r->list = w;
    pthread_cond_signal(&r->service.woken);
    pthread_mutex_unlock(&r->service.lock);
}

void route_pause(struct route_wait *w, int64_t ms)
{
    w->pause_ms = ms;
    route_wait(w);
}

/* ---- get ---- */

struct routed_get {
    struct get part; /* what the engine is asked */
    struct get *whole;
    struct ctx *c;
    const struct table *table;
    struct route_wait wait;
};

static void get_end(struct routed_get *rg, int code)
{
    rg->whole->code = code;
    rg->whole->found = rg->part.found;
    rg->whole->value = rg->part.value;
    rg->whole->durable = rg->part.durable;
}

static void route_get_done(struct get *g);

static int get_ask(struct routed_get *rg)
{
    int code;

    rg->part = *rg->whole;
    rg->part.partition = route_find(rg->table, rg->part.key);
    rg->part.done = route_get_done;
    code = engine_get(rg->c, rg->table->db->engine, &rg->part);
    if (code != E_LATER)
        get_end(rg, code);
    return code;
}

static void get_go_on(struct route_wait *w, int code)
{
    struct routed_get *rg = PORT_CONTAINER(w, struct routed_get, wait);

    if (!code)
        code = get_ask(rg);
    if (code == E_LATER)
        return;
    rg->whole->code = code;
    rg->whole->done(rg->whole);
}

static void route_get_done(struct get *g)
{
    struct routed_get *rg = PORT_CONTAINER(g, struct routed_get, part);

    if (g->code == E_PARTITION) {
        rg->wait = (struct route_wait){
            .table = rg->table, .key = g->key, .tried = g->partition, .run = get_go_on};
        route_wait(&rg->wait);
        return;
    }
    get_end(rg, g->code);
    rg->whole->done(rg->whole);
}

int route_get(struct ctx *c, const struct table *t, struct get *g)
{
    struct routed_get *rg;

    if (!t->traffic->route) {
        g->partition = t->schema.location.id;
        return engine_get(c, t->db->engine, g);
    }
    rg = ARENA_NEW(&c->arena, struct routed_get);
    rg->whole = g;
    rg->c = c;
    rg->table = t;
    return get_ask(rg);
}

/* ---- scan ---- */

/* The part of a range that lies in one partition. */
struct piece {
    partition_id id;
    struct key_range range;
    bool last; /* the walk's range ends with it */
};

static bytes bound_key(struct arena *a, bytes like, bytes bound)
{
    uint8_t *p = arena_alloc(a, KEY_PREFIX_BYTES + bound.len);

    memcpy(p, like.ptr, KEY_PREFIX_BYTES);
    memcpy(p + KEY_PREFIX_BYTES, bytes_u8(bound) + 1, bound.len - 1);
    return bytes_of(p, KEY_PREFIX_BYTES + bound.len - 1);
}

/* The first piece of a range in the direction of the walk. */
static struct piece piece_of(struct arena *a, const struct table *t, const struct key_range *range,
                             bool backward)
{
    struct traffic *traffic = t->traffic;
    struct piece piece = {.range = *range};
    struct position position = position_of(range->start);
    const struct partition_map *r;
    const struct partition_at *at;
    size_t i;

    if (backward) {
        position.open = !bytes_starts(range->end, bytes_of(range->start.ptr, KEY_PREFIX_BYTES));
        position.cols = position.open ? BYTES_NONE : bytes_skip(range->end, KEY_PREFIX_BYTES);
    }
    pthread_rwlock_rdlock(&traffic->route_lock);
    r = traffic->route;
    i = route_index(r, &position, !backward);
    at = partition_at(r, i);
    piece.id = at->partition->id;
    if (at->start.len && *bytes_u8(at->start) == position.bucket) {
        bytes low = bound_key(a, range->start, at->start);

        if (bytes_compare(low, range->start) > 0)
            piece.range.start = low;
    }
    at = i + 1 < r->count ? partition_at(r, i + 1) : NULL;
    if (at && *bytes_u8(at->start) == position.bucket) {
        bytes high = bound_key(a, range->start, at->start);

        if (bytes_compare(high, range->end) < 0)
            piece.range.end = high;
    }
    pthread_rwlock_unlock(&traffic->route_lock);
    assert(bytes_compare(piece.range.start, piece.range.end) < 0);
    piece.last = backward ? piece.range.start.ptr == range->start.ptr
                          : piece.range.end.ptr == range->end.ptr;
    return piece;
}

/* One range of the caller's on its way. */
struct leg {
    enum leg_state {
        LEG_OPEN,
        LEG_AIMED, /* `piece` is asked for next */
        LEG_ENDED
    } state;
    struct key_range left;
    struct piece piece;
};

struct routed_scan {
    struct scan part;
    struct scan *whole;
    struct ctx *c;
    const struct table *table;
    struct leg *legs;
    size_t *asked; /* legs in part.ranges, in order */
    struct key_range *ranges;
    struct page *pages;
    struct route_wait wait;
};

static void route_scan_done(struct scan *s);

/* What is asked next: a leg and all others that begin in the same partition. A leg that goes on
 * with a page half full is asked for alone, as it wants less than the others. False: all have
 * ended. */
static bool scan_choose(struct routed_scan *rs)
{
    const struct scan *whole = rs->whole;
    bool half = false;

    rs->part = *whole;
    rs->part.range_count = 0;
    rs->part.ranges = rs->ranges;
    rs->part.pages = rs->pages;
    rs->part.done = route_scan_done;
    for (size_t i = 0; i < whole->range_count && !half; i++) {
        struct leg *leg = &rs->legs[i];
        const struct page *page = &whole->pages[i];

        if (leg->state == LEG_ENDED || (page->count && rs->part.range_count))
            continue;
        if (leg->state == LEG_OPEN)
            leg->piece = piece_of(&rs->c->arena, rs->table, &leg->left, whole->backward);
        leg->state = LEG_AIMED;
        if (rs->part.range_count && leg->piece.id != rs->part.partition)
            continue;
        half = page->count != 0;
        if (half) {
            rs->part.items_max -= page->count;
            rs->part.bytes_max -= page->bytes;
        }
        rs->part.partition = leg->piece.id;
        rs->ranges[rs->part.range_count] = leg->piece.range;
        rs->asked[rs->part.range_count++] = i;
    }
    return rs->part.range_count != 0;
}

static int page_join(struct ctx *c, struct page *to, const struct page *from)
{
    struct kv *items;

    if (!to->count) {
        *to = *from;
        return E_OK;
    }
    if (!from->count)
        return E_OK;
    items = arena_try_alloc(&c->arena, sizeof(*items) * (to->count + from->count));
    if (!items)
        return fail_code(c, E_MEMORY);
    memcpy(items, to->items, sizeof(*items) * to->count);
    memcpy(items + to->count, from->items, sizeof(*items) * from->count);
    to->items = items;
    to->count += from->count;
    to->bytes += from->bytes;
    return E_OK;
}

static int scan_take(struct routed_scan *rs)
{
    struct scan *whole = rs->whole;

    for (size_t k = 0; k < rs->part.range_count; k++) {
        struct leg *leg = &rs->legs[rs->asked[k]];
        struct page *page = &whole->pages[rs->asked[k]];
        const struct page *from = &rs->pages[k];
        bool more = from->more && from->count;

        invariant(leg->state == LEG_AIMED);
        TRY(page_join(rs->c, page, from));
        leg->state = more || leg->piece.last ? LEG_ENDED : LEG_OPEN;
        page->more = more;
        if (leg->state == LEG_ENDED)
            continue;
        if (whole->backward)
            leg->left.end = leg->piece.range.start;
        else
            leg->left.start = leg->piece.range.end;
        /* Full at the end of a partition: what comes next, nobody has looked. */
        if (page->count >= whole->items_max || (page->count && page->bytes > whole->bytes_max)) {
            leg->state = LEG_ENDED;
            page->more = true;
        }
    }
    return E_OK;
}

/* Asks and takes until all is there or the engine answers later. */
static int scan_go(struct routed_scan *rs)
{
    while (scan_choose(rs)) {
        TRY(engine_scan(rs->c, rs->table->db->engine, &rs->part)); /* E_LATER, too */
        TRY(scan_take(rs));
    }
    return E_OK;
}

static void scan_answer(struct routed_scan *rs, int code)
{
    if (!code)
        code = scan_go(rs);
    if (code == E_LATER)
        return;
    rs->whole->code = code;
    rs->whole->done(rs->whole);
}

static void scan_go_on(struct route_wait *w, int code)
{
    scan_answer(PORT_CONTAINER(w, struct routed_scan, wait), code);
}

static void route_scan_done(struct scan *s)
{
    struct routed_scan *rs = PORT_CONTAINER(s, struct routed_scan, part);
    int code = s->code;

    if (code == E_PARTITION) {
        const struct leg *leg = &rs->legs[rs->asked[0]];

        for (size_t i = 0; i < rs->whole->range_count; i++)
            if (rs->legs[i].state == LEG_AIMED)
                rs->legs[i].state = LEG_OPEN;
        rs->wait = (struct route_wait){.table = rs->table,
                                       .key = leg->piece.range.start,
                                       .tried = s->partition,
                                       .run = scan_go_on};
        route_wait(&rs->wait);
        return;
    }
    scan_answer(rs, code ? code : scan_take(rs));
}

int route_scan(struct ctx *c, const struct table *t, struct scan *s)
{
    struct arena *a = &c->arena;
    struct routed_scan *rs;

    if (!t->traffic->route) {
        s->partition = t->schema.location.id;
        return engine_scan(c, t->db->engine, s);
    }
    rs = ARENA_NEW(a, struct routed_scan);
    rs->whole = s;
    rs->c = c;
    rs->table = t;
    rs->legs = ARENA_ARRAY(a, struct leg, s->range_count);
    rs->asked = ARENA_ARRAY(a, size_t, s->range_count);
    rs->ranges = ARENA_ARRAY(a, struct key_range, s->range_count);
    rs->pages = ARENA_ARRAY(a, struct page, s->range_count);
    for (size_t i = 0; i < s->range_count; i++) {
        s->pages[i] = (struct page){0};
        rs->legs[i].left = s->ranges[i];
        if (bytes_compare(s->ranges[i].start, s->ranges[i].end) >= 0)
            rs->legs[i].state = LEG_ENDED;
        rs->legs[i].piece.last = true;
    }
    return scan_go(rs);
}

/* ---- for threads that may sleep ---- */

struct blocked {
    struct waiter waiter;
    struct route_wait wait;
};

static void blocked_run(struct route_wait *w, int code)
{
    waiter_wake(&PORT_CONTAINER(w, struct blocked, wait)->waiter, code);
}

/* Until the key lies in another partition. */
static int wait_for_map(const struct table *t, bytes key, partition_id tried)
{
    struct blocked b = {.wait = {.table = t, .key = key, .tried = tried, .run = blocked_run}};

    waiter_init(&b.waiter);
    route_wait(&b.wait);
    return waiter_wait(&b.waiter);
}

int route_get_now(struct ctx *c, const struct table *t, struct get *g)
{
    struct wait_get wg;

    return wait_get_end(&wg, g, route_get(c, t, wait_get_begin(&wg, g)));
}

int route_scan_now(struct ctx *c, const struct table *t, struct scan *s)
{
    struct wait_scan ws;

    return wait_scan_end(&ws, s, route_scan(c, t, wait_scan_begin(&ws, s)));
}

/* The partition of all keys of a batch. */
static int route_batch(struct ctx *c, const struct table *t, const struct write_batch *b,
                       partition_id *out)
{
    size_t count = b->edit_count + b->guard_count;
    struct position *positions;

    *out = t->schema.location.id;
    if (!t->traffic->route)
        return E_OK;
    positions = ARENA_ARRAY(&c->arena, struct position, count);
    for (size_t i = 0; i < count; i++)
        positions[i] =
            position_of(i < b->edit_count ? b->edits[i].key : b->guards[i - b->edit_count].key);
    if (!route_positions(t, positions, count, out))
        return fail(c, E_INTERNAL, "a batch of one row spans partitions");
    return E_OK;
}

int route_apply_now(struct ctx *c, const struct table *t, const struct write_batch *b)
{
    bytes key = b->edit_count ? b->edits[0].key : b->guards[0].key;
    struct write_batch part = *b;

    for (;;) {
        int code;

        TRY(route_batch(c, t, b, &part.partition));
        code = wait_apply(c, t->db->engine, &part);
        if (code != E_PARTITION || !t->traffic->route)
            return code;
        TRY(wait_for_map(t, key, part.partition));
    }
}

int route_erase_now(struct ctx *c, const struct table *t, const struct key_range *range)
{
    struct partition_spec spec = {.ranges = range, .range_count = 1};

    for (;;) {
        int code;

        spec.id = route_find(t, range->start);
        code = engine_erase(c, t->db->engine, &spec);
        if (code != E_PARTITION || !t->traffic->route)
            return code;
        ctx_clear(c);
        TRY(wait_for_map(t, range->start, spec.id));
    }
}

static int range_size(struct ctx *c, const struct table *t, const struct key_range *range,
                      uint64_t *out)
{
    struct key_range left = *range;
    struct piece piece = {.last = bytes_compare(range->start, range->end) >= 0};

    *out = 0;
    while (!piece.last) {
        struct partition_spec spec = {.ranges = &piece.range, .range_count = 1};
        uint64_t part = 0;
        int code;

        piece = piece_of(&c->arena, t, &left, false);
        spec.id = piece.id;
        code = engine_size(c, t->db->engine, &spec, &part);
        if (code == E_PARTITION) {
            ctx_clear(c);
            TRY(wait_for_map(t, left.start, piece.id));
            piece.last = false;
            continue;
        }
        TRY(code);
        *out += part;
        left.start = piece.range.end;
    }
    return E_OK;
}

int route_size_now(struct ctx *c, const struct table *t, const struct key_range *ranges,
                   size_t count, uint64_t *out)
{
    struct partition_spec spec = {
        .id = t->schema.location.id, .ranges = ranges, .range_count = count};

    if (!t->traffic->route)
        return engine_size(c, t->db->engine, &spec, out);
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t part;

        TRY(range_size(c, t, &ranges[i], &part));
        *out += part;
    }
    return E_OK;
}

/* ---- the thread ---- */

/* The table was dropped; with E_NOT_READY there is another one of its name. */
static bool is_gone(int code)
{
    return code == E_NOT_EXIST || code == E_NOT_READY;
}

/* One table that somebody waits for: read again, once a round. A repartition that seems to be lost
 * is the balancer's to end (balance.c): it takes the catalog's change lock, and whoever holds that
 * may wait for this thread. */
static int look_again(struct router *r, const struct table *t)
{
    struct ctx c;
    int code;

    ctx_init(&c, &r->db->clock, &r->db->log, NULL, 0);
    code = catalog_refresh(&c, t);
    if (code && !is_gone(code) && code != E_PARTITION)
        log_warn(&r->db->log, "partitions: table '%.*s': %s", BYTES_FMT(t->schema.d.table),
                 c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return is_gone(code) ? code : E_OK;
}

static bool is_answered(struct route_wait *w, int64_t now_ms, bool stop)
{
    if (w->pause_ms && !stop && now_ms - w->since_ms < w->pause_ms)
        return false;
    if (w->pause_ms)
        w->run(w, E_OK);
    else if (w->code)
        w->run(w, w->code);
    else if (route_find(w->table, w->key) != w->tried)
        w->run(w, E_OK);
    else if (stop || now_ms - w->since_ms > ROUTE_WAIT_MS)
        w->run(w, E_PARTITION);
    else
        return false;
    return true;
}

/* Answers whom it can, and gives the others back. */
static struct route_wait *sift(struct route_wait *list, int64_t now_ms, bool stop)
{
    struct route_wait *left = NULL, *next;

    for (struct route_wait *w = list; w; w = next) {
        next = w->next;
        if (is_answered(w, now_ms, stop))
            continue;
        w->next = left;
        left = w;
    }
    return left;
}

/* The age of the youngest, in ms. */
static int64_t route_round_of(struct router *r, struct route_wait **list, bool stop)
{
    int64_t now_ms = clock_mono_ms(&r->db->clock), youngest = INT64_MAX;

    *list = sift(*list, now_ms, stop);
    for (struct route_wait *w = *list; w; w = w->next) {
        int64_t age = now_ms - w->since_ms;
        bool seen = w->pause_ms != 0;
        int code;

        youngest = age < youngest ? age : youngest;
        for (struct route_wait *v = *list; v != w; v = v->next)
            seen |= v->table->traffic == w->table->traffic;
        if (seen)
            continue;
        code = look_again(r, w->table);
        for (struct route_wait *v = w; v; v = v->next)
            if (v->table->traffic == w->table->traffic)
                v->code = code;
    }
    *list = sift(*list, now_ms, stop);
    return youngest;
}

static void *router_main(void *arg)
{
    struct router *r = arg;
    struct service *service = &r->service;
    struct route_wait *list = NULL, **end;

    pthread_mutex_lock(&service->lock);
    while (!service->stop || r->list || list) {
        struct timespec until;
        int64_t age, pause_ms;
        bool stop = service->stop;

        for (end = &list; *end;)
            end = &(*end)->next;
        *end = r->list;
        r->list = NULL;
        if (!list) {
            service_wait(service, NULL);
            continue;
        }
        pthread_mutex_unlock(&service->lock);
        age = route_round_of(r, &list, stop);
        pthread_mutex_lock(&service->lock);
        if (!list)
            continue;
        pause_ms = age / 4 < POLL_MS_MIN   ? POLL_MS_MIN
                   : age / 4 > POLL_MS_MAX ? POLL_MS_MAX
                                           : age / 4;
        until = thread_time_in(pause_ms * 1000);
        if (!service->stop)
            service_wait(service, &until);
    }
    pthread_mutex_unlock(&service->lock);
    return NULL;
}

struct router *router_start(struct wr_db *db, bool *needed)
{
    struct router *r;

    *needed = !engine_one_key_space(db->engine);
    if (!*needed)
        return NULL;
    r = mem_zalloc(sizeof(*r));
    r->db = db;
    if (service_start(&r->service, "wr-router", router_main, r))
        return r;
    mem_free(r);
    return NULL;
}

void router_wake(struct router *r)
{
    if (r)
        service_wake(&r->service);
}

void router_stop(struct router *r)
{
    if (!r)
        return;
    service_stop(&r->service);
    mem_free(r);
}

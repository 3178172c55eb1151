/* rocks_read.c: gets and scans, of what is in memory or of all. */
#include "engine/rocks.h"

#include "base/invariant.h"

#define PIN_BYTES_MIN 4096 /* smaller values are copied, so that a page is not pinned for them */

/* How RocksDB says that a read has come to a block which is not in memory. */
#define INCOMPLETE "Result incomplete"

static const rocksdb_readoptions_t *cached_options(const struct entry *in)
{
    return in->view ? in->view->cached : in->handle->cached;
}

/* True: there was more to read, on the disk. The text is freed then. */
static bool ends_at_disk(char *err)
{
    if (!err || strncmp(err, INCOMPLETE, strlen(INCOMPLETE)) != 0)
        return false;
    rocksdb_free(err);
    return true;
}

/* A value that stays in the block cache until the request's arena goes. */
struct pin {
    rocksdb_pinnableslice_t *slice;
    struct cache *cache;
};

static void pin_release(void *arg)
{
    struct pin *pin = arg;

    rocksdb_pinnableslice_destroy(pin->slice);
    rocks_cache_unref(pin->cache);
}

static int give_value(struct ctx *c, struct rocks *r, rocksdb_pinnableslice_t *slice, bytes *out)
{
    size_t len;
    const char *value = rocksdb_pinnableslice_value(slice, &len);

    if (len >= PIN_BYTES_MIN) {
        struct pin *pin;

        if (c->arena.cap && (len > c->arena.cap || c->arena.used > c->arena.cap - len)) {
            rocksdb_pinnableslice_destroy(slice);
            return fail_code(c, E_MEMORY);
        }
        pin = ARENA_NEW(&c->arena, struct pin);
        pin->slice = slice;
        pin->cache = r->cache;
        atomic_fetch_add(&r->cache->refs, 1);
        arena_on_release(&c->arena, pin_release, pin);
        c->arena.used += len;
        *out = bytes_of(value, len);
        return E_OK;
    }
    *out = arena_copy(&c->arena, bytes_of(value, len));
    rocksdb_pinnableslice_destroy(slice);
    return E_OK;
}

/* What RocksDB has answered. */
static int get_take(struct ctx *c, struct rocks *r, struct get *g, rocksdb_pinnableslice_t *slice,
                    char *err)
{
    int code = E_OK;

    if (err)
        return rocks_request_fail(c, err);
    if (slice) {
        code = give_value(c, r, slice, &g->value);
        g->found = code == E_OK;
    }
    return code;
}

/* Asked for what is cached, RocksDB tells in two ways that it would have to go to the disk: by a
 * status where a block is missing, and by an empty value without a failure where the table file
 * itself is not open, as most are not after a start. A value that is really empty is read again. */
static bool get_ends_at_disk(rocksdb_pinnableslice_t *slice, char *err)
{
    size_t len;

    if (!slice)
        return ends_at_disk(err);
    rocksdb_pinnableslice_value(slice, &len);
    if (len)
        return false;
    rocksdb_pinnableslice_destroy(slice);
    return true;
}

int rocks_get_cached(struct ctx *c, struct rocks *r, struct get *g)
{
    rocksdb_pinnableslice_t *slice;
    struct entry in;
    char *err = NULL;
    int code = E_LATER;

    TRY(rocks_enter_at(c, r, g->snapshot, g->view, &in));
    slice = rocksdb_get_pinned(in.handle->db, cached_options(&in), g->key.ptr, g->key.len, &err);
    if (PORT_LIKELY(!get_ends_at_disk(slice, err)))
        code = get_take(c, r, g, slice, err);
    rocks_leave(&in);
    return code;
}

/* Past the cache, which a value that is not soon read again would not fill to any use. */
static rocksdb_pinnableslice_t *get_once(const struct entry *in, bytes key, char **err)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    rocksdb_pinnableslice_t *slice;

    if (in->view)
        rocksdb_readoptions_set_snapshot(o, in->view->snapshot);
    rocksdb_readoptions_set_fill_cache(o, 0);
    slice = rocksdb_get_pinned(in->handle->db, o, key.ptr, key.len, err);
    rocksdb_readoptions_destroy(o);
    return slice;
}

int rocks_get_now(struct ctx *c, struct rocks *r, struct get *g)
{
    rocksdb_pinnableslice_t *slice;
    struct entry in;
    char *err = NULL;
    int code;

    TRY(rocks_enter_at(c, r, g->snapshot, g->view, &in));
    if (g->once)
        slice = get_once(&in, g->key, &err);
    else
        slice = rocksdb_get_pinned(in.handle->db, in.view ? in.view->all : in.handle->latest,
                                   g->key.ptr, g->key.len, &err);
    code = get_take(c, r, g, slice, err);
    rocks_leave(&in);
    return code;
}

static int page_add(struct ctx *c, struct page *page, size_t *capacity, bytes key, bytes value)
{
    uint8_t *copy;

    if (page->count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 16;
        struct kv *items = arena_try_alloc(&c->arena, more * sizeof(*items));

        if (!items)
            return fail_code(c, E_MEMORY);
        if (page->count)
            memcpy(items, page->items, page->count * sizeof(*items));
        page->items = items;
        *capacity = more;
    }
    copy = arena_try_alloc(&c->arena, key.len + value.len);
    if (!copy)
        return fail_code(c, E_MEMORY);
    memcpy(copy, key.ptr, key.len);
    if (value.len)
        memcpy(copy + key.len, value.ptr, value.len);
    page->items[page->count++] =
        (struct kv){bytes_of(copy, key.len), bytes_of(copy + key.len, value.len)};
    page->bytes += key.len + value.len;
    return E_OK;
}

static int scan_walk(struct ctx *c, const struct scan *s, rocksdb_iterator_t *it, struct page *page)
{
    size_t capacity = 0;

    while (rocksdb_iter_valid(it)) {
        bytes key, value;

        if (page->count == s->items_max || (page->count && page->bytes > s->bytes_max)) {
            page->more = true;
            break;
        }
        key.ptr = rocksdb_iter_key(it, &key.len);
        value.ptr = rocksdb_iter_value(it, &value.len);
        TRY(page_add(c, page, &capacity, key, value));
        if (s->backward)
            rocksdb_iter_prev(it);
        else
            rocksdb_iter_next(it);
    }
    return E_OK;
}

/* Options for one range. The bounds are not copied: the range must outlive the iterator. */
rocksdb_readoptions_t *rocks_range_options(const struct key_range *range,
                                           const rocksdb_snapshot_t *snapshot)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();

    rocksdb_readoptions_set_total_order_seek(o, 1);
    if (snapshot)
        rocksdb_readoptions_set_snapshot(o, snapshot);
    if (range->start.len)
        rocksdb_readoptions_set_iterate_lower_bound(o, range->start.ptr, range->start.len);
    if (range->end.len)
        rocksdb_readoptions_set_iterate_upper_bound(o, range->end.ptr, range->end.len);
    return o;
}

void rocks_seek_start(rocksdb_iterator_t *it, const struct key_range *range)
{
    if (range->start.len)
        rocksdb_iter_seek(it, range->start.ptr, range->start.len);
    else
        rocksdb_iter_seek_to_first(it);
}

/* An iterator of what is cached that heeds range tombstones leaves keys out where it goes into a
 * table file whose first block is not cached (7.8; decision 31). So only where there are none. */
static void options_cached_range(rocksdb_readoptions_t *o)
{
    rocks_options_cached(o);
    rocksdb_readoptions_set_ignore_range_deletions(o, 1);
}

/* Records what stopped an iterator, if it was not the end. */
int rocks_iterator_end(struct ctx *c, rocksdb_iterator_t *it)
{
    char *err = NULL;

    rocksdb_iter_get_error(it, &err);
    return err ? rocks_request_fail(c, err) : E_OK;
}

/* What stopped a walk. Where the next block is not in memory the page ends before it; without an
 * item it is none (E_LATER). */
static int scan_end(struct ctx *c, rocksdb_iterator_t *it, struct page *page)
{
    char *err = NULL;

    rocksdb_iter_get_error(it, &err);
    if (!ends_at_disk(err))
        return err ? rocks_request_fail(c, err) : E_OK;
    page->more = true;
    return page->count ? E_OK : E_LATER;
}

/* `cached`: only what is in memory. */
static int scan_range(struct ctx *c, struct handle *h, const rocksdb_snapshot_t *snapshot,
                      const struct scan *s, size_t i, bool cached)
{
    const struct key_range *range = &s->ranges[i];
    struct page *page = &s->pages[i];
    rocksdb_readoptions_t *o = rocks_range_options(range, snapshot);
    rocksdb_iterator_t *it;
    int code;

    if (cached)
        options_cached_range(o);
    else if (s->bytes_max >= READAHEAD_BYTES && s->items_max > 1000)
        rocksdb_readoptions_set_readahead_size(o, READAHEAD_BYTES);
    it = rocksdb_create_iterator(h->db, o);
    if (s->backward)
        rocksdb_iter_seek_to_last(it); /* heeds the upper bound */
    else
        rocks_seek_start(it, range);
    code = scan_walk(c, s, it, page);
    invariant(page->count <= s->items_max);
    if (code == E_OK)
        code = scan_end(c, it, page);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

/* From range *at on, which then tells how far it came. */
static int scan_ranges(struct ctx *c, struct rocks *r, struct scan *s, bool cached, size_t *at)
{
    const rocksdb_snapshot_t *snapshot, *own = NULL;
    struct entry in;
    int code = E_OK;

    TRY(rocks_enter_at(c, r, s->snapshot, s->view, &in));
    if (cached && (!in.view || !rocks_tombstones_none(in.handle))) {
        rocks_leave(&in);
        return E_LATER;
    }
    /* One iterator is one point in time by itself; several need a snapshot. */
    if (!in.view && s->range_count > 1)
        own = rocksdb_create_snapshot(in.handle->db);
    snapshot = in.view ? in.view->snapshot : own;
    for (; *at < s->range_count; ++*at)
        if ((code = scan_range(c, in.handle, snapshot, s, *at, cached)) != E_OK)
            break;
    if (own)
        rocksdb_release_snapshot(in.handle->db, own);
    rocks_leave(&in);
    return code;
}

int rocks_scan_now(struct ctx *c, struct rocks *r, struct scan *s, size_t from)
{
    return scan_ranges(c, r, s, false, &from);
}

int rocks_scan_cached(struct ctx *c, struct rocks *r, struct scan *s, size_t *from)
{
    int code;

    *from = 0;
    code = scan_ranges(c, r, s, true, from);
    if (code == E_LATER && !s->snapshot) { /* what is read later is of another moment */
        memset(s->pages, 0, s->range_count * sizeof(*s->pages));
        *from = 0;
    }
    return code;
}

int rocks_visit(struct ctx *c, struct engine *e, struct visit *v)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    rocksdb_readoptions_t *o;
    rocksdb_iterator_t *it;
    struct entry in;
    char *err = NULL;
    int code = E_OK;

    TRY(rocks_enter(c, r, VIEW_DURABLE, &in));
    v->inside = &in;
    if (v->cold && !rocks_tombstones_none(in.handle)) {
        v->cold(v);
        rocks_leave(&in);
        return E_OK;
    }
    o = rocks_range_options(&v->range, in.view->snapshot);
    if (v->cold)
        options_cached_range(o);
    it = rocksdb_create_iterator(in.handle->db, o);
    if (v->backward)
        rocksdb_iter_seek_to_last(it);
    else
        rocks_seek_start(it, &v->range);
    while (rocksdb_iter_valid(it)) {
        bytes key, value;

        key.ptr = rocksdb_iter_key(it, &key.len);
        value.ptr = rocksdb_iter_value(it, &value.len);
        if (!v->take(v, key, value))
            break;
        if (v->backward)
            rocksdb_iter_prev(it);
        else
            rocksdb_iter_next(it);
    }
    rocksdb_iter_get_error(it, &err);
    if (v->cold && ends_at_disk(err))
        v->cold(v);
    else if (err)
        code = rocks_request_fail(c, err);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    rocks_leave(&in);
    return code;
}

/* The last key of the range; empty if there is none. */
int rocks_range_last(struct ctx *c, struct handle *h, const struct key_range *range, bytes *out)
{
    rocksdb_readoptions_t *o = rocks_range_options(range, NULL);
    rocksdb_iterator_t *it = rocksdb_create_iterator(h->db, o);
    int code;

    *out = BYTES_NONE;
    rocksdb_iter_seek_to_last(it);
    if (rocksdb_iter_valid(it)) {
        bytes key;

        key.ptr = rocksdb_iter_key(it, &key.len);
        *out = arena_copy(&c->arena, key);
    }
    code = rocks_iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

/* search_merge.c: brings segments of an index together. */
#include "table/search/search_merge.h"

#include "search/segment/merge.h"

#define MERGE_MIN 8     /* segments of about one size, before they become one */
#define MERGED_SHARE 32 /* of --memory, for one merged segment, where it is stored */
#define MERGED_MIN ((uint64_t)4 << 20)

/* Sizes by powers of eight: segments of one tier become one. */
static int tier(uint32_t documents)
{
    int t = 0;

    while (documents > 1000) {
        documents /= 8;
        t++;
    }
    return t;
}

uint64_t search_merged_max(struct wr_db *db)
{
    uint64_t most = db->memory.total / MERGED_SHARE;

    if (!search_stores(db))
        return UINT64_MAX;
    return most > MERGED_MIN ? most : MERGED_MIN;
}

/* What is left of it, about. */
static uint64_t live_bytes(const struct view_segment *s)
{
    return (uint64_t)((double)s->segment->len * view_segment_live(s) / s->segment->documents);
}

/* A tier with enough segments, or with as many as one may become: those, in the order of the view.
 */
static size_t choose(const struct view *v, uint64_t most, struct view_segment *out)
{
    for (int t = 0; t < 12; t++) {
        uint64_t sum = 0;
        size_t n = 0, i = 0;

        for (; i < v->count && n < MERGE_SEGMENTS_MAX; i++) {
            uint64_t size = live_bytes(&v->segments[i]);

            if (tier(view_segment_live(&v->segments[i])) > t || size > most / 2)
                continue;
            if (sum + size > most)
                break;
            sum += size;
            out[n++] = v->segments[i];
        }
        if (n >= MERGE_MIN || (n > 1 && i < v->count && sum > most / 2))
            return n;
    }
    return 0;
}

/* Merges what is held whole. */
static void merge_held(struct search_index *x, struct view_segment *from, size_t count)
{
    struct segment *merged = segment_merge(x->schema, from, count);
    struct view *now, *next;

    for (;;) {
        now = search_index_view(x);
        next = view_replace(now, from, count, merged);
        pthread_mutex_lock(&x->lock);
        if (x->view == now)
            break;
        pthread_mutex_unlock(&x->lock);
        view_release(next);
        view_release(now);
    }
    x->view = next;
    x->changed = true;
    pthread_mutex_unlock(&x->lock);
    view_release(now); /* ours */
    view_release(now); /* the index's */
    segment_release(merged);
}

static bool merge_some(struct search_index *x, struct view_segment *from, size_t count,
                       uint64_t made)
{
    struct part_set all = part_set_all(x->schema);
    struct wr_db *db = x->store.db;
    size_t held = 0;
    struct ctx c;
    int rc = E_OK;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    while (held < count && !rc) {
        rc = parts_hold(&c, from[held].segment, &all);
        held += !rc;
    }
    if (rc == E_CORRUPT)
        search_index_damaged(x, made, c.text);
    if (!rc)
        merge_held(x, from, count);
    for (size_t i = 0; i < held; i++)
        parts_drop(from[i].segment, &all);
    ctx_release(&c);
    return !rc;
}

/* Searches read little of a segment, and damage that nobody has seen would be met by the engine
 * first. So each that was there at the start is read once. False: storage gives nothing now. */
static bool check(struct search_index *x, struct segment *s, uint64_t made)
{
    static const uint64_t turn = 1 << 20;
    uint8_t *room = mem_alloc(turn);
    struct wr_db *db = x->store.db;
    struct ctx c;
    int rc = E_OK;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    for (uint64_t at = 0; at < s->len && !rc; at += turn)
        rc = s->owner->read(&c, s->owner, s, at, s->len - at < turn ? s->len - at : turn, room);
    if (rc == E_CORRUPT)
        search_index_damaged(x, made, c.text);
    ctx_release(&c);
    mem_free(room);
    s->checked = rc == E_OK || rc == E_CORRUPT;
    return s->checked;
}

/* False: there was none to be read. */
static bool check_one(struct search_index *x, const struct view *v, uint64_t made)
{
    for (size_t i = 0; i < v->count; i++) {
        struct segment *s = v->segments[i].segment;

        if (!s->owner || !s->id || s->checked)
            continue;
        return check(x, s, made);
    }
    return false;
}

bool search_merge_step(struct search_index *x)
{
    struct view_segment from[MERGE_SEGMENTS_MAX];
    uint64_t made = search_index_made(x);
    struct view *then = search_index_view(x);
    size_t count = choose(then, search_merged_max(x->store.db), from);
    bool done = !x->damaged && check_one(x, then, made);

    if (!done)
        done = count && !x->damaged && merge_some(x, from, count, made);
    view_release(then);
    return done;
}

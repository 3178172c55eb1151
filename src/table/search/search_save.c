#include "table/search/search_save.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/search/search_state.h"
#include "table/sync/wait.h"

#define SAVE_MS 3000
#define UNSAVED_SHARE 64 /* of --memory, in segments that are not stored yet */
#define UNSAVED_MIN ((uint64_t)1 << 20)

/* ---- storing ---- */

uint64_t search_unsaved_bytes(struct search_index *x)
{
    struct view *v = search_index_view(x);
    uint64_t n = 0;

    for (size_t i = 0; i < v->count; i++)
        n += v->segments[i].segment->id ? 0 : v->segments[i].segment->len;
    view_release(v);
    return n;
}

bool search_save_due(struct search_index *x)
{
    struct wr_db *db = x->store.db;
    uint64_t most = db->memory.total / UNSAVED_SHARE;

    if (!x->changed || x->phase == SEARCH_LOADING || !search_stores(db))
        return false;
    if (clock_mono_ms(&db->clock) - x->saved_ms >= SAVE_MS)
        return true;
    return search_unsaved_bytes(x) > (most > UNSAVED_MIN ? most : UNSAVED_MIN);
}

/* In the place of a segment that has been stored, and is in memory whole, comes one whose parts may
 * go. Who has a view of before goes on with that. */
static void exchange(struct search_index *x, struct segment *s)
{
    struct segment *stored;
    struct view *now, *next;
    struct arena a;

    arena_init(&a, NULL, 0);
    stored = segment_open_stored(segment_head_make(&a, s), x->schema, s->id, &x->owner,
                                 searches_cache(x->store.db->searches));
    arena_release(&a);
    invariant(stored != NULL);
    stored->checked = true; /* by what has just been stored */
    parts_fill(stored, s->image);
    for (;;) {
        now = search_index_view(x);
        next = view_exchange(now, s, stored);
        pthread_mutex_lock(&x->lock);
        if (!next || x->view == now)
            break;
        pthread_mutex_unlock(&x->lock);
        view_release(next);
        view_release(now);
    }
    if (next)
        x->view = next;
    pthread_mutex_unlock(&x->lock);
    view_release(now); /* ours */
    if (next)
        view_release(now); /* the index's */
    segment_release(stored);
}

static int store_segments(struct ctx *c, struct search_index *x, const struct view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        struct segment *s = v->segments[i].segment;
        uint64_t number;
        struct ctx part;
        int rc;

        if (s->id)
            continue;
        number = catalog_next_number(x->store.db->catalog);
        ctx_init_part(&part, c, NULL, 0);
        rc = search_store_put(&part, &x->store, number, s);
        if (rc)
            ctx_fail_part(c, &part);
        ctx_release(&part);
        TRY(rc);
        (void)fault_hit(FAULT_search_segment_stored);
        s->id = number;
        exchange(x, s);
    }
    return E_OK;
}

static struct dead *saved_dead(const struct search_index *x, uint64_t number)
{
    for (size_t i = 0; i < x->saved_count; i++)
        if (x->saved[i].number == number)
            return x->saved[i].dead;
    return NULL;
}

static void saved_free(struct search_saved *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dead_release(list[i].dead);
    mem_free(list);
}

static void note_saved(struct search_index *x, const struct view *v, uint64_t position)
{
    struct search_saved *list = mem_alloc((v->count + 1) * sizeof(list[0]));

    for (size_t i = 0; i < v->count; i++)
        list[i] = (struct search_saved){v->segments[i].segment->id, dead_ref(v->segments[i].dead)};
    saved_free(x->saved, x->saved_count);
    x->saved = list;
    x->saved_count = v->count;
    x->saved_position = position;
    x->saved_ms = clock_mono_ms(&x->store.db->clock);
}

/* The state's edit, the changed bitmaps', and those that remove small segments. */
static void add_edits(struct batch_builder *e, struct search_index *x, const struct view *v,
                      const struct search_state *now, const struct search_freed *freed,
                      size_t freed_count)
{
    struct search_state_segment *list =
        ARENA_ARRAY(e->arena, struct search_state_segment, v->count);
    struct search_state state = *now;

    for (size_t i = 0; i < v->count; i++) {
        const struct view_segment *s = &v->segments[i];

        list[i] = (struct search_state_segment){
            s->segment->id, s->segment->len, s->segment->documents, s->dead ? s->dead->count : 0};
        if (s->dead && s->dead != saved_dead(x, s->segment->id))
            search_store_gone_edit(e, &x->store, s->segment->id, s->dead, s->segment->documents);
    }
    state.segments = list;
    state.count = v->count;
    batch_add(e, EDIT_PUT, search_store_state_key(e->arena, &x->store),
              search_state_encode(e->arena, x->store.index, &state));
    for (size_t i = 0; i < freed_count; i++)
        search_store_remove_edits(e, &x->store, freed[i].number, freed[i].len);
}

/* Those that no view has any more; also of no state, once the next one is stored. */
static size_t take_freed(struct search_index *x, struct arena *a, struct search_freed **out)
{
    size_t count = x->freed_count;

    *out = ARENA_ARRAY(a, struct search_freed, count);
    if (count)
        memcpy(*out, x->freed, count * sizeof(x->freed[0]));
    x->freed_count = 0;
    return count;
}

static int store_state(struct ctx *c, struct search_index *x, const struct view *v,
                       const struct search_state *now, const struct search_freed *freed,
                       size_t freed_count)
{
    struct batch_builder e = {.arena = &c->arena};
    struct write_batch batch = {.partition = x->store.location};

    TRY(store_segments(c, x, v));
    (void)fault_hit(FAULT_search_before_state);
    add_edits(&e, x, v, now, freed, freed_count);
    batch.edits = e.items;
    batch.edit_count = e.count;
    TRY(wait_apply(c, x->store.db->engine, &batch));
    (void)fault_hit(FAULT_search_state_stored);
    note_saved(x, v, now->position);
    return E_OK;
}

/* The small ones went with the state. What cannot be removed is swept after the next start. */
static void remove_freed(struct ctx *c, struct search_index *x, const struct search_freed *freed,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (search_store_is_small(freed[i].len) ||
            !search_store_remove(c, &x->store, freed[i].number))
            continue;
        log_warn(&x->store.db->log, "search: a segment that is not needed is not removed yet: %s",
                 c->text ? c->text : "storage error");
        ctx_clear(c);
    }
}

int search_save(struct ctx *c, struct search_index *x)
{
    struct search_freed *freed;
    struct search_state now;
    size_t freed_count;
    struct view *v;
    int rc;

    invariant(x->store.location && x->phase != SEARCH_LOADING);
    pthread_mutex_lock(&x->lock);
    freed_count = take_freed(x, &c->arena, &freed);
    v = view_ref(x->view);
    x->changed = false;
    now = (struct search_state){.phase = (uint8_t)x->phase,
                                .hidden = x->hidden,
                                .position = x->position,
                                .walked = x->walked};
    pthread_mutex_unlock(&x->lock);
    rc = store_state(c, x, v, &now, freed, freed_count);
    if (rc) { /* what was freed is swept after the next start */
        pthread_mutex_lock(&x->lock);
        x->changed = true;
        pthread_mutex_unlock(&x->lock);
    }
    view_release(v);
    if (!rc)
        remove_freed(c, x, freed, freed_count);
    return rc;
}

/* ---- loading ---- */

static int load_segment(struct ctx *c, struct search_index *x, const struct search_state_segment *s,
                        struct view_segment *out)
{
    struct dead *dead = NULL;
    struct segment *segment;
    int rc = E_OK;

    if (s->gone)
        TRY(search_store_gone(c, &x->store, s->number, s->documents, &dead));
    if (dead && dead->count != s->gone)
        rc = fail(c, E_CORRUPT, "segment %llu: the bitmap of what is gone is another state's",
                  (unsigned long long)s->number);
    if (!rc)
        rc = search_store_open(c, &x->store, s->number, x->schema, &x->owner,
                               searches_cache(x->store.db->searches), &segment);
    if (rc) {
        dead_release(dead);
        return rc;
    }
    if (segment->documents != s->documents || segment->len != s->len) {
        segment->owner = NULL;
        segment_release(segment);
        dead_release(dead);
        return fail(c, E_CORRUPT, "segment %llu has other documents than the state says",
                    (unsigned long long)s->number);
    }
    *out = (struct view_segment){segment, dead};
    return E_OK;
}

/* A part of it is not a state: the segments are let go of, without being removed. */
static void release_parts(struct view_segment *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].segment->owner = NULL;
        segment_release(list[i].segment);
        dead_release(list[i].dead);
    }
}

static int load_view(struct ctx *c, struct search_index *x, const struct search_state *state,
                     struct view **out)
{
    struct view_segment *list = ARENA_ARRAY(&c->arena, struct view_segment, state->count);
    uint64_t *numbers = ARENA_ARRAY(&c->arena, uint64_t, state->count);
    size_t n = 0;
    int rc = E_OK;

    for (; n < state->count && !rc; n++) {
        numbers[n] = state->segments[n].number;
        rc = load_segment(c, x, &state->segments[n], &list[n]);
        if (rc)
            break;
    }
    if (rc) {
        release_parts(list, n);
        return rc;
    }
    /* Damage among what nobody needs is none of the index. */
    if (search_store_sweep_segments(c, &x->store, numbers, n)) {
        log_warn(&x->store.db->log, "search: what no index needs is not removed yet: %s",
                 c->text ? c->text : "storage error");
        ctx_clear(c);
    }
    *out = view_make(list, n);
    return E_OK;
}

static void take_state(struct search_index *x, const struct search_state *state, struct view *v)
{
    struct view *was;

    note_saved(x, v, state->position);
    if (state->walked.ptr)
        x->walked =
            bytes_of(memcpy(mem_alloc(state->walked.len + 1), state->walked.ptr, state->walked.len),
                     state->walked.len);
    pthread_mutex_lock(&x->lock);
    was = x->view;
    x->view = v;
    x->position = state->position;
    x->hidden = state->hidden;
    x->phase = (enum search_phase)state->phase;
    pthread_mutex_unlock(&x->lock);
    view_release(was);
}

int search_load(struct ctx *c, struct search_index *x)
{
    struct get get = {.partition = x->store.location,
                      .view = VIEW_DURABLE,
                      .key = search_store_state_key(&c->arena, &x->store)};
    struct search_state state;
    struct view *v;

    invariant(x->phase == SEARCH_LOADING);
    TRY(wait_get(c, x->store.db->engine, &get));
    if (!get.found) {
        TRY(search_store_sweep_segments(c, &x->store, NULL, 0));
        pthread_mutex_lock(&x->lock);
        x->phase = SEARCH_NEW;
        pthread_mutex_unlock(&x->lock);
        return E_OK;
    }
    TRY(search_state_decode(c, x->store.index, get.value, &state));
    if (state.phase > SEARCH_FOLLOWING)
        return fail(c, E_CORRUPT, "the state of a search index: it has no phase %d", state.phase);
    TRY(load_view(c, x, &state, &v));
    take_state(x, &state, v);
    return E_OK;
}

int search_sweep(struct ctx *c, const struct table *t)
{
    struct search_store at = {.db = t->db, .location = t->schema.change_log};
    uint64_t *numbers = ARENA_ARRAY(&c->arena, uint64_t, t->schema.search_count);

    for (size_t i = 0; i < t->schema.search_count; i++)
        numbers[i] = t->schema.searches[i].number;
    return search_store_sweep(c, &at, numbers, t->schema.search_count);
}

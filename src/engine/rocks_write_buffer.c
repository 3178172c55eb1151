/* rocks_write_buffer.c: what has been applied and not yet appended.
 *
 * Small unguarded batches are not appended one by one: they gather here, the newest edit of a key
 * in place of the one before, and go into the log as one batch: at the beginning of the committer's
 * next round, before anybody reads at VIEW_LATEST past it, before a batch that goes its own way,
 * and when it has grown large. That is one record in the log and one pass of RocksDB's for many
 * writes, no meeting of several threads inside it, and of a row that is written again and again one
 * edit a round. Nobody can tell the difference, since nothing shows before its round is synced.
 *
 * There are two buffers: one fills while the other is being appended. Appends come one after the
 * other, so the log has them in the order of their numbers.
 *
 * Pending reads. A get may ask to be given a value that stands in a buffer (get.read_pending). It
 * then learns the buffer's number and hands it on in the batch that it decides (batch.depends_on).
 * The append may still come to nothing: when the engine fails (rocks_recovery.c), or, without that,
 * when RocksDB stalls, the buffer goes through the stall queue, and that gives up. Then everything
 * up to the buffer that is filling at that moment is aborted: buffers of those numbers are not
 * appended any more, and batches that depend on them are refused, all with E_BUSY or what the
 * failure is told by. That takes along more than need be, but none too few. */
#include "engine/rocks.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "engine/committer.h"

#include <xxhash.h>

#define SLOTS 1024
#define EDITS_MAX 64                  /* of a batch that gathers */
#define BATCH_BYTES_MAX 32768         /* likewise: what is larger gains nothing by another copy */
#define BUFFER_BYTES_MAX 524288       /* is appended at once */
#define BUFFER_EDITS_MAX SLOTS        /* likewise */
#define FIRST_BYTES ((size_t)1 << 16) /* of a buffer's arena, kept */

struct buffer_edit {
    struct buffer_edit *chain; /* of its slot */
    struct buffer_edit *next;  /* in the order of their coming */
    uint64_t hash;
    enum edit_type type;
    bytes key;
    uint8_t *value;
    size_t len, room; /* of the value */
};

struct completion {
    apply_done done;
    void *arg;
};

/* The completions of a buffer on its way, which outlive it. */
struct group {
    size_t count;
    struct completion list[];
};

struct write_buffer {
    uint64_t number;
    struct arena arena;
    struct buffer_edit *slots[SLOTS];
    struct buffer_edit *first, **end;
    size_t edit_count;
    size_t bytes;   /* of all batches, also of what was written over */
    uint64_t drawn; /* the last number given to an edit in it; 0: none */
    struct group *group;
    size_t capacity; /* of the group */
    uint8_t *memory;
};

struct write_buffers {
    pthread_mutex_t append; /* held while a buffer is appended; before `lock` */
    pthread_mutex_t lock;   /* of all below */
    struct write_buffer *filling, *going;
    struct write_buffer pair[2];
    atomic_size_t count; /* batches in both; written under the lock, read without */
    atomic_size_t bytes; /* likewise */
};

static void buffer_clear(struct write_buffer *t)
{
    arena_release(&t->arena);
    arena_init(&t->arena, t->memory, FIRST_BYTES);
    if (t->edit_count)
        memset(t->slots, 0, sizeof(t->slots));
    t->first = NULL;
    t->end = &t->first;
    t->edit_count = t->bytes = 0;
    t->drawn = 0;
    t->group = NULL;
    t->capacity = 0;
}

struct write_buffers *rocks_write_buffers_new(void)
{
    struct write_buffers *x = mem_zalloc(sizeof(*x));

    pthread_mutex_init(&x->append, NULL);
    pthread_mutex_init(&x->lock, NULL);
    for (int i = 0; i < 2; i++) {
        x->pair[i].memory = mem_alloc(FIRST_BYTES);
        buffer_clear(&x->pair[i]);
    }
    x->filling = &x->pair[0];
    x->going = &x->pair[1];
    x->filling->number = 1;
    return x;
}

void rocks_write_buffers_free(struct write_buffers *x)
{
    invariant(!atomic_load(&x->count) && !atomic_load(&x->bytes));
    for (int i = 0; i < 2; i++) {
        arena_release(&x->pair[i].arena);
        mem_free(x->pair[i].memory);
    }
    pthread_mutex_destroy(&x->append);
    pthread_mutex_destroy(&x->lock);
    mem_free(x);
}

size_t rocks_write_buffer_bytes(struct rocks *r)
{
    return atomic_load(&r->write_buffers->bytes);
}

bool rocks_write_buffer_is_empty(struct rocks *r)
{
    return atomic_load(&r->write_buffers->count) == 0;
}

void rocks_write_buffer_abort(struct rocks *r)
{
    struct write_buffers *x = r->write_buffers;

    pthread_mutex_lock(&x->lock);
    atomic_store(&r->aborted_to, x->filling->number);
    if (!x->filling->group)
        x->filling->number++; /* nothing in it is aborted */
    pthread_mutex_unlock(&x->lock);
}

/* ---- filling */

static struct buffer_edit *buffer_find(const struct write_buffer *t, bytes key, uint64_t hash)
{
    struct buffer_edit *e = t->slots[hash % SLOTS];

    while (e && !(e->hash == hash && bytes_equal(e->key, key)))
        e = e->chain;
    return e;
}

static void buffer_put(struct write_buffer *t, const struct edit *edit)
{
    uint64_t hash = XXH3_64bits(edit->key.ptr, edit->key.len);
    struct buffer_edit *e = buffer_find(t, edit->key, hash);

    if (!e) {
        e = ARENA_NEW(&t->arena, struct buffer_edit);
        e->hash = hash;
        e->key = arena_copy(&t->arena, edit->key);
        e->chain = t->slots[hash % SLOTS];
        t->slots[hash % SLOTS] = e;
        *t->end = e;
        t->end = &e->next;
        t->edit_count++;
    }
    e->type = edit->type;
    e->len = edit->type == EDIT_PUT ? edit->value.len : 0;
    if (e->len > e->room) {
        e->room = e->len;
        e->value = arena_alloc(&t->arena, e->room);
    }
    if (e->len)
        memcpy(e->value, edit->value.ptr, e->len);
}

/* From here on everybody else's number is larger, and behind this one in the log. */
static void buffer_put_numbered(struct rocks *r, struct write_buffer *t, const struct edit *edit)
{
    uint8_t *key = arena_alloc(&t->arena, edit->key.len + NUMBER_BYTES);

    t->drawn = rocks_number_draw(r);
    memcpy(key, edit->key.ptr, edit->key.len);
    store_u64_be(key + edit->key.len, t->drawn);
    buffer_put(t,
               &(struct edit){EDIT_PUT, bytes_of(key, edit->key.len + NUMBER_BYTES), edit->value});
}

static void buffer_complete(struct write_buffer *t, apply_done done, void *arg)
{
    if (!t->group || t->group->count == t->capacity) {
        bool none = !t->group;

        t->capacity = none ? 32 : t->capacity * 2;
        t->group =
            mem_realloc(t->group, sizeof(*t->group) + t->capacity * sizeof(struct completion));
        if (none)
            t->group->count = 0;
    }
    t->group->list[t->group->count++] = (struct completion){done, arg};
}

bool rocks_write_buffer_takes(const struct write_batch *b, size_t size)
{
    return b->edit_count && !b->guard_count && b->edit_count <= EDITS_MAX &&
           size <= BATCH_BYTES_MAX;
}

int rocks_write_buffer_add(struct rocks *r, const struct write_batch *b, size_t size,
                           apply_done done, void *arg)
{
    struct write_buffers *x = r->write_buffers;
    struct write_buffer *t;
    bool full;
    int code;

    invariant(b->edit_count && !b->guard_count);
    pthread_mutex_lock(&x->lock);
    invariant(b->depends_on <= x->filling->number); /* nobody reads from a buffer to come */
    code = atomic_load(&r->failed);
    if (!code && rocks_is_aborted(r, b->depends_on))
        code = E_BUSY;
    if (code) {
        pthread_mutex_unlock(&x->lock);
        return code;
    }
    t = x->filling;
    for (size_t i = 0; i < b->edit_count; i++)
        if (b->edits[i].type == EDIT_PUT_NUMBERED)
            buffer_put_numbered(r, t, &b->edits[i]);
        else
            buffer_put(t, &b->edits[i]);
    buffer_complete(t, done, arg);
    t->bytes += size;
    atomic_fetch_add(&x->bytes, size);
    atomic_fetch_add(&x->count, 1);
    full = t->bytes > BUFFER_BYTES_MAX || t->edit_count > BUFFER_EDITS_MAX;
    committer_announce(r->committer); /* before anybody can append it */
    pthread_mutex_unlock(&x->lock);
    if (full)
        rocks_write_buffer_append(r);
    return E_OK;
}

bool rocks_write_buffer_get(struct ctx *c, struct rocks *r, struct get *g, int *code)
{
    struct write_buffers *x = r->write_buffers;
    uint64_t hash = XXH3_64bits(g->key.ptr, g->key.len);
    const struct buffer_edit *e;

    pthread_mutex_lock(&x->lock);
    /* What it does not find here may still be unsynced, and lost in a failure. */
    g->depends_on = x->filling->number;
    e = buffer_find(x->filling, g->key, hash);
    if (!e) {
        e = buffer_find(x->going, g->key, hash);
        if (e)
            g->depends_on = x->going->number;
    }
    if (e) {
        uint8_t *copy = arena_try_alloc(&c->arena, e->len);

        *code = copy ? E_OK : fail_code(c, E_MEMORY);
        if (copy && e->len)
            memcpy(copy, e->value, e->len);
        g->found = copy && e->type == EDIT_PUT;
        g->value = g->found ? bytes_of(copy, e->len) : BYTES_NONE;
    }
    pthread_mutex_unlock(&x->lock);
    return e != NULL;
}

/* ---- appending */

static void group_done(void *arg, int code)
{
    struct group *group = arg;

    for (size_t i = 0; i < group->count; i++)
        group->list[i].done(group->list[i].arg, code);
    mem_free(group);
}

static rocksdb_writebatch_t *buffer_batch(const struct write_buffer *t)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

    for (const struct buffer_edit *e = t->first; e; e = e->next)
        rocks_edit(edits, e->type, e->key, bytes_of(e->value, e->len));
    if (t->drawn)
        rocks_number_mark(edits, t->drawn);
    return edits;
}

void rocks_write_buffer_append(struct rocks *r)
{
    struct write_buffers *x = r->write_buffers;
    struct write w = {.done = group_done};
    struct write_buffer *t;
    int code = E_OK;

    if (rocks_write_buffer_is_empty(r))
        return;
    pthread_mutex_lock(&x->append);
    pthread_mutex_lock(&x->lock);
    t = x->filling;
    invariant(!x->going->group && x->going->number < t->number);
    x->filling = x->going;
    x->filling->number = t->number + 1;
    x->going = t;
    pthread_mutex_unlock(&x->lock);
    if (t->group) {
        w.edits = buffer_batch(t);
        w.size = t->bytes;
        w.depends_on = t->number;
        w.arg = t->group;
        w.count = w.announced = t->group->count;
        code = rocks_append(r, &w);
        if (code && !rocks_is_aborted(r, w.depends_on))
            rocks_write_buffer_abort(r); /* an aborted one took along what depends on it already */
        pthread_mutex_lock(&x->lock);
        buffer_clear(t);
        invariant(atomic_load(&x->count) >= w.count && atomic_load(&x->bytes) >= w.size);
        atomic_fetch_sub(&x->count, w.count);
        atomic_fetch_sub(&x->bytes, w.size);
        pthread_mutex_unlock(&x->lock);
    }
    pthread_mutex_unlock(&x->append);
    if (code) /* completions may come back here */
        w.done(w.arg, code);
}

void rocks_write_buffer_hold(struct rocks *r)
{
    struct write_buffers *x = r->write_buffers;

    for (;;) {
        rocks_write_buffer_append(r);
        pthread_mutex_lock(&x->append);
        pthread_mutex_lock(&x->lock);
        if (rocks_write_buffer_is_empty(r)) {
            invariant(!x->filling->group && !x->going->group);
            return;
        }
        pthread_mutex_unlock(&x->lock);
        pthread_mutex_unlock(&x->append);
    }
}

void rocks_write_buffer_release(struct rocks *r)
{
    pthread_mutex_unlock(&r->write_buffers->lock);
    pthread_mutex_unlock(&r->write_buffers->append);
}

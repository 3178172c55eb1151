/* rocks_tail.c: what has been applied and not yet appended.
 *
 * Small unguarded batches are not appended one by one: they gather here, the newest edit of a key
 * in place of the one before, and go into the log as one batch: at the beginning of the committer's
 * next round, before anybody reads at VIEW_LATEST past it, before a batch that goes its own way,
 * and when it has grown large. That is one record in the log and one pass of RocksDB's for many
 * writes, no meeting of several threads inside it, and of a row that is written again and again one
 * edit a round. Nobody can tell the difference, since nothing shows before its round is synced.
 *
 * There are two tails: one fills while the other is being appended. Appends come one after the
 * other, so the log has them in the order of their numbers.
 *
 * Early reads. A get may ask to be given a value that stands in a tail (get.early). It then learns
 * the tail's number and hands it on in the batch that it decides (batch.depends_on). The append may
 * still come to nothing: when the engine fails (rocks_mend.c), or, without that, when RocksDB
 * stalls, the tail goes through the slow lane, and that gives up. Then everything up to the tail
 * that is filling at that moment is void: tails of those numbers are not appended any more, and
 * batches that rest on them are refused, all with E_BUSY or what the failure is told by. That takes
 * along more than need be, but none too few. */
#include "engine/rocks.h"

#include "engine/committer.h"

#include <xxhash.h>

#define SLOTS 1024
#define EDITS_MAX 64                  /* of a batch that gathers */
#define BATCH_BYTES_MAX 32768         /* likewise: what is larger gains nothing by another copy */
#define TAIL_BYTES_MAX 524288         /* is appended at once */
#define TAIL_EDITS_MAX SLOTS          /* likewise */
#define FIRST_BYTES ((size_t)1 << 16) /* of a tail's arena, kept */

struct tail_edit {
    struct tail_edit *chain; /* of its slot */
    struct tail_edit *next;  /* in the order of their coming */
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

/* The completions of a tail on its way, which outlive it. */
struct convoy {
    size_t count;
    struct completion list[];
};

struct tail {
    uint64_t number;
    struct arena arena;
    struct tail_edit *slots[SLOTS];
    struct tail_edit *first, **end;
    size_t edit_count;
    size_t bytes; /* of all batches, also of what was written over */
    struct convoy *convoy;
    size_t capacity; /* of the convoy */
    uint8_t *memory;
};

struct tails {
    pthread_mutex_t append; /* held while a tail is appended; before `lock` */
    pthread_mutex_t lock;   /* of all below */
    struct tail *filling, *going;
    struct tail pair[2];
    atomic_size_t count;   /* batches in both; written under the lock, read without */
    atomic_size_t bytes;   /* likewise */
    atomic_ullong void_to; /* likewise: tails up to this number are void */
};

static void tail_clear(struct tail *t)
{
    arena_release(&t->arena);
    arena_init(&t->arena, t->memory, FIRST_BYTES);
    if (t->edit_count)
        memset(t->slots, 0, sizeof(t->slots));
    t->first = NULL;
    t->end = &t->first;
    t->edit_count = t->bytes = 0;
    t->convoy = NULL;
    t->capacity = 0;
}

struct tails *rocks_tails_new(void)
{
    struct tails *x = mem_zalloc(sizeof(*x));

    pthread_mutex_init(&x->append, NULL);
    pthread_mutex_init(&x->lock, NULL);
    for (int i = 0; i < 2; i++) {
        x->pair[i].memory = mem_alloc(FIRST_BYTES);
        tail_clear(&x->pair[i]);
    }
    x->filling = &x->pair[0];
    x->going = &x->pair[1];
    x->filling->number = 1;
    return x;
}

void rocks_tails_free(struct tails *x)
{
    for (int i = 0; i < 2; i++) {
        arena_release(&x->pair[i].arena);
        mem_free(x->pair[i].memory);
    }
    pthread_mutex_destroy(&x->append);
    pthread_mutex_destroy(&x->lock);
    mem_free(x);
}

size_t rocks_tail_bytes(struct rocks *r)
{
    return atomic_load(&r->tails->bytes);
}

bool rocks_tail_is_empty(struct rocks *r)
{
    return atomic_load(&r->tails->count) == 0;
}

bool rocks_is_void(struct rocks *r, uint64_t depends_on)
{
    return depends_on && depends_on <= atomic_load(&r->tails->void_to);
}

void rocks_tail_void(struct rocks *r)
{
    struct tails *x = r->tails;

    pthread_mutex_lock(&x->lock);
    atomic_store(&x->void_to, x->filling->number);
    if (!x->filling->convoy)
        x->filling->number++; /* nothing in it is void */
    pthread_mutex_unlock(&x->lock);
}

/* ---- filling */

static struct tail_edit *tail_find(const struct tail *t, bytes key, uint64_t hash)
{
    struct tail_edit *e = t->slots[hash % SLOTS];

    while (e && !(e->hash == hash && bytes_equal(e->key, key)))
        e = e->chain;
    return e;
}

static void tail_put(struct tail *t, const struct edit *edit)
{
    uint64_t hash = XXH3_64bits(edit->key.ptr, edit->key.len);
    struct tail_edit *e = tail_find(t, edit->key, hash);

    if (!e) {
        e = ARENA_NEW(&t->arena, struct tail_edit);
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

static void tail_complete(struct tail *t, apply_done done, void *arg)
{
    if (!t->convoy || t->convoy->count == t->capacity) {
        bool none = !t->convoy;

        t->capacity = none ? 32 : t->capacity * 2;
        t->convoy =
            mem_realloc(t->convoy, sizeof(*t->convoy) + t->capacity * sizeof(struct completion));
        if (none)
            t->convoy->count = 0;
    }
    t->convoy->list[t->convoy->count++] = (struct completion){done, arg};
}

bool rocks_tail_takes(const struct write_batch *b, size_t size)
{
    return b->edit_count && !b->guard_count && b->edit_count <= EDITS_MAX &&
           size <= BATCH_BYTES_MAX;
}

int rocks_tail_add(struct rocks *r, const struct write_batch *b, size_t size, apply_done done,
                   void *arg)
{
    struct tails *x = r->tails;
    struct tail *t;
    bool full;
    int code;

    pthread_mutex_lock(&x->lock);
    code = atomic_load(&r->failed);
    if (!code && rocks_is_void(r, b->depends_on))
        code = E_BUSY;
    if (code) {
        pthread_mutex_unlock(&x->lock);
        return code;
    }
    t = x->filling;
    for (size_t i = 0; i < b->edit_count; i++)
        tail_put(t, &b->edits[i]);
    tail_complete(t, done, arg);
    t->bytes += size;
    atomic_fetch_add(&x->bytes, size);
    atomic_fetch_add(&x->count, 1);
    full = t->bytes > TAIL_BYTES_MAX || t->edit_count > TAIL_EDITS_MAX;
    committer_announce(r->committer); /* before anybody can append it */
    pthread_mutex_unlock(&x->lock);
    if (full)
        rocks_tail_append(r);
    return E_OK;
}

bool rocks_tail_get(struct ctx *c, struct rocks *r, struct get *g, int *code)
{
    struct tails *x = r->tails;
    uint64_t hash = XXH3_64bits(g->key.ptr, g->key.len);
    const struct tail_edit *e;

    pthread_mutex_lock(&x->lock);
    /* What it does not find here may still be unsynced, and lost in a failure. */
    g->depends_on = x->filling->number;
    e = tail_find(x->filling, g->key, hash);
    if (!e) {
        e = tail_find(x->going, g->key, hash);
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

static void convoy_done(void *arg, int code)
{
    struct convoy *convoy = arg;

    for (size_t i = 0; i < convoy->count; i++)
        convoy->list[i].done(convoy->list[i].arg, code);
    mem_free(convoy);
}

static rocksdb_writebatch_t *tail_edits(const struct tail *t)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

    for (const struct tail_edit *e = t->first; e; e = e->next)
        rocks_edit(edits, e->type, e->key, bytes_of(e->value, e->len));
    return edits;
}

void rocks_tail_append(struct rocks *r)
{
    struct tails *x = r->tails;
    struct write w = {.done = convoy_done};
    struct tail *t;
    int code = E_OK;

    if (rocks_tail_is_empty(r))
        return;
    pthread_mutex_lock(&x->append);
    pthread_mutex_lock(&x->lock);
    t = x->filling;
    x->filling = x->going;
    x->filling->number = t->number + 1;
    x->going = t;
    pthread_mutex_unlock(&x->lock);
    if (t->convoy) {
        w.edits = tail_edits(t);
        w.size = t->bytes;
        w.depends_on = t->number;
        w.arg = t->convoy;
        w.count = w.announced = t->convoy->count;
        code = rocks_append(r, &w);
        if (code && !rocks_is_void(r, w.depends_on))
            rocks_tail_void(r); /* a void one took along what rests on it already */
        pthread_mutex_lock(&x->lock);
        tail_clear(t);
        atomic_fetch_sub(&x->count, w.count);
        atomic_fetch_sub(&x->bytes, w.size);
        pthread_mutex_unlock(&x->lock);
    }
    pthread_mutex_unlock(&x->append);
    if (code) /* completions may come back here */
        w.done(w.arg, code);
}

void rocks_tail_hold(struct rocks *r)
{
    struct tails *x = r->tails;

    for (;;) {
        rocks_tail_append(r);
        pthread_mutex_lock(&x->append);
        pthread_mutex_lock(&x->lock);
        if (rocks_tail_is_empty(r))
            return;
        pthread_mutex_unlock(&x->lock);
        pthread_mutex_unlock(&x->append);
    }
}

void rocks_tail_release(struct rocks *r)
{
    pthread_mutex_unlock(&r->tails->lock);
    pthread_mutex_unlock(&r->tails->append);
}

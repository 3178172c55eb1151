/* rocks_warm.c: warming the block cache after a start. Of the keys that clients read, some are
 * noted; the list goes to a file when the engine is closed, and now and then before; after a start
 * the keys in it are read once more, the newest first, so that their blocks are in the cache. Reads
 * of clients that miss the cache come first: while there are any, nothing is read here. */
#include "engine/rocks.h"

#include "engine/warm_list.h"

#define CACHE_BYTES_A_KEY 16384 /* so that the list takes less than a hundredth of the cache */
#define KEYS_MIN 1024
#define KEYS_MAX ((uint64_t)1 << 18)

struct warm_state {
    struct warm_list *noted;
    /* What is read back; the one thread's that calls rocks_warm(). */
    struct warm_list *wanted; /* NULL: all of it has been */
    size_t at;
    uint64_t cold_seen; /* of r->disk_reads */
    char *path;
};

void rocks_warm_open(struct ctx *c, struct rocks *r, uint64_t cache_bytes)
{
    size_t keys = (size_t)rocks_clamp(cache_bytes / CACHE_BYTES_A_KEY, KEYS_MIN, KEYS_MAX);
    struct warm_state *w = mem_zalloc(sizeof(*w));

    w->path = mem_strdup(arena_printf(&c->arena, "%s/WARM", r->folder.dir).ptr);
    w->noted = warm_list_new(keys);
    w->wanted = warm_list_new(keys);
    warm_list_load(c, w->wanted, w->path);
    /* Until reads take their places, what was hot is what will be remembered. */
    warm_list_load(c, w->noted, w->path);
    r->warm = w;
}

void rocks_warm_note(struct rocks *r, bytes key)
{
    warm_list_add(r->warm->noted, key);
}

bool rocks_warm_notes_all(const struct rocks *r)
{
    return !warm_list_is_full(r->warm->noted);
}

int rocks_remember(struct ctx *c, struct engine *e)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);

    if (rocks_space_short(r) || !warm_list_count(r->warm->noted))
        return E_OK;
    return warm_list_save(c, r->warm->noted, r->warm->path);
}

void rocks_warm_close(struct rocks *r)
{
    struct ctx c;

    if (!r->warm)
        return;
    ctx_init(&c, r->clock, r->log, NULL, 0);
    if (rocks_remember(&c, &r->base) != E_OK)
        log_warn(r->log, "storage: what was read last is not remembered: %s", c.text);
    ctx_release(&c);
    warm_list_free(r->warm->noted);
    warm_list_free(r->warm->wanted);
    mem_free(r->warm->path);
    mem_free(r->warm);
}

/* Reads the key's block, if it is in none. */
static int warm_key(struct ctx *c, struct rocks *r, bytes key)
{
    rocksdb_pinnableslice_t *slice;
    rocksdb_readoptions_t *o;
    struct entry in;
    char *err = NULL;

    TRY(rocks_enter(c, r, VIEW_DURABLE, &in));
    o = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(o, in.view->snapshot);
    slice = rocksdb_get_pinned(in.handle->db, o, key.ptr, key.len, &err);
    rocksdb_readoptions_destroy(o);
    if (slice)
        rocksdb_pinnableslice_destroy(slice);
    rocks_leave(&in);
    return err ? rocks_status_fail(c, err) : E_OK;
}

int rocks_warm(struct ctx *c, struct engine *e, struct warm *step)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct warm_state *w = r->warm;
    uint8_t key[WARM_KEY_BYTES];
    uint64_t cold;
    size_t len;
    int code = E_OK;

    while (w->wanted && step->bytes < step->bytes_max) {
        cold = atomic_load_explicit(&r->disk_reads, memory_order_relaxed);
        if (cold != w->cold_seen) {
            w->cold_seen = cold;
            step->gave_way = true;
            break;
        }
        len = warm_list_get(w->wanted, w->at, key);
        w->at++;
        if (len && (code = warm_key(c, r, bytes_of(key, len))) == E_OK) {
            step->bytes += r->profile->block_bytes;
            continue;
        }
        /* Damage is for those to tell who need the block. */
        warm_list_free(w->wanted);
        w->wanted = NULL;
    }
    step->ended = !w->wanted;
    return code;
}

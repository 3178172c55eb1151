/* rocks_damage.c: table files that compaction, which reads all of a file, has found damaged.
 *
 * RocksDB takes no write any more once a compaction has failed, and after it was opened again it
 * would begin the same one. So from then on it begins none (rocks_space.c), which costs reads more
 * and more, and keeps writes going. Each opening, and there is one whenever keys of a damaged file
 * were erased, tries to do without the file: what can be read in its range goes into another one,
 * above a range tombstone, and the file is taken off the list (manifest.h). That is done only if
 * nothing is lost by it: all that is stored there must be readable, so that the damage lies under
 * another range tombstone. Else the damage is told (rocks_scrub()), once, with the keys between
 * which it lies, for those who can do without what was there, or make it again. Nobody has the
 * database meanwhile: an older view would miss what it shall see.
 *
 * A range tombstone is in the way of bulks, which count as older than everything, so the room
 * thread compacts it away. */
#include "engine/rocks.h"

#include "base/buf.h"

#define SPLIT_BYTES 8 /* of two keys, behind what they share */
#define SPLITS_MAX 128

/* ---- the list */

static struct damage **find(struct rocks *r, bytes table)
{
    struct damage **at = &r->damages;

    while (*at && !bytes_equal(bytes_str((*at)->table), table))
        at = &(*at)->next;
    return at;
}

void rocks_damage_note(struct rocks *r, const char *text)
{
    struct damage **at, *d;
    bytes table;
    struct ctx c;

    ctx_init(&c, r->clock, NULL, NULL, 0);
    table = rocks_table_named(&c, text);
    pthread_mutex_lock(&r->lock);
    if (table.len && table.len < sizeof(d->table) && !*(at = find(r, table))) {
        *at = d = mem_zalloc(sizeof(*d));
        memcpy(d->table, table.ptr, table.len);
        d->text = mem_strdup(text);
        atomic_fetch_add(&r->damage_count, 1);
    }
    pthread_mutex_unlock(&r->lock);
    ctx_release(&c);
}

static void damage_free(struct damage *d)
{
    mem_free(d->text);
    kept_range_free(&d->gap);
    mem_free(d);
}

void rocks_damage_forget(struct rocks *r, const char *table)
{
    struct damage **at, *d;

    pthread_mutex_lock(&r->lock);
    at = find(r, bytes_str(table));
    if ((d = *at)) {
        *at = d->next;
        damage_free(d);
        atomic_fetch_sub(&r->damage_count, 1);
    }
    pthread_mutex_unlock(&r->lock);
}

void rocks_damage_free(struct rocks *r)
{
    while (r->damages)
        rocks_damage_forget(r, r->damages->table);
}

const char **rocks_damage_names(struct ctx *c, struct rocks *r, size_t *count)
{
    const char **list;
    size_t n = 0;

    pthread_mutex_lock(&r->lock);
    list = ARENA_ARRAY(&c->arena, const char *, atomic_load(&r->damage_count));
    for (const struct damage *d = r->damages; d; d = d->next)
        list[n++] = arena_printf(&c->arena, "%s", d->table).ptr;
    pthread_mutex_unlock(&r->lock);
    *count = n;
    return list;
}

/* ---- the file */

bool rocks_table_find(struct ctx *c, rocksdb_t *db, const char *table, struct table_file *out)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(db);
    bytes path = arena_printf(&c->arena, "/%s", table); /* as RocksDB names it */
    int n = rocksdb_livefiles_count(files), i = 0;

    while (i < n && strcmp(rocksdb_livefiles_name(files, i), path.ptr) != 0)
        i++;
    if (i < n) {
        out->first.ptr = rocksdb_livefiles_smallestkey(files, i, &out->first.len);
        out->first = arena_copy(&c->arena, out->first);
        out->last.ptr = rocksdb_livefiles_largestkey(files, i, &out->last.len);
        out->last = arena_copy(&c->arena, out->last);
        out->level = rocksdb_livefiles_level(files, i);
    }
    rocksdb_livefiles_destroy(files);
    return i < n;
}

void rocks_damage_look(struct rocks *r, struct handle *h)
{
    const char **list;
    struct table_file file;
    struct ctx c;
    size_t n;

    ctx_init(&c, r->clock, NULL, NULL, 0);
    list = rocks_damage_names(&c, r, &n);
    for (size_t i = 0; i < n; i++)
        if (!rocks_table_find(&c, h->db, list[i], &file)) {
            log_info(r->log, "storage: nothing is left of the damaged %s/%s", r->folder.db,
                     list[i]);
            rocks_damage_forget(r, list[i]);
        }
    ctx_release(&c);
}

/* ---- where it is */

bytes rocks_key_behind(struct arena *a, bytes key)
{
    uint8_t *p = arena_zalloc(a, key.len + 1);

    memcpy(p, key.ptr, key.len);
    return bytes_of(p, key.len + 1);
}

static uint64_t eight_bytes(bytes key, size_t from)
{
    uint64_t n = 0;

    for (size_t i = from; i < from + SPLIT_BYTES; i++)
        n = n << 8 | (i < key.len ? bytes_u8(key)[i] : 0);
    return n;
}

/* A key between them; empty: there is none, as far as it matters. */
static bytes key_between(struct arena *a, bytes low, bytes high)
{
    uint64_t from, to;
    size_t same = 0;
    uint8_t *p;

    while (same < low.len && same < high.len && bytes_u8(low)[same] == bytes_u8(high)[same])
        same++;
    from = eight_bytes(low, same);
    to = eight_bytes(high, same);
    if (to < from + 2)
        return BYTES_NONE;
    p = arena_alloc(a, same + SPLIT_BYTES);
    memcpy(p, low.ptr, same);
    store_u64_be(p + same, from + (to - from) / 2);
    return bytes_of(p, same + SPLIT_BYTES);
}

/* The first key from there on is readable; *key is it, or empty if there is none. With an iterator
 * of its own: one that has failed may fail again where it should not. */
static bool seek_reads(struct ctx *c, rocksdb_t *db, const rocksdb_readoptions_t *o, bytes from,
                       bytes *key)
{
    rocksdb_iterator_t *it = rocksdb_create_iterator(db, o);
    char *err = NULL;

    *key = BYTES_NONE;
    rocksdb_iter_seek(it, from.ptr, from.len);
    rocksdb_iter_get_error(it, &err);
    if (rocksdb_iter_valid(it)) {
        key->ptr = rocksdb_iter_key(it, &key->len);
        *key = arena_copy(&c->arena, *key);
    }
    rocksdb_iter_destroy(it);
    rocksdb_free(err);
    return !err;
}

void rocks_damage_gap(struct ctx *c, rocksdb_t *db, const rocksdb_readoptions_t *o, bytes from,
                      bytes end, struct key_range *gap)
{
    bytes low = from, high = end, key, between;

    *gap = (struct key_range){low, end};
    for (int i = 0; i < SPLITS_MAX && (between = key_between(&c->arena, low, high)).len; i++) {
        if (!seek_reads(c, db, o, between, &key)) {
            low = between;
            continue;
        }
        high = between;
        gap->end = key.len && bytes_compare(key, end) < 0 ? key : end;
    }
}

/* ---- telling */

static struct damage *untold(struct rocks *r)
{
    struct damage *d = r->damages;

    while (d && (d->told || !d->gap.is))
        d = d->next;
    return d;
}

/* Under the lock: so nobody is called who has said that he wants to hear no more. */
static void ring(struct rocks *r)
{
    if (r->damage_watch.bell && untold(r))
        r->damage_watch.bell(r->damage_watch.arg);
}

void rocks_damage_watch(struct engine *e, void (*bell)(void *arg), void *arg)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);

    pthread_mutex_lock(&r->lock);
    r->damage_watch = (struct damage_watch){bell, arg};
    ring(r);
    pthread_mutex_unlock(&r->lock);
}

void rocks_damage_stays(struct rocks *r, const char *table, const struct key_range *gap)
{
    struct damage *d;

    pthread_mutex_lock(&r->lock);
    d = *find(r, bytes_str(table));
    if (d && !d->gap.is && gap->start.len) {
        kept_range_widen(&d->gap, gap);
        ring(r);
    }
    pthread_mutex_unlock(&r->lock);
}

bool rocks_damage_tell(struct ctx *c, struct rocks *r, struct scrub *s)
{
    struct damage *d;

    if (!atomic_load(&r->damage_count))
        return false;
    pthread_mutex_lock(&r->lock);
    if ((d = untold(r))) {
        d->told = true;
        s->damage = arena_printf(&c->arena, "%s/%s: %s", r->folder.db, d->table, d->text).ptr;
        s->range.start = arena_copy(&c->arena, d->gap.range.start);
        s->range.end = arena_copy(&c->arena, d->gap.range.end);
    }
    pthread_mutex_unlock(&r->lock);
    return d != NULL;
}

/* rocks_drop.c: all keys of a partition go. */
#include "engine/rocks.h"

#include "base/fault.h"

#define DROP_KEYS_MAX 10000 /* deleted one by one; above, by a range tombstone and compaction */
#define DROP_BATCH_KEYS 1000
#define ERASE_COMPACT_BYTES (4 * MIB) /* left behind in files shared with others */

/* Deletes for the range's first DROP_BATCH_KEYS keys; *count tells how many there were. */
static int range_deletes(struct ctx *c, struct rocks *r, struct handle *h,
                         const struct key_range *range, rocksdb_writebatch_t *edits, size_t *count)
{
    rocksdb_readoptions_t *o = rocks_range_options(range, NULL);
    rocksdb_iterator_t *it = rocksdb_create_iterator(h->db, o);
    char *err = NULL;

    *count = 0;
    for (rocks_seek_start(it, range); rocksdb_iter_valid(it) && *count < DROP_BATCH_KEYS;
         rocksdb_iter_next(it)) {
        bytes key;

        key.ptr = rocksdb_iter_key(it, &key.len);
        rocksdb_writebatch_delete(edits, key.ptr, key.len);
        ++*count;
    }
    rocksdb_iter_get_error(it, &err);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    if (err && rocks_status_code(err) == E_CORRUPT)
        rocks_damage_note(r, err);
    return err ? rocks_request_fail(c, err) : E_OK;
}

static void compact(struct handle *h, bytes start, bytes end)
{
    rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();

    rocksdb_compactoptions_set_exclusive_manual_compaction(how, 0);
    rocksdb_compact_range_opt(h->db, how, start.ptr, start.len, end.ptr, end.len);
    rocksdb_compactoptions_destroy(how);
}

/* One tombstone; and if `compacts`, a compaction that takes it away with all that it covers. Also
 * moves the read view on, which would keep the keys alive. */
static int drop_covered(struct ctx *c, struct rocks *r, struct handle *h, bytes start, bytes end,
                        bool compacts)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();
    int code;

    rocksdb_writebatch_delete_range(edits, start.len ? start.ptr : "", start.len, end.ptr, end.len);
    rocks_tombstones_begin(h);
    code = rocks_write_and_wait(r, edits);
    if (code == E_OK && compacts)
        compact(h, start, end);
    rocks_tombstones_end(h);
    return code == E_OK ? E_OK : fail_code(c, code);
}

/* Not all of it can be read, so it goes without being read; and then, when storage is opened again,
 * the damaged file can be done without (rocks_replace.c). */
static int drop_damaged(struct ctx *c, struct rocks *r, struct handle *h,
                        const struct key_range *range, bytes last)
{
    TRY(drop_covered(c, r, h, range->start, rocks_key_behind(&c->arena, last), false));
    if (rocks_damage_is(r))
        rocks_fail(r, E_UNAVAILABLE, "a damaged file is to be done without",
                   "what was stored there is erased");
    return E_OK;
}

/* A range of many keys. Reads slow down with every range tombstone that lies about, so it is
 * compacted away; where that may not be, rocks_space.c does it as far as there is room. */
static int drop_many(struct ctx *c, struct rocks *r, struct handle *h,
                     const struct key_range *range, bytes last)
{
    bool compacts = !rocks_space_short(r) && !atomic_load(&h->compaction_off);

    return drop_covered(c, r, h, range->start, rocks_key_behind(&c->arena, last), compacts);
}

/* The greatest key of that length below the key; empty: there is none. */
static bytes key_before(struct arena *a, bytes key)
{
    uint8_t *p = arena_alloc(a, key.len + 1);
    size_t i = key.len;

    memcpy(p, key.len ? key.ptr : "", key.len);
    while (i && p[i - 1] == 0)
        p[--i] = 0xff;
    if (!i)
        return BYTES_LIT("");
    p[i - 1]--;
    return bytes_of(p, key.len);
}

static int drop_range(struct ctx *c, struct rocks *r, struct handle *h,
                      const struct key_range *range)
{
    size_t count, total = 0;
    char *err = NULL;
    bytes last;
    int code;

    code = rocks_range_last(c, h, range, &last);
    if (code == E_CORRUPT) { /* its block is damaged: with its file it goes all the same */
        ctx_clear(c);
        last = key_before(&c->arena, range->end);
    } else if (code != E_OK || !last.len) {
        return code;
    }
    /* Whole files go first. The end is inclusive in this call, hence the last key. */
    rocksdb_delete_file_in_range(h->db, range->start.ptr, range->start.len, last.ptr, last.len,
                                 &err);
    if (err)
        return rocks_request_fail(c, err);
    do {
        rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

        code = range_deletes(c, r, h, range, edits, &count);
        if (code != E_OK || !count) {
            rocksdb_writebatch_destroy(edits);
            if (code != E_CORRUPT)
                return code;
            ctx_clear(c);
            return drop_damaged(c, r, h, range, last);
        }
        code = rocks_write_and_wait(r, edits);
        if (code != E_OK)
            return fail_code(c, code);
        if (fault_hit(FAULT_drop_half))
            return fail(c, E_UNAVAILABLE, "A fault was asked for.");
        total += count;
    } while (count == DROP_BATCH_KEYS && total < DROP_KEYS_MAX);
    if (count < DROP_BATCH_KEYS)
        return E_OK;
    return drop_many(c, r, h, range, last);
}

static int delete_keys(struct ctx *c, struct rocks *r, const struct partition_spec *p)
{
    struct entry in;
    int code = E_OK;

    rocks_write_buffer_append(r);
    TRY(rocks_enter(c, r, VIEW_LATEST, &in));
    for (size_t i = 0; i < p->range_count && code == E_OK; i++)
        code = drop_range(c, r, in.handle, &p->ranges[i]);
    rocks_leave(&in);
    return code;
}

/* The space of what is left of the ranges in files shared with others. */
static int compact_ranges(struct ctx *c, struct rocks *r, const struct partition_spec *p)
{
    for (size_t i = 0; i < p->range_count; i++) {
        struct entry in;

        TRY(rocks_enter(c, r, VIEW_LATEST, &in));
        if (!atomic_load(&in.handle->compaction_off))
            compact(in.handle, p->ranges[i].start, p->ranges[i].end);
        rocks_leave(&in);
    }
    return E_OK;
}

static int erase(struct ctx *c, struct rocks *r, const struct partition_spec *p)
{
    uint64_t left;

    TRY(delete_keys(c, r, p));
    TRY(rocks_size(c, &r->base, p, &left));
    return left < ERASE_COMPACT_BYTES || rocks_space_short(r) ? E_OK : compact_ranges(c, r, p);
}

int rocks_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    int code = erase(c, r, p);

    atomic_store(&r->erased, true);
    return code;
}

/* Table files that have nothing else. */
static int discard_files(struct ctx *c, struct handle *h, const struct key_range *range)
{
    bytes last = key_before(&c->arena, range->end); /* the end is inclusive in this call */
    char *err = NULL;

    rocksdb_delete_file_in_range(h->db, range->start.ptr, range->start.len, last.ptr, last.len,
                                 &err);
    return err ? rocks_request_fail(c, err) : E_OK;
}

int rocks_discard(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *left)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct entry in;
    int code = E_OK;

    TRY(rocks_enter(c, r, VIEW_LATEST, &in));
    for (size_t i = 0; i < p->range_count && code == E_OK; i++)
        code = discard_files(c, in.handle, &p->ranges[i]);
    rocks_leave(&in);
    atomic_store(&r->erased, true);
    TRY(code);
    return rocks_size(c, e, p, left);
}

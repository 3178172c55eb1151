/* rocks_size.c: sizes and statistics. */
#include "engine/rocks.h"

#include "engine/committer.h"

#include <stdio.h>

#define SIZE_WALK_MAX 20000 /* unflushed keys counted before the rest is estimated */
/* A value of an enum that RocksDB's C header takes but does not name. */
#define READ_TIER_MEMTABLE 3

/* Where a key stands between first and last, 0 to 1, by its eight bytes behind what they share. */
static double key_place(bytes key, bytes first, bytes last)
{
    size_t same = 0;
    double place[3];
    const bytes *const keys[3] = {&first, &key, &last};

    while (same < first.len && same < last.len && bytes_u8(first)[same] == bytes_u8(last)[same])
        same++;
    for (int i = 0; i < 3; i++) {
        uint64_t n = 0;

        for (size_t j = same; j < same + 8; j++)
            n = n << 8 | (j < keys[i]->len ? bytes_u8(*keys[i])[j] : 0);
        place[i] = (double)n;
    }
    return place[2] > place[0] ? (place[1] - place[0]) / (place[2] - place[0]) : 1;
}

/* Bytes of the range that are only in write buffers: counted, and if there are very many, estimated
 * from how far in the range the counting came. */
static int size_unflushed(struct ctx *c, struct handle *h, const struct key_range *range,
                          uint64_t *out)
{
    rocksdb_readoptions_t *o = rocks_range_options(range, NULL);
    rocksdb_iterator_t *it;
    bytes key = BYTES_NONE, first = BYTES_NONE, last;
    size_t count = 0;
    int code;

    rocksdb_readoptions_set_read_tier(o, READ_TIER_MEMTABLE);
    it = rocksdb_create_iterator(h->db, o);
    *out = 0;
    for (rocks_seek_start(it, range); rocksdb_iter_valid(it) && count < SIZE_WALK_MAX;
         rocksdb_iter_next(it), count++) {
        size_t value_len;

        key.ptr = rocksdb_iter_key(it, &key.len);
        if (!first.len)
            first = arena_copy(&c->arena, key);
        rocksdb_iter_value(it, &value_len);
        *out += key.len + value_len;
    }
    if (rocksdb_iter_valid(it)) {
        double place;

        key.ptr = rocksdb_iter_key(it, &key.len);
        key = arena_copy(&c->arena, key);
        rocksdb_iter_seek_to_last(it);
        if (rocksdb_iter_valid(it)) {
            last.ptr = rocksdb_iter_key(it, &last.len);
            place = key_place(key, first, last);
            *out = (uint64_t)((double)*out / (place < 0.001 ? 0.001 : place));
        }
    }
    code = rocks_iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

static int size_range(struct ctx *c, struct handle *h, const struct key_range *range, uint64_t *out)
{
    uint64_t flushed = 0, unflushed, buffers = rocks_property(h, "rocksdb.cur-size-all-mem-tables");
    const char *start = range->start.ptr, *end;
    size_t end_len;
    char *err = NULL;
    bytes last = range->end;

    if (!last.len)
        TRY(rocks_range_last(c, h, range, &last)); /* its own bytes do not matter much */
    end = last.ptr;
    end_len = last.len;
    if (last.len)
        rocksdb_approximate_sizes(h->db, 1, &start, &range->start.len, &end, &end_len, &flushed,
                                  &err);
    if (err)
        return rocks_request_fail(c, err);
    TRY(size_unflushed(c, h, range, &unflushed));
    *out = flushed + (unflushed < buffers ? unflushed : buffers);
    return E_OK;
}

int rocks_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct entry in;
    int code = E_OK;

    *out = 0;
    TRY(rocks_enter(c, r, VIEW_LATEST, &in));
    for (size_t i = 0; i < p->range_count && code == E_OK; i++) {
        uint64_t in_range = 0;

        code = size_range(c, in.handle, &p->ranges[i], &in_range);
        *out += in_range;
    }
    rocks_leave(&in);
    return code;
}

void rocks_stat(struct engine *e, struct engine_stat *out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct committer_stat commits;
    struct entry in;
    struct ctx c;

    committer_stat(r->committer, &commits);
    out->syncs = commits.rounds;
    out->acked = commits.acked + atomic_load(&r->acked_at_once);
    out->disk_reads = atomic_load(&r->disk_reads);
    out->unsynced_bytes = commits.unsynced_bytes + rocks_write_buffer_bytes(r);
    pthread_mutex_lock(&r->lock);
    out->writable = !atomic_load(&r->failed);
    memcpy(out->reason, r->reason, sizeof(out->reason));
    out->stalls = r->stalls;
    pthread_mutex_unlock(&r->lock);
    if (out->writable && rocks_space_short(r)) {
        out->writable = false;
        snprintf(out->reason, sizeof(out->reason),
                 "the disk is nearly full: only deletions are accepted until it has space again");
    }
    ctx_init(&c, r->clock, NULL, NULL, 0);
    if (rocks_enter(&c, r, VIEW_LATEST, &in) == E_OK) {
        out->bytes_stored = rocks_property(in.handle, "rocksdb.live-sst-files-size") +
                            rocks_property(in.handle, "rocksdb.cur-size-all-mem-tables");
        rocks_leave(&in);
    }
    ctx_release(&c);
}

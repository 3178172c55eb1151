/* stream_log.c
 *
 * Segments of a chain are found without a list: those from the first that is kept to the last have
 * a tail, and no later one has. The first is noted in the shard's first segment, whose partition
 * stays as long as the stream, empty. */
#include "table/stream/stream_log.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/invariant.h"
#include "table/core/db.h"
#include "table/model/key.h"
#include "table/stream/stream_record.h"
#include "table/sync/wait.h"

#include <unistd.h>
#include <xxhash.h>

#define TAIL_VERSION 1
#define TAIL_ENDED 1
#define START_VERSION 1
#define ID_BYTES 16
#define SEGMENT_BITS 27
#define SHARD_BITS 4
#define SEGMENTS_MAX ((uint32_t)1 << SEGMENT_BITS)
#define TRIES_MAX 16
#define UNGUARDED_US 20000 /* of a planted bug */

/* In the place of the bucket, where records have 0. On disk. */
enum { OF_TAIL = 1, OF_START = 2 };

struct record_id record_id_of(bytes key)
{
    XXH128_hash_t hash = XXH3_128bits(key.ptr, key.len);

    return (struct record_id){hash.high64, hash.low64};
}

static bool ids_have(const struct record_id *ids, size_t count, struct record_id id)
{
    for (size_t i = 0; i < count; i++)
        if (record_id_equal(ids[i], id))
            return true;
    return false;
}

bool stream_tail_lists(const struct stream_tail *tail, struct record_id id)
{
    return ids_have(tail->taken, tail->taken_count, id);
}

/* ---- keys and partitions ---- */

/* No partition of a table has such an id: theirs are below 2^63. */
static partition_id segment_id(const struct stream_log *log, uint32_t segment)
{
    invariant(segment < SEGMENTS_MAX && log->shard < 1u << SHARD_BITS);
    return (partition_id)1 << 63 | (partition_id)log->location << (SEGMENT_BITS + SHARD_BITS) |
           (partition_id)log->shard << SEGMENT_BITS | segment;
}

static void put_key_begin(struct buf *b, const struct stream_log *log, uint8_t what)
{
    key_put_prefix(b, log->location, what, KIND_CHANGE);
    buf_put_u8(b, (uint8_t)(log->shard >> 8));
    buf_put_u8(b, (uint8_t)log->shard);
}

static bytes tail_key(struct arena *a, const struct stream_log *log, uint32_t segment)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 6);
    put_key_begin(&b, log, OF_TAIL);
    store_u32_be(buf_reserve(&b, 4), segment);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

static bytes start_key(struct arena *a, const struct stream_log *log)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 2);
    put_key_begin(&b, log, OF_START);
    return buf_bytes(&b);
}

/* ---- stored forms ---- */

static bytes tail_encode(struct arena *a, const struct stream_tail *t)
{
    struct buf b;

    buf_init(&b, a, 32 + ID_BYTES * t->taken_count);
    buf_put_u8(&b, TAIL_VERSION);
    buf_put_u8(&b, t->ended ? TAIL_ENDED : 0);
    buf_put_varint(&b, t->bytes);
    buf_put_varint(&b, t->last);
    buf_put_varint(&b, t->taken_count);
    for (size_t i = 0; i < t->taken_count; i++) {
        uint8_t *p = buf_reserve(&b, ID_BYTES);

        store_u64_be(p, t->taken[i].high);
        store_u64_be(p + 8, t->taken[i].low);
        buf_commit(&b, ID_BYTES);
    }
    return buf_bytes(&b);
}

static int tail_decode(struct ctx *c, bytes value, struct stream_tail *t)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r), flags = read_u8(&r);

    if (version != TAIL_VERSION && !r.bad)
        return fail(c, E_FORMAT, "A stream's log has version %d; this server knows version %d.",
                    version, TAIL_VERSION);
    *t = (struct stream_tail){.ended = flags & TAIL_ENDED};
    t->bytes = read_varint(&r);
    t->last = read_varint(&r);
    t->taken_count = read_varint(&r);
    if (r.bad || flags & ~TAIL_ENDED || t->taken_count > reader_left(&r) / ID_BYTES ||
        reader_left(&r) != t->taken_count * ID_BYTES)
        return fail(c, E_CORRUPT, "The end of a stream's log is damaged.");
    t->taken = ARENA_ARRAY(&c->arena, struct record_id, t->taken_count + 1);
    for (size_t i = 0; i < t->taken_count; i++) {
        const uint8_t *id = bytes_u8(read_bytes(&r, ID_BYTES));

        t->taken[i] = (struct record_id){load_u64_be(id), load_u64_be(id + 8)};
    }
    return E_OK;
}

/* Which segment is the first that is kept, and which is the first that may not be dropped yet. */
struct start {
    uint32_t first, dropped;
};

static bytes start_encode(struct arena *a, const struct start *s)
{
    struct buf b;

    buf_init(&b, a, 16);
    buf_put_u8(&b, START_VERSION);
    buf_put_varint(&b, s->first);
    buf_put_varint(&b, s->dropped);
    return buf_bytes(&b);
}

static int start_decode(struct ctx *c, bytes value, struct start *s)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r);
    uint64_t first = read_varint(&r), dropped = read_varint(&r);

    if (version != START_VERSION && !r.bad)
        return fail(c, E_FORMAT, "A stream's log has version %d; this server knows version %d.",
                    version, START_VERSION);
    if (r.bad || reader_left(&r) || dropped > first || first >= SEGMENTS_MAX)
        return fail(c, E_CORRUPT, "The beginning of a stream's log is damaged.");
    *s = (struct start){(uint32_t)first, (uint32_t)dropped};
    return E_OK;
}

/* ---- what is stored ---- */

/* A partition that is not there, or is gone, has nothing. */
static int log_get(struct ctx *c, const struct stream_log *log, uint32_t segment, bytes key,
                   bytes *out)
{
    struct get g = {.partition = segment_id(log, segment), .key = key, .view = VIEW_DURABLE};
    int code = wait_get(c, log->engine, &g);

    *out = BYTES_NONE;
    if (code == E_PARTITION) {
        ctx_clear(c);
        return E_OK;
    }
    if (!code && g.found)
        *out = arena_copy(&c->arena, g.value);
    return code;
}

static int tail_get(struct ctx *c, const struct stream_log *log, uint32_t segment, bytes *out)
{
    return log_get(c, log, segment, tail_key(&c->arena, log, segment), out);
}

static int start_get(struct ctx *c, const struct stream_log *log, struct start *s, bytes *stored)
{
    *s = (struct start){0};
    TRY(log_get(c, log, 0, start_key(&c->arena, log), stored));
    return stored->ptr ? start_decode(c, *stored, s) : E_OK;
}

/* Puts one value in the place of another; `was` with ptr NULL: of none. */
static int log_replace(struct ctx *c, const struct stream_log *log, uint32_t segment, bytes key,
                       bytes was, bytes value)
{
    struct guard guard = {key, was, !was.ptr};
    struct edit edit = {EDIT_PUT, key, value};
    struct write_batch b = {.partition = segment_id(log, segment),
                            .guards = &guard,
                            .guard_count = 1,
                            .edits = &edit,
                            .edit_count = 1};

    return wait_apply(c, log->engine, &b);
}

/* ---- the chain ---- */

/* The last segment that has a tail, from `first` on, and that; ptr NULL: `first` has none. */
static int find_last(struct ctx *c, const struct stream_log *log, uint32_t first, uint32_t *last,
                     bytes *stored)
{
    uint32_t low = log->segment > first ? log->segment : first, high;
    bytes found;

    TRY(tail_get(c, log, low, stored));
    if (!stored->ptr && low != first) {
        low = first;
        TRY(tail_get(c, log, low, stored));
    }
    *last = low;
    if (!stored->ptr)
        return E_OK;
    for (uint32_t step = 1;; step *= 2) {
        high = SEGMENTS_MAX - low > step ? low + step : SEGMENTS_MAX - 1;
        TRY(tail_get(c, log, high, &found));
        if (!found.ptr)
            break;
        low = high;
        *stored = found;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        TRY(tail_get(c, log, middle, &found));
        if (found.ptr)
            *stored = found;
        if (found.ptr)
            low = middle;
        else
            high = middle;
    }
    *last = low;
    return E_OK;
}

/* Makes the segment, with that tail unless it has one. */
static int make_segment(struct ctx *c, const struct stream_log *log, uint32_t segment,
                        const struct stream_tail *tail)
{
    bytes key = tail_key(&c->arena, log, segment);
    struct key_range range = {key, key_after(&c->arena, key)};
    struct partition_spec spec = {segment_id(log, segment), &range, 1};
    int code;

    if (segment >= SEGMENTS_MAX - 1)
        return fail(c, E_NO_SPACE, "A stream's log has no room for more.");
    TRY(engine_create(c, log->engine, &spec, 1));
    code = log_replace(c, log, segment, key, BYTES_NONE, tail_encode(&c->arena, tail));
    if (code == E_GUARD)
        ctx_clear(c);
    return code == E_GUARD ? E_OK : code;
}

/* The chain as it is now, or (*again) one step towards a last segment that takes more. */
static int step_to_open(struct ctx *c, struct stream_log *log, bool *again)
{
    struct stream_tail next = {.taken_count = 0};
    struct start start;
    bytes stored;
    int code;

    *again = true;
    TRY(start_get(c, log, &start, &stored));
    TRY(find_last(c, log, start.first, &log->segment, &log->stored));
    if (!log->stored.ptr)
        return make_segment(c, log, log->segment, &next);
    TRY(tail_decode(c, log->stored, &log->tail));
    next = log->tail;
    if (log->tail.ended) {
        next.ended = false;
        next.bytes = 0;
        return make_segment(c, log, log->segment + 1, &next);
    }
    *again = log->tail.bytes >= STREAM_SEGMENT_BYTES;
    if (!*again)
        return E_OK;
    next.ended = true;
    code = log_replace(c, log, log->segment, tail_key(&c->arena, log, log->segment), log->stored,
                       tail_encode(&c->arena, &next));
    if (code == E_GUARD)
        ctx_clear(c);
    return code == E_GUARD ? E_OK : code;
}

int stream_log_open(struct ctx *c, struct stream_log *log)
{
    bool again = true;

    for (int i = 0; i < TRIES_MAX && again; i++)
        TRY(step_to_open(c, log, &again));
    return again ? fail_code(c, E_BUSY) : E_OK;
}

/* ---- appending ---- */

static struct stream_tail tail_after(struct arena *a, const struct stream_tail *was,
                                     const struct stream_entry *entries, size_t count,
                                     const struct record_id *gone, size_t gone_count)
{
    struct stream_tail t = *was;

    t.taken = ARENA_ARRAY(a, struct record_id, was->taken_count + count + 1);
    t.taken_count = 0;
    for (size_t i = 0; i < was->taken_count; i++)
        if (!ids_have(gone, gone_count, was->taken[i]))
            t.taken[t.taken_count++] = was->taken[i];
    for (size_t i = 0; i < count; i++) {
        t.taken[t.taken_count++] = entries[i].id;
        t.bytes += STREAM_KEY_BYTES + entries[i].value.len;
    }
    return t;
}

int stream_log_append(struct ctx *c, struct stream_log *log, const struct stream_entry *entries,
                      size_t count, const struct record_id *gone, size_t gone_count)
{
    struct arena *a = &c->arena;
    struct edit *edits = ARENA_ARRAY(a, struct edit, count + 1);
    struct stream_tail next = tail_after(a, &log->tail, entries, count, gone, gone_count);
    bytes key = tail_key(a, log, log->segment), stored;
    struct guard guard = {key, log->stored, false};
    struct write_batch b = {.partition = segment_id(log, log->segment),
                            .guards = &guard,
                            .guard_count = 1,
                            .edits = edits,
                            .edit_count = count + 1};

    invariant(log->stored.ptr && !log->tail.ended);
    if (next.taken_count > STREAM_TAKEN_MAX)
        return fail(c, E_BUSY, "Records of a stream that were carried could not be removed yet.");
    for (size_t i = 0; i < count; i++) {
        next.last = number_after(next.last, c->clock);
        edits[i] = (struct edit){
            EDIT_PUT, stream_record_key(a, log->location, log->shard, next.last), entries[i].value};
    }
    stored = tail_encode(a, &next);
    edits[count] = (struct edit){EDIT_PUT, key, stored};
    if (fault_hit(FAULT_log_unguarded)) { /* a bug: numbers are drawn, and appended at any time */
        b.guard_count = 0;
        usleep(UNGUARDED_US);
    }
    TRY(wait_apply(c, log->engine, &b));
    log->tail = next;
    log->stored = stored;
    return E_OK;
}

/* ---- reading ---- */

/* The first segment whose records may be at or above that number. */
static int find_number(struct ctx *c, const struct stream_log *log, uint32_t first, uint32_t last,
                       uint64_t number, uint32_t *out)
{
    uint32_t low = first, high = last;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct stream_tail tail;
        bytes stored;

        TRY(tail_get(c, log, middle, &stored));
        if (!stored.ptr)
            return fail_code(c, E_PARTITION); /* trimmed meanwhile */
        TRY(tail_decode(c, stored, &tail));
        if (tail.last >= number)
            high = middle;
        else
            low = middle + 1;
    }
    *out = low;
    return E_OK;
}

/* E_PARTITION: a segment was dropped meanwhile. */
static int read_once(struct ctx *c, struct stream_log *log, struct scan *scan, uint64_t from)
{
    struct start start;
    uint32_t at = 0;
    bytes stored;

    *scan->pages = (struct page){0};
    TRY(start_get(c, log, &start, &stored));
    TRY(find_last(c, log, start.first, &log->segment, &stored));
    if (!stored.ptr)
        return E_OK; /* nothing was ever appended */
    TRY(find_number(c, log, start.first, log->segment, from, &at));
    for (; at <= log->segment; at++) {
        scan->partition = segment_id(log, at);
        TRY(wait_scan(c, log->engine, scan));
        if (!scan->pages->count && at < log->segment)
            continue;
        scan->pages->more |= at < log->segment;
        break;
    }
    return E_OK;
}

int stream_log_read(struct ctx *c, struct stream_log *log, uint64_t from, size_t items_max,
                    size_t bytes_max, struct page *page)
{
    struct key_range range = {stream_record_key(&c->arena, log->location, log->shard, from),
                              stream_record_key(&c->arena, log->location, log->shard, UINT64_MAX)};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = items_max,
                        .bytes_max = bytes_max,
                        .pages = page};
    int code = E_PARTITION;

    for (int i = 0; i < TRIES_MAX && code == E_PARTITION; i++) {
        ctx_clear(c);
        code = read_once(c, log, &scan, from);
    }
    return code;
}

/* ---- dropping ---- */

/* Of the first segment only the records go. Its tail tells for ever that it has ended: were it
 * gone, somebody who has slept since the log was empty would make it anew. */
static int drop_segment(struct ctx *c, struct stream_log *log, uint32_t segment, uint64_t oldest)
{
    struct arena *a = &c->arena;
    bytes tail = tail_key(a, log, segment);
    struct key_range ranges[] = {{stream_record_key(a, log->location, log->shard, 0),
                                  stream_record_key(a, log->location, log->shard, oldest)},
                                 {tail, key_after(a, tail)}};
    struct partition_spec spec = {segment_id(log, segment), ranges, segment ? 2 : 1};

    return segment ? engine_drop(c, log->engine, &spec) : engine_erase(c, log->engine, &spec);
}

int stream_log_trim(struct ctx *c, struct stream_log *log, uint64_t oldest)
{
    struct start start, next;
    struct stream_tail tail;
    bytes was, stored;

    TRY(start_get(c, log, &start, &was));
    for (;;) {
        if (start.dropped == start.first) {
            TRY(tail_get(c, log, start.first, &stored));
            if (!stored.ptr)
                return E_OK;
            TRY(tail_decode(c, stored, &tail));
            if (!tail.ended || tail.last >= oldest)
                return E_OK;
            next = (struct start){start.first + 1, start.dropped};
        } else {
            TRY(drop_segment(c, log, start.dropped, oldest));
            next = (struct start){start.first, start.dropped + 1};
        }
        stored = start_encode(&c->arena, &next);
        TRY(log_replace(c, log, 0, start_key(&c->arena, log), was, stored));
        start = next;
        was = stored;
    }
}

int stream_log_drop(struct ctx *c, struct stream_log *log)
{
    struct key_range range = {key_prefix(&c->arena, log->location, 0, KIND_CHANGE),
                              key_prefix(&c->arena, log->location, OF_START, KIND_CHANGE + 1)};
    struct start start;
    uint32_t last;
    bytes stored;

    TRY(start_get(c, log, &start, &stored));
    TRY(find_last(c, log, start.first, &last, &stored));
    /* The one behind the last too: somebody may be about to make it. The first one tells where
     * they are, so it goes last. */
    for (uint32_t at = last + 1;; at--) {
        struct partition_spec spec = {.ranges = &range, .range_count = 1};

        if (at < start.dropped)
            at = 0;
        spec.id = segment_id(log, at);
        TRY(engine_drop(c, log->engine, &spec));
        if (!at)
            return E_OK;
    }
}

int stream_log_drop_all(struct ctx *c, struct wr_db *db, uint32_t location, uint16_t shards)
{
    for (uint16_t shard = 0; shard < shards; shard++) {
        struct stream_log log = {.engine = db->engine, .location = location, .shard = shard};

        TRY(stream_log_drop(c, &log));
    }
    return E_OK;
}

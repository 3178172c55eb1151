#include "table/search/search_store.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "search/segment/head.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <inttypes.h>
#include <xxhash.h>

#define PIECE_VERSION 2
#define PIECE_HEAD 9                      /* version, checksum */
#define LOG_BYTES_MAX ((size_t)1 << 20)   /* larger segments go past the engine's log */
#define KEY_BYTES (KEY_PREFIX_BYTES + 20) /* of a piece */
#define INDEX_AT KEY_PREFIX_BYTES
#define SEGMENT_AT (KEY_PREFIX_BYTES + 8)

bool search_stores(struct wr_db *db)
{
    return engine_has_files(db->engine);
}

/* ---- keys ---- */

static void put_number(struct buf *b, uint64_t n)
{
    store_u64_be(buf_reserve(b, 8), n);
    buf_commit(b, 8);
}

static bytes piece_key(struct arena *a, const struct search_store *s, uint64_t segment,
                       uint32_t piece)
{
    struct buf b;

    buf_init(&b, a, KEY_BYTES);
    key_put_prefix(&b, s->location, 0, KIND_SEGMENT);
    put_number(&b, s->index);
    put_number(&b, segment);
    store_u32_be(buf_reserve(&b, 4), piece);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

static bytes gone_key(struct arena *a, const struct search_store *s, uint64_t segment)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 16);
    key_put_prefix(&b, s->location, 0, KIND_SEARCH_STATE);
    put_number(&b, s->index);
    put_number(&b, segment);
    return buf_bytes(&b);
}

bytes search_store_state_key(struct arena *a, const struct search_store *s)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 8);
    key_put_prefix(&b, s->location, 0, KIND_SEARCH_STATE);
    put_number(&b, s->index);
    return buf_bytes(&b);
}

/* ---- pieces ---- */

static uint64_t checksum(bytes data, uint64_t segment, uint32_t piece)
{
    return XXH3_64bits_withSeed(data.ptr, data.len, segment * 0x9E3779B97F4A7C15ull + piece);
}

bytes search_piece_seal(struct arena *a, bytes data, uint64_t segment, uint32_t piece)
{
    uint8_t *p = arena_alloc(a, PIECE_HEAD + data.len);

    p[0] = PIECE_VERSION;
    store_u64(p + 1, checksum(data, segment, piece));
    memcpy(p + PIECE_HEAD, data.ptr, data.len);
    return bytes_of(p, PIECE_HEAD + data.len);
}

const char *search_piece_open(bytes stored, uint64_t segment, uint32_t piece, bytes *data)
{
    const uint8_t *p = stored.ptr;

    if (stored.len < PIECE_HEAD)
        return "it is not whole";
    if (p[0] != PIECE_VERSION)
        return "it is of a version that this program does not know";
    *data = bytes_of(p + PIECE_HEAD, stored.len - PIECE_HEAD);
    return load_u64(p + 1) == checksum(*data, segment, piece) ? NULL : "its checksum is wrong";
}

static int damaged(struct ctx *c, uint64_t segment, uint32_t piece, const char *what)
{
    return fail(c, E_CORRUPT, "segment %" PRIu64 ", piece %" PRIu32 ": %s", segment, piece, what);
}

int search_store_get(struct ctx *c, const struct search_store *s, uint64_t segment, uint32_t piece,
                     bytes *data)
{
    struct get get = {.partition = s->location,
                      .view = VIEW_DURABLE,
                      .once = true,
                      .key = piece == SEARCH_PIECE_GONE ? gone_key(&c->arena, s, segment)
                                                        : piece_key(&c->arena, s, segment, piece)};
    const char *wrong;

    TRY(wait_get(c, s->db->engine, &get));
    wrong = get.found ? search_piece_open(get.value, segment, piece, data) : "it is missing";
    return wrong ? damaged(c, segment, piece, wrong) : E_OK;
}

/* ---- segments ---- */

static uint32_t piece_count(uint64_t len)
{
    return (uint32_t)((len + SEARCH_PIECE_BYTES - 1) / SEARCH_PIECE_BYTES);
}

static bytes image_piece(const struct segment *s, uint32_t piece)
{
    size_t at = (piece - 1) * SEARCH_PIECE_BYTES;

    return bytes_of(s->image + at,
                    s->len - at < SEARCH_PIECE_BYTES ? s->len - at : SEARCH_PIECE_BYTES);
}

/* Pieces [from, end) through the log: one batch. */
static int put_batch(struct ctx *c, const struct search_store *s, uint64_t number,
                     const struct segment *segment, bytes head, uint32_t from, uint32_t end)
{
    struct batch_builder e = {.arena = &c->arena};
    struct write_batch batch = {.partition = s->location};

    for (uint32_t i = from; i < end; i++)
        batch_add(&e, EDIT_PUT, piece_key(&c->arena, s, number, i),
                  search_piece_seal(&c->arena,
                                    i == SEARCH_PIECE_HEAD ? head : image_piece(segment, i), number,
                                    i));
    batch.edits = e.items;
    batch.edit_count = e.count;
    return wait_apply(c, s->db->engine, &batch);
}

static int put_logged(struct ctx *c, const struct search_store *s, uint64_t number,
                      const struct segment *segment, bytes head)
{
    static const uint32_t at_once = LOG_BYTES_MAX / SEARCH_PIECE_BYTES + 1;
    uint32_t end = piece_count(segment->len) + 1;

    for (uint32_t i = SEARCH_PIECE_HEAD; i < end; i += at_once) {
        struct arena_mark mark = arena_mark(&c->arena);

        TRY(put_batch(c, s, number, segment, head, i, end - i < at_once ? end : i + at_once));
        arena_rewind(&c->arena, &mark);
    }
    return E_OK;
}

static int put_pieces(struct ctx *c, const struct search_store *s, uint64_t number,
                      const struct segment *segment, bytes head, struct bulk *bulk)
{
    TRY(bulk_put(c, bulk, piece_key(&c->arena, s, number, SEARCH_PIECE_HEAD),
                 search_piece_seal(&c->arena, head, number, SEARCH_PIECE_HEAD)));
    for (uint32_t i = 1; i <= piece_count(segment->len); i++) {
        struct arena_mark mark = arena_mark(&c->arena);

        TRY(bulk_put(c, bulk, piece_key(&c->arena, s, number, i),
                     search_piece_seal(&c->arena, image_piece(segment, i), number, i)));
        arena_rewind(&c->arena, &mark);
    }
    return bulk_finish(c, bulk);
}

static int put_past_log(struct ctx *c, const struct search_store *s, uint64_t number,
                        const struct segment *segment, bytes head)
{
    struct bulk *bulk;
    int rc;

    TRY(engine_bulk(c, s->db->engine, s->location, &bulk));
    rc = put_pieces(c, s, number, segment, head, bulk);
    bulk_close(bulk);
    return rc;
}

/* Where the engine takes no files over, as it may long not be able to beside damage (decision 45),
 * large segments go through its log as well. */
int search_store_put(struct ctx *c, const struct search_store *s, uint64_t number,
                     const struct segment *segment)
{
    bytes head = segment_head_make(&c->arena, segment);
    int rc;

    if (segment->len > LOG_BYTES_MAX) {
        rc = put_past_log(c, s, number, segment, head);
        if (rc != E_UNAVAILABLE)
            return rc;
        ctx_clear(c);
    }
    return put_logged(c, s, number, segment, head);
}

/* Of piece `number` what is wanted of it: bytes [at, at + len) of the image. */
static int read_piece(struct ctx *c, const struct search_store *s, uint64_t number, uint32_t piece,
                      uint64_t whole, uint64_t at, uint64_t len, uint8_t *to)
{
    uint64_t start = (piece - 1) * (uint64_t)SEARCH_PIECE_BYTES, end = start + SEARCH_PIECE_BYTES;
    uint64_t from = at > start ? at : start, until;
    bytes data;

    end = end < whole ? end : whole;
    until = at + len < end ? at + len : end;
    TRY(search_store_get(c, s, number, piece, &data));
    if (data.len != end - start)
        return damaged(c, number, piece, "its length is wrong");
    memcpy(to + (from - at), bytes_u8(data) + (from - start), until - from);
    return E_OK;
}

int search_store_read(struct ctx *c, const struct search_store *s, uint64_t number, uint64_t whole,
                      uint64_t at, uint64_t len, uint8_t *to)
{
    uint32_t first = (uint32_t)(at / SEARCH_PIECE_BYTES) + 1,
             last = (uint32_t)((at + len - 1) / SEARCH_PIECE_BYTES) + 1;

    for (uint32_t i = first; i <= last; i++) {
        struct ctx part;
        int rc;

        ctx_init_part(&part, c, NULL, 0);
        rc = read_piece(&part, s, number, i, whole, at, len, to);
        if (rc)
            ctx_fail_part(c, &part);
        ctx_release(&part);
        TRY(rc);
    }
    return E_OK;
}

int search_store_open(struct ctx *c, const struct search_store *s, uint64_t number,
                      const struct search_schema *schema, struct segment_owner *owner,
                      struct part_cache *cache, struct segment **out)
{
    bytes head;

    TRY(search_store_get(c, s, number, SEARCH_PIECE_HEAD, &head));
    *out = segment_open_stored(head, schema, number, owner, cache);
    return *out ? E_OK
                : damaged(c, number, SEARCH_PIECE_HEAD, "it is not whole, or of another index");
}

/* ---- what is gone ---- */

void search_store_gone_edit(struct batch_builder *e, const struct search_store *s, uint64_t number,
                            const struct dead *d, uint32_t documents)
{
    bytes bits = bytes_of(d->bits, dead_words(documents) * 8);

    batch_add(e, EDIT_PUT, gone_key(e->arena, s, number),
              search_piece_seal(e->arena, bits, number, SEARCH_PIECE_GONE));
}

int search_store_gone(struct ctx *c, const struct search_store *s, uint64_t number,
                      uint32_t documents, struct dead **out)
{
    struct dead *d;
    bytes bits;

    TRY(search_store_get(c, s, number, SEARCH_PIECE_GONE, &bits));
    if (bits.len != dead_words(documents) * 8)
        return damaged(c, number, SEARCH_PIECE_GONE, "its length is wrong");
    d = dead_new(documents);
    memcpy(d->bits, bits.ptr, bits.len);
    for (size_t i = 0; i < dead_words(documents); i++)
        d->count += (uint32_t)__builtin_popcountll(d->bits[i]);
    *out = d;
    return E_OK;
}

static bool overlap(const struct key_range *range, bytes from, bytes to)
{
    return bytes_compare(range->start, to) < 0 &&
           (!range->end.len || bytes_compare(from, range->end) < 0);
}

bool search_store_overlaps(const struct search_store *s, const struct key_range *range)
{
    uint8_t first[256];
    struct search_store next = *s;
    struct arena a;
    bool is;

    if (!s->location)
        return false;
    next.index++;
    arena_init(&a, first, sizeof(first));
    is = overlap(range, piece_key(&a, s, 0, 0), piece_key(&a, &next, 0, 0)) ||
         overlap(range, search_store_state_key(&a, s), search_store_state_key(&a, &next));
    arena_release(&a);
    return is;
}

/* ---- removing ---- */

static int erase(struct ctx *c, const struct search_store *s, bytes from, bytes to)
{
    struct key_range range = {from, to};
    struct partition_spec spec = {.id = s->location, .ranges = &range, .range_count = 1};

    return engine_erase(c, s->db->engine, &spec);
}

int search_store_remove(struct ctx *c, const struct search_store *s, uint64_t number)
{
    return erase(c, s, piece_key(&c->arena, s, number, 0), piece_key(&c->arena, s, number + 1, 0));
}

bool search_store_is_small(uint64_t len)
{
    return len <= LOG_BYTES_MAX;
}

void search_store_remove_edits(struct batch_builder *e, const struct search_store *s,
                               uint64_t number, uint64_t len)
{
    for (uint32_t i = 0; search_store_is_small(len) && i <= piece_count(len); i++)
        batch_add(e, EDIT_DELETE, piece_key(e->arena, s, number, i), BYTES_NONE);
    batch_add(e, EDIT_DELETE, gone_key(e->arena, s, number), BYTES_NONE);
}

int search_store_clear(struct ctx *c, const struct search_store *s)
{
    struct search_store next = *s;

    next.index++;
    TRY(erase(c, s, piece_key(&c->arena, s, 0, 0), piece_key(&c->arena, &next, 0, 0)));
    return erase(c, s, gone_key(&c->arena, s, 0), search_store_state_key(&c->arena, &next));
}

static bool among(uint64_t n, const uint64_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == n)
            return true;
    return false;
}

/* The first key from there on and below `end`; empty: there is none. One item, which is a head,
 * unless a crash left less. */
static int first_key(struct ctx *c, const struct search_store *s, bytes from, bytes end, bytes *out)
{
    struct key_range range = {from, end};
    struct page page;
    struct scan scan = {.partition = s->location,
                        .view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 1,
                        .bytes_max = 1,
                        .pages = &page};

    TRY(wait_scan(c, s->db->engine, &scan));
    *out = page.count ? arena_copy(&c->arena, page.items[0].key) : BYTES_LIT("");
    return E_OK;
}

static int sweep_index(struct ctx *c, const struct search_store *s)
{
    struct edit edit = {EDIT_DELETE, search_store_state_key(&c->arena, s), BYTES_NONE};
    struct write_batch batch = {.partition = s->location, .edits = &edit, .edit_count = 1};

    TRY(wait_apply(c, s->db->engine, &batch));
    return search_store_clear(c, s);
}

int search_store_sweep(struct ctx *c, const struct search_store *s, const uint64_t *indexes,
                       size_t count)
{
    bytes end = key_prefix(&c->arena, s->location, 0, KIND_SEGMENT + 1), key;
    struct search_store at = *s;

    for (at.index = 0;; at.index++) {
        TRY(first_key(c, s, piece_key(&c->arena, &at, 0, 0), end, &key));
        if (key.len != KEY_BYTES)
            return E_OK;
        at.index = load_u64_be(bytes_u8(key) + INDEX_AT);
        if (!among(at.index, indexes, count))
            TRY(sweep_index(c, &at));
    }
}

static int sweep_pieces(struct ctx *c, const struct search_store *s, const uint64_t *segments,
                        size_t count)
{
    struct search_store next = *s;
    uint64_t number = 0;
    bytes end, key;

    next.index++;
    end = piece_key(&c->arena, &next, 0, 0);
    for (;; number++) {
        TRY(first_key(c, s, piece_key(&c->arena, s, number, 0), end, &key));
        if (key.len != KEY_BYTES)
            return E_OK;
        number = load_u64_be(bytes_u8(key) + SEGMENT_AT);
        if (!among(number, segments, count))
            TRY(search_store_remove(c, s, number));
    }
}

int search_store_sweep_segments(struct ctx *c, const struct search_store *s,
                                const uint64_t *segments, size_t count)
{
    struct edit edit = {.type = EDIT_DELETE};
    struct write_batch batch = {.partition = s->location, .edits = &edit, .edit_count = 1};
    struct search_store next = *s;
    bytes end;

    TRY(sweep_pieces(c, s, segments, count));
    next.index++;
    end = search_store_state_key(&c->arena, &next);
    for (uint64_t number = 0;; number++) {
        TRY(first_key(c, s, gone_key(&c->arena, s, number), end, &edit.key));
        if (edit.key.len != KEY_PREFIX_BYTES + 16)
            return E_OK;
        number = load_u64_be(bytes_u8(edit.key) + SEGMENT_AT);
        if (!among(number, segments, count))
            TRY(wait_apply(c, s->db->engine, &batch));
    }
}

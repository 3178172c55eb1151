/* sorter.c
 *
 * A pair in memory, and in a block: length of the key and of the value (4 bytes each), key, value.
 * A run is a sequence of blocks: length of what follows (4 bytes), its checksum (8), pairs. A block
 * ends behind the pair that passes SORTER_BLOCK_BYTES. */
#include "engine/sorter.h"

#include "base/buf.h"
#include "base/invariant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#define PAIR_BYTES 8
#define BLOCK_HEAD_BYTES 12
#define DATA_BYTES_FIRST SORTER_BLOCK_BYTES

/* A pair in memory: where it lies, and the first bytes of its key behind what all keys share. */
struct sorter_item {
    uint64_t head;
    uint32_t at;
};

/* One that is being read. */
struct sorter_run {
    uint64_t at, end; /* in the file: of the next block */
    uint8_t *block;
    size_t len, pos, capacity;
    struct kv pair; /* the next one */
};

struct sorter {
    char *path;
    size_t bytes_max;
    uint64_t bytes; /* put so far */
    int fd;         /* -1: there is no file */
    uint64_t written;
    uint64_t *ends; /* of runs in the file */
    size_t run_count;

    uint8_t *data; /* pairs in memory */
    size_t len, capacity;
    struct sorter_item *items;
    size_t count, item_capacity;
    size_t shared; /* so many first bytes all keys in memory have in common */

    bool taking;
    size_t at; /* of the items, where there is no file */
    struct sorter_run *runs;
    struct sorter_run **heap; /* of the runs that are not at their end, by their next pair */
    size_t heap_count;
    struct sorter_run *last; /* whose pair was taken, and which is to go on */
};

struct sorter *sorter_new(const char *path, size_t bytes_max)
{
    struct sorter *s = mem_zalloc(sizeof(*s));

    invariant(bytes_max >= SORTER_BYTES_MIN && bytes_max <= SORTER_BYTES_MAX);
    s->path = mem_strdup(path);
    s->bytes_max = bytes_max;
    s->fd = -1;
    return s;
}

uint64_t sorter_bytes(const struct sorter *s)
{
    return s->bytes;
}

static void memory_free(struct sorter *s)
{
    mem_free(s->data);
    mem_free(s->items);
    s->data = NULL;
    s->items = NULL;
    s->len = s->capacity = s->count = s->item_capacity = 0;
}

void sorter_free(struct sorter *s)
{
    if (!s)
        return;
    memory_free(s);
    for (size_t i = 0; s->runs && i < s->run_count; i++)
        mem_free(s->runs[i].block);
    mem_free(s->runs);
    mem_free(s->heap);
    mem_free(s->ends);
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s->path);
    mem_free(s);
}

/* ---- pairs in memory ---- */

static struct kv pair_at(const uint8_t *p)
{
    bytes key = bytes_of(p + PAIR_BYTES, load_u32(p));

    return (struct kv){key, bytes_of(p + PAIR_BYTES + key.len, load_u32(p + 4))};
}

static void shared_with(struct sorter *s, bytes key)
{
    bytes first = s->count ? pair_at(s->data).key : key;
    size_t n = 0;

    if (!s->count)
        s->shared = key.len;
    if (s->shared > key.len)
        s->shared = key.len;
    while (n < s->shared && bytes_u8(first)[n] == bytes_u8(key)[n])
        n++;
    s->shared = n;
}

static uint64_t head_of(bytes key, size_t shared)
{
    uint8_t first[8] = {0};
    size_t n = key.len - shared;

    memcpy(first, bytes_u8(key) + shared, n < 8 ? n : 8);
    return load_u64_be(first);
}

static int by_key(const void *a, const void *b, void *arg)
{
    const struct sorter_item *x = a, *y = b;
    const struct sorter *s = arg;
    int r;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    r = bytes_compare(pair_at(s->data + x->at).key, pair_at(s->data + y->at).key);
    return r ? r : (x->at > y->at) - (x->at < y->at);
}

static void items_sort(struct sorter *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->items[i].head = head_of(pair_at(s->data + s->items[i].at).key, s->shared);
    if (s->count)
        qsort_r(s->items, s->count, sizeof(*s->items), by_key, s);
}

static void pair_write(uint8_t *p, bytes key, bytes value)
{
    store_u32(p, (uint32_t)key.len);
    store_u32(p + 4, (uint32_t)value.len);
    memcpy(p + PAIR_BYTES, key.ptr, key.len);
    if (value.len)
        memcpy(p + PAIR_BYTES + key.len, value.ptr, value.len);
}

static void items_add(struct sorter *s, bytes key, bytes value)
{
    size_t size = PAIR_BYTES + key.len + value.len;

    while (s->capacity - s->len < size) {
        s->capacity = s->capacity ? 2 * s->capacity : DATA_BYTES_FIRST;
        s->data = mem_realloc(s->data, s->capacity);
    }
    if (s->count == s->item_capacity) {
        s->item_capacity = s->item_capacity ? 2 * s->item_capacity : 1024;
        s->items = mem_realloc(s->items, s->item_capacity * sizeof(*s->items));
    }
    shared_with(s, key);
    pair_write(s->data + s->len, key, value);
    s->items[s->count++] = (struct sorter_item){.at = (uint32_t)s->len};
    s->len += size;
}

/* ---- runs ---- */

static int file_fail(struct ctx *c, const struct sorter *s, const char *what)
{
    return fail(c, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                "Cannot %s %s: %s.", what, s->path, strerror(errno));
}

static int file_make(struct ctx *c, struct sorter *s)
{
    if (s->fd >= 0)
        return E_OK;
    s->fd = open(s->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return file_fail(c, s, "make");
    unlink(s->path);
    return E_OK;
}

static int file_write(struct ctx *c, struct sorter *s, const uint8_t *p, size_t n)
{
    while (n) {
        ssize_t done = pwrite(s->fd, p, n, (off_t)s->written);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return file_fail(c, s, "write");
        p += done;
        n -= (size_t)done;
        s->written += (uint64_t)done;
    }
    return E_OK;
}

static int block_write(struct ctx *c, struct sorter *s, uint8_t *block, size_t len)
{
    store_u32(block, (uint32_t)(len - BLOCK_HEAD_BYTES));
    store_u64(block + 4, XXH3_64bits(block + BLOCK_HEAD_BYTES, len - BLOCK_HEAD_BYTES));
    return file_write(c, s, block, len);
}

/* Copies pairs into blocks, each of which is written when it is full. */
static int items_write(struct ctx *c, struct sorter *s)
{
    size_t capacity = 2 * SORTER_BLOCK_BYTES, len = BLOCK_HEAD_BYTES;
    uint8_t *block = mem_alloc(capacity);
    int code = E_OK;

    for (size_t i = 0; i < s->count && !code; i++) {
        struct kv pair = pair_at(s->data + s->items[i].at);
        size_t size = PAIR_BYTES + pair.key.len + pair.value.len;

        if (capacity - len < size) {
            capacity = len + size;
            block = mem_realloc(block, capacity);
        }
        memcpy(block + len, s->data + s->items[i].at, size);
        len += size;
        if (len < SORTER_BLOCK_BYTES)
            continue;
        code = block_write(c, s, block, len);
        len = BLOCK_HEAD_BYTES;
    }
    if (!code && len > BLOCK_HEAD_BYTES)
        code = block_write(c, s, block, len);
    mem_free(block);
    return code;
}

/* What is in memory becomes a run. */
static int spill(struct ctx *c, struct sorter *s)
{
    if ((s->run_count + 1) * SORTER_BLOCK_BYTES > s->bytes_max)
        return fail(c, E_UNSUPPORTED,
                    "There is more to sort than can be merged in %zu bytes of memory.",
                    s->bytes_max);
    TRY(file_make(c, s));
    items_sort(s);
    TRY(items_write(c, s));
    s->ends = mem_realloc(s->ends, (s->run_count + 1) * sizeof(*s->ends));
    s->ends[s->run_count++] = s->written;
    s->len = s->count = 0;
    return E_OK;
}

int sorter_put(struct ctx *c, struct sorter *s, bytes key, bytes value)
{
    size_t size = PAIR_BYTES + key.len + value.len;

    invariant(!s->taking && key.len);
    if (s->count && s->len + size + (s->count + 1) * sizeof(struct sorter_item) > s->bytes_max)
        TRY(spill(c, s));
    items_add(s, key, value);
    s->bytes += key.len + value.len;
    return E_OK;
}

/* ---- taking ---- */

static int file_read(struct ctx *c, const struct sorter *s, uint64_t at, uint8_t *p, size_t n)
{
    while (n) {
        ssize_t done = pread(s->fd, p, n, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return file_fail(c, s, "read");
        if (!done)
            return fail(c, E_CORRUPT, "%s is too short.", s->path);
        p += done;
        n -= (size_t)done;
        at += (uint64_t)done;
    }
    return E_OK;
}

static int block_read(struct ctx *c, const struct sorter *s, struct sorter_run *r)
{
    uint8_t head[BLOCK_HEAD_BYTES];

    TRY(file_read(c, s, r->at, head, sizeof(head)));
    r->len = load_u32(head);
    if (r->len > r->end - r->at - sizeof(head))
        return fail(c, E_CORRUPT, "A block of %s is damaged.", s->path);
    if (r->capacity < r->len) {
        mem_free(r->block);
        r->block = mem_alloc(r->len);
        r->capacity = r->len;
    }
    TRY(file_read(c, s, r->at + sizeof(head), r->block, r->len));
    if (XXH3_64bits(r->block, r->len) != load_u64(head + 4))
        return fail(c, E_CORRUPT, "A block of %s is damaged.", s->path);
    r->at += sizeof(head) + r->len;
    r->pos = 0;
    return E_OK;
}

/* *there false: the run is at its end. */
static int run_next(struct ctx *c, const struct sorter *s, struct sorter_run *r, bool *there)
{
    *there = r->pos < r->len || r->at < r->end;
    if (!*there)
        return E_OK;
    if (r->pos == r->len)
        TRY(block_read(c, s, r));
    r->pair = pair_at(r->block + r->pos);
    r->pos += PAIR_BYTES + r->pair.key.len + r->pair.value.len;
    return E_OK;
}

static bool run_before(const struct sorter_run *a, const struct sorter_run *b)
{
    int r = bytes_compare(a->pair.key, b->pair.key);

    return r ? r < 0 : a < b; /* the older run first */
}

/* Puts the run at heap[at] where it belongs among those below. */
static void heap_sink(struct sorter *s, size_t at)
{
    struct sorter_run *r = s->heap[at];

    for (size_t child; (child = 2 * at + 1) < s->heap_count; at = child) {
        if (child + 1 < s->heap_count && run_before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!run_before(s->heap[child], r))
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = r;
}

static int runs_open(struct ctx *c, struct sorter *s)
{
    if (s->count)
        TRY(spill(c, s));
    memory_free(s);
    s->runs = mem_zalloc(s->run_count * sizeof(*s->runs));
    s->heap = mem_zalloc(s->run_count * sizeof(*s->heap));
    for (size_t i = 0; i < s->run_count; i++) {
        bool there;

        s->runs[i] = (struct sorter_run){.at = i ? s->ends[i - 1] : 0, .end = s->ends[i]};
        TRY(run_next(c, s, &s->runs[i], &there));
        if (there)
            s->heap[s->heap_count++] = &s->runs[i];
    }
    for (size_t i = s->heap_count / 2; i-- > 0;)
        heap_sink(s, i);
    return E_OK;
}

static int take_begin(struct ctx *c, struct sorter *s)
{
    s->taking = true;
    if (s->run_count)
        return runs_open(c, s);
    items_sort(s);
    return E_OK;
}

static int take_merged(struct ctx *c, struct sorter *s, struct kv *out, bool *ended)
{
    bool there = true;

    if (s->last) {
        TRY(run_next(c, s, s->last, &there));
        if (!there)
            s->heap[0] = s->heap[--s->heap_count];
        if (s->heap_count)
            heap_sink(s, 0);
    }
    *ended = !s->heap_count;
    s->last = *ended ? NULL : s->heap[0];
    if (!*ended)
        *out = s->last->pair;
    return E_OK;
}

int sorter_take(struct ctx *c, struct sorter *s, struct kv *out, bool *ended)
{
    if (!s->taking)
        TRY(take_begin(c, s));
    if (s->run_count)
        return take_merged(c, s, out, ended);
    *ended = s->at == s->count;
    if (!*ended)
        *out = pair_at(s->data + s->items[s->at++].at);
    return E_OK;
}

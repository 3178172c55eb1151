#include "table/index/outbox.h"

#include "table/model/lock_key.h"

#define OUTBOX_VERSION 1
#define IS_SETTLED 1
#define HAS_ENTRY 2

bytes beside_key(struct arena *a, const struct location *p, bytes cols, enum beside what)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + cols.len + 1);
    layout_put_key(&b, p, KIND_CHANGE, cols);
    buf_put_u8(&b, (uint8_t)what);
    return buf_bytes(&b);
}

bool beside_is(const struct location *p, bytes key, enum beside what)
{
    bytes rest = bytes_skip(key, KEY_PREFIX_BYTES);
    size_t length = key_columns_length(p->key, rest, p->key_count);

    if (PORT_UNLIKELY(key_is_of_lock(p, key)))
        return false;
    return rest.len > length && bytes_u8(rest)[length] == what;
}

/* ---- as bytes ---- */

static void put_index(struct buf *b, const struct outbox_index *x)
{
    buf_put_varint(b, x->id);
    buf_put_u64(b, x->stamp);
    buf_put_u8(b, (uint8_t)((x->settled ? IS_SETTLED : 0) | (x->there ? HAS_ENTRY : 0)));
    if (x->there) {
        buf_put_counted(b, x->cols);
        buf_put_counted(b, x->value);
    }
    buf_put_varint(b, x->other_count);
    for (size_t i = 0; i < x->other_count; i++)
        buf_put_counted(b, x->others[i]);
}

bytes outbox_encode(struct arena *a, const struct outbox *o)
{
    struct buf b;

    buf_init(&b, a, 128);
    buf_put_u8(&b, OUTBOX_VERSION);
    buf_put_varint(&b, o->count);
    for (size_t i = 0; i < o->count; i++)
        put_index(&b, &o->indexes[i]);
    return buf_bytes(&b);
}

static void read_index(struct arena *a, struct reader *r, struct outbox_index *x)
{
    uint8_t flags;

    x->id = (uint32_t)read_varint(r);
    x->stamp = read_u64(r);
    flags = read_u8(r);
    r->bad |= (flags & ~(IS_SETTLED | HAS_ENTRY)) || flags == (IS_SETTLED | HAS_ENTRY);
    x->settled = flags & IS_SETTLED;
    x->there = flags & HAS_ENTRY;
    if (x->there) {
        x->cols = read_counted(r);
        x->value = read_counted(r);
    }
    x->other_count = read_varint(r);
    r->bad |= x->other_count > OUTBOX_KEYS_MAX;
    if (r->bad)
        return;
    x->others = ARENA_ARRAY(a, bytes, x->other_count);
    for (size_t i = 0; i < x->other_count; i++)
        x->others[i] = read_counted(r);
}

int outbox_decode(struct ctx *c, bytes value, struct outbox *out)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r);

    *out = (struct outbox){.count = 0};
    if (version > OUTBOX_VERSION)
        return fail(c, E_FORMAT,
                    "an outbox record has version %u, and this build knows %d: use a newer one",
                    version, OUTBOX_VERSION);
    out->count = read_varint(&r);
    if (r.bad || version != OUTBOX_VERSION || out->count > reader_left(&r))
        return fail(c, E_CORRUPT, "an outbox record is damaged (%zu bytes)", value.len);
    out->indexes = ARENA_ARRAY(&c->arena, struct outbox_index, out->count);
    for (size_t i = 0; i < out->count && !r.bad; i++) {
        out->indexes[i] = (struct outbox_index){.id = 0};
        read_index(&c->arena, &r, &out->indexes[i]);
    }
    if (r.bad || reader_left(&r))
        return fail(c, E_CORRUPT, "an outbox record is damaged (%zu bytes)", value.len);
    return E_OK;
}

/* ---- changes ---- */

static size_t key_count(const struct outbox *o)
{
    size_t count = 0;

    for (size_t i = 0; i < o->count; i++)
        count += o->indexes[i].other_count;
    return count;
}

static const struct outbox_index *find(const struct outbox *o, uint32_t id)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->indexes[i].id == id)
            return &o->indexes[i];
    return NULL;
}

/* One more key where an entry may be, unless it is listed, or is where the entry comes to. */
static void add_other(struct outbox_index *x, bytes cols)
{
    if (x->there && bytes_equal(cols, x->cols))
        return;
    for (size_t i = 0; i < x->other_count; i++)
        if (bytes_equal(x->others[i], cols))
            return;
    x->others[x->other_count++] = cols;
}

static struct outbox_index merged(struct arena *a, const struct outbox_index *before,
                                  const struct index_entry *old, const struct index_entry *now)
{
    struct outbox_index x = {.there = now->there, .cols = now->cols};
    struct buf value;

    if (now->there) {
        buf_init(&value, a, 64);
        row_encode(&value, &now->row);
        x.value = buf_bytes(&value);
    }
    x.others = ARENA_ARRAY(a, bytes, (before ? before->other_count : 0) + 2);
    for (size_t i = 0; before && i < before->other_count; i++)
        add_other(&x, before->others[i]);
    if (before && before->there)
        add_other(&x, before->cols);
    if (old->there)
        add_other(&x, old->cols);
    return x;
}

bool outbox_merge(struct arena *a, struct outbox *o, uint32_t id, uint64_t stamp,
                  const struct index_entry *old, const struct index_entry *now)
{
    const struct outbox_index *before = find(o, id);
    struct outbox_index x = merged(a, before, old, now), *list;
    size_t n = 0;

    if (key_count(o) - (before ? before->other_count : 0) + x.other_count > OUTBOX_KEYS_MAX)
        return false;
    x.id = id;
    x.stamp = stamp;
    list = ARENA_ARRAY(a, struct outbox_index, o->count + 1);
    for (size_t i = 0; i < o->count; i++)
        if (o->indexes[i].id != id)
            list[n++] = o->indexes[i];
    list[n++] = x;
    *o = (struct outbox){list, n};
    return true;
}

bool outbox_has_room(const struct outbox *o, size_t index_count)
{
    return key_count(o) + 2 * index_count <= OUTBOX_KEYS_MAX;
}

bool outbox_is_half_full(const struct outbox *o)
{
    return key_count(o) >= OUTBOX_KEYS_MAX / 2;
}

void outbox_settle(struct outbox *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        struct outbox_index x = o->indexes[i];

        if (!x.other_count)
            continue;
        x.settled = true;
        x.there = false;
        x.cols = x.value = BYTES_NONE;
        o->indexes[n++] = x;
    }
    o->count = n;
}

uint64_t outbox_stamp(const struct outbox *o)
{
    uint64_t last = 0;

    for (size_t i = 0; i < o->count; i++)
        if (o->indexes[i].stamp > last)
            last = o->indexes[i].stamp;
    return last;
}

#include "parquet/dictionary.h"

#include "base/bytes_short.h"
#include "base/port.h"

#include <xxhash.h>

#define FIRST_SLOTS 256

struct dictionary_slot {
    uint64_t hash;
    uint32_t number; /* + 1; 0: empty */
    uint32_t at, len;
};

void dictionary_release(struct dictionary *d)
{
    thrift_release(&d->values);
    mem_free(d->slots);
    *d = (struct dictionary){0};
}

/* Where it stands or belongs. */
static struct dictionary_slot *find(const struct dictionary *d, bytes value, uint64_t hash)
{
    for (uint64_t i = hash;; i++) {
        struct dictionary_slot *s = &d->slots[i & (d->slot_count - 1)];

        if (!s->number ||
            (s->hash == hash && bytes_equal_short(bytes_of(d->values.data + s->at, s->len), value)))
            return s;
    }
}

/* At most half of the slots are taken. */
static void grow(struct dictionary *d)
{
    struct dictionary_slot *old = d->slots;
    uint32_t old_count = d->slot_count;

    if (old && d->count < old_count / 2)
        return;
    d->slot_count = old ? old_count * 2 : FIRST_SLOTS;
    d->slots = mem_zalloc(sizeof(*d->slots) * d->slot_count);
    for (uint32_t i = 0; i < old_count; i++) {
        uint64_t at = old[i].hash;

        if (!old[i].number)
            continue;
        while (d->slots[at & (d->slot_count - 1)].number)
            at++;
        d->slots[at & (d->slot_count - 1)] = old[i];
    }
    mem_free(old);
}

static uint64_t hash_of(bytes value)
{
    uint64_t v;

    if (value.len != sizeof(v))
        return XXH3_64bits(value.ptr, value.len);
    memcpy(&v, value.ptr, sizeof(v));
    v *= UINT64_C(0x9E3779B97F4A7C15); /* which carries each bit into the upper ones */
    return v ^ v >> 32;
}

/* The key that a row begins with is often that of the row before. */
static bool is_last(const struct dictionary *d, bytes value)
{
    return d->count && bytes_equal_short(bytes_of(d->values.data + d->last_at, d->last_len), value);
}

static uint32_t remember(struct dictionary *d, const struct dictionary_slot *s)
{
    d->last = s->number - 1;
    d->last_at = s->at;
    d->last_len = s->len;
    return d->last;
}

uint32_t dictionary_number(struct dictionary *d, bytes value)
{
    struct dictionary_slot *s;
    uint64_t hash;

    if (is_last(d, value))
        return d->last;
    hash = hash_of(value);
    grow(d);
    s = find(d, value, hash);
    if (s->number)
        return remember(d, s);
    if (value.len + 4 > DICTIONARY_BYTES_MAX - d->values.len)
        return DICTIONARY_FULL;
    if (d->counted)
        thrift_put_u32(&d->values, (uint32_t)value.len);
    *s = (struct dictionary_slot){hash, ++d->count, (uint32_t)d->values.len, (uint32_t)value.len};
    thrift_put(&d->values, value.ptr, value.len);
    return remember(d, s);
}

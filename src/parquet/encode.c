#include "parquet/encode.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "parquet/pack.h"

static void put_bits(struct thrift *page, const struct value_run *run)
{
    size_t n = (run->count + 7) / 8;
    uint8_t *to = thrift_reserve(page, n + 1);

    memset(to, 0, n + 1);
    for (uint32_t i = 0; i < run->count; i++)
        to[i / 8] |= (uint8_t)(run->values[i] << i % 8);
    page->len += n;
}

static void put_texts(struct thrift *page, const struct value_run *run)
{
    const uint8_t *at = run->values;

    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t n = load_u32(run->lengths + 4 * (size_t)i);
        uint8_t *to = thrift_reserve(page, (size_t)n + 4);

        store_u32(to, n);
        if (n)
            memcpy(to + 4, at, n);
        page->len += (size_t)n + 4;
        at += n;
    }
}

/* The texts one after the other. */
struct text_walk {
    const struct value_run *run;
    uint32_t next;
    const uint8_t *at; /* of the last one */
    uint32_t len;
};

/* The next one; how many bytes, at most `most`, it shares with the one before. */
static uint32_t next_text(struct text_walk *w, uint32_t most)
{
    const uint8_t *before = w->at;
    uint32_t before_len = w->next ? w->len : 0, n = 0;

    w->at = w->next ? w->at + w->len : w->run->values;
    w->len = load_u32(w->run->lengths + 4 * (size_t)w->next++);
    most = before_len < most ? before_len : most;
    most = w->len < most ? w->len : most;
    while (n < most && before[n] == w->at[n])
        n++;
    return n;
}

void encode_count_shared(const struct value_run *run, uint32_t counts[SHARED_MAX + 1])
{
    struct text_walk w = {.run = run};

    while (w.next < run->count)
        counts[next_text(&w, SHARED_MAX)]++;
}

/* What each text shares with the one before, the lengths of the rests, the rests. */
static void put_delta_texts(struct thrift *page, const struct value_run *run, uint32_t most)
{
    struct thrift prefixes = {0}, lengths = {0}, rests = {0};
    struct text_walk w = {.run = run};

    while (w.next < run->count) {
        uint32_t same = next_text(&w, most);

        thrift_put_u64(&prefixes, same);
        thrift_put_u64(&lengths, w.len - same);
        thrift_put(&rests, w.at + same, w.len - same);
    }
    pack_deltas(page, prefixes.data, run->count);
    pack_deltas(page, lengths.data, run->count);
    thrift_put(page, rests.data, rests.len);
    thrift_release(&prefixes);
    thrift_release(&lengths);
    thrift_release(&rests);
}

void encode_values(struct thrift *page, const struct value_run *run, struct encoding encoding)
{
    switch (encoding.name) {
    case ENCODING_RLE_DICTIONARY:
        pack_indexes(page, run->numbers, run->count, encoding.width);
        return;
    case ENCODING_DELTA_BINARY_PACKED:
        pack_deltas(page, run->values, run->count);
        return;
    case ENCODING_DELTA_BYTE_ARRAY:
        put_delta_texts(page, run, encoding.width);
        return;
    default:
        invariant(encoding.name == ENCODING_PLAIN);
        if (run->type == WR_BOOLEAN)
            put_bits(page, run);
        else if (encode_is_text(run->type))
            put_texts(page, run);
        else
            thrift_put(page, run->values, (size_t)run->count * 8);
    }
}

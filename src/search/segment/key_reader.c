#include "search/segment/key_reader.h"

#define BLOCK 256

static bool is_whole(const struct key_reader *r, const struct segment *s)
{
    return !s->parts || !r || r->whole;
}

static int read_block(struct key_reader *r, const struct segment *s, uint32_t doc)
{
    uint32_t first = doc / BLOCK * BLOCK, end = first + BLOCK;
    const void *ends, *keys;

    key_reader_end(r);
    end = end < s->documents ? end : s->documents;
    TRY(parts_slice(r->c, s, SECTION_KEY_ENDS, IMAGE_FIELD_NONE, first * 4ull, (end + 1ull) * 4,
                    &r->held, &ends));
    r->segment = s;
    r->ends = ends;
    TRY(parts_slice(r->c, s, SECTION_KEYS, IMAGE_FIELD_NONE, r->ends[0], r->ends[end - first],
                    &r->held, &keys));
    r->keys = keys;
    r->first = first;
    r->end = end;
    return E_OK;
}

bytes key_reader_get(struct key_reader *r, const struct segment *s, uint32_t doc)
{
    const uint32_t *ends;

    if (is_whole(r, s))
        return segment_key(s, doc);
    if (r->segment != s || doc < r->first || doc >= r->end) {
        int rc = read_block(r, s, doc);

        if (rc) {
            r->rc = rc;
            key_reader_end(r);
            return BYTES_LIT("");
        }
    }
    ends = r->ends + (doc - r->first);
    return bytes_of(r->keys + (ends[0] - r->ends[0]), ends[1] - ends[0]);
}

uint32_t key_reader_find(struct key_reader *r, const struct segment *s, bytes key)
{
    uint32_t low = 0, high = s->documents;

    if (is_whole(r, s))
        return segment_find(s, key);
    if (!high || bytes_compare(s->last, key) < 0) /* the head has them */
        return high;
    if (bytes_compare(s->first, key) >= 0)
        return 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (bytes_compare(key_reader_get(r, s, mid), key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void key_reader_end(struct key_reader *r)
{
    if (r->segment)
        held_drop(r->segment, &r->held);
    r->segment = NULL;
    r->first = r->end = 0;
}

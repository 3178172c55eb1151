#include "search/segment/segment.h"

/* Takes a section that has to be there with so many members; false: it is not. */
static bool take(const struct image *image, enum section section, size_t field, size_t count,
                 size_t size, const void **out)
{
    size_t len;

    *out = image_section(image, section, field, &len);
    return *out && len == count * size;
}

#define TAKE(section, field, count, member)                                                        \
    take(image, (section), (field), (count), sizeof(*(member)), (const void **)&(member))

static bool open_values(const struct image *image, size_t field, const void **values, size_t size,
                        struct segment_column *col)
{
    size_t len;

    *values = image_section(image, SECTION_VALUES, field, &len);
    if (!*values || len % size)
        return false;
    col->value_count = (uint32_t)(len / size);
    col->offsets = image_section(image, SECTION_OFFSETS, field, &len);
    if (!col->offsets)
        return col->value_count == image->documents;
    return len == (image->documents + 1ull) * 4 &&
           col->offsets[image->documents] == col->value_count;
}

static bool open_terms(const struct image *image, size_t field, struct segment_column *col)
{
    size_t len;

    col->term_docs = image_section(image, SECTION_TERM_DOCS, field, &len);
    col->term_count = (uint32_t)(len / 4);
    col->terms = image_section(image, SECTION_TERMS, field, &len);
    if (!col->terms || !TAKE(SECTION_TERM_ENDS, field, col->term_count + 1ull, col->term_ends) ||
        col->term_ends[col->term_count] != len ||
        !TAKE(SECTION_POST_AT, field, col->term_count, col->post_at))
        return false;
    col->posts = image_section(image, SECTION_POSTS, field, &len);
    return col->posts != NULL;
}

static bool open_text(const struct image *image, size_t field, struct segment_column *col)
{
    size_t len;

    col->freqs = image_section(image, SECTION_FREQS, field, &len);
    col->positions = image_section(image, SECTION_POSITIONS, field, &len);
    col->skips = image_section(image, SECTION_SKIPS, field, &len);
    return col->freqs && col->positions && col->skips &&
           TAKE(SECTION_POSITION_AT, field, col->term_count, col->position_at) &&
           TAKE(SECTION_SKIP_AT, field, col->term_count, col->skip_at) &&
           TAKE(SECTION_LENGTHS, field, image->documents, col->lengths);
}

static bool open_column(const struct image *image, size_t field, const struct search_field *f,
                        struct segment_column *col)
{
    enum field_kind kind = f->kind;
    const struct segment_stats *stats;

    if (kind == FIELD_NONE)
        return true;
    if (!TAKE(SECTION_STATS, field, 1, stats))
        return false;
    col->stats = *stats;
    if (kind == FIELD_VECTOR)
        return open_values(image, field, (const void **)&col->vectors, f->dimension * sizeof(float),
                           col);
    if (kind == FIELD_NUMBER)
        return open_values(image, field, (const void **)&col->numbers, 8, col) &&
               TAKE(SECTION_ORDER_VALUES, field, col->value_count, col->order_values) &&
               TAKE(SECTION_ORDER_DOCS, field, col->value_count, col->order_docs);
    if (!open_terms(image, field, col))
        return false;
    return kind == FIELD_TEXT ? open_text(image, field, col)
                              : open_values(image, field, (const void **)&col->ordinals, 4, col);
}

struct segment *segment_open(uint8_t *data, size_t len, const struct search_schema *schema)
{
    struct image i, *image = &i;
    struct segment *s;
    bool whole;

    if (!image_open(image, data, len))
        return NULL;
    s = mem_zalloc(sizeof(*s) + schema->count * sizeof(s->columns[0]));
    s->refs = 1;
    s->documents = image->documents;
    s->field_count = schema->count;
    s->keys = image_section(image, SECTION_KEYS, IMAGE_FIELD_NONE, &s->len);
    whole = s->keys &&
            TAKE(SECTION_KEY_ENDS, IMAGE_FIELD_NONE, image->documents + 1ull, s->key_ends) &&
            s->key_ends[image->documents] == s->len &&
            TAKE(SECTION_STAMPS, IMAGE_FIELD_NONE, image->documents, s->stamps);
    for (size_t f = 0; whole && f < schema->count; f++)
        whole = open_column(image, f, &schema->fields[f], &s->columns[f]);
    if (!whole) {
        mem_free(s);
        return NULL;
    }
    s->image = data;
    s->len = len;
    return s;
}

struct segment *segment_ref(struct segment *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void segment_release(struct segment *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    if (s->owner)
        s->owner->freed(s->owner, s);
    mem_free(s->image);
    mem_free(s);
}

uint32_t segment_find(const struct segment *s, bytes key)
{
    uint32_t low = 0, high = s->documents;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (bytes_compare(segment_key(s, mid), key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t column_find(const struct segment_column *col, bytes text)
{
    uint32_t low = 0, high = col->term_count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (bytes_compare(column_term(col, mid), text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool column_has(const struct segment_column *col, bytes text, uint32_t *term)
{
    *term = column_find(col, text);
    return *term < col->term_count && bytes_equal(column_term(col, *term), text);
}

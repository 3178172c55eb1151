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
    return col->terms && TAKE(SECTION_TERM_ENDS, field, col->term_count + 1ull, col->term_ends) &&
           col->term_ends[col->term_count] == len &&
           TAKE(SECTION_POST_AT, field, col->term_count, col->post_at);
}

/* There are none of few terms. */
static bool open_samples(const struct image *image, size_t field, struct segment_column *col)
{
    size_t len;

    col->sample_ends = image_section(image, SECTION_SAMPLE_ENDS, field, &len);
    if (!col->sample_ends)
        return true;
    if (len < 4 || len % 4)
        return false;
    col->sample_count = (uint32_t)(len / 4) - 1;
    col->samples = image_section(image, SECTION_SAMPLES, field, &len);
    return col->samples && col->sample_ends[col->sample_count] == len;
}

static bool open_text_terms(const struct image *image, size_t field, struct segment_column *col)
{
    size_t len;

    col->skips = image_section(image, SECTION_SKIPS, field, &len);
    return col->skips && TAKE(SECTION_POSITION_AT, field, col->term_count, col->position_at) &&
           TAKE(SECTION_SKIP_AT, field, col->term_count, col->skip_at);
}

static bool open_posts(const struct image *image, size_t field, bool text,
                       struct segment_column *col)
{
    size_t len;

    col->posts = image_section(image, SECTION_POSTS, field, &len);
    if (!text)
        return col->posts != NULL;
    col->freqs = image_section(image, SECTION_FREQS, field, &len);
    col->positions = image_section(image, SECTION_POSITIONS, field, &len);
    return col->posts && col->freqs && col->positions;
}

static bool open_lengths(const struct image *image, size_t field, struct segment_column *col)
{
    uint32_t least = UINT32_MAX;

    if (!TAKE(SECTION_LENGTHS, field, image->documents, col->lengths))
        return false;
    for (uint32_t d = 0; d < image->documents; d++) /* what has no word comes last */
        least = col->lengths[d] - 1 < least ? col->lengths[d] - 1 : least;
    col->shortest = least + 1;
    return true;
}

static bool open_values_of(const struct image *image, size_t field, const struct search_field *f,
                           struct segment_column *col)
{
    switch (f->kind) {
    case FIELD_NUMBER:
        return open_values(image, field, (const void **)&col->numbers, 8, col);
    case FIELD_ORDINAL:
        return open_values(image, field, (const void **)&col->ordinals, 4, col);
    case FIELD_TEXT:
        return open_lengths(image, field, col);
    case FIELD_VECTOR:
        return open_values(image, field, (const void **)&col->vectors, f->dimension * sizeof(float),
                           col);
    case FIELD_NONE:
        break;
    }
    return true;
}

static bool open_order(const struct image *image, size_t field, struct segment_column *col)
{
    size_t len;

    col->order_values = image_section(image, SECTION_ORDER_VALUES, field, &len);
    col->order_count = (uint32_t)(len / 8);
    return col->order_values && len % 8 == 0 && (!col->numbers || len / 8 == col->value_count) &&
           TAKE(SECTION_ORDER_DOCS, field, len / 8, col->order_docs);
}

static bool open_part(const struct image *image, size_t field, const struct search_field *f,
                      enum field_part part, struct segment_column *col)
{
    bool text = f->kind == FIELD_TEXT;

    if (part == PART_VALUES)
        return open_values_of(image, field, f, col);
    if (part == PART_TERMS && f->kind == FIELD_NUMBER)
        return open_order(image, field, col);
    if (!text && f->kind != FIELD_ORDINAL)
        return true;
    if (part == PART_SAMPLES)
        return open_samples(image, field, col);
    if (part == PART_POSTS)
        return open_posts(image, field, text, col);
    return open_terms(image, field, col) && (!text || open_text_terms(image, field, col));
}

static bool open_keys(const struct image *image, struct segment *s)
{
    size_t len;

    s->keys = image_section(image, SECTION_KEYS, IMAGE_FIELD_NONE, &len);
    return s->keys &&
           TAKE(SECTION_KEY_ENDS, IMAGE_FIELD_NONE, image->documents + 1ull, s->key_ends) &&
           s->key_ends[image->documents] == len;
}

bool segment_use(struct segment *s, const struct image *image, size_t number,
                 const struct search_schema *schema)
{
    size_t field = (number - PART_FIELDS) / FIELD_PARTS;
    bool whole;

    if (number == PART_KEYS)
        whole = open_keys(image, s);
    else if (number == PART_STAMPS)
        whole = TAKE(SECTION_STAMPS, IMAGE_FIELD_NONE, image->documents, s->stamps);
    else
        whole =
            open_part(image, field, &schema->fields[field],
                      (enum field_part)((number - PART_FIELDS) % FIELD_PARTS), &s->columns[field]);
    if (!whole)
        segment_forget(s, number);
    return whole;
}

/* Others may look at the field's other parts meanwhile. */
static void forget_part(struct segment_column *col, enum field_part part)
{
    switch (part) {
    case PART_VALUES:
        col->numbers = NULL;
        col->ordinals = col->offsets = col->lengths = NULL;
        col->vectors = NULL;
        col->value_count = 0;
        break;
    case PART_TERMS:
        col->term_count = col->order_count = 0;
        col->term_ends = col->term_docs = col->skip_at = col->skips = col->order_docs = NULL;
        col->order_values = NULL;
        col->terms = NULL;
        col->post_at = col->position_at = NULL;
        break;
    case PART_POSTS:
        col->posts = NULL;
        col->freqs = NULL;
        col->positions = NULL;
        break;
    case PART_SAMPLES:
        col->sample_count = 0;
        col->sample_ends = NULL;
        col->samples = NULL;
        break;
    }
}

void segment_forget(struct segment *s, size_t number)
{
    if (number == PART_KEYS) {
        s->key_ends = NULL;
        s->keys = NULL;
    } else if (number == PART_STAMPS) {
        s->stamps = NULL;
    } else {
        forget_part(&s->columns[(number - PART_FIELDS) / FIELD_PARTS],
                    (enum field_part)((number - PART_FIELDS) % FIELD_PARTS));
    }
}

static bool take_stats(const struct image *image, struct segment *s,
                       const struct search_schema *schema)
{
    for (size_t f = 0; f < schema->count; f++) {
        const struct segment_stats *stats;

        if (schema->fields[f].kind == FIELD_NONE)
            continue;
        if (!TAKE(SECTION_STATS, f, 1, stats))
            return false;
        s->columns[f].stats = *stats;
    }
    return true;
}

struct segment *segment_open(uint8_t *data, size_t len, const struct search_schema *schema)
{
    struct image image;
    struct segment *s;
    bool whole;

    if (!image_open(&image, data, len))
        return NULL;
    s = mem_zalloc(sizeof(*s) + schema->count * sizeof(s->columns[0]));
    s->refs = 1;
    s->documents = image.documents;
    s->field_count = schema->count;
    whole = take_stats(&image, s, schema);
    for (size_t i = 0; whole && i < part_count(schema->count); i++)
        whole = segment_use(s, &image, i, schema);
    if (!whole) {
        mem_free(s);
        return NULL;
    }
    s->image = data;
    s->len = len;
    if (s->documents) {
        s->first = segment_key(s, 0);
        s->last = segment_key(s, s->documents - 1);
    }
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
    if (s->close)
        s->close(s);
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

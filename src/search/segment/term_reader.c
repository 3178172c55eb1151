#include "search/segment/term_reader.h"

/* The dictionary is in memory, and stays until the end. */
static void use_whole(struct term_reader *r)
{
    const struct segment_column *col = &r->segment->columns[r->field];

    r->whole = true;
    r->count = r->texts_end = r->posts_end = col->term_count;
    r->ends = col->term_ends;
    r->texts = col->terms;
    r->docs = col->term_docs;
    r->post_at = col->post_at;
}

int term_reader_begin(struct term_reader *r, struct ctx *c, const struct segment *s, size_t field)
{
    size_t terms = part_of_field(field, PART_TERMS), samples = part_of_field(field, PART_SAMPLES);

    *r = (struct term_reader){.c = c, .segment = s, .field = field};
    if (s->parts && !parts_hold_there(c, s, terms, &r->held)) {
        if (parts_has(s, samples)) {
            r->count = (uint32_t)(parts_section_bytes(s, SECTION_TERM_DOCS, field) / 4);
            return parts_hold_one(c, s, samples, &r->held);
        }
        TRY(parts_hold_one(c, s, terms, &r->held));
    }
    use_whole(r);
    return E_OK;
}

void term_reader_end(struct term_reader *r)
{
    held_drop(r->segment, &r->held);
    held_drop(r->segment, &r->held_texts);
    held_drop(r->segment, &r->held_posts);
}

static int slice(struct term_reader *r, enum section section, uint64_t from, uint64_t to,
                 struct held_parts *held, const void **out)
{
    return parts_slice(r->c, r->segment, section, r->field, from, to, held, out);
}

/* Whole blocks, so that all who ask for a term of one read the same slice. */
static void widen(const struct term_reader *r, uint32_t *first, uint32_t *end)
{
    *first = *first / TERM_BLOCK * TERM_BLOCK;
    *end = *end > r->count - r->count % TERM_BLOCK
               ? r->count
               : (*end + TERM_BLOCK - 1) / TERM_BLOCK * TERM_BLOCK;
}

int term_reader_texts(struct term_reader *r, uint32_t first, uint32_t end)
{
    const void *ends, *texts;

    if (first >= r->texts_first && end <= r->texts_end)
        return E_OK;
    widen(r, &first, &end);
    held_drop(r->segment, &r->held_texts);
    r->texts_first = r->texts_end = 0;
    TRY(slice(r, SECTION_TERM_ENDS, first * 4ull, (end + 1ull) * 4, &r->held_texts, &ends));
    r->ends = ends;
    TRY(slice(r, SECTION_TERMS, r->ends[0], r->ends[end - first], &r->held_texts, &texts));
    r->texts = texts;
    r->texts_first = first;
    r->texts_end = end;
    return E_OK;
}

int term_reader_posts(struct term_reader *r, uint32_t first, uint32_t end)
{
    const void *docs, *post_at;

    if (first >= r->posts_first && end <= r->posts_end)
        return E_OK;
    widen(r, &first, &end);
    held_drop(r->segment, &r->held_posts);
    r->posts_first = r->posts_end = 0;
    TRY(slice(r, SECTION_TERM_DOCS, first * 4ull, end * 4ull, &r->held_posts, &docs));
    TRY(slice(r, SECTION_POST_AT, first * 8ull, end * 8ull, &r->held_posts, &post_at));
    r->docs = docs;
    r->post_at = post_at;
    r->posts_first = first;
    r->posts_end = end;
    return E_OK;
}

static bytes sample(const struct segment_column *col, uint32_t i)
{
    return bytes_of(col->samples + col->sample_ends[i],
                    col->sample_ends[i + 1] - col->sample_ends[i]);
}

/* The block in which the first term lies that is not below `text`, or (behind) behind all that
 * begin with it; it may be the first of the next one. */
static int find_block(struct term_reader *r, bytes text, bool behind, uint32_t *from, uint32_t *to)
{
    const struct segment_column *col = &r->segment->columns[r->field];
    uint32_t low = 0, high = col->sample_count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        bytes s = sample(col, mid);

        if (bytes_compare(s, text) <= 0 || (behind && bytes_starts(s, text)))
            low = mid + 1;
        else
            high = mid;
    }
    *from = *to = 0;
    if (!low)
        return E_OK;
    *from = (low - 1) * TERM_BLOCK;
    *to = r->count - *from < TERM_BLOCK ? r->count : *from + TERM_BLOCK;
    return term_reader_texts(r, *from, *to);
}

static int find(struct term_reader *r, bytes text, bool behind, uint32_t *at)
{
    uint32_t low = 0, high = r->count;

    if (!r->whole)
        TRY(find_block(r, text, behind, &low, &high));
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        bytes term = term_reader_text(r, mid);

        if (bytes_compare(term, text) < 0 || (behind && bytes_starts(term, text)))
            low = mid + 1;
        else
            high = mid;
    }
    *at = low;
    return E_OK;
}

int term_reader_find(struct term_reader *r, bytes text, uint32_t *at, bool *is)
{
    TRY(find(r, text, false, at));
    *is =
        *at >= r->texts_first && *at < r->texts_end && bytes_equal(term_reader_text(r, *at), text);
    return E_OK;
}

int term_reader_behind(struct term_reader *r, bytes prefix, uint32_t *at)
{
    return find(r, prefix, true, at);
}

static int find_place(struct term_reader *r, bytes term, bool *has, struct term_place *out)
{
    TRY(term_reader_find(r, term, &out->number, has));
    if (!*has)
        return E_OK;
    TRY(term_reader_posts(r, out->number, out->number + 1));
    out->docs = term_reader_docs(r, out->number);
    out->post_at = term_reader_post_at(r, out->number);
    return E_OK;
}

int term_place_find(struct ctx *c, const struct segment *s, size_t field, bytes term, bool *has,
                    struct term_place *out)
{
    struct term_reader r;
    int rc = term_reader_begin(&r, c, s, field);

    *has = false;
    if (!rc)
        rc = find_place(&r, term, has, out);
    *has &= !rc;
    term_reader_end(&r);
    return rc;
}

static int find_positions(struct term_reader *r, uint32_t term, struct term_positions *out)
{
    uint32_t first = term, end = term + 1;
    const void *at, *skip_at;

    widen(r, &first, &end);
    /* Where the last one's positions end, the next block tells. */
    TRY(slice(r, SECTION_POSITION_AT, first * 8ull, (end + (uint64_t)(end < r->count)) * 8,
              &r->held, &at));
    TRY(slice(r, SECTION_SKIP_AT, first * 4ull, end * 4ull, &r->held, &skip_at));
    out->from = ((const uint64_t *)at)[term - first];
    out->to = term + 1 < r->count ? ((const uint64_t *)at)[term + 1 - first] : UINT64_MAX;
    out->skip_at = ((const uint32_t *)skip_at)[term - first];
    return E_OK;
}

int term_positions_find(struct ctx *c, const struct segment *s, size_t field, uint32_t term,
                        struct term_positions *out)
{
    struct term_reader r;
    int rc = term_reader_begin(&r, c, s, field);

    if (!rc)
        rc = find_positions(&r, term, out);
    term_reader_end(&r);
    return rc;
}

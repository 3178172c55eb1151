#include "search/segment/merge.h"

#include "search/segment/posting.h"
#include "search/segment/terms_writer.h"
#include "search/segment/values_writer.h"

#define GONE UINT32_MAX

/* Where a document of the new segment comes from. */
struct origin {
    uint32_t segment, doc;
};

struct merge {
    const struct view_segment *from;
    size_t count;
    struct origin *origins; /* of each new document */
    uint32_t documents;
    uint32_t *place[MERGE_SEGMENTS_MAX]; /* of each old document: its new place, or GONE */
    struct image_writer image;
};

/* The next document of each segment that is there, from `doc` on. */
static uint32_t next_live(const struct view_segment *s, uint32_t doc)
{
    while (doc < s->segment->documents && !view_segment_has(s, doc))
        doc++;
    return doc;
}

/* Brings the documents into the order of their keys. */
static void order_documents(struct merge *m)
{
    uint32_t at[MERGE_SEGMENTS_MAX];

    for (size_t i = 0; i < m->count; i++)
        at[i] = next_live(&m->from[i], 0);
    for (;;) {
        size_t least = m->count;

        for (size_t i = 0; i < m->count; i++) {
            if (at[i] == m->from[i].segment->documents)
                continue;
            if (least == m->count ||
                bytes_compare(segment_key(m->from[i].segment, at[i]),
                              segment_key(m->from[least].segment, at[least])) < 0)
                least = i;
        }
        if (least == m->count)
            return;
        m->place[least][at[least]] = m->documents;
        m->origins[m->documents++] = (struct origin){(uint32_t)least, at[least]};
        at[least] = next_live(&m->from[least], at[least] + 1);
    }
}

static void merge_keys(struct merge *m)
{
    struct vector ends = {0}, keys = {0}, stamps = {0};

    vector_put_u32(&ends, 0);
    for (uint32_t i = 0; i < m->documents; i++) {
        const struct segment *s = m->from[m->origins[i].segment].segment;
        bytes key = segment_key(s, m->origins[i].doc);

        vector_put(&keys, key.ptr, key.len);
        vector_put_u32(&ends, (uint32_t)keys.len);
        vector_put_u64(&stamps, (uint64_t)s->stamps[m->origins[i].doc]);
    }
    image_put(&m->image, SECTION_KEY_ENDS, IMAGE_FIELD_NONE, ends.data, ends.len);
    image_put(&m->image, SECTION_KEYS, IMAGE_FIELD_NONE, keys.data, keys.len);
    image_put(&m->image, SECTION_STAMPS, IMAGE_FIELD_NONE, stamps.data, stamps.len);
    vector_free(&ends);
    vector_free(&keys);
    vector_free(&stamps);
}

static const struct segment_column *column_of(const struct merge *m, size_t segment, size_t field)
{
    return &m->from[segment].segment->columns[field];
}

static void put_stats(struct merge *m, size_t field, uint64_t documents, uint64_t tokens)
{
    struct segment_stats stats = {documents, tokens};

    image_put(&m->image, SECTION_STATS, field, &stats, sizeof(stats));
}

static void merge_numbers(struct merge *m, size_t field)
{
    struct values_writer w = {0};

    for (uint32_t i = 0; i < m->documents; i++) {
        const struct segment_column *col = column_of(m, m->origins[i].segment, field);
        uint32_t first = column_first(col, m->origins[i].doc);

        values_add(&w, col->numbers + first, column_first(col, m->origins[i].doc + 1) - first, 8);
    }
    put_stats(m, field, w.with, 0);
    values_finish_numbers(&w, &m->image, field);
}

static void merge_vectors(struct merge *m, size_t field, uint32_t dimension)
{
    struct values_writer w = {0};

    for (uint32_t i = 0; i < m->documents; i++) {
        const struct segment_column *col = column_of(m, m->origins[i].segment, field);
        uint32_t first = column_first(col, m->origins[i].doc);

        values_add(&w, col->vectors + (size_t)first * dimension,
                   column_first(col, m->origins[i].doc + 1) - first, dimension * sizeof(float));
    }
    put_stats(m, field, w.with, 0);
    values_finish_plain(&w, &m->image, field);
}

/* The terms of all segments, each once, ascending. */
struct merged_terms {
    bytes *terms;
    uint32_t count;
    uint32_t *number[MERGE_SEGMENTS_MAX]; /* of each segment's term */
};

static void merge_terms(const struct merge *m, size_t field, struct merged_terms *out)
{
    uint32_t at[MERGE_SEGMENTS_MAX] = {0};
    size_t all = 0;

    for (size_t i = 0; i < m->count; i++) {
        all += column_of(m, i, field)->term_count;
        out->number[i] = mem_alloc((column_of(m, i, field)->term_count + 1ull) * 4);
    }
    out->terms = mem_alloc((all + 1) * sizeof(bytes));
    out->count = 0;
    for (;;) {
        bytes least = BYTES_NONE;

        for (size_t i = 0; i < m->count; i++) {
            const struct segment_column *col = column_of(m, i, field);

            if (at[i] < col->term_count &&
                (!least.ptr || bytes_compare(column_term(col, at[i]), least) < 0))
                least = column_term(col, at[i]);
        }
        if (!least.ptr)
            return;
        for (size_t i = 0; i < m->count; i++) {
            const struct segment_column *col = column_of(m, i, field);

            if (at[i] < col->term_count && bytes_equal(column_term(col, at[i]), least))
                out->number[i][at[i]++] = out->count;
        }
        out->terms[out->count++] = least;
    }
}

static void merged_terms_free(const struct merge *m, struct merged_terms *t)
{
    for (size_t i = 0; i < m->count; i++)
        mem_free(t->number[i]);
    mem_free(t->terms);
}

/* Documents by term, for a field of ordinals whose values are `ordinals` already. */
static void put_postings(struct merge *m, size_t field, const struct merged_terms *t,
                         const uint32_t *rank, const uint32_t *counts,
                         const struct values_writer *v)
{
    struct terms_writer w = {.documents = m->documents};
    const uint32_t *ordinals = (const uint32_t *)v->values.data;
    const uint32_t *offsets = (const uint32_t *)v->offsets.data;
    uint32_t *at = mem_alloc((t->count + 1ull) * 4), *docs = mem_alloc((v->count + 1ull) * 4);
    uint32_t sum = 0, terms = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        if (rank[i] == GONE)
            continue;
        at[terms++] = sum;
        sum += counts[i];
    }
    for (uint32_t doc = 0; doc < m->documents; doc++)
        for (uint32_t i = offsets[doc]; i < (doc + 1 < m->documents ? offsets[doc + 1] : v->count);
             i++)
            docs[at[ordinals[i]]++] = doc;
    sum = terms = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (rank[i] == GONE)
            continue;
        terms_begin(&w, t->terms[i]);
        for (; sum < at[terms]; sum++)
            if (sum == (terms ? at[terms - 1] : 0) || docs[sum] != docs[sum - 1])
                terms_add(&w, docs[sum], NULL, 0);
        terms_end(&w);
        terms++;
    }
    terms_finish(&w, &m->image, field);
    mem_free(at);
    mem_free(docs);
}

static void merge_ordinals(struct merge *m, size_t field)
{
    struct merged_terms t;
    struct values_writer w = {0};
    uint32_t *counts, *rank, terms = 0;

    merge_terms(m, field, &t);
    counts = mem_zalloc((t.count + 1ull) * 4);
    rank = mem_alloc((t.count + 1ull) * 4);
    for (uint32_t i = 0; i < m->documents; i++) {
        const struct segment_column *col = column_of(m, m->origins[i].segment, field);

        for (uint32_t v = column_first(col, m->origins[i].doc);
             v < column_first(col, m->origins[i].doc + 1); v++)
            counts[t.number[m->origins[i].segment][col->ordinals[v]]]++;
    }
    for (uint32_t i = 0; i < t.count; i++)
        rank[i] = counts[i] ? terms++ : GONE;
    for (uint32_t i = 0; i < m->documents; i++) {
        const struct segment_column *col = column_of(m, m->origins[i].segment, field);
        uint32_t first = column_first(col, m->origins[i].doc), values[DOCUMENT_ELEMENTS_MAX];
        uint32_t n = column_first(col, m->origins[i].doc + 1) - first;

        for (uint32_t v = 0; v < n; v++)
            values[v] = rank[t.number[m->origins[i].segment][col->ordinals[first + v]]];
        values_add(&w, values, n, 4);
    }
    put_stats(m, field, w.with, 0);
    put_postings(m, field, &t, rank, counts, &w);
    values_finish_plain(&w, &m->image, field);
    merged_terms_free(m, &t);
    mem_free(counts);
    mem_free(rank);
}

/* A segment's postings of one term of TEXT. */
struct postings {
    const uint32_t *docs;
    const uint16_t *freqs;
    const uint8_t *positions;
    uint32_t left;
    uint32_t place; /* of the first that is left */
};

/* To the first posting from here on that is there; none: left is 0. */
static void postings_settle(struct postings *p, const uint32_t *place)
{
    while (p->left && place[*p->docs] == GONE) {
        for (uint16_t i = 0; i < *p->freqs; i++)
            posting_read_position(&p->positions);
        p->docs++;
        p->freqs++;
        p->left--;
    }
    if (p->left)
        p->place = place[*p->docs];
}

static void postings_open(struct postings *p, const struct segment_column *col, uint32_t term,
                          const uint32_t *place)
{
    *p = (struct postings){
        .docs = col->posts + col->post_at[term],
        .freqs = col->freqs + col->post_at[term],
        .positions = col->positions + col->position_at[term],
        .left = col->term_docs[term],
    };
    postings_settle(p, place);
}

/* Hands the first posting to the writer. */
static void postings_take(struct postings *p, const uint32_t *place, struct terms_writer *w,
                          struct vector *positions)
{
    uint32_t position = 0;

    positions->len = 0;
    for (uint16_t i = 0; i < *p->freqs; i++) {
        position += posting_read_position(&p->positions);
        vector_put_u32(positions, position);
    }
    terms_add(w, p->place, (const uint32_t *)positions->data, *p->freqs);
    p->docs++;
    p->freqs++;
    p->left--;
    postings_settle(p, place);
}

static void merge_text_term(struct merge *m, bytes term, struct postings *p, const size_t *segment,
                            size_t count, struct terms_writer *w, struct vector *positions)
{
    bool begun = false;

    for (;;) {
        size_t least = count;

        for (size_t i = 0; i < count; i++)
            if (p[i].left && (least == count || p[i].place < p[least].place))
                least = i;
        if (least == count)
            break;
        if (!begun)
            terms_begin(w, term);
        begun = true;
        postings_take(&p[least], m->place[segment[least]], w, positions);
    }
    if (begun)
        terms_end(w);
}

static void merge_text_terms(struct merge *m, size_t field)
{
    struct terms_writer w = {.documents = m->documents, .positions = true};
    struct vector positions = {0};
    struct merged_terms t;
    uint32_t at[MERGE_SEGMENTS_MAX] = {0};

    merge_terms(m, field, &t);
    for (uint32_t term = 0; term < t.count; term++) {
        struct postings p[MERGE_SEGMENTS_MAX];
        size_t segment[MERGE_SEGMENTS_MAX], count = 0;

        for (size_t i = 0; i < m->count; i++) {
            const struct segment_column *col = column_of(m, i, field);

            if (at[i] == col->term_count || t.number[i][at[i]] != term)
                continue;
            segment[count] = i;
            postings_open(&p[count++], col, at[i]++, m->place[i]);
        }
        merge_text_term(m, t.terms[term], p, segment, count, &w, &positions);
    }
    terms_finish(&w, &m->image, field);
    vector_free(&positions);
    merged_terms_free(m, &t);
}

static void merge_text(struct merge *m, size_t field)
{
    struct vector lengths = {0};
    uint64_t tokens = 0, with = 0;

    for (uint32_t i = 0; i < m->documents; i++) {
        uint32_t n = column_of(m, m->origins[i].segment, field)->lengths[m->origins[i].doc];

        vector_put_u32(&lengths, n);
        tokens += n;
        with += n != 0;
    }
    put_stats(m, field, with, tokens);
    image_put(&m->image, SECTION_LENGTHS, field, lengths.data, lengths.len);
    vector_free(&lengths);
    merge_text_terms(m, field);
}

struct segment *segment_merge(const struct search_schema *s, const struct view_segment *from,
                              size_t count)
{
    struct merge m = {.from = from, .count = count};
    size_t live = 0, len;
    uint8_t *data;

    for (size_t i = 0; i < count; i++) {
        size_t size = from[i].segment->documents * 4ull;

        m.place[i] = mem_alloc(size + 4);
        memset(m.place[i], 0xff, size);
        live += view_segment_live(&from[i]);
    }
    m.origins = mem_alloc((live + 1) * sizeof(m.origins[0]));
    order_documents(&m);
    merge_keys(&m);
    for (size_t f = 0; f < s->count; f++)
        switch (s->fields[f].kind) {
        case FIELD_NUMBER:
            merge_numbers(&m, f);
            break;
        case FIELD_ORDINAL:
            merge_ordinals(&m, f);
            break;
        case FIELD_TEXT:
            merge_text(&m, f);
            break;
        case FIELD_VECTOR:
            merge_vectors(&m, f, s->fields[f].dimension);
            break;
        case FIELD_NONE:
            break;
        }
    for (size_t i = 0; i < count; i++)
        mem_free(m.place[i]);
    mem_free(m.origins);
    image_finish(&m.image, m.documents, &data, &len);
    return segment_open(data, len, s);
}

#include "search/segment/builder.h"

#include "search/segment/terms_writer.h"
#include "search/segment/values_writer.h"

#include <stdlib.h>
#include <xxhash.h>

/* Distinct terms of a field, numbered as they came. */
struct dictionary {
    struct vector text, ends; /* u32, and one before */
    uint32_t *table;          /* number and one, by hash; 0: free */
    size_t size;              /* a power of two */
    uint32_t count;
};

/* A term in a document, in the order in which they came. */
struct occurrence {
    uint32_t term, doc, position;
};

static bytes dictionary_term(const struct dictionary *d, uint32_t term)
{
    const uint32_t *ends = (const uint32_t *)d->ends.data;

    return bytes_of(d->text.data + ends[term], ends[term + 1] - ends[term]);
}

static void dictionary_grow(struct dictionary *d)
{
    size_t size = d->size ? d->size * 2 : 1024;

    mem_free(d->table);
    d->table = mem_zalloc(size * sizeof(d->table[0]));
    d->size = size;
    for (uint32_t i = 0; i < d->count; i++) {
        bytes term = dictionary_term(d, i);
        size_t at = XXH3_64bits(term.ptr, term.len) & (size - 1);

        while (d->table[at])
            at = (at + 1) & (size - 1);
        d->table[at] = i + 1;
    }
}

static uint32_t dictionary_add(struct dictionary *d, bytes term)
{
    size_t at;

    if (!d->ends.len)
        vector_put_u32(&d->ends, 0);
    if (d->count * 2ull >= d->size)
        dictionary_grow(d);
    at = XXH3_64bits(term.ptr, term.len) & (d->size - 1);
    for (; d->table[at]; at = (at + 1) & (d->size - 1))
        if (bytes_equal(dictionary_term(d, d->table[at] - 1), term))
            return d->table[at] - 1;
    vector_put(&d->text, term.ptr, term.len);
    vector_put_u32(&d->ends, (uint32_t)d->text.len);
    d->table[at] = ++d->count;
    return d->count - 1;
}

static void dictionary_free(struct dictionary *d)
{
    vector_free(&d->text);
    vector_free(&d->ends);
    mem_free(d->table);
}

static int compare_terms(const void *a, const void *b, void *arg)
{
    return bytes_compare(dictionary_term(arg, *(const uint32_t *)a),
                         dictionary_term(arg, *(const uint32_t *)b));
}

/* The terms' numbers in the order of their bytes. */
static uint32_t *dictionary_sort(struct dictionary *d)
{
    uint32_t *order = mem_alloc((d->count + 1ull) * 4);

    for (uint32_t i = 0; i < d->count; i++)
        order[i] = i;
    qsort_r(order, d->count, sizeof(order[0]), compare_terms, d);
    return order;
}

/* A field's terms while documents are read. */
struct term_field {
    struct dictionary dictionary;
    struct vector occurrences;
    uint32_t doc;
    uint32_t tokens, gap; /* of the document; positions go on behind each element of an array */
};

static int add_token(void *arg, bytes token, uint32_t position)
{
    struct term_field *t = arg;
    struct occurrence *o = vector_grow(&t->occurrences, sizeof(*o));

    *o = (struct occurrence){dictionary_add(&t->dictionary, token), t->doc, t->gap + position};
    t->tokens++;
    return 0;
}

/* Occurrences by term, and within a term as they came. */
static struct occurrence *group(const struct term_field *t, const uint32_t *order,
                                uint32_t **starts)
{
    size_t count = t->occurrences.len / sizeof(struct occurrence);
    const struct occurrence *from = (const struct occurrence *)t->occurrences.data;
    struct occurrence *to = mem_alloc((count + 1) * sizeof(*to));
    uint32_t terms = t->dictionary.count;
    uint32_t *counts = mem_zalloc((terms + 1ull) * 4), *next = mem_alloc((terms + 1ull) * 4);
    uint32_t sum = 0;

    *starts = mem_alloc((terms + 1ull) * 4);
    for (size_t i = 0; i < count; i++)
        counts[from[i].term]++;
    for (uint32_t i = 0; i < terms; i++) {
        (*starts)[i] = next[order[i]] = sum;
        sum += counts[order[i]];
    }
    (*starts)[terms] = sum;
    for (size_t i = 0; i < count; i++)
        to[next[from[i].term]++] = from[i];
    mem_free(counts);
    mem_free(next);
    return to;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* One term's occurrences into the writer. */
static void put_term(struct terms_writer *w, bytes term, const struct occurrence *o, size_t count,
                     struct vector *positions)
{
    terms_begin(w, term);
    for (size_t i = 0; i < count;) {
        size_t n = i;

        positions->len = 0;
        for (; n < count && o[n].doc == o[i].doc; n++)
            vector_put_u32(positions, o[n].position);
        qsort(positions->data, n - i, 4, compare_u32);
        terms_add(w, o[i].doc, (const uint32_t *)positions->data, (uint32_t)(n - i));
        i = n;
    }
    terms_end(w);
}

static void put_terms(struct term_field *t, const uint32_t *order, bool text, uint32_t documents,
                      struct image_writer *image, size_t field)
{
    struct terms_writer w = {.documents = documents, .positions = text};
    struct vector positions = {0};
    uint32_t *starts;
    struct occurrence *o = group(t, order, &starts);

    for (uint32_t i = 0; i < t->dictionary.count; i++)
        put_term(&w, dictionary_term(&t->dictionary, order[i]), o + starts[i],
                 starts[i + 1] - starts[i], &positions);
    terms_finish(&w, image, field);
    vector_free(&positions);
    mem_free(starts);
    mem_free(o);
}

static void put_stats(struct image_writer *image, size_t field, uint64_t documents, uint64_t tokens)
{
    struct segment_stats stats = {documents, tokens};

    image_put(image, SECTION_STATS, field, &stats, sizeof(stats));
}

static void build_numbers(const struct document *documents, size_t count, size_t field,
                          struct image_writer *image)
{
    struct values_writer w = {0};
    int64_t numbers[DOCUMENT_ELEMENTS_MAX];

    for (size_t d = 0; d < count; d++) {
        const struct document_field *f = &documents[d].fields[field];

        for (size_t i = 0; i < f->count; i++)
            numbers[i] = f->values[i].number;
        values_add(&w, numbers, (uint32_t)f->count, 8);
    }
    put_stats(image, field, w.with, 0);
    values_finish_numbers(&w, image, field);
}

static void build_vectors(const struct search_field *f, const struct document *documents,
                          size_t count, size_t field, struct image_writer *image)
{
    struct values_writer w = {0};

    for (size_t d = 0; d < count; d++) {
        const struct document_field *v = &documents[d].fields[field];

        values_add(&w, v->count ? v->values->text.ptr : NULL, (uint32_t)v->count,
                   f->dimension * sizeof(float));
    }
    put_stats(image, field, w.with, 0);
    values_finish_plain(&w, image, field);
}

static void build_ordinals(const struct document *documents, size_t count, size_t field,
                           struct image_writer *image)
{
    struct term_field t = {0};
    struct values_writer w = {0};
    uint32_t *order, *rank, ordinals[DOCUMENT_ELEMENTS_MAX];
    const struct occurrence *o;

    for (size_t d = 0; d < count; d++) {
        const struct document_field *f = &documents[d].fields[field];

        t.doc = (uint32_t)d;
        for (size_t i = 0; i < f->count; i++)
            add_token(&t, f->values[i].text, 0);
    }
    order = dictionary_sort(&t.dictionary);
    rank = mem_alloc((t.dictionary.count + 1ull) * 4);
    for (uint32_t i = 0; i < t.dictionary.count; i++)
        rank[order[i]] = i;
    o = (const struct occurrence *)t.occurrences.data;
    for (size_t d = 0; d < count; d++) {
        size_t n = documents[d].fields[field].count;

        for (size_t i = 0; i < n; i++)
            ordinals[i] = rank[(o++)->term];
        values_add(&w, ordinals, (uint32_t)n, 4);
    }
    put_stats(image, field, w.with, 0);
    values_finish_plain(&w, image, field);
    put_terms(&t, order, false, (uint32_t)count, image, field);
    mem_free(order);
    mem_free(rank);
    dictionary_free(&t.dictionary);
    vector_free(&t.occurrences);
}

/* Between two elements of an array no phrase goes. */
#define ELEMENT_GAP 100

static void build_text(const struct search_field *sf, const struct document *documents,
                       size_t count, size_t field, struct image_writer *image)
{
    struct term_field t = {0};
    uint32_t *order, *lengths = mem_alloc((count + 1) * 4);
    uint64_t with = 0, tokens = 0;

    for (size_t d = 0; d < count; d++) {
        const struct document_field *f = &documents[d].fields[field];

        t.doc = (uint32_t)d;
        t.tokens = t.gap = 0;
        for (size_t i = 0; i < f->count; i++) {
            analyze(&sf->analyzer, f->values[i].text, add_token, &t);
            t.gap += t.tokens + ELEMENT_GAP;
        }
        lengths[d] = t.tokens;
        tokens += t.tokens;
        with += f->count != 0;
    }
    order = dictionary_sort(&t.dictionary);
    put_stats(image, field, with, tokens);
    image_put(image, SECTION_LENGTHS, field, lengths, count * 4);
    put_terms(&t, order, true, (uint32_t)count, image, field);
    mem_free(lengths);
    mem_free(order);
    dictionary_free(&t.dictionary);
    vector_free(&t.occurrences);
}

static void build_keys(const struct document *documents, size_t count, struct image_writer *image)
{
    struct vector ends = {0}, keys = {0}, stamps = {0};

    vector_put_u32(&ends, 0);
    for (size_t d = 0; d < count; d++) {
        vector_put(&keys, documents[d].key.ptr, documents[d].key.len);
        vector_put_u32(&ends, (uint32_t)keys.len);
        vector_put_u64(&stamps, (uint64_t)documents[d].stamp_ms);
    }
    image_put(image, SECTION_KEY_ENDS, IMAGE_FIELD_NONE, ends.data, ends.len);
    image_put(image, SECTION_KEYS, IMAGE_FIELD_NONE, keys.data, keys.len);
    image_put(image, SECTION_STAMPS, IMAGE_FIELD_NONE, stamps.data, stamps.len);
    vector_free(&ends);
    vector_free(&keys);
    vector_free(&stamps);
}

struct segment *segment_build(const struct search_schema *s, const struct document *documents,
                              size_t count)
{
    struct image_writer image = {0};
    uint8_t *data;
    size_t len;

    build_keys(documents, count, &image);
    for (size_t f = 0; f < s->count; f++)
        switch (s->fields[f].kind) {
        case FIELD_NUMBER:
            build_numbers(documents, count, f, &image);
            break;
        case FIELD_ORDINAL:
            build_ordinals(documents, count, f, &image);
            break;
        case FIELD_TEXT:
            build_text(&s->fields[f], documents, count, f, &image);
            break;
        case FIELD_VECTOR:
            build_vectors(&s->fields[f], documents, count, f, &image);
            break;
        case FIELD_NONE:
            break;
        }
    image_finish(&image, (uint32_t)count, &data, &len);
    return segment_open(data, len, s);
}

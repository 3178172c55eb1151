#include "search/segment/terms_writer.h"

#include "search/segment/segment.h"

static void put_sample(struct terms_writer *w, bytes term)
{
    if (!w->sample_ends.len)
        vector_put_u32(&w->sample_ends, 0);
    vector_put(&w->samples, term.ptr, term.len);
    vector_put_u32(&w->sample_ends, (uint32_t)w->samples.len);
}

void terms_begin(struct terms_writer *w, bytes term)
{
    if (!w->ends.len)
        vector_put_u32(&w->ends, 0);
    if (w->terms % TERM_BLOCK == 0)
        put_sample(w, term);
    vector_put(&w->text, term.ptr, term.len);
    vector_put_u32(&w->ends, (uint32_t)w->text.len);
    w->first_post = w->posts.len / 4;
    w->first_position = w->position.len;
    if (w->positions) {
        vector_put_u64(&w->position_at, w->first_position);
        vector_put_u32(&w->skip_at, (uint32_t)(w->skips.len / 4));
    }
}

static void add_positions(struct terms_writer *w, const uint32_t *positions, uint32_t count)
{
    size_t nth = w->posts.len / 4 - w->first_post; /* with this one */
    uint16_t freq = count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
    uint32_t last = 0;

    vector_put(&w->freqs, &freq, sizeof(freq));
    for (uint32_t i = 0; i < freq; i++) {
        vector_put_varint(&w->position, positions[i] - last);
        last = positions[i];
    }
    if (nth % POSITION_SKIP == 0)
        vector_put_u32(&w->skips, (uint32_t)(w->position.len - w->first_position));
}

void terms_add(struct terms_writer *w, uint32_t doc, const uint32_t *positions, uint32_t count)
{
    vector_put_u32(&w->posts, doc);
    if (w->positions)
        add_positions(w, positions, count);
}

/* The documents of the term under way become bits. */
static void make_dense(struct terms_writer *w, uint32_t count)
{
    size_t words = (w->documents + 63ull) / 64;
    uint64_t *bits = mem_zalloc(words * 8);
    const uint32_t *docs = (const uint32_t *)w->posts.data + w->first_post;

    for (uint32_t i = 0; i < count; i++)
        bits[docs[i] / 64] |= 1ull << docs[i] % 64;
    w->posts.len = w->first_post * 4;
    if (w->first_post % 2) { /* bits are read eight bytes at a time */
        vector_put_u32(&w->posts, 0);
        w->first_post++;
    }
    vector_put(&w->posts, bits, words * 8);
    mem_free(bits);
}

void terms_end(struct terms_writer *w)
{
    uint32_t count = (uint32_t)(w->posts.len / 4 - w->first_post);

    if (!w->positions && posts_dense(count, w->documents))
        make_dense(w, count);
    vector_put_u32(&w->docs, count);
    vector_put_u64(&w->post_at, w->first_post);
    w->terms++;
}

static void put(struct image_writer *image, enum section section, size_t field, struct vector *v)
{
    image_put(image, section, field, v->data, v->len);
    vector_free(v);
}

void terms_finish(struct terms_writer *w, struct image_writer *image, size_t field)
{
    if (!w->ends.len)
        vector_put_u32(&w->ends, 0);
    if (w->terms > TERM_BLOCK) {
        put(image, SECTION_SAMPLE_ENDS, field, &w->sample_ends);
        put(image, SECTION_SAMPLES, field, &w->samples);
    }
    vector_free(&w->sample_ends);
    vector_free(&w->samples);
    put(image, SECTION_TERM_ENDS, field, &w->ends);
    put(image, SECTION_TERMS, field, &w->text);
    put(image, SECTION_TERM_DOCS, field, &w->docs);
    put(image, SECTION_POST_AT, field, &w->post_at);
    if (w->positions) { /* what is looked at together lies together */
        put(image, SECTION_POSITION_AT, field, &w->position_at);
        put(image, SECTION_SKIP_AT, field, &w->skip_at);
        put(image, SECTION_SKIPS, field, &w->skips);
    }
    put(image, SECTION_POSTS, field, &w->posts);
    if (!w->positions)
        return;
    put(image, SECTION_FREQS, field, &w->freqs);
    put(image, SECTION_POSITIONS, field, &w->position);
}

/* Terms and phrases of TEXT, with their scores by BM25: k1 1.2, b 0.75. */
#include "base/late.h"
#include "search/query/node.h"
#include "search/segment/posting.h"

#include <math.h>
#include <xxhash.h>

#define K1 1.2
#define B 0.75
#define FOUND_BUCKETS 256
#define FREQS 8                 /* how often a document has a term, as most have it */
#define AHEAD 16                /* documents whose lengths are on their way from memory */
#define LENGTH_EXACT (1u << 20) /* up to here it is known to the token what a length scores */

struct text_stats text_stats_of(const struct view *v, size_t field)
{
    struct text_stats s = {0, 1};
    double tokens = 0;

    for (size_t i = 0; i < v->count; i++) {
        s.documents += (double)v->segments[i].segment->columns[field].stats.documents;
        tokens += (double)v->segments[i].segment->columns[field].stats.tokens;
    }
    if (s.documents > 0 && tokens > 0)
        s.average_length = tokens / s.documents;
    return s;
}

/* A term that has been looked for in all segments. */
struct found_term {
    struct found_term *next;
    size_t field;
    bytes term;
    double documents;
    struct found_place {
        bool has;
        struct term_place place;
    } places[]; /* in the view's segments */
};

static int look_for(struct query *q, struct found_term *f)
{
    for (size_t i = 0; i < q->view->count; i++) {
        struct found_place *p = &f->places[i];

        TRY(term_place_find(q->c, q->view->segments[i].segment, f->field, f->term, &p->has,
                            &p->place));
        f->documents += p->has ? p->place.docs : 0;
    }
    return E_OK;
}

static int find_term(struct query *q, size_t field, bytes term, struct found_term **out)
{
    struct found_term **bucket, *f;

    if (!q->terms)
        q->terms = ARENA_ARRAY(&q->c->arena, struct found_term *, FOUND_BUCKETS);
    bucket = &q->terms[XXH3_64bits(term.ptr, term.len) % FOUND_BUCKETS];
    f = *bucket;
    while (f && !(f->field == field && bytes_equal(f->term, term)))
        f = f->next;
    if (!f) {
        f = arena_zalloc(&q->c->arena, sizeof(*f) + q->view->count * sizeof(f->places[0]));
        f->next = *bucket;
        f->field = field;
        f->term = arena_copy(&q->c->arena, term);
        TRY(look_for(q, f));
        *bucket = f;
    }
    *out = f;
    return E_OK;
}

static double idf_of(const struct text_stats *stats, const struct found_term *f)
{
    double n = f->documents;

    return log(1 + (stats->documents - n + 0.5) / (n + 0.5));
}

/* Where a term is in the query's segment; with `scores` also its idf, which asks all segments. */
static int place_of(struct query *q, size_t field, bytes term, const struct text_stats *stats,
                    bool *has, struct term_place *place, double *idf)
{
    struct found_term *f;
    size_t i = 0;

    if (!stats)
        return term_place_find(q->c, q->segment, field, term, has, place);
    TRY(find_term(q, field, term, &f));
    while (q->view->segments[i].segment != q->segment)
        i++;
    *has = f->places[i].has;
    *place = f->places[i].place;
    *idf = idf_of(stats, f);
    return E_OK;
}

/* How often a term or a phrase is in a document makes the score, by what is the same for all. */
struct scorer {
    const uint32_t *lengths;
    uint32_t shortest; /* of them */
    float weight;      /* with idf and k1 + 1 */
    float fixed, by_length;
};

static struct scorer scorer_of(const struct text_stats *stats, const struct segment_column *col,
                               double idf, float weight)
{
    return (struct scorer){
        .lengths = col->lengths,
        .shortest = col->shortest,
        .weight = (float)(weight * idf * (K1 + 1)),
        .fixed = (float)(K1 * (1 - B)),
        .by_length = (float)(K1 * B / stats->average_length),
    };
}

static inline float score_at_length(const struct scorer *s, uint32_t length, float freq)
{
    return s->weight * freq / (freq + s->fixed + s->by_length * (float)length);
}

static inline float score_of(const struct scorer *s, uint32_t doc, float freq)
{
    return score_at_length(s, s->lengths[doc], freq);
}

struct text_term {
    struct node node;
    const uint32_t *docs;
    const uint16_t *freqs;
    uint32_t count, at;
    uint32_t asked_at; /* by score_at() */
    struct scorer scorer;
    /* Documents that next() leaves out, as they score no more than `most`: those that have the term
     * less often, or have it so often and are longer. */
    float most;
    uint16_t freq_min;
    uint32_t length_max[FREQS]; /* by how often they have it; of none that has it more often */
};

/* Of any document: it has no more of the term than tokens. Rounding is allowed for. */
static float bound_of(const struct scorer *s)
{
    return s->weight > 0 ? s->weight / (1 + s->by_length) * 1.0001f : 0;
}

/* To the first document that is not below `doc`. */
static void text_term_seek(struct text_term *t, uint32_t doc)
{
    t->at = postings_seek(t->docs, t->at, t->count, doc);
}

static bool test_text_term(const struct node *n, uint32_t doc)
{
    const struct text_term *t = (const struct text_term *)n;

    return postings_have(t->docs, t->count, doc);
}

static void window_text_term(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct text_term *t = (struct text_term *)n;
    uint64_t found[WINDOW_WORDS] = {0};

    text_term_seek(t, base);
    for (; t->at < t->count && t->docs[t->at] - base < WINDOW_DOCS; t->at++) {
        uint32_t i = t->docs[t->at] - base;

        if (!(bits[i / 64] >> i % 64 & 1))
            continue;
        found[i / 64] |= 1ull << i % 64;
        if (scores)
            scores[i] = score_of(&t->scorer, t->docs[t->at], t->freqs[t->at]);
    }
    memcpy(bits, found, sizeof(found));
}

typedef uint16_t eight_freqs __attribute__((vector_size(16)));

static inline eight_freqs eight_at(const uint16_t *freqs)
{
    eight_freqs eight;

    memcpy(&eight, freqs, sizeof(eight));
    return eight;
}

/* The first of [at, count) that is not below `least`, 32 at a time. */
static uint32_t first_frequent(const uint16_t *freqs, uint32_t at, uint32_t count, uint16_t least)
{
    eight_freqs low = least - (eight_freqs){0};

    for (; count - at >= 32; at += 32) {
        const uint16_t *p = freqs + at;
        eight_freqs any = (eight_freqs)((eight_at(p) >= low) | (eight_at(p + 8) >= low) |
                                        (eight_at(p + 16) >= low) | (eight_at(p + 24) >= low));
        uint64_t half[2];

        memcpy(half, &any, sizeof(half));
        if (half[0] | half[1])
            break;
    }
    while (at < count && freqs[at] < least)
        at++;
    return at;
}

/* Goes on to a document that may score enough. */
static void pass_low(struct text_term *t)
{
    for (; t->at < t->count; t->at++) {
        if (t->freqs[t->at] < t->freq_min)
            t->at = first_frequent(t->freqs, t->at, t->count, t->freq_min);
        if (t->at == t->count || t->freqs[t->at] >= FREQS ||
            t->scorer.lengths[t->docs[t->at]] <= t->length_max[t->freqs[t->at]])
            return;
    }
}

/* The longest document that scores above `most` if it has the term so often; 0: none does. Of very
 * long ones it may be a longer one. */
static uint32_t longest(const struct scorer *s, float freq, float most)
{
    float length = (s->weight * freq / most - freq - s->fixed) / s->by_length * 1.0001f;
    uint32_t n = length < 1 ? 1 : length < 0x1p31f ? (uint32_t)length + 1 : UINT32_MAX;

    while (n && n <= LENGTH_EXACT && !(score_at_length(s, n, freq) > most))
        n--;
    return n;
}

/* By how often a document has the term, which lies side by side for all, most are passed over. */
static void skip_text_term(struct node *n, float most)
{
    struct text_term *t = (struct text_term *)n;
    uint16_t f;

    if (most == t->most)
        return;
    t->most = most;
    t->freq_min = 0;
    if (!(most > 0))
        return;
    for (f = FREQS; --f;)
        t->length_max[f] = longest(&t->scorer, f, most);
    for (f = 1; f < FREQS && t->length_max[f] < t->scorer.shortest; f++)
        ;
    t->freq_min = f;
}

/* Documents that are as short as the shortest: where texts are of one length, all are. */
static float step_text_term(const struct node *n, float about)
{
    const struct text_term *t = (const struct text_term *)n;

    for (unsigned f = 1; f < FREQS; f++) {
        float score = score_at_length(&t->scorer, t->scorer.shortest, (float)f);

        if (fabsf(score - about) < about * 0.0001f)
            return score;
    }
    return about;
}

static uint32_t next_text_term(struct node *n, uint32_t from, float *score)
{
    struct text_term *t = (struct text_term *)n;

    if (t->at && t->docs[t->at - 1] >= from) /* it passed over some that are wanted now */
        t->at = postings_seek(t->docs, 0, t->count, from);
    text_term_seek(t, from);
    if (t->freq_min)
        pass_low(t);
    if (t->at == t->count)
        return NODE_END;
    if (t->at + AHEAD < t->count)
        __builtin_prefetch(&t->scorer.lengths[t->docs[t->at + AHEAD]]);
    *score = score_of(&t->scorer, t->docs[t->at], t->freqs[t->at]);
    return t->docs[t->at];
}

static bool score_at_text_term(struct node *n, uint32_t doc, float *score)
{
    struct text_term *t = (struct text_term *)n;

    t->asked_at = postings_seek(t->docs, t->asked_at, t->count, doc);
    if (t->asked_at == t->count || t->docs[t->asked_at] != doc)
        return false;
    *score = score_of(&t->scorer, doc, t->freqs[t->asked_at]);
    return true;
}

/* Of documents of the average length, each time that a term is there once more is taken for so much
 * rarer; and how often it is there has to be read of all. */
#define ONCE_MORE_SHIFT 4
#define READ_SHIFT 5

static uint64_t cost_text_term(const struct node *n, float most)
{
    const struct text_term *t = (const struct text_term *)n;
    float w = t->scorer.weight, freq = most < w ? (float)K1 * most / (w - most) * 1.0001f : FREQS;
    unsigned times = freq < FREQS - 1 ? (unsigned)freq + 1 : FREQS;

    return ((uint64_t)t->count >> (times - 1) * ONCE_MORE_SHIFT) + (t->count >> READ_SHIFT);
}

/* What of a term is wanted: at least its documents. */
static int text_term_init(struct query *q, struct text_term *t, size_t field,
                          const struct term_place *place, bool freqs)
{
    uint64_t from = place->post_at, to = from + place->docs;
    const void *docs, *often = NULL;

    TRY(parts_slice(q->c, q->segment, SECTION_POSTS, field, from * 4, to * 4, q->held, &docs));
    if (freqs)
        TRY(parts_slice(q->c, q->segment, SECTION_FREQS, field, from * 2, to * 2, q->held, &often));
    *t = (struct text_term){
        .node = {.window = window_text_term, .estimate = place->docs, .test = test_text_term},
        .docs = docs,
        .freqs = often,
        .count = place->docs,
    };
    return E_OK;
}

int node_text_term(struct query *q, size_t field, bytes term, float weight, bool scores,
                   struct node **out)
{
    struct text_stats stats;
    struct term_place place;
    struct text_term *t;
    double idf = 0;
    bool has;

    *out = node_none(q);
    if (!q->segment)
        return E_OK;
    if (scores)
        stats = text_stats_of(q->view, field);
    TRY(place_of(q, field, term, scores ? &stats : NULL, &has, &place, &idf));
    if (!has)
        return E_OK;
    t = ARENA_NEW(&q->c->arena, struct text_term);
    TRY(text_term_init(q, t, field, &place, scores));
    if (scores) {
        t->scorer = scorer_of(&stats, &q->segment->columns[field], idf, weight);
        t->node.next = next_text_term;
        t->node.score_at = score_at_text_term;
        t->node.cost = cost_text_term;
        t->node.step = step_text_term;
        t->node.bound = bound_of(&t->scorer);
        t->node.skip = t->node.bound > 0 ? skip_text_term : NULL;
    }
    *out = &t->node;
    return E_OK;
}

/* One term of a phrase: where its positions are read. */
struct phrase_term {
    struct text_term term;
    uint32_t offset; /* from the phrase's first position */
    uint32_t read;   /* the posting before which `positions` stands */
    const uint8_t *first_position, *positions;
    const uint32_t *skips;
    uint32_t *list; /* of the document that is looked at */
    uint32_t list_count, list_room;
    uint32_t at; /* in the list: those before it are too near the document's beginning */
};

struct phrase {
    struct node node;
    struct ctx *c;
    uint64_t work; /* positions, since the last look at the time */
    bool late;     /* nothing is found any more; who asks for windows looks at the time as well */
    struct phrase_term *terms;
    size_t count;
    uint32_t slop;
    struct scorer scorer;
};

/* The positions of the term in the document at which it stands. */
static void read_positions(struct arena *a, struct phrase_term *t)
{
    uint32_t at = t->term.at, skip = at / POSITION_SKIP, position = 0;

    if (t->read > at || t->read / POSITION_SKIP < skip) {
        t->read = skip * POSITION_SKIP;
        t->positions = t->first_position + (skip ? t->skips[skip - 1] : 0);
    }
    for (; t->read < at; t->read++)
        for (uint16_t i = 0; i < t->term.freqs[t->read]; i++)
            posting_read_position(&t->positions);
    t->at = 0;
    t->list_count = t->term.freqs[at];
    if (t->list_count > t->list_room) {
        t->list_room = t->list_count * 2;
        t->list = arena_alloc(a, t->list_room * sizeof(t->list[0]));
    }
    for (uint32_t i = 0; i < t->list_count; i++)
        t->list[i] = position += posting_read_position(&t->positions);
    t->read++;
}

/* A document may have a term 65,535 times, and a phrase 1,024 terms. */
static bool phrase_late(struct phrase *p, uint64_t work)
{
    static const uint64_t work_between_looks = 1 << 20;

    p->work += work;
    if (p->work >= work_between_looks) {
        p->work = 0;
        p->late |= ctx_late(p->c);
    }
    return p->late;
}

/* The term's place in its list from which on positions are not below `want`, which ascends. */
static uint32_t advance(struct phrase_term *t, uint32_t want)
{
    while (t->at < t->list_count && t->list[t->at] < want)
        t->at++;
    return t->at;
}

/* How often all terms stand at their offsets from one position. */
static uint32_t count_exact(struct phrase *p)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < p->terms[0].list_count && !phrase_late(p, p->count); i++) {
        uint32_t start = p->terms[0].list[i] - p->terms[0].offset;
        size_t t = 1;

        for (; t < p->count; t++) {
            struct phrase_term *o = &p->terms[t];
            uint32_t k = advance(o, start + o->offset);

            if (k == o->list_count || o->list[k] != start + o->offset)
                break;
        }
        found += t == p->count;
    }
    return found;
}

/* The nearest of a term's positions, from where it should stand: how far off it is. */
static uint32_t nearest(struct phrase_term *t, uint32_t want)
{
    uint32_t k = advance(t, want), best = UINT32_MAX;

    if (k < t->list_count)
        best = t->list[k] - want;
    if (k && want - t->list[k - 1] < best)
        best = want - t->list[k - 1];
    return best;
}

/* The same, while the moves together are at most `slop`; near ones count more. */
static float count_sloppy(struct phrase *p)
{
    float found = 0;

    for (uint32_t i = 0; i < p->terms[0].list_count && !phrase_late(p, p->count); i++) {
        uint64_t moves = 0;

        for (size_t t = 1; t < p->count && moves <= p->slop; t++)
            moves += nearest(&p->terms[t],
                             p->terms[0].list[i] - p->terms[0].offset + p->terms[t].offset);
        if (moves <= p->slop)
            found += 1.0f / (1.0f + (float)moves);
    }
    return found;
}

/* Do all terms have the document? They are brought to it. */
static bool all_at(struct phrase *p, uint32_t doc)
{
    for (size_t t = 0; t < p->count; t++) {
        struct text_term *term = &p->terms[t].term;

        text_term_seek(term, doc);
        if (term->at == term->count || term->docs[term->at] != doc)
            return false;
    }
    return true;
}

static void window_phrase(struct node *n, uint32_t base, uint64_t *bits, float *scores)
{
    struct phrase *p = (struct phrase *)n;
    struct text_term *rare = &p->terms[0].term;
    uint64_t found[WINDOW_WORDS] = {0};

    for (size_t t = 1; t < p->count; t++)
        if (p->terms[t].term.count < rare->count)
            rare = &p->terms[t].term;
    text_term_seek(rare, base);
    for (; rare->at < rare->count && rare->docs[rare->at] - base < WINDOW_DOCS; rare->at++) {
        uint32_t doc = rare->docs[rare->at], i = doc - base;
        float freq;

        if (!(bits[i / 64] >> i % 64 & 1) || !all_at(p, doc))
            continue;
        for (size_t t = 0; t < p->count; t++) {
            read_positions(&p->c->arena, &p->terms[t]);
            if (phrase_late(p, p->terms[t].list_count))
                break;
        }
        if (p->late)
            break;
        freq = p->slop ? count_sloppy(p) : (float)count_exact(p);
        if (freq <= 0 || p->late)
            continue;
        found[i / 64] |= 1ull << i % 64;
        if (scores)
            scores[i] = score_of(&p->scorer, doc, freq);
    }
    memcpy(bits, found, sizeof(found));
}

static int phrase_term_init(struct query *q, struct phrase_term *t, size_t field,
                            const struct term_place *place)
{
    const void *positions, *skips;
    struct term_positions at;

    TRY(text_term_init(q, &t->term, field, place, true));
    TRY(term_positions_find(q->c, q->segment, field, place->number, &at));
    TRY(parts_slice(q->c, q->segment, SECTION_POSITIONS, field, at.from, at.to, q->held,
                    &positions));
    TRY(parts_slice(q->c, q->segment, SECTION_SKIPS, field, at.skip_at * 4ull,
                    (at.skip_at + (uint64_t)place->docs / POSITION_SKIP) * 4, q->held, &skips));
    t->first_position = t->positions = positions;
    t->skips = skips;
    return E_OK;
}

int node_phrase(struct query *q, size_t field, const bytes *terms, const uint32_t *positions,
                size_t count, uint32_t slop, float weight, bool scores, struct node **out)
{
    struct text_stats stats = text_stats_of(q->view, field);
    struct phrase *p = ARENA_NEW(&q->c->arena, struct phrase);
    double idf = 0, one = 0;
    uint64_t estimate = UINT64_MAX;

    *out = node_none(q);
    if (!q->segment)
        return E_OK;
    p->terms = ARENA_ARRAY(&q->c->arena, struct phrase_term, count);
    for (size_t i = 0; i < count; i++) {
        struct phrase_term *t = &p->terms[i];
        struct term_place place;
        bool has;

        TRY(place_of(q, field, terms[i], scores ? &stats : NULL, &has, &place, &one));
        if (!has)
            return E_OK;
        TRY(phrase_term_init(q, t, field, &place));
        t->offset = positions[i] - positions[0];
        estimate = t->term.count < estimate ? t->term.count : estimate;
        idf += one;
    }
    p->c = q->c;
    p->count = count;
    p->slop = slop;
    p->scorer = scorer_of(&stats, &q->segment->columns[field], idf, weight);
    p->node = (struct node){.window = window_phrase, .estimate = estimate};
    *out = &p->node;
    return E_OK;
}

#include "search/searcher.h"

#include "base/late.h"
#include "search/order_walk.h"

#include <math.h>

#define FIELD_WORDS ((SEARCH_FIELDS_MAX + 63) / 64)

struct search {
    const struct search_job *job;
    const struct wr_search *s;
    struct query query;
    struct sort sort;
    struct top top;
    struct collect collect;
    struct collectors collectors;
    bool scores;
    float *score_room; /* of a window; NULL without scores */
    bool all;          /* every document that matches is wanted: it is counted, or aggregated */
    int64_t total;
    uint64_t asked[FIELD_WORDS]; /* since add_needs() */
    struct part_set needs;
    struct part_set late; /* what windows need beside, and walks do not */
    bool late_held;
    struct held_parts held;
    struct key_reader keys;
};

static bool given_up(const struct search_job *job)
{
    return (job->gone && __atomic_load_n(job->gone, __ATOMIC_RELAXED)) || ctx_late(job->c);
}

static int go_on(const struct search_job *job)
{
    return given_up(job) ? fail(job->c, E_BUSY, "The search took too long.") : E_OK;
}

/* Does the query itself make scores that the order without a sort goes by? */
static bool query_scores(const struct wr_search_condition *q)
{
    return q && (q->type == WR_SEARCH_FUNCTION_SCORE || q->type == WR_SEARCH_FUNCTIONS_SCORE);
}

static int check_paging(struct ctx *c, const struct wr_search *s, int32_t limit_max, size_t *offset,
                        size_t *limit)
{
    int32_t from = s->has_offset && s->offset > 0 ? s->offset : 0;
    int32_t n = s->has_limit && s->limit >= 0 ? s->limit : 10;

    if (s->has_offset && s->offset < -1)
        return fail(c, E_PARAMETER, "The offset of a search is 0 or more, not %d.", s->offset);
    if (s->token.ptr && s->token.len && from)
        return fail(c, E_PARAMETER,
                    "A search with a token has no offset: the token tells where it goes on.");
    if (n > limit_max)
        return fail(c, E_PARAMETER, "Parameter limit must be less than %d, and is %d.", limit_max,
                    n);
    if (from + (int64_t)n > SEARCH_OFFSET_LIMIT_MAX)
        return fail(c, E_PARAMETER, "offset + limit is %lld, and may be at most %d: use the token.",
                    (long long)from + n, SEARCH_OFFSET_LIMIT_MAX);
    *offset = (size_t)from;
    *limit = (size_t)n;
    return E_OK;
}

static int make_order(struct search *x, struct sort_value *after, bytes *after_key)
{
    struct ctx *c = x->job->c;

    if (x->s->token.ptr && x->s->token.len)
        return sort_read_token(c, x->job->schema, x->s->token, &x->sort, after, after_key);
    if (!x->s->sort.given && query_scores(x->s->query) && !x->job->schema->d->index_sort.count) {
        static const struct wr_sorter by_score = {.type = WR_SORTER_SCORE, .order = WR_ORDER_DESC};
        struct wr_sort sort = {.given = true, .sorters = &by_score, .count = 1};

        return sort_make(c, x->job->schema, &sort, &x->sort);
    }
    return sort_make(c, x->job->schema, &x->s->sort, &x->sort);
}

static void drop_dead(const struct view_segment *v, uint32_t base, uint64_t *bits)
{
    for (uint32_t w = 0;
         v->dead && w < WINDOW_WORDS && base / 64 + w < dead_words(v->segment->documents); w++)
        bits[w] &= ~v->dead->bits[base / 64 + w];
}

static void drop_expired(const struct search_job *job, const struct segment *s, uint32_t base,
                         uint64_t *bits)
{
    if (job->expired_ms == INT64_MIN)
        return;
    WINDOW_EACH(bits, i)
    if (s->stamps[base + i] < job->expired_ms)
        bits[i / 64] &= ~(1ull << i % 64);
}

/* The documents of a window that are there. */
static void window_start(const struct search_job *job, const struct view_segment *v, uint32_t base,
                         uint64_t *bits)
{
    uint32_t left = v->segment->documents - base;

    if (left >= WINDOW_DOCS)
        memset(bits, 0xff, WINDOW_WORDS * sizeof(bits[0]));
    for (uint32_t w = 0; left < WINDOW_DOCS && w < WINDOW_WORDS; w++)
        bits[w] = left >= w * 64 + 64 ? ~0ull : left > w * 64 ? (1ull << (left - w * 64)) - 1 : 0;
    drop_dead(v, base, bits);
    drop_expired(job, v->segment, base, bits);
}

static void take_window(struct search *x, const struct segment *s, uint32_t base,
                        const uint64_t *bits, const float *scores)
{
    x->total += window_count(bits);
    if (collectors_any(&x->collectors))
        collectors_add_window(&x->collectors, base, bits);
    top_window(&x->top, s, base, bits, scores);
}

/* In key order a segment's first hits are all that it can give, besides the one that a page ended
 * with. */
static bool enough(const struct search *x, size_t taken)
{
    return !x->all && (!x->top.room || (x->sort.by_key && taken >= x->top.room + !!x->top.after));
}

/* Is all that is wanted the first hits by a field? */
static bool may_walk(const struct search *x)
{
    return !x->all && !x->scores && !x->sort.by_key && x->sort.by[0].type == WR_SORTER_FIELD;
}

static bool walked(struct search *x, const struct view_segment *v, const struct node *root,
                   const struct node *filter, int *rc)
{
    struct order_walk w = {
        .c = x->job->c,
        .segment = v,
        .query = root,
        .filter = filter,
        .expired_ms = x->job->expired_ms,
        .top = &x->top,
    };

    return may_walk(x) && order_walk(&w, rc);
}

static int run_windows(struct search *x, const struct view_segment *v, struct node *root,
                       struct node *filter)
{
    static const size_t windows_between_looks = 16;
    float *scores = x->score_room;
    uint32_t base = 0;
    size_t windows = 0;
    int64_t before;

    if (!x->all && x->sort.by_key && x->top.after)
        base = key_reader_find(&x->keys, v->segment, x->top.after_key) / WINDOW_DOCS * WINDOW_DOCS;
    before = x->total;
    for (; base < v->segment->documents && !enough(x, (size_t)(x->total - before));
         base += WINDOW_DOCS) {
        uint64_t bits[WINDOW_WORDS];

        window_start(x->job, v, base, bits);
        if (x->top.after && x->sort.by_key && !x->all) {
            uint32_t first = key_reader_find(&x->keys, v->segment, x->top.after_key);

            for (uint32_t i = base; i < first && i - base < WINDOW_DOCS; i++)
                bits[(i - base) / 64] &= ~(1ull << (i - base) % 64);
        }
        root->window(root, base, bits, scores);
        if (filter)
            filter->window(filter, base, bits, NULL);
        take_window(x, v->segment, base, bits, scores);
        TRY(x->keys.rc);
        if (++windows % windows_between_looks == 0)
            TRY(go_on(x->job));
        if (x->collect.over)
            break;
    }
    return go_on(x->job); /* a node that has given up has found too little */
}

/* What scores less than the last hit that is kept can't come in, nor what scores as much behind one
 * that did not. */
static void skip_below(const struct search *x, const struct segment *s, struct node *root)
{
    float most;

    if (top_most(&x->top, s, &most))
        root->skip(root, most);
}

/* A query of words that few documents have is asked for one document after the other: most windows
 * would be nearly empty. */
static bool stepped(struct search *x, const struct view_segment *v, struct node *root,
                    const struct node *filter, int *rc)
{
    static const uint64_t few = 16; /* of so many documents, one */
    static const uint32_t steps_between_looks = 4096;
    uint32_t steps = 0;
    bool skips = root->skip && !x->all;
    const struct segment *s = v->segment;
    int64_t expired_ms = x->job->expired_ms;
    float score = 0;

    if (!x->scores || !root->next || (filter && !filter->test) || collectors_any(&x->collectors) ||
        (!skips && root->estimate * few > s->documents))
        return false;
    if (skips) /* by the hits of the segments before */
        skip_below(x, s, root);
    for (uint32_t doc = root->next(root, 0, &score); doc != NODE_END;
         doc = root->next(root, doc + 1, &score)) {
        if (++steps % steps_between_looks == 0 && (*rc = go_on(x->job)))
            return true;
        /* A stamp is not read for nothing: it is far from the one before. */
        if (!view_segment_has(v, doc) || (expired_ms != INT64_MIN && s->stamps[doc] < expired_ms) ||
            (filter && !filter->test(filter, doc)))
            continue;
        x->total++;
        top_add_scored(&x->top, s, doc, score);
        if (skips)
            skip_below(x, s, root);
    }
    return true;
}

static int run_held(struct search *x, const struct view_segment *v)
{
    struct node *root, *filter = NULL;
    int rc = E_OK;

    x->query.segment = v->segment;
    x->query.clauses = x->query.words = 0;
    TRY(node_compile(&x->query, x->s->query, x->scores, &root));
    if (x->s->filter)
        TRY(node_compile(&x->query, x->s->filter, false, &filter));
    if (walked(x, v, root, filter, &rc) || rc || stepped(x, v, root, filter, &rc))
        return rc;
    TRY(parts_hold(x->job->c, v->segment, &x->late));
    x->late_held = true;
    x->collect.expected =
        filter && filter->estimate < root->estimate ? filter->estimate : root->estimate;
    TRY(collectors_segment(&x->collectors, v->segment));
    TRY(run_windows(x, v, root, filter));
    collectors_segment_end(&x->collectors);
    return E_OK;
}

/* Of each segment what the search looks at is held meanwhile, and no more. */
static int run_segment(struct search *x, const struct view_segment *v)
{
    int rc;

    TRY(parts_hold(x->job->c, v->segment, &x->needs));
    rc = run_held(x, v);
    key_reader_end(&x->keys);
    if (!rc)
        rc = x->keys.rc;
    held_drop(v->segment, &x->held);
    if (x->late_held)
        parts_drop(v->segment, &x->late);
    x->late_held = false;
    parts_drop(v->segment, &x->needs);
    return rc;
}

/* A copy of the job, whose schema notes which fields are asked for. */
static const struct search_job *note_fields(struct search *x, const struct search_job *job)
{
    struct search_job *own = ARENA_NEW(&job->c->arena, struct search_job);
    struct search_schema *schema = ARENA_NEW(&job->c->arena, struct search_schema);

    *own = *job;
    *schema = *job->schema;
    schema->asked = x->asked;
    own->schema = schema;
    return own;
}

/* What is needed of the fields that have been asked for since the last time. A query holds what
 * else it needs as it finds it: blocks of the dictionary, and the documents of its terms. */
static void add_needs(struct search *x, struct part_set *needs, bool by_query)
{
    const struct search_schema *schema = x->job->schema;

    for (size_t f = 0; f < schema->count; f++) {
        enum field_kind kind = schema->fields[f].kind;

        if (!(x->asked[f / 64] >> f % 64 & 1))
            continue;
        if (kind != FIELD_ORDINAL || !by_query)
            part_set_add(needs, part_of_field(f, PART_VALUES));
        if (kind != FIELD_NUMBER && !by_query)
            part_set_add(needs, part_of_field(f, PART_TERMS));
    }
    memset(x->asked, 0, sizeof(x->asked));
}

/* Is the key among what a hit is compared by, one of several? */
static bool sorts_by_key(const struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++)
        if (sort->by[i].type == WR_SORTER_KEY)
            return true;
    return false;
}

/* All that is asked for has been checked, and so looked for. */
static void set_needs(struct search *x)
{
    add_needs(x, &x->needs, false);
    if (may_walk(x) && x->sort.count == 1)
        part_set_take(&x->late, &x->needs);
    else
        part_set_join(&x->needs, &x->late);
    x->keys =
        (struct key_reader){.c = x->job->c, .whole = x->collect.rows || sorts_by_key(&x->sort)};
    x->top.keys = &x->keys;
    if (x->keys.whole)
        part_set_add(&x->needs, PART_KEYS);
    if (x->job->expired_ms != INT64_MIN)
        part_set_add(&x->needs, PART_STAMPS);
    x->query.needs = x->collect.needs = &x->needs;
    x->query.held = x->collect.held = &x->held;
}

static int check(struct search *x)
{
    struct node *node;

    add_needs(x, &x->late, false); /* of the order */
    TRY(node_compile(&x->query, x->s->query, x->scores, &node));
    if (x->s->filter)
        TRY(node_compile(&x->query, x->s->filter, false, &node));
    add_needs(x, &x->needs, true);
    if (x->s->collapse.ptr)
        return fail(x->job->c, E_PARAMETER, "Collapse is not supported by this server yet.");
    if (x->s->highlight.given && x->s->highlight.count)
        return fail(x->job->c, E_PARAMETER, "Highlighting is not supported by this server yet.");
    return E_OK;
}

static void finish(struct search *x, size_t offset, size_t limit, struct search_hits *out)
{
    struct top *t = &x->top;
    size_t first = offset < t->count ? offset : t->count;
    /* The order of an index with NESTED fields is no order to go on in, if none was asked for. A
     * token is of a search that asked, and carries what it asked for. */
    bool ordered = !x->job->schema->has_nested || x->s->sort.given || x->s->token.len;

    top_finish(t);
    out->hits = t->hits + first;
    out->count = t->count - first < limit ? t->count - first : limit;
    out->scored = x->scores;
    out->total = x->s->track_total > 0 ? x->total : -1;
    if (limit && out->count == limit && ordered) {
        const struct hit *last = &out->hits[out->count - 1];

        out->next_token = sort_token(&x->job->c->arena, &x->sort, last->values,
                                     x->sort.key_breaks ? last->key : BYTES_NONE);
    }
}

int search_run(const struct search_job *job, const struct wr_search *s, int32_t limit_max,
               struct search_hits *out)
{
    struct search *x = ARENA_NEW(&job->c->arena, struct search);
    struct sort_value *after = ARENA_ARRAY(&job->c->arena, struct sort_value, SORTERS_MAX);
    bytes after_key = BYTES_NONE;
    size_t offset = 0, limit = 0;

    *out = (struct search_hits){.total = -1};
    x->job = job = note_fields(x, job);
    x->s = s;
    x->query = (struct query){.c = job->c,
                              .schema = job->schema,
                              .view = job->view,
                              .now_ms = job->now_ms,
                              .expired_ms = job->expired_ms};
    x->collect = (struct collect){
        .c = job->c,
        .schema = job->schema,
        .view = job->view,
        .now_ms = job->now_ms,
        .bytes_max = job->collect_bytes,
        .row = job->row,
        .row_arg = job->row_arg,
    };
    TRY(check_paging(job->c, s, limit_max, &offset, &limit));
    TRY(make_order(x, after, &after_key));
    x->scores = x->sort.scores;
    if (x->scores)
        x->score_room = arena_alloc(&job->c->arena, WINDOW_DOCS * sizeof(float));
    x->query.wanted = offset + limit;
    TRY(check(x));
    TRY(collectors_make(&x->collect, s->aggregations, s->aggregation_count, s->group_bys,
                        s->group_by_count, 1, &x->collectors));
    x->all = s->track_total > 0 || collectors_any(&x->collectors);
    top_init(&x->top, &job->c->arena, &x->sort, offset + limit);
    if (s->token.ptr && s->token.len) {
        x->top.after = after;
        x->top.after_key = after_key;
    }
    set_needs(x);
    for (size_t i = 0; i < job->view->count && !x->collect.over; i++)
        TRY(run_segment(x, &job->view->segments[i]));
    finish(x, offset, limit, out);
    return collectors_result(&x->collectors, 0, &out->aggregations, &out->group_bys);
}

int search_scan(const struct search_job *job, const struct wr_search_condition *query, bytes after,
                size_t limit, const bytes **keys, size_t *count)
{
    struct sort_value none = {0};
    struct search *x = ARENA_NEW(&job->c->arena, struct search);
    struct wr_search *s = ARENA_NEW(&job->c->arena, struct wr_search);
    bytes *list;

    s->query = query;
    s->track_total = -1;
    x->job = job = note_fields(x, job);
    x->s = s;
    x->query = (struct query){.c = job->c,
                              .schema = job->schema,
                              .view = job->view,
                              .now_ms = job->now_ms,
                              .expired_ms = job->expired_ms};
    x->collect = (struct collect){.c = job->c, .schema = job->schema, .view = job->view};
    x->sort = (struct sort){.schema = job->schema, .by_key = true, .key_breaks = true};
    TRY(check(x));
    top_init(&x->top, &job->c->arena, &x->sort, limit);
    if (after.ptr) {
        x->top.after = &none;
        x->top.after_key = after;
    }
    set_needs(x);
    for (size_t i = 0; i < job->view->count; i++) {
        TRY(run_segment(x, &job->view->segments[i]));
        TRY(go_on(job));
    }
    top_finish(&x->top);
    list = ARENA_ARRAY(&job->c->arena, bytes, x->top.count);
    for (size_t i = 0; i < x->top.count; i++)
        list[i] = x->top.hits[i].key;
    *keys = list;
    *count = x->top.count;
    return E_OK;
}

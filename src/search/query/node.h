/* node.h: a query over one segment, as a tree that is asked window by window. */
#ifndef SEARCH_QUERY_NODE_H
#define SEARCH_QUERY_NODE_H

#include "search/query/window.h"
#include "search/segment/term_reader.h"
#include "search/segment/view.h"

struct node {
    /* `bits` are the documents from `base` on that matter; those that do not match are cleared. If
     * `scores` is not NULL, those that are left get their score there. */
    void (*window)(struct node *n, uint32_t base, uint64_t *bits, float *scores);
    uint64_t estimate; /* of how many documents match; at most that, or about */
    /* Does one document match, in any order of asking? NULL: it can only be asked by windows. */
    bool (*test)(const struct node *n, uint32_t doc);
    /* The first document from `from` on that matches, with its score, or NODE_END; asked in
     * ascending order, and never mixed with windows. NULL: it can't be asked so. */
    uint32_t (*next)(struct node *n, uint32_t from, float *score);
    /* Of next(): no score is above it. 0: that is not known. */
    float bound;
    /* Documents that score `most` or less need not come from next() any more. May be NULL. */
    void (*skip)(struct node *n, float most);
    /* Of what has next(): does the document match, and with which score? Asked in ascending order,
     * beside next(), and also of what that passes over. */
    bool (*score_at)(struct node *n, uint32_t doc, float *score);
    /* About how many documents next() looks at behind skip(). NULL: it can't be told, and `most`
     * may only grow. */
    uint64_t (*cost)(const struct node *n, float most);
    /* What many documents may score, if that is nearly `about`, which else it is: so much is the
     * better one to skip by. NULL: it is always that. */
    float (*step)(const struct node *n, float about);
};

#define NODE_END UINT32_MAX

/* What a query is compiled for. */
struct found_term;

struct query {
    struct ctx *c;
    const struct search_schema *schema;
    const struct view *view;       /* statistics are over all of it */
    const struct segment *segment; /* NULL: the query is only checked */
    uint32_t clauses;              /* so far */
    uint32_t words;                /* so far, terms and words of matches */
    uint32_t depth;
    int64_t now_ms;
    int64_t expired_ms; /* documents whose stamp is below are not there */
    size_t wanted;      /* hits that the search asks for: so many neighbours there are at least */
    struct nearest_found *nearest; /* what has been looked for already, over all segments */
    /* What of a segment has to be held while the query looks at it: of `segment` it is. NULL: all
     * segments are in memory. */
    const struct part_set *needs;
    struct held_parts *held;   /* what is held beside, of `segment`: who sets that drops them */
    struct found_term **terms; /* of TEXT that have been looked for in all segments */
};

#define QUERY_CLAUSES_MAX 4096
#define QUERY_WORDS_MAX 16384
#define QUERY_DEPTH_MAX 32
#define QUERY_EXPANSION_MAX (1 << 20) /* documents and terms that one clause may list in memory */

/* The condition as a tree, in the arena; `scores`: they will be asked for. NULL conditions match
 * all. E_PARAMETER with a text; E_MEMORY. */
int node_compile(struct query *q, const struct wr_search_condition *condition, bool scores,
                 struct node **out);

/* ---- leaves (leaf.c) ---- */

struct node *node_all(struct query *q, float score);
struct node *node_none(struct query *q);
/* Documents that have one of the terms [first, end) of a field of ordinals or of TEXT; the reader
 * is not needed afterwards. */
int node_terms(struct query *q, struct term_reader *r, uint32_t first, uint32_t end, float score,
               struct node **out);
/* Documents of which a value of a number lies in [low, high]. */
int node_numbers(struct query *q, size_t field, int64_t low, int64_t high, float score,
                 struct node **out);
/* Documents that have a value. */
int node_exists(struct query *q, const struct segment_column *col, enum field_kind kind,
                float score, struct node **out);
/* A bit a document, all zeros, to be filled: E_MEMORY. */
int node_bitmap(struct query *q, float score, struct node **out, uint64_t **bits);
/* Adds the documents of terms [.., end), one term after the other, ascending. */
struct term_adder {
    struct query *q;
    struct term_reader *terms;
    bool text;
    uint64_t *bits;
    uint32_t end;
    uint32_t read_end;    /* the documents of the terms below are in memory */
    const uint32_t *read; /* of posts, from `read_at` on */
    uint64_t read_at;
    struct held_parts held; /* to be dropped at the end */
};
#define TERMS_CHUNK 8192 /* of a dictionary, so many are in memory at a time */
int bitmap_add_term(struct term_adder *a, uint32_t term);
void bitmap_add_end(struct term_adder *a);

/* ---- text (text_node.c) ---- */

/* What BM25 goes by: of all segments of the view. */
struct text_stats {
    double documents, average_length;
};
struct text_stats text_stats_of(const struct view *v, size_t field);
/* A term of TEXT with its score. */
int node_text_term(struct query *q, size_t field, bytes term, float weight, bool scores,
                   struct node **out);
/* Terms at positions that follow one another as in `positions`. */
int node_phrase(struct query *q, size_t field, const bytes *terms, const uint32_t *positions,
                size_t count, uint32_t slop, float weight, bool scores, struct node **out);

/* ---- of other nodes (bool_node.c) ---- */

struct bool_parts {
    struct node **must, **filter, **must_not, **should;
    size_t must_count, filter_count, must_not_count, should_count;
    size_t minimum; /* of should */
    float weight;
    bool scores; /* they will be asked for */
};
struct node *node_bool(struct query *q, const struct bool_parts *parts);
struct node *node_dis_max(struct query *q, struct node **parts, size_t count, bool scores,
                          float tie_breaker, float weight);
/* The same documents with that score. */
struct node *node_constant(struct query *q, struct node *inner, float score);

/* ---- scores by functions (score_node.c) ---- */

int node_function_score(struct query *q, const struct wr_search_condition *condition,
                        struct node **out);
int node_functions_score(struct query *q, const struct wr_search_condition *condition,
                         struct node **out);

/* ---- vectors (vector_node.c) ---- */

/* The nearest of all documents, with their scores. */
int node_nearest(struct query *q, size_t field, const struct wr_search_condition *condition,
                 struct node **out);

/* ---- geo (geo_node.c) ---- */

int node_geo(struct query *q, size_t field, const struct wr_search_condition *condition,
             struct node **out);

#endif

/* searcher.h: a search over one view of an index. */
#ifndef SEARCH_SEARCHER_H
#define SEARCH_SEARCHER_H

#include "search/result/collect.h"

#define SEARCH_OFFSET_LIMIT_MAX 100000

struct search_job {
    struct ctx *c; /* memory comes from it; E_BUSY past its deadline */
    const struct search_schema *schema;
    const struct view *view; /* held by the caller until the rows have been made */
    int64_t now_ms;          /* of the database's clock */
    int64_t expired_ms;      /* documents whose stamp is below are not found; INT64_MIN: all are */
    size_t collect_bytes;    /* what its aggregations and groups may hold */
    const int32_t *gone;     /* as of wr_request; may be NULL */
    int (*row)(void *arg, bytes key, struct wr_row *out); /* a row out of its key alone */
    void *row_arg;
};

struct search_hits {
    int64_t total;          /* -1: not counted */
    const struct hit *hits; /* keys are views of the view, or in the arena */
    size_t count;
    bool scored;
    bytes next_token; /* ptr NULL: the page was not full, or the search gives none */
    const struct wr_aggregation_result *aggregations;
    const struct wr_group_by_result *group_bys;
};

/* `limit_max`: the most rows of a page. */
int search_run(const struct search_job *job, const struct wr_search *s, int32_t limit_max,
               struct search_hits *out);

/* A page of a scan: keys behind `after` (ptr NULL: from the beginning) that match, in key order. */
int search_scan(const struct search_job *job, const struct wr_search_condition *query, bytes after,
                size_t limit, const bytes **keys, size_t *count);

#endif

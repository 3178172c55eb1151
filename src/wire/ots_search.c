/* Search, ComputeSplits and ParallelScan, both ways. */
#include "wire/ots_search_part.h"

#include <math.h>

/* ---- Search */

/* The wire's numbers; names count with one of them alone, and are sent with others. */
static const enum wr_search_columns wire_columns[] = {
    [1] = WR_SEARCH_COLUMNS_ALL,
    [2] = WR_SEARCH_COLUMNS_NAMED,
    [3] = WR_SEARCH_COLUMNS_NONE,
    [4] = WR_SEARCH_COLUMNS_INDEX,
};

static int read_columns(struct search_read *s, bytes in, enum wr_search_columns *out,
                        const bytes **names, size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    int32_t type = 1;

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_enum(s, &r, 1, 4, "Return type of columns", &type));
    TRY(search_end(s, &r));
    *out = wire_columns[type];
    return *out == WR_SEARCH_COLUMNS_NAMED ? search_texts(s, in, 2, names, count) : 0;
}

static void put_columns(struct buf *b, enum wr_search_columns columns, const bytes *names,
                        size_t count)
{
    size_t start, type = 1;

    if (columns == WR_SEARCH_COLUMNS_NONE)
        return;
    while (wire_columns[type] != columns)
        type++;
    start = pb_open(b, 3, 0);
    pb_put_int(b, 1, (int64_t)type);
    if (columns == WR_SEARCH_COLUMNS_NAMED)
        ots_put_names(b, 2, names, count);
    pb_close(b, start, 0);
}

/* -1 is how some clients say nothing. */
static void read_given(struct pb_reader *r, bool *given, int32_t *out)
{
    *out = pb_int32(r);
    *given = *out != -1;
    if (!*given)
        *out = 0;
}

/* Some send an empty token for none. */
static bytes read_token(struct pb_reader *r)
{
    bytes token = pb_bytes(r);

    return token.len ? token : BYTES_NONE;
}

static int read_collapse(struct search_read *s, bytes in, bytes *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            *out = pb_bytes(&r);
    TRY(search_end(s, &r));
    return search_need(s, out->ptr, "collapse", "field_name");
}

static int read_filter(struct search_read *s, bytes in, const struct wr_search_condition **out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_read_query(s, pb_bytes(&r), out));
    return search_end(s, &r);
}

/* Whether rows are counted has two fields; the newer one says how far, and goes before. */
static int read_total(struct search_read *s, bytes in, int32_t *out)
{
    struct pb_reader r = pb_reader_of(in);
    bool newer = false;

    *out = -1;
    while (pb_next(&r))
        if (r.field == 8 && !newer) {
            *out = pb_bool(&r) ? INT32_MAX : -1;
        } else if (r.field == 13) {
            newer = true;
            *out = pb_int32(&r);
        }
    if (*out < 0)
        *out = -1;
    return search_end(s, &r);
}

static int read_search_query(struct search_read *s, bytes in, struct wr_search *out)
{
    struct pb_reader r = pb_reader_of(in);

    TRY(read_total(s, in, &out->track_total));
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            read_given(&r, &out->has_offset, &out->offset);
            break;
        case 2:
            read_given(&r, &out->has_limit, &out->limit);
            break;
        case 4:
            TRY(search_read_query(s, pb_bytes(&r), &out->query));
            break;
        case 5:
            TRY(read_collapse(s, pb_bytes(&r), &out->collapse));
            break;
        case 6:
            TRY(search_read_sort(s, pb_bytes(&r), &out->sort));
            break;
        case 9:
            out->token = read_token(&r);
            break;
        case 10:
            TRY(search_read_aggregations(s, pb_bytes(&r), &out->aggregations,
                                         &out->aggregation_count));
            break;
        case 11:
            TRY(search_read_group_bys(s, pb_bytes(&r), &out->group_bys, &out->group_by_count));
            break;
        case 12:
            TRY(search_read_highlight(s, pb_bytes(&r), &out->highlight));
            break;
        case 14:
            TRY(read_filter(s, pb_bytes(&r), &out->filter));
            break;
        }
    return search_end(s, &r);
}

/* Values to route by choose where to look; a search looks everywhere. */
int ots_decode_search_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__SearchRequest *m = message;
    struct wr_search *search = &out->search;
    struct search_read s = search_read_request(c);

    *search = (struct wr_search){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .timeout_ms = m->timeout_ms,
    };
    if (m->has_columns_to_get)
        TRY(read_columns(&s, pb_view(m->columns_to_get), &search->columns, &search->names,
                         &search->name_count));
    return read_search_query(&s, pb_view(m->search_query), search);
}

static void put_search_query(struct buf *b, const struct wr_search *search)
{
    size_t start;

    if (search->has_offset)
        pb_put_int(b, 1, search->offset);
    if (search->has_limit)
        pb_put_int(b, 2, search->limit);
    if (search->query)
        search_put_condition(b, 4, search->query);
    if (search->collapse.ptr) {
        start = pb_open(b, 5, 0);
        pb_put_bytes(b, 1, search->collapse);
        pb_close(b, start, 0);
    }
    search_put_sort(b, 6, &search->sort);
    search_put_optional(b, 9, search->token);
    search_put_aggregations(b, 10, search->aggregations, search->aggregation_count);
    search_put_group_bys(b, 11, search->group_bys, search->group_by_count);
    search_put_highlight(b, 12, &search->highlight);
    pb_put_int(b, 13, search->track_total);
    if (search->filter) {
        start = pb_open(b, 14, 0);
        search_put_condition(b, 1, search->filter);
        pb_close(b, start, 0);
    }
}

void ots_encode_search_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_search *search = &req->search;
    size_t start;

    search_put_name(b, search->table, search->index);
    put_columns(b, search->columns, search->names, search->name_count);
    start = pb_open(b, 4, 0);
    put_search_query(b, search);
    pb_close(b, start, 0);
    search_put_given(b, 6, search->timeout_ms);
}

/* Every row has a hit, for programs that go by these alone; clients want all of the first and third
 * field. */
bytes ots_encode_search_response(struct ctx *c, const struct wr_request *req,
                                 const struct wr_reply *reply)
{
    const struct wr_search_result *result = &reply->search;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64 + 128 * result->count);
    pb_put_int(&b, 1, result->total);
    search_put_rows(&b, 2, result->rows, result->count);
    pb_put_int(&b, 3, 1);
    for (size_t i = 0; i < result->count; i++) {
        size_t start = pb_open(&b, 5, 0);

        pb_put_double(&b, 3, result->scores ? result->scores[i] : (double)NAN);
        pb_close(&b, start, 0);
    }
    search_put_optional(&b, 6, result->next_token);
    search_put_aggregation_results(&b, 7, result->aggregations, result->aggregation_count);
    search_put_group_by_results(&b, 8, result->group_bys, result->group_by_count);
    if (result->consumed.read || result->consumed.write)
        ots_put_consumed(&b, 9, &result->consumed, false);
    return buf_bytes(&b);
}

static int read_rows(struct search_read *s, size_t n, const ProtobufCBinaryData *from,
                     const struct wr_row **out, size_t *count)
{
    struct wr_row *rows;

    TRY(search_items(s, n, sizeof(*rows), &rows));
    for (size_t i = 0; i < n; i++)
        TRY(search_read_row(s, pb_view(from[i]), &rows[i]));
    *out = rows;
    *count = n;
    return 0;
}

static int read_score(struct search_read *s, bytes in, double *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (double)NAN;
    while (pb_next(&r))
        if (r.field == 3)
            *out = pb_double(&r);
    return search_end(s, &r);
}

int ots_decode_search_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__SearchResponse *m = message;
    struct wr_search_result *result = &out->search;
    struct search_read s = search_read_reply(c);
    double *scores;

    *result = (struct wr_search_result){.total = m->total_hits};
    if (m->next_token.len)
        result->next_token = pb_view(m->next_token);
    ots_read_consumed(m->consumed, &result->consumed);
    TRY(read_rows(&s, m->n_rows, m->rows, &result->rows, &result->count));
    TRY(search_items(&s, m->n_rows, sizeof(*scores), &scores));
    for (size_t i = 0; i < m->n_rows; i++)
        TRY(read_score(&s, i < m->n_search_hits ? pb_view(m->search_hits[i]) : BYTES_LIT(""),
                       &scores[i]));
    result->scores = scores;
    TRY(search_read_aggregation_results(&s, pb_view(m->aggs), &result->aggregations,
                                        &result->aggregation_count));
    return search_read_group_by_results(&s, pb_view(m->group_bys), &result->group_bys,
                                        &result->group_by_count);
}

/* ---- ComputeSplits */

int ots_decode_compute_splits_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ComputeSplitsRequest *m = message;
    const Ots__SearchSplitsOptions *options = m->search_index_splits_options;

    (void)c;
    out->compute_splits = (struct wr_compute_splits){
        .table = pb_view(m->table_name),
        .has_options = options,
    };
    if (options)
        out->compute_splits.index = search_optional(options->has_index_name, options->index_name);
    return 0;
}

void ots_encode_compute_splits_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_compute_splits *splits = &req->compute_splits;

    pb_put_bytes(b, 1, splits->table);
    if (splits->has_options) {
        size_t start = pb_open(b, 2, 0);

        search_put_optional(b, 1, splits->index);
        pb_close(b, start, 0);
    }
}

bytes ots_encode_compute_splits_response(struct ctx *c, const struct wr_request *req,
                                         const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 16 + reply->search_splits.session.len);
    pb_put_bytes(&b, 1, reply->search_splits.session);
    pb_put_int(&b, 2, reply->search_splits.splits);
    return buf_bytes(&b);
}

int ots_decode_compute_splits_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ComputeSplitsResponse *m = message;

    (void)c;
    out->search_splits = (struct wr_search_splits){pb_view(m->session_id), m->splits_size};
    return 0;
}

/* ---- ParallelScan */

static int read_scan_query(struct search_read *s, bytes in, struct wr_parallel_scan *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            TRY(search_read_query(s, pb_bytes(&r), &out->query));
            break;
        case 2:
            read_given(&r, &out->has_limit, &out->limit);
            break;
        case 3:
            out->alive_s = pb_int32(&r);
            break;
        case 4:
            out->token = read_token(&r);
            break;
        case 5:
            out->parallel_id = pb_int32(&r);
            break;
        case 6:
            out->max_parallel = pb_int32(&r);
            break;
        }
    return search_end(s, &r);
}

int ots_decode_parallel_scan_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ParallelScanRequest *m = message;
    struct wr_parallel_scan *scan = &out->parallel_scan;
    struct search_read s = search_read_request(c);

    *scan = (struct wr_parallel_scan){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .session = search_optional(m->has_session_id && m->session_id.len, m->session_id),
        .timeout_ms = m->timeout_ms,
    };
    if (m->has_columns_to_get)
        TRY(read_columns(&s, pb_view(m->columns_to_get), &scan->columns, &scan->names,
                         &scan->name_count));
    return read_scan_query(&s, pb_view(m->scan_query), scan);
}

static void put_scan_query(struct buf *b, const struct wr_parallel_scan *scan)
{
    if (scan->query)
        search_put_condition(b, 1, scan->query);
    if (scan->has_limit)
        pb_put_int(b, 2, scan->limit);
    search_put_given(b, 3, scan->alive_s);
    search_put_optional(b, 4, scan->token);
    pb_put_int(b, 5, scan->parallel_id);
    search_put_given(b, 6, scan->max_parallel);
}

void ots_encode_parallel_scan_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_parallel_scan *scan = &req->parallel_scan;
    size_t start;

    search_put_name(b, scan->table, scan->index);
    put_columns(b, scan->columns, scan->names, scan->name_count);
    search_put_optional(b, 4, scan->session);
    start = pb_open(b, 5, 0);
    put_scan_query(b, scan);
    pb_close(b, start, 0);
    search_put_given(b, 6, scan->timeout_ms);
}

bytes ots_encode_parallel_scan_response(struct ctx *c, const struct wr_request *req,
                                        const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64 + 128 * reply->scan.count);
    search_put_rows(&b, 1, reply->scan.rows, reply->scan.count);
    search_put_optional(&b, 2, reply->scan.next_token);
    return buf_bytes(&b);
}

int ots_decode_parallel_scan_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ParallelScanResponse *m = message;
    struct search_read s = search_read_reply(c);

    out->scan = (struct wr_scan_result){0};
    if (m->next_token.len)
        out->scan.next_token = pb_view(m->next_token);
    return read_rows(&s, m->n_rows, m->rows, &out->scan.rows, &out->scan.count);
}

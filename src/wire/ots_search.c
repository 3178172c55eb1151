/* Operations on search indexes, both ways: what stands outermost in their messages. */
#include "wire/ots_part.h"

static bytes optional_view(int has, ProtobufCBinaryData field)
{
    return has ? pb_view(field) : BYTES_NONE;
}

static void put_optional(struct buf *b, unsigned field, bytes v)
{
    if (v.ptr)
        pb_put_bytes(b, field, v);
}

static void put_name(struct buf *b, bytes table, bytes index)
{
    pb_put_bytes(b, 1, table);
    pb_put_bytes(b, 2, index);
}

/* ---- CreateSearchIndex */

int ots_decode_create_search_index_request(struct ctx *c, const void *message,
                                           struct wr_request *out)
{
    const Ots__CreateSearchIndexRequest *m = message;

    (void)c;
    out->create_search_index = (struct wr_create_search_index){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .source_index = optional_view(m->has_source_index_name, m->source_index_name),
        .has_ttl = m->has_time_to_live,
        .ttl_s = m->time_to_live,
    };
    return 0;
}

void ots_encode_create_search_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_create_search_index *create = &req->create_search_index;

    put_name(b, create->table, create->index);
    put_optional(b, 4, create->source_index);
    if (create->has_ttl)
        pb_put_int(b, 5, create->ttl_s);
}

/* ---- UpdateSearchIndex */

static int read_weights(struct ctx *c, size_t n, Ots__QueryFlowWeight **from,
                        const struct wr_query_flow_weight **out, size_t *count)
{
    struct wr_query_flow_weight *list;

    TRY(ots_array(c, n, sizeof(*list), &list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct wr_query_flow_weight){pb_view(from[i]->index_name), from[i]->weight};
    *out = list;
    *count = n;
    return 0;
}

static void put_weights(struct buf *b, unsigned field, const struct wr_query_flow_weight *list,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, list[i].index);
        pb_put_int(b, 2, list[i].weight);
        pb_close(b, start, 0);
    }
}

int ots_decode_update_search_index_request(struct ctx *c, const void *message,
                                           struct wr_request *out)
{
    const Ots__UpdateSearchIndexRequest *m = message;
    struct wr_update_search_index *update = &out->update_search_index;

    *update = (struct wr_update_search_index){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .switch_index = optional_view(m->has_switch_index_name, m->switch_index_name),
        .has_ttl = m->has_time_to_live,
        .ttl_s = m->time_to_live,
    };
    return read_weights(c, m->n_query_flow_weight, m->query_flow_weight, &update->weights,
                        &update->weight_count);
}

void ots_encode_update_search_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_update_search_index *update = &req->update_search_index;

    put_name(b, update->table, update->index);
    put_optional(b, 3, update->switch_index);
    put_weights(b, 4, update->weights, update->weight_count);
    if (update->has_ttl)
        pb_put_int(b, 5, update->ttl_s);
}

/* ---- DeleteSearchIndex, ListSearchIndex */

int ots_decode_delete_search_index_request(struct ctx *c, const void *message,
                                           struct wr_request *out)
{
    const Ots__DeleteSearchIndexRequest *m = message;

    (void)c;
    out->delete_search_index =
        (struct wr_search_index_name){pb_view(m->table_name), pb_view(m->index_name)};
    return 0;
}

void ots_encode_delete_search_index_request(struct buf *b, const struct wr_request *req)
{
    put_name(b, req->delete_search_index.table, req->delete_search_index.index);
}

/* Some clients send an empty name for none. */
int ots_decode_list_search_index_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ListSearchIndexRequest *m = message;

    (void)c;
    if (m->has_table_name && m->table_name.len)
        out->list_search_index.table = pb_view(m->table_name);
    return 0;
}

void ots_encode_list_search_index_request(struct buf *b, const struct wr_request *req)
{
    put_optional(b, 1, req->list_search_index.table);
}

bytes ots_encode_list_search_index_response(struct ctx *c, const struct wr_request *req,
                                            const struct wr_reply *reply)
{
    const struct wr_search_index_list *list = &reply->search_indexes;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64 * list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        size_t start = pb_open(&b, 1, 0);

        put_name(&b, list->indexes[i].table, list->indexes[i].index);
        pb_close(&b, start, 0);
    }
    return buf_bytes(&b);
}

int ots_decode_list_search_index_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ListSearchIndexResponse *m = message;
    struct wr_search_index_name *list;

    TRY(ots_array(c, m->n_indices, sizeof(*list), &list));
    for (size_t i = 0; i < m->n_indices; i++)
        list[i] = (struct wr_search_index_name){pb_view(m->indices[i]->table_name),
                                                pb_view(m->indices[i]->index_name)};
    out->search_indexes = (struct wr_search_index_list){list, m->n_indices};
    return 0;
}

/* ---- DescribeSearchIndex */

int ots_decode_describe_search_index_request(struct ctx *c, const void *message,
                                             struct wr_request *out)
{
    const Ots__DescribeSearchIndexRequest *m = message;

    (void)c;
    out->describe_search_index = (struct wr_describe_search_index){
        pb_view(m->table_name), pb_view(m->index_name), !m->include_sync_stat};
    return 0;
}

void ots_encode_describe_search_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_describe_search_index *describe = &req->describe_search_index;

    put_name(b, describe->table, describe->index);
    pb_put_int(b, 3, !describe->no_sync_stat);
}

bytes ots_encode_describe_search_index_response(struct ctx *c, const struct wr_request *req,
                                                const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    (void)reply;
    buf_init(&b, &c->arena, 512);
    return buf_bytes(&b);
}

int ots_decode_describe_search_index_response(struct ctx *c, const void *message,
                                              struct wr_reply *out)
{
    (void)message;
    (void)out;
    return ots_fail_reply(c);
}

/* ---- Search */

int ots_decode_search_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__SearchRequest *m = message;

    (void)c;
    out->search = (struct wr_search){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .timeout_ms = m->timeout_ms,
    };
    return 0;
}

void ots_encode_search_request(struct buf *b, const struct wr_request *req)
{
    put_name(b, req->search.table, req->search.index);
}

bytes ots_encode_search_response(struct ctx *c, const struct wr_request *req,
                                 const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    (void)reply;
    buf_init(&b, &c->arena, 512);
    return buf_bytes(&b);
}

int ots_decode_search_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    (void)message;
    (void)out;
    return ots_fail_reply(c);
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
        out->compute_splits.index = optional_view(options->has_index_name, options->index_name);
    return 0;
}

void ots_encode_compute_splits_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_compute_splits *splits = &req->compute_splits;

    pb_put_bytes(b, 1, splits->table);
    if (splits->has_options) {
        size_t start = pb_open(b, 2, 0);

        put_optional(b, 1, splits->index);
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

int ots_decode_parallel_scan_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ParallelScanRequest *m = message;

    (void)c;
    out->parallel_scan = (struct wr_parallel_scan){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .session = optional_view(m->has_session_id, m->session_id),
        .timeout_ms = m->timeout_ms,
    };
    return 0;
}

void ots_encode_parallel_scan_request(struct buf *b, const struct wr_request *req)
{
    put_name(b, req->parallel_scan.table, req->parallel_scan.index);
}

bytes ots_encode_parallel_scan_response(struct ctx *c, const struct wr_request *req,
                                        const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    (void)reply;
    buf_init(&b, &c->arena, 512);
    return buf_bytes(&b);
}

int ots_decode_parallel_scan_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    (void)message;
    (void)out;
    return ots_fail_reply(c);
}

/* What search indexes there are: operations on them, both ways. */
#include "wire/ots_search_part.h"

/* ---- CreateSearchIndex */

int ots_decode_create_search_index_request(struct ctx *c, const void *message,
                                           struct wr_request *out)
{
    const Ots__CreateSearchIndexRequest *m = message;
    struct search_read s = search_read_request(c);

    out->create_search_index = (struct wr_create_search_index){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .source_index = search_optional(m->has_source_index_name, m->source_index_name),
        .has_ttl = m->has_time_to_live,
        .ttl_s = m->time_to_live,
    };
    TRY(search_need(&s, m->has_schema, "create search index", "schema"));
    return search_read_schema(&s, pb_view(m->schema), &out->create_search_index.schema);
}

void ots_encode_create_search_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_create_search_index *create = &req->create_search_index;

    search_put_name(b, create->table, create->index);
    search_put_schema(b, 3, &create->schema, false);
    search_put_optional(b, 4, create->source_index);
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
    struct search_read s = search_read_request(c);
    struct wr_field_schema *added;

    *update = (struct wr_update_search_index){
        .table = pb_view(m->table_name),
        .index = pb_view(m->index_name),
        .switch_index = search_optional(m->has_switch_index_name, m->switch_index_name),
        .has_ttl = m->has_time_to_live,
        .ttl_s = m->time_to_live,
    };
    TRY(search_items(&s, m->n_added_field_schemas, sizeof(*added), &added));
    for (size_t i = 0; i < m->n_added_field_schemas; i++)
        TRY(search_read_field(&s, pb_view(m->added_field_schemas[i]), &added[i]));
    update->added_fields = added;
    update->added_field_count = m->n_added_field_schemas;
    return read_weights(c, m->n_query_flow_weight, m->query_flow_weight, &update->weights,
                        &update->weight_count);
}

void ots_encode_update_search_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_update_search_index *update = &req->update_search_index;

    search_put_name(b, update->table, update->index);
    search_put_optional(b, 3, update->switch_index);
    put_weights(b, 4, update->weights, update->weight_count);
    if (update->has_ttl)
        pb_put_int(b, 5, update->ttl_s);
    for (size_t i = 0; i < update->added_field_count; i++)
        search_put_field(b, 6, &update->added_fields[i], false);
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
    search_put_name(b, req->delete_search_index.table, req->delete_search_index.index);
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
    search_put_optional(b, 1, req->list_search_index.table);
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

        search_put_name(&b, list->indexes[i].table, list->indexes[i].index);
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

    search_put_name(b, describe->table, describe->index);
    pb_put_int(b, 3, !describe->no_sync_stat);
}

static void put_sync_stat(struct buf *b, const struct wr_search_index_description *d)
{
    size_t start;

    if (!d->has_sync_stat)
        return;
    start = pb_open(b, 2, 0);
    pb_put_int(b, 1, d->phase);
    pb_put_int(b, 2, d->synced_us * 1000);
    pb_close(b, start, 0);
}

static void put_metering(struct buf *b, const struct wr_search_index_description *d)
{
    size_t start = pb_open(b, 3, 0);

    pb_put_int(b, 1, d->storage_bytes);
    pb_put_int(b, 2, d->row_count);
    pb_put_int(b, 3, 0);
    pb_put_int(b, 4, d->metered_s);
    pb_close(b, start, 0);
}

bytes ots_encode_describe_search_index_response(struct ctx *c, const struct wr_request *req,
                                                const struct wr_reply *reply)
{
    const struct wr_search_index_description *d = &reply->search_index;
    struct buf b;
    size_t start;

    (void)req;
    buf_init(&b, &c->arena, 256 + 64 * d->schema.field_count);
    search_put_schema(&b, 1, &d->schema, true);
    put_sync_stat(&b, d);
    put_metering(&b, d);
    search_put_optional(&b, 4, d->brother);
    put_weights(&b, 5, d->weights, d->weight_count);
    pb_put_int(&b, 6, d->creation_us);
    pb_put_int(&b, 7, d->ttl_s);
    start = pb_open(&b, 8, 0);
    pb_put_int(&b, 1, d->status);
    if (d->status_text.len)
        pb_put_bytes(&b, 2, d->status_text);
    pb_close(&b, start, 0);
    return buf_bytes(&b);
}

int ots_decode_describe_search_index_response(struct ctx *c, const void *message,
                                              struct wr_reply *out)
{
    const Ots__DescribeSearchIndexResponse *m = message;
    struct wr_search_index_description *d = &out->search_index;
    struct search_read s = search_read_reply(c);

    *d = (struct wr_search_index_description){
        .brother = search_optional(m->has_brother_index_name, m->brother_index_name),
        .creation_us = m->create_time,
        .ttl_s = m->time_to_live,
    };
    if (m->sync_stat) {
        d->has_sync_stat = true;
        d->phase = (enum wr_search_sync_phase)m->sync_stat->sync_phase;
        d->synced_us = m->sync_stat->current_sync_timestamp / 1000;
    }
    if (m->metering_info) {
        d->storage_bytes = m->metering_info->storage_size;
        d->row_count = m->metering_info->row_count;
        d->metered_s = m->metering_info->timestamp;
    }
    if (m->index_status) {
        d->status = (enum wr_search_index_status)m->index_status->status;
        d->status_text = pb_view(m->index_status->status_description);
    }
    TRY(read_weights(c, m->n_query_flow_weight, m->query_flow_weight, &d->weights,
                     &d->weight_count));
    return search_read_schema(&s, pb_view(m->schema), &d->schema);
}

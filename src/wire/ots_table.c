/* Table operations: requests and answers.
 *
 * Some answers carry more than the .proto files ask for, because clients fall over without: both
 * numbers of a capacity, stream_details and table_status always, and of the table options the four
 * that clients read without looking (doc/wire.md, "Messages"). */
#include "wire/ots_part.h"

/* ---- numbers of the protocol */

int ots_key_type(enum wr_type type)
{
    switch (plain_type_of(type)) {
    case VT_STRING:
        return OTS__PRIMARY_KEY_TYPE__PKT_STRING;
    case VT_BLOB:
        return OTS__PRIMARY_KEY_TYPE__PKT_BINARY;
    default:
        return OTS__PRIMARY_KEY_TYPE__PKT_INTEGER;
    }
}

bool ots_key_type_read(int number, enum wr_type *type)
{
    switch (number) {
    case OTS__PRIMARY_KEY_TYPE__PKT_INTEGER:
        *type = WR_BIGINT;
        return true;
    case OTS__PRIMARY_KEY_TYPE__PKT_STRING:
        *type = WR_VARCHAR;
        return true;
    case OTS__PRIMARY_KEY_TYPE__PKT_BINARY:
        *type = WR_VARBINARY;
        return true;
    default:
        return false;
    }
}

int ots_column_type(enum wr_type type)
{
    switch (plain_type_of(type)) {
    case VT_DOUBLE:
        return OTS__DEFINED_COLUMN_TYPE__DCT_DOUBLE;
    case VT_BOOLEAN:
        return OTS__DEFINED_COLUMN_TYPE__DCT_BOOLEAN;
    case VT_STRING:
        return OTS__DEFINED_COLUMN_TYPE__DCT_STRING;
    case VT_BLOB:
        return OTS__DEFINED_COLUMN_TYPE__DCT_BLOB;
    default:
        return OTS__DEFINED_COLUMN_TYPE__DCT_INTEGER;
    }
}

bool ots_column_type_read(int number, enum wr_type *type)
{
    switch (number) {
    case OTS__DEFINED_COLUMN_TYPE__DCT_INTEGER:
        *type = WR_BIGINT;
        return true;
    case OTS__DEFINED_COLUMN_TYPE__DCT_DOUBLE:
        *type = WR_DOUBLE;
        return true;
    case OTS__DEFINED_COLUMN_TYPE__DCT_BOOLEAN:
        *type = WR_BOOLEAN;
        return true;
    case OTS__DEFINED_COLUMN_TYPE__DCT_STRING:
        *type = WR_VARCHAR;
        return true;
    case OTS__DEFINED_COLUMN_TYPE__DCT_BLOB:
        *type = WR_VARBINARY;
        return true;
    default:
        return false;
    }
}

/* ---- reading parts */

int ots_read_keys(struct ctx *c, size_t n, Ots__PrimaryKeySchema **from,
                  const struct wr_key_schema **out, size_t *count)
{
    struct wr_key_schema *keys;

    TRY(ots_array(c, n, sizeof(*keys), &keys));
    for (size_t i = 0; i < n; i++) {
        keys[i].name = pb_view(from[i]->name);
        if (!ots_key_type_read(from[i]->type, &keys[i].type))
            return ots_fail_parse(c);
        keys[i].auto_increment =
            from[i]->has_option && from[i]->option == OTS__PRIMARY_KEY_OPTION__PKO_AUTO_INCREMENT;
        keys[i].descending = from[i]->has_descending && from[i]->descending;
    }
    *out = keys;
    *count = n;
    return 0;
}

int ots_read_defined(struct ctx *c, size_t n, Ots__DefinedColumnSchema **from,
                     const struct wr_defined_column **out, size_t *count)
{
    struct wr_defined_column *columns;

    TRY(ots_array(c, n, sizeof(*columns), &columns));
    for (size_t i = 0; i < n; i++) {
        columns[i].name = pb_view(from[i]->name);
        if (!ots_column_type_read(from[i]->type, &columns[i].type))
            return ots_fail_parse(c);
    }
    *out = columns;
    *count = n;
    return 0;
}

static int read_index(struct ctx *c, const Ots__IndexMeta *from, struct wr_index_meta *out)
{
    if (from->index_update_mode < 0 ||
        from->index_update_mode > OTS__INDEX_UPDATE_MODE__IUM_SYNC_INDEX || from->index_type < 0 ||
        from->index_type > OTS__INDEX_TYPE__IT_LOCAL_INDEX)
        return ots_fail_parse(c);
    out->name = pb_view(from->name);
    out->update_mode = from->index_update_mode;
    out->type = from->index_type;
    out->sync_phase = from->has_index_sync_phase ? from->index_sync_phase : 0;
    TRY(ots_views(c, from->n_primary_key, from->primary_key, &out->key_columns,
                  &out->key_column_count));
    return ots_views(c, from->n_defined_column, from->defined_column, &out->defined_columns,
                     &out->defined_column_count);
}

int ots_read_indexes(struct ctx *c, size_t n, Ots__IndexMeta **from,
                     const struct wr_index_meta **out, size_t *count)
{
    struct wr_index_meta *indexes;

    TRY(ots_array(c, n, sizeof(*indexes), &indexes));
    for (size_t i = 0; i < n; i++)
        TRY(read_index(c, from[i], &indexes[i]));
    *out = indexes;
    *count = n;
    return 0;
}

void ots_read_options(const Ots__TableOptions *from, struct wr_table_options *out)
{
    *out = (struct wr_table_options){
        .given = (from->has_time_to_live ? WR_HAS_TTL : 0u) |
                 (from->has_max_versions ? WR_HAS_MAX_VERSIONS : 0u) |
                 (from->has_deviation_cell_version_in_sec ? WR_HAS_DEVIATION : 0u) |
                 (from->has_allow_update ? WR_HAS_ALLOW_UPDATE : 0u) |
                 (from->has_update_full_row ? WR_HAS_UPDATE_FULL_ROW : 0u) |
                 (from->has_cell_bytes_max ? WR_HAS_CELL_BYTES : 0u),
        .ttl_s = from->time_to_live,
        .max_versions = from->max_versions,
        .deviation_s = from->deviation_cell_version_in_sec,
        .allow_update = from->allow_update,
        .update_full_row = from->update_full_row,
        .cell_bytes_max = from->cell_bytes_max,
    };
}

static void read_throughput(const Ots__ReservedThroughput *from, struct wr_throughput *out)
{
    const Ots__CapacityUnit *cu = from->capacity_unit;

    *out = (struct wr_throughput){cu->has_read, cu->has_write, cu->read, cu->write};
}

static int read_stream(struct ctx *c, const Ots__StreamSpecification *from,
                       struct wr_stream_spec *out)
{
    *out = (struct wr_stream_spec){
        .given = true,
        .enable = from->enable_stream,
        .has_expiration = from->has_expiration_time,
        .expiration_h = from->expiration_time,
    };
    return ots_views(c, from->n_columns_to_get, from->columns_to_get, &out->columns_to_get,
                     &out->column_count);
}

void ots_read_sse(const Ots__ServerSideEncryption *from, struct wr_sse_spec *out)
{
    bool known = from->has_key_type && (from->key_type == 1 || from->key_type == 2);

    *out = (struct wr_sse_spec){
        .given = true,
        .enable = from->enable,
        .key_type = known ? from->key_type : 0,
        .key_id = from->has_key_id ? pb_view(from->key_id) : BYTES_NONE,
        .role_arn = from->has_role_arn ? pb_view(from->role_arn) : BYTES_NONE,
    };
}

static int read_partitions(struct ctx *c, const Ots__CreateTableRequest *m,
                           struct wr_create_table *out)
{
    struct wr_partition_range *ranges;

    TRY(ots_array(c, m->n_partitions, sizeof(*ranges), &ranges));
    for (size_t i = 0; i < m->n_partitions; i++) {
        TRY(plain_decode_value(c, pb_view(m->partitions[i]->begin), &ranges[i].begin));
        TRY(plain_decode_value(c, pb_view(m->partitions[i]->end), &ranges[i].end));
    }
    out->partitions = ranges;
    out->partition_count = m->n_partitions;
    return 0;
}

/* ---- requests */

int ots_decode_create_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__CreateTableRequest *m = message;
    const Ots__TableMeta *meta = m->table_meta;
    struct wr_create_table *t = &out->create_table;

    t->table = pb_view(meta->table_name);
    t->local_transactions = m->has_enable_local_txn && m->enable_local_txn;
    t->layout = m->has_layout ? pb_view(m->layout) : BYTES_NONE;
    read_throughput(m->reserved_throughput, &t->reserved);
    if (m->table_options)
        ots_read_options(m->table_options, &t->options);
    if (m->stream_spec)
        TRY(read_stream(c, m->stream_spec, &t->stream));
    if (m->sse_spec)
        ots_read_sse(m->sse_spec, &t->sse);
    TRY(ots_read_keys(c, meta->n_primary_key, meta->primary_key, &t->key, &t->key_count));
    TRY(ots_read_defined(c, meta->n_defined_column, meta->defined_column, &t->defined,
                         &t->defined_count));
    TRY(ots_read_indexes(c, m->n_index_metas, m->index_metas, &t->indexes, &t->index_count));
    return read_partitions(c, m, t);
}

int ots_decode_list_table(struct ctx *c, const void *message, struct wr_request *out)
{
    (void)c;
    (void)message;
    (void)out;
    return 0;
}

int ots_decode_describe_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TableNameRequest *m = message;

    (void)c;
    out->describe_table.table = pb_view(m->table_name);
    return 0;
}

int ots_decode_rekey_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__RekeyTableRequest *m = message;

    if (m->action < WR_REKEY_STATUS || m->action > WR_REKEY_CANCEL)
        return ots_fail_parse(c);
    out->rekey_table.table = pb_view(m->table_name);
    out->rekey_table.action = (enum wr_rekey_action)m->action;
    out->rekey_table.layout = m->has_layout ? pb_view(m->layout) : BYTES_NONE;
    return 0;
}

int ots_decode_update_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__UpdateTableRequest *m = message;
    struct wr_update_table *t = &out->update_table;

    t->table = pb_view(m->table_name);
    t->has_reserved = m->reserved_throughput;
    if (m->reserved_throughput)
        read_throughput(m->reserved_throughput, &t->reserved);
    t->has_options = m->table_options;
    if (m->table_options)
        ots_read_options(m->table_options, &t->options);
    return m->stream_spec ? read_stream(c, m->stream_spec, &t->stream) : 0;
}

int ots_decode_delete_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TableNameRequest *m = message;

    (void)c;
    out->delete_table.table = pb_view(m->table_name);
    return 0;
}

int ots_decode_load_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TableNameRequest *m = message;

    (void)c;
    out->load_table.table = pb_view(m->table_name);
    return 0;
}

int ots_decode_unload_table(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TableNameRequest *m = message;

    (void)c;
    out->unload_table.table = pb_view(m->table_name);
    return 0;
}

int ots_decode_add_defined_column(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__AddDefinedColumnRequest *m = message;
    struct wr_defined_columns *d = &out->add_defined_column;

    d->table = pb_view(m->table_name);
    return ots_read_defined(c, m->n_columns, m->columns, &d->columns, &d->count);
}

int ots_decode_delete_defined_column(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__DeleteDefinedColumnRequest *m = message;
    struct wr_defined_columns *d = &out->delete_defined_column;
    struct wr_defined_column *columns;

    d->table = pb_view(m->table_name);
    TRY(ots_array(c, m->n_columns, sizeof(*columns), &columns));
    for (size_t i = 0; i < m->n_columns; i++)
        columns[i].name = pb_view(m->columns[i]);
    d->columns = columns;
    d->count = m->n_columns;
    return 0;
}

/* ---- writing parts */

void ots_put_names(struct buf *b, unsigned field, const bytes *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pb_put_bytes(b, field, names[i]);
}

void ots_put_keys(struct buf *b, unsigned field, const struct wr_key_schema *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, keys[i].name);
        pb_put_int(b, 2, ots_key_type(keys[i].type));
        if (keys[i].auto_increment)
            pb_put_int(b, 3, OTS__PRIMARY_KEY_OPTION__PKO_AUTO_INCREMENT);
        if (keys[i].descending)
            pb_put_int(b, OTS_FIELD_OWN, 1);
        pb_close(b, start, 0);
    }
}

void ots_put_defined(struct buf *b, unsigned field, const struct wr_defined_column *columns,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, columns[i].name);
        pb_put_int(b, 2, ots_column_type(columns[i].type));
        pb_close(b, start, 0);
    }
}

void ots_put_indexes(struct buf *b, unsigned field, const struct wr_index_meta *indexes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wr_index_meta *index = &indexes[i];
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, index->name);
        ots_put_names(b, 2, index->key_columns, index->key_column_count);
        ots_put_names(b, 3, index->defined_columns, index->defined_column_count);
        pb_put_int(b, 4, index->update_mode);
        pb_put_int(b, 5, index->type);
        if (index->sync_phase)
            pb_put_int(b, 6, index->sync_phase);
        pb_close(b, start, 0);
    }
}

void ots_put_options(struct buf *b, unsigned field, const struct wr_table_options *o)
{
    size_t start = pb_open(b, field, 0);

    if (o->given & WR_HAS_TTL)
        pb_put_int(b, 1, o->ttl_s);
    if (o->given & WR_HAS_MAX_VERSIONS)
        pb_put_int(b, 2, o->max_versions);
    if (o->given & WR_HAS_DEVIATION)
        pb_put_int(b, 5, o->deviation_s);
    if (o->given & WR_HAS_ALLOW_UPDATE)
        pb_put_int(b, 6, o->allow_update);
    if (o->given & WR_HAS_UPDATE_FULL_ROW)
        pb_put_int(b, 7, o->update_full_row);
    if (o->given & WR_HAS_CELL_BYTES)
        pb_put_int(b, 1000, o->cell_bytes_max);
    pb_close(b, start, 0);
}

/* The options of an answer: what clients read without looking is there whatever `given` says. */
static void put_options_now(struct buf *b, unsigned field, const struct wr_table_options *o)
{
    struct wr_table_options all = *o;

    all.given |= WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION | WR_HAS_ALLOW_UPDATE;
    ots_put_options(b, field, &all);
}

static void put_throughput_now(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    size_t start = pb_open(b, field, 0), unit = pb_open(b, 1, 0);

    pb_put_int(b, 1, d->reserved.read);
    pb_put_int(b, 2, d->reserved.write);
    pb_close(b, unit, 0);
    pb_put_int(b, 2, d->last_increase_s);
    if (d->last_decrease_s)
        pb_put_int(b, 3, d->last_decrease_s);
    pb_close(b, start, 0);
}

static void put_stream_now(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, d->stream.enable);
    if (d->stream.enable) {
        pb_put_bytes(b, 2, d->stream_id);
        pb_put_int(b, 3, d->stream.expiration_h);
        pb_put_int(b, 4, d->stream_enable_us);
        ots_put_names(b, 5, d->stream.columns_to_get, d->stream.column_count);
    }
    pb_close(b, start, 0);
}

void ots_put_sse(struct buf *b, unsigned field, const struct wr_sse_spec *sse)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, sse->enable);
    if (sse->key_type)
        pb_put_int(b, 2, sse->key_type);
    if (sse->key_id.ptr)
        pb_put_bytes(b, 3, sse->key_id);
    if (sse->role_arn.ptr)
        pb_put_bytes(b, 4, sse->role_arn);
    pb_close(b, start, 0);
}

/* The values between partitions, each as a key of the first column alone. */
static void put_splits(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    if (d->key_count == 0)
        return;
    for (size_t i = 0; i < d->split_count; i++) {
        struct wr_key_column column = {d->key[0].name, d->splits[i]};

        pb_put_bytes(b, field, plain_encode_key(b->arena, &(struct wr_key){&column, 1}));
    }
}

/* ---- answers */

/* An answer without fields is no bytes at all; one client wants exactly that. */
static bytes encode_empty(void)
{
    return BYTES_LIT("");
}

bytes ots_encode_create_table(struct ctx *c, const struct wr_request *req,
                              const struct wr_reply *reply)
{
    (void)c;
    (void)req;
    (void)reply;
    return encode_empty();
}

bytes ots_encode_list_table(struct ctx *c, const struct wr_request *req,
                            const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    ots_put_names(&b, 1, reply->table_list.tables, reply->table_list.count);
    return buf_bytes(&b);
}

bytes ots_encode_describe_table(struct ctx *c, const struct wr_request *req,
                                const struct wr_reply *reply)
{
    const struct wr_table_description *d = &reply->description;
    struct buf b;
    size_t start;

    (void)req;
    buf_init(&b, &c->arena, 512);
    start = pb_open(&b, 1, 0);
    pb_put_bytes(&b, 1, d->table);
    ots_put_keys(&b, 2, d->key, d->key_count);
    ots_put_defined(&b, 3, d->defined, d->defined_count);
    pb_close(&b, start, 0);
    put_throughput_now(&b, 2, d);
    put_options_now(&b, 3, &d->options);
    pb_put_int(&b, 4, d->status);
    put_stream_now(&b, 5, d);
    put_splits(&b, 6, d);
    if (d->sse.given)
        ots_put_sse(&b, 7, &d->sse);
    ots_put_indexes(&b, 8, d->indexes, d->index_count);
    if (d->creation_us)
        pb_put_int(&b, 9, d->creation_us);
    if (d->layout.len && !bytes_equal(d->layout, BYTES_LIT("plain")))
        pb_put_bytes(&b, OTS_FIELD_OWN, d->layout);
    return buf_bytes(&b);
}

bytes ots_encode_rekey_table(struct ctx *c, const struct wr_request *req,
                             const struct wr_reply *reply)
{
    const struct wr_rekey_result *r = &reply->rekey;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64);
    pb_put_bytes(&b, 1, r->layout);
    if (r->target.ptr)
        pb_put_bytes(&b, 2, r->target);
    pb_put_int(&b, 3, r->rows);
    pb_put_int(&b, 4, r->percent);
    return buf_bytes(&b);
}

bytes ots_encode_update_table(struct ctx *c, const struct wr_request *req,
                              const struct wr_reply *reply)
{
    const struct wr_table_description *d = &reply->description;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    put_throughput_now(&b, 1, d);
    put_options_now(&b, 2, &d->options);
    put_stream_now(&b, 3, d);
    return buf_bytes(&b);
}

bytes ots_encode_delete_table(struct ctx *c, const struct wr_request *req,
                              const struct wr_reply *reply)
{
    return ots_encode_create_table(c, req, reply);
}

bytes ots_encode_load_table(struct ctx *c, const struct wr_request *req,
                            const struct wr_reply *reply)
{
    return ots_encode_create_table(c, req, reply);
}

bytes ots_encode_unload_table(struct ctx *c, const struct wr_request *req,
                              const struct wr_reply *reply)
{
    return ots_encode_create_table(c, req, reply);
}

bytes ots_encode_add_defined_column(struct ctx *c, const struct wr_request *req,
                                    const struct wr_reply *reply)
{
    return ots_encode_create_table(c, req, reply);
}

bytes ots_encode_delete_defined_column(struct ctx *c, const struct wr_request *req,
                                       const struct wr_reply *reply)
{
    return ots_encode_create_table(c, req, reply);
}

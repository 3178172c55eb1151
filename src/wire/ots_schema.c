/* The parts of a table's description, both ways.
 *
 * Some answers carry more than the .proto files ask for, because clients fall over without: both
 * numbers of a capacity, stream_details and table_status always, and of the table options the four
 * that clients read without looking (doc/wire.md, "Messages"). */
#include "wire/ots_part.h"

/* ---- numbers of the protocol */

static int key_type(enum wr_type type)
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

static bool key_type_read(int number, enum wr_type *type)
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

static int column_type(enum wr_type type)
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

static bool column_type_read(int number, enum wr_type *type)
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

/* ---- columns */

int ots_read_keys(struct ctx *c, size_t n, Ots__PrimaryKeySchema **from,
                  const struct wr_key_schema **out, size_t *count)
{
    struct wr_key_schema *keys;

    TRY(ots_array(c, n, sizeof(*keys), &keys));
    for (size_t i = 0; i < n; i++) {
        keys[i].name = pb_view(from[i]->name);
        if (!key_type_read(from[i]->type, &keys[i].type))
            return ots_fail_parse(c);
        keys[i].auto_increment =
            from[i]->has_option && from[i]->option == OTS__PRIMARY_KEY_OPTION__PKO_AUTO_INCREMENT;
        keys[i].descending = from[i]->has_descending && from[i]->descending;
    }
    *out = keys;
    *count = n;
    return 0;
}

void ots_put_keys(struct buf *b, unsigned field, const struct wr_key_schema *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, keys[i].name);
        pb_put_int(b, 2, key_type(keys[i].type));
        if (keys[i].auto_increment)
            pb_put_int(b, 3, OTS__PRIMARY_KEY_OPTION__PKO_AUTO_INCREMENT);
        if (keys[i].descending)
            pb_put_int(b, OTS_FIELD_OWN, 1);
        pb_close(b, start, 0);
    }
}

int ots_read_defined(struct ctx *c, size_t n, Ots__DefinedColumnSchema **from,
                     const struct wr_defined_column **out, size_t *count)
{
    struct wr_defined_column *columns;

    TRY(ots_array(c, n, sizeof(*columns), &columns));
    for (size_t i = 0; i < n; i++) {
        columns[i].name = pb_view(from[i]->name);
        if (!column_type_read(from[i]->type, &columns[i].type))
            return ots_fail_parse(c);
    }
    *out = columns;
    *count = n;
    return 0;
}

void ots_put_defined(struct buf *b, unsigned field, const struct wr_defined_column *columns,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t start = pb_open(b, field, 0);

        pb_put_bytes(b, 1, columns[i].name);
        pb_put_int(b, 2, column_type(columns[i].type));
        pb_close(b, start, 0);
    }
}

/* ---- indexes */

static int ots_schema_read_index(struct ctx *c, const Ots__IndexMeta *from,
                                 struct wr_index_meta *out)
{
    if (from->index_update_mode < 0 ||
        from->index_update_mode > OTS__INDEX_UPDATE_MODE__IUM_SYNC_INDEX || from->index_type < 0 ||
        from->index_type > OTS__INDEX_TYPE__IT_LOCAL_INDEX || from->descending > UINT16_MAX ||
        from->hashed > UINT8_MAX)
        return ots_fail_parse(c);
    out->name = pb_view(from->name);
    out->update_mode = from->index_update_mode;
    out->type = from->index_type;
    out->sync_phase = from->has_index_sync_phase ? from->index_sync_phase : 0;
    out->descending = (uint16_t)from->descending;
    out->hashed = (uint8_t)from->hashed;
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
        TRY(ots_schema_read_index(c, from[i], &indexes[i]));
    *out = indexes;
    *count = n;
    return 0;
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
        if (index->descending)
            pb_put_int(b, OTS_FIELD_OWN, index->descending);
        if (index->hashed)
            pb_put_int(b, OTS_FIELD_OWN + 1, index->hashed);
        pb_close(b, start, 0);
    }
}

/* ---- options */

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

enum { SERVICE_KEY = 1, OWN_KEY = 2 }; /* SSEKeyType */

void ots_read_sse(const Ots__ServerSideEncryption *from, struct wr_sse_spec *out)
{
    bool known = from->has_key_type && (from->key_type == SERVICE_KEY || from->key_type == OWN_KEY);

    *out = (struct wr_sse_spec){
        .given = true,
        .enable = from->enable,
        .key_type = known ? from->key_type : 0,
        .key_id = from->has_key_id ? pb_view(from->key_id) : BYTES_NONE,
        .role_arn = from->has_role_arn ? pb_view(from->role_arn) : BYTES_NONE,
    };
}

/* Only a key of the user's own has a name and a role. */
void ots_put_sse(struct buf *b, unsigned field, const struct wr_sse_spec *sse)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, sse->enable);
    if (sse->key_type)
        pb_put_int(b, 2, sse->key_type);
    if (sse->key_type == OWN_KEY && sse->key_id.ptr)
        pb_put_bytes(b, 3, sse->key_id);
    if (sse->key_type == OWN_KEY && sse->role_arn.ptr)
        pb_put_bytes(b, 4, sse->role_arn);
    pb_close(b, start, 0);
}

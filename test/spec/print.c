/* print.c: replies in the language of the scripts. */
#include "spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

struct printer {
    struct script *s;
    struct buf b;
};

static void put(struct printer *p, const char *fmt, ...) PORT_PRINTF(2, 3);
static void put(struct printer *p, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_put_bytes(&p->b, arena_vprintf(p->b.arena, fmt, args));
    va_end(args);
}

/* ---- values */

static void put_quoted(struct printer *p, bytes text)
{
    buf_put_u8(&p->b, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        if (ch == '"' || ch == '\\') {
            buf_put_u8(&p->b, '\\');
            buf_put_u8(&p->b, ch);
        } else if (ch < 0x20 || ch == 0x7f) {
            put(p, "\\x%02x", ch);
        } else {
            buf_put_u8(&p->b, ch);
        }
    }
    buf_put_u8(&p->b, '"');
}

/* Words that mean something in an expectation; columns of these names are written as texts. */
static bool is_reserved(bytes name)
{
    static const char *const words[] = {"cu",  "size", "next", "token",
                                        "row", "rows", "no",   "count"};

    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (bytes_equal(name, bytes_str(words[i])))
            return true;
    return false;
}

static void put_name(struct printer *p, bytes name)
{
    bool bare = name.len > 0 && !isdigit(*bytes_u8(name)) && !is_reserved(name);

    for (size_t i = 0; i < name.len; i++)
        bare &= isalnum(bytes_u8(name)[i]) || bytes_u8(name)[i] == '_';
    if (bare)
        put(p, "%.*s", BYTES_FMT(name));
    else
        put_quoted(p, name);
}

static void put_real(struct printer *p, double v)
{
    bytes text = arena_printf(p->b.arena, "%.17g", v);

    for (int digits = 1; digits < 17; digits++) {
        bytes shorter = arena_printf(p->b.arena, "%.*g", digits, v);

        if (strtod(shorter.ptr, NULL) == v) {
            text = shorter;
            break;
        }
    }
    put(p, "%.*s", BYTES_FMT(text));
    if (!memchr(text.ptr, '.', text.len) && !memchr(text.ptr, 'e', text.len))
        put(p, ".0");
}

static const char *type_word(enum wr_type type)
{
    switch (type) {
    case WR_BIGINT:
        return "integer";
    case WR_VARCHAR:
        return "string";
    case WR_VARBINARY:
        return "binary";
    case WR_DOUBLE:
        return "double";
    case WR_BOOLEAN:
        return "boolean";
    case WR_TINYINT:
        return "tinyint";
    case WR_SMALLINT:
        return "smallint";
    case WR_INTEGER:
        return "int";
    case WR_UBIGINT:
        return "ubigint";
    case WR_FLOAT:
        return "float";
    case WR_DECIMAL:
        return "decimal";
    case WR_CHAR:
        return "char";
    case WR_BINARY:
        return "fixed";
    case WR_DATE:
        return "date";
    case WR_TIME:
        return "time";
    case WR_TIMESTAMP:
        return "timestamp";
    case WR_JSON:
        return "json";
    default:
        return "unknown";
    }
}

static void put_value(struct printer *p, const struct wr_value *v)
{
    switch (v->type) {
    case WR_NULL:
        put(p, "null");
        return;
    case WR_INF_MIN:
        put(p, "min");
        return;
    case WR_INF_MAX:
        put(p, "max");
        return;
    case WR_AUTO_INCREMENT:
        put(p, "auto");
        return;
    case WR_BOOLEAN:
        put(p, v->boolean ? "true" : "false");
        return;
    case WR_BIGINT:
        put(p, "%" PRId64, v->integer);
        return;
    case WR_DOUBLE:
        put_real(p, v->real);
        return;
    case WR_VARBINARY:
        put(p, "b");
        put_quoted(p, v->bytes);
        return;
    case WR_VARCHAR:
        put_quoted(p, v->bytes);
        return;
    default:
        break;
    }
    put(p, "%s(", type_word(v->type));
    if (v->type == WR_FLOAT)
        put_real(p, v->real);
    else if (v->type == WR_UBIGINT)
        put(p, "%" PRIu64, v->uinteger);
    else if (v->type == WR_DECIMAL || v->type == WR_CHAR || v->type == WR_JSON ||
             v->type == WR_BINARY)
        put_quoted(p, v->bytes);
    else
        put(p, "%" PRId64, v->integer);
    put(p, ")");
}

static void put_key(struct printer *p, const struct wr_key *key)
{
    put(p, "(");
    for (size_t i = 0; i < key->count; i++) {
        if (i)
            put(p, " ");
        put_name(p, key->columns[i].name);
        put(p, "=");
        put_value(p, &key->columns[i].value);
    }
    put(p, ")");
}

static void put_row(struct printer *p, const struct wr_row *row)
{
    put_key(p, &row->key);
    for (size_t i = 0; i < row->cell_count; i++) {
        put(p, " ");
        put_name(p, row->cells[i].name);
        put(p, "=");
        put_value(p, &row->cells[i].value);
        put(p, "@%" PRId64, row->cells[i].timestamp_ms);
    }
}

static void put_capacity(struct printer *p, const struct wr_capacity *c)
{
    put(p, " cu=%d,%d", c->read, c->write);
    if (c->read_size || c->write_size)
        put(p, " size=%" PRId64 ",%" PRId64, c->read_size, c->write_size);
}

/* ---- errors */

int error_of_name(bytes name)
{
    for (int i = 0; i < E_COUNT; i++)
        if (bytes_equal(name, bytes_str(err_info(i)->name)))
            return i;
    return -1;
}

static void put_error(struct printer *p, int code, const char *message)
{
    put(p, "%s ", err_info(code)->name);
    put_quoted(p, bytes_str(message ? message : ""));
}

/* ---- rows and batches */

static void put_result(struct printer *p, const struct wr_row_result *r, bool read)
{
    if (r->code) {
        put_error(p, r->code, r->message);
    } else if (!read) {
        put(p, "ok");
        if (r->row.key.count) {
            put(p, " ");
            put_row(p, &r->row);
        }
    } else if (r->row.key.count) {
        put(p, "row ");
        put_row(p, &r->row);
    } else {
        put(p, "no row");
    }
    if (r->next_token.ptr) {
        put(p, " token=");
        put_quoted(p, r->next_token);
    }
    put_capacity(p, &r->consumed);
}

static void put_batch(struct printer *p, const struct wr_batch_result *b, bool read, bool brief)
{
    bool ok = brief, first = true;

    for (size_t i = 0; i < b->table_count; i++)
        for (size_t j = 0; j < b->tables[i].row_count; j++)
            ok &= !b->tables[i].rows[j].code;
    put(p, ok ? "ok" : "each");
    for (size_t i = 0; i < b->table_count && !ok; i++)
        for (size_t j = 0; j < b->tables[i].row_count; j++) {
            put(p, first ? " " : " | ");
            first = false;
            put_result(p, &b->tables[i].rows[j], read);
        }
}

static void put_range(struct printer *p, const struct wr_range_result *r, bool brief)
{
    put(p, brief ? "ok" : "rows");
    for (size_t i = 0; i < r->row_count && !brief; i++) {
        put(p, " ");
        put_row(p, &r->rows[i]);
    }
    if (r->next.count && !brief) {
        put(p, " next ");
        put_key(p, &r->next);
    }
    put_capacity(p, &r->consumed);
}

/* ---- tables */

static void put_names(struct printer *p, const bytes *names, size_t count)
{
    put(p, "(");
    for (size_t i = 0; i < count; i++) {
        if (i)
            put(p, " ");
        put_name(p, names[i]);
    }
    put(p, ")");
}

static void put_schema(struct printer *p, const struct wr_key_schema *key, size_t count)
{
    put(p, "(");
    for (size_t i = 0; i < count; i++) {
        put_name(p, key[i].name);
        put(p, ":%s%s%s ", type_word(key[i].type), key[i].auto_increment ? ":auto" : "",
            key[i].descending ? ":desc" : "");
    }
    put(p, ")");
}

static void put_stream(struct printer *p, const struct wr_table_description *d)
{
    if (d->stream.enable)
        put(p, " stream=%d", d->stream.expiration_h);
    else
        put(p, " stream=off");
    put(p, " stream_columns=");
    put_names(p, d->stream.columns_to_get, d->stream.column_count);
    put(p, " stream_id=");
    put_quoted(p, d->stream_id);
    put(p, " stream_enabled=%" PRId64, d->stream_enable_us);
}

static void put_indexes(struct printer *p, const struct wr_table_description *d)
{
    for (size_t i = 0; i < d->index_count; i++) {
        const struct wr_index_meta *ix = &d->indexes[i];

        put(p, " index%zu=(", i);
        put_name(p, ix->name);
        put(p, " ");
        put_names(p, ix->key_columns, ix->key_column_count);
        put(p, " ");
        put_names(p, ix->defined_columns, ix->defined_column_count);
        put(p, "%s", ix->type ? " local" : "");
        for (size_t k = 0, n = 0; k < ix->key_column_count; k++)
            if (ix->descending >> k & 1) {
                put(p, n++ ? " " : " down=(");
                put_name(p, ix->key_columns[k]);
            }
        put(p, "%s", ix->descending ? ")" : "");
        if (ix->hashed)
            put(p, " hash=%d", ix->hashed);
        put(p, "%s)", ix->sync_phase == 1 ? " building" : "");
    }
}

static void put_description(struct printer *p, const struct wr_table_description *d)
{
    static const char *const states[] = {"NONE",    "ACTIVE",    "INACTIVE",
                                         "LOADING", "UNLOADING", "UPDATING"};

    put(p, "table name=");
    put_quoted(p, d->table);
    put(p, " key=");
    put_schema(p, d->key, d->key_count);
    put(p, " defined=(");
    for (size_t i = 0; i < d->defined_count; i++) {
        put_name(p, d->defined[i].name);
        put(p, ":%s ", type_word(d->defined[i].type));
    }
    put(p, ") ttl=%d versions=%d deviation=%" PRId64 " allow_update=%s update_full_row=%s",
        d->options.ttl_s, d->options.max_versions, d->options.deviation_s,
        d->options.allow_update ? "true" : "false", d->options.update_full_row ? "true" : "false");
    if (d->options.given & WR_HAS_CELL_BYTES)
        put(p, " cell_bytes_max=%" PRId64, d->options.cell_bytes_max);
    put(p, " read=%d write=%d increased=%" PRId64 " decreased=%" PRId64, d->reserved.read,
        d->reserved.write, d->last_increase_s, d->last_decrease_s);
    put(p, " status=%s", (unsigned)d->status < PORT_COUNT(states) ? states[d->status] : "?");
    put_stream(p, d);
    put(p, " splits=(");
    for (size_t i = 0; i < d->split_count; i++) {
        put_value(p, &d->splits[i]);
        put(p, " ");
    }
    put(p, ")");
    if (d->sse.given && d->sse.enable)
        put(p, " sse_key=%d", d->sse.key_type);
    put_indexes(p, d);
    put(p, " created=%" PRId64, d->creation_us);
    put(p, " local_transactions=%s", d->local_transactions ? "true" : "false");
    put(p, " layout=");
    put_quoted(p, d->layout);
}

static void put_splits(struct printer *p, const struct wr_split_result *r)
{
    put(p, "splits count=%zu", r->point_count);
    for (size_t i = 0; i < r->point_count; i++) {
        put(p, " ");
        put_key(p, &r->points[i]);
    }
    put_capacity(p, &r->consumed);
}

/* The sums of the map, and the hottest keys with their counts. */
static void put_heat(struct printer *p, const struct wr_heat_result *r)
{
    static const char *const names[WR_HEAT_METRICS] = {"reads", "writes", "units", "refused",
                                                       "bytes"};

    put(p, "heat columns=%zu minutes=%d", r->column_count, r->column_minutes);
    for (int m = 0; m < WR_HEAT_METRICS; m++) {
        uint64_t sum = 0;

        if (!r->values[m])
            continue;
        for (size_t i = 0; i < r->row_count * r->column_count; i++)
            sum += r->values[m][i];
        put(p, " %s=%" PRIu64, names[m], sum);
    }
    put(p, " rows=%zu hot=(", r->row_count);
    for (size_t i = 0; i < r->hot_count; i++) {
        put_key(p, &r->hot[i].place.key);
        put(p, " %" PRIu64 " ", r->hot[i].count);
    }
    put(p, ")");
}

/* Of each value the rows, and what was read and written since. */
static void put_sizes(struct printer *p, const struct wr_sizes_result *r)
{
    put(p, "sizes passes=%" PRIu64 " total=%" PRIu64 " rows=%" PRIu64 " values=%" PRIu64, r->passes,
        r->bytes, r->rows, r->values);
    put(p, " over=%" PRIu64 " warn=%" PRIu64 " running=%s top=(", r->over, r->warn_bytes,
        r->running ? "true" : "false");
    for (size_t i = 0; i < r->key_count; i++) {
        put_key(p, &r->keys[i].place.key);
        put(p, " %" PRIu64 " %" PRIu64 " ", r->keys[i].bytes, r->keys[i].rows);
    }
    put(p, ") since=(");
    for (size_t i = 0; i < r->key_count; i++)
        put(p, "%" PRIu64 " %" PRIu64 " ", r->keys[i].reads, r->keys[i].writes);
    put(p, ")");
}

static void put_traffic(struct printer *p, const struct wr_traffic *t)
{
#define X(name, text) put(p, " " #name "=%" PRIu64, t->name);
    WR_TRAFFIC_MAP(X)
#undef X
}

/* The table's figures under their own names; those of its partitions as lists. */
static void put_partitions(struct printer *p, const struct wr_partition_list *l)
{
    put(p, "partitions splits=(");
    for (size_t i = 1; i < l->count; i++) {
        put_value(p, &l->partitions[i].begin);
        put(p, " ");
    }
    put(p, ") number=%zu stored=%" PRIu64, l->count, l->stored_bytes);
    put_traffic(p, &l->traffic);
#define X(name, text)                                                                              \
    put(p, " each_" #name "=(");                                                                   \
    for (size_t i = 0; i < l->count; i++)                                                          \
        put(p, "%" PRIu64 " ", l->partitions[i].traffic.name);                                     \
    put(p, ")");
    WR_TRAFFIC_MAP(X)
#undef X
}

/* ---- streams */

static void put_streams(struct printer *p, const struct wr_stream_list *l)
{
    put(p, "streams");
    for (size_t i = 0; i < l->count; i++) {
        put(p, " ");
        put_name(p, l->streams[i].table);
        put(p, "=");
        put_quoted(p, l->streams[i].id);
        put(p, "@%" PRId64, l->streams[i].creation_us);
    }
}

static void put_stream_description(struct printer *p, const struct wr_stream_description *d)
{
    put(p, "stream ");
    put_name(p, d->table);
    put(p, " ");
    put_quoted(p, d->id);
    put(p, " hours=%d %s shards", d->expiration_h,
        d->status == WR_STREAM_ACTIVE ? "active" : "enabling");
    for (size_t i = 0; i < d->shard_count; i++) {
        put(p, " ");
        put_quoted(p, d->shards[i].id);
        if (d->shards[i].parent.ptr)
            put(p, " parent");
    }
    if (d->next_shard.ptr) {
        put(p, " next=");
        put_quoted(p, d->next_shard);
    }
}

static void put_record_cells(struct printer *p, const struct wr_cell *cells, size_t n)
{
    for (const struct wr_cell *cell = cells; cell < cells + n; cell++) {
        put(p, cell->op == WR_CELL_PUT ? " " : " -");
        put_name(p, cell->name);
        if (cell->op == WR_CELL_PUT) {
            put(p, "=");
            put_value(p, &cell->value);
        }
        if (cell->op != WR_CELL_DELETE_ALL)
            put(p, "@%" PRId64, cell->timestamp_ms);
    }
}

/* As the change that it was: put (pk=1) a=1 -b -c@1000; the cells of before behind "was". */
static void put_record(struct printer *p, const struct wr_stream_record *r)
{
    static const char *const types[] = {"?", "put", "update", "delete"};

    put(p, " %s ", types[r->type]);
    put_key(p, &r->row.key);
    put_record_cells(p, r->row.cells, r->row.cell_count);
    if (r->has_original) {
        put(p, " was");
        put_record_cells(p, r->original, r->original_count);
    }
}

static void put_records(struct printer *p, const struct wr_stream_record *list, size_t n,
                        bytes next, bool more)
{
    put(p, "records");
    for (size_t i = 0; i < n; i++)
        put_record(p, &list[i]);
    if (next.ptr) {
        put(p, " next=");
        put_quoted(p, next);
    }
    put(p, " more=%s", more ? "true" : "false");
}

/* False: the operation is none of streams. */
static bool put_of_stream(struct printer *p, const struct wr_request *req, const struct wr_reply *r)
{
    switch (req->op) {
    case WR_OP_LIST_STREAM:
        put_streams(p, &r->streams);
        return true;
    case WR_OP_DESCRIBE_STREAM:
        put_stream_description(p, &r->stream);
        return true;
    case WR_OP_GET_SHARD_ITERATOR:
        put(p, "iterator ");
        put_quoted(p, r->shard_iterator.iterator);
        return true;
    case WR_OP_GET_STREAM_RECORD:
        put_records(p, r->stream_records.records, r->stream_records.count, r->stream_records.next,
                    r->stream_records.more);
        return true;
    default:
        return false;
    }
}

/* ---- tunnels */

static void put_tunnel(struct printer *p, const struct wr_tunnel_info *t)
{
    static const char *const types[] = {"?", "base", "stream", "both"};

    put(p, "tunnel ");
    put_name(p, t->name);
    put(p, " ");
    put_quoted(p, t->id);
    put(p, " %s %s%s%s", types[t->type], t->base_done ? "changes" : "rows",
        t->expired ? " expired" : "", t->config.earliest ? " earliest" : "");
    if (t->config.start_ns)
        put(p, " start=%" PRIu64, t->config.start_ns);
    if (t->config.end_ns)
        put(p, " end=%" PRIu64, t->config.end_ns);
}

static const char *const tunnel_statuses[] = {"wait", "open", "closing", "close", "terminated"};

static void put_tunnel_channels(struct printer *p, const struct wr_tunnel_description *d)
{
    put(p, " channels");
    for (size_t i = 0; i < d->channel_count; i++) {
        const struct wr_tunnel_channel *channel = &d->channels[i];

        put(p, " ");
        put_quoted(p, channel->id);
        put(p, " %s %s count=%" PRId64, channel->stream ? "stream" : "base",
            tunnel_statuses[channel->status], channel->count);
        if (channel->client.ptr) {
            put(p, " of ");
            put_quoted(p, channel->client);
        }
    }
}

static void put_reports(struct printer *p, const struct wr_tunnel_reports *r)
{
    put(p, "channels");
    for (size_t i = 0; i < r->count; i++) {
        put(p, " ");
        put_quoted(p, r->channels[i].channel);
        put(p, " %" PRId64 " %s", r->channels[i].version, tunnel_statuses[r->channels[i].status]);
    }
}

/* False: the operation is none of tunnels that answers something. */
static bool put_of_tunnel(struct printer *p, const struct wr_request *req, const struct wr_reply *r)
{
    switch (req->op) {
    case WR_OP_CREATE_TUNNEL:
        put(p, "tunnel ");
        put_quoted(p, r->tunnel.id);
        return true;
    case WR_OP_LIST_TUNNEL:
        put(p, "tunnels");
        for (size_t i = 0; i < r->tunnels.count; i++) {
            put(p, " ");
            put_tunnel(p, &r->tunnels.tunnels[i]);
        }
        return true;
    case WR_OP_DESCRIBE_TUNNEL:
        put_tunnel(p, &r->tunnel_description.info);
        put_tunnel_channels(p, &r->tunnel_description);
        return true;
    case WR_OP_CONNECT_TUNNEL:
        put(p, "client ");
        put_quoted(p, r->tunnel_client.id);
        return true;
    case WR_OP_HEARTBEAT_TUNNEL:
        put_reports(p, &r->tunnel_channels);
        return true;
    case WR_OP_GET_TUNNEL_CHECKPOINT:
        put(p, "checkpoint ");
        put_quoted(p, r->tunnel_checkpoint.token);
        put(p, " %" PRId64, r->tunnel_checkpoint.number);
        return true;
    case WR_OP_READ_TUNNEL:
        put_records(p, r->tunnel_records.records, r->tunnel_records.count, r->tunnel_records.next,
                    r->tunnel_records.more);
        return true;
    default:
        return false;
    }
}

/* ---- search indexes */

static const char *const field_types[] = {
    "",          "long", "double", "boolean",       "keyword", "text", "nested",
    "geo_point", "date", "vector", "fuzzy_keyword", "ip",      "json", "flattened"};

static void put_search_description(struct printer *p, const struct wr_search_index_description *d)
{
    put(p, "search_index phase=%s rows=%" PRId64 " ttl=%d fields",
        d->phase == WR_SEARCH_INCR ? "incr" : "full", d->row_count, d->ttl_s);
    for (size_t i = 0; i < d->schema.field_count; i++) {
        put(p, " ");
        put_name(p, d->schema.fields[i].name);
        put(p, ":%s%s", field_types[d->schema.fields[i].type],
            d->schema.fields[i].is_array ? " array" : "");
    }
}

static void put_aggregations(struct printer *p, const struct wr_aggregation_result *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wr_aggregation_result *a = &list[i];

        put(p, " ");
        put_name(p, a->name);
        put(p, "=");
        if (a->type == WR_AGG_COUNT || a->type == WR_AGG_DISTINCT_COUNT) {
            put(p, "%" PRId64, a->count);
        } else if (a->type == WR_AGG_TOP_ROWS) {
            for (size_t r = 0; r < a->row_count; r++)
                put_row(p, &a->rows[r]);
        } else if (a->type == WR_AGG_PERCENTILES) {
            put(p, "(");
            for (size_t k = 0; k < a->percentile_count; k++) {
                put(p, " ");
                put_value(p, &a->percentiles[k].value);
            }
            put(p, ")");
        } else {
            put_real(p, a->real);
        }
    }
}

static void put_token(struct printer *p, bytes token)
{
    if (!token.ptr)
        return;
    put(p, " token b");
    put_quoted(p, token);
}

/* Group `k` by its value, or where it has none by its place. */
static void put_group_key(struct printer *p, const struct wr_group_by_result *of, size_t k)
{
    const struct wr_group *g = &of->groups[k];

    switch (of->type) {
    case WR_GROUP_FIELD:
    case WR_GROUP_GEO_GRID:
        put_quoted(p, g->key);
        break;
    case WR_GROUP_HISTOGRAM:
    case WR_GROUP_DATE_HISTOGRAM:
        put_value(p, &g->value);
        break;
    case WR_GROUP_COMPOSITE:
        for (size_t i = 0; i < of->source_count; i++) {
            if (i)
                put(p, " ");
            if (g->keys[i].ptr)
                put_quoted(p, g->keys[i]);
            else
                put(p, "null");
        }
        break;
    default:
        put(p, "%zu", k);
    }
}

static void put_groups(struct printer *p, const struct wr_group_by_result *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(p, " groups");
        for (size_t k = 0; k < list[i].count; k++) {
            const struct wr_group *g = &list[i].groups[k];

            put(p, " (");
            put_group_key(p, &list[i], k);
            put(p, " %" PRId64, g->count);
            put_aggregations(p, g->aggregations, g->aggregation_count);
            put_groups(p, g->group_bys, g->group_by_count);
            put(p, ")");
        }
        put_token(p, list[i].next_token);
    }
}

static void put_found(struct printer *p, const struct wr_search_result *r)
{
    put(p, "found");
    if (r->total >= 0)
        put(p, " total=%" PRId64, r->total);
    for (size_t i = 0; i < r->count; i++) {
        put(p, " ");
        put_row(p, &r->rows[i]);
        if (r->scores[i] == r->scores[i])
            put(p, " score=%.4g", r->scores[i]);
    }
    put_aggregations(p, r->aggregations, r->aggregation_count);
    put_groups(p, r->group_bys, r->group_by_count);
    put_token(p, r->next_token);
}

/* False: the operation is none of search indexes that answers something. */
static bool put_of_search(struct printer *p, const struct wr_request *req, const struct wr_reply *r)
{
    switch (req->op) {
    case WR_OP_LIST_SEARCH_INDEX:
        put(p, "search_indexes");
        for (size_t i = 0; i < r->search_indexes.count; i++) {
            put(p, " ");
            put_name(p, r->search_indexes.indexes[i].table);
            put(p, " ");
            put_name(p, r->search_indexes.indexes[i].index);
        }
        return true;
    case WR_OP_DESCRIBE_SEARCH_INDEX:
        put_search_description(p, &r->search_index);
        return true;
    case WR_OP_SEARCH:
        put_found(p, &r->search);
        return true;
    case WR_OP_COMPUTE_SPLITS:
        put(p, "splits %d session ", r->search_splits.splits);
        put_quoted(p, r->search_splits.session);
        return true;
    case WR_OP_PARALLEL_SCAN:
        put(p, "rows");
        for (size_t i = 0; i < r->scan.count; i++) {
            put(p, " ");
            put_row(p, &r->scan.rows[i]);
        }
        put_token(p, r->scan.next_token);
        return true;
    default:
        return false;
    }
}

/* ---- all of it */

static bool has_punct(const struct tokens *t, const char *what)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].kind == TOKEN_PUNCT && token_is(&t->items[i], what))
            return true;
    return false;
}

static void put_series(struct printer *p, const struct wr_series_result *s)
{
    static const char *const by[] = {"", "month", "week", "day"};

    put(p, "series by=%s column=%.*s hot=%d warm=%d frozen=", by[s->spec.by & 3],
        BYTES_FMT(s->spec.column), (int)s->spec.hot, (int)s->spec.warm);
    put_quoted(p, s->frozen);
    put(p, " dropped=");
    put_quoted(p, s->dropped);
    put(p, " periods=(");
    for (size_t i = 0; i < s->count; i++) {
        put(p, i ? " " : "");
        put_quoted(p, s->periods[i].name);
        put(p, s->periods[i].frozen ? " frozen" : "");
    }
    put(p, ")");
}

static void put_success(struct printer *p, const struct wr_request *req, const struct wr_reply *r,
                        bool brief)
{
    switch (req->op) {
    case WR_OP_LIST_TABLE:
        put(p, brief ? "ok" : "tables ");
        if (!brief)
            put_names(p, r->table_list.tables, r->table_list.count);
        return;
    case WR_OP_DESCRIBE_TABLE:
    case WR_OP_UPDATE_TABLE:
        if (brief)
            put(p, "ok");
        else
            put_description(p, &r->description);
        return;
    case WR_OP_DESCRIBE_SERIES:
    case WR_OP_CHANGE_SERIES:
        if (brief)
            put(p, "ok");
        else
            put_series(p, &r->series);
        return;
    case WR_OP_REKEY_TABLE:
        put(p, brief ? "ok" : "table layout=");
        if (brief)
            return;
        put_quoted(p, r->rekey.layout);
        put(p, " target=");
        put_quoted(p, r->rekey.target);
        return;
    case WR_OP_GET_ROW:
        if (!brief) {
            put_result(p, &r->row, true);
            return;
        }
        put(p, "ok");
        put_capacity(p, &r->row.consumed);
        return;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        put_result(p, &r->row, false);
        return;
    case WR_OP_BATCH_GET_ROW:
        put_batch(p, &r->batch, true, brief);
        return;
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_BULK_IMPORT:
        put_batch(p, &r->batch, false, brief);
        return;
    case WR_OP_GET_RANGE:
    case WR_OP_BULK_EXPORT:
        put_range(p, &r->range, brief);
        return;
    case WR_OP_DESCRIBE_PARTITIONS:
        if (brief)
            put(p, "ok");
        else
            put_partitions(p, &r->partitions);
        return;
    case WR_OP_COMPUTE_SPLIT_POINTS:
        if (brief)
            put(p, "ok");
        else
            put_splits(p, &r->splits);
        return;
    case WR_OP_DESCRIBE_HEAT:
        if (brief)
            put(p, "ok");
        else
            put_heat(p, &r->heat);
        return;
    case WR_OP_DESCRIBE_SIZES:
        if (brief)
            put(p, "ok");
        else
            put_sizes(p, &r->sizes);
        return;
    case WR_OP_START_LOCAL_TRANSACTION:
        put(p, brief ? "ok" : "transaction \"%.*s\"", BYTES_FMT(r->transaction.id));
        return;
    default:
        put(p, "ok");
        return;
    }
}

bytes print_answer(struct script *s, const struct wr_request *req, const struct answer *a,
                   const struct tokens *expected)
{
    struct printer p = {.s = s};
    bool brief =
        expected->count && token_is(&expected->items[0], "ok") && !has_punct(expected, "(");

    buf_init(&p.b, &s->c.arena, 256);
    if (a->reply.code)
        put_error(&p, a->reply.code, a->reply.message);
    else if (brief || !(put_of_stream(&p, req, &a->reply) || put_of_tunnel(&p, req, &a->reply) ||
                        put_of_search(&p, req, &a->reply)))
        put_success(&p, req, &a->reply, brief);
    return buf_bytes(&p.b);
}

/* show.h: rows, filters and requests as short texts, so that a test can say what it expects in one
 * line.
 *
 *   values   i5 d1.5 true s'abc' x'00ff' MIN MAX AUTO
 *   cells    c=i5   c=i5@1000   +c=i5 (increment)   -c (all versions)   -c@1000 (one)
 *   row      pk0=i1 | c=i5 -d */
#ifndef TEST_WIRE_SHOW_H
#define TEST_WIRE_SHOW_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#undef fail /* ctx.h has its own */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

static inline void show_f(struct buf *b, const char *fmt, ...) PORT_PRINTF(2, 3);
static inline void show_f(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_put_bytes(b, arena_vprintf(b->arena, fmt, args));
    va_end(args);
}

static inline void show_value(struct buf *b, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
        show_f(b, "i%" PRId64, v->integer);
        return;
    case WR_DOUBLE:
        show_f(b, "d%g", v->real);
        return;
    case WR_BOOLEAN:
        show_f(b, "%s", v->boolean ? "true" : "false");
        return;
    case WR_VARCHAR:
        show_f(b, "s'%.*s'", BYTES_FMT(v->bytes));
        return;
    case WR_VARBINARY:
        show_f(b, "x'");
        for (size_t i = 0; i < v->bytes.len; i++)
            show_f(b, "%02x", bytes_u8(v->bytes)[i]);
        show_f(b, "'");
        return;
    case WR_INF_MIN:
        show_f(b, "MIN");
        return;
    case WR_INF_MAX:
        show_f(b, "MAX");
        return;
    case WR_AUTO_INCREMENT:
        show_f(b, "AUTO");
        return;
    default:
        show_f(b, "type%d", v->type);
    }
}

static inline void show_key(struct buf *b, const struct wr_key *key)
{
    for (size_t i = 0; i < key->count; i++) {
        show_f(b, "%s%.*s=", i ? " " : "", BYTES_FMT(key->columns[i].name));
        show_value(b, &key->columns[i].value);
    }
}

static inline void show_cell(struct buf *b, const struct wr_cell *cell)
{
    bool has_value = cell->op == WR_CELL_PUT || cell->op == WR_CELL_INCREMENT;

    show_f(b, " %s%.*s",
           cell->op == WR_CELL_INCREMENT ? "+"
           : has_value                   ? ""
                                         : "-",
           BYTES_FMT(cell->name));
    if (has_value) {
        show_f(b, "=");
        show_value(b, &cell->value);
    }
    if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
        show_f(b, "@%" PRId64, cell->timestamp_ms);
}

static inline void show_row(struct buf *b, const struct wr_row *row)
{
    show_key(b, &row->key);
    if (row->cell_count)
        show_f(b, " |");
    for (size_t i = 0; i < row->cell_count; i++)
        show_cell(b, &row->cells[i]);
}

static inline void show_names(struct buf *b, const char *label, const bytes *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        show_f(b, "%s%.*s", i ? "," : label, BYTES_FMT(names[i]));
}

static inline void show_filter(struct buf *b, const struct wr_filter *f)
{
    static const char *const comparators[] = {
        "?", "==", "!=", ">", ">=", "<", "<=", "exist", "missing"};
    static const char *const combinators[] = {"?", "NOT", "AND", "OR"};

    if (f->type == WR_FILTER_PAGE) {
        show_f(b, "page(%d,%d)", f->page.offset, f->page.limit);
    } else if (f->type == WR_FILTER_COMPOSITE) {
        show_f(b, "%s(", combinators[f->composite.combinator]);
        for (size_t i = 0; i < f->composite.sub_count; i++) {
            show_f(b, "%s", i ? ", " : "");
            show_filter(b, &f->composite.subs[i]);
        }
        show_f(b, ")");
    } else {
        show_f(b, "%.*s", BYTES_FMT(f->column.column));
        if (f->column.regex.ptr)
            show_f(b, "~'%.*s':%d", BYTES_FMT(f->column.regex), f->column.cast_type);
        show_f(b, " %s ", comparators[f->column.comparator]);
        show_value(b, &f->column.value);
        show_f(b, "%s%s", f->column.filter_if_missing ? " drop" : "",
               f->column.latest_version_only ? " latest" : "");
    }
}

static inline void show_options(struct buf *b, const struct wr_table_options *o)
{
    if (o->given & WR_HAS_TTL)
        show_f(b, " ttl=%d", o->ttl_s);
    if (o->given & WR_HAS_MAX_VERSIONS)
        show_f(b, " versions=%d", o->max_versions);
    if (o->given & WR_HAS_DEVIATION)
        show_f(b, " deviation=%" PRId64, o->deviation_s);
    if (o->given & WR_HAS_ALLOW_UPDATE)
        show_f(b, " update=%d", o->allow_update);
    if (o->given & WR_HAS_UPDATE_FULL_ROW)
        show_f(b, " full=%d", o->update_full_row);
}

static inline void show_throughput(struct buf *b, const struct wr_throughput *t)
{
    if (t->has_read)
        show_f(b, " read=%d", t->read);
    if (t->has_write)
        show_f(b, " write=%d", t->write);
}

static inline void show_stream(struct buf *b, const struct wr_stream_spec *s)
{
    if (!s->given)
        return;
    show_f(b, " stream=%d", s->enable);
    if (s->has_expiration)
        show_f(b, "/%dh", s->expiration_h);
    show_names(b, "/", s->columns_to_get, s->column_count);
}

static inline void show_indexes(struct buf *b, const struct wr_index_meta *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        show_f(b, " index %.*s(", BYTES_FMT(x[i].name));
        show_names(b, "", x[i].key_columns, x[i].key_column_count);
        show_names(b, ";", x[i].defined_columns, x[i].defined_column_count);
        show_f(b, ")%d%d", x[i].update_mode, x[i].type);
    }
}

static inline void show_schema(struct buf *b, const struct wr_key_schema *k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        show_f(b, " %.*s:%d%s", BYTES_FMT(k[i].name), k[i].type, k[i].auto_increment ? "+" : "");
}

static inline void show_read(struct buf *b, const struct wr_read_options *o)
{
    show_names(b, " columns=", o->columns, o->column_count);
    if (o->has_start)
        show_f(b, " from=%" PRId64, o->start_ms);
    if (o->has_end)
        show_f(b, " to=%" PRId64, o->end_ms);
    if (o->has_specific)
        show_f(b, " at=%" PRId64, o->specific_ms);
    if (o->has_max_versions)
        show_f(b, " versions=%d", o->max_versions);
    if (o->start_column.ptr)
        show_f(b, " start='%.*s'", BYTES_FMT(o->start_column));
    if (o->end_column.ptr)
        show_f(b, " end='%.*s'", BYTES_FMT(o->end_column));
    if (o->filter) {
        show_f(b, " filter=[");
        show_filter(b, o->filter);
        show_f(b, "]");
    }
}

static inline void show_change(struct buf *b, const struct wr_row_change *ch)
{
    static const char *const types[] = {"?", "put", "update", "delete"};
    static const char *const existence[] = {"", " exist", " not-exist"};

    show_f(b, " %s{", types[ch->type]);
    show_row(b, &ch->row);
    show_f(b, "}%s", existence[ch->condition.existence]);
    if (ch->condition.column) {
        show_f(b, " if[");
        show_filter(b, ch->condition.column);
        show_f(b, "]");
    }
    if (ch->return_type)
        show_f(b, " return=%d", ch->return_type);
    show_names(b, " of=", ch->return_columns, ch->return_column_count);
    if (ch->transaction.ptr)
        show_f(b, " txn=%.*s", BYTES_FMT(ch->transaction));
}

static inline void show_create(struct buf *b, const struct wr_create_table *t)
{
    show_f(b, "%.*s", BYTES_FMT(t->table));
    show_schema(b, t->key, t->key_count);
    for (size_t i = 0; i < t->defined_count; i++)
        show_f(b, " (%.*s:%d)", BYTES_FMT(t->defined[i].name), t->defined[i].type);
    show_throughput(b, &t->reserved);
    show_options(b, &t->options);
    show_stream(b, &t->stream);
    if (t->sse.given)
        show_f(b, " sse=%d/%d", t->sse.enable, t->sse.key_type);
    show_indexes(b, t->indexes, t->index_count);
    for (size_t i = 0; i < t->partition_count; i++) {
        show_f(b, " [");
        show_value(b, &t->partitions[i].begin);
        show_f(b, ",");
        show_value(b, &t->partitions[i].end);
        show_f(b, ")");
    }
    if (t->local_transactions)
        show_f(b, " txn");
    if (t->layout.ptr)
        show_f(b, " layout=%.*s", BYTES_FMT(t->layout));
}

static inline void show_writes(struct buf *b, const struct wr_table_write *t)
{
    show_f(b, "%.*s:", BYTES_FMT(t->table));
    for (size_t i = 0; i < t->change_count; i++)
        show_change(b, &t->changes[i]);
}

static inline void show_batch_get(struct buf *b, const struct wr_table_get *t)
{
    show_f(b, "%.*s:", BYTES_FMT(t->table));
    for (size_t i = 0; i < t->key_count; i++) {
        show_f(b, " {");
        show_key(b, &t->keys[i]);
        show_f(b, "}");
        if (t->tokens && t->tokens[i].ptr)
            show_f(b, "token=%.*s", BYTES_FMT(t->tokens[i]));
    }
    show_read(b, &t->read);
}

static inline void show_range(struct buf *b, const struct wr_get_range *r)
{
    show_f(b, "%.*s [", BYTES_FMT(r->table));
    show_key(b, &r->start);
    show_f(b, " .. ");
    show_key(b, &r->end);
    show_f(b, ")%s", r->backward ? " backward" : "");
    if (r->has_limit)
        show_f(b, " limit=%d", r->limit);
    show_read(b, &r->read);
    if (r->token.ptr)
        show_f(b, " token=%.*s", BYTES_FMT(r->token));
    if (r->transaction.ptr)
        show_f(b, " txn=%.*s", BYTES_FMT(r->transaction));
    if (r->partial_keys)
        show_f(b, " partial");
    if (r->matrix)
        show_f(b, " matrix");
}

static inline void show_columns(struct buf *b, const struct wr_defined_columns *d)
{
    show_f(b, "%.*s", BYTES_FMT(d->table));
    for (size_t i = 0; i < d->count; i++)
        show_f(b, " %.*s:%d", BYTES_FMT(d->columns[i].name), d->columns[i].type);
}

static inline void show_export(struct buf *b, const struct wr_bulk_export *r)
{
    show_f(b, "%.*s [", BYTES_FMT(r->table));
    show_key(b, &r->start);
    show_f(b, " .. ");
    show_key(b, &r->end);
    show_f(b, ")");
    show_names(b, " columns=", r->columns, r->column_count);
    if (r->filter) {
        show_f(b, " filter=[");
        show_filter(b, r->filter);
        show_f(b, "]");
    }
    show_f(b, "%s", r->matrix ? " matrix" : "");
}

static inline void show_splits(struct buf *b, const struct wr_split_points *s)
{
    show_f(b, "%.*s size=%" PRId64 " unit=%" PRId64, BYTES_FMT(s->table), s->split_size,
           s->unit_bytes);
    if (s->has_limit)
        show_f(b, " limit=%d", s->limit);
    if (s->estimated)
        show_f(b, " estimated");
}

static inline void show_update_table(struct buf *b, const struct wr_update_table *t)
{
    show_f(b, "%.*s", BYTES_FMT(t->table));
    if (t->has_reserved)
        show_throughput(b, &t->reserved);
    if (t->has_options)
        show_options(b, &t->options);
    show_stream(b, &t->stream);
}

static inline void show_get_row(struct buf *b, const struct wr_get_row *r)
{
    show_f(b, "%.*s {", BYTES_FMT(r->table));
    show_key(b, &r->key);
    show_f(b, "}");
    show_read(b, &r->read);
    if (r->token.ptr)
        show_f(b, " token=%.*s", BYTES_FMT(r->token));
    if (r->transaction.ptr)
        show_f(b, " txn=%.*s", BYTES_FMT(r->transaction));
}

static inline void show_batches(struct buf *b, const struct wr_request *r)
{
    if (r->op == WR_OP_BATCH_GET_ROW) {
        for (size_t i = 0; i < r->batch_get_row.table_count; i++)
            show_batch_get(b, &r->batch_get_row.tables[i]);
        return;
    }
    for (size_t i = 0; i < r->batch_write_row.table_count; i++)
        show_writes(b, &r->batch_write_row.tables[i]);
    if (r->batch_write_row.atomic)
        show_f(b, " atomic");
    if (r->batch_write_row.transaction.ptr)
        show_f(b, " txn=%.*s", BYTES_FMT(r->batch_write_row.transaction));
}

static inline void show_texts(struct buf *b, const bytes *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        show_f(b, "%s%.*s", i ? " " : "", BYTES_FMT(texts[i]));
}

static inline void show_tunnel(struct buf *b, const struct wr_request *r)
{
    const struct wr_create_tunnel *create = &r->create_tunnel;
    const struct wr_heartbeat_tunnel *beat = &r->heartbeat_tunnel;
    const struct wr_tunnel_channel_of *of = &r->read_tunnel;

    switch (r->op) {
    case WR_OP_CREATE_TUNNEL:
        show_f(b, "%.*s %.*s type=%d earliest=%d from=%" PRIu64 " to=%" PRIu64,
               BYTES_FMT(create->table), BYTES_FMT(create->name), create->type,
               create->config.earliest, create->config.start_ns, create->config.end_ns);
        break;
    case WR_OP_LIST_TUNNEL:
        buf_put_bytes(b, r->list_tunnel.table);
        break;
    case WR_OP_DESCRIBE_TUNNEL:
    case WR_OP_DELETE_TUNNEL:
        show_texts(b, (bytes[]){r->describe_tunnel.table, r->describe_tunnel.name}, 2);
        break;
    case WR_OP_CONNECT_TUNNEL:
        show_texts(b, (bytes[]){r->connect_tunnel.tunnel, r->connect_tunnel.tag}, 2);
        show_f(b, " %" PRId64 "s", r->connect_tunnel.timeout_s);
        break;
    case WR_OP_HEARTBEAT_TUNNEL:
        show_texts(b, (bytes[]){beat->tunnel, beat->client}, 2);
        for (size_t i = 0; i < beat->channel_count; i++)
            show_f(b, " %.*s v%" PRId64 " %d", BYTES_FMT(beat->channels[i].channel),
                   beat->channels[i].version, beat->channels[i].status);
        break;
    case WR_OP_SHUTDOWN_TUNNEL:
        show_texts(b, (bytes[]){r->shutdown_tunnel.tunnel, r->shutdown_tunnel.client}, 2);
        break;
    case WR_OP_GET_TUNNEL_CHECKPOINT:
        show_texts(b, (bytes[]){of->tunnel, of->client, of->channel}, 3);
        break;
    case WR_OP_TUNNEL_CHECKPOINT:
        show_texts(b, (bytes[]){of->tunnel, of->client, of->channel, of->token}, 4);
        show_f(b, " %" PRId64, of->number);
        break;
    case WR_OP_READ_TUNNEL:
        show_texts(b, (bytes[]){of->tunnel, of->client, of->channel, of->token}, 4);
        break;
    default:
        break;
    }
}

static inline void show_request_to(struct buf *b, const struct wr_request *r)
{
    switch (r->op) {
    case WR_OP_CREATE_TABLE:
        show_create(b, &r->create_table);
        break;
    case WR_OP_CREATE_SERIES:
        show_create(b, &r->create_series.table);
        show_f(b, " by=%d column='%.*s' unit=%d hot=%d warm=%d", r->create_series.series.by,
               BYTES_FMT(r->create_series.series.column), r->create_series.series.unit,
               r->create_series.series.hot, r->create_series.series.warm);
        break;
    case WR_OP_DESCRIBE_TABLE:
    case WR_OP_DELETE_TABLE:
    case WR_OP_LOAD_TABLE:
    case WR_OP_UNLOAD_TABLE:
        show_f(b, "%.*s", BYTES_FMT(r->describe_table.table));
        break;
    case WR_OP_UPDATE_TABLE:
        show_update_table(b, &r->update_table);
        break;
    case WR_OP_ADD_DEFINED_COLUMN:
    case WR_OP_DELETE_DEFINED_COLUMN:
        show_columns(b, &r->add_defined_column);
        break;
    case WR_OP_GET_ROW:
        show_get_row(b, &r->get_row);
        break;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        show_f(b, "%.*s", BYTES_FMT(r->put_row.table));
        show_change(b, &r->put_row);
        break;
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_BATCH_WRITE_ROW:
        show_batches(b, r);
        break;
    case WR_OP_GET_RANGE:
        show_range(b, &r->get_range);
        break;
    case WR_OP_CHANGE_SERIES:
        show_f(b, "%.*s change=%d hot=%d warm=%d at '%.*s'", BYTES_FMT(r->change_series.table),
               r->change_series.action, r->change_series.spec.hot, r->change_series.spec.warm,
               BYTES_FMT(r->change_series.period));
        break;
    case WR_OP_REKEY_TABLE:
        show_f(b, "%.*s rekey=%d to '%.*s'", BYTES_FMT(r->rekey_table.table), r->rekey_table.action,
               BYTES_FMT(r->rekey_table.layout));
        break;
    case WR_OP_COMPUTE_SPLIT_POINTS:
        show_splits(b, &r->compute_split_points);
        break;
    case WR_OP_BULK_EXPORT:
        show_export(b, &r->bulk_export);
        break;
    case WR_OP_BULK_IMPORT:
        show_writes(b, &r->bulk_import.table);
        break;
    case WR_OP_DESCRIBE_HEAT:
        show_f(b, "%.*s minutes=%d columns=%d rows=%d metrics=%u",
               BYTES_FMT(r->describe_heat.table), r->describe_heat.minutes,
               r->describe_heat.columns, r->describe_heat.rows, r->describe_heat.metrics);
        break;
    case WR_OP_DESCRIBE_SIZES:
        show_f(b, "%.*s%s", BYTES_FMT(r->describe_sizes.table),
               r->describe_sizes.now ? " now" : "");
        break;
    case WR_OP_DESCRIBE_PARTITIONS:
        buf_put_bytes(b, r->describe_partitions.table);
        break;
    case WR_OP_CREATE_INDEX:
        buf_put_bytes(b, r->create_index.table);
        show_indexes(b, &r->create_index.index, 1);
        show_f(b, "%s", r->create_index.include_base_data ? " base" : "");
        show_f(b, "%s", r->create_index.scalar_index_keys ? " scalar" : "");
        break;
    case WR_OP_DROP_INDEX:
        show_f(b, "%.*s %.*s", BYTES_FMT(r->drop_index.table), BYTES_FMT(r->drop_index.index));
        break;
    case WR_OP_START_LOCAL_TRANSACTION:
        show_f(b, "%.*s ", BYTES_FMT(r->start_local_transaction.table));
        show_key(b, &r->start_local_transaction.key);
        break;
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        buf_put_bytes(b, r->commit_transaction.id);
        break;
    case WR_OP_LIST_STREAM:
        buf_put_bytes(b, r->list_stream.table);
        break;
    case WR_OP_DESCRIBE_STREAM:
        buf_put_bytes(b, r->describe_stream.stream);
        break;
    case WR_OP_GET_SHARD_ITERATOR:
        show_f(b, "%.*s %.*s", BYTES_FMT(r->get_shard_iterator.stream),
               BYTES_FMT(r->get_shard_iterator.shard));
        if (r->get_shard_iterator.has_timestamp)
            show_f(b, " from=%" PRId64, r->get_shard_iterator.timestamp_us);
        break;
    case WR_OP_GET_STREAM_RECORD:
        show_f(b, "%.*s", BYTES_FMT(r->get_stream_record.iterator));
        if (r->get_stream_record.has_limit)
            show_f(b, " limit=%d", r->get_stream_record.limit);
        break;
    default:
        show_tunnel(b, r);
        break;
    case WR_OP_LIST_TABLE:
    case WR_OP_COUNT:
        break;
    }
}

/* Ends a text with its NUL. */
static inline const char *show_end(struct buf *b)
{
    buf_put_u8(b, 0);
    return (const char *)b->data;
}

static inline const char *show_request(struct ctx *c, const struct wr_request *r)
{
    struct buf b;

    buf_init(&b, &c->arena, 256);
    show_request_to(&b, r);
    return show_end(&b);
}

#endif

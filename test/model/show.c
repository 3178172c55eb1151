/* show.c: requests and rows as text. */
#include "show.h"

#include "base/ctx.h"
#include "oracle.h"

#include <inttypes.h>

#define TEXT_MAX 48 /* bytes of a text that are shown */

void show_bytes(FILE *out, bytes b)
{
    fputc('"', out);
    for (size_t i = 0; i < b.len && i < TEXT_MAX; i++) {
        uint8_t c = bytes_u8(b)[i];

        if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
            fputc(c, out);
        else
            fprintf(out, "\\x%02x", c);
    }
    fputc('"', out);
    if (b.len > TEXT_MAX)
        fprintf(out, "...(%zu)", b.len);
}

void show_value(FILE *out, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
        fprintf(out, "%" PRId64, v->integer);
        return;
    case WR_DOUBLE:
        fprintf(out, "%.17g(double)", v->real);
        return;
    case WR_BOOLEAN:
        fputs(v->boolean ? "true" : "false", out);
        return;
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
    case WR_UBIGINT:
        fprintf(out, "%" PRId64 "(type %d)", v->integer, v->type);
        return;
    case WR_FLOAT:
        fprintf(out, "%.9g(float)", v->real);
        return;
    case WR_DECIMAL:
        fprintf(out, "%.*s(decimal)", (int)v->bytes.len, (const char *)v->bytes.ptr);
        return;
    case WR_VARBINARY:
        fputc('x', out);
        show_bytes(out, v->bytes);
        return;
    case WR_VARCHAR:
        show_bytes(out, v->bytes);
        return;
    case WR_INF_MIN:
        fputs("INF_MIN", out);
        return;
    case WR_INF_MAX:
        fputs("INF_MAX", out);
        return;
    case WR_AUTO_INCREMENT:
        fputs("AUTO", out);
        return;
    default:
        fprintf(out, "(type %d)", v->type);
        return;
    }
}

void show_key(FILE *out, const struct wr_key *key)
{
    fputc('(', out);
    for (size_t i = 0; i < key->count; i++) {
        fputs(i ? ", " : "", out);
        show_bytes(out, key->columns[i].name);
        fputc('=', out);
        show_value(out, &key->columns[i].value);
    }
    fputc(')', out);
}

static void show_cell(FILE *out, const struct wr_cell *c)
{
    static const char *const ops[] = {"", "DELETE_ALL ", "", "DELETE_ONE ", "INCREMENT "};

    fprintf(out, " %s", (unsigned)c->op < 5 ? ops[c->op] : "? ");
    show_bytes(out, c->name);
    if (c->op == WR_CELL_PUT || c->op == WR_CELL_INCREMENT) {
        fputc('=', out);
        show_value(out, &c->value);
    }
    if (c->timestamp_ms != WR_TIMESTAMP_NONE)
        fprintf(out, "@%" PRId64, c->timestamp_ms);
}

void show_row(FILE *out, const struct wr_row *row)
{
    if (!row->key.count) {
        fputs("absent", out);
        return;
    }
    show_key(out, &row->key);
    for (size_t i = 0; i < row->cell_count; i++)
        show_cell(out, &row->cells[i]);
}

static void show_filter(FILE *out, const struct wr_filter *f)
{
    static const char *const signs[] = {"?", "=", "!=", ">", ">=", "<", "<=", "exists", "missing"};
    static const char *const words[] = {"?", "NOT", "AND", "OR"};

    switch (f->type) {
    case WR_FILTER_PAGE:
        fprintf(out, "page(%d, %d)", f->page.offset, f->page.limit);
        return;
    case WR_FILTER_COMPOSITE:
        fprintf(out, "%s[", words[(unsigned)f->composite.combinator & 3]);
        for (size_t i = 0; i < f->composite.sub_count; i++) {
            fputs(i ? ", " : "", out);
            show_filter(out, &f->composite.subs[i]);
        }
        fputc(']', out);
        return;
    case WR_FILTER_COLUMN:
        show_bytes(out, f->column.column);
        if (f->column.regex.ptr) {
            fputs("~", out);
            show_bytes(out, f->column.regex);
            fprintf(out, " as %d", f->column.cast_type);
        }
        fprintf(out, " %s ",
                (unsigned)f->column.comparator < 9 ? signs[f->column.comparator] : "?");
        show_value(out, &f->column.value);
        fprintf(out, "%s%s", f->column.filter_if_missing ? " needed" : "",
                f->column.latest_version_only ? "" : " any-version");
        return;
    }
}

static void show_names(FILE *out, const char *label, const bytes *names, size_t count)
{
    if (!count)
        return;
    fprintf(out, " %s [", label);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        show_bytes(out, names[i]);
    }
    fputc(']', out);
}

static void show_read(FILE *out, const struct wr_read_options *r)
{
    show_names(out, "columns", r->columns, r->column_count);
    if (r->has_start)
        fprintf(out, " from %" PRId64, r->start_ms);
    if (r->has_end)
        fprintf(out, " to %" PRId64, r->end_ms);
    if (r->has_specific)
        fprintf(out, " at %" PRId64, r->specific_ms);
    if (r->has_max_versions)
        fprintf(out, " versions %d", r->max_versions);
    if (r->start_column.ptr) {
        fputs(" start column ", out);
        show_bytes(out, r->start_column);
    }
    if (r->end_column.ptr) {
        fputs(" end column ", out);
        show_bytes(out, r->end_column);
    }
    if (r->filter) {
        fputs(" filter ", out);
        show_filter(out, r->filter);
    }
}

static void show_change(FILE *out, const struct wr_row_change *c)
{
    static const char *const types[] = {"?", "put", "update", "delete"};
    static const char *const expects[] = {"", " if it exists", " if it does not exist", "?"};
    static const char *const returns[] = {"", " return key", " return after modify", "?"};

    fprintf(out, "  %s ", types[(unsigned)c->type & 3]);
    show_key(out, &c->row.key);
    for (size_t i = 0; i < c->row.cell_count; i++)
        show_cell(out, &c->row.cells[i]);
    fputs(expects[(unsigned)c->condition.existence & 3], out);
    if (c->condition.column) {
        fputs(" if ", out);
        show_filter(out, c->condition.column);
    }
    fputs(returns[(unsigned)c->return_type & 3], out);
    show_names(out, "of", c->return_columns, c->return_column_count);
    fputc('\n', out);
}

static void show_options(FILE *out, const struct wr_table_options *o)
{
    if (o->given & WR_HAS_TTL)
        fprintf(out, " ttl %d s", o->ttl_s);
    if (o->given & WR_HAS_MAX_VERSIONS)
        fprintf(out, " max versions %d", o->max_versions);
    if (o->given & WR_HAS_DEVIATION)
        fprintf(out, " deviation %" PRId64 " s", o->deviation_s);
    if (o->given & WR_HAS_ALLOW_UPDATE)
        fprintf(out, " allow update %d", o->allow_update);
}

static void show_index(FILE *out, const struct wr_index_meta *m)
{
    fputs(m->type ? " local index " : " index ", out);
    show_bytes(out, m->name);
    show_names(out, "on", m->key_columns, m->key_column_count);
    show_names(out, "with", m->defined_columns, m->defined_column_count);
    if (m->descending || m->hashed)
        fprintf(out, " descending %#x, %d hashed", m->descending, m->hashed);
}

static void show_create(FILE *out, const struct wr_create_table *t)
{
    fputs("CreateTable ", out);
    show_bytes(out, t->table);
    for (size_t i = 0; i < t->key_count; i++) {
        fputs(i ? ", " : " key ", out);
        show_bytes(out, t->key[i].name);
        fprintf(out, " type %d%s", t->key[i].type, t->key[i].auto_increment ? " auto" : "");
    }
    show_options(out, &t->options);
    for (size_t i = 0; i < t->index_count; i++)
        show_index(out, &t->indexes[i]);
    fputc('\n', out);
}

static void show_range(FILE *out, const struct wr_get_range *g)
{
    fputs("GetRange ", out);
    show_bytes(out, g->table);
    fputs(g->backward ? " backward\n  " : " forward\n  ", out);
    show_key(out, &g->start);
    fputs("\n  ", out);
    show_key(out, &g->end);
    fputs("\n ", out);
    if (g->has_limit)
        fprintf(out, " limit %d", g->limit);
    if (g->partial_keys)
        fputs(" partial keys", out);
    show_read(out, &g->read);
    fputc('\n', out);
}

static void show_batch_get(FILE *out, const struct wr_batch_get_row *b)
{
    fputs("BatchGetRow\n", out);
    for (size_t i = 0; i < b->table_count; i++) {
        fputs(" table ", out);
        show_bytes(out, b->tables[i].table);
        show_read(out, &b->tables[i].read);
        fputc('\n', out);
        for (size_t k = 0; k < b->tables[i].key_count; k++) {
            fputs("  ", out);
            show_key(out, &b->tables[i].keys[k]);
            fputc('\n', out);
        }
    }
}

static void show_batch_write(FILE *out, const struct wr_batch_write_row *b)
{
    fprintf(out, "BatchWriteRow%s\n", b->atomic ? " atomic" : "");
    for (size_t i = 0; i < b->table_count; i++) {
        fputs(" table ", out);
        show_bytes(out, b->tables[i].table);
        fputc('\n', out);
        for (size_t k = 0; k < b->tables[i].change_count; k++)
            show_change(out, &b->tables[i].changes[k]);
    }
}

static void show_bulk(FILE *out, const struct wr_table_write *w)
{
    fputs("BulkImport ", out);
    show_bytes(out, w->table);
    fputc('\n', out);
    for (size_t k = 0; k < w->change_count; k++)
        show_change(out, &w->changes[k]);
}

static void show_export(FILE *out, const struct wr_bulk_export *e)
{
    fputs("BulkExport ", out);
    show_bytes(out, e->table);
    fputs("\n  ", out);
    show_key(out, &e->start);
    fputs("\n  ", out);
    show_key(out, &e->end);
    fputs(e->matrix ? "\n  matrix" : "\n ", out);
    show_names(out, "columns", e->columns, e->column_count);
    if (e->filter) {
        fputs(" filter ", out);
        show_filter(out, e->filter);
    }
    fputc('\n', out);
}

void show_request(FILE *out, const struct wr_request *req)
{
    if (oracle_txn_named(req).ptr)
        fprintf(out, "in transaction %.*s: ", BYTES_FMT(oracle_txn_named(req)));
    switch (req->op) {
    case WR_OP_START_LOCAL_TRANSACTION:
        fputs("StartLocalTransaction ", out);
        show_bytes(out, req->start_local_transaction.table);
        fputc(' ', out);
        show_key(out, &req->start_local_transaction.key);
        fputc('\n', out);
        return;
    case WR_OP_COMMIT_TRANSACTION:
    case WR_OP_ABORT_TRANSACTION:
        fputs(req->op == WR_OP_COMMIT_TRANSACTION ? "commit\n" : "abort\n", out);
        return;
    case WR_OP_CREATE_TABLE:
        show_create(out, &req->create_table);
        return;
    case WR_OP_CREATE_INDEX:
        fputs("CreateIndex ", out);
        show_bytes(out, req->create_index.table);
        show_index(out, &req->create_index.index);
        fputs(req->create_index.include_base_data ? " with its rows\n" : "\n", out);
        return;
    case WR_OP_DROP_INDEX:
        fputs("DropIndex ", out);
        show_bytes(out, req->drop_index.table);
        fputc(' ', out);
        show_bytes(out, req->drop_index.index);
        fputc('\n', out);
        return;
    case WR_OP_UPDATE_TABLE:
        fputs("UpdateTable ", out);
        show_bytes(out, req->update_table.table);
        show_options(out, &req->update_table.options);
        fputc('\n', out);
        return;
    case WR_OP_DELETE_TABLE:
    case WR_OP_DESCRIBE_TABLE:
        fputs(req->op == WR_OP_DELETE_TABLE ? "DeleteTable " : "DescribeTable ", out);
        show_bytes(out, req->delete_table.table);
        fputc('\n', out);
        return;
    case WR_OP_GET_ROW:
        fputs("GetRow ", out);
        show_bytes(out, req->get_row.table);
        fputc(' ', out);
        show_key(out, &req->get_row.key);
        show_read(out, &req->get_row.read);
        fputc('\n', out);
        return;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        fputs("table ", out);
        show_bytes(out, req->put_row.table);
        fputc('\n', out);
        show_change(out, &req->put_row);
        return;
    case WR_OP_BATCH_GET_ROW:
        show_batch_get(out, &req->batch_get_row);
        return;
    case WR_OP_BATCH_WRITE_ROW:
        show_batch_write(out, &req->batch_write_row);
        return;
    case WR_OP_GET_RANGE:
        show_range(out, &req->get_range);
        return;
    case WR_OP_BULK_IMPORT:
        show_bulk(out, &req->bulk_import.table);
        return;
    case WR_OP_BULK_EXPORT:
        show_export(out, &req->bulk_export);
        return;
    default:
        fprintf(out, "operation %d\n", req->op);
        return;
    }
}

static void show_result(FILE *out, const struct wr_row_result *r)
{
    fprintf(out, "  %d %s cu (%d, %d) ", r->code, r->message ? r->message : "", r->consumed.read,
            r->consumed.write);
    show_row(out, &r->row);
    fputc('\n', out);
}

void show_reply(FILE *out, const struct wr_reply *r)
{
    fprintf(out, "  code %d %s\n", r->code, r->message ? r->message : "");
    if (r->code)
        return;
    switch (r->op) {
    case WR_OP_GET_ROW:
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        show_result(out, &r->row);
        return;
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_BULK_IMPORT:
        for (size_t i = 0; i < r->batch.table_count; i++)
            for (size_t k = 0; k < r->batch.tables[i].row_count; k++)
                show_result(out, &r->batch.tables[i].rows[k]);
        return;
    case WR_OP_GET_RANGE:
    case WR_OP_BULK_EXPORT:
        fprintf(out, "  cu %d, next ", r->range.consumed.read);
        show_key(out, &r->range.next);
        fputc('\n', out);
        for (size_t i = 0; i < r->range.row_count; i++) {
            fputs("  ", out);
            show_row(out, &r->range.rows[i]);
            fputc('\n', out);
        }
        return;
    default:
        return;
    }
}

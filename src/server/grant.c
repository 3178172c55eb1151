#include "server/grant.h"

#include "wire/ots.h"

#include <stdio.h>

#define TABLE_NAME_MAX 255

/* ---- texts ---- */

static bool is_name(bytes b)
{
    const char *p = b.ptr;

    for (size_t i = 0; i < b.len; i++) {
        bool letter = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') || p[i] == '_';

        if (!letter && (i == 0 || p[i] < '0' || p[i] > '9'))
            return false;
    }
    return b.len <= TABLE_NAME_MAX;
}

/* Reads "rw" or "ro" off the front of *item, with the colon if a name follows it. Anything else is
 * left for the name, which must then come after a grant that said which. */
static bool mode_take(bytes *item, bool *write)
{
    bool rw = bytes_starts(*item, BYTES_LIT("rw")), ro = bytes_starts(*item, BYTES_LIT("ro"));

    if ((!rw && !ro) || (item->len > 2 && ((const char *)item->ptr)[2] != ':'))
        return false;
    *write = rw;
    *item = bytes_skip(*item, item->len > 2 ? 3 : 2);
    return true;
}

static int item_parse(struct arena *a, bytes item, bool first, struct grant *out)
{
    bytes name = item;
    bool said = mode_take(&name, &out->write);

    if (!said && first)
        return E_PARAMETER;
    if (said && item.len == 2) { /* every table */
        out->prefix = true;
        out->table = BYTES_LIT("");
        return E_OK;
    }
    out->prefix = name.len && ((const char *)name.ptr)[name.len - 1] == '*';
    if (out->prefix)
        name.len--;
    if (!is_name(name) || (!name.len && !out->prefix))
        return E_PARAMETER;
    out->table = arena_copy(a, name);
    return E_OK;
}

int grants_parse(struct arena *a, bytes text, struct grants *out, char *why, size_t why_size)
{
    const char *p = text.ptr, *end = p + text.len, *comma;
    struct grant grant = {0}, *list;
    size_t n = 0, items = 1;

    for (const char *at = p; at < end; at++)
        items += *at == ',';
    list = ARENA_ARRAY(a, struct grant, items);
    for (;; p = comma + 1) {
        bytes item;

        comma = memchr(p, ',', (size_t)(end - p));
        item = bytes_of(p, (size_t)((comma ? comma : end) - p));
        if (item_parse(a, item, n == 0, &grant)) {
            snprintf(why, why_size,
                     "'%.*s' is no grant. Write rw or ro, perhaps with tables: rw:cards*,orders.",
                     (int)(item.len < 100 ? item.len : 100), (const char *)item.ptr);
            return E_PARAMETER;
        }
        list[n++] = grant;
        if (!comma)
            break;
    }
    *out = (struct grants){list, n};
    return E_OK;
}

struct grants grants_all(void)
{
    static const struct grant all = {true, true, {"", 0}};

    return (struct grants){&all, 1};
}

/* ---- asking ---- */

bool grants_allow(const struct grants *g, bytes table, bool write)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct grant *at = &g->list[i];

        if (write && !at->write)
            continue;
        if (at->prefix ? bytes_starts(table, at->table) : bytes_equal(table, at->table))
            return true;
    }
    return false;
}

/* Whether an operation needs more than reading, by its class in op.def. Of the operations on tables
 * only the two that ask may be done with less. */
static bool op_writes(enum wr_op op)
{
    enum class { READ, WRITE, TABLE };
    static const enum class classes[WR_OP_COUNT] = {
#define OP(constant, member, wire, stem, class) [WR_OP_##constant] = class,
#include "op.def"
    };

    return classes[op] == WRITE ||
           (classes[op] == TABLE && op != WR_OP_LIST_TABLE && op != WR_OP_DESCRIBE_TABLE);
}

/* A name that no table can have is not quoted: it may be any bytes. */
static int check_table(struct ctx *c, const struct grants *g, enum wr_op op, bytes table)
{
    bytes quoted = is_name(table) ? table : BYTES_LIT("");

    if (grants_allow(g, table, op_writes(op)))
        return E_OK;
    return fail(c, E_PERMISSION, "The access key has no permission for %s on table '%.*s'.",
                ots_op_name(op), BYTES_FMT(quoted));
}

/* An index is read like a table of its own, so making one needs leave for its name too. */
static int check_create(struct ctx *c, const struct grants *g, const struct wr_create_table *create)
{
    TRY(check_table(c, g, WR_OP_CREATE_TABLE, create->table));
    for (size_t i = 0; i < create->index_count; i++)
        TRY(check_table(c, g, WR_OP_CREATE_TABLE, create->indexes[i].name));
    return E_OK;
}

static int check_batch_get(struct ctx *c, const struct grants *g, const struct wr_batch_get_row *b)
{
    for (size_t i = 0; i < b->table_count; i++)
        TRY(check_table(c, g, WR_OP_BATCH_GET_ROW, b->tables[i].table));
    return E_OK;
}

static int check_batch_write(struct ctx *c, const struct grants *g,
                             const struct wr_batch_write_row *b)
{
    for (size_t i = 0; i < b->table_count; i++)
        TRY(check_table(c, g, WR_OP_BATCH_WRITE_ROW, b->tables[i].table));
    return E_OK;
}

/* Without a default, so that the compiler asks what a new operation names. */
int grants_check(struct ctx *c, const struct grants *g, const struct wr_request *r)
{
    switch (r->op) {
    case WR_OP_CREATE_TABLE:
        return check_create(c, g, &r->create_table);
    case WR_OP_BATCH_GET_ROW:
        return check_batch_get(c, g, &r->batch_get_row);
    case WR_OP_BATCH_WRITE_ROW:
        return check_batch_write(c, g, &r->batch_write_row);
    case WR_OP_DESCRIBE_TABLE:
        return check_table(c, g, r->op, r->describe_table.table);
    case WR_OP_REKEY_TABLE:
        return check_table(c, g, r->op, r->rekey_table.table);
    case WR_OP_UPDATE_TABLE:
        return check_table(c, g, r->op, r->update_table.table);
    case WR_OP_DELETE_TABLE:
        return check_table(c, g, r->op, r->delete_table.table);
    case WR_OP_LOAD_TABLE:
        return check_table(c, g, r->op, r->load_table.table);
    case WR_OP_UNLOAD_TABLE:
        return check_table(c, g, r->op, r->unload_table.table);
    case WR_OP_ADD_DEFINED_COLUMN:
        return check_table(c, g, r->op, r->add_defined_column.table);
    case WR_OP_DELETE_DEFINED_COLUMN:
        return check_table(c, g, r->op, r->delete_defined_column.table);
    case WR_OP_GET_ROW:
        return check_table(c, g, r->op, r->get_row.table);
    case WR_OP_PUT_ROW:
        return check_table(c, g, r->op, r->put_row.table);
    case WR_OP_UPDATE_ROW:
        return check_table(c, g, r->op, r->update_row.table);
    case WR_OP_DELETE_ROW:
        return check_table(c, g, r->op, r->delete_row.table);
    case WR_OP_GET_RANGE:
        return check_table(c, g, r->op, r->get_range.table);
    case WR_OP_COMPUTE_SPLIT_POINTS:
        return check_table(c, g, r->op, r->compute_split_points.table);
    case WR_OP_DESCRIBE_PARTITIONS:
        return check_table(c, g, r->op, r->describe_partitions.table);
    case WR_OP_BULK_EXPORT:
        return check_table(c, g, r->op, r->bulk_export.table);
    case WR_OP_BULK_IMPORT:
        return check_table(c, g, r->op, r->bulk_import.table.table);
    case WR_OP_DESCRIBE_HEAT:
        return check_table(c, g, r->op, r->describe_heat.table);
    case WR_OP_DESCRIBE_SIZES:
        return check_table(c, g, r->op, r->describe_sizes.table);
    case WR_OP_LIST_TABLE:
        return E_OK;
    case WR_OP_COUNT:
        break;
    }
    return fail_code(c, E_PERMISSION);
}

struct wr_table_list grants_visible(struct ctx *c, const struct grants *g,
                                    const struct wr_table_list *all)
{
    struct wr_bytes *tables = ARENA_ARRAY(&c->arena, struct wr_bytes, all->count + 1);
    struct wr_table_list out = {.tables = tables};

    for (size_t i = 0; i < all->count; i++)
        if (grants_allow(g, all->tables[i], false))
            tables[out.count++] = all->tables[i];
    return out;
}

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

static bool op_writes(enum wr_op op)
{
    return wr_op_class(op) == WR_CLASS_WRITE || wr_op_class(op) == WR_CLASS_TABLE;
}

/* A name that no table can have is not quoted: it may be any bytes. */
static int grant_check_table(struct ctx *c, const struct grants *g, enum wr_op op, bytes table)
{
    bytes quoted = is_name(table) ? table : BYTES_LIT("");

    if (grants_allow(g, table, op_writes(op)))
        return E_OK;
    return fail(c, E_PERMISSION, "The access key has no permission for %s on table '%.*s'.",
                ots_op_name(op), BYTES_FMT(quoted));
}

/* An index is read like a table of its own, so making one needs leave for its name too. */
int grants_check(struct ctx *c, const struct grants *g, const struct wr_request *r)
{
    bytes table;

    if (r->op == WR_OP_LIST_STREAM && r->list_stream.table.ptr)
        return grant_check_table(c, g, r->op, r->list_stream.table);
    if (r->op == WR_OP_LIST_SEARCH_INDEX && r->list_search_index.table.ptr)
        return grant_check_table(c, g, r->op, r->list_search_index.table);
    for (size_t i = 0; wr_request_table(r, i, &table); i++)
        TRY(grant_check_table(c, g, r->op, table));
    return E_OK;
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

struct wr_stream_list grants_visible_streams(struct ctx *c, const struct grants *g,
                                             const struct wr_stream_list *all)
{
    struct wr_stream *streams = ARENA_ARRAY(&c->arena, struct wr_stream, all->count + 1);
    struct wr_stream_list out = {.streams = streams};

    for (size_t i = 0; i < all->count; i++)
        if (grants_allow(g, all->streams[i].table, false))
            streams[out.count++] = all->streams[i];
    return out;
}

struct wr_search_index_list grants_visible_search_indexes(struct ctx *c, const struct grants *g,
                                                          const struct wr_search_index_list *all)
{
    struct wr_search_index_name *indexes =
        ARENA_ARRAY(&c->arena, struct wr_search_index_name, all->count + 1);
    struct wr_search_index_list out = {.indexes = indexes};

    for (size_t i = 0; i < all->count; i++)
        if (grants_allow(g, all->indexes[i].table, false))
            indexes[out.count++] = all->indexes[i];
    return out;
}

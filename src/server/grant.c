#include "server/grant.h"

#include "wire/ots.h"

#include <stdio.h>
#include <string.h>

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

static const char letters[] = "rwats"; /* of GRANT_READ, GRANT_WRITE, ... */

/* Reads "rw", "ro" or "+..." off the front of *item, with the colon if a name follows it. Anything
 * else is left for the name, which must then come after a grant that said which. */
static bool mode_take(bytes *item, unsigned *may)
{
    const char *p = item->ptr, *letter;
    bool rw = bytes_starts(*item, BYTES_LIT("rw")), ro = bytes_starts(*item, BYTES_LIT("ro"));
    unsigned said = rw ? GRANT_ALL : ro ? GRANT_READ : 0;
    size_t n = rw || ro ? 2 : 1;

    if (!rw && !ro && (!item->len || *p != '+'))
        return false;
    while (!rw && !ro && n < item->len && (letter = strchr(letters, p[n])) && *letter && n++)
        said |= 1u << (letter - letters);
    if (item->len > n && p[n] != ':')
        return false;
    *may = said;
    *item = bytes_skip(*item, item->len > n ? n + 1 : n);
    return true;
}

static int item_parse(struct arena *a, bytes item, bool first, struct grant *out)
{
    bytes name = item;
    bool said = mode_take(&name, &out->may);

    if (!said && first)
        return E_PARAMETER;
    if (said && !name.len && bytes_u8(item)[item.len - 1] != ':') { /* every table */
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
                     "'%.*s' is no grant. Write rw, ro or + and letters of rwats, perhaps with "
                     "tables: rw:cards*,orders.",
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
    static const struct grant all = {GRANT_ALL, true, {"", 0}};

    return (struct grants){&all, 1};
}

/* ---- asking ---- */

static bool grant_is_on(const struct grant *g, bytes table)
{
    return g->prefix ? bytes_starts(table, g->table) : bytes_equal(table, g->table);
}

static unsigned grants_on(const struct grants *g, bytes table)
{
    unsigned may = 0;

    for (size_t i = 0; i < g->count; i++)
        if (grant_is_on(&g->list[i], table))
            may |= g->list[i].may;
    return may;
}

bool grants_allow(const struct grants *g, bytes table, unsigned need)
{
    return (grants_on(g, table) & need) == need;
}

/* Each bit by one grant that is on all the tables that this one is on. */
bool grants_cover(const struct grants *by, const struct grants *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct grant *of = &g->list[i];
        unsigned may = 0;

        for (size_t k = 0; k < by->count; k++)
            if (grant_is_on(&by->list[k], of->table) && (by->list[k].prefix || !of->prefix))
                may |= by->list[k].may;
        if ((may & of->may) != of->may)
            return false;
    }
    return true;
}

bytes grants_text(struct arena *a, const struct grants *g)
{
    bytes out = BYTES_LIT("");

    for (size_t i = 0; i < g->count; i++) {
        const struct grant *of = &g->list[i];
        char word[8] = "+";
        size_t n = 1;

        for (size_t k = 0; k < sizeof(letters) - 1; k++)
            if (of->may >> k & 1)
                word[n++] = letters[k];
        word[n] = 0;
        out = arena_printf(a, "%.*s%s%s%s%.*s%s", BYTES_FMT(out), i ? "," : "",
                           of->may == GRANT_ALL    ? "rw"
                           : of->may == GRANT_READ ? "ro"
                                                   : word,
                           of->table.len || !of->prefix ? ":" : "", BYTES_FMT(of->table),
                           of->table.len && of->prefix ? "*" : "");
    }
    return out.len ? out : BYTES_LIT("+");
}

static unsigned op_needs(enum wr_op op)
{
    if (op == WR_OP_DELETE_TABLE)
        return GRANT_ADMIN | GRANT_DROP;
    return wr_op_class(op) == WR_CLASS_TABLE   ? GRANT_ADMIN
           : wr_op_class(op) == WR_CLASS_WRITE ? GRANT_WRITE
                                               : GRANT_READ;
}

static bool change_tells(const struct wr_row_change *c)
{
    return c->condition.column || c->return_type == WR_RETURN_AFTER_MODIFY;
}

/* Does a write tell what the table had? */
static bool request_tells(const struct wr_request *r)
{
    const struct wr_batch_write_row *b = &r->batch_write_row;

    if (r->op == WR_OP_PUT_ROW || r->op == WR_OP_UPDATE_ROW || r->op == WR_OP_DELETE_ROW)
        return change_tells(&r->put_row);
    if (r->op != WR_OP_BATCH_WRITE_ROW)
        return false;
    for (size_t i = 0; i < b->table_count; i++)
        for (size_t k = 0; k < b->tables[i].change_count; k++)
            if (change_tells(&b->tables[i].changes[k]))
                return true;
    return false;
}

/* A name that no table can have is not quoted: it may be any bytes. */
static int grant_check_table(struct ctx *c, const struct grants *g, enum wr_op op, bytes table,
                             unsigned need)
{
    bytes quoted = is_name(table) ? table : BYTES_LIT("");

    if (grants_allow(g, table, need) || (op == WR_OP_DESCRIBE_TABLE && grants_on(g, table)))
        return E_OK;
    return fail(c, E_PERMISSION, "The access key has no permission for %s on table '%.*s'.",
                ots_op_name(op), BYTES_FMT(quoted));
}

/* An index is read like a table of its own, so making one needs leave for its name too. */
int grants_check(struct ctx *c, const struct grants *g, const struct wr_request *r)
{
    unsigned need = op_needs(r->op) | (request_tells(r) ? GRANT_READ : 0);
    bytes table;

    if (r->op == WR_OP_LIST_STREAM && r->list_stream.table.ptr)
        return grant_check_table(c, g, r->op, r->list_stream.table, need);
    if (r->op == WR_OP_LIST_SEARCH_INDEX && r->list_search_index.table.ptr)
        return grant_check_table(c, g, r->op, r->list_search_index.table, need);
    for (size_t i = 0; wr_request_table(r, i, &table); i++)
        TRY(grant_check_table(c, g, r->op, table, need));
    return E_OK;
}

struct wr_table_list grants_visible(struct ctx *c, const struct grants *g,
                                    const struct wr_table_list *all)
{
    struct wr_bytes *tables = ARENA_ARRAY(&c->arena, struct wr_bytes, all->count + 1);
    struct wr_table_list out = {.tables = tables};

    for (size_t i = 0; i < all->count; i++)
        if (grants_on(g, all->tables[i]))
            tables[out.count++] = all->tables[i];
    return out;
}

struct wr_stream_list grants_visible_streams(struct ctx *c, const struct grants *g,
                                             const struct wr_stream_list *all)
{
    struct wr_stream *streams = ARENA_ARRAY(&c->arena, struct wr_stream, all->count + 1);
    struct wr_stream_list out = {.streams = streams};

    for (size_t i = 0; i < all->count; i++)
        if (grants_allow(g, all->streams[i].table, GRANT_READ))
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
        if (grants_allow(g, all->indexes[i].table, GRANT_READ))
            indexes[out.count++] = all->indexes[i];
    return out;
}

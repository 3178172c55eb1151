/* compare.c: indexes against the rows, both as clients read them, as lists of texts. */
#include "life.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/buf.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/maint/sweep.h"
#include "table/sync/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_US 20000
#define FOLLOW_US 1000000
#define FOLLOW_TRIES 60
#define WAIT_TRIES 3000 /* a minute, and more on a loaded machine: nothing is judged by it */

/* Of all rows of a table. */
struct list {
    const char **items;
    size_t count, room;
};

static void list_add(struct arena *a, struct list *l, const char *item)
{
    if (l->count == l->room) {
        const char **more = ARENA_ARRAY(a, const char *, 2 * l->room + 64);

        if (l->count)
            memcpy(more, l->items, l->count * sizeof(*more));
        l->items = more;
        l->room = 2 * l->room + 64;
    }
    l->items[l->count++] = item;
}

static int compare_items(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void put_value(struct buf *b, struct arena *a, bytes name, const struct wr_value *v)
{
    buf_put_bytes(b, name);
    if (v->type == WR_BIGINT)
        buf_put_bytes(b, arena_printf(a, "=%" PRId64 " ", v->integer));
    else
        buf_put_bytes(b,
                      arena_printf(a, "='%.*s' ", (int)v->bytes.len, (const char *)v->bytes.ptr));
}

static void put_cell(struct buf *b, struct arena *a, const struct wr_cell *cell)
{
    put_value(b, a, cell->name, &cell->value);
    buf_put_bytes(b, arena_printf(a, "@%" PRId64 " ", cell->timestamp_ms));
}

static const char *text_of(struct buf *b)
{
    buf_put_u8(b, 0);
    return buf_bytes(b).ptr;
}

static const char *entry_text(struct arena *a, const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, a, 128);
    for (size_t i = 0; i < row->key.count; i++)
        put_value(&b, a, row->key.columns[i].name, &row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++)
        put_cell(&b, a, &row->cells[i]);
    return text_of(&b);
}

static const struct wr_cell *find_cell(const struct wr_row *row, bytes name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return &row->cells[i];
    return NULL;
}

static const struct wr_value *find_value(const struct wr_row *row, bytes name)
{
    const struct wr_cell *cell = find_cell(row, name);

    for (size_t i = 0; i < row->key.count; i++)
        if (bytes_equal(row->key.columns[i].name, name))
            return &row->key.columns[i].value;
    return cell ? &cell->value : NULL;
}

static bool lists(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

/* What the row's entry reads like; NULL: it has none. */
static const char *expected_text(struct arena *a, const struct wr_index_meta *meta,
                                 const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, a, 128);
    for (size_t i = 0; i < meta->key_column_count; i++) {
        const struct wr_value *v = find_value(row, meta->key_columns[i]);

        if (!v)
            return NULL;
        put_value(&b, a, meta->key_columns[i], v);
    }
    for (size_t i = 0; i < row->key.count; i++)
        if (!lists(meta->key_columns, meta->key_column_count, row->key.columns[i].name))
            put_value(&b, a, row->key.columns[i].name, &row->key.columns[i].value);
    for (size_t i = 0; i < row->cell_count; i++)
        if (lists(meta->defined_columns, meta->defined_column_count, row->cells[i].name))
            put_cell(&b, a, &row->cells[i]);
    return text_of(&b);
}

/* ---- reading ---- */

static struct wr_reply *describe(struct wr_db *db, bytes table)
{
    struct wr_request req = {.op = WR_OP_DESCRIBE_TABLE, .instance = bytes_str(LIFE_INSTANCE)};

    req.describe_table.table = table;
    return wr_exec(db, &req);
}

/* Adds each row of the table: as itself, or, with `meta`, as its entry. */
static bool read_all(struct life *l, struct wr_db *db, struct arena *a, bytes table,
                     const struct wr_index_meta *meta, struct list *out)
{
    struct wr_reply *d = describe(db, table), *reply = NULL;
    struct wr_key_column low[WR_KEY_COLUMNS_MAX], high[WR_KEY_COLUMNS_MAX];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = bytes_str(LIFE_INSTANCE)};
    int code = d->code;
    bool more = !code;

    for (size_t i = 0; !code && i < d->description.key_count; i++) {
        low[i] = (struct wr_key_column){d->description.key[i].name, {.type = WR_INF_MIN}};
        high[i] = (struct wr_key_column){d->description.key[i].name, {.type = WR_INF_MAX}};
    }
    req.get_range =
        (struct wr_get_range){.table = table,
                              .start = {low, d->description.key_count},
                              .end = {high, d->description.key_count},
                              .read = {.has_max_versions = true, .max_versions = INT32_MAX}};
    while (more) {
        struct wr_reply *last = reply;

        reply = wr_exec(db, &req);
        wr_reply_free(last);
        code = reply->code;
        for (size_t i = 0; !code && i < reply->range.row_count; i++) {
            const struct wr_row *row = &reply->range.rows[i];
            const char *text = meta ? expected_text(a, meta, row) : entry_text(a, row);

            if (text)
                list_add(a, out, text);
        }
        more = !code && reply->range.next.count;
        req.get_range.start = reply->range.next;
    }
    if (code)
        life_problem(l, "%.*s cannot be read: %s", (int)table.len, (const char *)table.ptr,
                     reply ? reply->message : d->message);
    wr_reply_free(reply);
    wr_reply_free(d);
    return !code;
}

/* ---- the comparison ---- */

static void compare_lists(struct life *l, const struct wr_index_meta *meta,
                          const struct list *expected, const struct list *found)
{
    size_t i = 0, k = 0;

    while (i < expected->count || k < found->count) {
        int r = i == expected->count ? 1
                : k == found->count  ? -1
                                     : strcmp(expected->items[i], found->items[k]);

        if (r < 0)
            life_problem(l, "%.*s lacks %s", (int)meta->name.len, (const char *)meta->name.ptr,
                         expected->items[i]);
        if (r > 0)
            life_problem(l, "%.*s has besides %s", (int)meta->name.len,
                         (const char *)meta->name.ptr, found->items[k]);
        i += r <= 0;
        k += r >= 0;
        atomic_fetch_add(&l->counts->compared, r == 0);
    }
}

static bool same_lists(const struct list *expected, const struct list *found)
{
    for (size_t i = 0; i < expected->count && i < found->count; i++)
        if (strcmp(expected->items[i], found->items[i]) != 0)
            return false;
    return expected->count == found->count;
}

static bool compare_index(struct life *l, struct wr_db *db, const struct wr_index_meta *meta,
                          bool patient)
{
    struct list expected = {0}, found = {0};
    struct arena a;
    bool same = true;

    arena_init(&a, NULL, 0);
    if (read_all(l, db, &a, bytes_str(LIFE_TABLE), meta, &expected) &&
        read_all(l, db, &a, meta->name, NULL, &found)) {
        if (expected.count)
            qsort(expected.items, expected.count, sizeof(*expected.items), compare_items);
        if (found.count)
            qsort(found.items, found.count, sizeof(*found.items), compare_items);
        same = same_lists(&expected, &found);
        if (same || !patient)
            compare_lists(l, meta, &expected, &found);
    }
    arena_release(&a);
    return same;
}

/* Where indexes follow, what nobody writes any more reaches them soon. */
static void compare_soon(struct life *l, struct wr_db *db, const struct wr_index_meta *meta)
{
    for (int i = 0; l->ceph_conf && i < FOLLOW_TRIES; i++) {
        if (compare_index(l, db, meta, true))
            return;
        usleep(FOLLOW_US);
    }
    (void)compare_index(l, db, meta, false);
}

/* The description, once no index is being built. */
static struct wr_reply *wait_for_builds(struct life *l, struct wr_db *db)
{
    struct wr_reply *d = describe(db, bytes_str(LIFE_TABLE));

    /* On a pool the dead are waited for, in each phase of a build, until they are known to be. */
    for (int i = 0; i < WAIT_TRIES * (l->ceph_conf ? 6 : 1); i++) {
        size_t building = d->code != 0;

        for (size_t k = 0; k < d->description.index_count; k++)
            building += d->description.indexes[k].sync_phase != 2;
        if (!building)
            return d;
        usleep(WAIT_US);
        wr_reply_free(d);
        d = describe(db, bytes_str(LIFE_TABLE));
    }
    life_problem(l, "a build does not end: %s", d->code ? d->message : "it goes on");
    return d;
}

/* Is a table, a copy of one that is being rekeyed, or a stream stored under that id; or is it about
 * to be erased? */
static bool is_known(struct wr_db *db, struct ctx *c, struct table *const *tables, size_t count,
                     uint32_t id)
{
    struct get get = {.partition = PARTITION_SYSTEM,
                      .key = catalog_dropped_key(&c->arena, id),
                      .view = VIEW_LATEST};

    for (size_t i = 0; i < count; i++)
        if (tables[i]->schema.location.id == id || tables[i]->schema.shadow.id == id ||
            tables[i]->schema.stream.location == id)
            return true;
    return !wait_get(c, db->engine, &get) && get.found;
}

static struct page scan_range(struct life *l, struct wr_db *db, struct ctx *c,
                              struct key_range range, size_t items_max)
{
    struct page page = {0};
    struct scan scan = {.partition = PARTITION_SYSTEM,
                        .view = VIEW_LATEST,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = items_max,
                        .bytes_max = 1 << 20,
                        .pages = &page};

    if (wait_scan(c, db->engine, &scan))
        life_problem(l, "the data folder cannot be read");
    return page;
}

/* The first id, from `id` on, under which something is stored; 0: there is none. */
static uint32_t next_id(struct life *l, struct wr_db *db, struct ctx *c, uint32_t id)
{
    uint8_t bounds[9] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct page page;

    store_u32_be(bounds, id);
    page =
        scan_range(l, db, c, (struct key_range){bytes_of(bounds, 4), bytes_of(bounds + 4, 5)}, 1);
    return page.count ? load_u32_be(bytes_u8(page.items[0].key)) : 0;
}

/* Progress of builds and rekeyings that are not under way. */
static void look_for_progress(struct life *l, struct wr_db *db, struct ctx *c,
                              struct table *const *tables, size_t count)
{
    struct page page =
        scan_range(l, db, c,
                   (struct key_range){catalog_plain_key(&c->arena, CATALOG_REKEY),
                                      catalog_plain_key(&c->arena, CATALOG_REKEY + 1)},
                   1000);

    for (size_t i = 0; i < page.count; i++) {
        bytes key = page.items[i].key;
        uint32_t id = load_u32_be(bytes_u8(key) + key.len - 4);
        bool known = false;

        for (size_t k = 0; k < count && !known; k++)
            known = tables[k]->schema.id == id && tables[k]->schema.rekey != REKEY_NONE;
        if (!known)
            life_problem(l, "progress of %u, which is neither built nor rekeyed", id);
    }
}

/* What was dropped by processes that are gone is erased at once. */
static void look_for_strangers(struct life *l, struct wr_db *db)
{
    struct table **tables;
    struct ctx c;
    size_t n;

    sweep_run(db);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    n = catalog_all(db->catalog, &c.arena, &tables);
    for (uint32_t id = next_id(l, db, &c, 1); id; id = next_id(l, db, &c, id + 1))
        if (!is_known(db, &c, tables, n, id))
            life_problem(l, "rows are stored under %u, which is no table's", id);
    look_for_progress(l, db, &c, tables, n);
    for (size_t i = 0; i < n; i++)
        table_release(tables[i]);
    ctx_release(&c);
}

void life_compare(struct life *l, struct wr_db *db)
{
    struct wr_reply *d = wait_for_builds(l, db);

    for (size_t i = 0; i < d->description.index_count; i++) {
        compare_soon(l, db, &d->description.indexes[i]);
        atomic_fetch_add(&l->counts->completed, 1);
    }
    wr_reply_free(d);
    if (!l->ceph_conf)
        look_for_strangers(l, db);
}

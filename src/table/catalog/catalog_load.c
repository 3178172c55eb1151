/* catalog_load.c: tables from storage into the cache. All of it blocks. */
#include "table/catalog/catalog_own.h"

#include "table/model/key.h"
#include "table/sync/wait.h"

/* A description that cannot be read. *changed: what was read may be older than the cache. */
static int load_refused(struct ctx *c, struct catalog *cat, bytes key, int code,
                        const uint64_t *before, bool *changed)
{
    bytes instance, name;
    const char *text;

    if (!catalog_may_refuse(cat, code))
        return code;
    text = arena_printf(&c->arena, "%s", c->text).ptr;
    ctx_clear(c);
    TRY(catalog_key_names(c, key, &instance, &name));
    *changed = !catalog_refuse(cat, instance, name, code, text, before);
    return E_OK;
}

int catalog_load(struct ctx *c, struct catalog *cat)
{
    struct key_range range = {catalog_plain_key(&c->arena, CATALOG_TABLE),
                              catalog_plain_key(&c->arena, CATALOG_DROPPED)};
    struct page page = {.more = true};
    bytes tried = BYTES_NONE; /* the last one whose pages were newer than what named them */
    int tries = 0;

    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_LATEST,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 256,
                            .bytes_max = 1 << 20,
                            .pages = &page};
        uint64_t before = atomic_load(&cat->changes);
        bool changed = false;

        TRY(wait_scan(c, cat->db->engine, &scan));
        for (size_t i = 0; i < page.count && !changed; i++) {
            struct map_source from = {.view = VIEW_LATEST, .read = true};
            struct table *t;
            int code = catalog_table_new(c, cat, page.items[i].value, &from, &t);

            if (code == E_GUARD && !bytes_equal(tried, page.items[i].key)) {
                tried = arena_copy(&c->arena, page.items[i].key);
                tries = 0;
            }
            if (code == E_GUARD && tries++ < CATALOG_TRIES_MAX) {
                ctx_clear(c);
                changed = true;
                continue;
            }
            if (code == E_GUARD)
                code = fail(c, E_CORRUPT, "A page of a table's partitions is missing.");
            if (code)
                TRY(load_refused(c, cat, page.items[i].key, code, &before, &changed));
            else
                changed = !catalog_swap(cat, t->schema.instance, t->schema.d.table, t, &before);
            before++;
        }
        if (changed) { /* what was read may be older: once more */
            page.more = true;
            continue;
        }
        if (page.count)
            range.start = key_after(&c->arena, page.items[page.count - 1].key);
        else
            page.more = false;
    }
    return E_OK;
}

int catalog_reread(struct ctx *c, struct catalog *cat, bytes instance, bytes name)
{
    for (int tries = 0;;) {
        uint64_t before = atomic_load(&cat->changes);
        struct get get = {.partition = PARTITION_SYSTEM,
                          .key = catalog_table_key(&c->arena, instance, name),
                          .view = VIEW_DURABLE};
        struct map_source from = {.view = VIEW_DURABLE, .read = true};
        struct table *t = NULL;
        int code = E_OK;

        TRY(wait_get(c, cat->db->engine, &get));
        if (get.found)
            code = catalog_table_new(c, cat, get.value, &from, &t);
        if (code == E_GUARD && tries++ < CATALOG_TRIES_MAX) { /* what was read is old */
            ctx_clear(c);
            continue;
        }
        if (code == E_GUARD)
            code = fail(c, E_CORRUPT, "A page of a table's partitions is missing.");
        if (catalog_may_refuse(cat, code)) {
            bool done = catalog_refuse(cat, instance, name, code, c->text, &before);

            ctx_clear(c);
            if (done)
                return E_OK;
            continue;
        }
        TRY(code);
        if (catalog_swap(cat, instance, name, t, &before))
            return E_OK;
    }
}

static bool is_cached(struct catalog *cat, const struct table *t)
{
    struct table *now = catalog_get(cat, t->schema.instance, t->schema.d.table);

    table_release(now);
    return now == t;
}

int catalog_load_all(struct ctx *c, struct catalog *cat)
{
    struct table **cached;
    size_t n = catalog_all(cat, &c->arena, &cached);
    int code = catalog_load(c, cat);

    for (size_t i = 0; i < n; i++) {
        if (!code && is_cached(cat, cached[i])) /* it was not among those that are stored */
            code = catalog_reread(c, cat, cached[i]->schema.instance, cached[i]->schema.d.table);
        table_release(cached[i]);
    }
    return code;
}

int catalog_refresh(struct ctx *c, const struct table *t)
{
    struct catalog *cat = t->db->catalog;
    struct table *now;
    int code = E_NOT_EXIST;

    TRY(catalog_reread(c, cat, t->schema.instance, t->schema.d.table));
    now = catalog_get(cat, t->schema.instance, t->schema.d.table);
    if (now)
        code = now->schema.id == t->schema.id ? E_OK : E_NOT_READY;
    table_release(now);
    return code ? fail_code(c, code) : E_OK;
}

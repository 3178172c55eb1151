/* catalog_map.c: a table's map in storage.
 *
 * Up to map_page_partitions partitions stand in the table's description. From there on they stand
 * in pages, records of their own, and the description names the pages: id, first bound, how many.
 * A page never changes. Whoever changes the list writes other pages under new ids, the description
 * that names them, and removes the pages it names no more, in one batch that guards the
 * description. So
 *   - the description alone says what is true, and its version is the map's, as ever;
 *   - pages that are in memory are good for ever: who is told that a table has changed reads its
 *     description, and the pages with ids that he does not have;
 *   - who reads a description and finds a page of it gone has read an old one, and reads again.
 * Pages lie in the system partition beside the descriptions, since a batch touches one partition
 * only. Their size grows with the root of the table's partitions, so that a repartition writes
 * about as much of pages as of the list of pages. */
#include "table/catalog/catalog_own.h"

#include "base/invariant.h"
#include "table/model/key.h"
#include "table/model/batch_builder.h"
#include "table/sync/wait.h"

#include <stdlib.h>

#define READ_ONE_BY_ONE 4 /* pages; more are scanned for */

size_t catalog_page_max(const struct limits *limits, size_t partitions)
{
    size_t max = (size_t)limits->map_page_partitions;

    while (max < partitions / max)
        max *= 2;
    return max;
}

uint64_t catalog_page_id(void *cat)
{
    return catalog_next_number(cat);
}

/* ---- reading ---- */

/* Pages of a description on their way into memory. */
struct reading {
    struct ctx c; /* what is read goes with it */
    struct catalog *cat;
    const struct schema *s;
    enum engine_view view;
    struct map_page **pages; /* NULL: missing */
    size_t *missing;         /* of s->pages; sorted by id */
    size_t missing_count;
};

static int page_take(struct reading *r, size_t i, bytes stored)
{
    const struct schema_page *p = &r->s->pages[i];
    struct schema_partition *list;

    TRY(schema_page_decode(&r->c, stored, p, &list));
    if (i + 1 < r->s->page_count &&
        bytes_compare(list[p->count - 1].start, r->s->pages[i + 1].start) >= 0)
        return fail(&r->c, E_CORRUPT, "A stored page of partitions goes into the next one.");
    invariant(!r->pages[i]);
    r->pages[i] = map_page_new(p->id, list, p->count);
    return E_OK;
}

static int read_singly(struct reading *r)
{
    for (size_t k = 0; k < r->missing_count; k++) {
        size_t i = r->missing[k];
        struct get get = {.partition = PARTITION_SYSTEM,
                          .key =
                              catalog_page_key(&r->c.arena, r->s->location.id, r->s->pages[i].id),
                          .view = r->view};

        TRY(wait_get(&r->c, r->cat->db->engine, &get));
        if (!get.found)
            return fail_code(&r->c, E_GUARD);
        TRY(page_take(r, i, get.value));
    }
    return E_OK;
}

/* The missing page of that id. */
static bool find_missing(const struct reading *r, uint64_t id, size_t *out)
{
    size_t low = 0, high = r->missing_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at = r->s->pages[r->missing[middle]].id;

        *out = r->missing[middle];
        if (at == id)
            return true;
        if (at < id)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static int read_by_scan(struct reading *r)
{
    struct key_range range = {catalog_page_key(&r->c.arena, r->s->location.id, 0),
                              catalog_page_key(&r->c.arena, r->s->location.id, UINT64_MAX)};
    struct page page = {.more = true};
    size_t i;

    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = r->view,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 256,
                            .bytes_max = 4 << 20,
                            .pages = &page};

        TRY(wait_scan(&r->c, r->cat->db->engine, &scan));
        for (size_t k = 0; k < page.count; k++)
            if (find_missing(r, catalog_page_key_id(page.items[k].key), &i) && !r->pages[i])
                TRY(page_take(r, i, page.items[k].value));
        if (!page.count)
            break;
        range.start = key_after(&r->c.arena, page.items[page.count - 1].key);
    }
    for (size_t k = 0; k < r->missing_count; k++)
        if (!r->pages[r->missing[k]])
            return fail_code(&r->c, E_GUARD);
    return E_OK;
}

struct page_id_at {
    uint64_t id;
    size_t at;
};

static int map_compare_ids(const void *a, const void *b)
{
    const struct page_id_at *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static void sort_missing(struct reading *r)
{
    struct page_id_at *ids = ARENA_ARRAY(&r->c.arena, struct page_id_at, r->missing_count);

    for (size_t k = 0; k < r->missing_count; k++)
        ids[k] = (struct page_id_at){r->s->pages[r->missing[k]].id, r->missing[k]};
    qsort(ids, r->missing_count, sizeof(*ids), map_compare_ids);
    for (size_t k = 0; k < r->missing_count; k++)
        r->missing[k] = ids[k].at;
}

static int read_missing(struct reading *r)
{
    r->missing = ARENA_ARRAY(&r->c.arena, size_t, r->s->page_count);
    for (size_t i = 0; i < r->s->page_count; i++)
        if (!r->pages[i])
            r->missing[r->missing_count++] = i;
    if (r->missing_count <= READ_ONE_BY_ONE)
        return read_singly(r);
    sort_missing(r);
    return read_by_scan(r);
}

/* ---- the map of a table ---- */

/* A repartition that is under way is one of these partitions. */
static bool pages_fit_repartition(const struct schema *s, const struct partition_map *m)
{
    const struct schema_repartition *change = &s->repartition;
    bytes end;

    if (!change->made_count)
        return true;
    end = partition_end(m, change->first + change->count - 1);
    return bytes_equal(change->made[0].start, partition_at(m, change->first)->start) &&
           (!end.len || bytes_compare(change->made[change->made_count - 1].start, end) < 0);
}

/* The pages that are in memory or on their way into storage. */
static void take_known(struct reading *r, const struct map_source *from, const struct table *old)
{
    for (size_t i = 0; i < r->s->page_count; i++) {
        const struct schema_page *p = &r->s->pages[i];
        struct map_page *known = NULL;

        if (from->made && from->made->pages[i].list) {
            r->pages[i] = map_page_new(p->id, from->made->pages[i].list, p->count);
            continue;
        }
        if (old && old->schema.location.id == r->s->location.id)
            known = partition_map_has(&old->partitions, p->start, p->id);
        r->pages[i] = known ? map_page_ref(known) : NULL;
    }
}

int catalog_map_init(struct ctx *c, struct catalog *cat, const struct map_source *from,
                     const struct schema *s, struct partition_map *out)
{
    struct reading r = {.cat = cat, .s = s, .view = from->view};
    struct table *cached = NULL;
    int code = E_OK;

    if (!s->page_count) {
        struct map_page *whole = map_page_new(0, s->partitions, s->partition_count);

        partition_map_init(out, &whole, 1);
        return E_OK;
    }
    ctx_init(&r.c, &cat->db->clock, &cat->db->log, NULL, 0);
    r.pages = ARENA_ARRAY(&r.c.arena, struct map_page *, s->page_count);
    if (from->read)
        cached = catalog_get(cat, s->instance, s->d.table);
    take_known(&r, from, from->read ? cached : from->old);
    table_release(cached);
    if (from->read)
        code = read_missing(&r);
    for (size_t i = 0; i < s->page_count && !code; i++)
        if (!r.pages[i])
            code = fail_code(&r.c, E_GUARD); /* only when another process was faster */
    if (!code)
        partition_map_init(out, r.pages, s->page_count);
    else
        for (size_t i = 0; i < s->page_count; i++)
            map_page_release(r.pages[i]);
    if (!code && !pages_fit_repartition(s, out)) {
        partition_map_release(out);
        code =
            fail(&r.c, E_CORRUPT,
                 "A stored table description has a repartition that does not fit its partitions.");
    }
    if (code)
        fail(c, code, "%s", r.c.text ? r.c.text : err_info(code)->text);
    ctx_release(&r.c);
    return code;
}

/* ---- another list ---- */

/* Pages [a, b] are listed anew. One that would be small takes a neighbour in. */
static void choose_pages(const struct partition_map *m, size_t left, size_t page_max, size_t *a,
                         size_t *b)
{
    if (left >= page_max / 4)
        return;
    if (*b + 1 < m->page_count && left + m->slots[*b + 1].page->count <= page_max / 4 * 3)
        ++*b;
    else if (*a && left + m->slots[*a - 1].page->count <= page_max / 4 * 3)
        --*a;
}

/* The partitions of pages [a, b] with `made` in place of `count` from `first` on. */
static struct schema_partition *list_anew(struct arena *arena, const struct partition_map *m,
                                          size_t a, size_t b,
                                          const struct schema_repartition *change, size_t *out)
{
    size_t from = m->slots[a].first, to = m->slots[b].first + m->slots[b].page->count;
    struct schema_partition *list =
        ARENA_ARRAY(arena, struct schema_partition, to - from + change->made_count);
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        const struct partition_at *at = partition_at(m, i);

        if (i == change->first)
            for (size_t k = 0; k < change->made_count; k++)
                list[n++] = change->made[k];
        if (i < change->first || i >= change->first + change->count)
            list[n++] =
                (struct schema_partition){at->partition->id, at->start, at->partition->created_us,
                                          atomic_load(&at->partition->bytes)};
    }
    *out = n;
    return list;
}

int catalog_repartition_schema(struct ctx *c, struct catalog *cat, const struct table *now,
                               const struct schema_repartition *change, struct schema *s)
{
    const struct schema *old = &now->schema;
    const struct partition_map *m = &now->partitions;
    size_t a = partition_page(m, change->first),
           b = partition_page(m, change->first + change->count - 1);
    size_t page_max, n, count;
    struct schema_partition *list;
    struct schema_page *pages;

    invariant(change->made_count && change->count && change->first + change->count <= m->count);
    *s = *old;
    s->version++;
    s->repartition = (struct schema_repartition){0};
    s->partition_count = old->partition_count - change->count + change->made_count;
    page_max = catalog_page_max(&cat->db->limits, s->partition_count);
    if (old->page_count)
        choose_pages(m,
                     m->slots[b].first + m->slots[b].page->count - m->slots[a].first -
                         change->count + change->made_count,
                     page_max, &a, &b);
    list = list_anew(&c->arena, m, a, b, change, &n);
    if (!old->page_count) {
        s->partitions = list;
        return schema_splits_init(c, s);
    }
    pages = ARENA_ARRAY(&c->arena, struct schema_page, old->page_count + n / page_max + 1);
    memcpy(pages, old->pages, a * sizeof(*pages));
    count = a + schema_pages_make(list, n, page_max, catalog_page_id, cat, pages + a);
    memcpy(pages + count, old->pages + b + 1, (old->page_count - b - 1) * sizeof(*pages));
    s->pages = pages;
    s->page_count = count + old->page_count - b - 1;
    return E_OK;
}

/* ---- what clients see ---- */

int catalog_describe(struct ctx *c, const struct table *t, struct wr_table_description *out)
{
    struct schema s = t->schema;
    struct schema_partition *list;
    size_t n;

    if (s.page_count) {
        struct schema_repartition none = {.first = SIZE_MAX};

        list = list_anew(&c->arena, &t->partitions, 0, s.page_count - 1, &none, &n);
        s.partitions = list;
        TRY(schema_splits_init(c, &s));
    }
    schema_describe(&c->arena, &s, out);
    return E_OK;
}

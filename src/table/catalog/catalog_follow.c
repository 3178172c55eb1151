/* catalog_follow.c
 *
 * Entries lie in the system partition under kind 9 and a number that no process ever gives out
 * again, so that batches of different processes never write the same key. The numbers come from
 * clocks and tell nothing about the order of changes: a look compares what it finds with what the
 * last look found, and takes every number that is new. It lists first and reads the tables
 * afterwards, so what it reads is at least as new as the entry. */
#include "table/catalog/catalog_follow.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/service.h"
#include "table/catalog/catalog_journal.h"
#include "table/catalog/catalog_own.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_EVERY_US 3000000
#define KEEP_MS 60000
#define SPREAD_MS 2000 /* so much later with each slot: mostly one process alone removes */
#define BLIND_MS 40000 /* after so long without a look entries may have come and gone */
#define REMOVE_MAX 256 /* entries a look */
#define PAGE_ITEMS 1000
#define PAGE_BYTES (1u << 20)

struct known {
    uint64_t number;
    int64_t since_ms; /* monotonic */
};

struct journal {
    struct catalog *cat;
    struct service service;
    struct known *known; /* what the last look found, by number */
    size_t count;
    int64_t looked_ms; /* when the last look that succeeded began; monotonic */
};

/* One look; what it allocates lives in its own context. */
struct look {
    struct ctx c;
    struct journal *j;
    struct known *found;
    size_t count, capacity;
    int64_t now_ms;
    struct batch_builder gone;
};

/* ---- what an entry leads to ---- */

/* Is the cache at least as new as the entry? */
static bool is_cached(struct catalog *cat, const struct journal_entry *entry)
{
    struct table *t = catalog_get(cat, entry->instance, entry->name);
    bool cached;

    if (!entry->version)
        cached = !t || t->schema.id > entry->id;
    else
        cached = t && (t->schema.id > entry->id ||
                       (t->schema.id == entry->id && t->schema.version >= entry->version));
    table_release(t);
    return cached;
}

static int follow(struct look *l, bytes stored)
{
    struct catalog *cat = l->j->cat;
    struct journal_entry entry;

    if (journal_decode(&l->c, stored, &entry)) {
        /* A newer program wrote it. Whatever it tells, all that is stored is read again. */
        ctx_clear(&l->c);
        atomic_fetch_add(&cat->lease.lost, 1);
        return E_OK;
    }
    if (!entry.instance.len)
        return cat->listener->texts_changed(cat->db);
    if (is_cached(cat, &entry))
        return E_OK;
    log_info(&cat->db->log, "catalog: table '%.*s' of '%.*s' was changed by another server",
             BYTES_FMT(entry.name), BYTES_FMT(entry.instance));
    return catalog_reread(&l->c, cat, entry.instance, entry.name);
}

/* ---- a look ---- */

static const struct known *find_known(const struct journal *j, uint64_t number)
{
    size_t low = 0, high = j->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (j->known[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->count && j->known[low].number == number ? &j->known[low] : NULL;
}

static void keep(struct look *l, uint64_t number, int64_t since_ms)
{
    assert(!l->count || l->found[l->count - 1].number < number);
    if (l->count == l->capacity) {
        struct known *more;

        l->capacity = l->capacity ? 2 * l->capacity : 64;
        more = mem_alloc(l->capacity * sizeof(*more));
        if (l->count)
            memcpy(more, l->found, l->count * sizeof(*more));
        mem_free(l->found);
        l->found = more;
    }
    l->found[l->count++] = (struct known){number, since_ms};
}

/* One entry, in the order of their numbers. One that could not be followed is new to the next look,
 * too. */
static int look_entry(struct look *l, const struct kv *kv)
{
    uint64_t number = load_u64_be(bytes_u8(kv->key) + KEY_PREFIX_BYTES);
    const struct known *known = find_known(l->j, number);
    int64_t keep_ms = KEEP_MS + (int64_t)(l->j->cat->db->slot % 16) * SPREAD_MS;
    int code = known ? E_OK : follow(l, kv->value);

    if (code)
        return code;
    if (known && l->now_ms - known->since_ms > keep_ms && l->gone.count < REMOVE_MAX)
        batch_add(&l->gone, EDIT_DELETE, kv->key, BYTES_NONE);
    keep(l, number, known ? known->since_ms : l->now_ms);
    return E_OK;
}

/* The first error, behind which the walk goes on. */
static int look_list(struct look *l, bool *listed)
{
    struct engine *e = l->j->cat->db->engine;
    struct key_range range = {journal_key(&l->c.arena, 0), journal_key(&l->c.arena, UINT64_MAX)};
    struct page page = {.more = true};
    int first = E_OK;

    *listed = false;
    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_DURABLE,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = PAGE_ITEMS,
                            .bytes_max = PAGE_BYTES,
                            .pages = &page};

        TRY(wait_scan(&l->c, e, &scan));
        for (size_t i = 0; i < page.count; i++) {
            int code = page.items[i].key.len == KEY_PREFIX_BYTES + 8 ? look_entry(l, &page.items[i])
                                                                     : E_OK;

            first = first ? first : code;
        }
        if (!page.count)
            break;
        range.start = key_after(&l->c.arena, page.items[page.count - 1].key);
    }
    *listed = true;
    return first;
}

/* What was found is what is known now. */
static void look_end(struct look *l)
{
    struct journal *j = l->j;

    mem_free(j->known);
    j->known = l->found;
    j->count = l->count;
    l->found = NULL;
    /* Entries that nobody has followed may be gone by now. */
    if (j->looked_ms && l->now_ms - j->looked_ms > BLIND_MS)
        atomic_fetch_add(&j->cat->lease.lost, 1);
    j->looked_ms = l->now_ms;
}

static void look(struct journal *j)
{
    struct wr_db *db = j->cat->db;
    struct look l = {.j = j, .now_ms = clock_mono_ms(&db->clock)};
    bool listed;
    int code;

    ctx_init(&l.c, &db->clock, &db->log, NULL, 0);
    l.gone.arena = &l.c.arena;
    code = look_list(&l, &listed);
    if (listed)
        look_end(&l);
    if (!code && l.gone.count) {
        struct write_batch batch = {
            .partition = PARTITION_SYSTEM, .edits = l.gone.items, .edit_count = l.gone.count};

        code = wait_apply(&l.c, db->engine, &batch);
    }
    if (code)
        log_debug(&db->log, "catalog: the journal of changes: %s",
                  l.c.text ? l.c.text : err_info(code)->text);
    mem_free(l.found);
    ctx_release(&l.c);
}

/* ---- the thread ---- */

/* So that a lease that ran out tells that the process did not run. */
static void renew(struct journal *j)
{
    struct ctx c;

    ctx_init(&c, &j->cat->db->clock, &j->cat->db->log, NULL, 0);
    (void)catalog_check(&c, j->cat);
    ctx_release(&c);
}

static void *journal_main(void *arg)
{
    struct journal *j = arg;

    do {
        renew(j);
        if (!fault_hit(FAULT_catalog_deaf))
            look(j);
    } while (service_sleep(&j->service, LOOK_EVERY_US));
    return NULL;
}

struct journal *journal_start(struct catalog *cat)
{
    struct journal *j = mem_zalloc(sizeof(*j));

    j->cat = cat;
    if (service_start(&j->service, "wr-journal", journal_main, j))
        return j;
    mem_free(j);
    return NULL;
}

void journal_stop(struct journal *j)
{
    if (!j)
        return;
    service_stop(&j->service);
    mem_free(j->known);
    mem_free(j);
}

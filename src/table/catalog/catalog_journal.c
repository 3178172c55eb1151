/* catalog_journal.c
 *
 * Entries lie in the system partition under kind 9 and a number that no process ever gives out
 * again, so that batches of different processes never write the same key. The numbers come from
 * clocks and tell nothing about the order of changes: a look compares what it finds with what the
 * last look found, and takes every number that is new. It lists first and reads the tables
 * afterwards, so what it reads is at least as new as the entry. */
#include "table/catalog/catalog_journal.h"

#include "base/service.h"
#include "table/catalog/catalog_own.h"
#include "table/catalog/text.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <inttypes.h>
#include <stdlib.h>

#define FORM 1
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
    struct edits gone;
};

/* ---- entries ---- */

static bytes journal_key(struct arena *a, uint64_t number)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + 8);
    buf_put_bytes(&b, catalog_plain_key(a, CATALOG_JOURNAL));
    store_u64_be(buf_reserve(&b, 8), number);
    buf_commit(&b, 8);
    return buf_bytes(&b);
}

bytes journal_encode(struct arena *a, const struct journal_entry *entry)
{
    struct buf b;

    buf_init(&b, a, 32 + entry->instance.len + entry->name.len);
    buf_put_u8(&b, FORM);
    buf_put_varint(&b, entry->id);
    buf_put_varint(&b, entry->version);
    buf_put_counted(&b, entry->instance);
    buf_put_bytes(&b, entry->name);
    return buf_bytes(&b);
}

int journal_decode(struct ctx *c, bytes stored, struct journal_entry *out)
{
    struct reader r = reader_of(stored);
    unsigned form = read_u8(&r);

    if (!r.bad && form != FORM)
        return fail(c, E_FORMAT, "A journal entry is of version %u; this program reads %d.", form,
                    FORM);
    out->id = (uint32_t)read_varint(&r);
    out->version = read_varint(&r);
    out->instance = read_counted(&r);
    out->name = read_bytes(&r, reader_left(&r));
    return r.bad ? fail(c, E_CORRUPT, "A journal entry is damaged.") : E_OK;
}

void journal_add(struct wr_db *db, struct edits *e, const struct journal_entry *entry)
{
    if (db_is_shared(db))
        edits_add(e, EDIT_PUT, journal_key(e->arena, catalog_next_number(db->catalog)),
                  journal_encode(e->arena, entry));
}

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
        atomic_fetch_add(&cat->touch.lost, 1);
        return E_OK;
    }
    if (!entry.instance.len)
        return texts_changed(cat->db->texts);
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
        edits_add(&l->gone, EDIT_DELETE, kv->key, BYTES_NONE);
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
        atomic_fetch_add(&j->cat->touch.lost, 1);
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

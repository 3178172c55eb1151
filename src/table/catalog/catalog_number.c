/* catalog_number.c: numbers that are given out once.
 *
 * Before a number is given out it was reserved: the stored lease says that every number below it
 * may have been, and whoever opens the data begins at the lease of those before. So no clock and
 * no crash makes a number come again.
 *
 * Where several processes share the data, each has a slot, and its numbers are
 *     2^62 + microseconds * SLOTS + slot
 * A slot has a lease of its own, which its holder moves on by batches that guard it. An opening
 * takes the slot whose lease ended longest ago, so what lives is left alone, as it keeps its lease
 * ahead of the clock. If a slot is taken all the same (all are held, or the holder was paused for
 * an hour), both go on: each reserves behind what the other has reserved, and the ranges of one
 * slot never meet. A holder that cannot reserve serves nothing before its numbers come to an end
 * (numbers_short).
 *
 * Builds before leases of slots gave numbers below 2^62, by slots that came round after SLOTS
 * openings. Data that one of this kind has opened they refuse (doc/format.md). */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "table/model/key.h"
#include "table/sync/wait.h"

#include <stdlib.h>
#include <unistd.h>

#define SLOTS 1024
#define SLOT_NUMBERS ((uint64_t)1 << 62)
#define START_WAIT_MS 30000
#define FIRST_US (300ll * 1000000) /* of a slot that may be left again at once */
#define RESERVE_US (60ll * 1000000)
#define REACH_US 2000000ull /* clocks further apart are not followed */

enum { SLOT_VERSION = 1, SLOT_BYTES = 9 };

#define LEASE_US (3600ull * 1000000)
#define LEASE_SHORT_US 2000000ull /* of test builds, when a test asks for it */

static uint64_t now_us(struct catalog *cat)
{
    return (uint64_t)clock_wall_us(&cat->db->clock);
}

/* The thread that moves on to another range sets the number before the lease. Otherwise nothing
 * was reserved for an hour, requests were refused for long, and one that was under way all the time
 * used up a million numbers. */
static void used_up(struct catalog *cat, uint64_t number)
{
    for (int i = 0; i < 1000; i++) {
        usleep(1000);
        if (number < atomic_load(&cat->numbers_until))
            return;
    }
    log_error(&cat->db->log, "catalog: the numbers of this process are used up, and no others "
                             "could be reserved; it ends before one comes twice");
    abort();
}

void catalog_rising(struct catalog *cat, struct rising *out)
{
    uint64_t most = now_us(cat) + REACH_US, until = atomic_load(&cat->numbers_until);

    if (most > until - cat->reserve_us) /* catalog_next_number() does not go there either */
        most = until - cat->reserve_us;
    *out = (struct rising){.reach = SLOT_NUMBERS + (most - 1) * SLOTS, .met = &cat->number_met};
}

/* Other servers' numbers were ahead of the clock: ours follow them from then on. */
static uint64_t now_or_met_us(struct catalog *cat)
{
    uint64_t now = now_us(cat), met = atomic_load_explicit(&cat->number_met, memory_order_relaxed);
    uint64_t ahead = atomic_load_explicit(&cat->number_ahead_us, memory_order_relaxed);

    met = met ? (met - SLOT_NUMBERS) / SLOTS : 0;
    if (PORT_LIKELY(met < now + ahead))
        return now + ahead;
    while (ahead < met + 1 - now &&
           !atomic_compare_exchange_weak(&cat->number_ahead_us, &ahead, met + 1 - now))
        ;
    return met + 1;
}

/* A wall clock that jumps ahead, or a process that cannot reserve, takes the numbers with it only
 * as far as this side of the lease; then they come one by one. */
uint64_t catalog_next_number(struct catalog *cat)
{
    bool shared = db_is_shared(cat->db);
    uint64_t last = atomic_load_explicit(&cat->number, memory_order_relaxed),
             now = now_or_met_us(cat);
    uint64_t lease = atomic_load_explicit(&cat->numbers_until, memory_order_relaxed), next;

    if (PORT_UNLIKELY(now > lease - cat->reserve_us))
        now = 0;
    do
        next = last + 1 > now ? last + 1 : now;
    while (!atomic_compare_exchange_weak(&cat->number, &last, next));
    if (!shared)
        return next;
    if (PORT_UNLIKELY(next >= atomic_load(&cat->numbers_until)))
        used_up(cat, next);
    return SLOT_NUMBERS + next * SLOTS + cat->db->slot;
}

int catalog_numbers_check(struct ctx *c, struct catalog *cat)
{
    uint64_t lease = atomic_load_explicit(&cat->numbers_until, memory_order_relaxed);

    if (PORT_LIKELY(atomic_load_explicit(&cat->number, memory_order_relaxed) <
                    lease - cat->reserve_us / 2))
        return E_OK;
    return fail(c, E_UNAVAILABLE, "This server could not reserve numbers for new rows for long.");
}

/* ---- where one process alone has the data open ---- */

static int lease_store(struct ctx *c, struct catalog *cat, uint64_t until)
{
    struct edit edit = {EDIT_PUT, catalog_plain_key(&c->arena, CATALOG_LEASE),
                        catalog_number_value(&c->arena, until)};
    struct write_batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    int code = wait_apply(c, cat->db->engine, &batch);

    if (code)
        return fail(c, code, "The lease of row stamps could not be stored: %s",
                    err_info(code)->text);
    atomic_store(&cat->numbers_until, until);
    return E_OK;
}

/* At the start. Storage that has files to merge first, after many crashes say, is waited for: an
 * engine takes its time before it says E_BUSY. */
static int lease_first(struct ctx *c, struct catalog *cat)
{
    int64_t until_ms = clock_mono_ms(&cat->db->clock) + START_WAIT_MS;
    int code;

    while ((code = lease_store(c, cat, atomic_load(&cat->number) + cat->numbers_us)) == E_BUSY &&
           clock_mono_ms(&cat->db->clock) < until_ms)
        ctx_clear(c);
    return code;
}

/* ---- slots ---- */

static bytes slot_key(struct arena *a, uint64_t slot)
{
    bytes plain = catalog_plain_key(a, CATALOG_SLOT);
    uint8_t *p = arena_alloc(a, plain.len + 2);

    invariant(slot <= SLOTS);
    memcpy(p, plain.ptr, plain.len);
    p[plain.len] = (uint8_t)(slot >> 8);
    p[plain.len + 1] = (uint8_t)slot;
    return bytes_of(p, plain.len + 2);
}

static bytes slot_value(struct arena *a, uint64_t until)
{
    struct buf b;

    buf_init(&b, a, SLOT_BYTES);
    buf_put_u8(&b, SLOT_VERSION);
    buf_put_u64(&b, until);
    return buf_bytes(&b);
}

static int number_slot_decode(struct ctx *c, bytes value, uint64_t *until)
{
    if (value.len && bytes_u8(value)[0] != SLOT_VERSION)
        return fail(c, E_FORMAT, "slot of format %u; this version of Widerow reads format %d",
                    bytes_u8(value)[0], SLOT_VERSION);
    if (value.len != SLOT_BYTES)
        return fail(c, E_CORRUPT, "The lease of a slot is damaged.");
    *until = load_u64(bytes_u8(value) + 1);
    return E_OK;
}

/* The lease of each slot; 0: nobody ever had it. */
static int slots_load(struct ctx *c, struct catalog *cat, uint64_t until[SLOTS])
{
    struct key_range range = {slot_key(&c->arena, 0), slot_key(&c->arena, SLOTS)};
    struct page page = {.more = true};

    memset(until, 0, SLOTS * sizeof(*until));
    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_LATEST,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = SLOTS,
                            .bytes_max = 1 << 20,
                            .pages = &page};

        TRY(wait_scan(c, cat->db->engine, &scan));
        for (size_t i = 0; i < page.count; i++) {
            const uint8_t *end = bytes_u8(page.items[i].key) + page.items[i].key.len;
            size_t slot = (size_t)end[-2] << 8 | end[-1];

            if (slot < SLOTS)
                TRY(number_slot_decode(c, page.items[i].value, &until[slot]));
        }
        if (!page.count)
            break;
        range.start = key_after(&c->arena, page.items[page.count - 1].key);
    }
    return E_OK;
}

/* Reserves, in our slot, what follows `stored` (0: nothing is) up to `until`. E_GUARD: somebody was
 * faster. */
static int slot_reserve(struct ctx *c, struct catalog *cat, uint64_t stored, uint64_t until)
{
    struct edit edit = {EDIT_PUT, slot_key(&c->arena, cat->db->slot), slot_value(&c->arena, until)};
    struct guard guard = {edit.key, slot_value(&c->arena, stored), !stored};
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = &guard,
                                .guard_count = 1,
                                .edits = &edit,
                                .edit_count = 1};

    return wait_apply(c, cat->db->engine, &batch);
}

/* From here on ours: the numbers first, so that none is given out between the two ranges. */
static void slot_begin(struct catalog *cat, uint64_t from, uint64_t until)
{
    uint64_t last = atomic_load(&cat->number);

    invariant(from <= until);
    while (last < from && !atomic_compare_exchange_weak(&cat->number, &last, from))
        ;
    atomic_store(&cat->numbers_until, until);
}

/* The slot that was left alone for the longest time. */
static int slot_take(struct ctx *c, struct catalog *cat)
{
    uint64_t *until = ARENA_ARRAY(&c->arena, uint64_t, SLOTS), from, to;
    int code = E_GUARD;

    for (int i = 0; code == E_GUARD && i < CATALOG_TRIES_MAX; i++) {
        TRY(slots_load(c, cat, until));
        cat->db->slot = 0;
        for (uint64_t slot = 1; slot < SLOTS; slot++)
            if (until[slot] < until[cat->db->slot])
                cat->db->slot = slot;
        from = until[cat->db->slot] > now_us(cat) ? until[cat->db->slot] : now_us(cat);
        to = from + (cat->numbers_us < FIRST_US ? cat->numbers_us : FIRST_US);
        code = slot_reserve(c, cat, until[cat->db->slot], to);
        if (!code)
            slot_begin(cat, from, to);
    }
    return code ? fail(c, code, "No number among the processes that share the data was to be had.")
                : E_OK;
}

/* Moves our lease on. What was reserved stays ours, whoever has the slot by now. */
static int slot_renew(struct ctx *c, struct catalog *cat, uint64_t number)
{
    struct get get = {.partition = PARTITION_SYSTEM,
                      .key = slot_key(&c->arena, cat->db->slot),
                      .view = VIEW_LATEST};
    uint64_t from = 0, stored = 0, to;

    TRY(wait_get(c, cat->db->engine, &get));
    if (get.found)
        TRY(number_slot_decode(c, get.value, &stored));
    if (stored != atomic_load(&cat->numbers_until)) { /* an earlier change of ours whose answer was
                                                         lost, or another holder */
        log_warn(&cat->db->log,
                 "catalog: slot %llu was moved on by another server, or by this one "
                 "unseen; numbers go on behind it",
                 (unsigned long long)cat->db->slot);
        from = stored > number ? stored : number;
    }
    to = (from > number ? from : number) + cat->numbers_us;
    invariant(to >= stored);
    TRY(slot_reserve(c, cat, stored, to));
    if (stored == atomic_load(&cat->numbers_until))
        atomic_store(&cat->numbers_until, to);
    else
        slot_begin(cat, from, to);
    return E_OK;
}

/* ---- for the catalog ---- */

int catalog_numbers_open(struct ctx *c, struct catalog *cat)
{
    uint64_t lease, now = now_us(cat);

    cat->numbers_us = fault_hit(FAULT_number_lease_short) ? LEASE_SHORT_US : LEASE_US;
    cat->reserve_us = cat->numbers_us / 4 < RESERVE_US ? cat->numbers_us / 4 : RESERVE_US;
    if (db_is_shared(cat->db))
        return slot_take(c, cat);
    TRY(catalog_load_number(c, cat->db->engine, CATALOG_LEASE, &lease));
    atomic_store(&cat->number, lease > now ? lease : now);
    return lease_first(c, cat);
}

void catalog_numbers_close(struct catalog *cat)
{
    struct ctx c;

    if (db_is_shared(cat->db)) /* the rest of the lease is not worth a wait */
        return;
    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    lease_store(&c, cat, atomic_load(&cat->number) + 1);
    ctx_release(&c);
}

void catalog_numbers_sweep(struct ctx *c, struct catalog *cat)
{
    uint64_t number = atomic_load(&cat->number), now = (uint64_t)clock_watch_ms(cat->db) * 1000;
    int code;

    number = number > now ? number : now;
    if (atomic_load(&cat->numbers_until) >= number + cat->numbers_us / 2)
        return;
    code = db_is_shared(cat->db) ? slot_renew(c, cat, number)
                                 : lease_store(c, cat, number + cat->numbers_us);
    if (code)
        log_warn(&cat->db->log, "catalog: numbers could not be reserved yet: %s",
                 c->text ? c->text : err_info(code)->text);
    ctx_clear(c);
}

#include "table/maint/scrub.h"

#include "base/service.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"

#define FIRST_PASS_S 60 /* a server that has just started has better things to do */
#define STEP_BYTES_MIN ((int64_t)64 << 10)
#define STEP_BYTES_MAX ((int64_t)1 << 20)
#define RETRY_S 60         /* after a pass that could not go on */
#define KEY_BYTES_SHOWN 24 /* of the keys around damage */

struct scrubber {
    struct wr_db *db;
    struct service service;
    _Atomic uint64_t bytes, errors, passes;
    _Atomic int64_t last_s;
};

/* "table 'orders' (00000001 00 01 41…)", for people who look for what is affected. */
static bytes key_text(struct ctx *c, struct wr_db *db, bytes key)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = key.len < KEY_BYTES_SHOWN ? key.len : KEY_BYTES_SHOWN;
    struct table **tables;
    size_t table_count;
    struct buf b;

    if (!key.len)
        return BYTES_LIT("the end");
    buf_init(&b, &c->arena, 2 * n + 64);
    for (size_t i = 0; i < n; i++) {
        buf_put_u8(&b, (uint8_t)hex[bytes_u8(key)[i] >> 4]);
        buf_put_u8(&b, (uint8_t)hex[bytes_u8(key)[i] & 15]);
    }
    if (n < key.len)
        buf_put_bytes(&b, BYTES_LIT("..."));
    if (key.len < KEY_PREFIX_BYTES)
        return buf_bytes(&b);
    if (load_u32_be(key.ptr) == 0)
        buf_put_bytes(&b, BYTES_LIT(" (the catalog)"));
    table_count = catalog_all(db->catalog, &c->arena, &tables);
    for (size_t i = 0; i < table_count; i++) {
        if (tables[i]->schema.place.id == load_u32_be(key.ptr))
            buf_put_bytes(&b, arena_printf(&c->arena, " (table '%.*s' of '%.*s')",
                                           BYTES_FMT(tables[i]->schema.d.table),
                                           BYTES_FMT(tables[i]->schema.instance)));
        table_release(tables[i]);
    }
    return buf_bytes(&b);
}

static void report(struct scrubber *s, struct ctx *c, const struct scrub *step)
{
    bytes from = key_text(c, s->db, step->range.start), to = key_text(c, s->db, step->range.end);

    log_error(&s->db->log,
              "scrub: damaged: %s; it holds keys from %.*s to %.*s. Rows there may be unreadable: "
              "restore a backup",
              step->damage, BYTES_FMT(from), BYTES_FMT(to));
}

/* One step, and the pause that keeps to the pace: besides the bytes, no more than half of the time
 * is spent working. *ended: the pass has come to its end or can go no further. */
static bool step(struct scrubber *s, int64_t rate, bool *ended)
{
    struct wr_db *db = s->db;
    int64_t size = rate / 10, start_us = clock_mono_us(&db->clock), took_us, pause_us;
    struct scrub scrub = {0};
    struct ctx c;
    int code;

    size = size < STEP_BYTES_MIN ? STEP_BYTES_MIN : size > STEP_BYTES_MAX ? STEP_BYTES_MAX : size;
    scrub.bytes_max = (uint64_t)size;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    code = engine_scrub(&c, db->engine, &scrub);
    atomic_fetch_add(&s->bytes, scrub.bytes);
    if (scrub.damage) {
        atomic_fetch_add(&s->errors, 1);
        report(s, &c, &scrub);
    }
    if (code == E_CORRUPT) {
        /* A compaction came upon it while the pass was prepared. */
        atomic_fetch_add(&s->errors, 1);
        log_error(&db->log, "scrub: damaged: %s; restore a backup",
                  c.text ? c.text : err_info(code)->text);
    } else if (code) {
        log_warn(&db->log, "scrub: put off: %s", c.text ? c.text : err_info(code)->text);
    }
    ctx_release(&c);
    *ended = code || scrub.ended;
    if (!code && scrub.ended) {
        atomic_fetch_add(&s->passes, 1);
        atomic_store(&s->last_s, clock_wall_ms(&db->clock) / 1000);
    }
    took_us = clock_mono_us(&db->clock) - start_us;
    pause_us = (int64_t)((double)scrub.bytes * 1e6 / (double)rate) - took_us;
    if (pause_us < took_us)
        pause_us = took_us;
    if (code && pause_us < RETRY_S * (int64_t)1000000)
        pause_us = RETRY_S * (int64_t)1000000;
    return service_sleep(&s->service, pause_us);
}

static void *scrubber_main(void *arg)
{
    struct scrubber *s = arg;
    struct wr_db *db = s->db;
    int64_t rate = db->limits.scrub_bytes_per_s_max, every_s = db->limits.scrub_pass_s_min;
    bool goes_on =
        service_sleep(&s->service, (every_s < FIRST_PASS_S ? every_s : FIRST_PASS_S) * 1000000);

    while (goes_on) {
        int64_t start_us = clock_mono_us(&db->clock), left_us;
        bool ended = false;

        while (goes_on && !ended)
            goes_on = step(s, rate, &ended);
        left_us = start_us + every_s * 1000000 - clock_mono_us(&db->clock);
        if (goes_on && left_us > 0)
            goes_on = service_sleep(&s->service, left_us);
    }
    return NULL;
}

struct scrubber *scrubber_start(struct wr_db *db)
{
    struct scrubber *s;

    if (!db->limits.scrub_bytes_per_s_max || !engine_has_files(db->engine))
        return NULL;
    s = mem_zalloc(sizeof(*s));
    s->db = db;
    if (service_start(&s->service, "wr-scrubber", scrubber_main, s))
        return s;
    log_error(&db->log, "scrub: the system gives no thread: stored blocks are not verified");
    mem_free(s);
    return NULL;
}

void scrubber_stop(struct scrubber *s)
{
    if (!s)
        return;
    service_stop(&s->service);
    mem_free(s);
}

void scrubber_stat(struct scrubber *s, struct wr_status *out)
{
    if (!s)
        return;
    out->scrub_bytes = atomic_load(&s->bytes);
    out->scrub_errors = atomic_load(&s->errors);
    out->scrub_passes = atomic_load(&s->passes);
    out->scrub_last_s = atomic_load(&s->last_s);
}

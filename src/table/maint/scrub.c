#include "table/maint/scrub.h"

#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"

#include <stdio.h>

#define FIRST_PASS_S 60 /* a server that has just started has better things to do */
#define STEP_BYTES_MIN ((int64_t)64 << 10)
#define STEP_BYTES_MAX ((int64_t)1 << 20)
#define KEY_BYTES_SHOWN 24 /* of the keys around damage */

struct scrubber {
    struct wr_db *db;
    struct task *task;
    int64_t start_us; /* of the pass under way; 0: none is */
    int64_t next_us;  /* when the next one begins; INT64_MAX: never, there are none */
    _Atomic uint64_t bytes, errors, passes;
    _Atomic int64_t last_s;
};

/* "table 'orders' (00000001 00 01 41…)", for people who look for what is affected. */
static bytes scrub_key_text(struct ctx *c, struct wr_db *db, bytes key)
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
        if (tables[i]->schema.location.id == load_u32_be(key.ptr))
            buf_put_bytes(&b, arena_printf(&c->arena, " (table '%.*s' of '%.*s')",
                                           BYTES_FMT(tables[i]->schema.d.table),
                                           BYTES_FMT(tables[i]->schema.instance)));
        table_release(tables[i]);
    }
    return buf_bytes(&b);
}

static void report(struct scrubber *s, struct ctx *c, const struct scrub *step)
{
    bytes from = scrub_key_text(c, s->db, step->range.start),
          to = scrub_key_text(c, s->db, step->range.end);

    log_error(&s->db->log,
              "scrub: damaged: %s; what lies there has keys from %.*s to %.*s. Rows there may be "
              "unreadable: restore a backup, or erase them",
              step->damage, BYTES_FMT(from), BYTES_FMT(to));
}

/* Bytes of a step: so many that a second has some ten. */
static uint64_t step_bytes(int64_t rate)
{
    int64_t size = rate / 10;

    return (uint64_t)(size < STEP_BYTES_MIN   ? STEP_BYTES_MIN
                      : size > STEP_BYTES_MAX ? STEP_BYTES_MAX
                                              : size);
}

/* The engine wakes the task when it has come upon damage otherwise (engine_watch_damage()). */
static int64_t until_next(const struct scrubber *s)
{
    int64_t left_us;

    if (s->next_us == INT64_MAX)
        return TASK_NEVER;
    left_us = s->next_us - clock_mono_us(&s->db->clock);
    return left_us < 0 ? 0 : left_us;
}

static void pass_ended(struct scrubber *s, struct task_step *step)
{
    invariant(s->start_us);
    atomic_fetch_add(&s->passes, 1);
    atomic_store(&s->last_s, clock_wall_ms(&s->db->clock) / 1000);
    s->next_us = s->start_us + s->db->limits.scrub_pass_s_min * 1000000;
    s->start_us = 0;
    step->next_us = until_next(s);
}

/* The pace of its own, within the one that is shared. */
static int scrub_step(void *arg, struct task_step *step)
{
    struct scrubber *s = arg;
    struct wr_db *db = s->db;
    int64_t rate = db->limits.scrub_bytes_per_s_max, start_us = clock_mono_us(&db->clock);
    struct scrub scrub = {0};
    struct ctx c;
    int code;

    if (!s->start_us && start_us >= s->next_us)
        s->start_us = start_us;
    if (s->start_us)
        scrub.bytes_max = step_bytes(rate);
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    code = engine_scrub(&c, db->engine, &scrub);
    atomic_fetch_add(&s->bytes, scrub.bytes);
    if (scrub.damage) {
        atomic_fetch_add(&s->errors, 1);
        report(s, &c, &scrub);
        db->damaged(db, &scrub.range);
    }
    if (code == E_CORRUPT) {
        /* A compaction came upon it while the pass was prepared. */
        atomic_fetch_add(&s->errors, 1);
        log_error(&db->log, "scrub: damaged: %s; restore a backup",
                  c.text ? c.text : err_info(code)->text);
    } else if (code) {
        log_warn(&db->log, "scrub: put off: %s", c.text ? c.text : err_info(code)->text);
    }
    if (code) {
        snprintf(step->text, sizeof(step->text), "%s", c.text ? c.text : err_info(code)->text);
        s->start_us = 0;
    }
    ctx_release(&c);
    step->bytes = scrub.bytes;
    if (!scrub.bytes_max) {
        step->more = !code && scrub.damage; /* of another file, perhaps */
        step->next_us = step->more ? 0 : until_next(s);
        return code;
    }
    step->more = !code && !scrub.ended;
    if (step->more)
        step->next_us = (int64_t)((double)scrub.bytes * 1e6 / (double)rate) -
                        (clock_mono_us(&db->clock) - start_us);
    else if (!code)
        pass_ended(s, step);
    if (step->next_us < 0)
        step->next_us = 0;
    return code;
}

static void bell(void *arg)
{
    struct scrubber *s = arg;

    task_wake(s->task);
}

struct scrubber *scrubber_start(struct wr_db *db)
{
    int64_t every_s = db->limits.scrub_pass_s_min;
    struct task_spec spec = {
        .name = "scrub", .thread = TASK_SHORT, .priority = PRIORITY_SCRUB, .run = scrub_step};
    struct scrubber *s;

    if (!engine_has_files(db->engine))
        return NULL;
    s = mem_zalloc(sizeof(*s));
    s->db = db;
    s->next_us = INT64_MAX;
    if (db->limits.scrub_bytes_per_s_max)
        s->next_us =
            clock_mono_us(&db->clock) + (every_s < FIRST_PASS_S ? every_s : FIRST_PASS_S) * 1000000;
    spec.arg = s;
    spec.first_us = until_next(s);
    s->task = scheduler_add(db->background, &spec);
    if (s->task) {
        engine_watch_damage(db->engine, bell, s);
        return s;
    }
    log_error(&db->log, "scrub: the system gives no thread: stored blocks are not verified");
    mem_free(s);
    return NULL;
}

void scrubber_free(struct scrubber *s)
{
    if (s)
        engine_watch_damage(s->db->engine, NULL, NULL);
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

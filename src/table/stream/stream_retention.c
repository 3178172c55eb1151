#include "table/stream/stream_retention.h"

#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/stream/stream_log.h"
#include "table/stream/stream_record.h"

#include <stdio.h>

#define HOUR_US 3600000000LL
#define LOOK_US 60000000LL              /* between two looks at all streams */
#define SMALL_BYTES ((uint64_t)4 << 20) /* of a shard from which all that has expired is taken */
#define LEFT_SHARE 4                    /* of what others keep so much of it may stay: 1 in 4 */

/* What was removed of a stream since the start: of each shard all below that number. */
struct trimmed {
    uint32_t location;
    bool seen; /* in the present look */
    uint64_t number[SCHEMA_SHARDS_MAX];
};

struct stream_retention {
    struct wr_db *db;
    struct trimmed *list;
    size_t count, room;
};

/* The time so many hours before now_ms, as a number. */
static uint64_t number_before(int64_t now_ms, int32_t hours)
{
    int64_t us = now_ms * 1000 - hours * HOUR_US;

    return us > 0 ? (uint64_t)us : 0;
}

uint64_t stream_oldest(struct wr_db *db, const struct schema *s)
{
    return number_before(clock_watch_ms(db), s->d.stream.expiration_h);
}

uint64_t stream_refreshed(struct wr_db *db, const struct schema *s, uint64_t number)
{
    int64_t now_us = clock_watch_ms(db) * 1000, kept_us = s->d.stream.expiration_h * HOUR_US;

    if (number == STREAM_FROM_OLDEST || number > (uint64_t)now_us ||
        now_us - (int64_t)number < kept_us / 2)
        return number;
    return (uint64_t)(now_us - kept_us / 4);
}

/* ---- the task ---- */

static struct trimmed *trimmed_of(struct stream_retention *r, uint32_t location)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].location == location)
            return &r->list[i];
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 8;
        r->list = mem_realloc(r->list, r->room * sizeof(*r->list));
    }
    r->list[r->count] = (struct trimmed){.location = location};
    return &r->list[r->count++];
}

/* Streams that are no more. */
static void forget_unseen(struct stream_retention *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].seen)
            r->list[n++] = r->list[i];
    r->count = n;
}

/* Whole files go. What is left in files with others stays, unseen, until it is a good part of what
 * is kept: taking it out rewrites whatever lies about it, which must not be done every hour. */
static int trim_shard(struct ctx *c, struct wr_db *db, uint32_t location, uint16_t shard,
                      uint64_t to)
{
    struct key_range old = {stream_record_key(&c->arena, location, shard, 0),
                            stream_record_key(&c->arena, location, shard, to)};
    struct key_range new = {old.end, stream_record_key(&c->arena, location, shard, UINT64_MAX)};
    struct partition_spec expired = {.id = location, .ranges = &old, .range_count = 1};
    struct partition_spec rest = {.id = location, .ranges = &new, .range_count = 1};
    uint64_t left, kept;

    TRY(engine_discard(c, db->engine, &expired, &left));
    TRY(engine_size(c, db->engine, &rest, &kept));
    return left + kept > SMALL_BYTES && left <= kept / LEFT_SHARE
               ? E_OK
               : engine_erase(c, db->engine, &expired);
}

/* The same where the shard's log is partitions of its own. Another server may be at it. */
static int trim_log(struct ctx *c, struct wr_db *db, uint32_t location, uint16_t shard, uint64_t to)
{
    struct stream_log log = {.engine = db->engine, .location = location, .shard = shard};
    int code = stream_log_trim(c, &log, to);

    if (code == E_GUARD)
        ctx_clear(c);
    return code == E_GUARD ? E_OK : code;
}

/* One shard of the table's stream that has a full hour to remove. *done: there was one. */
static int trim_table(struct stream_retention *r, struct ctx *c, const struct table *t, bool *done)
{
    const struct schema *s = &t->schema;
    int64_t now_ms = clock_watch_removal_ms(r->db);
    uint64_t oldest = number_before(now_ms, s->d.stream.expiration_h);
    struct trimmed *trimmed = trimmed_of(r, s->stream.location);

    trimmed->seen = true;
    oldest -= oldest % HOUR_US;
    for (uint16_t shard = 0; shard < s->stream.shards && !*done; shard++) {
        if (trimmed->number[shard] >= oldest)
            continue;
        *done = true;
        if (s->stream_beside)
            TRY(trim_log(c, r->db, s->stream.location, shard, oldest));
        else
            TRY(trim_shard(c, r->db, s->stream.location, shard, oldest));
        trimmed->number[shard] = oldest;
    }
    return E_OK;
}

int stream_retention_some(struct stream_retention *r, bool *more)
{
    struct table **tables;
    struct ctx c;
    size_t n;
    int code = E_OK;

    *more = false;
    for (size_t i = 0; i < r->count; i++)
        r->list[i].seen = false;
    ctx_init(&c, &r->db->clock, &r->db->log, NULL, 0);
    n = catalog_all(r->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        if (tables[i]->schema.stream.location && !code && !*more)
            code = trim_table(r, &c, tables[i], more);
        table_release(tables[i]);
    }
    if (!code && !*more)
        forget_unseen(r); /* all were looked at */
    if (code)
        log_warn(&r->db->log, "stream: old records could not be removed yet: %s",
                 c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

static int retention_step(void *arg, struct task_step *step)
{
    int code = stream_retention_some(arg, &step->more);

    step->next_us = LOOK_US;
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", err_info(code)->text);
    return code;
}

struct stream_retention *stream_retention_start(struct wr_db *db)
{
    struct stream_retention *r = mem_zalloc(sizeof(*r));
    struct task_spec spec = {.name = "stream",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_SWEEP,
                             .run = retention_step,
                             .arg = r,
                             .first_us = LOOK_US};

    r->db = db;
    if (scheduler_add(db->background, &spec))
        return r;
    mem_free(r);
    return NULL;
}

void stream_retention_free(struct stream_retention *r)
{
    if (!r)
        return;
    mem_free(r->list);
    mem_free(r);
}

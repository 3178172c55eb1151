/* engine.c: the wrappers every call to an engine goes through. They hold the caller to the contract
 * of engine.h by assertions, so that each engine need not. */
#include "engine/engine.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "engine/backends.h"

#include <string.h>

static const struct engine_ops *const engines[] = {&engine_mem, &engine_rocks, &engine_rados};

static int engine_find(struct ctx *c, const char *name, const struct engine_ops **out)
{
    struct buf known;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        if (engines[i] && strcmp(engines[i]->name, name) == 0) {
            *out = engines[i];
            return E_OK;
        }
    }
    if (strcmp(name, ENGINE_MAYBE) == 0)
        return fail(c, E_PARAMETER,
                    "The engine '%s' is not in this program: use the server, with the package "
                    "widerow-%s installed, or lib%s-dev before it is built from source.",
                    name, name, name);
    buf_init(&known, &c->arena, 64);
    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        if (!engines[i])
            continue;
        if (known.len)
            buf_put(&known, ", ", 2);
        buf_put_bytes(&known, bytes_str(engines[i]->name));
    }
    return fail(c, E_PARAMETER, "Unknown engine '%s'; known are: %.*s.", name,
                BYTES_FMT(buf_bytes(&known)));
}

static int check_options(struct ctx *c, const struct engine_ops *ops,
                         const struct engine_conf *conf)
{
    for (size_t i = 0; i < conf->option_count; i++) {
        const char *const *at = ops->options;

        if (!*conf->options[i].value)
            continue;
        while (at && *at && strcmp(*at, conf->options[i].name) != 0)
            at++;
        if (!at || !*at)
            return fail(c, E_PARAMETER, "The engine '%s' has no option '%s'. Leave it out.",
                        ops->name, conf->options[i].name);
    }
    return E_OK;
}

uint64_t engine_partition_bytes(const char *name)
{
    for (size_t i = 0; i < PORT_COUNT(engines); i++)
        if (engines[i] && strcmp(engines[i]->name, name) == 0)
            return engines[i]->partitions ? engines[i]->partitions->bytes_max : 0;
    return 0;
}

int engine_open(struct ctx *c, const char *name, const struct engine_conf *conf,
                struct engine **out)
{
    const struct engine_ops *ops;

    *out = NULL;
    TRY(engine_find(c, name, &ops));
    TRY(check_options(c, ops, conf));
    TRY(ops->open(c, conf, out));
    invariant(*out && (*out)->ops == ops);
    return E_OK;
}

void engine_close(struct engine *e)
{
    if (e)
        e->ops->close(e);
}

bool engine_has_option(const char *name, const char *option)
{
    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        const char *const *at = engines[i] ? engines[i]->options : NULL;

        if (!at || strcmp(engines[i]->name, name) != 0)
            continue;
        while (*at && strcmp(*at, option) != 0)
            at++;
        return *at != NULL;
    }
    return false;
}

/* Inside an assert only. */
static PORT_UNUSED bool ranges_are_sane(const struct key_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ranges[i].end.len && bytes_compare(ranges[i].start, ranges[i].end) > 0)
            return false;
    return true;
}

static PORT_UNUSED bool batch_is_sane(const struct engine *e, const struct write_batch *b)
{
    for (size_t i = 0; i < b->guard_count; i++)
        if (!b->guards[i].key.len)
            return false;
    for (size_t i = 0; i < b->edit_count; i++)
        if (!b->edits[i].key.len ||
            b->edits[i].type > (engine_numbers(e) ? EDIT_PUT_NUMBERED : EDIT_DELETE))
            return false;
    return true;
}

int engine_create(struct ctx *c, struct engine *e, const struct partition_spec *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert(ranges_are_sane(p[i].ranges, p[i].range_count));
    return engine_one_key_space(e) ? E_OK : e->ops->partitions->create(c, e, p, count);
}

int engine_drop(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    invariant(p->id != PARTITION_SYSTEM);
    assert(ranges_are_sane(p->ranges, p->range_count));
    return engine_one_key_space(e) ? e->ops->erase(c, e, p) : e->ops->partitions->drop(c, e, p);
}

int engine_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    invariant(p->id != PARTITION_SYSTEM);
    assert(ranges_are_sane(p->ranges, p->range_count));
    return e->ops->erase(c, e, p);
}

int engine_discard(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *left)
{
    *left = 0;
    if (!e->ops->discard)
        return engine_erase(c, e, p);
    invariant(p->id != PARTITION_SYSTEM);
    assert(ranges_are_sane(p->ranges, p->range_count));
    return e->ops->discard(c, e, p, left);
}

int engine_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    invariant(partition != PARTITION_SYSTEM);
    *out = NULL;
    return e->ops->bulk(c, e, partition, out);
}

int engine_sort(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    invariant(partition != PARTITION_SYSTEM && engine_sorts(e));
    *out = NULL;
    return e->ops->sort(c, e, partition, out);
}

int bulk_put(struct ctx *c, struct bulk *b, bytes key, bytes value)
{
    invariant(key.len);
    return b->ops->put(c, b, key, value);
}

int bulk_merge(struct ctx *c, struct bulk *b, uint64_t *written, bool *ended)
{
    *ended = !b->ops->merge;
    return *ended ? E_OK : b->ops->merge(c, b, written, ended);
}

int bulk_finish(struct ctx *c, struct bulk *b)
{
    return b->ops->finish(c, b);
}

void bulk_close(struct bulk *b)
{
    if (b)
        b->ops->close(b);
}

int engine_repartition(struct ctx *c, struct engine *e, const struct partition_spec *from,
                       size_t from_count, const struct partition_spec *to, size_t to_count)
{
    invariant(from_count && to_count);
    if (engine_one_key_space(e))
        return E_OK;
    return e->ops->partitions->repartition(c, e, from, from_count, to, to_count);
}

int engine_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    int code;

    invariant(s->items_max >= 1);
    invariant(s->pages || !s->range_count);
    invariant(!s->snapshot || s->view == VIEW_DURABLE);
    assert(ranges_are_sane(s->ranges, s->range_count));
    s->code = E_OK;
    for (size_t i = 0; i < s->range_count; i++)
        s->pages[i] = (struct page){0};
    code = e->ops->scan(c, e, s);
    if (code != E_LATER)
        s->code = code;
    return code;
}

int engine_visit(struct ctx *c, struct engine *e, struct visit *v)
{
    invariant(engine_can_visit(e));
    assert(ranges_are_sane(&v->range, 1));
    return e->ops->visit(c, e, v);
}

int engine_snapshot(struct ctx *c, struct engine *e, const struct visit *during,
                    struct snapshot **out)
{
    int code;

    *out = NULL;
    if (!e->ops->snapshots)
        return E_OK;
    code = e->ops->snapshots->take(c, e, during, out);
    invariant(code != E_OK || ((*out)->engine == e && !(*out)->revoked));
    return code;
}

void snapshot_release(struct snapshot *s)
{
    if (s)
        s->engine->ops->snapshots->release(s);
}

void engine_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                  void *arg)
{
    invariant(done);
    assert(batch_is_sane(e, b));
    e->ops->apply(c, e, b, done, arg);
}

int engine_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out)
{
    assert(ranges_are_sane(p->ranges, p->range_count));
    return e->ops->size(c, e, p, out);
}

void engine_stat(struct engine *e, struct engine_stat *out)
{
    memset(out, 0, sizeof(*out));
    e->ops->stat(e, out);
}

int engine_subscribe(struct ctx *c, struct engine *e,
                     void (*on_notification)(void *arg, struct notification *n), void *arg)
{
    invariant(engine_is_shared(e));
    return e->ops->bus->subscribe(c, e, on_notification, arg);
}

void engine_notification_done(struct engine *e, struct notification *n, bytes answer)
{
    e->ops->bus->done(e, n, answer);
}

void engine_publish(struct engine *e, bytes text, int64_t wait_ms,
                    void (*done)(void *arg, int code), void *arg)
{
    invariant(engine_is_shared(e));
    invariant(wait_ms > 0 && wait_ms <= ENGINE_PUBLISH_MS);
    e->ops->bus->publish(e, text, wait_ms, done, arg);
}

void engine_query(struct engine *e, bytes text, int64_t wait_ms,
                  void (*done)(void *arg, const struct answers *a), void *arg)
{
    invariant(engine_is_shared(e));
    e->ops->bus->query(e, text, wait_ms, done, arg);
}

void engine_spare(struct engine *e, uint64_t less)
{
    if (e->ops->spare)
        e->ops->spare(e, less);
}

int64_t engine_lease_age_ms(struct engine *e)
{
    return e->ops->bus->lease_age_ms(e);
}

void engine_leave(struct engine *e)
{
    if (engine_is_shared(e))
        e->ops->bus->leave(e);
}

static int no_files(struct ctx *c, const struct engine_ops *ops)
{
    return fail(c, E_UNSUPPORTED, "The engine '%s' keeps no files.", ops->name);
}

int engine_checkpoint(struct ctx *c, struct engine *e, const char *dir)
{
    if (!engine_has_files(e))
        return no_files(c, e->ops);
    return e->ops->files->checkpoint(c, e, dir);
}

int engine_scrub(struct ctx *c, struct engine *e, struct scrub *s)
{
    s->bytes = 0;
    s->ended = false;
    s->damage = NULL;
    s->range = (struct key_range){BYTES_NONE, BYTES_NONE};
    if (!engine_has_files(e))
        return no_files(c, e->ops);
    return e->ops->files->scrub(c, e, s);
}

void engine_watch_damage(struct engine *e, void (*bell)(void *arg), void *arg)
{
    invariant(engine_has_files(e));
    e->ops->files->watch_damage(e, bell, arg);
}

int engine_warm(struct ctx *c, struct engine *e, struct warm *w)
{
    w->bytes = 0;
    w->gave_way = w->ended = false;
    if (!engine_has_files(e))
        return fail_code(c, E_UNSUPPORTED);
    return e->ops->files->warm(c, e, w);
}

int engine_remember(struct ctx *c, struct engine *e)
{
    return engine_has_files(e) ? e->ops->files->remember(c, e) : fail_code(c, E_UNSUPPORTED);
}

int engine_restore(struct ctx *c, const char *name, const struct engine_conf *conf,
                   const char *from)
{
    const struct engine_ops *ops;

    TRY(engine_find(c, name, &ops));
    if (!ops->files)
        return no_files(c, ops);
    return ops->files->restore(c, conf, from);
}

/* rocks_scrub.c: verifying. The database's own reads come from caches, so the scrub makes a
 * checkpoint for itself (links in scrub/) and reads all of it through a second, read-only handle
 * without a block cache and around the system's. Every ten minutes it takes a new one, so that
 * files which compaction has done with are not kept from being removed for longer. The checkpoint
 * flushes the write buffer; else the second handle would replay the log into memory. */
#include "engine/rocks.h"

#include "base/buf.h"
#include "engine/files.h"

#define SCRUB_SLICE_US (600 * (int64_t)1000000) /* one checkpoint's life */

/* What a crash has left of the links. */
void rocks_scrub_clear(struct ctx *c, struct rocks *r)
{
    files_remove(arena_printf(&c->arena, "%s/scrub.tmp", r->folder.dir).ptr);
    files_remove(arena_printf(&c->arena, "%s/scrub", r->folder.dir).ptr);
}

void rocks_scrub_close(struct rocks *r)
{
    rocks_look_close(&r->scrub.look);
    if (r->scrub.dir)
        files_remove(r->scrub.dir);
    mem_free(r->scrub.dir);
    r->scrub.dir = NULL;
}

static void scrub_key_set(struct scrub_state *s, bytes key)
{
    mem_free(s->key);
    s->key = NULL;
    s->key_len = key.len;
    if (key.len) {
        s->key = mem_alloc(key.len);
        memcpy(s->key, key.ptr, key.len);
    }
}

static bytes scrub_key(const struct scrub_state *s)
{
    return bytes_of(s->key, s->key_len);
}

/* The keys of a table file, the end exclusive; all from `at` on if it is not known. */
static struct key_range table_range(struct ctx *c, const struct rocks_look *l, bytes table,
                                    bytes at)
{
    struct table_file file;

    if (!l->db || !table.len || !rocks_table_find(c, l->db, table.ptr, &file))
        return (struct key_range){arena_copy(&c->arena, at), BYTES_NONE};
    return (struct key_range){file.first, rocks_key_behind(&c->arena, file.last)};
}

/* What can be read in front of the damage, since the last step, and behind it, is whole. */
static void narrow(struct ctx *c, struct rocks_look *l, bytes from, struct key_range *range)
{
    struct key_range gap;
    struct buf last;

    buf_init(&last, &c->arena, 256);
    for (rocks_look_seek(l, from); rocksdb_iter_valid(l->it); rocksdb_iter_next(l->it)) {
        last.len = 0;
        buf_put_bytes(&last, rocks_look_key(l));
    }
    rocks_damage_gap(c, l->db, l->read,
                     last.len ? rocks_key_behind(&c->arena, buf_bytes(&last)) : range->start,
                     range->end, &gap);
    if (bytes_compare(gap.start, range->start) > 0)
        range->start = gap.start;
    range->end = gap.end;
}

/* An error while reading files: damage to report, or a failure of another kind. Frees err. */
static int scrub_error(struct ctx *c, struct rocks *r, struct scrub *s, char *err)
{
    int code = rocks_status_code(err);
    bytes table = rocks_table_named(c, err);

    /* What the medium refuses to give counts as damage too. */
    if (code != E_CORRUPT && !(code == E_UNAVAILABLE && table.len))
        return rocks_status_fail(c, err);
    s->damage = arena_printf(&c->arena, "%s/%.*s: %s", r->folder.db, BYTES_FMT(table),
                             rocks_text_moved(c, err, r->scrub.dir, r->folder.db))
                    .ptr;
    rocksdb_free(err);
    s->range = table_range(c, &r->scrub.look, table, scrub_key(&r->scrub));
    if (r->scrub.look.it && s->range.end.len)
        narrow(c, &r->scrub.look, scrub_key(&r->scrub), &s->range);
    s->ended = !s->range.end.len || bytes_compare(s->range.end, scrub_key(&r->scrub)) <= 0;
    scrub_key_set(&r->scrub, s->range.end);
    if (r->scrub.look.it)
        rocks_look_seek(&r->scrub.look, s->range.end);
    return E_OK;
}

/* Takes links to the files as they are now. */
static int scrub_open(struct ctx *c, struct rocks *r, struct scrub *s)
{
    struct scrub_state *state = &r->scrub;
    uint64_t durable;
    char *err;

    if (atomic_load(&r->failed) || rocks_space_short(r))
        return fail(c, E_BUSY, "Storage is not writable now.");
    state->dir = mem_strdup(arena_printf(&c->arena, "%s/scrub", r->folder.dir).ptr);
    rocks_scrub_clear(c, r);
    TRY(rocks_checkpoint_make(c, r, state->dir, &durable));
    state->since_us = clock_mono_us(r->clock);
    if (!rocks_look_open(state->dir, state->cached, &state->look, &err)) {
        if (!state->cached && (strstr(err, "Invalid argument") || strstr(err, "Direct I/O"))) {
            rocksdb_free(err);
            state->cached = true;
            rocks_scrub_close(r);
            return scrub_open(c, r, s);
        }
        return scrub_error(c, r, s, err);
    }
    rocks_look_seek(&state->look, scrub_key(state));
    return E_OK;
}

static int scrub_step(struct ctx *c, struct rocks *r, struct scrub *s)
{
    struct scrub_state *state = &r->scrub;
    char *err;

    if (!state->look.db) {
        TRY(scrub_open(c, r, s));
        if (s->damage)
            return E_OK;
    }
    rocks_look_read(&state->look, s->bytes_max, &s->bytes, &err);
    if (err)
        return scrub_error(c, r, s, err);
    s->ended = !rocksdb_iter_valid(state->look.it);
    if (!s->ended)
        scrub_key_set(state, rocks_look_key(&state->look));
    return E_OK;
}

int rocks_scrub(struct ctx *c, struct engine *e, struct scrub *s)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    int code;

    if (rocks_damage_tell(c, r, s) || !s->bytes_max)
        return E_OK;
    /* Its links would keep the space of files that compaction has replaced. */
    if (r->scrub.look.db && rocks_space_short(r))
        rocks_scrub_close(r);
    code = scrub_step(c, r, s);

    if (code || s->ended)
        scrub_key_set(&r->scrub, BYTES_NONE);
    if (code || s->ended || clock_mono_us(r->clock) - r->scrub.since_us > SCRUB_SLICE_US)
        rocks_scrub_close(r);
    return code;
}

#include "cli/transfer/copy_follow.h"

#include "client/walk.h"

#include <stdlib.h>

/* A server refuses requests whose clock is 15 minutes from its own, so this long ago is before now
 * on any clock. */
#define MARGIN_US (20 * 60 * (int64_t)1000000)

int copy_follow_open(struct ctx *c, struct client *from, struct client *to, bytes table,
                     int64_t since_us, struct copy_follow *f)
{
    *f = (struct copy_follow){.from = from, .to = to};
    TRY(follow_open(c, from, table, since_us ? since_us - MARGIN_US : 0, &f->stream));
    return follow_settle(c, &f->stream);
}

void copy_follow_release(struct copy_follow *f)
{
    follow_release(&f->stream);
}

/* ---- the rows of a page, each once ---- */

static size_t gather_keys(const struct wr_stream_records *r, struct wr_key *keys)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        keys[i] = r->records[i].row.key;
    qsort(keys, r->count, sizeof(*keys), walk_compare_keys);
    for (size_t i = 0; i < r->count; i++)
        if (n == 0 || walk_compare_keys(&keys[n - 1], &keys[i]) != 0)
            keys[n++] = keys[i];
    return n;
}

/* ---- a round ---- */

static int copy_records(struct ctx *c, void *arg, size_t shard, const struct wr_stream_records *r)
{
    struct copy_follow *f = arg;
    struct wr_key *keys = ARENA_ARRAY(&c->arena, struct wr_key, r->count);
    int64_t last_us = r->records[r->count - 1].timestamp_us;

    (void)shard;
    TRY(copy_keys(c, &f->copy, f->from, f->to, keys, gather_keys(r, keys)));
    f->changes += r->count;
    if (r->more && (!f->behind_us || last_us < f->behind_us))
        f->behind_us = last_us;
    return 0;
}

int copy_follow_round(struct ctx *c, struct copy_follow *f)
{
    struct ctx round;
    bool more;
    int code;

    ctx_init(&round, c->clock, NULL, NULL, 0);
    f->behind_us = 0;
    code = follow_round(&round, &f->stream, copy_records, f, &more);
    if (code)
        fail(c, code, "%s", round.text);
    f->current = !code && !more;
    ctx_release(&round);
    return code;
}

/* write_ahead.c: old rows of a batch, asked for at once.
 *
 * A walk reads each old row under its row lock, one after the other. When one of these reads had to
 * wait for the disk, the others probably will: so the walk asks for the records of its next rows
 * side by side, and goes on when all of them have come. What is read here decides nothing, for a
 * row may change until its lock is taken. The answers go, and what they were made of is in the
 * cache when the row is read again. A batch whose rows are in memory asks for none of this.
 *
 * Where partitions are objects nothing is done: no cache of ours holds what was read there. */
#include "base/invariant.h"
#include "table/row/write_own.h"

#define AHEAD_ROWS 64
#define AHEAD_MEMORY 16 /* a part of what requests may hold, at most */

struct write_ahead {
    struct write_call *write;
    struct ctx c; /* of the answers */
    struct get_many many;
    struct get gets[AHEAD_ROWS];
};

bool write_ahead_is_due(const struct write_call *w)
{
    struct engine *e = w->call->db->engine;

    return PORT_UNLIKELY(w->cold) && w->at >= w->ahead_end && w->at + 1 < w->row_count &&
           engine_gets_many(e) && engine_one_key_space(e);
}

/* Small rows are their records, and that of a larger one is a few bytes. */
static size_t ahead_rows(const struct wr_db *db)
{
    size_t n = (size_t)(memory_of_requests(&db->memory) / AHEAD_MEMORY) /
               (size_t)db->limits.wide_row_bytes;

    return n < AHEAD_ROWS ? n : AHEAD_ROWS;
}

static void ahead_gather(struct write_ahead *a, size_t end)
{
    struct write_call *w = a->write;

    for (size_t i = w->at; i < end; i++) {
        struct write_row *r = &w->rows[i];
        const struct table *t;

        if (!write_row_begin(w, r) || r->before)
            continue;
        t = r->m.table;
        if (modify_needs_old(&r->m) || t->observer_count)
            a->gets[a->many.count++] = (struct get){.partition = route_find_row(t, r->m.cols),
                                                    .key = load_head_key(&a->c.arena, t, r->m.cols),
                                                    .view = VIEW_DURABLE};
    }
}

/* A failure is found again by the row's own read. */
static void ahead_end(struct write_ahead *a)
{
    ctx_release(&a->c);
    mem_free(a);
}

static void ahead_done(struct get_many *m)
{
    struct write_ahead *a = PORT_CONTAINER(m, struct write_ahead, many);
    struct write_call *w = a->write;

    ahead_end(a);
    write_wake(w, w->atomic);
}

int write_ahead(struct write_call *w, size_t end)
{
    struct write_ahead *a = mem_alloc(sizeof(*a));
    size_t n = ahead_rows(w->call->db);

    invariant(w->at < end && end <= w->row_count);
    n = n < end - w->at ? n : end - w->at;
    w->ahead_end = w->at + (n ? n : 1);
    a->write = w;
    a->many = (struct get_many){.gets = a->gets, .done = ahead_done};
    ctx_init_part(&a->c, &w->call->c, NULL, 0);
    ahead_gather(a, w->at + n);
    if (a->many.count > 1 && engine_get_many(&a->c, w->call->db->engine, &a->many) == E_LATER)
        return E_LATER;
    ahead_end(a);
    return E_OK;
}

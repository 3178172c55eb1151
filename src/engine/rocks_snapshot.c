/* rocks_snapshot.c: views that requests keep for several reads.
 *
 * A view is the committer's newest and is shared anyway (rocks_view.c), so that taking a snapshot
 * costs a reference. As long as it is kept, RocksDB cannot drop what was overwritten since, and the
 * database cannot be closed; so the engine lists the snapshots and takes their views away: all of
 * them when it reopens storage, and those past their end whenever the committer publishes a view.
 */
#include "engine/rocks.h"

#include "base/invariant.h"

static int snapshot_take(struct ctx *c, struct engine *e, const struct visit *during,
                         struct snapshot **out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct rocks_snapshot *s = mem_zalloc(sizeof(*s));
    int64_t most = clock_mono_ms(r->clock) + SNAPSHOT_MS_MAX;

    s->base.engine = e;
    s->rocks = r;
    s->deadline_ms = c->deadline_ms && c->deadline_ms < most ? c->deadline_ms : most;
    pthread_mutex_lock(&r->read_lock);
    s->view = during ? ((struct entry *)during->inside)->view : r->view;
    if (s->view) {
        atomic_fetch_add(&s->view->refs, 1);
        s->next = r->snapshots;
        s->link = &r->snapshots;
        if (s->next)
            s->next->link = &s->next;
        r->snapshots = s;
    }
    pthread_mutex_unlock(&r->read_lock);
    if (!s->view) {
        mem_free(s);
        return fail(c, E_UNAVAILABLE, "Storage is being reopened after a failure.");
    }
    *out = &s->base;
    return E_OK;
}

/* Takes its view away, for the caller to drop. Under read_lock. */
static struct view *unlist(struct rocks_snapshot *s)
{
    struct view *view = s->view;

    if (!view)
        return NULL;
    invariant(*s->link == s);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    s->view = NULL;
    return view;
}

static void snapshot_free(struct snapshot *base)
{
    struct rocks_snapshot *s = PORT_CONTAINER(base, struct rocks_snapshot, base);
    struct view *view;

    pthread_mutex_lock(&s->rocks->read_lock);
    view = unlist(s);
    pthread_mutex_unlock(&s->rocks->read_lock);
    rocks_view_unref(view);
    mem_free(s);
}

const struct snapshot_ops rocks_snapshot_ops = {.take = snapshot_take, .release = snapshot_free};

/* The view of one of those to revoke; NULL: there is none. */
static struct view *revoke_one(struct rocks *r, bool all)
{
    struct view *view = NULL;
    struct rocks_snapshot *s;

    pthread_mutex_lock(&r->read_lock);
    s = r->snapshots;
    if (s && !all) {
        int64_t now_ms = clock_mono_ms(r->clock);

        while (s && now_ms <= s->deadline_ms)
            s = s->next;
    }
    if (s)
        view = unlist(s);
    pthread_mutex_unlock(&r->read_lock);
    return view;
}

void rocks_snapshots_revoke(struct rocks *r, bool all)
{
    struct view *view;

    while ((view = revoke_one(r, all)))
        rocks_view_unref(view);
}

int rocks_enter_at(struct ctx *c, struct rocks *r, struct snapshot *snapshot, enum engine_view view,
                   struct entry *in)
{
    struct rocks_snapshot *s;

    if (!snapshot)
        return rocks_enter(c, r, view, in);
    s = PORT_CONTAINER(snapshot, struct rocks_snapshot, base);
    *in = (struct entry){0};
    if (clock_mono_ms(r->clock) > s->deadline_ms)
        return fail_code(c, E_BUSY);
    pthread_mutex_lock(&r->read_lock);
    if (s->view) {
        in->view = s->view;
        in->handle = s->view->handle;
        atomic_fetch_add(&s->view->refs, 1);
    }
    pthread_mutex_unlock(&r->read_lock);
    if (in->view)
        return E_OK;
    snapshot->revoked = true;
    return fail(c, E_BUSY, "Storage was reopened while this was read. Send it again.");
}

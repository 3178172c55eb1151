#include "sql/run/described.h"

#define TABLES_MAX 4 /* of a session */

struct described *described_new(uint64_t state)
{
    struct described *d = mem_zalloc(sizeof(*d));

    d->refs = 1;
    d->state = state;
    arena_init(&d->arena, NULL, 0);
    return d;
}

void described_unref(struct described *d)
{
    if (--d->refs)
        return;
    arena_release(&d->arena);
    mem_free(d);
}

static void statement_ends(void *arg)
{
    described_unref(arg);
}

static void described_hold(struct run *r, struct described *d)
{
    d->refs++;
    arena_on_release(r->arena, statement_ends, d);
}

/* Keeps the first so many. */
static void described_trim(struct session *s, int most)
{
    struct described **at = &s->described;

    while (most-- > 0 && *at)
        at = &(*at)->next;
    while (*at) {
        struct described *d = *at;

        *at = d->next;
        described_unref(d);
    }
}

void described_forget(struct session *s)
{
    described_trim(s, 0);
}

struct described *described_find(struct run *r, bytes database, bytes name)
{
    struct described **at = &r->session->described, *d;

    while (*at && (!bytes_equal((*at)->name, name) || !bytes_equal((*at)->database, database)))
        at = &(*at)->next;
    d = *at;
    if (!d)
        return NULL;
    *at = d->next;
    if (wr_table_state(r->session->conf.db, database, name) != d->state) {
        described_unref(d);
        return NULL;
    }
    d->next = r->session->described; /* those that are used stay */
    r->session->described = d;
    described_hold(r, d);
    return d;
}

void described_add(struct run *r, struct described *d)
{
    d->refs++;
    d->next = r->session->described;
    r->session->described = d;
    described_hold(r, d);
    described_trim(r->session, TABLES_MAX);
}
